//! Ring all-reduces that are made here: every layout of the clear-to-send elements, several queue pairs, both ways to end a request; a rank
//! that is late, a path that is slow, a request that never comes. The truth is known to the nanosecond.

use std::net::Ipv4Addr;

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    craft,
    dissect::Link,
    opcode::Opcode,
    report::{CollectiveCause, Collectives, CtsLayout, ImmediateOrder, RecognizedBy, Topology},
    wire::*,
};

/// Bytes of a packet's payload, and nanoseconds that it takes.
const MTU: u32 = 1024;
const PACKET_NS: i64 = 100;
/// From a host to the tap, in the middle of the path.
const HALF_NS: i64 = 1000;
const BEGIN: i64 = 1_700_000_000_000_000_000;
/// Between two operations, from the end of the last rank.
const COMPUTE_NS: i64 = 5_000_000;

#[derive(Clone, Copy)]
struct Ring {
    ranks: usize,
    queue_pairs: u32,
    bytes: u32,
    operations: usize,
    layout: CtsLayout,
    order: ImmediateOrder,
    /// A WRITE of no bytes ends each request.
    is_adaptive: bool,
    /// This rank begins this operation so much later.
    late: Option<(usize, usize, i64)>,
    /// This rank sends so many times slower in this operation.
    slow: Option<(usize, usize, i64)>,
    /// This rank sends nothing any more from this step of this operation on.
    hang: Option<(usize, usize, usize)>,
    /// Hosts ask for an operation's first step so much before they begin it.
    ahead: i64,
}

impl Default for Ring {
    fn default() -> Ring {
        Ring {
            ranks: 4,
            queue_pairs: 1,
            bytes: 16384,
            operations: 3,
            layout: CtsLayout::FourKeys64,
            order: ImmediateOrder::Little,
            is_adaptive: false,
            late: None,
            slow: None,
            hang: None,
            ahead: 0,
        }
    }
}

/// What is true of a request: sender, when its element passed the tap, its first and its last data.
#[derive(Debug, PartialEq)]
struct True {
    sender: usize,
    index: u64,
    cts: i64,
    data: Option<(i64, i64)>,
}

/// The frames of a ring, as they are made.
#[derive(Default)]
struct Made {
    frames: Vec<(i64, Vec<u8>)>,
    truth: Vec<True>,
    /// PSNs by the address that sends and the queue pair it goes to.
    psns: std::collections::BTreeMap<(usize, u32), u32>,
    /// The how manieth connection of a sender is made: they have queue pairs of their own.
    lane: u32,
}

impl Ring {
    /// Queue pairs of the connection from a rank to the next one: at the sender, and at the receiver.
    fn queue_pair(sender: usize, at: u32, is_receiver: bool) -> u32 {
        0x100 * (sender as u32 + 1) + at * 2 + u32::from(is_receiver)
    }

    fn element(&self, index: u64, address: u64, rkey: u32) -> Vec<u8> {
        let (long, word) = (|n: u64| n.to_le_bytes().to_vec(), |n: u32| n.to_le_bytes().to_vec());
        let zero = |n: usize| vec![0; n];
        let (address, size) = (long(address), self.bytes);
        match self.layout {
            CtsLayout::Sequence32 => {
                vec![address, word(size), word(index as u32), word(rkey), word(1), zero(8)]
            }
            CtsLayout::OneKey32 => vec![address, word(size), word(rkey), word(1), word(7), long(index)],
            CtsLayout::TwoKeys64 => {
                vec![
                    address,
                    word(size),
                    [rkey, 0, 1, 7].map(word).concat(),
                    zero(4),
                    [long(index), zero(24)].concat(),
                ]
            }
            CtsLayout::FourKeys64 => {
                vec![
                    address,
                    long(size.into()),
                    [rkey, 0, 0, 0].map(word).concat(),
                    word(1),
                    word(7),
                    [long(index), zero(16)].concat(),
                ]
            }
            _ => vec![
                address,
                long(size.into()),
                [rkey, 0, 0, 0].map(word).concat(),
                word(1),
                word(7),
                long(index),
            ],
        }
        .concat()
    }

