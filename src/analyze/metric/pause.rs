//! Which senders paused which links, and for how long (IEEE 802.3, annexes 31B and 31D)?
//!
//! MAC control frames never leave their link: mirrors and most adapters' captures do not have them. Where a capture has
//! none at all, that says nothing about pauses. Durations need the link's speed, for a pause is asked in quanta of 512
//! bit times. A later frame overwrites an earlier one's timer, and may shorten it.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{
    Context, Metric,
    heed::{Heed, allowance_ns},
    pause_tree::{self, Found, MAX_SPANS, Neighbors, Seen, Span, Stands},
    speeds::Speeds,
    storm::Watchdog,
};
use crate::{
    analyze::{
        model::{Event, Links, StormProfile},
        packet::Facts,
    },
    report::{self, Pause as Report, PauseEnd, PauseFault, PauseInterval, Reason},
    wire::{Ethernet, Kind, Mac, MacControl, MacControlOpcode, Pause as PauseHeader, Pfc},
};

/// The destination of all pause frames.
const PAUSE_ADDRESS: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 1]);
/// The shortest Ethernet frame, without its frame check sequence.
const SHORTEST: u32 = 60;

/// Senders that are kept apart; more than these are counted only.
const MAX_SENDERS: usize = 4096;
/// Pauses that are listed in the report per sender and priority, and in all.
const MAX_LISTED: usize = 256;
const MAX_LISTED_IN_ALL: usize = 1 << 16;
/// Pauses that are kept of each priority, of all senders together.
const MAX_KEPT: usize = 1 << 18;
const PRIORITIES: usize = 8;
/// Pauses of each priority that are remembered for the flows that they stop, and senders whose pauses are.
const MAX_RECENT: usize = 1024;
const MAX_ASKERS: usize = 64;
/// A pause that begins so soon after a mark or a CNP comes after it.
const AFTER_MARK_NS: i64 = 1_000_000;
/// Bit times in a quantum.
const QUANTUM_BITS: u64 = 512;

/// The metric. A sender costs about 800 bytes; frames that are not MAC control cost a test of a bit.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Pause {
    speeds: Speeds,
    senders: HashMap<(u16, Mac), Box<Sender>, RandomState>,
    frames: u64,
    not_kept: u64,
    storm: StormProfile,
    faults: BTreeMap<PauseFault, u64>,
    listed: usize,
    keeps: bool,
    /// Who asked for pauses of a priority on an interface: the first few. Their places are their numbers.
    askers: Vec<Asker>,
    links: Option<Links>,
    /// The links are known, and a pause was asked for.
    judges: bool,
    /// A mirror sent MAC control frames, in tunnels: times are those of the mirror.
    is_mirrored: bool,
    neighbors: Neighbors,
    /// When a packet was last marked, or a CNP seen.
    congested: Option<i64>,
    /// Frames that came late into pauses: where the links are known.
    heed: Heed,
    /// Pauses that are kept for the [tree](pause_tree), and those that are not.
    spans: usize,
    spans_not_kept: u64,
}

/// A sender that asked for pauses of one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Asker {
    pub(super) interface: u16,
    pub(super) sender: Mac,
    /// [`PRIORITIES`] for all of them.
    pub(super) priority: usize,
}

impl Asker {
    /// Its key where the places are known.
    pub(super) fn key(&self) -> (u16, Mac, u8) {
        (self.interface, self.sender, self.priority as u8)
    }
}

/// A part of a pause, and the number of its asker.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Stop {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) asker: u8,
    /// When the whole pause began.
    pub(super) since: i64,
    /// The pause ended with this part.
    pub(super) is_over: bool,
}

/// A time for which a sender asked a link to be silent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paused {
    /// The interface of the capture.
    pub interface: u16,
    /// Who asked.
    pub sender: Mac,
    /// The priority; `None` for all of them (802.3x).
    pub priority: Option<u8>,
    /// When it began, in nanoseconds since 1970.
    pub start_ns: i64,
    /// When it ended. Without the link's speed, its timer is unknown: then with the frame that ended it, or with the capture.
    pub end_ns: i64,
    /// Frames that asked for it.
    pub frames: u64,
}

