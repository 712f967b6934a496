//! What pictures need, in one pass with the analysis: packets by class over PSN and time, the line of acknowledgements, NAKs, marks,
//! holes; traffic in bins; pauses.
//!
//! Which flows a picture shall show is known only at the end. So all flows are kept, within a budget of bytes for all together.
//! Beyond it, the quietest flows give up detail, and at last are left out ([`Line::left_out`]). An event, such as a packet sent
//! again, is never dropped from a line that is kept; the ordinary, first transmissions and ACKs, becomes coarser: packets that
//! follow each other become one [`Stretch`].
//!
//! ```
//! use rdmawire::analyze::{Analysis, Options, metric::timeline::{Kind, Timeline}};
//! # use rdmawire::capture::{self, Source};
//! let mut trace = capture::open("pcaps/loss1_rc_write-B-300.pcap".as_ref())?;
//! let mut analysis = Analysis::with(Options::default(), Timeline::default());
//! while let Some(record) = trace.next()? {
//!     analysis.push(&record);
//! }
//! let ended = analysis.end();
//! let (report, timeline) = (ended.report(), ended.metric::<Timeline>().unwrap());
//! for at in timeline.chosen(&report, 10) {
//!     let flow = timeline.flow(&report, at).expect("chosen flows have one");
//!     assert!(flow.losses.iter().all(|loss| loss.packets > 0));
//! }
//! # Ok::<(), rdmawire::capture::Error>(())
//! ```

mod bins;
mod by_psn;
mod charts;
mod line;
mod pauses;
mod picture;
mod track;
mod waits;

use std::{collections::BTreeMap, ops::Range};

use super::bins::InBin;
pub use super::{Measured, What};
use super::{Metric, Placed, Verdict, Wants};
use crate::{
    analyze::{
        model::{Class, Event, FlowId, Space},
        network::Paused,
        packet::{Facts, path_tag},
        table::run::RunSum,
    },
    opcode::Operation,
    report::Interval,
    wire::{Acknowledgement, Psn, Syndrome},
};
pub use bins::{Axis, Bin, Binned, Bins};
pub use charts::{pause_chart, pause_senders};
pub use line::{Ends, Hole, Line, Samples};
use pauses::Pauses;
pub use picture::{FlowTimeline, Loss, Place, Wait};
pub use track::{Kind, Stretch, Track};
pub use waits::{STRAGGLER, waiting_chart};

/// The budget of bytes, where none is given.
pub const BUDGET: usize = 128 << 20;

/// The budget of bytes in an analysis that may take so many in all.
pub fn budget(max_memory: usize) -> usize {
    BUDGET.min(max_memory / 4)
}
/// The score of a flow that was asked for.
const WANTED: u64 = u64::MAX / 2;
/// Every so many packets the memory is measured.
const MEASURED: u64 = 1 << 14;
/// And sooner where new lines go beyond the budget, but not for fewer packets.
const MEASURED_SOON: u64 = 1 << 10;

/// The metric.
#[derive(Clone, Debug, crate::stored::Stored)]
pub struct Timeline {
    wanted: Vec<Ends>,
    budget: usize,
    axis: Option<Axis>,
    lines: Vec<Slot>,
    /// Lines of flows that are over. They are large, come and go: in boxes, there is no room for those that are gone.
    #[allow(clippy::vec_box)]
    over: Vec<Box<Line>>,
    /// Traffic by DSCP; `None` where a packet has none.
    classes: BTreeMap<Option<u8>, Bins>,
    pauses: Pauses,
    unmeasured: u64,
    /// Bytes when it was last measured, and those of lines that were begun since.
    held: usize,
    left_out: u64,
}

#[derive(Clone, Debug, Default, crate::stored::Stored)]
enum Slot {
    #[default]
    Unseen,
    Kept(Box<Line>),
    /// It was quiet while there were too many: what is known of it, and the packets that are left out.
    Gone((Ends, Option<u32>), Option<u8>, u64),
}

impl Slot {
    fn line(&mut self) -> Option<&mut Line> {
        match self {
            Slot::Kept(line) => Some(line),
            _ => None,
        }
    }
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline::new(BUDGET, Vec::new())
    }
}

