//! Traffic by class: DSCP and priority (PCP) of RoCE, service level and virtual lane of native InfiniBand. Which class has the marks,
//! the losses, the waits; and whether the classes are those that the user's map wants.

mod pair_rows;
mod pairs;
mod siblings;

use std::collections::HashSet;

use super::{Context, Metric, Placed, Verdict, bit_rate, per_flow::PerFlow, ratio};
pub(crate) use pair_rows::Known;
use pairs::{Pairs, Rows};

use crate::{
    analyze::{
        model::{Class, FlowId, QosMap},
        network::priorities::Priorities,
        packet::{Facts, key::Key, path_tag},
        table::run::RunSum,
        track::distribution::Pool,
    },
    in_order::InOrder,
    opcode::{Direction, Operation, Service},
    prefetch,
    report::{self, Operations, Qos, Reason, TrafficClass},
    wire::{Ecn, Syndrome},
};

/// Classes that are told apart; the last one has the rest.
const MAX_CLASSES: usize = 254;
/// Flows that are listed of a kind.
const MAX_LISTED: usize = 256;
/// Places of the table from tag to class: DSCP and PCP, each with one more for none; then SL and VL.
const PCPS: usize = 9;
const OF_ETHERNET: usize = 65 * PCPS;
const PLACES: usize = OF_ETHERNET + 256;
const NONE: u8 = u8::MAX;

/// The metric. A packet costs a look-up in two small tables and a few additions.
#[derive(Clone, Debug, crate::stored::Stored)]
pub struct Traffic {
    /// The place in `classes` by what the tag says.
    places: Box<[u8; PLACES]>,
    classes: Vec<Sums>,
    flows: PerFlow<OfFlow>,
    pairs: Pairs,
}

/// The classes of a flow's packets.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct OfFlow {
    data: u8,
    acks: u8,
    cnps: u8,
    /// Its data was in another class before.
    has_several: bool,
    /// Some of its data is ECN-capable; some is not.
    is_ect: bool,
    is_not_ect: bool,
    /// The DSCP of its data at another tap, where it is another one.
    then: u8,
    /// Its data was not ECN-capable at another tap: so many packets.
    cleared: u32,
    rows: Rows,
}

impl Default for OfFlow {
    fn default() -> OfFlow {
        OfFlow {
            data: NONE,
            acks: NONE,
            cnps: NONE,
            has_several: false,
            is_ect: false,
            is_not_ect: false,
            then: NONE,
            cleared: 0,
            rows: Rows::default(),
        }
    }
}

#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Sums {
    tag: u64,
    packets: u64,
    bytes: u64,
    first_ns: i64,
    last_ns: i64,
    ecn: [u64; 4],
    /// Of those that are not marked there: how many were, where they were recorded again.
    marked_later: u64,
    operations: Operations,
    retransmits: u64,
    naks: u64,
}

impl Sums {
    #[inline(always)]
    fn seen(&mut self, packets: u64, bytes: u64, time: i64) {
        self.packets += packets;
        self.bytes += bytes;
        self.last_ns = self.last_ns.max(time);
    }
}

impl Traffic {
    /// Within so much memory.
    pub fn new(max_memory: usize) -> Traffic {
        Traffic {
            places: Box::new([NONE; PLACES]),
            classes: Vec::new(),
            flows: PerFlow::default(),
            pairs: Pairs::new(max_memory),
        }
    }
}

impl Traffic {
    /// The class of a path tag.
    #[inline(always)]
    fn class(&mut self, tag: u64, time: i64) -> u8 {
        let at = place(tag);
        match self.places.get(at) {
            Some(&class) if class != NONE => class,
            _ => self.begin(at, tag, time),
        }
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, at: usize, tag: u64, time: i64) -> u8 {
        let class = self.classes.len().min(MAX_CLASSES - 1);
        if self.classes.len() < MAX_CLASSES {
            self.classes.push(Sums { tag, first_ns: time, last_ns: time, ..Sums::default() });
        }
        if let Some(place) = self.places.get_mut(at) {
            *place = class as u8;
        }
        class as u8
    }