/// What one sender on one link asked for: priorities 0 to 7, then all of them at once (802.3x).
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Sender {
    asked: [Asked; PRIORITIES + 1],
}

#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Asked {
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
    open: Option<Open>,
    /// All pauses, where they are kept.
    kept: Option<Vec<Open>>,
    /// The last pauses, with their ends, where the sender has a number.
    recent: Option<VecDeque<(i64, i64)>>,
    ledger: Vec<PauseInterval>,
    /// All pauses, for the [tree](pause_tree): the first ones of all senders.
    spans: Vec<Span>,
    /// How many of these are counted among those of all senders.
    counted: usize,
    watchdog: Watchdog,
}

/// A pause that has not ended, or [one that is kept](Pause::keeping) and ended at `until`.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Open {
    frame: u64,
    start: i64,
    /// When the timer runs out; without the link's speed, never.
    until: i64,
    frames: u64,
}

impl Pause {
    /// With the speed of all links in bit/s, where it is known.
    pub fn new(speed: Option<u64>) -> Pause {
        Pause { speeds: Speeds::new(speed), ..Pause::default() }
    }

    /// One that keeps the pauses one by one, for [`paused`](Self::paused). Where they are too many, two pauses with the time between them
    /// become one.
    #[must_use]
    pub fn keeping(self) -> Pause {
        Pause { keeps: true, ..self }
    }

    /// The pauses that are [kept](Self::keeping), by sender and priority, in the order of time. `end` is the time of the capture's
    /// last frame.
    pub fn paused(&self, end: i64) -> Vec<Paused> {
        let mut all = Vec::new();
        for (&(interface, sender), asked) in &self.senders {
            for (priority, asked) in asked.asked.iter().enumerate() {
                let mut asked = asked.clone();
                asked.close(end, PauseEnd::CaptureEnd, &self.storm, false);
                let priority = (priority < PRIORITIES).then_some(priority as u8);
                all.extend(asked.kept.into_iter().flatten().map(|Open { start, until, frames, .. }| {
                    Paused { interface, sender, priority, start_ns: start, end_ns: until, frames }
                }));
            }
        }
        all.sort_by_key(|paused| (paused.interface, paused.sender, paused.priority, paused.start_ns));
        all
    }

    /// With the watchdog that says what a storm is.
    #[must_use]
    pub fn with_storms(self, storm: StormProfile) -> Pause {
        Pause { storm, ..self }
    }

    /// With the links that the user knows of.
    #[must_use]
    pub fn with_links(self, links: Option<Links>) -> Pause {
        Pause { links, ..self }
    }

    /// The speed of one interface in bit/s, as its capture says. A speed given to [`Pause::new`] goes before it.
    pub fn set_speed(&mut self, interface: u16, speed: u64) {
        self.speeds.set(interface, Some(speed));
    }

    /// Whether there was any pause whose length is known.
    pub(super) fn stops_any(&self) -> bool {
        !self.askers.is_empty()
    }

    /// Whether a sender on this interface asked for pauses of this very priority.
    pub(super) fn stops(&self, interface: u16, priority: u8) -> bool {
        self.askers
            .iter()
            .any(|asker| asker.interface == interface && asker.priority == usize::from(priority))
    }

    /// Fills `stops` with the parts of a time in which this priority was paused on this interface, in the order of time and without
    /// overlaps.
    pub(super) fn within(&self, (interface, priority): (u16, u8), from: i64, to: i64, stops: &mut Vec<Stop>) {
        stops.clear();
        for (number, asker) in self.askers.iter().enumerate() {
            let is_mine = asker.priority == priority as usize || asker.priority == PRIORITIES;
            if asker.interface != interface || !is_mine || self.speeds.of(interface).is_none() {
                continue;
            }
            let Some(asked) = self.asked(asker) else { continue };
            let open = asked.open.map(|open| (open.start, open.until));
            let recent = asked.recent.iter().flatten().rev().take_while(|(_, end)| *end > from).copied();
            let part = |(start, end): (i64, i64)| Stop {
                from: start.max(from),
                to: end.min(to),
                asker: number as u8,
                since: start,
                is_over: end <= to,
            };
            let parts = open.into_iter().chain(recent).map(part);
            stops.extend(parts.filter(|part| part.from < part.to));
        }
        stops.sort_unstable_by_key(|stop| (stop.from, stop.asker));
        let mut until = from;
        stops.retain_mut(|stop| {
            stop.from = stop.from.max(until);
            until = until.max(stop.to);
            stop.from < stop.to
        });
    }

