//! Findings. [`FINDINGS`] is the table of all kinds. Nothing else decides which finding is reported.
//!
//! To add a kind, add a row and its rule: of a flow ([`flow`]), or of the whole capture, in the file of its subject.

mod case;
mod cause;
mod classes;
mod collective;
mod congestion;
mod effects;
mod evidence;
mod few_cnps;
mod flow;
mod kin;
mod limitations;
mod paths;
mod pause;
mod setup;
mod slow;
mod sums;
mod survey;
mod tap;
mod transports;
mod tree;
mod words;

use self::{
    evidence::{Evidence, Seen},
    flow::{
        FlowRule,
        Time::{Ends, Of, Unknown},
        Traffic,
    },
};
pub(crate) use survey::Survey;

use crate::report::{Bounds, Flow, GiveUp, Service, Severity};
use Severity::{Error, Note, Warning};

/// A kind of finding.
#[derive(Debug)]
#[non_exhaustive]
pub struct FindingKind {
    /// Its name in JSON: "loss.downstream". It never changes.
    pub id: &'static str,
    /// How serious it is.
    pub severity: Severity,
    /// What it means, in one sentence.
    pub doc: &'static str,
    /// What a capture must show for it. Without that, it is not reported.
    pub needs: &'static [Need],
    /// What to do next.
    pub next: &'static str,
    /// Where the rule looks for it.
    pub scope: Scope,
    rule: Rule,
}

/// Where a rule looks for a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// In the capture as a whole.
    Capture,
    /// In the flows that are slow: what their time went to.
    SlowFlows,
    /// In the flows that were marked or notified, and those beside them.
    MarkedFlows,
    /// In the flows of which packets were overtaken between two taps.
    OvertakenFlows,
    /// In every flow.
    AllFlows,
    /// In flows with packets that are wrong, surely lost, late, retransmitted, refused or marked, or with CNPs. Others cannot show it.
    FlowsInTrouble,
}

/// What a capture must show for a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// The connection's other direction.
    BothDirections,
    /// Whole frames: an ICRC covers the whole packet.
    Icrc,
    /// VCRCs: native InfiniBand, and whole frames.
    Vcrc,
    /// UDP source ports, of which a flow has several.
    SourcePorts,
    /// ECN bits or CNPs.
    Ecn,
    /// The map of priorities, of the user or of DCBX.
    QosMap,
    /// PAUSE or PFC frames. Mirror ports and most adapters do not pass them on.
    PauseFrames,
    /// The link's speed: a pause is counted in bit times.
    LinkSpeed,
    /// Pauses of several links, and what these links join.
    Links,
    /// Link packets of native InfiniBand, which only ERF has.
    LinkPackets,
    /// Sequence numbers in the mirror's tunnel header (ERSPAN).
    MirrorSequence,
    /// The capturing system's drop counters, as pcapng has them.
    DropCounters,
}

impl Need {
    /// What it is, in words.
    pub const fn doc(self) -> &'static str {
        match self {
            Need::BothDirections => "both directions of the connection",
            Need::Icrc => "whole frames, since an ICRC covers the whole packet",
            Need::Vcrc => "native InfiniBand with its VCRCs, which some captures leave out",
            Need::SourcePorts => "several UDP source ports in a flow",
            Need::Ecn => "ECN bits or CNPs",
            Need::QosMap => "a map of priorities, from --qos or DCBX in the capture",
            Need::PauseFrames => "PAUSE or PFC frames, which mirror ports and most adapters do not show",
            Need::LinkSpeed => "the link's speed, from the file or --speed",
            Need::Links => "what the captured links join, from --links or LLDP in the capture",
            Need::LinkPackets => "link packets of native InfiniBand, of both directions, as ERF records them",
            Need::MirrorSequence => "sequence numbers in the mirror's tunnel header (ERSPAN)",
            Need::DropCounters => "the capturing system's drop counters (pcapng)",
        }
    }
}

