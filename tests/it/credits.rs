//! Credits of native InfiniBand, on link packets of a link whose buffers are known.

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    craft::flow_control,
    dissect::Link,
    report::{Credits, Reason, Report},
    wire::LinkOp,
};

/// A link packet that a capture port recorded: time, port, operation, lane, FCTBS, FCCL.
type Sent = (i64, u8, u8, u8, u64, u64);

fn analyze(packets: &[Sent], break_crc: bool) -> Report {
    let mut analysis = Analysis::new(Options::default());
    for &(time, port, op, vl, fctbs, fccl) in packets {
        let [fctbs, fccl] = [fctbs, fccl].map(|blocks| (blocks % 4096) as u16);
        let mut frame = flow_control(LinkOp(op), vl, fctbs, fccl).build().to_vec();
        // Capture ports are in the flags of the record.
        frame[9] |= port & 3 | (port & 4) << 4;
        if break_crc {
            frame[20] ^= 1;
        }
        let wire_len = frame.len() as u32;
        analysis.push(&Record { time: Time(time), link: Link::ERF, interface: 0, wire_len, frame: &frame });
    }
    analysis.finish()
}

/// The truth of an end: fewest and most blocks left, stalls, nanoseconds of these, blocks sent.
#[derive(Debug, Default, PartialEq)]
struct Truth {
    least: u64,
    most: u64,
    stalls: u64,
    stalled_ns: u64,
    longest_ns: u64,
    blocks: u64,
}

/// End 0 sends 10 blocks a microsecond to end 1, which has room for 128, and empties twice as much, but not in the times of `stops`. End 0 tells
/// every microsecond what it sent, end 1 half a microsecond later what it may send. End 1 sends nothing.
fn link(us: i64, vl: u8, ports: [u8; 2], stops: &[(i64, i64)]) -> (Vec<Sent>, Truth) {
    let (mut packets, mut truth) = (Vec::new(), Truth { least: u64::MAX, ..Truth::default() });
    let (mut sent, mut emptied, mut limit) = (0u64, 0u64, 128u64);
    for port in ports {
        packets.push((0, port, 1, vl, 0, 128));
    }
    let mut stalled_since = None;
    let see = |time: i64, left: u64, truth: &mut Truth, since: &mut Option<i64>| {
        (truth.least, truth.most) = (truth.least.min(left), truth.most.max(left));
        match (left, *since) {
            (0, None) => (truth.stalls, *since) = (truth.stalls + 1, Some(time)),
            (1.., Some(from)) => {
                let ns = (time - from) as u64;
                truth.stalled_ns += ns;
                (truth.longest_ns, *since) = (truth.longest_ns.max(ns), None);
            }
            _ => {}
        }
    };
    see(0, 128, &mut truth, &mut stalled_since);
    for at in 1..=us {
        sent = (sent + 10).min(limit);
        packets.push((at * 1000, ports[0], 0, vl, sent, 128));
        see(at * 1000, limit - sent, &mut truth, &mut stalled_since);
        let is_stopped = stops.iter().any(|&(from, to)| (from..to).contains(&at));
        emptied = if is_stopped { emptied } else { (emptied + 20).min(sent) };
        limit = emptied + 128;
        packets.push((at * 1000 + 500, ports[1], 0, vl, 0, limit));
        see(at * 1000 + 500, limit - sent, &mut truth, &mut stalled_since);
    }
    truth.blocks = sent;
    (packets, truth)
}

fn row(report: &Report, port: u8, vl: u8) -> &Credits {
    report.head.credits.iter().find(|row| (row.port, row.vl) == (port, vl)).unwrap()
}

fn found(row: &Credits) -> Truth {
    Truth {
        least: row.least.unwrap().into(),
        most: row.most.unwrap().into(),
        stalls: row.stalls.unwrap(),
        stalled_ns: row.stalled_ns.unwrap(),
        longest_ns: row.longest_stall_ns.unwrap(),
        blocks: row.blocks,
    }
}

