//! An earlier report, and which of its rows a later one has again.

use std::collections::HashMap;

use crate::report::{Flow, Pause, Report, View, figure::Subject};

/// An earlier report to compare with.
pub struct Before<'a> {
    pub(super) report: &'a Report,
    view: View<'a>,
    /// For each flow of the later report, the flow of the earlier one.
    flows: Vec<Option<usize>>,
    /// Flows of the earlier report that the later one does not have.
    pub(super) gone: Vec<usize>,
}

impl<'a> Before<'a> {
    /// Finds the rows of a report in an earlier one. Flows are the same if their addresses and queue pairs are. Queue pairs often
    /// change from run to run: the others are taken pair of addresses by pair of addresses, in the order of their beginning.
    pub fn new(report: &'a Report, later: &Report) -> Before<'a> {
        let mut flows = vec![None; later.flows.len()];
        let mut free: Vec<bool> = vec![true; report.flows.len()];
        let mut by_key: HashMap<_, usize> = HashMap::new();
        for (at, flow) in report.flows.iter().enumerate() {
            by_key.insert((pair(flow), flow.dest_qp, flow.epoch), at);
        }
        for (at, flow) in later.flows.iter().enumerate() {
            if let Some(&was) = by_key.get(&(pair(flow), flow.dest_qp, flow.epoch)) {
                (flows[at], free[was]) = (Some(was), false);
            }
        }
        let mut left: HashMap<_, Vec<usize>> = HashMap::new();
        let mut by_time: Vec<usize> = (0..report.flows.len()).filter(|&at| free[at]).collect();
        by_time.sort_by_key(|&at| std::cmp::Reverse((report.flows[at].first_ns, at)));
        for at in by_time {
            left.entry(kind(&report.flows[at])).or_default().push(at);
        }
        let mut by_time: Vec<usize> = (0..later.flows.len()).filter(|&at| flows[at].is_none()).collect();
        by_time.sort_by_key(|&at| (later.flows[at].first_ns, at));
        for at in by_time {
            flows[at] = left.get_mut(&kind(&later.flows[at])).and_then(Vec::pop);
        }
        let mut gone: Vec<usize> = left.into_values().flatten().collect();
        gone.sort_unstable();
        Before { report, view: report.view(), flows, gone }
    }

    pub(super) fn view(&self) -> &View<'a> {
        &self.view
    }

    /// The flow that a later flow was.
    pub(super) fn flow(&self, later: usize) -> Option<Subject<'_>> {
        let at = (*self.flows.get(later)?)?;
        let flow = self.report.flows.get(at)?;
        let connection = flow.connection.and_then(|id| self.report.connections.get(id as usize));
        let peer = connection.and_then(|one| {
            let [a, b] = one.flows;
            self.report.flows.get(if a == at { b } else { a })
        });
        Some(Subject::Flow(flow, peer))
    }

    /// The pauses of the same sender and priority at the same link.
    pub(super) fn pause(&self, later: &Pause) -> Option<Subject<'_>> {
        let same = |pause: &&Pause| {
            (&pause.link, &pause.sender, pause.priority) == (&later.link, &later.sender, later.priority)
        };
        self.report.head.pause.iter().flatten().find(same).map(Subject::Pause)
    }
}

fn pair(flow: &Flow) -> (&str, &str) {
    (&flow.src, &flow.dst)
}

/// Flows that may stand for each other: the same addresses, service, and requests or none.
fn kind(flow: &Flow) -> (&str, &str, &'static str, bool) {
    (&flow.src, &flow.dst, flow.service.name(), flow.requests.packets > 0)
}
