//! LLDP and DCBX: fields as tshark reads them, lying lengths, and the map of priorities that comes of it.

use std::process::Command;

use crate::support::programs::{cli, has_wireshark, printed};
use rdmawire::{
    analyze::{Analysis, Options, QosMap},
    capture::{self, Format, Record, Sink, Time},
    dissect::{Link, dissect},
    report::Report,
    sim::{Scenario, run},
    wire::*,
};

fn tlv(kind: u8, value: &[u8]) -> Vec<u8> {
    let header = Lldp::default().with_tlv_type(LldpType(kind)).with_tlv_length(value.len() as u16);
    [header.bytes(), value].concat()
}

fn ieee(subtype: u8, value: &[u8]) -> Vec<u8> {
    let head = LldpIeee::default().with_oui(Hex32(0x0080c2)).with_ieee_subtype(IeeeSubtype(subtype));
    tlv(127, &[head.bytes(), value].concat())
}

/// A frame of a port: its identity, these TLVs, and the end.
fn frame(sender: u8, tlvs: &[Vec<u8>]) -> Vec<u8> {
    let mac = [2, 0, 0, 0, 0, sender];
    let ethernet = Ethernet::default()
        .with_dst(Mac([1, 0x80, 0xc2, 0, 0, 0x0e]))
        .with_src(Mac(mac))
        .with_ether_type(EtherType::LLDP);
    let chassis = [&[4][..], &mac].concat();
    let own = [tlv(1, &chassis), tlv(2, b"\x05swp7"), tlv(3, &120u16.to_be_bytes())];
    [ethernet.bytes().to_vec(), own.concat(), tlvs.concat(), tlv(0, &[])].concat()
}

fn pfc(willing: bool, priorities: u8) -> Vec<u8> {
    let first = PfcConfiguration::default().with_willing(willing).with_pfc_cap(8);
    ieee(11, &[first.bytes()[0], priorities])
}

fn application(selector: AppSelector, protocol: u16, priority: u8) -> Vec<u8> {
    let one = ApplicationPriority::default()
        .with_selector(selector)
        .with_protocol(Hex16(protocol))
        .with_priority(priority);
    one.bytes().to_vec()
}

/// A frame with every TLV of IEEE, and one with every TLV of CEE.
fn all() -> [Vec<u8>; 2] {
    let ets = [0x12, 0x34, 0x56, 0x70, 10, 20, 30, 40, 0, 0, 0, 0, 0, 1, 2, 2, 2, 3, 255, 0];
    let applications = [
        vec![0],
        application(AppSelector::ETHER_TYPE, 0x8915, 3),
        application(AppSelector::UDP, 4791, 3),
        application(AppSelector::DSCP, 26, 4),
    ];
    let ieee_tlvs = [
        ieee(1, &[0, 42]),
        ieee(8, &[0b1000_0010, 0b0100_0001]),
        ieee(9, &[&[0xc5][..], &ets].concat()),
        ieee(10, &[&[0][..], &ets].concat()),
        pfc(true, 0b0100_1001),
        ieee(12, &applications.concat()),
        tlv(5, b"leaf1"),
    ];
    let cee = |kind: u8, value: &[u8]| {
        let header = CeeTlv::default().with_cee_type(CeeType(kind)).with_cee_length(value.len() as u16);
        [header.bytes(), value].concat()
    };
    let feature = CeeFeature::default().with_enabled(true).with_willing(true).with_error(true);
    let fcoe = CeeApplication::default().with_protocol(Hex16(0x8906)).with_oui_low(Hex16(0x1b21));
    let roce = fcoe.with_protocol(Hex16(4791)).with_selector(CeeSelector(1)).with_priority_map(Hex8(0b1000));
    let head = LldpCee::default().with_oui(Hex32(0x001b21)).with_dcbx_version(2);
    let control = CeeControl::default().with_max_version(1).with_seq_no(7).with_ack_no(9);
    let groups = [0x01, 0x23, 0x45, 0x67, 50, 50, 0, 0, 0, 0, 0, 0, 8];
    let parts = [
        head.bytes().to_vec(),
        cee(1, control.bytes()),
        cee(2, &[feature.bytes(), &groups].concat()),
        cee(3, &[feature.bytes(), &[0b0000_1000, 8]].concat()),
        cee(4, &[feature.bytes(), fcoe.with_priority_map(Hex8(8)).bytes(), roce.bytes()].concat()),
    ];
    [frame(1, &ieee_tlvs), frame(2, &[tlv(127, &parts.concat())])]
}

