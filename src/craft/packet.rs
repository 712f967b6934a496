//! A packet being crafted.

use std::net::{IpAddr, Ipv6Addr};

use bytes::{BufMut, Bytes, BytesMut};

use super::{
    Auto, Autos,
    settle::{Learn, Write},
    template,
};
use crate::{
    dissect::{self, Dissection, Link},
    icrc,
    wire::*,
};

/// A header of a packet, or a part of one that is only bytes (options, extension headers, private data).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: Kind,
    /// Its first byte, from the frame's start.
    pub at: u32,
    /// Its bytes.
    pub len: u32,
    pub(super) keep: Autos,
}

impl Part {
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.at as usize..self.at as usize + self.len as usize
    }
}

/// Any stack of headers, payload, trailer: a frame before it is built.
///
/// Every value of [`Auto`] is computed by [`Packet::build`], unless it is [kept](Packet::keep). All others are as
/// put. Values too big for their field lose their upper bits, as a payload of 70,000 bytes in IPv4's length does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub(super) link: Link,
    pub(super) parts: Vec<Part>,
    pub(super) head: Vec<u8>,
    pub(super) payload: Bytes,
    /// Between payload and ICRC, where the padding is kept.
    pub(super) pad: Pad,
    pub(super) icrc: Option<[u8; 4]>,
    pub(super) vcrc: Option<[u8; 2]>,
    pub(super) trailer: Bytes,
    /// Bytes the frame had on the wire after those that are here.
    pub(super) missing: u32,
    pub(super) keep: Autos,
    pub(super) source_qp: Option<Qpn>,
}

/// Up to three bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pad {
    pub bytes: [u8; 3],
    pub len: u8,
}

impl Pad {
    fn new(from: &[u8]) -> Pad {
        let mut pad = Pad::default();
        for (to, from) in pad.bytes.iter_mut().zip(from) {
            *to = *from;
            pad.len += 1;
        }
        pad
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len as usize).unwrap_or(&[])
    }
}

impl Packet {
    /// A packet without any header, over this link.
    pub fn new(link: Link) -> Packet {
        Packet {
            link,
            parts: Vec::with_capacity(8),
            head: Vec::with_capacity(128),
            payload: Bytes::new(),
            pad: Pad::default(),
            icrc: None,
            vcrc: None,
            trailer: Bytes::new(),
            missing: 0,
            keep: Autos::DEFAULT,
            source_qp: None,
        }
    }

    /// An Ethernet header between two locally administered addresses.
    pub fn ethernet() -> Packet {
        Packet::new(Link::ETHERNET).push(template::ethernet())
    }

