//! From what was noted of flows to rows of the report: whose CNPs they are, what caused each, and what the sender did.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
};

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use super::{
    Congestion, Limit, NEAR_NAK_NS, SeenWays,
    distance::{Cnp, Usual},
    flows::{Event, Happened, Marks, Noted, Reaction},
    replay::{self, Replay},
};
use crate::{
    analyze::{
        metric::{Context, ends::Ends, incast::Judged},
        model::Address,
        packet::path_tag,
        track::distribution::exact_summary,
    },
    in_order::InOrder,
    report::{self, MarkedFlow, Pacing, Reason},
};

/// Rows that are listed.
const MAX_LISTED: usize = 1024;
/// The longest time from a mark to the CNP for it. Round trips are far below.
pub(super) const LONGEST_NS: i64 = 1_000_000;
/// From so many CNPs on, a sender that keeps its rate is said to ignore them.
const MANY_CNPS: u64 = 16;
/// Rates that are at least so near to each other are the same; those of a sender that reacts are not.
const SAME: f64 = 0.95;
const LOWER: f64 = 0.9;
/// A sender that is faster by so much has another reason to be.
const FASTER: f64 = 1.1;
/// What is below such a part of a rate shows, however uneven it is.
const CLEARLY: f64 = 2.0 / 3.0;
/// No share of a bottleneck is so small a part of what a sender had before, where few share it.
const FAR_LOWER: f64 = 1.0 / 16.0;
/// Of a link that is full all the time, the sums of its flows' rates are no farther apart.
const FULL: f64 = 0.95;

/// One flow of data, with the CNPs for it.
#[derive(Debug, Default)]
struct Row {
    data: Option<usize>,
    back: Vec<usize>,
    cnps: Vec<i64>,
    /// By CNP, from when on its limit let the receiver send it, where there is a limit.
    due: Vec<Option<i64>>,
    /// By CNP, whether a NAK is near.
    are_near_nak: Vec<bool>,
    gaps: Vec<u64>,
    marks: Vec<i64>,
    expected: u64,
    by_mark: u64,
    by_loss: u64,
    unmarked: u64,
    latencies: Vec<u64>,
}

