//! Rules about the whole capture.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    kin::{Kin, Thing},
    sums::Sums,
};
use crate::analyze::results::lists::LateBehind;
use crate::in_order::InOrder;
use crate::report::{
    Affected, CollectiveCause, Congestion, DcbxPort, Head, Incast, MarkedFlow, MrcConnection, NotDecoded,
    OneSided, Pause, PauseCulprit, PauseViolations, Reason, SlowFlow, Space, TimeCause, TimeShare,
    UetContext, UetCount, UetCounted, UetMode,
    units::{bits, bytes, count, duration, percent, priority, several},
};

/// The input of these rules.
pub(super) struct Evidence<'a> {
    pub(super) head: &'a Head,
    pub(super) sums: &'a Sums,
}

/// One result of a rule.
pub(super) struct Seen {
    /// How long it lasted, in nanoseconds; 0 if that is not known.
    pub(super) time: u64,
    /// How often.
    pub(super) count: u64,
    pub(super) text: String,
    /// Frames that show it.
    pub(super) frames: Vec<u64>,
    /// Flows that show it, and how many they are.
    pub(super) flows: (Vec<Affected>, u64),
    pub(super) kin: Kin,
    /// What to do, before what its kind says.
    pub(super) advice: Option<Cow<'static, str>>,
    /// What to do instead of what its kind says.
    pub(super) next: Option<Cow<'static, str>>,
}

impl Seen {
    /// Without a time.
    pub(super) fn new(count: u64, text: String) -> Seen {
        Seen {
            time: 0,
            count,
            text,
            frames: Vec::new(),
            flows: Default::default(),
            kin: Kin::default(),
            advice: None,
            next: None,
        }
    }

    /// Among other findings.
    pub(super) fn kin(
        self,
        is: impl IntoIterator<Item = Thing>,
        of: impl IntoIterator<Item = Thing>,
    ) -> Seen {
        Seen { kin: Kin { is: is.into_iter().collect(), of: of.into_iter().collect() }, ..self }
    }

    /// Of pauses that lasted so long; 0: no frame shows it.
    pub(super) fn of_pauses(time: u64, count: u64, text: String, frame: u64) -> Seen {
        Seen {
            time,
            frames: Some(frame).filter(|&frame| frame > 0).into_iter().collect(),
            ..Seen::new(count, text)
        }
    }
}

