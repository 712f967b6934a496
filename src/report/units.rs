//! Numbers as people read them. Every renderer for people writes them so.

use time::OffsetDateTime;

pub use crate::grammar::print::{bit_rate as bits, bytes, duration, rate};

/// "1,234,567".
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many bytes in so many nanoseconds, as "98.2 Gbit/s".
pub fn bits_per_second(bytes: u64, ns: u64) -> String {
    bits(bytes as f64 * 8e9 / ns.max(1) as f64)
}

/// "93.1 %"; what is not quite none or all does not read as if it were.
pub fn percent(ratio: f64) -> String {
    let value = ratio * 100.0;
    if value > 0.0 && value < 0.01 {
        return "<0.01 %".into();
    }
    let decimals = if value < 1.0 || value > 99.9 && value < 100.0 { 2 } else { 1 };
    if value == 0.0 || value == 100.0 { format!("{value:.0} %") } else { format!("{value:.decimals$} %") }
}

/// "2026-11-21 12:05:38 UTC".
pub fn utc(ns: i64) -> String {
    let second = ns.div_euclid(1_000_000_000);
    // 64 bits of nanoseconds end in 2262: all their times have a date.
    let time = OffsetDateTime::from_unix_timestamp(second).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let ((year, month, day), (hour, minute, second)) = (time.to_calendar_date(), time.to_hms());
    format!("{year:04}-{:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC", u8::from(month))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_read_them() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(bits_per_second(12_500, 1_000), "100 Gbit/s");
        assert_eq!(bits_per_second(1, 0), "8.00 Gbit/s");
        let ratios = [0.0, 0.000_01, 0.001_3, 0.5, 0.999_5, 1.0];
        assert_eq!(ratios.map(percent), ["0 %", "<0.01 %", "0.13 %", "50.0 %", "99.95 %", "100 %"]);
        assert_eq!(utc(1_795_262_738_000_000_000), "2026-11-21 12:05:38 UTC");
        assert_eq!([utc(0), utc(-1)], ["1970-01-01 00:00:00 UTC", "1969-12-31 23:59:59 UTC"]);
    }
}
