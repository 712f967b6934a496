//! Marks and congestion notifications.

use crate::support::frames::{Roce, shown};
use proptest::prelude::*;
use rdmawire::{
    analyze::metric::congestion::Congestion,
    dissect::Encapsulation,
    opcode::Opcode,
    report::{Congestion as Report, Pacing},
    wire::Ecn,
};

const MARKED: Roce = Roce {
    wrap: Encapsulation::RoceV2Ipv4,
    vlans: 0,
    src: 1,
    dst: 2,
    port: 0xc001,
    opcode: Opcode::RC_SEND_MIDDLE,
    qp: 0x11,
    psn: 0,
    ecn: Ecn::CE,
    payload: 256,
    syndrome: 0,
};

/// Of the receiver (2) to the sender (1).
const CNP: Roce = Roce { src: 2, dst: 1, opcode: Opcode::CNP, ecn: Ecn::ECT0, payload: 0, ..MARKED };
const NAK: Roce = Roce { opcode: Opcode::RC_ACKNOWLEDGE, syndrome: 0x60, ..CNP };

fn story(events: &[(i64, Roce)]) -> Report {
    let mut metric = Congestion::default();
    for (time, roce) in events {
        shown(*time, roce.link(), &roce.frame(), Some(0)).to(&mut metric);
    }
    metric.section()
}

#[test]
fn ratios_are_of_data_and_of_all() {
    for wrap in [Encapsulation::RoceV2Ipv4, Encapsulation::RoceV2Ipv6, Encapsulation::RoceV1] {
        let marked = Roce { wrap, ..MARKED };
        let plain = Roce { ecn: Ecn::ECT0, ..marked };
        let incapable = Roce { ecn: Ecn(0), ..marked };
        let ack = Roce { opcode: Opcode::RC_ACKNOWLEDGE, payload: 0, ..marked };
        let report = story(&[(0, marked), (1, plain), (2, plain), (3, plain), (4, incapable), (5, ack)]);
        assert_eq!((report.ect_packets, report.ce_packets, report.ce_control_packets), (5, 2, 1), "{wrap:?}");
        assert_eq!((report.ce_ratio, report.ce_ratio_all), (Some(0.25), Some(2.0 / 6.0)));
        assert_eq!((report.cnps, report.pacing), (0, None));
    }
    let nothing = story(&[]);
    assert_eq!((nothing.ce_ratio, nothing.ce_ratio_all), (None, None));
}

#[test]
fn native_infiniband_has_fecn_for_a_mark() {
    let plain = Roce { wrap: Encapsulation::Ib, ..MARKED };
    let mut frame = plain.frame();
    let mut metric = Congestion::default();
    shown(0, plain.link(), &frame, None).to(&mut metric);
    frame[8 + 4] |= 0x80;
    shown(1, plain.link(), &frame, None).to(&mut metric);
    let report = metric.section();
    assert_eq!((report.ect_packets, report.ce_packets, report.ce_ratio), (2, 1, Some(0.5)));
}

#[test]
fn notifications_without_a_mark_are_counted() {
    let other = Roce { dst: 9, ..CNP };
    assert_eq!(story(&[(0, CNP), (1, other)]).cnps_without_ce, Some(2));
    // Sender 1 has a marked packet, whenever; sender 9 has none.
    assert_eq!(story(&[(0, CNP), (1, other), (2, MARKED)]).cnps_without_ce, Some(1));
    // The mark of an ACK is not the mark of data.
    let ack = Roce { opcode: Opcode::RC_ACKNOWLEDGE, payload: 0, ..MARKED };
    assert_eq!(story(&[(0, CNP), (1, ack)]).cnps_without_ce, Some(1));
}

#[test]
fn notifications_near_a_nak() {
    let near = |events: &[(i64, Roce)]| story(events).cnps_near_nak;
    assert_eq!(near(&[(10_000, NAK), (15_000, CNP)]), 1);
    assert_eq!(near(&[(10_000, NAK), (15_001, CNP)]), 0);
    assert_eq!(near(&[(10_000, CNP), (15_000, NAK)]), 1);
    assert_eq!(near(&[(10_000, CNP), (15_001, NAK)]), 0);
    // Each once, both of two.
    assert_eq!(near(&[(10_000, CNP), (11_000, CNP), (12_000, NAK), (13_000, NAK)]), 2);
    // Of another pair, or a plain ACK, or a NAK of another kind.
    assert_eq!(near(&[(10_000, Roce { src: 7, ..NAK }), (11_000, CNP)]), 0);
    assert_eq!(near(&[(10_000, Roce { syndrome: 0, ..NAK }), (11_000, CNP)]), 0);
    assert_eq!(near(&[(10_000, Roce { syndrome: 0x62, ..NAK }), (11_000, CNP)]), 0);
}

