//! Make the fuzz targets' seeds from the captures in `pcaps/` and the vectors of the tests.
//!
//! `cargo run --release --example seeds -- fuzz/corpus`; without an argument into `target/seeds`. A seed is named by its
//! content, so that running it again changes nothing.

#[path = "../tests/properties/mod.rs"]
mod properties;
#[path = "../tests/samples/mod.rs"]
mod samples;

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
};

use properties::dissect::Input;
use rdmawire::{
    capture::{self, Format, Interface, Record, Sink, Source, Time},
    craft::{Packet, recipe},
    dissect::{Dissection, Link, dissect},
    wire::Kind,
};
use samples::Sample;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let to = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/seeds"), PathBuf::from);
    let mut frames = samples::vectors();
    frames.extend(samples::shipped(200, 2000));
    let frames = distinct(frames);

    let mut seeds = 0;
    for sample in &frames {
        let whole = Input::whole(sample.link, &sample.frame);
        for target in ["dissect", "crc", "frame", "outer", "rebuild"] {
            seeds += save(&to, target, &whole)?;
        }
        for expression in EXPRESSIONS {
            let mut seed = expression.as_bytes().to_vec();
            seed.push(b'\n');
            // Each with some frame; with each would be too many.
            if expression.len() % 7 == sample.frame.len() % 7 {
                seed.extend_from_slice(&whole);
                seeds += save(&to, "filter", &seed)?;
            }
        }
        // The same, cut in the middle of its headers, and once before its end.
        let headers = dissect(sample.link, &sample.frame, sample.wire_len).offset(Kind::Payload).unwrap_or(0);
        for (how, n) in [(1, sample.frame.len() - headers / 2), (3, 6)] {
            let mut cut = whole.clone();
            cut[1] = how;
            cut[2..4].copy_from_slice(&(n as u16).to_le_bytes());
            seeds += save(&to, "dissect", &cut)?;
        }
    }
    for (kind, bytes) in headers(&frames) {
        let mut seed = vec![kind];
        seed.extend_from_slice(&0x0123_4567_89ab_cdef_u64.to_le_bytes());
        seed.extend_from_slice(&bytes);
        seeds += save(&to, "header", &seed)?;
    }
    let short = frames.iter().filter(|sample| sample.frame.len() < 300);
    for sample in short {
        let packet = Packet::from(&dissect(sample.link, &sample.frame, sample.wire_len));
        seeds += save(&to, "recipe", recipe::print(&packet).as_bytes())?;
    }
    for text in SCENARIOS.split("### ").skip(1) {
        seeds += save(&to, "scenario", text.split_once('\n').map_or(text, |(_, text)| text).as_bytes())?;
    }
    let mut random = properties::Random::new(6);
    for n in 0..200u16 {
        let mut mutant = Vec::new();
        mutant.extend_from_slice(&n.to_le_bytes());
        mutant.extend_from_slice(&(if n % 4 == 0 { u16::MAX } else { random.next() as u16 }).to_le_bytes());
        mutant.extend((0..16).map(|_| random.next() as u8));
        seeds += save(&to, "mutant", &mutant)?;
    }
    for n in 0..60 {
        seeds += save(&to, "analysis", &sequence(n, &mut random))?;
    }
    for name in FOLLOWED {
        for part in conversation(name)? {
            seeds += save(&to, "followed", &part)?;
        }
    }
    for file in files(&frames)? {
        seeds += save(&to, "capture", &file)?;
    }
    println!("{seeds} seeds in {}", to.display());
    Ok(())
}

const SCENARIOS: &str = include_str!("../tests/data/scenarios.txt");

/// A sequence for the analyzer: a stream of one operation with acknowledgements, and every so often a step that is not by one, a
/// forged queue pair, a step back in time.
fn sequence(n: u8, random: &mut properties::Random) -> Vec<u8> {
    let opcodes = [0x04, 0x07, 0x08, 0x0a, 0x0c, 0x0d, 0x0e, 0x0f, 0x11, 0x13, 0x64, 0x24, 0x2a, 0x81];
    let mut bytes = vec![n.wrapping_mul(37), n];
    for k in 0..20 + n as usize {
        let answer = k % 4 == 3;
        let opcode = if answer { 0x11 } else { opcodes[(n as usize + k % 3) % opcodes.len()] };
        let odd = random.below(8);
        let how = if odd == 0 { 1 << random.below(8) } else { 8 };
        let step = if odd == 1 { random.next() as u32 >> 20 } else { 1 };
        let [p0, p1, p2, _] = step.to_le_bytes();
        let time = if odd == 2 { -500i16 } else { 1000 };
        let [t0, t1] = time.to_le_bytes();
        bytes.extend([answer as u8, opcode, how, p0, p1, p2, t0, t1]);
    }
    bytes
}

/// Captures with messages of upper layers and management.
const FOLLOWED: [&str; 7] = [
    "tests/data/opensm_ibsim.pcap.zst",
    "pcaps/nvme_basic-A.pcap.zst",
    "pcaps/nfs4_basic-A.pcap.zst",
    "pcaps/iser_basic-A.pcap.zst",
    "pcaps/srp_basic-A.pcap.zst",
    "pcaps/smbdirect_basic-A.pcap.zst",
    "pcaps/rds_basic-A.pcap.zst",
];

