//! The words of crafting recipes: items of words, runs of bytes, edits.

use nom::{
    Parser,
    branch::alt,
    bytes::complete::{tag, take_while, take_while1},
    character::complete::{char, digit1},
    combinator::{opt, recognize, rest},
    multi::{many0, many1_count, separated_list1},
    sequence::{preceded, terminated},
};

use super::{Error, Parsed, fail, run, units};

/// Items between `/`, each as its words. Quotes hold blanks and `/`.
pub(crate) fn items(text: &str) -> Result<Vec<Vec<&str>>, Error> {
    let blank = || take_while(char::is_whitespace);
    let item = preceded(blank(), many0(terminated(word, blank())));
    run(text, |input| separated_list1(char('/'), item).parse(input))
}

fn word(input: &str) -> Parsed<'_, &str> {
    let plain = take_while1(|c: char| !c.is_whitespace() && !"/'".contains(c));
    recognize(many1_count(alt((plain, quoted)))).parse(input)
}

fn quoted(input: &str) -> Parsed<'_, &str> {
    let (text, _) = tag("'")(input)?;
    match text.split_once('\'') {
        Some((text, rest)) => Ok((rest, text)),
        None => fail(input, "a quote that does not end"),
    }
}

/// What a run of bytes is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bytes {
    /// `hex:c0ffee`, `'text'`
    Are(Vec<u8>),
    /// `64`
    Pattern(usize),
    /// `zeros 64`
    Zeros(usize),
    /// `random 64`
    Random(usize),
}

/// More than the largest frame a link carries; less than what a typing error may cost.
const MOST_BYTES: usize = 1 << 24;

impl Bytes {
    /// The bytes that a text describes.
    ///
    /// # Errors
    /// What was expected.
    pub(crate) fn parse(text: &str) -> Result<Bytes, &'static str> {
        const EXPECTED: &str = "a length, hex:…, '…', zeros N or random N";
        let length = |text: &str| {
            let n = units::integer(text.trim()).map_err(|_| EXPECTED)?;
            usize::try_from(n).ok().filter(|&n| n <= MOST_BYTES).ok_or("at most 16777216 bytes")
        };
        if let Some(digits) = text.strip_prefix("hex:") {
            return units::hex(digits).map(Bytes::Are).ok_or("hexadecimal digits, two a byte, after hex:");
        }
        if let Some(quoted) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            return Ok(Bytes::Are(quoted.into()));
        }
        match text.split_once(' ') {
            Some(("zeros", n)) => length(n).map(Bytes::Zeros),
            Some(("random", n)) => length(n).map(Bytes::Random),
            Some(_) => Err(EXPECTED),
            None => length(text).map(Bytes::Pattern),
        }
    }
}

/// What an edit says: `bth.psn+=1000`, `ipv4[0].ttl=3`, `payload=zeros 64`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assignment<'a> {
    pub(crate) header: &'a str,
    /// Counted from the outermost; `None` is the innermost.
    pub(crate) nth: Option<usize>,
    /// Empty where there is none.
    pub(crate) field: &'a str,
    /// `=`, `+=` or `-=`.
    pub(crate) operator: &'a str,
    pub(crate) value: &'a str,
}

impl<'a> Assignment<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Assignment<'a>, Error> {
        run(text, |input| {
            let (input, header) = take_while(|c| !".[=+-".contains(c)).parse(input)?;
            let (input, nth) = opt(nth).parse(input)?;
            let field = preceded(char('.'), take_while1(|c| !"=+-".contains(c)));
            let (input, field) = opt(field).parse(input)?;
            let operator = alt((tag("="), tag("+="), tag("-=")));
            let (input, Some(operator)) = opt(operator).parse(input)? else {
                return fail(input, "expected NAME.FIELD=VALUE, NAME.FIELD+=N or NAME.FIELD-=N");
            };
            let (end, value) = rest(input)?;
            let (header, field) = (header.trim(), field.unwrap_or("").trim_end());
            Ok((end, Assignment { header, nth, field, operator, value: value.trim() }))
        })
    }
}

/// `[0]`
fn nth(input: &str) -> Parsed<'_, usize> {
    let (inside, _) = char('[')(input)?;
    match terminated(digit1::<_, super::Fault<'_>>, char(']')).parse(inside) {
        Ok((rest, digits)) if digits.len() < 9 => Ok((rest, digits.parse().unwrap_or(usize::MAX))),
        _ => fail(inside, "expected a number in []"),
    }
}
