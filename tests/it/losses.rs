//! What was lost: losses that the capture shows, packets in bounds, and both the same wherever they are said.

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    dissect::dissect,
    report::{Bounds, Confidence, Flow, Location, RecoveryMode, Report, Space, Stream},
    sim::{self, Ns, Run, Scenario, Tap},
    wire::Ipv4,
};
use serde_json::{Value, json};

use crate::{
    judge::parse_many,
    support::{
        programs::{cli, printed},
        trace::Frame,
    },
};

fn run(text: &str) -> Run {
    sim::run(&Scenario::parse(text).unwrap()).unwrap()
}

fn frames(run: &Run) -> Vec<Frame> {
    let mut all = Vec::new();
    let mut frames = run.frames(0);
    while let Some(frame) = frames.next() {
        let (time, link, wire_len) = (frame.time_ns, frame.link, frame.wire_len);
        all.push(Frame { time, link, wire_len, bytes: frame.bytes.to_vec() });
    }
    all
}

fn analyze<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> Report {
    let mut analysis = Analysis::new(Options::default());
    for Frame { time, link, wire_len, bytes } in frames {
        let (time, link, wire_len) = (Time(*time), *link, *wire_len);
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: bytes });
    }
    analysis.finish()
}

fn spaces(flow: &Flow) -> [(&'static str, Space, &Stream); 2] {
    [("requests", Space::Request, &flow.requests), ("responses", Space::Response, &flow.responses)]
}

/// At least and at most, of a number, of an object with both, or of nothing.
fn range(truth: &Value) -> Option<Bounds> {
    match truth.as_u64() {
        Some(exact) => Some([exact; 2]),
        None => Some([truth["least"].as_u64()?, truth["most"].as_u64()?]),
    }
}

/// Beside the first seeds: a READ that is asked for in parts, of which one was not asked for before; responses that overtake each other only
/// behind the tap.
const MORE_SEEDS: &[(&str, u64)] =
    &[("random_selective", 22), ("random_everything", 35), ("random_everything", 48)];

/// Every bound holds, in all scenarios; what the rows say of a flow's losses one by one is what its counts say.
#[test]
fn bounds_hold_and_episodes_add_up() {
    let scenarios = parse_many(include_str!("../data/scenarios.txt")).unwrap();
    let (mut wrong, mut checked, mut proved, mut truly) = (Vec::new(), 0, 0, 0);
    let (mut over, mut hidden) = (Vec::new(), Vec::new());
    for (name, scenario) in &scenarios {
        let mut behind = (0, 0);
        let more = MORE_SEEDS.iter().filter(|(of, _)| of == name).map(|&(_, seed)| seed);
        for seed in (1..3).chain(more) {
            let run = sim::run(&Scenario { seed, ..scenario.clone() }).unwrap();
            let expected = run.expect_of(0, &run.labels(0));
            let report = analyze(&frames(&run));
            for (at, flow) in report.flows.iter().enumerate() {
                let key = json!([flow.src, flow.dst, flow.dest_qp, flow.epoch]);
                let is_it =
                    |one: &&Value| json!([one["src"], one["dst"], one["dest_qp"], one["epoch"]]) == key;
                let Some(truth) = expected["flows"].as_array().unwrap().iter().find(is_it) else { continue };
                for (word, space, stream) in spaces(flow) {
                    let who = format!("{name}, seed {seed}: {key} {word}");
                    adds_up(&report, (at, space), stream, &who);
                    let losses = serde_json::to_value(stream.losses).unwrap();
                    for (place, truth) in truth[word]["losses"].as_object().into_iter().flatten() {
                        let (Some([least, most]), Some(said)) = (range(truth), losses[place].as_array())
                        else {
                            continue;
                        };
                        let [from, to] = [&said[0], &said[1]].map(|bound| bound.as_u64().unwrap());
                        checked += 1;
                        if from > most || to < least {
                            wrong.push(format!("{who}: {place} is {truth}, and not in {from} to {to}"));
                        }
                        // Behind the tap, responses that were of no use may count.
                        match place.as_str() {
                            "upstream" => (proved, truly) = (proved + from, truly + most),
                            "downstream" => (proved, truly) = (proved + from, truly + least),
                            _ => {}
                        }
                        match (word, place.as_str()) {
                            ("requests", "upstream") if most > 0 => over.push(to / most),
                            ("requests", "downstream") if most > 0 => {
                                (behind.0, behind.1) = (behind.0 + to, behind.1 + most);
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
        if behind.1 > 0 {
            hidden.push(behind.0 as f64 / behind.1 as f64);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 1000, "{checked}");
    // Of packets lost behind a missing one, a responder that goes back says nothing.
    assert!(proved * 100 >= truly * 65, "{proved} of {truly}");
    // What was lost before the tap is missing there: at most, it is three times as much for most flows.
    over.sort_unstable();
    assert!(over.len() > 40 && over[over.len() / 2] < 3, "{over:?}");
    // Behind the tap, what follows a lost packet is hidden, until the sender hears of it: for most scenarios, it is four times as much. Most
    // have one or two losses, beside which three more are not unlikely.
    hidden.sort_by(f64::total_cmp);
    assert!(hidden.len() >= 20 && hidden[hidden.len() / 2] <= 4.0, "{hidden:?}");
}

/// What rows say of losses in a PSN space of a flow, one by one, is what its counts say.
fn adds_up(report: &Report, (at, space): (usize, Space), stream: &Stream, who: &str) {
    let shown = &stream.loss_episodes;
    let rows = || report.episodes.iter().filter(|episode| (episode.flow, episode.space) == (at, space));
    for (location, count, bounds) in [
        (Location::Upstream, shown.upstream, stream.losses.upstream),
        (Location::Downstream, shown.downstream, stream.losses.downstream),
        (Location::AckPath, shown.ack_path, stream.losses.ack_path),
        (Location::Unknown, shown.unknown, None),
    ] {
        let here = || rows().filter(|episode| episode.location == location);
        assert_eq!(here().count() as u64, count, "{who}: {location}");
        let certain = here().filter(|episode| episode.confidence == Confidence::Certain).count() as u64;
        assert!(
            bounds.is_none_or(|[least, _]| certain <= least),
            "{who}: {certain} at {location}, {bounds:?}"
        );
    }
    let certain = rows().filter(|episode| episode.confidence == Confidence::Certain).count() as u64;
    assert_eq!(certain, shown.certain, "{who}");
}

const TWO: &str = "[[segment]]\ndelay = \"2us\"\nright = { drop = 0.01 }\nleft = { drop = 0.002 }\n\
    [[segment]]\ndelay = \"2us\"\nright = { drop = 0.01 }\nleft = { drop = 0.002 }\n";

/// Evidence is of a flow: what others do changes no verdict. That the capture lost packets of them takes away what only the order of a pass
/// proves, and nothing else: as many may be missing there.
#[test]
fn other_flows_change_no_verdict() {
    let of = |n: u8, operation: &str| {
        format!(
            "[[host]]\nname = \"a{n}\"\naddress = \"10.0.{n}.1\"\nside = \"left\"\n\
             [[host]]\nname = \"b{n}\"\naddress = \"10.0.{n}.2\"\nside = \"right\"\n\
             [[connection]]\nfrom = \"a{n}\"\nto = \"b{n}\"\noperations = [{{ op = \"{operation}\", size = \"64KiB\", count = 30 }}]\n",
        )
    };
    for seed in 1..4 {
        let text: String =
            [(1, "write"), (2, "read"), (3, "send"), (4, "write")].map(|(n, op)| of(n, op)).concat();
        let all = frames(&run(&format!("seed = {seed}\n{text}{TWO}")));
        let host = |frame: &Frame| {
            let d = dissect(frame.link, &frame.bytes, frame.wire_len);
            d.get::<Ipv4>().unwrap().src().octets()[2]
        };
        // The capture loses packets of the fourth connection.
        let mut nth = 0;
        let lossy: Vec<&Frame> = all
            .iter()
            .filter(|frame| {
                nth += u32::from(host(frame) == 4);
                host(frame) != 4 || nth % 50 != 0
            })
            .collect();
        let together = analyze(lossy.iter().copied());
        let (mut lost, mut fewer) = (0, 0);
        for connection in 1..=4 {
            let alone = analyze(lossy.iter().copied().filter(|frame| host(frame) == connection));
            assert_eq!(alone.flows.len(), 2);
            for flow in alone.flows {
                let same = |other: &&Flow| (&other.src, &other.dst) == (&flow.src, &flow.dst);
                let mut among: Flow = together.flows.iter().find(same).unwrap().clone();
                among.connection = flow.connection;
                // Frames have other numbers.
                among
                    .timeouts
                    .iter_mut()
                    .zip(&flow.timeouts)
                    .for_each(|(one, other)| one.frame = other.frame);
                for (one, alone) in [&mut among.requests, &mut among.responses]
                    .into_iter()
                    .zip([&flow.requests, &flow.responses])
                {
                    let (Some(one), Some(alone)) = (&mut one.losses.upstream, alone.losses.upstream) else {
                        continue;
                    };
                    assert!(one[0] <= alone[0], "seed {seed}, connection {connection}");
                    fewer += u64::from(one[0] < alone[0]);
                    one[0] = alone[0];
                }
                // Nor are episodes proved by the order of a pass, then.
                let (one, alone) =
                    (&mut among.requests.loss_episodes.certain, flow.requests.loss_episodes.certain);
                assert!(*one <= alone, "seed {seed}, connection {connection}");
                *one = alone;
                assert_eq!(among, flow, "seed {seed}, connection {connection}");
                lost += flow.lost().unwrap()[0];
            }
        }
        assert!(lost > 20 && fewer > 0, "{lost}, {fewer}");
    }
}

/// The data of a READ passed the tap, and the READ was issued again from within: the data was lost behind the tap. The loss is one of the flow that
/// carries the data, not of the one that asked for it.
#[test]
fn data_lost_behind_the_tap() {
    let text = "[[connection]]\noperations = [{ op = \"read\", size = \"64KiB\", count = 30 }]\n[[segment]]\ndelay = \"2us\"\nleft = { drop = 0.01 }\n\
        [[segment]]\ndelay = \"2us\"\n";
    let run = run(text);
    let labels = run.labels(0);
    let truth = labels.frames.iter().filter(|frame| frame.lost_downstream).count() as u64;
    // A requester drops what comes behind a missing response: whether that was lost too, nothing shows. Each time that it asks anew proves one.
    let provable =
        run.expect_of(0, &labels)["flows"][0]["requests"]["triggers"]["implied_nak"].as_u64().unwrap();
    assert!(provable > 8);
    let report = analyze(&frames(&run));
    let at = report.flows.iter().position(|flow| flow.responses.packets > 100).unwrap();
    let flow = &report.flows[at];
    let [least, most] = flow.responses.losses.downstream.unwrap();
    assert!(least == provable && least <= truth && truth <= most, "{truth} in {least} to {most}");
    assert_eq!(flow.requests.loss_episodes.total(), 0);
    assert!(report.flows.iter().enumerate().all(|(n, other)| n == at || other.loss_episodes() == 0));
    let episodes: Vec<_> =
        report.episodes.iter().filter(|episode| episode.location == Location::Downstream).collect();
    assert!(
        episodes.iter().all(|episode| (episode.flow, episode.space) == (at, Space::Response)),
        "{episodes:#?}"
    );
    let finding = report.head.findings.iter().find(|finding| finding.id == "loss.downstream").unwrap();
    let said = format!(
        "had {} losses after the tap ({least} to {most} packets)",
        flow.responses.loss_episodes.downstream
    );
    assert!(finding.text.replace(',', "").contains(&said), "{}", finding.text);
    // Its requester drops what follows a missing response, and asks for that too: its requests had arrived, and none was needless.
    let of_reads = report.flows.iter().find(|flow| flow.requests.packets > 0).unwrap();
    assert_eq!(of_reads.requests.spurious, Some(0));
    assert!(of_reads.requests.losses.downstream.unwrap()[1] <= 12, "{:?}", of_reads.requests.losses);
    let ids: Vec<_> = report.head.findings.iter().map(|finding| &*finding.id).collect();
    assert!(!ids.iter().any(|id| matches!(*id, "retransmit.unexplained" | "retransmit.spurious")), "{ids:?}");
}

/// Data that a READ asks for again comes soon after what follows it came, and was not overtaken: neither the time nor identifications drawn at
/// random say so. What is lost with it is bounded by the rate of the losses that show.
#[test]
fn data_that_is_asked_for_again_is_not_late() {
    for ids in ["zero", "random"] {
        let text = format!(
            "[[connection]]\ncopies = 4\nip_id = \"{ids}\"\noperations = [{{ op = \"read\", size = \"32KiB\", count = 25 }}]\n\
            [[segment]]\ndelay = \"2us\"\nleft = {{ drop = 0.004 }}\n[[segment]]\ndelay = \"1us\"\nleft = {{ drop = 0.008 }}\n"
        );
        let run = run(&text);
        let truth = &run.expect_of(0, &run.labels(0))["flows"];
        let report = analyze(&frames(&run));
        let (mut proved, mut most, mut lost) = (0, 0, 0);
        for flow in report.flows.iter().filter(|flow| flow.responses.packets > 100) {
            let is_it = |one: &&Value| json!([one["src"], one["dest_qp"]]) == json!([flow.src, flow.dest_qp]);
            let truth = truth.as_array().unwrap().iter().find(is_it).unwrap();
            assert_eq!(flow.responses.retransmits_out_of_order, 0, "{ids}");
            let [from, to] = flow.responses.losses.downstream.unwrap();
            (proved, most) = (proved + from, most + to);
            lost += range(&truth["responses"]["losses"]["downstream"]).unwrap()[0];
        }
        assert!(lost > 8 && proved * 3 > lost && most < 20 * lost, "{ids}: {lost} in {proved} to {most}");
    }
}

/// A sender far before the tap goes on for long after a NAK has passed it: what it sends until then is dropped, and may be lost too.
#[test]
fn what_passes_between_a_nak_and_the_answer_to_it_may_be_lost() {
    let text = "[[connection]]\ncopies = 4\nip_id = \"zero\"\noperations = [{ op = \"write\", size = \"64KiB\", count = 40 }]\n\
        [[segment]]\ndelay = \"20us\"\n[[segment]]\ndelay = \"1us\"\nright = { drop = 0.01 }\n";
    let run = run(text);
    let expected = run.expect_of(0, &run.labels(0));
    let report = analyze(&frames(&run));
    let mut all = 0;
    for flow in report.flows.iter().filter(|flow| flow.requests.packets > 100) {
        let is_it = |one: &&Value| json!([one["src"], one["dest_qp"]]) == json!([flow.src, flow.dest_qp]);
        let truth = expected["flows"].as_array().unwrap().iter().find(is_it).unwrap();
        let [lost, _] = range(&truth["requests"]["losses"]["downstream"]).unwrap();
        let [least, most] = flow.requests.losses.downstream.unwrap();
        assert!(least <= lost && lost <= most && most <= 6 * lost, "{lost} in {least} to {most}");
        all += lost;
    }
    assert!(all > 100, "{all}");
}

/// Requests alone: a sender that goes back to a packet which was passed over proves that it was lost before the tap.
#[test]
fn one_direction_proves_losses_before_the_tap() {
    let text = "[[connection]]\noperations = [{ op = \"write\", size = \"256KiB\", count = 20 }]\n[[segment]]\ndelay = \"2us\"\nright = { drop = 0.003 }\n\
        [[segment]]\ndelay = \"2us\"\n";
    let run = run(text);
    let all = frames(&run);
    let is_request = |frame: &&Frame| {
        let d = dissect(frame.link, &frame.bytes, frame.wire_len);
        d.get::<Ipv4>().unwrap().src().octets()[3] == 1
    };
    let report = analyze(all.iter().filter(is_request));
    let [flow] = &report.flows[..] else { panic!("{:#?}", report.flows) };
    let truth =
        range(&run.expect_of(0, &run.labels(0))["flows"][0]["requests"]["losses"]["upstream"]).unwrap()[1];
    let [least, most] = flow.requests.losses.upstream.unwrap();
    assert!(
        truth > 4 && least * 10 >= truth * 8 && least <= truth && truth <= most && most <= 3 * truth,
        "{truth} in {least} to {most}"
    );
    assert!(
        report.head.findings.iter().any(|finding| finding.id == "loss.upstream"),
        "{:#?}",
        report.head.findings
    );
    // What the capture did not show is said of what it lacks.
    assert_eq!(flow.requests.losses.downstream, None);
}

/// READ requests are counted as packets: a READ takes a PSN for each packet of its response, and is one packet.
#[test]
fn bounds_count_packets() {
    let text = "[[connection]]\noperations = [{ op = \"read\", size = \"64KiB\", count = 60 }]\n[[segment]]\ndelay = \"2us\"\nright = { drop = 0.02 }\n\
        [[segment]]\ndelay = \"2us\"\nright = { drop = 0.02 }\nleft = { drop = 0.005 }\n";
    let report = analyze(&frames(&run(text)));
    let flow = report.flows.iter().find(|flow| flow.requests.packets > 0).unwrap();
    let [_, most] = flow.requests.losses.downstream.unwrap();
    assert!(most <= flow.requests.packets, "{most} of {}", flow.requests.packets);
    let data = report.flows.iter().find(|flow| flow.responses.packets > 100).unwrap();
    let [_, most] = data.responses.losses.downstream.unwrap();
    assert!(most <= data.responses.packets, "{most} of {}", data.responses.packets);
}

/// A silence may hide the loss of a burst, which was sent again then. Linux adds a random number to identifications after each silence: that
/// is no number of packets.
#[test]
fn silences_hide_no_more_than_was_sent() {
    for name in ["nccl_ring-A", "nfs4_basic-A", "nvme_basic-A", "iser_basic-A", "nccl_sizes-A"] {
        let json = printed(cli().args(["analyze", "--json", &format!("pcaps/{name}.pcap.zst")]));
        let report: Report = serde_json::from_str(&json).unwrap();
        let mut flows = 0;
        for flow in report.flows.iter().filter(|flow| flow.requests.retransmits == 0) {
            let Some([least, most]) = flow.requests.losses.upstream else { continue };
            flows += (flow.requests.packets > 0) as u32;
            assert!(
                least == 0 && most <= flow.requests.packets,
                "{name}: {most} of {}",
                flow.requests.packets
            );
        }
        assert!(flows > 0, "{name}");
    }
}

/// What the report says of a place is within the truth, of all flows; returns the truth, and what is proved and possible.
fn holds(run: &Run, word: &str, place: &str) -> [u64; 3] {
    let expected = run.expect_of(0, &run.labels(0));
    let report = serde_json::to_value(analyze(&frames(run))).unwrap();
    let mut sums = [0; 3];
    for truth in expected["flows"].as_array().unwrap() {
        let same =
            |flow: &&Value| ["src", "dst", "dest_qp", "epoch"].iter().all(|key| flow[key] == truth[key]);
        let Some(flow) = report["flows"].as_array().unwrap().iter().find(same) else { continue };
        let Some([least, most]) = range(&truth[word]["losses"][place]) else { continue };
        let said = &flow[word]["losses"][place];
        let [from, to] = [&said[0], &said[1]].map(|bound| bound.as_u64().unwrap());
        assert!(from <= most && to >= least, "{word} {place}: {least} to {most} in {from} to {to}");
        let lost = if place == "upstream" { most } else { least };
        assert!(to >= lost, "{word} {place}: {lost} in {from} to {to}");
        sums = [sums[0] + lost, sums[1] + from, sums[2] + to];
    }
    sums
}

const BEFORE: &str = "[[segment]]\ndelay = \"2us\"\nright = { drop = 0.01 }\n[[segment]]\ndelay = \"2us\"\n";
const BEHIND: &str = "[[segment]]\ndelay = \"2us\"\n[[segment]]\ndelay = \"2us\"\nright = { drop = 0.01 }\n";

/// Who waits for each answer shows no loss before the tap but by a silence: how many of these there are says nothing of how many are likely.
#[test]
fn silences_of_senders_that_wait_hide_losses() {
    for seed in 1..4 {
        let text = format!(
            "seed = {seed}\n[[connection]]\nmax_reads = 1\noperations = [{{ op = \"read\", size = \"4KiB\", count = 400 }}]\n{BEFORE}"
        );
        let [lost, proved, _] = holds(&run(&text), "requests", "upstream");
        assert!(lost > 0 && proved <= lost, "{lost}, {proved}");
    }
}

/// A sender whose window is full waits for an answer: what it sent last, and what a pass of repetitions lost again, is missing with nothing
/// behind it.
#[test]
fn the_last_packets_of_windows_may_be_lost() {
    for seed in 1..6 {
        let text = format!(
            "seed = {seed}\n[[connection]]\nwindow = 16\nack_every = 1\noperations = [{{ op = \"write\", size = \"4KiB\", count = 500 }}]\n{BEFORE}"
        );
        let [lost, proved, most] = holds(&run(&text), "requests", "upstream");
        assert!(lost > 8 && proved * 10 >= lost * 7 && most <= 3 * lost, "{lost} in {proved} to {most}");
    }
}

/// The end of a message is lost behind the tap: nothing behind it makes the receiver ask. When the message comes again, the receiver acknowledges
/// less than had passed the tap.
#[test]
fn an_acknowledgement_after_a_timeout_proves_a_loss() {
    let text = "[[connection]]\noperations = [{ op = \"write\", size = \"16KiB\", count = 6, every = \"20ms\" }]\n\
        [[segment]]\ndelay = \"2us\"\n[[segment]]\ndelay = \"2us\"\n\
        [[event]]\ndo = \"drop\"\npacket = 48\nwhere = \"after\"\n";
    let of = run(text);
    let [lost, proved, most] = holds(&of, "requests", "downstream");
    // Of the others of its message, nothing is said: only the last one asks for an acknowledgement.
    assert_eq!((lost, proved), (1, 1), "{most}");
    assert!(most <= 16, "{most}");
}

/// An atomic is requested again when an answer to a later one came: answers come in order, so its own was lost.
#[test]
fn answers_of_atomics_that_are_lost() {
    // Answers go to the left: what is before the tap is on the right of it.
    for (place, side) in [("upstream", BEHIND), ("downstream", BEFORE)] {
        let text = format!(
            "[[connection]]\noperations = [{{ op = \"fetch_add\", count = 1000 }}]\n{}",
            side.replace("right", "left")
        );
        let [lost, proved, most] = holds(&run(&text), "responses", place);
        assert!(lost > 4 && proved > 0 && most <= 20 * lost, "{place}: {lost} in {proved} to {most}");
    }
}

/// Requests and answers that passed are no losses: a READ whose answers came had arrived, also where they come after it was sent again; a READ that is
/// missing is one packet, whatever PSNs it takes; and a READ whose answers are all there lost none of them before the tap.
#[test]
fn what_is_answered_was_not_lost() {
    let of = |text: &str, segments: &str| run(&format!("[[connection]]\noperations = [{text}]\n{segments}"));
    let behind = BEFORE.replace("right", "left");
    let large = of("{ op = \"read\", size = \"64KiB\", count = 30 }", &behind);
    let [lost, _, most] = holds(&large, "requests", "downstream");
    assert!(lost == 0 && most <= 4, "{most}");
    let small = of("{ op = \"read\", size = \"1KiB\", count = 900 }", &behind);
    assert_eq!(holds(&small, "requests", "downstream"), [0; 3]);
    assert_eq!(holds(&small, "responses", "upstream"), [0; 3]);
    let mixed =
        "{ op = \"read\", size = \"16KiB\", count = 200 }, { op = \"write\", size = \"2KiB\", count = 200 }";
    let [lost, proved, most] = holds(&of(mixed, BEFORE), "requests", "upstream");
    assert!(lost > 4 && proved > 2 && most <= 2 * lost + 2, "{lost} in {proved} to {most}");
}

/// Packets that overtake each other behind the tap make a requester ask for responses that are on their way. That they do shows by its other requests,
/// sooner or later: none of the responses is proved to be lost, before and after that.
#[test]
fn responses_that_are_late_behind_the_tap_are_not_proved_to_be_lost() {
    for (seed, size) in [(1, 8), (2, 8), (4, 8), (1, 1), (4, 1)] {
        let text = format!(
            "seed = {seed}\n[[connection]]\noperations = [{{ op = \"read\", size = \"{size}KiB\", count = 200 }}, {{ op = \"write\", size = \"1KiB\", count = 200 }}]\n\
             [[segment]]\ndelay = \"2us\"\nleft = {{ reorder = 0.01, reorder_by = \"3us\" }}\n\
             [[segment]]\ndelay = \"2us\"\nright = {{ reorder = 0.01, reorder_by = \"3us\" }}\n"
        );
        let [lost, proved, most] = holds(&run(&text), "responses", "downstream");
        assert!(lost == 0 && proved == 0 && most > 0, "{seed}: {proved} to {most}");
    }
}

/// A burst that the capture lost takes the places of losses away, and not the proof that there were some.
#[test]
fn a_capture_that_loses_packets_still_proves_losses() {
    let text = "[[connection]]\noperations = [{ op = \"write\", size = \"256KiB\", count = 30 }]\n[[segment]]\ndelay = \"2us\"\nright = { drop = 0.002 }\n\
        [[segment]]\ndelay = \"2us\"\n";
    let all = frames(&run(text));
    let whole = analyze(&all);
    let burst = all.len() / 2..all.len() / 2 + 40;
    let report = analyze(all.iter().enumerate().filter(|(n, _)| !burst.contains(n)).map(|(_, frame)| frame));
    let requests = |report: &Report| {
        report.flows.iter().find(|flow| flow.requests.packets > 0).unwrap().requests.clone()
    };
    let (whole, lossy) = (requests(&whole), requests(&report));
    assert!(lossy.losses.capture.unwrap()[0] > 0, "{lossy:#?}");
    assert_eq!(lossy.losses.upstream.unwrap()[0], 0);
    let [unknown, _] = lossy.losses.unknown.unwrap();
    assert!(unknown > 0 && unknown <= whole.losses.upstream.unwrap()[1], "{unknown}");
    assert!(lossy.losses.on_network().unwrap()[0] >= unknown);
    assert!(
        report.head.findings.iter().any(|finding| finding.id == "loss.unknown"),
        "{:#?}",
        report.head.findings
    );
}

/// What is missing in the first 100 µs may have been sent before the capture began: it is possible, if not proved.
#[test]
fn gaps_at_the_beginning_are_in_the_bounds() {
    let text = "[[connection]]\noperations = [{ op = \"write\", size = \"64KiB\", count = 4 }]\n[[segment]]\ndelay = \"10us\"\n";
    let all = frames(&run(text));
    let report =
        analyze(all.iter().enumerate().filter(|(n, _)| !(5..12).contains(n)).map(|(_, frame)| frame));
    let flow = report.flows.iter().find(|flow| flow.requests.packets > 0).unwrap();
    assert_eq!(flow.requests.losses.capture.map(|[_, most]| most), Some(7), "{:?}", flow.requests.losses);
}

/// A sender that repeats single packets leaves no others out, whatever its receiver, which takes them out of order, asks for meanwhile.
#[test]
fn senders_that_repeat_single_packets() {
    for seed in 1..4 {
        let run = run(&format!(
            r#"
            seed = {seed}
            [paths]
            count = 8
            by = "packet"
            skew = "300ns"
            [[connection]]
            recovery = "selective"
            window = 128
            operations = [{{ op = "write", size = "64KiB", count = 400 }}]
            [[segment]]
            delay = "1us"
            right = {{ drop = 0.005 }}
            [[segment]]
            delay = "3us"
            right = {{ drop = 0.005 }}
            "#
        ));
        let expected = run.expect_of(0, &run.labels(0));
        let report = analyze(&frames(&run));
        let flow = &report.flows[0];
        let truth = range(&expected["flows"][0]["requests"]["losses"]["upstream"]).unwrap();
        let [least, most] = flow.requests.losses.upstream.unwrap();
        assert!(least <= truth[0] && truth[1] <= most, "{truth:?}: {least} to {most}");
        // Each of them looked like one that goes back: late packets and retransmissions were taken for each other.
        let again = range(&expected["flows"][0]["requests"]["retransmits"]).unwrap();
        assert!(flow.requests.retransmits * 100 >= again[0] * 97, "{again:?}: {:?}", flow.requests);
        assert_eq!(flow.recovery_mode, RecoveryMode::Selective);
    }
}

/// Of packets that take several paths, many are late, and each came once: what was late was not lost. A timer of which several expiries show
/// did not expire more often, and who repeats single packets leaves a gap where more was lost.
#[test]
fn sprayed_packets_that_were_late_are_not_lost() {
    let (mut proved, mut lost) = (0, 0);
    // By timeouts alone; by NAKs for what did not come; by NAKs for what was only late.
    for (text, [before, after]) in [
        ("udp_port = \"spray:4\"\ntolerate = 256\nby = port\nskew = 300ns", [10, 4]),
        ("tolerate = 128\nby = packet\nskew = 500ns", [10, 4]),
        ("by = packet\nskew = 300ns", [32, 6]),
    ] {
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let connection: String = text
            .lines()
            .filter(|line| !line.starts_with("by") && !line.starts_with("skew"))
            .collect::<Vec<_>>()
            .join("\n");
        for seed in 21..23 {
            let run = run(&format!(
                r#"
                seed = {seed}
                [paths]
                count = 4
                by = "{}"
                skew = "{}"
                [[connection]]
                recovery = "selective"
                ip_id = "zero"
                {connection}
                operations = [{{ op = "write", size = "64KiB", count = 200 }}]
                [[segment]]
                delay = "2us"
                right = {{ drop = 0.005 }}
                [[segment]]
                delay = "2us"
                right = {{ drop = 0.005 }}
                "#,
                value("by = "),
                value("skew = "),
            ));
            let expected = run.expect_of(0, &run.labels(0));
            let report = analyze(&frames(&run));
            let losses = &report.flows[0].requests.losses;
            for (place, said, times) in
                [("upstream", losses.upstream, before), ("downstream", losses.downstream, after)]
            {
                let truth = range(&expected["flows"][0]["requests"]["losses"][place]).unwrap();
                let [least, most] = said.unwrap();
                let who = format!("{text}, seed {seed}: {place} {truth:?} in {least} to {most}");
                assert!(least <= truth[1] && truth[0] <= most && most <= times * truth[1], "{who}");
                if place == "upstream" {
                    (proved, lost) = (proved + least, lost + truth[1]);
                }
            }
        }
    }
    assert!(lost > 300 && proved * 4 >= lost * 3, "{proved} of {lost}");
}

/// Losses that the flows of a run prove behind the tap, of requests, and all that there are. Bounds hold.
fn proved_behind(run: &Run, who: &str) -> [u64; 2] {
    let expected = run.expect_of(0, &run.labels(0));
    let report = analyze(&frames(run));
    let mut sums = [0, 0];
    for flow in &report.flows {
        let key = json!([flow.src, flow.dst, flow.dest_qp]);
        let is_it = |one: &&Value| json!([one["src"], one["dst"], one["dest_qp"]]) == key;
        let truth = expected["flows"].as_array().unwrap().iter().find(is_it).unwrap();
        for (word, space, stream) in spaces(flow) {
            let losses = serde_json::to_value(stream.losses).unwrap();
            for place in ["upstream", "downstream"] {
                let Some([least, most]) = range(&truth[word]["losses"][place]) else { continue };
                let Some([from, to]) = range_of(&losses[place]) else { continue };
                assert!(
                    from <= most && least <= to,
                    "{who}: {key} {word} {place}: {least} to {most} in {from} to {to}"
                );
                if (space, place) == (Space::Request, "downstream") {
                    sums = [sums[0] + from, sums[1] + least];
                }
            }
        }
    }
    sums
}

fn range_of(said: &Value) -> Option<Bounds> {
    Some([said[0].as_u64()?, said[1].as_u64()?])
}

/// Where the clock that stamps answers is ahead, a sender seems to go back before it is asked to; where two links of a bond have clocks that are
/// apart, packets seem to overtake each other. Bounds hold in both, and with the first, losses behind the tap are proved.
#[test]
fn clocks_that_are_apart_prove_losses_behind_the_tap() {
    for (tap, percent) in [("left_ahead = \"12us\"", 45), ("bond_ahead = \"1500ns\"", 0)] {
        let (mut proved, mut lost) = (0, 0);
        for seed in 1..6 {
            let run = run(&format!(
                r#"
                seed = {seed}
                [[connection]]
                copies = 3
                operations = [{{ op = "write", size = "64KiB", count = 40 }}]
                [[segment]]
                delay = "1us"
                right = {{ drop = 0.003 }}
                [[segment]]
                delay = "1500ns"
                right = {{ drop = 0.003 }}
                [[tap]]
                {tap}
                "#
            ));
            let [shown, truly] = proved_behind(&run, &format!("{tap}, seed {seed}"));
            (proved, lost) = (proved + shown, lost + truly);
        }
        assert!(lost > 50 && proved * 100 >= lost * percent, "{tap}: {proved} of {lost}");
    }
}

/// Data that came while its requester waited for earlier data was refused; what comes later than the recovery from its loss was of no use.
/// Neither proves more losses than there are.
#[test]
fn data_that_was_refused_or_late_is_in_the_bounds() {
    let scenarios = parse_many(include_str!("../data/hardware.txt")).unwrap();
    let is_it = |name: &str| matches!(name, "spurious_timeouts" | "mixed");
    let mut played = 0;
    for (name, scenario) in scenarios.iter().filter(|(name, _)| is_it(name)) {
        for longer in [1, 2, 4] {
            let mut scenario = Scenario { seed: 201, ..scenario.clone() };
            scenario.segment.iter_mut().for_each(|segment| segment.delay.0 *= longer);
            proved_behind(&sim::run(&scenario).unwrap(), &format!("{name}, {longer} times as long"));
            played += 1;
        }
    }
    assert_eq!(played, 6);
}

/// What a capture missed, and what was sent before it began, was not lost: bounds hold where packets that it misses are those of a pass of
/// repetitions, where it begins between the transmissions of a response, where a burst of what it misses is filled by repetitions for another
/// loss, and where links whose clocks are apart make packets late at the tap.
#[test]
fn what_a_capture_missed_is_no_loss() {
    let begins = Tap { start: Ns(60_000), ..Tap::default() };
    let bursts = Tap { loss: 0.0005, loss_frames: 30, ..Tap::default() };
    let lossy = Tap { loss: 0.002, ..Tap::default() };
    let bond = Tap { bond_ahead: Ns(1_500), ..Tap::default() };
    let cases = [
        ("reads", &begins, 201),
        ("reads_first", &begins, 201),
        ("gbn_upstream", &bursts, 201),
        ("reads_first", &bursts, 201),
        ("both_ways", &bursts, 201),
        ("gbn_lag", &lossy, 201),
        ("both_ways", &lossy, 201),
        ("reads", &bursts, 901),
        ("gbn_lag", &bursts, 901),
        ("gbn_small_messages", &bursts, 901),
        ("gbn_lag", &lossy, 901),
        ("acks_lost", &bond, 901),
        ("timeout_one", &bond, 901),
    ];
    let scenarios = parse_many(include_str!("../data/hardware.txt")).unwrap();
    let mut proved = 0;
    for (name, tap, seed) in cases {
        let (_, scenario) = scenarios.iter().find(|(of, _)| of == name).unwrap();
        for longer in [1, 2, 4] {
            let mut scenario = Scenario { seed, tap: vec![tap.clone()], ..scenario.clone() };
            scenario.segment.iter_mut().for_each(|segment| segment.delay.0 *= longer);
            let [shown, _] =
                proved_behind(&sim::run(&scenario).unwrap(), &format!("{name}, {longer} times as long"));
            proved += shown;
        }
    }
    assert!(proved > 40, "{proved}");
}

fn report_of(capture: &str, more: &[&str]) -> Value {
    serde_json::from_str(&printed(cli().args(["analyze", "--json"]).args(more).arg(capture))).unwrap()
}

/// A sender that goes back repeats all that follows. What is left out then, and asked for, was lost before the tap: the kernel's counters say that
/// nothing was lost behind this one.
#[test]
#[cfg(feature = "compression")]
fn repetitions_that_are_left_out_were_lost_before_the_tap() {
    let report = report_of("pcaps/loss1_both_rc_write-B.pcap.zst", &[]);
    let episodes = &report["flows"][0]["requests"]["loss_episodes"];
    let of = |place: &str| episodes[place].as_u64().unwrap();
    assert!(of("upstream") >= 60 && of("downstream") == 0 && of("unknown") <= 6, "{episodes}");
    let upstream = range(&report["flows"][0]["requests"]["losses"]["upstream"]);
    assert!(upstream.is_none() || upstream.unwrap()[0] <= 132, "132 were lost, {upstream:?}");
}

/// A capture that misses packets of passes proves none of them lost.
#[test]
fn repetitions_that_the_capture_missed_are_no_losses() {
    for seed in 0..8 {
        let run = run(&format!(
            "seed = {seed}\n[[connection]]\noperations = [{{ op = 'write', size = 65536, count = 40 }}]\n\
             [[segment]]\ndelay = '2us'\n[[segment]]\ndelay = '2us'\nright = {{ drop = 0.02 }}\n\
             [[tap]]\nname = 't'\nloss = 0.01\n"
        ));
        let report = analyze(&frames(&run));
        let flow = report.flows.iter().max_by_key(|flow| flow.packets).unwrap();
        let upstream = flow.requests.losses.upstream.unwrap();
        assert_eq!(upstream[0], 0, "seed {seed}: {upstream:?}");
    }
}

/// Copies that a mirror makes now and then of READ responses are copies: nobody asked for these again.
#[test]
fn lone_copies_are_no_retransmissions() {
    let (mut copies, mut wrong) = (0, 0);
    for seed in 0..12 {
        let run = run(&format!(
            "seed = {seed}\n[[connection]]\noperations = [{{ op = 'read', size = 65536, count = 40 }}]\n\
             [[segment]]\ndelay = '2us'\n[[segment]]\ndelay = '2us'\n[[tap]]\nname = 't'\nduplicate = 0.01\n"
        ));
        let report = analyze(&frames(&run));
        for (_, _, stream) in report.flows.iter().flat_map(spaces) {
            copies += stream.capture_duplicates;
            wrong += stream.retransmits;
        }
    }
    // In the first round trip, nobody knows.
    assert!(copies > 100 && wrong * 8 < copies, "{copies} copies, {wrong} taken for retransmissions");
}

/// Traffic over time has all retransmissions and late packets: those, too, whose class shows later.
#[test]
#[cfg(feature = "compression")]
fn intervals_add_up_to_the_flows() {
    for capture in ["reorder5_rc_write-B", "loss1_rc_write-B", "loss1_rc_read-B"] {
        let report = report_of(&format!("pcaps/{capture}.pcap.zst"), &["--interval", "100ms"]);
        let sum = |list: &str, of: &dyn Fn(&Value) -> u64| -> u64 {
            report[list].as_array().unwrap().iter().map(of).sum()
        };
        let in_streams = |name: &'static str| {
            move |flow: &Value| {
                ["requests", "responses"].iter().map(|space| flow[space][name].as_u64().unwrap_or(0)).sum()
            }
        };
        for name in ["retransmits", "out_of_order"] {
            let intervals = sum("intervals", &|one| one[name].as_u64().unwrap());
            assert_eq!(intervals, sum("flows", &in_streams(name)), "{capture}: {name}");
        }
    }
}

/// Of a flow with many losses, not all episodes are listed: how many are not is said.
#[test]
#[cfg(feature = "compression")]
fn episodes_that_are_not_listed_are_counted() {
    let report = report_of("pcaps/reorder5_rc_write-B.pcap.zst", &[]);
    let listed = report["episodes"].as_array().unwrap().len() as u64;
    let not_listed: u64 = report["flows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flow| flow["episodes_not_listed"].as_u64().unwrap())
        .sum();
    assert_eq!(listed, 256);
    assert!(not_listed > 50, "{not_listed}");
    let text =
        printed(cli().args(["analyze", "--flow", "0", "--top", "0", "pcaps/reorder5_rc_write-B.pcap.zst"]));
    assert!(
        text.contains(&format!("and {not_listed} more episodes, of which only counts are kept")),
        "{text}"
    );
}

/// Time that receivers that were not ready took is that of all waits, and no timer expired between them.
#[test]
#[cfg(feature = "compression")]
fn the_time_of_rnr_waits_is_all_of_it() {
    let report = report_of("pcaps/rnr_late-A.pcap.zst", &[]);
    let findings = report["findings"].as_array().unwrap();
    let rnr = findings.iter().find(|finding| finding["id"] == "rnr").unwrap();
    let stalled: u64 = report["flows"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|flow| flow["rnr"]["stalled_ns"].as_u64())
        .sum();
    let lost = rnr["time_lost_ns"].as_u64().unwrap();
    assert!(lost >= stalled * 9 / 10 && lost <= stalled * 5 / 4, "{lost} of {stalled}");
    assert!(findings.iter().all(|finding| finding["id"] != "timeout"), "{findings:?}");
}
