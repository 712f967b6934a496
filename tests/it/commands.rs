//! Commands of upper layers, in captures of Linux's clients and servers: counts and sizes are those that the hosts themselves counted.

use std::collections::BTreeMap;

use rdmawire::{
    capture::{self, Record, Source},
    commands::{Commands, Report, TimeRow},
    dissect::{Dissection, Link, dissect},
    opcode::Operation,
    report::ApplicationBy,
    upper::{Application, Message, Protocol},
    wire::*,
};

use crate::{
    properties::Random,
    support::{
        programs::cli,
        trace::{each_kept, rewritten},
    },
};

/// The report of those frames of a capture that `is_kept` keeps, each with so many bytes.
fn report(name: &str, bytes: usize, is_kept: impl FnMut(u64, &Dissection<'_>) -> bool) -> Report {
    let mut commands = Commands::keeping(10_000);
    each_kept(&format!("pcaps/{name}-A.pcap.zst"), bytes, is_kept, |number, record, d| {
        commands.push(number, record, d);
    });
    commands.finish()
}

/// What the parts of a time come to.
fn parts(time: &TimeRow) -> u64 {
    let TimeRow { server_ns, client_ns, data_ns, recovering_ns, not_ready_ns, unknown_ns, .. } = *time;
    server_ns + client_ns + data_ns + recovering_ns + not_ready_ns + unknown_ns
}

/// A mirror's copies, and those of another tap, change nothing: they are no recovery, and no command or data more.
#[test]
fn copies_of_packets_are_none() {
    for name in ["nfs4_basic", "iser_basic", "rds_basic"] {
        let once = report(name, usize::MAX, |_, _| true);
        for (interface, lag) in [(0, 2_000), (1, 20_000)] {
            let (mut commands, mut late) = (Commands::keeping(10_000), Vec::new());
            let mut put = |number: u64, time: i64, interface: u16, record: &Record<'_>| {
                let record = Record { time: capture::Time(time), interface, ..*record };
                commands.push(number, &record, &dissect(record.link, record.frame, record.wire_len));
            };
            let path = format!("pcaps/{name}-A.pcap.zst");
            each_kept(
                &path,
                usize::MAX,
                |_, _| true,
                |number, record, _| {
                    late.push((
                        record.time.0 + lag,
                        number,
                        record.frame.to_vec(),
                        record.wire_len,
                        record.link,
                    ));
                    while late.first().is_some_and(|(time, ..)| *time < record.time.0) {
                        let (time, number, frame, wire_len, link) = late.remove(0);
                        let copy = Record { time: record.time, link, interface, wire_len, frame: &frame };
                        put(number, time, interface, &copy);
                    }
                    put(number, record.time.0, 0, record);
                },
            );
            let twice = commands.finish();
            assert_eq!(counted(&once), counted(&twice), "{name} {interface}");
            for (one, two) in once.commands.iter().zip(&twice.commands) {
                assert_eq!(
                    (one.time.recovering_ns, one.time.latency_ns),
                    (two.time.recovering_ns, two.time.latency_ns)
                );
                assert_eq!(one.data_bytes, two.data_bytes, "{name} {one:?}");
            }
        }
    }
}

/// Messages that are cut before what says where their data is do not say that the server took the time. Reply chunks are in what is left of
/// 128 bytes: nothing is unknown of commands whose data the server wrote there, and it took as long as in the whole capture, to its
/// acknowledgement.
#[test]
fn what_is_cut_is_not_the_servers_time() {
    let [whole, cut] = [usize::MAX, 128].map(|bytes| report("nfs4_basic", bytes, |_, _| true));
    let time = cut.connections[0].time;
    assert!(time.unknown_ns > time.server_ns, "{time:?}");
    let with_data: Vec<_> = cut.commands.iter().filter(|row| row.time.data_ns > 0).collect();
    assert!(!with_data.is_empty() && with_data.iter().all(|row| row.time.unknown_ns == 0), "{with_data:?}");
    for row in with_data {
        let same = whole.commands.iter().find(|of| of.frame == row.frame).expect("the same command");
        assert_eq!((row.data_bytes, row.time.data_ns), (same.data_bytes, same.time.data_ns), "{row:?}");
    }
    assert!(cut.sentence().contains("is not known"), "{}", cut.sentence());
    let none = report("iser_basic", 128, |_, _| true);
    assert!(none.connections.is_empty() && none.cut_unknown > 100, "{}", none.cut_unknown);
}

