//! What is read of WRITEs, READ requests and SENDs beyond what the analysis reads of every packet: for the collective's view, to know one-sided
//! traffic, and to name flows by their messages.

use super::element::{self, Slot};
use crate::{
    opcode::{Opcode, Operation, Transport},
    upper::{Application, Message, announced_by_ucx, is_ucx_set_up},
    wire::{Deth, Header, Hex32, Ieth, ImmDt, Reth},
};

/// Addresses, keys and immediate data of a WRITE or a READ request over a reliable connection: of a packet that has a RETH, or immediate
/// data, as much as was captured. Or whose message a SEND carries. Threads that prepare frames hand it on beside them.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Glimpse {
    /// The RETH's address and key; `None` without a RETH, and of one that was cut.
    pub(crate) memory: Option<(u64, u32)>,
    /// The address of a RETH that was cut behind it.
    pub(crate) address: Option<u64>,
    pub(crate) immediate: Option<u32>,
    /// The payload, where it can be a clear-to-send slot: as much of it as was captured.
    pub(crate) slot: Option<Box<[u8]>>,
    /// It is as long as a clear-to-send slot, or has immediate data, and these were not captured.
    pub(crate) is_cut: bool,
    /// Of a SEND: whose message it can only be.
    pub(crate) application: Option<Application>,
    /// The queue pairs that a set-up of UCX announces to its receiver.
    pub(crate) announced: Option<Vec<u32>>,
}

impl Glimpse {
    /// Queue pairs that one datagram announces.
    const MOST_ANNOUNCED: usize = 16;

    /// What the captured bytes behind the BTH show; `None` for packets that have no RETH, for those that are no WRITE with immediate data, and
    /// for SENDs whose message says nothing of whose it is.
    #[inline(always)]
    pub(crate) fn of(opcode: Opcode, payload: u32, behind: &[u8]) -> Option<Glimpse> {
        if is_watched(opcode) { Glimpse::read(opcode, payload, behind) } else { None }
    }

    #[inline(never)]
    fn read(opcode: Opcode, payload: u32, behind: &[u8]) -> Option<Glimpse> {
        let shape = opcode.shape();
        if shape.operation == Some(Operation::Send) {
            let application = application_of(opcode, payload, behind)?;
            let announced = if sets_up(opcode, behind) { announced(payload, behind) } else { None };
            return Some(Glimpse { application: Some(application), announced, ..Glimpse::default() });
        }
        let (memory, rest) = match shape.has_reth {
            true => match Reth::view(behind) {
                Some((reth, rest)) => (Some((reth.va().0, reth.r_key().0)), rest),
                None => return Glimpse::of_cut_reth(opcode, payload, behind),
            },
            false => (None, behind),
        };
        let immediate = match has_immediate(opcode) {
            true => ImmDt::view(rest).map(|(immediate, _)| immediate.data().0),
            false => None,
        };
        let is_write = shape.operation == Some(Operation::Write);
        let is_only = is_write && shape.begins && shape.ends && !has_immediate(opcode);
        let is_as_long = is_only && element::may_be(payload);
        let captured = &rest[..rest.len().min(payload as usize)];
        let is_slot = is_as_long && Slot::read(captured, payload).is_some();
        let slot = is_slot.then(|| Box::from(captured));
        // Where enough of it was captured to show that it is none, nothing is missing.
        let is_short = captured.len() < payload as usize;
        let is_cut_slot = is_as_long && !is_slot && is_short && Slot::may_begin(captured, payload);
        let is_cut = is_cut_slot || has_immediate(opcode) && immediate.is_none();
        Some(Glimpse { memory, address: None, immediate, slot, is_cut, application: None, announced: None })
    }

    /// What is left of a WRITE whose RETH was cut: of 64 bytes of a frame, mostly the address.
    #[cold]
    fn of_cut_reth(opcode: Opcode, payload: u32, behind: &[u8]) -> Option<Glimpse> {
        let is_write = opcode.operation() == Some(Operation::Write);
        let address = behind.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
        is_write.then(|| Glimpse { address, is_cut: may_begin_view(opcode, payload), ..Glimpse::default() })
    }

    /// Whether it was read of the payload: a clear-to-send slot, or a message that says whose it is.
    pub(crate) fn needs_payload(&self) -> bool {
        self.slot.is_some()
            || self.announced.is_some()
            || self.application.is_some_and(|application| application != Application::Ucx)
    }

