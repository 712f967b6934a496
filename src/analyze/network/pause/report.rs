//! Pauses as the report has them: a row for each source, and the tree of who paused whom.

use std::collections::BTreeMap;

use super::{
    super::{interfaces::Interfaces, neighbors::Neighbors},
    PauseSource, Pauses, allowance_ns,
    tree::{self, LinkPosition, PlacedTree, SourceSpans},
    ways::Ways,
};
use crate::{
    analyze::model::Address,
    in_order::InOrder,
    report::{Capture, Congestion, Pause, PauseCulprit, PauseEnd, PauseFault, PauseTree, Reason, Summary},
};

/// The sections about pauses, and what the verdict on flows needs to know of their rows.
#[derive(Debug)]
pub(crate) struct PauseRows {
    /// The longest pauses first; or why they are not known: the capture has no MAC control frame at all, or only the beginning of them.
    pub(crate) rows: Result<Vec<Pause>, Reason>,
    /// The number of each row's source; `None` beyond the most.
    pub(crate) numbers: Vec<Option<u8>>,
    pub(crate) faults: BTreeMap<PauseFault, u64>,
    /// Or why there is none.
    pub(crate) tree: Result<PauseTree, Reason>,
    /// Where sources are, with a tree.
    pub(crate) positions: BTreeMap<PauseSource, LinkPosition>,
    /// Addresses of the culprits of the tree that are hosts.
    culprit_addresses: Vec<Vec<Address>>,
    /// When links were paused, by the number of the source.
    pub(crate) paused: Vec<PausedTime>,
}

impl PauseRows {
    /// Of a switch, it is because more comes for these receivers than their links carry: flows to them lead to its pauses.
    pub(crate) fn set_receivers(&mut self, receivers: &[Address]) {
        let Ok(tree) = &self.tree else { return };
        for (addresses, culprit) in self.culprit_addresses.iter_mut().zip(&tree.culprits) {
            if culprit.is_host != Some(true) && addresses.is_empty() {
                addresses.extend(receivers);
            }
        }
    }

    /// Whether packets to this address go to the culprit with this place in the tree, or through it to a receiver of incast, and so lead
    /// to its pauses; `None` where neither is known.
    pub(crate) fn goes_to(&self, culprit: usize, dst: Address) -> Option<bool> {
        let addresses = self.culprit_addresses.get(culprit).filter(|addresses| !addresses.is_empty())?;
        Some(addresses.contains(&dst))
    }

    /// Whether the capture can show what this source's pauses stop: packets towards it were captured on its link.
    pub(crate) fn shows(&self, pauses: &Pauses, source: &PauseSource, ways: &Ways) -> bool {
        let hosts = self.positions.get(source).map(|position| &position.hosts);
        ways.show(|interface| pauses.acts_on(source, interface), hosts)
    }
}

/// The times in which one source paused its link.
#[derive(Debug)]
pub(crate) struct PausedTime {
    /// Begin, end, and the sum of those before; in the order of time.
    spans: Vec<(i64, i64, u64)>,
}

impl PausedTime {
    /// How long it was paused in this time.
    pub(crate) fn between(&self, from: i64, to: i64) -> u64 {
        self.until(to).saturating_sub(self.until(from))
    }

    fn until(&self, time: i64) -> u64 {
        let after = self.spans.partition_point(|&(start, ..)| start < time);
        let last = after.checked_sub(1).and_then(|at| self.spans.get(at));
        last.map_or(0, |&(start, end, before)| {
            before.saturating_add(end.min(time).saturating_sub(start).max(0) as u64)
        })
    }
}

/// Forgets times of pauses that are mostly shorter than two steps of the clock. Returns whether there are such.
fn forget_coarse(rows: &mut [Pause], step_ns: u64) -> bool {
    /// Of shorter steps, what is cut off one pause is added to another.
    const FINE_NS: u64 = 10_000;
    const TIMES: [&str; 4] = ["paused_ns", "longest_ns", "duty_ratio", "ledger"];
    let is_coarse = |row: &&mut Pause| {
        // What the capture's end cuts off is short whatever the clock.
        let cut = row.ended.get(&PauseEnd::CaptureEnd).copied().unwrap_or(0);
        let ended = row.intervals.map(|intervals| intervals.saturating_sub(cut)).filter(|&ended| ended > 0);
        let steps = ended.map(|ended| ended.saturating_mul(2).saturating_mul(step_ns));
        step_ns >= FINE_NS && steps.zip(row.paused_ns).is_some_and(|(steps, paused)| steps > paused)
    };
    let mut any = false;
    for row in rows.iter_mut().filter(is_coarse) {
        any = true;
        (row.paused_ns, row.longest_ns, row.duty_ratio) = (None, None, None);
        row.ledger = Vec::new();
        row.why.extend(TIMES.map(|field| (field.into(), Reason::CoarseTimes)));
    }
    any
}

