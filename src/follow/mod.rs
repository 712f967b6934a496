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
