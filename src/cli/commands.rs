//! `rdmawire commands`: commands of NFS, iSER, SRP, SMB Direct, RDS, LNet and SMC-R, and what their time went to.

use std::io::{self, Write};

use clap::Args;

use super::{
    Outcome,
    follow::{self, Follow, Following},
    list::{self, Column, number, words},
};
use rdmawire::{
    capture::Record,
    commands::{CommandRow, Commands as Followed, ConversationRow, OperationRow, Report},
    dissect::Dissection,
    report::{
        Summary, clean,
        units::{bytes, count, duration, rate, several},
    },
};

/// Follow the commands of NFS (RPC over RDMA), iSER, SRP, SMB Direct, RDS, LNet and SMC-R: how long each took from its request to its answer, and whether the
/// server, the transfer of data, or losses took the time. Those of NVMe are in `rdmawire nvme`.
///
/// A connection's protocol is known by its set-up, or by messages that can be of no other; nothing else is followed. Times are those at the
/// tap: at the client they are what it waited, at the server what it took.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire commands x.pcap
  rdmawire commands x.pcap --commands --top 20
  rdmawire commands x.pcap --json | jq '.operations[] | {operation, completed, p99: .latency.p99}'")]
pub(super) struct Commands {
    #[command(flatten)]
    following: Following,
}

impl Commands {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        self.following.run::<Followed>()
    }
}

impl Follow for Followed {
    type Report = Report;
    const COMMAND: &'static str = "commands";

    fn keeping(keep: usize) -> Self {
        Followed::keeping(keep)
    }

    fn push(&mut self, frame: u64, record: &Record<'_>, d: &Dissection<'_>) {
        Followed::push(self, frame, record, d);
    }

    fn finish(self) -> Report {
        Followed::finish(self)
    }

    fn print(report: &Report, name: &str, options: &Following, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", clean(name))?;
        if report.connections.is_empty() {
            let what = "connection of NFS, iSER, SRP, SMB Direct, RDS, LNet or SMC-R";
            follow::say_none(what, report.one_way, report.unanswered_requests, out)?;
        } else {
            list::say(out, "  ", &report.sentence())?;
        }
        follow::say_wrong_icrcs(report.wrong_icrc, report.wrong_icrc_read, out)?;
        if report.cut_messages > 0 {
            let messages = several(report.cut_messages, "message");
            writeln!(out, "  - {messages} could not be read: record more of each frame.")?;
        }
        if report.cut_unknown > 0 && report.connections.is_empty() {
            let sends = several(report.cut_unknown, "SEND");
            let text = format!(
                "{sends} may have had commands, and lack them: record at least 200 bytes of each frame, 330 to know connections by their set-up."
            );
            list::say(out, "  - ", &text)?;
        }
        let unknown: u64 = report.connections.iter().map(|row| row.status_unknown).sum();
        if unknown > 0 {
            let text = format!(
                "{}: whether they failed is not known, since that was not captured: record all of each frame.",
                several(unknown, "command")
            );
            list::say(out, "  - ", &text)?;
        }
        let taps = report.connections.iter().map(|row| row.interface);
        follow::say_taps("connection", "client", taps, out)?;
        if report.not_followed > 0 {
            let many = count(report.not_followed);
            writeln!(out, "  - {many} connections are too many: they were not followed.")?;
        }
        if report.connections.is_empty() {
            return Ok(());
        }
        if !report.findings.is_empty() {
            writeln!(out, "\nFindings")?;
            report.findings.iter().try_for_each(|finding| list::say(out, "  ", finding))?;
        }
        let connections = report.connections.iter().enumerate().map(|(at, row)| connection_cells(at, row));
        list::write(out, "Connections", &CONNECTION, connections, options.top)?;
        list::write(
            out,
            "Operations",
            &OPERATION,
            report.operations.iter().map(operation_cells),
            options.top,
        )?;
        if options.commands {
            let mut slowest: Vec<&CommandRow> = report.commands.iter().collect();
            slowest.sort_by_key(|row| (std::cmp::Reverse(row.time.latency_ns), row.frame));
            list::write(
                out,
                "Slowest commands",
                &COMMAND,
                slowest.into_iter().map(command_cells),
                options.top,
            )?;
        }
        Ok(())
    }
}

/// The lists of this command, by their titles.
pub(super) const LISTS: [(&str, &[Column]); 3] =
    [("Connections", &CONNECTION), ("Operations", &OPERATION), ("Slowest commands", &COMMAND)];

const ITS_TIME: &str = "What the time went to, from the first packet of a command to the last one of its answer: the server and the network \
    behind the tap, data on its way, packets that were sent again, a receiver that was not ready; not known, where the capture lacks what says where the data is. The client is who \
    answers where the server asks.";
