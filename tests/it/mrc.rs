//! The Multipath Reliable Connection: crafted, dissected, rebuilt, filtered, shown.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::support::{
    programs::{cli, ended, printed},
    scratch::Scratch,
};
use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    craft::{Channel, Data, Packet, Path, Request, Spray, recipe, template},
    dissect::{Dissection, Link, dissect},
    filter::{Filter, FrameMeta},
    frame::Info,
    icrc::{self, State},
    opcode::{Chain, Opcode, Transport},
    report::{PathState, Reason},
    wire::*,
};

pub(crate) const V4: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))];
const V6: [IpAddr; 2] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2)),
];

/// A packet of this code, whose headers have bytes of their own; with a time stamp, where its code may have one.
fn packet([src, dst]: [IpAddr; 2], opcode: Opcode, has_time: bool) -> Packet {
    let bth = MrcBth::default()
        .with_opcode(MrcOpcode(opcode.code))
        .with_p_key(PKey(0xffff))
        .with_dest_qp(Qpn(0x112))
        .with_rtx(true)
        .with_ts(has_time)
        .with_psn(Psn(77));
    let mut packet = Packet::rocev2(src, dst).push(bth);
    let view = Bth::view(bth.bytes()).unwrap().0;
    for &kind in Chain::of(opcode, view).kinds() {
        let bytes: Vec<u8> =
            (0..template(kind).len() as u8).map(|n| n.wrapping_mul(37) ^ kind as u8).collect();
        packet = packet.push_bytes(kind, bytes);
    }
    let len = match opcode.payload_rule() {
        rdmawire::opcode::PayloadRule::None => 0,
        _ => 256,
    };
    packet.payload(vec![0x5a; len])
}

fn all() -> impl Iterator<Item = (Packet, Opcode, bool)> {
    let codes = || Opcode::of_transport(Transport::Mrc);
    [V4, V6].into_iter().flat_map(move |ends| {
        codes().flat_map(move |code| [false, true].map(|ts| (packet(ends, code, ts), code, ts)))
    })
}

pub(crate) fn whole(packet: &Packet) -> Vec<u8> {
    packet.build().to_vec()
}

fn read(frame: &[u8]) -> Dissection<'_> {
    dissect(Link::ETHERNET, frame, frame.len() as u32)
}

#[test]
fn each_packet_is_dissected_and_built_again_bit_for_bit() {
    for (packet, opcode, has_time) in all() {
        let frame = whole(&packet);
        let d = read(&frame);
        assert!(d.notes().is_empty(), "{d:?}");
        assert_eq!(d.opcode(), Some(opcode));
        assert_eq!(icrc::verify(&d), State::Good);
        let kinds: Vec<Kind> =
            opcode.chain().iter().copied().filter(|&kind| kind != Kind::Tseth || has_time).collect();
        assert_eq!(d.chain().kinds(), kinds);
        for part in packet.parts().iter().filter(|part| part.kind.is_extended()) {
            let at = d.offset(part.kind).unwrap();
            assert_eq!(&frame[at..at + part.len as usize], packet.bytes_of(part), "{:?}", part.kind);
        }
        assert_eq!(Packet::from(&d).build(), frame, "{opcode}");
        let text = recipe::print(&Packet::from(&d));
        assert_eq!(recipe::parse(&text).unwrap().build(), frame, "{text}");
        assert!(Info::new(&d, State::Good).to_string().starts_with(opcode.name().unwrap()));
    }
}

#[test]
fn cut_anywhere_it_is_no_error_and_is_built_again() {
    for (packet, ..) in all() {
        let frame = whole(&packet);
        for cut in 0..frame.len() {
            let d = dissect(Link::ETHERNET, &frame[..cut], frame.len() as u32);
            assert_ne!(d.severity(), Some(rdmawire::dissect::Severity::Error), "{cut}: {d:?}");
            assert_eq!(icrc::verify(&d), State::Unchecked);
            assert_eq!(Packet::from(&d).build(), &frame[..cut], "{cut}");
            // The frame itself ends there.
            let short = dissect(Link::ETHERNET, &frame[..cut], cut as u32);
            assert_eq!(Packet::from(&short).build(), &frame[..cut], "{cut}");
        }
    }
}

