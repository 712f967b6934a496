//! One PSN space as a tap sees it in one direction: what is new, what is missing, what comes again, what comes late.
//!
//! A packet behind the highest PSN was either seen before (then its sender repeats it), or it lies in a hole. One in
//! a hole is a late original or a retransmission of a packet lost before the tap. What decides, strongest first:
//!
//! 1. the sender's IPv4 identifications, where they were seen to count up;
//! 2. time: what comes sooner than the shortest round trip cannot be an answer to anything;
//! 3. what comes next: a sender that goes back goes on from there, so the packets that follow repeat what was seen;
//!    a late packet is a guest in a stream that goes on where it was;
//! 4. a NAK for this PSN, and what the flow did before: go back, or send again only what was missing.
//!
//! So the verdict on a packet in a hole waits for the flow's next packet; on some, for the next acknowledgement.

use std::ops::Range;

use super::{
    copies::{Behind, MIRROR_NS, SURE_NS},
    holes::{Hole, Holes},
    on_demand::{OnDemand, quiet},
    order::IdOrder,
    ring::{ACK_EXPECTED, Ring, SEEN_TWICE, Sent, UNSURE, outstanding},
    step::{Context, GapFill, Packet, Resolved, Step},
};
use crate::{
    analyze::{model::Class, packet::PacketView},
    report::RecoveryMode,
    wire::Psn,
};

/// The sequence. In this order, what every packet needs comes first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Sequence {
    started: bool,
    in_pass: bool,
    /// A repetition waits for the next packet.
    pub(crate) has_repeated: bool,
    /// Steps ahead need not be gaps: PSNs outside all holes may never have been seen.
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
    /// Once a PSN was passed over, or came again.
    pub(crate) rare: OnDemand<Rare>,
    /// First PSN that counts.
    pub(crate) base: u64,
    pub(crate) start_time: i64,
    start_id: Option<u16>,
}

/// What a sequence without gaps and repetitions does not have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rare {
    /// When the hole appeared that the last packet filled.
    pub(crate) filled: Option<i64>,
    pub(crate) holes: Holes,
    /// Passed over, and not missing: what responses have between READs.
    jumps: Holes,
    /// Passed over by the pass of repetitions.
    pass_holes: Holes,
    /// A pass began with the sender going back, and so many of its packets followed each other.
    pass_open: bool,
    /// How late packets came that surely were late.
    latest: i64,
    pass_steps: u32,
    /// PSNs that passes before the current one passed over.
    pub(crate) pass_holes_left: u64,
    pending: Vec<GapFill>,
    undecided: Vec<GapFill>,
    /// Which PSNs before this one were seen is not known any more, unless the ring has them.
    unknown_below: u64,
}

quiet!(Rare);

/// A packet with its PSNs unwrapped, and what is known beside the sequence.
struct Unwrapped<'a> {
    x: u64,
    end: u64,
    p: &'a Packet,
    context: &'a Context<'a>,
}

/// What comes after the packets that wait.
#[derive(Clone, Copy)]
enum Next {
    /// The stream goes on at, or beyond, its highest PSN.
    Ahead,
    /// A PSN seen before.
    Seen(u64),
    /// A packet in another hole.
    OtherHole,
    /// Nothing.
    End,
}

/// What comes so soon was late: no answer to it can have come back.
const QUICK_NS: i64 = 2_000;
/// No timer is shorter.
pub(crate) const SHORTEST_TIMER_NS: i64 = 8_000;
/// Packets that may be overtaken by so many, where few are recorded.
const FEW_BEHIND: u32 = 8;
/// A step further than this is no gap.
const MAX_GAP: u64 = 1 << 20;
/// How far before the first packet another one may lie and still belong to the sequence.
const MAX_BEFORE: u64 = 1 << 16;
/// Packets that wait for the next one.
const MAX_PENDING: usize = 2048;
/// Packets that wait for evidence.
const MAX_UNDECIDED: usize = 64;
/// Unwrapped PSNs start here, so that there is room below.
const ORIGIN: u64 = 1 << 40;
/// Equal packets further apart than this are not surely one transmission, unless their identification varies.
const DUPLICATE_NS: i64 = 20_000;
/// With an identification that varies, or seen from another place: 16 bits come again some time.
const DUPLICATE_SURE_NS: i64 = 1_000_000_000;

