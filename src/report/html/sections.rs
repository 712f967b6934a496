//! The sections of a capture in a page, and the table of several captures.

use maud::{Markup, html};

use super::{Lines, Table, tables::Tables};
use crate::report::{
    Capture, Cost, Finding, NotDecoded, Overhead, Price, SECTIONS, Severity, UetPackets, View, clean,
    section::{InPage, Section},
    set::{Set, Totals},
    units::{bits_per_second, bytes, count, duration, percent, several, utc},
};

/// Most sentences of a section.
const MOST_SENTENCES: usize = 64;

/// The sections of a capture.
pub(super) fn article(report: &View<'_>, tables: &Tables) -> Markup {
    html! {
        section.verdict aria-label="Verdict" {
            @for sentence in verdict(report, &report.head.findings, tables) { p { (sentence) } }
        }
        section { h2 { "Findings" } (findings_list(report, &report.head.findings, &tables.lines)) }
        section { h2 { "Flows" } @if tables.flows.rows.is_empty() { p { "None." } } @else { (place("flows", "Flows, those in trouble first", &tables.flows)) } }
        (of_table("Losses and recoveries", "episodes", "Losses and timeouts one by one, by time; a click shows the frames", tables))
        (of_table("Slow flows", "slow", "Flows that send for less than 80 % of their time, and where their time went", tables))
        (pictures())
        section { h2 { "What this capture can and cannot prove" } (proof(&report.head.capture)) }
        (of_table("Connections", "connections", "Connections: pairs of flows", tables))
        @if !tables.hosts.names.is_empty() { section { h2 { "Hosts" } div.matrix {} } }
        section { h2 { "Congestion, pauses and paths" }
            @for section in SECTIONS { (part(section, report, tables)) }
        }
        section { h2 { "Overhead" } (overhead(&report.head.overhead)) }
    }
}

/// A table with a heading of its own, if it has rows.
fn of_table(title: &str, name: &str, caption: &str, tables: &Tables) -> Markup {
    html! {
        @if let Some(table) = tables.named(name) {
            section { h2 { (title) } (place(name, caption, table)) }
        }
    }
}

/// A section of the report, if it says something or has a table.
fn part(section: &Section, report: &View<'_>, tables: &Tables) -> Markup {
    let Some(InPage { title, table, is_table_enough }) = section.in_page else { return Markup::default() };
    let table = table.and_then(|(name, caption)| Some((name, caption, tables.named(name)?)));
    let mut says = section.says(&report.head);
    if is_table_enough && table.is_some() {
        says.clear();
    }
    html! {
        @if !says.is_empty() || table.is_some() { h3 { (title) } }
        @for sentence in says.iter().take(MOST_SENTENCES) { p { (clean(sentence)) "." } }
        @if let Some((name, caption, table)) = table { (place(name, caption, table)) }
    }
}

/// Where the script puts pictures, if there are any.
fn pictures() -> Markup {
    html! { div.pictures {} }
}

/// Where the script puts a table.
fn place(name: &str, caption: &str, table: &Table) -> Markup {
    html! {
        div.table data-table=(name) data-caption=(caption) {
            noscript { p { (several(table.rows.len() as u64, "row")) ", shown only by a browser with JavaScript." } }
        }
        @if table.left_out > 0 {
            p.quiet { (count(table.left_out)) " more are not in this page: " code { "--json" } " has all." }
        }
    }
}

/// What there is, what is wrong, and what to do first.
fn verdict(report: &View<'_>, findings: &[Finding], tables: &Tables) -> [String; 3] {
    let capture = &report.head.capture;
    // The permissive LID, of directed routes, is nobody's; and LIDs are of switches, too.
    let named = tables.hosts.names.iter().filter(|name| *name != "lid:0xffff").count() as u64;
    let (hosts, word) = (named + tables.hosts.left_out, if report.head.is_native() { "LID" } else { "host" });
    let mut seen = format!(
        "{} in {} between {}",
        several(capture.rdma_packets, "RDMA packet"),
        several(report.flows.len() as u64, "flow"),
        several(hosts, word)
    );
    let uet = report.head.uet_packets.get(&UetPackets::All).copied().unwrap_or(0);
    if uet > 0 {
        seen += &format!(", {} of Ultra Ethernet", several(uet, "packet"));
    }
    if let Some(ns) = capture.duration_ns.filter(|&ns| ns > 0) {
        seen += &format!(
            " in {}, {} on average",
            duration(ns),
            bits_per_second(report.head.overhead.total.wire_bytes, ns)
        );
    }
    let has_none = capture.rdma_packets == 0 && uet == 0;
    // What is an effect of another finding is told there.
    let is_cause = |f: &&Finding| f.severity < Severity::Note && f.effect_of.is_none();
    let serious: Vec<&Finding> = findings.iter().filter(is_cause).collect();
    let of = |severity| serious.iter().filter(|f| f.severity == severity).count() as u64;
    let said = [(of(Severity::Error), "error"), (of(Severity::Warning), "warning")];
    let said: Vec<String> = said.iter().filter(|(n, _)| *n > 0).map(|(n, word)| several(*n, word)).collect();
    let (wrong, next) = match serious.first() {
        Some(first) => {
            let lead = if serious.len() == 1 { ":" } else { ", first of all:" };
            (format!("{}{lead} {}", said.join(" and "), first.text), first.next.clone())
        }
        None if has_none => ("There is no RDMA traffic to judge".into(), String::new()),
        // Of what was not looked into, nothing is said.
        None if !report.head.see_also.is_empty() => {
            let commands: Vec<String> =
                report.head.see_also.iter().map(|also| format!("rdmawire {}", also.command)).collect();
            let text = format!(
                "Nothing went wrong with packets that this capture can show; for what they carry, see {}",
                commands.join(" and ")
            );
            (text, String::new())
        }
        None => ("Nothing went wrong that this capture can show".into(), String::new()),
    };
    let next = match next {
        none if none.is_empty() && has_none => "Check the tap, the filter, and the port of RoCEv2".into(),
        none if none.is_empty() => "Read below what it cannot show".into(),
        next => format!("What to do next: {next}"),
    };
    [seen, wrong, next].map(|text| format!("{}.", clean(&text).trim_end_matches('.')))
}

