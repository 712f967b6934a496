//! Rules about pauses, and about credits, which stop senders of native InfiniBand.

use super::{
    evidence::{Evidence, Seen},
    kin::Thing,
};
use crate::report::{
    Pause, PauseViolations, Reason,
    units::{count, duration, percent, priority, several},
};

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
