//! The analysis and its slow reference mode have one report, whatever the frames and however they come in.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{self, Record, Source, Time},
    checksum::internet,
    craft::{
        mutate::{Base, Mutants},
        rewrite::{Plan, Rewriter},
    },
    dissect::{Encapsulation, Link, dissect},
    opcode::Service,
    wire::*,
};

use crate::{
    properties::{Random, analysis::push_prepared, tunnel},
    support::{
        trace::{self, Frame},
        traffic::{both_ways, of_every_operation},
    },
};

fn report(analysis: Analysis) -> String {
    serde_json::to_string(&analysis.finish()).expect("a report is JSON")
}

fn options() -> Options {
    Options { interval_ns: Some(1_000_000), ..Options::default() }
}

#[test]
fn captures_have_one_report() {
    let mut captures = 0;
    for path in files() {
        let Ok(mut source) = capture::open(&path) else { continue };
        let mut plain = Analysis::new(options());
        let mut reference = Analysis::new(Options { reference: true, ..options() });
        while let Ok(Some(record)) = source.next() {
            plain.push(&record);
            reference.push(&record);
        }
        assert!(report(plain) == report(reference), "{}", path.display());
        captures += 1;
    }
    assert!(captures > 5 || cfg!(not(feature = "compression")), "{captures}");
}

#[test]
fn mutants_have_one_report() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps/loss1_rc_write-B-300.pcap");
    let mut bases = Vec::new();
    let mut source = capture::open(&path).expect("the capture is there");
    while let Ok(Some(record)) = source.next() {
        bases.push(Base::of("", &dissect(record.link, record.frame, record.wire_len)));
    }
    assert!(bases.len() > 100);
    let (mut seen, mut malformed) = (0, 0);
    for mutant in Mutants::new(bases, 7).take(8_000) {
        let mut record = Record {
            time: Time(1_000),
            link: mutant.link,
            interface: 0,
            wire_len: mutant.wire_len,
            frame: &mutant.frame,
        };
        let mut plain = Analysis::new(options());
        let mut reference = Analysis::new(Options { reference: true, ..options() });
        for n in 0..2 {
            record.time = Time(1_000 + n);
            plain.push(&record);
            reference.push(&record);
        }
        let plain = plain.finish();
        malformed += plain.head.capture.malformed_packets;
        seen += plain.flows.len();
        let (plain, reference) = (serde_json::to_string(&plain), serde_json::to_string(&reference.finish()));
        assert!(plain.ok() == reference.ok(), "{}", mutant.mutation);
    }
    assert!(seen > 2_000 && malformed > 400, "{seen} {malformed}");
}

/// What happens to packets on their way, and what does not: one in thirty is lost, doubled, late, wrong or sent anew. In
/// some captures few IP headers are right, or few ICRCs, or none.
fn damaged(frames: &[Frame], random: &mut Random) -> Vec<Frame> {
    let mut damaged: Vec<Frame> = Vec::new();
    let mut pause = 0;
    let [ip_wrong, icrc_wrong] = [(); 2].map(|()| [0, 0, 2, 48, 52, 100][random.below(6)]);
    for frame in frames {
        let mut frame = frame.clone();
        frame.time += pause;
        let len = frame.bytes.len();
        let d = dissect(frame.link, &frame.bytes, frame.wire_len);
        let [ipv4, bth] = [Kind::Ipv4, Kind::Bth].map(|kind| d.offset(kind));
        if let Some(at) = ipv4
            && random.below(100) < ip_wrong
        {
            frame.bytes[at + 10] ^= 0x5a;
        }
        if bth.is_some() && random.below(100) < icrc_wrong {
            frame.bytes[len - 1] ^= 0x5a;
        }
        // The PSN, the queue pair, or the operation code.
        let mut of_bth = |at: usize, change: fn(u8, usize) -> u8, by: usize| {
            if let Some(byte) = bth.and_then(|bth| frame.bytes.get_mut(bth + at)) {
                *byte = change(*byte, by);
            }
        };
        match random.below(270) {
            0 => continue,
            1 => damaged.push(frame.clone()),
            2 => {
                let at = damaged.len().saturating_sub(1 + random.below(8));
                damaged.insert(at, frame);
                continue;
            }
            3 => of_bth(11, |psn, by| psn.wrapping_add(by as u8), random.below(19)),
            4 => of_bth(9, |psn, bit| psn ^ 1 << bit, random.below(8)),
            5 => of_bth(7, |_, qp| qp as u8, random.below(32)),
            8 => of_bth(0, |_, opcode| opcode as u8, random.below(32)),
            6 => frame.bytes[random.below(len.clamp(1, 130))] ^= 1 << random.below(8),
            7 => pause += [50_000, 3_000_000, 2_000_000_000][random.below(3)],
            9 => frame.time -= random.below(100_000) as i64,
            10 => frame.bytes.truncate(random.below(len + 1)),
            _ => {}
        }
        damaged.push(frame);
    }
    damaged
}

