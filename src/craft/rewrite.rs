//! Rewrites captures: other addresses and keys, no payload, another encapsulation. Each frame in gives one frame out.
//!
//! A value is replaced by the same other value everywhere. So an analysis that pairs the two directions of a connection
//! by addresses, queue pairs, CM messages, PSNs or UDP source ports finds the same pairs:
//!
//! | what | by |
//! |---|---|
//! | Ethernet addresses | another one, local or universal as it was; multicast stays |
//! | IPv4 | another address of its range (10/8, 172.16/12, 192.168/16, 169.254/16, the rest); multicast, broadcast, loopback and 0/8 stay |
//! | IPv6, GIDs | another one with the first byte or the link-local prefix kept; mapped IPv4 as its address; multicast stays |
//! | LIDs | another unicast LID; multicast and permissive ones stay |
//! | queue pairs, shared receive queues | another number; 0, 1 and 0xffffff stay |
//! | EE contexts | another one; 0 stays |
//! | keys, virtual addresses | another R_Key; virtual addresses move by a multiple of 4096 that depends on their key |
//! | GUIDs, communication IDs, transaction IDs | another one; communication ID 0 stays |
//! | service IDs | another one; 0 and those of RDMA-CM stay |
//! | names of capture interfaces | another one; what else a pcapng file says in words is left out: descriptions, comments, names of hosts, addresses and the filter of an interface |
//! | private data, reject information, values of LLDP, IP and GENEVE options, what IPv6 extensions have behind their first eight bytes, unknown management data, payload of packets without a BTH | zeros |
//!
//! A header says by the types of its fields what is to be replaced ([`Secret`]). Every replacement is a permutation that depends on the seed only. So different values stay different, and captures of
//! one network that are rewritten with one seed still belong together. PSNs, lengths, opcodes, P_Keys, Q_Keys, times, and the
//! numbers of VLANs, labels, virtual networks and sessions stay, and payload does without [`Plan::zero_payload`]. If a UDP source port came from Linux's formula over two queue
//! pairs in the capture, it is computed again from the new ones; others stay. A right checksum or CRC is right again; a
//! wrong one stays as it was.

use std::{
    collections::HashMap,
    net::{Ipv4Addr, Ipv6Addr},
};

use bytes::Bytes;

use super::{ComputedField, Edit, Packet, Trim, path::Path};
use crate::{
    capture::{FRAME_FLAGS, FRAME_HASH, FrameOption, Info, Interface, Record},
    dissect::{Dissection, Encapsulation, Link, dissect},
    icrc,
    opcode::PayloadRule,
    random::mix,
    wire::*,
};

/// What to do with each frame, in this order.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Replace addresses, queue pairs, keys and the other values of the table above.
    pub anonymize: bool,
    /// Change fields.
    pub edits: Vec<Edit>,
    /// Use this encapsulation, and remove tunnels.
    pub to: Option<Encapsulation>,
    /// Replace payload by zeros, and the private data of connection management.
    pub zero_payload: bool,
    /// Cut packets as a switch does that trims them, and which: one in so many of those that can be.
    pub trim: Option<(Trim, u64)>,
    /// Keep at most this many bytes of each frame.
    pub snaplen: Option<u32>,
    /// The seed of the replacements.
    pub seed: u64,
}

/// How many frames were rewritten, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames in, and out.
    pub frames: u64,
    /// Frames that had nothing to rewrite.
    pub unchanged: u64,
    /// Frames with a wrong ICRC, which stays wrong.
    pub bad_icrc: u64,
    /// Frames that have no transport to put into another encapsulation.
    pub not_converted: u64,
    /// Edits that found no header to change.
    pub missed_edits: u64,
    /// Packets that were cut to their headers.
    pub trimmed: u64,
    /// Frames that were longer than [`Plan::snaplen`], and were cut.
    pub cut: u64,
}

/// Rewrites frames, one at a time.
#[derive(Debug, Default)]
pub struct Rewriter {
    plan: Plan,
    counts: Counts,
    frame: Vec<u8>,
    /// Packets that can be trimmed.
    trimmable: u64,
    /// Destination queue pairs of packets from one host to another, by a hash of the two addresses.
    going: HashMap<u64, Vec<u32>>,
    known: usize,
    /// The sending queue pair from which a UDP source port was computed, by hosts, destination queue pair and port.
    senders: HashMap<(u64, u32, u16), Option<u32>>,
}

