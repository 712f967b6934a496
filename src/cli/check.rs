//! `rdmawire check`: whether captures keep rules.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;

use super::{
    Outcome,
    gate::{GateArgs, each_report},
    input::Joining,
    signals::{STOP, end_on_signal},
    tracking::Tracking,
};
use rdmawire::gate::{check, write::Checked};

/// Check whether captures keep rules: `rdmawire check x.pcap 'retransmits == 0 where dscp in [26, 46]' 'pause.longest < 1ms'`.
///
/// Exit status: 0 if all rules hold, 1 if one does not, 2 if one cannot be decided. `rdmawire explain gate` lists figures and grammar.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire check x.pcap 'retransmits == 0 where dscp in [26, 46]' 'pause.longest < 1ms'
  rdmawire check --rules gates.toml --junit gates.xml x.pcap")]
pub(super) struct Check {
    /// Capture files, or reports of `analyze --json` (names that end in .json); and rules.
    #[arg(required = true, value_name = "FILE|RULE")]
    what: Vec<String>,
    #[command(flatten)]
    joining: Joining,
    #[command(flatten)]
    gate: GateArgs,
    #[command(flatten)]
    tracking: Tracking,
}

impl Check {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        // A rule has a comparison or a parenthesis.
        let is_rule = |what: &String| what.contains(['=', '<', '>', '(', ' ']) && !Path::new(what).exists();
        let (rules, files): (Vec<String>, Vec<String>) = self.what.into_iter().partition(is_rule);
        end_on_signal(&STOP);
        let paths: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let captures = self.joining.captures(&paths)?;
        let gate = self.gate.open(&rules)?;
        if gate.rules.is_empty() {
            bail!("which rule? like 'retransmits == 0'; `rdmawire explain gate` lists figures");
        }
        if let Some(rule) = gate.rules.iter().find(|rule| rule.is_change()) {
            bail!(
                "{}: a limit with a sign is a change from an earlier report, for `rdmawire diff-report`; a figure itself is never negative",
                rule.text()
            );
        }
        if files.is_empty() {
            bail!("which capture? no argument is the name of a file");
        }
        let (mut checked, mut is_all) = (Vec::new(), true);
        for parts in captures {
            is_all &= each_report(&parts, &self.tracking, |file, report| {
                checked.push(Checked { file, outcomes: check(&gate.rules, report, None) });
            })?;
        }
        let outcome = gate.end(&checked, None)?;
        Ok(if is_all || outcome == Outcome::Unmet { outcome } else { Outcome::Failed })
    }
}