    /// Ethernet, IPv4 or IPv6, and UDP to port 4791: RoCEv2. An IPv4 address beside an IPv6 one is mapped into IPv6.
    pub fn rocev2(src: impl Into<IpAddr>, dst: impl Into<IpAddr>) -> Packet {
        let packet = Packet::ethernet();
        let packet = match (src.into(), dst.into()) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => packet.push(template::ipv4(src, dst)),
            (src, dst) => packet.push(template::ipv6(to_ipv6(src), to_ipv6(dst))),
        };
        packet.push(template::udp())
    }

    /// Ethernet with EtherType 0x8915, and a GRH: RoCE version 1.
    pub fn rocev1(sgid: Ipv6Addr, dgid: Ipv6Addr) -> Packet {
        Packet::ethernet().push(template::grh(sgid, dgid))
    }

    /// An LRH: native InfiniBand within a subnet.
    pub fn ib(slid: u16, dlid: u16) -> Packet {
        Packet::new(Link::INFINIBAND).push(template::lrh(slid, dlid))
    }

    /// LRH and GRH: native InfiniBand.
    pub fn ib_grh(slid: u16, dlid: u16, sgid: Ipv6Addr, dgid: Ipv6Addr) -> Packet {
        Packet::ib(slid, dlid).push(template::grh(sgid, dgid))
    }

    /// What its first byte is.
    pub fn link(&self) -> Link {
        self.link
    }

    /// Its headers, outermost first.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// A header's bytes as put.
    pub fn bytes_of(&self, part: &Part) -> &[u8] {
        self.head.get(part.range()).unwrap_or(&[])
    }

    /// The same packet with this header behind all others. A BTH brings an ICRC, an LRH a VCRC.
    #[must_use]
    pub fn push<H: Header>(mut self, header: H) -> Packet {
        self.append(H::KIND, header.as_bytes());
        self
    }

    /// The same packet with these bytes behind all headers, as one of this kind: options, extension headers,
    /// private data, whatever a mirror adds. Kinds that come after the headers are set by their own functions:
    /// payload, padding, CRCs and trailer given here become payload.
    #[must_use]
    pub fn push_bytes(mut self, kind: Kind, bytes: impl AsRef<[u8]>) -> Packet {
        self.append(kind, bytes.as_ref());
        self
    }

    pub(super) fn append_header<H: Header>(&mut self, header: H) {
        self.append(H::KIND, header.as_bytes());
    }

    pub(super) fn append(&mut self, kind: Kind, bytes: &[u8]) {
        self.insert(self.parts.len(), kind, bytes);
    }

    /// Put a header before the `n`-th one.
    pub(super) fn insert(&mut self, n: usize, kind: Kind, bytes: &[u8]) {
        if kind >= Kind::Payload {
            self.payload = [bytes, &self.payload].concat().into();
            return;
        }
        let at = self.parts.get(n).map_or(self.head.len(), |part| part.at as usize);
        self.head.splice(at..at, bytes.iter().copied());
        self.parts.insert(n, Part { kind, at: at as u32, len: bytes.len() as u32, keep: self.keep });
        for part in &mut self.parts[n + 1..] {
            part.at += bytes.len() as u32;
        }
        match kind {
            Kind::Bth if self.icrc.is_none() => self.icrc = Some([0; 4]),
            Kind::Lrh if self.vcrc.is_none() => self.vcrc = Some([0; 2]),
            _ => {}
        }
    }

    /// Forget all headers behind the first `n`, and everything after them.
    pub(crate) fn truncate(&mut self, n: usize) {
        if let Some(part) = self.parts.get(n) {
            self.head.truncate(part.at as usize);
            self.parts.truncate(n);
        }
        self.payload = Bytes::new();
        self.trailer = Bytes::new();
        if !self.parts.iter().any(|part| part.kind == Kind::Bth) {
            self.icrc = None;
        }
    }

    /// The innermost header of this type, as put: what is computed has its value only in the built frame.
    pub fn get<H: Header>(&self) -> Option<&H> {
        let part = self.parts.iter().rev().find(|part| part.kind == H::KIND)?;
        H::view(self.bytes_of(part)).map(|(header, _)| header)
    }

    /// The same packet with its innermost header of this type changed; without one it stays as it is.
    #[must_use]
    pub fn edit<H: Header>(mut self, change: impl FnOnce(H) -> H) -> Packet {
        self.alter(change);
        self
    }

    /// The same packet with its `n`-th header of this type changed, counted from the outermost, which is 0.
    #[must_use]
    pub fn edit_at<H: Header>(mut self, n: usize, change: impl FnOnce(H) -> H) -> Packet {
        let found = self.parts.iter().filter(|part| part.kind == H::KIND).nth(n).copied();
        self.alter_part(found, change);
        self
    }

    /// Change the innermost header of this type in place; false where there is none.
    pub fn alter<H: Header>(&mut self, change: impl FnOnce(H) -> H) -> bool {
        let found = self.parts.iter().rev().find(|part| part.kind == H::KIND).copied();
        self.alter_part(found, change)
    }

    fn alter_part<H: Header>(&mut self, part: Option<Part>, change: impl FnOnce(H) -> H) -> bool {
        let bytes = part.and_then(|part| self.head.get_mut(part.range()));
        let Some((header, _)) = bytes.and_then(|bytes| H::mut_from_prefix(bytes).ok()) else { return false };
        *header = change(*header);
        true
    }

    /// The bytes of the `n`-th part, to be changed in place.
    pub(super) fn bytes_mut(&mut self, n: usize) -> &mut [u8] {
        let range = self.parts.get(n).map_or(0..0, Part::range);
        self.head.get_mut(range).unwrap_or_default()
    }

    /// The same packet with this payload.
    #[must_use]
    pub fn payload(mut self, payload: impl Into<Bytes>) -> Packet {
        self.payload = payload.into();
        self
    }

    /// Put another payload in place.
    pub fn set_payload(&mut self, payload: impl Into<Bytes>) {
        self.payload = payload.into();
    }

    /// What the innermost header carries.
    pub fn get_payload(&self) -> &Bytes {
        &self.payload
    }

    /// The same packet followed by these bytes, which no length counts. Padding up to the shortest frame and a
    /// frame check sequence come after them.
    #[must_use]
    pub fn trailer(mut self, trailer: impl Into<Bytes>) -> Packet {
        self.trailer = trailer.into();
        self
    }

    /// The same packet with this ICRC, kept; `None` for none at all.
    #[must_use]
    pub fn icrc(mut self, icrc: Option<[u8; 4]>) -> Packet {
        self.icrc = icrc;
        self.keep.set(Auto::Icrc, true);
        self
    }

    /// The same packet with this VCRC, kept; `None` for none at all.
    #[must_use]
    pub fn vcrc(mut self, vcrc: Option<[u8; 2]>) -> Packet {
        self.vcrc = vcrc;
        self.keep.set(Auto::Vcrc, true);
        self
    }

    /// The same packet with these bytes between payload and ICRC, at most three, and the BTH's pad count, kept.
    #[must_use]
    pub fn pad(mut self, pad: &[u8]) -> Packet {
        self.pad = Pad::new(pad);
        self.set_keep(Auto::Pad, true);
        self
    }

    /// The same packet from this queue pair, which decides UDP's source port and stands nowhere else.
    #[must_use]
    pub fn source_qp(mut self, qpn: Qpn) -> Packet {
        self.source_qp = Some(qpn);
        self
    }

    /// The same packet with this value as put rather than computed, in every header: a lie on purpose. What is
    /// computed from it, is computed from the lie.
    #[must_use]
    pub fn keep(mut self, auto: Auto) -> Packet {
        self.set_keep(auto, true);
        self
    }

    /// The same packet with everything as put.
    #[must_use]
    pub fn keep_all(mut self) -> Packet {
        Auto::ALL.iter().for_each(|&auto| self.set_keep(auto, true));
        self
    }

    /// The same packet with this value computed: the contrary of [`Packet::keep`].
    #[must_use]
    pub fn compute(mut self, auto: Auto) -> Packet {
        self.set_keep(auto, false);
        self
    }

    /// [`Packet::keep`], or [`Packet::compute`], in place.
    pub fn set_keep(&mut self, auto: Auto, keep: bool) {
        self.keep.set(auto, keep);
        self.parts.iter_mut().for_each(|part| part.keep.set(auto, keep));
    }

    /// Whether this value is kept, in any header.
    pub fn keeps(&self, auto: Auto) -> bool {
        match auto {
            Auto::Icrc | Auto::Vcrc | Auto::Fcs | Auto::FramePadding => self.keep.has(auto),
            _ => self.parts.iter().any(|part| part.keep.has(auto) && auto.is_in(part.kind)),
        }
    }

    /// Bytes the frame had on the wire beyond those that are here: of frames that were cut when captured.
    pub fn missing(&self) -> u32 {
        self.missing
    }

    /// The frame.
    pub fn build(&self) -> Bytes {
        let room = self.head.len() + self.payload.len() + self.trailer.len();
        let mut frame = BytesMut::with_capacity(room + ROOM_BEHIND);
        self.build_into(&mut frame);
        frame.freeze()
    }

    /// The headers as they are built.
    pub(super) fn settled(&self) -> Vec<u8> {
        let mut head = self.head.clone();
        self.settle(&mut head, &mut Write(self));
        head
    }

    /// Append the frame to a buffer. Allocates nothing of its own as long as the headers have at most 512 bytes.
    pub fn build_into(&self, out: &mut impl BufMut) {
        match self.head.len() {
            len if len <= FEW => self.build_over(&mut [0; FEW], out),
            len if len <= MANY => self.build_over(&mut [0; MANY], out),
            len => self.build_over(&mut vec![0; len], out),
        }
    }

    /// The same, with room for the headers.
    fn build_over(&self, room: &mut [u8], out: &mut impl BufMut) {
        let Some(head) = room.get_mut(..self.head.len()) else { return };
        head.copy_from_slice(&self.head);
        let tail = self.settle(head, &mut Write(self));
        out.put_slice(head);
        out.put_slice(&self.payload);
        out.put_slice(tail.pad.bytes());
        out.put_slice(tail.icrc.as_ref().map_or(&[], |icrc| &icrc[..]));
        out.put_slice(tail.vcrc.as_ref().map_or(&[], |vcrc| &vcrc[..]));
        out.put_slice(&self.trailer);
        out.put_bytes(0, tail.filler);
        out.put_slice(tail.fcs.as_ref().map_or(&[], |fcs| &fcs[..]));
    }
}

