//! Frames in and out: capture files of every kind, and streams of them.
//!
//! [`open`] recognizes the format by the file's first bytes and gives a [`Reader`]; [`create`] gives a [`Writer`].
//! Either may be standard input or output (`-`), and either may be compressed. ERF has no magic number: where the times of
//! its first records are odd, a name that ends in `.erf` tells.
//!
//! | format | read | written |
//! |---|---|---|
//! | pcap, either byte order, µs and ns, link type with FCS bits | yes | native ns or µs, little-endian |
//! | pcap "modified" (Kuznetzov, 0xa1b2cd34) | yes | no |
//! | pcapng, either byte order, any resolution and offset | yes | one section; interfaces as their source describes them |
//! | ERF | yes, as frames of link type 197 | yes, from Ethernet, InfiniBand, IP and ERF |
//! | gzip and zstd around any of them | yes, on a thread of its own | yes, by `.gz` and `.zst` |
//!
//! Captures may be damaged: lengths are wrong, files end within a record, bytes are corrupt. All frames before the damage are
//! delivered, and most after it. Each place is listed as a [`Damage`], with its reason, in [`Info::problems`].
//! [`Source::next`] fails only when the operating system does.
//!
//! A capture gives the same frames and the same damage as a file, through a pipe, compressed, or in [`Parts`] on several
//! threads. The search after damage looks at the same bytes in each case.
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

mod blocks;
mod buffer;
mod clock;
mod compressed;
mod damage;
mod decoder;
mod disk;
mod erf;
mod error;
#[cfg(all(unix, feature = "live"))]
pub mod live;
mod merge;
mod options;
mod packed;
mod parts;
mod pcap;
mod pcapng;
mod place;
mod reader;
mod series;
mod sniff;
mod whole;
mod window;
mod writer;

use std::{fmt, net::IpAddr};

pub use buffer::{Buffer, SharedRecord};
pub use damage::{Damage, Problem};
pub use error::{Error, ErrorKind};
pub use merge::Merge;
pub use options::Options;
pub use packed::{Packed, Packing};
pub use parts::{Cursor, Part, Parts};
pub use reader::{Reader, open, open_with};
pub use series::{ClockOffset, Series, parts_by_content, parts_of_one};
pub use whole::{Temporary, WholeFile, remove_unfinished};
pub use writer::{Writer, create};

use crate::{dissect::Link, named};

/// Nanoseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

/// One captured frame. It is borrowed from its source until the next frame.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// When it was captured.
    pub time: Time,
    /// The frame's first header: its link type.
    pub link: Link,
    /// Index of the capture interface within its source, from 0.
    pub interface: u16,
    /// Bytes of the frame on the wire, as the capture says. `frame` may hold fewer.
    pub wire_len: u32,
    /// The bytes captured.
    pub frame: &'a [u8],
}

impl Record<'_> {
    /// Bytes of the frame on the wire, and those captured, without an ERF record's own header, which both count.
    #[inline]
    pub fn lengths(&self) -> (u32, u32) {
        let captured = u32::try_from(self.frame.len()).unwrap_or(u32::MAX);
        let wire = self.wire_len.max(captured);
        if self.link != erf::LINK {
            return (wire, captured);
        }
        let header = erf::header_len(self.frame) as u32;
        (wire.saturating_sub(header), captured.saturating_sub(header))
    }
}

/// What a pcapng file says of one frame, by the option's code, with numbers as a little-endian file has them: flags with the direction
/// ([`FRAME_FLAGS`]), a hash ([`FRAME_HASH`]), an identifier, the adapter's queue, the verdict of a filter, …
pub type FrameOption<'a> = (u16, std::borrow::Cow<'a, [u8]>);

/// The option with a frame's direction, the kind of its destination address, the length of its frame check sequence, and errors.
pub const FRAME_FLAGS: u16 = 2;
/// The option with a hash of the frame.
pub const FRAME_HASH: u16 = 3;

/// Gives frames, one at a time.
pub trait Source {
    /// The next frame, or `None` after the last one.
    fn next(&mut self) -> Result<Option<Record<'_>>, Error>;

    /// The next frame, with the buffer that holds its bytes if the source can share it.
    fn next_shared(&mut self) -> Result<Option<SharedRecord<'_>>, Error> {
        Ok(self.next()?.map(|record| SharedRecord { record, place: None }))
    }

    /// Passes the next frame, and those after it in the buffer, to `on_record`. Faster than [`next`](Source::next).
    /// Returns the number of frames: 0 after the last one.
    #[inline(always)]
    fn next_batch(&mut self, mut on_record: impl FnMut(&Record<'_>)) -> Result<u64, Error>
    where
        Self: Sized,
    {
        let Some(record) = self.next()? else { return Ok(0) };
        on_record(&record);
        Ok(1)
    }

    /// The rest of the capture, for several threads to read, if it is an uncompressed file on disk.
    fn parts(&mut self) -> Option<Parts> {
        None
    }

    /// Continues at a position in its [parts](Source::parts).
    fn resume(&mut self, _: &Cursor) -> Result<(), Error> {
        Ok(())
    }

    /// What is known of the file or interface so far.
    fn info(&self) -> &Info;
}

/// Takes frames, one at a time.
pub trait Sink {
    /// Takes one frame.
    fn put(&mut self, record: &Record<'_>) -> Result<(), Error>;

    /// Completes the output. No frame can be put after it.
    fn finish(&mut self) -> Result<(), Error>;
}

/// Sources behind a pointer.
macro_rules! forward {
    ($($pointer:ty)*) => { $(
        impl<S: Source + ?Sized> Source for $pointer {
            fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
                (**self).next()
            }

            fn next_shared(&mut self) -> Result<Option<SharedRecord<'_>>, Error> {
                (**self).next_shared()
            }

            fn parts(&mut self) -> Option<Parts> {
                (**self).parts()
            }

            fn resume(&mut self, cursor: &Cursor) -> Result<(), Error> {
                (**self).resume(cursor)
            }

            fn info(&self) -> &Info {
                (**self).info()
            }
        }
    )* };
}
forward!(Box<S> &mut S);

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn put(&mut self, record: &Record<'_>) -> Result<(), Error> {
        (**self).put(record)
    }

    fn finish(&mut self) -> Result<(), Error> {
        (**self).finish()
    }
}

