//! The long lists of the report. Each row is made on demand, so a report of a million flows takes little more
//! memory than the flows themselves.

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    hash::BuildHasher,
    sync::OnceLock,
};

use foldhash::fast::FixedState;

use super::{
    alike::Alike,
    findings::Survey,
    queues::{Queues, is_all_marked},
    rows,
    stopped::{Beside, Ending, LastWords},
};
use crate::{
    analyze::{
        engine::{Retired, Tracker},
        metric::{bit_rate, named::Named, paths::BehindTap},
        model::{FlowId, Trigger},
        network::Overtaken,
        packet::key::Key,
        table::flow::{Flow, REQUESTS, RESPONSES},
        track::{class::Place, request::Episode},
    },
    in_order::InOrder,
    report::{self, List, Reason, Visibility},
    wire::Psn,
};

/// Flows, connections and episodes in the report's order.
pub(crate) struct Index<'a> {
    beside: Beside<'a>,
    retired: &'a [Retired],
    flows: &'a [Flow],
    verified: bool,
    /// The step of the capture's clock, where it is coarse.
    step_ns: Option<u64>,
    /// A filter left frames out.
    pub(super) leaves_out: bool,
    /// Numbers of flows by their place in the report; the retired flows have the first numbers.
    order: Vec<u32>,
    /// A flow's place in the report, by its number in the table.
    places: Vec<u32>,
    /// A flow's connection, by its place in the report.
    connections: Vec<u32>,
    /// The place of a connection's first flow, by the connection's number.
    first: Vec<u32>,
    /// Episodes by time.
    episodes: Vec<At>,
    /// Which flows are alike. It is made when the first one asks.
    alike: OnceLock<Alike>,
    /// The pairs of source and destination of all flows, as hashes. They are made when the first row needs them.
    directions: OnceLock<HashSet<u64, FixedState>>,
    /// Whether flows are in several virtual networks, where addresses of hosts may be the same.
    several_networks: OnceLock<bool>,
    /// When each host last sent something. It is made for the first requester that gave up.
    last_words: OnceLock<LastWords>,
    /// Where queues mark. It is made for the first flow of which all packets are marked.
    queues: OnceLock<Queues>,
    /// Set-ups that show the application of a flow, by the flow's place.
    applications: OnceLock<HashMap<usize, Application>>,
    /// What paths show of packets that were taken for lost behind the tap.
    behind_tap: OnceLock<HashMap<usize, BehindTap>>,
    /// What a later tap shows of packets that were overtaken on their way to it, by the flow's place.
    overtaken: OnceLock<BTreeMap<usize, LateBehind>>,
    /// What each flow in memory lost on the network, by its number. It is made when the first metric asks.
    lost: OnceLock<Vec<Option<report::Bounds>>>,
}

/// An application, and how it is known.
type Application = (Cow<'static, str>, Option<Cow<'static, str>>);

/// An episode: when it starts, the first frame, the flow's place, the episode's place among the flow's.
type At = (i64, u64, u32, u32);

/// Flows that are prefetched together.
const MANY: usize = 16;
/// No connection.
const NONE: u32 = u32::MAX;

