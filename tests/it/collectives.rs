//! NCCL's requests, found in captures of its own transport; and captures of others, of which nothing is claimed.

use std::{fs, path::Path};

use crate::support::{
    programs::{cli, ended, printed},
    scratch::Scratch,
    trace,
};
use rdmawire::{
    analyze::{Analysis, Options, metric::timeline},
    capture::{Record, Time},
    dissect::Link,
    opcode::Opcode,
    report::{
        CollectiveCause, CollectiveRequest, CollectiveWait, Collectives, CtsLayout, ImmediateOrder,
        RecognizedBy, Report, RequestTime, Topology, WaitCause,
    },
};

const QPS4_SIZES: [u64; 8] = [65536, 1000, 128, 300, 4, 8193, 262_144, 513];
const MRECV_SIZES: [u64; 8] = [4096, 0, 65536, 1000, 0, 0, 20000, 7];

fn frames(name: &str) -> Vec<trace::Frame> {
    trace::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps").join(name)).expect("a capture")
}

/// The report of the frames that are wanted, each cut to a length at most.
fn report(name: &str, is_wanted: impl Fn(&[u8]) -> bool, longest: usize) -> Report {
    let mut analysis = Analysis::new(Options::default());
    for frame in frames(name).iter() {
        let mut record = frame.record();
        if is_wanted(record.frame) {
            record.frame = &record.frame[..record.frame.len().min(longest)];
            analysis.push(&record);
        }
    }
    analysis.finish()
}

fn found(name: &str) -> Collectives {
    report(name, |_| true, usize::MAX).head.collectives.expect("collectives")
}

/// Whether a frame is from the host with this last byte of its address.
fn is_from(host: u8) -> impl Fn(&[u8]) -> bool {
    move |frame| frame.get(29) == Some(&host)
}

fn late(time: &RequestTime) -> u64 {
    time.receiver_late_ns.unwrap_or(0) + time.sender_late_ns.unwrap_or(0) + time.late_ns.unwrap_or(0)
}

/// What holds of all requests: parts add up, times are in order, what was sent is what the immediate data says.
fn check(all: &Collectives) {
    for request in &all.requests {
        let time = &request.time;
        assert_eq!(time.lasted_ns, late(time) + time.network_ns + time.receiver_silent_ns, "{request:?}");
        assert_eq!(time.network_ns, time.paused_ns + time.recovering_ns + time.transfer_ns, "{request:?}");
        assert_eq!(request.bytes, request.queue_pair_bytes.iter().sum::<u64>());
        let times = [request.cts_ns, request.first_data_ns, request.last_data_ns, request.acknowledged_ns];
        assert!(times.into_iter().flatten().is_sorted(), "{request:?}");
        if request.receives == 1 && request.is_complete == Some(true) {
            let immediate = request.immediate.expect("it is complete");
            assert_eq!(u64::from(immediate.swap_bytes()), request.bytes, "{request:?}");
        }
    }
    let requests: u64 = all.connections.iter().map(|one| one.requests).sum();
    assert_eq!(requests, all.requests.len() as u64);
}

fn of(all: &Collectives, connection: usize) -> Vec<&CollectiveRequest> {
    let mut of: Vec<_> = all.requests.iter().filter(|request| request.connection == connection).collect();
    of.sort_by_key(|request| request.index);
    of
}

#[test]
fn requests_on_four_queue_pairs_are_found_with_their_parts() {
    let all = found("nccl_qps4_split-A.pcap.zst");
    check(&all);
    assert_eq!((all.connections.len(), all.requests.len(), all.unfinished), (2, 160, 0));
    for connection in &all.connections {
        assert_eq!(connection.recognized_by, RecognizedBy::Data);
        assert_eq!((connection.layout, connection.slots), (CtsLayout::FourKeys64, Some(64)));
        assert_eq!(connection.immediate_order, ImmediateOrder::Little);
        assert_eq!((connection.queue_pairs.len(), connection.queue_pairs_per_request), (4, 4));
        for (n, request) in of(&all, connection.connection).into_iter().enumerate() {
            assert_eq!((request.index, request.bytes), (n as u64 + 1, QPS4_SIZES[n % 8]));
            let part = request.bytes.div_ceil(4).div_ceil(128) * 128;
            let parts = (0..4).map(|at| request.bytes.saturating_sub(at * part).min(part));
            assert_eq!(request.queue_pair_bytes, parts.collect::<Vec<_>>());
            assert!(
                request.acknowledged_ns.is_some() && request.why.keys().all(|field| field == "line_rate_ns")
            );
        }
    }
}

