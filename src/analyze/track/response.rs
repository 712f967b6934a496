//! A flow's responses: acknowledgements, and the data that READs asked for.

use std::{collections::VecDeque, ops::Range};

use super::{
    class::{Class, Counts, Place, Trigger},
    lazy::{Lazy, quiet},
    order::IdOrder,
    push_last,
    request::{Course, Knobs, Requests},
    sequence::{Context, Packet, Resolved, Sequence, Step},
};
use crate::{
    analyze::facts::Facts,
    fetch,
    opcode::{Position, Shape},
    wire::Psn,
};

/// The responses of a flow.
#[derive(Debug, Default)]
pub(crate) struct Responses {
    pub(crate) counts: Counts,
    /// Responses that are no data of a READ.
    pub(crate) acks_seen: u64,
    /// The last acknowledgements, to tell one recorded twice.
    acks: VecDeque<Ack>,
    last_ack: Option<(Psn, u32)>,
    /// So many of them may be ahead of the last one, in whatever way.
    ahead: u8,
    pub(crate) read: Lazy<Data>,
}

/// The READ responses among them.
#[derive(Debug, Default)]
pub(crate) struct Data {
    pub(crate) seq: Sequence,
    pub(crate) goodput: u64,
    /// A message of several packets is open: the next PSN is due.
    open: bool,
    /// A READ was asked for again from this PSN on, and when.
    asked: Option<(u64, i64)>,
    asked_by: Option<Trigger>,
    /// What the requester expects, if it sees what the tap sees: it takes responses in order only.
    expected: u64,
    skipped: u64,
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    /// Messages completed.
    pub(crate) msn: Option<u32>,
    /// It is a NAK, or an RNR NAK.
    pub(crate) negative: bool,
    /// It answers an atomic.
    pub(crate) atomic: bool,
    /// This capture records transmissions twice. Where nothing in it does, equal acknowledgements answer equal requests.
    pub(crate) recorded_twice: bool,
}

quiet!(Responses);
quiet!(Data);

#[derive(Clone, Copy, Debug)]
struct Ack {
    psn: Psn,
    fingerprint: u32,
    time: i64,
    vantage: u16,
}

/// Acknowledgements remembered.
const ACKS: usize = 8;
/// Steps of PSNs of which so many together do not go round.
const FAR: i32 = 1 << 19;

