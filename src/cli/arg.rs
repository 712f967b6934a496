//! Arguments that several commands take.

use std::{fmt::Display, ops::RangeInclusive, path::Path, str::FromStr};

use anyhow::{anyhow, bail};
use clap::{ArgMatches, Args, FromArgMatches, ValueEnum, error::ErrorKind};

use rdmawire::{
    capture::Format,
    craft::Edit,
    dissect::{self, Encapsulation, ROCE_PORT},
    filter::Filter,
    grammar::{Error, units},
    message::is_path_mtu,
    opcode::Service,
    wire::Kind,
};

/// The UDP ports of RoCEv2 and of tunnels.
#[derive(Debug)]
pub(super) struct RocePorts(dissect::Options);

/// These, as they are typed.
#[derive(Debug, Args)]
struct TypedPorts {
    /// UDP destination port of RoCEv2; a second one may follow.
    #[arg(long, value_name = "PORT", value_delimiter = ',', num_args = 1, default_values_t = [ROCE_PORT], value_parser = within(1..=u16::MAX))]
    roce_port: Vec<u16>,
    /// UDP destination port of a tunnel, and what it is: 8473=vxlan; also vxlan-gpe, geneve, gue, gre, mpls, tzsp, ethernet. At most four. Those
    /// of IANA are known.
    #[arg(long, value_name = "PORT=TUNNEL", value_delimiter = ',', value_parser = tunnel)]
    decap: Vec<(u16, Kind)>,
}

impl RocePorts {
    pub(super) fn options(&self) -> dissect::Options {
        self.0
    }
}

impl FromArgMatches for RocePorts {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let TypedPorts { roce_port, decap } = TypedPorts::from_arg_matches(matches)?;
        let mut options = dissect::Options { roce_ports: [0; 2], ..Default::default() };
        fill("--roce-port", &mut options.roce_ports, &roce_port)?;
        fill("--decap", &mut options.tunnels, &decap)?;
        Ok(RocePorts(options))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = RocePorts::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for RocePorts {
    fn augment_args(command: clap::Command) -> clap::Command {
        TypedPorts::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        TypedPorts::augment_args_for_update(command)
    }
}

/// Puts what was typed into the places that there are for it.
fn fill<T: Copy>(option: &str, places: &mut [T], typed: &[T]) -> Result<(), clap::Error> {
    if typed.len() > places.len() {
        let (most, given) = (places.len(), typed.len());
        let what = format!(
            "{option}: at most {most} can be given, and there are {given}\n\nFor more information, try '--help'.\n"
        );
        return Err(clap::Error::raw(ErrorKind::TooManyValues, what));
    }
    places.iter_mut().zip(typed).for_each(|(place, value)| *place = *value);
    Ok(())
}

/// A port, and the header behind UDP.
fn tunnel(text: &str) -> Result<(u16, Kind), String> {
    let (port, name) = text.split_once('=').ok_or("expected a port and a tunnel, as in 8473=vxlan")?;
    let port = port.parse().ok().filter(|&port| port > 0).ok_or("expected a port from 1 to 65535")?;
    let kind = dissect::Options::tunnel_named(name);
    let names = || dissect::Options::TUNNELS.map(|tunnel| tunnel.0).join(", ");
    kind.map(|kind| (port, kind)).ok_or_else(|| format!("expected one of {}", names()))
}

/// Whether ICRCs are verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Check {
    /// Verify them: a packet with a wrong one is corrupt.
    #[default]
    Verify,
    /// Do not verify them: their state is "unchecked".
    Off,
}

/// The filter of `--filter`, if it is given.
pub(super) fn filter(text: &Option<String>) -> anyhow::Result<Option<Filter>> {
    let parse = |text: &String| Filter::parse(text).map_err(|error| anyhow!("--filter: {error}"));
    text.as_ref().map(parse).transpose()
}

/// An encapsulation by its name.
pub(super) fn encapsulation(name: &str) -> Result<Encapsulation, String> {
    let all = Encapsulation::ALL;
    all.into_iter()
        .find(|wrap| wrap.name() == name)
        .ok_or_else(|| format!("expected one of {}", all.map(Encapsulation::name).join(", ")))
}

/// A transport service by its name.
pub(super) fn service(text: &str) -> Result<Service, String> {
    let all = [Service::Rc, Service::Uc, Service::Rd, Service::Ud, Service::Xrc];
    let found = all.into_iter().find(|service| service.name().eq_ignore_ascii_case(text));
    found.ok_or("expected rc, uc, rd, ud or xrc".into())
}

/// A path MTU.
pub(super) fn mtu<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let mtu = units::size(text).ok().filter(|&mtu| u32::try_from(mtu).is_ok_and(is_path_mtu));
    mtu.and_then(|mtu| mtu.try_into().ok()).ok_or_else(|| "expected 256, 512, 1024, 2048 or 4096".to_owned())
}

/// How many bytes of a frame are kept, at least one.
pub(super) fn snaplen(text: &str) -> Result<u32, String> {
    let bytes = units::size(text).map_err(|error| error.to_string())?;
    let bytes = u32::try_from(bytes).ok().filter(|&bytes| bytes > 0);
    bytes.ok_or_else(|| format!("expected from 1 to {} bytes", u32::MAX))
}

/// Parses a number within bounds: decimal, or hexadecimal after 0x.
pub(super) fn within<T>(bounds: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: TryFrom<u64> + PartialOrd + Display + Clone,
{
    move |text| {
        let number = units::integer(text).ok().and_then(|number| T::try_from(number).ok());
        number
            .filter(|number| bounds.contains(number))
            .ok_or_else(|| format!("expected a number from {} to {}", bounds.start(), bounds.end()))
    }
}

/// Parses a number for a field of so many bits: decimal, or hexadecimal after 0x.
pub(super) fn of_bits<T: TryFrom<u64>>(
    what: &'static str,
    bits: u32,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = units::integer(text).map_err(|error| error.to_string())?;
        let most = u64::MAX >> (64 - bits);
        let fits = Some(number).filter(|&number| number <= most).and_then(|number| T::try_from(number).ok());
        fits.ok_or_else(|| format!("{what} has {bits} bits: expected at most {most:#x}"))
    }
}

/// A number above 0.
pub(super) fn positive<T: FromStr + PartialOrd + Default>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number > T::default());
    number.ok_or_else(|| "expected a number, at least 1".into())
}

/// An edit of `--set`.
pub(super) fn edit(text: &str) -> Result<Edit, Error> {
    Edit::parse(text)
}

/// The format of a file, by its name.
pub(super) fn format_of(path: &Path) -> anyhow::Result<Format> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    match Format::of_name(&name) {
        Some(format) => Ok(format),
        None if path == Path::new("-") => Ok(Format::Pcap),
        None => bail!("{}: cannot tell the format from the name: use .pcap, .pcapng or .erf", path.display()),
    }
}

/// An error about an argument in plain words: those of Rust's parsers of numbers are for programmers.
pub(super) fn in_plain_words(message: &str) -> String {
    let (first, rest) = message.split_once('\n').unwrap_or((message, ""));
    let Some((before, why)) = first.rsplit_once("': ") else { return message.to_owned() };
    let plain = match why {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "expected a whole number".to_owned()
        }
        "number too large to fit in target type" => "this number is too large".to_owned(),
        "number too small to fit in target type" => "this number is too small".to_owned(),
        _ => match why.split_once(" is not in ").and_then(|(_, range)| range.split_once("..=")) {
            Some((least, most)) => format!("expected a number from {least} to {most}"),
            None => return message.to_owned(),
        },
    };
    format!("{before}': {plain}\n{rest}")
}