#[test]
fn stalls_are_those_of_the_buffer() {
    let (packets, truth) = link(3000, 2, [0, 1], &[(500, 800), (1200, 1260), (2000, 2008)]);
    assert!(truth.stalls == 2 && truth.stalled_ns > 300_000 && truth.blocks > 4096 * 3, "{truth:?}");
    let report = analyze(&packets, false);
    assert_eq!(report.head.credits.len(), 2);
    let row0 = row(&report, 0, 2);
    assert_eq!(found(row0), truth);
    assert_eq!((row0.packets, row0.init_packets, row0.over_limit), (3001, 1, Some(0)));
    let ratio = truth.stalled_ns as f64 / 3_000_500.0;
    assert!((row0.stall_ratio.unwrap() - ratio).abs() < ratio * 0.001, "{row0:?}");
    assert_eq!(row0.stall_list.len(), 2);
    assert!(row0.stall_list.iter().all(|stall| stall.is_over));
    assert_eq!(
        row0.stall_list.iter().map(|stall| stall.end_ns.abs_diff(stall.start_ns)).sum::<u64>(),
        truth.stalled_ns
    );
    // Bins over time: none is lost, and the fewest of all is that of the row.
    assert!(row0.over_time.len() > 100 && row0.over_time.len() <= 256);
    assert_eq!(row0.over_time.iter().map(|bin| bin.least).min(), row0.least);
    // The other end never sends.
    let idle = row(&report, 1, 2);
    assert_eq!((idle.least, idle.most, idle.stalls, idle.blocks), (Some(128), Some(128), Some(0), 0));
    let finding = report.head.findings.iter().find(|finding| finding.id == "credits.stall").unwrap();
    assert!(finding.text.contains("port 0") && finding.text.contains("VL 2"), "{finding:?}");
    assert_eq!(finding.frames, row0.stall_list.iter().map(|stall| stall.frame).collect::<Vec<_>>());
}

#[test]
fn lanes_and_links_are_kept_apart() {
    let (mut packets, one) = link(400, 0, [0, 1], &[(100, 150)]);
    let (more, two) = link(400, 5, [1, 0], &[(200, 290)]);
    let (others, three) = link(400, 0, [4, 5], &[]);
    packets.extend(more);
    packets.extend(others);
    packets.sort_by_key(|&(time, ..)| time);
    let report = analyze(&packets, false);
    assert_eq!(report.head.credits.len(), 6);
    for (port, vl, truth) in [(0, 0, one), (1, 5, two), (4, 0, three)] {
        assert_eq!(found(row(&report, port, vl)), truth, "{port} {vl}");
    }
}

#[test]
fn what_cannot_be_known() {
    let (packets, _) = link(100, 0, [0, 1], &[]);
    let clean = analyze(&packets, false);
    assert!(clean.head.findings.iter().all(|finding| finding.id != "credits.stall"));
    // One direction.
    let half: Vec<Sent> = packets.iter().filter(|packet| packet.1 == 0).copied().collect();
    let half = analyze(&half, false);
    assert_eq!(
        (half.head.credits[0].least, half.head.credits[0].why.get("least")),
        (None, Some(&Reason::OneWay))
    );
    assert_eq!(half.head.credits[0].blocks, 1000);
    // Wrong checksums.
    let broken = analyze(&packets, true);
    assert_eq!((broken.head.credits.len(), broken.head.bad_lpcrcs), (0, packets.len() as u64));
    // Two directions whose counters have nothing to do with each other.
    let apart = |n: u64| if n.is_multiple_of(2) { 0 } else { 3000 };
    let apart: Vec<Sent> =
        (0..100).map(|n| (n as i64 * 1000, (n % 2) as u8, 0, 0, 0, apart(n / 2))).collect();
    let apart = analyze(&apart, false);
    assert_eq!(
        apart.head.credits[0].why.get("least"),
        Some(&Reason::Unpaired),
        "{:?}",
        apart.head.credits[0]
    );
    // A stall that the capture does not end.
    let (packets, truth) = link(200, 0, [0, 1], &[(100, 300)]);
    let open = analyze(&packets, false);
    let row0 = row(&open, 0, 0);
    assert_eq!((row0.stalls, row0.stall_list[0].is_over), (Some(truth.stalls), false));
    assert_eq!(row0.stalled_ns, Some((200_500 - row0.stall_list[0].start_ns) as u64));
}
