//! What a tap does to the order of its record: queues that are written out of order, mirrors that are late.

use super::{
    engine::{Capture, Sighting},
    label::Label,
};

impl Capture {
    /// At the end: sorts the record into the order of the file.
    pub(super) fn untidy(&mut self) {
        let (unsorted, jitter) = (self.tap.unsorted.0, self.tap.mirror_jitter.0);
        if unsorted == 0 && jitter == 0 {
            return;
        }
        for sighting in &mut self.sightings {
            // The recorder stamps a frame when the mirror brings it.
            sighting.time += self.rng.below(jitter + 1);
        }
        let mut order: Vec<(u64, u32)> =
            (0..).zip(&self.sightings).map(|(i, s)| (s.time + self.rng.below(unsorted + 1), i)).collect();
        order.sort_unstable();
        self.order = order.into_iter().map(|(_, i)| i).collect();
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
