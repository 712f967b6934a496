//! What stands out, in plain words, most serious first.

use crate::report::analysis::{Analysis, Episode, Finding, Flow, Stream};

const ERROR: &str = "error";
const WARNING: &str = "warning";
const NOTE: &str = "note";

/// Findings of one kind that are told one by one; the others are in the table of flows.
const MAX_OF_A_KIND: usize = 8;
/// Frames named as evidence.
const MAX_FRAMES: usize = 8;

/// Look through a report for what a person would want to be told of, and say what the capture can prove.
pub(crate) fn find(report: &mut Analysis) {
    report.capture.proves = proves(report);
    let mut findings = Vec::new();
    for (at, flow) in report.flows.iter().enumerate() {
        let episodes: Vec<&Episode> = report.episodes.iter().filter(|episode| episode.flow == at).collect();
        of_flow(at, flow, &episodes, &mut findings);
    }
    of_capture(report, &mut findings);
    // The most serious first; of one severity, what weighs most.
    findings.sort_by_key(|(weight, finding)| (rank(finding.severity), std::cmp::Reverse(*weight)));
    let mut seen: Vec<(&str, usize)> = Vec::new();
    findings.retain(|(_, finding)| {
        match seen.iter_mut().find(|(id, _)| *id == finding.id) {
            Some((_, n)) => *n += 1,
            None => seen.push((finding.id, 1)),
        }
        seen.iter().any(|&(id, n)| id == finding.id && n <= MAX_OF_A_KIND)
    });
    report.findings = findings.into_iter().map(|(_, finding)| finding).collect();
}

fn rank(severity: &str) -> u8 {
    match severity {
        ERROR => 0,
        WARNING => 1,
        _ => 2,
    }
}

type Weighed = (u64, Finding);

fn name(flow: &Flow) -> String {
    format!("QP {:#x} {} → {}", flow.dest_qp, flow.src, flow.dst)
}

