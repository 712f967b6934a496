//! CRCs: the invariant CRC (end to end), the variant CRC (per link), Ethernet's frame check sequence.
//!
//! The ICRC is Ethernet's CRC-32 (polynomial 0x04c11db7). It covers the packet from its network header to the byte before the
//! ICRC; the bits that routers may change count as ones. Eight bytes of ones come before: in native InfiniBand with a GRH they
//! are the masked LRH, and RoCE does the same. The ICRC is sent least significant byte first (IBTA vol. 1, 7.8.1 and annex A17;
//! Linux drivers/infiniband/sw/rxe/rxe_icrc.c).

use core::hint::black_box;

use crate::{
    checksum, crc32c,
    dissect::{Dissection, Note, Problem},
    named,
    wire::{Bth, Grh, Header, Ipv4, Ipv6, Kind, Lrh, Udp},
};

named! {
    /// The result of checking a CRC.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum State {
        /// It is right.
        Good "good",
        /// It is wrong.
        Bad "bad",
        /// The frame was cut, is a fragment, or nothing says where the ICRC is.
        Unchecked "unchecked",
        /// There is none: a switch cut the packet to its headers instead of dropping it (packet trimming).
        Trimmed "trimmed",
    }
}

impl State {
    /// Compares the CRC in the frame with the right one, if that is known.
    #[inline]
    pub fn of<T: PartialEq>(there: T, right: Option<T>) -> State {
        match right {
            Some(right) if right == there => State::Good,
            Some(_) => State::Bad,
            None => State::Unchecked,
        }
    }
}

/// Whether the frame's ICRC is right.
#[inline]
pub fn verify(d: &Dissection<'_>) -> State {
    match d.icrc().map_or(State::Unchecked, |there| State::of(there, compute(d))) {
        State::Bad | State::Unchecked if has_trimmed_length(d) => State::Trimmed,
        // Which fields MRC's ICRC leaves out, no source says that could be read.
        State::Bad if d.has(Kind::MrcBth) => State::Unchecked,
        state => state,
    }
}

/// Whether the UDP header says more bytes than the IP header, which is right: switches that trim packets (`PACKET_TRIM` of SAI, the switch
/// abstraction interface) leave a packet so. Or whether both say more than the frame has, none of which the capture cut: other
/// switches write no length anew.
#[cold]
fn has_trimmed_length(d: &Dissection<'_>) -> bool {
    let is_longer = |kind| says_more(d, kind);
    if d.notes().is_empty() || !d.has(Kind::Bth) || !is_longer(Kind::Udp) {
        return false;
    }
    let is_ip_right = is_ip_right(d);
    let of_ip = len_by_ip(d);
    // In a tunnel, the lengths around the packet are right; where its own IP length says nothing, neither does UDP's.
    if d.tunnel_depth() > 0 && of_ip.is_none_or(|len| usize::from(len) < Udp::LEN + Bth::LEN) {
        return false;
    }
    is_ip_right && (!(is_longer(Kind::Ipv4) || is_longer(Kind::Ipv6)) || has_old_lengths(d))
}

/// Whether IP's header is right, and UDP's says more bytes than it: a switch trimmed the packet, and wrote only IP's length anew.
#[cold]
pub fn has_old_udp_length(d: &Dissection<'_>) -> bool {
    says_more(d, Kind::Udp) && !says_more(d, Kind::Ipv4) && !says_more(d, Kind::Ipv6) && is_ip_right(d)
}

fn is_ip_right(d: &Dissection<'_>) -> bool {
    d.get::<Ipv4>().is_none_or(|ip| ip.ihl() != 5 || checksum::internet(ip.bytes()) == 0)
}

/// Whether the length field of this header says more bytes than there are.
fn says_more(d: &Dissection<'_>, kind: Kind) -> bool {
    let is_it = |note: &Note| match note.problem {
        Problem::Length { says, have } => note.layer == kind && says > have,
        _ => false,
    };
    d.notes().iter().any(is_it)
}

/// The bytes behind the IP header, as it says.
fn len_by_ip(d: &Dissection<'_>) -> Option<u16> {
    match (d.get::<Ipv4>(), d.get::<Ipv6>()) {
        (Some(ip), _) => ip.total_len().checked_sub(u16::from(ip.ihl()) * 4),
        (_, Some(ip)) => Some(ip.payload_len()),
        _ => None,
    }
}

