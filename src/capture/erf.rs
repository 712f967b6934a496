//! ERF, Endace's extensible record format: records back to back, without a header for the file.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------------------------------------------------------+
//! | time: seconds and 2^-32 seconds, 64 bits, little-endian       |
//! |                                                               |
//! |e|    type     |.|i|.|.|.|.|if | record length                 |
//! | loss counter, or colour       | wire length                   |
//! +---------------------------------------------------------------+
//! | e: extension headers, 8 bytes each, while the first bit is set|
//! | Ethernet types: 2 bytes, offset and pad                      |
//! | the frame …, and padding to a multiple of 8                   |
//! ```
//! The record length counts all of it; the wire length only the frame. A record is delivered whole, without its padding, as
//! a frame of link type 197. A pcap file of that link type holds the same bytes, so one parser reads both. Sources: Endace, "ERF types reference guide"; Wireshark's `wiretap/erf.c`.

use std::io;

use super::place::Place;
use super::sniff::looks_like_text;
use super::window::{Behind, Input};
use super::{Error, ErrorKind, Format, Info, Interface, Problem, Record, Time};
use crate::dissect::Link;

/// Link type of ERF records.
pub(super) const LINK: Link = Link(197);
const HEADER: usize = 16;
const META: u8 = 27;
const PAD: u8 = 48;

#[derive(Clone)]
pub(super) struct Erf {
    /// Interface number in the file (0 to 7) -> index in [`Info::interfaces`].
    interfaces: [Option<u16>; 8],
    /// Seconds of the last record.
    seconds: Option<u32>,
    done: bool,
}

impl Erf {
    /// The decoder, if the file is ERF. The format has no magic number. So the first two records must be plausible, with their
    /// times. If the file's name ends in `.erf`, one plausible record is enough, with any time.
    pub(super) fn recognize(input: &mut Input, info: &mut Info) -> io::Result<Option<Erf>> {
        input.fill(HEADER)?;
        let first = input.rest().first_chunk().map(Header::new);
        let Some(first) = first.filter(|first| first.is_known() && !looks_like_text(input.rest())) else {
            return Ok(None);
        };
        let behind = if input.fill(first.record_len + HEADER)? { Behind::Unread } else { Behind::End };
        let is_named = Format::of_name(&info.name) == Some(Format::Erf);
        if !is_named && is_chain(input.rest(), behind, None, 2) != Some(true) {
            return Ok(None);
        }
        info.format = Format::Erf;
        Ok(Some(Erf::new()))
    }

    fn new() -> Erf {
        Erf { interfaces: [None; 8], seconds: None, done: false }
    }

    #[inline]
    pub(super) fn advance(&mut self, input: &mut Input, info: &mut Info) -> io::Result<Option<Place>> {
        loop {
            let rest = input.rest();
            let Some(header) = rest.first_chunk::<HEADER>().map(Header::new) else {
                if self.refill(input, info, HEADER)? {
                    continue;
                }
                return Ok(None);
            };
            let whole = header.record_len;
            if whole < HEADER || header.kind() == 0 || header.kind() > PAD {
                if self.find_next(input, info, header)? {
                    continue;
                }
                return Ok(None);
            }
            if whole > rest.len() {
                if self.refill(input, info, whole)? {
                    continue;
                }
                return Ok(None);
            }
            self.seconds = Some(header.seconds());
            if matches!(header.kind(), META | PAD) {
                input.pos += whole;
                info.skipped += 1;
                continue;
            }
            let head = match extensions(header.kind, &rest[HEADER..whole]) {
                Some(extensions) => HEADER + extensions,
                None => {
                    info.damaged(input.offset(), Problem::Extensions, 0, false);
                    whole
                }
            } + header.subheader();
            let interface = match self.interfaces[header.interface()] {
                Some(interface) => interface,
                None => self.add_interface(header.interface(), info),
            };
            if header.lost > 0 && !header.has_color() {
                let drops = &mut info.interfaces[usize::from(interface)].drops;
                *drops = Some(drops.unwrap_or(0) + u64::from(header.lost));
            }
            let wire = head + header.wire_len;
            let (time, wire_len, at, len) = (header.time(), wire as u32, input.pos, whole.min(wire));
            input.pos += whole;
            info.frames += 1;
            return Ok(Some(Place { time, link: LINK, interface, wire_len, at, len }));
        }
    }

