//! Which way packets went on each interface: what a capture can show of pauses there.
//!
//! A pause stops packets towards its sender. A mirror of the pausing end's frames has its pauses, and nothing of what they stop.

use std::collections::{BTreeMap, HashSet};

use foldhash::fast::RandomState;

use super::violations::Hosts;
use crate::analyze::model::Address;

/// Pairs of addresses that are kept of an interface.
const MAX_PAIRS: usize = 1 << 14;

/// By interface: sources and destinations.
#[derive(Debug, Default)]
pub(crate) struct Ways(BTreeMap<u16, HashSet<(Address, Address), RandomState>>);

impl Ways {
    /// Packets went this way on an interface.
    pub(crate) fn add(&mut self, interface: u16, src: Address, dst: Address) {
        let pairs = self.0.entry(interface).or_default();
        if pairs.len() < MAX_PAIRS {
            pairs.insert((src, dst));
        }
    }

    /// Whether packets in the paused direction of a link were captured. `is_on`: its interfaces; `hosts`: where the ends are known. Else, where
    /// packets go both ways, some go that way.
    pub(super) fn show(&self, is_on: impl Fn(u16) -> bool, hosts: Option<&Hosts>) -> bool {
        let known = hosts.filter(|hosts| !(hosts.pausing.is_empty() && hosts.paused.is_empty()));
        let mut here = self.0.iter().filter(|&(&interface, _)| is_on(interface));
        here.any(|(_, pairs)| {
            pairs.iter().any(|&(src, dst)| match known.and_then(|hosts| hosts.is_from_paused(src, dst)) {
                Some(is_from_paused) => is_from_paused,
                None => pairs.contains(&(dst, src)),
            })
        })
    }

    /// Whether packets that were captured on some interfaces and `are_meant` were captured on others too; where there are none, nothing says
    /// that they were not.
    pub(super) fn go_on(
        &self,
        from: &[u16],
        to: &[u16],
        are_meant: impl Fn(Address, Address) -> bool,
    ) -> Option<bool> {
        let on = |interfaces: &[u16]| {
            interfaces.iter().filter_map(|interface| self.0.get(interface)).collect::<Vec<_>>()
        };
        let (here, there) = (on(from), on(to));
        let mut meant = here.into_iter().flatten().filter(|&&(src, dst)| are_meant(src, dst)).peekable();
        meant.peek()?;
        Some(meant.any(|pair| there.iter().any(|pairs| pairs.contains(pair))))
    }

    /// Whether packets to one of these addresses were captured.
    pub(super) fn lead_to(&self, addresses: &[Address]) -> bool {
        self.0.values().flatten().any(|(_, dst)| addresses.contains(dst))
    }
}
