//! A frame in one line: number, time, source, destination, protocol, length, summary.

use std::fmt;

use super::{Frame, Info, protocol, text, write_address};
use crate::{
    dissect::{Dissection, Severity},
    icrc::State,
    wire::{Aeth, Kind},
};

/// How a frame's time is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Clock {
    /// Seconds since the first frame.
    #[default]
    Relative,
    /// Seconds since the previous frame.
    Delta,
    /// Seconds since 1970.
    Epoch,
    /// Date and time of day, UTC.
    Utc,
}

/// The class of a frame in a search for problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A bad ICRC, or malformed.
    Broken,
    /// A NAK.
    Nak,
    /// An RNR NAK: receiver not ready.
    Rnr,
    /// Congestion: a CNP, a CE mark, PAUSE or PFC.
    Congestion,
    /// A positive acknowledgement.
    Ack,
    /// Any other RDMA packet.
    Rdma,
    /// Not RDMA.
    Other,
}

impl Class {
    /// The class of a frame.
    pub fn of(d: &Dissection<'_>, icrc: State) -> Class {
        if icrc == State::Bad || d.severity() == Some(Severity::Error) {
            return Class::Broken;
        }
        let Some(opcode) = d.opcode() else {
            return if d.has(Kind::MacControl) { Class::Congestion } else { Class::Other };
        };
        if opcode.is_cnp() {
            return Class::Congestion;
        }
        match d.get::<Aeth>().map(|aeth| aeth.syndrome()) {
            Some(syndrome) if syndrome.is_nak() => Class::Nak,
            Some(syndrome) if syndrome.is_rnr() => Class::Rnr,
            Some(_) => Class::Ack,
            None => Class::Rdma,
        }
    }

    /// The terminal's escape sequence for its colour, if it has one.
    fn escape(self) -> Option<&'static str> {
        Some(match self {
            Class::Broken => "\x1b[1;31m",
            Class::Nak => "\x1b[31m",
            Class::Rnr => "\x1b[33m",
            Class::Congestion => "\x1b[35m",
            Class::Ack | Class::Other => "\x1b[2m",
            Class::Rdma => return None,
        })
    }
}

/// Writes frames as lines. It keeps the time of the first frame and of the previous one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// How times are written.
    pub clock: Clock,
    /// Whether times have nine decimals, not six.
    pub nanoseconds: bool,
    /// Whether escape sequences colour the line.
    pub colour: bool,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
}

impl Line {
    /// A writer of lines.
    pub fn new(clock: Clock, colour: bool) -> Line {
        Line { clock, colour, ..Line::default() }
    }

    /// Take the time of a frame that is not written: later times may count from it.
    #[inline]
    pub fn pass(&mut self, time_ns: i64) {
        self.first_ns.get_or_insert(time_ns);
        self.last_ns = Some(time_ns);
    }

    /// Append the time; the next delta counts from it.
    pub fn time(&mut self, time_ns: i64, to: &mut String) -> fmt::Result {
        let first = *self.first_ns.get_or_insert(time_ns);
        let before = self.last_ns.replace(time_ns).unwrap_or(time_ns);
        let decimals = if self.nanoseconds { 9 } else { 6 };
        match self.clock {
            Clock::Relative => text::seconds(to, time_ns.saturating_sub(first), decimals),
            Clock::Delta => text::seconds(to, time_ns.saturating_sub(before), decimals),
            Clock::Epoch => text::seconds(to, time_ns, decimals),
            Clock::Utc => text::utc(to, time_ns, decimals),
        }
    }

    /// Append the frame's line and a line feed.
    pub fn write(&mut self, frame: &Frame<'_>, to: &mut String) -> fmt::Result {
        let d = frame.dissection;
        let escape = if self.colour { Class::of(d, frame.icrc).escape() } else { None };
        if let Some(escape) = escape {
            to.push_str(escape);
        }
        right(to, 5, |to| text::dec(to, frame.number))?;
        to.push(' ');
        right(to, 10, |to| self.time(frame.time_ns, to))?;
        to.push(' ');
        right(to, 13, |to| write_address(d, 0, to))?;
        to.push_str(" → ");
        left(to, 13, |to| write_address(d, 1, to))?;
        to.push(' ');
        left(to, 6, |to| {
            to.push_str(protocol(d));
            Ok(())
        })?;
        to.push(' ');
        right(to, 4, |to| text::dec(to, d.lengths().0.into()))?;
        to.push(' ');
        Info::new(d, frame.icrc).write(to)?;
        if escape.is_some() {
            to.push_str("\x1b[0m");
        }
        to.push('\n');
        Ok(())
    }
}

const SPACES: &str = "                ";

#[inline]
fn left(to: &mut String, width: usize, write: impl FnOnce(&mut String) -> fmt::Result) -> fmt::Result {
    let from = to.len();
    write(to)?;
    let written = to.len() - from;
    to.push_str(SPACES.get(..width.saturating_sub(written)).unwrap_or(""));
    Ok(())
}

#[inline]
fn right(to: &mut String, width: usize, write: impl FnOnce(&mut String) -> fmt::Result) -> fmt::Result {
    let from = to.len();
    write(to)?;
    let written = to.len() - from;
    if written < width {
        to.insert_str(from, SPACES.get(..width - written).unwrap_or(""));
    }
    Ok(())
}
