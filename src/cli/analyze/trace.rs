//! `--perfetto`: the timeline as a trace for ui.perfetto.dev.

use std::{io::Write, path::Path};

use anyhow::{Context, bail};

use super::output::{Output, find_flow};
use crate::cli::{
    output::{self, Kind, OutFile},
    say,
};
use rdmawire::{analyze::metric::timeline::Timeline, grammar::print::several, plot::perfetto, report::View};

/// Flows of a trace, at most.
const TRACED: usize = 1000;

/// A trace of one report: of the flows in trouble and of the largest, or of one flow.
pub(super) struct Perfetto {
    /// The file, until it is written.
    file: Option<OutFile>,
    flow: Option<String>,
}

impl Perfetto {
    pub(super) fn begin(
        path: &Path,
        flow: Option<String>,
        captures: usize,
        force: bool,
    ) -> anyhow::Result<Perfetto> {
        if captures > 1 {
            bail!("--perfetto: one trace is of one file; --merge makes several one");
        }
        let file = output::create(path, Kind::Trace, force).context("--perfetto")?;
        Ok(Perfetto { file: Some(file), flow })
    }
}

impl Output for Perfetto {
    fn has_pictures(&self) -> bool {
        true
    }

    fn report(&mut self, report: &View<'_>, timeline: Option<&Timeline>) -> anyhow::Result<()> {
        let Some((mut file, timeline)) = self.file.take().zip(timeline) else { return Ok(()) };
        let flows = match &self.flow {
            Some(which) => vec![find_flow(report, which)?],
            None => timeline.chosen(report, TRACED),
        };
        let mut write = || {
            let mut out = std::io::BufWriter::new(&mut file);
            let left_out = perfetto::write(report, timeline, &flows, &mut out)?;
            out.flush()?;
            Ok::<_, std::io::Error>(left_out)
        };
        let left_out = write().context("--perfetto")?;
        file.keep().context("--perfetto")?;
        if left_out > 0 {
            let messages = several(left_out, "message");
            say(format_args!("{messages} not in the trace: too many overlap"));
        }
        Ok(())
    }
}