/// A rewritten frame.
#[derive(Clone, Copy, Debug)]
pub struct Rewritten<'a> {
    /// Its link type.
    pub link: Link,
    /// Bytes it has on the wire.
    pub wire_len: u32,
    /// The bytes.
    pub frame: &'a [u8],
}

/// Most queue pairs that are kept for source ports: between two hosts, and in all.
const MOST_OF_TWO: usize = 1 << 12;
const MOST: usize = 1 << 16;

impl Rewriter {
    /// A rewriter with this plan.
    pub fn new(plan: Plan) -> Rewriter {
        Rewriter { plan, ..Rewriter::default() }
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Learns a frame's queue pair, for all frames before any is rewritten: a UDP source port can be computed again only
    /// if both of its queue pairs are known. Without this call, such ports stay as they are.
    pub fn learn(&mut self, record: &Record<'_>) {
        let d = dissect(record.link, record.frame, record.wire_len);
        let Some(bth) = d.get::<Bth>().filter(|bth| is_private(bth.dest_qp()) && self.known < MOST) else {
            return;
        };
        let Some(hosts) = hosts(&d, false) else { return };
        let going = self.going.entry(hosts).or_default();
        if going.len() < MOST_OF_TWO && !going.contains(&bth.dest_qp().0) {
            going.push(bth.dest_qp().0);
            self.known += 1;
        }
    }

    /// What the copy says of itself and of its interfaces, where the source says this. Names of interfaces are replaced, names of hosts
    /// and what people wrote are left out where the copy is to be anonymous. Lengths of frames are no longer those that were captured
    /// where they change.
    pub fn info(&self, info: &Info) -> Info {
        let Plan { anonymize, edits, to, snaplen, .. } = &self.plan;
        let mut info = info.clone();
        if *anonymize {
            let (name, comment, hardware, os, names) = Default::default();
            info = Info { name, comment, hardware, os, names, ..info };
        }
        for interface in &mut info.interfaces {
            if *anonymize {
                let name =
                    interface.name.as_deref().map(|name| Names { seed: self.plan.seed }.interface(name));
                *interface = Interface {
                    name,
                    description: None,
                    options: Vec::new(),
                    file: None,
                    ..std::mem::take(interface)
                };
            }
            if to.is_some() {
                interface.fcs_len = None;
            }
            interface.snaplen = match (to.is_some() || !edits.is_empty(), *snaplen) {
                (true, snaplen) => snaplen.unwrap_or(0),
                (false, Some(snaplen)) if interface.snaplen == 0 => snaplen,
                (false, snaplen) => interface.snaplen.min(snaplen.unwrap_or(u32::MAX)),
            };
        }
        info
    }

    /// Whether comments on frames are copied: not where the copy is to be anonymous.
    pub fn keeps_comments(&self) -> bool {
        !self.plan.anonymize
    }

    /// What the copy says of a frame, of what the capture says of it beside comments. A hash is of the frame as it was. Where the copy is
    /// to be anonymous, only flags stay: an identifier or a queue may tell in which other capture the frame is.
    pub fn option<'a>(&self, (code, mut value): FrameOption<'a>) -> Option<FrameOption<'a>> {
        if code == FRAME_HASH || self.plan.anonymize && code != FRAME_FLAGS {
            return None;
        }
        if code == FRAME_FLAGS
            && self.plan.to.is_some()
            && let Some(low) = value.to_mut().first_chunk_mut::<2>()
        {
            // Bits 5 to 8: the length of the frame check sequence, which the new encapsulation does not have.
            *low = (u16::from_le_bytes(*low) & !0x01e0).to_le_bytes();
        }
        Some((code, value))
    }

    /// Rewrites one frame.
    ///
    /// # Errors
    /// An edit has a value that does not fit.
    pub fn rewrite(&mut self, record: &Record<'_>) -> Result<Rewritten<'_>, String> {
        self.counts.frames += 1;
        let d = dissect(record.link, record.frame, record.wire_len);
        let mut packet = Packet::from(&d);
        // Bytes behind the packet that were not captured.
        let mut more = record.wire_len.saturating_sub(packet.wire_len());
        let before = packet.clone();
        if self.plan.anonymize {
            self.anonymize(&mut packet, &d);
        }
        for edit in &self.plan.edits {
            if !edit.apply(&mut packet, self.plan.seed)? {
                self.counts.missed_edits += 1;
            }
        }
        match self.plan.to.map(|to| convert(&packet, &d, to)) {
            Some(Some(converted)) => (packet, more) = (converted, 0),
            Some(None) if d.encapsulation().is_none() => self.counts.not_converted += 1,
            _ => {}
        }
        if self.plan.zero_payload {
            zero(&mut packet, &d);
        }
        let mut is_changed = packet != before;
        // A wrong CRC stays as it is. It could become right by chance, once in 2^32.
        self.counts.bad_icrc += (icrc::verify(&d) == icrc::State::Bad) as u64;
        self.frame.clear();
        packet.build_into(&mut self.frame);
        let mut wire_len = packet.wire_len().saturating_add(more);
        if let Some((trim, every)) = self.plan.trim
            && record.wire_len as usize == record.frame.len()
            && d.opcode().is_some_and(|opcode| opcode.payload_rule() != PayloadRule::None)
        {
            let untrimmed = self.frame.clone();
            if trim.apply(packet.link(), &mut self.frame) {
                self.trimmable += 1;
                match self.trimmable.is_multiple_of(every.max(1)) {
                    true => {
                        self.counts.trimmed += 1;
                        is_changed = true;
                        wire_len = self.frame.len() as u32;
                    }
                    false => self.frame = untrimmed,
                }
            }
        }
        if let Some(snaplen) = self.plan.snaplen
            && self.frame.len() > snaplen as usize
        {
            self.frame.truncate(snaplen as usize);
            self.counts.cut += 1;
            is_changed = true;
        }
        self.counts.unchanged += !is_changed as u64;
        Ok(Rewritten { link: packet.link(), wire_len, frame: &self.frame })
    }

    fn anonymize(&mut self, packet: &mut Packet, d: &Dissection<'_>) {
        let names = Names { seed: self.plan.seed };
        if let Some(port) = self.linux_port(d, &names) {
            packet.alter(|udp: Udp| udp.with_src_port(port));
        }
        let r_key = d.get::<Reth>().map(|h| h.r_key()).or(d.get::<AtomicEth>().map(|h| h.r_key()));
        for n in 0..packet.parts().len() {
            let part = packet.parts()[n];
            let header = packet.bytes_mut(n);
            if header.len() < part.kind.info().map_or(0, |info| info.len) {
                continue;
            }
            for field in part.kind.fields() {
                names.field(header, field, r_key.unwrap_or_default());
            }
            match part.kind {
                Kind::CmPrivate
                | Kind::AttributeRest
                | Kind::LldpValue
                | Kind::Everflow
                | Kind::ErfExtension => header.fill(0),
                Kind::Ipv4Options | Kind::GeneveOptions | Kind::GueFields | Kind::TrillOptions => {
                    header.fill(0)
                }
                Kind::NshContext | Kind::IfaStack | Kind::PktapRest | Kind::NflogBytes => header.fill(0),
                Kind::IntStack | Kind::PspMore => header.fill(0),
                // Padding up to the tag that ends the list.
                Kind::TzspTags => header.iter_mut().rev().skip(1).for_each(|byte| *byte = 0),
                // Behind the next header, the length and a fragment's place there may be addresses.
                Kind::Ipv6Extension => header.iter_mut().skip(8).for_each(|byte| *byte = 0),
                _ => {}
            }
        }
        // Bytes that are not dissected may hold addresses.
        if !d.has(Kind::Bth) || is_management(d) {
            packet.set_payload(vec![0; packet.get_payload().len()]);
        }
    }

    /// The source port for the new queue pairs, if the old one was computed from the old ones.
    fn linux_port(&mut self, d: &Dissection<'_>, names: &Names) -> Option<u16> {
        let (udp, bth) = (d.get::<Udp>()?, d.get::<Bth>()?);
        let (to, port) = (bth.dest_qp(), udp.src_port());
        if let Some(deth) = d.get::<Deth>() {
            let was = Udp::linux_source_port(to, deth.src_qp()) == port;
            return was.then(|| Udp::linux_source_port(names.qpn(to), names.qpn(deth.src_qp())));
        }
        let back = hosts(d, true)?;
        let key = (back, to.0, port);
        let from = match self.senders.get(&key) {
            Some(from) => *from,
            None => {
                let candidates = self.going.get(&back).map_or(&[][..], |going| going);
                let fits = |qpn: &&u32| Udp::linux_source_port(to, Qpn(**qpn)) == port;
                let from = candidates.iter().filter(fits).min().copied();
                if self.senders.len() < MOST {
                    self.senders.insert(key, from);
                }
                from
            }
        };
        Some(Udp::linux_source_port(names.qpn(to), names.qpn(Qpn(from?))))
    }
}

