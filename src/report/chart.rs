//! Pictures as data: what a renderer draws, and what a reader may look up.

use serde::Serialize;

use super::Summary;

/// The pictures of one flow, or of the whole capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Picture {
    /// The flow, as an index into [`Report::flows`](super::Report::flows); `None` for the whole capture.
    pub flow: Option<usize>,
    /// What it is of.
    pub title: String,
    /// The charts.
    pub charts: Vec<Chart>,
    /// Distributions: name, unit (`ns` or `bytes`), figures.
    pub facts: Vec<(&'static str, &'static str, Summary)>,
}

/// A chart over time. Times are nanoseconds from the start of the capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Chart {
    /// What it shows.
    pub title: &'static str,
    /// How it is to be read.
    pub about: String,
    /// How it is drawn.
    pub style: Style,
    /// The unit of values: `psn`, `count`, `bps`, `ns` or `row`.
    pub unit: &'static str,
    /// With the unit `psn`: the PSN at the value 0.
    pub base: u32,
    /// With the unit `row`: the names of the rows, where series are not rows themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<String>,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Spans of time behind it.
    pub bands: Vec<Band>,
    /// Of dots: the percentiles of all values, also of those that are not drawn.
    pub percentiles: Option<Summary>,
}

/// How a chart is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// Packets as marks and strokes.
    #[default]
    Marks,
    /// Values that hold until the next one, as lines.
    Steps,
    /// The same, each series on top of the one before it.
    Stacked,
    /// Single values as dots; beside them their distribution.
    Dots,
}

/// Values of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// What they are.
    pub name: String,
    /// By which their look is chosen: a fixed word.
    pub role: &'static str,
    /// Packets, in a chart of marks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Time and value, in other charts; without a value, there is nothing to draw until the next one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<(i64, Option<u64>)>,
}

/// Packets that follow each other: times of the first and the last, their values, how many, and the frame of the first, from 1; 0
/// where that is not known. In JSON it is an array of these.
pub type Mark = (i64, i64, i64, i64, u64, u64);

/// A span of time: what, from, to.
pub type Band = (&'static str, i64, i64);

/// Hosts for a matrix of at most so many: each with the host of its largest pair, so that none of them is without a cell. `hosts` are all, the
/// largest first; `pairs` are sender, receiver and weight.
#[cfg(feature = "analyze")]
pub(crate) fn hosts_of_matrix<'a, W: Ord>(
    hosts: Vec<&'a str>,
    pairs: impl IntoIterator<Item = (&'a str, &'a str, W)>,
    most: usize,
) -> Vec<&'a str> {
    use crate::in_order::InOrder;
    use std::collections::{HashMap, HashSet};
    if hosts.len() <= most {
        return hosts;
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    // The largest pair of a host is the last one that it gets, of equal ones the first.
    pairs.reverse();
    pairs.order_by(|(.., one), (.., other)| one.cmp(other));
    let mut partners: HashMap<&str, &str> = HashMap::new();
    for (src, dst, _) in pairs {
        partners.insert(src, dst);
        partners.insert(dst, src);
    }
    let mut shown = Vec::with_capacity(most);
    let mut is_shown = HashSet::new();
    for host in hosts.into_iter().flat_map(|host| [Some(host), partners.get(host).copied()]).flatten() {
        if shown.len() < most && is_shown.insert(host) {
            shown.push(host);
        }
    }
    shown
}
