//! What a message costs in each encapsulation, without a capture.

use std::borrow::Cow;

use super::{Encapsulation, LayerBytes, Service};

/// The name and number of the schema.
pub const SCHEMA: &str = "rdmawire.overhead/1";

/// The JSON Schema of [`Overhead`].
pub fn schema() -> serde_json::Value {
    super::field::Types::document::<Overhead>("Overhead")
}

records! {
    /// A message, and what it costs.
    pub struct Overhead {
        /// [`SCHEMA`].
        pub schema: Cow<'static, str>,
        /// What is sent.
        pub message: Message,
        /// The speed of the link in bits per second, where it was given.
        pub speed_bps: Option<u64>,
        /// The encapsulations, in the order in which they were asked for.
        pub encapsulations: Vec<Cost>,
    }

    /// What is sent.
    #[derive(Eq)]
    pub struct Message {
        /// The transport service.
        pub service: Service,
        /// The operation, as "RDMA WRITE".
        pub operation: Cow<'static, str>,
        /// Bytes of payload.
        pub size_bytes: u64,
        /// Path MTU in bytes.
        pub mtu: u32,
        /// VLAN tags of each frame.
        pub vlans: u8,
    }

    /// What it takes in one encapsulation.
    pub struct Cost {
        /// What carries the packets.
        pub encapsulation: Encapsulation,
        /// The direction of the payload.
        pub forward: Way,
        /// The other direction: ACKs, the request of a READ.
        pub reverse: Way,
        /// Bytes of payload.
        pub payload_bytes: u64,
        /// Payload among the bytes of its own direction: 0 to 1.
        pub efficiency_ratio: Option<f64>,
        /// Payload among the bytes of both directions: 0 to 1.
        pub efficiency_both_ratio: Option<f64>,
        /// What a link of the given speed carries of such messages.
        pub at_speed: Option<AtSpeed>,
        /// Packets in order; equal ones are one row.
        pub packets: Vec<Packets>,
    }

    /// One direction of a message.
    #[derive(Copy, Eq)]
    pub struct Way {
        /// Packets.
        pub packets: u64,
        /// Bytes on the wire.
        pub wire_bytes: u64,
        /// Bytes of all but payload.
        pub header_bytes: LayerBytes,
    }

    /// What a link carries when it is full of such messages.
    #[derive(Copy)]
    pub struct AtSpeed {
        /// Packets per second in the direction of the payload.
        pub packets_per_second: f64,
        /// Messages per second.
        pub messages_per_second: f64,
        /// Bits of payload per second.
        pub goodput_bps: f64,
    }

    /// Equal packets.
    #[derive(Eq)]
    pub struct Packets {
        /// The name of the operation code.
        pub opcode: Cow<'static, str>,
        /// How many there are.
        pub count: u64,
        /// Bytes of payload of each.
        pub payload_bytes: u32,
        /// Bytes on the wire of each.
        pub wire_bytes: u32,
        /// Whether they go in the direction of the payload.
        pub is_forward: bool,
    }
}
