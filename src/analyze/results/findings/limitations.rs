//! What a capture can prove, and what it cannot.

use super::sums::Sums;
use crate::{
    capture::Problem,
    report::{
        FrameOrder, Head, IpId, clean,
        units::{duration, several},
    },
};

/// What this capture can prove, and what it cannot.
pub(super) fn limitations(
    head: &Head,
    sums: &Sums,
    is_cut_into_messages: bool,
    leaves_out: bool,
) -> Vec<String> {
    let capture = &head.capture;
    let mut limitations = Vec::new();
    let (paired, all) = (sums.paired, sums.reliable);
    if all > 0 {
        limitations.push(match paired {
            0 => "One direction only: no loss after the tap, no latency, no cause of a retransmission can be shown.".to_owned(),
            n if n == all => "Both directions of every connection.".to_owned(),
            n => format!("Both directions of {n} of {all} flows: of the others, no loss after the tap and no latency can be shown."),
        });
    }
    if leaves_out && paired < all {
        limitations.push("A filter left frames out, perhaps the other direction of these flows.".to_owned());
    }
    if let [first, more @ ..] = &capture.untied_files[..] {
        let more = match more.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        limitations.push(format!(
            "No packets in common tie the clock of {}{more} to that of the first capture: times of the one and the other are not to be compared.",
            clean(first)
        ));
    }
    if let Some(n) = capture.learned.one_in {
        limitations.push(format!(
            "About one packet in {n} is in the capture: it is sampled, or the others take other paths. No loss is claimed, and causes of retransmissions are guesses."
        ));
    }
    let constant = capture.learned.ip_id.get(&IpId::Constant).copied().unwrap_or(0);
    if constant > 0 {
        limitations.push(format!(
            "IPv4 identifications do not change in {constant} of {}: there, runs of packets and round trips tell what was retransmitted.",
            several(capture.learned.ip_id.values().sum::<u64>(), "flow")
        ));
    }
    if capture.truncated_packets > 0 {
        let cut = several(capture.truncated_packets, "frame");
        limitations.push(format!("{cut} cut by the capture: their ICRCs cannot be verified."));
    }
    if is_cut_into_messages {
        limitations.push("It begins, or ends, in the middle of messages: what came before its first packet is not counted.".to_owned());
    }
    match capture.timestamp_resolution_ns {
        None if capture.packets > 1 => limitations.push(
            "Frames have no times, or all the same one: nothing that lasts, and no rate, can be known."
                .to_owned(),
        ),
        Some(1) | None => {}
        Some(ns) => limitations.push(format!("Timestamps count in steps of {}.", duration(ns))),
    }
    if let (Some(frames), Some(ns)) = (capture.timestamp_batch_frames, capture.timestamp_batch_ns) {
        limitations.push(format!(
            "Times are those of batches of {}, {} apart: shorter times are not known.",
            several(frames, "frame"),
            duration(ns)
        ));
    }
    if capture.has_cut_pauses() {
        limitations.push(
            "Pause frames are cut before their times: whom they paused for how long is not known.".to_owned(),
        );
    } else if head.pause.is_none() {
        let text = match (head.is_native(), !head.credits.is_empty()) {
            (false, _) if leaves_out => {
                "A filter left frames out, and no MAC control frame is among the others: whether anyone was paused is not known."
            }
            (false, _) => "No MAC control frame at all: this capture cannot show whether anyone was paused.",
            (true, false) => {
                "No link packets: this capture of InfiniBand cannot show whether anyone had no credits to send."
            }
            (true, true) => "",
        };
        limitations.extend(Some(text).filter(|text| !text.is_empty()).map(str::to_owned));
    }
    if capture.flows_without_detail > 0 {
        limitations.push(format!(
            "{} gave up detail to stay within --max-memory: some of their episodes and latencies are left out, percentiles are known to a factor of two, and late packets are ambiguous.",
            several(capture.flows_without_detail, "flow")
        ));
    }
    if capture.time_steps_back > 0 {
        let steps = several(capture.time_steps_back, "time");
        let apart = duration(capture.order_apart_ns.unwrap_or(0));
        limitations.push(match capture.frame_order {
            Some(FrameOrder::Time) => {
                format!("Time steps back {steps}: frames are analyzed in the order of their times, up to {apart} from their place in the file.")
            }
            Some(FrameOrder::File) => format!(
                "Time steps back {steps}, and yet the file's order is the right one: times, latencies and rates are wrong by up to {apart}."
            ),
            Some(FrameOrder::Unknown) | None => {
                format!("Time steps back {steps}: durations, rates, latencies, timeouts and shares of time across those steps are wrong, and what is concluded from them.")
            }
        });
    }
    let (missing, damage): (Vec<_>, Vec<_>) =
        capture.problems.iter().partition(|problem| Problem::is_of_missing_parts(&problem.what));
    if !missing.is_empty() {
        limitations
            .push("Files of the capture were not given: packets between its parts seem lost.".to_owned());
    }
    if !damage.is_empty() {
        limitations
            .push("The file is damaged: packets after a damaged place may lack their context.".to_owned());
    }
    limitations
}