    fn immediate(&self) -> u32 {
        if self.order == ImmediateOrder::Big { self.bytes } else { self.bytes.swap_bytes() }
    }

    /// Plays it: a rank sends a step when it has begun, was asked, and has got the step before.
    fn make(&self) -> Made {
        let mut made = Made::default();
        let (steps, mut begin) = (2 * (self.ranks - 1), BEGIN);
        for operation in 0..self.operations {
            let of = |what: Option<(usize, usize, i64)>, rank: usize, none: i64| match what {
                Some((who, when, much)) if (who, when) == (rank, operation) => much,
                _ => none,
            };
            let begins: Vec<i64> = (0..self.ranks).map(|rank| begin + of(self.late, rank, 0)).collect();
            // When each rank has got the step before.
            let mut got = begins.clone();
            let mut sent = begins.clone();
            let mut is_dead = vec![false; self.ranks];
            for step in 0..steps {
                let mut arrived = got.clone();
                for sender in 0..self.ranks {
                    let receiver = (sender + 1) % self.ranks;
                    let index = (operation * steps + step) as u64 + 1;
                    is_dead[sender] |= self
                        .hang
                        .is_some_and(|(who, when, from)| (who, when) == (sender, operation) && step >= from);
                    if got[receiver] == i64::MAX {
                        arrived[receiver] = i64::MAX;
                        continue;
                    }
                    let cts = if step == 0 && self.ahead > 0 { begin - self.ahead } else { got[receiver] };
                    let rkey = 0x5000 + sender as u32;
                    let address = 0x7f00_0000_0000 + ((receiver as u64) << 32) + (index % 8) * 0x10_0000;
                    made.cts(self, (sender, receiver), cts + HALF_NS, index, (address, rkey));
                    let from = sent[sender].max(cts + 2 * HALF_NS).max(got[sender]);
                    if is_dead[sender] || got[sender] == i64::MAX {
                        made.truth.push(True { sender, index, cts: cts + HALF_NS, data: None });
                        arrived[receiver] = i64::MAX;
                        continue;
                    }
                    let apart = PACKET_NS * of(self.slow, sender, 1);
                    let last = made.data(self, (sender, receiver), (from + HALF_NS, apart), (address, rkey));
                    made.truth.push(True {
                        sender,
                        index,
                        cts: cts + HALF_NS,
                        data: Some((from + HALF_NS, last)),
                    });
                    (sent[sender], arrived[receiver]) = (last - HALF_NS, last + HALF_NS);
                }
                got = arrived;
            }
            begin = got.iter().copied().filter(|&at| at < i64::MAX).max().unwrap_or(begin) + COMPUTE_NS;
        }
        if self.hang.is_some() {
            // The capture goes on for a while.
            made.packet(
                begin + 1_000_000_000,
                (0, 1),
                Opcode::RC_ACKNOWLEDGE,
                (Ring::queue_pair(0, 0, true), 0),
                Vec::new(),
                0,
            );
        }
        made.frames.sort_by_key(|(time, _)| *time);
        made
    }
}

impl Made {
    fn packet(
        &mut self,
        time: i64,
        (src, dst): (usize, usize),
        opcode: Opcode,
        (queue_pair, psn): (u32, u32),
        headers: Vec<u8>,
        payload: usize,
    ) {
        let host = |rank: usize| Ipv4Addr::new(10, 0, 0, rank as u8 + 1);
        let bth = Bth::default().with_opcode(opcode).with_dest_qp(Qpn(queue_pair)).with_psn(Psn(psn));
        let bth = bth.with_ack_req(true);
        let mut packet = craft::Packet::rocev2(host(src), host(dst)).push(bth);
        let mut rest = &headers[..];
        for kind in opcode.chain() {
            let len = if *kind == Kind::Reth { 16 } else { 4 };
            let (header, more) = rest.split_at(len.min(rest.len()));
            packet = packet.push_bytes(*kind, if header.is_empty() { &[0; 4][..] } else { header });
            rest = more;
        }
        let mut bytes = rest.to_vec();
        bytes.resize(rest.len().max(payload), 0);
        self.frames.push((time, packet.payload(bytes).build().to_vec()));
    }

