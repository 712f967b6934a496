//! From what was tracked to what is reported.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Analysis,
    flow::Flow,
    lists::{Connections, Episodes, Flows, Index},
    metric::entropy::Known,
    track::{
        Class, Trigger,
        class::{Bounds, Counts, Place},
        request::{Episode, Mtu, MtuBy},
    },
};
use crate::{
    opcode::{Opcode, Service},
    report::analysis::{self as report, Reason},
};

/// What the files, or the interface, say of themselves beside their frames.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Their names.
    pub names: Vec<String>,
    /// Damage in them.
    pub problems: Vec<report::CaptureProblem>,
    /// Frames that the capturing system dropped, where it counted.
    pub drops: Option<u64>,
}

/// An analysis that is over.
pub struct Ended(Analysis);

impl Ended {
    /// Where the frames came from: part of the report, and evidence for its findings.
    #[must_use]
    pub fn from(mut self, files: Files) -> Ended {
        self.0.files = files;
        self
    }

    /// What was found. Flows, connections and episodes are made one by one, when they are asked for or written, and
    /// not kept: beside the analysis itself this takes 12 bytes a flow and 24 an episode.
    pub fn report(&self) -> Streamed<'_> {
        self.0.report()
    }
}

/// A report whose flows, connections and episodes are made one by one.
pub type Streamed<'a> = report::Analysis<Flows<'a>, Connections<'a>, Episodes<'a>>;

impl Analysis {
    /// What was found. The analysis is over: what was undecided is decided as well as may be.
    pub fn finish(self) -> report::Analysis {
        self.end().report().collect()
    }

    /// What is known so far, of an analysis that goes on: what is undecided is not in it.
    pub fn so_far(&mut self) -> report::Analysis {
        self.report_so_far().collect()
    }

    /// The analysis is over: what was undecided is decided as well as may be. Its report can be made row by row.
    pub fn end(mut self) -> Ended {
        self.decide();
        Ended(self)
    }

    fn decide(&mut self) {
        self.release();
        self.catch_up();
        self.settle_all();
        self.connections.by_port(&mut self.flows);
        for at in 0..self.flows.flows.len() {
            let flow = &mut self.flows.flows[at];
            let Flow { requests, responses, ids, encapsulation, .. } = flow;
            let wrap = *encapsulation;
            requests.finish(ids, &self.knobs, &mut self.resolved);
            let place = (super::Space::Request, wrap);
            super::transport::tell(&mut self.observer, &mut self.resolved, &mut self.overhead, place, 0);
            if let Some(responses) = responses.get_mut() {
                responses.finish(ids, &self.knobs, &mut self.resolved);
            }
            super::transport::tell(
                &mut self.observer,
                &mut self.resolved,
                &mut self.overhead,
                (super::Space::Response, wrap),
                0,
            );
        }
    }

    /// What is known [so far](Analysis::so_far). Flows, connections and episodes are made one by one, when they are
    /// asked for or written, and not kept.
    pub fn report_so_far(&mut self) -> Streamed<'_> {
        self.catch_up();
        self.settle_all();
        self.report()
    }

    fn report(&self) -> Streamed<'_> {
        let index = Arc::new(Index::new(self));
        let mut report = report::Analysis::<(), (), ()> { schema: report::SCHEMA, ..Default::default() };
        report.overhead = self.overhead.section();
        report.capture = self.capture_report();
        self.asked.fill(
            &mut report,
            |interface| match self.links.get(interface as usize) {
                Some(name) if !name.is_empty() => name.clone(),
                _ => format!("if{interface}"),
            },
            |id| {
                let peer_qp = self.flows.flows.get(id.0 as usize)?.peer_qp;
                Some(Known { index: index.place(id)?, peer_qp })
            },
        );
        index.survey().finish(&mut report);
        report.with_lists(Flows(index.clone()), Connections(index.clone()), Episodes(index))
    }

    fn capture_report(&self) -> report::Capture {
        let counts = &self.capture;
        report::Capture {
            packets: counts.packets,
            rdma_packets: counts.rdma_packets,
            malformed_packets: counts.malformed,
            truncated_packets: counts.truncated,
            bytes_captured: counts.captured,
            bytes_on_wire: counts.on_wire,
            first_ns: counts.first,
            last_ns: counts.first.map(|_| counts.last),
            duration_ns: counts.first.map(|first| counts.last - first),
            timestamp_resolution_ns: counts.first.map(|_| counts.resolution.ns),
            link_types: counts.link_types.clone(),
            mirror_lost_packets: counts.mirrored.then_some(counts.mirror_lost),
            time_steps_back: counts.steps_back,
            evicted_flows: counts.evicted_flows,
            files: self.files.names.clone(),
            problems: self.files.problems.clone(),
            capture_drops: self.files.drops,
            ..report::Capture::default()
        }
    }
}

