//! What people and other programs write about a network: any text is read, or refused with a reason.

use rdmawire::{
    analyze::{KnownConnection, Links, QosMap, StormProfile},
    counters::Reading,
    filter::Filter,
    gate::Rule,
    grammar::kernel,
};

/// A fuzzer's input: a byte that says of which kind the text is, and the text.
pub fn texts(data: &[u8]) {
    let Some((kind, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text.get(..text.len().min(4096)).unwrap_or_default());
    let refused: Result<(), String> = match kind % 9 {
        0 => QosMap::parse(&text).map(drop),
        1 => Links::parse(&text).map(drop),
        2 => Rule::from_toml(&text).map(drop).map_err(|error| error.to_string()),
        3 => Rule::parse(&text).map_err(|error| error.to_string()).map(|rule| {
            let again = Rule::parse(rule.text()).expect("a rule's own text is a rule");
            assert_eq!(again.is_change(), rule.is_change());
        }),
        4 => Rule::fail_if(&text).map(drop).map_err(|error| error.to_string()),
        5 => KnownConnection::parse(&text).map(|all| assert!(all.len() <= text.len())),
        6 => Reading::parse(&text).map(drop).map_err(|error| error.to_string()),
        7 => kernel::display_filter(&text).map_err(|error| error.to_string()).map(|filter| {
            // What tcpdump's words mean is a filter of ours.
            assert!(Filter::parse(&filter).is_ok(), "{text:?} became {filter:?}");
        }),
        _ => StormProfile::parse(&text).map(drop).map_err(|error| error.to_string()),
    };
    if let Err(why) = refused {
        assert!(!why.is_empty(), "{text:?}");
    }
}
