//! Rules about one flow: how often it shows a finding, and the sentence about it.

use std::cmp::Reverse;

use super::{Need, words::*};
use crate::{
    analyze::{
        model::{Address, Trigger},
        results::lists::Index,
        table::flow::{Flow, RESPONSES},
        track::{class::Place, request::Episode},
    },
    in_order::InOrder,
    report::{
        self, Bounds, GaveUp, GiveUp, LossEpisodes, Reordering, StillSends, Stream, Triggers,
        units::{count as number, duration, losses},
    },
};

/// A rule about flows.
#[derive(Debug)]
pub(super) struct FlowRule {
    /// Flows that can show it.
    pub(super) traffic: Traffic,
    /// How often it happened, at least and at most. It reads counts only, since it is called for every flow.
    pub(super) count: fn(&report::Flow) -> Option<Bounds>,
    /// Narrows this count by what is known of the flow's episodes.
    pub(super) narrow: Option<fn(&Subject<'_>, Bounds) -> Bounds>,
    /// How often packets were lost, where it counts packets that were.
    pub(super) losses: Option<fn(&report::Flow) -> u64>,
    /// What several flows do, after "7 of 8 flows to 10.0.0.2"; `#` stands for the count, of losses as [`losses`] writes it.
    pub(super) many: &'static str,
    /// What one flow does, after its name, and frames that show it.
    pub(super) one: fn(&Subject<'_>, Bounds) -> (String, Vec<u64>),
    pub(super) time: Time,
}

/// Which flows can show a finding. Those that can, and do not, are evidence against a common cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Traffic {
    Requests,
    /// Requests or READ responses.
    Data,
    /// Acknowledgements or READ responses.
    Responses,
    /// Responses to requests that the capture lacks.
    ResponsesAlone,
    All,
}

/// The time that it costs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Time {
    Unknown,
    /// The time of these episodes.
    Of(fn(&Episode) -> bool),
    /// The connection ends: no cost is higher.
    Ends,
}

impl FlowRule {
    /// What so many flows are that could show it, behind the word; empty where these are all flows.
    pub(super) fn whose(&self, many: u64, index: &Index<'_>) -> &'static str {
        let (mut all, mut with_traffic) = (0u64, 0u64);
        for (_, flow) in index.in_memory() {
            all += 1;
            with_traffic += self.has_traffic(flow) as u64;
        }
        match self.traffic {
            _ if many == all => "",
            _ if many != with_traffic => " that can show it",
            Traffic::Requests => " with requests",
            Traffic::Data => " with data",
            Traffic::Responses => " with answers",
            Traffic::ResponsesAlone => " with answers to what was not captured",
            Traffic::All => "",
        }
    }

    fn has_traffic(&self, flow: &Flow) -> bool {
        let has_requests = flow.requests.counts.packets > 0;
        let has_reads = flow.responses.get().is_some_and(|responses| responses.read.get().is_some());
        match self.traffic {
            Traffic::Requests => has_requests,
            Traffic::Data => has_requests || has_reads,
            Traffic::Responses => flow.completeness & RESPONSES != 0,
            Traffic::ResponsesAlone => flow.completeness & RESPONSES != 0 && flow.peer.is_none(),
            Traffic::All => true,
        }
    }

    /// Whether a flow could show it.
    pub(super) fn concerns(&self, flow: &Flow, needs: &[Need]) -> bool {
        self.has_traffic(flow)
            && needs.iter().all(|need| match need {
                // A service without acknowledgements has one direction only.
                Need::BothDirections => flow.evidence != 0 || !flow.service.is_reliable(),
                Need::Icrc => flow.icrc[0] + flow.icrc[1] > 0,
                Need::Vcrc => flow.signals().vcrc != [0; 2],
                Need::SourcePorts => flow.path_tags.has_several_ports(),
                _ => true,
            })
    }
}

/// The flow that is examined.
pub(super) struct Subject<'a> {
    pub(super) at: usize,
    /// Its counts, without texts, lists and distributions.
    pub(super) counts: &'a report::Flow,
    pub(super) index: &'a Index<'a>,
}

impl<'a> Subject<'a> {
    pub(super) fn flow(&self) -> &'a Flow {
        self.index.flow(self.at)
    }

    /// "QP 0x12 10.0.0.1 → 10.0.0.2".
    pub(super) fn name(&self) -> String {
        let key = &self.flow().key;
        let name = format!("QP {:#x} {} → {}", key.dest_qp(), key.source(), key.destination());
        match key.vni().filter(|_| self.index.has_several_networks()) {
            Some(vni) => format!("{name} in VNI {vni}"),
            None => name,
        }
    }

    fn episodes(&self, is_mine: fn(&Episode) -> bool) -> Vec<&'a Episode> {
        episodes(self.at, self.index, is_mine)
    }
}

