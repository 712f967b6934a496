//! The devices at the ends of tapped links: their addresses, what they say by LLDP, and the truth about who paused whom.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};

use super::{
    Error, Ns, Pause, Scenario, Side,
    engine::{Control, Run},
};
use crate::wire::*;

/// Makes times of pauses that others cause absolute, and checks the names.
pub(super) fn fill_in(scenario: &mut Scenario) -> Result<(), Error> {
    let wrong = |what: String| Err(Error::new(what));
    for (i, tap) in scenario.tap.iter().enumerate() {
        let n = i + 1;
        if tap.off_road && tap.ends.is_none() {
            return wrong(format!("tap {n}: off_road: expected with ends only"));
        }
        if tap.lldp && tap.ends.is_none() {
            return wrong(format!("tap {n}: lldp: expected with ends only"));
        }
        if tap.ends.as_ref().is_some_and(|[a, b]| a == b || a.is_empty() || b.is_empty()) {
            return wrong(format!("tap {n}: ends: expected two names"));
        }
    }
    for at in 0..scenario.pause.len() {
        let Pause { name, tap, cause, .. } = &scenario.pause[at];
        let n = at + 1;
        if !name.is_empty() && scenario.pause[..at].iter().any(|other| other.name == *name) {
            return wrong(format!("pause {n}: there are two with the name {name:?}"));
        }
        if !tap.is_empty() && !scenario.tap.iter().any(|other| other.name == *tap) {
            return wrong(format!("pause {n}: no tap is called {tap:?}"));
        }
        if !cause.is_empty() {
            let before = scenario.pause[..at].iter().find(|other| other.name == *cause);
            let Some(began) = before.map(|cause| cause.at.0) else {
                return wrong(format!("pause {n}: cause: no pause before it is called {cause:?}"));
            };
            scenario.pause[at].at.0 += began;
        }
    }
    for (i, deadlock) in scenario.deadlock.iter().enumerate() {
        let known = |name: &&String| scenario.pause.iter().any(|pause| pause.name == **name);
        if let Some(name) = deadlock.pauses.iter().find(|name| !known(name)) {
            return wrong(format!("deadlock {}: no pause is called {name:?}", i + 1));
        }
    }
    Ok(())
}

impl Scenario {
    /// The tap whose link a pause is on.
    pub(super) fn tap_of(&self, pause: &Pause) -> usize {
        self.tap.iter().position(|tap| !pause.tap.is_empty() && tap.name == pause.tap).unwrap_or(0)
    }

    /// The devices at the ends of links, in the order of the file.
    fn devices(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for name in self.tap.iter().flat_map(|tap| tap.ends.iter().flatten()) {
            if !all.contains(&name.as_str()) {
                all.push(name);
            }
        }
        all
    }

    /// When a pause held: from each frame until its timer runs out, or the next frame.
    fn spans(&self, pause: &Pause) -> Vec<(u64, u64)> {
        let timer = (pause.quanta as u128 * 512 * 1_000_000_000 / self.rate.0 as u128) as u64;
        let step = pause.refresh.map_or(timer / 2, |Ns(refresh)| refresh).max(1);
        let (begin, end) = (pause.at.0, pause.at.0 + pause.hold.0);
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for at in (begin..end).step_by(step as usize) {
            let until = at + timer;
            match spans.last_mut() {
                Some(last) if at < last.1 => last.1 = until,
                _ => spans.push((at, until)),
            }
        }
        if let Some(last) = spans.last_mut().filter(|_| pause.xon) {
            last.1 = last.1.min(end);
        }
        spans
    }
}

