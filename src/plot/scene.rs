//! Charts as they are drawn: scaled, coloured, with their axes. The data is that of pages.

use std::collections::BTreeMap;

use crate::{
    analyze::metric::timeline::{
        FlowTimeline, STRAGGLER, Timeline, What, pause_chart, pause_senders, waiting_chart,
    },
    in_order::InOrder,
    report::{
        Flow, Storm, View,
        chart::{Band, Chart, Mark, Series, hosts_of_matrix},
        clean,
        figure::Column,
        units::{bytes, count, priority, several},
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
    /// What it shows at least, wherever the data is.
    pub range: Option<[f64; 2]>,
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
    /// Words, in the middle of which the point is.
    Words(Vec<(Point, String)>),
}

/// Data of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its name in the legend; empty where it explains itself.
    pub name: String,
    /// The letter that stands for it where there is no colour.
    pub letter: char,
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

/// The colours of pages (`report/html/page.css`), which the colour-blind tell apart too (Okabe and Ito).
const BLUE: Colour = (0, 114, 178);
const GREEN: Colour = (0, 129, 94);
const VERMILION: Colour = (213, 94, 0);
const RED: Colour = (192, 0, 32);
const MAGENTA: Colour = (208, 0, 144);
const GREY: Colour = (138, 147, 156);
const VIOLET: Colour = (106, 61, 154);
const OCHRE: Colour = (168, 123, 0);
const BROWN: Colour = (122, 75, 30);
const BLACK: Colour = (27, 31, 36);
/// Times in the background.
const WAIT_BAND: Colour = (250, 236, 204);
const PAUSE_BAND: Colour = (245, 228, 237);
const TIMER_BAND: Colour = (225, 236, 247);
/// Colours of layers of one sort.
const MANY: [Colour; 8] =
    [BLUE, (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), VERMILION, (163, 165, 0), GREY];

/// Hosts of the matrix, at most; the others are one.
const HOSTS: usize = 24;
/// So many hosts have room for numbers.
const WITH_NUMBERS: usize = 6;

/// The colours of what ranks wait for.
const WAITS: [(&str, Colour); 10] = [
    ("paused", (204, 121, 167)),
    ("recovering", VERMILION),
    ("receiver_silent", (60, 60, 60)),
    ("sender_late", (86, 180, 233)),
    ("receiver_late", (230, 159, 0)),
    ("one_side_late", (163, 165, 0)),
    ("throttled", VIOLET),
    ("queueing", BROWN),
    ("line_rate", (205, 211, 217)),
    ("transfer", (205, 211, 217)),
];

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
            ..2_000 => (1.0, "ns"),
            2_000..2_000_000 => (1e3, "µs"),
            2_000_000..2_000_000_000 => (1e6, "ms"),
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
        PlotAxis { label: format!("time from the first packet, {}", self.unit), ..PlotAxis::default() }
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

/// The look of series in a chart of PSNs, by their roles: the lowest layer first.
const LOOKS: [(&str, Colour, Form); 17] = [
    ("ack", GREEN, Form::Line),
    ("ack-again", GREEN, Form::Points),
    ("new", BLUE, Form::Line),
    ("response", (58, 155, 217), Form::Line),
    ("again", VERMILION, Form::Points),
    ("late", (176, 86, 138), Form::Points),
    ("copy", GREY, Form::Points),
    ("ambiguous", (184, 134, 11), Form::Points),
    ("corrupt", BLACK, Form::Points),
    ("trimmed", BROWN, Form::Points),
    ("nak", RED, Form::Points),
    ("rnr", (154, 91, 0), Form::Points),
    ("cnp", VIOLET, Form::Edge),
    ("ce", OCHRE, Form::Points),
    ("lost-before", MAGENTA, Form::Gap),
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
            Shape::Words(words) => words.is_empty(),
        };
        if !is_empty {
            let letter = self.letter(name);
            self.layers.push(Layer { name: name.to_owned(), letter, colour, shape });
        }
    }

    /// A letter of the name that no other layer has.
    fn letter(&self, name: &str) -> char {
        let is_free = |letter: &char| self.layers.iter().all(|layer| layer.letter != *letter);
        let letters = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase());
        letters.chain('a'..='z').find(is_free).unwrap_or('*')
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
    pub fn psn(report: &View<'_>, timeline: &Timeline, flow: &FlowTimeline<'_>) -> Scene {
        let clock = Clock::of(flow);
        let mut scene = Scene::over_time(name(&flow.flow), &clock, "PSN from the first");
        let pauses = flow.pauses(report, &timeline.pauses());
        let bands = flow.recovering().chain(flow.waiting()).chain(pauses).collect();
        let Some(chart) = flow.psn_chart(bands) else { return scene };
        let bands = |what: &str| {
            let own = chart.bands.iter().filter(|band: &&Band| band.0 == what);
            Shape::Bands(own.map(|&(_, from, to)| [clock.at(from), clock.at(to)]).collect())
        };
        scene.add("recovery", WAIT_BAND, bands("recovery"));
        scene.add("receiver not ready", TIMER_BAND, bands("RNR wait"));
        scene.add("paused", PAUSE_BAND, bands("pause"));
        let placed = chart.series.iter().filter(|series| series.role != "cnp");
        let lowest = placed.flat_map(|series| &series.marks).map(|mark| mark.2).min().unwrap_or(0) as f64;
        for (role, colour, form) in LOOKS {
            for series in chart.series.iter().filter(|series| series.role == role) {
                scene.add(&series.name, colour, shape(form, &series.marks, &clock, lowest));
            }
        }
        scene
    }

    /// Rate and goodput of a flow over time; retransmissions, marks and CNPs on the axis.
    pub fn rate_of_flow(flow: &FlowTimeline<'_>) -> Scene {
        let from_ns = flow.axis.map_or(0, |axis| axis.origin_ns - flow.start_ns);
        let clock = Clock::new(from_ns, flow.flow.last_ns - flow.start_ns);
        let rates = flow.rate_chart().unwrap_or_default();
        let unit = Unit::of(&RATES, rates.series.iter().flat_map(|series| &series.points));
        let mut scene = Scene::over_time(name(&flow.flow), &clock, unit.name);
        for (series, colour) in rates.series.iter().zip([BLUE, GREEN]) {
            scene.add(&series.name, colour, steps(series, &clock, unit));
        }
        let packets = flow.psn_chart(Vec::new()).unwrap_or_default();
        for (role, colour) in [("again", VERMILION), ("ce", OCHRE), ("cnp", VIOLET)] {
            for series in packets.series.iter().filter(|series| series.role == role) {
                let points = series.marks.iter().map(|mark| (clock.at(mark.0), 0.0));
                scene.add(&series.name, colour, Shape::Points(points.collect()));
            }
        }
        scene
    }

    /// The rate of the whole capture over time, by traffic class; `None` without a packet.
    pub fn rate(report: &View<'_>, timeline: &Timeline) -> Option<Scene> {
        let chart = timeline.class_chart(report)?;
        let clock = Clock::of_capture(report);
        let unit = Unit::of(&RATES, chart.series.iter().flat_map(|series| &series.points));
        let mut scene = Scene::over_time("Traffic by class".into(), &clock, unit.name);
        for (series, colour) in chart.series.iter().zip(MANY.into_iter().cycle()) {
            scene.add(&series.name, colour, steps(series, &clock, unit));
        }
        Some(scene)
    }

    /// Latencies of a flow over time.
    pub fn latency(flow: &FlowTimeline<'_>) -> Scene {
        let clock = Clock::of(flow);
        let charts: Vec<Chart> = What::ALL.into_iter().filter_map(|what| flow.latency_chart(what)).collect();
        let all = || charts.iter().flat_map(|chart| &chart.series);
        let unit = Unit::of(&TIMES, all().flat_map(|series| &series.points));
        let mut scene = Scene::over_time(name(&flow.flow), &clock, unit.name);
        for (series, colour) in all().zip(MANY) {
            let points = series.points.iter();
            let points =
                points.filter_map(|&(ns, took_ns)| Some((clock.at(ns), took_ns? as f64 / unit.size)));
            scene.add(&series.name, colour, Shape::Points(points.collect()));
        }
        scene
    }

    /// Hosts by hosts: from the left, to the bottom; the shade is the share of the largest number of bytes. Few hosts have their numbers, of many
    /// losses and retransmissions have a mark. Of too many hosts the first ones by bytes are shown, and whom each exchanges most with.
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
        let mut names: Vec<&str> = hosts.keys().map(String::as_str).collect();
        names.order_by_key(|host| std::cmp::Reverse(hosts[*host]));
        let title = match names.len().saturating_sub(HOSTS) {
            0 => "Bytes from host (left) to host (below)".to_owned(),
            more => format!(
                "Bytes from host (left) to host (below); {} not shown",
                several(more as u64, "more host")
            ),
        };
        let pairs = sums.iter().map(|((src, dst), sum)| (&**src, &**dst, sum[0]));
        let mut names = hosts_of_matrix(names, pairs, HOSTS);
        names.sort_unstable();
        let at = |host: &str| names.binary_search(&host).ok().map(|at| at as f64);
        let most = sums.values().map(|sum| sum[0]).max().unwrap_or(0).max(1);
        let (mut cells, mut words, mut lost, mut resent) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for ((src, dst), &[sent, losses, resends]) in &sums {
            let (Some(y), Some(x)) = (at(src), at(dst)) else { continue };
            cells.push(([(x - 0.5, y - 0.5), (x + 0.5, y + 0.5)], sent as f64 / most as f64));
            let shown =
                [bytes(sent), format!("at least {} lost", count(losses)), several(resends, "retransmission")];
            let shown = shown.into_iter().zip([sent, losses, resends]).filter(|(_, number)| *number > 0);
            words.extend(shown.zip([0.2, 0.0, -0.2]).map(|((text, _), above)| ((x, y + above), text)));
            if losses > 0 {
                lost.push((x - 0.2, y));
            }
            if resends > 0 {
                resent.push((x + 0.2, y));
            }
        }
        let names: Vec<String> = names.iter().map(|host| clean(host).into_owned()).collect();
        let axis = |label: &str| PlotAxis { label: label.into(), names: names.clone(), range: None };
        let mut scene = Scene { title, x: axis("to"), y: axis("from"), layers: Vec::new() };
        scene.add(&format!("bytes, darkest: {}", bytes(most)), BLUE, Shape::Cells(cells));
        if names.len() <= WITH_NUMBERS {
            scene.add("", BLACK, Shape::Words(words));
        } else {
            scene.add("losses", BLACK, Shape::Points(lost));
            scene.add("retransmissions", VERMILION, Shape::Points(resent));
        }
        scene
    }

    /// What each rank of a collective waited for over time, and who was waited for; without layers, where there is no such traffic.
    pub fn waits(report: &View<'_>) -> Scene {
        let clock = Clock::of_capture(report);
        let mut scene = Scene::over_time("Who waited for what".into(), &clock, "rank that waited");
        let Some(chart) = waiting_chart(report) else { return scene };
        scene.y.names = chart.rows;
        for series in &chart.series {
            let (name, colour, half) = match WAITS.iter().find(|(role, _)| *role == series.role) {
                Some(&(_, colour)) => (&series.name, colour, 0.4),
                None if series.role == STRAGGLER => (&series.name, BLACK, 0.12),
                None => (&series.name, GREY, 0.4),
            };
            let cell = |&(from_ns, to_ns, row, ..): &Mark| {
                ([(clock.at(from_ns), row as f64 - half), (clock.at(to_ns), row as f64 + half)], 1.0)
            };
            scene.add(name, colour, Shape::Cells(series.marks.iter().map(cell).collect()));
        }
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
        // Without the link's speed nobody knows when a pause ends: it is its beginning.
        let is_timed = chart.series.iter().flat_map(|series| &series.marks).any(|mark| mark.1 > mark.0);
        let name = if is_timed { "pause" } else { "XOFF: its pause's end needs the link's speed (--speed)" };
        scene.add(name, MANY[3], Shape::Cells(cells.collect()));
        // The whole capture: what was not paused is seen too.
        let last = report.head.capture.last_ns.unwrap_or(first);
        scene.x.range = Some([0.0, clock.at(last.saturating_sub(first))]);
        let mut storms = Vec::new();
        for row in report.head.pause.iter().flatten() {
            let name = format!("{} {}", row.sender_name(), priority(row.priority));
            let Some(at) = scene.y.names.iter().position(|own| own.ends_with(&name)) else { continue };
            let end = |ns: i64, y: f64| (clock.at(ns.saturating_sub(first)), at as f64 + y);
            let cell = |storm: &Storm| ([end(storm.start_ns, -0.15), end(storm.end_ns, 0.15)], 1.0);
            storms.extend(row.storms.iter().flatten().map(cell));
        }
        scene.add("storm: a PFC watchdog would fire", RED, Shape::Cells(storms));
        scene
    }
}

