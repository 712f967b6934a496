//! The evidence for a share, as a sentence.

use super::{TimeBudget, rows::Throttled};
use crate::{
    analyze::{metric::FlowActivity, model::Space, network::Network},
    report::{
        TimeCause,
        units::{bits, duration, priority, several},
    },
};

/// All that is known of a flow's time.
pub(super) struct Evidence<'a> {
    pub(super) network: &'a Network,
    /// Incast periods in the capture.
    pub(super) incasts: usize,
    pub(super) budget: &'a TimeBudget,
    pub(super) activity: FlowActivity,
    pub(super) throttled: Option<Throttled>,
}

impl Evidence<'_> {
    pub(super) fn of(&self, cause: TimeCause) -> String {
        let Evidence { budget, activity, .. } = self;
        let is_data = budget.space == Space::Response;
        let rtt = activity.rtt_ns.map_or_else(|| "not known".to_owned(), |ns| duration(ns.into()));
        let longest = duration(budget.longest[cause as usize].0);
        let times = several(budget.times[cause as usize].max(1).into(), "time");
        match cause {
            TimeCause::Sending => "its packets followed each other at their usual pace".into(),
            TimeCause::Idle if is_data => {
                format!("no READ was outstanding, and the next one came later: {times}, {longest} at most")
            }
            TimeCause::Idle => format!(
                "nothing was outstanding, or no answer was needed, and the next message came later: {times}, {longest} at most"
            ),
            TimeCause::Waiting if is_data => format!(
                "all READs were answered, and the next one came at once; from it to its data: {times}, {longest} at most; the shortest round trip is {rtt}"
            ),
            TimeCause::Waiting => format!(
                "silent until an acknowledgement came: {times}, {longest} at most; the shortest round trip is {rtt}"
            ),
            TimeCause::Paused => format!("silent during pauses{}: {times}, {longest} at most", self.source()),
            TimeCause::Throttled => self.cnps(),
            TimeCause::Recovering => {
                let triggers = [
                    (activity.timeouts, "timeout"),
                    (activity.naks, "NAK"),
                    (activity.repeated_reads, "repeated READ"),
                ];
                let seen = triggers.into_iter().filter(|&(n, _)| n > 0).map(|(n, what)| several(n, what));
                seen.chain([format!("the longest silence {longest}")]).collect::<Vec<_>>().join(", ")
            }
            TimeCause::NotReady => {
                let waits = several(activity.rnr, "wait");
                format!("{waits} until the packet was retransmitted, {longest} at most")
            }
            TimeCause::ReceiverSlow => format!(
                "acknowledgements took much longer than the shortest round trip, {rtt}, and no link was full, nothing marked or paused"
            ),
            TimeCause::ResponderSlow => format!(
                "{}: the data came much later after the READ than the shortest round trip, {rtt}, and no link was full, nothing marked or paused",
                several(budget.late.1.max(1).into(), "time")
            ),
            TimeCause::LinkFull => format!(
                "the link of its source or destination was full, and shared; {} in the capture",
                several(self.incasts as u64, "incast period")
            ),
            TimeCause::Unknown if self.network.pauses_untimed(budget.flow, budget.place) => format!(
                "silent with packets outstanding, perhaps in pauses: how long these held needs the link's speed (--speed): {times}, {longest} at most"
            ),
            TimeCause::Unknown => format!(
                "silent with packets outstanding, and no answer, pause or CNP explains it: {times}, {longest} at most"
            ),
        }
    }

    /// Whose pause stopped it longest.
    fn source(&self) -> String {
        let source = self.budget.paused_by.and_then(|number| self.network.pauses.source(number));
        source.map_or_else(String::new, |source| match source.one_priority() {
            None => format!(" of {}, of {}", source.sender, priority(None)),
            number => format!(" of {}, {}", source.sender, priority(number)),
        })
    }

    fn cnps(&self) -> String {
        let cnps = several(self.budget.cnps, "CNP");
        self.throttled.map_or(cnps.clone(), |Throttled { before_bps, after_bps }| {
            let [before, after] = [before_bps, after_bps].map(|bps| bits(bps as f64));
            format!("{cnps}; {before} before the first one, {after} after it")
        })
    }
}
