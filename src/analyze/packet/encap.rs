//! The fast form of packets over IPv6, in a tunnel, or without an Ethernet header.

use super::{
    FastForm, FastPacket, Frame, MirrorCopy,
    fast::{HEADERS, IPV6_MORE, VERSION_4_WHOLE, VERSION_6, WORDS, verify, with_priority, words},
    inside::Inside,
    key::{Key, Wide},
    path_tag,
};
use crate::{
    capture::Record,
    dissect,
    icrc::{self, State},
    wire::*,
};

/// The fast form of a packet in any encapsulation other than Ethernet and IPv4.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub struct EncapPacket {
    /// The packet as it would be over IPv4 in an Ethernet frame; its lengths differ by those of the headers before UDP.
    plain: FastPacket,
    key: Key,
    /// See [`Key::short`].
    short: (u64, u32),
    frame: Frame,
    /// A mirror made it.
    copy: Option<MirrorCopy>,
}

impl EncapPacket {
    /// What became of its ICRC.
    pub fn icrc(&self) -> State {
        self.plain.icrc()
    }

    /// The fast form of a frame, not [checked](Self::checked) yet, and its captured bytes from its network header on.
    #[inline(always)]
    pub(crate) fn candidate<'a>(
        options: &dissect::Options,
        record: &Record<'a>,
    ) -> Option<(EncapPacket, &'a [u8])> {
        let Inside { is_ipv4, tags, vni, copy, rest, wire_len } = Inside::of(options, record)?;
        let (headers, ipv6) = match is_ipv4 {
            true => (words::<HEADERS, WORDS>(rest.first_chunk()?), None),
            false => over_ipv6(rest.first_chunk()?).map(|(headers, addresses)| (headers, Some(addresses)))?,
        };
        let captured = record.frame.len() as u32;
        let frame = Frame {
            time: record.time.0,
            wire_len: record.wire_len.max(captured),
            captured,
            link: record.link.0,
            interface: record.interface,
            is_cut: captured < record.wire_len,
            is_malformed: false,
        };
        let vlan = if tags == 0 { 0 } else { Vlan::LEN as u32 };
        let more = if is_ipv4 { 0 } else { IPV6_MORE };
        let as_ipv4 = |len: u32| (len - more).saturating_add(Ethernet::LEN as u32 + vlan);
        let plain = FastPacket {
            time: frame.time,
            headers: with_priority(headers, tags),
            ext_word: 0,
            wire_len: as_ipv4(wire_len),
            captured: as_ipv4(rest.len() as u32),
            interface: record.interface,
            tags: tags & path_tag::VLAN as u16,
        };
        let key = match ipv6 {
            None => plain.key(),
            Some([src, dst]) => Key::of_ipv6(src, dst, plain.dest_qp()),
        };
        let key = match vni {
            Some(vni) => key.in_vxlan(vni),
            None => key,
        };
        Some((EncapPacket { plain, key, short: key.short()?, frame, copy }, rest))
    }

    /// The packet with its ICRC's state, if all that the fast form assumes holds.
    #[inline(always)]
    pub(crate) fn checked(
        &self,
        options: &dissect::Options,
        rest: &[u8],
        icrc: impl FnOnce() -> State,
    ) -> Option<EncapPacket> {
        let version = if self.is_ipv4() { VERSION_4_WHOLE } else { VERSION_6 };
        let ext_word = self.plain.ext_word(options, version, rest.get(HEADERS + self.more() as usize..)?)?;
        Some(EncapPacket { plain: self.plain.with(ext_word, icrc()), ..*self })
    }

    /// The state of its ICRC; unchecked where the packet was cut.
    #[inline(always)]
    pub(crate) fn verify(&self, rest: &[u8]) -> State {
        match self.is_ipv4() {
            true => self.plain.verify(rest),
            false => verify(rest, self.plain.total() + IPV6_MORE, icrc::of_rocev2_ipv6),
        }
    }
}

/// IPv6, UDP and BTH.
const HEADERS_IPV6: usize = HEADERS + IPV6_MORE as usize;

/// The headers as they would be over IPv4, without addresses (see [`FastPacket`]), and the addresses.
#[inline(always)]
fn over_ipv6(bytes: &[u8; HEADERS_IPV6]) -> Option<([u64; WORDS], [Wide; 2])> {
    let (network, rest) = bytes.split_first_chunk::<{ Ipv6::LEN }>()?;
    let [first, src_high, src_low, dst_high, dst_low] = words(network);
    let (ports, rest) = rest.split_first_chunk::<4>()?;
    let [lengths, bth] = words(rest.first_chunk::<16>()?);
    // | 6 | traffic class | flow label | payload length | next header | hop limit |
    let [class, protocol, hops] = [52, 8, 0].map(|at| first >> at & 0xff);
    let total = (first >> 16 & 0xffff) + Ipv4::LEN as u64;
    if total > u16::MAX as u64 {
        return None;
    }
    let headers = [
        first >> 60 << 60 | class << 48 | total << 32,
        hops << 56 | protocol << 48,
        u32::from_be_bytes(*ports) as u64,
        lengths,
        bth,
    ];
    Some((headers, [[src_high, src_low], [dst_high, dst_low]]))
}

impl FastForm for EncapPacket {
    #[inline(always)]
    fn fast(&self) -> &FastPacket {
        &self.plain
    }

    #[inline(always)]
    fn copy(&self) -> Option<&MirrorCopy> {
        self.copy.as_ref()
    }

    #[inline(always)]
    fn ends(&self) -> (u64, u32) {
        self.short
    }

    #[inline(always)]
    fn is_told_by_ends(&self) -> bool {
        self.key.is_short()
    }

    #[inline(always)]
    fn key(&self) -> Key {
        self.key
    }

    #[inline(always)]
    fn frame(&self) -> Frame {
        self.frame
    }

    #[inline(always)]
    fn is_ipv4(&self) -> bool {
        self.key.is_ipv4()
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_packet_encap.rs"]
mod tests;
