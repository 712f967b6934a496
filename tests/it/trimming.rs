//! Packets that a switch cut to their headers instead of dropping them (packet trimming).

use std::net::Ipv4Addr;

use crate::support::frames::trimmed;
use rdmawire::{
    analyze::{Analysis, Options, TrimProfile},
    capture::{Record, Time},
    craft::{Lengths, Packet, Trim},
    dissect::{Link, dissect},
    icrc::{self, State},
    opcode::Opcode,
    report::{Class, Location, Report},
    wire::{Aeth, Bth, Header, Ipv4, Kind, Psn, Qpn, Reth, Syndrome},
};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// One packet of a WRITE of `of` packets.
fn write(psn: u32, of: u32) -> Vec<u8> {
    let opcode = match psn {
        0 => Opcode::RC_WRITE_FIRST,
        psn if psn + 1 == of => Opcode::RC_WRITE_LAST,
        _ => Opcode::RC_WRITE_MIDDLE,
    };
    let bth = Bth::default().with_opcode(opcode).with_dest_qp(Qpn(0x11)).with_psn(Psn(psn));
    let packet = Packet::rocev2(A, B).push(bth.with_ack_req(psn + 1 == of));
    let packet = if psn == 0 { packet.push(Reth::default().with_dma_len(of * 1024)) } else { packet };
    packet.payload(vec![7; 1024]).build().to_vec()
}

fn acknowledge(psn: u32, syndrome: Syndrome) -> Vec<u8> {
    let bth = Bth::default().with_opcode(Opcode::RC_ACKNOWLEDGE).with_dest_qp(Qpn(0x12)).with_psn(Psn(psn));
    Packet::rocev2(B, A).push(bth).push(Aeth::default().with_syndrome(syndrome)).build().to_vec()
}

fn analyze(frames: &[Vec<u8>], options: Options) -> Report {
    let mut analysis = Analysis::new(options);
    for (frame, n) in frames.iter().zip(0..) {
        let (time, wire_len) = (Time(n * 10_000), frame.len() as u32);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
    }
    analysis.finish()
}

/// A WRITE of eight packets, of which one arrives trimmed; the receiver asks for it, and all from it on come again.
fn with_one_trimmed() -> Vec<Vec<u8>> {
    let all: Vec<Vec<u8>> = (0..8).map(|psn| write(psn, 8)).collect();
    let mut frames = all.clone();
    frames[3] = trimmed(&all[3], 128);
    frames.push(acknowledge(3, Syndrome::PSN_SEQUENCE_ERROR));
    frames.extend_from_slice(&all[3..]);
    frames.push(acknowledge(7, Syndrome::ACK));
    frames
}

#[test]
fn a_trimmed_packet_is_neither_corrupt_nor_malformed() {
    for options in [Options::default(), Options { reference: true, ..Options::default() }] {
        let report = analyze(&with_one_trimmed(), options);
        let flow = report.flows.iter().find(|flow| flow.dest_qp == 0x11).unwrap();
        let requests = &flow.requests;
        assert_eq!(requests.classes[&Class::Trimmed], 1);
        assert!(!requests.classes.contains_key(&Class::Corrupt), "{:?}", requests.classes);
        // There was time for one more packet before it went back.
        assert_eq!((requests.losses.trimmed, requests.losses.upstream), (Some([1, 1]), Some([0, 1])));
        assert_eq!(requests.losses.corrupt, Some([0, 0]));
        assert_eq!(requests.retransmits, 5);
        assert_eq!((flow.icrc.bad, flow.icrc.unchecked), (0, 1));
        assert_eq!(report.head.capture.malformed_packets, 0);
        let [episode] = &report.episodes[..] else { panic!("{:?}", report.episodes) };
        assert_eq!((episode.location, episode.lost_psn), (Location::Trimmed, 3));
        let ids: Vec<&str> = report.head.findings.iter().map(|finding| &*finding.id).collect();
        assert!(ids.contains(&"trimmed") && !ids.contains(&"corrupt"), "{ids:?}");
    }
}

/// A packet of a flow that nothing was seen of: its headers are right, so the flow exists.
#[test]
fn a_trimmed_packet_begins_a_flow() {
    let report = analyze(&[trimmed(&write(4, 8), 96)], Options::default());
    assert_eq!(report.flows.len(), 1);
    assert_eq!(report.flows[0].requests.classes[&Class::Trimmed], 1);
}

