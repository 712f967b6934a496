//! Opening a capture, and the frames in it whatever its format.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::buffer::SharedRecord;
use super::decoder::{Decoder, FastPath};
use super::disk::DiskFile;
use super::erf;
use super::options::Options;
use super::parts::{Cursor, Parts};
use super::place::Place;
use super::window::{Input, Plain, Refill, Shrunk};
use super::{
    Compression, Error, ErrorKind, FrameOption, Info, Problem, Record, Source, Time, compressed, sniff,
};
use crate::prefetch;

/// Opens the capture at `path`; `-` is standard input.
pub fn open(path: &Path) -> Result<Reader, Error> {
    open_with(path, &Options::default())
}

/// Opens the capture at `path` with options.
pub fn open_with(path: &Path, options: &Options) -> Result<Reader, Error> {
    let name = path.display().to_string();
    if path == Path::new("-") {
        return standard_input(name, options);
    }
    let opening = |error| Error::io(&name, "opening", error);
    let (file, known) = DiskFile::open(path).map_err(opening)?;
    if known.is_dir() {
        return Err(Error::io(&name, "opening", io::ErrorKind::IsADirectory.into()));
    }
    // Files in /proc have content, but length 0.
    let total = Some(known.len()).filter(|&len| known.is_file() && len > 0);
    let same = total.and_then(|_| file.try_clone());
    let mut reader = stream(name, file, options, total)?;
    reader.file = same.filter(|_| reader.info.compression == Compression::None);
    Ok(reader)
}

/// The frames of a capture file or stream, of any format. They are borrowed from the read buffer: no allocation, and nearly
/// no copy.
pub struct Reader {
    input: Input,
    decoder: Decoder,
    info: Info,
    /// What `input` reads, if that is an uncompressed file that stays open.
    file: Option<File>,
}

impl Reader {
    /// Reads a capture from any stream of bytes. Messages call it `name`.
    ///
    /// A frame is delivered as soon as all of its bytes have arrived.
    pub fn from_read(from: impl Read + Send + 'static, name: &str) -> Result<Reader, Error> {
        stream(name.to_owned(), from, &Options::default(), None)
    }

    /// The comments on the frame that was read last, in pcapng.
    pub fn comments(&self) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
        let pcapng = match &self.decoder {
            Decoder::Pcapng(pcapng) => Some(pcapng),
            _ => None,
        };
        pcapng.into_iter().flat_map(|pcapng| pcapng.comments(&self.input)).map(String::from_utf8_lossy)
    }

    /// What else a pcapng file says of the frame that was read last. Not what it dropped, which [`Info`] counts.
    pub fn options(&self) -> impl Iterator<Item = FrameOption<'_>> {
        let pcapng = match &self.decoder {
            Decoder::Pcapng(pcapng) => Some(pcapng),
            _ => None,
        };
        pcapng.into_iter().flat_map(|pcapng| pcapng.frame_options(&self.input))
    }

    /// Goes to the next frame. Its place is valid until the next call.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<Option<Place>, Error> {
        match self.decoder.advance(&mut self.input, &mut self.info) {
            Ok(Some(place)) if place.link == erf::LINK => {
                // An ERF record holds the card's own time, which is finer than pcap's.
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

    /// [`record`](Reader::record) with its buffer.
    #[inline(always)]
    pub(super) fn shared(&self, place: Place) -> SharedRecord<'_> {
        SharedRecord { record: self.record(place), place: Some((self.input.buffer(), place.at)) }
    }

    /// Something is wrong with what should be before its first frame.
    pub(super) fn lacks(&mut self, problem: Problem) {
        self.info.damaged(0, problem, 0, false);
    }

    /// What is known of the file, which is closed.
    pub(super) fn into_info(self) -> Info {
        self.info
    }

    /// Goes to the next frame, faster for well-formed pcap records.
    #[inline(always)]
    pub(super) fn step(&mut self) -> Result<Option<Place>, Error> {
        let plain = match &mut self.decoder {
            Decoder::Pcap(pcap) => pcap.advance_fast(&mut self.input, &mut self.info),
            _ => None,
        };
        match plain {
            Some(place) => Ok(Some(place)),
            None => self.advance_any(),
        }
    }

    /// The frame at a place that [`step`](Self::step) just gave, and those behind it in memory.
    #[inline(always)]
    pub(super) fn batch(&self, place: Place) -> InMemory<'_> {
        InMemory { first: self.record(place), rest: self.input.rest(), steps: self.decoder.fast_path() }
    }

    /// Goes behind the frames of a [batch](Self::batch). Returns how many they were.
    #[inline(always)]
    pub(super) fn pass(&mut self, walked: &Walked) -> u64 {
        self.decoder.count(walked.frames - 1, walked.last, &mut self.info);
        self.input.pos += walked.bytes;
        walked.frames
    }

    #[inline(never)]
    fn advance_any(&mut self) -> Result<Option<Place>, Error> {
        self.advance()
    }

    fn new(mut info: Info, mut input: Input) -> Result<Reader, Error> {
        info.total_bytes = input.total();
        let name = info.name.clone();
        let failed = |error| failed(&name, error);
        let error = |kind, text: String| Err(Error::new(&name, kind, text));
        if !input.fill(1).map_err(failed)? {
            // A file without bytes is either empty, or its compressed data is damaged from the start.
            return match input.take_corrupt() {
                Some(reason) => error(
                    ErrorKind::Unknown,
                    format!("the compressed data is damaged before the first byte: {reason}"),
                ),
                None => error(ErrorKind::Empty, "is empty".to_owned()),
            };
        }
        let Some(decoder) = Decoder::recognize(&mut input, &mut info).map_err(failed)? else {
            let start = input.rest();
            let text = match sniff::compression(start) {
                Compression::None => sniff::describe(&start[..start.len().min(64)]),
                _ => "is compressed twice, which is not read".to_owned(),
            };
            return error(ErrorKind::Unknown, text);
        };
        info.bytes_read = input.bytes_read();
        Ok(Reader { input, decoder, info, file: None })
    }
}

