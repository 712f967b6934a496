//! Opening a capture, and the frames in it whatever its format.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use super::buffer::Lent;
use super::erf::{self, Erf};
use super::map::Map;
use super::options::{Look, Options};
use super::parts::{Parts, Walk};
use super::pcap::{self, Pcap};
use super::pcapng::{self, Pcapng};
use super::window::{Input, Shrunk};
use super::{Compression, Error, ErrorKind, Format, Info, Record, Source, Time, compressed, sniff};
use crate::dissect::Link;
use crate::fetch;

/// Opens the capture at `path`; `-` is standard input.
pub fn open(path: &Path) -> Result<Reader, Error> {
    open_with(path, &Options::default())
}

/// Opens the capture at `path` in a particular way.
pub fn open_with(path: &Path, options: &Options) -> Result<Reader, Error> {
    let name = path.display().to_string();
    if path == Path::new("-") {
        return standard_input(name, options);
    }
    let opening = |error| Error::io(&name, "opening", error);
    let file = File::open(path).map_err(opening)?;
    let known = file.metadata().map_err(opening)?;
    if known.is_dir() {
        return Err(Error::io(&name, "opening", io::ErrorKind::IsADirectory.into()));
    }
    // Files without a length, as in /proc, have content all the same.
    let total = Some(known.len()).filter(|&len| known.is_file() && len > 0);
    let same = total.and_then(|_| file.try_clone().ok());
    let mut reader = stream(name, file, options, total)?;
    reader.file = same.filter(|_| reader.info.compression == Compression::None);
    if let (Some(look), Some(file), Some(total @ WORTH..)) = (options.mapped, &reader.file, total) {
        (reader.map, reader.look) = (Map::of(file, total), look);
    }
    Ok(reader)
}

/// Frames of a capture file or stream of any format that is read, lent from where they lie: nothing is allocated and
/// nearly nothing copied for them.
pub struct Reader {
    input: Input,
    frames: Frames,
    info: Info,
    /// What `input` reads, if it is a file as it is on disk.
    file: Option<File>,
    /// The same in memory, and what is looked at there.
    map: Option<Map>,
    look: Look,
    /// Bytes of a record, about, of those that were shown last.
    usual: usize,
}

#[derive(Clone)]
pub(super) enum Frames {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Erf(Erf),
}

impl Frames {
    /// Steps from one record to the next while they are as nearly all are; `None` where none is.
    #[inline(always)]
    pub(super) fn steps(&self) -> Option<Steps<'_>> {
        match self {
            Frames::Pcap(pcap) if pcap.has_plain() => Some(Steps::Pcap(pcap)),
            Frames::Pcapng(pcapng) => Some(Steps::Pcapng(pcapng)),
            _ => None,
        }
    }

    /// Counts records that were stepped over, the last of which was of this time.
    #[inline(always)]
    fn passed(&mut self, count: u64, last: Time, info: &mut Info) {
        match self {
            _ if count == 0 => {}
            Frames::Pcap(pcap) => pcap.passed(count, last, info),
            Frames::Pcapng(pcapng) => pcapng.passed(count, info),
            Frames::Erf(_) => {}
        }
    }
}

/// Steps through records of a format.
#[derive(Clone, Copy)]
pub(super) enum Steps<'a> {
    Pcap(&'a Pcap),
    Pcapng(&'a Pcapng),
}

impl Steps<'_> {
    /// The frame of the record here and what is behind it, if it is all there and nothing is odd about it.
    #[inline(always)]
    pub(super) fn next<'a>(&self, rest: &'a [u8]) -> Option<(Record<'a>, &'a [u8])> {
        match self {
            Steps::Pcap(pcap) => pcap.plain(rest),
            Steps::Pcapng(pcapng) => pcapng.plain(rest),
        }
    }

    /// Bytes before a record's frame.
    #[inline(always)]
    pub(super) fn header(&self) -> usize {
        match self {
            Steps::Pcap(_) => pcap::PLAIN_HEADER,
            Steps::Pcapng(_) => pcapng::PACKET_HEADER,
        }
    }

    /// Bytes of the record here, or of what says how many they are.
    pub(super) fn len(&self, rest: &[u8]) -> Option<usize> {
        match self {
            Steps::Pcap(pcap) => pcap.plain_len(rest),
            Steps::Pcapng(pcapng) => pcapng.plain_len(rest),
        }
    }
}

