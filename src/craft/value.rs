//! Fields by name, and their values as people write them.

use std::{fmt, net::IpAddr};

use super::{ComputedField, Packet};
use crate::{
    grammar::{
        Error, did_you_mean, nearest, nearest_code,
        print::hex,
        recipe::{Assignment, Bytes},
        units,
    },
    opcode::{Opcode, Transport},
    wire::{Bits, Field, IpCmAddress, Kind, Mac, Show},
};

/// The kind with this name: the name that [`name_of`] gives, in any case, with or without `_` and `-`; or a short name.
pub(super) fn kind_of(name: &str) -> Option<Kind> {
    let plain = plain(name);
    let known = match plain.as_str() {
        "eth" => Kind::Ethernet,
        "ip" => Kind::Ipv4,
        "ip6" => Kind::Ipv6,
        "dot1q" | "tag" => Kind::Vlan,
        "imm" => Kind::ImmDt,
        "atomic" => Kind::AtomicEth,
        "atomicack" => Kind::AtomicAckEth,
        "rdmacm" => Kind::IpCm,
        _ => *Kind::ALL.iter().find(|&&kind| kind < Kind::Payload && self::plain(&name_of(kind)) == plain)?,
    };
    Some(known)
}

/// A kind's name in recipes. Unlike [`Kind::layer`], it is unique.
pub(super) fn name_of(kind: Kind) -> String {
    let mut name = String::new();
    for letter in format!("{kind:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() && splits(kind) {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Names of two words.
fn splits(kind: Kind) -> bool {
    !matches!(kind, Kind::AtomicEth | Kind::AtomicAckEth | Kind::ImmDt)
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | ',')).flat_map(char::to_lowercase).collect()
}

/// The field of this name.
pub(super) fn field_of(kind: Kind, name: &str) -> Option<&'static Field> {
    kind.fields().iter().find(|field| field.name == name)
}

/// Writes a field's value from text. The error says what was expected.
pub(super) fn set(header: &mut [u8], kind: Kind, field: &Field, text: &str) -> Result<(), String> {
    let fit = |value: u64| match field.width {
        width if width < 64 && value >> width != 0 => {
            Err(format!("at most {:#x}, {} has {width} bits", u64::MAX >> (64 - width), field.name))
        }
        _ => Ok(value),
    };
    let number = units::integer(text).ok();
    match field.show {
        Show::Dec | Show::Hex => field.set(header, fit(number.ok_or("a number")?)?),
        Show::Flag => match (text, number) {
            ("true", _) | (_, Some(1)) => field.set(header, 1),
            ("false", _) | (_, Some(0)) => field.set(header, 0),
            _ => return Err("true or false".into()),
        },
        Show::Mac => {
            text.parse::<Mac>().map_err(|_| "an Ethernet address like 02:00:00:00:00:01")?.set(header, field)
        }
        Show::Ipv4 => match text.parse() {
            Ok(IpAddr::V4(address)) => address.set(header, field),
            _ => return Err("an IPv4 address".into()),
        },
        Show::Ipv6 => match text.parse() {
            Ok(IpAddr::V6(address)) => address.set(header, field),
            Ok(IpAddr::V4(address)) => address.to_ipv6_mapped().set(header, field),
            Err(_) => return Err("an IPv6 address or a GID".into()),
        },
        Show::Ip(_) => match text.parse() {
            Ok(address) => IpCmAddress::of(address).set(header, field),
            Err(_) => return Err("an IPv4 or IPv6 address".into()),
        },
        Show::Named(_) if kind.is_bth() && field.name == "opcode" => {
            let opcode = Opcode::from_name(text).ok_or_else(|| {
                let near = nearest_code(text, Opcode::ALL.iter().filter_map(|op| op.ident()));
                did_you_mean(&near, "")
            });
            let expected = "an operation code like rc-write-only, or its number";
            opcode.map_err(|or| format!("{expected}{or}"))?.set(header, field);
        }
        Show::Named(name) => {
            let value = number.or_else(|| named(field, text, |value| name(value).map(str::to_owned)));
            field.set(header, fit(value.ok_or_else(|| expected(field, name))?)?);
        }
        Show::Decoded(_) => {
            let meaning = |value: u64| {
                let mut bytes = [0; 64];
                let alone = Field { bit: 0, ..*field };
                alone.set(&mut bytes, value);
                alone.meaning(&bytes).map(|meaning| meaning.to_string())
            };
            let value = number.or_else(|| named(field, text, meaning));
            let expected = "a number, or what it means as `rdmawire dissect` writes it";
            field.set(header, fit(value.ok_or(expected)?)?);
        }
        Show::Text if !text.starts_with("hex:") => {
            let at = field.bit as usize / 8;
            let room = header.get_mut(at..at + field.width as usize / 8).unwrap_or_default();
            if text.len() > room.len() {
                return Err(format!("a text of at most {} bytes", room.len()));
            }
            room.fill(0);
            room.iter_mut().zip(text.as_bytes()).for_each(|(to, from)| *to = *from);
        }
        Show::Bytes | Show::Text | Show::List(_) | Show::Counts(_) => {
            let digits = text.strip_prefix("hex:").unwrap_or(text);
            let bytes = units::hex(digits).ok_or("bytes in hexadecimal")?;
            let at = field.bit as usize / 8;
            let room = header.get_mut(at..at + field.width as usize / 8).unwrap_or_default();
            if bytes.len() != room.len() {
                return Err(format!("{} bytes in hexadecimal", room.len()));
            }
            room.copy_from_slice(&bytes);
        }
    }
    Ok(())
}

