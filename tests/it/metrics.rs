//! Source ports, and traffic over time.

use crate::support::frames::{Roce, shown};
use proptest::prelude::*;
use rdmawire::{
    analyze::{
        Analysis, Class, Options,
        metric::{
            KnownFlow,
            entropy::Entropy,
            rate::{MAX_BINS, Rate},
        },
    },
    capture::{Record, Time},
    dissect::{Encapsulation, Link},
    opcode::Opcode,
    report::{Interval, Ports, Reason},
    wire::{Ecn, Qpn, Udp},
};

/// Packets of flows: (flow, source, destination, queue pair, port).
fn ports(packets: &[(u32, u8, u8, u32, u16)], peer: impl Fn(u32) -> Option<u32>) -> Option<Ports> {
    let mut metric = Entropy::default();
    for &(flow, src, dst, qp, port) in packets {
        let roce = Roce { src, dst, qp, port, payload: 256, ..Roce::default() };
        shown(0, roce.link(), &roce.frame(), Some(flow)).to(&mut metric);
    }
    metric.section(|id| Some(KnownFlow { index: id.0 as usize, peer_qp: peer(id.0), peer: None }))
}

#[test]
fn entropy_is_of_bytes() {
    let none = |_| None;
    let one = ports(&[(0, 1, 2, 7, 0xc000); 4], none).unwrap();
    assert_eq!((one.flows, one.ports, one.entropy_bits, one.effective_flows), (1, 1, 0.0, 1.0));
    let four: Vec<_> = (0..4).map(|n| (n, 1, 2, n, 0xc000 + n as u16)).collect();
    let four = ports(&four, none).unwrap();
    assert_eq!((four.ports, four.entropy_bits, four.effective_flows, four.collisions), (4, 2.0, 4.0, 0));
    // One flow of three quarters, one of one: H(1/4).
    let mut uneven = vec![(0, 1, 2, 7, 0xc000); 3];
    uneven.push((1, 1, 2, 8, 0xc001));
    assert!((ports(&uneven, none).unwrap().entropy_bits - 0.811_278).abs() < 1e-6);
    assert!(ports(&[], none).is_none());
}

#[test]
fn queue_pairs_with_the_same_port_collide() {
    let packets = [
        (0, 1, 2, 7, 0xc000),
        (1, 1, 2, 8, 0xc000),
        (2, 1, 2, 9, 0xc001),
        // Other hosts, and the other way: no collision.
        (3, 1, 3, 7, 0xc000),
        (4, 2, 1, 7, 0xc000),
        // Another epoch of a queue pair is no other queue pair.
        (5, 1, 2, 9, 0xc001),
    ];
    let report = ports(&packets, |_| None).unwrap();
    assert_eq!((report.collisions, report.collision_groups.len()), (1, 1));
    let group = &report.collision_groups[0];
    assert_eq!((group.src.as_str(), group.dst.as_str()), ("10.0.0.1", "10.0.0.2"));
    assert_eq!((group.udp_src_port, &group.flows[..]), (0xc000, &[0, 1][..]));
}

#[test]
fn a_flow_that_was_put_away_is_not_the_next_one() {
    // More flows in turns than are kept, each with a port of its own.
    let mut analysis = Analysis::new(Options { max_flows: 4, ..Options::default() });
    for n in 0..200u16 {
        let roce = Roce { qp: 0x10 + n as u32 % 20, port: 0xc000 + n % 20, payload: 256, ..Roce::default() };
        let frame = roce.frame();
        let wire_len = frame.len() as u32;
        let time = Time(n as i64 * 1000);
        analysis.push(&Record { time, link: roce.link(), interface: 0, wire_len, frame: &frame });
    }
    let report = analysis.finish();
    // The first few have wrong checksums and are believed to be corrupt, until all are seen to.
    assert!(report.head.capture.evicted_flows > 150, "{}", report.head.capture.evicted_flows);
    let ports = report.head.ports.unwrap();
    assert_eq!((ports.ports, ports.several_ports, ports.sprayed), (20, 0, 0));
}

#[test]
fn a_flow_with_ports_in_turns_is_sprayed() {
    let moved: Vec<_> = (0..40).map(|n| (0, 1, 2, 7, if n < 20 { 1 } else { 2 })).collect();
    let report = ports(&moved, |_| None).unwrap();
    assert_eq!((report.several_ports, report.sprayed, report.ports), (1, 0, 2));
    let turns: Vec<_> = (0..40).map(|n| (0, 1, 2, 7, n % 4)).collect();
    let report = ports(&turns, |_| None).unwrap();
    assert_eq!((report.several_ports, report.sprayed), (1, 1));
    let flow = report.sprayed_flows[0];
    assert_eq!((flow.flow, flow.ports, flow.switches), (0, 4, 39));
    assert_eq!((report.entropy_bits, report.flow_entropy_bits), (2.0, 0.0));
    // More ports than are told apart lose no bytes.
    let many: Vec<_> = (0..2_000).map(|n| (0, 1, 2, 7, n)).collect();
    assert_eq!(ports(&many, |_| None).unwrap().ports, 128);
}

#[test]
fn a_cnp_has_a_port_of_its_own() {
    let mut metric = Entropy::default();
    let data = Roce { payload: 256, ..Roce::default() };
    let cnp = Roce { opcode: Opcode::CNP, port: 1, ..Roce::default() };
    for n in 0..40 {
        let roce = if n % 2 == 0 { cnp } else { data };
        shown(0, Link::ETHERNET, &roce.frame(), Some(0)).to(&mut metric);
    }
    let report = metric.section(|_| None).unwrap();
    assert_eq!((report.ports, report.several_ports), (1, 0));
}

