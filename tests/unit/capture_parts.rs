//! Tests of `src/capture/parts.rs`.

use super::*;
use crate::capture::{Source, open};

#[test]
fn bytes_lie_as_in_the_systems_pages() {
    let path = std::env::temp_dir().join(format!("rdmawire-parts-{}.pcap", std::process::id()));
    let mut bytes = std::fs::read("pcaps/loss1_rc_write-B-300.pcap").unwrap();
    bytes.resize(4 * LEN as usize, 0);
    std::fs::write(&path, bytes).unwrap();
    let mut reader = open(&path).unwrap();
    reader.next().unwrap();
    std::fs::remove_file(&path).unwrap();
    let parts = reader.parts().unwrap();
    let mut part = Part::default();
    for number in 0..parts.count() {
        parts.read(number, &mut part);
        assert_eq!(part.bytes().as_ptr().addr() % PAGE, part.offset as usize % PAGE);
    }
    assert!(parts.count() > 2 && part.end() == parts.to);
}
