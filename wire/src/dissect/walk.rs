//! The walk through a frame, header by header: one for the index and for the list of layers.

mod infiniband;
mod link;
mod lldp;
mod tag;
mod telemetry;
mod tunnel;
mod uet;

use super::{Limit, Link, Numbers, Options, Problem};
use crate::{
    checksum,
    opcode::{Chain, Opcode},
    wire::*,
};

/// Receives what the walk finds.
pub(super) trait Visitor {
    /// Whether the walk reads management datagrams and messages of upper layers too.
    const DETAIL: bool;
    /// A header that is completely there.
    fn header(&mut self, kind: Kind, at: usize, len: usize);
    /// The BTH was read: its operation code, and the headers that follow.
    fn transport(&mut self, opcode: Opcode, chain: &'static Chain);
    /// All the headers between the BTH and the payload are there, from `at` on.
    fn extended(&mut self, chain: &'static Chain, at: usize);
    fn note(&mut self, layer: Kind, at: usize, problem: Problem);
    /// What follows, from `at` to `end`, is inside a tunnel, whose headers came before. Returns whether the walk goes on.
    fn tunnel(&mut self, at: usize, end: usize) -> bool;
    fn fragment(&mut self);
    fn mirror_cut(&mut self);
    /// Something on the way changed the network header, which the ICRC covers.
    fn changed(&mut self);
    fn finish(&mut self, tail: &Tail);
}

/// Where the last parts of the packet are.
pub(super) struct Tail {
    pub payload: usize,
    pub pad: u8,
    /// One past payload and pad: where the ICRC is, if there is one.
    pub body_end: usize,
    /// One past the packet.
    pub end: usize,
    pub captured: usize,
    pub known: bool,
    pub icrc: bool,
    pub vcrc: bool,
}

/// How many nested tunnels are dissected.
pub(super) const MAX_TUNNELS: u8 = 4;
/// How many tags, labels and extension headers are dissected, all together.
pub(super) const MAX_TAGS: u8 = 16;
pub(super) use telemetry::MAX_METADATA;
/// No tunnel and no part of variable length is dissected beyond this offset: every header starts below 64 KiB.
const MAX_OFFSET: usize = 0xe000;

#[inline(always)]
pub(super) fn walk<V: Visitor>(frame: &[u8], link: Link, wire_len: u32, options: &Options, visitor: &mut V) {
    let end = wire_len as usize;
    let mut walk = Walk {
        frame,
        options,
        visitor,
        at: 0,
        end,
        end_by: Limit(None),
        captured: frame.len(),
        depth: 0,
        tags: 0,
        metadata: MAX_METADATA,
        known: false,
        is_fragment: false,
        is_ip_in_ip: false,
        vcrc: 0,
        body: None,
    };
    walk.link(link);
    walk.finish();
}

/// The end of the transport packet.
struct Body {
    end: usize,
    pad: u8,
    icrc: bool,
}

/// The window: `at` is the next byte to read, `end` is where the packet ends by its length fields, possibly beyond `captured`.
struct Walk<'f, 'v, V> {
    frame: &'f [u8],
    options: &'v Options,
    visitor: &'v mut V,
    at: usize,
    end: usize,
    /// What says where `end` is.
    end_by: Limit,
    captured: usize,
    depth: u8,
    tags: u8,
    /// Headers of metadata that may still come.
    metadata: u8,
    known: bool,
    /// An IP header says that the rest of its packet is in other frames.
    is_fragment: bool,
    /// The innermost tunnel is an IP header, as in SRv6: that of no mirror.
    is_ip_in_ip: bool,
    /// Where the VCRC is; 0 if there is none.
    vcrc: usize,
    body: Option<Body>,
}

impl<'f, V: Visitor> Walk<'f, '_, V> {
    /// One past the last byte that can be read.
    #[inline(always)]
    fn limit_at(&self) -> usize {
        self.end.min(self.captured)
    }

    #[inline(always)]
    fn left(&self) -> &'f [u8] {
        self.frame.get(self.at..self.limit_at()).unwrap_or(&[])
    }

