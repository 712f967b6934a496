//! `rdmawire fabric`: a subnet of InfiniBand, as its management datagrams show it.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use anyhow::{anyhow, bail};
use clap::Args;

use super::{
    Outcome,
    input::{PartFiles, each, say_damage},
    list::{self, Column, number, words},
    output::{self, Kind, svg_path},
    signals::{STOP, end_on_signal},
    table_files::TableDirectories,
    trace::{Captures, Merging, Trace, name_of_trace, write_json},
};
use rdmawire::{
    dissect::dissect,
    fabric::{self, Report},
    plot,
    report::{
        clean,
        units::{bytes, count, duration, rate, several, yes_or_no},
    },
    wire::MgmtClass,
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
    /// Capture files; - is standard input. Each capture is answered for by itself, unless they are merged.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    merging: Merging,
    /// Show the way of packets between two LIDs, by forwarding tables.
    #[arg(long, value_name = "LID,LID", value_delimiter = ',', num_args = 1, action = clap::ArgAction::Append)]
    way: Vec<u16>,
    /// Rows of each list; 0: all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Print a JSON object for each capture, on a line each.
    #[arg(long)]
    json: bool,
    /// Draw nodes and links, as SVG: adapters below, switches above them; what is slower, not active or counted errors has another colour.
    #[arg(long, value_name = "FILE.svg", value_parser = svg_path)]
    svg: Option<PathBuf>,
    #[command(flatten)]
    tables: TableDirectories,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
}

impl Fabric {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        end_on_signal(&STOP);
        let way = match self.way[..] {
            [] => None,
            [from, to] => Some([from, to]),
            _ => bail!("--way takes two LIDs, as in --way 1,14"),
        };
        if way.is_some() && (self.tables.are_asked() || self.svg.is_some()) {
            bail!("--way prints one way: it writes no tables and no picture");
        }
        let traces = self.merging.traces(&self.files)?;
        if traces.len() > 1 && (self.tables.are_asked() || self.svg.is_some()) {
            bail!(
                "tables and pictures are of one subnet: with several captures, write them one by one, or --merge them"
            );
        }
        let mut outcome = Outcome::Done;
        for captures in traces {
            let (is_whole, arrives) = self.one(&captures, way)?;
            outcome = match (is_whole, arrives, outcome) {
                (false, ..) | (.., Outcome::Failed) => Outcome::Failed,
                (true, false, _) => Outcome::Unmet,
                (true, true, before) => before,
            };
        }
        Ok(outcome)
    }

    /// Answers for one trace. Returns whether all of it could be read, and whether packets arrive that were asked for.
    fn one(&self, captures: &[PartFiles], way: Option<[u16; 2]>) -> anyhow::Result<(bool, bool)> {
        let (source, is_opened) = Trace::open(captures);
        let Some(mut source) = source else { return Ok((false, true)) };
        let tables = self.tables.open(self.force)?;
        let mut subnet = fabric::Fabric::default();
        let read = each(&mut source, |number, record| {
            subnet.push(number, record, &dissect(record.link, record.frame, record.wire_len));
            Ok(())
        })?;
        source.captures().into_iter().flat_map(|capture| capture.files()).for_each(say_damage);
        let name = name_of_trace(captures);
        let is_whole = read.was_read_whole(&name) && is_opened;
        let mut out = io::stdout().lock();
        if let Some(way) = way {
            let arrives = match self.json {
                true => write_way(&mut subnet, way, &mut out)?,
                false => print_way(&mut subnet, way, &mut out)?,
            };
            return Ok((is_whole, arrives));
        }
        let report = subnet.finish();
        tables.write(&name, &report)?;
        if let Some(path) = &self.svg {
            let picture =
                plot::subnet(&report, &name).map_err(|error| anyhow!("{}: {error}", clean(&name)))?;
            output::write(path, Kind::Svg, self.force, picture.as_bytes())?;
        }
        if self.json {
            write_json(&source, &report, &mut out)?;
        } else {
            self.print(&name, &report, &mut out)?;
        }
        Ok((is_whole, true))
    }

    fn print(&self, name: &str, report: &Report, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", clean(name))?;
        if report.datagrams == 0 {
            writeln!(
                out,
                "  no management datagrams{}",
                if report.cut > 0 { " that could be read" } else { "" }
            )?;
            return report.findings.iter().try_for_each(|finding| list::say(out, "  - ", finding));
        }
        list::say(out, "  ", &report.sentence())?;
        let is_set_up = |row: &fabric::OperationRow| row.class_id == MgmtClass::CM.0;
        if !report.operations.is_empty() && report.operations.iter().all(is_set_up) {
            let text = "Only messages of the connection manager: nothing manages a subnet in this capture. `rdmawire connections` follows them.";
            list::say(out, "  - ", text)?;
        }
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
            report.findings.iter().try_for_each(|finding| list::say(out, "  ", finding))?;
        }
        let mut lists = Lists { out, top: self.top };
        lists.write(&MANAGER, &report.managers, |row| {
            vec![
                row.node.clone().or_else(|| row.guid.clone()).unwrap_or_default(),
                some(row.lid),
                row.state.clone().unwrap_or("?".into()).into_owned(),
                some(row.priority),
                row.act_count.map_or(String::new(), |n| count(n.into())),
                count(row.port_count),
            ]
        })?;
        lists.write(&NODE, &report.nodes, |row| {
            vec![
                row.name.clone(),
                row.kind.to_string(),
                row.guid.clone(),
                some(row.lid),
                row.port_count.to_string(),
                some(row.active_ports),
                some(row.routed_lids),
            ]
        })?;
        lists.write(&LINK, &report.links, |row| {
            vec![
                row.a.clone(),
                row.a_port.to_string(),
                row.b.clone(),
                row.b_port.to_string(),
                row.state.clone().unwrap_or_default().into_owned(),
                row.speed().unwrap_or_default(),
                row.pairs_from_a.map_or(String::new(), count),
                row.pairs_from_b.map_or(String::new(), count),
            ]
        })?;
        lists.write(&GROUP, &report.groups, |row| {
            vec![
                row.mgid.clone(),
                format!("{:#06x}", row.mlid),
                count(row.member_count),
                count(row.switch_ports),
                format!("{:#06x}", row.p_key),
                some(row.mtu_bytes),
            ]
        })?;
        lists.write(&TREE, &report.group_ports, |row| {
            vec![
                format!("{:#06x}", row.mlid),
                row.switch.clone(),
                row.port.to_string(),
                row.to.clone().unwrap_or_default(),
                some(row.to_port),
                yes_or_no(row.is_member).to_owned(),
            ]
        })?;
        lists.write(&MEMBER, &report.group_members, |row| {
            let joined = match (row.is_full, row.is_send_only) {
                (true, _) => "full",
                (_, true) => "send only",
                _ => "not full",
            };
            vec![
                format!("{:#06x}", row.mlid),
                row.node.clone().unwrap_or_default(),
                row.port_gid.clone(),
                joined.to_owned(),
                yes_or_no(row.is_reached).to_owned(),
            ]
        })?;
        lists.write(&PATH, &report.paths, |row| {
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
        })?;
        lists.write(&SERVICE, &report.services, |row| {
            let lease = row.lease_s.map_or("no end".into(), |s| format!("{s} s"));
            vec![row.service_id.clone(), row.name.clone(), row.gid.clone(), lease]
        })?;
        lists.write(&NOTICE, &report.traps, |row| {
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
        lists.write(&COUNTER, &counters, |row| {
            let at_least = if row.resets > 0 || row.is_full { "≥ " } else { "" };
            vec![
                row.counter.to_string(),
                row.node.clone().unwrap_or_else(|| format!("LID {}", row.lid)),
                row.port.to_string(),
                format!("{at_least}{}", count(row.increase)),
                row.per_second.map_or(String::new(), rate),
                row.increase_bytes.map_or(String::new(), bytes),
            ]
        })?;
        lists.write(&QUESTION, &report.operations, |row| {
            let some = |n: u64| if n > 0 { count(n) } else { String::new() };
            vec![
                row.class.to_string(),
                row.attribute.clone(),
                row.method.clone(),
                count(row.questions),
                row.answers.map_or(String::new(), count),
                some(row.unanswered),
                some(row.failed),
                some(row.segments),
                row.p50_ns.map_or(String::new(), duration),
                row.max_ns.map_or(String::new(), duration),
            ]
        })
    }
}

