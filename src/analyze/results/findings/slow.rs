//! The rule about slow flows: what their time went to.

use super::{
    evidence::{Evidence, MAX_SLOW, Seen},
    kin::Thing,
};
use crate::{
    in_order::InOrder,
    report::{
        Affected, PauseCulprit, SlowFlow, Space, TimeCause, TimeShare,
        units::{duration, percent, several},
    },
};

/// A flow that lost less time is not worth a finding.
const MIN_LOST_NS: u64 = 100_000;

/// Flows that lost most of their time to one cause: a finding for each cause.
pub(super) fn slow(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for cause in TimeCause::ALL.into_iter().filter(|cause| cause.is_trouble()) {
        let lost = |slow: &&SlowFlow| {
            let share = slow.shares.iter().find(|share| share.cause == cause)?.clone();
            (share.ns >= MIN_LOST_NS && share.ratio >= 0.5).then_some(share)
        };
        let mut all: Vec<(&SlowFlow, TimeShare)> =
            head.slow_flows.iter().filter_map(|slow| Some((slow, lost(&slow)?))).collect();
        all.order_by_key(|(slow, share)| (std::cmp::Reverse(share.ns), slow.flow));
        let Some((worst, share)) = all.first() else { continue };
        let several = match all.len() {
            1 => String::new(),
            n => format!("{} lost most of their time to it; the worst: ", several(n as u64, "flow")),
        };
        let text = format!(
            "{}: {several}{} → {} QP {:#x}{} lost {} of its {} ({})",
            cause.words_for(worst.space),
            worst.src,
            worst.dst,
            worst.dest_qp,
            if worst.space == Space::Response { ", with the data of READs," } else { "" },
            percent(share.ratio),
            duration(worst.lasted_ns),
            share.evidence
        );
        let affected = |(slow, share): &(&SlowFlow, TimeShare)| Affected {
            flow: slow.flow,
            count: [1, 1],
            loss_episodes: None,
            time_lost_ns: Some(share.ns),
        };
        // Its culprit, if pauses of one stopped the worst of them.
        let stops = |culprit: &&PauseCulprit| culprit.flows.iter().any(|flow| flow.flow == worst.flow);
        let culprits = head.pause_tree.iter().flat_map(|tree| &tree.culprits).filter(stops);
        let culprits = culprits.filter(|_| cause == TimeCause::Paused);
        let of: Vec<Thing> = culprits.flat_map(|one| Thing::begun_at(&one.device, one.priority)).collect();
        let seen = Seen {
            time: share.ns,
            frames: share.frame.into_iter().collect(),
            flows: (all.iter().take(MAX_SLOW).map(affected).collect(), all.len() as u64),
            advice: Some(format!("{}; the worst is flow {}", advice(cause), worst.flow).into()),
            ..Seen::new(all.len() as u64, text)
        };
        say(seen.kin([Thing::Time(cause)], of));
    }
}

/// Where to look when flows lost their time to this.
fn advice(cause: TimeCause) -> &'static str {
    match cause {
        TimeCause::Paused => "find out who paused it, and why: see the pauses",
        TimeCause::Throttled => {
            "its sender slowed down as it should: look for the congestion, at the switches that mark, and at who else sends to its receiver"
        }
        TimeCause::Recovering => "see what it retransmitted, and why: its losses, NAKs and timeouts",
        TimeCause::NotReady => {
            "this is the receiving application, not the network: post receive buffers earlier, or more of them"
        }
        TimeCause::ReceiverSlow => {
            "look at the receiver: its CPU, its PCIe, its adapter; a tap there shows whether it or the path is slow"
        }
        TimeCause::ResponderSlow => {
            "look at the responder, which reads its memory late: its PCIe, its adapter; a tap there shows whether it or the path is slow"
        }
        _ => "begin with the largest share",
    }
}
