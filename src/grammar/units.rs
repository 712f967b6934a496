//! Numbers as they are typed, most with a unit: `10us`, `64KiB`, `400G`, `0x12`. The error says where, and what was expected.

use nom::{
    Parser,
    branch::alt,
    bytes::complete::{tag, take_while1},
    character::complete::{char, digit1, one_of},
    combinator::{opt, recognize},
    sequence::preceded,
};

use super::{Error, Parsed, fail, run};
use crate::wire::Qpn;

/// What has a unit.
struct Quantity {
    example: &'static str,
    /// The units, and how many of the smallest they are.
    units: &'static [(&'static str, u64)],
    /// What may follow the unit.
    suffixes: &'static [&'static str],
    /// Whether it is rounded to the smallest unit. If not, a part of that unit is an error.
    is_rounded: bool,
    /// What a number without a unit could mean, where that is an error.
    could_be: [&'static str; 3],
}

const DURATION: Quantity = Quantity {
    example: "a duration like 250ns, 10us, 1.28ms or 3s",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    suffixes: &[],
    is_rounded: true,
    could_be: ["us", "ms", "s"],
};

const SIZE: Quantity = Quantity {
    example: "a size like 4096, 64K, 64KiB or 1MB",
    units: &[
        ("", 1),
        ("b", 1),
        ("k", 1 << 10),
        ("m", 1 << 20),
        ("g", 1 << 30),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
    ],
    suffixes: &[],
    is_rounded: false,
    could_be: ["", "", ""],
};

/// A size that is not typed to the byte.
const MEMORY: Quantity = Quantity {
    example: "a size like 512MiB or 2G",
    units: SIZE.units.split_at(1).1,
    suffixes: &[],
    is_rounded: false,
    could_be: ["K", "M", "G"],
};

const BIT_RATE: Quantity = Quantity {
    example: "a speed like 400G or 25Gbit/s",
    units: &[
        ("k", 1_000),
        ("m", 1_000_000),
        ("g", 1_000_000_000),
        ("t", 1_000_000_000_000),
        ("bit/s", 1),
        ("bps", 1),
        ("b/s", 1),
    ],
    suffixes: &["bit/s", "bps", "b/s", "bit"],
    is_rounded: false,
    could_be: ["bit/s", "M", "G"],
};

/// Nanoseconds: "1ms", "1.5us", "2 s". A bare number is an error.
pub fn duration(text: &str) -> Result<u64, Error> {
    DURATION.parse(text)
}

/// A [`duration`] longer than 0.
pub fn positive_duration(text: &str) -> Result<u64, Error> {
    above_0(text, duration(text)?, "expected a duration longer than 0")
}

/// Bytes: "1048576", "64K", "1MiB", "64kB". K, M and G alone are powers of 1,024, as in perftest and fio.
pub fn size(text: &str) -> Result<u64, Error> {
    SIZE.parse(text)
}

/// Bytes of memory: a [`size`] whose bare number is an error, as it could be meant in MiB.
pub fn memory(text: &str) -> Result<u64, Error> {
    MEMORY.parse(text)
}

/// Bits per second, above 0: "400G", "25Gbit/s", "100bit/s". A bare number is an error: it could be meant in Gbit/s.
pub fn bit_rate(text: &str) -> Result<u64, Error> {
    above_0(text, BIT_RATE.parse(text)?, "expected a speed above 0")
}

/// How many: a whole number, where K, M, G and T are powers of 1,000.
pub fn count(text: &str) -> Result<u64, Error> {
    let expected = "expected a number, or one with K, M, G or T";
    let (number, letter) = run(text, |input| {
        (whole, opt(one_of("KkMGT"))).parse(input).or_else(|_: nom::Err<_>| fail(input, expected))
    })?;
    let power =
        letter.and_then(|letter| "KMGT".find(letter.to_ascii_uppercase())).map_or(0, |at| at as u32 + 1);
    number.checked_mul(1000u64.pow(power)).ok_or_else(|| Error::new(text, text, expected))
}

/// A number without a unit: decimal, hexadecimal after 0x, binary after 0b; `_` may stand between digits.
pub fn integer(text: &str) -> Result<u64, Error> {
    run(text, whole)
}

