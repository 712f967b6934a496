//! Options of all commands that analyze captures, and the way of a capture into the analysis.

use std::sync::{Mutex, PoisonError, atomic::Ordering};

use clap::Args;

use super::{
    arg::{self, Check, RocePorts, within},
    input::{self, Progress, STOP, describe},
    say,
    trace::Captures,
};
use rdmawire::{
    analyze::{
        Analysis, Ended, KnownConnection, Links, Options, QosMap, StormProfile, TrimProfile,
        metric::{
            Metric,
            timeline::{self, Timeline},
        },
    },
    capture::{self, Interface, Source},
    dissect::Dissection,
    filter::{Filter, FrameMeta},
    grammar::units,
    icrc,
    report::FrameOrder,
};

/// Which frames are analyzed, and how.
#[derive(Debug, Args)]
pub(super) struct Tracking {
    /// Analyze only frames that match: `ip.dst == 10.0.0.2`; see `rdmawire explain filter`.
    #[arg(short, long, value_name = "EXPR")]
    filter: Option<String>,
    /// The speed of the links, such as 400G. The durations of pauses need it.
    #[arg(long, value_name = "SPEED", value_parser = units::bit_rate)]
    speed: Option<u64>,
    /// When a pause is a storm: sonic-broadcom, sonic-mellanox, cisco, juniper, or the times of detection and restoration, as
    /// 100ms,1s.
    #[arg(long, value_name = "PROFILE", value_parser = StormProfile::parse, default_value = "sonic-broadcom")]
    storm: StormProfile,
    /// A file with the priorities of the network: which have PFC, which one is for CNPs, and how DSCP and PCP give them; see
    /// `rdmawire explain qos`.
    #[arg(long, value_name = "FILE", value_parser = qos_map)]
    qos: Option<QosMap>,
    /// A file with the links that were captured: which interface taps which link, and the devices at its ends. With it, pauses of
    /// several links tell who paused whom; see `rdmawire explain links`. Otherwise LLDP in the capture says it.
    #[arg(long, value_name = "FILE", value_parser = links)]
    links: Option<Links>,
    /// What switches make of packets that they trim: size and DSCPs, as 256,dscp=48 or 128,dscp=7,last-hop=5. Most such packets are known
    /// without it.
    #[arg(long, value_name = "PROFILE", value_parser = TrimProfile::parse)]
    trim: Option<TrimProfile>,
    /// Whether to verify ICRCs.
    #[arg(long, value_enum, default_value_t)]
    icrc: Check,
    #[command(flatten)]
    roce: RocePorts,
    /// A file with the queue pairs that are connected: lines with ADDRESS,QP,ADDRESS,QP, or what perftest or `rdma resource show qp`
    /// prints, with or without -j.
    #[arg(long, value_name = "FILE", value_parser = qp_map)]
    qp_map: Option<QpMap>,
    /// The memory of all analyses together. Beyond it, the flows that have been silent longest lose detail, such as single
    /// episodes and percentiles.
    #[arg(long, value_name = "SIZE", value_parser = units::memory, default_value = "512MiB")]
    max_memory: u64,
    /// The number of flows that are kept at a time. Beyond it, the flow that has been silent longest is evicted. Never more
    /// than fit into --max-memory.
    #[arg(long, value_name = "N", default_value_t = Options::default().max_flows, value_parser = within(1..=usize::MAX))]
    max_flows: usize,
    /// How late the network may deliver a packet. A packet that comes within this time after a later one counts as reordered,
    /// not as retransmitted, unless there is better evidence.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "50us")]
    reorder_window: u64,
    /// The order in which frames are analyzed: time, or file. By default, where times step back, the one in which more packets have
    /// the PSN that their flow expects.
    #[arg(long, value_name = "ORDER", value_parser = frame_order)]
    order: Option<FrameOrder>,
    /// The acknowledgement timeout of all queue pairs: IBTA's exponent (14), or a time (67ms). By default, the connection
    /// manager's messages state it; without them, it is estimated from round trips.
    #[arg(long, value_name = "TIMEOUT", value_parser = Options::parse_ack_timeout)]
    ack_timeout: Option<i64>,
}

impl Tracking {
    /// The options of each of so many analyses that run at the same time: they share the memory.
    pub(super) fn options(&self, analyses: usize) -> Options {
        Options {
            dissect: self.roce.options(),
            verify_icrc: self.icrc == Check::Verify,
            max_flows: self.max_flows,
            max_memory: super::memory::for_each(self.max_memory, analyses),
            reorder_window_ns: i64::try_from(self.reorder_window).unwrap_or(i64::MAX),
            ack_timeout_ns: self.ack_timeout,
            order: self.order,
            speed_bps: self.speed,
            storm: self.storm,
            qos: self.qos.clone(),
            links: self.links.clone(),
            trim: self.trim.clone(),
            connections: self.qp_map.as_ref().map_or_else(Vec::new, |map| map.0.clone()),
            ..Options::default()
        }
    }

    /// What pictures need, within the memory that the analysis may take.
    pub(super) fn timeline(&self) -> Timeline {
        Timeline::new(timeline::budget(self.options(1).max_memory), Vec::new())
    }

    /// The filter of `--filter`, if it is given.
    pub(super) fn filter(&self) -> anyhow::Result<Option<Filter>> {
        arg::filter(&self.filter)
    }