#[test]
fn requests_of_several_receives_have_their_sizes() {
    let all = found("nccl_mrecv2-A.pcap.zst");
    check(&all);
    let sizes: Vec<u64> = of(&all, 0).into_iter().flat_map(|request| request.sizes.clone()).collect();
    assert_eq!(sizes.len(), 140);
    assert!(sizes.iter().enumerate().all(|(n, size)| *size == MRECV_SIZES[n % 8]), "{sizes:?}");
}

#[test]
fn a_write_of_no_bytes_ends_requests_of_adaptive_routing() {
    let all = found("nccl_ar-A.pcap.zst");
    check(&all);
    assert_eq!((all.requests.len(), all.unfinished), (80, 0));
    let [big, small] = [|bytes| bytes > 8192, |bytes| bytes <= 8192]
        .map(|is: fn(u64) -> bool| all.requests.iter().filter(move |request| is(request.bytes)).count());
    assert!(big > 0 && small > 0);
}

#[test]
fn slots_that_begin_anew_are_counted() {
    let all = found("nccl_sizes-A.pcap.zst");
    check(&all);
    assert_eq!((all.requests.len(), all.connections[0].slots), (100, Some(64)));
}

#[test]
fn a_late_receiver_is_named() {
    let all = found("nccl_late_recv-A.pcap.zst");
    check(&all);
    for (n, request) in of(&all, 0).into_iter().enumerate() {
        let is_late = request.time.receiver_late_ns.unwrap_or(0) > 90_000_000;
        assert_eq!(is_late, n > 0 && n % 8 == 0, "{request:?}");
    }
}

#[test]
fn a_ring_has_operations_and_a_straggler() {
    let all = found("nccl_ring-A.pcap.zst");
    check(&all);
    assert_eq!((all.connections.len(), all.requests.len(), all.topology), (8, 384, Topology::Ring));
    let operations = all.operations.expect("several connections");
    assert!(
        operations.iter().all(|one| (one.requests, one.bytes) == (64, 64 * 32768)) && operations.len() == 6
    );
    // B began the fourth one 200 ms late.
    assert_eq!(operations[3].straggler.as_deref(), Some("10.77.0.2"));
    assert_eq!(operations[3].cause, Some(CollectiveCause::HostLate));
    assert!(operations[3].lost_ns >= Some(180_000_000), "{:?}", operations[3]);
}

#[test]
fn a_receiver_that_died_leaves_requests_unfinished() {
    let all = found("nccl_peer_dies_busy-A.pcap.zst");
    check(&all);
    let complete: Vec<_> = of(&all, 0).into_iter().map(|request| request.is_complete).collect();
    assert_eq!(complete, [[Some(true); 3].as_slice(), &[Some(false); 8]].concat());
    assert_eq!(all.stragglers[0].cause, CollectiveCause::Hang);
    // Of the fourth request, 195 packets of 1,024 bytes were sent; the receiver answered nothing from frame 3526 on.
    let requests = of(&all, 0);
    let [before, last] = [requests[2], requests[3]];
    assert_eq!((last.bytes, &*last.queue_pair_bytes), (195 * 1024, &[195 * 1024][..]));
    assert_eq!(all.bytes, 3 * (1 << 20) + 195 * 1024);
    assert_eq!(
        (all.time.receiver_silent_ns, before.time.receiver_silent_ns),
        (last.time.receiver_silent_ns, 0)
    );
    let answer = frames("nccl_peer_dies_busy-A.pcap.zst")[3526 - 1].time;
    let end = last.begin_ns + last.time.lasted_ns as i64;
    assert_eq!(last.time.receiver_silent_ns as i64, end - answer);
    assert!(last.time.receiver_silent_ns > last.time.lasted_ns / 2, "{last:?}");
    let said = all.sentences().join("; ");
    assert!(said.contains("; the receiver stopped answering"), "{said}");
    let silent = |one: &&CollectiveWait| one.cause == WaitCause::ReceiverSilent && one.rank == "10.77.0.1";
    assert!(all.waits.iter().any(|wait| silent(&wait)), "{:?}", all.waits.last());
    // A receiver of which nothing was captured is not silent.
    let one_way = report("nccl_peer_dies_busy-A.pcap.zst", is_from(1), usize::MAX);
    let one_way = one_way.head.collectives;
    assert!(one_way.is_none_or(|all| all.time.receiver_silent_ns == 0));
}

