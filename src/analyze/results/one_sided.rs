//! One-sided traffic: flows that move data with no messages above them, and the rails that they take.

use std::collections::{BTreeMap, BTreeSet};

use super::lists::Index;
use crate::{
    analyze::{
        metric::one_sided::{Noted, OneSided},
        packet::{glimpse::has_immediate, key::Wide},
        table::flow::Flow,
    },
    in_order::InOrder,
    opcode::{Opcode, Operation, Service},
    report::{self, Head, OneSidedQueuePair, OneSidedRail, Reason, Why},
};

/// Queue pairs that are listed.
const MOST: usize = 1024;
/// Rails that are compared with each other, at most.
const MOST_COMPARED: usize = 512;
/// Operations that a queue pair must have had.
const ENOUGH: u64 = 16;
/// Who moves data does so in operations of so many bytes, in the mean.
const BULK: u64 = 1024;
/// A message tells of the end of many operations; commands of storage are of fewer.
const PER_MESSAGE: u64 = 128;
/// Immediate data tells of the end of so many WRITEs at least: with more of it, it is a protocol of requests, as NCCL's.
const PER_IMMEDIATE: u64 = 8;
/// A rail with this part of the bytes of another one of its hosts is idle: a hundredth.
const IDLE: u64 = 100;

/// Two addresses: who reads and writes, and whose memory it is.
type Ends = (Wide, Wide);

/// A flow's requests by kind.
#[derive(Clone, Copy, Debug, Default)]
struct Kinds {
    sends: u64,
    writes: u64,
    immediates: u64,
    reads: u64,
    atomics: u64,
}

/// A queue pair, and what its bytes are all together.
struct Row {
    ends: Ends,
    bytes: u64,
    row: OneSidedQueuePair,
}

/// The section; `None` where there is no such traffic. `head` has the sections that tell other traffic.
pub(super) fn section(noted: &OneSided, index: &Index<'_>, head: &Head) -> Option<report::OneSided> {
    if !noted.has_moving() {
        return None;
    }
    let known = of_collectives(head);
    let mut rows: Vec<Row> = index
        .in_memory()
        .filter_map(|(at, flow)| row(index, (at, flow), (noted.moving(&flow.key)?, noted.has_all()), &known))
        .collect();
    if rows.is_empty() {
        return None;
    }
    rows.order_by_key(|one| (std::cmp::Reverse(one.bytes), one.row.flow));
    let (mut rails, place) = rails(&rows);
    add_idle(&mut rails, index);
    let (groups, totals) = groups(&rails);
    for (at, (rail, group)) in rails.iter_mut().zip(groups).enumerate() {
        (rail.row.rail, rail.row.rail_group) = (at, group);
        let total = group.and_then(|group| totals.get(&group)).copied().unwrap_or(0);
        rail.row.share_ratio = (total > 0).then(|| rail.bytes as f64 / total as f64);
    }
    let not_listed = rows.len().saturating_sub(MOST) as u64;
    let listed = rows.into_iter().take(MOST).map(|mut one| {
        one.row.rail = place.get(&one.ends).copied().unwrap_or(0);
        let all = rails.get(one.row.rail).map_or(0, |rail| rail.bytes);
        one.row.rail_ratio = one.bytes as f64 / all.max(1) as f64;
        one.row
    });
    let queue_pairs = listed.collect();
    Some(report::OneSided {
        queue_pairs,
        not_listed,
        rails: rails.into_iter().map(|rail| rail.row).collect(),
        ..report::OneSided::default()
    })
}

/// Queue pairs of collectives, by their addresses.
fn of_collectives(head: &Head) -> BTreeSet<(&str, u32)> {
    let mut known = BTreeSet::new();
    for one in head.collectives.iter().flat_map(|all| &all.connections) {
        known.extend(one.queue_pairs.iter().map(|&qp| (one.receiver.as_str(), qp)));
        known.extend(one.cts_queue_pairs.iter().map(|&qp| (one.sender.as_str(), qp)));
    }
    known
}

