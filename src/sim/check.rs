//! Checks scenarios, and fills in defaults.

use std::{collections::HashSet, fmt, net::IpAddr, ops::RangeInclusive};

use super::{
    Action, Connection, Encapsulation, End, Error, Faults, Host, IpId, Kind, Ns, Pacing, PartialRead, Rate,
    Recovery, Scenario, Segment, Side, Size, Spread, Tap, TimeoutResends, UdpPort, Verb, Where, Wrap,
};
use crate::{
    craft::Lengths,
    dcqcn::Parameters,
    grammar::print::duration,
    message::is_path_mtu,
    opcode::Service,
    random::SplitMix64,
    wire::{Bth, Ethernet, Header, Ipv4, Ipv6, Mac, Psn, Udp, Vlan},
};

/// The name of the file with what is expected of all taps together.
pub const MERGED: &str = "merged";
/// Most connections, with each copy counted.
const MOST_CONNECTIONS: usize = 1 << 16;
/// The longest duration, in ns: some eleven days.
pub(super) const LONGEST: f64 = 1e15;
/// The latest time at which a scenario begins, in ns since 1970: in 2096.
pub(super) const LATEST: f64 = 4e18;

/// What a number of a scenario may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds(f64, f64);

impl Bounds {
    pub(super) fn of(range: RangeInclusive<impl Into<f64> + Copy>) -> Bounds {
        Bounds((*range.start()).into(), (*range.end()).into())
    }

    /// Says what was expected, where a number is not within. `write`: how numbers are written.
    fn check(self, at: fmt::Arguments<'_>, number: f64, write: impl Fn(f64) -> String) -> Result<(), Error> {
        let Bounds(least, most) = self;
        if (least..=most).contains(&number) {
            return Ok(());
        }
        let expected = match (least, most) {
            (0.0, 1.0) => "a share from 0 to 1".to_owned(),
            (0.0, most) => format!("at most {}", write(most)),
            (least, most) if most >= u32::MAX.into() => format!("at least {}", write(least)),
            (least, most) => format!("{} to {}", write(least), write(most)),
        };
        let what = format!("{at} = {}: expected {expected}", write(number));
        // The scenario itself has no name.
        Err(Error::new(what.trim_start_matches(": ")))
    }
}

/// What stands in a scenario: numbers within bounds, and tables of such.
pub(super) trait Checked {
    /// Says what is wrong. `at`: where it stands; `bounds`: those of its field.
    fn check(&self, _at: fmt::Arguments<'_>, _bounds: Option<Bounds>) -> Result<(), Error> {
        Ok(())
    }
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Checked for $type {
            fn check(&self, at: fmt::Arguments<'_>, bounds: Option<Bounds>) -> Result<(), Error> {
                bounds.map_or(Ok(()), |bounds| bounds.check(at, *self as f64, |n| n.to_string()))
            }
        }
    )*};
}

numbers! { u8, u16, u32, u64, f64 }

impl Checked for Ns {
    fn check(&self, at: fmt::Arguments<'_>, bounds: Option<Bounds>) -> Result<(), Error> {
        bounds.unwrap_or(Bounds(0.0, LONGEST)).check(at, self.0 as f64, |ns| duration(ns as u64))
    }
}

impl<T: Checked> Checked for Option<T> {
    fn check(&self, at: fmt::Arguments<'_>, bounds: Option<Bounds>) -> Result<(), Error> {
        self.as_ref().map_or(Ok(()), |value| value.check(at, bounds))
    }
}

impl<T: Checked> Checked for [T; 2] {
    fn check(&self, at: fmt::Arguments<'_>, bounds: Option<Bounds>) -> Result<(), Error> {
        self.iter().try_for_each(|value| value.check(at, bounds))
    }
}

/// The bounds are those of its length.
impl<T: Checked> Checked for Vec<T> {
    fn check(&self, at: fmt::Arguments<'_>, bounds: Option<Bounds>) -> Result<(), Error> {
        (self.len() as u64).check(format_args!("{at}: number of entries"), bounds)?;
        self.iter().zip(1..).try_for_each(|(value, n)| value.check(format_args!("{at} {n}"), None))
    }
}

/// Words, names and flags: what they may be is checked as they are read.
macro_rules! words {
    ($($type:ty),* $(,)?) => { $(impl Checked for $type {})* };
}

words! {
    bool, String, IpAddr, Service, &Parameters, Rate, Size, UdpPort, Action, Encapsulation, End, IpId, Kind, Pacing, PartialRead, Recovery,
    Side, Spread, TimeoutResends, Verb, Where, Wrap, Lengths,
}

