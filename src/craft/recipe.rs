//! A packet in one line of text.
//!
//! ```text
//! eth / ipv4 dst=10.0.0.2 dscp=26 / udp / bth opcode=rc-write-only dest_qp=0x11 psn=7 / reth dma_len=64 / payload 64
//! ```
//! Headers from outside to inside, separated by `/`: a name, and fields by their names in the specification, from the header
//! tables (`rdmawire explain`). Other fields have the values of [`template`](super::template()). A [`ComputedField`] that is
//! given is kept; `=auto` computes it, which UDP's checksum needs. A flag without a value is true.
//!
//! | item | what it is |
//! |---|---|
//! | `ipv4_options hex:01010101` | a part without a table of fields: bytes as below |
//! | `payload 64` | so many bytes of a pattern that depends on the seed |
//! | `payload hex:c0ffee`, `'text'`, `zeros 64`, `random 64` | these bytes; random ones differ from packet to packet |
//! | `pad hex:00` | these bytes between payload and ICRC |
//! | `icrc hex:01020304`, `icrc none`, `vcrc …` | this CRC, or none |
//! | `trailer hex:0000` | bytes after the packet |
//! | `fcs`, `no_padding` | with a frame check sequence; not padded to 60 bytes |
//! | `source_qp 0x12` | the sender's queue pair: decides UDP's source port |
//! | `missing 900` | so many bytes are missing at the end, as in a cut frame: lengths count them |
//! | `link 101` | the link type, where the first header does not say it |

use std::fmt::Write;

use super::{
    ComputedField, Data, Packet,
    packet::has_crc,
    template,
    value::{clip, field_of, kind_of, name_of, no_field, set, show},
};
pub use crate::grammar::Error;
use crate::{
    dissect::Link,
    grammar::{
        did_you_mean, nearest,
        print::hex,
        recipe::{self as grammar, Bytes},
        units,
    },
    random,
    wire::{Field, Kind, Qpn},
};

/// The packet that a recipe describes, with seed 0.
pub fn parse(text: &str) -> Result<Packet, Error> {
    parse_seeded(text, 0)
}

/// The packet that a recipe describes. The seed determines its pattern and its random bytes.
pub fn parse_seeded(text: &str, seed: u64) -> Result<Packet, Error> {
    let items = grammar::items(text)?;
    packet_of(&items, seed)
        .map_err(|wrong| Error::new(text, wrong.part.unwrap_or(&text[text.len()..]), wrong.message))
}

/// The wrong word, or what is missing at the end.
struct Wrong<'a> {
    part: Option<&'a str>,
    message: String,
}

fn wrong<'a>(part: &'a str, message: impl Into<String>) -> Wrong<'a> {
    Wrong { part: Some(part), message: message.into() }
}

fn packet_of<'a>(items: &[Vec<&'a str>], seed: u64) -> Result<Packet, Wrong<'a>> {
    let mut packet = Packet::new(Link::ETHERNET);
    let mut link = None;
    let mut done = false;
    for item in items {
        let Some((&name, rest)) = item.split_first() else { continue };
        match name {
            "link" => link = Some(Link(one_number(name, rest, "a link type")?)),
            "source_qp" => packet.source_qp = Some(Qpn(one_number(name, rest, "a queue pair number")?)),
            "missing" => packet.missing = one_number(name, rest, "how many bytes")?,
            "fcs" => packet.set_keep(ComputedField::Fcs, false),
            "no_padding" => packet.set_keep(ComputedField::FramePadding, true),
            "payload" | "trailer" | "pad" | "icrc" | "vcrc" => {
                done |= name == "payload";
                packet = behind(packet, name, rest, seed)?;
            }
            _ => match kind_of(name) {
                Some(_) if done => return Err(wrong(name, "headers come before the payload")),
                Some(kind) => header(&mut packet, kind, name, rest, seed)?,
                None => return Err(wrong(name, unknown(name))),
            },
        }
    }
    if packet.parts.is_empty() && packet.payload.is_empty() {
        return Err(Wrong { part: None, message: "expected a header, like eth or lrh".into() });
    }
    packet.link = link.unwrap_or_else(|| link_of(&packet));
    Ok(packet)
}

