//! `rdmawire nvme`: storage commands over RDMA, and what their time went to.

use std::io::{self, Write};

use clap::Args;

use super::{
    Outcome,
    follow::{self, Follow, Following},
    list::{self, Column, number, words},
};
use rdmawire::{
    capture::Record,
    dissect::Dissection,
    nvme::{CommandRow, Commands, ControllerRow, NamespaceRow, OperationRow, QueueRow, Report, SubsystemRow},
    report::{
        Summary, clean,
        units::{bytes, count, duration, percent, rate, several},
    },
};

/// Follow the commands of NVMe over RDMA: how long each took, and whether the controller, the transfer of data, or losses took the time.
///
/// A queue is known by its set-up, or by commands and responses that fit each other; nothing else is taken for NVMe. Times are those at the
/// tap, from the first packet of a command to its response: at the host they are what the host waited, at the controller what it took.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire nvme x.pcap
  rdmawire nvme x.pcap --commands --top 20
  rdmawire nvme x.pcap --json | jq '.operations[] | {command, namespace, p99: .latency.p99}'")]
pub(super) struct Nvme {
    #[command(flatten)]
    following: Following,
}

impl Nvme {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        self.following.run::<Commands>()
    }
}

impl Follow for Commands {
    type Report = Report;
    const COMMAND: &'static str = "nvme";

    fn keeping(keep: usize) -> Self {
        Commands::keeping(keep)
    }

    fn push(&mut self, frame: u64, record: &Record<'_>, d: &Dissection<'_>) {
        Commands::push(self, frame, record, d);
    }

    fn finish(self) -> Report {
        Commands::finish(self)
    }

