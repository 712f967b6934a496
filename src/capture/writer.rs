//! Writing a capture, whole or not at all.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use super::clock::Clock;
use super::options::Options;
use super::packed::{Packed, Packing};
use super::whole::WholeFile;
use super::{Error, ErrorKind, Format, FrameOption, Info, Interface, Record, Sink, Time, blocks, erf};
use crate::dissect::Link;

/// Bytes that are buffered before they are written.
const GATHER: usize = 256 << 10;
/// The snaplen in a file if no limit is known: the largest that every reader accepts.
const SNAPLEN: u32 = 0x4_0000;

/// Creates a capture at `path`; `-` is standard output. A name that ends in `.gz` or `.zst` is compressed.
///
/// An existing file is replaced only with `options.force`. The bytes are written to a temporary file in the same directory.
/// [`Sink::finish`] renames it to `path`; without that, it is removed. Devices and pipes are written directly.
///
/// `interfaces` may be empty or incomplete: pcapng takes new ones as their records come. A pcap file has one link type.
pub fn create(
    path: &Path,
    format: Format,
    interfaces: &[Interface],
    options: Options,
) -> Result<Writer, Error> {
    let name = path.display().to_string();
    check(&name, format, interfaces)?;
    let out = Output::create(&name, path, options.force)?;
    Ok(Writer::on(out, name, format, interfaces, &options))
}

/// Whether a file of this format can have these interfaces.
fn check(name: &str, format: Format, interfaces: &[Interface]) -> Result<(), Error> {
    let unfit = |text: &str| Err(Error::new(name, ErrorKind::Unfit, text));
    if format == Format::PcapModified {
        return unfit("the modified pcap format is read, not written");
    }
    let is_pcap = matches!(format, Format::Pcap | Format::PcapMicros);
    if is_pcap && interfaces.windows(2).any(|pair| pair[0].link != pair[1].link) {
        return unfit("frames of several link types go into a pcapng file, not into pcap");
    }
    Ok(())
}

/// A capture being written.
#[derive(Debug)]
pub struct Writer {
    name: String,
    format: Format,
    out: Output,
    gathered: Vec<u8>,
    /// What is said of the file as a whole, until it is written.
    options: Options,
    /// What is known of interfaces, by the number in records.
    interfaces: Vec<Interface>,
    described: Described,
    /// The file's header was written.
    begun: bool,
    /// The link type of a pcap file, once it is written.
    link: Option<Link>,
    last: Time,
    finished: bool,
}

/// The interfaces that a pcapng file has: their numbers in the file, and their clocks.
#[derive(Debug, Default)]
struct Described {
    /// By the number and the link type in records, and whether it counts nanoseconds for times that the clock of its source does not
    /// have.
    all: HashMap<(u16, Link, bool), (u32, Clock)>,
    /// The first of these, by the number in records.
    first: Vec<Option<(u32, Clock)>>,
    /// The interface of the last frame.
    last: Option<((u16, Link), (u32, Clock))>,
    count: u32,
}

impl Writer {
    /// Writes a capture to any stream of bytes. Messages call it `name`. See [`create`].
    pub fn to_write(
        out: impl Write + Send + 'static,
        name: &str,
        format: Format,
        interfaces: &[Interface],
        options: &Options,
    ) -> Result<Writer, Error> {
        check(name, format, interfaces)?;
        Ok(Writer::on(Output::Stream(Box::new(out)), name.to_owned(), format, interfaces, options))
    }

    fn on(out: Output, name: String, format: Format, interfaces: &[Interface], options: &Options) -> Writer {
        Writer {
            name,
            format,
            out,
            gathered: Vec::with_capacity(GATHER + 4096),
            options: options.clone(),
            interfaces: interfaces.to_vec(),
            described: Described::default(),
            begun: false,
            link: None,
            last: Time(0),
            finished: false,
        }
    }

    /// Whether a source says more of itself than was [described](Self::describe): before the first frame, and when it has more
    /// interfaces.
    #[inline]
    pub fn lacks(&self, info: &Info) -> bool {
        !self.begun || info.interfaces.len() > self.interfaces.len()
    }

    /// Says of this capture what another one says of itself, as far as the format can: its interfaces, what they dropped, names of
    /// hosts, its comment, hardware and operating system. A source that is copied has said the last of this behind its last frame.
    pub fn describe(&mut self, info: &Info) {
        for (number, interface) in info.interfaces.iter().enumerate() {
            match self.interfaces.get_mut(number) {
                Some(known) => known.drops = interface.drops.or(known.drops),
                None => self.interfaces.push(interface.clone()),
            }
        }
        if !self.begun {
            let Options { comment, hardware, os, .. } = &mut self.options;
            for (own, theirs) in [(comment, &info.comment), (hardware, &info.hardware), (os, &info.os)] {
                if own.is_empty() {
                    own.clone_from(theirs);
                }
            }
            self.options.names.extend(info.names.iter().cloned());
        }
    }

