//! When a switch's watchdog would have called a pause a storm, and when it would have gone back.

use crate::{analyze::model::StormProfile, report::Storm};

/// Storms that are listed per sender and priority; the last one is extended by those after it.
const MAX_STORMS: usize = 64;

/// The watchdog of one queue.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Watchdog {
    now: Option<Stretch>,
    storms: Vec<Storm>,
}

/// Pauses that follow each other so closely that the watchdog takes them together.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Stretch {
    start: i64,
    end: i64,
    paused: i64,
    frames: u64,
    has_fired: bool,
}

impl Watchdog {
    /// A pause is over.
    pub(super) fn pause(&mut self, profile: &StormProfile, start: i64, end: i64, frames: u64) {
        let break_ns = (profile.detect_ns / 1000).saturating_mul(profile.overlooks as i64);
        let mut stretch = Stretch { start, end: start, paused: 0, frames: 0, has_fired: false };
        if let Some(old) = self.now.take() {
            let break_ns = if old.has_fired { profile.restore_ns } else { break_ns };
            match start.saturating_sub(old.end) > break_ns {
                true => self.note(profile, old, start),
                false => stretch = old,
            }
        }
        stretch.end = end;
        stretch.paused = stretch.paused.saturating_add(end.saturating_sub(start));
        stretch.frames += frames;
        let span = end.saturating_sub(stretch.start);
        let is_held = span.saturating_sub(stretch.paused) <= span / 1000 * profile.overlooks as i64;
        // One long frame is no storm: its sender does not repeat itself.
        stretch.has_fired |= span >= profile.detect_ns && is_held && stretch.frames > 1;
        self.now = Some(stretch);
    }

    /// The storms, if the capture ends at `end`.
    pub(super) fn storms(&self, profile: &StormProfile, end: i64) -> Vec<Storm> {
        let mut all = self.clone();
        if let Some(last) = all.now.take() {
            all.note(profile, last, end);
        }
        all.storms
    }

    /// A stretch is over. `until`: how far it is known that no pause followed.
    fn note(&mut self, profile: &StormProfile, stretch: Stretch, until: i64) {
        if !stretch.has_fired {
            return;
        }
        let restored = stretch.end.saturating_add(profile.restore_ns);
        let storm = Storm {
            start_ns: stretch.start,
            end_ns: stretch.end,
            frames: stretch.frames,
            fired_ns: stretch.start.saturating_add(profile.detect_ns),
            restored_ns: Some(restored).filter(|&restored| restored <= until),
        };
        if self.storms.len() < MAX_STORMS {
            self.storms.push(storm);
        } else if let Some(last) = self.storms.last_mut() {
            (last.end_ns, last.restored_ns) = (storm.end_ns, storm.restored_ns);
            last.frames += storm.frames;
        }
    }
}
