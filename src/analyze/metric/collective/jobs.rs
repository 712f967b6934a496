//! Jobs that work side by side on the same hosts: their connections are busy and silent at other times.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    cut::Timed,
    ends::Ends,
    operations::{LEAST_NS, dividing},
    topology::Shape,
};
use crate::{in_order::InOrder, report::Topology};

/// So many operations of a job show that it is one of its own.
const ENOUGH: usize = 3;
/// Times of connections of one job are no further apart than a part of the silence between them: one in so many.
const NEAR: i64 = 8;
/// Jobs that are told apart, at most.
const MOST_JOBS: usize = 8;

/// Times in which connections carry data, with long silences between them.
struct Job {
    connections: Vec<usize>,
    busy: Vec<(i64, i64)>,
}

/// The job of each connection: none, where there is no more than one, or where they cannot be told apart.
///
/// Connections are of one job whose busy times are as many, and near each other. Jobs are several if each of them alone is a ring, a tree, an all to all or a pair of hosts,
/// and most of their busy times begin at other times.
pub(super) fn jobs(timed: &[Timed], (ends, shape): (&Ends, &Shape)) -> BTreeMap<usize, usize> {
    let mut busy: Vec<(usize, Vec<(i64, i64)>)> = Vec::new();
    for (connection, all) in data_of(timed) {
        match busy_times(&all) {
            Some(times) => busy.push((connection, times)),
            None => return BTreeMap::new(),
        }
    }
    busy.order_by_key(|(_, times)| times.first().copied());
    let mut jobs: Vec<Job> = Vec::new();
    for (connection, times) in busy {
        match jobs.iter().position(|job| job.takes(&times)) {
            Some(job) => jobs[job].add(connection, &times),
            None if jobs.len() < MOST_JOBS => {
                jobs.push(Job { connections: vec![connection], busy: times });
            }
            None => return BTreeMap::new(),
        }
    }
    let is_whole = |job: &Job| {
        let of = job.connections.iter().filter_map(|of| ends.of.get(of).copied());
        let hosts: BTreeSet<usize> =
            of.clone().flat_map(|(a, b)| [shape.host_of(a), shape.host_of(b)]).collect();
        let topology = shape.among(of).topology;
        job.connections.len() > 1
            && (hosts.len() == 2 || matches!(topology, Topology::Ring | Topology::Tree | Topology::AllToAll))
    };
    let is_other = |a: &Job, b: &Job| 2 * a.begins_with(b) < a.busy.len().min(b.busy.len());
    let are_others = || jobs.iter().enumerate().all(|(n, a)| jobs[..n].iter().all(|b| is_other(a, b)));
    if jobs.len() < 2 || !jobs.iter().all(is_whole) || !are_others() {
        return BTreeMap::new();
    }
    let of = |(n, job): (usize, Job)| job.connections.into_iter().map(move |of| (of, n));
    jobs.into_iter().enumerate().flat_map(of).collect()
}

/// When the data of each connection came: from its first packet until it was acknowledged.
fn data_of(timed: &[Timed]) -> BTreeMap<usize, Vec<(i64, i64)>> {
    let mut all: BTreeMap<usize, Vec<(i64, i64)>> = BTreeMap::new();
    for one in timed {
        if let Some(first) = one.first {
            all.entry(one.connection).or_default().push((first, one.end.max(first)));
        }
    }
    all.values_mut().for_each(|all| all.sort_unstable());
    all
}

/// The busy times of a connection, if there are enough, and what divides them is much longer than other silences.
fn busy_times(data: &[(i64, i64)]) -> Option<Vec<(i64, i64)>> {
    let mut until = data.first()?.1;
    let mut silences = Vec::new();
    for &(first, end) in data {
        silences.push(first.saturating_sub(until));
        until = until.max(end);
    }
    let least = dividing(silences).max(LEAST_NS);
    let mut busy: Vec<(i64, i64)> = Vec::new();
    for &(first, end) in data {
        match busy.last_mut() {
            Some(last) if first.saturating_sub(last.1) < least => last.1 = last.1.max(end),
            _ => busy.push((first, end)),
        }
    }
    (busy.len() >= ENOUGH).then_some(busy)
}

impl Job {
    /// Whether these are busy times of a connection of this job.
    fn takes(&self, times: &[(i64, i64)]) -> bool {
        let is_near = |(n, other): (usize, &(i64, i64))| {
            let own = self.busy[n];
            let next = self.busy.get(n + 1).or(self.busy.get(n)).map_or(own.1, |next| next.0);
            let before = n.checked_sub(1).and_then(|n| self.busy.get(n)).map_or(own.0, |before| before.1);
            let silence = next.saturating_sub(own.1).max(own.0.saturating_sub(before));
            let apart = other.0.saturating_sub(own.1).max(own.0.saturating_sub(other.1));
            apart <= silence / NEAR
        };
        self.busy.len() == times.len() && times.iter().enumerate().all(is_near)
    }

    fn add(&mut self, connection: usize, times: &[(i64, i64)]) {
        self.connections.push(connection);
        for (own, other) in self.busy.iter_mut().zip(times) {
            *own = (own.0.min(other.0), own.1.max(other.1));
        }
    }

    /// How many of its busy times begin with one of another job.
    fn begins_with(&self, other: &Job) -> usize {
        let is_near = |pair: &&[(i64, i64)]| {
            let near = pair[1].0.saturating_sub(pair[0].1) / NEAR;
            let at = pair[1].0;
            let behind = other.busy.partition_point(|&(from, _)| from < at.saturating_sub(near));
            other.busy.get(behind).is_some_and(|&(from, _)| from <= at.saturating_add(near))
        };
        self.busy.windows(2).filter(is_near).count()
    }
}
