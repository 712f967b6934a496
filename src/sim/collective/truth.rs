//! What is true of requests and operations.

use serde::Serialize;

use super::Collective;

/// All of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Truth {
    /// What this is: `rdmawire.collective-truth/1`.
    pub schema: &'static str,
    /// Addresses of each rank: one for each rail.
    pub ranks: Vec<Vec<String>>,
    /// Connections.
    pub connections: Vec<TrueConnection>,
    /// Requests, connection by connection.
    pub requests: Vec<TrueRequest>,
    /// Operations.
    pub operations: Vec<TrueOperation>,
}

/// One direction of one channel between two ranks.
#[derive(Clone, Debug, Serialize)]
pub struct TrueConnection {
    /// Rank that sends.
    pub from: u32,
    /// Rank that receives.
    pub to: u32,
    /// Its channel.
    pub channel: u32,
    /// The sender's address.
    pub sender: String,
    /// The receiver's address.
    pub receiver: String,
    /// Queue pairs of the receiver.
    pub queue_pairs: Vec<u32>,
}

/// A request.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TrueRequest {
    /// Its connection.
    pub connection: usize,
    /// Its number, from 1.
    pub index: u64,
    /// The operation that it is of, from 0.
    pub operation: u32,
    /// Bytes that were sent.
    pub bytes: u64,
    /// When its element left the receiver, in nanoseconds since 1970.
    pub cts_ns: Option<i64>,
    /// When its first data packet left the sender.
    pub first_data_ns: Option<i64>,
    /// When its last data packet left the sender for the first time.
    pub last_data_ns: Option<i64>,
    /// When its last acknowledgement left the receiver; or came to the sender, where the receiver has no tap.
    pub acknowledged_ns: Option<i64>,
    /// From the end of the requests before on its connection, or from the beginning of its operation, until then.
    pub lasted_ns: u64,
    /// Of that, the receiver had not asked for it.
    pub receiver_late_ns: u64,
    /// Of that, it was asked for, and the sender had nothing to send.
    pub sender_late_ns: u64,
    /// The rest.
    pub network_ns: u64,
    /// Of network, the sender's adapter was stopped, and had packets of it; or the receiver's, and had its acknowledgement.
    pub paused_ns: u64,
    /// Of network, a packet of its queue pairs was lost and not sent again yet.
    pub recovering_ns: u64,
}

/// An operation.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TrueOperation {
    /// Its first element, in nanoseconds since 1970.
    pub start_ns: i64,
    /// Until its last acknowledgement.
    pub lasted_ns: u64,
    /// Its requests.
    pub requests: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Algorithm bandwidth, as nccl-tests has it: bytes of a rank's buffer over the time.
    pub algorithm_bps: u64,
    /// The rank of the fault that cost most, if it cost anything.
    pub straggler: Option<u32>,
    /// The fault, from 0.
    pub fault: Option<usize>,
    /// How much shorter the operation is without this fault.
    pub cost_ns: u64,
}

/// Spans of time, cut to one and joined.
pub(super) fn within(spans: &[(u64, u64)], (from, to): (u64, u64)) -> Vec<(u64, u64)> {
    let clipped = spans.iter().map(|&(start, end)| (start.max(from), end.min(to)));
    let mut sorted: Vec<(u64, u64)> = clipped.filter(|(start, end)| start < end).collect();
    sorted.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, end) in sorted {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

pub(super) fn total(spans: &[(u64, u64)]) -> u64 {
    spans.iter().map(|(start, end)| end - start).sum()
}

impl Truth {
    /// What each fault cost: the operations without it, in their order.
    pub(super) fn blame(&mut self, of: &Collective, without: &[Vec<TrueOperation>]) {
        for (at, operation) in self.operations.iter_mut().enumerate() {
            let acts = |fault: &usize| of.fault[*fault].operation.is_none_or(|only| only as usize == at);
            for (fault, others) in without.iter().enumerate().filter(|(fault, _)| acts(fault)) {
                let shorter = others.get(at).map_or(0, |other| other.lasted_ns);
                let cost = operation.lasted_ns.saturating_sub(shorter);
                if cost > operation.cost_ns {
                    operation.cost_ns = cost;
                    operation.fault = Some(fault);
                    operation.straggler = Some(of.fault[fault].rank);
                }
            }
        }
    }
}
