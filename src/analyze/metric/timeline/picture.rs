//! What pictures need of a connection's direction: the data flow, what came back, and what the report says of its losses.

use std::collections::{BTreeMap, HashSet};

use super::{
    Axis, Bin, Hole, Kind, Line, Stretch, Timeline,
    by_psn::{ByPsn, Span},
};
use crate::{
    analyze::model::{Address, Space},
    in_order::InOrder,
    report::{self, Flow, Location, Sort, View},
    wire::{Acknowledgement, Psn, Syndrome},
};

/// Where a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Between its sender and the tap: it was retransmitted, and the tap had not seen it.
    BeforeTap,
    /// Between the tap and its receiver, or its acknowledgement was lost: the tap had seen it.
    AfterTap,
    /// The tap never saw it, nor was it retransmitted: the capture may have lost it.
    NotSeen,
}

impl Place {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Place::BeforeTap => "before the tap",
            Place::AfterTap => "after the tap",
            Place::NotSeen => "not seen again",
        }
    }
}

/// Packets that were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Their PSN space.
    pub space: Space,
    /// PSN of the first.
    pub psn: u32,
    /// How many, at most.
    pub packets: u32,
    /// Where.
    pub place: Place,
    /// When the gap was seen, or the packet was asked for or retransmitted, in nanoseconds since 1970.
    pub ns: i64,
    /// The NAK that asked for it: when, and its frame.
    pub nak: Option<(i64, u64)>,
    /// When it was retransmitted first, and that frame; 0 where that is inside a stretch.
    pub resent: Option<(i64, u64)>,
}

/// A sender that waited as its receiver was not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// When the RNR NAK came, in nanoseconds since 1970.
    pub start_ns: i64,
    /// When the packet was retransmitted; `None` where that was not seen.
    pub end_ns: Option<i64>,
    /// Its PSN.
    pub psn: u32,
    /// How long the RNR NAK asked to wait.
    pub asked_ns: u64,
    /// The frame of the RNR NAK.
    pub frame: u64,
}

/// All that pictures of one flow need.
#[derive(Clone, Debug)]
pub struct FlowTimeline<'a> {
    /// The flow.
    pub flow: Flow,
    /// When the capture starts, in nanoseconds since 1970.
    pub start_ns: i64,
    /// Where the bins of lines are; `None` without a packet.
    pub axis: Option<Axis>,
    /// Its line.
    pub line: &'a Line,
    /// The opposite flow's line: ACKs, NAKs, CNPs for this one, and responses of its READs.
    pub back: Option<&'a Line>,
    /// Losses in both PSN spaces of the flow, by time.
    pub losses: Vec<Loss>,
    /// Waits for a receiver that was not ready.
    pub waits: Vec<Wait>,
    /// Its episodes, as in the report.
    pub episodes: Vec<report::Episode>,
    /// Requests that were sent and not acknowledged, the most in each bin: when it begins, and how many.
    pub outstanding: Vec<(i64, u32)>,
}

impl Timeline {
    /// Flows that get pictures: those in trouble first, then the largest; as indices into the report's list. Flows without a line are
    /// not among them.
    pub fn chosen(&self, report: &View<'_>, most: usize) -> Vec<usize> {
        let kept = self.by_ends();
        let has_line = |at: &usize| {
            let flow = report.flows.row(*at);
            flow.is_some_and(|flow| ends_of(&flow).is_some_and(|ends| kept.contains(&ends)))
        };
        let mut chosen = Vec::new();
        for sort in [Sort::Trouble, Sort::Bytes] {
            for at in report::sorted(report, sort).into_iter().filter(has_line) {
                if chosen.len() >= most {
                    return chosen;
                }
                if !chosen.contains(&at) {
                    chosen.push(at);
                }
            }
        }
        chosen
    }

    /// What pictures need of a flow of the report; `None` if it has no line.
    pub fn flow(&self, report: &View<'_>, at: usize) -> Option<FlowTimeline<'_>> {
        let flow = report.flows.row(at)?.into_owned();
        let line = self.line_for(&flow)?;
        let peer = flow.connection.and_then(|id| {
            let [a, b] = report.connections.row(id as usize)?.flows;
            report.flows.row(if a == at { b } else { a })
        });
        let back = peer.and_then(|peer| self.line_for(&peer));
        let episodes: Vec<_> =
            report.episodes.iter().filter(|episode| episode.flow == at).map(|e| e.into_owned()).collect();
        let resent = Resent::of(line);
        let losses = losses(line, back, &resent, &episodes);
        let waits = back.map_or_else(Vec::new, |back| waits(&resent, back));
        let outstanding = match (back, self.axis) {
            (Some(back), Some(axis)) => outstanding(line, back, &axis),
            _ => Vec::new(),
        };
        let (start_ns, axis) = (report.head.capture.first_ns.unwrap_or(0), self.axis);
        Some(FlowTimeline { flow, start_ns, axis, line, back, losses, waits, episodes, outstanding })
    }

    /// The line of a flow of the report.
    pub fn line_for(&self, flow: &Flow) -> Option<&Line> {
        let ends = ends_of(flow)?;
        // A flow that was evicted and began again has two: the later one.
        self.lines().filter(|line| (line.ends, line.vni) == ends).last()
    }

    fn by_ends(&self) -> hashbrown::HashSet<EndsInNetwork, foldhash::fast::RandomState> {
        self.lines().map(|line| (line.ends, line.vni)).collect()
    }
}

/// A flow's ends, and the virtual network that these are in.
type EndsInNetwork = (super::Ends, Option<u32>);

fn ends_of(flow: &Flow) -> Option<EndsInNetwork> {
    let address = |text: &str| text.parse::<Address>().ok();
    Some(((address(&flow.src)?, address(&flow.dst)?, flow.dest_qp), flow.vni))
}

/// What was retransmitted in a line.
struct Resent<'a> {
    line: &'a Line,
    by_psn: ByPsn,
}

