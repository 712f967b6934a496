//! Numbers as people read them.

use time::OffsetDateTime;

/// "1,234,567".
pub(super) fn count(n: u64) -> String {
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

/// Three digits of a number in the largest unit that leaves one before the point.
fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    let fits = |at: usize| {
        // What rounds to a thousand of this unit is one of the next.
        units.get(at + 1).is_none_or(|next| value < next.1 * 0.999_5)
    };
    let at = (0..units.len()).find(|&at| fits(at)).unwrap_or(0);
    let Some(&(unit, size)) = units.get(at) else { return value.to_string() };
    let value = value / size;
    let decimals = if value >= 99.95 || size <= 1.0 && value.fract() == 0.0 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {unit}")
}

/// "46.1 µs": decimal units, minutes and hours above.
pub(super) fn duration(ns: u64) -> String {
    scaled(
        ns as f64,
        &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9), ("d", 86_400e9)],
    )
}

/// "1.05 MB": decimal units.
pub(super) fn bytes(n: u64) -> String {
    scaled(n as f64, &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15)])
}

/// So many bytes in so many nanoseconds, as "98.2 Gbit/s".
pub(super) fn bits_per_second(bytes: u64, ns: u64) -> String {
    bits(bytes as f64 * 8e9 / ns.max(1) as f64)
}

/// "400 Gbit/s".
pub(super) fn bits(rate: f64) -> String {
    scaled(rate, &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9), ("Tbit/s", 1e12)])
}

/// "2.99 M/s": how often a second.
pub(super) fn rate(rate: f64) -> String {
    scaled(rate, &[("/s", 1.0), ("k/s", 1e3), ("M/s", 1e6), ("G/s", 1e9)])
}

/// "93.1 %"; what is not quite none or all does not read as if it were.
pub(super) fn percent(ratio: f64) -> String {
    let value = ratio * 100.0;
    if value > 0.0 && value < 0.01 {
        return "<0.01 %".into();
    }
    let decimals = if value < 1.0 || value > 99.9 && value < 100.0 { 2 } else { 1 };
    if value == 0.0 || value == 100.0 { format!("{value:.0} %") } else { format!("{value:.decimals$} %") }
}

/// "2026-11-21 12:05:38 UTC".
pub(super) fn utc(ns: i64) -> String {
    let second = ns.div_euclid(1_000_000_000);
    // 64 bits of nanoseconds end in 2262: all their times have a date.
    let time = OffsetDateTime::from_unix_timestamp(second).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let ((year, month, day), (hour, minute, second)) = (time.to_calendar_date(), time.to_hms());
    format!("{year:04}-{:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC", u8::from(month))
}

/// Text without what would steer a terminal.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_read_them() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        let times = [0, 7, 999, 1_000, 46_100, 999_499, 999_600, 1_500_000_000, 90_000_000_000];
        let texts =
            ["0 ns", "7 ns", "999 ns", "1.00 µs", "46.1 µs", "999 µs", "1.00 ms", "1.50 s", "1.50 min"];
        assert_eq!(times.map(duration), texts);
        assert_eq!(duration(u64::MAX), "213504 d");
        assert_eq!([86, 1_048_576, 12_345_678_901].map(bytes), ["86 B", "1.05 MB", "12.3 GB"]);
        assert_eq!(bits_per_second(12_500, 1_000), "100 Gbit/s");
        assert_eq!(bits_per_second(1, 0), "8.00 Gbit/s");
        let ratios = [0.0, 0.000_01, 0.001_3, 0.5, 0.999_5, 1.0];
        assert_eq!(ratios.map(percent), ["0 %", "<0.01 %", "0.13 %", "50.0 %", "99.95 %", "100 %"]);
        assert_eq!(utc(1_795_262_738_000_000_000), "2026-11-21 12:05:38 UTC");
        assert_eq!([utc(0), utc(-1)], ["1970-01-01 00:00:00 UTC", "1969-12-31 23:59:59 UTC"]);
        assert_eq!(clean("a\x1b[2Jb\n"), "a?[2Jb?");
    }
}
