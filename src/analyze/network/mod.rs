//! What the capture shows of the network itself, beside its flows: how fast links are, what their ports say in LLDP, and who paused whom.
//!
//! It is kept once, beside the tracker, which tells it of frames before any metric. Metrics are lent it.

mod dcbx;
mod interfaces;
mod lldp;
mod neighbors;
pub(crate) mod other_traffic;
mod passages;
pub(crate) mod pause;
pub(crate) mod priorities;
mod speeds;

use std::ops::Range;

use super::{
    model::{Event, FlowId, Options, Space},
    packet::Facts,
};
use crate::{report, wire::Kind};
use dcbx::Dcbx;
use interfaces::Interfaces;
use lldp::Heard;
use neighbors::Neighbors;
use other_traffic::OtherTraffic;
pub(crate) use passages::{Overtaken, Passage, Passages};
pub use pause::Paused;
pub(crate) use pause::Ways;
use pause::{PacketsAt, PauseRows, Pauses, Stop};
use priorities::Priorities;
pub(crate) use speeds::HostSpeeds;

/// The network, as far as the capture shows it.
#[derive(Clone, Debug, crate::stored::Stored)]
pub struct Network {
    pub(crate) interfaces: Interfaces,
    pub(crate) priorities: Priorities,
    dcbx: Dcbx,
    neighbors: Neighbors,
    pub(crate) passages: Passages,
    pub(crate) pauses: Pauses,
    pub(crate) other_traffic: OtherTraffic,
}

impl Network {
    pub(crate) fn new(options: &Options) -> Network {
        Network {
            interfaces: Interfaces::new(options.speed_bps),
            priorities: Priorities::new(options.qos.clone()),
            dcbx: Dcbx::default(),
            neighbors: Neighbors::default(),
            passages: Passages::default(),
            pauses: Pauses::new(options.storm, options.links.clone()),
            other_traffic: OtherTraffic::default(),
        }
    }

    /// The capture tells of an interface, or of its file.
    pub(crate) fn on_interface(&mut self, number: u16) {
        let (name, file) = (self.interfaces.name(number), self.interfaces.file(number));
        self.pauses.set_link(number, |link| link.is_tapped_by(&name, number, file));
    }

    /// A frame that is not of the transport. `on_pause` is called with each pause that it ended.
    #[inline]
    pub(crate) fn on_frame(&mut self, event: &Event<'_>, on_pause: &mut dyn FnMut(&Paused)) {
        if event.packet.has(Kind::MacControl) {
            let speed_bps = self.interfaces.speed_bps(event.record.interface);
            self.pauses.on_frame(event, speed_bps, on_pause);
            self.priorities.were_paused(self.pauses.asked());
        } else if event.packet.has(Kind::Lldp) {
            self.on_lldp(event);
        } else if event.packet.has(Kind::Ipv4) || event.packet.has(Kind::Ipv6) {
            self.other_traffic.on_frame(event.packet, event.record.time.0);
        }
    }

    #[cold]
    #[inline(never)]
    fn on_lldp(&mut self, event: &Event<'_>) {
        let layers = event.packet.layers();
        let Some(heard) = Heard::of(event, &layers) else { return };
        self.neighbors.take(&heard);
        if self.dcbx.take(&heard) {
            self.priorities.heard(self.dcbx.map());
        }
    }

    /// A packet of the transport with this frame number. `shows_congestion`: it is the first record of a mark, or a CNP.
    #[inline(always)]
    pub(crate) fn on_packet(&mut self, packet: &Facts, frame: u64, shows_congestion: bool) {
        if self.pauses.are_judged(packet.time()) {
            self.look_for_violation(packet, frame);
        }
        if shows_congestion {
            self.pauses.congested(packet.time());
        }
    }

    #[cold]
    #[inline(never)]
    fn look_for_violation(&mut self, packet: &Facts, frame: u64) {
        let interface = packet.interface();
        let Some(speed_bps) = self.interfaces.speed_bps(interface) else { return };
        let Some(ends) = packet.source().zip(packet.destination()) else { return };
        let place = (interface, self.priorities.of(packet.path_tag()));
        self.pauses.judge(place, speed_bps, (frame, packet.time()), ends);
    }

