//! Rows of the report, made from the state of the analysis.

use std::{borrow::Cow, collections::BTreeMap};

use super::stopped::Ending;
use crate::{
    analyze::{
        engine::Tracker,
        metric::{FlowActivity, latency::Distribution},
        model::{Class, Trigger, identity},
        table::flow::{FATAL_NAK, Flow},
        track::{
            class::{Bounds, Counts, Episodes, Place, is_order_of_tap},
            request::{AnswerStats, Episode, Mtu, MtuBy},
        },
    },
    opcode::{Numbering, Opcode, Service},
    report::{self, Confidence, Coverage, Location, Reason, Space},
};

/// The time of a flow's requests.
pub(super) fn activity(flow: &Flow) -> FlowActivity {
    let requests = &flow.requests;
    let triggered = |trigger: Trigger| requests.counts.trouble().triggers[trigger as usize] as u64;
    FlowActivity {
        src: flow.key.source(),
        dst: flow.key.destination(),
        dest_qp: flow.key.dest_qp(),
        start_ns: requests.seq.start_time,
        last_request_ns: requests.seq.last_time,
        last_answer_ns: requests.last_progress,
        hears: requests.acks_seen > 0 && requests.una > 0,
        packets: requests.counts.packets,
        rtt_ns: requests.rtt_min,
        timeouts: triggered(Trigger::Timeout),
        naks: triggered(Trigger::Nak),
        repeated_reads: triggered(Trigger::ImpliedNak),
        rnr: triggered(Trigger::Rnr),
    }
}

/// The time of a flow's READ responses: from the first one to the last one.
pub(super) fn data_activity(flow: &Flow, asking: &Flow) -> Option<FlowActivity> {
    let responses = flow.responses.get()?;
    let seq = &responses.read.get().filter(|read| read.seq.is_started())?.seq;
    let triggered = |trigger: Trigger| responses.counts.trouble().triggers[trigger as usize] as u64;
    Some(FlowActivity {
        src: flow.key.source(),
        dst: flow.key.destination(),
        dest_qp: flow.key.dest_qp(),
        start_ns: seq.start_time,
        last_request_ns: seq.last_time,
        last_answer_ns: seq.last_time,
        hears: true,
        packets: responses.counts.packets.saturating_sub(responses.acks_seen),
        rtt_ns: asking.requests.rtt_min,
        timeouts: triggered(Trigger::Timeout),
        naks: triggered(Trigger::Nak),
        repeated_reads: triggered(Trigger::ImpliedNak),
        rnr: triggered(Trigger::Rnr),
    })
}

impl Tracker {
    pub(super) fn capture_report(&self) -> report::Capture {
        let counts = &self.capture;
        let early = self.flows.flows.iter().filter_map(|flow| flow.requests.early_answers());
        let (answers_early, apart) =
            early.fold((0, 0), |(n, most), early| (n + early.count, most.max(early.most_ns)));
        report::Capture {
            packets: counts.packets,
            rdma_packets: counts.rdma_packets,
            malformed_packets: counts.malformed,
            corrupt_without_flow: self.strays.packets(),
            truncated_packets: counts.truncated,
            answers_early,
            clocks_apart_ns: (answers_early > 0).then_some(apart.max(0) as u64),
            bytes_captured: counts.captured,
            bytes_on_wire: counts.on_wire,
            first_ns: counts.first,
            last_ns: counts.first.map(|_| counts.last),
            duration_ns: counts.first.map(|first| counts.last.saturating_sub(first).max(0) as u64),
            timestamp_resolution_ns: counts
                .first
                .filter(|_| counts.has_times())
                .map(|_| self.resolution_ns()),
            timestamp_batch_frames: counts.batch().map(|batch| batch.frames),
            timestamp_batch_ns: counts.batch().map(|batch| batch.step_ns),
            link_types: counts.link_types.clone(),
            not_decoded: counts.unread.section(counts.fragmented > 0),
            fragmented_packets: counts.fragmented,
            mirror_lost_packets: self.mirrors.lost(),
            time_steps_back: counts.steps_back,
            frame_order: counts.order.map(|(order, _)| order),
            order_apart_ns: counts.order.map(|(_, apart)| apart),
            evicted_flows: counts.evicted_flows,
            flows_without_detail: self.flows.without_detail(),
            files: self.files.names.clone(),
            parts: self.files.parts.clone(),
            set_clocks: self.files.clocks.clone(),
            untied_files: self.files.untied.clone(),
            problems: self.files.problems.clone(),
            capture_drops: self.files.drops,
            learned: report::Learned { copy_lag_ns: self.config.copying.lags(), ..Default::default() },
            ..report::Capture::default()
        }
    }
}

