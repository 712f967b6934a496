//! How many packets were lost, and where: what is proved, and what is possible.

use std::ops::Range;

use super::{
    Episode, Requests, TrackConfig,
    answer::START_NS,
    reads::Read,
    recovery::Trouble,
    stats::{AnswerStats, Unsorted},
    tails::{Tail, Wait},
};
use crate::{
    analyze::{
        model::{Class, Trigger},
        track::{
            class::{Episodes, Evidence, Place},
            push_last,
            response::DataLoss,
            ring::{RETRANSMITTED, SENT_AGAIN},
            shadow::{Answers, CHANCE, DEVIATIONS, may_be_lost},
            step::{SHORTEST_TIMEOUT_NS, Step},
        },
    },
    report,
    wire::Psn,
};

/// What is possible while packets come.
impl Requests {
    /// At most `most` packets were lost upstream in so many silences, perhaps none.
    #[inline]
    pub(super) fn lost_perhaps(&mut self, silences: u32, most: u64) {
        self.silences = self.silences.saturating_add(silences);
        self.counts.lost_perhaps(most);
    }

    /// The shortest silence in which a timer may have expired, and what was sent then been lost.
    pub(super) fn silence_floor(&self, config: &TrackConfig) -> i64 {
        let timer = self.more.as_ref().and_then(|more| more.recovery.get()?.shortest_timer());
        self.timeout_floor(config).max(timer.unwrap_or(0))
    }

    /// Whether it may have in one that lasted so long. Most packets come without any: of those, no timeout is looked at.
    pub(super) fn may_hide_timeout(&self, silent: i64, config: &TrackConfig) -> bool {
        silent > self.timeout_floor(config) && silent > self.silence_floor(config)
    }

    /// A timeout shows how long the timer takes: silences are counted anew from here on.
    pub(super) fn sort_silences_from_here(&mut self) {
        let is_known =
            |more: &AnswerStats| more.recovery.get().is_some_and(|of| of.shortest_timer().is_some());
        if self.silences == 0 || self.more.as_deref().is_some_and(is_known) {
            return;
        }
        let unsorted = Unsorted {
            silences: std::mem::take(&mut self.silences),
            perhaps: self.counts.take_perhaps(),
            packets: self.counts.packets,
        };
        let kept = &mut self.more().recovery_mut().unsorted;
        kept.silences = kept.silences.saturating_add(unsorted.silences);
        kept.perhaps = kept.perhaps.saturating_add(unsorted.perhaps);
        kept.packets = unsorted.packets;
    }

    /// Of the silences that were counted before the timer was known, as many may be as long as it as of those that came since.
    fn sort_silences(&mut self) {
        let Some(recovery) = self.more.as_mut().and_then(|more| more.recovery.get_mut()) else { return };
        let Unsorted { silences, perhaps, packets } = std::mem::take(&mut recovery.unsorted);
        if silences == 0 {
            return;
        }
        let is_known = recovery.shortest_timer().is_some();
        let since = self.counts.packets.saturating_sub(packets);
        let long = match is_known {
            true => may_be_lost(packets, self.silences.into(), since),
            false => None,
        };
        let long = long.unwrap_or(u64::MAX).min(silences.into());
        // In one silence as many may have been lost as in all of them.
        let most = perhaps.div_ceil(u64::from(silences)).saturating_mul(long).min(perhaps);
        self.lost_perhaps(long as u32, most);
    }

    /// Of the PSNs that a pass left out, some are of responses: no packet is missing for them.
    pub(super) fn leave_out_responses(&mut self, step: &mut Step) {
        let psns = step.left_out.end - step.left_out.start;
        let responses = psns - self.packets_in(step.left_out.clone());
        match step.is_dropped {
            true => step.unseen = step.unseen.saturating_sub(responses),
            false => self.trouble.skipped_responses += responses,
        }
    }

    /// The most request packets that these PSNs, none of which was seen, are of.
    fn most_packets(&self, psns: u64) -> u64 {
        // Only READs and atomics, as it seems.
        let reads = self.reads.get().filter(|_| self.goodput == 0);
        let shortest = reads.and_then(|reads| reads.list.iter().map(|read| read.end - read.first).min());
        psns.div_ceil(shortest.unwrap_or(1).max(1))
    }

    /// The most packets, as a power of two, that a sender may have sent in a silence before it began anew, all of them lost: what was ever
    /// outstanding, twice at most. Identifications tell no more: Linux adds a random number to them, of as many as it was silent for
    /// milliseconds. Where nothing is answered, no bound is known.
    #[inline]
    pub(super) fn burst_exponent(&self) -> u32 {
        let reach = self.reach.into();
        let packets = if self.goodput > 0 { reach } else { self.most_packets(reach) };
        match packets {
            0 => u32::BITS - 1,
            packets => (u64::BITS - packets.leading_zeros()).min(u32::BITS - 1),
        }
    }

    pub(super) fn burst(&self) -> u64 {
        1 << self.burst_exponent()
    }

    /// The request packets that have these PSNs. A READ request is one packet: its other PSNs are of the response.
    pub(super) fn packets_in(&self, psns: Range<u64>) -> u64 {
        let all = psns.end.saturating_sub(psns.start);
        let Some(reads) = self.reads.get().filter(|reads| !reads.in_disorder) else { return all };
        let mut from = psns.start;
        let of_responses = reads.list.iter().map(|read| {
            let start = from.max(read.first + 1);
            let end = read.end.min(psns.end);
            from = from.max(end);
            end.saturating_sub(start)
        });
        all.saturating_sub(of_responses.sum())
    }

    /// Whether the READ or atomic that was just sent again from this PSN on had arrived before, as an answer shows.
    pub(super) fn had_arrived(&self, x: u64) -> bool {
        let read = self.reads.get().and_then(|reads| reads.at(x));
        read.is_some_and(|read| read.had_arrived)
    }

    /// Whether a READ from this PSN on that was sent once was answered: all before it had arrived.
    pub(super) fn has_answer_from(&self, end: u64) -> bool {
        let is_behind = |read: &Read| read.first >= end && read.answered && !read.retried;
        self.reads.get().is_some_and(|reads| reads.from(end).any(is_behind))
    }

    /// The READs and atomics from the one with this PSN on, which is being sent again, that had arrived, as answers to them show.
    pub(super) fn arrived_from(&self, x: u64) -> u64 {
        let Some(reads) = self.reads.get() else { return 0 };
        let has = |read: &&Read| match read.has(x) {
            true => read.had_arrived,
            false => read.first >= x && read.has_arrived(),
        };
        reads.from(x).filter(has).count() as u64
    }