/// What the picture marks as waited for is what the table of operations says, each within its operation.
#[test]
fn marks_of_who_was_waited_for_are_the_operations() {
    let mut analysis = Analysis::new(Options::default());
    frames("nccl_ring-A.pcap.zst").iter().for_each(|frame| analysis.push(&frame.record()));
    let ended = analysis.end();
    let view = ended.report();
    let start = view.head.capture.first_ns.unwrap();
    let all = view.head.collectives.as_ref().unwrap();
    let chart = timeline::waiting_chart(&view).unwrap();
    let marks = &chart.series.iter().find(|series| series.role == timeline::STRAGGLER).unwrap().marks;
    let operations = all.operations.as_ref().unwrap();
    for of in operations.iter().filter(|of| of.straggler.is_some()) {
        let [from, to] = [of.start_ns - start, of.start_ns - start + of.lasted_ns as i64];
        let of_it = marks.iter().filter(|mark| mark.0 >= from && mark.1 <= to);
        let marked: i64 = of_it.map(|mark| mark.1 - mark.0).sum();
        assert_eq!(Some(marked as u64), of.lost_ns, "{of:?}");
    }
    assert!(operations.iter().filter_map(|of| of.lost_ns).min() > Some(100_000_000), "{operations:?}");
}

#[test]
fn the_data_alone_looks_like_it() {
    let all = report("nccl_qps4_split-A.pcap.zst", is_from(1), usize::MAX).head.collectives.expect("data");
    check(&all);
    // Of the way back there are only elements, whose data was not captured.
    let [elements, data] = &all.connections[..] else { panic!("{:?}", all.connections) };
    assert_eq!(
        (data.recognized_by, elements.recognized_by),
        (RecognizedBy::Immediate, RecognizedBy::Elements)
    );
    assert_eq!((data.requests, elements.requests, elements.unfinished), (80, 80, 0));
    let mut requests = all.requests.iter().filter(|request| request.connection == data.connection);
    assert!(
        requests.all(|request| request.time.sender_late_ns.is_none() && request.why.contains_key("cts_ns"))
    );
    assert_eq!(all.operations, None);
}

#[test]
fn cut_frames_look_like_it() {
    let whole = found("nccl_ring-A.pcap.zst");
    let all = report("nccl_ring-A.pcap.zst", |_| true, 90).head.collectives.expect("collectives");
    check(&all);
    assert_eq!((all.requests.len(), all.bytes), (whole.requests.len(), whole.bytes));
    assert!(
        all.connections
            .iter()
            .all(|one| one.recognized_by == RecognizedBy::Immediate && one.layout == CtsLayout::Unknown)
    );
    let firsts = |all: &Collectives| {
        let mut firsts: Vec<_> =
            all.requests.iter().map(|request| (request.first_frame, request.cts_frame)).collect();
        firsts.sort_unstable();
        firsts
    };
    assert_eq!(firsts(&all), firsts(&whole));
}

/// In 64 bytes there is no length of a message: its packets show it. Keys and elements are not there.
#[test]
fn frames_cut_in_the_reth_look_like_it() {
    for (name, by) in [
        ("nccl_qps4_split", RecognizedBy::Immediate),
        ("nccl_ring", RecognizedBy::Immediate),
        ("nccl_sizes", RecognizedBy::Immediate),
        ("nccl_ar", RecognizedBy::Immediate),
        ("nccl_late_recv", RecognizedBy::Immediate),
        ("nccl_peer_dies_busy", RecognizedBy::Slots),
        ("nccl_mrecv2", RecognizedBy::Slots),
    ] {
        let file = format!("{name}-A.pcap.zst");
        let whole = found(&file);
        let all = report(&file, |_| true, 64).head.collectives.expect("collectives");
        assert!(all.connections.iter().all(|one| one.recognized_by == by), "{name}");
        let rows = |all: &Collectives| {
            let row = |one: &CollectiveRequest| {
                let of = &all.connections[one.connection];
                let times = [one.cts_ns, one.first_data_ns, one.last_data_ns, one.acknowledged_ns];
                // One that did not end is as long as what was seen of it.
                let bytes = if one.is_complete == Some(true) { one.bytes } else { 0 };
                (of.sender.clone(), of.queue_pairs.clone(), one.index, one.is_complete, bytes, times)
            };
            let mut rows: Vec<_> = all.requests.iter().map(row).collect();
            rows.sort();
            rows
        };
        assert_eq!(rows(&all), rows(&whole), "{name}");
        let is_said = |one: &CollectiveRequest| {
            one.immediate.is_some() || !one.is_complete.unwrap() || one.why.contains_key("immediate")
        };
        assert!(all.requests.iter().all(is_said), "{name}");
    }
}

