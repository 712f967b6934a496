//! The course of a flow's requests, or of its READ responses, while each is the next one, and nothing is open or in doubt.
//! What every packet needs of the sequence is together then, and all else stays as it was.

use std::hint::select_unpredictable;

use super::{Assembly, Knobs, Requests, Waiting};
use crate::{
    analyze::{
        facts::Facts,
        track::{
            SILENCE_NS,
            goodput::Marks,
            order::IdOrder,
            ring::{self, Sent},
            sequence::{Packet, Sequence, sent, unseen},
        },
    },
    icrc::State,
    opcode::{Operation, Shape},
    wire::Psn,
};

/// Requests that follow each other, or READ responses.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Course {
    /// The next PSN, unwrapped.
    next: u64,
    /// When the last one came.
    time: i64,
    /// When the message that is open began; of READ responses, when the next mark of goodput is due.
    mark_time: i64,
    ring: Box<[Sent]>,
    /// Where the course ends, whatever comes; the low bits.
    stop: u32,
    /// A silence longer than this may hide a loss; of READ responses, how far marks of goodput are apart at least, 0 while the
    /// requests learn of each response at once.
    floor: u32,
    /// Payload bytes.
    payload: u32,
    /// How many of them the requests know of; of READ responses, the low bits of the first PSN that they do not know of.
    told: u32,
    /// The payload bytes when the message that is open began, modulo 2^32; of READ responses, the low bits of the next PSN
    /// that the requests learn of at once.
    mark: u32,
    /// What may have been lost in silences; of READ responses, how far the last mark of goodput is from the one before it, 0
    /// where the requests know of it.
    perhaps: u32,
    knows_mtu: bool,
    /// The message that is open; in a course of READ responses always these. Not where a word begins: its byte would be read
    /// together with the three behind it, and reading what was just written in part waits until all writes before it, to the
    /// ring too, are done.
    open: Option<Operation>,
    /// The flow's last packet was one of these.
    is_last: bool,
    /// Of READ responses: the last one was not the last one of its READ.
    is_data_open: bool,
    /// How many ICRCs were right, and how many were not.
    good: u16,
    bad: u16,
}

/// READ responses that change nothing of requests but how far they are answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MayWait {
    /// The next ones, so many.
    psns: u32,
    /// When the next mark of goodput is due,
    due: i64,
    /// ... and how far those after it are apart.
    apart: u32,
}

/// PSNs after which a course ends: its counts are small, and requests of a flow that looks for its opposite are looked at
/// again (see [`Place`](crate::analyze::connection::Place)).
const LONGEST: u64 = 8192;

impl Course {
    /// Whether a part of a SEND or WRITE is the next one, of the message that is open or of a new one: how long it was
    /// silent before.
    #[inline(always)]
    pub(crate) fn next(&self, facts: &impl Facts, shape: &Shape, ids: &IdOrder) -> Option<u64> {
        let fits = self.open.is_none() | (!shape.begins & (self.open == shape.operation));
        self.silence_before(facts, fits, ids)
    }

    /// Whether a READ response is the next one of a course of them.
    #[inline(always)]
    pub(crate) fn is_next_data(&self, facts: &impl Facts, ids: &IdOrder) -> bool {
        self.silence_before(facts, self.is_data(), ids).is_some()
    }

    /// Whether a READ response is the next one of a course of them, and the requests may learn of it [later](MayWait).
    #[inline(always)]
    pub(crate) fn is_next_to_wait(&self, facts: &impl Facts, ids: &IdOrder) -> bool {
        let may_wait = (self.floor != 0) & (self.next as u32 != self.mark);
        self.silence_before(facts, self.is_data() & may_wait, ids).is_some()
    }

