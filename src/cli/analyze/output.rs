//! What reports become: the trait of all outputs, and those on standard output.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use anyhow::anyhow;

use crate::cli::{log::Logs, terminal};
use rdmawire::{
    analyze::{Ended, metric::timeline::Timeline},
    logs,
    plot::sparkline,
    report::{
        self, Message, Renderer, View,
        json::{Json, SetWriter},
        set::{Set, Totals},
        text::{self, Text},
    },
};

/// What reports become: text, JSON, a page, tables, a trace. A flag of `analyze` makes one.
pub(super) trait Output: Send {
    /// Whether it draws: then reports come with a timeline.
    fn has_pictures(&self) -> bool {
        false
    }

    /// Takes the report of a capture. They come in the order of the files.
    fn report(&mut self, report: &View<'_>, timeline: Option<&Timeline>) -> anyhow::Result<()>;

    /// Takes a message of the capture of this name, before its report.
    fn message(&mut self, _capture: &str, _message: &Message) -> io::Result<()> {
        Ok(())
    }

    /// Writes the report of an analysis that goes on.
    fn report_so_far(&self, _report: &View<'_>, _out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(())
    }

    /// Completes it after the last report.
    fn end(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}

/// Gives reports to the outputs in the order of the files, each as soon as possible.
pub(super) struct Printer {
    outputs: Vec<Box<dyn Output>>,
    logs: Logs,
    is_one: bool,
    /// The number of the next file.
    next: usize,
    /// Reports so far.
    reports: usize,
    waiting: BTreeMap<usize, Option<Ended>>,
    /// Whether all messages could be written so far.
    written: io::Result<()>,
}

impl Printer {
    pub(super) fn new(outputs: Vec<Box<dyn Output>>, logs: Logs, is_one: bool) -> Printer {
        Printer { outputs, logs, is_one, next: 0, reports: 0, waiting: BTreeMap::new(), written: Ok(()) }
    }

    /// Takes the analysis of a file; `None` if it could not be opened.
    pub(super) fn put(&mut self, at: usize, ended: Option<Ended>) -> anyhow::Result<()> {
        self.waiting.insert(at, ended);
        while let Some(ended) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.print(ended)?;
        }
        Ok(())
    }

    /// Takes a message of the capture of this name; what fails is known at its end.
    pub(super) fn message(&mut self, capture: &str, message: &Message) {
        if self.written.is_ok() {
            self.written = self.outputs.iter_mut().try_for_each(|output| output.message(capture, message));
        }
    }

    /// Whether all messages could be written.
    pub(super) fn written(&mut self) -> io::Result<()> {
        std::mem::replace(&mut self.written, Ok(()))
    }

    pub(super) fn report_so_far(&self, report: &View<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
        self.outputs.iter().try_for_each(|output| output.report_so_far(report, out))
    }

    /// Completes the outputs, after the reports that wait for files that were not begun. If no capture could be opened, there are
    /// none.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        std::mem::take(&mut self.waiting).into_values().try_for_each(|ended| self.print(ended))?;
        if self.reports == 0 {
            return Ok(());
        }
        std::mem::take(&mut self.outputs).into_iter().try_for_each(|output| output.end())
    }

    fn print(&mut self, ended: Option<Ended>) -> anyhow::Result<()> {
        let Some(ended) = ended else { return Ok(()) };
        self.reports += 1;
        let (mut report, timeline) = (ended.report(), ended.metric());
        if !self.logs.errors.is_empty() {
            logs::join(&mut report, &self.logs.errors);
        }
        if !self.logs.job.is_empty() && report.head.collectives.is_some() {
            report.head.to_mut().collectives.iter_mut().for_each(|found| self.logs.job.join(found));
        }
        self.outputs.iter_mut().try_for_each(|output| output.report(&report, timeline))?;
        drop(report);
        if self.is_one {
            // The process ends now. To free a million flows one by one takes longer.
            std::mem::forget(ended);
        }
        Ok(())
    }
}