/// The first command of a capture that begins in the middle has its data, too: an acknowledgement shows the client's queue pair.
#[test]
fn a_capture_may_begin_in_the_middle() {
    let whole = report("nfs4_basic", usize::MAX, |_, _| true);
    let middle = report("nfs4_basic", usize::MAX, |number, _| number > 500);
    let first = &middle.commands[0];
    let same = whole.commands.iter().find(|row| row.frame == first.frame).expect("the same command");
    assert_eq!((first.data_bytes, first.time.server_ns), (same.data_bytes, same.time.server_ns));
}

/// How many commands of each kind were answered, how many of them failed, and their bytes.
fn counted(report: &Report) -> BTreeMap<&str, (u64, u64, u64)> {
    let rows = report.operations.iter();
    rows.map(|row| (&*row.operation, (row.completed, row.failed, row.size_bytes))).collect()
}

/// `/proc/self/mountstats` of the client: 50 READs with 2,220,046 bytes from the server, 57 WRITEs with 2,227,038 to it, and how often
/// each other operation was sent.
#[test]
fn nfs_has_the_counts_of_the_client() {
    let all = report("nfs4_basic", usize::MAX, |_, _| true);
    let connection = &all.connections[0];
    assert_eq!((all.connections.len(), &*connection.protocol), (1, "RPC"));
    assert_eq!(
        (connection.known_by, connection.unanswered, connection.stray_replies),
        (ApplicationBy::Service, 0, 0)
    );
    assert_eq!((connection.completed, all.commands.len()), (342, 342));
    let of = counted(&all);
    assert_eq!((of["READ"].0, of["READ"].2), (50, 2_220_046));
    assert_eq!((of["WRITE"].0, of["WRITE"].2), (57, 2_227_038));
    for (operation, count) in [
        ("OPEN", 68),
        ("CLOSE", 68),
        ("ACCESS", 5),
        ("LOOKUP", 3),
        ("REMOVE", 61),
        ("RENAME", 1),
        ("CREATE", 1),
        ("READDIR", 2),
        ("DELEGRETURN", 2),
        ("EXCHANGE_ID", 2),
        ("CREATE_SESSION", 1),
        ("RECLAIM_COMPLETE", 1),
        ("SECINFO_NO_NAME", 1),
        ("NULL", 1),
    ] {
        assert_eq!(of[operation].0, count, "{operation}");
    }
    // FSINFO 2, GETATTR 7, LOOKUP_ROOT 1, PATHCONF 1, STATFS 1, SERVER_CAPS 3, and one more of the unmounting are compounds for GETATTR.
    assert_eq!(of["GETATTR"].0, 16);
    for row in &all.commands {
        let time = row.time;
        assert_eq!(parts(&time), time.latency_ns, "{row:?}");
        assert_eq!((time.recovering_ns, time.not_ready_ns, time.unknown_ns, time.client_ns), (0, 0, 0, 0));
        assert!(row.operation != "READ" || row.detail.as_deref() == Some("SEQUENCE PUTFH READ"), "{row:?}");
    }
    let data = all.commands.iter().filter(|row| row.data_bytes > 0 && row.operation == "READ");
    assert_eq!(data.count(), 48, "two are empty: the ends of files");
}

/// `scsi_dispatch_cmd_done` of the initiator's kernel: 99 commands. 16 reads of 128 KiB, 16 writes of them; the rest is small.
#[test]
fn iser_has_the_counts_of_the_initiator() {
    let all = report("iser_basic", usize::MAX, |_, _| true);
    assert!(all.connections.iter().all(|row| row.protocol == "iSER" && row.unanswered == 0), "{all:?}");
    let scsi = all.commands.iter().filter(|row| !row.meaning.is_empty()).count();
    assert_eq!(scsi, 99);
    let of = counted(&all);
    assert_eq!((of["READ(10)"].0, of["WRITE(10)"].0, of["NOP-Out"].0), (43, 40, 10));
    let failed: u64 =
        all.failed.iter().filter(|row| row.meaning == "CHECK CONDITION").map(|row| row.count).sum();
    assert_eq!(failed, 1);
    // What is moved by WRITEs is what was read.
    for row in all.commands.iter().filter(|row| row.operation == "READ(10)") {
        assert_eq!(row.size_bytes, Some(row.data_bytes), "{row:?}");
    }
}

