//! From sums to rows: shares of a flow's time, what they stand on, and what pauses did.

use std::{borrow::Cow, cmp::Reverse, collections::BTreeMap};

use super::{
    super::Context,
    CAUSES, OfFlow, TimeBudget, Verdicts,
    evidence::Evidence,
    opposed::{Silent, effect_on},
    stops::Stopped,
};
use crate::{
    analyze::{
        metric::{FlowActivity, bit_rate, incast::Judged},
        model::{FlowId, Space},
        network::{Network, pause::PauseRows},
    },
    in_order::InOrder,
    report::{self, Confidence, PauseEffect, PauseVictim, Reason, SlowFlow, TimeCause, TimeShare},
};

/// Slow flows that are listed.
const MAX_LISTED: usize = 1024;
/// Flows that are named for each culprit of pauses.
const MAX_VICTIMS: usize = 64;
/// A flow with fewer packets, or a shorter life, is too short to be slow.
const MIN_PACKETS: u64 = 16;
const MIN_NS: u64 = 20_000;
/// A flow that sends for a larger share of its time is not slow: so many hundredths.
const BUSY: u128 = 80;
/// A rate before the first CNP needs so much time and so many bytes.
const MIN_BEFORE_NS: u64 = 5_000;
const MIN_BEFORE_BYTES: u64 = 8_192;

/// The flows that are slow, and what pauses did.
#[derive(Debug, Default)]
pub(crate) struct SlowFlows {
    /// Those that lost most to trouble first.
    pub(crate) flows: Vec<SlowFlow>,
    pub(crate) count: u64,
    /// Why some flows are missing.
    pub(crate) why: Option<Reason>,
    /// What pauses did, by the number of their source, or why that is not known.
    pub(crate) effects: Vec<Result<PauseEffect, Reason>>,
    /// The flows that pauses stopped, by the culprit's place in the tree: their number, and those that were stopped longest.
    pub(crate) victims: BTreeMap<usize, (u64, Vec<PauseVictim>)>,
}

impl Verdicts {
    /// The section. `incast` knows when links were full, and `incasts` is how often; `pauses`: the rows that effects are for.
    pub(crate) fn section(
        &self,
        context: &Context<'_>,
        (incast, incasts): (&Judged, usize),
        pauses: &PauseRows,
    ) -> SlowFlows {
        let judge = Judge { verdicts: self, context, network: context.network, incast, incasts, pauses };
        judge.section()
    }
}

/// What flows are judged by.
struct Judge<'a, 'c> {
    verdicts: &'a Verdicts,
    context: &'a Context<'c>,
    network: &'a Network,
    incast: &'a Judged,
    /// Times of incast in the capture.
    incasts: usize,
    pauses: &'a PauseRows,
}

/// A flow that may be slow, and what is known of it.
struct Judging<'a> {
    /// Its place in the report.
    flow: usize,
    activity: FlowActivity,
    budget: Cow<'a, TimeBudget>,
}

impl TimeBudget {
    /// When its time ended: with its last packet or answer, or with the capture if a pause holds it then.
    fn end(&self, activity: FlowActivity) -> i64 {
        let last = activity.last_request_ns.max(activity.last_answer_ns);
        self.held_until.map_or(last, |until| until.max(last))
    }
}

/// What the time of a flow went to, and what it is known from.
struct Weighed {
    lasted_ns: u64,
    ns: [u64; CAUSES],
    budget: TimeBudget,
    throttled: Option<Throttled>,
}

impl Weighed {
    fn is_slow(&self) -> bool {
        u128::from(self.ns[TimeCause::Sending as usize]) * 100 < u128::from(self.lasted_ns) * BUSY
    }

    fn lost_ns(&self) -> u64 {
        let trouble = TimeCause::ALL.into_iter().filter(|cause| cause.is_trouble());
        trouble.map(|cause| self.ns[cause as usize]).sum()
    }
}

/// A slow flow: those that lost most come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Slow {
    lost_ns: Reverse<u64>,
    lasted_ns: Reverse<u64>,
    /// Its place in the report.
    flow: usize,
    /// It is about its READ data.
    is_data: bool,
    id: FlowId,
}

