//! RDS: messages without replies, which the other side acknowledges.

use super::conversation::{Asked, Said};
use crate::{upper::Parts, wire::*};

pub(super) fn read(parts: &Parts, bytes: &[u8], said: &mut Vec<Said>) {
    /// A bitmap of ports that are congested; it has the length 0.
    const CONGESTION: u8 = 1;
    let Some(rds) = parts.get::<Rds>(bytes) else { return };
    let (Hex64(sequence), Hex64(ack), Hex8(flags)) = (rds.sequence(), rds.ack(), rds.flags());
    if ack > 0 {
        said.push(Said::Acknowledge(ack));
    }
    if flags & CONGESTION == 0 && rds.length() > 0 {
        let size = Some(u64::from(rds.length()));
        said.push(Said::Request(Asked { size, ..Asked::new(sequence, "message") }));
    }
}
