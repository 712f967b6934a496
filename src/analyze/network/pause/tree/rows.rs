//! What the report says of pause trees.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    super::{PauseSource, violations::Hosts, ways::Ways},
    ALL, Node, REACTION_NS, SourceSpans, Span, Stream,
    cycles::{Cycle, cycles},
    nodes, streams,
    topology::{Tapped, Topology},
};
use crate::{
    analyze::{
        model::{Address, Links},
        network::{interfaces::Interfaces, neighbors::Neighbors},
    },
    in_order::InOrder,
    report::{
        Capture, Confidence, Congestion, HostStorm, PauseCulprit, PauseDeadlock, PauseEdge, PauseLink,
        PauseSender, PauseTree, Reason,
    },
};

/// Rows that are listed of a kind, and cycles.
const MAX_LISTED: usize = 1024;
const MAX_DEADLOCKS: usize = 64;
/// Interfaces that may be tapped.
const MAX_INTERFACES: usize = 4096;
/// A host's storm is paused for more than so many hundredths of its time.
const STORM_DUTY: i128 = 90;
/// And lasts so long, if that is most of the capture.
const STORM_NS: i64 = 10_000_000;

/// What pauses are put together from.
pub(in super::super) struct TreeInput<'a> {
    pub(in super::super) asked: Vec<SourceSpans>,
    /// Pauses that are not in it.
    pub(in super::super) not_kept: u64,
    pub(in super::super) links: Option<&'a Links>,
    pub(in super::super) interfaces: &'a Interfaces,
    pub(in super::super) neighbors: &'a Neighbors,
    /// How long a watchdog waits.
    pub(in super::super) detect_ns: i64,
}

impl TreeInput<'_> {
    /// The tree, or why there is none.
    pub(in super::super) fn tree(
        self,
        capture: &Capture,
        congestion: &Congestion,
        ways: &Ways,
    ) -> Result<PlacedTree, Reason> {
        let mut numbers: BTreeSet<u16> = self.asked.iter().map(|one| one.source.interface).collect();
        numbers.extend(self.neighbors.all().iter().map(|one| one.interface));
        numbers.extend((0..self.interfaces.len().min(MAX_INTERFACES)).map(|number| number as u16));
        let only = <&[String; 1]>::try_from(&capture.files[..]).ok().map(|[file]| &**file);
        let tapped = |&number: &u16| Tapped {
            number,
            name: self.interfaces.name(number),
            file: self.interfaces.file(number).or(only),
        };
        let tapped: Vec<Tapped<'_>> = numbers.iter().map(tapped).collect();
        let topology = Topology::new(self.links, self.neighbors, &tapped);
        let is_seen = topology.links.iter().any(|link| !link.interfaces.is_empty());
        if !is_seen && self.links.is_none() {
            return Err(Reason::NoTopology);
        }
        let sources: Vec<PauseSource> = self.asked.iter().map(|one| one.source).collect();
        let (streams, unplaced) = streams(self.asked, &topology);
        let nodes = nodes(&streams, &topology);
        let cycles = cycles(&streams, &topology);
        let rows =
            Rows { ways, interfaces: self.interfaces, topology: &topology, streams: &streams, nodes: &nodes };
        let (culprits, victims) = rows.culprits(&cycles);
        let positions = sources.into_iter().filter_map(|source| {
            let place = topology.place(source.interface, source.sender)?;
            let at =
                streams.iter().position(|stream| (stream.place, stream.priority) == (place, source.priority));
            let [pausing, paused] = [place.by, place.of].map(|end| topology.hosts_at(place.link, end));
            let hosts = Hosts { pausing, paused };
            let culprits = at.and_then(|at| victims.get(&at)).cloned().unwrap_or_default();
            Some((source, LinkPosition { device: topology.name(place.by), hosts, culprits }))
        });
        let positions = positions.collect();
        let mut tree = PauseTree {
            links: rows.links(),
            edges: rows.edges(),
            culprits,
            deadlocks: cycles
                .iter()
                .take(MAX_DEADLOCKS)
                .map(|one| rows.deadlock(one, self.detect_ns))
                .collect(),
            host_storms: rows.host_storms(self.detect_ns, capture, congestion, ways),
            unplaced: unplaced
                .into_iter()
                .take(MAX_LISTED)
                .map(|(interface, sender)| PauseSender {
                    link: self.interfaces.name(interface),
                    sender: sender.to_string(),
                })
                .collect(),
            taps_not_seen: Topology::not_seen(self.links, &tapped),
            pauses_not_kept: self.not_kept,
            ..PauseTree::default()
        };
        if tree.links.iter().filter(|link| !link.interfaces.is_empty()).count() < 2 {
            for field in ["edges", "deadlocks"] {
                tree.why.insert(field.into(), Reason::OneLink);
            }
        }
        let device = |name: &str| topology.addresses_of(name);
        let culprit_addresses = tree.culprits.iter().map(|culprit| device(&culprit.device)).collect();
        Ok(PlacedTree { tree, positions, culprit_addresses })
    }
}

