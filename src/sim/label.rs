//! The truth about each recorded frame, from what the simulated sender, network and tap did.
//!
//! The terms are defined so:
//!
//! * **Retransmission**: the sender had sent this PSN in this space before ([`Transmission::ordinal`] above 1),
//!   whether or not an earlier one reached the tap. A READ request takes as many PSNs as its response has packets, so a
//!   READ retransmitted from its middle is a retransmission. So is one that is overtaken. Of responses, only READ responses
//!   can be retransmissions: a repeated acknowledgement and a replayed atomic acknowledge are none.
//! * **Evident**: a PSN of this space at or above the retransmitted one had been recorded before. If neither the first
//!   transmission nor any later PSN reached the tap, the retransmission looks new to every observer there, and
//!   [`Label::evident`] is false.
//! * **Late original**: a first transmission that was overtaken: a higher PSN of its space was recorded before it, or its
//!   own retransmission. Frames with a bad ICRC do not count as overtaking.
//! * **New after a gap**: a first transmission above the next expected PSN. Those between took other paths, were lost
//!   before the tap or by the capture, or are late.
//! * **Capture duplicate**: a transmission that was recorded before. A mirror copied it twice, or the network duplicated
//!   it before the tap: the frames are equal, so no observer at the tap can tell these apart. If the first copy was not
//!   recorded, there is no duplicate.
//! * **Corrupt**: damaged before the tap, whatever else the frame is; so are both recordings of a damaged one. Its
//!   transmission does not count as recorded. Only bits after the headers are flipped, so its flow and PSN are true.
//! * **Gap PSNs**: PSNs between the lowest and the highest recorded one that the sender used and no good frame had. In
//!   the response space, only PSNs with a response count.
//! * **Lost**: a transmission of which no good copy was delivered. One damaged before the tap is `corrupt`; one damaged
//!   or dropped after it is lost downstream. Packets still on their way at the end are neither.
//! * **Before**, of two bonded links with clocks apart ([`Tap::bond_ahead`](super::Tap::bond_ahead)): in the record, whose order is that of
//!   the stamps. Nothing at the tap tells in which order packets of two links passed. Elsewhere: in which order they passed.
//! * **Episode**: one rewind of a requester, or one gap that a selective requester fills.

use std::collections::BTreeMap;

use super::{
    engine::{Cause, Episode, Journey, NONE, Run, Transmission},
    network::NOWHERE,
    qp::is_sequenced,
};
use crate::{
    named,
    opcode::{Direction, Operation, Service},
};

named! {
    /// The class of a frame.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Class {
        /// The next in its space, and never sent before.
        #[default]
        New "new",
        /// Never sent before, but PSNs before it are missing.
        NewAfterGap "new_after_gap",
        /// Sent before.
        Retransmission "retransmission",
        /// Never sent before, and overtaken.
        LateOriginal "late_original",
        /// Recorded before.
        CaptureDuplicate "capture_duplicate",
        /// Damaged before the tap.
        Corrupt "corrupt",
        /// Trimmed by a switch before the tap.
        Trimmed "trimmed",
        /// An acknowledgement.
        Ack "ack",
        /// A sequence NAK or an error.
        Nak "nak",
        /// An RNR NAK.
        Rnr "rnr",
        /// A congestion notification.
        Cnp "cnp",
        /// A datagram: its PSN proves nothing.
        Datagram "datagram",
        /// Connection management.
        Management "management",
        /// PAUSE or PFC.
        Pause "pause",
        /// LLDP.
        Lldp "lldp",
    }
}

/// The truth about a frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Label {
    /// The class.
    pub class: Class,
    /// Its PSN space; `None` for notifications and pauses, which have none.
    pub space: Option<Direction>,
    /// Its flow: an index into [`Run::flows`].
    pub flow: Option<u32>,
    /// Why it was sent.
    pub cause: Cause,
    /// The number of this transmission among those of its PSN, from 1.
    pub ordinal: u16,
    /// The number, from 1, of the earlier frame that first had its PSN, if there is one.
    pub original: Option<u32>,
    /// Lost or damaged between the tap and its receiver.
    pub lost_downstream: bool,
    /// A retransmission whose acknowledgement had been recorded before it.
    pub spurious: bool,
    /// A retransmission of what its receiver had already accepted.
    pub needless: bool,
    /// A higher or the same PSN had been recorded before.
    pub evident: bool,
    /// An acknowledgement that a later one overtook. It keeps its class.
    pub late: bool,
}

