//! The report's long lists, of which each row is made when it is asked for: a report of a million flows takes no more
//! memory than the flows themselves and some bytes for their order.

use std::{borrow::Cow, cmp::Reverse, sync::Arc};

use serde::{Serialize, Serializer};

use super::{
    Analysis, FlowId, Gone,
    finding::{Sums, Survey},
    flow::Flow,
    results,
    track::request::Episode,
};
use crate::report::analysis::{self as report, List, Reason};

/// Flows, connections and episodes in the report's order.
pub(super) struct Index<'a> {
    gone: &'a [Gone],
    flows: &'a [Flow],
    verified: bool,
    /// Numbers of flows, those put away first, by their place in the report.
    order: Vec<u32>,
    /// A flow's place in the report, by its number in the table.
    places: Vec<u32>,
    /// A flow's connection, by its place in the report.
    connections: Vec<u32>,
    /// The place of a connection's first flow, by the connection's number.
    first: Vec<u32>,
    /// Episodes by time.
    episodes: Vec<At>,
}

/// An episode: when it starts, the first frame, the flow's place, the episode's place among the flow's.
type At = (i64, u64, u32, u32);

/// Flows that are read at once.
const MANY: usize = 16;
/// No connection.
const NONE: u32 = u32::MAX;

impl<'a> Index<'a> {
    pub(super) fn new(analysis: &'a Analysis) -> Index<'a> {
        let (gone, flows) = (&analysis.gone[..], &analysis.flows.flows[..]);
        let all = gone.len() + flows.len();
        let mut index = Index {
            gone,
            flows,
            verified: analysis.options.verify_icrc,
            order: Vec::new(),
            places: vec![0; flows.len()],
            connections: Vec::new(),
            first: Vec::new(),
            episodes: Vec::new(),
        };
        // What is compared most stands side by side. They began in this order, unless some were put away; of packets, most
        // have as many as others have: both takes little of a sort that looks for that.
        let mut order: Vec<(Reverse<u64>, i64, u32)> = (0..all as u32)
            .map(|n| (Reverse(index.numbered(n).packets), index.numbered(n).first_time, n))
            .collect();
        order.sort_by(|&(_, a, m), &(_, b, n)| {
            let rest = |n| (index.numbered(n).key, index.numbered(n).epoch);
            a.cmp(&b).then_with(|| rest(m).cmp(&rest(n)))
        });
        order.sort_by_key(|&(packets, ..)| packets);
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

    /// Numbers the connections in the order of their first flows.
    fn connect(&mut self) {
        self.connections = vec![NONE; self.order.len()];
        // In the order of the table, for it is not in the cache.
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

    /// Shows the outlines of some flows, in the order in which these are in memory: their opposites, which are anywhere, are
    /// read before, many at once.
    fn each_of(
        &self,
        is_wanted: impl FnMut(&(usize, &'a Flow)) -> bool,
        mut see: impl FnMut(usize, &report::Flow),
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
                see(at, &row);
            }
            if next.last().is_none_or(Option::is_none) {
                return;
            }
        }
    }

    /// All flows and their places, in the order in which they are in memory.
    fn in_memory(&self) -> impl Iterator<Item = (usize, &'a Flow)> {
        let gone =
            (0..).zip(&self.order).filter_map(|(at, &n)| Some((at, &*self.gone.get(n as usize)?.flow)));
        gone.chain(self.places.iter().map(|&at| at as usize).zip(self.flows))
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// A flow by its number: those put away come first.
    fn numbered(&self, n: u32) -> &'a Flow {
        let n = n as usize;
        match self.gone.get(n) {
            Some(gone) => &gone.flow,
            None => &self.flows[n - self.gone.len()],
        }
    }

    /// The flow at a place of the report.
    pub(super) fn flow(&self, at: usize) -> &'a Flow {
        self.numbered(self.order[at])
    }

    /// Its number in the table; `None` for those put away.
    fn id(&self, at: usize) -> Option<FlowId> {
        self.order[at].checked_sub(self.gone.len() as u32).map(FlowId)
    }

    /// The place of the opposite flow.
    fn peer(&self, at: usize) -> Option<usize> {
        self.id(at)?;
        self.flow(at).peer.map(|peer| self.places[peer.0 as usize] as usize)
    }

    /// Where a flow of the table stands in the report.
    pub(super) fn place(&self, id: FlowId) -> Option<usize> {
        self.places.get(id.0 as usize).map(|&at| at as usize)
    }

    /// Fetches what the rows from here on will be made of, many at once: they are all over the memory.
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

    /// What is reported of the flow at a place.
    pub(super) fn report(&self, at: usize) -> report::Flow {
        let peer = self.peer(at).map(|peer| self.flow(peer));
        let mut row = results::flow_report(self.flow(at), peer, self.verified);
        row.connection = self.connection(at);
        if self.gone.get(self.order[at] as usize).is_some_and(|gone| gone.evicted) {
            row.why.insert("evicted", Reason::PartialPath);
        }
        row
    }

    /// The same without what takes long to make, into a row that was [an outline](results::outline) before, if anything.
    fn outline(&self, at: usize, row: &mut report::Flow) {
        let peer = self.peer(at).map(|peer| self.flow(peer));
        results::outline(row, self.flow(at), peer, self.verified);
        row.connection = self.connection(at);
    }

    /// What stands out of all flows.
    pub(super) fn survey(&self) -> Survey {
        let mut survey = Survey::default();
        let mut sums = Sums::default();
        let is_in_trouble = |&(at, flow): &(usize, &Flow)| {
            sums.add(flow, self.connection(at).is_some());
            !flow.is_quiet()
        };
        self.each_of(is_in_trouble, |at, flow| survey.flow(at, flow, self));
        survey.sums = sums;
        survey
    }

    fn connection(&self, at: usize) -> Option<u32> {
        Some(self.connections[at]).filter(|&number| number != NONE)
    }

    /// The episodes of the flow at a place, by time.
    pub(super) fn episodes(&self, at: usize) -> Vec<report::Episode> {
        let mut episodes: Vec<_> = episodes_of(self.flow(at)).iter().collect();
        episodes.sort_by_key(|episode| (episode.start, episode.first_frame));
        let is_paired = self.peer(at).is_some();
        episodes.into_iter().map(|episode| results::episode_report(episode, at, is_paired)).collect()
    }
}

fn episodes_of(flow: &Flow) -> &[Episode] {
    flow.requests.more.as_deref().map_or(&[], |more| &more.episodes)
}

/// The report's flows, each made when it is asked for.
#[derive(Clone)]
pub struct Flows<'a>(pub(super) Arc<Index<'a>>);

/// The report's connections, each made when it is asked for.
#[derive(Clone)]
pub struct Connections<'a>(pub(super) Arc<Index<'a>>);

