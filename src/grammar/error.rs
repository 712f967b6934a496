//! One error for all grammars.

use std::{borrow::Cow, fmt};

use nom::{
    IResult,
    error::{ErrorKind, ParseError},
};

/// Why a text is not understood. Displays as the column and the reason, then the text with its wrong part underlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    text: String,
    /// Where the wrong part is, in bytes.
    at: usize,
    len: usize,
    message: String,
}

impl Error {
    /// `part` of `text` is wrong: a slice of it, or else all of it is.
    pub(crate) fn new(text: &str, part: &str, message: impl Into<String>) -> Error {
        let at = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        let is_within = text.get(at..).is_some_and(|rest| part.len() <= rest.len());
        let (at, len) = if is_within { (at, part.len()) } else { (0, text.len()) };
        Error { text: text.to_owned(), at, len, message: message.into() }
    }

    /// Where in the text the wrong part starts, in bytes.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// What is wrong, or what was expected there.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Control characters would tear the lines apart, and a caret counts characters.
        let line = |text: &str, most: usize| -> String {
            text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect()
        };
        let before = self.text.get(..self.at).unwrap_or("");
        let wrong = self.text.get(self.at..self.at + self.len).unwrap_or("");
        write!(f, "column {}: {}", before.chars().count() + 1, line(&self.message, 1000))?;
        // Text far from the wrong part is cut.
        let from = before.char_indices().rev().nth(59).map_or(0, |(at, _)| at);
        let shown = line(self.text.get(from..).unwrap_or(""), 100);
        let indent = before.get(from..).unwrap_or("").chars().count();
        let width = wrong.chars().take(100usize.saturating_sub(indent)).count().max(1);
        write!(f, "\n  {shown}\n  {:indent$}{}", "", "^".repeat(width))
    }
}

impl std::error::Error for Error {}

/// Why a parser stopped: the wrong part of its input, and what is wrong with it.
#[derive(Debug)]
pub(crate) struct Fault<'a> {
    part: &'a str,
    message: Cow<'static, str>,
}

impl<'a> ParseError<&'a str> for Fault<'a> {
    fn from_error_kind(input: &'a str, _: ErrorKind) -> Self {
        Fault { part: input, message: Cow::Borrowed("not expected here") }
    }

    fn append(_: &'a str, _: ErrorKind, first: Self) -> Self {
        first
    }
}

/// What a parser makes of its input: the rest, and a value.
pub(crate) type Parsed<'a, T> = IResult<&'a str, T, Fault<'a>>;

/// The text is wrong, and no alternative is tried.
pub(crate) fn fail<'a, T>(part: &'a str, message: impl Into<Cow<'static, str>>) -> Parsed<'a, T> {
    Err(nom::Err::Failure(Fault { part, message: message.into() }))
}

/// What the parser makes of the text, all of which it reads.
pub(crate) fn run<'a, T>(text: &'a str, parse: impl FnOnce(&'a str) -> Parsed<'a, T>) -> Result<T, Error> {
    match parse(text) {
        Ok(("", value)) => Ok(value),
        Ok((rest, _)) => Err(Error::new(text, rest, "expected the end")),
        Err(nom::Err::Error(fault) | nom::Err::Failure(fault)) => {
            Err(Error::new(text, fault.part, fault.message))
        }
        Err(nom::Err::Incomplete(_)) => Err(Error::new(text, &text[text.len()..], "expected more")),
    }
}