fn proof(capture: &Capture) -> Markup {
    let odd = [
        (capture.malformed_packets, "malformed packet", ""),
        (capture.corrupt_without_flow, "corrupt packet", " of no flow"),
        (capture.truncated_packets, "packet", " cut by the capture"),
        (capture.time_steps_back, "packet", " earlier than the one before"),
        (capture.capture_drops.unwrap_or(0), "packet", " dropped by the capturing system"),
        (capture.mirror_lost_packets.unwrap_or(0), "packet", " lost by the mirror"),
        (capture.flows_without_detail, "flow", " gave up detail to save memory"),
        (capture.evicted_flows, "flow", " evicted because there were too many"),
    ];
    html! {
        ul {
            @if capture.hidden_frames() > 0 { li { strong { "Not decoded: " } (clean(&NotDecoded::list(capture.hiding()))) } }
            @for text in capture.parts_in_words() { li { (clean(&text)) } }
            @for text in capture.clocks_in_words() { li { (clean(&text)) } }
            @for text in &capture.limitations { li { (clean(text)) } }
            @for (n, what, how) in odd { @if n > 0 { li { (several(n, what)) (how) } } }
            @for problem in capture.problems.iter().take(10) {
                li { strong { "Damaged: " } (clean(&problem.file)) " at byte " (problem.offset) ": " (clean(&problem.what)) }
            }
            @if capture.problems.len() > 10 { li { "Damage in " (several(capture.problems.len() as u64 - 10, "more place")) } }
        }
        dl.facts {
            dt { "Frames" } dd { (count(capture.packets)) ", " (count(capture.rdma_packets)) " of them RDMA" }
            dt { "Of frames" } dd { (bytes(capture.bytes_on_wire)) ", " (bytes(capture.bytes_captured)) " of them captured" }
            @if let Some(first) = capture.first_ns { dt { "Begins" } dd { (utc(first)) } }
            @if let Some(ns) = capture.duration_ns { dt { "Lasts" } dd { (duration(ns)) } }
        }
    }
}

/// The findings: each cause, with its effects folded below it.
fn findings_list(report: &View<'_>, findings: &[Finding], lines: &Lines) -> Markup {
    let causes = findings.iter().enumerate().filter(|(_, finding)| finding.effect_of.is_none());
    let effects = |cause: usize| findings.iter().filter(move |finding| finding.effect_of == Some(cause));
    html! {
        @if findings.is_empty() { p { "Nothing stands out." } }
        ol.findings { @for (at, cause) in causes {
            li class=(cause.severity) {
                (finding(report, cause, lines))
                @if effects(at).next().is_some() {
                    details { summary { (several(effects(at).count() as u64, "effect")) " of it" }
                        ul.findings { @for effect in effects(at) {
                            li class=(effect.severity) { (finding(report, effect, lines)) }
                        } }
                    }
                }
            }
        } }
    }
}

