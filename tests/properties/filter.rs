//! Any text is a filter or is not, and says why; one that is prints as one that means the same.

use rdmawire::{
    dissect::{Link, dissect},
    filter::{Filter, FrameMeta},
};

/// A text that is no filter names its place, and one that is may be printed and read again.
pub fn expression(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let filter = match Filter::parse(&text) {
        Ok(filter) => filter,
        Err(error) => {
            assert!(error.offset() <= text.len() && text.is_char_boundary(error.offset()));
            assert_eq!(error.to_string().lines().count(), 3, "{error}");
            return;
        }
    };
    let printed = filter.to_string();
    // It may have become longer than what is read.
    let Ok(again) = Filter::parse(&printed) else { return assert!(printed.len() > 16 << 10, "{printed}") };
    assert_eq!(again.to_string(), printed);
    // The text is as good a frame as any.
    for link in [Link::ETHERNET, Link::IPV4, Link::INFINIBAND] {
        let d = dissect(link, data, data.len() as u32 + 1);
        let meta = FrameMeta { number: 1, ..FrameMeta::default() };
        assert_eq!(filter.matches(&d, &meta), again.matches(&d, &meta));
    }
}
