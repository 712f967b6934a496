//! One flow in depth.

use std::io;

use super::{
    Options,
    findings::put_finding,
    flows::rate,
    limit,
    page::{Page, Paint},
};
use crate::report::{
    ConnectionState, Finding, Flow, GaveUp, IpId, Retry, Space, Stream, Summary, View, clean,
    figure::bounds,
    units::{bits, bytes, count, duration, percent, several, utc},
};

/// All ports are members of this partition, unless somebody configures others.
const DEFAULT_P_KEY: u16 = 0xffff;

/// Everything about the flow with this index; an index that is not there writes nothing.
pub(super) fn in_depth(
    report: &View<'_>,
    index: usize,
    options: &Options,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let Some(flow) = report.flows.row(index) else { return Ok(()) };
    let flow = &*flow;
    identity(report, index, flow, page)?;
    streams(flow, page)?;
    latency(flow, page)?;
    time(report, index, page)?;
    trouble(flow, options, page)?;
    episodes(report, index, options, page)?;
    let concerns = |finding: &&Finding| {
        finding.flow == Some(index) || finding.flows.iter().any(|affected| affected.flow == index)
    };
    for finding in report.head.findings.iter().filter(concerns) {
        put_finding(finding, "", page)?;
    }
    let whys = [("", &flow.why), ("requests: ", &flow.requests.why), ("responses: ", &flow.responses.why)];
    for (of, why) in whys {
        for (field, because) in why {
            let field = field.replace("_ns", "").replace(['_', '.'], " ");
            page.line(&format!("Not known: {of}{field}: {}", because.words()))?;
        }
    }
    Ok(())
}

fn list<T>(values: &[T], one: impl Fn(&T) -> String) -> Option<String> {
    if values.is_empty() {
        return None;
    }
    let mut text = values.iter().take(8).map(one).collect::<Vec<_>>().join(" ");
    if values.len() > 8 {
        text += &format!(" and {} more", values.len() - 8);
    }
    Some(text)
}

fn identity(report: &View<'_>, index: usize, flow: &Flow, page: &mut Page<'_>) -> io::Result<()> {
    let mut title = format!("Flow {index}: {} → {} QP {}", flow.src, flow.dst, flow.queue_pair());
    if let Some(vni) = flow.vni {
        title += &format!(", VNI {vni}");
    }
    page.heading(&title)?;
    let pair = match (flow.peer_qp, flow.paired_by) {
        (Some(qp), by) => {
            let by = by.map_or(String::new(), |by| format!(", by {}", by.words()));
            let connection = flow
                .connection
                .and_then(|id| report.connections.row(id as usize).filter(|connection| connection.id == id));
            let of = connection.map_or(String::new(), |c| {
                let state = match c.state {
                    ConnectionState::Unknown => String::new(),
                    known => format!("{}, ", known.words()),
                };
                format!("; connection {} ({state}{})", c.id, c.visibility.words())
            });
            format!("QP {qp:#x}{by}{of}")
        }
        (None, _) => "not known".to_owned(),
    };
    let lasted = flow.last_ns.saturating_sub(flow.first_ns).max(0) as u64;
    let also = |text: String, what: &str| if text.is_empty() { text } else { format!(", {what}{text}") };
    let rows = [
        ("Service", Some(format!("{}, {}", flow.service, flow.encapsulation))),
        ("Peer", Some(pair)),
        ("Time", Some(format!("{} from {}", duration(lasted), utc(flow.first_ns)))),
        (
            "Traffic",
            Some(format!(
                "{}, {} on the wire{}; {} payload, {} of it for the first time{}",
                several(flow.packets, "packet"),
                bytes(flow.wire_bytes),
                also(rate(flow, flow.wire_bytes), ""),
                bytes(flow.payload_bytes),
                bytes(flow.goodput_bytes),
                also(rate(flow, flow.goodput_bytes), ""),
            )),
        ),
        ("PSNs", Some(format!("{} to {}", flow.psn.first, flow.psn.last))),
        (
            "Path MTU",
            flow.path_mtu.map(|mtu| match flow.path_mtu_by {
                Some(by) => format!("{mtu}, by {}", by.words()),
                None => mtu.to_string(),
            }),
        ),
        ("Recovery", Some(flow.recovery_mode.words().to_owned())),
        ("IPv4 ID", (flow.ip_id != IpId::Unknown).then(|| flow.ip_id.words().to_owned())),
        ("VLANs", list(&flow.vlans, |v| v.to_string())),
        ("DSCP", list(&flow.dscps, |v| v.to_string())),
        ("Source ports", list(&flow.udp_src_ports, |v| v.to_string())),
        ("TTL", list(&flow.ttls, |v| v.to_string())),
        ("Service levels", list(&flow.sls, |v| v.to_string())),
        ("Virtual lanes", list(&flow.vls, |v| v.to_string())),
        ("P_Key", (flow.p_key != DEFAULT_P_KEY).then(|| format!("{:#06x}", flow.p_key))),
        ("Application", flow.application.as_deref().map(str::to_owned)),
        ("Marks", marks(flow)),
        (
            "ICRC",
            Some(format!(
                "{} good, {} bad, {} unchecked",
                count(flow.icrc.good),
                count(flow.icrc.bad),
                count(flow.icrc.unchecked)
            )),
        ),
        ("VCRC", flow.vcrc.map(|of| format!("{} good, {} bad", count(of.good), count(of.bad)))),
        ("Messages", messages(flow)),
        ("ACKs", Some(acks(flow))),
        ("Retries", flow.retry.map(retries)),
        ("Gave up", flow.gave_up.map(gave_up)),
        (
            "Not answered",
            flow.unanswered_tries.map(|tries| format!("{} at the end", several(tries.into(), "try"))),
        ),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            page.wrapped(Paint::Plain, &format!("  {name:<13}"), &value)?;
        }
    }
    let opcodes: Vec<(&String, &u64)> = flow.opcodes.iter().collect();
    if let Some(text) = list(&opcodes, |(name, n)| format!("{name} {},", count(**n))) {
        page.wrapped(Paint::Plain, "  Opcodes      ", text.trim_end_matches(','))?;
    }
    page.blank()
}

