//! The flows of a report by their addresses.

use std::{collections::BTreeMap, net::IpAddr};

use super::notes::Note;
use crate::{
    analyze::{FlowId, vni_of},
    dissect::{Address, Dissection},
    report::View,
    wire::Bth,
};

/// The numbers of flows and connections, by source, destination, queue pair, virtual network, and the time of the first packet: a queue pair number
/// may be used again.
#[derive(Debug, Default)]
pub(super) struct Directory(BTreeMap<(Ends, i64), Known>);

type Ends = (Address, Address, u32, Option<u32>);

/// A flow as the report has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) flow: usize,
    pub(super) connection: Option<u32>,
    /// The sender's queue pair.
    pub(super) peer_qp: Option<u32>,
    /// When it began.
    pub(super) first_ns: i64,
}

impl Directory {
    pub(super) fn of(report: &View<'_>) -> Directory {
        let mut all = BTreeMap::new();
        for (flow, row) in report.flows.iter().enumerate() {
            let (Ok(src), Ok(dst)) = (row.src.parse(), row.dst.parse()) else { continue };
            let (peer_qp, first_ns) = (row.peer_qp, row.first_ns);
            let known = Known { flow, connection: row.connection, peer_qp, first_ns };
            all.insert(((src, dst, row.dest_qp, row.vni), first_ns), known);
        }
        Directory(all)
    }

    /// The flow of a packet.
    pub(super) fn find(&self, d: &Dissection<'_>, time: i64) -> Option<&Known> {
        let ends = ends(d)?;
        let (_, known) = self.0.range((ends, i64::MIN)..=(ends, time)).next_back()?;
        Some(known)
    }
}

/// The flows of an analysis that goes on, by their ends: their number, and when they began.
#[derive(Debug, Default)]
pub(super) struct Begun(BTreeMap<Ends, (FlowId, i64)>);

/// Flows that are remembered.
const MOST: usize = 1 << 20;

impl Begun {
    /// The flow of a packet. The first packet of a flow is noted, and tells its number.
    pub(super) fn of(&mut self, d: &Dissection<'_>, note: &Note, time: i64) -> Option<(FlowId, i64)> {
        let ends = ends(d)?;
        match (note.flow, self.0.get(&ends)) {
            (Some(flow), known) if known.is_none_or(|(known, _)| *known != flow) => {
                if self.0.len() >= MOST {
                    self.0.clear();
                }
                self.0.insert(ends, (flow, time));
                Some((flow, time))
            }
            (_, known) => known.copied(),
        }
    }
}

/// Source, destination, queue pair and virtual network. A report writes a GID as an IPv6 address.
fn ends(d: &Dissection<'_>) -> Option<Ends> {
    let plain = |address| match address {
        Address::Gid(gid) => Address::Ip(IpAddr::V6(gid)),
        other => other,
    };
    let [src, dst] = d.addresses()?.map(plain);
    Some((src, dst, d.get::<Bth>()?.dest_qp().0, vni_of(d)))
}