/// Wireshark's names of the fields of LLDP.
fn names() -> Vec<&'static str> {
    let fields = Kind::ALL.iter().filter(|kind| kind.layer() == "lldp").flat_map(|kind| kind.fields());
    let mut names: Vec<_> = fields.map(|field| field.wireshark).filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The values of a cell, as numbers.
fn values(cell: &str) -> Vec<u64> {
    let one = |text: &str| match text.trim_start_matches("0x") {
        "true" | "True" => 1,
        "false" | "False" => 0,
        digits if digits.len() < text.len() => u64::from_str_radix(digits, 16).unwrap(),
        digits => digits.parse().unwrap(),
    };
    cell.split(',').filter(|text| !text.is_empty()).map(one).collect()
}

#[test]
fn every_field_is_that_of_tshark() {
    let path = std::env::temp_dir().join(format!("rdmawire-lldp-{}.pcap", std::process::id()));
    let mut to = capture::create(&path, Format::Pcap, &[], capture::Options::default()).unwrap();
    for (n, frame) in all().iter().enumerate() {
        let (time, wire_len) = (Time(n as i64), frame.len() as u32);
        to.put(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame }).unwrap();
    }
    to.finish().unwrap();
    let names = names();
    assert!(names.len() > 70);
    let ours = cli()
        .args(["dissect", "--filter", "lldp", "--fields", &names.join(",")])
        .arg(&path)
        .output()
        .unwrap();
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-T", "fields", "-r"]).arg(&path);
    names.iter().for_each(|name| _ = tshark.args(["-e", name]));
    let theirs = has_wireshark("tshark").then(|| printed(&mut tshark));
    std::fs::remove_file(&path).unwrap();
    let ours = String::from_utf8(ours.stdout).unwrap();
    let rows: Vec<&str> = ours.lines().skip(1).collect();
    assert_eq!(rows.len(), 2);
    let row = |text: &str| -> Vec<Vec<u64>> { text.split('\t').map(values).collect() };
    let seen = rows.iter().map(|text| row(text)).fold(vec![0; names.len()], |mut sums, row| {
        sums.iter_mut().zip(&row).for_each(|(sum, values)| *sum += values.len());
        sums
    });
    for (name, seen) in names.iter().zip(seen) {
        assert!(seen > 0, "{name} is in neither frame");
    }
    let Some(theirs) = theirs else { return };
    for (ours, theirs) in rows.iter().zip(theirs.lines()) {
        for ((name, ours), theirs) in names.iter().zip(row(ours)).zip(row(theirs)) {
            assert_eq!(ours, theirs, "{name}");
        }
    }
}

#[test]
fn lying_lengths_end_it() {
    for whole in all() {
        for cut in 0..whole.len() {
            let d = dissect(Link::ETHERNET, &whole[..cut], cut as u32);
            let end = d.layers().last().map_or(0, |layer| (layer.at + layer.len) as usize);
            assert!(end <= cut.max(14));
        }
        for at in 14..whole.len() {
            let mut bent = whole.clone();
            bent[at] ^= 0xff;
            let d = dissect(Link::ETHERNET, &bent, bent.len() as u32);
            // The layers cover the frame without a break.
            let mut next = 0;
            for layer in d.layers().iter().filter(|layer| layer.len > 0) {
                assert_eq!(layer.at, next, "{at}: {d:?}");
                next += layer.len;
            }
            assert_eq!(next as usize, bent.len());
        }
    }
    let said = |tlvs: &[Vec<u8>]| {
        let frame = frame(1, tlvs);
        dissect(Link::ETHERNET, &frame, frame.len() as u32).notes()[0].to_string()
    };
    assert_eq!(said(&[vec![0xff, 0xff, 1, 2, 3]]), "LLDP TLV needs 513 bytes, the frame leaves 7");
}

