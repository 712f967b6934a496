//! Pauses one by one, as many as there is room for.

use std::collections::BTreeMap;

use crate::{analyze::network::Paused, wire::Mac};

/// Pauses that are kept of each priority, of all senders together.
const MAX_KEPT: usize = 1 << 18;

/// By sender and priority, in the order of time.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Pauses(BTreeMap<(u16, Mac, Option<u8>), Vec<Paused>>);

impl Pauses {
    /// Adds a pause. If there are too many of its source, two and the time between them become one.
    pub(super) fn add(&mut self, paused: &Paused) {
        let most = MAX_KEPT / self.0.len().max(1);
        let kept = self.0.entry((paused.interface, paused.sender, paused.priority)).or_default();
        kept.push(paused.clone());
        if kept.len() > most {
            let joined = |two: &[Paused]| {
                let frames = two.iter().map(|one| one.frames).sum();
                Some(Paused { end_ns: two.last()?.end_ns, frames, ..two.first()?.clone() })
            };
            *kept = kept.chunks(2).filter_map(joined).collect();
        }
    }

    pub(super) fn all(&self) -> Vec<Paused> {
        self.0.values().flatten().cloned().collect()
    }
}
