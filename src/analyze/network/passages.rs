//! Where flows pass beside the link on which they are seen first, where several taps are on their way.
//!
//! A packet that is recorded again on another interface is a capture duplicate there: it is no traffic of its own. But a pause of that link
//! stops the flow on that link, and only this record shows it. What a pause did to messages is asked of the acknowledgements on that link too.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::{
    analyze::{
        model::{FlowId, Space},
        packet::Facts,
    },
    wire::Psn,
};

/// Other links that are kept of a flow.
const MAX_PASSAGES: usize = 15;
/// Flows of which they are kept.
const MAX_FLOWS: usize = 1 << 20;

/// Flows whose acknowledgements are kept, in a capture with pauses: by link, 384 bytes each.
const MAX_ANSWERED: usize = 1 << 12;
/// Overtaken packets that are kept of a flow, and of all.
const MAX_OVERTAKEN: usize = 256;
const MAX_ALL_OVERTAKEN: usize = 1 << 18;
/// The last acknowledgements on a link that are kept: more than come between the end of a pause and that of a silence.
const KEPT: usize = 16;

/// The last acknowledgements of a flow's requests on one link.
#[derive(Clone, Debug, crate::stored::Stored)]
struct Answers {
    interface: u16,
    /// The latest one last.
    last: Vec<Answer>,
}

/// How many of the flow's messages are acknowledged, from its first one on.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Answer {
    time: i64,
    done: u64,
    psn: Psn,
}

/// The packets of a flow on another link.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Passage {
    pub(crate) interface: u16,
    /// Requests, or READ data.
    pub(crate) space: Space,
    pub(crate) path_tag: u64,
    /// The end of the link that sends it, where that is known.
    from: Option<u8>,
    /// Times of the first packet and of the last one, in nanoseconds since 1970.
    pub(crate) start: i64,
    pub(crate) last: i64,
    pub(crate) last_psn: Psn,
    pub(crate) packets: u64,
    /// The last packet is not the end of a message.
    pub(crate) is_within: bool,
    /// The highest PSN, and when it was recorded first, elsewhere.
    highest: (Psn, i64),
}

/// A packet of requests that was overtaken on its way to another link: what was sent behind it passed there before.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Overtaken {
    pub(crate) psn: Psn,
    pub(crate) frame: u64,
    pub(crate) time: i64,
    /// So many PSNs had passed before it, at most.
    pub(crate) extent: u32,
}

/// All of them, by the number of the flow.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Passages {
    /// The interface on which each is seen first, and the end of that link that sends it, where that is known.
    first: Vec<(u16, Option<u8>)>,
    /// The other links, up to the last flow that has any.
    others: Vec<Vec<Passage>>,
    /// Other links that were kept so far, of all flows.
    kept: usize,
    answers: HashMap<FlowId, Vec<Answers>, RandomState>,
    /// Of flows that have any: the first packets, and how many there are.
    overtaken: HashMap<FlowId, (Vec<Overtaken>, u64), RandomState>,
    kept_overtaken: usize,
}

impl Passages {
    /// A flow begins on this interface.
    pub(super) fn begin(&mut self, FlowId(flow): FlowId, interface: u16, from: Option<u8>) {
        self.answers.remove(&FlowId(flow));
        self.overtaken.remove(&FlowId(flow));
        let at = flow as usize;
        if at >= self.first.len() && at < MAX_FLOWS {
            self.first.resize(at + 1, (0, None));
        }
        if let Some(first) = self.first.get_mut(at) {
            *first = (interface, from);
        }
        if let Some(others) = self.others.get_mut(at) {
            *others = Vec::new();
        }
    }

    /// The interface on which a flow is seen first.
    #[inline]
    pub(crate) fn first(&self, FlowId(flow): FlowId) -> Option<u16> {
        self.first.get(flow as usize).map(|&(interface, _)| interface)
    }

    /// The end that sends a flow's packets on the link of an interface.
    pub(super) fn sent_by(&self, flow: FlowId, interface: u16) -> Option<u8> {
        let own = self.first.get(flow.0 as usize).filter(|&&(first, _)| first == interface);
        let other = || self.of(flow).iter().find(|passage| passage.interface == interface);
        own.map_or_else(|| other().and_then(|passage| passage.from), |&(_, from)| from)
    }

    /// The other links that a flow passes.
    pub(crate) fn of(&self, FlowId(flow): FlowId) -> &[Passage] {
        self.others.get(flow as usize).map_or(&[], Vec::as_slice)
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.first.capacity() * size_of::<(u16, Option<u8>)>()
            + self.others.capacity() * size_of::<Vec<Passage>>()
            + self.kept * size_of::<Passage>()
            + self.kept_overtaken * size_of::<Overtaken>()
            + self.answers.len() * (size_of::<Answers>() + KEPT * size_of::<Answer>())
    }

