//! `rdmawire collectives`: NCCL's requests and operations, and who was waited for; one-sided traffic.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::Args;
use serde::Serialize;

use super::{
    Outcome,
    input::Joining,
    list::{self, Column, number, words},
    log,
    signals::{STOP, end_on_signal},
    trace::Trace,
    tracking::Tracking,
};
use rdmawire::report::{
    Capture, CollectiveCause, CollectiveConnection, CollectiveOperation, CollectiveRequest,
    Collectives as Report, OneSided, OneSidedQueuePair, OneSidedRail, SetClock, clean, json,
    units::{bits, bytes, count, duration, mean, percent, several, utc_us},
};

/// Show the requests of NCCL's transport, what their time went to, and who was waited for.
///
/// A receiver asks for data by a WRITE of a clear-to-send element into the sender's FIFO, and the sender WRITEs to the address and with the
/// key that it has: that proves what the packets are. The time of each request is cut into receiver late, sender late and network.
/// Captures of several hosts are read as one trace: their clocks should agree.
///
/// One-sided traffic (puts of GPUs, transfers of KV caches) has no requests: its queue pairs are listed with sizes, concurrency, latency,
/// signals, and the part of each rail.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire collectives x.pcap
  rdmawire collectives x.pcap --speed 400G --json
  rdmawire collectives x.pcap --log nccl.log")]
pub(super) struct Collectives {
    /// Captures, also of several hosts; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    joining: Joining,
    /// Read all captures as one trace, which this command does in any case.
    #[arg(long)]
    merge: bool,
    /// Rows of each list; 0: all.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// NCCL's debug output (NCCL_DEBUG=INFO, with NCCL_DEBUG_SUBSYS=INIT,NET or more) of some ranks: connections and stragglers are named by
    /// ranks, hosts and channels.
    #[arg(long, value_name = "FILE")]
    log: Vec<PathBuf>,
    /// Print one JSON object, with all requests, on one line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    tracking: Tracking,
}

/// The object of --json.
#[derive(Serialize)]
struct Output<'a> {
    schema: &'static str,
    files: &'a [String],
    set_clocks: &'a [SetClock],
    /// As in the report of `analyze`; null where there is no such traffic.
    collectives: Option<&'a Report>,
    /// As in the report of `analyze`; null where there is no such traffic.
    one_sided: Option<&'a OneSided>,
}

impl Collectives {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        end_on_signal(&STOP);
        let logs = log::read(&self.log)?;
        let (source, is_opened) = Trace::open(&self.joining.captures(&self.files)?);
        let Some(mut source) = source else { return Ok(Outcome::Failed) };
        let (ended, is_all) = self.tracking.follow(&mut source)?;
        let mut report = ended.report();
        if let Some(found) = report.head.to_mut().collectives.as_mut() {
            logs.job.join(found);
        }
        let (found, one_sided) = (report.head.collectives.as_ref(), report.head.one_sided.as_ref());
        let mut out = io::BufWriter::new(io::stdout().lock());
        if self.json {
            let schema = "rdmawire.collectives/1";
            let Capture { files, set_clocks, .. } = &report.head.capture;
            let output = Output { schema, files, set_clocks, collectives: found, one_sided };
            json::write(&mut out, &output)?;
            writeln!(out)?;
        } else {
            match found {
                Some(found) => self.write(found, &mut out)?,
                None => write_none(report.head.capture.truncated_packets, &mut out)?,
            }
            if let Some(one_sided) = one_sided {
                self.write_one_sided(one_sided, &mut out)?;
            }
        }
        out.flush()?;
        Ok(if is_all && is_opened { Outcome::Done } else { Outcome::Failed })
    }

    fn write(&self, found: &Report, out: &mut impl Write) -> io::Result<()> {
        for sentence in found.sentences() {
            list::say(out, "", &sentence)?;
        }
        list::write(out, "Connections", &CONNECTIONS, found.connections.iter().map(connection), self.top)?;
        if let Some(operations) = &found.operations {
            list::write(out, "Operations", &OPERATIONS, operations.iter().map(operation), self.top)?;
        }
        let mut slow: Vec<&CollectiveRequest> = found.requests.iter().collect();
        slow.sort_by_key(|request| std::cmp::Reverse(request.time.lasted_ns));
        list::write(out, "Longest requests", &REQUESTS, slow.into_iter().map(request), self.top)
    }

    fn write_one_sided(&self, found: &OneSided, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\nOne-sided traffic")?;
        for sentence in found.sentences() {
            list::say(out, "", &sentence)?;
        }
        list::write(out, "Rails of one-sided traffic", &RAILS, found.rails.iter().map(rail), self.top)?;
        let rows = found.queue_pairs.iter().map(queue_pair);
        list::write(out, "Queue pairs of one-sided traffic", &QUEUE_PAIRS, rows, self.top)
    }
}