/// A list of this command: its title, and its columns.
type List = (&'static str, &'static [Column]);

/// The lists of this command, by their titles.
pub(super) const LISTS: [List; 11] =
    [MANAGER, NODE, LINK, GROUP, TREE, MEMBER, PATH, SERVICE, NOTICE, COUNTER, QUESTION];

const MANAGER: List = (
    "Subnet managers",
    &[
        words("node", "The node that it runs on; its GUID where the node's name was not captured."),
        number("LID", "Local identifier of its port."),
        words("state", "Master, standby, discovering or not active."),
        number("priority", "The higher one becomes master; of equal ones, the lower GUID."),
        number(
            "act count",
            "Its counter of activity: a standby takes the master for dead when that stands still.",
        ),
        number("ports", "Ports in the subnet that the capture shows."),
    ],
);

const NODE: List = (
    "Nodes",
    &[
        words("node", "What it calls itself (NodeDescription); its GUID where that was not captured."),
        words("kind", "Channel adapter, switch or router."),
        words("GUID", "Its globally unique identifier (NodeInfo.NodeGUID)."),
        number("LID", "Local identifier: of a switch, of its port 0; of an adapter, of its first port."),
        number("ports", "Ports that it has (NodeInfo.NumPorts)."),
        number("active", "Ports of which an answer said that they are active."),
        number("routed LIDs", "LIDs that a switch forwards, by its linear forwarding table."),
    ],
);

