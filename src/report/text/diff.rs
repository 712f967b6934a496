//! The comparison of taps as text.

use std::io::{self, Write};

use super::{
    Options,
    page::{Page, Paint},
};
use crate::report::{
    Class, clean,
    diff::{Delay, Diff, Direction, Passage, Segment},
    units::{count, duration, several, utc},
};

/// Writes what became of the packets between taps: a table for each segment, the flows that lost packets, each loss.
///
/// # Errors
/// What `out` fails with.
pub fn write_diff(report: &Diff, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let page = &mut Page::new(out, options);
    let top = if options.top == 0 { usize::MAX } else { options.top };
    let mut table =
        page.table(&["tap", "capture", "frames", "packets", "first frame", "clock tick"], &[0, 1]);
    for (at, tap) in report.taps.iter().enumerate() {
        table.row([
            (at + 1).to_string(),
            tap.name.clone(),
            count(tap.frames),
            count(tap.packets),
            tap.first_ns.map_or_else(String::new, utc),
            duration(tap.tick_ns),
        ]);
    }
    page.put_table(table)?;
    page.blank()?;
    for problem in &report.problems {
        let text = format!("{}: {}", clean(&problem.file), problem.what);
        page.wrapped(Paint::Warning, "  ", &text)?;
    }
    if report.taps.iter().all(|tap| tap.packets == 0) {
        let text = "No capture has packets of RoCE or InfiniBand. Those of Ultra Ethernet are not compared: see analyze --merge.";
        return page.wrapped(Paint::Warning, "  ", text);
    }
    let is_told = has_several_networks(report);
    for segment in &report.segments {
        write_segment(segment, (top, is_told), page)?;
    }
    if report.is_apart() {
        return Ok(());
    }
    if report.losses.is_empty() {
        return page.line("No packet was lost or damaged.");
    }
    page.heading("Losses")?;
    let mut table = page.table(
        &["between taps", "frame", "time", "flow", "QP", "PSN", "packet", "what became of it"],
        &[0, 2, 3, 6, 7],
    );
    for loss in report.losses.iter().take(top) {
        let mut fate = loss.fate.words().to_owned();
        if let Some(frame) = loss.arrived_as {
            fate += &format!(", as frame {frame}");
        }
        let again = if loss.class == Class::Retransmission { ", retransmission" } else { "" };
        table.row([
            between(loss.from, loss.to),
            loss.frame.to_string(),
            time_of_day(loss.time_ns),
            format!("{} → {}{}", loss.src, loss.dst, network(loss.vni, is_told)),
            format!("{:#x}", loss.dest_qp),
            loss.psn.to_string(),
            format!("{}{again}", loss.opcode),
            fate,
        ]);
    }
    page.put_table(table)?;
    let more = report.losses.len().saturating_sub(top) as u64 + report.losses_omitted;
    if more > 0 {
        page.line(&format!("  and {} more: --top 0 or --json shows them", count(more)))?;
    }
    Ok(())
}

/// The virtual network of a flow, behind its addresses, where flows are in several.
fn network(vni: Option<u32>, is_told: bool) -> String {
    vni.filter(|_| is_told).map_or_else(String::new, |vni| format!(" VNI {vni}"))
}

/// Whether flows are in several virtual networks: then flows with the same addresses are not the same.
fn has_several_networks(report: &Diff) -> bool {
    let directions = report.segments.iter().flat_map(|segment| &segment.directions);
    let mut networks = directions.flat_map(|direction| &direction.flows).map(|flow| flow.vni);
    networks.next().is_some_and(|first| networks.any(|other| other != first))
}

/// "1 > 2": taps by their place in the list.
fn between(from: usize, to: usize) -> String {
    format!("{} → {}", from + 1, to + 1)
}

/// "12:05:38.000001000", UTC.
fn time_of_day(ns: i64) -> String {
    let text = utc(ns);
    let time = text.split(' ').nth(1).unwrap_or_default();
    format!("{time}.{:09}", ns.rem_euclid(1_000_000_000))
}

