//! Where a packet comes from and where it goes, for tables that are looked into seldom.

use crate::analyze::{model::Address, packet::PacketView};

/// Who sends, who receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ends {
    /// Who sends.
    pub src: Address,
    /// Who receives.
    pub dst: Address,
}

impl Ends {
    /// Of the innermost packet; `None` where it has no address that this toolkit reads.
    pub(crate) fn of(packet: &impl PacketView) -> Option<Ends> {
        packet.key().map(|key| Ends { src: key.source(), dst: key.destination() })
    }
}