    /// A packet that was recorded before: at another tap, it may have another DSCP by now.
    #[cold]
    #[inline(never)]
    fn again(&mut self, packet: &Facts, place: &Placed) {
        if place.is_marked_later {
            self.marked_later(packet, place);
        }
        let dscp = path_tag::dscp(packet.path_tag());
        let mut flow = place.flow.filter(|_| !place.is_control).and_then(|id| self.flows.known(id));
        if let Some(flow) = flow.as_mut().filter(|flow| flow.is_ect && !flow.is_not_ect)
            && packet.mark().0 & 3 == 0
        {
            flow.cleared = flow.cleared.saturating_add(1);
        }
        let Some((flow, dscp)) = flow.filter(|flow| !flow.has_several).zip(dscp) else { return };
        let before = self.classes.get(flow.data as usize).and_then(|sums| path_tag::dscp(sums.tag));
        if before.is_some_and(|before| before != dscp) {
            flow.then = dscp;
        }
    }

    /// Marked since it was recorded first: in the class that it had then, as far as that is known.
    fn marked_later(&mut self, packet: &Facts, place: &Placed) {
        let flow = place.flow.and_then(|id| self.flows.get(id)).filter(|flow| !flow.has_several);
        let class = match flow.map(|flow| flow.data) {
            Some(class) if class != NONE => class,
            _ => self.class(packet.path_tag(), packet.time()),
        };
        if let Some(sums) = self.classes.get_mut(class as usize) {
            sums.marked_later += 1;
        }
        if let Some(flow) = place.flow.and_then(|id| self.flows.get(id)) {
            self.pairs.marked_later(flow, class);
        }
    }

    #[inline(always)]
    fn data(flow: &mut OfFlow, class: u8, ecn: Ecn) {
        if flow.data != class {
            flow.has_several |= flow.data != NONE;
            flow.data = class;
        }
        let is_ect = ecn.0 & 3 != 0;
        flow.is_ect |= is_ect;
        flow.is_not_ect |= !is_ect;
    }
}

/// Where the table has a path tag.
#[inline(always)]
fn place(tag: u64) -> usize {
    if let Some((sl, vl)) = path_tag::lanes(tag) {
        return OF_ETHERNET + ((sl as usize) << 4 | vl as usize);
    }
    let dscp = path_tag::dscp(tag).map_or(64, usize::from);
    let pcp = path_tag::pcp(tag).map_or(8, usize::from);
    dscp * PCPS + pcp
}

impl Metric for Traffic {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        match place.class {
            Some(Class::CaptureDuplicate) => return self.again(packet, place),
            // What a corrupt packet says of its class proves nothing; what a switch trims, it moves to another class.
            Some(Class::Corrupt | Class::Trimmed) => return,
            _ => {}
        }
        let time = packet.time();
        let class = self.class(packet.path_tag(), time);
        let operation = packet.opcode().operation();
        let is_data = !place.is_control;
        if let Some(sums) = self.classes.get_mut(class as usize) {
            sums.seen(1, packet.l1_bytes() as u64, time);
            sums.ecn[packet.mark().0 as usize & 3] += 1;
            *of_operation(&mut sums.operations, operation) += 1;
            sums.retransmits += (place.class == Some(Class::Retransmission)) as u64;
            sums.naks += (packet.syndrome() == Some(Syndrome::PSN_SEQUENCE_ERROR)) as u64;
        }
        let Some(flow) = place.flow.and_then(|id| self.flows.entry(id)) else { return };
        self.pairs.packet(flow, class, packet, place.class);
        // Datagrams have no connection: each may have a class of its own.
        if packet.opcode().service() == Service::Ud {
            return;
        }
        if is_data {
            Traffic::data(flow, class, packet.mark());
        } else if operation == Some(Operation::Cnp) {
            flow.cnps = class;
        } else {
            flow.acks = class;
        }
    }

    fn on_run(&mut self, run: &RunSum) {
        let class = self.class(run.path_tag, run.last_ns);
        if let Some(sums) = self.classes.get_mut(class as usize) {
            sums.seen(run.packets, run.l1_bytes, run.last_ns);
            sums.ecn[run.ecn.0 as usize & 3] += run.packets;
            match run.space {
                Direction::Response => sums.operations.read_responses += run.packets,
                Direction::Request => {
                    sums.operations.sends += run.sends;
                    sums.operations.writes += run.packets - run.sends;
                }
            }
        }
        let Some(flow) = self.flows.entry(run.flow) else { return };
        Traffic::data(flow, class, run.ecn);
        self.pairs.run(flow, class, (run.packets, run.l1_bytes), run.ecn);
    }

    fn on_verdict(&mut self, verdict: &Verdict) {
        if verdict.class == Class::Retransmission {
            let class = self.class(verdict.path_tag, verdict.time_ns);
            if let Some(sums) = self.classes.get_mut(class as usize) {
                sums.retransmits += 1;
            }
            if let Some(flow) = self.flows.get(verdict.flow) {
                let is_request = verdict.space == Direction::Request && verdict.payload == 0;
                self.pairs.retransmission(flow, class, is_request);
            }
        }
    }

    fn on_retire(&mut self, flow: FlowId) {
        if let Some(flow) = self.flows.retire(flow) {
            self.pairs.retire(&flow);
        }
    }

    #[inline(always)]
    fn prefetch(&self, flow: FlowId) {
        self.flows.get(flow).into_iter().for_each(prefetch::line);
    }

    fn heap_bytes(&self) -> usize {
        self.pairs.heap_bytes()
    }
}

