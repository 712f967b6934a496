//! Tests of `src/frame/text.rs`.

use super::*;

fn text(write: impl Fn(&mut String) -> Result) -> String {
    let mut s = String::new();
    write(&mut s).unwrap();
    s
}

#[test]
fn numbers_as_the_standard_library_writes_them() {
    for n in [0, 1, 9, 10, 99, 100, 65535, 1 << 24, 1 << 63, u64::MAX, 12345678901234567890] {
        assert_eq!(text(|w| dec(w, n)), n.to_string());
        for width in 1..=16 {
            assert_eq!(text(|w| hex(w, n, width)), format!("{n:#0w$x}", w = width + 2));
        }
    }
    assert_eq!(text(|w| dec_wide(w, 42, 6)), "000042");
}

#[test]
fn addresses_as_the_standard_library_writes_them() {
    for a in [[0, 0, 0, 0], [10, 0, 0, 1], [255, 255, 255, 255], [192, 168, 7, 99], [1, 10, 100, 200]] {
        assert_eq!(text(|w| ipv4(w, &a)), std::net::Ipv4Addr::from(a).to_string());
    }
    assert_eq!(text(|w| mac(w, &[0, 0x1a, 2, 0xff, 4, 5])), "00:1a:02:ff:04:05");
    assert_eq!(text(|w| bytes(w, &(0..70).collect::<Vec<u8>>())).len(), 140);
}

#[test]
fn times() {
    // The figures are date(1)'s.
    assert_eq!(text(|w| utc(w, 0, 9)), "1970-01-01 00:00:00.000000000");
    assert_eq!(text(|w| utc(w, 951_782_400_000_001_000, 6)), "2000-02-29 00:00:00.000001");
    assert_eq!(text(|w| utc(w, 1_795_262_738_123_456_789, 9)), "2026-11-21 12:05:38.123456789");
    assert_eq!(text(|w| utc(w, -1, 9)), "1969-12-31 23:59:59.999999999");
    assert_eq!(text(|w| utc(w, i64::MAX, 6)), "2262-04-11 23:47:16.854775");
    assert_eq!(text(|w| seconds(w, -1_500_000_000, 6)), "-1.500000");
    assert_eq!(text(|w| seconds(w, i64::MIN, 9)), "-9223372036.854775808");
}

#[test]
fn json_strings() {
    for s in ["", "plain", "q\"b\\n\n\u{1}é→", "\"", "ends \\"] {
        assert_eq!(serde_json::from_str::<String>(&text(|w| json_string(w, s))).unwrap(), s);
    }
}