/// Room on the stack for most packets' headers, and for management datagrams in tunnels.
const FEW: usize = 128;
const MANY: usize = 512;
/// Padding, CRCs, and the shortest frame.
const ROOM_BEHIND: usize = 76;

fn to_ipv6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// A frame as a packet to edit: all headers, tunnels' too. Whatever differs from what would be computed (lies,
/// wrong checksums and CRCs) is kept, header by header, so that an unedited frame rebuilds bit for bit; what is
/// right is computed again. A frame that was cut rebuilds to what was captured of it, and its lengths count what is
/// missing.
impl From<&Dissection<'_>> for Packet {
    fn from(d: &Dissection<'_>) -> Packet {
        let frame = d.frame();
        let mut packet = Packet::new(d.link());
        let mut done = 0;
        let mut payload = None;
        for layer in d.layers().iter() {
            let (at, to) = (layer.at as usize, (layer.at as usize).saturating_add(layer.len as usize));
            match (layer.kind, frame.get(at..to)) {
                (kind, Some(bytes)) if kind < Kind::Payload && at == done => {
                    packet.append(kind, bytes);
                    done = to;
                }
                (Kind::Payload, _) => payload = Some(to.min(frame.len()).max(done)),
                _ => {}
            }
        }
        let rest = |from: usize, to: usize| Bytes::copy_from_slice(frame.get(from..to).unwrap_or(&[]));
        packet.icrc = None;
        packet.vcrc = None;
        let ends = d.end_is_known();
        packet.missing = match ends {
            true if d.wire_len() as usize > frame.len() => {
                (d.end() as usize).saturating_sub(frame.len()) as u32
            }
            _ => d.wire_len().saturating_sub(frame.len() as u32),
        };
        if let Some(to) = payload {
            packet.payload = rest(done, to);
            done = to;
        }
        let pad = d.pad_len() as usize;
        if d.has(Kind::Bth)
            && done + pad <= frame.len()
            && d.offset(Kind::Icrc).is_some_and(|at| at == done + pad)
        {
            packet.pad = Pad::new(frame.get(done..done + pad).unwrap_or(&[]));
            packet.icrc = d.icrc();
            done += pad + if packet.icrc.is_some() { 4 } else { 0 };
        }
        if done == d.end() as usize
            && let Some(vcrc) = d.vcrc()
        {
            packet.vcrc = Some(vcrc);
            done += 2;
        }
        let mut end = frame.len();
        if icrc::has_fcs(d) && end - 4 >= done {
            end -= 4;
            packet.set_keep(Auto::Fcs, false);
        }
        packet.trailer = rest(done, end);
        packet.settle_as_is();
        packet
    }
}

