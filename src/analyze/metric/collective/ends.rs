//! Hosts of connections.

use std::collections::{BTreeMap, BTreeSet};

use super::{Collectives, cut::Timed, jobs::jobs, topology::Shape};

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
            let Some((sender, receiver)) = addresses(all, connection) else { continue };
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

/// Sender and receiver of a connection.
pub(super) fn addresses(all: &Collectives, connection: usize) -> Option<(String, String)> {
    let of = all.connections.get(connection)?;
    let data = of.data_ways.first().and_then(|&way| all.ways.get(way as usize)).map(|way| way.key);
    let cts = of.cts_ways.first().and_then(|&way| all.ways.get(way as usize)).map(|way| way.key.reverse(0));
    let key = data.or(cts)?;
    Some((key.source().to_string(), key.destination().to_string()))
}
