//! How much memory values hold on the heap.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, Hash},
};

use hashbrown::HashMap;

/// A value that may hold memory on the heap.
pub(crate) trait Heap {
    /// Bytes on the heap, those of its parts included, without the value itself.
    fn heap_bytes(&self) -> usize;
}

/// Types, each with its fields that hold memory: `heap! { Burst { flows, senders } Sender {} }`.
macro_rules! heap {
    ($($type:ty { $($field:tt),* })+) => {$(
        impl $crate::heap::Heap for $type {
            #[inline]
            fn heap_bytes(&self) -> usize {
                0 $(+ $crate::heap::Heap::heap_bytes(&self.$field))*
            }
        }
    )+};
}
pub(crate) use heap;

heap! { u8 {} u16 {} u32 {} u64 {} i64 {} }

impl<T: Heap> Heap for [T] {
    fn heap_bytes(&self) -> usize {
        self.iter().map(Heap::heap_bytes).sum()
    }
}

impl<T: Heap, const N: usize> Heap for [T; N] {
    fn heap_bytes(&self) -> usize {
        self[..].heap_bytes()
    }
}

impl<T: Heap> Heap for Vec<T> {
    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<T>() + self[..].heap_bytes()
    }
}

impl<T: Heap> Heap for VecDeque<T> {
    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<T>() + self.iter().map(Heap::heap_bytes).sum::<usize>()
    }
}

impl<T: Heap + ?Sized> Heap for Box<T> {
    fn heap_bytes(&self) -> usize {
        size_of_val(&**self) + (**self).heap_bytes()
    }
}

impl<T: Heap> Heap for Option<T> {
    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, Heap::heap_bytes)
    }
}

impl<K: Hash + Eq, V: Heap, S: BuildHasher> Heap for HashMap<K, V, S> {
    /// Keys hold nothing.
    fn heap_bytes(&self) -> usize {
        self.allocation_size() + self.values().map(Heap::heap_bytes).sum::<usize>()
    }
}
