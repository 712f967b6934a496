//! The values of computed fields. One pass over a packet either writes them, or finds those that differ from them.

use super::{ComputedField, ComputedFields, Packet, Part, packet::Pad};
use crate::{checksum, crc32c, icrc, wire::*};

/// What is done with computed values.
pub(super) trait Settle {
    /// A field of the header that is the `at`-th part.
    fn field<H: Header>(&mut self, head: &mut [u8], at: usize, of: ComputedField, to: impl FnOnce(H) -> H);
    /// The EtherType of a header of any kind, where that has one.
    fn ether_type(&mut self, head: &mut [u8], at: usize, to: impl FnOnce(EtherType) -> EtherType);
    /// The first byte of a part that has no table of fields.
    fn byte(&mut self, head: &mut [u8], at: usize, of: ComputedField, value: u8);
    /// The BTH's pad count and the padding, of which `len` zero bytes would be right. Returns the padding to build.
    fn pad(&mut self, head: &mut [u8], at: usize, put: Pad, len: u8) -> Pad;
    /// Whether the value is needed.
    fn wants(&self, at: usize, of: ComputedField) -> bool;
    /// A value behind the headers. Returns the value to build.
    fn tail<T: PartialEq>(&mut self, of: ComputedField, put: T, computed: impl FnOnce() -> T) -> T;
}

/// Writes the fields that are not kept.
pub(super) struct Write<'a>(pub &'a Packet);

impl Settle for Write<'_> {
    #[inline]
    fn field<H: Header>(&mut self, head: &mut [u8], at: usize, of: ComputedField, to: impl FnOnce(H) -> H) {
        if self.wants(at, of)
            && let Some(header) = header_mut::<H>(head, &self.0.parts[at])
        {
            *header = to(*header);
        }
    }

    fn ether_type(&mut self, head: &mut [u8], at: usize, to: impl FnOnce(EtherType) -> EtherType) {
        if self.wants(at, ComputedField::EtherType)
            && let Some((row, bytes)) = ether_type_of(head, &self.0.parts[at])
        {
            row.set(bytes, to(EtherType(row.get(bytes) as u16)).0.into());
        }
    }

    fn byte(&mut self, head: &mut [u8], at: usize, of: ComputedField, value: u8) {
        if self.wants(at, of)
            && let Some(byte) = head.get_mut(self.0.parts[at].at as usize)
        {
            *byte = value;
        }
    }

    #[inline]
    fn pad(&mut self, head: &mut [u8], at: usize, put: Pad, len: u8) -> Pad {
        if !self.wants(at, ComputedField::Pad) {
            return put;
        }
        self.field(head, at, ComputedField::Pad, |bth: Bth| bth.with_pad_cnt(len));
        Pad { bytes: [0; 3], len }
    }

    #[inline]
    fn wants(&self, at: usize, of: ComputedField) -> bool {
        !self.0.parts[at].keep.has(of)
    }

    #[inline]
    fn tail<T: PartialEq>(&mut self, of: ComputedField, put: T, computed: impl FnOnce() -> T) -> T {
        if self.0.keep.has(of) { put } else { computed() }
    }
}

/// Writes nothing, and finds the fields that differ from their computed values.
pub(super) struct Learn<'a> {
    pub packet: &'a Packet,
    pub parts: &'a mut [ComputedFields],
    pub tail: &'a mut ComputedFields,
}