fn marks(flow: &Flow) -> Option<String> {
    let becn = flow.becn_packets;
    if flow.ect_packets + flow.cnps + becn == 0 {
        return None;
    }
    let answers = if becn > 0 { format!("; {} with BECN", several(becn, "packet")) } else { String::new() };
    let ratio = flow.ce_packets as f64 / flow.ect_packets.max(1) as f64;
    Some(format!(
        "{} ECT, {} CE ({}); {}{answers}, which slow the opposite flow",
        count(flow.ect_packets),
        count(flow.ce_packets),
        percent(ratio),
        several(flow.cnps, "CNP")
    ))
}

fn messages(flow: &Flow) -> Option<String> {
    let m = &flow.messages;
    if m.completed + m.open + m.broken == 0 {
        return None;
    }
    let mut text =
        format!("{} completed, {} open, {} broken", count(m.completed), count(m.open), count(m.broken));
    if let Some(size) = m.size_bytes {
        text += &format!("; {} in the median, {} at most", size.quantile(size.p50, bytes), bytes(size.max));
    }
    Some(text)
}

fn acks(flow: &Flow) -> String {
    let naks = &flow.naks;
    let mut text = count(flow.acks);
    for (n, what) in [
        (naks.psn_sequence_error, "NAK PSN sequence error"),
        (naks.invalid_request, "NAK invalid request"),
        (naks.remote_access_error, "NAK remote access error"),
        (naks.remote_operational_error, "NAK remote operational error"),
        (naks.invalid_rd_request, "NAK invalid RD request"),
        (flow.rnr_naks, "RNR NAK"),
    ] {
        if n > 0 {
            text += &format!(", {} {what}", count(n));
        }
    }
    text
}