impl Resent<'_> {
    fn of(line: &Line) -> Resent<'_> {
        let all = line.events.stretches().iter().enumerate();
        let again = all.filter(|(_, event)| event.kind == Kind::Again).map(|(at, event)| {
            let reach = Psn(event.to_psn).distance_from(Psn(event.from_psn)).max(0) as u32;
            let span =
                Span { psn: event.from_psn, packets: reach + 1, from_ns: event.from_ns, to_ns: event.to_ns };
            (at, span)
        });
        Resent { line, by_psn: ByPsn::of(again) }
    }

    /// When a PSN was first retransmitted, at or after a time, and in which frame.
    fn first(&self, space: Space, psn: u32, after: i64) -> Option<(i64, u64)> {
        let events = self.line.events.stretches();
        let found = &events[self.by_psn.earliest(psn, after, |at| events[at].space == space)?];
        let frame = if found.from_psn == psn { found.frame } else { 0 };
        Some((found.time_of(psn), frame))
    }
}

/// The first NAK, in the order in which they were decided, for a PSN of a hole, at or after its time.
fn nak_for<'a>(hole: &Hole, naks: &[&'a Stretch], by_psn: &BTreeMap<u32, Vec<usize>>) -> Option<&'a Stretch> {
    let end = u64::from(hole.psn) + u64::from(hole.packets);
    // PSNs are of 24 bits: a range may begin anew at 0.
    let behind = end.checked_sub(1 << 24).map_or(0, |end| end as u32);
    let here = by_psn.range(hole.psn..end.min(1 << 24) as u32).chain(by_psn.range(..behind));
    let of =
        |(_, places): (&u32, &Vec<usize>)| places.iter().copied().find(|&at| naks[at].from_ns >= hole.ns);
    here.filter_map(of).min().map(|at| naks[at])
}

fn losses(line: &Line, back: Option<&Line>, resent: &Resent<'_>, episodes: &[report::Episode]) -> Vec<Loss> {
    let naks: Vec<&Stretch> = back
        .into_iter()
        .flat_map(|back| back.events.stretches())
        .filter(|event| event.kind == Kind::Nak && Syndrome(event.syndrome) == Syndrome::PSN_SEQUENCE_ERROR)
        .collect();
    let mut naks_by_psn = BTreeMap::<u32, Vec<usize>>::new();
    for (at, nak) in naks.iter().enumerate() {
        naks_by_psn.entry(nak.from_psn).or_default().push(at);
    }
    let mut all = Vec::new();
    for hole in line.holes.iter().filter(|hole| hole.missing() > 0) {
        let nak = (hole.space == Space::Request).then(|| nak_for(hole, &naks, &naks_by_psn)).flatten();
        let psn = nak.map_or(hole.psn, |nak| nak.from_psn);
        all.push(Loss {
            space: hole.space,
            psn: hole.psn,
            packets: hole.missing(),
            place: if hole.resent > 0 { Place::BeforeTap } else { Place::NotSeen },
            ns: hole.ns,
            nak: nak.map(|nak| (nak.from_ns, nak.frame)),
            resent: resent.first(hole.space, psn, hole.ns),
        });
    }
    let missing = line.holes.iter().enumerate();
    let missing = missing.filter(|(_, hole)| hole.space == Space::Request && hole.missing() > 0);
    let holes = ByPsn::of(missing.map(|(at, hole)| {
        let &Hole { psn, packets, ns, .. } = hole;
        (at, Span { psn, packets, from_ns: ns, to_ns: ns })
    }));
    // What was asked for and had passed the tap.
    let mut after: Vec<Loss> = Vec::new();
    for nak in &naks {
        let psn = nak.from_psn;
        // The one that shows first is enough.
        let hole = holes.earliest(psn, i64::MIN, |_| true);
        if hole.is_none_or(|at| line.holes[at].ns > nak.from_ns) {
            let resent = resent.first(Space::Request, psn, nak.from_ns);
            let nak = Some((nak.from_ns, nak.frame));
            let ns = nak.map_or(0, |(ns, _)| ns);
            after.push(Loss {
                space: Space::Request,
                psn,
                packets: 1,
                place: Place::AfterTap,
                ns,
                nak,
                resent,
            });
        }
    }
    let mut known: HashSet<(bool, u32, i64)> = after
        .iter()
        .filter_map(|loss| Some((loss.space == Space::Response, loss.psn, loss.resent?.0)))
        .collect();
    // Losses that no NAK tells of.
    for episode in episodes.iter().filter(|episode| episode.nak_frame.is_none()) {
        let space = match episode.space {
            report::Space::Response => Space::Response,
            _ => Space::Request,
        };
        let is_after = matches!(episode.location, Location::Downstream | Location::AckPath);
        let key = (space == Space::Response, episode.lost_psn, episode.start_ns);
        if is_after && known.insert(key) {
            after.push(Loss {
                space,
                psn: episode.lost_psn,
                packets: 1,
                place: Place::AfterTap,
                ns: episode.start_ns,
                nak: None,
                resent: Some((episode.start_ns, episode.first_retransmit_frame)),
            });
        }
    }
    all.append(&mut after);
    all.order_by_key(|loss| loss.ns);
    all
}

