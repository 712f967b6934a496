//! What a header is: a run of bytes with a table of fields, declared once.

use core::{fmt, net::IpAddr, net::Ipv4Addr, net::Ipv6Addr};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{
    Kind,
    mad_value::{entries, until_zero},
};

/// One row of a header's table: a run of bits, counted from the header's first bit, most significant first, as
/// in the specification's figures.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The specification's name in lower case with underscores; the name in JSON and in filters.
    pub name: &'static str,
    /// Offset of the first bit.
    pub bit: u16,
    /// Width in bits: 1 to 64, or whole bytes.
    pub width: u16,
    /// How the value is written.
    pub show: Show,
    /// A number whose first byte is the least significant one. It has whole bytes, eight at most.
    pub little: bool,
    /// What it identifies; `None` for a value that can be shown to anybody.
    pub secret: Option<Secret>,
    /// Wireshark's filter name, where it has one for just this field; empty where it has none.
    pub wireshark: &'static str,
    /// What the field means, from its documentation.
    pub doc: &'static str,
}

/// How a field's value is written as text.
#[derive(Clone, Copy, Debug)]
pub enum Show {
    /// A decimal number.
    Dec,
    /// A hexadecimal number, as wide as the field.
    Hex,
    /// One bit: true or false.
    Flag,
    /// An Ethernet address.
    Mac,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address or a GID.
    Ipv6,
    /// An IPv6 address, or an IPv4 address in the last four bytes: the four bits of the header from this one on are the version.
    Ip(u16),
    /// A number with a name for some of its values, written in hexadecimal.
    Named(fn(u64) -> Option<&'static str>),
    /// A number whose meaning is computed, written in hexadecimal.
    Decoded(fn(u64, &mut fmt::Formatter<'_>) -> fmt::Result),
    /// Bytes.
    Bytes,
    /// Text of UTF-8, with zeros behind it.
    Text,
    /// Numbers of so many bits each.
    List(u8),
    /// Counters of so many bits each.
    Counts(u8),
}

/// What a value identifies. The type of a field says it, so that no header can forget it: `rewrite --anonymize` replaces each of
/// these, and nothing else in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Secret {
    /// A network adapter, by its Ethernet address.
    Mac,
    /// A network adapter, by the link address in a Linux cooked header.
    LinkAddress,
    /// A host, by its IPv4 address.
    Ipv4,
    /// A host or a port, by its IPv6 address or GID.
    Ipv6,
    /// A port in a subnet.
    Lid,
    /// A device, whatever its addresses are.
    Guid,
    /// A queue pair or a shared receive queue.
    QueuePair,
    /// An end-to-end context of reliable datagrams.
    EeContext,
    /// A key to memory.
    RKey,
    /// A place in a host's memory.
    VirtualAddress,
    /// A connection, between two connection managers.
    CommId,
    /// A request for management.
    TransactionId,
    /// A service: unless it is one of RDMA-CM's, it may be a device's GUID.
    ServiceId,
    /// Bytes whose meaning depends on others; they may be addresses.
    Opaque,
}

/// A header's description, for code that handles every kind alike.
#[derive(Debug)]
pub struct HeaderInfo {
    /// Which header.
    pub kind: Kind,
    /// Its name in text: "BTH".
    pub label: &'static str,
    /// Bytes.
    pub len: usize,
    /// Its rows in wire order.
    pub fields: &'static [Field],
    /// Its documentation, which holds the specification's figure.
    pub doc: &'static str,
}

/// A header. Any bytes of the right length are one.
pub trait Header:
    FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned + Copy + Default + fmt::Display + 'static
{
    /// Which header.
    const KIND: Kind;
    /// Its name in text: "BTH".
    const NAME: &'static str;
    /// Its length in bytes.
    const LEN: usize;
    /// Its rows in wire order.
    const FIELDS: &'static [Field];
    /// Its description.
    const INFO: &'static HeaderInfo;
    /// The header at the start of `bytes` and what follows it; `None` where there are fewer than [`Self::LEN`].
    fn view(bytes: &[u8]) -> Option<(&Self, &[u8])>;
    /// The same, to be changed.
    fn view_mut(bytes: &mut [u8]) -> Option<(&mut Self, &mut [u8])>;
}

/// A value that a field can hold.
pub trait Bits: Sized {
    /// How such values are written.
    const SHOW: Show;
    /// What such values identify.
    const SECRET: Option<Secret> = None;
    /// Whether the first byte of such a number is the least significant one.
    const LITTLE: bool = false;
    /// Read the field from a header's bytes.
    fn get(bytes: &[u8], field: &Field) -> Self;
    /// Write the field; bits that do not fit are dropped.
    fn set(self, bytes: &mut [u8], field: &Field);
}

impl Field {
    /// The field's value; of fields wider than 64 bits, the last 64. Bits beyond `bytes` read as zero.
    #[inline(always)]
    pub fn get(&self, bytes: &[u8]) -> u64 {
        let (bit, width) = (self.bit as usize, self.width as usize);
        let last = (bit + width - 1) / 8;
        let mut value = 0u64;
        for i in bit / 8..=last {
            value = value << 8 | bytes.get(i).copied().unwrap_or(0) as u64;
        }
        let value = value >> (7 - (bit + width - 1) % 8) & ones(width);
        if self.little { turned(value, width) } else { value }
    }

    /// Write the field; of fields wider than 64 bits, the last 64. Bits beyond `bytes` are dropped.
    #[inline(always)]
    pub fn set(&self, bytes: &mut [u8], value: u64) {
        let (bit, width) = (self.bit as usize, self.width as usize);
        let value = if self.little { turned(value & ones(width), width) } else { value };
        let low = 7 - (bit + width - 1) % 8;
        let (mut mask, mut value) = (ones(width) << low, (value & ones(width)) << low);
        for i in (bit / 8..=(bit + width - 1) / 8).rev() {
            if let Some(byte) = bytes.get_mut(i) {
                *byte = *byte & !(mask as u8) | value as u8;
            }
            mask >>= 8;
            value >>= 8;
        }
    }

    /// The bytes of a field that starts and ends with a byte; empty where `bytes` is too short.
    #[inline]
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let at = self.bit as usize / 8;
        bytes.get(at..at + self.width as usize / 8).unwrap_or(&[])
    }

    /// The address of a field that has [either version](Show::Ip). One that says IPv4 and has more than the last four bytes is shown whole.
    pub fn ip(&self, header: &[u8]) -> IpAddr {
        let whole = Ipv6Addr::get(header, self);
        let version = match self.show {
            Show::Ip(bit) => Field { bit, width: 4, ..*self }.get(header),
            _ => 6,
        };
        match whole.octets() {
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, v4 @ ..] if version == 4 => Ipv4Addr::from(v4).into(),
            _ => whole.into(),
        }
    }

