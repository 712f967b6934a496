//! Subnets of InfiniBand: one that opensm made of ibsim's switches and adapters, and crafted ones.

use crate::properties::Random;
use crate::support::{
    programs::{cli, ended, printed},
    scratch::Scratch,
};
use rdmawire::{
    capture::{Record, Time},
    craft::{Dialog, Endpoint, Management, Packet, Path},
    dissect::{Dissection, Encapsulation, Link, dissect},
    fabric::{Fabric, Report, Unreachable},
    frame::{Frame, Json, Names},
    icrc,
    wire::*,
};
use std::net::Ipv4Addr;

/// opensm's bring-up of ibsim's example `net.2sw2path4hca`, then saquery, perfquery and others, as umad gave and got their datagrams.
const CAPTURE: &str = "tests/data/opensm_ibsim.pcap.zst";

/// Each node is a box, each pair of nodes with links a line, adapters stand below the switches.
#[test]
fn the_picture_has_all_nodes_and_links() {
    let scratch = Scratch::new("fabric-svg");
    let file = scratch.join("subnet.svg");
    printed(cli().args(["fabric", CAPTURE, "--svg"]).arg(&file));
    let svg = std::fs::read_to_string(&file).unwrap();
    let y = |name: &str| -> u32 {
        let before = svg.split(&format!(">{name}</text>")).next().unwrap();
        before.rsplit("y=\"").next().unwrap().split('"').next().unwrap().parse().unwrap()
    };
    for (switch, adapter) in
        [("Switch1", "Hca1"), ("Switch2", "Hca4"), ("Switch1", "Hca3"), ("Switch2", "Hca2")]
    {
        assert!(y(switch) < y(adapter), "{switch} {adapter}");
    }
    assert_eq!(svg.matches("<path").count(), 5, "two links are of one pair");
    assert!(svg.contains("Switch1 port 3 to Switch2 port 3, 4x 2.5 Gbit/s"), "{svg}");
    // A picture of an earlier run is replaced, another file is not.
    printed(cli().args(["fabric", CAPTURE, "--svg"]).arg(&file));
    std::fs::write(&file, "mine").unwrap();
    let (code, _, said) = ended(cli().args(["fabric", CAPTURE, "--svg"]).arg(&file));
    assert!(code != Some(0) && said.contains("--force"), "{said}");
}

/// LIDs, nodes and forwarding tables are those of ibsim's own dump.
#[test]
fn the_subnet_is_as_ibsim_has_it() {
    let json: serde_json::Value =
        serde_json::from_str(&printed(cli().args(["fabric", "--json", CAPTURE]))).unwrap();
    let mut nodes: Vec<(String, String, u64)> = json["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| {
            let text = |name: &str| node[name].as_str().unwrap().to_owned();
            (text("name"), text("guid"), node["lid"].as_u64().unwrap())
        })
        .collect();
    nodes.sort();
    let node = |name: &str, guid: &str, lid| (name.to_owned(), format!("0x0000000000{guid}"), lid);
    assert_eq!(
        nodes,
        [
            node("Hca1", "100000", 2),
            node("Hca2", "100003", 4),
            node("Hca3", "100006", 5),
            node("Hca4", "100009", 6),
            node("Switch1", "200000", 1),
            node("Switch2", "200001", 3),
        ]
    );
    let mut links: Vec<String> = json["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| {
            let mut ends = ["a", "b"]
                .map(|end| format!("{}/{}", link[end].as_str().unwrap(), link[format!("{end}_port")]));
            ends.sort();
            ends.join(" ")
        })
        .collect();
    links.sort();
    assert_eq!(
        links,
        [
            "Hca1/1 Switch1/1",
            "Hca2/1 Switch2/1",
            "Hca3/1 Switch1/2",
            "Hca4/1 Switch2/2",
            "Switch1/3 Switch2/3",
            "Switch1/5 Switch2/5",
        ]
    );
    assert_eq!((json["pairs_reached"].as_u64(), json["pairs_not_reached"].as_u64()), (Some(12), Some(0)));
    assert_eq!(json["managers"][0]["state"], "master");
    assert_eq!(json["transfers_broken"], 0);
    // ibsim: `Forwarding table 0-6: [0]FF [1]3 [2]3 [3]0 [4]1 [5]5 [6]2` of the second switch.
    let way = printed(cli().args(["fabric", "--way", "4,5", CAPTURE]));
    assert_eq!(
        way,
        "Hca2  out port 1\nSwitch2  in port 1  out port 5\nSwitch1  in port 5  out port 2\nHca3  in port 1\n"
    );
}

