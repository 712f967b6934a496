//! Finds the two flows of a connection. Packets carry only the destination's queue pair. So the opposite flow is found by other
//! evidence: the connection manager's messages, a map from the user, acknowledgements of recent requests, READ responses, the
//! UDP source port that Linux computes from both queue pairs, or that both ends have taken.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    net::Ipv6Addr,
};

use super::{
    Flows,
    flow::{DREQ, Flow, REP, REQ, RTU},
    lids::Lids,
};
use crate::{
    analyze::{
        model::{Address, FlowId, KnownConnection},
        packet::key::{Key, Pair},
        track::request::{Mtu, MtuBy, Requests},
    },
    dissect::Dissection,
    heap::heap,
    report::PairedBy,
    wire::{CmDreq, CmRep, CmReq, CmRtu, Lid, PathMtu, Psn, Qpn, Udp},
};

/// Connections known from CM messages and from the user, and the flows whose peer is not known yet.
#[derive(Default, crate::stored::Stored)]
pub(crate) struct Connections {
    /// Flows by their two addresses, unpaired ones of either direction.
    unpaired: HashMap<Pair, Unpaired, foldhash::fast::RandomState>,
    /// In how many of these lists each flow is, by its number.
    listed: Vec<u8>,
    /// By flow number: the state in which the last attempt to find the peer failed.
    in_vain: Vec<InVain>,
    requests: RequestList,
    /// From a flow's key to its opposite's.
    known: HashMap<Key, Known, foldhash::fast::RandomState>,
    /// From the key of a connection's flow on the path of the datagrams to that on the [paths] that the REQ names, where these are others.
    elsewhere: HashMap<Key, [Option<Key>; 2], foldhash::fast::RandomState>,
    /// When the sender of a flow of this key asked to end the connection (DREQ).
    closed: HashMap<Key, i64, foldhash::fast::RandomState>,
    /// Local and remote queue pairs, between any two hosts.
    queue_pairs: HashSet<(u32, u32)>,
    /// LIDs of one port: lists are those of ports.
    lids: Lids,
}

/// A source port that does not follow from the queue pairs of any flow in the list, and how often the list had grown then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
struct InVain {
    grown: u32,
    port: u16,
}

/// The latest connection requests, in the order in which they came.
#[derive(Default, crate::stored::Stored)]
struct RequestList {
    all: VecDeque<Request>,
    /// How many are not in the list any more.
    dropped: u64,
    /// The number of each that is in the list, from 0 on, by the sender's communication ID and the [key](Request::key).
    numbers: HashMap<(u32, Key), u64, foldhash::fast::RandomState>,
}

impl RequestList {
    fn get_mut(&mut self, comm_id: u32, key: &Key) -> Option<&mut Request> {
        let number = self.numbers.get(&(comm_id, *key))?;
        self.all.get_mut(number.checked_sub(self.dropped)? as usize)
    }

    fn has(&self, comm_id: u32, key: &Key) -> bool {
        self.numbers.contains_key(&(comm_id, *key))
    }

    fn push(&mut self, request: Request) {
        if self.all.len() == MAX_REQUESTS
            && let Some(oldest) = self.all.pop_front()
        {
            self.dropped += 1;
            self.numbers.remove(&(oldest.comm_id, oldest.key));
        }
        self.numbers.insert((request.comm_id, request.key), self.dropped + self.all.len() as u64);
        self.all.push_back(request);
    }
}

#[derive(crate::stored::Stored)]
struct Request {
    comm_id: u32,
    /// From the active to the passive side, to queue pair 1.
    key: Key,
    qpn: u32,
    mtu: PathMtu,
    ack_timeout: u8,
    /// How often queue pairs try again without an answer; how often the passive side does if the active one is not ready.
    retry: u8,
    rnr_retry: u8,
    /// When it was sent first.
    time: i64,
    /// The passive side's queue pair, once it replied.
    passive: Option<u32>,
    /// From the active to the passive side, on the paths that it names.
    paths: [Option<Key>; 2],
}