    /// The entries of a [list](Show::List), or of [counters](Show::Counts); none of another field.
    pub fn entries<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = u64> + 'a {
        let (bytes, bits) = match self.show {
            Show::List(bits) | Show::Counts(bits) => (self.bytes(bytes), bits),
            _ => (&[][..], 8),
        };
        entries(bytes, bits)
    }

    /// The bytes of a [text](Show::Text), without the zeros behind it.
    pub fn text<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        until_zero(self.bytes(bytes))
    }

    /// The value, written as the table says.
    pub fn display<'a>(&'a self, header: &'a [u8]) -> impl fmt::Display + 'a {
        Shown { field: self, header }
    }

    /// The meaning of the value beside its number, where it has one ("PSN sequence error").
    pub fn meaning(&self, header: &[u8]) -> Option<impl fmt::Display + use<>> {
        self.show.meaning(self.get(header))
    }
}

impl Show {
    /// The name of a value, where its table has one.
    pub fn name(self, value: u64) -> Option<&'static str> {
        match self {
            Show::Named(name) => name(value),
            _ => None,
        }
    }

    /// The meaning of a value, where it has one.
    pub fn meaning(self, value: u64) -> Option<impl fmt::Display> {
        match self {
            Show::Named(name) if name(value).is_none() => None,
            Show::Named(_) | Show::Decoded(_) => Some(Meaning(self, value)),
            _ => None,
        }
    }
}