#[test]
fn srp_has_an_answer_for_each_command() {
    let all = report("srp_basic", usize::MAX, |_, _| true);
    assert_eq!(all.connections.len(), 1);
    let connection = &all.connections[0];
    // Its port is no application's; the target's answer says what it is.
    assert_eq!((&*connection.protocol, connection.known_by), ("SRP", ApplicationBy::PrivateData));
    assert_eq!((connection.completed, connection.unanswered, connection.stray_replies), (95, 0, 0));
    let of = counted(&all);
    assert_eq!((of["READ(10)"].0, of["WRITE(10)"].0, of["MODE SENSE(6)"].0), (41, 38, 6));
    for row in all.commands.iter().filter(|row| row.operation == "READ(10)") {
        assert_eq!(row.size_bytes, Some(row.data_bytes), "{row:?}");
    }
}

/// The client's kernel: `smb3_read_done` 32, `smb3_write_done` 28, `smb3_open_done` 8, `smb3_flush_done` 2.
#[test]
fn smb_has_the_counts_of_the_client() {
    let all = report("smbdirect_basic", usize::MAX, |_, _| true);
    let connection = &all.connections[0];
    assert_eq!((&*connection.protocol, connection.known_by), ("SMB Direct", ApplicationBy::Service));
    let of = counted(&all);
    assert_eq!((of["READ"].0, of["WRITE"].0, of["FLUSH"].0), (32, 28, 2));
    let read = all.commands.iter().filter(|row| row.operation == "WRITE");
    read.for_each(|row| assert_eq!(row.size_bytes, Some(row.data_bytes), "{row:?}"));
}

/// Messages of 1 byte to 64 KiB, each once, both ways.
#[test]
fn rds_messages_are_acknowledged() {
    let all = report("rds_basic", usize::MAX, |_, _| true);
    assert_eq!((all.connections.len(), &*all.connections[0].protocol), (1, "RDS"));
    let sizes: Vec<_> = all.commands.iter().filter_map(|row| row.size_bytes).collect();
    assert!(sizes.contains(&1) && sizes.contains(&65_536), "{sizes:?}");
    // Each fragment has a header of 48 bytes.
    for row in &all.commands {
        let size = row.size_bytes.unwrap();
        assert_eq!(row.call_bytes, size + 48 * size.div_ceil(4096).max(1), "{row:?}");
    }
}

/// Without its set-up, a connection is known by its messages, and its commands are the same.
#[test]
fn a_connection_is_found_without_its_set_up() {
    for name in ["nfs4_basic", "iser_basic", "srp_basic", "smbdirect_basic"] {
        let all = report(name, usize::MAX, |_, _| true);
        let late = report(name, usize::MAX, |_, d| !d.has(Kind::Mad));
        assert!(late.connections.iter().all(|row| row.known_by == ApplicationBy::Messages), "{name}");
        let ids = |report: &Report| report.commands.iter().map(|row| (row.frame, row.id)).collect::<Vec<_>>();
        assert_eq!(ids(&all), ids(&late), "{name}");
    }
}

/// Each frame twice, as from two taps: no command more.
#[test]
fn a_message_that_is_recorded_twice_is_one() {
    let mut source = capture::open("pcaps/nfs4_basic-A.pcap.zst".as_ref()).unwrap();
    let (mut commands, mut number) = (Commands::keeping(10_000), 0);
    while let Some(record) = source.next().unwrap() {
        number += 1;
        let d = dissect(record.link, record.frame, record.wire_len);
        commands.push(number, &record, &d);
        commands.push(number, &record, &d);
    }
    let all = commands.finish();
    assert_eq!((all.commands.len(), all.connections[0].stray_replies), (342, 0));
    assert_eq!(all.connections[0].retransmitted_messages, 0);
}

/// Frames that are cut have fewer commands, and nothing else is taken for one.
#[test]
fn nothing_else_is_taken_for_a_command() {
    for bytes in [60, 80, 100, 140, 200] {
        for name in ["nfs4_basic", "iser_basic", "srp_basic", "smbdirect_basic", "rds_basic"] {
            let cut = report(name, bytes, |_, _| true);
            assert!(cut.commands.len() <= 342, "{name} {bytes}");
        }
    }
    for other in ["rc_send_clean", "loss1_rc_write", "nvme_basic", "opcode_zoo", "pingpong_clean", "ud_clean"]
    {
        let none = report(other, usize::MAX, |_, _| true);
        assert!(none.connections.is_empty() && none.operations.is_empty(), "{other}");
    }
}

