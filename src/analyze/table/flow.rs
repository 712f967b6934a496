//! A flow: the state of the packets from one host to a queue pair of another.

use super::Begin;
use crate::{
    analyze::{
        model::FlowId,
        packet::{Facts, key::Key, path_tag},
        track::{
            SILENCE_NS,
            config::TrackConfig,
            copies::CnpRecords,
            on_demand::{OnDemand, quiet},
            order::IdOrder,
            request::Requests,
            response::Responses,
            ring::Room,
        },
    },
    dissect::Encapsulation,
    heap::heap,
    icrc::State,
    opcode::{Direction, Opcode, PayloadRule, Position, Service, Shape},
    prefetch,
    report::PairedBy,
    wire::*,
};

/// The fields that tell one path from another: VLANs, DSCPs, TTLs and source ports, in the order of the packets.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct PathTags {
    /// Of the last packet, see [`Facts::path_tag`]; 0 before the first.
    last: u64,
    /// All values, once there are several.
    lists: Option<Box<Lists>>,
}

/// All values of each field, in the order of the packets.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Lists {
    pub(crate) vlans: Vec<u16>,
    pub(crate) dscps: Vec<u8>,
    pub(crate) ttls: Vec<u8>,
    pub(crate) ports: Vec<u16>,
    /// Service levels and virtual lanes of native InfiniBand.
    pub(crate) sls: Vec<u8>,
    pub(crate) vls: Vec<u8>,
}

/// Most values that are kept of each field.
const FEW: usize = 32;

impl PathTags {
    /// Of the last packet.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, path_tag: u64) {
        if !self.is_as_last(path_tag) {
            self.changed(path_tag);
        }
    }

    /// Whether the last packet had this path tag too.
    #[inline(always)]
    pub(crate) fn is_as_last(&self, path_tag: u64) -> bool {
        path_tag == self.last
    }

    #[cold]
    fn changed(&mut self, path_tag: u64) {
        if self.last != 0 {
            let lists = self.lists.get_or_insert_with(|| Box::new(Lists::of(self.last)));
            lists.add(path_tag);
        }
        self.last = path_tag;
    }

    pub(crate) fn lists(&self) -> Lists {
        self.lists.as_deref().cloned().unwrap_or_else(|| Lists::of(self.last))
    }

    /// Whether a packet had this source port.
    pub(crate) fn has_port(&self, port: u16) -> bool {
        match &self.lists {
            Some(lists) => lists.ports.contains(&port),
            None => path_tag::port(self.last) == Some(port),
        }
    }

    /// The source port, if it was always the same.
    pub(crate) fn only_port(&self) -> Option<u16> {
        self.only(|lists| &lists.ports, path_tag::port)
    }

    /// The DSCP, if it was always the same.
    pub(crate) fn only_dscp(&self) -> Option<u8> {
        self.only(|lists| &lists.dscps, path_tag::dscp)
    }

    /// The VLAN, if it was always the same.
    pub(crate) fn only_vlan(&self) -> Option<u16> {
        self.only(|lists| &lists.vlans, path_tag::vlan)
    }

    fn only<T: Copy>(&self, all: fn(&Lists) -> &[T], last: fn(u64) -> Option<T>) -> Option<T> {
        match self.lists.as_deref().map(all) {
            Some(&[only]) => Some(only),
            Some(_) => None,
            None => last(self.last),
        }
    }

    /// Whether there were several source ports.
    pub(crate) fn has_several_ports(&self) -> bool {
        self.lists.as_ref().is_some_and(|lists| lists.ports.len() > 1)
    }
}

impl Lists {
    fn of(path_tag: u64) -> Lists {
        let mut lists = Lists::default();
        lists.add(path_tag);
        lists
    }

    fn add(&mut self, path_tag: u64) {
        fn add<T: PartialEq>(list: &mut Vec<T>, value: Option<T>) {
            if let Some(value) = value
                && list.len() < FEW
                && !list.contains(&value)
            {
                list.push(value);
            }
        }
        add(&mut self.vlans, path_tag::vlan(path_tag));
        add(&mut self.dscps, path_tag::dscp(path_tag));
        add(&mut self.ttls, path_tag::ttl(path_tag));
        add(&mut self.ports, path_tag::port(path_tag));
        let (sl, vl) = path_tag::lanes(path_tag).unzip();
        add(&mut self.sls, sl);
        add(&mut self.vls, vl);
    }
}

/// Packets by operation code: a flow has few.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Opcodes {
    codes: [u8; HERE],
    used: u8,
    packets: [u64; HERE],
    /// All others.
    more: Option<Box<MoreOpcodes>>,
}

