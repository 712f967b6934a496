//! The commands as rows, and what they say in a sentence.

use std::{borrow::Cow, collections::HashMap, hash::RandomState, sync::Arc};

use super::{
    Commands, Kind,
    data::{Which, Who},
    identity,
    queue::{Done, Queue},
};
use crate::{
    dissect::Address,
    follow::{Ending, Sums, Time, behind_tap, shares, trouble},
    in_order::InOrder,
    report::{
        DataDirection, Summary,
        field::{Types, records},
        table::tables_of,
        units::{bytes, count, duration, percent, several, times},
    },
};

/// The name of this form of JSON.
pub const SCHEMA: &str = "rdmawire.nvme/1";

/// The JSON Schema of [`Report`].
pub fn schema() -> serde_json::Value {
    Types::document::<Report>("Report")
}

tables_of! { Report {
    "nvme_queues": &QueueRow, "A queue of NVMe over RDMA: a submission and a completion queue over one connection.", |of| of.queues.iter();
    "nvme_controllers": &ControllerRow, "A controller, as far as commands say what it is.", |of| of.controllers.iter();
    "nvme_namespaces": &NamespaceRow, "A namespace, as far as commands say what it is.", |of| of.namespaces.iter();
    "nvme_discovered": &SubsystemRow, "A subsystem that a discovery controller told of.", |of| of.discovered.iter();
    "nvme_operations": &OperationRow, "Commands of one kind to one namespace of one subsystem.", |of| of.operations.iter();
    "nvme_failed": &FailedRow, "Commands of one kind that failed with one status.", |of| of.failed.iter();
    "nvme_commands": &CommandRow, "A command with its response.", |of| of.commands.iter();
} }