    /// Reads until `need` bytes are there; false at the end of the file, which may be a damage.
    #[cold]
    fn refill(&mut self, input: &mut Input, info: &mut Info, need: usize) -> io::Result<bool> {
        let there = !self.done && input.fill(need)?;
        info.bytes_read = input.bytes_read();
        if there || self.done {
            return Ok(there);
        }
        self.done = true;
        let (need, have) = (need as u64, input.rest().len() as u64);
        input.end(
            info,
            match have as usize {
                0 => None,
                1..HEADER => Some(Problem::CutHeader { have }),
                _ => Some(Problem::CutRecord { need, have }),
            },
        );
        Ok(false)
    }

    #[cold]
    fn find_next(&mut self, input: &mut Input, info: &mut Info, wrong: Header) -> io::Result<bool> {
        let near = self.seconds;
        let found = input.search(|rest, behind| is_chain(rest, behind, near, 3))?;
        self.done = found.is_none();
        let problem = Problem::Implausible { says: wrong.record_len as u64 };
        info.damaged(input.offset(), problem, found.unwrap_or(0) as u64, self.done);
        // No record follows: the rest of the file is skipped.
        match found {
            Some(distance) => input.pos += distance,
            None => input.pos += input.rest().len(),
        }
        Ok(found.is_some())
    }

    #[cold]
    fn add_interface(&mut self, number: usize, info: &mut Info) -> u16 {
        let index = info.interfaces.len() as u16;
        info.interfaces.push(Interface { name: Some(format!("erf{number}")), ..Interface::new(LINK) });
        self.interfaces[number] = Some(index);
        index
    }
}

/// Whether `count` plausible records follow each other here, or fewer up to the end of the file. `None`: more bytes are needed.
fn is_chain(rest: &[u8], behind: Behind, near: Option<u32>, count: usize) -> Option<bool> {
    let (mut at, mut near) = (0, near);
    for seen in 0..count {
        let Some(header) = rest.get(at..).and_then(|rest| rest.first_chunk().map(Header::new)) else {
            return match behind {
                Behind::More => None,
                Behind::Unread => Some(seen > 1),
                // The last record of a file may be cut.
                Behind::End => Some(seen > 0 && at <= rest.len()),
            };
        };
        if !header.is_plausible(near) {
            return Some(false);
        }
        near = Some(header.seconds());
        at += header.record_len;
    }
    Some(true)
}

/// A record's header.
#[derive(Clone, Copy)]
struct Header {
    time: u64,
    kind: u8,
    flags: u8,
    record_len: usize,
    lost: u16,
    wire_len: usize,
}

impl Header {
    #[inline(always)]
    fn new(bytes: &[u8; HEADER]) -> Header {
        let [t0, t1, t2, t3, t4, t5, t6, t7, kind, flags, r0, r1, l0, l1, w0, w1] = *bytes;
        Header {
            time: u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
            kind,
            flags,
            record_len: usize::from(u16::from_be_bytes([r0, r1])),
            lost: u16::from_be_bytes([l0, l1]),
            wire_len: usize::from(u16::from_be_bytes([w0, w1])),
        }
    }

    #[inline(always)]
    fn kind(&self) -> u8 {
        self.kind & 0x7f
    }

    /// Flag bits 0, 1 and, above them, 6.
    fn interface(&self) -> usize {
        usize::from(self.flags & 3 | self.flags >> 4 & 4)
    }

    /// Bytes between the headers and the frame, in the types with Ethernet.
    fn subheader(&self) -> usize {
        if matches!(self.kind(), 2 | 11 | 16 | 20) { 2 } else { 0 }
    }

    /// Types with a colour or a hash instead of the loss counter.
    fn has_color(&self) -> bool {
        matches!(self.kind(), 10 | 11 | 15..=17 | 19 | 20)
    }

    fn seconds(&self) -> u32 {
        (self.time >> 32) as u32
    }

    #[inline(always)]
    fn time(&self) -> Time {
        from_fixed(self.time)
    }

    /// Whether type and length are plausible.
    fn is_known(&self) -> bool {
        matches!(self.kind(), 1..=25 | META | 28 | 29 | PAD) && self.record_len >= HEADER + self.subheader()
    }

    /// Whether the time is plausible too, for a record that follows one of the second `near`.
    fn is_plausible(&self, near: Option<u32>) -> bool {
        const WEEK: u32 = 7 * 86_400;
        let is_in_time = near.map_or(self.seconds() != 0, |near| self.seconds().abs_diff(near) <= WEEK);
        self.is_known() && (is_in_time || self.kind() == PAD)
    }
}

/// Bytes of a record before its frame.
pub(super) fn header_len(record: &[u8]) -> usize {
    let Some((header, rest)) = record.split_first_chunk::<HEADER>() else { return record.len() };
    let header = Header::new(header);
    HEADER + extensions(header.kind, rest).unwrap_or(rest.len()) + header.subheader()
}