impl Timeline {
    /// With a budget in bytes for all flows, and the flows that keep all detail whatever comes.
    pub fn new(budget: usize, wanted: Vec<Ends>) -> Timeline {
        Timeline {
            wanted,
            budget,
            axis: None,
            lines: Vec::new(),
            over: Vec::new(),
            classes: BTreeMap::new(),
            pauses: Pauses::default(),
            unmeasured: 0,
            held: 0,
            left_out: 0,
        }
    }

    /// All lines that are kept.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        let kept = self.lines.iter().filter_map(|slot| match slot {
            Slot::Kept(line) => Some(&**line),
            _ => None,
        });
        self.over.iter().map(|line| &**line).chain(kept)
    }

    /// Traffic of the whole capture by DSCP, and where the bins lie; `None` without a packet.
    pub fn classes(&self) -> Option<(Axis, &BTreeMap<Option<u8>, Bins>)> {
        Some((self.axis?, &self.classes))
    }

    /// The pauses one by one, by sender and priority, in the order of time. Where they are too many, two pauses with the time between
    /// them become one.
    pub fn pauses(&self) -> Vec<Paused> {
        self.pauses.all()
    }

    /// Packets that are in no line, as there were too many flows.
    pub fn left_out(&self) -> u64 {
        let gone = self.lines.iter().map(|slot| match slot {
            Slot::Gone(_, _, packets) => *packets,
            Slot::Kept(line) => line.left_out,
            Slot::Unseen => 0,
        });
        self.left_out + gone.sum::<u64>()
    }

    /// Bytes that it takes, approximately.
    pub fn bytes(&self) -> usize {
        let slots = self.lines.capacity() * size_of::<Slot>() + self.over.capacity() * size_of::<Box<Line>>();
        self.lines().map(Line::bytes).sum::<usize>() + slots
    }

    fn axis(&mut self, ns: i64) -> Axis {
        let axis = self.axis.get_or_insert(Axis { origin_ns: ns, width_ns: bins::FINEST_NS });
        *axis = axis.reaching(ns, bins::MOST);
        *axis
    }

    /// The line of a packet's flow: begun, if it is its first.
    fn line_of(&mut self, id: FlowId, packet: &Facts) -> Option<&mut Line> {
        let at = id.0 as usize;
        if self.lines.len() <= at {
            self.lines.resize(at + 1, Slot::Unseen);
        }
        if matches!(self.lines[at], Slot::Unseen) {
            let key = packet.key()?;
            let ends = (key.source(), key.destination(), key.dest_qp());
            let mut line = Line::new(ends, key.vni());
            if self.wanted.contains(&ends) {
                line.score = WANTED;
            }
            self.held += line.bytes();
            self.lines[at] = Slot::Kept(Box::new(line));
        }
        match self.lines.get_mut(at)? {
            Slot::Gone(_, _, packets) => {
                *packets += 1;
                None
            }
            slot => slot.line(),
        }
    }

    /// A flow that was given up has trouble: its line begins anew.
    fn revive(&mut self, id: FlowId) {
        if let Some(slot) = self.lines.get_mut(id.0 as usize)
            && let &mut Slot::Gone((ends, vni), dscp, left_out) = slot
        {
            let mut line = Line::new(ends, vni);
            (line.left_out, line.dscp) = (left_out, dscp);
            *slot = Slot::Kept(Box::new(line));
        }
    }

    /// Counts packets, by themselves or in runs, and keeps within the budget.
    fn count(&mut self, packets: u64) {
        self.unmeasured += packets;
        let is_beyond = self.held > self.budget / 8 * 9 && self.unmeasured >= MEASURED_SOON;
        if self.unmeasured >= MEASURED || is_beyond {
            self.measure();
        }
    }

    #[cold]
    fn measure(&mut self) {
        self.unmeasured = 0;
        // The quietest half gives up detail, then three quarters, then all. Then the quietest half is left out, as often as needed.
        for level in 1.. {
            self.held = self.bytes();
            let mut scores: Vec<(u64, u64)> = self.lines().map(|line| (line.score, line.packets)).collect();
            if self.held <= self.budget || level > 3 && scores.iter().all(|(score, _)| *score >= WANTED) {
                return;
            }
            scores.sort_unstable();
            let share =
                if level > 3 { scores.len().div_ceil(2) } else { scores.len() - (scores.len() >> level) };
            let Some(&limit) = scores.get(share.saturating_sub(1)) else { return };
            // Very many are alike: of these, the first ones.
            let mut alike = share - scores.partition_point(|one| *one < limit);
            let mut is_quiet = |line: &Line| {
                let rank = (line.score, line.packets);
                let is_last = rank == limit && alike > 0;
                alike -= is_last as usize;
                (rank < limit || is_last) && line.score < WANTED
            };
            let mut left_out = 0;
            self.over.retain_mut(|line| {
                let is_quiet = is_quiet(line);
                if is_quiet && level > 3 {
                    left_out += line.left_out + line.packets;
                } else if is_quiet {
                    line.shed(level);
                }
                !(is_quiet && level > 3)
            });
            self.over.shrink_to_fit();
            self.left_out += left_out;
            for slot in &mut self.lines {
                let Slot::Kept(line) = slot else { continue };
                match is_quiet(line) {
                    true if level > 3 => {
                        *slot = Slot::Gone((line.ends, line.vni), line.dscp, line.left_out + line.packets);
                    }
                    true => line.shed(level),
                    false => {}
                }
            }
        }
    }
}

