//! Most packets are read from fixed offsets, the others dissected: what comes out is the same.

use std::{fs, path::Path};

use rdmawire::{
    analyze::{Analysis, Event, Options, metric::Metric},
    capture::{self, Record, Source, Time},
    craft::mutate::Mutator,
    dissect::Link,
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
