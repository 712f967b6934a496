//! What a packet says of its message, whatever its mode.

use crate::{
    analyze::{
        metric::{paths::Carried, sprayed::Entropy},
        model::Event,
    },
    dissect::{Dissection, Layers},
    heap::heap,
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
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Trims {
    /// The payload of packets that are not the last of their message, where one was whole.
    full: u32,
    /// The first packets, of which a longer one may show that they were trimmed: their numbers, and their payload.
    early: Vec<(u32, u32)>,
    /// Those of which one has.
    told: Vec<(u32, u32)>,
}

heap! { Trims { early, told } }

/// Trimmed packets overtake whole ones: so many come before.
const MAX_EARLY: usize = 64;

impl Trims {
    /// Whether the packet says more payload than there is, which the capture did not cut; or less is there than in others that are not the
    /// last of their message.
    pub(super) fn has(&mut self, number: u32, message: Option<&Message>, d: &Dissection<'_>) -> bool {
        let Some(message) = message.filter(|_| !d.is_cut()) else { return false };
        let (there, has_payload) = (d.payload_len(), message.opcode.has_payload());
        // A frame of which a capture lost the end looks so, too: longer ones must have been seen.
        if !d.end_is_known() {
            return has_payload && icrc::has_old_lengths(d) && self.is_short(number, there);
        }
        // UDP's length is not written anew by all switches.
        if has_payload && icrc::has_old_udp_length(d) {
            return true;
        }
        if let Some(stated) = message.stated {
            if !message.is_last && stated == there {
                self.rises(there);
            }
            return there < stated;
        }
        if !has_payload || message.is_last {
            return false;
        }
        let is_short = self.is_short(number, there);
        self.rises(there);
        is_short
    }

    /// Whether others have more payload; if none has yet, one may come.
    fn is_short(&mut self, number: u32, there: u32) -> bool {
        if there >= self.full && self.early.len() < MAX_EARLY {
            self.early.push((number, there));
        }
        there < self.full
    }

    /// A packet that is not the last of its message has so much payload.
    fn rises(&mut self, there: u32) {
        if there <= self.full {
            return;
        }
        self.full = there;
        // So many of one length are no trimmed ones.
        if self.early.len() < MAX_EARLY {
            self.told.extend(self.early.iter().filter(|(_, early)| *early < there));
        }
        self.early.retain(|(_, early)| *early >= there);
    }

    /// Packets that came before, and were trimmed as is known now: numbers and payload, the first one first.
    pub(super) fn told(&mut self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.told)
    }
}