impl<'a> Index<'a> {
    pub(crate) fn new(tracker: &'a Tracker) -> Index<'a> {
        let (retired, flows) = (&tracker.retired[..], &tracker.flows.flows[..]);
        let all = retired.len() + flows.len();
        let mut index = Index {
            beside: Beside::of(tracker),
            retired,
            flows,
            verified: tracker.options.verify_icrc,
            step_ns: tracker.step_ns(),
            leaves_out: tracker.leaves_out(),
            order: Vec::new(),
            places: vec![0; flows.len()],
            connections: Vec::new(),
            first: Vec::new(),
            episodes: Vec::new(),
            alike: OnceLock::new(),
            directions: OnceLock::new(),
            several_networks: OnceLock::new(),
            last_words: OnceLock::new(),
            queues: OnceLock::new(),
            applications: OnceLock::new(),
            behind_tap: OnceLock::new(),
            overtaken: OnceLock::new(),
            lost: OnceLock::new(),
        };
        // The sort keys are copied side by side, for flows lie far apart in memory. Most flows are in order of time already,
        // and many have equal counts of packets: sorting by one key after the other is fast then.
        let mut order: Vec<(Reverse<u64>, i64, u32)> = (0..all as u32)
            .filter(|&n| index.numbered(n).packets > 0)
            .map(|n| (Reverse(index.numbered(n).packets), index.numbered(n).first_time, n))
            .collect();
        order.order_by(|&(_, a, m), &(_, b, n)| {
            let rest = |n| (index.numbered(n).key, index.numbered(n).epoch);
            a.cmp(&b).then_with(|| rest(m).cmp(&rest(n)))
        });
        order.order_by_key(|&(packets, ..)| packets);
        index.order = order.iter().map(|&(_, _, n)| n).collect();
        drop(order);
        for at in 0..index.order.len() {
            if let Some(FlowId(id)) = index.id(at) {
                index.places[id as usize] = at as u32;
            }
        }
        index.connect();
        index.list_episodes();
        index
    }

    /// The flows' applications, as their set-ups show them, else as their messages do, or those of the other direction.
    pub(super) fn set_applications(&self, setups: &[report::Setup], named: &Named) {
        let of = |setup: &report::Setup| {
            let known = setup.application.clone().map(|name| (name, setup.application_by.clone()));
            let flows = [setup.active.flow, setup.passive.flow].into_iter().flatten();
            flows
                .zip(std::iter::repeat(known))
                .filter_map(|(flow, known)| Some((flow, known?)))
                .collect::<Vec<_>>()
        };
        self.applications.get_or_init(|| {
            let mut all: HashMap<usize, Application> = setups.iter().flat_map(of).collect();
            let places = if named.is_empty() { 0 } else { self.order.len() };
            for at in 0..places {
                let of = |at: usize| named.of(&self.flow(at).key);
                if !all.contains_key(&at)
                    && let Some(application) = of(at).or_else(|| of(self.peer(at)?))
                {
                    all.insert(at, (application.name().into(), Some("messages".into())));
                }
            }
            all
        });
    }

    /// What the paths of flows show of packets that were taken for lost behind the tap.
    pub(super) fn set_behind_tap(&self, known: HashMap<usize, BehindTap>) {
        self.behind_tap.get_or_init(|| known);
    }

    /// What a later tap shows of packets that were overtaken on their way to it.
    pub(super) fn set_overtaken<'b>(&self, known: impl Iterator<Item = (usize, &'b [Overtaken], u64)>) {
        let of = |(at, packets, n): (usize, &[Overtaken], u64)| {
            (at, LateBehind::of(packets, n, self.episodes_at(at)))
        };
        self.overtaken.get_or_init(|| known.map(of).collect());
    }

    /// What a later tap shows of the flow's packets that were overtaken on their way to it.
    pub(super) fn late_behind(&self, at: usize) -> Option<&LateBehind> {
        self.overtaken.get()?.get(&at)
    }

    /// Takes back the losses behind the tap that the flow's paths show to be none.
    fn narrow(&self, at: usize, row: &mut report::Flow) {
        let known = self.behind_tap.get().and_then(|all| all.get(&at));
        if let (Some(known), Some([least, most])) = (known, row.requests.losses.downstream) {
            let now = known.narrow([least, most]);
            row.requests.losses.downstream = Some(now);
            let episodes = &mut row.requests.loss_episodes.downstream;
            *episodes = (*episodes).min(now[1]);
            let needless = known.had_arrived(most - now[1]);
            let arrived = |spurious: u64| (spurious + needless).min(row.requests.retransmits.max(spurious));
            row.requests.spurious = row.requests.spurious.map(arrived);
        }
    }

    /// Numbers the connections in the order of their first flows.
    fn connect(&mut self) {
        self.connections = vec![NONE; self.order.len()];
        // In the order of the table: reading it in another order would miss the cache.
        let mut peers = vec![NONE; self.order.len()];
        for (&at, flow) in self.places.iter().zip(self.flows) {
            if let Some(FlowId(peer)) = flow.peer {
                peers[at as usize] = self.places[peer as usize];
            }
        }
        for (at, &other) in peers.iter().enumerate().filter(|(_, other)| **other != NONE) {
            let is_mutual = peers[other as usize] == at as u32;
            self.connections[at] = match is_mutual && (other as usize) < at {
                true => self.connections[other as usize],
                false => {
                    self.first.push(at as u32);
                    self.first.len() as u32 - 1
                }
            };
        }
    }

    fn list_episodes(&mut self) {
        let mut episodes = Vec::new();
        for (at, flow) in self.in_memory() {
            let own = episodes_of(flow).iter().zip(0..);
            episodes.extend(own.map(|(episode, n)| (episode.start, episode.first_frame, at as u32, n)));
        }
        episodes.sort_unstable();
        self.episodes = episodes;
    }

    /// Calls `show` with the outlines of the wanted flows, in the order of memory. Opposite flows may lie anywhere: they are
    /// prefetched, many at once.
    fn each_of(
        &self,
        is_wanted: impl FnMut(&(usize, &'a Flow)) -> bool,
        mut show: impl FnMut(usize, &report::Flow),
    ) {
        let mut row = report::Flow::default();
        let mut places = self.in_memory().filter(is_wanted).map(|(at, _)| at);
        loop {
            let next: [Option<usize>; MANY] = std::array::from_fn(|_| places.next());
            for peer in next.iter().flatten().filter_map(|&at| self.peer(at)) {
                self.flow(peer).requests.fetch_losses();
            }
            for &at in next.iter().flatten() {
                self.outline(at, &mut row);
                show(at, &row);
            }
            if next.last().is_none_or(Option::is_none) {
                return;
            }
        }
    }

    /// All flows and their places, in the order of memory.
    pub(crate) fn in_memory(&self) -> impl Iterator<Item = (usize, &'a Flow)> {
        let retired =
            (0..).zip(&self.order).filter_map(|(at, &n)| Some((at, &*self.retired.get(n as usize)?.flow)));
        let here = self.places.iter().map(|&at| at as usize).zip(self.flows);
        retired.chain(here.filter(|(_, flow)| flow.packets > 0))
    }

    /// A flow by its number: retired flows come first.
    fn numbered(&self, n: u32) -> &'a Flow {
        let n = n as usize;
        match self.retired.get(n) {
            Some(retired) => &retired.flow,
            None => &self.flows[n - self.retired.len()],
        }
    }

    /// The flow at a place of the report.
    pub(crate) fn flow(&self, at: usize) -> &'a Flow {
        self.numbered(self.order[at])
    }

    /// The number in the table of the flow at a place; `None` for retired flows.
    fn id(&self, at: usize) -> Option<FlowId> {
        self.order[at].checked_sub(self.retired.len() as u32).map(FlowId)
    }

    /// The place of the opposite flow.
    fn peer(&self, at: usize) -> Option<usize> {
        self.id(at)?;
        self.flow(at).peer.map(|peer| self.places[peer.0 as usize] as usize)
    }

    /// The opposite flow of the one at a place.
    pub(super) fn opposite(&self, at: usize) -> Option<&'a Flow> {
        self.peer(at).map(|peer| self.flow(peer))
    }

    /// The place in the report of a flow of the table.
    pub(crate) fn place(&self, id: FlowId) -> Option<usize> {
        self.places.get(id.0 as usize).map(|&at| at as usize)
    }

    /// Prefetches the state for the next rows, many at once: it may lie anywhere in memory.
    #[inline]
    fn fetch_ahead(&self, at: usize) {
        if !at.is_multiple_of(MANY) {
            return;
        }
        let next = || self.order.iter().skip(at).take(MANY).map(|&n| self.numbered(n));
        for flow in next() {
            flow.fetch_all();
        }
        for flow in next() {
            flow.requests.sizes.fetch();
        }
    }

    /// The whole row of the flow at a place.
    pub(crate) fn report(&self, at: usize) -> report::Flow {
        let peer = self.peer(at).map(|peer| self.flow(peer));
        let mut row = rows::flow_report(self.flow(at), peer, self.verified);
        self.narrow(at, &mut row);
        if let Some(step_ns) = self.step_ns {
            rows::leave_out_short(&mut row, step_ns);
        }
        self.end_of(at, &mut row);
        row.retry = rows::retry(&self.ending(at), row.gave_up.as_ref());
        if let Some((application, by)) = self.applications.get().and_then(|all| all.get(&at)) {
            (row.application, row.application_by) = (Some(application.clone()), by.clone());
        }
        if row.retry.is_none() && row.requests.packets > 0 && row.service == report::Service::Rc {
            row.why.insert("retry".into(), Reason::TooFew);
        }
        row.connection = self.connection(at);
        row.visibility = self.visibility(self.flow(at));
        if row.visibility.is_none() {
            row.why.insert("visibility".into(), Reason::Unpaired);
        }
        if self.flow(at).is_shed {
            row.why.insert("detail".into(), Reason::MemoryLimit);
        }
        if self.retired.get(self.order[at] as usize).is_some_and(|retired| retired.evicted) {
            row.why.insert("evicted".into(), Reason::PartialPath);
        }
        row
    }

    /// What the tap showed of a flow's connection; `None` if that is not known.
    fn visibility(&self, flow: &Flow) -> Option<Visibility> {
        if flow.evidence > 0 {
            return Some(Visibility::TwoWay);
        }
        // Unreliable services have no answers. A packet in the other direction may be of the opposite flow.
        if !flow.service.is_reliable() || self.goes(&flow.key.reverse(0)) {
            return None;
        }
        match (flow.completeness & REQUESTS > 0, flow.completeness & RESPONSES > 0) {
            (true, true) => Some(Visibility::OneWay),
            (true, false) => Some(Visibility::RequestsOnly),
            (false, true) => Some(Visibility::ResponsesOnly),
            (false, false) => None,
        }
    }

    /// Whether any packet goes from the source of a key to its destination. Hashes that are equal by chance make the result missing,
    /// not wrong.
    pub(super) fn goes(&self, key: &Key) -> bool {
        let hash = |key: &Key| FixedState::default().hash_one(key.with_queue_pair(0));
        let all = || self.alike().kinds().map(|at| hash(&self.flow(at).key)).collect();
        self.directions.get_or_init(all).contains(&hash(key))
    }

    /// Whether flows are in several virtual networks: then one is named with its own.
    pub(super) fn has_several_networks(&self) -> bool {
        let several = || {
            let mut networks = self.alike().kinds().map(|at| self.flow(at).key.vni());
            networks.next().is_some_and(|first| networks.any(|other| other != first))
        };
        *self.several_networks.get_or_init(several)
    }

    /// Which flows are alike.
    pub(super) fn alike(&self) -> &Alike {
        self.alike.get_or_init(|| Alike::new(self.order.len(), self.in_memory(), |at| self.flow(at)))
    }

    /// Writes the counts of the flow at a place into a row that is new, or holds an older [outline](rows::outline).
    fn outline(&self, at: usize, row: &mut report::Flow) {
        let peer = self.peer(at).map(|peer| self.flow(peer));
        rows::outline(row, self.flow(at), peer, self.verified);
        self.narrow(at, row);
        self.end_of(at, row);
        row.connection = self.connection(at);
    }

    /// Whether a flow's sender marks all packets itself. A queue does not mark every packet from the first one on, in both directions, or
    /// of a flow that sends little; but one that stands above its threshold does, and then it marks those of others too.
    fn sets_ce(&self, at: usize) -> bool {
        const ENOUGH: u64 = 16;
        const LITTLE_BPS: u64 = 1_000_000_000;
        let flow = self.flow(at);
        let all = |flow: &Flow| flow.signals().ecn_ce >= ENOUGH && is_all_marked(flow);
        let is_slow = || {
            let ns = flow.last_time.saturating_sub(flow.first_time).max(0) as u64;
            bit_rate(flow.wire_bytes, ns) < LITTLE_BPS
        };
        let is_alone = || {
            let queues = self.queues.get_or_init(|| Queues::of(self.in_memory().map(|(_, flow)| flow)));
            !queues.may_mark(flow)
        };
        all(flow) && (is_slow() && is_alone() || self.peer(at).is_some_and(|peer| all(self.flow(peer))))
    }

    fn ending(&self, at: usize) -> Ending<'a> {
        let back = self.peer(at).map(|peer| self.flow(peer));
        Ending { beside: self.beside, flow: self.flow(at), back }
    }

    /// Writes into a row how the requester gave up. Its last messages were sent, and not completed.
    fn end_of(&self, at: usize, row: &mut report::Flow) {
        let last_words =
            || self.last_words.get_or_init(|| LastWords::of(self.in_memory().map(|(_, flow)| flow)));
        row.sets_ce = self.sets_ce(at);
        row.gave_up = self.ending(at).gave_up(last_words);
        let requests = &self.flow(at).requests;
        row.unanswered_tries = requests.tries_without_end().filter(|_| row.gave_up.is_none());
        let is_over = row.gave_up.is_some() || row.unanswered_tries.is_some();
        let messages = if is_over { requests.unacknowledged().min(row.messages.completed) } else { 0 };
        row.messages.completed -= messages;
        row.messages.open += messages;
    }

    /// Packets that a flow lost on the network; `None` where the capture cannot show losses.
    pub(crate) fn lost(&self, id: FlowId) -> Option<report::Bounds> {
        // Several metrics ask, of all flows.
        let of = |(id, flow): (u32, &Flow)| (flow.packets > 0).then(|| self.loss_of(FlowId(id)))?;
        let all = || (0..).zip(self.flows).map(of).collect();
        *self.lost.get_or_init(all).get(id.0 as usize)?
    }

    fn loss_of(&self, id: FlowId) -> Option<report::Bounds> {
        let at = self.place(id)?;
        let peer = self.peer(at).map(|peer| self.flow(peer));
        let [requests, responses] = rows::losses(self.flow(at), peer);
        report::plus(requests.on_network(), responses.on_network())
    }

    /// The findings about flows.
    pub(crate) fn survey(&self) -> Survey {
        let mut survey = Survey::new();
        let mut sums = std::mem::take(&mut survey.sums);
        let is_wanted = |&(at, flow): &(usize, &Flow)| {
            sums.add(flow, self.connection(at).is_some());
            sums.copies(at, flow);
            if self.sets_ce(at) {
                sums.sets_ce(at, flow);
            }
            Survey::looks_at(flow)
        };
        self.each_of(is_wanted, |at, flow| survey.flow(at, flow, self));
        let late = self.overtaken.get().into_iter().flatten();
        sums.late_behind = late.map(|(&at, late)| (at, late.clone())).collect();
        survey.sums = sums;
        survey
    }

    pub(super) fn connection(&self, at: usize) -> Option<u32> {
        Some(self.connections[at]).filter(|&number| number != NONE)
    }

    /// The losses and timeouts of the flow at a place: of the READ data that it sent, the requester knows them.
    pub(crate) fn episodes_at(&self, at: usize) -> impl Iterator<Item = &'a Episode> + use<'a> {
        let has_peer = self.peer(at).is_some();
        let own = episodes_of(self.flow(at)).iter().filter(move |episode| !(episode.is_of_data && has_peer));
        let asking = self.peer(at).map(|peer| episodes_of(self.flow(peer)));
        own.chain(asking.into_iter().flatten().filter(|episode| episode.is_of_data))
    }
}

