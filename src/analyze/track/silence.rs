//! Silences: times in which a requester sent nothing, or a responder no data of READs, and what is known of why.

use crate::analyze::model::{FlowId, Space, Trigger};

/// A shorter time between two packets of a sender is no silence, unless the second packet was retransmitted. Where so short ones are
/// nothing but the pace of senders, as where many flows share a link, the limit is twice this, or more.
pub const QUIET_NS: i64 = 2_000;

/// A time between two request packets of a flow in which it sent nothing.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
#[non_exhaustive]
pub struct Silence {
    /// The flow.
    pub flow: FlowId,
    /// The frame that ended it, from 1.
    pub frame: u64,
    /// Time of the flow's first request, in nanoseconds since 1970; so are the times below.
    pub start_ns: i64,
    /// Time of the packet before it.
    pub from_ns: i64,
    /// Time of the packet that ended it.
    pub to_ns: i64,
    /// When an answer last acknowledged something, or said that the receiver was not ready: perhaps before the silence.
    pub answered_ns: i64,
    /// Whether any answer was seen so far.
    pub hears: bool,
    /// Whether everything sent before it was acknowledged when it ended.
    pub is_answered: bool,
    /// Whether the packet that ended it begins a message.
    pub begins: bool,
    /// Whether the packet before it was not the end of a message.
    pub is_within: bool,
    /// Nothing ended it but the end of the capture: it is told where a pause holds then.
    pub is_open: bool,
    /// It is no longer than the pace of senders: it is told because a pause was in it.
    pub is_pace: bool,
    /// Why the packet that ended it was retransmitted; `None` if it was not.
    pub again: Option<Trigger>,
    /// With the packet that ended it another timeout showed.
    pub shows_timeout: bool,
    /// Retransmitted packets so far, with that which ended it.
    pub retransmits: u64,
    /// Messages that were not acknowledged then.
    pub messages: u32,
    /// Messages of the flow that had begun before it, from its first one on.
    pub begun: u64,
    /// Packets of the flow's requests before it, if [`is_open`](Self::is_open).
    pub packets: u64,
    /// The shortest round trip so far, in nanoseconds.
    pub rtt_ns: Option<u32>,
    /// Interface of the packet that ended it.
    pub interface: u16,
    /// Its path tag, as `Facts::path_tag` has it.
    #[doc(hidden)]
    pub path_tag: u64,
}

/// A time between two READ responses of a flow in which it sent none.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
#[non_exhaustive]
pub struct DataSilence {
    /// The flow that the responses are of.
    pub flow: FlowId,
    /// The frame that ended it, from 1.
    pub frame: u64,
    /// Time of the flow's first READ response, in nanoseconds since 1970; so are the times below.
    pub start_ns: i64,
    /// Time of the READ response before it.
    pub from_ns: i64,
    /// Time of the READ response that ended it.
    pub to_ns: i64,
    /// When that data was requested for the first time, perhaps before the silence; `None` if the request was not seen.
    pub asked_ns: Option<i64>,
    /// Whether the response that ended it is the first one of its READ.
    pub begins: bool,
    /// Nothing ended it but the end of the capture: it is told where a pause holds then.
    pub is_open: bool,
    /// It is no longer than the pace of senders: it is told because a pause was in it.
    pub is_pace: bool,
    /// Packets with data before it, if [`is_open`](Self::is_open).
    pub packets: u64,
    /// Why its data was requested again within the silence, or retransmitted; `None` if it was not.
    pub again: Option<Trigger>,
    /// The shortest round trip of the requests so far, in nanoseconds.
    pub rtt_ns: Option<u32>,
    /// Interface of the response that ended it.
    pub interface: u16,
    /// Its path tag, as `Facts::path_tag` has it.
    #[doc(hidden)]
    pub path_tag: u64,
}

/// A time in which a flow was silent on a link that it passes after the one where it is seen first.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
#[non_exhaustive]
pub struct PassingSilence {
    /// The flow.
    pub flow: FlowId,
    /// Its requests, or its READ data.
    pub space: Space,
    /// When the flow was first seen there, in nanoseconds since 1970; so are the times below.
    pub start_ns: i64,
    /// Time of the packet before it.
    pub from_ns: i64,
    /// Time of the packet that ended it.
    pub to_ns: i64,
    /// Whether the packet before it was not the end of a message.
    pub is_within: bool,
    /// Nothing ended it but the end of the capture.
    pub is_open: bool,
    /// Messages that had begun there, and were not acknowledged then.
    pub messages: u32,
    /// Messages of the flow that had begun there before it, from its first one on; `None` of READ data.
    pub begun: Option<u64>,
    /// Packets before it.
    pub packets: u64,
    /// The interface.
    pub interface: u16,
    /// Path tag of its packets there, as `Facts::path_tag` has it.
    #[doc(hidden)]
    pub path_tag: u64,
}

/// When data was requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) first: i64,
    /// The last time that it was requested again.
    pub(crate) again: Option<i64>,
}

/// The state of a requester before a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequesterState {
    pub(crate) start: i64,
    /// Time of its last packet.
    pub(crate) from: i64,
    /// One past the highest PSN it sent.
    pub(crate) hi: u64,
    pub(crate) answered: i64,
    pub(crate) is_answered: bool,
    pub(crate) hears: bool,
    pub(crate) messages: u32,
    /// Messages that were complete, acknowledged or not.
    pub(crate) completed: u64,
    /// Its last packet was not the end of a message.
    pub(crate) is_within: bool,
    /// Packets, timeouts and retransmitted packets so far.
    pub(crate) packets: u64,
    pub(crate) timeouts: u32,
    pub(crate) retransmits: u64,
    pub(crate) rtt: Option<u32>,
    /// What it recovers from, or was asked to.
    pub(crate) trouble: Option<Trigger>,
}

/// The packet that ends a silence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SilenceEnd {
    pub(crate) time: i64,
    pub(crate) begins: bool,
    pub(crate) again: Option<Trigger>,
    pub(crate) shows_timeout: bool,
    pub(crate) retransmits: u64,
}

impl RequesterState {
    /// The silence that a packet at this time ends.
    pub(crate) fn end(self, flow: FlowId, to: i64, frame: u64, (interface, path_tag): (u16, u64)) -> Silence {
        let RequesterState {
            start,
            from,
            answered,
            is_answered,
            hears,
            messages,
            completed,
            is_within,
            packets,
            rtt,
            ..
        } = self;
        Silence {
            flow,
            frame,
            start_ns: start,
            from_ns: from,
            to_ns: to,
            answered_ns: answered,
            hears,
            is_answered,
            begins: false,
            is_within,
            is_open: false,
            is_pace: false,
            again: None,
            shows_timeout: false,
            retransmits: 0,
            messages,
            begun: completed + u64::from(is_within),
            packets,
            rtt_ns: rtt,
            interface,
            path_tag,
        }
    }
}
