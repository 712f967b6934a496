//! pcap: a header, and then a record for each frame.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------------------------------------------------------+
//! | magic: a1b2c3d4 µs, a1b23c4d ns, a1b2cd34 µs and longer records|
//! | major version                 | minor version                 |
//! | reserved (time zone)                                          |
//! | reserved (accuracy)                                           |
//! | snaplen                                                       |
//! | FCS/2 |0|f|0 0|               link type                       |
//! +---------------------------------------------------------------+
//! | seconds                                                       |
//! | µs or ns                                                      |
//! | bytes captured                                                |
//! | bytes on the wire                                             |
//! | interface index               (a1b2cd34 only)                 |
//! | protocol                      | packet type   | unused        |
//! | the frame …                                                   |
//! ```
//! All in the byte order of the machine that wrote it. Sources: draft-ietf-opsawg-pcap; the longer record is Alexey
//! Kuznetzov's patch, as in Wireshark's `wiretap/libpcap.h`.

use std::io;

use super::erf;
use super::place::Place;
use super::window::{Behind, Input, SEARCH};
use super::{Format, Info, Interface, Problem, Record, Time, frame_limit};
use crate::dissect::Link;

/// Bytes of the file header.
const FILE_HEADER: usize = 24;

/// Bytes of the usual record header.
pub(super) const RECORD_HEADER: usize = 16;

#[derive(Clone)]
pub(super) struct Pcap {
    big: bool,
    /// Nanoseconds of a unit of the second time field.
    unit: u32,
    /// Bytes of a record header.
    header: usize,
    link: Link,
    /// The number of the interface: another one where a capture was appended to this one.
    interface: u16,
    snaplen: u32,
    /// Longest frame that is accepted without more checks.
    plain: u32,
    /// That length, or 0 if this file has no [fast path](Self::fast_record).
    usual: u32,
    /// Longest frame that is accepted.
    limit: u32,
    /// Time of the last frame. A record found by searching must have a time near it.
    last: Option<Time>,
    /// No record was found before this byte of the file: another search would find none.
    searched: u64,
    done: bool,
}

/// The format, and whether it is big-endian, if the file begins like a pcap file.
fn magic(start: &[u8]) -> Option<(Format, bool)> {
    let number = *start.first_chunk()?;
    let format = |number| match number {
        0xa1b2_c3d4 => Some(Format::PcapMicros),
        0xa1b2_3c4d => Some(Format::Pcap),
        0xa1b2_cd34 => Some(Format::PcapModified),
        _ => None,
    };
    let little = format(u32::from_le_bytes(number)).map(|format| (format, false));
    little.or_else(|| format(u32::from_be_bytes(number)).map(|format| (format, true)))
}

impl Pcap {
    /// The decoder, if the file begins like a pcap file.
    pub(super) fn recognize(input: &mut Input, info: &mut Info) -> io::Result<Option<Pcap>> {
        input.fill(FILE_HEADER)?;
        let Some((format, big)) = magic(input.rest()) else { return Ok(None) };
        info.format = format;
        Pcap::new(format, big, input, info).map(Some)
    }

    /// Takes the file header. A file that ends within it has no frames.
    fn new(format: Format, big: bool, input: &mut Input, info: &mut Info) -> io::Result<Pcap> {
        let mut pcap = Pcap {
            big,
            unit: if format == Format::Pcap { 1 } else { 1000 },
            header: if format == Format::PcapModified { 24 } else { 16 },
            link: Link(0),
            interface: 0,
            snaplen: 0,
            plain: 0,
            usual: 0,
            limit: 0,
            last: None,
            searched: 0,
            done: false,
        };
        let Some(header) = input.rest().first_chunk::<FILE_HEADER>() else {
            let have = input.rest().len();
            info.damaged(0, Problem::CutHeader { have: have as u64 }, 0, true);
            input.pos += have;
            pcap.done = true;
            return Ok(pcap);
        };
        let header = *header;
        pcap.begin(&header, input.offset(), info);
        input.pos += FILE_HEADER;
        Ok(pcap)
    }

