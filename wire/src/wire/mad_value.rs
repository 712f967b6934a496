//! Values in the attributes of management: what a node is, states of links and managers, rates, traps, lists.

use core::fmt;

use super::{Bits, Field, Secret, Show};

/// Text of so many bytes at most, with zeros behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Text<const N: usize>(pub [u8; N]);

impl<const N: usize> Text<N> {
    /// What stands before the first zero, as far as it is UTF-8.
    pub fn as_str(&self) -> &str {
        let bytes = until_zero(&self.0);
        str::from_utf8(bytes).unwrap_or_else(|error| {
            bytes.get(..error.valid_up_to()).and_then(|valid| str::from_utf8(valid).ok()).unwrap_or("")
        })
    }
}

impl<const N: usize> From<&str> for Text<N> {
    /// As much of the text as has room.
    fn from(text: &str) -> Self {
        let mut bytes = [0; N];
        bytes.iter_mut().zip(text.as_bytes()).for_each(|(to, from)| *to = *from);
        Text(bytes)
    }
}

/// The bytes before the first zero.
pub(crate) fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or(bytes)
}

/// Bytes that others know how to read. They may be addresses or keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Opaque<const N: usize>(pub [u8; N]);

/// Entries of so many bits each, 4 to 64, in so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct List<const BITS: u8, const N: usize>(pub [u8; N]);

/// Counters of so many bits each, written as decimal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Counts<const BITS: u8, const N: usize>(pub [u8; N]);

/// What both kinds of lists can do.
macro_rules! lists {
    ($($name:ident)*) => { $(
        impl<const BITS: u8, const N: usize> $name<BITS, N> {
            /// The entries in their order.
            pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
                entries(&self.0, BITS)
            }

            /// Entry `n`, from 0; `None` behind the last.
            pub fn entry(&self, n: usize) -> Option<u64> {
                self.iter().nth(n)
            }

            /// With another value of entry `n`; one behind the last is left out.
            #[must_use]
            pub fn with(mut self, n: usize, value: u64) -> Self {
                let bit = n * BITS as usize;
                if bit < 8 * N {
                    let (bit, width) = (bit as u16, BITS.into());
                    let field = Field {
                        name: "",
                        bit,
                        width,
                        show: Show::Dec,
                        little: false,
                        secret: None,
                        wireshark: "",
                        doc: "",
                    };
                    field.set(&mut self.0, value);
                }
                self
            }
        }

        impl<const BITS: u8, const N: usize> Default for $name<BITS, N> {
            fn default() -> Self {
                $name([0; N])
            }
        }
    )* };
}

lists! { List Counts }

/// The entries of a list of so many bits each.
pub(crate) fn entries(bytes: &[u8], bits: u8) -> impl Iterator<Item = u64> + '_ {
    let bits = bits.max(1) as usize;
    (0..8 * bytes.len() / bits).map(move |n| {
        let bit = (n * bits) as u16;
        let field = Field {
            name: "",
            bit,
            width: bits as u16,
            little: false,
            show: Show::Dec,
            secret: None,
            wireshark: "",
            doc: "",
        };
        field.get(bytes)
    })
}

macro_rules! bytes_of {
    ($($name:ident [$($parameter:tt)*] [$($argument:tt)*] as $show:expr, $secret:expr;)*) => { $(
        impl<$($parameter)*> Bits for $name<$($argument)*> {
            const SHOW: Show = $show;
            const SECRET: Option<Secret> = $secret;
            #[inline]
            fn get(bytes: &[u8], field: &Field) -> Self {
                $name(<[u8; N]>::get(bytes, field))
            }
            #[inline]
            fn set(self, bytes: &mut [u8], field: &Field) {
                self.0.set(bytes, field);
            }
        }
    )* };
}

bytes_of! {
    // A node's name is mostly that of its host.
    Text [const N: usize] [N] as Show::Text, Some(Secret::Opaque);
    Opaque [const N: usize] [N] as Show::Bytes, Some(Secret::Opaque);
    // Entries of 64 bits are GUIDs; shorter ones, places in a subnet.
    List [const BITS: u8, const N: usize] [BITS, N] as Show::List(BITS), if BITS == 64 { Some(Secret::Opaque) } else { None };
    Counts [const BITS: u8, const N: usize] [BITS, N] as Show::Counts(BITS), None;
}

/// Ports, a byte each.
pub type PortList = List<8, 64>;
/// GUIDs.
pub type GuidBlock = List<64, 64>;
/// P_Keys.
pub type PKeyBlock = List<16, 64>;
/// Virtual lanes.
pub type VlList = List<4, 8>;
/// Virtual lanes and their weights, a byte each.
pub type VlWeights = List<16, 64>;
/// Sixteen ports each, a bit for each port.
pub type PortMasks = List<16, 64>;
/// Entries of random forwarding tables: LID, then a valid bit with the LMC, then the port.
pub type RandomRoutes = List<32, 64>;

