//! One PSN space in one direction, as the tap sees it: which packets are new, missing, repeated, or late.
//!
//! A packet behind the highest PSN was either seen before (then its sender repeats it), or it lies in a hole. A packet in a hole
//! is a late original, or the retransmission of a packet that was lost before the tap. The evidence, strongest first:
//!
//! 1. the sender's IPv4 identifications, if they increase;
//! 2. time: a packet that comes sooner than the shortest round trip cannot be an answer;
//! 3. the next packet: after a sender goes back, the next packets repeat known PSNs; after a late packet, the stream continues
//!    where it was;
//! 4. a NAK for this PSN, and the recovery of the flow so far: go-back-N, or selective.
//!
//! So the verdict on a packet in a hole waits for the next packet of the flow, and sometimes for the next acknowledgement.

use std::ops::Range;

use super::{
    class::Evidence,
    copies::{Behind, Copying, MIRROR_NS, Places, Replaced, SURE_NS, enough, is_coarse, is_young},
    holes::{Hole, Holes},
    on_demand::{OnDemand, quiet},
    order::{IdOrder, ahead_of},
    ring::{
        ACK_EXPECTED, MARKED, RETRANSMITTED, Ring, SENT, SENT_AGAIN, Sent, UNSURE, Unanswered, outstanding,
    },
    step::{Context, GapFill, Packet, Recorded, Resolved, SHORTEST_TIMEOUT_NS, Step},
};
use crate::{
    analyze::{
        model::Class,
        packet::{Facts, FastPacket, differ_in_content},
    },
    heap::heap,
    report::RecoveryMode,
    wire::Psn,
};

/// The sequence. The fields that every packet needs come first.
#[derive(Debug, Default, crate::stored::Stored)]
#[repr(C)]
pub(crate) struct Sequence {
    started: bool,
    in_pass: bool,
    /// A repetition waits for the next packet.
    pub(crate) has_repeated: bool,
    /// A step ahead need not be a gap: PSNs outside of all holes may never have been seen.
    pub(crate) has_jumps: bool,
    /// Passes of repetitions in which the sender went back.
    went_back: u16,
    /// Holes filled one by one, and acknowledged without going back.
    selective: u16,
    /// One past the highest.
    pub(crate) hi: u64,
    /// One past the last of the current pass.
    pub(crate) cur: u64,
    pub(crate) last_time: i64,
    pub(crate) ring: Ring,
    /// State that is needed after a PSN was skipped, or came again.
    pub(crate) rare: OnDemand<Rare>,
    /// First PSN that counts.
    pub(crate) base: u64,
    pub(crate) start_time: i64,
    start_id: Option<u16>,
    pub(crate) unanswered: Unanswered,
}

/// State that only a sequence with gaps or repetitions needs.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Rare {
    pub(crate) holes: Holes,
    /// Skipped PSNs that are not missing: PSNs between the responses of READs.
    pub(super) jumps: Holes,
    /// PSNs that the pass of repetitions left out.
    pub(super) pass_holes: Holes,
    /// A pass began because the sender went back. `pass_steps` of its packets were consecutive.
    pass_open: bool,
    /// The first PSN of the pass at the tap, and its time.
    pub(super) pass_began: (u64, i64),
    /// The longest delay of packets that surely were late.
    latest: i64,
    pass_steps: u32,
    /// PSNs that earlier passes left out.
    pub(crate) pass_holes_left: u64,
    pending: Vec<GapFill>,
    undecided: Vec<GapFill>,
    /// It is not known which PSNs before this one were seen, unless the ring has them.
    unknown_below: u64,
    /// The newest identification of packets that came behind the highest PSN.
    behind_id: Option<u16>,
    places: Places,
    replaced: Replaced,
    /// Of the taps behind the first one.
    backlogs: [Option<Backlog>; 3],
    /// The last packet was recorded before, and is the first record that is marked.
    is_marked_later: bool,
}

/// Packets that were on their way between two taps when the capture began: the second one alone records them, in order, while the first one
/// records what is sent behind them.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Backlog {
    /// The second tap.
    vantage: u16,
    /// The next PSN there, and the first one that both have.
    next: u64,
    until: u64,
}

quiet!(Rare);

heap! {
    Sequence { ring, rare }
    Rare { holes, jumps, pass_holes, replaced, pending, undecided }
    GapFill {}
}

/// A packet with its PSNs unwrapped, and what is known beside the sequence.
struct Unwrapped<'a> {
    x: u64,
    end: u64,
    p: &'a Packet,
    context: &'a Context<'a>,
}

/// The packet after those that wait.
#[derive(Clone, Copy)]
enum Next {
    /// The stream continues at, or beyond, its highest PSN.
    Ahead,
    /// A PSN seen before.
    Seen(u64),
    /// A packet in another hole.
    OtherHole,
    /// No further packet.
    End,
}

/// A packet that comes sooner was late: no answer can have come back.
const QUICK_NS: i64 = 2_000;
/// No timer is shorter.
pub(crate) const SHORTEST_TIMER_NS: i64 = 8_000;
/// In a sparse capture, a late packet was overtaken by at most this number.
pub(crate) const FEW_BEHIND: u32 = 8;
/// A larger step is no gap.
const MAX_GAP: u64 = 1 << 20;
/// A packet further before the first one does not belong to the sequence.
const MAX_BEFORE: u64 = 1 << 16;
/// Most packets that wait for the next one.
const MAX_PENDING: usize = 2048;
/// Most packets that wait for an acknowledgement.
const MAX_UNDECIDED: usize = 64;
/// Unwrapped PSNs start here, so that there is room below.
const ORIGIN: u64 = 1 << 40;
/// Equal packets further apart are not surely one transmission, unless identifications vary.
const DUPLICATE_NS: i64 = 20_000;
/// The limit if identifications vary, or the packet was seen at another place: 16 bits repeat at some time.
const DUPLICATE_SURE_NS: i64 = 1_000_000_000;

impl Sequence {
    /// The unwrapped PSN: the one nearest to the highest PSN seen.
    #[inline]
    pub(crate) fn unwrap(&self, psn: Psn) -> u64 {
        psn.unwrap_near(self.hi)
    }

