//! One-sided traffic, against scenarios whose truth is known; and what is none.

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    report::{OneSided, Report},
    sim::{
        Scenario,
        collective::{Collective, play},
        run,
    },
};

use crate::support::trace;

fn analyzed(text: &str, options: Options) -> Report {
    let run = run(&Scenario::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap();
    let mut analysis = Analysis::new(options);
    let mut frames = run.frames(0);
    while let Some(frame) = frames.next() {
        let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
    }
    analysis.finish()
}

fn shipped(options: Options) -> Report {
    analyzed(&std::fs::read_to_string("examples/scenarios/kv-transfer.toml").unwrap(), options)
}

#[test]
fn queue_pairs_have_what_was_moved() {
    for reference in [false, true] {
        let report = shipped(Options { reference, ..Options::default() });
        let found = report.head.one_sided.expect("READs and WRITEs without messages");
        let rows: Vec<_> = found
            .queue_pairs
            .iter()
            .map(|one| {
                (one.operations, one.reads, one.writes, one.read_bytes, one.written_bytes, one.atomics)
            })
            .collect();
        let read = (100, 100, 0, Some(100 << 16), 0, 0);
        assert_eq!(rows, [read, read, (80, 0, 40, Some(0), 40 << 14, 40)], "{reference}");
        for one in &found.queue_pairs {
            assert_eq!((one.src.as_str(), one.dst.as_str()), ("10.0.0.1", "10.0.0.2"));
            assert_eq!(report.flows[one.flow].dest_qp, one.dest_qp);
        }
        // 8 at a time, but for those at the end.
        let under_way = found.queue_pairs[0].outstanding.unwrap();
        assert!((7.0..=8.0).contains(&under_way), "{under_way}");
    }
}

#[test]
fn a_rail_that_carries_nothing_is_a_finding() {
    let report = shipped(Options::default());
    let rails = report.head.one_sided.expect("one-sided traffic").rails;
    let row = |at: usize| {
        (rails[at].src.as_str(), rails[at].read_bytes, rails[at].queue_pairs, rails[at].share_ratio)
    };
    assert_eq!(rails.len(), 2);
    assert_eq!(row(0), ("10.0.0.1", 200 << 16, 3, Some(1.0)));
    assert_eq!(row(1), ("10.1.0.1", 0, 1, Some(0.0)));
    let found: Vec<_> = report.head.findings.iter().filter(|one| one.id == "one_sided.rails").collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].text.starts_with("10.1.0.1 → 10.1.0.2 carries 0 %"), "{}", found[0].text);
}

/// Two rails, or two pairs of hosts in one subnet, that read so much each.
fn two(addresses: [&str; 4], counts: [u32; 2]) -> Report {
    let mut text = String::new();
    for (n, address) in addresses.into_iter().enumerate() {
        let side = ["left", "right"][n % 2];
        text += &format!("[[host]]\nname = \"h{n}\"\naddress = \"{address}\"\nside = \"{side}\"\n");
    }
    for (n, count) in counts.into_iter().enumerate() {
        let (from, to) = (2 * n, 2 * n + 1);
        text += &format!(
            "[[connection]]\nfrom = \"h{from}\"\nto = \"h{to}\"\noperations = [{{ op = \"read\", size = \"16KiB\", count = {count} }}]\n"
        );
    }
    analyzed(&text, Options::default())
}

#[test]
fn rails_are_told_by_their_addresses_and_even_ones_are_no_finding() {
    let hardly = |report: &Report| report.head.findings.iter().any(|one| one.id == "one_sided.rails");
    let groups = |report: &Report| -> Vec<Option<u64>> {
        report
            .head
            .one_sided
            .iter()
            .flat_map(|all: &OneSided| all.rails.iter().map(|rail| rail.rail_group))
            .collect()
    };
    let rails = ["10.0.0.1", "10.0.0.2", "10.1.0.1", "10.1.0.2"];
    let even = two(rails, [200, 190]);
    assert_eq!((groups(&even), hardly(&even)), (vec![Some(0); 2], false));
    let uneven = two(rails, [400, 20]);
    assert_eq!((groups(&uneven), hardly(&uneven)), (vec![Some(0); 2], true));
    let hosts = two(["10.0.0.1", "10.0.0.2", "10.0.0.5", "10.0.0.6"], [400, 20]);
    assert_eq!((groups(&hosts), hardly(&hosts)), (vec![None; 2], false));
}