#[test]
fn lists_are_tables_too() {
    let at = Scratch::new("fabric-tables");
    let directory = at.join("tables");
    printed(cli().args(["fabric", CAPTURE, "--csv", directory.to_str().unwrap()]));
    let nodes = std::fs::read_to_string(directory.join("fabric_nodes.csv")).unwrap();
    assert_eq!(nodes.lines().count(), 7, "{nodes}");
    assert!(nodes.starts_with("capture_id,capture,guid,name,kind,lid,"), "{nodes}");
}

fn lid_path(from: u16, to: u16) -> Path {
    let end = |n: u16| Endpoint::new(Ipv4Addr::new(10, 0, 0, n as u8)).lid(n);
    Path::new(Encapsulation::Ib, end(from), end(to))
}

/// What these packets show, a millisecond from one to the next.
fn shown(packets: &[Packet]) -> Report {
    read(packets).finish()
}

fn read(packets: &[Packet]) -> Fabric {
    read_at(packets.iter().map(|packet| (0, packet)))
}

/// The same, of several interfaces.
fn read_at<'a>(packets: impl Iterator<Item = (u16, &'a Packet)>) -> Fabric {
    let mut fabric = Fabric::default();
    for (n, (interface, packet)) in packets.enumerate() {
        let (frame, wire_len) = (packet.build(), packet.wire_len());
        let record = Record {
            time: Time(n as i64 * 1_000_000),
            link: packet.link(),
            frame: &frame,
            wire_len,
            interface,
        };
        fabric.push(n as u64 + 1, &record, &dissect(record.link, record.frame, record.wire_len));
    }
    fabric
}

fn answer(class: MgmtClass, from: u16) -> Management {
    Management::get(lid_path(from, 1), class).method(MadMethod::GET_RESP)
}

fn node(kind: NodeType, guid: u64, port: u8) -> NodeInfo {
    NodeInfo::default()
        .with_node_type(kind)
        .with_num_ports(4)
        .with_node_guid(Guid(guid))
        .with_port_guid(Guid(guid + 1))
        .with_local_port_num(port)
}

/// Two hosts at one switch: by directed routes from the first host.
fn subnet() -> Vec<Packet> {
    let smp = answer(MgmtClass::SUBN_LID, 1);
    let port = |lid: u16, state: PortState| {
        PortInfo::default()
            .with_lid(Lid(lid))
            .with_local_port_num(1)
            .with_port_state(state)
            .with_master_sm_lid(Lid(1))
    };
    vec![
        smp.directed(&[], &[], node(NodeType::CA, 0x10, 1)),
        smp.directed(&[1], &[1], node(NodeType::SWITCH, 0x20, 3)),
        smp.directed(&[1, 4], &[1, 1], node(NodeType::CA, 0x30, 2)),
        smp.directed(&[], &[], port(1, PortState::ACTIVE)),
        smp.directed(&[1], &[1], port(2, PortState::ACTIVE)),
        Management { modifier: 2, ..smp }.directed(&[1, 4], &[1, 1], port(3, PortState::ACTIVE)),
        smp.directed(&[1], &[1], LinearFdb::default().with_ports(PortList::default().with(1, 3).with(3, 4))),
    ]
}

#[test]
fn directed_routes_say_where_nodes_are() {
    let report = shown(&subnet());
    let lids: Vec<_> = report.nodes.iter().map(|node| (node.kind.as_ref(), node.lid)).collect();
    assert_eq!(lids, [("channel adapter", Some(1)), ("switch", Some(2)), ("channel adapter", Some(3))]);
    let links: Vec<_> =
        report.links.iter().map(|link| (link.a_port, link.b_port, link.pairs_from_b)).collect();
    assert_eq!(links, [(1, 3, Some(1)), (4, 2, None)]);
    assert_eq!((report.pairs_reached, report.pairs_not_reached), (Some(2), Some(0)));
    assert_eq!(
        (report.managers.len(), report.managers[0].lid, report.managers[0].port_count),
        (1, Some(1), 3)
    );
}

