//! Charts as they are drawn: scaled, coloured, with their axes. The data is that of pages.

use std::collections::BTreeMap;

use crate::{
    analyze::metric::timeline::{FlowTimeline, Timeline, What, pause_chart, pause_senders},
    report::{
        Flow, View,
        chart::{Band, Chart, Mark, Series},
        clean,
        figure::Column,
        units::{priority, several},
    },
};

/// A point of a picture: x and y.
pub type Point = (f64, f64);
/// Red, green, blue.
pub type Colour = (u8, u8, u8);

/// One axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlotAxis {
    /// What it shows, with the unit.
    pub label: String,
    /// Names of the places 0, 1, 2, …, for an axis of names.
    pub names: Vec<String>,
}

/// How the data of a layer is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Lines, each between two points.
    Lines(Vec<[Point; 2]>),
    /// One line through all points.
    Path(Vec<Point>),
    /// Points.
    Points(Vec<Point>),
    /// Spans of the horizontal axis, over the whole height.
    Bands(Vec<[f64; 2]>),
    /// Rectangles: two opposite corners, and a shade from 0 to 1.
    Cells(Vec<([Point; 2], f64)>),
}

/// Data of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its name in the legend.
    pub name: String,
    /// Its colour.
    pub colour: Colour,
    /// The data.
    pub shape: Shape,
}

/// The data of one picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// Its title.
    pub title: String,
    /// The horizontal axis.
    pub x: PlotAxis,
    /// The vertical axis.
    pub y: PlotAxis,
    /// Its data, the lowest layer first. Layers without data are not there.
    pub layers: Vec<Layer>,
}

const GREY: Colour = (150, 150, 150);
const BLUE: Colour = (31, 119, 180);
const RED: Colour = (214, 39, 40);
const ORANGE: Colour = (255, 127, 14);
const GREEN: Colour = (44, 160, 44);
const PURPLE: Colour = (148, 103, 189);
const BROWN: Colour = (140, 86, 75);
const PINK: Colour = (227, 119, 194);
/// Colours of layers of one sort.
const MANY: [Colour; 8] = [BLUE, ORANGE, GREEN, RED, PURPLE, BROWN, PINK, GREY];

/// Hosts of the matrix, at most; the others are one.
const HOSTS: usize = 24;

/// Times of charts from a beginning, in a unit that suits their length.
#[derive(Clone, Copy, Debug)]
struct Clock {
    from_ns: i64,
    unit_ns: f64,
    unit: &'static str,
}

impl Clock {
    fn new(from_ns: i64, to_ns: i64) -> Clock {
        let (unit_ns, unit) = match to_ns.saturating_sub(from_ns) {
            ..20_000 => (1.0, "ns"),
            20_000..20_000_000 => (1e3, "µs"),
            20_000_000..20_000_000_000 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        Clock { from_ns, unit_ns, unit }
    }

    /// From a flow's first packet on.
    fn of(flow: &FlowTimeline<'_>) -> Clock {
        Clock::new(flow.flow.first_ns - flow.start_ns, flow.flow.last_ns - flow.start_ns)
    }

    /// From the capture's first frame on.
    fn of_capture(report: &View<'_>) -> Clock {
        let (first, last) =
            (report.head.capture.first_ns.unwrap_or(0), report.head.capture.last_ns.unwrap_or(0));
        Clock::new(0, last.saturating_sub(first))
    }

    fn at(&self, ns: i64) -> f64 {
        ns.saturating_sub(self.from_ns) as f64 / self.unit_ns
    }

    fn axis(&self) -> PlotAxis {
        PlotAxis { label: format!("time from the first packet, {}", self.unit), names: Vec::new() }
    }
}

fn name(flow: &Flow) -> String {
    clean(&format!("{} → {} QP {:#x}", flow.src, flow.dst, flow.dest_qp)).into_owned()
}

/// How marks are drawn.
#[derive(Clone, Copy)]
enum Form {
    /// A line from the first packet to the last.
    Line,
    /// Points at both.
    Points,
    /// Points on the lower edge: they have no PSN.
    Edge,
    /// Lines over the PSNs that are missing, where it shows.
    Gap,
    /// Points where it shows.
    Start,
}

const BLACK: Colour = (0, 0, 0);

/// The look of series in a chart of PSNs, by their roles: the lowest layer first.
const LOOKS: [(&str, Colour, Form); 17] = [
    ("ack", GREEN, Form::Line),
    ("ack-again", GREEN, Form::Points),
    ("new", BLUE, Form::Line),
    ("response", BLUE, Form::Line),
    ("again", RED, Form::Points),
    ("late", ORANGE, Form::Points),
    ("copy", GREY, Form::Points),
    ("ambiguous", PINK, Form::Points),
    ("corrupt", BROWN, Form::Points),
    ("trimmed", BROWN, Form::Points),
    ("nak", (120, 0, 0), Form::Points),
    ("rnr", PURPLE, Form::Points),
    ("cnp", BLACK, Form::Edge),
    ("ce", (188, 160, 20), Form::Points),
    ("lost-before", BLACK, Form::Gap),
    ("lost", GREY, Form::Gap),
    ("lost-after", BLACK, Form::Start),
];

/// A look's shape of these marks. `lowest`: the lower edge.
fn shape(form: Form, marks: &[Mark], clock: &Clock, lowest: f64) -> Shape {
    let ends = |&(from_ns, to_ns, from, to, ..): &Mark| {
        [(clock.at(from_ns), from as f64), (clock.at(to_ns), to as f64)]
    };
    let gap =
        |&(ns, _, from, to, ..): &Mark| [(clock.at(ns), from as f64 - 0.4), (clock.at(ns), to as f64 + 0.4)];
    let points = |[a, b]: [Point; 2]| if a == b { vec![a] } else { vec![a, b] };
    match form {
        Form::Line => Shape::Lines(marks.iter().map(ends).collect()),
        Form::Points => Shape::Points(marks.iter().map(ends).flat_map(points).collect()),
        Form::Edge => {
            let at_edge = |[(a, _), (b, _)]: [Point; 2]| points([(a, lowest), (b, lowest)]);
            Shape::Points(marks.iter().map(ends).flat_map(at_edge).collect())
        }
        Form::Gap => Shape::Lines(marks.iter().map(gap).collect()),
        Form::Start => Shape::Points(marks.iter().map(|mark| ends(mark)[0]).collect()),
    }
}

impl Scene {
    fn add(&mut self, name: &str, colour: Colour, shape: Shape) {
        let is_empty = match &shape {
            Shape::Lines(lines) => lines.is_empty(),
            Shape::Path(points) | Shape::Points(points) => points.is_empty(),
            Shape::Bands(bands) => bands.is_empty(),
            Shape::Cells(cells) => cells.is_empty(),
        };
        if !is_empty {
            self.layers.push(Layer { name: name.to_owned(), colour, shape });
        }
    }

