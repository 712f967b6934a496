//! How fast the links of hosts are.
//!
//! An interface says how fast the link is that it taps. That is a host's own link if the user's list of links says so, or if all packets on it
//! are from or to this host, and all who talk to it do so there. Where one interface captured all, its speed stands for all links.

use std::collections::{BTreeMap, HashSet};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::Network;
use crate::analyze::model::{Address, KnownLink};

/// Pairs of hosts that are looked at: by interface, in all.
const MAX_PAIRS: usize = 1 << 18;

type Pairs = HashSet<[Address; 2], RandomState>;

/// The speeds that are known.
#[derive(Debug, Default)]
pub(crate) struct HostSpeeds {
    /// Where one interface captured all.
    all_bps: Option<u64>,
    known: HashMap<Address, u64, RandomState>,
}

impl HostSpeeds {
    /// `seen`: where packets of which pairs were captured.
    pub(crate) fn new(network: &Network, seen: impl Iterator<Item = (u16, Address, Address)>) -> HostSpeeds {
        let mut speeds = HostSpeeds::default();
        let mut on: BTreeMap<u16, Pairs> = BTreeMap::new();
        let mut many = 0;
        for (interface, a, b) in seen {
            let pairs = on.entry(interface).or_default();
            if many <= MAX_PAIRS {
                many += usize::from(pairs.insert(if a < b { [a, b] } else { [b, a] }));
            }
        }
        if let [one] = on.keys().copied().collect::<Vec<_>>()[..] {
            speeds.all_bps = network.speed_bps(one);
        } else if many <= MAX_PAIRS {
            speeds.by_packets(network, &on);
        }
        speeds.by_links(network);
        speeds
    }

    /// The speed of a host's link in bit/s.
    pub(crate) fn of(&self, host: Address) -> Option<u64> {
        self.known.get(&host).copied().filter(|&bps| bps > 0).or(self.all_bps)
    }

    /// Whether one interface captured all.
    pub(crate) fn are_of_one_interface(&self) -> bool {
        self.all_bps.is_some()
    }

    fn by_packets(&mut self, network: &Network, on: &BTreeMap<u16, Pairs>) {
        let mut peers: HashMap<Address, HashSet<Address, RandomState>, RandomState> = HashMap::default();
        for &[a, b] in on.values().flatten() {
            peers.entry(a).or_default().insert(b);
            peers.entry(b).or_default().insert(a);
        }
        for (&interface, pairs) in on.iter().filter(|&(&interface, _)| network.pauses.may_tap_host(interface))
        {
            let Some(first) = pairs.iter().next() else { continue };
            let is_own = |host: &&Address| {
                let all = peers.get(*host).map_or(0, HashSet::len);
                pairs.len() == all && pairs.iter().all(|pair| pair.contains(host))
            };
            for &host in first.iter().filter(is_own) {
                let bps = network.speed_bps(interface).unwrap_or(0);
                // Interfaces that contradict each other say nothing.
                self.known
                    .entry(host)
                    .and_modify(|known| *known = if *known == bps { bps } else { 0 })
                    .or_insert(bps);
            }
        }
    }

    /// What the user says of links goes before what packets show. A host's links carry together what is for it.
    fn by_links(&mut self, network: &Network) {
        let Some(links) = network.pauses.links() else { return };
        for (name, device) in links.devices.iter().filter(|(_, device)| device.is_host) {
            let is_its = |&(_, link): &(usize, &KnownLink)| link.ends.iter().any(|end| end.device == *name);
            let speed = |(at, _)| {
                let mut taps = network.pauses.taps_of(at);
                taps.find_map(|interface| network.speed_bps(interface))
            };
            let own = links.links.iter().enumerate().filter(is_its);
            let bps = own.map(speed).try_fold(0u64, |sum, bps| Some(sum.saturating_add(bps?)));
            for &address in device.addresses.iter().filter(|_| bps.is_some()) {
                self.known.insert(address, bps.unwrap_or(0));
            }
        }
    }
}