    pub(crate) fn is_started(&self) -> bool {
        self.started
    }

    pub(crate) fn recovery_mode(&self) -> RecoveryMode {
        match (self.went_back, self.selective) {
            (0, 0 | 1) => RecoveryMode::Unknown,
            (back, selective) if back >= selective => RecoveryMode::GoBackN,
            _ => RecoveryMode::Selective,
        }
    }

    fn start(&mut self, p: &Packet) -> u64 {
        let x = ORIGIN + p.psn.0 as u64;
        self.started = true;
        (self.base, self.hi, self.cur) = (x, x + p.n as u64, x + p.n as u64);
        (self.start_time, self.last_time, self.in_pass) = (p.time, p.time, false);
        self.start_id = p.id;
        if let Some(rare) = self.rare.get_mut() {
            rare.pass_holes.take();
            rare.jumps.take();
            rare.unknown_below = 0;
        }
        self.ring.put(x, 0, sent(p));
        x
    }

    /// Whether the packet is a transmission that was recorded already, by which evidence, and when and in which frame; `Err` with its
    /// lag, if the next packet must decide.
    #[inline]
    fn is_capture_duplicate(
        &mut self,
        &Unwrapped { x, end, p, context }: &Unwrapped<'_>,
    ) -> Result<Option<(Evidence, Recorded)>, i64> {
        let Some(&before) = self.ring.get(x) else { return Ok(None) };
        let ids_vary = context.ids.varies() && p.id.is_some();
        let is_latest = before.fingerprint == p.fingerprint;
        let replaced = || {
            let rare = self.rare.get().filter(|_| ids_vary || context.copying.is_learned())?;
            rare.replaced.find(x, p).copied()
        };
        let Some(recorded) = Some(before).filter(|_| is_latest).or_else(replaced) else { return Ok(None) };
        let apart = (p.time - recorded.time).abs();
        let judged = match (is_latest, ids_vary) {
            (false, true) => return Ok(Some((Evidence::IpId, (recorded.time, recorded.frame)))),
            (false, false) => self.judge_replaced(x, p, (&before, &recorded), context),
            (true, true) => (apart < DUPLICATE_SURE_NS).then_some(Evidence::IpId),
            (true, false) => self.judge_equal(x, p, &before, context)?,
        };
        let Some(evidence) = judged else { return Ok(None) };
        let way = [recorded.vantage, p.vantage];
        match recorded.vantage == p.vantage {
            true => context.copying.see(apart),
            false => self.unanswered = Unanswered::All,
        }
        // What only the lag admits tells nothing of lags.
        let lag = Some(apart).filter(|_| evidence != Evidence::Lag);
        let nth = self.ordinal(x);
        self.rare.places.note(nth..nth + (end - x), way, lag, context.copying);
        if !ids_vary && let Some(sent) = self.ring.get_mut(x) {
            self.rare.places.record(sent, p.vantage);
        }
        Ok(Some((evidence, (recorded.time, recorded.frame))))
    }

    /// The evidence that a packet with the content of a transmission before the latest one is a copy of it: a sender asks for an
    /// acknowledgement with the last packet of a burst, and no more when it sends that one again.
    #[cold]
    fn judge_replaced(
        &self,
        x: u64,
        p: &Packet,
        (latest, recorded): (&Sent, &Sent),
        context: &Context<'_>,
    ) -> Option<Evidence> {
        let rare = self.rare.get()?;
        let (nth, apart) = (self.ordinal(x), (p.time - recorded.time).abs());
        if recorded.vantage != p.vantage {
            let is_awaited = rare.places.has(nth, p.vantage) && !rare.places.had(latest, p.vantage);
            return is_awaited.then_some(Evidence::Vantage);
        }
        rare.places.has_lag(nth, apart, context.copying).then_some(Evidence::Lag)
    }

    /// The evidence that a packet with the content of one before, whose sender does not number its packets, is a copy of it; `None` if it
    /// was retransmitted; `Err` with its lag, if the next packet must decide.
    #[cold]
    fn judge_equal(
        &mut self,
        x: u64,
        p: &Packet,
        before: &Sent,
        context: &Context<'_>,
    ) -> Result<Option<Evidence>, i64> {
        if let Some(is_copy) = context.is_copy {
            return Ok(is_copy.then_some(Evidence::Run));
        }
        let apart = (p.time - before.time).abs();
        let is_elsewhere = before.vantage != p.vantage;
        if self.rare.places.had(before, p.vantage) {
            return Ok(None);
        }
        let leads = || context.copying.leads([before.vantage, p.vantage]);
        if is_elsewhere && (self.rare.places.has(self.ordinal(x), p.vantage) || leads()) {
            return Ok((apart < DUPLICATE_SURE_NS).then_some(Evidence::Vantage));
        }
        let is_asked = context.asked.is_some_and(|(asked, time)| asked == x && before.time < time);
        if !is_elsewhere && !is_asked && self.rare.places.has_lag(self.ordinal(x), apart, context.copying) {
            return Ok(Some(Evidence::Lag));
        }
        // The next packet of a pass of repetitions may come soon: the last packet before the sender went back is repeated without
        // delay. So may its first packet: the requested PSN, or a little beyond, if that one was lost again.
        const LOST_AGAIN: u64 = 8;
        let asked = context.asked.is_some_and(|(asked, _)| (asked..asked + LOST_AGAIN).contains(&x));
        let after_fill = self.rare.pending.last().is_some_and(|last| last.end == x);
        if self.in_pass && x >= self.cur || asked && !self.in_pass || after_fill {
            return Ok(None);
        }
        let age = context.age.min(x.saturating_sub(self.base.max(self.backlog_end())));
        if is_elsewhere && is_young(age) && !self.begins_at(p.vantage) {
            return Ok((apart < DUPLICATE_SURE_NS).then_some(Evidence::Vantage));
        }
        let shows_asking = context.asked_time != i64::MAX;
        // Such coarse times are no evidence.
        let coarse = is_coarse(before.time, p.time);
        if shows_asking && before.time < context.asked_time || apart >= MIRROR_NS && !coarse {
            return Ok(None);
        }
        let is_copied = || is_young(age) || self.rare.places.are_of_most(self.ordinal(x));
        if !is_elsewhere && context.copying.has(apart) && is_copied() {
            return Ok(Some(Evidence::Lag));
        }
        if self.is_sparse() {
            // If a sampled packet was recorded twice, its copy is rarely among the samples.
            return Ok((apart < QUICK_NS && !coarse).then_some(Evidence::RoundTrip));
        }
        let rtt = context.rtt_min.filter(|_| shows_asking).map(i64::from);
        // A sender that goes back again is asked again, by a packet of the pass before.
        let is_calm = !self.in_pass && rtt.is_some_and(|rtt| before.time - context.asked_time > 2 * rtt);
        let sure = rtt.filter(|_| is_calm).map_or(SURE_NS, |rtt| (rtt / 2).min(DUPLICATE_NS));
        // Who repeats packets may do so for two reasons in a row; and a mirror that copies these has copied others before.
        let is_repeated = before.flags & (SENT_AGAIN | RETRANSMITTED) != 0;
        let is_uncopied = !is_young(age) && !context.copying.is_learned() && self.rare.places.are_none();
        if is_repeated && is_uncopied && !is_elsewhere {
            return Ok(None);
        }
        if apart < sure && !coarse {
            return Ok(Some(Evidence::RoundTrip));
        }
        if !shows_asking || context.rtt_min.is_some() && apart >= context.timeout_ns {
            return Ok(None);
        }
        if let Some(sent) = self.ring.get_mut(x) {
            sent.flags |= UNSURE;
        }
        self.has_repeated = true;
        Err(apart)
    }

