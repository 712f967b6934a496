//! A subnet of InfiniBand as its management datagrams show it: nodes, ports, links, forwarding, subnet managers, multicast groups, paths, and
//! what counters of ports have counted meanwhile.
//!
//! What a subnet manager asks on directed routes says where each node is; what it asks by LIDs, what it sets, and the tables of subnet
//! administration say the rest. Only answers count: a question shows what somebody wants, not what is.

mod copies;
mod counters;
mod findings;
mod multicast;
mod nodes;
mod operations;
mod results;
mod routes;
mod rows;
mod segments;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    capture::Record,
    dissect::{Address, Dissection},
    follow::{Doubt, Turn},
    opcode::Opcode,
    wire::*,
};
use copies::Copies;
use counters::{Counters, has_counters};
use nodes::{Attribute, Link, Node, Nodes, Route};
use operations::Operations;
use segments::Segments;

pub use routes::{Hop, Unreachable};
pub use rows::{
    CounterRow, GroupRow, LinkRow, ManagerRow, NodeRow, OperationRow, PathRow, PortRow, Report, SCHEMA,
    SampleRow, ServiceRow, TrapRow, schema,
};

/// Rows of each kind that are kept; others are counted.
const MOST: usize = 1 << 17;
/// A datagram has 256 bytes.
const MAD_LEN: usize = 256;

/// What the datagrams of a capture show of a subnet, frame by frame.
#[derive(Debug, Default)]
pub struct Fabric {
    nodes: Nodes,
    /// What records say of LIDs whose node is not known yet.
    later: Vec<(u16, Attribute)>,
    /// Links by LIDs: from subnet administration.
    links_by_lid: BTreeSet<(u16, u8, u16, u8)>,
    managers: BTreeMap<u64, Manager>,
    groups: BTreeMap<u128, Group>,
    paths: BTreeMap<(u16, u16, u8), PathRecord>,
    services: BTreeMap<(u64, u128), ServiceRecord>,
    subscriptions: u64,
    traps: BTreeMap<(u16, u16), Trap>,
    /// By LID, port and attribute.
    counters: BTreeMap<(u16, u8, u16), Counters>,
    samples: Vec<SampleRow>,
    operations: Operations,
    segments: Segments,
    span: Option<[i64; 2]>,
    datagrams: u64,
    copies: Copies,
    doubt: Doubt,
    cut: u64,
    left_out: u64,
}

/// A subnet manager.
#[derive(Debug)]
struct Manager {
    lid: u16,
    info: SmInfo,
    first_count: u32,
    changes: u32,
}

/// A multicast group.
#[derive(Debug)]
struct Group {
    record: McMemberRecord,
    /// By their GIDs, how they have joined.
    members: BTreeMap<u128, u8>,
}

/// Notices of one kind from one port.
#[derive(Debug)]
struct Trap {
    notice: Notice,
    count: u64,
    last_ns: i64,
}

/// A datagram, and what is below it.
struct Datagram<'a> {
    mad: &'a Mad,
    /// Behind the common header.
    bytes: &'a [u8],
    /// From its first byte.
    whole: &'a [u8],
    from: Address,
    to: Address,
    /// The sender's LID; `None` where it has none, or none yet.
    lid: Option<u16>,
    time: i64,
    frame: u64,
    interface: u16,
}

impl Fabric {
    /// One frame and its number, from 1.
    pub fn push(&mut self, frame: u64, record: &Record<'_>, d: &Dissection<'_>) {
        match self.doubt.take(frame, record, d) {
            Turn::Now => self.read(frame, record, d),
            Turn::Later => {}
            Turn::All(held) => held.iter().for_each(|one| one.with(|n, record, d| self.read(n, record, d))),
        }
    }