impl Settle for Learn<'_> {
    fn field<H: Header>(&mut self, head: &mut [u8], at: usize, of: ComputedField, to: impl FnOnce(H) -> H) {
        if let Some(header) = header_mut::<H>(head, &self.packet.parts[at]) {
            self.parts[at].set(of, to(*header).as_bytes() != header.as_bytes());
        }
    }

    fn ether_type(&mut self, head: &mut [u8], at: usize, to: impl FnOnce(EtherType) -> EtherType) {
        if let Some((row, bytes)) = ether_type_of(head, &self.packet.parts[at]) {
            let there = EtherType(row.get(bytes) as u16);
            self.parts[at].set(ComputedField::EtherType, to(there) != there);
        }
    }

    fn byte(&mut self, head: &mut [u8], at: usize, of: ComputedField, value: u8) {
        let there = head.get(self.packet.parts[at].at as usize);
        self.parts[at].set(of, there != Some(&value));
    }

    fn pad(&mut self, head: &mut [u8], at: usize, put: Pad, len: u8) -> Pad {
        self.field(head, at, ComputedField::Pad, |bth: Bth| bth.with_pad_cnt(len));
        if put != (Pad { bytes: [0; 3], len }) {
            self.parts[at].set(ComputedField::Pad, true);
        }
        put
    }

    fn wants(&self, _: usize, _: ComputedField) -> bool {
        true
    }

    fn tail<T: PartialEq>(&mut self, of: ComputedField, put: T, computed: impl FnOnce() -> T) -> T {
        self.tail.set(of, computed() != put);
        put
    }
}

fn header_mut<'a, H: Header>(head: &'a mut [u8], part: &Part) -> Option<&'a mut H> {
    H::view_mut(head.get_mut(part.range())?).map(|(header, _)| header)
}

/// The row of a header's EtherType, and the header's bytes.
fn ether_type_of<'a>(head: &'a mut [u8], part: &Part) -> Option<(&'static Field, &'a mut [u8])> {
    let row = part.kind.fields().iter().find(|row| row.name == "ether_type")?;
    Some((row, head.get_mut(part.range())?))
}

/// What follows the payload in the built frame.
pub(super) struct Tail {
    pub pad: Pad,
    pub icrc: Option<[u8; 4]>,
    pub vcrc: Option<[u8; 2]>,
    pub filler: usize,
    pub fcs: Option<[u8; 4]>,
}

impl Packet {
    /// Handles every computed field in the order of their dependencies: padding, types and lengths, the ICRC, checksums from
    /// inside to outside, the link's CRCs.
    pub(super) fn settle(&self, head: &mut [u8], with: &mut impl Settle) -> Tail {
        let pad = self.settle_pad(head, with);
        let after = self.payload.len() + pad.len as usize + if self.icrc.is_some() { 4 } else { 0 };
        let end = head.len() + after + self.missing as usize;
        for n in 0..self.parts.len() {
            self.settle_part(head, n, end, with);
        }
        let icrc = self.icrc.map(|put| with.tail(ComputedField::Icrc, put, || self.icrc_of(head, &pad)));
        let crc = icrc.as_ref().map_or(&[][..], |icrc| &icrc[..]);
        for n in (0..self.parts.len()).rev() {
            self.settle_checksum(head, n, [&self.payload, pad.bytes(), crc], with);
        }
        let vcrc = self.vcrc.map(|put| {
            with.tail(ComputedField::Vcrc, put, || {
                let from = self.last(Kind::Lrh, self.parts.len()).map_or(0, |part| part.at as usize);
                icrc::vcrc_of_parts(&[head.get(from..).unwrap_or(&[]), &self.payload, pad.bytes(), crc])
            })
        });
        let vcrc_len = if vcrc.is_some() { 2 } else { 0 };
        let filler = self.filler(head.len() + after + vcrc_len + self.trailer.len());
        let fcs = self.has_fcs().then(|| {
            let from =
                self.parts.iter().find(|part| part.kind == Kind::Ethernet).map_or(0, |part| part.at as usize);
            let zeros = [0; super::packet::SHORTEST_FRAME];
            let vcrc = vcrc.as_ref().map_or(&[][..], |vcrc| &vcrc[..]);
            let filler = zeros.get(..filler).unwrap_or(&[]);
            let head = head.get(from..).unwrap_or(&[]);
            icrc::fcs_of_parts(&[head, &self.payload, pad.bytes(), crc, vcrc, &self.trailer, filler])
        });
        Tail { pad, icrc, vcrc, filler, fcs }
    }

    /// The last part of this kind before the `n`-th.
    fn last(&self, kind: Kind, n: usize) -> Option<&Part> {
        self.parts[..n].iter().rev().find(|part| part.kind == kind)
    }

