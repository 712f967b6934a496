//! Flows that are alike: between the same hosts, on the same path, in the same class. What is asked of all flows is asked once of each kind.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::{HashTable, hash_table::Entry};

use crate::analyze::{packet::key::Key, table::flow::Flow};

/// The kinds of all flows.
pub(crate) struct Alike {
    /// The kind of a flow, by its place in the report.
    of: Vec<u32>,
    /// The place of a flow of each kind.
    one: Vec<u32>,
}

/// What flows of one kind share: the key without a queue pair; UDP source port, DSCP and VLAN, where these never changed.
type Shared = (Key, Option<u16>, Option<u8>, Option<u16>);

fn shared(flow: &Flow) -> Shared {
    let tags = &flow.path_tags;
    (flow.key.with_queue_pair(0), tags.only_port(), tags.only_dscp(), tags.only_vlan())
}

impl Alike {
    /// Of so many flows, each of which is at its place.
    pub(super) fn new<'a>(
        len: usize,
        flows: impl Iterator<Item = (usize, &'a Flow)>,
        flow_at: impl Fn(usize) -> &'a Flow,
    ) -> Alike {
        let (mut of, mut one) = (vec![0; len], Vec::<u32>::new());
        let hasher = FixedState::default();
        let mut kinds: HashTable<u32> = HashTable::new();
        // Flows that began one after the other are often alike.
        let mut before: Option<(Shared, u32)> = None;
        for (at, flow) in flows {
            let own = shared(flow);
            let kind = match before {
                Some((same, kind)) if same == own => kind,
                _ => {
                    let has = |kind: u32| shared(flow_at(one[kind as usize] as usize));
                    let rehash = |&kind: &u32| hasher.hash_one(has(kind));
                    match kinds.entry(hasher.hash_one(own), |&kind| has(kind) == own, rehash) {
                        Entry::Occupied(kind) => *kind.get(),
                        Entry::Vacant(new) => {
                            let kind = one.len() as u32;
                            new.insert(kind);
                            one.push(at as u32);
                            kind
                        }
                    }
                }
            };
            before = Some((own, kind));
            of[at] = kind;
        }
        Alike { of, one }
    }

    /// The place of a flow of each kind.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = usize> {
        self.one.iter().map(|&at| at as usize)
    }

    /// The place of a flow of each kind that has any of these, and how many it has.
    pub(crate) fn counted(&self, places: impl Iterator<Item = usize>) -> impl Iterator<Item = (usize, u64)> {
        let mut counts = vec![0u64; self.one.len()];
        for at in places {
            counts[self.of[at] as usize] += 1;
        }
        self.kinds().zip(counts).filter(|&(_, n)| n > 0)
    }
}
