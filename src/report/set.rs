//! Reports of several captures, each by itself, and what they add up to.

#[cfg(feature = "cli")]
use std::collections::BTreeSet;
use std::{borrow::Cow, cmp::Reverse};

use serde::{Deserialize, Serialize};

use super::{Report, Severity, View, figure::Column, units::several};
use crate::sums::sums;

/// The name and number of the schema.
pub const SCHEMA: &str = "rdmawire.analysis-set/2";

/// Several reports and their sums.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Set {
    /// [`SCHEMA`].
    pub schema: Cow<'static, str>,
    /// One per capture, in their order.
    pub reports: Vec<Report>,
    /// One per report.
    pub summaries: Vec<Totals>,
    /// The sums over all captures. A transmission that two captures have counts twice.
    pub total: Totals,
    /// What is worst in all of them; `None` where nothing stands out.
    pub verdict: Option<SetVerdict>,
}

records! {
    /// The sums of a report.
    #[derive(Eq)]
    pub struct Totals {
        /// Names of the files.
        pub files: Vec<String>,
        /// Frames read.
        pub packets: u64,
        /// Frames with a packet of the InfiniBand transport.
        pub rdma_packets: u64,
        /// Time of the first frame, in nanoseconds since 1970-01-01 UTC.
        pub first_ns: Option<i64>,
        /// Time of the latest frame, in nanoseconds since 1970-01-01 UTC.
        pub last_ns: Option<i64>,
        /// Flows.
        pub flows: u64,
        /// Losses that the capture shows, of requests and responses.
        pub loss_episodes: u64,
        /// Retransmitted packets.
        pub retransmits: u64,
        /// Packets that came out of order.
        pub out_of_order: u64,
        /// Packets that are a second record of one transmission.
        pub capture_duplicates: u64,
        /// NAKs of all codes.
        pub naks: u64,
        /// RNR NAKs.
        pub rnr_naks: u64,
        /// Retransmission episodes after a timeout.
        pub timeouts: u64,
        /// Congestion notification packets.
        pub cnps: u64,
        /// Packets marked "congestion experienced" (CE).
        pub ce_packets: u64,
        /// Findings that are errors.
        pub errors: u64,
        /// Findings that are warnings.
        pub warnings: u64,
        /// Places where files are damaged.
        pub problems: u64,
        /// The first finding: the cause that weighs most; `None` where nothing stands out.
        pub headline: Option<Headline>,
    }

    /// What is said first of a capture.
    #[derive(Eq)]
    pub struct Headline {
        /// How serious it is.
        pub severity: Severity,
        /// The kind of finding.
        pub id: Cow<'static, str>,
        /// The finding, in one sentence.
        pub text: String,
        /// What to do next; empty where there is nothing to do.
        pub next: String,
        /// Time that flows lost by it, in nanoseconds; `None` where that is not known.
        pub time_lost_ns: Option<u64>,
    }

    /// One verdict over several captures: the most serious of their first findings, of these the one that cost most time.
    #[derive(Eq)]
    pub struct SetVerdict {
        /// The capture that shows it, as an index into the list of reports.
        pub capture: usize,
        /// What it is.
        pub headline: Headline,
        /// Captures whose first finding is of this kind, this one included.
        pub captures: u64,
        /// Some captures were made at one time: a cause may be in one of them, and its effects in another. `analyze --merge` looks at them
        /// together.
        pub is_overlapping: bool,
    }
}

impl Set {
    /// Puts reports together.
    pub fn new(reports: Vec<Report>) -> Set {
        let summaries = reports.iter().map(|report| Totals::of(&report.view())).collect();
        Set { reports, ..Set::of_summaries(summaries) }
    }

    /// Adds up what reports were, without them.
    pub fn of_summaries(summaries: Vec<Totals>) -> Set {
        let mut total = Totals::default();
        summaries.iter().for_each(|one| total.add(one));
        let verdict = SetVerdict::of(&summaries);
        Set { schema: SCHEMA.into(), reports: Vec::new(), summaries, total, verdict }
    }
}

impl SetVerdict {
    fn of(summaries: &[Totals]) -> Option<SetVerdict> {
        let headlines =
            || summaries.iter().enumerate().filter_map(|(at, one)| Some((at, one.headline.as_ref()?)));
        let weight = |headline: &Headline| (headline.severity, Reverse(headline.time_lost_ns));
        let (capture, headline) = headlines().min_by_key(|(at, headline)| (weight(headline), *at))?;
        let mut spans: Vec<_> = summaries.iter().filter_map(|one| one.first_ns.zip(one.last_ns)).collect();
        spans.sort_unstable();
        Some(SetVerdict {
            capture,
            headline: headline.clone(),
            captures: headlines().filter(|(_, other)| other.id == headline.id).count() as u64,
            is_overlapping: spans.windows(2).any(|pair| pair[1].0 < pair[0].1),
        })
    }

