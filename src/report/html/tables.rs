//! The long tables of a page, as data for its script.

use std::{
    borrow::{Borrow, Cow},
    collections::BTreeMap,
    iter,
};

use serde::Serialize;

use super::{Cell, Head, Lines, Table};
use crate::report::{
    Bounds, CollectiveConnection, Connection, Episode, Flow, MarkedFlow, Pause, PauseEdge, Setup, SlowFlow,
    Sort, Space, Summary, TimeCause, TrafficClass, View,
    chart::Picture,
    clean,
    figure::{self, Subject, Unit, Value, bounds},
    order::first,
};

/// The tables of a capture, by the names that the page's sections know.
#[derive(Debug, Serialize)]
pub(super) struct Tables {
    pub(super) flows: Table,
    pub(super) connections: Table,
    pub(super) episodes: Table,
    pub(super) ports: Table,
    pub(super) pauses: Table,
    pub(super) pause_tree: Table,
    pub(super) slow: Table,
    pub(super) marked: Table,
    pub(super) setups: Table,
    pub(super) classes: Table,
    pub(super) collective_connections: Table,
    pub(super) hosts: Hosts,
    pub(super) pictures: Vec<Picture>,
    pub(super) lines: Lines,
}

impl Tables {
    /// The table of a section.
    pub(super) fn named(&self, name: &str) -> Option<&Table> {
        Some(match name {
            "marked" => &self.marked,
            "setups" => &self.setups,
            "classes" => &self.classes,
            "collective_connections" => &self.collective_connections,
            "pauses" => &self.pauses,
            "pause_tree" => &self.pause_tree,
            "ports" => &self.ports,
            _ => return None,
        })
    }
}

pub(super) fn tables(report: &View<'_>, pictures: Vec<Picture>, lines: Lines, most: usize) -> Tables {
    let order = first(report, Sort::Trouble, most);
    let mut place: Vec<(usize, usize)> = order.iter().enumerate().map(|(nth, &at)| (at, nth)).collect();
    place.sort_unstable();
    let mut shown = place.into_iter().peekable();
    let mut flows: Vec<Vec<Cell>> = vec![Vec::new(); order.len()];
    let (mut pairs, mut ports, mut in_trouble) = (BTreeMap::new(), BTreeMap::new(), 0);
    // All flows are in the sums. To make a flow's row takes a while: each is made once.
    for (at, flow) in report.flows.iter().enumerate() {
        let sum = Sum::of(&flow);
        if let Some((_, nth)) = shown.next_if(|(next, _)| *next == at) {
            in_trouble += u64::from(sum.trouble() > 0);
            let number = Cell::Number(at as u64);
            flows[nth] = iter::once(number).chain(FLOWS.iter().map(|column| column.cell(&flow))).collect();
        }
        pairs.entry((flow.src.clone(), flow.dst.clone())).or_insert_with(Sum::default).add(&sum);
        let port = match flow.udp_src_ports[..] {
            [] => continue,
            [port] => Some(port),
            _ => None,
        };
        ports.entry(port).or_insert_with(Sum::default).add(&sum);
    }
    let mut ports: Vec<_> = ports.into_iter().collect();
    ports.sort_by_key(|(_, sum)| std::cmp::Reverse((sum.trouble(), sum.of[0])));
    let start_ns = report.head.capture.first_ns.unwrap_or(0);
    let left_out = report.flows.len().saturating_sub(flows.len());
    let limit = (most, start_ns);
    let (connections, episodes) = (&report.connections, &report.episodes);
    let pauses = report.head.pause.as_deref().unwrap_or_default();
    let edges = report.head.pause_tree.as_ref().map_or(&[][..], |tree| &tree.edges);
    let collectives = report.head.collectives.as_ref().map_or(&[][..], |all| &all.connections);
    let (marked, classes, slow) =
        (&report.head.congestion.flows, &report.head.traffic_classes, &report.head.slow_flows);
    let number = Head { label: "#".into(), unit: "flow", about: "Number of the flow".into() };
    let heads = FLOWS.iter().map(|column| (column.head(), column.is_optional));
    let heads: Vec<_> = iter::once((number, false)).chain(heads).collect();
    Tables {
        flows: Table { in_trouble: Some(in_trouble), ..finish(&heads, flows, left_out) },
        connections: list(CONNECTIONS, connections.iter(), connections.len(), limit),
        episodes: list(EPISODES, episodes.iter(), episodes.len(), limit),
        pauses: list(PAUSES, pauses.iter(), pauses.len(), limit),
        pause_tree: list(PAUSE_TREE, edges.iter(), edges.len(), limit),
        slow: list(SLOW, slow.iter(), report.head.slow_flow_count as usize, limit),
        marked: list(MARKED, marked.iter(), report.head.congestion.flow_count as usize, limit),
        setups: list(SETUPS, report.head.setups.iter(), report.head.setup_count as usize, limit),
        classes: list(CLASSES, classes.iter(), classes.len(), limit),
        collective_connections: list(COLLECTIVES, collectives.iter(), collectives.len(), limit),
        ports: list(PORTS, ports.iter(), ports.len(), limit),
        hosts: Hosts::of(pairs),
        pictures,
        lines,
    }
}

