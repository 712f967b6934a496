//! Messages, answers, connection setup and pauses as frames that dissect to what was asked.

use rdmawire::{
    craft::{
        Channel, Data, Dialog, Endpoint, Hold, Message, Packet, Path, Request, cnp_for, flow_control, pause,
        pfc,
    },
    dissect::{Dissection, Encapsulation, Link, dissect},
    icrc::{self, State},
    opcode::{Opcode, Operation, PayloadRule, Position, Service},
    wire::*,
};
use std::net::{Ipv4Addr, Ipv6Addr};

fn paths() -> Vec<Path> {
    let v4 = |n| Endpoint::new(Ipv4Addr::new(192, 168, 7, n));
    let v6 = |n| Endpoint::new(Ipv6Addr::new(0xfd00, 1, 2, 3, 4, 5, 6, n));
    Encapsulation::ALL
        .iter()
        .flat_map(|&e| [Path::new(e, v4(1), v4(2)), Path::new(e, v6(1), v6(2))])
        .filter(|p| p.encapsulation != Encapsulation::RoceV2Ipv4 || p.src.ip.is_ipv4())
        .flat_map(|p| [p, Path { vlan: Some((3, 100)), dscp: 10, ecn: Ecn::ECT1, ttl: 9, ..p }])
        .collect()
}

fn right<'a>(packet: &Packet, frame: &'a [u8]) -> Dissection<'a> {
    let d = dissect(packet.link(), frame, frame.len() as u32);
    assert!(d.notes().is_empty(), "{d:?}");
    if d.has(Kind::Bth) {
        assert_eq!(icrc::verify(&d), State::Good, "{d:?}");
    }
    if d.has(Kind::Lrh) {
        assert_eq!(icrc::verify_vcrc(&d), State::Good, "{d:?}");
    }
    if let Some(ip) = d.get::<Ipv4>() {
        assert_eq!(rdmawire::checksum::internet(ip.bytes()), 0);
    }
    d
}

#[test]
fn a_path_is_found_in_its_frames_again() {
    for path in paths() {
        let frame = Channel::rc(path, Qpn(7), Qpn(8)).ack(Psn(1), 2).build();
        let d = dissect(path.link(), &frame, frame.len() as u32);
        assert_eq!(d.encapsulation(), Some(path.encapsulation));
        let found = Path::of(&d).unwrap();
        match path.encapsulation {
            Encapsulation::Ib => {
                assert_eq!(
                    (found.src.lid, found.dst.lid, found.p_key),
                    (path.src.lid, path.dst.lid, path.p_key)
                );
            }
            Encapsulation::IbGrh => {
                assert_eq!(
                    (found.src.ip, found.dst.ip, found.dscp, found.ttl),
                    (path.src.ip, path.dst.ip, path.dscp, path.ttl)
                );
            }
            _ => {
                assert_eq!((found.src.mac, found.dst.ip, found.vlan), (path.src.mac, path.dst.ip, path.vlan));
                assert_eq!((found.dscp, found.ecn, found.ttl), (path.dscp, path.ecn, path.ttl));
            }
        }
    }
}

const REQUESTS: &[Request] = &[
    Request::Send { len: 5000, imm: None, invalidate: None },
    Request::Send { len: 0, imm: None, invalidate: None },
    Request::Send { len: 2500, imm: Some(0xabcd), invalidate: None },
    Request::Send { len: 3, imm: Some(7), invalidate: None },
    Request::Send { len: 2500, imm: None, invalidate: Some(9) },
    Request::Send { len: 30, imm: None, invalidate: Some(9) },
    Request::Write { len: 4097, va: 0x7f00_0000_1000, r_key: 77, imm: None },
    Request::Write { len: 4096, va: 0x7f00_0000_1000, r_key: 77, imm: Some(1) },
    Request::Write { len: 64, va: 0x7f00_0000_1000, r_key: 77, imm: None },
    Request::Write { len: 64, va: 0x7f00_0000_1000, r_key: 77, imm: Some(1) },
    Request::Read { len: 10_000, va: 0x1000, r_key: 3 },
    Request::CompareSwap { va: 8, r_key: 3, compare: 1, swap: 2 },
    Request::FetchAdd { va: 8, r_key: 3, add: 2 },
    Request::AtomicWrite { va: 8, r_key: 3 },
    Request::Flush { len: 4096, va: 8, r_key: 3, placement: 1, selectivity: 0 },
    Request::Resync,
];