    /// The PSN of the packet behind that with this one.
    pub(super) fn next_packet(&self, x: u64) -> u64 {
        let read = self.reads.get().and_then(|reads| reads.at(x));
        read.map_or(x + 1, |read| read.end.max(x + 1))
    }

    /// The sender went back to `x`, from packets before `hi`, at this time, after a silence of so many nanoseconds: it may have sent packets
    /// meanwhile, none of which the tap saw. They are the end of the burst, and the first packets that it repeats. As many as were ever outstanding, at most, and as fit into
    /// that time; and as identifications were skipped: `most`, if any were.
    pub(super) fn sent_unseen(
        &mut self,
        (x, hi): (u64, u64),
        (time, silent): (i64, i64),
        most: Option<u64>,
        config: &TrackConfig,
    ) {
        /// Nobody sends more without an answer.
        const MOST: u64 = 1 << 16;
        /// So many packets outstanding are no matter of single messages.
        const WINDOW: u64 = 8;
        let trouble = self.trouble.get();
        let asked = trouble
            .and_then(|trouble| trouble.last_nak(x, time))
            .or_else(|| trouble?.asked.filter(|asked| asked.x <= x && asked.x >= self.una));
        // A response that it saw too early asks as a NAK does.
        let asked_for_it = asked.is_some() || self.implies_nak(x, time, config);
        // What the NAK acknowledged let it send nothing more: it went back.
        let una = asked.map(|asked| asked.una).filter(|&una| una > 0).unwrap_or(self.una);
        let asked = asked.filter(|asked| asked.x < x);
        let repeated = asked.map_or(0, |asked| self.packets_in(asked.x..x));
        let rest = match una {
            0 => MOST,
            _ => self.most_packets(u64::from(self.reach).saturating_sub(hi.saturating_sub(una))),
        };
        // The timer may have expired before, and all that was sent then been lost.
        let outstanding = if una == 0 { 1 } else { self.packets_in(una..hi.max(una)).max(1) };
        // The packet at hand takes its time, too.
        let fit = self.pace().map_or(MOST, |pace| (silent.max(0) as u64 / pace).saturating_sub(1));
        // Where identifications show that something was sent, it may be of this flow.
        let least = u64::from(most.is_some());
        let fit = fit.max(least).min(most.unwrap_or(u64::MAX));
        let rest = rest.max(least).min(fit);
        // Who is not held back by a window has not reached its end, and what the tap does not see is outstanding, too.
        let reach = u64::from(self.reach);
        let beyond = if una > 0 { self.most_packets(reach / 8 + 1).min(fit - rest) } else { 0 };
        let is_asked = match self.acks_seen {
            0 => silent < SHORTEST_TIMEOUT_NS,
            _ => asked_for_it,
        };
        let unanswered = (una == 0).then(|| hi.saturating_sub(self.seq.base));
        // A timer expires for the last packet of a window, too, of which the tap sees less than there is: answers pass it before they arrive.
        let is_window = !is_asked && reach >= WINDOW && self.goes_back() && self.reads.get().is_none();
        let most = if is_window { rest.max(beyond.min(1)) } else { rest };
        let tail = Tail { hi, most, is_asked, unanswered };
        self.trouble.tails.goes_beyond(tail, beyond);
        self.trouble.tails.add(tail, hi - x.min(hi));
        let room = fit - rest;
        match asked_for_it {
            // As many as fit: of the tail, it is not known that there was one. Who does not go back repeats what was asked for.
            true => self.trouble.repeated_unseen += repeated.min(if self.goes_back() { fit } else { room }),
            false => {
                // Who goes back does so to the first one that is not acknowledged.
                let from_una = una > 0 && self.goes_back();
                let repeated = if from_una { self.packets_in(una..x.max(una)) } else { 0 };
                self.trouble.repeated_unseen += repeated.min(fit);
                self.waited(Wait { ns: silent, outstanding, room, since_seen: true }, config);
            }
        }
        // Where no answer shows, it may go back since the repetition of this packet was lost: a timer expired, or a pass that seems to begin behind it
        // began with it.
        let next = self.seq.ring.get(self.next_packet(x));
        let next_again = next.is_some_and(|sent| sent.flags & (RETRANSMITTED | SENT_AGAIN) != 0);
        let lost_again = u64::from(self.acks_seen == 0 && (silent >= SHORTEST_TIMEOUT_NS || next_again));
        self.counts.lost(Place::Upstream, 0, lost_again);
    }

    /// A timer may have expired in this time, and what was sent then been lost before the tap: how often, the timeouts to come tell.
    pub(super) fn waited(&mut self, wait: Wait, config: &TrackConfig) {
        /// Of more, the oldest are counted by the timeouts so far.
        const MOST: usize = 64;
        if self.trouble.waits.len() == MOST
            && let Some(&oldest) = self.trouble.waits.front()
        {
            let most = self.unseen_in(&oldest, config);
            self.counts.lost(Place::Upstream, 0, most);
        }
        push_last(&mut self.trouble.waits, MOST, wait);
    }

    /// The most packets that were sent meanwhile, and not seen.
    fn unseen_in(&self, wait: &Wait, config: &TrackConfig) -> u64 {
        let &Wait { ns, outstanding, room, since_seen } = wait;
        let timers = self.timers_in(ns, outstanding, config).saturating_sub(since_seen.into());
        timers.saturating_mul(outstanding).min(room)
    }

    /// How often a timer may have expired in this time, with so many packets outstanding.
    fn timers_in(&self, ns: i64, outstanding: u64, config: &TrackConfig) -> u64 {
        /// IBTA's retry count has three bits.
        const RETRIES: u64 = 7;
        /// More are not all lost, unless the link is down.
        const FEW: u64 = 4;
        const SHORTEST_NS: u64 = 20_000;
        let ns = ns.max(0) as u64;
        let seen = self.more.as_ref().into_iter().flat_map(|more| &more.recovery().timeouts);
        // What is repeated with another packet has not waited for a timer of its own. One alone may have lasted for several timers.
        let waits = seen.map(|timeout| timeout.waited_ns).filter(|&ns| ns >= SHORTEST_NS);
        let (count, shortest) = waits.fold((0, u64::MAX), |(count, least), ns| (count + 1, least.min(ns)));
        let shortest = Some(shortest / 4 * 3).filter(|_| count > 1);
        // Acknowledgements that wait for a packet to be sent again are no measure of a timer.
        let guess = self.rtt_min.map_or(SHORTEST_NS, |rtt| (4 * u64::from(rtt)).max(SHORTEST_NS));
        let is_known = config.ack_timeout_ns.is_some() || self.ack_timeout > 0;
        let floor = if is_known { self.timeout_floor(config).max(0) as u64 } else { guess };
        let timer = match shortest {
            Some(shortest) => shortest.max(floor),
            None if outstanding > FEW => ns.max(floor),
            None => floor,
        };
        (ns / timer.max(1)).min(RETRIES)
    }