fn of_flow(at: usize, flow: &Flow, episodes: &[&Episode], out: &mut Vec<Weighed>) {
    let mut say = |severity, id, weight: u64, text: String, next: &str, frames: Vec<u64>| {
        let frames = frames.into_iter().take(MAX_FRAMES).collect();
        out.push((weight, Finding { severity, id, text, next: next.to_owned(), frames, flow: Some(at) }));
    };
    let who = name(flow);
    let naks = &flow.naks;
    let fatal = [
        (
            naks.invalid_request,
            "invalid request",
            "the responder refused a request as against the rules: look at what precedes the NAK, the queue pair's rights and the operation's size",
        ),
        (
            naks.remote_access_error,
            "remote access error",
            "a key, an address range or a right does not fit: compare the R_Key and the addresses in the request with what the responder registered",
        ),
        (
            naks.remote_operational_error,
            "remote operational error",
            "the responder failed to carry out the request: look into its logs",
        ),
        (naks.invalid_rd_request, "invalid RD request", "look at the RDETH and the Q_Key of the request"),
    ];
    for (n, what, next) in fatal {
        if n > 0 {
            let text = format!("{who} refuses requests: {n} NAK with {what}; the connection ends with that");
            say(ERROR, "nak.fatal", 1_000_000 + n, text, next, Vec::new());
        }
    }
    of_stream(&who, "requests", &flow.requests, episodes, &mut say);
    of_stream(&who, "READ responses", &flow.responses, &[], &mut say);
    let timeouts = flow.requests.triggers.timeout;
    if timeouts > 0 {
        let longest = flow.timeouts.iter().max_by_key(|timeout| timeout.waited_ns);
        let waited = longest.map_or_else(String::new, |timeout| {
            format!(
                "; the longest waited {} (nearest exponent {})",
                time(timeout.waited_ns),
                timeout.nearest_exponent
            )
        });
        let text = format!("{who} sent again after {timeouts} timeout{}{waited}", plural(timeouts));
        let next = "a timeout means that nothing came back: the last packet of a burst was lost, its acknowledgement was, or the responder was too slow; compare the queue pair's timeout exponent with the round trip";
        say(WARNING, "timeout", timeouts, text, next, flow.timeouts.iter().map(|t| t.frame).collect());
    }
    if let Some(spurious) = flow.requests.spurious.filter(|&n| n > 0) {
        let text = format!(
            "{who} sent {spurious} packet{} again that had been acknowledged before",
            plural(spurious)
        );
        let next = "the acknowledgement was lost behind the tap, or came later than the timer allows: raise the timeout, or look at the way back";
        say(WARNING, "retransmit.spurious", spurious, text, next, Vec::new());
    }
    if let Some(rnr) = &flow.rnr {
        let waited =
            rnr.waited_ns.map_or_else(String::new, |waited| format!(", waited {} at most", time(waited.max)));
        let text = format!(
            "{who} met a receiver that was not ready {} time{}: asked to wait {}{waited}, {} stalled in all",
            rnr.asked_ns.count,
            plural(rnr.asked_ns.count),
            time(rnr.asked_ns.p50),
            time(rnr.stalled_ns)
        );
        let next =
            "this is the receiver's software, not the network: post receive buffers earlier, or more of them";
        let frames =
            episodes.iter().filter(|episode| episode.trigger == "rnr").map(|e| e.first_retransmit_frame);
        say(WARNING, "rnr", rnr.asked_ns.count, text, next, frames.collect());
    }
    if flow.messages.broken > 0 && flow.requests.retransmits == 0 && flow.service == "UC" {
        let text = format!("{who}: {} messages are broken; UC sends nothing again", flow.messages.broken);
        say(
            WARNING,
            "messages.broken",
            flow.messages.broken,
            text,
            "look for the loss upstream of the tap",
            Vec::new(),
        );
    }
    if flow.udp_src_ports.len() > 1 && flow.requests.out_of_order > 0 {
        let text = format!(
            "{who} comes from {} source ports, and out of order: it takes several paths",
            flow.udp_src_ports.len()
        );
        say(
            NOTE,
            "spray",
            flow.requests.out_of_order,
            text,
            "check that the receiver tolerates reordering",
            Vec::new(),
        );
    }
}

fn of_stream(
    who: &str,
    what: &str,
    stream: &Stream,
    episodes: &[&Episode],
    say: &mut impl FnMut(&'static str, &'static str, u64, String, &str, Vec<u64>),
) {
    let losses = &stream.losses;
    let places = [
        (
            losses.downstream,
            "after the tap",
            "loss.downstream",
            "downstream",
            "look at drop counters between the tap and the responder, its NIC included",
        ),
        (
            losses.upstream,
            "before the tap",
            "loss.upstream",
            "upstream",
            "look at drop counters between the requester and the tap",
        ),
    ];
    for (bounds, place, id, location, next) in places {
        let Some([least, most]) = bounds.filter(|&[least, _]| least > 0) else { continue };
        let range =
            if least == most { format!("{least}") } else { format!("at least {least} (at most {most})") };
        let mine = || episodes.iter().filter(|episode| episode.location == location);
        let detail = mine().next().map_or_else(String::new, |first| {
            let nak = first.nak_frame.map_or_else(String::new, |nak| format!("NAK in frame {nak}, "));
            let stalled =
                first.recovered_ns.map_or_else(String::new, |ns| format!("; recovered after {}", time(ns)));
            format!(
                ": first {nak}resent {} packet{} from frame {}{stalled}",
                first.retransmitted_packets,
                plural(first.retransmitted_packets),
                first.first_retransmit_frame
            )
        });
        let text = format!("{who} lost {range} {what} {place}{detail}");
        let frames = mine().flat_map(|e| e.nak_frame.into_iter().chain([e.first_retransmit_frame])).collect();
        say(ERROR, id, least, text, next, frames);
    }
    if let Some([least, _]) = losses.capture.filter(|&[least, _]| least > 0) {
        let text = format!(
            "{who}: {least} {what} were acknowledged and never captured: the capture lost them, or they took another path"
        );
        let next = "trust no loss figure of this time span; look at the capturing side's drop counters, or tap every path";
        say(WARNING, "loss.capture", least, text, next, Vec::new());
    }
    if let Some([least, _]) = losses.corrupt.filter(|&[least, _]| least > 0) {
        let text = format!("{who}: {least} {what} had a wrong ICRC or IP checksum: corrupted before the tap");
        let next = "look for a bad cable, optic or memory before the tap; link error counters tell where";
        say(ERROR, "corrupt", least, text, next, Vec::new());
    }
    if let Some(reordering) = &stream.reordering {
        let naks = match reordering.then_nak {
            0 => String::new(),
            n => format!("; {n} of them provoked a NAK: nothing was lost, and yet it is sent again"),
        };
        let text = format!(
            "{who}: {} {what} came out of order, by up to {} packets and {}{naks}",
            stream.out_of_order,
            reordering.max_extent_packets,
            time(reordering.max_late_ns)
        );
        let next = "several paths at once (spraying, adaptive routing) need a receiver that takes packets out of order";
        let severity = if reordering.then_nak > 0 { ERROR } else { NOTE };
        say(severity, "reorder", stream.out_of_order, text, next, Vec::new());
    }
    if stream.ambiguous > 0 {
        let text = format!(
            "{who}: {} {what} were either late or sent again: the capture does not tell",
            stream.ambiguous
        );
        say(NOTE, "ambiguous", stream.ambiguous, text, "capture the other direction too", Vec::new());
    }
}

