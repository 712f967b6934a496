//! Whole captures rebuilt and rewritten: made ones here, and every capture below the directories in
//! `RDMAWIRE_CAPTURES` (divided by `:`) by hand.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::support::{
    programs::{cli, done},
    scratch::Scratch,
    trace,
};
use rdmawire::{
    capture::{self, Format, Interface, Record, Sink, Source, Time},
    craft::{
        Channel, Data, Dialog, Edit, Management, Packet, Path as Way, Request,
        mutate::Base,
        recipe,
        rewrite::{Plan, Rewriter},
    },
    dissect::{Encapsulation, Link, dissect},
    icrc::{self, State},
    opcode::Service,
    wire::*,
};
use std::net::Ipv4Addr;

type Frame = (Link, Vec<u8>, u32);

/// Both directions of a connection, its setup, a wrong ICRC, a tunnelled copy, a cut frame, datagrams, ARP.
fn made() -> Vec<Frame> {
    let path = Way::rocev2(Ipv4Addr::new(192, 168, 1, 10), Ipv4Addr::new(192, 168, 1, 20));
    let there = Channel::rc(path, Qpn(0x111), Qpn(0x222));
    let back = there.reversed();
    let dialog = Dialog::new(path, Qpn(0x111), Qpn(0x222));
    let mut packets = vec![dialog.req(b"private"), dialog.rep(&[]), dialog.rtu(&[])];
    let write = Request::Write { len: 5000, va: 0x7fff_0000, r_key: 0x77, imm: None };
    packets.extend(there.request(Psn(0xffffff), write).unwrap().data(Data::pattern(1)).iter());
    packets.push(back.ack(Psn(3), 1));
    packets.push(back.cnp());
    packets.extend(there.request(Psn(4), Request::FetchAdd { va: 8, r_key: 0x77, add: 1 }).unwrap().iter());
    let ud = Channel { service: Service::Ud, q_key: 9, ..there };
    packets
        .extend(ud.request(Psn(0), Request::Send { len: 33, imm: None, invalidate: None }).unwrap().iter());
    let mut wrong = there.ack(Psn(9), 2);
    wrong.corrupt(rdmawire::craft::ComputedField::Icrc);
    packets.push(wrong);
    let mut frames: Vec<Frame> =
        packets.iter().map(|p| (p.link(), p.build().to_vec(), p.wire_len())).collect();
    let inner = frames[4].1.clone();
    let tunnel = Packet::rocev2(Ipv4Addr::new(172, 16, 0, 1), Ipv4Addr::new(172, 16, 0, 2))
        .push(Vxlan::default().with_vni(7))
        .push_bytes(Kind::Payload, &inner);
    let tunnel = tunnel.build().to_vec();
    frames.push((Link::ETHERNET, tunnel.clone(), tunnel.len() as u32));
    let (link, frame, len) = frames[4].clone();
    frames.push((link, frame[..80].to_vec(), len));
    let arp =
        Packet::ethernet().edit(|h: Ethernet| h.with_ether_type(EtherType::ARP)).payload(vec![1; 28]).build();
    frames.push((Link::ETHERNET, arp.to_vec(), arp.len() as u32));
    frames
}

fn run(plan: Plan, frames: &[Frame]) -> (Vec<Frame>, rdmawire::craft::rewrite::Counts) {
    let mut rewriter = Rewriter::new(plan);
    let record =
        |(link, frame, wire_len): &'_ Frame| -> (Link, Vec<u8>, u32) { (*link, frame.clone(), *wire_len) };
    let _ = record;
    for (link, frame, wire_len) in frames {
        rewriter.learn(&Record { time: Time(0), link: *link, interface: 0, wire_len: *wire_len, frame });
    }
    let mut out = Vec::new();
    for (link, frame, wire_len) in frames {
        let new = rewriter
            .rewrite(&Record { time: Time(0), link: *link, interface: 0, wire_len: *wire_len, frame })
            .unwrap();
        out.push((new.link, new.frame.to_vec(), new.wire_len));
    }
    (out, rewriter.counts())
}