/// What identifies a capture: what was read, not what its files are called.
pub(crate) fn capture_id(capture: &report::Capture) -> String {
    let times = [capture.first_ns, capture.last_ns].map(|time| time.unwrap_or(i64::MIN) as u64);
    let sizes = [capture.packets, capture.rdma_packets, capture.bytes_on_wire, capture.bytes_captured];
    format!("{:016x}", identity(times.into_iter().chain(sizes)))
}

/// The row of a connection of two flows, which stand at these places.
pub(super) fn connection_report(
    number: u32,
    [one, other]: &[Ending<'_>; 2],
    flows: [usize; 2],
) -> report::Connection {
    let (a, b) = (one.flow, other.flow);
    let (state, since_ns) = one.state(other);
    let (set_up_ns, closed_ns) = one.managed();
    let unseen = a.requests.acked_unseen + b.requests.acked_unseen;
    let is_refused = [a, b].iter().any(|flow| flow.signals().naks[1..].iter().any(|&naks| naks > 0));
    report::Connection {
        id: number,
        // The queue pair of an end is the destination of the opposite flow.
        a: report::End { addr: a.key.source().to_string(), qp: b.key.dest_qp(), uid: a.uid() },
        b: report::End { addr: a.key.destination().to_string(), qp: a.key.dest_qp(), uid: b.uid() },
        flows,
        completeness: a.completeness | b.completeness | if is_refused { FATAL_NAK } else { 0 },
        state,
        since_ns,
        set_up_ns,
        closed_ns,
        visibility: if unseen == 0 { Coverage::Full } else { Coverage::CaptureLossy },
        paired_by: a.paired_by.unwrap_or_default(),
        evidence_bits: a.evidence as u32,
    }
}

/// The whole row of a flow.
pub(crate) fn flow_report(flow: &Flow, peer: Option<&Flow>, verified: bool) -> report::Flow {
    let mut row = report::Flow::default();
    fill_counts(&mut row, flow, peer, verified, true);
    fill_rest(&mut row, flow, peer);
    if row.vcrc.is_none()
        && matches!(row.encapsulation, report::Encapsulation::Ib | report::Encapsulation::IbGrh)
    {
        row.why.insert("vcrc".into(), if verified { Reason::NoVcrc } else { Reason::NotRequested });
    }
    row
}

/// A time of a few steps of the capture's clock is off by more than a tenth.
fn is_short(ns: u64, step_ns: u64) -> bool {
    ns < step_ns.saturating_mul(10)
}

/// Leaves out times of which most are [short](is_short), and says why.
fn leave_out(why: &mut report::Why, field: &'static str, times: &mut Option<report::Summary>, step_ns: u64) {
    if times.take_if(|times| is_short(times.p50, step_ns)).is_some() {
        why.insert(field.into(), Reason::CoarseTimes);
    }
}

/// Leaves out short times of other transports, and of paths.
pub(super) fn leave_out_short_times(
    (mrc, uet): (&mut [report::MrcConnection], &mut [report::UetContext]),
    paths: &mut [report::FlowPath],
    step_ns: u64,
) {
    for row in mrc {
        leave_out(&mut row.why, "completion_ns", &mut row.completion_ns, step_ns);
        leave_out(&mut row.why, "ack_rtt_ns", &mut row.ack_rtt_ns, step_ns);
    }
    for row in uet {
        leave_out(&mut row.why, "completion_ns", &mut row.completion_ns, step_ns);
        if row.setup_ns.take_if(|ns| is_short(*ns, step_ns)).is_some() {
            row.why.insert("setup_ns".into(), Reason::CoarseTimes);
        }
        if row.rtt_mean_ns.is_some_and(|ns| is_short(ns, step_ns)) {
            (row.rtt_min_ns, row.rtt_mean_ns, row.rtt_max_ns) = (None, None, None);
            let fields = ["rtt_min_ns", "rtt_mean_ns", "rtt_max_ns"];
            row.why.extend(fields.map(|field| (field.into(), Reason::CoarseTimes)));
        }
    }
    for row in paths.iter_mut().filter(|row| row.ack_rtt_mean_ns.is_some_and(|ns| is_short(ns, step_ns))) {
        (row.ack_rtt_mean_ns, row.ack_rtt_max_ns) = (None, None);
    }
    for row in paths.iter_mut().filter(|row| row.transit_mean_ns.is_some_and(|ns| is_short(ns, step_ns))) {
        (row.transit_mean_ns, row.transit_max_ns) = (None, None);
    }
    for row in paths {
        row.late_mean_ns.take_if(|ns| is_short(*ns, step_ns));
    }
}

/// Leaves out short times of a flow.
pub(crate) fn leave_out_short(row: &mut report::Flow, step_ns: u64) {
    let times = &mut row.latency_ns;
    for (field, times) in [
        ("latency_ns.ack_rtt", &mut times.ack_rtt),
        ("latency_ns.message_completion", &mut times.message_completion),
        ("latency_ns.read_first", &mut times.read_first),
        ("latency_ns.read_last", &mut times.read_last),
        ("latency_ns.nak_generation", &mut times.nak_generation),
        ("latency_ns.nak_reaction", &mut times.nak_reaction),
    ] {
        leave_out(&mut row.why, field, times, step_ns);
    }
}

/// Writes the counts of a flow into a row that has nothing but counts, of this flow or another. A new row would take longer.
/// Text, lists, distributions and reasons are left out: they take long to make.
pub(crate) fn outline(row: &mut report::Flow, flow: &Flow, peer: Option<&Flow>, verified: bool) {
    fill_counts(row, flow, peer, verified, false);
}

/// Losses of requests and of responses, as an [`outline`] has them.
pub(super) fn losses(flow: &Flow, peer: Option<&Flow>) -> [report::Losses; 2] {
    [flow.requests.counts.losses(), lost_responses(flow, peer)].map(|found| shown_losses(found, flow))
}

fn fill_counts(row: &mut report::Flow, flow: &Flow, peer: Option<&Flow>, verified: bool, in_full: bool) {
    let more = flow.requests.more.as_deref();
    row.dest_qp = flow.key.dest_qp();
    row.epoch = flow.epoch;
    row.service = flow.service.into();
    row.encapsulation = flow.encapsulation.into();
    row.peer_qp = flow.peer_qp;
    row.paired_by = flow.paired_by;
    (row.first_ns, row.last_ns) = (flow.first_time, flow.last_time);
    row.packets = flow.packets;
    // What was recorded twice was sent once.
    let [requests_copied, responses_copied] =
        [&flow.requests.counts, &flow.responses.counts].map(|counts| counts.trouble().copied);
    row.wire_bytes = flow.wire_bytes.saturating_sub(requests_copied[0] + responses_copied[0]);
    row.payload_bytes = flow.payload_bytes.saturating_sub(requests_copied[1] + responses_copied[1]);
    row.goodput_bytes = flow.goodput();
    requests(&mut row.requests, flow, verified, in_full);
    responses(&mut row.responses, flow, peer, verified, in_full);
    row.acks = flow.acks;
    row.naks = report::Naks {
        psn_sequence_error: flow.signals().naks[0] as u64,
        invalid_request: flow.signals().naks[1] as u64,
        remote_access_error: flow.signals().naks[2] as u64,
        remote_operational_error: flow.signals().naks[3] as u64,
        invalid_rd_request: flow.signals().naks[4] as u64,
    };
    row.rnr_naks = flow.signals().rnr_naks;
    row.cnps = flow.signals().cnps;
    row.ce_packets = flow.signals().ecn_ce;
    row.becn_packets = flow.signals().becn;
    row.ect_packets = flow.ecn_ect + row.ce_packets;
    row.icrc = report::Icrc { good: flow.icrc[0], bad: flow.icrc[1], unchecked: flow.icrc[2] };
    row.episodes_not_listed = more.map_or(0, |more| more.recovery().episodes_dropped);
    let [good, bad] = flow.signals().vcrc;
    row.vcrc = (good + bad > 0).then_some(report::Vcrc { good, bad });
    row.messages.completed = flow.requests.messages_completed;
    if flow.service == Service::Ud {
        // A datagram is a message.
        row.messages.completed = flow.requests.counts.of(Class::Unsequenced);
    }
    row.messages.open = flow.requests.messages_open();
    row.messages.broken = flow.requests.messages_broken.into();
    row.recovery_mode = flow.requests.seq.recovery_mode();
    row.ip_id = flow.ids.numbering();
    row.rnr = more.and_then(|more| {
        Some(report::Rnr {
            asked_ns: more.recovery().rnr_asked.summary()?,
            waited_ns: more.recovery().rnr_waited.summary(),
            early_resends: more.recovery().rnr_early,
            stalled_ns: more.recovery().rnr_stalled,
        })
    });
    row.psn = report::Psns { first: flow.first_psn, last: flow.last_psn };
}

/// Text, lists, distributions and reasons.
fn fill_rest(row: &mut report::Flow, flow: &Flow, peer: Option<&Flow>) {
    let more = flow.requests.more.as_deref();
    let why = &mut row.why;
    let reliable = flow.service.is_reliable();
    let paired = peer.is_some();
    if !paired && reliable {
        why.insert("connection".into(), Reason::Unpaired);
    }
    let summary = |pick: fn(&AnswerStats) -> &Distribution| more.and_then(|more| pick(more).summary());
    row.latency_ns = report::Latencies {
        ack_rtt: summary(|more| more.ack_rtt.all()),
        message_completion: summary(|more| &more.completion),
        read_first: summary(|more| &more.recovery().read_first),
        read_last: summary(|more| &more.recovery().read_last),
        nak_generation: summary(|more| &more.recovery().nak_generation),
        nak_reaction: summary(|more| &more.recovery().nak_reaction),
    };
    if row.latency_ns.ack_rtt.is_none() && reliable {
        let reason = match (paired, flow.requests.acked_unseen) {
            (false, _) => Reason::Unpaired,
            (true, 0) => Reason::Midstream,
            (true, _) => Reason::CaptureLoss,
        };
        why.insert("latency_ns".into(), reason);
    }
    let mtu = path_mtu(flow, peer);
    let path_tags = flow.path_tags.lists();
    (row.src, row.dst) = (flow.key.source().to_string(), flow.key.destination().to_string());
    (row.uid, row.vni) = (flow.uid(), flow.key.vni());
    (row.vlans, row.dscps, row.udp_src_ports, row.ttls) =
        (path_tags.vlans, path_tags.dscps, path_tags.ports, path_tags.ttls);
    (row.sls, row.vls) = (path_tags.sls, path_tags.vls);
    row.p_key = flow.p_key;
    row.opcodes = opcodes(flow);
    row.messages.size_bytes = flow.requests.sizes.summary();
    row.path_mtu = mtu.map(|mtu| mtu.bytes);
    row.path_mtu_by = mtu.map(|mtu| match mtu.by {
        MtuBy::Cm => report::MtuBy::Cm,
        MtuBy::FullPackets => report::MtuBy::FullPackets,
        MtuBy::ReadPsns | MtuBy::Unknown => report::MtuBy::ReadPsns,
    });
    row.timeouts = more.map_or_else(Vec::new, |more| more.recovery().timeouts.clone());
    row.packets_per_ack = packets_per_ack(flow, peer);
}

/// Where there are no READs, whose responses acknowledge too.
fn packets_per_ack(flow: &Flow, peer: Option<&Flow>) -> Option<f64> {
    let requests = &flow.requests;
    let acks = peer?.acks;
    let acknowledged = requests.una.checked_sub(requests.seq.base)?;
    (acks > 0 && !requests.has_reads()).then(|| acknowledged as f64 / acks as f64)
}

/// When the queue pair gives up. `stopped`: it did, so that its retry count shows.
pub(super) fn retry(of: &Ending<'_>, stopped: Option<&report::GaveUp>) -> Option<report::Retry> {
    let requests = &of.flow.requests;
    let announced = Some(requests.ack_timeout).filter(|&exponent| exponent > 0);
    let [count, rnr_count] = of.retry_counts().map_or([None; 2], |counts| counts.map(Some));
    // A queue pair counts to seven.
    let shown = |by| {
        let tries = stopped.filter(|stopped| stopped.by == by)?.tries;
        u8::try_from(tries.saturating_sub(1)).ok().filter(|&count| count <= 7)
    };
    let retry = report::Retry {
        timeout_exponent: announced.or_else(|| requests.fitting_timeout()),
        count: count.or_else(|| shown(report::GiveUp::Retries)),
        // Seven means no limit.
        rnr_count: rnr_count.or_else(|| shown(report::GiveUp::Rnr).filter(|&count| count < 7)),
    };
    (retry != report::Retry::default()).then_some(retry)
}

fn path_mtu(flow: &Flow, peer: Option<&Flow>) -> Option<Mtu> {
    let own = Some(flow.requests.mtu).filter(|mtu| mtu.by != MtuBy::Unknown);
    own.or_else(|| peer.map(|peer| peer.requests.mtu).filter(|mtu| mtu.by != MtuBy::Unknown))
}

/// By [`Place`], what was lost there.
type Lost = [Bounds; Place::ALL.len()];

/// Losses of responses that a requester waits for: the data of READs, which is tracked, and the results of atomics. A requester whose
/// atomic is not answered sends it again, or waits still. Of a flow that has ACKs only, it is those.
fn lost_responses(flow: &Flow, peer: Option<&Flow>) -> Lost {
    let counts = &flow.responses.counts;
    let mut losses = counts.losses();
    let (atomics, acks) = (flow.responses.atomics(), flow.responses.acks_seen);
    if atomics > 0 {
        let unanswered = peer.map_or(u64::MAX, |peer| peer.requests.atomics_again_or_waiting());
        let again = peer.map_or(u64::MAX, |peer| peer.requests.results_again_or_waiting());
        let shown = counts.episodes_at(Place::Downstream);
        let shown = u64::from(shown.certain) + u64::from(shown.likely);
        let others = counts.packets.saturating_sub(again.saturating_add(counts.of(Class::Retransmission)));
        let again = peer.map_or(again, |peer| peer.requests.results_may_be_lost(again, shown, others));
        // Those that show are among them.
        let again = again.saturating_sub(flow.responses.results_shown());
        losses[Place::Downstream as usize].add(0, atomics.min(unanswered).min(again));
        // Each that passed the tap has one answer at most, and those that passed it were not lost before.
        let unseen = peer.filter(|_| counts.of(Class::CaptureDuplicate) == 0);
        let unseen = unseen.and_then(|peer| peer.requests.results_unseen()).unwrap_or(u64::MAX);
        losses[Place::Upstream as usize].add(0, peer.map_or(0, |_| unanswered.min(unseen)));
    } else if acks == counts.packets {
        // An acknowledgement that is lost downstream leaves no trace: a later one covers its PSNs too.
        losses[Place::Downstream as usize].add(0, acks);
        let unseen = peer.map_or(0, |Flow { requests, .. }| {
            requests.acks_not_seen.saturating_add(requests.counts.lost_at(Place::AckPath).get()[1])
        });
        losses[Place::Upstream as usize].add(0, unseen);
    }
    losses
}

fn requests(to: &mut report::Stream, flow: &Flow, verified: bool, in_full: bool) {
    let (counts, gap_psns) = (&flow.requests.counts, flow.requests.seq.rare.holes.psns());
    stream(to, counts, flow.requests.counts.losses(), gap_psns, flow, verified, in_full);
    let goes_back = flow.requests.seq.recovery_mode() == report::RecoveryMode::GoBackN;
    place_reordering(to, if goes_back { to.triggers.nak } else { 0 });
    if in_full && flow.requests.hides_causes() {
        to.why.insert(Cow::Borrowed("triggers"), Reason::CaptureLoss);
    }
}

/// Whether a receiver that asked so often, each time that a packet came early, saw the order of the tap.
fn place_reordering(to: &mut report::Stream, asked: u64) {
    if let Some(reordering) = &mut to.reordering {
        reordering.is_at_tap = is_order_of_tap(to.out_of_order, asked, reordering.then_nak);
    }
}

fn responses(to: &mut report::Stream, flow: &Flow, peer: Option<&Flow>, verified: bool, in_full: bool) {
    let (counts, gap_psns) = (&flow.responses.counts, flow.responses.read.seq.rare.holes.psns());
    stream(to, counts, lost_responses(flow, peer), gap_psns, flow, verified, in_full);
    if peer.is_none() && counts.packets > 0 && flow.responses.acks_seen == counts.packets {
        // Acknowledgements have no order of their own: without what they answer, none is known to be missing.
        to.losses.upstream = None;
        to.why.insert(Cow::Borrowed("losses.upstream"), Reason::Unpaired);
    }
    // A responder has no timer: why a READ was requested again counts once, in the flow of the request.
    let report::Triggers { nak, timeout, rnr, implied_nak, unknown, .. } = to.triggers;
    place_reordering(to, implied_nak);
    let repeated_read = nak + timeout + rnr + implied_nak;
    to.triggers = report::Triggers { repeated_read, unknown, ..report::Triggers::default() };
}

/// Losses, as far as the capture shows them.
fn shown_losses(found: Lost, flow: &Flow) -> report::Losses {
    let bounds = |place: Place| Some(found[place as usize].get());
    let tracked = flow.service.numbering() == Numbering::InOrder;
    let mut losses = report::Losses {
        upstream: bounds(Place::Upstream),
        downstream: bounds(Place::Downstream),
        ack_path: bounds(Place::AckPath),
        corrupt: bounds(Place::Corrupt),
        trimmed: bounds(Place::Trimmed),
        capture: bounds(Place::Capture),
        unknown: bounds(Place::Unknown),
    };
    if !tracked {
        losses = report::Losses { corrupt: losses.corrupt, trimmed: losses.trimmed, ..Default::default() };
    }
    if flow.service == Service::Uc {
        // UC has no acknowledgements: a loss after the tap does not show.
        (losses.downstream, losses.ack_path) = (None, None);
    } else if flow.evidence == 0 && tracked {
        // No acknowledgements were seen: losses of the capture are not certain, and losses after the tap do not show.
        (losses.downstream, losses.ack_path) = (None, None);
        losses.capture = losses.capture.map(|[_, most]| [0, most]);
    }
    if flow.icrc[0] + flow.icrc[1] == 0 {
        losses.corrupt = None;
    }
    losses
}

fn stream(
    to: &mut report::Stream,
    counts: &Counts,
    found: Lost,
    gap_psns: u64,
    flow: &Flow,
    verified: bool,
    in_full: bool,
) {
    let why = &mut to.why;
    let mut because = |field: &'static str, reason| {
        if in_full {
            why.insert(Cow::Borrowed(field), reason);
        }
    };
    let tracked = flow.service.numbering() == Numbering::InOrder;
    if !tracked {
        because("losses", Reason::PartialPath);
    }
    if flow.service == Service::Uc {
        because("losses.downstream", Reason::OneWay);
    } else if flow.evidence == 0 && tracked {
        because("losses.downstream", Reason::Unpaired);
    }
    if flow.icrc[0] + flow.icrc[1] == 0 {
        because("losses.corrupt", if verified { Reason::Truncated } else { Reason::NotRequested });
    }
    let late = counts.of(Class::LateOriginal);
    let first_transmissions =
        counts.packets - counts.of(Class::Retransmission) - counts.of(Class::CaptureDuplicate);
    to.packets = counts.packets;
    to.retransmits = counts.of(Class::Retransmission);
    to.out_of_order = late;
    to.retransmits_out_of_order = counts.trouble().overtaken_again;
    to.capture_duplicates = counts.of(Class::CaptureDuplicate);
    to.ambiguous = counts.of(Class::Ambiguous);
    to.reused_psns = counts.of(Class::ReusedPsn);
    to.gap_psns = gap_psns;
    to.retransmitted_bytes = counts.trouble().retransmitted_bytes;
    // By clocks that are apart, acknowledgements seem to be older than they are.
    let is_apart = flow.requests.early_answers().is_some();
    if tracked && is_apart {
        because("spurious", Reason::ClocksApart);
    }
    to.spurious = (tracked && !is_apart).then_some(counts.trouble().spurious as u64);
    if in_full {
        to.classes = classes(counts);
        for (class, evidence, packets) in counts.evidence() {
            to.evidence.entry(class).or_default().insert(evidence, packets);
        }
    }
    to.triggers = report::Triggers {
        nak: counts.trouble().triggers[Trigger::Nak as usize] as u64,
        timeout: counts.trouble().triggers[Trigger::Timeout as usize] as u64,
        rnr: counts.trouble().triggers[Trigger::Rnr as usize] as u64,
        implied_nak: counts.trouble().triggers[Trigger::ImpliedNak as usize] as u64,
        unknown: counts.trouble().triggers[Trigger::Unknown as usize] as u64,
        repeated_read: 0,
    };
    to.losses = shown_losses(found, flow);
    to.loss_episodes = loss_episodes(counts);
    to.reordering = (late > 0).then(|| report::Reordering {
        ratio: late as f64 / first_transmissions.max(1) as f64,
        max_extent_packets: counts.trouble().max_extent as u64,
        max_late_ns: counts.trouble().max_late_ns,
        then_nak: counts.trouble().reordered_then_nak as u64,
        is_at_tap: false,
    });
}

