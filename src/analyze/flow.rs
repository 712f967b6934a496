//! A flow: what is known of the packets from one host to a queue pair of another.

use std::ops::{Deref, DerefMut};

use super::{
    FlowId,
    facts::{Facts, look},
    flows::Begin,
    key::Key,
    track::{
        SILENCE_NS,
        lazy::{Lazy, quiet},
        order::IdOrder,
        request::{Knobs, Requests},
        response::Responses,
        ring::{Ring, Room},
    },
};
use crate::{
    dissect::Encapsulation,
    fetch,
    icrc::State,
    opcode::{Direction, Opcode, PayloadRule, Position, Service, Shape},
    wire::*,
};

/// How two flows were found to belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PairedBy {
    UdpPort,
    Psn,
    Cm,
    Map,
}

impl PairedBy {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            PairedBy::UdpPort => "udp-port",
            PairedBy::Psn => "psn",
            PairedBy::Cm => "cm",
            PairedBy::Map => "map",
        }
    }
}

/// What may tell paths apart: VLANs, DSCPs, TTLs and source ports, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looks {
    /// Of the last packet, see [`Facts::look`]; 0 before the first.
    last: u64,
    /// Once there were several.
    lists: Option<Box<Lists>>,
}

/// Each in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    pub(crate) vlans: Vec<u16>,
    pub(crate) dscps: Vec<u8>,
    pub(crate) ttls: Vec<u8>,
    pub(crate) ports: Vec<u16>,
}

/// Values kept of each.
const FEW: usize = 32;

impl Looks {
    #[inline(always)]
    pub(crate) fn add(&mut self, look: u64) {
        if !self.is_as_last(look) {
            self.changed(look);
        }
    }

    /// Whether the last packet looked so too.
    #[inline(always)]
    pub(crate) fn is_as_last(&self, look: u64) -> bool {
        look == self.last
    }

    #[cold]
    fn changed(&mut self, look: u64) {
        if self.last != 0 {
            let lists = self.lists.get_or_insert_with(|| Box::new(Lists::of(self.last)));
            lists.add(look);
        }
        self.last = look;
    }

    pub(crate) fn lists(&self) -> Lists {
        self.lists.as_deref().cloned().unwrap_or_else(|| Lists::of(self.last))
    }

    /// Whether some packet had this source port.
    pub(crate) fn has_port(&self, port: u16) -> bool {
        match &self.lists {
            Some(lists) => lists.ports.contains(&port),
            None => look::port(self.last) == Some(port),
        }
    }

    /// The source port, where it was always the same.
    pub(crate) fn only_port(&self) -> Option<u16> {
        match self.lists.as_deref().map(|lists| &lists.ports[..]) {
            Some(&[only]) => Some(only),
            Some(_) => None,
            None => look::port(self.last),
        }
    }

    fn heap(&self) -> usize {
        self.lists.as_ref().map_or(0, |lists| {
            let wide = lists.vlans.capacity() + lists.ports.capacity();
            size_of::<Lists>() + 2 * wide + lists.dscps.capacity() + lists.ttls.capacity()
        })
    }
}

impl Lists {
    fn of(look: u64) -> Lists {
        let mut lists = Lists::default();
        lists.add(look);
        lists
    }

    fn add(&mut self, look: u64) {
        fn add<T: PartialEq>(list: &mut Vec<T>, value: Option<T>) {
            if let Some(value) = value
                && list.len() < FEW
                && !list.contains(&value)
            {
                list.push(value);
            }
        }
        add(&mut self.vlans, look::vlan(look));
        add(&mut self.dscps, look::dscp(look));
        add(&mut self.ttls, look::ttl(look));
        add(&mut self.ports, look::port(look));
    }
}

/// Packets by operation code: a flow has few.
#[derive(Clone, Debug, Default)]
pub(crate) struct Opcodes {
    codes: [u8; HERE],
    used: u8,
    packets: [u64; HERE],
    /// Those beyond.
    more: Option<Box<MoreOpcodes>>,
}