impl Responses {
    /// Fetches the lines that a response needs.
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        fetch::line(&self.counts.packets);
        fetch::line(&self.acks_seen);
    }

    /// The same of what is on the heap.
    #[inline(always)]
    pub(crate) fn fetch_last(&self) {
        self.acks.back().into_iter().for_each(fetch::line);
    }

    /// An acknowledgement: of requests, of an atomic, negative ones too.
    #[inline]
    pub(crate) fn acknowledge(&mut self, p: &Packet, ack: &Acknowledged, ids: &IdOrder) -> Class {
        self.counts.packets += 1;
        self.acks_seen += 1;
        let class = self.class_of_ack(p, ack, ids);
        self.counts.class(class);
        class
    }

    fn class_of_ack(&mut self, p: &Packet, said: &Acknowledged, ids: &IdOrder) -> Class {
        let Acknowledged { msn, negative, .. } = *said;
        let ack = Ack { psn: p.psn, fingerprint: p.fingerprint, time: p.time, vantage: p.vantage };
        let step = self.last_ack.map_or(0, |(last, _)| p.psn.distance_from(last));
        // Ahead of all that are remembered it is none of them.
        let is_newest = self.ahead == 0 && (1..FAR).contains(&step);
        let ids_vary = || p.id.is_some() && ids.varies();
        if !is_newest && self.is_among(&ack, ids_vary(), said.recorded_twice) {
            return Class::CaptureDuplicate;
        }
        push_last(&mut self.acks, ACKS, ack);
        self.ahead =
            if step >= FAR || step < 0 && negative { ACKS as u8 } else { self.ahead.saturating_sub(1) };
        let Some((last, last_msn)) = self.last_ack else {
            self.last_ack = Some((p.psn, msn.unwrap_or(0)));
            return if self.read.get().is_some_and(|read| read.seq.is_started()) {
                Class::New
            } else {
                Class::First
            };
        };
        let ahead = p.psn.distance_from(last);
        if ahead > 0 || negative {
            self.last_ack = Some((p.psn, msn.unwrap_or(last_msn)));
            return Class::New;
        }
        if ahead == 0 {
            return Class::RepeatedAck;
        }
        let overtaken = match p.id {
            Some(id) if ids.counts_up() => ids.ahead(id) < 0,
            // The answer to an atomic asked again is the old one, with its old count.
            _ => !said.atomic && msn.is_some_and(|msn| Psn(msn).distance_from(Psn(last_msn)) < 0),
        };
        if overtaken { Class::LateOriginal } else { Class::RepeatedAck }
    }

    #[inline(never)]
    fn is_among(&self, ack: &Ack, ids_vary: bool, recorded_twice: bool) -> bool {
        self.acks.iter().any(|before| before.is_same(ack, ids_vary, recorded_twice))
    }

    /// Whether a READ response is the next one, and nothing else: there were some before.
    #[inline(always)]
    pub(crate) fn expects_data(&self, facts: &impl Facts, ids: &IdOrder) -> bool {
        self.read.get().is_some_and(|read| read.seq.expects(facts, ids))
    }

    /// Takes a READ response that it expects: what [`read`](Self::read) would do comes down to this.
    #[inline(always)]
    pub(crate) fn take_expected_data(&mut self, facts: &impl Facts, shape: &Shape, frame: u64) {
        let Some(read) = self.read.get_mut() else { return };
        let x = read.seq.take_expected(facts, frame, 0);
        if x == read.expected || read.expected == 0 {
            read.expected = x + 1;
        }
        read.open = !shape.ends;
        read.goodput += facts.payload() as u64;
        self.counts.packets += 1;
        self.counts.class(Class::New);
    }

    /// From now on READ responses are taken by a course, if that can be. They are as they were until it
    /// [ends](Self::end_course).
    pub(crate) fn begin_course(&mut self) -> Option<Course> {
        let Data { seq, open, expected, .. } = self.read.get_mut()?;
        if *expected <= seq.hi { Course::of_data(seq, *open) } else { None }
    }

    /// The course is over. It had so many packets.
    pub(crate) fn end_course(&mut self, course: Course, packets: u64) {
        let Some(Data { seq, open, expected, goodput, .. }) = self.read.get_mut() else { return };
        *goodput += course.payload() as u64;
        *open = course.is_data_open();
        // What is expected may be missing before it, and is then still.
        let is_expected = packets > 0 && (*expected == seq.hi || *expected == 0);
        course.give_back(seq);
        if is_expected {
            *expected = seq.hi;
        }
        self.counts.packets += packets;
        self.counts.are_new(packets);
    }

    /// A READ response. `requests`: those it answers, where they are known.
    pub(crate) fn read(
        &mut self,
        p: &Packet,
        position: Position,
        requests: Option<&Requests>,
        ids: &IdOrder,
        knobs: &Knobs,
        resolved: &mut Vec<Resolved>,
    ) -> Option<Class> {
        let context = Context {
            rtt_min: None,
            reverse_visible: requests.is_some(),
            asked: self.read.asked,
            late_ns: knobs.late_ns,
            timeout_ns: i64::MAX,
            una: 0,
            ids,
        };
        self.read.seq.has_jumps = true;
        let began = resolved.len();
        let open = self.read.open;
        let step = self.read.seq.see(
            p,
            &context,
            |gap, holes| match requests {
                Some(requests) => {
                    // What was passed over is missing where a READ asked for it.
                    for part in asked_for(requests, gap) {
                        holes.push(part, p.time, p.id);
                    }
                }
                None if open => holes.push(gap, p.time, p.id),
                None => {}
            },
            resolved,
        );
        self.read.open = matches!(position, Position::First | Position::Middle);
        self.counts.packets += 1;
        self.settle(&resolved[began..]);
        if step.class != Some(Class::CaptureDuplicate) {
            let all_came = step.gap > 0 && self.read.seq.rare.holes.get(step.x - 1).is_none();
            if step.x == self.read.expected || self.read.expected == 0 || all_came {
                self.read.expected = step.x + 1;
            }
        }
        let Some(class) = step.class else {
            self.read.goodput += p.bytes as u64;
            return None;
        };
        if resolved[began..].iter().any(|verdict| verdict.fill.frame == p.frame) {
            self.read.goodput += p.bytes as u64;
            return Some(class);
        }
        self.counts.class(class);
        if step.original_late {
            let upstream = &mut self.counts.losses[Place::Upstream as usize];
            upstream.least = upstream.least.saturating_sub(1);
        }
        match class {
            Class::First | Class::New | Class::NewAfterGap | Class::Resync => {
                self.read.goodput += p.bytes as u64
            }
            Class::Retransmission => self.again(p, &step),

            _ => {}
        }
        Some(class)
    }

    fn again(&mut self, p: &Packet, step: &Step) {
        self.counts.retransmitted_bytes += p.bytes as u64;
        self.counts.overtaken_again += step.overtaken as u64;
        self.read.skipped += step.skipped;
        if step.went_back {
            self.counts.triggered(self.read.asked_by.unwrap_or(Trigger::Unknown));
        }
    }

    fn settle(&mut self, resolved: &[Resolved]) {
        for verdict in resolved {
            verdict.count(&mut self.counts, true);
            if verdict.class == Class::Retransmission && verdict.went_back {
                self.counts.triggered(self.read.asked_by.unwrap_or(Trigger::Unknown));
            }
        }
    }

    /// A READ was asked for again, from this PSN on: what was seen of its response did not arrive, or came too late.
    pub(crate) fn asked_again(&mut self, psn: Psn, time: i64, from_the_middle: bool, by: Trigger) {
        if self.read.get().is_none_or(|read| !read.seq.is_started()) {
            return;
        }
        let x = self.read.seq.unwrap(psn);
        self.read.asked = Some((x, time));
        self.read.asked_by = Some(by);
        if x >= self.read.seq.base && x < self.read.expected {
            let sent_since = self.read.seq.cur.saturating_sub(x).max(1);
            let certain = from_the_middle && self.read.seq.cur > x + 1;
            self.counts.lost(Place::Downstream, certain as u64, sent_since);
            self.read.expected = x;
        } else {
            // What the tap missed too; how much of the last burst's end with it, nobody can tell.
            self.counts.lost(Place::Downstream, 0, self.read.seq.cur.saturating_sub(x));
        }
    }

    /// The capture is over.
    pub(crate) fn finish(&mut self, ids: &IdOrder, knobs: &Knobs, resolved: &mut Vec<Resolved>) {
        if self.read.get().is_none() {
            return;
        }
        let context = Context {
            rtt_min: None,
            reverse_visible: true,
            asked: self.read.asked,
            late_ns: knobs.late_ns,
            timeout_ns: i64::MAX,
            una: 0,
            ids,
        };
        let began = resolved.len();
        self.read.seq.finish(&context, resolved);
        self.settle(&resolved[began..]);
        let skipped = self.read.skipped + self.read.seq.rare.pass_holes_left;
        // Only the READs asked for again are answered again: what lies between is left out.
        self.counts.lost(Place::Upstream, 0, skipped);
        let open = self.read.seq.rare.holes.psns();
        self.counts.lost(Place::Upstream, 0, open);
        self.counts.lost(Place::Capture, 0, open);
    }

    /// Bytes on the heap.
    pub(crate) fn heap(&self) -> usize {
        self.counts.heap()
            + self.read.heap()
            + self.read.get().map_or(0, |read| read.seq.heap())
            + self.acks.capacity() * size_of::<Ack>()
    }
}

/// The parts of a range of response PSNs that READs asked for. Both sides unwrap PSNs on a line of their own.
fn asked_for(requests: &Requests, gap: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
    let start = requests.seq.unwrap(Psn(gap.start as u32 & (Psn::SPACE - 1)));
    let shift = gap.start as i64 - start as i64;
    requests.reads_from(start).filter_map(move |read| {
        let first = read.first.wrapping_add_signed(shift).max(gap.start);
        let end = read.end.wrapping_add_signed(shift).min(gap.end);
        (first < end).then_some(first..end)
    })
}

impl Ack {
    fn is_same(&self, other: &Ack, ids_vary: bool, recorded_twice: bool) -> bool {
        const SURE_NS: i64 = 1_000_000_000;
        const CLOSE_NS: i64 = 20_000;
        let apart = (other.time - self.time).abs();
        self.psn == other.psn
            && self.fingerprint == other.fingerprint
            && if ids_vary || self.vantage != other.vantage {
                apart < SURE_NS
            } else {
                recorded_twice && apart < CLOSE_NS
            }
    }
}
