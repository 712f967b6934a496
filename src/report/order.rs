//! The order of flows, and the search for a flow.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use super::{Flow, Stream, View, figure::Column};
use crate::grammar::units;

/// The order of flows: the largest value first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// [`trouble`].
    #[default]
    Trouble,
    /// Packets.
    Packets,
    /// Bytes on the wire.
    Bytes,
    /// Retransmissions, of requests and responses.
    Retransmits,
    /// Packets that came out of order.
    OutOfOrder,
    /// Losses that the capture shows.
    Losses,
    /// Packets marked "congestion experienced" (CE).
    Marks,
    /// The 99th percentile of the time to an acknowledgement.
    Latency,
    /// When it began: the earliest first.
    Time,
}

impl Sort {
    /// All of them, by name.
    pub const ALL: [(&'static str, Sort); 9] = [
        ("trouble", Sort::Trouble),
        ("packets", Sort::Packets),
        ("bytes", Sort::Bytes),
        ("retransmits", Sort::Retransmits),
        ("out-of-order", Sort::OutOfOrder),
        ("losses", Sort::Losses),
        ("marks", Sort::Marks),
        ("latency", Sort::Latency),
        ("time", Sort::Time),
    ];

    /// The order of this name; or by the figure of this name, or by the column of flows with this head.
    pub fn by_name(name: &str) -> Option<Sort> {
        let is_of = |sort: &Sort| {
            sort.figure().is_some_and(|column| {
                let figure = column.figure;
                figure.names.contains(&name) || figure.label.eq_ignore_ascii_case(name)
            })
        };
        let own = Sort::ALL.into_iter().find(|(own, _)| *own == name);
        own.or_else(|| Sort::ALL.into_iter().find(|(_, sort)| is_of(sort))).map(|(_, sort)| sort)
    }

    /// The figure that orders flows; none by time.
    const fn figure(self) -> Option<Column> {
        Some(match self {
            Sort::Trouble => const { Column::named("trouble") },
            Sort::Packets => const { Column::named("packets") },
            Sort::Bytes => const { Column::named("wire_bytes") },
            Sort::Retransmits => const { Column::named("retransmits") },
            Sort::OutOfOrder => const { Column::named("out_of_order") },
            Sort::Losses => const { Column::named("loss_episodes") },
            Sort::Marks => const { Column::named("ce_packets") },
            Sort::Latency => const { Column::named("ack_rtt.p99") },
            Sort::Time => return None,
        })
    }

    fn key(self, flow: &Flow) -> u64 {
        self.figure().map_or(u64::MAX - (flow.first_ns as u64 ^ 1 << 63), |figure| figure.least(flow))
    }
}

/// How much trouble a flow is in. A queue pair that gave up, NAKs that end the connection, timeouts, and NAKs that were answered weigh
/// most, for they stall it; then packets that were retransmitted or surely lost; then late and marked packets. NAKs weigh little on the flow
/// that carries them, where the one that they answer was captured. A flow without trouble has 0.
pub fn trouble(flow: &Flow) -> u64 {
    // A report may come from a stranger's file: sums saturate.
    let weigh = |all: &[(u64, u64)]| {
        all.iter().fold(0u64, |sum, (weight, count)| sum.saturating_add(weight.saturating_mul(*count)))
    };
    let stream = |stream: &Stream| {
        let lost = stream.losses.on_network().map_or(0, |[least, _]| least);
        weigh(&[
            (100, stream.triggers.timeout),
            (100, stream.triggers.nak),
            (100, stream.triggers.rnr),
            (10, stream.retransmits),
            (10, lost),
            (1, stream.out_of_order),
            (1, stream.ambiguous),
        ])
    };
    let of_nak = if flow.connection.is_some() { 1 } else { 100 };
    weigh(&[
        (1000, flow.naks.fatal()),
        (1000, (flow.gave_up.is_some() || flow.unanswered_tries.is_some()).into()),
        (of_nak, flow.naks.psn_sequence_error),
        (of_nak, flow.rnr_naks),
        (1, stream(&flow.requests)),
        (1, stream(&flow.responses)),
        (10, flow.icrc.bad),
        (10, flow.vcrc.map_or(0, |of| of.bad)),
        (10, flow.messages.broken),
    ])
}

/// Flows of a report, by their index, in an order.
pub fn sorted(report: &View<'_>, sort: Sort) -> Vec<usize> {
    first(report, sort, usize::MAX)
}

/// The first `most` flows in an order.
pub(super) fn first(report: &View<'_>, sort: Sort, most: usize) -> Vec<usize> {
    // The smallest flow is on top. A larger one replaces it.
    let mut first = BinaryHeap::new();
    let mut show = |at, flow: &Flow| {
        let key = (Reverse((sort.key(flow), flow.packets)), at);
        if first.len() < most {
            first.push(key);
        } else if let Some(mut last) = first.peek_mut().filter(|last| key < **last) {
            *last = key;
        }
    };
    match sort {
        Sort::Latency => report.flows.iter().enumerate().for_each(|(at, flow)| show(at, &flow)),
        Sort::Trouble => report.flows.each_in_trouble(&mut |at, flow| {
            if trouble(flow) > 0 {
                show(at, flow);
            }
        }),
        _ => report.flows.each_outline(&mut show),
    }
    let mut first: Vec<usize> = first.into_sorted_vec().into_iter().map(|(_, at)| at).collect();
    if sort == Sort::Trouble {
        // Flows without trouble follow in the order of the report.
        let mut in_trouble = first.clone();
        in_trouble.sort_unstable();
        let others = (0..report.flows.len()).filter(|at| in_trouble.binary_search(at).is_err());
        first.extend(others.take(most - in_trouble.len()));
    }
    first
}

/// The flow with this number in the list, or with this source, destination and queue pair
/// ("10.0.0.1,10.0.0.2,0x12"); of several epochs the last. In several virtual networks, and in several encapsulations, there may be flows with
/// the same: then only the number says which is meant. The error says what is wrong with `which`.
pub fn find_flow(report: &View<'_>, which: &str) -> Result<usize, String> {
    let flows = report.flows.len();
    if let Ok(number) = which.trim_start_matches('#').parse::<usize>() {
        return match number < flows {
            true => Ok(number),
            false => Err(format!("no flow {number}: there are {flows}, numbered from 0")),
        };
    }
    let parts: Vec<&str> = which.split(',').map(str::trim).collect();
    let [src, dst, qp] = parts[..] else {
        return Err(format!("{which:?} is neither a flow's number nor SOURCE,DESTINATION,QP"));
    };
    let qp = units::qpn(qp).map_err(|_| format!("{qp:?} is not the number of a queue pair"))?.0;
    let mut last: BTreeMap<_, (u32, usize)> = BTreeMap::new();
    report.flows.each_outline(&mut |at, flow| {
        if flow.dest_qp == qp
            && let Some(flow) = report.flows.row(at).filter(|flow| flow.src == src && flow.dst == dst)
        {
            let last = last.entry((flow.vni, flow.encapsulation)).or_default();
            *last = (*last).max((flow.epoch, at));
        }
    });
    let mut all = last.iter().map(|(&kind, &(_, at))| (at, kind)).collect::<Vec<_>>();
    all.sort_unstable();
    match all[..] {
        [] => Err(format!("no flow from {src} to {dst} queue pair {qp:#x}")),
        [(only, _)] => Ok(only),
        _ => {
            let names = all.iter().map(|(at, (vni, encapsulation))| match vni {
                Some(vni) => format!("{at} ({encapsulation}, VNI {vni})"),
                None => format!("{at} ({encapsulation})"),
            });
            let names = names.collect::<Vec<_>>().join(", ");
            Err(format!(
                "several flows are from {src} to {dst} queue pair {qp:#x}: give the number of one, {names}"
            ))
        }
    }
}