    /// Whether the view begins with this packet: it may be of a collective.
    #[inline(always)]
    pub fn begins_view(&self) -> bool {
        self.immediate.is_some() || self.slot.is_some() || self.is_cut
    }
}

/// Whose message a SEND can only carry; of datagrams, also as their Q_Key says.
fn application_of(opcode: Opcode, payload: u32, behind: &[u8]) -> Option<Application> {
    if opcode == Opcode::UD_SEND_ONLY && Deth::view(behind)?.0.q_key() == UCX {
        return Some(Application::Ucx);
    }
    let headers = match opcode {
        Opcode::RC_SEND_ONLY_WITH_IMMEDIATE => ImmDt::LEN,
        Opcode::RC_SEND_ONLY_WITH_INVALIDATE => Ieth::LEN,
        Opcode::UD_SEND_ONLY => Deth::LEN,
        _ => 0,
    };
    let captured = behind.get(headers..)?;
    let captured = &captured[..captured.len().min(payload as usize)];
    Application::of_message(Message { bytes: captured, len: opcode.shape().ends.then_some(payload as usize) })
}

/// Whether a packet is a datagram by which UCX sets up a connection. They are few, and say what queue pairs of others are for.
#[inline(always)]
pub(crate) fn sets_up(opcode: Opcode, behind: &[u8]) -> bool {
    opcode == Opcode::UD_SEND_ONLY
        && Deth::view(behind).is_some_and(|(deth, rest)| deth.q_key() == UCX && is_ucx_set_up(rest))
}

#[cold]
fn announced(payload: u32, behind: &[u8]) -> Option<Vec<u32>> {
    let datagram = behind.get(Deth::LEN..)?;
    let datagram = &datagram[..datagram.len().min(payload as usize)];
    let all: Vec<u32> = announced_by_ucx(datagram).map(|qp| qp.0).take(Glimpse::MOST_ANNOUNCED).collect();
    (!all.is_empty()).then_some(all)
}

/// The Q_Key of all of UCX's datagrams (`UCT_IB_KEY` in its `uct/ib/base/ib_iface.h`).
const UCX: Hex32 = Hex32(0x1ee7_a330);

/// Whether packets of this code have a glimpse: WRITE First, Only and those with immediate data; READ requests; SEND First and Only.
#[inline(always)]
pub(crate) fn is_watched(opcode: Opcode) -> bool {
    // Each packet is asked: one bit for each code of a reliable connection.
    const CODES: u32 = SENDS
        | 1 << Opcode::RC_WRITE_FIRST.code
        | 1 << Opcode::RC_WRITE_LAST_WITH_IMMEDIATE.code
        | 1 << Opcode::RC_WRITE_ONLY.code
        | 1 << Opcode::RC_WRITE_ONLY_WITH_IMMEDIATE.code
        | 1 << Opcode::RC_READ_REQUEST.code;
    opcode.transport == Transport::Ib
        && (opcode.code < 32 && CODES >> opcode.code & 1 != 0 || opcode.code == UD)
}

/// The codes of a reliable connection that begin a SEND, as bits.
const SENDS: u32 = 1 << Opcode::RC_SEND_FIRST.code
    | 1 << Opcode::RC_SEND_ONLY.code
    | 1 << Opcode::RC_SEND_ONLY_WITH_IMMEDIATE.code
    | 1 << Opcode::RC_SEND_ONLY_WITH_INVALIDATE.code;
const UD: u8 = Opcode::UD_SEND_ONLY.code;

/// Whether a packet that has a [glimpse](is_watched) is a SEND.
#[inline(always)]
pub(crate) fn is_send(opcode: Opcode) -> bool {
    opcode.code == UD || SENDS >> (opcode.code & 31) & 1 != 0
}

/// Whether the view may begin with a packet: [`Glimpse::begins_view`] says it for sure.
#[inline(always)]
pub(crate) fn may_begin_view(opcode: Opcode, payload: u32) -> bool {
    let shape = opcode.shape();
    shape.operation == Some(Operation::Write)
        && shape.ends
        && (has_immediate(opcode) || shape.begins && element::may_be(payload))
}

#[inline(always)]
pub(crate) fn has_immediate(opcode: Opcode) -> bool {
    // RDMA WRITE Last and Only, each with immediate data.
    matches!(opcode.code & 0x1f, 0x09 | 0x0b)
}
