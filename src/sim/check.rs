//! Checks scenarios, and fills in defaults.

use std::net::IpAddr;

use super::{Connection, Encapsulation, Error, Host, Ns, Scenario, Segment, Side, Tap};
use crate::{
    message::is_path_mtu,
    opcode::Service,
    random::SplitMix64,
    wire::{Mac, Psn},
};

/// Most connections, with each copy counted.
const MOST_CONNECTIONS: usize = 1 << 16;
/// The longest duration, in ns: some eleven days.
const LONGEST: u64 = 1_000_000_000_000_000;
/// The latest time at which a scenario begins, in ns since 1970.
const LATEST: u64 = 4_000_000_000_000_000_000;

/// Every duration of a scenario, with its name.
fn durations(scenario: &Scenario) -> Vec<(String, Ns)> {
    let mut all =
        vec![("paths: skew".into(), scenario.paths.skew), ("cnp: interval".into(), scenario.cnp.interval)];
    let mut add = |name: String, ns: Option<Ns>| all.extend(ns.map(|ns| (name, ns)));
    add("stop".into(), scenario.stop);
    for (i, segment) in scenario.segment.iter().enumerate() {
        add(format!("segment {}: delay", i + 1), Some(segment.delay));
        add(format!("segment {}: reorder_by", i + 1), segment.right.reorder_by.max(segment.left.reorder_by));
    }
    for (i, tap) in scenario.tap.iter().enumerate() {
        for (what, ns) in [
            ("start", Some(tap.start)),
            ("stop", tap.stop),
            ("duplicate_after", Some(tap.duplicate_after)),
            ("resolution", Some(tap.resolution)),
            ("unsorted", Some(tap.unsorted)),
            ("mirror_jitter", Some(tap.mirror_jitter)),
        ] {
            add(format!("tap {}: {what}", i + 1), ns);
        }
    }
    for (i, event) in scenario.event.iter().enumerate() {
        add(format!("event {}: by", i + 1), Some(event.by));
    }
    for (i, pause) in scenario.pause.iter().enumerate() {
        for (what, ns) in [("at", Some(pause.at)), ("hold", Some(pause.hold)), ("refresh", pause.refresh)] {
            add(format!("pause {}: {what}", i + 1), ns);
        }
    }
    for (i, c) in scenario.connection.iter().enumerate() {
        for (what, ns) in [
            ("start", Some(c.start)),
            ("reaction", Some(c.reaction)),
            ("ack_delay", Some(c.ack_delay)),
            ("migrate_at", c.migrate_at),
            ("operations: every", c.operations.iter().map(|op| op.every).max()),
        ] {
            add(format!("connection {}: {what}", i + 1), ns);
        }
    }
    all
}