/// The packet as a recipe: [`parse`] of it builds the same frame. Bytes are written out in full.
pub fn print(packet: &Packet) -> String {
    let mut items = Vec::new();
    if link_of(packet) != packet.link {
        items.push(format!("link {}", packet.link.0));
    }
    let (built, otherwise) = (packet.settled().0, unsaid(packet).settled().0);
    for part in &packet.parts {
        let (mut item, bytes) = (name_of(part.kind), packet.bytes_of(part));
        let Some(info) = part.kind.info().filter(|info| info.len == bytes.len()) else {
            let _ = write!(item, " hex:{}", hex(bytes));
            if part.keep.has(ComputedField::IpProtocol) {
                item.push_str(" kept");
            }
            items.push(item);
            continue;
        };
        let plain = template(part.kind);
        let (built, otherwise) = (&built[part.range()], &otherwise[part.range()]);
        for field in info.fields {
            let auto = ComputedField::of(part.kind, field.name);
            let (kept, default) = match auto {
                Some(auto) => (part.keep.has(auto), super::ComputedFields::DEFAULT.has(auto)),
                None => (true, true),
            };
            let said = match (kept, default) {
                (true, true) => !same_value(field, bytes, &plain),
                (true, false) => true,
                (false, true) => {
                    let _ = write!(item, " {}=auto", field.name);
                    false
                }
                // Not computed between these headers: it is written out.
                (false, false) => {
                    !auto.is_some_and(ComputedField::is_sum) && !same_value(field, built, otherwise)
                }
            };
            if said {
                let value = show(if kept { bytes } else { built }, part.kind, field);
                let _ = write!(item, " {}={value}", field.name);
            }
        }
        items.push(item);
    }
    if !packet.payload.is_empty() {
        items.push(format!("payload hex:{}", hex(&packet.payload)));
    }
    // Without a BTH, it is not computed.
    let has_bth = packet.parts.iter().any(|part| part.kind.is_bth());
    if packet.pad.len > 0 && (packet.keeps(ComputedField::Pad) || !has_bth) {
        items.push(format!("pad hex:{}", hex(packet.pad.bytes())));
    }
    let (icrc, vcrc) = (packet.icrc.as_ref().map(|crc| &crc[..]), packet.vcrc.as_ref().map(|crc| &crc[..]));
    for (crc, field, of) in [
        (icrc, ComputedField::Icrc, has_crc as fn(Kind) -> bool),
        (vcrc, ComputedField::Vcrc, |kind| kind == Kind::Lrh),
    ] {
        match crc {
            Some(crc) if packet.keep.has(field) => items.push(format!("{field} hex:{}", hex(crc))),
            None if packet.parts.iter().any(|part| of(part.kind)) => items.push(format!("{field} none")),
            _ => {}
        }
    }
    if !packet.trailer.is_empty() {
        items.push(format!("trailer hex:{}", hex(&packet.trailer)));
    }
    if !packet.keep.has(ComputedField::Fcs) {
        items.push("fcs".into());
    }
    if packet.keep.has(ComputedField::FramePadding) {
        items.push("no_padding".into());
    }
    if let Some(qpn) = packet.source_qp {
        items.push(format!("source_qp {qpn}"));
    }
    if packet.missing > 0 {
        items.push(format!("missing {}", packet.missing));
    }
    items.join(" / ")
}

fn same_value(field: &Field, a: &[u8], b: &[u8]) -> bool {
    match field.width {
        0..=64 => field.get(a) == field.get(b),
        _ => field.bytes(a) == field.bytes(b),
    }
}

/// The packet with all computed values as in the template.
fn unsaid(packet: &Packet) -> Packet {
    let mut packet = packet.clone();
    for n in 0..packet.parts.len() {
        let (kind, keep) = (packet.parts[n].kind, packet.parts[n].keep);
        let plain = template(kind);
        let header = packet.bytes_mut(n);
        for field in kind.info().filter(|info| info.len == header.len()).map_or(&[][..], |info| info.fields) {
            if ComputedField::of(kind, field.name).is_some_and(|auto| !keep.has(auto)) {
                field.set(header, field.get(&plain));
            }
        }
    }
    packet
}

impl Bytes {
    pub(super) fn make(&self, seed: u64) -> bytes::Bytes {
        match self {
            Bytes::Are(bytes) => bytes::Bytes::copy_from_slice(bytes),
            Bytes::Zeros(n) => vec![0; *n].into(),
            Bytes::Pattern(n) => {
                let data = Data::pattern(0);
                let mut bytes = Vec::with_capacity(*n);
                while bytes.len() < *n {
                    bytes.extend_from_slice(&data.at(bytes.len() as u64, (*n - bytes.len()).min(4096)));
                }
                bytes.into()
            }
            Bytes::Random(n) => {
                let seed = random::mix(seed);
                let words = (0u64..).flat_map(|n| random::mix(seed.wrapping_add(n)).to_be_bytes());
                words.take(*n).collect::<Vec<u8>>().into()
            }
        }
    }
}

