//! Captures of several places on a path: which packet of the one is the same transmission as which packet of the other, what was
//! lost or changed between them, and how long it took.
//!
//! A transmission is found again by what no router changes: addresses, UDP source port, IPv4 identification, BTH, AETH, and the
//! ICRC where it was captured. MAC addresses, VLAN tags, tunnels, TTL, DSCP and ECN may change, and frames may be cut. The same
//! retransmitted bytes are another transmission: the order of packets and their times decide. A damaged copy is found by the
//! fields that survived.
//!
//! Neighbours in the list of taps are compared. Each direction of traffic may pass them in either order. Times of the taps' own
//! clocks are compared too: see [`report::diff::Clock`].
//!
//! ```no_run
//! use rdmawire::{capture::{self, Source}, taps::{Options, Taps}};
//!
//! let mut files = [capture::open("a.pcap".as_ref())?, capture::open("b.pcap".as_ref())?];
//! let mut taps = Taps::new(Options::default(), ["a", "b"]);
//! while let Some(tap) = taps.next_tap() {
//!     match files[tap].next()? {
//!         Some(record) => taps.push(tap, &record),
//!         None => taps.end(tap),
//!     }
//! }
//! for loss in taps.finish().losses {
//!     println!("frame {}: PSN {} of {} -> {}: {}", loss.frame, loss.psn, loss.src, loss.dst, loss.fate);
//! }
//! # Ok::<(), capture::Error>(())
//! ```

mod clock;
mod merged;
mod order;
mod packet;
mod results;
mod segment;
mod tally;

use crate::{
    analyze::{self, Analysis, Class, Space, metric::classes::Classes},
    capture::Record,
    report::{self, diff::Diff},
};
pub use merged::merge;
use packet::TapPacket;
use segment::{Limits, SegmentMatch};

/// Options of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// How each tap is analyzed. Its memory is for each of them.
    pub analyze: analyze::Options,
    /// How long a packet waits for its record at the other tap, in nanoseconds: more than the longest delay between them.
    pub window_ns: u64,
    /// How many packets of each tap wait at a time: a bound on memory, see [`within`](Self::within).
    pub max_waiting: usize,
}

impl Options {
    /// Keeps the packets that wait, and the analysis of each of so many taps, within the memory that each analysis had.
    #[must_use]
    pub fn within(mut self, taps: usize) -> Options {
        /// Bytes of a packet that waits, with what finds it.
        const EACH: usize = 256;
        let waiting = self.analyze.max_memory / 4;
        self.analyze.max_memory -= waiting;
        // But for the first and the last, a tap has two neighbours.
        let sides = if taps > 2 { 2 } else { 1 };
        self.max_waiting = self.max_waiting.min((waiting / sides / EACH).max(1));
        self
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { analyze: analyze::Options::default(), window_ns: 1_000_000_000, max_waiting: 1 << 18 }
    }
}

/// Captures that are compared while they are read.
pub struct Taps {
    options: Options,
    taps: Vec<Tap>,
    segments: Vec<SegmentMatch>,
    hasher: foldhash::fast::FixedState,
}
struct Tap {
    name: String,
    analysis: Analysis,
    frames: u64,
    packets: u64,
    first: Option<i64>,
    last: i64,
    tick: u64,
    is_over: bool,
}

impl Taps {
    /// A comparison of captures with these names, in the order of their places on the path, from either end.
    pub fn new<N: Into<String>>(options: Options, names: impl IntoIterator<Item = N>) -> Taps {
        const COARSEST_NS: u64 = 1_000_000_000;
        let bounds = Limits {
            window_ns: i64::try_from(options.window_ns).unwrap_or(i64::MAX),
            packets: options.max_waiting.max(1),
        };
        let tap = |name: N| Tap {
            name: name.into(),
            analysis: Analysis::with(options.analyze.clone(), Classes::default()),
            frames: 0,
            packets: 0,
            first: None,
            last: 0,
            tick: COARSEST_NS,
            is_over: false,
        };
        let taps: Vec<Tap> = names.into_iter().map(tap).collect();
        let segments = taps.windows(2).map(|_| SegmentMatch::new(bounds)).collect();
        Taps { options, taps, segments, hasher: Default::default() }
    }