/// What its ICRC covers exactly is not published: a wrong one is no corruption.
#[test]
fn a_wrong_icrc_is_not_judged() {
    let mut frame = whole(&packet(V6, Opcode::MRC_WRITE_ONLY, true));
    *frame.last_mut().unwrap() ^= 1;
    assert_eq!(icrc::verify(&read(&frame)), State::Unchecked);
}

#[test]
fn operation_codes_tell_it_from_roce_on_one_port() {
    let frame = whole(&packet(V4, Opcode::MRC_SACK, false));
    assert_eq!(read(&frame).opcode().map(|opcode| opcode.transport), Some(Transport::Mrc));
    // A manufacturer's own code, and a version that is none.
    for (byte, value) in [(0, 0xc0u8), (1, 0x41)] {
        let mut other = frame.clone();
        other[14 + 20 + 8 + byte] = value;
        assert_eq!(read(&other).opcode().map(|opcode| opcode.transport), Some(Transport::Ib));
    }
}

#[test]
fn its_other_port_is_known_by_what_is_behind_it() {
    let sack = packet(V4, Opcode::MRC_SACK, false).edit(|udp: Udp| udp.with_dst_port(4971));
    let frame = whole(&sack.clone().keep(rdmawire::craft::ComputedField::UdpDestinationPort));
    assert_eq!(read(&frame).opcode(), Some(Opcode::MRC_SACK));
    assert_eq!(Packet::from(&read(&frame)).build(), frame);
    let mut other = frame;
    other[14 + 20 + 8] = 7;
    assert!(!read(&other).has(Kind::Bth));
}

#[test]
fn filters_know_its_fields() {
    let frame = whole(&packet(V6, Opcode::MRC_WRITE_ONLY, true));
    let d = read(&frame);
    let matches = |text: &str| Filter::parse(text).unwrap().matches(&d, &FrameMeta::default());
    for yes in
        ["bth.rtx", "tseth", "meth.msn", "bth.opcode == mrc-write-only", "bth.psn == 77", "reth && !aeth"]
    {
        assert!(matches(yes), "{yes}");
    }
    for no in ["seth", "neth.reason == 1", "bth.opcode == rc-write-only", "bth.psn == 76"] {
        assert!(!matches(no), "{no}");
    }
}

/// Each packet says by itself where it goes, and on which path it is.
#[test]
fn a_message_is_sprayed_over_its_paths() {
    for (label, ends) in [(false, V4), (true, V6)] {
        let channel = Channel::mrc(Path::rocev2(ends[0], ends[1]), Qpn(0x11), Qpn(0x12));
        let request = Request::Write { len: 40 * 4096 + 5, va: 0x7000, r_key: 9, imm: Some(3) };
        let spray = Spray { paths: 16, port: 0xc000, label };
        let message = channel.request(Psn(0xff_fffe), request).unwrap().data(Data::pattern(1)).spray(spray);
        assert_eq!(message.packets(), 41);
        let mut paths = std::collections::BTreeMap::new();
        for (n, packet) in (0u64..).zip(message.iter()) {
            let frame = packet.build();
            let d = read(&frame);
            assert!(d.notes().is_empty() && icrc::verify(&d) == State::Good, "{d:?}");
            assert_eq!(d.opcode().map(|opcode| opcode.transport), Some(Transport::Mrc));
            assert_eq!(d.get::<Reth>().unwrap().va().0, 0x7000 + n * 4096);
            assert_eq!(d.has(Kind::ImmDt), n == 40);
            let label = d.get::<Ipv6>().map_or(0, |ip| ip.flow_label());
            *paths.entry((label, d.get::<Udp>().unwrap().src_port())).or_insert(0) += 1;
        }
        assert_eq!(paths.len(), 16);
        assert!(paths.values().all(|n| (2..=3).contains(n)), "{paths:?}");
    }
    let refused = Channel::mrc(Path::rocev2(V4[0], V4[1]), Qpn(1), Qpn(2));
    assert!(refused.request(Psn(0), Request::Read { len: 1, va: 0, r_key: 0 }).is_err());
}

fn analyzed(rtx: bool) -> Analysis {
    analyzed_of(rtx, usize::MAX)
}

