//! Which of the flows that fell silent in a source's pauses they stopped, where nobody told at which end of the link hosts are.
//!
//! Pauses stop one direction of a link. Flows of the other one fall silent too, once their answers are held: they are not stopped by them.
//! Where flows of both directions were silent, it is the other one whose packets still come in pauses. If none tells, nobody knows which.

use std::collections::BTreeMap;

use super::stops::Stopped;
use crate::{
    analyze::{model::Address, network::Network},
    report::{PauseEffect, Reason},
};

/// A flow that was silent in pauses of one source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silent {
    pub(super) src: Address,
    pub(super) dst: Address,
    pub(super) stopped: Stopped,
}

/// Addresses on both sides of a link, by the flows that cross it.
struct Sides(BTreeMap<Address, (usize, bool)>);

impl Sides {
    /// `None` where there are no two sides: the interface taps more than one link.
    fn of(flows: &[Silent]) -> Option<Sides> {
        let mut joined: BTreeMap<Address, Vec<Address>> = BTreeMap::new();
        for &Silent { src, dst, .. } in flows {
            joined.entry(src).or_default().push(dst);
            joined.entry(dst).or_default().push(src);
        }
        let mut sides: BTreeMap<Address, (usize, bool)> = BTreeMap::new();
        for (group, &begin) in joined.keys().enumerate() {
            if sides.contains_key(&begin) {
                continue;
            }
            sides.insert(begin, (group, false));
            let mut open = vec![begin];
            while let Some(here) = open.pop() {
                let is_right = sides.get(&here)?.1;
                for &there in joined.get(&here)? {
                    let side = *sides.entry(there).or_insert_with(|| {
                        open.push(there);
                        (group, !is_right)
                    });
                    if side.1 == is_right {
                        return None;
                    }
                }
            }
        }
        Some(Sides(sides))
    }

    /// The group of hosts that talk with each other, and the side that sends.
    fn way(&self, flow: &Silent) -> Option<(usize, bool)> {
        self.0.get(&flow.src).copied()
    }
}

/// What the pauses of a source did to these flows, which were silent in them; or why nobody knows to which.
pub(super) fn effect_on(flows: &[Silent], source: u8, network: &Network) -> Result<PauseEffect, Reason> {
    let go_one_way = |&Silent { src, dst, .. }: &Silent| {
        flows.first().is_some_and(|first| first.src == src || first.dst == dst)
    };
    let mut effect = PauseEffect::default();
    // With the user's list of links, those of the pausing end are not among these; around a ring of switches, hosts have no side.
    let taps = |interface| network.pauses.taps_known_link(interface);
    let are_told = network.pauses.source(source).is_some_and(|source| taps(source.interface));
    if are_told || flows.iter().all(go_one_way) {
        flows.iter().for_each(|flow| flow.stopped.add_to(&mut effect));
        return Ok(effect);
    }
    let sides = Sides::of(flows).ok_or(Reason::UnknownDirection)?;
    // By group: of each side, whether flows from there were silent, and whether packets from there came in pauses.
    let mut groups: BTreeMap<usize, [(bool, bool); 2]> = BTreeMap::new();
    for flow in flows {
        let (group, side) = sides.way(flow).ok_or(Reason::UnknownDirection)?;
        let group = groups.entry(group).or_default();
        let (came, answers_came) = network.pauses.came_in(source, flow.src, flow.dst);
        group[usize::from(side)].0 = true;
        group[usize::from(side)].1 |= came;
        group[usize::from(!side)].1 |= answers_came;
    }
    for flow in flows {
        let (group, side) = sides.way(flow).ok_or(Reason::UnknownDirection)?;
        let Some(group) = groups.get(&group) else { continue };
        let [(_, came), (is_other_silent, others_came)] = [side, !side].map(|side| group[usize::from(side)]);
        match (is_other_silent, came, others_came) {
            (false, ..) | (true, false, true) => flow.stopped.add_to(&mut effect),
            (true, true, false) => {}
            _ => return Err(Reason::UnknownDirection),
        }
    }
    Ok(effect)
}
