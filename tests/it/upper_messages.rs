//! Messages of upper layers in frames: those that only their queue pair's set-up tells, and every field that tshark knows too.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    process::Command,
};

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{self, Record, Sink, Source, Time},
    craft::Packet,
    dissect::{Dissection, Link, dissect},
    frame::{Frame, Json, Names, Uppers},
    nvme,
    opcode::Opcode,
    report,
    upper::{self, Message, Protocol, data_of},
    wire::*,
};

use crate::support::{
    programs::{has_wireshark, printed},
    scratch::Scratch,
    trace::each_kept,
};

/// Each frame of a capture, with what set-ups said before it.
fn each(name: &str, mut see: impl FnMut(u64, &Record<'_>, &Dissection<'_>)) {
    let mut reader = capture::open(format!("pcaps/{name}-A.pcap.zst").as_ref()).unwrap();
    let (mut uppers, mut number) = (Uppers::default(), 0);
    while let Some(record) = reader.next().unwrap() {
        number += 1;
        let d = dissect(Link(record.link.0), record.frame, record.wire_len);
        see(number, &record, &uppers.know(d));
    }
}

/// Every response has the number of a command that is open on the opposite way, and each completed command has one.
#[test]
fn responses_are_known_by_the_set_up() {
    let mut commands = nvme::Commands::keeping(1000);
    let mut open = HashMap::<u16, u32>::new();
    let (mut responses, mut alone) = (0, 0);
    each("nvme_basic", |number, record, d| {
        commands.push(number, record, d);
        let kinds: Vec<Kind> = d.layers().iter().map(|layer| layer.kind).collect();
        if let Some(sqe) = d.get::<NvmeSqe>() {
            *open.entry(sqe.command_id().0).or_default() += 1;
        }
        for (kind, id) in [
            (Kind::NvmeRw, d.get::<NvmeRw>().map(|h| h.command_id())),
            (Kind::NvmeConnect, d.get::<NvmeConnect>().map(|h| h.command_id())),
            (Kind::NvmePropertyAccess, d.get::<NvmePropertyAccess>().map(|h| h.command_id())),
            (Kind::NvmeFabrics, d.get::<NvmeFabrics>().map(|h| h.command_id())),
        ] {
            assert_eq!(kinds.contains(&kind), id.is_some(), "{number}");
            id.into_iter().for_each(|id| *open.entry(id.0).or_default() += 1);
        }
        if let Some(cqe) = d.get::<NvmeCqe>() {
            let left = open.get_mut(&cqe.command_id().0).unwrap_or_else(|| panic!("{number}: {cqe}"));
            *left = left.checked_sub(1).unwrap();
            responses += 1;
            // Without the set-up, nothing says what it is.
            let again = dissect(Link(record.link.0), record.frame, record.wire_len);
            alone += u32::from(again.get::<NvmeCqe>().is_some());
        }
    });
    let report = commands.finish();
    let completed: u64 = report.queues.iter().map(|queue| queue.completed).sum();
    assert_eq!((responses, alone), (completed, 0));
    assert!(responses > 250);
}

