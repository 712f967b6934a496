//! Which flow of the report a frame is of: as the analysis had it, by what it tells flows apart by, and where each began.

use std::collections::{BTreeMap, VecDeque};

use super::notes::{Beginning, Note};
use crate::{
    analyze::{FlowId, FlowKey},
    capture::Record,
    dissect::Dissection,
    in_order::InOrder,
    report::{FrameOrder, View},
    wire::Bth,
};

/// The flows of a report by their keys; of one key, in the order in which they began: a queue pair number may be used again.
#[derive(Debug, Default)]
pub(super) struct Directory {
    begun: Vec<(Beginning, Option<Known>)>,
    /// Frames were analyzed in the order of their times, which is not that of the file.
    by_time: bool,
}

/// A flow as the report has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) flow: usize,
    pub(super) connection: Option<u32>,
    /// The sender's queue pair.
    pub(super) peer_qp: Option<u32>,
    /// The frame with which it began.
    pub(super) first_frame: u64,
}

impl Directory {
    /// From a report, and what was noted of the beginnings of its flows.
    pub(super) fn of(report: &View<'_>, beginnings: Vec<Beginning>) -> Directory {
        let mut rows: BTreeMap<(String, i64), VecDeque<Known>> = BTreeMap::new();
        for (flow, row) in report.flows.iter().enumerate() {
            let row = row.into_owned();
            let known = Known { flow, connection: row.connection, peer_qp: row.peer_qp, first_frame: 0 };
            rows.entry((row.uid, row.first_ns)).or_default().push_back(known);
        }
        // Of very many flows that are over, some have no row.
        let row = |begun: Beginning| {
            let rows = rows.get_mut(&(begun.key.uid(begun.epoch).to_string(), begun.time_ns));
            let known = rows.and_then(VecDeque::pop_front);
            (begun, known.map(|known| Known { first_frame: begun.frame, ..known }))
        };
        let mut begun: Vec<_> = beginnings.into_iter().map(row).collect();
        begun.order_by_key(|(begun, _)| begun.key);
        Directory { begun, by_time: report.head.capture.frame_order == Some(FrameOrder::Time) }
    }

    /// The flow of a frame. `note`: what was noted of it.
    pub(super) fn find(
        &self,
        (number, record): (u64, &Record<'_>),
        d: &Dissection<'_>,
        note: Option<&Note>,
    ) -> Option<&Known> {
        if note.is_some_and(|note| note.is_stray) {
            return None;
        }
        let key = FlowKey::of(d, d.get::<Bth>()?)?;
        let first = self.begun.partition_point(|(begun, _)| begun.key < key);
        let ours = self.begun.get(first..)?;
        let ours = ours.get(..ours.partition_point(|(begun, _)| begun.key == key))?;
        let is_before = |(begun, _): &&(Beginning, _)| match self.by_time {
            true => (begun.time_ns, begun.frame) <= (record.time.0, number),
            false => begun.frame <= number,
        };
        // A frame that the analysis put behind the first one may stand before it, or have an earlier time.
        ours.iter().rfind(is_before).or(ours.first())?.1.as_ref()
    }
}

/// The flows of an analysis that goes on, by their keys: their number, and the frame with which they began.
#[derive(Debug, Default)]
pub(super) struct Begun(BTreeMap<FlowKey, (FlowId, u64)>);

/// Flows that are remembered.
const MOST: usize = 1 << 20;

impl Begun {
    /// The flow of the packet in the frame with this number. The first packet of a flow tells its number.
    pub(super) fn of(&mut self, d: &Dissection<'_>, note: &Note) -> Option<(FlowId, u64)> {
        let key = FlowKey::of(d, d.get::<Bth>()?)?;
        if let Some(flow) = note.flow.filter(|_| note.begins) {
            if self.0.len() >= MOST {
                self.0.clear();
            }
            self.0.insert(key, (flow, note.frame));
        }
        self.0.get(&key).copied().filter(|_| !note.is_stray)
    }
}
