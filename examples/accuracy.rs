//! How right is the analyzer? Plays the scenarios with several seeds and prints errors and the confusion matrix.
//!
//! `cargo run --release --example accuracy -- [--seeds N] [--naive] [--constant-ip-id] [--save DIR] [--verbose] [NAME…]`

use std::{
    collections::HashMap,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{self, Format, Record, Sink, Time},
    craft::scenario::{
        Frame, IpId, Run, Scenario,
        accuracy::{Verdict, measure, parse_many},
        label::Class,
    },
    dissect,
    opcode::{Direction, Operation},
    wire::{Aeth, Bth, Kind, Psn, Reth},
};

fn main() {
    let mut names = Vec::new();
    let (mut seeds, mut naive, mut save, mut verbose, mut constant) = (3, false, None, false, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seeds" => seeds = arguments.next().and_then(|n| n.parse().ok()).expect("--seeds N"),
            "--naive" => naive = true,
            "--constant-ip-id" => constant = true,
            "--verbose" => verbose = true,
            "--save" => save = Some(PathBuf::from(arguments.next().expect("--save DIR"))),
            name => names.push(name.to_string()),
        }
    }
    let mut scenarios = all();
    if constant {
        // What most of the evidence is taken from, taken away.
        let connections = scenarios.iter_mut().flat_map(|(_, scenario)| &mut scenario.connection);
        connections.for_each(|connection| connection.ip_id = IpId::Constant);
    }
    scenarios.retain(|(name, _)| names.is_empty() || names.contains(name));
    if let Some(directory) = save {
        fs::create_dir_all(&directory).expect("a directory");
        for (name, scenario) in &scenarios {
            let run = rdmawire::craft::scenario::run(scenario).expect(name);
            let format = if run.link() == dissect::Link::INFINIBAND { Format::Erf } else { Format::Pcap };
            let path = directory.join(format!("{name}.{}", format.name()));
            let options = capture::Options { force: true, ..capture::Options::default() };
            let mut writer =
                capture::create(&path, format, &[capture::Interface::new(run.link())], options).expect(name);
            let mut frames = run.frames(0);
            while let Some(frame) = frames.next() {
                writer.put(&record(&frame)).expect(name);
            }
            writer.finish().expect(name);
            fs::write(directory.join(format!("{name}.json")), format!("{:#}\n", run.expect(0))).expect(name);
        }
        return;
    }
    let judge = if naive { naive_judge } else { analyze };
    let accuracy = measure(&scenarios, 1..seeds + 1, judge).expect("the scenarios are right");
    print!("{accuracy}");
    if verbose {
        for row in &accuracy.rows {
            for wrong in &row.examples {
                println!(
                    "{}: seed {}, tap {}, frame {}: called {}, is {:?}",
                    row.name, wrong.seed, wrong.tap, wrong.frame, wrong.said, wrong.label
                );
            }
            for mismatch in &row.mismatches {
                println!("{}: {mismatch}", row.name);
            }
        }
    }
}

/// The shipped scenarios and the compact ones of the tests.
fn all() -> Vec<(String, Scenario)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let compact =
        fs::read_to_string(root.join("tests/data/scenarios.txt")).expect("tests/data/scenarios.txt");
    let mut all = parse_many(&compact).unwrap_or_else(|error| panic!("tests/data/scenarios.txt: {error}"));
    let mut files: Vec<_> =
        fs::read_dir(root.join("examples/scenarios")).expect("examples/scenarios").flatten().collect();
    files.sort_by_key(|file| file.path());
    for file in files {
        let name =
            file.path().file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let text = fs::read_to_string(file.path()).expect("a file that can be read");
        let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        all.push((name, scenario));
    }
    all
}

/// The analyzer's verdict.
fn analyze(run: &Run, tap: usize) -> Verdict {
    let mut analysis = Analysis::new(Options::default());
    let classes = Arc::new(Mutex::new(vec!["nothing"; run.recorded(tap).count()]));
    let told = Arc::clone(&classes);
    analysis.observe(Box::new(move |number, _, class| {
        if let Some(slot) = told.lock().expect("one thread").get_mut(number as usize - 1) {
            *slot = class.name();
        }
    }));
    let mut frames = run.frames(tap);
    while let Some(frame) = frames.next() {
        analysis.see(&record(&frame));
    }
    let report = serde_json::to_value(analysis.finish()).expect("a report is JSON");
    let classes = classes.lock().expect("one thread").clone();
    Verdict { classes, report }
}

fn record<'a>(frame: &Frame<'a>) -> Record<'a> {
    let time = Time(frame.time_ns);
    Record { time, link: frame.link, interface: 0, wire_len: frame.wire_len, frame: frame.bytes }
}

/// What a script does that compares each PSN with the one before: for comparison.
fn naive_judge(run: &Run, tap: usize) -> Verdict {
    let mut classes = Vec::new();
    let mut next: HashMap<(Vec<u8>, u32, bool), (Psn, u32)> = HashMap::new();
    let mut frames = run.frames(tap);
    while let Some(frame) = frames.next() {
        let d = dissect::dissect(frame.link, frame.bytes, frame.wire_len);
        let Some(bth) = d.get::<Bth>() else {
            classes.push(Class::Pause.name());
            continue;
        };
        let opcode = bth.opcode();
        classes.push(match opcode.operation() {
            _ if opcode.is_cnp() => Class::Cnp.name(),
            _ if d.has(Kind::Mad) => Class::Management.name(),
            _ if d.has(Kind::Deth) => Class::Datagram.name(),
            Some(Operation::Acknowledge) => match d.get::<Aeth>().map_or(0, |aeth| aeth.syndrome().0 >> 5) {
                0 => Class::Ack.name(),
                1 => Class::Rnr.name(),
                _ => Class::Nak.name(),
            },
            _ => {
                // Addresses stand before the BTH; ports and identification differ from packet to packet.
                let at = d.offset(Kind::Ipv4).map(|at| at + 12..at + 20);
                let at = at.or(d.offset(Kind::Ipv6).or(d.offset(Kind::Grh)).map(|at| at + 8..at + 40));
                let at = at.or(d.offset(Kind::Lrh).map(|at| at..at + 8)).unwrap_or(0..0);
                let key = (d.frame()[at].to_vec(), bth.dest_qp().0, opcode.direction() == Direction::Request);
                let mtu = 1024;
                let count = match (opcode.operation(), d.get::<Reth>()) {
                    (Some(Operation::ReadRequest), Some(reth)) => reth.dma_len().div_ceil(mtu).max(1),
                    _ => 1,
                };
                let psn = bth.psn();
                let last = next.insert(key, (psn, count));
                match last.map(|(last, count)| psn.distance_from(last.plus(count))) {
                    None | Some(0) => Class::New.name(),
                    Some(1..) => Class::NewAfterGap.name(),
                    Some(_) => Class::Retransmission.name(),
                }
            }
        });
    }
    Verdict { classes, report: serde_json::Value::Null }
}