    /// The shortest time from packet to packet of late, in nanoseconds, less a quarter: nobody sends faster than that. `None` where the
    /// times of the capture do not tell.
    fn pace(&self) -> Option<u64> {
        const PACKETS: u64 = 64;
        const STEPS: usize = 4;
        let sent = |x| self.seq.ring.get(x).map(|sent| sent.time);
        let first = self.seq.hi.saturating_sub(PACKETS).max(self.seq.base);
        let packets: Vec<i64> = (first..self.seq.hi).filter_map(sent).collect();
        let reads: Vec<i64> =
            self.reads.get().into_iter().flat_map(|reads| &reads.list).map(|read| read.time).collect();
        let of_packets =
            packets.windows(STEPS + 1).filter_map(|few| Some((few.last()? - few.first()?) / STEPS as i64));
        // Few READs are outstanding at a time.
        let of_reads = reads.windows(2).filter_map(|two| Some(two.last()? - two.first()?));
        let shortest = of_packets.chain(of_reads).filter(|&ns| ns >= 0).min()?;
        u64::try_from(shortest - shortest / 4).ok().filter(|&ns| ns > 0)
    }
}

/// What is known at the end.
impl Requests {
    pub(super) fn bound_losses(&mut self, config: &TrackConfig) {
        self.sort_silences();
        // What was lost in silences was sent again, and seen.
        self.counts.cap_perhaps(self.counts.packets);
        self.bound_waits(config);
        self.bound_skipped(config);
        self.bound_by_other_clock();
        self.bound_missing();
        let [_, shown] = self.counts.lost_at(Place::Downstream).get();
        self.bound_unseen();
        self.doubt(config);
        self.bound_tails(config);
        self.bound_by_sent();
        self.bound_hidden(shown, config);
        self.bound_missed();
        self.bound_silences(config);
    }

    /// Where the capture misses packets of this flow, it may have missed each of those that it does not prove to be lost before the tap: they came
    /// again, and what is missed looks the same as what is lost.
    fn bound_missed(&mut self) {
        if (self.missed() > 0 || self.is_passed_over()) && self.una > 0 {
            let [least, most] = self.counts.lost_at(Place::Upstream).get();
            let most = (most - least).saturating_sub(self.counts.perhaps());
            self.counts.lost(Place::Capture, 0, most);
        }
    }

    /// What may have been sent in silences, by all timeouts that there were.
    fn bound_waits(&mut self, config: &TrackConfig) {
        let Some(trouble) = self.trouble.get_mut() else { return };
        let waits = std::mem::take(&mut trouble.waits);
        // Who repeats single packets repeats none of those between.
        let repeated = match self.seq.recovery_mode() {
            report::RecoveryMode::Selective => 0,
            _ => trouble.repeated_unseen,
        };
        let tries = self.tries_by_chance(config);
        let unseen = |wait: &Wait| {
            let by_chance = tries.map_or(u64::MAX, |packets| packets.max(wait.outstanding));
            self.unseen_in(wait, config).min(by_chance)
        };
        let most = waits.iter().map(unseen).fold(repeated, u64::saturating_add);
        self.counts.lost(Place::Upstream, 0, most);
    }

    /// So many packets are hardly lost before the tap one after the other, if losses are a matter of chance: with a chance of one in two thousand.
    fn tries_by_chance(&self, config: &TrackConfig) -> Option<u64> {
        let is_of_bursts = self.trouble.get().is_some_and(|trouble| trouble.tails.are_of_bursts());
        if !self.shows_losses(config) || self.loses_bursts() || is_of_bursts {
            return None;
        }
        let Episodes { certain, likely } = self.counts.episodes_at(Place::Upstream);
        let [least, _] = self.counts.lost_at(Place::Upstream).get();
        let losses = least.max(u64::from(certain) + u64::from(likely)) as f64 + 0.5;
        let rate = (losses + DEVIATIONS * losses.sqrt()) / self.counts.packets.max(1) as f64;
        (rate < 0.5).then(|| (CHANCE.ln() / rate.ln()).ceil() as u64)
    }

    /// A sender that goes back repeats all packets. Repetitions that did not come were lost upstream, unless they were late.
    fn bound_skipped(&mut self, config: &TrackConfig) {
        let skipped = self.skipped();
        let sure = if self.misses(config) { 0 } else { self.sure_of_skipped(config) };
        self.counts.lost(Place::Upstream, sure, skipped);
        if self.is_passed_over() {
            // What the responder did not ask for, it had.
            let asked = self.trouble.get().map_or(0, |trouble| trouble.skipped_asked);
            self.counts.lost(Place::Capture, 0, skipped.saturating_sub(asked));
        }
        // Each of them, or it is not known which.
        if sure > 0 && self.trouble.get().is_some_and(|trouble| trouble.skipped_asked == sure) {
            let recovery = self.more.as_mut().and_then(|more| more.recovery.get_mut());
            let episodes = recovery.into_iter().flat_map(|recovery| &mut recovery.episodes);
            let left_out = episodes.filter(|episode| episode.is_left_out && !episode.certain);
            let proved = left_out.map(|episode| episode.certain = true).count();
            self.counts.proved_after_all(Place::Upstream, proved as u32);
        }
    }

    /// Where answers are stamped by another clock, it need not show that a repetition that was asked for had not come: each loss that is not
    /// known to be before the tap may be there.
    fn bound_by_other_clock(&mut self) {
        let recovery = self.more.as_ref().and_then(|more| more.recovery.get());
        let Some(recovery) = recovery.filter(|_| self.has_other_clock()) else { return };
        let is_elsewhere = |episode: &&Episode| !episode.is_of_data && episode.place != Some(Place::Upstream);
        let most = recovery.episodes.iter().filter(is_elsewhere).count() as u64 + recovery.episodes_dropped;
        self.counts.lost(Place::Upstream, 0, most);
    }

    /// Repetitions that did not come.
    fn skipped(&self) -> u64 {
        let left = self.seq.rare.pass_holes_left;
        let of = |trouble: &Trouble| (trouble.skipped + left).saturating_sub(trouble.skipped_responses);
        self.trouble.get().map_or(left, of)
    }