/// The first frames of a capture in a few parts, as [`properties::followed::followed`] takes them; long ones are left out.
fn conversation(name: &str) -> Result<Vec<Vec<u8>>, Box<dyn std::error::Error>> {
    const LONGEST: usize = 700;
    const FRAMES: usize = 24;
    const PARTS: usize = 3;
    let mut source = capture::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name))?;
    let mut parts = vec![Vec::new()];
    let (mut n, mut before) = (0, None);
    while let Some(record) = source.next()? {
        if record.frame.len() > LONGEST {
            continue;
        }
        if n == FRAMES {
            n = 0;
            if parts.len() == PARTS {
                break;
            }
            parts.push(Vec::new());
        }
        let Some(part) = parts.last_mut() else { break };
        let gap = record.time.0.saturating_sub(before.replace(record.time.0).unwrap_or(record.time.0));
        part.extend([u8::from(record.link == Link::INFINIBAND), gap.max(1).ilog2() as u8]);
        part.extend((record.frame.len() as u16).to_le_bytes());
        part.extend(record.frame);
        n += 1;
    }
    Ok(parts)
}

/// Something of everything the filter language has.
const EXPRESSIONS: &[&str] = &[
    "bth.dest_qp == 0x11 && aeth.nak",
    "reth or vlan",
    "!(deth.src_qp) && bth.becn",
    "bth.psn != 7 and bth.psn >= 1 && bth.psn lt 0xffffff",
    "bth.opcode in {rc-send-only, 0x06..0x0b}",
    "ip.src == 10.0.0.0/8 || ipv6.dst == fe80::/10",
    "note == bth.opcode || note.error",
    "infiniband.bth.psn == 3",
    "icrc.bad",
    "eth.src == 02:00:00:00:00:01",
    "frame.number > 3",
];

/// One frame of each shape: the same layers, operation code and notes.
fn distinct(samples: Vec<Sample>) -> Vec<Sample> {
    let mut seen = HashSet::new();
    let shape = |d: &Dissection<'_>| {
        let layers: Vec<Kind> = d.layers().iter().map(|layer| layer.kind).collect();
        (d.link(), layers, d.opcode(), d.notes().iter().map(|note| note.id().to_string()).collect::<Vec<_>>())
    };
    let mut distinct = samples;
    distinct.retain(|s| s.frame.len() <= 1600 && seen.insert(shape(&dissect(s.link, &s.frame, s.wire_len))));
    distinct
}

/// For each header, its number among those that have fields, and the bytes of one that was seen, or none.
fn headers(samples: &[Sample]) -> Vec<(u8, Vec<u8>)> {
    let mut seen: HashMap<Kind, Vec<u8>> = HashMap::new();
    for sample in samples {
        for layer in dissect(sample.link, &sample.frame, sample.wire_len).layers().iter() {
            let bytes =
                sample.frame.get(layer.at as usize..(layer.at + layer.len) as usize).unwrap_or_default();
            seen.entry(layer.kind).or_insert_with(|| bytes.to_vec());
        }
    }
    let kinds = Kind::ALL.iter().filter_map(|kind| Some((kind, kind.info()?)));
    kinds
        .enumerate()
        .map(|(n, (kind, info))| (n as u8, seen.remove(kind).unwrap_or_else(|| vec![0; info.len])))
        .collect()
}

/// A few frames in each format, plain and compressed.
fn files(samples: &[Sample]) -> io::Result<Vec<Vec<u8>>> {
    let folder = std::env::temp_dir().join(format!("rdmawire-seeds-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let mut files = Vec::new();
    let names = ["a.pcap", "a.pcapng", "a.erf", "a.pcap.gz", "a.pcap.zst"];
    let formats = [Format::Pcap, Format::Pcapng, Format::Erf, Format::PcapMicros, Format::Pcap];
    for (name, format) in names.into_iter().zip(formats) {
        if !cfg!(feature = "compression") && (name.ends_with("gz") || name.ends_with("zst")) {
            continue;
        }
        let link = samples[0].link;
        let path = folder.join(name);
        let mut writer = capture::create(&path, format, &[Interface::new(link)], Default::default())
            .map_err(io::Error::other)?;
        let short = samples.iter().filter(|sample| sample.link == link && sample.frame.len() < 200);
        for (n, sample) in short.take(4).enumerate() {
            let time = Time(1_700_000_000_000_000_000 + n as i64 * 1_234_567);
            let record = Record {
                time,
                link,
                interface: 0,
                wire_len: sample.wire_len + n as u32,
                frame: &sample.frame,
            };
            writer.put(&record).map_err(io::Error::other)?;
        }
        writer.finish().map_err(io::Error::other)?;
        files.push(fs::read(&path)?);
    }
    fs::remove_dir_all(&folder)?;
    Ok(files)
}

/// 1 if it was new.
fn save(to: &Path, target: &str, seed: &[u8]) -> io::Result<usize> {
    let folder = to.join(target);
    fs::create_dir_all(&folder)?;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for &byte in seed {
        hash = (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3);
    }
    let path = folder.join(format!("seed-{hash:016x}"));
    let is_new = !path.exists();
    fs::write(path, seed)?;
    Ok(is_new as usize)
}
