//! Bounds the memory of all flows together. If it is exceeded, samples that are kept as they are become histograms; then the flows
//! that have been silent longest lose detail. If no detail is left, flows are evicted.

use super::Flows;
use crate::{
    analyze::{model::FlowId, table::flow::Flow},
    heap::Heap,
};

/// The memory of all flows on the heap, as it was when each flow was last measured.
#[derive(Debug, crate::stored::Stored)]
pub(super) struct Budget {
    share: usize,
    /// What metrics hold: flows may hold so much less.
    aside: usize,
    held: usize,
    /// How often flows were measured since metrics were asked what they hold.
    measured: u32,
    /// The bound was exceeded: flows lose detail until there is room again.
    is_short: bool,
    /// No detail is left.
    is_exhausted: bool,
    /// The flow that is examined next.
    hand: usize,
    /// In this round, flows that have been silent for less time keep their detail.
    patience: i64,
    /// Of the flows in this round that hold much: the sum of their silences, and their number.
    silence: (i128, i128),
    /// The memory held when this round began.
    before: usize,
    /// Flows that lost detail.
    shed: u64,
    /// The memory of retired flows that are reported.
    retired: usize,
    /// Places of the table without a flow.
    vacant: Vec<u32>,
}

/// What to do to free memory.
pub(crate) enum Relief {
    Shed(FlowId),
    Evict(FlowId),
}

/// Bytes of a flow in the table, in the tables of connections and metrics, and for the allocator.
const EACH: usize = size_of::<Flow>() + 280;
/// Bytes of a typical flow without detail.
const BARE: usize = 2048;
/// A flow with fewer bytes on the heap keeps its detail.
const MUCH: usize = 1536;
/// Flows that are examined for one packet.
const LOOKS: usize = 64;
/// Metrics are asked what they hold when flows were measured so often.
const ASK_METRICS: u32 = 1024;

/// The share of the memory that flows may hold. The rest is for unused memory of the allocator, packets that wait, and the
/// report.
fn share(max_memory: usize) -> usize {
    max_memory / 8 * 5
}

/// The number of flows that fit into the memory.
pub(super) fn flows_that_fit(max_memory: usize) -> usize {
    share(max_memory) / BARE
}

impl Budget {
    pub(super) fn of(max_memory: usize) -> Budget {
        Budget {
            share: share(max_memory),
            aside: 0,
            held: 0,
            measured: 0,
            is_short: false,
            is_exhausted: false,
            hand: 0,
            patience: i64::MAX,
            silence: (0, 0),
            before: 0,
            shed: 0,
            retired: 0,
            vacant: Vec::new(),
        }
    }

    /// The bound of the memory changes.
    #[cfg(feature = "state")]
    pub(super) fn rebound(&mut self, max_memory: usize) {
        self.share = share(max_memory);
    }

    /// Whether its numbers are of flows in a table of this length.
    #[cfg(feature = "state")]
    pub(super) fn fits(&self, flows: usize) -> bool {
        self.hand <= flows && self.vacant.iter().all(|&at| (at as usize) < flows)
    }

    /// The vacant places.
    #[cfg(feature = "state")]
    pub(super) fn all_vacant(&self) -> &[u32] {
        &self.vacant
    }

    /// What flows may hold.
    fn most(&self) -> usize {
        self.share.saturating_sub(self.aside).max(self.share / 4)
    }

    /// Counts a new flow.
    pub(super) fn grow(&mut self) {
        self.held += EACH;
    }

    /// Measures what a flow holds now.
    fn set(&mut self, flow: &mut Flow) {
        let now = u32::try_from(flow.heap_bytes()).unwrap_or(u32::MAX);
        let before = std::mem::replace(&mut flow.held, now);
        self.held = (self.held + now as usize).saturating_sub(before as usize);
        self.measured += 1;
        let most = self.most();
        if self.held > most && !self.is_short {
            (self.is_short, self.hand) = (true, 0);
            (self.patience, self.silence, self.before) = (i64::MAX, (0, 0), self.held);
        } else if self.held < most / 8 * 7 {
            (self.is_short, self.is_exhausted) = (false, false);
        }
    }

    /// All flows were examined: in the next round, those that hold much and have been silent longer than average lose detail.
    fn go_around(&mut self) {
        let (sum, n) = std::mem::take(&mut self.silence);
        let (freed, most) = (self.before.saturating_sub(self.held), self.most());
        // In the first round, samples became histograms, and flows kept their detail.
        self.is_exhausted |= n == 0 || self.patience == 0 && freed < most / 64;
        self.patience =
            if freed < most / 64 && self.patience < i64::MAX { 0 } else { (sum / n.max(1)) as i64 };
        (self.before, self.hand) = (self.held, 0);
    }
}