/// Commands have the table of what they are; Get Log Page, which has the code of a Read, has not its table.
#[test]
fn commands_of_nvme_have_their_tables() {
    let mut kinds = BTreeMap::<Kind, u32>::new();
    let mut queues = Vec::new();
    let (mut written, mut properties) = (0, BTreeSet::new());
    each("nvme_basic", |_, _, d| {
        for layer in d.layers().iter().filter(|layer| layer.kind.layer() == "nvme") {
            *kinds.entry(layer.kind).or_default() += 1;
        }
        if let Some(connect) = d.get::<NvmeConnect>() {
            queues.push((connect.qid().0, connect.sqsize().0, connect.kato().0));
        }
        if let Some(rw) = d.get::<NvmeRw>().filter(|rw| rw.opcode() == NvmeOpcode::WRITE) {
            written += (u64::from(rw.nlb().0) + 1) * 512;
        }
        properties.extend(d.get::<NvmePropertyAccess>().map(|access| access.property().0.0));
    });
    // As the discovery, the admin and the I/O queue were set up.
    assert_eq!(queues, [(0, 31, 0), (0, 31, 5000), (1, 127, 0)]);
    assert_eq!(properties.into_iter().collect::<Vec<_>>(), [0x00, 0x08, 0x14, 0x1c]);
    let of = |kind| kinds.get(&kind).copied().unwrap_or(0);
    assert_eq!((of(Kind::NvmeConnect), of(Kind::NvmeFabrics)), (3, 0));
    assert_eq!((of(Kind::NvmeRw), written), (203, 1_695_744));
    let mut sqe = NvmeSqe::default().with_opcode(Hex8(2)).with_flags(Hex8(0x40)).with_sgl(NvmeSgl(0x40));
    let kind = |sqe: NvmeSqe| {
        let parts = Protocol::Nvme.read(Message { bytes: sqe.bytes(), len: Some(64) });
        parts.first().map(|part| part.kind)
    };
    sqe = sqe.with_length(Le(4096));
    // Eight blocks of 512 bytes, or one of 4 KiB.
    assert_eq!(kind(sqe.with_cdw12(Le(Hex32(7)))), Some(Kind::NvmeRw));
    assert_eq!(kind(sqe), Some(Kind::NvmeRw));
    // 1,024 words of a log.
    assert_eq!(kind(sqe.with_cdw10(Le(Hex32(0x03ff_0002)))), Some(Kind::NvmeSqe));
    // No number of blocks.
    assert_eq!(kind(sqe.with_length(Le(4097))), Some(Kind::NvmeSqe));
}

/// What commands move is read where the frame shows it: Identify, logs, and Connect's data, in its capsule too. The key decides, not the data.
#[test]
fn data_of_nvme_has_tables() {
    let mut found = BTreeMap::<Kind, u32>::new();
    let (mut models, mut hosts, mut last) = (Vec::new(), BTreeSet::new(), None);
    each("nvme_basic", |_, record, d| {
        for layer in d.layers().iter().filter(|layer| layer.kind.layer().starts_with("nvme_")) {
            *found.entry(layer.kind).or_default() += 1;
        }
        let id = d.get::<NvmeIdController>();
        models.extend(id.map(|id| (id.sn().as_str().to_owned(), id.mdts(), id.ver().0.0)));
        hosts.extend(d.get::<NvmeConnectData>().map(|data| data.hostnqn().as_str().to_owned()));
        if id.is_some() {
            last = Some((record.link.0, record.frame.to_vec(), record.wire_len));
            assert!(
                dissect(Link(record.link.0), record.frame, record.wire_len)
                    .get::<NvmeIdController>()
                    .is_none()
            );
        }
    });
    let serials: Vec<_> =
        models.iter().map(|(serial, mdts, version)| (serial.trim_end(), *mdts, *version)).collect();
    let [discovery, disk] = ["3d7292925f57f010d6e9", "6e9bcb4f1869d8d35636"];
    assert_eq!(
        serials,
        [(discovery, 0, 0x1_0300), (discovery, 0, 0x1_0300), (disk, 8, 0x1_0300), (disk, 8, 0x1_0300)]
    );
    let host = "nqn.2014-08.org.nvmexpress:uuid:599bd742-5bb6-42df-aba4-e83d0ce513c1".to_owned();
    assert_eq!(hosts.into_iter().collect::<Vec<_>>(), [host]);
    // Two by READ responses, one in its capsule.
    assert_eq!(found[&Kind::NvmeConnectData], 3);
    for kind in [
        Kind::NvmeIdNamespace,
        Kind::NvmeLbaFormat,
        Kind::NvmeNsId,
        Kind::NvmeSmartLog,
        Kind::NvmeAnaGroup,
        Kind::NvmeDiscoveryLog,
        Kind::NvmeIdSubsystem,
    ] {
        assert!(found.get(&kind) > Some(&0), "{kind:?}: {found:?}");
    }
    // The same data with no command that named its memory.
    let frame = last.unwrap();
    let mut nobody = Uppers::default();
    assert!(nobody.know(dissect(Link(frame.0), &frame.1, frame.2)).get::<NvmeIdController>().is_none());
}