/// Packets of a flow's requests that were overtaken between two taps.
#[derive(Clone, Debug)]
pub(crate) struct LateBehind {
    pub(crate) packets: u64,
    /// PSNs by which one was late, at most.
    pub(crate) extent: u32,
    /// Frames of the first ones.
    pub(crate) frames: Vec<u64>,
    /// Episodes that began since the receiver took such a packet for lost, by their first frames, and what was retransmitted in them.
    pub(crate) needless: Vec<u64>,
    pub(crate) resent: u64,
}

impl LateBehind {
    fn of<'a>(late: &[Overtaken], packets: u64, episodes: impl Iterator<Item = &'a Episode>) -> LateBehind {
        const FRAMES: usize = 8;
        /// An answer to it may pass the tap before it does.
        const SOON_NS: i64 = 1_000_000_000;
        let is_it = |episode: &&Episode| {
            let asked = Psn((episode.asked.unwrap_or(episode.x) & 0xff_ffff) as u32);
            episode.trigger == Trigger::Nak
                && !(episode.certain && episode.place == Some(Place::Downstream))
                && late
                    .iter()
                    .any(|one| one.psn == asked && one.time.abs_diff(episode.start) < SOON_NS as u64)
        };
        let (mut needless, mut resent) = (Vec::new(), 0);
        for episode in episodes.filter(is_it) {
            needless.push(episode.first_frame);
            resent += episode.packets;
        }
        LateBehind {
            packets,
            extent: late.iter().map(|one| one.extent).max().unwrap_or(0),
            frames: late.iter().map(|one| one.frame).take(FRAMES).collect(),
            needless,
            resent,
        }
    }
}

