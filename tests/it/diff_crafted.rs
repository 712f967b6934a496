//! Two taps of crafted scenarios: a router, a tunnel and other DSCPs between them, clocks that differ, senders that leave the IPv4
//! identification at zero. What was lost and how long each packet took is known exactly.

use std::collections::BTreeMap;

use rdmawire::{
    capture::{Record, Time},
    dissect::{Link, dissect},
    report::{Fate, diff::Diff},
    sim::{self, Run, Scenario},
    taps::{Options, Taps},
    wire::Kind,
};

/// The clock of a tap: what it shows, from the true time.
#[derive(Clone, Copy, Debug)]
struct Clock {
    offset_ns: i64,
    ppm: f64,
    tick_ns: i64,
}

impl Clock {
    const RIGHT: Clock = Clock { offset_ns: 0, ppm: 0.0, tick_ns: 1 };

    fn show(self, begin: i64, time: i64) -> i64 {
        let since = time - begin;
        let shown = time + self.offset_ns + (since as f64 * self.ppm * 1e-6) as i64;
        shown.div_euclid(self.tick_ns) * self.tick_ns
    }
}

/// A network between the taps that changes DSCPs: the new one, and the checksum of the IPv4 header.
fn remark(frame: &mut [u8], link: Link, dscp: u8) {
    let Some(at) = dissect(link, frame, 0).offset(Kind::Ipv4) else { return };
    let header = &mut frame[at..at + 20];
    header[1] = dscp << 2 | header[1] & 3;
    header[10..12].fill(0);
    let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

fn compare(run: &Run, clocks: [Clock; 2], dscp: Option<u8>) -> Diff {
    let begin = run.scenario.begin.0 as i64;
    let mut files = [0, 1].map(|tap| {
        let mut frames = run.frames(tap);
        let mut all = Vec::new();
        while let Some(frame) = frames.next() {
            let mut bytes = frame.bytes.to_vec();
            if let Some(dscp) = dscp.filter(|_| tap == 1) {
                remark(&mut bytes, frame.link, dscp);
            }
            let time = Time(clocks[tap].show(begin, frame.time_ns));
            all.push((time, frame.link, frame.wire_len, bytes));
        }
        all.into_iter()
    });
    let mut taps = Taps::new(Options::default(), ["a", "b"]);
    while let Some(tap) = taps.next_tap() {
        match files[tap].next() {
            Some((time, link, wire_len, frame)) => {
                taps.push(tap, &Record { time, link, interface: 0, wire_len, frame: &frame })
            }
            None => taps.end(tap),
        }
    }
    taps.finish()
}

/// What befell the packets of a direction: those that the tap nearer to the sender saw, by transmission.
#[derive(Default)]
struct Truth {
    sent: u64,
    delivered: u64,
    /// Frame at the tap nearer to the sender, and PSN.
    lost: Vec<(u64, u32)>,
    delays: Vec<i64>,
}

fn truth(run: &Run) -> BTreeMap<(bool, u32), Truth> {
    let mut seen: BTreeMap<*const sim::Transmission, [Option<(u64, u64)>; 2]> = BTreeMap::new();
    for tap in 0..2 {
        for (frame, sighting) in (1..).zip(run.recorded(tap)).filter(|(_, sighting)| !sighting.again) {
            if let Some(t) = run.transmission(sighting) {
                seen.entry(t).or_default()[tap] = Some((frame, sighting.time));
            }
        }
    }
    let mut flows: BTreeMap<(bool, u32), Truth> = BTreeMap::new();
    for t in &run.transmissions {
        let Some(times) = seen.get(&(t as *const _)) else { continue };
        let flow = &run.flows[t.flow as usize];
        // Host 0 is on the left.
        let is_right = flow.src == 0;
        let [near, far] = if is_right { *times } else { [times[1], times[0]] };
        let truth = flows.entry((is_right, flow.dest_qp)).or_default();
        let (frame, near) = near.expect("nothing begins between the taps");
        truth.sent += 1;
        match far {
            Some((_, far)) => {
                truth.delivered += 1;
                truth.delays.push(far as i64 - near as i64);
            }
            None => truth.lost.push((frame, (t.psn & 0xff_ffff) as u32)),
        }
    }
    flows.values_mut().for_each(|truth| truth.delays.sort_unstable());
    flows
}

/// Compares two taps with the truth. Returns how many were lost.
fn judge(name: &str, text: &str, clocks: [Clock; 2], dscp: Option<u8>) -> u64 {
    let scenario = Scenario::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let run = sim::run(&scenario).unwrap();
    let diff = compare(&run, clocks, dscp);
    let segment = &diff.segments[0];
    let mut lost = 0;
    let mut by_flow: BTreeMap<(bool, u32), Vec<(u64, u32)>> = BTreeMap::new();
    for loss in diff.losses.iter().filter(|loss| loss.fate == Fate::Lost) {
        by_flow.entry((loss.from == 0, loss.dest_qp)).or_default().push((loss.frame, loss.psn));
    }
    for ((is_right, qp), truth) in truth(&run) {
        let from = usize::from(!is_right);
        let direction = segment.directions.iter().find(|direction| direction.from == from);
        let direction = direction.unwrap_or_else(|| panic!("{name}: no direction from tap {from}"));
        let flow = direction.flows.iter().find(|flow| flow.dest_qp == qp).unwrap();
        let counts = &flow.counts;
        assert_eq!(
            (counts.sent, counts.delivered, counts.lost),
            (truth.sent, truth.delivered, truth.lost.len() as u64),
            "{name}: QP {qp:#x} from tap {from}: {counts:?}"
        );
        let mut psns = by_flow.remove(&(is_right, qp)).unwrap_or_default();
        let mut expected = truth.lost;
        psns.sort_unstable();
        expected.sort_unstable();
        let wrong: Vec<_> = psns.iter().zip(&expected).filter(|(said, is)| said != is).collect();
        assert!(wrong.is_empty(), "{name}: QP {qp:#x} from tap {from}: said and true {wrong:?}");
        lost += psns.len() as u64;
        assert_eq!(counts.dscp_changed, dscp.map_or(0, |_| counts.delivered), "{name}");
        let error = segment.clock.error_ns.unwrap_or_else(|| panic!("{name}: {:?}", segment.clock)) as i64;
        // Of many packets, some are left out of the percentiles.
        let at = |share: usize| truth.delays[(truth.delays.len() - 1) * share / 100];
        for (said, delays) in [(flow.delay.min_ns, [at(0), at(1)]), (flow.delay.p50_ns, [at(48), at(52)])] {
            let said = said.unwrap();
            let [from, to] = [delays[0] - error, delays[1] + error];
            assert!((from..=to).contains(&said), "{name}: delay {said}, is {delays:?} by {error}");
        }
    }
    assert!(by_flow.is_empty(), "{name}: losses of no flow: {by_flow:?}");
    if clocks[1].ppm != 0.0 {
        let clock = &segment.clock;
        let (drift, error) = (clock.drift_ppm.unwrap(), clock.drift_error_ppm.unwrap());
        let true_drift = clocks[1].ppm - clocks[0].ppm;
        assert!((drift - true_drift).abs() <= error + 0.5, "{name}: {drift} by {error}, is {true_drift}");
    }
    lost
}

const TAPS: &str = "
    [[segment]]
    delay = \"1us\"
    [[segment]]
    delay = \"3us\"
    RIGHT
    [[segment]]
    delay = \"1us\"
    [[tap]]
    name = \"a\"
    after = 1
    [[tap]]
    name = \"b\"
    after = 2
    WRAP
";

/// What the host sends, the faults between the taps, and what carries the frames at the second one.
fn scenario(connection: &str, faults: &str, wrap: &str) -> String {
    let taps = TAPS.replace("RIGHT", faults).replace("WRAP", wrap);
    format!("[[connection]]\n{connection}\n{taps}")
}

const IDENTIFICATIONS: [&str; 4] = ["zero", "flow", "host", "random"];
const WRITES: &str = "operations = [{ op = \"write\", size = \"64KiB\", count = 60 }]";
const MIXED: &str = "operations = [{ op = \"write\", size = \"20KiB\", count = 30 }, { op = \"read\", size = \"20KiB\", count = 30 }, { op = \"send\", size = 64, count = 100 }]";

#[test]
fn losses_and_delays_between_two_taps_are_exact() {
    let clocks = [
        ("equal clocks", [Clock::RIGHT; 2]),
        ("fast by 100 ppm", [Clock::RIGHT, Clock { offset_ns: 7_300_123, ppm: 100.0, tick_ns: 1 }]),
        ("slow by 100 ppm", [Clock::RIGHT, Clock { offset_ns: -40_000_777, ppm: -100.0, tick_ns: 1 }]),
        (
            "1 us stamps",
            [
                Clock { offset_ns: 0, ppm: 0.0, tick_ns: 1000 },
                Clock { offset_ns: 250_500, ppm: 100.0, tick_ns: 1000 },
            ],
        ),
    ];
    let faults = [
        ("loss", "right = { drop = 0.01 }\nleft = { drop = 0.005 }"),
        ("marks", "right = { drop = 0.005, mark = 0.1 }"),
        ("nothing", ""),
    ];
    let mut lost = 0;
    for id in IDENTIFICATIONS {
        for (what, operations) in [("writes", WRITES), ("mixed", MIXED)] {
            for (fault, faults) in faults {
                for (clock, clocks) in clocks {
                    let text = scenario(&format!("ip_id = \"{id}\"\n{operations}"), faults, "");
                    let name = format!("{what}, identification {id}, {fault}, {clock}");
                    lost += judge(&name, &text, clocks, None);
                }
            }
        }
    }
    assert!(lost > 1000, "{lost}");
}

#[test]
fn tunnels_and_other_dscps_between_the_taps_change_nothing() {
    let drift = [Clock::RIGHT, Clock { offset_ns: 12_345_678, ppm: -100.0, tick_ns: 1000 }];
    let faults = "right = { drop = 0.01 }\nleft = { drop = 0.005 }";
    let mut lost = 0;
    for id in IDENTIFICATIONS {
        for wrap in ["vxlan", "erspan2", "erspan3"] {
            let wrapped = format!("wrap = \"{wrap}\"");
            let text = scenario(&format!("ip_id = \"{id}\"\n{MIXED}"), faults, &wrapped);
            lost += judge(&format!("{wrap}, identification {id}"), &text, drift, None);
        }
        let text = scenario(&format!("ip_id = \"{id}\"\n{MIXED}"), faults, "");
        lost += judge(&format!("other DSCP, identification {id}"), &text, drift, Some(10));
        let text = scenario(&format!("ip_id = \"{id}\"\n{MIXED}"), faults, "snaplen = 90");
        lost += judge(&format!("cut, identification {id}"), &text, drift, None);
    }
    assert!(lost > 500, "{lost}");
}

/// Where a timer sends single packets again, the later tap may be read first.
#[test]
fn what_a_timeout_sends_again_is_not_taken_for_the_original() {
    let drift = |ppm| [Clock::RIGHT, Clock { offset_ns: -1_234_567, ppm, tick_ns: 1 }];
    let operations =
        "timeout = 4\noperations = [{ op = \"send\", size = 256, count = 400, every = \"300us\" }]";
    let mut lost = 0;
    for id in IDENTIFICATIONS {
        for ppm in [-100.0, 100.0] {
            let text = scenario(&format!("ip_id = \"{id}\"\n{operations}"), "right = { drop = 0.1 }", "");
            lost += judge(&format!("timeouts, identification {id}, {ppm} ppm"), &text, drift(ppm), None);
        }
    }
    assert!(lost > 200, "{lost}");
}
