//! The sections beside the flows: congestion, pauses, overhead, source ports, intervals.

use std::{collections::BTreeMap, io};

use super::{
    page::{Page, Paint},
    some,
};
use crate::report::{
    Balance, BurstEffect, Congestion, Credits, DcbxPort, Dcqcn, HostStorm, Incast, Microbursts, Overhead,
    Pause, PauseCulprit, PauseDeadlock, PauseTree, PauseVictim, Ports, PriorityBy, Qos, Reason, SlowFlow,
    Space, TrafficClass, View, clean,
    units::{bits, bits_per_second, bytes, count, duration, percent, plural, priority, several},
};

pub(super) fn blocks(report: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let mut block = |name: &str, text: String| page.wrapped(Paint::Heading, &format!("{name:<12}"), &text);
    block("Congestion", congestion(&report.head.congestion))?;
    marked_flows(&report.head.congestion, page)?;
    slow_flows(report, page)?;
    if let Some(incast) = report.head.incast.as_deref().filter(|incast| !incast.is_empty()) {
        page.wrapped(Paint::Heading, "Incast      ", &incasts(incast))?;
    }
    if report.head.microbursts.count.is_some_and(|count| count > 0) {
        page.wrapped(Paint::Heading, "Microbursts ", &microbursts(&report.head.microbursts))?;
    }
    credits(&report.head.credits, page)?;
    classes(&report.head.traffic_classes, page)?;
    if !report.head.qos.dcbx.is_empty() {
        page.wrapped(Paint::Heading, "DCBX        ", &dcbx(&report.head.qos))?;
    }
    let mut block = |name: &str, text: String| page.wrapped(Paint::Heading, &format!("{name:<12}"), &text);
    block("Pause", pause(report.head.pause.as_deref(), report.head.why.get("pause")))?;
    match (&report.head.pause_tree, report.head.why.get("pause_tree")) {
        (Some(tree), _) => pause_tree(tree).map_or(Ok(()), |tree| block("Pause tree", tree))?,
        // The links are known: only the speed is missing.
        (None, Some(Reason::UnknownSpeed)) => {
            block("Pause tree", "not known: pause times need the link's speed: --speed".into())?;
        }
        _ => {}
    }
    block("Overhead", overhead(&report.head.overhead))?;
    if let Some(ports) = &report.head.ports {
        block("Ports", source_ports(ports))?;
    }
    balance(report).map_or(Ok(()), |text| block("Links", text))
}

pub(in crate::report) fn congestion(c: &Congestion) -> String {
    if c.ect_packets == 0 && c.cnps == 0 {
        return "no packet is ECN-capable, and there are no CNPs".into();
    }
    let mut text = match c.ce_ratio {
        Some(ratio) => format!("{} of the ECN-capable data packets are marked (CE)", percent(ratio)),
        None => "no data packet is ECN-capable".into(),
    };
    if c.ce_control_packets > 0 {
        text += &format!(", and {} (ACKs or CNPs)", several(c.ce_control_packets, "control packet"));
    }
    text += &match c.cnps {
        0 => "; no CNPs".to_owned(),
        n => format!("; {}", several(n, "CNP")),
    };
    if let Some(gaps) = c.cnp_interval_ns.per_qp {
        text += &format!(", per queue pair {} apart in the median", duration(gaps.p50));
    }
    if let (Some(scope), Some(ns)) = (c.pacing, c.pacing_interval_ns) {
        text += &format!(", paced at {} or more {}", duration(ns), scope.words());
        if let Some(sure) = c.pacing_confidence {
            text += &format!(" (inferred, {})", sure.name());
        }
    }
    if let Some(expected) = c.expected_cnps.filter(|_| c.ce_packets > 0) {
        text += &format!("; the marks should trigger {}", count(expected));
    }
    if c.cnps_without_ce > 0 {
        text += &format!(
            "; {} to senders without a marked packet: the congestion is after the tap, or the CNPs answer losses",
            several(c.cnps_without_ce, "CNP")
        );
    }
    if c.cnps_near_nak > 0 {
        text += &format!("; {} within 5 µs of a NAK", count(c.cnps_near_nak));
    }
    if c.cnps_unattributed > 0 {
        text +=
            &format!("; {} target flows that are not in the capture", several(c.cnps_unattributed, "CNP"));
    }
    if c.becn_acks > 0 {
        text += &format!("; {} with BECN", several(c.becn_acks, "ACK"));
    }
    text
}

