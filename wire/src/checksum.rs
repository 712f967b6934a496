//! The internet checksum (RFC 1071).

/// The checksum of these bytes, for a checksum field that was zero. Over bytes that contain a right checksum it is 0.
pub fn internet(bytes: &[u8]) -> u16 {
    internet_parts(&[bytes])
}

/// The checksum of several runs of bytes, one after the other.
pub fn internet_parts(parts: &[&[u8]]) -> u16 {
    let (mut sum, mut odd) = (0u64, false);
    for part in parts {
        let mut words = part.chunks_exact(2);
        let mut here = words.by_ref().map(|w| u16::from_be_bytes([w[0], w[1]]) as u64).sum::<u64>();
        here += words.remainder().first().map_or(0, |&b| (b as u64) << 8);
        // From an odd offset on, the bytes of every word change places (RFC 1071, 2).
        sum += if odd { fold(here).swap_bytes() as u64 } else { here };
        odd ^= part.len() % 2 == 1;
    }
    !fold(sum)
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
