//! Pictures of flows and of the capture as data for renderers: [`report::chart`].

use std::{borrow::Cow, collections::BTreeMap};

use super::{Axis, Bin, Bins, Kind, Line, Loss, Picture, Place, Stretch, Timeline, What};
use crate::{
    analyze::{model::Space, network::Paused},
    report::{
        self, Flow, Location, View,
        chart::{Chart, Mark, Series, Style},
        units::priority,
    },
    wire::Psn,
};

/// Marks and points of all pictures together, about: beyond them, no flow gets a picture.
const MOST_MARKS: usize = 60_000;
/// Flows in the chart of all of them.
const MOST_STACKED: usize = 8;

impl Timeline {
    /// The pictures of the capture, of the flows `wanted`, and of up to `most` others: those in trouble first, then the largest.
    /// There are fewer where their detail is too much for a page.
    pub fn charts(&self, report: &View<'_>, wanted: &[usize], most: usize) -> Vec<report::chart::Picture> {
        let start_ns = report.head.capture.first_ns.unwrap_or(0);
        let mut flows = wanted.to_vec();
        flows.extend(self.chosen(report, 2 * most).into_iter().filter(|at| !wanted.contains(at)));
        let paused = self.pauses();
        let mut all = vec![self.whole(report, &flows, &paused, start_ns)];
        let (mut marks, mut drawn) = (0, Vec::new());
        for at in flows {
            let is_wanted = wanted.contains(&at);
            if !is_wanted && (drawn.len() >= most + wanted.len() || marks >= MOST_MARKS) {
                break;
            }
            let Some(picture) = self.picture(report, at) else { continue };
            // Of a flow that only acknowledges, all is in its opposite's picture.
            let sends = picture.line.sent[Space::Request as usize].stretches().len();
            let other = picture.flow.connection.and_then(|id| report.connections.row(id as usize));
            let is_shown = other.is_some_and(|pair| pair.flows.iter().any(|flow| drawn.contains(flow)));
            if sends == 0 && is_shown && !is_wanted {
                continue;
            }
            let axis = self.classes().map(|(axis, _)| axis);
            let picture = of_flow(&picture, at, axis, &paused, start_ns);
            let size = |series: &Series| series.marks.len() + series.points.len();
            marks += picture.charts.iter().flat_map(|chart| &chart.series).map(size).sum::<usize>();
            drawn.push(at);
            all.push(picture);
        }
        all.retain(|picture| !picture.charts.is_empty());
        all
    }