/// Random bytes are no protocol's, and reading any bytes as any protocol ends.
#[test]
fn noise_is_no_message() {
    let mut random = Random::new(11);
    for _ in 0..20_000 {
        let len = random.below(400);
        let mut bytes: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
        // Many zeros, as real data has them.
        if random.below(2) == 0 {
            bytes.iter_mut().for_each(|byte| *byte = if *byte > 40 { 0 } else { *byte });
        }
        let message = Message { bytes: &bytes, len: Some(len) };
        assert_eq!(Protocol::of(message), None, "{bytes:02x?}");
        for protocol in Protocol::ALL {
            let parts = protocol.read(message);
            assert!(parts.end() <= len);
            assert!(parts.windows(2).all(|two| two[0].at + two[0].len == two[1].at), "{parts:?}");
        }
    }
}

/// The beginning of a message has the same headers, as far as they are there.
#[test]
fn headers_of_a_truncated_message_are_those_of_the_whole() {
    let mut read = 0;
    for name in ["nfs4_basic", "iser_basic", "srp_basic", "smbdirect_basic", "rds_basic", "nvme_basic"] {
        let mut source = capture::open(format!("pcaps/{name}-A.pcap.zst").as_ref()).unwrap();
        while let Some(record) = source.next().unwrap() {
            let d = dissect(record.link, record.frame, record.wire_len);
            let bytes = d.payload();
            let message = Message { bytes, len: Some(bytes.len()) };
            let Some(protocol) =
                Protocol::of(message).filter(|_| d.opcode().is_some_and(|op| op.begins_send()))
            else {
                continue;
            };
            let whole = protocol.read(message);
            read += 1;
            for len in (0..whole.end()).step_by(7) {
                let cut = protocol.read(Message { bytes: &bytes[..len], len: Some(len) });
                // Negotiations of SMB Direct are told apart by their lengths.
                let is_same = whole.starts_with(&cut) || protocol == Protocol::SmbDirect;
                assert!(is_same && cut.end() <= len, "{name} {len}: {cut:?} {whole:?}");
            }
        }
    }
    assert!(read > 1500, "{read}");
}

/// Bytes of messages changed at random, and times that jump: nothing breaks, and parts of times add up.
#[test]
fn forged_messages_break_nothing() {
    let mut random = Random::new(5);
    for name in ["nfs4_basic", "iser_basic", "srp_basic", "smbdirect_basic", "rds_basic"] {
        let mut source = capture::open(format!("pcaps/{name}-A.pcap.zst").as_ref()).unwrap();
        let (mut commands, mut number) = (Commands::keeping(10_000), 0);
        while let Some(record) = source.next().unwrap() {
            number += 1;
            // Without its end, no ICRC says that a frame is wrong.
            let mut frame = record.frame[..record.frame.len() - 4].to_vec();
            if frame.len() > 54 && random.below(3) == 0 {
                let at = 54 + random.below(frame.len() - 54);
                frame[at] = random.next() as u8;
            }
            let time = match random.below(50) {
                0 => capture::Time(i64::MAX),
                1 => capture::Time(i64::MIN),
                _ => record.time,
            };
            let forged = Record { frame: &frame, time, ..record };
            commands.push(number, &forged, &dissect(forged.link, forged.frame, forged.wire_len));
        }
        for row in commands.finish().commands {
            let time = row.time;
            assert_eq!(parts(&time), time.latency_ns, "{name} {row:?}");
        }
    }
}

/// Who listens by convention, and whose private data it is.
#[test]
fn applications_are_known_by_service_and_private_data() {
    let of_port = |port| Application::of_service(ServiceId::of_port(PortSpace::Tcp, port));
    assert_eq!(of_port(20049), Some(Application::Nfs));
    assert_eq!(of_port(445), Some(Application::SmbDirect));
    assert_eq!(of_port(12345), None);
    assert_eq!(Application::of_service(ServiceId(0x1000_0000_0000_0404)), Some(Application::Ipoib));
    let nfs = [0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3];
    assert_eq!(Application::of_private_data(&nfs), Some(Application::Nfs));
    assert_eq!(Application::of_private_data(&[0; 56]), None);
}