    /// An acknowledgement of this flow's requests. `done`: how many messages are acknowledged by it, where it is not a copy of one that
    /// another link had.
    pub(crate) fn answered(
        &mut self,
        flow: FlowId,
        (interface, psn, time): (u16, Psn, i64),
        done: Option<u64>,
    ) {
        if self.answers.len() >= MAX_ANSWERED && !self.answers.contains_key(&flow) {
            return;
        }
        let links = self.answers.entry(flow).or_default();
        let of_copy = || links.iter().flat_map(|link| link.last.iter().rev()).find(|last| last.psn == psn);
        let Some(done) = done.or_else(|| Some(of_copy()?.done)) else { return };
        let at = match links.iter().position(|link| link.interface == interface) {
            Some(at) => at,
            None if links.len() > MAX_PASSAGES => return,
            None => {
                links.push(Answers { interface, last: Vec::with_capacity(KEPT) });
                links.len() - 1
            }
        };
        let last = &mut links[at].last;
        if last.len() >= KEPT {
            last.remove(0);
        }
        last.push(Answer { time, done, psn });
    }

    /// How many messages of this flow were acknowledged on this link by a time; `None` where that is not known.
    pub(crate) fn done(&self, flow: FlowId, interface: u16, until: i64) -> Option<u64> {
        let link = self.answers.get(&flow)?.iter().find(|link| link.interface == interface)?;
        link.last.iter().rev().find(|last| last.time <= until).map(|last| last.done)
    }

    /// The packets of each flow that were overtaken on their way to another link: the first ones, and how many.
    pub(crate) fn overtaken(&self) -> impl Iterator<Item = (FlowId, &[Overtaken], u64)> {
        self.overtaken.iter().map(|(&flow, (first, n))| (flow, &first[..], *n))
    }

    /// A packet of requests or READ data that was recorded again, `sent`: of requests, when it was recorded first, and the low bits of the
    /// interface that did. Returns what was known of its flow there before. `from`: the end of an interface's link that sent it.
    pub(super) fn pass(
        &mut self,
        FlowId(flow): FlowId,
        (space, sent): (Space, Option<(i64, u8)>),
        (packet, frame): (&Facts, u64),
        from: impl Fn(u16) -> Option<u8>,
    ) -> Option<Passage> {
        let (interface, shape) = (packet.interface(), packet.opcode().shape());
        let Passages { first, others, kept, overtaken, kept_overtaken, .. } = self;
        let at = flow as usize;
        let known_first = first.get_mut(at)?;
        if known_first.0 == interface {
            // Packets were on their way to this link when the capture began: they are recorded here first, and no others.
            let (_, before) = sent.filter(|&(_, before)| before != interface as u8)?;
            let before = interface & !0xff | u16::from(before);
            if others.get(at).into_iter().flatten().any(|passage| passage.interface == before) {
                return None;
            }
            *known_first = (before, from(before));
        }
        let sent = sent.map(|(time, _)| time);
        if at >= others.len() {
            others.resize_with(at + 1, Vec::new);
        }
        let others = others.get_mut(at)?;
        let now = Passage {
            interface,
            space,
            path_tag: packet.path_tag(),
            from: None,
            start: packet.time(),
            last: packet.time(),
            last_psn: packet.psn(),
            packets: 1,
            is_within: !shape.ends,
            highest: (packet.psn(), sent.unwrap_or(packet.time())),
        };
        let known = others.iter_mut().find(|known| (known.interface, known.space) == (interface, space));
        let Some(known) = known else {
            if others.len() < MAX_PASSAGES {
                others.push(Passage { from: from(interface), ..now });
                *kept += 1;
            }
            return None;
        };
        let Passage { start, packets, from, highest, .. } = *known;
        let behind = highest.0.distance_from(packet.psn());
        if behind > 0 && sent.is_some_and(|sent| sent < highest.1) && *kept_overtaken < MAX_ALL_OVERTAKEN {
            let (all, n) = overtaken.entry(FlowId(flow)).or_default();
            *n += 1;
            if all.len() < MAX_OVERTAKEN {
                *kept_overtaken += 1;
                all.push(Overtaken { psn: packet.psn(), frame, time: packet.time(), extent: behind as u32 });
            }
        }
        let highest = if behind > 0 { highest } else { now.highest };
        Some(std::mem::replace(known, Passage { start, packets: packets + 1, from, highest, ..now }))
    }
}
