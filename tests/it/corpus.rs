//! The fuzz targets' properties over their committed corpora and over the samples, with budgets of time and memory.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    properties::{self, ALL, Random, dissect::Input},
    samples::{self, memory},
};
use rdmawire::dissect::Link;

/// For one input, whatever it is; debug builds on busy machines included. Nothing comes near it.
const TIME: Duration = Duration::from_secs(5);
/// Bytes that one input may hold at a time: the reader's windows and the frame it believes, and some for each byte given.
const MEMORY: i64 = 40 << 20;
const MEMORY_PER_BYTE: i64 = 64;

/// Properties whose input is no frame: it says what traffic to make, or is text. A frame and three of its mutants are enough for them. They
/// analyze what they make, some several times, and would take nine tenths of these tests.
const OF_NO_FRAME: [&str; 8] =
    ["analysis", "followed", "recipe", "scenario", "shown", "state", "taps", "texts"];

fn run(what: &str, property: fn(&[u8]), input: &[u8]) {
    let start = Instant::now();
    let ((), allocated) = memory::during(|| property(input));
    let took = start.elapsed();
    assert!(took < TIME, "{what}: {took:?} for {} bytes", input.len());
    let limit = MEMORY + MEMORY_PER_BYTE * input.len() as i64;
    assert!(allocated.peak < limit, "{what}: {allocated:?} for {} bytes", input.len());
}

#[test]
fn every_target_has_a_property_and_a_corpus() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let mut targets: Vec<String> = std::fs::read_dir(fuzz.join("fuzz_targets"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    // What this build does not have.
    targets.retain(|target| match target.as_str() {
        "scenario" => cfg!(feature = "sim"),
        "shown" => cfg!(feature = "cli"),
        "state" => cfg!(feature = "state"),
        "texts" => cfg!(feature = "toml"),
        _ => true,
    });
    targets.sort();
    assert_eq!(targets, ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    // Those that take a frame share their inputs.
    const FRAMES: [&str; 5] = ["crc", "dissect", "frame", "outer", "rebuild"];
    for (folder, _) in ALL {
        let mut inputs = 0;
        for entry in std::fs::read_dir(fuzz.join("corpus").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let input = std::fs::read(&path).unwrap();
            for (name, property) in ALL {
                if name == folder || FRAMES.contains(name) && FRAMES.contains(folder) {
                    run(&format!("{name}: {}", path.display()), *property, &input);
                }
            }
            inputs += 1;
        }
        assert!(inputs >= 20, "{folder}: {inputs} inputs");
    }
}

#[test]
fn samples_and_their_mutants_keep_every_property() {
    let mut random = Random::new(0x6669);
    let mut all = samples::vectors();
    all.extend(samples::shipped(4, 200));
    for sample in all {
        let whole = Input::whole(sample.link, &sample.frame);
        for round in 0..24 {
            let mut input = whole.clone();
            if round > 0 {
                input[1] = random.next() as u8;
                input[2] = random.below(sample.frame.len()) as u8;
                let at = 4 + random.below(sample.frame.len().min(100));
                input[at] = random.next() as u8;
            }
            for (name, property) in ALL.iter().filter(|(name, _)| round < 4 || !OF_NO_FRAME.contains(name)) {
                run(&format!("{name}: {} {round}", sample.name), *property, &input);
            }
        }
    }
}

/// The outer headers of real frames are compared, not passed over.
#[test]
fn etherparse_reads_the_samples_as_we_do() {
    let mut compared = 0;
    let mut all = samples::vectors();
    all.extend(samples::shipped(50, 500));
    for sample in all.iter().filter(|sample| sample.link == Link::ETHERNET) {
        let d = rdmawire::dissect::dissect(sample.link, &sample.frame, sample.wire_len);
        if let Ok(theirs) = etherparse::SlicedPacket::from_ethernet(&sample.frame) {
            compared += properties::outer::same(&d, &theirs);
        }
    }
    assert!(compared > 250, "{compared}");
}

#[test]
fn noise_keeps_every_property() {
    let mut random = Random::new(0x6e6f);
    for round in 0..2000 {
        let mut input: Vec<u8> = (0..random.below(200)).map(|_| random.next() as u8).collect();
        // Something to start from, so that it is not all link types nobody knows.
        if let (true, Some(head)) = (round % 2 == 0, input.get_mut(..6)) {
            head[..4].copy_from_slice(&[(round % 10) as u8, (round / 10 % 4) as u8, 0, 0]);
        }
        for (name, property) in ALL.iter().filter(|(name, _)| round % 4 < 2 || !OF_NO_FRAME.contains(name)) {
            run(&format!("{name}: noise {round}"), *property, &input);
        }
    }
}
