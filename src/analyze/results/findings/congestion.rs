//! Rules about marks, CNPs, and many senders at once.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    classes::of_class,
    evidence::{Evidence, MAX_SLOW, Seen},
};
use crate::{
    in_order::InOrder,
    report::{
        Affected, Congestion, Head, Incast, MarkedFlow,
        units::{bits, bytes, count, duration, several},
    },
};

pub(super) fn notifications(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let &Congestion { cnps, ce_packets, pacing, .. } = &head.congestion;
    if cnps > 0 {
        let pacing = pacing.map_or_else(String::new, |pacing| format!(", paced {}", pacing.words()));
        let (cnps_seen, marked) = (several(cnps, "CNP"), several(ce_packets, "packet"));
        let text = format!("{cnps_seen}{pacing}; {marked} marked at the tap");
        say(Seen::new(cnps, text));
    }
}

pub(super) fn cnps_without_marks(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let &Congestion { cnps_without_ce, cnps_near_nak, cnps_for_losses, .. } = &head.congestion;
    if let Some(unmarked) = cnps_without_ce.filter(|&unmarked| unmarked > 0) {
        let near = match cnps_for_losses {
            Some(n) if n >= unmarked => "; all of them come with a NAK: they are sent for losses",
            Some(n) if n > 0 => "; some of them come with a NAK: those are sent for losses",
            None if cnps_near_nak > 0 => "; some of them come with a NAK: those may be sent for losses",
            _ if cnps_near_nak > 0 => {
                "; no more of them are near a NAK than chance makes, or few NAKs have one: the packets were marked after the tap"
            }
            _ => "; no NAK is near: the packets were marked after the tap",
        };
        let text =
            format!("{} to senders without a marked packet at the tap{near}", several(unmarked, "CNP"));
        say(Seen::new(unmarked, text));
    }
}

pub(super) fn marks_without_cnps(&Evidence { head, sums }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let &Congestion { cnps, becn_acks, ce_packets, ce_packets_one_way, .. } = &head.congestion;
    // Receivers of MRC say it in SACKs.
    let of_mrc: u64 = head.mrc.iter().map(|connection| connection.ce_packets).sum();
    // And where the other direction is not in the capture, no CNP can be seen.
    let marked = ce_packets.saturating_sub(sums.marked_by_senders + of_mrc + ce_packets_one_way);
    if marked == 0 || cnps + becn_acks > 0 {
        return;
    }
    let marked_packets = several(marked, "packet");
    // Native InfiniBand marks with FECN, and an ACK may have the answer.
    say(match head.is_native() {
        true => Seen {
            next: Some(Cow::Borrowed(
                "check that congestion control is on at the receiving port (CongestionControl's CA settings, which the subnet manager \
                 writes), and that the capture has the return path",
            )),
            ..Seen::new(
                marked,
                format!("{marked_packets} marked (FECN), and neither a CNP nor an ACK with BECN was seen"),
            )
        },
        false => Seen::new(marked, format!("{marked_packets} marked, and no CNP was seen")),
    });
}

