//! A report as tables, for databases and notebooks: one file each for captures, flows, connections, episodes, losses, pauses, what
//! caused them and whom they stopped, marks, slow flows, classes, microbursts, credits, links, intervals
//! and findings.
//!
//! Rows and names are those of the report. What is nested becomes one column for each value: `requests.losses.upstream` becomes
//! `requests_losses_upstream_least` and `requests_losses_upstream_most`. A value that the capture cannot prove is empty. In every
//! table, `capture` is the name of the capture; `src`, `dst`, `dest_qp` and `epoch` identify a flow.

mod cell;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod row;
#[cfg(feature = "cli")]
mod sink;

use std::io;

use serde_json::{Map, Value};

#[cfg(feature = "cli")]
use super::Message;
use super::{
    Capture, Connection, Credits, Episode, Finding, Flow, Interval, LinkLoad, MarkedFlow, Microburst, Pause,
    PauseEdge, PauseVictim, TimeShare, TrafficClass, View, field::Columns,
};
pub use cell::{Cell, Column, Json, Kind, List, Put};
use row::{FlowKey, FlowNumber, IntervalLength, Loss, OfCapture, OfCulprit, OfSlowFlow, Row, WithoutFirst};
#[cfg(feature = "cli")]
pub use sink::Format;
#[cfg(feature = "cli")]
use sink::Sink;

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    name: &'static str,
    doc: &'static str,
    columns: fn(&mut Vec<Column>),
    rows: fn(&View<'_>, &mut Each<'_>) -> io::Result<()>,
}

/// What is done with each row.
type Each<'a> = dyn FnMut(&dyn Row) -> io::Result<()> + 'a;

/// The tables: name, what a row is and its type, and the rows of a report.
macro_rules! tables {
    ($($name:literal: $row:ty, $doc:literal, |$report:ident, $each:ident| $rows:stmt;)+) => {
        impl Table {
            /// All of them.
            pub const ALL: [Table; [$($name),+].len()] = [$(Table {
                name: $name,
                doc: $doc,
                columns: |to| <$row>::columns("", "", to),
                rows: |$report, $each| {
                    $rows
                    Ok(())
                },
            }),+];
        }
    };
}

tables! {
    "captures": Capture, "What was read: one row for each capture.",
        |report, each| each(&report.head.capture)?;
    "flows": (FlowNumber, Flow), "Packets from one address to one queue pair of another: one direction of a connection.",
        |report, each| for (at, flow) in report.flows.iter().enumerate() {
            each(&(FlowNumber { flow: at }, flow))?;
        };
    "connections": Connection, "Two flows in opposite directions between two queue pairs.",
        |report, each| for one in report.connections.iter() { each(&one)?; };
    "episodes": (FlowKey, WithoutFirst<Episode>), "A loss or a timeout, and how the sender recovered from it.",
        |report, each| for one in report.episodes.iter() {
            let flow = report.flows.row(one.flow).map(|flow| FlowKey::of(one.flow, &flow));
            each(&(flow, WithoutFirst(&*one)))?;
        };
    "losses": (FlowKey, Loss), "Packets lost, by flow, PSN space and place. A place without losses has no row.",
        |report, each| for at in Loss::flows(report) {
            let Some(flow) = report.flows.row(at) else { continue };
            for loss in Loss::of(&flow) {
                each(&(FlowKey::of(at, &flow), loss))?;
            }
        };
    "pauses": Pause, "Pauses of a priority on a link.",
        |report, each| for one in report.head.pause.iter().flatten() { each(one)?; };
    "pause_tree": PauseEdge, "Pauses that a device asked for because it was paused itself: who paused it, and whom it paused; needs --links or LLDP.",
        |report, each| for one in report.head.pause_tree.iter().flat_map(|tree| &tree.edges) { each(one)?; };
    "pause_victims": (OfCulprit, PauseVictim), "A flow that was silent in the pauses of a device, or in those that they caused; needs --links or LLDP.",
        |report, each| for culprit in report.head.pause_tree.iter().flat_map(|tree| &tree.culprits) {
            for one in &culprit.flows {
                each(&(OfCulprit::of(culprit), one))?;
            }
        };
    "marks": MarkedFlow, "Marks and notifications of a flow that has some.",
        |report, each| for one in &report.head.congestion.flows { each(one)?; };
    "slow": (FlowKey, OfSlowFlow, TimeShare), "A share of a slow flow's time; the shares of a flow add up to it.",
        |report, each| for slow in &report.head.slow_flows {
            let Some(flow) = report.flows.row(slow.flow) else { continue };
            for share in &slow.shares {
                each(&(FlowKey::of(slow.flow, &flow), OfSlowFlow::of(slow), share))?;
            }
        };
    "classes": TrafficClass, "Traffic with one DSCP and priority, or one service level and virtual lane.",
        |report, each| for one in &report.head.traffic_classes { each(one)?; };
    "microbursts": Microburst, "A time of a millisecond at most in which the link of a receiver is busy; needs the link's speed.",
        |report, each| for one in &report.head.microbursts.bursts { each(one)?; };
    "credits": Credits, "Credits of one end of a native InfiniBand link on one virtual lane.",
        |report, each| for one in &report.head.credits { each(one)?; };
    "links": LinkLoad, "What one link, or tap, carried.",
        |report, each| for one in &report.head.links { each(one)?; };
    "intervals": (Interval, IntervalLength), "Traffic in a span of time; needs --interval.",
        |report, each| for one in report.head.intervals.iter().flatten() {
            each(&(one, IntervalLength { interval_ns: report.head.interval_ns }))?;
        };
    "findings": Finding, "What stands out, most serious first.",
        |report, each| for one in &report.head.findings { each(one)?; };
}