/// From the active to the passive side, on the paths that a REQ names: the first one, and one to change to. A port of InfiniBand has several LIDs,
/// so that these are not always those of the connection manager's own datagrams.
pub(crate) fn paths(req: &CmReq) -> [Option<Key>; 2] {
    let path = |lids: [Lid; 2], gids: [Ipv6Addr; 2], is_local: bool| {
        let [src, dst] = match is_local {
            true => lids.map(|lid| Address::Lid(lid.0)),
            false => gids.map(Address::Gid),
        };
        // RoCE has no LIDs.
        lids.iter().all(|lid| lid.is_unicast()).then(|| Key::between(src, (dst, 1))).flatten()
    };
    let primary = path(
        [req.primary_local_lid(), req.primary_remote_lid()],
        [req.primary_local_gid(), req.primary_remote_gid()],
        req.primary_subnet_local(),
    );
    let alternate = path(
        [req.alternate_local_lid(), req.alternate_remote_lid()],
        [req.alternate_local_gid(), req.alternate_remote_gid()],
        req.alternate_subnet_local(),
    );
    [primary, alternate]
}

/// A flow that CM, or the user, has announced.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Known {
    pub(crate) peer: Key,
    pub(crate) by: PairedBy,
    pub(crate) mtu: Option<u16>,
    /// The queue pair's acknowledgement timeout, as IBTA's exponent; 0 where it is not known.
    ack_timeout: u8,
    /// Its retry counts: without an answer, and where the receiver is not ready.
    retry_counts: Option<[u8; 2]>,
    comm_id: u32,
    /// CM messages seen, as bits of [`Flow::completeness`].
    seen: u8,
    /// When the request was sent first; 0 where it was not seen.
    asked: i64,
    /// When the active side confirmed the reply first.
    pub(crate) ready: Option<i64>,
}

impl Known {
    /// Nanoseconds from the request to the confirmation.
    pub(crate) fn set_up_ns(&self) -> Option<u64> {
        self.ready.map(|ready| (ready - self.asked).max(0) as u64)
    }
}

// What else there is are a few bytes of each flow.
heap! {
    Connections { requests, known, elsewhere, closed, lids }
    RequestList { all, numbers }
    Request {}
    Known {}
    Key {}
}

