//! What a flow costs: many quiet connections, each with some WRITEs and their acknowledgements.

use std::net::Ipv4Addr;

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    craft::Packet,
    dissect::Link,
    opcode::Opcode,
    wire::{Aeth, Bth, Psn, Qpn, Reth, Syndrome},
};

/// Bytes of memory a flow, of connections where one side writes, or both.
fn bytes_a_flow(both: bool) -> usize {
    const CONNECTIONS: u32 = 1 << 13;
    let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut analysis = Analysis::new(Options::default());
    let mut time = 0;
    for n in 0..CONNECTIONS {
        let psn = Psn(n.wrapping_mul(0x9e37_79b9) >> 8);
        let (there, back) = ((a, b, 0x1000 + n), (b, a, 0x2000 + n));
        let sides = [(there, back), (back, there)];
        for k in 0..3 {
            for (to, from) in &sides[..1 + both as usize] {
                let bth = |opcode, qp| {
                    let bth = Bth::default().with_opcode(opcode).with_dest_qp(Qpn(qp));
                    bth.with_psn(psn.plus(k)).with_ack_req(true)
                };
                let write = Packet::rocev2(to.0, to.1).push(bth(Opcode::RC_WRITE_ONLY, to.2));
                let write = write.push(Reth::default().with_dma_len(64)).payload(vec![0; 64]).build();
                let ack = Packet::rocev2(from.0, from.1).push(bth(Opcode::RC_ACKNOWLEDGE, from.2));
                let ack = ack.push(Aeth::default().with_syndrome(Syndrome::ACK).with_msn(k + 1)).build();
                for frame in [write, ack] {
                    time += 1000;
                    let wire_len = frame.len() as u32;
                    let (time, link) = (Time(time), Link::ETHERNET);
                    analysis.see(&Record { time, link, interface: 0, wire_len, frame: &frame });
                }
            }
        }
    }
    let flows = 2 * CONNECTIONS as usize;
    let bytes = analysis.memory() / flows;
    println!("{bytes} bytes a flow");
    let report = analysis.finish();
    assert_eq!(report.flows.len(), flows);
    let packets = if both { 6 } else { 3 };
    assert!(report.flows.iter().all(|flow| flow.packets == packets && flow.connection.is_some()));
    bytes
}

#[test]
fn a_quiet_flow_takes_less_than_900_bytes() {
    assert!(bytes_a_flow(false) < 900);
}

#[test]
fn one_that_also_responds_takes_a_kilobyte() {
    assert!(bytes_a_flow(true) <= 1024);
}