#[derive(Debug)]
enum Rule {
    Flow(FlowRule),
    Capture(fn(&Evidence<'_>, &mut dyn FnMut(Seen))),
}

impl FindingKind {
    /// How often a flow shows it, at least and at most; `None` if it does not, or if it is no finding about flows.
    pub fn count(&self, flow: &Flow) -> Option<Bounds> {
        match &self.rule {
            Rule::Flow(rule) => (rule.count)(flow).filter(|&[least, _]| least > 0),
            Rule::Capture(_) => None,
        }
    }

    /// The kind with this id.
    pub fn by_id(id: &str) -> Option<&'static FindingKind> {
        FINDINGS.iter().find(|kind| kind.id == id)
    }
}

/// A row for each kind: id, severity, needs, meaning, what to do next, scope, and rule. A rule for flows has: which flows can show
/// it, the time that it costs, the sentence about several flows, how often a flow shows it, the sentence about one flow, and what narrows a
/// count that is a bound.
macro_rules! findings {
    ($($id:literal $severity:ident [$($need:ident),*] $doc:literal $next:literal $scope:ident($($rule:tt)*);)+) => {
        &[$(FindingKind {
            id: $id,
            severity: $severity,
            doc: $doc,
            needs: &[$(Need::$need),*],
            next: $next,
            scope: Scope::$scope,
            rule: rule!($($rule)*),
        },)+]
    };
}

macro_rules! optional {
    () => {
        None
    };
    ($what:expr) => {
        Some($what)
    };
}

macro_rules! rule {
    ($rule:path) => {
        Rule::Capture($rule)
    };
    ($traffic:ident, $time:expr, $many:literal losses $losses:expr, $count:expr, $one:expr) => {
        Rule::Flow(FlowRule {
            traffic: Traffic::$traffic,
            count: $count,
            narrow: None,
            losses: Some(|flow| flow::episodes_of(flow, $losses)),
            many: $many,
            one: $one,
            time: $time,
        })
    };
    ($traffic:ident, $time:expr, $many:literal, $count:expr, $one:expr $(, narrowed $narrow:expr)?) => {
        Rule::Flow(FlowRule {
            traffic: Traffic::$traffic,
            count: $count,
            narrow: optional!($($narrow)?),
            losses: None,
            many: $many,
            one: $one,
            time: $time,
        })
    };
}

/// All kinds of findings.
pub static FINDINGS: &[FindingKind] = findings! {
    "nak.invalid_request" Error []
        "A responder answered with NAK invalid request, which ends the connection."
        "check the request before the NAK: its operation, its length, and what the queue pair permits"
        FlowsInTrouble(Responses, Ends, "carry # NAKs with invalid request",
            |flow| flow::exactly(flow.naks.invalid_request),
            |subject, count| flow::refusal(subject, count, "invalid request"));

    "nak.remote_access" Error []
        "A responder answered with NAK remote access error, which ends the connection."
        "compare the R_Key, address and length of the request with what the responder registered, and its access rights"
        FlowsInTrouble(Responses, Ends, "carry # NAKs with remote access error",
            |flow| flow::exactly(flow.naks.remote_access_error),
            |subject, count| flow::refusal(subject, count, "remote access error"));

    "nak.remote_operational" Error []
        "A responder answered with NAK remote operational error, which ends the connection."
        "check the logs of the responder: it failed to execute the request"
        FlowsInTrouble(Responses, Ends, "carry # NAKs with remote operational error",
            |flow| flow::exactly(flow.naks.remote_operational_error),
            |subject, count| flow::refusal(subject, count, "remote operational error"));

    "nak.invalid_rd_request" Error []
        "A responder answered with NAK invalid RD request, which ends the connection."
        "check the RDETH and the Q_Key of the request"
        FlowsInTrouble(Responses, Ends, "carry # NAKs with invalid RD request",
            |flow| flow::exactly(flow.naks.invalid_rd_request),
            |subject, count| flow::refusal(subject, count, "invalid RD request"));

    "retries.exhausted" Error []
        "A requester tried again without an answer until it gave up: transport retry counter exceeded (IBV_WC_RETRY_EXC_ERR)."
        "look at the peer first: a process or host that died, a queue pair in error, a link that went down; then at the path between the two. The retry count and timeout of the queue pair say how long an interruption it survives"
        FlowsInTrouble(Requests, Ends, "gave up: no answer came, however often they tried (# queue pairs)",
            |flow| flow::gave_up(flow, GiveUp::Retries),
            flow::retries_exhausted);

    "peer.silent" Error []
        "A requester was answered before, and is not any more: it tried more often than a retry count allows, to the end of the capture."
        "look at the peer: a process or host that died or hangs, a queue pair that is gone or in error; if it still answers others, it is its process. Then at the path between the two. The requester may never give up by itself (Soft-RoCE takes a retry count of 7 as endless)"
        FlowsInTrouble(Requests, Ends, "are not answered any more, however often they try (# queue pairs)",
            flow::is_unanswered,
            flow::peer_silent);

    "rnr.exhausted" Error []
        "A receiver was not ready (RNR NAK) until the requester gave up: RNR retry counter exceeded (IBV_WC_RNR_RETRY_EXC_ERR)."
        "this is the receiving application, not the network: it posts no receive buffers any more, or too late; an RNR retry count of 7 means no limit"
        FlowsInTrouble(Requests, Ends, "gave up: the receiver was not ready, however often they tried (# queue pairs)",
            |flow| flow::gave_up(flow, GiveUp::Rnr),
            flow::rnr_exhausted);

    "psn.reused" Error []
        "A sender used a PSN for two packets of different operations or lengths: receivers drop the second one."
        "check what generates these packets: an adapter's firmware, a generator, or a queue pair that was reset and begins with the same PSNs"
        FlowsInTrouble(Requests, Unknown, "used # PSNs twice, with different content",
            |flow| flow::exactly(flow.requests.reused_psns),
            flow::reused);

    "loss.downstream" Error [BothDirections]
        "Packets passed the tap and did not reach their destination."
        "check the drop counters between the tap and the destination, its NIC included"
        FlowsInTrouble(Data, Of(flow::is_downstream), "had # after the tap" losses |at| at.downstream,
            |flow| flow::both(flow, |stream| stream.losses.downstream),
            |subject, count| flow::loss(subject, count, " after the tap", |at| at.downstream, flow::is_downstream));

    "loss.upstream" Error []
        "Packets were lost before they reached the tap."
        "check the drop counters between the source and the tap, the source's NIC included"
        FlowsInTrouble(Data, Of(flow::is_upstream), "had # before the tap" losses |at| at.upstream,
            |flow| flow::both(flow, |stream| stream.losses.upstream),
            |subject, count| flow::loss(subject, count, " before the tap", |at| at.upstream, flow::is_upstream));

    "loss.unknown" Error [BothDirections]
        "Packets were lost on the network, as NAKs and repeated READs prove, and the capture does not show where: it lost packets itself."
        "capture without losses (a snap length, larger buffers, more bandwidth for the mirror), and at both ends: two taps show where packets are lost"
        FlowsInTrouble(Data, Of(flow::is_upstream_perhaps), "had # on the network" losses |at| at.upstream,
            |flow| flow::both(flow, |stream| stream.losses.unknown),
            |subject, count| flow::loss(subject, count, " on the network", |at| at.upstream, flow::is_upstream_perhaps));

    "corrupt" Error [Icrc]
        "Packets have a wrong ICRC or IP checksum: they were corrupted before the tap."
        "look for a bad cable, optic or memory before the tap; the link error counters tell where"
        FlowsInTrouble(All, Of(flow::is_corrupt), "have # packets with a wrong ICRC or IP checksum",
            |flow| flow::both(flow, |stream| stream.losses.corrupt),
            flow::corruption);

    "vcrc" Error [Vcrc]
        "Packets of native InfiniBand have a wrong VCRC: the link before the tap damaged them, or a switch marks damaged ones."
        "look for a bad cable or transceiver before the tap; the ports' symbol error counters tell where"
        Capture(tap::wrong_vcrcs);

    "reorder.nak" Error [BothDirections]
        "Packets arrived out of order, and the receiver answered with a NAK: they were retransmitted although nothing was lost."
        "multipath (packet spraying, adaptive routing) needs a receiver that accepts packets out of order: enable that, or use one path per flow"
        FlowsInTrouble(Data, Unknown, "have # out-of-order packets that the receiver refused",
            |flow| flow::exactly(flow::reordered(flow, |reordering| reordering.then_nak)),
            flow::reordering);

    "reorder.between_taps" Error [BothDirections]
        "Packets passed one tap in order and a later one out of order, and the receiver answered with a NAK: nothing was lost."
        "multipath (packet spraying, adaptive routing) between the taps needs a receiver that accepts packets out of order: enable that, or use one path per flow"
        OvertakenFlows(paths::late_between_taps);

    "pause.storm" Error [PauseFrames]
        "A sender kept a priority paused so long that a PFC watchdog would have fired: 200 ms without a break, or as --storm says."
        "check the pausing host first: a stuck NIC, or a receiver that is too slow"
        Capture(pause::pause_storm);

    "pause.deadlock" Error [PauseFrames, LinkSpeed, Links]
        "Cyclic PFC dependency: each device was paused by the next one, all at once. That looks like a deadlock."
        "check the routes of this priority's traffic: a path that goes down and up again makes the buffers depend on each other in a cycle; a PFC watchdog that drops packets ends it"
        Capture(tree::deadlocks);

    "pause.host_storm" Error [PauseFrames, LinkSpeed, Links]
        "A host kept its link paused for more than 90 % of a long time, and no traffic to it was marked: the host is the bottleneck."
        "check the host: a stuck NIC, its driver, PCIe, or receive buffers that are not posted; a PFC watchdog at its switch port protects the other hosts"
        Capture(tree::host_storms);

    "cm.refused" Error []
        "A connection was refused by the connection manager or the application of a side."
        "see `rdmawire connections`, which lists each with its reason and private data"
        Capture(setup::refused);

    "cm.unanswered" Error []
        "A connection was asked for and not set up: nobody answered, the answer did not arrive, or a side gave up."
        "see `rdmawire connections`, which lists each with its messages"
        Capture(setup::unanswered);

    "uet.failed" Error []
        "Operations of Ultra Ethernet failed: their responses have an error."
        "a wrong key, address, job or permission is the application's: compare what it registered with what the request names (ses.memory_key, ses.buffer_offset, ses.job_id)"
        Capture(transports::uet_errors);

    "pause.culprit" Warning [PauseFrames, LinkSpeed, Links]
        "A device sent pauses without being paused itself, and others propagated them: what they stopped is its victim."
        "check this device and its queue of that priority, not those that it paused: who sends to it, and why it cannot keep up"
        Capture(tree::culprits);

    "pause.timeout" Warning [PauseFrames, LinkSpeed]
        "Pauses held packets longer than their senders wait for an acknowledgement: they were retransmitted although nothing was lost."
        "do not look for lost packets: find out why the link was paused so long; or raise the queue pair's timeout beyond its pauses"
        Capture(pause::pause_timeouts);

    "pause.ignored" Warning [PauseFrames, LinkSpeed, Links]
        "Frames of a paused priority came long after the pause began, from the paused end: the port did not honor the PFC pause."
        "check the port that sent them: whether PFC is enabled for that priority there, and whether both ends map the same traffic to this priority"
        Capture(pause::pauses_ignored);

    "pause.malformed" Warning [PauseFrames]
        "Pause frames do not conform to IEEE 802.3: switches and adapters may ignore them."
        "check what generates them: a traffic generator, or a driver"
        Capture(pause::pause_faults);

    "cm.slow" Warning []
        "The set-up of a connection took a second or more, or its messages had to be repeated."
        "an application that accepts late, or lost messages: compare with the time of the first answer, and with MRAs"
        Capture(setup::slow);

    "cm.mtu" Warning []
        "Two hosts ask each other for connections with different path MTUs."
        "set the same MTU on both hosts and on the switches between them"
        Capture(setup::path_mtus);

    "trimmed" Warning []
        "Switches cut packets to their headers instead of dropping them: their queues were full before the tap."
        "find the switch that trims, by its drop and trim counters: check that queue, and the traffic into it"
        FlowsInTrouble(All, Of(flow::is_trimmed), "had # packets trimmed by switches",
            |flow| flow::both(flow, |stream| stream.losses.trimmed),
            flow::trimming);

    "path.bad" Warning []
        "One of the paths of a flow loses, delays, marks or trims packets, or carries none any more, and the others do not."
        "look for what only this path has: the links and switches that its source port leads to, by their counters of errors, drops and trims"
        Capture(paths::bad);

    "path.skipped" Warning []
        "A receiver of MRC asked its sender not to use paths any more: it takes them for bad."
        "look for what only these paths have, by their counters of errors and drops; a path that is still used shows a sender that ignores it"
        Capture(paths::skipped);

    "mrc.retransmitted" Warning []
        "Packets of MRC were retransmitted: the network lost or trimmed them, the receiver refused them, or the sender was too impatient."
        "see tables mrc and paths: a path that loses more than the others has a finding of its own; retransmissions of what was not lost say that the sender takes reordering for loss"
        Capture(transports::mrc_retransmits);

    "mrc.skip_ignored" Warning []
        "A sender of MRC still uses paths that its receiver asked to skip always."
        "the receiver takes these paths for bad: look at the sender's version, and at how it chooses paths"
        Capture(transports::mrc_skip_ignored);

    "trimmed.last_hop" Warning []
        "Receivers of MRC or Ultra Ethernet say that the last switch before them trims: more was sent to them than their link carries."
        "that is incast: see who sends to the receiver at the same time; the fabric before the last switch is not the cause"
        Capture(transports::trimmed_at_last_hop);

    "uet.retransmitted" Warning []
        "Requests of Ultra Ethernet were retransmitted: the network lost or trimmed them, or the receiver refused them."
        "see table uet for the contexts: NACKs say where a packet was trimmed or why it was refused; without them, SACKs that show PSNs missing are losses, and retransmissions with neither are timeouts"
        Capture(transports::uet_retransmits);

    "uet.disordered" Warning []
        "Requests of ordered contexts of Ultra Ethernet (ROD) came out of order: their receiver does not take them."
        "see columns reordered and paths of the table uet: an ordered context must take one path; over one path, a switch or link bundle on it spreads packets"
        Capture(transports::uet_disordered);

    "uet.nack" Warning []
        "Receivers of Ultra Ethernet refused packets, not because they were trimmed."
        "no buffer, bitmap or resource: the receiver is overloaded, see who sends to it; a context that is not known, closing or out of its window: compare both ends' logs of it; a SYN or a mode that does not fit: compare how both ends are set up"
        Capture(transports::uet_nacks);

    "timeout" Warning []
        "A requester retransmitted packets because no acknowledgement came in time."
        "no acknowledgement came back: the last packet of a burst was lost, or its acknowledgement, or the responder was too slow, or it stood still; compare the queue pair's timeout with the round-trip time"
        FlowsInTrouble(Requests, Of(flow::is_timeout), "retransmitted packets after # timeouts",
            |flow| flow::exactly(flow.requests.triggers.timeout),
            flow::timeout);

    "retransmit.spurious" Warning [BothDirections]
        "A requester retransmitted packets that were not lost: the responder had acknowledged them before, or they came to it late."
        "the acknowledgement was lost, or came later than the timeout allows: check the return path, or raise the timeout; over several paths, the receiver takes what a slow path delivers late for lost"
        FlowsInTrouble(Requests, Of(flow::is_ack_loss), "retransmitted # packets that had been acknowledged",
            |flow| flow::exactly(flow.requests.spurious.unwrap_or(0)),
            flow::spurious);

    "retransmit.unexplained" Warning []
        "Packets were retransmitted, and the capture does not prove what was lost, or where."
        "capture at both ends: two taps show where packets are lost"
        FlowsInTrouble(Data, Of(flow::is_unexplained), "retransmitted # packets; the capture does not prove what was lost",
            flow::unexplained,
            flow::resent, narrowed flow::resent_packets);

    "slow" Warning [BothDirections]
        "A connection lost at least half of its time to one cause: pauses, CNPs, losses, a peer that was not ready or slow."
        "analyze --flow N shows where the time of flow N went, with the evidence"
        SlowFlows(slow::slow);

    "rnr" Warning []
        "A receiver had no receive buffer posted (RNR NAK): the sender had to wait."
        "this is the receiving application, not the network: post receive buffers earlier, or more of them"
        FlowsInTrouble(Requests, Of(flow::is_rnr), "received # RNR NAKs",
            |flow| flow::exactly(flow.rnr.map_or(0, |rnr| rnr.asked_ns.count)),
            flow::rnr);

    "messages.broken" Warning []
        "Messages of an unreliable connection lack packets: the receiver drops such messages, and nothing is retransmitted."
        "look for the loss before the tap"
        FlowsInTrouble(Requests, Unknown, "have # broken messages, which UC does not retransmit",
            |flow| { let is_lossy = flow.requests.retransmits == 0 && flow.service == Service::Uc; flow::exactly(if is_lossy { flow.messages.broken } else { 0 }) },
            flow::broken);

    "naks.one_way" Warning []
        "A receiver sent NAKs or RNR NAKs, and the capture lacks what they answer: packets were lost or late, or it was not ready."
        "capture the other direction too: NAKs prove that packets did not come in order, and not where they were lost; RNR NAKs are of the receiving application"
        FlowsInTrouble(ResponsesAlone, Unknown, "sent # NAKs to packets that the capture does not have",
            |flow| flow::exactly(flow.naks.psn_sequence_error + flow.rnr_naks),
            flow::nakked);

    "loss.capture" Warning [BothDirections]
        "Packets were acknowledged that the capture does not have: the capture lost them, or they took another path."
        "do not trust loss figures of this time span; check the drop counters of the capturing system, or tap every path"
        FlowsInTrouble(Data, Unknown, "lack # packets that were acknowledged and never captured",
            |flow| flow::both(flow, |stream| stream.losses.capture),
            flow::not_captured);

    "icrc.global" Warning [Icrc]
        "Most ICRCs are wrong: something rewrites the packets, or the sender computes none."
        "check the mirror, NAT and ICRC settings; wrong ICRCs prove no corruption in this capture"
        Capture(tap::wrong_icrcs);

    "corrupt.no_flow" Warning [Icrc]
        "Packets have a wrong ICRC or IP checksum, and no intact packet of their queue pairs came: they are in no flow."
        "dissect shows them, with [ICRC bad]: a corrupted header may name a queue pair that does not exist, or their sender computes no ICRC"
        Capture(tap::corrupt_without_flow);

    "clocks.apart" Warning [BothDirections]
        "Answers are stamped before the packets that they answer: a clock of its own stamps each direction, and they are apart."
        "let one clock stamp both directions, or synchronize both (PTP); until then no loss is proved by the order of packets and answers, and latencies are wrong by that much"
        Capture(tap::clocks_apart);

    "vcrc.global" Warning [Vcrc]
        "Most VCRCs are wrong: what recorded or converted the packets has not kept them."
        "do not take these VCRCs for damage on a link; check what wrote the capture"
        Capture(tap::vcrcs_not_kept);

    "mirror.loss" Warning [MirrorSequence]
        "The mirror lost copies, as its sequence numbers show: the network did not lose these packets."
        "give the mirror session more bandwidth, or let it truncate the copies"
        Capture(tap::mirror_loss);

    "capture.drops" Warning [DropCounters]
        "The capturing system dropped frames: the network did not lose them."
        "capture fewer bytes of each frame (snap length), or use larger buffers"
        Capture(tap::drops);

    "congestion.sender_marks" Warning [Ecn]
        "A sender marks (CE) all of its packets itself: receivers take that for congestion."
        "check the traffic class of its queue pairs: the two low bits are ECN, of which a sender sets 01 or 10 (ECT) and never 11 (CE)"
        FlowsInTrouble(All, Unknown, "mark all of their packets (CE) themselves, # in sum",
            |flow| flow::exactly(if flow.sets_ce { flow.ce_packets } else { 0 }),
            flow::sender_marks);

    "congestion.no_cnp" Warning [Ecn]
        "Packets were marked (CE), and no receiver sent a CNP."
        "check that the receiver's notification point (NP) is enabled, and that the capture has the return path"
        Capture(congestion::marks_without_cnps);

    "congestion.ignored" Warning [Ecn]
        "A sender received CNPs and did not slow down: it ignores them, or something else limits its rate more than they do."
        "check that DCQCN's reaction point (RP) is enabled at the sender for this priority; then what else limits its rate: the application, its window"
        MarkedFlows(congestion::ignored);

    "congestion.few_cnps" Warning [Ecn]
        "A receiver sent far fewer CNPs than the CE-marked packets it received should trigger."
        "check the receiver's notification point (NP) for this priority, and that the capture has the return path"
        MarkedFlows(few_cnps::missing_cnps);

    "congestion.not_ect" Warning [Ecn]
        "Data is not ECN-capable, and its sender gets CNPs, or the rest of its class is capable: switches drop it instead of marking it."
        "set ECT on the data: the queue pair's traffic class, or the ECN setting of the priority at the sender"
        MarkedFlows(congestion::not_capable);

    "congestion.no_becn" Warning [Ecn]
        "CNPs lack the BECN bit: a sender may ignore them."
        "check what generates them: a driver, or a test tool"
        Capture(congestion::no_becn);

    "class.no_pfc" Warning [QosMap]
        "RDMA data is in a priority without PFC: switches drop it under congestion."
        "give the queue pairs the traffic class of the lossless priority, or enable PFC for theirs on every port of the path"
        Capture(classes::without_pfc);

    "class.several" Warning []
        "The data of one connection is in several traffic classes: its packets wait in different queues, and overtake each other."
        "check what sets the class: the queue pairs of both ends, or a switch that re-marks"
        Capture(classes::several_classes);

    "class.siblings" Warning []
        "Some queue pairs carry data in another traffic class than the others like them: they wait in other queues."
        "if that is not intended, check what sets the class of these queue pairs: the environment of that process or rank (NCCL_IB_TC, UCX_IB_TRAFFIC_CLASS), the default of that host (cma_roce_tos, the adapter's traffic class)"
        Capture(classes::odd_class);

    "class.rewritten" Warning []
        "The data of a flow has another DSCP at a later tap: a device between the taps re-marked it, into another queue."
        "if that is not intended, check QoS trust mode (DSCP or PCP) and re-marking rules on the devices between the taps"
        Capture(classes::rewritten);

    "class.dcbx_differs" Warning []
        "The two ends of a link have PFC on different priorities, and neither takes over the other's."
        "one end does not stop when the other one pauses it, and packets are lost: set PFC of both alike, or let the host take over the switch's setting (DCBX \"willing\")"
        Capture(classes::dcbx_differs);

    "congestion.ecn_cleared" Warning [Ecn]
        "Data is ECN-capable at one tap and not at a later one: a device between them cleared ECN."
        "switches behind it drop where they would mark: find the device that writes the whole traffic class byte anew (re-marking of DSCP, a tunnel, a policer) and let it keep the two ECN bits"
        Capture(classes::ecn_cleared);

    "class.disagree" Warning [QosMap]
        "PCP and DSCP of a packet map to different priorities: devices with different trust modes treat it differently."
        "use one trust mode (DSCP or PCP) on all devices, or make the two agree at the host"
        Capture(classes::disagreeing);

    "class.cnp" Warning [QosMap]
        "CNPs are in another priority than the map assigns to them."
        "check the DSCP and the priority that the adapter gives CNPs"
        Capture(classes::cnps_elsewhere);

    "capture.not_decoded" Warning []
        "Frames were not decoded, and may hold RDMA packets or pauses: all counts are lower bounds, and rules over them are undecided."
        "name a tunnel on a port of your own with --decap; leave the frames out with --filter if they are none of RDMA; else capture before what wraps them"
        Capture(tap::not_decoded);

    "capture.encrypted" Warning []
        "Frames are encrypted (MACsec, IPsec, PSP). RDMA may be in them: no verdict on it is possible."
        "capture where they are not encrypted: on the hosts, behind the adapter's or the switch's MACsec, or where the tunnel ends"
        Capture(tap::encrypted);

    "capture.no_rdma" Warning []
        "There is no RDMA packet in the capture."
        "adapters hide offloaded RoCE from tcpdump: capture at a switch's mirror port, or with the adapter's sniffer (ibdump; tcpdump -i mlx5_0); name another UDP port with --roce-port"
        Capture(tap::without_rdma);

    "fragments" Warning []
        "RDMA packets were fragmented by IP. RoCE must not be: adapters drop fragments."
        "raise the MTU of the links on the path, or lower the path MTU of the queue pairs, tunnels included"
        Capture(tap::fragments);

    "flows.evicted" Warning []
        "There were more flows than are tracked at a time: some may be counted in pieces."
        "raise --max-flows and --max-memory"
        Capture(tap::evicted_flows);

    "credits.stall" Warning [LinkPackets]
        "An end of a native InfiniBand link had no flow-control credits, and could not send."
        "its peer does not free its buffers fast enough: check what is downstream of the peer, and PortXmitWait of this port"
        Capture(pause::credits);

    "collective.hang" Warning [BothDirections]
        "A request of a collective was not complete when the capture ended, after a long silence."
        "look at the endpoint that it waits for: its process, its GPU, its link; NCCL's log of that rank has the operation"
        Capture(collective::hung_collectives);

    "one_sided.rails" Warning [BothDirections]
        "Of several rails between the same hosts, one carries next to nothing of the one-sided traffic."
        "check which devices the transfer engine uses (UCX_NET_DEVICES, NVSHMEM_HCA_LIST, the engine's topology file), and that it splits transfers over them"
        Capture(collective::unused_rails);

    "reorder" Note []
        "Packets arrived out of order, and the receiver accepted them."
        "multipath (packet spraying, adaptive routing) needs a receiver that accepts packets out of order: this one does"
        FlowsInTrouble(Data, Unknown, "have # packets out of order",
            |flow| {
                // A single one is chance.
                let is_taken = flow::reordered(flow, |reordering| reordering.then_nak) == 0 && flow::late(flow) > 1;
                flow::exactly(if is_taken { flow::late(flow) } else { 0 })
            },
            flow::reordering);

    "path.uneven" Note []
        "A flow that takes several paths spreads its packets unevenly over them."
        "check how the sender chooses paths: weights, paths that it avoids, a hash of few values"
        Capture(paths::uneven);

    "spray" Note [SourcePorts]
        "A flow uses several UDP source ports, and its packets arrive out of order: it is sprayed over several paths."
        "check that the receiver accepts packets out of order"
        FlowsInTrouble(Data, Unknown, "use several source ports, and # packets arrive out of order: they are sprayed over several paths",
            |flow| flow::exactly(flow.requests.out_of_order),
            flow::spray);

    "ambiguous" Note []
        "Packets were either late or retransmitted: the capture does not tell which."
        "capture at the sender: there no packet is late"
        FlowsInTrouble(All, Unknown, "have # packets that were either late or retransmitted",
            |flow| flow::exactly(flow.requests.ambiguous + flow.responses.ambiguous),
            flow::ambiguous);

    "copies" Note []
        "Some packets were recorded twice: the network duplicated them before the tap, or what captures did."
        "a mirror of several ports copies all packets, not some: look for a loop, a link aggregation that flaps, or a second mirror session with a part of the traffic. Receivers answer the copies that the network makes: with acknowledgements that repeat"
        Capture(tap::some_copies);

    "pause" Note [PauseFrames]
        "A sender paused the traffic of a priority."
        "compare with the flows of that priority at that time"
        Capture(pause::pauses);

    "congestion" Note [Ecn]
        "Receivers of marked packets sent CNPs to the senders, which slow down."
        "the CNP column of the flows tells which senders were slowed: --sort marks"
        Capture(congestion::notifications);

    "congestion.unmarked" Note [Ecn]
        "Senders received CNPs, and none of their packets was marked at the tap."
        "the congestion is after the tap; where CNPs come together with NAKs, the NIC sends them for losses (slow restart)"
        Capture(congestion::cnps_without_marks);

    "congestion.control_marked" Note [Ecn]
        "ACKs or CNPs were marked (CE): they wait in a queue that marks, and nobody reacts to such a mark."
        "give CNPs a strict priority of their own, without ECN"
        Capture(congestion::marked_control);

    "congestion.cnp_body" Note [Ecn]
        "CNPs carry something: their sixteen reserved bytes are not all zero."
        "check what generates them (a driver, a test tool, a congestion control of the vendor's own), and that the senders take such CNPs: RoCEv2 has nothing in these bytes"
        Capture(congestion::cnp_body);

    "congestion.one_queue" Note [Ecn]
        "CNPs share the traffic class of the data: they wait behind the data that they should slow down."
        "give CNPs a DSCP of their own (48 by default) with a strict priority"
        MarkedFlows(congestion::one_queue);

    "congestion.incast" Note [LinkSpeed]
        "Several senders together sent more to one receiver than its link carries."
        "the excess is queued, marked, paused or dropped in the switch before the receiver: spread the senders in time"
        Capture(congestion::incasts);

    "congestion.microburst" Note [LinkSpeed]
        "Microbursts to a receiver had marks, CNPs, losses or pauses in them or soon after them."
        "the mean rate does not show them: spread the senders in time, pace them, or give the switch's queue more buffer"
        Capture(congestion::microbursts);

    "collective.straggler" Note [BothDirections]
        "Operations of a collective waited for one endpoint, or for one path."
        "see `rdmawire collectives`, which lists operations and requests, with what their time went to"
        Capture(collective::stragglers);

    "class.ack" Note []
        "ACKs are in another traffic class than the data that they acknowledge."
        "if that is intended, say so in the map (ack); else check the traffic class of the responder's queue pair"
        Capture(classes::acks_elsewhere);

    "ports.collision" Note []
        "Queue pairs between two hosts share a UDP source port: switches hash them to one path (ECMP)."
        "spread the source ports, or let the switches hash on the queue pair"
        Capture(paths::port_collisions);

    "cm.terms" Note []
        "A connection was set up on terms with which it ends at the first trouble, or never."
        "set them where the connection is made: rdma_conn_param, or the options of the application"
        Capture(setup::terms);

    "cm.unsaid" Note []
        "A connection ended without a DREQ: its queue pair belongs to another connection by now."
        "its peer notices only by timeouts: look for a process that was killed, or a host that was restarted"
        Capture(setup::unsaid);
};
