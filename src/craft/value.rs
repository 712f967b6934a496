//! Fields by name, and their values as people write them.

use std::{fmt, net::IpAddr};

use super::{Auto, Packet};
use crate::{
    opcode::Opcode,
    wire::{Bits, Field, Kind, Mac, Show},
};

/// The kind of this name: that of [`name_of`], in any case, with or without `_` and `-`; or a short one.
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

/// A kind's name in recipes: unlike [`Kind::layer`], no two share one.
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

/// Names of two words; the others are one with capitals in it.
fn splits(kind: Kind) -> bool {
    !matches!(kind, Kind::AtomicEth | Kind::AtomicAckEth | Kind::ImmDt)
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | ',')).flat_map(char::to_lowercase).collect()
}

/// The field of this name.
pub(super) fn field_of(kind: Kind, name: &str) -> Option<&'static Field> {
    kind.info()?.fields.iter().find(|field| field.name == name)
}

/// Write a field's value from text; says what was expected.
pub(super) fn set(header: &mut [u8], kind: Kind, field: &Field, text: &str) -> Result<(), String> {
    let fit = |value: u64| match field.width {
        width if width < 64 && value >> width != 0 => {
            Err(format!("at most {:#x}, {} has {width} bits", u64::MAX >> (64 - width), field.name))
        }
        _ => Ok(value),
    };
    let number = number(text);
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
        Show::Named(_) if kind == Kind::Bth && field.name == "opcode" => {
            let opcode =
                Opcode::from_name(text).ok_or("an operation code like rc-write-only, or its number")?;
            opcode.set(header, field);
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
                alone.meaning(&bytes)
            };
            let value = number.or_else(|| named(field, text, meaning));
            field.set(
                header,
                fit(value.ok_or("a number, or what it means as `rdmawire dissect` writes it")?)?,
            );
        }
        Show::Bytes => {
            let bytes = hex(text.strip_prefix("hex:").unwrap_or(text)).ok_or("bytes in hexadecimal")?;
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

/// The value with this name, or the one whose name ends so.
fn named(field: &Field, text: &str, name: impl Fn(u64) -> Option<String>) -> Option<u64> {
    if field.width > 16 {
        return None;
    }
    let (wanted, all) = (plain(text), 0..1u64 << field.width);
    if wanted.is_empty() {
        return None;
    }
    let names = all.filter_map(|value| Some((value, plain(&name(value)?))));
    let mut ends = None;
    for (value, name) in names {
        if name == wanted {
            return Some(value);
        }
        if ends.is_none() && name.ends_with(&wanted) {
            ends = Some(value);
        }
    }
    ends
}

fn expected(field: &Field, name: fn(u64) -> Option<&'static str>) -> String {
    let names: Vec<_> = (0..1u64 << field.width.min(16)).filter_map(name).take(8).collect();
    format!("a number or a name ({})", names.join(", "))
}

/// A field's value as [`set`] reads it.
pub(super) fn show(header: &[u8], kind: Kind, field: &Field) -> String {
    match field.show {
        Show::Named(_) if kind == Kind::Bth && field.name == "opcode" => {
            let opcode = Opcode(field.get(header) as u8);
            opcode.ident().map_or(format!("{:#04x}", opcode.0), |name| name.to_lowercase().replace('_', "-"))
        }
        Show::Named(_) | Show::Decoded(_) => format!("{:#x}", field.get(header)),
        _ => field.display(header).to_string(),
    }
}

/// A number: decimal, 0x hexadecimal or 0b binary, with `_` between digits.
pub(super) fn number(text: &str) -> Option<u64> {
    let text = text.replace('_', "");
    match (text.strip_prefix("0x"), text.strip_prefix("0b")) {
        (Some(hex), _) => u64::from_str_radix(hex, 16).ok(),
        (_, Some(binary)) => u64::from_str_radix(binary, 2).ok(),
        _ if text.starts_with('+') => None,
        _ => text.parse().ok(),
    }
}

/// Bytes from hexadecimal digits, two a byte.
pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().filter(|c| *c != ':').map(|c| c.to_digit(16).map(|d| d as u8)).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks_exact(2).map(|two| two[0] << 4 | two[1]).collect())
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
    Add(u64),
    Subtract(u64),
    Payload(super::recipe::Bytes),
}

