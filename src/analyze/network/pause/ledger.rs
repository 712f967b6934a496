//! The pauses that one sender asked for at one priority.

use std::collections::VecDeque;

use super::{
    PauseSource, Paused,
    storm::Watchdog,
    tree::{MAX_SPANS, Span},
};
use crate::{
    analyze::model::StormProfile,
    report::{Pause, PauseEnd, PauseInterval, Reason},
    wire::quanta_ns,
};

/// Pauses that are listed in the report.
const MAX_LISTED: usize = 256;
/// Pauses that are remembered for the flows that they stop.
const MAX_RECENT: usize = 1024;

/// A frame that asks for pauses, or ends some.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) now: i64,
    pub(super) number: u64,
    /// The speed of its link.
    pub(super) speed_bps: Option<u64>,
    /// A packet was marked just before it, or a CNP sent.
    pub(super) after_mark: bool,
}

#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Ledger {
    frames: u64,
    xoff: u64,
    xon: u64,
    stray_xon: u64,
    refreshes: u64,
    quanta: u64,
    first_frame: u64,
    intervals: u64,
    /// Pauses that began soon after a mark or a CNP.
    after_marks: u64,
    paused_ns: i64,
    longest_ns: i64,
    ended: [u64; PauseEnd::ALL.len()],
    /// The pause that has not ended.
    open: Option<Open>,
    /// The last pauses, where the source has a number.
    recent: Option<VecDeque<(i64, i64)>>,
    /// The first pauses.
    listed: Vec<PauseInterval>,
    /// All pauses, for the [tree](super::tree): the first ones of all senders.
    spans: Vec<Span>,
    /// How many of these are counted among those of all senders.
    counted: usize,
    watchdog: Watchdog,
}

/// One pause.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(super) struct Open {
    frame: u64,
    pub(super) start: i64,
    /// When it ended, or its timer runs out; without the link's speed, never.
    pub(super) end: i64,
    /// The link's speed is known.
    is_timed: bool,
    frames: u64,
}

impl Open {
    fn span(&self) -> Span {
        let &Open { start, end, frame, .. } = self;
        Span { start, end, frame }
    }

    pub(super) fn told(&self, source: PauseSource) -> Paused {
        Paused {
            interface: source.interface,
            sender: source.sender,
            priority: source.one_priority(),
            start_ns: self.start,
            end_ns: if self.is_timed { self.end } else { self.start },
            frames: self.frames,
        }
    }
}

/// A pause that is over, and whether it is in the list.
pub(super) struct Ended {
    pub(super) pause: Open,
    pub(super) is_listed: bool,
}

impl Ledger {
    pub(super) fn is_used(&self) -> bool {
        self.frames > 0
    }

    pub(super) fn is_remembered(&self) -> bool {
        self.recent.is_some()
    }

    /// Remembers pauses from now on.
    pub(super) fn remember(&mut self) {
        self.recent = Some(VecDeque::new());
    }

    pub(super) fn open(&self) -> Option<Open> {
        self.open
    }

    /// The pause that has not ended, as one that ends at this time, or before when its timer runs out.
    pub(super) fn open_until(&self, end: i64) -> Option<Open> {
        self.open.map(|open| Open { end: open.end.min(end).max(open.start), ..open })
    }

    /// The pauses that it remembers and that ended after this time: begin and end, the last one first.
    pub(super) fn since(&self, from: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        let open = self.open.map(|open| (open.start, open.end));
        let recent = self.recent.iter().flatten().rev().take_while(move |(_, end)| *end > from);
        open.into_iter().chain(recent.copied())
    }

    /// Until when its pauses reach; `None` where that is not known, or it has none.
    pub(super) fn reach(&self) -> Option<i64> {
        let last = self.recent.as_ref().and_then(|recent| recent.back()).map(|&(_, end)| end);
        self.open.map(|open| open.end).or(last).filter(|&end| end < i64::MAX)
    }

    /// Whether a pause was in this time; of those before the last one, it may say so too.
    pub(super) fn overlaps(&self, from: i64, to: i64) -> bool {
        let last = self.recent.as_ref().and_then(|recent| recent.back());
        self.open.is_some_and(|open| open.start < to && open.end > from && open.end < i64::MAX)
            || last.is_some_and(|&(_, end)| end > from && end < i64::MAX)
    }

    /// How long it paused until now.
    pub(super) fn paused_ns(&self, now: i64) -> i64 {
        let open = self.open.map_or(0, |open| open.end.min(now).saturating_sub(open.start).max(0));
        self.paused_ns.saturating_add(open)
    }

