//! Tests of `src/analyze/table/connection.rs`.

use std::net::Ipv4Addr;

use super::*;
use crate::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    craft,
    dissect::Link,
    opcode::Opcode,
    wire::*,
};

/// Whom a response of a flow finds among all that it could be of: the one with more evidence than any other.
fn found(analysis: &mut Analysis, key: &Key, psn: Psn, port: u16) -> Option<FlowId> {
    let flows = &mut analysis.tracker.flows;
    let id = flows.find(key);
    let members: Vec<FlowId> = analysis
        .tracker
        .connections
        .unpaired
        .get(&key.pair())?
        .members
        .iter()
        .map(|member| member.id)
        .collect();
    let mut evidence = Vec::new();
    for other in members {
        flows.catch_up(other);
        let flow = flows.unsettled(other);
        let is_opposite = flow.key.src == key.dst && flow.key.dst == key.src;
        // It may have been found.
        let is_free = flow.key.pair() == key.pair() && (flow.peer.is_none() || flow.peer == id);
        if !is_opposite || !is_free || !flow.requests.seq.is_started() {
            continue;
        }
        let formula = Udp::linux_source_port(Qpn(key.dest_qp()), Qpn(flow.key.dest_qp()));
        let of_port = if port == formula && flow.path_tags.has_port(formula) { 28 } else { 0 };
        evidence.extend(evidence_of_psn(&flow.requests, psn, false).map(|bits| (bits + of_port, other)));
    }
    evidence.sort_unstable();
    let (bits, best) = evidence.pop()?;
    let second = evidence.pop().map_or(0, |(bits, _)| bits);
    (bits >= ENOUGH_BITS && bits >= second + MARGIN_BITS).then_some(best)
}

/// Many queue pairs between two hosts, some of which begin with the same PSN: what an attempt leaves out changes nothing.
#[test]
fn responses_find_the_requests_with_most_evidence() {
    const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
    let (mut pairs, mut in_vain, mut by_port, mut runs) = (0, 0, 0, 0);
    for seed in 0..12 {
        let mut state = seed;
        let mut random = |below: u64| {
            state = u64::wrapping_add(
                u64::wrapping_mul(state, 6_364_136_223_846_793_005),
                1_442_695_040_888_963_407,
            );
            (state >> 33) % below
        };
        let max_flows = if seed % 3 == 0 { 30 } else { 1 << 20 };
        let mut analysis = Analysis::new(Options { verify_icrc: false, max_flows, ..Options::default() });
        let mut connections: Vec<_> = (0..40u32)
            .map(|n| {
                let psn = [0, 0, 100, 7_000, 0xff_fff0, random(1 << 24) as u32][random(6) as usize];
                let (asking, answering) = (Qpn(0x100 + n), Qpn(0x11 + 3 * n));
                let port = match random(3) {
                    0 => Udp::linux_source_port(asking, answering),
                    _ => 0xc000 + n as u16 % 7,
                };
                (asking, answering, port, psn, psn)
            })
            .collect();
        for n in 0..4_000 {
            let (asking, answering, port, first, next) = &mut connections[random(40) as usize];
            let is_ack = random(6) == 0 && first != next;
            let (psn, end) = match is_ack {
                true => (next.wrapping_sub(1 + random(3) as u32) % Psn::SPACE, *asking),
                false => (*next, *answering),
            };
            let opcode = if is_ack { Opcode::RC_ACKNOWLEDGE } else { Opcode::RC_SEND_ONLY };
            let (from, to) = (HOSTS[is_ack as usize], HOSTS[!is_ack as usize]);
            let bth = Bth::default().with_opcode(opcode).with_dest_qp(end).with_psn(Psn(psn));
            let ip = craft::Packet::rocev2(from, to).push(bth);
            let frame = if is_ack { ip.push(Aeth::default()) } else { ip.payload(vec![0; 64]) };
            let mut frame = frame.build().to_vec();
            frame[34..36].copy_from_slice(&port.to_be_bytes());
            let (time, link, wire_len) = (Time(n * 700), Link::ETHERNET, frame.len() as u32);
            let record = Record { time, link, interface: 0, wire_len, frame: &frame };
            let key = Key::of_ipv4(from.into(), to.into(), end.0);
            let before = analysis.tracker.flows.find(&key).map(|id| analysis.tracker.flows.unsettled(id));
            let is_attempt = is_ack && before.is_some_and(|flow| flow.peer.is_none() && is_tried(flow));
            analysis.push(&record);
            analysis.flush_sorted();
            if is_attempt && let Some(id) = analysis.tracker.flows.find(&key) {
                let expected = found(&mut analysis, &key, Psn(psn), *port);
                let flows = &analysis.tracker.flows;
                let peer = flows.unsettled(id).peer;
                // The port that both ends have, and no other that is left, tells where PSNs do not.
                let is_by_port = peer.is_some() && flows.unsettled(id).paired_by == Some(PairedBy::UdpPort);
                if is_by_port && peer != expected {
                    let other = flows.unsettled(peer.unwrap());
                    assert_eq!(other.key.dest_qp(), answering.0, "seed {seed}, packet {n}");
                    by_port += 1;
                } else {
                    assert_eq!(peer, expected, "seed {seed}, packet {n}");
                }
                *(if expected.is_some() { &mut pairs } else { &mut in_vain }) += 1;
            }
            if !is_ack {
                *next = (*next + if random(150) == 0 { 3_000 } else { 1 }) % Psn::SPACE;
            }
        }
        runs += analysis.tracker.flows.flows.iter().filter(|flow| flow.in_run).count();
    }
    assert!(pairs > 50 && in_vain > 500 && by_port > 0 && runs > 50, "{pairs} {in_vain} {by_port} {runs}");
}