impl Run {
    /// The source address of what one end of a tapped link sends.
    pub(super) fn end_mac(&self, tap: usize, side: Side) -> Mac {
        let host = |wanted: &dyn Fn(u32) -> bool| {
            (0..self.scenario.host.len() as u32).find(|&host| wanted(host)).map(|host| self.mac(host))
        };
        let Some(ends) = self.scenario.tap.get(tap).and_then(|tap| tap.ends.as_ref()) else {
            let Mac(mut mac) = host(&|host| self.side(host) == side).unwrap_or(self.mac(0));
            // The frame comes from the port at that end, not from the host.
            mac[1] ^= 0x10;
            return Mac(mac);
        };
        let name = &ends[(side == Side::Right) as usize];
        let of_host = host(&|host| self.scenario.host[host as usize].name == *name);
        let device = self.scenario.devices().iter().position(|other| other == name).unwrap_or(0) as u16;
        let [high, low] = (device + 1).to_be_bytes();
        of_host.unwrap_or(Mac([2, 0x50, high, low, 0, tap as u8 + 1]))
    }

    fn is_host(&self, device: &str) -> bool {
        self.scenario.host.iter().any(|host| host.name == device)
    }

    /// The file that says what the tapped links join, as `rdmawire analyze --links` takes it. Taps have the names of their interfaces.
    pub fn links(&self) -> String {
        self.links_of(|at| match self.scenario.tap[at].name.as_str() {
            "" => at.to_string(),
            name => name.to_owned(),
        })
    }

    /// The same, with other names of taps: those of files that do not name their interface.
    pub fn links_of(&self, name: impl Fn(usize) -> String) -> String {
        let mut text = String::new();
        for (at, tap) in self.scenario.tap.iter().enumerate() {
            let Some([a, b]) = &tap.ends else { continue };
            let end = |name: &str, side| {
                format!(
                    "{{ device = {name:?}, port = \"{}\", mac = \"{}\" }}",
                    at + 1,
                    self.end_mac(at, side)
                )
            };
            let name = name(at);
            let (a, b) = (end(a, Side::Left), end(b, Side::Right));
            // Writing to text cannot fail.
            let _ = writeln!(text, "[[link]]\ntap = {name:?}\na = {a}\nb = {b}\n");
        }
        for name in self.scenario.devices().into_iter().filter(|name| self.is_host(name)) {
            let host = self.scenario.host.iter().find(|host| host.name == name);
            let address = host.map_or_else(String::new, |host| host.address.to_string());
            let _ = writeln!(text, "[device.{name:?}]\nkind = \"host\"\naddress = \"{address}\"\n");
        }
        text
    }

    /// The frame by which an end says who it is.
    pub(super) fn lldp(&self, control: &Control, to: &mut impl Extend<u8>) {
        let Control { tap, from, .. } = *control;
        let tap = tap as usize;
        let ends = self.scenario.tap.get(tap).and_then(|tap| tap.ends.as_ref());
        let name = ends.map_or("", |ends| ends[(from == Side::Right) as usize].as_str());
        let device = self.scenario.devices().iter().position(|other| *other == name).unwrap_or(0) as u16;
        let [high, low] = (device + 1).to_be_bytes();
        let chassis = [4, 2, 0x50, high, low, 0, 0];
        let port = format!("\u{5}{}", tap + 1);
        // Station only; or bridge and router.
        let capabilities: [u8; 2] = if self.is_host(name) { [0, 0x80] } else { [0, 0x14] };
        let values: [(u8, &[u8]); 6] = [
            (1, &chassis),
            (2, port.as_bytes()),
            (3, &[0, 120]),
            (5, name.as_bytes()),
            (7, &[capabilities, capabilities].concat()),
            (0, &[]),
        ];
        let head = Ethernet::default()
            .with_dst(Mac([1, 0x80, 0xc2, 0, 0, 0x0e]))
            .with_src(self.end_mac(tap, from))
            .with_ether_type(EtherType(0x88cc));
        let mut frame = head.bytes().to_vec();
        for (kind, value) in values {
            let tlv = Lldp::default().with_tlv_type(LldpType(kind)).with_tlv_length(value.len() as u16);
            frame.extend_from_slice(tlv.bytes());
            frame.extend_from_slice(value);
        }
        frame.resize(frame.len().max(60), 0);
        to.extend(frame);
    }