    /// Writes what stands before the first frame. A pcap file begins with the link type of its first frame.
    fn begin(&mut self, link: Option<Link>) {
        if self.begun {
            return;
        }
        match self.format {
            Format::Pcapng => {
                blocks::write_section(&mut self.gathered, &self.options);
                if !self.options.names.is_empty() {
                    blocks::write_names(&mut self.gathered, &self.options.names);
                }
            }
            Format::Pcap | Format::PcapMicros => {
                let Some(link) = link.or(self.interfaces.first().map(|of| of.link)) else { return };
                self.begin_pcap(link);
            }
            _ => {}
        }
        self.begun = true;
    }

    /// Takes one frame with comments. Only pcapng keeps the comments.
    pub fn put_with_comments(&mut self, record: &Record<'_>, comments: &[&str]) -> Result<(), Error> {
        self.put_with_options(record, comments, &[])
    }

    /// Takes one frame with comments and what else a pcapng says of it. Only pcapng keeps them.
    pub fn put_with_options(
        &mut self,
        record: &Record<'_>,
        comments: &[&str],
        options: &[FrameOption<'_>],
    ) -> Result<(), Error> {
        self.begin(Some(record.link));
        match self.format {
            Format::Pcapng => {
                let (id, clock) = self.interface(record);
                self.last = self.last.max(record.time);
                let (ticks, out) = (clock.ticks(record.time), &mut self.gathered);
                blocks::write_packet(out, id, ticks, record.wire_len, record.frame, comments, options);
            }
            Format::Erf => erf::write(&self.name, record, &mut self.gathered)?,
            _ => self.put_pcap(record)?,
        }
        if self.gathered.len() >= GATHER { self.pass_on() } else { Ok(()) }
    }

    /// Writes what is buffered, so that the reader of a pipe gets it.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.begin(None);
        self.describe_up_to(self.interfaces.len());
        self.pass_on()?;
        self.out.with(|out| out.flush()).map_err(|error| Error::io(&self.name, "writing", error))
    }

    /// Sets how many frames were lost while capturing on an interface that is known. Only pcapng keeps it.
    pub fn set_drops(&mut self, interface: usize, drops: u64) {
        if let Some(interface) = self.interfaces.get_mut(interface) {
            interface.drops = Some(drops);
        }
    }

    fn put_pcap(&mut self, record: &Record<'_>) -> Result<(), Error> {
        if let Some(link) = self.link.filter(|&link| link != record.link) {
            let text = format!(
                "a frame of link type {} does not go into a pcap file of link type {}; pcapng holds both",
                record.link.0, link.0
            );
            return Err(Error::new(&self.name, ErrorKind::Unfit, text));
        }
        let (seconds, ns) = record.time.parts();
        // pcap holds times from 1970 to 2106. Other times become the nearest of these.
        let (seconds, ns) = match u32::try_from(seconds) {
            Ok(seconds) => (seconds, ns),
            Err(_) if seconds < 0 => (0, 0),
            Err(_) => (u32::MAX, 999_999_999),
        };
        let fraction = if self.format == Format::Pcap { ns } else { ns / 1000 };
        for word in [seconds, fraction, record.frame.len() as u32, record.wire_len] {
            self.gathered.extend_from_slice(&word.to_le_bytes());
        }
        self.gathered.extend_from_slice(record.frame);
        Ok(())
    }

