//! Frames in and out: capture files of every kind, and streams of them.
//!
//! [`open`] looks at a file's first bytes, never at its name, and gives a [`Reader`]; [`create`] gives a [`Writer`].
//! Either may be standard input or output (`-`), and either may be compressed.
//!
//! | format | read | written |
//! |---|---|---|
//! | pcap, either byte order, µs and ns, link type with FCS bits | yes | native ns or µs, little-endian |
//! | pcap "modified" (Kuznetzov, 0xa1b2cd34) | yes | no |
//! | pcapng, either byte order, any resolution and offset | yes | one section, ns |
//! | ERF | yes, as frames of link type 197 | yes, from Ethernet, InfiniBand, IP and ERF |
//! | gzip and zstd around any of them | yes, on a thread of its own | yes, by `.gz` and `.zst` |
//!
//! Captures lie: lengths are wrong, files end in the middle, disks corrupt them. What is wrong never costs the frames
//! before it and seldom those behind it. It is kept as [`Damage`], with its place and reason, in [`Info::problems`].
//! [`Source::next`] fails only when the operating system does.
//!
//! ```no_run
//! use rdmawire::capture::{self, Source};
//!
//! let mut reader = capture::open("trace.pcap.zst".as_ref())?;
//! while let Some(record) = reader.next()? {
//!     println!("{} {} bytes", record.time.0, record.wire_len);
//! }
//! for damage in &reader.info().problems {
//!     eprintln!("trace.pcap.zst: {damage}");
//! }
//! # Ok::<(), capture::Error>(())
//! ```

mod buffer;
mod compressed;
mod damage;
mod erf;
mod error;
#[cfg(all(unix, feature = "live"))]
pub mod live;
#[cfg(all(target_os = "linux", target_pointer_width = "64", feature = "map"))]
mod map;
#[cfg(not(all(target_os = "linux", target_pointer_width = "64", feature = "map")))]
#[path = "no_map.rs"]
mod map;
mod merge;
mod options;
mod parts;
mod pcap;
mod pcapng;
mod reader;
mod sniff;
mod whole;
mod window;
mod writer;

use std::fmt;

pub use buffer::{Buffer, Lent};
pub use damage::{Damage, Problem};
pub use error::{Error, ErrorKind};
pub use merge::Merge;

pub use options::{Look, Options};
pub use parts::{Part, Parts, Walk};
pub use reader::{Reader, open, open_with};
pub use whole::{WholeFile, make_beside};
pub use writer::{Writer, create};

use crate::dissect::Link;

/// Nanoseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

impl Time {
    /// Whole seconds since 1970, rounded down, and the nanoseconds since then.
    pub fn parts(self) -> (i64, u32) {
        (self.0.div_euclid(1_000_000_000), self.0.rem_euclid(1_000_000_000) as u32)
    }
}

/// Seconds since 1970 with nine decimals, as in `tshark -T fields -e frame.time_epoch`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ns = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
    }
}

/// One captured frame, borrowed from its source until the next one is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// When it was captured.
    pub time: Time,
    /// What the frame's first byte is.
    pub link: crate::dissect::Link,
    /// Index of the capture interface within its source, from 0.
    pub interface: u16,
    /// Bytes the frame had on the wire as the capture says; `frame` may hold fewer.
    pub wire_len: u32,
    /// The bytes captured.
    pub frame: &'a [u8],
}

/// Gives frames, one at a time.
pub trait Source {
    /// The next frame, or `None` after the last one.
    fn next(&mut self) -> Result<Option<Record<'_>>, Error>;

    /// The same as [`next`](Source::next), with the buffer that the frame lies in where a source has such.
    fn next_lent(&mut self) -> Result<Option<Lent<'_>>, Error> {
        Ok(self.next()?.map(|record| Lent { record, place: None }))
    }

    /// Shows the next frame, and those behind it that are at hand: quicker than to ask for each. How many they were; none
    /// after the last one.
    #[inline(always)]
    fn show(&mut self, mut see: impl FnMut(&Record<'_>)) -> Result<u64, Error>
    where
        Self: Sized,
    {
        let Some(record) = self.next()? else { return Ok(0) };
        see(&record);
        Ok(1)
    }

    /// What is left, for several threads to read at a time, where there is a file that allows it.
    fn parts(&mut self) -> Option<Parts> {
        None
    }

    /// Goes on behind [parts](Source::parts), as far as they were walked.
    fn go_on(&mut self, _: &Walk) -> Result<(), Error> {
        Ok(())
    }

    /// What is known so far about where the frames come from.
    fn info(&self) -> &Info;
}

/// Takes frames, one at a time.
pub trait Sink {
    /// Takes one frame.
    fn put(&mut self, record: &Record<'_>) -> Result<(), Error>;

    /// Completes the output. Nothing can be put afterwards.
    fn finish(&mut self) -> Result<(), Error>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        (**self).next()
    }

    fn next_lent(&mut self) -> Result<Option<Lent<'_>>, Error> {
        (**self).next_lent()
    }

    fn parts(&mut self) -> Option<Parts> {
        (**self).parts()
    }

    fn go_on(&mut self, walk: &Walk) -> Result<(), Error> {
        (**self).go_on(walk)
    }

    fn info(&self) -> &Info {
        (**self).info()
    }
}

