//! What other commands find in a capture that has commands of storage or files, or the management of a subnet: it is read once more, for them.

use std::path::PathBuf;

use crate::cli::input::{PartFiles, is_stream, open_parts};
use rdmawire::{
    analyze::Options,
    capture::{Record, Series, Source},
    commands, fabric,
    filter::{Filter, FrameMeta},
    icrc, nvme,
    report::SeeAlso,
    taps,
};

/// What follows the frames for each of the commands.
#[derive(Default)]
struct Followers {
    nvme: Option<nvme::Commands>,
    commands: Option<commands::Commands>,
    fabric: Option<fabric::Fabric>,
}

/// Larger captures are not read again: that would take longer than their analysis.
const MOST_BYTES: u64 = 32 << 20;

/// Asks these commands about captures, which are one trace. What can be read only once, or is large, is left as it is.
pub(super) fn ask(
    also: Vec<SeeAlso>,
    captures: &[PartFiles],
    options: &Options,
    filter: &Option<Filter>,
) -> Vec<SeeAlso> {
    if also.is_empty() || captures.iter().flatten().any(|path| is_stream(path) || path.is_dir()) {
        return also;
    }
    let len = |path: &PathBuf| path.metadata().map_or(0, |data| data.len());
    if captures.iter().flatten().map(len).sum::<u64>() > MOST_BYTES {
        return also;
    }
    let Ok(mut opened) = captures.iter().map(|parts| open_parts(parts)).collect::<Result<Vec<Series>, _>>()
    else {
        return also;
    };
    match (opened.len(), opened.pop()) {
        (1, Some(mut one)) => read(also, &mut one, options, filter),
        (_, Some(last)) => {
            opened.push(last);
            read(also, &mut taps::merge(opened), options, filter)
        }
        (_, None) => also,
    }
}

fn read(
    mut also: Vec<SeeAlso>,
    source: &mut impl Source,
    options: &Options,
    filter: &Option<Filter>,
) -> Vec<SeeAlso> {
    let asks = |command: &str| also.iter().any(|one| one.command == command);
    let mut all = Followers {
        nvme: asks("nvme").then(nvme::Commands::default),
        commands: asks("commands").then(commands::Commands::default),
        fabric: asks("fabric").then(fabric::Fabric::default),
    };
    let mut number = 0;
    // Damage was told by the analysis.
    while let Ok(Some(record)) = source.next() {
        number += 1;
        all.push(number, &record, options, filter);
    }
    let Followers { nvme, commands, fabric } = all;
    // What only looked like commands has none there.
    let mut tell = |command: &str, is_there: bool, findings: &[String]| {
        if !is_there {
            also.retain(|one| one.command != command);
        } else if let Some(one) = also.iter_mut().find(|one| one.command == command) {
            (one.findings, one.first) = (Some(findings.len() as u64), findings.first().cloned());
        }
    };
    if let Some(nvme) = nvme {
        let report = nvme.finish();
        tell("nvme", !report.queues.is_empty(), &report.findings);
    }
    if let Some(commands) = commands {
        let report = commands.finish();
        tell("commands", !report.connections.is_empty(), &report.findings);
    }
    if let Some(fabric) = fabric {
        let report = fabric.finish();
        tell("fabric", report.datagrams > 0, report.troubles());
    }
    also
}

impl Followers {
    fn push(&mut self, number: u64, record: &Record<'_>, options: &Options, filter: &Option<Filter>) {
        let d = options.dissection(record);
        let is_wanted = filter.as_ref().is_none_or(|filter| {
            let icrc = Some(icrc::verify(&d));
            filter.matches(&d, &FrameMeta { number, time_ns: record.time.0, icrc })
        });
        if !is_wanted {
            return;
        }
        if let Some(of) = &mut self.nvme {
            of.push(number, record, &d);
        }
        if let Some(of) = &mut self.commands {
            of.push(number, record, &d);
        }
        if let Some(of) = &mut self.fabric {
            of.push(number, record, &d);
        }
    }
}
