//! The shadow of a loss: what is sent behind a lost packet, until the sender goes back to it. A receiver that takes packets in order only
//! drops all of that, and answers nothing: which of these packets were lost too, no capture shows.

use std::collections::VecDeque;

use super::push_last;
use crate::heap::heap;

/// What a flow shows of losses behind the tap, and how much of it is in their shadows.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Shadow {
    /// Packets in shadows, counted among those that may be lost.
    hidden: u64,
    /// Packets that may be lost without any answer: a timer expired, and not because of a NAK.
    unanswered: u64,
    /// Losses that the receiver asked for.
    losses: u32,
    /// The two shortest times from the first packet behind a lost one to the question for that, of losses before the tap, where that packet
    /// is known to have arrived.
    fastest: [Option<i64>; 2],
    /// The most packets that were lost before the tap at once.
    burst: u64,
    /// The latest of them.
    asked: VecDeque<AskedFor>,
}

heap! { Shadow { asked } AskedFor {} }

/// A packet that had passed the tap, and that the receiver asked for.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct AskedFor {
    /// So many nanoseconds after those of the packets behind it that [`BEHIND`] names.
    pub(crate) after: [Option<i64>; BEHIND.len()],
    /// The question came just behind data of READs, and may have waited for that.
    pub(crate) waited: bool,
    /// So many packets behind it may be lost with it.
    pub(crate) behind: u64,
}

/// The packets behind a lost one of which it is kept when they passed: the first, the second, and so on.
pub(crate) const BEHIND: [u64; 6] = [1, 2, 3, 5, 9, 17];

/// How soon a receiver answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers {
    /// At best.
    pub(crate) shortest: Option<i64>,
    /// So much later than that in the median, where answers wait for nothing.
    pub(crate) usual: Option<i64>,
}

impl AskedFor {
    /// So many packets behind the lost one may be lost as well, if it is the first one that arrived that makes the receiver ask, and it asks so
    /// soon at best: those before the last one that passed early enough.
    fn in_doubt(&self, fastest: Option<i64>) -> u64 {
        let [Some(mut before), ..] = self.after else { return self.behind };
        let mut early = 1;
        for (at, (n, after)) in BEHIND.into_iter().zip(self.after).enumerate() {
            // What is behind the packets of this pass passed with the one before.
            let is_late = after.is_some_and(|ns| ns > before || fastest.is_some_and(|fastest| ns < fastest));
            if n > self.behind + 1 || is_late {
                break;
            }
            (early, before) = (at + 1, after.unwrap_or(before));
        }
        BEHIND.get(early.max(1)).map_or(self.behind, |next| self.behind.min(next - 2))
    }

    /// From one packet behind it to the next, in nanoseconds.
    fn spacing(&self) -> Option<i64> {
        let [first, second, ..] = self.after;
        first.zip(second).map(|(first, second)| first - second).filter(|&ns| ns > 0)
    }
}

impl Shadow {
    /// A packet that was lost before the tap was asked for, so long after the first one behind it came.
    pub(crate) fn before(&mut self, answered: i64) {
        let [first, second] = self.fastest;
        self.fastest = match (first, second) {
            (Some(fastest), _) if answered < fastest => [Some(answered), first],
            (None, _) => [Some(answered), None],
            (_, Some(next)) if answered >= next => return,
            _ => [first, Some(answered)],
        };
    }

    /// A packet that had passed the tap was asked for.
    pub(crate) fn after(&mut self, asked: AskedFor) {
        /// More say nothing new.
        const MOST: usize = 64;
        self.losses = self.losses.saturating_add(1);
        if self.asked.len() == MOST {
            self.hide(self.asked.front().map_or(0, |asked| asked.behind));
        }
        push_last(&mut self.asked, MOST, asked);
    }

    /// So many packets were lost before the tap at once: as many may be behind it.
    pub(crate) fn bursts_of(&mut self, packets: u64) {
        self.burst = packets;
    }

    /// So many of the packets that may be lost are in a shadow.
    pub(crate) fn hide(&mut self, packets: u64) {
        self.hidden = self.hidden.saturating_add(packets);
    }

    /// A timer expired, and nothing had been asked for: all that was outstanding may be lost.
    pub(crate) fn unanswered(&mut self, packets: u64) {
        self.unanswered = self.unanswered.saturating_add(packets);
    }

    /// The shortest time in which a packet that was lost after the tap was asked for, and which another one confirms, if there are two.
    fn own(&self) -> Option<i64> {
        let mut times: Vec<i64> = self.asked.iter().filter_map(|asked| asked.after[0]).collect();
        times.sort_unstable();
        confirmed(&times)
    }

    /// The shortest time in which the receiver asks, if that is known.
    fn fastest(&self, rtt: Option<i64>) -> Option<i64> {
        /// Losses of which one is followed by a packet that arrived: the times to the question for them are not equal by chance.
        const SOME: u32 = 2;
        let own = self.own();
        let before: Vec<i64> = self.fastest.into_iter().flatten().collect();
        // Nobody answers in much less than a round trip: such a question was for another loss.
        let before = confirmed(&before).filter(|&ns| rtt.is_none_or(|rtt| 2 * ns > rtt));
        let by_rtt = || rtt.map(|rtt| own.map_or(rtt, |own| own.min(rtt)));
        before.or_else(by_rtt).or(own.filter(|_| self.losses >= SOME))
    }