#[derive(Clone, Debug)]
#[repr(C)]
struct MoreOpcodes {
    /// The upper bits of the codes that are counted here: queue pairs are of one service.
    service: u8,
    /// By operation code, where some are of another: 2 KiB that hardly any flow has.
    others: Option<Box<[u64; CODES]>>,
    packets: [u64; OF_SERVICE],
}

/// Operation codes that there may be, and those of a service.
const CODES: usize = 1 << u8::BITS;
const OF_SERVICE: usize = 32;

/// Operation codes that are counted in the flow itself.
const HERE: usize = 4;

/// Where a code stands among some; where it does not, a number that none has.
#[inline(always)]
fn find(codes: [u8; HERE], code: u8) -> usize {
    // All codes are compared at once: a byte that is zero afterwards borrows, and the lowest one that does is right.
    const ONES: u32 = u32::from_ne_bytes([1; HERE]);
    let differences = u32::from_le_bytes(codes) ^ (ONES * code as u32);
    let zeros = differences.wrapping_sub(ONES) & !differences & ONES << 7;
    zeros.trailing_zeros() as usize / 8
}

impl Opcodes {
    #[inline]
    pub(crate) fn add(&mut self, opcode: u8) {
        self.add_many(opcode, 1);
    }

    /// So many of one code.
    #[inline]
    pub(crate) fn add_many(&mut self, opcode: u8, n: u64) {
        let at = find(self.codes, opcode);
        match self.packets.get_mut(at) {
            Some(packets) if at < self.used as usize => *packets += n,
            _ => self.another(opcode, n),
        }
    }

    #[inline(never)]
    fn another(&mut self, opcode: u8, n: u64) {
        let at = self.used as usize;
        if at < HERE {
            (self.codes[at], self.packets[at]) = (opcode, n);
            self.used += 1;
            return;
        }
        let (code, service) = (opcode as usize % OF_SERVICE, opcode / OF_SERVICE as u8);
        let none = || Box::new(MoreOpcodes { service, others: None, packets: [0; OF_SERVICE] });
        let more = &mut **self.more.get_or_insert_with(none);
        if service == more.service {
            more.packets[code] += n;
        } else {
            more.others.get_or_insert_with(|| Box::new([0; CODES]))[opcode as usize] += n;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u8, u64)> {
        let here = self.codes.into_iter().zip(self.packets).take(self.used as usize);
        let of_service = |more: &MoreOpcodes| (more.service * OF_SERVICE as u8..=u8::MAX).zip(more.packets);
        let more = self.more.as_deref();
        let others = more.and_then(|more| more.others.as_deref());
        let others = others.into_iter().flat_map(|others| (0..=u8::MAX).zip(others.iter().copied()));
        let more = more.into_iter().flat_map(of_service).chain(others);
        here.chain(more.filter(|&(_, packets)| packets > 0))
    }

    fn heap(&self) -> usize {
        self.more.as_ref().map_or(0, |more| {
            size_of::<MoreOpcodes>() + more.others.as_ref().map_or(0, |others| size_of_val(&**others))
        })
    }
}

/// What a flow was seen to have.
pub(super) const REQUESTS: u8 = 8;
pub(super) const RESPONSES: u8 = 16;

/// A flow. In this order, what every packet needs is together: half of it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Flow {
    pub(crate) key: Key,
    pub(crate) last_time: i64,
    pub(crate) packets: u64,
    pub(crate) wire_bytes: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) icrc: [u64; 3],
    pub(crate) looks: Looks,
    pub(crate) last_psn: u32,
    pub(crate) service: Service,
    pub(crate) encapsulation: Encapsulation,
    /// The next packet begins a new epoch: CM said so.
    pub(crate) renew: bool,
    pub(crate) peer: Option<FlowId>,
    pub(crate) opcodes: Opcodes,
    pub(crate) ids: IdOrder,
    pub(crate) completeness: u8,
    /// Its packets are counted in a [stretch](super::stretch::Stretch) at the moment.
    pub(super) in_stretch: bool,
    /// Its requests do not know of the last READ responses, which the opposite flow's stretch has.
    pub(super) is_behind: bool,
    pub(crate) ecn_ect: u64,
    pub(crate) requests: Requests,
    /// Of nearly every flow either these or requests are all there is.
    pub(crate) responses: Lazy<Responses>,
    pub(crate) epoch: u32,
    pub(crate) first_psn: u32,
    pub(crate) peer_qp: Option<u32>,
    pub(crate) first_time: i64,
    pub(crate) acks: u64,
    rare: Lazy<Rare>,
    pub(crate) paired_by: Option<PairedBy>,
    pub(crate) evidence: u16,
    /// Attempts to find the opposite flow.
    pub(crate) attempts: u16,
}

