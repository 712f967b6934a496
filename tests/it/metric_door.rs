//! A user's metric is told of every frame once, in runs or by itself, and is given back.

use std::{
    collections::BTreeMap,
    fs,
    net::Ipv4Addr,
    ops::Range,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::Value;

use rdmawire::{
    analyze::{
        Analysis, Class, Event, Facts, FlowId, Options, RunSum,
        metric::{Context, Metric, Placed, Verdict, classes::Classes, messages::Messages},
    },
    capture::{self, Record, Source, Time},
    craft::Packet,
    dissect::Link,
    opcode::Opcode,
    report::Report,
    wire::{Bth, Psn, Qpn},
};

/// Packets and bytes on the wire, by bins of time where they are asked for.
#[derive(Clone, Default)]
struct Traffic {
    bin_ns: Option<i64>,
    bins: BTreeMap<i64, (u64, u64)>,
    in_runs: u64,
    frames: u64,
    retransmits: u64,
    of_flows: BTreeMap<FlowId, u64>,
}

impl Traffic {
    fn count(&mut self, time: i64, packets: u64, bytes: u64) {
        let bin = self.bin_ns.map_or(0, |ns| time.div_euclid(ns) * ns);
        let (n, all) = self.bins.entry(bin).or_default();
        (*n, *all) = (*n + packets, *all + bytes);
    }

    fn packets(&self) -> u64 {
        self.bins.values().map(|(n, _)| n).sum()
    }
}

impl Metric for Traffic {
    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        if !place.is_capture_duplicate() {
            self.count(packet.time(), 1, packet.l1_bytes() as u64);
        }
        self.retransmits += (place.class == Some(Class::Retransmission)) as u64;
        if let Some(flow) = place.flow {
            *self.of_flows.entry(flow).or_default() += 1;
        }
    }

    fn on_run(&mut self, run: &RunSum) {
        self.count(run.last_ns, run.packets, run.l1_bytes);
        self.in_runs += run.packets;
        *self.of_flows.entry(run.flow).or_default() += run.packets;
    }

    fn on_verdict(&mut self, verdict: &Verdict) {
        self.retransmits += (verdict.class == Class::Retransmission) as u64;
    }

    fn on_frame(&mut self, event: &Event<'_>) {
        self.frames += 1;
        self.count(event.record.time.0, 1, event.l1_bytes as u64);
    }

    fn span(&self, time_ns: i64) -> Range<i64> {
        match self.bin_ns {
            Some(ns) => time_ns.div_euclid(ns) * ns..(time_ns.div_euclid(ns) + 1) * ns,
            None => i64::MIN..i64::MAX,
        }
    }

    fn contribute(&self, _: &Context<'_>) -> Vec<(String, Value)> {
        vec![("in_runs".to_owned(), self.in_runs.into())]
    }
}

fn each_capture(mut show: impl FnMut(&Path)) {
    let mut shown = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps")).expect("pcaps").flatten() {
        if capture::open(&entry.path()).is_ok() {
            show(&entry.path());
            shown += 1;
        }
    }
    assert!(shown > 1);
}

fn analyze<M: Metric>(path: &Path, options: Options, metric: M) -> (Report, M) {
    let mut source = capture::open(path).expect("it was opened before");
    let mut analysis = Analysis::with(options, metric);
    while let Ok(Some(record)) = source.next() {
        analysis.push(&record);
    }
    let (report, metric) = analysis.finish_with();
    (report, metric.expect("it was given"))
}

#[test]
fn all_packets_are_told_of_once() {
    let mut in_runs = 0;
    each_capture(|path| {
        let (report, traffic) = analyze(path, Options::default(), Traffic::default());
        let duplicates: u64 =
            report.flows.iter().map(|f| f.requests.capture_duplicates + f.responses.capture_duplicates).sum();
        assert_eq!(traffic.packets() + duplicates, report.head.capture.packets, "{}", path.display());
        assert_eq!(traffic.of_flows.len(), report.flows.len(), "{}", path.display());
        let retransmits: u64 =
            report.flows.iter().map(|f| f.requests.retransmits + f.responses.retransmits).sum();
        assert_eq!(traffic.retransmits, retransmits, "{}", path.display());
        assert_eq!(report.head.sections["in_runs"], traffic.in_runs, "{}", path.display());
        in_runs += traffic.in_runs;
    });
    assert!(in_runs > 0, "or nothing was found out of runs");
}

#[test]
fn runs_end_with_a_span() {
    each_capture(|path| {
        let options = Options { interval_ns: Some(1_000_000), ..Options::default() };
        let traffic = Traffic { bin_ns: Some(1_000_000), ..Traffic::default() };
        let (report, traffic) = analyze(path, options, traffic);
        let bins = report.head.intervals.expect("they were asked for");
        assert!(report.head.interval_ns > Some(1_000_000) || bins.len() == traffic.bins.len());
        for bin in bins.iter().filter(|_| report.head.interval_ns == Some(1_000_000)) {
            let told = traffic.bins[&bin.start_ns];
            assert_eq!((bin.packets, bin.wire_bytes), told, "{} {}", path.display(), bin.start_ns);
        }
    });
}

#[test]
fn every_frame_has_one_class() {
    each_capture(|path| {
        let mut told = BTreeMap::<u64, u64>::new();
        let (report, Classes(classes)) = analyze(path, Options::default(), Classes::default());
        classes.into_iter().for_each(|(frame, ..)| *told.entry(frame).or_default() += 1);
        let all = told.keys().copied().eq(1..=report.head.capture.packets) && told.values().all(|&n| n == 1);
        assert!(all, "{}", path.display());
    });
}

/// One message more for each of these flows is retransmitted, and all of these packets wait for their verdict at the same time.
#[test]
fn verdicts_on_many_packets_at_once_reach_their_messages() {
    const FLOWS: u32 = 20_000;
    let resent = Arc::new(AtomicU64::new(0));
    let told = resent.clone();
    let messages =
        Messages::new(move |message| _ = told.fetch_add(message.resent_packets, Ordering::Relaxed));
    let mut analysis = Analysis::with(Options::default(), messages);
    for (round, psn) in [0, 2, 1, 3].into_iter().enumerate() {
        for flow in 0..FLOWS {
            let bth = Bth::default().with_opcode(Opcode::RC_SEND_ONLY).with_psn(Psn(psn));
            let frame = Packet::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))
                .push(bth.with_dest_qp(Qpn(0x100 + flow)))
                .payload(vec![0; 64])
                .build();
            let time = Time((round as i64 * FLOWS as i64 + flow as i64) * 10_000);
            let (link, interface, wire_len) = (Link::ETHERNET, 0, frame.len() as u32);
            analysis.push(&Record { time, link, interface, wire_len, frame: &frame });
        }
    }
    let mut ended = analysis.end();
    ended.metric_mut::<Messages>().expect("it was given").end();
    let retransmits: u64 = ended.report().flows.iter().map(|flow| flow.requests.retransmits).sum();
    assert_eq!(retransmits, FLOWS as u64, "or nothing was retransmitted");
    assert_eq!(resent.load(Ordering::Relaxed), retransmits);
}