/// Standard output, in large blocks.
pub(super) fn stdout() -> io::Result<impl Write> {
    Ok(io::BufWriter::with_capacity(1 << 16, terminal::stdout()?))
}

/// The flow of `--flow`, as an index into the report's list.
pub(super) fn find_flow(report: &View<'_>, which: &str) -> anyhow::Result<usize> {
    report::find_flow(report, which).map_err(|error| anyhow!("--flow: {error}"))
}

/// Text on standard output: a report, or one of its flows. Behind several, their sums.
pub(super) struct PlainText {
    options: text::Options,
    flow: Option<String>,
    is_one: bool,
    /// Whether a flow has a line of its rate over time.
    has_line: bool,
    totals: Vec<Totals>,
    is_flow_found: bool,
}

impl PlainText {
    pub(super) fn new(
        options: text::Options,
        flow: Option<String>,
        is_one: bool,
        has_line: bool,
    ) -> PlainText {
        PlainText { options, flow, is_one, has_line, totals: Vec::new(), is_flow_found: false }
    }

    fn flow_in(&self, report: &View<'_>) -> anyhow::Result<Option<usize>> {
        self.flow.as_deref().map(|which| find_flow(report, which)).transpose()
    }

    fn render(&self, report: &View<'_>, flow: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        Text { options: self.options, flow }.render(report, out)
    }

    /// A flow's rate over time.
    fn line(&self, report: &View<'_>, timeline: &Timeline, flow: usize) -> Option<String> {
        let columns = self.options.width.saturating_sub(12).clamp(10, 100);
        sparkline(report, timeline, flow, columns)
    }
}

impl Output for PlainText {
    fn has_pictures(&self) -> bool {
        self.flow.is_some() && self.is_one && self.has_line
    }

    fn report(&mut self, report: &View<'_>, timeline: Option<&Timeline>) -> anyhow::Result<()> {
        let mut out = stdout()?;
        if self.is_one {
            let flow = self.flow_in(report)?;
            self.render(report, flow, &mut out)?;
            if let Some(line) = flow.zip(timeline).and_then(|(flow, of)| self.line(report, of, flow)) {
                write!(out, "\n{line}")?;
            }
            return Ok(out.flush()?);
        }
        self.totals.push(Totals::of(report));
        // Of several captures, some do not have the flow.
        let Ok(flow) = self.flow_in(report) else { return Ok(()) };
        self.is_flow_found |= flow.is_some();
        self.render(report, flow, &mut out)?;
        writeln!(out)?;
        Ok(out.flush()?)
    }

    fn report_so_far(&self, report: &View<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(self.render(report, self.flow_in(report)?, out)?)
    }

    fn end(self: Box<Self>) -> anyhow::Result<()> {
        if self.totals.is_empty() {
            return Ok(());
        }
        if let Some(which) = &self.flow {
            let none = || anyhow!("--flow: no file has a flow {which}");
            return self.is_flow_found.then_some(()).ok_or_else(none);
        }
        let mut out = stdout()?;
        text::write_set(&Set::of_summaries(self.totals), &self.options, &mut out)?;
        Ok(out.flush()?)
    }
}

/// JSON on standard output: a report, or a set of several.
pub(super) struct JsonText {
    threads: usize,
    is_one: bool,
    set: SetWriter,
}

impl JsonText {
    pub(super) fn new(threads: usize, is_one: bool) -> JsonText {
        JsonText { threads, is_one, set: SetWriter::default() }
    }

    fn render(&self, report: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        Json { threads: self.threads }.render(report, out)
    }
}

impl Output for JsonText {
    fn report(&mut self, report: &View<'_>, _: Option<&Timeline>) -> anyhow::Result<()> {
        let mut out = stdout()?;
        match self.is_one {
            true => self.render(report, &mut out)?,
            false => self.set.put(report, &mut out)?,
        }
        Ok(out.flush()?)
    }

    fn report_so_far(&self, report: &View<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(self.render(report, out)?)
    }

    fn end(self: Box<Self>) -> anyhow::Result<()> {
        let mut out = stdout()?;
        self.set.end(&mut out)?;
        Ok(out.flush()?)
    }
}
