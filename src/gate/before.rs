//! An earlier report, and which of its rows a later one has again.

use crate::in_order::InOrder;
use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

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
    /// change from run to run: the others are taken connection by connection, so that both flows of one are those of one, and flows
    /// without a connection one by one; of the same addresses and kind, in the order of their beginning.
    pub fn new(report: &'a Report, later: &Report) -> Before<'a> {
        let mut pairing = Pairing {
            before: report,
            later,
            flows: vec![None; later.flows.len()],
            is_free: vec![true; report.flows.len()],
        };
        pairing.by_queue_pairs();
        pairing.by_peers();
        pairing.by_kind(|report, flow| Some((kind(flow), kind(peer(report, flow)?))));
        pairing.by_peers();
        pairing.by_kind(|_, flow| Some(kind(flow)));
        let Pairing { flows, is_free, .. } = pairing;
        let gone = (0..report.flows.len()).filter(|&at| is_free[at]).collect();
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

/// Which flow of the later report is which of the earlier one.
struct Pairing<'a> {
    before: &'a Report,
    later: &'a Report,
    flows: Vec<Option<usize>>,
    /// Of the earlier report.
    is_free: Vec<bool>,
}

impl<'a> Pairing<'a> {
    fn put(&mut self, later: usize, before: usize) {
        if self.flows[later].is_none() && self.is_free[before] {
            (self.flows[later], self.is_free[before]) = (Some(before), false);
        }
    }

    fn by_queue_pairs(&mut self) {
        let key = |flow: &'a Flow| (pair(flow), flow.dest_qp, flow.epoch);
        let known: HashMap<_, usize> =
            self.before.flows.iter().enumerate().map(|(at, flow)| (key(flow), at)).collect();
        for (at, flow) in self.later.flows.iter().enumerate() {
            if let Some(&was) = known.get(&key(flow)) {
                self.put(at, was);
            }
        }
    }

    /// The peer of a flow that is known is the peer of what that was.
    fn by_peers(&mut self) {
        for connection in &self.later.connections {
            for [one, other] in [connection.flows, [connection.flows[1], connection.flows[0]]] {
                let was = self.flows.get(one).copied().flatten();
                let peer = was.and_then(|was| peer_of(self.before, was));
                let Some((flow, was)) = self.later.flows.get(other).zip(peer) else { continue };
                if pair(flow) == pair(&self.before.flows[was]) {
                    self.put(other, was);
                }
            }
        }
    }

    /// Flows that have the same key, in the order of their beginning.
    fn by_kind<K: Eq + Hash>(&mut self, key: impl Fn(&'a Report, &'a Flow) -> Option<K>) {
        let sorted = |report: &'a Report, is_wanted: &dyn Fn(usize) -> bool| {
            let mut all: Vec<usize> = (0..report.flows.len()).filter(|&at| is_wanted(at)).collect();
            all.order_by_key(|&at| (report.flows[at].first_ns, at));
            all
        };
        let mut left: HashMap<K, VecDeque<usize>> = HashMap::new();
        for at in sorted(self.before, &|at| self.is_free[at]) {
            if let Some(key) = key(self.before, &self.before.flows[at]) {
                left.entry(key).or_default().push_back(at);
            }
        }
        for at in sorted(self.later, &|at| self.flows[at].is_none()) {
            let Some(key) = key(self.later, &self.later.flows[at]).filter(|_| self.flows[at].is_none())
            else {
                continue;
            };
            let Some(same) = left.get_mut(&key) else { continue };
            let Some(was) = std::iter::from_fn(|| same.pop_front()).find(|&was| self.is_free[was]) else {
                continue;
            };
            // The first flow of a connection brings the second one along.
            self.put(at, was);
            if let Some((other, was)) = peer_of(self.later, at).zip(peer_of(self.before, was)) {
                self.put(other, was);
            }
        }
    }
}

/// The other flow of a flow's connection.
fn peer_of(report: &Report, at: usize) -> Option<usize> {
    let id = report.flows.get(at)?.connection?;
    let [a, b] = report.connections.get(id as usize)?.flows;
    Some(if a == at { b } else { a }).filter(|peer| *peer != at && *peer < report.flows.len())
}

fn peer<'a>(report: &'a Report, flow: &Flow) -> Option<&'a Flow> {
    let [a, b] = report.connections.get(flow.connection? as usize)?.flows.map(|at| report.flows.get(at));
    let (a, b) = (a?, b?);
    Some(if std::ptr::eq(a, flow) { b } else { a })
}

fn pair(flow: &Flow) -> (&str, &str) {
    (&flow.src, &flow.dst)
}

/// Flows that may stand for each other: the same addresses, service, and requests or none.
fn kind(flow: &Flow) -> (&str, &str, &'static str, bool) {
    (&flow.src, &flow.dst, flow.service.name(), flow.requests.packets > 0)
}