/// Any bytes are data of any kind, of any length: what does not fit has fewer headers.
#[test]
fn data_of_any_bytes_is_read() {
    let mut random = crate::properties::Random::new(11);
    for round in 0..2000 {
        let len = random.below(6000);
        let fill = round % 5;
        let bytes: Vec<u8> = (0..len)
            .map(|at| match fill {
                0 => 0,
                1 => 0xff,
                2 => u8::from(at % 4 == 0),
                _ => random.next() as u8,
            })
            .collect();
        for kind in Kind::ALL.iter().filter(|kind| kind.is_of_message()) {
            let parts = data_of(*kind, &bytes);
            assert!(parts.end() <= len && parts.len() <= upper::Parts::MOST);
            let mut at = 0;
            for part in parts.iter() {
                assert_eq!(part.at, at, "{kind:?}");
                at += part.len;
            }
        }
    }
}

/// Logins, texts and logouts of iSCSI have tables of their own, and so have PDUs that only their queue pair tells.
#[test]
fn pdus_of_iscsi_have_their_tables() {
    let mut kinds = BTreeMap::<Kind, u32>::new();
    let mut versions = Vec::new();
    each("iser_basic", |_, _, d| {
        for layer in d.layers().iter().filter(|layer| layer.kind.layer() == "iscsi") {
            *kinds.entry(layer.kind).or_default() += 1;
        }
        if let Some(login) = d.get::<IscsiLoginRsp>() {
            versions.push((login.status().0, login.next_stage().0, login.version_active().0));
        }
    });
    assert_eq!((kinds.get(&Kind::Iscsi), kinds[&Kind::IscsiLoginReq]), (None, kinds[&Kind::IscsiLoginRsp]));
    assert_eq!(versions, [(0, 3, 0), (0, 3, 0)]);
}

/// A queue pair that another connection has now is not read as before.
#[test]
fn a_new_connection_of_a_queue_pair_is_another() {
    let mut frames = Vec::new();
    let mut reader = capture::open("pcaps/nvme_basic-A.pcap.zst".as_ref()).unwrap();
    while let Some(record) = reader.next().unwrap() {
        frames.push((record.link.0, record.frame.to_vec(), record.wire_len));
    }
    let read = |frame: &(u16, Vec<u8>, u32), uppers: &mut Uppers| {
        uppers.know(dissect(Link(frame.0), &frame.1, frame.2)).get::<NvmeCqe>().is_some()
    };
    let mut uppers = Uppers::default();
    let at = frames.iter().position(|frame| read(frame, &mut uppers)).unwrap();
    assert!(read(&frames[at], &mut uppers));
    // The same set-up for a service that nobody is known to have.
    for frame in &mut frames[..at] {
        let d = dissect(Link(frame.0), &frame.1, frame.2);
        if let (Some(req), Some(at)) = (d.get::<CmReq>(), d.offset(Kind::CmReq)) {
            let req = req.with_service_id(ServiceId(0x0106_0001));
            frame.1[at..at + CmReq::LEN].copy_from_slice(req.bytes());
        }
        let d = dissect(Link(frame.0), &frame.1, frame.2);
        uppers.know(d);
    }
    assert!(!read(&frames[at], &mut uppers));
}

/// Without set-ups, flows are known by their messages: both directions, and no others.
#[test]
fn flows_are_named_by_their_messages() {
    for (name, application, flows) in [
        ("nvme_basic", "NVMe-oF", 6),
        ("nfs4_basic", "NFS", 2),
        ("iser_basic", "iSER", 4),
        ("smbdirect_basic", "SMB Direct", 2),
        ("srp_basic", "SRP", 2),
        ("rds_basic", "RDS", 2),
        ("nccl_sizes", "", 0),
        ("rc_send_clean", "", 0),
        ("ud_clean", "", 0),
    ] {
        let named = |reference: bool| {
            let mut analysis = Analysis::new(Options { reference, ..Options::default() });
            each_kept(
                &format!("pcaps/{name}-A.pcap.zst"),
                usize::MAX,
                |_, d| !d.has(Kind::Mad),
                |_, record, _| {
                    analysis.push(record);
                },
            );
            let all = analysis.finish().flows;
            let named =
                all.iter().filter_map(|flow| Some((flow.application.clone()?, flow.application_by.clone()?)));
            named.collect::<Vec<_>>()
        };
        let expected = vec![(application.into(), "messages".into()); flows];
        assert_eq!((named(false), named(true)), (expected.clone(), expected), "{name}");
    }
}