    fn begin_pcap(&mut self, link: Link) {
        let magic: u32 = if self.format == Format::Pcap { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        let captured = || self.interfaces.iter().filter(|interface| interface.link == link);
        let longest = captured().map(|interface| interface.snaplen);
        // If one interface has no limit, the file has none.
        let snaplen =
            if longest.clone().any(|snaplen| snaplen == 0) { 0 } else { longest.max().unwrap_or(0) };
        let snaplen = if snaplen == 0 { SNAPLEN } else { snaplen };
        let fcs = match captured().next().and_then(|interface| interface.fcs_len) {
            Some(len) => 0x0400_0000 | (u32::from((len / 2) & 0xf) << 28),
            None => 0,
        };
        self.gathered.extend_from_slice(&magic.to_le_bytes());
        self.gathered.extend_from_slice(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        self.gathered.extend_from_slice(&snaplen.to_le_bytes());
        self.gathered.extend_from_slice(&(u32::from(link.0) | fcs).to_le_bytes());
        self.link = Some(link);
    }

    /// The number and the clock of a record's interface in the pcapng file. A new interface is described first.
    #[inline]
    fn interface(&mut self, record: &Record<'_>) -> (u32, Clock) {
        let place = (record.interface, record.link);
        match self.described.last {
            Some((last, (id, clock))) if last == place && clock.has(record.time) => (id, clock),
            _ => self.other_interface(place, record.time),
        }
    }

    #[cold]
    fn other_interface(&mut self, place: (u16, Link), time: Time) -> (u32, Clock) {
        let known = self.described.all.get(&(place.0, place.1, false)).copied();
        let mut found = known.unwrap_or_else(|| {
            self.describe_up_to(usize::from(place.0));
            self.describe_interface(place, false)
        });
        if !found.1.has(time) && time.0 >= 0 {
            found = self.describe_interface(place, true);
        }
        self.described.last = Some((place, found));
        found
    }

    /// Describes the interfaces before this one, so that each has the number that it has in records.
    fn describe_up_to(&mut self, number: usize) {
        if self.format != Format::Pcapng {
            return;
        }
        for before in 0..number.min(self.interfaces.len()) {
            if self.described.first.get(before).is_none_or(Option::is_none) {
                self.describe_interface((before as u16, self.interfaces[before].link), false);
            }
        }
    }

    /// The interface of records with this number and link type. `is_exact`: with a clock that counts nanoseconds from 1970.
    fn describe_interface(&mut self, (number, link): (u16, Link), is_exact: bool) -> (u32, Clock) {
        if let Some(&found) = self.described.all.get(&(number, link, is_exact)) {
            return found;
        }
        let known = self.interfaces.get(usize::from(number)).cloned();
        let mut interface = known.unwrap_or_else(|| Interface::new(link));
        if interface.link != link {
            // Its frames were put into another encapsulation.
            interface = Interface { link, snaplen: 0, fcs_len: None, ..interface };
        }
        if is_exact {
            interface = Interface { resolution_ns: 1, offset_s: 0, ..interface };
        }
        let found = (self.described.count, Clock::of(&interface));
        blocks::write_interface(&mut self.gathered, &interface, found.1);
        let Described { all, first, count, .. } = &mut self.described;
        all.insert((number, link, is_exact), found);
        *count += 1;
        if first.len() <= usize::from(number) {
            first.resize(usize::from(number) + 1, None);
        }
        first[usize::from(number)].get_or_insert(found);
        found
    }

    /// Behind the last frame of a pcapng file: interfaces without frames, and what interfaces dropped.
    fn end_pcapng(&mut self) {
        self.describe_up_to(self.interfaces.len());
        for (interface, described) in self.interfaces.iter().zip(&self.described.first) {
            if let (Some(drops), Some((id, clock))) = (interface.drops, *described) {
                blocks::write_statistics(&mut self.gathered, id, clock.ticks(self.last), drops);
            }
        }
    }

    fn pass_on(&mut self) -> Result<(), Error> {
        let outcome = self.out.with(|out| out.write_all(&self.gathered));
        self.gathered.clear();
        outcome.map_err(|error| Error::io(&self.name, "writing", error))
    }
}

impl Sink for Writer {
    #[inline]
    fn put(&mut self, record: &Record<'_>) -> Result<(), Error> {
        self.put_with_comments(record, &[])
    }

    fn finish(&mut self) -> Result<(), Error> {
        if self.finished {
            return Ok(());
        }
        self.begin(None);
        match self.format {
            Format::Pcap | Format::PcapMicros => self.begin(Some(Link::ETHERNET)),
            Format::Pcapng => self.end_pcapng(),
            _ => {}
        }
        self.pass_on()?;
        self.finished = true;
        let out = std::mem::replace(&mut self.out, Output::Done);
        out.finish().map_err(|error| Error::io(&self.name, "writing", error))
    }
}

/// Where the bytes go, as they are or compressed.
enum Output {
    Stdout(io::Stdout),
    Stream(Box<dyn Write + Send>),
    File(Packed<WholeFile>),
    Done,
}

impl Output {
    fn create(name: &str, path: &Path, force: bool) -> Result<Output, Error> {
        if path == Path::new("-") {
            return Ok(Output::Stdout(io::stdout()));
        }
        let file = WholeFile::create(path, force).map_err(|error| Error::io(name, "creating", error))?;
        let (packing, _) = Packing::of(path);
        packing.around(file).map(Output::File).map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => Error::new(name, ErrorKind::Unsupported, error.to_string()),
            _ => Error::io(name, "compressing", error),
        })
    }

    fn with(&mut self, act: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        match self {
            Output::Stdout(out) => act(out),
            Output::Stream(out) => act(out),
            Output::File(file) => act(file),
            Output::Done => Ok(()),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Output::Stdout(mut out) => out.flush(),
            Output::Stream(mut out) => out.flush(),
            Output::File(file) => file.finish()?.keep(),
            Output::Done => Ok(()),
        }
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Output")
    }
}
