//! What do the headers cost, and what would the same packets cost in another encapsulation?
//!
//! Lengths are those that the packet's own fields state, not what was captured of it; headers of tunnels and mirrors
//! around the packet, MPLS labels among them, are not charged. A packet whose link header was not captured (raw IP,
//! Linux cooked) is charged an Ethernet header. Capture duplicates are not counted.

use super::{Metric, Placed, Verdict};
pub use crate::analyze::packet::l1_bytes;
use crate::{
    analyze::{
        model::{Class, Event},
        packet::Facts,
        table::run::RunSum,
    },
    dissect::Encapsulation,
    report::{Cost, LayerBytes, Overhead as Section, Price},
    wire::{Grh, Header, Ipv4, Kind},
    wire_cost::{self, Envelope, GAP, PREAMBLE, SHORTEST_FRAME},
};

/// The metric: sums over the packets of each encapsulation. Its size is constant: 600 bytes.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Overhead {
    sums: [Sums; Encapsulation::ALL.len()],
    mac_control: u64,
}

#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Sums {
    packets: u64,
    l1_bytes: u64,
    payload: u64,
    extended: u64,
    pad: u64,
    vlan: u64,
    /// Network headers, with options and extension headers.
    network: u64,
    /// Ethernet padding.
    padding: u64,
    /// Padding that the packets would have as RoCEv2 over IPv4, with the tags they have.
    padding_ipv4: u64,
    control: u64,
    retransmitted: u64,
}

const IPV4_LEN: u32 = Ipv4::LEN as u32;
/// A RoCEv2 frame over IPv4 that has nothing after its BTH, with its frame check sequence.
const PLAIN_IPV4: u32 = Envelope::new(Encapsulation::RoceV2Ipv4).fixed() - PREAMBLE - GAP;
/// Bytes that are free in the shortest frame.
const ROOM_IPV4: u32 = SHORTEST_FRAME - PLAIN_IPV4;

// No other encapsulation has frames that need padding.
const _: () = assert!(Envelope::new(Encapsulation::RoceV2Ipv6).fixed() >= PREAMBLE + SHORTEST_FRAME + GAP);
const _: () = assert!(Envelope::new(Encapsulation::RoceV1).fixed() >= PREAMBLE + SHORTEST_FRAME + GAP);

impl Metric for Overhead {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        if place.is_capture_duplicate() {
            return;
        }
        let (wrap, contents, network, l1_bytes) =
            (packet.encapsulation(), packet.contents(), packet.network(), packet.l1_bytes());
        let vlan = packet.vlan_bytes();
        let sums = &mut self.sums[wrap as usize];
        sums.packets += 1;
        sums.l1_bytes += l1_bytes as u64;
        sums.payload += contents.payload as u64;
        sums.extended += contents.extended as u64;
        if contents.pad + vlan > 0 {
            sums.pad += contents.pad as u64;
            sums.vlan += vlan as u64;
        }
        sums.network += network as u64;
        // What a packet states to be its length may be anything up to 2^32.
        let behind = vlan.saturating_add(contents.len());
        sums.padding_ipv4 += ROOM_IPV4.saturating_sub(behind) as u64;
        if wrap == Encapsulation::RoceV2Ipv4 {
            let frame = (PLAIN_IPV4 - IPV4_LEN).saturating_add(network).saturating_add(behind);
            sums.padding += SHORTEST_FRAME.saturating_sub(frame) as u64;
        }
        if place.is_control {
            sums.control += l1_bytes as u64;
        }
        if place.class == Some(Class::Retransmission) {
            sums.retransmitted += l1_bytes as u64;
        }
    }

    /// No packet of a run is so short that its frame is padded.
    fn on_run(&mut self, run: &RunSum) {
        let sums = &mut self.sums[run.encapsulation as usize];
        sums.packets += run.packets;
        sums.l1_bytes += run.l1_bytes;
        sums.payload += run.payload;
        sums.extended += run.extended;
        sums.pad += run.pad;
        sums.vlan += run.vlan;
        sums.network += run.network;
    }

    fn on_verdict(&mut self, verdict: &Verdict) {
        if verdict.class == Class::Retransmission {
            self.sums[verdict.encapsulation as usize].retransmitted += verdict.l1_bytes as u64;
        }
    }

    fn on_frame(&mut self, event: &Event<'_>) {
        if event.packet.has(Kind::MacControl) {
            self.mac_control += event.l1_bytes as u64;
        }
    }
}