/// Most flows whose marks and CNPs are written.
const MAX_MARKED: usize = 10;

/// Most flows whose models are written.
const MAX_REPLAYS: usize = 3;

fn replayed(dcqcn: &Dcqcn) -> String {
    let off = |ratio: f64| format!("{} off", percent(ratio));
    let others =
        dcqcn.models.iter().skip(1).map(|model| format!("{} {}", clean(&model.name), off(model.error_ratio)));
    let others = others.collect::<Vec<_>>().join(", ");
    let start = match dcqcn.start_is_speed {
        true => "the link's speed",
        false => "its rate before",
    };
    let best = match (&*dcqcn.best, dcqcn.fits) {
        ("none", true) => "nearest is a sender that ignores CNPs".to_owned(),
        (name, true) => format!("parameters {} fit best", clean(name)),
        (name, false) => format!("no parameters fit; nearest: {}", clean(name)),
    };
    format!("{best}, {} ({others}); from {start}", off(dcqcn.error_ratio))
}

fn marked_flows(c: &Congestion, page: &mut Page<'_>) -> io::Result<()> {
    if c.flows.iter().all(|flow| flow.cnps == 0) {
        return Ok(());
    }
    let head = [
        "#", "from", "to", "QP", "CE", "CNP", "due", "loss", "unmarked", "latency", "before", "after",
        "reaction",
    ];
    let mut table = page.table(&head, &[1, 2]);
    for flow in c.flows.iter().take(MAX_MARKED) {
        let rate = |bps: Option<u64>| bps.map_or_else(String::new, |bps| bits(bps as f64));
        table.row([
            flow.flow.map_or_else(String::new, |at| at.to_string()),
            clean(&flow.src).into_owned(),
            clean(&flow.dst).into_owned(),
            flow.dest_qp.map_or_else(String::new, |qp| format!("{qp:#x}")),
            some(flow.ce_packets),
            some(flow.cnps),
            flow.expected_cnps.map_or_else(String::new, count),
            some(flow.cnps_for_losses.unwrap_or(0)),
            some(flow.cnps_unmarked.unwrap_or(0)),
            flow.ce_to_cnp_ns.map_or_else(String::new, |latency| duration(latency.p50)),
            rate(flow.rate_before_bps),
            rate(flow.rate_after_bps),
            match (flow.keeps_rate, flow.reaction_ratio) {
                (Some(true), _) => "none".into(),
                (_, Some(ratio)) => format!("× {ratio:.2}"),
                _ => String::new(),
            },
        ]);
    }
    page.put_table(&table)?;
    let replays = c.flows.iter().filter_map(|flow| Some((flow, flow.dcqcn.as_ref()?)));
    for (flow, dcqcn) in replays.take(MAX_REPLAYS) {
        let at = flow.flow.map_or_else(String::new, |at| format!(" #{at}"));
        page.wrapped(Paint::Plain, "  ", &format!("DCQCN model of{at}: {}", replayed(dcqcn)))?;
    }
    if c.flow_count > MAX_MARKED as u64 {
        let more = several(c.flow_count - MAX_MARKED as u64, "more flow");
        page.line(&format!("  and {more} with marks or CNPs (--json has them)"))?;
    }
    Ok(())
}

