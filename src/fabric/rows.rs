//! The subnet as rows, and what stands out.

use std::borrow::Cow;

use super::{
    Fabric, Hop, Unreachable,
    counters::Counters,
    name_of,
    nodes::{Link, Node, Port},
    operations::Operation,
    routes,
};
use crate::{
    report::{
        clean,
        field::records,
        units::{bytes, count, several},
    },
    wire::*,
};

/// The name of this form of JSON.
pub const SCHEMA: &str = "rdmawire.fabric/1";

records! {
    /// A subnet as the management datagrams of a capture show it.
    pub struct Report {
        /// [`SCHEMA`].
        pub schema: Cow<'static, str>,
        /// Management datagrams that were read.
        pub datagrams: u64,
        /// What stands out, in sentences.
        pub findings: Vec<String>,
        /// Nodes.
        pub nodes: Vec<NodeRow>,
        /// Ports that answers or records describe.
        pub ports: Vec<PortRow>,
        /// Links between nodes.
        pub links: Vec<LinkRow>,
        /// Subnet managers.
        pub managers: Vec<ManagerRow>,
        /// Multicast groups.
        pub groups: Vec<GroupRow>,
        /// Paths that the subnet administration gave.
        pub paths: Vec<PathRow>,
        /// Services that the subnet administration knows.
        pub services: Vec<ServiceRow>,
        /// Notices.
        pub traps: Vec<TrapRow>,
        /// Counters of ports that have a value, or counted.
        pub counters: Vec<CounterRow>,
        /// What counters counted from one answer to the next.
        pub samples: Vec<SampleRow>,
        /// Questions and answers by class, attribute and method.
        pub operations: Vec<OperationRow>,
        /// Pairs of adapters' ports between which packets arrive, by forwarding tables and links; `None` where there are too many to follow.
        pub pairs_reached: Option<u64>,
        /// Pairs between which they do not, or of which the capture does not show it.
        pub pairs_not_reached: Option<u64>,
        /// The most switches between two adapters.
        pub most_switches: Option<u64>,
        /// Answers in several segments that were put together.
        pub transfers: u64,
        /// Those that miss segments.
        pub transfers_broken: u64,
        /// Those that one side ended.
        pub transfers_aborted: u64,
        /// Datagrams with a wrong ICRC, which were not read.
        pub bad_icrc: u64,
        /// Datagrams that were not captured whole.
        pub cut: u64,
        /// What was left out, because there was too much.
        pub left_out: u64,
    }

    /// A node.
    pub struct NodeRow {
        /// Its GUID, in hexadecimal.
        pub guid: String,
        /// What it calls itself; its GUID where it was not asked.
        pub name: String,
        /// Channel adapter, switch or router.
        pub kind: Cow<'static, str>,
        /// The LID of its first port, of a switch of port 0.
        pub lid: Option<u16>,
        /// Its ports, without a switch's port 0.
        pub port_count: u8,
        /// Those of them whose link is active; `None` where none was asked.
        pub active_ports: Option<u32>,
        /// Manufacturer, by its OUI.
        pub vendor_id: u32,
        /// Device.
        pub device_id: u16,
        /// Revision.
        pub revision: u32,
        /// What nodes of one system have in common.
        pub system_image_guid: String,
        /// The highest LID of a switch's forwarding table.
        pub linear_fdb_top: Option<u16>,
        /// LIDs for which its forwarding table, as far as it was captured, has a port.
        pub routed_lids: Option<u32>,
    }

    /// A port.
    pub struct PortRow {
        /// GUID of its node.
        pub node_guid: String,
        /// Name of its node.
        pub node: String,
        /// Its number.
        pub port: u8,
        /// Its own GUID; ports of switches have none.
        pub port_guid: Option<String>,
        /// Its first LID; of a switch only port 0 has one.
        pub lid: Option<u16>,
        /// It has 2^n LIDs.
        pub lmc: u8,
        /// The LID of its subnet manager.
        pub sm_lid: u16,
        /// State of the link.
        pub state: Cow<'static, str>,
        /// State of the physical link.
        pub physical_state: Cow<'static, str>,
        /// Times that the state was another one than in the answer before.
        pub state_changes: u32,
        /// Lanes of the link.
        pub lanes: Option<u8>,
        /// Speed of a lane in megabits per second.
        pub lane_mbit_s: Option<u32>,
        /// MTU of packets that it sends.
        pub mtu_bytes: Option<u16>,
        /// Virtual lanes in use, by code.
        pub operational_vls: u8,
        /// P_Keys, in hexadecimal.
        pub p_keys: String,
        /// Packets with a wrong management key.
        pub m_key_violations: u16,
        /// Packets with a wrong P_Key.
        pub p_key_violations: u16,
        /// Packets with a wrong Q_Key.
        pub q_key_violations: u16,
        /// The node at the other end of the link.
        pub peer_guid: Option<String>,
        /// The port at the other end.
        pub peer_port: Option<u8>,
    }

    /// A link between two nodes.
    pub struct LinkRow {
        /// GUID of the node at one end.
        pub a_guid: String,
        /// Its name.
        pub a: String,
        /// Its port.
        pub a_port: u8,
        /// GUID of the node at the other end.
        pub b_guid: String,
        /// Its name.
        pub b: String,
        /// Its port.
        pub b_port: u8,
        /// State of the link.
        pub state: Option<Cow<'static, str>>,
        /// Lanes.
        pub lanes: Option<u8>,
        /// Speed of a lane in megabits per second.
        pub lane_mbit_s: Option<u32>,
        /// Both ends could have more lanes, or faster ones.
        pub is_slower: Option<bool>,
        /// Pairs of adapters' ports whose packets leave by the first end.
        pub pairs_from_a: Option<u64>,
        /// Pairs whose packets leave by the second end.
        pub pairs_from_b: Option<u64>,
    }

    /// A subnet manager.
    pub struct ManagerRow {
        /// GUID of its port; `None` where only ports name it.
        pub guid: Option<String>,
        /// Its LID.
        pub lid: Option<u16>,
        /// Name of its node.
        pub node: Option<String>,
        /// Its state; `None` where it was not asked.
        pub state: Option<Cow<'static, str>>,
        /// The manager of the highest priority becomes master.
        pub priority: Option<u8>,
        /// What it has done, when it was last asked.
        pub act_count: Option<u32>,
        /// How much that grew; it begins again at 0.
        pub act_count_increase: Option<u32>,
        /// Times that its state was another one than before.
        pub state_changes: u32,
        /// Ports that have it as their master.
        pub port_count: u64,
    }

    /// A multicast group.
    pub struct GroupRow {
        /// Its address.
        pub mgid: String,
        /// Its LID.
        pub mlid: u16,
        /// Members that records name.
        pub member_count: u64,
        /// Ports of switches that forward to it, by the tables that were captured.
        pub switch_ports: u64,
        /// Partition.
        pub p_key: u16,
        /// Q_Key.
        pub q_key: u32,
        /// MTU.
        pub mtu_bytes: Option<u16>,
        /// Rate in megabits per second.
        pub rate_mbit_s: Option<u32>,
        /// Service level.
        pub sl: u8,
    }

    /// A path that the subnet administration gave.
    pub struct PathRow {
        /// LID of the source.
        pub slid: u16,
        /// LID of the destination.
        pub dlid: u16,
        /// GID of the source.
        pub sgid: String,
        /// GID of the destination.
        pub dgid: String,
        /// Service level.
        pub sl: u8,
        /// Partition.
        pub p_key: u16,
        /// MTU.
        pub mtu_bytes: Option<u16>,
        /// Rate in megabits per second.
        pub rate_mbit_s: Option<u32>,
        /// Answers go the same way back.
        pub reversible: bool,
        /// Switches on the way, by forwarding tables; `None` where the capture does not have them.
        pub switches: Option<u64>,
    }

    /// A service that the subnet administration knows.
    pub struct ServiceRow {
        /// Its number, in hexadecimal.
        pub service_id: String,
        /// Who offers it.
        pub gid: String,
        /// Its name.
        pub name: String,
        /// Partition.
        pub p_key: u16,
        /// Seconds that it is offered; `None`: without end.
        pub lease_s: Option<u32>,
    }

    /// Notices of one kind from one port.
    pub struct TrapRow {
        /// Its number; where it is a manufacturer's own, the device.
        pub trap: u16,
        /// What it says.
        pub meaning: Option<Cow<'static, str>>,
        /// The port that issued it.
        pub issuer_lid: u16,
        /// Name of its node.
        pub node: Option<String>,
        /// How often it came.
        pub count: u64,
        /// When the last one came.
        pub last_ns: i64,
    }

    /// A counter of a port.
    pub struct CounterRow {
        /// The LID that was asked.
        pub lid: u16,
        /// Name of its node.
        pub node: Option<String>,
        /// The port; 255: all.
        pub port: u8,
        /// Whether it is one of 64 bits (PortCountersExtended).
        pub extended: bool,
        /// The counter.
        pub counter: Cow<'static, str>,
        /// Its value in the first answer.
        pub first: u64,
        /// Its value in the last answer.
        pub last: u64,
        /// What was counted in between; at least, if `resets` is not 0 or `is_full`.
        pub increase: u64,
        /// The same in bytes, of data; the counter is in units of four.
        pub increase_bytes: Option<u64>,
        /// In a second, of the time between the first answer and the last.
        pub per_second: Option<f64>,
        /// Times that it was set to zero, or began again.
        pub resets: u64,
        /// It has its largest value, at which it stays.
        pub is_full: bool,
        /// Answers that have it.
        pub samples: u64,
        /// From the first answer to the last.
        pub span_ns: u64,
    }

    /// What a counter counted from one answer to the next.
    pub struct SampleRow {
        /// When the answer came.
        pub time_ns: i64,
        /// Its frame.
        pub frame: u64,
        /// The LID that was asked.
        pub lid: u16,
        /// The port.
        pub port: u8,
        /// Whether the counter is one of 64 bits.
        pub extended: bool,
        /// The counter.
        pub counter: Cow<'static, str>,
        /// Its value.
        pub value: u64,
        /// What was counted since the answer before.
        pub increase: u64,
    }

    /// Questions of one kind, and their answers.
    pub struct OperationRow {
        /// Management class.
        pub class: Cow<'static, str>,
        /// The number of the class.
        pub class_id: u8,
        /// The attribute; its number where it has no name.
        pub attribute: String,
        /// What was asked.
        pub method: String,
        /// Questions, or messages without an answer.
        pub questions: u64,
        /// Those that were asked again.
        pub repeated: u64,
        /// Answers.
        pub answers: u64,
        /// Questions whose answer is not in the capture.
        pub unanswered: u64,
        /// Answers that say that it failed.
        pub failed: u64,
        /// Segments of answers.
        pub segments: u64,
        /// Answers in segments that were put together.
        pub transfers: u64,
        /// Their bytes.
        pub transfer_bytes: u64,
        /// Half of the answers took no longer.
        pub p50_ns: Option<u64>,
        /// The longest time to an answer.
        pub max_ns: Option<u64>,
    }
}

