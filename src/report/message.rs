//! Messages one by one. They are no part of the report: there may be millions.

use super::{Encapsulation, Service};

records! {
    /// A message of a requester: a SEND, a WRITE, a READ, an atomic operation.
    pub struct Message {
        /// The `uid` of its flow.
        pub uid: String,
        /// Source address of the flow, written as in the flow.
        pub src: String,
        /// Destination address of the flow.
        pub dst: String,
        /// The queue pair that the flow's packets go to.
        pub dest_qp: u32,
        /// 0, and one more each time that the queue pair was given to a new connection.
        pub epoch: u32,
        /// The sender's queue pair, where it was known when the message began.
        pub peer_qp: Option<u32>,
        /// The transport service.
        pub service: Service,
        /// What carries the packets.
        pub encapsulation: Encapsulation,
        /// What is done: send, write, read, compare-swap, fetch-add, flush or atomic-write.
        pub operation: String,
        /// Name of the operation code of the first packet that was seen; empty if it has none.
        pub opcode_name: String,
        /// PSN of the first packet; `None` if that was not seen.
        pub first_psn: Option<u32>,
        /// PSN of the last packet, of a READ that of the last response; `None` if that was not seen.
        pub last_psn: Option<u32>,
        /// The first frame of it that was seen.
        pub first_frame: u64,
        /// The last frame of it that was seen, repeated ones included; not the acknowledgement.
        pub last_frame: u64,
        /// When the first frame was captured, in nanoseconds since 1970-01-01 UTC.
        pub first_ns: i64,
        /// When the last frame was captured, in nanoseconds since 1970-01-01 UTC.
        pub last_ns: i64,
        /// When it was acknowledged as a whole, of a READ when all its data had come, in nanoseconds since 1970-01-01 UTC; `None` where
        /// the capture does not show it.
        pub completed_ns: Option<i64>,
        /// Nanoseconds from the first frame to the completion.
        pub completion_ns: Option<u64>,
        /// Bytes of payload: what the RETH states, or else by its packets, none of an atomic operation; `None` if the first or the last one was not seen.
        pub size_bytes: Option<u64>,
        /// Packets that were seen, repeated ones included, capture duplicates not.
        pub packets: u64,
        /// Packets of these that were retransmitted.
        pub resent_packets: u64,
    }
}
