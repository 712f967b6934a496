//! Commands of NVMe over RDMA, in a capture of Linux's host and target, and in what is left of it.

use std::collections::BTreeMap;

use rdmawire::{
    capture::{self, Record, Source, Time},
    dissect::{Dissection, dissect},
    icrc,
    nvme::{Commands, Report},
    opcode::Operation,
    report::DataDirection,
    wire::{Bth, CmDreq, Header, Kind, Psn, Qpn, RKey, Reth, VirtualAddress},
};

use crate::support::{
    programs::cli,
    trace::{self, each_kept, rewritten},
};

const CAPTURE: &str = "pcaps/nvme_basic-A.pcap.zst";

/// The report of those frames of a capture that `is_kept` keeps, each with so many bytes.
fn report(path: &str, bytes: usize, is_kept: impl FnMut(u64, &Dissection<'_>) -> bool) -> Report {
    let mut commands = Commands::keeping(1000);
    each_kept(path, bytes, is_kept, |number, record, d| commands.push(number, record, d));
    commands.finish()
}

/// What the host's kernel traced: 269 commands beside those that wait for events, of them 104 Writes and 99 Reads of the namespace.
#[test]
fn every_command_of_a_host_is_found() {
    let all = report(CAPTURE, usize::MAX, |_, _| true);
    let names: Vec<_> =
        all.queues.iter().map(|queue| (queue.subsystem.as_deref(), queue.queue, queue.entries)).collect();
    let (discovery, disk) = (Some("nqn.2014-08.org.nvmexpress.discovery"), Some("nqn.2026-11.lab:ram"));
    assert_eq!(
        names,
        [(discovery, Some(0), Some(32)), (disk, Some(0), Some(32)), (disk, Some(1), Some(128))]
    );
    assert!(all.queues.iter().all(|queue| queue.is_proved && queue.unanswered == 0));
    assert_eq!(all.commands.len(), 269);
    let of =
        |command: &str| all.operations.iter().find(|row| row.command == command && !row.is_admin).unwrap();
    let [write, read] = ["Write", "Read"].map(of);
    // Each has 4 KiB, or 128 KiB.
    assert_eq!((write.completed, write.namespace, write.direction), (104, Some(1), DataDirection::Write));
    assert_eq!((read.completed, read.namespace, read.direction), (99, Some(1), DataDirection::Read));
    assert_eq!((write.data_bytes % 4096, read.data_bytes % 4096), (0, 0));
    let failed: Vec<_> =
        all.failed.iter().map(|row| (row.command.as_str(), row.status, row.first_frame)).collect();
    assert_eq!(failed, [("Get Log Page", 0x0006, 4568), ("Identify", 0x6002, 4560)]);
    assert!(all.failed[1].do_not_retry && !all.failed[0].do_not_retry);
    for row in &all.commands {
        let time = row.time;
        let parts = time.controller_ns + time.data_ns + time.recovering_ns + time.not_ready_ns;
        assert_eq!(parts, time.latency_ns, "{row:?}");
    }
    assert!(all.commands.iter().all(|row| row.time.recovering_ns == 0));
}

/// What `nvme list`, `nvme id-ctrl`, `nvme id-ns` and `nvme discover` printed on the host.
#[test]
fn data_of_commands_says_what_the_host_was_told() {
    let all = report(CAPTURE, usize::MAX, |_, _| true);
    let [_, disk] = &all.controllers[..] else { panic!("{:#?}", all.controllers) };
    assert_eq!(disk.subsystem.as_deref(), Some("nqn.2026-11.lab:ram"));
    let said = [&disk.model, &disk.serial, &disk.firmware, &disk.version, &disk.kind].map(Option::as_deref);
    assert_eq!(said, ["Linux", "6e9bcb4f1869d8d35636", "6.1.0-56", "1.3.0", "I/O"].map(Some));
    // mdts is 8, and pages have 4 KiB; CTRATT says that keep-alive is by traffic, CMIC that there is ANA.
    assert_eq!((disk.most_transfer_bytes, disk.capsule_data_bytes), (Some(1 << 20), Some(4096)));
    assert_eq!((disk.controller_id, disk.keep_alive_ms, disk.has_ana), (Some(1), Some(5000), Some(true)));
    assert_eq!(disk.host_id.as_deref(), Some("df7eb8bea0f34069a2fe57fd34960a19"));
    // The SMART log says no temperature.
    assert_eq!((disk.warnings.as_deref(), disk.temperature_celsius), (Some(&[][..]), None));
    let [space] = &all.namespaces[..] else { panic!("{:#?}", all.namespaces) };
    assert_eq!((space.namespace, space.block_bytes, space.metadata_bytes), (1, Some(512), Some(0)));
    assert_eq!(
        (space.blocks, space.size_bytes, space.used_bytes),
        (Some(0x2_0000), Some(1 << 26), Some(1 << 26))
    );
    assert_eq!(
        (space.ana_state.as_deref(), space.uuid.as_ref().map(String::len)),
        (Some("optimized"), Some(36))
    );
    let found: Vec<_> = all
        .discovered
        .iter()
        .map(|row| [&*row.subsystem, &*row.transport, &*row.address, &*row.service])
        .collect();
    let at = ["rdma", "10.77.0.2", "4420"];
    let [discovery, ram] = ["nqn.2014-08.org.nvmexpress.discovery", "nqn.2026-11.lab:ram"];
    assert_eq!(found, [discovery, ram].map(|name| [name, at[0], at[1], at[2]]));
    for row in all.operations.iter().filter(|row| ["Read", "Write"].contains(&&*row.command)) {
        assert_eq!(row.block_bytes, Some(row.data_bytes), "{row:?}");
    }
    let zeroes = all.operations.iter().find(|row| row.command == "Write Zeroes").unwrap();
    assert_eq!((zeroes.data_bytes, zeroes.blocks, zeroes.block_bytes), (0, Some(8), Some(4096)));
    let [mut reads, mut blocks] = [0; 2];
    for row in all.commands.iter().filter(|row| row.command == "Read") {
        reads += 1;
        blocks += u64::from(row.blocks.unwrap());
        assert_eq!(row.block_bytes, Some(row.data_bytes), "{row:?}");
    }
    let read = all.operations.iter().find(|row| row.command == "Read" && !row.is_admin).unwrap();
    assert_eq!((reads, Some(blocks)), (read.completed, read.blocks));
}

/// Reads and Writes name their bytes and their blocks. Where the data itself was not captured, that is what they moved.
#[test]
fn blocks_have_a_size_without_identify() {
    let all = report(CAPTURE, usize::MAX, |number, d| number > 1000 && !d.has(Kind::Mad) && number < 4500);
    let sizes: Vec<_> =
        all.namespaces.iter().map(|row| (row.block_bytes, row.blocks, row.metadata_bytes)).collect();
    assert_eq!(sizes, [(Some(512), None, None)]);
    let no_data = report(CAPTURE, usize::MAX, |_, d| !d.has(Kind::Reth) || d.payload_len() == 0);
    let whole = report(CAPTURE, usize::MAX, |_, _| true);
    let read = |all: &Report| {
        let row = all.operations.iter().find(|row| row.command == "Read" && !row.is_admin).unwrap();
        (row.data_bytes, row.block_bytes)
    };
    assert_eq!(read(&no_data), (0, read(&whole).1));
    assert!(read(&no_data).1 > Some(1_000_000));
}

/// Data is taken for what a command asked only where its address and key say so, and as far as nothing of it is missing.
#[test]
fn data_that_is_not_proved_says_nothing() {
    let changed = |change: &dyn Fn(Reth) -> Reth| {
        let mut commands = Commands::keeping(0);
        let mut source = capture::open(CAPTURE.as_ref()).unwrap();
        let mut number = 0;
        while let Some(record) = source.next().unwrap() {
            number += 1;
            let mut frame = record.frame.to_vec();
            let d = dissect(record.link, record.frame, record.wire_len);
            if let (Some(&reth), Some(at), Some(true)) = (
                d.get::<Reth>(),
                d.offset(Kind::Reth),
                d.opcode().map(|o| o.shape().operation == Some(Operation::Write)),
            ) {
                frame[at..at + Reth::LEN].copy_from_slice(change(reth).bytes());
            }
            // No ICRC says anything.
            if d.has(Kind::Bth) {
                let last = frame.len() - 1;
                frame[last] ^= 1;
            }
            let record = capture::Record { frame: &frame, ..record };
            commands.push(number, &record, &dissect(record.link, record.frame, record.wire_len));
        }
        let report = commands.finish();
        let models = report.controllers.iter().filter(|row| row.model.is_some()).count();
        (models, report.namespaces.iter().filter(|row| row.blocks.is_some()).count())
    };
    assert_eq!(changed(&|reth| reth), (2, 1));
    assert_eq!(changed(&|reth| reth.with_r_key(RKey(reth.r_key().0 ^ 0x100))), (0, 0));
    // Behind its memory, or in its middle.
    assert_eq!(changed(&|reth| reth.with_va(VirtualAddress(reth.va().0 + 4096))), (0, 0));
    assert_eq!(changed(&|reth| reth.with_va(VirtualAddress(reth.va().0 + 8)).with_dma_len(1)), (0, 0));
    // The second of four packets of each Identify of the discovery's and the disk's controllers: what is behind it is left out.
    let gap = report(CAPTURE, usize::MAX, |number, _| ![59, 74, 146, 311].contains(&number));
    for row in &gap.controllers {
        assert!(row.model.is_some() && row.highest_namespace.is_some(), "{row:?}");
        assert_eq!(row.capsule_data_bytes, None);
    }
    for bytes in [60, 150, 500] {
        let cut = report(CAPTURE, bytes, |_, _| true);
        assert!(cut.controllers.iter().all(|row| row.highest_namespace.is_none()), "{bytes}");
    }
}

/// Without its set-up, a queue is known by commands and responses that fit each other.
#[test]
fn a_queue_is_found_without_its_set_up() {
    let all = report(CAPTURE, usize::MAX, |number, d| number > 1000 && !d.has(Kind::Mad));
    assert_eq!(all.queues.len(), 2);
    let at = all.commands.iter().find(|row| row.command == "Read").unwrap().queue;
    let disk = &all.queues[at];
    assert!(!disk.is_proved && disk.host_qp.is_some());
    // Its responses name it.
    assert_eq!((disk.queue, disk.entries, disk.full_ratio), (Some(1), None, None));
    let whole = report(CAPTURE, usize::MAX, |_, _| true);
    let late = whole.commands.iter().filter(|row| row.frame > 1000 && row.queue == 2);
    let found: Vec<_> = all.commands.iter().filter(|row| row.queue == at).collect();
    for row in late.filter(|row| row.namespace == Some(1)) {
        let same = found.iter().find(|other| other.frame == row.frame).unwrap_or_else(|| panic!("{row:?}"));
        assert_eq!((same.time.latency_ns, &same.command), (row.time.latency_ns, &row.command));
    }
}

/// Frames that are cut within the command have none, and that is said; other traffic is none.
#[test]
fn nothing_else_is_taken_for_nvme() {
    let cut = report(CAPTURE, 100, |_, d| !d.has(Kind::Mad));
    assert!(cut.queues.is_empty() && cut.cut_capsules > 100, "{}", cut.cut_capsules);
    for other in ["loss1_rc_write-A", "loss1_rc_read-A", "rnr_late-A", "reorder5_rc_write-A"] {
        let none = report(&format!("pcaps/{other}.pcap.zst"), usize::MAX, |_, _| true);
        assert!(none.queues.is_empty() && none.operations.is_empty(), "{other}");
    }
}

/// Every packet twice, as from two taps or a mirror: no command and no data more, and none is sent again.
#[test]
fn a_command_that_is_recorded_twice_is_one() {
    let once = report(CAPTURE, usize::MAX, |_, _| true);
    let mut source = capture::open(CAPTURE.as_ref()).unwrap();
    let (mut commands, mut number) = (Commands::keeping(1000), 0);
    while let Some(record) = source.next().unwrap() {
        number += 1;
        let d = dissect(record.link, record.frame, record.wire_len);
        commands.push(number, &record, &d);
        commands.push(number, &record, &d);
    }
    let all = commands.finish();
    assert_eq!(all.commands.len(), 269);
    assert!(all.queues.iter().all(|queue| queue.retransmitted_commands == 0));
    for (one, two) in once.queues.iter().zip(&all.queues) {
        assert_eq!(one.time.sentence(), two.time.sentence());
    }
    assert_eq!(once.sentence(), all.sentence());
}

#[test]
fn the_command_prints_rows_and_json() {
    let text = cli().args(["nvme", CAPTURE, "--commands", "--top", "3"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    for part in [
        "3 queues of NVMe, 269 commands",
        "Identify failed once with 0x6002",
        "  and 266 more (--top 0 shows all)",
        "Slowest commands",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = cli().args(["nvme", "--json", CAPTURE]).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (json["schema"].as_str(), json["commands"].as_array().map(Vec::len)),
        (Some("rdmawire.nvme/1"), Some(0))
    );
    let none = cli().args(["nvme", "pcaps/loss1_rc_write-B-300.pcap"]).output().unwrap();
    let none = String::from_utf8_lossy(&none.stdout).into_owned();
    assert!(none.contains("no queue of NVMe over RDMA\n") && !none.contains("One direction"), "{none}");
}

/// A command that nothing answers waits until its queue is closed, not until the capture ends.
#[test]
fn a_wait_ends_with_its_queue() {
    // When each queue is closed, by the controller's queue pair. The last command before the first of these has no response.
    let mut closed = BTreeMap::new();
    each_kept(
        CAPTURE,
        usize::MAX,
        |number, _| number > 4000,
        |number, record, d| {
            if let Some(dreq) = d.get::<CmDreq>() {
                closed.entry(dreq.remote_qpn().0).or_insert((record.time.0, number));
            }
        },
    );
    let frame = closed.values().map(|(_, frame)| *frame).min().expect("a DREQ");
    let is_answer = |d: &Dissection<'_>| {
        let is_send = d.opcode().is_some_and(|opcode| opcode.shape().operation == Some(Operation::Send));
        is_send
            && d.payload_len() == 16
            && d.addresses().is_some_and(|[src, _]| src.to_string() == "10.77.0.2")
    };
    let (mut last, mut answered) = (0, 0);
    each_kept(
        CAPTURE,
        usize::MAX,
        |number, d| number < frame && is_answer(d),
        |number, record, _| (last, answered) = (number, record.time.0),
    );
    let all = report(CAPTURE, usize::MAX, |number, _| number != last);
    let open: Vec<_> = all.queues.iter().enumerate().filter(|(_, queue)| queue.unanswered > 0).collect();
    let &[(place, queue)] = &open[..] else { panic!("{open:#?}") };
    let (time, frame) = closed[&queue.controller_qp];
    assert_eq!((queue.closed_ns, queue.closed_by.as_deref()), (Some(time), Some("10.77.0.1")));
    let waited = queue.longest_wait_ns.unwrap();
    let least = (time - answered) as u64;
    assert!((least..least + 1_000_000_000).contains(&waited), "{waited} {least}");
    let said = format!(" until the host closed the queue [frame {frame}]");
    let told: Vec<_> = all.findings.iter().filter(|text| text.contains(&said)).collect();
    assert!(told[0].starts_with(&format!("#{place} 10.77.0.1 → 10.77.0.2, ")), "{:?}", all.findings);
    // Without a word of its end, it waits to the end of the capture.
    let all = report(CAPTURE, usize::MAX, |number, d| {
        number != last && !d.has(Kind::CmDreq) && !d.has(Kind::CmDrep)
    });
    assert!(all.findings.iter().any(|text| text.contains("to the end of the capture")), "{:?}", all.findings);
    let queue = &all.queues[place];
    assert!(queue.closed_ns.is_none() && queue.unanswered == 1, "{queue:?}");
}

/// A queue pair that another queue has, and a queue that is connected anew, end what was there before.
#[test]
fn a_queue_that_is_set_up_anew_ends_the_one_before() {
    let goodbyes = |d: &Dissection<'_>| d.has(Kind::CmDreq) || d.has(Kind::CmDrep);
    let mut commands = Commands::keeping(0);
    let (mut last, mut number) = (0, 0);
    for later in [0, 100_000_000_000] {
        each_kept(
            CAPTURE,
            usize::MAX,
            |_, d| !goodbyes(d),
            |_, record, d| {
                last = if later == 0 { last.max(record.time.0) } else { last };
                number += 1;
                let record = Record { time: Time(record.time.0 + later), ..*record };
                commands.push(number, &record, d);
            },
        );
    }
    let all = commands.finish();
    let ended: Vec<_> = all.queues.iter().map(|queue| (queue.closed_ns, queue.closed_by.is_some())).collect();
    assert!(
        ended[..3].iter().all(|(time, by)| time.is_some_and(|time| time > last) && !by),
        "{ended:?} {last}"
    );
    assert!(ended[3..].iter().all(|(time, _)| time.is_none()), "{ended:?}");
}

/// Of one direction alone nothing can be followed: that is said, and not that there is nothing.
#[test]
fn one_direction_alone_is_said() {
    for (filter, requests) in [("ip.src == 10.77.0.1", 3), ("ip.src == 10.77.0.2", 0)] {
        let output = cli().args(["nvme", "--json", "--filter", filter, CAPTURE]).output().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let [queues, one_way, asked] =
            ["queues", "one_way", "unanswered_requests"].map(|name| json[name].clone());
        assert_eq!(
            (queues, one_way, asked),
            (serde_json::json!([]), true.into(), requests.into()),
            "{filter}"
        );
        let output = cli().args(["nvme", "--filter", filter, CAPTURE]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("no queue of NVMe over RDMA is followed\n  - One direction only"), "{text}");
        assert_eq!(
            text.contains("3 connection requests for it without a reply (CM REP)"),
            requests > 0,
            "{text}"
        );
    }
    let all = report(CAPTURE, usize::MAX, |_, _| true);
    assert!(!all.one_way && all.unanswered_requests == 0);
}

/// Captures are answered for one by one, or as one trace; so it is with set-ups.
#[test]
fn several_captures_are_apart_or_merged() {
    let captures = ["pcaps/cm_rping-A.pcap", CAPTURE];
    for command in ["connections", "nvme"] {
        let told = |more: &[&str]| -> Vec<serde_json::Value> {
            let out = cli().args([command, "--json"]).args(more).args(captures).output().unwrap();
            assert!(out.status.success(), "{command} {more:?}");
            String::from_utf8(out.stdout)
                .unwrap()
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect()
        };
        let rows = |one: &serde_json::Value| {
            ["setups", "queues"].iter().filter_map(|name| one[name].as_array()).map(Vec::len).sum::<usize>()
        };
        let (apart, merged) = (told(&[]), told(&["--merge"]));
        assert_eq!((apart.len(), merged.len()), (2, 1));
        assert_eq!(merged[0]["files"], serde_json::json!(captures));
        assert_eq!(apart.iter().map(rows).sum::<usize>(), rows(&merged[0]));
    }
    let packets = |more: &[&str]| {
        let all =
            cli().args(["packets", "--fields", "time_ns"]).args(more).args(captures).output().unwrap().stdout;
        String::from_utf8(all).unwrap().lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let (mut apart, merged) = (packets(&[]), packets(&["--merge"]));
    apart.sort_unstable();
    assert!(merged.is_sorted() && merged == apart);
}

/// In a narrow terminal no address, number or name is broken: columns that do not fit beside the others stand below.
#[test]
fn lists_are_read_in_narrow_terminals() {
    for (command, capture, words) in [
        ("nvme", CAPTURE, &["10.77.0.1", "10.77.0.2", "controller", "commands", "108 ms"][..]),
        ("commands", "pcaps/nfs4_basic-A.pcap.zst", &["10.77.0.1", "completed", "its time"]),
        ("fabric", "tests/data/opensm_ibsim.pcap.zst", &["Switch1", "pairs back", "2.5 Gbit/s"]),
    ] {
        for columns in [80, 100] {
            let output =
                cli().args([command, "--top", "3", capture]).env("COLUMNS", columns.to_string()).output();
            let text = String::from_utf8(output.unwrap().stdout).unwrap();
            let lists =
                text.lines().skip_while(|line| !line.starts_with("Queues") && !line.starts_with("Nodes"));
            let too_wide: Vec<&str> = lists.filter(|line| line.chars().count() > columns).collect();
            assert!(too_wide.is_empty(), "{command} {columns}: {too_wide:#?}");
            for word in words {
                assert!(text.contains(word), "{command} {columns}: {word}\n{text}");
            }
        }
    }
}

/// A mirror that rewrites packets leaves all ICRCs wrong: they are no evidence, as in the analysis. Where others are right, the packet is corrupt.
#[test]
fn icrcs_that_are_all_wrong_are_no_evidence() {
    let intact = report(CAPTURE, usize::MAX, |_, _| true);
    let of = |is_wrong: &dyn Fn(u64) -> bool| {
        let right = crate::support::trace::read(CAPTURE.as_ref()).unwrap();
        let mut commands = Commands::keeping(1000);
        for ((number, wrong), right) in (1..).zip(rewritten(CAPTURE)).zip(right) {
            let frame = if is_wrong(number) { &wrong } else { &right };
            let record = frame.record();
            commands.push(number, &record, &dissect(record.link, record.frame, record.wire_len));
        }
        commands.finish()
    };
    let all = of(&|_| true);
    assert_eq!(all.commands.len(), intact.commands.len());
    assert_eq!(format!("{:?}", all.queues), format!("{:?}", intact.queues));
    assert!(all.wrong_icrc == 0 && all.wrong_icrc_read > 1000, "{}", all.wrong_icrc_read);
    // One capsule is corrupt: its command is not there.
    let frame = intact.commands.iter().find(|row| row.command == "Write").unwrap().frame;
    let one = of(&|number| number == frame);
    assert_eq!((one.commands.len() + 1, one.wrong_icrc, one.wrong_icrc_read), (intact.commands.len(), 1, 0));
}

/// Rows of commands that differ in their queue, namespace or subsystem alone do not look alike; hosts are named as they name themselves.
#[test]
fn rows_of_commands_tell_what_they_are_of() {
    let text = crate::support::programs::printed(cli().args(["nvme", CAPTURE, "--top", "0"]));
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.starts_with("Commands"))
        .skip(2)
        .take_while(|line| !line.trim_start().starts_with("controller "))
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert!(rows.len() > 15, "{text}");
    let of_identify = || rows.iter().filter(|row| row.contains(&"Identify"));
    let names = |row: &Vec<&str>| -> String {
        row.iter().take_while(|cell| !cell.contains(" ms")).copied().collect::<Vec<_>>().join(" ")
    };
    let identify: std::collections::BTreeSet<String> = of_identify().map(names).collect();
    assert_eq!(identify.len(), of_identify().count(), "{text}");
    assert!(text.contains(" admin  Identify ") && text.contains("nqn.2026-11.lab:ram"), "{text}");
    let all = report(CAPTURE, usize::MAX, |_, _| true);
    assert!(
        all.queues.iter().all(|queue| queue.host_nqn.as_deref().is_some_and(|nqn| nqn.starts_with("nqn.")))
    );
}

/// The capture, and all of it again as of a second controller with this number: the same host, address and subsystem, other queue pairs.
fn with_a_second_controller(id: u16) -> Report {
    let connects: Vec<(u64, u16)> = report(CAPTURE, usize::MAX, |_, _| true)
        .commands
        .iter()
        .filter(|row| row.command == "Connect")
        .map(|row| (row.frame, row.command_id))
        .collect();
    let (mut commands, mut source) = (Commands::keeping(0), capture::open(CAPTURE.as_ref()).unwrap());
    let (mut number, mut waiting) = (0, Vec::new());
    while let Some(record) = source.next().unwrap() {
        number += 1;
        waiting.extend(connects.iter().filter(|(frame, _)| *frame == number).map(|(_, id)| *id));
        let d = dissect(record.link, record.frame, record.wire_len);
        if d.has(Kind::Mad) {
            continue;
        }
        commands.push(number, &record, &d);
        let Some((bth, at)) = d.get::<Bth>().copied().zip(d.offset(Kind::Bth)) else { continue };
        let mut frame = record.frame.to_vec();
        let other = bth
            .with_dest_qp(Qpn(bth.dest_qp().0 ^ 0x80_0000))
            .with_psn(Psn((bth.psn().0 + 0x40_0000) & 0xff_ffff));
        frame[at..at + Bth::LEN].copy_from_slice(other.bytes());
        // The response to Connect says the controller's number.
        if let [payload @ .., low, high, _, _] = d.payload()
            && payload.len() == 12
            && d.opcode().is_some_and(|code| code.shape().operation == Some(Operation::Send))
            && let Some(place) = waiting.iter().position(|id| id.to_le_bytes() == [*low, *high])
        {
            waiting.swap_remove(place);
            let at = at + Bth::LEN + d.chain().total_len();
            frame[at..at + 2].copy_from_slice(&id.to_le_bytes());
        }
        let right = icrc::compute(&dissect(record.link, &frame, record.wire_len)).unwrap();
        let end = frame.len();
        frame[end - 4..].copy_from_slice(&right);
        let record = capture::Record { frame: &frame, ..record };
        commands.push(number, &record, &dissect(record.link, record.frame, record.wire_len));
    }
    commands.finish()
}

/// A host may have several controllers of a subsystem at one address: their numbers tell them apart.
#[test]
fn controllers_of_one_host_are_told_apart() {
    let disk = Some("nqn.2026-11.lab:ram");
    let all = with_a_second_controller(7);
    let of_disk = || all.controllers.iter().filter(|row| row.subsystem.as_deref() == disk);
    let ids: Vec<_> =
        of_disk().map(|row| (row.controller_id, row.queues.len(), row.model.is_some())).collect();
    assert_eq!(ids, [(Some(1), 2, true), (Some(7), 2, true)]);
    for row in of_disk() {
        assert!(row.queues.iter().all(|&at| all.queues[at].controller_id == row.controller_id), "{row:?}");
    }
    let spaces: Vec<_> = all.namespaces.iter().map(|row| (row.controller_id, row.blocks)).collect();
    assert_eq!(spaces, [(Some(1), Some(0x2_0000)), (Some(7), Some(0x2_0000))]);
    let reads = all.operations.iter().filter(|row| row.command == "Read" && !row.is_admin);
    let reads: Vec<_> = reads
        .map(|row| (row.controller_id, row.completed, row.block_bytes == Some(row.data_bytes)))
        .collect();
    assert!(reads.contains(&(Some(1), 99, true)) && reads.contains(&(Some(7), 99, true)), "{reads:?}");
    assert_eq!(reads.len(), 2);
}

/// Without any Connect, the admin queue is the controller, and Identify says its number; nothing says whose an I/O queue is.
#[test]
fn a_controller_without_connect_is_that_of_its_admin_queue() {
    let one = report(CAPTURE, usize::MAX, |number, d| number > 200 && !d.has(Kind::Mad));
    let [row] = &one.controllers[..] else { panic!("{:#?}", one.controllers) };
    assert_eq!((row.controller_id, row.queues.len()), (Some(1), 1));
    let read = one.operations.iter().find(|row| row.command == "Read" && !row.is_admin).unwrap();
    assert_eq!((read.controller_id, read.block_bytes), (None, Some(read.data_bytes)));
}

/// Commands in a capture of a simulated host and target.
fn simulated(names: &[&str]) -> Report {
    let mut frames = Vec::new();
    for (interface, name) in names.iter().enumerate() {
        let path = format!("tests/data/commands/{name}.pcap.zst");
        let read = trace::read(path.as_ref()).unwrap();
        frames.extend(read.into_iter().map(|frame| (interface as u16, frame)));
    }
    frames.sort_by_key(|(_, frame)| frame.time);
    let mut commands = Commands::keeping(1000);
    for (number, (interface, frame)) in (1..).zip(&frames) {
        let record = Record { interface: *interface, ..frame.record() };
        commands.push(number, &record, &dissect(record.link, record.frame, record.wire_len));
    }
    commands.finish()
}

/// A host drops a response that comes behind a lost packet, and gets it again: at 50 ms. Its data counts once.
#[test]
fn a_response_behind_a_gap_is_none_yet() {
    let all = simulated(&["response-behind-gap"]);
    let [row] = &all.commands[..] else { panic!("{all:#?}") };
    assert!((50_000_000..50_100_000).contains(&row.time.latency_ns), "{row:?}");
    assert!(row.time.recovering_ns > 49_000_000 && row.data_bytes == 4096, "{row:?}");
}

/// Responses that are sent again are no copies of a mirror: all eight commands have one.
#[test]
fn a_response_that_is_sent_again_is_seen() {
    let all = simulated(&["response-sent-again"]);
    assert_eq!((all.queues[0].completed, all.queues[0].unanswered), (8, 0));
}

/// A request for a connection and its reply that are repeated behind the first commands begin no other queue.
#[test]
fn a_set_up_that_is_repeated_late_is_one() {
    let all = simulated(&["late-repeated-set-up"]);
    let queues: Vec<_> = all.queues.iter().map(|queue| (queue.completed, queue.unanswered)).collect();
    assert_eq!((queues, all.unanswered_requests), (vec![(6, 0)], 0));
}

/// Of two taps, the one near the host is read: its times and its losses are those of the host's capture alone.
#[test]
fn of_two_taps_the_hosts_is_read() {
    let [host, target, both] =
        [&["two-taps-A"][..], &["two-taps-B"], &["two-taps-A", "two-taps-B"]].map(simulated);
    let times = |all: &Report| -> Vec<_> {
        all.commands
            .iter()
            .map(|row| (row.command_id, row.time_ns, row.data_bytes, row.time.sentence()))
            .collect()
    };
    assert_eq!(times(&host), times(&both));
    assert_ne!(times(&host), times(&target));
    assert!(both.queues.iter().all(|queue| queue.interface == Some(0) && queue.time.recovering_ns > 0));
    assert!(host.queues.iter().all(|queue| queue.interface.is_none()));
    assert_eq!(host.queues.iter().map(|queue| queue.completed).sum::<u64>(), 16);
}

/// A target that waits 200 us between WRITEs, which are acknowledged, takes this time: it is not the data's.
#[test]
fn pauses_between_writes_are_the_controllers() {
    let all = simulated(&["pauses"]);
    let reads: Vec<_> = all.commands.iter().filter(|row| row.command == "Read").collect();
    assert_eq!(reads.len(), 3);
    for row in reads {
        assert!(row.time.controller_ns >= 600_000 && row.time.data_ns < 50_000, "{row:?}");
    }
}

/// An acknowledgement that takes 3 ms says that the network behind the tap does, and not the controller, which takes 50 us.
#[test]
fn a_slow_network_behind_the_tap_is_said() {
    let all = simulated(&["network-behind-tap"]);
    assert!(all.queues.iter().all(|queue| queue.fastest_ack_ns.is_some_and(|ns| ns > 2_900_000)));
    let told = |all: &Report| all.findings.iter().any(|text| text.contains("is the network behind the tap"));
    assert!(told(&all), "{:?}", all.findings);
    assert!(!told(&simulated(&["pauses"])));
}

/// A number that is used again without a response in the capture: the command is counted, and no other one is wrong for it. The numbers of
/// the Writes behind frame 565 are used once more from frame 698 on; those at the end of the capture are not.
#[test]
fn a_number_that_is_used_again_had_a_response() {
    let is_answer = |d: &Dissection<'_>| {
        let is_send = d.opcode().is_some_and(|opcode| opcode.shape().operation == Some(Operation::Send));
        let src = d.addresses().map(|[src, _]| src.to_string());
        is_send && d.payload_len() == 16 && src.as_deref() == Some("10.77.0.2")
    };
    let whole = report(CAPTURE, usize::MAX, |_, _| true);
    let mut dropped = 0;
    let all = report(CAPTURE, usize::MAX, |number, d| {
        let is_lost = number > 565 && dropped < 3 && is_answer(d);
        dropped += u32::from(is_lost);
        !is_lost
    });
    let sum = |all: &Report| {
        let of = |count: fn(&rdmawire::nvme::QueueRow) -> u64| all.queues.iter().map(count).sum::<u64>();
        of(|queue| queue.completed) + of(|queue| queue.unanswered) + of(|queue| queue.unseen_responses)
    };
    assert_eq!((dropped, sum(&all)), (3, sum(&whole)));
    let unseen: Vec<_> = all.queues.iter().map(|queue| (queue.unanswered, queue.unseen_responses)).collect();
    assert_eq!(unseen, [(0, 0), (0, 0), (0, 3)]);
    let is_told = |text: &String| text.contains("used the numbers of 3 commands");
    assert!(all.findings.iter().any(is_told), "{:?}", all.findings);
}

/// A host that is not ready for a response takes it when it comes again.
#[test]
fn a_host_that_is_not_ready_waits() {
    let all = simulated(&["response-not-ready"]);
    let row = all.commands.iter().find(|row| row.frame == 184).unwrap();
    assert_eq!(row.time.latency_ns, 753_378);
    assert!(row.time.not_ready_ns > 640_000, "{row:?}");
}

/// What came again when it was complete is no recovery any more: what follows is the controller's time.
#[test]
fn a_recovery_ends_with_the_data() {
    let all = simulated(&["read-repeated-to-its-end"]);
    let row = all.commands.iter().find(|row| row.frame == 30).unwrap();
    assert_eq!((row.time.latency_ns, row.time.controller_ns), (20_331_357, 214_417), "{row:?}");
}

/// Queue pairs of closed queues that are used again, whose set-up was not captured, are of other queues.
#[test]
fn queue_pairs_that_are_used_again_are_of_other_queues() {
    let all = simulated(&["queue-pairs-used-again"]);
    let queues: Vec<_> =
        all.queues.iter().map(|of| (of.controller_qp, of.completed, of.closed_ns.is_some())).collect();
    assert_eq!(queues, [(0x800, 3, true), (0x805, 7, true), (0x800, 3, false), (0x805, 7, false)]);
}

/// Data of a command that comes again is none of the next command with its number.
#[test]
fn data_is_of_one_command() {
    let all = simulated(&["number-used-again"]);
    let row = all.commands.iter().find(|row| row.frame == 1498).unwrap();
    assert_eq!((row.data_bytes, row.block_bytes), (4096, Some(4096)));
}
