//! A packet in one line of text.
//!
//! ```text
//! eth / ipv4 dst=10.0.0.2 dscp=26 / udp / bth opcode=rc-write-only dest_qp=0x11 psn=7 / reth dma_len=64 / payload 64
//! ```
//! Headers from the outermost in, divided by `/`: a name, and its fields in the specification's names, from the
//! header tables (`rdmawire explain`). What is not said is as in [`template`](super::template()). A field that is
//! computed otherwise ([`Auto`]) is kept as put; `=auto` has it computed, as UDP's checksum asks for. A flag alone is true.
//!
//! | item | what it is |
//! |---|---|
//! | `ipv4_options hex:01010101` | a part without a table of fields: bytes as below |
//! | `payload 64` | so many bytes of a pattern that depends on the seed |
//! | `payload hex:c0ffee`, `'text'`, `zeros 64`, `random 64` | these bytes; random ones differ from packet to packet |
//! | `pad hex:00` | bytes between payload and ICRC, as put |
//! | `icrc hex:01020304`, `icrc none`, `vcrc …` | a CRC as put, or none |
//! | `trailer hex:0000` | bytes behind the packet |
//! | `fcs`, `no_padding` | with a frame check sequence; not padded to 60 bytes |
//! | `source_qp 0x12` | the sender's queue pair: decides UDP's source port |
//! | `missing 900` | bytes that are not there, as if the frame had been cut: lengths count them |
//! | `link 101` | the link type, where the first header does not say it |

use std::fmt::{self, Write};

use super::{
    Auto, Data, Packet,
    message::split_mix,
    template,
    value::{field_of, fields, hex, kind_of, name_of, number, set, show},
};
use crate::{
    dissect::Link,
    wire::{Field, Kind, Qpn},
};

/// What is wrong with a recipe, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Where it is wrong, in bytes from the text's start.
    pub at: usize,
    /// What stands there.
    pub found: String,
    /// What is wrong with it, or what was expected.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line, whatever the text: a name in quotes holds anything.
        const LONGEST: usize = 200;
        let clip = |text: &str| match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        };
        let message = clip(&self.message).replace(char::is_control, "?");
        match self.found.as_str() {
            "" => write!(f, "recipe, column {}: {message}", self.at + 1),
            found => write!(f, "recipe, column {}, at {:?}: {message}", self.at + 1, clip(found)),
        }
    }
}

impl std::error::Error for Error {}

/// The packet that a recipe describes, with seed 0.
pub fn parse(text: &str) -> Result<Packet, Error> {
    parse_seeded(text, 0)
}

