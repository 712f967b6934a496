//! Who paused whom: scenarios with several captured links, whose causes are known.

use crate::support::merged;
use rdmawire::{
    analyze::{Analysis, Links, Options},
    report::{Confidence, KnownBy, PauseTree, Reason, Report},
    sim::{Run, Scenario, run},
};
use serde_json::Value;

const TREE: &str = include_str!("../../examples/scenarios/pause-tree.toml");
const DEADLOCK: &str = include_str!("../../examples/scenarios/pause-deadlock.toml");

fn play(text: &str) -> Run {
    run(&Scenario::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap()
}

/// What all taps of a scenario recorded, as one capture with an interface for each.
fn analyze(run: &Run, links: Option<&str>) -> Report {
    let links = links.map(|text| Links::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}")));
    let mut analysis = Analysis::new(Options { links, ..Options::default() });
    merged::push(run, &Vec::from_iter(0..run.captures.len()), &mut analysis);
    analysis.finish()
}

fn tree(report: &Report) -> &PauseTree {
    report.head.pause_tree.as_ref().unwrap_or_else(|| panic!("{:?}", report.head.why))
}

fn names(value: &Value) -> Vec<String> {
    let mut names: Vec<String> =
        value.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Whether a figure is within 2 % of the truth.
#[track_caller]
fn near(ns: u64, truth: &Value) {
    let truth = truth.as_u64().unwrap();
    assert!(ns.abs_diff(truth) * 50 <= truth, "{ns} instead of {truth}");
}

/// Compares a tree with what the scenario says.
#[track_caller]
fn judge(run: &Run, tree: &PauseTree) {
    let expected = run.expect_merged().unwrap()["pause_tree"].clone();
    let list = |name: &str| expected[name].as_array().unwrap().clone();
    let edges = list("edges");
    assert_eq!(tree.edges.len(), edges.len(), "{:?}\n{edges:?}", tree.edges);
    for truth in edges {
        let is_it = |edge: &&rdmawire::report::PauseEdge| {
            let named = [(&edge.cause, "cause"), (&edge.device, "device"), (&edge.paused, "paused")];
            named.iter().all(|(name, field)| truth[*field] == name.as_str())
                && truth["priority"].as_u64() == edge.priority.map(u64::from)
        };
        let edge = tree.edges.iter().find(is_it).unwrap_or_else(|| panic!("{truth} {:?}", tree.edges));
        assert_eq!(truth["pauses"], edge.pauses, "{truth}");
        near(edge.paused_ns, &truth["paused_ns"]);
        assert!(edge.delay_least_ns <= edge.delay_most_ns && edge.cause_frame < edge.frame);
    }
    let culprits = list("culprits");
    assert_eq!(tree.culprits.len(), culprits.len(), "{:?}\n{culprits:?}", tree.culprits);
    for truth in culprits {
        let is_it = |culprit: &&rdmawire::report::PauseCulprit| {
            truth["device"] == culprit.device.as_str()
                && truth["priority"].as_u64() == culprit.priority.map(u64::from)
        };
        let culprit = tree.culprits.iter().find(is_it).unwrap_or_else(|| panic!("{truth}"));
        for (found, field) in [(&culprit.direct, "direct"), (&culprit.indirect, "indirect")] {
            let mut found = found.clone();
            found.sort();
            assert_eq!(found, names(&truth[field]), "{truth}");
        }
        assert_eq!(serde_json::to_value(&culprit.chain).unwrap(), truth["chain"]);
        assert_eq!(truth["pauses"], culprit.pauses, "{truth}");
        near(culprit.paused_ns, &truth["paused_ns"]);
        near(culprit.caused_ns, &truth["caused_ns"]);
    }
    let deadlocks = list("deadlocks");
    assert_eq!(tree.deadlocks.len(), deadlocks.len(), "{:?}\n{deadlocks:?}", tree.deadlocks);
    for (found, truth) in tree.deadlocks.iter().zip(deadlocks) {
        let all = truth["devices"].as_array().unwrap();
        let is_turned = |by: usize| {
            let turned = all.iter().cycle().skip(by).take(all.len());
            turned.eq(found.devices.iter().map(|name| Value::from(name.as_str())).collect::<Vec<_>>().iter())
        };
        assert!((0..all.len()).any(is_turned), "{found:?} {truth}");
        assert_eq!(truth["priority"].as_u64(), found.priority.map(u64::from));
        near(found.all_paused_ns, &truth["all_paused_ns"]);
    }
}

fn findings(report: &Report) -> Vec<&str> {
    let ids = report.head.findings.iter().map(|finding| &*finding.id);
    ids.filter(|id| ["pause.culprit", "pause.deadlock", "pause.host_storm"].contains(id)).collect()
}

#[test]
fn a_storm_of_a_host_goes_back_over_three_switches() {
    let run = play(TREE);
    let report = analyze(&run, Some(&run.links()));
    let tree = tree(&report);
    judge(&run, tree);
    let [culprit] = &tree.culprits[..] else { panic!("{tree:?}") };
    assert_eq!(
        (&*culprit.device, culprit.is_host, culprit.confidence),
        ("b", Some(true), Confidence::Likely)
    );
    assert_eq!(culprit.chain, ["b", "s3", "s2", "s1", "a"]);
    // The flow goes to the culprit, whose own pauses stop it on the last link.
    let [victim] = &culprit.flows[..] else { panic!("{culprit:?}") };
    assert_eq!((&*victim.src, &*victim.dst, victim.is_direct), ("10.0.0.1", "10.0.0.2", true));
    assert_eq!(victim.goes_to_culprit, Some(true));
    // It passes all four links, and is stopped on each.
    let effects = report.head.pause.iter().flatten().map(|pause| pause.effect.unwrap());
    assert!(effects.clone().all(|did| did.flows == 1), "{:?}", effects.collect::<Vec<_>>());
    assert!(culprit.flow_count == 1 && victim.stopped_ns.abs_diff(250_000_000) < 5_000_000, "{victim:?}");
    assert_eq!(report.head.slow_flows[0].flow, victim.flow);
    let delays: Vec<u64> = tree.edges.iter().map(|edge| edge.delay_least_ns).collect();
    assert!(delays.iter().all(|delay| [20_000, 35_000, 15_000].contains(delay)), "{delays:?}");
    assert!(tree.edges.iter().all(|edge| edge.confidence == Confidence::Likely));
    // 250 ms are more than the 200 ms that a watchdog waits, and nothing is marked.
    let [storm] = &tree.host_storms[..] else { panic!("{tree:?}") };
    assert_eq!((&*storm.host, &*storm.link, storm.end_ns - storm.start_ns), ("b", "l4", 250_000_000));
    assert_eq!((storm.duty_ratio, storm.confidence), (1.0, Confidence::Likely));
    assert_eq!(findings(&report), ["pause.host_storm", "pause.culprit"]);
    // One cause is one finding, by its name; all others are effects of it.
    let (root, effects) = report.head.findings.split_first().unwrap();
    assert!(root.id == "pause.host_storm" && root.text.starts_with("b kept"), "{root:?}");
    assert!(effects.iter().all(|effect| effect.effect_of == Some(0)), "{effects:?}");
    assert!(effects.iter().any(|effect| effect.id == "pause.storm" && effect.text.contains(": s1 (")));
    assert!(tree.unplaced.is_empty() && tree.taps_not_seen.is_empty() && tree.why.is_empty());
}

#[test]
fn lldp_says_the_same() {
    let text = TREE.replace("[[tap]]\n", "[[tap]]\nlldp = true\n");
    let run = play(&text);
    let report = analyze(&run, None);
    judge(&run, tree(&report));
    assert_eq!(findings(&report), ["pause.host_storm", "pause.culprit"]);
    let links = &tree(&report).links;
    assert!(links.len() == 4 && links.iter().all(|link| link.by == KnownBy::Lldp));
    assert_eq!((&*links[1].a, &*links[1].b, links[1].a_port.as_deref()), ("s1", "s2", Some("2")));
    // What the user says goes before it.
    let named = "[[link]]\ntap = \"l4\"\na = { device = \"leaf9\", mac = \"02:50:00:04:00:04\" }\nb = { device = \"gpu\" }\n";
    let report = analyze(&run, Some(named));
    let links = &tree(&report).links;
    assert_eq!((links.len(), links[0].by, &*links[0].a), (4, KnownBy::File, "leaf9"));
}

#[test]
fn three_switches_that_wait_for_each_other() {
    let run = play(DEADLOCK);
    let report = analyze(&run, Some(&run.links()));
    let tree = tree(&report);
    judge(&run, tree);
    let [cycle] = &tree.deadlocks[..] else { panic!("{tree:?}") };
    assert_eq!((&*cycle.began_by, cycle.times), ("s2", 1));
    assert_eq!(cycle.longest_ns, 40_000_000 - 55_000);
    assert!(tree.culprits[0].is_in_deadlock && tree.host_storms.is_empty());
    assert_eq!(findings(&report), ["pause.deadlock"]);
    // Without the link that closes the cycle there is none.
    let open = run.links().replace("tap = \"back\"", "tap = \"elsewhere\"");
    let report = analyze(&run, Some(&open));
    assert!(self::tree(&report).deadlocks.is_empty());
    assert_eq!(self::tree(&report).taps_not_seen, ["elsewhere"]);
}

/// Taps and links of a road of three switches, with traffic of two priorities.
fn road(pauses: &str) -> String {
    let (roads, _) = TREE.split_once("[[pause]]").unwrap();
    format!("{roads}{pauses}")
}

fn pause(name: &str, tap: &str, more: &str) -> String {
    format!("[[pause]]\nname = \"{name}\"\ntap = \"{tap}\"\nfrom = \"right\"\n{more}\n")
}

#[test]
fn pauses_at_the_same_time_that_have_nothing_to_do_with_each_other() {
    // Two priorities; the same one, but long after; both ends of one link; and one that came first.
    let other = pause("x", "l3", "priority = 3\nat = \"5ms\"\nhold = \"2ms\"")
        + &pause("y", "l2", "priority = 4\nat = \"5010us\"\nhold = \"2ms\"");
    let later = pause("x", "l3", "priority = 3\nat = \"5ms\"\nhold = \"50us\"")
        + &pause("y", "l2", "priority = 3\nat = \"5200us\"\nhold = \"50us\"");
    let both = pause("x", "l3", "priority = 3\nat = \"5ms\"\nhold = \"2ms\"")
        + &pause("y", "l3", "priority = 3\nat = \"5020us\"\nhold = \"2ms\"").replace("right", "left");
    let before = pause("x", "l3", "priority = 3\nat = \"5010us\"\nhold = \"2ms\"")
        + &pause("y", "l2", "priority = 3\nat = \"5ms\"\nhold = \"2ms\"");
    for pauses in [other, later, both, before] {
        let run = play(&road(&pauses));
        let report = analyze(&run, Some(&run.links()));
        let tree = tree(&report);
        assert!(
            tree.edges.is_empty() && tree.deadlocks.is_empty() && tree.host_storms.is_empty(),
            "{tree:?}"
        );
        assert!(tree.culprits.len() == 2 && tree.culprits.iter().all(|one| one.indirect.is_empty()));
        assert_eq!(findings(&report), [""; 0]);
        judge(&run, tree);
    }
}

#[test]
fn many_pauses_each_find_their_cause() {
    for seed in 1..=6u64 {
        let mut state = seed;
        // A generator as good as any for lags.
        let mut random = |least: u64, most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            least + (state >> 33) % (most - least)
        };
        let mut pauses = String::new();
        for round in 0..60u64 {
            let at = 1_000_000 * (round + 1);
            let mut cause = String::new();
            // Each goes back over some of the links: l4, l3, l2, l1.
            for depth in 0..random(1, 5) {
                let (name, tap) = (format!("p{round}.{depth}"), format!("l{}", 4 - depth));
                let when = match depth {
                    0 => format!("at = {at}"),
                    _ => format!("cause = \"{cause}\"\nat = {}", random(500, 95_000)),
                };
                let hold = random(5_000, 300_000);
                pauses += &pause(&name, &tap, &format!("priority = 3\n{when}\nhold = {hold}"));
                cause = name;
            }
            // At the same time, at another priority, in the middle.
            let at = at + random(0, 50_000);
            pauses += &pause(&format!("q{round}"), "l2", &format!("priority = 5\nat = {at}\nhold = 20000"));
        }
        let run = play(&road(&pauses));
        let report = analyze(&run, Some(&run.links()));
        judge(&run, tree(&report));
        assert!(tree(&report).edges.len() == 3 && tree(&report).deadlocks.is_empty());
    }
}

/// A switch releases the link to it when the pause that it got is over, and pauses it once more while its queue drains.
#[test]
fn a_queue_that_has_not_drained_has_the_cause_of_the_pause_before() {
    let again = pause("p", "l4", "priority = 3\nat = \"5ms\"\nhold = \"400us\"")
        + &pause("q", "l3", "priority = 3\ncause = \"p\"\nat = \"20us\"\nhold = \"385us\"")
        + &pause("r", "l3", "priority = 3\ncause = \"p\"\nat = \"415us\"\nhold = \"7us\"");
    let run = play(&road(&again));
    let report = analyze(&run, Some(&run.links()));
    let tree = tree(&report);
    judge(&run, tree);
    assert_eq!((tree.culprits.len(), tree.culprits[0].caused_pauses), (1, 2), "{tree:?}");
    assert!(tree.edges.iter().all(|edge| edge.delay_most_ns == 20_000), "{:?}", tree.edges);
    assert_eq!(tree.edges[0].confidence, Confidence::Likely);
}

/// A device whose link is paused for a cause elsewhere, and once for its own: that one stopped flows for as long as it lasted.
#[test]
fn a_culprit_stopped_a_flow_for_no_longer_than_its_pauses() {
    let both = pause("p", "l4", "priority = 3\nat = \"5ms\"\nhold = \"2ms\"")
        + &pause("q", "l3", "priority = 3\ncause = \"p\"\nat = \"20us\"\nhold = \"2ms\"\nstops = [\"a\"]")
        + &pause("own", "l3", "priority = 3\nat = \"9ms\"\nhold = \"50us\"\nstops = [\"a\"]");
    let run = play(&road(&both).replace("count = 300, every = \"1ms\"", "count = 600, every = \"20us\""));
    let report = analyze(&run, Some(&run.links()));
    judge(&run, tree(&report));
    let culprit = |device: &str| {
        let found = tree(&report).culprits.iter().find(|culprit| culprit.device == device);
        found.unwrap_or_else(|| panic!("{device}: {:?}", tree(&report)))
    };
    let [root] = &culprit("b").flows[..] else { panic!("{:?}", culprit("b")) };
    assert!(root.stopped_ns.abs_diff(2_000_000) < 50_000, "{root:?}");
    let [own] = &culprit("s3").flows[..] else { panic!("{:?}", culprit("s3")) };
    assert!(own.is_direct && own.stopped_ns <= 50_000, "{own:?}");
}

/// An incast makes a switch pause its sender; then the receiver stops reading. From then on, that pause is the receiver's.
#[test]
fn a_pause_that_goes_on_for_another_reason_is_in_two_parts() {
    let two = |own: &str| {
        pause("own", "l3", &format!("priority = 3\nat = \"5ms\"\nhold = \"{own}\""))
            + &pause("storm", "l4", "priority = 3\nat = \"6ms\"\nhold = \"2ms\"")
    };
    let run = play(&road(&two("3ms")));
    let report = analyze(&run, Some(&run.links()));
    let [edge] = &tree(&report).edges[..] else { panic!("{:?}", tree(&report)) };
    assert_eq!((&*edge.cause, &*edge.device, &*edge.paused), ("b", "s3", "s2"));
    assert!(edge.paused_ns.abs_diff(2_000_000) < 10_000, "{edge:?}");
    let [root, own] = &tree(&report).culprits[..] else { panic!("{:?}", tree(&report)) };
    assert_eq!((&*root.device, &*own.device), ("b", "s3"));
    assert!(
        root.caused_ns.abs_diff(2_000_000) < 10_000 && own.paused_ns.abs_diff(1_000_000) < 10_000,
        "{root:?} {own:?}"
    );
    // One that ends before what its sender got is of another queue.
    let run = play(&road(&two("1500us")));
    let report = analyze(&run, Some(&run.links()));
    assert!(tree(&report).edges.is_empty(), "{:?}", tree(&report));
}

/// Both ends of a link pause each other: each stops what the other one sends.
#[test]
fn pauses_of_both_ends_stop_one_direction_each() {
    let both = pause("x", "l4", "priority = 3\nat = \"5ms\"\nhold = \"2ms\"\nstops = [\"a\"]")
        + &pause("y", "l4", "priority = 3\nat = \"6ms\"\nhold = \"3ms\"\nstops = [\"b\"]")
            .replace("right", "left");
    let write = "operations = [{ op = \"write\", size = \"4KiB\", count = 600, every = \"20us\" }]\nwindow = 100000\ntimeout = 0\n";
    let (_, segments) = TREE.split_once("[[segment]]").unwrap();
    let (segments, _) = segments.split_once("[[pause]]").unwrap();
    let text = format!(
        "[[connection]]\n{write}[[connection]]\nfrom = \"b\"\nto = \"a\"\n{write}[[segment]]{segments}{both}"
    );
    let run = play(&text);
    let report = analyze(&run, Some(&run.links()));
    for (device, held) in [("b", 2_000_000), ("s3", 3_000_000)] {
        let rows = report.head.pause.iter().flatten();
        let mut rows = rows.filter(|row| row.device.as_deref() == Some(device));
        let row = rows.next().unwrap_or_else(|| panic!("{device}: {:?}", report.head.pause));
        let did = row.effect.unwrap();
        assert_eq!((did.flows, row.violations.unwrap().frames), (1, 0), "{row:?}");
        assert!(did.effective_ns.abs_diff(held) < 50_000, "{row:?}");
    }
}

/// Between two switches, the hosts that other links join to them say which end sent a frame.
#[test]
fn which_end_sends_is_known_between_switches() {
    let between = |text: &str, alter: &dyn Fn(String) -> String| {
        let run = play(text);
        let report = analyze(&run, Some(&alter(run.links())));
        let mut rows = report.head.pause.into_iter().flatten();
        let row = rows.find(|row| row.link == "l2").unwrap();
        (row.violations, row.why.get("violations").copied())
    };
    let frames = |text: &str| between(text, &|links| links).0.unwrap().frames;
    assert_eq!(frames(TREE), 0);
    assert!(frames(&TREE.replace("stops = [\"a\"]", "")) > 100);
    let no_hosts = |links: String| links.replace("kind = \"host\"", "kind = \"switch\"");
    let no_addresses = move |links: String| {
        let lines = links.lines().filter(|line| !line.starts_with("address"));
        no_hosts(lines.collect::<Vec<_>>().join("\n"))
    };
    assert_eq!(between(TREE, &no_addresses), (None, Some(Reason::UnknownDirection)));
}

#[test]
fn without_a_topology_there_is_no_tree() {
    let run = play(TREE);
    let report = analyze(&run, None);
    assert_eq!((&report.head.pause_tree, report.head.why["pause_tree"]), (&None, Reason::NoTopology));
    // One link shows its own pauses, and no causes.
    let links = Links::parse(&run.links()).unwrap();
    let mut analysis = Analysis::new(Options { links: Some(links), ..Options::default() });
    merged::push(&run, &[3], &mut analysis);
    let report = analysis.finish();
    let tree = tree(&report);
    assert_eq!((tree.why["edges"], tree.edges.len()), (Reason::OneLink, 0));
    assert_eq!((&*tree.culprits[0].device, &*tree.culprits[0].direct[0]), ("b", "s3"));
    assert_eq!(tree.taps_not_seen, ["l1", "l2", "l3"]);
}

#[test]
fn a_host_passes_nothing_on_and_marks_clear_it() {
    let run = play(TREE);
    let host = format!("{}[device.s2]\nkind = \"host\"\n", run.links());
    let report = analyze(&run, Some(&host));
    assert!(tree(&report).edges.iter().all(|edge| edge.device != "s2"), "{:?}", tree(&report).edges);
    // Where traffic to the host is marked, the network is full, and the host need not be the trouble.
    let marked = TREE.replacen("delay = \"1us\"", "delay = \"1us\"\nright = { mark = 0.2 }", 1);
    let run = play(&marked);
    let report = analyze(&run, Some(&run.links()));
    // The first record of a packet is the one before it was marked; the receiver notifies.
    assert!(report.head.congestion.cnps > 0);
    assert_eq!(findings(&report), ["pause.culprit"]);
    let elsewhere = run.links().replace("10.0.0.2", "10.0.0.77");
    assert_eq!(findings(&analyze(&run, Some(&elsewhere))), ["pause.host_storm", "pause.culprit"]);
}

#[test]
fn a_sender_without_a_place_is_named() {
    let run = play(TREE);
    // Two switches without addresses: nobody knows which of them sends.
    let links = run.links();
    let line = |n: usize| links.lines().nth(n).unwrap();
    assert!(line(7).starts_with("a = ") && line(8).starts_with("b = "), "{links}");
    let unnamed =
        links.replace(line(7), "a = { device = \"s1\" }").replace(line(8), "b = { device = \"s2\" }");
    let report = analyze(&run, Some(&unnamed));
    let tree = tree(&report);
    assert_eq!(tree.unplaced.len(), 1);
    assert_eq!((&*tree.unplaced[0].link, &*tree.unplaced[0].sender), ("l2", "02:50:00:03:00:02"));
    assert_eq!(tree.edges.len(), 1);
}

#[test]
fn what_is_wrong_with_a_file_of_links_is_said_with_its_line() {
    let good = "[[link]]\ntap = \"x\"\na = { device = \"s1\", mac = \"02:00:00:00:00:01\" }\nb = { device = \"s2\" }\n";
    assert_eq!(Links::parse(good).unwrap().links.len(), 1);
    let list = good.replace("\"x\"", "[\"x\", 3]");
    assert_eq!(Links::parse(&list).unwrap().links[0].taps, ["x", "3"]);
    let more = |text: &str| format!("{good}{text}");
    let cases = [
        ("tap = 1\n".to_owned(), 1, "unknown field `tap`"),
        (good.replace("\"x\"", "\"\""), 1, "tap \"\": expected the name"),
        (good.replace("\"x\"", "[]"), 1, "tap: expected the name"),
        (good.replace("\"x\"", "-1"), 1, "tap -1: expected the name"),
        (good.replace("device = \"s2\"", "device = \"s1\""), 1, "both ends are of the device \"s1\""),
        (good.replace("00:01", "zz"), 1, "a: mac \"02:00:00:00:zz\": expected an Ethernet address"),
        (good.replace("\"02:00:00:00:00:01\"", "7"), 1, "a: mac 7: expected an Ethernet address"),
        (good.replace("b = { device = \"s2\" }\n", ""), 1, "missing field `b`"),
        (good.replace("device = \"s2\"", "devise = \"s2\""), 4, "unknown field `devise`"),
        (
            good.replace("device = \"s2\"", "device = \"s2\", mac = \"02:00:00:00:00:01\""),
            1,
            "both ends have the address",
        ),
        (more(&good.replace("s1", "s3")), 5, "tap \"x\" is named twice"),
        (
            good.replace("device = \"s2\"", "device = \"s2\", port = \"1\"")
                + "[[link]]\ntap = 2\na = { device = \"s2\", port = \"1\" }\nb = { device = \"s3\" }\n",
            5,
            "port \"1\" of \"s2\" is the end of another link",
        ),
        (more("[device.s1]\nkind = \"router\"\n"), 6, "unknown variant `router`"),
        (
            more("[device.s1]\nkind = \"host\"\naddress = \"here\"\n"),
            5,
            "device.s1: address \"here\": expected an IP",
        ),
        (more("[device.s1]\nkind = \"switch\"\naddress = \"10.0.0.1\"\n"), 5, "only hosts"),
        ("[[link]]\ntap = \n".to_owned(), 2, ""),
    ];
    let unused = Links::parse(&more("[device.s9]\nkind = \"host\"\n")).unwrap();
    assert_eq!(unused.devices_without_links().collect::<Vec<_>>(), ["s9"]);
    for (text, line, what) in cases {
        let error = Links::parse(&text).unwrap_err();
        assert!(error.contains(what), "{text}\n{error}");
        if line > 0 {
            assert!(error.starts_with(&format!("line {line}: ")), "{text}\n{error}");
        }
    }
}
