//! `analyze --perfetto`, and the line of rate and marks of `analyze --flow`.

use std::{fs::File, io::Write};

use anyhow::{Context, anyhow};

use super::{Analyze, stdout};
use crate::cli::{
    Outcome,
    input::{describe, try_open},
    say,
};
use rdmawire::{
    analyze::{Ended, metric::timeline::Timeline},
    capture::{Merge, Reader, Source},
    plot::{perfetto, sparkline},
    report,
};

/// Flows of a trace, at most.
const TRACED: usize = 1000;

impl Analyze {
    /// Whether pictures are asked for.
    pub(super) fn has_pictures(&self) -> bool {
        let has_line = self.flow.is_some() && self.every.is_none() && self.html.is_none() && self.is_one();
        self.perfetto.is_some() || has_line
    }

    /// Analyzes with a timeline, on one thread. The report is the usual one.
    pub(super) fn pictures(&self) -> anyhow::Result<Outcome> {
        if !self.is_one() {
            return Err(anyhow!("--perfetto: one trace is of one file; --merge makes several one"));
        }
        // A path that cannot be written fails before the long work.
        let trace = self
            .perfetto
            .as_ref()
            .map(|path| File::create(path).with_context(|| format!("cannot write {}", path.display())));
        let trace = trace.transpose()?;
        let readers: Vec<Reader> = self.files.iter().filter_map(|path| try_open(path)).collect();
        let all_read = readers.len() == self.files.len();
        if readers.is_empty() {
            return Ok(Outcome::Failed);
        }
        let mut source = Merge::new(readers);
        let timeline = Timeline::default().with_speed(self.options().speed_bps);
        let (ended, is_all) = self.tracking.follow_with(&mut source, self.options(), timeline)?;
        let ended = ended.from(describe(source.readers().map(|reader| reader.info())));
        if let Some(trace) = trace {
            self.trace(&ended, trace)?;
        }
        let report = ended.report();
        let mut out = stdout()?;
        self.write(&report, &mut out)?;
        if let (Some(which), false) = (&self.flow, self.json) {
            let at = report::find_flow(&report, which).map_err(|error| anyhow!("--flow: {error}"))?;
            let columns = self.style().width.saturating_sub(12).clamp(10, 100);
            if let Some(lines) = sparkline(&report, ended.metric(), at, columns) {
                write!(out, "\n{lines}")?;
            }
        }
        out.flush()?;
        Ok(if all_read && is_all { Outcome::Done } else { Outcome::Failed })
    }

    fn trace(&self, ended: &Ended<Timeline>, file: File) -> anyhow::Result<()> {
        let (report, timeline) = (ended.report(), ended.metric());
        let mut flows = timeline.chosen(&report, TRACED);
        if let Some(which) = &self.flow {
            flows = vec![report::find_flow(&report, which).map_err(|error| anyhow!("--flow: {error}"))?];
        }
        let mut out = std::io::BufWriter::new(file);
        let left_out = perfetto::write(&report, timeline, &flows, &mut out)?;
        out.flush()?;
        if left_out > 0 {
            say(format_args!("{left_out} messages overlap with too many others, and are not in the trace"));
        }
        Ok(())
    }
}