impl Traffic {
    /// Classes, and what is odd about them, by the map that holds. `pauses`: the rows of pauses; `clear_to_send`: flows of collectives' elements.
    pub(crate) fn section(
        &self,
        context: &Context<'_>,
        pauses: Result<&[report::Pause], Reason>,
        clear_to_send: &HashSet<Key>,
    ) -> (Vec<TrafficClass>, Qos) {
        let priorities = &context.network.priorities;
        let map = priorities.map();
        let mut order: Vec<usize> = (0..self.classes.len()).collect();
        order.order_by_key(|&at| (std::cmp::Reverse(self.classes[at].bytes), self.classes[at].tag));
        let mut rest: Vec<Rest> = self.classes.iter().map(|_| Rest::default()).collect();
        let mut qos = Qos {
            map_given: priorities.is_given(),
            map_from_dcbx: map.is_some() && !priorities.is_given(),
            dcbx: context.network.dcbx_ports(),
            ..Qos::default()
        };
        for (_, flow) in self.flows.iter() {
            if let Some(rest) = rest.get_mut(flow.data as usize).filter(|_| flow.is_ect) {
                rest.has_ect = true;
            }
        }
        self.look_at_siblings(context, &mut qos);
        // Behind a device that clears ECN nothing shows what senders set; nor where both sides of it are one interface.
        let passages = &context.network.passages;
        let cleared = self.flows.iter().filter(|(_, flow)| flow.cleared > 0 && !flow.is_not_ect);
        let again = |id: FlowId| match passages.of(id) {
            [] => passages.first(id).into_iter().collect::<Vec<u16>>(),
            others => others.iter().map(|passage| passage.interface).collect(),
        };
        let behind: HashSet<u16> = cleared.flat_map(|(id, _)| again(id)).collect();
        let is_behind = |id: FlowId| passages.first(id).is_some_and(|first| behind.contains(&first));
        for (id, flow) in self.flows.iter() {
            self.look_at((id, flow), (map, clear_to_send), context, &mut qos);
            let is_apart = rest.get(flow.data as usize).is_some_and(|rest| rest.has_ect);
            if is_apart && flow.is_not_ect && !flow.is_ect && !flow.has_several && !is_behind(id) {
                note_not_ect(id, context, &mut qos);
            }
            let Some(rest) = rest.get_mut(flow.data as usize).filter(|_| !flow.has_several) else { continue };
            let Some(detail) = context.detail(id) else { continue };
            rest.flows += 1;
            if let Some([least, most]) = context.lost(id) {
                let lost = rest.lost.get_or_insert([0, 0]);
                *lost = [lost[0].saturating_add(least), lost[1].saturating_add(most)];
            }
            if let Some(rtt) = detail.ack_rtt {
                rest.is_answered = true;
                rest.rtt.add(rtt);
            }
        }
        let rows = order.into_iter().map(|at| row(&self.classes[at], &rest[at], priorities, pauses));
        (rows.collect(), qos)
    }
}

/// A flow with fewer packets may be anything: the setup of a connection.
const MIN_PACKETS: u64 = 16;

/// Notes a flow whose data no switch marks.
fn note_not_ect(id: FlowId, context: &Context<'_>, qos: &mut Qos) {
    let Some((known, detail)) = context.flow(id).zip(context.detail(id)) else { return };
    let packets = detail.activity.packets.max(detail.data.map_or(0, |data| data.packets));
    if packets >= MIN_PACKETS {
        qos.not_ect_count += 1;
        if qos.not_ect.len() < MAX_LISTED {
            qos.not_ect.push(known.index);
        }
    }
}

/// What comes from the flows of a class.
#[derive(Default)]
struct Rest {
    /// Some data in it is ECN-capable.
    has_ect: bool,
    flows: u64,
    lost: Option<report::Bounds>,
    /// Answers were seen: those of READs have no acknowledgement.
    is_answered: bool,
    rtt: Pool,
}