    /// The charts of the whole capture.
    fn whole(
        &self,
        report: &View<'_>,
        flows: &[usize],
        paused: &[Paused],
        start_ns: i64,
    ) -> report::chart::Picture {
        let mut charts = Vec::new();
        let bits = |bins: &Bins, of: fn(&Bin) -> u64| self.rate(bins, start_ns, of);
        if let Some((_, classes)) = self.classes() {
            let series = classes.iter().map(|(dscp, bins)| Series {
                name: dscp.map_or("no DSCP".into(), |dscp| format!("DSCP {dscp}")),
                role: "class",
                points: bits(bins, |bin| bin.l1_bytes),
                ..Series::default()
            });
            charts.push(Chart {
                title: "Rate by traffic class",
                about: "Bits on the wire per second, stacked by DSCP.".into(),
                style: Style::Stacked,
                unit: "bps",
                series: series.collect(),
                ..Chart::default()
            });
        }
        let flows: Vec<(usize, Cow<'_, Flow>)> =
            flows.iter().filter_map(|&at| Some((at, report.flows.row(at)?))).collect();
        let lines = flows.iter().filter_map(|(at, flow)| Some((at, flow, self.line_for(flow)?)));
        let series = lines.filter(|(_, flow, _)| flow.goodput_bytes > 0).take(MOST_STACKED);
        let series: Vec<Series> = series
            .map(|(at, flow, line)| Series {
                name: format!("#{at} {} → {}", flow.src, flow.dst),
                role: "class",
                points: bits(&line.bins, |bin| bin.goodput_bytes),
                ..Series::default()
            })
            .collect();
        if !series.is_empty() {
            charts.push(Chart {
                title: "Goodput by flow",
                about: "First-time payload per second of the flows below, stacked.".into(),
                style: Style::Stacked,
                unit: "bps",
                series,
                ..Chart::default()
            });
        }
        if !paused.is_empty() {
            let mut rows: Vec<String> =
                paused.iter().map(|p| format!("{} {}", p.sender, priority(p.priority))).collect();
            let names = rows.clone();
            rows.sort_unstable();
            rows.dedup();
            let series = rows.iter().enumerate().map(|(row, name)| {
                let own = paused.iter().zip(&names).filter(|(_, of)| *of == name);
                let mark = |p: &Paused| {
                    (p.start_ns - start_ns, p.end_ns - start_ns, row as i64, row as i64, p.frames, 0)
                };
                let marks = own.map(|(paused, _)| mark(paused)).collect();
                Series { name: name.clone(), role: "pause", marks, ..Series::default() }
            });
            charts.push(Chart {
                title: "Pauses",
                about: "When each sender of pause frames stopped its neighbour, by priority.".into(),
                unit: "row",
                series: series.collect(),
                ..Chart::default()
            });
        }
        report::chart::Picture { title: "The whole capture".into(), charts, ..Default::default() }
    }

    /// A value per second in each bin, in bits, and 0 where there is no traffic.
    fn rate(&self, bins: &Bins, start_ns: i64, of: fn(&Bin) -> u64) -> Vec<(i64, u64)> {
        let Some((axis, _)) = self.classes() else { return Vec::new() };
        steps(bins, axis, start_ns, |bin, width_ns| of(bin) as f64 * 8e9 / width_ns as f64)
    }
}

/// The value of each bin from its start on; 0 from the end of a bin that has no neighbour.
fn steps(bins: &Bins, axis: Axis, start_ns: i64, of: impl Fn(&Bin, i64) -> f64) -> Vec<(i64, u64)> {
    let (bins, width_ns) = bins.get();
    let axis = Axis { width_ns, ..axis };
    let at = |bin: u32| axis.start_ns(bin) - start_ns;
    let mut points: Vec<(i64, u64)> = Vec::with_capacity(bins.len() + 1);
    for (bin, next) in bins.iter().zip(bins.iter().skip(1).map(Some).chain([None])) {
        points.push((at(bin.at), of(bin, width_ns) as u64));
        if next.is_none_or(|next| next.at > bin.at + 1) {
            points.push((at(bin.at + 1), 0));
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
        known.sort_by_key(|(ns, ..)| *ns);
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

fn of_flow(
    picture: &Picture<'_>,
    at: usize,
    axis: Option<Axis>,
    paused: &[Paused],
    start_ns: i64,
) -> report::chart::Picture {
    let Picture { flow, line, back, losses, waits, episodes, outstanding } = picture;
    let sent = line.sent[Space::Request as usize].stretches();
    let responses = back.map_or(&[][..], |back| back.sent[Space::Response as usize].stretches());
    let numbers = Unwrapped::new(if sent.is_empty() { responses } else { sent });
    let mut charts = Vec::new();
    let mut series = Vec::new();
    let mut put = |name: &str, role: &'static str, marks: Vec<Mark>| {
        if !marks.is_empty() {
            series.push(Series { name: name.into(), role, marks, ..Series::default() });
        }
    };
    let marks = |stretches: &mut dyn Iterator<Item = &Stretch>| {
        stretches.map(|stretch| numbers.mark(stretch, start_ns)).collect::<Vec<Mark>>()
    };
    put(Kind::New.name(), "new", marks(&mut sent.iter()));
    put("response", "response", marks(&mut responses.iter()));
    if let Some(back) = back {
        put(Kind::Ack.name(), "ack", marks(&mut back.acks.stretches().iter()));
    }
    for (kind, role) in [
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
    ] {
        let is_answer = matches!(kind, Kind::AckAgain | Kind::Nak | Kind::RnrNak | Kind::Cnp);
        let own = line.events.stretches().iter().filter(|e| !is_answer && e.space == Space::Request);
        let answers = back.iter().flat_map(|back: &&Line| back.events.stretches());
        let answers = answers.filter(|e| is_answer || e.space == Space::Response);
        put(kind.name(), role, marks(&mut own.chain(answers).filter(|e| e.kind == kind)));
    }
    let losses = located(losses, episodes);
    for (place, role) in
        [(Place::BeforeTap, "lost-before"), (Place::AfterTap, "lost-after"), (Place::NotSeen, "lost")]
    {
        let mark = |loss: &Loss| {
            let number = numbers.number(loss.psn, loss.ns);
            let last = number + loss.packets.max(1) as i64 - 1;
            let frame = loss.resent.map_or(0, |(_, frame)| frame);
            let end = loss.resent.map_or(loss.ns, |(ns, _)| ns);
            (loss.ns - start_ns, end - start_ns, number, last, loss.packets.into(), frame)
        };
        let own = losses.iter().filter(|loss| loss.space == Space::Request && loss.place == place);
        put(&format!("lost {}", place.name()), role, own.map(mark).collect());
    }
    let mut bands: Vec<(&'static str, i64, i64)> = waits
        .iter()
        .map(|wait| {
            let end = wait.end_ns.unwrap_or(wait.start_ns.saturating_add(wait.asked_ns as i64));
            ("RNR wait", wait.start_ns - start_ns, end - start_ns)
        })
        .collect();
    bands.extend(paused.iter().map(|p| ("pause", p.start_ns - start_ns, p.end_ns - start_ns)));
    if !series.is_empty() {
        charts.push(Chart {
            title: "PSN over time",
            about: "Strokes are packets that follow each other. A loss is drawn from the moment it shows to its retransmission. CNPs are on the lower edge.".into(),
            unit: "psn",
            base: numbers.base,
            series,
            bands,
            ..Chart::default()
        });
    }
    let (bins, _) = line.bins.get();
    let chart = |title, about: &str, style, unit, series| Chart {
        title,
        about: about.into(),
        style,
        unit,
        series,
        ..Chart::default()
    };
    let one = |name: &str, role, points| Series { name: name.into(), role, points, ..Series::default() };
    if let Some(axis) = axis.filter(|_| !bins.is_empty()) {
        let rate = |of: fn(&Bin) -> u64| {
            steps(&line.bins, axis, start_ns, |bin, width_ns| of(bin) as f64 * 8e9 / width_ns as f64)
        };
        let series = vec![
            one("rate", "rate", rate(|bin| bin.l1_bytes)),
            one("goodput", "goodput", rate(|bin| bin.goodput_bytes)),
        ];
        charts.push(chart(
            "Rate and goodput",
            "Bits on the wire, and first-time payload, per second.",
            Style::Steps,
            "bps",
            series,
        ));
        let gaps = steps(&line.bins, axis, start_ns, |bin, width_ns| match bin.packets {
            0 => 0.0,
            n => width_ns as f64 / n as f64,
        });
        let series = vec![one("mean gap", "rate", gaps)];
        charts.push(chart(
            "Time between packets",
            "The mean over each interval that has packets; 0 where there are none.",
            Style::Steps,
            "ns",
            series,
        ));
    }
    if !outstanding.is_empty() {
        let points = outstanding.iter().map(|&(ns, n)| (ns - start_ns, n.into())).collect();
        charts.push(chart(
            "Outstanding packets",
            "Requests sent and not acknowledged yet.",
            Style::Steps,
            "count",
            vec![one("outstanding", "rate", points)],
        ));
    }
    let l = &flow.latency_ns;
    for (what, about, percentiles) in [
        (
            What::AckRtt,
            "From a packet to the ACK that covers it. Packets that were retransmitted do not count.",
            l.ack_rtt,
        ),
        (What::Message, "From the first packet of a message to its acknowledgement.", l.message_completion),
        (What::ReadFirst, "From a READ request to its first response.", l.read_first),
        (What::ReadLast, "From a READ request to its last response.", l.read_last),
    ] {
        let samples = &line.latency[what as usize];
        let mut points: Vec<(i64, u64)> =
            samples.samples().iter().map(|one| (one.to_ns - start_ns, one.took_ns())).collect();
        // One alone is in the table of distributions.
        if points.len() < 2 {
            continue;
        }
        points.sort_unstable();
        let about = match samples.measured.div_ceil(points.len() as u64) {
            1 => about.to_owned(),
            n => format!("{about} The longest of each {n} or so is drawn."),
        };
        let series = vec![one(what.name(), "rate", points)];
        let title = what.title();
        charts.push(Chart { percentiles, ..chart(title, &about, Style::Dots, "ns", series) });
    }
    let facts = [
        ("packet to ACK", "ns", l.ack_rtt),
        ("message completion", "ns", l.message_completion),
        ("READ to first response", "ns", l.read_first),
        ("READ to last response", "ns", l.read_last),
        ("gap to NAK", "ns", l.nak_generation),
        ("NAK to retransmission", "ns", l.nak_reaction),
        ("message size", "bytes", flow.messages.size_bytes),
    ];
    let title = format!("Flow {at}: {} → {} QP {:#x}", flow.src, flow.dst, flow.dest_qp);
    let facts = facts.into_iter().filter_map(|(name, unit, summary)| Some((name, unit, summary?))).collect();
    report::chart::Picture { flow: Some(at), title, charts, facts }
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
