//! The commands as rows, and what they say in a sentence.

use std::borrow::Cow;

use super::{
    Commands,
    conversation::{Conversation, Done},
};
use crate::{
    dissect::Address,
    follow::{Ending, Sums, Time, behind_tap, shares, trouble},
    in_order::InOrder,
    report::{
        ApplicationBy, Summary,
        field::{Types, records},
        table::tables_of,
        units::{bytes, several, times},
    },
};

/// The name of this form of JSON.
pub const SCHEMA: &str = "rdmawire.commands/1";

/// The JSON Schema of [`Report`].
pub fn schema() -> serde_json::Value {
    Types::document::<Report>("Report")
}

tables_of! { Report {
    "command_connections": &ConversationRow, "A connection of an application: NFS, iSER, SRP, SMB Direct, RDS, LNet, SMC-R.", |of| of.connections.iter();
    "command_operations": &OperationRow, "Commands of one kind of one connection.", |of| of.operations.iter();
    "command_failed": &FailedRow, "Commands of one kind that failed with one status.", |of| of.failed.iter();
    "commands": &CommandRow, "A command with its answer.", |of| of.commands.iter();
} }

records! {
    /// The commands of a capture.
    pub struct Report {
        /// [`SCHEMA`].
        pub schema: Cow<'static, str>,
        /// Connections with commands, in the order in which they were first seen.
        pub connections: Vec<ConversationRow>,
        /// Commands of one kind of one connection, those that took most time first.
        pub operations: Vec<OperationRow>,
        /// Commands that failed, by kind and status.
        pub failed: Vec<FailedRow>,
        /// Commands one by one, as far as they are kept, in the order of their replies.
        pub commands: Vec<CommandRow>,
        /// What stands out.
        pub findings: Vec<String>,
        /// Messages that were not captured far enough to be read.
        pub cut_messages: u64,
        /// SENDs that may begin commands, and are cut before what would tell it.
        pub cut_unknown: u64,
        /// Packets that were read although their ICRC is wrong: most of the capture's are, which something on the way to it rewrote.
        pub wrong_icrc_read: u64,
        /// Packets that were not read because their ICRC is wrong: they are corrupt.
        pub wrong_icrc: u64,
        /// Connections that were not followed because there are too many.
        pub not_followed: u64,
        /// The packets go one way only: nothing can be followed.
        pub one_way: bool,
        /// Requests for such connections without a reply (CM REP) in the capture.
        pub unanswered_requests: u64,
    }

    /// One connection.
    pub struct ConversationRow {
        /// The protocol of its messages.
        pub protocol: Cow<'static, str>,
        /// How that is known.
        pub known_by: ApplicationBy,
        /// The address of who asks; of RDS, of who was heard first.
        pub client: String,
        /// The address of who is asked.
        pub server: String,
        /// The client's queue pair; `None` where nothing that the server sent shows it.
        pub client_qp: Option<u32>,
        /// The server's queue pair.
        pub server_qp: u32,
        /// Commands that were answered.
        pub completed: u64,
        /// Commands without an answer.
        pub unanswered: u64,
        /// How long the oldest of them waited: until its connection ended, else until the capture did, in nanoseconds.
        pub longest_wait_ns: Option<u64>,
        /// Commands whose status is an error.
        pub failed: u64,
        /// Commands whose status was not captured: some of them may have failed, too.
        pub status_unknown: u64,
        /// Commands whose number was used again although the capture has no answer: it lacks that, or who asked gave up. They are not among
        /// those without an answer.
        pub unseen_answers: u64,
        /// The shortest time from a message to the server to its acknowledgement, in nanoseconds: the network behind the tap, there and
        /// back, takes no more; the server's time has that in it.
        pub fastest_ack_ns: Option<u64>,
        /// The number of the interface that it is read of, near its client, if several recorded it. What only others have is not read, but
        /// for requests that this one lacks.
        pub interface: Option<u16>,
        /// Answers without a command in the capture.
        pub stray_replies: u64,
        /// Retransmitted messages of one packet.
        pub retransmitted_messages: u64,
        /// The most commands outstanding at once.
        pub most_outstanding: u64,
        /// Bytes that READs and WRITEs moved for commands.
        pub data_bytes: u64,
        /// When it was closed, in nanoseconds since 1970; or when its queue pair was used again.
        pub closed_ns: Option<i64>,
        /// Who closed it: the address; `None` where nobody said so.
        pub closed_by: Option<String>,
        /// Latencies.
        pub latency: Option<Summary>,
        /// What the time of its commands went to.
        #[flatten = "Its fields are the row's own."]
        pub time: TimeRow,
    }

    /// What the time of commands went to. The parts add up to the whole.
    #[derive(Copy)]
    pub struct TimeRow {
        /// From the first packet of the command to the last one of its answer, in nanoseconds; of several commands, all of them together.
        pub latency_ns: u64,
        /// The server, and the network behind the tap.
        pub server_ns: u64,
        /// The same of the client, where the server asked.
        pub client_ns: u64,
        /// Data was on its way: READs were open, or packets of WRITEs were not acknowledged; but for recovery.
        pub data_ns: u64,
        /// Packets were sent again: after losses, or after a timeout.
        pub recovering_ns: u64,
        /// A receiver was not ready (RNR NAK), but for recovery.
        pub not_ready_ns: u64,
        /// The server or data, which cannot be told apart: what says where the data is was not captured.
        pub unknown_ns: u64,
    }

    /// Commands of one kind.
    pub struct OperationRow {
        /// The connection's place in [`Report::connections`].
        pub connection: usize,
        /// The protocol.
        pub protocol: Cow<'static, str>,
        /// The name of the operation; of an NFSv4 compound, of the one that it is for.
        pub operation: Cow<'static, str>,
        /// Commands that were answered.
        pub completed: u64,
        /// Those of them that failed.
        pub failed: u64,
        /// Those of them whose status was not captured.
        pub status_unknown: u64,
        /// The application's bytes: what was read, written or sent, as far as commands and answers say it.
        pub size_bytes: u64,
        /// Latencies.
        pub latency: Option<Summary>,
        /// Commands per second, from the first command to the last answer.
        pub per_second: Option<f64>,
        /// The application's bytes per second in that time.
        pub bytes_per_second: Option<f64>,
        /// What the time of the commands went to.
        #[flatten = "Its fields are the row's own."]
        pub time: TimeRow,
    }

    /// Commands that failed in the same way.
    pub struct FailedRow {
        /// The connection's place in [`Report::connections`].
        pub connection: usize,
        /// The name of the operation.
        pub operation: Cow<'static, str>,
        /// The status.
        pub status: u32,
        /// The status in words.
        pub meaning: Cow<'static, str>,
        /// How many.
        pub count: u64,
        /// The frame of the first of these commands.
        pub first_frame: u64,
    }

    /// A command that was answered.
    pub struct CommandRow {
        /// The connection's place in [`Report::connections`].
        pub connection: usize,
        /// The frame where it begins.
        pub frame: u64,
        /// The frame where its answer begins.
        pub reply_frame: u64,
        /// When it was sent, in nanoseconds since 1970.
        pub time_ns: i64,
        /// The server asked the client.
        pub is_from_server: bool,
        /// Its number: XID, task tag, tag, message ID or sequence.
        pub id: u64,
        /// The name of the operation.
        pub operation: Cow<'static, str>,
        /// All operations of a compound.
        pub detail: Option<String>,
        /// Of NFS: the file that it is about, or the directory in which the name is: the CRC-32 of its handle, as Wireshark has it.
        pub file: Option<String>,
        /// Of NFS: the name that it is about; of RENAME the old one, an arrow, and the new one.
        pub name: Option<String>,
        /// Of NFS: the first byte that it reads, writes or commits.
        pub offset: Option<u64>,
        /// Of NFS: the bytes that it asks for.
        pub count: Option<u32>,
        /// The application's bytes; `None` where neither the command nor its answer says them.
        pub size_bytes: Option<u64>,
        /// Bytes that READs and WRITEs of its memory moved.
        pub data_bytes: u64,
        /// Bytes of its message.
        pub call_bytes: u64,
        /// Bytes of its answer's message.
        pub reply_bytes: u64,
        /// The status; 0 where answers have none, `None` where it was not captured.
        pub status: Option<u32>,
        /// The status in words; empty where the answer has none.
        pub meaning: Cow<'static, str>,
        /// Whether it is an error; `None` where it was not captured.
        pub is_error: Option<bool>,
        /// What its time went to.
        #[flatten = "Its fields are the row's own."]
        pub time: TimeRow,
    }
}

