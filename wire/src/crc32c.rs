//! CRC-32C (Castagnoli): polynomial 0x1edc6f41, bits reflected, ones before and after.

use crate::wire::Kind;

/// Tables for eight bytes at a time.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut n = 0;
    while n < 256 {
        let (mut crc, mut bit) = (n as u32, 0);
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
            bit += 1;
        }
        tables[0][n] = crc;
        n += 1;
    }
    let mut n = 0;
    while n < 256 {
        let mut k = 1;
        while k < 8 {
            let before: u32 = tables[k - 1][n];
            tables[k][n] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            k += 1;
        }
        n += 1;
    }
    tables
}

/// A CRC-32C of bytes that come in parts.
#[derive(Clone, Copy, Debug)]
pub struct Crc32c(u32);

impl Default for Crc32c {
    fn default() -> Self {
        Crc32c(u32::MAX)
    }
}

impl Crc32c {
    /// More bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            let mixed = u64::from_le_bytes(*word) ^ u64::from(self.0);
            let bytes = mixed.to_le_bytes();
            self.0 =
                bytes.iter().rev().zip(&TABLES).fold(0, |crc, (&byte, table)| crc ^ table[byte as usize]);
        }
        for &byte in rest {
            self.0 = self.0 >> 8 ^ TABLES[0][usize::from(self.0 as u8 ^ byte)];
        }
    }

    /// The CRC of all of them.
    #[must_use]
    pub fn finish(self) -> u32 {
        !self.0
    }
}

/// The CRC32C of a packet of Ultra Ethernet, in wire order, from its IP header to the byte before the CRC: it covers the addresses and all
/// that follows. One source has it so; it writes the bytes of a little-endian host.
pub fn of_uet(ip: Kind, parts: &[&[u8]]) -> [u8; 4] {
    let mut skip = if ip == Kind::Ipv6 { 8 } else { 12 };
    let mut crc = Crc32c::default();
    for part in parts {
        crc.update(part.get(skip..).unwrap_or(&[]));
        skip = skip.saturating_sub(part.len());
    }
    crc.finish().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::Crc32c;

    fn of(bytes: &[u8]) -> u32 {
        let mut crc = Crc32c::default();
        crc.update(bytes);
        crc.finish()
    }

    /// RFC 3720, B.4, and the usual check value.
    #[test]
    fn values_that_are_known() {
        assert_eq!(of(b"123456789"), 0xe306_9283);
        assert_eq!(of(&[0; 32]), 0x8a91_36aa);
        assert_eq!(of(&[0xff; 32]), 0x62a8_ab43);
        let up: [u8; 32] = core::array::from_fn(|n| n as u8);
        assert_eq!(of(&up), 0x46dd_794e);
        assert_eq!(of(&[]), 0);
    }

    #[test]
    fn parts_may_be_of_any_length() {
        let bytes: [u8; 61] = core::array::from_fn(|n| (n * 37) as u8);
        for at in 0..bytes.len() {
            let mut crc = Crc32c::default();
            crc.update(&bytes[..at]);
            crc.update(&bytes[at..]);
            assert_eq!(crc.finish(), of(&bytes));
        }
    }
}
