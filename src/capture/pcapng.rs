//! pcapng: a list of blocks. Some hold a frame.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------------------------------------------------------+
//! | block type: section 0a0d0d0a, interface 1, packet 6, …        |
//! | block length, all of it                                       |
//! | Enhanced Packet: interface                                    |
//! | time, upper half                                              |
//! | time, lower half                                              |
//! | bytes captured                                                |
//! | bytes on the wire                                             |
//! | the frame …                                      | 0 to 3 pad |
//! | option code                   | option length                 |
//! | the option's value …                             | 0 to 3 pad |
//! | block length again                                            |
//! +---------------------------------------------------------------+
//! ```
//! All fields have the byte order of their section. The second word of the section header shows it. Source: draft-ietf-opsawg-pcapng.

use std::io;
use std::net::IpAddr;

use super::clock::Clock;
use super::erf;
use super::pcap::portable;
use super::place::Place;
use super::window::Input;
use super::{
    FRAME_FLAGS, FRAME_HASH, Format, FrameOption, IF_HARDWARE, IF_OS, Info, Interface, MAX_FRAME_STATED,
    Problem, Record, Time, frame_limit,
};
use crate::dissect::Link;

/// First word of every pcapng file, the same in both byte orders.
pub(super) const SECTION: u32 = 0x0a0d_0d0a;
pub(super) const ORDER: u32 = 0x1a2b_3c4d;
pub(super) const INTERFACE: u32 = 1;
/// The obsolete Packet Block.
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
/// The Name Resolution Block.
pub(super) const NAMES: u32 = 4;
pub(super) const STATISTICS: u32 = 5;
pub(super) const PACKET: u32 = 6;
/// A comment, in the options of any block.
const COMMENT: u16 = 1;
/// The option of a packet with frames that were dropped before it.
const DROPS: u16 = 4;
/// Options of a section: the hardware and the operating system that captured.
pub(super) const SECTION_HARDWARE: u16 = 2;
pub(super) const SECTION_OS: u16 = 3;
/// Bytes before an Enhanced Packet Block's frame.
pub(super) const PACKET_HEADER: usize = 28;

/// Most bytes of a block that are buffered: the longest accepted frame, and room for options.
const BLOCK_LIMIT: usize = MAX_FRAME_STATED as usize + (1 << 20);
/// Most bytes of options of a packet that is found by searching.
const OPTIONS_LIMIT: u32 = 0xffff;
/// Bytes of a name or description that are kept.
pub(super) const TEXT_LIMIT: usize = 255;
/// Bytes of other options of interfaces that are kept.
const OPTIONS_KEPT: usize = 1 << 20;
/// Names of hosts that are kept.
const NAMES_LIMIT: usize = 1 << 16;
/// Most interfaces that are kept: a record has 16 bits for the number.
const INTERFACE_LIMIT: usize = 1 << 16;

#[derive(Clone)]
pub(super) struct Pcapng {
    big: bool,
    /// The interfaces of this section.
    interfaces: Vec<Local>,
    /// Where the interfaces of the section before it are in [`Info::interfaces`].
    before: Vec<u16>,
    /// What this section says of hardware and operating system.
    said: (String, String),
    /// The current packet's options, in the input.
    options: (usize, usize),
    /// Bytes of options that [`Interface::options`] hold, of all sections.
    kept: usize,
    done: bool,
}

/// An interface as its section's packets see it.
#[derive(Clone, Copy)]
struct Local {
    index: u16,
    link: Link,
    snaplen: u32,
    /// Longest frame that is accepted without more checks.
    plain: u32,
    clock: Clock,
    /// Dropped frames: before this section, from statistics blocks, from packets' options.
    drops: (u64, u64, u64),
}

impl Pcapng {
    /// The decoder, if the file begins with a section.
    pub(super) fn recognize(input: &mut Input, info: &mut Info) -> io::Result<Option<Pcapng>> {
        input.fill(4)?;
        if !input.rest().starts_with(&SECTION.to_be_bytes()) {
            return Ok(None);
        }
        info.format = Format::Pcapng;
        Ok(Some(Pcapng::new()))
    }