/// The row of a flow, if its traffic is one-sided.
fn row(
    index: &Index<'_>,
    (at, flow): (usize, &Flow),
    (noted, has_all): (&Noted, bool),
    known: &BTreeSet<(&str, u32)>,
) -> Option<Row> {
    let back = index.opposite(at);
    let kinds = Kinds::of(flow);
    let sends = kinds.sends + back.map_or(0, |back| Kinds::of(back).sends);
    let moves = kinds.reads + kinds.writes;
    let is_request = kinds.immediates.saturating_mul(PER_IMMEDIATE) > moves;
    if flow.service != Service::Rc
        || moves < ENOUGH
        || sends.saturating_mul(PER_MESSAGE) > moves
        || is_request
    {
        return None;
    }
    let flow_row = index.report(at);
    let moved = flow_row.messages.size_bytes?.sum;
    // Atomics count with no bytes.
    let is_bulk = moved >= flow_row.messages.completed.saturating_sub(kinds.atomics).saturating_mul(BULK);
    let is_known = known.contains(&(flow_row.dst.as_str(), flow_row.dest_qp));
    if !is_bulk || is_known || flow_row.application.is_some() {
        return None;
    }
    let mut why = Why::new();
    let read_bytes = back.map(|back| back.responses.read.goodput).filter(|_| kinds.reads > 0);
    let read_bytes = if kinds.reads == 0 { Some(0) } else { read_bytes };
    if read_bytes.is_none() {
        why.insert("read_bytes".into(), Reason::Unpaired);
    }
    let completion_ns = flow_row.latency_ns.message_completion;
    // Until the last one was complete.
    let last = back.map_or(flow_row.last_ns, |back| back.last_time.max(flow_row.last_ns));
    let lasted = last.saturating_sub(flow_row.first_ns).max(0) as u64;
    // Those that were not measured took as long.
    let mean = completion_ns.map(|took| took.sum as f64 / took.count.max(1) as f64);
    let outstanding = mean.filter(|_| lasted > 0);
    let outstanding = outstanding.map(|mean| mean * flow_row.messages.completed as f64 / lasted as f64);
    if completion_ns.is_none() {
        let reason = flow_row.why.get("latency_ns").copied().unwrap_or(Reason::TooFew);
        why.insert("completion_ns".into(), reason);
        why.insert("outstanding".into(), reason);
    }
    let size_bytes = match kinds.atomics {
        0 => flow_row.messages.size_bytes,
        atomics => flow.requests.sizes.summary_above_zero(atomics),
    };
    if size_bytes.is_none() {
        why.insert("size_bytes".into(), Reason::MemoryLimit);
    }
    // Of a WRITE that was recorded twice, each record was noted.
    let small_writes = match (has_all, Kinds::all(flow).writes) {
        (false, _) => Err(Reason::MemoryLimit),
        (true, all) if all == kinds.writes => Ok(noted.small()),
        (true, all) if all == 2 * kinds.writes => Ok(noted.small() / 2),
        _ if noted.small() == 0 => Ok(0),
        _ => Err(Reason::RecordedTwice),
    };
    if let Err(reason) = small_writes {
        why.insert("small_writes".into(), reason);
    }
    let written_bytes = flow.requests.goodput;
    Some(Row {
        ends: (flow.key.src, flow.key.dst),
        bytes: read_bytes
            .unwrap_or_else(|| moved.saturating_sub(written_bytes))
            .saturating_add(written_bytes),
        row: OneSidedQueuePair {
            flow: at,
            src: flow_row.src,
            dst: flow_row.dst,
            dest_qp: flow_row.dest_qp,
            operations: flow_row.messages.completed,
            reads: kinds.reads,
            writes: kinds.writes,
            read_bytes,
            written_bytes,
            size_bytes,
            completion_ns,
            outstanding,
            atomics: kinds.atomics,
            immediates: kinds.immediates,
            small_writes: small_writes.ok(),
            resent_packets: flow_row.requests.retransmits,
            why,
            ..OneSidedQueuePair::default()
        },
    })
}

impl Kinds {
    /// Without what was recorded before.
    fn of(flow: &Flow) -> Kinds {
        let (all, copied) = (Kinds::all(flow), Kinds::counted(flow.signals().copied.iter()));
        Kinds {
            sends: all.sends.saturating_sub(copied.sends),
            writes: all.writes.saturating_sub(copied.writes),
            immediates: all.immediates.saturating_sub(copied.immediates),
            reads: all.reads.saturating_sub(copied.reads),
            atomics: all.atomics.saturating_sub(copied.atomics),
        }
    }

    fn all(flow: &Flow) -> Kinds {
        Kinds::counted(flow.opcodes.iter())
    }

    fn counted(opcodes: impl Iterator<Item = (u8, u64)>) -> Kinds {
        let mut kinds = Kinds::default();
        for (code, n) in opcodes {
            let opcode = Opcode::ib(code);
            let ends = if opcode.shape().ends { n } else { 0 };
            match opcode.operation() {
                Some(Operation::Send) => kinds.sends += ends,
                Some(Operation::Write) => {
                    kinds.writes += ends;
                    kinds.immediates += if has_immediate(opcode) { n } else { 0 };
                }
                Some(Operation::ReadRequest) => kinds.reads += n,
                Some(Operation::CompareSwap | Operation::FetchAdd) => kinds.atomics += n,
                _ => {}
            }
        }
        kinds
    }
}

