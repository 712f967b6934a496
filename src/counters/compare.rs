//! What a host counted beside what it must have counted.

use serde::Serialize;

use super::{
    bounds::{HostCounters, Prediction, Reason},
    fact::Fact,
    reading::Reading,
};
use crate::report::units::{count, several};

/// Whether a counter agrees with the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// It grew by what the capture shows.
    Equal,
    /// It grew by another number, within the bounds.
    Possible,
    /// It contradicts the capture.
    Contradicts,
    /// It was reset between the two readings.
    Unknown,
}

/// A counter, and its prediction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// What it must have grown by.
    #[serde(flatten)]
    pub prediction: Prediction,
    /// Its value before.
    pub before: u64,
    /// Its value after.
    pub after: u64,
    /// What it grew by.
    pub actual: Option<u64>,
    /// Whether that agrees.
    pub verdict: Agreement,
    /// Where a difference from what the capture shows comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
}

/// Compares the counters of a host that both readings have.
pub fn compare(host: &HostCounters, before: &Reading, after: &Reading) -> Vec<Compared> {
    let one = |prediction: &Prediction| {
        let names = prediction.name.split('+');
        let both = names.filter_map(|name| Some((name, before.get(name)?, after.get(name)?)));
        let (mut sums, mut grown, mut has_wrapped, mut any) = ((0u64, 0u64), Some(0u64), false, false);
        for (_, before, after) in both {
            any = true;
            sums = (sums.0.saturating_add(before), sums.1.saturating_add(after));
            let growth = growth(before, after);
            has_wrapped |= after < before;
            grown = grown.zip(growth).map(|(sum, growth)| sum.saturating_add(growth));
        }
        any.then(|| Compared::new(prediction, host.is_at_tap, sums, grown, has_wrapped))
    };
    let mut all: Vec<Compared> = host.counters.iter().filter_map(one).collect();
    if are_swapped(&all) {
        let text = "it became smaller, as others did: the readings before and after are swapped, or the counters were reset";
        for one in all.iter_mut().filter(|one| one.after < one.before) {
            (one.actual, one.verdict, one.explanation) = (None, Agreement::Unknown, Some(text.to_owned()));
        }
    }
    if all.iter_mut().any(|one| one.end_with_queue_pairs(host.is_at_tap)) {
        all.iter_mut().for_each(Compared::lose_work);
    }
    all
}

/// Whether counters run backwards: several became smaller, by less than half of what they count to, and none grew.
fn are_swapped(all: &[Compared]) -> bool {
    let is_back = |one: &&Compared| one.after < one.before && one.actual.is_none_or(|grown| grown > 1 << 31);
    let back = all.iter().filter(is_back).count();
    back > 1 && all.iter().filter(|one| one.after != one.before).count() == back
}

/// Counters of queue pairs have 32 bits in several adapters, and wrap.
fn growth(before: u64, after: u64) -> Option<u64> {
    match after.checked_sub(before) {
        Some(growth) => Some(growth),
        None => (1u64 << 32).checked_sub(before)?.checked_add(after),
    }
}

impl Compared {
    fn new(
        prediction: &Prediction,
        is_at_tap: bool,
        (before, after): (u64, u64),
        actual: Option<u64>,
        has_wrapped: bool,
    ) -> Compared {
        let verdict = match actual {
            None => Agreement::Unknown,
            Some(actual) if actual == prediction.seen => Agreement::Equal,
            Some(actual) if actual < prediction.least => Agreement::Contradicts,
            Some(actual) if prediction.most.is_some_and(|most| actual > most) => Agreement::Contradicts,
            Some(_) => Agreement::Possible,
        };
        let mut explanation = match actual {
            None => Some("it became smaller: it was reset between the readings".to_owned()),
            Some(actual) => explain(prediction, is_at_tap, actual, verdict),
        };
        if has_wrapped && let Some(text) = &mut explanation {
            text.push_str("; it passed 2^32 between the readings, or was reset");
        }
        Compared { prediction: prediction.clone(), before, after, actual, verdict, explanation }
    }

    /// Whether the host counted fewer packets than it was handed because it had destroyed queue pairs before their last answers
    /// came. Elsewhere, packets may have been lost too.
    fn end_with_queue_pairs(&mut self, is_at_tap: bool) -> bool {
        let Compared { prediction, actual, verdict, .. } = self;
        let lacks = prediction.seen.saturating_sub(actual.unwrap_or(prediction.seen));
        let most = if is_at_tap || prediction.trailing == 0 { prediction.trailing } else { u64::MAX };
        let is_so = (1..=most).contains(&lacks);
        if is_so && is_at_tap && *verdict == Agreement::Contradicts {
            *verdict = Agreement::Possible;
            self.explanation = Some(format!(
                "{lacks} fewer: {} came after the host's last request over their queue pair; it was destroyed before all of \
                 them had come",
                several(prediction.trailing, "answer")
            ));
        }
        is_so
    }

