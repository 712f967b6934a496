//! Frames -> meaning: who retransmits, what was lost and where, what arrived out of order.

pub mod metric;

use crate::{capture::Record, dissect::Dissection, icrc};

/// A flow's number in its analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// One frame in its place.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The frame's number, from 1.
    pub number: u64,
    /// The frame.
    pub record: &'a Record<'a>,
    /// Its headers.
    pub packet: &'a Dissection<'a>,
    /// What became of its ICRC.
    pub icrc: icrc::State,
    /// Bytes on the wire, with preamble, frame check sequence and inter-frame gap; without tunnels around it.
    pub l1_bytes: u32,
    /// The flow it belongs to, if it is of the InfiniBand transport.
    pub flow: Option<FlowId>,
    /// The opposite flow, if it is known.
    pub peer: Option<FlowId>,
    /// Whether it is one transmission recorded again.
    pub is_capture_duplicate: bool,
}
