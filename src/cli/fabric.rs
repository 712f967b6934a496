//! `rdmawire fabric`: a subnet of InfiniBand, as its management datagrams show it.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::Args;

use super::{
    Outcome,
    input::{Joining, each, name_of, open_parts, say_damage},
    list, output, say,
    signals::{STOP, end_on_signal},
};
use rdmawire::{
    dissect::dissect,
    fabric::{self, Report},
    report::{
        clean,
        table::{Format, write_rows},
        units::{bytes, count, duration, rate, several},
    },
};

/// Show a subnet of InfiniBand: nodes, ports, links, LIDs, subnet managers, multicast groups, paths, and what counters counted.
///
/// It reads what a subnet manager asks and sets (SMP, by LIDs and on directed routes), the tables of subnet administration in any number of
/// segments, and counters of performance management. Only answers count. What was not asked while the capture was made is not known.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire fabric x.pcap
  rdmawire fabric x.pcap --csv subnet
  rdmawire fabric x.pcap --json | jq '.links[] | select(.is_slower)'")]
pub(super) struct Fabric {
    /// The capture, or the parts of one; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    joining: Joining,
    /// Show the way of packets between two LIDs, by forwarding tables.
    #[arg(long, value_name = "LID,LID", value_delimiter = ',', num_args = 1, action = clap::ArgAction::Append)]
    way: Vec<u16>,
    /// Rows of each list; 0: all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Also write the lists as tables into this directory: nodes.csv, ports.csv, …
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Also write them with one JSON object on each line.
    #[arg(long, value_name = "DIR")]
    ndjson: Option<PathBuf>,
    /// Also write them as Parquet.
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "DIR")]
    parquet: Option<PathBuf>,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
}

