//! Tests of `src/analyze/track/mod.rs`.

use std::net::Ipv4Addr;

use super::{
    config::TrackConfig,
    copies::Copying,
    history::Histories,
    order::IdOrder,
    request::{Mtu, MtuBy, Request, Requests, Response, RunState},
    response::Responses,
    step::Packet,
};
use crate::{
    analyze::{
        model::Class,
        packet::{FastForm, FastPacket},
    },
    capture::{Record, Time},
    craft,
    dissect::{self, Link},
    icrc,
    opcode::{Opcode, Operation, Position},
    wire::*,
};

/// The first, a middle, the last, the only packet of a READ's response.
const DATA: [Opcode; 4] = [
    Opcode::RC_READ_RESPONSE_FIRST,
    Opcode::RC_READ_RESPONSE_MIDDLE,
    Opcode::RC_READ_RESPONSE_LAST,
    Opcode::RC_READ_RESPONSE_ONLY,
];

const READ: Operation = Operation::ReadRequest;

fn config() -> TrackConfig {
    TrackConfig {
        measures: Default::default(),
        late_ns: 50_000,
        ack_timeout_ns: None,
        copying: Copying::default(),
        histories: Histories::default(),
        is_sparse: false,
        misses: false,
        is_coarse: false,
    }
}

fn packet(opcode: Opcode, psn: u32, id: u16, time: i64) -> FastPacket {
    let bth = Bth::default().with_opcode(opcode).with_dest_qp(Qpn(0x11)).with_psn(Psn(psn % Psn::SPACE));
    let ip = craft::Packet::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)).push(bth);
    let whole = match opcode.shape() {
        shape if shape.has_reth => ip.push(Reth::default()),
        shape if shape.has_aeth => ip.push(Aeth::default()),
        _ => ip,
    };
    let mut frame = whole.payload(vec![0; 256]).build().to_vec();
    frame[18..20].copy_from_slice(&id.to_be_bytes());
    let (time, link, wire_len) = (Time(time), Link::ETHERNET, frame.len() as u32);
    let record = Record { time, link, interface: 0, wire_len, frame: &frame };
    let (packet, rest) = FastPacket::candidate(&record).expect("it is plain");
    packet.checked(&dissect::Options::default(), rest, || icrc::State::Unchecked).expect("it is plain")
}

/// Messages of one to five packets, of which some are lost, doubled, late or retransmitted, or come after a silence.
fn packets([first, middle, last, only]: [Opcode; 4], mut seed: u64) -> Vec<FastPacket> {
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let (mut packets, mut psn, mut time) = (Vec::new(), 0xff_ff00, 0);
    for _ in 0..400 {
        let len = 1 + random(5) as u32;
        for n in 0..len {
            let opcode = match n {
                0 if len == 1 => only,
                0 => first,
                _ if n + 1 == len => last,
                _ => middle,
            };
            time += 1_000;
            let next = packet(opcode, psn, packets.len() as u16, time);
            match random(60) {
                0 => {}
                1 => packets.extend([next, next]),
                2 => packets.insert(packets.len().saturating_sub(3), next),
                3 => psn -= random(6) as u32,
                4 => time += [40_000, 5_000_000][random(2) as usize],
                _ => packets.push(next),
            }
            psn += 1;
        }
    }
    packets
}

#[test]
fn requests_that_are_expected_are_taken_as_others_are() {
    let opcodes = [Opcode::RC_SEND_FIRST, Opcode::RC_SEND_MIDDLE, Opcode::RC_SEND_LAST, Opcode::RC_SEND_ONLY];
    for seed in 0..8 {
        let (mut short, mut general, mut ids) =
            (Requests::default(), Requests::default(), IdOrder::default());
        let (mut resolved, mut expected) = (Vec::new(), 0);
        for (frame, fast) in packets(opcodes, seed).iter().enumerate() {
            let facts = &fast.facts();
            let shape = facts.opcode().shape();
            let mut request = Request {
                packet: Packet::of(facts, frame as u64),
                operation: shape.operation.expect("a SEND"),
                position: shape.position,
                message_bytes: None,
                una_before: None,
            };
            if short.expects(facts, &ids) {
                short.take_expected(facts, shape, frame as u64, &ids, &config());
                expected += 1;
            } else {
                short.on_request(&mut request, &ids, &config(), &mut resolved);
            }
            let class = general.on_request(&mut request, &ids, &config(), &mut resolved);
            if frame % 8 == 0 {
                assert_eq!(format!("{short:?}"), format!("{general:?}"), "seed {seed}, packet {frame}");
            }
            if class != Some(Class::CaptureDuplicate) {
                ids.push(fast.id());
            }
        }
        assert!(expected > 600, "{expected}");
    }
}

