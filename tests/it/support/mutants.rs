//! Captures from the fuzz targets' corpus, and what may become of a capture on a bad disk.

use std::{fs, path::Path};

use crate::properties::Random;

/// The committed inputs of the fuzz target `capture`, by name; none in the published package.
pub(crate) fn corpus() -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/capture");
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut inputs: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.expect("the corpus can be listed").path())
        .map(|path| (path.display().to_string(), fs::read(&path).expect("the corpus can be read")))
        .collect();
    inputs.sort();
    inputs
}

/// The capture with its records again and again, up to so many bytes.
pub(crate) fn repeated(capture: &[u8], len: usize) -> Vec<u8> {
    // pcap has a header, pcapng may begin again, ERF has only records.
    let is_pcap = matches!(capture, [0xa1, 0xb2, ..] | [_, _, 0xb2, 0xa1, ..]);
    let from = if is_pcap { 24 } else { 0 };
    let mut bytes = capture.to_vec();
    if let Some(records) = capture.get(from..).filter(|records| !records.is_empty()) {
        while bytes.len() < len {
            bytes.extend_from_slice(records);
        }
    }
    bytes
}

/// Does harm to a capture at some places behind its first header.
pub(crate) fn mutate(bytes: &mut Vec<u8>, places: usize, random: &mut Random) {
    const LIES: [u32; 12] =
        [0, 1, 4, 12, 16, 64, 1116, 0x0008_0100, (1 << 20) - 4, (16 << 20) - 100, 0x7fff_fff0, 0xffff_fff0];
    for _ in 0..places {
        if bytes.len() < 32 {
            return;
        }
        let at = 24 + random.below(bytes.len() - 28);
        let lie = LIES[random.below(LIES.len())];
        match random.below(8) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => drop(bytes.drain(at..at + 1 + random.below(3))),
            3 => drop(bytes.splice(at..at, [0; 3])),
            4 => {
                let to = (at + random.below(3000)).min(bytes.len());
                let again = bytes[at..to].to_vec();
                drop(bytes.splice(at..at, again));
            }
            // Lengths stand at multiples of four.
            5 => bytes[at & !3..][..4].copy_from_slice(&lie.to_le_bytes()),
            6 => bytes[at & !3..][..4].copy_from_slice(&lie.to_be_bytes()),
            _ => bytes[at..].iter_mut().take(random.below(300)).for_each(|byte| *byte = 0),
        }
    }
    if random.below(3) == 0 {
        bytes.truncate(bytes.len() - random.below(64).min(bytes.len()));
    }
}
