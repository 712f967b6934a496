//! Options of all gates: which rules, what an unknown one does, and the forms of output.

use std::{
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use anyhow::{Context, anyhow, bail};
use clap::{Args, ValueEnum};

use super::{
    Outcome,
    input::{self, name_of},
    output::{self, Kind, OutFile},
    say,
    signals::is_stopped,
    tracking::Tracking,
};
use rdmawire::{
    gate::{
        self, Changes, Rule, Verdict,
        write::{self, Checked},
    },
    report::{self, Report, Severity, set::Set},
};

/// Rules, and how it is told what became of them.
#[derive(Debug, Args)]
pub(super) struct GateArgs {
    /// A file with rules in TOML: entries [[rule]] with `check` or `fail_if`, and optional `name` and `severity` (error, warning or
    /// note). Only errors decide the exit status.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// A query over rows that must find none: `ip_dscp in [3, 4] and message_fail != 0`. May be given several times.
    #[arg(long, value_name = "QUERY")]
    fail_if: Vec<String>,
    /// Whether a rule that the capture cannot decide fails or passes.
    #[arg(long, value_enum, default_value_t)]
    unknown: Unknown,
    /// Write the outcomes to a file as JUnit's XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the outcomes to a file as SARIF 2.1.0.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Replace files that exist. Without it, only outcomes of an earlier run are replaced.
    #[arg(long)]
    force: bool,
    /// Write annotations for GitHub's workflows, too.
    #[arg(long)]
    github: bool,
    /// Write JSON instead of text.
    #[arg(long, conflicts_with = "github")]
    json: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Unknown {
    /// It fails: exit status 2.
    #[default]
    Fail,
    /// It passes.
    Pass,
}

/// Rules, and where their outcomes go. Files are created before the work begins: a wrong path is told at once.
pub(super) struct Gate {
    pub(super) rules: Vec<Rule>,
    unknown: gate::Unknown,
    junit: Option<OutFile>,
    sarif: Option<OutFile>,
    github: bool,
    json: bool,
}

impl GateArgs {
    /// The gate with the rules of the command line, too.
    pub(super) fn open(&self, texts: &[String]) -> anyhow::Result<Gate> {
        let mut rules = Vec::new();
        if let Some(path) = &self.rules {
            let name = path.display();
            let text = input::text(path).with_context(|| name.to_string())?;
            rules = Rule::from_toml(&text)
                .map_err(|error| anyhow!("{name}: {}", input::indented(&error.to_string())))?;
        }
        for text in texts {
            rules.push(Rule::parse(text).map_err(|error| anyhow!("rule: {error}"))?);
        }
        for query in &self.fail_if {
            rules.push(Rule::fail_if(query).map_err(|error| anyhow!("--fail-if: {error}"))?);
        }
        let create = |path: &Option<PathBuf>, kind| {
            path.as_ref().map(|path| output::create(path, kind, self.force)).transpose()
        };
        Ok(Gate {
            rules,
            unknown: if self.unknown == Unknown::Fail { gate::Unknown::Fail } else { gate::Unknown::Pass },
            junit: create(&self.junit, Kind::Junit)?,
            sarif: create(&self.sarif, Kind::Sarif)?,
            github: self.github,
            json: self.json,
        })
    }
}

impl Gate {
    /// Writes what changed and what became of the rules, and decides.
    pub(super) fn end(self, checked: &[Checked], changes: Option<&Changes>) -> anyhow::Result<Outcome> {
        let unknown = self.unknown;
        let to_file =
            |file: Option<OutFile>,
             write: fn(&mut dyn Write, &[Checked], gate::Unknown) -> io::Result<()>| {
                let Some(mut file) = file else { return Ok(()) };
                let mut out = BufWriter::new(&mut file);
                write(&mut out, checked, unknown)?;
                out.flush()?;
                drop(out);
                file.keep()
            };
        to_file(self.junit, write::junit).context("--junit")?;
        to_file(self.sarif, write::sarif).context("--sarif")?;
        let mut out = io::stdout().lock();
        if self.json {
            write::json(&mut out, checked, changes)?;
        } else {
            changes.map_or(Ok(()), |changes| write::changes(&mut out, changes))?;
            write::text(&mut out, checked)?;
        }
        if self.github {
            write::github(&mut out, checked, unknown)?;
        }
        out.flush()?;
        let errors =
            checked.iter().flat_map(|one| &one.outcomes).filter(|one| one.severity == Severity::Error);
        let failed =
            |verdict| errors.clone().filter(|one| one.fails(unknown) && one.verdict == verdict).count();
        // A part of a capture decides nothing.
        if is_stopped() {
            return Ok(Outcome::Failed);
        }
        if failed(Verdict::Violated) > 0 {
            return Ok(Outcome::Unmet);
        }
        match failed(Verdict::Unknown) {
            0 => Ok(Outcome::Done),
            n => {
                say(format_args!("rules that cannot be decided: {n}; --unknown pass lets them pass"));
                Ok(Outcome::Failed)
            }
        }
    }
}

/// Calls `see` with each report of a file, and its name: a capture, or the parts of one, is analyzed; of `.json`, reports are read. Returns
/// whether all of it could be read; errors of captures are printed. A stream has either.
pub(super) fn each_report(
    parts: &[PathBuf],
    tracking: &Tracking,
    mut see: impl FnMut(String, &report::View<'_>),
) -> anyhow::Result<bool> {
    let name = name_of(parts);
    let text = match parts {
        [path] if path.extension().is_some_and(|end| end == "json") => {
            input::text(path).with_context(|| name.clone())?
        }
        _ => {
            let found = match parts {
                [path] if input::is_stream(path) => input::streamed(path).with_context(|| name.clone())?,
                _ => input::try_open(parts).map(|source| input::Streamed::Capture(Box::new(source))),
            };
            let mut source = match found {
                None => return Ok(false),
                Some(input::Streamed::Text(text)) => return each_in(&name, &text, see),
                Some(input::Streamed::Capture(source)) => source,
            };
            let (ended, is_all) = tracking.follow(&mut *source)?;
            see(name, &ended.report());
            return Ok(is_all);
        }
    };
    each_in(&name, &text, see)
}

/// Calls `see` with each report of a text, which is JSON of `analyze`.
fn each_in(name: &str, text: &str, mut see: impl FnMut(String, &report::View<'_>)) -> anyhow::Result<bool> {
    #[derive(serde::Deserialize)]
    struct Kind {
        #[serde(default)]
        schema: String,
    }
    let no_report = || format!("{name} is no report of `rdmawire analyze --json`");
    let kind: Kind = serde_json::from_str(text).with_context(no_report)?;
    match kind.schema.as_str() {
        report::SCHEMA => {
            let report: Report = serde_json::from_str(text).with_context(no_report)?;
            see(name.to_owned(), &report.view());
        }
        report::set::SCHEMA => {
            let set: Set = serde_json::from_str(text).with_context(no_report)?;
            for report in set.reports {
                see(format!("{name}: {}", report.head.capture.files.join(", ")), &report.view());
            }
        }
        other => bail!("{}: its schema is {other:?}, not {:?}", no_report(), report::SCHEMA),
    }
    Ok(true)
}
