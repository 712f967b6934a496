//! The internet checksum (RFC 1071).

/// The checksum of these bytes: what belongs into a checksum field that was zero. Over bytes that hold their
/// right checksum it is 0.
pub fn internet(bytes: &[u8]) -> u16 {
    internet_parts(&[bytes])
}

/// The checksum of several runs of bytes, each of even length except the last.
pub fn internet_parts(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u64;
    for part in parts {
        let mut words = part.chunks_exact(2);
        sum += words.by_ref().map(|w| u16::from_be_bytes([w[0], w[1]]) as u64).sum::<u64>();
        sum += words.remainder().first().map_or(0, |&b| (b as u64) << 8);
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        assert_eq!(internet(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }
}
