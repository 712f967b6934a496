//! Expression -> tree: a precedence parser by hand. What a value may be depends on the field before it, and an error
//! has to name the place and what would be right there: both come easier than with parser combinators.

use std::fmt;

use super::{Comparison, Expr, Name, Op, name::Type, value::Operand};

/// Longest expression, in bytes.
const MAX_LEN: usize = 16 << 10;
/// Deepest nesting of parentheses and negations.
const MAX_DEPTH: usize = 64;

/// Why an expression does not compile. Displays as the reason, then the expression with its wrong part underlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    expression: String,
    /// Where the wrong part is, in bytes.
    at: usize,
    len: usize,
    message: String,
}

impl Error {
    /// Where in the expression the wrong part starts, in bytes.
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
        // Control characters would tear the two lines apart, and a caret counts characters.
        let line =
            |text: &str| -> String { text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect() };
        let before = self.expression.get(..self.at).unwrap_or("");
        let wrong = self.expression.get(self.at..self.at + self.len).unwrap_or("");
        let (column, width) = (before.chars().count(), wrong.chars().count().max(1));
        write!(f, "column {}: {}", column + 1, line(&self.message))?;
        // What is far from the wrong part is left away.
        let from = before.char_indices().rev().nth(59).map_or(0, |(at, _)| at);
        let shown = line(self.expression.get(from..).unwrap_or(""));
        let shown: String = shown.chars().take(100).collect();
        let indent = before.get(from..).unwrap_or("").chars().count();
        let width = width.min(100usize.saturating_sub(indent).max(1));
        write!(f, "\n  {shown}\n  {:indent$}{}", "", "^".repeat(width))
    }
}

impl std::error::Error for Error {}