/// Whether the lengths of IP and UDP are those of a longer packet, and the capture did not cut it: it is as a switch leaves it that trims packets and writes no
/// length anew, or only that of an IP header around it, as in SRv6.
#[cold]
pub fn has_old_lengths(d: &Dissection<'_>) -> bool {
    let of_ip = len_by_ip(d);
    (says_more(d, Kind::Ipv4) || says_more(d, Kind::Ipv6))
        && !d.is_cut()
        && (d.tunnel_depth() == 0 || is_in_ip(d))
        && of_ip.is_some()
        && of_ip == d.get::<Udp>().map(Udp::length)
}

/// Whether another IP header is right around that of the packet.
fn is_in_ip(d: &Dissection<'_>) -> bool {
    let Some(own) = d.offset(Kind::Ipv4).or_else(|| d.offset(Kind::Ipv6)) else { return false };
    let layers = d.layers();
    let around = layers.iter().take_while(|layer| layer.at as usize != own).last();
    around.is_some_and(|layer| matches!(layer.kind, Kind::Ipv4 | Kind::Ipv6 | Kind::Ipv6Extension))
}

/// The right ICRC of the frame, in wire order. `None` if the packet's end is not known or was not captured, and where no source
/// says what the ICRC covers (IPv4 options, IPv6 extension headers, fragments, headers that switches changed).
#[inline]
pub fn compute(d: &Dissection<'_>) -> Option<[u8; 4]> {
    let frame = d.frame();
    let end = d.offset(Kind::Icrc)?;
    let Some(bth) = d.offset(Kind::Bth) else { return of_uet(d, end) };
    if d.is_fragment() || d.is_changed() || d.has(Kind::Ipv4Options) || d.has(Kind::Ipv6Extension) {
        return None;
    }
    // The innermost network header: native InfiniBand may carry IPv6.
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

/// The CRC32C of a packet of Ultra Ethernet, which stands where RoCE has its ICRC: see [`crc32c::of_uet`].
#[cold]
fn of_uet(d: &Dissection<'_>, end: usize) -> Option<[u8; 4]> {
    if !d.is_uet() || d.is_fragment() || d.is_changed() {
        return None;
    }
    let ip = if d.has(Kind::Ipv4) { Kind::Ipv4 } else { Kind::Ipv6 };
    Some(crc32c::of_uet(ip, &[d.frame().get(d.offset(ip)?..end)?]))
}

/// The ICRC, in wire order, of the bytes given; length fields are ignored. `headers` is everything from the `network` header (LRH
/// where there is no GRH) to the end of the BTH, `udp` says whether a UDP header comes before the BTH, and `rest` is what
/// follows, up to the ICRC. IPv4 options and IPv6 extension headers are covered without a mask, which no source confirms.
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
    // One round, unless there are extension headers.
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

/// [`of_parts`] of RoCEv2 over IPv4 without options, from its network header to the byte before the ICRC. `None` if
/// it is shorter than its headers.
#[inline]
pub fn of_rocev2_ipv4(packet: &[u8]) -> Option<[u8; 4]> {
    const HEADERS: usize = Ipv4::LEN + BEHIND;
    of_rocev2::<HEADERS>(Kind::Ipv4, const { &sets(&IPV4_MASK, HEADERS) }, packet)
}

/// [`of_parts`] of RoCEv2 over IPv6 without extension headers, from its network header to the byte before the ICRC. `None` if
/// it is shorter than its headers.
#[inline]
pub fn of_rocev2_ipv6(packet: &[u8]) -> Option<[u8; 4]> {
    const HEADERS: usize = Ipv6::LEN + BEHIND;
    of_rocev2::<HEADERS>(Kind::Ipv6, const { &sets(&IPV6_MASK, HEADERS) }, packet)
}

/// UDP and BTH.
const BEHIND: usize = Udp::LEN + Bth::LEN;

/// Bytes that the CRC loads at a time. The block is written in pieces of this size too: a load of bytes that were stored in
/// smaller pieces has to wait for the stores.
const VECTOR: usize = 16;
/// The ones before the headers and the headers, or the mask of both.
type Vectors = [[u8; VECTOR]; VECTORS];
const VECTORS: usize = (VECTOR + BLOCK).div_ceil(VECTOR);
/// The masks for 4, 8, 12 and 16 bytes of ones before the headers.
type Sets = [Vectors; 4];

/// Puts as many bytes of ones before the headers as make the whole a multiple of [`VECTOR`]: the CRC of a remainder is slow, and
/// its table takes room in the cache.
#[inline(always)]
fn of_rocev2<const N: usize>(network: Kind, sets: &Sets, packet: &[u8]) -> Option<[u8; 4]> {
    let headers = packet.first_chunk::<N>()?;
    // Hidden from the compiler, which would set the bytes of a known mask one by one.
    let sets = black_box(sets);
    match packet.len() % VECTOR {
        0 => of_vectors::<N, 16>(sets, packet),
        4 => of_vectors::<N, 12>(sets, packet),
        8 => of_vectors::<N, 8>(sets, packet),
        // Over IPv4: acknowledgements, and READ responses with an AETH.
        12 => of_vectors::<N, 4>(sets, packet),
        _ => Some(of_parts(network, true, headers, &[&packet[N..]])),
    }
}

/// `BEFORE` bytes of ones come before the headers, and the CRC starts with a register that makes them count as eight.
#[inline(always)]
fn of_vectors<const N: usize, const BEFORE: usize>(sets: &Sets, packet: &[u8]) -> Option<[u8; 4]> {
    const { assert!(N <= BLOCK && BEFORE <= VECTOR) };
    let set = &sets[const { BEFORE / 4 - 1 }];
    let full = const { (BEFORE + N).div_ceil(VECTOR) };
    let first: &[u8; VECTOR] = packet.first_chunk()?;
    let (headers, rest) = packet[VECTOR - BEFORE..].split_at_checked((full - 1) * VECTOR)?;
    let mut block: Vectors = Default::default();
    // Rotated, so that the bytes before the headers exist; the mask sets them to ones.
    let turned = core::array::from_fn(|n| first[(n + VECTOR - BEFORE) % VECTOR]);
    block[0] = with(turned, &set[0]);
    for ((to, from), set) in block[1..full].iter_mut().zip(headers.as_chunks().0).zip(&set[1..full]) {
        *to = with(*from, set);
    }
    let mut crc = crc32fast::Hasher::new_with_initial(const { !register_before(BEFORE) });
    crc.update(block[..full].as_flattened());
    crc.update(rest);
    Some(crc.finalize().to_le_bytes())
}

/// The register of the CRC that, after this many bytes of ones, equals the register after the eight bytes of ones that every ICRC
/// begins with. (The first four of those eight clear it.)
const fn register_before(ones: usize) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let (mut register, mut n) = (0u32, ONES / 2);
    // Backwards: shift eight bits in, then take the byte away.
    while n < ones {
        let mut bit = 0;
        while bit < 8 {
            register = if register >> 31 != 0 { (register ^ POLYNOMIAL) << 1 | 1 } else { register << 1 };
            bit += 1;
        }
        register ^= 0xff;
        n += 1;
    }
    register
}