/// A column of a table with rows of `T`.
struct Column<T> {
    head: Head,
    /// Left out where all cells are empty.
    is_optional: bool,
    /// A cell of a row, with the number that the table hands to all rows.
    value: fn(&T, i64) -> Cell,
}

const fn column<T>(
    label: &'static str,
    unit: &'static str,
    about: &'static str,
    value: fn(&T, i64) -> Cell,
) -> Column<T> {
    Column {
        head: Head { label: Cow::Borrowed(label), unit, about: Cow::Borrowed(about) },
        is_optional: false,
        value,
    }
}

const fn optional<T>(
    label: &'static str,
    unit: &'static str,
    about: &'static str,
    value: fn(&T, i64) -> Cell,
) -> Column<T> {
    Column {
        head: Head { label: Cow::Borrowed(label), unit, about: Cow::Borrowed(about) },
        is_optional: true,
        value,
    }
}

fn list<T, R: Borrow<T>>(
    columns: &[Column<T>],
    rows: impl Iterator<Item = R>,
    all: usize,
    (most, start_ns): (usize, i64),
) -> Table {
    let cells = |row: R| columns.iter().map(|column| (column.value)(row.borrow(), start_ns)).collect();
    let rows: Vec<_> = rows.take(most).map(cells).collect();
    let left_out = all.saturating_sub(rows.len());
    let heads: Vec<_> = columns.iter().map(|column| (column.head.clone(), column.is_optional)).collect();
    finish(&heads, rows, left_out)
}

/// Leaves out columns that are empty, and may be.
fn finish(heads: &[(Head, bool)], mut rows: Vec<Vec<Cell>>, left_out: usize) -> Table {
    let is_empty = |at: usize| rows.iter().all(|row| matches!(row.get(at), None | Some(Cell::None)));
    let keep: Vec<bool> =
        heads.iter().enumerate().map(|(at, (_, is_optional))| !is_optional || !is_empty(at)).collect();
    for row in &mut rows {
        let mut kept = keep.iter();
        row.retain(|_| kept.next() == Some(&true));
    }
    let kept = heads.iter().zip(keep).filter(|(_, keep)| *keep).map(|((head, _), _)| head.clone());
    Table { columns: kept.collect(), rows, left_out: left_out as u64, in_trouble: None }
}

fn text(text: impl AsRef<str>) -> Cell {
    Cell::Text(clean(text.as_ref()).into_owned().into())
}

/// A count; 0 is empty, so that other counts are easy to see.
fn some(n: u64) -> Cell {
    if n == 0 { Cell::None } else { Cell::Number(n) }
}

fn number(n: Option<u64>) -> Cell {
    n.map_or(Cell::None, Cell::Number)
}

fn ranked(known: Option<Bounds>) -> Cell {
    match bounds(known) {
        none if none.is_empty() => Cell::None,
        shown => Cell::Ranked(known.map_or(0, |[least, _]| least), shown),
    }
}

fn of_summary(summary: Option<Summary>, value: fn(Summary) -> u64) -> Cell {
    number(summary.map(value))
}

/// A figure of flows, and whether its column is left out where it is empty for all of them.
struct FlowColumn {
    figure: figure::Column,
    is_optional: bool,
}

/// Names of figures; behind `optional`, of those whose columns are left out where they are empty.
macro_rules! columns {
    ($($how:ident $($name:literal)+;)+) => { &[$($(FlowColumn {
        figure: const { figure::Column::named($name) },
        is_optional: matches!(stringify!($how).as_bytes(), b"optional"),
    },)+)+] };
}

impl FlowColumn {
    fn head(&self) -> Head {
        let unit = match self.figure.figure.unit {
            Unit::Count | Unit::Number | Unit::Ratio => "count",
            Unit::Bounds => "bounds",
            Unit::Bytes => "bytes",
            Unit::Time => "ns",
            Unit::Rate => "bps",
            Unit::Numbers | Unit::Words(_) | Unit::Address | Unit::Text => "text",
        };
        Head { label: self.figure.label().into(), unit, about: self.figure.doc().into() }
    }

    fn cell(&self, flow: &Flow) -> Cell {
        match (self.figure.of(&Subject::Flow(flow, None)), self.figure.figure.unit) {
            // What may have been lost and did not show is no trouble.
            (Value::Number(range), Unit::Bounds) if range.is_possible_only() && flow.loss_episodes() == 0 => {
                Cell::None
            }
            (Value::Number(range), Unit::Bounds) => ranked(range.bounds()),
            (Value::Number(range), Unit::Count | Unit::Bytes) => some(self.figure.shown(&range) as u64),
            (Value::Number(range), _) if !range.is_unknown() => {
                Cell::Number(self.figure.shown(&range) as u64)
            }
            (Value::Word(_) | Value::Several(_), _) => match self.figure.text(flow) {
                none if none.is_empty() => Cell::None,
                shown => text(shown),
            },
            _ => Cell::None,
        }
    }
}

