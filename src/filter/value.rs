//! Values in expressions. The field decides what they may be.

use std::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
};

use super::name::{Type, Value};
use crate::{
    dissect::Problem,
    grammar::{did_you_mean, nearest_code, units},
    opcode::Opcode,
    wire::{Kind, Mac, Show},
};

/// A value, a prefix, a range, or bytes to compare with; it prints as it was written.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    text: String,
    with: With,
}

#[derive(Clone, Debug)]
enum With {
    /// From the first to the second, both included: addresses are numbers too.
    Range(u128, u128),
    Bytes(Vec<u8>),
    Note(&'static str, &'static str),
}

impl Operand {
    /// A value of this type.
    ///
    /// # Errors
    /// Says what was expected.
    pub(super) fn parse(values: Type, text: &str, quoted: bool) -> Result<Operand, String> {
        let with = match values {
            Type::Layer => return Err("a header has no value: compare one of its fields".into()),
            Type::Flag => match text {
                "true" | "1" => With::Range(1, 1),
                "false" | "0" => With::Range(0, 0),
                _ => return Err("expected true or false".into()),
            },
            Type::Number(width, show) => number_or_name(text, width, show)?,
            Type::Opcode => match Opcode::from_name(text) {
                Some(Opcode { code, .. }) => With::Range(code as u128, code as u128),
                None => {
                    let near =
                        did_you_mean(&nearest_code(text, Opcode::ALL.iter().filter_map(|op| op.ident())), "");
                    return Err(format!(
                        "expected an operation code: a number or a name like rc-write-only{near}"
                    ));
                }
            },
            Type::Ipv4 => {
                let (address, bits) = prefix(text, 32)?;
                let address: Ipv4Addr =
                    address.parse().map_err(|_| "expected an IPv4 address like 10.0.0.1 or 10.0.0.0/8")?;
                network(u32::from(address) as u128, 32, bits)
            }
            Type::Ipv6 => {
                let (address, bits) = prefix(text, 128)?;
                let address: Ipv6Addr = address
                    .parse()
                    .map_err(|_| "expected an IPv6 address or GID like fe80::1 or fe80::/10")?;
                network(u128::from(address), 128, bits)
            }
            // An IPv4 address is in the last four bytes, with zeros before it: the same numbers.
            Type::Ip => {
                return Operand::parse(
                    if text.contains(':') { Type::Ipv6 } else { Type::Ipv4 },
                    text,
                    quoted,
                );
            }
            Type::Mac => {
                let Mac(bytes) =
                    text.parse().map_err(|error| format!("{error}: expected 00:11:22:33:44:55"))?;
                let number = bytes.iter().fold(0, |n, &byte| n << 8 | byte as u128);
                With::Range(number, number)
            }
            Type::Bytes => With::Bytes(bytes(text)?),
            Type::Text => With::Bytes(text.as_bytes().to_vec()),
            Type::Note => note(text)?,
            Type::Time => {
                let ns = units::epoch(text).ok_or("expected seconds since 1970, like 1700000000.5")?;
                With::Range(ns.into(), ns.into())
            }
        };
        let text = match (quoted, text.contains('"')) {
            (false, _) => text.to_owned(),
            (true, false) => format!("\"{text}\""),
            (true, true) => format!("'{text}'"),
        };
        Ok(Operand { text, with })
    }

    /// From one value to another.
    ///
    /// # Errors
    /// Says why there is no such range.
    pub(super) fn range(from: Operand, to: Operand) -> Result<Operand, String> {
        match (from.with, to.with) {
            (With::Range(low, _), With::Range(_, high)) if low <= high => {
                Ok(Operand { text: format!("{}..{}", from.text, to.text), with: With::Range(low, high) })
            }
            (With::Range(..), With::Range(..)) => Err("the range's end is before its start".into()),
            _ => Err("only numbers and addresses have ranges".into()),
        }
    }
    pub(super) fn is_ordered(&self) -> bool {
        matches!(self.with, With::Range(..))
    }