records! {
    /// The commands of a capture.
    pub struct Report {
        /// [`SCHEMA`].
        pub schema: Cow<'static, str>,
        /// Queues, in the order in which they were first seen.
        pub queues: Vec<QueueRow>,
        /// Controllers, as far as commands say what they are.
        pub controllers: Vec<ControllerRow>,
        /// Namespaces, as far as commands say what they are.
        pub namespaces: Vec<NamespaceRow>,
        /// Subsystems that discovery controllers told of.
        pub discovered: Vec<SubsystemRow>,
        /// Commands of one kind to one namespace of one subsystem, those that took most time first.
        pub operations: Vec<OperationRow>,
        /// Commands that failed, by kind and status.
        pub failed: Vec<FailedRow>,
        /// Commands one by one, as far as they are kept, in the order of their responses.
        pub commands: Vec<CommandRow>,
        /// What stands out.
        pub findings: Vec<String>,
        /// Capsules whose command was not captured: the frames are cut.
        pub cut_capsules: u64,
        /// Packets that were read although their ICRC is wrong: most of the capture's are, which something on the way to it rewrote.
        pub wrong_icrc_read: u64,
        /// Packets that were not read because their ICRC is wrong: they are corrupt.
        pub wrong_icrc: u64,
        /// Queues that were not followed because there are too many.
        pub not_followed: u64,
        /// The packets go one way only: nothing can be followed.
        pub one_way: bool,
        /// Requests for such connections without a reply (CM REP) in the capture.
        pub unanswered_requests: u64,
    }

    /// One queue: a submission queue and its completion queue over one connection.
    pub struct QueueRow {
        /// The host's address.
        pub host: String,
        /// The controller's address.
        pub controller: String,
        /// The subsystem's NVMe qualified name; `None` where Connect's data was not captured.
        pub subsystem: Option<String>,
        /// The host's NVMe qualified name; `None` where Connect's data was not captured.
        pub host_nqn: Option<String>,
        /// The controller's number; `None` where no Connect, set-up or Identify Controller says it.
        pub controller_id: Option<u16>,
        /// Its number, 0 of the admin queue; `None` where its set-up was not captured and no response names it.
        pub queue: Option<u16>,
        /// The host's queue pair; `None` where no packet of the controller shows it.
        pub host_qp: Option<u32>,
        /// The controller's queue pair.
        pub controller_qp: u32,
        /// Entries of the queue, one of which stays free; `None` where its set-up was not captured.
        pub entries: Option<u32>,
        /// The time after which a silent host counts as dead, in milliseconds; of the admin queue's Connect.
        pub keep_alive_ms: Option<u32>,
        /// Its set-up was captured; else commands and responses that fit each other show what it is.
        pub is_proved: bool,
        /// Commands that were completed.
        pub completed: u64,
        /// Commands without a response, but for asynchronous event requests.
        pub unanswered: u64,
        /// How long the oldest of them waited: until its queue ended, else until the capture did, in nanoseconds.
        pub longest_wait_ns: Option<u64>,
        /// Commands whose number the host used again although the capture has no response: it lacks that, or the host gave up. They are not
        /// among those without a response.
        pub unseen_responses: u64,
        /// Retransmitted capsules of commands.
        pub retransmitted_commands: u64,
        /// The shortest time from a command to its acknowledgement, in nanoseconds: the network behind the tap, there and back, takes no
        /// more; the controller's time has that in it.
        pub fastest_ack_ns: Option<u64>,
        /// The number of the interface that it is read of, near its host, if several recorded it. What only others have is not read, but
        /// for commands and responses that this one lacks.
        pub interface: Option<u16>,
        /// The most commands outstanding at once.
        pub most_outstanding: u32,
        /// The mean number of commands outstanding while there were some.
        pub mean_outstanding: Option<f64>,
        /// The share of that time in which the queue was full; `None` where its entries are not known.
        pub full_ratio: Option<f64>,
        /// When it was closed, in nanoseconds since 1970; or when its queue pair was used again, or the same queue connected anew.
        pub closed_ns: Option<i64>,
        /// Who closed it: the address; `None` where nobody said so.
        pub closed_by: Option<String>,
        /// Latencies.
        pub latency: Option<Summary>,
        /// What the time of its commands went to.
        #[flatten = "Its fields are the row's own."]
        pub time: TimeRow,
    }

    /// A controller, as far as the data of its commands was captured.
    pub struct ControllerRow {
        /// The host's address.
        pub host: String,
        /// The controller's address.
        pub controller: String,
        /// The subsystem's NVMe qualified name; `None` where Connect's data was not captured.
        pub subsystem: Option<String>,
        /// The controller's number, which the response to Connect gives, or Identify Controller.
        pub controller_id: Option<u16>,
        /// Its queues' places in [`Report::queues`]; without those of which nothing says whose they are.
        pub queues: Vec<usize>,
        /// The host's identifier of Connect's data, in hexadecimal.
        pub host_id: Option<String>,
        /// The keep-alive timeout in milliseconds, of Connect or Set Features; 0: none.
        pub keep_alive_ms: Option<u32>,
        /// The model; this and what follows is of Identify Controller, and `None` where its data was not captured.
        pub model: Option<String>,
        /// The serial number.
        pub serial: Option<String>,
        /// The firmware's revision.
        pub firmware: Option<String>,
        /// Version of the specification.
        pub version: Option<String>,
        /// Kind of controller: "I/O", "discovery", "administrative"; `None` before version 1.4, too.
        pub kind: Option<String>,
        /// The highest number of a namespace.
        pub highest_namespace: Option<u32>,
        /// The most data of a command in bytes; `None` where there is no limit, or the capabilities were not captured.
        pub most_transfer_bytes: Option<u64>,
        /// Data that fits into the capsule of a command of an I/O queue, in bytes.
        pub capsule_data_bytes: Option<u64>,
        /// The step of keep-alive timeouts in milliseconds; 0: the controller takes none.
        pub keep_alive_step_ms: Option<u32>,
        /// Whether it tells how well namespaces can be reached through it (ANA).
        pub has_ana: Option<bool>,
        /// Critical warnings of the SMART log, in words; `None` where the log was not captured.
        pub warnings: Option<Vec<String>>,
        /// Temperature in degrees Celsius, of the SMART log; `None` where the controller says none.
        pub temperature_celsius: Option<i32>,
        /// How much of its life is used in percent, of the SMART log.
        pub used_percent: Option<u8>,
        /// Errors of data integrity that were not recovered, of the SMART log.
        pub media_errors: Option<u64>,
    }

    /// A namespace, as far as the data of commands was captured.
    pub struct NamespaceRow {
        /// The host's address.
        pub host: String,
        /// The controller's address.
        pub controller: String,
        /// The subsystem's NVMe qualified name; `None` where Connect's data was not captured.
        pub subsystem: Option<String>,
        /// The controller's number; `None` where nothing says it.
        pub controller_id: Option<u16>,
        /// Its number.
        pub namespace: u32,
        /// Bytes of a block, without metadata: of Identify Namespace, else of Reads and Writes, which name bytes and blocks.
        pub block_bytes: Option<u64>,
        /// Bytes of metadata of a block; `None` where Identify Namespace was not captured.
        pub metadata_bytes: Option<u16>,
        /// Its size in blocks.
        pub blocks: Option<u64>,
        /// Its size in bytes.
        pub size_bytes: Option<u64>,
        /// Bytes of it that are in use.
        pub used_bytes: Option<u64>,
        /// Its identifier of 128 bits, in hexadecimal.
        pub nguid: Option<String>,
        /// Its identifier of 64 bits, in hexadecimal.
        pub eui64: Option<String>,
        /// Its UUID.
        pub uuid: Option<String>,
        /// How well it can be reached through this controller (ANA): "optimized", "non-optimized", "inaccessible", "persistent loss", "change".
        pub ana_state: Option<String>,
    }

    /// A subsystem that a discovery controller told of.
    pub struct SubsystemRow {
        /// The discovery controller's address.
        pub controller: String,
        /// The subsystem's NVMe qualified name.
        pub subsystem: String,
        /// What it is.
        pub kind: Option<String>,
        /// The transport: "rdma", "tcp", "fc", "loop", or its number.
        pub transport: String,
        /// The address.
        pub address: String,
        /// The service: a port.
        pub service: String,
    }

    /// What the time of commands went to. The parts add up to the whole.
    #[derive(Copy)]
    pub struct TimeRow {
        /// From the first packet of the command to its response, in nanoseconds; of several commands, all of them together.
        pub latency_ns: u64,
        /// The controller, and the network behind the tap.
        pub controller_ns: u64,
        /// Data was on its way: READs were open, or packets of WRITEs were not acknowledged; but for recovery.
        pub data_ns: u64,
        /// Packets were sent again: after losses, or after a timeout.
        pub recovering_ns: u64,
        /// A receiver was not ready (RNR NAK), but for recovery.
        pub not_ready_ns: u64,
    }

    /// Commands of one kind to one namespace.
    pub struct OperationRow {
        /// The host's address.
        pub host: String,
        /// The controller's address.
        pub controller: String,
        /// The subsystem's name.
        pub subsystem: Option<String>,
        /// The controller's number; `None` where nothing says it: queues of several controllers may have had these commands.
        pub controller_id: Option<u16>,
        /// Whether the admin queue had them.
        pub is_admin: bool,
        /// The namespace; `None` of Fabrics commands.
        pub namespace: Option<u32>,
        /// The command's name.
        pub command: String,
        /// The direction of data.
        pub direction: DataDirection,
        /// Commands that were completed.
        pub completed: u64,
        /// Those of them that failed.
        pub failed: u64,
        /// Bytes of data that were captured on their way.
        pub data_bytes: u64,
        /// Those of commands that failed.
        pub failed_data_bytes: u64,
        /// Blocks that commands without an error named; `None` of commands that name none.
        pub blocks: Option<u64>,
        /// Bytes of these blocks; `None` where the size of the namespace's blocks is not known.
        pub block_bytes: Option<u64>,
        /// Latencies.
        pub latency: Option<Summary>,
        /// Commands per second, from the first command to the last response.
        pub per_second: Option<f64>,
        /// Bytes per second in that time: of the blocks, or of data where their size is not known.
        pub bytes_per_second: Option<f64>,
        /// What the time of the commands went to.
        #[flatten = "Its fields are the row's own."]
        pub time: TimeRow,
    }

    /// Commands that failed in the same way.
    pub struct FailedRow {
        /// The queue's place in [`Report::queues`].
        pub queue: usize,
        /// The command's name.
        pub command: String,
        /// The status field without the phase tag.
        pub status: u16,
        /// The status in words.
        pub meaning: String,
        /// The controller says that the command will fail again.
        pub do_not_retry: bool,
        /// How many.
        pub count: u64,
        /// The frame of the first of these commands.
        pub first_frame: u64,
    }

    /// A command that was completed.
    pub struct CommandRow {
        /// The queue's place in [`Report::queues`].
        pub queue: usize,
        /// The frame of the command.
        pub frame: u64,
        /// When it was sent, in nanoseconds since 1970.
        pub time_ns: i64,
        /// Its number.
        pub command_id: u16,
        /// Its name.
        pub command: String,
        /// The namespace.
        pub namespace: Option<u32>,
        /// Bytes of data that were captured on their way.
        pub data_bytes: u64,
        /// The first block that it names.
        pub first_block: Option<u64>,
        /// The blocks that it names.
        pub blocks: Option<u32>,
        /// Bytes of these blocks; `None` where the size of the namespace's blocks is not known.
        pub block_bytes: Option<u64>,
        /// The status field without the phase tag; 0 is success.
        pub status: u16,
        /// What its time went to.
        #[flatten = "Its fields are the row's own."]
        pub time: TimeRow,
    }
}