    /// How long this priority was paused on this interface so far: by the sender that did so most.
    pub(super) fn asked_ns(&self, (interface, priority): (u16, u8), now: i64) -> i64 {
        let mine = self.askers.iter().filter(|asker| {
            asker.interface == interface
                && (asker.priority == priority as usize || asker.priority == PRIORITIES)
        });
        let paused = mine.filter_map(|asker| self.asked(asker)).map(|asked| {
            let open = asked.open.map_or(0, |open| open.until.min(now).saturating_sub(open.start).max(0));
            asked.paused_ns.saturating_add(open)
        });
        paused.max().unwrap_or(0)
    }

    /// A packet was marked, or notified of that.
    #[inline]
    pub(super) fn congested(&mut self, now: i64) {
        self.congested = Some(now);
    }

    /// Whether the next packet may come into a pause that it should not: then each packet has to be seen.
    pub(super) fn judging_span(&self, time: i64) -> Range<i64> {
        if !self.judges {
            return i64::MIN..i64::MAX;
        }
        let ends = self.askers.iter().filter_map(|asker| self.asked(asker)?.open).map(|open| open.until);
        match ends.filter(|&until| until > time).max() {
            Some(_) => time..time,
            None => time..i64::MAX,
        }
    }

    /// A packet of the transport: perhaps one that a pause should have stopped.
    #[inline(always)]
    pub(super) fn look_at(&mut self, packet: &Facts, frame: u64, priority: impl FnOnce() -> u8) {
        if self.judges {
            self.judge(packet, frame, priority());
        }
    }

    #[cold]
    #[inline(never)]
    fn judge(&mut self, packet: &Facts, frame: u64, priority: u8) {
        let (now, interface) = (packet.time(), packet.interface());
        let Some(speed) = self.speeds.of(interface) else { return };
        let Some(ends) = packet.source().zip(packet.destination()) else { return };
        let allowance = allowance_ns(speed);
        for number in 0..self.askers.len() {
            let Asker { interface: at, priority: of, .. } = self.askers[number];
            let is_mine = at == interface && (of == usize::from(priority) || of == PRIORITIES);
            let open =
                if is_mine { self.asked(&self.askers[number]).and_then(|asked| asked.open) } else { None };
            let late = open.filter(|open| open.until > now).map(|open| now.saturating_sub(open.start));
            if let Some(late) = late.filter(|&late| late > allowance) {
                self.heed.came(number as u8, ends, frame, late);
            }
        }
    }

    /// How many askers have a number.
    pub(super) fn askers(&self) -> usize {
        self.askers.len()
    }

    /// The asker with this number.
    pub(super) fn asker(&self, number: u8) -> Option<&Asker> {
        self.askers.get(number as usize)
    }

    fn asked(&self, asker: &Asker) -> Option<&Asked> {
        self.senders.get(&(asker.interface, asker.sender))?.asked.get(asker.priority)
    }

    /// MAC control frames seen.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// MAC control frames of senders beyond those that are kept apart: counted, not reported.
    pub fn frames_not_kept(&self) -> u64 {
        self.not_kept
    }

    /// The report's section, the longest pauses first; `None` where the capture has no MAC control frame at all and
    /// so cannot show pauses. `end` is the time of the capture's last frame, `link` names an interface.
    pub fn section(&self, end: i64, link: impl Fn(u16) -> String) -> Option<Vec<Report>> {
        (self.frames > 0).then(|| self.rows(end, link).into_iter().map(|(_, row)| row).collect())
    }