fn of_capture(report: &Analysis, out: &mut Vec<Weighed>) {
    let mut say = |severity, id, weight: u64, text: String, next: &str| {
        out.push((
            weight,
            Finding { severity, id, text, next: next.to_owned(), frames: Vec::new(), flow: None },
        ));
    };
    let capture = &report.capture;
    let [bad, good] =
        report.flows.iter().fold([0, 0], |[bad, good], flow| [bad + flow.icrc.bad, good + flow.icrc.good]);
    if bad > 8 && bad > good {
        let text = format!(
            "{bad} of {} ICRCs are wrong: something rewrites the packets, or the sender computes none; they are not believed here",
            bad + good
        );
        say(WARNING, "icrc.global", bad, text, "check the mirror, NAT and ICRC settings");
    }
    if let Some(lost) = capture.mirror_lost_packets.filter(|&lost| lost > 0) {
        let text = format!(
            "the mirror lost {lost} copies by its own sequence numbers: they are no losses of the network"
        );
        say(WARNING, "mirror.loss", lost, text, "give the mirror session more bandwidth, or cut the copies");
    }
    if let Some(drops) = capture.capture_drops.filter(|&drops| drops > 0) {
        let text = format!("the capturing system dropped {drops} frames");
        say(WARNING, "capture.drops", drops, text, "capture less of each frame, or with larger buffers");
    }
    for pause in report.pause.iter().flatten() {
        for storm in pause.storms.iter().flatten() {
            let priority = pause.priority.map_or("all priorities".to_owned(), |p| format!("priority {p}"));
            let text = format!(
                "pause storm: {} held {priority} on {} paused for {} with {} frames",
                pause.sender,
                pause.link,
                time((storm.end_ns - storm.start_ns).max(0) as u64),
                storm.frames
            );
            say(
                ERROR,
                "pause.storm",
                storm.frames,
                text,
                "a host that pauses without end has a stuck NIC or a slow receiver: look at it first",
            );
        }
        if let Some(paused) = pause.paused_ns.filter(|&ns| ns > 0) {
            let priority = pause.priority.map_or("all priorities".to_owned(), |p| format!("priority {p}"));
            let text = format!(
                "{} paused {priority} on {} for {} in all, {} at a time at most",
                pause.sender,
                pause.link,
                time(paused),
                time(pause.longest_ns.unwrap_or(0))
            );
            say(NOTE, "pause", paused, text, "compare with the flows of that priority at that time");
        }
    }
    let congestion = &report.congestion;
    if congestion.cnps > 0 {
        let pacing =
            congestion.pacing.map_or_else(String::new, |p| format!(", paced {}", p.replace('_', " ")));
        let text = format!(
            "{} congestion notifications{pacing}; {} packets were marked at the tap",
            congestion.cnps, congestion.ce_packets
        );
        say(NOTE, "congestion", congestion.cnps, text, "the flows' tables tell who was slowed");
    }
    if congestion.cnps_without_ce > 0 {
        let text = format!(
            "{} notifications go to senders none of whose packets was marked at the tap",
            congestion.cnps_without_ce
        );
        let next = if congestion.cnps_near_nak > 0 {
            "some come together with a NAK: NICs with slow restart send them for losses"
        } else {
            "the congestion is behind the tap"
        };
        say(NOTE, "congestion.unmarked", congestion.cnps_without_ce, text, next);
    }
    let marked = congestion.ce_packets;
    if marked > 0 && congestion.cnps == 0 {
        let text = format!("{marked} packets were marked, and no notification was seen");
        say(
            WARNING,
            "congestion.no_cnp",
            marked,
            text,
            "is the receiver's notification point enabled? does the capture show the way back?",
        );
    }
    if let Some(ports) = report.ports.as_ref().filter(|ports| ports.collisions > 0) {
        let text = format!(
            "{} groups of queue pairs between the same hosts share a source port: they take the same path",
            ports.collisions
        );
        say(
            NOTE,
            "ports.collision",
            ports.collisions,
            text,
            "spread the source ports, or hash on the queue pair",
        );
    }
    if capture.evicted_flows > 0 {
        let text = format!(
            "{} flows were put away for want of room, and may be counted in pieces",
            capture.evicted_flows
        );
        say(WARNING, "flows.evicted", capture.evicted_flows, text, "raise --max-flows");
    }
}

