//! The data of pictures: every packet is in its flow's picture once, and so is every loss and resend of the truth.

use std::{collections::BTreeMap, fs, path::Path};

use rdmawire::{
    analyze::{
        Address, Analysis, Ended, Options,
        metric::timeline::{Kind, Place, Timeline},
    },
    capture::{self, Source},
    report::{Class, Flow},
};

fn pcaps() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps")
}

fn analyze(path: &Path, timeline: Timeline) -> Ended {
    let mut source = capture::open(path).unwrap_or_else(|error| panic!("{error}"));
    let mut analysis = Analysis::with(Options::default(), timeline);
    while let Ok(Some(record)) = source.next() {
        analysis.push(&record);
    }
    analysis.end()
}

fn kept(ended: &Ended) -> &Timeline {
    ended.metric().expect("it was given")
}

fn of_class(flow: &Flow, class: Class) -> u64 {
    let of = |classes: &BTreeMap<Class, u64>| classes.get(&class).copied().unwrap_or(0);
    of(&flow.requests.classes) + of(&flow.responses.classes)
}

/// The flows that share a line: of one queue pair number, used several times.
fn flows_by_line(flows: &[Flow]) -> BTreeMap<(&str, &str, u32), Vec<&Flow>> {
    let mut by: BTreeMap<_, Vec<&Flow>> = BTreeMap::new();
    for flow in flows {
        by.entry((&flow.src[..], &flow.dst[..], flow.dest_qp)).or_default().push(flow);
    }
    by
}

/// Each packet is shown once in its class, whatever the budget is for: holes and thinning leave none out.
#[test]
fn pictures_have_each_packet_once() {
    let mut shown = 0;
    for entry in fs::read_dir(pcaps()).expect("pcaps").flatten() {
        let path = entry.path();
        if capture::open(&path).is_err() {
            continue;
        }
        let ended = analyze(&path, Timeline::default());
        let (report, timeline) = (ended.report().collect(), kept(&ended));
        assert_eq!(timeline.left_out(), 0);
        for flows in flows_by_line(&report.flows).values() {
            let line = timeline.line_for(flows[0]).expect("each flow has a line");
            let name = format!("{} {}->{} {}", path.display(), flows[0].src, flows[0].dst, flows[0].dest_qp);
            let sum = |of: &dyn Fn(&Flow) -> u64| flows.iter().map(|flow| of(flow)).sum::<u64>();
            let all: u64 = line
                .stretches()
                .filter(|stretch| stretch.kind != Kind::Ce)
                .map(|stretch| stretch.packets as u64)
                .sum();
            assert_eq!(all, sum(&|flow| flow.packets), "{name}");
            for (kind, class) in [
                (Kind::Again, Class::Retransmission),
                (Kind::Late, Class::LateOriginal),
                (Kind::Copy, Class::CaptureDuplicate),
                (Kind::Ambiguous, Class::Ambiguous),
            ] {
                let before =
                    if kind == Kind::Again { sum(&|flow| of_class(flow, Class::BeforeStart)) } else { 0 };
                assert_eq!(line.count(kind), sum(&|flow| of_class(flow, class)) + before, "{name} {kind:?}");
            }
            assert_eq!(line.count(Kind::Ce), sum(&|flow| flow.ce_packets), "{name}");
            assert_eq!(line.count(Kind::Cnp), sum(&|flow| flow.cnps), "{name}");
            assert_eq!(line.count(Kind::Nak), sum(&|flow| flow.naks.total()), "{name}");
            assert_eq!(line.count(Kind::RnrNak), sum(&|flow| flow.rnr_naks), "{name}");
            let goodput: u64 = line.bins.get().0.iter().map(|bin| bin.goodput_bytes).sum();
            let copies = sum(&|flow| of_class(flow, Class::CaptureDuplicate));
            if copies == 0 {
                let packets: u64 = line.bins.get().0.iter().map(|bin| bin.packets as u64).sum();
                assert_eq!(packets, sum(&|flow| flow.packets), "{name}");
            }
            if line.events.stretches().is_empty() {
                assert_eq!(goodput, sum(&|flow| flow.goodput_bytes), "{name}");
            }
            shown += 1;
        }
    }
    assert!(shown > 50);
}

