//! Frame -> which headers, where, what is wrong. Total: every byte slice has a dissection; nothing allocates.
//!
//! Headers are taken from a window that length fields may only shrink. What does not fit is noted and the rest
//! is payload. The ICRC is located only where a length field confirmed the packet's end within the captured
//! bytes, so a cut frame never shows a bad one. Checksums and CRCs are verified by whoever asks
//! ([`crate::icrc`], [`crate::checksum`]).

mod extended;
mod layers;
mod note;
mod walk;

pub use layers::{Layer, Layers};
pub use note::{Note, Problem, Severity};
pub(crate) use walk::VXLAN_PORT;

use crate::{
    opcode::Opcode,
    wire::{Header, Kind},
};

/// Link type: what the first byte of a frame belongs to. The numbers are the pcap file format's LINKTYPE values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link(pub u16);

impl Link {
    /// Ethernet.
    pub const ETHERNET: Link = Link(1);
    /// IPv4 or IPv6, told apart by the version.
    pub const RAW: Link = Link(101);
    /// Linux cooked.
    pub const LINUX_SLL: Link = Link(113);
    /// Endace records.
    pub const ERF: Link = Link(197);
    /// IPv4.
    pub const IPV4: Link = Link(228);
    /// IPv6.
    pub const IPV6: Link = Link(229);
    /// Native InfiniBand, from the LRH.
    pub const INFINIBAND: Link = Link(247);
    /// Linux cooked, version 2.
    pub const LINUX_SLL2: Link = Link(276);

    /// Its name.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
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

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "link type {}", self.0),
        }
    }
}

/// The port of RoCEv2 (IANA).
pub const ROCE_PORT: u16 = 4791;

/// What a dissection cannot know from the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// UDP destination ports that mean RoCEv2; zeros are not used.
    pub roce_ports: [u16; 2],
}

impl Default for Options {
    fn default() -> Self {
        Options { roce_ports: [ROCE_PORT, 0] }
    }
}

/// How the transport is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Encapsulation {
    /// RoCEv2 over IPv4.
    RoceV2Ipv4,
    /// RoCEv2 over IPv6.
    RoceV2Ipv6,
    /// RoCE version 1: EtherType 0x8915 and a GRH.
    RoceV1,
    /// Native InfiniBand within a subnet.
    Ib,
    /// Native InfiniBand with a GRH.
    IbGrh,
}

impl Encapsulation {
    /// All of them.
    pub const ALL: [Encapsulation; 5] =
        [Self::RoceV2Ipv4, Self::RoceV2Ipv6, Self::RoceV1, Self::Ib, Self::IbGrh];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Encapsulation::RoceV2Ipv4 => "rocev2-ipv4",
            Encapsulation::RoceV2Ipv6 => "rocev2-ipv6",
            Encapsulation::RoceV1 => "rocev1",
            Encapsulation::Ib => "ib",
            Encapsulation::IbGrh => "ib-grh",
        }
    }
}

const NOTES: usize = 4;

/// A place in memory to copy from: the same as a constant is put together in small pieces, for which the copy must wait.
static NO_NOTES: [Note; NOTES] = [Note::NONE; NOTES];

/// What a frame holds: an index from header kind to offset, where the packet ends, and notes. The index speaks of
/// the innermost packet; outer headers of a tunnel are among the [`Dissection::layers`].
#[derive(Clone, Copy)]
pub struct Dissection<'a> {
    frame: &'a [u8],
    /// Which kinds the innermost packet has, and which tunnels are around it.
    has: u64,
    wire_len: u32,
    /// Where payload and pad end: logical, may lie beyond what was captured.
    body_end: u32,
    /// Where the packet ends: logical.
    end: u32,
    link: Link,
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
/// An IP fragment: what it carries cannot be checked.
const FRAGMENT: u8 = 4;
/// A mirror cut the frame before it was captured.
const MIRROR_CUT: u8 = 8;

/// Dissect a frame: `frame` is what was captured of it, `wire_len` what it had on the wire.
#[inline]
pub fn dissect(link: Link, frame: &[u8], wire_len: u32) -> Dissection<'_> {
    dissect_with(Options::default(), link, frame, wire_len)
}

