//! `rdmawire check`: whether captures keep rules.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use clap::{Args, ValueEnum};

use super::{Outcome, input, say, tracking::Tracking};
use rdmawire::{
    gate::{self, Rule, Verdict, write::Checked},
    report::{self, Report, Severity, set::Set},
};

/// Check whether captures keep rules: `rdmawire check x.pcap 'retransmits == 0 where dscp in [26, 46]' 'pause.longest < 1ms'`.
///
/// Exit status: 0 if all rules hold, 1 if one does not, 2 if one cannot be decided. `rdmawire explain gate` lists figures and grammar.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// Capture files, or reports of `analyze --json` (names ending in .json); then rules.
    #[arg(required = true, value_name = "FILE|RULE")]
    what: Vec<String>,
    #[command(flatten)]
    gate: GateArgs,
    #[command(flatten)]
    tracking: Tracking,
}

/// Options of all gates.
#[derive(Debug, Args)]
pub(super) struct GateArgs {
    /// A query over rows that must find none: `ip_dscp in [3, 4] and message_fail != 0`. May be given several times.
    #[arg(long, value_name = "QUERY")]
    fail_if: Vec<String>,
    /// Whether a rule that the capture cannot decide fails or passes.
    #[arg(long, value_enum, default_value_t)]
    unknown: Unknown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Unknown {
    /// It fails: exit status 2.
    #[default]
    Fail,
    /// It passes.
    Pass,
}

impl Check {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        // A rule has a comparison or a parenthesis.
        let is_rule = |what: &String| what.contains(['=', '<', '>', '(', ' ']) && !Path::new(what).exists();
        let (rules, files): (Vec<String>, Vec<String>) = self.what.iter().cloned().partition(is_rule);
        let rules = self.gate.rules(&rules)?;
        if let Some(rule) = rules.iter().find(|rule| rule.is_change()) {
            bail!("{}: a change is one from an earlier report, and there is one report only", rule.text());
        }
        if files.is_empty() {
            bail!("which capture? a file that exists comes before the rules");
        }
        let mut checked = Vec::new();
        let mut is_all = true;
        for file in files {
            let path = PathBuf::from(&file);
            let outcomes = if path.extension().is_some_and(|end| end == "json") {
                for (name, report) in reports(&path)? {
                    checked.push(Checked { file: name, outcomes: gate::check(&rules, &report.view(), None) });
                }
                continue;
            } else {
                let Some(mut source) = input::try_open(&path) else {
                    is_all = false;
                    continue;
                };
                let (ended, is_whole) = self.tracking.follow(&mut source, ())?;
                is_all &= is_whole;
                gate::check(&rules, &ended.report(), None)
            };
            checked.push(Checked { file, outcomes });
        }
        let outcome = self.gate.end(&checked)?;
        Ok(if is_all || outcome == Outcome::Unmet { outcome } else { Outcome::Failed })
    }
}

impl GateArgs {
    /// The rules of the command line.
    pub(super) fn rules(&self, texts: &[String]) -> anyhow::Result<Vec<Rule>> {
        let mut rules = Vec::new();
        for text in texts {
            rules.push(Rule::parse(text).map_err(|error| anyhow!("rule: {error}"))?);
        }
        for query in &self.fail_if {
            rules.push(Rule::fail_if(query).map_err(|error| anyhow!("--fail-if: {error}"))?);
        }
        if rules.is_empty() {
            bail!("which rule? like 'retransmits == 0'; `rdmawire explain gate` lists figures");
        }
        Ok(rules)
    }

    /// Writes the outcomes, and decides.
    pub(super) fn end(&self, checked: &[Checked]) -> anyhow::Result<Outcome> {
        let mut out = io::stdout().lock();
        gate::write::text(&mut out, checked)?;
        out.flush()?;
        let errors = || {
            let all = checked.iter().flat_map(|one| &one.outcomes);
            all.filter(|outcome| outcome.severity == Severity::Error)
        };
        let unknown = errors().filter(|outcome| outcome.verdict == Verdict::Unknown).count();
        if errors().any(|outcome| outcome.verdict == Verdict::Violated) {
            return Ok(Outcome::Unmet);
        }
        if unknown > 0 && self.unknown == Unknown::Fail {
            say(format_args!("{unknown} rules cannot be decided; --unknown pass lets them pass"));
            return Ok(Outcome::Failed);
        }
        Ok(Outcome::Done)
    }
}

/// The reports of a JSON file, and their names.
pub(super) fn reports(path: &Path) -> anyhow::Result<Vec<(String, Report)>> {
    #[derive(serde::Deserialize)]
    struct Kind {
        #[serde(default)]
        schema: String,
    }
    let name = path.display().to_string();
    let text = fs::read_to_string(path).with_context(|| name.clone())?;
    let kind: Kind =
        serde_json::from_str(&text).with_context(|| format!("{name} is no report of `analyze --json`"))?;
    match kind.schema.as_str() {
        report::SCHEMA => Ok(vec![(name.clone(), serde_json::from_str(&text).context(name)?)]),
        report::set::SCHEMA => {
            let set: Set = serde_json::from_str(&text).context(name.clone())?;
            let reports = set.reports.into_iter();
            Ok(reports
                .map(|report| (format!("{name}: {}", report.capture.files.join(", ")), report))
                .collect())
        }
        other => {
            bail!("{name} is no report of this version: its schema is {other:?}, not {:?}", report::SCHEMA)
        }
    }
}