/// A connection of two flows that stand at these places.
pub(super) fn connection_report(number: u32, [a, b]: [&Flow; 2], flows: [usize; 2]) -> report::Connection {
    let unseen = a.requests.acked_unseen + b.requests.acked_unseen;
    report::Connection {
        id: number,
        // An end is where the opposite flow's packets go.
        a: report::End { addr: a.key.source().to_string(), qp: b.key.dest_qp() },
        b: report::End { addr: a.key.destination().to_string(), qp: a.key.dest_qp() },
        flows,
        completeness: a.completeness | b.completeness,
        visibility: if unseen == 0 { "full" } else { "capture_lossy" },
        paired_by: a.paired_by.map_or("", |by| by.name()),
        evidence_bits: a.evidence as u32,
    }
}

/// What is told of a flow.
pub(super) fn flow_report(flow: &Flow, peer: Option<&Flow>, verified: bool) -> report::Flow {
    let mut row = report::Flow::default();
    tell(&mut row, flow, peer, verified, true);
    tell_in_full(&mut row, flow, peer);
    row
}

/// What is told of a flow, without what takes long to make: texts, lists, distributions, reasons. Into a row that has
/// nothing of that, of whatever flow it was before: making one takes longer than filling it.
pub(super) fn outline(row: &mut report::Flow, flow: &Flow, peer: Option<&Flow>, verified: bool) {
    tell(row, flow, peer, verified, false);
}

fn tell(row: &mut report::Flow, flow: &Flow, peer: Option<&Flow>, verified: bool, in_full: bool) {
    let more = flow.requests.more.as_deref();
    row.dest_qp = flow.key.dest_qp();
    row.epoch = flow.epoch;
    row.service = flow.service.name();
    row.encapsulation = flow.encapsulation.name();
    row.peer_qp = flow.peer_qp;
    row.paired_by = flow.paired_by.map(|by| by.name());
    (row.first_ns, row.last_ns) = (flow.first_time, flow.last_time);
    row.packets = flow.packets;
    row.wire_bytes = flow.wire_bytes;
    row.payload_bytes = flow.payload_bytes;
    row.goodput_bytes = flow.requests.goodput + flow.responses.read.goodput;
    requests(&mut row.requests, flow, verified, in_full);
    responses(&mut row.responses, flow, peer, verified, in_full);
    row.acks = flow.acks;
    row.naks = report::Naks {
        psn_sequence_error: flow.naks[0] as u64,
        invalid_request: flow.naks[1] as u64,
        remote_access_error: flow.naks[2] as u64,
        remote_operational_error: flow.naks[3] as u64,
        invalid_rd_request: flow.naks[4] as u64,
    };
    row.rnr_naks = flow.rnr_naks;
    row.cnps = flow.cnps;
    (row.ecn_ect, row.ecn_ce) = (flow.ecn_ect, flow.ecn_ce);
    row.icrc = report::Icrc { good: flow.icrc[0], bad: flow.icrc[1], unchecked: flow.icrc[2] };
    row.messages.completed = flow.requests.messages_completed;
    row.messages.open = flow.requests.messages_open();
    row.messages.broken = flow.requests.messages_broken;
    row.recovery_mode = flow.requests.seq.recovery_mode();
    row.rnr = more.and_then(|more| {
        Some(report::Rnr {
            asked_ns: more.rnr_asked.summary()?,
            waited_ns: more.rnr_waited.summary(),
            early_resends: more.rnr_early,
            stalled_ns: more.rnr_stalled,
        })
    });
    row.psn = report::Psns { first: flow.first_psn, last: flow.last_psn };
}

