//! Reports of several captures, each by itself, and what they add up to.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Report, Severity, View, figure::Column};
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
        /// Flows.
        pub flows: u64,
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
        Set { schema: SCHEMA.into(), reports: Vec::new(), summaries, total }
    }
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
            flows: report.flows.len() as u64,
            cnps: report.head.congestion.cnps,
            ce_packets: report.head.congestion.ce_packets,
            errors: severity(Severity::Error),
            warnings: severity(Severity::Warning),
            problems: report.head.capture.problems.len() as u64,
            ..Totals::default()
        };
        let mut sums = [
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
    pub(super) fn columns(&self) -> [(&'static str, u64); 13] {
        [
            ("packets", self.packets),
            ("RDMA", self.rdma_packets),
            ("flows", self.flows),
            ("errors", self.errors),
            ("warnings", self.warnings),
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
        sums! { self += other: packets, rdma_packets, flows, retransmits, out_of_order, capture_duplicates, naks }
        sums! { self += other: rnr_naks, timeouts, cnps, ce_packets, errors, warnings, problems }
    }
}