    /// Which PSN it is of those that are sent at all: between the responses of READs, PSNs are of other requests.
    fn ordinal(&self, x: u64) -> u64 {
        x.saturating_sub(self.rare.get().map_or(0, |rare| rare.jumps.psns()))
    }

    /// One past the last packet that was on its way between two taps when the capture began.
    fn backlog_end(&self) -> u64 {
        let backlogs = self.rare.get().into_iter().flat_map(|rare| rare.backlogs.iter().flatten());
        backlogs.map(|backlog| backlog.until).max().unwrap_or(0)
    }

    /// Whether new packets were recorded at this place first lately: it is no place that others lead to.
    fn begins_at(&self, vantage: u16) -> bool {
        const FEW: u64 = 64;
        // What was on its way when the capture began came past the others unseen.
        let newest =
            (self.hi.saturating_sub(FEW).max(self.backlog_end())..self.hi).filter_map(|x| self.ring.get(x));
        newest.filter(|sent| sent.flags & SENT_AGAIN == 0).any(|sent| sent.vantage == vantage)
    }

    /// So many copies between new packets, from this PSN on, are needed to show a mirror.
    pub(crate) fn enough_copies(&self, first: Option<u64>, copying: &Copying) -> u32 {
        enough(first.unwrap_or(self.base).saturating_sub(self.base), copying)
    }

    /// The kind of a packet, for the repetitions that wait.
    pub(crate) fn behind_repeated(&self, p: &Packet) -> Behind {
        let x = self.unwrap(p.psn);
        match self.ring.get(x) {
            _ if x >= self.hi => Behind::New,
            Some(before) if before.fingerprint == p.fingerprint => {
                Behind::Again(x, x + p.n as u64, (p.time - before.time).abs())
            }
            _ => Behind::Missing,
        }
    }

    /// Whether a packet with the next PSN is simply the next one: no pass of repetitions ends with it, and nothing waits for it.
    #[inline(always)]
    pub(crate) fn is_undisturbed(&self) -> bool {
        let waits = || self.rare.get().is_some_and(|rare| !rare.pending.is_empty());
        self.started && !self.in_pass && !self.has_repeated && !waits()
    }

    /// All packets before `next` came in order.
    #[inline(always)]
    pub(crate) fn go_on(&mut self, next: u64, time: i64) {
        (self.hi, self.cur, self.last_time) = (next, next, time);
    }

    /// Whether a packet is simply the next one: no pass of repetitions ends with it, nothing waits for it, and it was not overtaken.
    #[inline(always)]
    pub(crate) fn expects(&self, facts: &Facts, ids: &IdOrder) -> bool {
        let is_next = facts.psn().0 == self.hi as u32 & (Psn::SPACE - 1);
        let overtaken = || facts.ip_id().is_some_and(|id| ids.is_overtaken(id));
        is_next && self.is_undisturbed() && !overtaken()
    }

    /// Takes an expected packet. Returns its unwrapped PSN. `una` as in [`Context`].
    #[inline(always)]
    pub(crate) fn take_expected(&mut self, facts: &Facts, frame: u64, una: u64) -> u64 {
        let x = self.hi;
        (self.hi, self.cur, self.last_time) = (x + 1, x + 1, facts.time());
        let outstanding = outstanding(x, self.base, una, self.unanswered);
        if !self.ring.has_room_for(outstanding) {
            self.ring.make_room(outstanding);
        }
        self.ring.put_in_room(x, sent(&Packet::of(facts, frame)));
        x
    }

    /// Takes the next packet. `missing` adds the PSNs of a gap that should have come to the holes.
    #[inline]
    pub(crate) fn on_packet(
        &mut self,
        p: &Packet,
        context: &Context<'_>,
        missing: impl FnOnce(Range<u64>, &mut Holes),
        resolved: &mut Vec<Resolved>,
    ) -> Step {
        let mut step = Step::default();
        if !self.started {
            step.x = self.start(p);
            step.class = Some(Class::First);
            return step;
        }
        step.x = self.unwrap(p.psn);
        let packet = Unwrapped { x: step.x, end: step.x + p.n as u64, p, context };
        if step.x >= self.hi {
            self.ahead(&packet, missing, resolved, &mut step);
        } else {
            self.behind(&packet, resolved, &mut step);
        }
        if step.class != Some(Class::CaptureDuplicate) && step.repeated.is_none() {
            self.last_time = p.time;
        }
        step
    }