    /// What a file header says of the frames behind it.
    fn begin(&mut self, header: &[u8; FILE_HEADER], offset: u64, info: &mut Info) {
        let (snaplen, network) = (self.u32(header, 16), self.u32(header, 20));
        self.snaplen = snaplen;
        self.limit = frame_limit(snaplen);
        self.plain = if snaplen == 0 { self.limit } else { snaplen.min(self.limit) };
        // Ten bits above the link type are reserved. The top six bits hold the length of the FCS.
        let link = network & 0x03ff_ffff;
        if link > 0xffff {
            info.damaged(offset + 20, Problem::LinkType { says: link }, 0, false);
        }
        self.link = portable(link as u16);
        let has_fast_path = !self.big && self.header == 16 && self.link != erf::LINK;
        self.usual = if has_fast_path { self.plain } else { 0 };
        let interface = Interface {
            snaplen,
            resolution_ns: self.unit,
            fcs_len: (network & 0x0400_0000 != 0).then_some((network >> 28) as u8 * 2),
            ..Interface::new(self.link)
        };
        // Two captures on one interface look alike.
        let again = info.interfaces.iter().position(|known| *known == interface);
        self.interface = again.unwrap_or(info.interfaces.len()).min(usize::from(u16::MAX)) as u16;
        if again.is_none() && info.interfaces.len() <= usize::from(u16::MAX) {
            info.interfaces.push(interface);
        }
    }

    /// Whether another capture begins here: files that were joined have a file header where a record's would be. It has the same
    /// byte order, clock and form of records.
    fn is_joined(&self, input: &mut Input, info: &Info) -> io::Result<bool> {
        if !input.fill(FILE_HEADER)? {
            return Ok(false);
        }
        let rest = input.rest();
        let version =
            rest.first_chunk::<FILE_HEADER>().map(|header| (self.u32(header, 8), self.u32(header, 12)));
        let is_header = version == Some((0, 0)) && rest.get(4..8) == Some(&self.version());
        Ok(is_header && magic(rest) == Some((info.format, self.big)))
    }

    /// Version 2.4, in the file's byte order.
    fn version(&self) -> [u8; 4] {
        if self.big { [0, 2, 0, 4] } else { [2, 0, 4, 0] }
    }

    /// The next record, on the [fast path](Self::fast_record).
    #[inline(always)]
    pub(super) fn advance_fast(&mut self, input: &mut Input, info: &mut Info) -> Option<Place> {
        let (record, _) = self.fast_record(input.rest())?;
        let (time, wire_len, len) = (record.time, record.wire_len, record.frame.len());
        self.count(1, time, info);
        let at = input.pos + RECORD_HEADER;
        input.pos = at + len;
        Some(Place { time, link: self.link, interface: self.interface, wire_len, at, len })
    }