impl From<Time> for TimeRow {
    fn from(time: Time) -> TimeRow {
        let Time { latency, recovering, not_ready, data, controller, .. } = time;
        TimeRow {
            latency_ns: latency,
            controller_ns: controller,
            data_ns: data,
            recovering_ns: recovering,
            not_ready_ns: not_ready,
        }
    }
}

impl TimeRow {
    /// The parts as shares, the largest first, as "controller 82 %, data 18 %".
    pub fn sentence(&self) -> String {
        let parts = [
            ("controller", self.controller_ns),
            ("data", self.data_ns),
            ("recovery", self.recovering_ns),
            ("not ready", self.not_ready_ns),
        ];
        shares(self.latency_ns, parts)
    }
}

impl OperationRow {
    /// Bytes of the blocks that it moves, or of data, where that is not known: of commands that did not fail.
    pub fn bytes(&self) -> u64 {
        let of_blocks = self.block_bytes.filter(|_| self.direction != DataDirection::None);
        of_blocks.unwrap_or(self.data_bytes.saturating_sub(self.failed_data_bytes))
    }
}

impl QueueRow {
    /// "#3 10.0.0.1 → 10.0.0.2, admin queue": with its place in the list, by which queues of the same two hosts are told apart.
    pub fn text(&self, at: usize) -> String {
        format!("#{at} {} → {}, {}", self.host, self.controller, self.name())
    }