/// Every packet of a message is what its operation code asks for, and together they carry the data.
fn whole(message: &Message, psn: Psn, mtu: usize, data: &Data) {
    let mut carried = Vec::new();
    let mut one_by_one = Vec::new();
    message.each(|n, packet| {
        let frame = packet.build();
        assert_eq!(packet, &message.packet(n), "{n}");
        let d = right(packet, &frame);
        let bth = d.get::<Bth>().unwrap();
        assert_eq!((bth.opcode(), bth.psn()), (message.opcode(n), psn.plus(n)));
        match bth.opcode().payload_rule() {
            PayloadRule::Full => assert_eq!(d.payload().len(), mtu),
            PayloadRule::Some => assert!((1..=mtu).contains(&d.payload().len())),
            PayloadRule::Any => assert!(d.payload().len() <= mtu),
            PayloadRule::None => assert!(d.payload().is_empty()),
            PayloadRule::Eight => assert_eq!(d.payload().len(), 8),
        }
        let position = match (n == 0, n + 1 == message.packets()) {
            (true, true) => Position::Only,
            (true, false) => Position::First,
            (false, false) => Position::Middle,
            (false, true) => Position::Last,
        };
        assert_eq!(bth.opcode().position(), position);
        carried.extend_from_slice(d.payload());
        one_by_one.push(frame);
    });
    assert_eq!(carried.len(), message.carried() as usize);
    for (n, chunk) in carried.chunks(1000).enumerate() {
        assert_eq!(chunk, data.at(n as u64 * 1000, chunk.len()));
    }
    assert!(message.iter().map(|packet| packet.build()).eq(one_by_one));
}

#[test]
fn every_request_of_every_service_over_every_encapsulation() {
    let (mut messages, mut refused, psn, data) = (0, 0, Psn(0xff_fffd), Data::pattern(5));
    for path in paths() {
        for service in [Service::Rc, Service::Uc, Service::Rd, Service::Ud, Service::Xrc] {
            for mtu in [256, 1024, 4096] {
                let channel = Channel {
                    service,
                    mtu,
                    q_key: 0x1111_1111,
                    xrc_srq: 0x33,
                    ee_context: 0x44,
                    ..Channel::rc(path, Qpn(0x101), Qpn(0x202))
                };
                for &request in REQUESTS {
                    let Ok(message) = channel.request(psn, request) else {
                        refused += 1;
                        continue;
                    };
                    let message = message.data(data.clone());
                    assert_eq!(message.opcode(0).service(), service);
                    assert_eq!(message.opcode(0).operation(), Some(Operation::from(&request)));
                    whole(&message, psn, mtu as usize, &data);
                    let d = message.packet(message.packets() - 1).build();
                    let d = dissect(path.link(), &d, d.len() as u32);
                    assert_eq!(d.get::<Bth>().unwrap().ack_req(), service.is_reliable());
                    if let (
                        Request::Write { va, r_key, len, .. } | Request::Read { va, r_key, len },
                        Some(reth),
                    ) = (request, d.get::<Reth>())
                    {
                        assert_eq!((reth.va().0, reth.r_key().0, reth.dma_len()), (va, r_key, len));
                    }
                    if let Some(deth) = d.get::<Deth>() {
                        assert_eq!((deth.q_key().0, deth.src_qp()), (0x1111_1111, Qpn(0x101)));
                    }
                    if let Some(udp) = d.get::<Udp>() {
                        assert_eq!(udp.src_port(), Udp::linux_source_port(Qpn(0x202), Qpn(0x101)));
                    }
                    messages += 1;
                }
                if service.is_reliable() {
                    for len in [0, 1, mtu as u32, mtu as u32 + 1, 9999] {
                        let response = channel.reversed().read_response(psn, len, 5).unwrap();
                        let message = response.data(data.clone());
                        whole(&message, psn, mtu as usize, &data);
                        messages += 1;
                    }
                }
            }
        }
    }
    assert!(messages > 1000 && refused > 100, "{messages} {refused}");
}

#[test]
fn a_read_resumed_in_the_middle_asks_for_the_rest() {
    let channel = Channel::rc(Path::rocev2(Ipv4Addr::LOCALHOST, Ipv4Addr::BROADCAST), Qpn(1), Qpn(2));
    let read = Request::Read { len: 10_000, va: 0x1000, r_key: 3 };
    let asked = channel.request(Psn(10), read).unwrap();
    assert_eq!((asked.packets(), asked.psns()), (1, 10));
    let again = read.resumed(4, 1024);
    assert_eq!(again, Request::Read { len: 10_000 - 4096, va: 0x2000, r_key: 3 });
    assert_eq!(channel.request(Psn(14), again).unwrap().psns(), 6);
    // The response to it carries the same bytes under the same PSNs, but begins with a First again.
    let data = Data::pattern(1);
    let first = channel.read_response(Psn(10), 10_000, 1).unwrap().data(data.clone());
    let second = channel.read_response(Psn(14), 10_000 - 4096, 1).unwrap().data(data).offset(4096);
    assert_eq!(first.packet(7).get_payload(), second.packet(3).get_payload());
    assert_eq!(second.opcode(0), Opcode::RC_READ_RESPONSE_FIRST);
    assert_eq!(first.packet(7).get::<Bth>().unwrap().psn(), second.packet(3).get::<Bth>().unwrap().psn());
}

