//! Packets built a second, with their ICRC: 64 bytes and 1 KiB of payload, beside scapy where Python has it.
//!
//! `cargo bench --bench craft`

use std::{hint::black_box, net::Ipv4Addr, process::Command, time::Instant};

use bytes::BytesMut;
use rdmawire::{
    craft::{Channel, Data, Packet, Path, Request},
    opcode::Opcode,
    wire::*,
};

/// What scapy does for the same packet: it has no RETH, so it is bytes there.
const SCAPY: &str = r#"
import sys, time, logging
logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import Ether, IP, UDP, Raw
from scapy.contrib.roce import BTH
size, n = int(sys.argv[1]), 3000
reth, load = bytes(16), bytes(size)
began = time.perf_counter()
for psn in range(n):
    frame = bytes(Ether() / IP(src="10.0.0.1", dst="10.0.0.2", flags="DF") / UDP(sport=0xc000, dport=4791, chksum=0) /
                  BTH(opcode=10, pkey=0xffff, dqpn=0x11, psn=psn) / Raw(reth + load))
print(n / (time.perf_counter() - began))
"#;

fn main() {
    println!("{:<34} {:>14} {:>12}", "RC WRITE Only over IPv4", "packets/s", "ns a packet");
    for size in [64, 1024] {
        let path = Path::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let payload = Data::pattern(1).at(0, size);
        let mut packet = path.packet().source_qp(Qpn(0x12)).push(
            Bth::default()
                .with_opcode(Opcode::RC_WRITE_ONLY)
                .with_p_key(PKey(0xffff))
                .with_dest_qp(Qpn(0x11)),
        );
        packet = packet.push(Reth::default().with_dma_len(size as u32)).payload(payload.clone());
        let mut room = BytesMut::with_capacity(2048);
        let ours = rate(&format!("{size} B, edited and built into"), || {
            packet.alter(|bth: Bth| bth.with_psn(bth.psn().plus(1)));
            room.clear();
            packet.build_into(&mut room);
            black_box(&room);
        });
        rate(&format!("{size} B, made anew and built"), || {
            let packet = Packet::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))
                .push(Bth::default().with_opcode(Opcode::RC_WRITE_ONLY).with_dest_qp(Qpn(0x11)))
                .push(Reth::default().with_dma_len(size as u32))
                .payload(payload.clone());
            black_box(packet.build());
        });
        match Command::new("python3").args(["-c", SCAPY, &size.to_string()]).output() {
            Ok(run) if run.status.success() => {
                let text = String::from_utf8_lossy(&run.stdout);
                let theirs: f64 = text.trim().parse().unwrap_or(f64::NAN);
                println!("{:<34} {:>14.0} {:>12.0}", format!("{size} B, scapy"), theirs, 1e9 / theirs);
                println!("{:<34} {:>14.0}", "  times as fast", ours / theirs);
            }
            _ => println!("{:<34} python3 has no scapy with contrib.roce", format!("{size} B, scapy")),
        }
    }
    let channel = Channel::rc(Path::rocev2(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST), Qpn(1), Qpn(2));
    let write = Request::Write { len: 1 << 20, va: 0, r_key: 0, imm: None };
    let message = channel.request(Psn(0), write).expect("RC has WRITE").data(Data::pattern(1));
    let mut room = BytesMut::with_capacity(2048);
    let a_second = rate("1 MiB WRITE as 1024 packets, each", || {
        message.each(|_, packet| {
            room.clear();
            packet.build_into(&mut room);
            black_box(&room);
        });
    });
    println!("{:<34} {:>14.0} {:>12.1}", "  a packet of those", a_second * 1024.0, 1e9 / a_second / 1024.0);
}

/// The best of five runs of a fifth of a second.
fn rate(name: &str, mut work: impl FnMut()) -> f64 {
    let best = (0..5).map(|_| {
        let (began, mut n) = (Instant::now(), 0u64);
        while began.elapsed().as_millis() < 200 {
            (0..16).for_each(|_| work());
            n += 16;
        }
        n as f64 / began.elapsed().as_secs_f64()
    });
    let best = best.fold(0.0, f64::max);
    println!("{name:<34} {best:>14.0} {:>12.1}", 1e9 / best);
    best
}
