//! How right is the analyzer? Plays the scenarios with several seeds and prints errors and the confusion matrix.
//!
//! `cargo run --release --example accuracy -- [--seeds N] [--from SEED] [--naive] [--matrix] [--save DIR]
//! [--losses] [--scenarios FILE] [--verbose] [NAME…]`
//!
//! `--losses` prints the bounds of losses by scenario, beside the truth. `--scenarios` plays a file of scenarios, written as
//! `tests/data/scenarios.txt` is.
//!
//! `--matrix` plays what adapters do, `tests/data/hardware.txt`, with several round trips, as taps of every kind see it.

#[path = "../tests/judge/mod.rs"]
mod judge;

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    ops::Range,
    path::{Path, PathBuf},
    sync::Mutex,
};

use judge::{Verdict, measure, parse_many};
use rdmawire::{
    analyze::{Analysis, Options, metric::classes::Classes},
    capture::{self, Format, Record, Sink, Time},
    dissect,
    opcode::{Direction, Operation, Position},
    sim::{
        Cause, Frame, Ns, Run, Scenario, Side, Tap, Verb, Wrap,
        label::{Class, Labels},
    },
    wire::{Aeth, Bth, Kind, Psn, Reth},
};

fn main() {
    let mut names = Vec::new();
    let (mut seeds, mut from, mut naive, mut save) = (3, 1, false, None);
    let (mut verbose, mut all_taps, mut losses, mut file) = (false, false, false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seeds" => seeds = arguments.next().and_then(|n| n.parse().ok()).expect("--seeds N"),
            "--from" => from = arguments.next().and_then(|n| n.parse().ok()).expect("--from SEED"),
            "--naive" => naive = true,
            "--matrix" => all_taps = true,
            "--losses" => losses = true,
            "--scenarios" => file = Some(PathBuf::from(arguments.next().expect("--scenarios FILE"))),
            "--verbose" => verbose = true,
            "--save" => save = Some(PathBuf::from(arguments.next().expect("--save DIR"))),
            name => names.push(name.to_string()),
        }
    }
    if all_taps {
        return matrix(from..from + seeds, &names, verbose, save.as_deref());
    }
    let mut scenarios = match file {
        Some(file) => {
            parse_many(&fs::read_to_string(&file).expect("a file that can be read")).expect("scenarios")
        }
        None => all(),
    };
    scenarios.retain(|(name, _)| names.is_empty() || names.contains(name));
    if let Some(directory) = save {
        for (name, scenario) in &scenarios {
            keep(&directory, name, &rdmawire::sim::run(scenario).expect(name));
        }
        return;
    }
    if losses {
        return bounds(&scenarios, from..from + seeds, verbose);
    }
    let judge = if naive { naive_judge } else { analyze };
    let accuracy = measure(&scenarios, from..from + seeds, judge).expect("the scenarios are right");
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

/// What the reports say of losses, beside the truth: at least and at most, by scenario, direction and place.
fn bounds(scenarios: &[(String, Scenario)], seeds: Range<u64>, verbose: bool) {
    println!(
        "{:32} {:9} {:10} {:>8} {:>8} {:>8} {:>8} {:>7} {:>6}",
        "scenario", "packets", "place", "lost", "at most", "proved", "most", "ratio", "wrong"
    );
    let (mut ratios, mut proved, mut lost, mut wrong) = (Vec::new(), 0, 0, 0);
    for (name, scenario) in scenarios {
        let mut rows: BTreeMap<[&str; 2], [u64; 5]> = BTreeMap::new();
        for seed in seeds.clone() {
            let run = rdmawire::sim::run(&Scenario { seed, ..scenario.clone() }).expect(name);
            let expected = run.expect_of(0, &run.labels(0));
            let report = analyze(&run, 0).report;
            let flows = |of: &serde_json::Value| of["flows"].as_array().cloned().unwrap_or_default();
            for truth in flows(&expected) {
                let same = |flow: &serde_json::Value| {
                    ["src", "dst", "dest_qp", "epoch"].iter().all(|key| flow[key] == truth[key])
                };
                let Some(flow) = flows(&report).into_iter().find(same) else { continue };
                for word in ["requests", "responses"] {
                    for place in ["upstream", "downstream"] {
                        let (is, said) = (&truth[word]["losses"][place], &flow[word]["losses"][place]);
                        if is.is_null() || said.is_null() {
                            continue;
                        }
                        let (least, most) = interval(is);
                        let [from, to] = [&said[0], &said[1]].map(|bound| bound.as_u64().unwrap_or(0));
                        let is_wrong = from > most || to < least;
                        if verbose && (is_wrong || to > 3 * most.max(4)) {
                            println!(
                                "{name}: seed {seed}, {} {} {word} {place}: {least} to {most} in {from} to {to}",
                                truth["src"], truth["dest_qp"]
                            );
                        }
                        let row = rows.entry([word, place]).or_default();
                        // Of responses, those that were of no use may count, and need not be proved.
                        let is = if place == "downstream" { least } else { most };
                        for (sum, n) in row.iter_mut().zip([least, is, from, to, is_wrong.into()]) {
                            *sum += n;
                        }
                    }
                }
            }
        }
        for ([word, place], [least, most, from, to, off]) in rows {
            (proved, lost, wrong) = (proved + from, lost + most, wrong + off);
            if most + to == 0 {
                continue;
            }
            let ratio = to as f64 / most as f64;
            if most > 0 {
                ratios.push(ratio);
            }
            println!(
                "{name:32} {word:9} {place:10} {least:>8} {most:>8} {from:>8} {to:>8} {ratio:>7.2} {off:>6}"
            );
        }
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "{proved} of {lost} proved; the upper bound is {:.2} times the truth in the median; {wrong} bounds do not hold",
        ratios.get(ratios.len() / 2).copied().unwrap_or(0.0)
    );
}