/// By the same ports, routes lead elsewhere from each manager: what is asked by one says nothing of the nodes of the other.
#[test]
fn routes_of_two_managers_are_told_apart() {
    let smp = answer(MgmtClass::SUBN_LID, 1);
    let lid = |lid: u16| PortInfo::default().with_lid(Lid(lid)).with_local_port_num(1);
    let links = |report: &Report| -> Vec<_> {
        let end = |guid: &str, port: u8| format!("{}/{port}", guid.trim_start_matches(['0', 'x']));
        report
            .links
            .iter()
            .map(|of| [end(&of.a_guid, of.a_port), end(&of.b_guid, of.b_port)].join(" "))
            .collect()
    };
    let lids = |report: &Report| -> Vec<_> { report.nodes.iter().map(|node| node.lid).collect() };
    // Taps at both managers, which are at port 3 of their switches; each is captured by itself.
    let first = [
        smp.directed(&[], &[], node(NodeType::CA, 0x10, 1)),
        smp.directed(&[1], &[3], node(NodeType::SWITCH, 0x20, 3)),
        smp.directed(&[1, 4], &[3, 5], node(NodeType::SWITCH, 0x40, 5)),
        smp.directed(&[], &[], lid(1)),
        smp.directed(&[1], &[3], lid(2)),
        smp.directed(&[1, 4], &[3, 5], lid(4)),
    ];
    let second = [
        smp.directed(&[], &[], node(NodeType::CA, 0x50, 1)),
        smp.directed(&[1], &[3], node(NodeType::SWITCH, 0x40, 3)),
        smp.directed(&[1, 5], &[3, 4], node(NodeType::SWITCH, 0x20, 4)),
        smp.directed(&[], &[], lid(5)),
        smp.directed(&[1], &[3], lid(4)),
        smp.directed(&[1, 5], &[3, 4], lid(2)),
    ];
    let both = first.iter().zip(&second).flat_map(|(a, b)| [(0, a), (1, b)]);
    let report = read_at(both).finish();
    assert_eq!(links(&report), ["10/1 20/3", "20/4 40/5", "40/3 50/1"]);
    assert_eq!(lids(&report), [Some(1), Some(2), Some(4), Some(5)]);
    // Another tap of the first link has what the first lacks.
    let (some, rest) = first.split_at(3);
    let halves = some.iter().map(|packet| (3, packet)).chain(rest.iter().map(|packet| (2, packet)));
    assert_eq!(lids(&read_at(halves).finish()), [Some(1), Some(2), Some(4)]);
    // One tap at the second adapter: what it asks, and its answers to the other manager.
    let report = shown(&[
        smp.directed(&[1], &[3], node(NodeType::SWITCH, 0x40, 3)),
        smp.directed(&[1, 4], &[3, 5], node(NodeType::SWITCH, 0x20, 5)),
        smp.directed(&[1, 4], &[3, 1], node(NodeType::CA, 0x50, 1)),
        smp.directed(&[1, 4], &[3, 5], lid(2)),
        smp.directed(&[1, 4], &[3, 1], lid(5)),
    ]);
    assert_eq!(lids(&report), [Some(2), None, Some(5)]);
}

/// A record says what was: what a port says after it counts.
#[test]
fn the_last_word_on_a_port_counts() {
    let mut packets = subnet();
    let of = PortInfo::default().with_lid(Lid(2)).with_local_port_num(1);
    let active = of.with_port_state(PortState::ACTIVE);
    let begin = PortInfoRecord::default().with_endport_lid(Lid(2)).with_port_num(4);
    let record = [begin.bytes(), active.bytes()].concat();
    let table = answer(MgmtClass::SUBN_ADM, 1).method(MadMethod::GET_TABLE_RESP);
    packets.extend(table.records(0x12, 0, &[&record]));
    let smp = answer(MgmtClass::SUBN_LID, 1);
    let down = of.with_port_state(PortState::DOWN);
    packets.push(Management { modifier: 4, ..smp }.directed(&[1], &[1], down));
    let report = shown(&packets);
    let link = report.links.iter().find(|link| link.a_port == 4).unwrap();
    assert_eq!(link.state.as_deref(), Some("down"));
    assert!(report.findings[0].starts_with("1 link is down"), "{:?}", report.findings);
}

