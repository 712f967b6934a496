//! Tables of a page that are lists of the report, each with its columns.

use std::borrow::Cow;

use super::{
    Cell, Table,
    list::{Column, Limit, column, list, number, of_summary, optional, proved, some, text},
};
use crate::report::{
    CollectiveConnection, Connection, Episode, MarkedFlow, OneSidedQueuePair, PairClass, Pause, PauseEdge,
    Setup, SlowFlow, Space, TimeCause, TrafficClass, View,
    units::{mean, percent},
};

/// The rows that a report has of a table, as a page shows them.
type Rows = fn(&View<'_>, Limit) -> Table;

/// Each table by the name that sections and the page's script know.
pub(super) const LISTS: &[(&str, Rows)] = &[
    ("connections", |report, limit| {
        list(CONNECTIONS, report.connections.iter(), report.connections.len(), limit)
    }),
    ("episodes", |report, limit| list(EPISODES, report.episodes.iter(), report.episodes.len(), limit)),
    ("pauses", |report, limit| {
        let pauses = report.head.pause.as_deref().unwrap_or_default();
        list(PAUSES, pauses.iter(), pauses.len(), limit)
    }),
    ("pause_tree", |report, limit| {
        let edges = report.head.pause_tree.as_ref().map_or(&[][..], |tree| &tree.edges);
        list(PAUSE_TREE, edges.iter(), edges.len(), limit)
    }),
    ("slow", |report, limit| {
        list(SLOW, report.head.slow_flows.iter(), report.head.slow_flow_count as usize, limit)
    }),
    ("marked", |report, limit| {
        let congestion = &report.head.congestion;
        list(MARKED, congestion.flows.iter(), congestion.flow_count as usize, limit)
    }),
    ("setups", |report, limit| {
        list(SETUPS, report.head.setups.iter(), report.head.setup_count as usize, limit)
    }),
    ("classes", |report, limit| {
        let classes = &report.head.traffic_classes;
        list(CLASSES, classes.iter(), classes.len(), limit)
    }),
    ("pair_classes", |report, limit| {
        let classes = &report.head.pair_classes;
        list(PAIR_CLASSES, classes.iter(), report.head.pair_class_count as usize, limit)
    }),
    ("collective_connections", |report, limit| {
        let connections = report.head.collectives.as_ref().map_or(&[][..], |all| &all.connections);
        list(COLLECTIVES, connections.iter(), connections.len(), limit)
    }),
    ("one_sided", |report, limit| {
        let (rows, more) = report
            .head
            .one_sided
            .as_ref()
            .map_or((&[][..], 0), |all| (&all.queue_pairs, all.not_listed as usize));
        list(ONE_SIDED, rows.iter(), rows.len() + more, limit)
    }),
];

/// The columns of all these tables: the table, the label, and what it means.
pub(super) fn columns() -> Vec<(&'static str, [Cow<'static, str>; 2])> {
    fn of<T>(table: &'static str, all: &[Column<T>]) -> Vec<(&'static str, [Cow<'static, str>; 2])> {
        all.iter().map(|column| (table, column.explained())).collect()
    }
    [
        of("connections", CONNECTIONS),
        of("episodes", EPISODES),
        of("pauses", PAUSES),
        of("pause trees", PAUSE_TREE),
        of("slow flows", SLOW),
        of("marked flows", MARKED),
        of("set-ups", SETUPS),
        of("classes", CLASSES),
        of("classes by pair", PAIR_CLASSES),
        of("collectives", COLLECTIVES),
        of("one-sided traffic", ONE_SIDED),
    ]
    .concat()
}

const CONNECTIONS: &[Column<Connection>] = &[
    column("#", "count", "Number of the connection", |c, _| Cell::Number(c.id.into())),
    column("a", "text", "The end that sends more packets", |c, _| text(&c.a.addr)),
    column("QP of a", "text", "Its queue pair", |c, _| text(format!("{:#x}", c.a.qp))),
    column("b", "text", "The other end", |c, _| text(&c.b.addr)),
    column("QP of b", "text", "Its queue pair", |c, _| text(format!("{:#x}", c.b.qp))),
    column("a sends", "flow", "The flow from a to b", |c, _| Cell::Number(c.flows[0] as u64)),
    column("b sends", "flow", "The flow from b to a", |c, _| Cell::Number(c.flows[1] as u64)),
    column("state", "text", "What became of it", |c, _| text(c.state.words())),
    column("seen", "text", "Whether the capture has all its packets", |c, _| text(c.visibility.words())),
    column("paired by", "text", "How the two flows were found to belong together", |c, _| {
        text(c.paired_by.words())
    }),
];

const SETUPS: &[Column<Setup>] = &[
    column("#", "count", "Number of the set-up", |s, _| Cell::Number(s.id.into())),
    column("at", "time", "When it was asked for, from the start of the capture", |s, start| {
        Cell::Number(s.start_ns.saturating_sub(start).max(0) as u64)
    }),
    column("from", "text", "Who asked", |s, _| text(&s.active.addr)),
    column("to", "text", "Who was asked", |s, _| text(&s.passive.addr)),
    column("service", "text", "Port or service ID; a name is that of the port by convention", |s, _| {
        text(s.service_words())
    }),
    column("outcome", "text", "What became of it", |s, _| text(s.outcome.words())),
    optional("reason", "text", "Why it was refused", |s, _| s.reason.as_ref().map_or(Cell::None, text)),
    column("tries", "count", "Requests (REQ)", |s, _| Cell::Number(s.requests)),
    optional("answer", "ns", "From the first request to the first answer", |s, _| number(s.answer_ns)),
    optional("set up", "ns", "From the first request to the RTU", |s, _| number(s.setup_ns)),
    optional("QP from", "text", "Queue pair of who asked", |s, _| queue_pair(s.active.qp)),
    optional("QP to", "text", "Queue pair of who was asked", |s, _| queue_pair(s.passive.qp)),
    optional("MTU", "bytes", "Path MTU", |s, _| number(s.path_mtu_bytes.map(u64::from))),
    optional(
        "ACK timeout",
        "ns",
        "How long the queue pairs wait for an acknowledgement; 0 is without end",
        |s, _| number(s.ack_timeout_ns),
    ),
    optional("retries", "count", "How often they retransmit", |s, _| number(s.retry_count.map(u64::from))),
    optional("closed by", "text", "Who closed it", |s, _| {
        s.closed_by.map_or(Cell::None, |by| text(by.words()))
    }),
    optional("how", "text", "How it was closed", |s, _| {
        s.closing.map_or(Cell::None, |how| text(how.words()))
    }),
    optional("connection", "count", "Number of the connection of its flows", |s, _| {
        number(s.connection.map(u64::from))
    }),
    column("frame", "frame", "Its first message", |s, _| number(s.frames.first().copied())),
];

fn queue_pair(qp: Option<u32>) -> Cell {
    qp.map_or(Cell::None, |qp| text(format!("{qp:#x}")))
}

const EPISODES: &[Column<Episode>] = &[
    column("flow", "flow", "Number of the flow", |e, _| Cell::Number(e.flow as u64)),
    column(
        "at",
        "time",
        "When the first packet was retransmitted, from the start of the capture",
        |e, start| Cell::Number(e.start_ns.saturating_sub(start).max(0) as u64),
    ),
    column("cause", "text", "Why packets were retransmitted", |e, _| text(e.trigger.words())),
    column("where", "text", "Where the packet was lost, seen from the tap", |e, _| text(e.location.words())),
    column("sure", "text", "Confidence in the place", |e, _| text(e.sure())),
    column("lost PSN", "psn", "First retransmitted PSN", |e, _| Cell::Number(e.lost_psn.into())),
    optional("frame", "frame", "Frame of the first transmission", |e, _| number(e.original_frame)),
    optional("NAK", "frame", "Frame of the NAK", |e, _| number(e.nak_frame)),
    column("resent from", "frame", "First retransmitted frame", |e, _| {
        Cell::Number(e.first_retransmit_frame)
    }),
    column("packets", "count", "Retransmitted packets", |e, _| Cell::Number(e.retransmitted_packets)),
    column("needless", "count", "Of these, packets that had arrived before", |e, _| some(e.needless_packets)),
    optional("took", "ns", "From the first retransmitted packet until all was acknowledged", |e, _| {
        number(e.recovered_ns)
    }),
    optional("goodput before", "bps", "First-time payload per second before the episode", |e, _| {
        number(e.goodput_before_bps)
    }),
    optional("after", "bps", "First-time payload per second after the episode", |e, _| {
        number(e.goodput_after_bps)
    }),
];

const PAUSES: &[Column<Pause>] = &[
    column("link", "text", "Interface that captured the frames", |p, _| text(&p.link)),
    column("sender", "text", "The sender: its name, where it is known, and its Ethernet address", |p, _| {
        text(p.sender_name())
    }),
    column("priority", "text", "0 to 7; all for 802.3x", |p, _| {
        text(p.priority.map_or("all".into(), |n| n.to_string()))
    }),
    column("XOFF", "count", "Frames that ask for a pause", |p, _| Cell::Number(p.xoff)),
    column("XON", "count", "Frames that end a pause", |p, _| Cell::Number(p.xon)),
    optional("refreshes", "count", "Frames that prolong a pause", |p, _| number(p.refreshes)),
    optional("pauses", "count", "How many pauses there were", |p, _| number(p.intervals)),
    optional("paused", "ns", "Time paused, in sum", |p, _| number(p.paused_ns)),
    optional("longest", "ns", "The longest pause", |p, _| number(p.longest_ns)),
    optional("not honored", "count", "Frames that the paused end sent although it was paused", |p, _| {
        number(p.violations.map(|came| came.frames))
    }),
    optional("sent after XOFF", "ns", "For how long the paused end still sent: the longest", |p, _| {
        of_summary(p.response_ns, |s| s.max)
    }),
    optional("storms", "count", "Storms: paused without a break for too long", |p, _| {
        some(p.storms.as_ref().map_or(0, Vec::len) as u64)
    }),
];

const PAUSE_TREE: &[Column<PauseEdge>] = &[
    column("priority", "text", "0 to 7; all for 802.3x", |e, _| {
        text(e.priority.map_or("all".into(), |n| n.to_string()))
    }),
    column("cause", "text", "Who paused the device", |e, _| text(&e.cause)),
    column("device", "text", "The device that was paused, and passed it on", |e, _| text(&e.device)),
    column("paused", "text", "Whom the device paused in turn", |e, _| text(&e.paused)),
    column("pauses", "count", "Pauses with this cause", |e, _| Cell::Number(e.pauses)),
    column("time", "ns", "Their time, in sum", |e, _| Cell::Number(e.paused_ns)),
    column("at", "time", "When the first one began, from the start of the capture", |e, start| {
        Cell::Number(e.start_ns.saturating_sub(start).max(0) as u64)
    }),
    column("delay", "ns", "From the beginning of the cause to that of the pause: the shortest", |e, _| {
        Cell::Number(e.delay_least_ns)
    }),
    column("at most", "ns", "The longest", |e, _| Cell::Number(e.delay_most_ns)),
    column("frame", "frame", "Frame that began the first one", |e, _| Cell::Number(e.frame)),
    column("of the cause", "frame", "Frame that began its cause", |e, _| Cell::Number(e.cause_frame)),
    column("sure", "text", "Confidence", |e, _| text(e.confidence.name())),
];

/// The part of a slow flow's time that went to a cause.
fn share(slow: &SlowFlow, cause: TimeCause) -> Cell {
    some(slow.shares.iter().find(|share| share.cause == cause).map_or(0, |share| share.ns))
}

const SLOW: &[Column<SlowFlow>] = &[
    column("flow", "flow", "Number of the flow", |s, _| Cell::Number(s.flow as u64)),
    column("from", "text", "Source address", |s, _| text(&s.src)),
    column("to", "text", "Destination address", |s, _| text(&s.dst)),
    column("QP", "text", "Queue pair that the packets go to", |s, _| text(format!("{:#x}", s.dest_qp))),
    column("of", "text", "Requests, or the data of READs", |s, _| {
        text(if s.space == Space::Request { "requests" } else { "READ data" })
    }),
    column("verdict", "text", "What takes at least half of the time in which it does not send", |s, _| {
        s.verdict.map_or(Cell::None, |cause| text(cause.words_for(s.space)))
    }),
    column("lasted", "ns", "Its time: from the first packet to the last one, or the last answer", |s, _| {
        Cell::Number(s.lasted_ns)
    }),
    column(
        "held up",
        "ns",
        "Time lost to pauses, CNPs, losses, and receivers that were not ready or slow",
        |s, _| some(s.lost_ns),
    ),
    optional("sending", "ns", "Time in which its packets followed each other", |s, _| {
        share(s, TimeCause::Sending)
    }),
    optional("idle", "ns", "Time in which it had nothing to send", |s, _| share(s, TimeCause::Idle)),
    optional("waiting", "ns", "Time in which it waited for acknowledgements, or for READs", |s, _| {
        share(s, TimeCause::Waiting)
    }),
    optional("paused", "ns", "Time in which a pause stopped it", |s, _| share(s, TimeCause::Paused)),
    optional("throttled", "ns", "Extra sending time caused by CNPs", |s, _| share(s, TimeCause::Throttled)),
    optional("recovering", "ns", "Time in which it recovered from losses", |s, _| {
        share(s, TimeCause::Recovering)
    }),
    optional("not ready", "ns", "Time in which its receiver was not ready", |s, _| {
        share(s, TimeCause::NotReady)
    }),
    optional("receiver slow", "ns", "Time that its receiver was late to answer", |s, _| {
        share(s, TimeCause::ReceiverSlow)
    }),
    optional("responder slow", "ns", "Time that a responder was late with the data of READs", |s, _| {
        share(s, TimeCause::ResponderSlow)
    }),
    optional("link full", "ns", "Time in which its link was full, and shared", |s, _| {
        share(s, TimeCause::LinkFull)
    }),
    optional("unknown", "ns", "Time that nothing in the capture explains", |s, _| {
        share(s, TimeCause::Unknown)
    }),
];

const MARKED: &[Column<MarkedFlow>] = &[
    optional("flow", "flow", "Number of the flow", |m, _| number(m.flow.map(|at| at as u64))),
    column("from", "text", "Who sends the data", |m, _| text(&m.src)),
    column("to", "text", "Who gets it, and sends the CNPs", |m, _| text(&m.dst)),
    optional("QP", "text", "Queue pair that the data goes to", |m, _| {
        m.dest_qp.map_or(Cell::None, |qp| text(format!("{qp:#x}")))
    }),
    column("CE", "count", "Packets marked: congestion experienced (CE), or FECN", |m, _| some(m.ce_packets)),
    optional("CE of 1,000", "count", "Marked packets of 1,000 that could be marked", |m, _| {
        m.ce_ratio.map_or(Cell::None, |ratio| some((ratio * 1000.0).round() as u64))
    }),
    column("CNP", "count", "Congestion notifications for it", |m, _| some(m.cnps)),
    optional("due", "count", "CNPs that these marks should trigger at this capture's pacing", |m, _| {
        number(m.expected_cnps)
    }),
    optional("for losses", "count", "CNPs next to a NAK, and not after a mark", |m, _| {
        some(m.cnps_for_losses.unwrap_or(0))
    }),
    optional("unmarked", "count", "CNPs after neither a mark nor a NAK that the tap shows", |m, _| {
        some(m.cnps_unmarked.unwrap_or(0))
    }),
    optional("CNP interval p50", "ns", "Between two CNPs, median", |m, _| {
        of_summary(m.cnp_interval_ns, |s| s.p50)
    }),
    optional("CE to CNP p50", "ns", "From a mark to the CNP for it, median", |m, _| {
        of_summary(m.ce_to_cnp_ns, |s| s.p50)
    }),
    optional("rate before", "bps", "Bits on the wire per second before the first CNP", |m, _| {
        number(m.rate_before_bps)
    }),
    optional("rate after", "bps", "From the first CNP to the last", |m, _| number(m.rate_after_bps)),
    optional("reaction", "text", "Rate after a CNP over the rate before it, median", |m, _| {
        m.reaction_ratio.map_or(Cell::None, |ratio| text(format!("× {ratio:.2}")))
    }),
    optional("reacts", "text", "Whether the sender slows down after CNPs", |m, _| {
        m.keeps_rate.map_or(Cell::None, |keeps| text(if keeps { "no" } else { "yes" }))
    }),
    optional(
        "DCQCN",
        "text",
        "The parameters whose model is nearest to the rate: a model, no measurement",
        |m, _| m.dcqcn.as_ref().map_or(Cell::None, |dcqcn| text(&dcqcn.best)),
    ),
];

const COLLECTIVES: &[Column<CollectiveConnection>] = &[
    column("from", "text", "Who sends", |c, _| text(&c.sender)),
    column("to", "text", "Who receives", |c, _| text(&c.receiver)),
    optional("channel", "count", "A guess: the how manieth connection between these two", |c, _| {
        number(c.channel)
    }),
    column(
        "layout",
        "text",
        "Layout of the clear-to-send elements, and NCCL's versions that have it",
        |c, _| text(c.layout.words()),
    ),
    column("known by", "text", "How it is known that it is one", |c, _| text(c.recognized_by.words())),
    column("requests", "count", "Requests", |c, _| Cell::Number(c.requests)),
    optional("unfinished", "count", "Requests that were not complete when the capture ended", |c, _| {
        some(c.unfinished)
    }),
    column("bytes", "bytes", "Bytes of its requests", |c, _| Cell::Number(c.bytes)),
    optional("receiver late", "ns", "The receiver had not asked for the data", |c, _| {
        number(c.time.receiver_late_ns)
    }),
    optional("sender late", "ns", "The data was asked for, and not sent", |c, _| {
        number(c.time.sender_late_ns)
    }),
    column("network", "ns", "From the first data until it was acknowledged", |c, _| {
        Cell::Number(c.time.network_ns)
    }),
    optional("paused", "ns", "Of network: silent in a pause", |c, _| some(c.time.paused_ns)),
    optional("recovering", "ns", "Of network: from a loss until the packet was retransmitted", |c, _| {
        some(c.time.recovering_ns)
    }),
    optional(
        "receiver silent",
        "ns",
        "The receiver answered nothing any more, to the end of the capture",
        |c, _| some(c.time.receiver_silent_ns),
    ),
    optional("resent", "count", "Retransmitted data packets", |c, _| some(c.resent_packets)),
];

const ONE_SIDED: &[Column<OneSidedQueuePair>] = &[
    column("flow", "flow", "The flow of its requests", |q, _| Cell::Number(q.flow as u64)),
    column("from", "text", "Who reads and writes", |q, _| text(&q.src)),
    column("to", "text", "Whose memory it is", |q, _| text(&q.dst)),
    column("QP", "text", "The queue pair that its requests go to", |q, _| text(format!("{:#x}", q.dest_qp))),
    column("operations", "count", "READs, WRITEs and atomics that were seen as a whole", |q, _| {
        Cell::Number(q.operations)
    }),
    optional("read", "bytes", "Bytes that were read", |q, _| number(q.read_bytes.filter(|&n| n > 0))),
    optional("written", "bytes", "Bytes that were written", |q, _| some(q.written_bytes)),
    optional("size", "bytes", "Bytes of a READ or WRITE, the median", |q, _| {
        number(q.size_bytes.map(|sizes| sizes.p50))
    }),
    optional(
        "complete after",
        "ns",
        "From an operation's first packet until it was complete, the median",
        |q, _| number(q.completion_ns.map(|took| took.p50)),
    ),
    optional("under way", "text", "Operations under way at a time, in the mean", |q, _| {
        q.outstanding.map_or(Cell::None, |n| text(mean(n)))
    }),
    column("of its rail", "text", "Its part of the bytes between these two addresses", |q, _| {
        text(percent(q.rail_ratio))
    }),
    optional("atomics", "count", "Signals: FETCH_ADD and COMPARE_SWAP", |q, _| some(q.atomics)),
    optional("immediates", "count", "Signals: WRITEs with immediate data", |q, _| some(q.immediates)),
    optional("small WRITEs", "count", "Perhaps signals: WRITEs of at most 64 bytes", |q, _| {
        number(q.small_writes.filter(|&n| n > 0))
    }),
    optional("resent", "count", "Retransmitted packets of requests", |q, _| some(q.resent_packets)),
];

const CLASSES: &[Column<TrafficClass>] = &[
    optional("DSCP", "count", "Differentiated services code point", |c, _| number(c.dscp.map(u64::from))),
    optional("PCP", "count", "Priority code point of the VLAN tag", |c, _| number(c.pcp.map(u64::from))),
    optional("SL", "count", "Service level of native InfiniBand", |c, _| number(c.sl.map(u64::from))),
    optional("VL", "count", "Virtual lane of native InfiniBand", |c, _| number(c.vl.map(u64::from))),
    optional("priority", "count", "Its priority, 0 to 7", |c, _| number(c.priority.map(u64::from))),
    optional("PFC", "text", "Whether the priority has PFC, as the map says", |c, _| {
        c.pfc.map_or(Cell::None, |has| text(if has { "yes" } else { "no" }))
    }),
    column("packets", "count", "Packets, without corrupt ones and copies", |c, _| Cell::Number(c.packets)),
    column("bytes", "bytes", "Bytes on the wire", |c, _| Cell::Number(c.wire_bytes)),
    optional("rate", "bps", "Bits on the wire per second, from its first packet to its last", |c, _| {
        number(c.rate_bps)
    }),
    optional("WRITE", "count", "RDMA WRITE packets", |c, _| some(c.operations.writes)),
    optional("SEND", "count", "SEND packets", |c, _| some(c.operations.sends)),
    optional("READ", "count", "READ requests and responses", |c, _| {
        some(c.operations.read_requests + c.operations.read_responses)
    }),
    optional("atomic", "count", "Atomics, and their results", |c, _| some(c.operations.atomics)),
    optional("ACK", "count", "ACKs and NAKs", |c, _| some(c.operations.acks)),
    optional("CNP", "count", "Congestion notifications", |c, _| some(c.operations.cnps)),
    optional("other", "count", "Other packets", |c, _| some(c.operations.others)),
    optional("CE", "count", "Packets marked: congestion experienced (CE), or FECN", |c, _| {
        some(c.ce_packets)
    }),
    optional("resent", "count", "Retransmitted packets", |c, _| some(c.retransmits)),
    optional("NAK", "count", "NAKs for missing packets in this class", |c, _| some(c.naks)),
    optional("lost", "bounds", "Packets that its flows lost on the network, at least and at most", |c, _| {
        proved(c.lost)
    }),
    optional(
        "paused",
        "ns",
        "Time for which its priority was paused, in sum over links and senders",
        |c, _| some(c.paused_ns.unwrap_or(0)),
    ),
    optional("ACK p50", "ns", "Packet to acknowledgement, median", |c, _| {
        of_summary(c.ack_rtt_ns, |s| s.p50)
    }),
    optional("ACK p99", "ns", "Packet to acknowledgement, 99th percentile", |c, _| {
        of_summary(c.ack_rtt_ns, |s| s.p99)
    }),
];

const PAIR_CLASSES: &[Column<PairClass>] = &[
    column("from", "text", "Source address", |c, _| text(&c.src)),
    column("to", "text", "Destination address", |c, _| text(&c.dst)),
    optional("VNI", "count", "Virtual network of an overlay", |c, _| number(c.vni.map(u64::from))),
    column("kind", "text", "What it is", |c, _| text(c.kind.words())),
    optional("DSCP", "count", "Differentiated services code point", |c, _| number(c.dscp.map(u64::from))),
    optional("PCP", "count", "Priority code point of the VLAN tag", |c, _| number(c.pcp.map(u64::from))),
    optional("SL", "count", "Service level of native InfiniBand", |c, _| number(c.sl.map(u64::from))),
    optional("VL", "count", "Virtual lane of native InfiniBand", |c, _| number(c.vl.map(u64::from))),
    optional(
        "usual",
        "text",
        "Whether most queue pairs with traffic of this kind have it in this class",
        |c, _| c.usual.map_or(Cell::None, |usual| text(if usual { "yes" } else { "no" })),
    ),
    optional("QPs", "count", "Queue pairs that it goes to", |c, _| number(c.queue_pairs)),
    column("packets", "count", "Packets, without corrupt ones and copies", |c, _| Cell::Number(c.packets)),
    column("bytes", "bytes", "Bytes on the wire", |c, _| Cell::Number(c.wire_bytes)),
    optional("CE", "count", "Packets marked: congestion experienced (CE), or FECN", |c, _| {
        some(c.ce_packets)
    }),
    optional("resent", "count", "Retransmitted packets", |c, _| some(c.retransmits)),
    optional("NAK", "count", "NAKs for missing packets", |c, _| some(c.naks)),
    optional("lost", "bounds", "Packets lost on the network, at least and at most", |c, _| proved(c.lost)),
    optional("paused", "ns", "How long pauses stopped the flow of it that they stopped longest", |c, _| {
        some(c.paused_ns.unwrap_or(0))
    }),
];