    /// How long it was silent before a packet, if that is the next one, and `fits` otherwise too.
    #[inline(always)]
    fn silence_before(&self, facts: &impl Facts, fits: bool, ids: &IdOrder) -> Option<u64> {
        let silence = facts.time().wrapping_sub(self.time) as u64;
        let is_next = (facts.psn().0 ^ self.next as u32) & (Psn::SPACE - 1) == 0;
        let goes_far = (self.next as u32 != self.stop) & (silence <= SILENCE_NS as u64);
        if !(is_next & fits & goes_far) {
            return None;
        }
        let overtaken = facts.ip_id().is_some_and(|id| ids.is_overtaken(id));
        (!overtaken).then_some(silence)
    }

    /// Takes it. A message that it ends, and its bytes.
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        silence: u64,
        facts: &impl Facts,
        shape: &Shape,
        frame: u64,
        icrc: State,
        ids: &IdOrder,
    ) -> Option<(u64, Waiting)> {
        let (x, time) = (self.next, facts.time());
        // In many traces nobody can tell which it will be, nor the processor: a branch would be guessed wrong.
        let is_silent = silence > self.floor as u64;
        let perhaps = unseen(facts.ip_id(), ids).max(1) as u32;
        self.perhaps += select_unpredictable(is_silent, perhaps, 0);
        (self.mark, self.mark_time) =
            if shape.begins { (self.payload, time) } else { (self.mark, self.mark_time) };
        self.put(facts, frame, icrc);
        let is_complete = shape.ends & (shape.begins | self.open.is_some());
        self.open = if shape.ends {
            None
        } else if shape.begins {
            shape.operation
        } else {
            self.open
        };
        if !is_complete {
            return None;
        }
        let bytes = self.payload.wrapping_sub(self.mark) as u64;
        Some((bytes, Waiting { last: x, first_time: self.mark_time }))
    }

    /// Takes one of which the requests learn later.
    #[inline(always)]
    pub(crate) fn take_to_wait(&mut self, facts: &impl Facts, frame: u64, icrc: State) {
        self.put(facts, frame, icrc);
        if self.time >= self.mark_time {
            let late = self.time.saturating_sub(self.mark_time);
            self.perhaps = late.saturating_add(self.floor as i64).min(u32::MAX as i64) as u32;
            self.mark_time = self.time + self.floor as i64;
        }
    }

    /// Takes a READ response.
    #[inline(always)]
    pub(crate) fn take_data(&mut self, facts: &impl Facts, shape: &Shape, frame: u64, icrc: State) {
        self.put(facts, frame, icrc);
        self.is_data_open = !shape.ends;
    }

    #[inline(always)]
    fn put(&mut self, facts: &impl Facts, frame: u64, icrc: State) {
        let x = self.next;
        ring::put(&mut self.ring, x, sent(&Packet::of(facts, frame), 1));
        // All rings together are more than caches hold.
        ring::fetch(&self.ring, x + ring::AHEAD);
        (self.next, self.time, self.is_last) = (x + 1, facts.time(), true);
        if icrc != State::Unchecked {
            self.good += (icrc == State::Good) as u16;
            self.bad += (icrc == State::Bad) as u16;
        }
        self.payload += facts.payload();
    }

    /// From now on READ responses of this sequence are taken by a course, if that can be; the last one was not the last one
    /// of its READ, or it was. They are as they were until they are [given back](Self::give_back).
    pub(crate) fn of_data(seq: &mut Sequence, is_data_open: bool) -> Option<Course> {
        let (next, stop) = (seq.hi, stop(seq, 0, seq.hi));
        if !seq.is_undisturbed() || stop <= next {
            return None;
        }
        let mut course = Course {
            next,
            time: seq.last_time,
            stop: stop as u32,
            open: Some(Operation::ReadResponse),
            is_data_open,
            ..Course::default()
        };
        seq.ring.swap(&mut course.ring);
        Some(course)
    }

    /// The requests may learn of the next READ responses later.
    #[inline(always)]
    pub(crate) fn wait(&mut self, may_wait: &MayWait) {
        let &MayWait { psns, due, apart } = may_wait;
        (self.told, self.mark) = (self.next as u32, (self.next as u32).wrapping_add(psns));
        (self.mark_time, self.floor, self.perhaps) = (due, apart, 0);
    }

    /// The sequence learns of all READ responses of the course, which is over.
    pub(crate) fn give_back(mut self, seq: &mut Sequence) {
        seq.go_on(self.next, self.time);
        seq.ring.swap(&mut self.ring);
    }

    /// Whether it is of READ responses.
    #[inline(always)]
    pub(crate) fn is_data(&self) -> bool {
        self.open == Some(Operation::ReadResponse)
    }

    /// Of READ responses: whether the last one was not the last one of its READ.
    pub(crate) fn is_data_open(&self) -> bool {
        self.is_data_open
    }

    /// Fetches where a packet goes.
    #[inline(always)]
    pub(crate) fn fetch(&self, psn: Psn) {
        ring::fetch(&self.ring, psn.0 as u64);
    }

    /// Full packets tell the path MTU: the first one of a flow is to be looked at.
    pub(crate) fn knows_mtu(&self) -> bool {
        self.knows_mtu
    }

    /// Payload bytes of all its packets.
    pub(crate) fn payload(&self) -> u32 {
        self.payload
    }

    /// The PSN of its last packet, if that was the flow's last one.
    pub(crate) fn last(&self) -> Option<Psn> {
        self.is_last.then(|| Psn(self.next.wrapping_sub(1) as u32 & (Psn::SPACE - 1)))
    }

    /// A response is the flow's last packet now.
    #[inline(always)]
    pub(crate) fn interrupt(&mut self) {
        self.is_last = false;
    }

    /// How many ICRCs were right.
    pub(crate) fn good(&self) -> u16 {
        self.good
    }

    /// How many were not.
    pub(crate) fn bad(&self) -> u16 {
        self.bad
    }

    /// When its last packet came.
    pub(crate) fn time(&self) -> i64 {
        self.time
    }

    /// Bytes on the heap.
    pub(crate) fn heap(&self) -> usize {
        size_of_val(&*self.ring)
    }
}

