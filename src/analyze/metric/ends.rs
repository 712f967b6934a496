//! Source and destination of a packet, for tables that are rarely used.

use crate::analyze::{model::Address, packet::Facts};

/// Who sends, who receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, crate::stored::Stored)]
pub struct Ends {
    /// Who sends.
    pub src: Address,
    /// Who receives.
    pub dst: Address,
}

impl Ends {
    /// The addresses of the innermost packet; `None` if it has none that this toolkit reads.
    pub(crate) fn of(packet: &Facts) -> Option<Ends> {
        packet.key().map(|key| Ends { src: key.source(), dst: key.destination() })
    }
}