/// The same states, PSNs, lengths, operations; every pair of addresses and queue pairs that was equal still is, and
/// those that differed still do.
fn same_but_for_names(old: &[Frame], new: &[Frame]) {
    assert_eq!(old.len(), new.len());
    let mut names: std::collections::HashMap<Vec<u8>, Vec<u8>> = Default::default();
    let mut others: std::collections::HashMap<Vec<u8>, Vec<u8>> = Default::default();
    let mut alike = |old: Vec<u8>, new: Vec<u8>| {
        assert_eq!(names.entry(old.clone()).or_insert(new.clone()), &new);
        assert_eq!(others.entry(new).or_insert(old.clone()), &old);
    };
    for ((link, before, wire_len), (_, after, new_len)) in old.iter().zip(new) {
        assert_eq!((before.len(), wire_len), (after.len(), new_len));
        let (a, b) = (dissect(*link, before, *wire_len), dissect(*link, after, *new_len));
        assert_eq!(icrc::verify(&a), icrc::verify(&b), "{a:?} {b:?}");
        assert_eq!(icrc::verify_vcrc(&a), icrc::verify_vcrc(&b), "{a:?} {b:?}");
        assert_eq!(a.notes(), b.notes());
        assert_eq!(a.encapsulation(), b.encapsulation());
        assert_eq!(a.layers().len(), b.layers().len());
        let (Some(x), Some(y)) = (a.get::<Bth>(), b.get::<Bth>()) else { continue };
        assert_eq!(
            (x.opcode(), x.psn(), x.p_key(), x.ack_req()),
            (y.opcode(), y.psn(), y.p_key(), y.ack_req())
        );
        if x.dest_qp().0 > 1 {
            alike(x.dest_qp().0.to_le_bytes().to_vec(), y.dest_qp().0.to_le_bytes().to_vec());
        }
        let gid = |d| Way::of(d).map(|p| [p.src.gid().octets(), p.dst.gid().octets()]).unwrap();
        for (x, y) in gid(&a).into_iter().zip(gid(&b)) {
            alike(x.to_vec(), y.to_vec());
        }
        if let (Some(x), Some(y)) = (a.get::<Reth>(), b.get::<Reth>()) {
            assert_eq!(x.dma_len(), y.dma_len());
            alike(
                [b"k", &x.r_key().0.to_be_bytes()[..]].concat(),
                [b"k", &y.r_key().0.to_be_bytes()[..]].concat(),
            );
        }
        if let (Some(x), Some(y)) = (a.get::<Ipv4>(), b.get::<Ipv4>()) {
            assert_eq!((x.id(), x.ttl(), x.ecn(), x.total_len()), (y.id(), y.ttl(), y.ecn(), y.total_len()));
            let sum = |ip: &Ipv4| rdmawire::checksum::internet(ip.bytes());
            assert_eq!(sum(x) == 0, sum(y) == 0);
        }
    }
}

#[test]
fn anonymized_the_connection_is_still_the_same() {
    let old = made();
    let (new, counts) = run(Plan { anonymize: true, seed: 7, ..Plan::default() }, &old);
    same_but_for_names(&old, &new);
    assert_eq!((counts.frames, counts.bad_icrc), (old.len() as u64, 1));
    // Nothing of the old names is left, whole or in a CM message, in a tunnel, in ARP.
    for (n, (_, frame, _)) in new.iter().enumerate() {
        for name in
            [&[192u8, 168, 1, 10][..], &[192, 168, 1, 20], &[172, 16, 0, 1], b"private", &[2, 0, 192, 168, 1]]
        {
            assert!(!frame.windows(name.len()).any(|w| w == name), "{n}: {name:?}");
        }
    }
    // The UDP source port is that of the new queue pairs, the same both ways.
    let qpns: Vec<_> =
        [3, 8].map(|n| dissect(new[n].0, &new[n].1, new[n].2).get::<Bth>().unwrap().dest_qp()).into();
    let ports: Vec<_> =
        [3, 8].map(|n| dissect(new[n].0, &new[n].1, new[n].2).get::<Udp>().unwrap().src_port()).into();
    assert_ne!(qpns[0], Qpn(0x222));
    assert_eq!(ports, [Udp::linux_source_port(qpns[0], qpns[1]); 2]);
    // The REQ names the queue pair that the ACK goes to.
    let req = dissect(new[0].0, &new[0].1, new[0].2);
    assert_eq!(req.get::<CmReq>().unwrap().local_qpn(), qpns[1]);
    assert_eq!(req.get::<IpCm>().unwrap().src_ip().0.to_ipv4(), Some(req.get::<Ipv4>().unwrap().src()));
    // The seed decides, and nothing else.
    assert_eq!(run(Plan { anonymize: true, seed: 7, ..Plan::default() }, &old).0, new);
    assert_ne!(run(Plan { anonymize: true, seed: 8, ..Plan::default() }, &old).0, new);
}

