//! Ways that can be of no collective, by what their messages look like: the view lets go of them, and where none is left it ends, until
//! something else may begin it. So storage, key-value stores and benchmarks, whose WRITEs may be as long as clear-to-send elements, pay for
//! their first messages only.

use std::collections::BTreeMap;

use super::{
    Chunk, Collectives, MAX_WAYS, MOST_SLOTS,
    pattern::are_elements,
    way::{Role, Way},
};
use crate::analyze::packet::{Glimpse, key::Key};

/// Messages of a way after which it is judged; and again whenever there are twice as many. A request has up to eight messages, and one that
/// ends it.
const FIRST_LOOK: usize = 16;

impl Collectives {
    /// Whether the view may begin with a packet of this way.
    #[inline(always)]
    pub(crate) fn may_begin_with(&self, key: &Key) -> bool {
        self.dismissed.is_empty() || !self.dismissed.contains_key(key)
    }

    /// Whether the view begins with a packet.
    #[inline(never)]
    pub(super) fn begins(&self, key: &Key, glimpse: &Glimpse) -> bool {
        // Where there is no room for more, only an element does: that it is one, its fields say.
        let is_full = self.dismissed.len() >= MAX_WAYS && glimpse.slot.is_none();
        glimpse.begins_view() && !is_full && self.may_begin_with(key)
    }

    /// A way has one more message of no request: it may be enough to say that it never has another kind.
    #[inline(always)]
    pub(super) fn judge(&mut self, at: u32) {
        let count = self.ways.get(at as usize).map_or(0, |way| way.loose.len());
        if count >= FIRST_LOOK && count.is_power_of_two() && !self.may_be_of_any(at) {
            self.dismiss(at);
        }
    }

    #[inline(never)]
    fn may_be_of_any(&self, at: u32) -> bool {
        if self.ways.get(at as usize).is_some_and(|way| way.role != Role::Unknown) {
            return true;
        }
        let messages = self.messages(at);
        messages.iter().any(|chunk| chunk.is_ended) || are_elements(&messages) && go_around(&messages)
    }

    #[inline(never)]
    fn dismiss(&mut self, at: u32) {
        let Some(way) = self.ways.get_mut(at as usize) else { return };
        let (pair, place) = (way.key.pair(), way.loose_place as usize);
        way.dismiss();
        let Some(loose) = self.loose.get_mut(&pair) else { return };
        if place < loose.len() {
            loose.swap_remove(place);
        }
        match loose.get(place) {
            Some(&moved) => self.ways[moved as usize].loose_place = place as u32,
            None if loose.is_empty() => _ = self.loose.remove(&pair),
            None => {}
        }
        if self.loose.is_empty() && self.connections.is_empty() {
            self.end();
        }
    }

    /// There is no room for another message: where none was of a request, the view ends.
    #[cold]
    #[inline(never)]
    pub(super) fn fill(&mut self) {
        self.not_kept += 1;
        if self.is_full {
            return;
        }
        self.is_full = true;
        if self.connections.is_empty() && self.settled().connections.is_empty() {
            self.end();
        }
    }

    /// All that is left are the ways that do not begin it again.
    fn end(&mut self) {
        let had_messages = |way: &&Way| way.is_dismissed || !way.loose.is_empty();
        let mut dismissed = std::mem::take(&mut self.dismissed);
        let room = MAX_WAYS.saturating_sub(dismissed.len());
        dismissed.extend(self.ways.iter().filter(had_messages).map(|way| (way.key, ())).take(room));
        *self = Collectives { dismissed, pauses: std::mem::take(&mut self.pauses), ..Collectives::default() };
    }
}

/// Whether messages go to one place after the other, as elements go to slots; or nobody knows where.
fn go_around(messages: &[&Chunk]) -> bool {
    let mut steps: BTreeMap<u64, usize> = BTreeMap::new();
    for pair in messages.windows(2) {
        *steps.entry(pair[1].va.wrapping_sub(pair[0].va)).or_insert(0) += 1;
    }
    let often = steps.into_iter().max_by_key(|&(_, times)| times);
    let is_known = messages.iter().any(|chunk| (chunk.va, chunk.rkey) != (0, 0));
    let is_onward = often.is_some_and(|(step, times)| step != 0 && 2 * times >= messages.len() - 1);
    let mut places: Vec<u64> = messages.iter().map(|chunk| chunk.va).collect();
    places.sort_unstable();
    places.dedup();
    // Of twice as many elements as there are slots, some go to the same ones.
    !is_known || is_onward && (messages.len() < 2 * MOST_SLOTS || places.len() <= MOST_SLOTS)
}

#[cfg(test)]
#[path = "../../../../tests/unit/analyze_metric_collective_dismissed.rs"]
mod tests;