/// Writes the capture of the first tap, and what a report must show.
fn keep(directory: &Path, name: &str, run: &Run) {
    fs::create_dir_all(directory).expect("a directory");
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
    let mut classes = vec!["nothing"; run.recorded(tap).count()];
    let mut analysis = Analysis::with(Options::default(), Classes::default());
    let mut frames = run.frames(tap);
    while let Some(frame) = frames.next() {
        analysis.push(&record(&frame));
    }
    let (report, told) = analysis.finish_with::<Classes>();
    for (number, _, class) in told.unwrap_or_default().0 {
        if let Some(slot) = classes.get_mut(number as usize - 1) {
            *slot = class.name();
        }
    }
    Verdict { classes, report: serde_json::to_value(report).expect("a report is JSON") }
}

fn record<'a>(frame: &Frame<'a>) -> Record<'a> {
    let time = Time(frame.time_ns);
    Record { time, link: frame.link, interface: 0, wire_len: frame.wire_len, frame: frame.bytes }
}

/// What adapters do, as taps of every kind see it.
fn matrix(seeds: Range<u64>, names: &[String], verbose: bool, save: Option<&Path>) {
    let text = include_str!("../tests/data/hardware.txt");
    let bases = parse_many(text).unwrap_or_else(|error| panic!("tests/data/hardware.txt: {error}"));
    let (mut groups, mut total) = (Vec::new(), 0);
    for (tap, alter) in TAPS {
        if names.iter().any(|name| TAPS.iter().any(|(tap, _)| tap == name))
            && !names.iter().any(|name| name == tap)
        {
            continue;
        }
        let mut sum = Group { name: format!("{tap}: all"), ..Group::default() };
        for (base, scenario) in &bases {
            if names.iter().any(|name| bases.iter().any(|(base, _)| base == name)) && !names.contains(base) {
                continue;
            }
            let mut group = Group { name: format!("{tap}: {base}"), ..Group::default() };
            for longer in [1, 2, 4] {
                for seed in seeds.clone() {
                    let mut scenario = Scenario { seed, ..scenario.clone() };
                    scenario.segment.iter_mut().for_each(|segment| segment.delay.0 *= longer);
                    let mut altered = Tap::default();
                    alter(&mut altered);
                    scenario.tap = vec![altered];
                    group.add(&scenario, verbose);
                    if let Some(directory) = save {
                        let run = rdmawire::sim::run(&scenario).expect(base);
                        keep(directory, &format!("{tap}-{base}-{longer}-{seed}"), &run);
                    }
                }
            }
            sum.join(&group);
            groups.push(group);
        }
        total += sum.frames;
        groups.push(sum);
    }
    println!(
        "{:30} {:>7} {:>7} {:>6} | {:>6} {:>6} {:>6} {:>6} | {:>6} {:>6} {:>6} {:>6} {:>5} {:>5} | {:>6} {:>6} {:>6} {:>6} {:>5} {:>5}",
        "tap: what is sent",
        "frames",
        "wrong%",
        "ambig",
        "resent",
        "off%",
        "late",
        "off%",
        "copies",
        "off%",
        "messag",
        "off%",
        "cause",
        "off",
        "lost",
        "proved",
        "bounds",
        "report",
        "compl",
        "rtt"
    );
    for g in &groups {
        let [resent, late, copies, messages] =
            g.counts.map(|(truth, off)| (truth, 100.0 * off as f64 / truth.max(1) as f64));
        println!(
            "{:30} {:>7} {:>7.3} {:>6} | {:>6} {:>6.2} {:>6} {:>6.2} | {:>6} {:>6.2} {:>6} {:>6.2} {:>5} {:>5} | {:>6} {:>6} {:>6} {:>6} {:>5} {:>5}",
            g.name,
            g.frames,
            100.0 * g.wrong as f64 / g.frames.max(1) as f64,
            g.ambiguous,
            resent.0,
            resent.1,
            late.0,
            late.1,
            copies.0,
            copies.1,
            messages.0,
            messages.1,
            g.causes,
            g.causes_off,
            g.lost,
            g.proved,
            g.bounds,
            g.alarms,
            g.completion_off,
            g.rtt_off
        );
    }
    println!("{total} frames");
}