fn waits(resent: &Resent<'_>, back: &Line) -> Vec<Wait> {
    let asked = back.events.stretches().iter().filter(|event| event.kind == Kind::RnrNak);
    asked
        .map(|nak| {
            let timer_us = match Syndrome(nak.syndrome).meaning() {
                Acknowledgement::RnrNak { timer_us } => timer_us,
                _ => 0,
            };
            Wait {
                start_ns: nak.from_ns,
                end_ns: resent.first(Space::Request, nak.from_psn, nak.from_ns).map(|(ns, _)| ns),
                psn: nak.from_psn,
                asked_ns: timer_us as u64 * 1000,
                frame: nak.frame,
            }
        })
        .collect()
}

/// Requests sent and not acknowledged: the most in each bin of either flow, from its start on, and what is left where no bin follows. Before
/// the first acknowledgement, those since the first packet.
fn outstanding(line: &Line, back: &Line, axis: &Axis) -> Vec<(i64, u32)> {
    let ends = |line: &Line, of: fn(&Bin) -> Option<u32>| {
        let (bins, width_ns) = line.bins.get();
        let axis = Axis { width_ns, ..*axis };
        let known = bins.iter().filter_map(|bin| Some((axis.start_ns(bin.at + 1), of(bin)?)));
        known.collect::<Vec<(i64, u32)>>()
    };
    let (sent, acked) = (ends(line, |bin| bin.sent_psn), ends(back, |bin| bin.acked_psn));
    let mut times: Vec<i64> = sent.iter().chain(&acked).map(|(ns, _)| *ns).collect();
    times.sort_unstable();
    times.dedup();
    let at = |of: &[(i64, u32)], ns: i64| {
        let next = of.partition_point(|(end, _)| *end <= ns);
        next.checked_sub(1).and_then(|last| of.get(last)).map(|(_, psn)| *psn)
    };
    let track = line.sent[Space::Request as usize].stretches();
    let Some(first) = track.first() else { return Vec::new() };
    let since = |sent: u32, acked: Option<u32>| match acked {
        Some(acked) => Psn(sent).distance_from(Psn(acked)),
        None => Psn(sent).distance_from(Psn(first.from_psn)) + 1,
    };
    // What is acknowledged within a bin is not seen at its end: before each acknowledgement, by the lines of the PSNs.
    let mut peaks: Vec<(i64, u32)> = Vec::new();
    let mut before = None;
    for ack in back.acks.stretches() {
        let next = track.partition_point(|stretch| stretch.from_ns <= ack.from_ns);
        if let Some(sent) = next.checked_sub(1).and_then(|last| track.get(last)) {
            peaks.push((ack.from_ns, since(sent.psn_at(ack.from_ns), before).max(0) as u32));
        }
        before = Some(ack.to_psn);
    }
    peaks.sort_unstable_by_key(|(ns, _)| *ns);
    let width_ns = line.bins.get().1.max(back.bins.get().1);
    let mut peaks = peaks.into_iter().peekable();
    let mut points: Vec<(i64, u32)> = Vec::with_capacity(2 * times.len());
    let mut left = (i64::MIN, 0);
    for end in times {
        let Some(sent) = at(&sent, end) else { continue };
        let now = since(sent, at(&acked, end)).max(0) as u32;
        let start = end.saturating_sub(width_ns);
        while peaks.next_if(|(ns, _)| *ns < start).is_some() {}
        let peak = std::iter::from_fn(|| peaks.next_if(|(ns, _)| *ns < end)).map(|(_, n)| n).max();
        if left.0 != i64::MIN && left.0 < start {
            points.push(left);
        }
        // What is left of the bin before is in this one too.
        let from = start.max(left.0);
        points.push((from, now.max(peak.unwrap_or(0)).max(left.1)));
        left = (end, now);
    }
    if left.0 != i64::MIN {
        points.push(left);
    }
    points
}
