//! Numbers as they are typed, with their units.

use rdmawire::wire::Qpn;

/// Bytes: "1048576", "1MiB", "64kB". A bare "K" could mean either and is refused.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let units = [
        ("", 1),
        ("b", 1),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
    ];
    number(text, &units, "a size, as 4096, 64KiB or 1MB")
}

/// Nanoseconds: "1ms", "10us", "2s"; a bare number is refused.
pub(super) fn duration(text: &str) -> Result<u64, String> {
    let units = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
    ];
    let ns = number(text, &units, "a time, as 10us, 1ms or 1s")?;
    if ns == 0 { Err("a time longer than none".into()) } else { Ok(ns) }
}

/// Bits per second: "400G", "25Gbit/s", "100000000000".
pub(super) fn speed(text: &str) -> Result<u64, String> {
    let plain = text.trim().to_lowercase();
    let plain = ["bit/s", "bps", "b/s"].iter().find_map(|end| plain.strip_suffix(end)).unwrap_or(&plain);
    let units = [("", 1), ("k", 1_000), ("m", 1_000_000), ("g", 1_000_000_000), ("t", 1_000_000_000_000)];
    let bps = number(plain, &units, "a speed, as 400G or 25Gbit/s")?;
    if bps == 0 { Err("a speed above 0".into()) } else { Ok(bps) }
}

/// Nanoseconds from "10us", "1.28ms", "3s", "250ns", rounded; none is one too.
pub(super) fn interval(text: &str) -> Result<u64, String> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let found = units
        .into_iter()
        .find_map(|(unit, ns)| Some((text.strip_suffix(unit)?.trim().parse::<f64>().ok()?, ns)));
    match found {
        Some((n, ns)) if n >= 0.0 && n * ns <= 1e18 => Ok((n * ns).round() as u64),
        _ => Err("expected a time with its unit: 250ns, 10us, 1.28ms, 3s".into()),
    }
}

/// A number with K, M, G or T: thousands.
pub(super) fn amount(text: &str) -> Result<u64, String> {
    stepped(text, 1000)
}

/// The same in steps of 1024.
pub(super) fn amount_binary(text: &str) -> Result<u64, String> {
    stepped(text, 1024)
}

fn stepped(text: &str, step: u64) -> Result<u64, String> {
    let (digits, power) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1),
        None => match (text.strip_suffix('M'), text.strip_suffix('G'), text.strip_suffix('T')) {
            (Some(digits), ..) => (digits, 2),
            (_, Some(digits), _) => (digits, 3),
            (.., Some(digits)) => (digits, 4),
            _ => (text, 0),
        },
    };
    let n = integer(digits).ok().and_then(|n| n.checked_mul(step.pow(power)));
    n.ok_or("expected a number, or one with K, M, G or T".into())
}

/// A number without a unit, decimal or hexadecimal after 0x.
pub(super) fn integer(text: &str) -> Result<u64, String> {
    let value = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    value.map_err(|_| "expected a number, decimal or 0x hexadecimal".into())
}

/// The number of a queue pair.
pub(super) fn qpn(text: &str) -> Result<Qpn, String> {
    let value = u32::try_from(integer(text)?).ok().filter(|&value| value < 1 << 24);
    value.map(Qpn).ok_or("a queue pair number has 24 bits".into())
}

fn number(text: &str, units: &[(&str, u64)], expected: &str) -> Result<u64, String> {
    let text = text.trim().to_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = units.iter().find(|(name, _)| *name == unit.trim()).map(|(_, size)| *size);
    let wrong = || format!("expected {expected}");
    let size = unit.ok_or_else(wrong)?;
    let value = match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(size).ok_or_else(wrong)?,
        Err(_) => {
            let value = number.parse::<f64>().map_err(|_| wrong())? * size as f64;
            if value.fract() == 0.0 && value < u64::MAX as f64 { value as u64 } else { return Err(wrong()) }
        }
    };
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        assert_eq!(["1MiB", "64 kB", "7", "1.5KiB"].map(bytes), [1 << 20, 64_000, 7, 1_536].map(Ok));
        assert_eq!(
            ["1ms", "10us", "2s", "1.5us"].map(duration),
            [1_000_000, 10_000, 2_000_000_000, 1_500].map(Ok)
        );
        assert_eq!(
            ["400G", "25Gbit/s", "1e"].map(|t| speed(t).ok()),
            [Some(400_000_000_000), Some(25_000_000_000), None]
        );
        for wrong in
            ["", "K", "4K", "-1", "1.5", "1..2B", "99999999999999999999", "nan", "18446744073709551615GiB"]
        {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        for wrong in ["10", "0s", "0.1ns", "1 fortnight"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert!(speed("0").is_err());
    }
}
