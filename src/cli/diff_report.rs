//! `rdmawire diff-report`: what changed between two runs, as a gate.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;

use super::{
    Outcome,
    gate::{GateArgs, each_report},
    output,
    signals::{STOP, end_on_signal},
    tracking::Tracking,
};
use rdmawire::{
    gate::{Before, changes, check, write::Checked},
    report::Report,
};

/// Show what changed between two runs, and check it: `rdmawire diff-report before.json after.json 'retransmits <= +5%' 'goodput >= -3%'`.
///
/// Rules are those of `check`, for the later run; limits with a sign are changes. The exit status is that of `check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire diff-report before.json after.json
  rdmawire diff-report before.json after.json 'retransmits <= +5%' 'goodput >= -3%'")]
pub(super) struct DiffReport {
    /// The earlier run: a report of `analyze --json`, or a capture.
    before: PathBuf,
    /// The later run.
    after: PathBuf,
    /// Rules.
    #[arg(id = "rule", value_name = "RULE")]
    rules: Vec<String>,
    #[command(flatten)]
    gate: GateArgs,
    #[command(flatten)]
    tracking: Tracking,
}

impl DiffReport {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        end_on_signal(&STOP);
        output::will_read_once(&self.before)?;
        output::will_read_once(&self.after)?;
        let gate = self.gate.open(&self.rules)?;
        let (earlier, later) = (self.report(&self.before)?, self.report(&self.after)?);
        let before = Before::new(&earlier, &later);
        let mut checked = Vec::new();
        if !gate.rules.is_empty() {
            let outcomes = check(&gate.rules, &later.view(), Some(&before));
            checked.push(Checked { file: self.after.display().to_string(), outcomes });
        }
        gate.end(&checked, Some(&changes(&before, &later)))
    }

    fn report(&self, path: &Path) -> anyhow::Result<Report> {
        let mut reports = Vec::new();
        let is_all =
            each_report(&[path.to_owned()], &self.tracking, |_, report| reports.push(report.collect()))?;
        match (reports.pop(), reports.is_empty(), is_all) {
            (Some(report), true, true) => Ok(report),
            (_, _, false) => {
                bail!("{}: the capture could not be read to its end: not compared", path.display())
            }
            _ => bail!("{}: expected one report; `analyze` makes one for each capture", path.display()),
        }
    }
}