    /// "admin queue", "queue 3".
    pub fn name(&self) -> String {
        match self.queue {
            Some(0) => "admin queue".to_owned(),
            Some(number) => format!("queue {number}"),
            None => format!("QP {:#x}", self.controller_qp),
        }
    }
}

impl Report {
    /// Queues, commands and bytes in one line.
    pub fn sentence(&self) -> String {
        let completed: u64 = self.queues.iter().map(|queue| queue.completed).sum();
        let of = |direction: DataDirection| {
            // Data of a Connect is no data of a volume; nor is that of commands that failed.
            let is_io = |row: &&OperationRow| !row.is_admin && row.namespace.is_some_and(|id| id != 0);
            let rows = self.operations.iter().filter(|row| row.direction == direction).filter(is_io);
            rows.map(OperationRow::bytes).sum::<u64>()
        };
        format!(
            "{} of NVMe, {}; {} read, {} written",
            several(self.queues.len() as u64, "queue"),
            several(completed, "command"),
            bytes(of(DataDirection::Read)),
            bytes(of(DataDirection::Write)),
        )
    }
}

/// What is known of controllers at the end of the capture.
struct Known<'a> {
    queues: &'a [Queue],
    /// The admin queues of a host and a controller's address whose Connect was not captured.
    lone_admins: HashMap<[Address; 2], Vec<&'a Queue>, RandomState>,
    /// The subsystem of a controller's number there; `None` where several have it.
    subsystems: HashMap<([Address; 2], u16), Option<&'a Arc<str>>, RandomState>,
}