impl Sequence {
    /// The PSN's place on a line: nearest to the highest one seen.
    #[inline]
    pub(crate) fn unwrap(&self, psn: Psn) -> u64 {
        let near = Psn(self.hi as u32 & (Psn::SPACE - 1));
        self.hi.wrapping_add_signed(psn.distance_from(near) as i64)
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
        self.ring.put(x, 0, sent(p, 1));
        x
    }

    /// Whether the packet is a transmission that was recorded already; `Err` where the next one is to tell.
    #[inline]
    fn is_capture_duplicate(&mut self, x: u64, p: &Packet, context: &Context<'_>) -> Result<bool, i64> {
        let Some(before) = self.ring.get_mut(x) else { return Ok(false) };
        if before.fingerprint != p.fingerprint {
            return Ok(false);
        }
        let apart = (p.time - before.time).abs();
        if context.ids.varies() && p.id.is_some() {
            return Ok(apart < DUPLICATE_SURE_NS);
        }
        let is_second = before.flags & SEEN_TWICE != 0;
        let is_copy = match context.is_copy {
            Some(is_copy) => is_copy,
            None if is_second => false,
            None if before.vantage != p.vantage => apart < DUPLICATE_SURE_NS,
            None if context.copying.has(apart) => true,
            None => {
                // The next one of a pass of repetitions, however soon: what was sent last before the sender went back comes
                // again without delay. Or its first: from the PSN that was asked for, or a little beyond, should that one
                // be lost again.
                const LOST_AGAIN: u64 = 8;
                let asked = context.asked.is_some_and(|(asked, _)| (asked..asked + LOST_AGAIN).contains(&x));
                let after_fill = self.rare.pending.last().is_some_and(|last| last.end == x);
                let is_next = self.in_pass && x >= self.cur || asked && !self.in_pass || after_fill;
                let rtt = context.rtt_min.filter(|_| context.asked_time != i64::MAX);
                let sure = rtt.map_or(SURE_NS, |rtt| (rtt as i64 / 2).min(DUPLICATE_NS));
                // Where times are so coarse, they tell nothing.
                let coarse = before.time % MIRROR_NS == 0 && p.time % MIRROR_NS == 0;
                let was_asked = context.asked_time != i64::MAX && before.time < context.asked_time;
                if is_next || was_asked || apart >= MIRROR_NS && !coarse {
                    false
                } else if apart < sure && !coarse {
                    true
                } else if context.asked_time == i64::MAX
                    || context.rtt_min.is_some() && apart >= context.timeout_ns
                {
                    false
                } else {
                    before.flags |= UNSURE;
                    self.has_repeated = true;
                    return Err(apart);
                }
            }
        };
        if is_copy && let Some(before) = self.ring.get_mut(x) {
            before.flags |= SEEN_TWICE;
            match before.vantage == p.vantage {
                true => context.copying.learn(apart),
                false => context.copying.learn_elsewhere(),
            }
        }
        Ok(is_copy)
    }

    /// What a packet is to those that wait.
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

    /// Whether the next packet, should it come next, is that and nothing else: no pass of repetitions ends with it, and
    /// nothing waits for it.
    #[inline(always)]
    pub(crate) fn is_undisturbed(&self) -> bool {
        let waits = || self.rare.get().is_some_and(|rare| !rare.pending.is_empty());
        self.started && !self.in_pass && !self.has_repeated && !waits()
    }

    /// The packets up to this one came one after the other.
    #[inline(always)]
    pub(crate) fn go_on(&mut self, next: u64, time: i64) {
        (self.hi, self.cur, self.last_time) = (next, next, time);
    }

    /// Whether a packet is the next one and nothing else: no pass of repetitions ends with it, nothing waits for it,
    /// and it was not overtaken.
    #[inline(always)]
    pub(crate) fn expects(&self, facts: &impl PacketView, ids: &IdOrder) -> bool {
        let is_next = facts.psn().0 == self.hi as u32 & (Psn::SPACE - 1);
        let overtaken = || facts.ip_id().is_some_and(|id| ids.is_overtaken(id));
        is_next && self.is_undisturbed() && !overtaken()
    }

    /// Takes a packet that it expects: its place. `una` as in [`Context`].
    #[inline(always)]
    pub(crate) fn take_expected(&mut self, facts: &impl PacketView, frame: u64, una: u64) -> u64 {
        let x = self.hi;
        (self.hi, self.cur, self.last_time) = (x + 1, x + 1, facts.time());
        let outstanding = outstanding(x, self.base, una);
        if !self.ring.has_room_for(outstanding) {
            self.ring.make_room(outstanding);
        }
        self.ring.put_in_room(x, sent(&Packet::of(facts, frame), 1));
        x
    }