/// The episodes of a flow that are of this kind, by time.
pub(super) fn episodes<'a>(at: usize, index: &Index<'a>, is_mine: fn(&Episode) -> bool) -> Vec<&'a Episode> {
    let mut mine: Vec<_> = index.episodes_at(at).filter(|episode| is_mine(episode)).collect();
    mine.order_by_key(|episode| (episode.start, episode.first_frame));
    mine
}

/// A count that is known exactly.
pub(super) fn exactly(n: u64) -> Option<Bounds> {
    Some([n, n])
}

/// Whether the requester of a flow gave up for this reason.
pub(super) fn gave_up(flow: &report::Flow, by: GiveUp) -> Option<Bounds> {
    exactly(flow.gave_up.is_some_and(|gave_up| gave_up.by == by).into())
}

/// Whether its peer is silent, and the requester tries without end.
pub(super) fn is_unanswered(flow: &report::Flow) -> Option<Bounds> {
    exactly(flow.unanswered_tries.is_some().into())
}

/// Bounds of requests and READ responses together.
pub(super) fn both(flow: &report::Flow, of: fn(&Stream) -> Option<Bounds>) -> Option<Bounds> {
    report::plus(of(&flow.requests), of(&flow.responses))
}

fn reorderings(flow: &report::Flow) -> impl Iterator<Item = &Reordering> {
    flow.requests.reordering.iter().chain(&flow.responses.reordering)
}

pub(super) fn reordered(flow: &report::Flow, of: fn(&Reordering) -> u64) -> u64 {
    reorderings(flow).filter(|reordering| !reordering.is_at_tap).map(of).sum()
}

/// Late packets, of requests and responses.
pub(super) fn late(flow: &report::Flow) -> u64 {
    let streams = [&flow.requests, &flow.responses].into_iter();
    let is_of_network = |stream: &&Stream| stream.reordering.is_some_and(|reordering| !reordering.is_at_tap);
    streams.filter(is_of_network).map(|stream| stream.out_of_order).sum()
}

/// Whether packets of a stream were surely lost, wherever.
fn proves_loss(stream: &Stream) -> bool {
    let losses = &stream.losses;
    let at_tap = [losses.corrupt, losses.trimmed, losses.capture];
    let on_path = [losses.upstream, losses.downstream, losses.ack_path, losses.unknown];
    let all = on_path.into_iter().chain(at_tap);
    all.flatten().any(|[least, _]| least > 0)
}

/// Retransmissions that no other finding explains. Repeated READ requests do not count: their responses were lost, which is reported
/// for the other direction.
pub(super) fn unexplained(flow: &report::Flow) -> Option<Bounds> {
    let report::Flow { requests, responses, .. } = flow;
    let Triggers { nak, timeout, implied_nak, unknown, .. } = requests.triggers;
    let spurious = requests.spurious.unwrap_or(0);
    let has_other_findings = proves_loss(requests)
        || proves_loss(responses)
        || timeout + spurious + flow.rnr_naks > 0
        || flow.rnr.is_some()
        || reordered(flow, |reordering| reordering.then_nak) > 0;
    if has_other_findings {
        // Findings about a part of the episodes say nothing of the others.
        let least = untold_episodes(requests);
        let most = requests.retransmits.saturating_sub(spurious + timeout);
        return Some(if least > 0 && most > 0 { [least.min(most), most] } else { [0; 2] });
    }
    let of_requests = if implied_nak == 0 || nak + unknown > 0 { requests.retransmits } else { 0 };
    exactly(of_requests + responses.retransmits)
}

/// Episodes after NAKs, or without a cause, at places where no loss is proved: at least so many. Findings about losses do not count them.
fn untold_episodes(requests: &Stream) -> u64 {
    let Stream { losses, loss_episodes: at, triggers, .. } = requests;
    let untold = |episodes: u64, bounds: Option<Bounds>| match bounds {
        Some([least, _]) if least > 0 => 0,
        _ => episodes,
    };
    let is_upstream_told =
        [losses.upstream, losses.unknown].into_iter().flatten().any(|[least, _]| least > 0);
    let likely = untold(at.downstream, losses.downstream)
        + if is_upstream_told { 0 } else { at.upstream }
        + untold(at.unknown, losses.unknown);
    // Which of them had another cause, counts do not say.
    likely.saturating_sub(triggers.timeout + triggers.rnr + triggers.implied_nak)
}