#[inline(always)]
fn of_operation(operations: &mut Operations, operation: Option<Operation>) -> &mut u64 {
    match operation {
        Some(Operation::Write) => &mut operations.writes,
        Some(Operation::Send) => &mut operations.sends,
        Some(Operation::ReadRequest) => &mut operations.read_requests,
        Some(Operation::ReadResponse) => &mut operations.read_responses,
        Some(Operation::Acknowledge | Operation::Sack | Operation::Nack) => &mut operations.acks,
        Some(Operation::Cnp) => &mut operations.cnps,
        Some(
            Operation::CompareSwap
            | Operation::FetchAdd
            | Operation::AtomicAcknowledge
            | Operation::AtomicWrite,
        ) => &mut operations.atomics,
        Some(Operation::Flush | Operation::Resync | Operation::Probe | Operation::Endpoint) | None => {
            &mut operations.others
        }
    }
}

fn row(
    sums: &Sums,
    rest: &Rest,
    priorities: &Priorities,
    pauses: Result<&[report::Pause], Reason>,
) -> TrafficClass {
    let lanes = path_tag::lanes(sums.tag);
    let (priority, map) = (priorities.by(sums.tag), priorities.map());
    let lasted = sums.last_ns.saturating_sub(sums.first_ns);
    let paused = |priority: u8| {
        let of_it = pauses.ok()?.iter().filter(|pause| pause.priority.is_none_or(|other| other == priority));
        of_it.map(|pause| pause.paused_ns).sum::<Option<u64>>()
    };
    let ce = sums.ecn[Ecn::CE.0 as usize] + sums.marked_later;
    let mut row = TrafficClass {
        dscp: path_tag::dscp(sums.tag),
        pcp: path_tag::pcp(sums.tag),
        sl: lanes.map(|(sl, _)| sl),
        vl: lanes.map(|(_, vl)| vl),
        priority: priority.map(|(priority, _)| priority),
        priority_by: priority.map(|(_, by)| by),
        pfc: map.zip(priority).map(|(map, (priority, _))| map.has_pfc(priority)),
        packets: sums.packets,
        wire_bytes: sums.bytes,
        rate_bps: (lasted > 0).then(|| bit_rate(sums.bytes, lasted.unsigned_abs())),
        operations: sums.operations,
        ect_packets: sums.ecn[1..].iter().sum(),
        ce_packets: ce,
        ce_ratio: ratio(ce, sums.ecn[1..].iter().sum()),
        retransmits: sums.retransmits,
        naks: sums.naks,
        flows: rest.flows,
        lost: rest.lost,
        paused_ns: priority.and_then(|(priority, _)| paused(priority)),
        ack_rtt_ns: rest.rtt.summary(),
        ..TrafficClass::default()
    };
    let reason = pauses.err().unwrap_or(Reason::UnknownSpeed);
    let missing = [
        ("rate_bps", row.rate_bps.is_none(), Reason::TooFew),
        ("pfc", row.pfc.is_none(), Reason::NotRequested),
        ("lost", row.lost.is_none() && rest.flows > 0, Reason::OneWay),
        (
            "paused_ns",
            row.paused_ns.is_none(),
            if lanes.is_some() { Reason::NoPfcVisibility } else { reason },
        ),
        ("ack_rtt_ns", row.ack_rtt_ns.is_none() && rest.flows > 0 && !rest.is_answered, Reason::OneWay),
    ];
    let missing = missing.into_iter().filter(|&(_, is_missing, _)| is_missing);
    row.why = missing.map(|(field, _, reason)| (field.into(), reason)).collect();
    row
}

impl Traffic {
    /// Flows whose data is in another class than that of most others like them.
    fn look_at_siblings(&self, context: &Context<'_>, qos: &mut Qos) {
        let used = self.classes.len();
        // Mostly, all data is in one class.
        if used < 2 {
            return;
        }
        let member = |(id, flow): (FlowId, &OfFlow)| {
            if flow.data == NONE || flow.has_several {
                return None;
            }
            let (known, detail) = context.flow(id).zip(context.detail(id))?;
            let of =
                detail.data.filter(|data| data.packets > detail.activity.packets).unwrap_or(detail.activity);
            let (src, dst, packets) = (of.src, of.dst, of.packets);
            Some(siblings::Member { flow: known.index, src, dst, packets, class: flow.data })
        };
        let members: Vec<siblings::Member> = self.flows.iter().filter_map(member).collect();
        let odd = siblings::odd(&members);
        let class = |at: u8| self.classes.get(at as usize).map_or(0, |sums| sums.tag);
        qos.odd_class_count = odd.len() as u64;
        qos.odd_class = odd
            .into_iter()
            .take(MAX_LISTED)
            .map(|siblings::Odd { flow, class: is, siblings: (usual, siblings) }| report::OddClass {
                flow,
                dscp: path_tag::dscp(class(is)),
                pcp: path_tag::pcp(class(is)),
                sl: path_tag::lanes(class(is)).map(|(sl, _)| sl),
                siblings,
                siblings_dscp: path_tag::dscp(class(usual)),
                siblings_pcp: path_tag::pcp(class(usual)),
                siblings_sl: path_tag::lanes(class(usual)).map(|(sl, _)| sl),
            })
            .collect();
    }

