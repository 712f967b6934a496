//! Traffic over time.

use std::io;

use super::{
    page::{Page, Paint},
    some,
};
use crate::report::{
    View,
    units::{bits_per_second, count, duration},
};

/// Most intervals that are written: more do not fit on a screen.
const MAX_INTERVALS: usize = 60;

pub(in crate::report) fn intervals(report: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let (Some(bins), Some(width)) = (&report.head.intervals, report.head.interval_ns) else { return Ok(()) };
    page.blank()?;
    page.wrapped(Paint::Heading, "Intervals  ", &format!("of {}", duration(width)))?;
    let marks = report.head.label("CE");
    let head = ["at", "rate", "goodput", "packets", "resent", "late", "NAK", "CNP", &marks, "pause"];
    let mut table = page.table(&head, &[]);
    let start = report.head.capture.first_ns.or(bins.first().map(|bin| bin.start_ns)).unwrap_or(0);
    for bin in bins.iter().take(MAX_INTERVALS) {
        table.row([
            duration(bin.start_ns.saturating_sub(start).max(0) as u64),
            bits_per_second(bin.wire_bytes, width),
            bits_per_second(bin.goodput_bytes, width),
            count(bin.packets),
            some(bin.retransmits),
            some(bin.out_of_order),
            some(bin.naks),
            some(bin.cnps),
            some(bin.ce_packets),
            some(bin.pause_frames),
        ]);
    }
    page.put_table(table)?;
    if bins.len() > MAX_INTERVALS {
        page.line(&format!("  and {} more (--json has all)", count((bins.len() - MAX_INTERVALS) as u64)))?;
    }
    Ok(())
}
