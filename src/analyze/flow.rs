//! Flows: (source, destination, destination queue pair), and the table of them.

use std::{
    hash::{BuildHasher, Hash, Hasher},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::{Deref, DerefMut},
};

use hashbrown::HashTable;

use super::{
    FlowId,
    facts::{Facts, look},
    track::{
        lazy::{Lazy, quiet},
        order::IdOrder,
        request::{Knobs, Requests},
        response::Responses,
        ring::{Ring, Room},
    },
};
use crate::{
    dissect::{Dissection, Encapsulation},
    opcode::{Direction, Opcode, PayloadRule, Position, Service, Shape},
    wire::*,
};

/// An end of a flow: an IP address, a GID, or a LID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// Of RoCEv2.
    Ip(IpAddr),
    /// Of RoCE v1, and of native InfiniBand between subnets.
    Gid(Ipv6Addr),
    /// Of native InfiniBand within a subnet.
    Lid(u16),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Ip(ip) => ip.fmt(f),
            Address::Gid(gid) => gid.fmt(f),
            Address::Lid(lid) => write!(f, "lid:{lid:#06x}"),
        }
    }
}

/// An address as a number, the upper half first: aligned like its halves, flows and facts are smaller.
pub(crate) type Wide = [u64; 2];

#[inline(always)]
fn wide(number: u128) -> Wide {
    [(number >> 64) as u64, number as u64]
}

/// What a flow is found by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) src: Wide,
    pub(crate) dst: Wide,
    /// Destination queue pair, and the kind of address above it.
    qp: u32,
    /// The virtual network of an overlay; 0 for none.
    vni: u32,
}

const IPV4: u8 = 0;
const IPV6: u8 = 1;
const GID: u8 = 2;
const LID: u8 = 3;

impl Key {
    /// The key of a frame's flow.
    #[inline]
    pub(crate) fn of(d: &Dissection<'_>, bth: &Bth) -> Option<Key> {
        let qp = bth.dest_qp().0;
        let (family, src, dst) = if let Some(ip) = d.get::<Ipv4>() {
            (IPV4, [0, u32::from(ip.src()) as u64], [0, u32::from(ip.dst()) as u64])
        } else if let Some(ip) = d.get::<Ipv6>() {
            (IPV6, wide(ip.src().into()), wide(ip.dst().into()))
        } else if let Some(grh) = d.get::<Grh>() {
            (GID, wide(grh.sgid().into()), wide(grh.dgid().into()))
        } else {
            let lrh = d.get::<Lrh>()?;
            (LID, [0, lrh.slid().0 as u64], [0, lrh.dlid().0 as u64])
        };
        let vni = if d.tunnel_depth() > 0 { vni(d) } else { 0 };
        Some(Key { src, dst, qp: (family as u32) << 24 | qp, vni })
    }

    /// The same, of a packet over IPv4 without a tunnel.
    #[inline(always)]
    pub(crate) fn of_ipv4(src: u32, dst: u32, dest_qp: u32) -> Key {
        Key { src: [0, src as u64], dst: [0, dst as u64], qp: (IPV4 as u32) << 24 | dest_qp, vni: 0 }
    }

    /// The key of packets from an address to an end; `None` where the two are not of one kind.
    pub(crate) fn between(from: Address, to: (Address, u32)) -> Option<Key> {
        let (family, src) = value(from);
        let (same, dst) = value(to.0);
        (family == same).then_some(Key { src, dst, qp: (family as u32) << 24 | to.1 & 0xff_ffff, vni: 0 })
    }

    /// Both addresses of a key over IPv4, outside of overlays.
    #[inline(always)]
    fn ipv4_addresses(&self) -> Option<u64> {
        let is_ipv4 = self.qp >> 24 == IPV4 as u32 && self.vni == 0;
        is_ipv4.then_some(self.src[1] << 32 | self.dst[1])
    }

    pub(crate) fn dest_qp(&self) -> u32 {
        self.qp & 0xff_ffff
    }

    fn family(&self) -> u8 {
        (self.qp >> 24) as u8
    }

    pub(crate) fn source(&self) -> Address {
        address(self.family(), self.src)
    }

