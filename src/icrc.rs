//! The CRCs: the invariant one end to end, the variant one link by link, Ethernet's frame check sequence.
//!
//! The ICRC is CRC-32 (polynomial 0x04c11db7, as Ethernet) over the packet from its network header to the byte
//! before the ICRC, with what routers may change set to ones; RoCE packets are preceded by eight bytes of ones,
//! where native InfiniBand with a GRH has its LRH set to ones. It stands least significant byte first (IBTA
//! vol. 1, 7.8.1 and annex A17; Linux drivers/infiniband/sw/rxe/rxe_icrc.c).

use crate::{
    dissect::Dissection,
    wire::{Bth, Grh, Header, Ipv4, Ipv6, Kind, Lrh, Udp},
};

/// What became of an ICRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// It is right.
    Good,
    /// It is wrong.
    Bad,
    /// The frame was cut, is a fragment, or nothing says where the ICRC is.
    Unchecked,
}

impl State {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            State::Good => "good",
            State::Bad => "bad",
            State::Unchecked => "unchecked",
        }
    }
}

/// Whether the frame's ICRC is right.
#[inline]
pub fn verify(d: &Dissection<'_>) -> State {
    let Some(there) = d.icrc() else { return State::Unchecked };
    match compute(d) {
        Some(right) if right == there => State::Good,
        Some(_) => State::Bad,
        None => State::Unchecked,
    }
}

/// What the frame's ICRC ought to be, in wire order; `None` where the packet's end is not known, or was not
/// captured, or where no source says what is covered (IPv4 options, IPv6 extension headers, fragments).
#[inline]
pub fn compute(d: &Dissection<'_>) -> Option<[u8; 4]> {
    let frame = d.frame();
    let (bth, end) = (d.offset(Kind::Bth)?, d.offset(Kind::Icrc)?);
    if d.is_fragment() || d.has(Kind::Ipv4Options) || d.has(Kind::Ipv6Extension) {
        return None;
    }
    // The innermost: native InfiniBand may carry IPv6.
    let network = match d.has(Kind::Udp) {
        true if d.has(Kind::Ipv4) => Kind::Ipv4,
        true => Kind::Ipv6,
        false if d.has(Kind::Grh) => Kind::Grh,
        false => Kind::Lrh,
    };
    let from = d.offset(network)?;
    let headers = frame.get(from..bth + Bth::LEN)?;
    Some(of_parts(network, d.has(Kind::Udp), headers, &[frame.get(bth + Bth::LEN..end)?]))
}

/// The ICRC, in wire order, of a packet as it is laid out, whatever its length fields say. `headers` runs from the
/// `network` header (LRH where there is no GRH) to the last byte of the BTH, with whether UDP stands before that;
/// `rest` is what follows up to the ICRC. IPv4 options and IPv6 extension headers are covered as they are, which no
/// source confirms.
#[inline]
pub fn of_parts(network: Kind, udp: bool, headers: &[u8], rest: &[&[u8]]) -> [u8; 4] {
    let ones = if network == Kind::Lrh { 0 } else { ONES };
    let network: &[Mask] = match network {
        Kind::Grh => &GRH_MASK,
        Kind::Ipv4 => &IPV4_MASK,
        Kind::Ipv6 => &IPV6_MASK,
        Kind::Lrh => &LRH_MASK,
        _ => &[],
    };
    let bth = headers.len().saturating_sub(Bth::LEN);
    let mut masks = [(usize::MAX, 0); MASKS];
    let (first, last) = masks.split_at_mut(IPV6_MASK.len());
    first[..network.len()].copy_from_slice(network);
    let behind = behind(bth);
    let behind = if udp { &behind[..] } else { &behind[..1] };
    last[..behind.len()].copy_from_slice(behind);
    let mut crc = crc32fast::Hasher::new();
    // Once, unless there are extension headers.
    let mut block = [0xff; ONES + BLOCK];
    for (n, headers) in headers.chunks(BLOCK).enumerate() {
        let skip = if n == 0 { ones } else { 0 };
        let (at, to) = (n * BLOCK, skip + headers.len());
        block[skip..to].copy_from_slice(headers);
        for &(offset, mask) in &masks {
            if offset >= at && offset - at < headers.len() {
                block[skip + offset - at] |= mask;
            }
        }
        crc.update(&block[..to]);
    }
    rest.iter().for_each(|part| crc.update(part));
    crc.finalize().to_le_bytes()
}