impl<'a> Known<'a> {
    fn of(queues: &'a [Queue]) -> Known<'a> {
        let (mut lone_admins, mut subsystems) = (HashMap::<_, Vec<_>, _>::default(), HashMap::default());
        for queue in queues.iter().filter(|queue| queue.is_nvme) {
            let here = [queue.host, queue.controller];
            if queue.is_lone_admin() {
                lone_admins.entry(here).or_default().push(queue);
            }
            if let (Some(id), Some(name)) = (queue.controller_id, &queue.subsystem) {
                let known = subsystems.entry((here, id)).or_insert(Some(name));
                *known = known.filter(|known| *known == name);
            }
        }
        Known { queues, lone_admins, subsystems }
    }

    /// The number that the row of a controller shows.
    fn id(&self, who: &Who) -> Option<u16> {
        match who.3 {
            Which::Unknown => None,
            Which::Id(id) => Some(id),
            Which::OfAdmin(at) => self.queues.get(at)?.controller_id,
        }
    }

    /// The controller whose data is that of this one, too. A queue without a Connect is of a controller whose admin queue has none: the data of
    /// the only one is taken for that.
    fn whole(&self, who: &Who) -> Who {
        let &(host, controller, ref subsystem, which) = who;
        let here = [host, controller];
        let id = match (which, self.lone_admins.get(&here).map(Vec::as_slice)) {
            (Which::Id(id), _) => Some(id),
            (Which::OfAdmin(_), _) => self.id(who),
            (Which::Unknown, Some(&[admin])) if subsystem.is_none() => return self.whole(&admin.who()),
            (Which::Unknown, _) => None,
        };
        let named = || self.subsystems.get(&(here, id?)).copied().flatten().cloned();
        (host, controller, subsystem.clone().or_else(named), id.map_or(which, Which::Id))
    }
}

/// A Connect of the same queue of the same host ends one that was silent since: who lost its connection says so to nobody.
fn end_replaced(queues: &mut [Queue]) {
    type Same = (Address, Address, Arc<str>, Arc<str>, u16);
    let same = |queue: &Queue| -> Option<Same> {
        let names = queue.subsystem.clone().zip(queue.host_name.clone());
        let (subsystem, host_name) = names.filter(|_| queue.is_nvme)?;
        Some((queue.host, queue.controller, subsystem, host_name, queue.number?))
    };
    let mut later: HashMap<Same, (i64, u64), RandomState> = HashMap::default();
    for queue in queues.iter_mut().rev() {
        let Some(same) = same(queue) else { continue };
        if let Some(&(time, frame)) = later.get(&same)
            && time >= queue.last
        {
            queue.end(Ending { time, frame, by: None });
        }
        if let Some(first) = queue.first {
            later.insert(same, first);
        }
    }
}

pub(super) fn report(mut all: Commands) -> Report {
    end_replaced(&mut all.queues);
    let queues = std::mem::take(&mut all.queues);
    let known = Known::of(&queues);
    all.identified.rename(|who| known.whole(who));
    let end = all.span.map_or(0, |[_, end]| end);
    let mut places = vec![None; queues.len()];
    let mut shown: Vec<&Queue> = Vec::new();
    for (at, queue) in queues.iter().enumerate().filter(|(_, queue)| queue.is_nvme) {
        places[at] = Some(shown.len());
        shown.push(queue);
    }
    let sizes: Vec<Who> = shown.iter().map(|queue| known.whole(&queue.who())).collect();
    // What is known for sure.
    let sure = |queue: &&Queue| Some(queue.who()).filter(|who| who.3 != Which::Unknown);
    let whose: Vec<Option<Who>> =
        shown.iter().map(|queue| sure(queue).map(|who| known.whole(&who))).collect();
    let fastest_ack = |queue: &Queue| all.ways.get(&queue.key_back(false)?)?.transfers.fastest_ack;
    let rows: Vec<QueueRow> = shown.iter().map(|queue| queue_row(queue, end, fastest_ack(queue))).collect();
    let operation = |of: (&Kind, &Sums)| operation_row(of, &all, &known);
    let mut operations: Vec<OperationRow> = all.operations.iter().map(operation).collect();
    operations.order_by_key(|row| (row.is_admin, std::cmp::Reverse(row.time.latency_ns)));
    let command = |(at, done): &(usize, Done)| {
        let place = places.get(*at).copied().flatten()?;
        let size = done.namespace.filter(|_| done.blocks.is_some());
        let size = size.and_then(|namespace| all.identified.block_bytes(sizes.get(place)?, namespace));
        Some(command_row(done, place, shown.get(place)?, size))
    };
    let mut report = Report {
        schema: SCHEMA.into(),
        queues: rows,
        controllers: identity::controllers(&all.identified, &whose),
        namespaces: identity::namespaces(&all.identified),
        discovered: identity::discovered(&all.identified),
        operations,
        failed: failed(&shown),
        commands: all.done.iter().filter_map(command).collect(),
        findings: Vec::new(),
        cut_capsules: all.cut_capsules,
        wrong_icrc_read: all.doubt.read,
        wrong_icrc: all.doubt.refused,
        not_followed: all.not_followed,
        one_way: all.directions.are_one_way(),
        unanswered_requests: all.requests.waiting().count() as u64 + all.rejected,
    };
    report.findings = findings(&report, &shown, end);
    report
}

fn queue_row(queue: &Queue, end: i64, fastest_ack_ns: Option<u64>) -> QueueRow {
    let waiting = || queue.open.values().filter(|open| open.is_counted);
    let depth = &queue.depth;
    QueueRow {
        host: queue.host.to_string(),
        controller: queue.controller.to_string(),
        subsystem: queue.subsystem.as_deref().map(str::to_owned),
        controller_id: queue.controller_id,
        host_nqn: queue.host_name.as_deref().map(str::to_owned),
        queue: queue.number,
        host_qp: queue.host_qp,
        controller_qp: queue.controller_qp,
        entries: queue.entries,
        keep_alive_ms: queue.keep_alive_ms,
        is_proved: queue.is_proved,
        completed: queue.sums.latency.count(),
        unanswered: waiting().count() as u64,
        longest_wait_ns: waiting().map(|open| Ending::wait(queue.ended, open.start, end)).max(),
        unseen_responses: queue.unseen_responses,
        retransmitted_commands: queue.sent_again,
        fastest_ack_ns,
        interface: queue.taps.of_several(),
        most_outstanding: depth.most,
        mean_outstanding: (depth.ns > 0).then(|| depth.area as f64 / depth.ns as f64),
        full_ratio: queue.entries.filter(|_| depth.ns > 0).map(|_| depth.full_ns as f64 / depth.ns as f64),
        closed_ns: queue.ended.map(|ended| ended.time),
        closed_by: queue.ended.and_then(|ended| ended.by).map(|by| by.to_string()),
        latency: queue.sums.latency.summary(),
        time: queue.sums.time.into(),
    }
}

fn operation_row((kind, sums): (&Kind, &Sums), all: &Commands, known: &Known<'_>) -> OperationRow {
    let &(ref who, is_admin, command, namespace) = kind;
    let &(host, controller, ref subsystem, _) = who;
    let [per_second, data_per_second] = sums.per_second();
    let blocks = all.blocks.get(kind).copied();
    let size = namespace.and_then(|namespace| all.identified.block_bytes(&known.whole(who), namespace));
    let block_bytes = blocks.zip(size).and_then(|(blocks, size)| blocks.checked_mul(size));
    let is_moved = command.direction() != DataDirection::None && sums.bytes > 0;
    // In the same time.
    let of_blocks = block_bytes
        .filter(|_| is_moved)
        .zip(data_per_second)
        .map(|(bytes, rate)| rate * bytes as f64 / sums.bytes as f64);
    let address = |address: Address| address.to_string();
    OperationRow {
        host: address(host),
        controller: address(controller),
        subsystem: subsystem.as_deref().map(str::to_owned),
        controller_id: known.id(who),
        is_admin,
        namespace,
        command: command.name(is_admin).into_owned(),
        direction: command.direction(),
        completed: sums.latency.count(),
        failed: sums.failed,
        data_bytes: sums.bytes,
        failed_data_bytes: sums.failed_bytes,
        blocks,
        block_bytes,
        per_second,
        bytes_per_second: of_blocks.or(data_per_second),
        latency: sums.latency.summary(),
        time: sums.time.into(),
    }
}

fn failed(shown: &[&Queue]) -> Vec<FailedRow> {
    const DO_NOT_RETRY: u16 = 1 << 14;
    let rows = shown.iter().enumerate().flat_map(|(at, queue)| {
        queue.failed.iter().map(move |(&(command, status), &(count, first_frame))| FailedRow {
            queue: at,
            command: command.name(queue.is_admin()).into_owned(),
            status: status.0,
            meaning: status.name(command).into_owned(),
            do_not_retry: status.0 & DO_NOT_RETRY != 0,
            count,
            first_frame,
        })
    });
    rows.collect()
}

fn command_row(done: &Done, at: usize, queue: &Queue, size: Option<u64>) -> CommandRow {
    CommandRow {
        queue: at,
        frame: done.frame,
        time_ns: done.start,
        command_id: done.id,
        command: done.command.name(queue.is_admin()).into_owned(),
        namespace: done.namespace,
        data_bytes: done.bytes,
        first_block: done.blocks.map(|(first, _)| first),
        blocks: done.blocks.map(|(_, blocks)| blocks),
        block_bytes: done.blocks.zip(size).and_then(|((_, blocks), size)| size.checked_mul(blocks.into())),
        status: done.status.0,
        time: done.time.into(),
    }
}

/// What stands out, with what to do.
fn findings(report: &Report, shown: &[&Queue], end: i64) -> Vec<String> {
    let (mut all, mut bounds) = (Vec::new(), Vec::new());
    for (at, (row, queue)) in report.queues.iter().zip(shown).enumerate() {
        let who = row.text(at);
        let side = |by: Address| if by == queue.host { "the host" } else { "the controller" };
        let wait = |start| Ending::wait_words(queue.ended, (start, end), "queue", side);
        if row.unanswered > 0
            && let Some(open) =
                queue.open.values().filter(|open| open.is_counted).min_by_key(|open| open.start)
        {
            all.push(format!(
                "{who}: {} without a response; the oldest, {} in frame {}, had none in the {}",
                several(row.unanswered, "command"),
                open.command.name(queue.is_admin()),
                open.frame,
                wait(open.start),
            ));
        }
        if let Some(limit) = row.keep_alive_ms.filter(|&ms| ms > 0).map(|ms| u64::from(ms) * 1_000_000) {
            let open = queue.open.values().filter(|open| open.command.is_keep_alive(true));
            let waits = open.map(|open| (Ending::wait(queue.ended, open.start, end), wait(open.start)));
            let answered =
                queue.slowest_keep_alive.map(|ns| (ns, format!("{} for its response", duration(ns))));
            let longest = waits.chain(answered).max_by_key(|&(ns, _)| ns);
            if let Some((_, waited)) = longest.filter(|&(ns, _)| ns > limit) {
                all.push(format!(
                    "{who}: a Keep Alive waited {waited}, longer than the keep-alive timeout of {}: the controller or its link stood still",
                    duration(limit),
                ));
            }
        }
        if let Some(Ending { time, frame, by: Some(by) }) = queue.ended
            && by == queue.controller
            && queue.first.is_some()
        {
            let silent = u64::try_from(time.saturating_sub(queue.last)).unwrap_or(0);
            let limit = row.keep_alive_ms.map(|ms| u64::from(ms) * 1_000_000).filter(|&ns| ns > 0);
            let why = match limit.filter(|&limit| silent >= limit) {
                Some(limit) => format!(
                    ": no Keep Alive came within its timeout of {}, so the host stood still, or its commands were lost",
                    duration(limit)
                ),
                None => match limit {
                    Some(limit) => format!(
                        ", before its keep-alive timeout of {} by the clock of this capture: the controller was shut down or gave up, or commands were lost behind the tap, or the machine that captured stood still",
                        duration(limit)
                    ),
                    None => String::new(),
                },
            };
            all.push(format!(
                "{who}: the controller closed the queue [frame {frame}], {} after the last command or response{why}",
                duration(silent)
            ));
        }
        if row.full_ratio.is_some_and(|ratio| ratio > 0.05) {
            all.push(format!(
                "{who}: the queue was full for {} of the time with commands outstanding: its {} entries limit it, more entries or queues help",
                percent(row.full_ratio.unwrap_or(0.0)),
                count(row.entries.unwrap_or(0).into()),
            ));
        }
        if row.unseen_responses > 0 {
            all.push(format!(
                "{who}: the host used the numbers of {} again although the capture has no response: it lacks some, or the host gave up",
                several(row.unseen_responses, "command"),
            ));
        }
        all.extend(trouble(&who, &queue.sums.time));
        bounds.extend(behind_tap(
            &who,
            "the controller",
            row.time.controller_ns,
            row.completed,
            row.fastest_ack_ns,
        ));
    }
    all.extend(identity::findings(report));
    for row in &report.failed {
        let queue = &report.queues[row.queue];
        all.push(format!(
            "{}: {} failed {} with {:#06x}, {}{} [frame {}]",
            queue.text(row.queue),
            row.command,
            times(row.count),
            row.status,
            row.meaning,
            if row.do_not_retry { " (do not retry)" } else { "" },
            row.first_frame,
        ));
    }
    // What is only a bound of a figure comes behind what happened.
    all.extend(bounds);
    all
}
