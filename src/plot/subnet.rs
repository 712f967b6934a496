//! A subnet as SVG: adapters below, switches above them by their distance from adapters, links between.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write as _,
};

use maud::{Markup, PreEscaped, html};

use crate::{
    fabric::{LinkRow, NodeRow, Report},
    in_order::InOrder,
    report::units::{count, several},
};

/// More nodes than this, and adapters behind the same switches are one box.
const SINGLE: usize = 60;
/// Boxes that are drawn at most.
const MOST: usize = 2000;
/// Names that a box says at most.
const NAMES: usize = 40;
/// Characters of a name in a box.
const NAME_LEN: usize = 16;
/// Times that rows are put in order by what they are linked to.
const SWEEPS: usize = 8;
/// Pixels of a box, and from one to the next.
const BOX: [i64; 2] = [118, 34];
const STEP: [i64; 2] = [134, 120];
const MARGIN: i64 = 24;
/// For the title above.
const TOP: i64 = 64;

const STYLE: &str = "
text { font: 12px sans-serif; fill: #1b1f24 } .title { font-size: 16px } .small { font-size: 10px; fill: #59636e }
rect { stroke: #59636e; fill: #eaf1f8 } .switch rect { fill: #d7ecdf } .router rect { fill: #f3e3ee } .errors rect { stroke: #c00020; stroke-width: 2 }
path { fill: none; stroke: #59636e } .slower { stroke: #d55e00 } .inactive { stroke: #8a939c; stroke-dasharray: 4 4 }
";

/// A node, or adapters behind the same switches.
struct Place<'a> {
    nodes: Vec<&'a NodeRow>,
    /// Row from below: adapters are in row 0.
    row: usize,
    /// Place in its row, from the left.
    at: usize,
}

/// The links between two places.
#[derive(Default)]
struct Bundle<'a> {
    links: Vec<&'a LinkRow>,
}

/// Nodes and links of a subnet as SVG. Names in it are escaped.
///
/// # Errors
/// The capture shows no node.
pub fn subnet(report: &Report, name: &str) -> Result<String, String> {
    let drawing = Drawing::new(report);
    if drawing.places.is_empty() {
        return Err("the capture shows no node of an InfiniBand subnet".into());
    }
    Ok(drawing.markup(report, name).into_string())
}

struct Drawing<'a> {
    places: Vec<Place<'a>>,
    /// By the two places, the lower one first.
    bundles: BTreeMap<(usize, usize), Bundle<'a>>,
    /// The places of each row, from the left.
    rows: Vec<Vec<usize>>,
    /// Boxes that are too many.
    left_out: usize,
}

