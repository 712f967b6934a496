//! Where packets go: by the forwarding tables of switches, and the links between them.

use std::collections::{BTreeMap, HashMap};

use super::nodes::{Link, Nodes};

/// A packet passes fewer switches.
const MOST_HOPS: usize = 64;
/// Ways that are followed at most, from switches to destinations.
const MOST_WAYS: usize = 1 << 23;

/// A node on the way of a packet, and the ports by which it came and leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The node's GUID.
    pub node: u64,
    /// The port by which it came; `None` at the first node.
    pub from: Option<u8>,
    /// The port by which it leaves; `None` at the last node.
    pub to: Option<u8>,
}

/// Why a packet does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unreachable {
    /// The capture does not have the switch's table, or not its links.
    Unknown,
    /// A switch has no port for this LID.
    NoRoute,
    /// It comes to a switch for a second time.
    Loop,
}

impl Unreachable {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Unreachable::Unknown => "the capture does not have all tables and links",
            Unreachable::NoRoute => "a switch has no port for the LID",
            Unreachable::Loop => "it comes to a switch twice",
        }
    }
}

/// What becomes of packets between all adapters.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// Of each direction of a link, how many pairs of ports use it.
    pub pairs_over: HashMap<Link, u64>,
    /// Pairs whose packets arrive.
    pub reached: u64,
    /// Pairs whose packets do not, with an example.
    pub lost: BTreeMap<Unreachable, (u64, [u16; 2])>,
    /// The most switches on a way.
    pub most_hops: usize,
    /// There are too many ways: none was followed.
    pub is_too_much: bool,
}

/// The way from a port with one LID to another one.
pub(super) fn way(nodes: &Nodes, from: u16, to: u16) -> Result<Vec<Hop>, Unreachable> {
    let (start, port) = nodes.of_lid(from).ok_or(Unreachable::Unknown)?;
    let (end, _) = nodes.of_lid(to).ok_or(Unreachable::Unknown)?;
    let mut hops = vec![Hop { node: start, from: None, to: None }];
    let mut at = Link { node: start, port };
    if nodes.get(start).is_some_and(|node| !node.is_switch()) && start != end {
        if let Some(hop) = hops.last_mut() {
            hop.to = Some(port);
        }
        at = nodes.behind(at).ok_or(Unreachable::Unknown)?;
        hops.push(Hop { node: at.node, from: Some(at.port), to: None });
    }
    while at.node != end {
        let node = nodes.get(at.node).ok_or(Unreachable::Unknown)?;
        if node.routes.is_empty() {
            return Err(Unreachable::Unknown);
        }
        let port = node.port_to(to).filter(|&port| port != 0xff).ok_or(Unreachable::NoRoute)?;
        let next = nodes.behind(Link { node: at.node, port });
        if let Some(hop) = hops.last_mut() {
            hop.to = Some(port);
        }
        at = next.ok_or(Unreachable::Unknown)?;
        if hops.iter().any(|hop| hop.node == at.node) || hops.len() > MOST_HOPS {
            return Err(Unreachable::Loop);
        }
        hops.push(Hop { node: at.node, from: Some(at.port), to: None });
    }
    Ok(hops)
}

/// The ways between all adapters: from each switch at once for all adapters at it.
pub(super) fn all(nodes: &Nodes) -> Ways {
    let mut ways = Ways::default();
    let is_adapter = |node: u64| nodes.get(node).is_some_and(|node| !node.is_switch());
    let adapters: Vec<_> = nodes.lids().filter(|(_, node, _)| is_adapter(*node)).collect();
    // The switch of each adapter.
    let mut at_switch: BTreeMap<u64, Vec<(u16, u64)>> = BTreeMap::new();
    for &(lid, node, port) in &adapters {
        if let Some(link) = nodes.behind(Link { node, port }) {
            at_switch.entry(link.node).or_default().push((lid, node));
        }
    }
    if at_switch.len().saturating_mul(adapters.len()) > MOST_WAYS {
        ways.is_too_much = true;
        return ways;
    }
    for &(to, end, _) in &adapters {
        for (&switch, sources) in &at_switch {
            let senders = sources.iter().filter(|(_, node)| *node != end).count() as u64;
            let Some(&(example, _)) = sources.iter().find(|(_, node)| *node != end) else { continue };
            match from_switch(nodes, switch, to, end) {
                Ok(links) => {
                    ways.reached += senders;
                    ways.most_hops = ways.most_hops.max(links.len());
                    for link in links {
                        *ways.pairs_over.entry(link).or_default() += senders;
                    }
                }
                Err(why) => ways.lost.entry(why).or_insert((0, [example, to])).0 += senders,
            }
        }
    }
    ways
}

/// The ports by which a packet to a LID leaves the switches on its way.
fn from_switch(nodes: &Nodes, switch: u64, to: u16, end: u64) -> Result<Vec<Link>, Unreachable> {
    let (mut at, mut links) = (switch, Vec::new());
    while at != end {
        let node = nodes.get(at).ok_or(Unreachable::Unknown)?;
        if node.routes.is_empty() {
            return Err(Unreachable::Unknown);
        }
        let port = node.port_to(to).filter(|&port| port != 0xff).ok_or(Unreachable::NoRoute)?;
        let link = Link { node: at, port };
        if links.len() > MOST_HOPS || links.iter().any(|link: &Link| link.node == at) {
            return Err(Unreachable::Loop);
        }
        links.push(link);
        at = nodes.behind(link).ok_or(Unreachable::Unknown)?.node;
    }
    Ok(links)
}
