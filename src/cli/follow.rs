//! What commands that follow the commands of upper layers have in common: their options, reading, and what is printed when.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    path::PathBuf,
};

use anyhow::bail;
use clap::Args;
use serde::Serialize;

use super::{
    Outcome,
    arg::{self, RocePorts},
    input::{PartFiles, each, say_damage},
    list,
    signals::{STOP, end_on_signal},
    table_files::TableDirectories,
    trace::{Captures, Merging, Trace, name_of_trace, write_json},
};
use rdmawire::{
    analyze::Application,
    capture::Record,
    dissect::{Dissection, dissect_with},
    filter::FrameMeta,
    icrc,
    report::{table::Tabular, units::several},
    wire::Kind,
};

#[derive(Debug, Args)]
pub(super) struct Following {
    /// Capture files; - is standard input. Each capture is answered for by itself, unless they are merged.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    merging: Merging,
    /// Print each command, the slowest first; with --json, in the order of their responses.
    #[arg(long)]
    pub(super) commands: bool,
    /// Rows of each table; 0: all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(super) top: usize,
    /// Print a JSON object for each capture, on a line each.
    #[arg(long)]
    json: bool,
    /// Follow only frames that match: `ip.dst == 10.0.0.2`; see `rdmawire explain filter`.
    #[arg(short, long, value_name = "EXPR")]
    filter: Option<String>,
    #[command(flatten)]
    roce: RocePorts,
    #[command(flatten)]
    tables: TableDirectories,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
}

/// Follows commands, frame by frame.
pub(super) trait Follow {
    type Report: Serialize + Tabular;
    /// The name of the command.
    const COMMAND: &'static str;

    /// Keeps so many commands one by one for the report.
    fn keeping(keep: usize) -> Self;
    /// One frame and its number, from 1.
    fn push(&mut self, frame: u64, record: &Record<'_>, d: &Dissection<'_>);
    /// What the frames show.
    fn finish(self) -> Self::Report;
    /// Prints the report of a trace of this name as text.
    fn print(report: &Self::Report, name: &str, options: &Following, out: &mut impl Write) -> io::Result<()>;
}

/// Says what became of packets with wrong ICRCs: of connections that are followed, and of what could have been one.
pub(super) fn say_wrong_icrcs(refused: u64, read: u64, out: &mut impl Write) -> io::Result<()> {
    if read > 0 {
        let packets = several(read, "packet");
        let text = format!(
            "{packets} with a wrong ICRC were read: most are wrong, so that something rewrote the packets, or their sender computes none."
        );
        list::say(out, "  - ", &text)?;
    }
    if refused > 0 {
        writeln!(out, "  - {} with a wrong ICRC: corrupt, and not read.", several(refused, "packet"))?;
    }
    Ok(())
}

/// Says that nothing of this kind is followed, and why, where the capture has one direction only; and what it has of set-ups.
pub(super) fn say_none(what: &str, one_way: bool, requests: u64, out: &mut impl Write) -> io::Result<()> {
    match one_way {
        true => writeln!(out, "  no {what} is followed")?,
        false => writeln!(out, "  no {what}")?,
    }
    if one_way {
        let text = "One direction only: commands are known by their answers, or by a set-up with its reply; neither is in the capture. There may be some.";
        list::say(out, "  - ", text)?;
    }
    if requests > 0 {
        let text = format!(
            "{} for it without a reply (CM REP) in the capture: see rdmawire connections.",
            several(requests, "connection request")
        );
        list::say(out, "  - ", &text)?;
    }
    Ok(())
}

/// What the capture has for another command that follows commands.
#[derive(Default)]
struct Heard(BTreeSet<Application>);

impl Heard {
    /// Whose a frame is, as a set-up says it, or a message that can only be one.
    fn hear(&mut self, d: &Dissection<'_>) {
        let by_message = || {
            d.layers().iter().find_map(|layer| match layer.kind {
                Kind::RpcRdma => Some(Application::Nfs),
                Kind::NvmeSqe | Kind::NvmeCqe => Some(Application::NvmeOf),
                Kind::Iser => Some(Application::Iser),
                Kind::Srp => Some(Application::Srp),
                Kind::SmbdData => Some(Application::SmbDirect),
                Kind::Rds => Some(Application::Rds),
                _ => None,
            })
        };
        let by_set_up = || d.application_by_service().or_else(|| d.application_by_private_data());
        self.0.extend(by_set_up().or_else(by_message));
    }