    fn print(report: &Report, name: &str, options: &Following, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", clean(name))?;
        if report.queues.is_empty() {
            follow::say_none("queue of NVMe over RDMA", report.one_way, report.unanswered_requests, out)?;
        } else {
            list::say(out, "  ", &report.sentence())?;
        }
        follow::say_wrong_icrcs(report.wrong_icrc, report.wrong_icrc_read, out)?;
        if report.cut_capsules > 0 && report.queues.is_empty() {
            let sends = several(report.cut_capsules, "SEND");
            let text = format!(
                "{sends} may have had commands, and lack them: record at least 160 bytes of each frame."
            );
            list::say(out, "  - ", &text)?;
        }
        follow::say_taps("queue", "host", report.queues.iter().map(|row| row.interface), out)?;
        if report.not_followed > 0 {
            writeln!(out, "  - {} queues are too many: they were not followed.", count(report.not_followed))?;
        }
        if report.queues.is_empty() {
            return Ok(());
        }
        if !report.findings.is_empty() {
            writeln!(out, "\nFindings")?;
            report.findings.iter().try_for_each(|finding| list::say(out, "  ", finding))?;
        }
        let queues = report.queues.iter().enumerate().map(|(at, row)| queue_cells(at, row));
        list::write(out, "Queues", &QUEUE, queues, options.top)?;
        if !report.controllers.is_empty() {
            let controllers = report.controllers.iter().map(controller_cells);
            list::write(out, "Controllers", &CONTROLLER, controllers, options.top)?;
        }
        let has_several = has_several_of_a_subsystem(report);
        if !report.namespaces.is_empty() {
            list::write(
                out,
                "Namespaces",
                &NAMESPACE,
                report.namespaces.iter().map(|row| namespace_cells(row, has_several)),
                options.top,
            )?;
        }
        if !report.discovered.is_empty() {
            list::write(
                out,
                "Discovered subsystems",
                &SUBSYSTEM,
                report.discovered.iter().map(subsystem_cells),
                options.top,
            )?;
        }
        let mut names: Vec<_> = report.operations.iter().map(|row| row.subsystem.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        let cells = |row| operation_cells(row, names.len() > 1, has_several);
        list::write(out, "Commands", &OPERATION, report.operations.iter().map(cells), options.top)?;
        if options.commands {
            let mut slowest: Vec<&CommandRow> = report.commands.iter().collect();
            slowest.sort_by_key(|row| (std::cmp::Reverse(row.time.latency_ns), row.frame));
            let slowest = slowest.into_iter().map(command_cells);
            list::write(out, "Slowest commands", &COMMAND, slowest, options.top)?;
        }
        Ok(())
    }
}

/// The lists of this command, by their titles.
pub(super) const LISTS: [(&str, &[Column]); 6] = [
    ("Queues", &QUEUE),
    ("Controllers", &CONTROLLER),
    ("Namespaces", &NAMESPACE),
    ("Discovered subsystems", &SUBSYSTEM),
    ("Commands", &OPERATION),
    ("Slowest commands", &COMMAND),
];

/// What the time of a command went to.
const ITS_TIME: &str = "What the time went to, from the first packet of a command to its response: the controller and the network behind \
    the tap, data on its way, packets that were sent again, a receiver that was not ready.";
const P99: &str = "The latency that 99 of 100 commands do not exceed: from the first packet of a command to its response, at the tap.";

const QUEUE: [Column; 13] = [
    number("#", "Number of the queue in this list."),
    words("host", "Address of the host."),
    words("controller", "Address of the controller."),
    words("subsystem", "The subsystem's NVMe qualified name; empty where Connect's data was not captured."),
    number("id", "The controller's number; empty where no Connect, set-up or Identify Controller says it."),
    number("queue", "Number of the queue, admin for 0; ? where its set-up was not captured."),
    number("QP", "The controller's queue pair."),
    number("entries", "Entries of the queue, one of which stays free; ? where its set-up was not captured."),
    number("most", "The most commands outstanding at once."),
    number("commands", "Commands that were completed."),
    number("open", "Commands without a response in the capture, but for asynchronous event requests."),
    number("p99", P99),
    words("its time", ITS_TIME),
];

fn queue_cells(at: usize, row: &QueueRow) -> Vec<String> {
    let number = row.queue.map_or("?".into(), |n| if n == 0 { "admin".into() } else { n.to_string() });
    vec![
        at.to_string(),
        row.host.clone(),
        row.controller.clone(),
        row.subsystem.clone().unwrap_or_default(),
        id(row.controller_id),
        number,
        format!("{:#x}", row.controller_qp),
        row.entries.map_or("?".into(), |entries| count(entries.into())),
        count(row.most_outstanding.into()),
        count(row.completed),
        count(row.unanswered),
        latency(row.latency.as_ref(), |summary| summary.p99),
        row.time.sentence(),
    ]
}

const SUBSYSTEM_NAME: &str =
    "The subsystem's NVMe qualified name; empty where Connect's data was not captured.";

const CONTROLLER: [Column; 11] = [
    words("host", "Address of the host."),
    words("controller", "Address of the controller."),
    words("subsystem", SUBSYSTEM_NAME),
    number("id", "The controller's number, which the response to Connect gives."),
    words("model", "Model, of Identify Controller; empty where its data was not captured, as what follows."),
    words("serial", "Serial number."),
    words("firmware", "Revision of the firmware."),
    words("version", "Version of the specification."),
    number("most data", "The most data of a command; empty where there is no limit."),
    number("in capsule", "Data that fits into the capsule of a command of an I/O queue."),
    number("keep-alive", "The keep-alive timeout, of Connect or Set Features; none for 0."),
];

fn controller_cells(row: &ControllerRow) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let size = |n: Option<u64>| n.map_or(String::new(), bytes);
    vec![
        row.host.clone(),
        row.controller.clone(),
        text(&row.subsystem),
        id(row.controller_id),
        text(&row.model),
        text(&row.serial),
        text(&row.firmware),
        text(&row.version),
        size(row.most_transfer_bytes),
        size(row.capsule_data_bytes.filter(|&n| n > 0)),
        match row.keep_alive_ms {
            Some(0) => "none".to_owned(),
            ms => ms.map_or(String::new(), |ms| duration(u64::from(ms) * 1_000_000)),
        },
    ]
}

const NAMESPACE: [Column; 10] = [
    words("controller", "Address of the controller."),
    words("subsystem", SUBSYSTEM_NAME),
    number("id", "The controller's number, where there are several."),
    number("namespace", "Its number."),
    number(
        "block",
        "Bytes of a block, and of its metadata: of Identify Namespace, else of Reads and Writes.",
    ),
    number("blocks", "Size in blocks, of Identify Namespace."),
    number("size", "Size in bytes."),
    number("used", "How much of it is in use."),
    words("identifier", "UUID, or its identifier of 128 or 64 bits."),
    words(
        "ANA",
        "How well it can be reached through this controller, of the log of Asymmetric Namespace Access.",
    ),
];

fn namespace_cells(row: &NamespaceRow, has_several: bool) -> Vec<String> {
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    let size = |n: Option<u64>| n.map_or(String::new(), bytes);
    let metadata = row.metadata_bytes.filter(|&n| n > 0).map_or(String::new(), |n| format!(" + {n}"));
    vec![
        row.controller.clone(),
        text(row.subsystem.as_ref()),
        id(row.controller_id.filter(|_| has_several)),
        row.namespace.to_string(),
        row.block_bytes.map_or(String::new(), |n| format!("{n}{metadata}")),
        row.blocks.map_or(String::new(), count),
        size(row.size_bytes),
        size(row.used_bytes),
        text(row.uuid.as_ref().or(row.nguid.as_ref()).or(row.eui64.as_ref())),
        text(row.ana_state.as_ref()),
    ]
}