/// UCX's datagrams have a Q_Key of their own.
#[test]
fn ucx_is_known_by_its_q_key() {
    for (q_key, application) in [(0x1ee7_a330, Some("UCX")), (0x1111_1111, None)] {
        let frame = Packet::rocev2([10, 0, 0, 1], [10, 0, 0, 2])
            .push(Bth::default().with_opcode(Opcode::UD_SEND_ONLY).with_dest_qp(Qpn(0x22)))
            .push(Deth::default().with_q_key(Hex32(q_key)).with_src_qp(Qpn(0x11)))
            .payload(vec![0x5a; 40])
            .build();
        let mut analysis = Analysis::new(Options::default());
        analysis.push(&Record {
            time: Time(1_000_000_000),
            link: Link::ETHERNET,
            interface: 0,
            wire_len: frame.len() as u32,
            frame: &frame,
        });
        let flows = analysis.finish().flows;
        assert_eq!(flows[0].application.as_deref(), application);
    }
}

/// An announcement counts for its sender and its receiver only, late in a capture too; other datagrams announce nothing.
#[test]
fn announcements_of_ucx_are_for_their_receiver() {
    let mut announcement = vec![0; 28];
    (announcement[3], announcement[8]) = (0x0b, 1);
    announcement.extend([0xc0, 4, 0, 0x34, 0x12, 0, 0x80]);
    let frame = |from: u8, to: u8, packet: &dyn Fn(Packet) -> Packet| {
        packet(Packet::rocev2([10, 0, 0, from], [10, 0, 0, to])).build()
    };
    let datagram = |q_key: u32, psn: u32, payload: &[u8]| {
        let payload = payload.to_vec();
        move |packet: Packet| {
            packet
                .push(
                    Bth::default()
                        .with_opcode(Opcode::UD_SEND_ONLY)
                        .with_dest_qp(Qpn(0x99))
                        .with_psn(Psn(psn)),
                )
                .push(Deth::default().with_q_key(Hex32(q_key)).with_src_qp(Qpn(0x98)))
                .payload(payload.clone())
        }
    };
    let write = |qp: u32| {
        move |packet: Packet| {
            packet
                .push(Bth::default().with_opcode(Opcode::RC_SEND_ONLY).with_dest_qp(Qpn(qp)))
                .payload(vec![7; 24])
        }
    };
    let named = |q_key: u32, first: u8, frames_before: u32| {
        let mut announcement = announcement.clone();
        announcement[3] = first;
        let mut analysis = Analysis::new(Options::default());
        let before = (0..frames_before).map(|psn| frame(7, 8, &datagram(1, psn, &[0; 8])));
        // 10.0.0.1 tells 10.0.0.2 that it has queue pair 0x1234; its PSN is none that is asked.
        let frames = before.chain([
            frame(1, 2, &datagram(q_key, 65, &announcement)),
            frame(2, 1, &write(0x1234)),
            frame(2, 1, &write(0x1235)),
            frame(1, 2, &write(0x1234)),
            frame(3, 1, &write(0x1234)),
        ]);
        for (number, frame) in (0..).zip(frames) {
            let (time, wire_len) = (Time(1_000_000_000 + number * 1000), frame.len() as u32);
            analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame: &frame });
        }
        let flows = analysis.finish().flows;
        let is_named = |flow: &&report::Flow| {
            flow.service == report::Service::Rc && flow.application.as_deref() == Some("UCX")
        };
        let named = flows.iter().filter(is_named);
        named.map(|flow| (flow.src.to_string(), flow.dst.to_string(), flow.dest_qp)).collect::<Vec<_>>()
    };
    let one = [("10.0.0.2".to_owned(), "10.0.0.1".to_owned(), 0x1234)];
    assert_eq!(named(0x1ee7_a330, 0x0b, 0), one);
    assert_eq!(named(0x1ee7_a330, 0x0b, 20_000), one);
    assert_eq!(named(0x1111_1111, 0x0b, 0), []);
    assert_eq!(named(0x1ee7_a330, 0x13, 0), []);
}