/// A rail, and its bytes.
struct Rail {
    ends: Ends,
    bytes: u64,
    row: OneSidedRail,
}

/// The rails of these queue pairs, in their order, and the place of each.
fn rails(rows: &[Row]) -> (Vec<Rail>, BTreeMap<Ends, usize>) {
    let (mut rails, mut place): (Vec<Rail>, BTreeMap<Ends, usize>) = (Vec::new(), BTreeMap::new());
    for one in rows {
        let at = *place.entry(one.ends).or_insert_with(|| {
            let (src, dst) = (one.row.src.clone(), one.row.dst.clone());
            let row = OneSidedRail { src, dst, ..OneSidedRail::default() };
            rails.push(Rail { ends: one.ends, bytes: 0, row });
            rails.len() - 1
        });
        let rail = &mut rails[at];
        rail.bytes = rail.bytes.saturating_add(one.bytes);
        rail.row.queue_pairs += 1;
        rail.row.operations += one.row.operations;
        let written = one.row.written_bytes;
        rail.row.written_bytes = rail.row.written_bytes.saturating_add(written);
        rail.row.read_bytes = rail.row.read_bytes.saturating_add(one.bytes.saturating_sub(written));
    }
    (rails, place)
}

/// Adds the rails of the same hosts that carry nearly nothing, and are connected.
fn add_idle(rails: &mut Vec<Rail>, index: &Index<'_>) {
    let used = rails.len();
    if used > MOST_COMPARED {
        return;
    }
    let mut others: BTreeMap<Ends, (u64, u64, usize)> = BTreeMap::new();
    for (at, flow) in index.in_memory().filter(|(_, flow)| flow.service == Service::Rc) {
        let ends = (flow.key.src, flow.key.dst);
        if rails[..used].iter().any(|rail| is_sibling(rail.ends, ends)) {
            let back = index.opposite(at).map_or(0, |back| back.payload_bytes);
            let (queue_pairs, bytes, _) = others.entry(ends).or_insert((0, 0, at));
            *queue_pairs += 1;
            *bytes = bytes.saturating_add(flow.payload_bytes).saturating_add(back);
        }
    }
    for (ends, (queue_pairs, bytes, at)) in others {
        let is_used = rails[..used].iter().any(|rail| rail.ends == ends || rail.ends == (ends.1, ends.0));
        let mut beside = rails[..used].iter().filter(|rail| is_sibling(rail.ends, ends));
        if is_used || !beside.all(|rail| bytes.saturating_mul(IDLE) < rail.bytes) {
            continue;
        }
        let flow = index.flow(at);
        let (src, dst) = (flow.key.source().to_string(), flow.key.destination().to_string());
        let row = OneSidedRail { src, dst, queue_pairs, ..OneSidedRail::default() };
        rails.push(Rail { ends, bytes: 0, row });
    }
}

/// The group of each rail, and the bytes of each group.
fn groups(rails: &[Rail]) -> (Vec<Option<u64>>, BTreeMap<u64, u64>) {
    let (mut groups, mut totals) = (vec![None; rails.len()], BTreeMap::new());
    let mut next = 0;
    for at in 0..rails.len().min(MOST_COMPARED) {
        let before = (0..at).find(|&before| is_sibling(rails[before].ends, rails[at].ends));
        let Some(before) = before else { continue };
        if groups[before].is_none() {
            groups[before] = Some(next);
            totals.insert(next, rails[before].bytes);
            next += 1;
        }
        groups[at] = groups[before];
        if let Some(total) = groups[at].and_then(|group| totals.get_mut(&group)) {
            *total = u64::saturating_add(*total, rails[at].bytes);
        }
    }
    (groups, totals)
}

/// Whether two pairs of addresses are rails between the same hosts: both ends differ in the same bits, and in other bytes than the hosts.
fn is_sibling(one: Ends, other: Ends) -> bool {
    let differ = |a: Wide, b: Wide| [a[0] ^ b[0], a[1] ^ b[1]];
    let rail = differ(one.0, other.0);
    rail != [0, 0]
        && rail == differ(one.1, other.1)
        && rail.iter().zip(differ(one.0, one.1)).all(|(&rail, host)| {
            rail.to_be_bytes().iter().zip(host.to_be_bytes()).all(|(&rail, host)| rail == 0 || host == 0)
        })
}
