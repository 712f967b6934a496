//! Microbursts as rows of the report.

use std::cmp::Reverse;

use super::{CELL_NS, Microbursts, WINDOWS, burst::MAX_LISTED, receiver::Receiver};
use crate::{
    analyze::metric::bit_rate,
    in_order::InOrder,
    report::{self, BurstEffect, BurstSender, LinkPeaks, Microburst, Reason},
};

impl Microbursts {
    /// The report's section. `tick_ns`: the step of the capture's clock.
    pub(crate) fn section(&self, tick_ns: u64) -> report::Microbursts {
        let mut ended = self.clone();
        ended.finish();
        ended.found.keep_largest();
        ended.rows(tick_ns)
    }

    fn rows(&self, tick_ns: u64) -> report::Microbursts {
        let speed = self.speed_bps;
        // Ten steps of the clock must fit into a window.
        let is_fine = |window: u32| tick_ns.saturating_mul(10) <= window as u64 * CELL_NS as u64;
        let mut section = report::Microbursts { speed_bps: speed, ..report::Microbursts::default() };
        let reason = match (is_fine(WINDOWS[0]), speed) {
            (false, _) => Some(Reason::CoarseTimes),
            (true, None) => Some(Reason::UnknownSpeed),
            (true, Some(_)) => None,
        };
        match reason {
            Some(reason) => {
                section.why.insert("count".into(), reason);
            }
            None => {
                section.threshold_bps = speed.map(|speed| speed / 2);
                section.count = Some(self.found.count);
                section.other_bursts = Some(self.found.others);
                section.followed = Some(self.found.with_any);
                section.followed_by = effects(&self.found.with);
                section.bursts = self.found.all.iter().map(|one| self.row(one, speed)).collect();
            }
        }
        if self.are_too_many {
            section.why.insert("receivers".into(), Reason::MemoryLimit);
        }
        let mut order: Vec<usize> =
            (0..self.receivers.len()).filter(|&at| self.receivers[at].all_bytes() > 0).collect();
        order.order_by_key(|&at| (Reverse(self.receivers[at].all_bytes()), at));
        section.receiver_count = order.len() as u64;
        let has_peak = |window: u32| speed.is_some() && is_fine(window);
        let peaks = |at: usize| self.peaks(at as u32, &self.receivers[at], speed, has_peak, reason.is_none());
        section.receivers = order.into_iter().take(MAX_LISTED).map(peaks).collect();
        if let Some(window) = WINDOWS.iter().find(|&&window| !has_peak(window)) {
            let reason = if is_fine(*window) { Reason::UnknownSpeed } else { Reason::CoarseTimes };
            section.why.insert(format!("peak_{window}us_bps").into(), reason);
        }
        section
    }

    fn row(&self, one: &super::burst::One, speed: Option<u64>) -> Microburst {
        let burst = &one.burst;
        let [peak_10us_bps, peak_100us_bps, peak_1ms_bps] = rates(burst.peaks);
        Microburst {
            receiver: self.numbers.name(one.receiver),
            start_ns: burst.start_ns,
            duration_ns: burst.duration(),
            bytes: burst.bytes,
            peak_10us_bps,
            peak_100us_bps,
            peak_1ms_bps,
            peak_ratio: speed.map(|speed| peak_10us_bps as f64 / speed as f64),
            mean_bps: one.mean_bps,
            flows: burst.flow_count,
            senders: burst.sender_count,
            largest_senders: burst
                .senders
                .iter()
                .map(|sender| BurstSender {
                    src: self.numbers.name(sender.number),
                    bytes: sender.bytes,
                    flows: sender.flows,
                })
                .collect(),
            followed_by: effects(&burst.effects),
        }
    }

    fn peaks(
        &self,
        at: u32,
        receiver: &Receiver,
        speed: Option<u64>,
        has_peak: impl Fn(u32) -> bool,
        are_known: bool,
    ) -> LinkPeaks {
        let rates = rates(receiver.windows.peaks());
        let peak = |n: usize| Some(rates[n]).filter(|_| has_peak(WINDOWS[n]));
        let lasted = receiver.last.saturating_sub(receiver.first);
        LinkPeaks {
            receiver: self.numbers.name(at),
            wire_bytes: receiver.all_bytes(),
            mean_bps: (lasted > 0).then(|| bit_rate(receiver.all_bytes(), lasted as u64)),
            peak_10us_bps: peak(0),
            peak_100us_bps: peak(1),
            peak_1ms_bps: peak(2),
            peak_ratio: peak(0).zip(speed).map(|(peak, speed)| peak as f64 / speed as f64),
            bursts: are_known.then_some(receiver.bursts),
        }
    }
}

fn rates(bytes: [u64; 3]) -> [u64; 3] {
    std::array::from_fn(|n| bit_rate(bytes[n], WINDOWS[n] as u64 * CELL_NS as u64))
}

fn effects(counts: &[u64]) -> std::collections::BTreeMap<BurstEffect, u64> {
    let counted = BurstEffect::ALL
        .into_iter()
        .map(|effect| (effect, counts.get(effect as usize).copied().unwrap_or(0)));
    counted.filter(|&(_, n)| n > 0).collect()
}