/// A hash of the two hosts of the innermost packet, in this order or reversed.
fn hosts(d: &Dissection<'_>, reversed: bool) -> Option<u64> {
    let path = Path::of(d)?;
    let path = if reversed { path.reversed() } else { path };
    let digest = |seed: u64, gid: Ipv6Addr| {
        let bits = u128::from(gid);
        mix(mix(seed ^ bits as u64) ^ (bits >> 64) as u64)
    };
    Some(digest(digest(1, path.src.gid()), path.dst.gid()))
}

fn is_management(d: &Dissection<'_>) -> bool {
    d.get::<Deth>().is_some_and(|deth| deth.src_qp().0 <= 1)
        || d.get::<Bth>().is_some_and(|bth| bth.dest_qp().0 <= 1)
}

fn is_private(qpn: Qpn) -> bool {
    qpn.0 > 1 && qpn != Qpn::MULTICAST
}

/// Replaces payload by as many zeros.
fn zero(packet: &mut Packet, d: &Dissection<'_>) {
    if d.has(Kind::Bth) {
        packet.set_payload(Bytes::from(vec![0; packet.get_payload().len()]));
    }
    for n in 0..packet.parts().len() {
        if matches!(packet.parts()[n].kind, Kind::CmPrivate | Kind::AttributeRest) {
            packet.bytes_mut(n).fill(0);
        }
    }
}

