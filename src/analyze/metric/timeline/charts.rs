//! Pictures of flows and of the capture as data for renderers: [`report::chart`].

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    Axis, Bin, Bins, FlowTimeline, Kind, Loss, Place, Stretch, Timeline, What, interface_bit, waiting_chart,
};
use crate::{
    analyze::{model::Space, network::Paused},
    in_order::InOrder,
    report::{
        self, Location, Summary, View,
        chart::{self, Band, Chart, Mark, Series, Style},
        units::priority,
    },
    wire::Psn,
};

/// Marks and points of all pictures together, about: beyond them, no flow gets a picture.
const MOST_MARKS: usize = 60_000;
/// Flows in the chart of all of them.
const MOST_STACKED: usize = 8;

/// Series of a flow's events, with their roles.
const EVENTS: [(Kind, &str); 11] = [
    (Kind::Again, "again"),
    (Kind::Late, "late"),
    (Kind::Copy, "copy"),
    (Kind::Ambiguous, "ambiguous"),
    (Kind::Corrupt, "corrupt"),
    (Kind::Trimmed, "trimmed"),
    (Kind::AckAgain, "ack-again"),
    (Kind::Nak, "nak"),
    (Kind::RnrNak, "rnr"),
    (Kind::Cnp, "cnp"),
    (Kind::Ce, "ce"),
];

/// Series of losses, with their roles.
const PLACES: [(Place, &str); 3] =
    [(Place::BeforeTap, "lost-before"), (Place::AfterTap, "lost-after"), (Place::NotSeen, "lost")];

impl Timeline {
    /// The pictures of the capture, of the flows `wanted`, and of up to `most` others: those in trouble first, then the largest.
    /// There are fewer where their detail is too much for a page.
    pub fn charts(&self, report: &View<'_>, wanted: &[usize], most: usize) -> Vec<chart::Picture> {
        let mut flows = wanted.to_vec();
        flows.extend(self.chosen(report, 2 * most).into_iter().filter(|at| !wanted.contains(at)));
        let paused = self.pauses();
        let mut all = vec![self.whole(report, &flows, &paused)];
        let (mut marks, mut drawn) = (0, Vec::new());
        for at in flows {
            let is_wanted = wanted.contains(&at);
            if !is_wanted && (drawn.len() >= most + wanted.len() || marks >= MOST_MARKS) {
                break;
            }
            let Some(flow) = self.flow(report, at) else { continue };
            // Of a flow that only acknowledges, all is in its opposite's picture.
            let sends = flow.line.sent[Space::Request as usize].stretches().len();
            let other = flow.flow.connection.and_then(|id| report.connections.row(id as usize));
            let is_shown = other.is_some_and(|pair| pair.flows.iter().any(|flow| drawn.contains(flow)));
            if sends == 0 && is_shown && !is_wanted {
                continue;
            }
            let picture = flow.picture(at, flow.pauses(report, &paused));
            let size = |series: &Series| series.marks.len() + series.points.len();
            marks += picture.charts.iter().flat_map(|chart| &chart.series).map(size).sum::<usize>();
            drawn.push(at);
            all.push(picture);
        }
        all.retain(|picture| !picture.charts.is_empty());
        all
    }

    /// The charts of the whole capture.
    fn whole(&self, report: &View<'_>, flows: &[usize], paused: &[Paused]) -> chart::Picture {
        let start_ns = start(report);
        let sender = pause_senders(report);
        let pauses =
            pause_chart(paused, start_ns, |pause| format!("{} {}", sender(pause), priority(pause.priority)));
        let charts =
            [waiting_chart(report), self.class_chart(report), self.goodput_chart(report, flows), pauses];
        let charts = charts.into_iter().flatten().collect();
        chart::Picture { title: "The whole capture".into(), charts, ..Default::default() }
    }

    /// The rate of the whole capture by traffic class; `None` without a packet.
    pub fn class_chart(&self, report: &View<'_>) -> Option<Chart> {
        let (axis, classes) = self.classes()?;
        let width_ns = widest(classes.values());
        let series = classes.iter().map(|(dscp, bins)| {
            let name = dscp.map_or("no DSCP".into(), |dscp| format!("DSCP {dscp}"));
            points(&name, "class", rate(&widened(bins, width_ns), axis, start(report), |bin| bin.l1_bytes))
        });
        let about = "Bits on the wire per second, stacked by DSCP.";
        chart("Rate by traffic class", about, Style::Stacked, "bps", series.collect())
    }

