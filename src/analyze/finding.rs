//! What stands out, in plain words, most serious first.

use std::{cell::OnceCell, cmp::Reverse};

use super::{flow::Flow, lists::Index};
use crate::{
    icrc::State,
    report::analysis::{self as report, Analysis, Episode, Finding, Stream},
};

const ERROR: &str = "error";
const WARNING: &str = "warning";
const NOTE: &str = "note";

/// Findings of one kind that are told one by one; the others are in the table of flows.
const MAX_OF_A_KIND: usize = 8;
/// Frames named as evidence.
const MAX_FRAMES: usize = 8;

/// What a person would want to be told of, found by looking at every flow once. It keeps what it will tell, no more.
#[derive(Default)]
pub(super) struct Survey {
    kinds: Vec<Kind>,
    /// What could be told so far.
    said: u64,
    is_cut_into_messages: bool,
    pub(super) sums: Sums,
}

/// What is counted over all flows.
#[derive(Default)]
pub(super) struct Sums {
    /// Flows with acknowledgements, and those of them whose opposite is known.
    reliable: u64,
    paired: u64,
    icrc_bad: u64,
    icrc_good: u64,
}

impl Sums {
    pub(super) fn add(&mut self, flow: &Flow, is_paired: bool) {
        let is_reliable = flow.service.is_reliable();
        self.reliable += is_reliable as u64;
        self.paired += (is_reliable && is_paired) as u64;
        self.icrc_bad += flow.icrc[State::Bad as usize];
        self.icrc_good += flow.icrc[State::Good as usize];
    }
}

/// Findings with the same id, in their order.
struct Kind {
    id: &'static str,
    most: Vec<(Weight, Finding)>,
}

/// The most serious first; of one severity, what weighs most; then by the flow's place, and what was found first.
type Weight = (u8, Reverse<u64>, usize, u64);

/// What is told of a finding: what, what to do next, the frames that show it.
type Told = (String, &'static str, Vec<u64>);

/// A flow under survey: its counts, and what takes longer to make, when it is wanted.
struct Subject<'a> {
    at: usize,
    flow: &'a report::Flow,
    index: &'a Index<'a>,
    in_full: OnceCell<report::Flow>,
    episodes: OnceCell<Vec<Episode>>,
}

impl Subject<'_> {
    fn in_full(&self) -> &report::Flow {
        self.in_full.get_or_init(|| self.index.report(self.at))
    }

    fn episodes(&self) -> &[Episode] {
        self.episodes.get_or_init(|| self.index.episodes(self.at))
    }

    fn name(&self) -> String {
        let flow = self.in_full();
        format!("QP {:#x} {} → {}", flow.dest_qp, flow.src, flow.dst)
    }
}

impl Survey {
    /// The flow at a place of the report, and its outline; in whatever order. There is nothing to be said of
    /// [quiet](Flow::is_quiet) ones.
    pub(super) fn flow(&mut self, at: usize, flow: &report::Flow, index: &Index<'_>) {
        let (in_full, episodes) = (OnceCell::new(), OnceCell::new());
        let subject = Subject { at, flow, index, in_full, episodes };
        self.is_cut_into_messages = self.is_cut_into_messages
            || flow.messages.broken > 0
                && subject.in_full().opcodes.keys().any(|name| name.ends_with("Middle"));
        of_flow(&subject, self);
    }

    /// Writes the findings, and what the capture can prove.
    pub(super) fn finish<F, C, E>(mut self, report: &mut Analysis<F, C, E>) {
        report.capture.proves = proves(report, &self);
        of_capture(report, &mut self);
        let mut all: Vec<_> = self.kinds.into_iter().flat_map(|kind| kind.most).collect();
        all.sort_by_key(|&(weight, _)| weight);
        report.findings = all.into_iter().map(|(_, finding)| finding).collect();
    }

