//! What a packet says of its message, whatever its mode.

use crate::{
    analyze::{
        metric::{paths::Carried, sprayed::Entropy},
        model::Event,
    },
    dissect::{Dissection, Layers},
    icrc,
    wire::*,
};

/// The headers of a packet, as far as they are there.
pub(super) struct Headers<'a, 'd> {
    pub(super) d: &'a Dissection<'d>,
    layers: Layers,
}

impl<'a, 'd> Headers<'a, 'd> {
    pub(super) fn of(d: &'a Dissection<'d>) -> Headers<'a, 'd> {
        Headers { d, layers: d.layers() }
    }

    pub(super) fn get<H: Header>(&self) -> Option<&'d H> {
        let layer = self.layers.iter().find(|layer| layer.kind == H::KIND)?;
        H::view(self.d.frame().get(layer.at as usize..)?).map(|(header, _)| header)
    }

    /// What tells its path from another: the UDP source port, or the entropy value that takes its place.
    pub(super) fn entropy(&self) -> Entropy {
        let port = match self.get::<UetEntropy>() {
            Some(header) => header.entropy().0,
            None => self.d.get::<Udp>().map_or(0, Udp::src_port),
        };
        Entropy::of(self.d, port)
    }
}

/// The packet on its path.
pub(super) fn carried(event: &Event<'_>) -> Carried {
    Carried {
        time: event.record.time.0,
        bytes: event.l1_bytes,
        interface: event.record.interface,
        is_marked: event.packet.class_and_ttl().is_some_and(|(class, _)| Ecn(class & 3) == Ecn::CE),
    }
}

/// What a request says of its message.
pub(super) struct Message {
    pub(super) opcode: SesOpcode,
    /// `None`: the packet is all of it.
    pub(super) id: Option<u16>,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
    /// Bytes of the message, where they are not disputed.
    pub(super) length: Option<u32>,
    /// Payload that the packet must have.
    stated: Option<u32>,
}

impl Message {
    pub(super) fn of(headers: &Headers<'_, '_>) -> Option<Message> {
        if let Some(later) = headers.get::<SesStandardLater>() {
            return Some(Message {
                opcode: later.opcode(),
                id: Some(later.message_id()),
                is_first: false,
                is_last: later.eom(),
                length: None,
                stated: Some(later.payload_length().into()),
            });
        }
        if let Some(first) = headers.get::<SesStandard>() {
            let (opcode, length) = (first.opcode(), first.request_length());
            let stated = (first.eom() && opcode.has_payload()).then_some(length);
            return Some(Message {
                opcode,
                id: Some(first.message_id()),
                is_first: true,
                is_last: first.eom(),
                length: Some(length),
                stated,
            });
        }
        let opcode = headers
            .get::<SesDeferrable>()
            .map(SesDeferrable::opcode)
            .or_else(|| headers.get::<SesRestart>().map(SesRestart::opcode))
            .or_else(|| headers.get::<SesMedium>().map(SesMedium::opcode))
            .or_else(|| headers.get::<SesSmall>().map(SesSmall::opcode))?;
        Some(Message { opcode, id: None, is_first: true, is_last: true, length: None, stated: None })
    }
}

/// Which requests came trimmed.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(super) struct Trims {
    /// The payload of packets that are not the last of their message, where one was whole.
    full: u32,
}

impl Trims {
    /// Whether the packet says more payload than there is, which the capture did not cut; or less is there than in others that are not the
    /// last of their message.
    pub(super) fn has(&mut self, message: Option<&Message>, d: &Dissection<'_>) -> bool {
        let Some(message) = message.filter(|_| !d.is_cut()) else { return false };
        let there = d.payload_len();
        // A frame of which a capture lost the end looks so, too: longer ones must have been seen.
        if !d.end_is_known() {
            return message.opcode.has_payload() && there < self.full && icrc::has_old_lengths(d);
        }
        if let Some(stated) = message.stated {
            if !message.is_last && stated == there {
                self.full = self.full.max(there);
            }
            return there < stated;
        }
        if !message.opcode.has_payload() || message.is_last {
            return false;
        }
        let before = self.full;
        self.full = before.max(there);
        there < before
    }
}
