//! The flows of a report that a log speaks of.

use super::{End, Line};
use crate::{
    dissect::Address,
    report::{Finding, Flow, LogLine, View},
};

/// Flows that are named for a line.
const MOST_FLOWS: usize = 16;

/// Puts the errors of logs into the report: each with the flows that it can be about, and what the capture shows of them.
pub fn join(report: &mut View<'_>, errors: &[Line]) {
    let mut rows: Vec<LogLine> = errors.iter().map(row).collect();
    for (at, flow) in report.flows.iter().enumerate() {
        let ends = [(&flow.src, flow.peer_qp), (&flow.dst, Some(flow.dest_qp))]
            .map(|(address, qp)| End { address: address.parse::<Address>().ok().map(plain), qp });
        for (line, row) in errors.iter().zip(&mut rows) {
            if is_of(line, ends) {
                row.flow_count += 1;
                if row.flows.len() < MOST_FLOWS {
                    row.flows.push(at);
                }
            }
        }
    }
    let findings = &report.head.findings;
    for (line, row) in errors.iter().zip(&mut rows) {
        if let Some(finding) = explains(line, row, findings) {
            row.finding = Some(finding.id.to_string());
            row.says = Some(finding.text.clone());
            // The flow that shows it comes first.
            if let Some(at) = row.flows.iter().position(|&flow| concerns(finding, flow)) {
                row.flows[..=at].rotate_right(1);
            }
        }
    }
    let names: Vec<Option<String>> = rows
        .iter()
        .map(|row| row.flows.first().and_then(|&at| report.flows.row(at)).map(|flow| name(&flow)))
        .collect();
    for (row, name) in rows.iter_mut().zip(names) {
        row.flow = name;
    }
    report.head.to_mut().log = rows;
}

fn row(line: &Line) -> LogLine {
    let text = |end: End| match (end.address, end.qp) {
        (Some(address), Some(qp)) => Some(format!("{address} QP {qp:#x}")),
        (Some(address), None) => Some(address.to_string()),
        (None, Some(qp)) => Some(format!("QP {qp:#x}")),
        (None, None) => None,
    };
    LogLine {
        log: line.log.clone(),
        line: line.number,
        status: line.status.map(|status| status.number),
        error: line.status.map(|status| status.name.to_owned()),
        local: text(line.local),
        remote: text(line.remote),
        text: line.text.clone(),
        ..LogLine::default()
    }
}

/// Whether the line can be about a flow between these ends, or about its opposite: nothing that both know differs, and something is the same.
fn is_of(line: &Line, [from, to]: [End; 2]) -> bool {
    let fits = |local: End, remote: End| {
        let of = |said: End, is: End| [same(said.address, is.address), same(said.qp, is.qp)];
        let [a, b] = [of(line.local, local), of(line.remote, remote)];
        let known: Vec<bool> = a.into_iter().chain(b).flatten().collect();
        !known.is_empty() && !known.contains(&false)
    };
    fits(from, to) || fits(to, from)
}

/// Whether two values are the same, where both are known.
fn same<T: PartialEq>(a: Option<T>, b: Option<T>) -> Option<bool> {
    a.zip(b).map(|(a, b)| a == b)
}

/// The finding about one of its flows that explains a line best.
fn explains<'a>(line: &Line, row: &LogLine, findings: &'a [Finding]) -> Option<&'a Finding> {
    let about = || findings.iter().filter(|finding| row.flows.iter().any(|&flow| concerns(finding, flow)));
    let best = line.status.map_or(&[][..], |status| status.explained_by());
    let fitting = best.iter().find_map(|begins| about().find(|finding| finding.id.starts_with(begins)));
    fitting.or_else(|| about().next())
}

fn concerns(finding: &Finding, flow: usize) -> bool {
    finding.flow == Some(flow) || finding.flows.iter().any(|affected| affected.flow == flow)
}

fn name(flow: &Flow) -> String {
    format!("{} → {} QP {}", flow.src, flow.dst, flow.queue_pair())
}

fn plain(address: Address) -> Address {
    match address {
        Address::Ip(ip) => Address::Ip(ip.to_canonical()),
        Address::Gid(gid) => Address::Ip(std::net::IpAddr::V6(gid).to_canonical()),
        lid => lid,
    }
}