    pub(crate) fn destination(&self) -> Address {
        address(self.family(), self.dst)
    }

    /// The key of a flow in the other direction, to this queue pair.
    pub(crate) fn reverse(&self, qp: u32) -> Key {
        Key { src: self.dst, dst: self.src, qp: (self.family() as u32) << 24 | qp, vni: self.vni }
    }

    /// The two addresses, in order whatever the direction.
    pub(crate) fn pair(&self) -> Pair {
        let (low, high) = (self.src.min(self.dst), self.src.max(self.dst));
        Pair { low, high, family: self.family(), vni: self.vni }
    }
}

impl Hash for Key {
    /// Of keys with IPv4 addresses, which fit into it, as one word.
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Some(addresses) = self.ipv4_addresses() {
            state.write_u128((addresses as u128) << 64 | self.qp as u128);
            return;
        }
        for half in self.src.into_iter().chain(self.dst) {
            state.write_u64(half);
        }
        state.write_u64((self.vni as u64) << 32 | self.qp as u64);
    }
}

/// Two addresses, whatever the direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pair {
    low: Wide,
    high: Wide,
    family: u8,
    vni: u32,
}

fn address(family: u8, [high, low]: Wide) -> Address {
    let long = Ipv6Addr::from((high as u128) << 64 | low as u128);
    match family {
        IPV4 => Address::Ip(IpAddr::V4(Ipv4Addr::from(low as u32))),
        IPV6 => Address::Ip(IpAddr::V6(long)),
        GID => Address::Gid(long),
        _ => Address::Lid(low as u16),
    }
}

fn value(address: Address) -> (u8, Wide) {
    match address {
        Address::Ip(IpAddr::V4(ip)) => (IPV4, [0, u32::from(ip) as u64]),
        Address::Ip(IpAddr::V6(ip)) => (IPV6, wide(ip.into())),
        Address::Gid(gid) => (GID, wide(gid.into())),
        Address::Lid(lid) => (LID, [0, lid as u64]),
    }
}

#[cold]
fn vni(d: &Dissection<'_>) -> u32 {
    let at = |kind| d.offset(kind).and_then(|at| d.frame().get(at..));
    if let Some((vxlan, _)) = at(Kind::Vxlan).and_then(Vxlan::view) {
        return vxlan.vni() | 1 << 24;
    }
    at(Kind::Geneve).and_then(Geneve::view).map_or(0, |(geneve, _)| geneve.vni() | 2 << 24)
}

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

#[derive(Clone, Debug, Default)]
struct Lists {
    vlans: Vec<u16>,
    dscps: Vec<u8>,
    ttls: Vec<u8>,
    ports: Vec<u16>,
}

/// Values kept of each.
const FEW: usize = 32;

impl Looks {
    #[inline(always)]
    pub(crate) fn add(&mut self, look: u64) {
        if look != self.last {
            self.changed(look);
        }
    }

    #[cold]
    fn changed(&mut self, look: u64) {
        if self.last != 0 {
            let lists = self.lists.get_or_insert_with(|| Box::new(Lists::of(self.last)));
            lists.add(look);
        }
        self.last = look;
    }

    fn lists(&self) -> Lists {
        self.lists.as_deref().cloned().unwrap_or_else(|| Lists::of(self.last))
    }

    pub(crate) fn vlans(&self) -> Vec<u16> {
        self.lists().vlans
    }

    pub(crate) fn dscps(&self) -> Vec<u8> {
        self.lists().dscps
    }

    pub(crate) fn ttls(&self) -> Vec<u8> {
        self.lists().ttls
    }

    pub(crate) fn ports(&self) -> Vec<u16> {
        self.lists().ports
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
    #[allow(clippy::box_collection)]
    more: Option<Box<Vec<(u8, u64)>>>,
}

/// Operation codes that are counted in the flow itself.
const HERE: usize = 4;

impl Opcodes {
    #[inline]
    pub(crate) fn add(&mut self, opcode: u8) {
        // All codes are compared at once: a byte that is zero afterwards borrows, and the lowest one that does is right.
        const ONES: u32 = u32::from_ne_bytes([1; HERE]);
        let differences = u32::from_le_bytes(self.codes) ^ (ONES * opcode as u32);
        let zeros = differences.wrapping_sub(ONES) & !differences & ONES << 7;
        let at = zeros.trailing_zeros() as usize / 8;
        match self.packets.get_mut(at) {
            Some(packets) if at < self.used as usize => *packets += 1,
            _ => self.another(opcode),
        }
    }

