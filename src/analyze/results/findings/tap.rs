//! Rules about the capture itself: what it could not have, lost, or has twice, and what was not decoded.

use super::evidence::{Evidence, Seen};
use crate::report::{
    NotDecoded,
    units::{count, duration, several},
};

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

pub(super) fn without_rdma(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let capture = &head.capture;
    let others: u64 = capture.not_decoded.iter().map(|one| one.frames).sum();
    if capture.rdma_packets == 0 && head.pause.is_none() && others > 0 {
        // Where most is encrypted, that is what there is to say.
        let encrypted: u64 = capture.encrypted().map(|one| one.frames).sum();
        if encrypted * 2 >= others {
            return;
        }
        // Where all of it was cut, that is, too: see `not_decoded`.
        if capture.hiding().filter(|one| one.is_cut()).map(|one| one.frames).sum::<u64>() == others {
            return;
        }
        let text = format!("no RDMA packet: {}", NotDecoded::list(capture.not_decoded.iter()));
        let other: u64 =
            capture.not_decoded.iter().filter(|one| one.is_other_transport()).map(|one| one.frames).sum();
        let next = (other * 2 >= others).then(|| OTHER_TRANSPORT.into());
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