    /// The span of time around `time_ns` in which no packet needs to be seen by itself.
    pub(crate) fn span(&self, time_ns: i64) -> Range<i64> {
        self.pauses.span(time_ns)
    }

    /// A flow begins with this packet.
    pub(crate) fn begin(&mut self, flow: FlowId, packet: &Facts) {
        let from = sent_by(&self.pauses, packet);
        self.passages.begin(flow, packet.interface(), from);
    }

    /// A packet of requests or READ data that was recorded again in this frame, and, of requests, when it was recorded first, and the low bits of
    /// the interface that did. Returns what was known of its flow there before.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        flow: FlowId,
        (space, sent): (Space, Option<(i64, u8)>),
        (packet, frame): (&Facts, u64),
    ) -> Option<Passage> {
        let Network { passages, pauses, .. } = self;
        let ends = packet.source().zip(packet.destination());
        let from = |interface| ends.and_then(|(src, dst)| pauses.sent_by(interface, src, dst));
        passages.pass(flow, (space, sent), (packet, frame), from)
    }

    fn packets(&self, flow: FlowId, (interface, priority): (u16, u8)) -> PacketsAt {
        PacketsAt { interface, priority, from: self.passages.sent_by(flow, interface) }
    }

    /// Fills `stops` with the parts of a time in which this priority was paused on this interface, for packets of this flow, in the order of time.
    /// Only those of two senders overlap, where nobody knows which of them stop it. Without the link's speed nobody knows them, and there are
    /// none.
    pub(crate) fn stops_within(
        &self,
        flow: FlowId,
        place: (u16, u8),
        (from, to): (i64, i64),
        stops: &mut Vec<Stop>,
    ) {
        stops.clear();
        let place = self.packets(flow, place);
        self.pauses.within(place, (from, to), |interface| self.interfaces.speed_bps(interface), stops);
    }

    /// How long this priority was paused on this interface so far, for packets of this flow: by the source that did so most.
    pub(crate) fn asked_ns(&self, flow: FlowId, place: (u16, u8), now: i64) -> i64 {
        self.pauses.asked_ns(self.packets(flow, place), now)
    }

    /// Whether this priority was paused on this interface, and nobody knows for how long: the link's speed is not known.
    pub(crate) fn pauses_untimed(&self, flow: FlowId, place: (u16, u8)) -> bool {
        self.pauses.any_untimed(self.packets(flow, place), |interface| self.interfaces.speed_bps(interface))
    }

    /// Adds the parts of a time in which a flow was paused on the other links that it passes. They may overlap.
    pub(crate) fn add_stops_elsewhere(&self, flow: FlowId, from: i64, to: i64, stops: &mut Vec<Stop>) {
        for passage in self.passages.of(flow) {
            let place = (passage.interface, self.priorities.of(passage.path_tag));
            let mut more = Vec::new();
            self.stops_within(flow, place, (from, to), &mut more);
            stops.extend(more);
        }
    }

    /// The sections about pauses. `leaves_out`: a filter left frames out.
    pub(crate) fn pause_rows(
        &self,
        capture: &report::Capture,
        congestion: &report::Congestion,
        ways: &Ways,
        leaves_out: bool,
    ) -> PauseRows {
        self.pauses.report(&self.interfaces, &self.neighbors, capture, congestion, ways, leaves_out)
    }

    /// What the ports of links say of their priorities.
    pub(crate) fn dcbx_ports(&self) -> Vec<report::DcbxPort> {
        self.dcbx.rows(|number| self.interfaces.name(number))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.pauses.heap_bytes() + self.passages.heap_bytes() + self.other_traffic.heap_bytes()
    }

    /// The speed of an interface's link in bit/s: as the user gives it, or as the capture does.
    pub fn speed_bps(&self, interface: u16) -> Option<u64> {
        self.interfaces.speed_bps(interface)
    }
}

/// Which end of the link that it was captured on sent a packet, where the user's list of links tells.
fn sent_by(pauses: &Pauses, packet: &Facts) -> Option<u8> {
    let (src, dst) = packet.source().zip(packet.destination())?;
    pauses.sent_by(packet.interface(), src, dst)
}
