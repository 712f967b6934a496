//! The rows of a subnet, at the end.

use std::{borrow::Cow, collections::HashMap};

use super::{
    Fabric, Hop,
    counters::Counters,
    findings::findings,
    multicast, name_of,
    nodes::{Link, Node, Port},
    operations::{self, Kind as OperationKind, Operation},
    routes,
    rows::{
        CounterRow, LinkRow, ManagerRow, NodeRow, OperationRow, PathRow, PortRow, Report, SCHEMA, ServiceRow,
        TrapRow, attribute_name,
    },
};
use crate::{report::clean, wire::*};

fn hex(value: u64) -> String {
    format!("{value:#018x}")
}

fn word(show: Show, value: u64) -> Cow<'static, str> {
    show.name(value).map_or_else(|| format!("{value}").into(), Cow::Borrowed)
}

/// The speed of a lane: of the extended ones, if there is one.
fn lane_mbit(info: &PortInfo) -> Option<u32> {
    info.link_speed_ext_active().mbit().or_else(|| info.link_speed_active().mbit())
}

/// The fastest that a port can be: lanes, then the speed of one, as ranks.
fn best(info: &PortInfo) -> (u8, u8) {
    let widths = [(1, 1), (16, 2), (2, 4), (4, 8), (8, 12)];
    let lanes =
        widths.iter().filter(|(bit, _)| info.link_width_supported().0 & bit != 0).map(|(_, lanes)| *lanes);
    let (plain, extended) = (info.link_speed_supported().0, info.link_speed_ext_supported().0);
    let rank = if extended == 0 { 8 - plain.leading_zeros() } else { 16 - extended.leading_zeros() };
    (lanes.max().unwrap_or(0), rank as u8)
}

fn now(info: &PortInfo) -> (u8, u8) {
    let (plain, extended) = (info.link_speed_active().0, info.link_speed_ext_active().0);
    let rank = if extended == 0 { 8 - plain.leading_zeros() } else { 16 - extended.leading_zeros() };
    (info.link_width_active().lanes().unwrap_or(0), rank as u8)
}

/// Everything that is known at the end.
pub(super) fn report(mut fabric: Fabric) -> Report {
    fabric.operations.settle();
    let ways = routes::all(&fabric.nodes);
    // Of each node, the LID of its first port.
    let mut lids = HashMap::new();
    for (lid, guid, _) in fabric.nodes.lids() {
        lids.entry(guid).or_insert(lid);
    }
    let trees = multicast::Trees::of(&fabric.nodes);
    let has_routes = fabric.nodes.iter().any(|(_, node)| !node.routes.is_empty());
    let mut report = Report {
        schema: SCHEMA.into(),
        datagrams: fabric.datagrams,
        nodes: fabric
            .nodes
            .iter()
            .map(|(guid, node)| node_row(&fabric, guid, node, lids.get(&guid).copied()))
            .collect(),
        links: fabric.nodes.links().map(|(a, b)| link_row(&fabric, &ways, a, b)).collect(),
        managers: managers(&fabric),
        groups: fabric.groups.values().map(|group| multicast::group_row(group, &trees)).collect(),
        group_ports: multicast::port_rows(&fabric, &trees),
        group_members: multicast::member_rows(&fabric, &trees),
        paths: fabric.paths.values().map(|path| path_row(&fabric, path)).collect(),
        services: fabric.services.values().map(service_row).collect(),
        transfers: fabric.segments.whole,
        transfers_broken: fabric.segments.broken + fabric.segments.unfinished() as u64,
        transfers_aborted: fabric.segments.aborted,
        bad_icrc: fabric.doubt.refused,
        bad_icrc_read: fabric.doubt.read,
        cut: fabric.cut,
        left_out: fabric.left_out + fabric.operations.left_out,
        ..Report::default()
    };
    if !ways.is_too_much && has_routes {
        report.pairs_reached = Some(ways.reached);
        report.pairs_not_reached = Some(ways.lost.values().map(|(n, _)| n).sum());
        report.most_switches = Some(ways.most_hops as u64);
    }
    for (guid, node) in fabric.nodes.iter() {
        let ports =
            node.ports.iter().filter_map(|(&number, port)| port_row(&fabric, guid, node, number, port));
        report.ports.extend(ports);
    }
    let node_of = |lid: u16| fabric.nodes.of_lid(lid).map(|(guid, _)| name_of(guid, fabric.nodes.get(guid)));
    report.traps = fabric
        .traps
        .iter()
        .map(|(&(number, lid), trap)| TrapRow {
            trap: number,
            meaning: TrapNumber::SHOW
                .name(number.into())
                .filter(|_| trap.notice.is_generic())
                .map(Cow::Borrowed),
            issuer_lid: lid,
            node: node_of(lid),
            count: trap.count,
            last_ns: trap.last_ns,
        })
        .collect();
    for (&key, counters) in &fabric.counters {
        let lid = key.0;
        report.counters.extend(counter_rows(key, node_of(lid), counters));
    }
    report.operations =
        fabric.operations.kinds.iter().map(|(kind, operation)| operation_row(*kind, operation)).collect();
    report.findings = findings(&report, &ways, has_routes, &node_of);
    report.samples = fabric.samples;
    report
}

