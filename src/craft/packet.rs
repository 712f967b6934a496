//! A packet being crafted.

use std::net::{IpAddr, Ipv6Addr};

use bytes::{BufMut, Bytes, BytesMut};

use super::{
    ComputedField, ComputedFields,
    settle::{Learn, Tail, Write},
    template,
};
use crate::{
    dissect::{Dissection, Link},
    icrc,
    wire::*,
};

/// A header of a packet, or a part that is plain bytes: options, extension headers, private data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: Kind,
    /// Its first byte, from the frame's start.
    pub at: u32,
    /// Its bytes.
    pub len: u32,
    pub(super) keep: ComputedFields,
}

impl Part {
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.at as usize..self.at as usize + self.len as usize
    }
}

/// A frame before it is built: any stack of headers, a payload, a trailer.
///
/// [`Packet::build`] computes each [`ComputedField`], unless it is [kept](Packet::keep). All other fields are as they were
/// set. A value too big for its field loses its upper bits, as the length of a payload of 70,000 bytes in IPv4 does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub(super) link: Link,
    pub(super) parts: Vec<Part>,
    pub(super) head: Vec<u8>,
    pub(super) payload: Bytes,
    /// The padding between payload and ICRC, if it is kept.
    pub(super) pad: Pad,
    pub(super) icrc: Option<[u8; 4]>,
    pub(super) vcrc: Option<[u8; 2]>,
    pub(super) trailer: Bytes,
    /// Bytes that the frame had on the wire and the capture does not have.
    pub(super) missing: u32,
    pub(super) keep: ComputedFields,
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
    /// A packet without headers, on this link.
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
            keep: ComputedFields::DEFAULT,
            source_qp: None,
        }
    }

    /// An Ethernet header between two locally administered addresses.
    pub fn ethernet() -> Packet {
        Packet::new(Link::ETHERNET).push(template::ethernet())
    }

    /// RoCEv2: Ethernet, IPv4 or IPv6, and UDP to port 4791. If one address is IPv6, an IPv4 one is mapped into IPv6.
    pub fn rocev2(src: impl Into<IpAddr>, dst: impl Into<IpAddr>) -> Packet {
        let packet = Packet::ethernet();
        let packet = match (src.into(), dst.into()) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => packet.push(template::ipv4(src, dst)),
            (src, dst) => packet.push(template::ipv6(to_ipv6(src), to_ipv6(dst))),
        };
        packet.push(template::udp())
    }

    /// RoCE version 1: Ethernet with EtherType 0x8915, and a GRH.
    pub fn rocev1(sgid: Ipv6Addr, dgid: Ipv6Addr) -> Packet {
        Packet::ethernet().push(template::grh(sgid, dgid))
    }

    /// Native InfiniBand within a subnet: an LRH.
    pub fn ib(slid: u16, dlid: u16) -> Packet {
        Packet::new(Link::INFINIBAND).push(template::lrh(slid, dlid))
    }

    /// The link type of the frame.
    pub fn link(&self) -> Link {
        self.link
    }

    /// Its headers, outermost first.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// A header's bytes as they were set.
    pub fn bytes_of(&self, part: &Part) -> &[u8] {
        self.head.get(part.range()).unwrap_or(&[])
    }

    /// Appends a header. A BTH also adds an ICRC, an LRH a VCRC.
    #[must_use]
    pub fn push<H: Header>(mut self, header: H) -> Packet {
        self.append(H::KIND, header.as_bytes());
        self
    }

    /// Appends these bytes as a header of this kind: options, extension headers, private data. Payload, padding, CRCs
    /// and trailer have functions of their own; given here, they become payload.
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

    /// Inserts a header before the `n`-th one.
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
            kind if has_crc(kind) && self.icrc.is_none() => self.icrc = Some([0; 4]),
            Kind::Lrh if self.vcrc.is_none() => self.vcrc = Some([0; 2]),
            _ => {}
        }
    }

    /// Removes all headers behind the first `n`, and everything after them.
    pub(crate) fn truncate(&mut self, n: usize) {
        if let Some(part) = self.parts.get(n) {
            self.head.truncate(part.at as usize);
            self.parts.truncate(n);
        }
        self.payload = Bytes::new();
        self.trailer = Bytes::new();
        if !self.parts.iter().any(|part| has_crc(part.kind)) {
            self.icrc = None;
        }
    }

    /// The innermost header of this type as it was set. Computed fields get their values in the built frame only.
    pub fn get<H: Header>(&self) -> Option<&H> {
        let part = self.parts.iter().rev().find(|part| H::KIND.is_in(part.kind))?;
        H::view(self.bytes_of(part)).map(|(header, _)| header)
    }

    /// Changes the innermost header of this type, if there is one.
    #[must_use]
    pub fn edit<H: Header>(mut self, change: impl FnOnce(H) -> H) -> Packet {
        self.alter(change);
        self
    }

    /// Changes the innermost header of this type in place. False if there is none.
    pub fn alter<H: Header>(&mut self, change: impl FnOnce(H) -> H) -> bool {
        let at = self.parts.iter().rposition(|part| H::KIND.is_in(part.kind));
        self.alter_at(at, change)
    }

    /// Changes the outermost header of this type in place. False if there is none.
    pub fn alter_first<H: Header>(&mut self, change: impl FnOnce(H) -> H) -> bool {
        let at = self.parts.iter().position(|part| H::KIND.is_in(part.kind));
        self.alter_at(at, change)
    }

    fn alter_at<H: Header>(&mut self, at: Option<usize>, change: impl FnOnce(H) -> H) -> bool {
        let range = at.and_then(|at| self.parts.get(at)).map(Part::range);
        let bytes = range.and_then(|range| self.head.get_mut(range));
        let Some((header, _)) = bytes.and_then(H::view_mut) else { return false };
        *header = change(*header);
        true
    }

    /// With an IPv6 header around its own one, from the same source to `dst`: SRv6 without a routing header (RFC 8986), whose segments are in that
    /// address. A packet without IPv6 stays as it is.
    #[must_use]
    pub fn within_ipv6(mut self, dst: Ipv6Addr) -> Packet {
        let own = self.get::<Ipv6>().map(|ip| ip.src());
        let place = self.parts.iter().rposition(|part| part.kind == Kind::Ipv6);
        if let (Some(src), Some(place)) = (own, place) {
            self.insert(place, Kind::Ipv6, template::ipv6(src, dst).bytes());
        }
        self
    }

    /// The bytes of the `n`-th part.
    pub(super) fn bytes_mut(&mut self, n: usize) -> &mut [u8] {
        let range = self.parts.get(n).map_or(0..0, Part::range);
        self.head.get_mut(range).unwrap_or_default()
    }

    /// Sets the payload.
    #[must_use]
    pub fn payload(mut self, payload: impl Into<Bytes>) -> Packet {
        self.payload = payload.into();
        self
    }

    /// Sets the payload in place.
    pub fn set_payload(&mut self, payload: impl Into<Bytes>) {
        self.payload = payload.into();
    }

    /// The payload.
    pub fn get_payload(&self) -> &Bytes {
        &self.payload
    }

    /// Appends these bytes to the frame. No length field counts them. Padding up to the shortest frame and a frame check
    /// sequence come after them.
    #[must_use]
    pub fn trailer(mut self, trailer: impl Into<Bytes>) -> Packet {
        self.trailer = trailer.into();
        self
    }

    /// Sets the ICRC and keeps it. `None`: the packet has none.
    #[must_use]
    pub fn icrc(mut self, icrc: Option<[u8; 4]>) -> Packet {
        self.icrc = icrc;
        self.keep.set(ComputedField::Icrc, true);
        self
    }

    /// Sets the VCRC and keeps it. `None`: the packet has none.
    #[must_use]
    pub fn vcrc(mut self, vcrc: Option<[u8; 2]>) -> Packet {
        self.vcrc = vcrc;
        self.keep.set(ComputedField::Vcrc, true);
        self
    }

    /// Sets the bytes between payload and ICRC, at most three, and keeps them and the BTH's pad count.
    #[must_use]
    pub fn pad(mut self, pad: &[u8]) -> Packet {
        self.pad = Pad::new(pad);
        self.set_keep(ComputedField::Pad, true);
        self
    }

    /// Sets the sender's queue pair, from which UDP's source port is computed. It is not in the packet itself.
    #[must_use]
    pub fn source_qp(mut self, qpn: Qpn) -> Packet {
        self.source_qp = Some(qpn);
        self
    }

    /// Keeps this field as it was set, in every header, even if it is wrong. Fields that depend on it are computed from
    /// the wrong value.
    #[must_use]
    pub fn keep(mut self, field: ComputedField) -> Packet {
        self.set_keep(field, true);
        self
    }

    /// Computes this field: the opposite of [`Packet::keep`].
    #[must_use]
    pub fn compute(mut self, field: ComputedField) -> Packet {
        self.set_keep(field, false);
        self
    }

    /// [`Packet::keep`], or [`Packet::compute`], in place.
    pub fn set_keep(&mut self, field: ComputedField, keep: bool) {
        self.keep.set(field, keep);
        self.parts.iter_mut().for_each(|part| part.keep.set(field, keep));
    }

    /// Whether this field is kept in any header.
    pub fn keeps(&self, field: ComputedField) -> bool {
        match field.is_behind_headers() {
            true => self.keep.has(field),
            false => self.parts.iter().any(|part| part.keep.has(field) && field.is_in(part.kind)),
        }
    }

    /// Whether the packet has this field, kept or not.
    pub fn has_computed(&self, field: ComputedField) -> bool {
        match field {
            ComputedField::Icrc => self.icrc.is_some(),
            ComputedField::Vcrc => self.vcrc.is_some(),
            ComputedField::Fcs => {
                self.missing == 0 && self.parts.iter().any(|part| part.kind == Kind::Ethernet)
            }
            ComputedField::FramePadding => self.link == Link::ETHERNET,
            _ => self.parts.iter().any(|part| field.is_in(part.kind)),
        }
    }

    /// Puts the computed value of a field into the `n`-th header, as if it had been set.
    pub(super) fn put_computed(&mut self, n: usize, of: ComputedField) {
        let Some(part) = self.parts.get(n).copied() else { return };
        let (settled, _) = self.settled();
        let (Some(from), header) = (settled.get(part.range()), self.bytes_mut(n)) else { return };
        // Some are several fields, as the flags of GRE, which are kept together.
        let of_it = |row: &&Field| ComputedField::of(part.kind, row.name) == Some(of) && row.width <= 64;
        for row in part.kind.fields().iter().filter(of_it) {
            row.set(header, row.get(from));
        }
    }

    /// Bytes that a frame cut by the capture had on the wire beyond those captured.
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

    /// The headers with all fields computed, and what follows the payload.
    pub(super) fn settled(&self) -> (Vec<u8>, Tail) {
        let mut head = self.head.clone();
        let tail = self.settle(&mut head, &mut Write(self));
        (head, tail)
    }

    /// Appends the frame to a buffer. It allocates only if the headers have more than 512 bytes.
    pub fn build_into(&self, out: &mut impl BufMut) {
        match self.head.len() {
            len if len <= FEW => self.build_over(&mut [0; FEW], out),
            len if len <= MANY => self.build_over(&mut [0; MANY], out),
            len => self.build_over(&mut vec![0; len], out),
        }
    }

    /// Builds the headers in `room`.
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

