//! What the user says of the links that were captured: see `--links`.

#[cfg(feature = "toml")]
use std::collections::HashSet;
use std::collections::{BTreeMap, HashMap};
#[cfg(feature = "toml")]
use std::ops::Range;

use super::Address;
use crate::wire::Mac;

/// Which captured interface taps which link, and what the links join.
///
/// ```
/// # #[cfg(feature = "toml")] {
/// let links = rdmawire::analyze::Links::parse(r#"
///     [[link]]
///     tap = "eth2"
///     a = { device = "leaf1", port = "Ethernet4", mac = "02:00:00:00:01:04" }
///     b = { device = "gpu7" }
///     [device.gpu7]
///     kind = "host"
///     address = "10.0.0.7"
/// "#).unwrap();
/// assert_eq!(links.links[0].ends[1].device, "gpu7");
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
#[non_exhaustive]
pub struct Links {
    /// The links.
    pub links: Vec<KnownLink>,
    /// What is known of devices, by their names. Devices that are not here are switches.
    pub devices: BTreeMap<String, KnownDevice>,
}

/// A link, and who captured it.
#[derive(Clone, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
pub struct KnownLink {
    /// The captured interfaces: each by its name, its number, or the name of its file.
    pub taps: Vec<String>,
    /// Its two ends.
    pub ends: [LinkEnd; 2],
}

/// An end of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
pub struct LinkEnd {
    /// The device.
    pub device: String,
    /// Its port.
    pub port: Option<String>,
    /// Ethernet addresses from which it sends pauses.
    pub macs: Vec<Mac>,
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
pub struct KnownDevice {
    /// It is a host: it passes no pause on.
    pub is_host: bool,
    /// Addresses of a host.
    pub addresses: Vec<Address>,
}

/// Which end of a link a sender of pauses is at, by the addresses of both. Where those of one end only are known, another sender is at the
/// other end.
pub(crate) fn end_of(sender: Mac, macs: [&[Mac]; 2]) -> Option<usize> {
    match macs.map(|end| end.contains(&sender)) {
        [true, false] => Some(0),
        [false, true] => Some(1),
        [false, false] if macs[0].is_empty() != macs[1].is_empty() => Some(macs[1].is_empty() as usize),
        _ => None,
    }
}

/// What other links than the one at this place join to a device. `links`: the ends of each; `is_device`: whether an end is at the device.
pub(crate) fn beside<E: Copy>(
    links: impl Iterator<Item = [E; 2]>,
    at: usize,
    is_device: impl Fn(E) -> bool,
) -> impl Iterator<Item = E> {
    let others = links.enumerate().filter(move |&(other, _)| other != at);
    others.filter_map(move |(_, [a, b])| match (is_device(a), is_device(b)) {
        (true, _) => Some(b),
        (_, true) => Some(a),
        _ => None,
    })
}

/// Which end of a link sent a packet, by the hosts at both: a host sends what comes from it, and nothing that goes to it. `None` where neither
/// address says so, or each something else.
pub(crate) fn sent_by(hosts: [&[Address]; 2], src: Address, dst: Address) -> Option<usize> {
    let [a, b] = hosts;
    match [a.contains(&src) || b.contains(&dst), b.contains(&src) || a.contains(&dst)] {
        [true, false] => Some(0),
        [false, true] => Some(1),
        _ => None,
    }
}

impl KnownLink {
    /// Whether a captured interface taps it: its name, its number, and the file that it is of.
    pub fn is_tapped_by(&self, name: &str, number: u16, file: Option<&str>) -> bool {
        let names = names_of(name, file);
        self.taps.iter().any(|tap| names.contains(&Some(tap)) || tap.parse() == Ok(number))
    }
}

/// What a user may call an interface: by its name, and by that of its file, with or without directory and extension.
fn names_of<'a>(name: &'a str, file: Option<&'a str>) -> [Option<&'a str>; 4] {
    let base = file.map(|file| file.rsplit(['/', '\\']).next().unwrap_or(file));
    let stem = base.map(|base| base.split('.').next().unwrap_or(base));
    [Some(name), file, base, stem]
}

/// The taps of all links, to be found by what is known of an interface.
pub(crate) struct Taps<'a> {
    by_name: HashMap<&'a str, Tap<'a>>,
    by_number: HashMap<u16, Vec<Tap<'a>>>,
}

