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
    #[serde(with = "crate::stored::roomy")]
    flows: Vec<OfFlow>,
    /// Other links that were kept so far, of all flows.
    kept: usize,
}

#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct OfFlow {
    /// The interface on which it is seen first.
    first: u16,
    others: Vec<Passage>,
}

impl Passages {
    /// A flow begins on this interface.
    pub(crate) fn begin(&mut self, FlowId(flow): FlowId, interface: u16) {
        let at = flow as usize;
        if at >= self.flows.len() && at < MAX_FLOWS {
            self.flows.resize_with(at + 1, OfFlow::default);
        }
        if let Some(flow) = self.flows.get_mut(at) {
            *flow = OfFlow { first: interface, others: Vec::new() };
        }
    }

    /// The interface on which a flow is seen first.
    #[inline]
    pub(crate) fn first(&self, FlowId(flow): FlowId) -> Option<u16> {
        self.flows.get(flow as usize).map(|flow| flow.first)
    }

    /// The other links that a flow passes.
    pub(crate) fn of(&self, FlowId(flow): FlowId) -> &[Passage] {
        self.flows.get(flow as usize).map_or(&[], |flow| &flow.others)
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.flows.capacity() * size_of::<OfFlow>() + self.kept * size_of::<Passage>()
    }

    /// A packet of requests or READ data that was recorded again. Returns what was known of its flow there before.
    pub(crate) fn pass(&mut self, FlowId(flow): FlowId, space: Space, packet: &Facts) -> Option<Passage> {
        let (interface, shape) = (packet.interface(), packet.opcode().shape());
        let Passages { flows, kept } = self;
        let OfFlow { first, others } = flows.get_mut(flow as usize)?;
        if *first == interface {
            return None;
        }
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