impl From<Time> for TimeRow {
    fn from(time: Time) -> TimeRow {
        let Time { latency, recovering, not_ready, data, controller, asked_back, unknown, .. } = time;
        TimeRow {
            latency_ns: latency,
            server_ns: controller,
            client_ns: asked_back,
            data_ns: data,
            recovering_ns: recovering,
            not_ready_ns: not_ready,
            unknown_ns: unknown,
        }
    }
}

impl TimeRow {
    /// The parts as shares, the largest first, as "server 82 %, data 18 %".
    pub fn sentence(&self) -> String {
        let parts = [
            ("server", self.server_ns),
            ("client", self.client_ns),
            ("data", self.data_ns),
            ("recovery", self.recovering_ns),
            ("not ready", self.not_ready_ns),
            ("not known", self.unknown_ns),
        ];
        shares(self.latency_ns, parts)
    }
}

impl Report {
    /// Connections, commands and bytes in one line.
    pub fn sentence(&self) -> String {
        let completed: u64 = self.connections.iter().map(|of| of.completed).sum();
        let size: u64 = self.operations.iter().fold(0, |sum, of| of.size_bytes.saturating_add(sum));
        // Where messages are cut, their sizes may be, too.
        let is_cut = self.cut_messages > 0 || self.connections.iter().any(|of| of.time.unknown_ns > 0);
        let size = match (is_cut, size) {
            (true, 0) => "how much they read, wrote or sent is not known".to_owned(),
            (true, size) => format!("at least {} read, written or sent", bytes(size)),
            (false, size) => format!("{} read, written or sent", bytes(size)),
        };
        let connections = several(self.connections.len() as u64, "connection");
        format!("{connections}, {}; {size}", several(completed, "command"))
    }
}

