//! Who was waited for in an operation: the walk back along the waits.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Collectives,
    cut::{Timed, ns, ns_between, union},
    ends::Ends,
    pace::{Lost, Part, Usual, of_the_fastest, parts},
    topology::Shape,
    turns::Turns,
};
use crate::report::{CollectiveCause, Topology};

/// What cost less than this part of an operation is not worth a name: a twentieth.
pub(super) const WORTH: u64 = 20;
/// The same for what is estimated: a tenth.
const WORTH_OF_ESTIMATE: u64 = 10;
/// Each step waits for a round trip: a host is late that takes longer than so many.
pub(super) const ROUND_TRIPS: u64 = 3;
/// Steps back along the waits of an operation.
const MOST_STEPS: usize = 4096;
/// A shorter wait is none.
pub(super) const SHORTEST_WAIT_NS: u64 = 100;

/// Who is to blame for an operation's time.
#[derive(Clone, Debug)]
pub(super) struct Blame {
    /// A request that shows it.
    pub(super) at: usize,
    pub(super) cause: CollectiveCause,
    pub(super) rank: String,
    pub(super) peer: Option<String>,
    pub(super) queue_pair: Option<u32>,
    pub(super) lost: u64,
    /// When it was waited for; of a path, nobody knows.
    pub(super) spans: Vec<(i64, i64)>,
}

/// The waits of one operation.
pub(super) struct Waits<'a> {
    pub(super) all: &'a Collectives,
    pub(super) timed: &'a [Timed],
    pub(super) members: &'a [usize],
    pub(super) usual: &'a Usual,
    pub(super) ends: &'a Ends,
    /// Who sends to whom, and which endpoints are of one host.
    pub(super) shape: &'a Shape,
    /// When each host sent data.
    pub(super) sends: BTreeMap<usize, Vec<(i64, i64)>>,
    /// Bytes in a second that a link carries.
    pub(super) speed: Option<u64>,
    /// When the operation begins, and how long it took.
    pub(super) start: i64,
    pub(super) lasted: u64,
    /// How much longer it took than the shortest of those with as many requests and bytes.
    pub(super) longer: u64,
    /// The same, than most of those that lost nothing; `None` where there are none.
    pub(super) longer_than_whole: Option<u64>,
    /// Its beginning is in the capture.
    pub(super) is_begun: bool,
    /// How hosts began it that were in the operation before.
    pub(super) starts: Option<&'a BTreeMap<usize, Start>>,
    /// How much later than the first host one begins in most operations, as it ended the one before later.
    pub(super) usually_carried: u64,
    /// Hosts exchange data with one other after the other, see [`takes_turns`].
    pub(super) takes_turns: bool,
}

/// How a host began an operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Start {
    /// How much longer than others it took from what it did last in the operation before until what it did first.
    pub(super) gap: u64,
    /// How much later than the first host it began, without that: for so long it, or whom it waited for, had been in the operation before.
    pub(super) carried: u64,
    /// What it did first. What others wait for later is not explained by when it began.
    pub(super) did: i64,
}

/// What each host got, or sent, by when it was there.
pub(super) type Arrivals = BTreeMap<(usize, bool), Vec<(i64, usize)>>;

/// The time that a host let a request wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) at: usize,
    pub(super) host: usize,
    pub(super) is_sender: bool,
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Late {
    pub(super) fn ns(&self) -> u64 {
        ns_between(self.from, self.to)
    }
}

/// The times that a host let others wait.
struct Owed {
    longest: Late,
    spans: Vec<(i64, i64)>,
    /// No more than that, whatever the spans say.
    most: u64,
}

impl Owed {
    fn of(late: Late) -> Owed {
        Owed { longest: late, spans: vec![(late.from, late.to)], most: u64::MAX }
    }

    /// Adds to what others waited for a host.
    fn note(all: &mut BTreeMap<usize, Owed>, late: Late) {
        all.entry(late.host).and_modify(|owed| owed.add(late)).or_insert_with(|| Owed::of(late));
    }

    fn add(&mut self, late: Late) {
        self.spans.push((late.from, late.to));
        if self.longest.ns() < late.ns() {
            self.longest = late;
        }
    }

    /// How long others waited: for several requests at a time, once.
    fn lost(&self) -> u64 {
        length(&union(self.spans.iter().copied(), (i64::MIN, i64::MAX))).min(self.most)
    }
}