#[inline(always)]
const fn ones(width: usize) -> u64 {
    u64::MAX >> 64usize.saturating_sub(width)
}

/// A number of whole bytes in the other order of bytes.
#[inline(always)]
const fn turned(value: u64, width: usize) -> u64 {
    value.swap_bytes() >> 64usize.saturating_sub(width)
}

struct Meaning(Show, u64);

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Show::Named(name) => f.write_str(name(self.1).unwrap_or("")),
            Show::Decoded(write) => write(self.1, f),
            _ => Ok(()),
        }
    }
}

struct Shown<'a> {
    field: &'a Field,
    header: &'a [u8],
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = (self.field.width as usize).div_ceil(4) + 2;
        let value = || self.field.get(self.header);
        match self.field.show {
            Show::Dec => write!(f, "{}", value()),
            Show::Hex => write!(f, "{:#0digits$x}", value()),
            Show::Flag => write!(f, "{}", value()),
            Show::Mac => write!(f, "{}", super::Mac::get(self.header, self.field)),
            Show::Ipv4 => write!(f, "{}", Ipv4Addr::get(self.header, self.field)),
            Show::Ipv6 => write!(f, "{}", Ipv6Addr::get(self.header, self.field)),
            Show::Ip(_) => write!(f, "{}", self.field.ip(self.header)),
            Show::Named(_) | Show::Decoded(_) => {
                write!(f, "{:#0digits$x}", value())?;
                self.field.meaning(self.header).map_or(Ok(()), |meaning| write!(f, " ({meaning})"))
            }
            Show::Bytes => hex(self.field.bytes(self.header), f),
            Show::Text => match str::from_utf8(until_zero(self.field.bytes(self.header))) {
                Ok(text) => write!(f, "{text:?}"),
                Err(_) => hex(self.field.bytes(self.header), f),
            },
            Show::List(_) | Show::Counts(_) => {
                let hexadecimal = match self.field.show {
                    Show::List(bits) if bits > 8 => Some(bits as usize / 4 + 2),
                    _ => None,
                };
                for (n, entry) in self.field.entries(self.header).enumerate() {
                    f.write_str(if n == 0 { "" } else { " " })?;
                    match hexadecimal {
                        Some(digits) => write!(f, "{entry:#0digits$x}")?,
                        None => write!(f, "{entry}")?,
                    }
                }
                Ok(())
            }
        }
    }
}

fn hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// The `Display` of every header: its name, then its fields without the flags that are zero.
pub(crate) fn display(info: &HeaderInfo, bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(info.label)?;
    for field in info.fields {
        match field.show {
            Show::Flag if field.get(bytes) == 0 => {}
            Show::Flag => write!(f, " {}", field.name)?,
            _ => write!(f, " {}={}", field.name, field.display(bytes))?,
        }
    }
    Ok(())
}

impl Bits for u64 {
    const SHOW: Show = Show::Dec;
    #[inline(always)]
    fn get(bytes: &[u8], field: &Field) -> Self {
        field.get(bytes)
    }
    #[inline(always)]
    fn set(self, bytes: &mut [u8], field: &Field) {
        field.set(bytes, self)
    }
}