impl<S: Source + ?Sized> Source for &mut S {
    fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        (**self).next()
    }

    fn next_lent(&mut self) -> Result<Option<Lent<'_>>, Error> {
        (**self).next_lent()
    }

    fn parts(&mut self) -> Option<Parts> {
        (**self).parts()
    }

    fn go_on(&mut self, walk: &Walk) -> Result<(), Error> {
        (**self).go_on(walk)
    }

    fn info(&self) -> &Info {
        (**self).info()
    }
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn put(&mut self, record: &Record<'_>) -> Result<(), Error> {
        (**self).put(record)
    }

    fn finish(&mut self) -> Result<(), Error> {
        (**self).finish()
    }
}

/// A capture file format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// pcap with nanoseconds.
    #[default]
    Pcap,
    /// pcap with microseconds.
    PcapMicros,
    /// pcap with Alexey Kuznetzov's longer record headers; read only.
    PcapModified,
    /// pcapng.
    Pcapng,
    /// Endace's extensible record format.
    Erf,
}

impl Format {
    /// The word for it, on command lines and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Format::Pcap => "pcap",
            Format::PcapMicros => "pcap-us",
            Format::PcapModified => "pcap-modified",
            Format::Pcapng => "pcapng",
            Format::Erf => "erf",
        }
    }

    /// The format with this [`name`](Format::name).
    pub fn from_name(name: &str) -> Option<Format> {
        use Format::*;
        [Pcap, PcapMicros, PcapModified, Pcapng, Erf].into_iter().find(|format| format.name() == name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a capture file is wrapped in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Nothing.
    #[default]
    None,
    /// gzip, one member or several.
    Gzip,
    /// zstd, one frame or several.
    Zstd,
}

/// What is known about a source; it grows while frames are read.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// The path as given, `-` for standard input.
    pub name: String,
    /// The file format.
    pub format: Format,
    /// What the file is wrapped in.
    pub compression: Compression,
    /// Where the frames were captured, by [`Record::interface`].
    pub interfaces: Vec<Interface>,
    /// The first [`MAX_PROBLEMS`] things wrong with the file, in its order.
    pub problems: Vec<Damage>,
    /// How many things were wrong in all.
    pub problem_count: u64,
    /// Frames delivered.
    pub frames: u64,
    /// Blocks or records that hold no frame and were passed over: ERF META, unknown pcapng blocks.
    pub skipped: u64,
    /// Bytes of the file read so far, in the steps in which it is read. Of a compressed file: compressed bytes.
    pub bytes_read: u64,
    /// Bytes of the file, when it has an end that is known.
    pub total_bytes: Option<u64>,
}

/// How many [`Damage`]s a source stores; it goes on counting behind that.
pub const MAX_PROBLEMS: usize = 100;

impl Info {
    #[cold]
    fn damaged(&mut self, offset: u64, problem: Problem, skipped: u64, fatal: bool) {
        self.problem_count += 1;
        // The fatal one ends the file and explains why: it is kept even if it comes late.
        if self.problems.len() < MAX_PROBLEMS || fatal {
            self.problems.push(Damage { offset, record: self.frames, problem, skipped, fatal });
        }
    }
}

/// Where frames were captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// What its frames' first byte is.
    pub link: Link,
    /// Longest frame it captures; 0: no limit known.
    pub snaplen: u32,
    /// Length of a clock tick in nanoseconds, 1 if shorter.
    pub resolution_ns: u32,
    /// Name, as `eth0`.
    pub name: Option<String>,
    /// What someone wrote about it.
    pub description: Option<String>,
    /// Bits per second.
    pub speed_bps: Option<u64>,
    /// Bytes of frame check sequence at the end of each frame.
    pub fcs_len: Option<u8>,
    /// Frames the capturing host or card says it lost.
    pub drops: Option<u64>,
}

impl Interface {
    /// An interface of which only the link type is known.
    pub fn new(link: Link) -> Interface {
        Interface { link, resolution_ns: 1, ..Interface::default() }
    }
}

/// Longest frame believed when a file names no limit: libpcap's MAXIMUM_SNAPLEN.
const MAX_FRAME: u32 = 0x4_0000;
/// Longest frame believed when a file's snaplen says more than [`MAX_FRAME`].
const MAX_FRAME_STATED: u32 = 16 << 20;

/// The longest frame believed in a file with this snaplen.
fn frame_limit(snaplen: u32) -> u32 {
    snaplen.clamp(MAX_FRAME, MAX_FRAME_STATED)
}