    fn next_psn(&mut self, src: usize, queue_pair: u32) -> u32 {
        let psn = self.psns.entry((src, queue_pair)).or_default();
        *psn += 1;
        *psn - 1
    }

    /// An element of a request, and its acknowledgement.
    fn cts(
        &mut self,
        ring: &Ring,
        (sender, receiver): (usize, usize),
        time: i64,
        index: u64,
        (address, rkey): (u64, u32),
    ) {
        let (to, back) =
            (Ring::queue_pair(sender, self.lane, false), Ring::queue_pair(sender, self.lane, true));
        let element = ring.element(index, address, rkey);
        let (slots, stride) = match ring.layout {
            CtsLayout::Sequence32 => (8, 32),
            CtsLayout::OneKey32 => (64, 32 * 8),
            _ => (256, element.len() as u64 * 8),
        };
        let va = 0x5600_0000_0000 + (index - 1) % slots * stride;
        let headers = [reth(va, 0x99, element.len() as u32), element].concat();
        let psn = self.next_psn(receiver, to);
        self.packet(time, (receiver, sender), Opcode::RC_WRITE_ONLY, (to, psn), headers, 0);
        self.packet(
            time + 2 * HALF_NS,
            (sender, receiver),
            Opcode::RC_ACKNOWLEDGE,
            (back, psn),
            Vec::new(),
            0,
        );
    }

    /// The data of a request, in parts on all queue pairs, and their acknowledgements. Returns when its last packet passed the tap.
    fn data(
        &mut self,
        ring: &Ring,
        ends: (usize, usize),
        (time, apart): (i64, i64),
        (address, rkey): (u64, u32),
    ) -> i64 {
        let part = ring.bytes.div_ceil(ring.queue_pairs).div_ceil(128) * 128;
        let (mut now, mut last) = (time, time);
        for at in 0..ring.queue_pairs {
            let from = (at * part).min(ring.bytes);
            let bytes = part.min(ring.bytes - from);
            let (to, back) = (
                Ring::queue_pair(ends.0, self.lane + at, true),
                Ring::queue_pair(ends.0, self.lane + at, false),
            );
            let packets = bytes.div_ceil(MTU).max(1);
            for n in 0..packets {
                let payload = MTU.min(bytes - n * MTU);
                let closes = n + 1 == packets && !ring.is_adaptive;
                let opcode = match (n == 0, n + 1 == packets, closes) {
                    (true, true, true) => Opcode::RC_WRITE_ONLY_WITH_IMMEDIATE,
                    (true, true, false) => Opcode::RC_WRITE_ONLY,
                    (true, false, _) => Opcode::RC_WRITE_FIRST,
                    (false, true, true) => Opcode::RC_WRITE_LAST_WITH_IMMEDIATE,
                    (false, true, false) => Opcode::RC_WRITE_LAST,
                    (false, false, _) => Opcode::RC_WRITE_MIDDLE,
                };
                let mut headers =
                    if n == 0 { reth(address + u64::from(from), rkey, bytes) } else { Vec::new() };
                headers.extend(closes.then(|| ring.immediate().to_be_bytes()).into_iter().flatten());
                let psn = self.next_psn(ends.0, to);
                self.packet(now, ends, opcode, (to, psn), headers, payload as usize);
                last = now;
                now += apart;
            }
            if ring.is_adaptive {
                let headers = [reth(0, 0, 0), ring.immediate().to_be_bytes().to_vec()].concat();
                let psn = self.next_psn(ends.0, to);
                self.packet(now, ends, Opcode::RC_WRITE_ONLY_WITH_IMMEDIATE, (to, psn), headers, 0);
                last = now;
                now += apart;
            }
            let psn = self.psns[&(ends.0, to)] - 1;
            self.packet(
                last + 2 * HALF_NS,
                (ends.1, ends.0),
                Opcode::RC_ACKNOWLEDGE,
                (back, psn),
                Vec::new(),
                0,
            );
        }
        last
    }