impl Pauses {
    pub(in crate::analyze::network) fn report(
        &self,
        interfaces: &Interfaces,
        neighbors: &Neighbors,
        capture: &Capture,
        congestion: &Congestion,
        ways: &Ways,
        leaves_out: bool,
    ) -> PauseRows {
        let end = capture.last_ns.unwrap_or(0);
        let lasted = capture.first_ns.map(|first| end.saturating_sub(first)).filter(|&ns| ns > 0);
        let (sources, mut rows): (Vec<_>, Vec<_>) = self.rows(end, interfaces).into_iter().unzip();
        let could_be_marked = congestion.ect_packets + congestion.cnps > 0;
        for row in &mut rows {
            row.duty_ratio = row.paused_ns.zip(lasted).map(|(paused, ns)| paused as f64 / ns as f64);
            // Nothing that could have been marked was seen: a pause without a mark before it says nothing.
            if !could_be_marked && row.after_marks.take().is_some() {
                row.why.insert("after_marks".into(), Reason::NotEct);
            }
        }
        // The times of a few frames may all be round by chance.
        const FEW: u64 = 64;
        let step = capture.timestamp_resolution_ns.max(capture.timestamp_batch_ns).unwrap_or(0);
        let step = if capture.packets < FEW { 0 } else { step };
        let is_coarse = forget_coarse(&mut rows, step);
        let number = |source: &PauseSource| self.sources.iter().position(|known| known == source);
        let numbers: Vec<_> = sources.iter().map(|source| number(source).map(|at| at as u8)).collect();
        let found = match self.frames > 0 {
            true => self.tree(interfaces, neighbors, (capture, congestion, ways)),
            false if leaves_out => Err(Reason::Filtered),
            false => Err(Reason::NoPfcVisibility),
        };
        // Without a speed nobody knows when a pause ends.
        let found = found.and_then(|found| match rows.iter().any(|row| row.paused_ns.is_none()) {
            true => Err(if is_coarse { Reason::CoarseTimes } else { Reason::UnknownSpeed }),
            false => Ok(found),
        });
        let positions = self.judging_positions(capture, &found);
        for (row, number) in rows.iter_mut().zip(&numbers) {
            let violations = positions.and_then(|positions| {
                let number = number.ok_or(Reason::MemoryLimit)?;
                let source = self.source(number).ok_or(Reason::MemoryLimit)?;
                let hosts = &positions.get(source).ok_or(Reason::UnknownDirection)?.hosts;
                let came = self.violations.of(number, hosts)?;
                let is_shown = || ways.show(|interface| self.acts_on(source, interface), Some(hosts));
                if came.frames > 0 || is_shown() { Ok(came) } else { Err(Reason::OneWay) }
            });
            let response = violations.and_then(|_| self.response(*number, positions?, (interfaces, end)));
            match violations {
                Ok(violations) => row.violations = Some(violations),
                Err(why) => _ = row.why.insert("violations".into(), why),
            }
            match response {
                Ok(response) => row.response_ns = Some(response),
                Err(why) => _ = row.why.insert("response_ns".into(), why),
            }
        }
        let (tree, positions, culprit_addresses) = match found {
            Ok(PlacedTree { tree, positions, culprit_addresses }) => (Ok(tree), positions, culprit_addresses),
            Err(why) => (Err(why), BTreeMap::new(), Vec::new()),
        };
        for (row, source) in rows.iter_mut().zip(&sources) {
            let position = positions.get(source);
            row.device = position.map(|position| position.device.clone());
            // The culprits are in the order of the time that they cost.
            let root =
                position.and_then(|position| position.culprits.iter().map(|share| share.culprit).min());
            let root = root.and_then(|at| tree.as_ref().ok()?.culprits.get(at));
            row.root_device = root.map(|culprit: &PauseCulprit| culprit.device.clone());
        }
        let rows = match () {
            // Pauses of which only the beginning was captured say nothing.
            () if rows.is_empty() && capture.has_cut_pauses() => Err(Reason::Truncated),
            () if self.frames > 0 => Ok(rows),
            () if leaves_out => Err(Reason::Filtered),
            () => Err(Reason::NoPfcVisibility),
        };
        let paused = self.paused_times(end);
        let faults = self.faults.clone();
        PauseRows { rows, numbers, faults, tree, positions, culprit_addresses, paused }
    }