/// Frames that have, all together, every header with something to hide.
fn frames_with_every_secret() -> Vec<Frame> {
    let mut packets: Vec<Packet> = Base::all().iter().map(|base| base.packet().clone()).collect();
    let path = Way::rocev2(Ipv4Addr::new(192, 168, 1, 10), Ipv4Addr::new(192, 168, 1, 20));
    let dialog = Dialog { service_id: ServiceId(0xfeed), ..Dialog::new(path, Qpn(0x111), Qpn(0x222)) };
    packets.push(dialog.req(&[]));
    packets.push(dialog.sidr_req(&[]));
    packets.push(dialog.sidr_rep(SidrStatus::VALID, 0x1234, &[]));
    let subnet = Way::new(Encapsulation::Ib, path.src, path.dst);
    for class in
        [MgmtClass::SUBN_LID, MgmtClass::SUBN_ADM, MgmtClass::PERF, MgmtClass::DEV_MGT, MgmtClass::CONGESTION]
    {
        let answer = Management::get(subnet, class).method(MadMethod::GET_RESP);
        let read = (0..=0xff).filter(|&id| class.attribute(id).is_some_and(|of| !of.kinds.is_empty()));
        packets.extend(read.map(|id| answer.bytes(id, &[0x5a; 192])));
    }
    // Whose log it is says what is in it.
    for of in [CongestionLogType::SWITCH, CongestionLogType::ADAPTER] {
        let log = [vec![of.0], vec![0x5a; 191]].concat();
        let answer = Management::get(subnet, MgmtClass::CONGESTION).method(MadMethod::GET_RESP);
        packets.push(answer.bytes(0x13, &log));
    }
    packets.push(Management::get(subnet, MgmtClass::SUBN_LID).directed(&[1], &[2], SwitchInfo::default()));
    for text in [
        "sll / ipv4 / udp / bth opcode=rc-write-only / reth",
        "sll2 / ipv6 / udp / bth opcode=rc-write-only / reth",
        "ipoib / ipv4 / udp / bth opcode=rc-write-only / reth",
        "ethernet / macsec has_sci=1 / macsecsci / macsec_clear / ipv4 / udp / bth opcode=rc-write-only / reth",
        "ethernet / ipv4 / udp / mrcbth opcode=mrc-write-only / meth / reth",
        "ethernet / ipv4 / udp / pds_request / ses_standard opcode=6 / ses_rendezvous",
        "ethernet / ipv4 / udp / pds_request / ses_standard_later",
        "ethernet / ipv4 / udp / pds_request / ses_small",
        "ethernet / ipv4 / udp / pds_request / ses_medium",
        "ethernet / ipv4 / udp / pds_request / ses_deferrable",
        "ethernet / ipv4 / udp / pds_request / ses_restart",
        "ethernet / ipv4 / udp / pds_ack / ses_response",
        "ethernet / ipv4 / udp / pds_ack / ses_response_data",
        "ethernet / ipv4 / udp / pds_ack / ses_response_small",
    ] {
        packets.push(recipe::parse(text).unwrap());
    }
    packets.iter().map(|packet| (packet.link(), packet.build().to_vec(), packet.wire_len())).collect()
}