/// Two reports of damaged frames, the reference's: of frames as they are, and of prepared ones.
fn assert_one_report(frames: &[Frame], random: &mut Random, options: Options, what: &str) -> u64 {
    let mut plain = Analysis::new(options.clone());
    let mut prepared = Analysis::new(options.clone());
    let mut reference = Analysis::new(Options { reference: true, ..options.clone() });
    let damaged = damaged(frames, random);
    for (n, frame) in damaged.iter().enumerate() {
        let record = &frame.record();
        plain.push(record);
        push_prepared(&mut prepared, &options, record);
        reference.push(record);
        if n == damaged.len() / 2 {
            // Asking on the way changes nothing but what still waits for late frames: all are asked.
            for analysis in [&mut plain, &mut prepared, &mut reference] {
                analysis.so_far();
            }
        }
    }
    let packets = plain.packets();
    let [plain, prepared, reference] = [plain, prepared, reference].map(report);
    assert!(plain == reference, "{what}: {}", difference(&plain, &reference));
    assert!(plain == prepared, "{what}, prepared: {}", difference(&plain, &prepared));
    packets
}

/// Where two reports differ, and what stands there: the first ten places.
fn difference(a: &str, b: &str) -> String {
    fn walk(a: &serde_json::Value, b: &serde_json::Value, path: &str, to: &mut Vec<String>) {
        use serde_json::Value::{Array, Object};
        match (a, b) {
            (a, b) if a == b => {}
            (Object(x), Object(y)) => {
                let names: std::collections::BTreeSet<_> = x.keys().chain(y.keys()).collect();
                names.into_iter().for_each(|name| walk(&a[name], &b[name], &format!("{path}.{name}"), to));
            }
            (Array(x), Array(y)) if x.len() == y.len() => {
                (0..x.len()).for_each(|at| walk(&x[at], &y[at], &format!("{path}[{at}]"), to));
            }
            _ => to.push(format!("{path}: {a} and {b}")),
        }
    }
    let [a, b] = [a, b].map(|report| serde_json::from_str::<serde_json::Value>(report).unwrap());
    let mut all = Vec::new();
    walk(&a, &b, "", &mut all);
    all.truncate(10);
    all.join("; ")
}

/// The shipped captures, so many frames of each, and where they are.
fn captures(most: usize) -> impl Iterator<Item = (Vec<Frame>, PathBuf)> {
    files().filter_map(move |path| {
        let mut frames = trace::read(&path).ok()?;
        frames.truncate(most);
        Some((frames, path))
    })
}

fn files() -> impl Iterator<Item = PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps");
    fs::read_dir(dir).expect("the captures are there").flatten().map(|entry| entry.path())
}

fn assert_enough(traces: u64, packets: u64) {
    assert!(traces > 10 && packets > 10_000 || cfg!(not(feature = "compression")), "{traces} {packets}");
}

#[test]
fn damaged_captures_have_one_report() {
    let mut random = Random::new(1);
    let (mut traces, mut packets) = (0, 0);
    for (frames, path) in captures(10_000) {
        for turn in 0..4 {
            let max_flows = if turn == 0 { 3 } else { options().max_flows };
            let options = Options { max_flows, verify_icrc: random.below(4) > 0, ..options() };
            let what = format!("{}, turn {turn}", path.display());
            packets += assert_one_report(&frames, &mut random, options, &what);
            traces += 1;
        }
    }
    assert_enough(traces, packets);
}

#[test]
fn traffic_both_ways_has_one_report() {
    let mut random = Random::new(5);
    for turn in 0..60 {
        let service = [Service::Rc, Service::Rc, Service::Xrc, Service::Rd][turn % 4];
        let frames = both_ways(3_000, service, &mut random);
        assert_one_report(&frames, &mut random, options(), &format!("turn {turn}"));
    }
}

#[test]
fn every_operation_has_one_report() {
    let mut random = Random::new(8);
    for turn in 0..40 {
        let frames = of_every_operation(2_000, &mut random);
        assert_one_report(&frames, &mut random, options(), &format!("turn {turn}"));
    }
}