impl Judge<'_, '_> {
    fn section(&self) -> SlowFlows {
        let mut section = SlowFlows {
            why: (self.verdicts.not_kept > 0).then_some(Reason::MemoryLimit),
            ..SlowFlows::default()
        };
        // Rows are for those that are listed: they take longer than the flows' packets.
        let mut slow = Vec::new();
        let mut silent = vec![Vec::new(); self.network.pauses.source_count()];
        for space in [Space::Request, Space::Response] {
            for (id, of_flow) in self.verdicts.flows[space as usize].iter() {
                let Some(judging) = self.judging(id, space, of_flow) else { continue };
                self.note_stopped(&judging, &mut section, &mut silent);
                let Some(weighed) = self.weigh(&judging).filter(Weighed::is_slow) else { continue };
                section.count += 1;
                slow.push(Slow {
                    lost_ns: Reverse(weighed.lost_ns()),
                    lasted_ns: Reverse(weighed.lasted_ns),
                    flow: judging.flow,
                    is_data: space == Space::Response,
                    id,
                });
                if slow.len() >= 2 * MAX_LISTED {
                    slow.select_nth_unstable(MAX_LISTED);
                    slow.truncate(MAX_LISTED);
                }
            }
        }
        let effects = (0..).zip(&silent).map(|(source, flows)| effect_on(flows, source, self.network));
        section.effects = effects.collect();
        section.victims.values_mut().for_each(|(_, flows)| keep_longest(flows));
        slow.sort_unstable();
        slow.truncate(MAX_LISTED);
        section.flows = slow.iter().filter_map(|slow| self.row(slow)).collect();
        section
    }

    /// A flow that pauses stopped: counts it for their sources, in `silent`, and names it at the culprits of these pauses.
    fn note_stopped(&self, judging: &Judging<'_>, section: &mut SlowFlows, silent: &mut [Vec<Silent>]) {
        let &Judging { flow, activity, ref budget } = judging;
        let mut culprits: BTreeMap<usize, (bool, u64)> = BTreeMap::new();
        for stopped in budget.stops.iter() {
            let Some(source) = self.network.pauses.source(stopped.source) else { continue };
            let position = self.pauses.positions.get(source);
            let is_from_there =
                position.is_some_and(|position| position.come_from_pausing(activity.src, activity.dst));
            let is_stopped = !is_from_there && stopped.ns > 0 && self.is_honored(stopped, budget, activity);
            // A pause of the acknowledgements stops nothing of the flow, but it is why the sender's timer expired.
            if !is_stopped && stopped.timeouts == 0 {
                continue;
            }
            // Clocks that are apart may show it silent on one link for longer than its pauses were.
            let stopped = stopped.for_at_most(self.paused_ns(stopped, budget, activity));
            if let Some(silent) = silent.get_mut(usize::from(stopped.source)) {
                silent.push(Silent { src: activity.src, dst: activity.dst, stopped });
            }
            // A source may have pauses of its own and such that others caused: each culprit stopped the flow for as long as its own held.
            let end = budget.end(activity);
            let mut of_source: BTreeMap<usize, (bool, u64)> = BTreeMap::new();
            for share in position.map_or(&[][..], |position| &position.culprits) {
                let ns = share.between(stopped.start, end);
                if ns > 0 {
                    let (is_direct, sum) = of_source.entry(share.culprit).or_default();
                    (*is_direct, *sum) = (*is_direct || share.is_own, sum.saturating_add(ns));
                }
            }
            for (culprit, (is_own, ns)) in of_source {
                let (is_direct, longest) = culprits.entry(culprit).or_default();
                (*is_direct, *longest) = (*is_direct || is_own, stopped.ns.min(ns).max(*longest));
            }
        }
        for (culprit, (is_direct, stopped_ns)) in culprits {
            let (count, flows) = section.victims.entry(culprit).or_default();
            *count += 1;
            let (src, dst, dest_qp) = (activity.src.to_string(), activity.dst.to_string(), activity.dest_qp);
            let goes_to_culprit = self.pauses.goes_to(culprit, activity.dst);
            flows.push(PauseVictim { flow, src, dst, dest_qp, is_direct, goes_to_culprit, stopped_ns });
            if flows.len() >= 2 * MAX_VICTIMS {
                keep_longest(flows);
            }
        }
    }