/// A value that has to be replaced.
fn put_secret(secret: Secret, header: &mut [u8], field: &Field) {
    match secret {
        Secret::Mac => Mac([2, 0x11, 0x22, 0x33, 0x44, 0x55]).set(header, field),
        Secret::LinkAddress => LinkAddress([2, 0x11, 0x22, 0x33, 0x44, 0x55, 0, 0]).set(header, field),
        Secret::Ipv4 => Ipv4Addr::new(10, 9, 8, 7).set(header, field),
        Secret::Ipv6 => std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7).set(header, field),
        Secret::Opaque => header[field.bit as usize / 8..][..field.width as usize / 8].fill(0x5a),
        // Whether it is RDMA-CM's decides which header follows.
        Secret::ServiceId => {}
        _ => field.set(header, 0x1235),
    }
}

/// No header can leak what the types of its fields say: each such field of each header is in some frame, and is replaced there.
#[test]
fn every_secret_of_every_header_is_replaced() {
    let mut replaced = BTreeSet::new();
    for (link, mut frame, wire_len) in frames_with_every_secret() {
        let d = dissect(link, &frame, wire_len);
        let is_management = d.has(Kind::Mad);
        let secrets: Vec<(Kind, usize, &Field, Secret)> = d
            .layers()
            .iter()
            .flat_map(|layer| layer.kind.fields().iter().map(move |field| (layer, field)))
            .filter_map(|(layer, field)| Some((layer.kind, layer.at as usize, field, field.secret?)))
            // Messages of upper layers are payload.
            .filter(|(kind, ..)| !kind.is_of_message())
            // Queue pairs 0 and 1 are no secret.
            .filter(|(kind, ..)| !(is_management && matches!(kind, Kind::Bth | Kind::Deth)))
            // Nor are services of RDMA-CM, and 0 is none.
            .filter(|&(_, at, field, secret)| {
                let value = || field.get(&frame[at..]);
                secret != Secret::ServiceId || value() != 0 && !ServiceId(value()).is_rdma_cm()
            })
            .collect();
        for &(_, at, field, secret) in &secrets {
            put_secret(secret, &mut frame[at..], field);
        }
        let old = [(link, frame, wire_len)];
        let (new, _) = run(Plan { anonymize: true, seed: 7, ..Plan::default() }, &old);
        assert_eq!(
            dissect(link, &old[0].1, wire_len).layers().len(),
            dissect(link, &new[0].1, wire_len).layers().len()
        );
        for (kind, at, field, secret) in secrets {
            let (was, is) = (field.get(&old[0].1[at..]), field.get(&new[0].1[at..]));
            assert_ne!(was, is, "{kind:?} {} ({secret:?}) stays", field.name);
            replaced.insert((kind, field.name));
        }
    }
    let secrets = |kind: &Kind| {
        let kind = *kind;
        kind.fields().iter().filter(|field| field.secret.is_some()).map(move |field| (kind, field.name))
    };
    let all: BTreeSet<_> = Kind::ALL.iter().filter(|kind| !kind.is_of_message()).flat_map(secrets).collect();
    assert_eq!(all.difference(&replaced).collect::<Vec<_>>(), Vec::<&(Kind, &str)>::new(), "never tried");
}

/// Bytes that no table of fields describes may hold addresses too.
#[test]
fn options_and_extensions_are_emptied() {
    let route = "ethernet / ipv6 next_header=43 / ipv6_extension hex:11020401000000003faabbcc000000000000000000000099 / udp / bth";
    let record = "ethernet / ipv4 / ipv4_options hex:070704c0a8010a00 / udp / bth";
    for (text, address) in [(route, &[0x3f, 0xaa, 0xbb, 0xcc][..]), (record, &[192, 168, 1, 10])] {
        let packet = recipe::parse(text).unwrap();
        let frame = packet.build().to_vec();
        let has = |frame: &[u8]| frame.windows(4).any(|bytes| bytes == address);
        let old = [(packet.link(), frame, packet.wire_len())];
        let (new, _) = run(Plan { anonymize: true, seed: 7, ..Plan::default() }, &old);
        let (a, b) = (dissect(old[0].0, &old[0].1, old[0].2), dissect(new[0].0, &new[0].1, new[0].2));
        assert_eq!(a.layers().len(), b.layers().len(), "{a:?} {b:?}");
        assert!(b.has(Kind::Bth));
        assert!(has(&old[0].1) && !has(&new[0].1), "{text}");
    }
}