impl Flows {
    /// Whether the flow is to be measured again. A flow with few packets is measured often.
    #[inline(always)]
    pub(crate) fn is_to_measure(&self, FlowId(at): FlowId) -> bool {
        let flow = &self.flows[at as usize];
        (flow.packets as u32).wrapping_sub(flow.measure_at) as i32 >= 0
    }

    /// Measures what a flow and its opposite hold. Returns whether all flows hold too much, or metrics are to be asked.
    #[cold]
    #[inline(never)]
    pub(crate) fn measure(&mut self, id: FlowId) -> bool {
        let flow = &mut self.flows[id.0 as usize];
        // The first few packets may need most of a flow's memory: where there are more flows than fit, none has many more.
        let step = if flow.packets < 8 { flow.packets.max(2) } else { (flow.packets / 8).clamp(8, 256) };
        flow.measure_at = (flow.packets + step) as u32;
        self.budget.set(flow);
        if let Some(peer) = flow.peer {
            self.budget.set(&mut self.flows[peer.0 as usize]);
        }
        self.is_short() || self.is_to_hear_of_metrics()
    }

    /// Whether it is time to ask metrics what they hold.
    pub(crate) fn is_to_hear_of_metrics(&self) -> bool {
        self.budget.measured >= ASK_METRICS
    }

    /// Metrics hold so many bytes.
    pub(crate) fn set_aside(&mut self, bytes: usize) {
        (self.budget.aside, self.budget.measured) = (bytes, 0);
    }

    /// Whether flows hold too much together.
    pub(crate) fn is_short(&self) -> bool {
        self.budget.is_short
    }

    /// Whether only evictions can free memory.
    pub(super) fn is_exhausted(&self) -> bool {
        self.budget.is_exhausted && self.flows.len() - self.budget.vacant.len() > LOOKS
    }

    /// Number of flows that lost detail.
    pub(crate) fn without_detail(&self) -> u64 {
        self.budget.shed
    }

    /// A flow has lost detail: measures what it still holds.
    pub(crate) fn on_shed(&mut self, id: FlowId, unanswered: u64) {
        let flow = &mut self.flows[id.0 as usize];
        self.budget.shed += !std::mem::replace(&mut flow.is_shed, true) as u64;
        self.budget.set(flow);
        if let Some(peer) = flow.peer.filter(|_| unanswered > 0) {
            self.flows[peer.0 as usize].responses.not_followed(unanswered);
        }
    }

    /// Retires a flow. Returns whether there is memory to report it. Retired flows may take an eighth; when they take half of
    /// that, further ones lose detail.
    pub(crate) fn keep_retired(&mut self, flow: &mut Flow) -> bool {
        let most = self.budget.most() / 8;
        if self.budget.retired > most / 2 {
            flow.requests.shed_episodes();
            self.budget.shed += !std::mem::replace(&mut flow.is_shed, true) as u64;
        }
        self.budget.set(flow);
        let more = EACH + flow.held as usize;
        if self.budget.retired + more > most {
            self.drop_held(flow);
            return false;
        }
        self.budget.retired += more;
        self.budget.held += EACH;
        true
    }

    /// A flow is dropped.
    pub(crate) fn drop_held(&mut self, flow: &Flow) {
        self.budget.held = self.budget.held.saturating_sub(flow.held as usize);
    }

    /// Marks a place in the table as vacant.
    pub(crate) fn vacate(&mut self, id: FlowId) {
        self.seen[id.0 as usize] = false;
        self.budget.held = self.budget.held.saturating_sub(EACH - size_of::<Flow>());
        self.budget.vacant.push(id.0);
    }

    /// Takes a vacant place.
    pub(super) fn vacant(&mut self) -> Option<FlowId> {
        let at = self.budget.vacant.pop()?;
        self.budget.held += EACH - size_of::<Flow>();
        Some(FlowId(at))
    }

    /// The next thing to do at this time to free memory.
    pub(crate) fn relief(&mut self, time: i64) -> Option<Relief> {
        if !self.budget.is_short {
            return None;
        }
        if self.budget.is_exhausted {
            return self.is_exhausted().then(|| Relief::Evict(self.oldest()));
        }
        for _ in 0..LOOKS {
            if self.budget.hand >= self.flows.len() {
                self.budget.go_around();
            }
            let id = FlowId(self.budget.hand as u32);
            self.budget.hand += 1;
            if (self.flows[id.0 as usize].held as usize) < MUCH {
                continue;
            }
            // The run has later packets than the flow.
            self.settle(id);
            let silent = time.saturating_sub(self.flows[id.0 as usize].last_time).max(0);
            self.budget.silence.0 += silent as i128;
            self.budget.silence.1 += 1;
            if self.budget.patience == i64::MAX {
                let flow = &mut self.flows[id.0 as usize];
                flow.requests.coarsen();
                self.budget.set(flow);
                if !self.budget.is_short {
                    return None;
                }
            }
            if silent >= self.budget.patience {
                return Some(Relief::Shed(id));
            }
        }
        None
    }
}
