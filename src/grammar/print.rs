//! Numbers as people read them: with units in three digits, or counts with their noun.

use std::borrow::Cow;

/// "46.1 µs", "5.80 ms", "1.50 min"; a number of nanoseconds below 1,000 as it is.
pub fn duration(ns: u64) -> String {
    scaled(
        ns as f64,
        &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9), ("d", 86_400e9)],
    )
}

/// "1.05 MB": decimal units.
pub fn bytes(n: u64) -> String {
    scaled(n as f64, &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15)])
}

/// "400 Gbit/s", of bits per second.
pub fn bit_rate(rate: f64) -> String {
    scaled(rate, &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9), ("Tbit/s", 1e12)])
}

/// "2.99 M/s": how often a second.
pub fn rate(rate: f64) -> String {
    scaled(rate, &[("/s", 1.0), ("k/s", 1e3), ("M/s", 1e6), ("G/s", 1e9)])
}

/// Three digits of a number in the largest unit that leaves one before the point.
fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    // What rounds to a thousand of a unit is one of the next.
    let fits = |at: usize| units.get(at + 1).is_none_or(|next| value < next.1 * 0.999_5);
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

/// A count with its noun: "1 packet", "1,234 packets", "2 copies".
pub fn several(n: u64, noun: &str) -> String {
    format!("{} {}", count(n), plural(n, noun))
}

/// The name of what is in several files: the first one, and how many more there are.
pub fn first_and_more(first: &str, files: usize) -> String {
    match files.saturating_sub(1) {
        0 => first.to_owned(),
        more => format!("{first} and {more} more"),
    }
}

/// How often: "once", "1,234 times".
pub fn times(n: u64) -> String {
    if n == 1 { "once".to_owned() } else { format!("{} times", count(n)) }
}

/// The noun for so many: "packet" for 1, else "packets".
pub fn plural(n: u64, noun: &str) -> Cow<'_, str> {
    match noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o'])) {
        _ if n == 1 => noun.into(),
        Some(stem) => format!("{stem}ies").into(),
        None if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => format!("{noun}es").into(),
        None => format!("{noun}s").into(),
    }
}

/// Two digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
