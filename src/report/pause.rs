//! Pauses, and what they did.

use std::collections::BTreeMap;

use super::{
    PauseEnd, Reason, Summary, Why, clean,
    units::{count, duration, percent, priority, several},
};

records! {
    /// Pauses that one sender asked for at one priority.
    pub struct Pause {
        /// The interface that captured the frames.
        pub link: String,
        /// The sender's Ethernet address.
        pub sender: String,
        /// The device that it is of, as `--links` or LLDP names it.
        pub device: Option<String>,
        /// The device at which these pauses, or most time of what they are part of, began: see
        /// [`PauseTree::culprits`](super::PauseTree::culprits). It is `device` where nothing paused that.
        pub root_device: Option<String>,
        /// The priority, 0 to 7; `None` for 802.3x, which stops all priorities.
        pub priority: Option<u8>,
        /// Pause frames about this priority.
        pub frames: u64,
        /// Frames that ask for a pause.
        pub xoff: u64,
        /// Frames that end a pause.
        pub xon: u64,
        /// Frames that end a pause while there was none. Without the link's speed nobody knows whether there was one.
        pub stray_xon: Option<u64>,
        /// Frames that prolong a pause. Without the link's speed nobody knows whether it held.
        pub refreshes: Option<u64>,
        /// How many pauses there were.
        pub intervals: Option<u64>,
        /// How many of them began within a millisecond after a mark (CE) or a CNP, of any flow in the capture: the network was congested
        /// first, as with incast. A receiver that is slow by itself pauses without that. `None` where nothing is ECN-capable.
        pub after_marks: Option<u64>,
        /// Nanoseconds paused, in sum.
        pub paused_ns: Option<u64>,
        /// The longest pause in nanoseconds.
        pub longest_ns: Option<u64>,
        /// The share of the capture's time that was paused: 0 to 1.
        pub duty_ratio: Option<f64>,
        /// How many pauses ended how.
        pub ended: BTreeMap<PauseEnd, u64>,
        /// The pauses one by one, by time: the first 256 of each sender and priority at most.
        pub ledger: Vec<PauseInterval>,
        /// Pause quanta asked for, in sum: 512 bit times each.
        pub quanta: u64,
        /// The first frame about this priority, from 1.
        pub first_frame: u64,
        /// What it did to flows of this priority on this link; `None` without the link's speed, and where the capture has no packets that it
        /// could have stopped.
        pub effect: Option<PauseEffect>,
        /// Frames of this priority that the paused end sent although it was paused; `None` where the link's speed is not known, or which
        /// end sent a frame: that needs `--links` with a host's address at one end.
        pub violations: Option<PauseViolations>,
        /// How long the paused end took to stop: from the frame that began a pause to the last frame of this priority in it, in nanoseconds, as
        /// the tap sees both. A tap at the pausing end sees what that end's headroom has to hold; elsewhere it is longer by the cable between
        /// tap and pausing end, there and back. Of pauses in the first half of which such frames came, and then none.
        /// A sender that had nothing more to send counts as one that stopped, so the largest value says most. `None` as `violations` are, and
        /// where there is no such pause.
        pub response_ns: Option<Summary>,
        /// Times in which the sender paused the link without a break.
        pub storms: Option<Vec<Storm>>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// What pauses did to flows on this link: those that fell silent with them, and sent again when they were over, in most of their
    /// time. A pause that holds when the capture ends is one too.
    #[derive(Copy, Eq)]
    pub struct PauseEffect {
        /// Flows that were stopped by them: whose requests, or READ data, were silent; and flows with timeouts because of them.
        pub flows: u64,
        /// Nanoseconds of the pauses in which these flows were silent: the one that was so longest.
        pub effective_ns: u64,
        /// Messages whose sending stopped in the middle, each time that it did.
        pub messages_stopped: u64,
        /// Messages that had begun before a pause and were not acknowledged before its end, as its link shows both: each once, however many
        /// pauses it waited for. Of READ data, those in the middle of whose responses a pause began, each time.
        pub messages_spanning: u64,
        /// Retransmission timeouts, where the sender waited for the most part in a pause, on any link of its path that was captured, or
        /// retransmitted into one.
        pub timeouts: u64,
        /// Retransmitted packets after these.
        pub retransmits: u64,
    }

    /// Frames of a paused priority that came later than the paused end needs to stop: 2 µs and the time of one frame of 9,216 bytes after
    /// the frame that asked for the pause.
    #[derive(Copy, Eq)]
    pub struct PauseViolations {
        /// How many, of the InfiniBand transport.
        pub frames: u64,
        /// The first one.
        pub first_frame: Option<u64>,
        /// How long after the beginning of its pause the latest one came, in nanoseconds.
        pub latest_ns: u64,
    }

    /// One pause.
    #[derive(Copy, Eq)]
    #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
    pub struct PauseInterval {
        /// The number of the frame that began it.
        pub frame: u64,
        /// When it began, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// When it ended, in nanoseconds since 1970-01-01 UTC.
        pub end_ns: i64,
        /// How it ended.
        pub end: PauseEnd,
        /// Frames that asked for it, the first one included.
        pub frames: u64,
    }

    /// A pause storm: what a watchdog would have taken for one.
    #[derive(Copy, Eq)]
    #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
    pub struct Storm {
        /// When it began, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// When it ended, in nanoseconds since 1970-01-01 UTC.
        pub end_ns: i64,
        /// Pause frames in it.
        pub frames: u64,
        /// When the watchdog would have fired, in nanoseconds since 1970-01-01 UTC.
        pub fired_ns: i64,
        /// When it would have restored the queue, in nanoseconds since 1970-01-01 UTC; `None` if not within the capture.
        pub restored_ns: Option<i64>,
    }
}

impl Pause {
    /// What all are, in a sentence; `None` if it is not known, and why.
    pub fn sentence_of(all: Option<&[Pause]>, why: Option<&Reason>) -> String {
        let Some(all) = all else {
            return match why {
                Some(Reason::NoPfcVisibility) | None => {
                    "not known: the capture has no MAC control frames, which mirrors and most adapters do not show".into()
                }
                Some(why) => format!("not known: {}", why.words()),
            };
        };
        if all.is_empty() {
            return "none".into();
        }
        let mut text = all.iter().take(3).map(Pause::words).collect::<Vec<_>>().join("; ");
        if all.len() > 3 {
            text += &format!("; and {} more", all.len() - 3);
        }
        if all.iter().any(|p| p.paused_ns.is_none()) {
            text += " (durations need the link's speed: --speed)";
        }
        text
    }

    /// The sender's name, and its address.
    pub fn sender_name(&self) -> String {
        let sender = &self.sender;
        self.device.as_ref().map_or_else(|| sender.clone(), |device| format!("{} ({sender})", clean(device)))
    }

    fn words(&self) -> String {
        let what = priority(self.priority);
        let mut text = format!(
            "{} {} {what}: {} XOFF, {} XON",
            self.link,
            self.sender_name(),
            count(self.xoff),
            count(self.xon)
        );
        if let (Some(ns), Some(n), Some(longest)) = (self.paused_ns, self.intervals, self.longest_ns) {
            text += &format!(", paused {} in {}, longest {}", duration(ns), count(n), duration(longest));
        }
        if let Some(n) = self.after_marks.filter(|&n| n > 0) {
            text += &format!(", {} of them within 1 ms after marks or CNPs", count(n));
        }
        if let Some(duty) = self.duty_ratio {
            let ended = self
                .ended
                .iter()
                .map(|(how, n)| format!("{} {}", count(*n), how.words()))
                .collect::<Vec<_>>();
            text += &format!(" ({} of the time; ended: {})", percent(duty), ended.join(", "));
        }
        if let Some(did) = self.effect.filter(|did| did.flows > 0) {
            text += &format!(", stopped {}", several(did.flows, "flow"));
            // Flows whose timers expired in a pause need not have been silent in most of it.
            if did.effective_ns > 0 {
                text += &format!(" for up to {}", duration(did.effective_ns));
            }
            if did.timeouts > 0 {
                text += &format!(
                    " and caused {} with {}",
                    several(did.timeouts, "timeout"),
                    several(did.retransmits, "retransmitted packet")
                );
            }
        }
        if let Some(came) = self.violations.filter(|came| came.frames > 0) {
            text += &format!(
                ", not honored by {}, up to {} after its beginning",
                several(came.frames, "frame"),
                duration(came.latest_ns)
            );
        }
        if let Some(took) = self.response_ns {
            text += &format!(
                ", its peer sent for up to {} after XOFF ({})",
                duration(took.max),
                several(took.count, "pause")
            );
        }
        if let Some(n) = self.storms.as_ref().map(Vec::len).filter(|&n| n > 0) {
            text += &format!(", {}", several(n as u64, "storm"));
        }
        text
    }
}