/// How the packets of a capture are wrapped.
#[derive(Clone, Copy, Debug)]
enum Network {
    Ipv4,
    Ipv6,
    /// Either, as it comes.
    Both,
}

/// What is around the network header.
#[derive(Clone, Copy, Debug)]
enum Around {
    Ethernet,
    Vlan,
    Cooked,
    Cooked2,
    Raw,
    RawIpv6,
    /// In one of two virtual networks.
    Vxlan,
    Gre,
    Erspan2,
    Erspan3,
}

const AROUND: [Around; 10] = [
    Around::Ethernet,
    Around::Vlan,
    Around::Cooked,
    Around::Cooked2,
    Around::Raw,
    Around::RawIpv6,
    Around::Vxlan,
    Around::Gre,
    Around::Erspan2,
    Around::Erspan3,
];

/// Wraps frames otherwise.
struct Wrapper {
    to_ipv6: Rewriter,
    around: Around,
    /// Copies that a mirror made.
    copies: u32,
    random: Random,
}

impl Wrapper {
    fn new(around: Around, seed: u64) -> Wrapper {
        let plan = Plan { to: Some(Encapsulation::RoceV2Ipv6), ..Plan::default() };
        Wrapper { to_ipv6: Rewriter::new(plan), around, copies: 0, random: Random::new(seed) }
    }