impl SampleRow {
    pub(super) fn new(
        time_ns: i64,
        frame: u64,
        (lid, port, extended): (u16, u8, bool),
        counter: &'static Field,
        value: u64,
        increase: u64,
    ) -> SampleRow {
        let counter = counter.name.into();
        SampleRow { time_ns, frame, lid, port, extended, counter, value, increase }
    }
}

impl Report {
    /// What the capture shows, in a sentence.
    pub fn sentence(&self) -> String {
        let is = |kind: &str| self.nodes.iter().filter(|node| node.kind == kind).count() as u64;
        let (switches, adapters) = (is("switch"), is("channel adapter"));
        format!(
            "{}, {}, {} from {}",
            plural(switches, "switch", "switches"),
            several(adapters, "channel adapter"),
            several(self.links.len() as u64, "link"),
            several(self.datagrams, "management datagram"),
        )
    }
}

/// A number of things whose plural is another word.
fn plural(n: u64, one: &str, more: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { more })
}

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
    let has_routes = fabric.nodes.iter().any(|(_, node)| !node.routes.is_empty());
    let mut report = Report {
        schema: SCHEMA.into(),
        datagrams: fabric.datagrams,
        nodes: fabric.nodes.iter().map(|(guid, node)| node_row(&fabric, guid, node)).collect(),
        links: fabric.nodes.links().map(|(a, b)| link_row(&fabric, &ways, a, b)).collect(),
        managers: managers(&fabric),
        groups: fabric.groups.values().map(|group| group_row(&fabric, group)).collect(),
        paths: fabric.paths.values().map(|path| path_row(&fabric, path)).collect(),
        services: fabric.services.values().map(service_row).collect(),
        transfers: fabric.segments.whole,
        transfers_broken: fabric.segments.broken + fabric.segments.unfinished() as u64,
        transfers_aborted: fabric.segments.aborted,
        bad_icrc: fabric.bad_icrc,
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
    for (&(lid, port, extended), counters) in &fabric.counters {
        let key = (lid, port, extended);
        report.counters.extend(counter_rows(key, node_of(lid), counters));
    }
    report.operations =
        fabric.operations.kinds.iter().map(|(kind, operation)| operation_row(*kind, operation)).collect();
    report.findings = findings(&report, &ways, has_routes, &node_of);
    report.samples = fabric.samples;
    report
}