    /// Of which capture the next frame is wanted: the one that was read least far, by the clock of the first one. `None` when all
    /// are over.
    pub fn next_tap(&self) -> Option<usize> {
        let mut lag = 0i64;
        let progress = self.taps.iter().enumerate().map(|(at, tap)| {
            if let Some(segment) = at.checked_sub(1).and_then(|before| self.segments.get(before)) {
                lag = lag.saturating_add(segment.lag());
            }
            (tap.first.map_or(i64::MIN, |_| tap.last.saturating_sub(lag)), at)
        });
        // All of them, as each changes the lag of those behind it.
        let progress: Vec<_> = progress.collect();
        progress.into_iter().filter(|&(_, at)| !self.taps[at].is_over).min().map(|(_, at)| at)
    }

    /// Takes the next frame of a capture.
    pub fn push(&mut self, tap: usize, record: &Record<'_>) {
        let Some(here) = self.taps.get_mut(tap) else { return };
        here.frames += 1;
        here.first.get_or_insert(record.time.0);
        here.last = record.time.0;
        while here.tick > 1 && !record.time.0.unsigned_abs().is_multiple_of(here.tick) {
            here.tick /= 10;
        }
        let (d, icrc) = self.options.analyze.examine(record);
        here.analysis.push_dissected(record, &d, icrc);
        let seen = TapPacket::of(record, &d, icrc, here.frames, &self.hasher);
        here.packets += u64::from(seen.is_some());
        for (segment, side) in sides(&mut self.segments, tap) {
            segment.pass(side, record.time.0);
            if let Some(seen) = seen {
                segment.push(side, seen);
            }
        }
        self.tell_classes(tap);
    }

    /// A frame of a capture that is to be passed over.
    pub fn pass_over(&mut self, tap: usize) {
        if let Some(here) = self.taps.get_mut(tap) {
            here.frames += 1;
            here.analysis.pass_over();
        }
    }

    /// A capture is over.
    pub fn end(&mut self, tap: usize) {
        if let Some(here) = self.taps.get_mut(tap) {
            here.is_over = true;
        }
        sides(&mut self.segments, tap).for_each(|(segment, side)| segment.end(side));
    }

    /// Ends the comparison.
    pub fn finish(mut self) -> Diff {
        let mut known = results::Known::default();
        let mut described = Vec::new();
        for (at, tap) in std::mem::take(&mut self.taps).into_iter().enumerate() {
            sides(&mut self.segments, at).for_each(|(segment, side)| segment.end(side));
            let ended = tap.analysis.end();
            known.add(&ended.report());
            tell(&mut self.segments, at, ended.into_metric::<Classes>().unwrap_or_default().0);
            described.push(report::diff::Tap {
                name: tap.name,
                frames: tap.frames,
                packets: tap.packets,
                untracked: 0,
                first_ns: tap.first,
                last_ns: tap.first.map(|_| tap.last),
                tick_ns: tap.tick,
            });
        }
        self.segments.iter_mut().for_each(SegmentMatch::finish);
        results::diff(described, self.segments, &known)
    }

    /// Hands on what the analysis of a tap has found.
    fn tell_classes(&mut self, tap: usize) {
        if let Some(Classes(known)) = self.taps[tap].analysis.metric_mut() {
            tell(&mut self.segments, tap, known.drain(..));
        }
    }
}

/// The segments that end at a tap, and which of their sides it is.
fn sides(segments: &mut [SegmentMatch], tap: usize) -> impl Iterator<Item = (&mut SegmentMatch, usize)> {
    let before = tap.saturating_sub(1);
    let those = segments.iter_mut().enumerate().skip(before).take_while(move |(at, _)| *at <= tap);
    those.map(move |(at, segment)| (segment, usize::from(at != tap)))
}

fn tell(
    segments: &mut [SegmentMatch],
    tap: usize,
    classes: impl IntoIterator<Item = (u64, Option<Space>, Class)>,
) {
    for (frame, _, class) in classes {
        sides(segments, tap).for_each(|(segment, side)| segment.classify(side, frame, class));
    }
}