impl<'a> Drawing<'a> {
    fn new(report: &'a Report) -> Drawing<'a> {
        let (mut places, place_of) = placed(report);
        let left_out = places.len().saturating_sub(MOST);
        places.truncate(MOST);
        let mut bundles = BTreeMap::<_, Bundle<'_>>::new();
        for link in &report.links {
            let (Some(&a), Some(&b)) = (place_of.get(&*link.a_guid), place_of.get(&*link.b_guid)) else {
                continue;
            };
            if a != b && a.max(b) < MOST {
                bundles.entry((a.min(b), a.max(b))).or_default().links.push(link);
            }
        }
        let mut drawing = Drawing { places, bundles, rows: Vec::new(), left_out };
        drawing.arrange();
        drawing
    }

    /// Gives each place its row, and its place in it.
    fn arrange(&mut self) {
        let mut peers = vec![Vec::new(); self.places.len()];
        for &(a, b) in self.bundles.keys() {
            peers[a].push(b);
            peers[b].push(a);
        }
        // Row by row: those that are linked to the row below and have none yet. Switches that lead to no adapter are in the first row of switches.
        let is_switch: Vec<bool> = self.places.iter().map(|place| is_switch(place.nodes[0])).collect();
        let mut row: Vec<Option<usize>> = is_switch.iter().map(|is| (!is).then_some(0)).collect();
        let mut below: Vec<usize> = (0..row.len()).filter(|&at| row[at].is_some()).collect();
        for number in 1.. {
            let mut next = Vec::new();
            for &peer in below.iter().flat_map(|&at| &peers[at]) {
                if row[peer].is_none() {
                    row[peer] = Some(number);
                    next.push(peer);
                }
            }
            if next.is_empty() {
                break;
            }
            below = next;
        }
        for (place, row) in self.places.iter_mut().zip(row) {
            place.row = row.unwrap_or(1);
        }
        let rows = self.places.iter().map(|place| place.row + 1).max().unwrap_or(0);
        self.rows = vec![Vec::new(); rows];
        for (at, place) in self.places.iter().enumerate() {
            self.rows[place.row].push(at);
        }
        self.number();
        for sweep in 0..SWEEPS {
            for nth in 0..rows {
                let row = if sweep % 2 == 0 { nth } else { rows - 1 - nth };
                self.sort(row, &peers);
            }
        }
    }

    /// Puts a row in the order of the middle of what its places are linked to in other rows.
    fn sort(&mut self, row: usize, peers: &[Vec<usize>]) {
        let middle = |at: usize| {
            let others = peers[at].iter().filter(|&&peer| self.places[peer].row != row);
            let (sum, n) = others.fold((0.0, 0.0), |(sum, n), &peer| (sum + self.middle(peer), n + 1.0));
            if n > 0.0 { sum / n } else { self.middle(at) }
        };
        let mut ordered: Vec<(f64, usize)> = self.rows[row].iter().map(|&at| (middle(at), at)).collect();
        ordered.order_by(|a, b| a.0.total_cmp(&b.0));
        self.rows[row] = ordered.into_iter().map(|(_, at)| at).collect();
        self.number();
    }

    fn number(&mut self) {
        for row in &self.rows {
            for (at, &place) in row.iter().enumerate() {
                self.places[place].at = at;
            }
        }
    }

    /// Where a place is, of the width of its row.
    fn middle(&self, at: usize) -> f64 {
        let place = &self.places[at];
        (place.at as f64 + 0.5) / self.rows[place.row].len() as f64
    }

    fn width(&self) -> i64 {
        let longest = self.rows.iter().map(Vec::len).max().unwrap_or(0) as i64;
        (longest * STEP[0]).max(600) + 2 * MARGIN
    }

    fn height(&self) -> i64 {
        TOP + self.rows.len() as i64 * STEP[1] + MARGIN
    }

    /// The middle of a place's box.
    fn point(&self, at: usize) -> [i64; 2] {
        let x = MARGIN as f64 + self.middle(at) * (self.width() - 2 * MARGIN) as f64;
        let row = (self.rows.len() - 1 - self.places[at].row) as i64;
        [x as i64, TOP + row * STEP[1] + STEP[1] / 2]
    }

    fn markup(&self, report: &Report, name: &str) -> Markup {
        let (width, height) = (self.width(), self.height());
        let masters: HashSet<&str> = report
            .managers
            .iter()
            .filter(|manager| manager.state.as_deref() == Some("master"))
            .filter_map(|manager| manager.node.as_deref())
            .collect();
        let with_errors: HashSet<&str> = report
            .counters
            .iter()
            .filter(|counter| counter.counts_errors())
            .filter_map(|row| row.node.as_deref())
            .collect();
        html! {
            svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height) viewBox=(format!("0 0 {width} {height}")) {
                (PreEscaped(super::SVG_MARK))
                style { (PreEscaped(STYLE)) }
                rect width="100%" height="100%" style="fill:#fff;stroke:none" {}
                text.title x=(MARGIN) y="26" { (name) }
                text.small x=(MARGIN) y="44" {
                    (report.sentence())
                    @if self.left_out > 0 { "; " (several(self.left_out as u64, "box")) " more are not drawn" }
                }
                text.small x=(MARGIN) y="58" {
                    "Orange: a link slower than both ends could be; dashed: not active; red: a node at which errors were counted."
                }
                @for (&ends, bundle) in &self.bundles { (self.link(ends, bundle)) }
                @for at in 0..self.places.len() { (self.place(at, &masters, &with_errors)) }
            }
        }
    }

    fn link(&self, (a, b): (usize, usize), bundle: &Bundle<'_>) -> Markup {
        let ([ax, ay], [bx, by]) = (self.point(a), self.point(b));
        let line = if ay == by {
            // Over the boxes between.
            let over = ay - BOX[1] / 2 - 18 - (ax - bx).abs() / 16;
            format!("M{ax} {} Q{} {over} {bx} {}", ay - BOX[1] / 2, (ax + bx) / 2, by - BOX[1] / 2)
        } else {
            format!("M{ax} {ay} L{bx} {by}")
        };
        let is_slower = bundle.links.iter().any(|link| link.is_slower == Some(true));
        let is_inactive =
            bundle.links.iter().any(|link| link.state.as_deref().is_some_and(|state| state != "active"));
        let class = match (is_inactive, is_slower) {
            (true, _) => "inactive",
            (_, true) => "slower",
            _ => "link",
        };
        let wide = (1 + bundle.links.len().ilog2()).min(6);
        html! { path class=(class) d=(line) stroke-width=(wide) { title { (title_of_links(&bundle.links)) } } }
    }

