//! Frame -> which headers, where, what is wrong. Every byte slice has a dissection; nothing is allocated.
//!
//! Headers are taken from a window that length fields may only shrink. A header that does not fit is noted, and the rest is
//! payload. The ICRC is located only where a length field confirms that the packet ends within the captured bytes: a cut frame
//! never shows a bad ICRC. Checksums and CRCs are not verified here, but on request by [`crate::icrc`] and [`crate::checksum`].

mod address;
mod application;
mod hop;
mod layers;
mod note;
mod outer;
mod unread;
mod walk;

pub use address::Address;
pub use hop::{Hop, Hops, Telemetry};
pub use layers::{Layer, Layers};
pub use note::{Limit, Note, Problem, Severity};
pub use outer::Outer;
pub use unread::{FIRST_PORT, Numbers, Unread};

pub use crate::wire::{GENEVE_PORT, ROCE_PORT, VXLAN_PORT};
use crate::{
    named,
    opcode::{Chain, Opcode, Service, Transport},
    upper::{Message, Protocol},
    wire::{Bth, Header, Kind, KindSet, UdpPorts},
};

/// Link type: with which header a frame begins. The numbers are the LINKTYPE values of pcap files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Link(pub u16);

impl Link {
    /// Ethernet.
    pub const ETHERNET: Link = Link(1);
    /// IPv4 or IPv6; the version field tells which.
    pub const RAW: Link = Link(101);
    /// Linux cooked.
    pub const LINUX_SLL: Link = Link(113);
    /// ERF records.
    pub const ERF: Link = Link(197);
    /// IPv4.
    pub const IPV4: Link = Link(228);
    /// IPv6.
    pub const IPV6: Link = Link(229);
    /// Native InfiniBand, from the LRH.
    pub const INFINIBAND: Link = Link(247);
    /// Linux cooked, version 2.
    pub const LINUX_SLL2: Link = Link(276);
    /// BSD loopback, in the byte order of the host.
    pub const NULL: Link = Link(0);
    /// BSD loopback, in network byte order.
    pub const LOOP: Link = Link(108);
    /// PPP.
    pub const PPP: Link = Link(9);
    /// PPP in HDLC's framing.
    pub const PPP_HDLC: Link = Link(50);
    /// Linux's netfilter log.
    pub const NFLOG: Link = Link(239);
    /// IP over InfiniBand.
    pub const IPOIB: Link = Link(242);
    /// Apple's captures on several interfaces.
    pub const PKTAP: Link = Link(258);
    /// Ethernet with a tag of Broadcom switches behind the addresses.
    pub const DSA_BROADCOM: Link = Link(281);
    /// Ethernet behind a tag of Broadcom switches.
    pub const DSA_BROADCOM_BEFORE: Link = Link(282);
    /// Ethernet with a tag of Marvell switches behind the addresses.
    pub const DSA: Link = Link(284);
    /// The same with an EtherType of its own.
    pub const EDSA: Link = Link(285);

    /// Its name: of those that are read, and of others that a capture is likely to have.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 | 108 => "BSD loopback",
            6 => "IEEE 802.5",
            8 => "SLIP",
            9 | 50 => "PPP",
            10 => "FDDI",
            51 => "PPPoE",
            99 => "Symantec firewall",
            104 => "Cisco HDLC",
            105 => "IEEE 802.11",
            107 => "frame relay",
            117 => "pflog",
            119 => "Prism",
            127 => "IEEE 802.11 radiotap",
            138 => "IP over IEEE 1394",
            147..=162 => "reserved for the user",
            163 => "IEEE 802.11 AVS",
            189 | 220 => "USB",
            195 | 230 => "IEEE 802.15.4",
            192 => "PPI",
            224 => "Fibre Channel",
            225 => "Fibre Channel with delimiters",
            227 => "CAN",
            239 => "nflog",
            240 | 241 => "netANALYZER",
            242 => "IPoIB",
            249 => "USBPcap",
            251 => "Bluetooth LE",
            252 => "Wireshark upper PDU",
            253 => "netlink",
            258 => "PKTAP",
            259 => "EPON",
            271 => "vsock",
            274 => "Ethernet mPacket",
            281 => "Ethernet with a Broadcom tag",
            282 => "Broadcom tag before Ethernet",
            284 => "Ethernet with a DSA tag",
            285 => "Ethernet with an EDSA tag",
            1 => "Ethernet",
            101 | 12 | 14 => "raw IP",
            113 => "Linux cooked",
            197 => "ERF",
            228 => "IPv4",
            229 => "IPv6",
            247 => "InfiniBand",
            276 => "Linux cooked v2",
            _ => return None,
        })
    }
}

