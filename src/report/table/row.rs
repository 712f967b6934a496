//! The rows of tables: records of the report, and what stands beside them.

use std::{borrow::Cow, io};

use super::{Column, Put};
use crate::grammar::print::first_and_more;
use crate::report::{Capture, Flow, PauseCulprit, SlowFlow, Space, Stream, TimeCause, View, field::Columns};

/// A row of some table.
pub(crate) trait Row {
    /// Hands on its cells.
    fn put_cells(&self, put: &mut Put<'_>) -> io::Result<()>;
}

impl<T: Columns> Row for T {
    fn put_cells(&self, put: &mut Put<'_>) -> io::Result<()> {
        T::cells(Some(self), put)
    }
}

impl Row for (&OfCapture, &dyn Row) {
    fn put_cells(&self, put: &mut Put<'_>) -> io::Result<()> {
        self.0.put_cells(put)?;
        self.1.put_cells(put)
    }
}

/// One part of a row after the other.
macro_rules! parts {
    ($($part:ident $at:tt),+) => {
        impl<$($part: Columns),+> Columns for ($($part,)+) {
            fn columns(name: &str, doc: &'static str, to: &mut Vec<Column>) {
                $($part::columns(name, doc, to);)+
            }

            fn cells(this: Option<&Self>, put: &mut Put<'_>) -> io::Result<()> {
                $($part::cells(this.map(|parts| &parts.$at), put)?;)+
                Ok(())
            }
        }
    };
}

parts!(A 0, B 1);
parts!(A 0, B 1, C 2);

/// A record without its first column, which another part of the row has.
pub(in crate::report) struct WithoutFirst<T>(pub(in crate::report) T);

impl<T: Columns> Columns for WithoutFirst<T> {
    fn columns(name: &str, doc: &'static str, to: &mut Vec<Column>) {
        let first = to.len();
        T::columns(name, doc, to);
        to.remove(first);
    }

    fn cells(this: Option<&Self>, put: &mut Put<'_>) -> io::Result<()> {
        let mut is_first = true;
        T::cells(this.map(|of| &of.0), &mut |cell| match std::mem::take(&mut is_first) {
            true => Ok(()),
            false => put(cell),
        })
    }
}

records! {
    /// The capture of a row.
    pub(in crate::report) struct OfCapture {
        /// What identifies the capture, whatever its files are called: the row of the table captures. Of rows that are written while the
        /// capture is read it is not known yet.
        pub capture_id: Option<String>,
        /// The name of the capture: its first file, and how many more there are.
        pub capture: String,
    }

    /// The flow of a row, where there is one.
    pub(in crate::report) struct OfFlow {
        /// The `uid` of the flow: the row of the table flows.
        pub uid: Option<String>,
    }

    /// The number of a flow.
    pub(in crate::report) struct FlowNumber {
        /// The flow's number in its capture.
        pub flow: usize,
    }

    /// What identifies a flow.
    pub(in crate::report) struct FlowKey {
        /// The flow's number in its capture.
        pub flow: usize,
        /// The `uid` of the flow: the row of the table flows.
        pub uid: String,
        /// Source address of the flow.
        pub src: String,
        /// Destination address of the flow.
        pub dst: String,
        /// The queue pair that the flow's packets go to.
        pub dest_qp: u32,
        /// 0, and one more each time that the queue pair was given to a new connection.
        pub epoch: u32,
    }

    /// Packets lost at a place.
    pub(in crate::report) struct Loss {
        /// The PSN space.
        pub space: Space,
        /// Where: upstream or downstream of the tap, ack_path, corrupt, trimmed, capture.
        pub place: Cow<'static, str>,
        /// Packets lost: at least so many.
        pub least: u64,
        /// Packets lost: at most so many.
        pub most: u64,
    }

    /// The device that stopped a flow.
    pub(in crate::report) struct OfCulprit {
        /// The device at which the pauses began.
        pub device: String,
        /// Their priority, 0 to 7; empty for 802.3x.
        pub priority: Option<u8>,
    }

    /// The slow flow of a share of time.
    pub(in crate::report) struct OfSlowFlow {
        /// About its requests, or about the data of READs.
        pub space: Space,
        /// The flow's time in nanoseconds.
        pub lasted_ns: u64,
        /// The cause of at least half of the time in which it does not send.
        pub verdict: Option<TimeCause>,
    }

    /// The length of intervals.
    pub(in crate::report) struct IntervalLength {
        /// The length of the interval in nanoseconds.
        pub interval_ns: Option<u64>,
    }
}

impl OfCapture {
    pub(in crate::report) fn of(report: &View<'_>) -> OfCapture {
        let Capture { id, files, .. } = &report.head.capture;
        let first = files.first().map_or("", String::as_str);
        OfCapture { capture_id: Some(id.clone()), capture: first_and_more(first, files.len()) }
    }
}

impl OfFlow {
    pub(in crate::report) fn of(report: &View<'_>, at: Option<usize>) -> OfFlow {
        OfFlow { uid: at.and_then(|at| report.flows.row(at)).map(|flow| flow.uid.clone()) }
    }
}

impl FlowKey {
    pub(in crate::report) fn of(at: usize, flow: &Flow) -> FlowKey {
        let Flow { uid, src, dst, dest_qp, epoch, .. } = flow;
        FlowKey {
            flow: at,
            uid: uid.clone(),
            src: src.clone(),
            dst: dst.clone(),
            dest_qp: *dest_qp,
            epoch: *epoch,
        }
    }
}

impl Loss {
    /// Flows that lost packets, or may have: only their rows are made once more for their losses.
    pub(in crate::report) fn flows(report: &View<'_>) -> Vec<usize> {
        let mut flows = Vec::new();
        report.flows.each_outline(&mut |at, flow| {
            if Loss::of(flow).next().is_some() {
                flows.push(at);
            }
        });
        flows.sort_unstable();
        flows
    }

    /// What a flow lost, or may have.
    pub(in crate::report) fn of(flow: &Flow) -> impl Iterator<Item = Loss> {
        let spaces = [(Space::Request, &flow.requests), (Space::Response, &flow.responses)];
        spaces.into_iter().flat_map(|(space, Stream { losses, .. })| {
            let places = [
                ("upstream", losses.upstream),
                ("downstream", losses.downstream),
                ("ack_path", losses.ack_path),
                ("corrupt", losses.corrupt),
                ("trimmed", losses.trimmed),
                ("capture", losses.capture),
                ("unknown", losses.unknown),
            ];
            places.into_iter().filter_map(move |(place, bounds)| {
                let [least, most] = bounds.filter(|&[_, most]| most > 0)?;
                Some(Loss { space, place: place.into(), least, most })
            })
        })
    }
}

impl OfCulprit {
    pub(in crate::report) fn of(culprit: &PauseCulprit) -> OfCulprit {
        OfCulprit { device: culprit.device.clone(), priority: culprit.priority }
    }
}

impl OfSlowFlow {
    pub(in crate::report) fn of(slow: &SlowFlow) -> OfSlowFlow {
        OfSlowFlow { space: slow.space, lasted_ns: slow.lasted_ns, verdict: slow.verdict }
    }
}
