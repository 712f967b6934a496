//! Expressions that choose frames, such as `bth.dest_qp == 0x11 && aeth.nak`, compiled against the tables of the headers.
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
//! that a frame has several times, in stacked tags or around a tunnel, matches if any of them does. `!=` matches if
//! the frame has the field and none of its values is equal, as in Wireshark 4.
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

#[cfg(feature = "frame")]
pub(crate) use name::Value;
pub use name::{ADDRESSES, Name, Pseudo, SHORT};
use value::Operand;

pub use crate::grammar::Error;
use crate::{
    dissect::{Dissection, Layers},
    grammar::expr::{Comparison, Expr},
    icrc::{self, State},
};

/// A compiled expression. Its `Display` is an equivalent expression.
#[derive(Clone, Debug)]
pub struct Filter(Expr<Test>);

/// What a filter may ask about a frame beside its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameMeta {
    /// Its number in its file, from 1.
    pub number: u64,
    /// When it was captured: nanoseconds since 1970.
    pub time_ns: i64,
    /// Whether its ICRC is right, if that is known already; if not, the filter verifies the ICRC when it needs to.
    pub icrc: Option<State>,
}

/// A name, and the condition on its values.
#[derive(Clone, Debug)]
struct Test {
    name: Name,
    op: Op,
}

#[derive(Clone, Debug)]
enum Op {
    /// The field is there; a flag is set.
    Present,
    Compare(Comparison, Operand),
    In(Vec<Operand>),
}

impl Filter {
    /// Compile an expression.
    ///
    /// # Errors
    /// Says where in the expression it is wrong, and what was expected.
    pub fn parse(text: &str) -> Result<Filter, Error> {
        parse::parse(text).map(Filter)
    }

    /// Whether the expression is true for the frame. Allocates nothing.
    #[inline]
    pub fn matches(&self, d: &Dissection<'_>, meta: &FrameMeta) -> bool {
        let context = Context::new(d, meta);
        self.0.is_true(&mut |test| test.op.matches(&test.name, &context))
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

/// A frame under test. It keeps what one test computes for the next one.
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

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Test { name, op } = self;
        match op {
            Op::Present => name.fmt(f),
            Op::Compare(comparison, operand) => write!(f, "{name} {} {operand}", comparison.sign()),
            Op::In(operands) => {
                write!(f, "{name} in {{")?;
                for (i, operand) in operands.iter().enumerate() {
                    write!(f, "{}{operand}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

impl std::str::FromStr for Filter {
    type Err = Error;
    fn from_str(text: &str) -> Result<Filter, Error> {
        Filter::parse(text)
    }
}