#[test]
fn answers_say_what_they_shall() {
    for path in paths() {
        let channel = Channel::rc(path, Qpn(1), Qpn(2));
        let syndrome = |packet: Packet| {
            let frame = packet.build();
            let d = right(&packet, &frame);
            assert_eq!(d.get::<Aeth>().unwrap().msn(), 9);
            d.get::<Aeth>().unwrap().syndrome().meaning()
        };
        assert_eq!(syndrome(channel.ack(Psn(3), 9)), Acknowledgement::Ack { credits: None });
        assert_eq!(syndrome(channel.rnr(Psn(3), 300, 9)), Acknowledgement::RnrNak { timer_us: 320 });
        for code in [
            NakCode::PsnSequenceError,
            NakCode::InvalidRequest,
            NakCode::RemoteAccessError,
            NakCode::RemoteOperationalError,
            NakCode::InvalidRdRequest,
            NakCode::Reserved(9),
        ] {
            assert_eq!(syndrome(channel.nak(Psn(3), code, 9)), Acknowledgement::Nak(code));
        }
        let atomic = channel.atomic_ack(Psn(3), 9, 0x1122);
        let frame = atomic.build();
        assert_eq!(right(&atomic, &frame).get::<AtomicAckEth>().unwrap().original_data(), 0x1122);
    }
}

#[test]
fn a_cnp_goes_back_to_the_sender() {
    for path in paths() {
        let data = Channel::rc(path, Qpn(0xaaa), Qpn(0xbbb));
        let frame = data.request(Psn(5), REQUESTS[8]).unwrap().packet(0).build();
        let d = dissect(path.link(), &frame, frame.len() as u32);
        let cnp = cnp_for(&d, Some(Qpn(0xaaa))).unwrap();
        let built = cnp.build();
        let back = right(&cnp, &built);
        let bth = back.get::<Bth>().unwrap();
        assert!(bth.opcode().is_cnp() && bth.becn() && !bth.fecn());
        assert_eq!((bth.dest_qp(), bth.psn(), bth.p_key()), (Qpn(0xaaa), Psn(0), PKey(0xffff)));
        if let Some(ip) = back.get::<Ipv4>() {
            assert_eq!((ip.total_len(), ip.dscp()), (60, 48));
            assert_eq!(
                (ip.src(), ip.dst()),
                (d.get::<Ipv4>().unwrap().dst(), d.get::<Ipv4>().unwrap().src())
            );
        }
    }
}

#[test]
fn a_dialogue_says_what_a_tap_learns_from_it() {
    for path in paths() {
        let dialog = Dialog {
            active_psn: Psn(111),
            passive_psn: Psn(222),
            mtu: 4096,
            ..Dialog::new(path, Qpn(0x11), Qpn(0x22))
        };
        let messages = [
            dialog.req(b"hello"),
            dialog.rep(b"there"),
            dialog.rtu(&[]),
            dialog.rej(RejectReason(28), b"no"),
            dialog.dreq(false, &[]),
            dialog.dreq(true, &[]),
            dialog.drep(true, &[]),
            dialog.mra(true, CmMessage(0), CmTimeout(24)),
            dialog.lap(&path, &[]),
            dialog.apr(ApStatus(6), &[]),
            dialog.sidr_req(b"hello"),
            dialog.sidr_rep(SidrStatus::VALID, 0x1234, &[]),
        ];
        for (n, packet) in messages.iter().enumerate() {
            let frame = packet.build();
            let d = right(packet, &frame);
            assert_eq!(d.payload().len(), 256, "{n}");
            assert_eq!(d.get::<Deth>().unwrap().q_key().0, 0x8001_0000);
            match n {
                0 => {
                    let req = d.get::<CmReq>().unwrap();
                    assert_eq!((req.local_qpn(), req.starting_psn()), (Qpn(0x11), Psn(222)));
                    assert_eq!(req.path_mtu().bytes(), Some(4096));
                    let ip = d.get::<IpCm>().unwrap();
                    assert_eq!(ip.ip_version() == 4, path.src.ip.is_ipv4());
                    let private = d.offset(Kind::CmPrivate).unwrap();
                    assert_eq!(&frame[private..private + 5], b"hello");
                }
                1 => {
                    let rep = d.get::<CmRep>().unwrap();
                    assert_eq!((rep.local_qpn(), rep.starting_psn()), (Qpn(0x22), Psn(111)));
                    assert_eq!(rep.remote_comm_id().0, dialog.active_comm_id);
                }
                2 => assert_eq!(d.get::<CmRtu>().unwrap().remote_comm_id().0, dialog.passive_comm_id),
                3 => assert_eq!(d.get::<CmRej>().unwrap().reason(), RejectReason(28)),
                4 => assert_eq!(d.get::<CmDreq>().unwrap().remote_qpn(), Qpn(0x22)),
                5 => assert_eq!(d.get::<CmDreq>().unwrap().remote_qpn(), Qpn(0x11)),
                6 => assert_eq!(d.get::<CmDrep>().unwrap().local_comm_id().0, dialog.passive_comm_id),
                7 => assert_eq!(d.get::<CmMra>().unwrap().service_timeout().ns(), 68_719_476_736),
                8 => {
                    let lap = d.get::<CmLap>().unwrap();
                    assert_eq!((lap.remote_qpn(), lap.alternate_local_gid()), (Qpn(0x22), path.src.gid()));
                }
                9 => assert_eq!(d.get::<CmApr>().unwrap().ap_status(), ApStatus(6)),
                10 => {
                    assert_eq!(d.get::<CmSidrReq>().unwrap().service_id(), dialog.service_id);
                    let private = d.offset(Kind::CmPrivate).unwrap();
                    assert_eq!(d.get::<IpCm>().unwrap().src_port(), dialog.src_port);
                    assert_eq!(&frame[private..private + 5], b"hello");
                }
                _ => {
                    let rep = d.get::<CmSidrRep>().unwrap();
                    assert_eq!((rep.qpn(), rep.q_key().0), (Qpn(0x22), 0x1234));
                }
            }
        }
    }
}