    fn new() -> Pcapng {
        Pcapng {
            big: false,
            interfaces: Vec::new(),
            before: Vec::new(),
            said: Default::default(),
            options: (0, 0),
            kept: 0,
            done: false,
        }
    }

    #[inline]
    pub(super) fn advance(&mut self, input: &mut Input, info: &mut Info) -> io::Result<Option<Place>> {
        let rest = input.rest();
        let Some((record, behind)) = self.fast_record(rest) else { return self.advance_slowly(input, info) };
        let Record { time, link, interface, wire_len, frame } = record;
        let (at, len, passed) = (input.pos + PACKET_HEADER, frame.len(), rest.len() - behind.len());
        self.count(1, info);
        input.pos += passed;
        Ok(Some(Place { time, link, interface, wire_len, at, len }))
    }

    /// The frame of the packet block here and the bytes behind the block, if it is complete, well-formed and without options.
    #[inline(always)]
    pub(super) fn fast_record<'a>(&self, rest: &'a [u8]) -> Option<(Record<'a>, &'a [u8])> {
        let (head, behind) = rest.split_first_chunk::<PACKET_HEADER>()?;
        let (total, captured, wire_len) =
            (self.u32(head, 4) as usize, self.u32(head, 20), self.u32(head, 24));
        let interface = self.interfaces.get(self.u32(head, 8) as usize)?;
        if self.u32(head, 0) != PACKET || captured > wire_len || captured > interface.plain {
            return None;
        }
        let len = captured as usize;
        let (frame, behind) = behind.split_at_checked(len.next_multiple_of(4))?;
        let (tail, behind) = behind.split_first_chunk::<4>()?;
        if total != PACKET_HEADER + frame.len() + tail.len() || self.u32(tail, 0) as usize != total {
            return None;
        }
        let ticks = u64::from(self.u32(head, 12)) << 32 | u64::from(self.u32(head, 16));
        let (time, link, interface) = (interface.clock.time(ticks), interface.link, interface.index);
        Some((Record { time, link, interface, wire_len, frame: frame.get(..len)? }, behind))
    }

    /// Bytes of the packet block here, if its length is plausible; bytes of its header, if that is not complete.
    pub(super) fn fast_len(&self, rest: &[u8]) -> Option<usize> {
        let Some(head) = rest.first_chunk::<PACKET_HEADER>() else { return Some(PACKET_HEADER) };
        let total = self.u32(head, 4) as usize;
        (self.u32(head, 0) == PACKET && total <= BLOCK_LIMIT).then_some(total)
    }

    /// Counts packets passed on the fast path.
    #[inline(always)]
    pub(super) fn count(&mut self, count: u64, info: &mut Info) {
        info.frames += count;
        self.options = (0, 0);
    }

    /// The current packet's comments.
    pub(super) fn comments<'a>(&self, input: &'a Input) -> impl Iterator<Item = &'a [u8]> {
        self.all_options(input).filter(|&(code, _)| code == COMMENT).map(|(_, value)| value)
    }

    /// The current packet's options but comments and drops, as a little-endian file has them.
    pub(super) fn frame_options<'a>(&self, input: &'a Input) -> impl Iterator<Item = FrameOption<'a>> {
        let big = self.big;
        let options = self.all_options(input).filter(|&(code, _)| code != COMMENT && code != DROPS);
        options.filter_map(move |(code, value)| {
            // The numbers in it, if it has any: how far from its beginning, and of how many bytes.
            let numbers: &[(usize, usize)] = match code {
                FRAME_FLAGS | 6 => &[(0, 4)],
                FRAME_HASH => &[],
                5 => &[(0, 8)],
                7 if matches!(value.first(), Some(1 | 2)) => &[(1, 8)],
                8 => &[(0, 4), (4, 4)],
                _ => return as_little(code, value, big, None),
            };
            as_little(code, value, big, Some(numbers))
        })
    }

    fn all_options<'a>(&self, input: &'a Input) -> Options<'a> {
        let (at, len) = self.options;
        let rest = input.bytes().get(at..at + len).unwrap_or_default();
        Options { rest, big: self.big, cut: false }
    }

    /// [`advance`](Self::advance) for every other block.
    #[cold]
    #[inline(never)]
    fn advance_slowly(&mut self, input: &mut Input, info: &mut Info) -> io::Result<Option<Place>> {
        self.options = (0, 0);
        while !self.done {
            let there = input.fill(12)?;
            info.bytes_read = input.bytes_read();
            let rest = input.rest();
            let (true, Some(head)) = (there, rest.first_chunk::<12>()) else {
                let have = rest.len() as u64;
                self.done = true;
                input.end(info, (have > 0).then_some(Problem::CutHeader { have }));
                break;
            };
            let head = *head;
            let block = self.u32(&head, 0);
            if block == SECTION {
                match (u32::from_le_bytes([head[8], head[9], head[10], head[11]]), ORDER.swap_bytes()) {
                    (ORDER, _) => self.big = false,
                    (order, swapped) if order == swapped => self.big = true,
                    _ => {
                        self.find_next(input, info, Problem::Section)?;
                        continue;
                    }
                }
            }
            let total = self.u32(&head, 4);
            if total < least(block) || !total.is_multiple_of(4) {
                self.find_next(input, info, Problem::BlockLength { block, says: total })?;
                continue;
            }
            let size = total as usize;
            if size > BLOCK_LIMIT
                || !matches!(block, SECTION | INTERFACE | NAMES | STATISTICS) && !is_packet(block)
            {
                if is_packet(block) {
                    let problem = Problem::Absurd { says: total.into(), limit: BLOCK_LIMIT as u64 };
                    self.find_next(input, info, problem)?;
                } else {
                    self.pass_over(block, total, input, info)?;
                }
                continue;
            }
            if !input.fill(size)? {
                let have = input.rest().len() as u64;
                if !self.find_next_if_any(input, info, Problem::BlockLength { block, says: total })? {
                    self.done = true;
                    input.end(info, Some(Problem::CutRecord { need: total.into(), have }));
                }
                continue;
            }
            info.bytes_read = input.bytes_read();
            let tail = input.rest()[size - 4..].first_chunk::<4>().map_or(0, |tail| self.u32(tail, 0));
            if tail != total {
                let problem = Problem::BlockEnd { block, head: total, tail };
                if !self.is_followed(size, input)? {
                    self.find_next(input, info, problem)?;
                    continue;
                }
                info.damaged(input.offset(), problem, 0, false);
            }
            let place = self.take(block, size, input, info);
            input.pos += size;
            if place.is_some() {
                info.frames += 1;
                return Ok(place);
            }
        }
        Ok(None)
    }

    /// Reads a block that is in the buffer. Returns its frame, if it holds one.
    fn take(&mut self, block: u32, size: usize, input: &Input, info: &mut Info) -> Option<Place> {
        let offset = input.offset();
        let body = &input.rest()[8..size - 4];
        match block {
            SECTION => {
                self.before = self.interfaces.iter().map(|interface| interface.index).collect();
                self.interfaces.clear();
                if body.get(4..).and_then(|rest| rest.first_chunk()).is_none_or(|major| self.u16(major) != 1)
                {
                    info.damaged(offset, Problem::Section, 0, false);
                }
                let rest = body.get(16..).unwrap_or_default();
                self.take_section(Options { rest, big: self.big, cut: false }, info);
            }
            NAMES => self.take_names(body, info),
            INTERFACE => self.take_interface(body, offset, info),
            STATISTICS => self.take_statistics(body, offset, info),
            _ => return self.take_packet(block, body, input.pos + 8, offset, info),
        }
        None
    }

    fn take_section(&mut self, options: Options<'_>, info: &mut Info) {
        let (is_first, has_comment) =
            (info.interfaces.is_empty() && info.frames == 0, !info.comment.is_empty());
        self.said = Default::default();
        for (code, value) in options {
            match code {
                COMMENT if !has_comment => {
                    if !info.comment.is_empty() {
                        info.comment.push('\n');
                    }
                    info.comment.push_str(&String::from_utf8_lossy(value));
                }
                SECTION_HARDWARE => self.said.0 = text(value),
                SECTION_OS => self.said.1 = text(value),
                _ => {}
            }
        }
        if is_first {
            (info.hardware, info.os) = self.said.clone();
        }
    }

    fn take_packet(
        &mut self,
        block: u32,
        body: &[u8],
        at: usize,
        offset: u64,
        info: &mut Info,
    ) -> Option<Place> {
        // Interface, drops, time, captured, wire, where the frame begins.
        let (id, drops, ticks, mut captured, wire, start) = match block {
            PACKET | OLD_PACKET => {
                let head = body.first_chunk::<20>()?;
                let first = self.u32(head, 0);
                let (id, drops) = if block == PACKET {
                    (first, 0)
                } else {
                    let drops = self.u16(&[head[2], head[3]]);
                    (self.u16(&[head[0], head[1]]).into(), if drops == 0xffff { 0 } else { drops.into() })
                };
                let ticks = u64::from(self.u32(head, 4)) << 32 | u64::from(self.u32(head, 8));
                (id, drops, Some(ticks), self.u32(head, 12), self.u32(head, 16), 20)
            }
            _ => {
                let wire = self.u32(body.first_chunk::<4>()?, 0);
                let limit = self.interfaces.first().map_or(0, |interface| interface.snaplen);
                let limit = if limit == 0 { u32::MAX } else { limit };
                (0, 0, None, wire.min(limit).min(body.len() as u32 - 4), wire, 4)
            }
        };
        let Some(interface) = self.interfaces.get(id as usize).copied() else {
            let known = self.interfaces.len() as u32;
            info.damaged(offset, Problem::NoInterface { id, known }, body.len() as u64 + 12, false);
            return None;
        };
        let room = (body.len() - start) as u32;
        if captured > room {
            info.damaged(offset, Problem::BlockFrame { captured, room }, 0, false);
            captured = room;
        } else if interface.snaplen > 0 && captured > interface.snaplen {
            info.damaged(offset, Problem::OverSnaplen { captured, snaplen: interface.snaplen }, 0, false);
        }
        if captured > wire {
            info.damaged(offset, Problem::OverWire { captured, wire }, 0, false);
        }
        let len = captured as usize;
        let mut dropped: u64 = drops;
        if ticks.is_some()
            && let Some(bytes) = body.get(start + len.next_multiple_of(4)..)
        {
            self.options = (at + body.len() - bytes.len(), bytes.len());
            self.each_option(bytes, offset, info, |code, value| {
                if let (DROPS, PACKET, Some(count)) = (code, block, value.first_chunk()) {
                    dropped = dropped.saturating_add(self.u64(count));
                }
            });
        }
        if dropped > 0 {
            let drops = &mut self.interfaces[id as usize].drops;
            drops.2 = drops.2.saturating_add(dropped);
            self.note_drops(id as usize, info);
        }
        Some(Place {
            // A Simple Packet Block has no time.
            time: ticks.map_or(Time(0), |ticks| interface.clock.time(ticks)),
            link: interface.link,
            interface: interface.index,
            wire_len: wire.max(captured),
            at: at + start,
            len,
        })
    }

    fn take_interface(&mut self, body: &[u8], offset: u64, info: &mut Info) {
        let Some(head) = body.first_chunk::<8>() else { return };
        let link = portable(self.u16(&[head[0], head[1]]));
        let snaplen = self.u32(head, 4);
        let (mut resolution, mut seconds) = (6, 0);
        let mut interface = Interface { snaplen, ..Interface::new(link) };
        let big = self.big;
        let mut kept = self.kept;
        self.each_option(&body[8..], offset, info, |code, value| match (code, value) {
            (2, name) => interface.name = Some(text(name)),
            (3, description) => interface.description = Some(text(description)),
            (8, value) => interface.speed_bps = value.first_chunk().map(|value| self.u64(value)),
            (9, &[exponent, ..]) => resolution = exponent,
            (13, &[len, ..]) => interface.fcs_len = Some(len),
            (14, value) => seconds = value.first_chunk().map_or(0, |value| self.u64(value) as i64),
            (code, value) if kept + value.len() <= OPTIONS_KEPT => {
                let numbers: Option<&[(usize, usize)]> = match code {
                    // Comment, addresses, filter as text, hardware.
                    1 | 4..=7 | IF_OS | IF_HARDWARE => Some(&[]),
                    11 if value.first() == Some(&0) => Some(&[]),
                    10 => Some(&[(0, 4)]),
                    16 | 17 => Some(&[(0, 8)]),
                    _ => None,
                };
                if let Some((code, value)) = as_little(code, value, big, numbers) {
                    kept += value.len().max(1);
                    interface.options.push((code, value.into_owned()));
                }
            }
            _ => {}
        });
        if kept + 2 * TEXT_LIMIT <= OPTIONS_KEPT {
            let before = interface.options.len();
            interface = interface.of_section((&self.said.0, &self.said.1), info);
            kept += interface.options[before..].iter().map(|(_, value)| value.len()).sum::<usize>();
        }
        let clock = Clock::new(resolution, seconds);
        (interface.resolution_ns, interface.offset_s) = (clock.tick_ns(), seconds);
        // Files that were joined have several sections. An interface that continues keeps its number.
        let again = self.before.get(self.interfaces.len()).copied().filter(|&index| {
            let known = &info.interfaces[usize::from(index)];
            *known == Interface { drops: known.drops, ..interface.clone() }
        });
        let index = match again {
            Some(index) => index,
            None if info.interfaces.len() < INTERFACE_LIMIT => {
                self.kept = kept;
                info.interfaces.push(interface);
                (info.interfaces.len() - 1) as u16
            }
            None => return info.damaged(offset, Problem::Interfaces, 0, false),
        };
        if self.interfaces.len() == INTERFACE_LIMIT {
            return info.damaged(offset, Problem::Interfaces, 0, false);
        }
        let limit = frame_limit(snaplen);
        let plain = match snaplen {
            // Its records have times of their own.
            _ if link == erf::LINK => 0,
            0 => limit,
            _ => snaplen.min(limit),
        };
        let drops = (info.interfaces[usize::from(index)].drops.unwrap_or(0), 0, 0);
        self.interfaces.push(Local { index, link, snaplen, plain, clock, drops });
    }

    /// The records of a name resolution block have the form of options: a type, a length, an address, names that end in 0.
    fn take_names(&self, body: &[u8], info: &mut Info) {
        let records = Options { rest: body, big: self.big, cut: false };
        for (kind, value) in records {
            let split = match kind {
                1 => value.split_first_chunk::<4>().map(|(ip, names)| (IpAddr::from(*ip), names)),
                2 => value.split_first_chunk::<16>().map(|(ip, names)| (IpAddr::from(*ip), names)),
                _ => None,
            };
            let Some((ip, names)) = split else { continue };
            let first = names.split(|&byte| byte == 0).next().unwrap_or_default();
            if !first.is_empty() && info.names.len() < NAMES_LIMIT {
                let name = String::from_utf8_lossy(&first[..first.len().min(TEXT_LIMIT)]);
                info.names.push((ip, name.into_owned()));
            }
        }
    }

    fn take_statistics(&mut self, body: &[u8], offset: u64, info: &mut Info) {
        let Some(head) = body.first_chunk::<12>() else { return };
        let id = self.u32(head, 0) as usize;
        let mut drops = None;
        self.each_option(&body[12..], offset, info, |code, value| {
            if let (5 | 7, Some(count)) = (code, value.first_chunk()) {
                drops = Some(self.u64(count).saturating_add(drops.unwrap_or(0)));
            }
        });
        // Statistics count from the start of the section: the last block has the total.
        if let (Some(interface), Some(drops)) = (self.interfaces.get_mut(id), drops) {
            interface.drops.1 = drops;
            self.note_drops(id, info);
        }
    }

    /// The options of a block. Options that run over its end are damage.
    fn each_option(&self, rest: &[u8], offset: u64, info: &mut Info, mut take: impl FnMut(u16, &[u8])) {
        let mut options = Options { rest, big: self.big, cut: false };
        options.by_ref().for_each(|(code, value)| take(code, value));
        if options.cut {
            info.damaged(offset, Problem::Options, 0, false);
        }
    }

    /// Packets and statistics count the same drops: the larger number is right.
    fn note_drops(&self, id: usize, info: &mut Info) {
        let Local { index, drops: (before, statistics, packets), .. } = self.interfaces[id];
        info.interfaces[usize::from(index)].drops = Some(before.saturating_add(statistics.max(packets)));
    }

    /// Skips a block of a type that is not read. It may be of any length.
    #[cold]
    fn pass_over(&mut self, block: u32, total: u32, input: &mut Input, info: &mut Info) -> io::Result<()> {
        let offset = input.offset();
        let body = u64::from(total - 4);
        let have = input.skip(body)?;
        if have < body || !input.fill(4)? {
            let have = have + input.rest().len() as u64;
            input.skip(4)?;
            self.done = true;
            input.end(info, Some(Problem::CutRecord { need: total.into(), have }));
            return Ok(());
        }
        let tail = input.rest().first_chunk::<4>().map_or(0, |tail| self.u32(tail, 0));
        input.pos += 4;
        if tail != total {
            info.damaged(offset, Problem::BlockEnd { block, head: total, tail }, 0, false);
        }
        info.skipped += 1;
        Ok(())
    }

    /// Searches for the next plausible block and continues there, or ends the reading.
    fn find_next(&mut self, input: &mut Input, info: &mut Info, problem: Problem) -> io::Result<()> {
        let offset = input.offset();
        if !self.find_next_if_any(input, info, problem.clone())? {
            self.done = true;
            info.damaged(offset, problem, 0, true);
        }
        Ok(())
    }

    fn find_next_if_any(&mut self, input: &mut Input, info: &mut Info, problem: Problem) -> io::Result<bool> {
        let found = input.search(|rest, _| self.is_block(rest))?;
        if let Some(distance) = found {
            info.damaged(input.offset(), problem, distance as u64, false);
            input.pos += distance;
        }
        Ok(found.is_some())
    }

    /// Whether a block of a known type, or the end of the file, follows the block of `size` bytes here.
    fn is_followed(&self, size: usize, input: &mut Input) -> io::Result<bool> {
        if !input.fill(size + 12)? {
            return Ok(input.rest().len() == size);
        }
        let next = input.rest().get(size..).and_then(|next| next.first_chunk::<8>());
        Ok(next.is_some_and(|next| self.is_head(next)))
    }

    /// Whether a complete block of a known type is here: both lengths are equal, and the frame of a packet fits into it.
    /// `None`: more bytes are needed.
    fn is_block(&self, rest: &[u8]) -> Option<bool> {
        let head = rest.first_chunk::<8>()?;
        if !self.is_head(head) {
            return Some(false);
        }
        let (from, mut total) = (4, self.u32(head, 4));
        match self.u32(head, 0) {
            SECTION => match u32::from_le_bytes(*rest.get(8..)?.first_chunk()?) {
                ORDER => total = u32::from_le_bytes([head[4], head[5], head[6], head[7]]),
                order if order == ORDER.swap_bytes() => {
                    total = u32::from_be_bytes([head[4], head[5], head[6], head[7]])
                }
                _ => return Some(false),
            },
            PACKET | OLD_PACKET => {
                let head = rest.first_chunk::<PACKET_HEADER>()?;
                let (captured, wire) = (self.u32(head, 20), self.u32(head, 24));
                let options = (total - least(PACKET)).checked_sub(captured);
                if captured > wire || options.is_none_or(|options| options > OPTIONS_LIMIT) {
                    return Some(false);
                }
            }
            _ => {}
        }
        let to = total as usize;
        Some(to >= 12 && rest.get(to - 4..to)? == &head[from..])
    }

    /// Whether a block may begin with this type and length.
    fn is_head(&self, head: &[u8; 8]) -> bool {
        let (block, total) = (self.u32(head, 0), self.u32(head, 4));
        // The byte order of a section's length may differ: its second word shows it.
        block == SECTION
            || matches!(block, 1..=6 | 9 | 10 | 0xbad | 0x4000_0bad)
                && total >= least(block)
                && total % 4 == 0
                && total as usize <= BLOCK_LIMIT
    }

    #[inline(always)]
    fn u32<const N: usize>(&self, bytes: &[u8; N], at: usize) -> u32 {
        let value = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if self.big { value.swap_bytes() } else { value }
    }

    fn u16(&self, bytes: &[u8; 2]) -> u16 {
        if self.big { u16::from_be_bytes(*bytes) } else { u16::from_le_bytes(*bytes) }
    }

    fn u64(&self, bytes: &[u8; 8]) -> u64 {
        if self.big { u64::from_be_bytes(*bytes) } else { u64::from_le_bytes(*bytes) }
    }
}

