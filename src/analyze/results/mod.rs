//! From what was tracked to what is reported: rows, long lists made row by row, findings.

mod alike;
mod findings;
mod links;
mod lists;
mod one_sided;
mod queues;
mod rows;
mod sections;
mod see_also;
mod stopped;

pub use findings::{FINDINGS, FindingKind, Need, Scope};

use std::{borrow::Cow, sync::Arc};

use lists::Index;

use super::{
    engine::Analysis,
    metric::{Context, Detail, KnownFlow, Metric, each},
    model::{Files, FlowId},
    table::flow::Flow,
};
use crate::report::{Report, Rows, View};

/// An analysis that is over.
pub struct Ended(Analysis);

impl Ended {
    /// Where the frames came from: part of the report, and evidence for its findings.
    #[must_use]
    pub fn from(mut self, files: Files) -> Ended {
        self.0.set_files(files);
        self
    }

    /// The report. Flows, connections and episodes are made one by one when they are asked for, and are not kept: beside the
    /// analysis itself this takes at most 32 bytes a flow and 24 an episode.
    pub fn report(&self) -> View<'_> {
        report(&self.0)
    }

    /// The user's metric of this type. It knows of all packets.
    pub fn metric<M: Metric>(&self) -> Option<&M> {
        self.0.metric()
    }

    /// [`metric`](Self::metric), to change it.
    pub fn metric_mut<M: Metric>(&mut self) -> Option<&mut M> {
        self.0.metric_mut()
    }

    /// The user's metric of this type, given back.
    pub fn into_metric<M: Metric>(mut self) -> Option<M> {
        self.0.metrics.1.take()
    }
}

impl Analysis {
    /// Ends the analysis: what is undecided is decided as well as possible. Gives the report.
    pub fn finish(self) -> Report {
        self.end().report().collect()
    }

    /// Ends the analysis. Gives the report, and the user's metric of this type.
    pub fn finish_with<M: Metric>(self) -> (Report, Option<M>) {
        let ended = self.end();
        let report = ended.report().collect();
        (report, ended.into_metric())
    }

    /// The report of an analysis that continues. Packets whose class is undecided are not in it.
    pub fn so_far(&mut self) -> Report {
        self.report_so_far().collect()
    }

    /// Ends the analysis: what is undecided is decided as well as possible. Its report can be made row by row.
    pub fn end(mut self) -> Ended {
        self.decide();
        Ended(self)
    }

    /// The report [so far](Analysis::so_far). Flows, connections and episodes are made one by one when they are asked for, and
    /// are not kept.
    pub fn report_so_far(&mut self) -> View<'_> {
        self.settle();
        report(self)
    }
}

fn report(Analysis { tracker, metrics, shortened, .. }: &Analysis) -> View<'_> {
    let index = Arc::new(Index::new(tracker));
    let mut capture = tracker.capture_report();
    capture.bytes_captured += shortened.bytes;
    capture.truncated_packets = capture.truncated_packets.saturating_sub(shortened.whole);
    let flow = |id| {
        let &Flow { peer_qp, peer, .. } = tracker.flows.flows.get((id as FlowId).0 as usize)?;
        Some(KnownFlow { index: index.place(id)?, peer_qp, peer })
    };
    let detail = |id: FlowId| {
        let flow = tracker.flows.flows.get(id.0 as usize).filter(|flow| flow.packets > 0)?;
        let ack_rtt = flow.requests.more.as_deref().map(|more| more.ack_rtt.all());
        let asking = flow.peer.and_then(|peer| tracker.flows.flows.get(peer.0 as usize));
        let data = asking.and_then(|asking| rows::data_activity(flow, asking));
        Some(Detail { ack_rtt, activity: rows::activity(flow), data })
    };
    let lost = |id| index.lost(id);
    let context = Context { network: &tracker.network, flow: &flow, detail: &detail, lost: &lost };
    capture.id = rows::capture_id(&capture);
    let mut head = sections::head(tracker, &metrics.0, &context, capture, &index);
    index.set_behind_tap(each(&metrics.0).entropy.behind_tap(|id| context.flow(id)));
    let overtaken = tracker.network.passages.overtaken();
    index.set_overtaken(overtaken.filter_map(|(id, late, n)| Some((context.flow(id)?.index, late, n))));
    index.set_applications(&head.setups, each(&metrics.0).named);
    head.one_sided = one_sided::section(each(&metrics.0).one_sided, &index, &head);
    head.sections = metrics.1.contribute(&context).into_iter().collect();
    index.survey().finish(&index, &mut head);
    View {
        head: Cow::Owned(head),
        flows: Rows::new(index.clone()),
        connections: Rows::new(index.clone()),
        episodes: Rows::new(index),
    }
}
