//! Classes by pair of hosts, as the report has them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use super::{
    Context, Traffic,
    pairs::{Counts, Place},
    ratio,
};
use crate::{
    analyze::{
        model::FlowId,
        packet::{key::Key, path_tag},
    },
    report::{self, PairClass, Reason, TrafficKind},
};

/// Rows that are listed.
const MAX_LISTED: usize = 4096;

/// What other metrics know of flows.
pub(crate) struct Known<'a> {
    /// Flows of clear-to-send elements.
    pub(crate) clear_to_send: HashSet<Key>,
    /// For how long pauses stopped a flow; or why that is not known.
    pub(crate) stopped_ns: Result<&'a dyn Fn(FlowId) -> u64, Reason>,
}

/// Two hosts, a kind of traffic, a class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    key: Key,
    kind: TrafficKind,
    class: u8,
}

#[derive(Default)]
struct Sums {
    counts: Counts,
    queue_pairs: BTreeSet<u32>,
    /// Some are not told apart by queue pair.
    is_of_hosts: bool,
    lost: Option<report::Bounds>,
    /// Some flow of it has no such figure.
    is_one_way: bool,
    /// A flow of it has data in several classes.
    has_several: bool,
    stopped_ns: u64,
}

impl Traffic {
    /// Rows, those of the pairs with most bytes first, and how many there are.
    pub(crate) fn by_pair(&self, context: &Context<'_>, known: &Known<'_>) -> (Vec<PairClass>, u64) {
        let of_answers = self.answers(context, &known.clear_to_send);
        let group = |place: &Place| {
            let kind = match place.kind() {
                TrafficKind::Data if known.clear_to_send.contains(&place.key) => TrafficKind::ClearToSend,
                TrafficKind::Ack if of_answers.contains(&place.key) => TrafficKind::ClearToSendAck,
                kind => kind,
            };
            Group { key: place.key.with_queue_pair(0), kind, class: place.class }
        };
        let rows = self.pairs.rows();
        let mut numbers: BTreeMap<Group, usize> = BTreeMap::new();
        let mut groups: Vec<(Group, Sums)> = Vec::new();
        // A row's group: flows are many more than rows.
        let mut of_row = Vec::with_capacity(rows.len());
        // Of equal pairs, and of equal rows of one, those come first that were seen first: addresses say nothing.
        let mut first: HashMap<Key, usize> = HashMap::new();
        for (at, (place, counts)) in rows.iter().enumerate() {
            first.entry(place.key.with_queue_pair(0)).or_insert(at);
            let group = group(place);
            let number = *numbers.entry(group).or_insert(groups.len());
            if number == groups.len() {
                groups.push((group, Sums::default()));
            }
            of_row.push(number);
            let sums = &mut groups[number].1;
            sums.counts.add(counts);
            match place.queue_pair() {
                Some(qp) => _ = sums.queue_pairs.insert(qp),
                None => sums.is_of_hosts = true,
            }
        }
        // What a flow lost in several classes is of none of them.
        let mut several: HashSet<Key> = HashSet::new();
        for (id, flow) in self.flows.iter() {
            let Some(row) = self.pairs.of_losses(flow) else { continue };
            if flow.has_several {
                several.insert(rows[row].0.key);
                continue;
            }
            let sums = &mut groups[of_row[row]].1;
            match context.lost(id) {
                Some([least, most]) => {
                    let lost = sums.lost.get_or_insert([0, 0]);
                    *lost = [lost[0].saturating_add(least), lost[1].saturating_add(most)];
                }
                None => sums.is_one_way = true,
            }
            if let Ok(stopped_ns) = known.stopped_ns {
                sums.stopped_ns = sums.stopped_ns.max(stopped_ns(id));
            }
        }
        for ((place, _), &number) in rows.iter().zip(&of_row) {
            groups[number].1.has_several |= several.contains(&place.key);
        }
        let usual = usual(&groups);
        let mut bytes: BTreeMap<Key, u64> = BTreeMap::new();
        for (group, sums) in &groups {
            *bytes.entry(group.key).or_default() += sums.counts.bytes;
        }
        let mut order: Vec<&(Group, Sums)> = groups.iter().collect();
        order.sort_by_cached_key(|(group, sums)| {
            let pair = (Reverse(bytes[&group.key]), first.get(&group.key));
            (pair, group.kind, Reverse(sums.counts.bytes), group.class)
        });
        let all = order.len() as u64;
        let rows = order.into_iter().take(MAX_LISTED).map(|(group, sums)| {
            let tag = self.classes.get(usize::from(group.class)).map_or(0, |class| class.tag);
            // Management of subnets has its own lane by the standard: nothing is usual there.
            let is_of_subnet = path_tag::lanes(tag).is_some_and(|(_, vl)| vl == MANAGEMENT_VL);
            let usual = usual.get(&group.kind).filter(|_| !is_of_subnet);
            row(group, sums, tag, usual.map(|&class| class == group.class), known)
        });
        (rows.collect(), all)
    }