/// Values that are another one on the wire: how they are written, what they identify, from the wire, and to it.
macro_rules! bits {
    ($($t:ty as $show:expr $(=> $secret:ident)?, $raw:ty: $from:expr, $to:expr;)*) => { $(
        impl $crate::wire::Bits for $t {
            const SHOW: $crate::wire::Show = $show;
            $(const SECRET: Option<$crate::wire::Secret> = Some($crate::wire::Secret::$secret);)?
            #[inline(always)]
            fn get(bytes: &[u8], field: &$crate::wire::Field) -> Self { ($from)(<$raw as $crate::wire::Bits>::get(bytes, field)) }
            #[inline(always)]
            fn set(self, bytes: &mut [u8], field: &$crate::wire::Field) { <$raw as $crate::wire::Bits>::set(($to)(self), bytes, field) }
        }
    )* };
}

pub(crate) use bits;

bits! {
    u8 as Show::Dec, u64: |n| n as u8, u64::from;
    u16 as Show::Dec, u64: |n| n as u16, u64::from;
    u32 as Show::Dec, u64: |n| n as u32, u64::from;
    bool as Show::Flag, u64: |n| n != 0, u64::from;
    Ipv4Addr as Show::Ipv4 => Ipv4, u32: Ipv4Addr::from, u32::from;
    Ipv6Addr as Show::Ipv6 => Ipv6, [u8; 16]: Ipv6Addr::from, |ip: Ipv6Addr| ip.octets();
    super::Mac as Show::Mac => Mac, [u8; 6]: super::Mac, |mac: super::Mac| mac.0;
}

/// A number whose first byte is the least significant one, as NVMe, SMB and others of that kind have them; all other fields are in network byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Le<T>(pub T);

impl<T: Bits> Bits for Le<T> {
    const SHOW: Show = T::SHOW;
    const SECRET: Option<Secret> = T::SECRET;
    const LITTLE: bool = true;
    #[inline(always)]
    fn get(bytes: &[u8], field: &Field) -> Self {
        Le(T::get(bytes, field))
    }
    #[inline(always)]
    fn set(self, bytes: &mut [u8], field: &Field) {
        self.0.set(bytes, field);
    }
}

impl<const N: usize> Bits for [u8; N] {
    const SHOW: Show = Show::Bytes;
    #[inline(always)]
    fn get(bytes: &[u8], field: &Field) -> Self {
        let at = field.bit as usize / 8;
        bytes.get(at..).and_then(|b| b.first_chunk()).copied().unwrap_or([0; N])
    }
    #[inline(always)]
    fn set(self, bytes: &mut [u8], field: &Field) {
        let at = field.bit as usize / 8;
        if let Some(room) = bytes.get_mut(at..at + N) {
            room.copy_from_slice(&self);
        }
    }
}

/// Declare a number type with its own way to be written; `=> RKey` says what it identifies.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident($t:ty) as $show:expr $(=> $secret:ident)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(pub $t);

        bits!($name as $show $(=> $secret)?, $t: $name, |value: $name| value.0;);

        impl From<$t> for $name {
            fn from(value: $t) -> Self { $name(value) }
        }
    };
}

/// A test of a header's bytes, both ways: its fields are read from them, and set in a header of zeros they give them.
#[cfg(test)]
macro_rules! bytes {
    ($test:ident: $name:ident [$($byte:literal)*] $($get:ident $with:ident $value:expr;)*) => {
        #[test]
        fn $test() {
            let bytes = [$($byte),*];
            let (header, rest) = <$name as $crate::wire::Header>::view(&bytes).unwrap();
            $(assert_eq!(header.$get(), $value, stringify!($get));)*
            assert!(rest.is_empty());
            assert_eq!($name::default()$(.$with($value))*.bytes(), bytes);
        }
    };
}

