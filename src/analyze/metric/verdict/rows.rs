//! From sums to rows: shares of a flow's time, what they stand on, and what pauses did.

use std::{borrow::Cow, cmp::Reverse, collections::BTreeMap};

use super::{super::Context, CAUSES, OfFlow, Spent, Verdicts};
use crate::{
    analyze::{
        metric::{Spell, bit_rate, pause::Told, pause_tree::Stands},
        model::{FlowId, Space},
    },
    report::{
        self, Confidence, PauseTree, PauseVictim, Reason, SlowFlow, TimeCause, TimeShare,
        units::{bits, duration, priority, several},
    },
    wire::Mac,
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

impl Verdicts {
    /// The flows that are slow, and what pauses did.
    pub(super) fn report(&self, told: &Told, context: &Context<'_>, head: &mut report::Head) {
        let mut slow = Vec::new();
        let mut stopped = vec![(0u64, 0u64); self.pause.askers()];
        for space in [Space::Request, Space::Response] {
            for (id, of_flow) in self.flows[space as usize].iter() {
                let Some((spent, row)) = self.judged(id, space, of_flow, context, head) else { continue };
                let is_stopped = row.shares.iter().any(|share| share.cause == TimeCause::Paused);
                if let (true, Some(stands), Some(tree)) = (is_stopped, &told.stands, &mut head.pause_tree) {
                    self.victim(&row, &spent, stands, tree);
                }
                for (by, ns) in spent.stopped.iter().filter(|_| is_stopped) {
                    if let Some((flows, longest)) = stopped.get_mut(*by as usize) {
                        (*flows, *longest) = (*flows + 1, (*longest).max(*ns));
                    }
                }
                if sending(&row) * 100 < row.lasted_ns as u128 * BUSY {
                    head.slow_flow_count += 1;
                    slow.push(row);
                }
                if slow.len() >= 2 * MAX_LISTED {
                    keep_worst(&mut slow);
                }
            }
        }
        for culprit in head.pause_tree.iter_mut().flat_map(|tree| &mut tree.culprits) {
            keep_longest(&mut culprit.flows);
        }
        keep_worst(&mut slow);
        head.slow_flows = slow;
        if self.not_kept > 0 {
            head.why.insert("slow_flows".into(), Reason::MemoryLimit);
        }
        self.pauses(&told.numbers, &stopped, head);
    }

    /// Names a flow that pauses stopped, at the culprits of these pauses.
    fn victim(
        &self,
        row: &SlowFlow,
        spent: &Spent,
        stands: &BTreeMap<(u16, Mac, u8), Stands>,
        tree: &mut PauseTree,
    ) {
        let mut stopped: BTreeMap<(usize, bool), u64> = BTreeMap::new();
        for &(by, ns) in spent.stopped.iter().filter(|(_, ns)| *ns > 0) {
            let Some(asker) = self.pause.asker(by) else { continue };
            for &of in stands.get(&asker.key()).map_or(&[][..], |stands| &stands.of) {
                *stopped.entry(of).or_default() += ns;
            }
        }
        for ((at, is_direct), stopped_ns) in stopped {
            let Some(culprit) = tree.culprits.get_mut(at) else { continue };
            culprit.flow_count += 1;
            let SlowFlow { flow, ref src, ref dst, dest_qp, .. } = *row;
            let (src, dst) = (src.clone(), dst.clone());
            culprit.flows.push(PauseVictim { flow, src, dst, dest_qp, is_direct, stopped_ns });
            if culprit.flows.len() >= 2 * MAX_VICTIMS {
                keep_longest(&mut culprit.flows);
            }
        }
    }

    /// What the time of a flow's requests, or of its data, went to; `None` if it cannot be slow, or that cannot be known.
    fn judged(
        &self,
        id: FlowId,
        space: Space,
        of_flow: &OfFlow,
        context: &Context<'_>,
        head: &report::Head,
    ) -> Option<(Spent, SlowFlow)> {
        let silent: u64 = of_flow.early.ns.iter().sum();
        let known = self.spent.get(of_flow.spent as usize);
        // Few silences that are short make no flow slow, nor does a link that was full for a short time.
        let full = self.incast.full_ns(id).unwrap_or(0);
        let not_alone = u128::from(silent.saturating_add(full));
        if known.is_none() && not_alone * 100 < u128::from(MIN_NS) * (100 - BUSY) {
            return None;
        }
        let (flow, detail) = context.flow(id).zip(context.detail(id))?;
        let peer_bytes = |space| flow.peer.map_or(0, |peer| self.bytes(peer, space));
        // A connection is judged by what most of its bytes are: READ data, or requests of the end that asks for it.
        let spell = match space {
            Space::Request if peer_bytes(Space::Response) > of_flow.bytes => return None,
            Space::Request => detail.spell,
            Space::Response if peer_bytes(Space::Request) >= of_flow.bytes => return None,
            Space::Response => detail.data?,
        };
        let early = || {
            let mut early = Spent::new(id, space, spell.start_ns);
            of_flow.early.add_to(&mut early);
            Cow::Owned(early)
        };
        let spent = known.map_or_else(early, Cow::Borrowed);
        let spent = self.corrected(&spent).into_owned();
        let row = self.row(&spent, flow.index, spell, head)?;
        Some((spent, row))
    }

    /// What pauses did, in their rows.
    fn pauses(&self, numbers: &[Option<u8>], stopped: &[(u64, u64)], head: &mut report::Head) {
        for (pause, number) in head.pause.iter_mut().flatten().zip(numbers) {
            if pause.paused_ns.is_none() {
                pause.why.insert("effect".into(), Reason::UnknownSpeed);
                continue;
            }
            let at = number.map_or(usize::MAX, usize::from);
            let effect = self.effects.get(at).copied().unwrap_or_default();
            let did = stopped.get(at).filter(|(flows, _)| *flows > 0);
            pause.effect = Some(did.map_or_else(Default::default, |&(flows, longest)| report::PauseEffect {
                flows,
                effective_ns: longest,
                messages_stopped: effect.messages,
                messages_spanning: effect.spanning,
                timeouts: effect.timeouts,
                retransmits: effect.resent,
            }));
        }
    }

    /// What the time of a flow went to; `None` if that cannot be known, or is too short.
    fn row(&self, spent: &Spent, flow: usize, spell: Spell, head: &report::Head) -> Option<SlowFlow> {
        let end = spell.last_request_ns.max(spell.last_answer_ns);
        let lasted = u64::try_from(end.checked_sub(spell.start_ns)?).ok()?;
        if !spell.hears || spell.packets < MIN_PACKETS || lasted < MIN_NS || spent.start != spell.start_ns {
            return None;
        }
        let spent = &self.with_tail(spent, spell);
        let mut ns = spent.ns;
        let notified = spent.notified;
        let paused = ns[TimeCause::Paused as usize];
        let asked = self.pause.asked_ns(spent.place, end).saturating_sub(spent.asked_before).max(0) as u64;
        // A flow that sends in most of the pauses does not honor them: it is silent in the others for other reasons.
        if paused > 0 && paused * 2 < asked.min(lasted) {
            ns[TimeCause::Paused as usize] = 0;
            for (ns, back) in ns.iter_mut().zip(spent.paused_from) {
                *ns += back;
            }
        }
        // Silences lie within its time: what is left is sending.
        let known = ns.iter().fold(0u64, |sum, &ns| sum.saturating_add(ns));
        ns[TimeCause::Sending as usize] += lasted.checked_sub(known)?;
        let bytes = self.bytes(spent.flow, spent.space);
        let throttled = throttle(spent, &mut ns, &notified, lasted, end, bytes);
        let full = self.incast.full_ns(spent.flow);
        let is_marked = spent.cnps > 0;
        if full == Some(0) && !is_marked && paused == 0 {
            let late = spent.late_ns(spell.rtt_ns.map_or(0, u64::from));
            let late = late.min(ns[TimeCause::Waiting as usize]);
            ns[TimeCause::Waiting as usize] -= late;
            let whose = match spent.space {
                Space::Request => TimeCause::ReceiverSlow,
                Space::Response => TimeCause::ResponderSlow,
            };
            ns[whose as usize] += late;
        }
        let mut full = full.unwrap_or(0);
        for cause in [TimeCause::Sending, TimeCause::Waiting] {
            let part = full.min(ns[cause as usize]);
            ns[cause as usize] -= part;
            ns[TimeCause::LinkFull as usize] += part;
            full -= part;
        }
        let mut shares: Vec<TimeShare> = TimeCause::ALL
            .into_iter()
            .filter(|cause| ns[*cause as usize] > 0)
            .map(|cause| {
                let (_, frame) = spent.longest[cause as usize];
                let frame = if cause == TimeCause::Sending { 0 } else { frame };
                TimeShare {
                    cause,
                    ns: ns[cause as usize],
                    ratio: ns[cause as usize] as f64 / lasted as f64,
                    confidence: confidence(cause),
                    evidence: self.evidence(spent, cause, spell, throttled, head),
                    frame: Some(frame).filter(|&frame| frame > 0),
                }
            })
            .collect();
        shares.sort_by_key(|share| (Reverse(share.ns), share.cause));
        let not_sending = lasted - ns[TimeCause::Sending as usize];
        let main = shares.iter().find(|share| share.cause != TimeCause::Sending);
        let cause = main.filter(|main| main.ns * 2 >= not_sending).map(|main| main.cause);
        let lost = shares.iter().filter(|share| share.cause.is_trouble()).map(|share| share.ns).sum();
        Some(SlowFlow {
            flow,
            src: spell.src.to_string(),
            dst: spell.dst.to_string(),
            dest_qp: spell.dest_qp,
            space: match spent.space {
                Space::Request => report::Space::Request,
                Space::Response => report::Space::Response,
            },
            lasted_ns: lasted,
            wire_bytes: bytes,
            rate_bps: bit_rate(bytes, lasted),
            cause,
            lost_ns: lost,
            shares,
        })
    }

    /// With the priority that the last map gives it.
    fn corrected<'a>(&self, spent: &'a Spent) -> Cow<'a, Spent> {
        let (interface, priority) = (spent.place.0, self.priority(spent.tag));
        if spent.tag == 0 || spent.place.1 == priority {
            return Cow::Borrowed(spent);
        }
        let mut spent = spent.clone();
        spent.change_priority(priority);
        spent.place = (interface, priority);
        Cow::Owned(spent)
    }

    /// With the time behind the last packet, in which it waited for the last answer.
    fn with_tail(&self, spent: &Spent, spell: Spell) -> Spent {
        let (from, to) = (spell.last_request_ns, spell.last_answer_ns.max(spell.last_request_ns));
        let (mut spent, mut stops, mut left) = (spent.clone(), Vec::new(), to.saturating_sub(from));
        self.pause.within(spent.place, from, to, &mut stops);
        for stop in &stops {
            let ns = stop.to.saturating_sub(stop.from);
            spent.add(TimeCause::Paused, ns, from, 0);
            spent.paused_from[TimeCause::Waiting as usize] += ns as u64;
            spent.stopped_by(stop.asker, ns as u64);
            left -= ns;
        }
        spent.add(TimeCause::Waiting, left, from, 0);
        spent
    }

    /// The evidence for a share.
    fn evidence(
        &self,
        spent: &Spent,
        cause: TimeCause,
        spell: Spell,
        throttled: Option<Throttled>,
        head: &report::Head,
    ) -> String {
        let (longest, _) = spent.longest[cause as usize];
        let rtt = spell.rtt_ns.map_or_else(|| "not known".to_owned(), |ns| duration(ns.into()));
        let times = several(spent.times[cause as usize].max(1).into(), "time");
        match cause {
            TimeCause::Idle if spent.space == Space::Response => {
                format!(
                    "no READ was outstanding, and the next one came later: {times}, {} at most",
                    duration(longest)
                )
            }
            TimeCause::Waiting if spent.space == Space::Response => format!(
                "all READs were answered, and the next one came at once; from it to its data: {times}, {} at most; the shortest round trip is {rtt}",
                duration(longest)
            ),
            TimeCause::Sending => "its packets followed each other at their usual pace".into(),
            TimeCause::Idle => format!(
                "nothing was outstanding, or no answer was needed, and the next message came later: {times}, {} at most",
                duration(longest)
            ),
            TimeCause::Waiting => format!(
                "silent until an acknowledgement came: {times}, {} at most; the shortest round trip is {rtt}",
                duration(longest)
            ),
            TimeCause::Paused => {
                let by =
                    spent.stopped.iter().max_by_key(|(_, ns)| *ns).and_then(|(by, _)| self.pause.asker(*by));
                let by = by.map_or_else(String::new, |asker| match asker.priority {
                    8.. => format!(" of {}, of {}", asker.sender, priority(None)),
                    number => format!(" of {}, {}", asker.sender, priority(Some(number as u8))),
                });
                format!("silent during pauses{by}: {times}, {} at most", duration(longest))
            }
            TimeCause::Throttled => match throttled {
                Some(Throttled { before_bps, after_bps }) => format!(
                    "{}; {} before the first one, {} after it",
                    several(spent.cnps, "CNP"),
                    bits(before_bps as f64),
                    bits(after_bps as f64)
                ),
                None => several(spent.cnps, "CNP"),
            },
            TimeCause::Recovering => format!(
                "{}, {}, {}; the longest silence {}",
                several(spell.timeouts, "timeout"),
                several(spell.naks, "NAK"),
                several(spent.resent.into(), "retransmitted packet"),
                duration(longest)
            ),
            TimeCause::NotReady => {
                format!(
                    "{} until the packet was retransmitted, {} at most",
                    several(spell.rnr, "wait"),
                    duration(longest)
                )
            }
            TimeCause::ReceiverSlow => format!(
                "acknowledgements took much longer than the shortest round trip, {rtt}, and no link was full, nothing marked or paused"
            ),
            TimeCause::ResponderSlow => format!(
                "{}: the data came much later after the READ than the shortest round trip, {rtt}, and no link was full, nothing marked or paused",
                several(spent.late.1.max(1).into(), "time")
            ),
            TimeCause::LinkFull => {
                let of = head.incast.as_ref().map_or(0, Vec::len) as u64;
                format!(
                    "the link of its source or destination was full, and shared; {} in the capture",
                    several(of, "incast period")
                )
            }
            TimeCause::Unknown => format!(
                "silent with packets outstanding, and no answer, pause or CNP explains it: {times}, {} at most",
                duration(longest)
            ),
        }
    }
}