/// A link, and one of its taps as the user named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tap<'a> {
    /// The link's place in the list.
    pub(crate) link: usize,
    pub(crate) named: &'a str,
}

impl Links {
    /// The addresses of the hosts at each end of a link: the host's own, or of a switch, those of the hosts that other links join to it.
    pub(crate) fn hosts_at(&self, at: usize) -> [Vec<Address>; 2] {
        let Some(link) = self.links.get(at) else { return <[Vec<Address>; 2]>::default() };
        let host = |end: &LinkEnd| self.devices.get(&end.device).filter(|device| device.is_host);
        link.ends.each_ref().map(|end| {
            if let Some(host) = host(end) {
                return host.addresses.clone();
            }
            let ends = self.links.iter().map(|link| link.ends.each_ref());
            let beside = beside(ends, at, |one| one.device == end.device);
            beside.filter_map(host).flat_map(|host| host.addresses.iter().copied()).collect()
        })
    }

    pub(crate) fn taps(&self) -> Taps<'_> {
        let (mut by_name, mut by_number) = (HashMap::new(), HashMap::<u16, Vec<Tap<'_>>>::new());
        for (link, of) in self.links.iter().enumerate() {
            for named in &of.taps {
                let tap = Tap { link, named };
                by_name.entry(named.as_str()).or_insert(tap);
                if let Ok(number) = named.parse() {
                    by_number.entry(number).or_default().push(tap);
                }
            }
        }
        Taps { by_name, by_number }
    }
}

impl<'a> Taps<'a> {
    /// The taps that a captured interface is: by its name, its number, and the file that it is of. In the order of links.
    pub(crate) fn of(&self, name: &str, number: u16, file: Option<&str>) -> Vec<Tap<'a>> {
        let named = names_of(name, file).into_iter().flatten().filter_map(|name| self.by_name.get(name));
        let mut taps: Vec<Tap<'a>> =
            named.chain(self.by_number.get(&number).into_iter().flatten()).copied().collect();
        taps.sort_unstable();
        taps.dedup();
        taps
    }
}

