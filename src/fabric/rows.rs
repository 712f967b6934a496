//! What a row of each list is.

use std::borrow::Cow;

use super::findings::BAD;
use crate::{
    report::{
        field::{Types, records},
        table::tables_of,
        units::several,
    },
    wire::MgmtClass,
};

/// The name of this form of JSON.
pub const SCHEMA: &str = "rdmawire.fabric/1";

/// The JSON Schema of [`Report`].
pub fn schema() -> serde_json::Value {
    Types::document::<Report>("Report")
}

tables_of! { Report {
    "fabric_nodes": &NodeRow, "A node of a subnet of InfiniBand.", |of| of.nodes.iter();
    "fabric_ports": &PortRow, "A port that answers or records describe.", |of| of.ports.iter();
    "fabric_links": &LinkRow, "A link between two nodes.", |of| of.links.iter();
    "fabric_managers": &ManagerRow, "A subnet manager.", |of| of.managers.iter();
    "fabric_groups": &GroupRow, "A multicast group.", |of| of.groups.iter();
    "fabric_group_ports": &GroupPortRow, "A port of a switch that forwards a multicast group.", |of| of.group_ports.iter();
    "fabric_group_members": &GroupMemberRow, "A member of a multicast group.", |of| of.group_members.iter();
    "fabric_paths": &PathRow, "A path that the subnet administration gave.", |of| of.paths.iter();
    "fabric_services": &ServiceRow, "A service that the subnet administration knows.", |of| of.services.iter();
    "fabric_traps": &TrapRow, "A notice.", |of| of.traps.iter();
    "fabric_counters": &CounterRow, "A counter of a port that has a value, or counted.", |of| of.counters.iter();
    "fabric_samples": &SampleRow, "What a counter counted from one answer to the next.", |of| of.samples.iter();
    "fabric_operations": &OperationRow, "Questions and answers of one class, attribute and method.", |of| of.operations.iter();
} }

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
        /// Ports of switches that forward multicast groups: their trees.
        pub group_ports: Vec<GroupPortRow>,
        /// Members of multicast groups.
        pub group_members: Vec<GroupMemberRow>,
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
        /// Datagrams that were read although their ICRC is wrong: most of the capture's are, which something on the way to it rewrote.
        pub bad_icrc_read: u64,
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

    /// A port of a switch that forwards a multicast group.
    pub struct GroupPortRow {
        /// The group's LID.
        pub mlid: u16,
        /// The group's address; `None` where no record names it.
        pub mgid: Option<String>,
        /// Name of the switch.
        pub switch: String,
        /// GUID of the switch.
        pub switch_guid: String,
        /// Its port; 0 is the switch itself.
        pub port: u8,
        /// The node behind it; `None` where the capture does not show it.
        pub to: Option<String>,
        /// The port there.
        pub to_port: Option<u8>,
        /// Whether the adapter behind it has joined; `None` for switches, and where no record names the group.
        pub is_member: Option<bool>,
    }

    /// A port that has joined a multicast group.
    pub struct GroupMemberRow {
        /// The group's address.
        pub mgid: String,
        /// The group's LID.
        pub mlid: u16,
        /// The port's address.
        pub port_gid: String,
        /// Its node; `None` where the capture does not show it.
        pub node: Option<String>,
        /// Number of the port there.
        pub port: Option<u8>,
        /// A full member: the group is there as long as it has one.
        pub is_full: bool,
        /// It only sends.
        pub is_send_only: bool,
        /// Whether the switch forwards the group to it, by its table; `None` where the capture does not show it.
        pub is_reached: Option<bool>,
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
        /// The attribute that has it: PortCounters, PortCountersExtended, or another one.
        pub attribute: Cow<'static, str>,
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
        /// The attribute that has the counter.
        pub attribute: Cow<'static, str>,
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
        /// Answers; `None` of messages that ask for none: those of the connection manager are in `rdmawire connections`.
        pub answers: Option<u64>,
        /// Answers whose question is not in the capture, or was answered before.
        pub unasked: u64,
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

/// The name of an attribute of performance management.
pub(super) fn attribute_name(id: u16) -> Cow<'static, str> {
    MgmtClass::PERF.attribute_name(id).unwrap_or_default().into()
}

impl SampleRow {
    pub(super) fn new(
        time_ns: i64,
        frame: u64,
        (lid, port, attribute): (u16, u8, u16),
        counter: Cow<'static, str>,
        value: u64,
        increase: u64,
    ) -> SampleRow {
        let attribute = attribute_name(attribute);
        SampleRow { time_ns, frame, lid, port, attribute, counter, value, increase }
    }
}

impl LinkRow {
    /// Lanes and speed of one, and whether both ends could do more.
    pub fn speed(&self) -> Option<String> {
        let (lanes, mbit) = self.lanes.zip(self.lane_mbit_s)?;
        let slower = if self.is_slower == Some(true) { ", slower than possible" } else { "" };
        Some(format!("{lanes}x {} Gbit/s{slower}", f64::from(mbit) / 1000.0))
    }
}

impl CounterRow {
    /// Whether it is this counter, or that of a lane or service level among those of this name.
    pub(super) fn is_of(&self, counter: &str) -> bool {
        self.counter.split('[').next() == Some(counter)
    }

    /// Whether it counted errors: of a cable, a port, or packets that were dropped.
    pub fn counts_errors(&self) -> bool {
        self.increase > 0 && BAD.iter().any(|(counter, _)| self.is_of(counter))
    }
}

impl Report {
    /// Those of its findings that are trouble: the last one tells what was put together, where that is.
    pub fn troubles(&self) -> &[String] {
        let told = usize::from(self.transfers > 0);
        &self.findings[..self.findings.len().saturating_sub(told)]
    }

    /// What the capture shows, in a sentence.
    pub fn sentence(&self) -> String {
        let is = |kind: &str| self.nodes.iter().filter(|node| node.kind == kind).count() as u64;
        let (switches, adapters) = (is("switch"), is("channel adapter"));
        format!(
            "{}, {}, {} from {}",
            several(switches, "switch"),
            several(adapters, "channel adapter"),
            several(self.links.len() as u64, "link"),
            several(self.datagrams, "management datagram"),
        )
    }
}