#[test]
fn ways_that_end_nowhere_or_come_back_are_said() {
    let mut packets = subnet();
    let smp = answer(MgmtClass::SUBN_LID, 1);
    packets.push(smp.directed(
        &[1],
        &[1],
        LinearFdb::default().with_ports(PortList::default().with(1, 3).with(3, 255)),
    ));
    assert_eq!(read(&packets).way(1, 3), Err(Unreachable::NoRoute));
    assert_eq!(read(&packets).way(3, 1).map(|hops| hops.len()), Ok(3));
    assert_eq!(read(&packets).way(1, 9), Err(Unreachable::Unknown));
    let report = shown(&packets);
    assert!(
        report.findings.iter().any(|finding| finding.contains("no port for the LID")),
        "{:?}",
        report.findings
    );
}

/// A table in segments is whole, whatever comes twice; one that misses a segment is no table.
#[test]
fn tables_in_segments() {
    let table = answer(MgmtClass::SUBN_ADM, 1).method(MadMethod::GET_TABLE_RESP);
    let records: Vec<Vec<u8>> = (1..=9u64)
        .map(|n| {
            let name = NodeDescription::default().with_node_string(format!("node {n}").as_str().into());
            let of = LidRecord::default().with_lid(Lid(n as u16));
            [of.bytes(), node(NodeType::CA, n * 16, 1).bytes(), name.bytes()].concat()
        })
        .collect();
    let records: Vec<&[u8]> = records.iter().map(|record| &record[..]).collect();
    let segments = table.records(0x11, 0, &records);
    // 112 bytes each, 200 in a segment.
    assert_eq!(segments.len(), 6);
    let report = shown(&segments);
    let names: Vec<_> = report.nodes.iter().map(|node| (node.name.as_str(), node.lid)).collect();
    assert_eq!((names.len(), names[0], names[8]), (9, ("node 1", Some(1)), ("node 9", Some(9))));
    assert_eq!((report.transfers, report.transfers_broken), (1, 0));
    let mut twice = segments.clone();
    twice.insert(3, segments[2].clone());
    assert_eq!(shown(&twice).nodes.len(), 9);
    let mut holey = segments;
    holey.remove(3);
    let report = shown(&holey);
    assert_eq!((report.nodes.len(), report.transfers, report.transfers_broken), (0, 0, 1));
}

#[test]
fn counters_are_counted_between_answers() {
    let of = answer(MgmtClass::PERF, 7);
    let counters = |data: u32, errors: u16| {
        let counters = PortCounters::default().with_port_select(2).with_port_xmit_data(data);
        of.attribute(counters.with_symbol_error_counter(errors))
    };
    let report = shown(&[counters(1000, 3), counters(1500, 3), counters(100, u16::MAX)]);
    let row = |name: &str| report.counters.iter().find(|row| row.counter == name).unwrap();
    let data = row("port_xmit_data");
    // It was set to zero before the third answer: it counted 100 since then, and nobody knows what before.
    assert_eq!(
        (data.lid, data.port, data.increase, data.increase_bytes, data.resets),
        (7, 2, 600, Some(2400), 1)
    );
    assert_eq!((data.samples, data.span_ns, data.per_second), (3, 2_000_000, Some(300_000.0)));
    let errors = row("symbol_error_counter");
    assert_eq!((errors.increase, errors.is_full), (65532, true));
    assert_eq!(report.samples.len(), 3);
    assert!(report.findings.iter().any(|finding| finding.starts_with("symbol_error_counter grew")));
}

