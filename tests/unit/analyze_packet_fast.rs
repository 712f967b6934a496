//! Tests of `src/analyze/packet/fast.rs`.

use super::*;
use crate::checksum::internet;

#[test]
fn headers_are_summed_like_any_bytes() {
    let mut bytes = [0xff; HEADERS];
    for n in 0..5000u32 {
        let right = internet(&bytes[..Ipv4::LEN]) == 0;
        let headers = words(&bytes);
        let packet =
            FastPacket { time: 0, headers, ext_word: 0, wire_len: 0, captured: 0, interface: 0, tags: 0 };
        assert_eq!(packet.is_right(), right, "{bytes:02x?}");
        // Made right where it was not, and so about every other time.
        let at = n as usize % Ipv4::LEN;
        bytes[at] = bytes[at].wrapping_mul(29).wrapping_add((n >> 3) as u8);
        if n % 2 == 0 {
            bytes[10..12].fill(0);
            let checksum = internet(&bytes[..Ipv4::LEN]);
            bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
    }
}

/// Facts have no run key of their own: it is made of them when a run begins.
#[test]
fn facts_have_the_run_key_of_their_packet() {
    let mut random = 1u64;
    for _ in 0..5000 {
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            random ^ random >> 29
        };
        // Version 4, no fragment, UDP; all else is anything.
        let headers = [
            VERSION_4_WHOLE | next() & !VERSION_AND_FRAGMENT,
            next() & !PROTOCOL | PROTOCOL_UDP,
            next(),
            next() & !CHECKSUM | next() & PCP,
            next(),
        ];
        let tags = [0, path_tag::HAS_VLAN as u16 | next() as u16 & 0xfff][next() as usize % 2];
        let packet =
            FastPacket { time: 0, headers, ext_word: 0, wire_len: 0, captured: 0, interface: 0, tags };
        assert_eq!(packet.facts().run_key(), Some(packet.run_key()), "{packet:x?}");
    }
}
