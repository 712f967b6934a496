//! LIDs that are of one port: InfiniBand gives a port 2 to the power of its LMC of them, one for each path through the network, so that both
//! directions of a connection may have others.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::{
    analyze::packet::key::{Key, Pair},
    dissect::Dissection,
    heap::heap,
    wire::{Mad, MadDirected, MadMethod, PortInfo, PortInfoRecord},
};

/// The ports with several LIDs, as management datagrams tell of them. Nothing else proves that LIDs are of one port: those of other hosts are
/// next to each other, too.
#[derive(Default, crate::stored::Stored)]
pub(crate) struct Lids {
    /// By the port's first LID: its LMC.
    ports: HashMap<u16, u8, RandomState>,
    /// Ports were told of since [`has_new`](Self::has_new) was asked.
    is_new: bool,
}

heap! { Lids { ports } }

impl Lids {
    const MOST: usize = 1 << 14;
    const MOST_LMC: u8 = 7;

    /// A datagram of the subnet's management: an answer may have a port's LID and LMC.
    #[cold]
    pub(crate) fn on_management(&mut self, d: &Dissection<'_>) {
        const FAILED: u16 = 0x7fff;
        let Some(info) = d.get::<PortInfo>() else { return };
        let of_lid = d.get::<Mad>().map(|mad| (mad.method(), mad.status().0));
        let directed = || d.get::<MadDirected>().map(|mad| (mad.method(), mad.status().0));
        let answers = of_lid.or_else(directed).is_some_and(|(method, status)| {
            matches!(method, MadMethod::GET_RESP | MadMethod::GET_TABLE_RESP) && status & FAILED == 0
        });
        // A record says the port's LID itself, and of a switch's ports the switch's.
        let of_record = d.get::<PortInfoRecord>().is_none_or(|record| record.endport_lid() == info.lid());
        let (base, lmc) = (info.lid().0, info.lmc());
        let is_first = base & ((1 << lmc) - 1) == 0;
        if !answers || !of_record || lmc == 0 || !info.lid().is_unicast() || !is_first {
            return;
        }
        // Where two ports contradict each other, the first one stays.
        let last = base | ((1 << lmc) - 1);
        if self.ports.len() < Self::MOST
            && (base..=last).all(|lid| self.first(lid) == lid && !self.ports.contains_key(&lid))
        {
            self.ports.insert(base, lmc);
            self.is_new = true;
        }
    }

    /// Whether ports were told of since the last call.
    pub(crate) fn has_new(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// The first LID of the port that has this one.
    fn first(&self, lid: u16) -> u16 {
        let block = |lmc: u8| (lid >> lmc << lmc, lmc);
        let mut blocks = (1..=Self::MOST_LMC).map(block);
        blocks.find(|(base, lmc)| self.ports.get(base) == Some(lmc)).map_or(lid, |(base, _)| base)
    }

    /// The key with the first LIDs of both ports.
    #[inline]
    pub(crate) fn of_ports(&self, key: &Key) -> Key {
        if self.ports.is_empty() { *key } else { key.with_lids(|lid| self.first(lid)) }
    }

    /// The two ports of two LIDs.
    pub(crate) fn of_pair(&self, pair: &Pair) -> Pair {
        pair.with_lids(|lid| self.first(lid))
    }

    /// The two ports, in the same order for both directions.
    #[inline]
    pub(crate) fn pair(&self, key: &Key) -> Pair {
        self.of_ports(key).pair()
    }

    /// Whether flows of these keys are of opposite directions.
    #[inline]
    pub(crate) fn are_opposite(&self, one: &Key, other: &Key) -> bool {
        let (one, other) = (self.of_ports(one), self.of_ports(other));
        one.src == other.dst && one.dst == other.src
    }
}