/// Why collectives may not be seen where so many frames are cut; empty where none is.
pub(super) fn cut_frames(cut: u64) -> String {
    let are = match cut {
        0 => return String::new(),
        1 => "1 frame is".into(),
        _ => format!("{} frames are", count(cut)),
    };
    format!(
        "{are} cut: what tells collectives (addresses, keys and immediate data) is not in those that are cut to less than 74 bytes over IPv4, 94 \
         over IPv6; 128 bytes of each frame show all."
    )
}

/// There are none; `cut`: frames of which the capture has only the first part.
fn write_none(cut: u64, out: &mut impl Write) -> io::Result<()> {
    let text =
        "No collectives: no clear-to-send elements, and no immediate data that is the size of its message.";
    list::say(out, "", text)?;
    if cut > 0 {
        list::say(out, "", &cut_frames(cut))?;
    }
    Ok(())
}

/// The lists of this command, by their titles.
pub(super) const LISTS: [(&str, &[Column]); 5] = [
    ("Connections", &CONNECTIONS),
    ("Operations", &OPERATIONS),
    ("Longest requests", &REQUESTS),
    ("Rails of one-sided traffic", &RAILS),
    ("Queue pairs of one-sided traffic", &QUEUE_PAIRS),
];

const CONNECTIONS: [Column; 9] = [
    number("#", "Number of the connection."),
    words("from", "The address that sends."),
    words("to", "The address that receives."),
    number("channel", "A guess: the how manieth connection between these two it is."),
    words("queue pairs", "Queue pairs of the receiver that data goes to."),
    words(
        "layout",
        "The layout of the clear-to-send elements, with NCCL's versions that have it; and the byte order of the immediate data.",
    ),
    number("requests", "Requests: what the receiver asked for with one element."),
    number("bytes", "Bytes of its requests."),
    words("its time", ITS_TIME),
];

/// What the time of requests went to.
const ITS_TIME: &str = "What the time of requests went to: receiver late (it had not asked for the data), sender late (the data was asked for, \
    and not sent), network.";

/// An endpoint, with its rank where that is known.
fn end(address: &str, rank: Option<u32>) -> String {
    rank.map_or_else(|| address.to_owned(), |rank| format!("rank {rank}, {address}"))
}

fn connection(one: &CollectiveConnection) -> Vec<String> {
    let queue_pairs: Vec<String> = one.queue_pairs.iter().map(|qp| format!("{qp:#x}")).collect();
    vec![
        one.connection.to_string(),
        end(&one.sender, one.sender_rank),
        end(&one.receiver, one.receiver_rank),
        one.channel.map_or_else(String::new, |channel| channel.to_string()),
        queue_pairs.join(" "),
        format!("{} ({})", one.layout.words(), one.immediate_order.words()),
        count(one.requests),
        bytes(one.bytes),
        one.time.sentence(),
    ]
}

const OPERATIONS: [Column; 8] = [
    number("#", "Number of the operation: requests with no silence of all connections between them."),
    words("begins", "When its first request began."),
    number("lasts", "From then until its last request was complete."),
    number("requests", "Its requests."),
    number("bytes", "Bytes of its requests."),
    number(
        "algbw",
        "Algorithm bandwidth as nccl-tests has it: bytes of a rank's buffer over the time; a ring's operation is taken for an all-reduce.",
    ),
    number(
        "busbw",
        "Bus bandwidth as nccl-tests has it: of a tree the algorithm bandwidth times 2 (n - 1) / n, else what a rank sends over the time.",
    ),
    words("waited for", "Who was waited for, why, and what that cost of the operation's time."),
];