/// Headers that are crafted are recognized, and have their fields where Linux has them.
#[test]
fn crafted_messages_are_read() {
    let call = [
        RpcRdma::default().with_xid(Hex32(7)).with_vers(1).with_credit(32).bytes(),
        &[0; 12],
        Rpc::default().with_xid(Hex32(7)).bytes(),
        RpcCall::default().with_rpcvers(2).with_prog(RpcProgram::NFS).with_vers(3).with_procedure(6).bytes(),
        RpcAuth::default().bytes(),
        RpcAuth::default().bytes(),
    ]
    .concat();
    let message = Message { bytes: &call, len: Some(call.len()) };
    assert_eq!(Protocol::of(message), Some(Protocol::RpcRdma));
    let parts = Protocol::RpcRdma.read(message);
    assert!(parts.iter().any(|part| part.kind == Kind::Nfs3Call), "{parts:?}");
    let frame = rdmawire::craft::Packet::rocev2([10, 0, 0, 1], [10, 0, 0, 2])
        .push(Bth::default().with_opcode(Opcode::RC_SEND_ONLY).with_dest_qp(Qpn(0x11)))
        .payload(call.clone())
        .build();
    let d = dissect(Link::ETHERNET, &frame, frame.len() as u32);
    assert_eq!(d.get::<Nfs3Call>().unwrap().procedure(), Nfs3Procedure::READ);
    assert_eq!(rdmawire::craft::Packet::from(&d).build(), frame);
    // Numbers of NVMe are little-endian.
    let sqe = NvmeSqe::default()
        .with_command_id(Le(0x0102))
        .with_length(Le(0x0a_0b0c))
        .with_key(Le(RKey(0x0d0e_0f10)));
    assert_eq!(sqe.bytes()[2..4], [2, 1]);
    assert_eq!(sqe.bytes()[32..39], [0x0c, 0x0b, 0x0a, 0x10, 0x0f, 0x0e, 0x0d]);
    assert_eq!((sqe.length().0, sqe.key().0), (0x0a_0b0c, RKey(0x0d0e_0f10)));
}