/// A kind of tap: its name, and what it changes.
type TapKind = (&'static str, fn(&mut Tap));

/// Taps of every kind.
const TAPS: [TapKind; 17] = [
    ("two-way", |_| ()),
    ("requests", |tap| tap.only = Some(Side::Right)),
    ("responses", |tap| tap.only = Some(Side::Left)),
    ("unsorted", |tap| tap.unsorted = Ns(5_000)),
    ("queues", |tap| (tap.queues, tap.flush) = (4, Ns(100_000))),
    ("jitter", |tap| tap.stamp_jitter = Ns(1_000)),
    ("clocks", |tap| tap.left_ahead = Ns(12_000)),
    ("bond", |tap| tap.bond_ahead = Ns(1_500)),
    ("erspan", |tap| (tap.wrap, tap.mirror_jitter) = (Wrap::Erspan2, Ns(3_000))),
    ("sampled", |tap| tap.sample = 16),
    ("bursts", |tap| (tap.loss, tap.loss_frames) = (0.0005, 30)),
    ("lossy", |tap| tap.loss = 0.002),
    ("cut", |tap| tap.snaplen = 64),
    ("milliseconds", |tap| tap.resolution = Ns(1_000_000)),
    ("begins", |tap| tap.start = Ns(60_000)),
    ("copies", |tap| (tap.duplicate, tap.duplicate_after) = (1.0, Ns(900))),
    ("hops", |tap| (tap.duplicate, tap.duplicate_after, tap.duplicate_ttl) = (0.7, Ns(3_000), 1)),
];

/// Some captures of one kind.
#[derive(Default)]
struct Group {
    name: String,
    frames: u64,
    wrong: u64,
    ambiguous: u64,
    /// Retransmissions, late ones, copies, messages: the truth, and how far reports are from it.
    counts: [(u64, u64); 4],
    causes: u64,
    causes_off: u64,
    /// Bounds of losses that do not hold.
    bounds: u64,
    /// Packets lost on the network, and how many of them the reports call proved.
    lost: u64,
    proved: u64,
    /// Errors and warnings where nothing is wrong, or none where something is.
    alarms: u64,
    /// Connections whose completion time, or round trip, is off by more than a tenth.
    completion_off: u64,
    rtt_off: u64,
}

impl Group {
    fn join(&mut self, other: &Group) {
        self.frames += other.frames;
        self.wrong += other.wrong;
        self.ambiguous += other.ambiguous;
        for (sum, count) in self.counts.iter_mut().zip(other.counts) {
            *sum = (sum.0 + count.0, sum.1 + count.1);
        }
        self.causes += other.causes;
        self.causes_off += other.causes_off;
        self.bounds += other.bounds;
        self.lost += other.lost;
        self.proved += other.proved;
        self.alarms += other.alarms;
        self.completion_off += other.completion_off;
        self.rtt_off += other.rtt_off;
    }

    fn add(&mut self, scenario: &Scenario, verbose: bool) {
        let report = Mutex::new(serde_json::Value::Null);
        let name = self.name.clone();
        let (seed, tap) = (scenario.seed, &scenario.tap[0]);
        let run = rdmawire::sim::run(scenario).unwrap_or_else(|error| panic!("{name}: {error}"));
        let judge = |run: &Run, tap: usize| {
            let verdict = analyze(run, tap);
            *report.lock().expect("one thread") = verdict.report.clone();
            verdict
        };
        let all = [(name.clone(), scenario.clone())];
        let accuracy = measure(&all, seed..seed + 1, judge).expect("the scenarios are right");
        let (row, report) = (&accuracy.rows[0], report.into_inner().expect("one thread"));
        let labels = run.labels(0);
        self.frames += row.frames;
        self.wrong += row.wrong + row.ambiguous;
        self.ambiguous += row.ambiguous;
        if verbose {
            for e in &row.examples {
                println!(
                    "{name}: seed {seed}, {:?}, frame {}: called {}, is {:?}",
                    scenario.segment.first().map(|s| s.delay),
                    e.frame,
                    e.said,
                    e.label
                );
            }
        }
        let said = |kind: &str| -> u64 {
            accuracy.matrix.iter().filter(|((_, said), _)| *said == kind).map(|(_, n)| *n).sum()
        };
        let (resent, late) = (row.retransmits, row.out_of_order);
        let copies =
            labels.frames.iter().filter(|label| label.class == Class::CaptureDuplicate).count() as u64;
        let hidden = row.unknowable.min(said("retransmission").saturating_sub(resent.truth));
        let found = said("retransmission") - hidden;
        self.count(0, resent.truth, found.abs_diff(resent.truth));
        self.count(1, late.truth, late.found.abs_diff(late.truth));
        self.count(2, copies, said("capture_duplicate").abs_diff(copies));
        for mismatch in &row.mismatches {
            let at = |part: &str| mismatch.path.contains(part);
            let number = mismatch.actual.as_ref().and_then(|actual| actual.as_u64());
            if at("triggers") {
                let (least, most) = interval(&mismatch.expected);
                let n = number.unwrap_or(0);
                // Where the report says that it does not know all causes, those that are missing are not wrong.
                let least = if is_partial(&report, &mismatch.path) { 0 } else { least };
                self.causes_off += least.saturating_sub(n) + n.saturating_sub(most);
            }
            // `null` says nothing, and cannot be wrong.
            let is_claim = mismatch.actual.as_ref().is_some_and(|actual| !actual.is_null());
            self.bounds += (at("losses") && is_claim) as u64;
            if verbose && is_claim && (at("triggers") || at("losses")) {
                let delay = scenario.segment.first().map(|segment| segment.delay.0);
                println!("{name}: seed {seed}, delay {delay:?}: {mismatch}");
            }
        }
        if verbose {
            self.tell_episodes(&run, &report, &labels);
        }
        for flow in &labels.flows {
            self.lost += flow.requests.upstream.most + flow.requests.downstream;
        }
        for flow in report["flows"].as_array().into_iter().flatten() {
            for place in ["upstream", "downstream"] {
                self.proved += flow["requests"]["losses"][place][0].as_u64().unwrap_or(0);
            }
        }
        self.messages_and_times(&run, &report, tap, verbose);
        let broken = labels
            .frames
            .iter()
            .any(|label| !matches!(label.class, Class::New | Class::Ack | Class::Management));
        let findings = report["findings"].as_array().cloned().unwrap_or_default();
        let loud: Vec<_> =
            findings.iter().filter(|f| matches!(f["severity"].as_str(), Some("error" | "warning"))).collect();
        let is_wrong = if row.is_clean && !broken {
            !loud.is_empty()
        } else {
            row.retransmits.truth > 20 && findings.is_empty()
        };
        self.alarms += is_wrong as u64;
        if verbose && is_wrong {
            println!("{name}: seed {seed}: {loud:?}");
        }
    }

    /// Prints episodes whose cause is not said, or said wrongly, and episodes that are none: by their first frame that is evident.
    fn tell_episodes(&self, run: &Run, report: &serde_json::Value, labels: &Labels) {
        let mut said: BTreeMap<u64, &str> = BTreeMap::new();
        for episode in report["episodes"].as_array().into_iter().flatten() {
            let frame = episode["first_retransmit_frame"].as_u64().unwrap_or(0);
            match episode["trigger"].as_str() {
                Some("repeated_read") | None => {}
                Some(by) => _ = said.insert(frame, by),
            }
        }
        let mut frames: Vec<Vec<u64>> = vec![Vec::new(); run.episodes.len()];
        for ((frame, sighting), label) in (1..).zip(run.recorded(0)).zip(&labels.frames) {
            let episode = run.transmission(sighting).map_or(u32::MAX, |t| t.episode);
            if label.class == Class::Retransmission
                && label.evident
                && let Some(frames) = frames.get_mut(episode as usize)
            {
                frames.push(frame);
            }
        }
        let delay = run.scenario.segment.first().map(|segment| segment.delay.0);
        let head = format!("{}: seed {}, delay {delay:?}", self.name, run.scenario.seed);
        for (episode, frames) in run.episodes.iter().zip(&frames) {
            let Some(first) = frames.first() else { continue };
            let found: Vec<_> =
                frames.iter().filter_map(|frame| Some((frame, said.remove(frame)?))).collect();
            let is_right = found.iter().any(|(_, by)| *by == cause_name(episode.cause));
            let psn = episode.psn & 0xff_ffff;
            if !is_right || found.len() > 1 {
                println!(
                    "{head}: episode flow {}, frame {first}, PSN {psn}: {} is told as {found:?}",
                    episode.flow,
                    cause_name(episode.cause)
                );
            }
        }
        for (frame, by) in said {
            println!("{head}: episode at frame {frame}, {by}, is none");
        }
    }

    fn count(&mut self, what: usize, truth: u64, off: u64) {
        let (sum, sum_off) = &mut self.counts[what];
        (*sum, *sum_off) = (*sum + truth, *sum_off + off);
    }

    /// Messages completed, how long they took, and round trips, at a tap that misses nothing.
    fn messages_and_times(&mut self, run: &Run, report: &serde_json::Value, tap: &Tap, verbose: bool) {
        self.causes += run.episodes.len() as u64;
        if tap.loss > 0.0 || tap.sample > 1 || tap.start.0 > 0 {
            return;
        }
        let mut seen: Vec<Seen> = run
            .messages
            .iter()
            .map(|m| Seen { psns: vec![false; m.count as usize], ..Seen::default() })
            .collect();
        let mut sightings: Vec<_> = run.recorded(0).collect();
        sightings.sort_by_key(|sighting| sighting.time);
        let mut waiting: HashMap<u32, Vec<u32>> = HashMap::new();
        // When a request was recorded, of those recorded once, and the times from them to their own acknowledgement. An ACK that
        // comes after a newer request for one has waited: it measures no round trip.
        let mut newest: HashMap<u32, u64> = HashMap::new();
        let mut sent: HashMap<(u32, u64), Option<u64>> = HashMap::new();
        let mut trips: HashMap<u32, Vec<u64>> = HashMap::new();
        for sighting in sightings {
            let Some(t) = run.transmission(sighting) else { continue };
            let is_request = t.opcode.direction() == Direction::Request && !t.opcode.is_cnp();
            if is_request {
                let is_due = t.ack_req || matches!(t.opcode.position(), Position::Last | Position::Only);
                if is_due {
                    newest.entry(t.flow).and_modify(|psn| *psn = t.psn.max(*psn)).or_insert(t.psn);
                }
                let times = sent.entry((t.flow, t.psn));
                times.and_modify(|time| *time = None).or_insert(Some(sighting.time).filter(|_| is_due));
            } else if t.opcode.operation() == Some(Operation::Acknowledge) && t.syndrome >> 5 == 0 {
                let back = run.flows[t.flow as usize].back;
                if let Some(Some(time)) = sent.remove(&(back, t.psn))
                    && newest.get(&back) == Some(&t.psn)
                {
                    trips.entry(back).or_default().push(sighting.time - time);
                }
            }
            if let Some(message) = run.messages.get(t.message as usize).filter(|_| is_request) {
                let seen = &mut seen[t.message as usize];
                if seen.first.is_none() {
                    seen.first = Some(sighting.time);
                    waiting.entry(message.flow).or_default().push(t.message);
                }
                let from = (t.psn - message.psn) as usize;
                seen.psns[from..from + t.count as usize].fill(true);
            } else if !t.opcode.is_cnp() && t.flow < run.flows.len() as u32 {
                let back = run.flows[t.flow as usize].back;
                let covered = t.psn
                    + (t.syndrome >> 5 == 0 || t.opcode.operation() != Some(Operation::Acknowledge)) as u64;
                let is_data = t.opcode.operation() == Some(Operation::ReadResponse);
                if let (true, Some(message)) = (is_data, run.messages.get(t.message as usize)) {
                    let seen = &mut seen[t.message as usize];
                    seen.answers.resize(message.count as usize, false);
                    seen.answers[(t.psn - message.psn) as usize] = true;
                }
                let Some(waiting) = waiting.get_mut(&back) else { continue };
                waiting.retain(|&id| {
                    let message = &run.messages[id as usize];
                    let is_read = message.verb == Verb::Read;
                    let all = seen[id as usize].answers.iter().all(|&seen| seen);
                    let done = message.psn + message.count as u64 <= covered && (!is_read || all);
                    if done {
                        seen[id as usize].took = Some(sighting.time - seen[id as usize].first.unwrap_or(0));
                    }
                    !done
                });
            }
        }
        for (index, flow) in run.flows.iter().enumerate() {
            let messages: Vec<usize> =
                (0..run.messages.len()).filter(|&i| run.messages[i].flow == index as u32).collect();
            if messages.is_empty() || !run.is_visible(0, index) {
                continue;
            }
            let addresses =
                [flow.src, flow.dst].map(|host| run.scenario.host[host as usize].address.to_string());
            let of = |f: &&serde_json::Value| {
                f["src"] == addresses[0] && f["dst"] == addresses[1] && f["dest_qp"] == flow.dest_qp
            };
            let said = report["flows"]
                .as_array()
                .and_then(|flows| flows.iter().find(of))
                .cloned()
                .unwrap_or_default();
            let completed = messages
                .iter()
                .filter(|&&i| run.messages[i].completed.is_some() || seen[i].psns.iter().all(|&seen| seen))
                .count() as u64;
            let found = said["messages"]["completed"].as_u64().unwrap_or(0);
            self.count(3, completed, found.abs_diff(completed));
            if verbose && found != completed {
                println!("{}: seed {}: messages {found}, are {completed}", self.name, run.scenario.seed);
            }
            if tap.only.is_some() {
                continue;
            }
            let mut trips = trips.remove(&(index as u32)).unwrap_or_default();
            trips.sort_unstable();
            if let (Some(&truth), Some(found)) = (
                trips.get(trips.len() / 2).filter(|_| trips.len() > 20),
                said["latency_ns"]["ack_rtt"]["p50"].as_u64(),
            ) {
                let off = (found as f64 / truth.max(1) as f64 - 1.0).abs() > 0.1
                    && found.abs_diff(truth) > tap.resolution.0;
                self.rtt_off += off as u64;
                if verbose && off {
                    println!("{}: seed {}: round trip {found}, is {truth}", self.name, run.scenario.seed);
                }
            }
            let mut took: Vec<u64> = messages.iter().filter_map(|&i| seen[i].took).collect();
            took.sort_unstable();
            let completion = &said["latency_ns"]["message_completion"];
            // `null`, with a reason, is not wrong.
            if took.len() > 20
                && (!completion.is_null() || said["why"].get("latency_ns.message_completion").is_none())
            {
                let truth = took[(took.len() * 99).div_ceil(100) - 1];
                let found = completion["p99"].as_u64().unwrap_or(0);
                let off = (found as f64 / truth as f64 - 1.0).abs() > 0.1;
                self.completion_off += off as u64;
                if verbose && off {
                    println!("{}: seed {}: completion {found}, is {truth}", self.name, run.scenario.seed);
                }
            }
        }
    }
}

/// What a tap saw of a message.
#[derive(Clone, Default)]
struct Seen {
    first: Option<u64>,
    took: Option<u64>,
    psns: Vec<bool>,
    /// Packets of the response to a READ.
    answers: Vec<bool>,
}

/// Whether the report says that it does not know the causes of the flow with this path: `flows[SRC > DST QP #EPOCH].requests.triggers.nak`.
fn is_partial(report: &serde_json::Value, path: &str) -> bool {
    let is_it = |flow: &&serde_json::Value| {
        let (src, dst) = (flow["src"].as_str().unwrap_or("?"), flow["dst"].as_str().unwrap_or("?"));
        path.starts_with(&format!("flows[{src} > {dst} {:#x} ", flow["dest_qp"].as_u64().unwrap_or(0)))
    };
    let flow = report["flows"].as_array().and_then(|flows| flows.iter().find(is_it));
    flow.is_some_and(|flow| !flow["requests"]["why"]["triggers"].is_null())
}

/// What reports call this cause.
fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Nak => "nak",
        Cause::Timeout => "timeout",
        Cause::Rnr => "rnr",
        _ => "implied_nak",
    }
}

fn interval(expected: &serde_json::Value) -> (u64, u64) {
    let of = |name: &str| expected[name].as_u64();
    let exact = expected.as_u64().unwrap_or(0);
    (of("least").unwrap_or(exact), of("most").unwrap_or(exact))
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
