//! Prepared frames: parsed and verified on other threads, without the frames before them; and their intake.

use super::{Analysis, intake::Held};
use crate::{
    analyze::{
        model::Options,
        packet::{EncapPacket, FastForm, FastPacket, MirrorCopy},
    },
    capture::Record,
    dissect::{Dissection, dissect_with},
    icrc::{self, State},
};

/// A parsed RoCEv2 packet over Ethernet and IPv4, with the state of its ICRC. It is as long as a cache line, since passing it to
/// another core takes longer than making it.
#[derive(Clone, Copy, Debug)]
pub struct Prepared(pub(super) FastPacket);

impl Prepared {
    /// What became of its ICRC.
    pub fn icrc(&self) -> State {
        self.0.icrc()
    }
}

/// A [`Prepared`] packet in another encapsulation: over IPv6, in a tunnel, without Ethernet. It is longer.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct PreparedEncap {
    pub(super) packet: EncapPacket,
    /// A mirror made it.
    pub(super) copy: Option<MirrorCopy>,
}

impl PreparedEncap {
    /// What became of its ICRC.
    pub fn icrc(&self) -> State {
        self.packet.fast().icrc()
    }
}

/// A prepared frame.
#[derive(Clone, Copy, Debug)]
pub enum Known {
    /// A packet for [`Batch::Fast`].
    Fast(Prepared),
    /// A packet for [`Batch::Encap`].
    Encap(PreparedEncap),
    /// The state of the ICRC of any other frame, for [`Batch::Frame`].
    Icrc(State),
}

impl Known {
    /// What became of the ICRC.
    pub fn icrc(&self) -> State {
        match self {
            Known::Fast(prepared) => prepared.icrc(),
            Known::Encap(prepared) => prepared.icrc(),
            Known::Icrc(icrc) => *icrc,
        }
    }
}

/// Frames that follow each other in the capture, [prepared](Options::prepare) with the analysis' options.
#[derive(Clone, Copy, Debug)]
pub enum Batch<'a> {
    /// Any number of these.
    Fast(&'a [Prepared]),
    /// One of these.
    Encap(&'a PreparedEncap),
    /// Any other frame, and the state of its ICRC.
    Frame(&'a Record<'a>, State),
}

impl Options {
    /// Dissects a frame as an analysis with these options does.
    pub fn dissection<'a>(&self, record: &Record<'a>) -> Dissection<'a> {
        dissect_with(self.dissect, record.link, record.frame, record.wire_len)
    }

    /// Dissects a frame, and verifies its ICRC if that is wanted.
    pub fn examine<'a>(&self, record: &Record<'a>) -> (Dissection<'a>, State) {
        let d = self.dissection(record);
        let icrc = self.icrc(&d);
        (d, icrc)
    }

    /// Verifies a frame's ICRC if that is wanted.
    pub fn icrc(&self, d: &Dissection<'_>) -> State {
        if self.verify_icrc { icrc::verify(d) } else { State::Unchecked }
    }

    /// Prepares a frame for an analysis with these options.
    #[inline(always)]
    pub fn prepare(&self, record: &Record<'_>) -> Known {
        match FastPacket::of(&self.dissect, record, self.verify_icrc) {
            Some(packet) if !self.reference => Known::Fast(Prepared(packet)),
            _ => self.prepare_other(record),
        }
    }

    #[inline(never)]
    fn prepare_other(&self, record: &Record<'_>) -> Known {
        match EncapPacket::of(&self.dissect, record, self.verify_icrc) {
            Some((packet, copy)) if !self.reference => Known::Encap(PreparedEncap { packet, copy }),
            _ => Known::Icrc(self.examine(record).1),
        }
    }
}

impl Analysis {
    /// [`push`](Analysis::push) for frames that any thread has prepared.
    #[inline]
    pub fn push_prepared(&mut self, batch: Batch<'_>) {
        match batch {
            Batch::Fast(packets) => self.push_prepared_fast(packets),
            Batch::Encap(packet) => self.push_prepared_encap(packet),
            Batch::Frame(record, icrc) => {
                let d = self.tracker.options.dissection(record);
                match self.intake.sorting.passes(record.time.0) {
                    true => self.push_or_hold(record, &d, icrc),
                    false => self.sort_frame(record, &d, icrc),
                }
            }
        }
    }

    #[inline(never)]
    fn push_prepared_fast(&mut self, packets: &[Prepared]) {
        for Prepared(packet) in packets {
            if !self.intake.sorting.passes(packet.fast().time()) {
                self.sort(packet.fast().time(), Held::Fast(*packet));
            } else if !(self.intake.is_empty() && self.tracker.goes_on_with_fast(packet)) {
                self.push_or_hold_fast(packet);
            }
        }
    }

    #[inline(never)]
    fn push_prepared_encap(&mut self, prepared: &PreparedEncap) {
        let PreparedEncap { packet, copy } = prepared;
        if !self.intake.sorting.passes(packet.fast().time()) {
            self.sort(packet.fast().time(), Held::Encap(Box::new(*prepared)));
        } else if self.intake.is_empty() && self.tracker.goes_on_with_encap(packet) {
            self.note_mirror_copy(copy);
        } else if self.is_settled(packet.fast().icrc()) {
            self.push_settled_encap(packet, copy);
        } else {
            self.hold_encap(prepared);
        }
    }

    #[cold]
    fn hold_encap(&mut self, prepared: &PreparedEncap) {
        self.catch_up();
        match self.is_settled(prepared.icrc()) {
            true => self.push_settled_encap(&prepared.packet, &prepared.copy),
            false => self.hold(Held::Encap(Box::new(*prepared))),
        }
    }
}
