//! An analysis as an engineer reads it: what the capture proves, what stands out, the flows in trouble; on one screen.

mod flow;
mod overhead;
mod set;
mod units;

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::BinaryHeap,
    io::{self, Write},
};

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::analysis::{
    Analysis, Bounds, Congestion, Flow, List, Losses, Overhead, Pause, Ports, Reason, Stream,
};
pub use flow::write_flow;
pub use overhead::write_overhead;
pub use set::write_set;
use units::{bits_per_second, bytes, clean, count, duration, percent, utc};

/// How a report is written.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether the terminal's escape sequences may be used.
    pub colour: bool,
    /// Rows of a list, and findings; 0: all.
    pub top: usize,
    /// What the flows are sorted by.
    pub sort: Sort,
}

impl Default for Options {
    fn default() -> Self {
        Options { width: 120, colour: false, top: 10, sort: Sort::Trouble }
    }
}

/// What flows are sorted by: the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// [`trouble`].
    #[default]
    Trouble,
    /// Packets.
    Packets,
    /// Bytes on the wire.
    Bytes,
    /// Retransmissions, of requests and responses.
    Retransmits,
    /// Packets that came out of order.
    OutOfOrder,
    /// Packets lost, at most.
    Losses,
    /// CNPs against the flow's sender are in the opposite flow: these are marked packets.
    Marks,
    /// The 99th percentile of the time to an acknowledgement.
    Latency,
    /// When it began: the earliest first.
    Time,
}

impl Sort {
    /// All of them, by name.
    pub const ALL: [(&'static str, Sort); 9] = [
        ("trouble", Sort::Trouble),
        ("packets", Sort::Packets),
        ("bytes", Sort::Bytes),
        ("retransmits", Sort::Retransmits),
        ("out-of-order", Sort::OutOfOrder),
        ("losses", Sort::Losses),
        ("marks", Sort::Marks),
        ("latency", Sort::Latency),
        ("time", Sort::Time),
    ];

    fn key(self, flow: &Flow) -> u64 {
        let both = |of: fn(&Stream) -> u64| of(&flow.requests) + of(&flow.responses);
        match self {
            Sort::Trouble => trouble(flow),
            Sort::Packets => flow.packets,
            Sort::Bytes => flow.wire_bytes,
            Sort::Retransmits => both(|stream| stream.retransmits),
            Sort::OutOfOrder => both(|stream| stream.out_of_order),
            Sort::Losses => both(|stream| lost(&stream.losses).map_or(0, |[_, most]| most)),
            Sort::Marks => flow.ecn_ce,
            Sort::Latency => flow.latency_ns.ack_rtt.map_or(0, |summary| summary.p99),
            Sort::Time => u64::MAX - (flow.first_ns as u64 ^ 1 << 63),
        }
    }
}

/// How much trouble a flow is in: refusals and timeouts weigh most, for they stall it; then what was sent again or surely
/// lost, then what came late or marked. A flow without any has 0.
pub fn trouble(flow: &Flow) -> u64 {
    let refused = flow.naks.total() - flow.naks.psn_sequence_error;
    let stream = |stream: &Stream| {
        let lost = lost(&stream.losses).map_or(0, |[least, _]| least);
        100 * stream.triggers.timeout
            + 10 * (stream.retransmits + lost)
            + stream.out_of_order
            + stream.ambiguous
    };
    1000 * refused
        + 100 * (flow.naks.psn_sequence_error + flow.rnr_naks)
        + stream(&flow.requests)
        + stream(&flow.responses)
        + 10 * (flow.icrc.bad + flow.messages.broken)
        + flow.cnps
        + flow.ecn_ce
}

/// Packets lost on the network, wherever: not by the capture.
fn lost(losses: &Losses) -> Option<Bounds> {
    [losses.upstream, losses.downstream, losses.ack_path, losses.corrupt]
        .into_iter()
        .flatten()
        .reduce(|[a, b], [c, d]| [a.saturating_add(c), b.saturating_add(d)])
}

/// Flows of a report, by their index, in an order.
pub fn sorted<C, E>(report: &Analysis<impl List<Row = Flow>, C, E>, sort: Sort) -> Vec<usize> {
    first(report, sort, usize::MAX)
}

/// The first `most` of them.
fn first<C, E>(report: &Analysis<impl List<Row = Flow>, C, E>, sort: Sort, most: usize) -> Vec<usize> {
    // The smallest on top, for the next one to take its place.
    let mut first = BinaryHeap::new();
    let mut see = |at, flow: &Flow| {
        let key = (Reverse((sort.key(flow), flow.packets)), at);
        if first.len() < most {
            first.push(key);
        } else if let Some(mut last) = first.peek_mut().filter(|last| key < **last) {
            *last = key;
        }
    };
    match sort {
        Sort::Latency => report.flows.rows().enumerate().for_each(|(at, flow)| see(at, &flow)),
        Sort::Trouble => report.flows.each_in_trouble(|at, flow| {
            if trouble(flow) > 0 {
                see(at, flow);
            }
        }),
        _ => report.flows.each_outline(see),
    }
    let mut first: Vec<usize> = first.into_sorted_vec().into_iter().map(|(_, at)| at).collect();
    if sort == Sort::Trouble {
        // Those without any are in their order.
        let mut in_trouble = first.clone();
        in_trouble.sort_unstable();
        let others = (0..report.flows.len()).filter(|at| in_trouble.binary_search(at).is_err());
        first.extend(others.take(most - in_trouble.len()));
    }
    first
}

/// The flow that somebody means by `which`: its number in the list, or source, destination and queue pair
/// ("10.0.0.1,10.0.0.2,0x12"); of several epochs the last. The error says what is wrong.
pub fn find_flow<C, E>(report: &Analysis<impl List<Row = Flow>, C, E>, which: &str) -> Result<usize, String> {
    let flows = report.flows.len();
    if let Ok(number) = which.trim_start_matches('#').parse::<usize>() {
        return match number < flows {
            true => Ok(number),
            false => Err(format!("no flow {number}: there are {flows}, numbered from 0")),
        };
    }
    let parts: Vec<&str> = which.split(',').map(str::trim).collect();
    let [src, dst, qp] = parts[..] else {
        return Err(format!("{which:?} is neither a flow's number nor SOURCE,DESTINATION,QP"));
    };
    let number = match qp.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => qp.parse(),
    };
    let qp = number.map_err(|_| format!("{qp:?} is not the number of a queue pair"))?;
    let same = |flow: &Flow| flow.src == src && flow.dst == dst;
    let mut last = None;
    report.flows.each_outline(|at, flow| {
        if flow.dest_qp == qp && report.flows.row(at).is_some_and(|flow| same(&flow)) {
            last = last.max(Some((flow.epoch, at)));
        }
    });
    last.map(|(_, at)| at).ok_or_else(|| format!("no flow from {src} to {dst} queue pair {qp:#x}"))
}

