//! RDS.

use super::{Message, parts::Reader};
use crate::{checksum, wire::*};

/// The longest fragment of a message.
const FRAGMENT: usize = 4096;

/// Whether it can only be RDS: its checksum and its length fit, and what is padding is zero.
pub(super) fn is(message: Message<'_>) -> bool {
    let Some((rds, _)) = Rds::view(message.bytes) else { return false };
    let data = rds.length() as usize;
    // Congestion bitmaps and messages of several fragments say the length of the whole.
    let len = message.len.unwrap_or(message.bytes.len());
    let has_len = len <= Rds::LEN + FRAGMENT.min(data);
    let is_something = rds.sequence() != Hex64(0) || rds.ack() != Hex64(0) || rds.flags() != Hex8(0);
    rds.reserved() == Hex32(0)
        && rds.flags().0 & !0x0f == 0
        && is_something
        && has_len
        && checksum::internet(rds.bytes()) == 0
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<()> {
    reader.take::<Rds>().map(|_| ())
}