    /// A finding, which is put into words only where it is among those that are told.
    fn say(
        &mut self,
        flow: Option<usize>,
        severity: &'static str,
        id: &'static str,
        weight: u64,
        tell: impl FnOnce() -> Told,
    ) {
        let weight = (rank(severity), Reverse(weight), flow.unwrap_or(usize::MAX), self.said);
        self.said += 1;
        let at = self.kinds.iter().position(|kind| kind.id == id).unwrap_or(self.kinds.len());
        if at == self.kinds.len() {
            self.kinds.push(Kind { id, most: Vec::new() });
        }
        let most = &mut self.kinds[at].most;
        let place = most.partition_point(|(other, _)| *other < weight);
        if place == MAX_OF_A_KIND {
            return;
        }
        let (text, next, mut frames) = tell();
        frames.truncate(MAX_FRAMES);
        most.insert(place, (weight, Finding { severity, id, text, next: next.to_owned(), frames, flow }));
        most.truncate(MAX_OF_A_KIND);
    }
}

fn rank(severity: &str) -> u8 {
    match severity {
        ERROR => 0,
        WARNING => 1,
        _ => 2,
    }
}

fn of_flow(subject: &Subject<'_>, survey: &mut Survey) {
    let mut say = |severity, id, weight: u64, tell: &dyn Fn() -> Told| {
        survey.say(Some(subject.at), severity, id, weight, tell);
    };
    let flow = subject.flow;
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
            say(ERROR, "nak.fatal", 1_000_000 + n, &|| {
                let who = subject.name();
                let text =
                    format!("{who} refuses requests: {n} NAK with {what}; the connection ends with that");
                (text, next, Vec::new())
            });
        }
    }
    of_stream(subject, "requests", |flow| &flow.requests, &mut say);
    of_stream(subject, "READ responses", |flow| &flow.responses, &mut say);
    let timeouts = flow.requests.triggers.timeout;
    if timeouts > 0 {
        say(WARNING, "timeout", timeouts, &|| {
            let seen = &subject.in_full().timeouts;
            let longest = seen.iter().max_by_key(|timeout| timeout.waited_ns);
            let waited = longest.map_or_else(String::new, |timeout| {
                format!(
                    "; the longest waited {} (nearest exponent {})",
                    time(timeout.waited_ns),
                    timeout.nearest_exponent
                )
            });
            let who = subject.name();
            let text = format!("{who} sent again after {timeouts} timeout{}{waited}", plural(timeouts));
            let next = "a timeout means that nothing came back: the last packet of a burst was lost, its acknowledgement was, or the responder was too slow; compare the queue pair's timeout exponent with the round trip";
            (text, next, seen.iter().map(|timeout| timeout.frame).collect())
        });
    }
    if let Some(spurious) = flow.requests.spurious.filter(|&n| n > 0) {
        say(WARNING, "retransmit.spurious", spurious, &|| {
            let text = format!(
                "{} sent {spurious} packet{} again that had been acknowledged before",
                subject.name(),
                plural(spurious)
            );
            let next = "the acknowledgement was lost behind the tap, or came later than the timer allows: raise the timeout, or look at the way back";
            (text, next, Vec::new())
        });
    }
    if let Some(rnr) = &flow.rnr {
        say(WARNING, "rnr", rnr.asked_ns.count, &|| {
            let waited = rnr
                .waited_ns
                .map_or_else(String::new, |waited| format!(", waited {} at most", time(waited.max)));
            let text = format!(
                "{} met a receiver that was not ready {} time{}: asked to wait {}{waited}, {} stalled in all",
                subject.name(),
                rnr.asked_ns.count,
                plural(rnr.asked_ns.count),
                time(rnr.asked_ns.p50),
                time(rnr.stalled_ns)
            );
            let next = "this is the receiver's software, not the network: post receive buffers earlier, or more of them";
            let mine = subject.episodes().iter().filter(|episode| episode.trigger == "rnr");
            (text, next, mine.map(|episode| episode.first_retransmit_frame).collect())
        });
    }
    let broken = flow.messages.broken;
    if broken > 0 && flow.requests.retransmits == 0 && flow.service == "UC" {
        say(WARNING, "messages.broken", broken, &|| {
            let text = format!("{}: {broken} messages are broken; UC sends nothing again", subject.name());
            (text, "look for the loss upstream of the tap", Vec::new())
        });
    }
    let late = flow.requests.out_of_order;
    if late > 0 && subject.in_full().udp_src_ports.len() > 1 {
        say(NOTE, "spray", late, &|| {
            let text = format!(
                "{} comes from {} source ports, and out of order: it takes several paths",
                subject.name(),
                subject.in_full().udp_src_ports.len()
            );
            (text, "check that the receiver tolerates reordering", Vec::new())
        });
    }
}

