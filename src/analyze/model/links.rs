//! What the user says of the links that were captured: see `--links`.

use std::collections::BTreeMap;
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
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Links {
    /// The links.
    pub links: Vec<KnownLink>,
    /// What is known of devices, by their names. Devices that are not here are switches.
    pub devices: BTreeMap<String, KnownDevice>,
}

/// A link, and who captured it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct KnownLink {
    /// The captured interfaces: each by its name, its number, or the name of its file.
    pub taps: Vec<String>,
    /// Its two ends.
    pub ends: [LinkEnd; 2],
}

/// An end of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LinkEnd {
    /// The device.
    pub device: String,
    /// Its port.
    pub port: Option<String>,
    /// Ethernet addresses from which it sends pauses.
    pub macs: Vec<Mac>,
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct KnownDevice {
    /// It is a host: it passes no pause on.
    pub is_host: bool,
    /// Addresses of a host.
    pub addresses: Vec<Address>,
}

impl KnownLink {
    /// Whether a captured interface taps it: its name, its number, and the file that it is of.
    pub fn is_tapped_by(&self, name: &str, number: u16, file: Option<&str>) -> bool {
        let base = file.map(|file| file.rsplit(['/', '\\']).next().unwrap_or(file));
        let stem = base.map(|base| base.split('.').next().unwrap_or(base));
        self.taps.iter().any(|tap| {
            let tap = tap.as_str();
            tap == name || [file, base, stem].contains(&Some(tap)) || tap.parse() == Ok(number)
        })
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
        for link in file.link {
            let at = link.span();
            let link = KnownLink::of(link.into_inner()).map_err(|what| wrong(at.clone(), what))?;
            all.check(&link).map_err(|what| wrong(at, what))?;
            all.links.push(link);
        }
        let is_end =
            |name: &String| all.links.iter().any(|link| link.ends.iter().any(|end| end.device == *name));
        if let Some(name) = all.devices.keys().find(|name| !is_end(name)) {
            return Err(format!("device.{name}: no link ends there"));
        }
        Ok(all)
    }

    /// Whether a link fits to those before it.
    fn check(&self, link: &KnownLink) -> Result<(), String> {
        let [a, b] = &link.ends;
        if a.device == b.device {
            return Err(format!("both ends are of the device {:?}: expected two devices", a.device));
        }
        if let Some(mac) = a.macs.iter().find(|mac| b.macs.contains(mac)) {
            return Err(format!("both ends have the address {mac}: nobody could tell who sends"));
        }
        for tap in &link.taps {
            if link.taps.iter().filter(|other| *other == tap).count() > 1
                || self.links.iter().any(|other| other.taps.contains(tap))
            {
                return Err(format!("tap {tap:?} is named twice: a tap is on one link"));
            }
        }
        for end in &link.ends {
            let others = self.links.iter().flat_map(|other| &other.ends);
            let same_port = |other: &&LinkEnd| other.device == end.device && other.port == end.port;
            if let (Some(port), Some(_)) = (&end.port, others.clone().find(same_port)) {
                return Err(format!("port {port:?} of {:?} is the end of another link", end.device));
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