/// The report of a WRITE with DSCP 26 after these frames.
fn report(qos: Option<QosMap>, frames: &[Vec<u8>]) -> Report {
    let mut analysis = Analysis::new(Options { qos, ..Options::default() });
    for frame in frames {
        let (time, wire_len) = (Time(1), frame.len() as u32);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
    }
    let scenario = "[[connection]]\noperations = [{ op = \"write\", size = \"64KiB\" }]\n";
    let run = run(&Scenario::parse(scenario).unwrap()).unwrap();
    let mut frames = run.frames(0);
    while let Some(frame) = frames.next() {
        let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
    }
    analysis.finish()
}

#[test]
fn dcbx_is_the_map_of_priorities() {
    let without = report(None, &[]).head.qos;
    assert!(!without.map_given && !without.map_from_dcbx && without.dcbx.is_empty());
    let is_lossy = |qos: Option<QosMap>, frames: &[Vec<u8>]| {
        let report = report(qos, frames);
        let class = report.head.traffic_classes.iter().find(|class| class.operations.writes > 0).unwrap();
        assert_eq!(class.pfc, Some(report.head.qos.without_pfc_count == 0));
        let found = report.head.findings.iter().any(|finding| finding.id == "class.no_pfc");
        assert_eq!(found, report.head.qos.without_pfc_count > 0);
        (report.head.qos.map_from_dcbx, found)
    };
    // DSCP 26 has priority 3 where nothing else is said.
    assert_eq!(is_lossy(None, &[frame(1, &[pfc(false, 1 << 3)])]), (true, false));
    assert_eq!(is_lossy(None, &[frame(1, &[pfc(false, 1 << 4)])]), (true, true));
    let table = ieee(12, &[vec![0], application(AppSelector::DSCP, 26, 4)].concat());
    assert_eq!(is_lossy(None, &[frame(1, &[pfc(false, 1 << 4), table.clone()])]), (true, false));
    // A port that is willing has what the other one has; and the last frame of a port holds.
    let host = frame(1, &[pfc(true, 1 << 4)]);
    assert_eq!(is_lossy(None, &[host.clone(), frame(2, &[pfc(false, 1 << 3)])]), (true, false));
    assert_eq!(is_lossy(None, &[host, frame(1, &[pfc(true, 1 << 3)])]), (true, false));
    // The user's map goes first.
    let mut map = QosMap::default();
    map.pfc = vec![3];
    assert_eq!(is_lossy(Some(map), &[frame(1, &[pfc(false, 1 << 4)])]), (false, false));
}

#[test]
fn ports_are_reported() {
    let [ieee, cee] = report(None, &all()).head.qos.dcbx.try_into().unwrap();
    assert_eq!((ieee.sender.as_str(), ieee.port.as_deref()), ("02:00:00:00:00:01", Some("swp7")));
    assert_eq!((ieee.pfc, ieee.pfc_willing), (Some(vec![0, 3, 6]), Some(true)));
    assert_eq!(ieee.traffic_classes, Some(vec![1, 2, 3, 4, 5, 6, 7, 0]));
    assert_eq!(ieee.bandwidth_percent, Some(vec![10, 20, 30, 40, 0, 0, 0, 0]));
    assert_eq!((ieee.applications.len(), ieee.congestion_notification), (3, vec![1, 7]));
    let last = &ieee.applications[2];
    assert_eq!((last.selector, last.protocol, &last.priorities[..]), (5, 26, &[4][..]));
    assert!(cee.is_cee && !ieee.is_cee);
    assert_eq!((cee.pfc, cee.pfc_willing), (Some(vec![3]), Some(true)));
    assert_eq!(cee.bandwidth_percent, Some(vec![50, 50, 0, 0, 0, 0, 0, 0]));
    let roce = &cee.applications[1];
    assert_eq!((roce.selector, roce.protocol, &roce.priorities[..]), (4, 4791, &[3][..]));
    assert_eq!((ieee.first_frame, ieee.frames, cee.first_frame), (1, 1, 2));
}