/// A unit of an axis.
#[derive(Clone, Copy, Debug)]
struct Unit {
    name: &'static str,
    size: f64,
}

const TIMES: [Unit; 4] = [
    Unit { name: "ns", size: 1.0 },
    Unit { name: "µs", size: 1e3 },
    Unit { name: "ms", size: 1e6 },
    Unit { name: "s", size: 1e9 },
];
const RATES: [Unit; 4] = [
    Unit { name: "bit/s", size: 1.0 },
    Unit { name: "kbit/s", size: 1e3 },
    Unit { name: "Mbit/s", size: 1e6 },
    Unit { name: "Gbit/s", size: 1e9 },
];

impl Unit {
    /// The largest one of these that the largest value has twice.
    fn of<'a>(units: &[Unit; 4], points: impl Iterator<Item = &'a (i64, Option<u64>)>) -> Unit {
        let most = points.filter_map(|(_, value)| *value).max().unwrap_or(0) as f64;
        units.iter().rev().copied().find(|unit| most >= 2.0 * unit.size).unwrap_or(units[0])
    }
}

/// Values over time as a path: each holds until the next one.
fn steps(series: &Series, clock: &Clock, unit: Unit) -> Shape {
    let mut path: Vec<Point> = Vec::with_capacity(2 * series.points.len());
    for &(ns, value) in &series.points {
        let (x, y) = (clock.at(ns), value.unwrap_or(0) as f64 / unit.size);
        path.extend(path.last().map(|&(_, before)| (x, before)));
        path.push((x, y));
    }
    // The last bin ends; nothing falls to 0 then.
    path.pop();
    Shape::Path(path)
}
