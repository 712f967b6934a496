//! Frames without a packet of the transport, by what was not read of them.

use std::collections::BTreeMap;

use crate::{
    analyze::model::Event,
    dissect::{Numbers, Unread},
    in_order::InOrder,
    report::NotDecoded,
};

/// Most kinds that are told apart, and most UDP ports among them.
const MOST: usize = 256;
const MOST_PORTS: usize = 64;

/// Frames that were not read to their end, by the number that announces what is not read.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct UnreadFrames {
    kinds: BTreeMap<Unread, Seen>,
    /// Those of more kinds: that may hold a packet, and that do not.
    more: [Seen; 2],
}

#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Seen {
    frames: u64,
    bytes: u64,
    first_frame: u64,
}

impl UnreadFrames {
    /// A frame without a packet of the transport.
    pub(crate) fn on_frame(&mut self, event: &Event<'_>) {
        let Some(unread) = event.packet.unread() else { return };
        let room = if unread.of == Numbers::UdpPort { MOST_PORTS } else { MOST };
        let seen = match self.kinds.len() < room || self.kinds.contains_key(&unread) {
            true => self.kinds.entry(unread).or_default(),
            false => &mut self.more[usize::from(!unread.may_hide_packets())],
        };
        if seen.frames == 0 {
            seen.first_frame = event.number;
        }
        seen.frames += 1;
        seen.bytes += u64::from(event.packet.lengths().0);
    }

    /// The list of the report, most frames first. `has_first`: the first fragments of packets were read, and later ones hold nothing more.
    pub(crate) fn section(&self, has_first: bool) -> Vec<NotDecoded> {
        let mut all: Vec<NotDecoded> = Vec::with_capacity(self.kinds.len());
        for (unread, &Seen { frames, bytes, first_frame }) in &self.kinds {
            let is_rest = has_first && unread.of == Numbers::Fragment;
            all.push(NotDecoded {
                what: unread.to_string(),
                kind: unread.of.name().to_owned(),
                number: Some(unread.number).filter(|_| unread.of.has_numbers()),
                name: unread.name().map(str::to_owned),
                frames,
                bytes,
                first_frame,
                may_hold_packets: unread.may_hide_packets() && !is_rest,
                is_encrypted: unread.is_encrypted(),
            });
        }
        for (seen, may_hold_packets) in
            self.more.iter().zip([true, false]).filter(|(seen, _)| seen.frames > 0)
        {
            let &Seen { frames, bytes, first_frame } = seen;
            let what = "other kinds, of which there are too many";
            let (kind, number, name) = ("other".to_owned(), None, None);
            let (what, is_encrypted) = (what.to_owned(), false);
            all.push(NotDecoded {
                what,
                kind,
                number,
                name,
                frames,
                bytes,
                first_frame,
                may_hold_packets,
                is_encrypted,
            });
        }
        all.order_by_key(|one| std::cmp::Reverse(one.frames));
        all
    }
}