/// UDP's length alone proves nothing: where the last bytes are the ICRC, the packet is whole and the length is wrong. Where IP's
/// checksum is wrong too, the packet is corrupt.
#[test]
fn a_wrong_length_is_not_trimming() {
    let state = |frame: &[u8]| icrc::verify(&dissect(Link::ETHERNET, frame, frame.len() as u32));
    assert_eq!(state(&write(1, 8)), State::Good);
    assert_eq!(state(&trimmed(&write(1, 8), 128)), State::Trimmed);
    let mut corrupt = trimmed(&write(1, 8), 128);
    corrupt[14 + 8] ^= 1;
    assert_eq!(state(&corrupt), State::Bad);

    let mut longer = write(1, 8);
    let udp = 14 + Ipv4::LEN;
    let said = u16::from_be_bytes([longer[udp + 4], longer[udp + 5]]);
    longer[udp + 4..udp + 6].copy_from_slice(&(said + 8).to_be_bytes());
    let right = icrc::compute(&dissect(Link::ETHERNET, &longer, longer.len() as u32)).unwrap();
    let at = longer.len() - 4;
    longer[at..].copy_from_slice(&right);
    assert_eq!(state(&longer), State::Good);
}

/// A trimming of the craft module, of a packet over IPv4 or IPv6.
fn cut(frame: &[u8], lengths: Lengths) -> Vec<u8> {
    let mut frame = frame.to_vec();
    assert!(Trim { bytes: 128, dscp: Some(11), lengths }.apply(Link::ETHERNET, &mut frame));
    frame
}

#[test]
fn all_three_ways_to_trim_are_known() {
    for lengths in Lengths::ALL {
        for options in [Options::default(), Options { reference: true, ..Options::default() }] {
            let all: Vec<Vec<u8>> = (0..8).map(|psn| write(psn, 8)).collect();
            let mut frames = all.clone();
            // The second one, whose length tells nothing, is known by the first.
            (frames[3], frames[7]) = (cut(&all[3], lengths), cut(&all[7], lengths));
            frames.push(acknowledge(3, Syndrome::PSN_SEQUENCE_ERROR));
            frames.extend_from_slice(&all[3..]);
            frames.push(acknowledge(7, Syndrome::ACK));
            let report = analyze(&frames, options);
            let flow = report.flows.iter().find(|flow| flow.dest_qp == 0x11).unwrap();
            let what = format!("{lengths:?}: {:?}", flow.requests.classes);
            assert_eq!(flow.requests.classes.get(&Class::Trimmed), Some(&2), "{what}");
            assert!(!flow.requests.classes.contains_key(&Class::Corrupt), "{what}");
            assert_eq!((flow.icrc.bad, report.head.capture.malformed_packets), (0, 0), "{what}");
            assert_eq!(flow.requests.losses.trimmed, Some([2, 2]), "{what}");
            // There was time for one more packet before it went back.
            assert_eq!(flow.requests.losses.upstream, Some([0, 1]), "{what}");
            let [row] = &report.head.trimmed[..] else { panic!("{:?}", report.head.trimmed) };
            assert_eq!((row.packets, row.frame_bytes, row.dscp, row.senders), (2, 128, 11, 1));
            assert_eq!(row.lengths.name(), lengths.name());
        }
    }
}

/// A trimmed packet is in a class of its own, and comes before packets that were sent before it.
#[test]
fn what_was_trimmed_is_known_by_its_number() {
    let all: Vec<Vec<u8>> = (0..8).map(|psn| write(psn, 8)).collect();
    let order = [0, 1, 2, 5, 3, 4, 6, 7];
    let mut frames: Vec<Vec<u8>> = order.iter().map(|&n: &usize| all[n].clone()).collect();
    frames[3] = trimmed(&all[5], 128);
    frames.push(acknowledge(5, Syndrome::PSN_SEQUENCE_ERROR));
    frames.extend_from_slice(&all[5..]);
    frames.push(acknowledge(7, Syndrome::ACK));
    let report = analyze(&frames, Options::default());
    let flow = report.flows.iter().find(|flow| flow.dest_qp == 0x11).unwrap();
    assert_eq!(flow.requests.losses.trimmed, Some([1, 1]));
    // There was time for one more packet before it went back.
    assert_eq!(flow.requests.losses.upstream, Some([0, 1]));
    assert_eq!(flow.requests.classes.get(&Class::LateOriginal), None, "{:?}", flow.requests.classes);
}

