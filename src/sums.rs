//! Sums of several fields at once.

/// A field of a sum.
pub(crate) trait Sum {
    fn add(&mut self, other: &Self);
}

/// Adds fields of another value: `sums! { self += other: packets, bytes }`. Flags become true if either is.
macro_rules! sums {
    ($to:ident += $from:ident: $($field:ident),+ $(,)?) => {
        $($crate::sums::Sum::add(&mut $to.$field, &$from.$field);)+
    };
}
pub(crate) use sums;

impl Sum for u32 {
    fn add(&mut self, other: &u32) {
        *self = self.saturating_add(*other);
    }
}

impl Sum for u64 {
    fn add(&mut self, other: &u64) {
        *self = self.saturating_add(*other);
    }
}

impl Sum for bool {
    fn add(&mut self, other: &bool) {
        *self |= *other;
    }
}

impl<T: Sum, const N: usize> Sum for [T; N] {
    fn add(&mut self, other: &[T; N]) {
        self.iter_mut().zip(other).for_each(|(sum, other)| sum.add(other));
    }
}
