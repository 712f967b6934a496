//! Frames to test with: the published vectors, and those of the shipped captures.
#![allow(dead_code, unreachable_pub, reason = "each program that includes this uses some of it")]

pub mod memory;

use std::path::{Path, PathBuf};

use rdmawire::{
    capture::{self, Source},
    dissect::Link,
};
use serde_json::Value;

/// A frame and where it is from.
#[derive(Clone)]
pub struct Sample {
    pub name: String,
    pub link: Link,
    pub frame: Vec<u8>,
    pub wire_len: u32,
}

/// Every frame of `tests/data/vectors.json`.
pub fn vectors() -> Vec<Sample> {
    serde_json::from_str::<Vec<Value>>(VECTORS).unwrap().iter().map(Sample::from).collect()
}

/// The same with all that is known of them, and those of the file that `RDMAWIRE_VECTORS` names.
pub fn vectors_and_more() -> Vec<Value> {
    let mut all: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    if let Ok(path) = std::env::var("RDMAWIRE_VECTORS") {
        all.extend(serde_json::from_str::<Vec<Value>>(&std::fs::read_to_string(path).unwrap()).unwrap());
    }
    all
}

const VECTORS: &str = include_str!("../data/vectors.json");

impl From<&Value> for Sample {
    fn from(v: &Value) -> Sample {
        let frame = bytes(v["hex"].as_str().unwrap());
        Sample {
            name: v["name"].as_str().unwrap().to_owned(),
            link: Link(v["link_type"].as_u64().unwrap() as u16),
            wire_len: frame.len() as u32,
            frame,
        }
    }
}

/// At most `each` frames of every shipped capture, evenly spread over its first `within`.
pub fn shipped(each: usize, within: usize) -> Vec<Sample> {
    captures().iter().flat_map(|path| frames(path, within, within.div_ceil(each))).collect()
}

/// The shipped captures that this build can read.
pub fn captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| match path.extension().and_then(|e| e.to_str()) {
        Some("zst") => cfg!(feature = "compression"),
        extension => extension == Some("pcap"),
    });
    paths.sort();
    paths
}

/// Every `step`-th of the first `within` frames of a capture.
pub fn frames(path: &Path, within: usize, step: usize) -> Vec<Sample> {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut reader = capture::open(path).unwrap();
    let mut samples = Vec::new();
    for n in 0..within {
        let Some(record) = reader.next().unwrap() else { break };
        if n % step == 0 {
            samples.push(Sample {
                name: format!("{name} frame {}", n + 1),
                link: record.link,
                frame: record.frame.to_vec(),
                wire_len: record.wire_len,
            });
        }
    }
    samples
}

pub fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}