    /// How long the paused end took to stop, for the source with this number, where it shows.
    fn response(
        &self,
        number: Option<u8>,
        positions: &BTreeMap<PauseSource, LinkPosition>,
        (interfaces, end): (&Interfaces, i64),
    ) -> Result<Summary, Reason> {
        let number = number.ok_or(Reason::MemoryLimit)?;
        let source = self.source(number).ok_or(Reason::MemoryLimit)?;
        let hosts = &positions.get(source).ok_or(Reason::UnknownDirection)?.hosts;
        let speed = interfaces.speed_bps(source.interface).ok_or(Reason::UnknownSpeed)?;
        let spans = self.ledger(source).map_or_else(Vec::new, |ledger| ledger.spans(end));
        self.responses.of(number, hosts, &spans, allowance_ns(speed))?.ok_or(Reason::TooFew)
    }

    fn paused_times(&self, end: i64) -> Vec<PausedTime> {
        let of = |source: &PauseSource| {
            let mut sum = 0u64;
            let spans = self.ledger(source).map_or_else(Vec::new, |ledger| ledger.spans(end));
            let with_sum = |span: tree::Span| {
                let before = sum;
                sum = sum.saturating_add(span.end.saturating_sub(span.start).max(0) as u64);
                (span.start, span.end, before)
            };
            PausedTime { spans: spans.into_iter().map(with_sum).collect() }
        };
        self.sources.iter().map(of).collect()
    }

    /// The rows, each with the source of its pauses.
    fn rows(&self, end: i64, interfaces: &Interfaces) -> Vec<(PauseSource, Pause)> {
        let mut all = Vec::new();
        for (&(interface, sender), ledgers) in &self.senders {
            let has_speed = interfaces.speed_bps(interface).is_some();
            for (priority, ledger) in (0..).zip(&**ledgers).filter(|(_, ledger)| ledger.is_used()) {
                let source = PauseSource { interface, sender, priority };
                let row = Pause {
                    link: interfaces.name(interface),
                    sender: sender.to_string(),
                    priority: source.one_priority(),
                    ..ledger.row(&self.storm, has_speed, end)
                };
                all.push((source, row));
            }
        }
        all.order_by(|(_, a), (_, b)| {
            let key = |row: &Pause| (row.paused_ns, row.quanta, row.frames);
            key(b).cmp(&key(a)).then_with(|| {
                let name = |row: &Pause| (row.link.clone(), row.sender.clone(), row.priority);
                name(a).cmp(&name(b))
            })
        });
        all
    }

    /// Where sources are, if the times of frames show which of them came too late.
    fn judging_positions<'a>(
        &self,
        capture: &Capture,
        found: &'a Result<PlacedTree, Reason>,
    ) -> Result<&'a BTreeMap<PauseSource, LinkPosition>, Reason> {
        match found {
            // A frame may be older, or younger, than its time says.
            _ if capture.time_steps_back > 0 || self.is_mirrored => Err(Reason::UnevenClock),
            _ if capture.timestamp_resolution_ns.is_some_and(|ns| ns >= 1_000) => Err(Reason::CoarseTimes),
            Err(Reason::NoTopology) => Err(Reason::UnknownDirection),
            Err(why) => Err(*why),
            Ok(found) => Ok(&found.positions),
        }
    }

    /// Who paused whom, or why that is not known.
    fn tree(
        &self,
        interfaces: &Interfaces,
        neighbors: &Neighbors,
        (capture, congestion, ways): (&Capture, &Congestion, &Ways),
    ) -> Result<PlacedTree, Reason> {
        let end = capture.last_ns.unwrap_or(0);
        let mut asked = Vec::new();
        for (&(interface, sender), ledgers) in &self.senders {
            for (priority, ledger) in (0..).zip(&**ledgers).filter(|(_, ledger)| ledger.is_used()) {
                let source = PauseSource { interface, sender, priority };
                asked.push(SourceSpans { source, spans: ledger.spans(end) });
            }
        }
        let input = tree::TreeInput {
            asked,
            not_kept: self.spans_not_kept,
            links: self.links.as_ref(),
            interfaces,
            neighbors,
            detect_ns: self.storm.detect_ns,
        };
        input.tree(capture, congestion, ways)
    }
}