/// Counters by lane and service level are told one by one, in bytes where they count words of four.
#[test]
fn counters_of_lanes_and_service_levels() {
    let of = answer(MgmtClass::PERF, 7);
    let data = |n: u64, more: u64| {
        of.attribute(
            PortXmitDataSl::default()
                .with_port_select(2)
                .with_port_xmit_data_sl(Counts::default().with(0, n).with(15, n + more)),
        )
    };
    let wait = |n: u64| {
        let waits = Counts::default().with(3, n);
        of.attribute(PortVlXmitWaitCounters::default().with_port_select(2).with_port_vl_xmit_wait(waits))
    };
    let report = shown(&[data(1000, 0), wait(7), data(1100, 50), wait(0xffff)]);
    let rows: Vec<_> = report
        .counters
        .iter()
        .map(|row| (&*row.attribute, &*row.counter, row.increase, row.increase_bytes, row.is_full))
        .collect();
    assert_eq!(
        rows,
        [
            ("PortVLXmitWaitCounters", "port_vl_xmit_wait[3]", 0xfff8, None, true),
            ("PortXmitDataSL", "port_xmit_data_sl[0]", 100, Some(400), false),
            ("PortXmitDataSL", "port_xmit_data_sl[15]", 150, Some(600), false),
        ]
    );
    assert!(report.findings.iter().any(|finding| finding.starts_with("port_vl_xmit_wait[3] grew at 1 port")));
    assert_eq!(report.samples.len(), 3);
}

/// Whatever the datagrams say: nothing panics, and what is kept is bounded by what was sent.
#[test]
fn noise_is_read_without_harm() {
    let mut random = Random::new(48);
    let classes = [0x01, 0x81, 0x03, 0x03, 0x04, 0x05, 0x06, 0x21, 0x09, 0x30];
    let methods = [0x01, 0x02, 0x05, 0x06, 0x12, 0x81, 0x81, 0x92, 0x95];
    let packets: Vec<Packet> = (0..6000)
        .map(|_| {
            let mut of = answer(MgmtClass(classes[random.below(classes.len())]), 1 + random.below(4) as u16);
            of.method = MadMethod(methods[random.below(methods.len())]);
            (of.modifier, of.transaction_id) =
                (random.next() as u32 >> random.below(32), random.below(3) as u64);
            let mut bytes: Vec<u8> = (0..232).map(|_| random.next() as u8 >> random.below(8)).collect();
            // Segments of tables, mostly in order.
            bytes[..4].copy_from_slice(&[1, 1 + random.below(4) as u8, random.below(8) as u8, 0]);
            bytes[4..8].copy_from_slice(&(1 + random.below(3) as u32).to_be_bytes());
            let packet =
                of.bytes([0x10, 0x11, 0x12, 0x15, 0x19, 0x1d, 0x20, 0x35, 0x38][random.below(9)], &[]);
            let rest = packet.parts().iter().rposition(|part| part.kind == Kind::Mad).unwrap();
            let head = packet.parts()[..=rest].iter().map(|part| (part.kind, packet.bytes_of(part).to_vec()));
            let bare = head.collect::<Vec<_>>().into_iter();
            bare.fold(Packet::new(packet.link()), |to, (kind, bytes)| to.push_bytes(kind, &bytes))
                .payload(bytes)
        })
        .collect();
    let report = shown(&packets);
    assert_eq!((report.datagrams, report.bad_icrc), (6000, 0));
    assert!(report.nodes.len() <= 6000 * 2 && report.transfers_broken > 0 && report.transfers > 0);
    let text = serde_json::to_string(&report).unwrap();
    assert!(text.len() < 64 << 20, "{}", text.len());
}

/// Frames that end early are counted, and not read.
#[test]
fn cut_datagrams_are_said() {
    let packet = answer(MgmtClass::SUBN_LID, 1).attribute(node(NodeType::CA, 16, 1));
    let frame = packet.build();
    for have in 0..frame.len() {
        let mut fabric = Fabric::default();
        let record = Record {
            time: Time(0),
            link: packet.link(),
            frame: &frame[..have],
            wire_len: frame.len() as u32,
            interface: 0,
        };
        fabric.push(1, &record, &dissect(record.link, record.frame, record.wire_len));
        let report = fabric.finish();
        let is_whole = have >= frame.len() - 6;
        assert_eq!(report.nodes.len(), usize::from(is_whole), "{have}");
        assert!(report.cut <= 1 && (report.cut == 0 || !is_whole));
    }
}

#[test]
fn questions_and_what_became_of_them() {
    let ask = Management::get(lid_path(1, 7), MgmtClass::PERF);
    let question = |n| Management { transaction_id: n, ..ask }.attribute(PortCounters::default());
    let reply =
        Management { transaction_id: 2, ..answer(MgmtClass::PERF, 7) }.attribute(PortCounters::default());
    let report = shown(&[question(1), question(2), question(1), reply]);
    let row = &report.operations[0];
    assert_eq!((row.attribute.as_str(), row.method.as_str()), ("PortCounters", "Get"));
    assert_eq!((row.questions, row.repeated, row.answers, row.unanswered), (3, 1, Some(1), 1));
    assert_eq!(row.p50_ns, Some(2_000_000));
}