const FLOWS: &[FlowColumn] = columns! {
    always "src" "dst" "queue_pair" "service" "packets" "wire_bytes";
    optional "retransmits" "loss_episodes" "lost" "out_of_order" "naks" "rnr_naks" "timeouts" "ce_packets" "cnps" "icrc.bad";
    optional "ambiguous" "capture_duplicates" "rate" "goodput" "goodput_bytes" "ack_rtt.p50" "ack_rtt.p99" "message_completion.p50" "message_completion.p99" "messages.size.p50";
    optional "udp_src_port" "dscp" "connection";
};

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
    optional("retries", "count", "How often they send again", |s, _| number(s.retry_count.map(u64::from))),
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
    column("lost PSN", "count", "First retransmitted PSN", |e, _| Cell::Number(e.lost_psn.into())),
    optional("frame", "frame", "Frame of the first transmission", |e, _| number(e.original_frame)),
    optional("NAK", "frame", "Frame of the NAK", |e, _| number(e.nak_frame)),
    column("resent", "frame", "First retransmitted frame", |e, _| Cell::Number(e.first_retransmit_frame)),
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
        "lost",
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
    column("CE", "count", "Packets marked: congestion experienced", |m, _| some(m.ce_packets)),
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
    optional("recovering", "ns", "Of network: from a loss until the packet was sent again", |c, _| {
        some(c.time.recovering_ns)
    }),
    optional("resent", "count", "Data packets that were sent again", |c, _| some(c.resent_packets)),
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
    optional("CE", "count", "Packets marked: congestion experienced", |c, _| some(c.ce_packets)),
    optional("resent", "count", "Retransmitted packets", |c, _| some(c.retransmits)),
    optional("NAK", "count", "NAKs for missing packets in this class", |c, _| some(c.naks)),
    optional("lost", "bounds", "Packets that its flows lost on the network, at least and at most", |c, _| {
        ranked(c.lost.filter(|&[least, _]| least > 0))
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

const PORTS: &[Column<(Option<u16>, Sum)>] = &[
    column("source port", "text", "UDP source port", |p, _| {
        text(p.0.map_or("several".into(), |port| port.to_string()))
    }),
    column("flows", "count", "Flows with this port", |p, _| Cell::Number(p.1.flows)),
    column("bytes", "bytes", "Bytes on the wire", |p, _| Cell::Number(p.1.of[0])),
    column("resent", "count", "Retransmitted packets", |p, _| some(p.1.of[1])),
    column("losses", "count", "Losses that the capture shows", |p, _| some(p.1.of[2])),
    column("late", "count", "Packets out of order: overtaken on their way", |p, _| some(p.1.of[3])),
    column("CE", "count", "Packets marked: congestion experienced", |p, _| some(p.1.of[4])),
];

/// What several flows add up to, of each figure in [`SUMS`].
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    flows: u64,
    of: [u64; SUMS.len()],
}

const SUMS: [figure::Column; 6] = [
    figure::Column::named("wire_bytes"),
    figure::Column::named("retransmits"),
    figure::Column::named("loss_episodes"),
    figure::Column::named("out_of_order"),
    figure::Column::named("ce_packets"),
    figure::Column::named("trouble"),
];

impl Sum {
    fn of(flow: &Flow) -> Sum {
        Sum { flows: 1, of: SUMS.map(|figure| figure.least(flow)) }
    }

    fn trouble(&self) -> u64 {
        let [.., trouble] = self.of;
        trouble
    }

    fn add(&mut self, other: &Sum) {
        self.flows += other.flows;
        for (sum, more) in self.of.iter_mut().zip(other.of) {
            *sum += more;
        }
    }
}

/// Hosts × hosts: the largest ones.
#[derive(Debug, Serialize)]
pub(super) struct Hosts {
    pub(super) names: Vec<String>,
    /// Sender, receiver, bytes on the wire, losses, retransmitted packets.
    cells: Vec<(usize, usize, u64, u64, u64)>,
    /// Hosts that the page does not have.
    pub(super) left_out: u64,
}

impl Hosts {
    /// A larger matrix cannot be read.
    const MOST: usize = 40;

    fn of(pairs: BTreeMap<(String, String), Sum>) -> Hosts {
        let mut weights: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for ((src, dst), Sum { of: [bytes, resent, lost, ..], .. }) in &pairs {
            for host in [src, dst] {
                let weight = weights.entry(host).or_default();
                *weight = (weight.0 + lost + resent, weight.1 + bytes);
            }
        }
        let mut names: Vec<&str> = weights.keys().copied().collect();
        names.sort_by_key(|name| std::cmp::Reverse(weights[name]));
        let left_out = names.len().saturating_sub(Hosts::MOST) as u64;
        names.truncate(Hosts::MOST);
        names.sort_unstable();
        let cells = pairs.iter().filter_map(|((src, dst), Sum { of: [bytes, resent, lost, ..], .. })| {
            let place = |host: &str| names.binary_search(&host).ok();
            Some((place(src)?, place(dst)?, *bytes, *lost, *resent))
        });
        Hosts {
            cells: cells.collect(),
            names: names.iter().map(|name| clean(name).into_owned()).collect(),
            left_out,
        }
    }
}
