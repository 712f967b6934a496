//! The offset of two clocks as a line through time, from packets of both directions.
//!
//! The difference of a packet's two times is the offset plus its delay in one direction, and the offset minus its delay in the
//! other. No delay is negative: so the line of the offset runs below all differences of the one direction, and above those of
//! the other. Of all such lines the one with the widest margin is taken; how far the others may be from it is the error bound.

/// No clock of a network adapter is worse: IEEE 802.3 allows 100 ppm each.
const MAX_DRIFT: f64 = 500e-6;

/// The smallest and the largest difference in each of a bounded number of stretches of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Envelope {
    start: i64,
    width: i64,
    stretches: Vec<Option<[Point; 2]>>,
}

/// A time by the first tap's clock, and what the second one's showed more.
pub(super) type Point = (i64, i64);

impl Envelope {
    const MOST: usize = 128;

    pub(super) fn add(&mut self, point: Point) {
        if self.stretches.is_empty() {
            (self.start, self.width) = (point.0, 1000);
        }
        let mut at = point.0.saturating_sub(self.start).max(0) / self.width;
        while at >= Envelope::MOST as i64 {
            self.halve();
            at = point.0.saturating_sub(self.start).max(0) / self.width;
        }
        let at = at as usize;
        if self.stretches.len() <= at {
            self.stretches.resize(at + 1, None);
        }
        let [low, high] = self.stretches[at].get_or_insert([point; 2]);
        if point.1 < low.1 {
            *low = point;
        }
        if point.1 > high.1 {
            *high = point;
        }
    }

    fn halve(&mut self) {
        self.width = self.width.saturating_mul(2);
        let pairs = self.stretches.chunks(2).map(|pair| {
            pair.iter().flatten().copied().reduce(|[low, high], [next_low, next_high]| {
                [
                    if next_low.1 < low.1 { next_low } else { low },
                    if next_high.1 > high.1 { next_high } else { high },
                ]
            })
        });
        self.stretches = pairs.collect();
    }

    pub(super) fn lows(&self) -> impl Iterator<Item = Point> {
        self.stretches.iter().flatten().map(|[low, _]| *low)
    }

    pub(super) fn highs(&self) -> impl Iterator<Item = Point> {
        self.stretches.iter().flatten().map(|[_, high]| *high)
    }
}

/// Clock offset, second tap minus first one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// A time by the first clock.
    pub(super) at: i64,
    base: i64,
    offset: f64,
    pub(super) rate: f64,
    pub(super) rate_error: f64,
    /// The largest error; `None` if no line fits, or if one direction is missing.
    pub(super) error: Option<f64>,
    /// The widest margin between the two directions: negative if no line fits.
    pub(super) margin: f64,
}

impl Line {
    /// The offset at a time of the first clock.
    pub(super) fn offset(&self, time: i64) -> f64 {
        self.base as f64 + self.beyond_base(time)
    }

    /// A difference of times, without the offset.
    pub(super) fn without_offset(&self, (time, difference): Point) -> f64 {
        difference.saturating_sub(self.base) as f64 - self.beyond_base(time)
    }

    fn beyond_base(&self, time: i64) -> f64 {
        self.offset + self.rate * time.saturating_sub(self.at) as f64
    }

    /// The line below all points of `above` and above all points of `below`, with the widest margin on both sides. Where one of them
    /// is empty, the line touches the other one.
    pub(super) fn between(above: &[Point], below: &[Point]) -> Option<Line> {
        let &(at, base) = above.iter().chain(below).min_by_key(|point| point.0)?;
        let near = |points: &[Point]| -> Vec<(f64, f64)> {
            let near = |&(time, difference): &Point| {
                (time.saturating_sub(at) as f64, difference.saturating_sub(base) as f64)
            };
            points.iter().map(near).collect()
        };
        let (above, below) = (near(above), near(below));
        // The highest and the lowest line of this slope, by their value at the first point's time.
        let top = |rate: f64| above.iter().map(|(t, d)| d - rate * t).fold(f64::INFINITY, f64::min);
        let bottom = |rate: f64| below.iter().map(|(t, d)| d - rate * t).fold(f64::NEG_INFINITY, f64::max);
        let last = above.iter().chain(&below).map(|point| point.0).fold(0.0, f64::max);
        if above.is_empty() || below.is_empty() {
            // The line that leaves the least room: it touches the points around the middle of time.
            let room = |rate: f64| match below.is_empty() {
                true => top(rate) + rate * last / 2.0,
                false => -(bottom(rate) + rate * last / 2.0),
            };
            let rate = highest(-MAX_DRIFT, MAX_DRIFT, room);
            let offset = if below.is_empty() { top(rate) } else { bottom(rate) };
            return Some(Line { at, base, offset, rate, rate_error: MAX_DRIFT, error: None, margin: 0.0 });
        }
        let margin = |rate: f64| top(rate) - bottom(rate);
        let rate = highest(-MAX_DRIFT, MAX_DRIFT, margin);
        let widest = margin(rate);
        let offset = (top(rate) + bottom(rate)) / 2.0;
        let line = Line { at, base, offset, rate, rate_error: 0.0, error: None, margin: widest };
        if widest < 0.0 {
            return Some(line);
        }
        let slowest = edge(rate, -MAX_DRIFT, |rate| margin(rate) >= 0.0);
        let fastest = edge(rate, MAX_DRIFT, |rate| margin(rate) >= 0.0);
        // How far a line that fits may be from this one is convex in time: largest at one of the ends.
        let error = [0.0, last].into_iter().fold(0.0, |error: f64, time| {
            let here = offset + rate * time;
            let up = |rate: f64| top(rate) + rate * time;
            let down = |rate: f64| -(bottom(rate) + rate * time);
            let over = up(highest(slowest, fastest, up)) - here;
            let under = down(highest(slowest, fastest, down)) + here;
            error.max(over).max(under)
        });
        let rate_error = (fastest - rate).max(rate - slowest);
        Some(Line { rate_error, error: Some(error), ..line })
    }
}

/// Steps of each search: the interval shrinks below what a 64-bit float tells apart at this scale.
const STEPS: u32 = 80;

/// Where a concave function is highest.
fn highest(mut from: f64, mut to: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..STEPS {
        let third = (to - from) / 3.0;
        if f(from + third) < f(to - third) { from += third } else { to -= third }
    }
    (from + to) / 2.0
}

/// The last place from `inside` towards `outside` where a condition holds.
fn edge(mut inside: f64, mut outside: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(outside) {
        return outside;
    }
    for _ in 0..STEPS {
        let middle = (inside + outside) / 2.0;
        if holds(middle) { inside = middle } else { outside = middle }
    }
    inside
}