/// Bytes of a file that is worth to be mapped.
const WORTH: u64 = 1 << 20;

/// Where in an [`Input`] a frame is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) time: Time,
    pub(super) link: Link,
    pub(super) interface: u16,
    pub(super) wire_len: u32,
    pub(super) at: usize,
    pub(super) len: usize,
}

impl Reader {
    /// Reads a capture from any stream of bytes; `name` is what messages call it.
    ///
    /// Frames come as soon as they are complete, however slowly the bytes do.
    pub fn from_read(from: impl Read + Send + 'static, name: &str) -> Result<Reader, Error> {
        stream(name.to_owned(), from, &Options::default(), None)
    }

    /// The first comment on the frame that was read last, in pcapng.
    pub fn comment(&self) -> Option<std::borrow::Cow<'_, str>> {
        match &self.frames {
            Frames::Pcapng(pcapng) => pcapng.comment(&self.input).map(String::from_utf8_lossy),
            _ => None,
        }
    }

    /// Goes to the next frame. Where it is stays right until the next call.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<Option<Place>, Error> {
        let place = match &mut self.frames {
            Frames::Pcap(pcap) => pcap.advance(&mut self.input, &mut self.info),
            Frames::Pcapng(pcapng) => pcapng.advance(&mut self.input, &mut self.info),
            Frames::Erf(erf) => erf.advance(&mut self.input, &mut self.info),
        };
        match place {
            Ok(Some(place)) if place.link == erf::LINK => {
                // A frame that is an ERF record has the card's own time in it, finer than pcap's.
                let time = erf::finer(place.time, self.record(place).frame);
                Ok(Some(Place { time, ..place }))
            }
            Ok(place) => Ok(place),
            Err(error) => Err(failed(&self.info.name, error)),
        }
    }

    /// The frame at a place that [`advance`](Reader::advance) just gave.
    #[inline(always)]
    pub(super) fn record(&self, place: Place) -> Record<'_> {
        let Place { time, link, interface, wire_len, at, len } = place;
        let frame = self.input.bytes().get(at..at + len).unwrap_or_default();
        Record { time, link, interface, wire_len, frame }
    }

    /// The same, quicker for most frames.
    #[inline(always)]
    fn step(&mut self) -> Result<Option<Place>, Error> {
        let plain = match &mut self.frames {
            Frames::Pcap(pcap) => pcap.advance_if_plain(&mut self.input, &mut self.info),
            _ => None,
        };
        match plain {
            Some(place) => Ok(Some(place)),
            None => self.advance_any(),
        }
    }

    #[inline(never)]
    fn advance_any(&mut self) -> Result<Option<Place>, Error> {
        self.advance()
    }

    /// How the records to come are looked at, if they are as those that were shown last.
    fn ahead(&self) -> Ahead {
        match self.usual {
            ..SHORT => Ahead::Short,
            LONG.. if self.look == Look::Headers => {
                Ahead::Long { header: self.frames.steps().map_or(0, |steps| steps.header()), last: 0 }
            }
            // Long frames of which every byte is wanted come no later as copies; those of all lengths come sooner so.
            _ => Ahead::Copied,
        }
    }

    /// The record here, its bytes, and what is at hand behind it, where the file is mapped and the record as nearly all are.
    #[inline(always)]
    fn mapped(&self) -> Option<(usize, Record<'_>, &[u8])> {
        let (map, steps) = (self.map.as_ref()?, self.frames.steps()?);
        // What was read is used up first.
        if steps.next(self.input.rest()).is_some() {
            return None;
        }
        let at_hand = map.at_hand(self.input.offset());
        let (record, rest) = steps.next(at_hand)?;
        (!record.frame.is_empty()).then_some((at_hand.len() - rest.len(), record, rest))
    }

    fn new(mut info: Info, mut input: Input) -> Result<Reader, Error> {
        info.total_bytes = input.total();
        input.fill(pcap::FILE_HEADER).map_err(|error| failed(&info.name, error))?;
        let start = input.rest();
        let frames = if start.is_empty() {
            // An empty file has no format, but neither has one whose compressed data is damaged from the start.
            return Err(match input.take_corrupt() {
                Some(reason) => Error::new(
                    &info.name,
                    ErrorKind::Unknown,
                    format!("the compressed data is damaged before the first byte: {reason}"),
                ),
                None => Error::new(&info.name, ErrorKind::Empty, "is empty"),
            });
        } else if let Some((format, big)) = pcap::recognize(start) {
            info.format = format;
            Frames::Pcap(
                Pcap::new(format, big, &mut input, &mut info).map_err(|error| failed(&info.name, error))?,
            )
        } else if start.starts_with(&pcapng::SECTION.to_be_bytes()) {
            info.format = Format::Pcapng;
            Frames::Pcapng(Pcapng::new())
        } else if erf::recognize(&mut input).map_err(|error| failed(&info.name, error))? {
            info.format = Format::Erf;
            Frames::Erf(Erf::new())
        } else {
            let start = input.rest();
            let text = match sniff::compression(start) {
                Compression::None => sniff::describe(&start[..start.len().min(64)]),
                _ => "is compressed twice, which is not read".to_owned(),
            };
            return Err(Error::new(&info.name, ErrorKind::Unknown, text));
        };
        info.bytes_read = input.bytes_read();
        Ok(Reader { input, frames, info, file: None, map: None, look: Look::Whole, usual: SHORT })
    }
}