fn of_stream(
    subject: &Subject<'_>,
    what: &str,
    stream: impl Fn(&report::Flow) -> &Stream,
    say: &mut impl FnMut(&'static str, &'static str, u64, &dyn Fn() -> Told),
) {
    let stream = stream(subject.flow);
    // Acknowledgements go the other way: no episode is theirs.
    let episodes = || if what == "requests" { subject.episodes() } else { &[] };
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
        say(ERROR, id, least, &|| {
            let range =
                if least == most { format!("{least}") } else { format!("at least {least} (at most {most})") };
            let mine = || episodes().iter().filter(|episode| episode.location == location);
            let detail = mine().next().map_or_else(String::new, |first| {
                let nak = first.nak_frame.map_or_else(String::new, |nak| format!("NAK in frame {nak}, "));
                let stalled = first
                    .recovered_ns
                    .map_or_else(String::new, |ns| format!("; recovered after {}", time(ns)));
                format!(
                    ": first {nak}resent {} packet{} from frame {}{stalled}",
                    first.retransmitted_packets,
                    plural(first.retransmitted_packets),
                    first.first_retransmit_frame
                )
            });
            let text = format!("{} lost {range} {what} {place}{detail}", subject.name());
            let frames = mine().flat_map(|e| e.nak_frame.into_iter().chain([e.first_retransmit_frame]));
            (text, next, frames.take(MAX_FRAMES).collect())
        });
    }
    if let Some([least, _]) = losses.capture.filter(|&[least, _]| least > 0) {
        say(WARNING, "loss.capture", least, &|| {
            let text = format!(
                "{}: {least} {what} were acknowledged and never captured: the capture lost them, or they took another path",
                subject.name()
            );
            let next = "trust no loss figure of this time span; look at the capturing side's drop counters, or tap every path";
            (text, next, Vec::new())
        });
    }
    if let Some([least, _]) = losses.corrupt.filter(|&[least, _]| least > 0) {
        say(ERROR, "corrupt", least, &|| {
            let who = subject.name();
            let text =
                format!("{who}: {least} {what} had a wrong ICRC or IP checksum: corrupted before the tap");
            let next = "look for a bad cable, optic or memory before the tap; link error counters tell where";
            (text, next, Vec::new())
        });
    }
    if let Some(reordering) = &stream.reordering {
        let severity = if reordering.then_nak > 0 { ERROR } else { NOTE };
        say(severity, "reorder", stream.out_of_order, &|| {
            let naks = match reordering.then_nak {
                0 => String::new(),
                n => format!("; {n} of them provoked a NAK: nothing was lost, and yet it is sent again"),
            };
            let text = format!(
                "{}: {} {what} came out of order, by up to {} packets and {}{naks}",
                subject.name(),
                stream.out_of_order,
                reordering.max_extent_packets,
                time(reordering.max_late_ns)
            );
            let next = "several paths at once (spraying, adaptive routing) need a receiver that takes packets out of order";
            (text, next, Vec::new())
        });
    }
    if stream.ambiguous > 0 {
        say(NOTE, "ambiguous", stream.ambiguous, &|| {
            let text = format!(
                "{}: {} {what} were either late or sent again: the capture does not tell",
                subject.name(),
                stream.ambiguous
            );
            (text, "capture the other direction too", Vec::new())
        });
    }
}

fn of_capture<F, C, E>(report: &Analysis<F, C, E>, survey: &mut Survey) {
    let [bad, good] = [survey.sums.icrc_bad, survey.sums.icrc_good];
    let mut say = |severity, id, weight: u64, text: String, next: &'static str| {
        survey.say(None, severity, id, weight, || (text, next, Vec::new()));
    };
    let capture = &report.capture;
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
fn proves<F, C, E>(report: &Analysis<F, C, E>, survey: &Survey) -> Vec<String> {
    let capture = &report.capture;
    let mut proves = Vec::new();
    let (paired, all) = (survey.sums.paired, survey.sums.reliable);
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
    if survey.is_cut_into_messages {
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
