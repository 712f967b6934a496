//! Mutants: what they promise holds, they are reproducible, and the command line writes them.

use std::collections::{BTreeMap, HashSet};

use crate::{properties::mutant::promise, samples};
use rdmawire::{
    craft::mutate::{Base, Handling, Mutants},
    dissect::{Link, dissect},
};

#[test]
fn all_bases_are_clean() {
    for base in Base::all() {
        let frame = base.packet().build();
        let d = dissect(base.packet().link(), &frame, base.packet().wire_len());
        assert!(base.is_clean(), "{}: {d:?}", base.name());
        assert!(base.packet().link() != Link::ETHERNET || frame.len() >= 60);
    }
}

/// Every single mutation of every base: what a correct parser must make of it, ours does.
#[test]
fn promises_hold() {
    let all = Mutants::new(Base::all(), 1);
    let single = all.single();
    let mut verdicts: BTreeMap<String, u32> = BTreeMap::new();
    let mut frames = HashSet::new();
    for mutant in all.take(single) {
        promise(&mutant);
        let verdict = mutant.verdict.to_string();
        *verdicts.entry(verdict.split(':').next().unwrap().to_owned()).or_default() += 1;
        frames.insert((mutant.link, mutant.frame));
    }
    println!("{single} mutants, {} different frames: {verdicts:?}", frames.len());
    assert!(single > 20_000 && frames.len() > single / 2, "{single}, {}", frames.len());
    for (verdict, least) in [
        ("dissects", 5000),
        ("truncated", 2000),
        ("length", 300),
        ("icrc bad", 300),
        ("drop", 1000),
        ("cut", 300),
        ("fragment", 100),
        ("unread", 300),
    ] {
        assert!(verdicts[verdict] >= least, "{verdict}: {verdicts:?}");
    }
    // Where nothing can be promised, it is the minority.
    assert!(verdicts["survives"] < single as u32 / 2, "{verdicts:?}");
}

#[test]
fn several_at_a_time_harm_nothing() {
    let all = Mutants::new(Base::all(), 2);
    let single = all.single();
    for mutant in all.skip(single).take(20_000) {
        promise(&mutant);
        assert_eq!(mutant.verdict, Handling::Survives);
    }
}

#[test]
fn the_same_seed_gives_the_same_mutants() {
    let some = |seed| Mutants::new(Base::all(), seed).take(500).collect::<Vec<_>>();
    assert_eq!(some(3), some(3));
    assert_ne!(some(3), some(4));
    // Few are spread over all: over links, bases and verdicts.
    let bases: HashSet<_> = some(3).into_iter().map(|mutant| mutant.base).collect();
    assert!(bases.len() > 60, "{bases:?}");
    assert!(some(3).iter().any(|mutant| mutant.link == Link::INFINIBAND));
    assert!(Mutants::new(Vec::new(), 0).next().is_none());
}

/// Mutants of real frames, one of each shape of every shipped capture.
fn shipped(seed: u64, each: usize) -> u64 {
    let (mut seen, mut bases) = (HashSet::new(), Vec::new());
    for sample in samples::shipped(300, 3000) {
        let d = dissect(sample.link, &sample.frame, sample.wire_len);
        let layers: Vec<_> = d.layers().iter().map(|layer| layer.kind).collect();
        let capture = sample.name.split(' ').next().map(str::to_owned);
        if seen.insert((capture, layers, d.opcode())) {
            bases.push(Base::of(sample.name.clone(), &d));
        }
    }
    let clean = bases.iter().filter(|base| base.is_clean()).count();
    println!("{} shapes, {clean} of them clean", bases.len());
    assert!(bases.len() > 30 && clean * 10 > bases.len() * 9);
    let mut mutants = 0;
    for mutant in Mutants::new(bases, seed).take(each) {
        promise(&mutant);
        mutants += 1;
    }
    mutants
}

#[test]
fn mutants_of_the_shipped_captures() {
    assert_eq!(shipped(1, 20_000), 20_000);
}

/// `cargo test --release --test it mutate -- --ignored --nocapture`
#[test]
#[ignore = "a million takes a minute"]
fn a_million_mutants_of_the_shipped_captures() {
    assert_eq!(shipped(2, 1_000_000), 1_000_000);
}

#[cfg(feature = "cli")]
mod command {
    use std::{
        collections::HashSet,
        fs,
        path::{Path, PathBuf},
        process::Output,
    };