    fn read(&mut self, frame: u64, record: &Record<'_>, d: &Dissection<'_>) {
        if d.opcode() != Some(Opcode::UD_SEND_ONLY) || d.get::<Bth>().is_none_or(|bth| bth.dest_qp().0 > 1) {
            return;
        }
        let Some([from, to]) = d.addresses() else { return };
        let time = record.time.0;
        let payload = d.payload();
        let Some((mad, bytes)) = Mad::view(payload).filter(|(mad, _)| mad.base_version() == 1) else {
            return;
        };
        if payload.len() < MAD_LEN {
            self.cut += 1;
            return;
        }
        if !self.doubt.accepts(d) || self.copies.has(([from, to], payload), record.interface, time) {
            return;
        }
        self.datagrams += 1;
        self.span = Some(self.span.map_or([time; 2], |[first, last]| [first.min(time), last.max(time)]));
        let lid = d.get::<Lrh>().map(Lrh::slid).filter(|lid| lid.is_unicast()).map(|lid| lid.0);
        let interface = record.interface;
        let of = Datagram { mad, bytes, whole: payload, from, to, lid, time, frame, interface };
        self.operations.on_datagram(&of);
        match mad.mgmt_class() {
            MgmtClass::SUBN_LID | MgmtClass::SUBN_DIRECTED => self.on_subnet(&of),
            MgmtClass::SUBN_ADM => self.on_administration(&of),
            MgmtClass::PERF => self.on_performance(&of),
            class => _ = self.on_segment(&of, class.headers()),
        }
    }

    /// The way of packets from a port with one LID to another one, by links and forwarding tables.
    ///
    /// # Errors
    /// Says why they do not arrive.
    pub fn way(&mut self, from: u16, to: u16) -> Result<Vec<Hop>, Unreachable> {
        self.settle();
        routes::way(&self.nodes, from, to)
    }

    /// What a node calls itself; its GUID where the capture does not show that.
    pub fn name(&self, node: u64) -> String {
        name_of(node, self.nodes.get(node))
    }

    /// What the frames show.
    pub fn finish(mut self) -> Report {
        self.settle();
        results::report(self)
    }

    /// Joins what is known of LIDs with the nodes that have them.
    fn settle(&mut self) {
        for held in self.doubt.release() {
            held.with(|frame, record, d| self.read(frame, record, d));
        }
        for (lid, later) in std::mem::take(&mut self.later) {
            if let Some((node, _)) = self.nodes.of_lid(lid) {
                self.nodes.on_attribute(node, &later);
            }
        }
        for &(from, from_port, to, to_port) in &self.links_by_lid {
            if let (Some((a, _)), Some((b, _))) = (self.nodes.of_lid(from), self.nodes.of_lid(to)) {
                self.nodes.join(Link { node: a, port: from_port }, Link { node: b, port: to_port });
            }
        }
    }

    fn on_subnet(&mut self, of: &Datagram<'_>) {
        if of.mad.method() == MadMethod::TRAP {
            if let Some((notice, _)) = of.bytes.get(SmpLid::LEN..).and_then(Notice::view) {
                self.trap(notice, of.time);
            }
            return;
        }
        if of.mad.method() != MadMethod::GET_RESP || of.mad.status().0 & 0x7fff != 0 {
            return;
        }
        let Some(data) = of.bytes.get(SmpLid::LEN..) else { return };
        let is_directed = of.mad.mgmt_class() == MgmtClass::SUBN_DIRECTED;
        let route = if is_directed { route_of(of.whole, of.interface) } else { None };
        let id = of.mad.attribute_id().0;
        let modifier = of.mad.attribute_modifier().0;
        let Some(&kind) = MgmtClass::SUBN_LID.attribute(id).and_then(|attribute| attribute.kinds.first())
        else {
            return;
        };
        match kind {
            Kind::NodeInfo => {
                if let Some((info, _)) = NodeInfo::view(data) {
                    self.left_out += u64::from(!self.nodes.on_info(info, route.as_ref(), of.lid));
                }
                return;
            }
            Kind::SmInfo => {
                if let Some((info, _)) = SmInfo::view(data) {
                    self.manager(of.lid.unwrap_or(0), info);
                }
                return;
            }
            _ => {}
        }
        let node = match (&route, of.lid) {
            (Some(route), _) => self.nodes.at(route),
            (None, Some(lid)) => self.nodes.of_lid(lid).map(|(node, _)| node),
            _ => None,
        };
        if let Some(node) = node {
            self.nodes.on_answer(node, kind, modifier, data);
        } else if let (Some(later), Some(lid)) = (Attribute::of(kind, modifier, data), of.lid) {
            self.keep(lid, later);
        }
    }

    /// What is said of the port with this LID: the node may be known only when all was heard.
    fn keep(&mut self, lid: u16, later: Attribute) {
        if let Some((node, _)) = self.nodes.of_lid(lid) {
            self.nodes.on_attribute(node, &later);
        } else if self.later.len() < MOST {
            self.later.push((lid, later))
        } else {
            self.left_out += 1
        }
    }