fn info_of(fabric: &Fabric, end: Link) -> Option<PortInfo> {
    fabric.nodes.get(end.node)?.ports.get(&end.port)?.info
}

fn is_down(info: Option<PortInfo>) -> bool {
    info.is_some_and(|info| info.port_state() == PortState::DOWN)
}

fn node_row(fabric: &Fabric, guid: u64, node: &Node, lid: Option<u16>) -> NodeRow {
    let info = node.info.unwrap_or_default();
    let asked = node.ports.iter().filter(|(port, _)| **port > 0);
    let asked = asked.filter_map(|(&port, of)| Some((port, of.info?)));
    // A node that is cut off says no more: what the other end of its link says counts, too.
    let is_cut_off = |port: u8| {
        is_down(fabric.nodes.behind(Link { node: guid, port }).and_then(|peer| info_of(fabric, peer)))
    };
    let is_active =
        |(port, info): &(u8, PortInfo)| info.port_state() == PortState::ACTIVE && !is_cut_off(*port);
    let active = asked.clone().filter(is_active).count() as u32;
    let routed = node.routes.values().flatten().filter(|port| **port != 0xff).count() as u32;
    NodeRow {
        guid: hex(guid),
        name: name_of(guid, Some(node)),
        kind: word(NodeType::SHOW, info.node_type().0.into()),
        lid,
        port_count: info.num_ports(),
        active_ports: asked.clone().next().map(|_| active),
        vendor_id: info.vendor_id().0,
        device_id: info.device_id().0,
        revision: info.revision().0,
        system_image_guid: hex(info.system_image_guid().0),
        linear_fdb_top: node.switch.map(|switch| switch.linear_fdb_top()),
        routed_lids: (!node.routes.is_empty()).then_some(routed),
    }
}

fn port_row(fabric: &Fabric, guid: u64, node: &Node, number: u8, port: &Port) -> Option<PortRow> {
    let info = port.info?;
    let peer = fabric.nodes.behind(Link { node: guid, port: number });
    let keys = port.p_keys.values().flat_map(|table| table.p_keys().iter().collect::<Vec<_>>());
    let keys: Vec<String> = keys.filter(|key| *key != 0).map(|key| format!("{key:#06x}")).collect();
    Some(PortRow {
        node_guid: hex(guid),
        node: name_of(guid, Some(node)),
        port: number,
        port_guid: port.guid.map(hex),
        lid: Some(info.lid().0).filter(|lid| *lid > 0 && (number == 0 || !node.is_switch())),
        lmc: info.lmc(),
        sm_lid: info.master_sm_lid().0,
        state: word(PortState::SHOW, info.port_state().0.into()),
        physical_state: word(PhysicalState::SHOW, info.port_physical_state().0.into()),
        state_changes: port.state_changes,
        lanes: info.link_width_active().lanes(),
        lane_mbit_s: lane_mbit(&info),
        mtu_bytes: info.neighbor_mtu().bytes(),
        operational_vls: info.operational_vls().0,
        p_keys: keys.join(" "),
        m_key_violations: info.m_key_violations(),
        p_key_violations: info.p_key_violations(),
        q_key_violations: info.q_key_violations(),
        peer_guid: peer.map(|peer| hex(peer.node)),
        peer_port: peer.map(|peer| peer.port),
    })
}

fn link_row(fabric: &Fabric, ways: &routes::Ways, a: Link, b: Link) -> LinkRow {
    let (at_a, at_b) = (info_of(fabric, a), info_of(fabric, b));
    // An end that cannot be asked any more said last that it was up.
    let any = [at_a, at_b].into_iter().find(|info| is_down(*info)).flatten().or(at_a).or(at_b);
    let is_up = !any.is_none_or(|info| is_down(Some(info)));
    let pairs = |end: Link| {
        let has_table = fabric.nodes.get(end.node).is_some_and(|node| !node.routes.is_empty());
        (has_table && !ways.is_too_much).then(|| ways.pairs_over.get(&end).copied().unwrap_or(0))
    };
    // Of a link that is down, the speed means nothing.
    let is_slower = at_a.zip(at_b).filter(|_| is_up).map(|(a, b)| {
        let (of_a, of_b) = (best(&a), best(&b));
        let (lanes, rank) = now(&a);
        lanes < of_a.0.min(of_b.0) || rank < of_a.1.min(of_b.1)
    });
    LinkRow {
        a_guid: hex(a.node),
        a: name_of(a.node, fabric.nodes.get(a.node)),
        a_port: a.port,
        b_guid: hex(b.node),
        b: name_of(b.node, fabric.nodes.get(b.node)),
        b_port: b.port,
        state: any.map(|info| word(PortState::SHOW, info.port_state().0.into())),
        lanes: any.filter(|_| is_up).and_then(|info| info.link_width_active().lanes()),
        lane_mbit_s: any.filter(|_| is_up).and_then(|info| lane_mbit(&info)),
        is_slower,
        pairs_from_a: pairs(a),
        pairs_from_b: pairs(b),
    }
}