    #[inline(always)]
    fn take<H: Header>(&mut self) -> Option<&'f H> {
        self.take_as(H::KIND)
    }

    /// A header that is of this kind here.
    #[inline(always)]
    fn take_as<H: Header>(&mut self, kind: Kind) -> Option<&'f H> {
        let Some((header, _)) = H::view(self.left()) else {
            self.short(kind, H::LEN);
            return None;
        };
        self.visitor.header(kind, self.at, H::LEN);
        self.at += H::LEN;
        Some(header)
    }

    /// A part of variable length.
    fn take_bytes(&mut self, kind: Kind, len: usize) -> Option<&'f [u8]> {
        let Some(bytes) = self.left().get(..len) else {
            self.short(kind, len);
            return None;
        };
        if self.at + len > MAX_OFFSET {
            self.note(kind, self.at, Problem::Far);
            return None;
        }
        self.visitor.header(kind, self.at, len);
        self.at += len;
        Some(bytes)
    }

    #[cold]
    #[inline(never)]
    fn short(&mut self, kind: Kind, need: usize) {
        let have = clip(self.limit_at().saturating_sub(self.at));
        let problem = if self.at + need <= self.end {
            Problem::Cut { need: clip(need), have }
        } else {
            Problem::Truncated { need: clip(need), have, by: self.end_by }
        };
        self.visitor.note(kind, self.at, problem);
    }

    #[cold]
    #[inline(never)]
    fn note(&mut self, layer: Kind, at: usize, problem: Problem) {
        self.visitor.note(layer, at, problem);
    }

    /// A length field says that the packet has `says` bytes from `from` on.
    #[inline(always)]
    fn limit(&mut self, layer: Kind, from: usize, says: usize) {
        let to = from + says;
        if to >= self.at && to <= self.end {
            self.end = to;
            self.end_by = Limit(Some(layer));
            self.known = true;
        } else {
            self.wrong_length(layer, from, says);
        }
    }

    #[cold]
    #[inline(never)]
    fn wrong_length(&mut self, layer: Kind, from: usize, says: usize) {
        // A mirror cuts a frame and encapsulates the rest: only the inner length says how long the frame was. The first fragment of a
        // packet has its headers, which say how long it is. But a mirror writes no inner length anew: where IP's is right and UDP's is not, a
        // switch trimmed the packet before.
        let is_trimmed = layer == Kind::Udp && matches!(self.end_by, Limit(Some(Kind::Ipv4 | Kind::Ipv6)));
        let is_cut = self.depth > 0 && !is_trimmed && !self.is_ip_in_ip || self.is_fragment;
        if is_cut && from + says > self.end {
            let have = clip(self.limit_at() - from.min(self.limit_at()));
            self.captured = self.limit_at();
            self.end = from + says;
            self.end_by = Limit(Some(layer));
            self.known = true;
            if !self.is_fragment {
                self.visitor.mirror_cut();
                self.visitor.note(layer, from, Problem::MirrorCut { says: clip(says), have });
            }
            return;
        }
        let have = self.end.saturating_sub(from);
        self.visitor.note(layer, from, Problem::Length { says: clip(says), have: clip(have) });
    }

    #[inline(always)]
    fn link(&mut self, link: Link) -> Option<()> {
        match link {
            Link::ETHERNET => self.ethernet(),
            Link::INFINIBAND => self.infiniband(),
            _ => self.other_link(link),
        }
    }

    fn erf(&mut self) -> Option<()> {
        let erf = self.take::<Erf>()?;
        let mut more = erf.extension();
        while more {
            self.tag(Kind::ErfExtension)?;
            more = self.take::<ErfExtension>()?.extension();
        }
        let next = ErfTypes::next(erf.record_type());
        if next == Some(Kind::ErfEthernet) {
            self.take::<ErfEthernet>()?;
        }
        // This header's wire length counts: the length in the capture file may or may not contain the alignment.
        self.end = self.at + erf.wire_len() as usize;
        self.end_by = Limit(Some(Kind::Erf));
        match next {
            Some(Kind::ErfEthernet) => self.ethernet(),
            Some(Kind::Lrh) => self.infiniband(),
            Some(Kind::LinkPacket) => self.take::<LinkPacket>().map(|_| ()),
            Some(Kind::Ipv4) => self.ipv4(),
            Some(Kind::Ipv6) => self.ipv6(),
            _ => {
                let number = erf.record_type().0 as u16;
                self.note(Kind::Erf, 0, Problem::LinkType { of: Numbers::ErfType, number });
                None
            }
        }
    }

    #[inline(always)]
    fn ethernet(&mut self) -> Option<()> {
        let ether_type = self.take::<Ethernet>()?.ether_type();
        self.network(ether_type)
    }

    #[inline(always)]
    fn network(&mut self, mut ether_type: EtherType) -> Option<()> {
        while ether_type.is_vlan() {
            self.tag(Kind::Vlan)?;
            ether_type = self.take::<Vlan>()?.ether_type();
        }
        match EtherTypes::next(ether_type) {
            Some(Kind::Ipv4) => self.ipv4(),
            Some(Kind::Ipv6) => self.ipv6(),
            Some(Kind::Grh) => {
                self.grh()?;
                self.transport(Transport::Ib)
            }
            Some(Kind::MacControl) => self.mac_control(),
            Some(Kind::Mpls) => self.mpls(),
            Some(Kind::Lldp) => self.lldp(),
            next => self.network_rarely(ether_type, next),
        }
    }

    /// The dissection ends at something that is not read.
    #[cold]
    #[inline(never)]
    fn unread(&mut self, of: Numbers, number: impl Into<u16>) -> Option<()> {
        self.note(Kind::Payload, self.at, Problem::Unread { of, number: number.into() });
        None
    }

    fn mac_control(&mut self) -> Option<()> {
        let opcode = self.take::<MacControl>()?.opcode();
        match MacControlOpcodes::next(opcode) {
            Some(Kind::Pause) => self.take::<Pause>().map(|_| ())?,
            Some(Kind::Pfc) => self.take::<Pfc>().map(|_| ())?,
            _ => {
                let (of, number) = (Numbers::MacControl, opcode.0);
                self.note(Kind::MacControl, self.at - 2, Problem::Unread { of, number });
            }
        }
        // What follows is padding to the smallest frame.
        self.end = self.at;
        self.known = true;
        Some(())
    }

    fn mpls(&mut self) -> Option<()> {
        loop {
            self.tag(Kind::Mpls)?;
            if self.take::<Mpls>()?.bottom() {
                break;
            }
        }
        // MPLS does not say what follows. An Ethernet address may begin like an IP version, so an IP header must be plausible.
        let Some(first) = self.left().first() else {
            self.short(Kind::Payload, 1);
            return None;
        };
        match first >> 4 {
            4 if plausible_ipv4(self.left()) => return self.ipv4(),
            6 if plausible_ipv6(self.left()) => return self.ipv6(),
            0 if !looks_like_ethernet(self.left())
                || looks_like_ethernet(self.left().get(4..).unwrap_or(&[])) =>
            {
                self.take::<ControlWord>()?;
            }
            _ => {}
        }
        self.tunnel()?;
        self.ethernet()
    }

    /// What follows is a packet in a tunnel.
    fn tunnel(&mut self) -> Option<()> {
        if self.depth == MAX_TUNNELS {
            self.note(Kind::Payload, self.at, Problem::Depth { limit: MAX_TUNNELS });
            return None;
        }
        if self.at > MAX_OFFSET {
            self.note(Kind::Payload, self.at, Problem::Far);
            return None;
        }
        self.depth += 1;
        (self.known, self.is_ip_in_ip) = (false, false);
        self.vcrc = 0;
        self.visitor.tunnel(self.at, self.end).then_some(())
    }

    /// One more tag, label or extension header.
    fn tag(&mut self, kind: Kind) -> Option<()> {
        if self.tags == MAX_TAGS {
            self.note(kind, self.at, Problem::Depth { limit: MAX_TAGS });
            return None;
        }
        self.tags += 1;
        Some(())
    }

    fn ip(&mut self) -> Option<()> {
        match self.left().first().map(|byte| byte >> 4) {
            Some(4) => self.ipv4(),
            Some(6) => self.ipv6(),
            Some(version) => {
                self.note(Kind::Payload, self.at, Problem::Version { says: version });
                None
            }
            None => {
                self.short(Kind::Ipv4, Ipv4::LEN);
                None
            }
        }
    }

    #[inline(always)]
    fn ipv4(&mut self) -> Option<()> {
        let from = self.at;
        let ip = self.take::<Ipv4>()?;
        if ip.version() != 4 {
            self.note(Kind::Ipv4, from, Problem::Version { says: ip.version() });
            return None;
        }
        if ip.ihl() != 5 {
            self.ipv4_options(from, ip.ihl())?;
        }
        self.limit(Kind::Ipv4, from, ip.total_len() as usize);
        if ip.mf() || ip.fragment_offset() != 0 {
            self.fragment(Kind::Ipv4, from, ip.fragment_offset())?;
        }
        self.carried(ip.protocol())
    }

    fn ipv4_options(&mut self, from: usize, ihl: u8) -> Option<()> {
        if ihl < 5 {
            self.note(Kind::Ipv4, from, Problem::Length { says: ihl as u16 * 4, have: 20 });
            return None;
        }
        self.take_bytes(Kind::Ipv4Options, (ihl as usize - 5) * 4).map(|_| ())
    }

    /// The first fragment is dissected as far as it goes; later ones have no transport header.
    #[cold]
    #[inline(never)]
    fn fragment(&mut self, layer: Kind, from: usize, offset: u16) -> Option<()> {
        self.is_fragment = true;
        self.visitor.fragment();
        self.visitor.note(layer, from, Problem::Fragment { offset });
        (offset == 0).then_some(())
    }

    #[inline(always)]
    fn ipv6(&mut self) -> Option<()> {
        let from = self.at;
        let ip = self.take::<Ipv6>()?;
        if ip.version() != 6 {
            self.note(Kind::Ipv6, from, Problem::Version { says: ip.version() });
            return None;
        }
        self.limit(Kind::Ipv6, self.at, ip.payload_len() as usize);
        match ip.next_header() {
            IpProtocol::UDP => self.udp(),
            next => {
                let next = self.ipv6_extensions(next)?;
                self.carried(next)
            }
        }
    }

    fn ipv6_extensions(&mut self, mut next: IpProtocol) -> Option<IpProtocol> {
        while matches!(next.0, 0 | 43 | 44 | 51 | 60) {
            self.tag(Kind::Ipv6Extension)?;
            let from = self.at;
            let len = match (next.0, self.left().get(1)) {
                (44, _) | (_, None) => 8,
                (51, Some(&words)) => (words as usize + 2) * 4,
                (_, Some(&units)) => (units as usize + 1) * 8,
            };
            let bytes = self.take_bytes(Kind::Ipv6Extension, len)?;
            if let (44, [_, _, hi, lo, ..]) = (next.0, bytes) {
                let field = u16::from_be_bytes([*hi, *lo]);
                if field & !6 != 0 {
                    self.fragment(Kind::Ipv6Extension, from, field >> 3)?;
                }
            }
            next = IpProtocol(*bytes.first()?);
        }
        Some(next)
    }

    #[inline(always)]
    fn carried(&mut self, protocol: IpProtocol) -> Option<()> {
        match protocol {
            IpProtocol::UDP => self.udp(),
            other => self.carried_rarely(other),
        }
    }

    #[inline(always)]
    fn udp(&mut self) -> Option<()> {
        let from = self.at;
        let udp = self.take::<Udp>()?;
        self.limit(Kind::Udp, from, udp.length() as usize);
        let port = udp.dst_port();
        match self.options.transport_of(port) {
            Some(_) if self.is_mrc() => self.transport(Transport::Mrc),
            Some(transport) => self.transport(transport),
            None => self.in_udp(port),
        }
    }

    #[inline(always)]
    fn finish(self) {
        let payload = self.at;
        let (body_end, pad, icrc) = match self.body {
            Some(body) => (body.end.max(payload), body.pad, body.icrc),
            None => (self.end.max(payload), 0, false),
        };
        if !self.is_fragment && (self.frame.len() < self.end || self.captured < self.end) {
            let problem = Problem::Captured { have: clip(self.captured), of: clip(self.end) };
            self.visitor.note(Kind::Trailer, self.captured, problem);
        }
        self.visitor.finish(&Tail {
            payload,
            pad,
            body_end,
            end: self.end.max(payload),
            captured: self.frame.len(),
            known: self.known,
            icrc,
            // If an inner length field ends the packet elsewhere, the place of the VCRC is not known.
            vcrc: self.vcrc == self.end && self.vcrc > 0,
        });
    }
}