/// What takes long to make.
fn tell_in_full(row: &mut report::Flow, flow: &Flow, peer: Option<&Flow>) {
    let more = flow.requests.more.as_deref();
    let why = &mut row.why;
    let reliable = flow.service.is_reliable();
    let paired = peer.is_some();
    if !paired && reliable {
        why.insert("connection", Reason::Unpaired);
    }
    let summary = |pick: fn(&super::track::request::More) -> &super::metric::latency::Distribution| {
        more.and_then(|more| pick(more).summary())
    };
    row.latency_ns = report::Latencies {
        ack_rtt: summary(|more| more.ack_rtt.all()),
        message_completion: summary(|more| &more.completion),
        read_first: summary(|more| &more.read_first),
        read_last: summary(|more| &more.read_last),
        nak_generation: summary(|more| &more.nak_generation),
        nak_reaction: summary(|more| &more.nak_reaction),
    };
    if row.latency_ns.ack_rtt.is_none() && reliable {
        why.insert("latency_ns", if paired { Reason::Midstream } else { Reason::Unpaired });
    }
    let mtu = path_mtu(flow, peer);
    let looks = flow.looks.lists();
    (row.src, row.dst) = (flow.key.source().to_string(), flow.key.destination().to_string());
    (row.vlans, row.dscps, row.udp_src_ports, row.ttls) = (looks.vlans, looks.dscps, looks.ports, looks.ttls);
    row.opcodes = opcodes(flow);
    row.messages.size_bytes = flow.requests.sizes.summary();
    row.path_mtu = mtu.map(|mtu| mtu.bytes);
    row.path_mtu_by = mtu.map(|mtu| match mtu.by {
        MtuBy::Cm => "cm",
        MtuBy::FullPackets => "full_packets",
        MtuBy::ReadPsns | MtuBy::Unknown => "read_psns",
    });
    row.timeouts = more.map_or_else(Vec::new, |more| more.timeouts.clone());
}

fn path_mtu(flow: &Flow, peer: Option<&Flow>) -> Option<Mtu> {
    let own = Some(flow.requests.mtu).filter(|mtu| mtu.by != MtuBy::Unknown);
    own.or_else(|| peer.map(|peer| peer.requests.mtu).filter(|mtu| mtu.by != MtuBy::Unknown))
}

/// In the order of their numbers.
const PLACES: [Place; 5] =
    [Place::Upstream, Place::Downstream, Place::AckPath, Place::Corrupt, Place::Capture];

fn requests(to: &mut report::Stream, flow: &Flow, verified: bool, in_full: bool) {
    let counts = &flow.requests.counts;
    stream(
        to,
        counts,
        PLACES.map(|place| counts.lost_at(place)),
        flow.requests.seq.rare.holes.psns(),
        flow,
        verified,
        in_full,
    );
}

/// The responses' losses: of data they were tracked, of acknowledgements little can be known.
fn responses(to: &mut report::Stream, flow: &Flow, peer: Option<&Flow>, verified: bool, in_full: bool) {
    let counts = &flow.responses.counts;
    let mut losses = PLACES.map(|place| counts.lost_at(place));
    // One that was lost behind the tap leaves no trace where a later one says the same.
    losses[Place::Downstream as usize].add(0, flow.responses.acks_seen);
    if let Some(peer) = peer {
        let upstream = &mut losses[Place::Upstream as usize];
        upstream.add(0, peer.requests.acks_not_seen);
        let on_ack_path = peer.requests.counts.lost_at(Place::AckPath);
        upstream.add(0, on_ack_path.most as u64);
    }
    stream(to, counts, losses, flow.responses.read.seq.rare.holes.psns(), flow, verified, in_full);
}