impl Packet {
    /// Keep what differs from what would be computed; compute the rest.
    fn settle_as_is(&mut self) {
        let mut head = self.head.clone();
        let mut tail = self.keep;
        let mut learned = vec![Autos::DEFAULT; self.parts.len()];
        self.settle(&mut head, &mut Learn { packet: self, parts: &mut learned, tail: &mut tail });
        for (part, keep) in self.parts.iter_mut().zip(learned) {
            part.keep = keep;
        }
        self.keep = tail;
        // Padding: computed where it is zeros up to the shortest frame, and where none is needed.
        let zeros = self.trailer.iter().all(|&byte| byte == 0);
        let len = self.len_before_trailer() + self.trailer.len();
        let padded = !self.trailer.is_empty() && zeros && len == SHORTEST_FRAME;
        if padded && self.missing == 0 && self.link == Link::ETHERNET {
            self.trailer = Bytes::new();
        } else if len < SHORTEST_FRAME {
            self.keep.set(Auto::FramePadding, true);
        }
    }

    /// Bytes up to the trailer, where the padding is as it stands in `pad` or would be the same.
    fn len_before_trailer(&self) -> usize {
        self.head.len()
            + self.payload.len()
            + self.pad.len as usize
            + if self.icrc.is_some() { 4 } else { 0 }
            + if self.vcrc.is_some() { 2 } else { 0 }
    }