    fn report(&self) -> Collectives {
        let mut analysis = Analysis::new(Options { speed_bps: Some(100_000_000_000), ..Options::default() });
        for (time, frame) in &self.frames {
            let (time, wire_len) = (Time(*time), frame.len() as u32);
            analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
        }
        analysis.finish().head.collectives.expect("collectives")
    }
}

fn reth(va: u64, rkey: u32, len: u32) -> Vec<u8> {
    [&va.to_be_bytes()[..], &rkey.to_be_bytes(), &len.to_be_bytes()].concat()
}

/// What was found is what was made.
fn check(ring: &Ring) -> Collectives {
    let made = ring.make();
    let all = made.report();
    assert_eq!((all.connections.len(), all.topology), (ring.ranks, Topology::Ring));
    for one in &all.connections {
        assert_eq!(
            (one.recognized_by, one.layout, one.immediate_order),
            (RecognizedBy::Data, ring.layout, ring.order)
        );
        assert_eq!(one.queue_pairs.len(), ring.queue_pairs as usize);
    }
    let mut found: Vec<True> = Vec::new();
    for request in &all.requests {
        let sender =
            all.connections[request.connection].sender.rsplit('.').next().unwrap().parse::<usize>().unwrap()
                - 1;
        let data = request.first_data_ns.zip(request.last_data_ns);
        found.push(True { sender, index: request.index, cts: request.cts_ns.unwrap(), data });
        let bytes = if data.is_some() { u64::from(ring.bytes) } else { 0 };
        assert_eq!((request.bytes, request.is_complete), (bytes, Some(data.is_some())), "{request:?}");
        let time = &request.time;
        let late = time.receiver_late_ns.unwrap() + time.sender_late_ns.unwrap();
        assert_eq!(time.lasted_ns, late + time.network_ns);
        assert_eq!(time.network_ns, time.paused_ns + time.recovering_ns + time.transfer_ns);
        if let Some(line) = time.line_rate_ns {
            let rest = time.round_trip_ns.unwrap() + time.throttled_ns.unwrap() + time.queueing_ns.unwrap();
            assert_eq!(time.transfer_ns, line + rest, "{request:?}");
        }
    }
    let mut truth = made.truth;
    [&mut found, &mut truth].into_iter().for_each(|list| list.sort_by_key(|one| (one.sender, one.index)));
    assert_eq!(found, truth);
    all
}

const LAYOUTS: [CtsLayout; 5] = [
    CtsLayout::Sequence32,
    CtsLayout::OneKey32,
    CtsLayout::TwoKeys64,
    CtsLayout::FourKeys64,
    CtsLayout::Bytes48,
];

#[test]
fn every_layout_and_both_byte_orders_are_learned() {
    for layout in LAYOUTS {
        for order in [ImmediateOrder::Big, ImmediateOrder::Little] {
            for (queue_pairs, is_adaptive) in [(1, false), (4, false), (2, true)] {
                let all = check(&Ring { layout, order, queue_pairs, is_adaptive, ..Ring::default() });
                let operations = all.operations.expect("several connections");
                assert_eq!(operations.len(), 3);
                assert!(operations.iter().all(|one| one.straggler.is_none()), "{operations:?}");
            }
        }
    }
}