pub(super) fn parse(text: &str) -> Result<Expr, Error> {
    let mut parser = Parser { text, at: 0, token: Token { is: Is::End, at: 0, len: 0 }, depth: 0 };
    if text.len() > MAX_LEN {
        return Err(parser.error(
            0,
            0,
            format!("an expression has at most {MAX_LEN} bytes, this one {}", text.len()),
        ));
    }
    parser.advance()?;
    let expr = parser.or()?;
    match parser.token.is {
        Is::End => Ok(expr),
        _ => Err(parser.expected("&&, || or the end")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Word,
    /// Without its quotes: one byte each.
    Quoted,
    Sign(&'static str),
    End,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    is: Is,
    at: usize,
    len: usize,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    token: Token,
    depth: usize,
}

/// Longer ones first.
const SIGNS: [&str; 15] = ["&&", "||", "==", "!=", "<=", ">=", "..", "<", ">", "!", "(", ")", "{", "}", ","];

impl<'a> Parser<'a> {
    fn or(&mut self) -> Result<Expr, Error> {
        self.list(&["||", "or"], Self::and, Expr::Or)
    }

    fn and(&mut self) -> Result<Expr, Error> {
        self.list(&["&&", "and"], Self::not, Expr::And)
    }

    fn list(
        &mut self,
        between: &[&str],
        one: fn(&mut Self) -> Result<Expr, Error>,
        many: fn(Vec<Expr>) -> Expr,
    ) -> Result<Expr, Error> {
        let first = one(self)?;
        let mut exprs = vec![first];
        while between.iter().any(|sign| self.is(sign)) {
            self.advance()?;
            exprs.push(one(self)?);
        }
        Ok(if exprs.len() == 1 { exprs.remove(0) } else { many(exprs) })
    }

    fn not(&mut self) -> Result<Expr, Error> {
        if self.is("!") || self.is("not") {
            self.deeper()?;
            self.advance()?;
            let expr = self.not()?;
            self.depth -= 1;
            return Ok(Expr::Not(Box::new(expr)));
        }
        if self.is("(") {
            let open = self.token;
            self.deeper()?;
            self.advance()?;
            let expr = self.or()?;
            if !self.is(")") {
                let column = self.text.get(..open.at).map_or(0, |before| before.chars().count()) + 1;
                return Err(self.expected(&format!("&&, || or ) for the parenthesis at column {column}")));
            }
            self.advance()?;
            self.depth -= 1;
            return Ok(expr);
        }
        self.test()
    }

    fn deeper(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth <= MAX_DEPTH {
            return Ok(());
        }
        Err(self.error(self.token.at, self.token.len, format!("nested more than {MAX_DEPTH} deep")))
    }

    fn test(&mut self) -> Result<Expr, Error> {
        let token = self.token;
        if token.is != Is::Word || self.keyword() {
            return Err(self.expected("a field or header, like bth.psn or reth"));
        }
        let name = Name::parse(self.word(token)).map_err(|near| {
            let or = match near.as_slice() {
                [] => "; `rdmawire explain filter` lists all".to_owned(),
                near => format!("; did you mean {}?", near.join(" or ")),
            };
            self.error(token.at, token.len, format!("there is no field or header of this name{or}"))
        })?;
        self.advance()?;
        let comparison = self.comparison();
        if let Some(comparison) = comparison {
            let sign = self.token;
            self.advance()?;
            let operand = self.operand(&name)?;
            if !matches!(comparison, Comparison::Equal | Comparison::NotEqual) && !operand.is_ordered() {
                return Err(self.error(
                    sign.at,
                    sign.len,
                    "these have no order: compare with == or !=".into(),
                ));
            }
            return Ok(Expr::Test(name, Op::Compare(comparison, operand)));
        }
        if self.is("in") {
            self.advance()?;
            return Ok(Expr::Test(name.clone(), Op::In(self.set(&name)?)));
        }
        // Where nothing that may follow an expression follows, an operator was meant.
        match self.token.is {
            Is::Word if !self.keyword() => Err(self.expected("==, !=, <, <=, >, >=, in, && or ||")),
            Is::Quoted => Err(self.expected("==, != or in before a value")),
            _ => Ok(Expr::Test(name, Op::Present)),
        }
    }

    fn comparison(&self) -> Option<Comparison> {
        [
            (["==", "eq"], Comparison::Equal),
            (["!=", "ne"], Comparison::NotEqual),
            (["<=", "le"], Comparison::AtMost),
            ([">=", "ge"], Comparison::AtLeast),
            (["<", "lt"], Comparison::Less),
            ([">", "gt"], Comparison::Greater),
        ]
        .into_iter()
        .find(|(signs, _)| signs.iter().any(|sign| self.is(sign)))
        .map(|(_, comparison)| comparison)
    }

    fn set(&mut self, name: &Name) -> Result<Vec<Operand>, Error> {
        if !self.is("{") {
            return Err(self.expected("{ and values, like {1, 2, 5..9}"));
        }
        self.advance()?;
        let mut operands = Vec::new();
        loop {
            let from = self.token;
            let mut operand = self.operand(name)?;
            if self.is("..") {
                self.advance()?;
                let to = self.token;
                let high = self.operand(name)?;
                operand = Operand::range(operand, high)
                    .map_err(|message| self.error(from.at, to.at + to.len - from.at, message))?;
            }
            operands.push(operand);
            if self.is("}") {
                self.advance()?;
                return Ok(operands);
            }
            if !self.is(",") {
                return Err(self.expected(", or }"));
            }
            self.advance()?;
        }
    }

    fn operand(&mut self, name: &Name) -> Result<Operand, Error> {
        let token = self.token;
        let (text, quoted) = match token.is {
            Is::Word => (self.word(token), false),
            Is::Quoted => (self.text.get(token.at + 1..token.at + token.len - 1).unwrap_or(""), true),
            _ if matches!(name.values(), Type::Layer) => {
                return Err(self.expected("no comparison: a header is there or not"));
            }
            _ => return Err(self.expected(&format!("a value to compare {name} with"))),
        };
        let operand = Operand::parse(name.values(), text, quoted)
            .map_err(|message| self.error(token.at, token.len, format!("{name}: {message}")))?;
        self.advance()?;
        Ok(operand)
    }

    fn word(&self, token: Token) -> &'a str {
        self.text.get(token.at..token.at + token.len).unwrap_or("")
    }

    /// Whether the next token is this sign or keyword.
    fn is(&self, what: &str) -> bool {
        match self.token.is {
            Is::Sign(sign) => sign == what,
            Is::Word => self.word(self.token) == what,
            _ => false,
        }
    }

    fn keyword(&self) -> bool {
        ["and", "or", "not", "in", "eq", "ne", "lt", "le", "gt", "ge"].contains(&self.word(self.token))
    }

    fn advance(&mut self) -> Result<(), Error> {
        let rest = self.text.get(self.at..).unwrap_or("");
        let start = self.at + (rest.len() - rest.trim_start().len());
        let rest = self.text.get(start..).unwrap_or("");
        let (is, len) = match rest.chars().next() {
            None => (Is::End, 0),
            Some(quote @ ('"' | '\'')) => match rest.get(1..).and_then(|rest| rest.find(quote)) {
                Some(end) => (Is::Quoted, end + 2),
                None => return Err(self.error(start, rest.len(), format!("the closing {quote} is missing"))),
            },
            Some(c) if is_word(c) && !rest.starts_with("..") => {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let end = rest.get(..end).and_then(|word| word.find("..")).unwrap_or(end);
                (Is::Word, end)
            }
            Some(c) => match SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
                Some(sign) => (Is::Sign(sign), sign.len()),
                None => {
                    let meant = match c {
                        '=' => "; did you mean ==?",
                        '&' => "; did you mean &&?",
                        '|' => "; did you mean ||?",
                        _ => "",
                    };
                    let message = format!("{:?} means nothing here{meant}", c);
                    return Err(self.error(start, c.len_utf8(), message));
                }
            },
        };
        self.token = Token { is, at: start, len };
        self.at = start + len;
        Ok(())
    }

    fn expected(&self, what: &str) -> Error {
        let found = match self.token.is {
            Is::End => "the end".to_owned(),
            _ => format!("`{}`", self.word(self.token).chars().take(40).collect::<String>()),
        };
        self.error(self.token.at, self.token.len, format!("expected {what}, found {found}"))
    }

    fn error(&self, at: usize, len: usize, message: String) -> Error {
        Error { expression: self.text.to_owned(), at, len, message }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.:/-".contains(c)
}
