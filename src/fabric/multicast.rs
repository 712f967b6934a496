//! Multicast: which ports of switches forward a group, what is behind them, and whether its members are reached.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Fabric, Group,
    nodes::{Link, Nodes},
    rows::{GroupMemberRow, GroupPortRow, GroupRow},
};

/// The first LID of multicast.
const FIRST: u16 = 0xc000;
/// LIDs of a block of a multicast forwarding table.
const BLOCK: u16 = 32;
/// Ports of which a mask of a table says something.
const PORTS: u8 = 16;

/// The trees of a subnet's groups: the ports of switches that forward each LID.
pub(super) struct Trees(BTreeMap<u16, BTreeSet<Link>>);

impl Trees {
    pub(super) fn of(nodes: &Nodes) -> Trees {
        let mut ports = BTreeMap::<u16, BTreeSet<Link>>::new();
        for (guid, node) in nodes.iter() {
            for (&(block, position), table) in &node.multicast {
                let masks =
                    (0..BLOCK).filter_map(|place| Some((place, table.port_masks().entry(place.into())?)));
                for (place, mask) in masks.filter(|(_, mask)| *mask != 0) {
                    let lid = FIRST.wrapping_add(block.wrapping_mul(BLOCK)).wrapping_add(place);
                    let set = (0..PORTS).filter(|bit| mask >> bit & 1 != 0);
                    let first = position.wrapping_mul(PORTS);
                    ports.entry(lid).or_default().extend(
                        set.filter_map(|bit| Some(Link { node: guid, port: first.checked_add(bit)? })),
                    );
                }
            }
        }
        Trees(ports)
    }

    /// Whether a port of a switch forwards a LID.
    fn has(&self, mlid: u16, port: Link) -> bool {
        self.0.get(&mlid).is_some_and(|ports| ports.contains(&port))
    }
}

/// A row for each port of each tree, also of LIDs whose group no record names.
pub(super) fn port_rows(fabric: &Fabric, trees: &Trees) -> Vec<GroupPortRow> {
    let mut rows = Vec::new();
    let mut of_lids = BTreeMap::<u16, Vec<&Group>>::new();
    for group in fabric.groups.values() {
        of_lids.entry(group.record.mlid().0).or_default().push(group);
    }
    for (&mlid, ports) in &trees.0 {
        let groups = of_lids.get(&mlid).map_or(&[][..], Vec::as_slice);
        let members: BTreeSet<u64> =
            groups.iter().flat_map(|group| group.members.keys().map(|&gid| gid as u64)).collect();
        for &port in ports {
            let behind = fabric.nodes.behind(port);
            let end = behind.and_then(|end| Some((fabric.nodes.get(end.node)?, end.port)));
            let guid = end.and_then(|(node, port)| node.ports.get(&port)?.guid);
            let is_adapter = end.is_some_and(|(node, _)| !node.is_switch());
            rows.push(GroupPortRow {
                mlid,
                mgid: groups.first().map(|group| group.record.mgid().to_string()),
                switch: fabric.name(port.node),
                switch_guid: format!("{:#018x}", port.node),
                port: port.port,
                to: behind.map(|end| fabric.name(end.node)),
                to_port: behind.map(|end| end.port),
                is_member: (is_adapter && !groups.is_empty())
                    .then(|| guid.is_some_and(|guid| members.contains(&guid))),
            });
        }
    }
    rows
}

/// A row for each member of each group.
pub(super) fn member_rows(fabric: &Fabric, trees: &Trees) -> Vec<GroupMemberRow> {
    let mut ports = BTreeMap::new();
    for (node, of) in fabric.nodes.iter() {
        ports.extend(of.ports.iter().filter_map(|(&port, of)| Some((of.guid?, Link { node, port }))));
    }
    let has_tables = fabric.nodes.iter().any(|(_, node)| !node.multicast.is_empty());
    let mut rows = Vec::new();
    for group in fabric.groups.values() {
        let mlid = group.record.mlid().0;
        for (&gid, &join) in &group.members {
            let at = ports.get(&(gid as u64)).copied();
            // The port of its switch must forward the group, where both are known.
            let switch = at.and_then(|at| fabric.nodes.behind(at));
            let is_reached = switch.filter(|_| has_tables).map(|switch| trees.has(mlid, switch));
            rows.push(GroupMemberRow {
                mgid: group.record.mgid().to_string(),
                mlid,
                port_gid: std::net::Ipv6Addr::from(gid).to_string(),
                node: at.map(|at| fabric.name(at.node)),
                port: at.map(|at| at.port),
                is_full: join & FULL != 0,
                is_send_only: join & (FULL | NON) == 0 && join & SEND_ONLY != 0,
                is_reached,
            });
        }
    }
    rows
}

/// Bits of JoinState (IBTA vol. 1, 15.2.5.17).
const FULL: u8 = 1;
const NON: u8 = 2;
/// Of full members too, which the last bit says.
const SEND_ONLY: u8 = 4 | 8;

pub(super) fn group_row(group: &Group, trees: &Trees) -> GroupRow {
    let record = &group.record;
    GroupRow {
        mgid: record.mgid().to_string(),
        mlid: record.mlid().0,
        member_count: group.members.len() as u64,
        switch_ports: trees.0.get(&record.mlid().0).map_or(0, BTreeSet::len) as u64,
        p_key: record.p_key().0,
        q_key: record.q_key().0,
        mtu_bytes: record.mtu().bytes(),
        rate_mbit_s: record.rate().mbit(),
        sl: record.sl(),
    }
}