impl Overhead {
    /// The report's section.
    pub fn section(&self) -> Section {
        let mut section = Section::default();
        for wrap in Encapsulation::ALL {
            let sums = &self.sums[wrap as usize];
            if sums.packets > 0 {
                let cost = sums.cost(wrap);
                section.total.add(&cost);
                section.encapsulations.insert(wrap.into(), cost);
            }
        }
        let l1: u64 = self.sums.iter().map(|sums| sums.l1_bytes).sum();
        let control: u64 = self.sums.iter().map(|sums| sums.control).sum();
        let retransmitted: u64 = self.sums.iter().map(|sums| sums.retransmitted).sum();
        section.total.efficiency_ratio = ratio(section.total.payload_bytes, l1);
        section.total.control_ratio = ratio(control + self.mac_control, l1 + self.mac_control);
        section.total.retransmit_ratio = ratio(retransmitted, l1);
        section
    }
}

impl Sums {
    fn cost(&self, wrap: Encapsulation) -> Cost {
        let price = |wrap| {
            let envelope = Envelope::new(wrap);
            let mut wire_bytes =
                envelope.fixed() as u64 * self.packets + self.payload + self.extended + self.pad;
            if envelope.is_ethernet() {
                wire_bytes += self.vlan;
            }
            if wrap == Encapsulation::RoceV2Ipv4 {
                wire_bytes += self.padding_ipv4;
            }
            Some(Price { wire_bytes, efficiency_ratio: ratio(self.payload, wire_bytes) })
        };
        Cost {
            packets: self.packets,
            wire_bytes: self.l1_bytes,
            payload_bytes: self.payload,
            header_bytes: self.layers(wrap),
            efficiency_ratio: ratio(self.payload, self.l1_bytes),
            as_native_ib: price(Encapsulation::Ib),
            as_native_ib_grh: price(Encapsulation::IbGrh),
            as_rocev1: price(Encapsulation::RoceV1),
            as_rocev2_ipv4: price(Encapsulation::RoceV2Ipv4),
            as_rocev2_ipv6: price(Encapsulation::RoceV2Ipv6),
            control_ratio: ratio(self.control, self.l1_bytes),
            retransmit_ratio: ratio(self.retransmitted, self.l1_bytes),
        }
    }

    fn layers(&self, wrap: Encapsulation) -> LayerBytes {
        let n = self.packets;
        let one = Envelope::new(wrap).layers(wire_cost::Contents { extended: 4, payload: 0, pad: 0 });
        let is_grh = one.grh > 0;
        LayerBytes {
            preamble_ifg: n * one.preamble_ifg,
            ethernet: n * one.ethernet,
            vlan: self.vlan,
            ip: if is_grh { 0 } else { self.network },
            udp: n * one.udp,
            lrh: n * one.lrh,
            grh: if is_grh { n * Grh::LEN as u64 } else { 0 },
            bth: n * one.bth,
            extended: self.extended,
            pad: self.pad,
            icrc: n * one.icrc,
            fcs: n * one.fcs,
            vcrc: n * one.vcrc,
            padding: self.padding,
        }
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Cost {
    /// Adds another's packets and bytes; the ratios of prices follow, the others do not.
    fn add(&mut self, other: &Cost) {
        self.packets += other.packets;
        self.wire_bytes += other.wire_bytes;
        self.payload_bytes += other.payload_bytes;
        self.header_bytes += other.header_bytes;
        let payload = self.payload_bytes;
        for (mine, theirs) in [
            (&mut self.as_native_ib, other.as_native_ib),
            (&mut self.as_native_ib_grh, other.as_native_ib_grh),
            (&mut self.as_rocev1, other.as_rocev1),
            (&mut self.as_rocev2_ipv4, other.as_rocev2_ipv4),
            (&mut self.as_rocev2_ipv6, other.as_rocev2_ipv6),
        ] {
            let mine = mine.get_or_insert_default();
            mine.wire_bytes += theirs.map_or(0, |price| price.wire_bytes);
            mine.efficiency_ratio = ratio(payload, mine.wire_bytes);
        }
    }
}
