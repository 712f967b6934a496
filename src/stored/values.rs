//! Values of the standard library and of others.

use std::{
    borrow::Cow,
    cell::Cell,
    collections::{self, BTreeMap, BTreeSet, VecDeque},
    hash::{BuildHasher, Hash},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::Range,
};

use hashbrown::{HashMap, HashSet};
use hdrhistogram::{Counter, Histogram};

use super::{Sink, Spring, Stored, came};

/// More room than for so many values is not made in advance: what a file says may be wrong.
const MOST: usize = 1 << 13;

macro_rules! numbers {
    ($($type:ty)+) => {$(
        impl Stored for $type {
            fn store(&self, to: &mut Sink<'_>) {
                to.number(*self as u64);
            }

            fn restore(from: &mut Spring<'_>) -> $type {
                let number = from.number();
                <$type>::try_from(number).unwrap_or_else(|_| from.damage("a number that is too large"))
            }
        }
    )+};
}

numbers! { u16 u32 u64 usize }

impl Stored for u8 {
    fn store(&self, to: &mut Sink<'_>) {
        to.byte(*self);
    }

    fn restore(from: &mut Spring<'_>) -> u8 {
        from.byte()
    }
}

impl Stored for bool {
    fn store(&self, to: &mut Sink<'_>) {
        to.byte(u8::from(*self));
    }

    fn restore(from: &mut Spring<'_>) -> bool {
        match from.byte() {
            0 => false,
            1 => true,
            _ => from.damage("neither true nor false"),
        }
    }
}

/// Small ones are short, negative ones too: the sign is the lowest bit.
impl Stored for i64 {
    fn store(&self, to: &mut Sink<'_>) {
        to.number((self << 1 ^ self >> 63) as u64);
    }

    fn restore(from: &mut Spring<'_>) -> i64 {
        let number = from.number();
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }
}

macro_rules! signed {
    ($($type:ty)+) => {$(
        impl Stored for $type {
            fn store(&self, to: &mut Sink<'_>) {
                i64::from(*self).store(to);
            }

            fn restore(from: &mut Spring<'_>) -> $type {
                let number = i64::restore(from);
                <$type>::try_from(number).unwrap_or_else(|_| from.damage("a number that is too large"))
            }
        }
    )+};
}

signed! { i8 i16 i32 }

/// In two halves, the lower one first.
impl Stored for u128 {
    fn store(&self, to: &mut Sink<'_>) {
        (*self as u64, (*self >> 64) as u64).store(to);
    }

    fn restore(from: &mut Spring<'_>) -> u128 {
        let (low, high) = <(u64, u64)>::restore(from);
        u128::from(high) << 64 | u128::from(low)
    }
}

impl Stored for i128 {
    fn store(&self, to: &mut Sink<'_>) {
        (*self as u128).store(to);
    }

    fn restore(from: &mut Spring<'_>) -> i128 {
        u128::restore(from) as i128
    }
}

impl Stored for f64 {
    fn store(&self, to: &mut Sink<'_>) {
        to.bytes(&self.to_le_bytes());
    }

    fn restore(from: &mut Spring<'_>) -> f64 {
        f64::from_le_bytes(Stored::restore(from))
    }
}

impl Stored for Box<[u8]> {
    fn store(&self, to: &mut Sink<'_>) {
        to.counted(self);
    }

    fn restore(from: &mut Spring<'_>) -> Box<[u8]> {
        let len = from.number();
        from.times(len, u8::restore).collect()
    }
}

impl Stored for String {
    fn store(&self, to: &mut Sink<'_>) {
        to.counted(self.as_bytes());
    }

    fn restore(from: &mut Spring<'_>) -> String {
        let bytes = <Box<[u8]>>::restore(from).into();
        String::from_utf8(bytes).unwrap_or_else(|_| from.damage("a text that is not UTF-8"))
    }
}

impl Stored for Cow<'static, str> {
    fn store(&self, to: &mut Sink<'_>) {
        to.counted(self.as_bytes());
    }

    fn restore(from: &mut Spring<'_>) -> Self {
        Cow::Owned(String::restore(from))
    }
}

/// Of a report's open parts: as text.
impl Stored for serde_json::Value {
    fn store(&self, to: &mut Sink<'_>) {
        self.to_string().store(to);
    }

    fn restore(from: &mut Spring<'_>) -> Self {
        let text = String::restore(from);
        serde_json::from_str(&text).unwrap_or_else(|_| from.damage("a text that is not JSON"))
    }
}

macro_rules! tuples {
    ($(($($type:ident $at:tt)+))+) => {$(
        impl<$($type: Stored),+> Stored for ($($type,)+) {
            fn store(&self, to: &mut Sink<'_>) {
                $(self.$at.store(to);)+
            }

            fn restore(from: &mut Spring<'_>) -> Self {
                ($($type::restore(from),)+)
            }
        }
    )+};
}

tuples! { (A 0 B 1) (A 0 B 1 C 2) (A 0 B 1 C 2 D 3) (A 0 B 1 C 2 D 3 E 4) (A 0 B 1 C 2 D 3 E 4 F 5) }

