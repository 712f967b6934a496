//! What the collective's view is shown: all packets from the first one on that may be of a collective, as they come. And where in memory WRITEs
//! and READs go, for one-sided traffic; and whose messages SENDs carry.
//!
//! All of them see addresses and keys, so they are shown frames before these wait, or are counted in runs.

use super::{Analysis, Looked};
use crate::{
    analyze::{
        metric::{collectives, named, named::is_asked, one_sided},
        packet::{
            Facts, FastForm, FastPacket, Glimpse,
            glimpse::{is_send, is_watched, may_begin_view, sets_up},
        },
    },
    capture::Record,
    dissect::Dissection,
    icrc::State,
    opcode::Opcode,
    wire::{Bth, Header, Kind},
};

impl Analysis {
    /// Whether it sees every packet.
    #[inline(always)]
    pub(super) fn has_view(&self) -> bool {
        self.metrics.0.0.is_active()
    }

    /// Shows it a packet that may begin the view, and notes where a message goes. Later ones are shown to it as they come.
    #[inline(always)]
    pub(super) fn view_first<F: FastForm>(&mut self, record: &Record<'_>, packet: &F, rest: &[u8]) {
        let fast = packet.fast();
        if is_watched(fast.opcode()) && !self.has_view() {
            if is_send(fast.opcode()) {
                let asked = is_asked(self.frames() + 1, fast.psn());
                let sets_up = || packet.behind(rest).is_some_and(|behind| sets_up(fast.opcode(), behind));
                if asked || fast.opcode() == Opcode::UD_SEND_ONLY && sets_up() {
                    self.view_send(record, packet, rest, asked);
                }
                return;
            }
            let begins = may_begin_view(fast.opcode(), fast.payload()) && self.begins_view(packet, rest);
            let is_next = fast.opcode().shape().has_reth && one_sided(&mut self.metrics).sampled.is_next();
            if begins || is_next {
                self.view_record(&Record { ..*record });
            }
        }
    }

    /// Whether the view begins with a WRITE that looks like it.
    #[inline(never)]
    fn begins_view<F: FastForm>(&mut self, packet: &F, rest: &[u8]) -> bool {
        let (view, key) = (collectives(&mut self.metrics), packet.key());
        view.may_begin_with(&key) && view.needs(|| Some(key), packet.glimpse(rest).as_ref())
    }

    /// Notes whose message a SEND carries, where it says it.
    #[inline(never)]
    fn view_send<F: FastForm>(&mut self, record: &Record<'_>, packet: &F, rest: &[u8], asked: bool) {
        let Some(glimpse) = packet.glimpse(rest).filter(|glimpse| glimpse.application.is_some()) else {
            return;
        };
        if glimpse.announced.is_some() || asked && named(&mut self.metrics).sampled.is_next() {
            self.view_record(record);
        }
    }

    /// [`push`](Self::push) of a packet within a WRITE that a run takes, where the view sees all frames: most are such, and each is read once.
    #[inline(never)]
    pub(super) fn push_within(&mut self, record: &Record<'_>) -> bool {
        let Some((packet, rest)) = FastPacket::candidate(record) else { return false };
        if packet.opcode() != Opcode::RC_WRITE_MIDDLE
            || !self.intake.is_empty()
            || !self.intake.sorting.passes(record.time.0)
        {
            return false;
        }
        let number = self.frames() + 1;
        let (verify, verifier) = (self.tracker.options.verify_icrc, packet.verifier(rest));
        let icrc = move || if verify { verifier() } else { State::Unchecked };
        let is_taken = self.tracker.continues_run::<false>(&packet, rest.len(), icrc);
        if is_taken && !collectives(&mut self.metrics).passes(&packet, number) {
            self.view(&packet, None, number);
        }
        is_taken
    }

    /// Shows it a frame, where it sees all of them.
    #[inline(never)]
    pub(super) fn view_next(&mut self, record: &Record<'_>) {
        let options = &self.tracker.options;
        if !options.reference
            && let Some((packet, rest)) = FastPacket::candidate(record)
            && let Some(packet) = packet.checked(&options.dissect, rest, || State::Unchecked)
        {
            let number = self.frames() + 1;
            if !collectives(&mut self.metrics).passes(&packet, number) {
                let glimpse = packet.glimpse(rest);
                self.view(&packet, glimpse.as_ref(), number);
            }
            return;
        }
        self.view_record(record);
    }

    /// Shows it a frame. Its ICRC is not verified for that: a corrupt packet is sent again.
    #[cold]
    #[inline(never)]
    pub(super) fn view_record(&mut self, record: &Record<'_>) {
        let (looked, glimpse) = self.tracker.options.look_knowing::<true>(record, Some(State::Unchecked));
        match looked {
            Looked::Fast(packet) => self.view(&packet, glimpse.as_ref(), self.frames() + 1),
            Looked::Encap(packet) => self.view(&packet, glimpse.as_ref(), self.frames() + 1),
            Looked::Other(icrc) => {
                let d = self.tracker.options.dissection(record);
                self.view_dissected(record, &d, icrc);
            }
        }
    }

    /// Shows it a packet in a fast form, with what was read of it.
    pub(super) fn view(&mut self, packet: &impl FastForm, glimpse: Option<&Glimpse>, number: u64) {
        self.note(glimpse, number, || Some(packet.facts()));
        let view = collectives(&mut self.metrics);
        if view.needs(|| Some(packet.key()), glimpse) {
            view.see(&packet.facts(), number, glimpse);
        }
    }

    /// Notes where in memory a message goes, or whose it is, if it begins with this packet, and its turn has come.
    #[inline(always)]
    pub(super) fn note(
        &mut self,
        glimpse: Option<&Glimpse>,
        number: u64,
        facts: impl FnOnce() -> Option<Facts>,
    ) {
        if let Some((glimpse, application)) =
            glimpse.and_then(|glimpse| Some((glimpse, glimpse.application?)))
        {
            let named = named(&mut self.metrics);
            if let Some(facts) = facts() {
                let announced = glimpse.announced.as_deref().unwrap_or(&[]);
                announced.iter().for_each(|&qp| named.announce(&facts, qp, application));
                if is_asked(number, facts.psn()) && named.sampled.is_next() {
                    named.note(&facts, application, number);
                }
            }
            return;
        }
        let Some((va, _)) = glimpse.and_then(|glimpse| glimpse.memory) else { return };
        let noted = one_sided(&mut self.metrics);
        if noted.sampled.is_next()
            && let Some(facts) = facts()
        {
            noted.note(&facts, va, number);
        }
    }

    /// Shows it a frame that was dissected.
    pub(super) fn view_dissected(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: State) {
        let Some(opcode) = d.opcode() else { return };
        let glimpse = if is_watched(opcode) { glimpse_of(d, opcode) } else { None };
        let number = self.frames() + 1;
        self.note(glimpse.as_ref(), number, || Facts::of(record, d, icrc));
        let view = collectives(&mut self.metrics);
        if (view.is_active() || glimpse.is_some())
            && let Some(facts) = Facts::of(record, d, icrc)
            && view.needs(|| facts.key().copied(), glimpse.as_ref())
        {
            view.see(&facts, number, glimpse.as_ref());
        }
    }
}

/// What it would read of a dissected packet.
pub(super) fn glimpse_of(d: &Dissection<'_>, opcode: Opcode) -> Option<Glimpse> {
    let behind = d.frame().get(d.offset(Kind::Bth)? + Bth::LEN..)?;
    Glimpse::of(opcode, d.whole_payload_len(), behind)
}