/// Most slow flows that are written.
const MAX_SLOW: usize = 5;
/// Most shares of a flow that are written in its line.
const MAX_SHARES: usize = 4;
/// A flow that lost a smaller share of its time is not written: so many hundredths.
const WORTH_A_LINE: u64 = 10;

/// The shares of a flow's time in one line.
pub(super) fn shares(slow: &SlowFlow) -> String {
    let named = slow
        .shares
        .iter()
        .map(|share| format!("{} {}", share.cause.words_for(slow.space), percent(share.ratio)));
    let mut text = named.take(MAX_SHARES).collect::<Vec<_>>().join(", ");
    if slow.shares.len() > MAX_SHARES {
        let rest: f64 = slow.shares.iter().skip(MAX_SHARES).map(|share| share.ratio).sum();
        text += &format!(", others {}", percent(rest));
    }
    text
}

/// Flows that lost much of their time to trouble.
fn slow_flows(report: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let lost_much =
        |slow: &&SlowFlow| slow.lost_ns.saturating_mul(100) >= slow.lasted_ns.saturating_mul(WORTH_A_LINE);
    let all: Vec<&SlowFlow> = report.head.slow_flows.iter().filter(lost_much).collect();
    for (n, slow) in all.iter().take(MAX_SLOW).enumerate() {
        let name = if n == 0 { "Slow        " } else { "            " };
        let text = format!(
            "#{} {} → {} QP {:#x}{}, {}: {}",
            slow.flow,
            clean(&slow.src),
            clean(&slow.dst),
            slow.dest_qp,
            if slow.space == Space::Response { ", READ data" } else { "" },
            duration(slow.lasted_ns),
            shares(slow)
        );
        page.wrapped(Paint::Heading, name, &text)?;
    }
    if all.len() > MAX_SLOW {
        let more = several((all.len() - MAX_SLOW) as u64, "more flow");
        page.line(&format!("  and {more} (--json has them)"))?;
    }
    Ok(())
}

pub(in crate::report) fn incasts(all: &[Incast]) -> String {
    let sum: u64 = all.iter().map(|one| one.end_ns.saturating_sub(one.start_ns).max(0) as u64).sum();
    let Some(worst) = all.iter().max_by_key(|one| one.peak_bps) else { return String::new() };
    format!(
        "{}, {} in all; the worst: {} to {} at {} together, for {}",
        several(all.len() as u64, "time"),
        duration(sum),
        several(worst.senders, "sender"),
        clean(&worst.receiver),
        bits(worst.peak_bps as f64),
        duration(worst.end_ns.saturating_sub(worst.start_ns).max(0) as u64)
    )
}

pub(in crate::report) fn microbursts(all: &Microbursts) -> String {
    let n = all.count.unwrap_or(0);
    let mut text = format!(
        "{} of a millisecond at most with {} or more to one receiver",
        several(n, "time"),
        bits(all.threshold_bps.unwrap_or(0) as f64)
    );
    if let Some(largest) = all.bursts.first() {
        text += &format!(
            "; the largest: {} to {} in {}, {} over 10 µs, by {} of {}",
            bytes(largest.bytes),
            clean(&largest.receiver),
            duration(largest.duration_ns),
            bits(largest.peak_10us_bps as f64),
            several(largest.flows, "flow"),
            several(largest.senders, "sender"),
        );
    }
    if let Some(followed) = all.followed.filter(|&n| n > 0) {
        text += &format!("; {} with {}", count(followed), effects(&all.followed_by));
    }
    text
}

/// What bursts were followed by: "marks (3), pauses (1)".
fn effects(all: &BTreeMap<BurstEffect, u64>) -> String {
    all.iter().map(|(effect, &n)| format!("{} ({})", effect.words(), count(n))).collect::<Vec<_>>().join(", ")
}

/// Most lanes that are written.
const MAX_LANES: usize = 16;