    fn goodput_chart(&self, report: &View<'_>, flows: &[usize]) -> Option<Chart> {
        let (axis, classes) = self.classes()?;
        let flows = flows.iter().filter_map(|&at| Some((at, report.flows.row(at)?)));
        let lines = flows.filter_map(|(at, flow)| Some((at, self.line_for(&flow)?, flow)));
        let lines = lines.filter(|(.., flow)| flow.goodput_bytes > 0).take(MOST_STACKED);
        let lines: Vec<_> = lines.collect();
        // A peak in a shorter bin would be higher than the rate of all traffic.
        let width_ns = widest(lines.iter().map(|(_, line, _)| &line.bins).chain(classes.values()));
        let series = lines.iter().map(|(at, line, flow)| {
            let name = format!("#{at} {} → {} QP {}", flow.src, flow.dst, flow.queue_pair());
            let bins = widened(&line.bins, width_ns);
            points(&name, "class", rate(&bins, axis, start(report), |bin| bin.goodput_bytes))
        });
        let about = "First-time payload per second of the flows below, stacked.";
        chart("Goodput by flow", about, Style::Stacked, "bps", series.collect())
    }
}

/// When the capture starts, in nanoseconds since 1970: the time 0 of charts.
fn start(report: &View<'_>) -> i64 {
    report.head.capture.first_ns.unwrap_or(0)
}

/// The names of those who asked for pauses, as the report has them: with the device, where it is known.
pub fn pause_senders(report: &View<'_>) -> impl Fn(&Paused) -> String {
    let rows = report.head.pause.iter().flatten();
    let names: BTreeMap<String, String> = rows.map(|row| (row.sender.clone(), row.sender_name())).collect();
    move |paused| {
        let address = paused.sender.to_string();
        names.get(&address).cloned().unwrap_or(address)
    }
}

/// Pauses over time, a row for each name; `None` without pauses.
pub fn pause_chart(paused: &[Paused], start_ns: i64, name: impl Fn(&Paused) -> String) -> Option<Chart> {
    let mut rows: BTreeMap<String, Vec<&Paused>> = BTreeMap::new();
    for pause in paused {
        rows.entry(name(pause)).or_default().push(pause);
    }
    let series = rows.into_iter().zip(0..).map(|((name, paused), row)| {
        let mark = |p: &Paused| (p.start_ns - start_ns, p.end_ns - start_ns, row, row, p.frames, 0);
        marks(name, "pause", paused.into_iter().map(mark))
    });
    let about = match paused.iter().all(|pause| pause.start_ns == pause.end_ns) {
        true => {
            "When each sender of pause frames asked its neighbour to stop, by priority; for how long is not known."
        }
        false => "When each sender of pause frames stopped its neighbour, by priority.",
    };
    chart("Pauses", about, Style::Marks, "row", series.collect())
}

/// The width of the widest of these bins: what stands on top of each other has one.
fn widest<'a>(all: impl Iterator<Item = &'a Bins>) -> i64 {
    all.map(|bins| bins.get().1).max().unwrap_or(0)
}

fn widened(bins: &Bins, width_ns: i64) -> Cow<'_, Bins> {
    if bins.get().1 >= width_ns {
        return Cow::Borrowed(bins);
    }
    let mut bins = bins.clone();
    bins.widen(width_ns);
    Cow::Owned(bins)
}

/// Bits per second in each bin, and 0 where there is no traffic.
fn rate(bins: &Bins, axis: Axis, start_ns: i64, of: fn(&Bin) -> u64) -> Vec<(i64, Option<u64>)> {
    steps(bins, axis, start_ns, Some(0), |bin, width_ns| of(bin) as f64 * 8e9 / width_ns as f64)
}

/// The value of each bin from its start on; that of `nothing` from the end of a bin that has no neighbour.
fn steps(
    bins: &Bins,
    axis: Axis,
    start_ns: i64,
    nothing: Option<u64>,
    of: impl Fn(&Bin, i64) -> f64,
) -> Vec<(i64, Option<u64>)> {
    let (bins, width_ns) = bins.get();
    let axis = Axis { width_ns, ..axis };
    let at = |bin: u32| axis.start_ns(bin) - start_ns;
    let mut points = Vec::with_capacity(bins.len() + 1);
    for (bin, next) in bins.iter().zip(bins.iter().skip(1).map(Some).chain([None])) {
        points.push((at(bin.at), Some(of(bin, width_ns).round() as u64)));
        if next.is_none_or(|next| next.at > bin.at + 1) {
            points.push((at(bin.at + 1), nothing));
        }
    }
    points
}