/// What is drawn of a class, but for first transmissions.
fn kind_of(class: Class) -> Kind {
    match class {
        Class::Retransmission | Class::BeforeStart => Kind::Again,
        Class::LateOriginal => Kind::Late,
        Class::CaptureDuplicate => Kind::Copy,
        Class::Corrupt => Kind::Corrupt,
        Class::Trimmed => Kind::Trimmed,
        Class::RepeatedAck => Kind::AckAgain,
        Class::Ambiguous | Class::ReusedPsn | Class::Unknown => Kind::Ambiguous,
        Class::First | Class::New | Class::NewAfterGap | Class::Resync | Class::Unsequenced => Kind::New,
    }
}

/// What a packet is drawn as; `None` if its verdict is still to come.
fn drawn_as(packet: &Facts, place: &Placed) -> Option<Kind> {
    Some(match (place.class, packet.syndrome().map(Syndrome::meaning)) {
        (Some(Class::CaptureDuplicate), _) => Kind::Copy,
        (Some(class @ (Class::Corrupt | Class::Trimmed)), _) => kind_of(class),
        _ if packet.opcode().is_cnp() => Kind::Cnp,
        (_, Some(Acknowledgement::Nak(_))) => Kind::Nak,
        (_, Some(Acknowledgement::RnrNak { .. })) => Kind::RnrNak,
        (Some(Class::RepeatedAck), _) => Kind::AckAgain,
        (_, Some(_)) => Kind::Ack,
        (class, None) => kind_of(class?),
    })
}

/// The bit of an interface in [`Line::interfaces`](line::Line).
fn interface_bit(interface: u16) -> u64 {
    1 << interface.min(63)
}

