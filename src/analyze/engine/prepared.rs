//! Prepared frames: looked at on other threads, without the frames before them; and their intake.

use super::{
    Analysis,
    held::{Looked, Waits},
    sorting::Place,
};
use crate::{
    analyze::{
        metric::collectives,
        model::Options,
        packet::{EncapPacket, FastForm, FastPacket, Glimpse},
    },
    capture::Record,
    dissect::{Dissection, dissect_with},
    icrc::{self, State},
};

/// Frames that follow each other in the capture, [looked at](Options::look) with the analysis' options.
#[derive(Clone, Copy, Debug)]
pub enum Batch<'a> {
    /// Any number of these, and what was glimpsed of some: with their places in the list.
    Fast(&'a [FastPacket], &'a [(usize, Glimpse)]),
    /// One of these, and what was glimpsed of it.
    Encap(&'a EncapPacket, Option<&'a Glimpse>),
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
        // That of Ultra Ethernet is another CRC, which says nothing of the trust in ICRCs.
        if d.is_uet() { State::Unchecked } else { self.checked(|| icrc::verify(d)) }
    }

    /// The state of an ICRC; unchecked if none is to be verified.
    #[inline(always)]
    pub(super) fn checked(&self, verify: impl FnOnce() -> State) -> State {
        if self.verify_icrc { verify() } else { State::Unchecked }
    }

    /// Looks at a frame, for an analysis with these options.
    #[inline(always)]
    pub fn look(&self, record: &Record<'_>) -> Looked {
        self.look_knowing::<false>(record, None).0
    }

    /// [`look`](Self::look) at a frame, with what else is read of packets of collectives.
    #[inline(always)]
    pub fn look_closely(&self, record: &Record<'_>) -> (Looked, Option<Glimpse>) {
        self.look_knowing::<true>(record, None)
    }

    /// [`look`](Self::look) at a frame whose payload may be missing, if the state of its ICRC is known. With `GLIMPSE`, also for what else
    /// is read of packets of collectives in a fast form.
    #[inline(always)]
    pub(super) fn look_knowing<const GLIMPSE: bool>(
        &self,
        record: &Record<'_>,
        icrc: Option<State>,
    ) -> (Looked, Option<Glimpse>) {
        if !self.reference
            && let Some((packet, rest)) = FastPacket::candidate(record)
        {
            let state = || icrc.unwrap_or_else(|| self.checked(|| packet.verify(rest)));
            if let Some(packet) = packet.checked(&self.dissect, rest, state) {
                let glimpse = if GLIMPSE { packet.glimpse(rest) } else { None };
                return (Looked::Fast(packet), glimpse);
            }
        }
        self.look_closer::<GLIMPSE>(record, icrc)
    }

    #[inline(never)]
    fn look_closer<const GLIMPSE: bool>(
        &self,
        record: &Record<'_>,
        icrc: Option<State>,
    ) -> (Looked, Option<Glimpse>) {
        if !self.reference
            && let Some((packet, rest)) = EncapPacket::candidate(&self.dissect, record)
        {
            let state = || icrc.unwrap_or_else(|| self.checked(|| packet.verify(rest)));
            if let Some(packet) = packet.checked(&self.dissect, rest, state) {
                let glimpse = if GLIMPSE { packet.glimpse(rest) } else { None };
                return (Looked::Encap(packet), glimpse);
            }
        }
        (Looked::Other(icrc.unwrap_or_else(|| self.examine(record).1)), None)
    }
}

impl Analysis {
    /// [`push`](Analysis::push) for frames that any thread has looked at.
    #[inline]
    pub fn push_prepared(&mut self, batch: Batch<'_>) {
        match batch {
            Batch::Fast(packets, glimpses) => self.push_viewed(packets, glimpses),
            Batch::Encap(packet, glimpse) => {
                self.view(packet, glimpse, self.frames() + 1);
                self.push_known(std::slice::from_ref(packet));
            }
            Batch::Frame(record, icrc) => {
                let d = self.tracker.options.dissection(record);
                self.view_dissected(record, &d, icrc);
                match self.intake.sorting.passes(record.time.0) {
                    true => self.push_or_hold(record, &d, icrc),
                    false => self.sort_frame(record, &d, icrc),
                }
            }
        }
    }

    /// [`push_known`](Self::push_known) of packets that the collective's view may need.
    #[inline]
    fn push_viewed(&mut self, packets: &[FastPacket], glimpses: &[(usize, Glimpse)]) {
        let first = self.frames() + 1;
        if !self.has_view() && !glimpses.iter().any(|(_, glimpse)| glimpse.begins_view()) {
            for (at, glimpse) in glimpses {
                self.note(Some(glimpse), first + *at as u64, || packets.get(*at).map(FastForm::facts));
            }
            return self.push_known(packets);
        }
        let mut glimpses = glimpses.iter().peekable();
        for (at, packet) in packets.iter().enumerate() {
            let glimpse = glimpses.next_if(|(of, _)| *of == at).map(|(_, glimpse)| glimpse);
            let number = first + at as u64;
            if glimpse.is_some() || !collectives(&mut self.metrics).passes(packet, number) {
                self.view(packet, glimpse, number);
            }
        }
        self.push_known(packets);
    }

    #[inline(never)]
    fn push_known<F: Waits>(&mut self, packets: &[F]) {
        for packet in packets {
            // A copy stays in registers.
            let packet = packet.clone();
            if !self.intake.sorting.passes(packet.fast().time()) {
                self.sort(packet.fast().time(), packet.held(), Place::of(&packet));
            } else if self.intake.is_empty()
                && self.tracker.continues_run::<true>(&packet, 0, || packet.fast().icrc())
            {
                self.note_mirror_copy(packet.copy());
            } else {
                self.push_or_wait(&packet);
            }
        }
    }
}