fn episodes_of(flow: &Flow) -> &[Episode] {
    flow.requests.more.as_deref().map_or(&[], |more| &more.recovery().episodes)
}

impl List<report::Flow> for Index<'_> {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn row(&self, at: usize) -> Option<Cow<'_, report::Flow>> {
        self.fetch_ahead(at);
        (at < self.order.len()).then(|| Cow::Owned(self.report(at)))
    }

    fn each_outline(&self, show: &mut dyn FnMut(usize, &report::Flow)) {
        self.each_of(|_| true, show);
    }

    fn each_in_trouble(&self, show: &mut dyn FnMut(usize, &report::Flow)) {
        self.each_of(|(_, flow)| !flow.is_quiet(), show);
    }
}

impl List<report::Connection> for Index<'_> {
    fn len(&self) -> usize {
        self.first.len()
    }

    fn row(&self, number: usize) -> Option<Cow<'_, report::Connection>> {
        let at = *self.first.get(number)? as usize;
        let other = self.peer(at)?;
        let ends = [self.ending(at), self.ending(other)];
        Some(Cow::Owned(rows::connection_report(number as u32, &ends, [at, other])))
    }
}

impl List<report::Episode> for Index<'_> {
    fn len(&self) -> usize {
        self.episodes.len()
    }

    fn row(&self, nth: usize) -> Option<Cow<'_, report::Episode>> {
        let &(_, _, at, n) = self.episodes.get(nth)?;
        let at = at as usize;
        let episode = episodes_of(self.flow(at)).get(n as usize)?;
        Some(Cow::Owned(rows::episode_report(episode, at, self.peer(at))))
    }
}