    /// What is odd about the classes of a flow.
    fn look_at(
        &self,
        (id, flow): (FlowId, &OfFlow),
        (map, clear_to_send): (Option<&QosMap>, &HashSet<Key>),
        context: &Context<'_>,
        qos: &mut Qos,
    ) {
        if flow.data == NONE && flow.acks == NONE && flow.cnps == NONE {
            return;
        }
        let Some(known) = context.flow(id) else { return };
        let back = known.peer.and_then(|peer| self.flows.get(peer)).copied().unwrap_or_default();
        let note = |list: &mut Vec<usize>, all: &mut u64| {
            *all += 1;
            if list.len() < MAX_LISTED {
                list.push(known.index);
            }
        };
        let tag = |class: u8| self.classes.get(class as usize).map(|sums| sums.tag);
        if let Some(dscp) = tag(flow.data).and_then(path_tag::dscp).filter(|_| flow.then != NONE) {
            qos.rewritten_count += 1;
            if qos.rewritten.len() < MAX_LISTED {
                qos.rewritten.push(report::Rewritten { flow: known.index, dscp, then: flow.then });
            }
        }
        // That all of its data was capable before is known at the end.
        if flow.cleared > 0 && !flow.is_not_ect {
            qos.ecn_cleared_count += 1;
            if qos.ecn_cleared.len() < MAX_LISTED {
                qos.ecn_cleared.push(report::EcnCleared { flow: known.index, packets: flow.cleared.into() });
            }
        }
        let differ = |a: u8, b: u8| a != NONE && b != NONE && a != b;
        let is_first = known.peer.is_none_or(|peer| id < peer);
        // The two ends of a collective's connection set their classes by themselves (NCCL_IB_TC and NCCL_IB_FIFO_TC): each sends all in its own.
        let mut keys = [flow, &back].into_iter().filter_map(|flow| self.pairs.key(flow));
        let is_by_end = keys.any(|key| clear_to_send.contains(&key));
        if flow.has_several || is_first && differ(flow.data, back.data) && !is_by_end {
            note(&mut qos.several_classes, &mut qos.several_classes_count);
        }
        let priority = |class: u8| {
            tag(class).and_then(|tag| context.network.priorities.by(tag)).map(|(priority, _)| priority)
        };
        let is_wanted = |class: u8| {
            let wanted = map.and_then(|map| map.ack);
            wanted.is_some() && wanted == priority(class)
        };
        // Both may be in one priority: that is one queue.
        let is_one = map.is_some() && priority(flow.acks) == priority(back.data);
        let is_own = is_by_end && !differ(flow.acks, flow.data);
        if differ(flow.acks, back.data) && !is_one && !is_own && !is_wanted(flow.acks) {
            note(&mut qos.acks_elsewhere, &mut qos.acks_elsewhere_count);
        }
        let Some(map) = map else { return };
        if priority(flow.data).is_some_and(|priority| !map.has_pfc(priority)) {
            note(&mut qos.without_pfc, &mut qos.without_pfc_count);
        }
        if let Some(wanted) = map.cnp
            && priority(flow.cnps).is_some_and(|priority| priority != wanted)
        {
            note(&mut qos.cnps_elsewhere, &mut qos.cnps_elsewhere_count);
        }
        let disagrees = |tag: u64| {
            let [by_dscp, by_pcp] = map.both(path_tag::dscp(tag), path_tag::pcp(tag));
            by_dscp.zip(by_pcp).is_some_and(|(a, b)| a != b)
        };
        if [flow.data, flow.acks].into_iter().filter_map(tag).any(disagrees) {
            note(&mut qos.disagreeing, &mut qos.disagreeing_count);
        }
    }
}
