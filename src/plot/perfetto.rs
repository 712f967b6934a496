//! The timeline as a trace for ui.perfetto.dev: protobuf, as in Perfetto's `perfetto_trace.proto`.
//!
//! Tracks are host ▸ peer ▸ queue pair. Below a queue pair: its messages as slices, on as many tracks as overlap; recovery and waits
//! as slices; losses, NAKs, retransmissions, marks and CNPs as instants; goodput and outstanding requests as counters. Arrows go from a loss
//! to its NAK and to its retransmission. Collectives have tracks of their own. Times are UTC. The queue pair's number is also the argument `qpNum` of each event, as in the traces of
//! NCCL's profiler, so that both can be joined.

mod collective;

use std::{
    collections::HashMap,
    io::{self, Write},
};

use crate::{
    analyze::metric::{
        bit_rate,
        timeline::{Axis, FlowTimeline, Kind, Measured, Timeline, What},
    },
    in_order::InOrder,
    report::{View, clean},
    wire::Psn,
};

/// Tracks of messages of one flow, at most. A message for which there is no room is left out.
const LANES: usize = 16;
/// Arrows have numbers of their own.
type Arrow = u64;

/// Writes the trace of these flows of a report. Returns how many messages found no room.
///
/// # Errors
/// What the output says.
pub fn write(
    report: &View<'_>,
    timeline: &Timeline,
    flows: &[usize],
    out: &mut dyn Write,
) -> io::Result<u64> {
    let first = report.head.capture.first_ns.unwrap_or(0);
    let mut trace = Trace { out, tracks: 0, arrows: 0, left_out: 0 };
    trace.clock(first)?;
    let mut hosts: HashMap<String, u64> = HashMap::new();
    let mut peers: HashMap<(String, String), u64> = HashMap::new();
    for picture in flows.iter().filter_map(|at| timeline.flow(report, *at)) {
        let (src, dst) = (picture.flow.src.clone(), picture.flow.dst.clone());
        let host = match hosts.get(&src) {
            Some(host) => *host,
            None => *hosts.entry(src.clone()).or_insert(trace.track(
                None,
                &format!("host {}", clean(&src)),
                None,
            )?),
        };
        let peer = match peers.get(&(src.clone(), dst.clone())) {
            Some(peer) => *peer,
            None => {
                let track = trace.track(Some(host), &format!("to {}", clean(&dst)), None)?;
                *peers.entry((src, dst)).or_insert(track)
            }
        };
        trace.flow(peer, &picture)?;
    }
    if let Some(found) = &report.head.collectives {
        trace.collectives(found)?;
    }
    let pauses = timeline.pauses();
    if !pauses.is_empty() {
        let all = trace.track(None, "pauses", None)?;
        let mut of = None;
        for paused in &pauses {
            let key = (paused.interface, paused.sender, paused.priority);
            let track = match of {
                Some((same, track)) if same == key => track,
                _ => {
                    let priority = paused.priority.map_or("all".to_owned(), |n| format!("priority {n}"));
                    let name = format!("if{} {} {priority}", paused.interface, paused.sender);
                    trace.track(Some(all), &name, None)?
                }
            };
            of = Some((key, track));
            let arguments = [("frames", paused.frames)];
            trace.slice(track, "pause", (paused.start_ns, paused.end_ns), &arguments)?;
        }
    }
    Ok(trace.left_out)
}

/// Whether bytes are the beginning of a trace that this program wrote: a packet with a snapshot of clocks, of which BOOTTIME is the first.
pub fn is_trace(first: &[u8]) -> bool {
    const BYTES: u64 = 2;
    let tag = |field: u64| (field << 3 | BYTES) as u8;
    let [packet, _, snapshot, _, clock, _, id, value, ..] = *first else { return false };
    [packet, snapshot, clock]
        == [field::TRACE_PACKET, field::PACKET_CLOCK_SNAPSHOT, field::SNAPSHOT_CLOCK].map(tag)
        && [id, value] == [(field::CLOCK_ID << 3) as u8, BOOTTIME as u8]
}

