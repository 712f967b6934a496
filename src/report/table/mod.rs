//! A report as tables, for databases and notebooks: one file each for captures, flows, connections, episodes, losses, pauses, what
//! caused them and whom they stopped, marks, slow flows, classes, microbursts, credits, links, intervals
//! and findings.
//!
//! Rows and names are those of the report. What is nested becomes one column for each value: `requests.losses.upstream` becomes
//! `requests_losses_upstream_least` and `requests_losses_upstream_most`. A value that the capture cannot prove is empty. In every
//! table, `capture` is the name of the capture; `src`, `dst`, `dest_qp` and `epoch` identify a flow.

mod cells;
mod columns;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
#[cfg(feature = "cli")]
mod sink;

use std::io;

use serde::Serialize;
use serde_json::{Map, Value, json};

#[cfg(feature = "cli")]
use super::Message;
use super::{
    Capture, Connection, Credits, Episode, Finding, Flow, Interval, LinkLoad, MarkedFlow, Microburst, Pause,
    PauseEdge, PauseVictim, Stream, TimeShare, TrafficClass, View,
};
use cells::Cells;
pub use columns::{Column, Kind};
#[cfg(feature = "cli")]
pub use sink::Format;
#[cfg(feature = "cli")]
use sink::Sink;

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// What was read: one row for each capture.
    Captures,
    /// Flows.
    Flows,
    /// Pairs of flows.
    Connections,
    /// Losses and timeouts one by one, and how the sender recovered.
    Episodes,
    /// Packets lost, by flow, PSN space and place: places where none was lost have no row.
    Losses,
    /// Pauses per link, sender and priority.
    Pauses,
    /// Pauses that others caused.
    PauseTree,
    /// Flows that pauses stopped, by the device at which these began.
    PauseVictims,
    /// Marks and notifications per flow.
    Marks,
    /// What the time of slow flows went to: a row for each share.
    Slow,
    /// Traffic by DSCP and priority.
    Classes,
    /// Microbursts: the largest ones.
    Microbursts,
    /// Credits of native InfiniBand per end of a link and virtual lane.
    Credits,
    /// What each link carried.
    Links,
    /// Traffic over time, with `--interval`.
    Intervals,
    /// Findings.
    Findings,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 16] = [
        Table::Captures,
        Table::Flows,
        Table::Connections,
        Table::Episodes,
        Table::Losses,
        Table::Pauses,
        Table::PauseTree,
        Table::PauseVictims,
        Table::Marks,
        Table::Slow,
        Table::Classes,
        Table::Microbursts,
        Table::Credits,
        Table::Links,
        Table::Intervals,
        Table::Findings,
    ];

    /// Its name, that of its file without the extension.
    pub fn name(self) -> &'static str {
        match self {
            Table::Captures => "captures",
            Table::Flows => "flows",
            Table::Connections => "connections",
            Table::Episodes => "episodes",
            Table::Losses => "losses",
            Table::Pauses => "pauses",
            Table::PauseTree => "pause_tree",
            Table::PauseVictims => "pause_victims",
            Table::Marks => "marks",
            Table::Slow => "slow",
            Table::Classes => "classes",
            Table::Microbursts => "microbursts",
            Table::Credits => "credits",
            Table::Links => "links",
            Table::Intervals => "intervals",
            Table::Findings => "findings",
        }
    }

    /// What a row is.
    pub fn doc(self) -> &'static str {
        match self {
            Table::Captures => "What was read: one row for each capture.",
            Table::Flows => {
                "Packets from one address to one queue pair of another: one direction of a connection."
            }
            Table::Connections => "Two flows in opposite directions between two queue pairs.",
            Table::Episodes => "A loss or a timeout, and how the sender recovered from it.",
            Table::Losses => "Packets lost, by flow, PSN space and place. A place without losses has no row.",
            Table::Pauses => "Pauses of a priority on a link.",
            Table::PauseTree => {
                "Pauses that a device asked for because it was paused itself: who paused it, and whom it paused; needs --links or LLDP."
            }
            Table::PauseVictims => {
                "A flow that was silent in the pauses of a device, or in those that they caused; needs --links or LLDP."
            }
            Table::Marks => "Marks and notifications of a flow that has some.",
            Table::Slow => "A share of a slow flow's time; the shares of a flow add up to it.",
            Table::Classes => "Traffic with one DSCP and priority, or one service level and virtual lane.",
            Table::Microbursts => {
                "A time of a millisecond at most in which the link of a receiver is busy; needs the link's speed."
            }
            Table::Links => "What one link, or tap, carried.",
            Table::Credits => "Credits of one end of a native InfiniBand link on one virtual lane.",
            Table::Intervals => "Traffic in a span of time; needs --interval.",
            Table::Findings => "What stands out, most serious first.",
        }
    }

    /// Its columns.
    pub fn columns(self) -> Vec<Column> {
        let key = Column::key;
        let mut columns = vec![capture()];
        let flow = [
            key("flow", Kind::Unsigned, "The flow's number in its capture."),
            key("src", Kind::Text, "Source address of the flow."),
            key("dst", Kind::Text, "Destination address of the flow."),
            key("dest_qp", Kind::Unsigned, "The queue pair that the flow's packets go to."),
            key(
                "epoch",
                Kind::Unsigned,
                "0, and one more each time that the queue pair was given to a new connection.",
            ),
        ];
        match self {
            Table::Captures => columns.extend(Column::of::<Capture>()),
            Table::Flows => {
                columns.extend(flow.into_iter().take(1));
                columns.extend(Column::of::<Flow>());
            }
            Table::Connections => columns.extend(Column::of::<Connection>()),
            Table::Episodes => {
                columns.extend(flow);
                columns.extend(Column::of::<Episode>().into_iter().filter(|column| column.name != "flow"));
            }
            Table::Losses => {
                columns.extend(flow);
                columns.extend([
                    key("space", Kind::Text, "The PSN space: requests or responses."),
                    key(
                        "place",
                        Kind::Text,
                        "Where: upstream or downstream of the tap, ack_path, corrupt, trimmed, capture.",
                    ),
                    key("least", Kind::Unsigned, "Packets lost: at least so many."),
                    key("most", Kind::Unsigned, "Packets lost: at most so many."),
                ]);
            }
            Table::Pauses => columns.extend(Column::of::<Pause>()),
            Table::PauseTree => columns.extend(Column::of::<PauseEdge>()),
            Table::PauseVictims => {
                columns.push(key("device", Kind::Text, "The device at which the pauses began."));
                columns.push(key("priority", Kind::Unsigned, "Their priority, 0 to 7; empty for 802.3x."));
                columns.extend(Column::of::<PauseVictim>());
            }
            Table::Marks => columns.extend(Column::of::<MarkedFlow>()),
            Table::Slow => {
                columns.extend(flow);
                columns.push(key("space", Kind::Text, "About its requests, or about the data of READs."));
                columns.push(key("lasted_ns", Kind::Unsigned, "The flow's time in nanoseconds."));
                columns.push(key(
                    "verdict",
                    Kind::Text,
                    "The cause of at least half of the time in which it does not send.",
                ));
                columns.extend(Column::of::<TimeShare>());
            }
            Table::Classes => columns.extend(Column::of::<TrafficClass>()),
            Table::Microbursts => columns.extend(Column::of::<Microburst>()),
            Table::Credits => columns.extend(Column::of::<Credits>()),
            Table::Links => columns.extend(Column::of::<LinkLoad>()),
            Table::Intervals => {
                columns.extend(Column::of::<Interval>());
                columns.push(key(
                    "interval_ns",
                    Kind::Unsigned,
                    "The length of the interval in nanoseconds.",
                ));
            }
            Table::Findings => columns.extend(Column::of::<Finding>()),
        }
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
        self.rows(report, &mut Cells::new(self.columns()), &mut |row| {
            let names = row.columns().iter().map(|column| column.name.clone());
            let values = row.iter().map(|cell| cell.value());
            on_row(names.zip(values).map(|(name, value)| Ok((name, value?))).collect::<io::Result<_>>()?)
        })
    }

    /// Fills a row for each row of a report, and calls `on_row` with it.
    fn rows(
        self,
        report: &View<'_>,
        row: &mut Cells,
        on_row: &mut dyn FnMut(&Cells) -> io::Result<()>,
    ) -> io::Result<()> {
        let capture = report.head.capture.files.join(",");
        let capture = Of { capture: &capture };
        let mut fill = |parts: &mut dyn FnMut(&mut Cells) -> Result<(), serde_json::Error>| {
            row.clear();
            row.put(&capture)?;
            parts(row)?;
            on_row(row)
        };
        match self {
            Table::Captures => fill(&mut |row| row.put(&report.head.capture)),
            Table::Flows => report.flows.iter().enumerate().try_for_each(|(at, flow)| {
                fill(&mut |row| row.put(&At { flow: at }).and_then(|()| row.put(&*flow)))
            }),
            Table::Connections => {
                report.connections.iter().try_for_each(|one| fill(&mut |row| row.put(&*one)))
            }
            Table::Episodes => report.episodes.iter().try_for_each(|episode| {
                let flow = report.flows.row(episode.flow);
                fill(&mut |row| {
                    row.put(&*episode)?;
                    flow.iter().try_for_each(|flow| row.put(&Ids::of(episode.flow, flow)))
                })
            }),
            Table::Losses => with_losses(report).into_iter().try_for_each(|at| {
                let Some(flow) = report.flows.row(at) else { return Ok(()) };
                [("requests", &flow.requests), ("responses", &flow.responses)].into_iter().try_for_each(
                    |(space, stream)| {
                        losses(stream).try_for_each(|(place, [least, most])| {
                            let loss = Loss { space, place, least, most };
                            fill(&mut |row| row.put(&Ids::of(at, &flow)).and_then(|()| row.put(&loss)))
                        })
                    },
                )
            }),
            Table::Pauses => {
                report.head.pause.iter().flatten().try_for_each(|one| fill(&mut |row| row.put(one)))
            }
            Table::PauseTree => {
                let mut edges = report.head.pause_tree.iter().flat_map(|tree| &tree.edges);
                edges.try_for_each(|edge| fill(&mut |row| row.put(edge)))
            }
            Table::PauseVictims => {
                let mut culprits = report.head.pause_tree.iter().flat_map(|tree| &tree.culprits);
                culprits.try_for_each(|culprit| {
                    let of = json!({ "device": culprit.device, "priority": culprit.priority });
                    culprit
                        .flows
                        .iter()
                        .try_for_each(|one| fill(&mut |row| row.put(one).and_then(|()| row.put(&of))))
                })
            }
            Table::Slow => report.head.slow_flows.iter().try_for_each(|slow| {
                let Some(flow) = report.flows.row(slow.flow) else { return Ok(()) };
                let of = json!({ "space": slow.space, "lasted_ns": slow.lasted_ns, "verdict": slow.cause });
                slow.shares.iter().try_for_each(|share| {
                    fill(&mut |row| {
                        row.put(share)?;
                        row.put(&Ids::of(slow.flow, &flow))?;
                        row.put(&of)
                    })
                })
            }),
            Table::Marks => {
                report.head.congestion.flows.iter().try_for_each(|one| fill(&mut |row| row.put(one)))
            }
            Table::Classes => {
                report.head.traffic_classes.iter().try_for_each(|one| fill(&mut |row| row.put(one)))
            }
            Table::Microbursts => {
                report.head.microbursts.bursts.iter().try_for_each(|one| fill(&mut |row| row.put(one)))
            }
            Table::Credits => report.head.credits.iter().try_for_each(|one| fill(&mut |row| row.put(one))),
            Table::Links => report.head.links.iter().try_for_each(|one| fill(&mut |row| row.put(one))),
            Table::Intervals => {
                let length = json!({ "interval_ns": report.head.interval_ns });
                let mut rows = report.head.intervals.iter().flatten();
                rows.try_for_each(|one| fill(&mut |row| row.put(one).and_then(|()| row.put(&length))))
            }
            Table::Findings => report.head.findings.iter().try_for_each(|one| fill(&mut |row| row.put(one))),
        }
    }
}