    /// The most packets that were lost behind the tap: those of `most` that are in no shadow, and of those in shadows as many as
    /// [`may_be_lost`]. `None` where nothing is known of that: then any of them may be lost.
    ///
    /// `losses` were seen among `sent` packets, of which `again` at least and `not_known` at most are not known to have arrived.
    pub(crate) fn most(
        &self,
        most: u64,
        losses: u64,
        (sent, again, not_known): (u64, u64, u64),
        answers: Answers,
    ) -> Option<u64> {
        let fastest = self.fastest(answers.shortest);
        if fastest.is_none() && !self.asked.is_empty() {
            return None;
        }
        // Questions that waited behind data tell nothing of what was lost: with each of them, as many were as with the others.
        let prompt = self.asked.iter().filter(|asked| !asked.waited);
        let (kept, in_doubt) = prompt.fold((0, 0), |(n, sum), asked| (n + 1, sum + asked.in_doubt(fastest)));
        let waited: u64 =
            self.asked.iter().filter(|asked| asked.waited).map(|asked| asked.in_doubt(fastest)).sum();
        let few = self.asked.len() as u64 - kept;
        // Where all of them waited, as many as are lost at once elsewhere.
        let by_others = (few * (in_doubt + self.burst.max(1))).div_ceil(kept + 1);
        let in_doubt = in_doubt + waited.min(by_others);
        let kept = kept + few;
        let in_doubt = in_doubt.min(self.by_delays(fastest, answers).unwrap_or(u64::MAX));
        let behind: u64 = self.asked.iter().map(|asked| asked.behind).sum();
        let hidden = self.hidden.saturating_add(behind.saturating_sub(in_doubt));
        let open = most.saturating_sub(hidden).saturating_add(self.unanswered);
        // What is behind a loss, and sent again after another, is hidden twice.
        let hidden = hidden.max(again).min(not_known);
        let may_be = may_be_lost(hidden, losses.max(self.losses.into()), sent.saturating_sub(hidden))?;
        // Where one comes with others, so may those that are hidden.
        let clump = match in_doubt * 4 > kept {
            true => 1.0 + in_doubt as f64 / kept as f64,
            false => 1.0,
        };
        let may_be = (may_be as f64 * clump).ceil() as u64;
        Some(open.saturating_add(may_be.min(hidden)))
    }

    /// The most packets that were lost with those that were asked for, by how much later these were asked for than answers come otherwise.
    /// `None` where that is not known well enough.
    fn by_delays(&self, fastest: Option<i64>, Answers { usual, .. }: Answers) -> Option<u64> {
        /// Of fewer, the mean tells little.
        const ENOUGH: usize = 8;
        let (fastest, usual) = fastest.zip(usual)?;
        let times =
            || self.asked.iter().filter_map(|asked| asked.after[0]).map(|ns| (ns - fastest).max(0) as f64);
        let mut spacings: Vec<i64> = self.asked.iter().filter_map(AskedFor::spacing).collect();
        spacings.sort_unstable();
        let spacing = *spacings.get(spacings.len() / 4)? as f64;
        let n = times().count();
        if n < ENOUGH || n < self.asked.len() {
            return None;
        }
        let n = n as f64;
        let mean = times().sum::<f64>() / n;
        let variance = times().map(|ns| (ns - mean).powi(2)).sum::<f64>() / (n - 1.0);
        // Of few samples, the deviation is not known well either.
        let error = DEVIATIONS * (1.0 + 4.0 / n) * (variance / n).sqrt();
        let later = (mean - usual as f64).max(0.0) + error;
        Some((n * later / spacing).ceil() as u64)
    }
}

/// The shortest of these times, in order, that the next one confirms; the shortest one, if none does.
fn confirmed(times: &[i64]) -> Option<i64> {
    let is_near = |two: &&[i64]| matches!(two, [one, next] if next - one <= one / 32);
    times.windows(2).find(is_near).map(|two| two[0]).or(times.first().copied())
}

/// The chance that a bound of statistics is too low.
pub(crate) const CHANCE: f64 = 1.0 / 2000.0;
/// A normal distribution has that chance beyond so many standard deviations.
pub(crate) const DEVIATIONS: f64 = 3.3;

/// How many of `hidden` packets may be lost, if `losses` of the `known` ones were, and packets are lost alike and one by one: so many
/// that more are with a chance of one in two thousand. The number is distributed as a negative binomial one, with Jeffreys's prior of the
/// rate of losses. `None` where nothing follows from so few.
pub(crate) fn may_be_lost(hidden: u64, losses: u64, known: u64) -> Option<u64> {
    /// From this mean on, the distribution is as good as normal.
    const MANY: f64 = 300.0;
    if hidden == 0 {
        return Some(0);
    }
    let share = hidden as f64 / hidden.saturating_add(known) as f64;
    let shape = losses as f64 + 0.5;
    let mean = shape * share / (1.0 - share);
    if !mean.is_finite() || mean >= hidden as f64 {
        return None;
    }
    if mean > MANY {
        let deviation = (mean / (1.0 - share)).sqrt();
        return Some((mean + DEVIATIONS * deviation).ceil() as u64);
    }
    let mut chance = (1.0 - share).powf(shape);
    let (mut lost, mut more) = (0_u64, 1.0 - chance);
    while more > CHANCE && lost < hidden {
        lost += 1;
        chance *= share * (shape + lost as f64 - 1.0) / lost as f64;
        more -= chance;
    }
    Some(lost)
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_track_shadow.rs"]
mod tests;