/// The packet that a recipe describes; the seed decides its pattern and its random bytes.
pub fn parse_seeded(text: &str, seed: u64) -> Result<Packet, Error> {
    let mut packet = Packet::new(Link::ETHERNET);
    let mut link = None;
    let mut done = false;
    for item in split(text)? {
        let Some((name, rest)) = item.split_first() else { continue };
        match name.text {
            "link" => link = Some(Link(one_number(name, rest, "a link type")?)),
            "source_qp" => packet.source_qp = Some(Qpn(one_number(name, rest, "a queue pair number")?)),
            "missing" => packet.missing = one_number(name, rest, "how many bytes")?,
            "fcs" => packet.set_keep(Auto::Fcs, false),
            "no_padding" => packet.set_keep(Auto::FramePadding, true),
            "payload" | "trailer" | "pad" | "icrc" | "vcrc" => {
                done |= name.text == "payload";
                packet = behind(packet, name, rest, seed)?;
            }
            _ => match kind_of(name.text) {
                Some(_) if done => return Err(name.error("headers come before the payload".into())),
                Some(kind) => header(&mut packet, kind, name, rest, seed)?,
                None => return Err(name.error(unknown(name.text))),
            },
        }
    }
    if packet.parts.is_empty() && packet.payload.is_empty() {
        let message = "expected a header, like eth or lrh".into();
        return Err(Error { at: text.len(), found: String::new(), message });
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
    let (built, otherwise) = (packet.settled(), unsaid(packet).settled());
    for part in &packet.parts {
        let (mut item, bytes) = (name_of(part.kind), packet.bytes_of(part));
        let Some(info) = part.kind.info().filter(|info| info.len == bytes.len()) else {
            let _ = write!(item, " hex:{}", digits(bytes));
            if part.keep.has(Auto::IpProtocol) {
                item.push_str(" kept");
            }
            items.push(item);
            continue;
        };
        let plain = template(part.kind);
        let (built, otherwise) = (&built[part.range()], &otherwise[part.range()]);
        for field in info.fields {
            let auto = Auto::of(part.kind, field.name);
            let (kept, default) = match auto {
                Some(auto) => (part.keep.has(auto), super::Autos::DEFAULT.has(auto)),
                None => (true, true),
            };
            let said = match (kept, default) {
                (true, true) => !same_value(field, bytes, &plain),
                (true, false) => true,
                (false, true) => {
                    let _ = write!(item, " {}=auto", field.name);
                    false
                }
                // Not computed in this company, and so as put.
                (false, false) => !auto.is_some_and(Auto::is_sum) && !same_value(field, built, otherwise),
            };
            if said {
                let _ = write!(
                    item,
                    " {}={}",
                    field.name,
                    show(if kept { bytes } else { built }, part.kind, field)
                );
            }
        }
        items.push(item);
    }
    if !packet.payload.is_empty() {
        items.push(format!("payload hex:{}", digits(&packet.payload)));
    }
    let has = |kind| packet.parts.iter().any(|part| part.kind == kind);
    // Without a BTH nothing computes it.
    if packet.pad.len > 0 && (packet.keeps(Auto::Pad) || !has(Kind::Bth)) {
        items.push(format!("pad hex:{}", digits(packet.pad.bytes())));
    }
    match packet.icrc {
        Some(icrc) if packet.keep.has(Auto::Icrc) => items.push(format!("icrc hex:{}", digits(&icrc))),
        None if has(Kind::Bth) => items.push("icrc none".into()),
        _ => {}
    }
    match packet.vcrc {
        Some(vcrc) if packet.keep.has(Auto::Vcrc) => items.push(format!("vcrc hex:{}", digits(&vcrc))),
        None if has(Kind::Lrh) => items.push("vcrc none".into()),
        _ => {}
    }
    if !packet.trailer.is_empty() {
        items.push(format!("trailer hex:{}", digits(&packet.trailer)));
    }
    if !packet.keep.has(Auto::Fcs) {
        items.push("fcs".into());
    }
    if packet.keep.has(Auto::FramePadding) {
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

/// The packet with every value that is computed as in the template.
fn unsaid(packet: &Packet) -> Packet {
    let mut packet = packet.clone();
    for n in 0..packet.parts.len() {
        let (kind, keep) = (packet.parts[n].kind, packet.parts[n].keep);
        let plain = template(kind);
        let header = packet.bytes_mut(n);
        for field in kind.info().filter(|info| info.len == header.len()).map_or(&[][..], |info| info.fields) {
            if Auto::of(kind, field.name).is_some_and(|auto| !keep.has(auto)) {
                field.set(header, field.get(&plain));
            }
        }
    }
    packet
}

/// What a run of bytes is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bytes {
    Are(Vec<u8>),
    Pattern(usize),
    Zeros(usize),
    Random(usize),
}

/// More than the largest frame a link carries; less than what a typing error may cost.
const MOST: usize = 1 << 24;

impl Bytes {
    /// From text; the error is what was expected.
    pub(super) fn parse(text: &str) -> Result<Bytes, &'static str> {
        const EXPECTED: &str = "a length, hex:…, '…', zeros N or random N";
        let length = |text: &str| {
            let n = number(text.trim()).ok_or(EXPECTED)?;
            usize::try_from(n).ok().filter(|&n| n <= MOST).ok_or("at most 16777216 bytes")
        };
        if let Some(digits) = text.strip_prefix("hex:") {
            return hex(digits).map(Bytes::Are).ok_or("hexadecimal digits, two a byte, after hex:");
        }
        if let Some(quoted) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            return Ok(Bytes::Are(quoted.as_bytes().to_vec()));
        }
        match text.split_once(' ') {
            Some(("zeros", n)) => length(n).map(Bytes::Zeros),
            Some(("random", n)) => length(n).map(Bytes::Random),
            Some(_) => Err(EXPECTED),
            None => length(text).map(Bytes::Pattern),
        }
    }

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
                let words = (0u64..).flat_map(|n| split_mix(split_mix(seed).wrapping_add(n)).to_be_bytes());
                words.take(*n).collect::<Vec<u8>>().into()
            }
        }
    }
}

/// A word of the text.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    at: usize,
    text: &'a str,
}

impl Word<'_> {
    fn error(&self, message: String) -> Error {
        Error { at: self.at, found: self.text.to_owned(), message }
    }
}

