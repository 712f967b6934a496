//! A test of a display filter: a name, and what its value is compared with. The field decides what a value may be.

use nom::{Parser, combinator::opt};

use super::{Name, Op, Test, name::Type, value::Operand};
use crate::grammar::{
    Error, Parsed, did_you_mean,
    expr::{Comparison, Expr, Is, Precedence, expected, set, sign, token},
    fail,
};

pub(super) fn parse(text: &str) -> Result<Expr<Test>, Error> {
    Expr::parse(text, Precedence::AndFirst, |input| {
        test(input).map(|(rest, (name, op))| (rest, Expr::Test(Test { name, op })))
    })
}

/// Words that are no names.
const KEYWORDS: [&str; 10] = ["and", "or", "not", "in", "eq", "ne", "lt", "le", "gt", "ge"];

/// Words of tcpdump's filters, and what says the same here.
const OF_TCPDUMP: [(&str, &str); 8] = [
    ("host", "ip.addr == 10.0.0.1"),
    ("net", "ip.addr == 10.0.0.0/8"),
    ("port", "udp.port == 4791"),
    ("portrange", "udp.port in {4000..5000}"),
    ("proto", "ip.proto == 17"),
    ("less", "frame.len <= 100"),
    ("greater", "frame.len >= 100"),
    ("ether", "eth.src or eth.dst == 02:00:00:00:00:01"),
];

fn test(input: &str) -> Parsed<'_, (Name, Op)> {
    let (rest, word) = match token(input)? {
        (rest, token) if token.is == Is::Word && !token.is_any(&KEYWORDS) => (rest, token.text),
        _ => return expected(input, "a field or header, like bth.psn or reth"),
    };
    let name = match Name::parse(word) {
        Ok(name) => name,
        Err(near) => {
            if let Some((_, ours)) = OF_TCPDUMP.iter().find(|(theirs, _)| *theirs == word) {
                return fail(word, format!("{word} is of tcpdump's filters; here it is {ours}"));
            }
            let or = did_you_mean(&near, "; `rdmawire explain filter` lists all");
            return fail(word, format!("there is no field or header of this name{or}"));
        }
    };
    let (value, next) = token(rest)?;
    if let Some(comparison) = Comparison::of(&next) {
        let (rest, operand) = operand(value, &name)?;
        if !matches!(comparison, Comparison::Equal | Comparison::NotEqual) && !operand.is_ordered() {
            return fail(next.text, "these have no order: compare with == or !=");
        }
        return Ok((rest, (name, Op::Compare(comparison, operand))));
    }
    if next.is_any(&["in"]) {
        let (rest, operands) = set(value, |input| range(input, &name))?;
        return Ok((rest, (name, Op::In(operands))));
    }
    // The next token cannot follow a test: an operator was meant.
    match next.is {
        Is::Word if !next.is_any(&KEYWORDS) => expected(rest, "==, !=, <, <=, >, >=, in, && or ||"),
        Is::Quoted => expected(rest, "==, != or in before a value"),
        _ => Ok((rest, (name, Op::Present))),
    }
}

/// A value, or a range of them.
fn range<'a>(input: &'a str, name: &Name) -> Parsed<'a, Operand> {
    let input = input.trim_start();
    let (rest, low) = operand(input, name)?;
    let (rest, Some(_)) = opt(sign(&[".."])).parse(rest)? else { return Ok((rest, low)) };
    let (rest, high) = operand(rest, name)?;
    match Operand::range(low, high) {
        Ok(range) => Ok((rest, range)),
        Err(message) => fail(input.strip_suffix(rest).unwrap_or(input), message),
    }
}

fn operand<'a>(input: &'a str, name: &Name) -> Parsed<'a, Operand> {
    let (rest, token) = token(input)?;
    let (text, is_quoted) = match token.is {
        Is::Word => (token.text, false),
        Is::Quoted => (token.text.get(1..token.text.len() - 1).unwrap_or(""), true),
        _ if matches!(name.values(), Type::Layer) => {
            return expected(input, "no comparison: a header is there or not");
        }
        _ => return expected(input, &format!("a value to compare {name} with")),
    };
    match Operand::parse(name.values(), text, is_quoted) {
        Ok(operand) => Ok((rest, operand)),
        Err(message) => fail(token.text, format!("{name}: {message}")),
    }
}