fn credits(all: &[Credits], page: &mut Page<'_>) -> io::Result<()> {
    for (n, one) in all.iter().take(MAX_LANES).enumerate() {
        page.wrapped(Paint::Heading, if n == 0 { "Credits     " } else { "            " }, &credits_of(one))?;
    }
    if all.len() > MAX_LANES {
        page.line(&format!("  and {} more (--json has them)", count((all.len() - MAX_LANES) as u64)))?;
    }
    Ok(())
}

/// The credits of one end on one lane, in a line.
pub(in crate::report) fn credits_of(one: &Credits) -> String {
    let place = format!("port {} of {}, VL {}", one.port, clean(&one.link), one.vl);
    let Some((least, most)) = one.least.zip(one.most) else {
        let why = one.why.get("least").map_or("", |why| why.words());
        return format!("{place}: {}; credits are not known: {why}", several(one.packets, "link packet"));
    };
    let mut text = format!("{place}: {least} to {most} blocks of 64 bytes left");
    if let Some(mean) = one.mean {
        text += &format!(", {mean:.1} on average");
    }
    text += &match (one.stalls.unwrap_or(0), one.stalled_ns, one.stall_ratio) {
        (0, ..) => "; never exhausted".to_owned(),
        (n, ns, ratio) => format!(
            "; exhausted {}, for {} ({})",
            several(n, "time"),
            duration(ns.unwrap_or(0)),
            percent(ratio.unwrap_or(0.0))
        ),
    };
    text
}

/// Most classes that are written.
const MAX_CLASSES: usize = 12;

fn classes(all: &[TrafficClass], page: &mut Page<'_>) -> io::Result<()> {
    // One class is in the flows already, unless something is known of its priority.
    if all.len() < 2 && all.iter().all(|class| class.pfc.is_none()) {
        return Ok(());
    }
    let is_native = all.iter().any(|class| class.sl.is_some());
    let name = if is_native { "SL/VL" } else { "DSCP/PCP" };
    page.wrapped(Paint::Heading, "Classes     ", &format!("by {name}"))?;
    let head = [
        name, "priority", "packets", "rate", "WRITE", "SEND", "READ", "atomic", "ACK", "CNP", "CE", "resent",
        "lost", "paused", "ACK p50",
    ];
    let mut table = page.table(&head, &[]);
    let number = |n: Option<u8>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    for class in all.iter().take(MAX_CLASSES) {
        let o = class.operations;
        let names = if class.sl.is_some() { (class.sl, class.vl) } else { (class.dscp, class.pcp) };
        let mut priority = number(class.priority);
        match (class.pfc, class.priority_by) {
            (Some(true), _) => priority += " PFC",
            (Some(false), _) => priority += " lossy",
            (None, Some(PriorityBy::Dscp)) => priority += "?",
            _ => {}
        }
        table.row([
            format!("{}/{}", number(names.0), number(names.1)),
            priority,
            count(class.packets),
            class.rate_bps.map_or_else(String::new, |bps| bits(bps as f64)),
            some(o.writes),
            some(o.sends),
            some(o.read_requests + o.read_responses),
            some(o.atomics),
            some(o.acks),
            some(o.cnps),
            some(class.ce_packets),
            some(class.retransmits),
            class.lost.map_or_else(String::new, |[least, _]| {
                if least > 0 { format!("≥{}", count(least)) } else { String::new() }
            }),
            class.paused_ns.filter(|&ns| ns > 0).map_or_else(String::new, duration),
            class.ack_rtt_ns.map_or_else(String::new, |rtt| duration(rtt.p50)),
        ]);
    }
    page.put_table(&table)?;
    if all.len() > MAX_CLASSES {
        let more = several((all.len() - MAX_CLASSES) as u64, "more class");
        page.line(&format!("  and {more} (--json has them)"))?;
    }
    Ok(())
}

/// Most ports that are written.
const MAX_PORTS: usize = 4;

