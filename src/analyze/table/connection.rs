//! Which two flows are one connection. Packets carry only the destination's queue pair, so the opposite flow has to
//! be found: by the connection manager's messages, by a map that the user gives, by acknowledgements of what was
//! just sent, by READ responses, by the UDP source port that Linux computes from both queue pairs.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{
    Flows,
    flow::{DREQ, Flow, REP, REQ, RTU},
};
use crate::{
    analyze::{
        model::{FlowId, KnownConnection},
        packet::key::{Key, Pair},
        track::request::{Mtu, MtuBy, Requests},
    },
    report::PairedBy,
    wire::{CmDreq, CmRep, CmReq, CmRtu, PathMtu, Psn, Qpn, Udp},
};

/// What CM messages and the user say of connections, and the flows whose peer is not known yet.
#[derive(Default)]
pub(crate) struct Connections {
    /// Flows by their two addresses, unpaired ones of either direction.
    unpaired: HashMap<Pair, Unpaired, foldhash::fast::RandomState>,
    /// In how many of these lists a flow's number stands.
    listed: Vec<u8>,
    /// By flow number: what made its last attempt to find the peer fail.
    in_vain: Vec<InVain>,
    /// Requests seen, by the sender's communication ID.
    requests: VecDeque<Request>,
    /// From a flow's key to its opposite's.
    known: HashMap<Key, Known, foldhash::fast::RandomState>,
    /// Local and remote queue pairs, between whatever hosts.
    queue_pairs: HashSet<(u32, u32)>,
}

/// A source port that the queue pairs of no flow in the list explain, and how often the list had grown by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct InVain {
    grown: u32,
    port: u16,
}

struct Request {
    comm_id: u32,
    /// From the active to the passive side, to queue pair 1.
    key: Key,
    qpn: u32,
    mtu: PathMtu,
    ack_timeout: u8,
    /// The passive side's queue pair, once it replied.
    passive: Option<u32>,
}

/// What CM, or the user, says of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) peer: Key,
    pub(crate) by: PairedBy,
    pub(crate) mtu: Option<u16>,
    /// The queue pair's acknowledgement timeout, as IBTA's exponent; 0 where it is not known.
    ack_timeout: u8,
    comm_id: u32,
    /// Messages of CM that were seen, as a flow's `completeness` has them.
    seen: u8,
}

const MAX_UNPAIRED: usize = 512;
const MAX_PAIRS: usize = 1 << 16;
const MAX_REQUESTS: usize = 4096;
const MAX_KNOWN: usize = 1 << 20;
/// Responses of a flow that are tried to find its requests.
const MAX_ATTEMPTS: u16 = 256;
/// How far behind the highest PSN an acknowledged one may lie to be evidence.
const WINDOW: u64 = 8192;
/// Evidence enough: one chance in so many bits.
const ENOUGH_BITS: u32 = 11;
/// ... and so much more than any other candidate has.
const MARGIN_BITS: u32 = 6;

impl Connections {
    /// A new flow of a connected service.
    pub(crate) fn appeared(&mut self, flows: &mut Flows, id: FlowId) {
        let key = *flows.key(id);
        if let Some(of_another) = self.in_vain.get_mut(id.0 as usize) {
            *of_another = InVain::default();
        }
        if let Some(known) = self.known.get(&key).copied() {
            let flow = flows.get_mut(id);
            if let Some(bytes) = known.mtu {
                flow.requests.mtu = Mtu { bytes, by: MtuBy::Cm };
            }
            flow.requests.ack_timeout = known.ack_timeout;
            flow.peer_qp = Some(known.peer.dest_qp());
            flow.paired_by = Some(known.by);
            flow.completeness |= known.seen;
            if let Some(peer) = flows.find(&known.peer) {
                self.join(flows, id, peer, known.by, 48);
                return;
            }
        }
        if let Some(peer) = self.by_queue_pair(flows, &key) {
            self.join(flows, id, peer, PairedBy::Map, 48);
            return;
        }
        if self.unpaired.len() >= MAX_PAIRS {
            return;
        }
        let list = self.unpaired.entry(key.pair()).or_default();
        list.put(Member { id, dest_qp: key.dest_qp() }, Place::of(flows.unsettled(id)), &mut self.listed);
    }

    /// A flow is about to give its number to another one.
    pub(crate) fn disappears(&mut self, flows: &Flows, id: FlowId) {
        self.doubt(flows.key(id), id);
    }

