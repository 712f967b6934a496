//! Messages of RPC over RDMA that are in memory which another one names (RFC 8166, 3.5): a call that the server reads, and a reply that it
//! writes there. What READs and WRITEs carry is put together as far as nothing of it is missing.

use super::{MOST_BYTES, conversation::Memory};
use crate::{
    upper::{Message, Parts, Protocol},
    wire::Reth,
};

/// The call and the reply of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunks {
    pub(super) call: Chunk,
    pub(super) reply: Chunk,
}

/// One of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunk {
    pub(super) segments: Vec<Memory>,
    bytes: Vec<u8>,
    /// The PSN of the packet that goes on where the bytes end.
    next: Option<u32>,
}

/// Where in a message a transfer begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) is_call: bool,
    at: u64,
}

impl Chunks {
    pub(super) fn place(&self, reth: &Reth) -> Option<Place> {
        let of = |is_call, chunk: &Chunk| chunk.at(reth).map(|at| Place { is_call, at });
        of(true, &self.call).or_else(|| of(false, &self.reply))
    }

    pub(super) fn of(&mut self, place: Place) -> &mut Chunk {
        if place.is_call { &mut self.call } else { &mut self.reply }
    }
}

impl Chunk {
    /// Where in the message this memory is.
    fn at(&self, reth: &Reth) -> Option<u64> {
        let mut at = 0u64;
        for segment in &self.segments {
            let from = reth.va().0.checked_sub(segment.address).filter(|from| *from < segment.len.into());
            if let Some(from) = from.filter(|_| segment.key == reth.r_key().0) {
                return Some(at + from);
            }
            at += u64::from(segment.len);
        }
        None
    }

    /// A packet of a transfer of it; `begins`: the transfer's first one.
    pub(super) fn packet(&mut self, place: Place, begins: bool, psn: u32, payload: &[u8], len: u32) {
        if begins {
            self.next = None;
            if let Ok(at) = usize::try_from(place.at)
                && at <= self.bytes.len()
            {
                self.bytes.truncate(at);
                self.next = Some(psn);
            }
        }
        if self.next != Some(psn) || self.bytes.len() >= MOST_BYTES {
            return;
        }
        self.bytes.extend_from_slice(payload);
        // What follows what was cut is not where it belongs.
        self.next = (payload.len() == len as usize).then_some(psn.wrapping_add(1) & 0xff_ffff);
    }

    /// It as a message with no chunks, and its parts.
    pub(super) fn read(&self, xid: u32) -> Option<(Vec<u8>, Parts)> {
        if self.bytes.is_empty() {
            return None;
        }
        let words = [xid, 1, 1, 0, 0, 0, 0];
        let mut whole: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
        whole.extend_from_slice(&self.bytes);
        let parts = Protocol::RpcRdma.read(Message { bytes: &whole, len: Some(whole.len()) });
        Some((whole, parts))
    }
}