    /// Says which other command follows what this one does not.
    fn say(&self, command: &str, out: &mut impl Write) -> io::Result<()> {
        let followed = |application: &&Application| match **application {
            Application::NvmeOf => command != "nvme",
            Application::Ipoib => false,
            other => command == "nvme" && other.protocol().is_some(),
        };
        let names: Vec<&str> = self.0.iter().filter(followed).map(|application| application.name()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let other = if command == "nvme" { "commands" } else { "nvme" };
        list::say(out, "  - ", &format!("{}: `rdmawire {other}` follows it.", names.join(", ")))
    }
}

/// Says which of several taps each connection is read of; `of` has the number of its interface where there are several.
pub(super) fn say_taps(
    what: &str,
    near: &str,
    of: impl Iterator<Item = Option<u16>>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut by_tap: BTreeMap<u16, Vec<String>> = BTreeMap::new();
    for (at, tap) in of.enumerate() {
        tap.into_iter().for_each(|tap| by_tap.entry(tap).or_default().push(format!("#{at}")));
    }
    by_tap.iter().try_for_each(|(tap, those)| {
        const SHOWN: usize = 8;
        let more = those.len().saturating_sub(SHOWN);
        let shown = those.get(..SHOWN).unwrap_or(those).join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!(
            "Several taps recorded {} {shown}{more}: times are those of interface {tap}, which is nearest the {near}.",
            if those.len() == 1 { what.to_owned() } else { format!("{what}s") },
        );
        list::say(out, "  - ", &text)
    })
}

/// Commands that are kept one by one.
const KEPT: usize = 1 << 20;

impl Following {
    pub(super) fn run<F: Follow>(self) -> anyhow::Result<Outcome> {
        end_on_signal(&STOP);
        let mut outcome = Outcome::Done;
        let traces = self.merging.traces(&self.files)?;
        if traces.len() > 1 && self.tables.are_asked() {
            bail!("tables are of one capture: with several, write them one by one, or --merge them");
        }
        for captures in traces {
            if !self.one::<F>(&captures)? {
                outcome = Outcome::Failed;
            }
        }
        Ok(outcome)
    }

    /// Answers for one trace. Returns whether all of it could be read.
    fn one<F: Follow>(&self, captures: &[PartFiles]) -> anyhow::Result<bool> {
        let (source, is_opened) = Trace::open(captures);
        let Some(mut source) = source else { return Ok(false) };
        let tables = self.tables.open(self.force)?;
        let (filter, options) = (arg::filter(&self.filter)?, self.roce.options());
        let mut commands = F::keeping(if self.commands || self.tables.are_asked() { KEPT } else { 0 });
        let mut heard = Heard::default();
        let read = each(&mut source, |number, record| {
            let d = dissect_with(options, record.link, record.frame, record.wire_len);
            let is_wanted = filter.as_ref().is_none_or(|filter| {
                let icrc = Some(icrc::verify(&d));
                filter.matches(&d, &FrameMeta { number, time_ns: record.time.0, icrc })
            });
            if is_wanted {
                heard.hear(&d);
                commands.push(number, record, &d);
            }
            Ok(())
        })?;
        source.captures().into_iter().flat_map(|capture| capture.files()).for_each(say_damage);
        let name = name_of_trace(captures);
        let is_whole = read.was_read_whole(&name);
        let report = commands.finish();
        tables.write(&name, &report)?;
        let mut out = io::stdout().lock();
        if self.json {
            write_json(&source, &report, &mut out)?;
        } else {
            F::print(&report, &name, self, &mut out)?;
            heard.say(F::COMMAND, &mut out)?;
        }
        Ok(is_whole && is_opened)
    }
}
