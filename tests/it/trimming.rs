//! Packets that a switch cut to their headers instead of dropping them (packet trimming).

use std::net::Ipv4Addr;

use crate::support::frames::trimmed;
use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    craft::Packet,
    dissect::{Link, dissect},
    icrc::{self, State},
    opcode::Opcode,
    report::{Class, Location, Report},
    wire::{Aeth, Bth, Header, Ipv4, Psn, Qpn, Reth, Syndrome},
};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// One packet of a WRITE of `of` packets.
fn write(psn: u32, of: u32) -> Vec<u8> {
    let opcode = match psn {
        0 => Opcode::RC_WRITE_FIRST,
        psn if psn + 1 == of => Opcode::RC_WRITE_LAST,
        _ => Opcode::RC_WRITE_MIDDLE,
    };
    let bth = Bth::default().with_opcode(opcode).with_dest_qp(Qpn(0x11)).with_psn(Psn(psn));
    let packet = Packet::rocev2(A, B).push(bth.with_ack_req(psn + 1 == of));
    let packet = if psn == 0 { packet.push(Reth::default().with_dma_len(of * 1024)) } else { packet };
    packet.payload(vec![7; 1024]).build().to_vec()
}

fn acknowledge(psn: u32, syndrome: Syndrome) -> Vec<u8> {
    let bth = Bth::default().with_opcode(Opcode::RC_ACKNOWLEDGE).with_dest_qp(Qpn(0x12)).with_psn(Psn(psn));
    Packet::rocev2(B, A).push(bth).push(Aeth::default().with_syndrome(syndrome)).build().to_vec()
}

fn analyze(frames: &[Vec<u8>], options: Options) -> Report {
    let mut analysis = Analysis::new(options);
    for (frame, n) in frames.iter().zip(0..) {
        let (time, wire_len) = (Time(n * 10_000), frame.len() as u32);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
    }
    analysis.finish()
}

/// A WRITE of eight packets, of which one arrives trimmed; the receiver asks for it, and all from it on come again.
fn with_one_trimmed() -> Vec<Vec<u8>> {
    let all: Vec<Vec<u8>> = (0..8).map(|psn| write(psn, 8)).collect();
    let mut frames = all.clone();
    frames[3] = trimmed(&all[3], 128);
    frames.push(acknowledge(3, Syndrome::PSN_SEQUENCE_ERROR));
    frames.extend_from_slice(&all[3..]);
    frames.push(acknowledge(7, Syndrome::ACK));
    frames
}

#[test]
fn a_trimmed_packet_is_neither_corrupt_nor_malformed() {
    for options in [Options::default(), Options { reference: true, ..Options::default() }] {
        let report = analyze(&with_one_trimmed(), options);
        let flow = report.flows.iter().find(|flow| flow.dest_qp == 0x11).unwrap();
        let requests = &flow.requests;
        assert_eq!(requests.classes[&Class::Trimmed], 1);
        assert!(!requests.classes.contains_key(&Class::Corrupt), "{:?}", requests.classes);
        assert_eq!((requests.losses.trimmed, requests.losses.upstream), (Some([1, 1]), Some([0, 0])));
        assert_eq!(requests.losses.corrupt, Some([0, 0]));
        assert_eq!(requests.retransmits, 5);
        assert_eq!((flow.icrc.bad, flow.icrc.unchecked), (0, 1));
        assert_eq!(report.head.capture.malformed_packets, 0);
        let [episode] = &report.episodes[..] else { panic!("{:?}", report.episodes) };
        assert_eq!((episode.location, episode.lost_psn), (Location::Trimmed, 3));
        let ids: Vec<&str> = report.head.findings.iter().map(|finding| &*finding.id).collect();
        assert!(ids.contains(&"trimmed") && !ids.contains(&"corrupt"), "{ids:?}");
    }
}

/// A packet of a flow that nothing was seen of: its headers are right, so the flow exists.
#[test]
fn a_trimmed_packet_begins_a_flow() {
    let report = analyze(&[trimmed(&write(4, 8), 96)], Options::default());
    assert_eq!(report.flows.len(), 1);
    assert_eq!(report.flows[0].requests.classes[&Class::Trimmed], 1);
}

/// UDP's length alone proves nothing: where the last bytes are the ICRC, the packet is whole and the length is wrong. Where IP's
/// checksum is wrong too, the packet is corrupt.
#[test]
fn a_wrong_length_is_not_trimming() {
    let state = |frame: &[u8]| icrc::verify(&dissect(Link::ETHERNET, frame, frame.len() as u32));
    assert_eq!(state(&write(1, 8)), State::Good);
    assert_eq!(state(&trimmed(&write(1, 8), 128)), State::Trimmed);
    let mut corrupt = trimmed(&write(1, 8), 128);
    corrupt[14 + 8] ^= 1;
    assert_eq!(state(&corrupt), State::Bad);

    let mut longer = write(1, 8);
    let udp = 14 + Ipv4::LEN;
    let said = u16::from_be_bytes([longer[udp + 4], longer[udp + 5]]);
    longer[udp + 4..udp + 6].copy_from_slice(&(said + 8).to_be_bytes());
    let right = icrc::compute(&dissect(Link::ETHERNET, &longer, longer.len() as u32)).unwrap();
    let at = longer.len() - 4;
    longer[at..].copy_from_slice(&right);
    assert_eq!(state(&longer), State::Good);
}