#[test]
fn storage_and_what_is_small_is_none() {
    let with = |operations: &str| {
        let text = format!("[[connection]]\nrepeat = 50\noperations = [{operations}]\n");
        analyzed(&text, Options::default()).head.one_sided
    };
    let write = "{ op = \"write\", size = \"16KiB\" }";
    assert!(with(write).is_some());
    assert!(with("{ op = \"write\", size = \"64B\" }").is_none(), "small");
    assert!(with("{ op = \"write_imm\", size = \"16KiB\" }").is_none(), "immediate data in each");
    assert!(
        with(&format!("{{ op = \"send\", size = \"64B\", by = \"to\" }}, {write}")).is_none(),
        "commands"
    );
    assert!(with(&format!("{{ op = \"send\", size = \"64B\" }}, {write}")).is_none(), "answers");
}

#[test]
fn gpu_puts_among_collectives_are_one_sided_and_nothing_else_is() {
    for (decoys, rows) in [("\"gin\"", 1), ("\"perftest\", \"storage\"", 0), ("\"gin\", \"storage\"", 1)] {
        let text = format!("kind = \"collective\"\noperations = 2\ndecoys = [{decoys}]");
        let played = play(&Collective::parse(&text).unwrap()).unwrap();
        let mut analysis = Analysis::new(Options::default());
        for frame in played.frames(0) {
            let (time, wire_len) = (Time(frame.time_ns), frame.wire_len);
            let link = rdmawire::dissect::Link::ETHERNET;
            analysis.push(&Record { time, link, interface: 0, wire_len, frame: &frame.bytes });
        }
        let found = analysis.finish().head.one_sided;
        let found: Vec<_> = found.iter().flat_map(|all| &all.queue_pairs).collect();
        assert_eq!(found.len(), rows, "{decoys}");
        for one in found {
            assert_eq!((one.writes, one.atomics, one.written_bytes), (40, 40, 40 << 16));
        }
    }
}

/// What programs send: puts with a FETCH_ADD behind them (GIN, DeepEP), or with a flag of 8 bytes (NVSHMEM); READs of blocks with immediate data at
/// the end of a request (NIXL); WRITEs over several queue pairs of two rails (Mooncake).
#[test]
fn each_kind_has_its_operations_sizes_and_signals() {
    let of = |connections: &str| {
        let report = analyzed(connections, Options::default());
        assert!(report.head.collectives.is_none(), "{connections}");
        report.head.one_sided.unwrap_or_else(|| panic!("{connections}"))
    };
    let put = "{ op = \"write\", size = \"7KiB\", count = 4 }, { op = \"fetch_add\" }";
    let flag = "{ op = \"write\", size = \"16KiB\" }, { op = \"write\", size = \"8B\" }";
    let read = "{ op = \"read\", size = \"32KiB\", count = 200 }, { op = \"write_imm\", size = \"0B\" }";
    for (repeat, operations, counts, bytes, most) in [
        (60, put, (240, 0, 60, 0, Some(0)), 240 * 7168, 7168),
        (60, flag, (120, 0, 0, 0, Some(60)), 60 * (16384 + 8), 16384),
        (3, read, (3, 600, 0, 3, Some(3)), 600 << 15, 1 << 15),
    ] {
        let found = of(&format!("[[connection]]\nrepeat = {repeat}\noperations = [{operations}]\n"));
        let [one] = &found.queue_pairs[..] else { panic!("{found:?}") };
        assert_eq!((one.writes, one.reads, one.atomics, one.immediates, one.small_writes), counts, "{one:?}");
        assert_eq!(one.written_bytes + one.read_bytes.unwrap(), bytes, "{one:?}");
        let sizes = one.size_bytes.as_ref().unwrap();
        // Signals have no size.
        assert_eq!((sizes.count, sizes.max), (counts.0 + counts.1, most), "{one:?}");
    }
    let mut text = String::new();
    for (n, rail) in [0, 0, 1].into_iter().enumerate() {
        if n != 1 {
            for (end, side) in [(1, "left"), (2, "right")] {
                text += &format!(
                    "[[host]]\nname = \"h{rail}{end}\"\naddress = \"10.{rail}.0.{end}\"\nside = \"{side}\"\n"
                );
            }
        }
        text += &format!(
            "[[connection]]\nfrom = \"h{rail}1\"\nto = \"h{rail}2\"\noperations = [{{ op = \"write\", size = \"64KiB\", count = {} }}]\n",
            [100, 50, 50][n]
        );
    }
    let found = of(&text);
    let rails: Vec<_> =
        found.rails.iter().map(|one| (one.queue_pairs, one.written_bytes, one.share_ratio)).collect();
    assert_eq!(rails, [(2, 150 << 16, Some(0.75)), (1, 50 << 16, Some(0.25))]);
    let mut shares: Vec<f64> = found.queue_pairs.iter().map(|one| one.rail_ratio).collect();
    shares.sort_by(f64::total_cmp);
    assert_eq!(shares, [50.0 / 150.0, 100.0 / 150.0, 1.0]);
}