/// Packets that were in order at one tap, and not at a later one, where the receiver took them for lost.
pub(super) fn late_between_taps(&Evidence { sums, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let refused = sums.late_behind.iter().filter(|(_, late)| !late.needless.is_empty());
    let refused: Vec<_> = refused.collect();
    let sum = |of: fn(&LateBehind) -> u64| refused.iter().map(|(_, late)| of(late)).sum::<u64>();
    let [late, naks, again] =
        [sum(|late| late.packets), sum(|late| late.needless.len() as u64), sum(|late| late.resent)];
    if naks == 0 {
        return;
    }
    let extent = refused.iter().map(|(_, late)| late.extent).max().unwrap_or(0);
    let text = format!(
        "{} of {} came out of order between two taps, by up to {}; {} triggered a NAK: {} retransmitted although nothing was lost",
        several(late, "packet"),
        several(refused.len() as u64, "flow"),
        several(extent.into(), "packet"),
        count(naks),
        several(again, "packet")
    );
    let affected = |(flow, late): &&(usize, LateBehind)| {
        let n = late.needless.len() as u64;
        Affected { flow: *flow, count: [n, n], time_lost_ns: None, loss_episodes: None }
    };
    let flows = (refused.iter().map(affected).take(MAX_SLOW).collect(), refused.len() as u64);
    let frames = refused.first().map_or_else(Vec::new, |(_, late)| late.frames.clone());
    say(Seen { flows, frames, ..Seen::new(naks, text) });
}

/// Copies of some packets of a trace of one place: a mirror of several ports copies all, after its lag.
pub(super) fn some_copies(&Evidence { head, sums }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let is_of_mirror = head.capture.learned.copy_lag_ns.is_some() || head.links.len() > 1;
    if is_of_mirror || sums.copied.is_empty() {
        return;
    }
    let copies = sums.copied.iter().map(|(_, copies)| copies).sum();
    let flows = sums.copied.len() as u64;
    let were = if copies == 1 { "was" } else { "were" };
    let text = format!(
        "{} of {} {were} recorded twice, in {}: the network duplicated them before the tap, or the capture did",
        count(copies),
        several(sums.packets_copied_from, "packet"),
        several(flows, "flow")
    );
    say(Seen::new(copies, text));
}

pub(super) fn wrong_icrcs(&Evidence { sums, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let (bad, good) = (sums.icrc_bad, sums.icrc_good);
    if bad > 8 && bad > good {
        let all = count(bad + good);
        let text = format!(
            "{} of {all} ICRCs are wrong: something rewrites the packets, or the sender computes none; they are not used as evidence here",
            count(bad)
        );
        say(Seen::new(bad, text));
    }
}

pub(super) fn corrupt_without_flow(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let n = head.capture.corrupt_without_flow;
    if n > 0 {
        let packets = several(n, "packet");
        let text =
            format!("{packets} with a wrong ICRC or IP checksum: no intact packet of their queue pairs came");
        say(Seen::new(n, text));
    }
}

/// Whether so many wrong VCRCs among so many say nothing: whatever recorded or converted the packets has not kept them.
fn are_not_kept([good, bad]: [u64; 2]) -> bool {
    bad > 8 && bad > good
}

pub(super) fn clocks_apart(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let n = head.capture.answers_early;
    if let Some(apart) = head.capture.clocks_apart_ns {
        let text = format!(
            "{} answers are stamped before the packets that they answer: the clocks of the two directions are apart by at least {}",
            count(n),
            duration(apart),
        );
        say(Seen::new(n, text));
    }
}

pub(super) fn wrong_vcrcs(&Evidence { sums, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let [good, bad] = sums.vcrc;
    if bad > 0 && !are_not_kept(sums.vcrc) {
        let text = format!(
            "{} of {} VCRCs are wrong, in {}: the last link before the tap damaged these packets, or a switch there marks those that came damaged; their receiver drops them",
            count(bad),
            count(good + bad),
            several(sums.vcrc_flows, "flow"),
        );
        say(Seen::new(bad, text));
    }
}

pub(super) fn vcrcs_not_kept(&Evidence { sums, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let [good, bad] = sums.vcrc;
    if are_not_kept(sums.vcrc) {
        let text = format!(
            "{} of {} VCRCs are wrong: what recorded or converted the packets has not kept them; they are no evidence here",
            count(bad),
            count(good + bad),
        );
        say(Seen::new(bad, text));
    }
}

pub(super) fn mirror_loss(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    if let Some(lost) = head.capture.mirror_lost_packets.filter(|&lost| lost > 0) {
        let text = format!(
            "the mirror lost {}, as its sequence numbers show: the network did not lose these packets",
            several(lost, "copy")
        );
        say(Seen::new(lost, text));
    }
}

/// Frames that may hold packets: a finding for all kinds of them.
pub(super) fn not_decoded(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    // What is encrypted has a finding of its own.
    let hiding = || head.capture.hiding().filter(|one| !one.is_encrypted);
    let hidden: u64 = hiding().map(|one| one.frames).sum();
    if hidden > 0 {
        let text = format!("not decoded: {}", NotDecoded::list(hiding()));
        let frames = hiding().take(8).map(|one| one.first_frame).collect();
        // Of what the capture cut, nothing but more of it tells what it is.
        let (cut, wrapped): (Vec<_>, Vec<_>) = hiding().partition(|one| one.is_cut());
        let (advice, next) = match (cut.is_empty(), wrapped.is_empty()) {
            (false, true) => (None, Some(MORE_BYTES.into())),
            (false, false) => (Some(MORE_BYTES.into()), None),
            (true, _) => (None, None),
        };
        say(Seen { frames, advice, next, ..Seen::new(hidden, text) });
    }
}

/// What to do where headers are not in the capture.
const MORE_BYTES: &str = "record more bytes of each frame, so that its headers are in the capture: tcpdump -s, or the length at which the mirror cuts";

/// What to do where the traffic is that of a transport which is none of RDMA.
const OTHER_TRANSPORT: &str =
    "TTPoE is a transport of its own, in hardware as RDMA is: look at it with tools of its vendor";

/// Frames whose content nobody can judge.
pub(super) fn encrypted(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let capture = &head.capture;
    let frames: u64 = capture.encrypted().map(|one| one.frames).sum();
    if frames > 0 {
        let text = format!(
            "encrypted: {}; whether RDMA is in them, and how it fares, cannot be told",
            NotDecoded::list(capture.encrypted())
        );
        let first = capture.encrypted().take(8).map(|one| one.first_frame).collect();
        say(Seen { frames: first, ..Seen::new(frames, text) });
    }
}

/// Retransmissions of MRC: one for each receiver.
pub(super) fn mrc_retransmits(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let resent = head.mrc.iter().filter(|one| one.retransmits > 0);
    for (receiver, connections) in by_receiver(resent, |one| &one.dst) {
        let sum = |of: fn(&MrcConnection) -> u64| connections.iter().map(|one| of(one)).sum::<u64>();
        let again = sum(|one| one.retransmits);
        let mut text = format!(
            "{} of {} to {receiver} are retransmissions, in {}",
            count(again),
            several(sum(|one| one.packets), "packet"),
            several(connections.len() as u64, "connection"),
        );
        for (n, what) in [
            (sum(|one| one.lost_before_tap), "lost before the tap"),
            (sum(|one| one.lost_after_tap), "lost behind it"),
            (sum(|one| one.lost_or_late), "lost or late behind it, or not lost: no answer tells"),
            (sum(|one| one.nacks_trimmed.unwrap_or(0).max(one.trimmed)), "trimmed"),
            (
                sum(|one| one.nacks.zip(one.nacks_trimmed).map_or(0, |(all, trimmed)| all - trimmed)),
                "refused by the receiver",
            ),
            (sum(|one| one.spurious_retransmits), "not lost at all"),
        ] {
            if n > 0 {
                text += &format!("; {} {what}", count(n));
            }
        }
        say(Seen::new(again, text));
    }
}

/// Rows by whom they go to.
fn by_receiver<'a, T>(
    rows: impl Iterator<Item = &'a T>,
    receiver: fn(&T) -> &str,
) -> BTreeMap<&'a str, Vec<&'a T>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    rows.for_each(|row| all.entry(receiver(row)).or_default().push(row));
    all
}

/// Senders of MRC that do not honor what their receivers ask for: one for each.
pub(super) fn mrc_skip_ignored(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let ignored = head.mrc.iter().filter_map(|one| Some((one, one.after_skip.filter(|&n| n > 0)?)));
    for (one, after_skip) in ignored {
        let text = format!(
            "{} of QP {:#x} {} \u{2192} {} took paths that its receiver had asked to skip",
            several(after_skip, "packet"),
            one.dest_qp,
            one.src,
            one.dst
        );
        say(Seen::new(after_skip, text));
    }
}

/// One for each receiver.
pub(super) fn trimmed_at_last_hop(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let mut by_receiver = BTreeMap::<&str, (u64, u64)>::new();
    let mrc = head.mrc.iter().map(|one| (&one.dst, one.nacks_trimmed_last_hop.unwrap_or(0)));
    let uet = head.uet.iter().map(|one| (&one.dst, one.nacks_trimmed_last_hop.unwrap_or(0)));
    for (receiver, n) in mrc.chain(uet).filter(|(_, n)| *n > 0) {
        let (nacks, senders) = by_receiver.entry(receiver).or_default();
        (*nacks, *senders) = (*nacks + n, *senders + 1);
    }
    for (receiver, (nacks, connections)) in by_receiver {
        let text = format!(
            "{receiver} said {} times that the last switch before it had trimmed a packet, of {}",
            count(nacks),
            several(connections, "connection")
        );
        say(Seen::new(nacks, text));
    }
}

/// Requests of Ultra Ethernet that say that they were sent before: one for each receiver, with what its answers said.
pub(super) fn uet_retransmits(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let resent = head.uet.iter().filter(|one| one.retransmits.is_some_and(|n| n > 0));
    for (receiver, contexts) in by_receiver(resent, |one| &one.dst) {
        let mut seen = of_contexts(&contexts, receiver, "were retransmitted", |one| one.retransmits);
        let sum = |of| total(&contexts, of);
        let (missing, nacks, trims) =
            (sum(|one| one.sacked_missing), sum(|one| one.nacks), sum(|one| one.nacks_trimmed));
        if missing > 0 {
            seen.text += &format!("; SACKs showed {} missing", several(missing, "PSN"));
        }
        if nacks > 0 {
            seen.text += &format!("; {}", several(nacks, "NACK"));
        }
        if trims > 0 {
            seen.text += &format!(", {} for trimmed packets", count(trims));
        }
        say(seen);
    }
}

/// Requests of Ultra Ethernet that shall come in order, and do not: one for each receiver.
pub(super) fn uet_disordered(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let is_disordered =
        |one: &&UetContext| one.mode == UetMode::Ordered && one.reordered.is_some_and(|n| n > 0);
    for (receiver, contexts) in by_receiver(head.uet.iter().filter(is_disordered), |one| &one.dst) {
        let what = "in ordered contexts came out of order";
        let mut seen = of_contexts(&contexts, receiver, what, |one| one.reordered);
        let paths = contexts.iter().filter_map(|one| one.paths).max().unwrap_or(0);
        if paths > 1 {
            seen.text += &format!(", over {paths} paths");
        }
        say(seen);
    }
}

/// What happened to so many requests of a receiver's contexts.
fn of_contexts(
    contexts: &[&UetContext],
    receiver: &str,
    what: &str,
    of: fn(&UetContext) -> Option<u64>,
) -> Seen {
    let affected = total(contexts, of);
    let text = format!(
        "{} of {} to {receiver} {what}, in {}",
        count(affected),
        several(total(contexts, |one| one.packets), "request"),
        several(contexts.len() as u64, "context"),
    );
    let frames = contexts.iter().take(8).map(|one| one.first_frame).collect();
    Seen { frames, ..Seen::new(affected, text) }
}

fn total(contexts: &[&UetContext], of: fn(&UetContext) -> Option<u64>) -> u64 {
    contexts.iter().filter_map(|one| of(one)).sum()
}

/// NACKs of Ultra Ethernet that are about no trimmed packet: one for each code.
pub(super) fn uet_nacks(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    // Those of trimmed packets have findings of their own; those from 0xfd on are expected.
    by_code(head, UetCounted::Nack, |code| (4..0xfd).contains(&code), "NACK", say);
}

/// Responses of Ultra Ethernet that say that a request failed: one for each code.
pub(super) fn uet_errors(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    by_code(head, UetCounted::ReturnCode, |code| code > 1, "response", say);
}

fn by_code(
    head: &Head,
    counted: UetCounted,
    is_told: impl Fn(u8) -> bool,
    what: &str,
    say: &mut dyn FnMut(Seen),
) {
    let mut by_code = BTreeMap::<u8, Vec<&UetCount>>::new();
    for one in head.uet_counts.iter().filter(|one| one.counted == counted && is_told(one.code)) {
        by_code.entry(one.code).or_default().push(one);
    }
    for rows in by_code.into_values() {
        let n = rows.iter().map(|row| row.count).sum();
        if let Some(most) = rows.iter().max_by_key(|row| row.count) {
            let text = format!(
                "{} \"{}\" in {}, most to {} ({}): {}",
                several(n, what),
                most.name,
                several(rows.len() as u64, "context"),
                most.src,
                most.spdcid.map_or_else(|| most.mode.words().to_owned(), |spdcid| format!("PDC {spdcid:#x}")),
                count(most.count)
            );
            say(Seen::new(n, text));
        }
    }
}

pub(super) fn without_rdma(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let capture = &head.capture;
    let others: u64 = capture.not_decoded.iter().map(|one| one.frames).sum();
    if capture.rdma_packets == 0 && head.pause.is_none() && others > 0 {
        // Where most is encrypted, that is what there is to say.
        let encrypted: u64 = capture.encrypted().map(|one| one.frames).sum();
        if encrypted * 2 >= others {
            return;
        }
        // Where all of it was cut, that is, too.
        if capture.hiding().filter(|one| one.is_cut()).map(|one| one.frames).sum::<u64>() == others {
            return;
        }
        let text = format!("no RDMA packet: {}", NotDecoded::list(capture.not_decoded.iter()));
        let is_all_cut = capture.not_decoded.iter().all(|one| one.is_cut());
        let other: u64 =
            capture.not_decoded.iter().filter(|one| one.is_other_transport()).map(|one| one.frames).sum();
        let next = match () {
            () if is_all_cut => Some(MORE_BYTES.into()),
            () if other * 2 >= others => Some(OTHER_TRANSPORT.into()),
            () => None,
        };
        say(Seen { next, ..Seen::new(others, text) });
    }
}

pub(super) fn fragments(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let packets = head.capture.fragmented_packets;
    if packets > 0 {
        let text = format!("{} in several IP fragments", several(packets, "RDMA packet"));
        say(Seen::new(packets, text));
    }
}

pub(super) fn drops(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    if let Some(drops) = head.capture.capture_drops.filter(|&drops| drops > 0) {
        say(Seen::new(drops, format!("the capturing system dropped {}", several(drops, "frame"))));
    }
}

/// A flow that lost less time is not worth a finding.
const MIN_LOST_NS: u64 = 100_000;
/// Slow flows that a finding lists.
const MAX_SLOW: usize = 256;

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

/// What pauses of this row may be effects of, the first cause first.
fn causes_of(pause: &Pause) -> Vec<Thing> {
    let devices = [&pause.root_device, &pause.device].into_iter().flatten();
    devices.flat_map(|device| Thing::begun_at(device, pause.priority)).collect()
}

/// Pauses that were longer than senders wait: what was retransmitted then was not lost.
pub(super) fn pause_timeouts(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    // A flow that pauses stopped on several links is in the row of each.
    let effects = head.pause.iter().flatten().filter_map(|pause| Some((pause, pause.effect?)));
    let Some((pause, did)) =
        effects.filter(|(_, did)| did.timeouts > 0).max_by_key(|(_, did)| (did.retransmits, did.timeouts))
    else {
        return;
    };
    let text = format!(
        "pauses of {}, {}, on {} held packets longer than their senders wait for an acknowledgement: {} after {}; nothing of that need be lost",
        pause.sender_name(),
        priority(pause.priority),
        pause.link,
        several(did.retransmits, "retransmitted packet"),
        several(did.timeouts, "timeout"),
    );
    let is = Thing::Timeouts { timeouts: did.timeouts, retransmits: did.retransmits };
    say(Seen::new(did.timeouts, text).kin([is], causes_of(pause)));
}

pub(super) fn pause_storm(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for pause in head.pause.iter().flatten() {
        for storm in pause.storms.iter().flatten() {
            let since = |from: i64, to: i64| to.saturating_sub(from).max(0) as u64;
            let time = since(storm.start_ns, storm.end_ns);
            let restored = match storm.restored_ns {
                Some(at) => format!("restored the queue {} later", duration(since(storm.end_ns, at))),
                None => "not restored it within the capture".to_owned(),
            };
            let text = format!(
                "pause storm: {} kept {} on {} paused for {} with {}; a PFC watchdog would have fired {} after its \
                 beginning, and {restored}",
                pause.sender_name(),
                priority(pause.priority),
                pause.link,
                duration(time),
                several(storm.frames, "frame"),
                duration(since(storm.start_ns, storm.fired_ns)),
            );
            let seen = Seen { time, ..Seen::new(storm.frames, text) };
            say(seen.kin([Thing::pauses_of(pause)], causes_of(pause)));
        }
    }
}

pub(super) fn pause_faults(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let frames = head.pause_faults.values().copied().max().unwrap_or(0);
    if frames > 0 {
        let all = head.pause_faults.iter().map(|(fault, n)| format!("{} {}", count(*n), fault.words()));
        let text = format!("malformed pause frames: {}", all.collect::<Vec<_>>().join(", "));
        say(Seen::new(frames, text));
    }
}

/// A frame that comes so soon after the beginning of a pause may have been on a long cable, 10 km there and back, or in a mirror.
const LONG_WAY_NS: u64 = 100_000;
/// Fewer frames are no finding.
const MIN_IGNORED: u64 = 3;

pub(super) fn pauses_ignored(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    // A tap at which frames are late by as much, those that begin a pause and those that end it, shows no sender that is.
    if head.capture.learned.reordering_ns.saturating_mul(2) >= LONG_WAY_NS {
        return;
    }
    for pause in head.pause.iter().flatten() {
        let is_clear = |came: &PauseViolations| came.latest_ns >= LONG_WAY_NS && came.frames >= MIN_IGNORED;
        // Where flows were silent in these pauses, frames that seem late tell of the tap, not of the sender.
        let is_honored = pause.effect.is_some_and(|did| did.flows > 0);
        let Some(came) = pause.violations.filter(is_clear).filter(|_| !is_honored) else { continue };
        let text = format!(
            "{} paused {} on {}, and the other end did not honor it: it still sent {}, the latest one {} after the beginning of a pause",
            pause.sender_name(),
            priority(pause.priority),
            pause.link,
            several(came.frames, "frame"),
            duration(came.latest_ns)
        );
        say(Seen { frames: came.first_frame.into_iter().collect(), ..Seen::new(came.frames, text) });
    }
}

pub(super) fn pauses(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for pause in head.pause.iter().flatten() {
        if let Some(paused) = pause.paused_ns.filter(|&ns| ns > 0) {
            let text = format!(
                "{} paused {} on {} for {} in all, {} at a time at most",
                pause.sender_name(),
                priority(pause.priority),
                pause.link,
                duration(paused),
                duration(pause.longest_ns.unwrap_or(0))
            );
            let seen = Seen { time: paused, ..Seen::new(pause.frames, text) };
            let of = causes_of(pause).into_iter().chain([Thing::pauses_of(pause)]);
            say(seen.kin([], of));
        }
        if pause.paused_ns.is_none() && pause.xoff > 0 {
            let needs = match pause.why.get("paused_ns") {
                Some(Reason::CoarseTimes) => "a finer clock",
                _ => "the link's speed (--speed)",
            };
            let text = format!(
                "{} asked for pauses of {} on {}: {} XOFF and {} XON; how long they lasted needs {needs}",
                pause.sender_name(),
                priority(pause.priority),
                pause.link,
                count(pause.xoff),
                count(pause.xon)
            );
            say(Seen { frames: vec![pause.first_frame], ..Seen::new(pause.frames, text) });
        }
    }
}

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

/// A request of a collective that never ended.
pub(super) fn hung_collectives(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for_stragglers(head, say, |cause| cause == CollectiveCause::Hang);
}

/// Who was waited for in collectives.
pub(super) fn stragglers(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for_stragglers(head, say, |cause| cause != CollectiveCause::Hang);
}

/// Whether pauses were asked for whose length is not known, as their link's speed is not.
fn has_untimed_pauses(head: &Head) -> bool {
    let mut pauses = head.pause.iter().flatten();
    pauses.any(|pause| pause.xoff > 0 && pause.why.get("paused_ns") == Some(&Reason::UnknownSpeed))
}

fn for_stragglers(head: &Head, say: &mut dyn FnMut(Seen), is_meant: impl Fn(CollectiveCause) -> bool) {
    for one in head.collectives.iter().flat_map(|all| &all.stragglers).filter(|one| is_meant(one.cause)) {
        let advice = match one.cause {
            CollectiveCause::HostLate => {
                Some("it was late in computing, or in asking: look at that host, not at the network")
            }
            CollectiveCause::Paused => {
                Some("find out who paused this path, and why: the findings about pauses say more")
            }
            CollectiveCause::Recovering => {
                Some("look for the loss on this path: the findings about its flows say where")
            }
            CollectiveCause::Throttled => Some(
                "look for the congestion on this path: who is marked, and who else sends to its receiver",
            ),
            CollectiveCause::Slow if has_untimed_pauses(head) => Some(
                "it may have been paused: pauses were asked for, and how long they were is not known without the link's speed (--speed)",
            ),
            CollectiveCause::Slow => Some(
                "look at this path, and at the adapters at its ends: nothing was lost, paused or marked there",
            ),
            _ => None,
        };
        say(Seen {
            time: one.lost_ns,
            advice: advice.map(Cow::Borrowed),
            ..Seen::new(one.operations, format!("collectives: {}", one.sentence()))
        });
    }
}

/// Rails of one-sided traffic that are hardly used, beside others of the same hosts.
pub(super) fn unused_rails(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for (rail, text) in head.one_sided.iter().flat_map(OneSided::hardly_used) {
        say(Seen::new(rail.queue_pairs, text));
    }
}

/// An end that had no credits for a shorter time, or a smaller share of the time, is not worth a finding.
const MIN_STALLED_NS: u64 = 10_000;
const MIN_STALLED: f64 = 0.01;

pub(super) fn credits(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for one in &head.credits {
        let (time, ratio) = (one.stalled_ns.unwrap_or(0), one.stall_ratio.unwrap_or(0.0));
        if time < MIN_STALLED_NS || ratio < MIN_STALLED {
            continue;
        }
        let stalls = one.stalls.unwrap_or(0);
        let text = format!(
            "port {} of {} had no credits on VL {} for {}, {} of the time: {}, {} at most",
            one.port,
            one.link,
            one.vl,
            duration(time),
            percent(ratio),
            several(stalls, "time"),
            duration(one.longest_stall_ns.unwrap_or(0))
        );
        let frames = one.stall_list.iter().take(8).map(|stall| stall.frame).collect();
        say(Seen { time, frames, ..Seen::new(stalls, text) });
    }
}

/// A rule about flows that are in the wrong class: `flows` are the first of them.
fn of_class(flows: &[usize], n: u64, what: &str, say: &mut dyn FnMut(Seen)) {
    if n > 0 {
        let numbers = flows.iter().take(8).map(|at| format!("#{at}")).collect::<Vec<_>>().join(", ");
        let more = if flows.len() > 8 || n > flows.len() as u64 { ", …" } else { "" };
        let of = if n == 1 { "has" } else { "have" };
        say(Seen::new(n, format!("{} ({numbers}{more}) {of} {what}", several(n, "flow"))));
    }
}

pub(super) fn without_pfc(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    of_class(&qos.without_pfc, qos.without_pfc_count, "data in a priority without PFC", say);
}

pub(super) fn several_classes(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let what = "data in another traffic class than the rest of the connection's data";
    of_class(&qos.several_classes, qos.several_classes_count, what, say);
}

pub(super) fn odd_class(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let Some(first) = qos.odd_class.first() else { return };
    let what =
        format!("data in another traffic class than their siblings: #{} has {}", first.flow, first.text());
    let flows: Vec<usize> = qos.odd_class.iter().map(|one| one.flow).collect();
    of_class(&flows, qos.odd_class_count, &what, say);
}

pub(super) fn acks_elsewhere(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let what = "ACKs in another traffic class than the data that they acknowledge";
    of_class(&qos.acks_elsewhere, qos.acks_elsewhere_count, what, say);
}

pub(super) fn cnps_elsewhere(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let what = "CNPs in another priority than the map assigns";
    of_class(&qos.cnps_elsewhere, qos.cnps_elsewhere_count, what, say);
}

pub(super) fn disagreeing(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let what = "packets whose PCP and DSCP map to different priorities";
    of_class(&qos.disagreeing, qos.disagreeing_count, what, say);
}

pub(super) fn rewritten(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let Some(first) = qos.rewritten.first() else { return };
    let what = format!("data with another DSCP at a later tap: {} becomes {}", first.dscp, first.then);
    let flows: Vec<usize> = qos.rewritten.iter().map(|one| one.flow).collect();
    of_class(&flows, qos.rewritten_count, &what, say);
}

pub(super) fn ecn_cleared(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let flows: Vec<usize> = qos.ecn_cleared.iter().map(|one| one.flow).collect();
    let what = "data that is ECN-capable at the first tap, and not at a later one";
    of_class(&flows, qos.ecn_cleared_count, what, say);
}

/// The two ends of a link, where neither takes over what the other one says.
pub(super) fn dcbx_differs(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let mut links: BTreeMap<&str, Vec<&DcbxPort>> = BTreeMap::new();
    for port in &head.qos.dcbx {
        links.entry(&port.link).or_default().push(port);
    }
    let list = |priorities: &[u8]| match priorities {
        [] => "no priority".to_owned(),
        all => all.iter().map(u8::to_string).collect::<Vec<_>>().join(", "),
    };
    for (link, ports) in links {
        let [a, b] = ports[..] else { continue };
        let frames = vec![a.first_frame, b.first_frame];
        if let (Some(of_a), Some(of_b), Some(false), Some(false)) =
            (&a.pfc, &b.pfc, a.pfc_willing, b.pfc_willing)
            && of_a != of_b
        {
            let text = format!(
                "on {link}, {} has PFC on {}, and {} on {}: neither takes over the other's",
                a.sender,
                list(of_a),
                b.sender,
                list(of_b)
            );
            say(Seen { frames, ..Seen::new(a.frames + b.frames, text) });
        }
    }
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

pub(super) fn port_collisions(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    if let Some(n) = head.ports.as_ref().map(|ports| ports.collisions).filter(|&n| n > 0) {
        let groups = several(n, "group");
        let share = if n == 1 { "shares" } else { "share" };
        let text = format!(
            "{groups} of queue pairs between the same hosts {share} a source port: they take one path"
        );
        say(Seen::new(n, text));
    }
}

pub(super) fn evicted_flows(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let evicted = head.capture.evicted_flows;
    if evicted > 0 {
        let text = format!(
            "{} evicted because there were too many. A flow that came back after its eviction has several rows",
            several(evicted, "flow")
        );
        say(Seen::new(evicted, text));
    }
}