/// The tree, and where the sources of pauses are.
#[derive(Debug)]
pub(in super::super) struct PlacedTree {
    pub(in super::super) tree: PauseTree,
    pub(in super::super) positions: BTreeMap<PauseSource, LinkPosition>,
    /// Addresses of the culprits that are hosts.
    pub(in super::super) culprit_addresses: Vec<Vec<Address>>,
}

/// At which end of a link a source of pauses is.
#[derive(Debug)]
pub(crate) struct LinkPosition {
    /// The name of the device.
    pub(in super::super) device: String,
    pub(in super::super) hosts: Hosts,
    /// Whose pauses these are.
    pub(crate) culprits: Vec<Share>,
}

/// Pauses of a stream that one culprit has.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// Its place in the tree.
    pub(crate) culprit: usize,
    /// They are its own; else it caused them.
    pub(crate) is_own: bool,
    /// In the order of time, without overlaps.
    spans: Vec<(i64, i64)>,
}

impl Share {
    /// For how long they held between two times.
    pub(crate) fn between(&self, from: i64, to: i64) -> u64 {
        let within = |&(start, end): &(i64, i64)| end.min(to).saturating_sub(start.max(from)).max(0) as u64;
        self.spans.iter().map(within).sum()
    }
}

impl LinkPosition {
    /// Whether packets from one address to another come from the end that sends the pauses: they do not stop them.
    pub(crate) fn come_from_pausing(&self, src: Address, dst: Address) -> bool {
        self.hosts.is_from_paused(src, dst) == Some(false)
    }
}

/// By stream of pauses, whose they are.
type CulpritsOf = BTreeMap<usize, Vec<Share>>;

struct Rows<'a> {
    ways: &'a Ways,
    interfaces: &'a Interfaces,
    topology: &'a Topology,
    streams: &'a [Stream],
    nodes: &'a [Node],
}

fn priority(number: u8) -> Option<u8> {
    Some(number).filter(|&number| number < ALL)
}

fn length(span: Span) -> u64 {
    span.end.saturating_sub(span.start).max(0) as u64
}