const LINK: List = (
    "Links",
    &[
        words("from", "The node at one end."),
        number("port", "Its port."),
        words("to", "The node at the other end."),
        number("port of it", "The port there."),
        words("state", "State of the port: down, initialize, armed, active."),
        words("speed", "Lanes, and the rate of one; whether both ends could do more."),
        number(
            "pairs out",
            "Pairs of adapters' ports whose packets take this link from the first node to the second one.",
        ),
        number("pairs back", "The same in the other direction."),
    ],
);

const GROUP: List = (
    "Multicast groups",
    &[
        words("group", "Its GID (MCMemberRecord.MGID)."),
        words("LID", "Its local identifier (MCMemberRecord.MLID)."),
        number("members", "Ports that have joined while the capture was made, or that a table names."),
        number("switch ports", "Ports of switches that forward it, by their multicast forwarding tables."),
        words("P_Key", "The partition."),
        number("MTU", "Bytes of payload that a packet may have."),
    ],
);

const TREE: List = (
    "Multicast trees",
    &[
        words("LID", "The group's local identifier."),
        words("switch", "A switch that forwards it."),
        number("port", "The port that it forwards it to; 0: to itself."),
        words("to", "The node behind the port."),
        number("port of it", "The port there."),
        words("member", "Whether the adapter there has joined, as records say."),
    ],
);

const MEMBER: List = (
    "Members of multicast groups",
    &[
        words("LID", "The group's local identifier."),
        words("node", "The node that has joined."),
        words("port", "GID of its port (MCMemberRecord.PortGID)."),
        words("joined", "How (MCMemberRecord.JoinState): full, not full, or only to send."),
        words("reached", "Whether the switch forwards the group to it, by its multicast forwarding table."),
    ],
);

const PATH: List = (
    "Paths",
    &[
        number("LID", "From this local identifier (PathRecord.SLID)."),
        number("to LID", "To this one (PathRecord.DLID)."),
        number("SL", "The service level to use."),
        words("P_Key", "The partition."),
        number("MTU", "Bytes of payload that a packet may have."),
        words("rate", "The rate of the slowest link, as subnet administration says."),
        number("switches", "Switches on the way, by forwarding tables."),
    ],
);

const SERVICE: List = (
    "Services",
    &[
        words("service", "Its identifier (ServiceRecord.ServiceID)."),
        words("name", "Its name."),
        words("port", "GID of the port that offers it."),
        words("lease", "How long it is registered for."),
    ],
);

const NOTICE: List = (
    "Notices",
    &[
        number("trap", "Number of the trap (Notice.TrapNumber)."),
        words("meaning", "What the number says."),
        number("LID", "Local identifier of the port that sent it."),
        words("node", "The node that has this LID."),
        number("count", "How many there were."),
    ],
);

const COUNTER: List = (
    "Counters that grew",
    &[
        words(
            "counter",
            "Its name in PortCounters or another attribute of performance management; with lane or service level: port_xmit_data_sl[3].",
        ),
        words("node", "The node; its LID where that is not known."),
        number("port", "The port."),
        number(
            "by",
            "From the first answer to the last one; at least so much where it was reset or is full.",
        ),
        number("per second", "The same by the time between these answers."),
        number("bytes", "The same in bytes, where it counts words of four bytes."),
    ],
);

const QUESTION: List = (
    "Questions",
    &[
        words("class", "Class of management: SubnMgt, SubnMgt directed route, SubnAdm, PerfMgt, …"),
        words("attribute", "What was asked for, or set."),
        words("method", "Get, Set, GetTable, …"),
        number("asked", "Questions, repeated ones too."),
        number("answered", "Answers to them. Those that answer nothing in the capture are not among them."),
        number("missing", "Questions without an answer in the capture."),
        number("failed", "Answers whose status is an error."),
        number("segments", "Segments of which answers consisted, as RMPP divides them."),
        number("p50", "The median time from a question to its answer."),
        number("max", "The longest such time."),
    ],
);

/// Lists that are left out where they are empty.
struct Lists<'a, W> {
    out: &'a mut W,
    top: usize,
}

impl<W: Write> Lists<'_, W> {
    fn write<T>(
        &mut self,
        (title, columns): &List,
        rows: &[T],
        cells: impl Fn(&T) -> Vec<String>,
    ) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        list::write(self.out, title, columns, rows.iter().map(cells), self.top)
    }
}

fn some(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// The same as JSON: `hops` are null where packets do not arrive, and `why` says why.
fn write_way(
    subnet: &mut fabric::Fabric,
    [from, to]: [u16; 2],
    out: &mut impl Write,
) -> anyhow::Result<bool> {
    let way = subnet.way(from, to);
    let hops = way.as_ref().ok().map(|hops| {
        let hop = |hop: &fabric::Hop| {
            serde_json::json!({
                "guid": format!("{:#018x}", hop.node),
                "node": subnet.name(hop.node),
                "in_port": hop.from,
                "out_port": hop.to,
            })
        };
        hops.iter().map(hop).collect::<Vec<_>>()
    });
    let why = way.as_ref().err().map(|why| why.name());
    serde_json::to_writer(
        &mut *out,
        &serde_json::json!({ "from": from, "to": to, "hops": hops, "why": why }),
    )?;
    writeln!(out)?;
    Ok(way.is_ok())
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