/// PSNs as numbers that do not wrap: each is counted from a first transmission near it in time.
struct Unwrapped {
    base: u32,
    /// Time, PSN, and number of first transmissions.
    known: Vec<(i64, u32, i64)>,
}

impl Unwrapped {
    fn new(stretches: &[Stretch]) -> Unwrapped {
        let base = stretches.first().map_or(0, |first| first.from_psn);
        let (mut psn, mut number) = (base, 0);
        let mut known = Vec::with_capacity(stretches.len());
        for stretch in stretches {
            number += Psn(stretch.to_psn).distance_from(Psn(psn)) as i64;
            psn = stretch.to_psn;
            known.push((stretch.to_ns, psn, number));
        }
        known.order_by_key(|(ns, ..)| *ns);
        Unwrapped { base, known }
    }

    fn number(&self, psn: u32, ns: i64) -> i64 {
        let next = self.known.partition_point(|(at, ..)| *at <= ns);
        let near = self.known.get(next.saturating_sub(1)).copied().unwrap_or((0, self.base, 0));
        near.2 + Psn(psn).distance_from(Psn(near.1)) as i64
    }

    fn mark(&self, stretch: &Stretch, start_ns: i64) -> Mark {
        let from = self.number(stretch.from_psn, stretch.from_ns);
        let reach = Psn(stretch.to_psn).distance_from(Psn(stretch.from_psn)) as i64;
        let times = (stretch.from_ns - start_ns, stretch.to_ns - start_ns);
        (times.0, times.1, from, from + reach, stretch.packets.into(), stretch.frame)
    }
}

