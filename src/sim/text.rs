//! Reads scenarios from TOML, and the values in them.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, de};

use super::Scenario;
use crate::{
    craft::Lengths,
    dcqcn::{Parameters, SETS},
    grammar::units,
    opcode::Service,
};

/// A time or a duration in nanoseconds; in text `"10us"`, `"1.5ms"`, or a number of nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ns(pub u64);

/// Bits a second; in text `"400G"`, `"2.5G"`, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub u64);

/// Bytes; in text `"64KiB"`, `"1MB"`, or a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size(pub u64);

/// How a queue pair chooses its UDP source ports; in text `"linux"`, `"spray:4"`, or a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UdpPort {
    /// Linux's formula over both queue pairs' numbers (include/rdma/ib_verbs.h, rdma_flow_label_to_udp_sport).
    #[default]
    Linux,
    /// Always this one.
    Fixed(u16),
    /// Each packet takes the next of that many ports, from Linux's on.
    Spray(u16),
}

/// What is wrong with a scenario: where, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Line of the text, from 1; 0 if the scenario was not text, or if no line is wrong alone.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub what: String,
}

impl Error {
    pub(super) fn new(what: impl Into<String>) -> Error {
        Error { line: 0, what: what.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        // It contains names and values from the text.
        f.write_str(&self.what.replace(char::is_control, "?"))
    }
}

impl std::error::Error for Error {}

impl Scenario {
    /// Reads a scenario. [`super::run`] checks its values.
    ///
    /// # Errors
    /// The line where the text is not TOML or not as in [`super::SCHEMA`], and what was expected there.
    pub fn parse(text: &str) -> Result<Scenario, Error> {
        if let Some(kind) = kind_of(text) {
            return Err(Error::new(format!(
                "kind = {kind:?}: expected \"uet\", \"mrc\" or \"collective\", or no kind for hosts and connections"
            )));
        }
        parse(text)
    }
}

/// What a scenario says that it is; `None` of one of hosts and connections, and of a text that is no TOML.
pub(super) fn kind_of(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Of {
        kind: String,
    }
    toml::from_str::<Of>(text).ok().map(|of| of.kind)
}

/// Reads a table that is a whole file.
pub(super) fn parse<T: de::DeserializeOwned>(text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text.get(..at).map_or(0, |before| before.matches('\n').count() + 1);
        let what = error.message().trim().lines().collect::<Vec<_>>().join("; ");
        Error { line, what }
    })
}

macro_rules! from_units {
    ($($type:ident $read:ident),*) => {$(
        impl FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<$type, String> {
                units::$read(text).map($type).map_err(|error| error.message().to_owned())
            }
        }
    )*};
}

from_units! { Ns duration, Rate bit_rate, Size size }

impl FromStr for UdpPort {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<UdpPort, Self::Err> {
        const EXPECTED: &str = "expected \"linux\", \"spray:N\" with N from 1 to 1024, or a port";
        if text == "linux" {
            return Ok(UdpPort::Linux);
        }
        let ports = text.strip_prefix("spray:").and_then(|n| n.parse().ok()).ok_or(EXPECTED)?;
        if (1..=1024).contains(&ports) { Ok(UdpPort::Spray(ports)) } else { Err(EXPECTED) }
    }
}

/// Reads a value from text by `FromStr`, or from a whole number.
macro_rules! from_text_or_number {
    ($($type:ident: $expected:literal, $number:expr;)*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                struct Visitor;
                impl de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(|what| E::custom(format!("{text:?}: {what}")))
                    }
                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$type, E> {
                        let make: fn(u64) -> Option<$type> = $number;
                        u64::try_from(number).ok().and_then(make).ok_or_else(|| {
                            E::custom(format!("{number} is out of range: expected {}", $expected))
                        })
                    }
                    fn visit_u64<E: de::Error>(self, number: u64) -> Result<$type, E> {
                        self.visit_i64(i64::try_from(number).unwrap_or(-1))
                    }
                }
                from.deserialize_any(Visitor)
            }
        }
    )*};
}

from_text_or_number! {
    Ns: "a duration like \"10us\", or nanoseconds", |n| Some(Ns(n));
    Rate: "a rate like \"100G\", or bits a second", |n| (n > 0).then_some(Rate(n));
    Size: "a size like \"64KiB\", or bytes", |n| Some(Size(n));
    UdpPort: "\"linux\", \"spray:4\", or a port", |n| u16::try_from(n).ok().map(UdpPort::Fixed);
}

/// The lengths that trimming writes anew.
pub(super) fn lengths<'de, D: Deserializer<'de>>(from: D) -> Result<Lengths, D::Error> {
    let name = String::deserialize(from)?;
    let found = Lengths::ALL.into_iter().find(|lengths| lengths.name() == name);
    found.ok_or_else(|| de::Error::custom(format!("{name:?}: expected \"ip\", \"none\" or \"all\"")))
}

/// Reads a transport service, of those that are simulated.
/// The name of a set of DCQCN's parameters, or "none".
pub(super) fn dcqcn<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'static Parameters>, D::Error> {
    let name = String::deserialize(from)?;
    match Parameters::by_name(&name) {
        None if name != "none" => {
            let names = SETS.map(|set| format!("{:?}", set.name)).join(", ");
            Err(de::Error::custom(format!("{name:?}: expected \"none\", {names}")))
        }
        set => Ok(set),
    }
}

pub(super) fn service<'de, D: Deserializer<'de>>(from: D) -> Result<Service, D::Error> {
    let name = String::deserialize(from)?;
    match name.as_str() {
        "rc" => Ok(Service::Rc),
        "uc" => Ok(Service::Uc),
        "ud" => Ok(Service::Ud),
        _ => Err(de::Error::custom(format!("{name:?}: expected \"rc\", \"uc\" or \"ud\""))),
    }
}