    /// A flow's requests may be in another [place](Place).
    #[cold]
    #[inline(never)]
    pub(crate) fn moved(&mut self, flows: &Flows, id: FlowId) {
        let flow = flows.unsettled(id);
        if flow.peer.is_none()
            && let Some((list, at)) = self.find(&flow.key, id)
        {
            list.set(at, Place::of(flow));
        }
    }

    /// A flow of that key has its opposite, or is no more.
    fn doubt(&mut self, key: &Key, id: FlowId) {
        if let Some((list, at)) = self.find(key, id) {
            list.set(at, DOUBTFUL);
        }
    }

    /// Finds a flow's position in the list of its two addresses.
    fn find(&mut self, key: &Key, id: FlowId) -> Option<(&mut Unpaired, usize)> {
        if self.listed.get(id.0 as usize).is_none_or(|&lists| lists == 0) {
            return None;
        }
        let list = self.unpaired.get_mut(&key.pair())?;
        let at = list.position(id)?;
        Some((list, at))
    }

    fn join(&mut self, flows: &mut Flows, a: FlowId, b: FlowId, by: PairedBy, bits: u32) {
        join(flows, a, b, by, bits);
        for id in [a, b] {
            self.doubt(flows.key(id), id);
        }
    }

    /// A response of a flow whose opposite is not known. `exact`: it is the first response to a READ.
    #[cold]
    pub(crate) fn attempt(
        &mut self,
        flows: &mut Flows,
        id: FlowId,
        psn: Psn,
        exact: bool,
        port: Option<u16>,
    ) {
        let flow = flows.get_mut(id);
        if !is_tried(flow) {
            return;
        }
        flow.attempts += 1;
        let (key, attempts) = (flow.key, flow.attempts);
        let Some(list) = self.unpaired.get_mut(&key.pair()) else { return };
        list.take_out_paired(flows, &key, &mut self.listed);
        let mut best: Option<(u32, PairedBy, FlowId)> = None;
        let mut second = 0;
        let wanted = Wanted::of(&key, psn, exact);
        let now = InVain { grown: list.grown, port: port.unwrap_or_default() };
        let is_in_vain = self.in_vain.get(id.0 as usize) == Some(&now);
        list.scan(wanted, |other, dest_qp| {
            let formula = Udp::linux_source_port(Qpn(key.dest_qp()), Qpn(dest_qp));
            let has_port = port == Some(formula);
            // Where two have much, neither has more than the other without a port.
            if !has_port && second + MARGIN_BITS > most_bits_of_psn(exact) {
                return !is_in_vain;
            }
            flows.catch_up(other);
            let Some(candidate) = flows.flows.get(other.0 as usize) else { return true };
            let opposite = candidate.key.src == key.dst && candidate.key.dst == key.src;
            if !opposite || other == id || !candidate.requests.seq.is_started() {
                return true;
            }
            let Some(mut bits) = evidence_of_psn(&candidate.requests, psn, exact) else { return true };
            let mut by = PairedBy::Psn;
            if has_port && candidate.path_tags.has_port(formula) {
                bits += 28;
                by = if bits > 36 { PairedBy::Psn } else { PairedBy::UdpPort };
            }
            match best {
                Some((most, ..)) if bits <= most => second = second.max(bits),
                _ => {
                    second = best.map_or(second, |(most, ..)| second.max(most));
                    best = Some((bits, by, other));
                }
            }
            true
        });
        // Evidence of several responses adds up only as far as each could have been chance.
        if let Some((bits, by, other)) = best
            && bits >= ENOUGH_BITS
            && bits >= second + MARGIN_BITS
        {
            self.join(flows, id, other, by, bits);
            return;
        }
        // To find out takes as long as an attempt: not before there were some.
        let is_worth_it = attempts > 2 && attempts.is_power_of_two();
        if is_worth_it && !is_in_vain && !list.explains(port, &key) {
            self.in_vain.resize(self.in_vain.len().max(id.0 as usize + 1), InVain::default());
            self.in_vain[id.0 as usize] = now;
        }
    }

    /// The source port alone, for flows whose responses cannot be matched.
    pub(crate) fn by_port(&mut self, flows: &mut Flows) {
        let mut ports: Vec<(u16, FlowId)> = Vec::new();
        for (pair, list) in &self.unpaired {
            ports.clear();
            ports.extend(list.members.iter().filter_map(|&Member { id, .. }| {
                let flow = flows.flows.get(id.0 as usize).filter(|flow| flow.key.pair() == *pair)?;
                Some((flow.path_tags.only_port()?, id))
            }));
            ports.sort_unstable();
            // Among many flows between two hosts some product fits by chance: of three with a port, none is told.
            for same in ports.chunk_by(|(port, _), (other, _)| port == other) {
                let &[(port, a), (_, b)] = same else { continue };
                let (one, two) = (&flows.flows[a.0 as usize], &flows.flows[b.0 as usize]);
                let are_opposite = one.key.src == two.key.dst && one.key.dst == two.key.src;
                let are_free = one.peer.is_none() && two.peer.is_none();
                let formula = Udp::linux_source_port(Qpn(one.key.dest_qp()), Qpn(two.key.dest_qp()));
                if are_opposite && are_free && port == formula {
                    join(flows, a, b, PairedBy::UdpPort, 28);
                }
            }
        }
    }