fn loss_episodes(counts: &Counts) -> report::LossEpisodes {
    let all = Place::ALL.map(|place| counts.episodes_at(place));
    let at = |place: Place| {
        let Episodes { certain, likely } = all[place as usize];
        u64::from(certain) + u64::from(likely)
    };
    report::LossEpisodes {
        upstream: at(Place::Upstream),
        downstream: at(Place::Downstream),
        ack_path: at(Place::AckPath),
        corrupt: at(Place::Corrupt),
        trimmed: at(Place::Trimmed),
        unknown: at(Place::Unknown),
        certain: all.iter().map(|episodes| u64::from(episodes.certain)).sum(),
    }
}

// One by one: `collect` would make a list first, and sort it.
fn opcodes(flow: &Flow) -> BTreeMap<String, u64> {
    let mut opcodes = BTreeMap::new();
    for (code, n) in flow.opcodes.iter() {
        let opcode = Opcode::of(flow.service.transport(), code);
        let name = opcode.name().map_or_else(|| opcode.to_string(), str::to_owned);
        opcodes.insert(name, n);
    }
    opcodes
}

fn classes(counts: &Counts) -> BTreeMap<Class, u64> {
    let mut classes = BTreeMap::new();
    for class in Class::ALL {
        let n = counts.of(class);
        if n > 0 {
            classes.insert(class, n);
        }
    }
    classes
}

/// The row of an episode of the flow at a place, whose opposite flow may be known.
pub(crate) fn episode_report(episode: &Episode, flow: usize, peer: Option<usize>) -> report::Episode {
    let responder = peer.filter(|_| episode.is_of_data);
    let mut why = report::Why::new();
    for (field, rate) in
        [("goodput_before_bps", episode.goodput_before), ("goodput_after_bps", episode.goodput_after)]
    {
        if rate.is_none() {
            // Without acknowledgements, the round trip is not known. With them, the flow began, ended or stopped near the episode.
            why.insert(field.into(), if peer.is_some() { Reason::Midstream } else { Reason::Unpaired });
        }
    }
    let since = |from: Option<i64>| from.map(|from| (episode.start - from).max(0) as u64);
    report::Episode {
        flow: responder.unwrap_or(flow),
        space: if responder.is_some() { Space::Response } else { Space::Request },
        trigger: episode.trigger,
        location: episode.place.unwrap_or(Location::Unknown),
        confidence: match episode.place {
            Some(_) if episode.certain => Confidence::Certain,
            Some(_) => Confidence::Likely,
            None => Confidence::Possible,
        },
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
