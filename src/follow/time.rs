//! What the time of commands went to, and how that reads.

use super::{
    moving::Moving,
    progress::{Progress, Why, union},
};
use crate::{
    analyze::metric::latency::Distribution,
    in_order::InOrder,
    report::units::{duration, percent},
};

/// What the time of commands went to, in nanoseconds: the parts add up to the whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Time {
    pub(crate) latency: u64,
    /// Packets were sent again; but for those of a receiver that was not ready.
    pub(crate) recovering: u64,
    /// The part of it in which the capture shows that packets were lost.
    pub(crate) losing: u64,
    /// A receiver was not ready.
    pub(crate) not_ready: u64,
    pub(crate) data: u64,
    pub(crate) controller: u64,
    /// Who asked, where the controller or the server did: it answers.
    pub(crate) asked_back: u64,
    /// What the rest went to cannot be told: where its data is was not captured.
    pub(crate) unknown: u64,
}

/// Commands of one kind.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    pub(crate) latency: Distribution,
    pub(crate) time: Time,
    pub(crate) bytes: u64,
    /// Those of commands that failed.
    pub(crate) failed_bytes: u64,
    pub(crate) failed: u64,
    pub(crate) first: i64,
    pub(crate) last: i64,
}

impl Time {
    /// From a command's first packet to its answer, with the time of its last packet between; `moving`: when data was on its way. Recovery goes before a receiver that is not ready, that before data, data before the controller.
    pub(crate) fn cut<'a>(
        [start, sent, end]: [i64; 3],
        moving: &Moving,
        progress: impl Iterator<Item = &'a Progress>,
    ) -> Time {
        let repeated: Vec<(i64, i64, Why)> =
            progress.flat_map(|one| one.within(start, end).collect::<Vec<_>>()).collect();
        let of = |is: fn(Why) -> bool| -> Vec<(i64, i64)> {
            repeated.iter().filter(|(.., why)| is(*why)).map(|&(from, to, _)| (from, to)).collect()
        };
        let latency = end.saturating_sub(start).max(0) as u64;
        let length = |intervals: &mut Vec<(i64, i64)>| union(intervals).min(latency);
        let losing = length(&mut of(|why| why == Why::Lost));
        let mut all = of(|why| why != Why::NotReady);
        let recovering = length(&mut all);
        all.extend(of(|why| why == Why::NotReady));
        let again = length(&mut all);
        // An acknowledgement may come behind the answer.
        all.extend(moving.times().map(|(from, to)| (from.max(start), to.min(end))));
        all.push((start, sent));
        let both = length(&mut all);
        Time {
            latency,
            recovering,
            losing,
            not_ready: again - recovering,
            data: both - again,
            controller: latency - both,
            ..Time::default()
        }
    }

    /// The times of a capture may say anything: sums end at the largest number.
    pub(crate) fn add(&mut self, other: &Time) {
        let grow = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        grow(&mut self.latency, other.latency);
        grow(&mut self.recovering, other.recovering);
        grow(&mut self.losing, other.losing);
        grow(&mut self.not_ready, other.not_ready);
        grow(&mut self.asked_back, other.asked_back);
        grow(&mut self.unknown, other.unknown);
        grow(&mut self.data, other.data);
        grow(&mut self.controller, other.controller);
    }
}

impl Sums {
    /// A command that is completed: when it began, what its time went to, its bytes, and whether it failed.
    pub(crate) fn take(&mut self, start: i64, time: &Time, bytes: u64, is_failed: bool) {
        if self.latency.count() == 0 {
            self.first = start;
        }
        self.first = self.first.min(start);
        self.last = self.last.max(start.saturating_add_unsigned(time.latency));
        self.latency.add(time.latency);
        self.time.add(time);
        self.bytes = self.bytes.saturating_add(bytes);
        if is_failed {
            self.failed_bytes = self.failed_bytes.saturating_add(bytes);
        }
        self.failed += u64::from(is_failed);
    }

    /// Commands, and bytes, per second, from the first command to the last answer; `None` where that is no time.
    pub(crate) fn per_second(&self) -> [Option<f64>; 2] {
        let seconds = self.last.saturating_sub(self.first) as f64 / 1e9;
        [self.latency.count(), self.bytes].map(|n| (seconds > 0.0).then(|| n as f64 / seconds))
    }
}

/// Parts of a time as shares, the largest first, as "server 82 %, data 18 %".
pub(crate) fn shares<const N: usize>(latency_ns: u64, mut parts: [(&str, u64); N]) -> String {
    let share = |ns: u64| percent(ns as f64 / latency_ns.max(1) as f64);
    parts.order_by_key(|&(_, ns)| std::cmp::Reverse(ns));
    let shown = parts.iter().filter(|(_, ns)| *ns > 0);
    shown.map(|&(name, ns)| format!("{name} {}", share(ns))).collect::<Vec<_>>().join(", ")
}

/// What to say of who lost more than a twentieth of the time of its commands to packets that were sent again.
pub(crate) fn trouble<'a>(who: &'a str, time: &Time) -> impl Iterator<Item = String> + use<'a> {
    let Time { latency, recovering, losing, not_ready, .. } = *time;
    let say = move |ns: u64, to: &str| {
        let share = percent(ns as f64 / latency.max(1) as f64);
        (ns > latency / 20).then(|| format!("{who}: {share} of the time of its commands went to {to}"))
    };
    // What is not proved is not said.
    let why = match losing > recovering / 2 {
        true => "recovery from losses: the network, see rdmawire analyze",
        false => {
            "packets that were sent again without a NAK: they were lost behind the tap, or their acknowledgement was, or the receiver was too slow; see rdmawire analyze"
        }
    };
    let of_receiver = "a receiver that was not ready (RNR NAK): the receiving application, not the network; post receive buffers earlier";
    [say(recovering, why), say(not_ready, of_receiver)].into_iter().flatten()
}

/// What to say of a time that may be that of the network behind the tap: an acknowledgement, for which nobody works, takes a good part of what
/// `of` is said to have taken.
pub(crate) fn behind_tap(
    who: &str,
    of: &str,
    ns: u64,
    commands: u64,
    fastest_ack_ns: Option<u64>,
) -> Option<String> {
    /// An adapter needs some time for an acknowledgement.
    const LEAST_NS: u64 = 20_000;
    let fastest = fastest_ack_ns.filter(|&ns| ns >= LEAST_NS)?;
    let network = fastest.saturating_mul(commands).min(ns);
    (network > ns / 4).then(|| {
        format!(
            "{who}: up to {} of the time that {of} took, as seen here, is the network behind the tap: no command was acknowledged sooner than {} later",
            percent(network as f64 / ns.max(1) as f64),
            duration(fastest),
        )
    })
}