/// A message over four paths; the packet of one comes again on another, the receiver says why. Frames are cut to a length.
fn analyzed_of(rtx: bool, longest: usize) -> Analysis {
    let channel = Channel::mrc(Path::rocev2(V4[0], V4[1]), Qpn(0x11), Qpn(0x12));
    let request = Request::Write { len: 64 * 4096, va: 0x7000, r_key: 9, imm: None };
    let spray = Spray { paths: 4, port: 0xc000, label: false };
    let message = channel.request(Psn(0xff_fff0), request).unwrap().spray(spray);
    let mut frames: Vec<Packet> = message.iter().collect();
    frames.swap(8, 11);
    let missing = frames.remove(20);
    let back = channel.reversed();
    let lost = Psn(0xff_fff0).plus(20);
    frames.push(back.headers(Opcode::MRC_NACK, Psn(0)).edit(|neth: Neth| {
        neth.with_reason(NackReason::TRIMMED_LAST_HOP).with_nack_psn(lost).with_entropy(Hex32(0xc000))
    }));
    frames.push(
        back.headers(Opcode::MRC_SACK, Psn(0))
            .edit(|seth: Seth| seth.with_cack_psn(Psn(3)).with_m(PathMark(2)).with_entropy(Hex32(0xc000))),
    );
    let again = missing.edit(|bth: MrcBth| bth.with_rtx(rtx)).edit(|udp: Udp| udp.with_src_port(0xc001));
    frames.push(again.keep(rdmawire::craft::ComputedField::UdpSourcePort));
    let mut analysis = Analysis::new(Options::default());
    for (n, packet) in (0i64..).zip(&frames) {
        let frame = packet.build();
        let (time, wire_len) = (Time(n * 1000), frame.len() as u32);
        let frame = &frame[..frame.len().min(longest)];
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
    }
    analysis
}

/// Their operation codes are there; what they say is not.
#[test]
fn answers_that_were_cut_count() {
    let report = analyzed_of(true, 64).finish();
    let [row] = &report.head.mrc[..] else { panic!("{:?}", report.head.mrc) };
    assert_eq!((row.sacks, row.nacks), (Some(1), Some(1)));
    assert_eq!((row.nacks_trimmed, row.nacks_trimmed_last_hop), (None, None));
    assert_eq!((row.skip_once, row.skip_always, row.completed), (None, None, None));
    for field in ["nacks_trimmed", "nacks_trimmed_last_hop", "skip_always", "completed"] {
        assert_eq!(row.why.get(field), Some(&Reason::Truncated), "{field}");
    }
    assert!(!row.why.contains_key("nacks"));
}

pub(crate) fn skipped_and_trimmed() -> Analysis {
    analyzed(true)
}

#[test]
fn retransmissions_by_their_bit_and_by_their_number_agree() {
    for rtx in [true, false] {
        let report = analyzed(rtx).finish();
        let [row] = &report.head.mrc[..] else { panic!("{:?}", report.head.mrc) };
        assert_eq!((row.packets, row.paths, row.inferred_retransmits), (64, 4, 1));
        assert_eq!((row.rtx_packets, row.rtx_agreement), (u64::from(rtx), Some(f64::from(rtx))));
        assert_eq!((row.nacks, row.nacks_trimmed_last_hop), (Some(1), Some(1)));
        assert_eq!((row.sacks, row.skip_always), (Some(1), Some(1)));
        assert_eq!((row.max_reorder_extent, row.lost_before_tap), (3, 0));
        let skipped: Vec<u16> = report
            .head
            .paths
            .iter()
            .filter(|path| path.state == PathState::Skipped)
            .map(|path| path.udp_src_port)
            .collect();
        assert_eq!(skipped, [0xc000]);
        let flow = report.flows.iter().find(|flow| flow.dest_qp == 0x12).unwrap();
        assert!(flow.opcodes.contains_key("MRC RDMA WRITE First"), "{:?}", flow.opcodes);
    }
}