    /// Those of them that surely were lost upstream, if the capture has all.
    fn sure_of_skipped(&self, config: &TrackConfig) -> u64 {
        let Some(trouble) = self.trouble.get() else { return 0 };
        // Those that came corrupt were not lost.
        let corrupt = self.counts.of(Class::Corrupt);
        let came = trouble.skipped_late.saturating_add(corrupt);
        let asked = trouble.skipped_asked.saturating_sub(corrupt).min(self.skipped().saturating_sub(came));
        // A READ does not repeat responses that have arrived. If packets are late or recorded twice, times are coarse, or NAKs are stamped
        // after the answers to them, none of this is sure.
        let is_tidy = self.counts.of(Class::LateOriginal) + self.counts.of(Class::CaptureDuplicate) == 0;
        let is_sure = is_tidy
            && !config.is_coarse
            && !self.is_apart()
            && self.seq.recovery_mode() == report::RecoveryMode::GoBackN
            && self.reads.get().is_none();
        if is_sure { asked } else { 0 }
    }

    /// Losses before the tap that the order of a pass of repetitions proves, and nothing else: where the capture misses packets, these may be
    /// among them.
    fn sure_by_order(&self) -> u64 {
        self.trouble.get().map_or(0, |trouble| trouble.sure_by_order)
    }

    /// Where the capture has all, and NAKs made the sender go back, losses in tails are as many as may be by those that show.
    fn bound_tails(&mut self, config: &TrackConfig) {
        let Some(trouble) = self.trouble.get() else { return };
        let (timed, asked) = trouble.tails.most(self.seq.hi, self.reach.into());
        // Who repeats single packets goes on behind the last one: what was lost there is a gap.
        let asked = if self.seq.recovery_mode() == report::RecoveryMode::Selective { 0 } else { asked };
        let is_whole = !config.is_coarse && !config.is_sparse && !self.seq.is_sparse() && self.missed() == 0;
        let Episodes { certain, likely } = self.counts.episodes_at(Place::Upstream);
        let [least, _] = self.counts.lost_at(Place::Upstream).get();
        // That those which show need not be losses makes others no rarer.
        let withheld =
            if self.misses(config) { self.sure_by_order() + self.sure_of_skipped(config) } else { 0 };
        let losses = (least + withheld).max(u64::from(certain) + u64::from(likely));
        // Where timers show more losses than NAKs do, packets are lost by whole bursts.
        // What is late is passed over, too.
        let is_of_bursts = trouble.tails.are_of_bursts() && self.counts.of(Class::LateOriginal) == 0;
        let timed = match is_whole && !self.loses_bursts() && !is_of_bursts {
            true => trouble.tails.may_be_lost_by_timers(timed, losses, self.counts.packets),
            false => timed,
        };
        let asked = match is_whole && !is_of_bursts {
            true => trouble.tails.may_be_lost_by_questions(asked, losses, self.counts.packets),
            false => asked,
        };
        self.counts.lost(Place::Upstream, 0, timed.saturating_add(asked));
    }

    /// At least so many packets were acknowledged and never seen, beside those of the beginning.
    pub(crate) fn surely_missed(&self) -> u64 {
        if self.una == 0 || self.has_cut_reads() || self.seq.is_sparse() {
            return 0;
        }
        let holes = self.seq.rare.get().into_iter().flat_map(|rare| rare.holes.iter());
        let late = holes.filter(|hole| hole.time - self.seq.start_time > self.beginning());
        let covered = late.map(|hole| hole.end.min(self.una).saturating_sub(hole.start).min(1));
        covered.sum::<u64>() + self.una.saturating_sub(self.seq.hi).min(self.acked_unseen).min(1)
    }

    /// Whether the capture misses packets of flows, or of this one.
    fn misses(&self, config: &TrackConfig) -> bool {
        config.misses || self.is_passed_over()
    }

    /// Whether a responder that takes packets in order went on over one that the tap did not see: of a repetition, too, of which an earlier
    /// transmission was seen.
    fn is_passed_over(&self) -> bool {
        self.seq.recovery_mode() == report::RecoveryMode::GoBackN
            && self.responder.has_missed()
            && self.early_answers().is_none()
    }

    /// So often its sender went back, and no NAK and no timer tells why, where answers show: the capture missed the NAK. Where answers are
    /// stamped after what they made their requester do, that is why; and whoever has READs may lack a response, which no NAK tells.
    pub(crate) fn reasons_missed(&self) -> u64 {
        let is_shown = self.acks_seen > 0
            && !self.has_other_clock()
            && !self.has_reads()
            && self.counts.of(Class::LateOriginal) == 0;
        let recovery = self.more.as_ref().filter(|_| is_shown).and_then(|more| more.recovery.get());
        // In the beginning, the NAK came before the capture.
        let is_it = |episode: &&Episode| {
            episode.trigger == Trigger::Unknown
                && episode.start - self.seq.start_time > START_NS.max(self.thrice_rtt)
        };
        recovery.into_iter().flat_map(|recovery| &recovery.episodes).filter(is_it).count() as u64
    }

    /// Packets that were acknowledged, and never seen, were missed by the capture. Those that are not acknowledged either may have
    /// been lost.
    fn bound_missing(&mut self) {
        let una = self.una;
        let (mut least, mut covered, mut open) = (0, 0, 0);
        for hole in self.seq.rare.holes.iter() {
            let psns = hole.end.min(una).saturating_sub(hole.start);
            covered += self.most_packets(psns);
            open += self.most_packets(hole.end.saturating_sub(hole.start.max(una)));
            // What was sent before the capture began is not missing.
            if hole.time - self.seq.start_time >= self.beginning() {
                // A READ request of many PSNs is one packet.
                least += if self.reads.get().is_some() { psns.min(1) } else { psns };
            }
        }
        // Acknowledged PSNs beyond the highest one seen; the others are holes.
        let beyond = if una > 0 { una.saturating_sub(self.seq.hi).min(self.acked_unseen) } else { 0 };
        // A gap after a READ of unknown length may be the PSNs of its response.
        let least = if self.has_cut_reads() { 0 } else { least + beyond };
        self.counts.lost(Place::Capture, least, covered + open + beyond);
        self.counts.lost(Place::Upstream, 0, open);
    }

    /// So long after the first packet, packets may come that were sent before the capture began: its first packet was sent again.
    pub(super) fn beginning(&self) -> i64 {
        match self.rtt_min {
            Some(_) => self.thrice_rtt.min(START_NS),
            None => START_NS,
        }
    }

    pub(super) fn has_cut_reads(&self) -> bool {
        self.reads.get().is_some_and(|reads| reads.any_cut)
    }

    /// Transmissions of PSNs that the tap had seen before.
    fn seen_again(&self) -> u64 {
        let of = |class, by| (class, by) == (Class::Retransmission, Evidence::SeenBefore);
        self.counts.evidence().filter(|&(class, by, _)| of(class, by)).map(|(_, _, packets)| packets).sum()
    }

