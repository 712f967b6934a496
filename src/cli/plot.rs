//! `rdmawire plot`: pictures of a capture, as SVG or in the terminal.

use std::{io::Write, path::PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::{Args, ValueEnum};

use super::{
    Outcome, collectives,
    output::{self, Kind},
    signals::{STOP, end_on_signal},
    terminal::{self, Color},
    trace::{Merging, Trace, name_of_trace},
    tracking::Tracking,
};
use rdmawire::{
    analyze::metric::timeline::Timeline,
    plot::Scene,
    report::{self, View},
};

/// Draw a picture of a capture, as SVG or in the terminal.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire plot psn --flow 0 x.pcap
  rdmawire plot rate x.pcap -o rate.svg")]
pub(super) struct Plot {
    /// What to draw.
    #[arg(value_enum)]
    what: What,
    /// A capture file, or the parts of one; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    merging: Merging,
    /// The flow: its number in the list of `rdmawire analyze`, or SOURCE,DESTINATION,QP. Without it: the one in most trouble, else the
    /// largest; of `rate`, the whole capture by traffic class.
    #[arg(long, value_name = "FLOW")]
    flow: Option<String>,
    /// Write an SVG file, of which `rsvg-convert` makes a PNG. Without it, the picture is drawn in text.
    #[arg(short, long, value_name = "FILE.svg", value_parser = output::svg_path)]
    output: Option<PathBuf>,
    /// Replace the file if it exists and is no picture of an earlier run.
    #[arg(long)]
    force: bool,
    /// The size of the SVG in pixels.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = size, default_value = "1000x600")]
    size: (u32, u32),
    /// When to colour the text.
    #[arg(long, value_enum, default_value_t)]
    color: Color,
    #[command(flatten)]
    tracking: Tracking,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Packets by class over PSN and time, acknowledgements, losses.
    Psn,
    /// Bits per second over time.
    Rate,
    /// Round trips, messages and READs over time.
    Latency,
    /// Bytes, losses and retransmissions between hosts.
    Matrix,
    /// Pauses over time.
    Pause,
    /// What each rank of a collective waited for over time.
    Waits,
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let sides = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    let fits = |side: u32| (100..=20_000).contains(&side);
    sides
        .filter(|(width, height)| fits(*width) && fits(*height))
        .ok_or_else(|| "expected WIDTHxHEIGHT, each from 100 to 20000".into())
}

impl Plot {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        end_on_signal(&STOP);
        let mut traces = self.merging.traces(&self.files)?;
        let (Some(captures), true) = (traces.pop(), traces.is_empty()) else {
            bail!(
                "{} captures: expected one, or the parts of one; --merge makes one trace of any",
                traces.len() + 1
            );
        };
        // A wrong path is known before the work.
        let to = self.output.as_ref().map(|path| output::create(path, Kind::Svg, self.force)).transpose()?;
        let mut source = Trace::open_all(&captures)?;
        let (ended, is_all) = self.tracking.follow_with(&mut source, self.tracking.timeline())?;
        let timeline = ended.metric().ok_or_else(|| anyhow!("the analysis kept no timeline"))?;
        let scene = self.scene(&name_of_trace(&captures), &ended.report(), timeline)?;
        let draw = |error: String| anyhow!("cannot draw: {error}");
        match to {
            Some(mut file) => {
                let (width, height) = self.size;
                let svg = scene.svg(width, height).map_err(draw)?;
                file.write_all(svg.as_bytes())
                    .and_then(|()| file.keep())
                    .context("cannot write the picture")?;
            }
            None => {
                const LINES: u32 = 28;
                let columns = terminal::width().clamp(40, 400) as u32;
                let text = scene.text(columns, LINES, self.color.is_on()).map_err(draw)?;
                terminal::stdout()?.write_all(text.as_bytes())?;
            }
        }
        Ok(if is_all { Outcome::Done } else { Outcome::Failed })
    }

    fn scene(&self, name: &str, report: &View<'_>, timeline: &Timeline) -> anyhow::Result<Scene> {
        let flow = || {
            let at = match &self.flow {
                Some(which) => {
                    report::find_flow(report, which).map_err(|error| anyhow!("--flow: {error}"))?
                }
                None => *timeline
                    .chosen(report, 1)
                    .first()
                    .ok_or_else(|| anyhow!("{name}: no flow of RDMA packets is in it"))?,
            };
            let none =
                || anyhow!("the flow was left out, as there are too many: name it as SOURCE,DESTINATION,QP");
            timeline.flow(report, at).ok_or_else(none)
        };
        let scene = match self.what {
            What::Psn => Scene::psn(report, timeline, &flow()?),
            What::Rate if self.flow.is_some() => Scene::rate_of_flow(&flow()?),
            What::Rate => Scene::rate(report, timeline).unwrap_or_default(),
            What::Latency => Scene::latency(&flow()?),
            What::Matrix => Scene::matrix(report),
            What::Pause => Scene::pause(report, timeline),
            What::Waits => Scene::waits(report),
        };
        if scene.layers.is_empty() {
            let what = match self.what {
                What::Pause => "no pause was seen: see the limitations that `rdmawire analyze` lists",
                What::Waits => "no collective of NCCL's transport was seen",
                What::Latency => "no latency could be measured: that needs both directions of a connection",
                _ => "there is nothing to draw",
            };
            let cut = match self.what {
                What::Waits => collectives::cut_frames(report.head.capture.truncated_packets),
                _ => String::new(),
            };
            let stop = if cut.is_empty() { "" } else { ". " };
            return Err(anyhow!("{name}: {what}{stop}{cut}"));
        }
        Ok(scene)
    }
}