#[test]
fn the_late_rank_is_named() {
    for (rank, late) in [(0, 20_000), (1, 60_000), (2, 400_000), (3, 3_000_000)] {
        let ring = Ring { ranks: 4 + rank, late: Some((rank, 1, late)), ..Ring::default() };
        let operations = check(&ring).operations.expect("several connections");
        let named: Vec<_> = operations.iter().map(|one| one.straggler.clone()).collect();
        assert_eq!(named, [None, Some(format!("10.0.0.{}", rank + 1)), None], "{operations:?}");
        assert_eq!(operations[1].cause, Some(CollectiveCause::HostLate));
        let lost = operations[1].lost_ns.unwrap_or(0).abs_diff(late as u64);
        assert!(lost * 50 <= operations[1].lasted_ns, "{operations:?}");
    }
}

#[test]
fn the_slow_rank_is_named() {
    for rank in 0..4 {
        let ring = Ring { slow: Some((rank, 2, 10)), bytes: 65536, ..Ring::default() };
        let operations = check(&ring).operations.expect("several connections");
        let named: Vec<_> = operations.iter().map(|one| one.straggler.clone()).collect();
        assert_eq!(named, [None, None, Some(format!("10.0.0.{}", rank + 1))], "{operations:?}");
        assert_eq!(operations[2].cause, Some(CollectiveCause::Slow));
    }
}

#[test]
fn the_rank_that_a_collective_hangs_at_is_named() {
    for rank in 0..4 {
        let all = check(&Ring { hang: Some((rank, 2, 3)), ..Ring::default() });
        let hung = all.stragglers.iter().find(|one| one.cause == CollectiveCause::Hang).expect("it hangs");
        assert_eq!(hung.rank, format!("10.0.0.{}", rank + 1), "{:?}", all.stragglers);
    }
}

/// A host is ahead of its GPU: it asks for the first step of an operation as soon as the one before has ended.
#[test]
fn operations_are_told_apart_where_all_are_asked_before_they_begin() {
    let ahead = COMPUTE_NS - 20_000;
    for late in [None, Some((2, 2, 400_000))] {
        let ring = Ring { operations: 5, ahead, late, ..Ring::default() };
        let made = ring.make();
        let operations = made.report().operations.expect("several connections");
        let found: Vec<_> = operations.iter().map(|one| (one.requests, one.start_ns)).collect();
        let first = |operation: u64| {
            let is_its = |one: &&True| (one.index - 1) / 6 == operation;
            made.truth.iter().filter(is_its).filter_map(|one| Some(one.data?.0)).min().unwrap()
        };
        assert_eq!(
            found,
            (0..5).map(|operation| (24, first(operation))).collect::<Vec<_>>(),
            "{operations:?}"
        );
        for (at, one) in operations.iter().enumerate() {
            let is_late = late.is_some() && at == 2;
            assert_eq!(one.straggler.as_deref(), is_late.then_some("10.0.0.3"), "{one:?}");
            assert!(!is_late || one.lost_ns.is_some_and(|lost| lost.abs_diff(400_000) < 20_000), "{one:?}");
            assert!(one.lasted_ns < 500_000, "{one:?}");
        }
    }
}

/// A capture goes on as long as there are frames, whatever they carry. Where it ends with the last packet of an operation that has not ended, nobody knows
/// who is late.
#[test]
fn a_hang_is_proved_by_frames_of_any_kind() {
    for rank in 0..4 {
        let mut made = Ring { hang: Some((rank, 2, 3)), ..Ring::default() }.make();
        let arp = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &[0; 36]].concat();
        made.frames.last_mut().expect("frames").1 = arp;
        let hung = made.report().stragglers;
        assert!(hung.iter().any(|one| one.rank == format!("10.0.0.{}", rank + 1)), "{hung:?}");
        assert!(hung.iter().all(|one| one.cause == CollectiveCause::Hang), "{hung:?}");
        made.frames.pop();
        assert_eq!(made.report().stragglers, [], "of {rank}");
    }
}

