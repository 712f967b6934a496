//! A report as text: the limitations of the capture, findings, and the flows in trouble, on one screen.

mod classes;
mod diff;
mod findings;
mod flow;
mod flows;
mod intervals;
mod marks;
mod page;
mod price;
mod set;
mod setups;

use std::io::{self, Write};

use super::{
    Capture, NotDecoded, Renderer, SECTIONS, Sort, View,
    units::{bytes, count, duration, several, utc},
};
pub(super) use classes::{classes, pair_classes};
pub use diff::write_diff;
pub(super) use intervals::intervals;
pub(super) use marks::marked_flows;
pub(super) use page::Page;
use page::Paint;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub use page::{held_together, lines, with_spaces};
pub use price::write_price;
pub use set::write_set;
pub use setups::{setup_columns, write_setups};

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

/// A report as text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text {
    /// How it is written.
    pub options: Options,
    /// The flow to write in depth, as an index into the list of flows, instead of the whole report.
    pub flow: Option<usize>,
}

impl Renderer for Text {
    fn render(&mut self, report: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        let (options, page) = (&self.options, &mut Page::new(out, &self.options));
        if let Some(index) = self.flow {
            return flow::in_depth(report, index, options, page);
        }
        capture(&report.head.capture, page)?;
        findings::findings(report, options, page)?;
        flows::flows(report, options, page)?;
        SECTIONS.iter().try_for_each(|section| section.write(report, page))
    }
}

fn capture(capture: &Capture, page: &mut Page<'_>) -> io::Result<()> {
    let mut name = capture.files.first().map_or("no file", String::as_str).to_owned();
    if capture.files.len() > 1 {
        name += &format!(" and {} more", capture.files.len() - 1);
    }
    page.heading(&name)?;
    let mut line =
        format!("{}, {} of them RDMA", several(capture.packets, "packet"), count(capture.rdma_packets));
    if let Some(ns) = capture.duration_ns {
        line += &format!(", in {}", duration(ns));
    }
    if let Some(ns) = capture.first_ns {
        line += &format!(" from {}", utc(ns));
    }
    line += &format!("; {} of frames", bytes(capture.bytes_on_wire));
    page.wrapped(Paint::Plain, "  ", &line)?;
    let mut odd = Vec::new();
    for (n, what) in [
        (capture.malformed_packets, "malformed"),
        (capture.corrupt_without_flow, "corrupt, of no flow"),
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
    if capture.flows_without_detail > 0 {
        odd.push(format!("{} gave up detail to save memory", several(capture.flows_without_detail, "flow")));
    }
    if capture.evicted_flows > 0 {
        odd.push(format!("{} evicted because there were too many", several(capture.evicted_flows, "flow")));
    }
    if !odd.is_empty() {
        page.wrapped(Paint::Plain, "  Packets: ", &odd.join(", "))?;
    }
    if capture.hidden_frames() > 0 {
        page.wrapped(Paint::Warning, "  Not decoded: ", &NotDecoded::list(capture.hiding()))?;
    }
    let others = || capture.not_decoded.iter().filter(|one| !one.may_hold_packets);
    if others().next().is_some() {
        page.wrapped(Paint::Plain, "  Other traffic: ", &NotDecoded::list(others()))?;
    }
    for text in capture.parts_in_words() {
        page.wrapped(Paint::Plain, "  Parts: ", &text)?;
    }
    for text in capture.clocks_in_words() {
        page.wrapped(Paint::Plain, "  Clocks: ", &text)?;
    }
    for text in &capture.limitations {
        page.wrapped(Paint::Plain, "  - ", text)?;
    }
    for problem in capture.problems.iter().take(3) {
        let text = format!("{} at byte {}: {}", problem.file, problem.offset, problem.what);
        page.wrapped(Paint::Warning, "  Damaged: ", &text)?;
    }
    if capture.problems.len() > 3 {
        page.line(&format!("           and {}", several(capture.problems.len() as u64 - 3, "more place")))?;
    }
    page.blank()
}

/// How many rows are shown, and how many are left out.
fn limit(all: usize, top: usize) -> (usize, usize) {
    let shown = if top == 0 { all } else { all.min(top) };
    (shown, all - shown)
}

/// A count; empty for 0, so that other counts are easy to see.
fn some(n: u64) -> String {
    if n == 0 { String::new() } else { count(n) }
}