/// What most flows have none of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rare {
    pub(crate) cnps: u64,
    pub(crate) rnr_naks: u64,
    pub(crate) naks: [u32; 5],
    pub(crate) ecn_ce: u64,
}

quiet!(Rare);

impl Deref for Flow {
    type Target = Rare;

    fn deref(&self) -> &Rare {
        &self.rare
    }
}

impl DerefMut for Flow {
    fn deref_mut(&mut self) -> &mut Rare {
        &mut self.rare
    }
}

impl Flow {
    pub(super) fn new(begin: &Begin) -> Flow {
        let &Begin { key, service, encapsulation, time, psn } = begin;
        Flow {
            key,
            epoch: 0,
            service,
            encapsulation,
            peer: None,
            peer_qp: None,
            paired_by: None,
            evidence: 0,
            attempts: 0,
            in_stretch: false,
            is_behind: false,
            completeness: 0,
            renew: false,
            first_time: time,
            last_time: time,
            packets: 0,
            wire_bytes: 0,
            payload_bytes: 0,
            acks: 0,
            ecn_ect: 0,
            rare: Lazy::default(),
            icrc: [0; 3],
            first_psn: psn,
            last_psn: psn,
            looks: Looks::default(),
            opcodes: Opcodes::default(),
            ids: IdOrder::default(),
            requests: Requests::default(),
            responses: Lazy::default(),
        }
    }

    /// Whether a packet is a request as nearly all are: the next one of a flow where nothing is open or in doubt.
    #[inline(always)]
    pub(crate) fn expects(&self, facts: &impl Facts, shape: &Shape) -> bool {
        let is_usual = !self.renew && !self.was_silent(facts.time()) && self.service != Service::Cn;
        is_usual
            && (shape.payload != PayloadRule::Full || self.requests.knows_mtu())
            && self.requests.expects(facts, &self.ids)
    }

    /// Takes a packet that it expects.
    #[inline(always)]
    pub(crate) fn take_expected(&mut self, facts: &impl Facts, shape: &Shape, frame: u64, knobs: &Knobs) {
        self.count_right(facts);
        self.requests.take_expected(facts, shape, frame, &self.ids, knobs);
        self.completeness |= REQUESTS;
        if let Some(ip_id) = facts.ip_id() {
            self.ids.see(ip_id);
        }
    }

    /// Whether a READ response is as nearly all are: the next one of a flow whose responses follow each other.
    #[inline(always)]
    pub(crate) fn expects_data(&self, facts: &impl Facts) -> bool {
        let is_usual = !self.renew && !self.was_silent(facts.time()) && self.service != Service::Cn;
        is_usual && self.responses.expects_data(facts, &self.ids)
    }

    /// Takes a READ response that it expects.
    #[inline(always)]
    pub(crate) fn take_expected_data(&mut self, facts: &impl Facts, shape: &Shape, frame: u64) {
        self.count_right(facts);
        self.responses.take_expected_data(facts, shape, frame);
        self.completeness |= RESPONSES;
        if let Some(ip_id) = facts.ip_id() {
            self.ids.see(ip_id);
        }
    }