impl Fabric {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        end_on_signal(&STOP);
        let [from, to] = match self.way[..] {
            [] => [0; 2],
            [from, to] => [from, to],
            _ => bail!("--way takes two LIDs, as in --way 1,14"),
        };
        let parts = self.joining.one(&self.files)?;
        let name = name_of(&parts);
        let mut source = open_parts(&parts)?;
        let mut subnet = fabric::Fabric::default();
        let read = each(&mut source, |number, record| {
            subnet.push(number, record, &dissect(record.link, record.frame, record.wire_len));
            Ok(())
        })?;
        source.files().for_each(say_damage);
        let is_whole = read.was_read_whole(&name);
        let mut out = io::stdout().lock();
        if !self.way.is_empty() {
            let arrives = print_way(&mut subnet, [from, to], &mut out)?;
            return Ok(match (is_whole, arrives) {
                (false, _) => Outcome::Failed,
                (true, true) => Outcome::Done,
                (true, false) => Outcome::Unmet,
            });
        }
        let report = subnet.finish();
        for (directory, format) in self.tables() {
            self.write_tables(directory, format, &name, &report)?;
        }
        if self.json {
            serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            self.print(&name, &report, &mut out)?;
        }
        Ok(if is_whole { Outcome::Done } else { Outcome::Failed })
    }

    fn tables(&self) -> impl Iterator<Item = (&Path, Format)> {
        let asked = [
            (&self.csv, Format::Csv),
            (&self.ndjson, Format::Ndjson),
            #[cfg(feature = "parquet")]
            (&self.parquet, Format::Parquet),
        ];
        asked.into_iter().filter_map(|(directory, format)| Some((directory.as_deref()?, format)))
    }

    fn write_tables(
        &self,
        directory: &Path,
        format: Format,
        capture: &str,
        report: &Report,
    ) -> anyhow::Result<()> {
        fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
        let mut files = Vec::new();
        macro_rules! tables {
            ($($list:ident)*) => { $(
                let path = directory.join(format!("{}.{}", stringify!($list), format.extension()));
                let file = output::create(&path, output::Kind::Other, self.force)?;
                files.push(write_rows(file, format, capture, &report.$list)?);
            )* };
        }
        tables!(nodes ports links managers groups paths services traps counters samples operations);
        let count = several(files.len() as u64, "table");
        files.into_iter().try_for_each(output::OutFile::keep_quietly)?;
        say(format_args!("wrote {count} into {}", directory.display()));
        Ok(())
    }

    fn print(&self, name: &str, report: &Report, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", clean(name))?;
        if report.datagrams == 0 {
            return writeln!(out, "  no management datagrams");
        }
        writeln!(out, "  {}", report.sentence())?;
        if let (Some(reached), Some(lost)) = (report.pairs_reached, report.pairs_not_reached) {
            let most = report.most_switches.unwrap_or(0);
            write!(out, "  {} of adapters' ports reach each other", several(reached, "pair"))?;
            write!(out, ", over at most {}", several(most, "hop"))?;
            match lost {
                0 => writeln!(out)?,
                lost => writeln!(out, "; of {} the capture shows no way", several(lost, "pair"))?,
            }
        }
        if report.left_out > 0 {
            writeln!(out, "  - {} entries are too many: they were left out.", count(report.left_out))?;
        }
        if !report.findings.is_empty() {
            writeln!(out, "\nFindings")?;
            report.findings.iter().try_for_each(|finding| writeln!(out, "  {}", clean(finding)))?;
        }
        let mut lists = Lists { out, top: self.top };
        lists.write(
            "Subnet managers",
            &["node", "LID", "state", "priority", "act count", "ports"],
            &report.managers,
            |row| {
                vec![
                    row.node.clone().or_else(|| row.guid.clone()).unwrap_or_default(),
                    some(row.lid),
                    row.state.clone().unwrap_or("?".into()).into_owned(),
                    some(row.priority),
                    row.act_count.map_or(String::new(), |n| count(n.into())),
                    count(row.port_count),
                ]
            },
        )?;
        lists.write(
            "Nodes",
            &["node", "kind", "GUID", "LID", "ports", "active", "routes"],
            &report.nodes,
            |row| {
                vec![
                    row.name.clone(),
                    row.kind.to_string(),
                    row.guid.clone(),
                    some(row.lid),
                    row.port_count.to_string(),
                    some(row.active_ports),
                    some(row.routed_lids),
                ]
            },
        )?;
        lists.write(
            "Links",
            &["from", "port", "to", "port of it", "state", "speed", "pairs out", "pairs back"],
            &report.links,
            |row| {
                let speed = row.lanes.zip(row.lane_mbit_s).map_or(String::new(), |(lanes, mbit)| {
                    let slower = if row.is_slower == Some(true) { ", slower than possible" } else { "" };
                    format!("{lanes}x {} Gbit/s{slower}", f64::from(mbit) / 1000.0)
                });
                vec![
                    row.a.clone(),
                    row.a_port.to_string(),
                    row.b.clone(),
                    row.b_port.to_string(),
                    row.state.clone().unwrap_or_default().into_owned(),
                    speed,
                    row.pairs_from_a.map_or(String::new(), count),
                    row.pairs_from_b.map_or(String::new(), count),
                ]
            },
        )?;
        lists.write(
            "Multicast groups",
            &["group", "LID", "members", "switch ports", "P_Key", "MTU"],
            &report.groups,
            |row| {
                vec![
                    row.mgid.clone(),
                    format!("{:#06x}", row.mlid),
                    count(row.member_count),
                    count(row.switch_ports),
                    format!("{:#06x}", row.p_key),
                    some(row.mtu_bytes),
                ]
            },
        )?;
        let path = |row: &fabric::PathRow| {
            let rate =
                row.rate_mbit_s.map_or(String::new(), |mbit| format!("{} Gbit/s", f64::from(mbit) / 1000.0));
            vec![
                row.slid.to_string(),
                row.dlid.to_string(),
                row.sl.to_string(),
                format!("{:#06x}", row.p_key),
                some(row.mtu_bytes),
                rate,
                some(row.switches),
            ]
        };
        lists.write(
            "Paths",
            &["LID", "to LID", "SL", "P_Key", "MTU", "rate", "switches"],
            &report.paths,
            path,
        )?;
        lists.write("Services", &["service", "name", "port", "lease"], &report.services, |row| {
            let lease = row.lease_s.map_or("no end".into(), |s| format!("{s} s"));
            vec![row.service_id.clone(), row.name.clone(), row.gid.clone(), lease]
        })?;
        lists.write("Notices", &["trap", "meaning", "LID", "node", "count"], &report.traps, |row| {
            vec![
                row.trap.to_string(),
                row.meaning.clone().unwrap_or_default().into_owned(),
                row.issuer_lid.to_string(),
                row.node.clone().unwrap_or_default(),
                count(row.count),
            ]
        })?;
        let mut counters: Vec<_> = report.counters.iter().filter(|row| row.increase > 0).collect();
        counters.sort_by_key(|row| (row.counter.clone(), std::cmp::Reverse(row.increase)));
        lists.write(
            "Counters that grew",
            &["counter", "node", "port", "by", "per second", "bytes"],
            &counters,
            |row| {
                let at_least = if row.resets > 0 || row.is_full { "≥ " } else { "" };
                vec![
                    row.counter.to_string(),
                    row.node.clone().unwrap_or_else(|| format!("LID {}", row.lid)),
                    row.port.to_string(),
                    format!("{at_least}{}", count(row.increase)),
                    row.per_second.map_or(String::new(), rate),
                    row.increase_bytes.map_or(String::new(), bytes),
                ]
            },
        )?;
        lists.write(
            "Questions",
            &[
                "class",
                "attribute",
                "method",
                "asked",
                "answered",
                "missing",
                "failed",
                "segments",
                "p50",
                "max",
            ],
            &report.operations,
            |row| {
                let some = |n: u64| if n > 0 { count(n) } else { String::new() };
                vec![
                    row.class.to_string(),
                    row.attribute.clone(),
                    row.method.clone(),
                    count(row.questions),
                    count(row.answers),
                    some(row.unanswered),
                    some(row.failed),
                    some(row.segments),
                    row.p50_ns.map_or(String::new(), duration),
                    row.max_ns.map_or(String::new(), duration),
                ]
            },
        )
    }
}

