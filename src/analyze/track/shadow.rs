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
    /// The latest of them.
    asked: VecDeque<AskedFor>,
}

heap! { Shadow { asked } AskedFor {} }

/// A packet that had passed the tap, and that the receiver asked for.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct AskedFor {
    /// So many nanoseconds after the two packets behind it.
    pub(crate) after: [Option<i64>; 2],
    /// So many packets behind it may be lost with it.
    pub(crate) behind: u64,
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

    /// The most packets that were lost behind the tap: those of `most` that are in no shadow, and of those in shadows as many as
    /// [`may_be_lost`]. `None` where losses come in clumps, or nothing is known of that: then any of them may be lost.
    ///
    /// `losses` were seen among `sent` packets, of which `again` are not known to have arrived. A receiver answers in `rtt` at best, if
    /// that is known otherwise.
    pub(crate) fn most(
        &self,
        most: u64,
        losses: u64,
        (sent, again): (u64, u64),
        rtt: Option<i64>,
    ) -> Option<u64> {
        /// Losses of which one is followed by a packet that arrived: the times to the question for them are not equal by chance.
        const SOME: u32 = 2;
        let own = self.own();
        let before: Vec<i64> = self.fastest.into_iter().flatten().collect();
        // Nobody answers in much less than a round trip: such a question was for another loss.
        let before = confirmed(&before).filter(|&ns| rtt.is_none_or(|rtt| 2 * ns > rtt));
        let by_rtt = || rtt.map(|rtt| own.map_or(rtt, |own| own.min(rtt)));
        let fastest = before.or_else(by_rtt).or(own.filter(|_| self.losses >= SOME));
        // It asks when the first packet arrives: the second one passed too shortly before to be that.
        let is_too_near = |ns| fastest.is_some_and(|fastest| ns < fastest);
        let is_alone = |asked: &&AskedFor| asked.after[0].is_some() && asked.after[1].is_none_or(is_too_near);
        let alone = self.asked.iter().filter(is_alone).count();
        if (self.asked.len() - alone) * 4 > self.asked.len() {
            return None;
        }
        let shadows: u64 = self.asked.iter().filter(is_alone).map(|asked| asked.behind).sum();
        let hidden = self.hidden.saturating_add(shadows);
        let open = most.saturating_sub(hidden).saturating_add(self.unanswered);
        let hidden = hidden.max(again);
        let may_be = may_be_lost(hidden, losses.max(self.losses.into()), sent.saturating_sub(hidden))?;
        Some(open.saturating_add(may_be))
    }
}

/// The shortest of these times, in order, that the next one confirms; the shortest one, if none does.
fn confirmed(times: &[i64]) -> Option<i64> {
    let is_near = |two: &&[i64]| matches!(two, [one, next] if next - one <= one / 32);
    times.windows(2).find(is_near).map(|two| two[0]).or(times.first().copied())
}

/// How many of `hidden` packets may be lost, if `losses` of the `known` ones were, and packets are lost alike and one by one: so many
/// that more are with a chance of one in two thousand. The number is distributed as a negative binomial one, with Jeffreys's prior of the
/// rate of losses. `None` where nothing follows from so few.
pub(crate) fn may_be_lost(hidden: u64, losses: u64, known: u64) -> Option<u64> {
    const CHANCE: f64 = 1.0 / 2000.0;
    /// A normal distribution has that chance beyond so many standard deviations.
    const DEVIATIONS: f64 = 3.3;
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