fn stream(
    to: &mut report::Stream,
    counts: &Counts,
    found: [Bounds; 5],
    gap_psns: u64,
    flow: &Flow,
    verified: bool,
    in_full: bool,
) {
    let why = &mut to.why;
    let mut because = |field, reason| {
        if in_full {
            why.insert(field, reason);
        }
    };
    let bounds = |place: Place| {
        let Bounds { least, most } = found[place as usize];
        Some([least as u64, most as u64])
    };
    let tracked = flow.service.is_reliable() || flow.service == Service::Uc;
    let mut losses = report::Losses {
        upstream: bounds(Place::Upstream),
        downstream: bounds(Place::Downstream),
        ack_path: bounds(Place::AckPath),
        corrupt: bounds(Place::Corrupt),
        capture: bounds(Place::Capture),
    };
    if !tracked {
        losses = report::Losses { corrupt: losses.corrupt, ..report::Losses::default() };
        because("losses", Reason::PartialPath);
    }
    if flow.service == Service::Uc {
        // Nobody acknowledges: what was lost behind the tap does not show.
        (losses.downstream, losses.ack_path) = (None, None);
        because("losses.downstream", Reason::OneWay);
    } else if flow.evidence == 0 && tracked {
        // Nobody says what arrived: nothing is certain, and of what lies behind the tap nothing is known.
        (losses.downstream, losses.ack_path) = (None, None);
        for bounds in [&mut losses.upstream, &mut losses.capture] {
            *bounds = bounds.map(|[_, most]| [0, most]);
        }
        because("losses.downstream", Reason::Unpaired);
    }
    if flow.icrc[0] + flow.icrc[1] == 0 {
        losses.corrupt = None;
        because("losses.corrupt", if verified { Reason::Truncated } else { Reason::NotRequested });
    }
    let late = counts.of(Class::LateOriginal);
    let first_transmissions =
        counts.packets - counts.of(Class::Retransmission) - counts.of(Class::CaptureDuplicate);
    to.packets = counts.packets;
    to.retransmits = counts.of(Class::Retransmission);
    to.out_of_order = late + counts.overtaken_again;
    to.capture_duplicates = counts.of(Class::CaptureDuplicate);
    to.ambiguous = counts.of(Class::Ambiguous);
    to.gap_psns = gap_psns;
    to.retransmitted_bytes = counts.retransmitted_bytes;
    to.spurious = tracked.then_some(counts.spurious as u64);
    if in_full {
        to.classes = classes(counts);
    }
    to.triggers = report::Triggers {
        nak: counts.triggers[Trigger::Nak as usize] as u64,
        timeout: counts.triggers[Trigger::Timeout as usize] as u64,
        rnr: counts.triggers[Trigger::Rnr as usize] as u64,
        implied_nak: counts.triggers[Trigger::ImpliedNak as usize] as u64,
        unknown: counts.triggers[Trigger::Unknown as usize] as u64,
    };
    to.losses = losses;
    to.reordering = (late > 0).then(|| report::Reordering {
        ratio: late as f64 / first_transmissions.max(1) as f64,
        max_extent_packets: counts.max_extent as u64,
        max_late_ns: counts.max_late_ns,
        then_nak: counts.reordered_then_nak as u64,
    });
}

// One by one: collecting would make a list first, and sort that.
fn opcodes(flow: &Flow) -> BTreeMap<String, u64> {
    let mut opcodes = BTreeMap::new();
    for (code, n) in flow.opcodes.iter() {
        let name = Opcode(code).name().map_or_else(|| Opcode(code).to_string(), str::to_owned);
        opcodes.insert(name, n);
    }
    opcodes
}

fn classes(counts: &Counts) -> BTreeMap<&'static str, u64> {
    let mut classes = BTreeMap::new();
    for class in Class::ALL {
        let n = counts.of(class);
        if n > 0 {
            classes.insert(class.name(), n);
        }
    }
    classes
}

/// What is told of an episode of the flow at this place; the flow's peer is known or not.
pub(super) fn episode_report(episode: &Episode, flow: usize, is_paired: bool) -> report::Episode {
    let mut why = report::Why::new();
    for (field, rate) in
        [("goodput_before_bps", episode.goodput_before), ("goodput_after_bps", episode.goodput_after)]
    {
        if rate.is_none() {
            // Without acknowledgements there is no round trip; with them the flow had begun, ended or stopped too near.
            why.insert(field, if is_paired { Reason::Midstream } else { Reason::Unpaired });
        }
    }
    let place = match episode.place {
        Some(Place::Upstream) => "upstream",
        Some(Place::Downstream) => "downstream",
        Some(Place::AckPath) => "ack_path",
        Some(Place::Corrupt) => "corrupt",
        Some(Place::Capture) => "capture",
        None if episode.trigger == Trigger::Rnr => "none",
        None => "unknown",
    };
    let since = |from: Option<i64>| from.map(|from| (episode.start - from).max(0) as u64);
    report::Episode {
        flow,
        space: "request",
        trigger: episode.trigger.name(),
        location: place,
        confidence: if episode.certain { "certain" } else { "likely" },
        lost_psn: (episode.x & 0xff_ffff) as u32,
        original_frame: episode.original_frame,
        nak_frame: episode.nak_frame,
        first_retransmit_frame: episode.first_frame,
        start_ns: episode.start,
        nak_generation_ns: episode.nak_generation,
        nak_reaction_ns: since(episode.nak_time),
        retransmission_ns: since(episode.original_time),
        goodput_before_bps: episode.goodput_before,
        goodput_after_bps: episode.goodput_after,
        recovered_ns: episode.recovered.map(|at| (at - episode.start).max(0) as u64),
        retransmitted_packets: episode.packets,
        retransmitted_bytes: episode.bytes,
        needless_packets: episode.needless,
        retries: episode.retries,
        why,
    }
}