    fn manager(&mut self, lid: u16, info: &SmInfo) {
        if let Some(manager) = self.managers.get_mut(&info.guid().0) {
            manager.changes += u32::from(manager.info.sm_state() != info.sm_state());
            (manager.info, manager.lid) = (*info, if lid == 0 { manager.lid } else { lid });
        } else if self.managers.len() < MOST {
            let first_count = info.act_count();
            self.managers.insert(info.guid().0, Manager { lid, info: *info, first_count, changes: 0 });
        }
    }

    fn trap(&mut self, notice: &Notice, time: i64) {
        let key = (notice.trap_number().0, notice.issuer_lid().0);
        if self.traps.len() >= MOST && !self.traps.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        let trap = self.traps.entry(key).or_insert(Trap { notice: *notice, count: 0, last_ns: time });
        (trap.count, trap.last_ns) = (trap.count + 1, time);
    }

    fn on_administration(&mut self, of: &Datagram<'_>) {
        let Some((rmpp, after)) = Rmpp::view(of.bytes) else { return };
        let Some((header, data)) = SaHeader::view(after) else { return };
        let (id, method) = (of.mad.attribute_id().0, of.mad.method());
        if rmpp.active() {
            let key = segments::key(of.from, of.to, of.mad);
            if let Some(table) = self.segments.add(key, rmpp, data, SaHeader::LEN, of.time) {
                self.operations.on_transfer(of, table.len() as u64);
                self.records(of, id, header.attribute_offset().into(), &table);
            }
            return;
        }
        if of.mad.status().0 != 0 {
            return;
        }
        if method.is_response() || matches!(method.0, 0x05 | 0x06) {
            self.record(of, id, data);
        }
    }

    /// The records of a table, `stride` units of eight bytes from one to the next.
    fn records(&mut self, of: &Datagram<'_>, id: u16, stride: usize, table: &[u8]) {
        if of.mad.method() != MadMethod::GET_TABLE_RESP || stride == 0 {
            return;
        }
        for record in table.chunks_exact(stride * 8) {
            self.record(of, id, record);
        }
    }

    fn record(&mut self, of: &Datagram<'_>, id: u16, record: &[u8]) {
        self.try_record(of, id, record).unwrap_or_default();
    }

    /// `None` where the record is cut.
    fn try_record(&mut self, of: &Datagram<'_>, id: u16, record: &[u8]) -> Option<()> {
        let kinds = MgmtClass::SUBN_ADM.attribute(id)?.kinds;
        match kinds {
            [Kind::LidRecord, rest @ ..] => {
                let (begin, data) = LidRecord::view(record)?;
                let lid = begin.lid().0;
                match rest.first()? {
                    Kind::NodeInfo => {
                        let (info, name) = NodeInfo::view(data)?;
                        self.left_out += u64::from(!self.nodes.on_info(info, None, Some(lid)));
                        let name = *NodeDescription::view(name)?.0;
                        self.nodes.change(info.node_guid().0, |node| node.name = Some(name));
                    }
                    Kind::SwitchInfo => self.keep(lid, Attribute::Switch(*SwitchInfo::view(data)?.0)),
                    _ => self.manager(lid, SmInfo::view(data)?.0),
                }
            }
            [Kind::PortInfoRecord, ..] => {
                let (begin, data) = PortInfoRecord::view(record)?;
                self.keep(begin.endport_lid().0, Attribute::Port(begin.port_num(), *PortInfo::view(data)?.0));
            }
            [Kind::ForwardingRecord, Kind::LinearFdb] => {
                let (begin, data) = ForwardingRecord::view(record)?;
                self.keep(begin.lid().0, Attribute::Ports(begin.block_num().0, *LinearFdb::view(data)?.0));
            }
            [Kind::LinkRecord] => {
                let (link, _) = LinkRecord::view(record)?;
                if self.links_by_lid.len() < MOST {
                    let (from, to) = (link.from_lid().0, link.to_lid().0);
                    self.links_by_lid.insert((from, link.from_port(), to, link.to_port()));
                }
            }
            [Kind::PathRecord] => {
                let (path, _) = PathRecord::view(record)?;
                let key = (path.slid().0, path.dlid().0, path.sl());
                if self.paths.len() < MOST || self.paths.contains_key(&key) {
                    self.paths.insert(key, *path);
                } else {
                    self.left_out += 1;
                }
            }
            [Kind::McMemberRecord] => {
                let (member, _) = McMemberRecord::view(record)?;
                let key = u128::from(member.mgid());
                if self.groups.len() >= MOST && !self.groups.contains_key(&key) {
                    self.left_out += 1;
                    return Some(());
                }
                let members = BTreeMap::new();
                let group = self.groups.entry(key).or_insert(Group { record: *member, members });
                group.record = *member;
                let port = u128::from(member.port_gid());
                let has_left = of.mad.method().0 == 0x95;
                match (port, has_left) {
                    (0, _) => {}
                    (_, true) => _ = group.members.remove(&port),
                    _ if group.members.len() < MOST => _ = group.members.insert(port, member.join_state().0),
                    _ => self.left_out += 1,
                }
            }
            [Kind::ServiceRecord] => {
                let (service, _) = ServiceRecord::view(record)?;
                if self.services.len() < MOST {
                    let key = (service.service_id().0, u128::from(service.service_gid()));
                    self.services.insert(key, *service);
                }
            }
            [Kind::Notice, ..] => self.trap(Notice::view(record)?.0, of.time),
            [Kind::InformInfo] | [Kind::InformInfoRecord, ..] => self.subscriptions += 1,
            _ => {}
        }
        Some(())
    }

