//! Boolean expressions: `a && !(b || c)`, also with `and`, `or`, `not`. What is tested is the caller's.

use std::fmt;

use nom::{
    Offset, Parser,
    branch::alt,
    bytes::complete::{tag, take_while, take_while1},
    combinator::{map, opt, recognize, verify},
    multi::separated_list1,
};

use super::{Error, Fault, Parsed, fail, run};

/// Longest expression, in bytes.
const MAX_LEN: usize = 16 << 10;
/// Deepest nesting of parentheses and negations.
const MAX_DEPTH: usize = 64;

/// A boolean expression over tests. Its `Display` is an expression that means the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr<T> {
    /// At least one is true.
    Or(Vec<Expr<T>>),
    /// All are true.
    And(Vec<Expr<T>>),
    /// It is not true.
    Not(Box<Expr<T>>),
    /// A test.
    Test(T),
}

/// Which of `and` and `or` comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precedence {
    /// `and` before `or`, as in C and in display filters.
    AndFirst,
    /// The left one first, as in tcpdump's filters.
    LeftFirst,
}

impl<T> Expr<T> {
    /// Whether it is true, where `test` says so of its tests.
    #[inline]
    pub fn is_true(&self, test: &mut impl FnMut(&T) -> bool) -> bool {
        match self {
            Expr::Or(any) => any.iter().any(|expr| expr.is_true(test)),
            Expr::And(all) => all.iter().all(|expr| expr.is_true(test)),
            Expr::Not(expr) => !expr.is_true(test),
            Expr::Test(what) => test(what),
        }
    }

    /// The expression that a text is; `test` reads what is neither operator nor parenthesis.
    pub(crate) fn parse(
        text: &str,
        precedence: Precedence,
        test: for<'a> fn(&'a str) -> Parsed<'a, Expr<T>>,
    ) -> Result<Expr<T>, Error> {
        check_length(text)?;
        run(text, |input| {
            let (input, expr) = Expr::within(text, input, precedence, &test)?;
            end(input, "&&, || or the end").map(|(input, ())| (input, expr))
        })
    }

    /// The expression at the beginning of `input`, which is a part of `text`.
    pub(crate) fn within<'a>(
        text: &str,
        input: &'a str,
        precedence: Precedence,
        test: &dyn for<'b> Fn(&'b str) -> Parsed<'b, Expr<T>>,
    ) -> Parsed<'a, Expr<T>> {
        Grammar { text, precedence, test }.expr(input, 0)
    }

    fn binds(&self) -> u8 {
        match self {
            Expr::Or(_) => 0,
            Expr::And(_) => 1,
            Expr::Not(_) | Expr::Test(_) => 2,
        }
    }
}

impl<T: fmt::Display> fmt::Display for Expr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let within = |f: &mut fmt::Formatter<'_>, expr: &Expr<T>, binds: u8| {
            if expr.binds() <= binds { write!(f, "({expr})") } else { expr.fmt(f) }
        };
        match self {
            Expr::Or(exprs) | Expr::And(exprs) => {
                let between = if self.binds() == 0 { " || " } else { " && " };
                for (i, expr) in exprs.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { between })?;
                    within(f, expr, self.binds())?;
                }
                Ok(())
            }
            Expr::Not(expr) => {
                f.write_str("!")?;
                within(f, expr, 1)
            }
            Expr::Test(test) => test.fmt(f),
        }
    }
}

/// A comparison of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Comparison {
    /// Each with its sign and its word.
    pub(crate) const ALL: [(Comparison, [&'static str; 2]); 6] = [
        (Comparison::Equal, ["==", "eq"]),
        (Comparison::NotEqual, ["!=", "ne"]),
        (Comparison::AtMost, ["<=", "le"]),
        (Comparison::AtLeast, [">=", "ge"]),
        (Comparison::Less, ["<", "lt"]),
        (Comparison::Greater, [">", "gt"]),
    ];

    pub(crate) fn sign(self) -> &'static str {
        Self::ALL.iter().find(|(other, _)| *other == self).map_or("", |(_, [sign, _])| sign)
    }

    /// The comparison that a token stands for.
    pub(crate) fn of(token: &Token<'_>) -> Option<Comparison> {
        Self::ALL.into_iter().find(|(_, signs)| token.is_any(signs)).map(|(comparison, _)| comparison)
    }
}