impl Source for Reader {
    #[inline(always)]
    fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        // A place is taken apart in registers. A record that came out of a function would be copied in pieces larger than
        // those it was written in, which processors wait for: a tenth of an analysis.
        Ok(self.step()?.map(|place| self.record(place)))
    }

    #[inline(always)]
    fn next_lent(&mut self) -> Result<Option<Lent<'_>>, Error> {
        let place = self.step()?;
        let lent =
            |place: Place| Lent { record: self.record(place), place: Some((self.input.buffer(), place.at)) };
        Ok(place.map(lent))
    }

    #[inline(always)]
    fn show(&mut self, mut see: impl FnMut(&Record<'_>)) -> Result<u64, Error> {
        let (from, mut ahead) = (self.input.offset(), self.ahead());
        if let Some(map) = self.map.as_mut().filter(|_| ahead != Ahead::Copied) {
            map.ask(from);
        }
        let (first, mut record, mut rest) = match self.mapped().filter(|_| ahead != Ahead::Copied) {
            Some(mapped) => mapped,
            None => {
                ahead = Ahead::Copied;
                let Some(place) = self.step()? else { return Ok(0) };
                (place.len, self.record(place), self.input.rest())
            }
        };
        let steps = self.frames.steps();
        let (behind_first, mut count) = (rest.len(), 1);
        loop {
            ahead.fetch(record.frame.len(), rest);
            see(&record);
            let Some((next, behind)) = steps.and_then(|steps| steps.next(rest)) else { break };
            // Where a file was, there are zeros.
            if next.frame.is_empty() {
                break;
            }
            (record, rest) = (next, behind);
            count += 1;
        }
        let (passed, last) = (behind_first - rest.len(), record.time);
        self.usual = (first + passed) / count as usize;
        if ahead == Ahead::Copied {
            self.frames.passed(count - 1, last, &mut self.info);
            self.input.pos += passed;
        } else {
            self.go_on(&Walk { at: from + (first + passed) as u64, frames: count, last })?;
        }
        Ok(count)
    }

    fn parts(&mut self) -> Option<Parts> {
        self.frames.steps()?;
        let (from, to) = (self.input.offset(), self.input.total().filter(|&to| to > self.input.offset())?);
        let file = self.file.as_ref()?.try_clone().ok()?;
        Some(Parts { file, frames: self.frames.clone(), from, to })
    }

    fn go_on(&mut self, walk: &Walk) -> Result<(), Error> {
        let failed = |error| failed(&self.info.name, error);
        self.input.go_on(walk.at);
        self.file.as_mut().map_or(Ok(0), |file| file.seek(SeekFrom::Start(walk.at))).map_err(failed)?;
        self.frames.passed(walk.frames, walk.last, &mut self.info);
        self.info.bytes_read = self.input.bytes_read();
        Ok(())
    }

    fn info(&self) -> &Info {
        &self.info
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("info", &self.info).finish_non_exhaustive()
    }
}