/// Of each connection, some 80 KiB are kept: they count as memory, and there are no more connections than may take a part of it.
#[test]
fn what_is_kept_of_connections_is_bounded_memory() {
    const EACH: usize = 80 << 10;
    for (max_memory, followed) in [(512 << 20, 20), (4 << 20, 6)] {
        let mut analysis = Analysis::new(Options { max_memory, ..Options::default() });
        let before = analysis.memory();
        for qp in 0..20 {
            let channel = Channel::mrc(Path::rocev2(V4[0], V4[1]), Qpn(0x1000 + qp), Qpn(0x2000 + qp));
            let request = Request::Write { len: 4096, va: 0x7000, r_key: 9, imm: None };
            let frame = channel.request(Psn(0), request).unwrap().iter().next().unwrap().build();
            let (time, wire_len) = (Time(i64::from(qp) * 1000), frame.len() as u32);
            analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame: &frame });
        }
        assert_eq!(analysis.so_far().head.mrc.len(), followed);
        assert_eq!((analysis.memory() - before) / EACH, followed);
    }
}

#[test]
fn the_commands_know_it() {
    let dir = Scratch::new("mrc");
    let file = dir.join("mrc.pcap");
    let write =
        ["craft", "write", "--transport", "mrc", "--paths", "4", "--size", "64K", "--mtu", "4096", "-o"];
    printed(cli().args(write).arg(&file));
    let lines = printed(cli().arg("dissect").arg(&file));
    assert_eq!(lines.matches("MRC RDMA WRITE Middle").count(), 14, "{lines}");
    let json = printed(cli().args(["dissect", "--json"]).arg(&file));
    assert!(
        json.contains("\"opcode_name\":\"MRC RDMA WRITE First\"") && json.contains("\"rtx\":false"),
        "{json}"
    );
    assert!(printed(cli().args(["explain", "opcode", "0xdc"])).contains("MRC Reliability SACK"));
    assert!(printed(cli().args(["explain", "seth"])).contains("sack_bitmap"));
    let (code, _, said) =
        ended(cli().args(["craft", "read", "--transport", "mrc", "-o"]).arg(dir.join("x.pcap")));
    assert!(code != Some(0) && said.contains("MRC has no such operation"), "{said}");
}

pub(crate) const PATHS: u16 = 4;

/// WRITEs of one queue pair: a message over four paths in turn, of which `shift` is the first.
pub(crate) fn sprayed(channel: Channel, packets: u32, shift: u16) -> Vec<Vec<u8>> {
    over(channel, packets, |n| (n as u16 + shift) % PATHS, |_| false)
}

/// A message over these paths; `is_again`: the packet says that it is a retransmission.
pub(crate) fn over(
    channel: Channel,
    packets: u32,
    path: impl Fn(u32) -> u16,
    is_again: impl Fn(u32) -> bool,
) -> Vec<Vec<u8>> {
    let request = Request::Write { len: packets * 4096, va: 0x7000, r_key: 9, imm: None };
    let message = channel.request(Psn(100), request).unwrap();
    let on_path = |(n, packet): (u32, Packet)| {
        let port = 0xc000 + path(n);
        let packet = packet.edit(|udp: Udp| udp.with_src_port(port));
        let packet = packet.edit(|bth: MrcBth| bth.with_rtx(is_again(n)));
        whole(&packet.keep(rdmawire::craft::ComputedField::UdpSourcePort))
    };
    (0..).zip(message.iter()).map(on_path).collect()
}

/// The SACK that the `n`-th packet caused, all before it and this one having arrived.
pub(crate) fn sack(channel: Channel, n: u16, shift: u16, sender: u16) -> Vec<u8> {
    let sack = channel.reversed().headers(Opcode::MRC_SACK, Psn(0)).edit(|seth: Seth| {
        seth.with_cack_psn(Psn(100 + u32::from(n)))
            .with_ack_psn_offset(Hex16(0))
            .with_sack_bitmap(Hex64(0))
            .with_entropy(Hex32(u32::from(0xc000 + (n + shift) % PATHS)))
            .with_spdcid(Hex16(sender))
    });
    whole(&sack)
}