/// Items between `/`, each as its words. Quotes hold spaces and `/`.
fn split(text: &str) -> Result<Vec<Vec<Word<'_>>>, Error> {
    let mut items = vec![Vec::new()];
    let mut word: Option<usize> = None;
    let mut quoted: Option<usize> = None;
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        let ends = quoted.is_none() && (letter.is_whitespace() || letter == '/');
        if letter == '\'' && at < text.len() {
            quoted = if quoted.is_some() { None } else { Some(at) };
        }
        if !ends {
            word.get_or_insert(at);
            continue;
        }
        if let (Some(from), Some(item)) = (word.take(), items.last_mut()) {
            item.push(Word { at: from, text: &text[from..at] });
        }
        if letter == '/' {
            items.push(Vec::new());
        }
    }
    match quoted {
        Some(at) => {
            Err(Error { at, found: text[at..].to_owned(), message: "a quote that does not end".into() })
        }
        None => Ok(items),
    }
}

fn one_number<T: TryFrom<u64>>(name: &Word<'_>, rest: &[Word<'_>], what: &str) -> Result<T, Error> {
    let value = match rest {
        [one] => number(one.text).and_then(|n| T::try_from(n).ok()),
        _ => None,
    };
    value.ok_or_else(|| rest.first().unwrap_or(name).error(format!("expected {what} after {}", name.text)))
}

/// The words after an item's name as one text, with where it starts.
fn bytes_of(name: &Word<'_>, rest: &[Word<'_>]) -> Result<Bytes, Error> {
    let text = rest.iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
    let first = rest.first().unwrap_or(name);
    Bytes::parse(&text).map_err(|expected| first.error(format!("expected {expected} after {}", name.text)))
}

fn behind(mut packet: Packet, name: &Word<'_>, rest: &[Word<'_>], seed: u64) -> Result<Packet, Error> {
    let none = matches!(rest, [word] if word.text == "none");
    let unfit = |n: usize| name.error(format!("expected {n} bytes as hex:…, or none"));
    match name.text {
        "icrc" if none => packet.icrc = None,
        "vcrc" if none => packet.vcrc = None,
        "icrc" => {
            let bytes = bytes_of(name, rest)?.make(seed);
            packet = packet.icrc(Some(bytes.as_ref().try_into().map_err(|_| unfit(4))?));
        }
        "vcrc" => {
            let bytes = bytes_of(name, rest)?.make(seed);
            packet = packet.vcrc(Some(bytes.as_ref().try_into().map_err(|_| unfit(2))?));
        }
        "pad" => {
            let bytes = bytes_of(name, rest)?.make(seed);
            if bytes.len() > 3 {
                return Err(name.error("expected at most three bytes".into()));
            }
            packet = packet.pad(&bytes);
        }
        "trailer" => packet.trailer = bytes_of(name, rest)?.make(seed),
        _ => packet.payload = bytes_of(name, rest)?.make(seed),
    }
    Ok(packet)
}

fn header(
    packet: &mut Packet,
    kind: Kind,
    name: &Word<'_>,
    rest: &[Word<'_>],
    seed: u64,
) -> Result<(), Error> {
    let words = match rest.split_last() {
        Some((last, before)) if last.text == "kept" => before,
        _ => rest,
    };
    let raw = words.first().is_some_and(|word| !word.text.contains('=') && word.text.starts_with("hex:"));
    if kind.info().is_none() || raw {
        let bytes = bytes_of(name, words)?.make(seed);
        packet.append(kind, &bytes);
        if words.len() != rest.len()
            && let Some(part) = packet.parts.last_mut()
        {
            part.keep.set(Auto::IpProtocol, true);
        }
        return Ok(());
    }
    let mut bytes = template(kind);
    let mut keep = packet.keep;
    for word in rest {
        let (field, value) = match word.text.split_once('=') {
            Some((field, value)) => (field, value),
            None => (word.text, "true"),
        };
        let known = field_of(kind, field).ok_or_else(|| {
            let message = format!("{field} is no field of {}; it has {}", name.text, fields(kind));
            word.error(message)
        })?;
        let auto = Auto::of(kind, field);
        if let (Some(auto), "auto") = (auto, value) {
            keep.set(auto, false);
            continue;
        }
        set(&mut bytes, kind, known, value).map_err(|expected| word.error(format!("expected {expected}")))?;
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
        _ => Link::ETHERNET,
    }
}

fn unknown(name: &str) -> String {
    let near = Kind::ALL.iter().map(|&kind| name_of(kind)).filter(|known| {
        let same = known.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
        same >= 2
    });
    let near: Vec<_> = near.take(4).collect();
    match near.as_slice() {
        [] => "expected a header (eth, vlan, ipv4, ipv6, udp, grh, lrh, bth, reth, …) or payload".into(),
        near => format!("no header has this name; there are {}", near.join(", ")),
    }
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
