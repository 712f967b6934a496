//! Collectives: the requests of NCCL's transport, the operations that they are of, and who was waited for.

use std::collections::BTreeMap;

use super::{
    CollectiveCause, CtsLayout, ImmediateOrder, RecognizedBy, Topology, WaitCause, Why, clean,
    units::{bytes, count, duration, percent, several},
};

records! {
    /// The traffic of collectives: requests of NCCL's transport for InfiniBand and RoCE (or RCCL's, or that of another that has its
    /// clear-to-send elements).
    pub struct Collectives {
        /// Connections: one direction of one channel between two ranks, those that began first.
        pub connections: Vec<CollectiveConnection>,
        /// Requests, in the order in which they were first seen: the first 65536.
        pub requests: Vec<CollectiveRequest>,
        /// Requests, and messages, that are not listed.
        pub not_listed: u64,
        /// Requests that were not complete when the capture ended.
        pub unfinished: u64,
        /// Bytes of all requests.
        pub bytes: u64,
        /// What the time of all requests went to. Requests of different connections overlap, so this is more than the time of the capture.
        pub time: RequestTime,
        /// Who sends to whom. Unknown where hosts have no tap, and others have: what those send to each other is not in the capture.
        pub topology: Topology,
        /// Endpoints that send or receive: ranks, as far as the network shows them.
        pub ranks: Vec<String>,
        /// Operations, by time: requests with no silence of all connections between them. `None` with one connection only, and
        /// without elements of two connections at least: then a silence may be a wait.
        pub operations: Option<Vec<CollectiveOperation>>,
        /// The time from the beginning of an operation to that of the next one: the median.
        pub period_ns: Option<u64>,
        /// Who was waited for, over all operations, those that cost most first.
        pub stragglers: Vec<Straggler>,
        /// What each endpoint waited for, by time: the 65536 longest.
        pub waits: Vec<CollectiveWait>,
    }

    /// One direction of one channel between two ranks.
    pub struct CollectiveConnection {
        /// Its place in the list.
        pub connection: usize,
        /// The address that sends.
        pub sender: String,
        /// The address that receives.
        pub receiver: String,
        /// The rank that sends, where a log of NCCL says it.
        pub sender_rank: Option<u32>,
        /// The rank that receives, where a log of NCCL says it.
        pub receiver_rank: Option<u32>,
        /// The name of the host that sends, where a log says it.
        pub sender_host: Option<String>,
        /// The name of the host that receives, where a log says it.
        pub receiver_host: Option<String>,
        /// How it is known that it is one.
        pub recognized_by: RecognizedBy,
        /// The layout of its clear-to-send elements, which differs by version.
        pub layout: CtsLayout,
        /// Bytes of an element.
        pub element_bytes: Option<u64>,
        /// Slots of the FIFO, where its end was seen.
        pub slots: Option<u64>,
        /// The byte order of the size in the immediate data.
        pub immediate_order: ImmediateOrder,
        /// Queue pairs of the receiver that data goes to, in the order in which they were used first.
        pub queue_pairs: Vec<u32>,
        /// Queue pairs of the sender that clear-to-send elements go to: one for each device.
        pub cts_queue_pairs: Vec<u32>,
        /// Queue pairs that a request uses, at most.
        pub queue_pairs_per_request: u64,
        /// A guess: the how manieth connection between these two it is. With a log of NCCL that has as many channels between these ranks, their
        /// numbers in this order.
        pub channel: Option<u64>,
        /// DSCP of the data.
        pub dscp: Option<u8>,
        /// DSCP of the clear-to-send elements: versions before 2.24 give them one of their own.
        pub cts_dscp: Option<u8>,
        /// Requests.
        pub requests: u64,
        /// Requests that were not complete when the capture ended.
        pub unfinished: u64,
        /// Bytes of its requests.
        pub bytes: u64,
        /// Retransmitted data packets.
        pub resent_packets: u64,
        /// Retransmitted clear-to-send elements.
        pub resent_cts: u64,
        /// What the time of its requests went to.
        pub time: RequestTime,
        /// Bytes by the receiver's queue pair.
        pub bytes_by_queue_pair: BTreeMap<u32, u64>,
        /// How often a queue pair was the last one of a request that used several.
        pub last_by_queue_pair: BTreeMap<u32, u64>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// A request: what a receiver asked for, and what it got.
    pub struct CollectiveRequest {
        /// Its connection.
        pub connection: usize,
        /// Its number on the connection: of the element, from 1; without elements, counted from the first one seen.
        pub index: u64,
        /// The operation that it is of.
        pub operation: Option<u64>,
        /// Since when its time counts: from the end of the request before on its connection, or the beginning of its operation.
        pub begin_ns: i64,
        /// When the receiver asked for it: its clear-to-send element, in nanoseconds since 1970-01-01 UTC.
        pub cts_ns: Option<i64>,
        /// The frame of this element.
        pub cts_frame: Option<u64>,
        /// When its first data packet was seen.
        pub first_data_ns: Option<i64>,
        /// Its frame.
        pub first_frame: Option<u64>,
        /// When its last packet was seen: sent for the first time.
        pub last_data_ns: Option<i64>,
        /// Its frame.
        pub last_frame: Option<u64>,
        /// When one of its packets was retransmitted for the last time.
        pub resent_ns: Option<i64>,
        /// When its last packet was acknowledged.
        pub acknowledged_ns: Option<i64>,
        /// Bytes that were sent: of one that is not complete, as far as they were seen.
        pub bytes: u64,
        /// Bytes of each receive, where one slot asks for several.
        pub sizes: Vec<u64>,
        /// Receives that its slot asks for.
        pub receives: u64,
        /// The immediate data, as a number in network order.
        pub immediate: Option<u32>,
        /// Queue pairs of the receiver that it used, in the order of its data.
        pub queue_pairs: Vec<u32>,
        /// Bytes on each of these.
        pub queue_pair_bytes: Vec<u64>,
        /// It is complete: on each of its queue pairs a WRITE with immediate data ended it. `None` where its data was not captured.
        pub is_complete: Option<bool>,
        /// What its time went to.
        pub time: RequestTime,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// What the time of a request went to: from the end of the request before on its connection, or from the beginning of its operation, until
    /// it was acknowledged. It is the sum of receiver late, sender late, network and receiver silent; network is the sum of paused, recovering and
    /// transfer; transfer that of line rate, round trip, throttled and queueing.
    #[derive(Eq)]
    pub struct RequestTime {
        /// All of it.
        pub lasted_ns: u64,
        /// The receiver had not asked for it: no clear-to-send element.
        pub receiver_late_ns: Option<u64>,
        /// It was asked for, and the sender did not send, longer than the round trip explains.
        pub sender_late_ns: Option<u64>,
        /// Before its data, where nobody knows who was late.
        pub late_ns: Option<u64>,
        /// At its end, the receiver answered nothing any more, to the end of the capture, though data was retransmitted to it.
        pub receiver_silent_ns: u64,
        /// From its first data packet until it was acknowledged, and the round trip before that.
        pub network_ns: u64,
        /// Of that, its sender was silent in a pause.
        pub paused_ns: u64,
        /// Of that, from when a packet was lost until it was retransmitted.
        pub recovering_ns: u64,
        /// Of that, the rest.
        pub transfer_ns: u64,
        /// Of transfer, its bytes at the speed of the link.
        pub line_rate_ns: Option<u64>,
        /// Of transfer, the shortest round trip of its connection.
        pub round_trip_ns: Option<u64>,
        /// Of transfer, slower than the line rate after CNPs.
        pub throttled_ns: Option<u64>,
        /// Of transfer, slower than the line rate with no CNP: queues, a link that is shared, or a slow adapter.
        pub queueing_ns: Option<u64>,
    }

    /// Requests with no silence of all connections between them.
    pub struct CollectiveOperation {
        /// Its place in the list.
        pub operation: u64,
        /// When it began, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// How long it took.
        pub lasted_ns: u64,
        /// Its requests.
        pub requests: u64,
        /// Bytes of these.
        pub bytes: u64,
        /// Who sends to whom in it.
        pub topology: Topology,
        /// Algorithm bandwidth as nccl-tests has it: bytes of a rank's buffer over the time, in bits per second. A ring's operation is taken for an
        /// all-reduce: of an all-gather or a reduce-scatter it is twice that. `None` where endpoints send to several others, and are no
        /// tree and no all to all.
        pub algorithm_bps: Option<u64>,
        /// Bus bandwidth as nccl-tests has it: of rings, of all to all and of pairs what a rank sends over the time, of trees the algorithm bandwidth
        /// times 2 (n − 1) / n. Ranks are hosts. `None` as before.
        pub bus_bps: Option<u64>,
        /// Who was waited for, where that cost a twentieth of its time or more.
        pub straggler: Option<String>,
        /// Its rank, where a log of NCCL says it.
        pub straggler_rank: Option<u32>,
        /// Whom that endpoint kept waiting, or the receiver at the other end of the path.
        pub straggler_peer: Option<String>,
        /// What made the others wait: the receiver, the sender, or the network between them.
        pub cause: Option<CollectiveCause>,
        /// The connection of the request that shows it.
        pub connection: Option<usize>,
        /// The number of that request.
        pub request: Option<u64>,
        /// The receiver's queue pair, if the network is the cause.
        pub queue_pair: Option<u32>,
        /// How long it was waited for.
        pub lost_ns: Option<u64>,
        /// When, where that is known, as of hosts that are late: from and until, from and until, …, in nanoseconds since the operation began.
        pub waited_at_ns: Vec<u64>,
    }

    /// Who was waited for.
    pub struct Straggler {
        /// Its address.
        pub rank: String,
        /// The number of its rank, where a log of NCCL says it.
        pub number: Option<u32>,
        /// The name of its host, where a log says it.
        pub host: Option<String>,
        /// The other end of the path, if the network is the cause.
        pub peer: Option<String>,
        /// What made the others wait.
        pub cause: CollectiveCause,
        /// In how many operations; 1 where there are none.
        pub operations: u64,
        /// The receiver's queue pairs, if the network is the cause.
        pub queue_pairs: Vec<u32>,
        /// How long all together.
        pub lost_ns: u64,
    }

    /// A time in which an endpoint waited, and for what. Of several requests at the same time, the one with the first of these causes counts:
    /// paused, recovering, receiver silent, sender late, receiver late, one side late, throttled, queueing, line rate.
    pub struct CollectiveWait {
        /// The address that waited: of a receiver that is late the sender, else the receiver.
        pub rank: String,
        /// The address that it waited for.
        pub peer: String,
        /// What for.
        pub cause: WaitCause,
        /// Since when, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// How long.
        pub lasted_ns: u64,
        /// The connection of the first request that waited so.
        pub connection: usize,
        /// The number of that request.
        pub request: u64,
        /// Requests that waited so, one after the other.
        pub requests: u64,
        /// The frame of its first data packet, or of the element that asks for it.
        pub frame: Option<u64>,
    }
}

impl Collectives {
    /// What there is, in sentences: requests and their time, operations, stragglers, requests that did not end.
    pub fn sentences(&self) -> Vec<String> {
        let mut text = vec![format!(
            "{} on {} ({}): {}; {}",
            several(self.requests.len() as u64 + self.not_listed, "request"),
            several(self.connections.len() as u64, "connection"),
            self.recognized(),
            bytes(self.bytes),
            self.time.sentence()
        )];
        if let Some(operations) = &self.operations {
            let period =
                self.period_ns.map_or_else(String::new, |ns| format!(", one every {}", duration(ns)));
            let ranks = self.ranks.len() as u64;
            let of = match self.topology {
                Topology::Unknown => format!(
                    "{}; who sends to whom is not known, as some of them have no tap",
                    several(ranks, "endpoint")
                ),
                known => format!("{} of {}", known.words(), several(ranks, "endpoint")),
            };
            text.push(format!("{}{period}, {of}", several(operations.len() as u64, "operation")));
        }
        text.extend(self.stragglers.iter().take(3).map(Straggler::sentence));
        if self.unfinished > 0 {
            text.push(self.unfinished_sentence());
        }
        text
    }

    fn recognized(&self) -> &'static str {
        match self.connections.iter().all(|one| one.recognized_by == RecognizedBy::Data) {
            true => "NCCL's transport, proved by its elements",
            false => "looks like NCCL's transport",
        }
    }

    fn unfinished_sentence(&self) -> String {
        let hung = self.requests.iter().find(|request| request.is_complete == Some(false));
        let Some((hung, of)) = hung.and_then(|one| Some((one, self.connections.get(one.connection)?))) else {
            return format!("{} not complete", several(self.unfinished, "request"));
        };
        let what = match (hung.cts_ns, hung.first_data_ns) {
            (Some(_), None) => "asked for, and no data came",
            (_, Some(_)) => "begun, and not ended",
            (None, None) => "not seen",
        };
        let silence = match hung.time.receiver_silent_ns {
            0 => String::new(),
            ns => format!("; the receiver stopped answering {} before the capture ended", duration(ns)),
        };
        format!(
            "{} not complete when the capture ends, the first one {} of {} → {}: {what}{silence}",
            several(self.unfinished, "request"),
            count(hung.index),
            clean(&of.sender),
            clean(&of.receiver)
        )
    }
}

impl RequestTime {
    /// The shares of it, in words.
    pub fn sentence(&self) -> String {
        let share = |ns: u64| percent(ns as f64 / self.lasted_ns.max(1) as f64);
        let mut parts = Vec::new();
        if self.lasted_ns == 0 {
            return "times not known".to_owned();
        }
        let late = [
            ("receiver late", self.receiver_late_ns),
            ("sender late", self.sender_late_ns),
            ("one side late", self.late_ns),
        ];
        parts.extend(late.into_iter().filter_map(|(name, ns)| Some(format!("{name} {}", share(ns?)))));
        let network = [
            ("paused", Some(self.paused_ns)),
            ("recovering", Some(self.recovering_ns)),
            ("throttled", self.throttled_ns),
            ("queueing", self.queueing_ns),
        ];
        let of_network: Vec<String> = network
            .into_iter()
            .filter_map(|(name, ns)| ns.filter(|&ns| ns > 0).map(|ns| format!("{name} {}", share(ns))))
            .collect();
        let of_network =
            if of_network.is_empty() { String::new() } else { format!(" ({})", of_network.join(", ")) };
        parts.push(format!("network {}{of_network}", share(self.network_ns)));
        if self.receiver_silent_ns > 0 {
            parts.push(format!("receiver silent {}", share(self.receiver_silent_ns)));
        }
        parts.join(", ")
    }

    /// Adds another one. The times of a capture may say anything: sums end at the largest number.
    pub fn add(&mut self, other: &RequestTime) {
        let grow = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        let sum = |to: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *to = Some(to.unwrap_or(0).saturating_add(more));
            }
        };
        grow(&mut self.lasted_ns, other.lasted_ns);
        grow(&mut self.receiver_silent_ns, other.receiver_silent_ns);
        grow(&mut self.network_ns, other.network_ns);
        grow(&mut self.paused_ns, other.paused_ns);
        grow(&mut self.recovering_ns, other.recovering_ns);
        grow(&mut self.transfer_ns, other.transfer_ns);
        sum(&mut self.receiver_late_ns, other.receiver_late_ns);
        sum(&mut self.sender_late_ns, other.sender_late_ns);
        sum(&mut self.late_ns, other.late_ns);
        sum(&mut self.line_rate_ns, other.line_rate_ns);
        sum(&mut self.round_trip_ns, other.round_trip_ns);
        sum(&mut self.throttled_ns, other.throttled_ns);
        sum(&mut self.queueing_ns, other.queueing_ns);
    }
}

impl Straggler {
    /// Its rank and host, where a log says them, and its address.
    fn name(&self) -> String {
        let host = self.host.as_ref().map_or_else(String::new, |host| format!("{}, ", clean(host)));
        match self.number {
            Some(rank) => format!("rank {rank} ({host}{})", clean(&self.rank)),
            None => clean(&self.rank).into_owned(),
        }
    }

    /// Who, why and how much.
    pub fn sentence(&self) -> String {
        if self.cause == CollectiveCause::Hang {
            let lost = duration(self.lost_ns);
            return match &self.peer {
                Some(peer) => format!("{} → {} hangs: silent for {lost}", self.name(), clean(peer)),
                None => format!("{} stopped answering everybody: silent for {lost}", self.name()),
            };
        }
        let to = self.peer.as_ref().map_or_else(String::new, |peer| format!(" → {}", clean(peer)));
        format!(
            "waited for {}{to}: {}, {} in {}",
            self.name(),
            self.cause.words(),
            duration(self.lost_ns),
            several(self.operations, "operation")
        )
    }
}
