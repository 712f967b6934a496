//! UCX: which queue pairs of reliable connections its datagrams announce.

use crate::wire::Qpn;

/// Bytes of the header of UCX's datagrams (`uct_ud_neth_t`): what the packet is, its number, and the one that it acknowledges. Numbers are
/// little-endian.
const NETH: usize = 8;
/// Bytes that a message of the set-up has before its address: type, error handling, number of the connection, and both endpoints.
const WIREUP: usize = 20;

/// Whether a datagram of UCX is a message that sets up a connection (`UCP_AM_ID_WIREUP`).
pub fn sets_up(datagram: &[u8]) -> bool {
    // The number of the active message is in the last five bits of the first word.
    datagram.get(3).is_some_and(|last| last >> 3 == 1)
}

/// The queue pairs of reliable connections (`rc_verbs`) that such a datagram's sender has for its receiver, in order. An address of a transport without one of
/// the interface is a byte that says so and that endpoints follow; each of these is its length, flags, the queue pair, more of it in some versions, and
/// its lane, of which the last one has bit 7.
pub fn announced(datagram: &[u8]) -> impl Iterator<Item = Qpn> {
    let address = if sets_up(datagram) { datagram.get(NETH + WIREUP..) } else { None };
    let address = address.unwrap_or(&[]);
    // Request, reply or acknowledgement.
    let is_known = datagram.get(NETH).is_some_and(|kind| (1..=4).contains(kind));
    let places = (0..address.len()).filter(move |_| is_known);
    places.flat_map(move |at| endpoints(&address[at..]).into_iter().flatten())
}

/// The queue pairs of a transport's endpoints, if this is its address.
fn endpoints(bytes: &[u8]) -> Option<impl Iterator<Item = Qpn>> {
    /// Lanes of a connection of UCX.
    const LANES: usize = 16;
    const LAST: u8 = 0x80;
    let (&head, mut rest) = bytes.split_first()?;
    if head & !LAST != 0x40 {
        return None;
    }
    let (mut found, mut count) = ([Qpn(0); LANES], 0);
    loop {
        let (&len, after) = rest.split_first()?;
        // With a key of atomics, an address to flush, or both.
        let is_len = matches!(len & !LAST, 4 | 5 | 16 | 17);
        let (endpoint, after) = after.split_at_checked((len & !LAST).into()).filter(|_| is_len)?;
        let (&lane, after) = after.split_first()?;
        let qp = u32::from_le_bytes([endpoint[1], endpoint[2], endpoint[3], 0]);
        if endpoint[0] > 3 || qp <= 1 || lane & 0x7f >= LANES as u8 || count == LANES {
            return None;
        }
        found[count] = Qpn(qp);
        count += 1;
        if lane & LAST != 0 {
            return Some(found.into_iter().take(count));
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What UCX 1.13 sent: a request of ucx_perftest, whose queue pair for reliable connections is 0x14, and of datagrams 0x13.
    const REQUEST: &str = "0000000b03000100010000000070efd7aa7f000000000000000000002009362030a75fd6a220925afd77000000000000000000000000000103278ab00fa13321285b4da97bae3600df2200004004001400008000\
8031d15c7ce13321285b4d5c7daf360003270001831300000000";

    fn bytes() -> [u8; 108] {
        core::array::from_fn(|n| u8::from_str_radix(&REQUEST[2 * n..2 * n + 2], 16).unwrap())
    }

    #[test]
    fn a_request_announces_its_queue_pair() {
        let bytes = bytes();
        assert!(announced(&bytes).eq([Qpn(0x14)]));
        // An acknowledgement of datagrams, and an active message of another kind.
        for first in [0x02, 0x13] {
            let mut other = bytes;
            other[3] = first;
            assert_eq!(announced(&other).count(), 0);
        }
        // Cut anywhere before the lane, it announces nothing.
        let end = bytes.windows(7).position(|part| part == [0x40, 4, 0, 0x14, 0, 0, 0x80]).unwrap() + 7;
        for len in 0..bytes.len() {
            assert_eq!(announced(&bytes[..len]).count(), usize::from(len >= end), "{len}");
        }
    }

    #[test]
    fn several_lanes_have_one_each() {
        let mut bytes = [0; NETH + WIREUP + 13];
        (bytes[3], bytes[NETH]) = (0x0b, 1);
        bytes[NETH + WIREUP..].copy_from_slice(&[0xc0, 4, 0, 0x34, 0x12, 0, 0, 4, 1, 0x35, 0x12, 0, 0x81]);
        assert!(announced(&bytes).eq([Qpn(0x1234), Qpn(0x1235)]));
    }
}