/// Fills in defaults and checks the rest.
pub(super) fn fill_in(scenario: &mut Scenario) -> Result<(), Error> {
    scenario.check(format_args!(""), None)?;
    fill_in_hosts(&mut scenario.host)?;
    if scenario.segment.is_empty() {
        scenario.segment = vec![Segment { delay: Ns(2_000), ..Segment::default() }; 2];
    }
    if scenario.tap.is_empty() {
        scenario.tap.push(Tap::default());
    }
    for (segment, n) in scenario.segment.iter().zip(1..) {
        let is_open = |f: &Faults| f.reorder > 0.0 && f.reorder_depth == 0 && f.reorder_by.is_none();
        if is_open(&segment.right) || is_open(&segment.left) {
            return Err(Error::new(format!("segment {n}: reorder needs reorder_depth or reorder_by")));
        }
    }
    let segments = scenario.segment.len();
    if let Some(Tap { after, .. }) = scenario.tap.iter().find(|tap| tap.after as usize > segments) {
        let what = format!("tap: after = {after}: expected at most {segments}, the number of segments");
        return Err(Error::new(what));
    }
    check_names(&scenario.tap)?;
    super::fabric::fill_in(scenario)?;
    let is_host = |name: &&String| scenario.host.iter().any(|host| host.name == **name);
    match scenario.pause.iter().flat_map(|pause| &pause.stops).find(|name| !is_host(name)) {
        Some(name) => Err(Error::new(format!("pause: stops: no host is called {name:?}"))),
        None => Ok(()),
    }
}

/// Names of taps are parts of file names: each of one tap.
fn check_names(taps: &[Tap]) -> Result<(), Error> {
    let mut names = HashSet::new();
    for (at, tap) in taps.iter().enumerate() {
        let name = if tap.name.is_empty() { (at + 1).to_string() } else { tap.name.clone() };
        let is_plain = |c: char| !c.is_control() && !matches!(c, '/' | '\\' | ':');
        if name == MERGED || !name.chars().all(is_plain) || name.trim_matches('.').is_empty() {
            return Err(Error::new(format!(
                "tap {}: name = {name:?}: expected a name for a file, without / and control characters, other than \"{MERGED}\"",
                at + 1
            )));
        }
        if taps.len() > 1 && !names.insert(name.clone()) {
            return Err(Error::new(format!("tap {}: name = {name:?}: another tap has that name", at + 1)));
        }
    }
    Ok(())
}

/// Without any host there are two.
fn fill_in_hosts(hosts: &mut Vec<Host>) -> Result<(), Error> {
    if hosts.is_empty() {
        for (name, last) in [("a", 1), ("b", 2)] {
            let (mac, lid, side, rate, dies_at) = (None, None, None, None, None);
            let address = IpAddr::from([10, 0, 0, last]);
            hosts.push(Host { name: name.into(), address, mac, lid, side, rate, dies_at });
        }
    }
    for i in 0..hosts.len() {
        let (before, rest) = hosts.split_at_mut(i);
        let Some(host) = rest.first_mut() else { break };
        if before.iter().any(|other| other.name == host.name) {
            return Err(Error::new(format!("host {:?}: there are two of that name", host.name)));
        }
        if let Some(mac) = &host.mac
            && let Err(what) = mac.parse::<Mac>()
        {
            return Err(Error::new(format!("host {:?}: mac {mac:?}: {what}", host.name)));
        }
        host.side.get_or_insert(if i == 0 { Side::Left } else { Side::Right });
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
        check_trim(&connection, i == 0, scenario)?;
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

/// What is trimmed is RoCEv2, of which the BTH is left: else the truth would count packets that no switch makes.
fn check_trim(c: &Connection, is_first: bool, scenario: &Scenario) -> Result<(), Error> {
    let is_of_copy =
        |name: &str| name.strip_prefix(c.name.as_str()).is_some_and(|rest| rest.starts_with('.'));
    let is_aimed_at = |name: &str| match name {
        "" => is_first,
        name => name == c.name || is_of_copy(name),
    };
    let trimmed_by = if scenario.segment.iter().any(|road| road.right.trim > 0.0 || road.left.trim > 0.0) {
        "trim of a segment"
    } else if scenario.paths.bad.is_some() && scenario.paths.bad_trim > 0.0 {
        "bad_trim"
    } else if scenario.event.iter().any(|e| e.action == Action::Trim && is_aimed_at(&e.connection)) {
        "an event that trims"
    } else {
        return Ok(());
    };
    let wrong = |what: String| Err(Error::new(format!("connection {:?}: {trimmed_by}: {what}", c.name)));
    if c.encapsulation != Encapsulation::Rocev2 {
        return wrong("switches trim RoCEv2 only: expected encapsulation = \"rocev2\"".into());
    }
    if scenario.trim.lengths == Lengths::None && scenario.tap.iter().any(|tap| tap.wrap != Wrap::None) {
        return wrong("trim: lengths = \"none\": with wrap, it looks as if the mirror had cut the packet: expected \"ip\" or \"all\"".into());
    }
    let is_v6 = scenario.host.iter().any(|host| host.address.is_ipv6());
    let network = if is_v6 { Ipv6::LEN } else { Ipv4::LEN };
    let tag = if c.vlan.is_some() { Vlan::LEN } else { 0 };
    let least = Ethernet::LEN + tag + network + Udp::LEN + Bth::LEN;
    match (scenario.trim.bytes as usize) < least {
        true => wrong(format!(
            "trim: bytes = {}: expected at least {least}, which ends with the BTH",
            scenario.trim.bytes
        )),
        false => Ok(()),
    }
}
