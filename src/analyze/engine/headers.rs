//! Frames without their payload: rows of a table may be analyzed elsewhere, with the same results.
//!
//! A frame's headers, its lengths and the state of its ICRC are all that the analysis reads. The headers are a frame that was cut
//! short, so they are read by the same code as any other.

use super::{Analysis, held::Looked, prepared::Batch, view::glimpse_of};
use crate::{
    analyze::{
        model::{Address, Options},
        packet::key,
    },
    capture::Record,
    dissect::{Dissection, Problem},
    icrc::State,
    wire::Kind,
};

/// A frame without the payload of its packet.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    /// Its number in the capture, from 1.
    pub number: u64,
    /// The frame, cut behind its headers.
    pub record: Record<'a>,
    /// Bytes of it that were captured.
    pub captured: u32,
    /// What became of its ICRC.
    pub icrc: State,
    /// A number that is equal for all packets between two addresses, in both directions; `None` for a frame without.
    pub pair: Option<u32>,
}

/// What the frames had that are analyzed without their payload.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct Shortened {
    /// Bytes that were captured, and are not there.
    pub(crate) bytes: u64,
    /// Frames that were captured as a whole.
    pub(crate) whole: u64,
    /// The number of the last frame.
    last: u64,
    /// The latest time of the files that they are of.
    #[cfg_attr(not(feature = "state"), allow(dead_code, reason = "what goes on from a state asks for it"))]
    pub(crate) ended_ns: Option<i64>,
}

impl Options {
    /// The headers of a frame. Of malformed frames, management datagrams, PAUSE frames, and what may
    /// be a clear-to-send element it is the whole frame.
    pub fn headers<'a>(&self, number: u64, record: &Record<'a>) -> Headers<'a> {
        let (d, icrc) = self.examine(record);
        let frame = record.frame.get(..needed_len(&d)).unwrap_or(record.frame);
        let pair = d.addresses().map(pair_hash);
        Headers {
            number,
            record: Record { frame, ..*record },
            captured: u32::try_from(record.frame.len()).unwrap_or(u32::MAX),
            icrc,
            pair,
        }
    }
}

/// No capture has so many frames; rows may be forged.
const MOST: u64 = 1 << 62;

/// Bytes of a frame that an analysis needs.
fn needed_len(d: &Dissection<'_>) -> usize {
    let len = d.frame().len();
    let is_captured = len >= d.wire_len() as usize;
    let is_plain = d.notes().iter().all(|note| matches!(note.problem, Problem::Captured { .. }))
        && !(is_captured && d.is_cut())
        && !d.is_fragment();
    let is_read = [Kind::MacControl, Kind::Mad, Kind::LinkPacket].iter().any(|&kind| d.has(kind));
    let is_seen = || d.opcode().and_then(|opcode| glimpse_of(d, opcode)).is_some_and(|of| of.needs_payload());
    if !is_plain || is_read || is_seen() {
        return len;
    }
    // The payload is a part of the frame.
    d.payload_at().min(len)
}

/// A hash of two addresses without order. It is kept in files: it must never change.
fn pair_hash(addresses: [Address; 2]) -> u32 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(ODD).rotate_left(29);
    let [a, b] = addresses.map(|address| {
        let (family, [high, low]) = key::value(address);
        [family as u64, high, low].into_iter().fold(0, mix)
    });
    (mix(a.min(b), a.max(b)).wrapping_mul(ODD) >> 32) as u32
}

impl Analysis {
    /// The number of the last frame that came as headers.
    #[cfg(feature = "arrow")]
    pub(crate) fn last_headers(&self) -> u64 {
        self.shortened.last
    }

    /// One frame, of which only the [headers](Options::headers) are there. Its number is at least one more than that of the frame
    /// before: frames between them are [passed over](Self::pass_over).
    pub fn push_headers(&mut self, headers: &Headers<'_>) {
        let Headers { number, record, captured, icrc, .. } = headers;
        let (number, next) = (number.min(&MOST), self.shortened.last + 1);
        if *number > next {
            self.catch_up();
            self.tracker.passed_over += number - next;
        }
        self.shortened.last = next.max(*number);
        let here = record.frame.len() as u64;
        if here < *captured as u64 {
            self.shortened.bytes += *captured as u64 - here;
            self.shortened.whole += (*captured >= record.wire_len) as u64;
        }
        let (looked, glimpse) = self.tracker.options.look_knowing::<true>(record, Some(*icrc));
        match looked {
            Looked::Fast(packet) => {
                let glimpse = glimpse.map(|glimpse| (0, glimpse));
                self.push_prepared(Batch::Fast(&[packet], glimpse.as_slice()));
            }
            Looked::Encap(packet) => self.push_prepared(Batch::Encap(&packet, glimpse.as_ref())),
            Looked::Other(icrc) => self.push_prepared(Batch::Frame(record, icrc)),
        }
    }
}