/// The number of a queue pair.
pub fn qpn(text: &str) -> Result<Qpn, Error> {
    let value = u32::try_from(integer(text)?).ok().filter(|&value| value < 1 << 24);
    value.map(Qpn).ok_or_else(|| Error::new(text, text, "a queue pair number has 24 bits"))
}

/// Nanoseconds since 1970 from seconds with a fraction: "1700000000.5".
pub(crate) fn epoch(text: &str) -> Option<u64> {
    let (seconds, fraction) =
        run(text, |input| (digit1, opt(preceded(char('.'), digit1))).parse(input)).ok()?;
    let fraction = fraction.unwrap_or("0");
    let ns = fraction.parse::<u64>().ok()? * 10u64.checked_pow(9u32.checked_sub(fraction.len() as u32)?)?;
    Some(u64::from(seconds.parse::<u32>().ok()?) * 1_000_000_000 + ns)
}

/// Largest quantity, in its smallest unit. Sums of a few stay within 64 bits.
const LARGEST: u64 = 1_000_000_000_000_000_000;

/// Bytes from hexadecimal digits, two a byte; `:` and `-` may stand between them.
pub(crate) fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.chars().filter(|c| !":-".contains(*c)).map(|c| c.to_digit(16).map(|digit| digit as u8));
    let digits: Vec<u8> = digits.collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks_exact(2).map(|two| two[0] << 4 | two[1]).collect())
}

impl Quantity {
    fn parse(&self, text: &str) -> Result<u64, Error> {
        let trimmed = text.trim();
        let wrong = |part, why: &str| Err(Error::new(text, part, format!("{why}expected {}", self.example)));
        let Ok((rest, number)) = decimal(trimmed) else { return wrong(trimmed, "") };
        let unit = rest.trim_start();
        let name = unit.to_lowercase();
        let known = |name: &str| self.units.iter().find(|(known, _)| *known == name);
        let short = self.suffixes.iter().find_map(|end| name.strip_suffix(end)).map(str::trim_end);
        match known(&name).or_else(|| known(short?)) {
            Some(&(_, size)) => match self.scale(number, size) {
                Ok(value) => Ok(value),
                Err(why) => wrong(number, why),
            },
            None if unit.is_empty() => {
                let [a, b, c] = self.could_be;
                wrong(number, &format!("no unit: {number}{a}, {number}{b} or {number}{c}? "))
            }
            None => wrong(unit, ""),
        }
    }

    fn scale(&self, number: &str, size: u64) -> Result<u64, &'static str> {
        const TOO_LARGE: &str = "this is too large: ";
        let number = number.replace('_', "");
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(size).filter(|&value| value <= LARGEST).ok_or(TOO_LARGE);
        }
        match number.parse::<f64>().map(|number| number * size as f64) {
            Ok(value) if value > LARGEST as f64 => Err(TOO_LARGE),
            Ok(value) if self.is_rounded || value.fract() == 0.0 => Ok(value.round() as u64),
            Ok(_) => Err("this is not a whole number: "),
            Err(_) => Err("this is no number: "),
        }
    }
}

/// What may be a number, with points and an exponent.
fn decimal(input: &str) -> Parsed<'_, &str> {
    let digits = take_while1(|c: char| c.is_ascii_digit() || c == '.' || c == '_');
    recognize((opt(char('+')), digits, opt((one_of("eE"), opt(one_of("+-")), digit1)))).parse(input)
}

fn whole(input: &str) -> Parsed<'_, u64> {
    alt((
        preceded(alt((tag("0x"), tag("0X"))), |input| digits(input, 16)),
        preceded(tag("0b"), |input| digits(input, 2)),
        preceded(opt(char('+')), |input| digits(input, 10)),
    ))
    .parse(input)
    .or_else(|error| match error {
        nom::Err::Error(_) => fail(input, "expected a number, like 17 or 0x11"),
        other => Err(other),
    })
}

fn digits(input: &str, radix: u32) -> Parsed<'_, u64> {
    let (rest, digits) = take_while1(|c: char| c.is_digit(radix) || c == '_')(input)?;
    match u64::from_str_radix(&digits.replace('_', ""), radix) {
        Ok(number) => Ok((rest, number)),
        Err(_) => fail(digits, "expected a number of at most 64 bits"),
    }
}

fn above_0(text: &str, number: u64, expected: &'static str) -> Result<u64, Error> {
    if number > 0 { Ok(number) } else { Err(Error::new(text, text, expected)) }
}