/// What ports say of their priorities.
fn dcbx(qos: &Qos) -> String {
    let list = |numbers: &[u8]| match numbers {
        [] => "none".to_owned(),
        some => some.iter().map(u8::to_string).collect::<Vec<_>>().join(" "),
    };
    let one = |port: &DcbxPort| {
        let name = port.port.as_deref().map_or_else(String::new, |name| format!(" ({})", clean(name)));
        let mut text = format!("{}{name} on {}", port.sender, clean(&port.link));
        if let Some(pfc) = &port.pfc {
            text += &format!(": PFC on {} {}", plural(pfc.len() as u64, "priority"), list(pfc));
        }
        if port.pfc_willing == Some(true) {
            text += ", or what its neighbor has";
        }
        if let Some(bandwidth) = &port.bandwidth_percent {
            text += &format!("; bandwidth of the classes {} %", list(bandwidth));
        }
        match port.applications.len() {
            0 => {}
            n => text += &format!("; {}", several(n as u64, "application priority")),
        }
        text
    };
    let mut text = qos.dcbx.iter().take(MAX_PORTS).map(one).collect::<Vec<_>>().join(". ");
    if qos.dcbx.len() > MAX_PORTS {
        text += &format!(". And {}", several((qos.dcbx.len() - MAX_PORTS) as u64, "more port"));
    }
    if qos.map_from_dcbx {
        text += ". The priorities above are those of DCBX";
    }
    text
}

pub(in crate::report) fn pause(pause: Option<&[Pause]>, why: Option<&Reason>) -> String {
    let Some(all) = pause else {
        return match why {
            Some(Reason::NoPfcVisibility) | None => {
                "not known: the capture has no MAC control frames, which mirrors and most adapters do not show".into()
            }
            Some(why) => format!("not known: {}", why.words()),
        };
    };
    if all.is_empty() {
        return "none".into();
    }
    let one = |p: &Pause| {
        let what = priority(p.priority);
        let mut text =
            format!("{} {} {what}: {} XOFF, {} XON", p.link, p.sender, count(p.xoff), count(p.xon));
        if let (Some(ns), Some(n), Some(longest)) = (p.paused_ns, p.intervals, p.longest_ns) {
            text += &format!(", paused {} in {}, longest {}", duration(ns), count(n), duration(longest));
        }
        if let Some(n) = p.after_marks.filter(|&n| n > 0) {
            text += &format!(", {} of them within 1 ms after marks or CNPs", count(n));
        }
        if let Some(duty) = p.duty_ratio {
            let ended =
                p.ended.iter().map(|(how, n)| format!("{} {}", count(*n), how.words())).collect::<Vec<_>>();
            text += &format!(" ({} of the time; ended: {})", percent(duty), ended.join(", "));
        }
        if let Some(did) = p.effect.filter(|did| did.flows > 0) {
            text +=
                &format!(", stopped {} for up to {}", several(did.flows, "flow"), duration(did.effective_ns));
            if did.timeouts > 0 {
                text += &format!(
                    " and caused {} with {}",
                    several(did.timeouts, "timeout"),
                    several(did.retransmits, "retransmitted packet")
                );
            }
        }
        if let Some(came) = p.violations.filter(|came| came.frames > 0) {
            text += &format!(
                ", not honored by {}, up to {} after its beginning",
                several(came.frames, "frame"),
                duration(came.latest_ns)
            );
        }
        if let Some(n) = p.storms.as_ref().map(Vec::len).filter(|&n| n > 0) {
            text += &format!(", {}", several(n as u64, "storm"));
        }
        text
    };
    let mut text = all.iter().take(3).map(one).collect::<Vec<_>>().join("; ");
    if all.len() > 3 {
        text += &format!("; and {} more", all.len() - 3);
    }
    if all.iter().any(|p| p.paused_ns.is_none()) {
        text += " (durations need the link's speed: --speed)";
    }
    text
}

/// Most flows that are named for each culprit.
const MAX_VICTIMS: usize = 4;