    /// A connection request.
    pub(crate) fn request(&mut self, key: Key, req: &CmReq) {
        let comm_id = req.local_comm_id().0;
        if self.requests.iter().any(|r| r.comm_id == comm_id && r.key == key) {
            return;
        }
        if self.requests.len() == MAX_REQUESTS {
            self.requests.pop_front();
        }
        self.requests.push_back(Request {
            comm_id,
            key,
            qpn: req.local_qpn().0,
            mtu: req.path_mtu(),
            ack_timeout: req.primary_local_ack_timeout(),
            passive: None,
        });
    }

    /// The reply to one. The keys of the two flows it makes, if they are new.
    pub(crate) fn reply(&mut self, key: Key, rep: &CmRep) -> Option<[Key; 2]> {
        let comm_id = rep.remote_comm_id().0;
        let request = self
            .requests
            .iter_mut()
            .rev()
            .find(|r| r.comm_id == comm_id && r.key == key.reverse(r.key.dest_qp()))?;
        request.passive = Some(rep.local_qpn().0);
        // From the active side to the passive one's queue pair, and back.
        let there = key.reverse(rep.local_qpn().0);
        let back = there.reverse(request.qpn);
        let (mtu, ack_timeout) = (request.mtu.bytes(), request.ack_timeout);
        if self.known.get(&there).is_some_and(|known| known.comm_id == comm_id && known.peer == back) {
            return None;
        }
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        let (by, seen) = (PairedBy::Cm, REQ | REP);
        let known = |peer| Known { peer, by, mtu, ack_timeout, comm_id, seen };
        self.known.insert(there, known(back));
        self.known.insert(back, known(there));
        Some([there, back])
    }

    /// The active side has the reply.
    pub(crate) fn ready(&mut self, flows: &mut Flows, key: Key, rtu: &CmRtu) {
        let comm_id = rtu.local_comm_id().0;
        let request = self.requests.iter().rev().find(|r| r.comm_id == comm_id && r.key == key);
        if let Some(passive) = request.and_then(|request| request.passive) {
            self.saw(flows, key.with_queue_pair(passive), RTU);
        }
    }

    /// One side ends the connection.
    pub(crate) fn disconnect(&mut self, flows: &mut Flows, key: Key, dreq: &CmDreq) {
        self.saw(flows, key.with_queue_pair(dreq.remote_qpn().0), DREQ);
    }

    /// A message about the flow of that key, which may begin later.
    fn saw(&mut self, flows: &mut Flows, key: Key, message: u8) {
        if let Some(known) = self.known.get_mut(&key) {
            known.seen |= message;
        }
        if let Some(id) = flows.find(&key) {
            let flow = flows.get_mut(id);
            // One that is about to be renewed is of an older connection.
            flow.completeness |= if flow.renew { 0 } else { message };
        }
    }

    /// The user says so.
    pub(crate) fn insert(&mut self, known: &KnownConnection) {
        let ((Some(a), a_qp), (Some(b), b_qp)) = (known.a, known.b) else {
            self.queue_pairs.insert((known.a.1, known.b.1));
            self.queue_pairs.insert((known.b.1, known.a.1));
            return;
        };
        let (Some(there), Some(back)) = (Key::between(a, (b, b_qp)), Key::between(b, (a, a_qp))) else {
            return;
        };
        let known = |peer| Known { peer, by: PairedBy::Map, mtu: None, ack_timeout: 0, comm_id: 0, seen: 0 };
        self.known.insert(there, known(back));
        self.known.insert(back, known(there));
    }

    /// A flow in the other direction whose queue pair the user says belongs to this one's: the only such.
    fn by_queue_pair(&self, flows: &Flows, key: &Key) -> Option<FlowId> {
        if self.queue_pairs.is_empty() {
            return None;
        }
        let list = self.unpaired.get(&key.pair())?;
        let mut fitting = list.members.iter().map(|member| member.id).filter(|other| {
            flows.flows.get(other.0 as usize).is_some_and(|other| {
                other.peer.is_none()
                    && other.key.src == key.dst
                    && other.key.dst == key.src
                    && self.queue_pairs.contains(&(key.dest_qp(), other.key.dest_qp()))
            })
        });
        fitting.next().filter(|_| fitting.next().is_none())
    }
}