/// These bytes with those of the mask set.
#[inline(always)]
fn with(mut bytes: [u8; VECTOR], mask: &[u8; VECTOR]) -> [u8; VECTOR] {
    bytes.iter_mut().zip(mask).for_each(|(byte, mask)| *byte |= mask);
    bytes
}

/// See [`Sets`].
const fn sets(network: &[Mask], headers: usize) -> Sets {
    let behind = behind(headers - Bth::LEN);
    [set(network, &behind, 4), set(network, &behind, 8), set(network, &behind, 12), set(network, &behind, 16)]
}

/// The mask: `before` bytes of ones, the masks of the network header, and those of UDP and BTH.
const fn set(network: &[Mask], behind: &[Mask], before: usize) -> Vectors {
    let mut set = [[0; VECTOR]; VECTORS];
    let mut n = 0;
    while n < before {
        set[0][n] = 0xff;
        n += 1;
    }
    let mut n = 0;
    while n < network.len() + behind.len() {
        let (at, mask) = if n < network.len() { network[n] } else { behind[n - network.len()] };
        set[(before + at) / VECTOR][(before + at) % VECTOR] = mask;
        n += 1;
    }
    set
}

/// The masks of a BTH at this offset, and of the UDP checksum before it.
const fn behind(bth: usize) -> [Mask; 3] {
    [(bth + BTH_RESV8A, 0xff), (bth.wrapping_sub(2), 0xff), (bth.wrapping_sub(1), 0xff)]
}