impl core::fmt::Display for Link {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "link type {}", self.0),
        }
    }
}

/// What the frame itself does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// UDP destination ports of RoCEv2, and of MRC, whose operation codes no other transport has; zero is none.
    pub roce_ports: [u16; 2],
    /// UDP destination ports of tunnels, beside those that are well known, and the header behind UDP; port zero is none.
    pub tunnels: [(u16, Kind); MAX_PORTS],
    /// What messages of the packet's queue pair are read as, where its set-up said it. Without that, only messages are read that say themselves
    /// what they are.
    pub upper: Option<Protocol>,
    /// The header that the data of this packet begins with, where a command said it that named its memory. Nothing in the data does.
    pub data: Option<Kind>,
}

/// Most ports of tunnels that [`Options`] have.
pub const MAX_PORTS: usize = 4;

impl Options {
    /// Tunnels, and Ultra Ethernet, that may be on a port of one's own, by the names that people type.
    pub const TUNNELS: [(&'static str, Kind); 12] = [
        ("vxlan", Kind::Vxlan),
        ("vxlan-gpe", Kind::VxlanGpe),
        ("geneve", Kind::Geneve),
        ("gue", Kind::Gue),
        ("gre", Kind::Gre),
        ("mpls", Kind::Mpls),
        ("tzsp", Kind::Tzsp),
        ("ethernet", Kind::Ethernet),
        ("uet", Kind::PdsRequest),
        ("int", Kind::IntShim),
        ("psp", Kind::Psp),
        ("esp", Kind::Esp),
    ];

    /// What messages of connections are read as; datagrams go to a queue pair from anywhere.
    fn upper_of(&self, opcode: Opcode) -> Option<Protocol> {
        self.upper.filter(|_| opcode.service() == Service::Rc)
    }

    /// The tunnel of this name.
    pub fn tunnel_named(name: &str) -> Option<Kind> {
        Options::TUNNELS.iter().find(|tunnel| tunnel.0 == name).map(|tunnel| tunnel.1)
    }

    /// The transport behind this UDP destination port, but for operation codes that are MRC's.
    #[inline(always)]
    pub fn transport_of(&self, port: u16) -> Option<Transport> {
        let is_roce = port == self.roce_ports[0] || port == self.roce_ports[1] && port != 0;
        if is_roce { Some(Transport::Ib) } else { None }
    }

    /// The header of a tunnel behind this UDP destination port.
    #[inline]
    pub fn tunnel_of(&self, port: u16) -> Option<Kind> {
        let told = self.tunnels.iter().take_while(|tunnel| tunnel.0 != 0).find(|tunnel| tunnel.0 == port);
        told.map(|tunnel| tunnel.1).or(UdpPorts::next(port))
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            roce_ports: [ROCE_PORT, 0],
            tunnels: [(0, Kind::Payload); MAX_PORTS],
            upper: None,
            data: None,
        }
    }
}

named! {
    /// How the transport is encapsulated.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Encapsulation {
        /// RoCEv2 over IPv4.
        RoceV2Ipv4 "rocev2-ipv4",
        /// RoCEv2 over IPv6.
        RoceV2Ipv6 "rocev2-ipv6",
        /// RoCE version 1: EtherType 0x8915 and a GRH.
        RoceV1 "rocev1",
        /// Native InfiniBand within a subnet.
        Ib "ib",
        /// Native InfiniBand with a GRH.
        IbGrh "ib-grh",
    }
}

const NOTES: usize = 4;

/// A static, not a constant: the compiler writes a constant in small pieces, and a copy of it has to wait for them.
static NO_NOTES: [Note; NOTES] = [Note::NONE; NOTES];

/// What is in a frame: an index from header kind to offset, the packet's end, and notes. The index is that of the innermost
/// packet; the headers of tunnels around it are among the [`Dissection::layers`].
#[derive(Clone, Copy)]
pub struct Dissection<'a> {
    frame: &'a [u8],
    /// The set of the innermost packet's kinds, and of the tunnels around it.
    has: KindSet,
    /// The headers between its BTH and its payload.
    chain: &'static Chain,
    /// One past the last of them that is there, from the BTH's first byte.
    whole: u8,
    wire_len: u32,
    /// Where payload and pad end by the length fields, which may be beyond the captured bytes.
    body_end: u32,
    /// Where the packet ends by the length fields.
    end: u32,
    link: Link,
    transport: Transport,
    options: Options,
    l2: u16,
    vlan: u16,
    l3: u16,
    l4: u16,
    bth: u16,
    payload: u16,
    pad: u8,
    depth: u8,
    flags: u8,
    noted: u8,
    notes: [Note; NOTES],
}