/// Puts the transport into another encapsulation, with the addresses of the innermost packet ([`Path::of`]). An IPv4
/// address becomes its mapped GID and back. LIDs and missing Ethernet addresses are made from the IP address
/// ([`super::Endpoint::new`]), a missing IP address from the LID (10.77 and the LID). Bytes behind the packet are dropped.
/// `None` if there is no BTH, or nothing to change.
fn convert(packet: &Packet, d: &Dissection<'_>, to: Encapsulation) -> Option<Packet> {
    let from = d.encapsulation()?;
    if from == to && d.tunnel_depth() == 0 {
        return None;
    }
    // Edits are done already.
    let frame = packet.build();
    let edited = dissect(packet.link(), &frame, packet.wire_len());
    let mut path = Path { encapsulation: to, ..Path::of(&edited)? };
    // Native InfiniBand marks in the BTH (FECN), and may mark any packet, whatever its sender can do: around IP, that is ECN's CE and ECT(0). Not-ECT
    // would say of a capture with marks that all that can be marked is.
    let is_native = |wrap| matches!(wrap, Encapsulation::Ib | Encapsulation::IbGrh);
    let crosses = is_native(from) != is_native(to);
    if crosses && is_native(from) {
        path.ecn = match (edited.get::<Bth>()?.fecn(), path.ecn) {
            (true, _) => Ecn::CE,
            (_, Ecn(0)) => Ecn::ECT0,
            (_, ecn) => ecn,
        };
    }
    let mut converted = path.packet();
    let around = packet.parts().iter().rposition(|part| part.kind.is_bth())?;
    for part in &packet.parts()[around..] {
        converted.append(part.kind, packet.bytes_of(part));
    }
    for (part, old) in converted.parts.iter_mut().rev().zip(packet.parts()[around..].iter().rev()) {
        part.keep = old.keep;
    }
    if crosses {
        converted.alter(|bth: Bth| bth.with_fecn(is_native(to) && path.ecn == Ecn::CE));
    }
    converted.payload = packet.payload.clone();
    converted.pad = packet.pad;
    converted.missing = packet.missing;
    converted.icrc = packet.icrc;
    if packet.icrc.is_none() && converted.missing > 0 {
        // The frame was cut before its CRCs.
        converted.vcrc = None;
    }
    if packet.keeps(ComputedField::Icrc) && packet.icrc.is_some() {
        converted.keep.set(ComputedField::Icrc, true);
    }
    if let (Some(udp), true) = (edited.get::<Udp>(), converted.get::<Udp>().is_some()) {
        let port = udp.src_port();
        converted.alter(|udp: Udp| udp.with_src_port(port));
        converted.set_keep(ComputedField::UdpSourcePort, true);
    }
    Some(converted)
}

