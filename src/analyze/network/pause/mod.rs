//! Which senders paused which links, and for how long (IEEE 802.3, annexes 31B and 31D)?
//!
//! MAC control frames never leave their link: mirrors and most adapters' captures do not have them. Where a capture has
//! none at all, that says nothing about pauses. Durations need the link's speed, for a pause is asked in quanta of 512
//! bit times. A later frame overwrites an earlier one's timer, and may shorten it.

mod faults;
mod ledger;
mod report;
mod responses;
mod storm;
pub(crate) mod tree;
mod violations;
mod ways;

use std::{collections::BTreeMap, ops::Range};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::{
    analyze::{
        model::{Address, Event, KnownLink, Links, StormProfile, end_of, sent_by},
        network::priorities::PRIORITIES,
    },
    dissect::Dissection,
    heap::Heap,
    report::PauseFault,
    wire::{Ethernet, Kind, Mac, MacControl, Pause, Pfc},
};
use faults::faults;
use ledger::{Frame, Ledger};
pub(crate) use report::PauseRows;
use responses::Responses;
use violations::{Violations, allowance_ns};
pub(crate) use ways::Ways;

/// Senders that are kept apart; more than these are counted only.
const MAX_SENDERS: usize = 4096;
/// Pauses that are listed in the report in all.
const MAX_LISTED_IN_ALL: usize = 1 << 16;
/// Sources of pauses whose pauses are remembered for the flows that they stop.
const MAX_SOURCES: usize = 64;
/// A pause that begins so soon after a mark or a CNP comes after it.
const AFTER_MARK_NS: i64 = 1_000_000;
/// A flow that a pause stopped sends again so long after it at the latest, where others wait too.
const RESUMED_NS: i64 = 1_000_000;
/// A sender that is silent so soon after the beginning of a pause is silent from its beginning.
const RESPONSE_NS: i64 = 5_000;
/// A mirror may take so long to copy a frame, and frames may be on a long cable: 10 km there and back.
const LONG_WAY_NS: i64 = 100_000;

/// All pauses. A sender costs about 800 bytes.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Pauses {
    /// By interface and address: priorities 0 to 7, then all of them at once (802.3x).
    senders: HashMap<(u16, Mac), Box<[Ledger; PRIORITIES + 1]>, RandomState>,
    /// MAC control frames.
    frames: u64,
    /// Priorities of which pauses were asked for, a bit for each.
    asked: u8,
    storm: StormProfile,
    faults: BTreeMap<PauseFault, u64>,
    listed: usize,
    /// The first few. Their places are their numbers.
    sources: Vec<PauseSource>,
    links: Option<Links>,
    /// The hosts at the ends of each of these links.
    hosts: Vec<[Vec<Address>; 2]>,
    /// By interface, the link that it taps, by the user's list of links; of those that tap one.
    link_of: BTreeMap<u16, usize>,
    /// Until when the pauses reach that were asked for so far, where that is known.
    reach: Option<i64>,
    /// A mirror sent MAC control frames, in tunnels: times are those of the mirror.
    is_mirrored: bool,
    /// When a packet was last marked, or a CNP seen.
    congested: Option<i64>,
    /// Where the links are known.
    violations: Violations,
    responses: Responses,
    /// Pauses that are kept for the [tree], and those that are not.
    spans: usize,
    spans_not_kept: u64,
}

/// A sender that asks for pauses of one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, crate::stored::Stored)]
pub(crate) struct PauseSource {
    pub(crate) interface: u16,
    pub(crate) sender: Mac,
    /// 0 to 7, or 8 for all of them.
    pub(crate) priority: u8,
}

impl PauseSource {
    /// The priority; `None` for all of them.
    pub(crate) fn one_priority(&self) -> Option<u8> {
        Some(self.priority).filter(|&priority| usize::from(priority) < PRIORITIES)
    }
}

/// Packets of one direction on a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketsAt {
    /// The interface that captured them.
    pub(super) interface: u16,
    pub(super) priority: u8,
    /// The end of the link that sent them, where that is known.
    pub(super) from: Option<u8>,
}

/// A part of a pause, and the number of its source.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Stop {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) source: u8,
    /// When the whole pause began.
    pub(crate) since: i64,
    /// Until when the paused end may still have sent.
    pub(crate) due: i64,
    /// The pause ended with this part.
    pub(crate) is_over: bool,
}