/// Heads of columns that are aligned to the right.
const NUMBERS: [&str; 28] = [
    "LID",
    "to LID",
    "priority",
    "act count",
    "ports",
    "active",
    "routes",
    "port",
    "port of it",
    "pairs out",
    "pairs back",
    "members",
    "switch ports",
    "MTU",
    "SL",
    "switches",
    "trap",
    "count",
    "by",
    "per second",
    "bytes",
    "asked",
    "answered",
    "missing",
    "failed",
    "segments",
    "p50",
    "max",
];

/// Lists that are left out where they are empty.
struct Lists<'a, W> {
    out: &'a mut W,
    top: usize,
}

impl<W: Write> Lists<'_, W> {
    fn write<T>(
        &mut self,
        title: &str,
        head: &[&'static str],
        rows: &[T],
        cells: impl Fn(&T) -> Vec<String>,
    ) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let column = |head| match NUMBERS.contains(&head) {
            true => list::number(head, ""),
            false => list::words(head, ""),
        };
        let columns: Vec<list::Column> = head.iter().map(|&head| column(head)).collect();
        list::write(self.out, title, &columns, rows.iter().map(cells), self.top)
    }
}

fn some(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// Prints the hops between two LIDs. False if packets do not arrive.
fn print_way(subnet: &mut fabric::Fabric, [from, to]: [u16; 2], out: &mut impl Write) -> io::Result<bool> {
    let hops = match subnet.way(from, to) {
        Ok(hops) => hops,
        Err(why) => {
            writeln!(out, "LID {from} does not reach LID {to}: {}", why.name())?;
            return Ok(false);
        }
    };
    for hop in &hops {
        let port =
            |port: Option<u8>, word: &str| port.map_or(String::new(), |port| format!("  {word} port {port}"));
        let name = clean(&subnet.name(hop.node)).into_owned();
        writeln!(out, "{name}{}{}", port(hop.from, "in"), port(hop.to, "out"))?;
    }
    Ok(true)
}