impl Label {
    fn new(class: Class) -> Label {
        Label { class, ordinal: 1, ..Label::default() }
    }

    /// Whether it is a retransmission.
    pub fn is_retransmission(&self) -> bool {
        self.class == Class::Retransmission
    }
}

/// What an observer at the tap can prove, and the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TruthBounds {
    /// What can be proved: at least this.
    pub least: u64,
    /// The truth: at most this.
    pub most: u64,
}

/// The truth about one PSN space of a flow.
#[derive(Clone, Debug, Default)]
pub struct SpaceTruth {
    /// Recorded frames.
    pub packets: u64,
    /// Retransmissions: evident ones, and all.
    pub retransmits: TruthBounds,
    /// Late originals.
    pub out_of_order: u64,
    /// ACKs and NAKs that a later one overtook. They have no class of their own.
    pub late_acks: u64,
    /// Capture duplicates.
    pub capture_duplicates: u64,
    /// Gap PSNs.
    pub gap_psns: u64,
    /// Payload of retransmissions.
    pub retransmitted_bytes: TruthBounds,
    /// Episodes after a NAK: those with an evident retransmission, and all.
    pub nak: TruthBounds,
    /// Episodes after a timeout.
    pub timeout: TruthBounds,
    /// Episodes after an RNR NAK.
    pub rnr: TruthBounds,
    /// Episodes after an implied NAK.
    pub implied_nak: TruthBounds,
    /// Lost between sender and tap: those at whose PSN the capture shows a gap, and all.
    pub upstream: TruthBounds,
    /// Lost between tap and receiver.
    pub downstream: u64,
    /// READ responses that arrived when their requester had asked for them again, or in front of what it lacked. Nobody answers a response:
    /// no capture tells such a one from one that was lost behind the tap.
    pub of_no_use: u64,
    /// Lost ACKs and NAKs for this space: those that led to a timeout, and all.
    pub ack_path: TruthBounds,
    /// Damaged before the tap, and recorded.
    pub corrupt: u64,
    /// Trimmed before the tap, and recorded.
    pub trimmed: u64,
    /// Not recorded, and not lost before the tap: lost by the capture, or on another path.
    pub capture: u64,
}

/// The truth about a flow.
#[derive(Clone, Debug, Default)]
pub struct FlowTruth {
    /// Recorded frames.
    pub packets: u64,
    /// Payload bytes in them.
    pub payload_bytes: u64,
    /// The sender's requests.
    pub requests: SpaceTruth,
    /// The sender's responses to requests of its peer.
    pub responses: SpaceTruth,
    /// ACKs.
    pub acks: u64,
    /// NAKs by code.
    pub naks: [u64; 5],
    /// RNR NAKs.
    pub rnr_naks: u64,
    /// Congestion notifications.
    pub cnps: u64,
    /// Packets marked ECT(0) or ECT(1), but for those that are marked CE where they were recorded again.
    pub ecn_ect: u64,
    /// Packets marked CE, wherever they were recorded.
    pub ecn_ce: u64,
    /// Frames with a bad ICRC.
    pub icrc_bad: u64,
    /// Of those with a bad ICRC: payload bytes, ECT and CE.
    pub bad: [u64; 3],
}

/// The truth about a tap's capture.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Of each frame, in order.
    pub frames: Vec<Label>,
    /// Of each flow, as in [`Run::flows`].
    pub flows: Vec<FlowTruth>,
}

/// What has been recorded of a space.
#[derive(Clone, Debug, Default)]
struct Space {
    start: u64,
    /// The first frame with each PSN; 0: none.
    frames: Vec<u32>,
    /// First transmission of each PSN.
    first: Vec<u32>,
    low: Option<u64>,
    /// The highest PSN recorded, plus one.
    high: u64,
    /// The highest PSN that a recorded answer covers, plus one.
    covered: u64,
    last_ack: u64,
}

impl Space {
    fn slot(&self, psn: u64) -> usize {
        psn.saturating_sub(self.start) as usize
    }