    /// A flow that sends in most of the pauses goes the other way, or does not honor them: it is silent in the others for other reasons.
    fn is_honored(&self, stopped: &Stopped, budget: &TimeBudget, activity: FlowActivity) -> bool {
        u128::from(stopped.ns) * 2 >= u128::from(self.paused_ns(stopped, budget, activity))
    }

    /// How long a source paused its link while a flow ran.
    fn paused_ns(&self, stopped: &Stopped, budget: &TimeBudget, activity: FlowActivity) -> u64 {
        let paused = self.pauses.paused.get(usize::from(stopped.source));
        paused.map_or(0, |paused| paused.between(stopped.start, budget.end(activity)))
    }

    /// What is known of the time of a flow's requests, or of its data; `None` if it cannot be slow, or its connection is judged by the
    /// other.
    fn judging(&self, id: FlowId, space: Space, of_flow: &OfFlow) -> Option<Judging<'_>> {
        let silent = of_flow.early.silent_ns();
        let known = self.verdicts.budgets.get(of_flow.budget as usize);
        // Few silences that are short make no flow slow, nor does a link that was full for a short time.
        let full = self.incast.least_full_ns(id);
        let not_alone = u128::from(silent.saturating_add(full));
        if known.is_none() && not_alone * 100 < u128::from(MIN_NS) * (100 - BUSY) {
            return None;
        }
        let (flow, detail) = self.context.flow(id).zip(self.context.detail(id))?;
        let peer_bytes = |space| flow.peer.map_or(0, |peer| self.verdicts.bytes(peer, space));
        // A connection is judged by what most of its bytes are: READ data, or requests of the end that asks for it.
        let activity = match space {
            Space::Request if peer_bytes(Space::Response) > of_flow.bytes => return None,
            Space::Request => detail.activity,
            Space::Response if peer_bytes(Space::Request) >= of_flow.bytes => return None,
            Space::Response => detail.data?,
        };
        let early = || {
            let (start, early) = (activity.start_ns, of_flow.early);
            let mut budget = TimeBudget::new(id, space, start);
            if early.start == start {
                early.add_to(&mut budget);
                budget.tag = early.tag;
                budget.place = (early.interface, self.network.priorities.of(early.tag));
                budget.asked_before = self.network.asked_ns(id, budget.place, start);
            }
            Cow::Owned(budget)
        };
        let budget = known.map_or_else(early, Cow::Borrowed);
        let budget = self.corrected(budget);
        Some(Judging { flow: flow.index, activity, budget })
    }

    /// With the priority that the last map gives it.
    fn corrected<'b>(&self, budget: Cow<'b, TimeBudget>) -> Cow<'b, TimeBudget> {
        let (interface, priority) = (budget.place.0, self.network.priorities.of(budget.tag));
        if budget.tag == 0 || budget.place.1 == priority {
            return budget;
        }
        let mut budget = budget.into_owned();
        budget.change_priority(priority);
        budget.place = (interface, priority);
        Cow::Owned(budget)
    }

    /// What the time of a flow went to; `None` if that cannot be known, or is too short.
    fn weigh(&self, judging: &Judging<'_>) -> Option<Weighed> {
        let &Judging { activity, ref budget, .. } = judging;
        let end = budget.end(activity);
        let lasted_ns = u64::try_from(end.checked_sub(activity.start_ns)?).ok()?;
        if !activity.hears
            || activity.packets < MIN_PACKETS
            || lasted_ns < MIN_NS
            || budget.start != activity.start_ns
        {
            return None;
        }
        let budget = self.with_tail(budget, activity);
        let bytes = self.verdicts.bytes(budget.flow, budget.space);
        let (ns, throttled) = self.causes(&budget, activity, (lasted_ns, end), bytes)?;
        Some(Weighed { lasted_ns, ns, budget, throttled })
    }

    /// The row of a flow that is listed.
    fn row(&self, &Slow { id, is_data, .. }: &Slow) -> Option<SlowFlow> {
        let space = if is_data { Space::Response } else { Space::Request };
        let judging = self.judging(id, space, self.verdicts.flows[space as usize].get(id)?)?;
        let weighed = self.weigh(&judging)?;
        let lost_ns = weighed.lost_ns();
        let Judging { flow, activity, .. } = judging;
        let Weighed { lasted_ns, ns, budget, throttled } = &weighed;
        let (network, incasts) = (self.network, self.incasts);
        let evidence = Evidence { network, incasts, budget, activity, throttled: *throttled };
        let share = |cause: TimeCause| {
            let (_, frame) = budget.longest[cause as usize];
            TimeShare {
                cause,
                ns: ns[cause as usize],
                ratio: ns[cause as usize] as f64 / *lasted_ns as f64,
                confidence: confidence(cause),
                evidence: evidence.of(cause),
                frame: Some(frame).filter(|&frame| frame > 0 && cause != TimeCause::Sending),
            }
        };
        let spent_on = TimeCause::ALL.into_iter().filter(|&cause| ns[cause as usize] > 0);
        let mut shares: Vec<TimeShare> = spent_on.map(share).collect();
        shares.order_by_key(|share| (Reverse(share.ns), share.cause));
        let not_sending = lasted_ns - ns[TimeCause::Sending as usize];
        let main = shares.iter().find(|share| share.cause != TimeCause::Sending);
        let verdict = main.filter(|main| main.ns * 2 >= not_sending).map(|main| main.cause);
        let bytes = self.verdicts.bytes(id, space);
        Some(SlowFlow {
            flow,
            src: activity.src.to_string(),
            dst: activity.dst.to_string(),
            dest_qp: activity.dest_qp,
            space: if is_data { report::Space::Response } else { report::Space::Request },
            lasted_ns: *lasted_ns,
            wire_bytes: bytes,
            rate_bps: bit_rate(bytes, *lasted_ns),
            verdict,
            lost_ns,
            shares,
        })
    }

    /// With the time behind the last packet, in which it waited for the last answer, or for the end of a pause.
    fn with_tail(&self, budget: &TimeBudget, activity: FlowActivity) -> TimeBudget {
        let (from, to) = (activity.last_request_ns, budget.end(activity));
        let (mut budget, mut stops, mut left) = (budget.clone(), Vec::new(), to.saturating_sub(from));
        self.network.stops_within(budget.flow, budget.place, (from, to), &mut stops);
        let mut until = from;
        for stop in &stops {
            let ns = stop.to.saturating_sub(stop.from.max(until)).max(0);
            until = until.max(stop.to);
            budget.add(TimeCause::Paused, ns, from, 0);
            budget.paused_from[TimeCause::Waiting as usize] += ns as u64;
            budget.paused_by = budget.paused_by.or(Some(stop.source));
            left -= ns;
        }
        budget.add(TimeCause::Waiting, left, from, 0);
        budget
    }

    /// The time of a flow by cause: what the silences say, corrected by what no single one shows.
    fn causes(
        &self,
        budget: &TimeBudget,
        activity: FlowActivity,
        (lasted, end): (u64, i64),
        bytes: u64,
    ) -> Option<([u64; CAUSES], Option<Throttled>)> {
        let mut ns = budget.ns;
        let paused = ns[TimeCause::Paused as usize];
        let asked = self.network.asked_ns(budget.flow, budget.place, end);
        let asked = asked.saturating_sub(budget.asked_before).max(0) as u64;
        // A flow that sends in most of the pauses does not honor them: it is silent in the others for other reasons.
        if paused > 0 && paused * 2 < asked.min(lasted) {
            ns[TimeCause::Paused as usize] = 0;
            for (ns, back) in ns.iter_mut().zip(budget.paused_from) {
                *ns = ns.saturating_add(back);
            }
        }
        // Silences lie within its time: what is left is sending.
        ns[TimeCause::Sending as usize] += lasted.checked_sub(sum(&ns))?;
        let throttled = throttle(budget, &mut ns, lasted, end, bytes);
        let full = self.incast.full_ns(budget.flow);
        if full == Some(0) && budget.cnps == 0 && paused == 0 {
            let late = budget.late_ns(activity.rtt_ns.map_or(0, u64::from));
            let whose = match budget.space {
                Space::Request => TimeCause::ReceiverSlow,
                Space::Response => TimeCause::ResponderSlow,
            };
            shift(&mut ns, TimeCause::Waiting, whose, late);
        }
        let full = self.incast.least_full_ns(budget.flow);
        let sending = shift(&mut ns, TimeCause::Sending, TimeCause::LinkFull, full);
        shift(&mut ns, TimeCause::Waiting, TimeCause::LinkFull, full - sending);
        Some((ns, throttled))
    }
}