fn finding(report: &View<'_>, finding: &Finding, lines: &Lines) -> Markup {
    html! {
        p.what {
            span.badge { (finding.severity) } " " (clean(&finding.text)) " " code.id { (clean(&finding.id)) }
        }
        @if !finding.next.is_empty() && finding.effect_of.is_none() { p.next { (clean(&finding.next)) } }
        p.links {
            @if !finding.frames.is_empty() {
                "Frames "
                @for frame in &finding.frames { button.frame type="button" data-frame=(frame) { (frame) } " " }
            }
            @if !finding.flows.is_empty() {
                "Flows "
                @for affected in finding.flows.iter().take(8) { (flow(report, affected.flow)) }
            }
            @if finding.flow_count > finding.flows.len().min(8) as u64 {
                "and " (count(finding.flow_count - finding.flows.len().min(8) as u64)) " more"
            }
        }
        @if finding.frames.iter().any(|frame| lines.contains_key(frame)) {
            details { summary { "Its frames" }
                pre.lines tabindex="0" { @for frame in &finding.frames { @if let Some(line) = lines.get(frame) { (line) "\n" } } }
            }
        }
        @if !finding.frames.is_empty() {
            details { summary { "As a display filter for Wireshark" }
                code { "frame.number in {" (finding.frames.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")) "}" }
            }
        }
    }
}

/// A button that shows a flow.
fn flow(report: &View<'_>, index: usize) -> Markup {
    let name =
        report.flows.row(index).map(|flow| clean(&format!("{} → {}", flow.src, flow.dst)).into_owned());
    html! { button.flow type="button" data-flow=(index) title=[name] { "#" (index) } " " }
}

fn overhead(overhead: &Overhead) -> Markup {
    let total = &overhead.total;
    if total.wire_bytes == 0 {
        return html! { p { "No RDMA packets." } };
    }
    let share = |part: u64| percent(part as f64 / total.wire_bytes as f64);
    let bar = |part: u64| html! { td.bar { meter min="0" max=(total.wire_bytes) value=(part) aria-hidden="true" {} } };
    let layers = total.header_bytes.rows();
    let prices: [(&str, Option<Price>); 5] = [
        ("native InfiniBand", total.as_native_ib),
        ("native InfiniBand with GRH", total.as_native_ib_grh),
        ("RoCE v1", total.as_rocev1),
        ("RoCEv2 over IPv4", total.as_rocev2_ipv4),
        ("RoCEv2 over IPv6", total.as_rocev2_ipv6),
    ];
    html! {
        div.columns {
            div.scroll tabindex="0" role="region" aria-label="Bytes by layer" { table {
                caption { "Bytes on the wire by layer" }
                thead { tr { th scope="col" { "layer" } th.n scope="col" { "bytes" } th.n scope="col" { "share" } td {} } }
                tbody {
                    @for (name, n) in layers { @if n > 0 { tr {
                        th scope="row" { (name.replace('_', " ")) } td.n { (count(n)) } td.n { (share(n)) } (bar(n))
                    } } }
                    tr { th scope="row" { "payload" } td.n { (count(total.payload_bytes)) } td.n { (share(total.payload_bytes)) } (bar(total.payload_bytes)) }
                    tr { th scope="row" { "together" } td.n { (count(total.wire_bytes)) } td.n { "100 %" } td {} }
                }
            } }
            div.scroll tabindex="0" role="region" aria-label="Other encapsulations" { table {
                caption { "The same packets in other encapsulations" }
                thead { tr { th scope="col" { "encapsulation" } th.n scope="col" { "bytes" } th.n scope="col" { "payload" } td {} } }
                tbody {
                    (cost("as captured", total.wire_bytes, total.efficiency_ratio))
                    @for (name, price) in prices { @if let Some(price) = price { (cost(name, price.wire_bytes, price.efficiency_ratio)) } }
                }
            } }
        }
        p { (other_costs(total)) }
    }
}

fn cost(name: &str, wire_bytes: u64, efficiency: Option<f64>) -> Markup {
    html! { tr {
        th scope="row" { (name) } td.n { (count(wire_bytes)) }
        @if let Some(ratio) = efficiency {
            td.n { (percent(ratio)) } td.bar { meter min="0" max="1" value=(ratio) aria-hidden="true" {} }
        } @else { td {} td {} }
    } }
}

fn other_costs(total: &Cost) -> String {
    let of = [(total.control_ratio, "ACKs, CNPs and pauses"), (total.retransmit_ratio, "retransmissions")];
    let of = of.iter().filter_map(|(ratio, what)| Some(format!("{what} take {}", percent((*ratio)?))));
    let text = of.collect::<Vec<_>>().join("; ");
    if text.is_empty() { text } else { text + "." }
}

/// Several captures in a table.
pub(super) fn overview(set: &Set, names: &[String]) -> Markup {
    let cells = |totals: &Totals| html! { @for (_, sum) in totals.columns() { td.n { (count(sum)) } } };
    html! {
        nav aria-label="Captures" {
            h1 { (count(set.summaries.len() as u64)) " captures" }
            @if let Some(verdict) = &set.verdict {
                section.verdict aria-label="Verdict" {
                    p { "What weighs most is in " a href=(format!("#c{}", verdict.capture)) { (clean(&names[verdict.capture])) } ":" }
                    p { (clean(&verdict.text())) "." }
                    @let next = &verdict.headline.next;
                    @if !next.is_empty() { p { "What to do next: " (clean(next)) "." } }
                    @if let Some(next) = verdict.next() { p { (next) "." } }
                }
            }
            div.scroll tabindex="0" role="region" aria-label="Captures" { table {
                caption { "One row for each capture. A transmission that is in two captures counts twice." }
                thead { tr { th scope="col" { "capture" } @for (name, _) in set.total.columns() { th.n scope="col" { (name) } } } }
                tbody { @for (at, totals) in set.summaries.iter().enumerate() {
                    tr { th scope="row" { a href=(format!("#c{at}")) { (clean(&names[at])) } } (cells(totals)) }
                } }
                tfoot { tr { th scope="row" { "together" } (cells(&set.total)) } }
            } }
        }
    }
}