impl Rows<'_> {
    fn links(&self) -> Vec<PauseLink> {
        let one = |link: &super::topology::Link| {
            let [a, b] = &link.ends;
            PauseLink {
                interfaces: link.interfaces.iter().map(|&number| self.interfaces.name(number)).collect(),
                a: self.topology.name(a.device),
                a_port: a.port.clone(),
                b: self.topology.name(b.device),
                b_port: b.port.clone(),
                by: link.by,
            }
        };
        self.topology.links.iter().map(one).collect()
    }

    fn edges(&self) -> Vec<PauseEdge> {
        // With how many began soon after their cause.
        let mut edges: BTreeMap<(usize, usize), (PauseEdge, u64)> = BTreeMap::new();
        for node in self.nodes {
            let Some(cause) = node.cause.and_then(|cause| self.nodes.get(cause)) else { continue };
            let (from, to) = (&self.streams[cause.stream], &self.streams[node.stream]);
            let delay = node.span.start.saturating_sub(cause.span.start).max(0);
            let new = || {
                let edge = PauseEdge {
                    priority: priority(to.priority),
                    cause: self.topology.name(from.place.by),
                    device: self.topology.name(to.place.by),
                    paused: self.topology.name(to.place.of),
                    cause_link: self.interfaces.name(from.interface),
                    link: self.interfaces.name(to.interface),
                    start_ns: node.span.start,
                    end_ns: node.span.end,
                    delay_least_ns: delay as u64,
                    frame: node.span.frame,
                    cause_frame: cause.span.frame,
                    ..PauseEdge::default()
                };
                (edge, 0)
            };
            let (edge, soon) = edges.entry((cause.stream, node.stream)).or_insert_with(new);
            edge.pauses += 1;
            edge.paused_ns = edge.paused_ns.saturating_add(length(node.span));
            edge.end_ns = edge.end_ns.max(node.span.end);
            *soon += (node.is_again || delay <= REACTION_NS) as u64;
            if !node.is_again {
                edge.delay_least_ns = edge.delay_least_ns.min(delay as u64);
                edge.delay_most_ns = edge.delay_most_ns.max(delay as u64);
            }
        }
        let sure = |(mut edge, soon): (PauseEdge, u64)| {
            if soon * 2 > edge.pauses {
                edge.confidence = Confidence::Likely;
            }
            edge
        };
        let mut edges: Vec<PauseEdge> = edges.into_values().map(sure).collect();
        edges.order_by_key(|edge| (Reverse(edge.paused_ns), edge.frame));
        edges.truncate(MAX_LISTED);
        edges
    }

    /// The culprits; and by stream of pauses, whose they are.
    fn culprits(&self, cycles: &[Cycle]) -> (Vec<PauseCulprit>, CulpritsOf) {
        let mut all: BTreeMap<(usize, u8), Culprit> = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let Some(root) = self.nodes.get(node.root) else { continue };
            let (of, place) = (&self.streams[root.stream], self.streams[node.stream].place);
            let culprit = all.entry((of.place.by, of.priority)).or_insert_with(|| Culprit::new(at, node));
            let ns = length(node.span);
            let spans = culprit.streams.entry((node.stream, node.cause.is_none())).or_default();
            spans.push((node.span.start, node.span.end));
            if node.cause.is_none() {
                culprit.pauses += 1;
                culprit.paused_ns = culprit.paused_ns.saturating_add(ns);
                culprit.end = culprit.end.max(node.span.end);
                culprit.direct.insert(place.of);
                culprit.links.insert(place.link);
            } else {
                culprit.caused_pauses += 1;
                culprit.caused_ns = culprit.caused_ns.saturating_add(ns);
                culprit.indirect.insert(place.of);
            }
            if node.depth > culprit.deepest.0 {
                culprit.deepest = (node.depth, at);
            }
        }
        let mut all: Vec<_> = all
            .into_iter()
            .map(|((device, of), mut culprit)| {
                let streams = std::mem::take(&mut culprit.streams);
                (self.culprit(device, of, culprit, cycles), streams)
            })
            .collect();
        all.order_by_key(|(one, _)| (Reverse(one.caused_ns), Reverse(one.paused_ns), one.frame));
        all.truncate(MAX_LISTED);
        let mut victims = CulpritsOf::new();
        let mut culprits = Vec::with_capacity(all.len());
        for (at, (culprit, streams)) in all.into_iter().enumerate() {
            culprits.push(culprit);
            for ((stream, is_own), spans) in streams {
                victims.entry(stream).or_default().push(Share { culprit: at, is_own, spans });
            }
        }
        (culprits, victims)
    }

    fn culprit(&self, device: usize, of: u8, culprit: Culprit, cycles: &[Cycle]) -> PauseCulprit {
        let name = |device: &usize| self.topology.name(*device);
        let indirect = culprit.indirect.difference(&culprit.direct).filter(|&&other| other != device);
        let mut chain = Vec::new();
        let mut at = Some(culprit.deepest.1);
        while let Some(node) = at.and_then(|at| self.nodes.get(at)) {
            chain.push(name(&self.streams[node.stream].place.of));
            at = node.cause;
        }
        chain.push(name(&device));
        chain.reverse();
        let is_in_cycle = |cycle: &Cycle| {
            (cycle.priority == of || of == ALL)
                && cycle.devices.contains(&device)
                && cycle.start <= culprit.end
                && cycle.end >= culprit.first.start
        };
        // Links on which it could have been paused: those in the capture on which it did not begin.
        let could_be_paused = self.topology.links.iter().enumerate().any(|(at, link)| {
            !link.interfaces.is_empty()
                && !culprit.links.contains(&at)
                && link.ends.iter().any(|end| end.device == device)
                && link
                    .ends
                    .iter()
                    .any(|end| end.device != device && !culprit.victims().any(|one| one == end.device))
                && self.leads_on(device, &culprit.links, at)
        });
        let is_host = self.topology.devices.get(device).and_then(|device| device.is_host);
        PauseCulprit {
            device: name(&device),
            is_host,
            priority: priority(of),
            pauses: culprit.pauses,
            paused_ns: culprit.paused_ns,
            start_ns: culprit.first.start,
            end_ns: culprit.end,
            direct: culprit.direct.iter().map(name).collect(),
            indirect: indirect.map(name).collect(),
            flows: Vec::new(),
            flow_count: 0,
            caused_ns: culprit.caused_ns,
            caused_pauses: culprit.caused_pauses,
            chain,
            frame: culprit.first.frame,
            is_in_deadlock: cycles.iter().any(is_in_cycle),
            confidence: match is_host == Some(true) || could_be_paused {
                true => Confidence::Likely,
                false => Confidence::Possible,
            },
        }
    }

    /// Whether packets that a device's pauses on some links stop go on by another one of its links, as far as the capture shows.
    fn leads_on(&self, device: usize, paused: &BTreeSet<usize>, other: usize) -> bool {
        let links = &self.topology.links;
        let Some(there) = links.get(other) else { return false };
        let goes = |&link: &usize| {
            let hosts_of = |is_pausing: bool| {
                let end = links.get(link)?.ends.iter().find(|end| (end.device == device) == is_pausing)?;
                Some(self.topology.hosts_at(link, end.device))
            };
            let [pausing, paused] = [true, false].map(|is| hosts_of(is).unwrap_or_default());
            let hosts = Hosts { pausing, paused };
            let from = links.get(link).map_or(&[][..], |link| &link.interfaces);
            self.ways.go_on(from, &there.interfaces, |src, dst| hosts.is_from_paused(src, dst) != Some(false))
        };
        let all: Vec<bool> = paused.iter().filter_map(goes).collect();
        all.is_empty() || all.contains(&true)
    }

    fn deadlock(&self, cycle: &Cycle, detect_ns: i64) -> PauseDeadlock {
        PauseDeadlock {
            priority: priority(cycle.priority),
            devices: cycle.devices.iter().map(|&device| self.topology.name(device)).collect(),
            began_by: self.topology.name(cycle.began_by),
            times: cycle.times,
            start_ns: cycle.start,
            end_ns: cycle.end,
            all_paused_ns: cycle.all_ns,
            longest_ns: cycle.longest_ns,
            confidence: match cycle.longest_ns as i128 >= detect_ns as i128 {
                true => Confidence::Likely,
                false => Confidence::Possible,
            },
        }
    }

    fn host_storms(
        &self,
        detect_ns: i64,
        capture: &Capture,
        congestion: &Congestion,
        ways: &Ways,
    ) -> Vec<HostStorm> {
        let lasted =
            capture.last_ns.zip(capture.first_ns).map_or(0, |(last, first)| last.saturating_sub(first));
        let one = |stream: &Stream| {
            let host =
                self.topology.devices.get(stream.place.by).filter(|host| host.is_host == Some(true))?;
            let (start, end, paused, frame) = longest_stretch(&stream.spans)?;
            let span = end.saturating_sub(start);
            let is_most = span as i128 * 100 > lasted as i128 * STORM_DUTY;
            if span < detect_ns && (span < STORM_NS || !is_most) {
                return None;
            }
            let addresses: Vec<String> = host.addresses.iter().map(ToString::to_string).collect();
            // Without the host's addresses, any mark may be for it.
            let is_its = |dst: &String| addresses.is_empty() || addresses.contains(dst);
            let is_marked =
                congestion.flows.iter().any(|flow| is_its(&flow.dst) && flow.ce_packets + flow.cnps > 0);
            let is_sent_to = (!addresses.is_empty()).then(|| ways.lead_to(&host.addresses));
            (!is_marked).then(|| HostStorm {
                host: host.name.clone(),
                priority: priority(stream.priority),
                link: self.interfaces.name(stream.interface),
                start_ns: start,
                end_ns: end,
                duty_ratio: paused as f64 / span.max(1) as f64,
                frame,
                is_sent_to,
                confidence: match congestion.ect_packets > 0 && is_sent_to != Some(false) {
                    true => Confidence::Likely,
                    false => Confidence::Possible,
                },
            })
        };
        self.streams.iter().filter_map(one).take(MAX_LISTED).collect()
    }
}