    /// Who paused whom, as the scenario says it: what an analysis of all taps together, with [`links`](Self::links), must find.
    /// `None` where no tap has names for its ends.
    pub fn expect_merged(&self) -> Option<Value> {
        let scenario = &self.scenario;
        scenario.tap.iter().find(|tap| tap.ends.is_some())?;
        let ends = |pause: &Pause| {
            let [left, right] = scenario.tap[scenario.tap_of(pause)].ends.clone().unwrap_or_default();
            if pause.from == Side::Left { (left, right) } else { (right, left) }
        };
        let cause_of = |pause: &Pause| {
            scenario.pause.iter().find(|other| !pause.cause.is_empty() && other.name == pause.cause)
        };
        let paused_ns = |pause: &Pause| scenario.spans(pause).iter().map(|(from, to)| to - from).sum::<u64>();
        let (mut edges, mut culprits) = (BTreeMap::new(), BTreeMap::new());
        for pause in &scenario.pause {
            let (by, of) = ends(pause);
            let mut root = pause;
            let mut chain = vec![of.clone(), by.clone()];
            while let Some(cause) = cause_of(root) {
                root = cause;
                chain.push(ends(root).0);
            }
            chain.reverse();
            let culprit: &mut Culprit = culprits.entry((ends(root).0, root.priority)).or_default();
            if let Some(cause) = cause_of(pause) {
                let edge: &mut (u64, u64) =
                    edges.entry((pause.priority, ends(cause).0, by.clone(), of.clone())).or_default();
                *edge = (edge.0 + scenario.spans(pause).len() as u64, edge.1 + paused_ns(pause));
                culprit.caused_ns += paused_ns(pause);
                culprit.indirect.push(of);
            } else {
                culprit.paused_ns += paused_ns(pause);
                culprit.pauses += scenario.spans(pause).len() as u64;
                culprit.direct.push(of);
            }
            if chain.len() > culprit.chain.len() {
                culprit.chain = chain;
            }
        }
        let edge = |((priority, cause, device, paused), (pauses, paused_ns))| {
            json!({
                "priority": priority, "cause": cause, "device": device, "paused": paused,
                "pauses": pauses, "paused_ns": paused_ns,
            })
        };
        let culprit =
            |((device, priority), culprit): ((String, Option<u8>), Culprit)| culprit.value(device, priority);
        let deadlock = |deadlock: &super::Deadlock| {
            let named = |name: &String| scenario.pause.iter().find(|pause| pause.name == *name);
            let all: Vec<&Pause> = deadlock.pauses.iter().filter_map(named).collect();
            let all_spans = all.iter().filter_map(|pause| {
                Some((scenario.spans(pause).first()?.0, scenario.spans(pause).last()?.1))
            });
            let (from, to) =
                all_spans.fold((0, u64::MAX), |(from, to), (begin, end)| (from.max(begin), to.min(end)));
            json!({
                "priority": all.first().and_then(|pause| pause.priority),
                "devices": all.iter().map(|pause| ends(pause).1).collect::<Vec<_>>(),
                "all_paused_ns": to.saturating_sub(from),
            })
        };
        Some(json!({
            "schema": "rdmawire.expect/1",
            "pause_tree": {
                "edges": edges.into_iter().map(edge).collect::<Vec<_>>(),
                "culprits": culprits.into_iter().map(culprit).collect::<Vec<_>>(),
                "deadlocks": scenario.deadlock.iter().map(deadlock).collect::<Vec<_>>(),
            },
        }))
    }
}

/// What began at a device.
#[derive(Default)]
struct Culprit {
    pauses: u64,
    paused_ns: u64,
    caused_ns: u64,
    direct: Vec<String>,
    indirect: Vec<String>,
    chain: Vec<String>,
}

impl Culprit {
    fn value(mut self, device: String, priority: Option<u8>) -> Value {
        for names in [&mut self.direct, &mut self.indirect] {
            names.sort();
            names.dedup();
        }
        self.indirect.retain(|name| !self.direct.contains(name) && *name != device);
        json!({
            "device": device, "priority": priority, "pauses": self.pauses, "paused_ns": self.paused_ns,
            "caused_ns": self.caused_ns, "direct": self.direct, "indirect": self.indirect, "chain": self.chain,
        })
    }
}