fn write_segment(segment: &Segment, (top, is_told): (usize, bool), page: &mut Page<'_>) -> io::Result<()> {
    let [a, b] = segment.taps;
    page.heading(&format!("Between tap {} and tap {}", a + 1, b + 1))?;
    if segment.directions.iter().all(|direction| direction.counts.delivered == 0) {
        return page.wrapped(
            Paint::Warning,
            "  ",
            "No packet is in both captures: they are of other traffic, or of other times. What is missing cannot be told.",
        );
    }
    page.wrapped(Paint::Plain, "  ", &clock(segment))?;
    if segment.decided_early > 0 {
        let text = format!(
            "{} decided early: too many were waiting for the other capture. Those counted as lost may not be: --max-waiting allows more.",
            several(segment.decided_early, "packet")
        );
        page.wrapped(Paint::Warning, "  ", &text)?;
    }
    let directions = &segment.directions;
    let mut head = vec![String::new()];
    head.extend(directions.iter().map(|direction| between(direction.from, direction.to)));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = page.table(&head, &[0]);
    for (name, of) in ROWS {
        if *name == "sent" || *name == "lost" || directions.iter().any(|direction| of(&direction.counts) > 0)
        {
            table.row(
                [(*name).to_owned()]
                    .into_iter()
                    .chain(directions.iter().map(|direction| count(of(&direction.counts)))),
            );
        }
    }
    let mut delays = |name: &str, of: &dyn Fn(&Direction) -> Option<String>| {
        if directions.iter().any(|direction| of(direction).is_some()) {
            table.row(
                [name.to_owned()].into_iter().chain(directions.iter().map(|d| of(d).unwrap_or_default())),
            );
        }
    };
    delays("delay: min, p50, p99, max", &|direction| delay(&direction.delay));
    delays("queueing: p50, p99, max", &|direction| queueing(&direction.delay));
    let mut dscps: Vec<u8> = directions.iter().flat_map(|direction| direction.dscp.keys().copied()).collect();
    dscps.sort_unstable();
    dscps.dedup();
    if dscps.len() > 1 {
        for dscp in dscps {
            delays(&format!("· DSCP {dscp}"), &|direction| direction.dscp.get(&dscp).and_then(delay));
        }
    }
    page.put_table(table)?;
    for direction in directions {
        for change in &direction.dscp_changes {
            let packets = several(change.packets, "packet");
            let path = between(direction.from, direction.to);
            page.line(&format!("  {path}: DSCP {} became {} in {packets}", change.from, change.to))?;
        }
    }
    page.blank()?;
    let odd = |counts: &Passage| counts.undelivered() + counts.late + counts.duplicated > 0;
    let mut table = page.table(
        &["flow", "QP", "sent", "resent", "lost", "lost resent", "damaged", "late", "twice", "delay p50"],
        &[0],
    );
    let flows = directions.iter().flat_map(|direction| &direction.flows).filter(|flow| odd(&flow.counts));
    let (mut shown, mut all) = (0, 0);
    for flow in flows {
        all += 1;
        if shown == top {
            continue;
        }
        shown += 1;
        let counts = &flow.counts;
        table.row([
            format!("{} → {}{}", flow.src, flow.dst, network(flow.vni, is_told)),
            format!("{:#x}", flow.dest_qp),
            count(counts.sent),
            count(counts.retransmitted),
            count(counts.lost),
            count(counts.lost_retransmissions),
            count(counts.undelivered() - counts.lost),
            count(counts.late),
            count(counts.duplicated),
            flow.delay.p50_ns.map_or_else(String::new, time),
        ]);
    }
    if shown > 0 {
        page.put_table(table)?;
        if all > shown {
            page.line(&format!(
                "  and {}: --top 0 or --json shows them",
                several((all - shown) as u64, "more flow")
            ))?;
        }
        page.blank()?;
    }
    Ok(())
}

/// Names of counts, and the counts.
type Row = (&'static str, fn(&Passage) -> u64);

const ROWS: &[Row] = &[
    ("sent", |c| c.sent),
    ("delivered", |c| c.delivered),
    ("lost", |c| c.lost),
    ("corrupted", |c| c.corrupted),
    ("wrong IP checksum", |c| c.bad_ip_checksum),
    ("trimmed", |c| c.trimmed),
    ("duplicated", |c| c.duplicated),
    ("late", |c| c.late),
    ("newly marked CE", |c| c.newly_ce),
    ("ECN cleared", |c| c.ecn_cleared),
    ("DSCP changed", |c| c.dscp_changed),
    ("TTL lower", |c| c.ttl_lowered),
    ("not recorded after", |c| c.unrecorded),
    ("not recorded before", |c| c.appeared),
    ("recorded twice before", |c| c.recorded_twice),
    ("other capture not running", |c| c.outside),
];

fn clock(segment: &Segment) -> String {
    let clock = &segment.clock;
    let (Some(offset), Some(error)) = (clock.offset_ns, clock.error_ns) else {
        let why = clock.why.values().next().map_or("", |why| why.meaning());
        return format!("The offset of the clocks is not known. {why}");
    };
    let [a, b] = segment.taps;
    let offset = offset.round() as i64;
    let place = match offset {
        0 => "level with".to_owned(),
        _ => {
            format!("{} {}", duration(offset.unsigned_abs()), if offset < 0 { "behind" } else { "ahead of" })
        }
    };
    let drift = match (clock.drift_ppm, clock.drift_error_ppm) {
        (Some(ppm), Some(error)) if ppm.abs() > error => {
            let pace = if ppm < 0.0 { "slower" } else { "faster" };
            format!("runs {:.2} ppm {pace} (± {error:.2})", ppm.abs())
        }
        (Some(_), Some(error)) => format!("no drift can be measured (it is below {:.2} ppm)", error * 2.0),
        _ => "no drift can be measured".to_owned(),
    };
    format!(
        "The clock of tap {} is {place} that of tap {}; {drift}; delays are right to ± {}.",
        b + 1,
        a + 1,
        time(error.ceil() as i64),
    )
}

fn delay(delay: &Delay) -> Option<String> {
    let all = [delay.min_ns?, delay.p50_ns?, delay.p99_ns?, delay.max_ns?];
    Some(all.map(time).join(", "))
}

fn queueing(delay: &Delay) -> Option<String> {
    let all = [delay.queueing_p50_ns?, delay.queueing_p99_ns?, delay.queueing_max_ns?];
    Some(all.map(time).join(", "))
}

/// A time that may be negative.
fn time(ns: i64) -> String {
    format!("{}{}", if ns < 0 { "-" } else { "" }, duration(ns.unsigned_abs()))
}