/// Frames that are in memory already.
pub(super) struct InMemory<'a> {
    pub(super) first: Record<'a>,
    /// The bytes behind it.
    pub(super) rest: &'a [u8],
    /// How to step through them; `None`: not at all.
    pub(super) steps: Option<FastPath<'a>>,
}

/// Frames that were shown: how many, the bytes of all but the first, and the time of the last.
pub(super) struct Walked {
    frames: u64,
    bytes: usize,
    last: Time,
}

impl InMemory<'_> {
    /// Shows each frame, by one call: so it is inlined, and the record stays in registers.
    #[inline(always)]
    pub(super) fn each(self, mut on_record: impl FnMut(&Record<'_>)) -> Walked {
        let InMemory { first: mut record, mut rest, steps } = self;
        let (behind_first, mut frames) = (rest.len(), 1);
        loop {
            // The next record's headers.
            rest.get(prefetch::LINE).into_iter().for_each(prefetch::line);
            on_record(&record);
            let Some((next, behind)) = steps.and_then(|steps| steps.next(rest)) else { break };
            (record, rest) = (next, behind);
            frames += 1;
        }
        Walked { frames, bytes: behind_first - rest.len(), last: record.time }
    }
}

impl Source for Reader {
    #[inline(always)]
    fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        // The record is made here, from a place in registers. One returned by a function would be loaded in larger pieces
        // than it was stored in, which stalls processors (store forwarding).
        Ok(self.step()?.map(|place| self.record(place)))
    }

    #[inline(always)]
    fn next_shared(&mut self) -> Result<Option<SharedRecord<'_>>, Error> {
        Ok(self.step()?.map(|place| self.shared(place)))
    }

    #[inline(always)]
    fn next_batch(&mut self, on_record: impl FnMut(&Record<'_>)) -> Result<u64, Error> {
        let Some(place) = self.step()? else { return Ok(0) };
        let walked = self.batch(place).each(on_record);
        Ok(self.pass(&walked))
    }

    fn parts(&mut self) -> Option<Parts> {
        self.decoder.fast_path()?;
        let (from, to) = (self.input.offset(), self.input.total().filter(|&to| to > self.input.offset())?);
        let file = self.file.as_ref()?.try_clone().ok()?;
        Some(Parts { file, decoder: self.decoder.clone(), from, to })
    }

    fn resume(&mut self, cursor: &Cursor) -> Result<(), Error> {
        let failed = |error| failed(&self.info.name, error);
        self.input.resume(cursor.at);
        self.file.as_mut().map_or(Ok(0), |file| file.seek(SeekFrom::Start(cursor.at))).map_err(failed)?;
        self.decoder.count(cursor.frames, cursor.last, &mut self.info);
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
    // Reads from the descriptor: `Stdin` would add a small buffer.
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
    let from = Box::new(io::Cursor::new(start).chain(from));
    let input: Box<dyn Refill> = match compression {
        Compression::None => Box::new(Plain(from)),
        _ => compressed::open(&name, compression, from)?,
    };
    let input = Input::new(input, options.window, total);
    Reader::new(Info { name, compression, ..Info::default() }, input)
}

/// The first four bytes, or fewer if there are no more.
fn peek(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    from.by_ref().take(4).read_to_end(&mut start)?;
    Ok(start)
}