/// Logs of congestion: a switch's, and a channel adapter's, as the builder makes them, up to the events that are used.
#[test]
fn logs_of_congestion_are_read() {
    let ask = Management::get(lid_path(1, 7), MgmtClass::CONGESTION).method(MadMethod::GET_RESP);
    let read = |bytes: &[u8]| {
        let frame = ask.bytes(0x13, bytes).build();
        let d = dissect(Link::INFINIBAND, &frame, frame.len() as u32);
        assert_eq!(icrc::verify(&d), icrc::State::Good);
        let layers: Vec<(Kind, u32)> =
            d.layers().iter().filter(|of| of.kind.is_management()).map(|of| (of.kind, of.at)).collect();
        let json = frame_json(&d);
        (layers.into_iter().map(|(kind, _)| kind).skip(2).collect::<Vec<_>>(), json)
    };
    let log = CongestionLog::default().with_log_type(CongestionLogType::SWITCH).with_event_count(2);
    let event =
        |slid: u16| SwitchCongestionEvent::default().with_slid(Lid(slid)).with_sl(3).with_time_stamp(9);
    let head = SwitchCongestionLog::default().with_current_time(100);
    let bytes = [log.bytes(), head.bytes(), event(5).bytes(), event(6).bytes()].concat();
    let (kinds, json) = read(&bytes);
    let events = [Kind::SwitchCongestionEvent; 2];
    assert_eq!(kinds, [&[Kind::CongestionLog, Kind::SwitchCongestionLog][..], &events].concat());
    for part in ["\"log_type\":1", "\"current_time\":100", "\"slid\":5", "\"slid\":6", "\"time_stamp\":9"] {
        assert!(json.contains(part), "{part}: {json}");
    }
    // No more than the datagram has.
    let full = [bytes[..40].to_vec(), event(5).bytes().repeat(15)].concat();
    assert_eq!(read(&full).0.len(), 2 + 15);

    let log = log.with_log_type(CongestionLogType::ADAPTER);
    let head = CaCongestionLog::default().with_event_map(Hex16(8)).with_current_time(100);
    let event = CaCongestionEvent::default()
        .with_local_qp(Qpn(0x11))
        .with_remote_qp(Qpn(0x22))
        .with_remote_lid(Lid(4));
    let bytes = [log.bytes(), head.bytes(), &event.bytes().repeat(13)].concat();
    let (kinds, json) = read(&bytes);
    assert_eq!(kinds.len(), 2 + 13);
    assert!(json.contains("\"remote_qp\":34,\"sl\":0,\"service_type\":0,\"remote_lid\":4"), "{json}");
    // A type that does not exist: the rest is not read.
    assert_eq!(read(&[7; 40]).0, [Kind::CongestionLog]);
}

fn frame_json(d: &Dissection<'_>) -> String {
    let mut text = String::new();
    Json::new(Names::Own).write(&Frame::new(1, 0, d), None, &mut text).unwrap();
    text
}

