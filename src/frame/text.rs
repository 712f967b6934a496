//! Numbers and addresses as text, without `fmt::Formatter`, because a trace has millions of them.

use std::fmt::{Result, Write};

use crate::utc::Utc;

/// A number in decimal.
#[inline]
pub(crate) fn dec<W: Write + ?Sized>(w: &mut W, mut n: u64) -> Result {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            return ascii(w, &digits[at..]);
        }
    }
}

/// A number in decimal with leading zeros, at most 20 digits.
pub(crate) fn dec_wide<W: Write + ?Sized>(w: &mut W, mut n: u64, width: usize) -> Result {
    let mut digits = [b'0'; 20];
    for digit in digits.iter_mut().rev().take(width) {
        *digit = b'0' + (n % 10) as u8;
        n /= 10;
    }
    ascii(w, &digits[20 - width.min(20)..])
}

const HEX: [u8; 16] = *b"0123456789abcdef";

/// A number in hexadecimal after `0x`, with at least this many digits.
#[inline]
pub(crate) fn hex<W: Write + ?Sized>(w: &mut W, mut n: u64, width: usize) -> Result {
    let mut digits = [b'0'; 18];
    let mut at = digits.len();
    while n != 0 || at > 18 - width.clamp(1, 16) {
        at -= 1;
        digits[at] = HEX[(n & 15) as usize];
        n >>= 4;
    }
    digits[at - 1] = b'x';
    ascii(w, &digits[at - 2..])
}

/// Bytes in hexadecimal.
pub(crate) fn bytes<W: Write + ?Sized>(w: &mut W, bytes: &[u8]) -> Result {
    for chunk in bytes.chunks(32) {
        let mut digits = [0u8; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(chunk) {
            pair[0] = HEX[(byte >> 4) as usize];
            pair[1] = HEX[(byte & 15) as usize];
        }
        ascii(w, &digits[..2 * chunk.len()])?;
    }
    Ok(())
}

/// An Ethernet address.
#[inline]
pub(crate) fn mac<W: Write + ?Sized>(w: &mut W, bytes: &[u8]) -> Result {
    let mut digits = [b':'; 17];
    for (three, byte) in digits.chunks_mut(3).zip(bytes) {
        three[0] = HEX[(byte >> 4) as usize];
        three[1] = HEX[(byte & 15) as usize];
    }
    ascii(w, &digits)
}
#[inline]
pub(crate) fn ipv4<W: Write + ?Sized>(w: &mut W, bytes: &[u8]) -> Result {
    let mut text = [b'.'; 16];
    let mut at = 0;
    for &byte in bytes.iter().take(4) {
        for (unit, wanted) in [(100, byte >= 100), (10, byte >= 10), (1, true)] {
            if wanted {
                text[at] = b'0' + byte / unit % 10;
                at += 1;
            }
        }
        at += 1;
    }
    ascii(w, &text[..at.saturating_sub(1)])
}

/// An IPv6 address or a GID.
pub(crate) fn ipv6<W: Write + ?Sized>(w: &mut W, bytes: &[u8]) -> Result {
    let octets: [u8; 16] = bytes.first_chunk().copied().unwrap_or_default();
    write!(w, "{}", std::net::Ipv6Addr::from(octets))
}

/// A time in seconds with its fraction in six or nine digits.
pub(crate) fn seconds<W: Write + ?Sized>(w: &mut W, ns: i64, decimals: usize) -> Result {
    if ns < 0 {
        w.write_char('-')?;
    }
    let ns = ns.unsigned_abs();
    dec(w, ns / 1_000_000_000)?;
    w.write_char('.')?;
    fraction(w, ns % 1_000_000_000, decimals)
}

fn fraction<W: Write + ?Sized>(w: &mut W, ns: u64, decimals: usize) -> Result {
    if decimals == 6 { dec_wide(w, ns / 1000, 6) } else { dec_wide(w, ns, 9) }
}

/// A time in UTC: "2026-11-21 12:05:38.000000".
pub(crate) fn utc<W: Write + ?Sized>(w: &mut W, ns: i64, decimals: usize) -> Result {
    let (second, ns) = (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000) as u64);
    let Utc { year, month, day, hour, minute, second } = Utc::of(second);
    for (value, width, after) in [
        (year.unsigned_abs(), 4, "-"),
        (month.into(), 2, "-"),
        (day.into(), 2, " "),
        (hour.into(), 2, ":"),
        (minute.into(), 2, ":"),
        (second.into(), 2, "."),
    ] {
        dec_wide(w, value, width)?;
        w.write_str(after)?;
    }
    fraction(w, ns, decimals)
}

/// Text as a JSON string.
pub(crate) fn json_string<W: Write + ?Sized>(w: &mut W, text: &str) -> Result {
    w.write_char('"')?;
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        w.write_str(text.get(plain..at).unwrap_or(""))?;
        match byte {
            b'"' => w.write_str("\\\"")?,
            b'\\' => w.write_str("\\\\")?,
            _ => write!(w, "\\u{byte:04x}")?,
        }
        plain = at + 1;
    }
    w.write_str(text.get(plain..).unwrap_or(""))?;
    w.write_char('"')
}

/// Escapes what was appended from here on for a string in JSON. Nearly all of it is names and numbers of this library, but some is of the wire.
pub(crate) fn json_escape(to: &mut String, from: usize) -> Result {
    let appended = to.get(from..).unwrap_or("");
    // Without a branch for each byte: the compiler reads many at once.
    let is_plain =
        appended.bytes().fold(true, |plain, byte| plain & (byte >= 0x20) & (byte != b'"') & (byte != b'\\'));
    if is_plain { Ok(()) } else { json_escape_slowly(to, from) }
}

#[cold]
fn json_escape_slowly(to: &mut String, from: usize) -> Result {
    let appended = to.split_off(from);
    json_string(to, &appended)?;
    // Its quotes are the caller's.
    to.pop();
    to.remove(from);
    Ok(())
}

#[inline(always)]
fn ascii<W: Write + ?Sized>(w: &mut W, text: &[u8]) -> Result {
    w.write_str(std::str::from_utf8(text).unwrap_or(""))
}

#[cfg(test)]
#[path = "../../tests/unit/frame_text.rs"]
mod tests;