const P99: &str = "The latency that 99 of 100 commands do not exceed: from the first packet of a command to the last one of its answer, at \
    the tap.";

const CONNECTION: [Column; 12] = [
    number("#", "Number of the connection in this list."),
    words("client", "Address of who asks; of RDS, of who was heard first."),
    words("server", "Address of who is asked."),
    words("protocol", "The protocol of the messages."),
    words(
        "known by",
        "How the protocol is known: by the service ID of the set-up, by its private data, or by messages.",
    ),
    number("QP", "The server's queue pair."),
    number("commands", "Commands that were answered."),
    number("failed", "Those of them whose status is an error."),
    number("open", "Commands without an answer in the capture."),
    number("most", "The most commands outstanding at once."),
    number("p99", P99),
    words("its time", ITS_TIME),
];

fn connection_cells(at: usize, row: &ConversationRow) -> Vec<String> {
    vec![
        at.to_string(),
        row.client.clone(),
        row.server.clone(),
        row.protocol.to_string(),
        row.known_by.words().to_owned(),
        format!("{:#x}", row.server_qp),
        count(row.completed),
        some(row.failed),
        some(row.unanswered),
        count(row.most_outstanding),
        latency(row.latency.as_ref(), |summary| summary.p99),
        row.time.sentence(),
    ]
}

const OPERATION: [Column; 11] = [
    number("#", "Number of the connection."),
    words("operation", "Name of the operation; of an NFSv4 compound, of the one that it is for."),
    number("completed", "Commands that were answered."),
    number("failed", "Those of them whose status is an error."),
    number(
        "size",
        "The application's bytes: what was read, written or sent, as far as commands and answers say it.",
    ),
    number("per second", "Commands per second, from the first command to the last answer."),
    number("bytes/s", "The application's bytes per second in that time."),
    number(
        "p50",
        "The median latency: from the first packet of a command to the last one of its answer, at the tap.",
    ),
    number("p99", P99),
    number("max", "The longest latency."),
    words("its time", ITS_TIME),
];

fn operation_cells(row: &OperationRow) -> Vec<String> {
    let of_data = |text: String| if row.size_bytes > 0 { text } else { String::new() };
    vec![
        row.connection.to_string(),
        row.operation.clone().into_owned(),
        count(row.completed),
        some(row.failed),
        of_data(bytes(row.size_bytes)),
        row.per_second.map_or(String::new(), rate),
        of_data(row.bytes_per_second.map_or(String::new(), |n| bytes(n as u64))),
        latency(row.latency.as_ref(), |summary| summary.p50),
        latency(row.latency.as_ref(), |summary| summary.p99),
        latency(row.latency.as_ref(), |summary| summary.max),
        row.time.sentence(),
    ]
}

const COMMAND: [Column; 12] = [
    number("frame", "The first frame of the command."),
    number("#", "Number of its connection."),
    words("operation", "Name of the operation; of an NFSv4 compound, all of them."),
    words(
        "file",
        "Of NFS: the file, or the directory of the name: the CRC-32 of its handle, as Wireshark has it.",
    ),
    words("name", "Of NFS: the name that it is about."),
    number("offset", "Of NFS: the first byte that it reads, writes or commits."),
    number("id", "Its number: XID, task tag, tag, message ID or sequence."),
    number("size", "The application's bytes, where the command or its answer says them."),
    number("data", "Bytes that READs and WRITEs of its memory moved."),
    words("status", "What became of it, where the answer says it."),
    number("latency", "From the first packet of the command to the last one of its answer, at the tap."),
    words("its time", ITS_TIME),
];

fn command_cells(row: &CommandRow) -> Vec<String> {
    vec![
        count(row.frame),
        row.connection.to_string(),
        row.detail.clone().unwrap_or_else(|| row.operation.clone().into_owned()),
        row.file.clone().unwrap_or_default(),
        row.name.clone().unwrap_or_default(),
        row.offset.map_or(String::new(), count),
        format!("{:#x}", row.id),
        row.size_bytes.map_or(String::new(), bytes),
        if row.data_bytes > 0 { bytes(row.data_bytes) } else { String::new() },
        row.meaning.clone().into_owned(),
        duration(row.time.latency_ns),
        row.time.sentence(),
    ]
}

/// A count; nothing where it is zero.
fn some(n: u64) -> String {
    if n > 0 { count(n) } else { String::new() }
}

fn latency(summary: Option<&Summary>, of: fn(&Summary) -> u64) -> String {
    summary.map_or(String::new(), |summary| duration(of(summary)))
}