/// The file as TOML has it.
#[cfg(feature = "toml")]
mod text {
    use serde::Deserialize;
    use toml::{Spanned, Value};

    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct File {
        #[serde(default)]
        pub(super) link: Vec<Spanned<Link>>,
        #[serde(default)]
        pub(super) device: BTreeMap<String, Spanned<Device>>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Link {
        pub(super) tap: Value,
        pub(super) a: End,
        pub(super) b: End,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct End {
        pub(super) device: String,
        pub(super) port: Option<String>,
        pub(super) mac: Option<Value>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Device {
        pub(super) kind: Kind,
        pub(super) address: Option<Value>,
    }

    #[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
    #[serde(rename_all = "lowercase")]
    pub(super) enum Kind {
        Switch,
        Host,
    }

    /// A value as the file has it, on one line.
    pub(super) fn shown(value: &Value) -> String {
        match value {
            Value::String(text) => format!("{text:?}"),
            Value::Integer(number) => number.to_string(),
            other => format!("is {}", other.type_str()),
        }
    }

    /// A value, or a list of them, each made by `one`.
    pub(super) fn list<T>(
        value: Option<Value>,
        one: impl Fn(Value) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        match value {
            None => Ok(Vec::new()),
            Some(Value::Array(all)) => all.into_iter().map(one).collect(),
            Some(value) => one(value).map(|value| vec![value]),
        }
    }
}

#[cfg(feature = "toml")]
impl Links {
    /// The links of a TOML file.
    ///
    /// # Errors
    /// What is wrong with the text, and in which line.
    pub fn parse(text: &str) -> Result<Links, String> {
        let line = |at: usize| text.get(..at).map_or(0, |before| before.matches('\n').count() + 1);
        let wrong = |at: Range<usize>, what: String| format!("line {}: {what}", line(at.start));
        let file: text::File = toml::from_str(text).map_err(|error| {
            let what = error.message().trim().replace('\n', "; ");
            wrong(error.span().unwrap_or_default(), what)
        })?;
        let mut all = Links::default();
        for (name, device) in file.device {
            let at = device.span();
            let device = device.into_inner();
            let known =
                KnownDevice::of(device).map_err(|what| wrong(at, format!("device.{name}: {what}")))?;
            all.devices.insert(name, known);
        }
        let mut before = Before::default();
        for link in file.link {
            let at = link.span();
            let link = KnownLink::of(link.into_inner()).map_err(|what| wrong(at.clone(), what))?;
            before.check(&link).map_err(|what| wrong(at, what))?;
            all.links.push(link);
        }
        Ok(all)
    }
}

impl Links {
    /// Devices at which no link ends: perhaps a name is written in two ways.
    pub fn devices_without_links(&self) -> impl Iterator<Item = &str> {
        let ends = |name: &str| self.links.iter().flat_map(|link| &link.ends).any(|end| end.device == *name);
        self.devices.keys().map(String::as_str).filter(move |name| !ends(name))
    }
}

/// What the links before have.
#[cfg(feature = "toml")]
#[derive(Default)]
struct Before {
    taps: HashSet<String>,
    /// Devices and their ports.
    ports: HashSet<(String, String)>,
}

#[cfg(feature = "toml")]
impl Before {
    /// Whether a link fits to those before it.
    fn check(&mut self, link: &KnownLink) -> Result<(), String> {
        let [a, b] = &link.ends;
        if a.device == b.device {
            return Err(format!("both ends are of the device {:?}: expected two devices", a.device));
        }
        if let Some(mac) = a.macs.iter().find(|mac| b.macs.contains(mac)) {
            return Err(format!("both ends have the address {mac}: nobody could tell who sends"));
        }
        if let Some(tap) = link.taps.iter().find(|tap| !self.taps.insert((*tap).clone())) {
            return Err(format!("tap {tap:?} is named twice: a tap is on one link"));
        }
        let ports = link.ends.iter().filter_map(|end| Some((end.device.clone(), end.port.clone()?)));
        for (device, port) in ports {
            if !self.ports.insert((device.clone(), port.clone())) {
                return Err(format!("port {port:?} of {device:?} is the end of another link"));
            }
        }
        Ok(())
    }
}

#[cfg(feature = "toml")]
impl KnownDevice {
    fn of(device: text::Device) -> Result<KnownDevice, String> {
        let is_host = device.kind == text::Kind::Host;
        let address = |value: toml::Value| {
            let known = value.as_str().and_then(|text| text.parse().ok());
            known.ok_or_else(|| {
                format!("address {}: expected an IP address, or gid:, or lid:", text::shown(&value))
            })
        };
        let addresses = text::list(device.address, address)?;
        if !is_host && !addresses.is_empty() {
            return Err("address: only hosts have some here".into());
        }
        Ok(KnownDevice { is_host, addresses })
    }
}

#[cfg(feature = "toml")]
impl KnownLink {
    fn of(link: text::Link) -> Result<KnownLink, String> {
        let expected = "expected the name or the number of an interface, or the name of a file";
        let tap = |value: toml::Value| match value {
            toml::Value::Integer(number) if u16::try_from(number).is_ok() => Ok(number.to_string()),
            toml::Value::String(name) if !name.is_empty() => Ok(name),
            other => Err(format!("tap {}: {expected}", text::shown(&other))),
        };
        let taps = text::list(Some(link.tap), tap)?;
        if taps.is_empty() {
            return Err(format!("tap: {expected}"));
        }
        let ends = [LinkEnd::of("a", link.a)?, LinkEnd::of("b", link.b)?];
        Ok(KnownLink { taps, ends })
    }
}

#[cfg(feature = "toml")]
impl LinkEnd {
    fn of(name: &str, end: text::End) -> Result<LinkEnd, String> {
        if end.device.is_empty() {
            return Err(format!("{name}: device: expected a name"));
        }
        let mac = |value: toml::Value| {
            let known = value.as_str().and_then(|text| text.parse::<Mac>().ok());
            known.ok_or_else(|| {
                let value = text::shown(&value);
                format!("{name}: mac {value}: expected an Ethernet address as \"02:00:00:00:00:01\"")
            })
        };
        let macs = text::list(end.mac, mac)?;
        Ok(LinkEnd { device: end.device, port: end.port, macs })
    }
}