/// A key of management: who does not know it may not change a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ManagementKey(pub u64);

bits!(ManagementKey as Show::Hex => Opaque, u64: ManagementKey, |key: ManagementKey| key.0;);

number! {
    /// First half of the GIDs of a subnet.
    GidPrefix(u64) as Show::Hex
}

number! {
    /// What a node is.
    NodeType(u8) as Show::Named(|v| Some(match v { 1 => "channel adapter", 2 => "switch", 3 => "router", _ => return None }))
}

impl NodeType {
    /// A channel adapter.
    pub const CA: NodeType = NodeType(1);
    /// A switch.
    pub const SWITCH: NodeType = NodeType(2);
    /// A router.
    pub const ROUTER: NodeType = NodeType(3);
}

number! {
    /// State of a link.
    PortState(u8) as Show::Named(|v| Some(match v {
        0 => "no change", 1 => "down", 2 => "initialize", 3 => "armed", 4 => "active", 5 => "active, deferred", _ => return None,
    }))
}

impl PortState {
    /// Nothing is connected, or the link does not come up.
    pub const DOWN: PortState = PortState(1);
    /// Packets may be sent.
    pub const ACTIVE: PortState = PortState(4);
}

number! {
    /// State of a physical link.
    PhysicalState(u8) as Show::Named(|v| Some(match v {
        0 => "no change", 1 => "sleep", 2 => "polling", 3 => "disabled", 4 => "training", 5 => "link up", 6 => "error recovery",
        7 => "test", _ => return None,
    }))
}

impl PhysicalState {
    /// The link is up.
    pub const LINK_UP: PhysicalState = PhysicalState(5);
}

number! {
    /// Widths of a link, a bit each.
    LinkWidth(u8) as Show::Decoded(|v, f| one_of(v, &["1x", "4x", "8x", "12x", "2x"], 255, f))
}

impl LinkWidth {
    /// Lanes of the active width, which is one bit.
    pub const fn lanes(self) -> Option<u8> {
        match self.0 {
            1 => Some(1),
            2 => Some(4),
            4 => Some(8),
            8 => Some(12),
            16 => Some(2),
            _ => None,
        }
    }
}

number! {
    /// Speeds of a lane, a bit each.
    LinkSpeed(u8) as Show::Decoded(|v, f| one_of(v, &["2.5 Gbit/s", "5 Gbit/s", "10 Gbit/s"], 15, f))
}

impl LinkSpeed {
    /// Of the active speed, which is one bit: megabits in a second.
    pub const fn mbit(self) -> Option<u32> {
        match self.0 {
            1 => Some(2_500),
            2 => Some(5_000),
            4 => Some(10_000),
            _ => None,
        }
    }
}

number! {
    /// Speeds of a lane above 10 Gbit/s, a bit each.
    LinkSpeedExt(u8) as Show::Decoded(|v, f| {
        one_of(v, &["14.0625 Gbit/s", "25.78125 Gbit/s", "53.125 Gbit/s", "106.25 Gbit/s", "212.5 Gbit/s"], 31, f)
    })
}

impl LinkSpeedExt {
    /// Of the active speed, which is one bit: megabits in a second, as links are called.
    pub const fn mbit(self) -> Option<u32> {
        match self.0 {
            1 => Some(14_062),
            2 => Some(25_781),
            4 => Some(53_125),
            8 => Some(106_250),
            _ => None,
        }
    }
}

/// Names of the bits that are set; `keep` is the value that leaves all as it was.
fn one_of(value: u64, names: &[&str], keep: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if value == 0 || value == keep {
        return f.write_str(if value == 0 { "none" } else { "all supported" });
    }
    let mut words = names.iter().enumerate().filter(|(bit, _)| value >> bit & 1 == 1).map(|(_, name)| *name);
    f.write_str(words.next().unwrap_or("reserved"))?;
    words.try_for_each(|word| write!(f, " or {word}"))
}

number! {
    /// How many virtual lanes of data, by code.
    VlCount(u8) as Show::Named(|v| Some(match v {
        0 => "no change", 1 => "VL 0", 2 => "VL 0 and 1", 3 => "VL 0 to 3", 4 => "VL 0 to 7", 5 => "VL 0 to 14", _ => return None,
    }))
}

number! {
    /// State of a subnet manager.
    SmState(u8) as Show::Named(|v| Some(match v { 0 => "not active", 1 => "discovering", 2 => "standby", 3 => "master", _ => return None }))
}

impl SmState {
    /// It manages the subnet.
    pub const MASTER: SmState = SmState(3);
}

number! {
    /// How grave a notice is.
    NoticeType(u8) as Show::Named(|v| Some(match v {
        0 => "fatal", 1 => "urgent", 2 => "security", 3 => "subnet management", 4 => "informational", 0x7f => "empty", _ => return None,
    }))
}

number! {
    /// What issued a notice.
    ProducerType(u32) as Show::Named(|v| Some(match v {
        1 => "channel adapter", 2 => "switch", 3 => "router", 4 => "class manager", 0xff_ffff => "all", _ => return None,
    }))
}

