//! Pictures of a capture: of a flow's packets over PSN and time, rate, latency, hosts, pauses, and of a subnet.
//!
//! A [`Scene`] is one picture: points, lines, bands and cells with their axes. It is made from a [chart](crate::report::chart), which
//! pages draw too, and drawn as [SVG](Scene::svg) or as [text](Scene::text). [`perfetto`] writes the same
//! data as a trace for ui.perfetto.dev.

#[cfg(feature = "cli")]
mod braille;
#[cfg(feature = "cli")]
mod chart;
pub mod perfetto;
mod scene;
#[cfg(feature = "cli")]
mod subnet;

use crate::{
    analyze::metric::timeline::{Axis, Kind, Timeline},
    report::{self, View},
};
pub use scene::{Colour, Layer, PlotAxis, Point, Scene, Shape};
#[cfg(feature = "cli")]
pub use subnet::subnet;

/// The comment in each SVG that says who drew it.
#[cfg(feature = "cli")]
const SVG_MARK: &str = "<!-- rdmawire plot -->";

/// Whether bytes are the beginning of an SVG that this program drew.
#[cfg(feature = "cli")]
pub fn is_svg(first: &[u8]) -> bool {
    first.starts_with(b"<svg") && first.windows(SVG_MARK.len()).any(|window| window == SVG_MARK.as_bytes())
}

/// A flow's rate over time as a line of blocks, and below it what happened: `x` retransmission, `!` NAK or RNR NAK, `*` mark or CNP. `None`
/// if the flow has no line.
pub fn sparkline(view: &View<'_>, timeline: &Timeline, at: usize, columns: usize) -> Option<String> {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let flow = timeline.flow(view, at)?;
    let (first, last) = (flow.flow.first_ns, flow.flow.last_ns);
    let (bins, width_ns) = flow.line.bins.get();
    let axis = Axis { width_ns, ..flow.axis? };
    let span = last.saturating_sub(first).max(1) as i128;
    let column = |ns: i64| {
        let at = ns.saturating_sub(first).max(0) as i128 * columns as i128 / (span + 1);
        (at as usize).min(columns.saturating_sub(1))
    };
    let mut sums = vec![0u64; columns];
    for bin in bins {
        // A bin may be wider than a column: it is spread over those that it covers.
        let (from, to) = (column(axis.start_ns(bin.at)), column(axis.start_ns(bin.at + 1) - 1));
        for sum in sums.get_mut(from..=to)? {
            *sum += bin.l1_bytes / (to - from + 1) as u64;
        }
    }
    let most = sums.iter().copied().max()?.max(1);
    let rates = sums.iter().map(|sum| BLOCKS[(*sum as u128 * 8).div_ceil(most as u128) as usize]);
    let mut events = vec![' '; columns];
    let back = flow.back.into_iter().flat_map(|back| back.stretches());
    for event in flow.line.stretches().chain(back) {
        let sign = match event.kind {
            Kind::Nak | Kind::RnrNak => '!',
            Kind::Again => 'x',
            Kind::Ce | Kind::Cnp => '*',
            _ => continue,
        };
        for place in events.get_mut(column(event.from_ns)..=column(event.to_ns)).into_iter().flatten() {
            *place = if *place == '!' { '!' } else { sign };
        }
    }
    let lasted = u64::try_from(span / columns.max(1) as i128).unwrap_or(u64::MAX);
    let peak = report::units::bits_per_second(most, lasted);
    let events: String = events.into_iter().collect();
    let below = match events.trim_end() {
        "" => String::new(),
        events => format!("  events    {events}\n            x retransmission   ! NAK   * mark or CNP\n"),
    };
    Some(format!(
        "  rate      {}\n{below}            highest: {peak}\n",
        rates.collect::<String>().trim_end()
    ))
}