/// Bytes of headers that most packets have, and that management datagrams in tunnels have.
const FEW: usize = 128;
const MANY: usize = 512;
/// Bytes for padding, CRCs and a short frame's filler.
const ROOM_BEHIND: usize = 76;

/// An IPv4 address is mapped (`::ffff:a.b.c.d`).
pub(super) fn to_ipv6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// A frame as a packet to edit, with all headers of its tunnels. A field that differs from its computed value, such as a
/// wrong checksum, is kept; other computed fields are computed again. So an unedited frame rebuilds bit for bit. A cut
/// frame rebuilds to the captured bytes, and its length fields count the missing ones. Messages of upper layers stay payload.
impl From<&Dissection<'_>> for Packet {
    fn from(d: &Dissection<'_>) -> Packet {
        let frame = d.frame();
        let mut packet = Packet::new(d.link());
        let mut done = 0;
        let mut payload = None;
        for layer in d.layers().iter() {
            let (at, to) = (layer.at as usize, (layer.at as usize).saturating_add(layer.len as usize));
            match (layer.kind, frame.get(at..to)) {
                (kind, _) if kind.is_of_message() => {}
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
        let icrc_follows = d.offset(Kind::Icrc).is_some_and(|at| at == done + pad);
        if (d.has(Kind::Bth) || d.is_uet()) && done + pad <= frame.len() && icrc_follows {
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
            packet.set_keep(ComputedField::Fcs, false);
        }
        packet.trailer = rest(done, end);
        packet.settle_as_is();
        packet
    }
}

impl Packet {
    /// Keeps the fields that differ from their computed values, and computes the others.
    fn settle_as_is(&mut self) {
        let mut head = self.head.clone();
        let mut tail = self.keep;
        let mut learned = vec![ComputedFields::DEFAULT; self.parts.len()];
        self.settle(&mut head, &mut Learn { packet: self, parts: &mut learned, tail: &mut tail });
        for (part, keep) in self.parts.iter_mut().zip(learned) {
            part.keep = keep;
        }
        self.keep = tail;
        // Padding is computed if it is zeros up to the shortest frame, or if none is needed.
        let zeros = self.trailer.iter().all(|&byte| byte == 0);
        let len = self.len_before_trailer() + self.trailer.len();
        let padded = !self.trailer.is_empty() && zeros && len == SHORTEST_FRAME;
        if padded && self.missing == 0 && self.link == Link::ETHERNET {
            self.trailer = Bytes::new();
        } else if len < SHORTEST_FRAME {
            self.keep.set(ComputedField::FramePadding, true);
        }
    }

    /// Bytes up to the trailer, with the padding that is in `pad`.
    fn len_before_trailer(&self) -> usize {
        self.head.len()
            + self.payload.len()
            + self.pad.len as usize
            + if self.icrc.is_some() { 4 } else { 0 }
            + if self.vcrc.is_some() { 2 } else { 0 }
    }

    /// Bytes that the frame has on the wire: more than [`Packet::build`] gives for a cut frame.
    pub fn wire_len(&self) -> u32 {
        // The layout alone decides; no checksum is needed for it.
        let pad = self.pad_len();
        let len = self.len_before_trailer() - self.pad.len as usize + pad + self.trailer.len();
        let len = len + self.filler(len) + if self.has_fcs() { 4 } else { 0 };
        (len as u32).saturating_add(self.missing)
    }

    pub(super) fn pad_len(&self) -> usize {
        match self.parts.iter().rev().find(|part| part.kind.is_bth()) {
            Some(bth) if self.icrc.is_some() && !bth.keep.has(ComputedField::Pad) => {
                let after = self.head.len() - bth.range().end + self.payload.len();
                after.wrapping_neg() % 4
            }
            _ => self.pad.len as usize,
        }
    }

    /// How many zeros a frame of this length needs to reach the shortest length.
    pub(super) fn filler(&self, len: usize) -> usize {
        let pads =
            self.link == Link::ETHERNET && !self.keep.has(ComputedField::FramePadding) && self.missing == 0;
        if pads { SHORTEST_FRAME.saturating_sub(len) } else { 0 }
    }

    pub(super) fn has_fcs(&self) -> bool {
        !self.keep.has(ComputedField::Fcs)
            && self.missing == 0
            && self.parts.iter().any(|part| part.kind == Kind::Ethernet)
    }
}

/// Ethernet's shortest frame without its check sequence (IEEE 802.3, 4.4.2).
pub(super) const SHORTEST_FRAME: usize = 60;

impl Packet {
    /// Makes a computed field wrong: flips the lowest bit of its computed value and keeps it, in the innermost header
    /// that has the field. False if the packet has no such field, as a cut frame has no frame check sequence.
    pub fn corrupt(&mut self, field: ComputedField) -> bool {
        let (head, tail) = self.settled();
        match (field, tail.icrc, tail.vcrc, tail.fcs) {
            (ComputedField::Icrc, Some([a, b, c, d]), ..) => {
                self.icrc = Some([a, b, c, d ^ 1]);
                self.keep.set(field, true);
            }
            (ComputedField::Vcrc, _, Some([a, b]), _) => {
                self.vcrc = Some([a, b ^ 1]);
                self.keep.set(field, true);
            }
            (ComputedField::Fcs, _, _, Some([a, b, c, d])) => {
                let trailer = [&self.trailer[..], &vec![0; tail.filler], &[a, b, c, d ^ 1]].concat();
                self.trailer = trailer.into();
                self.keep.set(field, true);
            }
            _ if field.is_behind_headers() => return false,
            _ => {
                let row = |part: &Part| {
                    part.kind
                        .fields()
                        .iter()
                        .find(|row| ComputedField::of(part.kind, row.name) == Some(field))
                };
                let found = self.parts.iter().enumerate().rev().find_map(|(n, part)| Some((n, row(part)?)));
                let Some((n, row)) = found else { return false };
                let range = self.parts[n].range();
                let value = row.get(head.get(range.clone()).unwrap_or(&[]));
                row.set(self.head.get_mut(range).unwrap_or_default(), value ^ 1);
                self.parts[n].keep.set(field, true);
            }
        }
        true
    }
}

/// Whether a header of this kind begins a packet with a CRC behind its payload. That of Ultra Ethernet is optional.
pub(super) fn has_crc(kind: Kind) -> bool {
    kind.is_bth() || kind.begins_pds()
}
