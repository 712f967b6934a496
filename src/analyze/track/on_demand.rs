//! State that most flows never need. It is allocated on the first write.

use std::ops::{Deref, DerefMut};

use crate::heap::Heap;

/// A value that is allocated on the first write. Before that, it reads as the default.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(crate) struct OnDemand<T>(Option<Box<T>>);

/// A type whose default can be lent.
pub(crate) trait Quiet: Default + 'static {
    /// A reference to the default.
    fn quiet() -> &'static Self;
}

impl<T> OnDemand<T> {
    /// The value, if it was ever written to.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// The value for changes, if it was ever written to.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T: Heap> Heap for OnDemand<T> {
    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

impl<T> Default for OnDemand<T> {
    fn default() -> Self {
        OnDemand(None)
    }
}

impl<T: Quiet> Deref for OnDemand<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => T::quiet(),
        }
    }
}

impl<T: Quiet> DerefMut for OnDemand<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

/// Lends the default of a type.
macro_rules! quiet {
    ($type:ty) => {
        impl $crate::analyze::track::on_demand::Quiet for $type {
            fn quiet() -> &'static $type {
                static QUIET: std::sync::LazyLock<$type> = std::sync::LazyLock::new(Default::default);
                &QUIET
            }
        }
    };
}
pub(crate) use quiet;