/// [`of_parts`] of RoCEv2 over IPv4 without options, all headers at hand and in their places.
#[inline]
pub(crate) fn of_rocev2_ipv4(headers: &[u8; Ipv4::LEN + BEHIND], rest: &[u8]) -> [u8; 4] {
    const SET: Vectors = masks(&IPV4_MASK, Ipv4::LEN + BEHIND);
    of_rocev2(&SET, headers, rest)
}

/// The same over IPv6 without extension headers.
#[inline]
pub(crate) fn of_rocev2_ipv6(headers: &[u8; Ipv6::LEN + BEHIND], rest: &[u8]) -> [u8; 4] {
    const SET: Vectors = masks(&IPV6_MASK, Ipv6::LEN + BEHIND);
    of_rocev2(&SET, headers, rest)
}

/// UDP and BTH.
const BEHIND: usize = Udp::LEN + Bth::LEN;

/// Bytes that are read at a time for the CRC, and have to be written so: what was written in other pieces is waited for.
const VECTOR: usize = 16;
/// The ones and the headers, or what is set in them.
type Vectors = [[u8; VECTOR]; (ONES + BLOCK) / VECTOR];

#[inline(always)]
fn of_rocev2<const N: usize>(masks: &Vectors, headers: &[u8; N], rest: &[u8]) -> [u8; 4] {
    const { assert!(N <= BLOCK) };
    let mut block: Vectors = Default::default();
    let (first, others) = headers.split_at(VECTOR - ONES);
    let mut ones = [0xff; VECTOR];
    ones[ONES..].copy_from_slice(first);
    block[0] = with(ones, &masks[0]);
    let (whole, last) = others.as_chunks();
    for ((to, from), mask) in block[1..].iter_mut().zip(whole).zip(&masks[1..]) {
        *to = with(*from, mask);
    }
    if !last.is_empty() {
        let (mut padded, at) = ([0; VECTOR], 1 + whole.len());
        padded[..last.len()].copy_from_slice(last);
        block[at] = with(padded, &masks[at]);
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&block.as_flattened()[..ONES + N]);
    crc.update(rest);
    crc.finalize().to_le_bytes()
}

/// These bytes with those of the mask set.
#[inline(always)]
fn with(mut bytes: [u8; VECTOR], mask: &[u8; VECTOR]) -> [u8; VECTOR] {
    bytes.iter_mut().zip(mask).for_each(|(byte, mask)| *byte |= mask);
    bytes
}

/// What is set in the ones and so many bytes of headers: a network header's masks, and those of UDP and BTH.
const fn masks(network: &[Mask], headers: usize) -> Vectors {
    let behind = behind(headers - Bth::LEN);
    let mut masks = [[0; VECTOR]; (ONES + BLOCK) / VECTOR];
    let mut n = 0;
    while n < network.len() + behind.len() {
        let (at, mask) = if n < network.len() { network[n] } else { behind[n - network.len()] };
        let at = ONES + at;
        masks[at / VECTOR][at % VECTOR] = mask;
        n += 1;
    }
    masks
}

/// What is set in a BTH that begins there, and before it in UDP: the checksum.
const fn behind(bth: usize) -> [Mask; 3] {
    [(bth + BTH_RESV8A, 0xff), (bth.wrapping_sub(2), 0xff), (bth.wrapping_sub(1), 0xff)]
}

/// Byte of a header, and the bits that are set before the CRC.
type Mask = (usize, u8);

/// Bytes that are masked at a time: more than the headers of any packet without extension headers.
const BLOCK: usize = 72;
const MASKS: usize = IPV6_MASK.len() + 3;
/// The eight bytes of ones before a RoCE packet: the LRH it does not have.
const ONES: usize = Lrh::LEN;
/// FECN, BECN and six reserved bits: the byte was Resv8a.
const BTH_RESV8A: usize = 4;
/// VL.
const LRH_MASK: [Mask; 1] = [(0, 0xf0)];
/// DSCP and ECN, TTL, header checksum.
const IPV4_MASK: [Mask; 4] = [(1, 0xff), (8, 0xff), (10, 0xff), (11, 0xff)];
/// Traffic class, flow label, hop limit.
const IPV6_MASK: [Mask; 5] = [(0, 0x0f), (1, 0xff), (2, 0xff), (3, 0xff), (7, 0xff)];
/// The same in the GRH.
const GRH_MASK: [Mask; 5] = IPV6_MASK;

