//! Nodes, their ports, and the links between them.

use std::collections::{BTreeMap, HashMap};

use crate::{report::clean, wire::*};

/// Nodes that are kept.
const MOST: usize = 1 << 16;
/// Directed routes that are kept: several may lead to one node.
const MOST_ROUTES: usize = 1 << 18;
/// Interfaces that are asked where a route leads, if the own one does not know.
const MOST_INTERFACES: u16 = 16;

/// A port of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Link {
    pub(super) node: u64,
    pub(super) port: u8,
}

/// A node.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) info: Option<NodeInfo>,
    pub(super) name: Option<NodeDescription>,
    pub(super) switch: Option<SwitchInfo>,
    pub(super) ports: BTreeMap<u8, Port>,
    /// Ports of LIDs, by block of 64.
    pub(super) routes: BTreeMap<u16, [u8; 64]>,
    /// Ports of multicast LIDs, by block of 32, sixteen ports each.
    pub(super) multicast: BTreeMap<(u16, u8), MulticastFdb>,
}

impl Node {
    /// What the node calls itself.
    pub(super) fn name(&self) -> Option<String> {
        let text = self.name.as_ref()?.node_string();
        let text = clean(text.as_str().trim()).into_owned();
        Some(text).filter(|text| !text.is_empty())
    }

    pub(super) fn is_switch(&self) -> bool {
        self.info.is_some_and(|info| info.node_type() == NodeType::SWITCH)
    }

    /// The port by which packets to a LID leave; `None` where no table says it.
    pub(super) fn port_to(&self, lid: u16) -> Option<u8> {
        self.routes.get(&(lid / 64))?.get(usize::from(lid % 64)).copied()
    }
}

/// A port.
#[derive(Debug, Default)]
pub(super) struct Port {
    pub(super) info: Option<PortInfo>,
    pub(super) guid: Option<u64>,
    /// Times that its state was another one than before.
    pub(super) state_changes: u32,
    pub(super) p_keys: BTreeMap<u16, PKeyTable>,
}

/// What an answer or a record says of a node, or of one of its ports: it can wait until the node of its LID is known.
#[derive(Debug)]
pub(super) enum Attribute {
    Port(u8, PortInfo),
    Switch(SwitchInfo),
    Ports(u16, LinearFdb),
    Name(NodeDescription),
}

impl Attribute {
    /// The attribute of an answer; `None` where it is another one, or cut.
    pub(super) fn of(kind: Kind, modifier: u32, data: &[u8]) -> Option<Attribute> {
        Some(match kind {
            Kind::PortInfo => Attribute::Port((modifier & 0xff) as u8, *PortInfo::view(data)?.0),
            Kind::SwitchInfo => Attribute::Switch(*SwitchInfo::view(data)?.0),
            Kind::LinearFdb => Attribute::Ports(modifier as u16, *LinearFdb::view(data)?.0),
            Kind::NodeDescription => Attribute::Name(*NodeDescription::view(data)?.0),
            _ => return None,
        })
    }
}

/// A directed route.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Route {
    /// The interface that recorded it, and the LID where it begins.
    pub(super) begin: (u16, u16),
    /// Of each hop, the port by which a node sent the question on, and the one by which the next received it.
    pub(super) hops: Vec<[u8; 2]>,
}

/// All nodes.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    nodes: BTreeMap<u64, Node>,
    places: HashMap<Route, u64>,
    /// Interfaces that recorded answers on directed routes.
    interfaces: u16,
    lids: BTreeMap<u16, (u64, u8)>,
    links: BTreeMap<Link, Link>,
}