    /// The next packet. `missing`: what a step ahead passed over that ought to have come; by default all of it.
    #[inline]
    pub(crate) fn on_packet(
        &mut self,
        p: &Packet,
        context: &Context<'_>,
        missing: impl FnOnce(Range<u64>, &mut Holes),
        resolved: &mut Vec<Resolved>,
    ) -> Step {
        let mut step = Step::default();
        if let Some(rare) = self.rare.get_mut() {
            rare.filled = None;
        }
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
        // Beyond all others, and yet overtaken: by a repetition that was sent later.
        step.overtaken = p.id.is_some_and(|id| context.ids.is_overtaken(id));
        if self.in_pass && !step.overtaken {
            let left_out = self.cur.max(context.una)..self.hi;
            if context.asked.is_some() {
                // It was asked to go back again, and may have dropped the rest of this pass for that.
                step.unseen = left_out.end.saturating_sub(left_out.start);
            } else {
                self.rare.pass_holes.push(left_out, p.time, p.id);
            }
            self.in_pass = false;
            self.end_pass();
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
        let outstanding = outstanding(x, self.base, context.una);
        self.hi = end;
        if !self.in_pass {
            self.cur = end;
        }
        self.ring.put(x, outstanding, sent(p, 1));
    }

    #[cold]
    fn resync(&mut self, p: &Packet, step: &mut Step) {
        self.rare.holes.retire();
        step.x = self.start(p);
        step.class = Some(Class::Resync);
    }

    #[cold]
    fn behind(&mut self, packet: &Unwrapped<'_>, resolved: &mut Vec<Resolved>, step: &mut Step) {
        let &Unwrapped { x, p, context, .. } = packet;
        match self.is_capture_duplicate(x, p, context) {
            Ok(false) => {}
            Ok(true) => return step.class = Some(Class::CaptureDuplicate),
            Err(apart) => return step.repeated = Some(apart),
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

    fn in_hole(
        &mut self,
        &Unwrapped { x, end, p, context }: &Unwrapped<'_>,
        hole: &Hole,
        resolved: &mut Vec<Resolved>,
        step: &mut Step,
    ) {
        self.rare.filled = Some(hole.time);
        let fill = GapFill {
            x,
            end,
            hole_time: hole.time,
            sent_before: p.id.zip(hole.id).map(|(id, behind)| (id.wrapping_sub(behind) as i16) < 0),
            overtaken: p.id.is_some_and(|id| context.ids.ahead(id) < 0),
            extent: (self.hi - x).min(u32::MAX as u64) as u32,
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
        self.ring.put(x, self.hi - x, sent(p, 1));
        self.hi = self.hi.max(end);
        // A pass of repetitions that comes to a hole fills it.
        if self.rare.pending.is_empty() && self.in_pass && x == self.cur {
            self.cur = end;
            self.rare.pass_steps += 1;
            if let Some(sent) = self.ring.get_mut(x) {
                sent.flags |= RETRANSMITTED;
            }
            step.class = Some(Class::Retransmission);
            resolved.push(Resolved { fill, class: Class::Retransmission, went_back: false });
            return;
        }
        self.rare.pending.push(fill);
        if self.rare.pending.len() >= MAX_PENDING {
            self.resolve(Next::Seen(end), context, resolved);
        }
    }

    fn again(
        &mut self,
        &Unwrapped { x, end, p, context }: &Unwrapped<'_>,
        resolved: &mut Vec<Resolved>,
        step: &mut Step,
    ) {
        self.resolve(Next::Seen(x), context, resolved);
        // What filled a hole comes again at once: so it was late.
        if self.rare.undecided.last().is_some_and(|fill| fill.x == x)
            && let Some(fill) = self.rare.undecided.pop()
        {
            resolved.push(Resolved { fill, class: Class::LateOriginal, went_back: false });
        }
        let before = self.ring.get(x).copied();
        let late = self.is_late_again(x, p, context);
        if late && before.is_some_and(|sent| sent.count == 1 && sent.flags & RETRANSMITTED != 0) {
            step.class = Some(Class::LateOriginal);
            step.original_late = true;
            step.overtaken = true;
            return;
        }
        step.class = Some(Class::Retransmission);
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
            // What was acknowledged meanwhile need not be sent again.
            self.rare.pass_holes.push(self.cur.max(context.una)..x, p.time, p.id);
            (self.cur, self.in_pass) = (end, true);
        } else {
            step.went_back = true;
            self.end_pass();
            let rare = &mut *self.rare;
            step.skipped = rare.pass_holes.take() + std::mem::take(&mut rare.pass_holes_left);
            step.unseen = unseen(p.id, context.ids);
            self.go_back();
            (self.cur, self.in_pass) = (end, true);
        }
        self.hi = self.hi.max(end);
        let mut again = sent(p, before.map_or(2, |sent| sent.count.saturating_add(1)));
        if let Some(before) = before.filter(|before| before.flags & RETRANSMITTED != 0) {
            // The first one seen was a repetition: what comes late now may be the original, or another repetition.
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
        // In a hole of the pass, so soon that nothing can have asked for it.
        let limit = context.rtt_min.map_or(context.late_ns, |rtt| rtt as i64);
        x < self.cur && self.rare.pass_holes.get(x).is_some_and(|hole| p.time - hole.time < limit)
    }

    /// A pass of repetitions is over. One that repeats single packets, and leaves out what lies between, is not of a
    /// sender that goes back.
    fn end_pass(&mut self) {
        if self.rare.pass_open && self.rare.pass_steps == 0 && self.rare.pass_holes.psns() > 0 {
            self.rare.pass_holes.take();
            self.went_back = self.went_back.saturating_sub(1);
            self.selective = self.selective.saturating_add(1);
        }
        (self.rare.pass_open, self.rare.pass_steps) = (false, 0);
    }

    /// The sender goes back.
    fn go_back(&mut self) {
        self.went_back = self.went_back.saturating_add(1);
        (self.rare.pass_open, self.rare.pass_steps) = (true, 0);
    }

    /// It goes on from there: so packets that filled holes one by one before were late, not sent again.
    fn step_on(&mut self, resolved: &mut Vec<Resolved>) {
        self.rare.pass_steps += 1;
        let late = |fill| Resolved { fill, class: Class::LateOriginal, went_back: false };
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
        // Of a capture that has few of the packets, what comes next is further on.
        let sparse = self.is_sparse();
        // Does the stream go on after them, or would it without them?
        let goes_on = match next {
            Next::Seen(x) => x >= last.end && x != self.cur || x == last.end,
            Next::OtherHole => false,
            Next::Ahead | Next::End => sparse && last.extent > FEW_BEHIND,
        };
        let pending = std::mem::take(&mut self.rare.pending);
        for &fill in &pending {
            let class = match self.decide(&fill, &first, goes_on, matches!(next, Next::End), context) {
                Some(class) => class,
                None if self.rare.undecided.len() < MAX_UNDECIDED && !matches!(next, Next::End) => {
                    self.rare.undecided.push(fill);
                    continue;
                }
                None => Class::Ambiguous,
            };
            if class == Class::LateOriginal
                && fill.time - fill.hole_time < context.rtt_min.map_or(QUICK_NS, i64::from)
            {
                self.rare.latest = self.rare.latest.max(fill.time - fill.hole_time);
            }
            let mut went_back = false;
            if class == Class::Retransmission {
                if let Some(sent) = self.ring.get_mut(fill.x) {
                    sent.flags |= RETRANSMITTED;
                }
                went_back = !self.in_pass || fill.x < self.cur;
                if goes_on {
                    if went_back {
                        let rare = &mut *self.rare;
                        rare.pass_holes_left += rare.pass_holes.take();
                        self.go_back();
                    }
                    if self.in_pass && fill.x == self.cur {
                        self.step_on(resolved);
                    }
                    (self.cur, self.in_pass) = (fill.end, true);
                } else {
                    self.selective = self.selective.saturating_add(1);
                }
            }
            resolved.push(Resolved { fill, class, went_back });
        }
        // Keep the room.
        self.rare.pending = pending;
        self.rare.pending.clear();
    }

    /// Whether the capture has but a part of the packets: it samples them, or others go other ways.
    pub(crate) fn is_sparse(&self) -> bool {
        let Some(rare) = self.rare.get() else { return false };
        rare.holes.len() >= 8 && 2 * rare.holes.psns() > self.hi - self.base
    }

    fn decide(
        &self,
        fill: &GapFill,
        first: &GapFill,
        goes_on: bool,
        end: bool,
        context: &Context<'_>,
    ) -> Option<Class> {
        if let (Some(sent_before), true) = (fill.sent_before, context.ids.counts_up()) {
            return Some(if sent_before { Class::LateOriginal } else { Class::Retransmission });
        }
        let waited = fill.time - fill.hole_time;
        let asked = context.asked.is_some_and(|(x, time)| {
            (x == fill.x || x == first.x) && time >= fill.hole_time && time <= fill.time
        });
        // The shortest round trip seen need not be the shortest there is: not to be stretched where an answer was due.
        let soon = |rtt: u32| waited < if asked { rtt as i64 / 2 } else { rtt as i64 };
        if context.rtt_min.is_some_and(soon) {
            return Some(Class::LateOriginal);
        }
        if goes_on {
            return Some(Class::Retransmission);
        }
        // Much later than any that was overtaken: it was sent again.
        let is_long = waited > 4 * self.rare.latest;
        if asked {
            if end
                || is_long && self.selective >= self.went_back
                || self.selective > self.went_back.saturating_add(1)
            {
                return Some(Class::Retransmission);
            }
            if self.went_back > self.selective.saturating_add(1) {
                return Some(Class::LateOriginal);
            }
            return None;
        }
        if context.reverse_visible && context.rtt_min.is_some() {
            // Nobody asked; only a timeout could have brought it again.
            let is_timeout = is_long && waited >= SHORTEST_TIMER_NS;
            return Some(if is_timeout { Class::Retransmission } else { Class::LateOriginal });
        }
        Some(match waited {
            _ if !is_long || waited < QUICK_NS => Class::LateOriginal,
            _ if waited < context.late_ns => Class::Ambiguous,
            _ => Class::Retransmission,
        })
    }

    /// Whether nothing waits for an acknowledgement to be told what it was.
    #[inline(always)]
    pub(crate) fn has_decided_all(&self) -> bool {
        self.rare.get().is_none_or(|rare| rare.undecided.is_empty())
    }

    /// Everything before `una` is acknowledged: holes filled one by one before it, with no going back, were filled
    /// by packets sent again for a receiver that keeps what comes early.
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
                resolved.push(Resolved { fill, class: Class::Retransmission, went_back: false });
            }
            !decided
        });
        self.selective = self.selective.saturating_add(selective);
    }