/// What this capture can prove, and what it cannot.
fn proves(report: &Analysis) -> Vec<String> {
    let capture = &report.capture;
    let mut proves = Vec::new();
    let reliable = || report.flows.iter().filter(|flow| matches!(flow.service, "RC" | "XRC" | "RD"));
    let (paired, all) = (reliable().filter(|flow| flow.connection.is_some()).count(), reliable().count());
    if all > 0 {
        proves.push(match paired {
            0 => "One direction only: no loss behind the tap, no latency, no cause of a retransmission can be shown.".to_owned(),
            n if n == all => "Both directions of every connection.".to_owned(),
            n => format!("Both directions of {n} of {all} flows; of the others no loss behind the tap and no latency."),
        });
    }
    if capture.truncated_packets > 0 {
        proves.push(format!("{} frames are cut: their ICRCs cannot be verified.", capture.truncated_packets));
    }
    let middle = report
        .flows
        .iter()
        .filter(|flow| flow.opcodes.keys().any(|name| name.ends_with("Middle")) && flow.messages.broken > 0);
    if middle.count() > 0 {
        proves.push("It begins, or ends, in the middle of messages: what came before its first packet is not counted.".to_owned());
    }
    match capture.timestamp_resolution_ns {
        Some(1) | None => {}
        Some(ns) => proves.push(format!("Timestamps count in steps of {}.", time(ns))),
    }
    if report.pause.is_none() {
        proves.push(
            "No MAC control frame at all: whether anyone was paused, this capture cannot show.".to_owned(),
        );
    }
    if capture.time_steps_back > 0 {
        proves.push(format!(
            "Time steps back {} times: latencies across those steps are not right.",
            capture.time_steps_back
        ));
    }
    if !capture.problems.is_empty() {
        proves.push("The file is damaged: what follows a damaged place may lack its context.".to_owned());
    }
    proves
}

fn plural(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// A time for people.
fn time(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} µs", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.2} s", ns as f64 / 1e9),
    }
}
