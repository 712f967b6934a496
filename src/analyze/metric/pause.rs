//! Which senders paused which links, and for how long (IEEE 802.3, annexes 31B and 31D)?
//!
//! MAC control frames never leave their link: mirrors and most adapters' captures do not have them. Where a capture has
//! none at all, that says nothing about pauses. Durations need the link's speed, for a pause is asked in quanta of 512
//! bit times. A later frame overwrites an earlier one's timer, and may shorten it.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{Context, Metric};
use crate::{
    analyze::model::Event,
    report::{self, Pause as Report, Reason, Storm},
    wire::{Ethernet, Kind, Mac, Pause as PauseHeader, Pfc},
};

/// A pause that lasts this long without a break is a storm: what SONiC's and Juniper's watchdogs detect by default.
pub const STORM_NS: i64 = 200_000_000;

/// Senders that are kept apart; more than these are counted only.
const MAX_SENDERS: usize = 4096;
/// Storms that are listed per sender and priority; the last one is extended by those after it.
const MAX_STORMS: usize = 64;
/// Pauses that are kept of each priority, of all senders together.
const MAX_KEPT: usize = 1 << 18;
const PRIORITIES: usize = 8;
/// Bit times in a quantum.
const QUANTUM_BITS: u64 = 512;

/// The metric. A sender costs about 800 bytes; frames that are not MAC control cost a test of a bit.
#[derive(Clone, Debug, Default)]
pub struct Pause {
    speed: Option<u64>,
    speeds: Vec<Option<u64>>,
    senders: HashMap<(u16, Mac), Box<Sender>, RandomState>,
    frames: u64,
    not_kept: u64,
    keeps: bool,
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
#[derive(Clone, Debug, Default)]
struct Sender {
    asked: [Asked; PRIORITIES + 1],
}

#[derive(Clone, Debug, Default)]
struct Asked {
    frames: u64,
    xoff: u64,
    xon: u64,
    stray_xon: u64,
    refreshes: u64,
    quanta: u64,
    first_frame: u64,
    intervals: u64,
    paused_ns: i64,
    longest_ns: i64,
    open: Option<Open>,
    storms: Vec<Storm>,
    /// All pauses, where they are kept.
    kept: Option<Vec<Open>>,
}

/// A pause that has not ended, or [one that is kept](Pause::keeping) and ended at `until`.
#[derive(Clone, Copy, Debug)]
struct Open {
    start: i64,
    /// When the timer runs out; without the link's speed, never.
    until: i64,
    frames: u64,
}

impl Pause {
    /// With the speed of all links in bit/s, where it is known.
    pub fn new(speed: Option<u64>) -> Pause {
        Pause { speed: speed.filter(|&bps| bps > 0), ..Pause::default() }
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
                asked.close(end);
                let priority = (priority < PRIORITIES).then_some(priority as u8);
                all.extend(asked.kept.into_iter().flatten().map(|Open { start, until, frames }| Paused {
                    interface,
                    sender,
                    priority,
                    start_ns: start,
                    end_ns: until,
                    frames,
                }));
            }
        }
        all.sort_by_key(|paused| (paused.interface, paused.sender, paused.priority, paused.start_ns));
        all
    }

    /// The speed of one interface in bit/s, as its capture says. A speed given to [`Pause::new`] goes before it.
    pub fn set_speed(&mut self, interface: u16, speed: u64) {
        let at = interface as usize;
        if self.speeds.len() <= at {
            self.speeds.resize(at + 1, None);
        }
        self.speeds[at] = Some(speed).filter(|&bps| bps > 0);
    }

    fn speed(&self, interface: u16) -> Option<u64> {
        self.speed.or_else(|| *self.speeds.get(interface as usize)?)
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
        if self.frames == 0 {
            return None;
        }
        let mut all = Vec::new();
        for (&(interface, mac), sender) in &self.senders {
            let has_speed = self.speed(interface).is_some();
            for (priority, asked) in sender.asked.iter().enumerate().filter(|(_, asked)| asked.frames > 0) {
                all.push(asked.report(link(interface), mac, priority, has_speed, end));
            }
        }
        all.sort_by(|a, b| {
            let key = |r: &Report| (r.paused_ns, r.quanta, r.frames);
            key(b).cmp(&key(a)).then_with(|| {
                let name = |r: &Report| (r.link.clone(), r.sender.clone(), r.priority);
                name(a).cmp(&name(b))
            })
        });
        Some(all)
    }

    #[cold]
    fn mac_control(&mut self, event: &Event<'_>) {
        self.frames += 1;
        let d = event.packet;
        let (Some(ethernet), Some(_)) = (d.get::<Ethernet>(), d.offset(Kind::MacControl)) else { return };
        let key = (event.record.interface, ethernet.src());
        let speed = self.speed(key.0);
        if self.senders.len() >= MAX_SENDERS && !self.senders.contains_key(&key) {
            self.not_kept += 1;
            return;
        }
        let now = event.record.time.0;
        let most = MAX_KEPT / self.senders.len().max(1);
        let new = || {
            let asked = Asked { kept: self.keeps.then(Vec::new), ..Asked::default() };
            Box::new(Sender { asked: std::array::from_fn(|_| asked.clone()) })
        };
        if let Some(pfc) = d.get::<Pfc>() {
            let sender = self.senders.entry(key).or_insert_with(new);
            for (priority, asked) in sender.asked.iter_mut().take(PRIORITIES).enumerate() {
                if let Some(quanta) = pfc.time(priority as u8) {
                    asked.on_frame(now, event.number, quanta, speed);
                    asked.thin(most);
                }
            }
        } else if let Some(pause) = d.get::<PauseHeader>() {
            let sender = self.senders.entry(key).or_insert_with(new);
            let asked = &mut sender.asked[PRIORITIES];
            asked.on_frame(now, event.number, pause.pause_time(), speed);
            asked.thin(most);
        }
    }
}

