//! The analyzer over any sequence of packets: it counts each once, its memory is bounded by the number of flows, it ends.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::tunnel;
use rdmawire::{
    analyze::{Analysis, Batch, Looked, Options},
    capture::{Record, Time},
    craft::{Channel, Path},
    dissect::Link,
    opcode::{Opcode, PayloadRule},
    report,
    wire::*,
};

/// Bytes that a flow may take: two rings of 8192 transmissions, what waits in two sequences. A bound, not a size.
const PER_FLOW: usize = 1 << 20;
/// Bytes that metrics may take for so few packets.
const METRICS: usize = 1 << 20;
const PACKETS: usize = 2000;
/// How often an analysis goes on from its state: that takes as long as many packets.
#[cfg(feature = "state")]
const RESUMED: usize = 3;

/// A fuzzer's input: two bytes of options, then packets of eight.
///
/// ```text
/// options: | max_flows - 1 (5 bits), ICRCs verified, reorder_window_ns 0, interval | speed, ack timeout, begin at the end of time, or at its beginning,
///            long steps of time, around (3 bits): nothing; IPv6; IPv6 for some flows; no link header; VXLAN, ERSPAN or VLAN over
///            these |
/// packet:  | flow and direction | operation code | how | PSN's step (24, signed) or PSN | time's step (16, signed) |
/// how & 1: the PSN as it is; & 2: a step of time 2^16 times as long, or 2^44; & 4: a forged queue pair; & 8: payload;
/// & 16: CE; & 32: a wrong ICRC; & 64: cut; & 128: the frame before this one once more
/// ```
pub fn sequence(data: &[u8]) {
    let Some(([a, b], packets)) = data.split_first_chunk::<2>() else { return };
    let max_flows = 1 + (a & 31) as usize;
    let options = Options {
        max_flows,
        verify_icrc: a & 32 != 0,
        reorder_window_ns: if a & 64 != 0 { 0 } else { 50_000 },
        interval_ns: (a & 128 != 0).then_some(1),
        speed_bps: (b & 1 != 0).then_some(100_000_000_000),
        ack_timeout_ns: (b & 2 != 0).then_some(67_000_000),
        ..Options::default()
    };
    let mut analysis = Analysis::new(options.clone());
    let mut prepared = Analysis::new(options.clone());
    // It goes on from its own state now and then.
    #[cfg(feature = "state")]
    let (mut divided, mut resumed) = (Analysis::new(options.clone()), 0);
    // Without the fast form, runs, and other shortcuts.
    let mut reference = Analysis::new(Options { reference: true, ..options.clone() });
    let begin = if b & 4 != 0 {
        i64::MAX
    } else if b & 8 != 0 {
        i64::MIN
    } else {
        0
    };
    let (mut psns, mut time, mut sent, mut frame) = ([0u32; 16], begin, 0u64, Vec::new());
    for packet in packets.chunks_exact(8).take(PACKETS) {
        let &[flow, opcode, how, p0, p1, p2, t0, t1] = packet else { return };
        let step = i16::from_le_bytes([t0, t1]) as i64;
        let units = if b & 16 != 0 { 44 } else { 16 };
        time = time.saturating_add(if how & 2 != 0 { step.saturating_mul(1 << units) } else { step });
        if how & 128 == 0 || frame.is_empty() {
            let place = (flow & 15) as usize;
            let value = u32::from_le_bytes([p0, p1, p2, 0]);
            psns[place] = if how & 1 != 0 { value } else { psns[place].wrapping_add(value) } & 0xff_ffff;
            let n = (flow >> 1 & 7) as u32;
            let qp = if how & 4 != 0 { value } else { 0x10 + n };
            let path = match b >> 5 {
                1 | 5 => Path::rocev2(IPV6[0], IPV6[1]),
                2 | 4 if flow & 4 != 0 => Path::rocev2(IPV6[0], IPV6[1]),
                _ => Path::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)),
            };
            let path = if flow & 1 != 0 { path.reversed() } else { path };
            let channel = Channel::rc(path, Qpn(0x20 + n), Qpn(qp));
            let opcode = Opcode::ib(opcode);
            let len = match opcode.payload_rule() {
                PayloadRule::Full => 256,
                PayloadRule::Eight => 8,
                _ if how & 8 != 0 => p0 as usize,
                _ => 0,
            };
            let mut packet = channel.headers(opcode, Psn(psns[place])).payload(vec![flow; len]);
            packet.alter(|reth: Reth| reth.with_dma_len(value << (p2 & 7)));
            packet.alter(|aeth: Aeth| aeth.with_syndrome(Syndrome(p1)).with_msn(value));
            if how & 16 != 0 {
                packet.alter(|ip: Ipv4| ip.with_ecn(Ecn(3)));
            }
            if how & 32 != 0 {
                packet.corrupt(rdmawire::craft::ComputedField::Icrc);
            }
            frame.clear();
            packet.build_into(&mut frame);
            around(b >> 5, value, &mut frame);
        }
        let wire_len = frame.len() as u32;
        let cut = if how & 64 != 0 { frame.len().min(t0 as usize) } else { frame.len() };
        let record = Record {
            time: Time(time),
            link: if b >> 5 == 3 { Link::RAW } else { Link::ETHERNET },
            interface: (flow >> 6) as u16,
            wire_len,
            frame: &frame[..cut],
        };
        analysis.push(&record);
        push_prepared(&mut prepared, &options, &record);
        reference.push(&record);
        #[cfg(feature = "state")]
        {
            divided.push(&record);
            if (how ^ p1 ^ t0) & 63 == 0 && resumed < RESUMED {
                resumed += 1;
                divided = from_state(divided, &options);
            }
        }
        sent += 1;
        let memory = analysis.memory();
        assert!(memory <= PER_FLOW * (max_flows + 1) + METRICS, "{memory} bytes");
    }
    // Some are held back until it is known whether ICRCs can be believed, and some have no class yet.
    let (report, so_far) = (analysis.so_far(), analysis.packets());
    assert!(so_far <= sent && so_far + 256 >= sent);
    conserves(&report, so_far, false);
    // Asking ends the wait for frames that come late.
    for other in [&mut reference, &mut prepared] {
        other.so_far();
    }
    #[cfg(feature = "state")]
    divided.so_far();
    let report = analysis.finish();
    conserves(&report, sent, true);
    let text = serde_json::to_string(&report).expect("a report is JSON");
    for other in [reference, prepared] {
        assert_eq!(text, serde_json::to_string(&other.finish()).expect("a report is JSON"));
    }
    #[cfg(feature = "state")]
    assert_eq!(text, serde_json::to_string(&divided.finish()).expect("a report is JSON"));
    #[cfg(feature = "cli")]
    shown(&report, *a as usize);
}

