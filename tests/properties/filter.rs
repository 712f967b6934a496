//! Filter expressions: any text either compiles or says where it is wrong; what compiles prints as something that means the same.

use rdmawire::filter::{Filter, FrameMeta};

use super::dissect::Input;

/// A fuzzer's input: the expression up to the end of the line, then that of [`Input`].
pub fn expression(data: &[u8]) {
    let (text, rest) = match data.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (data, &[][..]),
    };
    let text = String::from_utf8_lossy(text);
    let filter = match Filter::parse(&text) {
        Ok(filter) => filter,
        Err(error) => {
            assert!(text.is_char_boundary(error.offset()), "{error:?}");
            assert!(!error.message().is_empty());
            let shown = error.to_string();
            assert!(shown.len() < 2000 && shown.lines().count() == 3, "{shown:?}");
            return assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
        }
    };
    let printed = filter.to_string();
    let again = match Filter::parse(&printed) {
        Ok(again) => again,
        // It may have become longer than what is read.
        Err(error) => return assert!(printed.len() > 16 << 10, "{text:?} prints as {printed:?}: {error}"),
    };
    assert_eq!(again.to_string(), printed, "{text:?}");
    let Some(input) = Input::new(rest) else { return };
    let d = input.dissect();
    let meta = FrameMeta { number: 7, time_ns: 1_700_000_000_000_000_007, icrc: None };
    assert_eq!(again.matches(&d, &meta), filter.matches(&d, &meta), "{text:?} and {printed:?}");
    // One level deeper than the text may be too deep.
    if let Ok(not) = Filter::parse(&format!("!({printed})")) {
        assert_eq!(not.matches(&d, &meta), !filter.matches(&d, &meta), "{text:?}");
    }
}