impl Nodes {
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Node)> {
        self.nodes.iter().map(|(guid, node)| (*guid, node))
    }

    pub(super) fn get(&self, guid: u64) -> Option<&Node> {
        self.nodes.get(&guid)
    }

    /// The node and the port that a LID belongs to.
    pub(super) fn of_lid(&self, lid: u16) -> Option<(u64, u8)> {
        self.lids.get(&lid).copied()
    }

    /// The LIDs of ports, each port once: its first.
    pub(super) fn lids(&self) -> impl Iterator<Item = (u16, u64, u8)> {
        let is_base = |(lid, (node, port)): &(&u16, &(u64, u8))| {
            let info = self.nodes.get(node).and_then(|node| node.ports.get(port)?.info);
            info.is_none_or(|info| info.lid().0 == **lid)
        };
        self.lids.iter().filter(is_base).map(|(lid, (node, port))| (*lid, *node, *port))
    }

    /// The other end of a link.
    pub(super) fn behind(&self, end: Link) -> Option<Link> {
        self.links.get(&end).copied()
    }

    /// Links, each once.
    pub(super) fn links(&self) -> impl Iterator<Item = (Link, Link)> {
        self.links.iter().map(|(a, b)| (*a, *b)).filter(|(a, b)| a <= b)
    }

    /// The node at the end of a directed route.
    pub(super) fn at(&self, route: &Route) -> Option<u64> {
        if let Some(&node) = self.places.get(route) {
            return Some(node);
        }
        // Of taps that record the same link, another one may have what says where the route leads.
        let mut other = route.clone();
        (0..self.interfaces).find_map(|interface| {
            other.begin.0 = interface;
            self.places.get(&other).copied()
        })
    }

    /// A port has a link to another one, and no longer to what it was connected with before.
    pub(super) fn join(&mut self, a: Link, b: Link) {
        for (from, to) in [(a, b), (b, a)] {
            if let Some(old) = self.links.insert(from, to).filter(|old| *old != to) {
                self.links.remove(&old);
            }
        }
    }

    pub(super) fn change(&mut self, node: u64, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.get_mut(&node) {
            change(node);
        }
    }

    /// What a node says of itself, from the end of a directed route, or from the port with this LID. False if there are too many.
    pub(super) fn on_info(&mut self, info: &NodeInfo, route: Option<&Route>, lid: Option<u16>) -> bool {
        let guid = info.node_guid().0;
        if guid == 0 {
            return true;
        }
        if self.nodes.len() >= MOST && !self.nodes.contains_key(&guid) {
            return false;
        }
        let node = self.nodes.entry(guid).or_default();
        node.info = Some(*info);
        let own = if node.is_switch() { 0 } else { info.local_port_num() };
        node.ports.entry(own).or_default().guid = Some(info.port_guid().0);
        if let Some(lid) = lid.filter(|&lid| Lid(lid).is_unicast()) {
            self.lids.entry(lid).or_insert((guid, own));
        }
        let Some(route) = route else { return true };
        if self.places.len() < MOST_ROUTES {
            self.interfaces = self.interfaces.max(route.begin.0.saturating_add(1).min(MOST_INTERFACES));
            self.places.insert(route.clone(), guid);
        }
        // The node before it on the route sends by the last port of the route.
        if let Some((&[port, _], before)) = route.hops.split_last()
            && let Some(before) = self.at(&Route { begin: route.begin, hops: before.to_vec() })
        {
            // The first hop leaves the sender itself, whose port is its own.
            let from = Link { node: before, port };
            self.join(from, Link { node: guid, port: info.local_port_num() });
        }
        true
    }

    /// The answer for an attribute that is a node's or one of its ports'.
    pub(super) fn on_answer(&mut self, node: u64, kind: Kind, modifier: u32, data: &[u8]) -> Option<()> {
        if let Some(attribute) = Attribute::of(kind, modifier, data) {
            self.on_attribute(node, &attribute);
            return Some(());
        }
        match kind {
            Kind::MulticastFdb => {
                let of = *MulticastFdb::view(data)?.0;
                let key = ((modifier & 0x1ff) as u16, (modifier >> 28) as u8);
                self.change(node, |node| _ = node.multicast.insert(key, of));
            }
            Kind::PKeyTable => {
                let of = *PKeyTable::view(data)?.0;
                let (block, port) = (modifier as u16, (modifier >> 16 & 0xff) as u8);
                self.change(node, |node| {
                    let only = node.info.map_or(port, |info| info.local_port_num());
                    let port = if node.is_switch() { port } else { only };
                    let port = node.ports.entry(port).or_default();
                    // A table of 65,536 keys has 2,048 blocks.
                    if block < 2048 {
                        port.p_keys.insert(block, of);
                    }
                });
            }
            _ => {}
        }
        Some(())
    }

    pub(super) fn on_attribute(&mut self, node: u64, attribute: &Attribute) {
        match attribute {
            Attribute::Port(port, info) => self.on_port(node, *port, info),
            Attribute::Switch(info) => self.change(node, |node| node.switch = Some(*info)),
            Attribute::Ports(block, ports) => self.on_routes(node, *block, ports),
            Attribute::Name(name) => self.change(node, |node| node.name = Some(*name)),
        }
    }

    /// A port of a node; 0 is a switch's own, or of another node the one that was asked.
    fn on_port(&mut self, guid: u64, port: u8, info: &PortInfo) {
        let Some(node) = self.nodes.get_mut(&guid) else { return };
        let is_switch = node.is_switch();
        let port = if port == 0 && !is_switch { info.local_port_num() } else { port };
        let of = node.ports.entry(port).or_default();
        let had = of.info.map(|info| info.port_state());
        of.state_changes += u32::from(had.is_some_and(|state| state != info.port_state()));
        of.info = Some(*info);
        let lid = info.lid().0;
        if info.lid().is_unicast() && (port == 0 || !is_switch) {
            for lid in lid..=lid | ((1 << info.lmc()) - 1) {
                self.lids.insert(lid, (guid, port));
            }
        }
    }

    fn on_routes(&mut self, node: u64, block: u16, ports: &LinearFdb) {
        // LIDs end at 0xbfff.
        if block < 0xc000 / 64 {
            self.change(node, |node| _ = node.routes.insert(block, ports.ports().0));
        }
    }
}