const IPV6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)];

/// Wraps a frame otherwise. What `value` says of it may lie.
fn around(how: u8, value: u32, frame: &mut Vec<u8>) {
    let len = frame.len() as u16;
    let (protocol, header) = match how {
        3 => return drop(frame.drain(..14)),
        4 => (IpProtocol::UDP, tunnel::vxlan(value & 1, len)),
        5 | 6 => (IpProtocol::GRE, tunnel::erspan2(value as u16 & 1, value)),
        7 => return drop(frame.splice(12..12, [0x81, 0, 0x60, value as u8 & 3])),
        _ => return,
    };
    // Now and then the outer packet is said to be shorter or longer than it is.
    let lie = if value % 16 == 15 { (value >> 4) as u16 % 64 } else { 0 };
    let carried = if lie == 0 { len } else { (len + 20).saturating_sub(lie) };
    *frame = tunnel::frame(protocol, &header, frame, carried);
}

/// Shows a frame as one thread does that another prepared it for.
pub(crate) fn push_prepared(analysis: &mut Analysis, options: &Options, record: &Record<'_>) {
    let (looked, glimpse) = options.look_closely(record);
    match looked {
        Looked::Fast(packet) => {
            let glimpses: Vec<_> = glimpse.map(|glimpse| (0, glimpse)).into_iter().collect();
            analysis.push_prepared(Batch::Fast(&[packet], &glimpses));
        }
        Looked::Encap(packet) => analysis.push_prepared(Batch::Encap(&packet, glimpse.as_ref())),
        Looked::Other(icrc) => analysis.push_prepared(Batch::Frame(record, icrc)),
    }
}

/// The analysis, from its state.
#[cfg(feature = "state")]
fn from_state(analysis: Analysis, options: &Options) -> Analysis {
    let mut state = Vec::new();
    analysis.save(&mut state).expect("memory does not fail");
    Analysis::resume(options.clone(), &state[..]).expect("it is a state")
}

/// The report as text: bounded, and nothing in it steers a terminal.
#[cfg(feature = "cli")]
fn shown(report: &report::Report, width: usize) {
    use report::{
        Renderer,
        text::{Options, Text},
    };

    let mut text = Vec::new();
    let options = Options { width, top: 3, ..Options::default() };
    for flow in [None, Some(width % 4)] {
        Text { options, flow }.render(&report.view(), &mut text).expect("memory does not fail");
    }
    let text = String::from_utf8(text).expect("text");
    assert!(text.len() < 1 << 20, "{} bytes", text.len());
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
}

/// Every packet is counted once.
pub fn conserves(report: &report::Report, packets: u64, is_over: bool) {
    assert_eq!(report.head.capture.packets, packets);
    assert!(report.head.capture.rdma_packets <= packets);
    let mut in_flows = 0;
    for flow in &report.flows {
        in_flows += flow.packets;
        for stream in [&flow.requests, &flow.responses] {
            let classified = stream.classes.values().sum::<u64>();
            let right = if is_over { classified == stream.packets } else { classified <= stream.packets };
            assert!(right, "{:?} of {} packets", stream.classes, stream.packets);
            assert!(stream.retransmits + stream.capture_duplicates <= stream.packets);
        }
        assert!(flow.requests.packets + flow.responses.packets <= flow.packets);
        assert!(flow.first_ns <= flow.last_ns);
        assert_eq!(flow.opcodes.values().sum::<u64>(), flow.packets, "{:?}", flow.opcodes);
    }
    assert!(
        in_flows <= report.head.capture.rdma_packets,
        "{in_flows} of {}",
        report.head.capture.rdma_packets
    );
    serde_json::to_string(report).expect("a report is JSON");
}