/// A length field confirmed the packet's end.
const KNOWN_END: u8 = 1;
/// More notes than fit.
const MORE: u8 = 2;
/// An IP fragment, whose payload cannot be checked.
const FRAGMENT: u8 = 4;
/// A mirror cut the frame before it was captured.
const MIRROR_CUT: u8 = 8;
/// Switches changed the network header.
const CHANGED: u8 = 16;
/// A header of a [rare](Kind::is_rare) kind.
const RARE: u8 = 32;
/// Headers of Ultra Ethernet.
const UET: u8 = 64;
/// What switches wrote on the packet's way.
const TELEMETRY: u8 = 128;

/// Dissect a frame: `frame` has its captured bytes, `wire_len` is its length on the wire.
#[inline]
pub fn dissect(link: Link, frame: &[u8], wire_len: u32) -> Dissection<'_> {
    dissect_with(Options::default(), link, frame, wire_len)
}

/// [`dissect`] with options.
#[inline]
pub fn dissect_with(options: Options, link: Link, frame: &[u8], wire_len: u32) -> Dissection<'_> {
    let mut d = Dissection {
        frame,
        has: KindSet::NONE,
        chain: Chain::NONE,
        whole: 0,
        wire_len: wire_len.max(frame.len().min(u32::MAX as usize) as u32),
        body_end: 0,
        end: 0,
        link,
        transport: Transport::Ib,
        options,
        l2: 0,
        vlan: 0,
        l3: 0,
        l4: 0,
        bth: 0,
        payload: 0,
        pad: 0,
        depth: 0,
        flags: 0,
        noted: 0,
        notes: NO_NOTES,
    };
    d.fill();
    d
}

impl<'a> Dissection<'a> {
    /// Fills it in place, so that the result is not moved.
    #[inline(never)]
    fn fill(&mut self) {
        let (frame, link, wire_len, options) = (self.frame, self.link, self.wire_len, self.options);
        walk::walk(frame, link, wire_len, &options, self);
    }

