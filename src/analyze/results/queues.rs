//! Where a queue marks, as the flows show that pass it.

use std::collections::{HashMap, hash_map::Entry};

use foldhash::fast::RandomState;

use crate::analyze::{
    model::{Address, Class},
    table::flow::Flow,
};

/// A host to which packets go, or from which they come: queues on its way mark them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Way {
    To(Address),
    From(Address),
}

/// What of the flows' marks only queues explain.
#[derive(Default)]
pub(super) struct Queues {
    /// By way, from when to when flows ran of which most packets were marked, and some not.
    most: HashMap<Way, (i64, i64), RandomState>,
    /// By destination, a source of flows of which all packets are marked, and whether there is another one.
    all: HashMap<Address, (Address, bool), RandomState>,
}

impl Queues {
    pub(super) fn of<'a>(flows: impl Iterator<Item = &'a Flow>) -> Queues {
        let mut queues = Queues::default();
        for flow in flows.filter(|flow| flow.signals().ecn_ce > 0) {
            let (src, dst) = (flow.key.source(), flow.key.destination());
            if is_all_marked(flow) {
                let (first, has_others) = queues.all.entry(dst).or_insert((src, false));
                *has_others |= *first != src;
            } else if flow.signals().ecn_ce >= flow.ecn_ect {
                let time = (flow.first_time, flow.last_time);
                for way in [Way::To(dst), Way::From(src)] {
                    match queues.most.entry(way) {
                        Entry::Vacant(new) => _ = new.insert(time),
                        Entry::Occupied(mut known) => {
                            let (first, last) = *known.get();
                            known.insert((first.min(time.0), last.max(time.1)));
                        }
                    }
                }
            }
        }
        queues
    }

    /// Whether a queue on this flow's way marks most packets of others while it runs.
    pub(super) fn may_mark(&self, flow: &Flow) -> bool {
        let (src, dst) = (flow.key.source(), flow.key.destination());
        let overlaps = |&(first, last): &(i64, i64)| first <= flow.last_time && flow.first_time <= last;
        let mut ways = [Way::To(dst), Way::From(src)].into_iter();
        ways.any(|way| self.most.get(&way).is_some_and(overlaps))
            || self.all.get(&dst).is_some_and(|&(_, has_others)| has_others)
    }
}

/// Whether every packet that is not corrupt is marked. Of one that was recorded twice, the first record is.
pub(super) fn is_all_marked(flow: &Flow) -> bool {
    let marked = flow.signals().ecn_ce;
    let apart = [&flow.requests.counts, &flow.responses.counts].map(|counts| {
        counts.of(Class::Corrupt) + counts.of(Class::Trimmed) + counts.of(Class::CaptureDuplicate)
    });
    marked > 0 && flow.ecn_ect == 0 && marked + apart[0] + apart[1] >= flow.packets
}