/// A tool that loses how long frames were leaves the same as a switch that writes no length anew: without a longer frame, nothing is
/// said.
#[test]
fn frames_without_their_ends_are_not_trimmed() {
    let frames: Vec<Vec<u8>> = (0..8).map(|psn| write(psn, 8)[..96].to_vec()).collect();
    let report = analyze(&frames, Options::default());
    assert!(report.head.trimmed.is_empty(), "{:?}", report.head.trimmed);
    let given = Options { trim: Some(TrimProfile::parse("96").unwrap()), ..Options::default() };
    assert_eq!(analyze(&frames, given).head.trimmed[0].packets, 8);
}

#[test]
fn simulated_trimming_is_counted_exactly() {
    for lengths in ["ip", "none", "all"] {
        for (seed, more) in (1..4).flat_map(|seed| [(seed, ""), (seed, "ahead = \"2us\"\nnak = true")]) {
            for recovery in ["go_back_n", "selective"] {
                let text = format!(
                    "seed = {seed}\n[trim]\nlengths = \"{lengths}\"\ndscp = 7\n{more}\n[[connection]]\nrecovery = \"{recovery}\"\nip_id = \"flow\"\n\
                     operations = [{{ op = \"write\", size = \"256KiB\", count = 8 }}]\n[[segment]]\ndelay = \"2us\"\nright = {{ trim = 0.01 }}\n[[segment]]\ndelay = \"2us\"\n"
                );
                let run = rdmawire::sim::run(&rdmawire::sim::Scenario::parse(&text).unwrap()).unwrap();
                let mut analysis = Analysis::new(Options::default());
                let mut frames = run.frames(0);
                while let Some(frame) = frames.next() {
                    let (time, frame) = (Time(frame.time_ns), frame.bytes);
                    let wire_len = frame.len() as u32;
                    analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
                }
                let report = analysis.finish();
                let truth: u64 = run.labels(0).flows.iter().map(|flow| flow.requests.trimmed).sum();
                assert!(truth > 5, "{text}");
                let said: u64 = report.head.trimmed.iter().map(|row| row.packets).sum();
                // Before a whole packet was seen, nothing tells a switch that writes no length from a tool that loses them; and where all
                // lengths are new, the last packet of a message may have any length.
                let unknown = truth - said;
                assert!(unknown == 0 || lengths != "ip" && unknown == 1, "{said} of {truth}: {text}");
                assert!(report.head.capture.malformed_packets <= unknown, "{text}");
                let flow = report
                    .flows
                    .iter()
                    .find(|flow| flow.requests.classes.contains_key(&Class::Trimmed))
                    .unwrap();
                assert_eq!(flow.requests.losses.trimmed, Some([said, said]), "{text}");
                assert!(flow.requests.losses.upstream.is_some_and(|[least, _]| least <= unknown), "{text}");
                let corrupt = flow.requests.classes.get(&Class::Corrupt).copied().unwrap_or(0);
                assert!(corrupt <= unknown, "{text}");
            }
        }
    }
}

/// A switch trims before a mirror puts its headers around what is left.
#[test]
fn what_a_mirror_saw_trimmed_is_trimmed_inside_its_headers() {
    for wrap in ["none", "erspan2", "erspan3", "vxlan"] {
        for fcs in [false, true] {
            let text = format!(
                "[trim]\nbytes = 128\n[[connection]]\noperations = [{{ op = \"write\", size = \"256KiB\", count = 4 }}]\n\
                 [[segment]]\ndelay = \"2us\"\nright = {{ trim = 0.02 }}\n[[segment]]\ndelay = \"2us\"\n[[tap]]\nfcs = {fcs}\nwrap = \"{wrap}\"\n"
            );
            let run = rdmawire::sim::run(&rdmawire::sim::Scenario::parse(&text).unwrap()).unwrap();
            let truth: u64 = run.labels(0).flows.iter().map(|flow| flow.requests.trimmed).sum();
            assert!(truth > 3, "{text}");
            let mut analysis = Analysis::new(Options::default());
            let (mut trimmed, mut frames) = (0, run.frames(0));
            while let Some(frame) = frames.next() {
                let (bytes, wire_len, time) = (frame.bytes.to_vec(), frame.wire_len, Time(frame.time_ns));
                analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame: &bytes });
                let d = dissect(Link::ETHERNET, &bytes, wire_len);
                if icrc::verify(&d) != State::Trimmed {
                    assert_eq!(icrc::verify(&d), State::Good, "{text}");
                    continue;
                }
                trimmed += 1;
                let around = d.layers().iter().rfind(|layer| layer.kind == Kind::Ethernet).unwrap().at;
                assert_eq!(bytes.len(), around as usize + 128 + if fcs { 4 } else { 0 }, "{text}");
                let (before, last) = bytes.split_last_chunk::<4>().unwrap();
                assert_eq!(icrc::fcs(before) == *last, fcs, "{text}");
                // The mirror's lengths and checksum are those of what it sends: all is rebuilt as it is.
                assert_eq!(Packet::from(&d).build(), bytes, "{text}");
                let outermost = Ipv4::view(&bytes[14..]).unwrap().0;
                assert_eq!(usize::from(outermost.total_len()), bytes.len() - 14 - if fcs { 4 } else { 0 });
            }
            assert_eq!(trimmed, truth, "{text}");
            let report = analysis.finish();
            assert_eq!(report.head.trimmed.iter().map(|row| row.packets).sum::<u64>(), truth, "{text}");
            assert_eq!(report.head.capture.malformed_packets, 0, "{text}");
        }
    }
}

