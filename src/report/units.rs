//! Numbers as people read them. Every renderer for people writes them so.

use super::Bounds;
use crate::utc::Utc;

pub use crate::grammar::print::{bit_rate as bits, bytes, count, duration, plural, rate, several, times};

/// So many bytes in so many nanoseconds, as "98.2 Gbit/s".
pub fn bits_per_second(bytes: u64, ns: u64) -> String {
    bits(bytes as f64 * 8e9 / ns.max(1) as f64)
}

/// "13", or "8 to 2,678" where the capture gives bounds only.
pub fn between([least, most]: Bounds) -> String {
    if least == most { count(least) } else { format!("{} to {}", count(least), count(most)) }
}

/// Losses, and the packets lost with them: "17 losses (8 to 2,678 packets)"; `place`: where, " after the tap". Packets that nobody recovered are
/// no loss of this kind: "3 packets lost".
pub fn losses(episodes: u64, place: &str, packets: Bounds) -> String {
    let plural = plural(if packets == [1; 2] { 1 } else { 2 }, "packet");
    if episodes == 0 && packets[0] > 0 {
        return format!("{} {plural} lost{place}", between(packets));
    }
    // Losses that are not proved have packets that need not be lost: a bound below their number would contradict it.
    let [least, most] = packets;
    let packets =
        if least < episodes && least < most { format!("up to {}", count(most)) } else { between(packets) };
    format!("{}{place} ({packets} {plural})", several(episodes, "loss"))
}

/// A mean number of things: "2.4"; a few that are seldom there do not read as if there were none.
pub fn mean(n: f64) -> String {
    if n > 0.0 && n < 0.05 { "<0.1".into() } else { format!("{n:.1}") }
}

/// A priority of pauses; `None` is 802.3x, which stops all of them.
pub fn priority(number: Option<u8>) -> String {
    number.map_or_else(|| "all priorities".to_owned(), |number| format!("priority {number}"))
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

/// "yes" or "no"; nothing where it is not known.
pub fn yes_or_no(is: Option<bool>) -> &'static str {
    is.map_or("", |is| if is { "yes" } else { "no" })
}

/// "2026-11-21 12:05:38 UTC".
pub fn utc(ns: i64) -> String {
    let Utc { year, month, day, hour, minute, second } = Utc::of(ns.div_euclid(1_000_000_000));
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// The same with microseconds: "2026-11-21 12:05:38.000417 UTC".
pub fn utc_us(ns: i64) -> String {
    let seconds = utc(ns);
    let micros = ns.rem_euclid(1_000_000_000) / 1000;
    format!("{}.{micros:06} UTC", seconds.trim_end_matches(" UTC"))
}