    /// The rows, each with who asked for its pauses.
    fn rows(&self, end: i64, link: impl Fn(u16) -> String) -> Vec<(Asker, Report)> {
        let mut all = Vec::new();
        for (&(interface, sender), of) in &self.senders {
            let has_speed = self.speeds.of(interface).is_some();
            for (priority, asked) in of.asked.iter().enumerate().filter(|(_, asked)| asked.frames > 0) {
                let row = asked.report(&self.storm, link(interface), sender, priority, has_speed, end);
                all.push((Asker { interface, sender, priority }, row));
            }
        }
        all.sort_by(|(_, a), (_, b)| {
            let key = |r: &Report| (r.paused_ns, r.quanta, r.frames);
            key(b).cmp(&key(a)).then_with(|| {
                let name = |r: &Report| (r.link.clone(), r.sender.clone(), r.priority);
                name(a).cmp(&name(b))
            })
        });
        all
    }

    #[cold]
    fn mac_control(&mut self, event: &Event<'_>) {
        self.frames += 1;
        let d = event.packet;
        self.is_mirrored |= d.tunnel_depth() > 0;
        let (Some(ethernet), Some(_)) = (d.get::<Ethernet>(), d.offset(Kind::MacControl)) else { return };
        let key = (event.record.interface, ethernet.src());
        let speed = self.speeds.of(key.0);
        if self.senders.len() >= MAX_SENDERS && !self.senders.contains_key(&key) {
            self.not_kept += 1;
            return;
        }
        for fault in faults(event).into_iter().flatten() {
            *self.faults.entry(fault).or_default() += 1;
        }
        let now = event.record.time.0;
        let after_mark =
            self.congested.is_some_and(|mark| (0..=AFTER_MARK_NS).contains(&now.saturating_sub(mark)));
        let frame = Frame { now, number: event.number, speed, after_mark };
        let may_list = self.listed < MAX_LISTED_IN_ALL;
        let most = MAX_KEPT / self.senders.len().max(1);
        let askers = &mut self.askers;
        let mut remember = |asked: &mut Asked, priority: usize| {
            if asked.recent.is_none() && askers.len() < MAX_ASKERS {
                askers.push(Asker { interface: key.0, sender: key.1, priority });
                self.judges = self.links.is_some();
                asked.recent = Some(VecDeque::new());
            }
        };
        let new = || {
            let asked = Asked { kept: self.keeps.then(Vec::new), ..Asked::default() };
            Box::new(Sender { asked: std::array::from_fn(|_| asked.clone()) })
        };
        if let Some(pfc) = d.get::<Pfc>() {
            let sender = self.senders.entry(key).or_insert_with(new);
            for (priority, asked) in sender.asked.iter_mut().take(PRIORITIES).enumerate() {
                if let Some(quanta) = pfc.time(priority as u8) {
                    remember(asked, priority);
                    self.listed += asked.on_frame(frame, quanta, &self.storm, may_list) as usize;
                    asked.thin(most);
                    asked.bound(&mut self.spans, &mut self.spans_not_kept);
                }
            }
        } else if let Some(pause) = d.get::<PauseHeader>() {
            let sender = self.senders.entry(key).or_insert_with(new);
            let asked = &mut sender.asked[PRIORITIES];
            remember(asked, PRIORITIES);
            self.listed += asked.on_frame(frame, pause.pause_time(), &self.storm, may_list) as usize;
            asked.thin(most);
            asked.bound(&mut self.spans, &mut self.spans_not_kept);
        }
    }
}

/// A pause frame: its time, its number, and the speed of its link.
#[derive(Clone, Copy)]
struct Frame {
    now: i64,
    number: u64,
    speed: Option<u64>,
    /// A packet was marked just before it, or a CNP sent.
    after_mark: bool,
}