fn node_row(fabric: &Fabric, guid: u64, node: &Node) -> NodeRow {
    let info = node.info.unwrap_or_default();
    let asked = node.ports.iter().filter(|(port, _)| **port > 0).filter_map(|(_, port)| port.info);
    let active = asked.clone().filter(|info| info.port_state() == PortState::ACTIVE).count() as u32;
    let lid = fabric.nodes.lids().find(|(_, of, _)| *of == guid).map(|(lid, ..)| lid);
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
    let info = |end: Link| fabric.nodes.get(end.node)?.ports.get(&end.port)?.info;
    let (at_a, at_b) = (info(a), info(b));
    let any = at_a.or(at_b);
    let pairs = |end: Link| {
        let has_table = fabric.nodes.get(end.node).is_some_and(|node| !node.routes.is_empty());
        (has_table && !ways.is_too_much).then(|| ways.pairs_over.get(&end).copied().unwrap_or(0))
    };
    let is_slower = at_a.zip(at_b).map(|(a, b)| {
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
        lanes: any.and_then(|info| info.link_width_active().lanes()),
        lane_mbit_s: any.and_then(|info| lane_mbit(&info)),
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

fn group_row(fabric: &Fabric, group: &super::Group) -> GroupRow {
    let record = &group.record;
    let mlid = record.mlid().0;
    let (block, place) = (mlid.wrapping_sub(0xc000) / 32, usize::from(mlid % 32));
    let masks = fabric.nodes.iter().flat_map(|(_, node)| node.multicast.iter());
    let masks =
        masks.filter(|((of, _), _)| *of == block).filter_map(|(_, table)| table.port_masks().entry(place));
    GroupRow {
        mgid: record.mgid().to_string(),
        mlid,
        member_count: group.members.len() as u64,
        switch_ports: masks.map(|mask| u64::from(mask.count_ones())).sum(),
        p_key: record.p_key().0,
        q_key: record.q_key().0,
        mtu_bytes: record.mtu().bytes(),
        rate_mbit_s: record.rate().mbit(),
        sl: record.sl(),
    }
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
    (lid, port, extended): (u16, u8, bool),
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
        extended,
        counter: row.field.name.into(),
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

fn operation_row((class, id, method): super::operations::Kind, operation: &Operation) -> OperationRow {
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
        answers: operation.answers,
        unanswered: operation.unanswered,
        failed: operation.failed,
        segments: operation.segments,
        transfers: operation.transfers,
        transfer_bytes: operation.bytes,
        p50_ns: times.get(times.len() / 2).copied(),
        max_ns: (!times.is_empty()).then_some(operation.max_ns),
    }
}

/// Counters that count what should not happen, and what it means.
const BAD: [(&str, &str); 9] = [
    ("symbol_error_counter", "symbol errors: the cable or its ends"),
    ("link_error_recovery_counter", "recoveries of the link: the cable or its ends"),
    ("link_downed_counter", "times that the link went down"),
    ("port_rcv_errors", "packets that came with errors"),
    ("port_xmit_discards", "packets dropped before they could be sent: congestion, or a port that is down"),
    ("local_link_integrity_errors", "bursts of physical errors: the cable or its ends"),
    ("excessive_buffer_overrun_errors", "overruns of buffers"),
    ("vl15_dropped", "management packets without a buffer"),
    ("port_xmit_wait", "ticks in which nothing could be sent: no credits"),
];

fn findings(
    report: &Report,
    ways: &routes::Ways,
    has_routes: bool,
    node_of: &dyn Fn(u16) -> Option<String>,
) -> Vec<String> {
    let mut findings = Vec::new();
    let masters = report.managers.iter().filter(|row| row.state.as_deref() == Some("master")).count();
    if masters > 1 {
        findings.push(format!("{masters} subnet managers say that they are master: there should be one."));
    }
    let mut slower = report.links.iter().filter(|link| link.is_slower == Some(true));
    if let Some(first) = slower.next() {
        let more = slower.count();
        let others = if more > 0 { format!(", and {more} more") } else { String::new() };
        findings.push(format!(
            "Slower than both ends could be: {} port {} to {} port {}{others}.",
            first.a, first.a_port, first.b, first.b_port
        ));
    }
    if has_routes && !ways.is_too_much {
        for (why, (pairs, [from, to])) in &ways.lost {
            if *why != Unreachable::Unknown {
                findings.push(format!(
                    "{} of adapters' ports do not reach each other: {} (LID {from} to LID {to}).",
                    several(*pairs, "pair"),
                    why.name()
                ));
            }
        }
    }
    for (counter, what) in BAD {
        let of_counter = report.counters.iter().filter(|row| row.counter == counter && row.increase > 0);
        let Some(most) = of_counter.clone().max_by_key(|row| row.increase) else { continue };
        let name =
            most.node.clone().or_else(|| node_of(most.lid)).unwrap_or_else(|| format!("LID {}", most.lid));
        let ports = of_counter.count() as u64;
        findings.push(format!(
            "{counter} grew at {}, most at {name} port {}, by {}: {what}.",
            several(ports, "port"),
            most.port,
            count(most.increase)
        ));
    }
    let unanswered: u64 = report.operations.iter().map(|row| row.unanswered).sum();
    if unanswered > 0 {
        findings.push(format!("{} without an answer in the capture.", several(unanswered, "question")));
    }
    let failed: u64 = report.operations.iter().map(|row| row.failed).sum();
    if failed > 0 {
        findings.push(format!("{} that it failed.", plural(failed, "answer says", "answers say")));
    }
    let changes: u32 = report.ports.iter().map(|port| port.state_changes).sum();
    let flapping = report.ports.iter().filter(|port| port.state_changes > 3).count() as u64;
    if flapping > 0 {
        findings.push(format!(
            "{} changed its state more than three times ({changes} changes in all).",
            several(flapping, "port")
        ));
    }
    let violations =
        report.ports.iter().filter(|port| port.p_key_violations > 0 || port.m_key_violations > 0).count()
            as u64;
    if violations > 0 {
        findings.push(format!("{} saw packets with a wrong P_Key or M_Key.", several(violations, "port")));
    }
    if report.transfers_broken > 0 {
        let answers = plural(report.transfers_broken, "answer misses", "answers miss");
        findings.push(format!("{answers} segments, or are too large: their records were not read."));
    }
    for (count, what) in [
        (report.bad_icrc, "a wrong ICRC: not read"),
        (report.cut, "fewer bytes in the capture than it has: record 330 bytes of each frame"),
    ] {
        if count > 0 {
            findings.push(format!("{} with {what}.", several(count, "datagram")));
        }
    }
    if report.transfers > 0 {
        let whole: u64 = report.operations.iter().map(|row| row.transfer_bytes).sum();
        let transfers = several(report.transfers, "answer");
        findings.push(format!("{transfers} in segments put together: {}.", bytes(whole)));
    }
    findings
}
