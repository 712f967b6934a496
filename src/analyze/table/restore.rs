//! What is made again after the table was read from a file: the hash table, and what all flows share.

use super::{Entry, Flows, flow::Flow, most_flows, room, spread};

impl Flows {
    /// Makes the hash table, and checks all numbers of flows. `None` if one is wrong.
    pub(crate) fn rebuild(&mut self) -> Option<()> {
        let len = self.flows.len();
        let is_known = |at: u32| (at as usize) < len;
        let are_right = self.seen.len() == len
            && u32::try_from(len).is_ok()
            && self.runs.len() <= len
            && self.hand <= len
            && self.budget.fits(len)
            && self.begun.iter().all(|&at| is_known(at))
            && self.flows.iter().all(|flow| flow.peer.is_none_or(|peer| is_known(peer.0)));
        if !are_right {
            return None;
        }
        let mut is_vacant = vec![false; len];
        self.budget.all_vacant().iter().for_each(|&at| is_vacant[at as usize] = true);
        self.table.reserve(len, |entry| spread(entry.hash));
        for at in 0..len as u32 {
            let flow = &mut self.flows[at as usize];
            flow.return_to(&self.room);
            if !is_vacant[at as usize] {
                let hash = self.hash(&self.flows[at as usize].key);
                self.table.insert_unique(spread(hash), Entry { hash, flow: at }, |entry| spread(entry.hash));
            }
        }
        Some(())
    }

    /// A flow that was read from a file is one of these.
    pub(crate) fn take_in(&self, flow: &mut Flow) {
        flow.return_to(&self.room);
    }

    /// The bounds change: the memory from `before`.
    pub(crate) fn rebound(&mut self, before: usize, max: usize, max_memory: usize) {
        self.max = most_flows(max, max_memory);
        self.room.rebound(room(before), room(max_memory));
        self.budget.rebound(max_memory);
    }
}