/// A time for which a sender asked a link to be silent.
#[derive(Clone, Debug, PartialEq, Eq, crate::stored::Stored)]
#[non_exhaustive]
pub struct Paused {
    /// The interface of the capture.
    pub interface: u16,
    /// Who asked.
    pub sender: Mac,
    /// The priority; `None` for all of them (802.3x).
    pub priority: Option<u8>,
    /// When it began, in nanoseconds since 1970.
    pub start_ns: i64,
    /// When it ended. Without the link's speed its timer is unknown, and so is its end: then it is its beginning.
    pub end_ns: i64,
    /// Frames that asked for it.
    pub frames: u64,
}

impl Pauses {
    pub(super) fn new(storm: StormProfile, links: Option<Links>) -> Pauses {
        let places = 0..links.as_ref().map_or(0, |known| known.links.len());
        let hosts = places.map(|link| links.as_ref().map(|known| known.hosts_at(link)).unwrap_or_default());
        Pauses { storm, hosts: hosts.collect(), links, ..Pauses::default() }
    }

    /// Whether an interface taps one link, by the user's list of links.
    pub(crate) fn taps_known_link(&self, interface: u16) -> bool {
        self.link_of.contains_key(&interface)
    }

    /// An interface taps this link of the user's list.
    pub(super) fn set_link(&mut self, interface: u16, is_tap: impl Fn(&KnownLink) -> bool) {
        let links = self.links.iter().flat_map(|known| &known.links);
        match links.into_iter().position(is_tap) {
            Some(link) => _ = self.link_of.insert(interface, link),
            None => _ = self.link_of.remove(&interface),
        }
    }

    /// Priorities of which pauses were asked for so far, a bit for each.
    pub(super) fn asked(&self) -> u8 {
        self.asked
    }

    /// The user's list of links.
    pub(super) fn links(&self) -> Option<&Links> {
        self.links.as_ref()
    }

    /// The interfaces that tap the link at this place in the user's list.
    pub(super) fn taps_of(&self, link: usize) -> impl Iterator<Item = u16> {
        self.link_of.iter().filter(move |&(_, &tapped)| tapped == link).map(|(&interface, _)| interface)
    }

    /// Whether the link that an interface taps may end at a host: not where the user says otherwise.
    pub(super) fn may_tap_host(&self, interface: u16) -> bool {
        let Some((link, links)) = self.link_of.get(&interface).zip(self.links.as_ref()) else { return true };
        let is_host = |name: &String| links.devices.get(name).is_some_and(|device| device.is_host);
        links.links.get(*link).is_none_or(|link| link.ends.iter().any(|end| is_host(&end.device)))
    }

    /// A MAC control frame, on a link of this speed. `on_pause` is called with each pause that it ended.
    #[cold]
    pub(super) fn on_frame(
        &mut self,
        event: &Event<'_>,
        speed_bps: Option<u64>,
        on_pause: &mut dyn FnMut(&Paused),
    ) {
        self.frames += 1;
        let d = event.packet;
        self.is_mirrored |= d.tunnel_depth() > 0;
        let (Some(ethernet), Some(_)) = (d.get::<Ethernet>(), d.offset(Kind::MacControl)) else { return };
        let (interface, sender) = (event.record.interface, ethernet.src());
        if self.senders.len() >= MAX_SENDERS && !self.senders.contains_key(&(interface, sender)) {
            return;
        }
        for fault in faults(event).into_iter().flatten() {
            *self.faults.entry(fault).or_default() += 1;
        }
        // A receiver ignores a frame that is not for it, and a switch passes it on.
        if !is_for_the_link(ethernet.dst(), d) {
            return;
        }
        let Some(asked) = quanta(d) else { return };
        let now = event.record.time.0;
        let after_mark =
            self.congested.is_some_and(|mark| (0..=AFTER_MARK_NS).contains(&now.saturating_sub(mark)));
        let frame = Frame { now, number: event.number, speed_bps, after_mark };
        let ledgers = self.senders.entry((interface, sender)).or_default();
        let may_list = self.listed < MAX_LISTED_IN_ALL;
        for (priority, (ledger, quanta)) in (0..).zip(ledgers.iter_mut().zip(asked)) {
            let Some(quanta) = quanta else { continue };
            if quanta > 0 && usize::from(priority) < PRIORITIES {
                self.asked |= 1 << priority;
            }
            let source = PauseSource { interface, sender, priority };
            if !ledger.is_remembered() && self.sources.len() < MAX_SOURCES {
                self.sources.push(source);
                ledger.remember();
            }
            let ended = ledger.on_frame(frame, quanta, &self.storm, may_list);
            ledger.bound(&mut self.spans, &mut self.spans_not_kept);
            if let Some(ended) = ended {
                self.listed += ended.is_listed as usize;
                on_pause(&ended.pause.told(source));
            }
        }
        self.reach = self.sources.iter().filter_map(|source| self.ledger(source)?.reach()).max();
    }