/// An option as a little-endian file has it. `numbers`: where numbers are in it, and their lengths; `None`: not known, so that it can be
/// copied only from a file of that order. Not of those that say that they are for one file only.
fn as_little<'a>(
    code: u16,
    value: &'a [u8],
    big: bool,
    numbers: Option<&[(usize, usize)]>,
) -> Option<FrameOption<'a>> {
    // Options of a vendor: its number, and what only it knows.
    let numbers = if code == 2988 { Some(&[(0, 4)][..]) } else { numbers };
    match (big, numbers) {
        _ if matches!(code, 19372 | 19373) => None,
        (false, _) | (true, Some([])) => Some((code, value.into())),
        (true, None) => None,
        (true, Some(numbers)) => {
            let mut value = value.to_vec();
            for &(at, len) in numbers {
                value.get_mut(at..at + len)?.reverse();
            }
            Some((code, value.into()))
        }
    }
}

/// The text of an option.
fn text(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(&value[..value.len().min(TEXT_LIMIT)]);
    text.trim_end_matches('\0').to_owned()
}

fn is_packet(block: u32) -> bool {
    matches!(block, PACKET | OLD_PACKET | SIMPLE_PACKET)
}

/// The length of the shortest block of a type.
fn least(block: u32) -> u32 {
    match block {
        SECTION => 28,
        INTERFACE => 20,
        PACKET | OLD_PACKET => 32,
        SIMPLE_PACKET => 16,
        STATISTICS => 24,
        _ => 12,
    }
}

/// The options of a block: code, length, value and padding, until code 0 or the block's end.
struct Options<'a> {
    rest: &'a [u8],
    big: bool,
    /// The last one runs over the end.
    cut: bool,
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&[c0, c1, l0, l1], rest) = self.rest.split_first_chunk()?;
        let number = if self.big { u16::from_be_bytes } else { u16::from_le_bytes };
        let (code, len) = (number([c0, c1]), usize::from(number([l0, l1])));
        if code == 0 {
            self.rest = &[];
            return None;
        }
        let Some(value) = rest.get(..len) else {
            self.cut = true;
            self.rest = &[];
            return None;
        };
        self.rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    }
}