fn clip(n: usize) -> u16 {
    n.min(u16::MAX as usize) as u16
}

fn plausible_ipv4(bytes: &[u8]) -> bool {
    let Some((ip, _)) = Ipv4::view(bytes) else { return false };
    let Some(header) = bytes.get(..ip.ihl() as usize * 4) else { return false };
    ip.version() == 4 && ip.ihl() >= 5 && checksum::internet(header) == 0
}

fn plausible_ipv6(bytes: &[u8]) -> bool {
    Ipv6::view(bytes).is_some_and(|(ip, rest)| ip.version() == 6 && ip.payload_len() as usize == rest.len())
}

/// Whether this is an Ethernet header before a protocol that is dissected.
fn looks_like_ethernet(bytes: &[u8]) -> bool {
    let Some((ethernet, mut rest)) = Ethernet::view(bytes) else { return false };
    let mut ether_type = ethernet.ether_type();
    for _ in 0..4 {
        match Vlan::view(rest) {
            Some((vlan, after)) if ether_type.is_vlan() => (ether_type, rest) = (vlan.ether_type(), after),
            _ => break,
        }
    }
    match ether_type {
        EtherType::IPV4 => plausible_ipv4(rest),
        EtherType::IPV6 => rest.first().is_some_and(|b| b >> 4 == 6),
        EtherType::ROCE => rest.first().is_some_and(|b| b >> 4 == 6),
        _ => false,
    }
}