/// Fills what needs the whole capture: rows of flows, and their sums.
pub(super) fn fill(
    metric: &Congestion,
    (context, incast, seen): (&Context<'_>, &Judged, &SeenWays),
    report: &mut report::Congestion,
) {
    let marks = &metric.flows;
    // NAKs alone have no rows.
    let is_marked = report.ce_packets + report.cnps > 0;
    let Grouped { mut rows, of, unattributed } =
        if is_marked { group(marks, context) } else { Grouped::default() };
    let limit = metric.pacing();
    if let Some(events) = marks.events().filter(|_| is_marked) {
        let near = metric.cnps_near_nak;
        // Where nearly all come with NAKs, that is no chance, however many there are.
        let are_all_near = near > 0 && near * 10 >= report.cnps * 9;
        let is_for_losses = are_all_near
            || near * 2 >= count(events, Happened::Nak).max(1)
                && near as f64 > MORE_THAN_CHANCE * near_by_chance(events, marks.noted());
        judge(events, marks, &of, &mut rows, limit, is_for_losses);
        // Congestion brings marks and losses at the same time: of those near a NAK, marks may explain most.
        let for_losses: u64 = rows.iter().map(|row| row.by_loss).sum();
        if is_for_losses && !are_all_near && for_losses * 2 < count(events, Happened::Nak) {
            rows.iter_mut().for_each(Row::forget);
            judge(events, marks, &of, &mut rows, limit, false);
        }
    }
    let reactions = if is_marked { marks.reactions() } else { Vec::new() };
    let is_whole = marks.events().is_some();
    let expects = is_whole && limit.is_some() && metric.cnps > 0;
    let noted = marks.noted();
    let mut maker = Maker {
        marks,
        context,
        incast,
        seen,
        reactions: &reactions,
        expects,
        is_whole,
        unattributed,
        full_by_rate: HashSet::default(),
    };
    maker.compare_rates(&rows);
    // Of flows of which both directions were captured, or that of the data: of others, nobody knows what is missing.
    let of_seen = |of: fn(&Row) -> u64, is_seen: &dyn Fn(&Row) -> bool| {
        let mut noted = rows.iter().filter(|row| !(row.cnps.is_empty() && row.marks.is_empty())).peekable();
        let is_any = noted.peek().is_none() || noted.any(is_seen);
        is_any.then(|| rows.iter().filter(|row| is_seen(row)).map(of).sum::<u64>())
    };
    let is_answered = |row: &Row| maker.data_is_seen(row) && maker.cnps_are_seen(row);
    let why_not = if is_whole { Reason::TooFew } else { Reason::MemoryLimit };
    let known = |is_known: bool, value: Option<u64>| match is_known {
        true => value.ok_or(Reason::OneWay),
        false => Err(why_not),
    };
    let expected = known(expects, of_seen(|row| row.expected, &is_answered));
    let unmarked = known(is_whole, of_seen(|row| row.unmarked, &|row| maker.data_is_seen(row)));
    let for_losses = known(is_whole, Some(rows.iter().map(|row| row.by_loss).sum()));
    report.cnps_unattributed = maker.unattributed.values().sum();
    let without_ce = metric.cnps_without_ce(|sender| seen.senders.contains(sender));
    let is_any = metric.cnps == metric.cnps_of_unknown_senders
        || metric.senders.iter().any(|(sender, of)| of.cnps > 0 && seen.senders.contains(sender));
    let without_ce = is_any.then_some(without_ce).ok_or(Reason::OneWay);
    let one_way = |row: &Row| !maker.cnps_are_seen(row);
    report.ce_packets_one_way =
        rows.iter().filter(|row| one_way(row)).filter_map(|row| Some(noted[row.data?].marks)).sum();
    let fields = [
        ("expected_cnps", expected, &mut report.expected_cnps),
        ("cnps_for_losses", for_losses, &mut report.cnps_for_losses),
        ("cnps_unmarked", unmarked, &mut report.cnps_unmarked),
        ("cnps_without_ce", without_ce, &mut report.cnps_without_ce),
    ];
    for (field, value, place) in fields {
        *place = value.ok();
        if let Err(why) = value
            && (is_marked || !is_whole)
        {
            report.why.insert(field.into(), why);
        }
    }
    let of_row = |row: &Row| {
        let marks = row.data.map_or(0, |at| noted[at].marks);
        let cnps: u64 = row.back.iter().map(|&at| noted[at].cnps).sum();
        (cnps, marks)
    };
    let mut order: Vec<&Row> = rows.iter().filter(|row| of_row(row) != (0, 0)).collect();
    order.order_by_key(|row| std::cmp::Reverse(of_row(row)));
    report.flow_count = order.len() as u64;
    report.flows = order.iter().take(MAX_LISTED).map(|row| maker.row(row)).collect();
    for (nth, (flow, row)) in
        report.flows.iter_mut().zip(order).enumerate().filter(|(_, (flow, _))| flow.cnps > 0)
    {
        let replay = match nth < replay::MAX_FLOWS && is_whole {
            _ if maker.is_behind_bottleneck(row) => Err(Reason::BehindBottleneck),
            true => maker.replay(row, flow.rate_before_bps).and_then(|replay| replay.run()),
            false => Err(Reason::MemoryLimit),
        };
        match replay {
            Ok(replay) => flow.dcqcn = Some(replay),
            Err(reason) => _ = flow.why.insert("dcqcn".into(), reason),
        }
    }
}

/// CNPs that are beside NAKs by chance are at most a part of those that are.
const MORE_THAN_CHANCE: f64 = 4.0;

/// How many CNPs would be beside a NAK of their pair of addresses if neither had to do with the other.
fn near_by_chance(events: &[Event], noted: &[Noted]) -> f64 {
    let (Some(first), Some(last)) = (events.first(), events.last()) else { return 0.0 };
    let span = last.time.saturating_sub(first.time).max(1) as f64;
    let mut pairs = HashMap::<Ends, [u64; 2], RandomState>::default();
    for event in events.iter().filter(|event| event.what != Happened::Mark) {
        let pair = pairs.entry(noted[event.noted as usize].ends).or_default();
        pair[usize::from(event.what == Happened::Nak)] += 1;
    }
    let near =
        |[cnps, naks]: [u64; 2]| cnps as f64 * (naks as f64 * 2.0 * NEAR_NAK_NS as f64 / span).min(1.0);
    pairs.into_values().map(near).sum()
}

fn count(events: &[Event], what: Happened) -> u64 {
    events.iter().filter(|event| event.what == what).count() as u64
}

/// Rows, and which of them are for whom.
#[derive(Default)]
struct Grouped {
    rows: Vec<Row>,
    /// The rows of each noted flow: of its own data, and of the data that its CNPs slow.
    of: Vec<[usize; 2]>,
    /// CNPs of which it is not known whose data they slow, by the ends of that data.
    unattributed: HashMap<Ends, u64, RandomState>,
}

fn group(marks: &Marks, context: &Context<'_>) -> Grouped {
    let noted = marks.noted();
    let mut all = Grouped::default();
    for at in 0..noted.len() {
        all.of.push([all.rows.len(); 2]);
        all.rows.push(Row { data: Some(at), ..Row::default() });
    }
    let slowed = |at: usize, back: &Noted| {
        let opposite = || marks.find(context.flow(back.flow?)?.peer?);
        back.slows.map(|at| at as usize).or_else(opposite).filter(|&slowed| slowed != at)
    };
    let slowed: Vec<Option<usize>> = noted.iter().enumerate().map(|(at, back)| slowed(at, back)).collect();
    let mut is_slowed = vec![false; noted.len()];
    for &at in slowed.iter().flatten() {
        is_slowed[at] = true;
    }
    // Without an acknowledgement nothing shows which flow of two hosts a CNP is for, unless there is one only.
    let is_known = |at: usize| {
        let known = noted[at].flow.and_then(|flow| context.flow(flow));
        slowed[at].is_some() || is_slowed[at] || known.is_some_and(|flow| flow.peer.is_some())
    };
    let mut alone = HashMap::<Ends, [Alone; 2], RandomState>::default();
    for (at, one) in noted.iter().enumerate().filter(|&(at, _)| !is_known(at)) {
        let [capable, incapable] = marks.data_packets(at);
        let back = Ends { src: one.ends.dst, dst: one.ends.src };
        match (one.cnps > 0, capable + incapable > 0) {
            (true, _) => alone.entry(back).or_default()[0].add(at),
            (false, true) => alone.entry(one.ends).or_default()[1].add(at),
            (false, false) => {}
        }
    }
    for (at, back) in noted.iter().enumerate() {
        let ends = Ends { src: back.ends.dst, dst: back.ends.src };
        let only = || match alone.get(&ends)? {
            [Alone::One(cnps), Alone::One(data)] if *cnps == at => Some(*data),
            _ => None,
        };
        let row = slowed[at].or_else(only).unwrap_or_else(|| {
            // CNPs of an unknown opposite have a row without data.
            if back.cnps > 0 {
                *all.unattributed.entry(ends).or_default() += back.cnps;
            }
            all.rows.push(Row::default());
            all.rows.len() - 1
        });
        all.rows[row].back.push(at);
        all.of[at][1] = row;
    }
    all
}

/// Whether there is one of a kind.
#[derive(Clone, Copy, Debug, Default)]
enum Alone {
    #[default]
    None,
    One(usize),
    Several,
}

impl Alone {
    fn add(&mut self, at: usize) {
        *self = match self {
            Alone::None => Alone::One(at),
            _ => Alone::Several,
        };
    }
}

/// Whoever shares one limit of CNPs.
#[derive(PartialEq, Eq, Hash)]
enum Scope {
    Row(usize),
    Pair(Ends),
    Port(Address),
}

/// When whoever shares a limit was to get a CNP last, and when it got one.
#[derive(Default)]
struct Answered {
    marks: HashMap<Scope, i64, RandomState>,
    cnps: HashMap<Scope, i64, RandomState>,
}

impl Answered {
    fn scope(limit: Limit, (row, back): (usize, Ends)) -> Scope {
        match limit.scope {
            Pacing::PerIpPair => Scope::Pair(back),
            Pacing::PerPort => Scope::Port(back.src),
            _ => Scope::Row(row),
        }
    }

    /// From when on the limit let the receiver send a CNP that comes now.
    fn due(&mut self, limit: Limit, place: (usize, Ends), now: i64) -> Option<i64> {
        let last = self.cnps.insert(Answered::scope(limit, place), now);
        last.map(|last| last.saturating_add(limit.least_ns as i64))
    }

    /// Whether what comes now, of this row, for which CNPs go this way, gets a CNP.
    fn is_due(&mut self, limit: Limit, place: (usize, Ends), now: i64) -> bool {
        let scope = Answered::scope(limit, place);
        let is_due = |last: i64| now.saturating_sub(last) >= limit.least_ns as i64 || now < last;
        let is_due = self.marks.get(&scope).is_none_or(|&last| is_due(last));
        if is_due {
            self.marks.insert(scope, now);
        }
        is_due
    }
}

impl Marks {
    /// Whether nearly all marks are farther apart than this limit, where the marks are those that these CNPs are for.
    pub(super) fn are_all_answered(&self, limit: Limit, cnps: u64) -> bool {
        let (mut answered, mut due, mut all) = (Answered::default(), 0u64, 0u64);
        let events = self.events().into_iter().flatten();
        for event in events.filter(|event| event.what == Happened::Mark) {
            let Ends { src, dst } = self.noted()[event.noted as usize].ends;
            let place = (event.noted as usize, Ends { src: dst, dst: src });
            due += u64::from(answered.is_due(limit, place, event.time));
            all += 1;
        }
        all * 2 >= cnps && (all - due) * 4 < all
    }
}

/// Goes through the events: which marks a receiver with this limit answers, and what caused each CNP.
fn judge(
    events: &[Event],
    marks: &Marks,
    of: &[[usize; 2]],
    rows: &mut [Row],
    limit: Option<Limit>,
    is_for_losses: bool,
) {
    let noted = marks.noted();
    let mut answered = Answered::default();
    let mut naks = NearNaks::of(events, noted);
    for event in events {
        let now = event.time;
        let of = of[event.noted as usize];
        let own = noted[event.noted as usize].ends;
        let (row, back) = match event.what {
            Happened::Mark => (of[0], Ends { src: own.dst, dst: own.src }),
            Happened::Nak | Happened::Cnp => (of[1], own),
        };
        let here = &mut rows[row];
        match event.what {
            Happened::Mark => here.marks.push(now),
            Happened::Nak if !is_for_losses => continue,
            Happened::Nak => {}
            Happened::Cnp => {
                let due = limit.and_then(|limit| answered.due(limit, (row, back), now));
                here.cnp((now, due), is_for_losses && naks.is_near(own, now));
                continue;
            }
        }
        let Some(limit) = limit else { continue };
        if answered.is_due(limit, (row, back), now) {
            here.expected += 1;
        }
    }
    let for_marks = |row: &Row| {
        let cnps = row.each_cnp().zip(&row.are_near_nak);
        cnps.filter(|&(_, &is_near)| !is_near).map(|(cnp, _)| cnp).collect::<Vec<_>>()
    };
    for row in rows.iter_mut().filter(|row| !row.marks.is_sorted()) {
        row.marks.sort_unstable();
    }
    // Each receiver takes a time of its own.
    let receiver = |row: &Row| {
        let ends = row.back.first().and_then(|&at| noted.get(at)).map(|back| back.ends.src);
        ends.or_else(|| row.data.and_then(|at| noted.get(at)).map(|data| data.ends.dst))
    };
    let known: Vec<_> = rows.iter().map(|row| (receiver(row), for_marks(row), row)).collect();
    let learned = |is_of: &dyn Fn(Option<Address>) -> bool| {
        let of = known.iter().filter(|(receiver, ..)| is_of(*receiver));
        Usual::of(of.flat_map(|(_, cnps, row)| cnps.iter().map(|&cnp| (cnp, &row.marks[..]))))
    };
    let of_all = learned(&|_| true);
    let receivers: HashSet<_, RandomState> = known.iter().map(|(receiver, ..)| *receiver).collect();
    let usual: HashMap<_, _, RandomState> = match receivers.len() {
        ..=1 => HashMap::default(),
        _ => receivers.iter().filter_map(|&one| Some((one, learned(&|other| other == one)?))).collect(),
    };
    let usual: Vec<_> = rows.iter().map(|row| usual.get(&receiver(row)).copied().or(of_all)).collect();
    for (row, usual) in rows.iter_mut().zip(usual) {
        row.explain(usual);
    }
}

/// The NAKs of each pair of addresses, to go through along with the events.
struct NearNaks {
    times: HashMap<Ends, VecDeque<i64>, RandomState>,
}

impl NearNaks {
    fn of(events: &[Event], noted: &[Noted]) -> NearNaks {
        let mut times = HashMap::<Ends, VecDeque<i64>, RandomState>::default();
        for event in events.iter().filter(|event| event.what == Happened::Nak) {
            times.entry(noted[event.noted as usize].ends).or_default().push_back(event.time);
        }
        NearNaks { times }
    }

    /// Whether a NAK of this pair is within microseconds of this time. The times do not decrease.
    fn is_near(&mut self, pair: Ends, time: i64) -> bool {
        let Some(times) = self.times.get_mut(&pair) else { return false };
        while times.front().is_some_and(|&nak| nak < time.saturating_sub(NEAR_NAK_NS)) {
            times.pop_front();
        }
        times.front().is_some_and(|&nak| nak <= time.saturating_add(NEAR_NAK_NS))
    }
}

impl Row {
    /// All that was judged.
    fn forget(&mut self) {
        *self = Row { data: self.data, back: std::mem::take(&mut self.back), ..Row::default() };
    }

    fn each_cnp(&self) -> impl Iterator<Item = Cnp> {
        self.cnps.iter().zip(&self.due).map(|(&time, &is_due)| Cnp { time, is_due })
    }

    fn cnp(&mut self, (now, due): (i64, Option<i64>), is_near_nak: bool) {
        let last = self.cnps.last();
        if let Some(gap) = last.and_then(|&last| u64::try_from(now.saturating_sub(last)).ok()) {
            self.gaps.push(gap);
        }
        self.cnps.push(now);
        self.due.push(due);
        self.are_near_nak.push(is_near_nak);
    }

    /// What each CNP is for: the mark at the usual distance before it; else the NAK beside it; else the last mark.
    fn explain(&mut self, usual: Option<Usual>) {
        let cnps: Vec<Cnp> = self.each_cnp().collect();
        for (cnp, &is_near_nak) in cnps.into_iter().zip(&self.are_near_nak) {
            let before = self.marks.partition_point(|&mark| mark <= cnp.time);
            let last = before.checked_sub(1).and_then(|at| self.marks.get(at)).copied();
            // Without a usual distance, a mark that is as near as the NAK is no worse an explanation.
            let longest = match (is_near_nak, usual) {
                (true, Some(_)) => i64::MIN,
                (true, None) => NEAR_NAK_NS,
                (false, _) => LONGEST_NS,
            };
            let last = last.filter(|&mark| cnp.time.saturating_sub(mark) <= longest);
            // Which of several it is for, nothing tells without a usual distance.
            let nearest = || match usual {
                Some(usual) => usual.nearest(cnp, &self.marks),
                None => cnp.only_mark(&self.marks),
            };
            let mark = usual.and_then(|usual| usual.mark(cnp, &self.marks));
            let is_for_mark = mark.is_some() || last.is_some();
            let mark = mark.or_else(|| last.and_then(|_| nearest()));
            *match (is_for_mark, is_near_nak) {
                (true, _) => &mut self.by_mark,
                (false, true) => &mut self.by_loss,
                (false, false) => &mut self.unmarked,
            } += 1;
            self.latencies.extend(mark.and_then(|mark| u64::try_from(cnp.time.saturating_sub(mark)).ok()));
        }
        // Those few that can be for one mark only came where marks are rare, or their own was not captured: they say nothing of the others.
        if usual.is_none() && (self.latencies.len() as u64) * 2 < self.by_mark {
            self.latencies = Vec::new();
        }
    }
}

/// Makes rows of the report.
struct Maker<'a, 'c> {
    marks: &'a Marks,
    context: &'a Context<'c>,
    reactions: &'a [Option<Reaction>],
    expects: bool,
    is_whole: bool,
    incast: &'a Judged,
    seen: &'a SeenWays,
    unattributed: HashMap<Ends, u64, RandomState>,
    /// Interfaces, and hosts to which several flows that get CNPs bring as much together there as before.
    full_by_rate: HashSet<(Option<u16>, Address), RandomState>,
}

impl Maker<'_, '_> {
    /// The ends of the data.
    fn ends(&self, row: &Row) -> Option<Ends> {
        let noted = self.marks.noted();
        let back =
            || noted.get(*row.back.first()?).map(|back| Ends { src: back.ends.dst, dst: back.ends.src });
        row.data.and_then(|at| noted.get(at)).map(|data| data.ends).or_else(back)
    }

    /// Whether packets in the direction of the data were captured, so that it shows which are marked.
    fn data_is_seen(&self, row: &Row) -> bool {
        self.ends(row).is_none_or(|ends| self.seen.goes(ends))
    }

    /// Whether packets in the other direction were captured, where CNPs go.
    fn cnps_are_seen(&self, row: &Row) -> bool {
        self.ends(row).is_none_or(|ends| self.seen.goes(Ends { src: ends.dst, dst: ends.src }))
    }

    fn row(&self, row: &Row) -> MarkedFlow {
        let noted = self.marks.noted();
        let data = row.data.map(|at| &noted[at]);
        let backs = || row.back.iter().map(|&at| &noted[at]);
        let known = data.and_then(|data| self.context.flow(data.flow?));
        let ends = self.ends(row);
        let (data_is_seen, cnps_are_seen) = (self.data_is_seen(row), self.cnps_are_seen(row));
        let [capable, incapable] = row.data.map_or([0; 2], |at| self.marks.data_packets(at));
        let ce_packets = data.map_or(0, |data| data.marks);
        let cnps = backs().map(|back| back.cnps).sum();
        let reaction = row.data.and_then(|at| self.reactions[at]);
        let [before, after] = row.data.map_or([None; 2], |at| self.rates(at, &row.cnps));
        let bits = |bytes: Option<f64>| bytes.map(|bytes| (bytes * 8.0) as u64);
        // Some of the CNPs for its hosts may be for it: then they are more than are known.
        let is_sure = ends.is_none_or(|ends| !self.unattributed.contains_key(&ends)) || data.is_none();
        let is_hidden = self.is_behind_bottleneck(row);
        let keeps = keeps_rate(cnps, reaction, before.zip(after));
        let is_limited = keeps == Some(true) && !is_hidden && self.may_be_limited(row, before.zip(after));
        let mut out = MarkedFlow {
            flow: known.map(|known| known.index),
            src: ends.map_or_else(String::new, |ends| ends.src.to_string()),
            dst: ends.map_or_else(String::new, |ends| ends.dst.to_string()),
            dest_qp: data
                .and_then(|data| data.qp)
                .or_else(|| self.context.flow(backs().next()?.flow?)?.peer_qp),
            src_qp: backs().find_map(|back| back.qp).or(known.and_then(|known| known.peer_qp)),
            ect_packets: capable,
            not_ect_packets: incapable,
            ce_packets,
            ce_ratio: (capable > 0).then(|| ce_packets as f64 / capable as f64),
            cnps,
            expected_cnps: (self.expects && is_sure && data_is_seen && cnps_are_seen).then_some(row.expected),
            cnps_for_marks: (self.is_whole && data_is_seen).then_some(row.by_mark),
            cnps_for_losses: self.is_whole.then_some(row.by_loss),
            cnps_unmarked: (self.is_whole && data_is_seen).then_some(row.unmarked),
            cnp_interval_ns: exact_summary(&row.gaps),
            ce_to_cnp_ns: exact_summary(&row.latencies),
            rate_before_bps: bits(before),
            rate_after_bps: bits(after),
            reactions: reaction.map_or(0, |reaction| reaction.cnps),
            reaction_ratio: reaction.map(|reaction| reaction.ratio),
            keeps_rate: keeps.filter(|&keeps| !is_hidden && !is_limited && (keeps || !self.is_paused(row))),
            cnps_with_data: backs().any(|back| data.is_some_and(|data| is_one_queue(data, back))),
            cnp_frames: backs()
                .find(|back| back.cnps > 0)
                .map(|back| back.frames.clone())
                .unwrap_or_default(),
            dcqcn: None,
            why: BTreeMap::new(),
        };
        let missing = [
            ("flow", out.flow.is_none(), Reason::Unpaired),
            (
                "ce_ratio",
                out.ce_ratio.is_none(),
                if data.is_some() { Reason::NotEct } else { Reason::Unpaired },
            ),
            ("expected_cnps", !self.expects && cnps > 0, self.reason()),
            ("expected_cnps", self.expects && !is_sure, Reason::Unpaired),
            ("expected_cnps", !(data_is_seen && cnps_are_seen), Reason::OneWay),
            ("cnps_for_marks", !data_is_seen, Reason::OneWay),
            ("cnps_unmarked", !data_is_seen, Reason::OneWay),
            ("cnp_interval_ns", out.cnp_interval_ns.is_none() && cnps > 0, self.reason()),
            ("ce_to_cnp_ns", out.ce_to_cnp_ns.is_none() && cnps > 0, self.reason()),
            ("reaction_ratio", out.reaction_ratio.is_none() && cnps > 0, Reason::TooFew),
            (
                "keeps_rate",
                out.keeps_rate.is_none() && cnps > 0,
                match (is_hidden, is_limited) {
                    (true, _) => Reason::BehindBottleneck,
                    (_, true) => Reason::OtherLimit,
                    _ => Reason::TooFew,
                },
            ),
        ];
        let missing = missing.into_iter().filter(|&(_, is_missing, _)| is_missing);
        out.why = missing.map(|(field, _, reason)| (field.into(), reason)).collect();
        out
    }

    /// Whether the tap where its rate is measured is behind the bottleneck of this flow, which was marked before it: then the queue there sets the rate at the tap, as long as it is not
    /// empty, whatever the sender does. The link was full while CNPs came.
    fn is_behind_bottleneck(&self, row: &Row) -> bool {
        let Some(data) = row.data.and_then(|at| self.marks.noted().get(at)) else { return false };
        let marks = data.marks.saturating_sub(data.marks_later);
        let (Some(&first), Some(&last), true) = (row.cnps.first(), row.cnps.last(), marks > 0) else {
            return false;
        };
        let full = data.flow.and_then(|flow| self.incast.full_ns(flow));
        match full {
            Some(full) => u128::from(full) * 2 >= u128::from(last.abs_diff(first)),
            // Where most packets are marked, a queue stands; and without a speed it may where the flows to a host are together as fast as before.
            None => {
                row.data.is_some_and(|at| marks * 2 >= self.marks.data_packets(at)[0])
                    || self.full_by_rate.contains(&self.place(data))
            }
        }
    }

    /// Where the rate of a flow is measured, and where it goes.
    fn place(&self, data: &Noted) -> (Option<u16>, Address) {
        (data.flow.and_then(|flow| self.context.network.passages.first(flow)), data.ends.dst)
    }

    /// Notes the hosts to which flows bring the same together all the time in which they get CNPs: a full link does that. One flow alone that does is a
    /// sender that does not react: nobody else's packets fill its queue.
    fn compare_rates(&mut self, rows: &[Row]) {
        /// How long rates are measured, at least: few packets make them uneven.
        const STEP_NS: i64 = 100_000;
        /// So many of those times say something.
        const ENOUGH: usize = 8;
        let mut sums = HashMap::<_, (u32, Vec<u64>, Range<usize>), RandomState>::default();
        for row in rows.iter().filter(|row| !row.cnps.is_empty()) {
            let Some(at) = row.data else { continue };
            let (Some((axis, rate)), Some(&first), Some(&last)) =
                (self.marks.rate(at), row.cnps.first(), row.cnps.last())
            else {
                continue;
            };
            let step = (STEP_NS / axis.width_ns).max(1) as usize;
            let sum = |bins: &[u32]| bins.iter().map(|&bytes| u64::from(bytes)).sum::<u64>();
            let steps = rate.chunks_exact(step).map(sum);
            let place = |time: i64| axis.index(time.max(axis.origin_ns)).unwrap_or(0) / step;
            let here = place(first) + 1..place(last);
            let (flows, all, span) = sums
                .entry(self.place(&self.marks.noted()[at]))
                .or_insert_with(|| (0, Vec::new(), here.clone()));
            *flows += 1;
            *span = span.start.min(here.start)..span.end.max(here.end);
            for (at, bytes) in steps.enumerate() {
                match all.get_mut(at) {
                    Some(sum) => *sum += bytes,
                    None => all.push(bytes),
                }
            }
        }
        let is_full = |all: &[u64], span: Range<usize>| {
            let mut here = all.get(span.start..span.end.min(all.len())).unwrap_or(&[]).to_vec();
            here.sort_unstable();
            let Some(&most) = here.get(here.len() * 9 / 10) else { return false };
            // Senders that pause between bursts fill it in these.
            let busy = here.iter().filter(|&&bytes| bytes * 2 >= most).count();
            let full = here.iter().filter(|&&bytes| bytes as f64 >= FULL * most as f64).count();
            busy >= ENOUGH && full * 10 >= busy * 8
        };
        self.full_by_rate = sums
            .into_iter()
            .filter(|(_, (flows, all, span))| *flows > 1 && is_full(all, span.clone()))
            .map(|(place, _)| place)
            .collect();
    }

    /// Whether pauses of its link are enough to make it slower: more than a twentieth of the time in which it gets CNPs.
    fn is_paused(&self, row: &Row) -> bool {
        let (Some(&first), Some(&last)) = (row.cnps.first(), row.cnps.last()) else { return false };
        let network = self.context.network;
        let asked = || {
            let data = row.data.and_then(|at| self.marks.noted().get(at))?;
            let flow = data.flow?;
            let place = (network.passages.first(flow)?, network.priorities.of(data.data_tag));
            Some(network.asked_ns(flow, place, last))
        };
        network.pauses.stop_any()
            && asked().is_none_or(|ns| ns.saturating_mul(20) > last.saturating_sub(first))
    }

    fn reason(&self) -> Reason {
        if self.is_whole { Reason::TooFew } else { Reason::MemoryLimit }
    }

    fn replay<'b>(&'b self, row: &'b Row, before_bps: Option<u64>) -> Result<Replay<'b>, Reason> {
        let at = row.data.ok_or(Reason::Unpaired)?;
        let (axis, rate) = self.marks.rate(at).ok_or(Reason::MemoryLimit)?;
        let speed_bps = self.context.network.interfaces.common_bps();
        Ok(Replay { axis, rate, cnps: &row.cnps, speed_bps, before_bps })
    }

    /// Whether something else than CNPs may set the rate of a sender that keeps it, as its application or its window do: by all that is known of adapters,
    /// a reaction would not show. Or it became faster, while such a reaction would leave it nearly as fast: it had recovered from CNPs of before.
    fn may_be_limited(&self, row: &Row, rates: Option<(f64, f64)>) -> bool {
        let reacting = self.replay(row, None).ok().and_then(|replay| replay.of_reacting());
        let (Some((before, after)), Some([least, most])) = (rates, reacting) else { return true };
        let shows = |bps: f64, part: f64| bps < part * after * 8.0;
        !shows(least, SAME) || after > FASTER * before && !shows(most, CLEARLY)
    }

    /// Bytes per second before the first CNP, and from then to the last one.
    fn rates(&self, at: usize, cnps: &[i64]) -> [Option<f64>; 2] {
        let (Some(&first), Some(&last)) = (cnps.first(), cnps.last()) else { return [None; 2] };
        let during = || {
            let (axis, rate) = self.marks.rate(at)?;
            let from = axis.index(first.max(axis.origin_ns))? + 1;
            let to = axis.index(last)?.min(rate.len().saturating_sub(2));
            let bins = rate.get(from..=to).filter(|bins| !bins.is_empty())?;
            // Some bins only: what it sent in the first one, behind the CNP, is a large part.
            if let Some(sent) = self.marks.bytes_since(at, first, to) {
                let lasted = axis.start_ns(to as i64 + 1).saturating_sub(first);
                return (lasted > 0).then(|| sent as f64 * 1e9 / lasted as f64);
            }
            let bytes: u64 = bins.iter().map(|&bytes| bytes as u64).sum();
            Some(bytes as f64 * 1e9 / (bins.len() as f64 * axis.width_ns as f64))
        };
        [self.marks.bytes_before(at, first), during()]
    }
}

/// Whether a sender that gets CNPs keeps its rate; `None` if too little is known.
fn keeps_rate(cnps: u64, reaction: Option<Reaction>, rates: Option<(f64, f64)>) -> Option<bool> {
    let (before, after) = rates?;
    let reaction = reaction?;
    let keeps = reaction.ratio >= SAME && after >= SAME * before;
    // Where no single CNP slows it, something else does: pauses, or its window, once the way is longer by a queue.
    // But not by so much.
    let lower = if reaction.ratio < SAME { LOWER } else { FAR_LOWER };
    let slows = reaction.ratio <= LOWER || after <= lower * before;
    match (keeps, slows) {
        (true, _) if cnps >= MANY_CNPS && reaction.cnps >= MANY_CNPS => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Whether data and CNPs are in one class of traffic.
fn is_one_queue(data: &Noted, back: &Noted) -> bool {
    let class = |tag: u64| tag & path_tag::CLASS;
    data.data_tag != 0 && back.cnp_tag != 0 && class(data.data_tag) == class(back.cnp_tag)
}