    fn over_time(title: String, clock: &Clock, y: &str) -> Scene {
        Scene {
            title,
            x: clock.axis(),
            y: PlotAxis { label: y.into(), ..PlotAxis::default() },
            layers: Vec::new(),
        }
    }

    /// PSN over time, after tcptrace: each packet where it was sent, the line of acknowledgements below, losses, NAKs and marks, and
    /// the times of recovery and waiting as bands.
    pub fn psn(flow: &FlowTimeline<'_>) -> Scene {
        let clock = Clock::of(flow);
        let mut scene = Scene::over_time(name(&flow.flow), &clock, "PSN from the first");
        let Some(chart) = flow.psn_chart(flow.recovering().chain(flow.waiting()).collect()) else {
            return scene;
        };
        let bands = |what: &str| {
            let own = chart.bands.iter().filter(|band: &&Band| band.0 == what);
            Shape::Bands(own.map(|&(_, from, to)| [clock.at(from), clock.at(to)]).collect())
        };
        scene.add("recovery", (255, 224, 178), bands("recovery"));
        scene.add("receiver not ready", (225, 213, 240), bands("RNR wait"));
        let placed = chart.series.iter().filter(|series| series.role != "cnp");
        let lowest = placed.flat_map(|series| &series.marks).map(|mark| mark.2).min().unwrap_or(0) as f64;
        for (role, colour, form) in LOOKS {
            for series in chart.series.iter().filter(|series| series.role == role) {
                scene.add(&series.name, colour, shape(form, &series.marks, &clock, lowest));
            }
        }
        scene
    }

    /// Rate and goodput of a flow over time, in Gbit/s; retransmissions, marks and CNPs on the axis.
    pub fn rate_of_flow(flow: &FlowTimeline<'_>) -> Scene {
        let from_ns = flow.axis.map_or(0, |axis| axis.origin_ns - flow.start_ns);
        let clock = Clock::new(from_ns, flow.flow.last_ns - flow.start_ns);
        let mut scene = Scene::over_time(name(&flow.flow), &clock, "Gbit/s");
        let Some(rates) = flow.rate_chart() else { return scene };
        for (series, colour) in rates.series.iter().zip([GREY, BLUE]) {
            scene.add(&series.name, colour, gigabits(series, &clock));
        }
        let packets = flow.psn_chart(Vec::new()).unwrap_or_default();
        for (role, colour) in [("again", RED), ("ce", ORANGE), ("cnp", BLACK)] {
            for series in packets.series.iter().filter(|series| series.role == role) {
                let points = series.marks.iter().map(|mark| (clock.at(mark.0), 0.0));
                scene.add(&series.name, colour, Shape::Points(points.collect()));
            }
        }
        scene
    }

    /// The rate of the whole capture over time, by traffic class, in Gbit/s; `None` without a packet.
    pub fn rate(report: &View<'_>, timeline: &Timeline) -> Option<Scene> {
        let chart = timeline.class_chart(report)?;
        let clock = Clock::of_capture(report);
        let mut scene = Scene::over_time("Traffic by class".into(), &clock, "Gbit/s");
        for (series, colour) in chart.series.iter().zip(MANY.into_iter().cycle()) {
            scene.add(&series.name, colour, gigabits(series, &clock));
        }
        Some(scene)
    }