/// What is wrong with a PAUSE or PFC frame.
fn faults(event: &Event<'_>) -> [Option<PauseFault>; 6] {
    let d = event.packet;
    let Some(control) = d.get::<MacControl>() else { return [None; 6] };
    let is_pause = matches!(control.opcode(), MacControlOpcode::PAUSE | MacControlOpcode::PFC);
    let is_cut = (event.record.frame.len() as u32) < event.record.wire_len;
    let has_timers = d.has(Kind::Pfc) || d.has(Kind::Pause);
    let pfc = d.get::<Pfc>();
    // A generator of SONiC's tests writes seven timers and then a checksum as text.
    let is_text = |pfc: &Pfc| {
        let last = pfc.time7().to_be_bytes();
        pfc.time(7).is_none() && last.iter().all(u8::is_ascii_hexdigit)
    };
    let has_seven = pfc.is_some_and(is_text);
    let is_silent = |pfc: &Pfc| {
        let timers = pfc.bytes()[2..].chunks_exact(2).enumerate().take(PRIORITIES - has_seven as usize);
        timers.into_iter().any(|(n, timer)| timer != [0, 0] && pfc.time(n as u8).is_none())
    };
    let found = [
        (PauseFault::WrongAddress, d.get::<Ethernet>().is_some_and(|e| e.dst() != PAUSE_ADDRESS)),
        (PauseFault::Short, event.record.wire_len < SHORTEST || !has_timers && !is_cut),
        (PauseFault::SevenTimers, has_seven),
        (PauseFault::ClassVector, pfc.is_some_and(|pfc| pfc.reserved().0 != 0)),
        (PauseFault::SilentTimer, pfc.is_some_and(is_silent)),
        (PauseFault::Tagged, d.has(Kind::Vlan)),
    ];
    found.map(|(fault, is_found)| Some(fault).filter(|_| is_pause && is_found))
}

impl Metric for Pause {
    #[inline]
    fn on_frame(&mut self, event: &Event<'_>) {
        if event.packet.has(Kind::MacControl) {
            self.mac_control(event);
        } else if event.packet.has(Kind::Lldp) {
            self.neighbors.on_frame(event);
        }
    }

    fn on_interface(&mut self, number: u16, _: &str, speed_bps: Option<u64>) {
        if let Some(speed) = speed_bps {
            self.set_speed(number, speed);
        }
    }

    fn contribute(&self, context: &Context<'_>, head: &mut report::Head) {
        self.contribute_with(context, head);
    }

    fn heap_bytes(&self) -> usize {
        self.spans * size_of::<Span>() + self.heed.heap_bytes()
    }
}

impl Pause {
    /// Like [`contribute`](Metric::contribute). Returns what the verdict on flows needs to know of the rows.
    pub(super) fn contribute_with(&self, context: &Context<'_>, head: &mut report::Head) -> Told {
        let end = head.capture.last_ns.unwrap_or(0);
        let (askers, rows): (Vec<_>, Vec<_>) =
            self.rows(end, |link| context.interface(link)).into_iter().unzip();
        head.pause = (self.frames > 0).then_some(rows);
        head.pause_faults = self.faults.clone();
        let lasted = head.capture.first_ns.map(|first| end.saturating_sub(first)).filter(|&ns| ns > 0);
        for pause in head.pause.iter_mut().flatten() {
            pause.duty_ratio = pause.paused_ns.zip(lasted).map(|(paused, ns)| paused as f64 / ns as f64);
        }
        // Nothing that could have been marked was seen: a pause without a mark before it says nothing.
        if head.congestion.ect_packets + head.congestion.cnps == 0 {
            for pause in head.pause.iter_mut().flatten().filter(|pause| pause.after_marks.is_some()) {
                pause.after_marks = None;
                pause.why.insert("after_marks".into(), Reason::NotEct);
            }
        }
        if head.pause.is_none() {
            head.why.insert("pause".into(), Reason::NoPfcVisibility);
        }
        let number = |asker: &Asker| self.askers.iter().position(|known| known == asker).map(|at| at as u8);
        let numbers: Vec<_> = askers.iter().map(number).collect();
        let found = self.tree(end, context, head);
        self.judge_rows(&numbers, &found, head);
        let stands = match found {
            Ok(Found { tree, stands }) => {
                head.pause_tree = Some(tree);
                Some(stands)
            }
            Err(why) => {
                head.why.insert("pause_tree".into(), why);
                None
            }
        };
        Told { numbers, stands }
    }