/// Whether the next response of a flow whose opposite is not known is [tried](Connections::attempt).
#[inline(always)]
pub(crate) fn is_tried(flow: &Flow) -> bool {
    flow.attempts < MAX_ATTEMPTS
}

/// Flows between two addresses, of either direction, in the order in which they came. Some may have found their
/// opposites meanwhile, or be no more.
#[derive(Default)]
struct Unpaired {
    members: VecDeque<Member>,
    /// What tells whether to look at one: most flows are not in the cache.
    places: VecDeque<Place>,
    /// Of the places, the [`DOUBTFUL`] ones.
    doubtful: usize,
    /// How often another queue pair came.
    grown: u32,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    id: FlowId,
    dest_qp: u32,
}

impl Unpaired {
    /// Most are looked for when they have just come.
    fn position(&self, id: FlowId) -> Option<usize> {
        self.members.iter().rposition(|other| other.id == id)
    }

    fn set(&mut self, at: usize, place: Place) {
        let was = std::mem::replace(&mut self.places[at], place);
        self.doubtful += (place == DOUBTFUL) as usize;
        self.doubtful -= (was == DOUBTFUL) as usize;
    }

    fn put(&mut self, member: Member, place: Place, listed: &mut Vec<u8>) {
        let slot = member.id.0 as usize;
        if listed.len() <= slot {
            listed.resize(slot + 1, 0);
        }
        if listed[slot] > 0
            && let Some(at) = self.position(member.id)
        {
            self.members[at] = member;
            self.grown = self.grown.wrapping_add(1);
            self.set(at, place);
            return;
        }
        if self.members.len() == MAX_UNPAIRED {
            self.take_out(0, listed);
        }
        self.members.push_back(member);
        self.grown = self.grown.wrapping_add(1);
        self.places.push_back(place);
        listed[slot] = listed[slot].saturating_add(1);
    }

    fn take_out(&mut self, at: usize, listed: &mut [u8]) {
        self.doubtful -= (self.places.remove(at) == Some(DOUBTFUL)) as usize;
        let slot = self.members.remove(at).and_then(|member| listed.get_mut(member.id.0 as usize));
        if let Some(lists) = slot.filter(|lists| **lists < u8::MAX) {
            *lists -= 1;
        }
    }

    /// Checks the doubtful ones: some have lost their peer, some have found one.
    fn take_out_paired(&mut self, flows: &mut Flows, key: &Key, listed: &mut [u8]) {
        let mut at = 0;
        while self.doubtful > 0 && at < self.members.len() {
            if self.places[at] == DOUBTFUL {
                let id = self.members[at].id;
                flows.catch_up(id);
                let flow = flows.flows.get(id.0 as usize);
                let Some(flow) = flow.filter(|flow| is_unpaired(flow, key)) else {
                    self.take_out(at, listed);
                    continue;
                };
                let is_another = self.members[at].dest_qp != flow.key.dest_qp();
                self.grown = self.grown.wrapping_add(is_another as u32);
                self.members[at].dest_qp = flow.key.dest_qp();
                self.set(at, Place::of(flow));
            }
            at += 1;
        }
    }

    /// Whether Linux would give this port to a flow of that key and another one that is here.
    fn explains(&self, port: Option<u16>, key: &Key) -> bool {
        let is_it =
            |other: &Member| port == Some(Udp::linux_source_port(Qpn(key.dest_qp()), Qpn(other.dest_qp)));
        self.members.iter().any(is_it)
    }

    /// Calls a function with each flow in a wanted place and its queue pair, until it returns false.
    fn scan(&self, wanted: Wanted, mut at: impl FnMut(FlowId, u32) -> bool) {
        let (front, back) = self.places.as_slices();
        for (from, places) in [(0, front), (front.len(), back)] {
            // Without a branch for each, many are compared at once.
            const MANY: usize = 32;
            for (n, many) in places.chunks(MANY).enumerate() {
                if !many.iter().fold(false, |any, &place| any | wanted.has(place)) {
                    continue;
                }
                let mut hits = many.iter().enumerate().filter(|(_, place)| wanted.has(**place));
                let goes_on = hits.all(|(k, _)| {
                    let Member { id, dest_qp } = self.members[from + n * MANY + k];
                    at(id, dest_qp)
                });
                if !goes_on {
                    return;
                }
            }
        }
    }
}