#[test]
fn pauses_are_frames_of_sixty_bytes() {
    let mac = Mac([2, 0, 0, 0, 0, 1]);
    let quanta = std::array::from_fn(|n| (n != 4).then_some(n as u16 * 1000));
    let frame = pfc(mac, quanta).build();
    assert_eq!(frame.len(), 60);
    let d = dissect(Link::ETHERNET, &frame, 60);
    assert_eq!(std::array::from_fn(|n| d.get::<Pfc>().unwrap().time(n as u8)), quanta);
    let frame = pause(mac, 77).build();
    let d = dissect(Link::ETHERNET, &frame, 60);
    assert_eq!((frame.len(), d.get::<Pause>().unwrap().pause_time()), (60, 77));
    assert_eq!(d.get::<Ethernet>().unwrap().dst().to_string(), "01:80:c2:00:00:01");
}

/// Replayed through a receiver's timer, in bit times: paused from the first frame to the last, and no longer.
#[test]
fn a_hold_never_lapses_and_ends_in_time() {
    let mac = Mac([2, 0, 0, 0, 0, 1]);
    for speed in [1, 10, 25, 100, 400, 800].map(|g| g * 1_000_000_000) {
        for ns in [1, 1000, 83_000, 300_000_000] {
            for quanta in [2, 1000, 0xffff] {
                let hold = Hold { quanta, ..Hold::new(mac, Some(0b1001), ns, speed) };
                if hold.frames() > 100_000 {
                    continue;
                }
                let mut until = 0u128;
                let mut n = 0;
                for (at, packet) in hold.iter() {
                    let pfc = packet.get::<Pfc>().unwrap();
                    let bits = at as u128 * speed as u128 / 1_000_000_000;
                    assert!(n == 0 || bits <= until, "{speed} {ns} {quanta}: lapsed before frame {n}");
                    assert_eq!(pfc.time(3), pfc.time(0));
                    assert_eq!(pfc.class_enable().0, 0b1001);
                    until = bits + pfc.time(3).unwrap() as u128 * 512;
                    n += 1;
                    if n == hold.frames() {
                        assert_eq!((at, pfc.time(3)), (ns, Some(0)));
                    } else {
                        assert!(at < ns);
                    }
                }
                assert_eq!(n, hold.frames());
            }
        }
    }
    // 400 Gb/s: 0xffff quanta are 83.9 us.
    let hold = Hold::new(mac, Some(8), 300_000_000, 400_000_000_000);
    assert_eq!(hold.interval_ns(), (65535 - 148) * 512 * 10 / 4000);
}

#[test]
fn link_packets_carry_their_crc() {
    let packet = flow_control(LinkOp(0), 3, 0x123, 0x456);
    let frame = packet.build();
    let d = dissect(Link::ERF, &frame, frame.len() as u32);
    let link = LinkPacket::view(&frame[16..]).unwrap().0;
    assert_eq!((link.vl(), link.fctbs(), link.fccl()), (3, 0x123, 0x456));
    assert_eq!(link.lpcrc().0.to_be_bytes(), icrc::vcrc(&frame[16..20]));
    let erf = d.get::<Erf>().or(Erf::view(&frame).map(|(erf, _)| erf)).unwrap();
    assert_eq!((erf.record_type(), erf.wire_len(), erf.record_len()), (ErfType::INFINIBAND_LINK, 6, 24));
}