    #[inline]
    fn ahead(
        &mut self,
        &Unwrapped { x, end, p, context }: &Unwrapped<'_>,
        missing: impl FnOnce(Range<u64>, &mut Holes),
        resolved: &mut Vec<Resolved>,
        step: &mut Step,
    ) {
        if self.rare.get().is_some_and(|rare| !rare.pending.is_empty()) {
            self.resolve(Next::Ahead, context, resolved);
        }
        let gap = x - self.hi;
        if gap > MAX_GAP {
            self.resync(p, step);
            return;
        }
        // It has the highest PSN, and yet was overtaken: by a repetition that was sent later. Packets of other PSN spaces overtake nobody.
        let behind = || self.rare.get().and_then(|rare| rare.behind_id);
        step.overtaken = p.id.is_some_and(|id| {
            context.ids.is_overtaken(id) && behind().is_some_and(|behind| ahead_of(id, behind) < 0)
        });
        if self.in_pass && !step.overtaken {
            step.left_out = self.cur.max(context.una)..self.hi;
            if context.asked.is_some() {
                // There was another NAK: the sender may have dropped the rest of this pass.
                step.is_dropped = true;
                let left_out = step.left_out.end.saturating_sub(step.left_out.start);
                // Who repeats single packets leaves none out; the repetition that was asked for may be lost.
                let repeats_single = self.recovery_mode() == RecoveryMode::Selective;
                step.unseen = if repeats_single { left_out.min(1) } else { left_out };
            } else {
                self.rare.pass_holes.push(step.left_out.clone(), p.time, p.id);
            }
            self.in_pass = false;
            self.end_pass(step.is_dropped && step.unseen > 0);
        }
        if step.overtaken {
            step.evidence = Evidence::IpId;
        }
        step.class = Some(match gap {
            _ if step.overtaken => Class::LateOriginal,
            0 => Class::New,
            _ => Class::NewAfterGap,
        });
        if gap > 0 {
            step.gap = gap;
            if self.has_jumps {
                self.rare.jumps.push(self.hi..x, p.time, p.id);
            }
            missing(self.hi..x, &mut self.rare.holes);
            if step.class == Some(Class::NewAfterGap) && !self.rare.holes.touches(&(self.hi..x)) {
                step.class = Some(Class::New);
            }
        }
        if p.time - self.last_time > context.timeout_ns {
            step.unseen += unseen(p.id, context.ids).saturating_sub(gap);
        }
        // Beyond all that came whole, and yet it was sent before: a switch had cut it.
        let is_again = context.was_trimmed && !step.overtaken;
        if is_again {
            let fill = GapFill {
                x,
                end,
                hole_time: self.last_time,
                timed_out: context.has_timed_out(x, p.time),
                is_due: x == context.una,
                is_sprayed: p.is_sprayed,
                asked: context.was_asked,
                ..Resolved::of(p, Class::Retransmission).fill
            };
            step.class = Some(Class::Retransmission);
            resolved.push(Resolved::by(fill, Class::Retransmission, Evidence::SeenBefore));
        }
        // What waits for its verdict may be acknowledged before: the ring keeps when it was sent.
        let una = if self.has_repeated { 0 } else { context.una };
        let outstanding = outstanding(x, self.base, una, self.unanswered);
        self.hi = end;
        if !self.in_pass {
            self.cur = end;
        }
        let mut sent = sent(p);
        sent.flags |= if is_again { RETRANSMITTED } else { 0 };
        self.ring.put(x, outstanding, sent);
    }

    /// A transmission was recorded again: perhaps a switch has marked it meanwhile.
    fn note_mark(&mut self, x: u64, p: &Packet) {
        let sent = self.ring.get_mut(x).filter(|sent| p.is_marked && sent.fingerprint == p.fingerprint);
        if let Some(sent) = sent.filter(|sent| sent.flags & MARKED == 0) {
            sent.flags |= MARKED;
            self.rare.is_marked_later = true;
        }
    }

    /// Whether the last packet was recorded before, and is the first of these records that is marked. True once.
    pub(crate) fn take_mark(&mut self) -> bool {
        self.rare.get_mut().is_some_and(|rare| std::mem::take(&mut rare.is_marked_later))
    }

    #[cold]
    fn resync(&mut self, p: &Packet, step: &mut Step) {
        self.rare.holes.retire();
        step.x = self.start(p);
        step.class = Some(Class::Resync);
    }

    #[cold]
    fn behind(&mut self, packet: &Unwrapped<'_>, resolved: &mut Vec<Resolved>, step: &mut Step) {
        let &Unwrapped { x, p, .. } = packet;
        match self.is_capture_duplicate(packet) {
            Ok(None) => {}
            Ok(Some((evidence, recorded))) => {
                step.before = Some(recorded);
                self.note_mark(x, p);
                return (step.class, step.evidence) = (Some(Class::CaptureDuplicate), evidence);
            }
            Err(apart) => return step.repeated = Some(apart),
        }
        if self.is_backlog(packet) {
            return step.class = Some(Class::BeforeStart);
        }
        if let Some(id) = p.id {
            let newer = self.rare.behind_id.filter(|behind| ahead_of(id, *behind) < 0);
            self.rare.behind_id = Some(newer.unwrap_or(id));
        }
        if x < self.base {
            if self.base - x > MAX_BEFORE {
                if self.hi - x > MAX_GAP {
                    self.resync(p, step)
                } else {
                    step.class = Some(Class::BeforeStart)
                }
                return;
            }
            self.rare.holes.push(x..self.base, self.start_time, self.start_id);
            self.base = x;
        }
        match self.rare.holes.get(x).or_else(|| self.rare.jumps.get(x)) {
            Some(hole) => self.in_hole(packet, &hole, resolved, step),
            None if x < self.rare.unknown_below && self.ring.get(x).is_none() => {
                step.class = Some(Class::Ambiguous)
            }
            None => self.again(packet, resolved, step),
        }
    }