/// Protobuf's encoding: a message as its bytes.
#[derive(Clone, Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(mut value: u64, into: &mut Vec<u8>) {
        while value >= 0x80 {
            into.push(value as u8 | 0x80);
            value >>= 7;
        }
        into.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Message {
        Message::varint(field << 3, &mut self.0);
        Message::varint(value, &mut self.0);
        self
    }

    fn fixed(mut self, field: u64, value: u64) -> Message {
        Message::varint(field << 3 | 1, &mut self.0);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Message {
        Message::varint(field << 3 | 2, &mut self.0);
        Message::varint(value.len() as u64, &mut self.0);
        self.0.extend(value);
        self
    }
}

/// The names of the fields' numbers in `perfetto_trace.proto`.
mod field {
    pub(super) const TRACE_PACKET: u64 = 1;
    pub(super) const PACKET_CLOCK_SNAPSHOT: u64 = 6;
    pub(super) const PACKET_TIMESTAMP: u64 = 8;
    pub(super) const PACKET_SEQUENCE: u64 = 10;
    pub(super) const PACKET_EVENT: u64 = 11;
    pub(super) const PACKET_SEQUENCE_FLAGS: u64 = 13;
    pub(super) const PACKET_CLOCK: u64 = 58;
    pub(super) const PACKET_TRACK: u64 = 60;
    pub(super) const SNAPSHOT_CLOCK: u64 = 1;
    pub(super) const SNAPSHOT_PRIMARY: u64 = 2;
    pub(super) const CLOCK_ID: u64 = 1;
    pub(super) const CLOCK_TIME: u64 = 2;
    pub(super) const TRACK_UUID: u64 = 1;
    pub(super) const TRACK_NAME: u64 = 2;
    pub(super) const TRACK_PARENT: u64 = 5;
    pub(super) const TRACK_COUNTER: u64 = 8;
    pub(super) const COUNTER_UNIT: u64 = 6;
    pub(super) const EVENT_ARGUMENT: u64 = 4;
    pub(super) const EVENT_TYPE: u64 = 9;
    pub(super) const EVENT_TRACK: u64 = 11;
    pub(super) const EVENT_NAME: u64 = 23;
    pub(super) const EVENT_COUNT: u64 = 30;
    pub(super) const EVENT_ARROW: u64 = 47;
    pub(super) const EVENT_ARROW_END: u64 = 48;
    pub(super) const ARGUMENT_VALUE: u64 = 3;
    pub(super) const ARGUMENT_NAME: u64 = 10;
}

/// `ClockSnapshot.Clock.BuiltinClocks`.
const REALTIME: u64 = 1;
const BOOTTIME: u64 = 6;
/// The one sequence of packets, and its first packet's flag.
const SEQUENCE: u64 = 1;
const STATE_CLEARED: u64 = 1;

/// `TrackEvent.Type`.
#[derive(Clone, Copy)]
enum Type {
    Begin = 1,
    End = 2,
    Instant = 3,
    Counter = 4,
}

/// The trace being written.
struct Trace<'a> {
    out: &'a mut dyn Write,
    tracks: u64,
    arrows: Arrow,
    left_out: u64,
}