/// Which responses may answer an unpaired flow's requests, roughly: the direction, whether there are READs, and the upper
/// bits of the highest PSN. It seldom changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u16);

/// PSNs of a place, and how many places there are.
const NEIGHBOURS: u32 = WINDOW as u32;
const PLACES: u32 = Psn::SPACE / NEIGHBOURS;
const DOWNWARDS: u16 = 1 << 14;
const READS: u16 = 1 << 13;
/// No requests: nothing can answer them.
const NOWHERE: Place = Place(1 << 15);
/// The flow may have found its peer, or its number may be another flow's: it has to be checked.
const DOUBTFUL: Place = Place(u16::MAX);
const _: () = assert!(PLACES <= READS as u32);

impl Place {
    #[inline]
    pub(crate) fn of(flow: &Flow) -> Place {
        let requests = &flow.requests;
        if !requests.seq.is_started() {
            return NOWHERE;
        }
        let near = (requests.seq.hi as u32 % Psn::SPACE / NEIGHBOURS) as u16;
        let direction = if flow.key.src > flow.key.dst { DOWNWARDS } else { 0 };
        let reads = if requests.reads().next().is_some() { READS } else { 0 };
        Place(near | direction | reads)
    }
}

/// The places of requests that a response may belong to.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    relevant: u16,
    either: u16,
    or: u16,
}

impl Wanted {
    fn of(key: &Key, psn: Psn, exact: bool) -> Wanted {
        let direction = if key.dst > key.src { DOWNWARDS } else { 0 };
        if exact {
            let reads = direction | READS;
            return Wanted { relevant: NOWHERE.0 | DOWNWARDS | READS, either: reads, or: reads };
        }
        // The highest PSN is the one acknowledged, or one within the window behind it.
        let near = psn.0 / NEIGHBOURS;
        let or = direction | ((near + 1) % PLACES) as u16;
        Wanted { relevant: !READS, either: direction | near as u16, or }
    }

    #[inline(always)]
    fn has(self, place: Place) -> bool {
        let place = place.0 & self.relevant;
        (place == self.either) | (place == self.or)
    }
}

/// Whether the request that was just taken was the last one of a [place](Place).
#[inline(always)]
pub(crate) fn is_new_place(flow: &Flow) -> bool {
    (flow.requests.seq.hi as u32).is_multiple_of(NEIGHBOURS)
}

/// The most that [`evidence_of_psn`] can be.
fn most_bits_of_psn(exact: bool) -> u32 {
    if exact { OF_READ_BITS } else { OF_WINDOW_BITS - AROUND_WINDOW.ilog2() }
}

/// The evidence that a READ's response was asked for.
const OF_READ_BITS: u32 = 22;
/// ... and that an acknowledged PSN is one of a window's: of so many bits, as many fewer as the window has.
const OF_WINDOW_BITS: u32 = 24;
/// PSNs around those that were sent.
const AROUND_WINDOW: u64 = 65;

/// Bits of evidence that a response with this PSN answers these requests.
fn evidence_of_psn(requests: &Requests, psn: Psn, exact: bool) -> Option<u32> {
    let seq = &requests.seq;
    let x = seq.unwrap(psn);
    if exact {
        return requests.reads().any(|read| read.first <= x && x < read.end).then_some(OF_READ_BITS);
    }
    // A NAK may ask for the next one, or for one before the first.
    if x > seq.hi || x + WINDOW < seq.hi || x + 64 < seq.base {
        return None;
    }
    let window = seq.hi - seq.base.max(seq.hi.saturating_sub(WINDOW)) + AROUND_WINDOW;
    Some(OF_WINDOW_BITS - window.ilog2())
}

/// Whether it may still be the opposite, or a sibling, of a flow with that key; its place may be another flow's by now.
fn is_unpaired(flow: &Flow, key: &Key) -> bool {
    flow.peer.is_none() && flow.key.pair() == key.pair()
}

fn join(flows: &mut Flows, a: FlowId, b: FlowId, by: PairedBy, bits: u32) {
    let (one, Some(two)) = flows.two(a, Some(b)) else { return };
    (one.peer, one.peer_qp, one.paired_by) = (Some(b), Some(two.key.dest_qp()), Some(by));
    (two.peer, two.peer_qp, two.paired_by) = (Some(a), Some(one.key.dest_qp()), Some(by));
    (one.evidence, two.evidence) = (bits as u16, bits as u16);
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_table_connection.rs"]
mod tests;