    fn on_performance(&mut self, of: &Datagram<'_>) {
        if of.mad.method() != MadMethod::GET_RESP || of.mad.status().0 != 0 {
            return;
        }
        let (Some(lid), Some(data)) = (of.lid, of.bytes.get(ClassReserved::LEN..)) else { return };
        let Some(attribute) = MgmtClass::PERF.attribute(of.mad.attribute_id().0) else { return };
        let Some(info) =
            attribute.kinds.first().and_then(|kind| kind.info()).filter(|info| has_counters(info))
        else {
            return;
        };
        let Some(data) = data.get(..info.len) else { return };
        let port = data.get(1).copied().unwrap_or(0);
        let key = (lid, port, attribute.id);
        if self.counters.len() >= MOST && !self.counters.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        let counters = self.counters.entry(key).or_insert_with(|| Counters::new(info, of.time));
        let samples = &mut self.samples;
        let mut left_out = 0;
        counters.add(data, of.time, |counter, value, increase| {
            if samples.len() >= MOST {
                left_out += 1;
                return;
            }
            samples.push(SampleRow::new(of.time, of.frame, key, counter, value, increase));
        });
        self.left_out += left_out;
    }

    /// A datagram of another class: where it is a segment, what the whole has.
    fn on_segment(&mut self, of: &Datagram<'_>, headers: &[Kind]) -> Option<()> {
        if headers.first() != Some(&Kind::Rmpp) {
            return None;
        }
        let (rmpp, after) = Rmpp::view(of.bytes)?;
        let before: usize = headers.iter().skip(1).filter_map(|kind| kind.info()).map(|info| info.len).sum();
        let key = segments::key(of.from, of.to, of.mad);
        let whole = self.segments.add(key, rmpp, after.get(before..)?, before, of.time)?;
        self.operations.on_transfer(of, whole.len() as u64);
        Some(())
    }
}

/// The directed route of an answer: where it was recorded and where it begins, and of each hop the port by which the question left a node,
/// and the one by which it came to the next: who asks from elsewhere has other ones, so that routes of several managers are told apart.
fn route_of(datagram: &[u8], interface: u16) -> Option<Route> {
    let (mad, _) = MadDirected::view(datagram)?;
    let (smp, _) = SmpDirected::view(datagram.get(MadDirected::LEN..)?)?;
    let (path, _) = SmpPath::view(datagram.get(SmpPath::AT..)?)?;
    let hops = 1..=usize::from(mad.hop_count());
    let (left, came) = (path.initial_path(), path.return_path());
    let hops = left.0.get(hops.clone())?.iter().zip(came.0.get(hops)?);
    Some(Route {
        begin: (interface, smp.dr_slid().0),
        hops: hops.map(|(left, came)| [*left, *came]).collect(),
    })
}

/// The name of a node; its GUID where it has none.
fn name_of(guid: u64, node: Option<&Node>) -> String {
    node.and_then(Node::name).unwrap_or_else(|| format!("{guid:#018x}"))
}