/// A report of frames, each with its time and its interface.
pub(crate) fn report_of(frames: Vec<(i64, u16, Vec<u8>)>) -> rdmawire::report::Report {
    let mut analysis = Analysis::new(Options::default());
    let last = frames.iter().map(|(_, interface, _)| *interface).max().unwrap();
    (0..=last).for_each(|interface| analysis.interface(interface, format!("tap{interface}"), None));
    let all = frames.into_iter().map(|(time, interface, frame)| (time, interface, Link::ETHERNET, frame));
    crate::support::merged::push_in_order(all.collect(), &mut analysis);
    analysis.finish()
}

/// Two queue pairs between the same hosts, with the same PSNs: answers go to the one that sends, which paths or numbers tell, or nothing does.
#[test]
fn answers_are_of_the_queue_pair_that_they_go_to() {
    let path = Path::rocev2(V4[0], V4[1]);
    let channels = [(0x12, 0x11), (0x14, 0x13)].map(|(src, dst)| Channel::mrc(path, Qpn(src), Qpn(dst)));
    for (shift, has_number) in [(1, false), (0, true), (0, false)] {
        let mut frames = Vec::new();
        for (at, (&channel, shift)) in (0i64..).zip(channels.iter().zip([0, shift])) {
            for (n, frame) in (0..).zip(sprayed(channel, 32, shift)) {
                frames.push((i64::from(n) * 100 + at * 50, 0, frame));
                let sender = if has_number { channel.dst_qp.0 as u16 } else { 0 };
                frames.push((i64::from(n) * 100 + at * 50 + 3_000, 0, sack(channel, n, shift, sender)));
            }
        }
        let report = report_of(frames);
        let rows = &report.head.mrc;
        let is_told = shift > 0 || has_number;
        let sacks: Vec<_> = rows.iter().map(|row| (row.packets, row.sacks)).collect();
        assert_eq!(sacks, [(32, is_told.then_some(32)); 2], "{shift} {has_number}");
        for row in rows.iter().filter(|_| !is_told) {
            assert_eq!(row.why.get("sacks"), Some(&Reason::SeveralConnections));
        }
        for row in rows.iter().filter(|_| is_told) {
            assert_eq!((row.completed, row.spurious_retransmits), (Some(1), 0), "{shift} {has_number}");
        }
    }
}

/// Three taps: what came to the last one before it was known to be the last.
#[test]
fn of_three_taps_the_last_one_tells_the_transit() {
    let channel = Channel::mrc(Path::rocev2(V4[0], V4[1]), Qpn(0x12), Qpn(0x11));
    let mut frames = Vec::new();
    for (n, frame) in (0..).zip(sprayed(channel, 256, 0)) {
        let sent = i64::from(n) * 100;
        (0..3).for_each(|tap| frames.push((sent + i64::from(tap) * 2_000, tap, frame.clone())));
        (0..3).for_each(|tap| {
            frames.push((sent + 5_000 + i64::from(2 - tap) * 2_000, tap, sack(channel, n, 0, 0)));
        });
    }
    let report = report_of(frames);
    assert_eq!(report.head.paths.len(), usize::from(PATHS));
    for path in &report.head.paths {
        assert_eq!((path.transit_mean_ns, path.lost, path.packets), (Some(4_000), 0, 64), "{path:?}");
    }
}

/// The network swaps neighbours behind the tap, and one path is slower: only what more packets overtake than there are paths is late.
#[test]
fn a_slow_path_behind_the_tap_is_told_from_jitter() {
    const SLOW: u32 = 2;
    let channel = Channel::mrc(Path::rocev2(V4[0], V4[1]), Qpn(0x12), Qpn(0x11));
    let (mut frames, mut arrivals) = (Vec::new(), Vec::new());
    for (n, frame) in (0u32..).zip(sprayed(channel, 256, 0)) {
        let slower = if n % u32::from(PATHS) == SLOW { 3_000 } else { i64::from(n % 3) * 150 };
        frames.push((i64::from(n) * 100, 0, frame));
        arrivals.push((i64::from(n) * 100 + 2_000 + slower, n));
    }
    arrivals.sort_unstable();
    let (mut cumulative, mut arrived) = (-1, std::collections::BTreeSet::new());
    for (time, n) in arrivals {
        arrived.insert(i64::from(n));
        while arrived.contains(&(cumulative + 1)) {
            cumulative += 1;
        }
        let bitmap = (0..64)
            .filter(|bit| arrived.contains(&(cumulative + 1 + bit)))
            .fold(0u64, |all, bit| all | 1 << bit);
        let sack = channel.reversed().headers(Opcode::MRC_SACK, Psn(0)).edit(|seth: Seth| {
            seth.with_cack_psn(Psn(100).plus(cumulative as u32))
                .with_ack_psn_offset(Hex16((i64::from(n) - cumulative) as u16))
                .with_sack_offset(Hex16(1))
                .with_sack_bitmap(Hex64(bitmap))
                .with_entropy(Hex32(0xc000 + n % u32::from(PATHS)))
        });
        frames.push((time + 2_000, 0, whole(&sack)));
    }
    let report = report_of(frames);
    for path in &report.head.paths {
        let is_slow = path.udp_src_port == 0xc000 + SLOW as u16;
        assert_eq!(path.state == PathState::Slow, is_slow, "{path:?}");
        assert_eq!(path.late > 0, is_slow, "{path:?}");
    }
    let [row] = &report.head.mrc[..] else { panic!("{:?}", report.head.mrc) };
    assert_eq!((row.retransmits, row.inferred_retransmits, row.rtx_agreement), (0, 0, None));
}