/// An RPC over a ring of slots, whose answers have their size as immediate data: its slots are as long as elements, and what was captured of them shows that they are none.
#[test]
fn slots_that_hold_no_elements_ask_for_nothing() {
    for (captured, looks_like_elements) in [(1024, false), (128, false), (1024, true)] {
        let mut made = Made::default();
        for n in 0..100u32 {
            let time = BEGIN + i64::from(n) * 20_000;
            // Even where they look like those of NCCL: WRITEs of the other host were captured, and none goes where they say.
            let (call, slots, apart) = match looks_like_elements {
                false => ([u64::from(n) + 1, 16384, 2, 3, 4, 5, 6, 7], 32, 64),
                true => ([0x7d00_0000_0000, 16384, 9, 0, 1 | 7 << 32, u64::from(n) + 1, 0, 0], 256, 512),
            };
            let call = call.map(u64::to_le_bytes).concat();
            let headers = [reth(0x7f00_0000_0000 + u64::from(n % slots) * apart, 5, 64), call].concat();
            made.packet(time, (0, 1), Opcode::RC_WRITE_ONLY, (11, n), headers, 0);
            made.packet(time + 2000, (1, 0), Opcode::RC_ACKNOWLEDGE, (21, n), Vec::new(), 0);
            let size = 512u32.to_le_bytes().to_vec();
            let headers = [reth(0x7e00_0000_0000 + u64::from(n % 16) * 65536, 6, 512), size].concat();
            made.packet(time + 3000, (1, 0), Opcode::RC_WRITE_ONLY_WITH_IMMEDIATE, (21, n), headers, 512);
            made.packet(time + 5000, (0, 1), Opcode::RC_ACKNOWLEDGE, (11, n), Vec::new(), 0);
        }
        let mut analysis = Analysis::new(Options::default());
        for (time, frame) in &made.frames {
            let (time, wire_len) = (Time(*time), frame.len() as u32);
            let frame = &frame[..frame.len().min(captured)];
            analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
        }
        assert!(analysis.finish().head.collectives.is_none(), "{captured} {looks_like_elements}");
    }
}

/// Two connections that run the other way between the same two hosts, in step, and with the same PSNs: elements and data show whose acknowledgements are whose.
#[test]
fn acknowledgements_are_of_their_own_queue_pair_where_psns_are_alike() {
    let all = check(&Ring { ranks: 2, bytes: 1024, operations: 5, ..Ring::default() });
    assert_eq!(all.operations.as_ref().map(Vec::len), Some(5));
    for one in &all.requests {
        let took = one.acknowledged_ns.zip(one.last_data_ns).map(|(acknowledged, last)| acknowledged - last);
        assert!(took.is_some_and(|took| (0..=4 * HALF_NS).contains(&took)), "{one:?}");
    }
}

/// An exchange of all with all in rounds, each with one other host at a time: a host waits for what it sends and gets in the round before, though it is asked for all of them
/// at once. One rank is late for the second round of an operation.
fn rounds(late: Option<(usize, usize, i64)>) -> Made {
    const RANKS: usize = 4;
    const REQUESTS: u64 = 3;
    let ring = Ring { ranks: RANKS, ..Ring::default() };
    let (mut made, mut begin) = (Made::default(), BEGIN);
    for operation in 0..4 {
        let mut ready = [begin; RANKS];
        for round in 1..RANKS {
            made.lane = round as u32 - 1;
            for (rank, ready) in ready.iter_mut().enumerate() {
                let is_late =
                    round == 2 && late.is_some_and(|(who, when, _)| (who, when) == (rank, operation));
                *ready += late.filter(|_| is_late).map_or(0, |(.., by)| by);
            }
            let mut next = ready;
            for (sender, ready) in ready.into_iter().enumerate() {
                let receiver = (sender + round) % RANKS;
                let mut from = ready.max(begin + 2 * HALF_NS) + HALF_NS;
                for request in 0..REQUESTS {
                    let index = operation as u64 * REQUESTS + request + 1;
                    let rkey = 0x5000 + (sender * RANKS + receiver) as u32;
                    let address = 0x7f00_0000_0000 + (u64::from(rkey) << 32) + (index % 8) * 0x10_0000;
                    let cts = begin + HALF_NS + request as i64;
                    made.cts(&ring, (sender, receiver), cts, index, (address, rkey));
                    let last = made.data(&ring, (sender, receiver), (from, PACKET_NS), (address, rkey));
                    from = last + PACKET_NS;
                    for host in [sender, receiver] {
                        next[host] = next[host].max(last + HALF_NS + 500);
                    }
                }
            }
            ready = next;
        }
        begin = ready.into_iter().max().unwrap_or(begin) + COMPUTE_NS;
    }
    made.frames.sort_by_key(|(time, _)| *time);
    made
}

