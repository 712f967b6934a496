//! Which pauses stopped a flow, and what that did to its messages.
//!
//! A pause stops a flow that falls silent when the pause begins, and sends again only when it is over. A flow that still sends in a pause
//! later than the paused end needs is not stopped by it: it goes the other way, or its sender does not honor pauses. It may fall silent
//! later, for it gets no acknowledgements any more: that is no pause of it.

use super::gap::{Gap, Part};
use crate::{
    analyze::{model::Trigger, network::pause::Stop},
    report::{PauseEffect, TimeCause},
};

/// Sources of pauses that are kept of a flow: on a long path, each link has one.
const MAX_SOURCES: usize = 16;
/// A sender that goes on so soon after a pause had waited for its end.
pub(super) const HELD_NS: i64 = 5_000;
/// What the pauses of one source did to one flow.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(super) struct Stopped {
    pub(super) source: u8,
    /// When the flow began on that link.
    pub(super) start: i64,
    /// How long it was silent in them.
    pub(super) ns: u64,
    /// Messages that they stopped in the middle, and messages that had begun and were not acknowledged when they ended.
    pub(super) messages: u64,
    pub(super) spanning: u64,
    /// Messages, from the flow's first one on, up to which `spanning` has them: each counts once, however many pauses it waits for.
    counted: u64,
    /// Timeouts because of them, and the packets that were retransmitted then.
    pub(super) timeouts: u64,
    pub(super) resent: u64,
    /// When the last pause of them began: where several taps record the flow on one link, it may be told of twice.
    last: i64,
}

impl Stopped {
    fn new(source: u8, start: i64) -> Stopped {
        Stopped { source, start, last: i64::MIN, ..Stopped::default() }
    }

    /// The same, silent for no longer than this.
    pub(super) fn for_at_most(self, ns: u64) -> Stopped {
        Stopped { ns: self.ns.min(ns), ..self }
    }

    /// Adds it to what the source's pauses did to other flows.
    pub(super) fn add_to(&self, effect: &mut PauseEffect) {
        effect.flows += 1;
        effect.effective_ns = effect.effective_ns.max(self.ns);
        effect.messages_stopped += self.messages;
        effect.messages_spanning += self.spanning;
        effect.timeouts += self.timeouts;
        effect.retransmits += self.resent;
    }
}

/// Messages of a flow that were acknowledged on its link by a time, from its first one on; `None` where that is not known.
pub(super) type Done<'a> = dyn Fn(i64) -> Option<u64> + 'a;

/// The last pause that stopped a flow.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Last {
    source: u8,
    since: i64,
    until: i64,
}

/// The pauses of all sources that stopped one flow.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Stops {
    of: Vec<Stopped>,
    last: Option<Last>,
    /// The sources whose pauses the flow's last timeout was in: on several links at once, perhaps.
    timed_out_in: Vec<u8>,
    /// Retransmitted packets when it was last heard of.
    retransmits: Option<u64>,
}

/// A silence on one of the flow's links, without what is known of its causes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quiet {
    /// When the flow began there.
    pub(super) start: i64,
    pub(super) from: i64,
    /// Messages: that were stopped in the middle, and that were not acknowledged at the end.
    pub(super) is_within: bool,
    pub(super) messages: u32,
    /// Messages that had begun before it, from the flow's first one on.
    pub(super) begun: Option<u64>,
    /// Nothing ended it but the end of the capture; and how long the flow is silent at most without being over, as far as is known.
    pub(super) open: Option<i64>,
}

impl From<&Gap> for Quiet {
    fn from(gap: &Gap) -> Quiet {
        let &Gap { start, from, is_within, messages, begun, .. } = gap;
        Quiet { start, from, is_within, messages, begun, open: None }
    }
}

impl Quiet {
    /// Whether it began with this pause, and the pause was over first, or the capture.
    pub(super) fn is_of(&self, stop: &Stop) -> bool {
        let is_expected =
            |usual: i64| self.is_within || self.messages > 0 || stop.since.saturating_sub(self.from) <= usual;
        self.from <= stop.due && (stop.is_over || self.open.is_some_and(is_expected))
    }
}