    /// Those of them that are not known to have arrived before.
    fn again_in_doubt(&self) -> u64 {
        self.seen_again().saturating_sub(self.trouble.get().map_or(0, |trouble| trouble.arrived))
    }

    /// What is lost after the tap, or whose acknowledgement is lost, is retransmitted after a timeout; which of the retransmitted packets
    /// that were, nobody tells.
    fn bound_unseen(&mut self) {
        if self.counts.of(Class::Retransmission) == 0 {
            return;
        }
        let episodes: u32 = self.counts.trouble().triggers.iter().sum();
        let spurious = u64::from(self.counts.trouble().spurious);
        self.counts.widen(Place::AckPath, u64::from(episodes) + spurious + self.acks_not_seen);
        self.counts.lost(
            Place::Downstream,
            0,
            self.unasked(|episode| episode.place.is_some_and(|place| place != Place::Unknown)),
        );
    }

    /// Packets sent again that no NAK asked for, in the episodes that are `of` those: they may be lost behind the tap, and no answer shows it.
    fn unasked(&self, of: impl Fn(&Episode) -> bool) -> u64 {
        let Some(recovery) = self.more.as_ref().and_then(|more| more.recovery.get()) else {
            return self.again_in_doubt();
        };
        if recovery.episodes_dropped > 0 {
            let triggers = &self.counts.trouble().triggers;
            let is_by_naks = triggers.iter().sum::<u32>() == triggers[Trigger::Nak as usize];
            return if is_by_naks { 0 } else { self.again_in_doubt() };
        }
        let unasked =
            recovery.episodes.iter().filter(|episode| episode.trigger != Trigger::Nak && of(episode));
        let again = unasked.map(|episode| episode.packets.saturating_sub(episode.arrived)).sum::<u64>();
        let again = again.min(self.again_in_doubt());
        // Of the last try of all, nobody asked either.
        again + if self.ends_unanswered() { self.packets_in(self.una..self.seq.hi.max(self.una)) } else { 0 }
    }

    /// What the flow and the capture are like makes some of it unsure.
    fn doubt(&mut self, config: &TrackConfig) {
        const MANY_ARE_LATE: u64 = 8;
        const TOLD_APART: u64 = 1000;
        self.reconsider_late();
        // Where packets that were only late caused NAKs, other NAKs may have this cause too and not show it.
        if let Some(trouble) = self.trouble.get()
            && trouble.late_behind.saturating_mul(8).saturating_add(trouble.late_again_behind)
                > trouble.lost_behind_sure
        {
            self.none_is_proved(Place::Downstream);
        }
        let late = self.counts.of(Class::LateOriginal) + self.counts.of(Class::Ambiguous);
        let latest = self.latest_ns();
        // Nothing comes as late as an answer could make it come: what was late and what was retransmitted are told apart, but for one in many.
        let is_told_apart = self.rtt_min.is_some_and(|rtt| 2 * latest <= rtt.into());
        let beside_one = if is_told_apart { TOLD_APART } else { MANY_ARE_LATE };
        // Where so many packets are late, as between links whose clocks are apart, the order at the tap is not that of the receiver. Nor
        // are few losses proved beside many that were late.
        let [shown, _] = self.counts.lost_at(Place::Downstream).get();
        if late > self.counts.packets / MANY_ARE_LATE && !is_told_apart || late > beside_one * shown {
            let is_in_order =
                self.seq.recovery_mode() == report::RecoveryMode::GoBackN && self.counts.is_order_of_tap();
            let lacked_long = |ns| ns >= latest.saturating_mul(2);
            self.are_proved(Place::Downstream, |episode| {
                episode.lacked_ns.is_some_and(lacked_long) || is_in_order && episode.is_last
            });
        }
        // Where a sender goes back, its receiver takes packets in their order, and would ask for so many that are late: they are late at the
        // tap only. What fills a hole there was sent again if it was asked for. Otherwise it may have come by the other link.
        if late > self.counts.packets / MANY_ARE_LATE
            && self.seq.recovery_mode() == report::RecoveryMode::GoBackN
        {
            self.are_proved(Place::Upstream, |episode| episode.trigger == Trigger::Nak);
        }
        // Packets that are late by a round trip may come behind the NAK that asks for them.
        let is_by_round_trips = self.rtt_min.is_some_and(|rtt| latest >= rtt.into());
        let is_unclear = self.counts.of(Class::Ambiguous) > late / 2;
        let [shown, _] = self.counts.lost_at(Place::Upstream).get();
        let is_by_id =
            |&(class, by, _): &(Class, Evidence, u64)| (class, by) == (Class::LateOriginal, Evidence::IpId);
        let by_id: u64 = self.counts.evidence().filter(is_by_id).map(|(_, _, packets)| packets).sum();
        if late > self.counts.packets / MANY_ARE_LATE && (is_by_round_trips || is_unclear)
            || late.saturating_sub(by_id) > beside_one * shown
        {
            self.none_is_proved(Place::Upstream);
        }
        // By the time alone, a packet that is late may have been retransmitted.
        let by_time = self
            .counts
            .evidence()
            .filter(|&(class, by, _)| (class, by) == (Class::LateOriginal, Evidence::Timer));
        let by_time: u64 = by_time.map(|(_, _, packets)| packets).sum();
        let timeouts = u64::from(self.counts.trouble().triggers[Trigger::Timeout as usize]);
        self.counts.lost(Place::Upstream, 0, if by_time > 0 { by_time + timeouts } else { 0 });
        let [late_soon, copied_soon] = self.too_soon();
        self.counts.lost(Place::Upstream, 0, late_soon);
        self.counts.lost(Place::Downstream, 0, copied_soon);
        let resent = self.counts.of(Class::Retransmission);
        if config.is_sparse || self.seq.is_sparse() {
            // Packets were sampled, or took other paths.
            [Place::Upstream, Place::Downstream].into_iter().for_each(|place| self.none_is_proved(place));
            return self.counts.nothing_sure(self.seq.hi - self.seq.base);
        }
        // Where nothing is late, the order of the records proves without their times: a NAK, and the sender that goes back for it.
        let is_in_order = late == 0 && self.seq.recovery_mode() == report::RecoveryMode::GoBackN;
        if self.has_cut_reads() {
            self.none_is_proved(Place::Downstream);
        } else if config.is_coarse {
            let is_asked = |episode: &Episode| episode.trigger == Trigger::Nak && episode.is_last;
            self.are_proved(Place::Downstream, |episode| is_in_order && is_asked(episode));
        }
        if config.is_coarse {
            if !is_in_order {
                self.none_is_proved(Place::Upstream);
            }
            self.counts.widen(Place::Downstream, resent);
            // What seemed to be late may have been sent again within one step of the clock.
            self.counts.lost(Place::Upstream, 0, late.saturating_sub(by_id + by_time));
        }
        if resent == 0 {
            return;
        }
        if self.early_answers().is_some() {
            // In which order packets and answers passed, the capture does not show. That of packets is proof enough for a sender that goes back.
            self.none_is_proved(Place::Downstream);
            if !is_in_order {
                self.none_is_proved(Place::Upstream);
            }
            // What seems to be acknowledged before it comes again may have waited for that.
            let [_, answered] = self.counts.lost_at(Place::AckPath).get();
            self.counts.lost(Place::Downstream, 0, answered);
        }
        // Where nothing else proves a loss there, the capture may have missed what was passed over.
        let [shown, _] = self.counts.lost_at(Place::Upstream).get();
        if self.misses(config) || shown <= self.sure_by_order() {
            self.counts.doubt(Place::Upstream, self.sure_by_order());
        }
        let missed = self.missed();
        if missed > 0 {
            // What the capture missed may have been lost before, and what was lost may look missed. A NAK proves a loss, if not where.
            let asked = self.trouble.get().map_or(0, |trouble| trouble.asked_unseen);
            self.none_is_proved(Place::Upstream);
            self.counts.lost(Place::Unknown, asked.into(), asked.into());
            for place in [Place::Upstream, Place::Downstream] {
                self.counts.lost(place, 0, missed);
            }
        } else if self.acks_seen == 0 && self.seq.rare.holes.psns() > 0 {
            // Without acknowledgements, what was never seen may have been missed by the capture.
            self.none_is_proved(Place::Upstream);
        }
    }