/// Fills in defaults and checks the rest.
pub(super) fn fill_in(scenario: &mut Scenario) -> Result<(), Error> {
    let wrong = |what: String| Err(Error::new(what));
    if scenario.host.is_empty() {
        let v4 = |last| IpAddr::from([10, 0, 0, last]);
        for (name, address) in [("a", v4(1)), ("b", v4(2))] {
            let (mac, lid, side, rate) = (None, None, None, None);
            scenario.host.push(Host { name: name.into(), address, mac, lid, side, rate });
        }
    }
    if scenario.host.len() > 4096 {
        return wrong(format!("{} hosts: expected at most 4096", scenario.host.len()));
    }
    for (i, host) in scenario.host.iter().enumerate() {
        if scenario.host[..i].iter().any(|other| other.name == host.name) {
            return wrong(format!("host {:?}: there are two of that name", host.name));
        }
    }
    if scenario.begin.0 > LATEST {
        return wrong("begin: expected a time before 2096".into());
    }
    for (name, Ns(ns)) in durations(scenario) {
        if ns > LONGEST {
            return wrong(format!("{name}: expected at most 1000000s"));
        }
    }
    for (i, host) in scenario.host.iter_mut().enumerate() {
        if let Some(mac) = &host.mac
            && let Err(what) = mac.parse::<Mac>()
        {
            return wrong(format!("host {:?}: mac {mac:?}: {what}", host.name));
        }
        host.side.get_or_insert(if i == 0 { Side::Left } else { Side::Right });
    }
    if scenario.segment.is_empty() {
        scenario.segment = vec![Segment { delay: Ns(2_000), ..Segment::default() }; 2];
    }
    if scenario.segment.len() > 32 {
        return wrong(format!("{} segments: expected at most 32", scenario.segment.len()));
    }
    for (i, segment) in scenario.segment.iter().enumerate() {
        for f in [&segment.right, &segment.left] {
            for (name, share) in [
                ("drop", f.drop),
                ("corrupt", f.corrupt),
                ("duplicate", f.duplicate),
                ("mark", f.mark),
                ("reorder", f.reorder),
            ] {
                if !(0.0..=1.0).contains(&share) {
                    let n = i + 1;
                    return wrong(format!("segment {n}: {name} = {share}: expected a share from 0 to 1"));
                }
            }
            if f.reorder > 0.0 && f.reorder_depth == 0 && f.reorder_by.is_none() {
                return wrong(format!("segment {}: reorder needs reorder_depth or reorder_by", i + 1));
            }
        }
    }
    if scenario.tap.is_empty() {
        scenario.tap.push(Tap::default());
    }
    if scenario.tap.len() > 16 {
        return wrong(format!("{} taps: expected at most 16", scenario.tap.len()));
    }
    let segments = scenario.segment.len();
    for tap in &scenario.tap {
        if tap.after as usize > segments {
            let after = tap.after;
            return wrong(format!(
                "tap: after = {after}: expected at most {segments}, the number of segments"
            ));
        }
        if !(0.0..=1.0).contains(&tap.loss) || !(0.0..=1.0).contains(&tap.duplicate) {
            return wrong("tap: loss and duplicate are shares: expected 0 to 1".into());
        }
        if tap.sample == 0 || tap.loss_frames == 0 {
            return wrong("tap: sample and loss_frames: expected at least 1".into());
        }
        if tap.resolution.0 == 0 {
            return wrong("tap: resolution = 0: expected at least 1 ns".into());
        }
    }
    super::fabric::fill_in(scenario)?;
    if !(1..=255).contains(&scenario.paths.count) {
        return wrong(format!("paths: count = {}: expected 1 to 255", scenario.paths.count));
    }
    for pause in &scenario.pause {
        if pause.priority.is_some_and(|priority| priority > 7) {
            return wrong("pause: priority: expected 0 to 7".into());
        }
        if pause.quanta == 0 || pause.refresh == Some(Ns(0)) {
            return wrong("pause: quanta and refresh: expected more than 0".into());
        }
        for name in &pause.stops {
            if !scenario.host.iter().any(|host| host.name == *name) {
                return wrong(format!("pause: stops: no host is called {name:?}"));
            }
        }
    }
    Ok(())
}

/// The connections, with one entry for each copy, and with queue pair numbers and PSNs.
pub(super) fn expand(scenario: &Scenario) -> Result<Vec<Connection>, Error> {
    let (mut all, mut next_qp) = (Vec::new(), 0x11);
    for (i, given) in scenario.connection.iter().enumerate() {
        let mut connection = given.clone();
        let hosts = &scenario.host;
        for (name, default) in [(&mut connection.from, 0), (&mut connection.to, 1)] {
            if name.is_empty() {
                let host = hosts.get(default).ok_or_else(|| Error::new("a connection needs two hosts"))?;
                name.clone_from(&host.name);
            }
        }
        if connection.name.is_empty() {
            connection.name = format!("{}", i + 1);
        }
        check(&connection, scenario)?;
        if all.len() + given.copies as usize > MOST_CONNECTIONS {
            return Err(Error::new(format!("connections: expected at most {MOST_CONNECTIONS}")));
        }
        for copy in 0..given.copies {
            let mut one = connection.clone();
            if given.copies > 1 {
                one.name = format!("{}.{}", connection.name, copy + 1);
            }
            let qp = given.qp.map_or([next_qp, next_qp], |qp| qp.map(|qp| qp.saturating_add(copy)));
            if qp.iter().any(|&qp| qp >= Psn::SPACE - 1) {
                return Err(Error::new(format!("connection {:?}: qp: expected at most 0xfffffe", one.name)));
            }
            if given.qp.is_none() {
                next_qp += 1;
            }
            let mut random = SplitMix64(scenario.seed ^ (all.len() as u64) << 32);
            let random = std::array::from_fn(|_| random.next() as u32 & (Psn::SPACE - 1));
            let psn = given.psn.unwrap_or(random);
            one.qp = Some(qp);
            one.psn = Some(psn.map(|psn| psn & (Psn::SPACE - 1)));
            all.push(one);
        }
    }
    Ok(all)
}

