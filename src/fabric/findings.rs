//! What stands out in a subnet, in sentences.

use std::collections::BTreeSet;

use super::{
    routes::{Unreachable, Ways},
    rows::{GroupMemberRow, Report},
};
use crate::report::units::{bytes, count, several};

/// Counters that count what should not happen, and what it means.
pub(super) const BAD: &[(&str, &str)] = &[
    ("symbol_error_counter", "symbol errors: the cable or its ends"),
    ("link_error_recovery_counter", "recoveries of the link: the cable or its ends"),
    ("link_downed_counter", "times that the link went down"),
    ("port_rcv_errors", "packets that came with errors"),
    ("port_xmit_discards", "packets dropped before they could be sent: congestion, or a port that is down"),
    ("local_link_integrity_errors", "bursts of physical errors: the cable or its ends"),
    ("excessive_buffer_overrun_errors", "overruns of buffers"),
    ("vl15_dropped", "management packets without a buffer"),
    ("port_xmit_wait", "ticks in which nothing could be sent: no credits"),
    ("port_vl_xmit_wait", "ticks in which nothing could be sent on that lane: no credits"),
    ("port_local_physical_errors", "packets with physical errors: the cable or its ends"),
    ("port_malformed_pkt_errors", "packets whose headers contradict each other: their sender"),
    ("port_buffer_overrun_errors", "packets for which no buffer was there"),
    ("port_dlid_mapping_errors", "packets to a LID that no port has: forwarding tables"),
    ("port_vl_mapping_errors", "packets on the wrong lane: SLtoVL tables"),
    ("port_looping_errors", "packets that would go back: forwarding tables"),
    ("port_inactive_discards", "packets for a port that is not active"),
    ("port_neighbor_mtu_discards", "packets longer than the MTU of the link"),
    ("port_sw_lifetime_limit_discards", "packets that were in the switch for too long: congestion"),
    (
        "port_sw_hoq_lifetime_limit_discards",
        "packets that were at the head of a queue for too long: congestion",
    ),
    ("sw_port_vl_congestion", "packets of that lane dropped or late in a switch: congestion"),
    ("port_pkt_rcv_fecn", "packets with FECN: congestion on the way to this port"),
    ("port_xmit_time_cong", "ticks in which the port was congested"),
    ("sync_header_error_counter", "wrong synchronization headers: the cable or its ends"),
    (
        "fec_uncorrectable_block_counter",
        "blocks that could not be corrected on that lane: the cable or its ends",
    ),
    ("port_fec_uncorrectable_block_counter", "blocks that could not be corrected: the cable or its ends"),
];

