//! Reports of several captures, each by itself, and what they add up to.

use serde::Serialize;

use super::analysis::{Analysis, Flow, List};

/// The schema's name and number.
pub const SCHEMA: &str = "rdmawire.analysis-set/1";

/// Several reports and their sums.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Set {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// One per capture, in their order.
    pub reports: Vec<Analysis>,
    /// One per report.
    pub summaries: Vec<Totals>,
    /// All together: one transmission in two captures is there twice.
    pub total: Totals,
}

/// A report in one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Totals {
    pub files: Vec<String>,
    pub packets: u64,
    pub rdma_packets: u64,
    pub flows: u64,
    pub retransmits: u64,
    pub out_of_order: u64,
    pub capture_duplicates: u64,
    pub naks: u64,
    pub rnr_naks: u64,
    pub timeouts: u64,
    pub cnps: u64,
    pub ce_packets: u64,
    pub errors: u64,
    pub warnings: u64,
    /// Places where files are damaged.
    pub problems: u64,
}

impl Set {
    /// Puts reports together.
    pub fn new(reports: Vec<Analysis>) -> Set {
        let summaries = reports.iter().map(Totals::of).collect();
        Set { reports, ..Set::of_summaries(summaries) }
    }

    /// The same without the reports.
    pub fn of_summaries(summaries: Vec<Totals>) -> Set {
        let mut total = Totals::default();
        summaries.iter().for_each(|one| total.add(one));
        Set { schema: SCHEMA, reports: Vec::new(), summaries, total }
    }
}

impl Totals {
    /// A report's sums.
    pub fn of<C, E>(report: &Analysis<impl List<Row = Flow>, C, E>) -> Totals {
        let severity = |wanted: &str| report.findings.iter().filter(|f| f.severity == wanted).count() as u64;
        let mut totals = Totals {
            files: report.capture.files.clone(),
            packets: report.capture.packets,
            rdma_packets: report.capture.rdma_packets,
            flows: report.flows.len() as u64,
            cnps: report.congestion.cnps,
            ce_packets: report.congestion.ce_packets,
            errors: severity("error"),
            warnings: severity("warning"),
            problems: report.capture.problems.len() as u64,
            ..Totals::default()
        };
        report.flows.each_in_trouble(|_, flow| {
            totals.naks += flow.naks.total();
            totals.rnr_naks += flow.rnr_naks;
            for stream in [&flow.requests, &flow.responses] {
                totals.retransmits += stream.retransmits;
                totals.out_of_order += stream.out_of_order;
                totals.capture_duplicates += stream.capture_duplicates;
                totals.timeouts += stream.triggers.timeout;
            }
        });
        totals
    }

    fn add(&mut self, other: &Totals) {
        self.files.extend(other.files.iter().cloned());
        self.packets += other.packets;
        self.rdma_packets += other.rdma_packets;
        self.flows += other.flows;
        self.retransmits += other.retransmits;
        self.out_of_order += other.out_of_order;
        self.capture_duplicates += other.capture_duplicates;
        self.naks += other.naks;
        self.rnr_naks += other.rnr_naks;
        self.timeouts += other.timeouts;
        self.cnps += other.cnps;
        self.ce_packets += other.ce_packets;
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.problems += other.problems;
    }
}