/// The longest time that was paused for more than 90 %: its beginning, its end, how long it was paused, and its first frame.
fn longest_stretch(spans: &[Span]) -> Option<(i64, i64, i64, u64)> {
    let mut longest: Option<(i64, i64, i64, u64)> = None;
    let mut now: Option<(i64, i64, i64, u64)> = None;
    for span in spans {
        let paused = span.end.saturating_sub(span.start);
        let joined = now.map(|(start, _, sum, frame)| (start, span.end, sum.saturating_add(paused), frame));
        let holds = |&(start, end, sum, _): &(i64, i64, i64, u64)| {
            sum as i128 * 100 > (end as i128 - start as i128) * STORM_DUTY
        };
        let next = joined.filter(holds).unwrap_or((span.start, span.end, paused, span.frame));
        now = Some(next);
        let since = |(start, end, ..): (i64, i64, i64, u64)| end.saturating_sub(start);
        if longest.is_none_or(|longest| since(next) > since(longest)) {
            longest = now;
        }
    }
    longest
}

/// What began at one device.
struct Culprit {
    pauses: u64,
    paused_ns: u64,
    first: Span,
    end: i64,
    direct: BTreeSet<usize>,
    indirect: BTreeSet<usize>,
    /// Links on which it began.
    links: BTreeSet<usize>,
    caused_ns: u64,
    caused_pauses: u64,
    /// The pause with the most causes before it.
    deepest: (u32, usize),
    /// Its pauses by stream, and whether they are its own.
    streams: BTreeMap<(usize, bool), Vec<(i64, i64)>>,
}

impl Culprit {
    fn new(at: usize, node: &Node) -> Culprit {
        Culprit {
            pauses: 0,
            paused_ns: 0,
            first: node.span,
            end: node.span.end,
            direct: BTreeSet::new(),
            indirect: BTreeSet::new(),
            links: BTreeSet::new(),
            caused_ns: 0,
            caused_pauses: 0,
            deepest: (0, at),
            streams: BTreeMap::new(),
        }
    }

    fn victims(&self) -> impl Iterator<Item = usize> + '_ {
        self.direct.iter().chain(&self.indirect).copied()
    }
}
