//! Which priority a packet has: by the user's map, or by the last one of DCBX.
//!
//! Before any port says anything, a VLAN tag and the DSCP may both say it. If one of them is a priority that was paused, and the other is not, devices
//! go by that one. Else the tag holds, unless it says 0, as a tag without a priority does; and an eighth of the DSCP where there is no tag.

use crate::{
    analyze::{model::QosMap, packet::path_tag},
    report::PriorityBy,
};

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
    /// Priorities of which pauses were asked for, a bit for each.
    paused: u8,
    /// By DSCP and PCP, each with one more for none.
    table: Box<[[u8; 9]; 65]>,
}

impl Priorities {
    /// With the user's map, if there is one.
    pub(super) fn new(given: Option<QosMap>) -> Priorities {
        let mut new = Priorities {
            map: None,
            is_given: given.is_some(),
            paused: 0,
            table: Box::new([[UNKNOWN; 9]; 65]),
        };
        new.hold(given);
        new
    }

    /// DCBX says so, or does not any more. What the user says goes before it.
    pub(super) fn heard(&mut self, map: Option<QosMap>) {
        if !self.is_given && self.map != map {
            self.hold(map);
        }
    }

    /// Pauses were asked for, of these priorities so far: a bit for each.
    pub(super) fn were_paused(&mut self, priorities: u8) {
        if self.paused != priorities {
            self.paused = priorities;
            if self.map.is_none() {
                self.hold(None);
            }
        }
    }

    fn hold(&mut self, map: Option<QosMap>) {
        self.map = map;
        let Priorities { map, table, paused, .. } = self;
        for (dscp, row) in (0..).zip(table.iter_mut()) {
            for (pcp, priority) in (0..).zip(row) {
                let tags = (Some(dscp).filter(|&n| n < 64), Some(pcp).filter(|&n| n < 8));
                let known = match map {
                    Some(map) => map.priority(tags.0, tags.1),
                    None => without_map(tags, *paused).map(|(priority, _)| priority),
                };
                *priority = known.unwrap_or(UNKNOWN);
            }
        }
    }

    /// The priority of packets with this path tag, and what says it.
    pub(crate) fn by(&self, tag: u64) -> Option<(u8, PriorityBy)> {
        let tags = (path_tag::dscp(tag), path_tag::pcp(tag));
        match &self.map {
            _ if path_tag::lanes(tag).is_some() => None,
            Some(map) => map.priority(tags.0, tags.1).map(|priority| (priority, PriorityBy::Map)),
            None => without_map(tags, self.paused),
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

/// The priority by DSCP and PCP where there is no map, and which of them it is by.
fn without_map((dscp, pcp): (Option<u8>, Option<u8>), paused: u8) -> Option<(u8, PriorityBy)> {
    let (by_dscp, by_pcp) =
        (dscp.map(|dscp| (dscp >> 3, PriorityBy::Dscp)), pcp.map(|pcp| (pcp, PriorityBy::Pcp)));
    let (Some(dscp), Some(pcp)) = (by_dscp, by_pcp) else { return by_pcp.or(by_dscp) };
    let was_paused = |(priority, _): (u8, PriorityBy)| paused >> priority & 1 == 1;
    Some(match (was_paused(dscp), was_paused(pcp)) {
        (true, false) => dscp,
        (false, true) => pcp,
        _ if pcp.0 > 0 => pcp,
        _ => dscp,
    })
}