#[derive(Clone, Debug, crate::stored::Stored)]
#[repr(C)]
struct MoreOpcodes {
    /// The upper bits, the service, of the operation codes that are counted here.
    service: u8,
    /// By operation code, where a flow has several services: 2 KiB, rare.
    others: Option<Codes>,
    packets: [u64; OF_SERVICE],
}

/// Packets by operation code.
#[derive(Clone, Debug, crate::stored::Stored)]
struct Codes(Box<[u64; CODES]>);

/// Operation codes that there may be, and those of a service.
const CODES: usize = 1 << u8::BITS;
const OF_SERVICE: usize = 32;

/// Operation codes that are counted in the flow itself.
const HERE: usize = 4;

/// A code's position in the list, or the list's length.
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

    /// Counts `n` packets with one operation code.
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
            let others = more.others.get_or_insert_with(|| Codes(Box::new([0; CODES])));
            others.0[opcode as usize] += n;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u8, u64)> {
        let here = self.codes.into_iter().zip(self.packets).take(self.used as usize);
        let of_service = |more: &MoreOpcodes| (more.service * OF_SERVICE as u8..=u8::MAX).zip(more.packets);
        let more = self.more.as_deref();
        let others = more.and_then(|more| more.others.as_ref());
        let others = others.into_iter().flat_map(|others| (0..=u8::MAX).zip(others.0.iter().copied()));
        let more = more.into_iter().flat_map(of_service).chain(others);
        here.chain(more.filter(|&(_, packets)| packets > 0))
    }
}

/// Which parts of a connection were seen: the bits of the report's `completeness`.
pub(crate) const REQ: u8 = 1;
pub(crate) const REP: u8 = 2;
pub(crate) const RTU: u8 = 4;
pub(crate) const REQUESTS: u8 = 8;
pub(crate) const RESPONSES: u8 = 16;
pub(crate) const DREQ: u8 = 32;
pub(crate) const FATAL_NAK: u8 = 64;

/// A flow. The fields that every packet needs are next to each other.
#[derive(Debug, crate::stored::Stored)]
#[repr(C)]
pub(crate) struct Flow {
    pub(crate) key: Key,
    pub(crate) last_time: i64,
    pub(crate) packets: u64,
    pub(crate) wire_bytes: u64,
    pub(crate) payload_bytes: u64,
    /// By [`state_at`].
    pub(crate) icrc: [u64; 3],
    pub(crate) path_tags: PathTags,
    pub(crate) last_psn: u32,
    pub(crate) service: Service,
    pub(crate) encapsulation: Encapsulation,
    /// The next packet begins a new epoch: CM said so.
    pub(crate) renew: bool,
    pub(crate) peer: Option<FlowId>,
    pub(crate) opcodes: Opcodes,
    pub(crate) ids: IdOrder,
    pub(crate) completeness: u8,
    /// Its packets are counted in a [run](super::run::InOrderRun) at the moment.
    pub(crate) in_run: bool,
    /// It is among the flows whose runs began.
    pub(crate) is_listed: bool,
    /// Its requests do not know of the last READ responses, which the opposite flow's run has.
    pub(crate) is_behind: bool,
    /// Its memory is measured again when it has this number of packets; the low bits.
    pub(super) measure_at: u32,
    /// Its bytes on the heap when they were last measured.
    pub(super) held: u32,
    pub(crate) ecn_ect: u64,
    pub(crate) requests: Requests,
    /// Most flows have either responses or requests.
    pub(crate) responses: OnDemand<Responses>,
    pub(crate) epoch: u32,
    pub(crate) first_psn: u32,
    pub(crate) peer_qp: Option<u32>,
    pub(crate) first_time: i64,
    pub(crate) acks: u64,
    signals: OnDemand<SignalCounts>,
    pub(crate) paired_by: Option<PairedBy>,
    /// It has lost detail.
    pub(crate) is_shed: bool,
    pub(crate) evidence: u16,
    /// Attempts to find the opposite flow.
    pub(crate) attempts: u16,
    /// Of its first packet.
    pub(crate) p_key: u16,
}

/// The sizes of a flow's types: a state that a build with other types wrote does not fit.
#[cfg(feature = "state")]
pub(crate) const SIZES: [usize; 4] =
    [size_of::<Flow>(), size_of::<Requests>(), size_of::<Responses>(), size_of::<super::run::InOrderRun>()];

/// What a flow was told of congestion and errors: few flows need it.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct SignalCounts {
    pub(crate) cnps: u64,
    pub(crate) cnp_records: CnpRecords,
    pub(crate) rnr_naks: u64,
    pub(crate) naks: [u32; 5],
    pub(crate) ecn_ce: u64,
    pub(crate) becn: u64,
    /// VCRCs of native InfiniBand, right and wrong ones.
    pub(crate) vcrc: [u64; 2],
    /// Packets that were recorded before.
    pub(crate) copied: Opcodes,
}

