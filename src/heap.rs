//! How much memory values hold on the heap.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
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

heap! { u8 {} u16 {} u32 {} u64 {} i64 {} (u16, u16) {} }

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

impl<K, V: Heap, S> Heap for std::collections::HashMap<K, V, S> {
    /// Keys hold nothing. An estimate by the entries, for a table that was read from a file has another capacity: places are a power of
    /// two, at most seven eighths are taken, and each has a byte beside it.
    fn heap_bytes(&self) -> usize {
        let places = if self.is_empty() { 0 } else { (self.len() * 8 / 7 + 1).next_power_of_two() };
        places * (size_of::<(K, V)>() + 1) + self.values().map(Heap::heap_bytes).sum::<usize>()
    }
}

/// Of a B-tree, this is an estimate: two thirds of a node's places are taken.
const fn in_nodes(entries: usize, bytes: usize) -> usize {
    entries * bytes * 3 / 2
}

impl<K, V: Heap> Heap for BTreeMap<K, V> {
    /// Keys hold nothing.
    fn heap_bytes(&self) -> usize {
        in_nodes(self.len(), size_of::<(K, V)>()) + self.values().map(Heap::heap_bytes).sum::<usize>()
    }
}

impl<T> Heap for BTreeSet<T> {
    /// Entries hold nothing.
    fn heap_bytes(&self) -> usize {
        in_nodes(self.len(), size_of::<T>())
    }
}