/// The packets of the unexplained episodes that are listed, without those that had arrived; at most what counts say.
pub(super) fn resent_packets(subject: &Subject<'_>, [least, most]: Bounds) -> Bounds {
    let late = subject.index.late_behind(subject.at).filter(|late| !late.needless.is_empty());
    if least == most && late.is_none() {
        return [least, most];
    }
    let is_told = |episode: &&&Episode| late.is_some_and(|late| late.needless.contains(&episode.first_frame));
    // Where all had arrived, another finding says so.
    let is_needed = |episode: &&&Episode| episode.packets > episode.needless;
    let unexplained = subject.episodes(is_unexplained);
    let untold = unexplained.iter().filter(|episode| !is_told(episode)).filter(is_needed);
    let packets: u64 = untold.map(|episode| episode.packets).sum();
    match subject.counts.episodes_not_listed {
        0 => [packets; 2],
        _ => [packets.max(least), most.max(packets)],
    }
}

pub(super) fn is_downstream(episode: &Episode) -> bool {
    episode.place == Some(Place::Downstream)
}

pub(super) fn is_upstream(episode: &Episode) -> bool {
    episode.place == Some(Place::Upstream)
}

pub(super) fn is_corrupt(episode: &Episode) -> bool {
    episode.place == Some(Place::Corrupt)
}

/// A NAK or a repeated READ proves it, and the capture lost packets itself.
pub(super) fn is_upstream_perhaps(episode: &Episode) -> bool {
    episode.place == Some(Place::Upstream) && !episode.certain
}

pub(super) fn is_trimmed(episode: &Episode) -> bool {
    episode.place == Some(Place::Trimmed)
}

pub(super) fn is_ack_loss(episode: &Episode) -> bool {
    episode.place == Some(Place::AckPath)
}

pub(super) fn is_timeout(episode: &Episode) -> bool {
    episode.trigger == Trigger::Timeout
}

pub(super) fn is_rnr(episode: &Episode) -> bool {
    episode.trigger == Trigger::Rnr
}

/// Nothing was lost: a packet that was only late made the receiver send a NAK.
pub(super) fn is_needless(episode: &Episode) -> bool {
    episode.place == Some(Place::None) && episode.trigger == Trigger::Nak
}

/// Nothing proves that a packet was lost, or where.
pub(super) fn is_unexplained(episode: &Episode) -> bool {
    let is_likely = matches!(episode.place, Some(Place::Upstream | Place::Downstream | Place::Unknown));
    (episode.place.is_none() || is_likely && !episode.certain)
        && matches!(episode.trigger, Trigger::Nak | Trigger::Unknown)
}

pub(super) fn refusal(_: &Subject<'_>, count: Bounds, what: &str) -> (String, Vec<u64>) {
    let naks = counted(count, "NAK");
    (format!(" refuses requests: {naks} with {what}, which ends the connection"), Vec::new())
}

/// Losses at a place, of requests and READ responses.
pub(super) fn episodes_of(flow: &report::Flow, of: fn(&LossEpisodes) -> u64) -> u64 {
    of(&flow.requests.loss_episodes) + of(&flow.responses.loss_episodes)
}

pub(super) fn loss(
    subject: &Subject<'_>,
    count: Bounds,
    place: &str,
    of: fn(&LossEpisodes) -> u64,
    is_mine: fn(&Episode) -> bool,
) -> (String, Vec<u64>) {
    let episodes = subject.episodes(is_mine);
    let detail = episodes.first().map_or_else(String::new, |first| {
        let nak = first.nak_frame.map_or_else(String::new, |nak| format!("NAK in frame {nak}, "));
        let packets = counted([first.packets; 2], "packet");
        let recovered = first.recovered.map_or_else(String::new, |at| {
            format!(", recovered after {}", duration((at - first.start).max(0) as u64))
        });
        format!("; first {nak}retransmitted {packets} from frame {}{recovered}", first.first_frame)
    });
    let frames = episodes.iter().flat_map(|e| e.nak_frame.into_iter().chain([e.first_frame]));
    let losses = losses(episodes_of(subject.counts, of), place, count);
    (format!(" had {losses}{detail}"), frames.collect())
}

