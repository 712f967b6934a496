//! Packets that are sprayed over paths: what acknowledgements that stand for several, or are lost, do not tell; how late a slow path is; several taps.

use rdmawire::{
    craft::{Channel, Path},
    opcode::Opcode,
    report::{MrcConnection, PathState, Report},
    wire::*,
};

use crate::mrc::{PATHS, V4, over, report_of, sack, sprayed, standing_out, whole};

type Frames = Vec<(i64, u16, Vec<u8>)>;

fn channel() -> Channel {
    Channel::mrc(Path::rocev2(V4[0], V4[1]), Qpn(0x12), Qpn(0x11))
}

fn row(report: &Report) -> &MrcConnection {
    let [row] = &report.head.mrc[..] else { panic!("{:?}", report.head.mrc) };
    row
}

/// The SACK that the `n`-th packet caused: all before `missing` have arrived, and those behind it up to this one.
fn without(n: u16, missing: u16) -> Vec<u8> {
    let there = u64::MAX >> (63 - (n - missing).min(63)) & !1;
    let sack = channel().reversed().headers(Opcode::MRC_SACK, Psn(0)).edit(|seth: Seth| {
        seth.with_cack_psn(Psn(99 + u32::from(missing)))
            .with_ack_psn_offset(Hex16(n + 1 - missing))
            .with_sack_offset(Hex16(1))
            .with_sack_bitmap(Hex64(there))
            .with_entropy(Hex32(u32::from(0xc000 + n % PATHS)))
    });
    whole(&sack)
}

/// 64 packets, each second one with a SACK after 4 us. The packet `resent` comes again after 200 us, and has a SACK then.
fn resent(resent: usize, answer: impl Fn(u16) -> Option<Vec<u8>>) -> Report {
    let mut frames: Frames = Vec::new();
    for (n, frame) in (0u16..).zip(sprayed(channel(), 64, 0)) {
        let time = i64::from(n) * 100;
        frames.push((time, 0, frame));
        if let Some(answer) = answer(n).filter(|_| n % 2 == 0) {
            frames.push((time + 4_000, 0, answer));
        }
    }
    let again = over(channel(), 64, |n| (n as u16 + 1) % PATHS, |_| true).swap_remove(resent);
    frames.push((200_000, 0, again));
    let answer = channel().reversed().headers(Opcode::MRC_SACK, Psn(0)).edit(|seth: Seth| {
        seth.with_cack_psn(Psn(163))
            .with_ack_psn_offset(Hex16((resent as u16).wrapping_sub(63)))
            .with_sack_bitmap(Hex64(0))
            .with_entropy(Hex32(u32::from(0xc000 + (resent as u16 + 1) % PATHS)))
    });
    frames.push((206_000, 0, whole(&answer)));
    frames.sort_by_key(|(time, ..)| *time);
    report_of(frames)
}

/// A SACK for several packets was lost, or the packets: their sender cannot know, and nor can we. One that SACKs keep showing missing was lost.
#[test]
fn silence_does_not_tell_what_was_lost() {
    let silent = resent(63, |n| (n < 48).then(|| sack(channel(), n, 0, 0)));
    let shown = resent(20, |n| match n {
        ..20 => Some(sack(channel(), n, 0, 0)),
        20 => None,
        _ => Some(without(n, 20)),
    });
    for (report, lost, lost_or_late) in [(silent, 0, 1), (shown, 1, 0)] {
        let row = row(&report);
        assert_eq!((row.lost_after_tap, row.lost_or_late), (lost, lost_or_late), "{row:?}");
        assert_eq!((row.spurious_retransmits, row.retransmits), (0, 1), "{row:?}");
        assert_eq!(report.head.paths.iter().map(|path| path.lost).sum::<u64>(), lost);
    }
}

/// At the receiver: some jitter overtakes a third of the packets of good paths, and a slow one is late by much. A longer path is not slow.
#[test]
fn a_path_is_slow_by_how_late_it_is() {
    for (slow, expected) in [(9_000, vec![(2, PathState::Slow)]), (1_500, vec![])] {
        let mut frames: Frames = Vec::new();
        for (n, frame) in (0u16..).zip(sprayed(channel(), 512, 0)) {
            let later = if n % PATHS == 2 { slow } else { i64::from((n / PATHS).is_multiple_of(3)) * 800 };
            frames.push((i64::from(n) * 100 + later, 0, frame));
        }
        frames.sort_by_key(|(time, ..)| *time);
        assert_eq!(standing_out(&report_of(frames)), expected, "{slow}");
    }
}

