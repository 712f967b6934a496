//! What the crate gives without its feature `std`: headers, operation codes, dissection, the ICRC.
#![no_std]

use core::fmt::{self, Write};

use rdmawire::{
    checksum,
    dissect::{Dissection, Link, ROCE_PORT, Severity, dissect},
    icrc::{self, State},
    opcode::Opcode,
    wire::{Aeth, Bth, IpProtocol, Ipv4, Qpn, Syndrome, Udp},
};

/// A counter per class of frame, as a firmware would keep them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub acknowledgements: u32,
    pub negative: u32,
    pub corrupt: u32,
    pub malformed: u32,
}

impl Counters {
    pub fn count(&mut self, link: Link, frame: &[u8]) {
        let d = dissect(link, frame, frame.len() as u32);
        self.corrupt += (icrc::verify(&d) == State::Bad) as u32;
        self.malformed += (d.severity() == Some(Severity::Error)) as u32;
        if let Some(aeth) = d.get::<Aeth>() {
            self.acknowledgements += aeth.syndrome().is_ack() as u32;
            self.negative += aeth.syndrome().is_nak() as u32;
        }
    }
}

/// The acknowledgement of a request that came over IPv4: from its network header to its ICRC.
pub fn acknowledge(request: &Dissection<'_>, dest_qp: Qpn) -> Option<[u8; 48]> {
    let (source, bth) = (request.get::<Ipv4>()?, request.get::<Bth>()?);
    let ip = Ipv4::default().with_version(4).with_ihl(5).with_total_len(48).with_ttl(64);
    let ip = ip.with_protocol(IpProtocol::UDP).with_src(source.dst()).with_dst(source.src());
    let ip = ip.with_checksum(checksum::internet(ip.bytes()).into());
    let udp = Udp::default().with_src_port(0xc000).with_dst_port(ROCE_PORT).with_length(28);
    let ack = Bth::default().with_opcode(Opcode::RC_ACKNOWLEDGE).with_p_key(bth.p_key());
    let ack = ack.with_dest_qp(dest_qp).with_psn(bth.psn());
    let aeth = Aeth::default().with_syndrome(Syndrome::ACK).with_msn(1);
    let (mut packet, mut at) = ([0; 48], 0);
    for header in [ip.bytes(), udp.bytes(), ack.bytes(), aeth.bytes()] {
        packet.get_mut(at..at + header.len())?.copy_from_slice(header);
        at += header.len();
    }
    let crc = icrc::of_rocev2_ipv4(packet.get(..at)?)?;
    packet.get_mut(at..)?.copy_from_slice(&crc);
    Some(packet)
}

/// The headers and what is wrong with them, written to a serial line.
pub fn print(d: &Dissection<'_>, to: &mut impl Write) -> fmt::Result {
    if let Some(bth) = d.get::<Bth>() {
        writeln!(to, "{}: {bth}", bth.opcode())?;
    }
    for layer in d.layers().iter() {
        writeln!(to, "{} at {}", layer.kind.label(), layer.at)?;
    }
    d.notes().iter().try_for_each(|note| writeln!(to, "{}: {note}", note.id()))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;

    use super::*;

    #[test]
    fn an_acknowledgement_is_built_counted_and_printed() {
        let request: [u8; 44] = [
            0x45, 0, 0, 44, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc0, 0, 0x12, 0xb7, 0,
            24, 0, 0, 0x04, 0x40, 0xff, 0xff, 0, 0, 0, 0x12, 0x80, 0, 0, 7, 1, 2, 3, 4,
        ];
        let mut counters = Counters::default();
        counters.count(Link::IPV4, &request);
        assert_eq!(counters, Counters { corrupt: 1, ..Counters::default() });
        let request = dissect(Link::IPV4, &request, 44);
        let mut ack = acknowledge(&request, Qpn(0x34)).unwrap();
        counters.count(Link::IPV4, &ack);
        assert_eq!(counters, Counters { corrupt: 1, acknowledgements: 1, ..Counters::default() });
        let mut text = String::new();
        print(&dissect(Link::IPV4, &ack, 48), &mut text).unwrap();
        assert!(text.starts_with("RC Acknowledge: BTH opcode=0x11 (RC Acknowledge)"), "{text}");
        assert!(
            text.contains("psn=7") && text.contains("\nAETH at 40\n") && text.ends_with("\nICRC at 44\n"),
            "{text}"
        );
        // An operation code that is not assigned.
        ack[28] = 0x1f;
        text.clear();
        print(&dissect(Link::IPV4, &ack, 48), &mut text).unwrap();
        assert!(text.starts_with("opcode 0x1f: BTH opcode=0x1f "), "{text}");
        assert!(text.ends_with("bth.opcode: operation code 0x1f is not assigned\n"), "{text}");
    }
}