/// Pauses in a silence.
#[derive(Clone, Copy)]
pub(super) enum Pauses<'a> {
    /// Of the link where the silence shows.
    Own(&'a [Stop]),
    /// Of another link on the flow's way: they hold its packets and their answers, and its sender only by that.
    Elsewhere(&'a [Stop]),
}

/// Calls `on_part` with each part of a silence in which a pause held the sender, or its answers: its number, the pause, and how long.
pub(super) fn held(
    gap: &Gap,
    parts: &[Part; 3],
    pauses: Pauses<'_>,
    mut on_part: impl FnMut(usize, &Stop, i64),
) {
    let (stops, is_own) = match pauses {
        Pauses::Own(stops) => (stops, true),
        Pauses::Elsewhere(stops) => (stops, false),
    };
    // A packet within a pause shows that its sender is not stopped; but the answers that it waits for may be.
    let on_its_way = gap.rtt.map_or(HELD_NS, |rtt| HELD_NS + i64::from(rtt));
    let is_unanswered = |stop: &Stop| gap.is_unanswered_at(stop.since.saturating_add(on_its_way));
    for (at, part) in parts.iter().enumerate() {
        let may_be_paused = gap.may_be_paused(part, stops);
        let stops_it = |stop: &&Stop| is_own && stop.is_over && may_be_paused || is_unanswered(stop);
        // Pauses of both ends may overlap.
        let mut until = i64::MIN;
        for stop in stops.iter().filter(stops_it) {
            let stopped = within(&Stop { from: stop.from.max(until), ..*stop }, part);
            until = until.max(stop.to);
            if stopped > 0 {
                on_part(at, stop, stopped);
            }
        }
    }
}

fn within(stop: &Stop, part: &Part) -> i64 {
    stop.to.min(part.to).saturating_sub(stop.from.max(part.from)).max(0)
}

impl Gap {
    /// Whether a pause may have held the sender in this part: it had something to send, or goes on as soon as the last pause is over.
    fn may_be_paused(&self, part: &Part, stops: &[Stop]) -> bool {
        // Before its READ was asked for, a pause that held anything held the request.
        let end = if self.is_data() && part.cause == TimeCause::Idle { part.to } else { self.to };
        let last = stops.iter().rev().find(|stop| stop.from < end);
        let is_held = last.is_some_and(|last| last.is_over && end.saturating_sub(last.to) <= HELD_NS);
        part.cause != TimeCause::Idle || is_held
    }
}

impl Stops {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Stopped> {
        self.of.iter()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.of.capacity() * size_of::<Stopped>()
    }

    fn entry(&mut self, source: u8, start: i64) -> Option<&mut Stopped> {
        let at = match self.of.iter().position(|known| known.source == source) {
            Some(at) => at,
            None if self.of.len() >= MAX_SOURCES => return None,
            None => {
                self.of.push(Stopped::new(source, start));
                self.of.len() - 1
            }
        };
        self.of.get_mut(at)
    }

    /// Takes a silence of requests or READ data on the link where the flow is seen first.
    /// `done`: messages that were acknowledged there by a time.
    pub(super) fn take(&mut self, gap: &Gap, parts: &[Part; 3], stops: &[Stop], done: &Done<'_>) {
        let quiet = Quiet::from(gap);
        for stop in stops.iter().filter(|stop| quiet.is_of(stop)) {
            let may = |part: &&Part| gap.may_be_paused(part, stops);
            let ns = parts.iter().filter(may).map(|part| within(stop, part)).sum();
            self.stopped(&quiet, stop, ns, done);
        }
    }

    /// Takes a silence whose causes are not known: on another link, or one that the end of the capture ends. Returns whether a pause
    /// holds at its end.
    pub(super) fn take_quiet(&mut self, quiet: &Quiet, stops: &[Stop], done: &Done<'_>) -> bool {
        let mut is_held = false;
        for stop in stops.iter().filter(|stop| quiet.is_of(stop)) {
            self.stopped(quiet, stop, stop.to.saturating_sub(stop.from), done);
            is_held |= !stop.is_over;
        }
        is_held
    }

    fn stopped(&mut self, quiet: &Quiet, stop: &Stop, ns: i64, done: &Done<'_>) {
        let Some(known) = self.entry(stop.source, quiet.start).filter(|_| ns > 0) else { return };
        if std::mem::replace(&mut known.last, stop.since) == stop.since {
            return;
        }
        known.ns = known.ns.saturating_add(ns as u64);
        known.messages += quiet.is_within as u64;
        known.spanning += match quiet.begun {
            None => u64::from(quiet.messages),
            Some(begun) => {
                // Acknowledgements may come between the end of the pause and that of the silence.
                let done = done(stop.to).unwrap_or(begun.saturating_sub(quiet.messages.into()));
                let new = begun.saturating_sub(done.max(known.counted));
                known.counted = known.counted.max(begun);
                new
            }
        };
        self.last = Some(Last { source: stop.source, since: stop.since, until: stop.to });
    }

    /// A packet was retransmitted, or not, after a silence. `paused`: the sources of the pauses that took most of it, on any link of the flow.
    pub(super) fn retransmission(&mut self, gap: &Gap, paused: Vec<u8>) {
        let before = self.retransmits.replace(gap.retransmits);
        let before = before.unwrap_or_else(|| gap.retransmits.saturating_sub(1));
        // Once the acknowledgements of the first transmissions are there, nothing says why the rest is retransmitted.
        if !matches!(gap.again, Some(Trigger::Timeout | Trigger::Unknown)) {
            self.timed_out_in.clear();
            return;
        }
        let by = if paused.is_empty() { self.late_timeout(gap).into_iter().collect() } else { paused };
        let is_timeout = !by.is_empty();
        if is_timeout {
            self.timed_out_in = by;
        }
        for source in std::mem::take(&mut self.timed_out_in) {
            if let Some(known) = self.entry(source, gap.start) {
                known.timeouts += is_timeout as u64;
                known.resent += gap.retransmits.saturating_sub(before);
            }
            self.timed_out_in.push(source);
        }
    }

    /// Behind a paused link, the sender's timer is not seen: what was retransmitted in the pause comes after it, at once. Returns the
    /// pause's source.
    fn late_timeout(&self, gap: &Gap) -> Option<u8> {
        /// No retransmission timer is shorter.
        const SHORTEST_TIMER_NS: i64 = 20_000;
        let last = self.last.filter(|_| gap.shows_timeout && gap.lasted() < SHORTEST_TIMER_NS)?;
        let since = gap.to.saturating_sub(last.until);
        (since < last.until.saturating_sub(last.since)).then_some(last.source)
    }
}