fn keep_worst(slow: &mut Vec<SlowFlow>) {
    slow.sort_by_key(|row| (Reverse(row.lost_ns), Reverse(row.lasted_ns), row.flow));
    slow.truncate(MAX_LISTED);
}

fn keep_longest(flows: &mut Vec<PauseVictim>) {
    flows.sort_by_key(|flow| (Reverse(flow.stopped_ns), flow.flow, flow.is_direct));
    flows.truncate(MAX_VICTIMS);
}

fn confidence(cause: TimeCause) -> Confidence {
    match cause {
        TimeCause::Recovering | TimeCause::NotReady => Confidence::Certain,
        TimeCause::Sending | TimeCause::Paused | TimeCause::Waiting => Confidence::Likely,
        _ => Confidence::Possible,
    }
}

fn sending(row: &SlowFlow) -> u128 {
    row.shares.iter().filter(|share| share.cause == TimeCause::Sending).map(|share| share.ns as u128).sum()
}

/// The rates before and after the first CNP, while it had something to send.
#[derive(Clone, Copy)]
struct Throttled {
    before_bps: u64,
    after_bps: u64,
}

/// Takes what the sender lost by CNPs: the time beyond what its bytes would have taken at the rate before the first one.
fn throttle(
    spent: &Spent,
    ns: &mut [u64; CAUSES],
    notified: &[u64; CAUSES],
    lasted: u64,
    end: i64,
    bytes: u64,
) -> Option<Throttled> {
    /// Times that CNPs do not change.
    const APART: [TimeCause; 4] =
        [TimeCause::Idle, TimeCause::Paused, TimeCause::Recovering, TimeCause::NotReady];
    let (since, bytes_before) = spent.first_cnp?;
    let after = u64::try_from(end.saturating_sub(since)).ok()?.min(lasted);
    let apart = |ns: &[u64; CAUSES]| APART.iter().map(|&cause| ns[cause as usize]).sum::<u64>();
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
    let silent: u64 = notified.iter().sum();
    let sending = notified[TimeCause::Sending as usize] + after.saturating_sub(silent);
    for (cause, most) in [
        (TimeCause::Sending, sending),
        (TimeCause::Unknown, notified[TimeCause::Unknown as usize]),
        (TimeCause::Waiting, notified[TimeCause::Waiting as usize]),
    ] {
        let part = lost.min(most).min(ns[cause as usize]);
        ns[cause as usize] -= part;
        ns[TimeCause::Throttled as usize] += part;
        lost -= part;
    }
    Some(rates)
}