impl Waits<'_> {
    /// Who was waited for: the host, or the path, to which the waits lead back and that cost most.
    pub(super) fn blame(&self, lasted: u64) -> Option<Blame> {
        if let Some(hung) = self.hung() {
            return Some(hung);
        }
        let blame = self.blame_of(lasted)?;
        // Who was late in what nobody saw begin, or end? Whoever is waited for then has not even come.
        let is_seen = matches!(blame.cause, CollectiveCause::Recovering | CollectiveCause::Paused);
        let is_open = |&at: &usize| self.timed[at].shows_data && !self.timed[at].is_complete;
        (is_seen || self.is_begun && !self.members.iter().any(is_open)).then_some(blame)
    }

    fn blame_of(&self, lasted: u64) -> Option<Blame> {
        let parts = parts(self.timed, self.ends, self.members);
        let hosts = |connection: &usize| {
            let (a, b) = *self.ends.of.get(connection)?;
            let [a, b] = [a, b].map(|end| self.shape.host_of(end));
            Some((a.min(b), a.max(b)))
        };
        let paths: BTreeSet<_> = parts.keys().map(hosts).collect();
        let paces = self.usual.in_operation(&parts, paths.len() == 1);
        let arrivals = self.arrivals();
        let turns = self.turns(&parts, &arrivals);
        let (on_path, own, mut rivals) = self.critical(&arrivals, &turns);
        // In a tree, others may wait longer than anybody waits for them.
        let only = (self.shape.topology == Topology::Tree && self.shape.are_all_seen).then_some(&on_path);
        // Where hosts take turns, waits begin with the operation, not with the turn before: only what its end waited for tells.
        let latest = match self.takes_turns {
            true => None,
            false => self.latest_host((&parts, &arrivals, &turns), only, &mut rivals),
        };
        let host = latest.into_iter().chain(own).max_by_key(Owed::lost);
        let host = host.filter(|owed| self.stands_out(owed, &rivals, lasted));
        // Of two hosts, nobody else shows how slow they are; and where all is sent at once, how long each took is chance.
        let is_pace_chance = !paces.is_even || paths.len() == 1 || self.is_at_once();
        let speed = self.speed.filter(|_| self.shape.are_all_seen && is_pace_chance);
        let (round_trip, flight) = (self.round_trip(), self.flight());
        // Answers to what leaves a host with a tap come a round trip later, those of what arrives there at once.
        let unlike = if self.shape.is_half_seen() { round_trip } else { 0 };
        let losses = |speed: Option<u64>| -> BTreeMap<usize, Lost> {
            let excess = |part: &Part| speed.map(|speed| self.excess(part, (speed, flight)));
            // What most of the fastest quarter have, too, is how requests go here.
            let usual = match paths.len() {
                1 => 0,
                _ => of_the_fastest(parts.values().filter_map(excess).collect()),
            };
            let lost = |part: &Part| {
                let slow =
                    excess(part).map_or_else(|| part.slow(&paces), |excess| excess.saturating_sub(usual));
                let unlike = unlike.saturating_mul(part.members.len() as u64);
                part.lost(self.timed, slow.saturating_sub(unlike))
            };
            parts.iter().map(|(&connection, part)| (connection, lost(part))).collect()
        };
        // Where all of one kind took longer than any of the others, it was no chance.
        let has_pace = speed.is_some() && paces.is_even && self.is_at_once();
        let by_pace = has_pace.then(|| losses(None)).filter(|all| {
            let slowest = all.iter().max_by_key(|(_, lost)| lost.slow);
            slowest.is_some_and(|(&of, lost)| lost.slow > 0 && self.is_apart(&parts, all, of))
        });
        let speed = speed.filter(|_| by_pace.is_none());
        let all = by_pace.unwrap_or_else(|| losses(speed));
        let path = all
            .iter()
            .map(|(connection, lost)| (parts[connection].on(self.timed, &on_path, *lost), *connection))
            .max_by_key(|(lost, _)| lost.all());
        // Where links carry unlike loads, what a slow path lost is an estimate.
        let is_by_pace = |lost: &Lost| lost.slow > lost.all() / 2;
        let worth = |(lost, connection): &(Lost, usize)| match speed.is_some() && is_by_pace(lost) {
            // The acknowledgements of small requests wait for each other: some round trips say nothing of a path. Those that are usual: a slow path
            // has longer ones.
            _ if is_by_pace(lost)
                && lost.slow < round_trip.saturating_mul(ROUND_TRIPS)
                && !self.is_apart(&parts, &all, *connection) =>
            {
                false
            }
            true => {
                let is_sure = || !self.is_at_once() && self.is_apart(&parts, &all, *connection);
                (lost.all().saturating_mul(WORTH_OF_ESTIMATE) >= lasted || is_sure())
                    && !self.is_usual(&all, *connection)
            }
            false => true,
        };
        let path = path.filter(worth);
        let by_path = path.map_or(0, |(lost, _)| lost.all());
        let by_host = host.as_ref().map_or(0, Owed::lost);
        if by_host.max(by_path).saturating_mul(WORTH) < lasted || by_host.max(by_path) == 0 {
            return None;
        }
        match (host, path) {
            // What a host without a tap waited for may not be in the capture.
            (Some(Owed { longest, .. }), _) if by_host >= by_path && !self.shape.is_seen(longest.host) => {
                None
            }
            (Some(Owed { longest: late, spans, .. }), _) if by_host >= by_path => {
                let &(sender, receiver) = self.ends.of.get(&self.timed[late.at].connection)?;
                let peer = self.ends.names.get(if late.is_sender { receiver } else { sender }).cloned();
                let rank = self.ends.names.get(late.host)?.clone();
                let is_paused = self.paused(&late).saturating_mul(2) > late.ns();
                Some(Blame {
                    at: late.at,
                    cause: if is_paused { CollectiveCause::Paused } else { CollectiveCause::HostLate },
                    rank,
                    peer,
                    queue_pair: None,
                    lost: by_host,
                    spans,
                })
            }
            (_, Some((lost, connection))) => self.slow_path(&parts, &all, (connection, lost), lasted),
            _ => None,
        }
    }

    /// Whether what a host let others wait is more than chance. Short waits, each of a few round trips, are in all operations: those of one host count where
    /// they are twice those of any other one, and what is beyond these is worth more than an estimate.
    fn stands_out(&self, owed: &Owed, rivals: &BTreeMap<usize, u64>, lasted: u64) -> bool {
        let (host, lost) = (self.shape.host_of(owed.longest.host), owed.lost());
        let others =
            rivals.iter().filter(|(other, _)| **other != host).map(|(_, lost)| *lost).max().unwrap_or(0);
        let beyond = lost.saturating_sub(others);
        owed.longest.ns() >= self.short(self.timed[owed.longest.at].connection)
            || beyond.saturating_mul(2) >= lost && beyond.saturating_mul(WORTH_OF_ESTIMATE) >= lasted
    }

    /// What an operation lost as hosts began it late that had ended the one before late: whoever was waited for there is to blame. And what its path
    /// lost again.
    pub(super) fn carried(&self, before: Blame, lasted: u64) -> Option<Blame> {
        let (&host, start) = self.starts?.iter().max_by_key(|(_, start)| start.carried)?;
        let again = self.lost_again(&before, &parts(self.timed, self.ends, self.members));
        // No more than was lost then; losses take their share of later ones, too.
        let most = if before.cause == CollectiveCause::HostLate { before.lost } else { u64::MAX };
        // What losses and pauses cost was seen; all else may be how hosts begin here.
        let is_seen = matches!(before.cause, CollectiveCause::Recovering | CollectiveCause::Paused);
        let usual = if is_seen { 0 } else { self.usually_carried };
        let lost = start.carried.saturating_sub(usual).min(most).saturating_add(again);
        let is_its = |&&at: &&usize| {
            let ends = self.ends.of.get(&self.timed[at].connection);
            ends.is_some_and(|&(sender, receiver)| {
                [sender, receiver].iter().any(|&end| self.shape.host_of(end) == host)
            })
        };
        let at = *self.members.iter().filter(is_its).min_by_key(|&&at| self.timed[at].begin)?;
        let least = if is_seen { WORTH } else { WORTH_OF_ESTIMATE };
        let is_worth = lost.saturating_mul(least) >= lasted && before.cause != CollectiveCause::Hang;
        is_worth.then_some(Blame { at, lost, spans: Vec::new(), ..before })
    }

    /// The requests that the end of the operation waited for: back from the last one along the waits. And the host that took longest for what it did
    /// between these, with the longest such time, and all of it. And what each host took, however short.
    fn critical(
        &self,
        arrivals: &Arrivals,
        turns: &Turns,
    ) -> (BTreeSet<usize>, Option<Owed>, BTreeMap<usize, u64>) {
        let mut rivals: BTreeMap<usize, u64> = BTreeMap::new();
        let mut own: BTreeMap<usize, Owed> = BTreeMap::new();
        // Who began the operation late.
        let mut began = None;
        let mut path = BTreeSet::new();
        let same_before =
            |one: &Timed| one.before.filter(|&before| self.timed[before].operation == one.operation);
        let mut add = |mut late: Late| {
            // Since what it may have needed last, as with others.
            if let Some(turn) = self.turn(late.at, (late.host, late.is_sender), (arrivals, turns)) {
                late.from = late.from.max(late.to.saturating_sub_unsigned(turn));
            }
            let late = turns.beyond(late);
            let sum = rivals.entry(self.shape.host_of(late.host)).or_default();
            *sum = sum.saturating_add(late.ns());
            if late.ns() >= self.least(self.timed[late.at].connection) && late.ns() > 0 {
                Owed::note(&mut own, late);
            }
        };
        let complete = self.members.iter().copied().filter(|&at| self.timed[at].is_complete);
        let mut next = complete.max_by_key(|&at| self.timed[at].end);
        while let Some(at) = next.filter(|&at| path.len() < MOST_STEPS && path.insert(at)) {
            let one = &self.timed[at];
            let Some(&(sender, receiver)) = self.ends.of.get(&one.connection) else { break };
            // An acknowledgement that its receiver's adapter could not send, as it was paused.
            if one.held_answer_ns > 0 {
                let (from, to) = (one.end.saturating_sub_unsigned(one.held_answer_ns), one.end);
                add(Late { at, host: receiver, is_sender: false, from, to });
            }
            let [by_receiver, by_sender] =
                [one.time.receiver_late_ns, one.time.sender_late_ns.or(one.time.late_ns)]
                    .map(Option::unwrap_or_default);
            let first = one.first.unwrap_or(one.end);
            let is_new = |other: usize| !path.contains(&other);
            let latest =
                |host: usize, is_sent: bool, to: i64| self.latest(arrivals, (host, is_sent), to, is_new);
            if by_sender.max(by_receiver) <= SHORTEST_WAIT_NS {
                next = same_before(one);
                continue;
            }
            // It waits for what came before on this connection only: whoever let it wait longer.
            if self.waits_for_own_only(turns, at) {
                next = same_before(one);
                let late = self.later_side(at, (sender, receiver));
                // Its adapter had data for others to send.
                let busy = if late.is_sender { self.busy(&late) } else { 0 };
                if next.is_some() && busy.saturating_mul(2) <= late.ns() {
                    add(late);
                }
                continue;
            }
            // The sender had the element since then; what it sends may have been there long before.
            let granted = first.saturating_sub_unsigned(by_sender);
            let by_step =
                self.step_before(turns, arrivals, (at, sender), first).filter(|&(_, at)| is_new(at));
            // Its turn begins when it has what it got in the one before, and sent what it had to.
            let sent = self.takes_turns.then(|| latest(sender, true, first)).flatten();
            let had = by_step.or_else(|| latest(sender, false, first).into_iter().chain(sent).max());
            if self.takes_turns && had.is_none() || self.needs_nothing(turns, at) {
                let late = self.later_side(at, (sender, receiver));
                began = self.root(late, (arrivals, turns));
                break;
            }
            let is_asked_last = by_receiver > SHORTEST_WAIT_NS
                && had.map_or(by_receiver > by_sender, |(had, _)| had < granted);
            let is_own = had.is_some_and(|(had, _)| had < granted) && by_receiver <= SHORTEST_WAIT_NS;
            if let Some(before) = same_before(one).filter(|_| is_own) {
                // It had to wait for what came before on this connection.
                add(Late { at, host: sender, is_sender: true, from: granted, to: first });
                next = Some(before);
                continue;
            }
            if by_sender > SHORTEST_WAIT_NS && !is_asked_last {
                next = had.map(|(from, before)| {
                    add(Late { at, host: sender, is_sender: true, from, to: first });
                    before
                });
                continue;
            }
            if by_sender > SHORTEST_WAIT_NS && had.is_some() {
                add(Late { at, host: sender, is_sender: true, from: granted, to: first });
            }
            // A receiver may also have waited until it could pass on what it had.
            let to = one.cts.unwrap_or(first);
            let passed = self.passes_on().then(|| latest(receiver, true, to)).flatten();
            let before = latest(receiver, false, to).into_iter().chain(passed).max();
            next = before.map(|(from, before)| {
                add(Late { at, host: receiver, is_sender: false, from, to });
                before
            });
        }
        if let Some(late) = began {
            Owed::note(&mut own, late);
        }
        let is_long = |owed: &Owed| owed.lost() >= self.least(self.timed[owed.longest.at].connection);
        (path, own.into_values().filter(is_long).max_by_key(Owed::lost), rivals)
    }

    /// Whether hosts send to all others at once.
    pub(super) fn is_at_once(&self) -> bool {
        self.shape.topology == Topology::AllToAll && !self.takes_turns
    }

    /// Whether hosts pass on what they got.
    pub(super) fn passes_on(&self) -> bool {
        self.takes_turns || matches!(self.shape.topology, Topology::Ring | Topology::Tree)
    }

    /// Whether a request waits for nothing but those before it on its connection: each does in an all to all, all but the first ones where hosts take turns.
    pub(super) fn waits_for_own_only(&self, turns: &Turns, at: usize) -> bool {
        self.shape.topology == Topology::AllToAll && !(self.takes_turns && turns.firsts.contains(&at))
    }

    /// Whether a host has what it sends, and room for what it asks for, when it begins: in the first step of a ring that all hosts are part of, and between two.
    fn needs_nothing(&self, turns: &Turns, at: usize) -> bool {
        self.starts.is_some()
            && match self.shape.topology {
                Topology::Ring => turns.step(at) == Some(0),
                Topology::Pairs => turns.firsts.contains(&at),
                _ => false,
            }
    }

    /// Whose data a host waits for: of all of its endpoints, where it takes turns.
    fn place_of(&self, end: usize) -> usize {
        if self.takes_turns { self.shape.host_of(end) } else { end }
    }

    /// For how much of this time the adapter of the host was paused.
    fn paused(&self, late: &Late) -> u64 {
        let of = self.all.connections.get(self.timed[late.at].connection);
        let ways = of.and_then(|of| if late.is_sender { of.data_ways.first() } else { of.cts_ways.first() });
        let Some(way) = ways.and_then(|&way| self.all.ways.get(way as usize)) else { return 0 };
        let here = self.all.pauses.iter().filter(|pause| pause.interface == way.vantage >> 8);
        let spans = union(here.map(|pause| (pause.start_ns, pause.end_ns)), (late.from, late.to));
        length(&spans)
    }

    /// The host that was late without waiting for anybody, and how long: on that of its connections that waited longest.
    /// `only`: of these requests. `rivals`: what each host let others wait.
    fn latest_host(
        &self,
        (parts, arrivals, turns): (&BTreeMap<usize, Part>, &Arrivals, &Turns),
        only: Option<&BTreeSet<usize>>,
        rivals: &mut BTreeMap<usize, u64>,
    ) -> Option<Owed> {
        let mut by_host: BTreeMap<(usize, usize), BTreeMap<usize, Late>> = BTreeMap::new();
        let is_meant = |at: &&usize| only.is_none_or(|only| only.contains(at));
        for &at in parts.values().flat_map(|part| &part.members).filter(is_meant) {
            if let Some(root) = self.late(at).and_then(|late| self.root(late, (arrivals, turns))) {
                let roots = by_host.entry((root.host, self.timed[root.at].connection)).or_default();
                let known = roots.entry(root.at).or_insert(root);
                if known.ns() < root.ns() {
                    *known = root;
                }
            }
        }
        let all = |roots: BTreeMap<usize, Late>| {
            let mut roots = roots.into_values();
            let first = Owed::of(roots.next()?);
            Some(roots.fold(first, |mut owed, late| {
                owed.add(late);
                owed
            }))
        };
        let mut owed: Vec<Owed> = by_host.into_values().filter_map(all).collect();
        // Where none waits for data of another, a host that is not behind the others cost nothing.
        if self.is_at_once() {
            owed.iter_mut().for_each(|owed| owed.most = self.behind(self.shape.host_of(owed.longest.host)));
        }
        for one in &owed {
            let known = rivals.entry(self.shape.host_of(one.longest.host)).or_default();
            *known = one.lost().max(*known);
        }
        owed.into_iter().max_by_key(Owed::lost)
    }

    /// How much later the connections of a host ended than those between others, if these are enough to tell.
    fn behind(&self, host: usize) -> u64 {
        /// Of two others, each is waited for half of the time.
        const SEVERAL: usize = 3;
        let (mut own, mut others) = (None::<i64>, None::<i64>);
        let mut apart: BTreeSet<usize> = BTreeSet::new();
        for one in self.members.iter().map(|&at| &self.timed[at]) {
            let Some(&(sender, receiver)) = self.ends.of.get(&one.connection) else { continue };
            let hosts = [sender, receiver].map(|end| self.shape.host_of(end));
            let is_its = hosts.contains(&host);
            if !is_its {
                apart.extend(hosts);
            }
            let latest = if is_its { &mut own } else { &mut others };
            *latest = (*latest).max(Some(one.end));
        }
        let ends = own.zip(others).filter(|_| apart.len() >= SEVERAL);
        ends.map_or(u64::MAX, |(own, others)| ns_between(others, own))
    }

    /// The side that let a request wait longer, if it did longer than round trips explain. A host whose adapter had other data to send was not
    /// late.
    fn late(&self, at: usize) -> Option<Late> {
        let one = &self.timed[at];
        let &(sender, receiver) = self.ends.of.get(&one.connection)?;
        let late = self.later_side(at, (sender, receiver));
        let busy = if late.is_sender { self.busy(&late) } else { 0 };
        let idle = late.ns().saturating_sub(busy);
        (idle > 0 && idle >= self.least(one.connection) && idle >= busy).then_some(late)
    }

    /// The side that let a request wait longer.
    fn later_side(&self, at: usize, (sender, receiver): (usize, usize)) -> Late {
        let one = &self.timed[at];
        let by_receiver = one.time.receiver_late_ns.unwrap_or(0);
        let by_sender = one.time.sender_late_ns.or(one.time.late_ns).unwrap_or(0);
        match by_receiver > by_sender {
            true => {
                let to = one.cts.unwrap_or(one.begin).max(one.begin);
                Late { at, host: receiver, is_sender: false, from: one.begin, to }
            }
            false => {
                let to = one.first.unwrap_or(one.end);
                Late { at, host: sender, is_sender: true, from: to.saturating_sub_unsigned(by_sender), to }
            }
        }
    }

    /// For how much of this time the host sent data of other requests.
    fn busy(&self, late: &Late) -> u64 {
        let Some(sends) = self.sends.get(&late.host) else { return 0 };
        let from = sends.partition_point(|&(_, to)| to <= late.from);
        let within = sends[from..].iter().take_while(|&&(from, _)| from < late.to);
        within.map(|&(from, to)| ns_between(from.max(late.from), to.min(late.to))).sum()
    }

    /// What is not late: some round trips of a connection.
    pub(super) fn short(&self, connection: usize) -> u64 {
        let Some(of) = self.all.connections.get(connection) else { return 0 };
        // Where the answer was seen first at another tap than the packet, it was one way only.
        let round_trip = |&way: &u32| {
            let way = self.all.ways.get(way as usize)?;
            let back = way.peer.and_then(|back| self.all.ways.get(back as usize));
            let is_one_way = back.is_some_and(|back| back.vantage >> 8 != way.vantage >> 8);
            Some(way.round_trip_ns?.saturating_mul(if is_one_way { 2 } else { 1 }))
        };
        let of_data = of.data_ways.iter().filter_map(round_trip);
        let round_trip = of.cts_ways.iter().filter_map(round_trip).min().into_iter().chain(of_data).max();
        ns(round_trip.unwrap_or(0)).saturating_mul(ROUND_TRIPS)
    }

    /// What each host got, by when it was there; and what it sent.
    fn arrivals(&self) -> Arrivals {
        let mut arrivals = Arrivals::new();
        for &at in self.members {
            let one = &self.timed[at];
            let Some(&(sender, receiver)) = self.ends.of.get(&one.connection) else { continue };
            if let Some(arrived) = one.acknowledged.or(one.last) {
                arrivals.entry((self.place_of(receiver), false)).or_default().push((arrived, at));
                arrivals.entry((self.place_of(sender), true)).or_default().push((arrived, at));
            }
        }
        arrivals.values_mut().for_each(|all| all.sort_unstable());
        arrivals
    }

    /// The shortest wait that counts. Where taps show both ends, what is beyond the turns of others is no round trip: one, or what alone is worth a
    /// name; else some of them.
    pub(super) fn least(&self, connection: usize) -> u64 {
        match self.shape.are_all_seen {
            true => (self.short(connection) / ROUND_TRIPS).min(self.lasted / WORTH),
            false => self.short(connection),
        }
    }

    /// What a host got, or sent, last of all that is meant until a time.
    pub(super) fn latest(
        &self,
        arrivals: &Arrivals,
        of: (usize, bool),
        until: i64,
        is_meant: impl Fn(usize) -> bool,
    ) -> Option<(i64, usize)> {
        let all = arrivals.get(&(self.place_of(of.0), of.1))?;
        let until = all.partition_point(|(arrived, _)| *arrived <= until);
        all[..until].iter().rev().take(MOST_STEPS).copied().find(|&(_, at)| is_meant(at))
    }

    /// What the sender of a request in a ring passes on: what it got in the step before, if that is there by then.
    pub(super) fn step_before(
        &self,
        turns: &Turns,
        arrivals: &Arrivals,
        (at, sender): (usize, usize),
        until: i64,
    ) -> Option<(i64, usize)> {
        let step = turns.step_before(at)?;
        self.latest(arrivals, (sender, false), until, |other| turns.step(other) == Some(step))
    }

    /// Back along the waits, to the host that waited for nobody; `None` if that leads to data that was only on its way.
    fn root(&self, late: Late, (arrivals, turns): (&Arrivals, &Turns)) -> Option<Late> {
        let (mut late, mut waited_for_nobody) = (late, false);
        let mut seen = BTreeSet::new();
        let is_alone = self.waits_for_own_only(turns, late.at);
        if is_alone {
            waited_for_nobody = turns.firsts.contains(&late.at) || self.timed[late.at].begin <= self.start;
        }
        for _ in 0..if is_alone { 0 } else { MOST_STEPS } {
            if !seen.insert(late.at) || self.waits_for_own_only(turns, late.at) {
                break;
            }
            if self.needs_nothing(turns, late.at) {
                waited_for_nobody = true;
                break;
            }
            if let Some(slow) = self.slow_at_each(turns, &late) {
                late.from = late.from.max(late.to.saturating_sub_unsigned(slow));
                return Some(turns.beyond(late)).filter(|late| late.ns() > 0);
            }
            // It went on when this was there. In a ring or a tree, a receiver may also have waited until it could pass on what it had.
            let latest = |is_sent: bool| {
                let is_it = |other: usize| self.may_need(turns, (late.at, late.is_sender), other);
                self.latest(arrivals, (late.host, is_sent), late.to, is_it)
            };
            let passes_on = !late.is_sender && self.passes_on();
            let sent = passes_on.then(|| latest(true)).flatten();
            let step =
                late.is_sender.then(|| self.step_before(turns, arrivals, (late.at, late.host), late.to));
            let before = step.flatten().or_else(|| [latest(false), sent].into_iter().flatten().max());
            let Some((arrived, other)) = before.filter(|(arrived, _)| *arrived > late.from) else {
                waited_for_nobody = before.is_none();
                break;
            };
            let own = ns_between(arrived, late.to);
            if own.saturating_mul(2) >= late.ns() {
                late.from = arrived;
                break;
            }
            let further = self.late(other).filter(|further| further.ns().saturating_mul(4) >= late.ns());
            late = further?;
        }
        match self
            .starts
            .and_then(|starts| starts.get(&self.shape.host_of(late.host)))
            .filter(|_| waited_for_nobody)
        {
            Some(start) => {
                let own = start.gap.max(self.paused(&late));
                let began = late.to.min(start.did);
                late.from = late.from.max(began.saturating_sub_unsigned(own));
                if began < late.to {
                    late = turns.beyond(late);
                }
            }
            None => late = turns.beyond(late),
        }
        (late.ns() > 0 && late.ns() >= self.least(self.timed[late.at].connection)).then_some(late)
    }
}