/// The sum of times that may be anything.
fn sum(ns: &[u64]) -> u64 {
    ns.iter().fold(0, |sum, &ns| sum.saturating_add(ns))
}

/// Gives a part of one cause's time to another one, as far as there is so much. Returns how much.
fn shift(ns: &mut [u64; CAUSES], from: TimeCause, to: TimeCause, most: u64) -> u64 {
    let part = most.min(ns[from as usize]);
    ns[from as usize] -= part;
    ns[to as usize] += part;
    part
}

fn keep_longest(flows: &mut Vec<PauseVictim>) {
    flows.order_by_key(|flow| (Reverse(flow.stopped_ns), flow.flow, flow.is_direct));
    flows.truncate(MAX_VICTIMS);
}

fn confidence(cause: TimeCause) -> Confidence {
    match cause {
        TimeCause::Recovering | TimeCause::NotReady => Confidence::Certain,
        TimeCause::Sending | TimeCause::Paused | TimeCause::Waiting => Confidence::Likely,
        _ => Confidence::Possible,
    }
}

/// The rates before and after the first CNP, while it had something to send.
#[derive(Clone, Copy)]
pub(super) struct Throttled {
    pub(super) before_bps: u64,
    pub(super) after_bps: u64,
}

/// Takes what the sender lost by CNPs: the time beyond what its bytes would have taken at the rate before the first one.
fn throttle(
    budget: &TimeBudget,
    ns: &mut [u64; CAUSES],
    lasted: u64,
    end: i64,
    bytes: u64,
) -> Option<Throttled> {
    /// Times that CNPs do not change.
    const APART: [TimeCause; 4] =
        [TimeCause::Idle, TimeCause::Paused, TimeCause::Recovering, TimeCause::NotReady];
    let ((since, bytes_before), notified) = (budget.first_cnp?, &budget.notified);
    let after = u64::try_from(end.saturating_sub(since)).ok()?.min(lasted);
    let apart = |ns: &[u64; CAUSES]| sum(&APART.map(|cause| ns[cause as usize]));
    let active_after = after.saturating_sub(apart(notified));
    let active_before = (lasted - after).saturating_sub(apart(ns).saturating_sub(apart(notified)));
    if active_before < MIN_BEFORE_NS || bytes_before < MIN_BEFORE_BYTES || active_after == 0 {
        return None;
    }
    let bytes_after = bytes.saturating_sub(bytes_before);
    let needed = bytes_after as u128 * active_before as u128 / bytes_before as u128;
    let mut lost = u64::try_from((active_after as u128).saturating_sub(needed)).unwrap_or(u64::MAX);
    let rates = Throttled {
        before_bps: bit_rate(bytes_before, active_before),
        after_bps: bit_rate(bytes_after, active_after),
    };
    // A rate that varies by a tenth is no reaction.
    if (lost as u128) * 10 < active_after as u128 {
        return None;
    }
    let silent = sum(notified);
    let sending = notified[TimeCause::Sending as usize] + after.saturating_sub(silent);
    for (cause, most) in [
        (TimeCause::Sending, sending),
        (TimeCause::Unknown, notified[TimeCause::Unknown as usize]),
        (TimeCause::Waiting, notified[TimeCause::Waiting as usize]),
    ] {
        lost -= shift(ns, cause, TimeCause::Throttled, lost.min(most));
    }
    Some(rates)
}
