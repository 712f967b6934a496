//! The data of each picture.

use std::collections::BTreeMap;

use crate::{
    analyze::metric::timeline::{Axis, Bins, Hole, Kind, Picture, Place, Stretch, Timeline, What},
    report::{self, Flow, View, clean, units::several},
    wire::Psn,
};

/// One axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ax {
    /// What it shows, with the unit.
    pub label: String,
    /// Names of the places 0, 1, 2, …, for an axis of names.
    pub names: Vec<String>,
}

/// How the data of a layer is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Lines, each between two points.
    Lines(Vec<[(f64, f64); 2]>),
    /// One line through all points.
    Path(Vec<(f64, f64)>),
    /// Points.
    Points(Vec<(f64, f64)>),
    /// Spans of the horizontal axis, over the whole height.
    Bands(Vec<[f64; 2]>),
    /// Rectangles: two opposite corners, and a shade from 0 to 1.
    Cells(Vec<([(f64, f64); 2], f64)>),
}

/// Data of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its name in the legend.
    pub name: String,
    /// Red, green, blue.
    pub colour: (u8, u8, u8),
    /// The data.
    pub shape: Shape,
}

/// The data of one picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// Its title.
    pub title: String,
    /// The horizontal axis.
    pub x: Ax,
    /// The vertical axis.
    pub y: Ax,
    /// Its data, the lowest layer first. Layers without data are not there.
    pub layers: Vec<Layer>,
}

const GREY: (u8, u8, u8) = (150, 150, 150);
const BLUE: (u8, u8, u8) = (31, 119, 180);
const RED: (u8, u8, u8) = (214, 39, 40);
const ORANGE: (u8, u8, u8) = (255, 127, 14);
const GREEN: (u8, u8, u8) = (44, 160, 44);
const PURPLE: (u8, u8, u8) = (148, 103, 189);
const BROWN: (u8, u8, u8) = (140, 86, 75);
const PINK: (u8, u8, u8) = (227, 119, 194);
/// Colours of layers of one sort.
const MANY: [(u8, u8, u8); 8] = [BLUE, ORANGE, GREEN, RED, PURPLE, BROWN, PINK, GREY];

/// Hosts of the matrix, at most; the others are one.
const HOSTS: usize = 24;

/// Times from a beginning, in a unit that suits their length.
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

    fn at(&self, ns: i64) -> f64 {
        ns.saturating_sub(self.from_ns) as f64 / self.unit_ns
    }

    fn ax(&self) -> Ax {
        Ax { label: format!("time from the first packet, {}", self.unit), names: Vec::new() }
    }
}

/// PSNs as numbers that go on where PSNs begin again with 0.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    last: Option<u32>,
    value: i64,
}

impl Count {
    fn of(&mut self, psn: u32) -> i64 {
        let ahead = Psn(psn).distance_from(Psn(*self.last.get_or_insert(psn))) as i64;
        let value = self.value + ahead;
        if ahead > 0 {
            (self.last, self.value) = (Some(psn), value);
        }
        value
    }
}

fn name(flow: &Flow) -> String {
    clean(&format!("{} > {} QP {:#x}", flow.src, flow.dst, flow.dest_qp)).into_owned()
}

/// What is drawn in the order of time.
enum Item<'a> {
    Stretch(&'a Stretch),
    Hole(&'a Hole),
}

impl Item<'_> {
    fn ns(&self) -> i64 {
        match self {
            Item::Stretch(stretch) => stretch.from_ns,
            Item::Hole(hole) => hole.ns,
        }
    }
}