    fn push(&mut self, psn: u64, count: u32, frame: u32) -> Option<u32> {
        let (from, to) = (self.slot(psn), self.slot(psn) + count as usize);
        if self.frames.len() < to {
            self.frames.resize(to, 0);
        }
        let original = Some(self.frames[from]).filter(|&frame| frame > 0);
        for slot in &mut self.frames[from..to] {
            if *slot == 0 {
                *slot = frame;
            }
        }
        self.low = Some(self.low.map_or(psn, |low| low.min(psn)));
        self.high = self.high.max(psn + count as u64);
        original
    }
}

/// Where a transmission ended, as seen from a tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Delivered,
    OnItsWay,
    Upstream,
    Downstream,
    Corrupt,
}

impl Run {
    /// Whether this copy was damaged before the tap.
    fn is_corrupt_at(&self, journey: &Journey, tap: usize) -> bool {
        let way = self.way(self.transmissions[journey.tx as usize].flow);
        journey.corrupt != NOWHERE && self.is_before(way, journey.corrupt, &self.captures[tap].tap)
    }

    /// The recorded sightings of a tap, in order: its frames.
    pub fn recorded(&self, tap: usize) -> impl Iterator<Item = &super::Sighting> {
        self.captures[tap].in_file().filter(|sighting| sighting.recorded)
    }

    /// The transmission of a frame; `None` for pauses.
    pub fn transmission(&self, sighting: &super::Sighting) -> Option<&Transmission> {
        let journey = self.journeys.get(sighting.journey as usize)?;
        self.transmissions.get(journey.tx as usize)
    }

    /// Where each transmission ended.
    fn ends(&self, tap: usize) -> Vec<End> {
        let mut ends = vec![End::OnItsWay; self.transmissions.len()];
        let the_tap = &self.captures[tap].tap;
        for journey in &self.journeys {
            let way = self.way(self.transmissions[journey.tx as usize].flow);
            let end = &mut ends[journey.tx as usize];
            let side =
                |segment| if self.is_before(way, segment, the_tap) { End::Upstream } else { End::Downstream };
            *end = match *end {
                End::Delivered => End::Delivered,
                _ if journey.delivered => End::Delivered,
                End::OnItsWay if self.is_corrupt_at(journey, tap) => End::Corrupt,
                End::OnItsWay if journey.lost != NOWHERE => side(journey.lost),
                End::OnItsWay if journey.corrupt != NOWHERE => End::Downstream,
                end => end,
            };
        }
        ends
    }