/// Flows that lost packets, or may have: only their rows are made once more for their losses.
fn with_losses(report: &View<'_>) -> Vec<usize> {
    let mut flows = Vec::new();
    report.flows.each_outline(&mut |at, flow| {
        if [&flow.requests, &flow.responses].into_iter().any(|stream| losses(stream).next().is_some()) {
            flows.push(at);
        }
    });
    flows.sort_unstable();
    flows
}

/// The places where a stream lost packets, or may have.
fn losses(stream: &Stream) -> impl Iterator<Item = (&'static str, [u64; 2])> {
    let losses = &stream.losses;
    let places = [
        ("upstream", losses.upstream),
        ("downstream", losses.downstream),
        ("ack_path", losses.ack_path),
        ("corrupt", losses.corrupt),
        ("trimmed", losses.trimmed),
        ("capture", losses.capture),
    ];
    places.into_iter().filter_map(|(place, bounds)| Some((place, bounds.filter(|&[_, most]| most > 0)?)))
}

/// The capture of a row.
#[derive(Serialize)]
struct Of<'a> {
    capture: &'a str,
}

/// The number of a flow.
#[derive(Serialize)]
struct At {
    flow: usize,
}

/// What identifies a flow.
#[derive(Serialize)]
struct Ids<'a> {
    flow: usize,
    src: &'a str,
    dst: &'a str,
    dest_qp: u32,
    epoch: u32,
}

impl Ids<'_> {
    fn of(at: usize, flow: &Flow) -> Ids<'_> {
        Ids { flow: at, src: &flow.src, dst: &flow.dst, dest_qp: flow.dest_qp, epoch: flow.epoch }
    }
}

/// Packets lost at a place.
#[derive(Serialize)]
struct Loss {
    space: &'static str,
    place: &'static str,
    least: u64,
    most: u64,
}

fn capture() -> Column {
    Column::key("capture", Kind::Text, "The name of the capture: its files, joined by commas.")
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
        std::iter::once(capture()).chain(Column::of::<Message>()).collect()
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
        self.0.put(|row, write| {
            row.clear();
            row.put(&Of { capture })?;
            row.put(message)?;
            write(row)
        })
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
        self.0.iter_mut().try_for_each(|(table, sink)| sink.put(|row, write| table.rows(report, row, write)))
    }

    /// Completes the files, and gives them back.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(self) -> io::Result<Vec<W>> {
        self.0.into_iter().map(|(_, sink)| sink.finish()).collect()
    }
}
