//! The CRCs, against an implementation without tables that masks headers field by field.

use rdmawire::{
    dissect::{Dissection, dissect_with},
    icrc::{self, State},
    wire::*,
};

use super::dissect::Input;

/// A fuzzer's input: that of [`Input`].
pub fn agreement(data: &[u8]) {
    let Some(input) = Input::new(data) else { return };
    let d = input.dissect();
    assert_eq!(icrc::vcrc(input.frame), bitwise16(input.frame));
    assert_eq!(icrc::fcs(input.frame), bitwise32(input.frame));
    if let Some(vcrc) = icrc::compute_vcrc(&d) {
        let at = d.offset(Kind::Lrh).expect("only native InfiniBand has one");
        assert_eq!(vcrc, bitwise16(&input.frame[at..d.end() as usize]));
    }
    let Some(computed) = icrc::compute(&d) else { return };
    assert_eq!(Some(computed), slowly(&d), "{d:?}");
    let verified = icrc::verify(&d);
    assert_eq!(verified == State::Good, d.icrc() == Some(computed), "{verified:?}");
    // What MRC's ICRC covers exactly is not published: a wrong one is not judged.
    let is_judged = !d.has(Kind::MrcBth);
    assert!(is_judged || verified != State::Bad);
    assert!(!is_judged || verified != State::Unchecked);

    // With that ICRC in its place the frame is good, and any flip of a bit of the payload or the ICRC makes it bad.
    let at = d.offset(Kind::Icrc).expect("it was computed");
    let mut frame = input.frame.to_vec();
    frame[at..at + 4].copy_from_slice(&computed);
    let verify = |frame: &[u8]| icrc::verify(&dissect_with(input.options, input.link, frame, input.wire_len));
    assert_eq!(verify(&frame), State::Good);
    let from = d.offset(Kind::Payload).expect("there is always one");
    let flip = from + data[3] as usize % (at + 4 - from);
    frame[flip] ^= 1 << (data[2] & 7);
    match verify(&frame) {
        State::Bad => assert!(is_judged),
        State::Unchecked => assert!(!is_judged),
        State::Trimmed => {}
        State::Good => panic!("a flipped bit at {flip}"),
    }
}

/// The ICRC as the specification tells it: what routers may change, set to ones, header by header.
fn slowly(d: &Dissection<'_>) -> Option<[u8; 4]> {
    let layers = d.layers();
    let first = layers.iter().rposition(|layer| {
        matches!(layer.kind, Kind::Lrh) || matches!(layer.kind, Kind::Ipv4 | Kind::Ipv6 | Kind::Grh)
    })?;
    // A GRH after an LRH: both count.
    let global = layers[first].kind == Kind::Grh;
    let first = if global && first > 0 && layers[first - 1].kind == Kind::Lrh { first - 1 } else { first };
    let mut bytes = Vec::new();
    if layers[first].kind != Kind::Lrh {
        bytes.extend_from_slice(&[0xff; 8]);
    }
    for layer in layers.iter().skip(first) {
        let is_extension = layer.kind.is_extended();
        let from = &d.frame()[layer.at as usize..];
        match layer.kind {
            Kind::Lrh if global => bytes.extend_from_slice(&[0xff; Lrh::LEN]),
            Kind::Lrh => bytes.extend_from_slice(Lrh::view(from)?.0.with_vl(0xf).bytes()),
            Kind::Grh => {
                let grh = *Grh::view(from)?.0;
                bytes.extend_from_slice(
                    grh.with_t_class(Hex8(0xff)).with_flow_label(0xf_ffff).with_hop_lmt(0xff).bytes(),
                );
            }
            Kind::Ipv4 => {
                let ip = *Ipv4::view(from)?.0;
                let ip = ip.with_dscp(0x3f).with_ecn(Ecn(3)).with_ttl(0xff).with_checksum(Hex16(0xffff));
                bytes.extend_from_slice(ip.bytes());
            }
            Kind::Ipv6 => {
                let ip = *Ipv6::view(from)?.0;
                let ip = ip.with_dscp(0x3f).with_ecn(Ecn(3)).with_flow_label(0xf_ffff).with_hop_limit(0xff);
                bytes.extend_from_slice(ip.bytes());
            }
            Kind::Udp => bytes.extend_from_slice(Udp::view(from)?.0.with_checksum(Hex16(0xffff)).bytes()),
            // The bits that count as ones are at the same place in both.
            Kind::Bth | Kind::MrcBth => {
                let bth = Bth::view(from)?.0.with_fecn(true).with_becn(true).with_resv6(Hex8(0x3f));
                bytes.extend_from_slice(bth.bytes());
            }
            _ if is_extension || matches!(layer.kind, Kind::Payload | Kind::Pad) => {
                bytes.extend_from_slice(&from[..layer.len as usize]);
            }
            // Inside the payload, or behind the ICRC.
            _ => {}
        }
    }
    Some(bitwise32(&bytes))
}

/// CRC-32 of IEEE 802.3, a bit at a time.
fn bitwise32(bytes: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for byte in bytes {
        for n in 0..8 {
            let feedback = (crc ^ (byte >> n) as u32) & 1;
            crc >>= 1;
            if feedback == 1 {
                // 0x04c11db7 with its bits reversed.
                crc ^= 0xedb8_8320;
            }
        }
    }
    (!crc).to_le_bytes()
}

/// CRC-16 of the VCRC, x^16 + x^12 + x^3 + x + 1, a bit at a time and most significant first, over bytes whose bits come
/// least significant first.
fn bitwise16(bytes: &[u8]) -> [u8; 2] {
    let mut crc = u16::MAX;
    for byte in bytes {
        for n in 0..8 {
            let feedback = (crc >> 15) ^ (byte >> n & 1) as u16;
            crc <<= 1;
            if feedback == 1 {
                crc ^= 0x100b;
            }
        }
    }
    (!crc).reverse_bits().to_le_bytes()
}