const MAX_UNPAIRED: usize = 512;
/// Members of a list that are compared together.
const MANY: usize = 32;
const MAX_PAIRS: usize = 1 << 16;
const MAX_REQUESTS: usize = 4096;
const MAX_KNOWN: usize = 1 << 20;
/// Most responses of a flow by which its requests are searched.
const MAX_ATTEMPTS: u16 = 256;
/// An acknowledged PSN is evidence if it lies at most so far behind the highest PSN.
const WINDOW: u64 = 8192;
/// Evidence that is enough: a wrong pair has a chance of one in 2 to this power.
const ENOUGH_BITS: u32 = 11;
/// The best candidate must have so many bits more than any other.
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
        self.join_lists();
        let list = self.unpaired.entry(self.lids.pair(&key)).or_default();
        list.put(Member { id, dest_qp: key.dest_qp() }, Place::of(flows.unsettled(id)), &mut self.listed);
    }

    /// A datagram of the subnet's management.
    #[cold]
    pub(crate) fn on_subnet(&mut self, d: &Dissection<'_>) {
        self.lids.on_management(d);
    }

    /// Lists that are of the same two ports, as was learned since they began, become one.
    fn join_lists(&mut self) {
        if !self.lids.has_new() {
            return;
        }
        // In an order that is the same every time.
        let mut all: Vec<Pair> = self.unpaired.keys().copied().collect();
        all.sort_unstable();
        for pair in all {
            let ports = self.lids.of_pair(&pair);
            if ports != pair
                && let Some(list) = self.unpaired.remove(&pair)
            {
                self.unpaired.entry(ports).or_default().join(list, &mut self.listed);
            }
        }
    }

    /// The number of a flow will be used for another flow.
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

    /// A flow of this key has found its opposite, or no longer exists.
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
        let list = self.unpaired.get_mut(&self.lids.pair(key))?;
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
        self.join_lists();
        let lids = &self.lids;
        let Some(list) = self.unpaired.get_mut(&lids.pair(&key)) else { return };
        list.take_out_paired(flows, (lids, &key), &mut self.listed);
        let among = u32::try_from(list.members.len()).unwrap_or(u32::MAX).max(1);
        let mut best: Option<(u32, PairedBy, FlowId)> = None;
        let mut second = 0;
        // Those that will soon send this PSN, and have the port that follows from both queue pairs; and whether one has the port that sent it already.
        let (mut early, mut has_sent_port) = ((0, None), false);
        let mut ahead = (0, None);
        let wanted = Wanted::of(&key, psn, exact);
        let now = InVain { grown: list.grown, port: port.unwrap_or_default() };
        let is_in_vain = self.in_vain.get(id.0 as usize) == Some(&now);
        list.scan(wanted, |other, dest_qp| {
            let formula = Udp::linux_source_port(Qpn(key.dest_qp()), Qpn(dest_qp));
            let has_port = port == Some(formula);
            // If two candidates have much evidence, only a port can decide.
            if !has_port && second + MARGIN_BITS > most_bits_of_psn(exact) {
                return !is_in_vain;
            }
            flows.catch_up(other);
            let Some(candidate) = flows.flows.get(other.0 as usize) else { return true };
            let opposite = lids.are_opposite(&candidate.key, &key);
            if !opposite || other == id || !candidate.requests.seq.is_started() {
                return true;
            }
            let fits_port = has_port && candidate.path_tags.has_port(formula);
            let Some(mut bits) = evidence_of_psn(&candidate.requests, psn, exact) else {
                // Where answers are stamped by another clock, they may come before what they answer.
                if fits_port && !exact && is_soon_sent(&candidate.requests, psn, WINDOW) {
                    early = (early.0 + 1, Some(other));
                }
                if !exact && is_soon_sent(&candidate.requests, psn, NEXT) {
                    ahead = (ahead.0 + 1, Some(other));
                }
                return true;
            };
            has_sent_port |= port.is_some_and(|port| candidate.path_tags.has_port(port));
            let mut by = PairedBy::Psn;
            if fits_port {
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
        if let (1, Some(other)) = early
            && !has_sent_port
        {
            self.join(flows, id, other, PairedBy::UdpPort, 28);
            return;
        }
        // Among few flows, no other one's PSNs are as near, if several answers are so early and none of the others fits.
        let bits = OF_NEXT_BITS.saturating_sub(among.ilog2());
        if let ((1, Some(other)), None) = (ahead, best)
            && attempts >= EARLY_ATTEMPTS
            && bits >= ENOUGH_BITS
        {
            self.join(flows, id, other, PairedBy::Psn, bits);
            return;
        }
        // Evidence of several responses adds up only as far as each could have been chance.
        if let Some((bits, by, other)) = best
            && bits >= ENOUGH_BITS
            && bits >= second + MARGIN_BITS
        {
            self.join(flows, id, other, by, bits);
            return;
        }
        if attempts.is_power_of_two()
            && let Some((bits, other)) = list.only_with_port(flows, (lids, id), (psn, exact), port)
        {
            self.join(flows, id, other, PairedBy::UdpPort, bits);
            return;
        }
        // The test takes as long as an attempt, so it comes after some attempts.
        let is_worth_it = attempts > 2 && attempts.is_power_of_two();
        if is_worth_it && !is_in_vain && !list.explains(port, &key) {
            self.in_vain.resize(self.in_vain.len().max(id.0 as usize + 1), InVain::default());
            self.in_vain[id.0 as usize] = now;
        }
    }

    /// Pairs flows by the source port alone, if their responses cannot be matched.
    pub(crate) fn by_port(&mut self, flows: &mut Flows) {
        let mut ports: Vec<(u16, FlowId)> = Vec::new();
        for (pair, list) in &self.unpaired {
            ports.clear();
            ports.extend(list.members.iter().filter_map(|&Member { id, .. }| {
                let flow = flows.flows.get(id.0 as usize).filter(|flow| flow.key.pair() == *pair)?;
                Some((flow.path_tags.only_port()?, id))
            }));
            ports.sort_unstable();
            // Among many flows between two hosts, a port may fit by chance: three flows with one port are not paired.
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

    /// A connection request (REQ).
    pub(crate) fn request(&mut self, key: Key, req: &CmReq, time: i64) {
        let comm_id = req.local_comm_id().0;
        if self.requests.has(comm_id, &key) {
            return;
        }
        self.requests.push(Request {
            comm_id,
            key,
            qpn: req.local_qpn().0,
            mtu: req.path_mtu(),
            ack_timeout: req.primary_local_ack_timeout().0,
            retry: req.retry_count(),
            rnr_retry: req.rnr_retry_count(),
            time,
            passive: None,
            paths: paths(req).map(|path| path.filter(|path| *path != key.with_queue_pair(1))),
        });
    }

    /// The reply to a request (REP). Returns the keys of the two flows of the connection, on each path, if they are new.
    pub(crate) fn reply(&mut self, key: Key, rep: &CmRep) -> Option<[Option<[Key; 2]>; 3]> {
        let comm_id = rep.remote_comm_id().0;
        // Both go to the queue pair of management.
        let request = self.requests.get_mut(comm_id, &key.reverse(key.dest_qp()))?;
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
            self.elsewhere.clear();
        }
        let (by, seen, asked, ready) = (PairedBy::Cm, REQ | REP, request.time, None);
        // Each side says how often the other one may try while it is not ready itself.
        let known = |peer, rnr_retry| {
            let retry_counts = Some([request.retry, rnr_retry]);
            Known { peer, by, mtu, ack_timeout, retry_counts, comm_id, seen, asked, ready }
        };
        let ways = [Some(there), request.paths[0], request.paths[1]].map(|path| {
            let there = path?.with_queue_pair(there.dest_qp());
            Some([there, there.reverse(back.dest_qp())])
        });
        let (rnr_retry, own_rnr_retry) = (rep.rnr_retry_count(), request.rnr_retry);
        let ends = [known(back, rnr_retry), known(there, own_rnr_retry)];
        for [there, back] in ways.into_iter().flatten() {
            for (end, key, peer) in [(ends[0], there, back), (ends[1], back, there)] {
                self.known.insert(key, Known { peer, ..end });
                self.closed.remove(&key);
            }
        }
        if ways[1].is_some() || ways[2].is_some() {
            for at in 0..2 {
                let key = |way: Option<[Key; 2]>| way.map(|keys| keys[at]);
                self.elsewhere.insert([there, back][at], [key(ways[1]), key(ways[2])]);
            }
        } else if !self.elsewhere.is_empty() {
            self.elsewhere.remove(&there);
            self.elsewhere.remove(&back);
        }
        Some(ways)
    }

    /// This direction, on each path that is known.
    fn ways(&self, key: Key) -> impl Iterator<Item = Key> + use<> {
        let [primary, alternate] = self.elsewhere.get(&key).copied().unwrap_or_default();
        [Some(key), primary, alternate].into_iter().flatten()
    }

    /// The active side confirms the reply (RTU).
    pub(crate) fn ready(&mut self, flows: &mut Flows, key: Key, rtu: &CmRtu, time: i64) {
        let comm_id = rtu.local_comm_id().0;
        let request = self.requests.get_mut(comm_id, &key);
        if let Some(passive) = request.and_then(|request| request.passive) {
            for there in self.ways(key.with_queue_pair(passive)) {
                if let Some(known) = self.known.get_mut(&there) {
                    known.ready.get_or_insert(time);
                }
                self.saw(flows, there, RTU);
            }
        }
    }

    /// One side ends the connection (DREQ).
    pub(crate) fn disconnect(&mut self, flows: &mut Flows, key: Key, dreq: &CmDreq, time: i64) {
        for key in self.ways(key.with_queue_pair(dreq.remote_qpn().0)) {
            if self.closed.len() < MAX_KNOWN {
                self.closed.entry(key).or_insert(time);
            }
            self.saw(flows, key, DREQ);
        }
    }

    /// The retry counts of a flow's requester, where the connection manager says them: without an answer, and where the receiver is not ready.
    pub(crate) fn retry_counts(&self, key: &Key) -> Option<[u8; 2]> {
        self.known.get(key)?.retry_counts
    }

    /// What the connection manager said of the connection of a flow, and when one end asked to end it. `back`: the key of the opposite flow.
    pub(crate) fn managed(&self, there: &Key, back: &Key) -> (Option<&Known>, Option<i64>) {
        let known = [there, back].map(|key| self.known.get(key).filter(|known| known.by == PairedBy::Cm));
        let known = known.into_iter().flatten().max_by_key(|known| known.ready);
        (known, [there, back].iter().filter_map(|key| self.closed.get(key).copied()).min())
    }

    /// Notes a message about the flow of this key. The flow may begin later.
    fn saw(&mut self, flows: &mut Flows, key: Key, message: u8) {
        if let Some(known) = self.known.get_mut(&key) {
            known.seen |= message;
        }
        if let Some(id) = flows.find(&key) {
            let flow = flows.get_mut(id);
            // A flow that will be renewed belongs to an older connection.
            flow.completeness |= if flow.renew { 0 } else { message };
        }
    }

    /// A connection that the user names.
    pub(crate) fn insert(&mut self, known: &KnownConnection) {
        let ((Some(a), a_qp), (Some(b), b_qp)) = (known.a, known.b) else {
            self.queue_pairs.insert((known.a.1, known.b.1));
            self.queue_pairs.insert((known.b.1, known.a.1));
            return;
        };
        let (Some(there), Some(back)) = (Key::between(a, (b, b_qp)), Key::between(b, (a, a_qp))) else {
            return;
        };
        let known = |peer| Known {
            peer,
            by: PairedBy::Map,
            mtu: None,
            ack_timeout: 0,
            retry_counts: None,
            comm_id: 0,
            seen: 0,
            asked: 0,
            ready: None,
        };
        self.known.insert(there, known(back));
        self.known.insert(back, known(there));
    }

    /// The only flow in the other direction whose queue pair the user has paired with this one.
    fn by_queue_pair(&self, flows: &Flows, key: &Key) -> Option<FlowId> {
        if self.queue_pairs.is_empty() {
            return None;
        }
        let list = self.unpaired.get(&self.lids.pair(key))?;
        let mut fitting = list.members.iter().map(|member| member.id).filter(|other| {
            flows.flows.get(other.0 as usize).is_some_and(|other| {
                other.peer.is_none()
                    && self.lids.are_opposite(&other.key, key)
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

/// Flows between two addresses, of both directions, in the order in which they began. Some may have found their opposites
/// meanwhile, or no longer exist.
#[derive(Default, crate::stored::Stored)]
struct Unpaired {
    members: VecDeque<Member>,
    /// The place of each member. It shows whether the flow is to be examined: most flows are not in the cache.
    places: VecDeque<Place>,
    /// Of the places, the [`DOUBTFUL`] ones.
    doubtful: usize,
    /// How often another queue pair came.
    grown: u32,
}

#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Member {
    id: FlowId,
    dest_qp: u32,
}

impl Unpaired {
    /// The position of a flow. Most searches are for flows that have just begun.
    fn position(&self, id: FlowId) -> Option<usize> {
        let is_it = |other: &Member| other.id == id;
        let (front, back) = self.members.as_slices();
        for (from, members) in [(front.len(), back), (0, front)] {
            // Without a branch for each member, many are compared at once.
            for (n, many) in members.chunks(MANY).enumerate().rev() {
                if many.iter().fold(false, |any, other| any | is_it(other)) {
                    return Some(from + n * MANY + many.iter().rposition(is_it)?);
                }
            }
        }
        None
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

    /// The members of another list.
    fn join(&mut self, other: Unpaired, listed: &mut Vec<u8>) {
        for (member, place) in other.members.into_iter().zip(other.places) {
            if let Some(lists) = listed.get_mut(member.id.0 as usize).filter(|lists| **lists < u8::MAX) {
                *lists = lists.saturating_sub(1);
            }
            self.put(member, NOWHERE, listed);
            if let Some(at) = self.position(member.id) {
                self.set(at, place);
            }
        }
    }

    fn take_out(&mut self, at: usize, listed: &mut [u8]) {
        self.doubtful -= (self.places.remove(at) == Some(DOUBTFUL)) as usize;
        let slot = self.members.remove(at).and_then(|member| listed.get_mut(member.id.0 as usize));
        if let Some(lists) = slot.filter(|lists| **lists < u8::MAX) {
            *lists -= 1;
        }
    }

    /// Checks the doubtful flows: some have lost their peer, some have found one.
    fn take_out_paired(&mut self, flows: &mut Flows, (lids, key): (&Lids, &Key), listed: &mut [u8]) {
        let mut at = 0;
        while self.doubtful > 0 && at < self.members.len() {
            if self.places[at] == DOUBTFUL {
                let id = self.members[at].id;
                flows.catch_up(id);
                let flow = flows.flows.get(id.0 as usize);
                let Some(flow) = flow.filter(|flow| is_unpaired(flow, lids, key)) else {
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

    /// Whether Linux would compute this port from the queue pairs of this key and of a member.
    fn explains(&self, port: Option<u16>, key: &Key) -> bool {
        let is_it =
            |other: &Member| port == Some(Udp::linux_source_port(Qpn(key.dest_qp()), Qpn(other.dest_qp)));
        self.members.iter().any(is_it)
    }

    /// The one flow in the other direction that has the source port of this one's response, where both ends take one port for a connection, and each
    /// connection its own; and the evidence.
    fn only_with_port(
        &self,
        flows: &Flows,
        (lids, id): (&Lids, FlowId),
        (psn, exact): (Psn, bool),
        port: Option<u16>,
    ) -> Option<(u32, FlowId)> {
        let key = flows.flows.get(id.0 as usize)?.key;
        let mut ports = Vec::with_capacity(self.members.len());
        let mut fitting = None;
        for member in &self.members {
            let Some(flow) = flows.flows.get(member.id.0 as usize) else { continue };
            if !is_unpaired(flow, lids, &key) {
                continue;
            }
            let (own, is_back) = (flow.path_tags.only_port()?, lids.are_opposite(&flow.key, &key));
            ports.push((own, is_back));
            if is_back && port == Some(own) {
                fitting = Some(member.id);
            }
        }
        // Where several have one port in a direction, that both ends have it tells nothing.
        ports.sort_unstable();
        let is_each_once = ports.windows(2).all(|two| two[0] != two[1]);
        let others = ports.iter().any(|&(other, _)| port != Some(other));
        let other = fitting.filter(|_| is_each_once && others)?;
        let requests = &flows.flows.get(other.0 as usize)?.requests;
        if !requests.seq.is_started() {
            return None;
        }
        let of_psn = evidence_of_psn(requests, psn, exact);
        let is_early = || !exact && is_soon_sent(requests, psn, WINDOW);
        Some((of_psn.or_else(|| is_early().then_some(0))? + OF_PORT_BITS, other))
    }

    /// Calls a function with each flow in a wanted place and its queue pair, until it returns false.
    fn scan(&self, wanted: Wanted, mut at: impl FnMut(FlowId, u32) -> bool) {
        let (front, back) = self.places.as_slices();
        for (from, places) in [(0, front), (front.len(), back)] {
            // Without a branch for each place, many are compared at once.
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

/// A summary of an unpaired flow's requests: the direction, whether there are READs, and the upper bits of the highest PSN. It
/// tells roughly which responses may answer them, and rarely changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::stored::Stored)]
pub(crate) struct Place(u16);

/// The number of PSNs of a place, and the number of places.
const NEIGHBOURS: u32 = WINDOW as u32;
const PLACES: u32 = Psn::SPACE / NEIGHBOURS;
const DOWNWARDS: u16 = 1 << 14;
const READS: u16 = 1 << 13;
/// The flow has no requests.
const NOWHERE: Place = Place(1 << 15);
/// The flow must be checked: it may have found its peer, or its number may be used for another flow.
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

/// Whether the latest request was the last one of a [place](Place).
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
/// The evidence that an acknowledged PSN lies in a window, less the bits of the window's size.
const OF_WINDOW_BITS: u32 = 24;
/// The evidence that a PSN is among the next that a flow will have.
const OF_NEXT_BITS: u32 = 14;
const NEXT: u64 = 1 << (24 - OF_NEXT_BITS);
/// Before so many answers, the flow that they are of may not have begun.
const EARLY_ATTEMPTS: u16 = 4;
/// PSNs around those that were sent.
const AROUND_WINDOW: u64 = 65;
/// The evidence that two flows have one port, which none of the others has.
const OF_PORT_BITS: u32 = 12;

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

/// Whether this PSN is among the next ones, so many, that these requests will have.
fn is_soon_sent(requests: &Requests, psn: Psn, next: u64) -> bool {
    let x = requests.seq.unwrap(psn);
    x > requests.seq.hi && x - requests.seq.hi < next
}

/// Whether it is unpaired and between the two ports of this key. Its number may have been used for another flow.
fn is_unpaired(flow: &Flow, lids: &Lids, key: &Key) -> bool {
    flow.peer.is_none() && lids.pair(&flow.key) == lids.pair(key)
}

fn join(flows: &mut Flows, a: FlowId, b: FlowId, by: PairedBy, bits: u32) {
    let (one, Some(two)) = flows.two(a, Some(b)) else { return };
    (one.peer, one.peer_qp, one.paired_by) = (Some(b), Some(two.key.dest_qp()), Some(by));
    (two.peer, two.peer_qp, two.paired_by) = (Some(a), Some(one.key.dest_qp()), Some(by));
    (one.evidence, two.evidence) = (bits as u16, bits as u16);
    begin_at_answers(one, two);
    begin_at_answers(two, one);
}

/// Answers that came before the flows were paired measure nothing. A flow that only answers tells by its last packet how far it did.
fn begin_at_answers(asks: &mut Flow, answers: &Flow) {
    let only_answers = answers.requests.counts.packets == 0 && answers.responses.counts.packets > 0;
    if only_answers && asks.requests.seq.is_started() {
        asks.requests.was_answered_to(Psn(answers.last_psn));
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_table_connection.rs"]
mod tests;