    /// Whether a packet was on its way from the tap that records the flow first to this one when the capture began.
    fn is_backlog(&mut self, &Unwrapped { x, end, p, .. }: &Unwrapped<'_>) -> bool {
        /// No queue between two taps holds more packets of a flow.
        const LONGEST: u64 = 1 << 12;
        let interface = |vantage: u16| vantage >> 8;
        let Some(newest) = self.ring.get(self.hi - 1).map(|sent| sent.vantage) else { return false };
        if self.hi - self.base.min(x) > LONGEST || interface(newest) == interface(p.vantage) {
            return false;
        }
        let known = self.rare.get().map_or([None; 3], |rare| rare.backlogs);
        let place = known.iter().position(|one| one.is_none_or(|backlog| backlog.vantage == p.vantage));
        let Some(place) = place else { return false };
        let begun = || {
            let no_other = |psns: Range<u64>, other: u16| {
                psns.filter_map(|x| self.ring.get(x)).all(|sent| interface(sent.vantage) != interface(other))
            };
            // All before it were on their way too, or all behind it are of taps before this one.
            let hole = || self.rare.get().and_then(|rare| rare.holes.get(x));
            let until = match x < self.base {
                true => Some(self.base).filter(|_| no_other(self.base..self.hi, p.vantage)),
                false => hole().map(|hole| hole.end).filter(|_| no_other(self.base..x, newest)),
            };
            until.map(|until| Backlog { vantage: p.vantage, next: x, until })
        };
        let backlog = known[place].or_else(begun);
        let Some(backlog) = backlog.filter(|backlog| (backlog.next..backlog.until).contains(&x)) else {
            return false;
        };
        self.rare.backlogs[place] = Some(Backlog { next: end, ..backlog });
        if x < self.base {
            self.rare.holes.push(x..self.base, self.start_time, self.start_id);
            self.base = x;
        }
        self.rare.holes.fill(x..end);
        self.ring.put(x, self.hi - x, sent(p));
        true
    }

    fn in_hole(
        &mut self,
        &Unwrapped { x, end, p, context }: &Unwrapped<'_>,
        hole: &Hole,
        resolved: &mut Vec<Resolved>,
        step: &mut Step,
    ) {
        let fill = GapFill {
            x,
            end,
            hole_time: hole.time,
            hole_first: hole.first,
            hole_psns: hole.psns,
            sent_before: p.id.zip(hole.id).map(|(id, behind)| ahead_of(id, behind) < 0),
            overtaken: p.id.is_some_and(|id| context.ids.is_overtaken(id)),
            extent: (self.hi - x).min(u32::MAX as u64) as u32,
            // What waited for a timer had been missing for as long.
            timed_out: context.has_timed_out(x, p.time)
                && p.time - hole.time >= context.timeout_ns.min(SHORTEST_TIMEOUT_NS),
            is_due: x == context.una,
            is_sprayed: p.is_sprayed,
            asked: context.was_asked,
            was_trimmed: context.was_trimmed,
            is_in_pass: self.in_pass && x >= self.cur && self.rare.pass_began.1 >= hole.time,
            was_left_out: self.rare.pass_holes.get(x).is_some(),
            silent: p.time - self.last_time,
            unseen: unseen(p.id, context.ids),
            is_next_sent: is_next_sent(p.id, context.ids),
            ..Resolved::of(p, Class::Ambiguous).fill
        };
        if self.rare.pending.last().is_some_and(|last| x < last.end) {
            self.resolve(Next::OtherHole, context, resolved);
        }
        self.rare.holes.fill(x..end);
        if self.has_jumps {
            self.rare.jumps.fill(x..end);
        }
        self.rare.pass_holes.fill(x..end);
        self.ring.put(x, self.hi - x, sent(p));
        self.hi = self.hi.max(end);
        // A pass of repetitions fills the hole that it reaches.
        if self.rare.pending.is_empty() && self.in_pass && x == self.cur {
            self.cur = end;
            self.rare.pass_steps += 1;
            let fill = GapFill { goes_on: !self.is_paused_before(x, p, context), ..fill };
            if let Some(sent) = self.ring.get_mut(x) {
                sent.flags |= RETRANSMITTED;
            }
            step.class = Some(Class::Retransmission);
            let run = Resolved::by(fill, Class::Retransmission, Evidence::Run);
            resolved.push(Resolved { in_pass: true, ..run });
            return;
        }
        self.rare.pending.push(fill);
        if self.rare.pending.len() >= MAX_PENDING {
            self.resolve(Next::Seen(end), context, resolved);
        }
    }

    /// Whether something new made the sender repeat this packet, the next one of a pass of repetitions: a timeout, or a NAK for it.
    fn is_paused_before(&self, x: u64, p: &Packet, context: &Context<'_>) -> bool {
        p.time - self.last_time >= context.timeout_ns || context.is_asked_since(x, self.last_time)
    }