#[test]
fn nothing_asked_nothing_changed() {
    let old = made();
    let (new, counts) = run(Plan::default(), &old);
    assert_eq!(old, new);
    assert_eq!(counts.unchanged, counts.frames);
}

/// A frame that is cut is not unchanged, whatever else is done to it.
#[test]
fn frames_that_are_cut_are_counted() {
    let old = made();
    let longer = |most: usize| old.iter().filter(|(_, frame, _)| frame.len() > most).count() as u64;
    for snaplen in [40, 100, 1 << 16] {
        let (_, counts) = run(Plan { snaplen: Some(snaplen), ..Plan::default() }, &old);
        let cut = longer(snaplen as usize);
        assert_eq!((counts.cut, counts.unchanged), (cut, counts.frames - cut), "{snaplen}");
    }
    assert!(longer(100) > 0 && longer(100) < old.len() as u64);
    let scratch = Scratch::new("cut");
    let file = scratch.join("cut.pcap");
    let from = "pcaps/loss1_rc_write-B.pcap.zst";
    let output = cli().args(["rewrite", "--snaplen", "100", from]).arg(&file).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let counted = |before: &str| -> u64 {
        let counts = said.trim_end().rsplit(": ").next().unwrap();
        let one = counts
            .split(", ")
            .find(|one| one.ends_with(before))
            .unwrap_or_else(|| panic!("{before}: {said}"));
        one.split(' ').next().unwrap().replace(',', "").parse().unwrap()
    };
    assert_eq!(counted("rewritten"), counted("cut"), "{said}");
    assert!(counted("cut") > 0 && counted("unchanged") > 0, "{said}");
}

#[test]
fn payload_goes_and_everything_else_stays() {
    let old = made();
    let (new, _) = run(Plan { zero_payload: true, snaplen: Some(120), ..Plan::default() }, &old);
    for ((_, before, wire_len), (link, frame, new_len)) in old.iter().zip(&new) {
        assert_eq!((frame.len(), wire_len), (before.len().min(120), new_len));
        let d = dissect(*link, frame, *new_len);
        if d.has(Kind::Bth) && !d.has(Kind::Mad) {
            assert!(d.payload().iter().all(|&byte| byte == 0), "{d:?}");
        }
    }
    let (new, _) = run(Plan { zero_payload: true, ..Plan::default() }, &old);
    for ((_, before, len), (link, frame, _)) in old.iter().zip(&new) {
        assert_eq!(icrc::verify(&dissect(*link, before, *len)), icrc::verify(&dissect(*link, frame, *len)));
    }
}

#[test]
fn edits_are_made_and_missed_ones_counted() {
    let edits = ["bth.psn+=1000", "ipv4.dst=10.0.0.9"].map(|text| Edit::parse(text).unwrap()).to_vec();
    let old = made();
    let (new, counts) = run(Plan { edits, ..Plan::default() }, &old);
    let d = dissect(new[3].0, &new[3].1, new[3].2);
    assert_eq!((d.get::<Bth>().unwrap().psn(), icrc::verify(&d)), (Psn(999), State::Good));
    assert_eq!(counts.missed_edits, 2);
}

#[test]
fn every_encapsulation_becomes_every_other_and_back() {
    let old = made();
    for first in Encapsulation::ALL {
        let (there, counts) = run(Plan { to: Some(first), ..Plan::default() }, &old);
        assert_eq!((there.len(), counts.not_converted), (old.len(), 1));
        for second in Encapsulation::ALL {
            let (back, _) = run(Plan { to: Some(second), ..Plan::default() }, &there);
            for ((link, before, len), (new_link, after, new_len)) in old.iter().zip(&back) {
                let (a, b) = (dissect(*link, before, *len), dissect(*new_link, after, *new_len));
                let Some(bth) = a.get::<Bth>() else { continue };
                assert_eq!(b.encapsulation(), Some(second));
                assert_eq!(b.get::<Bth>(), Some(bth));
                assert_eq!(a.payload(), b.payload());
                assert_eq!(b.tunnel_depth(), 0);
                if icrc::verify(&a) != State::Unchecked {
                    assert_eq!(icrc::verify(&a), icrc::verify(&b), "{first:?} {second:?} {b:?}");
                }
                // Without a GID on the way, addresses come back.
                if first != Encapsulation::Ib && second != Encapsulation::Ib {
                    let ip = |d| Way::of(d).map(|p| (p.src.ip, p.dst.ip));
                    assert_eq!(ip(&a), ip(&b));
                }
            }
        }
    }
}