#[test]
fn linuxs_formula() {
    // Of Linux Soft-RoCE's own traffic: queue pairs of both ends, and the port of both directions.
    for (qp, port) in [(0x14, 49_552), (0x17, 49_681), (0x2d, 51_177), (0x2e, 51_268), (0x46, 54_052)] {
        assert_eq!(Udp::linux_source_port(Qpn(qp), Qpn(qp)), port);
    }
    // By a computation apart from this one, where the product has more than 20 bits.
    assert_eq!(Udp::linux_source_port(Qpn(0x1234), Qpn(0x5678)), 49_178);
    assert_eq!(Udp::linux_source_port(Qpn(0x5678), Qpn(0x1234)), 49_178);
    assert_eq!(Udp::linux_source_port(Qpn(0xff_ffff), Qpn(0xff_ffff)), 65_313);
    let port = Udp::linux_source_port(Qpn(0x1234), Qpn(0x5678));
    let report = ports(&[(0, 1, 2, 0x1234, port), (1, 1, 2, 9, 0xc000)], |flow| {
        [Some(0x5678), Some(5)][flow as usize]
    });
    let linux = report.unwrap().linux_formula.unwrap();
    assert_eq!((linux.flows, linux.matching), (2, 1));
}

fn rate(width: u64, times: &[i64]) -> (u64, Vec<Interval>) {
    let mut metric = Rate::new(Some(width));
    let frame = Roce { payload: 1024, ..Roce::default() }.frame();
    for &time in times {
        let mut shown = shown(time, Link::ETHERNET, &frame, None);
        shown.class = Some(Class::New);
        shown.to(&mut metric);
    }
    metric.section().unwrap()
}

#[test]
fn bins_hold_what_was_in_their_time() {
    let (width, bins) = rate(1_000, &[5, 999, 1_000, 5_500, 5_501]);
    let rows: Vec<_> =
        bins.iter().map(|bin| (bin.start_ns, bin.packets, bin.wire_bytes, bin.goodput_bytes)).collect();
    assert_eq!(width, 1_000);
    assert_eq!(rows, [(0, 2, 2 * 1106, 2048), (1_000, 1, 1106, 1024), (5_000, 2, 2 * 1106, 2048)]);
    // Back in time: to its bin, or the nearest before it, or the first.
    let (_, bins) = rate(1_000, &[1_500, 9_000, 1_600, 5_000, 10]);
    let rows: Vec<_> = bins.iter().map(|bin| (bin.start_ns, bin.packets)).collect();
    assert_eq!(rows, [(1_000, 4), (9_000, 1)]);
    assert_eq!(Rate::new(None).section(), Err(Reason::NotRequested));
}

#[test]
fn every_kind_is_counted_in_its_bin() {
    let mut metric = Rate::new(Some(1_000_000));
    let plain = Roce { payload: 3, ..Roce::default() };
    let nak = Roce { opcode: Opcode::RC_ACKNOWLEDGE, syndrome: 0x60, payload: 0, ..plain };
    let all = [
        plain,
        Roce { ecn: Ecn::CE, ..plain },
        nak,
        Roce { syndrome: 0, ..nak },
        Roce { opcode: Opcode::CNP, payload: 0, ..plain },
        Roce { wrap: Encapsulation::Ib, ..plain },
    ];
    for roce in all {
        shown(7, roce.link(), &roce.frame(), None).to(&mut metric);
    }
    for class in [Class::Retransmission, Class::LateOriginal, Class::Ambiguous] {
        let frame = plain.frame();
        let mut shown = shown(7, plain.link(), &frame, None);
        shown.class = Some(class);
        shown.to(&mut metric);
    }
    let pause = [&[0u8; 12][..], &[0x88, 0x08, 0, 1, 0xff, 0xff], &[0; 42]].concat();
    shown(8, Link::ETHERNET, &pause, None).to(&mut metric);
    let frame = plain.frame();
    let mut again = shown(9, plain.link(), &frame, None);
    again.class = Some(Class::CaptureDuplicate);
    again.to(&mut metric);
    let bin = &metric.section().unwrap().1[0];
    assert_eq!(
        (bin.packets, bin.payload_bytes, bin.naks, bin.cnps, bin.ce_packets, bin.pause_frames),
        (10, 18, 1, 1, 1, 1)
    );
    assert_eq!((bin.retransmits, bin.out_of_order, bin.goodput_bytes), (1, 1, 3));
    // One is of native InfiniBand, which has no ECN.
    assert_eq!((bin.ect_packets, bin.ce_ratio), (8, Some(1.0 / 8.0)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Whatever the clock does, no packet is lost, and the bins stay few, in order, aligned.
    #[test]
    fn bins_are_bounded(times in prop::collection::vec(any::<i64>(), 0..200), steps in prop::collection::vec(1i64..5, 0..30_000)) {
        let mut all = times;
        let mut now = 0;
        all.extend(steps.iter().map(|step| { now += step; now }));
        let (width, bins) = rate(1, &all);
        prop_assert!(bins.len() <= MAX_BINS);
        prop_assert_eq!(bins.iter().map(|bin| bin.packets).sum::<u64>(), all.len() as u64);
        prop_assert!(bins.windows(2).all(|two| two[0].start_ns < two[1].start_ns));
        prop_assert!(bins.iter().all(|bin| bin.start_ns == i64::MIN || bin.start_ns % width as i64 == 0));
    }
}
