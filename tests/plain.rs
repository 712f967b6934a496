//! Most packets are read from fixed offsets, the others dissected: what comes out is the same.

use std::{fs, path::Path};

use rdmawire::{
    analyze::{Analysis, Event, Options, metric::Metric},
    capture::{self, Record, Source, Time},
    craft::mutate::{Base, Mutants},
    dissect::dissect,
};

/// It asks for nothing, but every frame has to be dissected for it.
struct Nothing;

impl Metric for Nothing {
    fn see(&mut self, _: &Event<'_>) {}
}

fn report(analysis: Analysis) -> String {
    serde_json::to_string(&analysis.finish()).expect("a report is JSON")
}

fn options() -> Options {
    Options { interval_ns: Some(1_000_000), ..Options::default() }
}

#[test]
fn captures_have_one_report() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps");
    let mut captures = 0;
    for entry in fs::read_dir(dir).expect("the captures are there").flatten() {
        let Ok(mut source) = capture::open(&entry.path()) else { continue };
        let mut plain = Analysis::new(options());
        let mut dissected = Analysis::new(options()).with(Nothing);
        while let Ok(Some(record)) = source.next() {
            plain.see(&record);
            dissected.see(&record);
        }
        assert!(report(plain) == report(dissected), "{}", entry.path().display());
        captures += 1;
    }
    assert!(captures > 5 || cfg!(not(feature = "compression")), "{captures}");
}

#[test]
fn mutants_have_one_report() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps/loss1_rc_write-B-300.pcap");
    let mut bases = Vec::new();
    let mut source = capture::open(&path).expect("the capture is there");
    while let Ok(Some(record)) = source.next() {
        bases.push(Base::of("", &dissect(record.link, record.frame, record.wire_len)));
    }
    assert!(bases.len() > 100);
    let (mut seen, mut malformed) = (0, 0);
    for mutant in Mutants::new(bases, 7).take(20_000) {
        let mut record = Record {
            time: Time(1_000),
            link: mutant.link,
            interface: 0,
            wire_len: mutant.wire_len,
            frame: &mutant.frame,
        };
        let mut plain = Analysis::new(options());
        let mut dissected = Analysis::new(options()).with(Nothing);
        for n in 0..2 {
            record.time = Time(1_000 + n);
            plain.see(&record);
            dissected.see(&record);
        }
        let plain = plain.finish();
        malformed += plain.capture.malformed_packets;
        seen += plain.flows.len();
        let (plain, dissected) = (serde_json::to_string(&plain), serde_json::to_string(&dissected.finish()));
        assert!(plain.ok() == dissected.ok(), "{}", mutant.mutation);
    }
    assert!(seen > 5_000 && malformed > 1_000, "{seen} {malformed}");
}