    use crate::support::programs::cli;
    use rdmawire::{
        capture::{self, Source},
        dissect::{Link, dissect},
        icrc::{self, State},
    };

    fn directory(name: &str) -> PathBuf {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        path
    }

    fn run(to: &Path, args: &[&str]) -> Output {
        let mut command = cli();
        command.arg("fuzz-corpus").arg("-o").arg(to).args(args).output().unwrap()
    }

    fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
            .collect();
        files.sort();
        files
    }

    fn manifest(folder: &Path) -> serde_json::Value {
        serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap()
    }

    #[test]
    fn raw_frames_are_what_the_manifest_says() {
        let (a, b) = (directory("mutate-raw-a"), directory("mutate-raw-b"));
        for to in [&a, &b] {
            let done = run(to, &["--seed", "5", "--count", "300"]);
            assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
        }
        assert_eq!(files(&a), files(&b), "the same seed");
        let manifest = manifest(&a);
        let frames = manifest["frames"].as_array().unwrap();
        assert_eq!((frames.len(), files(&a).len()), (300, 301));
        let mut bad = 0;
        for frame in frames {
            let bytes = fs::read(a.join(frame["file"].as_str().unwrap())).unwrap();
            assert_eq!(frame["bytes"], bytes.len());
            let link = Link(frame["link_type"].as_u64().unwrap() as u16);
            let state = icrc::verify(&dissect(link, &bytes, bytes.len() as u32));
            match frame["verdict"].as_str().unwrap() {
                "icrc bad" => assert_eq!(state, State::Bad, "{frame}"),
                "dissects" => assert_ne!(state, State::Bad, "{frame}"),
                _ => {}
            }
            bad += (frame["verdict"] == "icrc bad") as u32;
            assert!(!frame["must"].as_str().unwrap().is_empty());
        }
        assert!(bad > 0);

        // Not over what is there, unless asked to; then old files stay and the manifest is the new one.
        let before = files(&a);
        let refused = run(&a, &["--seed", "6", "--count", "3"]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&refused.stderr).contains("not empty"), "{refused:?}");
        assert_eq!(files(&a), before);
        assert!(run(&a, &["--seed", "6", "--count", "3", "--force"]).status.success());
        assert_eq!(self::manifest(&a)["frames"].as_array().unwrap().len(), 3);
        assert!(files(&a).len() > 301);
    }

    #[test]
    fn captures_and_seeds() {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps/cm_rping-A.pcap");
        let to = directory("mutate-pcap");
        fs::create_dir(&to).unwrap();
        let done = run(&to, &["--from", from.to_str().unwrap(), "--count", "200", "--format", "pcap"]);
        assert!(done.status.success(), "{done:?}");
        let manifest = manifest(&to);
        let mut cut = 0;
        for frame in manifest["frames"].as_array().unwrap() {
            assert!(frame["base"].as_str().unwrap().starts_with("frame-"), "{frame}");
            let mut reader = capture::open(&to.join(frame["file"].as_str().unwrap())).unwrap();
            let record = reader.next().unwrap().expect("one frame");
            assert_eq!(
                (&frame["bytes"], &frame["wire_bytes"]),
                (&record.frame.len().into(), &record.wire_len.into())
            );
            cut += ((record.wire_len as usize) > record.frame.len()) as u32;
            assert!(reader.next().unwrap().is_none());
        }
        assert!(cut > 0, "some are cut by the capture");

        let to = directory("mutate-afl");
        assert!(run(&to, &["--count", "200", "--format", "aflseed"]).status.success());
        let seeds = files(&to.join("seeds"));
        let different: HashSet<_> = seeds.iter().map(|(_, bytes)| bytes).collect();
        assert_eq!((seeds.len(), different.len()), (200, 200));
        assert!(fs::read_to_string(to.join("roce.dict")).unwrap().contains("rc_write_only=\"\\x0a\""));
    }

    #[test]
    fn an_error_leaves_nothing() {
        let to = directory("mutate-nothing");
        // Of the last run.
        let _ = fs::remove_file(&to);
        for args in [&["--from", "/nowhere.pcap"][..], &["--format", "elf"], &["--count", "-1"]] {
            let done = run(&to, args);
            assert_eq!(done.status.code(), Some(2), "{done:?}");
            assert!(!to.exists());
        }
        fs::write(&to, "a file").unwrap();
        assert_eq!(run(&to, &[]).status.code(), Some(2));
        assert_eq!(fs::read(&to).unwrap(), b"a file");
    }
}