pub(super) fn trimming(_: &Subject<'_>, count: Bounds) -> (String, Vec<u64>) {
    (format!(" had {} trimmed by switches before the tap", counted(count, "packet")), Vec::new())
}

pub(super) fn corruption(subject: &Subject<'_>, count: Bounds) -> (String, Vec<u64>) {
    let bad = subject.counts.icrc.bad;
    let what = match count {
        [least, most] if least == most && bad == least => "a wrong ICRC".to_owned(),
        // The column has those with a wrong ICRC alone.
        [least, most] if least == most && (1..least).contains(&bad) => {
            format!("a wrong ICRC ({}) or IP checksum ({})", number(bad), number(least - bad))
        }
        _ => "a wrong ICRC or IP checksum".to_owned(),
    };
    let text = format!(": {} with {what}: corrupted before the tap", counted(count, "packet"));
    (text, Vec::new())
}

pub(super) fn not_captured(_: &Subject<'_>, count: Bounds) -> (String, Vec<u64>) {
    let text = format!(
        ": {} acknowledged and never captured: the capture lost them, or they took another path",
        counted(count, "packet")
    );
    (text, Vec::new())
}

pub(super) fn reordering(subject: &Subject<'_>, _: Bounds) -> (String, Vec<u64>) {
    let flow = subject.counts;
    let extent = reorderings(flow).map(|r| r.max_extent_packets).max().unwrap_or(0);
    let latest = reorderings(flow).map(|r| r.max_late_ns).max().unwrap_or(0);
    let then_nak = |stream: &Stream| {
        stream
            .reordering
            .filter(|reordering| !reordering.is_at_tap)
            .map_or(0, |reordering| reordering.then_nak)
    };
    let mut naks = String::new();
    if let n @ 1.. = then_nak(&flow.requests) {
        let needless = subject.episodes(is_needless).iter().map(|episode| episode.packets).sum::<u64>();
        let again = counted([needless; 2], "packet");
        naks = format!("; {} triggered a NAK: {again} retransmitted although nothing was lost", number(n));
    }
    if let n @ 1.. = then_nak(&flow.responses) {
        let again = counted([flow.responses.retransmits; 2], "response");
        naks += &format!(
            "; for {}, a READ was issued again, and no response was lost: {again} retransmitted in all",
            number(n)
        );
    }
    let late = counted([late(flow); 2], "packet");
    let text = format!(
        ": {late} came out of order, by up to {} and {}{naks}",
        counted([extent; 2], "packet"),
        duration(latest)
    );
    (text, Vec::new())
}

pub(super) fn timeout(subject: &Subject<'_>, count: Bounds) -> (String, Vec<u64>) {
    let seen = subject.flow().requests.more.as_deref().map_or(&[][..], |more| &more.recovery().timeouts[..]);
    // How long what the tap did not see waited is not known.
    let longest = seen.iter().filter(|timeout| timeout.waited_ns > 0).max_by_key(|timeout| timeout.waited_ns);
    let waited = longest
        .map_or_else(String::new, |timeout| format!("; the longest waited {}", duration(timeout.waited_ns)));
    // One that gave up has a finding of its own, and one whose peer is silent.
    let is_told = subject.counts.gave_up.is_some() || subject.counts.unanswered_tries.is_some();
    let in_vain = subject.flow().requests.tries_in_vain().filter(|_| !is_told);
    let in_vain = in_vain.map_or_else(String::new, |(tries, ns)| {
        let peer = subject.flow().key.destination();
        format!(
            "; {peer} does not answer at all at the end: {} tries in {}",
            number(tries.into()),
            duration(ns)
        )
    });
    let requests = &subject.counts.requests;
    let is_silent = is_told || !in_vain.is_empty();
    let unproved = match is_silent || proves_loss(requests) || requests.triggers.nak > 0 {
        true => "",
        false => "; no NAK came, and nothing proves a loss",
    };
    let text = format!(" retransmitted after {}{waited}{in_vain}{unproved}", counted(count, "timeout"));
    (text, seen.iter().map(|timeout| timeout.frame).collect())
}