    /// Who did not honor the pauses.
    fn judge_rows(&self, numbers: &[Option<u8>], found: &Result<Found, Reason>, head: &mut report::Head) {
        let stands = match found {
            // A frame may be older, or younger, than its time says.
            _ if head.capture.time_steps_back > 0 || self.is_mirrored => Err(Reason::UnevenClock),
            _ if head.capture.timestamp_resolution_ns.is_some_and(|ns| ns >= 1_000) => {
                Err(Reason::CoarseTimes)
            }
            Err(Reason::NoTopology) => Err(Reason::UnknownDirection),
            Err(why) => Err(*why),
            Ok(found) => Ok(&found.stands),
        };
        for (pause, number) in head.pause.iter_mut().flatten().zip(numbers) {
            let violations = stands.and_then(|stands| {
                let number = number.ok_or(Reason::MemoryLimit)?;
                let known = self.asker(number).and_then(|asker| stands.get(&asker.key()));
                self.heed.violations(number, &known.ok_or(Reason::UnknownDirection)?.hosts)
            });
            match violations {
                Ok(violations) => pause.violations = Some(violations),
                Err(why) => _ = pause.why.insert("violations".into(), why),
            }
        }
    }

    /// Who paused whom, or why that is not known.
    fn tree(&self, end: i64, context: &Context<'_>, head: &report::Head) -> Result<Found, Reason> {
        let Some(pauses) = &head.pause else { return Err(Reason::NoPfcVisibility) };
        let mut asked = Vec::new();
        for (&(interface, sender), of) in &self.senders {
            for (priority, of) in (0..).zip(&of.asked).filter(|(_, of)| of.frames > 0) {
                let open = of.open.map(|open| Span {
                    start: open.start,
                    end: open.until.min(end).max(open.start),
                    frame: open.frame,
                });
                let spans = of.spans.iter().copied().chain(open).collect();
                asked.push(pause_tree::Asked { interface, sender, priority, spans });
            }
        }
        let seen = Seen {
            asked,
            not_kept: self.spans_not_kept,
            links: self.links.as_ref(),
            neighbors: &self.neighbors,
            detect_ns: self.storm.detect_ns,
        };
        let found = seen.tree(context, &head.capture, &head.congestion)?;
        // Without a speed nobody knows when a pause ends.
        match pauses.iter().any(|pause| pause.paused_ns.is_none()) {
            true => Err(Reason::UnknownSpeed),
            false => Ok(found),
        }
    }
}

/// How long so many quanta last at a speed in bit/s.
pub fn quanta_ns(quanta: u16, speed: u64) -> i64 {
    let bits_ns = quanta as u128 * QUANTUM_BITS as u128 * 1_000_000_000;
    i64::try_from(bits_ns / speed.max(1) as u128).unwrap_or(i64::MAX)
}

/// What the verdict on flows needs to know of the rows of pauses.
#[derive(Debug)]
pub(super) struct Told {
    /// The number of who asked for the pauses of each row; `None` beyond the most.
    pub(super) numbers: Vec<Option<u8>>,
    /// Where these stand, if that is known.
    pub(super) stands: Option<BTreeMap<(u16, Mac, u8), Stands>>,
}

impl Asked {
    /// A frame about this priority. Returns whether it added a pause to the ledger.
    fn on_frame(&mut self, frame: Frame, quanta: u16, profile: &StormProfile, may_list: bool) -> bool {
        let Frame { now, number, speed, after_mark } = frame;
        if self.frames == 0 {
            self.first_frame = number;
        }
        self.frames += 1;
        let listed = self.ledger.len();
        if self.open.is_some_and(|open| now >= open.until) {
            self.close(i64::MAX, PauseEnd::Expired, profile, may_list);
        }
        if quanta == 0 {
            self.xon += 1;
            match self.open {
                Some(_) => self.close(now, PauseEnd::Xon, profile, may_list),
                None => self.stray_xon += 1,
            }
            return self.ledger.len() > listed;
        }
        self.xoff += 1;
        self.quanta += quanta as u64;
        let until = speed.map_or(i64::MAX, |speed| now.saturating_add(quanta_ns(quanta, speed)));
        match &mut self.open {
            Some(open) => {
                self.refreshes += 1;
                open.until = until;
                open.frames += 1;
            }
            None => {
                self.after_marks += after_mark as u64;
                self.open = Some(Open { frame: number, start: now, until, frames: 1 });
            }
        }
        self.ledger.len() > listed
    }