/// States of the paths that stand out, by port.
pub(crate) fn standing_out(report: &rdmawire::report::Report) -> Vec<(u16, PathState)> {
    let bad = report.head.paths.iter().filter(|path| path.state != PathState::Good);
    let mut bad: Vec<_> = bad.map(|path| (path.udp_src_port - 0xc000, path.state)).collect();
    bad.sort_unstable_by_key(|(port, _)| *port);
    bad
}

/// A sender that takes a path for a burst has not left the others; one that it does not come back to, as it does to the others, carries nothing any more.
#[test]
fn paths_that_wait_for_their_burst_are_not_dead() {
    const BURST: u32 = 64;
    let channel = Channel::mrc(Path::rocev2(V4[0], V4[1]), Qpn(0x12), Qpn(0x11));
    let report = |packets: u32, path: &dyn Fn(u32) -> u16| {
        let frames = (0i64..).zip(over(channel, packets, path, |_| false));
        report_of(frames.map(|(n, frame)| (n * 100, 0, frame)).collect())
    };
    for bursts in 1..12 {
        let in_turn = report(bursts * BURST, &|n| (n / BURST) as u16 % PATHS);
        assert_eq!(standing_out(&in_turn), [], "{bursts}");
    }
    let left = |n: u32| match (n / BURST) as u16 {
        burst if burst < 8 => burst % PATHS,
        burst => burst % (PATHS - 1),
    };
    assert_eq!(standing_out(&report(32 * BURST, &left)), [(3, PathState::Dead)]);
}

/// At the receiver, most answers come at once, and some later. That one path has more of these is by chance.
#[test]
fn a_few_late_answers_are_no_slow_path() {
    let channel = Channel::mrc(Path::rocev2(V4[0], V4[1]), Qpn(0x12), Qpn(0x11));
    for (late, slow) in [(8, vec![]), (64, vec![(1, PathState::Slow)])] {
        let mut frames = Vec::new();
        for (n, frame) in (0u16..).zip(sprayed(channel, 256, 0)) {
            let (path, round) = (n % PATHS, n / PATHS);
            let most = if path == 1 { late } else { 1 };
            let took = if round < most { 3_000 } else { 100 };
            frames.push((i64::from(n) * 100, 0, frame));
            frames.push((i64::from(n) * 100 + took, 0, sack(channel, n, 0, 0)));
        }
        assert_eq!(standing_out(&report_of(frames)), slow, "{late}");
    }
}