/// perftest writes one buffer again and again; UCX, MPI and storage have messages; NCCL's requests are collectives.
#[test]
fn no_real_application_is_taken_for_it() {
    let mut captures = 0;
    for entry in std::fs::read_dir("pcaps").unwrap() {
        let path = entry.unwrap().path();
        let Ok(frames) = trace::read(&path) else { continue };
        let mut analysis = Analysis::new(Options::default());
        frames.iter().for_each(|frame| analysis.push(&frame.record()));
        assert_eq!(analysis.finish().head.one_sided, None, "{}", path.display());
        captures += 1;
    }
    assert!(captures > 40, "{captures}");
}

fn of_captures(names: &[&str]) -> OneSided {
    let mut frames = Vec::new();
    for (tap, name) in names.iter().enumerate() {
        let path = format!("tests/data/one_sided/{name}.pcap.zst");
        let of_tap = trace::read(std::path::Path::new(&path)).unwrap();
        frames.extend(of_tap.into_iter().map(|frame| (tap as u16, frame)));
    }
    frames.sort_by_key(|(tap, frame)| (frame.record().time, *tap));
    let mut analysis = Analysis::new(Options::default());
    for (interface, frame) in &frames {
        analysis.push(&Record { interface: *interface, ..frame.record() });
    }
    analysis.finish().head.one_sided.expect("one-sided traffic")
}

/// Before the path MTU is known, a READ's PSNs are those up to the next one: its copy at the other tap is none.
#[test]
fn the_taps_of_both_ends_count_once() {
    for names in [&["reads-a"][..], &["reads-b"], &["reads-a", "reads-b"]] {
        let found = of_captures(names);
        assert_eq!(found.queue_pairs.len(), 2, "{names:?}");
        for one in &found.queue_pairs {
            assert_eq!((one.operations, one.reads, one.resent_packets), (20, 20, 0), "{names:?}");
            assert!(one.completion_ns.is_some_and(|took| took.max < 30_000), "{names:?}: {one:?}");
        }
    }
}

/// Queue pairs whose PSNs all begin at 0 are paired late: what was answered before is not measured. An atomic moves no bytes.
#[test]
fn answers_from_before_the_pairing_measure_nothing() {
    let found = of_captures(&["puts"]);
    assert_eq!(found.queue_pairs.len(), 8);
    for one in &found.queue_pairs {
        assert_eq!((one.operations, one.writes, one.atomics), (80, 40, 40));
        assert!(one.completion_ns.is_some_and(|took| took.max < 20_000), "{one:?}");
        let sizes = one.size_bytes.unwrap();
        assert_eq!((sizes.count, sizes.min, sizes.p50), (40, 7168, 7168));
    }
}
