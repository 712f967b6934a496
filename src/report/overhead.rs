//! What headers cost.

use std::collections::BTreeMap;

use super::{
    Encapsulation,
    units::{bytes, percent},
};

records! {
    /// What headers cost over the whole capture.
    pub struct Overhead {
        /// All packets of the transport.
        pub total: Cost,
        /// Packets by what carries them.
        pub encapsulations: BTreeMap<Encapsulation, Cost>,
    }

    /// What the headers of some packets cost.
    pub struct Cost {
        /// Packets; recorded copies do not count.
        pub packets: u64,
        /// Bytes on the wire, with preamble, frame check sequence and inter-frame gap.
        pub wire_bytes: u64,
        /// Bytes of RDMA payload.
        pub payload_bytes: u64,
        /// Bytes of all else.
        pub header_bytes: LayerBytes,
        /// Payload among the bytes on the wire: 0 to 1.
        pub efficiency_ratio: Option<f64>,
        /// The packets as native InfiniBand within a subnet.
        pub as_native_ib: Option<Price>,
        /// The packets as native InfiniBand between subnets.
        pub as_native_ib_grh: Option<Price>,
        /// The packets as RoCE version 1.
        pub as_rocev1: Option<Price>,
        /// The packets as RoCEv2 over IPv4.
        pub as_rocev2_ipv4: Option<Price>,
        /// The packets as RoCEv2 over IPv6.
        pub as_rocev2_ipv6: Option<Price>,
        /// Bytes of ACKs, CNPs and MAC control frames among the bytes on the wire: 0 to 1.
        pub control_ratio: Option<f64>,
        /// Bytes of retransmissions among the bytes on the wire: 0 to 1.
        pub retransmit_ratio: Option<f64>,
    }

    /// The packets in another encapsulation.
    #[derive(Copy)]
    pub struct Price {
        /// Bytes on the wire.
        pub wire_bytes: u64,
        /// Payload among them: 0 to 1.
        pub efficiency_ratio: Option<f64>,
    }
}

impl Overhead {
    /// What is payload, here and in other encapsulations, in a sentence.
    pub fn sentence(&self) -> String {
        let total = &self.total;
        let Some(efficiency) = total.efficiency_ratio else { return "no RDMA packets".into() };
        let mut text =
            format!("{} of {} on the wire are payload", percent(efficiency), bytes(total.wire_bytes));
        let others = [
            ("native IB", total.as_native_ib),
            ("IB with GRH", total.as_native_ib_grh),
            ("RoCE v1", total.as_rocev1),
            ("RoCEv2/IPv4", total.as_rocev2_ipv4),
            ("RoCEv2/IPv6", total.as_rocev2_ipv6),
        ];
        let others: Vec<String> = others
            .iter()
            .filter_map(|(name, price)| Some(format!("{name} {}", percent((*price)?.efficiency_ratio?))))
            .collect();
        if !others.is_empty() {
            text += &format!("; the same packets as {}", others.join(", "));
        }
        for (ratio, what) in
            [(total.control_ratio, "ACKs, CNPs and pauses"), (total.retransmit_ratio, "retransmissions")]
        {
            if let Some(ratio) = ratio.filter(|&ratio| ratio > 0.0) {
                text += &format!("; {what} take {}", percent(ratio));
            }
        }
        text
    }
}

/// Layers of a frame, outermost first, each with its bytes.
macro_rules! layer_bytes {
    ($($(#[doc = $doc:literal])+ $layer:ident,)+) => {
        records! {
            /// Bytes of each layer but the payload, outermost first.
            #[derive(Copy, Eq)]
            pub struct LayerBytes {
                $($(#[doc = $doc])+ pub $layer: u64,)+
            }
        }

        impl LayerBytes {
            /// Name and bytes of every layer, outermost first.
            pub fn rows(&self) -> [(&'static str, u64); [$(stringify!($layer)),+].len()] {
                [$((stringify!($layer), self.$layer)),+]
            }

            /// Bytes of all layers.
            pub fn total(&self) -> u64 {
                self.rows().iter().map(|(_, bytes)| bytes).sum()
            }

            /// The bytes of so many such packets.
            #[must_use]
            pub fn times(self, n: u64) -> LayerBytes {
                LayerBytes { $($layer: self.$layer * n),+ }
            }
        }

        impl std::ops::AddAssign for LayerBytes {
            fn add_assign(&mut self, other: LayerBytes) {
                $(self.$layer += other.$layer;)+
            }
        }
    };
}

layer_bytes! {
    /// Ethernet preamble, start delimiter and inter-frame gap.
    preamble_ifg,
    /// Ethernet header.
    ethernet,
    /// VLAN tags.
    vlan,
    /// IP header, options and extension headers included.
    ip,
    /// UDP header.
    udp,
    /// Local route header.
    lrh,
    /// Global route header.
    grh,
    /// Base transport header.
    bth,
    /// Extended transport headers.
    extended,
    /// Padding of the payload to a multiple of four bytes.
    pad,
    /// Invariant CRC.
    icrc,
    /// Ethernet frame check sequence.
    fcs,
    /// Variant CRC of native InfiniBand.
    vcrc,
    /// Padding of short frames to Ethernet's minimum.
    padding,
}