impl Metric for Timeline {
    fn wants(&self) -> Wants {
        Wants { measured: true, ..Wants::default() }
    }

    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        let (ns, psn, frame) = (packet.time(), packet.psn().0, place.frame);
        let axis = self.axis(ns);
        self.count(1);
        let dscp = path_tag::dscp(packet.path_tag());
        let is_marked = place.is_mark(packet);
        let space = place.space.unwrap_or(Space::Request);
        let kind = drawn_as(packet, place);
        let bin = Bin {
            sent_psn: (kind == Some(Kind::New) && space == Space::Request).then_some(psn),
            acked_psn: (kind == Some(Kind::Ack) || kind == Some(Kind::New) && space == Space::Response)
                .then_some(psn),
            ..Bin::from(&Interval::of(packet, place))
        };
        if kind != Some(Kind::Copy)
            && let Some(all) = self.classes.entry(dscp).or_default().of(&axis, ns)
        {
            all.add(&Bin { sent_psn: None, acked_psn: None, ..bin });
        }
        let Some(id) = place.flow else { return };
        if is_marked || kind.is_some_and(|kind| !kind.is_ordinary()) {
            self.revive(id);
        }
        let Some(line) = self.line_of(id, packet) else { return };
        line.packets += 1;
        line.dscp = dscp;
        line.interfaces |= interface_bit(packet.interface());
        if kind != Some(Kind::Copy)
            && let Some(own) = line.bins.of(&axis, ns)
        {
            own.add(&bin);
        }
        if is_marked {
            line.event(line::one(Kind::Ce, space, psn, ns, frame));
        }
        match kind {
            Some(Kind::New) => {
                let goes_on = place.class == Some(Class::New);
                if !goes_on && place.class != Some(Class::NewAfterGap) {
                    line.forget_next(space);
                }
                line.sent(space, psn, ns, frame, goes_on);
                // The PSNs of its responses come before its next request's.
                if packet.opcode().operation() == Some(Operation::ReadRequest) {
                    line.forget_next(space);
                }
            }
            Some(Kind::Ack) => line.ack(psn, ns, frame),
            Some(kind) => {
                let syndrome = packet.syndrome().map_or(0, |syndrome| syndrome.0);
                line.event(Stretch { syndrome, ..line::one(kind, space, psn, ns, frame) });
            }
            // It is drawn with the verdict.
            None => {}
        }
    }

    fn on_run(&mut self, run: &RunSum) {
        let axis = self.axis(run.last_ns);
        self.count(run.packets);
        let packets = run.packets as u32;
        let is_request = run.space == Space::Request;
        let psn = run.last_psn.0;
        let bin = Bin {
            sent_psn: is_request.then_some(psn),
            acked_psn: (!is_request).then_some(psn),
            ..Bin::from(&Interval::of_run(run))
        };
        let dscp = match self.lines.get_mut(run.flow.0 as usize) {
            Some(Slot::Kept(line)) => {
                line.packets += run.packets;
                if let Some(own) = line.bins.of(&axis, run.last_ns) {
                    own.add(&bin);
                }
                line.sent_run(run.space, psn, run.last_ns, packets);
                line.dscp
            }
            Some(Slot::Gone(_, dscp, left_out)) => {
                *left_out += run.packets;
                *dscp
            }
            _ => None,
        };
        if let Some(all) = self.classes.entry(dscp).or_default().of(&axis, run.last_ns) {
            all.add(&Bin { sent_psn: None, acked_psn: None, ..bin });
        }
    }

    fn on_verdict(&mut self, verdict: &Verdict) {
        let &Verdict { frame, flow, space, psn: Psn(psn), time_ns: ns, .. } = verdict;
        let axis = self.axis(ns);
        let Some(line) = self.lines.get_mut(flow.0 as usize).and_then(Slot::line) else { return };
        // A late packet of an unknown place is not a first transmission in order.
        let kind = match kind_of(verdict.class) {
            Kind::New => Kind::Late,
            kind => kind,
        };
        line.event(line::one(kind, space, psn, ns, frame));
        let bin = Bin { resent: (kind == Kind::Again) as u32, ..Bin::default() };
        if let Some(own) = line.bins.of(&axis, ns) {
            own.add(&bin);
        }
        let dscp = line.dscp;
        if let Some(all) = self.classes.entry(dscp).or_default().of(&axis, ns) {
            all.add(&bin);
        }
    }

    fn on_frame(&mut self, event: &Event<'_>) {
        self.axis(event.record.time.0);
    }

    fn on_pause(&mut self, paused: &Paused) {
        self.pauses.add(paused);
    }

    fn on_measured(&mut self, flow: FlowId, measured: &Measured) {
        if let Some(line) = self.lines.get_mut(flow.0 as usize).and_then(Slot::line) {
            line.latency[measured.what as usize].push(*measured);
        }
    }

    fn on_retire(&mut self, flow: FlowId) {
        match self.lines.get_mut(flow.0 as usize).map(std::mem::take) {
            Some(Slot::Kept(line)) => self.over.push(line),
            Some(Slot::Gone(_, _, packets)) => self.left_out += packets,
            _ => {}
        }
    }

    fn heap_bytes(&self) -> usize {
        self.held
    }

    /// One bin. So a run's packets are in one.
    fn span(&self, time_ns: i64) -> Range<i64> {
        let Some(axis) = self.axis else { return time_ns..time_ns };
        let at = axis.at(time_ns).max(0);
        let Range { start, end } = axis.span(at);
        if at == 0 { i64::MIN..end } else { start..end }
    }
}

/// As a metric of the user's is kept: its bytes.
#[cfg(feature = "state")]
impl serde::Serialize for Timeline {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        crate::stored::to_bytes(self).serialize(to)
    }
}

#[cfg(feature = "state")]
impl<'de> serde::Deserialize<'de> for Timeline {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Timeline, D::Error> {
        let bytes = Vec::<u8>::deserialize(from)?;
        crate::stored::from_bytes(&bytes)
            .map_err(|damage| serde::de::Error::custom(format_args!("{damage:?}")))
    }
}