/// What a host did first, and when it was asked for that, if it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Act {
    did: i64,
    asked: Option<i64>,
}

/// The length of times that do not overlap.
pub(super) fn length(spans: &[(i64, i64)]) -> u64 {
    spans.iter().map(|&(from, to)| ns_between(from, to)).fold(0, u64::saturating_add)
}

/// How each host began each operation: the half of them that was faster took no longer from the one before. A host that ended later begins later, and
/// is not late for that. None of the first operation.
pub(super) fn starts(
    timed: &[Timed],
    (ends, shape): (&Ends, &Shape),
    operations: &[Vec<usize>],
) -> Vec<BTreeMap<usize, Start>> {
    // Whether a host's last data must have arrived before it goes on, or is sent by its adapter meanwhile, nobody knows: it is late only if both say so.
    let mut before_of: BTreeMap<usize, [BTreeMap<usize, i64>; 2]> = BTreeMap::new();
    let mut all = Vec::new();
    for members in operations {
        let mut first: BTreeMap<usize, Act> = BTreeMap::new();
        let mut last: [BTreeMap<usize, i64>; 2] = Default::default();
        let begin = members.iter().map(|&at| timed[at].begin).min().unwrap_or(i64::MIN);
        let job = members.first().map_or(0, |&at| ends.job_of(timed[at].connection));
        let before = before_of.entry(job).or_default();
        for one in members.iter().map(|&at| &timed[at]) {
            let Some(&(sender, receiver)) = ends.of.get(&one.connection) else { continue };
            // Elements that were there before it began say nothing of how its hosts began it.
            let cts = one.cts.filter(|&cts| cts >= begin);
            let [sender, receiver] = [sender, receiver].map(|end| shape.host_of(end));
            for (host, did, asked) in [(receiver, cts, None), (sender, one.first, cts)] {
                if let Some(did) = did {
                    let act = Act { did, asked };
                    first.entry(host).and_modify(|known| *known = act.min(*known)).or_insert(act);
                }
                let handed = if host == sender { one.first.unwrap_or(one.end) } else { one.end };
                for (last, ended) in last.iter_mut().zip([one.end, handed]) {
                    last.entry(host).and_modify(|known| *known = ended.max(*known)).or_insert(ended);
                }
            }
        }
        let start = first.values().map(|act| act.did).min().unwrap_or(0);
        // Hosts that send nothing to others do not wait for them.
        let mut starts: BTreeMap<Option<usize>, i64> = BTreeMap::new();
        for (&host, act) in &first {
            let start = starts.entry(shape.part_of_host(host)).or_insert(act.did);
            *start = act.did.min(*start);
        }
        // Of what was before the first one nothing is known: as if all had ended that together.
        if before.iter().all(BTreeMap::is_empty) {
            before.iter_mut().for_each(|before| before.extend(first.keys().map(|&host| (host, start))));
        }
        let last_others = last_others(shape, &first);
        let mut found: BTreeMap<usize, Start> = BTreeMap::new();
        for before in &*before {
            let gap = |host: &usize, first: &Act| Some(ns_between(*before.get(host)?, first.did));
            // Who only answered says nothing of how long others take.
            let of_itself = first.iter().filter(|(_, first)| first.asked.is_none());
            let mut gaps: Vec<u64> = of_itself.filter_map(|(host, first)| gap(host, first)).collect();
            gaps.sort_unstable();
            let usual = gaps.get(gaps.len().saturating_sub(1) / 2).copied().unwrap_or(0);
            for (host, first) in &first {
                // When it would have begun, if not for reasons of its own; and who answers waits until it is asked.
                let Some(due) = before.get(host).map(|ended| ended.saturating_add_unsigned(usual)) else {
                    continue;
                };
                let own = first.asked.map_or(due, |asked| asked.max(due));
                let start = starts.get(&shape.part_of_host(*host)).copied().unwrap_or(start);
                let carried = ns_between(start, due.min(first.did));
                // Without it, all would have waited for the next one.
                let own = last_others.get(host).map_or(own, |&other| own.max(other));
                let start = Start { gap: ns_between(own, first.did), carried, did: first.did };
                let known = found.entry(*host).or_insert(start);
                if start.gap < known.gap {
                    *known = start;
                }
            }
        }
        all.push(found);
        before.iter_mut().zip(last).for_each(|(before, last)| before.extend(last));
    }
    if shape.topology == Topology::Tree {
        without_usual(&mut all);
    }
    all
}