    fn again(
        &mut self,
        &Unwrapped { x, end, p, context }: &Unwrapped<'_>,
        resolved: &mut Vec<Resolved>,
        step: &mut Step,
    ) {
        let known = self.ring.get(x).filter(|_| context.is_same_again && !p.is_sprayed);
        if known.is_some_and(|before| differ_in_content(before.fingerprint, p.fingerprint)) {
            self.ring.put(x, self.hi - x, sent(p));
            return step.class = Some(Class::ReusedPsn);
        }
        self.resolve(Next::Seen(x), context, resolved);
        // The packet that filled the hole comes again at once: so the first one was late.
        if self.rare.undecided.last().is_some_and(|fill| fill.x == x)
            && let Some(fill) = self.rare.undecided.pop()
        {
            // What was asked for, and waited for a timer then, was lost again.
            let is_answer = fill.asked.is_some() && p.time - fill.time >= context.timeout_ns;
            resolved.push(match is_answer {
                true => Resolved::by(fill, Class::Retransmission, Evidence::Nak),
                false => Resolved::by(fill, Class::LateOriginal, Evidence::Run),
            });
        }
        let before = self.ring.get(x).copied();
        let late = self.is_late_again(x, p, context);
        if late && before.is_some_and(|sent| sent.flags & (SENT_AGAIN | RETRANSMITTED) == RETRANSMITTED) {
            step.class = Some(Class::LateOriginal);
            step.evidence = if context.ids.counts_up() { Evidence::IpId } else { Evidence::RoundTrip };
            step.original_late = true;
            step.overtaken = true;
            return;
        }
        (step.class, step.evidence) = (Some(Class::Retransmission), Evidence::SeenBefore);
        step.before = before.map(|sent| (sent.time, sent.frame));
        step.overtaken = late;
        if late {
            step.not_lost = self.rare.pass_holes.get(x).is_none();
            self.rare.pass_holes.fill(x..end);
        } else if self.in_pass && x >= self.cur {
            if x == self.cur {
                self.step_on(resolved);
            }
            step.pass_gap = x - self.cur;
            // A sender that goes back once sends what follows without a pause.
            let is_silent = p.time - self.last_time >= context.timeout_ns;
            // Nor, where no round trip is known, for longer than the acknowledgement took that it waited for.
            let (waited, answered) = (p.time - context.last_progress, context.last_progress - self.last_time);
            let is_silent = is_silent && (context.rtt_min.is_some() || waited >= answered);
            step.timed_out = is_silent && context.has_timed_out(x, p.time);
            // PSNs that were acknowledged meanwhile need not be retransmitted. Who repeats what is acknowledged does not know of that yet, or lacks the
            // response to a READ before it.
            let knows = x >= context.una || context.is_apart || self.recovery_mode() != RecoveryMode::GoBackN;
            step.left_out = if knows { self.cur.max(context.una)..x } else { self.cur..x };
            self.rare.pass_holes.push(step.left_out.clone(), p.time, p.id);
            (self.cur, self.in_pass) = (end, true);
        } else {
            step.went_back = true;
            self.end_pass(false);
            let rare = &mut *self.rare;
            step.skipped = rare.pass_holes.take() + std::mem::take(&mut rare.pass_holes_left);
            step.unseen = unseen(p.id, context.ids);
            step.is_next_sent = is_next_sent(p.id, context.ids);
            self.go_back(x, p.time);
            (self.cur, self.in_pass) = (end, true);
        }
        self.hi = self.hi.max(end);
        let mut again = sent(p);
        again.flags |= SENT_AGAIN;
        step.is_second = before.is_some_and(|before| before.flags & (SENT_AGAIN | RETRANSMITTED) == 0);
        // Other taps may record the transmission before it still: pauses on the way to them last longer than timers.
        let awaited_ns = if context.copying.elsewhere() > 0 { DUPLICATE_SURE_NS } else { MIRROR_NS };
        if let Some(before) = before.filter(|before| (p.time - before.time).abs() < awaited_ns) {
            self.rare.places.carry(&before, &mut again);
            self.rare.replaced.push(before);
        }
        if let Some(before) = before.filter(|before| before.flags & RETRANSMITTED != 0) {
            // The first transmission seen was a repetition. A late packet now may be the original, or another repetition.
            step.original_late = late;
            again.flags |= before.flags & if late { 0 } else { RETRANSMITTED };
        }
        self.ring.put(x, self.hi - x, again);
    }

    /// Whether a repetition was overtaken by a later one.
    fn is_late_again(&self, x: u64, p: &Packet, context: &Context<'_>) -> bool {
        if context.ids.counts_up() {
            return p.id.is_some_and(|id| context.ids.ahead(id) < 0);
        }
        // It lies in a hole of the pass, and comes so soon that no NAK can have requested it. A READ that was issued again did: that shows.
        let limit = context.rtt_min.map_or(context.late_ns, |rtt| rtt as i64);
        let is_asked = |since| {
            let asked = Some(context.asked_time).filter(|&time| time != i64::MAX);
            context.rtt_min.is_none() && asked.is_some_and(|time| time > since)
        };
        let is_asked_again = |since| is_asked(since) || context.is_asked_since(x, since);
        // Where two taps have clocks apart, answers seem to come as much sooner as packets seem to be late.
        let spread = context.rtt_min.map_or(0, |_| context.spread_ns.max(self.rare.latest));
        let is_soon = |hole: Hole| {
            let waited = p.time - hole.time;
            waited < limit && !is_asked(hole.time) || waited < limit + spread && !is_asked_again(hole.time)
        };
        x < self.cur
            && (self.rare.pass_holes.get(x).is_some_and(is_soon)
                || self.is_pass_overtaken(x, p, context)
                || context.spread_ns > 0 && self.is_left_behind(x, p, context))
    }

    /// Whether a pass of repetitions that began before this packet has not had it yet, and one of the next packets came just before: holes do not
    /// tell of PSNs that are acknowledged.
    fn is_left_behind(&self, x: u64, p: &Packet, context: &Context<'_>) -> bool {
        let (first, began) = self.rare.pass_began;
        let is_of_pass = |x: u64| self.ring.get(x).filter(|sent| sent.time >= began);
        let mut behind = (1..=u64::from(FEW_BEHIND)).filter_map(|n| is_of_pass(x + n * u64::from(p.n)));
        let is_soon =
            |sent: &Sent| p.time - sent.time <= context.spread_ns && !context.is_asked_since(x, sent.time);
        self.is_of_pass(p) && x > first && is_of_pass(x).is_none() && behind.next().is_some_and(is_soon)
    }

    /// Whether a pass goes on, or went on before what came while this packet waited for its verdict.
    fn is_of_pass(&self, p: &Packet) -> bool {
        self.in_pass || p.time < self.last_time
    }

    /// Whether the sender went back to this packet, and those behind it overtook it, as packets of this flow do: a pass began with them at the
    /// tap.
    fn is_pass_overtaken(&self, x: u64, p: &Packet, context: &Context<'_>) -> bool {
        let (began, time) = self.rare.pass_began;
        let is_near = x < began && x + u64::from(FEW_BEHIND) * u64::from(p.n) >= began;
        let latest = context.spread_ns.max(2 * self.rare.latest);
        self.is_of_pass(p) && is_near && p.time - time <= latest && !context.is_asked_since(x, time)
    }

    /// Ends a pass of repetitions. A pass that repeats single packets, and leaves out others, is not of a sender that goes back. `is_cut`: it left
    /// out more than its holes.
    fn end_pass(&mut self, is_cut: bool) {
        if self.rare.pass_open && self.rare.pass_steps == 0 && (is_cut || self.rare.pass_holes.psns() > 0) {
            self.rare.pass_holes.take();
            self.went_back = self.went_back.saturating_sub(1);
            self.selective = self.selective.saturating_add(1);
        }
        (self.rare.pass_open, self.rare.pass_steps) = (false, 0);
    }