    fn settle_pad(&self, head: &mut [u8], with: &mut impl Settle) -> Pad {
        let bth = self.parts.iter().rposition(|part| part.kind.is_bth());
        // A packet without an ICRC was cut, so only the field says how much padding it had.
        let Some(n) = bth.filter(|_| self.icrc.is_some()) else { return self.pad };
        let after = head.len() - self.parts[n].range().end + self.payload.len();
        with.pad(head, n, self.pad, (after.wrapping_neg() % 4) as u8)
    }

    /// The header after the `n`-th part and the parts that continue it.
    #[inline]
    fn next(&self, n: usize) -> Kind {
        let more = self.parts.get(n + 1..).unwrap_or(&[]);
        let continues = |kind| {
            matches!(
                kind,
                Kind::Ipv4Options
                    | Kind::GreChecksum
                    | Kind::GreKey
                    | Kind::GreSequence
                    | Kind::GeneveOptions
                    | Kind::GueFields
                    | Kind::NshContext
                    | Kind::TrillOptions
                    | Kind::TzspTags
                    | Kind::PktapRest
                    | Kind::IfaMetadata
                    | Kind::IfaHop
                    | Kind::IfaStack
            )
        };
        more.iter().find(|part| !continues(part.kind)).map_or(Kind::Payload, |part| part.kind)
    }

    /// The length of a part of this kind that continues the `n`-th, if there is one.
    fn continued(&self, n: usize, kind: Kind) -> Option<usize> {
        let more = self.parts.get(n + 1..)?;
        more.iter()
            .take_while(|part| part.kind.is_part())
            .find(|part| part.kind == kind)
            .map(|part| part.len as usize)
    }