/// An offset in a header, and the bits that count as ones.
type Mask = (usize, u8);

/// Bytes that are masked at a time: more than the headers of any packet without extension headers.
const BLOCK: usize = 72;
const MASKS: usize = IPV6_MASK.len() + 3;
/// The eight bytes of ones before a RoCE packet, in place of an LRH.
const ONES: usize = Lrh::LEN;
/// FECN, BECN and six reserved bits: the byte Resv8a of older specifications.
const BTH_RESV8A: usize = 4;
/// VL.
const LRH_MASK: [Mask; 1] = [(0, 0xf0)];
/// DSCP and ECN, TTL, header checksum.
const IPV4_MASK: [Mask; 4] = [(1, 0xff), (8, 0xff), (10, 0xff), (11, 0xff)];
/// Traffic class, flow label, hop limit.
const IPV6_MASK: [Mask; 5] = [(0, 0x0f), (1, 0xff), (2, 0xff), (3, 0xff), (7, 0xff)];
/// Traffic class, flow label, hop limit.
const GRH_MASK: [Mask; 5] = IPV6_MASK;

const _: () =
    assert!(Ipv6::LEN == Grh::LEN && Ipv4::LEN < Ipv6::LEN && BLOCK >= Grh::LEN + Udp::LEN + Bth::LEN);

/// The right VCRC of the frame, in wire order: CRC-16 with polynomial 0x100b over everything from the LRH to the ICRC, without a
/// mask (IBTA vol. 1, 7.8.2). `None` if the packet is not native InfiniBand, or was cut.
pub fn compute_vcrc(d: &Dissection<'_>) -> Option<[u8; 2]> {
    let from = d.offset(Kind::Lrh)?;
    if !d.end_is_known() {
        return None;
    }
    Some(vcrc(d.frame().get(from..d.end() as usize)?))
}

/// Whether the frame's VCRC is right.
pub fn verify_vcrc(d: &Dissection<'_>) -> State {
    d.vcrc().map_or(State::Unchecked, |there| State::of(there, compute_vcrc(d)))
}

/// The variant CRC of these bytes, in wire order.
pub fn vcrc(bytes: &[u8]) -> [u8; 2] {
    vcrc_of_parts(&[bytes])
}

/// The variant CRC of several runs of bytes, in wire order.
pub fn vcrc_of_parts(parts: &[&[u8]]) -> [u8; 2] {
    (!parts.iter().fold(0xffff, |crc, part| vcrc_on(crc, part))).to_le_bytes()
}

/// Goes on with a CRC: eight bytes at a time, each with its table.
fn vcrc_on(crc: u16, bytes: &[u8]) -> u16 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let crc = eights.iter().fold(crc, |crc, eight| {
        let [low, high] = crc.to_le_bytes();
        let [a, b, c, d, e, f, g, h] = *eight;
        let of = |table: usize, byte: u8| VCRC_TABLES[table][byte as usize];
        of(7, a ^ low) ^ of(6, b ^ high) ^ of(5, c) ^ of(4, d) ^ of(3, e) ^ of(2, f) ^ of(1, g) ^ of(0, h)
    });
    rest.iter().fold(crc, |crc, &byte| VCRC_TABLES[0][(crc as u8 ^ byte) as usize] ^ crc >> 8)
}

/// What a byte does to the CRC, and what it does with one to seven bytes behind it.
static VCRC_TABLES: [[u16; 256]; 8] = {
    // 0x100b with its bits reversed.
    const POLYNOMIAL: u16 = 0xd008;
    let mut tables = [[0; 256]; 8];
    let mut i = 0;
    while i < 256 {
        let (mut crc, mut bit) = (i as u16, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][i] = crc;
        i += 1;
    }
    let mut n = 1;
    while n < 8 {
        let mut i = 0;
        while i < 256 {
            let crc: u16 = tables[n - 1][i];
            tables[n][i] = tables[0][(crc & 0xff) as usize] ^ crc >> 8;
            i += 1;
        }
        n += 1;
    }
    tables
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

/// Whether an Ethernet frame ends with its frame check sequence: the last four bytes after the packet are the CRC of all bytes
/// before them. By chance, one in 2^32 frames without one looks as if it had one.
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
#[path = "../tests/unit/icrc.rs"]
mod tests;