pub(super) fn retries_exhausted(subject: &Subject<'_>, _: Bounds) -> (String, Vec<u64>) {
    let Some(gave_up) = subject.counts.gave_up else { return Default::default() };
    let peer = subject.flow().key.destination();
    let apart = match (gave_up.shortest_ns, gave_up.longest_ns) {
        (Some(shortest), Some(longest)) if shortest.abs_diff(longest) <= longest / 8 => {
            format!(" {} apart", duration(longest))
        }
        (Some(shortest), Some(longest)) => format!(" {} to {} apart", duration(shortest), duration(longest)),
        _ => String::new(),
    };
    let retry = subject.index.report(subject.at).retry;
    let fits: Vec<String> = [
        ("timeout exponent", retry.and_then(|r| r.timeout_exponent)),
        ("retry count", retry.and_then(|r| r.count)),
    ]
    .into_iter()
    .filter_map(|(what, n)| Some(format!("{what} {}", n?)))
    .collect();
    let fits = if fits.is_empty() { String::new() } else { format!(" ({})", fits.join(", ")) };
    let answer = match gave_up.is_answered {
        true => format!("the answers of {peer} passed the tap and did not reach it"),
        false => format!("{peer} did not answer"),
    };
    let text = format!(
        " gave up: PSN {} was sent {} times{apart}{fits}, {answer}, and nothing was sent for {} after that{}{}",
        gave_up.psn,
        number(gave_up.tries.into()),
        duration(gave_up.silent_ns),
        last_answer(&gave_up),
        whom_to_suspect(&gave_up, peer),
    );
    (text, subject.flow().requests.tried_in())
}

pub(super) fn peer_silent(subject: &Subject<'_>, _: Bounds) -> (String, Vec<u64>) {
    let requests = &subject.flow().requests;
    let Some((tries, ns)) = requests.tries_in_vain() else { return Default::default() };
    let peer = subject.flow().key.destination();
    let text = format!(
        " is not answered any more: {} tries in {}, to the end of the capture, and {peer} is silent; that is more than a retry count allows, so it may go on without end",
        number(tries.into()),
        duration(ns),
    );
    (text, requests.tried_in())
}

pub(super) fn rnr_exhausted(subject: &Subject<'_>, _: Bounds) -> (String, Vec<u64>) {
    let Some(gave_up) = subject.counts.gave_up else { return Default::default() };
    let peer = subject.flow().key.destination();
    let asked = subject
        .counts
        .rnr
        .map_or_else(String::new, |rnr| format!(", and asked to wait {}", duration(rnr.asked_ns.p50)));
    let text = format!(
        " gave up: {peer} was not ready for PSN {} {}{asked}; nothing was sent for {} after that",
        gave_up.psn,
        if gave_up.tries == 1 {
            "once".to_owned()
        } else {
            format!("{} times in a row", number(gave_up.tries.into()))
        },
        duration(gave_up.silent_ns),
    );
    (text, subject.episodes(is_rnr).iter().map(|episode| episode.first_frame).collect())
}

/// When the peer last answered, before the first try.
fn last_answer(gave_up: &GaveUp) -> String {
    let Some(answered) = gave_up.answered_ns.filter(|&answered| answered <= gave_up.first_ns) else {
        return String::new();
    };
    format!("; its last answer came {} before the first try", duration(gave_up.first_ns.abs_diff(answered)))
}

/// Which part to suspect, by whom the peer still sends to.
fn whom_to_suspect(gave_up: &GaveUp, peer: Address) -> String {
    let mut text = match gave_up.peer_sends {
        Some(StillSends::SameConnection) => {
            format!(
                "; {peer} still sends on this connection: the way to it is broken, or what it says does not arrive"
            )
        }
        Some(StillSends::SameHost) => {
            format!(
                "; {peer} still sends to this host on other queue pairs: this queue pair, or its process, is gone"
            )
        }
        Some(StillSends::OtherHosts) => {
            format!(
                "; {peer} still sends to other hosts, and not to this one: the path between the two, or the queue pair"
            )
        }
        Some(StillSends::OtherTraffic) => {
            format!(
                "; {peer} still sends other traffic than RDMA: its queue pair, its process, or RDMA on the path"
            )
        }
        Some(StillSends::Nobody) => format!("; {peer} sends nothing at all any more: the host, or its link"),
        _ => {
            format!("; nothing else of {peer} is in the capture: its host, its queue pair, or the path to it")
        }
    };
    if gave_up.unreachables > 0 {
        text += &format!(
            "; {} say that packets to it cannot be delivered",
            counted([gave_up.unreachables; 2], "ICMP message")
        );
    }
    if gave_up.messages > 0 {
        text += &format!("; {} not completed", counted([gave_up.messages; 2], "message"));
    }
    text
}

