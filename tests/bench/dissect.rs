//! What dissecting a packet costs, beside etherparse's reading of the outer headers in the same run.
//!
//! `cargo bench --bench dissect [-- MIB]`, MIB the size of the file-like buffer, 128 if absent. The frames are RoCEv2 of every
//! operation code, seeded. "In cache" goes over about a thousand of them again and
//! again, "file" over a buffer of records with a header of 16 bytes each, as in a pcap file, where the next record's place is
//! known only from the last one's length. Each figure is the least of [`RUNS`] interleaved passes: what else the machine does
//! only adds to them.

use std::{
    hint::black_box,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Instant,
};

use etherparse::SlicedPacket;
use rdmawire::{
    craft::Packet,
    dissect::{Dissection, Link, dissect},
    icrc,
    opcode::{Opcode, PayloadRule},
    wire::*,
};

const RUNS: usize = 15;
const RECORD: usize = 16;

/// What is done with each frame.
type Pass = fn(&[u8]);

fn main() {
    let mib: usize = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(128);
    println!(
        "a Dissection has {} bytes; ns a packet, least of {RUNS}; ratio to etherparse",
        size_of::<Dissection<'_>>()
    );
    bench("RoCEv2 over IPv4", &mix(1000, false), mib);
    bench("over IPv4 and IPv6, tagged or not", &mix(1000, true), mib);
}

fn bench(what: &str, frames: &[Vec<u8>], mib: usize) {
    let bytes: usize = frames.iter().map(Vec::len).sum();
    let file = file(frames, mib << 20);
    let records = Records(&file).count();
    println!(
        "\n{what}: {} frames of {bytes} bytes; file: {records} records, {} MB",
        frames.len(),
        file.len() / 1_000_000
    );

    let passes: [(&str, Pass); 7] = [
        ("walk only", |frame| _ = black_box(frame.first())),
        ("etherparse SlicedPacket", |frame| _ = black_box(&SlicedPacket::from_ethernet(frame))),
        ("dissect", |frame| _ = black_box(&dissect(Link::ETHERNET, frame, frame.len() as u32))),
        ("dissect, fields", |frame| {
            _ = black_box(fields(&dissect(Link::ETHERNET, frame, frame.len() as u32)))
        }),
        ("dissect, layers", |frame| {
            _ = black_box(&dissect(Link::ETHERNET, frame, frame.len() as u32).layers());
        }),
        ("CRC-32 of the bytes alone", |frame| _ = black_box(crc32fast::hash(frame))),
        ("dissect, ICRC", |frame| {
            let state = icrc::verify(&dissect(Link::ETHERNET, frame, frame.len() as u32));
            assert_eq!(black_box(state), icrc::State::Good);
        }),
    ];
    let mut best = [[f64::INFINITY; 2]; 7];
    for _ in 0..RUNS {
        for ((_, pass), best) in passes.iter().zip(&mut best) {
            let rounds = 50;
            let start = Instant::now();
            for _ in 0..rounds {
                frames.iter().for_each(|frame| pass(frame));
            }
            best[0] = best[0].min(start.elapsed().as_nanos() as f64 / (rounds * frames.len()) as f64);
            let start = Instant::now();
            Records(&file).for_each(pass);
            best[1] = best[1].min(start.elapsed().as_nanos() as f64 / records as f64);
        }
    }
    println!("{:<28} {:>9} {:>6} {:>9} {:>6}", "", "in cache", "ratio", "file", "ratio");
    for ((name, _), [cache, file]) in passes.iter().zip(&best) {
        println!(
            "{name:<28} {cache:>9.1} {:>6.2} {file:>9.1} {:>6.2}",
            cache / best[1][0],
            file / best[1][1]
        );
    }
}

/// What an analyzer reads of every packet.
fn fields(d: &Dissection<'_>) -> (u64, u32) {
    let bth = d.get::<Bth>();
    let mut sum = bth.map_or(0, |bth| bth.psn().0 as u64 + bth.dest_qp().0 as u64 + bth.ack_req() as u64);
    sum += d.get::<Reth>().map_or(0, |reth| reth.va().0 + reth.dma_len() as u64);
    sum += d.get::<Aeth>().map_or(0, |aeth| aeth.syndrome().0 as u64 + aeth.msn() as u64);
    sum += match d.get::<Ipv4>() {
        Some(ip) => u32::from(ip.dst()) as u64 + ip.ecn().0 as u64,
        None => d.get::<Ipv6>().map_or(0, |ip| u128::from(ip.dst()) as u64),
    };
    (sum, d.payload_len())
}

/// `n` frames of any operation code, in an order that a branch predictor hardly learns by heart; over IPv4, or, `mixed`, one in
/// four over IPv6 and one in four tagged.
fn mix(n: usize, mixed: bool) -> Vec<Vec<u8>> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let v4 = |n: u64| IpAddr::from(Ipv4Addr::new(10, 77, 0, n as u8));
    let v6 = |n: u64| IpAddr::from(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, n as u16));
    let all: Vec<Opcode> = Opcode::of_transport(rdmawire::wire::Transport::Ib).collect();
    let mut frames = Vec::new();
    for _ in 0..n {
        let opcode = all[random(all.len() as u64) as usize];
        let mut packet = match random(4) {
            0 if mixed => Packet::rocev2(v6(1), v6(2)),
            _ => Packet::rocev2(v4(1), v4(2)),
        };
        let bth = Bth::default()
            .with_opcode(opcode)
            .with_p_key(PKey(0xffff))
            .with_dest_qp(Qpn(random(1 << 24) as u32));
        packet = packet.push(bth.with_psn(Psn(random(1 << 24) as u32)).with_ack_req(random(2) == 1));
        for &kind in opcode.chain() {
            let len = kind.info().expect("extended headers have fields").len;
            packet = packet.push_bytes(kind, (0..len).map(|_| random(256) as u8).collect::<Vec<_>>());
        }
        let payload = match opcode.payload_rule() {
            PayloadRule::Full => 1024,
            PayloadRule::Some => 1 + random(1024),
            PayloadRule::Any => random(1025),
            PayloadRule::None => 0,
            PayloadRule::Eight => 8,
        };
        let payload: Vec<u8> = (0..payload).map(|_| random(256) as u8).collect();
        let mut frame = packet.payload(payload).build().to_vec();
        if mixed && random(4) == 0 {
            let tag = Vlan::default()
                .with_vid(100)
                .with_ether_type(EtherType(u16::from_be_bytes([frame[12], frame[13]])));
            frame.splice(12..14, [0x81, 0]);
            frame.splice(14..14, tag.bytes().iter().copied());
        }
        frames.push(frame);
    }
    frames
}

/// The frames over and over as the records of a file, `len` bytes at least.
fn file(frames: &[Vec<u8>], len: usize) -> Vec<u8> {
    let mut file = Vec::with_capacity(len + 4096);
    for frame in frames.iter().cycle() {
        if file.len() >= len {
            break;
        }
        file.extend_from_slice(&[0; RECORD - 4]);
        file.extend_from_slice(&(frame.len() as u32).to_le_bytes());
        file.extend_from_slice(frame);
    }
    file
}

struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (header, rest) = self.0.split_at_checked(RECORD)?;
        let len = u32::from_le_bytes(*header.last_chunk()?) as usize;
        let (frame, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some(frame)
    }
}