/// The replacements: a permutation for each kind of value, so different values stay different.
struct Names {
    seed: u64,
}

impl Names {
    /// A permutation of the numbers of `bits` bits (4 to 64): a Feistel network of four rounds over two halves. If `bits`
    /// is odd, the halves have one bit more, and the network runs again until the result fits.
    fn shuffle(&self, what: u64, value: u64, bits: u32) -> u64 {
        let half = bits.div_ceil(2);
        let mask = u64::MAX >> (64 - half);
        let limit = u64::MAX >> (64 - bits);
        let mut value = value & limit;
        loop {
            let (mut left, mut right) = (value >> half & mask, value & mask);
            for round in 0..4 {
                let key = mix(self.seed.wrapping_add(what << 56 | round << 48));
                (left, right) = (right, left ^ mix(key.wrapping_add(right)) & mask);
            }
            value = left << half | right;
            if value <= limit {
                return value;
            }
        }
    }

    /// A permutation of the numbers that fit: repeats [`Names::shuffle`] until the result fits.
    fn within(&self, what: u64, value: u64, bits: u32, fits: impl Fn(u64) -> bool) -> u64 {
        let shuffle = |value: &u64| Some(self.shuffle(what, *value, bits));
        std::iter::successors(shuffle(&value), shuffle).find(|&value| fits(value)).unwrap_or(value)
    }

    /// The name of a capture interface.
    fn interface(&self, name: &str) -> String {
        let hash = name.bytes().fold(mix(self.seed ^ 12), |hash, byte| mix(hash ^ u64::from(byte)));
        format!("if-{:06x}", hash >> 40)
    }

    fn qpn(&self, qpn: Qpn) -> Qpn {
        let fits = |value: u64| is_private(Qpn(value as u32));
        if is_private(qpn) { Qpn(self.within(1, qpn.0 as u64, 24, fits) as u32) } else { qpn }
    }

    fn mac(&self, mac: Mac) -> Mac {
        let [a, b, c, d, e, f] = mac.0;
        if mac.is_multicast() || mac == Mac::default() {
            return mac;
        }
        // All bits but those for group and local.
        let value = (a as u64 >> 2) << 40 | u64::from_be_bytes([0, 0, 0, b, c, d, e, f]);
        let [.., top, b, c, d, e, f] = self.shuffle(2, value, 46).to_be_bytes();
        Mac([top << 2 | a & 3, b, c, d, e, f])
    }

    fn ipv4(&self, ip: Ipv4Addr) -> Ipv4Addr {
        let bits = u32::from(ip);
        match range(ip) {
            Some(32) => {
                let fits = |value: u64| range(Ipv4Addr::from(value as u32)) == Some(32);
                Ipv4Addr::from(self.within(3, bits as u64, 32, fits) as u32)
            }
            Some(width) => {
                let low = self.shuffle(3, bits as u64, width) as u32;
                Ipv4Addr::from(bits >> width << width | low)
            }
            None => ip,
        }
    }

    fn ipv6(&self, ip: Ipv6Addr) -> Ipv6Addr {
        if let Some(mapped) = ip.to_ipv4_mapped() {
            return self.ipv4(mapped).to_ipv6_mapped();
        }
        if ip.is_multicast() || ip.is_unspecified() || ip.is_loopback() {
            return ip;
        }
        // RDMA-CM's header has an IPv4 address in the last four bytes; the others are zero.
        if let [0, 0, 0, 0, 0, 0, high, low] = ip.segments() {
            return self.ipv4(Ipv4Addr::from((high as u32) << 16 | low as u32)).to_ipv6_compatible();
        }
        let value = u128::from(ip);
        let (prefix, host) = ((value >> 64) as u64, value as u64);
        let prefix = match ip.is_unicast_link_local() || prefix == 0 {
            true => prefix,
            false => prefix >> 56 << 56 | self.within(5, prefix, 56, |value| value != 0),
        };
        Ipv6Addr::from((prefix as u128) << 64 | self.shuffle(4, host, 64) as u128)
    }