pub(super) fn sender_marks(_: &Subject<'_>, count: Bounds) -> (String, Vec<u64>) {
    let all = counted(count, "packet");
    (
        format!(": all {all} are marked (CE), from the first one on: its sender sets the mark itself"),
        Vec::new(),
    )
}

pub(super) fn reused(_: &Subject<'_>, count: Bounds) -> (String, Vec<u64>) {
    (
        format!(" used {} twice, with different content: the sender does not conform", counted(count, "PSN")),
        Vec::new(),
    )
}

pub(super) fn spurious(_: &Subject<'_>, count: Bounds) -> (String, Vec<u64>) {
    let (were, they) = if count == [1; 2] { ("was", "it") } else { ("were", "they") };
    let text = format!(
        " retransmitted {} that {were} not lost: {they} had been acknowledged before, or came late",
        counted(count, "packet")
    );
    (text, Vec::new())
}

pub(super) fn resent(subject: &Subject<'_>, count: Bounds) -> (String, Vec<u64>) {
    let mut episodes = subject.episodes(is_unexplained);
    if count[0] != subject.counts.requests.retransmits + subject.counts.responses.retransmits {
        episodes.retain(|episode| episode.packets > episode.needless);
    }
    episodes.order_by_key(|episode| Reverse(episode.packets));
    let asked = &subject.counts.responses.triggers;
    let is_of_all = subject.counts.episodes_not_listed > 0 && count[0] == count[1] || episodes.is_empty();
    let naks = match is_of_all {
        true => subject.counts.requests.triggers.nak,
        false => episodes.iter().filter(|episode| episode.trigger == Trigger::Nak).count() as u64,
    };
    let why = match (naks, asked.repeated_read) {
        (0, 0) => "; the capture does not show why".to_owned(),
        (0, n) => {
            format!(" after {}; the capture does not prove what was lost", counted([n; 2], "repeated READ"))
        }
        (n, _) => format!(" after {}; the capture does not prove what was lost", counted([n; 2], "NAK")),
    };
    let text = format!(" retransmitted {}{why}", counted(count, "packet"));
    (text, episodes.iter().map(|episode| episode.first_frame).collect())
}

pub(super) fn rnr(subject: &Subject<'_>, count: Bounds) -> (String, Vec<u64>) {
    let Some(rnr) = subject.counts.rnr else { return Default::default() };
    let waited =
        rnr.waited_ns.map_or_else(String::new, |waited| format!(", waited {} at most", duration(waited.max)));
    let text = format!(
        " received {}: asked to wait {}{waited}, {} stalled in all",
        counted(count, "RNR NAK"),
        rnr.asked_ns.quantile(rnr.asked_ns.p50, duration),
        duration(rnr.stalled_ns)
    );
    (text, subject.episodes(is_rnr).iter().map(|episode| episode.first_frame).collect())
}

pub(super) fn nakked(subject: &Subject<'_>, _: Bounds) -> (String, Vec<u64>) {
    let &report::Flow { ref naks, rnr_naks, .. } = subject.counts;
    let of = |n, what, means| (n > 0).then(|| format!("{} ({means})", counted([n; 2], what)));
    let lost = of(naks.psn_sequence_error, "NAK", "its sender missed packets: lost, or late");
    let not_ready = of(rnr_naks, "RNR NAK", "it had no receive buffer");
    let all: Vec<String> = lost.into_iter().chain(not_ready).collect();
    (format!(" has {}; the capture lacks the packets that these answer", all.join(" and ")), Vec::new())
}

pub(super) fn broken(subject: &Subject<'_>, count: Bounds) -> (String, Vec<u64>) {
    let lost = subject.counts.requests.losses.upstream.filter(|&[_, most]| most > 0);
    let lost =
        lost.map_or(String::new(), |lost| format!(" ({} lost before the tap)", counted(lost, "packet")));
    let text = format!(": {} broken{lost}; UC does not retransmit", counted(count, "message"));
    (text, Vec::new())
}

pub(super) fn spray(subject: &Subject<'_>, _: Bounds) -> (String, Vec<u64>) {
    let ports = subject.flow().path_tags.lists().ports.len();
    let text =
        format!(" comes from {ports} source ports, and out of order: it is sprayed over several paths");
    (text, Vec::new())
}

pub(super) fn ambiguous(_: &Subject<'_>, count: Bounds) -> (String, Vec<u64>) {
    let text =
        format!(": {} either late or retransmitted: the capture does not tell", counted(count, "packet"));
    (text, Vec::new())
}
