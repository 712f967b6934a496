//! `analyze --perfetto`, and the line of rate and marks of `analyze --flow`.

use std::{fs::File, io::Write};

use anyhow::{Context, anyhow, bail};

use super::Analyze;
use crate::cli::say;
use rdmawire::{
    analyze::{Ended, metric::timeline::Timeline},
    grammar::print::several,
    plot::{perfetto, sparkline},
    report,
};

/// Flows of a trace, at most.
const TRACED: usize = 1000;

impl Analyze {
    /// Whether the analysis is to keep what pictures need.
    pub(super) fn has_pictures(&self) -> bool {
        let has_line = self.flow.is_some() && self.every.is_none() && self.is_one();
        self.html.is_some() || self.perfetto.is_some() || has_line
    }

    /// Creates the file of the trace, if one is asked for.
    pub(super) fn create_trace(&self) -> anyhow::Result<Option<File>> {
        let Some(path) = &self.perfetto else { return Ok(None) };
        if !self.is_one() {
            bail!("--perfetto: one trace is of one file; --merge makes several one");
        }
        File::create(path).map(Some).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Writes the trace.
    pub(super) fn trace(&self, ended: &Ended, file: File) -> anyhow::Result<()> {
        let Some(timeline) = ended.metric::<Timeline>() else { return Ok(()) };
        let report = ended.report();
        let mut flows = timeline.chosen(&report, TRACED);
        if let Some(which) = &self.flow {
            flows = vec![report::find_flow(&report, which).map_err(|error| anyhow!("--flow: {error}"))?];
        }
        let mut out = std::io::BufWriter::new(file);
        let left_out = perfetto::write(&report, timeline, &flows, &mut out)?;
        out.flush()?;
        if left_out > 0 {
            let messages = several(left_out, "message");
            say(format_args!("{messages} not in the trace: too many overlap"));
        }
        Ok(())
    }

    /// A flow's rate over time in one line, if what pictures need was kept.
    pub(super) fn sparkline(&self, ended: &Ended, at: usize) -> Option<String> {
        let columns = self.style().width.saturating_sub(12).clamp(10, 100);
        sparkline(&ended.report(), ended.metric()?, at, columns)
    }
}
