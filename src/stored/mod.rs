//! How values are kept in the state of an analysis: their parts one behind the other, without names. So a file fits only the version that
//! wrote it.
//!
//! Numbers are written in groups of seven bits, the lowest first; of all but the last one, the eighth bit is set. A list has its length before
//! it, and its capacity: an analysis that goes on then finds as much memory in use as before, and frees it at the same frame.
//!
//! It is not serde with a format of a library's: what serde's derives make of three hundred types was two fifths of all code that the compiler
//! saw of this crate, for a file with one writer and one reader.

#[cfg(feature = "state")]
mod bytes;
#[cfg(feature = "state")]
mod headers;
#[cfg(feature = "state")]
mod values;

use hdrhistogram::{Counter, Histogram};
pub(crate) use rdmawire_derive::Stored;

#[cfg(feature = "state")]
pub(crate) use self::bytes::{Damage, Sink, Spring, TOO_LONG, TOO_SHORT, from_bytes, to_bytes};

/// A value that is kept. Nearly all derive it.
#[cfg(feature = "state")]
pub(crate) trait Stored: Sized {
    fn store(&self, to: &mut Sink<'_>);

    /// If the bytes are of no such value, that is told [to the spring](Spring::damage), and the value is any: so what reads hundreds of types is
    /// without branches.
    fn restore(from: &mut Spring<'_>) -> Self;
}

/// Each value of a histogram that came, and how often. The library's iterators begin at 0, wherever the samples are.
pub(crate) fn came<C: Counter>(histogram: &Histogram<C>) -> Vec<(u64, C)> {
    let mut all = Vec::new();
    if histogram.is_empty() {
        return all;
    }
    let mut value = histogram.lowest_equivalent(histogram.min());
    let last = histogram.lowest_equivalent(histogram.max());
    while value <= last {
        let count = histogram.count_at(value);
        if count > C::zero() {
            all.push((value, count));
        }
        match histogram.next_non_equivalent(value) {
            next if next > value => value = next,
            _ => break,
        }
    }
    all
}
