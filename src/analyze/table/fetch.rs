//! Prefetching: where there are many flows, most of their state is not in the processor's caches.

use std::hint::black_box;

use super::Flows;
use crate::{
    analyze::{
        model::FlowId,
        packet::{FastForm, FastPacket},
    },
    opcode::Direction,
    prefetch,
    wire::Psn,
};

impl Flows {
    /// Prefetches the flows that will be evicted next, and their entries in the hash table, all at once.
    pub(super) fn fetch_ahead(&mut self) {
        const MANY: usize = 8;
        let next = || (self.hand..self.flows.len()).filter(|&at| !self.seen[at]).take(MANY);
        for at in next() {
            self.flows[at].fetch_all();
        }
        for at in next() {
            black_box(self.entry(self.hash(&self.flows[at].key), |_| true));
        }
        self.ahead = next().last().map_or(self.flows.len(), |last| last + 1);
    }

    /// Prefetches what the next acknowledgement will need, as far as its address is known without a cache miss.
    #[inline(always)]
    pub(super) fn fetch_acknowledged(&self, id: FlowId) {
        let Some(flow) = self.flows.get(id.0 as usize) else { return };
        flow.requests.fetch();
        flow.requests.fetch_more();
        if let Some(peer) = flow.peer.and_then(|peer| self.flows.get(peer.0 as usize)) {
            peer.fetch_answering();
            peer.responses.fetch();
        }
    }

    /// Prefetches a flow's run, if it ever had one.
    #[inline(always)]
    pub(crate) fn fetch_own(&self, id: FlowId, packet: &impl FastForm) {
        self.fetch_run(id);
        if !packet.is_told_by_ends() {
            prefetch::line(self.key(id));
        }
    }

    #[inline(always)]
    fn fetch_run(&self, FlowId(at): FlowId) {
        self.runs.get(at as usize).into_iter().for_each(prefetch::lines);
    }

    /// Prefetches the slot of the ring that the packet will be written to.
    #[inline(always)]
    pub(crate) fn fetch_ring(&self, FlowId(at): FlowId, psn: Psn) {
        self.runs.get(at as usize).into_iter().for_each(|run| run.fetch_ring(psn));
    }

    /// Prefetches the state that the end of a message changes.
    #[inline(always)]
    pub(crate) fn fetch_completed(&self, id: FlowId, packet: &FastPacket) {
        if packet.opcode().shape().ends {
            self.unsettled(id).requests.fetch_message();
        }
    }

    /// Prefetches the flow's state for a packet that does not continue a run.
    #[inline(always)]
    pub(crate) fn fetch(&self, id: FlowId, packet: &FastPacket) {
        self.seen.get(id.0 as usize).into_iter().for_each(prefetch::line);
        let flow = self.unsettled(id);
        if is_response(packet) { flow.fetch_answering() } else { flow.fetch() }
    }

    /// Prefetches the state outside of the flow itself.
    #[inline(always)]
    pub(crate) fn fetch_beyond(&self, id: FlowId, packet: &FastPacket) {
        let flow = self.unsettled(id);
        if !is_response(packet) {
            return flow.requests.seq.ring.fetch(packet.psn());
        }
        flow.responses.fetch();
        if let Some(peer) = flow.peer {
            self.unsettled(peer).requests.fetch();
            self.fetch_run(peer);
        }
    }

    /// Prefetches the state that the end of a message, or its acknowledgement, changes.
    #[inline(always)]
    pub(crate) fn fetch_farther(&self, id: FlowId, packet: &FastPacket) {
        let flow = self.unsettled(id);
        if !is_response(packet) {
            return self.fetch_completed(id, packet);
        }
        flow.responses.fetch_last();
        if let Some(peer) = flow.peer {
            let requests = &self.unsettled(peer).requests;
            requests.fetch_answered();
            requests.seq.ring.fetch(packet.psn());
            self.fetch_ring(peer, packet.psn());
        }
    }
}

#[inline(always)]
fn is_response(packet: &FastPacket) -> bool {
    packet.opcode().shape().direction == Direction::Response
}