#[test]
fn who_is_late_for_a_round_is_named() {
    for rank in 0..4 {
        for late in [None, Some((rank, 2, 30_000))] {
            let all = rounds(late).report();
            assert_eq!((all.connections.len(), all.topology), (12, Topology::AllToAll));
            let operations = all.operations.expect("several connections");
            let named: Vec<_> = operations.iter().map(|one| one.straggler.clone()).collect();
            let name = late.map(|(rank, ..)| format!("10.0.0.{}", rank + 1));
            assert_eq!(named, [None, None, name, None], "{operations:?}");
        }
    }
}

/// In an all to all, pairs of hosts have more to say to each other in one operation than in the next. One that stops halfway ends none: behind its wait comes only
/// what it has left.
#[test]
fn operations_of_unlike_sizes_are_told_apart_where_all_are_asked_before_they_begin() {
    const RANKS: usize = 4;
    const STALL_NS: i64 = 300_000;
    for stalled in [None, Some(2)] {
        let ring = Ring { ranks: RANKS, ..Ring::default() };
        let (mut made, mut begin, mut done) = (Made::default(), BEGIN, [BEGIN - COMPUTE_NS; RANKS]);
        let mut index = [[0u64; RANKS]; RANKS];
        let mut truth = Vec::new();
        for operation in 0..5 {
            let (asked, mut requests, mut until) = (done, 0, begin);
            for (sender, receiver) in (0..RANKS * RANKS).map(|at| (at / RANKS, at % RANKS)) {
                if sender == receiver {
                    continue;
                }
                made.lane = ((receiver + RANKS - sender) % RANKS - 1) as u32;
                for n in 0..2 + (sender + 2 * receiver + operation) as i64 % 3 {
                    let is_held = stalled == Some(sender) && operation == 1 && n > 0;
                    let at = begin + n * 20_000 + if is_held { STALL_NS } else { 0 };
                    index[sender][receiver] += 1;
                    let of = index[sender][receiver];
                    let place = (
                        0x7f00_0000_0000
                            + ((receiver as u64) << 36)
                            + ((sender as u64) << 32)
                            + of % 8 * 0x10_0000,
                        0x5000 + (sender * RANKS + receiver) as u32,
                    );
                    made.cts(&ring, (sender, receiver), asked[receiver] + 20_000 + n * 500, of, place);
                    let last = made.data(&ring, (sender, receiver), (at, PACKET_NS), place);
                    for host in [sender, receiver] {
                        done[host] = done[host].max(last + 3 * HALF_NS);
                    }
                    (requests, until) = (requests + 1, until.max(last));
                }
            }
            truth.push((requests, begin));
            begin = until + COMPUTE_NS;
        }
        made.frames.sort_by_key(|(time, _)| *time);
        let operations = made.report().operations.expect("several connections");
        let found: Vec<_> = operations.iter().map(|one| (one.requests, one.start_ns)).collect();
        assert_eq!(found, truth, "{stalled:?} {operations:?}");
    }
}
