//! How much memory all flows may hold together. Beyond that, those that were silent longest give up detail; where nothing is
//! left to give up, flows are evicted.

use super::Flows;
use crate::analyze::{model::FlowId, table::flow::Flow};

/// What flows hold on the heap, as it was when each was measured last.
#[derive(Debug)]
pub(super) struct Budget {
    most: usize,
    held: usize,
    /// It was exceeded: detail is given up until there is some room again.
    is_short: bool,
    /// Nothing is left to give up.
    is_exhausted: bool,
    /// The flow that is looked at next.
    hand: usize,
    /// Flows that were silent for less keep their detail, on this way around.
    patience: i64,
    /// How long those that hold much were silent, and how many they are, on this way around.
    silence: (i128, i128),
    /// What was held when this way around began.
    before: usize,
    /// Flows that gave up detail.
    shed: u64,
    /// What flows hold that are over, and are reported.
    retired: usize,
    /// Places of the table without a flow.
    vacant: Vec<u32>,
}

/// What is to be done for more room.
pub(crate) enum Relief {
    Shed(FlowId),
    Evict(FlowId),
}

/// Bytes that a flow takes at least: in the table, in the tables of connections and metrics, and around what it has on the heap.
const EACH: usize = size_of::<Flow>() + 280;
/// Bytes that a flow takes without detail, at most times.
const BARE: usize = 2048;
/// Bytes on the heap that are worth giving up.
const MUCH: usize = 1536;
/// Flows that are looked at for one packet.
const LOOKS: usize = 64;

/// Of the memory that an analysis may take, this share is for what flows hold: the rest is for what allocators leave unused,
/// for packets on their way, and for the report.
fn share(max_memory: usize) -> usize {
    max_memory / 8 * 5
}

/// As many flows as there is memory for.
pub(super) fn flows_that_fit(max_memory: usize) -> usize {
    share(max_memory) / BARE
}

impl Budget {
    pub(super) fn of(max_memory: usize) -> Budget {
        Budget {
            most: share(max_memory),
            held: 0,
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

    /// There is one more flow.
    pub(super) fn grow(&mut self) {
        self.held += EACH;
    }

    /// What a flow holds has changed.
    fn set(&mut self, flow: &mut Flow) {
        let now = u32::try_from(flow.heap_bytes()).unwrap_or(u32::MAX);
        let before = std::mem::replace(&mut flow.held, now);
        self.held = (self.held + now as usize).saturating_sub(before as usize);
        if self.held > self.most && !self.is_short {
            (self.is_short, self.hand) = (true, 0);
            (self.patience, self.silence, self.before) = (i64::MAX, (0, 0), self.held);
        } else if self.held < self.most / 8 * 7 {
            (self.is_short, self.is_exhausted) = (false, false);
        }
    }

    /// All were looked at: on the next way around, the longer silent half of those that hold much is asked for detail.
    fn go_around(&mut self) {
        let (sum, n) = std::mem::take(&mut self.silence);
        let freed = self.before.saturating_sub(self.held);
        // The first way around only asks.
        self.is_exhausted |= n == 0 || self.patience == 0 && freed < self.most / 64;
        self.patience =
            if freed < self.most / 64 && self.patience < i64::MAX { 0 } else { (sum / n.max(1)) as i64 };
        (self.before, self.hand) = (self.held, 0);
    }
}

impl Flows {
    /// Whether what a flow holds is to be measured again: often, while it has few packets.
    #[inline(always)]
    pub(crate) fn is_to_measure(&self, FlowId(at): FlowId) -> bool {
        let flow = &self.flows[at as usize];
        (flow.packets as u32).wrapping_sub(flow.measure_at) as i32 >= 0
    }

    /// Measures what a flow and its opposite hold. Whether all hold too much.
    #[cold]
    #[inline(never)]
    pub(crate) fn measure(&mut self, id: FlowId) -> bool {
        let flow = &mut self.flows[id.0 as usize];
        flow.measure_at = (flow.packets + (flow.packets / 8).clamp(8, 256)) as u32;
        self.budget.set(flow);
        if let Some(peer) = flow.peer {
            self.budget.set(&mut self.flows[peer.0 as usize]);
        }
        self.budget.is_short
    }

    /// Whether flows hold too much together.
    pub(crate) fn is_short(&self) -> bool {
        self.budget.is_short
    }

    /// Whether nothing but fewer flows would help.
    pub(super) fn is_exhausted(&self) -> bool {
        self.budget.is_exhausted && self.flows.len() - self.budget.vacant.len() > LOOKS
    }

    /// Flows that gave up detail.
    pub(crate) fn without_detail(&self) -> u64 {
        self.budget.shed
    }

    /// A flow gives up detail: what it still holds.
    pub(crate) fn on_shed(&mut self, id: FlowId, unanswered: u64) {
        let flow = &mut self.flows[id.0 as usize];
        self.budget.shed += !std::mem::replace(&mut flow.is_shed, true) as u64;
        self.budget.set(flow);
        if let Some(peer) = flow.peer.filter(|_| unanswered > 0) {
            self.flows[peer.0 as usize].responses.not_followed(unanswered);
        }
    }

    /// A flow that is over leaves the table: whether there is memory to report it. Those before it may take an eighth, and
    /// once they take half of that, it gives up detail.
    pub(crate) fn keep_retired(&mut self, flow: &mut Flow) -> bool {
        let most = self.budget.most / 8;
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

    /// A flow is no more.
    pub(crate) fn drop_held(&mut self, flow: &Flow) {
        self.budget.held = self.budget.held.saturating_sub(flow.held as usize);
    }

    /// A place in the table has no flow from now on.
    pub(crate) fn vacate(&mut self, id: FlowId) {
        self.seen[id.0 as usize] = false;
        self.budget.held = self.budget.held.saturating_sub(EACH - size_of::<Flow>());
        self.budget.vacant.push(id.0);
    }

    /// A place that has no flow.
    pub(super) fn vacant(&mut self) -> Option<FlowId> {
        let at = self.budget.vacant.pop()?;
        self.budget.held += EACH - size_of::<Flow>();
        Some(FlowId(at))
    }

    /// What next to do, at this time, for more room.
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
            // A run knows of later packets.
            self.settle(id);
            let silent = time.saturating_sub(self.flows[id.0 as usize].last_time).max(0);
            self.budget.silence.0 += silent as i128;
            self.budget.silence.1 += 1;
            if silent >= self.budget.patience {
                return Some(Relief::Shed(id));
            }
        }
        None
    }
}