impl Scene {
    fn add(&mut self, name: &str, colour: (u8, u8, u8), shape: Shape) {
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

    /// PSN over time, after tcptrace: each packet where it was sent, the line of acknowledgements below, holes, NAKs and marks, and the
    /// times of recovery and waiting as bands.
    pub fn psn(picture: &Picture<'_>) -> Scene {
        let Picture { flow, line, back, .. } = picture;
        let clock = Clock::new(flow.first_ns, flow.last_ns);
        let mut items: Vec<Item<'_>> = line.stretches().map(Item::Stretch).collect();
        items.extend(line.holes.iter().filter(|hole| hole.missing() > 0).map(Item::Hole));
        items.extend(back.iter().flat_map(|back| back.stretches()).map(Item::Stretch));
        items.sort_by_key(Item::ns);
        let mut count = Count::default();
        let mut lines: BTreeMap<Kind, Vec<[(f64, f64); 2]>> = BTreeMap::new();
        let mut holes = [Vec::new(), Vec::new()];
        for item in &items {
            let (kind, from, to) = match item {
                Item::Stretch(stretch) => {
                    // CNPs have no PSN: they stand where the flow is.
                    let is_placed = stretch.kind != Kind::Cnp;
                    let from = if is_placed { count.of(stretch.from_psn) } else { count.value };
                    let to = if is_placed { count.of(stretch.to_psn) } else { count.value };
                    (stretch.kind, (stretch.from_ns, from), (stretch.to_ns, to))
                }
                Item::Hole(hole) => {
                    let from = count.of(hole.psn);
                    let to = from + i64::from(hole.packets.max(1)) - 1;
                    let at = clock.at(hole.ns);
                    holes[(hole.resent > 0) as usize].push([(at, from as f64 - 0.4), (at, to as f64 + 0.4)]);
                    continue;
                }
            };
            let at = |(ns, psn): (i64, i64)| (clock.at(ns), psn as f64);
            lines.entry(kind).or_default().push([at(from), at(to)]);
        }
        let mut scene = Scene {
            title: name(flow),
            x: clock.ax(),
            y: Ax { label: "PSN from the first".into(), ..Ax::default() },
            ..Scene::default()
        };
        let band = |from: i64, to: i64| [clock.at(from), clock.at(to)];
        let recovery = picture.episodes.iter().map(|episode| {
            let lasted = episode.recovered_ns.map_or(0, |ns| i64::try_from(ns).unwrap_or(i64::MAX));
            band(episode.start_ns, episode.start_ns.saturating_add(lasted))
        });
        scene.add("recovery", (255, 224, 178), Shape::Bands(recovery.collect()));
        let waits = picture.waits.iter().map(|wait| band(wait.start_ns, wait.end_ns.unwrap_or(flow.last_ns)));
        scene.add("receiver not ready", (225, 213, 240), Shape::Bands(waits.collect()));
        let colours = [
            (Kind::Ack, GREEN),
            (Kind::AckAgain, GREEN),
            (Kind::New, BLUE),
            (Kind::Again, RED),
            (Kind::Late, ORANGE),
            (Kind::Copy, GREY),
            (Kind::Ambiguous, PINK),
            (Kind::Corrupt, BROWN),
            (Kind::Trimmed, BROWN),
            (Kind::Nak, (120, 0, 0)),
            (Kind::RnrNak, PURPLE),
            (Kind::Cnp, (0, 0, 0)),
            (Kind::Ce, (188, 160, 20)),
        ];
        for (kind, colour) in colours {
            let Some(lines) = lines.remove(&kind) else { continue };
            let shape = match kind.is_ordinary() {
                true => Shape::Lines(lines),
                false => Shape::Points(
                    lines.into_iter().flat_map(|[a, b]| if a == b { vec![a] } else { vec![a, b] }).collect(),
                ),
            };
            scene.add(kind.name(), colour, shape);
        }
        let [unseen, lost] = holes;
        scene.add(&format!("lost {}", Place::BeforeTap.name()), (0, 0, 0), Shape::Lines(lost));
        scene.add(&format!("lost, {}", Place::NotSeen.name()), GREY, Shape::Lines(unseen));
        let mut count = Count::default();
        let first = line.sent[0].stretches().first().map_or(0, |first| first.from_psn);
        count.of(first);
        let after = picture.losses.iter().filter(|loss| loss.place == Place::AfterTap);
        let after = after.map(|loss| (clock.at(loss.ns), count.of(loss.psn) as f64));
        scene.add(&format!("lost {}", Place::AfterTap.name()), (0, 0, 0), Shape::Points(after.collect()));
        scene
    }

    /// Rate and goodput of a flow over time, in Gbit/s; the marks and CNPs on the axis.
    pub fn rate_of_flow(picture: &Picture<'_>, axis: &Axis) -> Scene {
        let Picture { flow, line, back, .. } = picture;
        let clock = Clock::new(axis.origin_ns, flow.last_ns);
        let mut scene = Scene { title: name(flow), x: clock.ax(), y: gigabits(), ..Scene::default() };
        scene.add("on the wire", GREY, Shape::Path(rate(&line.bins, axis, &clock, |bin| bin.l1_bytes)));
        scene.add("goodput", BLUE, Shape::Path(rate(&line.bins, axis, &clock, |bin| bin.goodput_bytes)));
        for (kind, of, colour) in
            [(Kind::Again, Some(*line), RED), (Kind::Ce, Some(*line), ORANGE), (Kind::Cnp, *back, (0, 0, 0))]
        {
            let events =
                of.into_iter().flat_map(|line| line.events.stretches()).filter(|event| event.kind == kind);
            scene.add(
                kind.name(),
                colour,
                Shape::Points(events.map(|event| (clock.at(event.from_ns), 0.0)).collect()),
            );
        }
        scene
    }

    /// The rate of the whole capture over time, by traffic class, in Gbit/s; `None` without a packet.
    pub fn rate(report: &View<'_>, timeline: &Timeline) -> Option<Scene> {
        let (axis, classes) = timeline.classes()?;
        let clock = Clock::new(axis.origin_ns, report.head.capture.last_ns.unwrap_or(axis.origin_ns));
        let mut scene =
            Scene { title: "Traffic by class".into(), x: clock.ax(), y: gigabits(), ..Scene::default() };
        for ((dscp, bins), colour) in classes.iter().zip(MANY.into_iter().cycle()) {
            let name = dscp.map_or("no DSCP".to_owned(), |dscp| format!("DSCP {dscp}"));
            scene.add(&name, colour, Shape::Path(rate(bins, &axis, &clock, |bin| bin.l1_bytes)));
        }
        Some(scene)
    }

    /// Latencies of a flow over time, in microseconds.
    pub fn latency(picture: &Picture<'_>) -> Scene {
        let Picture { flow, line, .. } = picture;
        let clock = Clock::new(flow.first_ns, flow.last_ns);
        let y = Ax { label: "µs".into(), names: Vec::new() };
        let mut scene = Scene { title: name(flow), x: clock.ax(), y, ..Scene::default() };
        for (what, colour) in What::ALL.into_iter().zip(MANY) {
            let samples = line.latency[what as usize].samples().iter();
            let points = samples.map(|sample| (clock.at(sample.to_ns), sample.took_ns() as f64 / 1e3));
            scene.add(what.name(), colour, Shape::Points(points.collect()));
        }
        scene
    }

    /// Hosts by hosts: from the left, to the top; the shade is the share of the largest number of bytes. Losses and retransmissions have a
    /// mark. Hosts beyond the first ones by bytes are not shown.
    pub fn matrix(report: &View<'_>) -> Scene {
        let mut sums: BTreeMap<(String, String), [u64; 3]> = BTreeMap::new();
        let mut hosts: BTreeMap<String, u64> = BTreeMap::new();
        for flow in report.flows.iter() {
            let lost = |stream: &report::Stream| stream.losses.on_network().map_or(0, |[least, _]| least);
            let sum = sums.entry((flow.src.clone(), flow.dst.clone())).or_default();
            sum[0] += flow.wire_bytes;
            sum[1] += lost(&flow.requests) + lost(&flow.responses);
            sum[2] += flow.requests.retransmits + flow.responses.retransmits;
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
        let ax = |label: &str| Ax { label: label.into(), names: names.clone() };
        let mut scene = Scene { title, x: ax("to"), y: ax("from"), layers: Vec::new() };
        scene.add("bytes", BLUE, Shape::Cells(cells));
        scene.add("losses", (0, 0, 0), Shape::Points(lost));
        scene.add("retransmissions", RED, Shape::Points(resent));
        scene
    }

    /// Pauses over time, a row for each sender and priority.
    pub fn pause(report: &View<'_>, timeline: &Timeline) -> Scene {
        let (first, last) =
            (report.head.capture.first_ns.unwrap_or(0), report.head.capture.last_ns.unwrap_or(0));
        let clock = Clock::new(first, last);
        let mut names: Vec<String> = Vec::new();
        let mut cells = Vec::new();
        for paused in timeline.pauses() {
            let of = paused.priority.map_or("all".to_owned(), |priority| format!("priority {priority}"));
            let name = format!("if{} {} {of}", paused.interface, paused.sender);
            if names.last() != Some(&name) {
                names.push(name);
            }
            let y = names.len() as f64 - 1.0;
            cells.push(([(clock.at(paused.start_ns), y - 0.4), (clock.at(paused.end_ns), y + 0.4)], 1.0));
        }
        let y = Ax { label: "who asked for a pause".into(), names };
        let mut scene = Scene { title: "Pauses".into(), x: clock.ax(), y, layers: Vec::new() };
        scene.add("pause", RED, Shape::Cells(cells));
        scene
    }
}

fn gigabits() -> Ax {
    Ax { label: "Gbit/s".into(), names: Vec::new() }
}

/// Bytes in bins as a path in Gbit/s, with zeros where there was nothing.
fn rate(
    bins: &Bins,
    axis: &Axis,
    clock: &Clock,
    of: impl Fn(&crate::analyze::metric::timeline::Bin) -> u64,
) -> Vec<(f64, f64)> {
    let (bins, width_ns) = bins.get();
    let axis = Axis { width_ns, ..*axis };
    let mut path: Vec<(f64, f64)> = Vec::new();
    let mut end = None;
    for bin in bins {
        if end.is_some_and(|end| end < bin.at) {
            path.push((clock.at(axis.start_ns(end.unwrap_or(0))), 0.0));
            path.push((clock.at(axis.start_ns(bin.at)), 0.0));
        }
        let gigabits = of(bin) as f64 * 8.0 / width_ns as f64;
        path.push((clock.at(axis.start_ns(bin.at)), gigabits));
        path.push((clock.at(axis.start_ns(bin.at + 1)), gigabits));
        end = Some(bin.at + 1);
    }
    path
}
