//! The state machines of a flow. They find the class of each packet.

pub(crate) mod class;
pub(crate) mod config;
pub(crate) mod copies;
pub mod distribution;
mod goodput;
pub(crate) mod history;
pub(crate) mod holes;
pub(crate) mod measured;
pub(crate) mod on_demand;
pub(crate) mod order;
pub(crate) mod request;
mod responder_model;
pub(crate) mod response;
pub(crate) mod ring;
pub(crate) mod sequence;
pub(crate) mod shadow;
pub(crate) mod silence;
pub(crate) mod step;

use std::collections::VecDeque;

/// After a longer silence, a queue pair number may mean another queue pair.
pub(crate) const SILENCE_NS: i64 = 1_000_000_000;

/// Adds to a queue that keeps the last `most` values. Its capacity doubles, from one on: most flows never need more.
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

/// Adds what is known of a packet to a list by PSN, which keeps what came first of each, and at most `most`: where it is full, the lower half goes.
pub(crate) fn insert_by_psn<T>(list: &mut VecDeque<(u64, T)>, most: usize, x: u64, known: T) {
    if list.len() >= most {
        list.drain(..most / 2);
    }
    let at = list.partition_point(|&(before, _)| before < x);
    if list.get(at).is_none_or(|&(there, _)| there != x) {
        list.insert(at, (x, known));
    }
}

/// Keeps only the last few values of a queue, and frees memory. Returns the values before them.
fn shed_first<T>(queue: &mut VecDeque<T>) -> impl Iterator<Item = T> {
    const FEW: usize = 8;
    let last = queue.split_off(queue.len().saturating_sub(FEW));
    std::mem::replace(queue, last).into_iter()
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_track.rs"]
mod tests;