impl Requests {
    /// From now on requests are taken by a course, if that can be. They are as they were until it [ends](Self::end_course).
    pub(crate) fn begin_course(&mut self, knobs: &Knobs) -> Option<Course> {
        let next = self.seq.hi;
        let stop = stop(&self.seq, self.una, next);
        let is_open = match &self.assembly {
            Some(assembly) => assembly.next == next && assembly.bytes <= u32::MAX as u64 / 2,
            None => true,
        };
        if !is_open || !self.is_on_course() || stop <= next {
            return None;
        }
        let mut course = Course {
            next,
            time: self.seq.last_time,
            stop: stop as u32,
            floor: self.floor(knobs),
            knows_mtu: self.knows_mtu(),
            ..Course::default()
        };
        if let Some(assembly) = self.assembly.take() {
            course.mark = 0u32.wrapping_sub(assembly.bytes as u32);
            (course.mark_time, course.open) = (assembly.first_time, Some(assembly.operation));
        }
        self.seq.ring.swap(&mut course.ring);
        Some(course)
    }

    /// The course is over. It had so many packets.
    pub(crate) fn end_course(&mut self, mut course: Course, packets: u64) {
        self.catch_up(&mut course);
        self.counts.packets += packets;
        self.counts.are_new(packets);
        if course.perhaps > 0 {
            self.counts.lost_perhaps(course.perhaps as u64);
        }
        self.assembly = course.open.map(|operation| Assembly {
            next: course.next,
            bytes: course.payload.wrapping_sub(course.mark) as u64,
            first_time: course.mark_time,
            operation,
        });
    }

    /// Learns what an acknowledgement needs of a course that goes on. Afterwards it has to [go on](Self::go_on).
    #[inline(always)]
    pub(crate) fn catch_up(&mut self, course: &mut Course) {
        self.learn(course);
        self.seq.ring.swap(&mut course.ring);
    }

    /// Learns what there was, but for the single transmissions.
    #[inline(always)]
    pub(crate) fn learn(&mut self, course: &mut Course) {
        if course.next != self.seq.hi {
            self.seq.go_on(course.next, course.time);
            self.shadow.go_on(course.next);
        }
        self.goodput += (course.payload - course.told) as u64;
        course.told = course.payload;
    }

