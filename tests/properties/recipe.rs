//! Recipes: any text is a packet or says where it is wrong; a packet prints as a recipe that builds the same frame.

use rdmawire::craft::recipe::{parse, print};

/// A fuzzer's input: a recipe.
pub fn recipe(data: &[u8]) {
    // Whoever writes a megabyte of payload gets it: here it would only take time.
    let text = String::from_utf8_lossy(data.get(..data.len().min(4096)).unwrap_or_default());
    match parse(&text) {
        Ok(packet) => {
            let frame = packet.build();
            let printed = print(&packet);
            let again = match parse(&printed) {
                Ok(again) => again,
                Err(error) => panic!("{text:?} prints as {printed:?}: {error}"),
            };
            assert_eq!(again.build(), frame, "{text:?} prints as {printed:?}");
            assert_eq!(print(&again), printed, "{text:?}");
        }
        Err(error) => {
            assert!(text.is_char_boundary(error.offset()), "{error:?} in {text:?}");
            assert!(!error.message().is_empty());
            let shown = error.to_string();
            assert!(shown.len() < 2000 && shown.lines().count() == 3, "{shown:?}");
            assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
        }
    }
}
