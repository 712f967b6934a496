//! Traffic by class.

use std::{collections::BTreeMap, io};

use super::{
    page::{Page, Paint},
    some,
};
use crate::report::{
    PairClass, PriorityBy, View,
    units::{between, bits, count, duration, several, yes_or_no},
};

/// Most classes that are written.
const MAX_CLASSES: usize = 12;

/// What classes and marks are called on links of InfiniBand, and elsewhere.
fn names_of(is_native: bool) -> (&'static str, &'static str) {
    if is_native { ("SL/VL", "FECN") } else { ("DSCP/PCP", "CE") }
}

pub(in crate::report) fn classes(report: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let all = &report.head.traffic_classes;
    // One class is in the flows already, unless something is known of its priority.
    if all.len() < 2 && all.iter().all(|class| class.pfc.is_none()) {
        return Ok(());
    }
    let is_native = all.iter().any(|class| class.sl.is_some());
    let (name, marks) = names_of(is_native);
    page.wrapped(Paint::Heading, "Classes     ", &format!("by {name}"))?;
    let head = [
        name, "priority", "packets", "rate", "WRITE", "SEND", "READ", "atomic", "ACK", "CNP", marks,
        "resent", "lost", "paused", "ACK p50",
    ];
    let mut table = page.table(&head, &[]);
    let number = |n: Option<u8>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    for class in all.iter().take(MAX_CLASSES) {
        let o = class.operations;
        let names = if class.sl.is_some() { (class.sl, class.vl) } else { (class.dscp, class.pcp) };
        let mut priority = number(class.priority);
        match (class.pfc, class.priority_by) {
            (Some(true), _) => priority += " PFC",
            (Some(false), _) => priority += " lossy",
            (None, Some(PriorityBy::Dscp)) => priority += "?",
            _ => {}
        }
        table.row([
            format!("{}/{}", number(names.0), number(names.1)),
            priority,
            count(class.packets),
            class.rate_bps.map_or_else(String::new, |bps| bits(bps as f64)),
            some(o.writes),
            some(o.sends),
            some(o.read_requests + o.read_responses),
            some(o.atomics),
            some(o.acks),
            some(o.cnps),
            some(class.ce_packets),
            some(class.retransmits),
            class.lost.filter(|&[least, _]| least > 0).map_or_else(String::new, between),
            class.paused_ns.filter(|&ns| ns > 0).map_or_else(String::new, duration),
            class.ack_rtt_ns.map_or_else(String::new, |rtt| rtt.quantile(rtt.p50, duration)),
        ]);
    }
    page.put_table(table)?;
    if all.len() > MAX_CLASSES {
        let more = several((all.len() - MAX_CLASSES) as u64, "more class");
        page.line(&format!("  and {more} (--json has them)"))?;
    }
    Ok(())
}

/// Most rows of pairs that are written.
const MAX_PAIRS: usize = 16;

/// Pairs of hosts of which a kind of traffic is in several classes, or in another than most.
pub(in crate::report) fn pair_classes(report: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let all = &report.head.pair_classes;
    let of = |row: &PairClass| (row.src.clone(), row.dst.clone(), row.vni, row.kind);
    // How many classes, and whether one is another than most.
    let mut kinds: BTreeMap<_, (usize, bool)> = BTreeMap::new();
    // Management of subnets has a lane of its own by the standard.
    let is_usual_place = |row: &&PairClass| row.vl != Some(15);
    for row in all.iter().filter(is_usual_place) {
        let (classes, is_odd) = kinds.entry(of(row)).or_default();
        *classes += 1;
        *is_odd |= row.usual == Some(false);
    }
    let is_apart = |row: &&PairClass| {
        let (classes, is_odd) = kinds.get(&of(row)).copied().unwrap_or_default();
        classes > 1 || is_odd
    };
    let rows: Vec<&PairClass> = all.iter().filter(is_usual_place).filter(is_apart).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let is_native = rows.iter().any(|row| row.sl.is_some());
    let (name, marks) = names_of(is_native);
    page.wrapped(
        Paint::Heading,
        "Pairs       ",
        "whose traffic of a kind is in several classes, or in another than that of most",
    )?;
    let head = ["from", "to", "kind", name, "usual", "QPs", "packets", marks, "resent", "lost", "paused"];
    let mut table = page.table(&head, &[0, 1, 2]);
    let number = |n: Option<u8>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    for row in rows.iter().take(MAX_PAIRS) {
        let names = if row.sl.is_some() { (row.sl, row.vl) } else { (row.dscp, row.pcp) };
        table.row([
            row.src.clone(),
            row.dst.clone(),
            row.kind.words().to_owned(),
            format!("{}/{}", number(names.0), number(names.1)),
            yes_or_no(row.usual).to_owned(),
            row.queue_pairs.map_or_else(String::new, count),
            count(row.packets),
            some(row.ce_packets),
            some(row.retransmits),
            row.lost.filter(|&[least, _]| least > 0).map_or_else(String::new, between),
            row.paused_ns.filter(|&ns| ns > 0).map_or_else(String::new, duration),
        ]);
    }
    page.put_table(table)?;
    if rows.len() > MAX_PAIRS {
        let more = several((rows.len() - MAX_PAIRS) as u64, "more row");
        page.line(&format!("  and {more} (--json has them)"))?;
    }
    Ok(())
}