    /// The truth about what a tap recorded.
    ///
    /// # Panics
    /// If there is no such tap.
    pub fn labels(&self, tap: usize) -> Labels {
        let the_tap = &self.captures[tap].tap;
        let ends = self.ends(tap);
        // Two spaces a flow: its requests, and the responses in it.
        let mut spaces: Vec<[Space; 2]> = vec![Default::default(); self.flows.len()];
        for (flow, spaces) in self.flows.iter().zip(&mut spaces) {
            let psn = flow.connection.and_then(|c| self.connections[c as usize].psn).unwrap_or_default();
            let end = (flow.sender & 1) as usize;
            spaces[0].start = psn[end] as u64 + (1 << 24);
            spaces[1].start = psn[1 - end] as u64 + (1 << 24);
        }
        for (i, t) in self.transmissions.iter().enumerate() {
            if let Some(which) = self.space(t) {
                let space = &mut spaces[t.flow as usize][which];
                let (from, to) = (space.slot(t.psn), space.slot(t.psn) + t.count as usize);
                if space.first.len() < to {
                    space.first.resize(to, NONE);
                }
                for slot in space.first[from..to].iter_mut().filter(|slot| **slot == NONE) {
                    *slot = i as u32;
                }
            }
        }
        let mut labels = Labels { frames: Vec::new(), flows: vec![FlowTruth::default(); self.flows.len()] };
        let mut seen = vec![false; self.transmissions.len()];
        // The ECN field of each one, as far as it was recorded.
        let mut ecn = vec![0; self.transmissions.len()];
        let mut seen_corrupt = vec![false; self.transmissions.len()];
        let mut episodes = vec![false; self.episodes.len()];
        let capture = &self.captures[tap];
        let is_by_record = capture.is_told_by_record();
        let sightings: Box<dyn Iterator<Item = &super::Sighting>> = match is_by_record {
            true => Box::new(capture.in_file()),
            false => Box::new(capture.sightings.iter()),
        };
        for sighting in sightings {
            let Some(journey) = self.journeys.get(sighting.journey as usize) else {
                if sighting.recorded {
                    let is_lldp = self.controls.get(sighting.control as usize).is_some_and(|one| one.is_lldp);
                    labels.frames.push(Label::new(if is_lldp { Class::Lldp } else { Class::Pause }));
                }
                continue;
            };
            let t = &self.transmissions[journey.tx as usize];
            let corrupt = self.is_corrupt_at(journey, tap);
            let truth = &mut labels.flows[t.flow as usize];
            let direction = t.opcode.direction();
            if !sighting.recorded {
                if !corrupt && !seen[journey.tx as usize] && self.space(t).is_some() {
                    truth.space(direction).capture += 1;
                }
                continue;
            }
            let frame = labels.frames.len() as u32 + 1;
            let is_cnp = t.opcode.is_cnp();
            let mut label = Label {
                space: (!is_cnp).then_some(direction),
                flow: Some(t.flow),
                cause: t.cause,
                ordinal: t.ordinal,
                lost_downstream: matches!(ends[journey.tx as usize], End::Downstream),
                needless: t.needless && t.ordinal > 1,
                ..Label::new(Class::Cnp)
            };
            truth.packets += 1;
            truth.payload_bytes += t.payload as u64;
            truth.ecn_ect += matches!(sighting.ecn, 1 | 2) as u64;
            truth.ecn_ce += (sighting.ecn == 3) as u64;
            if corrupt {
                truth.icrc_bad += u64::from(!journey.is_trimmed);
                let [payload, ect, ce] = &mut truth.bad;
                *payload += t.payload as u64;
                *ect += matches!(sighting.ecn, 1 | 2) as u64;
                *ce += (sighting.ecn == 3) as u64;
            }
            if !is_cnp {
                truth.space(direction).packets += 1;
            }
            if corrupt {
                label.class = if journey.is_trimmed { Class::Trimmed } else { Class::Corrupt };
                if !is_cnp && !std::mem::replace(&mut seen_corrupt[journey.tx as usize], true) {
                    let space = truth.space(direction);
                    *(if journey.is_trimmed { &mut space.trimmed } else { &mut space.corrupt }) += 1;
                }
            } else if std::mem::replace(&mut seen[journey.tx as usize], true) {
                label.class = Class::CaptureDuplicate;
                // A transmission counts once, however often it is recorded.
                truth.payload_bytes -= t.payload as u64;
                truth.ecn_ect -= matches!(sighting.ecn, 1 | 2) as u64;
                truth.ecn_ce -= (sighting.ecn == 3) as u64;
                let before = &mut ecn[journey.tx as usize];
                if sighting.ecn == 3 && *before != 3 {
                    // Marked between the two.
                    truth.ecn_ect -= matches!(*before, 1 | 2) as u64;
                    truth.ecn_ce += 1;
                    *before = 3;
                }
                if !is_cnp {
                    truth.space(direction).capture_duplicates += 1;
                }
            } else if is_cnp {
                truth.cnps += 1;
            } else if self.flows[t.flow as usize].connection.is_none() {
                label.class = Class::Management;
            } else if self.space(t).is_none() {
                self.acknowledgement(t, &mut label, truth, &mut spaces);
            } else {
                self.numbered(t, frame, &mut label, truth, &mut spaces, &ends);
                if label.class == Class::Retransmission && label.evident && t.episode != NONE {
                    episodes[t.episode as usize] = true;
                }
            }
            if !corrupt && label.class != Class::CaptureDuplicate {
                ecn[journey.tx as usize] = sighting.ecn;
            }
            labels.frames.push(label);
        }
        self.total(the_tap, &mut labels, &spaces, &ends, &episodes);
        if !is_by_record {
            labels.frames = capture.written(labels.frames);
        }
        labels
    }

    /// The space of a packet's PSN: 0 requests, 1 responses. `None` for acknowledgements and datagrams.
    fn space(&self, t: &Transmission) -> Option<usize> {
        let connection = self.flows[t.flow as usize].connection?;
        if self.connections[connection as usize].service == Service::Ud || t.opcode.is_cnp() {
            return None;
        }
        match t.opcode.direction() {
            Direction::Request => Some(0),
            Direction::Response => is_sequenced(t.opcode).then_some(1),
        }
    }