    #[inline(never)]
    fn another(&mut self, opcode: u8) {
        let at = self.used as usize;
        if at < HERE {
            (self.codes[at], self.packets[at]) = (opcode, 1);
            self.used += 1;
            return;
        }
        let more = self.more.get_or_insert_default();
        match more.iter_mut().find(|(code, _)| *code == opcode) {
            Some((_, n)) => *n += 1,
            None => more.push((opcode, 1)),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u8, u64)> {
        let here = self.codes.into_iter().zip(self.packets).take(self.used as usize);
        here.chain(self.more.iter().flat_map(|more| more.iter().copied()))
    }

    fn heap(&self) -> usize {
        self.more
            .as_ref()
            .map_or(0, |more| size_of::<Vec<(u8, u64)>>() + more.capacity() * size_of::<(u8, u64)>())
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
    /// Seen since the table was last swept.
    touched: bool,
    /// The next packet begins a new epoch: CM said so.
    pub(crate) renew: bool,
    pub(crate) peer: Option<FlowId>,
    pub(crate) opcodes: Opcodes,
    pub(crate) ids: IdOrder,
    pub(crate) completeness: u8,
    pub(crate) ecn_ect: u64,
    pub(crate) requests: Requests,
    pub(crate) responses: Responses,
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
    fn new(key: Key, service: Service, encapsulation: Encapsulation, time: i64, psn: u32) -> Flow {
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
            touched: true,
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
            responses: Responses::default(),
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
        self.count(facts);
        self.look_at(facts);
        self.last_psn = facts.psn().0;
        self.payload_bytes += facts.payload() as u64;
        self.requests.take_expected(facts, shape, frame, &self.ids, knobs);
        self.completeness |= REQUESTS;
        if let Some(ip_id) = facts.ip_id() {
            self.ids.see(ip_id);
        }
    }

    /// Counts a packet, wrong or not.
    #[inline(always)]
    pub(crate) fn count(&mut self, facts: &impl Facts) {
        (self.packets, self.touched) = (self.packets + 1, true);
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

    /// A queue pair silent for so long may be another one when it is heard again.
    #[inline(always)]
    pub(crate) fn was_silent(&self, time: i64) -> bool {
        const SILENCE_NS: i64 = 1_000_000_000;
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

    /// Reads what every packet needs, so that it is in the cache when they come: something of each line.
    #[inline(always)]
    pub(crate) fn touch(&self) -> u64 {
        let own = self.key.src[0] ^ self.packets ^ self.icrc[1] ^ self.opcodes.packets[0];
        own ^ self.opcodes.packets[3] ^ self.ecn_ect ^ self.requests.touch()
    }

    fn grow_within(&mut self, room: &Room) {
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
        if let Some(read) = self.responses.read.get_mut() {
            read.seq.ring = Ring::default();
        }
    }

    pub(crate) fn heap(&self) -> usize {
        let own = self.opcodes.heap() + self.looks.heap() + self.rare.heap();
        self.requests.heap() + self.responses.heap() + own
    }
}

/// Flows over IPv4 that were found lately, each in one of the two places where it can be: what most look-ups come down to.
#[derive(Debug)]
struct Recent {
    slots: Vec<Slot>,
    /// Bits of the product that are not part of a place.
    shift: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    addresses: u64,
    qp: u32,
    at: u32,
}

/// No flow has this number.
const NOBODY: u32 = u32::MAX;
const EMPTY: Slot = Slot { addresses: 0, qp: 0, at: NOBODY };
/// Slots at first, and at most: 64 KiB, 16 MiB.
const FEWEST: usize = 1 << 12;
const MOST: usize = 1 << 20;

impl Default for Recent {
    fn default() -> Recent {
        Recent { slots: vec![EMPTY; FEWEST], shift: u64::BITS - FEWEST.trailing_zeros() }
    }
}

impl Recent {
    #[inline(always)]
    fn place(&self, addresses: u64, qp: u32) -> usize {
        ((addresses ^ (qp as u64) << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[inline(always)]
    fn find(&self, key: &Key) -> Option<u32> {
        let addresses = key.ipv4_addresses()?;
        let is_it = |slot: &&Slot| slot.addresses == addresses && slot.qp == key.qp && slot.at != NOBODY;
        let place = self.place(addresses, key.qp);
        let slot = self.slots.get(place).filter(is_it);
        // Its neighbour is in the same cache line.
        slot.or_else(|| self.slots.get(place ^ 1).filter(is_it)).map(|slot| slot.at)
    }

    /// Whoever had the place before moves to the neighbour's.
    #[inline]
    fn put(&mut self, key: &Key, at: u32) {
        let Some(addresses) = key.ipv4_addresses() else { return };
        let place = self.place(addresses, key.qp);
        if let Ok([here, there]) = self.slots.get_disjoint_mut([place, place ^ 1]) {
            *there = std::mem::replace(here, Slot { addresses, qp: key.qp, at });
        }
    }

    /// Forgets a flow that is no more.
    fn forget(&mut self, key: &Key) {
        let Some(addresses) = key.ipv4_addresses() else { return };
        let place = self.place(addresses, key.qp);
        for place in [place, place ^ 1] {
            if let Some(slot) = self.slots.get_mut(place)
                && (slot.addresses, slot.qp) == (addresses, key.qp)
            {
                *slot = EMPTY;
            }
        }
    }

    /// There are so many flows: twice as many places keep most of them apart. Who was found lately is found again.
    fn make_room(&mut self, flows: usize) {
        let slots = (2 * flows).next_power_of_two().clamp(FEWEST, MOST);
        if slots > self.slots.len() {
            self.slots = vec![EMPTY; slots];
            self.shift = u64::BITS - slots.trailing_zeros();
        }
    }
}

/// All flows.
pub(crate) struct Flows {
    table: HashTable<u32>,
    recent: Recent,
    hasher: foldhash::fast::RandomState,
    pub(crate) flows: Vec<Flow>,
    max: usize,
    room: Room,
    hand: usize,
}

/// What became of a look-up.
pub(crate) enum Found {
    Known(FlowId),
    New(FlowId),
    /// There was no room: this one was put away for it.
    Evicted(FlowId, Box<Flow>),
}

impl Flows {
    pub(crate) fn new(max: usize) -> Flows {
        Flows {
            table: HashTable::new(),
            recent: Recent::default(),
            hasher: foldhash::fast::RandomState::default(),
            flows: Vec::new(),
            max: max.max(2),
            room: Room::default(),
            hand: 0,
        }
    }

    #[inline]
    fn hash(&self, key: &Key) -> u64 {
        self.hasher.hash_one(key)
    }

    /// The flow of this key, if it is known.
    #[inline]
    pub(crate) fn find(&self, key: &Key) -> Option<FlowId> {
        if let Some(at) = self.recent.find(key) {
            return Some(FlowId(at));
        }
        let flows = &self.flows;
        self.table.find(self.hash(key), |&at| flows[at as usize].key == *key).map(|&at| FlowId(at))
    }

    /// The flow of a packet, if it is known.
    #[inline(always)]
    pub(crate) fn find_of(&mut self, facts: &impl Facts) -> Option<FlowId> {
        match self.recent.find(&facts.key()?) {
            Some(at) => Some(FlowId(at)),
            None => self.find_in_table(&facts.key()?),
        }
    }

    #[inline(never)]
    fn find_in_table(&mut self, key: &Key) -> Option<FlowId> {
        let flows = &self.flows;
        let at = *self.table.find(self.hash(key), |&at| flows[at as usize].key == *key)?;
        self.recent.put(key, at);
        Some(FlowId(at))
    }

    /// The flow of this key, known or new.
    #[inline]
    pub(crate) fn get_or_add(
        &mut self,
        key: &Key,
        service: Service,
        encapsulation: Encapsulation,
        time: i64,
        psn: u32,
    ) -> Found {
        if let Some(id) = self.recent.find(key).map(FlowId).or_else(|| self.find_in_table(key)) {
            return Found::Known(id);
        }
        let mut flow = Flow::new(*key, service, encapsulation, time, psn);
        flow.grow_within(&self.room);
        self.add(self.hash(key), flow)
    }

    #[cold]
    fn add(&mut self, hash: u64, flow: Flow) -> Found {
        if self.flows.len() < self.max {
            let at = self.flows.len() as u32;
            self.flows.push(flow);
            self.recent.make_room(self.flows.len());
            let (flows, hasher) = (&self.flows, &self.hasher);
            self.table.insert_unique(hash, at, |&at| hasher.hash_one(flows[at as usize].key));
            return Found::New(FlowId(at));
        }
        // The clock goes round: what was not seen since it last came by makes room.
        while std::mem::take(&mut self.flows[self.hand].touched) {
            self.hand = (self.hand + 1) % self.flows.len();
        }
        let at = self.hand;
        self.hand = (self.hand + 1) % self.flows.len();
        let old_key = self.flows[at].key;
        self.recent.forget(&old_key);
        let old_hash = self.hash(&old_key);
        if let Ok(entry) = self.table.find_entry(old_hash, |&slot| slot == at as u32) {
            entry.remove();
        }
        let old = std::mem::replace(&mut self.flows[at], flow);
        let (flows, hasher) = (&self.flows, &self.hasher);
        self.table.insert_unique(hash, at as u32, |&at| hasher.hash_one(flows[at as usize].key));
        if let Some(peer) = old.peer
            && let Some(peer) =
                self.flows.get_mut(peer.0 as usize).filter(|peer| peer.peer == Some(FlowId(at as u32)))
        {
            peer.peer = None;
        }
        Found::Evicted(FlowId(at as u32), Box::new(old))
    }

    /// The flow begins a new epoch: what it was until now.
    pub(crate) fn renew(&mut self, id: FlowId, service: Service, time: i64, psn: u32) -> Box<Flow> {
        let old = &mut self.flows[id.0 as usize];
        let mut flow = Flow::new(old.key, service, old.encapsulation, time, psn);
        flow.epoch = old.epoch + 1;
        flow.grow_within(&self.room);
        Box::new(std::mem::replace(old, flow))
    }

    /// More than the processor's caches hold.
    #[inline(always)]
    pub(crate) fn are_many(&self) -> bool {
        self.flows.len() > 1024
    }

    #[inline(always)]
    pub(crate) fn get(&self, id: FlowId) -> &Flow {
        &self.flows[id.0 as usize]
    }

    /// What a packet of a flow will need beyond the flow itself.
    #[inline(always)]
    pub(crate) fn touch_beyond(&self, id: FlowId, facts: &impl Facts) -> u64 {
        let flow = self.get(id);
        if facts.opcode().shape().direction == Direction::Request {
            return flow.requests.seq.ring.touch(facts.psn());
        }
        flow.peer.map_or(0, |peer| self.get(peer).requests.touch())
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: FlowId) -> &mut Flow {
        &mut self.flows[id.0 as usize]
    }

    /// Two flows at once; `None` for the second where there is none, or where it is the first.
    #[inline]
    pub(crate) fn two(&mut self, a: FlowId, b: Option<FlowId>) -> (&mut Flow, Option<&mut Flow>) {
        let (a, b) = (a.0 as usize, b.map_or(usize::MAX, |b| b.0 as usize));
        if b == usize::MAX || a == b || b >= self.flows.len() {
            return (&mut self.flows[a], None);
        }
        let (low, high) = self.flows.split_at_mut(a.max(b));
        if a < b { (&mut low[a], Some(&mut high[0])) } else { (&mut high[0], Some(&mut low[b])) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_flow_is_small() {
        // With a ring of four transmissions, two acknowledgements or messages, and their distributions.
        assert!(size_of::<Flow>() <= 704, "{}", size_of::<Flow>());
    }
}