/// What no switch trims is not played, for the truth would count it.
#[test]
fn a_scenario_trims_only_what_can_be_trimmed() {
    let faults = "[[segment]]\nright = { trim = 0.01 }\n[[segment]]\n";
    let event = "[[event]]\ndo = \"trim\"\n";
    let v6 = "[[host]]\nname = \"a\"\naddress = \"fd00::1\"\n[[host]]\nname = \"b\"\naddress = \"fd00::2\"\n";
    let connection = |more: &str| {
        format!("[[connection]]\n{more}\noperations = [{{ op = \"write\", size = \"64KiB\", count = 4 }}]\n")
    };
    for (text, says) in [
        (connection("encapsulation = \"ib\"") + faults, "switches trim RoCEv2 only"),
        (connection("encapsulation = \"ib\"") + event, "an event that trims: switches trim RoCEv2 only"),
        (format!("{v6}{}{faults}", connection("encapsulation = \"rocev1\"")), "switches trim RoCEv2 only"),
        (format!("[trim]\nbytes = 60\n{v6}{}{faults}", connection("")), "bytes = 60: expected at least 74"),
        (
            format!("[trim]\nbytes = 54\n{}{event}", connection("vlan = 7")),
            "bytes = 54: expected at least 58",
        ),
        (format!("[trim]\nbytes = 54\n{}{event}", connection("")), ""),
        (
            format!("[trim]\nlengths = \"none\"\n{}{event}[[tap]]\nwrap = \"vxlan\"\n", connection("")),
            "it looks as if the mirror had cut the packet",
        ),
        (connection("encapsulation = \"ib\""), ""),
    ] {
        let run = rdmawire::sim::run(&rdmawire::sim::Scenario::parse(&text).unwrap());
        let said = run.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.contains(says) && said.is_empty() == says.is_empty(), "{text}: {said}");
    }
}

/// A packet whose receiver must acknowledge it.
fn only(psn: u32) -> Vec<u8> {
    let bth = Bth::default().with_opcode(Opcode::RC_SEND_ONLY).with_dest_qp(Qpn(0x11)).with_psn(Psn(psn));
    Packet::rocev2(A, B).push(bth.with_ack_req(true)).payload(vec![7; 1024]).build().to_vec()
}

/// A receiver that keeps early packets lacks three, and asks for one after the other, each time before the sender's next packet passes. `at_tap`: what
/// becomes of these between the sender and the tap, or between two taps, of which the second one is 2 us behind the first.
fn three_asked_for(at_tap: impl Fn(&[u8]) -> Option<Vec<u8>>, taps: u16) -> Report {
    const WAY_NS: i64 = 2_000;
    let mut frames = Vec::new();
    let tap = i64::from(taps - 1);
    let mut there = |time: i64, frame: Vec<u8>, becomes: &dyn Fn(&[u8]) -> Option<Vec<u8>>| {
        let last = becomes(&frame);
        if tap > 0 {
            frames.push((time, 0, Link::ETHERNET, frame));
        }
        frames.extend(last.map(|last| (time + tap * WAY_NS, taps - 1, Link::ETHERNET, last)));
    };
    let whole = |frame: &[u8]| Some(frame.to_vec());
    for psn in 0..64 {
        let is_lacked = (10..13).contains(&psn);
        there(i64::from(psn) * 100, only(psn), if is_lacked { &at_tap } else { &whole });
    }
    for (n, psn) in (0..).zip(10..13) {
        there(8_000 + n * 8_200, only(psn), &whole);
    }
    let mut back = |time: i64, frame: Vec<u8>| {
        for at in 0..taps {
            let later = (tap - i64::from(at)) * WAY_NS;
            frames.push((time + later, at, Link::ETHERNET, frame.clone()));
        }
    };
    (0..10).for_each(|psn| back(i64::from(psn) * 100 + 4_000, acknowledge(psn, Syndrome::ACK)));
    for (n, psn) in (0..).zip(10..13) {
        let time = if n == 0 { 5_100 } else { 1_900 + n * 8_200 };
        back(time, acknowledge(psn, Syndrome::PSN_SEQUENCE_ERROR));
    }
    back(40_000, acknowledge(63, Syndrome::ACK));
    let mut analysis = Analysis::new(Options::default());
    (0..taps).for_each(|at| analysis.interface(at, format!("tap{at}"), None));
    crate::support::merged::push_in_order(frames, &mut analysis);
    analysis.finish()
}