    /// Labels an acknowledgement or a datagram.
    fn acknowledgement(
        &self,
        t: &Transmission,
        label: &mut Label,
        truth: &mut FlowTruth,
        spaces: &mut [[Space; 2]],
    ) {
        if t.opcode.direction() == Direction::Request {
            label.class = Class::Datagram;
            return;
        }
        let answered = &mut spaces[self.flows[t.flow as usize].back as usize][0];
        let kind = t.syndrome >> 5;
        answered.covered = answered.covered.max(t.psn + (kind == 0) as u64);
        label.late = t.psn < answered.last_ack;
        answered.last_ack = answered.last_ack.max(t.psn);
        truth.responses.late_acks += label.late as u64;
        label.class = match kind {
            0 => {
                truth.acks += 1;
                Class::Ack
            }
            1 => {
                truth.rnr_naks += 1;
                Class::Rnr
            }
            _ => {
                truth.naks[(t.syndrome & 0x1f).min(4) as usize] += 1;
                Class::Nak
            }
        };
    }

    /// Labels a packet that has a PSN of its own.
    fn numbered(
        &self,
        t: &Transmission,
        frame: u32,
        label: &mut Label,
        truth: &mut FlowTruth,
        spaces: &mut [[Space; 2]],
        ends: &[End],
    ) {
        let which = (t.opcode.direction() == Direction::Response) as usize;
        if which == 1 {
            let answered = &mut spaces[self.flows[t.flow as usize].back as usize][0];
            answered.covered = answered.covered.max(t.psn + 1);
        }
        let space = &mut spaces[t.flow as usize][which];
        let truth = if which == 0 { &mut truth.requests } else { &mut truth.responses };
        let end = t.psn + t.count as u64;
        label.evident = t.psn < space.high;
        label.spurious = t.ordinal > 1 && end <= space.covered;
        let begun = space.low.is_some();
        let acknowledges = t.opcode.operation() == Some(Operation::AtomicAcknowledge);
        label.class = if t.ordinal > 1 && acknowledges {
            Class::Ack
        } else if t.ordinal > 1 {
            Class::Retransmission
        } else if t.psn < space.high {
            Class::LateOriginal
        } else if begun && t.psn - t.jump as u64 > space.high {
            Class::NewAfterGap
        } else {
            Class::New
        };
        match label.class {
            Class::Retransmission => {
                truth.retransmits.most += 1;
                truth.retransmits.least += label.evident as u64;
                truth.retransmitted_bytes.most += t.payload as u64;
                truth.retransmitted_bytes.least += if label.evident { t.payload as u64 } else { 0 };
            }
            Class::LateOriginal => truth.out_of_order += 1,
            _ => {}
        }
        if begun && t.psn > space.high {
            // A READ request has many PSNs, and is lost once.
            let mut last = NONE;
            for &tx in &space.first[space.slot(space.high)..space.slot(t.psn)] {
                truth.upstream.least +=
                    (tx != NONE && tx != last && ends[tx as usize] == End::Upstream) as u64;
                last = tx;
            }
        }
        label.original = space.push(t.psn, t.count, frame);
    }

    /// READ responses that were asked for again: by flow and PSN, in the order in which they were sent.
    fn asked_again(&self) -> BTreeMap<(u32, u64), Vec<u32>> {
        let asked = self.episodes.iter().filter_map(|episode| self.lacked(episode));
        let mut all: BTreeMap<_, Vec<u32>> = asked.map(|key| (key, Vec::new())).collect();
        if all.is_empty() {
            return all;
        }
        let sent = (0..).zip(&self.transmissions);
        for (tx, t) in sent.filter(|(_, t)| t.opcode.operation() == Some(Operation::ReadResponse)) {
            all.entry((t.flow, t.psn)).and_modify(|sent| sent.push(tx));
        }
        all
    }

    /// The flow and the PSN of what a requester lacked that no NAK told.
    fn lacked(&self, episode: &Episode) -> Option<(u32, u64)> {
        let is_own = matches!(episode.cause, Cause::ImpliedNak | Cause::Timeout);
        is_own.then(|| (self.flows[episode.flow as usize].back, episode.psn))
    }