fn captures(at: &Path, found: &mut Vec<PathBuf>) {
    if at.is_dir() {
        let mut inside: Vec<_> = std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()).collect();
        inside.sort();
        inside.iter().for_each(|path| captures(path, found));
    } else if [".pcap", ".pcapng", ".erf", ".cap", ".zst", ".gz"]
        .iter()
        .any(|end| at.to_string_lossy().ends_with(end))
    {
        found.push(at.into());
    }
}

/// By hand: `RDMAWIRE_CAPTURES=dir:dir cargo test --release --test it craft_captures -- --nocapture`.
#[test]
fn every_frame_of_every_capture_rebuilds_and_is_rewritten() {
    let Ok(at) = std::env::var("RDMAWIRE_CAPTURES") else { return };
    let mut files = Vec::new();
    at.split(':').for_each(|at| captures(Path::new(at), &mut files));
    let (mut all, mut edited, mut kept) = (0u64, 0u64, 0u64);
    for file in &files {
        let mut reader = capture::open(file).unwrap();
        let mut some = Vec::new();
        let mut frames = 0u64;
        while let Some(record) = reader.next().unwrap() {
            let d = dissect(record.link, record.frame, record.wire_len);
            let packet = Packet::from(&d);
            assert_eq!(packet.build(), record.frame, "{}: frame {}: {d:?}", file.display(), frames + 1);
            kept += rdmawire::craft::ComputedField::ALL.iter().any(|&auto| {
                packet.keeps(auto)
                    && auto != rdmawire::craft::ComputedField::UdpChecksum
                    && auto != rdmawire::craft::ComputedField::Fcs
                    && auto != rdmawire::craft::ComputedField::UdpSourcePort
                    && auto != rdmawire::craft::ComputedField::FramePadding
            }) as u64;
            if icrc::verify(&d) == State::Good {
                let frame = packet.edit(|bth: Bth| bth.with_psn(bth.psn().plus(1000))).build();
                let again = dissect(record.link, &frame, record.wire_len);
                assert_eq!(icrc::verify(&again), State::Good, "{}: frame {}", file.display(), frames + 1);
                edited += 1;
            }
            frames += 1;
            if some.len() < 3000 {
                some.push((record.link, record.frame.to_vec(), record.wire_len));
            }
        }
        let (new, counts) = run(Plan { anonymize: true, seed: 1, ..Plan::default() }, &some);
        assert_eq!(counts.frames as usize, some.len());
        same_but_for_names(&some, &new);
        all += frames;
    }
    println!(
        "{} captures, {all} frames rebuilt bit for bit, {edited} edited with a good ICRC, {kept} with something kept",
        files.len()
    );
}