impl Edit {
    /// Read an edit; the error says what was expected.
    pub fn parse(text: &str) -> Result<Edit, String> {
        let (left, value) =
            text.split_once('=').ok_or_else(|| format!("{text:?}: expected NAME.FIELD=VALUE"))?;
        let (left, value) = (left.trim_end(), value.trim());
        if left.trim() == "payload" {
            let bytes = super::recipe::Bytes::parse(value)
                .map_err(|expected| format!("{text:?}: expected {expected}"))?;
            let (kinds, field) = (Vec::new(), String::new());
            return Ok(Edit { kinds, field, nth: None, change: Change::Payload(bytes), text: text.into() });
        }
        let amount = || number(value).ok_or_else(|| format!("{text:?}: expected a number after ="));
        let (left, change) = match (left.strip_suffix('+'), left.strip_suffix('-')) {
            (Some(left), _) => (left, Change::Add(amount()?)),
            (_, Some(left)) => (left, Change::Subtract(amount()?)),
            _ => (left, Change::Set(value.to_owned())),
        };
        let (name, field) =
            left.trim().rsplit_once('.').ok_or_else(|| format!("{text:?}: expected NAME.FIELD before ="))?;
        let (name, nth) = match name.split_once('[') {
            Some((name, n)) => {
                let n = n.strip_suffix(']').and_then(|n| n.parse().ok());
                (name, Some(n.ok_or_else(|| format!("{text:?}: expected a number in []"))?))
            }
            None => (name, None),
        };
        // Both "cm_req.local_qpn" and, as in filters, "cm.local_qpn".
        let same = |kind: &Kind| kind_of(name) == Some(*kind) || kind.layer() == name;
        let named: Vec<Kind> =
            Kind::ALL.iter().copied().filter(same).filter(|kind| kind.info().is_some()).collect();
        if named.is_empty() {
            return Err(format!("{text:?}: {name:?} is no header; `rdmawire explain headers` lists them"));
        }
        let has = |kind: &Kind| field_of(*kind, field).is_some();
        let kinds: Vec<Kind> = named.iter().copied().filter(has).collect();
        let Some(&first) = kinds.first() else {
            return Err(format!("{text:?}: {field:?} is no field of {name}; it has {}", fields(named[0])));
        };
        let edit = Edit { kinds, field: field.into(), nth, change, text: text.into() };
        if let Some(field) = field_of(first, &edit.field) {
            // A value that cannot be is said now, not at the first packet.
            let mut room = vec![0; first.info().map_or(0, |info| info.len)];
            edit.apply_to(&mut room, first, field)?;
        }
        Ok(edit)
    }

    /// Do it; false where the packet has no such header. A computed field that is set is kept from then on.
    pub fn apply(&self, packet: &mut Packet, seed: u64) -> Result<bool, String> {
        if let Change::Payload(bytes) = &self.change {
            packet.set_payload(bytes.make(seed));
            return Ok(true);
        }
        let found = |part: &super::Part| self.kinds.contains(&part.kind);
        let n = match self.nth {
            Some(nth) => {
                packet.parts().iter().enumerate().filter(|(_, part)| found(part)).map(|(n, _)| n).nth(nth)
            }
            None => packet.parts().iter().rposition(found),
        };
        let Some(n) = n else { return Ok(false) };
        let kind = packet.parts[n].kind;
        let Some(field) = field_of(kind, &self.field) else { return Ok(false) };
        let auto = Auto::of(kind, &self.field);
        if let (Change::Set(value), Some(auto)) = (&self.change, auto)
            && value == "auto"
        {
            packet.parts[n].keep.set(auto, false);
            return Ok(true);
        }
        self.apply_to(packet.bytes_mut(n), kind, field)?;
        if let Some(auto) = auto {
            packet.parts[n].keep.set(auto, true);
        }
        Ok(true)
    }

    fn apply_to(&self, header: &mut [u8], kind: Kind, field: &Field) -> Result<(), String> {
        let wide = field.width > 64;
        match &self.change {
            Change::Set(value) if value == "auto" && Auto::of(kind, field.name).is_some() => Ok(()),
            Change::Set(value) => set(header, kind, field, value)
                .map_err(|expected| format!("{:?}: expected {expected}", self.text)),
            Change::Add(_) | Change::Subtract(_) if wide || matches!(field.show, Show::Bytes) => {
                Err(format!("{:?}: {} is no number to add to", self.text, field.name))
            }
            Change::Add(n) => {
                field.set(header, field.get(header).wrapping_add(*n));
                Ok(())
            }
            Change::Subtract(n) => {
                field.set(header, field.get(header).wrapping_sub(*n));
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

/// The names of a header's fields.
pub(super) fn fields(kind: Kind) -> String {
    let fields = kind.info().map_or(&[][..], |info| info.fields);
    fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ")
}
