//! Which findings are effects of which: one cause is one headline, and what it did stands below it.

use crate::in_order::InOrder;
use std::cmp::Reverse;

use crate::report::{Finding, Pause, TimeCause};

/// What a finding may be, or be an effect of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    /// Pauses in a cycle that this device is in.
    Cycle(String, Option<u8>),
    /// A host that stopped its link.
    Host(String, Option<u8>),
    /// Pauses that began at this device.
    Culprit(String, Option<u8>),
    /// The pauses of one sender, by interface and address.
    Pauses(String, String, Option<u8>),
    /// So many timeouts in pauses, and packets that were retransmitted after them.
    Timeouts { timeouts: u64, retransmits: u64 },
    /// Time that flows lost to this.
    Time(TimeCause),
    /// The finding at this place of those that were found.
    Found(usize),
}

impl Thing {
    /// What pauses that began at a device are, the first cause first.
    pub(super) fn begun_at(device: &str, priority: Option<u8>) -> [Thing; 3] {
        [Thing::Cycle, Thing::Host, Thing::Culprit].map(|thing| thing(device.to_owned(), priority))
    }

    pub(super) fn pauses_of(pause: &Pause) -> Thing {
        Thing::Pauses(pause.link.clone(), pause.sender.clone(), pause.priority)
    }
}

/// What a finding is, and what it may be an effect of: the first one that there is.
#[derive(Clone, Debug, Default)]
pub(super) struct Kin {
    pub(super) is: Vec<Thing>,
    pub(super) of: Vec<Thing>,
}

/// A finding with its weight, the least first, and its kin.
pub(super) struct Ranked<W> {
    pub(super) weight: W,
    pub(super) kin: Kin,
    pub(super) finding: Finding,
}

/// The findings in order: by weight, each cause with its effects behind it, and as heavy as the heaviest of these.
pub(super) fn in_order<W: Ord + Copy>(mut all: Vec<Ranked<W>>) -> Vec<Finding> {
    all.order_by_key(|one| one.weight);
    let roots: Vec<usize> = (0..all.len()).map(|at| root(&all, at)).collect();
    let heaviest = |root: usize| (0..all.len()).find(|&at| roots[at] == root);
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.order_by_key(|&at| (heaviest(roots[at]), Reverse(roots[at] == at), at));
    let mut place = vec![0; all.len()];
    for (new, &at) in order.iter().enumerate() {
        place[at] = new;
    }
    let mut findings: Vec<Option<Finding>> = all.into_iter().map(|one| Some(one.finding)).collect();
    let placed = order.iter().filter_map(|&at| {
        let finding = findings[at].take()?;
        let effect_of = Some(roots[at]).filter(|&root| root != at).map(|root| place[root]);
        Some(Finding { effect_of, ..finding })
    });
    placed.collect()
}

/// The finding that this one comes of, itself where there is none.
fn root<W>(all: &[Ranked<W>], at: usize) -> usize {
    let mut root = at;
    // Each step leads to a cause that is nearer to the first one: there are few kinds of things.
    for _ in 0..8 {
        let is = |other: usize, thing: &Thing| other != root && all[other].kin.is.contains(thing);
        let next = all[root].kin.of.iter().find_map(|thing| (0..all.len()).find(|&other| is(other, thing)));
        match next {
            Some(next) if next != at => root = next,
            _ => break,
        }
    }
    root
}
