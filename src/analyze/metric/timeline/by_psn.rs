//! Ranges of PSNs in time, to be found by one of their PSNs.

use hashbrown::HashMap;

use crate::in_order::InOrder;
use crate::wire::Psn;

/// PSNs that share a list.
const WIDTH: u32 = 256;
/// A range that is in more lists than this is in the list of long ones instead.
const MOST_LISTS: u32 = 16;

/// A range of PSNs, and its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) psn: u32,
    pub(super) packets: u32,
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
}

impl Span {
    fn has(&self, psn: u32) -> bool {
        let distance = Psn(psn).distance_from(Psn(self.psn));
        (0..i64::from(self.packets)).contains(&i64::from(distance))
    }
}

/// One range in a list.
#[derive(Clone, Copy, Debug)]
struct Entry {
    span: Span,
    /// Its place among all ranges.
    at: usize,
    /// The latest end of this one and those before it.
    latest_ns: i64,
}

/// The ranges, by their PSNs.
#[derive(Debug, Default)]
pub(super) struct ByPsn {
    lists: HashMap<u32, Vec<Entry>, foldhash::fast::RandomState>,
    long: Vec<Entry>,
}

impl ByPsn {
    /// Ranges with their places, which [`earliest`](ByPsn::earliest) gives back.
    pub(super) fn of(spans: impl Iterator<Item = (usize, Span)>) -> ByPsn {
        let mut all = ByPsn::default();
        for (at, span) in spans.filter(|(_, span)| span.packets > 0) {
            let entry = Entry { span, at, latest_ns: span.to_ns };
            let (first, last) = (span.psn / WIDTH, span.psn.saturating_add(span.packets - 1) / WIDTH);
            if last - first >= MOST_LISTS {
                all.long.push(entry);
                continue;
            }
            for list in first..=last {
                all.lists.entry(list % ((1 << 24) / WIDTH)).or_default().push(entry);
            }
        }
        for list in all.lists.values_mut().chain([&mut all.long]) {
            list.order_by_key(|entry| (entry.span.from_ns, entry.at));
            let mut latest = i64::MIN;
            for entry in list {
                latest = latest.max(entry.span.to_ns);
                entry.latest_ns = latest;
            }
        }
        all
    }

    /// The range with this PSN that begins first, of those that end at or after a time and that are wanted: its place.
    pub(super) fn earliest(&self, psn: u32, after: i64, is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let of = |list: &[Entry]| {
            let from = list.partition_point(|entry| entry.latest_ns < after);
            let mut rest = list[from..].iter();
            rest.find(|entry| entry.span.to_ns >= after && entry.span.has(psn) && is_wanted(entry.at))
                .copied()
        };
        let near = self.lists.get(&(psn / WIDTH)).and_then(|list| of(list));
        let found = near.into_iter().chain(of(&self.long));
        found.min_by_key(|entry| (entry.span.from_ns, entry.at)).map(|entry| entry.at)
    }
}