    /// Analyzes a source on this thread. Returns the analysis, and whether all of the source could be read; errors are printed.
    pub(super) fn follow(&self, source: &mut impl Captures) -> anyhow::Result<(Ended, bool)> {
        self.follow_by(Analysis::new(self.options(1)), source)
    }

    /// [`follow`](Self::follow) with a metric beside the built-in ones.
    pub(super) fn follow_with(
        &self,
        source: &mut impl Captures,
        metric: impl Metric,
    ) -> anyhow::Result<(Ended, bool)> {
        self.follow_by(Analysis::with(self.options(1), metric), source)
    }

    /// [`follow`](Self::follow) with an analysis of these options that has something more.
    pub(super) fn follow_by(
        &self,
        mut analysis: Analysis,
        source: &mut impl Captures,
    ) -> anyhow::Result<(Ended, bool)> {
        let is_all = feed(source, &self.options(1), &self.filter()?, &mut analysis);
        let files = describe(source.captures().into_iter(), analysis.frames());
        Ok((analysis.end().from(files), is_all))
    }
}

fn qos_map(path: &str) -> Result<QosMap, String> {
    QosMap::parse(&input::text(path.as_ref()).map_err(|error| error.to_string())?)
}

fn frame_order(text: &str) -> Result<FrameOrder, String> {
    let orders = [FrameOrder::Time, FrameOrder::File];
    orders.into_iter().find(|order| order.name() == text).ok_or_else(|| "expected time or file".into())
}

fn links(path: &str) -> Result<Links, String> {
    let links = Links::parse(&input::text(path.as_ref()).map_err(|error| error.to_string())?)?;
    for name in links.devices_without_links() {
        say(format_args!("warning: {path}: device.{name}: no link ends there"));
    }
    Ok(links)
}

/// The connections of a file for --qp-map.
#[derive(Clone, Debug)]
struct QpMap(Vec<KnownConnection>);

fn qp_map(path: &str) -> Result<QpMap, String> {
    let text = input::text(path.as_ref()).map_err(|error| error.to_string())?;
    KnownConnection::parse(&text).map(QpMap)
}

/// Passes all frames of a source to the analysis. Returns whether all of it could be read; errors are printed.
#[inline(never)]
pub(super) fn feed(
    source: &mut impl Source,
    options: &Options,
    filter: &Option<Filter>,
    mut to: impl Access,
) -> bool {
    let mut progress = Progress::new(source.info());
    let (mut interfaces, mut number, mut untold) = (0, 0u64, 0);
    // An analysis may go on from earlier captures.
    to.with(|analysis| number = analysis.frames());
    loop {
        let shown = match filter {
            None => source.next_batch(|record| to.with(|analysis| analysis.push(record))),
            Some(filter) => source.next_batch(|record| {
                let (d, icrc) = options.examine(record);
                number += 1;
                to.with(|analysis| push_if_matching(analysis, record, &d, icrc, filter, number));
            }),
        };
        match shown {
            // A stream ends after a signal, too.
            Ok(0) => break,
            Ok(frames) => untold += frames,
            Err(error) => {
                progress.clear();
                if !STOP.load(Ordering::Relaxed) {
                    say(format_args!("{error}"));
                }
                return false;
            }
        }
        let known = source.info().interfaces.len();
        if known != interfaces {
            let new = &source.info().interfaces[interfaces..];
            to.with(|analysis| name_interfaces(analysis, new, interfaces));
            interfaces = known;
        }
        if STOP.load(Ordering::Relaxed) {
            progress.clear();
            return false;
        }
        if untold > 0xffff {
            untold = 0;
            progress.show(source.info().bytes_read);
        }
    }
    progress.clear();
    !STOP.load(Ordering::Relaxed)
}

/// Access to an analysis, which may be shared with a second thread.
pub(super) trait Access {
    fn with(&mut self, change: impl FnOnce(&mut Analysis));
}

impl Access for &mut Analysis {
    #[inline(always)]
    fn with(&mut self, change: impl FnOnce(&mut Analysis)) {
        change(self);
    }
}

impl Access for &Mutex<Analysis> {
    fn with(&mut self, change: impl FnOnce(&mut Analysis)) {
        change(&mut self.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

pub(super) fn push_if_matching(
    analysis: &mut Analysis,
    record: &capture::Record<'_>,
    d: &Dissection<'_>,
    icrc: icrc::State,
    filter: &Filter,
    number: u64,
) {
    let meta = FrameMeta { number, time_ns: record.time.0, icrc: Some(icrc) };
    match filter.matches(d, &meta) {
        true => analysis.push_dissected(record, d, icrc),
        false => analysis.pass_over(),
    }
}

pub(super) fn name_interfaces(analysis: &mut Analysis, new: &[Interface], from: usize) {
    for (n, interface) in new.iter().enumerate() {
        let Ok(number) = u16::try_from(from + n) else { return };
        let Interface { name, speed_bps, file, .. } = interface;
        if let Some(before) = analysis.next_interface(number, name.as_deref(), *speed_bps, file.as_deref()) {
            let name = name.as_deref().unwrap_or_default();
            say(format_args!(
                "warning: interface {number} is {name} here, and was {before} in the captures before: \
                 their frames count as of one interface"
            ));
        }
    }
}