impl Metric for Pause {
    #[inline]
    fn on_frame(&mut self, event: &Event<'_>) {
        if event.packet.has(Kind::MacControl) {
            self.mac_control(event);
        }
    }

    fn on_interface(&mut self, number: u16, _: &str, speed_bps: Option<u64>) {
        if let Some(speed) = speed_bps {
            self.set_speed(number, speed);
        }
    }

    fn contribute<F, C, E>(&self, context: &Context<'_>, report: &mut report::Report<F, C, E>) {
        let end = report.capture.last_ns.unwrap_or(0);
        report.pause = self.section(end, |link| context.interface(link));
        if report.pause.is_none() {
            report.why.insert("pause".into(), Reason::NoPfcVisibility);
        }
    }
}

/// How long so many quanta last at a speed in bit/s.
pub fn quanta_ns(quanta: u16, speed: u64) -> i64 {
    let bits_ns = quanta as u128 * QUANTUM_BITS as u128 * 1_000_000_000;
    i64::try_from(bits_ns / speed.max(1) as u128).unwrap_or(i64::MAX)
}

impl Asked {
    fn on_frame(&mut self, now: i64, number: u64, quanta: u16, speed: Option<u64>) {
        if self.frames == 0 {
            self.first_frame = number;
        }
        self.frames += 1;
        if self.open.is_some_and(|open| now >= open.until) {
            self.close(i64::MAX);
        }
        if quanta == 0 {
            self.xon += 1;
            match self.open {
                Some(_) => self.close(now),
                None => self.stray_xon += 1,
            }
            return;
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
            None => self.open = Some(Open { start: now, until, frames: 1 }),
        }
    }

    /// The pause ends when its timer runs out, or at `now` if that is before.
    fn close(&mut self, now: i64) {
        let Some(open) = self.open.take() else { return };
        let end = open.until.min(now).max(open.start);
        let lasted = end.saturating_sub(open.start);
        self.intervals += 1;
        self.paused_ns = self.paused_ns.saturating_add(lasted);
        self.longest_ns = self.longest_ns.max(lasted);
        if let Some(kept) = &mut self.kept {
            kept.push(Open { until: end, ..open });
        }
        if lasted >= STORM_NS && open.frames > 1 {
            let storm = Storm { start_ns: open.start, end_ns: end, frames: open.frames };
            if self.storms.len() < MAX_STORMS {
                self.storms.push(storm);
            } else if let Some(last) = self.storms.last_mut() {
                last.end_ns = end;
                last.frames += open.frames;
            }
        }
    }

    /// If more pauses than `most` are kept, two and the time between them become one.
    fn thin(&mut self, most: usize) {
        let Some(kept) = self.kept.as_mut().filter(|kept| kept.len() > most) else { return };
        let joined = |two: &[Open]| {
            let frames = two.iter().map(|one| one.frames).sum();
            Some(Open { start: two.first()?.start, until: two.last()?.until, frames })
        };
        *kept = kept.chunks(2).filter_map(joined).collect();
    }

    fn report(&self, link: String, sender: Mac, priority: usize, has_speed: bool, end: i64) -> Report {
        let mut ended = self.clone();
        ended.close(end);
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
            paused_ns: known(ended.paused_ns as u64),
            longest_ns: known(ended.longest_ns as u64),
            quanta: self.quanta,
            first_frame: self.first_frame,
            storms: has_speed.then_some(ended.storms),
            ..Report::default()
        };
        if !has_speed {
            for field in ["intervals", "paused_ns", "longest_ns", "storms"] {
                report.why.insert(field.into(), Reason::UnknownSpeed);
            }
        }
        report
    }
}