    /// The headline, and how many other captures begin with one of its kind.
    pub fn text(&self) -> String {
        let others = self.captures.saturating_sub(1);
        match others {
            0 => self.headline.text.clone(),
            n => format!("{}; likewise in {}", self.headline.text, several(n, "more capture")),
        }
    }

    /// What to do next, where that is more than to read the report of the capture.
    pub fn next(&self) -> Option<&'static str> {
        self.is_overlapping.then_some(
            "these captures were made at one time: if they are of one network, analyze --merge finds what is the cause in one and the effect in another",
        )
    }
}

/// The names of captures, as short as they are told apart: the last parts of their paths. Of rotated files, the first and the last.
#[cfg(feature = "cli")]
pub(super) fn names(summaries: &[Totals]) -> Vec<String> {
    let ends = |one: &Totals, parts: usize| match one.files.as_slice() {
        [] => String::new(),
        [only] => last_parts(only, parts).to_owned(),
        [first, .., last] => format!("{} to {}", last_parts(first, parts), last_parts(last, parts)),
    };
    let deepest =
        summaries.iter().flat_map(|one| &one.files).map(|path| path.split('/').count()).max().unwrap_or(1);
    let named = |parts| summaries.iter().map(|one| ends(one, parts)).collect::<Vec<_>>();
    let is_apart = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    (1..deepest).map(named).find(|names| is_apart(names)).unwrap_or_else(|| named(deepest))
}

/// The last few parts of a path.
#[cfg(feature = "cli")]
fn last_parts(path: &str, parts: usize) -> &str {
    path.rmatch_indices('/').nth(parts - 1).map_or(path, |(at, _)| &path[at + 1..])
}

impl Totals {
    /// A report's sums.
    pub fn of(report: &View<'_>) -> Totals {
        let severity =
            |wanted: Severity| report.head.findings.iter().filter(|f| f.severity == wanted).count() as u64;
        let mut totals = Totals {
            files: report.head.capture.files.clone(),
            packets: report.head.capture.packets,
            rdma_packets: report.head.capture.rdma_packets,
            first_ns: report.head.capture.first_ns,
            last_ns: report.head.capture.last_ns,
            flows: report.flows.len() as u64,
            headline: report.head.findings.first().map(|finding| Headline {
                severity: finding.severity,
                id: finding.id.clone(),
                text: finding.text.clone(),
                next: finding.next.clone(),
                time_lost_ns: finding.time_lost_ns,
            }),
            cnps: report.head.congestion.cnps,
            ce_packets: report.head.congestion.ce_packets,
            errors: severity(Severity::Error),
            warnings: severity(Severity::Warning),
            problems: report.head.capture.problems.len() as u64,
            ..Totals::default()
        };
        let mut sums = [
            (const { Column::named("loss_episodes") }, &mut totals.loss_episodes),
            (const { Column::named("retransmits") }, &mut totals.retransmits),
            (const { Column::named("out_of_order") }, &mut totals.out_of_order),
            (const { Column::named("capture_duplicates") }, &mut totals.capture_duplicates),
            (const { Column::named("naks") }, &mut totals.naks),
            (const { Column::named("rnr_naks") }, &mut totals.rnr_naks),
            (const { Column::named("timeouts") }, &mut totals.timeouts),
        ];
        report.flows.each_in_trouble(&mut |_, flow| {
            sums.iter_mut().for_each(|(figure, sum)| **sum += figure.least(flow));
        });
        totals
    }

    /// The columns of a table of captures, by their heads.
    #[cfg(feature = "cli")]
    pub(super) fn columns(&self) -> [(&'static str, u64); 14] {
        [
            ("packets", self.packets),
            ("RDMA", self.rdma_packets),
            ("flows", self.flows),
            ("errors", self.errors),
            ("warnings", self.warnings),
            ("episodes", self.loss_episodes),
            ("resent", self.retransmits),
            ("late", self.out_of_order),
            ("NAK", self.naks),
            ("RNR", self.rnr_naks),
            ("timeouts", self.timeouts),
            ("CNP", self.cnps),
            ("CE", self.ce_packets),
            ("damage", self.problems),
        ]
    }

    fn add(&mut self, other: &Totals) {
        self.files.extend(other.files.iter().cloned());
        self.first_ns = self.first_ns.into_iter().chain(other.first_ns).min();
        self.last_ns = self.last_ns.max(other.last_ns);
        sums! { self += other: packets, rdma_packets, flows, loss_episodes, retransmits, out_of_order, capture_duplicates, naks }
        sums! { self += other: rnr_naks, timeouts, cnps, ce_packets, errors, warnings, problems }
    }
}
