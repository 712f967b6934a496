//! What the time of slow flows went to.

use super::{
    Confidence, Space, TimeCause, clean,
    units::{duration, percent},
};

records! {
    /// A flow of requests that its sender sends for less than four fifths of its time: from the first packet to the last one, or to the
    /// last answer. Where most bytes are the data of READs, it is the flow of that data, from the first response to the last one. The
    /// shares add up to that time.
    pub struct SlowFlow {
        /// The flow, as an index into [`Report::flows`](super::Report::flows).
        pub flow: usize,
        /// Its source address.
        pub src: String,
        /// Its destination address.
        pub dst: String,
        /// The queue pair that it goes to.
        pub dest_qp: u32,
        /// Whether it is about its requests, or about the READ responses that it carries.
        pub space: Space,
        /// Its time, in nanoseconds.
        pub lasted_ns: u64,
        /// Bytes of these on the wire, with preamble, frame check sequence and inter-frame gap.
        pub wire_bytes: u64,
        /// These over its time, in bits per second.
        pub rate_bps: u64,
        /// The verdict: the cause that takes at least half of the time in which it does not send; `None` if no cause does.
        pub verdict: Option<TimeCause>,
        /// Nanoseconds lost to pauses, CNPs, losses, and peers that were not ready or slow.
        pub lost_ns: u64,
        /// What its time went to, the largest share first.
        pub shares: Vec<TimeShare>,
    }

    /// A share of a flow's time.
    pub struct TimeShare {
        /// What it went to.
        pub cause: TimeCause,
        /// Nanoseconds.
        pub ns: u64,
        /// These over the flow's time: 0 to 1.
        pub ratio: f64,
        /// How sure that is.
        pub confidence: Confidence,
        /// The evidence for it.
        pub evidence: String,
        /// The frame that ended the longest silence of this cause.
        pub frame: Option<u64>,
    }
}

impl TimeCause {
    /// Whether it is something that goes wrong, and not just how the application and the path are.
    pub(crate) const fn is_trouble(self) -> bool {
        !matches!(
            self,
            TimeCause::Sending
                | TimeCause::Idle
                | TimeCause::Waiting
                | TimeCause::LinkFull
                | TimeCause::Unknown
        )
    }

    /// The words for it in text, about requests or about the data of READs.
    pub const fn words_for(self, space: Space) -> &'static str {
        match self {
            TimeCause::Idle if matches!(space, Space::Response) => "no READ outstanding",
            TimeCause::Waiting if matches!(space, Space::Response) => "waiting for READs",
            other => other.words(),
        }
    }
}

/// Most shares of a flow that are written in its line.
const MAX_SHARES: usize = 4;
/// A flow that lost a smaller share of its time is not worth a line: so many hundredths.
const WORTH_A_LINE: u64 = 10;

impl SlowFlow {
    /// Whether it lost so much of its time to trouble that it is worth a line.
    pub fn lost_much(&self) -> bool {
        self.lost_ns.saturating_mul(100) >= self.lasted_ns.saturating_mul(WORTH_A_LINE)
    }

    /// The flow, and what its time went to.
    pub fn sentence(&self) -> String {
        format!(
            "#{} {} → {} QP {:#x}{}, {}: {}",
            self.flow,
            clean(&self.src),
            clean(&self.dst),
            self.dest_qp,
            if self.space == Space::Response { ", READ data" } else { "" },
            duration(self.lasted_ns),
            self.words()
        )
    }

    /// The shares of its time in one line.
    fn words(&self) -> String {
        let named = self
            .shares
            .iter()
            .map(|share| format!("{} {}", share.cause.words_for(self.space), percent(share.ratio)));
        let mut text = named.take(MAX_SHARES).collect::<Vec<_>>().join(", ");
        if self.shares.len() > MAX_SHARES {
            let rest: f64 = self.shares.iter().skip(MAX_SHARES).map(|share| share.ratio).sum();
            text += &format!(", others {}", percent(rest));
        }
        text
    }
}