/// `n` CNPs, each of the flow that `of` gives for its number, with gaps of at least `edge` within each scope that
/// `scope` names: what a NIC with such a limiter sends when every flow would have one at any time.
fn paced(n: usize, edge: i64, of: impl Fn(usize) -> Roce, scope: impl Fn(&Roce) -> u32) -> Vec<(i64, Roce)> {
    let mut next = std::collections::BTreeMap::new();
    let mut random = 12345u64;
    let mut events: Vec<(i64, Roce)> = (0..n)
        .map(|i| {
            let roce = of(i);
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let late = (random >> 33) as i64 % edge;
            let time = next.entry(scope(&roce)).or_insert(late);
            let at = *time;
            // Half of them wait for the limiter, half come later.
            *time += edge + if random >> 40 & 1 == 0 { (random >> 50) as i64 % 200 } else { late };
            (at, roce)
        })
        .collect();
    events.sort_by_key(|(time, _)| *time);
    events
}

#[test]
fn the_limiters_scope_is_found() {
    let of = |i: usize| Roce { dst: 1 + (i % 3) as u8, qp: 16 + (i / 3 % 4) as u32, ..CNP };
    for edge in [4_000, 50_000] {
        let qp = story(&paced(3_000, edge, of, |roce| roce.qp << 8 | roce.dst as u32));
        assert_eq!(qp.pacing, Some(Pacing::PerQp));
        let pair = story(&paced(3_000, edge, of, |roce| roce.dst as u32));
        assert_eq!(pair.pacing, Some(Pacing::PerIpPair));
        let port = story(&paced(3_000, edge, of, |_| 0));
        assert_eq!(port.pacing, Some(Pacing::PerPort));
        for report in [qp, pair, port] {
            let found = report.pacing_interval_ns.unwrap();
            assert!(found.abs_diff(edge as u64) <= edge as u64 / 50, "{found} for {edge}");
            assert_eq!(report.cnps, 3_000);
        }
    }
}

/// Where marks are rare, most CNPs are farther apart than their limit, and it shows all the same.
#[test]
fn a_limit_that_few_notifications_reach() {
    let mut time = 0;
    let events: Vec<(i64, Roce)> = (0..400i64)
        .map(|n| {
            // A fifth is near the limit, in a row, the rest spreads over three times of it.
            time += if n / 16 % 5 == 0 { 20_000 + n % 7 * 90 } else { 23_000 + n * 7_919 % 60_000 };
            (time, CNP)
        })
        .collect();
    let report = story(&events);
    assert_eq!((report.pacing, report.pacing_interval_ns), (Some(Pacing::PerQp), Some(20_000)));
}

#[test]
fn one_queue_pair_proves_no_wider_scope() {
    let report = story(&paced(100, 50_000, |_| CNP, |_| 0));
    assert_eq!(report.pacing, Some(Pacing::PerQp));
    let gaps = report.cnp_interval_ns;
    assert_eq!(gaps.per_qp, gaps.per_port);
    assert_eq!(gaps.per_qp.unwrap().count, 99);
}

#[test]
fn few_or_random_notifications_have_no_limiter() {
    assert_eq!(story(&paced(10, 50_000, |_| CNP, |_| 0)).pacing, None);
    let (mut time, mut random) = (0, 1u64);
    let events: Vec<_> = (0..5_000)
        .map(|_| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            time += (-(1.0 - (random >> 11) as f64 / (1u64 << 53) as f64).ln() * 50_000.0) as i64;
            (time, CNP)
        })
        .collect();
    assert_eq!(story(&events).pacing, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Time shifted changes nothing; time that runs anyhow breaks nothing.
    #[test]
    fn time_may_be_shifted(times in prop::collection::vec(0i64..1_000_000, 0..60), shift in any::<i32>()) {
        let report = |shift: i64| format!("{:?}", story(&times.iter().enumerate().map(|(n, time)| {
            (time + shift, if n % 5 == 0 { NAK } else { Roce { qp: (n % 3) as u32, ..CNP } })
        }).collect::<Vec<_>>()));
        prop_assert_eq!(report(0), report(shift as i64));
    }
}