/// What a pcapng file says of itself and of its interfaces stays in copies; of an anonymous one, nothing in words.
#[test]
fn copies_keep_what_a_capture_says_of_its_interfaces() {
    let scratch = Scratch::new("copies-keep");
    let path = scratch.join("in.pcapng");
    let (filter, comment) = (b"\0udp port 4791".to_vec(), b"row 3".to_vec());
    let left = Interface {
        snaplen: 9000,
        resolution_ns: 1000,
        offset_s: 1000,
        name: Some("left".into()),
        description: Some("leaf 1 to spine 2".into()),
        speed_bps: Some(100_000_000_000),
        options: vec![(11, filter), (12, b"Linux".to_vec()), (1, comment)],
        ..Interface::new(Link::ETHERNET)
    };
    let right = Interface { name: Some("right".into()), ..Interface::new(Link::ETHERNET) };
    let idle = Interface { name: Some("idle".into()), ..Interface::new(Link::ETHERNET) };
    let given = [left, right, idle];
    let options = capture::Options { comment: "lab".into(), ..Default::default() };
    let mut sink = capture::create(&path, Format::Pcapng, &given, options).unwrap();
    let frames = trace::read("pcaps/loss1_rc_write-B-300.pcap".as_ref()).unwrap();
    for (n, frame) in frames.iter().take(40).enumerate() {
        let record = Record { interface: (n % 2) as u16, ..frame.record() };
        let comments: &[&str] = if n == 3 { &["look"] } else { &[] };
        sink.put_with_comments(&record, comments).unwrap();
    }
    sink.set_drops(1, 17);
    sink.finish().unwrap();

    let describe = |path: &Path| {
        let mut reader = capture::open(path).unwrap();
        let (mut times, mut comments) = (Vec::new(), Vec::new());
        while let Some(record) = reader.next().unwrap() {
            times.push((record.time, record.interface));
            comments.extend(reader.comments().map(String::from));
        }
        (reader.info().interfaces.clone(), reader.info().comment.clone(), times, comments)
    };
    let original = describe(&path);
    assert_eq!(original.0[0], given[0]);
    assert_eq!(original.0[1].drops, Some(17));
    let out = scratch.join("out.pcapng");
    let (from, to) = (path.to_str().unwrap(), out.to_str().unwrap());
    for arguments in [&["rewrite", from, to][..], &["craft", "--from", from, "-o", to]] {
        done(cli().args(arguments).arg("--force"));
        assert_eq!(describe(&out), original, "{arguments:?}");
    }
    done(cli().args(["rewrite", "--force", "--anonymize", from, to]));
    let (interfaces, comment, times, comments) = describe(&out);
    assert_eq!((comment, times, comments), (String::new(), original.2, Vec::new()));
    for (anonymous, original) in interfaces.iter().zip(&original.0) {
        assert!(anonymous.name.as_ref().is_some_and(|name| name.starts_with("if-")), "{anonymous:?}");
        let named = Interface { name: None, ..anonymous.clone() };
        let stripped = Interface { name: None, description: None, options: Vec::new(), ..original.clone() };
        assert_eq!(named, stripped);
    }
}

/// Blocks of a pcapng file, in one byte order or the other.
struct Blocks {
    big: bool,
    bytes: Vec<u8>,
}

