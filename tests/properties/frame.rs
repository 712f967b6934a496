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
        let brackets = |open: char, close: char| text.matches(open).count() == text.matches(close).count();
        // No value but the file's name holds a bracket or a quote; the summary and the notes hold pairs of brackets.
        assert!(brackets('{', '}') && brackets('[', ']'), "{text}");
        assert_eq!((text.matches('"').count() - 1) % 2, 0, "{text}");
        text.clear();
        write_tree(&frame, names, &mut text).unwrap();
        assert!(text.ends_with('\n'));
    }
    text.clear();
    let columns = ["frame.number", "src", "info", "ip.addr", "note", "cm.local_qpn"];
    let columns = Columns::parse(columns, Separator::Tab, Names::Own).unwrap();
    columns.write(&frame, &mut text).unwrap();
    assert_eq!((text.matches('\t').count(), text.lines().count()), (5, 1), "{text}");
}
