//! Receivers that send fewer CNPs than marks should trigger.

use std::collections::HashMap;

use super::{
    congestion::of_marked,
    evidence::{Evidence, Seen},
};
use crate::report::{
    Congestion, MarkedFlow, Pacing,
    units::{count, several},
};

/// CNPs from which on missing ones say something.
const MANY_CNPS: u64 = 16;
/// So many marks bring at least one CNP, whatever its limit is.
const MANY_MARKS: u64 = 64;

/// What the flows that share one limit of CNPs should get together, and what they got.
#[derive(Clone, Copy, Default)]
struct Limited {
    flows: u64,
    marks: u64,
    expected: u64,
    seen: u64,
}

impl Limited {
    fn is_short(&self) -> bool {
        self.expected >= MANY_CNPS && self.seen * 2 < self.expected
    }
}

/// Who shares a limit of CNPs with this flow: nobody, its pair of addresses, or all that its receiver answers.
fn sharing(pacing: Option<Pacing>, flow: &MarkedFlow) -> (&str, Option<&str>, [Option<u32>; 2]) {
    match pacing {
        Some(Pacing::PerPort) => (&flow.dst, None, [None; 2]),
        Some(Pacing::PerIpPair) => (&flow.dst, Some(&flow.src), [None; 2]),
        _ => (&flow.dst, Some(&flow.src), [flow.dest_qp, flow.src_qp]),
    }
}

pub(super) fn missing_cnps<'a>(&Evidence { head, sums }: &Evidence<'a>, say: &mut dyn FnMut(Seen)) {
    let &Congestion { ref flows, pacing, .. } = &head.congestion;
    // Of each receiver that sends CNPs, these and the marks that it got.
    let mut notifies: HashMap<&str, [u64; 2]> = HashMap::new();
    for flow in flows {
        let [cnps, marks] = notifies.entry(flow.dst.as_str()).or_default();
        (*cnps, *marks) = (*cnps + flow.cnps, *marks + flow.ce_packets);
    }
    notifies.retain(|_, [cnps, _]| *cnps > 0);
    // Which of the flows that share a limit gets a CNP hangs on microseconds: they are judged together.
    let mut limits: HashMap<_, Limited> = HashMap::new();
    for flow in flows {
        let limit = limits.entry(sharing(pacing, flow)).or_default();
        let expected = flow.expected_cnps.unwrap_or(0);
        limit.flows += u64::from(expected > 0);
        limit.marks += if expected > 0 { flow.ce_packets } else { 0 };
        limit.expected += expected;
        limit.seen += flow.cnps;
    }
    let mut left: HashMap<_, u64> = limits
        .iter()
        .filter(|(_, limit)| limit.is_short())
        .map(|(&key, limit)| (key, limit.expected - limit.seen))
        .collect();
    let missing = |flow: &'a MarkedFlow| {
        if flow.flow.is_some_and(|at| sums.senders.contains(&at)) {
            return None;
        }
        let Some(expected) = flow.expected_cnps else {
            // Too few CNPs of others show no limit. A receiver that sends none at all sends too few by any; so does one that sends others many,
            // of which this flow's marks have a large share.
            let is_seen = !flow.why.contains_key("expected_cnps") && !notifies.is_empty();
            let is_left_out = |&[cnps, marks]: &[u64; 2]| {
                flow.cnps == 0
                    && u128::from(cnps) * u128::from(flow.ce_packets)
                        >= u128::from(MANY_CNPS) * u128::from(marks)
            };
            let is_mute = is_seen && notifies.get(flow.dst.as_str()).is_none_or(is_left_out);
            return (is_mute && flow.ce_packets >= MANY_MARKS).then_some(flow.ce_packets);
        };
        // In all, no more than are missing.
        let left = left.get_mut(&sharing(pacing, flow))?;
        let its = expected.saturating_sub(flow.cnps).min(*left);
        *left -= its;
        (its > 0).then_some(its)
    };
    of_marked(head, say, missing, |flow, name| {
        let marked = several(flow.ce_packets, "CE-marked packet");
        let limit = limits.get(&sharing(pacing, flow)).copied().unwrap_or_default();
        match flow.expected_cnps {
            None => {
                format!("{name} has {marked}, and its receiver sent no CNP for it, while others got some")
            }
            Some(_) => {
                let whose = match limit.flows > 1 {
                    true => format!(
                        "{name} and {} that share its limit have {}",
                        several(limit.flows - 1, "flow"),
                        several(limit.marks, "CE-marked packet")
                    ),
                    false => format!("{name} has {marked}"),
                };
                format!(
                    "{whose}, which should trigger {} at this capture's pacing: {} seen",
                    several(limit.expected, "CNP"),
                    count(limit.seen)
                )
            }
        }
    });
}