/// Nobody types a longer expression.
pub(crate) fn check_length(text: &str) -> Result<(), Error> {
    if text.len() <= MAX_LEN {
        return Ok(());
    }
    let message = format!("an expression has at most {MAX_LEN} bytes, this one {}", text.len());
    Err(Error::new(text, &text[..0], message))
}

/// The end of the text; `what` else might stand here.
pub(crate) fn end<'a>(input: &'a str, what: &str) -> Parsed<'a, ()> {
    match token(input)? {
        (end, token) if token.is == Is::End => Ok((end, ())),
        _ => expected(input, what),
    }
}

/// Values in braces or brackets: `{1, 2, 5..9}`, `[26, 46]`.
pub(crate) fn set<'a, T>(input: &'a str, value: impl FnMut(&'a str) -> Parsed<'a, T>) -> Parsed<'a, Vec<T>> {
    let (input, Some(opening)) = opt(sign(&["{", "["])).parse(input)? else {
        return expected(input, "{ and values, like {1, 2, 5..9}");
    };
    let (input, values) = separated_list1(sign(&[","]), value).parse(input)?;
    let closing: &'static [&'static str] = if opening == "{" { &["}"] } else { &["]"] };
    match opt(sign(closing)).parse(input)? {
        (rest, Some(_)) => Ok((rest, values)),
        (rest, None) => expected(rest, &format!(", or {}", closing[0])),
    }
}

struct Grammar<'t, T> {
    text: &'t str,
    precedence: Precedence,
    test: &'t dyn for<'a> Fn(&'a str) -> Parsed<'a, Expr<T>>,
}

const AND: &[&str] = &["&&", "and"];
const OR: &[&str] = &["||", "or"];

impl<T> Grammar<'_, T> {
    fn expr<'a>(&self, input: &'a str, depth: usize) -> Parsed<'a, Expr<T>> {
        if self.precedence == Precedence::LeftFirst {
            return self.left_first(input, depth);
        }
        let all = |input| {
            let all = separated_list1(sign(AND), |input| self.unary(input, depth));
            map(all, |all| one_or(all, Expr::And)).parse(input)
        };
        map(separated_list1(sign(OR), all), |any| one_or(any, Expr::Or)).parse(input)
    }

    fn left_first<'a>(&self, input: &'a str, mut depth: usize) -> Parsed<'a, Expr<T>> {
        let (mut input, mut expr) = self.unary(input, depth)?;
        while let (rest, Some(sign)) = opt(alt((sign(AND), sign(OR)))).parse(input)? {
            let (rest, right) = self.unary(rest, depth)?;
            expr = match (AND.contains(&sign), expr) {
                (true, Expr::And(all)) => Expr::And(with(all, right)),
                (false, Expr::Or(any)) => Expr::Or(with(any, right)),
                (is_and, left) => {
                    depth = deeper(sign, depth)?.1;
                    if is_and { Expr::And(vec![left, right]) } else { Expr::Or(vec![left, right]) }
                }
            };
            input = rest;
        }
        Ok((input, expr))
    }

    fn unary<'a>(&self, input: &'a str, depth: usize) -> Parsed<'a, Expr<T>> {
        let (rest, Some(opening)) = opt(sign(&["!", "not", "("])).parse(input)? else {
            return (self.test)(input);
        };
        let (_, depth) = deeper(opening, depth)?;
        if opening != "(" {
            return map(|input| self.unary(input, depth), |expr| Expr::Not(Box::new(expr))).parse(rest);
        }
        let (rest, expr) = self.expr(rest, depth)?;
        match opt(sign(&[")"])).parse(rest)? {
            (rest, Some(_)) => Ok((rest, expr)),
            (rest, None) => {
                let before = self.text.get(..self.text.offset(opening)).unwrap_or("");
                let column = before.chars().count() + 1;
                expected(rest, &format!("&&, || or ) for the parenthesis at column {column}"))
            }
        }
    }
}

