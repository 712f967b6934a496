//! The state machines of a flow: what each packet means on its connection.

pub(crate) mod class;
mod goodput;
pub(crate) mod holes;
pub(crate) mod lazy;
pub(crate) mod order;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod ring;
pub(crate) mod sequence;
mod shadow;

pub use class::{Class, Trigger};

use std::collections::VecDeque;

/// A queue pair silent for longer may be another one when it is heard again.
pub(crate) const SILENCE_NS: i64 = 1_000_000_000;

/// Adds to a queue of the last so many. Its room doubles from one on: most flows never need more.
#[inline]
fn push_last<T>(queue: &mut VecDeque<T>, most: usize, value: T) {
    if queue.len() >= most {
        queue.pop_front();
    }
    if queue.len() == queue.capacity() {
        queue.reserve_exact(queue.len().max(1));
    }
    queue.push_back(value);
}