    /// Whether nothing answered the last packets, although they were retransmitted after a timeout.
    fn ends_unanswered(&self) -> bool {
        let last = self.more.as_ref().and_then(|more| more.recovery.get()?.episodes.last());
        last.is_some_and(|last| last.trigger == Trigger::Timeout && last.recovered.is_none())
    }

    /// None of the losses at this place that counted as proved is.
    fn none_is_proved(&mut self, place: Place) {
        self.counts.doubt_all(place);
        let recovery = self.more.as_mut().and_then(|more| more.recovery.get_mut());
        for episode in recovery.into_iter().flat_map(|recovery| &mut recovery.episodes) {
            if episode.place == Some(place) && !episode.is_of_data {
                episode.certain = false;
            }
        }
    }

    /// Of the losses at this place that count as proved, only these are.
    fn are_proved(&mut self, place: Place, is_proved: impl Fn(&Episode) -> bool) {
        let is_kept = |episode: &Episode| {
            let is_there = episode.place == Some(place) && !episode.is_of_data;
            is_there && episode.certain && is_proved(episode)
        };
        let recovery = self.more.as_ref().and_then(|more| more.recovery.get());
        let kept: Vec<bool> =
            recovery.into_iter().flat_map(|recovery| &recovery.episodes).map(is_kept).collect();
        self.none_is_proved(place);
        self.counts.proved_after_all(place, kept.iter().filter(|&&kept| kept).count() as u32);
        let recovery = self.more.as_mut().and_then(|more| more.recovery.get_mut());
        let episodes = recovery.into_iter().flat_map(|recovery| &mut recovery.episodes);
        episodes.zip(kept).for_each(|(episode, kept)| episode.certain |= kept);
    }

    /// What was lost behind the tap was sent again, or is not acknowledged: no more was lost there.
    fn bound_by_sent(&mut self) {
        let passed = self.counts.packets.saturating_sub(self.counts.of(Class::CaptureDuplicate));
        self.counts.cap(Place::Downstream, passed);
        if self.una == 0 || self.counts.of(Class::Resync) > 0 {
            return;
        }
        let most = self.not_known_to_arrive();
        self.counts.cap(Place::Downstream, most);
    }

    /// Packets that were sent again, are not acknowledged, or missed, so that they need not have arrived.
    fn not_known_to_arrive(&self) -> u64 {
        // What was only late came once: it arrived, or was sent again.
        let late = self.trouble.get().map_or(0, |trouble| trouble.late_again);
        let [_, copied_soon] = self.too_soon();
        let again = self.again_in_doubt() + late + self.counts.of(Class::Ambiguous) + copied_soon;
        let outstanding = self.packets_in(self.una..self.seq.hi.max(self.una));
        let [_, missed] = self.counts.lost_at(Place::Capture).get();
        again + outstanding + missed
    }

    /// Atomics that were sent again, or whose answer may still come: of each result that was lost, one.
    pub(crate) fn atomics_again_or_waiting(&self) -> u64 {
        let again =
            [Class::Retransmission, Class::LateOriginal, Class::Ambiguous].map(|class| self.counts.of(class));
        let outstanding = self.packets_in(self.una..self.seq.hi.max(self.una)).min(self.counts.packets);
        let others = self.trouble.get().map_or(0, |trouble| trouble.others_again);
        again.iter().sum::<u64>().saturating_sub(others).saturating_add(outstanding)
    }

    /// So many answers to atomics passed the tap, and their requester asked again, or still may: it has sent little since.
    pub(crate) fn results_again_or_waiting(&self) -> u64 {
        let Some(reads) = self.reads.get() else { return 0 };
        let since = self.seq.last_time - self.rtt_min.map_or(START_NS, i64::from);
        let may_ask = |read: &&Read| read.is_atomic && read.results > 0 && read.came > since;
        let waiting: u64 = reads.list.iter().filter(may_ask).map(|read| u64::from(read.results)).sum();
        let outstanding = self.packets_in(self.una..self.seq.hi.max(self.una)).min(self.counts.packets);
        reads.results_again.saturating_add(waiting).saturating_add(outstanding)
    }

    /// How many of so many results that came again may have been lost behind the tap, if `losses` show there, beside `others` that arrived: who
    /// lacks one takes none behind it, lost or not.
    pub(crate) fn results_may_be_lost(&self, again: u64, losses: u64, others: u64) -> u64 {
        let is_whole = !self.is_apart() && !self.seq.is_sparse() && self.missed() == 0;
        // Who waits for one result at a time notices by its timer that one was lost.
        let timers = self.timers_in_doubt();
        let most = if is_whole { may_be_lost(again, losses + timers, others) } else { None };
        // More than one may be lost at a time, where not all wait for one.
        most.map_or(again, |most| again.min(most.saturating_add(losses).saturating_mul(2) + timers))
    }