/// What is fetched of records to come, while one is looked at: of those mapped, if they are not copied.
#[derive(PartialEq)]
enum Ahead {
    /// Where frames are long nobody else has the next one's headers fetched, and who waits for them waits a while.
    Copied,
    /// They follow each other so closely that all of memory is wanted.
    Short,
    /// Most are as long as those before, if there are no short ones in between: what they are with their `header`.
    Long { header: usize, last: usize },
}

/// Bytes of a record's headers: most are within them.
const HEADERS: usize = 128;
/// Bytes of a record that is little more, and of one where who looks at its headers passes over the rest.
const SHORT: usize = 256;
const LONG: usize = 768;
/// How far memory is asked for ahead of what is looked at.
const FAR: usize = 1024;

impl Ahead {
    /// `rest`: behind the record of a frame of `len` bytes.
    #[inline(always)]
    fn fetch(&mut self, len: usize, rest: &[u8]) {
        let headers = |from: usize| {
            if let Some(headers) = rest.get(from..).and_then(|from| from.first_chunk::<HEADERS>()) {
                fetch::lines(headers);
            }
        };
        match self {
            Ahead::Copied => rest.get(fetch::LINE).into_iter().for_each(fetch::line),
            Ahead::Short => headers(FAR),
            Ahead::Long { header, last } => {
                let len = len + *header;
                let longer = len.max(*last);
                *last = len;
                (1..=3).for_each(|n| headers(n * longer));
            }
        }
    }
}

#[cold]
fn failed(name: &str, error: io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Shrunk>()) {
        Some(shrunk) => Error::new(name, ErrorKind::Shrunk, shrunk.to_string()),
        None => Error::io(name, "reading", error),
    }
}

#[cfg(unix)]
fn standard_input(name: String, options: &Options) -> Result<Reader, Error> {
    use std::os::fd::AsFd;
    // The descriptor itself: `Stdin` puts a small buffer in between.
    let input =
        io::stdin().as_fd().try_clone_to_owned().map_err(|error| Error::io(&name, "opening", error))?;
    stream(name, File::from(input), options, None)
}

#[cfg(not(unix))]
fn standard_input(name: String, options: &Options) -> Result<Reader, Error> {
    stream(name, io::stdin(), options, None)
}

/// Anything that can be read once.
fn stream(
    name: String,
    mut from: impl Read + Send + 'static,
    options: &Options,
    total: Option<u64>,
) -> Result<Reader, Error> {
    let start = peek(&mut from).map_err(|error| Error::io(&name, "reading", error))?;
    let compression = sniff::compression(&start);
    let from = Box::new(Cursor::new(start).chain(from));
    let input = match compression {
        Compression::None => Input::new(from, options.window, total, None),
        _ => compressed::open(&name, compression, from, options.window, total)?,
    };
    Reader::new(Info { name, compression, ..Info::default() }, input)
}

/// The first four bytes, or fewer if there are no more.
fn peek(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    from.by_ref().take(4).read_to_end(&mut start)?;
    Ok(start)
}
