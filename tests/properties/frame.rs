//! Every frame can be shown in every way, and a line is one line.

use rdmawire::{dissect::dissect_with, frame::*};

use super::dissect::Input;

/// As a line, JSON, a tree and columns.
pub fn shown(data: &[u8]) {
    let Some(input) = Input::new(data) else { return };
    let d = dissect_with(input.options, input.link, input.frame, input.wire_len);
    let frame = Frame::new(data.len() as u64, i64::MIN + data.len() as i64, &d).verified();
    let mut text = String::new();
    let mut line = Line::new(Clock::Utc, true);
    line.write(&frame, &mut text).unwrap();
    assert_eq!(text.lines().count(), 1);
    for names in [Names::Own, Names::Wireshark] {
        text.clear();
        Json::new(names).write(&frame, Some("\u{0}\"\\"), &mut text).unwrap();
        assert!(text.starts_with('{') && text.ends_with("}\n") && text.lines().count() == 1, "{text}");
        let (outside, is_whole) = outside_strings(&text);
        let brackets =
            |open: char, close: char| outside.matches(open).count() == outside.matches(close).count();
        assert!(is_whole && brackets('{', '}') && brackets('[', ']'), "{text}");
        text.clear();
        write_tree(&frame, names, &mut text).unwrap();
        assert!(text.ends_with('\n'));
    }
    text.clear();
    let columns = ["frame.number", "src", "info", "ip.addr", "note", "cm.local_qpn"];
    let columns = Columns::parse(columns, Separator::Tab, Names::Own).unwrap();
    columns.write(&frame, &mut text).unwrap();
    assert_eq!((text.matches('\t').count(), text.lines().count()), (5, 1), "{text}");
    plain(&data[..data.len().min(512)], &frame);
}

/// What is in no string of JSON, and whether the last string ends: names in frames may hold brackets and quotes.
fn outside_strings(json: &str) -> (String, bool) {
    let (mut inside, mut escaped) = (false, false);
    let outside = json.chars().filter(|&c| {
        let is_quote = c == '"' && !escaped;
        escaped = inside && c == '\\' && !escaped;
        inside ^= is_quote;
        !inside && !is_quote
    });
    let outside: String = outside.collect();
    (outside, !inside)
}

/// JSON is JSON, and nothing reaches a terminal as control characters or without bound.
fn plain(data: &[u8], frame: &Frame<'_>) {
    let d = frame.dissection;
    let mut text = String::new();
    Line::new(Clock::Relative, false).write(frame, &mut text).unwrap();
    for names in [Names::Own, Names::Wireshark] {
        let start = text.len();
        Json::new(names).write(frame, Some("a.pcap"), &mut text).unwrap();
        let value: serde_json::Value =
            serde_json::from_str(&text[start..]).unwrap_or_else(|e| panic!("{e}: {text}"));
        let (length, captured) = d.lengths();
        assert_eq!((&value["captured"], &value["length"]), (&captured.into(), &length.into()));
        assert!(value["layers"].is_array());
        write_tree(frame, names, &mut text).unwrap();
    }
    write_hex(data, &mut text).unwrap();
    assert!(text.len() <= 100_000 + 200 * d.frame().len(), "{} bytes of text", text.len());
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
}