/// For each host, when the last one of the others began, of those that it sends to or that wait for the same: where all do the same, and none only answers.
fn last_others(shape: &Shape, first: &BTreeMap<usize, Act>) -> BTreeMap<usize, i64> {
    let mut all: BTreeMap<Option<usize>, Vec<(i64, usize)>> = BTreeMap::new();
    if !matches!(shape.topology, Topology::Ring | Topology::AllToAll | Topology::Pairs) {
        return BTreeMap::new();
    }
    for (&host, act) in first.iter().filter(|(_, act)| act.asked.is_none()) {
        all.entry(shape.part_of_host(host)).or_default().push((act.did, host));
    }
    all.values_mut().for_each(|all| all.sort_unstable());
    let last_other = |&host: &usize| {
        let others = all.get(&shape.part_of_host(host))?.iter().rev().filter(|(_, other)| *other != host);
        others.map(|&(did, _)| (host, did)).next()
    };
    first.keys().filter_map(last_other).collect()
}

/// Who is usually done later than others begins later, too, as the leaves of a tree: that was carried from no delay.
fn without_usual(all: &mut [BTreeMap<usize, Start>]) {
    let mut carried: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for (&host, start) in all.iter().flatten() {
        carried.entry(host).or_default().push(start.carried);
    }
    for (host, mut times) in carried {
        times.sort_unstable();
        let usual = times[(times.len() - 1) / 2];
        for start in all.iter_mut().filter_map(|of| of.get_mut(&host)) {
            start.carried = start.carried.saturating_sub(usual);
        }
    }
}