/// The value with this name, or with a name that ends with it.
fn named(field: &Field, text: &str, name: impl Fn(u64) -> Option<String>) -> Option<u64> {
    if field.width > 16 {
        return None;
    }
    let wanted = Some(plain(text)).filter(|wanted| !wanted.is_empty())?;
    let names = || (0..1u64 << field.width).filter_map(|value| Some((value, plain(&name(value)?))));
    let found = names().find(|(_, name)| *name == wanted);
    found.or_else(|| names().find(|(_, name)| name.ends_with(&wanted))).map(|(value, _)| value)
}

fn expected(field: &Field, name: fn(u64) -> Option<&'static str>) -> String {
    let names: Vec<_> = (0..1u64 << field.width.min(16)).filter_map(name).take(8).collect();
    format!("a number or a name ({})", names.join(", "))
}

/// A field's value as [`set`] reads it.
pub(super) fn show(header: &[u8], kind: Kind, field: &Field) -> String {
    match field.show {
        Show::Named(_) if kind.is_bth() && field.name == "opcode" => {
            let transport = Transport::of_bth(kind).unwrap_or_default();
            let opcode = Opcode::of(transport, field.get(header) as u8);
            opcode
                .ident()
                .map_or(format!("{:#04x}", opcode.code), |name| name.to_lowercase().replace('_', "-"))
        }
        Show::Named(_) | Show::Decoded(_) => format!("{:#x}", field.get(header)),
        Show::Text | Show::List(_) | Show::Counts(_) => {
            format!("hex:{}", hex(field.bytes(header)))
        }
        _ => field.display(header).to_string(),
    }
}

/// One edit of a packet: `bth.psn+=1000`, `ipv4.dst=10.0.0.9`, `ipv4[0].ttl=3` (the outermost), `payload=zeros 64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    kinds: Vec<Kind>,
    field: String,
    /// Counted from the outermost; `None` is the innermost.
    nth: Option<usize>,
    change: Change,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    Set(String),
    /// Added modulo 2^64, which also subtracts.
    Add(u64),
    Payload(Bytes),
}