    /// Latencies of a flow over time, in microseconds.
    pub fn latency(flow: &FlowTimeline<'_>) -> Scene {
        let clock = Clock::of(flow);
        let mut scene = Scene::over_time(name(&flow.flow), &clock, "µs");
        for (what, colour) in What::ALL.into_iter().zip(MANY) {
            for series in flow.latency_chart(what).iter().flat_map(|chart: &Chart| &chart.series) {
                let points = series.points.iter().map(|&(ns, took_ns)| (clock.at(ns), took_ns as f64 / 1e3));
                scene.add(&series.name, colour, Shape::Points(points.collect()));
            }
        }
        scene
    }

    /// Hosts by hosts: from the left, to the top; the shade is the share of the largest number of bytes. Losses and retransmissions have a
    /// mark. Hosts beyond the first ones by bytes are not shown.
    pub fn matrix(report: &View<'_>) -> Scene {
        const FIGURES: [Column; 3] =
            [Column::named("wire_bytes"), Column::named("lost"), Column::named("retransmits")];
        let mut sums: BTreeMap<(String, String), [u64; 3]> = BTreeMap::new();
        let mut hosts: BTreeMap<String, u64> = BTreeMap::new();
        for flow in report.flows.iter() {
            let sums = sums.entry((flow.src.clone(), flow.dst.clone())).or_default();
            for (sum, figure) in sums.iter_mut().zip(FIGURES) {
                *sum += figure.least(&flow);
            }
            for host in [&flow.src, &flow.dst] {
                *hosts.entry(host.clone()).or_default() += flow.wire_bytes;
            }
        }
        let mut names: Vec<String> = hosts.keys().cloned().collect();
        names.sort_by_key(|host| std::cmp::Reverse(hosts[host]));
        let title = match names.len().saturating_sub(HOSTS) {
            0 => "Bytes from host (left) to host (below)".to_owned(),
            more => format!(
                "Bytes from host (left) to host (below); {} not shown",
                several(more as u64, "more host")
            ),
        };
        names.truncate(HOSTS);
        names.sort();
        let at = |host: &String| names.binary_search(host).ok().map(|at| at as f64);
        let most = sums.values().map(|sum| sum[0]).max().unwrap_or(0).max(1) as f64;
        let (mut cells, mut lost, mut resent) = (Vec::new(), Vec::new(), Vec::new());
        for ((src, dst), [bytes, losses, resends]) in &sums {
            let (Some(y), Some(x)) = (at(src), at(dst)) else { continue };
            cells.push(([(x - 0.5, y - 0.5), (x + 0.5, y + 0.5)], *bytes as f64 / most));
            if *losses > 0 {
                lost.push((x - 0.2, y));
            }
            if *resends > 0 {
                resent.push((x + 0.2, y));
            }
        }
        let names: Vec<String> = names.iter().map(|host| clean(host).into_owned()).collect();
        let axis = |label: &str| PlotAxis { label: label.into(), names: names.clone() };
        let mut scene = Scene { title, x: axis("to"), y: axis("from"), layers: Vec::new() };
        scene.add("bytes", BLUE, Shape::Cells(cells));
        scene.add("losses", (0, 0, 0), Shape::Points(lost));
        scene.add("retransmissions", RED, Shape::Points(resent));
        scene
    }

    /// Pauses over time, a row for each sender and priority.
    pub fn pause(report: &View<'_>, timeline: &Timeline) -> Scene {
        let first = report.head.capture.first_ns.unwrap_or(0);
        let clock = Clock::of_capture(report);
        let mut scene = Scene::over_time("Pauses".into(), &clock, "who asked for a pause");
        let sender = pause_senders(report);
        let chart = pause_chart(&timeline.pauses(), first, |pause| {
            format!("if{} {} {}", pause.interface, sender(pause), priority(pause.priority))
        });
        let Some(chart) = chart else { return scene };
        scene.y.names = chart.series.iter().map(|series| series.name.clone()).collect();
        let cell = |&(from_ns, to_ns, row, ..): &Mark| {
            ([(clock.at(from_ns), row as f64 - 0.4), (clock.at(to_ns), row as f64 + 0.4)], 1.0)
        };
        let cells = chart.series.iter().flat_map(|series| &series.marks).map(cell);
        scene.add("pause", RED, Shape::Cells(cells.collect()));
        scene
    }
}

/// Bits per second as a path in Gbit/s: each value holds until the next one.
fn gigabits(series: &Series, clock: &Clock) -> Shape {
    let mut path: Vec<Point> = Vec::with_capacity(2 * series.points.len());
    for &(ns, bits) in &series.points {
        let (x, y) = (clock.at(ns), bits as f64 / 1e9);
        path.extend(path.last().map(|&(_, before)| (x, before)));
        path.push((x, y));
    }
    // The last bin ends; nothing falls to 0 then.
    path.pop();
    Shape::Path(path)
}