/// The flows that a culprit's pauses stopped, directly and through other devices.
fn victims(culprit: &PauseCulprit) -> String {
    let of = |is_direct: bool, what: &str| {
        let all = || culprit.flows.iter().filter(|flow| flow.is_direct == is_direct);
        let name = |flow: &PauseVictim| {
            let (src, dst) = (clean(&flow.src), clean(&flow.dst));
            format!("#{} {src} → {dst} {}", flow.flow, duration(flow.stopped_ns))
        };
        let named: Vec<String> = all().take(MAX_VICTIMS).map(name).collect();
        match all().count() - named.len() {
            _ if named.is_empty() => String::new(),
            0 => format!("; {what} {}", named.join(", ")),
            more => format!("; {what} {} and {more} more", named.join(", ")),
        }
    };
    let unlisted = match culprit.flow_count.saturating_sub(culprit.flows.len() as u64) {
        0 => String::new(),
        n => format!("; {} beside these", several(n, "flow")),
    };
    of(true, "stopped") + &of(false, "indirectly") + &unlisted
}

/// Most culprits and cycles that are written.
const MAX_TREES: usize = 3;

/// Who paused whom; `None` where nothing was paused.
pub(in crate::report) fn pause_tree(tree: &PauseTree) -> Option<String> {
    let names = |all: &[String], by: &str| {
        all.iter().map(|name| clean(name).into_owned()).collect::<Vec<_>>().join(by)
    };
    let one = |culprit: &PauseCulprit| {
        let mut text = format!(
            "{} paused {} ({}) for {}",
            clean(&culprit.device),
            names(&culprit.direct, ", "),
            priority(culprit.priority),
            duration(culprit.paused_ns)
        );
        if !culprit.indirect.is_empty() {
            text += &format!(
                ", and by that {} for {} ({}; {})",
                names(&culprit.indirect, ", "),
                duration(culprit.caused_ns),
                names(&culprit.chain, " → "),
                culprit.confidence.name()
            );
        }
        text += &victims(culprit);
        text
    };
    let cycle = |cycle: &PauseDeadlock| {
        format!(
            "cyclic dependency: {} → {}, {}, all paused at once for {} ({})",
            names(&cycle.devices, " → "),
            cycle.devices.first().map_or("".into(), |name| clean(name)),
            priority(cycle.priority),
            duration(cycle.all_paused_ns),
            cycle.confidence.name()
        )
    };
    let storm = |storm: &HostStorm| {
        let time = storm.end_ns.saturating_sub(storm.start_ns).max(0) as u64;
        format!("{} held {} paused for {}", clean(&storm.host), priority(storm.priority), duration(time))
    };
    let mut parts: Vec<String> = tree.deadlocks.iter().take(MAX_TREES).map(cycle).collect();
    parts.extend(tree.host_storms.iter().take(MAX_TREES).map(storm));
    parts.extend(tree.culprits.iter().take(MAX_TREES).map(one));
    let more = [tree.deadlocks.len(), tree.host_storms.len(), tree.culprits.len()];
    let more: usize = more.iter().map(|n| n.saturating_sub(MAX_TREES)).sum();
    if more > 0 {
        parts.push(format!("and {more} more (--json has them)"));
    }
    if !tree.taps_not_seen.is_empty() {
        parts.push(format!("no frame of the taps {}", names(&tree.taps_not_seen, ", ")));
    }
    if let Some(one) = tree.unplaced.first() {
        let sender = format!("{} on {}", one.sender, clean(&one.link));
        let more = match tree.unplaced.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        parts.push(format!("not known where {sender}{more} is attached"));
    }
    if tree.pauses_not_kept > 0 {
        parts.push(format!("{} left out here", several(tree.pauses_not_kept, "later pause")));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn overhead(overhead: &Overhead) -> String {
    let total = &overhead.total;
    let Some(efficiency) = total.efficiency_ratio else { return "no RDMA packets".into() };
    let mut text = format!("{} of {} on the wire are payload", percent(efficiency), bytes(total.l1_bytes));
    let others = [
        ("native IB", total.as_native_ib),
        ("IB with GRH", total.as_native_ib_grh),
        ("RoCE v1", total.as_rocev1),
        ("RoCEv2/IPv4", total.as_rocev2_ipv4),
        ("RoCEv2/IPv6", total.as_rocev2_ipv6),
    ];
    let others: Vec<String> = others
        .iter()
        .filter_map(|(name, price)| Some(format!("{name} {}", percent((*price)?.efficiency_ratio?))))
        .collect();
    if !others.is_empty() {
        text += &format!("; the same packets as {}", others.join(", "));
    }
    for (ratio, what) in
        [(total.control_ratio, "ACKs, CNPs and pauses"), (total.retransmit_ratio, "retransmissions")]
    {
        if let Some(ratio) = ratio.filter(|&ratio| ratio > 0.0) {
            text += &format!("; {what} take {}", percent(ratio));
        }
    }
    text
}

pub(in crate::report) fn source_ports(ports: &Ports) -> String {
    let mut text = format!(
        "{} for {}, entropy equal to {:.1} equally loaded ports",
        several(ports.ports, "UDP source port"),
        several(ports.flows, "flow"),
        ports.effective_flows,
    );
    if ports.collisions > 0 {
        text += &format!(
            "; {} of queue pairs with one port, and so one path",
            several(ports.collisions, "group")
        );
    }
    if ports.sprayed > 0 {
        text += &format!("; {} sprayed over several ports", several(ports.sprayed, "flow"));
    }
    if let Some(linux) = ports.linux_formula {
        text += &format!(
            "; {} of {} match Linux's source-port formula",
            count(linux.matching),
            count(linux.flows)
        );
    }
    text
}

/// How evenly links carry traffic, where they are parallel.
pub(in crate::report) fn balance(report: &View<'_>) -> Option<String> {
    let Balance { links, jain_bytes, max_over_mean_bytes, jain_flows, max_over_mean_flows } =
        report.head.balance?;
    let busiest = report.head.links.iter().max_by_key(|link| link.bytes)?;
    let mut text = format!(
        "{links} links, if they are parallel: Jain's index of their bytes is {jain_bytes:.2}; the busiest, {}, has {max_over_mean_bytes:.2} times the mean",
        busiest.link
    );
    if let Some((jain, most)) = jain_flows.zip(max_over_mean_flows) {
        text += &format!("; of their flows {jain:.2}, and {most:.2} times the mean");
    }
    Some(text)
}

/// Most intervals that are written: more do not fit on a screen.
const MAX_INTERVALS: usize = 60;

pub(super) fn intervals(report: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let (Some(bins), Some(width)) = (&report.head.intervals, report.head.interval_ns) else { return Ok(()) };
    page.blank()?;
    page.wrapped(Paint::Heading, "Intervals  ", &format!("of {}", duration(width)))?;
    let head = ["at", "rate", "goodput", "packets", "resent", "late", "NAK", "CNP", "CE", "pause"];
    let mut table = page.table(&head, &[]);
    let start = report.head.capture.first_ns.or(bins.first().map(|bin| bin.start_ns)).unwrap_or(0);
    for bin in bins.iter().take(MAX_INTERVALS) {
        table.row([
            duration(bin.start_ns.saturating_sub(start).max(0) as u64),
            bits_per_second(bin.l1_bytes, width),
            bits_per_second(bin.goodput_bytes, width),
            count(bin.packets),
            some(bin.retransmits),
            some(bin.out_of_order),
            some(bin.naks),
            some(bin.cnps),
            some(bin.ce),
            some(bin.pause_frames),
        ]);
    }
    page.put_table(&table)?;
    if bins.len() > MAX_INTERVALS {
        page.line(&format!("  and {} more (--json has all)", count((bins.len() - MAX_INTERVALS) as u64)))?;
    }
    Ok(())
}
