//! Captures of two places: every packet is counted once, whatever they saw, and comments name frames that there are.

use std::net::Ipv4Addr;

use rdmawire::{
    analyze::{Analysis, Options},
    annotate::{Annotations, Notes},
    capture::{Record, Time},
    craft::{Channel, Path},
    dissect::{self, Link},
    opcode::Opcode,
    taps::{self, Taps},
    wire::{Ecn, Hex16, Ipv4, Psn, Qpn},
};

const PACKETS: usize = 600;

/// A fuzzer's input: packets of four bytes.
///
/// ```text
/// | who saw it (2 bits: both, the first, the second, the second twice), flow (2), answer, CE, damaged, DSCP | PSN's step | time's step | how |
/// how & 7: the time is 10 times as long for each; & 8: back in time; & 16: the identification stays; & 32: the second is far behind
/// ```
pub fn compared(data: &[u8]) {
    let (mut psns, mut time, mut id) = ([0u32; 4], 0i64, 0u16);
    let mut seen: [Vec<(i64, Vec<u8>)>; 2] = Default::default();
    for packet in data.chunks_exact(4).take(PACKETS) {
        let &[who, step, after, how] = packet else { return };
        let flow = usize::from(who >> 2 & 3);
        psns[flow] = psns[flow].wrapping_add(step.into()).wrapping_sub(8) & 0xff_ffff;
        let after = i64::from(after).saturating_mul(10i64.pow(u32::from(how & 7)));
        time = time.saturating_add(if how & 8 != 0 { -after } else { after });
        id = id.wrapping_add(u16::from(how & 16 == 0));
        let path = Path::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let path = if who & 16 != 0 { path.reversed() } else { path };
        let opcode = if who & 16 != 0 { Opcode::RC_ACKNOWLEDGE } else { Opcode::RC_SEND_ONLY };
        let mut packet =
            Channel::rc(path, Qpn(0x20), Qpn(0x10 + flow as u32)).headers(opcode, Psn(psns[flow]));
        packet.alter(|ip: Ipv4| ip.with_id(Hex16(id)));
        let first = packet.build().to_vec();
        packet.alter(|ip: Ipv4| ip.with_ttl(63).with_ecn(Ecn(if who & 32 != 0 { 3 } else { 0 })));
        let mut second = packet.build().to_vec();
        if who & 64 != 0
            && let Some(last) = second.last_mut()
        {
            *last ^= 0x55;
        }
        let later = if how & 32 != 0 { 3_000_000_000 } else { 700 };
        let times = [time, time.saturating_add(later)];
        if who & 3 < 2 {
            seen[0].push((times[0], first));
        }
        for _ in 0..[1, 0, 1, 2][usize::from(who & 3)] {
            seen[1].push((times[1], second.clone()));
        }
    }
    diff(&seen);
    annotated(&seen[1]);
}

fn record<'a>((time, frame): &'a (i64, Vec<u8>)) -> Record<'a> {
    Record { time: Time(*time), link: Link::ETHERNET, interface: 0, wire_len: frame.len() as u32, frame }
}

fn diff(seen: &[Vec<(i64, Vec<u8>)>; 2]) {
    let mut compared = Taps::new(taps::Options::default(), ["a", "b"]);
    let mut next = [0; 2];
    while let Some(tap) = compared.next_tap() {
        match seen[tap].get(next[tap]) {
            Some(packet) => compared.push(tap, &record(packet)),
            None => compared.end(tap),
        }
        next[tap] += 1;
    }
    let report = compared.finish();
    for (tap, seen) in report.taps.iter().zip(seen) {
        assert_eq!(tap.frames, seen.len() as u64);
    }
    let total = report.total();
    assert!(total.delivered + total.undelivered() <= (seen[0].len() + seen[1].len()) as u64, "{total:?}");
    #[cfg(feature = "cli")]
    rdmawire::report::text::write_diff(&report, &rdmawire::report::text::Options::default(), &mut Vec::new())
        .expect("memory does not fail");
    serde_json::to_string(&report).expect("a report is JSON");
}

fn annotated(seen: &[(i64, Vec<u8>)]) {
    let mut analysis = Analysis::with(Options::default(), Notes::new(PACKETS));
    seen.iter().for_each(|packet| analysis.push(&record(packet)));
    let mut annotations = Annotations::new(analysis.end(), dissect::Options::default());
    for (packet, number) in seen.iter().zip(1..) {
        let Some(comment) = annotations.comment(number, &record(packet)) else { continue };
        assert!(!comment.contains(|c: char| c.is_control()), "{comment:?}");
        let named = comment
            .split("frame ")
            .skip(1)
            .filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok());
        for frame in named {
            assert!((1..=seen.len() as u64).contains(&frame), "frame {number}: {comment}");
        }
    }
}
