//! What a tap does to the order and the times of its record: queues that are written out of order, mirrors that are late, clocks that
//! jitter or are apart.

use super::{
    Side, Tap,
    engine::{Capture, Sighting},
    label::Label,
};

impl Capture {
    /// At the end: sorts the record into the order of the file, and stamps it.
    pub(super) fn untidy(&mut self) {
        let Tap { unsorted, mirror_jitter, stamp_jitter, left_ahead, bond_ahead, flush, queues, .. } =
            self.tap;
        let faults = [unsorted, mirror_jitter, stamp_jitter, left_ahead, bond_ahead, flush];
        if faults.iter().all(|fault| fault.0 == 0) {
            return;
        }
        for sighting in &mut self.sightings {
            // The recorder stamps a frame when the mirror brings it.
            sighting.time += self.rng.below(mirror_jitter.0 + 1);
            if sighting.way == Side::Left {
                sighting.time += left_ahead.0;
            }
            if bond_ahead.0 > 0 && self.rng.chance(0.5) {
                sighting.time += bond_ahead.0;
            }
        }
        let mut order: Vec<_> = (0..)
            .zip(&self.sightings)
            .map(|(i, s)| match s.time.checked_div(flush.0) {
                Some(round) => ((round, i % queues, s.time), i),
                None => ((s.time + self.rng.below(unsorted.0 + 1), 0, 0), i),
            })
            .collect();
        order.sort_unstable();
        self.order = order.into_iter().map(|(_, i)| i).collect();
        if stamp_jitter.0 > 0 {
            for sighting in &mut self.sightings {
                let stamp = sighting.time + self.rng.below(2 * stamp_jitter.0 + 1);
                sighting.time = stamp.saturating_sub(stamp_jitter.0);
            }
        }
    }

    /// Whether only the record has an order: the clocks of bonded links are apart, and the record has the order of their stamps.
    pub(super) fn is_told_by_record(&self) -> bool {
        let Tap { unsorted, stamp_jitter, bond_ahead, flush, .. } = self.tap;
        bond_ahead.0 > 0 && [unsorted, stamp_jitter, flush].iter().all(|fault| fault.0 == 0)
    }

    /// The sighting at this place of the file, counted with those that are not recorded.
    pub(super) fn at(&self, place: usize) -> Option<&Sighting> {
        match self.order.get(place) {
            Some(&i) => self.sightings.get(i as usize),
            None if self.order.is_empty() => self.sightings.get(place),
            None => None,
        }
    }

    /// All sightings, in the order of the file.
    pub(super) fn in_file(&self) -> impl Iterator<Item = &Sighting> {
        (0..self.sightings.len()).filter_map(|place| self.at(place))
    }

    /// Sorts labels from the order in which frames passed into the order of the file.
    pub(super) fn written(&self, labels: Vec<Label>) -> Vec<Label> {
        if self.order.is_empty() {
            return labels;
        }
        let mut place = 0;
        let frames: Vec<usize> = self
            .sightings
            .iter()
            .map(|sighting| {
                place += sighting.recorded as usize;
                place
            })
            .collect();
        let recorded = |&&i: &&u32| self.sightings[i as usize].recorded;
        let order: Vec<usize> = self.order.iter().filter(recorded).map(|&i| frames[i as usize] - 1).collect();
        let mut now_at = vec![0; labels.len()];
        for (at, &before) in (1..).zip(&order) {
            now_at[before] = at;
        }
        let original = |frame: u32| now_at.get(frame as usize - 1).copied().unwrap_or(frame);
        order.iter().map(|&i| Label { original: labels[i].original.map(original), ..labels[i] }).collect()
    }
}