/// [`dissect`] with options.
#[inline]
pub fn dissect_with(options: Options, link: Link, frame: &[u8], wire_len: u32) -> Dissection<'_> {
    let mut d = Dissection {
        frame,
        has: 0,
        wire_len: wire_len.max(frame.len().min(u32::MAX as usize) as u32),
        body_end: 0,
        end: 0,
        link,
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
    /// In place: whoever calls [`dissect`] has the result where it will stay, and nothing is moved.
    #[inline(never)]
    fn fill(&mut self) {
        let (frame, link, wire_len, options) = (self.frame, self.link, self.wire_len, self.options);
        walk::walk(frame, link, wire_len, &options, self);
    }

    /// The bytes captured.
    #[inline]
    pub fn frame(&self) -> &'a [u8] {
        self.frame
    }

    /// Bytes the frame had on the wire.
    #[inline]
    pub fn wire_len(&self) -> u32 {
        self.wire_len
    }

    /// The link type.
    #[inline]
    pub fn link(&self) -> Link {
        self.link
    }

    /// Whether the frame was captured in part only, by the capture or by a mirror before it.
    #[inline]
    pub fn is_cut(&self) -> bool {
        self.frame.len() < self.wire_len as usize || self.flags & MIRROR_CUT != 0
    }

    /// Whether it is an IP fragment.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.flags & FRAGMENT != 0
    }

    /// How many tunnels the packet was unwrapped from.
    #[inline]
    pub fn tunnel_depth(&self) -> u8 {
        self.depth
    }

    /// The header of this type, if the frame has it: of the innermost packet.
    #[inline(always)]
    pub fn get<H: Header>(&self) -> Option<&'a H> {
        H::view(self.frame.get(self.offset(H::KIND)?..)?).map(|(header, _)| header)
    }

    /// Whether the frame has this header, whole.
    #[inline(always)]
    pub fn has(&self, kind: Kind) -> bool {
        if kind.is_management() { self.find(kind).is_some() } else { self.has & kind.bit() != 0 }
    }

    /// Where this header, or this part of the frame, starts.
    #[inline(always)]
    pub fn offset(&self, kind: Kind) -> Option<usize> {
        if kind.is_management() {
            return self.find(kind);
        }
        if self.has & kind.bit() == 0 {
            return None;
        }
        Some(match kind {
            Kind::Ethernet | Kind::Sll | Kind::Sll2 | Kind::Lrh => self.l2 as usize,
            Kind::Vlan => self.vlan as usize,
            Kind::Ipv4 | Kind::Ipv6 | Kind::Grh | Kind::Rwh => self.l3 as usize,
            Kind::Udp | Kind::MacControl => self.l4 as usize,
            Kind::Bth => self.bth as usize,
            Kind::Payload => self.payload as usize,
            Kind::Icrc => self.body_end as usize,
            _ => match extended::offset(self.opcode_byte(), kind) {
                Some(offset) => self.bth as usize + offset,
                None => return self.find(kind),
            },
        })
    }

    /// The rare kinds: by walking again. Management datagrams are read only then.
    #[cold]
    #[inline(never)]
    fn find(&self, kind: Kind) -> Option<usize> {
        if kind.is_management() && self.opcode() != Some(Opcode::UD_SEND_ONLY) {
            return None;
        }
        self.layers().iter().rev().find(|layer| layer.kind == kind).map(|layer| layer.at as usize)
    }

    #[inline(always)]
    fn opcode_byte(&self) -> u8 {
        self.frame.get(self.bth as usize).copied().unwrap_or(0)
    }

    /// The operation code, if the frame has a BTH.
    #[inline(always)]
    pub fn opcode(&self) -> Option<Opcode> {
        self.has(Kind::Bth).then(|| Opcode(self.opcode_byte()))
    }

    /// How the transport is wrapped, if the frame has a BTH.
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

    /// What the transport carries (management datagrams included), without pad: as much as was captured. In frames
    /// without a BTH, what follows the last header that could be read.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        let end = (self.body_end as usize).saturating_sub(self.pad as usize).min(self.frame.len());
        self.frame.get(self.payload as usize..end).unwrap_or(&[])
    }

    /// Bytes of payload the packet has by its length fields, captured or not.
    #[inline]
    pub fn payload_len(&self) -> u32 {
        self.body_end.saturating_sub(self.payload as u32).saturating_sub(self.pad as u32)
    }

    /// Bytes of padding between payload and ICRC.
    #[inline]
    pub fn pad_len(&self) -> u8 {
        self.pad
    }

    /// Where the packet ends by its length fields, in bytes from the frame's start; the captured bytes may end before.
    #[inline]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// Whether a length field confirmed where the packet ends.
    #[inline]
    pub fn end_is_known(&self) -> bool {
        self.flags & KNOWN_END != 0
    }

    /// The ICRC as it stands in the frame, in wire order. `None` where the frame was cut before it, or where no
    /// length field says for sure where it is.
    #[inline]
    pub fn icrc(&self) -> Option<[u8; 4]> {
        self.frame.get(self.offset(Kind::Icrc)?..)?.first_chunk().copied()
    }

    /// The VCRC as it stands in the frame, in wire order: native InfiniBand only.
    #[inline]
    pub fn vcrc(&self) -> Option<[u8; 2]> {
        self.has(Kind::Vcrc).then(|| self.frame.get(self.end as usize..)?.first_chunk().copied())?
    }

    /// What follows the packet within the frame: Ethernet padding, a frame check sequence.
    pub fn trailer(&self) -> &'a [u8] {
        let end = self.end as usize + if self.has(Kind::Vcrc) { 2 } else { 0 };
        if self.end_is_known() { self.frame.get(end..).unwrap_or(&[]) } else { &[] }
    }

    /// What is wrong with the frame, or worth saying of it: the first few.
    #[inline]
    pub fn notes(&self) -> &[Note] {
        &self.notes[..self.noted as usize]
    }

    /// Whether there was more to say than fits into [`Dissection::notes`].
    #[inline]
    pub fn has_more_notes(&self) -> bool {
        self.flags & MORE != 0
    }

    /// The worst severity among the notes.
    #[inline]
    pub fn severity(&self) -> Option<Severity> {
        self.notes().iter().map(|note| note.problem.severity()).max()
    }

    /// Everything in the frame in wire order, outer headers first, found by walking again.
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
    fn header(&mut self, kind: Kind, at: usize, _len: usize) {
        self.has |= kind.bit();
        let at = at as u16;
        match kind {
            Kind::Ethernet | Kind::Sll | Kind::Sll2 | Kind::Lrh => self.l2 = at,
            Kind::Vlan => self.vlan = at,
            Kind::Ipv4 | Kind::Ipv6 | Kind::Grh | Kind::Rwh => self.l3 = at,
            Kind::Udp | Kind::MacControl => self.l4 = at,
            Kind::Bth => self.bth = at,
            _ => {}
        }
    }

    #[inline(always)]
    fn extended(&mut self, opcode: Opcode, _at: usize) {
        self.has |= extended::kinds(opcode);
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
    fn tunnel(&mut self) {
        const OUTER: u64 = Kind::Ethernet.bit()
            | Kind::Sll.bit()
            | Kind::Sll2.bit()
            | Kind::Lrh.bit()
            | Kind::Vlan.bit()
            | Kind::Ipv4.bit()
            | Kind::Ipv4Options.bit()
            | Kind::Ipv6.bit()
            | Kind::Ipv6Extension.bit()
            | Kind::Udp.bit();
        self.has &= !OUTER;
        self.depth += 1;
    }

    #[cold]
    fn fragment(&mut self) {
        self.flags |= FRAGMENT;
    }

    #[cold]
    fn mirror_cut(&mut self) {
        self.flags |= MIRROR_CUT;
    }

    #[inline(always)]
    fn finish(&mut self, tail: &walk::Tail) {
        self.payload = tail.payload as u16;
        self.pad = tail.pad;
        self.body_end = tail.body_end as u32;
        self.end = tail.end as u32;
        self.has |= Kind::Payload.bit()
            | if tail.icrc { Kind::Icrc.bit() } else { 0 }
            | if tail.vcrc { Kind::Vcrc.bit() } else { 0 };
        self.flags |= if tail.known { KNOWN_END } else { 0 };
    }
}

impl std::fmt::Debug for Dissection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dissection")
            .field("layers", &self.layers().iter().map(|layer| (layer.kind, layer.at)).collect::<Vec<_>>())
            .field("payload_len", &self.payload_len())
            .field("icrc", &self.icrc())
            .field("notes", &self.notes())
            .finish()
    }
}