fn one_number<'a, T: TryFrom<u64>>(name: &'a str, rest: &[&'a str], what: &str) -> Result<T, Wrong<'a>> {
    let value = match rest {
        [one] => units::integer(one).ok().and_then(|n| T::try_from(n).ok()),
        _ => None,
    };
    value.ok_or_else(|| wrong(rest.first().unwrap_or(&name), format!("expected {what} after {name}")))
}

/// The words after an item's name, as bytes.
fn bytes_of<'a>(name: &'a str, rest: &[&'a str], seed: u64) -> Result<bytes::Bytes, Wrong<'a>> {
    let first = rest.first().unwrap_or(&name);
    match Bytes::parse(&rest.join(" ")) {
        Ok(bytes) => Ok(bytes.make(seed)),
        Err(expected) => Err(wrong(first, format!("expected {expected} after {}", clip(name)))),
    }
}

fn behind<'a>(mut packet: Packet, name: &'a str, rest: &[&'a str], seed: u64) -> Result<Packet, Wrong<'a>> {
    let is_none = matches!(rest, ["none"]);
    let bytes = match name {
        "icrc" | "vcrc" if is_none => bytes::Bytes::new(),
        _ => bytes_of(name, rest, seed)?,
    };
    let unfit = |n: usize| wrong(name, format!("expected {n} bytes as hex:…, or none"));
    match name {
        "icrc" if is_none => packet.icrc = None,
        "vcrc" if is_none => packet.vcrc = None,
        "icrc" => packet = packet.icrc(Some(bytes.as_ref().try_into().map_err(|_| unfit(4))?)),
        "vcrc" => packet = packet.vcrc(Some(bytes.as_ref().try_into().map_err(|_| unfit(2))?)),
        "pad" if bytes.len() > 3 => return Err(wrong(name, "expected at most three bytes")),
        "pad" => packet = packet.pad(&bytes),
        "trailer" => packet.trailer = bytes,
        _ => packet.payload = bytes,
    }
    Ok(packet)
}

fn header<'a>(
    packet: &mut Packet,
    kind: Kind,
    name: &'a str,
    rest: &[&'a str],
    seed: u64,
) -> Result<(), Wrong<'a>> {
    let words = match rest.split_last() {
        Some((&"kept", before)) => before,
        _ => rest,
    };
    let raw = words.first().is_some_and(|word| !word.contains('=') && word.starts_with("hex:"));
    if kind.info().is_none() || raw {
        packet.append(kind, &bytes_of(name, words, seed)?);
        if words.len() != rest.len()
            && let Some(part) = packet.parts.last_mut()
        {
            part.keep.set(ComputedField::IpProtocol, true);
        }
        return Ok(());
    }
    let mut bytes = template(kind);
    let mut keep = packet.keep;
    for &word in rest {
        let (field, value, shown) = match word.split_once('=') {
            Some((field, value)) => (field, value, value),
            None => (word, "true", word),
        };
        let known = field_of(kind, field).ok_or_else(|| wrong(field, no_field(kind, name, field)))?;
        let auto = ComputedField::of(kind, field);
        if let (Some(auto), "auto") = (auto, value) {
            keep.set(auto, false);
            continue;
        }
        set(&mut bytes, kind, known, value)
            .map_err(|expected| wrong(shown, format!("expected {expected}")))?;
        if let Some(auto) = auto {
            keep.set(auto, true);
        }
    }
    packet.append(kind, &bytes);
    if let Some(part) = packet.parts.last_mut() {
        part.keep = keep;
    }
    Ok(())
}

/// The link type that a packet's first header has.
fn link_of(packet: &Packet) -> Link {
    match packet.parts.first().map(|part| part.kind) {
        Some(Kind::Lrh) => Link::INFINIBAND,
        Some(Kind::Ipv4) => Link::IPV4,
        Some(Kind::Ipv6) => Link::IPV6,
        Some(Kind::Sll) => Link::LINUX_SLL,
        Some(Kind::Sll2) => Link::LINUX_SLL2,
        Some(Kind::Erf) => Link::ERF,
        Some(Kind::Loopback) => Link::NULL,
        Some(Kind::Ppp | Kind::PppAddress) => Link::PPP,
        Some(Kind::Pktap) => Link::PKTAP,
        Some(Kind::Nflog) => Link::NFLOG,
        Some(Kind::Ipoib) => Link::IPOIB,
        Some(Kind::BroadcomTag) => Link::DSA_BROADCOM_BEFORE,
        _ => Link::ETHERNET,
    }
}

fn unknown(name: &str) -> String {
    let all = || Kind::ALL.iter().map(|&kind| name_of(kind));
    let alike = |known: &String| known.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    let most = all().map(|known| alike(&known)).max().filter(|&most| most >= 2).unwrap_or(usize::MAX);
    let near: Vec<_> = all().filter(|known| alike(known) == most).take(4).collect();
    match near.as_slice() {
        [] => {
            let near = did_you_mean(&nearest(name, all()), "");
            format!("expected a header (eth, vlan, ipv4, ipv6, udp, grh, lrh, bth, reth, …) or payload{near}")
        }
        near => format!("no header has this name; there are {}", near.join(", ")),
    }
}