    /// Types and lengths of one header.
    #[inline]
    fn settle_part(&self, head: &mut [u8], n: usize, end: usize, with: &mut impl Settle) {
        let at = self.parts[n].at as usize;
        let len = end - at.min(end);
        match self.parts[n].kind {
            Kind::Ethernet => with.field(head, n, ComputedField::EtherType, |h: Ethernet| {
                h.with_ether_type(EtherTypes::before(self.next(n), h.ether_type()))
            }),
            Kind::Vlan => with.field(head, n, ComputedField::EtherType, |h: Vlan| {
                h.with_ether_type(EtherTypes::before(self.next(n), h.ether_type()))
            }),
            Kind::Ipv4 => {
                let options = self.continued(n, Kind::Ipv4Options).unwrap_or(0);
                with.field(head, n, ComputedField::IpVersion, |h: Ipv4| h.with_version(4));
                with.field(head, n, ComputedField::Ipv4HeaderLength, |h: Ipv4| {
                    h.with_ihl((5 + options / 4) as u8)
                });
                with.field(head, n, ComputedField::IpLength, |h: Ipv4| h.with_total_len(len as u16));
                with.field(head, n, ComputedField::IpProtocol, |h: Ipv4| {
                    h.with_protocol(IpProtocols::before(self.next(n), h.protocol()))
                });
                if with.wants(n, ComputedField::IpChecksum) {
                    let header = head.get(at..at + Ipv4::LEN + options).unwrap_or(&[]);
                    let (before, after) = (header.get(..10).unwrap_or(&[]), header.get(12..).unwrap_or(&[]));
                    let sum = Hex16(checksum::internet_parts(&[before, after]));
                    with.field(head, n, ComputedField::IpChecksum, |h: Ipv4| h.with_checksum(sum));
                }
            }
            Kind::Ipv6 => {
                with.field(head, n, ComputedField::IpVersion, |h: Ipv6| h.with_version(6));
                let len = len.saturating_sub(Ipv6::LEN);
                with.field(head, n, ComputedField::IpLength, |h: Ipv6| h.with_payload_len(len as u16));
                with.field(head, n, ComputedField::IpProtocol, |h: Ipv6| {
                    h.with_next_header(IpProtocols::before(self.next(n), h.next_header()))
                });
            }
            Kind::Udp => {
                let next = self.next(n);
                with.field(head, n, ComputedField::UdpLength, |h: Udp| h.with_length(len as u16));
                with.field(head, n, ComputedField::UdpDestinationPort, |h: Udp| {
                    h.with_dst_port(UdpPorts::before(next, h.dst_port()))
                });
                if next.is_bth()
                    && let (Some(from), Some(bth)) = (self.sender(head), self.get::<Bth>())
                {
                    let port = Udp::linux_source_port(from, bth.dest_qp());
                    with.field(head, n, ComputedField::UdpSourcePort, |h: Udp| h.with_src_port(port));
                }
            }
            Kind::Grh => {
                with.field(head, n, ComputedField::IpVersion, |h: Grh| h.with_ip_ver(6));
                let len = len.saturating_sub(Grh::LEN);
                with.field(head, n, ComputedField::GrhLength, |h: Grh| h.with_pay_len(len as u16));
                with.field(head, n, ComputedField::GrhNextHeader, |h: Grh| {
                    h.with_nxt_hdr(GrhHeaders::before(self.next(n), h.nxt_hdr()))
                });
            }
            Kind::Lrh => {
                with.field(head, n, ComputedField::LrhLength, |h: Lrh| h.with_pkt_len((len / 4) as u16));
                with.field(head, n, ComputedField::Lnh, |h: Lrh| {
                    h.with_lnh(LrhHeaders::before(self.next(n), h.lnh()))
                });
            }
            _ => self.settle_rare(head, n, len, with),
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_rare(&self, head: &mut [u8], n: usize, len: usize, with: &mut impl Settle) {
        let next = self.next(n);
        match self.parts[n].kind {
            Kind::Sll => with.field(head, n, ComputedField::EtherType, |h: Sll| {
                h.with_ether_type(EtherTypes::before(next, h.ether_type()))
            }),
            Kind::Sll2 => with.field(head, n, ComputedField::EtherType, |h: Sll2| {
                h.with_ether_type(EtherTypes::before(next, h.ether_type()))
            }),
            Kind::Rwh => with.field(head, n, ComputedField::EtherType, |h: Rwh| {
                h.with_ether_type(EtherTypes::before(next, h.ether_type()))
            }),
            Kind::Mpls => {
                with.field(head, n, ComputedField::MplsBottom, |h: Mpls| h.with_bottom(next != Kind::Mpls))
            }
            Kind::Ipv6Extension => self.settle_extension(head, n, with),
            Kind::Gre => {
                let has = |kind| self.continued(n, kind).is_some();
                with.field(head, n, ComputedField::GreFlags, |h: Gre| {
                    h.with_has_checksum(has(Kind::GreChecksum))
                        .with_has_key(has(Kind::GreKey))
                        .with_has_sequence(has(Kind::GreSequence))
                });
                with.field(head, n, ComputedField::GreProtocol, |h: Gre| {
                    h.with_protocol(tunnelled(next, h.protocol()))
                });
            }
            Kind::Erspan2 => with.field(head, n, ComputedField::Erspan, |h: Erspan2| h.with_version(1)),
            Kind::Erspan3 => with.field(head, n, ComputedField::Erspan, |h: Erspan3| {
                h.with_version(2).with_optional(next == Kind::ErspanPlatform)
            }),
            Kind::Geneve => {
                let options = self.continued(n, Kind::GeneveOptions).unwrap_or(0);
                with.field(head, n, ComputedField::GeneveLength, |h: Geneve| {
                    h.with_opt_len((options / 4) as u8)
                });
                with.field(head, n, ComputedField::EtherType, |h: Geneve| {
                    h.with_protocol(tunnelled(next, h.protocol()))
                });
            }
            Kind::MacControl => with.field(head, n, ComputedField::MacControl, |h: MacControl| {
                h.with_opcode(MacControlOpcodes::before(next, h.opcode()))
            }),
            Kind::LinkPacket => {
                let [a, b] =
                    icrc::vcrc(head.get(self.parts[n].range()).and_then(|h| h.get(..4)).unwrap_or(&[]));
                let crc = Hex16(u16::from_be_bytes([a, b]));
                with.field(head, n, ComputedField::Lpcrc, |h: LinkPacket| h.with_lpcrc(crc));
            }
            Kind::Erf => self.settle_erf(head, n, len, with),
            Kind::ErfExtension => with.field(head, n, ComputedField::ErfType, |h: ErfExtension| {
                h.with_extension(next == Kind::ErfExtension)
            }),
            Kind::VxlanGpe => with.field(head, n, ComputedField::EtherType, |h: VxlanGpe| {
                h.with_next_protocol(NextProtocols::before(next, h.next_protocol()))
            }),
            Kind::Nsh => with.field(head, n, ComputedField::EtherType, |h: Nsh| {
                h.with_next_protocol(NextProtocols::before(next, h.next_protocol()))
            }),
            Kind::Ppp => with.field(head, n, ComputedField::EtherType, |h: Ppp| {
                h.with_protocol(PppProtocols::before(next, h.protocol()))
            }),
            Kind::Gue => with.field(head, n, ComputedField::IpProtocol, |h: Gue| {
                h.with_protocol(IpProtocols::before(next, h.protocol()))
            }),
            Kind::Ifa => with.field(head, n, ComputedField::IpProtocol, |h: Ifa| {
                h.with_protocol(IpProtocols::before(next, h.protocol()))
            }),
            Kind::IfaMetadata => {
                let words = self.words(n, |kind| matches!(kind, Kind::IfaHop | Kind::IfaStack));
                with.field(head, n, ComputedField::TelemetryLength, |h: IfaMetadata| h.with_length(words));
            }
            Kind::IntShim => {
                let is_int =
                    |kind: Kind| matches!(kind, Kind::IntHeader | Kind::IntStack) || kind.is_telemetry();
                let words = self.words(n, is_int);
                with.field(head, n, ComputedField::TelemetryLength, |h: IntShim| h.with_length(words));
            }
            kind if kind.is_uet() => self.settle_uet(head, n, with),
            kind if kind.is_rare() => with.ether_type(head, n, |there| EtherTypes::before(next, there)),
            _ => {}
        }
    }

    /// Words of four bytes of the parts behind the `n`-th that are of such kinds.
    fn words(&self, n: usize, is_one: impl Fn(Kind) -> bool) -> u8 {
        let behind = self.parts.get(n + 1..).unwrap_or(&[]);
        let bytes: usize =
            behind.iter().take_while(|part| is_one(part.kind)).map(|part| part.len as usize).sum();
        (bytes / 4) as u8
    }

    /// Types of Ultra Ethernet, from the headers that follow.
    fn settle_uet(&self, head: &mut [u8], n: usize, with: &mut impl Settle) {
        use ComputedField::{UetNextHeader, UetType};
        let behind = self.parts.get(n + 1..).unwrap_or(&[]);
        let has = |kind| behind.iter().any(|part| part.kind == kind);
        let next = || {
            let next = behind.iter().find_map(|part| {
                Some(match part.kind {
                    Kind::SesSmall => 1,
                    Kind::SesMedium => 2,
                    Kind::SesStandard | Kind::SesStandardLater | Kind::SesDeferrable | Kind::SesRestart => 3,
                    Kind::SesResponse => 4,
                    Kind::SesResponseData => 5,
                    Kind::SesResponseSmall => 6,
                    _ => return None,
                })
            });
            PdsNext(next.unwrap_or(0))
        };
        let request = |there: PdsType| match (matches!(there.0, 3 | 14), has(Kind::PdsRequestCc)) {
            (false, false) => PdsType::RUD_REQUEST,
            (true, false) => PdsType::ROD_REQUEST,
            (false, true) => PdsType::RUD_REQUEST_CC,
            (true, true) => PdsType::ROD_REQUEST_CC,
        };
        match self.parts[n].kind {
            Kind::Tss => {
                with.field(head, n, UetType, |h: Tss| h.with_kind(PdsType::TSS).with_sp(has(Kind::TssSource)))
            }
            Kind::PdsRequest => {
                with.field(head, n, UetType, |h: PdsRequest| h.with_kind(request(h.kind())).with_syn(false));
                with.field(head, n, UetNextHeader, |h: PdsRequest| h.with_next_header(next()));
            }
            Kind::PdsRequestSyn => {
                with.field(head, n, UetType, |h: PdsRequestSyn| {
                    h.with_kind(request(h.kind())).with_syn(true)
                });
                with.field(head, n, UetNextHeader, |h: PdsRequestSyn| h.with_next_header(next()));
            }
            Kind::PdsAck => {
                let kind = match (has(Kind::PdsSack), has(Kind::PdsAckCcx)) {
                    (false, _) => PdsType::ACK,
                    (true, false) => PdsType::ACK_CC,
                    (true, true) => PdsType::ACK_CCX,
                };
                with.field(head, n, UetType, |h: PdsAck| {
                    h.with_kind(kind).with_epsn(has(Kind::PdsEpsn) || h.epsn() && kind != PdsType::ACK)
                });
                with.field(head, n, UetNextHeader, |h: PdsAck| h.with_next_header(next()));
            }
            Kind::PdsSack => with.field(head, n, UetType, |h: PdsSack| match () {
                () if has(Kind::PdsNscc) => h.with_cc_type(CcType(0)),
                () if has(Kind::PdsCredit) => h.with_cc_type(CcType(1)),
                () => h,
            }),
            Kind::PdsNack => {
                let kind = if has(Kind::PdsNackCcx) { PdsType::NACK_CCX } else { PdsType::NACK };
                with.field(head, n, UetType, |h: PdsNack| h.with_kind(kind));
                with.field(head, n, UetNextHeader, |h: PdsNack| h.with_next_header(next()));
            }
            Kind::PdsControl => {
                with.field(head, n, UetType, |h: PdsControl| h.with_kind(PdsType::CONTROL).with_syn(false))
            }
            Kind::PdsControlSyn => {
                with.field(head, n, UetType, |h: PdsControlSyn| h.with_kind(PdsType::CONTROL).with_syn(true))
            }
            Kind::PdsRudi => {
                with.field(head, n, UetType, |h: PdsRudi| match h.kind() {
                    PdsType::RUDI_RESPONSE => h,
                    _ => h.with_kind(PdsType::RUDI_REQUEST),
                });
                with.field(head, n, UetNextHeader, |h: PdsRudi| h.with_next_header(next()));
            }
            Kind::PdsUud => {
                with.field(head, n, UetType, |h: PdsUud| h.with_kind(PdsType::UUD_REQUEST));
                with.field(head, n, UetNextHeader, |h: PdsUud| h.with_next_header(next()));
            }
            _ => {}
        }
    }

    /// The next header of an IPv6 extension header, if the following header determines it.
    fn settle_extension(&self, head: &mut [u8], n: usize, with: &mut impl Settle) {
        let there = head.get(self.parts[n].at as usize).copied().unwrap_or(0);
        let right = IpProtocols::before(self.next(n), IpProtocol(there));
        with.byte(head, n, ComputedField::IpProtocol, right.0);
    }

    fn settle_erf(&self, head: &mut [u8], n: usize, len: usize, with: &mut impl Settle) {
        let rest = self.parts.get(n + 1..).unwrap_or(&[]);
        let extensions = rest.iter().take_while(|part| part.kind == Kind::ErfExtension).count();
        let next = rest.get(extensions).map_or(Kind::Payload, |part| part.kind);
        with.field(head, n, ComputedField::ErfType, |h: Erf| {
            h.with_extension(extensions > 0).with_record_type(ErfTypes::before(next, h.record_type()))
        });
        let ethernet = if next == Kind::ErfEthernet { ErfEthernet::LEN } else { 0 };
        let before = Erf::LEN + extensions * ErfExtension::LEN + ethernet;
        let record = len + if self.vcrc.is_some() { 2 } else { 0 } + self.trailer.len();
        with.field(head, n, ComputedField::ErfLength, |h: Erf| {
            h.with_wire_len(record.saturating_sub(before) as u16)
                .with_record_len(record.next_multiple_of(8) as u16)
        });
    }

    /// The checksums that cover a payload: UDP and GRE.
    #[inline]
    fn settle_checksum(&self, head: &mut [u8], n: usize, body: [&[u8]; 3], with: &mut impl Settle) {
        match self.parts[n].kind {
            Kind::Udp if with.wants(n, ComputedField::UdpChecksum) => {
                self.settle_udp_checksum(head, n, body, with)
            }
            Kind::GreChecksum if with.wants(n, ComputedField::GreChecksum) => {
                // It starts at the GRE header before it. It cannot be computed for a cut packet.
                let from = self.last(Kind::Gre, n).map_or(self.parts[n].at, |gre| gre.at) as usize;
                let at = self.parts[n].at as usize;
                let (before, after) = (head.get(from..at).unwrap_or(&[]), head.get(at + 2..).unwrap_or(&[]));
                let sum = checksum::internet_parts(&[before, after, body[0], body[1], body[2]]);
                let cut = self.missing > 0;
                with.field(head, n, ComputedField::GreChecksum, |h: GreChecksum| {
                    if cut { h } else { h.with_checksum(Hex16(sum)) }
                });
            }
            _ => {}
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_udp_checksum(&self, head: &mut [u8], n: usize, body: [&[u8]; 3], with: &mut impl Settle) {
        let at = self.parts[n].at as usize;
        let ip = self.parts[..n].iter().rev().find(|part| matches!(part.kind, Kind::Ipv4 | Kind::Ipv6));
        let Some(ip) = ip.filter(|_| self.missing == 0) else { return };
        let addresses = if ip.kind == Kind::Ipv4 { 12..20 } else { 8..40 };
        let addresses = head.get(ip.range()).and_then(|ip| ip.get(addresses)).unwrap_or(&[]);
        let udp = head.get(at..).unwrap_or(&[]);
        let len = udp.get(4..6).unwrap_or(&[]);
        let (before, after) = (udp.get(..6).unwrap_or(&[]), udp.get(8..).unwrap_or(&[]));
        let protocol = &[0, IpProtocol::UDP.0];
        let parts = [addresses, protocol, len, before, after, body[0], body[1], body[2]];
        let sum = checksum::internet_parts(&parts);
        // Zero means that there is none (RFC 768).
        let sum = if sum == 0 { 0xffff } else { sum };
        with.field(head, n, ComputedField::UdpChecksum, |h: Udp| h.with_checksum(Hex16(sum)));
    }

    /// The queue pair that a packet comes from, if it is known.
    #[inline]
    fn sender(&self, head: &[u8]) -> Option<Qpn> {
        if self.source_qp.is_some() {
            return self.source_qp;
        }
        let deth = self.last(Kind::Deth, self.parts.len())?;
        Deth::view(head.get(deth.range())?).map(|(deth, _)| deth.src_qp())
    }

    /// The ICRC of the packet with these headers.
    fn icrc_of(&self, head: &[u8], pad: &Pad) -> [u8; 4] {
        let Some(n) = self.parts.iter().rposition(|part| part.kind.is_bth()) else {
            return self.uet_crc_of(head);
        };
        let bth = &self.parts[n];
        let network = self.parts[..n]
            .iter()
            .rposition(|part| matches!(part.kind, Kind::Ipv4 | Kind::Ipv6 | Kind::Grh | Kind::Lrh));
        let from = network.map_or(bth, |n| &self.parts[n]);
        let udp = network.is_some_and(|from| self.parts[from..n].iter().any(|part| part.kind == Kind::Udp));
        let headers = head.get(from.at as usize..bth.range().end).unwrap_or(&[]);
        let behind = head.get(bth.range().end..).unwrap_or(&[]);
        icrc::of_parts(from.kind, udp, headers, &[behind, &self.payload, pad.bytes()])
    }

    /// The CRC32C of a packet of Ultra Ethernet with these headers.
    fn uet_crc_of(&self, head: &[u8]) -> [u8; 4] {
        let is_uet = self.parts.iter().any(|part| part.kind.is_uet());
        let ip = self.parts.iter().rev().find(|part| matches!(part.kind, Kind::Ipv4 | Kind::Ipv6));
        match ip.filter(|_| is_uet) {
            Some(ip) => crc32c::of_uet(ip.kind, &[head.get(ip.at as usize..).unwrap_or(&[]), &self.payload]),
            None => [0; 4],
        }
    }
}

/// The protocol type of a tunnel before this kind.
fn tunnelled(next: Kind, there: EtherType) -> EtherType {
    EtherTypes::before(next, TunnelTypes::before(next, there))
}