/// The report's episodes, each made when it is asked for.
#[derive(Clone)]
pub struct Episodes<'a>(pub(super) Arc<Index<'a>>);

impl List for Flows<'_> {
    type Row = report::Flow;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn row(&self, at: usize) -> Option<Cow<'_, report::Flow>> {
        self.0.fetch_ahead(at);
        (at < self.len()).then(|| Cow::Owned(self.0.report(at)))
    }

    fn each_outline(&self, see: impl FnMut(usize, &report::Flow)) {
        self.0.each_of(|_| true, see);
    }

    fn each_in_trouble(&self, see: impl FnMut(usize, &report::Flow)) {
        self.0.each_of(|(_, flow)| !flow.is_quiet(), see);
    }
}

impl List for Connections<'_> {
    type Row = report::Connection;

    fn len(&self) -> usize {
        self.0.first.len()
    }

    fn row(&self, number: usize) -> Option<Cow<'_, report::Connection>> {
        let index = &self.0;
        let at = *index.first.get(number)? as usize;
        let other = index.peer(at)?;
        let flows = [index.flow(at), index.flow(other)];
        Some(Cow::Owned(results::connection_report(number as u32, flows, [at, other])))
    }
}

impl List for Episodes<'_> {
    type Row = report::Episode;

    fn len(&self) -> usize {
        self.0.episodes.len()
    }

    fn row(&self, nth: usize) -> Option<Cow<'_, report::Episode>> {
        let &(_, _, at, n) = self.0.episodes.get(nth)?;
        let episode = episodes_of(self.0.flow(at as usize)).get(n as usize)?;
        let at = at as usize;
        Some(Cow::Owned(results::episode_report(episode, at, self.0.peer(at).is_some())))
    }
}

impl Serialize for Flows<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.rows())
    }
}

impl Serialize for Connections<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.rows())
    }
}

impl Serialize for Episodes<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.rows())
    }
}