const _: () =
    assert!(Ipv6::LEN == Grh::LEN && Ipv4::LEN < Ipv6::LEN && BLOCK >= Grh::LEN + Udp::LEN + Bth::LEN);

/// What the frame's VCRC ought to be, in wire order: CRC-16, polynomial 0x100b, over everything from the LRH to
/// the ICRC, nothing masked (IBTA vol. 1, 7.8.2). `None` where the packet is not native InfiniBand, or was cut.
pub fn compute_vcrc(d: &Dissection<'_>) -> Option<[u8; 2]> {
    let from = d.offset(Kind::Lrh)?;
    if !d.end_is_known() {
        return None;
    }
    Some(vcrc(d.frame().get(from..d.end() as usize)?))
}

/// Whether the frame's VCRC is right.
pub fn verify_vcrc(d: &Dissection<'_>) -> State {
    match (d.vcrc(), compute_vcrc(d)) {
        (Some(there), Some(right)) if there == right => State::Good,
        (Some(_), Some(_)) => State::Bad,
        _ => State::Unchecked,
    }
}

/// The variant CRC of these bytes, in wire order.
pub fn vcrc(bytes: &[u8]) -> [u8; 2] {
    vcrc_of_parts(&[bytes])
}

/// The variant CRC of several runs of bytes, in wire order.
pub fn vcrc_of_parts(parts: &[&[u8]]) -> [u8; 2] {
    let bytes = parts.iter().flat_map(|part| part.iter());
    let crc = bytes.fold(0xffff, |crc: u16, &byte| VCRC_TABLE[(crc as u8 ^ byte) as usize] ^ crc >> 8);
    (!crc).to_le_bytes()
}

static VCRC_TABLE: [u16; 256] = {
    // 0x100b with its bits reversed.
    const POLYNOMIAL: u16 = 0xd008;
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let (mut crc, mut bit) = (i as u16, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

/// Ethernet's frame check sequence of these bytes, in wire order (IEEE 802.3, 3.2.9).
pub fn fcs(bytes: &[u8]) -> [u8; 4] {
    fcs_of_parts(&[bytes])
}

/// The frame check sequence of several runs of bytes, in wire order.
pub fn fcs_of_parts(parts: &[&[u8]]) -> [u8; 4] {
    let mut crc = crc32fast::Hasher::new();
    parts.iter().for_each(|part| crc.update(part));
    crc.finalize().to_le_bytes()
}

/// Whether an Ethernet frame ends with its frame check sequence: the last four bytes after the packet are the CRC
/// of all before them. One frame in 2^32 of those that have none would seem to.
pub fn has_fcs(d: &Dissection<'_>) -> bool {
    if !d.has(Kind::Ethernet) || d.tunnel_depth() > 0 || d.is_cut() || d.trailer().len() < 4 {
        return false;
    }
    let from = d.offset(Kind::Ethernet).unwrap_or(0);
    match d.frame().split_last_chunk::<4>() {
        Some((bytes, last)) => bytes.get(from..).is_some_and(|bytes| fcs(bytes) == *last),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn headers_in_their_places_are_masked_as_any_are(
            headers in prop::collection::vec(any::<u8>(), Ipv6::LEN + BEHIND),
            rest in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let (ipv4, ipv6) = (headers.first_chunk(), headers.first_chunk());
            let (ipv4, ipv6) = (ipv4.expect("they are longer"), ipv6.expect("they are as long"));
            assert_eq!(of_rocev2_ipv4(ipv4, &rest), of_parts(Kind::Ipv4, true, ipv4, &[&rest]));
            assert_eq!(of_rocev2_ipv6(ipv6, &rest), of_parts(Kind::Ipv6, true, ipv6, &[&rest]));
        }
    }
}