    /// The sender goes back.
    fn go_back(&mut self, x: u64, time: i64) {
        self.went_back = self.went_back.saturating_add(1);
        (self.rare.pass_open, self.rare.pass_steps) = (true, 0);
        self.rare.pass_began = (x, time);
    }

    /// The pass continues: so packets that filled holes one by one before were late, not retransmitted.
    fn step_on(&mut self, resolved: &mut Vec<Resolved>) {
        self.rare.pass_steps += 1;
        let late = |fill| Resolved::by(fill, Class::LateOriginal, Evidence::Run);
        resolved.extend(self.rare.undecided.drain(..).map(late));
    }

    /// Decide on the packets that wait.
    #[cold]
    fn resolve(&mut self, next: Next, context: &Context<'_>, resolved: &mut Vec<Resolved>) {
        let (Some(first), Some(last)) =
            (self.rare.pending.first().copied(), self.rare.pending.last().copied())
        else {
            return;
        };
        // In a capture with few of the packets, the next packet is further on.
        let sparse = self.is_sparse();
        // Whether the stream continues after the packets that wait, or as if they had not come.
        let goes_on = match next {
            Next::Seen(x) => x >= last.end && x != self.cur || x == last.end,
            Next::OtherHole => false,
            Next::Ahead | Next::End => sparse && last.extent > FEW_BEHIND,
        };
        // The packet behind them comes again, and not as the next one of a pass before: no packet that was only late is followed so.
        let rewinds = matches!(next, Next::Seen(x) if x == last.end && !(self.in_pass && x == self.cur));
        let pending = std::mem::take(&mut self.rare.pending);
        // Whoever was asked for a packet and repeats the next one too, which nobody asked for, goes back: if all that it repeats fills holes, no packet
        // that was seen before shows that.
        let is_pass = matches!(&pending[..], [one, two, ..] if one.end == two.x
            && (one.asked.is_some() || one.timed_out)
            && two.asked.is_none()
            && !one.is_sprayed
            && self.recovery_mode() != RecoveryMode::Selective);
        let mut begins = false;
        for &fill in &pending {
            let (class, evidence) =
                match self.decide(&fill, &first, (goes_on, rewinds), matches!(next, Next::End), context) {
                    Some(decided) => decided,
                    None if self.rare.undecided.len() < MAX_UNDECIDED && !matches!(next, Next::End) => {
                        self.rare.undecided.push(fill);
                        continue;
                    }
                    None => (Class::Ambiguous, Evidence::Unknown),
                };
            if class == Class::LateOriginal
                && fill.time - fill.hole_time < context.rtt_min.map_or(QUICK_NS, i64::from)
            {
                self.rare.latest = self.rare.latest.max(fill.time - fill.hole_time);
            }
            let (mut went_back, mut left_out) = (false, (0, 0));
            let goes_on = goes_on || fill.is_in_pass;
            // A pass of which nothing was seen before proves no loss by its order.
            let in_pass = goes_on && class == Class::Retransmission;
            let goes_on = goes_on || is_pass;
            if class == Class::Retransmission {
                if let Some(sent) = self.ring.get_mut(fill.x) {
                    sent.flags |= RETRANSMITTED;
                }
                went_back = !self.in_pass || fill.x < self.cur;
                // The repetition in the pass before was lost, too.
                begins |= went_back && self.recovery_mode() == RecoveryMode::GoBackN;
                self.rare.pass_holes_left += u64::from(begins && fill.was_left_out);
                if goes_on {
                    if went_back {
                        let rare = &mut *self.rare;
                        rare.pass_holes_left += rare.pass_holes.take();
                        self.go_back(fill.x, fill.time);
                    }
                    if self.in_pass && fill.x == self.cur {
                        self.step_on(resolved);
                    }
                    if self.in_pass && fill.x > self.cur {
                        // The pass left out those before it, as it may before any packet.
                        left_out = (self.cur.max(context.una), fill.x);
                        self.rare.pass_holes.push(left_out.0..left_out.1, fill.time, None);
                    }
                    (self.cur, self.in_pass) = (fill.end, true);
                } else {
                    self.selective = self.selective.saturating_add(1);
                }
            }
            resolved.push(Resolved { fill, class, evidence, went_back, in_pass, left_out });
        }
        // Keeps the allocation.
        self.rare.pending = pending;
        self.rare.pending.clear();
    }

    /// Whether the capture has only a part of the packets: it samples them, or others take other paths.
    pub(crate) fn is_sparse(&self) -> bool {
        let Some(rare) = self.rare.get() else { return false };
        rare.holes.len() >= 8 && 2 * rare.holes.psns() > self.hi - self.base
    }