pub(super) fn findings(
    report: &Report,
    ways: &Ways,
    has_routes: bool,
    node_of: &dyn Fn(u16) -> Option<String>,
) -> Vec<String> {
    let mut findings = Vec::new();
    let masters = report.managers.iter().filter(|row| row.state.as_deref() == Some("master")).count();
    if masters > 1 {
        findings.push(format!("{masters} subnet managers say that they are master: there should be one."));
    }
    let is_left_out = |row: &&GroupMemberRow| row.is_reached == Some(false) && !row.is_send_only;
    let mut left_out = report.group_members.iter().filter(is_left_out);
    if let Some(first) = left_out.next() {
        let more = left_out.count();
        let also = if more > 0 {
            format!(", and {} more of its or other groups", count(more as u64))
        } else {
            String::new()
        };
        findings.push(format!(
            "{} has joined the multicast group {:#06x}, and its switch does not forward it there{also}: see the log of the subnet manager.",
            first.node.as_deref().unwrap_or(&first.port_gid),
            first.mlid,
        ));
    }
    let mut down = report.links.iter().filter(|link| link.state.as_deref() == Some("down"));
    if let Some(first) = down.next() {
        let all = 1 + down.count() as u64;
        let others = if all > 1 { format!(", and {} more", count(all - 1)) } else { String::new() };
        findings.push(format!(
            "{} down: {} port {} to {} port {}{others}.",
            plural(all, "link is", "links are"),
            first.a,
            first.a_port,
            first.b,
            first.b_port
        ));
        let cut_off = report.nodes.iter().filter(|node| {
            let mut of_node = report
                .links
                .iter()
                .filter(|link| link.a_guid == node.guid || link.b_guid == node.guid)
                .peekable();
            of_node.peek().is_some() && of_node.all(|link| link.state.as_deref() == Some("down"))
        });
        let names: Vec<&str> = cut_off.map(|node| node.name.as_str()).collect();
        if !names.is_empty() {
            const NAMED: usize = 4;
            let more = names.len().saturating_sub(NAMED);
            let others = if more > 0 { format!(", and {more} more") } else { String::new() };
            let which = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
            findings.push(format!("All links are down of {which}{others}: no packet gets there any more."));
        }
    }
    let mut slower = report.links.iter().filter(|link| link.is_slower == Some(true));
    if let Some(first) = slower.next() {
        let more = slower.count();
        let others = if more > 0 { format!(", and {more} more") } else { String::new() };
        findings.push(format!(
            "Slower than both ends could be: {} port {} to {} port {}{others}.",
            first.a, first.a_port, first.b, first.b_port
        ));
    }
    if has_routes && !ways.is_too_much {
        for (why, (pairs, [from, to])) in &ways.lost {
            if *why != Unreachable::Unknown {
                findings.push(format!(
                    "{} of adapters' ports do not reach each other: {} (LID {from} to LID {to}).",
                    several(*pairs, "pair"),
                    why.name()
                ));
            }
        }
    }
    for &(counter, what) in BAD {
        let of_counter = report.counters.iter().filter(|row| row.is_of(counter) && row.increase > 0);
        let Some(most) = of_counter.clone().max_by_key(|row| row.increase) else { continue };
        let name =
            most.node.clone().or_else(|| node_of(most.lid)).unwrap_or_else(|| format!("LID {}", most.lid));
        let ports: BTreeSet<_> = of_counter.map(|row| (row.lid, row.port)).collect();
        let ports = ports.len() as u64;
        let counter = &most.counter;
        findings.push(format!(
            "{counter} grew at {}, most at {name} port {}, by {}: {what}.",
            several(ports, "port"),
            most.port,
            count(most.increase)
        ));
    }
    let unanswered: u64 = report.operations.iter().map(|row| row.unanswered).sum();
    if unanswered > 0 {
        findings.push(format!("{} without an answer in the capture.", several(unanswered, "question")));
    }
    let failed: u64 = report.operations.iter().map(|row| row.failed).sum();
    if failed > 0 {
        findings.push(format!("{} that it failed.", plural(failed, "answer says", "answers say")));
    }
    let changes: u32 = report.ports.iter().map(|port| port.state_changes).sum();
    let flapping = report.ports.iter().filter(|port| port.state_changes > 3).count() as u64;
    if flapping > 0 {
        findings.push(format!(
            "{} state more than three times ({changes} changes in all).",
            plural(flapping, "port changed its", "ports changed their")
        ));
    }
    let violations =
        report.ports.iter().filter(|port| port.p_key_violations > 0 || port.m_key_violations > 0).count()
            as u64;
    if violations > 0 {
        findings.push(format!("{} saw packets with a wrong P_Key or M_Key.", several(violations, "port")));
    }
    if report.transfers_broken > 0 {
        let answers = plural(report.transfers_broken, "answer misses", "answers miss");
        let (is, its) = if report.transfers_broken == 1 { ("is", "its") } else { ("are", "their") };
        findings.push(format!("{answers} segments, or {is} too large: {its} records were not read."));
    }
    if report.transfers_aborted > 0 {
        let (answers, its) = (
            plural(report.transfers_aborted, "answer", "answers"),
            if report.transfers_aborted == 1 { "its" } else { "their" },
        );
        findings.push(format!(
            "{answers} in segments ended by one side (RMPP ABORT or STOP) before the last segment: {its} records were not read."
        ));
    }
    let unasked: u64 = report.operations.iter().map(|row| row.unasked).sum();
    if unasked > 0 {
        let answers = plural(unasked, "answer answers no question", "answers answer no question");
        findings.push(format!(
            "{answers} of the capture: it began later, lacks frames, or transaction identifiers differ."
        ));
    }
    for (count, what) in [
        (report.bad_icrc, "a wrong ICRC: not read"),
        (
            report.bad_icrc_read,
            "a wrong ICRC were read: most are wrong, so that something rewrote the packets, or their sender computes none",
        ),
        (report.cut, "fewer bytes in the capture than it has: record 330 bytes of each frame"),
    ] {
        if count > 0 {
            findings.push(format!("{} with {what}.", several(count, "datagram")));
        }
    }
    if report.transfers > 0 {
        let whole: u64 = report.operations.iter().map(|row| row.transfer_bytes).sum();
        let transfers = several(report.transfers, "answer");
        findings.push(format!("{transfers} in segments put together: {}.", bytes(whole)));
    }
    findings
}

/// A number of things whose plural is another word.
fn plural(n: u64, one: &str, more: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { more })
}