impl Edit {
    /// Reads an edit.
    ///
    /// # Errors
    /// Says where, and what was expected.
    pub fn parse(text: &str) -> Result<Edit, Error> {
        let Assignment { header, nth, field, operator, value } = Assignment::parse(text)?;
        let wrong = |part: &str, message: String| Err(Error::new(text, part, message));
        let (change, kinds) = (Change::Set(value.into()), Vec::new());
        let mut edit = Edit { kinds, field: field.into(), nth, change, text: text.into() };
        if (header, field, operator) == ("payload", "", "=") {
            return match Bytes::parse(value) {
                Ok(bytes) => Ok(Edit { change: Change::Payload(bytes), ..edit }),
                Err(expected) => wrong(value, format!("expected {expected}")),
            };
        }
        if field.is_empty() {
            return wrong(header, "expected NAME.FIELD=VALUE".into());
        }
        match (operator, units::integer(value)) {
            ("=", _) => {}
            ("+=", Ok(n)) => edit.change = Change::Add(n),
            (_, Ok(n)) => edit.change = Change::Add(n.wrapping_neg()),
            (_, Err(error)) => return wrong(value, error.message().into()),
        }
        // "cm_req.local_qpn" and, as in filters, "cm.local_qpn".
        let same = |kind: &Kind| kind_of(header) == Some(*kind) || kind.layer() == header;
        let named: Vec<Kind> =
            Kind::ALL.iter().copied().filter(same).filter(|kind| kind.info().is_some()).collect();
        let Some(&any) = named.first() else {
            let near = did_you_mean(&nearest(header, Kind::ALL.iter().map(|&kind| name_of(kind))), "");
            let name = clip(header);
            return wrong(header, format!("{name:?} is no header; `rdmawire explain` lists them{near}"));
        };
        edit.kinds = named.into_iter().filter(|kind| field_of(*kind, field).is_some()).collect();
        let Some((&first, field)) = edit.kinds.first().and_then(|kind| Some((kind, field_of(*kind, field)?)))
        else {
            return wrong(field, no_field(any, header, field));
        };
        // A wrong value is an error now, not at the first packet.
        let mut room = vec![0; first.info().map_or(0, |info| info.len)];
        match edit.apply_to(&mut room, first, field) {
            Ok(()) => Ok(edit),
            Err(message) => wrong(value, message),
        }
    }

    /// The edit that does what this one does when it is applied so many times.
    #[must_use]
    pub fn times(&self, n: u64) -> Edit {
        match self.change {
            Change::Add(step) => Edit { change: Change::Add(step.wrapping_mul(n)), ..self.clone() },
            _ => self.clone(),
        }
    }

    /// Applies the edit. False if the packet has no such header. A computed field that is set is kept from then on; what is added is added
    /// to the computed value.
    pub fn apply(&self, packet: &mut Packet, seed: u64) -> Result<bool, String> {
        if let Change::Payload(bytes) = &self.change {
            packet.set_payload(bytes.make(seed));
            return Ok(true);
        }
        let found = |part: &super::Part| self.kinds.contains(&part.kind);
        let mut places = (0..packet.parts.len()).filter(|&n| found(&packet.parts[n]));
        let n = if let Some(nth) = self.nth { places.nth(nth) } else { places.next_back() };
        let Some(n) = n else { return Ok(false) };
        let kind = packet.parts[n].kind;
        let Some(field) = field_of(kind, &self.field) else { return Ok(false) };
        let auto = ComputedField::of(kind, &self.field);
        if let (Change::Set(value), Some(auto)) = (&self.change, auto)
            && value == "auto"
        {
            packet.parts[n].keep.set(auto, false);
            return Ok(true);
        }
        if let (Change::Add(_), Some(auto)) = (&self.change, auto)
            && !packet.parts[n].keep.has(auto)
        {
            packet.put_computed(n, auto);
        }
        self.apply_to(packet.bytes_mut(n), kind, field).map_err(|why| format!("{:?}: {why}", self.text))?;
        if let Some(auto) = auto {
            packet.parts[n].keep.set(auto, true);
        }
        Ok(true)
    }

    fn apply_to(&self, header: &mut [u8], kind: Kind, field: &Field) -> Result<(), String> {
        let wide = field.width > 64;
        match &self.change {
            Change::Set(value) if value == "auto" && ComputedField::of(kind, field.name).is_some() => Ok(()),
            Change::Set(value) => {
                set(header, kind, field, value).map_err(|expected| format!("expected {expected}"))
            }
            Change::Add(_)
                if wide
                    || matches!(field.show, Show::Bytes | Show::Text | Show::List(_) | Show::Counts(_)) =>
            {
                Err(format!("{} is no number to add to", field.name))
            }
            Change::Add(n) => {
                field.set(header, field.get(header).wrapping_add(*n));
                Ok(())
            }
            Change::Payload(_) => Ok(()),
        }
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The error that a header has no such field: it lists the fields.
pub(super) fn no_field(kind: Kind, header: &str, field: &str) -> String {
    let names = || kind.fields().iter().map(|field| field.name);
    let near = did_you_mean(&nearest(field, names().map(str::to_owned)), "");
    let all = names().collect::<Vec<_>>().join(", ");
    format!("{:?} is no field of {}; it has {all}{near}", clip(field), clip(header))
}

/// The beginning of a typed text, for an error.
pub(super) fn clip(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(end, _)| &text[..end])
}