#[test]
fn data_that_is_expected_is_taken_as_other_is() {
    for seed in 0..8 {
        let (mut short, mut general, mut ids) =
            (Responses::default(), Responses::default(), IdOrder::default());
        let (mut resolved, mut expected) = (Vec::new(), 0);
        for (frame, fast) in packets(DATA, seed).iter().enumerate() {
            let facts = &fast.facts();
            let (shape, packet) = (facts.opcode().shape(), Packet::of(facts, frame as u64));
            if short.expects_data(facts, &ids) {
                short.take_expected_data(facts, shape, frame as u64);
                expected += 1;
            } else {
                short.read(&packet, shape.position, None, &ids, &config(), &mut resolved);
            }
            let class = general.read(&packet, shape.position, None, &ids, &config(), &mut resolved);
            if frame % 8 == 0 {
                assert_eq!(format!("{short:?}"), format!("{general:?}"), "seed {seed}, packet {frame}");
            }
            if class != Some(Class::CaptureDuplicate) {
                ids.push(fast.id());
            }
        }
        assert!(expected > 600, "{expected}");
    }
}

#[test]
fn data_on_course_is_taken_as_other_is() {
    for seed in 0..8 {
        let (mut short, mut general, mut ids) =
            (Responses::default(), Responses::default(), IdOrder::default());
        let (mut resolved, mut on_course) = (Vec::new(), 0);
        let mut run: Option<(RunState, u64)> = None;
        for (frame, fast) in packets(DATA, seed).iter().enumerate() {
            let facts = &fast.facts();
            let (shape, packet) = (facts.opcode().shape(), Packet::of(facts, frame as u64));
            match &mut run {
                Some((run, n)) if run.is_next_data(fast, &ids) => {
                    run.take_data(fast, shape, frame as u64);
                    (*n, on_course) = (*n + 1, on_course + 1);
                }
                _ => {
                    if let Some((run, n)) = run.take() {
                        short.end_run(run, n);
                    }
                    short.read(&packet, shape.position, None, &ids, &config(), &mut resolved);
                    run = short.begin_run().map(|run| (run, 0));
                }
            }
            let class = general.read(&packet, shape.position, None, &ids, &config(), &mut resolved);
            if frame % 8 == 0 {
                if let Some((run, n)) = run.take() {
                    short.end_run(run, n);
                }
                assert_eq!(format!("{short:?}"), format!("{general:?}"), "seed {seed}, packet {frame}");
            }
            if class != Some(Class::CaptureDuplicate) {
                ids.push(facts.ip_id().unwrap_or_default());
            }
        }
        assert!(on_course > 600, "{on_course}");
    }
}

/// A READ that asks again for the end of one and the beginning of another is the last, and does not end beyond all.
#[test]
fn reads_in_disorder_are_found() {
    let (mut requests, ids, mut resolved) = (Requests::default(), IdOrder::default(), Vec::new());
    requests.mtu = Mtu { bytes: 256, by: MtuBy::Cm };
    for (frame, (operation, psn)) in (0..).zip([(Operation::Send, 0), (READ, 1), (READ, 5), (READ, 3)]) {
        let facts = packet(Opcode::RC_SEND_ONLY, psn, 7, frame as i64 * 1_000);
        let packet = Packet::of(&facts.facts(), frame);
        let (position, message_bytes) = (Position::Only, Some(4 * 256));
        let mut request = Request { packet, operation, position, message_bytes, una_before: None };
        requests.on_request(&mut request, &ids, &config(), &mut resolved);
    }
    let base = requests.seq.base;
    assert_eq!(requests.reads().map(|read| read.first - base).collect::<Vec<_>>(), [1, 5, 3]);
    // The last one of the second.
    let facts = &packet(Opcode::RC_READ_RESPONSE_LAST, 8, 7, 9_000);
    requests.answer(&Response::with_data(facts.psn(), (facts.time(), 9, 0)), &mut resolved, &config());
    assert_eq!(requests.more.as_deref().map(|more| more.recovery().read_last.count()), Some(1));
    let behind = |x| requests.reads_from(base + x).count();
    assert_eq!([behind(0), behind(7), behind(99)], [3, 3, 3]);
}