    /// Goes on with a course after an acknowledgement, if that can be: else it is to end.
    #[inline(always)]
    pub(crate) fn go_on(&mut self, course: &mut Course, knobs: &Knobs) -> bool {
        (course.stop, course.floor) = (stop(&self.seq, self.una, course.next) as u32, self.floor(knobs));
        self.seq.ring.swap(&mut course.ring);
        self.is_on_course() && self.seq.hi == course.next
    }

    /// Whether they may learn of the READ responses behind this PSN when somebody asks for them, all at once. The last one of
    /// a READ completes it.
    #[inline(always)]
    pub(crate) fn may_wait(&self, psn: Psn) -> Option<MayWait> {
        let (reads, next, hi) = (self.reads.get()?, self.seq.unwrap(psn) + 1, self.seq.hi);
        let at = reads.place(next - 1)?;
        let read = reads.list.get(at)?;
        let is_quiet = !self.is_recovering
            && self.trouble.get().is_none_or(|trouble| trouble.lost_behind.is_none())
            && self.seq.has_decided_all();
        let is_answered = read.answered && read.next == next && self.una == next && !reads.out_of_sequence;
        // Near enough that PSNs behind each other are behind each other once they are unwrapped.
        let is_near = read.end <= hi && hi - next < Psn::SPACE as u64 / 4;
        let is_alone =
            || reads.list.range(at + 1..).all(|later| later.first >= read.end || later.end <= next);
        if !(is_quiet && is_answered && is_near && is_alone()) {
            return None;
        }
        let psns = read.end.checked_sub(next + 1)? as u32;
        match (&self.more, self.rtt_min) {
            (Some(more), Some(rtt)) => {
                // What the first mark after an episode tells of it is not to wait.
                let recovered = more.episodes.last().and_then(|last| last.recovered);
                let is_over = recovered.is_none_or(|recovered| recovered < more.marks.last());
                let apart = is_over.then(|| Marks::apart(rtt)).flatten()?;
                Some(MayWait { psns, due: more.marks.due(rtt), apart })
            }
            _ => Some(MayWait { psns, due: i64::MAX, apart: 1 }),
        }
    }

    /// Learns of all READ responses of a course that goes on; of the next ones at once.
    pub(crate) fn learn_of_data(&mut self, course: &mut Course) {
        let apart = std::mem::take(&mut course.floor);
        let (psns, last) = ((course.next as u32).wrapping_sub(course.told), course.next.wrapping_sub(1));
        if apart == 0 || psns == 0 {
            return;
        }
        let x = self.seq.unwrap(Psn(last as u32 & (Psn::SPACE - 1)));
        self.acks_seen += psns as u64;
        if let Some(reads) = self.reads.get_mut() {
            reads.last_time = course.time;
            if let Some(at) = reads.place(x) {
                reads.list[at].next = x + 1;
            }
        }
        self.shadow.acknowledged(x + 1);
        self.go_to(x + 1, course.time);
        if let (Some(more), Some(rtt)) = (&mut self.more, self.rtt_min)
            && course.perhaps > 0
        {
            more.marks.go_on(course.mark_time - apart as i64, course.perhaps, self.goodput, rtt);
        }
    }

    #[inline(always)]
    fn is_on_course(&self) -> bool {
        self.is_quiet() && self.seq.is_undisturbed() && self.shadow.waits_for(self.seq.hi)
    }

    #[inline(always)]
    fn floor(&self, knobs: &Knobs) -> u32 {
        self.timeout_floor(knobs).clamp(0, u32::MAX as i64) as u32
    }
}

/// Where a course of a sequence has to end that is here. `una` as in [`outstanding`](ring::outstanding).
#[inline(always)]
fn stop(seq: &Sequence, una: u64, next: u64) -> u64 {
    let room = seq.ring.room_until(seq.base, una);
    room.min((next / LONGEST + 1) * LONGEST - 1).max(next)
}
