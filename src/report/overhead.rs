//! What a message costs in each encapsulation, as it stands in JSON.

use serde::Serialize;

use super::analysis::LayerBytes;

/// The schema's name and number.
pub const SCHEMA: &str = "rdmawire.overhead/1";

/// A message, priced.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Overhead {
    /// [`SCHEMA`].
    pub schema: &'static str,
    pub message: Message,
    /// The link's speed, where it was given.
    pub speed_bps: Option<u64>,
    /// In the order they were asked for.
    pub encapsulations: Vec<Cost>,
}

/// What is sent.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Message {
    /// "RC", "UC", "UD", "RD", "XRC".
    pub service: &'static str,
    pub operation: &'static str,
    pub size_bytes: u64,
    pub mtu: u32,
    pub vlans: u8,
}

/// What it takes in one encapsulation.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Cost {
    pub encapsulation: &'static str,
    /// The way of the payload.
    pub forward: Way,
    /// The other way: ACKs, the request of a READ.
    pub reverse: Way,
    pub payload_bytes: u64,
    /// Payload among the bytes on its way.
    pub efficiency_ratio: Option<f64>,
    /// Payload among the bytes of both ways.
    pub efficiency_both_ratio: Option<f64>,
    /// What a link of the given speed carries, full of such messages.
    pub at_speed: Option<AtSpeed>,
    /// Packets that are alike, in order.
    pub packets: Vec<Packets>,
}

/// One direction of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Way {
    pub packets: u64,
    pub l1_bytes: u64,
    pub header_bytes: LayerBytes,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct AtSpeed {
    pub packets_per_second: f64,
    pub messages_per_second: f64,
    pub goodput_bps: f64,
}

/// Packets that are alike.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Packets {
    pub opcode: &'static str,
    pub count: u64,
    /// Of each.
    pub payload_bytes: u32,
    /// Of each, on the wire.
    pub l1_bytes: u32,
    /// Whether they travel with the payload.
    pub is_forward: bool,
}
