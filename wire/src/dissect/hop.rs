//! What switches wrote into a packet on its way, by hop.

use super::{Dissection, Layers};
use crate::{named, wire::*};

named! {
    /// How switches write into packets.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Telemetry {
        /// Inband flow analyzer.
        Ifa "IFA",
        /// P4's inband network telemetry.
        Int "INT",
        /// Congestion signaling: one value of the whole path.
        Csig "CSIG",
    }
}

/// What one switch wrote. `None`: it wrote no such value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// The switch.
    pub device: Option<u32>,
    /// The IP header's time to live there.
    pub ttl: Option<u8>,
    /// The port by which the packet came.
    pub ingress: Option<u32>,
    /// The port by which it left.
    pub egress: Option<u32>,
    /// The egress queue.
    pub queue: Option<u8>,
    /// How long the packet was in the switch: nanoseconds; of INT as the domain defines it, as a rule nanoseconds.
    pub delay: Option<u32>,
    /// How much was in the queue, in units of the switch.
    pub queue_depth: Option<u32>,
    /// Whether the packet left with a mark of congestion.
    pub is_marked: Option<bool>,
}

/// The hops that wrote into a packet, as they stand in it: with IFA and INT the last one first.
pub struct Hops<'a> {
    frame: &'a [u8],
    layers: Layers,
    next: usize,
}

impl Dissection<'_> {
    /// What switches wrote into the packet, by hop. Most packets have nothing of that kind.
    pub fn hops(&self) -> Hops<'_> {
        let layers = if self.has_telemetry() { self.layers() } else { Layers::default() };
        Hops { frame: self.frame(), layers, next: 0 }
    }

    /// How switches wrote into the packet, if they did.
    pub fn telemetry(&self) -> Option<Telemetry> {
        if !self.has_telemetry() {
            return None;
        }
        self.layers().iter().rev().find_map(|layer| {
            Some(match layer.kind {
                Kind::IfaHop => Telemetry::Ifa,
                Kind::CsigTag => Telemetry::Csig,
                kind if kind.is_telemetry() => Telemetry::Int,
                _ => return None,
            })
        })
    }
}

impl Iterator for Hops<'_> {
    type Item = Hop;

    fn next(&mut self) -> Option<Hop> {
        let is_value = |kind: Kind| kind.is_telemetry() && kind != Kind::CsigTag;
        let (mut hop, mut last) = (None::<Hop>, None::<Kind>);
        while let Some(layer) = self.layers.get(self.next) {
            // The values of a hop have one order. The first one again is another hop's.
            if last.is_some_and(|last| layer.kind <= last) || hop.is_some() && !is_value(layer.kind) {
                break;
            }
            self.next += 1;
            if is_value(layer.kind) {
                let bytes = self.frame.get(layer.at as usize..).unwrap_or(&[]);
                hop.get_or_insert_default().read(layer.kind, bytes);
                last = Some(layer.kind);
            }
        }
        hop
    }
}

impl Hop {
    fn read(&mut self, kind: Kind, bytes: &[u8]) {
        match kind {
            Kind::IfaHop => {
                if let Some((hop, _)) = IfaHop::view(bytes) {
                    *self = Hop {
                        device: Some(hop.device_id()),
                        ttl: Some(hop.ttl()),
                        ingress: Some(hop.ingress_port().into()),
                        egress: Some(hop.egress_port().into()),
                        queue: Some(hop.queue()),
                        delay: Some(hop.residence_ns()),
                        queue_depth: Some(hop.queue_depth().into()),
                        is_marked: Some(hop.congestion() == Ecn::CE),
                    };
                }
            }
            Kind::IntNode => self.device = IntNode::view(bytes).map(|(value, _)| value.node()),
            Kind::IntPorts => {
                let ports = IntPorts::view(bytes).map(|(value, _)| value);
                self.ingress = ports.map(|ports| ports.ingress_port().into());
                self.egress = ports.map(|ports| ports.egress_port().into());
            }
            Kind::IntDelay => self.delay = IntDelay::view(bytes).map(|(value, _)| value.delay()),
            Kind::IntQueue => {
                let queue = IntQueue::view(bytes).map(|(value, _)| value);
                self.queue = queue.map(IntQueue::queue);
                self.queue_depth = queue.map(IntQueue::queue_depth);
            }
            _ => {}
        }
    }
}