/// When a queue pair gives up.
fn retries(retry: Retry) -> String {
    let timeout = retry.timeout_exponent.map(|exponent| {
        format!(
            "timeout {} (exponent {exponent})",
            duration(4096u64.checked_shl(exponent.into()).unwrap_or(u64::MAX))
        )
    });
    let times = |count: Option<u8>, what: &str| count.map(|count| format!("{what} {count}"));
    let parts = [timeout, times(retry.count, "retry count"), times(retry.rnr_count, "RNR retry count")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn gave_up(gave_up: GaveUp) -> String {
    let peer =
        gave_up.peer_sends.map_or(String::new(), |whom| format!("; the peer still sends {}", whom.words()));
    format!(
        "for {}: PSN {} tried {} from {} to {} later; {} not completed{peer}",
        gave_up.by.words(),
        gave_up.psn,
        several(gave_up.tries.into(), "time"),
        utc(gave_up.first_ns),
        duration(gave_up.last_ns.abs_diff(gave_up.first_ns)),
        several(gave_up.messages, "message"),
    )
}

/// A row of the table of streams.
type Row = (&'static str, fn(&Stream) -> String);

const ROWS: &[Row] = &[
    ("packets", |s| count(s.packets)),
    ("retransmits", |s| count(s.retransmits)),
    ("  bytes", |s| bytes(s.retransmitted_bytes)),
    ("  needless", |s| s.spurious.map_or("?".into(), count)),
    ("out of order", |s| count(s.out_of_order)),
    ("capture duplicates", |s| count(s.capture_duplicates)),
    ("ambiguous", |s| count(s.ambiguous)),
    ("reused PSNs", |s| count(s.reused_psns)),
    ("PSNs never seen", |s| count(s.gap_psns)),
    ("episodes", |s| count(s.loss_episodes.total())),
    ("  before the tap", |s| count(s.loss_episodes.upstream)),
    ("  after the tap", |s| count(s.loss_episodes.downstream)),
    ("  of an ACK", |s| count(s.loss_episodes.ack_path)),
    ("  not known where", |s| count(s.loss_episodes.unknown)),
    ("packets lost before the tap", |s| none(bounds(s.losses.upstream))),
    ("packets lost after the tap", |s| none(bounds(s.losses.downstream))),
    ("lost on the ACK path", |s| none(bounds(s.losses.ack_path))),
    ("lost, place not known", |s| s.losses.unknown.map_or_else(String::new, |lost| none(bounds(Some(lost))))),
    ("corrupted", |s| none(bounds(s.losses.corrupt))),
    ("trimmed by switches", |s| s.losses.trimmed.map_or_else(String::new, |lost| none(bounds(Some(lost))))),
    ("missed by the capture", |s| none(bounds(s.losses.capture))),
    ("retransmitted after NAK", |s| count(s.triggers.nak)),
    ("  after timeout", |s| count(s.triggers.timeout)),
    ("  after RNR", |s| count(s.triggers.rnr)),
    ("  after implied NAK", |s| count(s.triggers.implied_nak)),
    ("  after repeated READ", |s| count(s.triggers.repeated_read)),
    ("  for unknown reasons", |s| count(s.triggers.unknown)),
    ("latest", |s| s.reordering.map_or("0".into(), |r| duration(r.max_late_ns))),
];

fn none(text: String) -> String {
    if text.is_empty() { "0".into() } else { text }
}

fn streams(flow: &Flow, page: &mut Page<'_>) -> io::Result<()> {
    let mut table = page.table(&["", "requests", "responses"], &[0]);
    for (name, value) in ROWS {
        let [requests, responses] = [&flow.requests, &flow.responses].map(|stream| match value(stream) {
            // Packets that were never sent cannot be lost.
            unknown if unknown == "?" && stream.packets == 0 => String::new(),
            known => known,
        });
        if [&requests, &responses].iter().all(|text| matches!(text.as_str(), "" | "0" | "0 B")) {
            continue;
        }
        // The table would trim blanks at the start of a cell.
        table.row([name.replace("  ", "· "), requests, responses]);
    }
    page.put_table(table)?;
    page.blank()?;
    evidence(flow, page)
}

/// The evidence for verdicts.
fn evidence(flow: &Flow, page: &mut Page<'_>) -> io::Result<()> {
    let streams = [("requests", &flow.requests), ("responses", &flow.responses)];
    let all = streams
        .iter()
        .flat_map(|(of, stream)| stream.evidence.iter().map(move |(class, by)| (of, class, by)));
    let mut rows: Vec<(String, u64, &'static str)> = Vec::new();
    for (of, class, by) in all {
        for (evidence, &packets) in by {
            rows.push((format!("{of}: {}", class.words()), packets, evidence.meaning()));
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let mut table = page.table(&["class", "packets", "evidence"], &[0, 2]);
    for (class, packets, evidence) in rows {
        table.row([class, count(packets), evidence.to_owned()]);
    }
    page.put_table(table)?;
    page.blank()
}

fn latency(flow: &Flow, page: &mut Page<'_>) -> io::Result<()> {
    let l = &flow.latency_ns;
    let rows: [(&str, Option<Summary>); 6] = [
        ("packet to ACK", l.ack_rtt),
        ("message completion", l.message_completion),
        ("READ to first response", l.read_first),
        ("READ to last response", l.read_last),
        ("gap to NAK", l.nak_generation),
        ("NAK to retransmission", l.nak_reaction),
    ];
    if rows.iter().all(|(_, summary)| summary.is_none()) {
        return Ok(());
    }
    let mut table = page.table(&["latency", "count", "min", "p50", "p99", "max"], &[0]);
    for (name, summary) in rows {
        let Some(s) = summary else { continue };
        let [p50, p99] = [s.p50, s.p99].map(|value| s.quantile(value, duration));
        table.row([name.to_owned(), count(s.count), duration(s.min), p50, p99, duration(s.max)]);
    }
    page.put_table(table)?;
    page.blank()
}

/// What the time of a slow flow went to.
fn time(report: &View<'_>, index: usize, page: &mut Page<'_>) -> io::Result<()> {
    let Some(slow) = report.head.slow_flows.iter().find(|slow| slow.flow == index) else { return Ok(()) };
    let verdict = slow.verdict.map_or("no cause takes most of it", |cause| cause.words_for(slow.space));
    let of = if slow.space == Space::Response { "the data of READs, " } else { "" };
    let text = format!("{of}{} from first to last; apart from sending: {verdict}", duration(slow.lasted_ns));
    page.wrapped(Paint::Plain, "  Slow         ", &text)?;
    let mut table =
        page.table(&["time went to", "share", "time", "confidence", "frame", "evidence"], &[0, 3, 5]);
    for share in &slow.shares {
        table.row([
            share.cause.words_for(slow.space).to_owned(),
            percent(share.ratio),
            duration(share.ns),
            share.confidence.name().to_owned(),
            share.frame.map_or(String::new(), |frame| frame.to_string()),
            clean(&share.evidence).into_owned(),
        ]);
    }
    page.put_table(table)?;
    page.blank()
}

fn trouble(flow: &Flow, options: &Options, page: &mut Page<'_>) -> io::Result<()> {
    if !flow.timeouts.is_empty() {
        let mut table = page.table(&["timeout at frame", "waited", "nearest exponent"], &[]);
        let (shown, left) = limit(flow.timeouts.len(), options.top);
        for timeout in &flow.timeouts[..shown] {
            // How long what the tap did not see waited is not known.
            let is_known = timeout.waited_ns > 0;
            let [waited, exponent] = [duration(timeout.waited_ns), timeout.nearest_exponent.to_string()]
                .map(|text| if is_known { text } else { "-".into() });
            table.row([timeout.frame.to_string(), waited, exponent]);
        }
        page.put_table(table)?;
        more(left, page)?;
        page.blank()?;
    }
    if let Some(rnr) = flow.rnr {
        let waited =
            rnr.waited_ns.map_or(String::new(), |w| format!(", waited {}", w.quantile(w.p50, duration)));
        let text = format!(
            "{} asked for in the median{waited}; {} retransmitted too early; stalled {} in all",
            rnr.asked_ns.quantile(rnr.asked_ns.p50, duration),
            count(rnr.early_resends),
            duration(rnr.stalled_ns)
        );
        page.wrapped(Paint::Plain, "  RNR          ", &text)?;
        page.blank()?;
    }
    Ok(())
}

fn episodes(report: &View<'_>, index: usize, options: &Options, page: &mut Page<'_>) -> io::Result<()> {
    let all: Vec<_> = report.episodes.iter().filter(|episode| episode.flow == index).collect();
    if all.is_empty() {
        return Ok(());
    }
    let mut head = vec!["episode", "cause", "where", "lost PSN", "frame", "NAK"];
    head.extend(["resent from", "packets", "needless", "took"]);
    let has_rates = all.iter().any(|e| e.goodput_before_bps.or(e.goodput_after_bps).is_some());
    if has_rates {
        head.extend(["goodput before", "after"]);
    }
    let mut table = page.table(&head, &[0, 1, 2]);
    let (shown, left) = limit(all.len(), options.top);
    let frame = |frame: Option<u64>| frame.map_or(String::new(), |n| n.to_string());
    for e in &all[..shown] {
        let rates = [e.goodput_before_bps, e.goodput_after_bps];
        let rates = rates.map(|bps| bps.map_or("?".into(), |bps| bits(bps as f64)));
        let cells = [
            e.space.words().to_owned(),
            e.trigger.words().to_owned(),
            match e.sure() {
                "" | "certain" => e.location.words().to_owned(),
                sure => format!("{}, {sure}", e.location.words()),
            },
            e.lost_psn.to_string(),
            frame(e.original_frame),
            frame(e.nak_frame),
            e.first_retransmit_frame.to_string(),
            count(e.retransmitted_packets),
            count(e.needless_packets),
            e.recovered_ns.map_or("?".into(), duration),
        ];
        table.row(cells.into_iter().chain(rates.into_iter().filter(|_| has_rates)));
    }
    page.put_table(table)?;
    more(left, page)?;
    let not_listed = report.flows.row(index).map_or(0, |flow| flow.episodes_not_listed);
    if not_listed > 0 {
        page.line(&format!("  and {}, of which only counts are kept", several(not_listed, "more episode")))?;
    }
    page.blank()
}

fn more(left: usize, page: &mut Page<'_>) -> io::Result<()> {
    if left > 0 { page.line(&format!("  and {left} more (--top 0 shows all)")) } else { Ok(()) }
}
