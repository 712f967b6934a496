//! What a flow costs: many quiet connections, each with some WRITEs and their acknowledgements.

use std::net::Ipv4Addr;

use rdmawire::{
    analyze::{
        Analysis, Ended, Options,
        metric::timeline::{self, Timeline},
    },
    capture::{Record, Time},
    craft::Packet,
    dissect::Link,
    opcode::Opcode,
    report,
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
                    analysis.push(&Record { time, link, interface: 0, wire_len, frame: &frame });
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
    // Its times and sizes are among them.
    assert!(bytes_a_flow(true) < 1100);
}

/// READs with gaps between them, some of them without a response, of ever other round trips: all that makes flows hold much.
fn reads(options: Options, rounds: u32) -> (report::Report, usize) {
    const CONNECTIONS: u32 = 1000;
    let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut analysis = Analysis::new(options);
    let (mut time, mut most) = (0, 0);
    for round in 0..rounds {
        for n in 0..CONNECTIONS {
            let bth = |opcode, qp| {
                let bth = Bth::default().with_opcode(opcode).with_dest_qp(Qpn(qp + n));
                bth.with_psn(Psn(round * 3 % Psn::SPACE)).with_ack_req(true)
            };
            let read = Packet::rocev2(a, b).push(bth(Opcode::RC_READ_REQUEST, 0x1000));
            let read = read.push(Reth::default().with_dma_len(64)).build();
            let data = Packet::rocev2(b, a).push(bth(Opcode::RC_READ_RESPONSE_ONLY, 0x2000));
            let data = data.push(Aeth::default().with_syndrome(Syndrome::ACK)).payload(vec![0; 64]).build();
            let took = 500 + (n * 7919 + round * 104_729) as i64 % 30_000;
            let is_answered = !(n + round).is_multiple_of(5);
            for (frame, step) in [(read, 100)].into_iter().chain(is_answered.then_some((data, took))) {
                time += step;
                let wire_len = frame.len() as u32;
                let (time, link) = (Time(time), Link::ETHERNET);
                analysis.push(&Record { time, link, interface: 0, wire_len, frame: &frame });
            }
        }
        most = most.max(analysis.memory());
    }
    println!("{most} bytes");
    (analysis.finish(), most)
}

#[test]
fn beyond_the_budget_detail_is_given_up_and_counts_stay_right() {
    const ROUNDS: u32 = 100;
    let max_memory = 24 << 20;
    let (all, free) = reads(Options::default(), ROUNDS);
    let (less, bound) = reads(Options { max_memory, ..Options::default() }, ROUNDS);
    assert_eq!(all.head.capture.flows_without_detail, 0);
    assert!(free > max_memory, "{free}: the budget is no bound");
    assert!(bound <= max_memory, "{bound}");
    assert!(less.head.capture.flows_without_detail > 100, "{}", less.head.capture.flows_without_detail);
    assert!(less.head.capture.limitations.iter().any(|text| text.contains("--max-memory")));
    assert_eq!((less.head.capture.evicted_flows, less.flows.len()), (0, all.flows.len()));
    let mut marked = 0;
    for (less, all) in less.flows.iter().zip(&all.flows) {
        assert_eq!((less.dest_qp, less.packets, less.acks), (all.dest_qp, all.packets, all.acks));
        assert_eq!((less.goodput_bytes, less.wire_bytes), (all.goodput_bytes, all.wire_bytes));
        for (less, all) in [(&less.requests, &all.requests), (&less.responses, &all.responses)] {
            assert_eq!(
                (less.packets, less.retransmits, less.out_of_order),
                (all.packets, all.retransmits, all.out_of_order)
            );
            let (less, all) = (&less.losses, &all.losses);
            for (less, all) in [(less.upstream, all.upstream), (less.capture, all.capture)] {
                let (Some(less), Some(all)) = (less, all) else { continue };
                assert!(less[0] <= all[0] && less[1] >= all[1], "{less:?} {all:?}");
            }
        }
        marked += less.why.contains_key("detail") as u64;
    }
    assert_eq!(marked, less.head.capture.flows_without_detail);
}

#[test]
fn where_nothing_is_left_to_give_up_flows_are_evicted() {
    let max_memory = 3 << 20;
    let (report, bound) = reads(Options { max_memory, ..Options::default() }, 30);
    assert!(bound <= max_memory, "{bound}");
    assert!(report.head.capture.evicted_flows > 0);
}

/// Packets of ever new pairs of hosts: the most memory on the way, and the analysis at its end.
fn ever_new_pairs(pairs: u32, mut analysis: Analysis) -> (usize, Ended) {
    let mut most = 0;
    for n in 0..pairs {
        let bth = Bth::default().with_opcode(Opcode::RC_WRITE_MIDDLE).with_dest_qp(Qpn(n % Psn::SPACE));
        let frame = Packet::rocev2(Ipv4Addr::from_bits(n), Ipv4Addr::from_bits(!n)).push(bth).build();
        let (time, link, wire_len) = (Time(n as i64 * 100), Link::ETHERNET, frame.len() as u32);
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: &frame });
        if n % 10_000 == 0 {
            most = most.max(analysis.memory());
        }
    }
    println!("{most} bytes");
    (most, analysis.end())
}

#[test]
fn metrics_are_bounded_too_and_what_they_hold_is_taken_off_the_flows_share() {
    const PAIRS: u32 = 600_000;
    let max_memory = 40 << 20;
    let (most, ended) = ever_new_pairs(PAIRS, Analysis::new(Options { max_memory, ..Options::default() }));
    assert!(most <= max_memory, "{most}");
    let capture = &ended.report().head.capture;
    assert!(capture.evicted_flows > 0);
    assert_eq!(capture.packets, PAIRS as u64);
}

/// Flows of one packet each are all alike: half of them are left out nevertheless, and what pictures hold is taken off the flows' share.
#[test]
fn pictures_of_very_many_flows_are_within_the_budget() {
    const PAIRS: u32 = 200_000;
    let max_memory = 64 << 20;
    let budget = timeline::budget(max_memory);
    let timeline = Timeline::new(budget, Vec::new());
    let options = Options { max_memory, ..Options::default() };
    let (most, ended) = ever_new_pairs(PAIRS, Analysis::with(options, timeline));
    assert!(most <= max_memory, "{most}");
    let timeline = ended.metric::<Timeline>().unwrap();
    assert!(timeline.bytes() <= budget / 4 * 5, "{} of {budget}", timeline.bytes());
    let kept: u64 = timeline.lines().map(|line| line.stretches().count() as u64).sum();
    assert!(kept > 1000 && timeline.left_out() > 0, "{kept} {}", timeline.left_out());
    assert_eq!(kept + timeline.left_out(), PAIRS as u64);
}