pub(super) fn report(all: Commands) -> Report {
    let end = all.span.map_or(0, |[_, end]| end);
    let mut places = vec![None; all.all.len()];
    let mut shown: Vec<&Conversation> = Vec::new();
    // One that only looked like a protocol has no answers.
    let is_one = |of: &&Conversation| of.known_by != ApplicationBy::Messages || of.sums.latency.count() > 0;
    for (at, of) in all.all.iter().enumerate().filter(|(_, of)| is_one(of)) {
        places[at] = Some(shown.len());
        shown.push(of);
    }
    let place = |at: usize| places.get(at).copied().flatten();
    let operation = |((at, name), sums): (&(usize, Cow<'static, str>), &(Sums, u64))| {
        let place = place(*at)?;
        Some(operation_row(place, shown.get(place)?, name.clone(), sums))
    };
    let mut operations: Vec<OperationRow> = all.operations.iter().filter_map(operation).collect();
    operations.order_by_key(|row| std::cmp::Reverse(row.time.latency_ns));
    let command = |(at, done): &(usize, Done)| Some(command_row(done, place(*at)?));
    let fastest_ack = |of: &Conversation| all.ways.get(&of.key_to_server())?.transfers.fastest_ack;
    let mut report = Report {
        schema: SCHEMA.into(),
        connections: shown.iter().map(|of| conversation_row(of, end, fastest_ack(of))).collect(),
        operations,
        failed: failed(&shown),
        commands: all.done.iter().filter_map(command).collect(),
        findings: Vec::new(),
        cut_messages: all.cut_messages,
        cut_unknown: all.cut_unknown,
        wrong_icrc_read: all.doubt.read,
        wrong_icrc: all.doubt.refused,
        not_followed: all.not_followed,
        one_way: all.directions.are_one_way(),
        unanswered_requests: all.requests.waiting().filter(|request| request.is_followed()).count() as u64
            + all.rejected,
    };
    report.findings = findings(&report, &shown, end);
    report
}

fn conversation_row(of: &Conversation, end: i64, fastest_ack_ns: Option<u64>) -> ConversationRow {
    ConversationRow {
        protocol: of.protocol.name().into(),
        known_by: of.known_by,
        client: of.client.to_string(),
        server: of.server.to_string(),
        client_qp: of.client_qp,
        server_qp: of.server_qp,
        completed: of.sums.latency.count(),
        unanswered: of.open.len() as u64 + of.given_up,
        longest_wait_ns: of.open.values().map(|open| Ending::wait(of.ended, open.start, end)).max(),
        failed: of.sums.failed,
        status_unknown: of.unread,
        unseen_answers: of.unseen_answers,
        fastest_ack_ns,
        interface: of.taps.of_several(),
        stray_replies: of.strays,
        retransmitted_messages: of.sent_again,
        most_outstanding: of.most_open as u64,
        data_bytes: of.data_bytes,
        closed_ns: of.ended.map(|ended| ended.time),
        closed_by: of.ended.and_then(|ended| ended.by).map(|by| by.to_string()),
        latency: of.sums.latency.summary(),
        time: of.sums.time.into(),
    }
}

fn operation_row(
    connection: usize,
    of: &Conversation,
    name: Cow<'static, str>,
    (sums, unread): &(Sums, u64),
) -> OperationRow {
    let [per_second, bytes_per_second] = sums.per_second();
    OperationRow {
        connection,
        protocol: of.protocol.name().into(),
        operation: name,
        completed: sums.latency.count(),
        failed: sums.failed,
        status_unknown: *unread,
        size_bytes: sums.bytes,
        latency: sums.latency.summary(),
        per_second,
        bytes_per_second,
        time: sums.time.into(),
    }
}

fn failed(shown: &[&Conversation]) -> Vec<FailedRow> {
    let rows = shown.iter().enumerate().flat_map(|(at, of)| {
        of.failed.iter().map(move |((operation, status), &(count, first_frame))| FailedRow {
            connection: at,
            operation: operation.clone(),
            status: status.code,
            meaning: status.name.clone(),
            count,
            first_frame,
        })
    });
    rows.collect()
}

fn command_row(done: &Done, at: usize) -> CommandRow {
    CommandRow {
        connection: at,
        frame: done.frame,
        reply_frame: done.reply_frame,
        time_ns: done.start,
        is_from_server: !done.by_client,
        id: done.id,
        operation: done.operation.clone(),
        detail: done.detail.clone(),
        file: done.about.file.map(|hash| format!("{hash:#010x}")),
        name: done.about.name.clone(),
        offset: done.about.offset,
        count: done.about.count,
        size_bytes: done.size,
        data_bytes: done.data_bytes,
        call_bytes: done.call_bytes,
        reply_bytes: done.reply_bytes,
        status: Some(done.status.code).filter(|_| done.status.is_known),
        meaning: done.status.name.clone(),
        is_error: Some(done.status.is_error).filter(|_| done.status.is_known),
        time: done.time.into(),
    }
}

/// What stands out, with what to do.
fn findings(report: &Report, shown: &[&Conversation], end: i64) -> Vec<String> {
    let (mut all, mut bounds) = (Vec::new(), Vec::new());
    let who = |at: usize| match report.connections.get(at) {
        Some(row) => format!("#{at} {} → {}, {}", row.client, row.server, row.protocol),
        None => String::new(),
    };
    for (at, (row, of)) in report.connections.iter().zip(shown).enumerate() {
        let side = |by: Address| if by == of.client { "the client" } else { "the server" };
        if let Some(open) = of.open.values().min_by_key(|open| open.start) {
            all.push(format!(
                "{}: {} without an answer; the oldest, {} in frame {}, had none in the {}",
                who(at),
                several(row.unanswered, "command"),
                open.asked.operation,
                open.frame,
                Ending::wait_words(of.ended, (open.start, end), "connection", side),
            ));
        }
        if row.unseen_answers > 0 {
            all.push(format!(
                "{}: the numbers of {} were used again although the capture has no answer: it lacks some, or who asked gave up",
                who(at),
                several(row.unseen_answers, "command"),
            ));
        }
        all.extend(trouble(&who(at), &of.sums.time));
        let completed = row.completed;
        bounds.extend(behind_tap(&who(at), "the server", row.time.server_ns, completed, row.fastest_ack_ns));
    }
    for row in &report.failed {
        all.push(format!(
            "{}: {} failed {} with {} [frame {}]",
            who(row.connection),
            row.operation,
            times(row.count),
            row.meaning,
            row.first_frame,
        ));
    }
    // What is only a bound of a figure comes behind what happened.
    all.extend(bounds);
    all
}