number! {
    /// What a trap says (IBTA vol. 1, table 131).
    TrapNumber(u16) as Show::Named(|v| Some(match v {
        64 => "port is in service", 65 => "port is out of service", 66 => "multicast group was created",
        67 => "multicast group was deleted", 68 => "path is no longer valid", 69 => "path is valid again",
        128 => "state of a link has changed", 129 => "local link integrity", 130 => "overrun of buffers", 131 => "flow control watchdog",
        144 => "capabilities or name have changed", 145 => "system image GUID has changed", 256 => "wrong M_Key", 257 => "wrong P_Key",
        258 => "wrong Q_Key", 259 => "wrong P_Key at a switch's port", 0xffff => "all", _ => return None,
    }))
}

number! {
    /// What a segment is for.
    RmppType(u8) as Show::Named(|v| Some(match v { 0 => "not used", 1 => "DATA", 2 => "ACK", 3 => "STOP", 4 => "ABORT", _ => return None }))
}

impl RmppType {
    /// A segment of data.
    pub const DATA: RmppType = RmppType(1);
    /// Segments have come.
    pub const ACK: RmppType = RmppType(2);
    /// The sender has no resources.
    pub const STOP: RmppType = RmppType(3);
    /// Something is wrong.
    pub const ABORT: RmppType = RmppType(4);
}

number! {
    /// Why a transfer in segments was stopped.
    RmppStatus(u8) as Show::Named(|v| Some(match v {
        0 => "normal", 1 => "no resources", 118 => "it took too long", 119 => "last segment and payload length disagree",
        120 => "first segment and payload length disagree", 121 => "wrong type", 122 => "new window is too small",
        123 => "segment number is too big", 124 => "illegal status", 125 => "version is not known", 126 => "too many retries",
        127 => "unspecified", _ => return None,
    }))
}

number! {
    /// What is asked of a value.
    Selector(u8) as Show::Named(|v| Some(["greater than", "less than", "exactly", "largest"][v as usize & 3]))
}

/// Rates by code, in tenths of gigabits in a second.
const RATES: [u16; 25] = [
    0, 0, 25, 100, 300, 50, 200, 400, 600, 800, 1200, 140, 560, 1120, 1680, 250, 1000, 2000, 3000, 280, 500,
    4000, 6000, 8000, 12000,
];

number! {
    /// Rate of a path, by code.
    Rate(u8) as Show::Decoded(|v, f| match Rate(v as u8).mbit() {
        Some(mbit) if mbit % 1000 == 0 => write!(f, "{} Gbit/s", mbit / 1000),
        Some(mbit) => write!(f, "{}.{} Gbit/s", mbit / 1000, mbit % 1000 / 100),
        None => f.write_str("reserved"),
    })
}

impl Rate {
    /// Megabits in a second; `None` for a reserved code.
    pub fn mbit(self) -> Option<u32> {
        RATES.get(self.0 as usize).copied().filter(|&tenths| tenths > 0).map(|tenths| u32::from(tenths) * 100)
    }
}

number! {
    /// How a port is a member of a multicast group, a bit each.
    JoinState(u8) as Show::Decoded(|v, f| match v {
        0 => f.write_str("none"),
        v => {
            let names = ["full member", "non-member", "send only", "send only, full member"];
            let mut words = names.iter().enumerate().filter(|(bit, _)| v >> bit & 1 == 1);
            f.write_str(words.next().map_or("reserved", |(_, word)| word))?;
            words.try_for_each(|(_, word)| write!(f, ", {word}"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_lists() {
        let vls = VlList::default().with(1, 1).with(14, 0xe).with(15, 0xf).with(16, 7);
        assert_eq!(vls.0, [0x01, 0, 0, 0, 0, 0, 0, 0xef]);
        assert_eq!((vls.iter().count(), vls.entry(14), vls.entry(16)), (16, Some(14), None));
        let keys = PKeyBlock::default().with(0, 0xffff).with(31, 0x8001);
        assert_eq!((keys.entry(0), keys.entry(1), keys.entry(31)), (Some(0xffff), Some(0), Some(0x8001)));
    }

    #[test]
    fn texts_end_at_a_zero_and_where_they_are_no_utf8() {
        let text: Text<64> = "sw-01 leaf".into();
        assert_eq!((text.as_str(), text.0[10], text.0[63]), ("sw-01 leaf", 0, 0));
        assert_eq!(Text(*b"ab\xffc").as_str(), "ab");
        assert_eq!(Text::<2>::from("abc").as_str(), "ab");
    }

    #[test]
    fn rates_by_code() {
        assert_eq!(
            [2, 3, 12, 19, 24, 1, 25].map(|code| Rate(code).mbit()),
            [Some(2_500), Some(10_000), Some(56_000), Some(28_000), Some(1_200_000), None, None]
        );
    }
}
