//! What is known of a frame before its turn, and how frames wait for it.

use crate::{
    analyze::packet::{EncapPacket, FastForm, FastPacket, MirrorCopy},
    capture::{Record, Time},
    dissect::Link,
    icrc::State,
};

/// What a [look](crate::analyze::Options::look) at a frame finds: its packet, with the state of its ICRC, if it has a fast form.
#[derive(Clone, Copy, Debug)]
pub enum Looked {
    /// A packet for [`Batch::Fast`](super::Batch::Fast).
    Fast(FastPacket),
    /// A packet for [`Batch::Encap`](super::Batch::Encap).
    Encap(EncapPacket),
    /// The state of the ICRC of any other frame, for [`Batch::Frame`](super::Batch::Frame).
    Other(State),
}

impl Looked {
    /// What became of the ICRC.
    pub fn icrc(&self) -> State {
        match self {
            Looked::Fast(packet) => packet.icrc(),
            Looked::Encap(packet) => packet.icrc(),
            Looked::Other(icrc) => *icrc,
        }
    }
}

/// A frame that waits: its packet in a fast form, or its bytes.
#[derive(crate::stored::Stored)]
pub(super) enum Held {
    Frame(Box<HeldFrame>),
    Fast(FastPacket),
    Encap(Box<EncapPacket>),
}

/// A frame's bytes, and the result of its dissection.
#[derive(crate::stored::Stored)]
pub(crate) struct HeldFrame {
    time: Time,
    link: Link,
    interface: u16,
    wire_len: u32,
    frame: Box<[u8]>,
    pub(super) icrc: State,
    /// A mirror made it.
    copy: Option<MirrorCopy>,
}

impl HeldFrame {
    pub(crate) fn new(record: &Record<'_>, icrc: State, copy: Option<MirrorCopy>) -> HeldFrame {
        let &Record { time, link, interface, wire_len, frame } = record;
        HeldFrame { time, link, interface, wire_len, frame: frame.into(), icrc, copy }
    }

    pub(crate) fn record(&self) -> Record<'_> {
        let &HeldFrame { time, link, interface, wire_len, ref frame, .. } = self;
        Record { time, link, interface, wire_len, frame }
    }
}

impl Held {
    pub(super) fn frame(record: &Record<'_>, icrc: State, copy: Option<MirrorCopy>) -> Held {
        Held::Frame(Box::new(HeldFrame::new(record, icrc, copy)))
    }

    /// The mirror's sequence number, if a mirror made the frame.
    pub(super) fn copy(&self) -> Option<&MirrorCopy> {
        match self {
            Held::Encap(packet) => packet.copy(),
            Held::Frame(held) => held.copy.as_ref(),
            Held::Fast(_) => None,
        }
    }

    pub(super) fn icrc(&self) -> State {
        match self {
            Held::Frame(held) => held.icrc,
            Held::Fast(packet) => packet.icrc(),
            Held::Encap(packet) => packet.icrc(),
        }
    }

    /// Bytes of the frame in the capture: whatever its form is, as many frames wait.
    pub(super) fn captured(&self) -> usize {
        match self {
            Held::Frame(held) => held.frame.len(),
            Held::Fast(packet) => packet.frame().captured as usize,
            Held::Encap(packet) => packet.frame().captured as usize,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Held::Frame(held) => held.frame.len(),
            Held::Fast(_) => size_of::<FastPacket>(),
            Held::Encap(_) => size_of::<EncapPacket>(),
        }
    }
}

/// Packets that wait to be analyzed together: of one form at a time, so that their order stays.
#[derive(Default, crate::stored::Stored)]
pub(super) struct PacketBatch {
    /// How many they are.
    pub(super) len: usize,
    pub(super) fast: Vec<FastPacket>,
    pub(super) encap: Vec<EncapPacket>,
}

/// How a packet in a fast form waits.
pub(super) trait Waits: FastForm {
    fn held(&self) -> Held;

    /// The packets of this form in a batch.
    fn list(batch: &mut PacketBatch) -> &mut Vec<Self>;
}

impl Waits for FastPacket {
    fn held(&self) -> Held {
        Held::Fast(*self)
    }

    #[inline(always)]
    fn list(batch: &mut PacketBatch) -> &mut Vec<FastPacket> {
        &mut batch.fast
    }
}

impl Waits for EncapPacket {
    fn held(&self) -> Held {
        Held::Encap(Box::new(*self))
    }

    #[inline(always)]
    fn list(batch: &mut PacketBatch) -> &mut Vec<EncapPacket> {
        &mut batch.encap
    }
}