    /// What was posted to such a queue pair ends with it, sent or not.
    fn lose_work(&mut self) {
        let more = self.actual.unwrap_or(0).saturating_sub(self.prediction.seen);
        if self.prediction.fact == Fact::SendsDone && self.verdict == Agreement::Contradicts && more > 0 {
            self.verdict = Agreement::Possible;
            self.explanation =
                Some(format!("{more} more: work that was not sent yet when its queue pair was destroyed"));
        }
    }
}

/// Where an event comes from.
enum EventSide {
    /// A packet of the host.
    Sends,
    /// A packet that the host was handed.
    Receives,
    /// Something inside the host.
    Inside,
}

fn side(fact: Fact) -> EventSide {
    match fact {
        Fact::Sent
        | Fact::OutOfSequence
        | Fact::RnrSent
        | Fact::CnpsSent
        | Fact::LossCnps
        | Fact::Resent
        | Fact::ResentBytes => EventSide::Sends,
        Fact::Timeouts
        | Fact::ImpliedNaks
        | Fact::Rewinds
        | Fact::SendsDone
        | Fact::ReceivesDone
        | Fact::Exhausted
        | Fact::RnrExhausted
        | Fact::Local => EventSide::Inside,
        _ => EventSide::Receives,
    }
}

/// Whether one of the reasons for which the capture cannot show the figure itself is what a difference within the bounds means by
/// its side: else nothing shows where it comes from, and it merely fits.
fn says_where(prediction: &Prediction, is_more: bool) -> bool {
    let has = |reasons: &[Reason]| reasons.iter().any(|reason| prediction.why.contains(reason));
    match (side(prediction.fact), is_more) {
        (EventSide::Sends, true) => has(&[Reason::LostBefore]),
        (EventSide::Receives, true) => has(&[Reason::Copies, Reason::MarkedAfter, Reason::CorruptedAfter]),
        (EventSide::Receives, false) => has(&[Reason::LostAfter, Reason::Unanswered]),
        (EventSide::Sends, false) | (EventSide::Inside, _) => false,
    }
}

/// What a difference means: lost before the tap, lost in the host, another path, not in the capture.
fn explain(prediction: &Prediction, is_at_tap: bool, actual: u64, verdict: Agreement) -> Option<String> {
    let (seen, n) = (prediction.seen, actual.abs_diff(prediction.seen));
    if n == 0 {
        return None;
    }
    let is_more = actual > seen;
    if verdict == Agreement::Possible && !says_where(prediction, is_more) {
        let why: Vec<&str> = prediction.why.iter().map(|reason| reason.name()).collect();
        let why = if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) };
        return Some(format!("it fits the prediction{why}"));
    }
    let is_copied = verdict == Agreement::Possible && prediction.why.contains(&Reason::Copies);
    let is_unanswered = verdict == Agreement::Possible && prediction.why.contains(&Reason::Unanswered);
    let text = match (side(prediction.fact), is_more, is_at_tap) {
        (EventSide::Sends, true, false) => "lost between the host and the tap, or sent by another path",
        (EventSide::Sends, true, true) => {
            "not in the capture: sent before or after it, by another path, or lost by the capture"
        }
        (EventSide::Sends, false, _) => {
            "in the capture and not counted: the readings span less time than the capture, or another host uses the address"
        }
        (EventSide::Receives, true, _) if is_copied => "duplicated between the tap and the host",
        (EventSide::Receives, true, false) => {
            "not seen at the tap: by another path, changed after the tap, or before or after the capture"
        }
        (EventSide::Receives, true, true) => {
            "not in the capture: before or after it, by another path, or lost by the capture"
        }
        (EventSide::Receives, false, false) => {
            "seen at the tap and not counted: lost between the tap and the host, or in the host"
        }
        (EventSide::Receives, false, true) if is_unanswered => {
            "lost in the host: their queue pair was destroyed"
        }
        (EventSide::Receives, false, true) => {
            "lost in the host, between its port and the transport; or their queue pair was destroyed"
        }
        (EventSide::Inside, true, _) => {
            "inside the host, without a packet that shows it: work that ended with its queue pair, timers"
        }
        (EventSide::Inside, false, _) => "in the capture and not counted by the host",
    };
    Some(format!("{} {}: {text}", count(n), if is_more { "more" } else { "fewer" }))
}