/// A rule about flows with marks or CNPs: says how many are of this kind, and which has most.
pub(super) fn of_marked<'a>(
    head: &'a Head,
    say: &mut dyn FnMut(Seen),
    mut of: impl FnMut(&'a MarkedFlow) -> Option<u64>,
    text: impl Fn(&MarkedFlow, &str) -> String,
) {
    let mut found: Vec<(u64, &'a MarkedFlow)> =
        head.congestion.flows.iter().filter_map(|flow| Some((of(flow)?, flow))).collect();
    found.order_by_key(|&(n, _)| std::cmp::Reverse(n));
    let Some(&(_, worst)) = found.first() else { return };
    let qp = worst.dest_qp.map_or_else(String::new, |qp| format!("QP {qp:#x} "));
    let mut text = text(worst, &format!("{qp}{} → {}", worst.src, worst.dst));
    if found.len() > 1 {
        text += &format!("; {} in all", several(found.len() as u64, "flow"));
    }
    let all = found.iter().map(|&(n, _)| n).sum();
    let affected = |&(n, flow): &(u64, &MarkedFlow)| {
        Some(Affected { flow: flow.flow?, count: [n, n], time_lost_ns: None, loss_episodes: None })
    };
    let flows = found.iter().filter_map(affected).take(MAX_SLOW).collect();
    say(Seen {
        frames: worst.cnp_frames.clone(),
        flows: (flows, found.len() as u64),
        ..Seen::new(all, text)
    });
}

pub(super) fn ignored(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let ignores = |flow: &MarkedFlow| (flow.keeps_rate == Some(true)).then_some(flow.cnps);
    of_marked(head, say, ignores, |flow, name| {
        let rate = |bps: Option<u64>| bits(bps.unwrap_or(0) as f64);
        format!(
            "{name} keeps its rate: {} before the first of {}, {} from then on",
            rate(flow.rate_before_bps),
            several(flow.cnps, "CNP"),
            rate(flow.rate_after_bps)
        )
    });
}

pub(super) fn not_capable(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let is_not = |flow: &MarkedFlow| {
        (flow.cnps > 0 && flow.ect_packets == 0 && flow.not_ect_packets > 0).then_some(flow.not_ect_packets)
    };
    of_marked(head, say, is_not, |flow, name| {
        format!(
            "{name} receives {}, but none of its {} is ECN-capable",
            several(flow.cnps, "CNP"),
            several(flow.not_ect_packets, "data packet")
        )
    });
    let (flows, n) = (&head.qos.not_ect, head.qos.not_ect_count);
    let affected = |&flow: &usize| Affected { flow, count: [1, 1], time_lost_ns: None, loss_episodes: None };
    let what = "data that is not ECN-capable, in a class where the data of others is: switches drop it where they mark theirs, and no \
                CNP slows it";
    of_class(flows, n, what, &mut |seen| {
        say(Seen { flows: (flows.iter().map(affected).collect(), n), ..seen });
    });
}

pub(super) fn one_queue(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let shares = |flow: &MarkedFlow| flow.cnps_with_data.then_some(flow.cnps);
    of_marked(head, say, shares, |_, name| {
        format!(
            "the CNPs for {name} have the DSCP and the priority of its data: they wait in the same queues"
        )
    });
}

/// One finding for each receiver.
pub(super) fn incasts(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let lasted = |one: &Incast| one.end_ns.saturating_sub(one.start_ns).max(0) as u64;
    let mut receivers: BTreeMap<&str, Vec<&Incast>> = BTreeMap::new();
    for one in head.incast.iter().flatten() {
        receivers.entry(&one.receiver).or_default().push(one);
    }
    for (receiver, all) in receivers {
        let Some(worst) = all.iter().max_by_key(|one| one.peak_bps) else { continue };
        let time = all.iter().map(|one| lasted(one)).sum();
        let times = match all.len() {
            1 => String::new(),
            n => format!(" in {n} times, the worst one {} long", duration(lasted(worst))),
        };
        let text = format!(
            "{} sent {} to {receiver} together, more than its link carries, for {}{times}",
            several(worst.senders, "sender"),
            bits(worst.peak_bps as f64),
            duration(time)
        );
        say(Seen { time, ..Seen::new(all.iter().map(|one| one.bins).sum(), text) });
    }
}

/// One finding for all bursts that marks, CNPs, losses or pauses followed.
pub(super) fn microbursts(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let all = &head.microbursts;
    let followed = all.bursts.iter().filter(|burst| !burst.followed_by.is_empty());
    let Some((n, worst)) = all.followed.filter(|&n| n > 0).zip(followed.max_by_key(|burst| burst.bytes))
    else {
        return;
    };
    let effects = all.followed_by.iter().filter(|&(_, &n)| n > 0);
    let effects: Vec<String> =
        effects.map(|(effect, &n)| format!("{} with {}", count(n), effect.words())).collect();
    let text = format!(
        "{} of {} had consequences ({}); the largest of these: {} to {} in {}, {} over 10 µs, in a second with a mean of {}",
        count(n),
        several(all.count.unwrap_or(n), "microburst"),
        effects.join(", "),
        bytes(worst.bytes),
        worst.receiver,
        duration(worst.duration_ns),
        bits(worst.peak_10us_bps as f64),
        bits(worst.mean_bps as f64)
    );
    say(Seen::new(n, text));
}

pub(super) fn no_becn(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let &Congestion { cnps, cnps_without_becn: n, .. } = &head.congestion;
    if n > 0 {
        say(Seen::new(n, format!("{} of {} without the BECN bit", count(n), several(cnps, "CNP"))));
    }
}

pub(super) fn cnp_body(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let &Congestion { cnps, cnps_with_body: n, .. } = &head.congestion;
    if n > 0 {
        let text =
            format!("{} of {} with other bytes than zeros in their body", count(n), several(cnps, "CNP"));
        say(Seen::new(n, text));
    }
}

pub(super) fn marked_control(&Evidence { head, sums }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let n = head.congestion.ce_control_packets.saturating_sub(sums.control_by_senders);
    if n > 0 {
        say(Seen::new(n, format!("{} (ACKs or CNPs) marked (CE)", several(n, "control packet"))));
    }
}