/// What was asked for was lost, whatever else was asked for since.
#[test]
fn each_packet_that_was_asked_for_is_a_retransmission() {
    let report = three_asked_for(|_| None, 1);
    let flow = report.flows.iter().find(|flow| flow.dest_qp == 0x11).unwrap();
    let requests = &flow.requests;
    assert_eq!(requests.classes.get(&Class::LateOriginal), None, "{:?}", requests.classes);
    assert_eq!((requests.retransmits, requests.losses.upstream.map(|[_, most]| most)), (3, Some(3)));
    assert!(report.head.findings.iter().all(|finding| finding.id != "reorder.nak"));
}

/// A switch cuts packets, or those between two taps: none of them is lost, and what comes whole was sent again.
#[test]
fn what_is_asked_for_because_it_was_trimmed_is_not_lost() {
    for taps in [1, 2] {
        let report = three_asked_for(|frame| Some(trimmed(frame, 128)), taps);
        let flow = report.flows.iter().find(|flow| flow.dest_qp == 0x11).unwrap();
        let requests = &flow.requests;
        assert_eq!(requests.classes.get(&Class::LateOriginal), None, "{taps}: {:?}", requests.classes);
        assert_eq!((requests.retransmits, requests.classes[&Class::Trimmed]), (3, 3), "{taps}");
        assert_eq!(requests.losses.trimmed, Some([3, 3]), "{taps}");
        assert_eq!(requests.losses.upstream.map(|[least, _]| least), Some(0), "{taps}");
        assert_eq!(requests.losses.downstream.map(|[least, _]| least), Some(0), "{taps}");
        assert_eq!(requests.spurious, Some(0), "{taps}");
        assert!(report.episodes.iter().all(|episode| episode.location == Location::Trimmed), "{taps}");
    }
}

/// Nothing is behind it, and yet it was sent before.
#[test]
fn what_comes_behind_its_own_stump_was_sent_again() {
    let mut frames: Vec<Vec<u8>> = (0..8).map(|psn| write(psn, 8)).collect();
    let last = frames[7].clone();
    frames[7] = trimmed(&last, 128);
    frames.extend([acknowledge(7, Syndrome::PSN_SEQUENCE_ERROR), last, acknowledge(7, Syndrome::ACK)]);
    for options in [Options::default(), Options { reference: true, ..Options::default() }] {
        let report = analyze(&frames, options);
        let flow = report.flows.iter().find(|flow| flow.dest_qp == 0x11).unwrap();
        let requests = &flow.requests;
        assert_eq!(
            (requests.retransmits, requests.losses.trimmed),
            (1, Some([1, 1])),
            "{:?}",
            requests.classes
        );
        assert_eq!((requests.losses.upstream, requests.losses.capture), (Some([0, 0]), Some([0, 0])));
        assert_eq!(flow.goodput_bytes, 8 * 1024);
    }
}

/// In SRv6, an IP header is right around that of the packet. No mirror cuts so: whichever lengths are new, it was trimmed.
#[test]
fn what_is_trimmed_in_srv6_is_trimmed() {
    let text = "eth / ipv6 dst=fcbb::1 / ipv6 / udp / bth opcode=7 psn=5 / payload 1024";
    let whole = rdmawire::craft::recipe::parse(text).unwrap().build().to_vec();
    let state = |frame: &[u8]| {
        let d = dissect(Link::ETHERNET, frame, frame.len() as u32);
        assert!(!d.is_cut(), "{d:?}");
        icrc::verify(&d)
    };
    assert_eq!(state(&whole), State::Good);
    let mut cut = whole[..160].to_vec();
    assert_eq!(state(&cut), State::Trimmed);
    cut[18..20].copy_from_slice(&(160 - 54_u16).to_be_bytes());
    assert_eq!(state(&cut), State::Trimmed);
    // What the capture cut is not.
    let d = dissect(Link::ETHERNET, &whole[..160], whole.len() as u32);
    assert_eq!(icrc::verify(&d), State::Unchecked);
}