    /// The capture is over.
    pub(crate) fn finish(&mut self, context: &Context<'_>, resolved: &mut Vec<Resolved>) {
        self.resolve(Next::End, context, resolved);
        if self.rare.get().is_none() {
            return;
        }
        self.end_pass();
        let rare = &mut *self.rare;
        rare.pass_holes_left += rare.pass_holes.take();
        resolved.extend(rare.undecided.drain(..).map(Resolved::ambiguous));
    }

    /// Gives up what it knows of PSNs passed over: so many were missing, and stay counted. Packets that wait for a verdict are
    /// ambiguous then, and so are those that come into a hole later.
    pub(crate) fn shed(&mut self, resolved: &mut Vec<Resolved>) -> u64 {
        let hi = self.hi;
        let Some(rare) = self.rare.get_mut() else { return 0 };
        let waiting = [std::mem::take(&mut rare.pending), std::mem::take(&mut rare.undecided)];
        resolved.extend(waiting.into_iter().flatten().map(Resolved::ambiguous));
        rare.pass_holes.shed();
        let missing = rare.holes.shed();
        if missing + rare.jumps.shed() > 0 {
            rare.unknown_below = hi;
        }
        missing
    }

    /// Of a flow that is over: what only its next packets would need.
    pub(crate) fn forget(&mut self) {
        self.ring = Ring::default();
        self.shed(&mut Vec::new());
    }
    pub(crate) fn heap_bytes(&self) -> usize {
        self.ring.heap_bytes()
            + self.rare.heap_bytes()
            + self.rare.get().map_or(0, |rare| {
                let holes = rare.holes.heap_bytes() + rare.jumps.heap_bytes() + rare.pass_holes.heap_bytes();
                holes + (rare.pending.capacity() + rare.undecided.capacity()) * size_of::<GapFill>()
            })
    }
}

/// Identifications passed over since the newest.
pub(crate) fn unseen(id: Option<u16>, ids: &IdOrder) -> u64 {
    match id {
        Some(id) if ids.counts_up() => (ids.ahead(id) as i64 - 1).max(0) as u64,
        _ => 0,
    }
}

/// The first transmission seen of this PSN was a retransmission.
const RETRANSMITTED: u8 = 4;

#[inline(always)]
pub(crate) fn sent(p: &Packet, count: u8) -> Sent {
    Sent {
        time: p.time,
        frame: p.frame as u32,
        fingerprint: p.fingerprint,
        vantage: p.vantage,
        count,
        flags: if p.ack_expected { ACK_EXPECTED } else { 0 },
        ..Sent::default()
    }
}
