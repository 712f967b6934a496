//! Measures an analyzer with scenarios: a confusion matrix, and the errors of each scenario.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod expect;

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use rdmawire::sim::{
    Error, Run, Scenario,
    label::{Class, Label},
    run,
};

use expect::{Mismatch, check};

/// Reads several scenarios from one text. Each begins with a line `### name`; lines before the first are ignored.
///
/// # Errors
/// As for [`Scenario::parse`], with the line in the whole text.
pub(crate) fn parse_many(text: &str) -> Result<Vec<(String, Scenario)>, Error> {
    let mut all: Vec<(usize, String, String)> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        match (line.strip_prefix("### "), all.last_mut()) {
            (Some(name), _) => all.push((i + 1, name.trim().into(), String::new())),
            (None, Some((_, _, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    let parse = |(from, name, text): (usize, String, String)| match Scenario::parse(&text) {
        Ok(scenario) => Ok((name, scenario)),
        Err(error) => Err(Error { line: from + error.line, ..error }),
    };
    all.into_iter().map(parse).collect()
}

/// An analyzer's results for a capture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// The class of each frame: a name of [`Class`], or an analyzer's own if it cannot decide (`ambiguous`, `resync`,
    /// `before_start`, …).
    pub(crate) classes: Vec<&'static str>,
    /// Its report, as JSON.
    pub(crate) report: Value,
}

/// The results of one scenario, over all seeds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// The scenario.
    pub(crate) name: String,
    /// Frames.
    pub(crate) frames: u64,
    /// Retransmissions evident at the tap.
    pub(crate) retransmits: Count,
    /// Late originals.
    pub(crate) out_of_order: Count,
    /// Frames called ambiguous.
    pub(crate) ambiguous: u64,
    /// Frames that were given a wrong class.
    pub(crate) wrong: u64,
    /// The first wrong ones.
    pub(crate) examples: Vec<Example>,
    /// Retransmissions that are not evident at the tap. Calling them new is right too.
    pub(crate) unknowable: u64,
    /// Where the report differs from the expectation.
    pub(crate) mismatches: Vec<Mismatch>,
    /// Whether it has no retransmission, no late original and no corrupt frame.
    pub(crate) is_clean: bool,
}

/// A frame with a wrong class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Example {
    /// The scenario's seed.
    pub(crate) seed: u64,
    /// The tap.
    pub(crate) tap: usize,
    /// The frame, from 1.
    pub(crate) frame: usize,
    /// The truth.
    pub(crate) label: Label,
    /// The class that it was given.
    pub(crate) said: &'static str,
}

/// Most examples that are kept of a scenario.
const EXAMPLES: usize = 10;

/// True, found and missed frames of a class.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    /// How many there are.
    pub(crate) truth: u64,
    /// How many frames were given this class.
    pub(crate) found: u64,
    /// How many of those are wrong.
    pub(crate) false_positives: u64,
    /// How many were given another class, except `ambiguous`.
    pub(crate) missed: u64,
}

impl Count {
    /// False positives and missed frames in percent of the true ones. Without true ones, each false one counts as 100 %.
    pub(crate) fn error_percent(&self) -> f64 {
        100.0 * (self.false_positives + self.missed) as f64 / self.truth.max(1) as f64
    }

    fn add(&mut self, is: bool, said: bool, ambiguous: bool) {
        self.truth += is as u64;
        self.found += said as u64;
        self.false_positives += (said && !is) as u64;
        self.missed += (is && !said && !ambiguous) as u64;
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8} {:>8} {:>6.2}%", self.truth, self.found, self.error_percent())
    }
}

/// The results of all scenarios.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accuracy {
    /// Of each scenario.
    pub(crate) rows: Vec<Row>,
    /// Frames by true class and by the class that they were given.
    pub(crate) matrix: BTreeMap<(Class, &'static str), u64>,
}

/// Runs each scenario with several seeds, and an analyzer over every capture.
///
/// # Errors
/// A value in a scenario is wrong.
pub(crate) fn measure(
    scenarios: &[(String, Scenario)],
    seeds: std::ops::Range<u64>,
    mut analyzer: impl FnMut(&Run, usize) -> Verdict,
) -> Result<Accuracy, Error> {
    let mut accuracy = Accuracy::default();
    for (name, scenario) in scenarios {
        let mut row = Row { name: name.clone(), is_clean: true, ..Row::default() };
        for seed in seeds.clone() {
            let run = run(&Scenario { seed, ..scenario.clone() })?;
            for tap in 0..run.captures.len() {
                let verdict = analyzer(&run, tap);
                accuracy.judge(&mut row, &run, tap, &verdict);
            }
        }
        accuracy.rows.push(row);
    }
    Ok(accuracy)
}