/// Paths that are chosen by chance, each as often: what was lost before the tap is missing on those that lose.
#[test]
fn several_paths_that_carry_too_little_are_named() {
    const ALL: u32 = 24;
    let channel = Channel::mrc(Path::rocev2(V4[0], V4[1]), Qpn(0x12), Qpn(0x11));
    // Each round has another order.
    let path = |n: u32| ((n % ALL) * [1, 5, 7, 11, 13][(n / ALL) as usize % 5] % ALL) as u16;
    let is_lost = |n: u32| [3, 17].contains(&path(n)) && (n / ALL) % 4 == 2;
    let sent = over(channel, 80 * ALL, path, |_| false);
    // Each of the others carries as many retransmissions.
    let other = |n: u32| {
        let nth = (n / ALL / 2 + u32::from(path(n) == 17)) % (ALL - 2);
        (nth + u32::from(nth >= 3) + u32::from(nth >= 16)) as u16
    };
    let again = over(channel, 80 * ALL, other, |_| true);
    let mut frames = Vec::new();
    for (n, (sent, again)) in (0u32..).zip(sent.into_iter().zip(again)) {
        match is_lost(n) {
            true => frames.push((i64::from(n) * 100 + 20_000, 0, again)),
            false => frames.push((i64::from(n) * 100, 0, sent)),
        }
    }
    frames.sort_by_key(|(time, ..)| *time);
    let report = report_of(frames);
    assert_eq!(standing_out(&report), [(3, PathState::Lossy), (17, PathState::Lossy)]);
    assert_eq!(report.head.mrc[0].lost_before_tap, 40);
}

/// Acknowledgements that are lost make a sender repeat what had arrived, on all paths: that says nothing of what one path loses.
#[test]
fn needless_retransmissions_on_all_paths_are_no_slow_path() {
    let channel = Channel::mrc(Path::rocev2(V4[0], V4[1]), Qpn(0x12), Qpn(0x11));
    let all = 512;
    let sent = sprayed(channel, all, 0);
    let again = over(channel, all, |n| (n as u16 + 1) % PATHS, |_| true);
    let mut frames = Vec::new();
    for (n, (sent, again)) in (0u16..).zip(sent.into_iter().zip(again)) {
        let (path, round, time) = (n % PATHS, n / PATHS, i64::from(n) * 100);
        frames.push((time, 0, sent));
        match round % 25 {
            // What was repeated had arrived: the answer names the first path.
            7 => {
                frames.push((time + 5_000, 0, again));
                frames.push((time + 6_000, 0, named(channel, n, path)));
            }
            round if round % 3 == 1 && path == 1 => frames.push((time + 5_000, 0, again)),
            round if round % 4 == 2 => frames.push((time + 4_000, 0, named(channel, n, path))),
            _ => {}
        }
    }
    let report = report_of(frames);
    assert_eq!(standing_out(&report), [(1, PathState::Lossy)], "{:#?}", report.head.paths);
}

/// The SACK for the `n`-th packet, on this path, before which nothing is said to have arrived.
fn named(channel: Channel, n: u16, path: u16) -> Vec<u8> {
    let sack = channel.reversed().headers(Opcode::MRC_SACK, Psn(0)).edit(|seth: Seth| {
        seth.with_cack_psn(Psn(99))
            .with_ack_psn_offset(Hex16(n + 1))
            .with_sack_offset(Hex16(n + 1))
            .with_sack_bitmap(Hex64(1))
            .with_entropy(Hex32(0xc000 + u32::from(path)))
    });
    whole(&sack)
}

/// With the bit, what comes without it was sent first, however many retransmissions overtook it.
#[test]
fn a_first_transmission_behind_its_retransmissions_is_out_of_order() {
    const LATE: usize = 20;
    let channel = Channel::mrc(Path::rocev2(V4[0], V4[1]), Qpn(0x12), Qpn(0x11));
    let again = over(channel, 64, |n| (n as u16 + 1) % PATHS, |_| true).swap_remove(LATE);
    let mut frames = Vec::new();
    for (n, sent) in (0..).zip(sprayed(channel, 64, 0)) {
        let late = if n == LATE { 40_000 } else { 0 };
        frames.push((n as i64 * 100 + late, 0, sent));
    }
    frames.push((20_000, 0, again.clone()));
    frames.push((21_000, 0, sack(channel, LATE as u16, 1, 0)));
    frames.push((30_000, 0, again));
    frames.sort_by_key(|(time, ..)| *time);
    let report = report_of(frames);
    let [row] = &report.head.mrc[..] else { panic!("{:?}", report.head.mrc) };
    assert_eq!((row.packets, row.rtx_packets, row.retransmits), (66, 2, 2), "{row:?}");
    assert_eq!((row.reordered, row.max_reorder_extent), (1, 43), "{row:?}");
}