    /// The totals that need the whole simulation.
    fn total(
        &self,
        tap: &super::Tap,
        labels: &mut Labels,
        spaces: &[[Space; 2]],
        ends: &[End],
        evident: &[bool],
    ) {
        let within = |time: u64| time >= tap.start.0 && tap.stop.is_none_or(|stop| time < stop.0);
        let mut last = NONE;
        for journey in self.journeys.iter().filter(|j| tap.paths.is_some_and(|paths| j.path as u32 >= paths))
        {
            let t = &self.transmissions[journey.tx as usize];
            let before = matches!(ends[journey.tx as usize], End::Upstream | End::Corrupt);
            if within(t.sent) && !before && self.space(t).is_some() && last != journey.tx {
                labels.flows[t.flow as usize].space(t.opcode.direction()).capture += 1;
            }
            last = journey.tx;
        }
        for (t, end) in self.transmissions.iter().zip(ends) {
            let flow = &self.flows[t.flow as usize];
            if !within(t.sent) || flow.connection.is_none() || t.opcode.is_cnp() {
                continue;
            }
            let lost = matches!(end, End::Upstream | End::Downstream | End::Corrupt);
            if t.opcode.direction() == Direction::Response && !is_sequenced(t.opcode) {
                labels.flows[flow.back as usize].requests.ack_path.most += lost as u64;
                continue;
            }
            let truth = labels.flows[t.flow as usize].space(t.opcode.direction());
            truth.upstream.most += (*end == End::Upstream) as u64;
            truth.downstream += (*end == End::Downstream) as u64;
        }
        let answers = self.asked_again();
        for (episode, &evident) in self.episodes.iter().zip(evident) {
            if !within(episode.at) {
                continue;
            }
            // The last response that had been sent by then.
            let key = self.lacked(episode);
            let sent = key.and_then(|key| answers.get(&key)).into_iter().flatten().rev();
            let last = sent.copied().find(|&tx| self.transmissions[tx as usize].sent < episode.at);
            if let Some(((flow, _), tx)) = key.zip(last) {
                let is_of_no_use = ends[tx as usize] == End::Delivered;
                labels.flows[flow as usize].responses.of_no_use += is_of_no_use as u64;
            }
            let truth = &mut labels.flows[episode.flow as usize].requests;
            let bounds = match episode.cause {
                Cause::Nak => &mut truth.nak,
                Cause::Timeout => &mut truth.timeout,
                Cause::Rnr => &mut truth.rnr,
                _ => &mut truth.implied_nak,
            };
            bounds.most += 1;
            bounds.least += evident as u64;
            truth.ack_path.least += (episode.cause == Cause::Timeout && episode.answer_lost) as u64;
        }
        for (truth, spaces) in labels.flows.iter_mut().zip(spaces) {
            for (direction, space) in [Direction::Request, Direction::Response].into_iter().zip(spaces) {
                let Some(low) = space.low else { continue };
                let used = space.first[space.slot(low)..space.slot(space.high)].iter();
                let shown = space.frames[space.slot(low)..].iter();
                let missing = used.zip(shown).filter(|(tx, frame)| **tx != NONE && **frame == 0).count();
                truth.space(direction).gap_psns = missing as u64;
            }
            // What shows a loss may have been sent before the capture begins.
            for bounds in
                [&mut truth.requests.upstream, &mut truth.responses.upstream, &mut truth.requests.ack_path]
            {
                bounds.least = bounds.least.min(bounds.most);
            }
        }
    }

    /// Whether the tap sees both directions on all paths.
    pub(super) fn sees_all(&self, tap: usize) -> bool {
        let tap = &self.captures[tap].tap;
        tap.only.is_none() && tap.paths.is_none_or(|paths| paths >= self.scenario.paths.count)
    }

    /// Whether a flow's packets can be in the capture at all.
    pub fn is_visible(&self, tap: usize, flow: usize) -> bool {
        self.captures[tap].tap.only.is_none_or(|only| only == self.way(flow as u32))
    }
}

impl FlowTruth {
    /// One of its spaces.
    pub fn space(&mut self, direction: Direction) -> &mut SpaceTruth {
        match direction {
            Direction::Request => &mut self.requests,
            Direction::Response => &mut self.responses,
        }
    }
}
