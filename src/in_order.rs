//! Sorting that is compiled once.
//!
//! The standard library's stable sort is compiled anew for each type and each comparison: some thousand lines of the compiler's own form at each of
//! a hundred places, a tenth of this library. Here it sorts places, by a comparison behind a pointer; what is left for each type is to move elements.

use std::cmp::Ordering;

/// As `sort_by` and `sort_by_key` of slices, stable too. It allocates a place for each element.
pub(crate) trait InOrder<T> {
    /// Sorts by a comparison.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);
    /// Sorts by a key of each element.
    fn order_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> InOrder<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        if self.len() < 2 {
            return;
        }
        let mut places = places(self.len(), &mut |a, b| compare(&self[a], &self[b]));
        // Each cycle of places once: what was moved is in its place.
        for first in 0..places.len() {
            let mut at = first;
            loop {
                let from = std::mem::replace(&mut places[at], at);
                if from == first || from == at {
                    break;
                }
                self.swap(at, from);
                at = from;
            }
        }
    }

    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }
}

/// Where the elements in order were.
fn places(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|&a, &b| compare(a, b));
    places
}

#[cfg(test)]
mod tests {
    use super::InOrder;

    /// All orders of seven elements with three keys.
    #[test]
    fn it_is_the_stable_sort() {
        for case in 0..7usize.pow(3) * 64 {
            let keys: Vec<usize> = (0..7).map(|n| (case * 2_654_435_761) >> (3 * n) & 3).collect();
            let rows: Vec<(usize, usize)> = keys.into_iter().enumerate().map(|(n, key)| (key, n)).collect();
            let (mut ours, mut theirs) = (rows.clone(), rows);
            ours.order_by_key(|row| row.0);
            theirs.sort_by_key(|row| row.0);
            assert_eq!(ours, theirs);
            ours.order_by(|a, b| b.1.cmp(&a.1));
            theirs.sort_by_key(|row| std::cmp::Reverse(row.1));
            assert_eq!(ours, theirs);
        }
    }
}