fn operation(one: &CollectiveOperation) -> Vec<String> {
    let waited = match (&one.straggler, one.cause, one.lost_ns) {
        (Some(rank), Some(cause), Some(lost)) => {
            let share = percent(lost as f64 / one.lasted_ns.max(1) as f64);
            // A path has two ends.
            let is_path = cause != CollectiveCause::HostLate;
            let to = one.straggler_peer.as_deref().filter(|_| is_path);
            let to = to.map_or_else(String::new, |peer| format!(" → {}", clean(peer)));
            format!("{}{to}: {}, {} ({share})", end(rank, one.straggler_rank), cause.words(), duration(lost))
        }
        _ => String::new(),
    };
    vec![
        one.operation.to_string(),
        utc_us(one.start_ns),
        duration(one.lasted_ns),
        count(one.requests),
        bytes(one.bytes),
        one.algorithm_bps.map_or_else(String::new, |bps| bits(bps as f64)),
        one.bus_bps.map_or_else(String::new, |bps| bits(bps as f64)),
        waited,
    ]
}

const REQUESTS: [Column; 6] = [
    number("connection", "Number of its connection."),
    number(
        "request",
        "Its number on the connection: of the element, from 1; without elements, counted from the first one seen.",
    ),
    words("frames", "Frames of its first and last data packet."),
    words("bytes", "Bytes that were sent."),
    number("lasts", "From the element that asked for it to its last acknowledgement."),
    words("its time", ITS_TIME),
];

fn request(one: &CollectiveRequest) -> Vec<String> {
    let frames = match (one.first_frame, one.last_frame) {
        (Some(first), Some(last)) => format!("{first}–{last}"),
        _ => "no data".to_owned(),
    };
    let queue_pairs = match one.queue_pairs.len() {
        0 | 1 => String::new(),
        n => format!(" on {}", several(n as u64, "queue pair")),
    };
    // Of a request that was only asked for, neither is known.
    let has_data = one.first_frame.is_some();
    vec![
        one.connection.to_string(),
        count(one.index),
        frames,
        if has_data { format!("{}{queue_pairs}", bytes(one.bytes)) } else { String::new() },
        if one.time.lasted_ns > 0 { duration(one.time.lasted_ns) } else { String::new() },
        one.time.sentence(),
    ]
}

const RAILS: [Column; 8] = [
    number("#", "Number of the rail."),
    words("from", "The address that reads and writes."),
    words("to", "The address whose memory that is."),
    number(
        "queue pairs",
        "Its queue pairs with one-sided traffic; of a rail with none, all its queue pairs.",
    ),
    number("operations", "READs, WRITEs and atomics."),
    number("read", "Bytes that were read."),
    number("written", "Bytes that were written."),
    number(
        "of the hosts'",
        "Its part of the bytes of all rails between these two hosts, where there are several: their addresses differ alike at both ends.",
    ),
];

fn rail(one: &OneSidedRail) -> Vec<String> {
    vec![
        one.rail.to_string(),
        one.src.clone(),
        one.dst.clone(),
        count(one.queue_pairs),
        count(one.operations),
        bytes(one.read_bytes),
        bytes(one.written_bytes),
        one.share_ratio.map_or_else(String::new, percent),
    ]
}

const QUEUE_PAIRS: [Column; 8] = [
    number("rail", "Number of its rail."),
    words("queue pair", "The queue pair that its requests go to."),
    number("operations", "READs, WRITEs and atomics."),
    number("read", "Bytes that were read."),
    number("written", "Bytes that were written."),
    number("size", "Bytes of a READ or WRITE: the median."),
    words(
        "complete after",
        "From an operation's first packet until it was complete: median and 99th percentile.",
    ),
    words(
        "under way",
        "Operations under way at a time, in the mean; and its signals: atomics, WRITEs with immediate data, small WRITEs.",
    ),
];

fn queue_pair(one: &OneSidedQueuePair) -> Vec<String> {
    let signals = [
        (one.atomics, "atomics"),
        (one.immediates, "immediates"),
        (one.small_writes.unwrap_or(0), "small WRITEs"),
    ];
    let signals = signals.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n)));
    let under_way = one.outstanding.map(mean);
    vec![
        one.rail.to_string(),
        format!("{:#x}", one.dest_qp),
        count(one.operations),
        one.read_bytes.map_or_else(String::new, bytes),
        bytes(one.written_bytes),
        one.size_bytes.map_or_else(String::new, |sizes| bytes(sizes.p50)),
        one.completion_ns
            .map_or_else(String::new, |took| format!("{} / {}", duration(took.p50), duration(took.p99))),
        under_way.into_iter().chain(signals).collect::<Vec<_>>().join(", "),
    ]
}