/// Nothing tells what arrived: what is sent again on all paths alike makes none of them bad.
#[test]
fn without_answers_retransmissions_on_all_paths_say_nothing_of_one() {
    let mut frames: Frames = Vec::new();
    let again = over(channel(), 1024, |n| (n as u16 + 1) % PATHS, |_| true);
    for (n, (sent, again)) in (0u32..).zip(sprayed(channel(), 1024, 0).into_iter().zip(again)) {
        frames.push((i64::from(n) * 100, 0, sent));
        if n / u32::from(PATHS) % 10 == 3 {
            frames.push((i64::from(n) * 100 + 20_000, 0, again));
        }
    }
    frames.sort_by_key(|(time, ..)| *time);
    assert_eq!(standing_out(&report_of(frames)), []);
}

/// A slow path delivers a packet to the second and the third tap when it was sent two more times, once on the same path.
#[test]
fn what_comes_to_other_taps_behind_two_retransmissions_is_no_new_packet() {
    const LATE: usize = 20;
    let mut frames: Frames = Vec::new();
    let mut pass = |sent: i64, slow: i64, frame: &Vec<u8>| {
        frames.push((sent, 0, frame.clone()));
        frames.push((sent + slow + 2_000, 1, frame.clone()));
        frames.push((sent + slow + 4_000, 2, frame.clone()));
    };
    for (n, frame) in (0..).zip(sprayed(channel(), 64, 0)) {
        pass(n as i64 * 100, if n == LATE { 30_000 } else { 0 }, &frame);
    }
    for (time, path) in [(10_000, 1), (20_000, 0)] {
        let again = over(channel(), 64, |n| (n as u16 + path) % PATHS, |_| true).swap_remove(LATE);
        pass(time, if path == 0 { 30_000 } else { 0 }, &again);
    }
    frames.sort_by_key(|(time, ..)| *time);
    let report = report_of(frames);
    assert_eq!((row(&report).packets, row(&report).retransmits), (66, 2), "{:?}", row(&report));
    for path in report.head.paths.iter().filter(|path| path.udp_src_port != 0xc000) {
        assert_eq!(path.transit_mean_ns, Some(4_000), "{path:?}");
    }
}

/// Four paths in changing order, each as often: what was lost before the tap is missing on the one that loses.
#[test]
fn of_few_paths_that_carry_the_same_the_one_that_carries_less_is_named() {
    const ROUNDS: u32 = 400;
    const LOSSY: u16 = 2;
    let all = u32::from(PATHS);
    let path = |n: u32| ((n % all * [1, 3][(n / all) as usize % 2] + n / all / 2) % all) as u16;
    let is_lost = |n: u32| path(n) == LOSSY && n / all % 8 == 5;
    let sent = over(channel(), ROUNDS * all, path, |_| false);
    let again = over(channel(), ROUNDS * all, |n| [0, 1, 3][(n / all / 8) as usize % 3], |_| true);
    let mut frames: Frames = Vec::new();
    for (n, (sent, again)) in (0u32..).zip(sent.into_iter().zip(again)) {
        let time = i64::from(n) * 100;
        frames.push(if is_lost(n) { (time + 20_000, 0, again) } else { (time, 0, sent) });
    }
    frames.sort_by_key(|(time, ..)| *time);
    assert_eq!(standing_out(&report_of(frames)), [(LOSSY, PathState::Lossy)]);
}

/// Three transmissions of one packet, on three paths: an answer to each says that none was lost.
#[test]
fn of_three_transmissions_the_first_one_may_have_arrived() {
    const LATE: usize = 20;
    let mut frames: Frames = Vec::new();
    for (n, frame) in (0i64..).zip(sprayed(channel(), 64, 0)) {
        frames.push((n * 100, 0, frame));
    }
    for path in [1, 2] {
        let again = over(channel(), 64, |n| (n as u16 + path) % PATHS, |_| true).swap_remove(LATE);
        frames.push((i64::from(path) * 10_000, 0, again));
    }
    for path in 0..3 {
        frames.push((30_000 + i64::from(path) * 1_000, 0, sack(channel(), LATE as u16, path, 0)));
    }
    let report = report_of(frames);
    let row = row(&report);
    assert_eq!((row.lost_after_tap, row.spurious_retransmits, row.lost_or_late), (0, 2, 0), "{row:?}");
    assert!(report.head.paths.iter().all(|path| path.lost == 0), "{:?}", report.head.paths);
}