    fn place(&self, at: usize, masters: &HashSet<&str>, with_errors: &HashSet<&str>) -> Markup {
        let nodes = &self.places[at].nodes;
        let [x, y] = self.point(at);
        let has = |names: &HashSet<&str>| nodes.iter().any(|node| names.contains(&*node.name));
        let (first, second) = match nodes[..] {
            [node] => {
                let lid = node.lid.map_or(String::new(), |lid| format!("LID {lid}"));
                (shortened(&node.name), lid)
            }
            _ => (several(nodes.len() as u64, "adapter"), format!("{} …", shortened(&nodes[0].name))),
        };
        let second = if has(masters) { format!("{second} · SM") } else { second };
        let kind = match &*nodes[0].kind {
            "switch" => "switch",
            "router" => "router",
            _ => "adapter",
        };
        let class = if has(with_errors) { format!("{kind} errors") } else { kind.into() };
        html! {
            g class=(class) {
                title { (title_of_nodes(nodes)) }
                rect x=(x - BOX[0] / 2) y=(y - BOX[1] / 2) width=(BOX[0]) height=(BOX[1]) rx="3" {}
                text x=(x) y=(y - 2) text-anchor="middle" { (first) }
                text.small x=(x) y=(y + 11) text-anchor="middle" { (second) }
            }
        }
    }
}

fn is_switch(node: &NodeRow) -> bool {
    node.kind == "switch"
}

/// Places of nodes, switches first; adapters behind the same switches are one, where there are many nodes. And the place of each GUID.
fn placed(report: &Report) -> (Vec<Place<'_>>, HashMap<&str, usize>) {
    let is_single = report.nodes.len() <= SINGLE;
    let mut switches = HashMap::<&str, Vec<&str>>::new();
    for link in &report.links {
        switches.entry(&link.a_guid).or_default().push(&link.b_guid);
        switches.entry(&link.b_guid).or_default().push(&link.a_guid);
    }
    let mut places = Vec::<Place<'_>>::new();
    let mut place_of = HashMap::new();
    let mut behind = HashMap::<Vec<&str>, usize>::new();
    let in_order = [true, false].map(|of| report.nodes.iter().filter(move |node| is_switch(node) == of));
    for node in in_order.into_iter().flatten() {
        let mut peers = switches.remove(&*node.guid).unwrap_or_default();
        peers.sort_unstable();
        let is_alone = is_single || is_switch(node) || peers.is_empty();
        let next = places.len();
        let at = if is_alone { next } else { *behind.entry(peers).or_insert(next) };
        if at == next {
            places.push(Place { nodes: Vec::new(), row: 0, at: 0 });
        }
        places[at].nodes.push(node);
        place_of.insert(&*node.guid, at);
    }
    (places, place_of)
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_LEN) {
        None => name.into(),
        Some((end, _)) => format!("{}…", &name[..end]),
    }
}

/// The first lines, and how many more there are.
fn lines(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(NAMES);
    let mut text = all.take(NAMES).collect::<Vec<_>>().join("\n");
    if more > 0 {
        _ = write!(text, "\n… {} more", count(more as u64));
    }
    text
}

fn title_of_nodes(nodes: &[&NodeRow]) -> String {
    lines(nodes.iter().map(|node| {
        let lid = node.lid.map_or(String::new(), |lid| format!(", LID {lid}"));
        let active = node.active_ports.map_or(String::new(), |n| format!(", {n} active"));
        format!(
            "{}: {}, {}{lid}, {}{active}",
            node.name,
            node.kind,
            node.guid,
            several(node.port_count.into(), "port")
        )
    }))
}

fn title_of_links(links: &[&LinkRow]) -> String {
    lines(links.iter().map(|link| {
        let ends = format!("{} port {} to {} port {}", link.a, link.a_port, link.b, link.b_port);
        let speed = link.speed().map_or(String::new(), |speed| format!(", {speed}"));
        let state = link.state.as_deref().map_or(String::new(), |state| format!(", {state}"));
        format!("{ends}{speed}{state}")
    }))
}