    /// The pause ends at `now`, or before that, when its timer runs out.
    fn close(&mut self, now: i64, how: PauseEnd, profile: &StormProfile, may_list: bool) {
        let Some(Open { frame, start, until, frames }) = self.open.take() else { return };
        let how = if until <= now { PauseEnd::Expired } else { how };
        let end_ns = until.min(now).max(start);
        let lasted = end_ns.saturating_sub(start);
        self.intervals += 1;
        self.ended[how as usize] += 1;
        self.paused_ns = self.paused_ns.saturating_add(lasted);
        self.longest_ns = self.longest_ns.max(lasted);
        if let Some(kept) = &mut self.kept {
            kept.push(Open { frame, start, until: end_ns, frames });
        }
        if let Some(recent) = &mut self.recent {
            if recent.len() >= MAX_RECENT {
                recent.pop_front();
            }
            recent.push_back((start, end_ns));
        }
        self.spans.push(Span { start, end: end_ns, frame });
        self.watchdog.pause(profile, start, end_ns, frames);
        if may_list && self.ledger.len() < MAX_LISTED {
            self.ledger.push(PauseInterval { frame, start_ns: start, end_ns, end: how, frames });
        }
    }

    /// Drops the last pause of its history if all senders together have too many. `counted`: those of all senders so far, but for
    /// that one; a frame ends one pause at most.
    fn bound(&mut self, counted: &mut usize, not_kept: &mut u64) {
        let new = self.spans.len() - self.counted;
        if *counted + new > MAX_SPANS {
            self.spans.truncate(self.counted);
            *not_kept += new as u64;
        } else {
            *counted += new;
            self.counted = self.spans.len();
        }
    }

    /// If more pauses than `most` are kept, two and the time between them become one.
    fn thin(&mut self, most: usize) {
        let Some(kept) = self.kept.as_mut().filter(|kept| kept.len() > most) else { return };
        let joined = |two: &[Open]| {
            let frames = two.iter().map(|one| one.frames).sum();
            Some(Open { until: two.last()?.until, frames, ..*two.first()? })
        };
        *kept = kept.chunks(2).filter_map(joined).collect();
    }

    fn report(
        &self,
        profile: &StormProfile,
        link: String,
        sender: Mac,
        priority: usize,
        has_speed: bool,
        end: i64,
    ) -> Report {
        let mut ended = self.clone();
        ended.close(end, PauseEnd::CaptureEnd, profile, true);
        let known = |value: u64| has_speed.then_some(value);
        let mut report = Report {
            link,
            sender: sender.to_string(),
            priority: (priority < PRIORITIES).then_some(priority as u8),
            frames: self.frames,
            xoff: self.xoff,
            xon: self.xon,
            stray_xon: self.stray_xon,
            refreshes: self.refreshes,
            intervals: known(ended.intervals),
            after_marks: known(self.after_marks),
            paused_ns: known(ended.paused_ns as u64),
            longest_ns: known(ended.longest_ns as u64),
            quanta: self.quanta,
            first_frame: self.first_frame,
            ..Report::default()
        };
        if has_speed {
            let all = PauseEnd::ALL.into_iter().zip(ended.ended);
            report.ended = all.filter(|(_, count)| *count > 0).collect();
            report.storms = Some(ended.watchdog.storms(profile, end));
            report.ledger = ended.ledger;
        } else {
            for field in [
                "intervals",
                "after_marks",
                "paused_ns",
                "longest_ns",
                "duty_ratio",
                "ended",
                "ledger",
                "storms",
            ] {
                report.why.insert(field.into(), Reason::UnknownSpeed);
            }
        }
        report
    }
}