/// Which pauses stop a flow is by the map of DCBX, also before its first frame; nothing is claimed that the map proves wrong.
#[test]
fn pauses_meet_flows_by_the_map_of_dcbx() {
    use rdmawire::report::TimeCause;
    let text = "[[connection]]\ntimeout = 14\nmtu = 4096\nwindow = 2000\n\
        operations = [{ op = \"write\", size = \"1MiB\", count = 4 }]\n\
        [[pause]]\nfrom = \"right\"\npriority = 3\nat = \"100us\"\nhold = \"900us\"\nstops = [\"a\"]\n";
    let run = run(&Scenario::parse(text).unwrap()).unwrap();
    let mut frames = Vec::new();
    let mut all = run.frames(0);
    while let Some(frame) = all.next() {
        frames.push((frame.time_ns, frame.bytes.to_vec()));
    }
    // DSCP 26 has priority 4.
    let told = frame(
        1,
        &[pfc(false, 0b1_0000), ieee(12, &[&[0][..], &application(AppSelector::DSCP, 26, 4)].concat())],
    );
    let paused = |of_4: bool, told_at: Option<usize>| {
        let mut analysis = Analysis::new(Options { speed_bps: Some(100_000_000_000), ..Options::default() });
        let mut push = |time: i64, frame: &[u8]| {
            let (time, wire_len) = (Time(time), frame.len() as u32);
            analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
        };
        for (n, (time, frame)) in frames.iter().enumerate() {
            if told_at == Some(n) {
                push(*time, &told);
            }
            let mut frame = frame.clone();
            if of_4 && frame[12..16] == [0x88, 0x08, 1, 1] {
                assert_eq!(frame[17], 0b1000);
                frame[17] = 0b1_0000;
                frame.copy_within(24..26, 26);
            }
            push(*time, &frame);
        }
        if told_at.is_some_and(|at| at >= frames.len()) {
            push(frames.last().unwrap().0, &told);
        }
        let report = analysis.finish();
        assert_eq!(report.head.qos.map_from_dcbx, told_at.is_some());
        for slow in &report.head.slow_flows {
            assert_eq!(slow.shares.iter().map(|share| share.ns).sum::<u64>(), slow.lasted_ns);
        }
        let did = report.head.pause.as_ref().unwrap()[0].effect.unwrap();
        // A flow that no pause stopped need not be slow: its one silence may be its pace.
        let mut shares = report.head.slow_flows.iter().flat_map(|slow| &slow.shares);
        let ns = shares.find(|share| share.cause == TimeCause::Paused).map_or(0, |share| share.ns);
        assert_eq!(did.flows > 0, ns > 0, "{did:?}");
        ns.div_ceil(100_000)
    };
    let (first, last) = (Some(0), Some(frames.len()));
    // Without a word of DCBX, and with it: 900 us of its own priority; none of another one.
    assert_eq!((paused(false, None), paused(true, None)), (9, 0));
    assert_eq!((paused(true, first), paused(false, first)), (9, 0));
    // It comes after the pause: what went to priority 3 is taken back, and what priority 4 would have taken counts.
    assert_eq!((paused(false, last), paused(true, last)), (0, 9));
    let middle = frames.iter().rposition(|(_, frame)| frame[12..16] == [0x88, 0x08, 1, 1]).map(|at| at + 200);
    assert!(middle.is_some_and(|at| at < frames.len()));
    assert_eq!((paused(false, middle), paused(true, middle)), (0, 9));
}
