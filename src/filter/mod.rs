//! Which frames: `bth.dest_qp == 0x11 && aeth.nak`, compiled against the tables of the headers.
//!
//! | written | means |
//! |---|---|
//! | `reth`, `vlan` | the frame has this header |
//! | `bth.becn`, `aeth.nak` | the flag is set |
//! | `deth.src_qp` | the frame has this field |
//! | `bth.psn == 7`, also `!= < <= > >=` or `eq ne lt le gt ge` | a comparison; hexadecimal as `0x11` |
//! | `bth.opcode in {rc-send-only, 0x06..0x0b}` | one of these values or ranges, both ends included |
//! | `ip.src == 10.0.0.0/8`, `ipv6.dst == fe80::/10` | an address with that prefix |
//! | `note == bth.opcode`, `note.error` | a dissection note by its id, or by severity |
//! | `!a`, `a && b`, `a \|\| b`, `(a)`, also `not and or` | in this order of precedence |
//!
//! Names are those of JSON and `rdmawire explain`; Wireshark's names (`infiniband.bth.psn`) are understood too. A name
//! that a frame has several times, in stacked tags or around a tunnel, matches if any of them does; `!=` asks that
//! the frame has the field and that none of them is equal, as in Wireshark 4.
//!
//! ```
//! use rdmawire::{dissect::{Link, dissect}, filter::{Filter, FrameMeta}};
//! let filter = Filter::parse("bth.opcode == rc-acknowledge && bth.dest_qp == 0x12 && aeth.nak")?;
//! let nak = [0x45, 0, 0, 48, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc0, 0, 0x12, 0xb7, 0, 28, 0, 0,
//!     0x11, 0x40, 0xff, 0xff, 0, 0, 0, 0x12, 0, 0, 0, 7, 0x60, 0, 0, 3, 0, 0, 0, 0];
//! assert!(filter.matches(&dissect(Link::IPV4, &nak, 48), &FrameMeta::default()));
//! # Ok::<(), rdmawire::filter::Error>(())
//! ```

mod name;
mod parse;
mod value;

use std::{
    cell::{Cell, OnceCell},
    fmt,
};

pub(crate) use name::Value;
pub use name::{Name, Pseudo, nearest};
pub use parse::Error;
use value::Operand;

use crate::{
    dissect::{Dissection, Layers},
    icrc::{self, State},
};

/// A compiled expression. Its `Display` is an expression that means the same.
#[derive(Clone, Debug)]
pub struct Filter(Expr);

/// What a filter may ask of a frame beside its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameMeta {
    /// Its number in its file, from 1.
    pub number: u64,
    /// When it was captured: nanoseconds since 1970.
    pub time_ns: i64,
    /// What became of its ICRC, where somebody verified it already; else the filter does, if it needs it.
    pub icrc: Option<State>,
}

#[derive(Clone, Debug)]
enum Expr {
    Or(Vec<Expr>),
    And(Vec<Expr>),
    Not(Box<Expr>),
    Test(Name, Op),
}

#[derive(Clone, Debug)]
enum Op {
    /// There; a flag: set.
    Present,
    Compare(Comparison, Operand),
    In(Vec<Operand>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Filter {
    /// Compile an expression.
    ///
    /// # Errors
    /// Says where in the expression it is wrong, and what was expected.
    pub fn parse(text: &str) -> Result<Filter, Error> {
        parse::parse(text).map(Filter)
    }

    /// Whether the frame is one of those. Allocates nothing.
    #[inline]
    pub fn matches(&self, d: &Dissection<'_>, meta: &FrameMeta) -> bool {
        self.0.matches(&Context::new(d, meta))
    }
}

impl Expr {
    fn matches(&self, context: &Context<'_, '_>) -> bool {
        match self {
            Expr::Or(any) => any.iter().any(|expr| expr.matches(context)),
            Expr::And(all) => all.iter().all(|expr| expr.matches(context)),
            Expr::Not(expr) => !expr.matches(context),
            Expr::Test(name, op) => op.matches(name, context),
        }
    }

    fn binds(&self) -> u8 {
        match self {
            Expr::Or(_) => 0,
            Expr::And(_) => 1,
            Expr::Not(_) | Expr::Test(..) => 2,
        }
    }
}

impl Op {
    fn matches(&self, name: &Name, context: &Context<'_, '_>) -> bool {
        match self {
            Op::Present => name.any(context, |value| value.is_set()),
            Op::In(operands) => {
                name.any(context, |value| operands.iter().any(|operand| operand.equals(&value)))
            }
            Op::Compare(comparison, operand) => match comparison {
                Comparison::Equal => name.any(context, |value| operand.equals(&value)),
                Comparison::NotEqual => {
                    name.any(context, |_| true) && !name.any(context, |value| operand.equals(&value))
                }
                Comparison::Less => name.any(context, |value| operand.is_above(&value)),
                Comparison::AtMost => {
                    name.any(context, |value| operand.is_above(&value) || operand.equals(&value))
                }
                Comparison::Greater => name.any(context, |value| operand.is_below(&value)),
                Comparison::AtLeast => {
                    name.any(context, |value| operand.is_below(&value) || operand.equals(&value))
                }
            },
        }
    }
}

/// A frame that is being asked: what is found out for one question is kept for the next.
pub(crate) struct Context<'d, 'f> {
    pub(crate) d: &'d Dissection<'f>,
    pub(crate) meta: &'d FrameMeta,
    layers: OnceCell<Layers>,
    icrc: Cell<Option<State>>,
}

impl<'d, 'f> Context<'d, 'f> {
    #[inline]
    pub(crate) fn new(d: &'d Dissection<'f>, meta: &'d FrameMeta) -> Self {
        Context { d, meta, layers: OnceCell::new(), icrc: Cell::new(meta.icrc) }
    }

    fn layers(&self) -> &Layers {
        self.layers.get_or_init(|| self.d.layers())
    }

    fn icrc(&self) -> State {
        let state = self.icrc.get().unwrap_or_else(|| icrc::verify(self.d));
        self.icrc.set(Some(state));
        state
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let within = |f: &mut fmt::Formatter<'_>, expr: &Expr, binds: u8| {
            if expr.binds() <= binds { write!(f, "({expr})") } else { expr.fmt(f) }
        };
        match self {
            Expr::Or(exprs) | Expr::And(exprs) => {
                let (between, binds) = if self.binds() == 0 { (" || ", 0) } else { (" && ", 1) };
                for (i, expr) in exprs.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { between })?;
                    within(f, expr, binds)?;
                }
                Ok(())
            }
            Expr::Not(expr) => {
                f.write_str("!")?;
                within(f, expr, 1)
            }
            Expr::Test(name, Op::Present) => name.fmt(f),
            Expr::Test(name, Op::Compare(comparison, operand)) => {
                write!(f, "{name} {} {operand}", comparison.sign())
            }
            Expr::Test(name, Op::In(operands)) => {
                write!(f, "{name} in {{")?;
                for (i, operand) in operands.iter().enumerate() {
                    write!(f, "{}{operand}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

impl Comparison {
    const fn sign(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::AtMost => "<=",
            Comparison::Greater => ">",
            Comparison::AtLeast => ">=",
        }
    }
}

impl std::str::FromStr for Filter {
    type Err = Error;
    fn from_str(text: &str) -> Result<Filter, Error> {
        Filter::parse(text)
    }
}
