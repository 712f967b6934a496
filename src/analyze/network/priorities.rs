//! Which priority a packet has: by the user's map, or by the last one of DCBX.
//!
//! Before any port says anything, an eighth of the DSCP stands for it, as in a map without entries.

use crate::analyze::{model::QosMap, packet::path_tag};

/// Priorities of Ethernet: 0 to 7.
pub(crate) const PRIORITIES: usize = 8;
/// The priority of packets whose tags say nothing of it.
const UNKNOWN: u8 = PRIORITIES as u8;

/// The map of priorities that holds, and the priorities by it.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(crate) struct Priorities {
    /// The user's, or the last one of DCBX.
    map: Option<QosMap>,
    is_given: bool,
    /// By DSCP and PCP, each with one more for none.
    table: Box<[[u8; 9]; 65]>,
}

impl Priorities {
    /// With the user's map, if there is one.
    pub(super) fn new(given: Option<QosMap>) -> Priorities {
        let mut new =
            Priorities { map: None, is_given: given.is_some(), table: Box::new([[UNKNOWN; 9]; 65]) };
        new.hold(given);
        new
    }

    /// DCBX says so, or does not any more. What the user says goes before it.
    pub(super) fn heard(&mut self, map: Option<QosMap>) {
        if !self.is_given && self.map != map {
            self.hold(map);
        }
    }

    fn hold(&mut self, map: Option<QosMap>) {
        self.map = map;
        let none = QosMap::default();
        let map = self.map.as_ref().unwrap_or(&none);
        for (dscp, row) in (0..).zip(self.table.iter_mut()) {
            for (pcp, priority) in (0..).zip(row) {
                let known = map.priority(Some(dscp).filter(|&n| n < 64), Some(pcp).filter(|&n| n < 8));
                *priority = known.unwrap_or(UNKNOWN);
            }
        }
    }

    /// The map that holds; `None` where neither the user nor DCBX has one.
    pub(crate) fn map(&self) -> Option<&QosMap> {
        self.map.as_ref()
    }

    /// Whether the map is the user's.
    pub(crate) fn is_given(&self) -> bool {
        self.is_given
    }

    /// The priority of packets with this path tag; 8 where it is not known.
    #[inline]
    pub(crate) fn of(&self, tag: u64) -> u8 {
        let dscp = path_tag::dscp(tag).map_or(64, usize::from);
        let pcp = path_tag::pcp(tag).map_or(8, usize::from);
        self.table.get(dscp).and_then(|row| row.get(pcp)).copied().unwrap_or(UNKNOWN)
    }
}