quiet!(SignalCounts);

heap! {
    Flow { requests, responses, opcodes, path_tags, signals }
    PathTags { lists }
    Lists { vlans, dscps, ttls, ports, sls, vls }
    Opcodes { more }
    MoreOpcodes { others }
    Codes { 0 }
    SignalCounts { copied }
}

/// Where packets whose ICRC has this state count: trimmed ones are not checked.
#[inline(always)]
pub(crate) fn state_at(icrc: State) -> usize {
    (icrc as usize).min(State::Unchecked as usize)
}

impl Flow {
    pub(crate) fn new(begin: &Begin) -> Flow {
        let &Begin { key, service, encapsulation, time, psn, p_key } = begin;
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
            p_key,
            measure_at: 0,
            held: 0,
            is_shed: false,
            in_run: false,
            is_listed: false,
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
            signals: OnDemand::default(),
            icrc: [0; 3],
            first_psn: psn,
            last_psn: psn,
            path_tags: PathTags::default(),
            opcodes: Opcodes::default(),
            ids: IdOrder::default(),
            requests: Requests::default(),
            responses: OnDemand::default(),
        }
    }

    /// What it was told of congestion and errors: nothing, if it is not written to.
    pub(crate) fn signals(&self) -> &SignalCounts {
        &self.signals
    }

    /// What it was told of congestion and errors, for changes: it is allocated.
    pub(crate) fn signals_mut(&mut self) -> &mut SignalCounts {
        &mut self.signals
    }

    /// Whether the packet is the next request, and the flow has nothing undecided. This holds for nearly all requests.
    #[inline(always)]
    pub(crate) fn expects(&self, packet: &Facts, shape: &Shape) -> bool {
        let is_usual = !self.renew && !self.was_silent(packet.time()) && self.service != Service::Cn;
        is_usual
            && (shape.payload != PayloadRule::Full || self.requests.knows_mtu())
            && self.requests.expects(packet, &self.ids)
    }

    /// Takes a packet that it expects.
    #[inline(always)]
    pub(crate) fn take_expected(&mut self, packet: &Facts, shape: &Shape, frame: u64, config: &TrackConfig) {
        self.count_right(packet);
        self.requests.take_expected(packet, shape, frame, &self.ids, config);
        self.completeness |= REQUESTS;
        if let Some(ip_id) = packet.ip_id() {
            self.ids.push(ip_id);
        }
    }

    /// Whether the packet is the next READ response, and the responses are in order. This holds for nearly all of them.
    #[inline(always)]
    pub(crate) fn expects_data(&self, packet: &Facts) -> bool {
        let is_usual = !self.renew && !self.was_silent(packet.time()) && self.service != Service::Cn;
        is_usual && self.responses.expects_data(packet, &self.ids)
    }

    /// Takes a READ response that it expects.
    #[inline(always)]
    pub(crate) fn take_expected_data(&mut self, packet: &Facts, shape: &Shape, frame: u64) {
        self.count_right(packet);
        self.responses.take_expected_data(packet, shape, frame);
        self.completeness |= RESPONSES;
        if let Some(ip_id) = packet.ip_id() {
            self.ids.push(ip_id);
        }
    }

    /// Counts a packet that is not corrupt.
    #[inline(always)]
    fn count_right(&mut self, packet: &Facts) {
        self.count(packet);
        self.note_path(packet);
        self.last_psn = packet.psn().0;
        self.payload_bytes += packet.payload() as u64;
    }

    /// Whether the last packet of a PSN space was recorded before, and is the first of these records that is marked.
    pub(crate) fn take_mark(&mut self, space: Direction) -> bool {
        match space {
            Direction::Request => self.requests.seq.take_mark(),
            Direction::Response => self.responses.read.get_mut().is_some_and(|read| read.seq.take_mark()),
        }
    }

    /// What identifies it.
    pub(crate) fn uid(&self) -> String {
        self.key.uid(self.epoch).to_string()
    }

    /// Counts a packet, corrupt or not.
    #[inline(always)]
    pub(crate) fn count(&mut self, packet: &Facts) {
        self.packets += 1;
        self.last_time = self.last_time.max(packet.time());
        self.wire_bytes += packet.l1_bytes() as u64;
        self.icrc[state_at(packet.icrc())] += 1;
        self.opcodes.add(packet.opcode().code);
        if packet.vcrc() != State::Unchecked {
            self.signals_mut().vcrc[usize::from(packet.vcrc() == State::Bad)] += 1;
        }
    }

    /// Counts the marks and the path tag of a packet that is not corrupt.
    #[inline(always)]
    pub(crate) fn note_path(&mut self, packet: &Facts) {
        self.note_marks(packet);
        self.path_tags.add(packet.path_tag());
    }

    /// Counts the marks of a packet that is not corrupt.
    #[inline(always)]
    pub(crate) fn note_marks(&mut self, packet: &Facts) {
        match packet.ecn() {
            _ if packet.mark() == Ecn::CE => self.signals_mut().ecn_ce += 1,
            Ecn(0) => {}
            _ => self.ecn_ect += 1,
        }
        if packet.becn() && !packet.opcode().is_cnp() {
            self.signals_mut().becn += 1;
        }
    }

    /// What was [noted](Self::note_marks) of a packet that is a second record of one transmission: that counts once. A mark that the first
    /// record did not have is a mark of the same packet.
    #[cold]
    pub(crate) fn was_noted(&mut self, packet: &Facts, is_marked_later: bool) {
        self.signals_mut().copied.add(packet.opcode().code);
        let is_marked = packet.mark() == Ecn::CE;
        if is_marked && !is_marked_later {
            let marked = &mut self.signals_mut().ecn_ce;
            *marked = marked.saturating_sub(1);
        } else if is_marked || packet.ecn() != Ecn::default() {
            self.ecn_ect = self.ecn_ect.saturating_sub(1);
        }
        if packet.becn() && !packet.opcode().is_cnp() {
            let becn = &mut self.signals_mut().becn;
            *becn = becn.saturating_sub(1);
        }
    }

    /// Bytes of payload that are new to the receiver, of requests and of READ responses.
    #[inline(always)]
    pub(crate) fn goodput(&self) -> u64 {
        let data = self.responses.get().and_then(|responses| responses.read.get());
        self.requests.goodput + data.map_or(0, |read| read.goodput)
    }

    /// Whether the flow was silent so long that its queue pair number may have been used anew.
    #[inline(always)]
    pub(crate) fn was_silent(&self, time: i64) -> bool {
        time - self.last_time > SILENCE_NS
    }

    /// Whether the queue pair number is used anew: a message begins far from the last PSN.
    #[cold]
    pub(crate) fn is_reused(&self, opcode: Opcode, psn: Psn) -> bool {
        const FAR: u64 = 1 << 20;
        let seq = &self.requests.seq;
        seq.is_started()
            && opcode.direction() == Direction::Request
            && matches!(opcode.position(), Position::First | Position::Only)
            && seq.unwrap(psn).abs_diff(seq.hi) > FAR
    }

    /// Prefetches what every request needs.
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        self.fetch_own();
        self.requests.fetch();
    }

    /// Prefetches what every response needs.
    #[inline(always)]
    pub(crate) fn fetch_answering(&self) {
        self.fetch_own();
        prefetch::line(&self.acks);
    }

    #[inline(always)]
    fn fetch_own(&self) {
        prefetch::line(&self.key);
        prefetch::line(&self.packets);
        prefetch::line(&self.icrc);
        prefetch::lines(&self.opcodes);
        prefetch::line(&self.ecn_ect);
    }

    /// Prefetches all that is reported.
    #[inline(always)]
    pub(crate) fn fetch_all(&self) {
        prefetch::lines(self);
        self.responses.fetch();
    }

    /// Whether nothing is reported of it but traffic: no packet is wrong, surely lost, late, retransmitted, refused or marked, and no
    /// CNP was sent.
    pub(crate) fn is_quiet(&self) -> bool {
        let Flow { requests, responses, .. } = self;
        self.signals.get().is_none()
            && self.icrc[State::Bad as usize] == 0
            && requests.is_quiet_so_far()
            && responses.get().is_none_or(|responses| responses.counts.are_quiet())
    }

    pub(crate) fn grow_within(&mut self, room: &Room) {
        self.requests.seq.ring.grow_within(room);
    }

    /// Its rings take their memory from this room, after they were read from a file.
    #[cfg(feature = "state")]
    pub(crate) fn return_to(&mut self, room: &Room) {
        self.requests.seq.ring.return_to(room);
        if let Some(read) = self.responses.get_mut().and_then(|responses| responses.read.get_mut()) {
            read.seq.ring.return_to(room);
        }
    }

    /// Makes the state of READ responses, with the first one.
    #[inline]
    pub(crate) fn follow_reads(&mut self) {
        if self.responses.read.get().is_none()
            && let Some(room) = self.requests.seq.ring.room().cloned()
        {
            self.responses.read.seq.ring.grow_within(&room);
        }
    }

    /// The flow is over: drops the state that only further packets would need.
    pub(crate) fn forget(&mut self) {
        self.requests.forget();
        if let Some(read) = self.responses.get_mut().and_then(|responses| responses.read.get_mut()) {
            read.seq.forget();
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_table_flow.rs"]
mod tests;