named! {
    /// A capture file format, and the word for it on command lines and in reports.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Format {
        /// pcap with nanoseconds.
        #[default]
        Pcap "pcap",
        /// pcap with microseconds.
        PcapMicros "pcap-us",
        /// pcap with Alexey Kuznetzov's longer record headers; read only.
        PcapModified "pcap-modified",
        /// pcapng.
        Pcapng "pcapng",
        /// Endace's extensible record format.
        Erf "erf",
    }
}

impl Format {
    /// The format with this [`name`](Format::name).
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format that a file's name stands for, with `.gz` or `.zst` behind it or without.
    pub fn of_name(name: &str) -> Option<Format> {
        match Packing::unpacked(name).rsplit_once('.')?.1 {
            "pcap" | "cap" => Some(Format::Pcap),
            "pcapng" | "ntar" => Some(Format::Pcapng),
            "erf" => Some(Format::Erf),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The compression of a capture file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// gzip, one member or several.
    Gzip,
    /// zstd, one frame or several.
    Zstd,
}

/// What is known of a source. It grows while frames are read.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// The path as given, `-` for standard input.
    pub name: String,
    /// The file format.
    pub format: Format,
    /// Its compression.
    pub compression: Compression,
    /// Where the frames were captured, by [`Record::interface`].
    pub interfaces: Vec<Interface>,
    /// The comment on the first section of a pcapng file that has one; else empty.
    pub comment: String,
    /// The hardware that captured, as the first section of a pcapng file says it; else empty. Interfaces of later sections that say
    /// otherwise have it in [`Interface::options`].
    pub hardware: String,
    /// The operating system that captured, said as the hardware is.
    pub os: String,
    /// Names of hosts in a pcapng file.
    pub names: Vec<(IpAddr, String)>,
    /// The first [`MAX_PROBLEMS`] things wrong with the file, in its order.
    pub problems: Vec<Damage>,
    /// The number of all problems.
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

/// Most [`Damage`]s that a source keeps. It counts all.
pub const MAX_PROBLEMS: usize = 100;

impl Info {
    #[cold]
    fn damaged(&mut self, offset: u64, problem: Problem, skipped: u64, fatal: bool) {
        self.problem_count += 1;
        // The one that ends the file is always kept.
        if self.problems.len() < MAX_PROBLEMS || fatal {
            self.problems.push(Damage { offset, record: self.frames, problem, skipped, fatal });
        }
    }
}

/// Where frames were captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// The first header of its frames.
    pub link: Link,
    /// Longest frame that it captures; 0: no known limit.
    pub snaplen: u32,
    /// Length of a clock tick in nanoseconds, 1 if shorter.
    pub resolution_ns: u32,
    /// Seconds that a pcapng file adds to each of its times.
    pub offset_s: i64,
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
    /// What else a pcapng file says of it, by the options' codes: comments, the capture's filter, the operating system, addresses, …
    /// A pcapng file that is written says it again.
    pub options: Vec<(u16, Vec<u8>)>,
    /// The file that it is of, in a [`Merge`] of several.
    pub file: Option<String>,
}

impl Interface {
    /// An interface of which only the link type is known.
    pub fn new(link: Link) -> Interface {
        Interface { link, resolution_ns: 1, ..Interface::default() }
    }

    /// With the hardware and the operating system of its own section, where `whole`, which stands for all of them, says otherwise.
    /// pcapng has options of interfaces for that.
    fn of_section(mut self, (hardware, os): (&str, &str), whole: &Info) -> Interface {
        let said = [(IF_HARDWARE, hardware, &whole.hardware), (IF_OS, os, &whole.os)];
        for (code, own, all) in said {
            if !own.is_empty() && own != all && self.options.iter().all(|(known, _)| *known != code) {
                self.options.push((code, own.as_bytes().to_vec()));
            }
        }
        self
    }
}

/// pcapng's options of an interface that say its operating system and its hardware.
const IF_OS: u16 = 12;
const IF_HARDWARE: u16 = 15;

/// Longest frame that is accepted if a file states no limit: libpcap's MAXIMUM_SNAPLEN.
const MAX_FRAME: u32 = 0x4_0000;
/// Longest frame that is accepted if a file's snaplen is above [`MAX_FRAME`].
const MAX_FRAME_STATED: u32 = 16 << 20;

/// The longest frame that is accepted in a file with this snaplen.
fn frame_limit(snaplen: u32) -> u32 {
    snaplen.clamp(MAX_FRAME, MAX_FRAME_STATED)
}