    /// Timeouts, and what looks like some, of which it does not show that the request was lost, or where else.
    fn timers_in_doubt(&self) -> u64 {
        let by_timers = [Trigger::Timeout, Trigger::Unknown];
        let triggers = &self.counts.trouble().triggers;
        let all: u64 = by_timers.iter().map(|&by| u64::from(triggers[by as usize])).sum();
        let recovery = self.more.as_ref().and_then(|more| more.recovery.get());
        let episodes = recovery.into_iter().flat_map(|recovery| &recovery.episodes);
        let is_elsewhere = |episode: &&Episode| {
            by_timers.contains(&episode.trigger)
                && episode.certain
                && matches!(episode.place, Some(Place::Upstream | Place::Downstream))
                && !(episode.is_of_data || episode.is_of_result)
        };
        all.saturating_sub(episodes.filter(is_elsewhere).count() as u64)
    }

    /// So many requests for atomics passed the tap, and no answer to them did. `None` where more may have passed.
    pub(crate) fn results_unseen(&self) -> Option<u64> {
        let is_whole =
            self.missed() == 0 && self.seq.rare.holes.psns() == 0 && self.counts.of(Class::Resync) == 0;
        let reads = self.reads.get().filter(|_| is_whole)?;
        Some(reads.atomics.saturating_sub(reads.results))
    }

    /// What is behind a lost packet was perhaps lost with it: as many as that are likely at all, where the capture has all, with times. So
    /// many losses show: `shown`.
    fn bound_hidden(&mut self, shown: u64, config: &TrackConfig) {
        if !self.shows_losses(config) {
            return;
        }
        // Where answers are stamped before their questions, it does not show which losses were not behind the tap, and what seems to be acknowledged
        // before it came again may have waited for that.
        let recovery = self.more.as_ref().and_then(|more| more.recovery.get());
        let episodes = recovery.filter(|_| self.early_answers().is_some()).into_iter();
        let may_be_behind =
            episodes.flat_map(|recovery| &recovery.episodes).map(|episode| match episode.place {
                Some(Place::Upstream) => 0,
                Some(Place::AckPath) => episode.packets.saturating_add(1),
                _ => 1,
            });
        let answered: u64 = may_be_behind.sum();
        // Where NAKs made it go back, their shadows are all that is not known to have arrived.
        let again = self.unasked(|_| true);
        // Whether a repetition for another reason than a NAK arrived shows as little.
        if again > 0 {
            self.counts.trouble_mut().shadow.hide(again);
        }
        let unseen = self.missed().saturating_add(answered);
        let burst = self.trouble.get().map_or(1, |trouble| trouble.tails.longest_gap());
        if burst > 1 {
            self.counts.trouble_mut().shadow.bursts_of(burst);
        }
        let not_known = (again, self.not_known_to_arrive().max(again));
        self.counts.cap_hidden(shown.saturating_add(again), not_known, unseen, self.answers());
    }

    /// How soon it is answered. Where messages are acknowledged together, their acknowledgements wait for each other.
    fn answers(&self) -> Answers {
        /// Of fewer, the median tells little.
        const ENOUGH: u64 = 32;
        let of_acks = self.more.as_ref().and_then(|more| more.ack_rtt.all().summary());
        let of_acks = of_acks.filter(|of| of.count >= ENOUGH && self.acks_not_seen * 16 <= of.count);
        let usual = of_acks.map(|of| (of.p50 - of.min) as i64);
        Answers { shortest: self.rtt_min.map(i64::from), usual }
    }

    /// A packet behind a silence may be the repetition of one that was lost before the tap with nothing behind it. Of those that nothing follows, as
    /// many are lost as of those that others follow, whose loss shows. A silence may be the effect: how many there are tells nothing.
    fn bound_silences(&mut self, config: &TrackConfig) {
        let silences = u64::from(self.silences);
        if silences == 0 || !self.shows_losses(config) || self.loses_bursts() || self.is_apart() {
            return;
        }
        let Episodes { certain, likely } = self.counts.episodes_at(Place::Upstream);
        let timeouts = u64::from(self.counts.trouble().triggers[Trigger::Timeout as usize]);
        let [least, _] = self.counts.lost_at(Place::Upstream).get();
        let losses = least.max(u64::from(certain) + u64::from(likely)).max(timeouts);
        let last = silences.max(self.emptied.into()).min(self.counts.packets);
        let followed = self.counts.packets - last;
        let most = match self.trouble.get() {
            Some(trouble) => trouble.tails.may_be_lost(last, losses, followed),
            None => may_be_lost(last, losses, followed).unwrap_or(last),
        };
        self.counts.cap_perhaps(most);
        // Where most are followed by nothing, so is what comes again: it may be lost again, in the same silence.
        if last * 2 > self.counts.packets {
            let perhaps = self.counts.perhaps();
            let known = self.counts.packets.saturating_sub(perhaps);
            let again = may_be_lost(perhaps, perhaps, known).unwrap_or(perhaps);
            self.counts.lost(Place::Upstream, 0, again);
        }
    }

    /// Whether more losses show by timers than by what came behind a lost packet.
    fn loses_bursts(&self) -> bool {
        let triggers = &self.counts.trouble().triggers;
        let of = |trigger| triggers[trigger as usize];
        of(Trigger::Timeout) > of(Trigger::Nak) + of(Trigger::ImpliedNak)
    }

    /// Whether the capture shows most losses of the flow, and they are a matter of chance.
    fn shows_losses(&self, config: &TrackConfig) -> bool {
        const FEW_MISSED: u64 = 16;
        !config.is_coarse
            && !config.is_sparse
            && !self.seq.is_sparse()
            && !self.has_cut_reads()
            && self.una > 0
            && self.counts.of(Class::Resync) == 0
            // Of few packets that were missed, few can be what shows another loss.
            && self.missed().saturating_mul(FEW_MISSED) <= self.counts.packets
            // Where all is lost at the end, that is no matter of chance.
            && !self.ends_unanswered()
    }

    /// The READ that was just requested again from this PSN on begins before it: its requester has the responses before it. The request before
    /// asked for this one too.
    pub(crate) fn has_part_of(&self, psn: Psn) -> bool {
        let x = self.seq.unwrap(psn);
        let has = |read: &Read| read.first < x && x < read.due_before;
        self.reads.get().and_then(|reads| reads.at(x)).is_some_and(has)
    }

    /// When an acknowledgement of what is behind the READ that was just requested again first passed the tap, since it was last requested.
    pub(crate) fn passed_over(&self, psn: Psn) -> Option<i64> {
        let reads = self.reads.get()?;
        let read = reads.at(self.seq.unwrap(psn))?;
        Some(read.over_before).filter(|&over| read.again_before > 0 && over > read.again_before)
    }