fn check(connection: &Connection, scenario: &Scenario) -> Result<(), Error> {
    let c = connection;
    let v6 = scenario.host.first().is_some_and(|host| host.address.is_ipv6());
    let needs_gid = matches!(c.encapsulation, Encapsulation::Rocev1 | Encapsulation::IbGrh);
    let one_family = scenario.host.iter().all(|host| host.address.is_ipv6() == v6);
    let native = c.encapsulation.is_native();
    let all_native = scenario.connection.iter().all(|c| c.encapsulation.is_native() == native);
    for (right, what) in [
        (is_path_mtu(c.mtu as u32), "mtu: expected 256, 512, 1024, 2048 or 4096"),
        (c.copies >= 1, "copies: expected at least 1"),
        (c.psn.is_none_or(|psn| psn.iter().all(|&psn| psn < Psn::SPACE)), "psn: expected at most 0xffffff"),
        ((1..=1 << 22).contains(&c.window), "window: expected 1 to 2^22 packets"),
        (c.depth >= 1 && c.max_reads >= 1, "depth and max_reads: expected at least 1"),
        (c.timeout <= 31, "timeout: expected an exponent up to 31"),
        ((1.0..=16.0).contains(&c.timeout_factor), "timeout_factor: expected 1.0 to 16.0"),
        ((1.0..=1000.0).contains(&c.rnr_factor), "rnr_factor: expected 1.0 to 1000.0"),
        (c.rnr_timer <= 31 && c.rnr_retry <= 7, "rnr_timer and rnr_retry: expected at most 31 and 7"),
        (c.credits <= 31, "credits: expected a code up to 31"),
        (
            c.ack_every >= 1 && c.ack_request_every >= 1,
            "ack_every and ack_request_every: expected at least 1",
        ),
        (c.dscp <= 63 && c.pcp <= 7, "dscp and pcp: expected at most 63 and 7"),
        (c.ack_dscp.is_none_or(|dscp| dscp <= 63), "ack_dscp: expected at most 63"),
        (c.vlan.is_none_or(|vlan| vlan < 4096), "vlan: expected at most 4095"),
        (one_family, "hosts: expected addresses of one IP version"),
        (!needs_gid || v6, "encapsulation: RoCE v1 and a GRH need IPv6 addresses (GIDs)"),
        (all_native, "encapsulation: expected native InfiniBand for all connections or none"),
        (c.also_to.is_empty() || c.service == Service::Ud, "also_to: expected with service = \"ud\" only"),
        (
            !c.cm || c.encapsulation == Encapsulation::Rocev2,
            "cm: expected with encapsulation = \"rocev2\" only",
        ),
    ] {
        if !right {
            return Err(Error::new(format!("connection {:?}: {what}", c.name)));
        }
    }
    for (i, operation) in c.operations.iter().enumerate() {
        operation
            .segments(c)
            .map_err(|what| Error::new(format!("connection {:?}: operation {}: {what}", c.name, i + 1)))?;
    }
    Ok(())
}
