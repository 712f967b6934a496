//! Where flows pass beside the link on which they are seen first, where several taps are on their way.
//!
//! A packet that is recorded again on another interface is a capture duplicate there: it is no traffic of its own. But a pause of that link
//! stops the flow on that link, and only this record shows it.

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

/// The packets of a flow on another link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Passage {
    pub(crate) interface: u16,
    /// Requests, or READ data.
    pub(crate) space: Space,
    pub(crate) path_tag: u64,
    /// Times of the first packet and of the last one, in nanoseconds since 1970.
    pub(crate) start: i64,
    pub(crate) last: i64,
    pub(crate) last_psn: Psn,
    pub(crate) packets: u64,
    /// The last packet is not the end of a message.
    pub(crate) is_within: bool,
}

/// All of them, by the number of the flow.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Passages {
    /// The interface on which each is seen first.
    #[serde(with = "crate::stored::roomy")]
    first: Vec<u16>,
    /// The other links, up to the last flow that has any.
    #[serde(with = "crate::stored::roomy")]
    others: Vec<Vec<Passage>>,
    /// Other links that were kept so far, of all flows.
    kept: usize,
}

impl Passages {
    /// A flow begins on this interface.
    pub(crate) fn begin(&mut self, FlowId(flow): FlowId, interface: u16) {
        let at = flow as usize;
        if at >= self.first.len() && at < MAX_FLOWS {
            self.first.resize(at + 1, 0);
        }
        if let Some(first) = self.first.get_mut(at) {
            *first = interface;
        }
        if let Some(others) = self.others.get_mut(at) {
            *others = Vec::new();
        }
    }

    /// The interface on which a flow is seen first.
    #[inline]
    pub(crate) fn first(&self, FlowId(flow): FlowId) -> Option<u16> {
        self.first.get(flow as usize).copied()
    }

    /// The other links that a flow passes.
    pub(crate) fn of(&self, FlowId(flow): FlowId) -> &[Passage] {
        self.others.get(flow as usize).map_or(&[], Vec::as_slice)
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.first.capacity() * size_of::<u16>()
            + self.others.capacity() * size_of::<Vec<Passage>>()
            + self.kept * size_of::<Passage>()
    }

    /// A packet of requests or READ data that was recorded again. Returns what was known of its flow there before.
    pub(crate) fn pass(&mut self, FlowId(flow): FlowId, space: Space, packet: &Facts) -> Option<Passage> {
        let (interface, shape) = (packet.interface(), packet.opcode().shape());
        let Passages { first, others, kept } = self;
        let at = flow as usize;
        if *first.get(at)? == interface {
            return None;
        }
        if at >= others.len() {
            others.resize_with(at + 1, Vec::new);
        }
        let others = others.get_mut(at)?;
        let now = Passage {
            interface,
            space,
            path_tag: packet.path_tag(),
            start: packet.time(),
            last: packet.time(),
            last_psn: packet.psn(),
            packets: 1,
            is_within: !shape.ends,
        };
        let known = others.iter_mut().find(|known| (known.interface, known.space) == (interface, space));
        let Some(known) = known else {
            if others.len() < MAX_PASSAGES {
                others.push(now);
                *kept += 1;
            }
            return None;
        };
        let Passage { start, packets, .. } = *known;
        Some(std::mem::replace(known, Passage { start, packets: packets + 1, ..now }))
    }
}