impl Trace<'_> {
    fn packet(&mut self, packet: &Message) -> io::Result<()> {
        let packet = packet.clone().number(field::PACKET_SEQUENCE, SEQUENCE);
        self.out.write_all(&Message::default().bytes(field::TRACE_PACKET, &packet.0).0)
    }

    /// The trace's time is UTC: both clocks show it.
    fn clock(&mut self, ns: i64) -> io::Result<()> {
        let clock =
            |id| Message::default().number(field::CLOCK_ID, id).number(field::CLOCK_TIME, ns.max(0) as u64);
        let snapshot = Message::default()
            .bytes(field::SNAPSHOT_CLOCK, &clock(BOOTTIME).0)
            .bytes(field::SNAPSHOT_CLOCK, &clock(REALTIME).0)
            .number(field::SNAPSHOT_PRIMARY, REALTIME);
        let packet = Message::default()
            .bytes(field::PACKET_CLOCK_SNAPSHOT, &snapshot.0)
            .number(field::PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
        self.packet(&packet)
    }

    /// A new track: below another one, and with a unit, if it is a counter.
    fn track(&mut self, parent: Option<u64>, name: &str, unit: Option<&str>) -> io::Result<u64> {
        self.tracks += 1;
        let mut track = Message::default()
            .number(field::TRACK_UUID, self.tracks)
            .bytes(field::TRACK_NAME, name.as_bytes());
        if let Some(parent) = parent {
            track = track.number(field::TRACK_PARENT, parent);
        }
        if let Some(unit) = unit {
            let counter = Message::default().bytes(field::COUNTER_UNIT, unit.as_bytes());
            track = track.bytes(field::TRACK_COUNTER, &counter.0);
        }
        self.packet(&Message::default().bytes(field::PACKET_TRACK, &track.0))?;
        Ok(self.tracks)
    }

    fn event(&mut self, ns: i64, event: &Message) -> io::Result<()> {
        let packet = Message::default()
            .number(field::PACKET_TIMESTAMP, ns.max(0) as u64)
            .number(field::PACKET_CLOCK, REALTIME)
            .bytes(field::PACKET_EVENT, &event.0);
        self.packet(&packet)
    }

    fn slice(
        &mut self,
        track: u64,
        name: &str,
        (from, to): (i64, i64),
        arguments: &[(&str, u64)],
    ) -> io::Result<()> {
        self.event(from, &event(Type::Begin, track, name, arguments))?;
        let end = Message::default().number(field::EVENT_TYPE, Type::End as u64);
        self.event(to.max(from), &end.number(field::EVENT_TRACK, track))
    }

    fn counter(&mut self, track: u64, ns: i64, value: u64) -> io::Result<()> {
        let event = Message::default().number(field::EVENT_TYPE, Type::Counter as u64);
        self.event(ns, &event.number(field::EVENT_TRACK, track).number(field::EVENT_COUNT, value))
    }

    fn flow(&mut self, peer: u64, picture: &FlowTimeline<'_>) -> io::Result<()> {
        let qp = picture.flow.dest_qp;
        let name = match picture.flow.peer_qp {
            Some(from) => format!("QP {qp:#x} (qpNum {from} to {qp})"),
            None => format!("QP {qp:#x} (to qpNum {qp})"),
        };
        // NCCL names the queue pair of the sender.
        let number = ("qpNum", picture.flow.peer_qp.unwrap_or(qp) as u64);
        let own = self.track(Some(peer), &name, None)?;
        self.messages(own, picture, number)?;
        if !picture.episodes.is_empty() {
            let track = self.track(Some(own), "recovery", None)?;
            // Episodes of a flow follow each other, but for those of its two PSN spaces.
            let mut free = i64::MIN;
            for episode in &picture.episodes {
                let end = episode.start_ns.saturating_add(episode.recovered_ns.map_or(0, |ns| ns as i64));
                let from = episode.start_ns.max(free);
                free = end.max(from);
                let arguments = [
                    number,
                    ("psn", episode.lost_psn as u64),
                    ("retransmitted packets", episode.retransmitted_packets),
                    ("first frame", episode.first_retransmit_frame),
                ];
                let name = format!("recovery: {}, lost {}", episode.trigger, episode.location);
                self.slice(track, &name, (from, free), &arguments)?;
            }
        }
        if !picture.waits.is_empty() {
            let track = self.track(Some(own), "receiver not ready", None)?;
            for wait in &picture.waits {
                let end = wait.end_ns.unwrap_or(wait.start_ns);
                let arguments =
                    [number, ("psn", wait.psn as u64), ("asked ns", wait.asked_ns), ("frame", wait.frame)];
                self.slice(track, "RNR wait", (wait.start_ns, end), &arguments)?;
            }
        }
        self.instants(own, picture, number)?;
        if let Some(axis) = picture.axis {
            let (bins, width_ns) = picture.line.bins.get();
            let axis = Axis { width_ns, ..axis };
            let track = self.track(Some(own), "goodput", Some("bit/s"))?;
            let mut end = None;
            for bin in bins {
                if let Some(end) = end.filter(|end| *end < bin.at) {
                    self.counter(track, axis.start_ns(end), 0)?;
                }
                self.counter(
                    track,
                    axis.start_ns(bin.at),
                    bit_rate(bin.goodput_bytes, width_ns.unsigned_abs()),
                )?;
                end = Some(bin.at + 1);
            }
            if let Some(end) = end {
                self.counter(track, axis.start_ns(end), 0)?;
            }
        }
        if !picture.outstanding.is_empty() {
            let track = self.track(Some(own), "outstanding", Some("packets"))?;
            for (ns, packets) in &picture.outstanding {
                self.counter(track, *ns, *packets as u64)?;
            }
        }
        Ok(())
    }

    /// Messages overlap: each is on the first track that is free.
    fn messages(&mut self, own: u64, picture: &FlowTimeline<'_>, number: (&str, u64)) -> io::Result<()> {
        let mut messages: Vec<Measured> = picture.line.latency[What::Message as usize].samples().to_vec();
        messages.order_by_key(|message| (message.from_ns, message.to_ns));
        let mut lanes: Vec<(u64, i64)> = Vec::new();
        for message in &messages {
            let free = lanes.iter().position(|(_, busy)| *busy <= message.from_ns);
            let lane = match free {
                Some(lane) => lane,
                None if lanes.len() < LANES => {
                    let track = self.track(Some(own), "messages", None)?;
                    lanes.push((track, i64::MIN));
                    lanes.len() - 1
                }
                None => {
                    self.left_out += 1;
                    continue;
                }
            };
            let (track, busy) = &mut lanes[lane];
            *busy = message.to_ns;
            let (track, arguments) = (*track, [number, ("last psn", message.psn as u64)]);
            self.slice(track, "message", (message.from_ns, message.to_ns), &arguments)?;
        }
        Ok(())
    }

    /// Losses, and the NAKs and retransmissions that arrows lead to; then all other events.
    fn instants(&mut self, own: u64, picture: &FlowTimeline<'_>, number: (&str, u64)) -> io::Result<()> {
        let mut naks: HashMap<u64, Vec<Arrow>> = HashMap::new();
        let mut resends: Vec<(i64, u32, Arrow)> = Vec::new();
        let mut events: Vec<(i64, Message)> = Vec::new();
        let tracks = [self.track(Some(own), "losses", None)?, self.track(Some(own), "events", None)?];
        for loss in &picture.losses {
            self.arrows += 1;
            let name = format!("loss {}", loss.place.name());
            let arguments = [number, ("psn", loss.psn as u64), ("packets", loss.packets as u64)];
            let mut event = event(Type::Instant, tracks[0], &name, &arguments);
            if loss.nak.is_some() || loss.resent.is_some() {
                event = event.fixed(field::EVENT_ARROW, self.arrows);
            }
            events.push((loss.ns, event));
            if let Some((_, frame)) = loss.nak {
                naks.entry(frame).or_default().push(self.arrows);
            }
            if let Some((ns, _)) = loss.resent {
                resends.push((ns, loss.psn, self.arrows));
            }
        }
        for (ns, psn, arrow) in resends {
            let arguments = [number, ("psn", psn as u64)];
            let resend = event(Type::Instant, tracks[1], "first retransmission", &arguments);
            events.push((ns, resend.fixed(field::EVENT_ARROW_END, arrow)));
        }
        let back = picture.back.into_iter().flat_map(|back| back.events.stretches());
        let back = back.filter(|event| matches!(event.kind, Kind::Nak | Kind::RnrNak | Kind::Cnp));
        let own = picture.line.events.stretches().iter();
        let is_told =
            |kind| matches!(kind, Kind::Again | Kind::Late | Kind::Ce | Kind::Corrupt | Kind::Trimmed);
        let own = own.filter(|event| is_told(event.kind));
        for stretch in back.chain(own) {
            let arguments = [
                number,
                ("psn", Psn(stretch.from_psn).0 as u64),
                ("packets", stretch.packets as u64),
                ("frame", stretch.frame),
            ];
            let mut event = event(Type::Instant, tracks[1], stretch.kind.name(), &arguments);
            for arrow in naks.remove(&stretch.frame).into_iter().flatten() {
                event = event.fixed(field::EVENT_ARROW, arrow);
            }
            events.push((stretch.from_ns, event));
        }
        // A stable order: a loss comes before its NAK, and that before its retransmission.
        events.order_by_key(|(ns, _)| *ns);
        events.iter().try_for_each(|(ns, event)| self.event(*ns, event))
    }
}

fn event(kind: Type, track: u64, name: &str, arguments: &[(&str, u64)]) -> Message {
    let event = Message::default().number(field::EVENT_TYPE, kind as u64).number(field::EVENT_TRACK, track);
    arguments.iter().fold(event.bytes(field::EVENT_NAME, name.as_bytes()), |event, (name, value)| {
        let argument = Message::default().bytes(field::ARGUMENT_NAME, name.as_bytes());
        event.bytes(field::EVENT_ARGUMENT, &argument.number(field::ARGUMENT_VALUE, *value).0)
    })
}