    /// The captured bytes.
    #[inline]
    pub fn frame(&self) -> &'a [u8] {
        self.frame
    }

    /// Bytes the frame had on the wire.
    #[inline]
    pub fn wire_len(&self) -> u32 {
        self.wire_len
    }

    /// Bytes of the frame on the wire, and those captured: without an ERF record's own headers, which [`wire_len`](Self::wire_len) and
    /// [`frame`](Self::frame) have, as the frame is handed with them.
    pub fn lengths(&self) -> (u32, u32) {
        let captured = self.frame.len() as u32;
        let wire = self.wire_len.max(captured);
        if self.link != Link::ERF {
            return (wire, captured);
        }
        let is_own = |layer: &Layer| matches!(layer.kind, Kind::Erf | Kind::ErfExtension | Kind::ErfEthernet);
        let first = self.layers().iter().find(|layer| !is_own(layer)).map(|layer| layer.at);
        let own =
            first.or_else(|| self.layers().iter().last().map(|layer| layer.at.saturating_add(layer.len)));
        let own = own.unwrap_or(0);
        (wire.saturating_sub(own), captured.saturating_sub(own))
    }

    /// How it was dissected.
    #[inline]
    pub fn options(&self) -> Options {
        self.options
    }

    /// The link type.
    #[inline]
    pub fn link(&self) -> Link {
        self.link
    }

    /// Whether bytes of the frame are missing: cut by the capture, or by a mirror before it.
    #[inline]
    pub fn is_cut(&self) -> bool {
        self.frame.len() < self.wire_len as usize || self.flags & MIRROR_CUT != 0
    }

    /// Whether it is an IP fragment.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.flags & FRAGMENT != 0
    }

    /// Whether switches changed the network header, which the ICRC covers.
    #[inline]
    pub(crate) fn is_changed(&self) -> bool {
        self.flags & CHANGED != 0
    }

    /// Whether it has headers of Ultra Ethernet's transport.
    #[inline]
    pub fn is_uet(&self) -> bool {
        self.flags & UET != 0
    }

    /// Whether switches wrote something into it on its way: [`hops`](Self::hops), or a [`CsigTag`](crate::wire::CsigTag).
    #[inline]
    pub fn has_telemetry(&self) -> bool {
        self.flags & TELEMETRY != 0
    }

    /// How many tunnels are around the packet.
    #[inline]
    pub fn tunnel_depth(&self) -> u8 {
        self.depth
    }

    /// The innermost packet's header of this type, if there is one.
    #[inline(always)]
    pub fn get<H: Header>(&self) -> Option<&'a H> {
        H::view(self.frame.get(self.offset(H::KIND)?..)?).map(|(header, _)| header)
    }

    /// Whether the frame has this header, completely.
    #[inline(always)]
    pub fn has(&self, kind: Kind) -> bool {
        match () {
            () if kind.is_extended() => self.extended_at(kind).is_some(),
            () if kind.is_detail() => self.find(kind).is_some(),
            () => self.has.has(kind),
        }
    }

    /// Where this header, or this part of the frame, starts.
    #[inline(always)]
    pub fn offset(&self, kind: Kind) -> Option<usize> {
        if kind.is_extended() {
            return self.extended_at(kind);
        }
        if kind.is_detail() {
            return self.find(kind);
        }
        if !self.has.has(kind) {
            return None;
        }
        Some(match kind {
            Kind::Ethernet | Kind::Sll | Kind::Sll2 | Kind::Lrh => self.l2 as usize,
            Kind::Vlan => self.vlan as usize,
            Kind::Ipv4 | Kind::Ipv6 | Kind::Grh | Kind::Rwh => self.l3 as usize,
            Kind::Udp | Kind::MacControl => self.l4 as usize,
            kind if kind.is_bth() => self.bth as usize,
            Kind::Payload => self.payload as usize,
            Kind::Icrc => self.body_end as usize,
            _ => return self.find(kind),
        })
    }

    #[inline(always)]
    fn extended_at(&self, kind: Kind) -> Option<usize> {
        let at = self.chain.offset(kind)?;
        let is_there = at + kind.info()?.len <= self.whole as usize;
        if is_there { Some(self.bth as usize + at) } else { None }
    }

    /// Whether a detail of this kind may be in the frame: in a datagram, a message, data that a command named, or LLDP.
    pub fn may_have(&self, kind: Kind) -> bool {
        let is_of_message = || self.options.data.is_some() || self.opcode().is_some_and(Opcode::begins_send);
        (!kind.is_management() || self.opcode() == Some(Opcode::UD_SEND_ONLY))
            && (!kind.is_of_message() || is_of_message())
            && (!kind.is_in_lldp() || self.has(Kind::Lldp))
    }

    /// Finds rare kinds by a second walk. Only that walk reads management datagrams and messages.
    #[cold]
    #[inline(never)]
    fn find(&self, kind: Kind) -> Option<usize> {
        if !self.may_have(kind) || kind.is_rare() && self.flags & RARE == 0 {
            return None;
        }
        self.layers().iter().rev().find(|layer| kind.is_in(layer.kind)).map(|layer| layer.at as usize)
    }

    /// The operation code, if the frame has a BTH.
    #[inline(always)]
    pub fn opcode(&self) -> Option<Opcode> {
        let code = || self.frame.get(self.bth as usize).copied().unwrap_or(0);
        self.has(Kind::Bth).then(|| Opcode::of(self.transport, code()))
    }

    /// The headers between the BTH and the payload; none without a BTH.
    #[inline]
    pub fn chain(&self) -> &'static Chain {
        self.chain
    }

    /// How the transport is encapsulated, if the frame has a BTH.
    #[inline]
    pub fn encapsulation(&self) -> Option<Encapsulation> {
        if !self.has(Kind::Bth) {
            return None;
        }
        Some(if self.has(Kind::Udp) {
            if self.has(Kind::Ipv4) { Encapsulation::RoceV2Ipv4 } else { Encapsulation::RoceV2Ipv6 }
        } else if self.has(Kind::Lrh) {
            if self.has(Kind::Grh) { Encapsulation::IbGrh } else { Encapsulation::Ib }
        } else {
            Encapsulation::RoceV1
        })
    }

    /// The captured part of the transport's payload, without padding; management datagrams are payload too. In frames without a
    /// BTH, what follows the last header that could be read.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        let end = (self.body_end as usize).saturating_sub(self.pad as usize).min(self.frame.len());
        self.frame.get(self.payload as usize..end).unwrap_or(&[])
    }

    /// Where the [payload](Self::payload) begins, in bytes from the frame's start. The captured bytes may end before.
    #[inline]
    pub fn payload_at(&self) -> usize {
        self.payload as usize
    }

    /// Bytes of payload by the packet's length fields, captured or not.
    #[inline]
    pub fn payload_len(&self) -> u32 {
        self.body_end.saturating_sub(self.payload as u32).saturating_sub(self.pad as u32)
    }

    /// [`payload_len`](Self::payload_len) of the whole packet: where the capture cut headers behind the BTH, what is left of them is no payload, and
    /// the operation code says how long they were.
    pub fn whole_payload_len(&self) -> u32 {
        let (Some(at), Some(bth)) = (self.offset(Kind::Bth), self.get::<Bth>()) else {
            return self.payload_len().saturating_sub(self.uet_cut().unwrap_or(0));
        };
        let headers = Bth::LEN + self.chain().total_len();
        let is_cut =
            self.end_is_known() && self.frame.len() < self.end as usize && self.payload_at() < at + headers;
        if !is_cut {
            return self.payload_len();
        }
        const ICRC: usize = 4;
        let room = self.end.saturating_sub((at + headers + ICRC) as u32);
        room - u32::from(bth.pad_cnt()).min(room)
    }

    /// How long the header of the SES is, which the capture cut behind a whole one of the PDS.
    pub(crate) fn uet_cut(&self) -> Option<u32> {
        if !self.is_uet() || !self.is_cut() || !self.end_is_known() {
            return None;
        }
        let need = |note: &Note| match note.problem {
            Problem::Cut { need, .. } if usize::from(note.at) == self.payload_at() => Some(u32::from(need)),
            _ => None,
        };
        self.layers()
            .iter()
            .any(|layer| layer.kind.begins_pds())
            .then(|| self.notes().iter().find_map(need))?
    }

    /// Bytes of padding between payload and ICRC.
    #[inline]
    pub fn pad_len(&self) -> u8 {
        self.pad
    }

    /// Where the packet ends by its length fields, in bytes from the frame's start. The captured bytes may end before.
    #[inline]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// Whether a length field confirmed where the packet ends.
    #[inline]
    pub fn end_is_known(&self) -> bool {
        self.flags & KNOWN_END != 0
    }

    /// The ICRC in the frame, in wire order. `None` if the frame was cut before it, or if no length field confirms where it is.
    #[inline]
    pub fn icrc(&self) -> Option<[u8; 4]> {
        self.frame.get(self.offset(Kind::Icrc)?..)?.first_chunk().copied()
    }

    /// The VCRC in the frame, in wire order. Only native InfiniBand has one.
    #[inline]
    pub fn vcrc(&self) -> Option<[u8; 2]> {
        self.has(Kind::Vcrc).then(|| self.frame.get(self.end as usize..)?.first_chunk().copied())?
    }

    /// The bytes after the packet: Ethernet padding, a frame check sequence.
    pub fn trailer(&self) -> &'a [u8] {
        let end = self.end as usize + if self.has(Kind::Vcrc) { 2 } else { 0 };
        if self.end_is_known() { self.frame.get(end..).unwrap_or(&[]) } else { &[] }
    }

    /// What is wrong with the frame, or worth knowing: at most four notes.
    #[inline]
    pub fn notes(&self) -> &[Note] {
        &self.notes[..self.noted as usize]
    }

    /// Whether there were more notes than [`Dissection::notes`] holds.
    #[inline]
    pub fn has_more_notes(&self) -> bool {
        self.flags & MORE != 0
    }

    /// The worst severity among the notes.
    #[inline]
    pub fn severity(&self) -> Option<Severity> {
        self.notes().iter().map(|note| note.problem.severity()).max()
    }

    /// The dissection with its message read as this protocol's: what [`Options::upper`] does, when it is known later.
    #[must_use]
    pub fn with_upper(mut self, protocol: Protocol) -> Self {
        self.options.upper = Some(protocol);
        self
    }

    /// The dissection with its data read as what begins with this header: what [`Options::data`] does, when it is known later.
    #[must_use]
    pub fn with_data(mut self, kind: Kind) -> Self {
        self.options.data = Some(kind);
        self
    }

    /// Which protocol's message begins in this packet: by its queue pair, where [`Options::upper`] says it, or because it can be no other's.
    pub fn upper(&self) -> Option<Protocol> {
        let opcode = self.opcode().filter(|opcode| opcode.begins_send())?;
        self.options.upper_of(opcode).or_else(|| Protocol::of(self.message(opcode)))
    }

    /// The message that begins in this packet, which has this code.
    pub fn message(&self, opcode: Opcode) -> Message<'a> {
        let len = opcode.shape().ends.then_some(self.payload_len() as usize);
        Message { bytes: self.payload(), len }
    }

    /// Everything in the frame in wire order, outer headers first. Each call walks through the frame again.
    #[inline]
    pub fn layers(&self) -> Layers {
        let mut layers = Layers::default();
        self.fill_layers(&mut layers);
        layers
    }

    #[inline(never)]
    fn fill_layers(&self, layers: &mut Layers) {
        walk::walk(self.frame, self.link, self.wire_len, &self.options, layers);
    }
}

