//! `rdmawire counters`: what hosts must have counted, beside what they say.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    path::PathBuf,
};

use anyhow::{Context, anyhow, bail};
use clap::{Args, builder::PossibleValuesParser};
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

use super::{
    Outcome,
    input::{Joining, name_of, open_parts},
    signals::{STOP, end_on_signal},
    terminal,
    tracking::Tracking,
};
use rdmawire::{
    counters::{self, Agreement, Compared, HostCounters, HostCounts, Prediction, Reading, Setting, Vendor},
    dissect::Address,
    report::units,
};

/// Predict what each host must have counted, and compare it with what it says.
///
/// Every counter is a number, or bounds with the reason: what the capture cannot show. With readings of a host's counters before
/// and after, each difference is explained. The exit status is 1 if a counter contradicts the capture.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire counters x.pcap --vendor mlx5
  rdmawire counters x.pcap --tap 10.0.0.1 --before 10.0.0.1=before.txt --after 10.0.0.1=after.txt")]
pub(super) struct Counters {
    /// The capture, or the parts of one; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    joining: Joining,
    /// Whose names: mlx5, bnxt_re, irdma, efa, rxe. By default the readings show it; without them, mlx5.
    #[arg(long, value_parser = PossibleValuesParser::new(Vendor::ALL.map(Vendor::name)))]
    vendor: Option<String>,
    /// Only this host; may be repeated.
    #[arg(long, value_name = "ADDRESS")]
    host: Vec<Address>,
    /// The capture was made at this host, and has all that it sent and was handed; may be repeated.
    #[arg(long, value_name = "ADDRESS")]
    tap: Vec<Address>,
    /// The counters of a host before the capture: `ethtool -S`, `rdma statistic` (also -j), lines of a name and a value, or
    /// a directory such as /sys/class/infiniband/mlx5_0/ports/1/hw_counters. May be repeated, also for one host.
    #[arg(long, value_name = "ADDRESS=FILE", value_parser = file_of_host)]
    before: Vec<(Address, PathBuf)>,
    /// The counters of a host after the capture.
    #[arg(long, value_name = "ADDRESS=FILE", value_parser = file_of_host)]
    after: Vec<(Address, PathBuf)>,
    /// Addresses of one host, whose counters are for all of them: 10.0.0.1,fe80::1. It goes by the first one. May be repeated.
    #[arg(long, value_name = "ADDRESS,…", value_parser = addresses)]
    same_host: Vec<Addresses>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    tracking: Tracking,
}

/// Addresses of one host.
#[derive(Clone, Debug)]
struct Addresses(Vec<Address>);

fn addresses(text: &str) -> Result<Addresses, String> {
    let one = |address: &str| address.parse().map_err(|error| format!("{address:?} is {error}"));
    text.split(',').map(one).collect::<Result<_, _>>().map(Addresses)
}

fn file_of_host(text: &str) -> Result<(Address, PathBuf), String> {
    let (host, file) = text.split_once('=').ok_or("expected ADDRESS=FILE, as 10.0.0.1=before.txt")?;
    Ok((host.parse().map_err(|error| format!("{host:?} is {error}"))?, file.into()))
}

/// The object of --json.
#[derive(Serialize)]
struct Output {
    schema: &'static str,
    hosts: Vec<Row>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Row {
    Predicted(HostCounters),
    Compared { host: String, is_at_tap: bool, vendor: Vendor, counters: Vec<Compared> },
}

impl Counters {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        end_on_signal(&STOP);
        let (before, after) = (readings(&self.before)?, readings(&self.after)?);
        if let Some(host) = before.keys().find(|host| !after.contains_key(host)) {
            bail!("--before has a reading of {host}, --after has none: give both");
        }
        if let Some(host) = after.keys().find(|host| !before.contains_key(host)) {
            bail!("--after has a reading of {host}, --before has none: give both");
        }
        let parts = self.joining.one(&self.files)?;
        let mut source = open_parts(&parts)?;
        let (ended, is_all) = self.tracking.follow_with(&mut source, HostCounts::default())?;
        let report = ended.report();
        let counts = ended.metric().ok_or_else(|| anyhow!("the analysis kept no counts of hosts"))?;
        let hosts = self.same_host.iter().map(|host| host.0.clone()).collect();
        let setting = Setting { taps: self.tap.clone(), hosts };
        let (mut rows, mut known) = (Vec::new(), BTreeSet::new());
        for vendor in Vendor::ALL {
            for host in counters::predict(&report, counts, vendor, &setting) {
                known.insert(host.address);
                let readings = before.get(&host.address).zip(after.get(&host.address));
                let is_wanted = self.host.is_empty() || self.host.contains(&host.address);
                if is_wanted && self.vendor(readings.map(|(_, after)| after)) == vendor {
                    rows.push(match readings {
                        None => Row::Predicted(host),
                        Some((before, after)) => Row::compared(&host, before, after),
                    });
                }
            }
        }
        self.check_hosts(&name_of(&parts), &rows, after.keys())?;
        // Of a host with several addresses, any will do.
        if let Some(tap) = self.tap.iter().find(|tap| !known.contains(&setting.host_of(**tap))) {
            bail!("--tap {tap}: {tap} is not among the hosts of {}", name_of(&parts));
        }
        let is_contradicted = rows.iter().any(Row::is_contradicted);
        let mut out = io::stdout().lock();
        if self.json {
            let output = Output { schema: "rdmawire.counters/1", hosts: rows };
            serde_json::to_writer_pretty(&mut out, &output).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            rows.iter().try_for_each(|row| row.print(&mut out))?;
        }
        Ok(match (is_all, is_contradicted) {
            (false, _) => Outcome::Failed,
            (true, true) => Outcome::Unmet,
            (true, false) => Outcome::Done,
        })
    }