    /// The pauses of the [tree](super::tree), if the capture ends at this time.
    pub(super) fn spans(&self, end: i64) -> Vec<Span> {
        let open = self.open_until(end).map(|open| open.span());
        self.spans.iter().copied().chain(open).collect()
    }

    /// A frame about this priority. Returns the pause that it ended.
    pub(super) fn on_frame(
        &mut self,
        frame: Frame,
        quanta: u16,
        profile: &StormProfile,
        may_list: bool,
    ) -> Option<Ended> {
        let Frame { now, number, speed_bps, after_mark } = frame;
        if self.frames == 0 {
            self.first_frame = number;
        }
        self.frames += 1;
        let mut ended = None;
        if self.open.is_some_and(|open| now >= open.end) {
            ended = self.close(i64::MAX, PauseEnd::Expired, profile, may_list);
        }
        if quanta == 0 {
            self.xon += 1;
            match self.open {
                Some(_) => ended = self.close(now, PauseEnd::Xon, profile, may_list),
                None => self.stray_xon += 1,
            }
            return ended;
        }
        self.xoff += 1;
        self.quanta += quanta as u64;
        let end = speed_bps.map_or(i64::MAX, |bps| now.saturating_add(quanta_ns(quanta, bps)));
        match &mut self.open {
            Some(open) => {
                self.refreshes += 1;
                open.end = end;
                open.frames += 1;
            }
            None => {
                self.after_marks += after_mark as u64;
                let is_timed = speed_bps.is_some();
                self.open = Some(Open { frame: number, start: now, end, is_timed, frames: 1 });
            }
        }
        ended
    }

    /// The pause ends at `now`, or before that, when its timer runs out.
    fn close(&mut self, now: i64, how: PauseEnd, profile: &StormProfile, may_list: bool) -> Option<Ended> {
        let how = if self.open?.end <= now { PauseEnd::Expired } else { how };
        let pause = self.open_until(now)?;
        self.open = None;
        let Open { frame, start, end, frames, .. } = pause;
        let lasted = end.saturating_sub(start);
        self.intervals += 1;
        self.ended[how as usize] += 1;
        self.paused_ns = self.paused_ns.saturating_add(lasted);
        self.longest_ns = self.longest_ns.max(lasted);
        if let Some(recent) = &mut self.recent {
            if recent.len() >= MAX_RECENT {
                recent.pop_front();
            }
            recent.push_back((start, end));
        }
        self.spans.push(pause.span());
        self.watchdog.pause(profile, start, end, frames);
        let is_listed = may_list && self.listed.len() < MAX_LISTED;
        if is_listed {
            self.listed.push(PauseInterval { frame, start_ns: start, end_ns: end, end: how, frames });
        }
        Some(Ended { pause, is_listed })
    }

    /// Drops the last pause of its history if all senders together have too many. `counted`: those of all senders so far, but for
    /// that one; a frame ends one pause at most.
    pub(super) fn bound(&mut self, counted: &mut usize, not_kept: &mut u64) {
        let new = self.spans.len() - self.counted;
        if *counted + new > MAX_SPANS {
            self.spans.truncate(self.counted);
            *not_kept += new as u64;
        } else {
            *counted += new;
            self.counted = self.spans.len();
        }
    }

    /// Its row of the report, if the capture ends at this time.
    pub(super) fn row(&self, profile: &StormProfile, has_speed: bool, end: i64) -> Pause {
        let mut ended = self.clone();
        ended.close(end, PauseEnd::CaptureEnd, profile, true);
        let known = |value: u64| has_speed.then_some(value);
        let mut row = Pause {
            frames: self.frames,
            xoff: self.xoff,
            xon: self.xon,
            stray_xon: known(self.stray_xon),
            refreshes: known(self.refreshes),
            intervals: known(ended.intervals),
            after_marks: known(self.after_marks),
            paused_ns: known(ended.paused_ns as u64),
            longest_ns: known(ended.longest_ns as u64),
            quanta: self.quanta,
            first_frame: self.first_frame,
            ..Pause::default()
        };
        if has_speed {
            let all = PauseEnd::ALL.into_iter().zip(ended.ended);
            row.ended = all.filter(|(_, count)| *count > 0).collect();
            row.storms = Some(ended.watchdog.storms(profile, end));
            row.ledger = ended.listed;
        } else {
            const NEED_SPEED: [&str; 10] = [
                "stray_xon",
                "refreshes",
                "intervals",
                "after_marks",
                "paused_ns",
                "longest_ns",
                "duty_ratio",
                "ended",
                "ledger",
                "storms",
            ];
            row.why = NEED_SPEED.map(|field| (field.into(), Reason::UnknownSpeed)).into();
        }
        row
    }
}
