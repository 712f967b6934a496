//! Tests of `src/analyze/metric/collective/queue.rs`.

use super::*;

/// A packet of 4096 bytes takes so long.
const PACKET_NS: i64 = 100;

/// An adapter that sends messages of so many packets on four queue pairs, so many packets in each one's turn, without a silence. Then another queue pair has its turn:
/// how many packets it may have waited for.
fn waited_for(of_message: u32, of_turn: u32, rounds: u32) -> i64 {
    let (mut queue, mut now) = (Queue::default(), 0);
    for round in 0..rounds {
        for way in 0..4 {
            for packet in 0..of_turn {
                let sent = round * of_turn + packet + 1;
                queue.pass((way, now), (4096, !sent.is_multiple_of(of_message)));
                now += PACKET_NS;
            }
        }
    }
    (now - queue.pass((4, now), (4096, true))) / PACKET_NS
}

#[test]
fn a_queue_pair_waits_for_the_turns_of_others() {
    // One packet of each, and no more: that had its turn already.
    assert_eq!(waited_for(16, 1, 16), 4);
    // Several packets of each, within longer messages, and of whole messages.
    assert_eq!(waited_for(16, 4, 4), 16);
    assert_eq!(waited_for(4, 4, 6), 16);
    assert_eq!(waited_for(8, 8, 6), 32);
}

#[test]
fn a_long_message_alone_is_no_turn() {
    let mut queue = Queue::default();
    for packet in 0..64 {
        queue.pass((0, packet * PACKET_NS), (4096, true));
    }
    // Whoever comes then was not ready before: it would have had its turn.
    assert_eq!(queue.pass((1, 64 * PACKET_NS), (4096, true)), 63 * PACKET_NS);
}

#[test]
fn short_last_packets_do_not_make_an_adapter_faster_than_it_is() {
    // Taps that note when packets end.
    let (mut queue, mut now) = (Queue::default(), 0);
    for message in 0..8 {
        for (payload, goes_on) in [(4096, true), (4096, true), (2048, false)] {
            now += PACKET_NS * i64::from(payload) / 4096;
            queue.pass((message % 2, now), (payload, goes_on));
        }
    }
    // It waited for one message of each: all packets follow each other.
    now += PACKET_NS;
    assert_eq!(now - queue.pass((2, now), (4096, true)), 5 * PACKET_NS);
}

#[test]
fn an_adapter_that_had_nothing_more_to_send_is_not_slow() {
    let (mut queue, mut now) = (Queue::default(), 0);
    for way in 0..4 {
        now += 50 * PACKET_NS;
        queue.pass((way, now), (4096, false));
    }
    assert_eq!(queue.pass((4, now + 50 * PACKET_NS), (4096, false)), now + 50 * PACKET_NS);
}