    /// The record here and the bytes behind it, if it is complete, well-formed and little-endian.
    #[inline(always)]
    pub(super) fn fast_record<'a>(&self, rest: &'a [u8]) -> Option<(Record<'a>, &'a [u8])> {
        let (header, behind) = rest.split_first_chunk::<RECORD_HEADER>()?;
        let number = |at| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (captured, wire_len) = (number(8), number(12));
        // A record without bytes may be the header of another file.
        if captured.wrapping_sub(1) >= self.usual || captured > wire_len {
            return None;
        }
        let (frame, behind) = behind.split_at_checked(captured as usize)?;
        let time = self.time(number(0), number(4));
        let (link, interface) = (self.link, self.interface);
        Some((Record { time, link, interface, wire_len, frame }, behind))
    }

    /// Whether [`fast_record`](Self::fast_record) can find any.
    #[inline(always)]
    pub(super) fn has_fast_path(&self) -> bool {
        self.usual > 0
    }

    /// Bytes of the record here, if its length is plausible; bytes of its header, if that is not complete.
    pub(super) fn fast_len(&self, rest: &[u8]) -> Option<usize> {
        let Some(header) = rest.first_chunk::<RECORD_HEADER>() else { return Some(RECORD_HEADER) };
        let captured = self.u32(header, 8);
        (captured.wrapping_sub(1) < self.usual).then_some(RECORD_HEADER + captured as usize)
    }

    /// Counts records; `last` is the last one's time.
    #[inline(always)]
    pub(super) fn count(&mut self, count: u64, last: Time, info: &mut Info) {
        self.last = Some(last);
        info.frames += count;
    }

    #[inline]
    pub(super) fn advance(&mut self, input: &mut Input, info: &mut Info) -> io::Result<Option<Place>> {
        let rest = input.rest();
        if let Some(header) = rest.first_chunk::<16>() {
            let (seconds, captured, wire) = (self.u32(header, 0), self.u32(header, 8), self.u32(header, 12));
            let whole = self.header + captured as usize;
            if (1..=self.plain).contains(&captured) && captured <= wire && whole <= rest.len() {
                let time = self.time(seconds, self.u32(header, 4));
                self.count(1, time, info);
                let at = input.pos + self.header;
                input.pos += whole;
                let (link, interface, len) = (self.link, self.interface, captured as usize);
                return Ok(Some(Place { time, link, interface, wire_len: wire, at, len }));
            }
        }
        self.advance_slowly(input, info)
    }

    /// [`advance`](Self::advance) for records that are not in the buffer yet, or not well-formed.
    #[cold]
    #[inline(never)]
    fn advance_slowly(&mut self, input: &mut Input, info: &mut Info) -> io::Result<Option<Place>> {
        while !self.done {
            let there = input.fill(self.header)?;
            info.bytes_read = input.bytes_read();
            let rest = input.rest();
            let (true, Some(header)) = (there, rest.first_chunk::<16>()) else {
                let have = rest.len() as u64;
                input.end(info, (have > 0).then_some(Problem::CutHeader { have }));
                break;
            };
            let header = *header;
            let (seconds, captured, wire) =
                (self.u32(&header, 0), self.u32(&header, 8), self.u32(&header, 12));
            if captured == 0 && self.is_joined(input, info)? {
                let Some(header) = input.rest().first_chunk().copied() else { break };
                self.begin(&header, input.offset(), info);
                input.pos += FILE_HEADER;
                continue;
            }
            if captured > self.limit {
                let problem = Problem::Absurd { says: captured.into(), limit: self.limit.into() };
                if !self.find_next(input, info, problem)? {
                    self.done = true;
                }
                continue;
            }
            let whole = self.header + captured as usize;
            if !input.fill(whole)? {
                let (need, have) = (whole as u64, input.rest().len() as u64);
                // A wrong length may also point behind the end of the file. Then more records follow here.
                if self.last.is_some()
                    && self.find_next(input, info, Problem::Implausible { says: captured.into() })?
                {
                    continue;
                }
                input.end(info, Some(Problem::CutRecord { need, have }));
                break;
            }
            info.bytes_read = input.bytes_read();
            let offset = input.offset();
            let over_snaplen = self.snaplen > 0 && captured > self.snaplen;
            if over_snaplen || captured > wire {
                // Either one length is wrong and the next record follows, or the whole header is wrong.
                if !self.is_followed(whole, input)?
                    && self.find_next(input, info, Problem::Implausible { says: captured.into() })?
                {
                    continue;
                }
                if over_snaplen {
                    info.damaged(offset, Problem::OverSnaplen { captured, snaplen: self.snaplen }, 0, false);
                }
                if captured > wire {
                    info.damaged(offset, Problem::OverWire { captured, wire }, 0, false);
                }
            }
            let time = self.time(seconds, self.u32(&header, 4));
            self.count(1, time, info);
            let at = input.pos + self.header;
            input.pos += whole;
            let wire_len = wire.max(captured);
            let (link, interface, len) = (self.link, self.interface, captured as usize);
            return Ok(Some(Place { time, link, interface, wire_len, at, len }));
        }
        self.done = true;
        Ok(None)
    }

    /// Searches for the next plausible records, and continues there.
    fn find_next(&mut self, input: &mut Input, info: &mut Info, problem: Problem) -> io::Result<bool> {
        let offset = input.offset();
        let is_implausible = matches!(problem, Problem::Implausible { .. });
        // With very many such records, a search for each would take too long.
        if is_implausible && offset < self.searched {
            return Ok(false);
        }
        let found = input.search(|rest, behind| self.is_chain(rest, behind))?;
        match found {
            Some(distance) => {
                input.pos += distance;
                info.damaged(offset, problem, distance as u64, false);
            }
            // For a record that runs over the end of the file, the caller has a simpler explanation.
            None if is_implausible => self.searched = offset + SEARCH as u64 / 16,
            None => info.damaged(offset, problem, 0, true),
        }
        Ok(found.is_some())
    }

    /// Whether a plausible record, or the end of the file, follows the record of `whole` bytes here.
    fn is_followed(&self, whole: usize, input: &mut Input) -> io::Result<bool> {
        if !input.fill(whole + 16)? {
            return Ok(input.rest().len() == whole);
        }
        let next = input.rest().get(whole..).and_then(|next| next.first_chunk::<16>());
        // Its lengths may contradict each other too.
        Ok(next.is_some_and(|next| self.is_in_time(next, self.seconds()) && self.u32(next, 8) <= self.limit))
    }

    /// Whether three plausible records follow each other here, or fewer up to the end of the file. `None`: more bytes are needed.
    fn is_chain(&self, rest: &[u8], behind: Behind) -> Option<bool> {
        let (mut at, mut near) = (0, self.seconds());
        for count in 0..3 {
            let Some(header) = rest.get(at..).and_then(|rest| rest.first_chunk::<16>()) else {
                return match behind {
                    Behind::More => None,
                    Behind::Unread => Some(count > 1),
                    Behind::End => Some(count > 0 && at == rest.len()),
                };
            };
            let Some(captured) = self.believable(header, near) else { return Some(false) };
            near = Some(self.u32(header, 0));
            at += self.header + captured as usize;
        }
        Some(true)
    }

    /// The captured length, if every field is plausible: a record found by searching is checked in full.
    fn believable(&self, header: &[u8; 16], near: Option<u32>) -> Option<u32> {
        let (captured, wire) = (self.u32(header, 8), self.u32(header, 12));
        let is_whole = (1..=self.plain).contains(&captured) && captured <= wire && wire <= self.limit;
        (is_whole && self.is_in_time(header, near)).then_some(captured)
    }

    /// Seconds of the last frame.
    fn seconds(&self) -> Option<u32> {
        self.last.map(|last| last.parts().0 as u32)
    }

    fn is_in_time(&self, header: &[u8; 16], near: Option<u32>) -> bool {
        const DAY: u32 = 86_400;
        let (seconds, fraction) = (self.u32(header, 0), self.u32(header, 4));
        near.map_or(seconds != 0, |near| seconds.abs_diff(near) <= DAY)
            && fraction < 1_000_000_000 / self.unit
    }

    #[inline(always)]
    fn time(&self, seconds: u32, fraction: u32) -> Time {
        Time(i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * i64::from(self.unit))
    }

    #[inline(always)]
    fn u32<const N: usize>(&self, bytes: &[u8; N], at: usize) -> u32 {
        let value = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if self.big { value.swap_bytes() } else { value }
    }
}

/// BSD systems write their own numbers for raw IP.
pub(super) fn portable(link: u16) -> Link {
    Link(if matches!(link, 12 | 14) { 101 } else { link })
}