impl Stored for () {
    fn store(&self, _: &mut Sink<'_>) {}

    fn restore(_: &mut Spring<'_>) {}
}

impl<T: Stored> Stored for Range<T> {
    fn store(&self, to: &mut Sink<'_>) {
        self.start.store(to);
        self.end.store(to);
    }

    fn restore(from: &mut Spring<'_>) -> Range<T> {
        T::restore(from)..T::restore(from)
    }
}

impl<T: Stored> Stored for Option<T> {
    fn store(&self, to: &mut Sink<'_>) {
        self.is_some().store(to);
        if let Some(value) = self {
            value.store(to);
        }
    }

    fn restore(from: &mut Spring<'_>) -> Option<T> {
        bool::restore(from).then(|| T::restore(from))
    }
}

impl<T: Stored> Stored for Box<T> {
    fn store(&self, to: &mut Sink<'_>) {
        (**self).store(to);
    }

    fn restore(from: &mut Spring<'_>) -> Box<T> {
        Box::new(T::restore(from))
    }
}

impl<T: Stored + Copy> Stored for Cell<T> {
    fn store(&self, to: &mut Sink<'_>) {
        self.get().store(to);
    }

    fn restore(from: &mut Spring<'_>) -> Cell<T> {
        Cell::new(T::restore(from))
    }
}

impl<T: Stored, const N: usize> Stored for [T; N] {
    fn store(&self, to: &mut Sink<'_>) {
        self.iter().for_each(|value| value.store(to));
    }

    fn restore(from: &mut Spring<'_>) -> [T; N] {
        std::array::from_fn(|_| T::restore(from))
    }
}

macro_rules! lists {
    ($($type:ident)+) => {$(
        impl<T: Stored> Stored for $type<T> {
            fn store(&self, to: &mut Sink<'_>) {
                to.number(self.len() as u64);
                to.number(self.capacity() as u64);
                self.iter().for_each(|value| value.store(to));
            }

            fn restore(from: &mut Spring<'_>) -> $type<T> {
                let (len, capacity) = (from.number(), usize::restore(from));
                let mut all = $type::with_capacity(capacity.min(MOST));
                all.extend(from.times(len, T::restore));
                all
            }
        }
    )+};
}

lists! { Vec VecDeque }

macro_rules! maps {
    ($($type:ty, [$($parameters:tt)+], $new:expr;)+) => {$(
        impl<$($parameters)+> Stored for $type {
            fn store(&self, to: &mut Sink<'_>) {
                to.number(self.len() as u64);
                for (key, value) in self {
                    key.store(to);
                    value.store(to);
                }
            }

            fn restore(from: &mut Spring<'_>) -> Self {
                let len = from.number();
                let mut all: Self = $new((len as usize).min(MOST));
                all.extend(from.times(len, |from| (K::restore(from), V::restore(from))));
                all
            }
        }
    )+};
}

maps! {
    HashMap<K, V, S>, [K: Stored + Eq + Hash, V: Stored, S: BuildHasher + Default],
        |room| HashMap::with_capacity_and_hasher(room, S::default());
    collections::HashMap<K, V, S>, [K: Stored + Eq + Hash, V: Stored, S: BuildHasher + Default],
        |room| collections::HashMap::with_capacity_and_hasher(room, S::default());
    BTreeMap<K, V>, [K: Stored + Ord, V: Stored], |_| BTreeMap::new();
}

macro_rules! sets {
    ($($type:ty, [$($parameters:tt)+], $new:expr;)+) => {$(
        impl<$($parameters)+> Stored for $type {
            fn store(&self, to: &mut Sink<'_>) {
                to.number(self.len() as u64);
                self.iter().for_each(|key| key.store(to));
            }

            fn restore(from: &mut Spring<'_>) -> Self {
                let len = from.number();
                let mut all: Self = $new((len as usize).min(MOST));
                all.extend(from.times(len, K::restore));
                all
            }
        }
    )+};
}

sets! {
    HashSet<K, S>, [K: Stored + Eq + Hash, S: BuildHasher + Default],
        |room| HashSet::with_capacity_and_hasher(room, S::default());
    collections::HashSet<K, S>, [K: Stored + Eq + Hash, S: BuildHasher + Default],
        |room| collections::HashSet::with_capacity_and_hasher(room, S::default());
    BTreeSet<K>, [K: Stored + Ord], |_| BTreeSet::new();
}

macro_rules! addresses {
    ($($type:ty, $bytes:literal;)+) => {$(
        impl Stored for $type {
            fn store(&self, to: &mut Sink<'_>) {
                self.octets().store(to);
            }

            fn restore(from: &mut Spring<'_>) -> $type {
                <[u8; $bytes]>::restore(from).into()
            }
        }
    )+};
}

addresses! { Ipv4Addr, 4; Ipv6Addr, 16; }

impl Stored for IpAddr {
    fn store(&self, to: &mut Sink<'_>) {
        match self {
            IpAddr::V4(address) => (false, *address).store(to),
            IpAddr::V6(address) => (true, *address).store(to),
        }
    }

    fn restore(from: &mut Spring<'_>) -> IpAddr {
        match bool::restore(from) {
            false => IpAddr::V4(Stored::restore(from)),
            true => IpAddr::V6(Stored::restore(from)),
        }
    }
}

/// With each digit it takes ten times the memory.
const MOST_DIGITS: u8 = 2;

/// The smallest and the largest value that it can tell, its digits, whether it grows, its values and how often each came.
impl<C: Counter + Stored> Stored for Histogram<C> {
    fn store(&self, to: &mut Sink<'_>) {
        (self.low(), self.high(), self.sigfig(), self.is_auto_resize(), came(self)).store(to);
    }

    fn restore(from: &mut Spring<'_>) -> Histogram<C> {
        let (low, high, digits, grows) = Stored::restore(from);
        let counts: Vec<(u64, C)> = Stored::restore(from);
        let made =
            (digits <= MOST_DIGITS).then(|| Histogram::new_with_bounds(low, high, digits).ok()).flatten();
        let counted = made.and_then(|mut histogram| {
            histogram.auto(grows);
            counts.into_iter().try_for_each(|(value, count)| histogram.record_n(value, count)).ok()?;
            Some(histogram)
        });
        counted.unwrap_or_else(|| {
            let () = from.damage("a histogram that is none of ours");
            Histogram::new(0).expect("it has bounds that are right")
        })
    }
}
