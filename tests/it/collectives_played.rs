//! Scenarios of collectives: what the analysis of all hosts' taps finds is what was played.

use std::collections::BTreeMap;

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    dissect::Link,
    logs::Log,
    opcode::Opcode,
    report::{CollectiveCause, Collectives, Topology},
    sim::collective::{Collective, Played, play},
};

fn played(text: &str) -> Played {
    let scenario = Collective::parse(&format!("kind = \"collective\"\n{text}"));
    play(&scenario.unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap()
}

/// The analysis of all taps as one trace.
fn report(played: &Played, ranks: u32) -> Option<Collectives> {
    report_with(played, ranks, Options::default())
}

fn report_with(played: &Played, ranks: u32, options: Options) -> Option<Collectives> {
    report_from(i64::MIN, played, ranks, options)
}

/// Of captures that begin then.
fn report_from(begin: i64, played: &Played, ranks: u32, options: Options) -> Option<Collectives> {
    let mut frames: Vec<_> = (0..ranks)
        .flat_map(|rank| played.frames(rank).map(move |frame| (frame.time_ns, rank, frame)))
        .filter(|&(time, ..)| time >= begin)
        .collect();
    frames.sort_by_key(|&(time, rank, _)| (time, rank));
    let mut analysis = Analysis::new(Options { speed_bps: Some(100_000_000_000), ..options });
    for (time, rank, frame) in &frames {
        let (time, wire_len, interface) = (Time(*time), frame.wire_len, *rank as u16);
        analysis.push(&Record { time, link: Link::ETHERNET, interface, wire_len, frame: &frame.bytes });
    }
    analysis.finish().head.collectives
}

/// Connections, requests and the shares of their time are the true ones.
fn check(text: &str, ranks: u32) -> (Played, Collectives) {
    let played = played(text);
    let found = report(&played, ranks).unwrap_or_else(|| panic!("nothing found\n{text}"));
    let truth = &played.truth;
    assert_eq!(found.connections.len(), truth.connections.len(), "{text}");
    let place: BTreeMap<_, usize> = (0..)
        .zip(&truth.connections)
        .map(|(at, one)| ((one.sender.as_str(), one.receiver.as_str(), sorted(&one.queue_pairs)), at))
        .collect();
    let mut by_place = BTreeMap::new();
    for one in &truth.requests {
        by_place.insert((one.connection, one.index), one);
    }
    let (mut true_shares, mut shares, mut lasted) = ([0u64; 3], [0u64; 3], 0);
    for request in &found.requests {
        let of = &found.connections[request.connection];
        let key = (of.sender.as_str(), of.receiver.as_str(), sorted(&of.queue_pairs));
        let connection = place.get(&key).unwrap_or_else(|| panic!("not true: {key:?}\n{text}"));
        let one = by_place.remove(&(*connection, request.index)).expect("a request that was made");
        assert_eq!(
            (
                request.bytes,
                request.cts_ns,
                request.first_data_ns,
                request.last_data_ns,
                request.acknowledged_ns
            ),
            (one.bytes, one.cts_ns, one.first_data_ns, one.last_data_ns, one.acknowledged_ns),
            "{text}"
        );
        if one.acknowledged_ns.is_none() {
            continue;
        }
        lasted += one.lasted_ns;
        let time = &request.time;
        let found = [time.receiver_late_ns.unwrap(), time.sender_late_ns.unwrap(), time.paused_ns];
        let true_ones = [one.receiver_late_ns, one.sender_late_ns, one.paused_ns];
        shares.iter_mut().zip(found).for_each(|(sum, ns)| *sum += ns);
        true_shares.iter_mut().zip(true_ones).for_each(|(sum, ns)| *sum += ns);
    }
    assert!(by_place.values().all(|one| one.cts_ns.is_none()), "requests are missing\n{text}");
    for (found, is_true) in shares.into_iter().zip(true_shares) {
        assert!(found.abs_diff(is_true) * 50 <= lasted, "{shares:?} {true_shares:?} of {lasted}\n{text}");
    }
    (played, found)
}

fn sorted(queue_pairs: &[u32]) -> Vec<u32> {
    let mut all = queue_pairs.to_vec();
    all.sort_unstable();
    all
}

/// The straggler is named in operations up to the one that the fault strikes, and nobody is in those before.
fn check_straggler(text: &str, address: &str) {
    check_straggler_of(4, text, address);
}

fn check_straggler_of(ranks: u32, text: &str, address: &str) {
    let (played, found) = check(text, ranks);
    let operations = found.operations.expect("several connections");
    assert_eq!(operations.len(), played.truth.operations.len(), "{text}");
    let mut named = 0;
    for (one, truth) in operations.iter().zip(&played.truth.operations) {
        if truth.cost_ns * 20 > truth.lasted_ns {
            assert_eq!(one.straggler.as_deref(), Some(address), "{one:?}\n{text}");
            named += 1;
        }
    }
    assert!(named > 0, "the fault costs something\n{text}");
    let first = played.truth.operations.iter().position(|one| one.cost_ns > 0);
    assert!(
        operations.iter().take(first.unwrap_or(0)).all(|one| one.straggler.is_none()),
        "{operations:?}\n{text}"
    );
}

#[test]
fn connections_requests_and_shares_are_the_true_ones() {
    for version in ["2.8", "2.12", "2.20", "2.24", "2.29", "2.30", "plugin"] {
        check(&format!("operations = 2\nversion = {version:?}"), 4);
        check(&format!("operations = 2\nversion = {version:?}\nqueue_pairs = 4\nclosing = true"), 4);
    }
    check("queue_pairs = 4\nsplit = false", 4);
    check("queue_pairs = 3\nchunk = \"100KB\"\nimmediate = \"big\"", 4);
    check("channels = 2\nrails = 2", 4);
    check("algorithm = \"all_to_all\"\nranks = 5", 5);
    check("algorithm = \"tree\"\nranks = 7", 7);
    check("algorithm = \"pairs\"", 4);
}

#[test]
fn whoever_costs_most_is_the_straggler() {
    let at_2 = "rank = 2\noperation = 2";
    for algorithm in ["ring", "all_to_all"] {
        for queue_pairs in ["", "queue_pairs = 4\nclosing = true\n"] {
            let with = |fault: &str| {
                format!("algorithm = {algorithm:?}\nsize = \"2MiB\"\n{queue_pairs}[[fault]]\n{fault}")
            };
            check_straggler(&with(&format!("what = \"late_rank\"\n{at_2}\nby = \"500us\"")), "10.0.0.3");
            check_straggler(&with(&format!("what = \"slow_receiver\"\n{at_2}\nby = \"100us\"")), "10.0.0.3");
            check_straggler(
                &with("what = \"slow_path\"\nrank = 1\nto = 2\nfactor = 8\noperation = 2"),
                "10.0.0.2",
            );
        }
    }
    for queue_pairs in ["", "queue_pairs = 4\nclosing = true\n"] {
        for at in ["0us", "20us"] {
            let fault = "what = \"paused_link\"\nrank = 1\noperation = 2\nby = \"400us\"";
            check_straggler(&format!("{queue_pairs}[[fault]]\n{fault}\nat = {at:?}"), "10.0.0.2");
        }
    }
}

#[test]
fn in_a_tree_too_where_links_carry_unlike_loads() {
    let with = |fault: &str| format!("algorithm = \"tree\"\nranks = 7\n[[fault]]\n{fault}");
    for (fault, address) in [
        ("what = \"late_rank\"\nrank = 2\noperation = 2\nby = \"500us\"", "10.0.0.3"),
        ("what = \"slow_receiver\"\nrank = 2\noperation = 2\nby = \"60us\"", "10.0.0.3"),
        ("what = \"slow_nic\"\nrank = 2\nfactor = 4\noperation = 2", "10.0.0.3"),
        ("what = \"slow_path\"\nrank = 1\nto = 0\nfactor = 6\noperation = 2", "10.0.0.2"),
        ("what = \"paused_link\"\nrank = 1\noperation = 2\nby = \"400us\"\nat = \"20us\"", "10.0.0.2"),
        ("what = \"paused_link\"\nrank = 1\noperation = 2\nby = \"400us\"", "10.0.0.2"),
    ] {
        check_straggler_of(7, &with(fault), address);
    }
}

#[test]
fn nobody_is_to_blame_where_nothing_goes_wrong() {
    for (algorithm, ranks) in [("ring", 4), ("tree", 7), ("all_to_all", 5)] {
        for queue_pairs in ["", "queue_pairs = 4\nclosing = true\n"] {
            // What every host needs for a step is nobody's lateness, however long.
            for work in ["2us", "11us"] {
                let text = format!(
                    "algorithm = {algorithm:?}\nranks = {ranks}\n{queue_pairs}operations = 4\nwork = {work:?}"
                );
                let (_, found) = check(&text, ranks);
                let blamed = found.operations.iter().flatten().find(|one| one.straggler.is_some());
                assert!(blamed.is_none(), "{blamed:?}\n{text}");
            }
        }
    }
}

#[test]
fn frames_that_were_cut_behind_the_fields_of_elements_show_all() {
    for version in ["2.12", "2.20", "2.24", "2.30"] {
        check(&format!("operations = 2\nversion = {version:?}\nsnaplen = 128"), 4);
    }
}

/// Behind 64 bytes are the keys, lengths and fields of elements, and the immediate data of messages of one packet; behind 90 the elements only. On
/// several queue pairs, elements show which of these are of one connection.
#[test]
fn frames_that_were_cut_before_the_fields_of_elements_look_like_it() {
    for snaplen in [64, 90] {
        for (more, ranks) in [
            ("version = \"2.8\"", 4),
            ("version = \"2.12\"", 4),
            ("version = \"2.30\"", 4),
            ("queue_pairs = 4\nclosing = true", 4),
            ("queue_pairs = 4\nsplit = false", 4),
            ("channels = 2\nqueue_pairs = 3", 4),
            ("channels = 2\nrails = 2", 4),
            ("algorithm = \"all_to_all\"\nranks = 5\nqueue_pairs = 2", 5),
            ("algorithm = \"tree\"\nranks = 7", 7),
            // Each message is one packet.
            ("size = \"8KiB\"\nchunk = \"1KiB\"", 4),
        ] {
            let (_, found) = check(&format!("snaplen = {snaplen}\n{more}"), ranks);
            for one in &found.connections {
                assert!(matches!(one.recognized_by.name(), "immediate" | "slots"), "{one:?}");
                assert_eq!((one.layout.name(), one.element_bytes), ("unknown", None));
                assert!(one.why.contains_key("element_bytes"), "{one:?}");
            }
        }
    }
}

#[test]
fn topologies_and_bandwidths_are_those_of_hosts() {
    for (topology, ranks, more) in [
        ("Ring", 4, ""),
        ("Ring", 4, "channels = 2\nrails = 2"),
        ("Tree", 7, "algorithm = \"tree\""),
        ("AllToAll", 5, "algorithm = \"all_to_all\"\nsize = \"1000KiB\""),
        ("AllToAll", 4, "algorithm = \"all_to_all\"\nchannels = 2\nrails = 2"),
    ] {
        let (played, found) = check(&format!("ranks = {ranks}\n{more}"), ranks);
        assert_eq!(format!("{:?}", found.topology), topology, "{more}");
        for (one, truth) in found.operations.iter().flatten().zip(&played.truth.operations) {
            let rate = one.algorithm_bps.expect("a known topology");
            assert!(rate.abs_diff(truth.algorithm_bps) * 100 < rate, "{one:?} {truth:?}\n{more}");
        }
    }
}

#[test]
fn the_rank_that_sends_nothing_any_more_is_named() {
    for algorithm in ["ring", "tree"] {
        let fault = "[[fault]]\nwhat = \"hang\"\nrank = 1\noperation = 2\nrequest = 1";
        let (_, found) = check(&format!("algorithm = {algorithm:?}\ntail = \"1s\"\n{fault}"), 4);
        let hung: Vec<_> =
            found.stragglers.iter().filter(|one| format!("{:?}", one.cause) == "Hang").collect();
        assert_eq!(hung.iter().map(|one| one.rank.as_str()).collect::<Vec<_>>(), ["10.0.0.2"], "{algorithm}");
    }
}

#[test]
fn nothing_is_claimed_of_other_traffic() {
    for decoy in ["perftest", "storage", "gin"] {
        let played = played(&format!("operations = 0\ndecoys = [{decoy:?}]"));
        assert!(played.frames(0).count() > 100, "{decoy}");
        assert!(report(&played, 4).is_none(), "{decoy}");
        for snaplen in [54, 58, 64, 74, 96] {
            let cut = self::played(&format!("operations = 0\ndecoys = [{decoy:?}]\nsnaplen = {snaplen}"));
            assert!(report(&cut, 4).is_none(), "{decoy} {snaplen}");
        }
    }
    check("decoys = [\"perftest\", \"storage\", \"gin\"]", 4);
}

/// What NCCL prints at each rank with NCCL_DEBUG=INFO: numbers from 10 on, and channel 5.
fn debug_output(found: &Collectives) -> String {
    let mut text = String::new();
    for n in 0..4u8 {
        let (rank, next) = (10 + n, 10 + (n + 1) % 4);
        let head = format!("node{n}:4711:4720 [{n}] NCCL INFO");
        text += &format!("{head} comm 0x55d0 rank {n} nranks 2 cudaDev {n} busId 1000 - Init START\n");
        text += &format!(
            "{head} ncclCommInitRank comm 0x55d1 rank {rank} nranks 14 cudaDev {n} nvmlDev {n} busId 1000 commId 0x1 - Init COMPLETE\n"
        );
        text += &format!("{head} Channel 05/0 : {rank}[{n}] -> {next}[0] [send] via NET/IB/0/GDRDMA\n");
        text += &format!("{head} Channel 06/0 : {rank}[{n}] -> {next}[0] via P2P/IPC\n");
        let gid = u64::from_le_bytes([0, 0, 0xff, 0xff, 10, 0, 0, n + 1]);
        let address = format!("10.0.0.{}", n + 1);
        for of in found.connections.iter().filter(|of| of.sender == address) {
            let qpn = of.cts_queue_pairs[0];
            text += &format!(
                "{head} NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn {qpn} mtu 5 query_ece={{supported=0, vendor_id=0x0}} GID 3 (0/{gid:X}) fifoRkey=0x1 fifoLkey=0x1\n"
            );
        }
    }
    text
}

#[test]
fn a_log_of_nccl_names_ranks_hosts_and_channels() {
    let late = "[[fault]]\nwhat = \"late_rank\"\nrank = 2\noperation = 2\nby = \"500us\"";
    let (_, mut found) = check(late, 4);
    let bare = found.clone();
    let log = Log::read("x.log", debug_output(&found).as_bytes()).unwrap();
    log.job.join(&mut found);
    for of in &found.connections {
        let rank = |address: &str| 9 + address.rsplit('.').next().unwrap().parse::<u32>().unwrap();
        assert_eq!((of.sender_rank, of.receiver_rank), (Some(rank(&of.sender)), Some(rank(&of.receiver))));
        assert_eq!(
            (of.sender_host.clone(), of.channel),
            (Some(format!("node{}", rank(&of.sender) - 10)), Some(5))
        );
    }
    assert_eq!((found.stragglers[0].number, found.stragglers[0].host.as_deref()), (Some(12), Some("node2")));
    assert!(found.stragglers[0].sentence().contains("rank 12 (node2, 10.0.0.3)"), "{:?}", found.stragglers);
    let named: Vec<_> = found.operations.iter().flatten().filter_map(|one| one.straggler_rank).collect();
    assert!(!named.is_empty() && named.iter().all(|&rank| rank == 12), "{named:?}");
    let mut other = bare.clone();
    Log::read("x.log", "nothing of NCCL".as_bytes()).unwrap().job.join(&mut other);
    assert_eq!(other, bare);
}

#[test]
fn slow_adapters_and_held_answers_are_told_from_paths() {
    for (text, ranks, address) in [
        // Both adapters of a host are slow.
        (
            "algorithm = \"all_to_all\"\nsize = \"2MiB\"\nchannels = 2\nrails = 2\n[[fault]]\nwhat = \"slow_nic\"\nrank = 2\nfactor = 4\noperation = 2",
            4,
            "10.0.0.3",
        ),
        // A leaf of a tree, which has one path only; its peer is fast to others.
        (
            "algorithm = \"tree\"\nranks = 5\n[[fault]]\nwhat = \"slow_nic\"\nrank = 2\nfactor = 4\noperation = 2",
            5,
            "10.0.0.3",
        ),
        // Acknowledgements wait in a paused adapter.
        (
            "algorithm = \"all_to_all\"\nranks = 5\nsize = \"2MiB\"\n[[fault]]\nwhat = \"paused_link\"\nrank = 1\noperation = 2\nby = \"400us\"",
            5,
            "10.0.0.2",
        ),
    ] {
        let (played, found) = check(text, ranks);
        let one = &found.operations.as_ref().unwrap()[2];
        assert!(played.truth.operations[2].cost_ns * 20 > played.truth.operations[2].lasted_ns);
        let host = |address: &str| address.rsplit('.').next().map(str::to_owned);
        assert_eq!(one.straggler.as_deref().and_then(host), host(address), "{one:?}\n{text}");
    }
}

/// Data that waits behind a pause is paused until all before it has left; so are acknowledgements. What comes again since the pause outlasts a timer was not lost.
#[test]
fn what_a_pause_holds_back_is_paused_and_not_lost() {
    let paused = |rank: u32, by: &str, at: &str| {
        format!("[[fault]]\nwhat = \"paused_link\"\nrank = {rank}\nby = {by:?}\nat = {at:?}\noperation = 1")
    };
    let pairs = "algorithm = \"pairs\"\nchannels = 2\nqueue_pairs = 4\nsize = \"256KiB\"\nahead = 4";
    for (text, ranks, address) in [
        (format!("algorithm = \"ring\"\nchannels = 2\n{}", paused(0, "1ms", "0us")), 2, "10.0.0.1"),
        (format!("{pairs}\n{}", paused(2, "1ms", "20us")), 6, "10.0.0.3"),
        (format!("algorithm = \"all_to_all\"\nchannels = 4\n{}", paused(4, "300us", "0us")), 8, "10.0.0.5"),
    ] {
        let (_, found) = check(&format!("ranks = {ranks}\n{text}"), ranks);
        let (paused, recovering) = (found.time.paused_ns, found.time.recovering_ns);
        assert!(paused > 0 && recovering * 50 <= found.time.lasted_ns, "{:?}\n{text}", found.time);
        let one = &found.operations.as_ref().unwrap()[1];
        let named = (one.straggler.as_deref(), one.cause);
        assert_eq!(named, (Some(address), Some(CollectiveCause::Paused)), "{one:?}\n{text}");
    }
}

#[test]
fn nobody_is_blamed_in_an_uneven_tree() {
    let (_, found) = check("algorithm = \"tree\"\nranks = 5\noperations = 4", 5);
    assert!(found.operations.iter().flatten().all(|one| one.straggler.is_none()), "{:?}", found.operations);
}

#[test]
fn operations_that_overlap_after_losses_are_told_apart() {
    let text = "seed = 7\nqueue_pairs = 4\nsplit = false\n[[fault]]\nwhat = \"lossy_path\"\nrank = 1\nto = 2\nshare = 0.02";
    let played = played(text);
    let found = report(&played, 4).expect("a collective");
    let found: Vec<i64> = found.operations.iter().flatten().map(|one| one.start_ns).collect();
    let is: Vec<i64> = played.truth.operations.iter().map(|one| one.start_ns).collect();
    assert_eq!(found, is);
}

/// All others wait for a rank that is late, as long as it is late; it waits for nobody. Waits of a rank do not overlap.
#[test]
fn waits_of_ranks_are_those_of_the_fault() {
    let text = "size = \"2MiB\"\n[[fault]]\nwhat = \"late_rank\"\nrank = 2\noperation = 1\nby = \"500us\"";
    let (played, found) = check(text, 4);
    let operation = &played.truth.operations[1];
    let (from, to) = (operation.start_ns, operation.start_ns + operation.lasted_ns as i64);
    let mut late: BTreeMap<&str, u64> = BTreeMap::new();
    let mut until: BTreeMap<&str, i64> = BTreeMap::new();
    for wait in &found.waits {
        let end = wait.start_ns + wait.lasted_ns as i64;
        let before = until.insert(&wait.rank, end);
        assert!(before.is_none_or(|before| before <= wait.start_ns), "{wait:?}");
        let is_late = matches!(wait.cause.name(), "sender_late" | "receiver_late");
        if is_late && wait.start_ns >= from && end <= to {
            *late.entry(&wait.rank).or_default() += wait.lasted_ns;
        }
    }
    for rank in ["10.0.0.1", "10.0.0.2", "10.0.0.4"] {
        let waited = late.get(rank).copied().unwrap_or(0);
        assert!((450_000..=560_000).contains(&waited), "{rank} {waited}");
    }
    assert!(late.get("10.0.0.3").copied().unwrap_or(0) < 20_000, "{late:?}");
}

/// In an all to all, the receiver that lets requests wait longer is late, not the sender that waited for it. A path that loses packets again and again has its effects on
/// others, and on the next operation. Pairs wait for nobody outside: the nth operation of each is one. In trees, requests that take queue pairs in turn
/// overlap, which costs nothing.
#[test]
fn stragglers_are_told_where_requests_overlap_and_hosts_are_apart() {
    let all_to_all = "algorithm = \"all_to_all\"\nranks = 5\nsize = \"2MiB\"\n";
    let slow = "[[fault]]\nwhat = \"slow_receiver\"\nrank = 2\nby = \"60us\"";
    check_straggler_of(5, &format!("{all_to_all}{slow}"), "10.0.0.3");
    let lossy = "[[fault]]\nwhat = \"lossy_path\"\nrank = 1\nto = 2\nshare = 0.02";
    check_straggler_of(5, &format!("{all_to_all}queue_pairs = 2\n{lossy}"), "10.0.0.2");
    let late = "[[fault]]\nwhat = \"late_rank\"\nrank = 2\noperation = 1\nby = \"500us\"";
    check_straggler(&format!("algorithm = \"pairs\"\nsize = \"2MiB\"\n{late}"), "10.0.0.3");
    check_straggler(&format!("algorithm = \"pairs\"\nsize = \"2MiB\"\n{slow}"), "10.0.0.3");
    let tree = "algorithm = \"tree\"\nranks = 7\nsize = \"2MiB\"\nqueue_pairs = 4\nsplit = false\n";
    let (_, found) = check(tree, 7);
    let blamed = found.operations.iter().flatten().find(|one| one.straggler.is_some());
    assert!(blamed.is_none(), "{blamed:?}");
    let path = "[[fault]]\nwhat = \"slow_path\"\nrank = 1\nto = 0\nfactor = 8\noperation = 2";
    check_straggler_of(7, &format!("{tree}{path}"), "10.0.0.2");
}

/// Two hosts share both ends of all paths: what is usual, operations that are alike show, and the slow adapter is the one that its own data leaves slowly.
#[test]
fn the_slow_one_of_two_hosts_is_told_by_what_leaves_it() {
    for queue_pairs in ["", "queue_pairs = 4\nclosing = true\n", "queue_pairs = 4\nsplit = false\n"] {
        let with = |fault: &str| {
            let fault = if fault.is_empty() { String::new() } else { format!("[[fault]]\n{fault}") };
            format!("algorithm = \"ring\"\nranks = 2\nsize = \"2MiB\"\n{queue_pairs}{fault}")
        };
        for rank in [0, 1] {
            let slow = format!("what = \"slow_nic\"\nrank = {rank}\nfactor = 4\noperation = 2");
            check_straggler_of(2, &with(&slow), &format!("10.0.0.{}", rank + 1));
        }
        let (_, found) = check(&with(""), 2);
        assert!(found.operations.iter().flatten().all(|one| one.straggler.is_none()), "{queue_pairs}");
    }
}

/// Hosts that ended an operation late begin the next one late, whether that has begun elsewhere before they ended or not. Operations that losses pushed into
/// each other in twos are told apart, too, where none stands alone.
#[test]
fn what_losses_cost_is_carried_into_the_next_operation() {
    let lossy = "[[fault]]\nwhat = \"lossy_path\"\nrank = 1\nto = 2\nshare = 0.02";
    for (seed, algorithm, ranks, queue_pairs) in [
        (7, "all_to_all", 5, "queue_pairs = 4\nclosing = true\n"),
        (7, "all_to_all", 5, "queue_pairs = 4\nsplit = false\n"),
        (7, "all_to_all", 3, ""),
        (8, "all_to_all", 3, ""),
        (7, "ring", 4, "queue_pairs = 2\n"),
    ] {
        let text = format!(
            "seed = {seed}\nalgorithm = {algorithm:?}\nranks = {ranks}\nsize = \"2MiB\"\n{queue_pairs}{lossy}"
        );
        check_straggler_of(ranks, &text, "10.0.0.2");
    }
    let to_root = "[[fault]]\nwhat = \"lossy_path\"\nrank = 1\nto = 0\nshare = 0.02";
    let tree =
        "seed = 9\nalgorithm = \"tree\"\nranks = 7\nsize = \"2MiB\"\nqueue_pairs = 4\nclosing = true\n";
    check_straggler_of(7, &format!("{tree}{to_root}"), "10.0.0.2");
}

/// Where only one direction was captured, immediate data in either byte order shows which queue pairs share requests, and addresses which ones take them in
/// turn. Channels are not mistaken for that.
#[test]
fn connections_on_several_queue_pairs_are_found_in_one_direction() {
    for queue_pairs in [
        "queue_pairs = 4\nclosing = true",
        "queue_pairs = 4\nsplit = false",
        "queue_pairs = 2\nsplit = false\nchannels = 2",
        "queue_pairs = 2\nimmediate = \"big\"",
        "channels = 3",
        "channels = 2\nqueue_pairs = 4",
    ] {
        for only in ["sent", "received"] {
            for snaplen in [0, 96] {
                let text = format!(
                    "size = \"2MiB\"\n{queue_pairs}\ntaps = [0]\nonly = {only:?}\nsnaplen = {snaplen}\n"
                );
                let played = played(&text);
                let found = report(&played, 1).unwrap_or_else(|| panic!("nothing found\n{text}"));
                let mut is: Vec<_> = (0..)
                    .zip(&played.truth.connections)
                    .filter(|(_, one)| (if only == "sent" { one.from } else { one.to }) == 0)
                    .map(|(at, one)| {
                        let of = played.truth.requests.iter().filter(|request| request.connection == at);
                        (sorted(&one.queue_pairs), of.map(|request| request.bytes).sum::<u64>())
                    })
                    .collect();
                let with_data = found.connections.iter().filter(|one| !one.queue_pairs.is_empty());
                let mut found: Vec<_> = with_data.map(|one| (sorted(&one.queue_pairs), one.bytes)).collect();
                is.sort();
                found.sort();
                assert_eq!(found, is, "{text}");
            }
        }
    }
}

/// What retransmissions take from the others' links is lost by losses too: an operation is compared with its like, and with the half of connections
/// that ended first.
#[test]
fn losses_cost_what_operations_take_longer_than_their_like() {
    let lossy = "[[fault]]\nwhat = \"lossy_path\"\nrank = 1\nto = 2\nshare = 0.02";
    for (ranks, queue_pairs) in
        [(5, "queue_pairs = 4\nclosing = true\n"), (3, "queue_pairs = 4\nclosing = true\n")]
    {
        let text = format!(
            "seed = 1\nalgorithm = \"all_to_all\"\nranks = {ranks}\nsize = \"2MiB\"\n{queue_pairs}{lossy}"
        );
        check_straggler_of(ranks, &text, "10.0.0.2");
    }
}

/// Packets that follow one that was lost, and are sent again behind it, were lost too where their receiver's tap has not seen them.
#[test]
fn losses_behind_a_loss_count_where_the_other_end_shows_them() {
    let text = "seed = 1\nranks = 2\nsize = \"2MiB\"\n[[fault]]\nwhat = \"lossy_path\"\nrank = 1\nto = 0\nshare = 0.02";
    let (played, found) = check(text, 2);
    let is: u64 = played.truth.requests.iter().map(|one| one.recovering_ns).sum();
    let lasted: u64 = played.truth.requests.iter().map(|one| one.lasted_ns).sum();
    let sum: u64 = found.requests.iter().map(|one| one.time.recovering_ns).sum();
    assert!(is * 10 > lasted && sum.abs_diff(is) * 50 <= lasted, "{sum} {is} of {lasted}");
}

/// Packets in the middle of messages are noted in short, and all is as if they were not.
#[test]
fn the_short_way_of_packets_within_messages_changes_nothing() {
    let lossy = "[[fault]]\nwhat = \"lossy_path\"\nrank = 1\nto = 2\nshare = 0.02";
    for queue_pairs in ["", "queue_pairs = 4\nclosing = true\n", "queue_pairs = 4\nsplit = false\n"] {
        for more in
            ["", "snaplen = 64\n", "snaplen = 96\n", "taps = [1]\n", "taps = [2]\nonly = \"received\"\n"]
        {
            let text = format!("size = \"1MiB\"\n{queue_pairs}{more}{lossy}");
            let played = played(&text);
            let plain = report(&played, 4);
            let reference = report_with(&played, 4, Options { reference: true, ..Options::default() });
            let json = |found: Option<Collectives>| serde_json::to_string(&found).unwrap();
            assert!(json(plain) == json(reference), "{text}");
        }
    }
}

/// An element that is lost is of the path that it took, against the data. Who begins an operation late because the one before had not ended for it was
/// not late itself.
#[test]
fn losses_of_elements_and_of_the_operation_before_are_of_their_path() {
    let lossy = |to: u32| format!("[[fault]]\nwhat = \"lossy_path\"\nrank = 1\nto = {to}\nshare = 0.02");
    for queue_pairs in ["", "queue_pairs = 4\nclosing = true\n"] {
        let all_to_all = "seed = 2\nalgorithm = \"all_to_all\"\nranks = 5\nsize = \"2MiB\"\n";
        check_straggler_of(5, &format!("{all_to_all}{queue_pairs}{}", lossy(2)), "10.0.0.2");
    }
    let tree = "seed = 2\nalgorithm = \"tree\"\nranks = 7\nsize = \"2MiB\"\n";
    check_straggler_of(7, &format!("{tree}{}", lossy(0)), "10.0.0.2");
}

/// With a tap at one host, what the others send to each other is not there: neither who sends to whom is known, nor what the neighbours waited for.
#[test]
fn nothing_is_guessed_of_hosts_without_a_tap() {
    for algorithm in ["ring", "all_to_all"] {
        for fault in ["", "[[fault]]\nwhat = \"slow_path\"\nrank = 1\nto = 2\nfactor = 8"] {
            let text = format!("algorithm = {algorithm:?}\nranks = 4\n{fault}");
            let found = report(&played(&text), 1).expect("it is found");
            assert_eq!(format!("{:?}", found.topology), "Unknown", "{text}");
            for one in found.operations.iter().flatten() {
                assert_eq!((one.algorithm_bps, one.bus_bps), (None, None), "{one:?}\n{text}");
                assert_eq!(one.straggler, None, "{one:?}\n{text}");
            }
        }
    }
}

/// Several rails of a host: its tap sees a part of the network for each, and they have no end in common.
#[test]
fn nothing_is_guessed_of_hosts_without_a_tap_on_several_rails() {
    let late = "[[fault]]\nwhat = \"late_rank\"\nrank = 6\nby = \"500us\"";
    let text = format!("algorithm = \"ring\"\nranks = 8\nrails = 2\nchannels = 2\n{late}");
    let some = report(&played(&text), 5).expect("it is found");
    assert_eq!(format!("{:?}", some.topology), "Unknown");
    let named: Vec<_> = some.operations.iter().flatten().filter_map(|one| one.straggler.as_deref()).collect();
    assert!(named.is_empty(), "{named:?}");
    let all = report(&played(&text), 8).expect("it is found");
    let is_it = |name: &str| name.ends_with(".0.7");
    assert!(all.operations.iter().flatten().all(|one| one.straggler.as_deref().is_some_and(is_it)));
}

/// Others that were asked by the late host alone begin late with it: they only answered. Its own tap shows that.
#[test]
fn a_late_host_is_named_by_its_own_tap() {
    let late = "[[fault]]\nwhat = \"late_rank\"\nrank = 0\noperation = 2\nby = \"300us\"";
    for channels in [1, 2] {
        let text = format!("algorithm = \"ring\"\nranks = 4\nchannels = {channels}\n{late}");
        let operations = report(&played(&text), 1).expect("it is found").operations.expect("some");
        let named: Vec<_> = operations.iter().map(|one| one.straggler.as_deref()).collect();
        assert_eq!(named, [None, None, Some("10.0.0.1"), None], "{operations:?}\n{text}");
        assert!(operations[2].lost_ns.is_some_and(|lost| lost.abs_diff(300_000) < 30_000), "{operations:?}");
    }
}

/// What a slow adapter and a pause cost, on several channels at once.
#[test]
fn what_is_lost_on_several_connections_is_lost_once_or_one_after_the_other() {
    let slow = "what = \"slow_nic\"\nrank = 1\nfactor = 4";
    let paused = "what = \"paused_link\"\nrank = 1\noperation = 2\nby = \"400us\"\nat = \"20us\"";
    for (text, ranks, fault) in [
        ("algorithm = \"ring\"\nchannels = 2\nsize = \"2MiB\"", 4, slow),
        ("algorithm = \"tree\"\nranks = 7\nchannels = 2", 7, paused),
    ] {
        let (played, found) = check(&format!("{text}\n[[fault]]\n{fault}"), ranks);
        let one = &found.operations.expect("several connections")[2];
        let (lost, truth) = (one.lost_ns.expect("somebody is named"), played.truth.operations[2].cost_ns);
        assert_eq!(one.straggler.as_deref(), Some("10.0.0.2"), "{one:?}");
        assert!(lost * 2 > truth && lost < truth * 2, "{lost} {truth} {one:?}");
    }
}

/// Requests that were under way when the capture began have no beginning, and nobody was late for them.
#[test]
fn nobody_is_late_in_an_operation_that_nobody_saw_begin() {
    for (algorithm, ranks) in [("ring", 4), ("ring", 8)] {
        let text = format!("algorithm = {algorithm:?}\nranks = {ranks}\noperations = 3");
        let (played, whole) = check(&text, ranks);
        let first = &whole.operations.expect("several connections")[0];
        for part in 1..8 {
            let begin = first.start_ns + (first.lasted_ns / 8 * part) as i64;
            let found = report_from(begin, &played, ranks, Options::default()).expect("it is found");
            let blamed = found.operations.iter().flatten().find(|one| one.straggler.is_some());
            assert!(blamed.is_none(), "{blamed:?}\n{text}, from {part} / 8");
        }
    }
}

/// The analysis of all taps as one trace, of frames that are changed before: their times, and their bytes.
fn report_changed(played: &Played, ranks: u32, change: impl Fn(&mut i64, &mut Vec<u8>)) -> Collectives {
    let mut frames: Vec<_> = (0..ranks)
        .flat_map(|rank| played.frames(rank).map(move |frame| (frame.time_ns, rank, frame)))
        .collect();
    frames.iter_mut().for_each(|(time, _, frame)| change(time, &mut frame.bytes));
    frames.sort_by_key(|&(time, rank, _)| (time, rank));
    let mut analysis = Analysis::new(Options::default());
    for (time, rank, frame) in &frames {
        let (time, wire_len, interface) = (Time(*time), frame.wire_len, *rank as u16);
        analysis.push(&Record { time, link: Link::ETHERNET, interface, wire_len, frame: &frame.bytes });
    }
    analysis.finish().head.collectives.expect("collectives")
}

/// Queue pairs that all have one source port, and like PSNs: times tell which acknowledgements are whose.
#[test]
fn acknowledgements_of_like_queue_pairs_are_told_by_their_times() {
    for queue_pairs in ["queue_pairs = 4", "queue_pairs = 4\nsplit = false"] {
        let played = played(&format!("operations = 3\nchannels = 2\nranks = 3\n{queue_pairs}"));
        let found = report_changed(&played, 3, |_, frame| {
            if let Some(port) = frame.get_mut(34..36) {
                port.copy_from_slice(&[0xc0, 1]);
            }
        });
        let true_ones: Vec<_> = played.truth.requests.iter().map(|one| one.acknowledged_ns).collect();
        let mut found: Vec<_> = found.requests.iter().map(|one| one.acknowledged_ns).collect();
        let mut sorted = true_ones;
        found.sort_unstable();
        sorted.sort_unstable();
        assert_eq!(found, sorted, "{queue_pairs}");
    }
}

/// Some taps note when a packet ends: then a short one comes at once behind a long one. The wait for packets of other queue pairs is no lateness there, either.
#[test]
fn taps_that_note_when_packets_end_show_the_same() {
    let played = played("operations = 3\nchannels = 2\nqueue_pairs = 2");
    let late = |found: &Collectives| found.time.sender_late_ns.unwrap() as f64 / found.time.lasted_ns as f64;
    let at_begin = report_changed(&played, 4, |_, _| {});
    // At 100 Gbit/s.
    let at_end = report_changed(&played, 4, |time, frame| *time += frame.len() as i64 * 8 / 100);
    assert!((late(&at_begin) - late(&at_end)).abs() < 0.03, "{} {}", late(&at_begin), late(&at_end));
}

/// A host that takes longer for each request, in all operations: also one with several adapters, of which none is usual for the others.
#[test]
fn a_host_that_is_slow_at_each_request_is_named() {
    for (algorithm, ranks) in [("ring", 4), ("all_to_all", 4)] {
        for more in ["", "channels = 2", "channels = 2\nrails = 2"] {
            let fault = "[[fault]]\nwhat = \"slow_receiver\"\nrank = 2\nby = \"60us\"";
            let text = format!("algorithm = {algorithm:?}\nsize = \"2MiB\"\n{more}\n{fault}");
            let (played, found) = check(&text, ranks);
            let operations = found.operations.expect("several connections");
            assert_eq!(operations.len(), played.truth.operations.len(), "{text}");
            for (at, (one, truth)) in operations.iter().zip(&played.truth.operations).enumerate() {
                // A first operation of no more requests of a connection than are asked for ahead waits for none of it.
                let is_free = at == 0 && truth.cost_ns == 0;
                assert!(is_free || truth.cost_ns * 20 > truth.lasted_ns, "{truth:?}\n{text}");
                let is_it = match &one.straggler {
                    Some(of) => !is_free && of.ends_with(".0.3"),
                    None => is_free,
                };
                assert!(is_it, "{one:?}\n{text}");
            }
        }
    }
}

/// Each step takes long at all hosts, as with a GPU that adds up: channels that share an adapter are not alike, but those of one host are like those of another.
#[test]
fn nobody_is_to_blame_where_steps_take_long_at_all_hosts() {
    for algorithm in ["ring", "all_to_all", "pairs"] {
        for work in ["20us", "40us"] {
            for more in ["", "channels = 2", "channels = 2\nrails = 2"] {
                let text = format!(
                    "algorithm = {algorithm:?}\nwork = {work:?}\n{more}\nsize = \"1500KB\"\noperations = 5"
                );
                let (_, found) = check(&text, 4);
                assert!(found.stragglers.is_empty(), "{:?}\n{text}", found.stragglers);
            }
        }
    }
}

/// Two jobs on the same hosts, each at its own times: each has its own operations, and its own late rank.
#[test]
fn jobs_that_work_side_by_side_have_operations_of_their_own() {
    let job =
        |seed: u64, more: &str| played(&format!("seed = {seed}\noperations = 6\nsize = \"4MB\"\n{more}"));
    let ring = job(1, "compute = \"500us\"");
    let late = "[[fault]]\nwhat = \"late_rank\"\nrank = 2\noperation = 3\nby = \"300us\"";
    let other = job(2, &format!("algorithm = \"all_to_all\"\ncompute = \"900us\"\n{late}"));
    let mut frames: Vec<(i64, u32, Vec<u8>)> = Vec::new();
    for rank in 0..4 {
        frames.extend(ring.frames(rank).map(|frame| (frame.time_ns, rank, frame.bytes.clone())));
        let shifted = other.frames(rank).map(|frame| (frame.time_ns + 350_000, rank, of_other(&frame.bytes)));
        frames.extend(shifted);
    }
    frames.sort();
    // ICRCs are of no frame, then.
    frames.iter_mut().for_each(|(.., frame)| frame[35] ^= 1);
    let mut analysis = Analysis::new(Options::default());
    for (time, rank, frame) in &frames {
        let (time, wire_len, interface) = (Time(*time), frame.len() as u32, *rank as u16);
        analysis.push(&Record { time, link: Link::ETHERNET, interface, wire_len, frame });
    }
    let found = analysis.finish().head.collectives.expect("collectives");
    let operations = found.operations.expect("several connections");
    let of = |topology: Topology| operations.iter().filter(move |one| one.topology == topology);
    let requests =
        |played: &Played| played.truth.operations.iter().map(|one| one.requests).collect::<Vec<_>>();
    let found_of = |topology| of(topology).map(|one| one.requests).collect::<Vec<_>>();
    assert_eq!(found_of(Topology::Ring), requests(&ring), "{operations:?}");
    assert_eq!(found_of(Topology::AllToAll), requests(&other), "{operations:?}");
    let named: Vec<_> = of(Topology::AllToAll).map(|one| one.straggler.as_deref()).collect();
    assert_eq!(named[3], Some("10.0.0.3"), "{operations:?}");
}

/// A frame of another job: other queue pairs, and other keys, also in elements.
fn of_other(frame: &[u8]) -> Vec<u8> {
    /// Behind Ethernet, IPv4 and UDP: BTH, RETH, and an element of version 2.24, which has its keys behind address and size.
    const BTH: usize = 14 + 20 + 8;
    const RETH: usize = BTH + 12;
    const ELEMENT: usize = RETH + 16;
    let mut frame = frame.to_vec();
    let code = frame[BTH];
    let is = |opcode: Opcode| code == opcode.code;
    let mut places = vec![(BTH + 5, 0x40)];
    if is(Opcode::RC_WRITE_FIRST) || is(Opcode::RC_WRITE_ONLY) || is(Opcode::RC_WRITE_ONLY_WITH_IMMEDIATE) {
        places.push((RETH + 9, 0x10));
    }
    if is(Opcode::RC_WRITE_ONLY) {
        places.push((ELEMENT + 16 + 2, 0x10));
    }
    places.into_iter().for_each(|(at, bit)| frame[at] |= bit);
    frame
}

#[test]
fn a_slow_rail_is_told_by_who_is_apart_however_short_it_is() {
    for algorithm in ["ring", "pairs"] {
        let rails = format!(
            "algorithm = \"{algorithm}\"\nrails = 2\nchannels = 2\ndelay = \"4us\"\nsize = \"512KiB\""
        );
        let (played, found) =
            check(&format!("{rails}\n[[fault]]\nwhat = \"slow_rail\"\nrail = 1\nfactor = 4"), 4);
        for (one, truth) in found.operations.unwrap().iter().zip(&played.truth.operations) {
            assert!(truth.cost_ns * 10 > truth.lasted_ns, "{truth:?}");
            let is_there = |rank: &Vec<String>| one.straggler.as_ref() == rank.get(1);
            assert!(played.truth.ranks.iter().any(is_there), "{one:?}\n{algorithm}");
        }
    }
}