/// The whole report.
pub fn write<C, E>(
    report: &Analysis<impl List<Row = Flow>, C, E>,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let style = Style { colour: options.colour, width: options.width.clamp(40, 400) };
    capture(report, style, out)?;
    findings(report, options, style, out)?;
    flows(report, options, style, out)?;
    blocks(report, style, out)?;
    intervals(report, options, style, out)
}

#[derive(Clone, Copy)]
struct Style {
    colour: bool,
    width: usize,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn heading(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn severity(self, severity: &str) -> String {
        let code = match severity {
            "error" => "1;31",
            "warning" => "33",
            _ => "36",
        };
        self.paint(code, &format!("{severity:<7}"))
    }

    /// Text in lines of the terminal's width, the first behind `first`, the others behind as many blanks as it is long.
    fn wrapped(self, first: &str, first_len: usize, text: &str, out: &mut dyn Write) -> io::Result<()> {
        let room = self.width.saturating_sub(first_len).max(20);
        let mut line = String::new();
        let mut is_first = true;
        let mut put = |line: &str, out: &mut dyn Write| {
            let lead = if std::mem::take(&mut is_first) { first.to_owned() } else { " ".repeat(first_len) };
            writeln!(out, "{}", format!("{lead}{line}").trim_end())
        };
        for word in text.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                put(&line, out)?;
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        put(&line, out)
    }

    fn table(self, head: &[&str], left: &[usize]) -> Table {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(self.width.min(u16::MAX as usize) as u16);
        table.set_header(head.iter().copied());
        for (n, column) in table.column_iter_mut().enumerate() {
            column.set_padding((if n == 0 { 2 } else { 1 }, if n + 1 == head.len() { 0 } else { 1 }));
            if !left.contains(&n) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }
}

fn put(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn capture<F, C, E>(report: &Analysis<F, C, E>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let capture = &report.capture;
    let mut name = capture.files.first().map_or_else(|| "no file".into(), |file| clean(file));
    if capture.files.len() > 1 {
        name += &format!(" and {} more", capture.files.len() - 1);
    }
    writeln!(out, "{}", style.heading(&name))?;
    let mut line =
        format!("{} packets, {} of them RDMA", count(capture.packets), count(capture.rdma_packets));
    if let Some(ns) = capture.duration_ns {
        line += &format!(", in {}", duration(ns.unsigned_abs()));
    }
    if let Some(ns) = capture.first_ns {
        line += &format!(" from {}", utc(ns));
    }
    line += &format!("; {} on the wire", bytes(capture.bytes_on_wire));
    style.wrapped("  ", 2, &line, out)?;
    let mut odd = Vec::new();
    for (n, what) in [
        (capture.malformed_packets, "malformed"),
        (capture.truncated_packets, "cut by the capture"),
        (capture.time_steps_back, "earlier than the one before"),
    ] {
        if n > 0 {
            odd.push(format!("{} {what}", count(n)));
        }
    }
    if let Some(n) = capture.capture_drops.filter(|&n| n > 0) {
        odd.push(format!("{} dropped by the capturing system", count(n)));
    }
    if let Some(n) = capture.mirror_lost_packets.filter(|&n| n > 0) {
        odd.push(format!("{} lost by the mirror", count(n)));
    }
    if capture.evicted_flows > 0 {
        odd.push(format!("{} flows put away because there were too many", count(capture.evicted_flows)));
    }
    if !odd.is_empty() {
        style.wrapped("  Packets: ", 11, &odd.join(", "), out)?;
    }
    for text in &capture.proves {
        style.wrapped("  - ", 4, &clean(text), out)?;
    }
    for problem in capture.problems.iter().take(3) {
        let text = format!("{} at byte {}: {}", clean(&problem.file), problem.offset, clean(&problem.what));
        let lead = format!("  {} ", style.paint("33", "Damaged:"));
        style.wrapped(&lead, 11, &text, out)?;
    }
    if capture.problems.len() > 3 {
        writeln!(out, "           and {} more places", capture.problems.len() - 3)?;
    }
    writeln!(out)
}

/// As many as asked for, and how many are left out.
fn limit(all: usize, top: usize) -> (usize, usize) {
    let shown = if top == 0 { all } else { all.min(top) };
    (shown, all - shown)
}

fn findings<F, C, E>(
    report: &Analysis<F, C, E>,
    options: &Options,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    if report.findings.is_empty() {
        return writeln!(out, "{}  nothing stands out\n", style.heading("Findings"));
    }
    writeln!(out, "{}", style.heading("Findings"))?;
    let mut order: Vec<_> = report.findings.iter().collect();
    order.sort_by_key(|finding| match finding.severity {
        "error" => 0,
        "warning" => 1,
        _ => 2,
    });
    let (shown, left) = limit(order.len(), options.top);
    for finding in &order[..shown] {
        let mut text = clean(&finding.text);
        if !finding.frames.is_empty() {
            text += &format!(" [{}]", frames(&finding.frames));
        }
        style.wrapped(&format!("  {}  ", style.severity(finding.severity)), 11, &text, out)?;
        if !finding.next.is_empty() {
            style.wrapped("           -> ", 14, &clean(&finding.next), out)?;
        }
    }
    if left > 0 {
        writeln!(out, "  and {left} more (--top 0 shows all)")?;
    }
    writeln!(out)
}

fn frames(frames: &[u64]) -> String {
    let shown: Vec<String> = frames.iter().take(4).map(u64::to_string).collect();
    let word = if frames.len() == 1 { "frame" } else { "frames" };
    match frames.len().saturating_sub(4) {
        0 => format!("{word} {}", shown.join(", ")),
        more => format!("{word} {} and {more} more", shown.join(", ")),
    }
}

/// A column of the table of flows.
struct Column {
    head: &'static str,
    /// Where the terminal is too narrow, those with higher numbers go first.
    rank: u8,
    /// Left out where no flow has anything to say in it.
    is_optional: bool,
    value: fn(&Flow) -> String,
}

/// A count, or nothing for none: what is there stands out.
fn some(n: u64) -> String {
    if n == 0 { String::new() } else { count(n) }
}

const COLUMNS: &[Column] = &[
    Column { head: "service", rank: 8, is_optional: false, value: |f| f.service.to_owned() },
    Column { head: "packets", rank: 0, is_optional: false, value: |f| count(f.packets) },
    Column { head: "rate", rank: 7, is_optional: true, value: |f| rate(f, f.wire_bytes) },
    Column { head: "goodput", rank: 5, is_optional: true, value: |f| rate(f, f.goodput_bytes) },
    Column {
        head: "resent",
        rank: 0,
        is_optional: false,
        value: |f| some(f.requests.retransmits + f.responses.retransmits),
    },
    Column {
        head: "lost",
        rank: 0,
        is_optional: false,
        value: |f| both(lost(&f.requests.losses), lost(&f.responses.losses)),
    },
    Column {
        head: "late",
        rank: 1,
        is_optional: false,
        value: |f| some(f.requests.out_of_order + f.responses.out_of_order),
    },
    Column { head: "NAK", rank: 2, is_optional: true, value: |f| some(f.naks.total()) },
    Column { head: "RNR", rank: 2, is_optional: true, value: |f| some(f.rnr_naks) },
    Column {
        head: "timeouts",
        rank: 3,
        is_optional: true,
        value: |f| some(f.requests.triggers.timeout + f.responses.triggers.timeout),
    },
    Column { head: "CNP", rank: 4, is_optional: true, value: |f| some(f.cnps) },
    Column { head: "CE", rank: 4, is_optional: true, value: |f| some(f.ecn_ce) },
    Column { head: "bad ICRC", rank: 3, is_optional: true, value: |f| some(f.icrc.bad) },
    Column {
        head: "copies",
        rank: 9,
        is_optional: true,
        value: |f| some(f.requests.capture_duplicates + f.responses.capture_duplicates),
    },
    Column {
        head: "ACK p50",
        rank: 8,
        is_optional: true,
        value: |f| f.latency_ns.ack_rtt.map_or(String::new(), |summary| duration(summary.p50)),
    },
    Column {
        head: "p99",
        rank: 6,
        is_optional: true,
        value: |f| f.latency_ns.ack_rtt.map_or(String::new(), |summary| duration(summary.p99)),
    },
];

fn rate(flow: &Flow, bytes: u64) -> String {
    let ns = flow.last_ns.saturating_sub(flow.first_ns);
    if ns <= 0 || bytes == 0 { String::new() } else { bits_per_second(bytes, ns as u64) }
}

/// "13", "2-5", nothing for none, "?" for what the capture cannot prove.
fn bounds(bounds: Option<Bounds>) -> String {
    match bounds {
        None => "?".to_owned(),
        Some([0, 0]) => String::new(),
        Some([least, most]) if least == most => count(least),
        Some([least, most]) => format!("{}-{}", count(least), count(most)),
    }
}

fn both(a: Option<Bounds>, b: Option<Bounds>) -> String {
    match (a, b) {
        (Some([a, b]), Some([c, d])) => bounds(Some([a.saturating_add(c), b.saturating_add(d)])),
        (one, other) => bounds(one.or(other)),
    }
}

/// Flows that are written even if all are asked for: a table is laid out as a whole, and takes kilobytes a row.
const MAX_FLOWS: usize = 1 << 14;

fn flows<C, E>(
    report: &Analysis<impl List<Row = Flow>, C, E>,
    options: &Options,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let all = report.flows.len();
    if all == 0 {
        return writeln!(out, "{}  none\n", style.heading("Flows"));
    }
    let shown = limit(all, options.top).0.min(MAX_FLOWS);
    let left = all - shown;
    let by = Sort::ALL.iter().find(|(_, sort)| *sort == options.sort).map_or("", |(name, _)| *name);
    let of = if left > 0 { format!("{shown} of {}", count(all as u64)) } else { count(all as u64) };
    writeln!(out, "{}  {of} by {by}", style.heading("Flows"))?;
    let order = first(report, options.sort, shown);
    let rows: Vec<(usize, Cow<'_, Flow>)> =
        order.into_iter().filter_map(|at| Some((at, report.flows.row(at)?))).collect();
    let mut columns: Vec<(&Column, Vec<String>)> = COLUMNS
        .iter()
        .map(|column| (column, rows.iter().map(|(_, flow)| (column.value)(flow)).collect::<Vec<_>>()))
        .filter(|(column, cells)| !column.is_optional || cells.iter().any(|cell| !cell.is_empty()))
        .collect();
    let mut first = vec![
        ("#", rows.iter().map(|(index, _)| index.to_string()).collect::<Vec<_>>()),
        ("from", rows.iter().map(|(_, flow)| flow.src.clone()).collect()),
        ("to", rows.iter().map(|(_, flow)| flow.dst.clone()).collect()),
        ("QP", rows.iter().map(|(_, flow)| queue_pair(flow)).collect()),
    ];
    let width = |head: &str, cells: &[String]| {
        cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0).max(head.chars().count()) + 2
    };
    let fixed: usize = first.iter().map(|(head, cells)| width(head, cells)).sum();
    while let Some(rank) = columns.iter().map(|(column, _)| column.rank).max().filter(|&rank| rank > 0)
        && fixed + columns.iter().map(|(column, cells)| width(column.head, cells)).sum::<usize>()
            > style.width
        && let Some(at) = columns.iter().rposition(|(column, _)| column.rank == rank)
    {
        columns.remove(at);
    }
    first.extend(columns.into_iter().map(|(column, cells)| (column.head, cells)));
    let head: Vec<&str> = first.iter().map(|(head, _)| *head).collect();
    let mut table = style.table(&head, &[1, 2]);
    for row in 0..rows.len() {
        table.add_row(first.iter().map(|(_, cells)| Cell::new(cells.get(row).map_or("", String::as_str))));
    }
    put(&table, out)?;
    writeln!(out)
}

fn queue_pair(flow: &Flow) -> String {
    match flow.epoch {
        0 => format!("{:#x}", flow.dest_qp),
        epoch => format!("{:#x}/{epoch}", flow.dest_qp),
    }
}

fn blocks<F, C, E>(report: &Analysis<F, C, E>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    const LEAD: usize = 12;
    let block = |name: &str, text: String, out: &mut dyn Write| {
        let lead = format!("{}{}", style.heading(name), " ".repeat(LEAD - name.len()));
        style.wrapped(&lead, LEAD, &text, out)
    };
    block("Congestion", congestion(&report.congestion), out)?;
    block("Pause", pause(report.pause.as_deref(), report.why.get("pause")), out)?;
    block("Overhead", overhead(&report.overhead), out)?;
    if let Some(ports) = &report.ports {
        block("Ports", source_ports(ports), out)?;
    }
    Ok(())
}

fn congestion(c: &Congestion) -> String {
    if c.ect_packets == 0 && c.cnps == 0 {
        return "no packet is ECN-capable, and there are no CNPs".into();
    }
    let mut text = match c.ce_ratio {
        Some(ratio) => format!("{} of the ECN-capable data packets are marked (CE)", percent(ratio)),
        None => "no data packet is ECN-capable".into(),
    };
    if c.ce_control_packets > 0 {
        text += &format!(", and {} ACKs or CNPs", count(c.ce_control_packets));
    }
    text += &match c.cnps {
        0 => "; no CNPs".to_owned(),
        1 => "; 1 CNP".to_owned(),
        n => format!("; {} CNPs", count(n)),
    };
    if let Some(gaps) = c.cnp_interval_ns.per_qp {
        text += &format!(", per queue pair {} apart in the median", duration(gaps.p50));
    }
    if let (Some(scope), Some(ns)) = (c.pacing, c.pacing_interval_ns) {
        text +=
            &format!(", never less than {} {}", duration(ns), scope.replace('_', " ").replace("ip", "IP"));
    }
    if c.cnps_without_ce > 0 {
        text += &format!(
            "; {} CNPs to senders with no marked packet: the congestion is behind the tap, or they answer losses",
            count(c.cnps_without_ce)
        );
    }
    if c.cnps_near_nak > 0 {
        text += &format!("; {} within 5 µs of a NAK", count(c.cnps_near_nak));
    }
    text
}

fn pause(pause: Option<&[Pause]>, why: Option<&Reason>) -> String {
    let Some(all) = pause else {
        return match why {
            Some(Reason::NoPfcVisibility) | None => {
                "not known: the capture has no MAC control frames, which mirrors and most adapters do not show".into()
            }
            Some(why) => format!("not known: {}", reason(*why)),
        };
    };
    if all.is_empty() {
        return "none".into();
    }
    let one = |p: &Pause| {
        let what = p.priority.map_or("all priorities".to_owned(), |n| format!("priority {n}"));
        let mut text =
            format!("{} {} {what}: {} XOFF, {} XON", p.link, p.sender, count(p.xoff), count(p.xon));
        if let (Some(ns), Some(n), Some(longest)) = (p.paused_ns, p.intervals, p.longest_ns) {
            text += &format!(", paused {} in {}, longest {}", duration(ns), count(n), duration(longest));
        }
        if let Some(n) = p.storms.as_ref().map(Vec::len).filter(|&n| n > 0) {
            text += &format!(", {n} storm{}", if n == 1 { "" } else { "s" });
        }
        text
    };
    let mut text = all.iter().take(3).map(one).collect::<Vec<_>>().join("; ");
    if all.len() > 3 {
        text += &format!("; and {} more", all.len() - 3);
    }
    if all.iter().any(|p| p.paused_ns.is_none()) {
        text += " (durations need the link's speed: --speed)";
    }
    text
}

fn overhead(overhead: &Overhead) -> String {
    let total = &overhead.total;
    let Some(efficiency) = total.efficiency_ratio else { return "no RDMA packets".into() };
    let mut text = format!("{} of {} on the wire are payload", percent(efficiency), bytes(total.l1_bytes));
    let others = [
        ("native IB", total.as_native_ib),
        ("IB with GRH", total.as_native_ib_grh),
        ("RoCE v1", total.as_rocev1),
        ("RoCEv2/IPv4", total.as_rocev2_ipv4),
        ("RoCEv2/IPv6", total.as_rocev2_ipv6),
    ];
    let others: Vec<String> = others
        .iter()
        .filter_map(|(name, price)| Some(format!("{name} {}", percent((*price)?.efficiency_ratio?))))
        .collect();
    if !others.is_empty() {
        text += &format!("; the same packets as {}", others.join(", "));
    }
    for (ratio, what) in
        [(total.control_ratio, "ACKs, CNPs and pauses"), (total.retransmit_ratio, "retransmissions")]
    {
        if let Some(ratio) = ratio.filter(|&ratio| ratio > 0.0) {
            text += &format!("; {what} take {}", percent(ratio));
        }
    }
    text
}

fn source_ports(ports: &Ports) -> String {
    let s = |n: u64| if n == 1 { "" } else { "s" };
    let mut text = format!(
        "{} UDP source port{} for {} flow{}, spread like {:.1} equal flows",
        count(ports.ports),
        s(ports.ports),
        count(ports.flows),
        s(ports.flows),
        ports.effective_flows,
    );
    if ports.collisions > 0 {
        text += &format!(
            "; {} group{} of queue pairs share a port and so a path",
            count(ports.collisions),
            s(ports.collisions)
        );
    }
    if ports.sprayed > 0 {
        text += &format!("; {} flow{} sprayed over several ports", count(ports.sprayed), s(ports.sprayed));
    }
    if let Some(linux) = ports.linux_formula {
        text += &format!("; {} of {} as Linux computes them", count(linux.matching), count(linux.flows));
    }
    text
}

/// Bins that are written even if all are asked for: a screen is not a plot.
const MAX_INTERVALS: usize = 60;

fn intervals<F, C, E>(
    report: &Analysis<F, C, E>,
    _: &Options,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (Some(bins), Some(width)) = (&report.intervals, report.interval_ns) else { return Ok(()) };
    writeln!(out, "\n{}  of {}", style.heading("Intervals"), duration(width))?;
    let head = ["at", "rate", "goodput", "packets", "resent", "late", "NAK", "CNP", "CE", "pause"];
    let mut table = style.table(&head, &[]);
    let start = report.capture.first_ns.or(bins.first().map(|bin| bin.start_ns)).unwrap_or(0);
    for bin in bins.iter().take(MAX_INTERVALS) {
        table.add_row([
            duration(bin.start_ns.saturating_sub(start).max(0) as u64),
            bits_per_second(bin.l1_bytes, width),
            bits_per_second(bin.goodput_bytes, width),
            count(bin.packets),
            some(bin.retransmits),
            some(bin.out_of_order),
            some(bin.naks),
            some(bin.cnps),
            some(bin.ce),
            some(bin.pause_frames),
        ]);
    }
    put(&table, out)?;
    if bins.len() > MAX_INTERVALS {
        writeln!(out, "  and {} more (--json has all)", count((bins.len() - MAX_INTERVALS) as u64))?;
    }
    Ok(())
}

/// A reason in words.
fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::OneWay => "only one direction was captured",
        Reason::PartialPath => "the tap is on one of several paths",
        Reason::CaptureLoss => "the capture lost packets",
        Reason::Truncated => "frames were cut",
        Reason::Midstream => "the capture began or ended in the middle",
        Reason::Unpaired => "the opposite flow is not known",
        Reason::NoPfcVisibility => "captures of this kind show no pause frames",
        Reason::UnknownSpeed => "the link's speed is not known",
        Reason::NotRequested => "it was not asked for",
    }
}