impl FlowTimeline<'_> {
    /// The pauses, of all in the capture, that may have stopped it: those of its priority, where that is known, on links that it passes.
    pub fn pauses(&self, report: &View<'_>, paused: &[Paused]) -> Vec<Band> {
        let classes = &report.head.traffic_classes;
        let class = classes.iter().find(|class| class.dscp.is_some() && class.dscp == self.line.dscp);
        let its = class.and_then(|class| class.priority);
        let fits = |pause: &&Paused| {
            let is_of_priority = pause.priority.is_none() || its.is_none() || pause.priority == its;
            is_of_priority && self.line.interfaces & interface_bit(pause.interface) != 0
        };
        let band = |pause: &Paused| ("pause", self.time(pause.start_ns), self.time(pause.end_ns));
        paused.iter().filter(fits).map(band).collect()
    }

    /// Its charts and distributions. `pauses`: those that may have stopped it; `at`: the flow's place in the report.
    fn picture(&self, at: usize, pauses: Vec<Band>) -> chart::Picture {
        let packets = self.psn_chart(self.waiting().chain(pauses).collect());
        let mut charts: Vec<Chart> = [packets, self.rate_chart(), self.gap_chart(), self.outstanding_chart()]
            .into_iter()
            .flatten()
            .collect();
        // A single value is in the table of distributions.
        let is_many = |chart: &Chart| chart.series.iter().any(|series| series.points.len() > 1);
        charts.extend(What::ALL.into_iter().filter_map(|what| self.latency_chart(what)).filter(is_many));
        let title = format!("Flow {at}: {} → {} QP {:#x}", self.flow.src, self.flow.dst, self.flow.dest_qp);
        chart::Picture { flow: Some(at), title, charts, facts: self.facts() }
    }

    /// A time as in charts.
    fn time(&self, ns: i64) -> i64 {
        ns.saturating_sub(self.start_ns)
    }

    /// Bands of a chart: the sender waits for a receiver that is not ready.
    pub fn waiting(&self) -> impl Iterator<Item = Band> {
        self.waits.iter().map(|wait| {
            let end = wait.end_ns.unwrap_or(wait.start_ns.saturating_add(wait.asked_ns as i64));
            ("RNR wait", self.time(wait.start_ns), self.time(end))
        })
    }

    /// Bands of a chart: the flow recovers from a loss.
    pub fn recovering(&self) -> impl Iterator<Item = Band> {
        self.episodes.iter().map(|episode| {
            let lasted = episode.recovered_ns.map_or(0, |ns| i64::try_from(ns).unwrap_or(i64::MAX));
            let end_ns = episode.start_ns.saturating_add(lasted);
            ("recovery", self.time(episode.start_ns), self.time(end_ns))
        })
    }

    /// PSN over time, after tcptrace, with these bands; `None` without a packet.
    pub fn psn_chart(&self, bands: Vec<Band>) -> Option<Chart> {
        let sent = self.line.sent[Space::Request as usize].stretches();
        let responses = self.back.map_or(&[][..], |back| back.sent[Space::Response as usize].stretches());
        let acks = self.back.map_or(&[][..], |back| back.acks.stretches());
        let numbers = Unwrapped::new(if sent.is_empty() { responses } else { sent });
        let ordinary = [
            (Kind::New.name(), "new", sent),
            ("response", "response", responses),
            (Kind::Ack.name(), "ack", acks),
        ];
        let ordinary = ordinary.into_iter().map(|(name, role, stretches)| {
            marks(name.into(), role, stretches.iter().map(|stretch| numbers.mark(stretch, self.start_ns)))
        });
        let mut series: Vec<Series> = ordinary.collect();
        series.extend(EVENTS.into_iter().map(|(kind, role)| {
            let events = self.events(kind).map(|event| numbers.mark(event, self.start_ns));
            marks(kind.name().into(), role, events)
        }));
        let losses = located(&self.losses, &self.episodes);
        series.extend(PLACES.into_iter().map(|(place, role)| {
            let own = losses.iter().filter(|loss| loss.space == Space::Request && loss.place == place);
            marks(format!("lost {}", place.name()), role, own.map(|loss| self.lost(loss, &numbers)))
        }));
        series.retain(|series| !series.marks.is_empty());
        let about = "Strokes are packets that follow each other. A loss is drawn from the moment it shows to its retransmission. CNPs are on the \
                     lower edge.";
        let drawn = chart("PSN over time", about, Style::Marks, "psn", series)?;
        Some(Chart { base: numbers.base, bands, ..drawn })
    }

    /// What happened to its requests, and what came back: responses, answers.
    fn events(&self, kind: Kind) -> impl Iterator<Item = &Stretch> {
        let is_answer = matches!(kind, Kind::AckAgain | Kind::Nak | Kind::RnrNak | Kind::Cnp);
        let own = self.line.events.stretches().iter();
        let own = own.filter(move |event| !is_answer && event.space == Space::Request);
        let back = self.back.into_iter().flat_map(|back| back.events.stretches());
        let back = back.filter(move |event| is_answer || event.space == Space::Response);
        own.chain(back).filter(move |event| event.kind == kind)
    }

    /// A loss, from the moment it shows to its retransmission.
    fn lost(&self, loss: &Loss, numbers: &Unwrapped) -> Mark {
        let number = numbers.number(loss.psn, loss.ns);
        let last = number + loss.packets.max(1) as i64 - 1;
        let (end_ns, frame) = loss.resent.unwrap_or((loss.ns, 0));
        (self.time(loss.ns), self.time(end_ns), number, last, loss.packets.into(), frame)
    }

    /// The value of each bin over time, and that of `nothing` between them; `None` without bins.
    fn steps(&self, nothing: Option<u64>, of: impl Fn(&Bin, i64) -> f64) -> Option<Vec<(i64, Option<u64>)>> {
        let axis = self.axis.filter(|_| !self.line.bins.get().0.is_empty())?;
        Some(steps(&self.line.bins, axis, self.start_ns, nothing, of))
    }

    /// Rate and goodput; `None` without a packet.
    pub fn rate_chart(&self) -> Option<Chart> {
        let rate =
            |of: fn(&Bin) -> u64| self.steps(Some(0), |bin, width_ns| of(bin) as f64 * 8e9 / width_ns as f64);
        let series = vec![
            points("rate", "rate", rate(|bin| bin.l1_bytes)?),
            points("goodput", "goodput", rate(|bin| bin.goodput_bytes)?),
        ];
        let about = "Bits on the wire, and first-time payload, per second.";
        chart("Rate and goodput", about, Style::Steps, "bps", series)
    }

    fn gap_chart(&self) -> Option<Chart> {
        // A bin without packets is not kept.
        let gaps = self.steps(None, |bin, width_ns| width_ns as f64 / bin.packets.max(1) as f64);
        let about = "The mean over each interval that has packets; nothing is drawn where there are none.";
        chart("Time between packets", about, Style::Steps, "ns", vec![points("mean gap", "rate", gaps?)])
    }

    fn outstanding_chart(&self) -> Option<Chart> {
        let known: Vec<_> = self.outstanding.iter().map(|&(ns, n)| (self.time(ns), Some(n.into()))).collect();
        let series = (!known.is_empty()).then(|| points("outstanding", "rate", known));
        let about = "Requests sent and not acknowledged yet: the most in each interval.";
        chart("Outstanding packets", about, Style::Steps, "count", series.into_iter().collect())
    }

    /// Latencies of one kind, one by one; `None` if there are none.
    pub fn latency_chart(&self, what: What) -> Option<Chart> {
        let l = &self.flow.latency_ns;
        let (about, percentiles) = match what {
            What::AckRtt => (
                "From a packet to the ACK that covers it. Packets that were retransmitted do not count.",
                l.ack_rtt,
            ),
            What::Message => {
                ("From the first packet of a message to its acknowledgement.", l.message_completion)
            }
            What::ReadFirst => ("From a READ request to its first response.", l.read_first),
            What::ReadLast => ("From a READ request to its last response.", l.read_last),
        };
        let samples = &self.line.latency[what as usize];
        let kept = samples.samples().iter().map(|one| (self.time(one.to_ns), Some(one.took_ns())));
        let mut kept: Vec<_> = kept.collect();
        kept.sort_unstable();
        if kept.is_empty() {
            return None;
        }
        let about = match samples.measured.div_ceil(kept.len() as u64) {
            1 => about.to_owned(),
            n => format!("{about} The longest of each {n} or so is drawn."),
        };
        let drawn = chart(what.title(), &about, Style::Dots, "ns", vec![points(what.name(), "rate", kept)])?;
        Some(Chart { percentiles, ..drawn })
    }

    /// Distributions: name, unit, figures.
    fn facts(&self) -> Vec<(&'static str, &'static str, Summary)> {
        let l = &self.flow.latency_ns;
        let facts = [
            ("packet to ACK", "ns", l.ack_rtt),
            ("message completion", "ns", l.message_completion),
            ("READ to first response", "ns", l.read_first),
            ("READ to last response", "ns", l.read_last),
            ("gap to NAK", "ns", l.nak_generation),
            ("NAK to retransmission", "ns", l.nak_reaction),
            ("message size", "bytes", self.flow.messages.size_bytes),
        ];
        facts.into_iter().filter_map(|(name, unit, summary)| Some((name, unit, summary?))).collect()
    }
}

