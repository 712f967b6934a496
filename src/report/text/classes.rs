//! Traffic by class.

use std::io;

use super::{
    page::{Page, Paint},
    some,
};
use crate::report::{
    PriorityBy, View,
    units::{between, bits, count, duration, several},
};

/// Most classes that are written.
const MAX_CLASSES: usize = 12;

pub(in crate::report) fn classes(report: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let all = &report.head.traffic_classes;
    // One class is in the flows already, unless something is known of its priority.
    if all.len() < 2 && all.iter().all(|class| class.pfc.is_none()) {
        return Ok(());
    }
    let is_native = all.iter().any(|class| class.sl.is_some());
    let name = if is_native { "SL/VL" } else { "DSCP/PCP" };
    page.wrapped(Paint::Heading, "Classes     ", &format!("by {name}"))?;
    let head = [
        name, "priority", "packets", "rate", "WRITE", "SEND", "READ", "atomic", "ACK", "CNP", "CE", "resent",
        "lost", "paused", "ACK p50",
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
    page.put_table(&table)?;
    if all.len() > MAX_CLASSES {
        let more = several((all.len() - MAX_CLASSES) as u64, "more class");
        page.line(&format!("  and {more} (--json has them)"))?;
    }
    Ok(())
}
