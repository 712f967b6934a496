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

/// The queue pairs of reliable connections (`rc_verbs`, `rc_mlx5`) that such a datagram's sender has for its receiver, in order. An address of a transport without one of
/// the interface is a byte that says so and that endpoints follow; each of these is its length, flags, the queue pair, more of it in some versions, and
/// its lane, of which the last one has bit 7. The interface of `rc_mlx5` has an address of one byte (whether it matches tags), and its endpoints begin with the queue
/// pair, that for tags, and the key of atomics (`uct_rc_mlx5_ep_address_t`). Queue pairs are little-endian.
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
    let (&head, behind) = bytes.split_first()?;
    let (is_mlx5, mut rest) = match (head & !LAST, behind) {
        (0x40, _) => (false, behind),
        (0x41, [0 | 1, rest @ ..]) => (true, rest),
        _ => return None,
    };
    let (mut found, mut count) = ([Qpn(0); LANES], 0);
    loop {
        let (&len, after) = rest.split_first()?;
        let (endpoint, after) = after.split_at_checked((len & !LAST).into())?;
        let (&lane, after) = after.split_first()?;
        let qp = match (is_mlx5, endpoint) {
            (true, &[a, b, c, _, _, _, _] | &[a, b, c, _, _, _, _, 0]) => [a, b, c, 0],
            // With a key to flush, which its flags announce.
            (true, &[a, b, c, _, _, _, _, 1, _, ..]) if endpoint.len() <= 12 => [a, b, c, 0],
            // With a key of atomics, an address to flush, or both.
            (false, &[0..=3, a, b, c, ..]) if matches!(endpoint.len(), 4 | 5 | 16 | 17) => [a, b, c, 0],
            _ => return None,
        };
        let qp = u32::from_le_bytes(qp);
        if qp <= 1 || lane & 0x7f >= LANES as u8 || count == LANES {
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

    /// What UCX's sources say of `rc_mlx5`: an address of the interface, and endpoints that begin with their queue pair.
    #[test]
    fn endpoints_of_mlx5_are_announced() {
        let of = |address: &[u8]| {
            let mut bytes = [0; NETH + WIREUP + 32];
            (bytes[3], bytes[NETH]) = (0x0b, 1);
            bytes[NETH + WIREUP..][..address.len()].copy_from_slice(address);
            announced(&bytes).fold((0, Qpn(0)), |(n, _), qp| (n + 1, qp))
        };
        let one = [0xc1, 0, 7, 0x34, 0x12, 0xab, 0, 0, 0, 2, 0x80];
        assert_eq!(of(&one), (1, Qpn(0xab_1234)));
        let with_flags = [0xc1, 1, 8, 0x34, 0x12, 0, 9, 0, 0, 2, 0, 0x80];
        assert_eq!(of(&with_flags), (1, Qpn(0x1234)));
        let with_key = [0xc1, 0, 10, 0x34, 0x12, 0, 0, 0, 0, 2, 1, 7, 8, 0x80];
        assert_eq!(of(&with_key), (1, Qpn(0x1234)));
        // Another interface, another length, flags that say no key.
        for (at, byte) in [(1, 2), (2, 6), (0, 0xc2)] {
            let mut other = one;
            other[at] = byte;
            assert_eq!(of(&other).0, 0, "{at}");
        }
        let mut other = with_key;
        other[10] = 0;
        assert_eq!(of(&other).0, 0);
    }
}