/// Slots of several elements are told by how far apart they are: each request is for as many messages, and the sizes that end it are no data.
#[test]
fn requests_of_several_messages_are_found_in_frames_that_were_cut() {
    let whole = found("nccl_mrecv2-A.pcap.zst");
    for longest in [64, 96, 128] {
        let all = report("nccl_mrecv2-A.pcap.zst", |_| true, longest).head.collectives.expect("collectives");
        let rows = |all: &Collectives| {
            let row = |one: &CollectiveRequest| (one.index, one.receives, one.bytes, one.acknowledged_ns);
            all.requests.iter().map(row).collect::<Vec<_>>()
        };
        assert!(rows(&whole).iter().all(|&(_, receives, ..)| receives == 2));
        assert_eq!(rows(&all), rows(&whole), "{longest}");
    }
}

/// In 54 bytes there is nothing behind the BTH: nothing is found, and it is said why.
#[test]
fn frames_cut_too_short_are_said() {
    let scratch = Scratch::new("collectives-cut");
    let cut = scratch.join("cut.pcap");
    ended(cli().args(["rewrite", "--snaplen", "54", "pcaps/nccl_sizes-A.pcap.zst"]).arg(&cut));
    let said = printed(cli().arg("collectives").arg(&cut));
    assert!(said.contains("No collectives") && said.contains("frames are cut"), "{said}");
    // The picture says the same.
    let plot = cli().args(["plot", "waits"]).arg(&cut).output().unwrap();
    let (_, why) = said.split_once('\n').unwrap();
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let error = String::from_utf8(plot.stderr).unwrap();
    assert!(!plot.status.success() && error.contains(&why), "{error}");
    let whole = printed(cli().args(["collectives", "pcaps/nccl_sizes-A.pcap.zst"]));
    assert!(!whole.contains("cut"), "{whole}");
}

#[test]
fn nothing_is_claimed_of_other_programs() {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.starts_with("nccl_") && name.contains(".pcap") {
            for longest in [usize::MAX, 64] {
                assert_eq!(report(&name, |_| true, longest).head.collectives, None, "{name} {longest}");
            }
        }
    }
}

/// WRITEs of a store, as long as elements, are more than the view keeps messages. Of frames that were cut, nothing but where they go tells.
#[test]
fn a_collective_behind_very_many_other_writes_has_its_data() {
    const WRITES: u32 = 270_000;
    let alone = found("nccl_ring-A.pcap.zst");
    let nccl = frames("nccl_ring-A.pcap.zst");
    let begin = nccl[0].record().time.0 - 1_000_000_000;
    let mut analysis = Analysis::new(Options::default());
    for n in 0..WRITES {
        let mixed = u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let frame = small_write(0x900 + n % 32, n / 32, 0x7f00_0000_0000 + (mixed >> 40 << 6));
        let (time, wire_len) = (Time(begin + i64::from(n) * 1_000), frame.len() as u32);
        let frame = &frame[..96];
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
    }
    for frame in &nccl {
        analysis.push(&frame.record());
    }
    let found = analysis.finish().head.collectives.expect("collectives");
    assert_eq!((found.requests.len(), found.bytes), (alone.requests.len(), alone.bytes));
    assert_eq!((found.connections.len(), found.unfinished), (alone.connections.len(), alone.unfinished));
}

/// A WRITE of 64 bytes between two other hosts.
fn small_write(dest_qp: u32, psn: u32, va: u64) -> Vec<u8> {
    const UDP: u16 = 8 + 12 + 16 + 64 + 4;
    let mut frame = vec![2; 12];
    frame.extend([0x08, 0, 0x45, 0]);
    frame.extend((20 + UDP).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2, 0xc0, 0, 0x12, 0xb7]);
    frame.extend(UDP.to_be_bytes());
    frame.extend([0, 0, Opcode::RC_WRITE_ONLY.code, 0, 0xff, 0xff]);
    frame.extend(dest_qp.to_be_bytes());
    frame.extend(psn.to_be_bytes());
    frame.extend(va.to_be_bytes());
    frame.extend([0, 0, 0, 9, 0, 0, 0, 64]);
    frame.resize(14 + 20 + usize::from(UDP), 0);
    frame
}