    /// The same frame, over IPv6 perhaps. Frames of anything else are as they were.
    fn wrap(&mut self, frame: &Frame, is_ipv6: bool) -> Frame {
        let mut wrapped = frame.clone();
        if is_ipv6 && let Ok(over_ipv6) = self.to_ipv6.rewrite(&frame.record()) {
            (wrapped.bytes, wrapped.wire_len) = (over_ipv6.frame.to_vec(), over_ipv6.wire_len);
        }
        let rest = match (wrapped.link, wrapped.bytes.split_at_checked(14)) {
            (Link::ETHERNET, Some((ethernet, rest))) if matches!(ethernet[12..], [8, 0] | [0x86, 0xdd]) => {
                rest
            }
            _ => return wrapped,
        };
        let (ether_type, ethernet) = (&wrapped.bytes[12..14], &wrapped.bytes[..12]);
        let tagged = || [ethernet, &[0x81, 0, 0x60, 0x64], ether_type].concat();
        let cooked = [0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
        let cooked2 = [0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0];
        let (link, header) = match self.around {
            Around::Ethernet => (Link::ETHERNET, [ethernet, ether_type].concat()),
            Around::Vlan => (Link::ETHERNET, tagged()),
            Around::Cooked => (Link::LINUX_SLL, [&cooked, ether_type].concat()),
            Around::Cooked2 => (Link::LINUX_SLL2, [ether_type, &cooked2].concat()),
            Around::Raw => (Link::RAW, Vec::new()),
            Around::RawIpv6 if is_ipv6 => (Link::IPV6, Vec::new()),
            Around::RawIpv6 => (Link::IPV4, Vec::new()),
            _ => {
                let is_tagged = self.random.below(2) > 0;
                let header = if is_tagged { tagged() } else { [ethernet, ether_type].concat() };
                let inner = [&header, rest].concat();
                return self.tunneled(&wrapped, &inner, wrapped.bytes.len() < wrapped.wire_len as usize);
            }
        };
        let wire_len = wrapped.wire_len - 14 + header.len() as u32;
        Frame { link, wire_len, bytes: [&header, rest].concat(), ..wrapped }
    }

    fn tunneled(&mut self, frame: &Frame, inner: &[u8], is_cut: bool) -> Frame {
        // Some mirrors keep the beginning.
        let keeps = if self.random.below(20) == 0 { 100.min(inner.len()) } else { inner.len() };
        self.copies = match self.random.below(50) {
            0 => self.copies.wrapping_add(5),
            1 => self.copies.wrapping_sub(1),
            _ => self.copies.wrapping_add(1),
        };
        let (number, session) = (self.copies, self.random.below(2) as u16);
        let (protocol, header) = match self.around {
            Around::Vxlan => (IpProtocol::UDP, tunnel::vxlan(session.into(), keeps as u16)),
            Around::Gre => {
                let gre = Gre::default().with_has_sequence(true).with_has_key(true);
                let gre = gre.with_protocol(EtherType::ETHERNET);
                let sequence = GreSequence::default().with_sequence_number(number);
                (IpProtocol::GRE, [gre.bytes(), GreKey::default().bytes(), sequence.bytes()].concat())
            }
            Around::Erspan2 => (IpProtocol::GRE, tunnel::erspan2(session, number)),
            _ => {
                let erspan = Erspan3::default().with_version(2).with_session_id(session);
                let erspan = erspan.with_optional(session > 0);
                let platform = if session > 0 { &[9; ErspanPlatform::LEN][..] } else { &[] };
                let gre = tunnel::gre(EtherType::ERSPAN3, number);
                (IpProtocol::GRE, [&gre, erspan.bytes(), platform].concat())
            }
        };
        // A frame may go on behind its packet: with what the packet does not have any more, too.
        let behind = if self.random.below(10) == 0 { &[&inner[keeps..], &[7; 9]].concat()[..] } else { &[] };
        let inside = [&inner[..keeps], behind].concat();
        let bytes = tunnel::frame(protocol, &header, &inside, keeps as u16);
        // What the capture cut cannot be told from what the mirror did, but by the frame's length.
        let wire_len = bytes.len() as u32 + if is_cut { 900 } else { 0 };
        Frame { link: Link::ETHERNET, wire_len, bytes, ..frame.clone() }
    }
}

#[test]
fn damaged_captures_have_one_report_however_they_are_wrapped() {
    let mut random = Random::new(3);
    let (mut traces, mut packets) = (0, 0);
    for (frames, path) in captures(4_000) {
        for network in [Network::Ipv4, Network::Ipv6, Network::Both] {
            let around = AROUND[random.below(AROUND.len())];
            let mut wrapper = Wrapper::new(around, random.below(1000) as u64);
            let mut wrap = |frame: &Frame| {
                let is_ipv6 = match network {
                    Network::Ipv4 => false,
                    Network::Ipv6 => true,
                    Network::Both => random.below(2) > 0,
                };
                wrapper.wrap(frame, is_ipv6)
            };
            let frames: Vec<Frame> = frames.iter().map(&mut wrap).collect();
            let options = Options { verify_icrc: random.below(4) > 0, ..options() };
            let what = format!("{}, {network:?}, {around:?}", path.display());
            packets += assert_one_report(&frames, &mut random, options, &what);
            traces += 1;
        }
    }
    assert_enough(traces, packets);
}

/// The same frames, cut, between many pairs of hosts at about the same time.
fn multiplied(frames: &[Frame], pairs: u16) -> Vec<Frame> {
    let mut all = Vec::new();
    for frame in frames.iter().filter(|frame| frame.bytes.get(12..15) == Some(&[8, 0, 0x45])) {
        let goes_there = frame.bytes[26..30] < frame.bytes[30..34];
        for pair in 0..pairs {
            let mut frame = frame.clone();
            frame.time += pair as i64 * 10;
            frame.bytes.truncate(96);
            let (low, high) = if goes_there { (28..30, 32..34) } else { (32..34, 28..30) };
            frame.bytes[low].copy_from_slice(&(2 * pair).to_be_bytes());
            frame.bytes[high].copy_from_slice(&(2 * pair + 1).to_be_bytes());
            frame.bytes[24..26].fill(0);
            let checksum = internet(&frame.bytes[14..34]);
            frame.bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
            all.push(frame);
        }
    }
    all
}

#[test]
fn damaged_captures_of_many_flows_have_one_report() {
    const PAIRS: u16 = 600;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps/loss1_rc_write-B-300.pcap");
    let frames = multiplied(&trace::read(&path).expect("the capture is there"), PAIRS);
    let mut random = Random::new(2);
    let (many, ethernet) = (usize::from(PAIRS) * 3, Around::Ethernet);
    let turns =
        [(many, 0, ethernet), (1_100, 0, ethernet), (1 << 12, 1, ethernet), (1 << 12, 2, Around::Vxlan)];
    for (max_flows, over_ipv6, around) in turns {
        // The ICRCs of frames that were not cut are those of other addresses.
        let options = Options { verify_icrc: false, max_flows, ..options() };
        // None, all, or about half of them.
        let mut wrapper = Wrapper::new(around, 5);
        let mut wrap = |frame: &Frame| {
            let is_ipv6 = over_ipv6 == 1 || over_ipv6 == 2 && random.below(2) > 0;
            wrapper.wrap(frame, is_ipv6)
        };
        let frames: Vec<Frame> = frames.iter().map(&mut wrap).collect();
        let packets = assert_one_report(&frames, &mut random, options, &format!("{max_flows} flows"));
        assert!(packets > 150_000, "{packets}");
    }
}