/// Files have the short names that Wireshark gives them, and names, offsets and counts are those of the call.
#[test]
fn files_of_nfs_are_known() {
    let mut found = BTreeMap::<u64, Vec<u32>>::new();
    let (mut names, mut ranges) = (BTreeSet::new(), 0);
    each("nfs4_basic", |number, _, d| {
        let Some(opcode) = d.opcode().filter(|opcode| opcode.begins_send()) else { return };
        let message = d.message(opcode);
        if d.upper() != Some(Protocol::RpcRdma) {
            return;
        }
        let parts = Protocol::RpcRdma.read(message);
        for (at, part) in parts.iter().enumerate() {
            match (part.kind, upper::bytes_of_nfs(&parts, at, message.bytes)) {
                (Kind::NfsHandle, Some(handle)) => {
                    found.entry(number).or_default().push(upper::hash_of_handle(handle));
                }
                (Kind::NfsName, Some(name)) => drop(names.insert(String::from_utf8_lossy(name).into_owned())),
                (Kind::NfsRange | Kind::NfsWrite, _) => ranges += 1,
                _ => {}
            }
        }
    });
    assert!(found.len() > 100 && ranges > 50, "{} {ranges}", found.len());
    assert!(names.contains("w1") && names.contains("f1"), "{names:?}");
    // Of a compound's file in the list of calls, and what it reads.
    let json = printed(crate::support::programs::cli().args([
        "commands",
        "--json",
        "--commands",
        "pcaps/nfs4_basic-A.pcap.zst",
    ]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = json["commands"].as_array().unwrap();
    let of = |operation: &str| rows.iter().filter(|row| row["operation"] == operation).collect::<Vec<_>>();
    for row in of("READ").iter().chain(&of("WRITE")) {
        let (count, size) = (row["count"].as_u64().unwrap(), row["size_bytes"].as_u64());
        assert!(
            row["file"].is_string() && row["offset"].is_u64() && size.is_none_or(|size| size <= count),
            "{row}"
        );
    }
    assert!(of("OPEN").iter().any(|row| row["name"] == "w1"));
    assert!(of("RENAME").iter().all(|row| row["name"].as_str().unwrap().contains(" → ")));
    if !has_wireshark("tshark") {
        return;
    }
    let scratch = Scratch::new("nfs-tshark");
    let plain = scratch.join("nfs.pcap");
    printed(
        crate::support::programs::cli()
            .args(["rewrite", "--quiet", "pcaps/nfs4_basic-A.pcap.zst"])
            .arg(&plain),
    );
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&plain).args([
        "-Y",
        // Elsewhere it tells of calls whose data came in a chunk.
        "rpc.msgtyp == 0 && nfs.fh.hash && infiniband.bth.opcode in {4,23}",
        "-T",
        "fields",
        "-e",
        "frame.number",
        "-e",
        "nfs.fh.hash",
    ]);
    let mut compared = 0;
    for line in printed(&mut tshark).lines() {
        let (frame, hashes) = line.split_once('\t').unwrap();
        let theirs: Vec<u64> = hashes.split(',').filter_map(number_of).collect();
        let ours: Vec<u64> =
            found.get(&frame.parse().unwrap()).into_iter().flatten().map(|&hash| hash.into()).collect();
        assert_eq!(ours, theirs, "{frame}");
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

/// Of a long capture, one message in 64 of a flow is asked, by its PSN: the same on one thread as on several.
#[test]
fn of_a_long_capture_some_messages_are_asked() {
    let frame = |qp: u32, psn: u32| {
        Packet::rocev2([10, 0, 0, 1], [10, 0, 0, 2])
            .push(Bth::default().with_opcode(Opcode::UD_SEND_ONLY).with_dest_qp(Qpn(qp)).with_psn(Psn(psn)))
            .push(Deth::default().with_q_key(Hex32(if qp == 0x21 { 1 } else { 0x1ee7_a330 })))
            .payload(vec![0x5a; 8])
            .build()
    };
    let scratch = Scratch::new("asked");
    let path = scratch.join("long.pcap");
    let mut writer = capture::create(
        &path,
        capture::Format::Pcap,
        &[capture::Interface::new(Link::ETHERNET)],
        Default::default(),
    )
    .unwrap();
    let others = (0..1 << 16).map(|psn| frame(0x21, psn));
    for (number, frame) in
        (0..).zip(others.chain((1..64).map(|psn| frame(0x22, psn))).chain([frame(0x23, 64)]))
    {
        let time = Time(1_000_000_000 + number * 1000);
        let wire_len = frame.len() as u32;
        writer.put(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame: &frame }).unwrap();
    }
    writer.finish().unwrap();
    for threads in ["1", "2"] {
        let mut command = crate::support::programs::cli();
        let json = printed(command.args(["analyze", "--json", "--threads", threads]).arg(&path));
        let report: serde_json::Value = serde_json::from_str(&json).unwrap();
        let named: BTreeMap<u64, Option<&str>> = report["flows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|flow| (flow["dest_qp"].as_u64().unwrap(), flow["application"].as_str()))
            .collect();
        assert_eq!(named, BTreeMap::from([(0x21, None), (0x22, None), (0x23, Some("UCX"))]), "{threads}");
    }
}

/// No part of a layer has the key of the layer's name.
#[test]
fn layers_keep_their_names_in_json() {
    let json = Json::new(Names::Own);
    let mut names = 0;
    each("nfs4_basic", |number, _, d| {
        let mut text = String::new();
        json.write(&Frame::new(number, 0, d), None, &mut text).unwrap();
        let frame: serde_json::Value = serde_json::from_str(&text).unwrap();
        let layers: BTreeSet<&str> = d.layers().iter().map(|layer| layer.kind.layer()).collect();
        for layer in frame["layers"].as_array().unwrap() {
            assert!(layers.contains(layer["name"].as_str().unwrap()), "{number}: {layer}");
            names += u32::from(layer["name_bytes"].is_string());
        }
    });
    assert!(names > 50, "{names}");
}

/// Fields that tshark has of messages in several packets, which it puts together, or of the call in its answer: it says more than the frame.
const FROM_ELSEWHERE: [&str; 12] = [
    "rpc.",
    "nfs.",
    "smb2.chain_offset",
    "smb2.cmd",
    "smb2.credit.charge",
    "smb2.flags",
    "smb2.header_len",
    "smb2.msg_id",
    "smb2.protocol_id",
    "smb2.sesid",
    "smb2.tid",
    "nvme.cmd.get_logpage.identify.rcrd",
];
/// Fields that tshark cuts out of the wrong bytes.
const WRONG: [&str; 5] = [
    "nvme.cmd.identify.ctrl.lpa",
    "infiniband.cm.req.prim_flowlabel",
    "infiniband.cm.req.prim_pktrate",
    "infiniband.cm.req.alt_flowlabel",
    "infiniband.cm.req.alt_pktrate",
];

/// Fields of which tshark shows how many there are, where the packet has one less.
const ONE_LESS: [&str; 1] = ["nvme.cmd.nlb"];
/// Fields that have no name of their own in every PDU here: the tag of requests, whose meaning depends on the PDU.
const BY_PDU: [&str; 2] = ["iscsi.targettransfertag", "iscsi.cid"];

/// Whatever tshark calls by the same name as we do, in messages of NVMe, iSCSI, SMB Direct and of the connection manager.
#[test]
fn fields_have_the_values_that_tshark_gives_them() {
    if !has_wireshark("tshark") {
        return;
    }
    let scratch = Scratch::new("upper-tshark");
    let known: BTreeSet<String> = printed(Command::new("tshark").args(["-G", "fields"]))
        .lines()
        .filter(|line| line.starts_with("F\t"))
        .filter_map(|line| line.split('\t').nth(2).map(str::to_owned))
        .collect();
    let is_of_message =
        |kind: &Kind| kind.is_of_message() || kind.is_management() || kind.layer().starts_with("rpc");
    let names: Vec<&str> = Kind::ALL
        .iter()
        .filter(|kind| is_of_message(kind))
        .flat_map(|kind| kind.fields())
        // IP in IPoIB has the names of IP around RoCE.
        .filter(|field| {
            field.width <= 64 && known.contains(field.wireshark) && !field.wireshark.starts_with("ip.")
        })
        .map(|field| field.wireshark)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    assert!(names.len() > 150, "{}", names.len());
    let mut compared = BTreeMap::<&str, u32>::new();
    for name in ["nvme_basic", "iser_basic", "smbdirect_basic", "nfs4_basic", "cm_rej", "cm_req_lost"] {
        let mut ours = HashMap::<u64, BTreeMap<&str, Vec<u64>>>::new();
        each(name, |number, _, d| {
            if !d.has(Kind::Bth) {
                return;
            }
            let of = ours.entry(number).or_default();
            for layer in d.layers().iter() {
                let Some(bytes) = d.frame().get(layer.at as usize..) else { continue };
                for field in layer.kind.fields().iter().filter(|f| f.width <= 64 && !f.wireshark.is_empty()) {
                    of.entry(field.wireshark).or_default().push(field.get(bytes));
                }
            }
        });
        let plain = scratch.join(format!("{name}.pcap"));
        let copied = printed(
            crate::support::programs::cli()
                .args(["rewrite", "--quiet", &format!("pcaps/{name}-A.pcap.zst")])
                .arg(&plain),
        );
        assert_eq!(copied, "");
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&plain).args(["-T", "fields", "-E", "aggregator=;", "-e", "frame.number"]);
        names.iter().for_each(|name| {
            tshark.args(["-e", name]);
        });
        for line in printed(&mut tshark).lines() {
            let mut columns = line.split('\t');
            let frame: u64 = columns.next().unwrap().parse().unwrap();
            // Tests of the network that are no RDMA.
            let Some(ours) = ours.get(&frame) else { continue };
            for (field, text) in names.iter().zip(columns).filter(|(_, text)| !text.is_empty()) {
                let Some(theirs) = text.split(';').map(number_of).collect::<Option<Vec<u64>>>() else {
                    continue;
                };
                let is_apart = FROM_ELSEWHERE.iter().any(|from| field.starts_with(from));
                let is_apart = is_apart || WRONG.contains(field) || BY_PDU.contains(field);
                let more = u64::from(ONE_LESS.contains(field));
                match ours.get(field) {
                    Some(values) if values.iter().map(|value| value + more).eq(theirs.iter().copied()) => {
                        *compared.entry(field).or_default() += 1
                    }
                    values if !is_apart => {
                        panic!("{name} {frame} {field}: tshark {theirs:?}, here {values:?}")
                    }
                    _ => {}
                }
            }
        }
    }
    for field in [
        "nvme.cqe.cid",
        "nvme.cqe.status",
        "nvme.cmd.slba",
        "nvme.fabrics.cmd.connect.qid",
        "nvme.cmd.identify.ctrl.cmic",
        "nvme.cmd.identify.ctrl.nn",
        "nvme.cmd.identify.ns.flbas",
        "nvme.cmd.get_logpage.smart.asc",
        "nvme.cmd.get_logpage.identify.numrec",
        "nvme.cmd.get_logpage.ana.grp.nns",
        "iscsi.login.nsg",
        "iscsi.cmdsn",
        "iscsi.maxcmdsn",
        "iscsi.totalahslength",
        "nvme.cmd.dword12",
        "nvme.cmd.identify.ctrl.kas",
        "nvme.cmd.identify.ns.nsze",
        "smb2.buffer_descriptor.token",
        "smb2.sesid",
        "smb_direct.credits.granted",
        "infiniband.cm.rej.reason",
        "infiniband.mad.transactionid",
    ] {
        assert!(compared.contains_key(field), "{field} was never compared");
    }
    assert!(compared.len() > 120, "{}", compared.len());
}

/// A number as tshark writes it; `None` for text and bytes.
fn number_of(text: &str) -> Option<u64> {
    match text {
        "True" => Some(1),
        "False" => Some(0),
        _ => match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        },
    }
}