    #[inline]
    pub(super) fn equals(&self, value: &Value<'_>) -> bool {
        match (&self.with, value) {
            (With::Range(low, high), value) => (*low..=*high).contains(&value.number()),
            (With::Bytes(these), Value::Field(field, bytes)) => match field.show {
                Show::Text => field.text(bytes) == these.as_slice(),
                _ => field.bytes(bytes) == these.as_slice(),
            },
            (With::Note(layer, id), Value::Note(note)) => {
                note.layer.layer() == *layer && note.problem.id() == *id
            }
            _ => false,
        }
    }

    /// Whether the value is less.
    #[inline]
    pub(super) fn is_above(&self, value: &Value<'_>) -> bool {
        matches!(self.with, With::Range(low, _) if value.number() < low)
    }

    /// Whether the value is more.
    #[inline]
    pub(super) fn is_below(&self, value: &Value<'_>) -> bool {
        matches!(self.with, With::Range(_, high) if value.number() > high)
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn number_or_name(text: &str, width: u16, show: Show) -> Result<With, String> {
    let largest = u64::MAX >> (64 - width.clamp(1, 64));
    if let Ok(n) = units::integer(text) {
        return match n <= largest {
            true => Ok(With::Range(n as u128, n as u128)),
            false => Err(format!("does not fit the field's {width} bits")),
        };
    }
    // To decode each of many values would take long.
    let has_names = width <= 8 || !matches!(show, Show::Decoded(_));
    let is_meant = |n| has_names && show.meaning(n).is_some_and(|name| same(&name.to_string(), text));
    let mut with_name = (0..=largest.min(0xffff)).filter(|&n| is_meant(n));
    let Some(first) = with_name.next() else {
        return Err(match show {
            Show::Named(_) | Show::Decoded(_) => "expected a number, or a name of one of its values".into(),
            _ => "expected a number, like 17 or 0x11".into(),
        });
    };
    // Several values in a row may share a name.
    let last = with_name.zip(first + 1..).take_while(|(a, b)| a == b).last().map_or(first, |(n, _)| n);
    Ok(With::Range(first as u128, last as u128))
}

/// Whether two names are the same but for case and punctuation.
fn same(a: &str, b: &str) -> bool {
    let letters = |s: &str| -> Vec<u8> {
        s.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.to_ascii_lowercase()).collect()
    };
    a.len().abs_diff(b.len()) <= 16 && letters(a) == letters(b)
}

fn prefix(text: &str, most: u32) -> Result<(&str, u32), String> {
    let Some((address, bits)) = text.split_once('/') else { return Ok((text, most)) };
    match bits.parse() {
        Ok(bits) if bits <= most && !address.is_empty() => Ok((address, bits)),
        _ => Err(format!("a prefix has 0 to {most} bits")),
    }
}

fn network(address: u128, width: u32, bits: u32) -> With {
    let host = match width - bits {
        128 => u128::MAX,
        n => (1 << n) - 1,
    };
    With::Range(address & !host, address | host)
}

fn bytes(text: &str) -> Result<Vec<u8>, String> {
    units::hex(text.strip_prefix("0x").unwrap_or(text))
        .filter(|bytes| !bytes.is_empty())
        .ok_or_else(|| "expected bytes in hexadecimal, like 0a:0b or 0a0b".into())
}

fn note(text: &str) -> Result<With, String> {
    let (layer, problem) = text.split_once('.').unwrap_or((text, ""));
    let layer = Kind::ALL.iter().map(|kind| kind.layer()).find(|name| *name == layer);
    let ids = || Problem::EXAMPLES.iter().map(Problem::id);
    let problem = ids().find(|id| *id == problem);
    match (layer, problem) {
        (Some(layer), Some(problem)) => Ok(With::Note(layer, problem)),
        (None, _) => Err("expected a note's id: a layer and a problem, like bth.opcode".into()),
        _ => Err(format!(
            "a note's id is a layer, a dot, and one of: {}",
            ids().collect::<Vec<_>>().join(", ")
        )),
    }
}
