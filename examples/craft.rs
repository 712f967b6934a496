//! Build packets and show them as hexadecimal: `cargo run --example craft`.

use std::net::Ipv4Addr;

use rdmawire::{
    craft::{Channel, ComputedField, Data, Packet, Path, Request, recipe},
    dissect::dissect,
    icrc,
    wire::{Bth, Ipv4, Psn, Qpn},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One line of text.
    let packet = recipe::parse(
        "eth / ipv4 dst=10.0.0.2 / udp / bth opcode=rc-send-only dest_qp=0x11 psn=7 / payload 'hello'",
    )?;
    let frame = packet.build();
    println!("{}", hex(&frame));

    // Captured, edited, rebuilt: lengths, checksum and ICRC follow.
    let edited = Packet::from(&dissect(packet.link(), &frame, frame.len() as u32))
        .edit(|bth: Bth| bth.with_psn(bth.psn().plus(1)))
        .payload(&b"hello again"[..])
        .build();
    println!("{}", hex(&edited));
    println!("ICRC {}", icrc::verify(&dissect(packet.link(), &edited, edited.len() as u32)).name());

    // A lie on purpose: the checksum and the ICRC are those of the lie.
    println!("{}", hex(&packet.edit(|ip: Ipv4| ip.with_total_len(20)).keep(ComputedField::IpLength).build()));

    // An RDMA WRITE of 3000 bytes as the packets it takes, and the ACK.
    let there = Channel::rc(
        Path::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)),
        Qpn(0x12),
        Qpn(0x11),
    );
    let write = there.request(Psn(8), Request::Write { len: 3000, va: 0x1000, r_key: 0x77, imm: None })?;
    for packet in write.data(Data::pattern(1)).iter().chain([there.reversed().ack(Psn(10), 1)]) {
        println!("{:?}", packet.get::<Bth>());
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