    /// Counts a packet of the transport that is right.
    #[inline(always)]
    fn count_right(&mut self, facts: &impl Facts) {
        self.count(facts);
        self.look_at(facts);
        self.last_psn = facts.psn().0;
        self.payload_bytes += facts.payload() as u64;
    }

    /// Counts a packet, wrong or not.
    #[inline(always)]
    pub(crate) fn count(&mut self, facts: &impl Facts) {
        self.packets += 1;
        self.last_time = self.last_time.max(facts.time());
        self.wire_bytes += facts.l1_bytes() as u64;
        self.icrc[facts.icrc() as usize] += 1;
        self.opcodes.add(facts.opcode().0);
    }

    /// What a right packet has in its network header and around it.
    #[inline(always)]
    pub(crate) fn look_at(&mut self, facts: &impl Facts) {
        match facts.ecn().0 {
            0 => {}
            3 => self.ecn_ce += 1,
            _ => self.ecn_ect += 1,
        }
        self.looks.add(facts.look());
    }

    /// Whether this may be another queue pair.
    #[inline(always)]
    pub(crate) fn was_silent(&self, time: i64) -> bool {
        time - self.last_time > SILENCE_NS
    }

    /// A queue pair number used anew: a message begins far from where the last one was.
    #[cold]
    pub(crate) fn is_reused(&self, opcode: Opcode, psn: Psn) -> bool {
        const FAR: u64 = 1 << 20;
        let seq = &self.requests.seq;
        seq.is_started()
            && opcode.direction() == Direction::Request
            && matches!(opcode.position(), Position::First | Position::Only)
            && seq.unwrap(psn).abs_diff(seq.hi) > FAR
    }

    /// Fetches what every packet needs.
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        self.fetch_own();
        self.requests.fetch();
    }

    /// The same for a response.
    #[inline(always)]
    pub(crate) fn fetch_answering(&self) {
        self.fetch_own();
        fetch::line(&self.acks);
    }

    #[inline(always)]
    fn fetch_own(&self) {
        fetch::line(&self.key);
        fetch::line(&self.packets);
        fetch::line(&self.icrc);
        fetch::lines(&self.opcodes);
        fetch::line(&self.ecn_ect);
    }

    /// The same for all that is reported.
    #[inline(always)]
    pub(crate) fn fetch_all(&self) {
        fetch::lines(self);
        self.responses.fetch();
    }

    /// Whether there is nothing to be told of it but traffic: nothing wrong, surely lost, late, sent again, refused, marked or
    /// notified.
    pub(super) fn is_quiet(&self) -> bool {
        let Flow { requests, responses, .. } = self;
        self.rare.get().is_none()
            && self.icrc[State::Bad as usize] == 0
            && requests.is_quiet_so_far()
            && responses.get().is_none_or(|responses| responses.counts.are_quiet())
    }

    pub(super) fn grow_within(&mut self, room: &Room) {
        self.requests.seq.ring.grow_within(room);
    }

    /// A READ response: the first one makes what follows them.
    #[inline]
    pub(crate) fn follow_reads(&mut self) {
        if self.responses.read.get().is_none()
            && let Some(room) = self.requests.seq.ring.room().cloned()
        {
            self.responses.read.seq.ring.grow_within(&room);
        }
    }

    /// Of a flow that is over: what only its next packets would need.
    pub(crate) fn forget(&mut self) {
        self.requests.seq.ring = Ring::default();
        if let Some(read) = self.responses.get_mut().and_then(|responses| responses.read.get_mut()) {
            read.seq.ring = Ring::default();
        }
    }

    pub(crate) fn heap(&self) -> usize {
        let own = self.opcodes.heap() + self.looks.heap() + self.rare.heap();
        let responses = self.responses.heap() + self.responses.get().map_or(0, Responses::heap);
        self.requests.heap() + responses + own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_flow_is_small() {
        // With a ring of four transmissions, and acknowledgements or messages.
        assert!(size_of::<Flow>() <= 616, "{}", size_of::<Flow>());
    }
}