/// What the two taps recorded and matched byte for byte: the losses of data packets, and their resends.
#[test]
fn pictures_have_the_losses_and_resends_of_the_truth() {
    for (name, resends) in
        [("loss1_rc_write", true), ("loss1_both_rc_write", true), ("loss1_uc_write", false)]
    {
        let truth = fs::read_to_string(pcaps().join(format!("truth/{name}.json"))).expect("its truth");
        let truth: serde_json::Value = serde_json::from_str(&truth).expect("JSON");
        for (tap, sees_loss) in [("A", false), ("B", true)] {
            let ended = analyze(&pcaps().join(format!("{name}-{tap}.pcap.zst")), Timeline::default());
            let (report, timeline) = (ended.report(), kept(&ended));
            let data = truth["flows"].as_array().expect("flows");
            for flow in data.iter().filter(|flow| flow["direction"] == "A->B") {
                let lost: u64 = flow["lost"].as_u64().unwrap_or(0);
                let (src, qp) = (flow["src"].as_str().unwrap(), flow["qpn"].as_u64().unwrap() as u32);
                let src: Address = src.parse().expect("an address");
                let at = report.flows.iter().position(|f| f.dest_qp == qp && f.src.parse() == Ok(src));
                let Some(at) = at.filter(|_| lost > 0) else { continue };
                let picture = timeline.flow(&report, at).expect("a picture");
                let line = picture.line;
                let order = if sees_loss { "psn_order_as_received" } else { "psn_order_as_sent" };
                let gaps = flow[order]["requests"]["missing_psns_at_gaps"].as_u64().expect("a number");
                let holes: u64 = line.holes.iter().map(|hole| hole.packets as u64).sum();
                assert_eq!(holes, gaps, "{name}-{tap}");
                let repeated = flow[order]["requests"]["dup"].as_u64().unwrap_or(0)
                    + flow[order]["requests"]["fill"].as_u64().unwrap_or(0);
                assert_eq!(line.count(Kind::Again), repeated, "{name}-{tap}");
                let psns = flow["lost_psns_first"].as_array().or(flow["lost_psns"].as_array()).expect("PSNs");
                for psn in psns.iter().map(|psn| psn.as_u64().unwrap() as u32) {
                    let is_again = line
                        .events
                        .stretches()
                        .iter()
                        .any(|event| event.kind == Kind::Again && event.has(psn));
                    let hole = picture.losses.iter().any(|loss| {
                        loss.place != Place::AfterTap && (loss.psn..loss.psn + loss.packets).contains(&psn)
                    });
                    let is_seen = line.sent[0].stretches().iter().any(|stretch| stretch.has(psn));
                    // Behind the loss, the resend of a burst's last packets looks new.
                    assert!(is_again || !resends || sees_loss && is_seen, "{name}-{tap}: PSN {psn}");
                    assert!(resends || !is_again, "{name}-{tap}: PSN {psn}");
                    // Nothing was seen before the flow's first packet.
                    if sees_loss && flow["psn_first"] == psn {
                        continue;
                    }
                    assert!(hole != is_seen, "{name}-{tap}: PSN {psn} is a hole, or was seen");
                    assert!(sees_loss || is_seen, "{name}-{tap}: tap A is before the losses");
                }
            }
        }
    }
}

/// The NAKs of the responder, their PSNs and frames, as tshark reads them in the first 300 frames: one packet was lost before the
/// tap, asked for by frame 82, and retransmitted by frame 145.
#[test]
fn a_loss_is_tied_to_its_nak_and_resend() {
    let ended = analyze(&pcaps().join("loss1_rc_write-B-300.pcap"), Timeline::default());
    let (report, timeline) = (ended.report(), kept(&ended));
    let at = timeline.chosen(&report, 1)[0];
    let picture = timeline.flow(&report, at).expect("a picture");
    let [loss] = picture.losses[..] else { panic!("{:?}", picture.losses) };
    assert_eq!((loss.place, loss.packets), (Place::BeforeTap, 1));
    assert_eq!(loss.nak.map(|(_, frame)| frame), Some(82));
    assert_eq!(loss.resent.map(|(_, frame)| frame), Some(145));
    assert_eq!(Some(loss.psn), picture.episodes.first().map(|episode| episode.lost_psn));
    assert!(picture.outstanding.iter().any(|(_, packets)| *packets > 1));
}

#[test]
fn a_receiver_that_is_not_ready_makes_waits() {
    let ended = analyze(&pcaps().join("rnr_late-A.pcap.zst"), Timeline::default());
    let (report, timeline) = (ended.report(), kept(&ended));
    let mut waits = 0;
    for at in timeline.chosen(&report, 100) {
        let picture = timeline.flow(&report, at).expect("a picture");
        for wait in &picture.waits {
            assert!(wait.end_ns.is_none_or(|end| end - wait.start_ns >= wait.asked_ns as i64), "{wait:?}");
        }
        waits += picture.waits.iter().filter(|wait| wait.end_ns.is_some()).count();
    }
    assert!(waits > 10, "{waits}");
}

/// A small budget: what is kept of events stays whole, the memory stays small, and what is left out is counted.
#[test]
fn a_small_budget_thins_the_ordinary() {
    let path = pcaps().join("loss1_rc_write-A.pcap.zst");
    let full = analyze(&path, Timeline::default());
    let small = analyze(&path, Timeline::new(100_000, Vec::new()));
    let (report, timeline) = (small.report(), kept(&small));
    let at = kept(&full).chosen(&report, 1)[0];
    let flow = report.flows.iter().nth(at).expect("it was chosen");
    let lines = [kept(&full), timeline].map(|timeline| timeline.line_for(&flow).expect("a line"));
    for kind in [Kind::New, Kind::Again, Kind::Nak] {
        assert_eq!(lines[0].count(kind), lines[1].count(kind), "{kind:?}");
    }
    assert!(timeline.bytes() * 4 < kept(&full).bytes(), "{} {}", timeline.bytes(), kept(&full).bytes());
}
