//! Frames as text: one line is one line, JSON is JSON, and nothing in a frame reaches a terminal as control characters.

use rdmawire::frame::{Clock, Frame, Json, Line, Names, write_hex, write_tree};

use super::dissect::Input;

/// A fuzzer's input: that of [`Input`].
pub fn printing(data: &[u8]) {
    let Some(input) = Input::new(data) else { return };
    // A tree has a line of many bytes for each of the frame's.
    let short = &input.frame[..input.frame.len().min(512)];
    let d = rdmawire::dissect::dissect_with(input.options, input.link, short, input.wire_len);
    let frame = Frame::new(1, 1_700_000_000_000_000_007, &d).verified();
    let limit = 20_000 + 200 * short.len();
    let mut text = String::new();

    Line::new(Clock::Relative, false).write(&frame, &mut text).expect("a string has room");
    assert_eq!(text.matches('\n').count(), 1, "{text:?}");
    plain(&text, limit);

    for names in [Names::Own, Names::Wireshark] {
        text.clear();
        Json::new(names).write(&frame, Some("a.pcap"), &mut text).expect("a string has room");
        assert!(text.ends_with('\n') && text.matches('\n').count() == 1);
        plain(&text, limit);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert_eq!(value["captured"], short.len());
        assert_eq!(value["length"], d.wire_len());
        let layers = value["layers"].as_array().expect("a list");
        assert_eq!(
            layers.is_empty(),
            !d.layers().iter().any(|l| l.kind < rdmawire::wire::Kind::Payload),
            "{text}"
        );

        text.clear();
        write_tree(&frame, names, &mut text).expect("a string has room");
        plain(&text, limit);
    }
    text.clear();
    write_hex(short, &mut text).expect("a string has room");
    plain(&text, limit);
}

fn plain(text: &str, limit: usize) {
    assert!(text.len() <= limit, "{} bytes of text", text.len());
    let is_control = |c: char| c.is_control() && c != '\n';
    assert!(!text.contains(is_control), "{text:?}");
}