const SUBSYSTEM: [Column; 6] = [
    words("told by", "Address of the discovery controller."),
    words("subsystem", "The subsystem's NVMe qualified name."),
    words("kind", "What it is."),
    words("transport", "rdma, tcp, fc, loop."),
    words("address", "Its address."),
    words("service", "Its port."),
];

fn subsystem_cells(row: &SubsystemRow) -> Vec<String> {
    vec![
        row.controller.clone(),
        row.subsystem.clone(),
        row.kind.clone().unwrap_or_default(),
        row.transport.clone(),
        row.address.clone(),
        row.service.clone(),
    ]
}

const OPERATION: [Column; 15] = [
    words("controller", "Address of the controller."),
    words("queue", "admin, or I/O."),
    words("command", "Name of the command."),
    number("namespace", "The namespace, or all; empty of Fabrics commands, and of those that are of none."),
    words("subsystem", "The subsystem's NVMe qualified name, where there are several."),
    number("id", "The controller's number, where a subsystem has several."),
    number("completed", "Commands that were completed."),
    number("failed", "Those of them whose status is an error."),
    number(
        "data",
        "Bytes of the blocks that it moves; bytes of data on their way, where the size of blocks is not known.",
    ),
    number("per second", "Commands per second, from the first command to the last response."),
    number("bytes/s", "These bytes per second in that time."),
    number("p50", "The median latency: from the first packet of a command to its response, at the tap."),
    number("p99", P99),
    number("max", "The longest latency."),
    words("its time", ITS_TIME),
];

fn operation_cells(row: &OperationRow, has_subsystems: bool, has_several: bool) -> Vec<String> {
    const EVERY: u32 = u32::MAX;
    let namespace = match row.namespace {
        Some(EVERY) => "all".to_owned(),
        None | Some(0) => String::new(),
        Some(n) => n.to_string(),
    };
    let of_data = |text: String| if row.bytes() > 0 { text } else { String::new() };
    vec![
        row.controller.clone(),
        if row.is_admin { "admin" } else { "I/O" }.to_owned(),
        row.command.clone(),
        namespace,
        row.subsystem.clone().filter(|_| has_subsystems).unwrap_or_default(),
        id(row.controller_id.filter(|_| has_several)),
        count(row.completed),
        if row.failed > 0 { count(row.failed) } else { String::new() },
        of_data(bytes(row.bytes())),
        row.per_second.map_or(String::new(), rate),
        of_data(row.bytes_per_second.map_or(String::new(), |n| bytes(n as u64))),
        latency(row.latency.as_ref(), |summary| summary.p50),
        latency(row.latency.as_ref(), |summary| summary.p99),
        latency(row.latency.as_ref(), |summary| summary.max),
        row.time.sentence(),
    ]
}

const COMMAND: [Column; 8] = [
    number("frame", "The first frame of the command."),
    number("#", "Number of its queue."),
    words("command", "Name of the command."),
    number("id", "Command identifier."),
    number("data", "Bytes of data."),
    number("latency", "From the first packet of the command to its response, at the tap."),
    number(
        "recovery",
        "The share of that in which packets were sent again: after losses, or after a timeout.",
    ),
    words("its time", ITS_TIME),
];

fn command_cells(row: &CommandRow) -> Vec<String> {
    let recovery = row.time.recovering_ns as f64 / row.time.latency_ns.max(1) as f64;
    vec![
        count(row.frame),
        row.queue.to_string(),
        row.command.clone(),
        row.command_id.to_string(),
        bytes(row.data_bytes),
        duration(row.time.latency_ns),
        if row.time.recovering_ns > 0 { percent(recovery) } else { String::new() },
        row.time.sentence(),
    ]
}

/// The number of a controller.
fn id(of: Option<u16>) -> String {
    of.map_or(String::new(), |id| id.to_string())
}

/// Whether a host has several controllers of one subsystem at one address.
fn has_several_of_a_subsystem(report: &Report) -> bool {
    let mut whose: Vec<_> =
        report.controllers.iter().map(|row| (&row.host, &row.controller, &row.subsystem)).collect();
    let all = whose.len();
    whose.sort_unstable();
    whose.dedup();
    whose.len() < all
}

fn latency(summary: Option<&Summary>, of: fn(&Summary) -> u64) -> String {
    summary.map_or(String::new(), |summary| duration(of(summary)))
}
