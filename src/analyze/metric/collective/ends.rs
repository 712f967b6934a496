//! Hosts of connections.

use std::collections::{BTreeMap, BTreeSet};

use super::{Collectives, Connection, cut::Timed, jobs::jobs, topology::Shape};
use crate::analyze::packet::key::Key;

/// Who sends and who receives, by connection: places in a list of names.
pub(super) struct Ends {
    pub(super) names: Vec<String>,
    pub(super) of: BTreeMap<usize, (usize, usize)>,
    /// Connections of other jobs than the first one, where several work side by side.
    jobs: BTreeMap<usize, usize>,
}

impl Ends {
    pub(super) fn of(all: &Collectives, timed: &[Timed]) -> Ends {
        let mut ends = Ends { names: Vec::new(), of: BTreeMap::new(), jobs: BTreeMap::new() };
        let connections: BTreeSet<usize> = timed.iter().map(|one| one.connection).collect();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for connection in connections {
            let of = all.connections.get(connection);
            let Some((sender, receiver)) = of.and_then(|of| addresses(all, of)) else { continue };
            let mut place = |name: String| {
                *places.entry(name).or_insert_with_key(|name| {
                    ends.names.push(name.clone());
                    ends.names.len() - 1
                })
            };
            let pair = (place(sender), place(receiver));
            ends.of.insert(connection, pair);
        }
        ends
    }

    /// Looks for several jobs on the same hosts.
    pub(super) fn with_jobs(mut self, timed: &[Timed], shape: &Shape) -> Ends {
        self.jobs = jobs(timed, (&self, shape));
        self
    }

    /// The job of a connection.
    pub(super) fn job_of(&self, connection: usize) -> usize {
        self.jobs.get(&connection).copied().unwrap_or(0)
    }
}

/// Sender and receiver of a connection. Where it uses several adapters of a host, as one: the first of them, whichever was seen first. Else what a host got
/// on one connection and passes on upon another would be of two.
pub(super) fn addresses(all: &Collectives, of: &Connection) -> Option<(String, String)> {
    let keys = |ways: &[u32]| -> Vec<Key> {
        ways.iter().filter_map(|&way| all.ways.get(way as usize)).map(|way| way.key).collect()
    };
    let mut keys_of = keys(&of.data_ways);
    if keys_of.is_empty() {
        keys_of = keys(&of.cts_ways).iter().map(|key| key.reverse(0)).collect();
    }
    let sender = keys_of.iter().min_by_key(|key| key.src)?.source();
    let receiver = keys_of.iter().min_by_key(|key| key.dst)?.destination();
    Some((sender.to_string(), receiver.to_string()))
}