/// Declare a header: its figure as documentation, its label and length, and one row per field in wire order:
/// `name with_name: bits as Type "wireshark.name"`. It is a compile error if the fields do not fill the header exactly.
macro_rules! header {
    ($(#[doc = $doc:literal])* $name:ident $label:literal, $len:literal bytes {
        $($(#[doc = $fdoc:literal])* $get:ident $with:ident : $width:literal as $t:ty $([$ws:literal])?),* $(,)?
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, zerocopy::FromBytes, zerocopy::IntoBytes,
            zerocopy::KnownLayout, zerocopy::Immutable, zerocopy::Unaligned)]
        #[repr(transparent)]
        pub struct $name([u8; $len]);

        impl $name {
            const ROWS: [$crate::wire::Field; [$(stringify!($get)),*].len()] = {
                let mut rows = [$($crate::wire::Field {
                    name: stringify!($get), bit: 0, width: $width, show: <$t as $crate::wire::Bits>::SHOW,
                    little: <$t as $crate::wire::Bits>::LITTLE,
                    secret: <$t as $crate::wire::Bits>::SECRET,
                    wireshark: concat!("" $(, $ws)?), doc: concat!($($fdoc,)* ""),
                }),*];
                let (mut i, mut bit) = (0, 0);
                while i < rows.len() {
                    rows[i].bit = bit;
                    assert!(!rows[i].little || rows[i].width <= 64 && rows[i].width % 8 == 0 && bit % 8 == 0, "not whole bytes");
                    assert!(rows[i].width <= 64 && rows[i].width as usize + (bit % 8) as usize <= 64
                        || rows[i].width % 8 == 0 && bit % 8 == 0, "a field that does not fit into 64 bits");
                    bit += rows[i].width;
                    i += 1;
                }
                rows
            };
            header!(@rows 0usize; $($(#[doc = $fdoc])* $get $with $t),*);

            /// The header's bytes.
            #[inline]
            pub fn bytes(&self) -> &[u8] { &self.0 }
        }

        const _: () = assert!(0 $(+ $width)* == 8 * $len, concat!($label, ": the widths do not add up to its length"));

        impl Default for $name {
            fn default() -> Self { Self([0; $len]) }
        }

        impl $crate::wire::Header for $name {
            const KIND: $crate::wire::Kind = $crate::wire::Kind::$name;
            const NAME: &'static str = $label;
            const LEN: usize = $len;
            const FIELDS: &'static [$crate::wire::Field] = &Self::ROWS;
            const INFO: &'static $crate::wire::HeaderInfo = &$crate::wire::HeaderInfo {
                kind: $crate::wire::Kind::$name, label: $label, len: $len, fields: &Self::ROWS,
                doc: concat!($($doc, "\n",)* ""),
            };
            #[inline]
            fn view(bytes: &[u8]) -> Option<(&Self, &[u8])> {
                let (header, rest) = bytes.split_first_chunk::<$len>()?;
                Some((zerocopy::transmute_ref!(header), rest))
            }
            #[inline]
            fn view_mut(bytes: &mut [u8]) -> Option<(&mut Self, &mut [u8])> {
                let (header, rest) = bytes.split_first_chunk_mut::<$len>()?;
                Some((zerocopy::transmute_mut!(header), rest))
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                $crate::wire::header::display(<Self as $crate::wire::Header>::INFO, &self.0, f)
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result { core::fmt::Display::fmt(self, f) }
        }
    };
    (@rows $i:expr; ) => {};
    (@rows $i:expr; $(#[doc = $d:literal])* $get:ident $with:ident $t:ty $(, $($rest:tt)*)?) => {
        $(#[doc = $d])*
        #[inline(always)]
        pub fn $get(&self) -> $t {
            <$t as $crate::wire::Bits>::get(&self.0, const { &Self::ROWS[$i] })
        }

        /// This header with this field set; bits that do not fit are dropped.
        #[inline(always)]
        #[must_use]
        pub fn $with(mut self, value: $t) -> Self {
            <$t as $crate::wire::Bits>::set(value, &mut self.0, const { &Self::ROWS[$i] });
            self
        }

        header!(@rows $i + 1; $($($rest)*)?);
    };
}
