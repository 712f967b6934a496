//! Reading capture files: whatever the bytes, reading ends, and what it gives is bounded by what it was given.

use std::io::Cursor;

use rdmawire::capture::{MAX_PROBLEMS, Reader, Source};

use super::dissect::invariants;

/// A fuzzer's input: a file. Compressed ones may be longer than they look: reading stops after this many frames.
const FRAMES: u64 = 20_000;

/// The fuzz target.
pub fn reading(data: &[u8]) {
    let mut reader = match Reader::from_read(Cursor::new(data.to_vec()), "fuzz") {
        Ok(reader) => reader,
        Err(error) => {
            let text = error.to_string();
            return assert!(text.starts_with("fuzz: ") && !text.contains(char::is_control), "{text:?}");
        }
    };
    let mut frames = 0;
    loop {
        match reader.next() {
            Ok(Some(record)) => {
                assert!(record.frame.len() <= 16 << 20, "a frame of {} bytes", record.frame.len());
                if frames % 16 == 0 {
                    invariants(&rdmawire::dissect::dissect(record.link, record.frame, record.wire_len));
                }
            }
            Ok(None) => break,
            Err(error) => panic!("memory does not fail: {error}"),
        }
        frames += 1;
        if frames == FRAMES {
            break;
        }
    }
    let info = reader.info();
    assert_eq!(info.frames, frames, "{info:?}");
    assert!(info.problems.len() <= MAX_PROBLEMS + 1 && info.problems.len() as u64 <= info.problem_count);
    assert!(info.interfaces.len() <= data.len().max(1));
    for damage in &info.problems {
        let text = damage.to_string();
        assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
    }
    if frames < FRAMES {
        // The end is the end.
        assert!(matches!(reader.next(), Ok(None)));
    }
}
