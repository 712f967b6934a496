//! How values are kept in the state of an analysis, where serde has no way of its own, or not the right one.

/// Lists whose memory counts. Their capacity is kept too, so that an analysis that goes on finds the same amount of memory in use
/// as before, and frees memory at the same time.
pub(crate) mod roomy {
    use std::{collections::VecDeque, fmt, marker::PhantomData};

    use serde::{
        Deserialize, Deserializer, Serialize, Serializer,
        de::{self, SeqAccess, Visitor},
        ser::SerializeSeq,
    };

    /// More room than for so many values is not made in advance: what a file says may be wrong.
    const MOST: usize = 1 << 13;
    pub(crate) trait List {
        type Item;
        fn with_room(capacity: usize) -> Self;
        fn room(&self) -> usize;
        fn put(&mut self, item: Self::Item);
        fn all(&self) -> impl ExactSizeIterator<Item = &Self::Item>;
    }

    macro_rules! list {
        ($type:ident, $put:ident) => {
            impl<T> List for $type<T> {
                type Item = T;
                fn with_room(capacity: usize) -> Self {
                    $type::with_capacity(capacity)
                }
                fn room(&self) -> usize {
                    self.capacity()
                }
                fn put(&mut self, item: T) {
                    self.$put(item);
                }
                fn all(&self) -> impl ExactSizeIterator<Item = &T> {
                    self.iter()
                }
            }
        };
    }

    list!(Vec, push);
    list!(VecDeque, push_back);

    pub(crate) fn serialize<L, S>(list: &L, to: S) -> Result<S::Ok, S::Error>
    where
        L: List<Item: Serialize>,
        S: Serializer,
    {
        // The room comes first, as one more value.
        let mut all = to.serialize_seq(Some(list.all().len() + 1))?;
        all.serialize_element(&(list.room() as u64))?;
        list.all().try_for_each(|item| all.serialize_element(item))?;
        all.end()
    }

    pub(crate) fn deserialize<'de, L, D>(from: D) -> Result<L, D::Error>
    where
        L: List<Item: Deserialize<'de>>,
        D: Deserializer<'de>,
    {
        from.deserialize_seq(Values(PhantomData))
    }

    struct Values<L>(PhantomData<L>);

    impl<'de, L: List<Item: Deserialize<'de>>> Visitor<'de> for Values<L> {
        type Value = L;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the room of a list, and its values")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<L, A::Error> {
            let room: u64 = all.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
            let room = usize::try_from(room).unwrap_or(MOST).min(MOST);
            let mut list = L::with_room(room);
            while let Some(item) = all.next_element()? {
                list.put(item);
            }
            Ok(list)
        }
    }
}

/// [`roomy`] lists that may not be there.
pub(crate) mod roomy_option {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::roomy::{self, List};

    struct Out<'a, L>(&'a L);

    impl<L: List<Item: Serialize>> Serialize for Out<'_, L> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            roomy::serialize(self.0, to)
        }
    }

    struct In<L>(L);

    impl<'de, L: List<Item: Deserialize<'de>>> Deserialize<'de> for In<L> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<In<L>, D::Error> {
            roomy::deserialize(from).map(In)
        }
    }

    pub(crate) fn serialize<L: List<Item: Serialize>, S: Serializer>(
        list: &Option<L>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        list.as_ref().map(Out).serialize(to)
    }

    pub(crate) fn deserialize<'de, L: List<Item: Deserialize<'de>>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<L>, D::Error> {
        let list = Option::<In<L>>::deserialize(from)?;
        Ok(list.map(|In(list)| list))
    }
}

/// Arrays longer than those that serde knows.
pub(crate) mod array {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(crate) fn serialize<T: Serialize, const N: usize, S: Serializer>(
        array: &[T; N],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        array.as_slice().serialize(to)
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, const N: usize, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Box<[T; N]>, D::Error> {
        let all = Vec::<T>::deserialize(from)?;
        let len = all.len();
        all.try_into().map_err(|_| D::Error::invalid_length(len, &"an array of its length"))
    }
}
pub(crate) mod histogram {
    use hdrhistogram::{Counter, Histogram};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    /// The smallest and the largest value that it can tell, its digits, whether it grows, its values and how often each came.
    type Kept<C> = (u64, u64, u8, bool, Vec<(u64, C)>);

    /// With each digit it takes ten times the memory.
    const MOST_DIGITS: u8 = 2;

    pub(crate) fn serialize<C, S>(histogram: &Histogram<C>, to: S) -> Result<S::Ok, S::Error>
    where
        C: Counter + Serialize,
        S: Serializer,
    {
        let (low, high, digits) = (histogram.low(), histogram.high(), histogram.sigfig());
        (low, high, digits, histogram.is_auto_resize(), values(histogram)).serialize(to)
    }

    /// Each value that came, and how often. The library's iterators begin at 0, wherever the samples are.
    pub(crate) fn values<C: Counter>(histogram: &Histogram<C>) -> Vec<(u64, C)> {
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

    pub(crate) fn deserialize<'de, C, D>(from: D) -> Result<Histogram<C>, D::Error>
    where
        C: Counter + Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let (low, high, digits, grows, values): Kept<C> = Deserialize::deserialize(from)?;
        if digits > MOST_DIGITS {
            return Err(D::Error::custom("a histogram that is none of ours"));
        }
        let mut histogram = Histogram::new_with_bounds(low, high, digits).map_err(D::Error::custom)?;
        histogram.auto(grows);
        for (value, count) in values {
            histogram.record_n(value, count).map_err(D::Error::custom)?;
        }
        Ok(histogram)
    }
}
