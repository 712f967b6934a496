//! Writing a capture, whole or not at all.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use super::options::Options;
use super::whole::WholeFile;
use super::{Error, ErrorKind, Format, Interface, Record, Sink, erf, pcapng};
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
    interfaces: Vec<Interface>,
    /// Interfaces of records that were not announced, or came with another link type: their number in the file.
    added: HashMap<(u16, Link), u32>,
    /// The link type of a pcap file, once it is written.
    link: Option<Link>,
    last: super::Time,
    finished: bool,
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
        let mut writer = Writer {
            name,
            format,
            out,
            gathered: Vec::with_capacity(GATHER + 4096),
            interfaces: interfaces.to_vec(),
            added: HashMap::new(),
            link: None,
            last: super::Time(0),
            finished: false,
        };
        if format == Format::Pcapng {
            pcapng::write_section(&mut writer.gathered, &options.comment);
            if !options.names.is_empty() {
                pcapng::write_names(&mut writer.gathered, &options.names);
            }
            for interface in interfaces {
                pcapng::write_interface(&mut writer.gathered, interface);
            }
        } else if let (Format::Pcap | Format::PcapMicros, Some(first)) = (format, interfaces.first()) {
            writer.begin_pcap(first.link);
        }
        writer
    }

    /// Takes one frame with comments. Only pcapng keeps the comments.
    pub fn put_with_comments(&mut self, record: &Record<'_>, comments: &[&str]) -> Result<(), Error> {
        match self.format {
            Format::Pcapng => {
                let id = self.interface(record);
                let time = record.time;
                self.last = self.last.max(time);
                pcapng::write_packet(&mut self.gathered, id, time, record.wire_len, record.frame, comments);
            }
            Format::Erf => erf::write(&self.name, record, &mut self.gathered)?,
            _ => self.put_pcap(record)?,
        }
        if self.gathered.len() >= GATHER { self.pass_on() } else { Ok(()) }
    }

    /// Writes what is buffered, so that the reader of a pipe gets it.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.pass_on()?;
        self.out.with(|out| out.flush()).map_err(|error| Error::io(&self.name, "writing", error))
    }

    /// Sets how many frames were lost while capturing on an interface that was given at creation. Only pcapng keeps it.
    pub fn set_drops(&mut self, interface: usize, drops: u64) {
        if let Some(interface) = self.interfaces.get_mut(interface) {
            interface.drops = Some(drops);
        }
    }

    fn put_pcap(&mut self, record: &Record<'_>) -> Result<(), Error> {
        let link = match self.link {
            Some(link) => link,
            None => self.begin_pcap(record.link),
        };
        if record.link != link {
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

    fn begin_pcap(&mut self, link: Link) -> Link {
        let magic: u32 = if self.format == Format::Pcap { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        let longest = self.interfaces.iter().map(|interface| interface.snaplen);
        // If one interface has no limit, the file has none.
        let snaplen =
            if longest.clone().any(|snaplen| snaplen == 0) { 0 } else { longest.max().unwrap_or(0) };
        let snaplen = if snaplen == 0 { SNAPLEN } else { snaplen };
        let fcs = match self.interfaces.first().and_then(|interface| interface.fcs_len) {
            Some(len) => 0x0400_0000 | (u32::from((len / 2) & 0xf) << 28),
            None => 0,
        };
        self.gathered.extend_from_slice(&magic.to_le_bytes());
        self.gathered.extend_from_slice(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        self.gathered.extend_from_slice(&snaplen.to_le_bytes());
        self.gathered.extend_from_slice(&(u32::from(link.0) | fcs).to_le_bytes());
        self.link = Some(link);
        link
    }

    /// The number of a record's interface in the pcapng file. A new interface is written first.
    #[inline]
    fn interface(&mut self, record: &Record<'_>) -> u32 {
        match self.interfaces.get(usize::from(record.interface)) {
            Some(interface) if interface.link == record.link => u32::from(record.interface),
            _ => self.added_interface(record),
        }
    }

    #[cold]
    fn added_interface(&mut self, record: &Record<'_>) -> u32 {
        let next = (self.interfaces.len() + self.added.len()) as u32;
        let gathered = &mut self.gathered;
        *self.added.entry((record.interface, record.link)).or_insert_with(|| {
            pcapng::write_interface(gathered, &Interface::new(record.link));
            next
        })
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
        match self.format {
            Format::Pcap | Format::PcapMicros if self.link.is_none() => {
                self.begin_pcap(Link(1));
            }
            Format::Pcapng => {
                for (id, interface) in self.interfaces.iter().enumerate() {
                    if let Some(drops) = interface.drops {
                        pcapng::write_statistics(&mut self.gathered, id as u32, self.last, drops);
                    }
                }
            }
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
    File(WholeFile),
    #[cfg(feature = "compression")]
    Gzip(flate2::write::GzEncoder<WholeFile>),
    #[cfg(feature = "compression")]
    Zstd(zstd::Encoder<'static, WholeFile>),
    Done,
}

impl Output {
    fn create(name: &str, path: &Path, force: bool) -> Result<Output, Error> {
        if path == Path::new("-") {
            return Ok(Output::Stdout(io::stdout()));
        }
        let file = WholeFile::create(path, force).map_err(|error| Error::io(name, "creating", error))?;
        let extension = path.extension().unwrap_or_default();
        if extension != "gz" && extension != "zst" {
            return Ok(Output::File(file));
        }
        #[cfg(feature = "compression")]
        return if extension == "gz" {
            Ok(Output::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::new(6))))
        } else {
            zstd::Encoder::new(file, 3)
                .map(Output::Zstd)
                .map_err(|error| Error::io(name, "compressing", error))
        };
        #[cfg(not(feature = "compression"))]
        Err(Error::new(
            name,
            ErrorKind::Unsupported,
            "this program was built without the feature `compression`",
        ))
    }

    fn with(&mut self, act: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        match self {
            Output::Stdout(out) => act(out),
            Output::Stream(out) => act(out),
            Output::File(file) => act(file),
            #[cfg(feature = "compression")]
            Output::Gzip(encoder) => act(encoder),
            #[cfg(feature = "compression")]
            Output::Zstd(encoder) => act(encoder),
            Output::Done => Ok(()),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Output::Stdout(mut out) => out.flush(),
            Output::Stream(mut out) => out.flush(),
            Output::File(file) => file.keep(),
            #[cfg(feature = "compression")]
            Output::Gzip(encoder) => encoder.finish()?.keep(),
            #[cfg(feature = "compression")]
            Output::Zstd(encoder) => encoder.finish()?.keep(),
            Output::Done => Ok(()),
        }
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Output")
    }
}