/// A group of two hosts, of which the switch forwards to one: its tree, its members, and who is left out.
#[test]
fn multicast_trees_and_members() {
    let smp = answer(MgmtClass::SUBN_LID, 1);
    let mut packets = subnet();
    // Port 3 of the second group of its block.
    let masks = PortMasks::default().with(1, 1 << 3);
    packets.push(smp.directed(&[1], &[1], MulticastFdb::default().with_port_masks(masks)));
    let member = |guid: u64, join: u8| {
        McMemberRecord::default()
            .with_mgid("ff12:401b::1".parse().unwrap())
            .with_port_gid(std::net::Ipv6Addr::from(0xfe80_u128 << 112 | u128::from(guid)))
            .with_mlid(Lid(0xc001))
            .with_join_state(JoinState(join))
    };
    let table = answer(MgmtClass::SUBN_ADM, 1).method(MadMethod::GET_TABLE_RESP);
    let records = [member(0x11, 1), member(0x31, 1), member(0x99, 4)];
    let bytes: Vec<&[u8]> = records.iter().map(|record| record.bytes()).collect();
    packets.extend(table.records(0x38, 0, &bytes));
    let report = shown(&packets);
    let tree: Vec<_> =
        report.group_ports.iter().map(|row| (row.mlid, row.port, row.to_port, row.is_member)).collect();
    assert_eq!(tree, [(0xc001, 3, Some(1), Some(true))]);
    assert_eq!(report.group_ports[0].mgid.as_deref(), Some("ff12:401b::1"));
    let members: Vec<_> = report
        .group_members
        .iter()
        .map(|row| (row.port, row.is_full, row.is_send_only, row.is_reached))
        .collect();
    let expected =
        [(Some(1), true, false, Some(true)), (Some(2), true, false, Some(false)), (None, false, true, None)];
    assert_eq!(members, expected);
    assert_eq!((report.groups[0].member_count, report.groups[0].switch_ports), (3, 1));
    let said = |report: &Report| {
        report.findings.iter().any(|of| of.contains("has joined the multicast group 0xc001"))
    };
    assert!(said(&report), "{:?}", report.findings);
    // With its port in the table, nobody is left out; what the switch forwards to who has not joined is said too.
    let masks = PortMasks::default().with(1, 1 << 3 | 1 << 4);
    packets.push(smp.directed(&[1], &[1], MulticastFdb::default().with_port_masks(masks)));
    let leave = Management { method: MadMethod(0x95), ..table };
    packets.extend(leave.records(0x38, 0, &[member(0x11, 1).bytes()]));
    let report = shown(&packets);
    assert!(!said(&report), "{:?}", report.findings);
    let tree: Vec<_> = report.group_ports.iter().map(|row| (row.port, row.is_member)).collect();
    assert_eq!(tree, [(3, Some(false)), (4, Some(true))]);
}

/// Where all ICRCs are wrong, something rewrote the datagrams: they are read, and that is said. Among right ones, wrong ones are corrupt.
#[test]
fn icrcs_that_are_all_wrong_are_no_evidence() {
    let of = |wrong: &[usize]| {
        let mut fabric = Fabric::default();
        for (n, packet) in subnet().iter().enumerate() {
            let (mut frame, wire_len) = (packet.build().to_vec(), packet.wire_len());
            if wrong.contains(&n) {
                let len = frame.len();
                frame[len - 3] ^= 1;
            }
            let record =
                Record { time: Time(n as i64), link: packet.link(), frame: &frame, wire_len, interface: 0 };
            fabric.push(n as u64 + 1, &record, &dissect(record.link, record.frame, record.wire_len));
        }
        fabric.finish()
    };
    let intact = of(&[]);
    // As few as these may all be corrupt: the rule is that of the analysis, which believes four.
    let few = of(&[0, 1, 2, 3, 4, 5, 6]);
    assert_eq!((few.bad_icrc, few.bad_icrc_read), (4, 3));
    let one = of(&[1]);
    assert_eq!((one.bad_icrc, one.bad_icrc_read, one.datagrams), (1, 0, intact.datagrams - 1));
    let said = |report: &Report| report.findings.iter().any(|finding| finding.contains("wrong ICRC"));
    assert!(said(&one) && !said(&intact));

    let frames = crate::support::trace::rewritten(CAPTURE);
    let mut fabric = Fabric::default();
    for (number, frame) in (1..).zip(&frames) {
        let record = frame.record();
        fabric.push(number, &record, &dissect(record.link, record.frame, record.wire_len));
    }
    let all = fabric.finish();
    assert_eq!((all.nodes.len(), all.bad_icrc), (6, 0));
    assert!(all.bad_icrc_read > 100 && said(&all), "{:?}", all.findings);
}

/// Messages that ask for no answer have none to count: null, not zero.
#[test]
fn messages_without_an_answer_have_none_to_count() {
    let dialog = Dialog::new(lid_path(1, 7), Qpn(5), Qpn(6));
    let report = shown(&[dialog.req(&[]), dialog.rep(&[])]);
    let rows: Vec<_> =
        report.operations.iter().map(|row| (row.attribute.as_str(), row.questions, row.answers)).collect();
    assert_eq!(rows, [("REQ", 1, None), ("REP", 1, None)]);
}