impl Accuracy {
    fn judge(&mut self, row: &mut Row, run: &Run, tap: usize, verdict: &Verdict) {
        let labels = run.labels(tap);
        for (i, label) in labels.frames.iter().enumerate() {
            let said = verdict.classes.get(i).copied().unwrap_or("nothing");
            let is_retransmission = label.is_retransmission();
            let is_late = label.class == Class::LateOriginal;
            row.frames += 1;
            row.is_clean &=
                !is_retransmission && !is_late && !matches!(label.class, Class::Corrupt | Class::Trimmed);
            row.ambiguous += (said == "ambiguous") as u64;
            // It is not evident at the tap.
            let hidden = is_retransmission && !label.evident;
            let looks_new = matches!(said, "first" | "new" | "new_after_gap" | "resync");
            if hidden {
                row.unknowable += 1;
            }
            let right = said == label.class.name()
                || (hidden && looks_new)
                || (is_first(label.class) && said == "first")
                || (!is_numbered(label.class) && !is_claim(said))
                || (label.late && said == Class::LateOriginal.name());
            if !right && said != "ambiguous" {
                row.wrong += 1;
                if row.examples.len() < EXAMPLES {
                    let seed = run.scenario.seed;
                    row.examples.push(Example { seed, tap, frame: i + 1, label: *label, said });
                }
            }
            let excused = hidden || (label.late && right);
            if !excused {
                let ambiguous = said == "ambiguous";
                row.retransmits.add(is_retransmission, said == Class::Retransmission.name(), ambiguous);
                // An acknowledgement that is overtaken keeps its class.
                if !matches!(label.class, Class::Ack | Class::Nak | Class::Rnr) {
                    row.out_of_order.add(is_late, said == Class::LateOriginal.name(), ambiguous);
                }
            }
            *self.matrix.entry((label.class, said)).or_default() += 1;
        }
        if !verdict.report.is_null() {
            row.mismatches.extend(check(&run.expect_of(tap, &labels), &verdict.report));
        }
    }

    /// False retransmissions and late originals in scenarios that have neither.
    pub(crate) fn false_positives_on_clean(&self) -> u64 {
        let clean = self.rows.iter().filter(|row| row.is_clean);
        clean.map(|row| row.retransmits.false_positives + row.out_of_order.false_positives).sum()
    }

    /// The greatest error of retransmissions and of late originals in any scenario, in percent.
    pub(crate) fn worst(&self) -> (f64, f64) {
        let worst = |of: fn(&Row) -> f64| self.rows.iter().map(of).fold(0.0, f64::max);
        (worst(|row| row.retransmits.error_percent()), worst(|row| row.out_of_order.error_percent()))
    }
}

/// Whether a frame of this class can be the first of its space in a capture.
fn is_first(class: Class) -> bool {
    matches!(class, Class::New | Class::NewAfterGap | Class::Retransmission)
}

/// Whether frames of this class are judged by their PSN, or by damage or duplication.
fn is_numbered(class: Class) -> bool {
    use Class::*;
    matches!(class, New | NewAfterGap | Retransmission | LateOriginal | CaptureDuplicate | Corrupt | Trimmed)
}

/// Whether this class claims a problem.
fn is_claim(said: &str) -> bool {
    matches!(
        said,
        "retransmission"
            | "late_original"
            | "capture_duplicate"
            | "corrupt"
            | "trimmed"
            | "ambiguous"
            | "resync"
    )
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max(8);
        let head = "  frames     retx    found   error     late    found   error  ambig  wrong hidden report";
        writeln!(f, "{:width$} {head}", "scenario")?;
        for row in &self.rows {
            let Row { name, frames, ambiguous, wrong, unknowable, .. } = row;
            write!(f, "{name:width$} {frames:>8} {} {}", row.retransmits, row.out_of_order)?;
            writeln!(f, " {ambiguous:>6} {wrong:>6} {unknowable:>6} {:>6}", row.mismatches.len())?;
        }
        let mut said: Vec<&str> = self.matrix.keys().map(|(_, said)| *said).collect();
        said.sort_unstable();
        said.dedup();
        write!(f, "\n{:>18}", "true \\ said")?;
        said.iter().try_for_each(|said| write!(f, " {said:>17}"))?;
        writeln!(f)?;
        for class in Class::ALL {
            let count = |said: &str| {
                self.matrix.iter().find(|((c, s), _)| *c == class && *s == said).map(|(_, n)| *n)
            };
            if said.iter().all(|said| count(said).is_none()) {
                continue;
            }
            write!(f, "{:>18}", class.name())?;
            for said in &said {
                match count(said) {
                    Some(n) => write!(f, " {n:>17}")?,
                    None => write!(f, " {:>17}", ".")?,
                }
            }
            writeln!(f)?;
        }
        let (retransmits, late) = self.worst();
        writeln!(
            f,
            "\nworst error: retransmissions {retransmits:.2} %, late originals {late:.2} %; \
             false ones in clean scenarios: {}",
            self.false_positives_on_clean()
        )
    }
}