impl Table {
    /// Its name, that of its file without the extension.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// What a row is.
    pub fn doc(self) -> &'static str {
        self.doc
    }

    /// Its columns.
    pub fn columns(self) -> Vec<Column> {
        let mut columns = Vec::new();
        OfCapture::columns("", "", &mut columns);
        (self.columns)(&mut columns);
        columns
    }

    /// Calls `on_row` with each row of a report: values by the names of columns.
    ///
    /// # Errors
    /// What `on_row` fails with.
    pub fn each(
        self,
        report: &View<'_>,
        on_row: &mut dyn FnMut(Map<String, Value>) -> io::Result<()>,
    ) -> io::Result<()> {
        let columns = self.columns();
        let capture = OfCapture::of(report);
        (self.rows)(report, &mut |row| {
            let (mut names, mut values) = (columns.iter(), Map::new());
            (&capture, row).put_cells(&mut |cell| {
                let name = names.next().map_or("", |column| &column.name);
                values.insert(name.to_owned(), cell.value()?);
                Ok(())
            })?;
            on_row(values)
        })
    }
}

/// A file of messages: a table that is no part of a report.
#[cfg(feature = "cli")]
pub struct Messages<W: io::Write + Send>(Sink<W>);

#[cfg(feature = "cli")]
impl Messages<io::Sink> {
    /// What a row is.
    pub const DOC: &str = "A message of a requester: what `rdmawire packets --messages` and `rdmawire analyze --messages` write.";

    /// Its columns.
    pub fn columns() -> Vec<Column> {
        let mut columns = Vec::new();
        <(OfCapture, Message)>::columns("", "", &mut columns);
        columns
    }
}

#[cfg(feature = "cli")]
impl<W: io::Write + Send> Messages<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(file: W, format: Format) -> io::Result<Messages<W>> {
        Sink::new(file, format, Messages::columns()).map(Messages)
    }

    /// Adds a message of a capture.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put(&mut self, capture: &str, message: &Message) -> io::Result<()> {
        self.0.put(&(OfCapture { capture: capture.to_owned() }, message))
    }

    /// Completes the file, and gives it back.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }
}

/// All tables of one or several reports, one file each.
#[cfg(feature = "cli")]
pub struct Tables<W: io::Write + Send>(Vec<(Table, Sink<W>)>);

#[cfg(feature = "cli")]
impl<W: io::Write + Send> Tables<W> {
    /// Starts the files of all tables: `open` gives each.
    ///
    /// # Errors
    /// What `open` fails with; a file cannot be written.
    pub fn new(format: Format, mut open: impl FnMut(Table) -> io::Result<W>) -> io::Result<Tables<W>> {
        let open = |table: Table| Ok((table, Sink::new(open(table)?, format, table.columns())?));
        Table::ALL.into_iter().map(open).collect::<io::Result<_>>().map(Tables)
    }

    /// Adds the rows of a report.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn add(&mut self, report: &View<'_>) -> io::Result<()> {
        let capture = OfCapture::of(report);
        self.0
            .iter_mut()
            .try_for_each(|(table, sink)| (table.rows)(report, &mut |row| sink.put(&(&capture, row))))
    }

    /// Completes the files, and gives them back.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(self) -> io::Result<Vec<W>> {
        self.0.into_iter().map(|(_, sink)| sink.finish()).collect()
    }
}