/// READs of two packets and more: some are asked for again, some of their responses do not come, or late.
#[test]
fn requests_learn_of_responses_that_waited_as_of_others() {
    let mut waited = 0;
    for seed in 0..32u64 {
        let mut state = seed;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut short, mut general, ids) = (Requests::default(), Requests::default(), IdOrder::default());
        let (mut responses, mut run) = (Responses::default(), None::<RunState>);
        let (mut resolved, mut frame, mut psn, mut time) = (Vec::new(), 0, 0xff_ff00, 0);
        for _ in 0..60 {
            let n = 2 + random(40) as u32;
            // Sometimes it is asked for again, from somewhere on.
            let repeated = (random(6) == 0).then(|| random(n as u64) as u32);
            for from in [Some(0), repeated].into_iter().flatten() {
                // All that is asked of it but its operation is what it is of any packet.
                let facts = packet(Opcode::RC_SEND_ONLY, psn + from, 7, time);
                let mut request = Request {
                    packet: Packet::of(&facts.facts(), frame),
                    operation: Operation::ReadRequest,
                    position: Position::Only,
                    message_bytes: Some((n - from) * 1024),
                    una_before: None,
                };
                for requests in [&mut short, &mut general] {
                    requests.on_request(&mut request, &ids, &config(), &mut resolved);
                }
                (frame, time) = (frame + 1, time + [700, 90_000, 8_000_000][random(3) as usize]);
            }
            for k in 0..n {
                // Some are not the last one where they should be.
                let (position, is_odd) = (k + 1, random(100) == 0);
                let opcode = match k {
                    0 => Opcode::RC_READ_RESPONSE_FIRST,
                    _ if position == n && !is_odd => Opcode::RC_READ_RESPONSE_LAST,
                    _ => Opcode::RC_READ_RESPONSE_MIDDLE,
                };
                (frame, time) = (frame + 1, time + [10, 300, 300, 4_000, 300_000][random(5) as usize]);
                // After a loss none waits any more.
                if seed % 4 == 0 && random(200) == 0 {
                    continue;
                }
                let facts = &packet(opcode, psn + k, 7, time);
                let response = &Response::with_data(facts.psn(), (facts.time(), frame, 0));
                general.answer(response, &mut resolved, &config());
                match &mut run {
                    Some(run)
                        if facts.opcode().shape().is_data_within() && run.is_next_to_wait(facts, &ids) =>
                    {
                        run.take_to_wait(facts, frame);
                        waited += 1;
                    }
                    Some(run) if run.is_next_data(facts, &ids) => {
                        short.learn_of_data(run);
                        run.take_data(facts, facts.opcode().shape(), frame);
                        short.answer(response, &mut resolved, &config());
                        if let Some(may_wait) = short.may_wait(facts.psn()) {
                            run.wait(&may_wait);
                        }
                    }
                    _ => {
                        if let Some(mut run) = run.take() {
                            short.learn_of_data(&mut run);
                            responses.end_run(run, 0);
                        }
                        let (packet, shape) = (Packet::of(&facts.facts(), frame), facts.opcode().shape());
                        responses.read(&packet, shape.position, None, &ids, &config(), &mut resolved);
                        run = responses.begin_run();
                        short.answer(response, &mut resolved, &config());
                    }
                }
                if random(9) == 0 {
                    if let Some(run) = &mut run {
                        short.learn_of_data(run);
                    }
                    assert_eq!(format!("{short:?}"), format!("{general:?}"), "seed {seed}, packet {frame}");
                    if random(2) == 0
                        && let (Some(run), Some(may_wait)) = (&mut run, short.may_wait(facts.psn()))
                    {
                        run.wait(&may_wait);
                    }
                }
            }
            if let Some(run) = &mut run {
                short.learn_of_data(run);
            }
            psn += n;
        }
    }
    assert!(waited > 5_000, "{waited}");
}