    /// What the built frame has on the wire: more than is built, where it was cut.
    pub fn wire_len(&self) -> u32 {
        // The layout alone decides; no checksum is needed for it.
        let pad = self.pad_len();
        let len = self.len_before_trailer() - self.pad.len as usize + pad + self.trailer.len();
        let len = len + self.filler(len) + if self.has_fcs() { 4 } else { 0 };
        (len as u32).saturating_add(self.missing)
    }

    pub(super) fn pad_len(&self) -> usize {
        let bth = self.parts.iter().rev().find(|part| part.kind == Kind::Bth);
        match bth {
            Some(bth) if self.icrc.is_some() && !bth.keep.has(Auto::Pad) => {
                let after = self.head.len() - bth.range().end + self.payload.len();
                after.wrapping_neg() % 4
            }
            _ => self.pad.len as usize,
        }
    }

    /// Zeros after this many bytes up to the shortest frame.
    pub(super) fn filler(&self, len: usize) -> usize {
        let pads = self.link == Link::ETHERNET && !self.keep.has(Auto::FramePadding) && self.missing == 0;
        if pads { SHORTEST_FRAME.saturating_sub(len) } else { 0 }
    }

    pub(super) fn has_fcs(&self) -> bool {
        !self.keep.has(Auto::Fcs)
            && self.missing == 0
            && self.parts.iter().any(|part| part.kind == Kind::Ethernet)
    }
}

/// Ethernet's shortest frame without its check sequence (IEEE 802.3, 4.4.2).
pub(super) const SHORTEST_FRAME: usize = 60;

/// The UDP ports that say what follows.
pub(super) const fn port_of(kind: Kind) -> Option<u16> {
    match kind {
        Kind::Bth => Some(dissect::ROCE_PORT),
        Kind::Vxlan => Some(4789),
        Kind::Geneve => Some(6081),
        _ => None,
    }
}

impl Packet {
    /// Make a computed value wrong: the lowest bit of what it would be is flipped, and kept so in the innermost
    /// header that has it. A frame check sequence is put behind the frame, an unknown one where the frame was cut
    /// stays absent. False where the packet has no such value.
    pub fn corrupt(&mut self, auto: Auto) -> bool {
        let mut head = self.head.clone();
        let tail = self.settle(&mut head, &mut Write(self));
        match (auto, tail.icrc, tail.vcrc, tail.fcs) {
            (Auto::Icrc, Some([a, b, c, d]), ..) => {
                self.icrc = Some([a, b, c, d ^ 1]);
                self.keep.set(auto, true);
            }
            (Auto::Vcrc, _, Some([a, b]), _) => {
                self.vcrc = Some([a, b ^ 1]);
                self.keep.set(auto, true);
            }
            (Auto::Fcs, _, _, Some([a, b, c, d])) => {
                let trailer = [&self.trailer[..], &vec![0; tail.filler], &[a, b, c, d ^ 1]].concat();
                self.trailer = trailer.into();
                self.keep.set(auto, true);
            }
            (Auto::Icrc | Auto::Vcrc | Auto::Fcs | Auto::FramePadding, ..) => return false,
            _ => {
                let field = |part: &Part| {
                    let fields = part.kind.info().map_or(&[][..], |info| info.fields);
                    fields.iter().find(|field| Auto::of(part.kind, field.name) == Some(auto))
                };
                let found = self.parts.iter().enumerate().rev().find_map(|(n, part)| Some((n, field(part)?)));
                let Some((n, field)) = found else { return false };
                let range = self.parts[n].range();
                let value = field.get(head.get(range.clone()).unwrap_or(&[]));
                field.set(self.head.get_mut(range).unwrap_or_default(), value ^ 1);
                self.parts[n].keep.set(auto, true);
            }
        }
        true
    }
}