impl walk::Visitor for Dissection<'_> {
    const DETAIL: bool = false;

    #[inline(always)]
    fn header(&mut self, kind: Kind, at: usize, len: usize) {
        self.has = self.has.with(kind);
        let at = at as u16;
        match kind {
            Kind::Ethernet | Kind::Sll | Kind::Sll2 | Kind::Lrh => self.l2 = at,
            Kind::Vlan => self.vlan = at,
            Kind::Ipv4 | Kind::Ipv6 | Kind::Grh | Kind::Rwh => self.l3 = at,
            Kind::Udp | Kind::MacControl => self.l4 = at,
            kind if kind.is_extended() => self.whole = (at + len as u16 - self.bth) as u8,
            kind if kind.is_bth() => {
                self.has = self.has.with(Kind::Bth);
                self.bth = at;
            }
            kind if kind.is_uet() => self.flags |= RARE | UET,
            kind if kind.is_telemetry() => self.flags |= RARE | TELEMETRY,
            kind if kind.is_rare() => self.flags |= RARE,
            _ => {}
        }
    }

    #[inline(always)]
    fn transport(&mut self, opcode: Opcode, chain: &'static Chain) {
        (self.transport, self.chain) = (opcode.transport, chain);
    }

    #[inline(always)]
    fn extended(&mut self, chain: &'static Chain, _at: usize) {
        self.whole = (Bth::LEN + chain.total_len()) as u8;
    }

    #[cold]
    fn note(&mut self, layer: Kind, at: usize, problem: Problem) {
        match self.notes.get_mut(self.noted as usize) {
            Some(room) => {
                *room = Note { layer, at: at.min(u16::MAX as usize) as u16, problem };
                self.noted += 1;
            }
            None => self.flags |= MORE,
        }
    }

    #[cold]
    fn tunnel(&mut self, _: usize, _: usize) -> bool {
        const OUTER: KindSet = KindSet::of(&[
            Kind::Ethernet,
            Kind::Sll,
            Kind::Sll2,
            Kind::Lrh,
            Kind::Vlan,
            Kind::Ipv4,
            Kind::Ipv4Options,
            Kind::Ipv6,
            Kind::Ipv6Extension,
            Kind::Udp,
        ]);
        self.has = self.has.without(OUTER);
        self.depth += 1;
        true
    }

    #[cold]
    fn fragment(&mut self) {
        self.flags |= FRAGMENT;
    }

    #[cold]
    fn mirror_cut(&mut self) {
        self.flags |= MIRROR_CUT;
    }

    #[cold]
    fn changed(&mut self) {
        self.flags |= CHANGED;
    }

    #[inline(always)]
    fn finish(&mut self, tail: &walk::Tail) {
        self.payload = tail.payload as u16;
        self.pad = tail.pad;
        self.body_end = tail.body_end as u32;
        self.end = tail.end as u32;
        self.has = self.has.with(Kind::Payload);
        if tail.icrc {
            self.has = self.has.with(Kind::Icrc);
        }
        if tail.vcrc {
            self.has = self.has.with(Kind::Vcrc);
        }
        self.flags |= if tail.known { KNOWN_END } else { 0 };
    }
}

impl core::fmt::Debug for Dissection<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Dissection")
            .field("layers", &self.layers())
            .field("payload_len", &self.payload_len())
            .field("icrc", &self.icrc())
            .field("notes", &self.notes())
            .finish()
    }
}
