//! Samples as they are: most fit into 32 bits.

use crate::{
    heap::{Heap, heap},
    prefetch,
};

use super::Totals;

#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) enum Samples {
    Narrow(Vec<u32>),
    /// Boxed, so that flows are smaller.
    Wide(Box<Wide>),
}

#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) struct Wide(Vec<u64>);

heap! { Wide { 0 } }

impl Default for Samples {
    fn default() -> Samples {
        Samples::Narrow(Vec::new())
    }
}

impl Samples {
    /// Equal samples.
    pub(super) fn of(value: u64, count: u64) -> Samples {
        match u32::try_from(value) {
            Ok(value) => Samples::Narrow(vec![value; count as usize]),
            Err(_) => Samples::Wide(Box::new(Wide(vec![value; count as usize]))),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, value: u64) {
        match (&mut *self, u32::try_from(value)) {
            (Samples::Narrow(list), Ok(value)) => list.push(value),
            (Samples::Wide(list), _) => list.0.push(value),
            (Samples::Narrow(_), Err(_)) => self.widen(value),
        }
    }

    #[cold]
    fn widen(&mut self, value: u64) {
        let mut list = self.all();
        list.push(value);
        *self = Samples::Wide(Box::new(Wide(list)));
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Samples::Narrow(list) => list.len(),
            Samples::Wide(list) => list.0.len(),
        }
    }

    /// Prefetches the place of the next sample.
    #[inline]
    pub(super) fn fetch(&self) {
        match self {
            Samples::Narrow(list) => list.last().into_iter().for_each(prefetch::line),
            Samples::Wide(list) => list.0.last().into_iter().for_each(prefetch::line),
        }
    }

    /// Calls `show` with each.
    pub(super) fn each(&self, show: impl FnMut(u64)) {
        match self {
            Samples::Narrow(list) => list.iter().map(|&value| value.into()).for_each(show),
            Samples::Wide(list) => list.0.iter().copied().for_each(show),
        }
    }

    pub(super) fn all(&self) -> Vec<u64> {
        let mut all = Vec::with_capacity(self.len() + 1);
        self.each(|value| all.push(value));
        all
    }

    pub(super) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.each(|value| totals.add(value));
        totals
    }
}

impl Heap for Samples {
    fn heap_bytes(&self) -> usize {
        match self {
            Samples::Narrow(list) => list.heap_bytes(),
            Samples::Wide(list) => list.heap_bytes(),
        }
    }
}