/// Whether the hosts of an all to all exchange data with one other after the other: the times in which they send to each hardly overlap. Then they wait for what they do
/// before.
pub(super) fn takes_turns(timed: &[Timed], (ends, shape): (&Ends, &Shape), members: &[usize]) -> bool {
    /// Of the shorter one of two such times, one part in so many overlaps, at most.
    const FEW: u64 = 3;
    let mut all: BTreeMap<usize, BTreeMap<usize, (i64, i64)>> = BTreeMap::new();
    for one in members.iter().map(|&at| &timed[at]).filter(|_| shape.topology == Topology::AllToAll) {
        if let (Some(&(sender, receiver)), Some(first), Some(last)) =
            (ends.of.get(&one.connection), one.first, one.last)
        {
            let [from, to] = [sender, receiver].map(|end| shape.host_of(end));
            // When it can have arrived.
            let until = i64::midpoint(last, one.end.max(last));
            let span = all.entry(from).or_default().entry(to).or_insert((first, until));
            *span = (span.0.min(first), span.1.max(until));
        }
    }
    let (mut shorter, mut overlap) = (0u64, 0u64);
    for to in all.into_values() {
        let mut spans: Vec<(i64, i64)> = to.into_values().collect();
        spans.sort_unstable();
        for pair in spans.windows(2) {
            let lasted = |span: (i64, i64)| ns_between(span.0, span.1);
            shorter = shorter.saturating_add(lasted(pair[0]).min(lasted(pair[1])));
            overlap = overlap.saturating_add(ns_between(pair[1].0, pair[0].1.min(pair[1].1)));
        }
    }
    shorter > 0 && overlap.saturating_mul(FEW) <= shorter
}

/// When each host sent data: from the first packet of a request to its last.
pub(super) fn sends(timed: &[Timed], ends: &Ends, members: &[usize]) -> BTreeMap<usize, Vec<(i64, i64)>> {
    let mut sends: BTreeMap<usize, Vec<(i64, i64)>> = BTreeMap::new();
    for one in members.iter().map(|&at| &timed[at]) {
        if let (Some(&(sender, _)), Some(first), Some(last)) =
            (ends.of.get(&one.connection), one.first, one.last)
        {
            sends.entry(sender).or_default().push((first, last));
        }
    }
    sends.into_iter().map(|(host, spans)| (host, union(spans.into_iter(), (i64::MIN, i64::MAX)))).collect()
}