    fn decide(
        &self,
        fill: &GapFill,
        first: &GapFill,
        (goes_on, rewinds): (bool, bool),
        end: bool,
        context: &Context<'_>,
    ) -> Option<(Class, Evidence)> {
        if let (Some(sent_before), true) = (fill.sent_before, context.ids.counts_up()) {
            return Some((late_if(sent_before), Evidence::IpId));
        }
        let waited = fill.time - fill.hole_time;
        if self.is_sparse() {
            // Round trips and questions of such a capture are chance: how far back the first of those in order lies tells.
            let waited = first.time - first.hole_time;
            let late = first.extent <= FEW_BEHIND || waited < QUICK_NS || waited <= 2 * self.rare.latest;
            return Some((late_if(late), Evidence::Distance));
        }
        if rewinds {
            return Some((Class::Retransmission, Evidence::Run));
        }
        let asked = context.asked.is_some_and(|(x, time)| {
            (x == fill.x || x == first.x) && time >= fill.hole_time && time <= fill.time
        });
        // A receiver that keeps early packets may ask for others before the next packet comes.
        let were_asked = [fill.asked, first.asked].into_iter().flatten().any(|time| time >= fill.hole_time);
        let asked = asked || were_asked || context.is_apart;
        // A sender repeats what is on its way back, however soon: where nothing is late, or the next packets follow.
        if fill.is_in_pass && (goes_on || self.rare.latest == 0 && context.spread_ns == 0) {
            return Some((Class::Retransmission, Evidence::Run));
        }
        // The shortest round trip seen need not be the shortest one. If an answer was due, half of it is the limit.
        let soon = |rtt: u32| waited < if asked { rtt as i64 / 2 } else { rtt as i64 };
        if context.rtt_min.is_some_and(soon) {
            return Some((Class::LateOriginal, Evidence::RoundTrip));
        }
        if goes_on {
            return Some((Class::Retransmission, Evidence::Run));
        }
        // A switch forwards what it cuts in place of the whole.
        if fill.was_trimmed {
            return Some((Class::Retransmission, Evidence::SeenBefore));
        }
        // Much later than any packet that was surely late: it was retransmitted.
        let is_long = waited > 4 * self.rare.latest;
        if asked {
            if end
                || is_long && self.selective >= self.went_back
                || self.selective > self.went_back.saturating_add(1)
            {
                return Some((Class::Retransmission, Evidence::Nak));
            }
            // Whoever goes back repeats the next packets, too. Those may be lost as well: what comes much later than anything that was late waits for
            // its acknowledgement.
            let is_late = fill.asked.is_none() || !is_long;
            if self.went_back > self.selective.saturating_add(1) && is_late {
                return Some((Class::LateOriginal, Evidence::Run));
            }
            return None;
        }
        if let (true, Some(rtt)) = (context.reverse_visible, context.rtt_min) {
            // There was no NAK: only a timeout can have caused a retransmission, and a timeout is longer than a round trip.
            // A packet that is overtaken at the end of a burst comes with the next burst, a round trip later.
            // What a slow path of several carries is as late as that, however long: a timer expires where nothing is acknowledged.
            let is_timeout = is_long
                && waited >= SHORTEST_TIMER_NS.max(2 * i64::from(rtt))
                && (!fill.is_sprayed || fill.timed_out);
            return Some((late_if(!is_timeout), Evidence::Timer));
        }
        Some(match waited {
            _ if !is_long || waited < QUICK_NS => (Class::LateOriginal, Evidence::RoundTrip),
            _ if waited < context.late_ns => (Class::Ambiguous, Evidence::Unknown),
            _ => (Class::Retransmission, Evidence::Timer),
        })
    }

    /// Whether nothing waits for an acknowledgement to be told what it was.
    #[inline(always)]
    pub(crate) fn has_decided_all(&self) -> bool {
        self.rare.get().is_none_or(|rare| rare.undecided.is_empty())
    }

    /// All PSNs before `una` are acknowledged. Holes before it that were filled one by one, and the sender did not go back, were
    /// filled by retransmissions for a receiver that keeps early packets.
    #[inline]
    pub(crate) fn acknowledged(&mut self, una: u64, resolved: &mut Vec<Resolved>) {
        if self.has_decided_all() {
            return;
        }
        let mut selective = 0;
        self.rare.undecided.retain(|&fill| {
            let decided = una > fill.end;
            if decided {
                selective += 1;
                resolved.push(Resolved::by(fill, Class::Retransmission, Evidence::Nak));
            }
            !decided
        });
        if self.recovery_mode() != RecoveryMode::GoBackN {
            self.selective = self.selective.saturating_add(selective);
        }
    }

    /// The capture is over: decides what is undecided.
    pub(crate) fn finish(&mut self, context: &Context<'_>, resolved: &mut Vec<Resolved>) {
        self.resolve(Next::End, context, resolved);
        if self.rare.get().is_none() {
            return;
        }
        self.end_pass(false);
        let rare = &mut *self.rare;
        rare.pass_holes_left += rare.pass_holes.take();
        resolved.extend(rare.undecided.drain(..).map(Resolved::ambiguous));
    }

    /// Drops the holes, and returns how many PSNs were missing. They stay counted. Packets that wait for a verdict become ambiguous,
    /// and so do packets that come into a hole later.
    pub(crate) fn shed(&mut self, resolved: &mut Vec<Resolved>) -> u64 {
        let hi = self.hi;
        let Some(rare) = self.rare.get_mut() else { return 0 };
        let waiting = [std::mem::take(&mut rare.pending), std::mem::take(&mut rare.undecided)];
        resolved.extend(waiting.into_iter().flatten().map(Resolved::ambiguous));
        rare.pass_holes.shed();
        rare.replaced.shed();
        let missing = rare.holes.shed();
        if missing + rare.jumps.shed() > 0 {
            rare.unknown_below = hi;
        }
        missing
    }

    /// The flow is over: drops the state that only further packets would need.
    pub(crate) fn forget(&mut self) {
        self.ring = Ring::default();
        self.shed(&mut Vec::new());
    }
}

/// The number of identifications that were skipped since the newest.
pub(crate) fn unseen(id: Option<u16>, ids: &IdOrder) -> u64 {
    match id {
        Some(id) if ids.counts_up() => (i64::from(ids.ahead(id)) - 1).max(0) as u64,
        _ => 0,
    }
}

/// Whether its sender sent nothing since the newest identification.
#[inline]
pub(crate) fn is_next_sent(id: Option<u16>, ids: &IdOrder) -> bool {
    id.is_some_and(|id| ids.counts_up() && ids.ahead(id) == 1)
}

fn late_if(is_late: bool) -> Class {
    if is_late { Class::LateOriginal } else { Class::Retransmission }
}

#[inline(always)]
pub(crate) fn sent_in_run(packet: &FastPacket, frame: u64) -> Sent {
    Sent {
        time: packet.time(),
        frame: frame as u32,
        fingerprint: packet.fingerprint(),
        vantage: packet.vantage(),
        flags: SENT | (packet.is_ack_expected() as u16 * ACK_EXPECTED),
        ..Sent::default()
    }
}

#[inline(always)]
pub(crate) fn sent(p: &Packet) -> Sent {
    Sent {
        time: p.time,
        frame: p.frame as u32,
        fingerprint: p.fingerprint,
        vantage: p.vantage,
        flags: SENT | (p.ack_expected as u16 * ACK_EXPECTED) | (p.is_marked as u16 * MARKED),
        ..Sent::default()
    }
}