fn deeper(at: &str, depth: usize) -> Parsed<'_, usize> {
    match depth < MAX_DEPTH {
        true => Ok((at, depth + 1)),
        false => fail(at, format!("nested more than {MAX_DEPTH} deep")),
    }
}

fn with<T>(mut list: Vec<T>, one: T) -> Vec<T> {
    list.push(one);
    list
}

fn one_or<T>(mut list: Vec<Expr<T>>, many: fn(Vec<Expr<T>>) -> Expr<T>) -> Expr<T> {
    match list.pop() {
        Some(only) if list.is_empty() => only,
        last => many(list.into_iter().chain(last).collect()),
    }
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Is {
    /// Letters, digits and `_.:/-%`, and a + at the beginning: names, numbers, addresses.
    Word,
    /// A text in quotes, which are a byte each.
    Quoted,
    /// An operator or a parenthesis.
    Sign,
    End,
}

/// A token, and its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) is: Is,
    pub(crate) text: &'a str,
}

impl Token<'_> {
    /// Whether it is one of these signs or words.
    pub(crate) fn is_any(&self, of: &[&str]) -> bool {
        matches!(self.is, Is::Word | Is::Sign) && of.contains(&self.text)
    }
}

/// The next token, after blanks.
pub(crate) fn token(input: &str) -> Parsed<'_, Token<'_>> {
    let (input, _) = take_while(char::is_whitespace)(input)?;
    let Some(first) = input.chars().next() else { return Ok((input, Token { is: Is::End, text: input })) };
    let (rest, (is, text)) = match first {
        '"' | '\'' => map(recognize(quoted), |text| (Is::Quoted, text)).parse(input)?,
        _ => alt((map(word, |text| (Is::Word, text)), map(any_sign, |text| (Is::Sign, text))))
            .parse(input)
            .or_else(|_| fail(input.get(..first.len_utf8()).unwrap_or(""), unknown(first)))?,
    };
    Ok((rest, Token { is, text }))
}

/// One of these signs or words.
pub(crate) fn sign<'a>(
    of: &'static [&'static str],
) -> impl Parser<&'a str, Output = &'a str, Error = Fault<'a>> {
    map(verify(token, |token: &Token<'_>| token.is_any(of)), |token| token.text)
}

/// Something else was expected than the next token.
pub(crate) fn expected<'a, T>(input: &'a str, what: &str) -> Parsed<'a, T> {
    let (_, token) = token(input)?;
    let found = match token.is {
        Is::End => "the end".to_owned(),
        _ => format!("`{}`", token.text.chars().take(40).collect::<String>()),
    };
    fail(token.text, format!("expected {what}, found {found}"))
}

fn quoted(input: &str) -> Parsed<'_, &str> {
    let mut quote = alt((tag("\""), tag("'")));
    let (rest, opening) = quote.parse(input)?;
    match rest.split_once(opening) {
        Some((text, rest)) => Ok((rest, text)),
        None => fail(input, format!("the closing {opening} is missing")),
    }
}

/// A word ends before `..`, which makes a range.
fn word(input: &str) -> Parsed<'_, &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_.:/-%".contains(c);
    let word = recognize((opt(tag("+")), take_while1(is_word)));
    let (_, text) = verify(word, |text: &str| !text.starts_with("..")).parse(input)?;
    let (word, rest) = input.split_at(text.find("..").unwrap_or(text.len()));
    Ok((rest, word))
}

/// Longer ones first.
fn any_sign(input: &str) -> Parsed<'_, &str> {
    let longer = alt((tag("&&"), tag("||"), tag("=="), tag("!="), tag("<="), tag(">="), tag("..")));
    let brackets = alt((tag("("), tag(")"), tag("{"), tag("}"), tag("["), tag("]")));
    alt((longer, tag("<"), tag(">"), tag("!"), tag(","), brackets)).parse(input)
}

fn unknown(c: char) -> String {
    let meant = match c {
        '=' => "; did you mean ==?",
        '&' => "; did you mean &&?",
        '|' => "; did you mean ||?",
        _ => "",
    };
    format!("{c:?} means nothing here{meant}")
}
