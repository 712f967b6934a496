//! Findings, and their common causes.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

use super::Bounds;
use crate::named;

/// Words in an order. The last one is what unknown words of a later version read as.
macro_rules! ranks {
    ($($(#[doc = $about:literal])+ $name:ident {
        $($rank:ident = $word:literal: $doc:literal,)+
    } else $last:ident = $last_word:literal: $last_doc:literal)+) => {$(
        named! {
            $(#[doc = $about])+
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
            #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
            #[non_exhaustive]
            pub enum $name {
                $(#[doc = $doc] #[serde(rename = $word)] $rank $word,)+
                #[doc = $last_doc]
                #[default]
                #[serde(rename = $last_word, other)]
                $last $last_word,
            }
        }

        vocabulary!($name, concat!($($about),+), &[$(($word, $word, $doc),)+ ($last_word, $last_word, $last_doc)]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    )+};
}

ranks! {
    /// How serious a finding is. The most serious is the least in order.
    Severity {
        Error = "error": "Packets were lost, corrupted or refused, or traffic stood still.",
        Warning = "warning": "Time was lost, or the capture itself cannot be trusted in full.",
    } else Note = "note": "Worth knowing. Unknown words of a later version read as this."

    /// How sure a conclusion is. The surest is the least in order.
    Confidence {
        Certain = "certain": "The capture proves it.",
        Likely = "likely": "Another explanation needs a rare coincidence.",
    } else Possible = "possible": "Chance may explain it too. Unknown words of a later version read as this."
}

records! {
    /// A finding: one cause, and the flows that it affects.
    #[derive(Eq)]
    pub struct Finding {
        /// How serious it is.
        pub severity: Severity,
        /// Its kind, which `rdmawire explain finding` explains: "loss.downstream".
        pub id: Cow<'static, str>,
        /// What was found, in one sentence.
        pub text: String,
        /// What to do next.
        pub next: String,
        /// Some of the frames that show it, counted from 1.
        pub frames: Vec<u64>,
        /// Index of the flow concerned into the list of flows; `None` where there is none, or more than one.
        pub flow: Option<usize>,
        /// The flows concerned, those that lost most time first. The list is cut: see `flow_count`.
        pub flows: Vec<Affected>,
        /// Number of flows concerned.
        pub flow_count: u64,
        /// Time that these flows lost by it, in nanoseconds, added up over the flows; `None` where that is not known.
        pub time_lost_ns: Option<u64>,
        /// What the flows concerned have in common, and others do not; `None` where nothing stands out.
        pub cause: Option<Cause>,
        /// The finding that this one is an effect of, as an index into the list of findings: look there first. `None` where nothing before
        /// it is known. Effects stand behind their cause in the list.
        pub effect_of: Option<usize>,
    }

    /// A flow that a finding concerns.
    #[derive(Copy, Eq)]
    pub struct Affected {
        /// Index into the list of flows.
        pub flow: usize,
        /// What the finding counts (packets, time-outs), at least and at most.
        pub count: Bounds,
        /// The losses that the capture shows, with which these packets were lost; `None` where the finding is about something else.
        pub loss_episodes: Option<u64>,
        /// Time that the flow lost by it, in nanoseconds; `None` where that is not known.
        pub time_lost_ns: Option<u64>,
    }

    /// How many of some flows a finding concerns.
    #[derive(Copy, Eq)]
    pub struct Share {
        /// Those that it concerns, or that show the same.
        pub affected: u64,
        /// All of them.
        pub flows: u64,
    }

    /// What the flows of a finding have in common. Of the properties, those are known that name the cause: flows between two
    /// hosts have `src` and `dst`, flows to one host have `dst` only.
    #[derive(Eq)]
    pub struct Cause {
        /// Source address.
        pub src: Option<String>,
        /// Destination address.
        pub dst: Option<String>,
        /// UDP source port, by which switches choose among equal paths.
        pub udp_src_port: Option<u16>,
        /// DSCP, by which switches choose the queue.
        pub dscp: Option<u8>,
        /// VLAN number.
        pub vlan: Option<u16>,
        /// Where all happened at nearly one time: when it began first, in nanoseconds since 1970-01-01 UTC.
        pub first_ns: Option<i64>,
        /// When it began last.
        pub last_ns: Option<i64>,
        /// Flows with these properties.
        pub with: Share,
        /// Flows without these properties.
        pub without: Share,
        /// How sure it is that the common property is no chance.
        pub confidence: Confidence,
    }
}