/// Bytes of extension headers at the start of `rest`, if it holds all of them.
#[inline(always)]
fn extensions(kind: u8, rest: &[u8]) -> Option<usize> {
    let (mut more, mut at) = (kind & 0x80 != 0, 0);
    while more {
        more = rest.get(at)? & 0x80 != 0;
        at += 8;
        if at > rest.len() {
            return None;
        }
    }
    Some(at)
}

/// 2^-32 seconds to nanoseconds, to the nearest.
fn from_fixed(time: u64) -> Time {
    let (seconds, fraction) = (time >> 32, time & 0xffff_ffff);
    Time((seconds * 1_000_000_000 + ((fraction * 1_000_000_000 + (1 << 31)) >> 32)) as i64)
}

/// The time in an ERF record, if it equals `time` and is more exact.
pub(super) fn finer(time: Time, frame: &[u8]) -> Time {
    match frame.first_chunk().map(Header::new) {
        Some(header) if header.time().0.abs_diff(time.0) < 1_000 => header.time(),
        _ => time,
    }
}

/// Nanoseconds to 2^-32 seconds, so that [`from_fixed`] gives the same nanosecond. A time that ERF cannot
/// hold becomes the nearest one that it can.
fn to_fixed(time: Time) -> u64 {
    let (seconds, ns) = time.parts();
    match u32::try_from(seconds) {
        Ok(seconds) => (u64::from(seconds) << 32) | (((u64::from(ns) << 32) + 500_000_000) / 1_000_000_000),
        Err(_) if seconds < 0 => 0,
        Err(_) => u64::MAX,
    }
}

/// Appends `record` to `out` as an ERF record.
pub(super) fn write(name: &str, record: &Record<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    let unfit = |text: String| Error::new(name, ErrorKind::Unfit, text);
    let frame = record.frame;
    if record.link == LINK {
        return rewrite(name, record, out);
    }
    let (kind, subheader) = match (record.link.0, frame.first().map(|first| first >> 4)) {
        (1, _) => (2, 2),
        (247, _) => (21, 0),
        (228, _) | (101, Some(4)) => (22, 0),
        (229, _) | (101, Some(6)) => (23, 0),
        (link, _) => return Err(unfit(format!("a frame of link type {link} does not go into an ERF file"))),
    };
    let wire = u16::try_from(record.wire_len)
        .map_err(|_| unfit(format!("a frame of {} bytes is too long for an ERF file", record.wire_len)))?;
    let whole = padded(HEADER + subheader + frame.len(), frame.len() >= record.wire_len as usize);
    let record_len = u16::try_from(whole)
        .map_err(|_| unfit(format!("{} bytes are too many for an ERF record", frame.len())))?;
    let start = out.len();
    out.extend_from_slice(&to_fixed(record.time).to_le_bytes());
    // Records vary in length (bit 2); the interface in bits 0, 1 and 6.
    let interface = (record.interface & 7) as u8;
    out.extend_from_slice(&[kind, 4 | interface & 3 | (interface & 4) << 4]);
    out.extend_from_slice(&record_len.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&wire.to_be_bytes());
    out.resize(out.len() + subheader, 0);
    out.extend_from_slice(frame);
    out.resize(start + whole, 0);
    Ok(())
}

/// Appends a record that is ERF already. It gets its padding back, and time and length of `record`.
fn rewrite(name: &str, record: &Record<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    let frame = record.frame;
    let unfit = || Error::new(name, ErrorKind::Unfit, "a frame of link type 197 is no ERF record");
    let header = frame.first_chunk().map(Header::new).ok_or_else(unfit)?;
    let whole = padded(frame.len(), frame.len() >= record.wire_len as usize);
    let record_len = u16::try_from(whole).map_err(|_| unfit())?;
    // The card's clock is finer than a nanosecond: its value stays, unless the time was changed.
    let time = if header.time() == record.time { header.time } else { to_fixed(record.time) };
    let start = out.len();
    out.extend_from_slice(frame);
    out[start..start + 8].copy_from_slice(&time.to_le_bytes());
    out[start + 10..start + 12].copy_from_slice(&record_len.to_be_bytes());
    out.resize(start + whole, 0);
    Ok(())
}

/// The length of a record with so many bytes. A cut frame gets no padding: readers would take it for a part of the
/// frame.
fn padded(len: usize, is_complete: bool) -> usize {
    if is_complete { len.next_multiple_of(8) } else { len }
}

#[cfg(test)]
#[path = "../../tests/unit/capture_erf.rs"]
mod tests;