    fn lid(&self, lid: Lid) -> Lid {
        let fits = |lid| Lid(lid as u16).is_unicast();
        if lid.is_unicast() { Lid(self.within(6, lid.0 as u64, 16, fits) as u16) } else { lid }
    }

    fn ee_context(&self, context: EeContext) -> EeContext {
        match context.0 {
            0 => context,
            n => EeContext(self.within(11, n as u64, 24, |value| value != 0) as u32),
        }
    }

    fn comm_id(&self, id: CommId) -> CommId {
        if id.0 == 0 { id } else { CommId(self.shuffle(10, id.0 as u64, 32) as u32) }
    }

    fn service_id(&self, id: ServiceId) -> ServiceId {
        let fits = |value: u64| value != 0 && !ServiceId(value).is_rdma_cm();
        if fits(id.0) { ServiceId(self.within(12, id.0, 64, fits)) } else { id }
    }

    /// Addresses under one key move together, so neighbours stay neighbours.
    fn virtual_address(&self, va: VirtualAddress, key: RKey) -> VirtualAddress {
        let by = mix(mix(self.seed.wrapping_add(7 << 56)) ^ key.0 as u64);
        VirtualAddress(va.0.wrapping_add(by & 0x0000_0fff_ffff_f000))
    }

    fn link_address(&self, LinkAddress([a, b, c, d, e, f, x, y]): LinkAddress) -> LinkAddress {
        let Mac([a, b, c, d, e, f]) = self.mac(Mac([a, b, c, d, e, f]));
        LinkAddress([a, b, c, d, e, f, x, y])
    }

    /// Replaces what a field identifies. `r_key`: the key that the packet's virtual address belongs to.
    fn field(&self, header: &mut [u8], field: &Field, r_key: RKey) {
        let Some(secret) = field.secret else { return };
        let id64 = |id: u64| self.shuffle(9, id, 64);
        match secret {
            Secret::Mac => replace(header, field, |mac| self.mac(mac)),
            Secret::LinkAddress => replace(header, field, |address| self.link_address(address)),
            Secret::Ipv4 => replace(header, field, |ip| self.ipv4(ip)),
            Secret::Ipv6 => replace(header, field, |ip| self.ipv6(ip)),
            Secret::Lid => replace(header, field, |lid| self.lid(lid)),
            Secret::Guid => replace(header, field, |Guid(id)| Guid(id64(id))),
            Secret::QueuePair => replace(header, field, |qpn| self.qpn(qpn)),
            Secret::EeContext => replace(header, field, |context| self.ee_context(context)),
            Secret::RKey if field.width == 64 => {
                replace(header, field, |MemoryKey(key)| MemoryKey(id64(key)))
            }
            Secret::RKey => replace(header, field, |RKey(key)| RKey(self.shuffle(8, key as u64, 32) as u32)),
            Secret::VirtualAddress => replace(header, field, |va| self.virtual_address(va, r_key)),
            Secret::CommId if field.width < 32 => replace(header, field, |JobId(id)| {
                JobId(self.shuffle(13, id.into(), field.width.into()) as u32)
            }),
            Secret::CommId => replace(header, field, |id| self.comm_id(id)),
            Secret::TransactionId => replace(header, field, |TransactionId(id)| TransactionId(id64(id))),
            Secret::ServiceId => replace(header, field, |id| self.service_id(id)),
            Secret::Opaque => {
                let from = field.bit as usize / 8;
                header.iter_mut().skip(from).take(field.width as usize / 8).for_each(|byte| *byte = 0);
            }
        }
    }
}

fn replace<T: Bits>(header: &mut [u8], field: &Field, by: impl FnOnce(T) -> T) {
    by(T::get(header, field)).set(header, field);
}

/// How many bits of an address number the hosts of its range. `None` if it is not a host's address.
fn range(ip: Ipv4Addr) -> Option<u32> {
    match ip.octets() {
        [0 | 127 | 224.., ..] => None,
        [10, ..] => Some(24),
        [172, 16..=31, ..] => Some(20),
        [192, 168, ..] | [169, 254, ..] => Some(16),
        _ => Some(32),
    }
}
