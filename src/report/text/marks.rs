//! The flows that were marked, or notified.

use std::io;

use super::{
    page::{Page, Paint},
    some,
};
use crate::report::{
    View, clean,
    units::{bits, count, duration, several},
};

/// Most flows whose marks and CNPs are written.
const MAX_MARKED: usize = 10;

/// Most flows whose models are written.
const MAX_REPLAYS: usize = 3;

pub(in crate::report) fn marked_flows(report: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let c = &report.head.congestion;
    if c.flows.iter().all(|flow| flow.cnps == 0) {
        return Ok(());
    }
    let marks = report.head.label("CE");
    let head = [
        "#", "from", "to", "QP", &marks, "CNP", "due", "loss", "unmarked", "latency", "before", "after",
        "reaction",
    ];
    let mut table = page.table(&head, &[1, 2]);
    for flow in c.flows.iter().take(MAX_MARKED) {
        let rate = |bps: Option<u64>| bps.map_or_else(String::new, |bps| bits(bps as f64));
        table.row([
            flow.flow.map_or_else(String::new, |at| at.to_string()),
            clean(&flow.src).into_owned(),
            clean(&flow.dst).into_owned(),
            flow.dest_qp.map_or_else(String::new, |qp| format!("{qp:#x}")),
            some(flow.ce_packets),
            some(flow.cnps),
            flow.expected_cnps.map_or_else(String::new, count),
            some(flow.cnps_for_losses.unwrap_or(0)),
            some(flow.cnps_unmarked.unwrap_or(0)),
            flow.ce_to_cnp_ns.map_or_else(String::new, |latency| duration(latency.p50)),
            rate(flow.rate_before_bps),
            rate(flow.rate_after_bps),
            match (flow.keeps_rate, flow.reaction_ratio) {
                (Some(true), _) => "none".into(),
                (_, Some(ratio)) => format!("× {ratio:.2}"),
                _ => String::new(),
            },
        ]);
    }
    page.put_table(table)?;
    let replays = c.flows.iter().filter_map(|flow| Some((flow, flow.dcqcn.as_ref()?)));
    for (flow, dcqcn) in replays.take(MAX_REPLAYS) {
        let at = flow.flow.map_or_else(String::new, |at| format!(" #{at}"));
        page.wrapped(Paint::Plain, "  ", &format!("DCQCN model of{at}: {}", dcqcn.sentence()))?;
    }
    if c.flow_count > MAX_MARKED as u64 {
        let more = several(c.flow_count - MAX_MARKED as u64, "more flow");
        page.line(&format!("  and {more} with marks or CNPs (--json has them)"))?;
    }
    Ok(())
}