    /// Flows opposite to these.
    fn answers(&self, context: &Context<'_>, to: &HashSet<Key>) -> HashSet<Key> {
        if to.is_empty() {
            return HashSet::new();
        }
        let key = |flow: &super::OfFlow| self.pairs.key(flow);
        let answers = self.flows.iter().filter_map(|(id, flow)| {
            let peer = self.flows.get(context.flow(id)?.peer?)?;
            key(flow).filter(|_| key(peer).is_some_and(|peer| to.contains(&peer)))
        });
        answers.collect()
    }

    /// Whether there are packets on the lane of subnet management.
    pub(crate) fn has_subnet_management(&self) -> bool {
        let lanes = self.classes.iter().filter_map(|class| path_tag::lanes(class.tag));
        lanes.into_iter().any(|(_, vl)| vl == MANAGEMENT_VL)
    }

    /// Packets of pairs that are in no row.
    pub(crate) fn not_by_pair(&self) -> u64 {
        self.pairs.not_listed()
    }
}

/// The virtual lane of packets to queue pair 0.
const MANAGEMENT_VL: u8 = 15;

/// The class of most queue pairs of a kind, where more than half are in one.
fn usual(groups: &[(Group, Sums)]) -> BTreeMap<TrafficKind, u8> {
    let mut votes: BTreeMap<TrafficKind, BTreeMap<u8, usize>> = BTreeMap::new();
    for (group, sums) in groups {
        *votes.entry(group.kind).or_default().entry(group.class).or_default() += sums.queue_pairs.len();
    }
    let most = |votes: BTreeMap<u8, usize>| {
        let all: usize = votes.values().sum();
        votes.into_iter().find(|&(_, n)| 2 * n > all).map(|(class, _)| class)
    };
    votes.into_iter().filter_map(|(kind, votes)| Some((kind, most(votes)?))).collect()
}

fn row(group: &Group, sums: &Sums, tag: u64, is_usual: Option<bool>, known: &Known<'_>) -> PairClass {
    let counts = &sums.counts;
    let lanes = path_tag::lanes(tag);
    // Losses and pauses are known of what has PSNs of its own.
    let is_followed =
        matches!(group.kind, TrafficKind::Data | TrafficKind::ClearToSend | TrafficKind::Request);
    let is_whole = !counts.is_partial && !sums.is_of_hosts && !sums.has_several;
    let lost = sums.lost.filter(|_| is_followed && is_whole && !sums.is_one_way);
    let paused_ns =
        known.stopped_ns.as_ref().ok().filter(|_| is_followed && is_whole).map(|_| sums.stopped_ns);
    let unknown = match is_whole {
        true => None,
        false if sums.has_several => Some(Reason::SeveralClasses),
        false => Some(Reason::MemoryLimit),
    };
    let missing = [
        ("lost", is_followed && lost.is_none(), unknown.unwrap_or(Reason::OneWay)),
        (
            "paused_ns",
            is_followed && paused_ns.is_none(),
            known.stopped_ns.as_ref().err().copied().or(unknown).unwrap_or(Reason::OneWay),
        ),
        ("queue_pairs", sums.is_of_hosts, Reason::MemoryLimit),
    ];
    let missing = missing.into_iter().filter(|&(_, is_missing, _)| is_missing);
    PairClass {
        src: group.key.source().to_string(),
        dst: group.key.destination().to_string(),
        vni: group.key.vni(),
        kind: group.kind,
        dscp: path_tag::dscp(tag),
        pcp: path_tag::pcp(tag),
        sl: lanes.map(|(sl, _)| sl),
        vl: lanes.map(|(_, vl)| vl),
        usual: is_usual,
        queue_pairs: (!sums.is_of_hosts).then_some(sums.queue_pairs.len() as u64),
        packets: counts.packets,
        wire_bytes: counts.bytes,
        ect_packets: counts.ect,
        ce_packets: counts.ce,
        ce_ratio: ratio(counts.ce, counts.ect),
        retransmits: counts.retransmits,
        naks: counts.naks,
        lost,
        paused_ns,
        why: missing.map(|(field, _, reason)| (field.into(), reason)).collect(),
    }
}