    fn vendor(&self, reading: Option<&Reading>) -> Vendor {
        let asked = self.vendor.as_ref().and_then(|name| Vendor::ALL.into_iter().find(|v| v.name() == name));
        asked.or_else(|| reading?.vendor()).unwrap_or(Vendor::Mlx5)
    }

    /// An address that the capture has not is a mistake.
    fn check_hosts<'a>(
        &'a self,
        capture: &str,
        rows: &[Row],
        read: impl Iterator<Item = &'a Address>,
    ) -> anyhow::Result<()> {
        for host in
            self.host.iter().chain(read.filter(|host| self.host.is_empty() || self.host.contains(host)))
        {
            if !rows.iter().any(|row| row.host() == host.to_string()) {
                bail!("{host} is not among the hosts of {capture}");
            }
        }
        Ok(())
    }
}

fn readings(files: &[(Address, PathBuf)]) -> anyhow::Result<BTreeMap<Address, Reading>> {
    let mut all: BTreeMap<Address, Reading> = BTreeMap::new();
    for (host, path) in files {
        let reading = Reading::open(path).with_context(|| format!("{}", path.display()))?;
        all.entry(*host).or_default().and(reading);
    }
    Ok(all)
}

impl Row {
    fn compared(host: &HostCounters, before: &Reading, after: &Reading) -> Row {
        let counters = counters::compare(host, before, after);
        Row::Compared { host: host.host.clone(), is_at_tap: host.is_at_tap, vendor: host.vendor, counters }
    }

    fn host(&self) -> &str {
        match self {
            Row::Predicted(HostCounters { host, .. }) | Row::Compared { host, .. } => host,
        }
    }

    fn is_contradicted(&self) -> bool {
        let Row::Compared { counters, .. } = self else { return false };
        counters.iter().any(|counter| counter.verdict == Agreement::Contradicts)
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let (Row::Predicted(HostCounters { is_at_tap, vendor, .. })
        | Row::Compared { is_at_tap, vendor, .. }) = self;
        let place = if *is_at_tap { "captured here" } else { "captured elsewhere: see --tap" };
        writeln!(out, "{} ({}, {place})", self.host(), vendor.name())?;
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(terminal::width().try_into().unwrap_or(u16::MAX));
        let quiet = match self {
            Row::Predicted(host) => {
                table.set_header(["counter", "predicted", "why not exactly"]);
                let (quiet, shown): (Vec<_>, Vec<_>) =
                    host.counters.iter().partition(|one| one.most == Some(0));
                for one in shown {
                    table.add_row([one.name.to_owned(), bounds(one), why(one)]);
                }
                quiet.len()
            }
            Row::Compared { counters, .. } => {
                table.set_header(["counter", "predicted", "counted", "", "where the difference comes from"]);
                let is_quiet = |one: &&Compared| one.actual == Some(0) && one.prediction.most == Some(0);
                let (quiet, shown): (Vec<_>, Vec<_>) = counters.iter().partition(is_quiet);
                for one in shown {
                    let counted = one.actual.map_or("?".to_owned(), units::count);
                    let text = one.explanation.clone().unwrap_or_default();
                    let name = one.prediction.name.to_owned();
                    table.add_row([
                        name,
                        bounds(&one.prediction),
                        counted,
                        word(one.verdict).to_owned(),
                        text,
                    ]);
                }
                quiet.len()
            }
        };
        if table.row_count() > 0 {
            writeln!(out, "{}", table.trim_fmt())?;
        }
        if quiet > 0 {
            writeln!(out, "{quiet} counters: 0, as they must be")?;
        }
        writeln!(out)
    }
}

fn word(verdict: Agreement) -> &'static str {
    match verdict {
        Agreement::Equal => "equal",
        Agreement::Possible => "possible",
        Agreement::Contradicts => "WRONG",
        Agreement::Unknown => "reset",
    }
}

fn bounds(one: &Prediction) -> String {
    match one.most {
        Some(most) if most == one.least => units::count(most),
        Some(most) => format!("{} to {}", units::count(one.least), units::count(most)),
        None => format!("{} or more", units::count(one.least)),
    }
}

fn why(one: &Prediction) -> String {
    one.why.iter().map(|reason| reason.name()).collect::<Vec<_>>().join("; ")
}
