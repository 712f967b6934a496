//! What those who follow commands over connections have in common: which directions belong together, how the packets of a direction went
//! on, what the time of a command went to, and how that reads.

mod directions;
mod doubt;
mod endings;
mod moving;
mod progress;
mod time;
mod ways;

pub(crate) use directions::Directions;
pub(crate) use doubt::{Doubt, Turn};
pub(crate) use endings::{Ending, Named};
pub(crate) use moving::{Moving, Reading};
pub(crate) use progress::{Answer, Progress, Seen};
pub(crate) use time::{Sums, Time, behind_tap, shares, trouble};
pub(crate) use ways::{HalfKnown, Key, Piece, Requests, Tap, Taps, Transfers};

use crate::opcode::{Operation, Shape};

/// Completed commands of a connection whose answer may be wanted again, at most. Where nothing acknowledges more, the oldest ones are taken for sure.
pub(crate) const MOST_UNSURE: usize = 256;

/// Whether a packet's PSN is of what its sender asks, and not one of the other side.
pub(crate) fn is_of_asking(shape: &Shape) -> bool {
    shape
        .operation
        .is_some_and(|of| matches!(of, Operation::Send | Operation::Write | Operation::ReadRequest))
}