fn managers(fabric: &Fabric) -> Vec<ManagerRow> {
    let node_of = |lid: u16| fabric.nodes.of_lid(lid).map(|(guid, _)| name_of(guid, fabric.nodes.get(guid)));
    let ports = || fabric.nodes.iter().flat_map(|(_, node)| node.ports.values()).filter_map(|port| port.info);
    let count = |lid: u16| ports().filter(|info| info.master_sm_lid().0 == lid && lid > 0).count() as u64;
    let port_of = |guid: u64| {
        let has =
            |node: &Node| node.ports.values().find(|port| port.guid == Some(guid)).map(|port| port.info);
        fabric.nodes.iter().find_map(|(_, node)| has(node)).flatten().map(|info| info.lid().0)
    };
    let mut rows: Vec<ManagerRow> = Vec::new();
    for (&guid, manager) in &fabric.managers {
        let lid = port_of(guid).or(Some(manager.lid)).filter(|lid| *lid > 0);
        rows.push(ManagerRow {
            guid: Some(hex(guid)),
            lid,
            node: lid.and_then(node_of),
            state: Some(word(SmState::SHOW, manager.info.sm_state().0.into())),
            priority: Some(manager.info.priority()),
            act_count: Some(manager.info.act_count()),
            act_count_increase: Some(manager.info.act_count().wrapping_sub(manager.first_count)),
            state_changes: manager.changes,
            port_count: lid.map_or(0, count),
        });
    }
    let mut named: Vec<u16> = ports().map(|info| info.master_sm_lid().0).filter(|lid| *lid > 0).collect();
    named.sort_unstable();
    named.dedup();
    for lid in named {
        if !rows.iter().any(|row| row.lid == Some(lid)) {
            rows.push(ManagerRow {
                lid: Some(lid),
                node: node_of(lid),
                port_count: count(lid),
                ..ManagerRow::default()
            });
        }
    }
    rows
}

fn path_row(fabric: &Fabric, path: &PathRecord) -> PathRow {
    let way = routes::way(&fabric.nodes, path.slid().0, path.dlid().0).ok();
    let is_switch = |hop: &&Hop| fabric.nodes.get(hop.node).is_some_and(Node::is_switch);
    PathRow {
        slid: path.slid().0,
        dlid: path.dlid().0,
        sgid: path.sgid().to_string(),
        dgid: path.dgid().to_string(),
        sl: path.sl(),
        p_key: path.p_key().0,
        mtu_bytes: path.mtu().bytes(),
        rate_mbit_s: path.rate().mbit(),
        reversible: path.reversible(),
        switches: way.map(|hops| hops.iter().filter(is_switch).count() as u64),
    }
}

fn service_row(service: &ServiceRecord) -> ServiceRow {
    ServiceRow {
        service_id: hex(service.service_id().0),
        gid: service.service_gid().to_string(),
        name: clean(service.service_name().as_str()).into_owned(),
        p_key: service.service_p_key().0,
        lease_s: Some(service.service_lease()).filter(|lease| *lease != u32::MAX),
    }
}

fn counter_rows(
    (lid, port, attribute): (u16, u8, u16),
    node: Option<String>,
    counters: &Counters,
) -> impl Iterator<Item = CounterRow> {
    let span_ns = counters.span[1].abs_diff(counters.span[0]);
    let some =
        counters.rows().filter(|row| row.first != 0 || row.last != 0 || row.increase != 0 || row.resets != 0);
    some.map(move |row| CounterRow {
        lid,
        node: node.clone(),
        port,
        attribute: attribute_name(attribute),
        counter: row.name(),
        first: row.first,
        last: row.last,
        increase: row.increase,
        increase_bytes: row.bytes(),
        per_second: (span_ns > 0).then(|| row.increase as f64 / (span_ns as f64 / 1e9)),
        resets: row.resets,
        is_full: row.is_full(),
        samples: counters.samples,
        span_ns,
    })
}

fn operation_row((class, id, method): OperationKind, operation: &Operation) -> OperationRow {
    let mut times = operation.times.clone();
    times.sort_unstable();
    OperationRow {
        class: class.name().map_or_else(|| format!("{:#04x}", class.0).into(), Cow::Borrowed),
        class_id: class.0,
        attribute: class.attribute_name(id).map_or_else(|| format!("{id:#06x}"), str::to_owned),
        method: MadMethod::SHOW
            .name(method.0.into())
            .map_or_else(|| format!("{:#04x}", method.0), str::to_owned),
        questions: operation.questions,
        repeated: operation.repeated,
        answers: (operation.answers > 0 || operations::asks(method)).then_some(operation.answers),
        unasked: operation.unasked,
        unanswered: operation.unanswered,
        failed: operation.failed,
        segments: operation.segments,
        transfers: operation.transfers,
        transfer_bytes: operation.bytes,
        p50_ns: times.get(times.len() / 2).copied(),
        max_ns: (!times.is_empty()).then_some(operation.max_ns),
    }
}