impl Blocks {
    fn word(&self, value: u32) -> [u8; 4] {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn long(&self, value: u64) -> [u8; 8] {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn add(&mut self, block: u32, body: &[u8], options: &[(u16, &[u8])]) {
        let half = |value: u16| if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        let mut all = body.to_vec();
        all.resize(body.len().next_multiple_of(4), 0);
        for (code, value) in options {
            all.extend([half(*code), half(value.len() as u16)].concat());
            all.extend_from_slice(value);
            all.resize(all.len().next_multiple_of(4), 0);
        }
        let total = self.word(all.len() as u32 + 12);
        self.bytes.extend([&self.word(block)[..], &total, &all, &total].concat());
    }

    fn section(&mut self, options: &[(u16, &[u8])]) {
        let half = |value: u16| if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        let body = [&self.word(0x1a2b_3c4d)[..], &half(1), &half(0), &self.long(u64::MAX)].concat();
        self.add(0x0a0d_0d0a, &body, options);
    }

    fn interface(&mut self, options: &[(u16, &[u8])]) {
        let half = |value: u16| if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        let body = [&half(1)[..], &half(0), &self.word(0)].concat();
        self.add(1, &body, options);
    }

    fn packet(&mut self, time: u32, frame: &[u8], options: &[(u16, &[u8])]) {
        let len = frame.len() as u32;
        let body = [0, 0, time, len, len].map(|word| self.word(word)).concat();
        self.add(6, &[&body, frame].concat(), options);
    }
}

/// Hardware and operating system of sections and interfaces, and what a pcapng says of single frames, stay in copies, of either byte
/// order and of files with several sections. Of an anonymous copy only the frames' flags.
#[test]
fn copies_keep_hardware_systems_and_flags() {
    let scratch = Scratch::new("copies-keep-options");
    let frame = trace::read("pcaps/loss1_rc_write-B-300.pcap".as_ref()).unwrap().remove(0);
    let bytes = frame.record().frame.to_vec();
    // Inbound, multicast, an FCS of 4 bytes; then outbound.
    let (inbound, outbound) = (1 | 2 << 2 | 4 << 5, 2_u32);
    for big in [false, true] {
        let mut file = Blocks { big, bytes: Vec::new() };
        file.section(&[(1, b"first"), (1, b"second"), (2, b"Xeon"), (3, b"Linux 6"), (4, b"dumpcap")]);
        let rate = file.long(25_000_000_000);
        file.interface(&[(2, b"eth0"), (16, &rate)]);
        let (flags, queue, id) = (file.word(inbound), file.word(7), file.long(99));
        file.packet(1, &bytes, &[(1, b"look"), (2, &flags), (3, &[0, 1, 2]), (5, &id), (6, &queue)]);
        file.packet(2, &bytes, &[]);
        let flags = file.word(outbound);
        file.packet(3, &bytes, &[(2, &flags), (4, &file.long(3))]);
        file.section(&[(2, b"Xeon"), (3, b"FreeBSD")]);
        file.interface(&[(2, b"eth0"), (16, &rate)]);
        file.packet(4, &bytes, &[]);
        let path = scratch.file("in.pcapng", &file.bytes);

        let describe = |path: &Path| {
            let mut reader = capture::open(path).unwrap();
            let mut frames = Vec::new();
            while let Some(record) = reader.next().unwrap() {
                let interface = record.interface;
                let options = reader.options().map(|(code, value)| (code, value.into_owned()));
                frames.push((interface, options.collect::<Vec<_>>()));
            }
            let info = reader.info();
            assert!(info.problems.is_empty(), "{:?}", info.problems);
            (info.comment.clone(), info.hardware.clone(), info.os.clone(), info.interfaces.clone(), frames)
        };
        let little = |value: u32| value.to_le_bytes().to_vec();
        let long = |value: u64| value.to_le_bytes().to_vec();
        let first = vec![(2, little(inbound)), (3, vec![0, 1, 2]), (5, long(99)), (6, little(7))];
        let all =
            |first: Vec<_>| vec![(0, first), (0, vec![]), (0, vec![(2, little(outbound))]), (1, vec![])];
        let read = describe(&path);
        assert_eq!((&*read.0, &*read.1, &*read.2), ("first\nsecond", "Xeon", "Linux 6"));
        let options: Vec<_> = read.3.iter().map(|interface| interface.options.clone()).collect();
        let speed = (16, long(25_000_000_000));
        assert_eq!(options, [vec![speed.clone()], vec![speed, (12, b"FreeBSD".to_vec())]]);
        assert_eq!(read.4, all(first.clone()), "big-endian: {big}");

        let out = scratch.join("out.pcapng");
        let (from, to) = (path.to_str().unwrap(), out.to_str().unwrap());
        let unhashed: Vec<_> = first.iter().filter(|(code, _)| *code != 3).cloned().collect();
        for (arguments, first) in [
            (&["annotate", from, to][..], &first),
            (&["rewrite", from, to], &unhashed),
            (&["craft", "--from", from, "-o", to], &unhashed),
        ] {
            done(cli().args(arguments).arg("--force"));
            let copy = describe(&out);
            assert_eq!((&copy.1, &copy.2, &copy.3), (&read.1, &read.2, &read.3), "{arguments:?}");
            assert_eq!(copy.4, all(first.clone()), "{arguments:?}");
        }
        done(cli().args(["rewrite", "--force", "--anonymize", from, to]));
        let copy = describe(&out);
        assert_eq!((&*copy.0, &*copy.1, &*copy.2), ("", "", ""));
        assert!(copy.3.iter().all(|interface| interface.options.is_empty()), "{:?}", copy.3);
        assert_eq!(copy.4, all(vec![(2, little(inbound))]));
        let bytes = std::fs::read(&out).unwrap();
        for word in ["Xeon", "Linux", "FreeBSD", "eth0", "look"] {
            assert!(!bytes.windows(word.len()).any(|window| window == word.as_bytes()), "{word}");
        }
        // Another encapsulation has no frame check sequence.
        done(cli().args(["rewrite", "--force", "--to", "rocev2-ipv6", from, to]));
        assert_eq!(describe(&out).4[0].1[0], (2, little(1 | 2 << 2)));
    }
}