    /// The pauses that hold at the end of the capture, as ended then.
    pub(crate) fn each_open(&self, end: i64, on_pause: &mut dyn FnMut(&Paused)) {
        for (&(interface, sender), ledgers) in &self.senders {
            for (priority, ledger) in (0..).zip(&**ledgers) {
                if let Some(pause) = ledger.open_until(end) {
                    on_pause(&pause.told(PauseSource { interface, sender, priority }));
                }
            }
        }
    }

    /// Whether there was any pause whose length is known.
    pub(crate) fn stop_any(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Whether pauses of this source act on packets that this interface captured: it taps the same link.
    fn acts_on(&self, source: &PauseSource, interface: u16) -> bool {
        let link = |interface: u16| self.link_of.get(&interface);
        source.interface == interface
            || link(interface).is_some_and(|here| link(source.interface) == Some(here))
    }

    /// Which end of its link sent a packet that this interface captured, where the user's list of links tells.
    pub(super) fn sent_by(&self, interface: u16, src: Address, dst: Address) -> Option<u8> {
        let [a, b] = self.hosts.get(*self.link_of.get(&interface)?)?;
        sent_by([a, b], src, dst).map(|end| end as u8)
    }

    /// At which end of its link a source is.
    fn end_of(&self, source: &PauseSource) -> Option<u8> {
        let [a, b] = &self.links.as_ref()?.links.get(*self.link_of.get(&source.interface)?)?.ends;
        end_of(source.sender, [&a.macs, &b.macs]).map(|end| end as u8)
    }

    /// Whether pauses of this source stop packets of this priority that this interface captured; not those of the end that sends the pauses.
    fn stops(&self, source: &PauseSource, PacketsAt { interface, priority, from }: PacketsAt) -> bool {
        let is_of = source.priority == priority || usize::from(source.priority) == PRIORITIES;
        is_of && self.acts_on(source, interface) && (from.is_none() || self.end_of(source) != from)
    }

    /// Whether a sender on this interface's link asked for pauses of this very priority.
    pub(crate) fn are_of(&self, interface: u16, priority: u8) -> bool {
        self.sources.iter().any(|source| source.priority == priority && self.acts_on(source, interface))
    }

    /// Whether packets at this time may have waited for a pause: one holds, or the last one is over for a short time only.
    pub(crate) fn are_near(&self, time: i64) -> bool {
        self.reach.is_some_and(|reach| time < reach.saturating_add(RESUMED_NS))
    }

    /// Whether any pause, of any priority, was in this time on this interface's link.
    pub(crate) fn may_have_stopped(&self, interface: u16, from: i64, to: i64) -> bool {
        let mine = self.sources.iter().filter(|source| self.acts_on(source, interface));
        mine.filter_map(|source| self.ledger(source)).any(|ledger| ledger.overlaps(from, to))
    }

    /// Adds to `stops` the parts of a time in which this priority was paused on this interface, in the order of time. Those of one sender do not
    /// overlap; those of both ends may, where nobody knows which of them stop these packets. `speed_bps`: of the link of an interface; without it
    /// nobody knows when a pause ends.
    pub(super) fn within(
        &self,
        place: PacketsAt,
        (from, to): (i64, i64),
        speed_bps: impl Fn(u16) -> Option<u64>,
        stops: &mut Vec<Stop>,
    ) {
        for (number, source) in (0..).zip(&self.sources).filter(|(_, source)| self.stops(source, place)) {
            let ledger = self.ledger(source).zip(speed_bps(source.interface));
            let Some((ledger, speed)) = ledger else { continue };
            let allowance = match self.is_mirrored {
                true => LONG_WAY_NS,
                false => allowance_ns(speed).max(RESPONSE_NS),
            };
            let part = |(start, end): (i64, i64)| Stop {
                from: start.max(from),
                to: end.min(to),
                source: number,
                since: start,
                due: start.saturating_add(allowance),
                is_over: end <= to,
            };
            stops.extend(ledger.since(from).map(part).filter(|part| part.from < part.to));
        }
        stops.sort_unstable_by_key(|stop| (stop.from, stop.source));
        let sender = |number: u8| self.source(number).map(|source| source.sender);
        // Of the sender of the first one, and of all others.
        let (first, mut until) = (stops.first().and_then(|stop| sender(stop.source)), [from; 2]);
        stops.retain_mut(|stop| {
            let until = &mut until[usize::from(sender(stop.source) != first)];
            stop.from = stop.from.max(*until);
            *until = stop.to.max(*until);
            stop.from < stop.to
        });
    }

    /// Whether a pause of this priority on this interface has no known end.
    pub(super) fn any_untimed(&self, place: PacketsAt, speed_bps: impl Fn(u16) -> Option<u64>) -> bool {
        self.sources.iter().any(|source| self.stops(source, place) && speed_bps(source.interface).is_none())
    }

    /// How long this priority was paused on this interface so far: by the source that did so most.
    pub(super) fn asked_ns(&self, place: PacketsAt, now: i64) -> i64 {
        let mine = self.sources.iter().filter(|source| self.stops(source, place));
        mine.filter_map(|source| self.ledger(source)).map(|ledger| ledger.paused_ns(now)).max().unwrap_or(0)
    }

    /// A packet was marked, or a CNP seen.
    #[inline]
    pub(super) fn congested(&mut self, now: i64) {
        self.congested = Some(now);
    }

    /// Whether a packet at this time may come into a pause.
    #[inline(always)]
    pub(super) fn are_judged(&self, time: i64) -> bool {
        self.reach.is_some_and(|reach| time < reach)
    }

    /// While a pause holds that packets are judged by, each has to be seen by itself. Near pauses, other silences count than elsewhere.
    pub(super) fn span(&self, time: i64) -> Range<i64> {
        let Some(reach) = self.reach else { return i64::MIN..i64::MAX };
        let opens = self.sources.iter().filter_map(|source| self.ledger(source)?.open());
        if opens.into_iter().any(|open| open.end > time) {
            return time..time;
        }
        let until = reach.saturating_add(RESUMED_NS);
        if time < until { time..until } else { time..i64::MAX }
    }

    /// Whether a pause holds at this time that began before.
    pub(crate) fn hold_at(&self, time: i64) -> bool {
        let opens = self.sources.iter().filter_map(|source| self.ledger(source)?.open());
        opens.into_iter().any(|open| open.start < time && open.end > time)
    }

    /// A packet of this priority on this interface: perhaps one that a pause should have stopped.
    pub(super) fn judge(
        &mut self,
        place: (u16, u8),
        speed_bps: u64,
        (frame, now): (u64, i64),
        ends: (Address, Address),
    ) {
        let allowance = allowance_ns(speed_bps);
        for number in 0..self.sources.len() {
            let source = &self.sources[number];
            let place = PacketsAt { interface: place.0, priority: place.1, from: None };
            let open =
                if self.stops(source, place) { self.ledger(source).and_then(Ledger::open) } else { None };
            let Some(open) = open.filter(|open| open.end > now) else { continue };
            if self.links.is_some() {
                self.responses.add(number as u8, ends, open.start, now);
            }
            let late = now.saturating_sub(open.start);
            if late > allowance {
                self.violations.add(number as u8, ends, frame, late);
            }
        }
    }

    /// Whether packets came this way in pauses of the source with this number, later than the paused end needs to stop; and the other way.
    pub(crate) fn came_in(&self, source: u8, src: Address, dst: Address) -> (bool, bool) {
        (self.violations.any(source, src, dst), self.violations.any(source, dst, src))
    }

    /// How many sources have a number.
    pub(crate) fn source_count(&self) -> usize {
        self.sources.len()
    }

    /// The source with this number.
    pub(crate) fn source(&self, number: u8) -> Option<&PauseSource> {
        self.sources.get(number as usize)
    }

    fn ledger(&self, source: &PauseSource) -> Option<&Ledger> {
        self.senders.get(&(source.interface, source.sender))?.get(usize::from(source.priority))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.spans * size_of::<tree::Span>() + self.violations.heap_bytes() + self.responses.heap_bytes()
    }
}

/// Whether the end of the link takes a pause frame with this destination: the address of MAC control, or, of 802.3x, its own.
fn is_for_the_link(dst: Mac, d: &Dissection<'_>) -> bool {
    dst == MacControl::ADDRESS || d.has(Kind::Pause) && dst.0[0] & 1 == 0
}

/// What a frame asks for, in quanta: by priority, then of all of them.
fn quanta(d: &Dissection<'_>) -> Option<[Option<u16>; PRIORITIES + 1]> {
    if let Some(pfc) = d.get::<Pfc>() {
        // It says nothing of all of them.
        return Some(std::array::from_fn(|priority| pfc.time(priority as u8)));
    }
    let pause = d.get::<Pause>()?;
    let mut asked = [None; PRIORITIES + 1];
    asked[PRIORITIES] = Some(pause.pause_time());
    Some(asked)
}