#[test]
fn the_command_prints_rows_and_json() {
    let path = "pcaps/nfs4_basic-A.pcap.zst";
    let text = cli().args(["commands", path, "--commands", "--top", "3"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    for part in ["1 connection, 342 commands", "Operations", "  and 339 more (--top 0 shows all)"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = cli().args(["commands", "--json", path, "pcaps/srp_basic-A.pcap.zst"]).output().unwrap();
    let lines: Vec<serde_json::Value> = String::from_utf8(json.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((lines.len(), &lines[0]["schema"]), (2, &serde_json::json!("rdmawire.commands/1")));
    let none = cli().args(["commands", "pcaps/loss1_rc_write-B-300.pcap"]).output().unwrap();
    assert!(none.status.success() && String::from_utf8_lossy(&none.stdout).contains("no connection of NFS"));
    // One direction alone.
    let none = cli().args(["commands", "--filter", "ip.src == 10.77.0.1", path]).output().unwrap();
    let none = String::from_utf8(none.stdout).unwrap();
    for part in ["SMC-R is followed\n  - One direction only", "1 connection request for it without a reply"] {
        assert!(none.contains(part), "{part}: {none}");
    }
}

/// A command that nothing answers waits until its connection is closed.
#[test]
fn a_wait_ends_with_its_connection() {
    let path = "pcaps/nfs4_basic-A.pcap.zst";
    let (mut closed, mut replies) = (None, Vec::new());
    let is_reply = |d: &Dissection<'_>| {
        let is_send = d.opcode().is_some_and(|opcode| opcode.shape().operation == Some(Operation::Send));
        is_send && d.addresses().is_some_and(|[src, _]| src.to_string() == "10.77.0.2") && !d.has(Kind::Mad)
    };
    each_kept(
        path,
        usize::MAX,
        |_, _| true,
        |number, record, d| {
            if d.has(Kind::CmDreq) && closed.is_none() {
                closed = Some((record.time.0, number, d.addresses().unwrap()[0].to_string()));
            }
            if is_reply(d) {
                replies.push(number);
            }
        },
    );
    let (time, frame, by) = closed.expect("a DREQ");
    let last = *replies.last().unwrap();
    let all = report("nfs4_basic", usize::MAX, |number, _| number != last);
    let row = &all.connections[0];
    assert_eq!((row.unanswered, row.closed_ns, row.closed_by.as_deref()), (1, Some(time), Some(&*by)));
    let who = if by == row.client { "the client" } else { "the server" };
    let said = format!(" until {who} closed the connection [frame {frame}]");
    assert!(
        all.findings.iter().any(|text| text.starts_with("#0 ") && text.contains(&said)),
        "{:?}",
        all.findings
    );
}

/// A mirror that rewrites packets leaves all ICRCs wrong: they are no evidence, as in the analysis.
#[test]
fn icrcs_that_are_all_wrong_are_no_evidence() {
    let intact = report("nfs4_basic", usize::MAX, |_, _| true);
    let mut commands = Commands::keeping(10_000);
    for (number, frame) in (1..).zip(rewritten("pcaps/nfs4_basic-A.pcap.zst")) {
        let record = frame.record();
        commands.push(number, &record, &dissect(record.link, record.frame, record.wire_len));
    }
    let all = commands.finish();
    assert_eq!(counted(&all), counted(&intact));
    assert!(all.wrong_icrc == 0 && all.wrong_icrc_read > 1000, "{}", all.wrong_icrc_read);
}

/// Commands in a capture of a simulated client and server.
fn simulated(name: &str) -> Report {
    let mut commands = Commands::keeping(100);
    let path = format!("tests/data/commands/{name}.pcap.zst");
    each_kept(&path, usize::MAX, |_, _| true, |number, record, d| commands.push(number, record, d));
    commands.finish()
}

/// A client drops a reply that comes behind a lost packet, and gets it again: at 50 ms.
#[test]
fn a_reply_behind_a_gap_is_none_yet() {
    let all = simulated("nfs-reply-behind-gap");
    let [row] = &all.commands[..] else { panic!("{all:#?}") };
    assert!((50_000_000..50_100_000).contains(&row.time.latency_ns), "{row:?}");
    assert!(row.time.recovering_ns > 49_000_000 && row.data_bytes == 4096, "{row:?}");
}

/// A reply that the server writes into the client's memory is read there; where that was not captured, its status is not known.
#[test]
fn a_reply_in_a_chunk_says_what_failed() {
    let all = simulated("nfs-error-in-reply-chunk");
    let [row] = &all.commands[..] else { panic!("{all:#?}") };
    assert_eq!((row.status, &*row.meaning, row.is_error), (Some(13), "ACCESS", Some(true)));
    let mut commands = Commands::keeping(100);
    each_kept(
        "tests/data/commands/nfs-error-in-reply-chunk.pcap.zst",
        usize::MAX,
        |_, d| d.opcode().is_none_or(|opcode| opcode.shape().operation != Some(Operation::Write)),
        |number, record, d| commands.push(number, record, d),
    );
    let all = commands.finish();
    let [row] = &all.commands[..] else { panic!("{all:#?}") };
    assert_eq!((row.status, &*row.meaning, row.is_error), (None, "not captured", None));
    assert_eq!((all.connections[0].status_unknown, all.operations[0].status_unknown), (1, 1));
}

/// A call that the server reads from the client's memory has its name, and its reply its status.
#[test]
fn a_call_in_a_chunk_is_read() {
    let all = simulated("nfs-long-call");
    let [row] = &all.commands[..] else { panic!("{all:#?}") };
    assert_eq!((&*row.operation, row.status, row.is_error), ("MKDIR", Some(63), Some(true)));
    assert_eq!(row.name.as_ref().map(String::len), Some(255));
}

/// A client goes back to a lost packet, and the repeat loses another one: an answer behind both is none until it comes the third time. A READ
/// that the target asks again was open all the time: its time is not the target's.
#[test]
fn an_answer_that_is_lost_in_repeats_is_none_yet() {
    let all = simulated("srp-answer-lost-in-repeats");
    let row = |frame| all.commands.iter().find(|row| row.frame == frame).unwrap();
    assert_eq!([301, 356, 6].map(|frame| row(frame).time.latency_ns), [453_432, 392_093, 872_355]);
    let write = &row(6).time;
    assert!(write.data_ns + write.recovering_ns >= 317_700, "{write:?}");
}

/// Of two descriptors one was not captured: when its data was on its way is not known.
#[test]
fn a_list_of_memory_that_is_cut_says_not_all() {
    let all = simulated("srp-second-descriptor-cut");
    let row = all.commands.iter().find(|row| row.frame == 205).unwrap();
    assert_eq!((row.time.data_ns, row.time.server_ns), (12_361, 0), "{row:?}");
    assert!(row.time.unknown_ns > 90_000, "{row:?}");
}