/// A chart; `None` without series.
fn chart(
    title: &'static str,
    about: &str,
    style: Style,
    unit: &'static str,
    series: Vec<Series>,
) -> Option<Chart> {
    let about = about.to_owned();
    (!series.is_empty()).then(|| Chart { title, about, style, unit, series, ..Chart::default() })
}

fn marks(name: String, role: &'static str, marks: impl Iterator<Item = Mark>) -> Series {
    Series { name, role, marks: marks.collect(), ..Series::default() }
}

fn points(name: &str, role: &'static str, points: Vec<(i64, Option<u64>)>) -> Series {
    Series { name: name.into(), role, points, ..Series::default() }
}

/// The losses, each where the report says that it was. Holes alone do not tell: what was retransmitted may be lost again.
fn located(losses: &[Loss], episodes: &[report::Episode]) -> Vec<Loss> {
    let place = |location: Location| match location {
        Location::Upstream => Some(Place::BeforeTap),
        Location::Downstream | Location::AckPath => Some(Place::AfterTap),
        _ => None,
    };
    let by_nak: BTreeMap<u64, Location> =
        episodes.iter().filter_map(|episode| Some((episode.nak_frame?, episode.location))).collect();
    let known = |loss: &Loss| by_nak.get(&loss.nak?.1).and_then(|&location| place(location));
    let mut losses: Vec<Loss> =
        losses.iter().map(|loss| Loss { place: known(loss).unwrap_or(loss.place), ..*loss }).collect();
    for episode in episodes.iter().filter(|episode| episode.space == report::Space::Request) {
        let Some(place) = place(episode.location) else { continue };
        let psn = episode.lost_psn;
        let has = |loss: &Loss| {
            let reach = 0..loss.packets.max(1) as i64;
            let is_same = loss.space == Space::Request && loss.place == place;
            is_same && reach.contains(&(Psn(psn).distance_from(Psn(loss.psn)) as i64))
        };
        if !losses.iter().any(has) {
            let (ns, space) = (episode.start_ns, Space::Request);
            let resent = Some((ns, episode.first_retransmit_frame));
            losses.push(Loss { space, psn, packets: 1, place, ns, nak: None, resent });
        }
    }
    losses
}
