//! The floor: the bare walk over a capture's records, in memory or mapped.

use std::{hint::black_box, path::Path};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// What an analyzer reads first of a RoCEv2 frame.
#[inline(always)]
pub(crate) fn touch(frame: &[u8]) -> u64 {
    let Some(headers) = frame.first_chunk::<54>() else { return 0 };
    let word =
        |at: usize| u32::from_be_bytes([headers[at], headers[at + 1], headers[at + 2], headers[at + 3]]);
    // Ports, opcode, destination QP, PSN.
    u64::from(word(34) ^ word(42)) << 32 | u64::from(word(46) ^ word(50))
}

/// The floor: record to record by their lengths, with the least that keeps it from running over the end. Prefetches
/// `AHEAD` records ahead, by the guess that they are all of one length.
pub(crate) fn walk<const AHEAD: usize>(bytes: &[u8]) -> u64 {
    let (mut at, mut count, mut sum) = (24, 0, 0);
    while let Some(frame) = frame_at(bytes, at) {
        let len = 16 + frame.len();
        if AHEAD > 0 {
            for line in [0, 64] {
                prefetch(bytes.as_ptr().wrapping_add(at + len * AHEAD + line));
            }
        }
        sum ^= touch(frame);
        count += 1;
        at += len;
    }
    black_box(sum);
    count
}

/// The frame of the record that begins there.
#[inline(always)]
fn frame_at(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let header = bytes.get(at..)?.first_chunk::<16>()?;
    let len = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
    bytes.get(at + 16..at + 16 + len)
}

#[inline(always)]
fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch accesses nothing, wherever it points.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// The least that a tracker of flows does: the walk, each frame's flow found, and so many words of it counted in. Some frames
/// at a time, so that memory is waited for together.
pub(crate) fn track<const WORDS: usize>(bytes: &[u8]) -> u64 {
    const TOGETHER: usize = 32;
    let mut table = Table::<WORDS> { numbers: HashMap::default(), flows: Vec::new() };
    let (mut at, mut count, mut waiting) = (24, 0, Vec::with_capacity(TOGETHER));
    while let Some(frame) = frame_at(bytes, at) {
        if let Some(headers) = frame.first_chunk::<54>() {
            // Addresses, and the destination QP.
            waiting.push((headers[26..34].try_into().unwrap(), headers[47..50].try_into().unwrap()));
        }
        if waiting.len() == TOGETHER {
            table.count(&mut waiting);
        }
        count += 1;
        at += 16 + frame.len();
    }
    table.count(&mut waiting);
    black_box(table.flows.last());
    count
}

type Ends = ([u8; 8], [u8; 3]);

struct Table<const WORDS: usize> {
    numbers: HashMap<Ends, usize, RandomState>,
    flows: Vec<[u64; WORDS]>,
}

impl<const WORDS: usize> Table<WORDS> {
    fn count(&mut self, packets: &mut Vec<Ends>) {
        let known: Vec<Option<usize>> = packets.iter().map(|ends| self.numbers.get(ends).copied()).collect();
        let lines = known.iter().flatten().flat_map(|&number| self.flows[number].chunks(8));
        lines.for_each(|line| prefetch(line.as_ptr().cast()));
        for (ends, known) in packets.drain(..).zip(known) {
            let number = known.unwrap_or_else(|| {
                *self.numbers.entry(ends).or_insert_with(|| {
                    self.flows.push([0; WORDS]);
                    self.flows.len() - 1
                })
            });
            self.flows[number].iter_mut().step_by(8).for_each(|count| *count += 1);
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) fn mapped(path: &Path, walk: fn(&[u8]) -> u64) -> Option<u64> {
    use std::os::fd::AsRawFd;
    let file = std::fs::File::open(path).ok()?;
    let len = file.metadata().ok()?.len() as usize;
    // SAFETY: a new mapping of a file that nothing else writes to, gone before this returns.
    unsafe {
        let start =
            libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        if start == libc::MAP_FAILED {
            return None;
        }
        let count = walk(std::slice::from_raw_parts(start.cast(), len));
        libc::munmap(start, len);
        Some(count)
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn mapped(_: &Path, _: fn(&[u8]) -> u64) -> Option<u64> {
    None
}