    /// When the READ that was just requested again was requested before.
    pub(crate) fn asked_before(&self, psn: Psn) -> i64 {
        let x = self.seq.unwrap(psn);
        let read = self.reads.get().and_then(|reads| reads.at(x));
        read.map_or(0, |read| read.time.max(read.again_before))
    }

    /// Whether a response to the READ that was just requested again from this PSN on passed the tap since it was last requested.
    pub(crate) fn was_answered(&self, psn: Psn) -> bool {
        let x = self.seq.unwrap(psn);
        let read = self.reads.get().and_then(|reads| reads.at(x));
        // What was on its way when it was requested answers the time before.
        let is_to_it = |read: &Read| read.was_repeated || read.reach_before <= x && !self.has_crossed(read);
        read.is_none_or(|read| read.next_before > x && is_to_it(read))
    }

    /// Whether what answered the READ or atomic that was just requested again came sooner after it had been requested again before than answers can:
    /// it was of the request before that, and crossed it.
    fn has_crossed(&self, read: &Read) -> bool {
        let soonest = self.rtt_min.map_or(0, |rtt| i64::from(rtt) / 8 * 7);
        read.again_before > 0 && read.came_before > 0 && read.came_before - read.again_before < soonest
    }

    /// The responses of the READ that was just requested again for the first time, from its beginning, if none of them passed the tap, and an answer to
    /// what is behind it did: they had been sent before.
    pub(crate) fn executed(&self, psn: Psn) -> u64 {
        let Some(reads) = self.reads.get() else { return 0 };
        let Some(read) = reads.place(self.seq.unwrap(psn)).and_then(|at| reads.list.get(at)) else {
            return 0;
        };
        let is_first = read.again_before == 0 && !read.answered && self.seq.unwrap(psn) == read.first;
        let is_executed = is_first && (self.una >= read.end || reads.is_answered_behind(read));
        if is_executed { read.end - read.first } else { 0 }
    }

    /// Where the answer was lost to the atomic that was just requested again, since an answer to what is behind it came: answers come in order.
    /// `None` if that is not known.
    pub(crate) fn lost_result(&self, psn: Psn, time: i64) -> Option<DataLoss> {
        let x = self.seq.unwrap(psn);
        let reads = self.reads.get()?;
        let at = reads.place(x)?;
        let read = reads.list.get(at).filter(|read| (read.first, read.end) == (x, x + 1))?;
        let came = Some(read.came_before).filter(|&came| came > 0);
        let is_tidy = !self.is_apart() && !self.is_untidy() && self.is_answered_behind(psn);
        let reaction = self.fastest_reaction().unwrap_or(0);
        match came {
            // It asks for what it had not got when an answer from behind it came, and that had passed the tap before.
            Some(came) => {
                let is_passed_over = reads.last_time > came || reads.acked.1 > came;
                // Nor had it refused it, for lack of one before, or asked before it came.
                let before = at.checked_sub(1).and_then(|at| reads.list.get(at));
                let is_refused = before.is_some_and(|before| before.came.max(before.came_before) > came);
                let was_over = (1..came).contains(&read.over_before);
                let is_due = is_passed_over && !is_refused && !was_over && !self.has_crossed(read);
                let is_sure = is_tidy && is_due && time - came >= reaction - reaction / 4;
                Some(DataLoss { place: Place::Downstream, is_sure, is_result: true, sent: None })
            }
            None if read.again_before == 0 && !read.answered => {
                Some(DataLoss { place: Place::Upstream, is_sure: is_tidy, is_result: true, sent: None })
            }
            None => None,
        }
    }

    /// Whether an answer to anything behind this PSN passed the tap.
    pub(crate) fn is_answered_behind(&self, psn: Psn) -> bool {
        let Some(reads) = self.reads.get() else { return false };
        let x = self.seq.unwrap(psn);
        let is_behind = |read: &Read| read.answered && (read.next > x + 1 || read.next_before > x + 1);
        self.una > x + 1 || reads.acked.0 > x || reads.list.iter().any(is_behind)
    }

    /// Whether the READ that was just requested again was answered so late that a timer had expired: its answers may have crossed the request.
    pub(crate) fn may_have_crossed_before(&self, psn: Psn) -> bool {
        let Some(reads) = self.reads.get() else { return false };
        let read = reads.place(self.seq.unwrap(psn)).and_then(|at| reads.list.get(at));
        read.zip(self.rtt_min).is_some_and(|(read, rtt)| {
            let asked = read.time.max(read.again_before);
            read.came_before - asked > 4 * i64::from(rtt)
                && read.again - read.came_before < read.came_before - asked
        })
    }

    /// Whether the network was seen to reorder packets of it, before the tap or behind it.
    pub(crate) fn is_reordered(&self) -> bool {
        self.counts.of(Class::LateOriginal) > 0
            || self.trouble.get().is_some_and(|trouble| trouble.late_behind > 0)
    }

    /// Whether packets of it were overtaken, damaged or recorded twice.
    pub(crate) fn is_untidy(&self) -> bool {
        self.is_reordered() || self.counts.are_untidy()
    }

    /// Losses of the answers to atomics are not proved.
    pub(crate) fn results_are_not_proved(&mut self) {
        let recovery = self.more.as_mut().and_then(|more| more.recovery.get_mut());
        let episodes = recovery.into_iter().flat_map(|recovery| &mut recovery.episodes);
        episodes.filter(|episode| episode.is_of_result).for_each(|episode| episode.certain = false);
    }

    /// Nor are those of responses to READs that were asked for at once, since packets overtake each other behind the tap.
    pub(crate) fn data_is_not_proved(&mut self) {
        let recovery = self.more.as_mut().and_then(|more| more.recovery.get_mut());
        let episodes = recovery.into_iter().flat_map(|recovery| &mut recovery.episodes);
        let is_it = |episode: &&mut Episode| {
            episode.is_of_data
                && !episode.is_of_result
                && episode.place == Some(Place::Downstream)
                && episode.trigger != Trigger::Timeout
        };
        episodes.filter(is_it).for_each(|episode| episode.certain = false);
    }

    /// The responses that the READ with this PSN has from there on.
    pub(crate) fn rest_of(&self, psn: Psn) -> u64 {
        let x = self.seq.unwrap(psn);
        let read = self.reads.get().and_then(|reads| reads.at(x));
        read.map_or(0, |read| read.end.saturating_sub(x))
    }

    /// The responses that READs from this PSN on may have.
    pub(crate) fn responses_from(&self, psn: Psn) -> u64 {
        let x = self.seq.unwrap(psn);
        self.reads_from(x).map(|read| read.end.saturating_sub(read.first.max(x))).sum()
    }
}
