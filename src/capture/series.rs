//! One capture in several files: rotated (`tcpdump -C`, `dumpcap -b`) or split (`editcap -c`).

mod parts;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

pub use parts::{parts_by_content, parts_of_one};

use super::place::Place;
use super::reader::InMemory;
use super::{
    Cursor, Error, FrameOption, Info, Interface, MAX_PROBLEMS, Parts, Problem, Reader, Record, SharedRecord,
    Source, open,
};

/// [`Info`] is updated after so many frames.
const REFRESH: u64 = 1024;

/// One capture, in one file or in several that are read one after the other. They are opened as they are needed.
///
/// Frames are numbered through. An interface of a later file that equals one of the earlier files is that one. Counters of lost
/// frames count from the start of the capture, as `dumpcap` writes them, unless a later one is smaller.
#[derive(Debug)]
pub struct Series {
    reader: Reader,
    clock: Option<ClockOffset>,
    is_untied: bool,
    /// The step in which its own times count, where clocks of a merge were set right: a power of ten, in nanoseconds.
    step_ns: Option<i64>,
    rest: VecDeque<PathBuf>,
    /// What is known of the files before the current one.
    read: Vec<Info>,
    /// The current file's interfaces -> their numbers in all.
    numbers: Vec<Option<u16>>,
    /// Whether each number is that of the file.
    is_plain: bool,
    /// Of all files, where there are several.
    info: Info,
    drops: Vec<Drops>,
    /// Whether the last file was read, and what it says of its interfaces is kept.
    is_over: bool,
}

/// What the clock of a capture shows more than that of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// In nanoseconds; of a clock that drifts, when it shows `at_ns`.
    pub ns: i64,
    /// How many packets, which both captures have, show it.
    pub packets: u64,
    /// How much faster it runs, in parts per 10¹²: 0 where one offset fits all of these packets.
    pub drift_ppt: i64,
    /// The time by this clock at which it is `ns` ahead.
    pub at_ns: i64,
    /// How far the offset may be off, in nanoseconds: as far as the shortest delays of both directions leave it open; `None` where packets of
    /// one direction only are in common.
    pub error_ns: Option<u64>,
}

impl ClockOffset {
    /// How far this clock is ahead when it shows this time, in nanoseconds.
    #[inline]
    pub fn at(&self, time_ns: i64) -> i64 {
        if self.drift_ppt == 0 {
            return self.ns;
        }
        let drifted =
            i128::from(time_ns.saturating_sub(self.at_ns)) * i128::from(self.drift_ppt) / 1_000_000_000_000;
        self.ns.saturating_add(i64::try_from(drifted).unwrap_or(0))
    }
}

/// What the files say an interface lost.
#[derive(Clone, Copy, Debug, Default)]
struct Drops {
    last: Option<u64>,
    sum: u64,
    /// Whether some file counts anew.
    is_by_file: bool,
}

impl Drops {
    fn add(&mut self, drops: Option<u64>) {
        let Some(drops) = drops else { return };
        self.is_by_file |= self.last.is_some_and(|last| drops < last);
        self.sum = self.sum.saturating_add(drops);
        self.last = Some(drops);
    }

    fn total(self) -> Option<u64> {
        if self.is_by_file { Some(self.sum) } else { self.last }
    }
}

/// The name of what is in several files, as tables have it: the first one, and how many more there are.
pub(super) fn name_of(files: impl IntoIterator<Item = String>) -> String {
    let mut files = files.into_iter();
    let first = files.next().unwrap_or_default();
    match files.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

impl From<Reader> for Series {
    fn from(reader: Reader) -> Series {
        Series::with(reader, [])
    }
}

impl Series {
    /// Opens the files of one capture, in their order.
    ///
    /// # Errors
    /// The first one cannot be opened. Of a later one, reading says so.
    pub fn open(first: &Path, rest: impl IntoIterator<Item = PathBuf>) -> Result<Series, Error> {
        Ok(Series::with(open(first)?, rest))
    }

    /// The first file, and those that follow it.
    pub fn with(reader: Reader, rest: impl IntoIterator<Item = PathBuf>) -> Series {
        let rest: VecDeque<PathBuf> = rest.into_iter().collect();
        let mut info = Info { name: reader.info().name.clone(), ..Info::default() };
        (info.format, info.compression, info.total_bytes) =
            (reader.info().format, reader.info().compression, reader.info().total_bytes);
        let files = rest.iter().map(|path| path.display().to_string());
        info.name = name_of(std::iter::once(info.name).chain(files));
        for path in &rest {
            let bytes = std::fs::metadata(path).ok().map(|known| known.len());
            info.total_bytes = info.total_bytes.zip(bytes).map(|(all, one)| all.saturating_add(one));
        }
        let (numbers, read, drops) = (Vec::new(), Vec::new(), Vec::new());
        Series {
            reader,
            clock: None,
            is_untied: false,
            step_ns: None,
            rest,
            read,
            numbers,
            is_plain: true,
            info,
            drops,
            is_over: false,
        }
    }

    /// What is known of each file that was opened, in their order.
    pub fn files(&self) -> impl Iterator<Item = &Info> {
        self.read.iter().chain([self.reader.info()])
    }

    /// Names of the files.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.files()
            .map(|info| info.name.clone())
            .chain(self.rest.iter().map(|path| path.display().to_string()))
    }

    /// The comments on the frame that was read last, in pcapng.
    pub fn comments(&self) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
        self.reader.comments()
    }

    /// What else a pcapng file says of the frame that was read last: [`Reader::options`].
    pub fn options(&self) -> impl Iterator<Item = FrameOption<'_>> {
        self.reader.options()
    }

    /// How its clock was set right, by which it was merged with other captures.
    pub fn clock(&self) -> Option<ClockOffset> {
        self.clock
    }

    /// Whether it was merged with others, and no packets in common tie its clock to that of the first one.
    pub fn is_untied(&self) -> bool {
        self.is_untied
    }

    pub(super) fn set_untied(&mut self) {
        self.is_untied = true;
    }

    /// The step in which its own times count, where clocks of a merge were set right: those that a merge gives count in none. A power of
    /// ten, in nanoseconds, up to a second.
    pub fn step_ns(&self) -> Option<u64> {
        self.step_ns.map(i64::unsigned_abs)
    }

    /// From now on, the step of its times is found.
    pub(super) fn watch_step(&mut self) {
        self.step_ns.get_or_insert(1_000_000_000);
    }

    /// A time as the capture has it.
    #[inline]
    pub(super) fn see_time(&mut self, time: super::Time) {
        if let Some(step) = &mut self.step_ns {
            while *step > 1 && time.0 % *step != 0 {
                *step /= 10;
            }
        }
    }

    pub(super) fn set_clock(&mut self, offset: ClockOffset) {
        self.clock = Some(offset);
    }

    fn is_one(&self) -> bool {
        self.read.is_empty() && self.rest.is_empty()
    }

    /// Goes to the next frame. Its place is valid until the next call.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<Option<Place>, Error> {
        loop {
            if let Some(place) = self.reader.step()? {
                // Of the first file's interfaces the names and speeds are known with their first frames.
                if self.is_plain
                    && !self.rest.is_empty()
                    && self.info.interfaces.len() != self.reader.info().interfaces.len()
                {
                    self.refresh();
                }
                let interface = self.numbered(place.interface);
                return Ok(Some(Place { interface, ..place }));
            }
            if !self.next_file()? {
                return Ok(None);
            }
        }
    }

    /// The interface with this number, also of a file that is still read.
    pub(super) fn interface(&self, number: usize) -> Option<&Interface> {
        let known = if self.is_plain { self.reader.info() } else { &self.info };
        known.interfaces.get(number)
    }

    /// The frame at a place that [`advance`](Series::advance) just gave.
    #[inline(always)]
    pub(super) fn record(&self, place: Place) -> Record<'_> {
        self.reader.record(place)
    }

    /// The number of the current file's interface in all.
    #[inline(always)]
    fn numbered(&mut self, interface: u16) -> u16 {
        match self.is_plain {
            true => interface,
            false => match self.numbers.get(usize::from(interface)) {
                Some(&Some(number)) => number,
                _ => self.number(usize::from(interface)),
            },
        }
    }

    /// Finds the interface among those of earlier files, or adds it.
    #[cold]
    fn number(&mut self, at: usize) -> u16 {
        let Some(known) = self.reader.info().interfaces.get(at) else { return at as u16 };
        if self.numbers.len() <= at {
            self.numbers.resize(at + 1, None);
        }
        let numbers = &self.numbers;
        let is_free = |number: usize| numbers.iter().all(|taken| taken.map(usize::from) != Some(number));
        let fits = |number: &usize| {
            self.info.interfaces.get(*number).is_some_and(|other| is_same(known, other)) && is_free(*number)
        };
        let found = Some(at).filter(fits).or_else(|| (0..self.info.interfaces.len()).find(fits));
        // Interfaces beyond the 16 bits of a record share the last number.
        let number = found.unwrap_or(self.info.interfaces.len()).min(usize::from(u16::MAX));
        if number == self.info.interfaces.len() {
            let said = (&*self.reader.info().hardware, &*self.reader.info().os);
            let known = known.clone().of_section(said, &self.info);
            self.info.interfaces.push(known);
        }
        self.numbers[at] = Some(number as u16);
        number as u16
    }

    /// Keeps what is known of the current file, and opens the next one.
    #[cold]
    fn next_file(&mut self) -> Result<bool, Error> {
        if self.is_one() || self.is_over {
            return Ok(false);
        }
        self.keep();
        let Some(next) = self.rest.pop_front() else {
            self.is_over = true;
            return Ok(false);
        };
        let reader = match open(&next) {
            Ok(reader) => reader,
            Err(error) => {
                // What follows a missing part would look like losses.
                self.rest.clear();
                self.is_over = true;
                return Err(error);
            }
        };
        let before = std::mem::replace(&mut self.reader, reader).into_info();
        if let Some(missing) = parts::missing_between(Path::new(&before.name), &next) {
            self.reader.lacks(Problem::PartsMissing { missing });
        }
        self.read.push(before);
        self.numbers.clear();
        self.is_plain = false;
        Ok(true)
    }

    /// Adds what is known of the current file, once it is read.
    fn keep(&mut self) {
        if self.is_plain {
            self.info.interfaces = self.reader.info().interfaces.clone();
            self.numbers = (0..self.info.interfaces.len()).map(|at| u16::try_from(at).ok()).collect();
        }
        (0..self.reader.info().interfaces.len().min(usize::from(u16::MAX))).for_each(|at| {
            if self.numbers.get(at).is_none_or(Option::is_none) {
                self.number(at);
            }
        });
        self.drops.resize(self.info.interfaces.len(), Drops::default());
        for (number, interface) in self.numbers.iter().zip(&self.reader.info().interfaces) {
            let Some(number) = number.map(usize::from) else { continue };
            self.drops[number].add(interface.drops);
            self.info.interfaces[number].drops = self.drops[number].total();
        }
        self.refresh();
    }

    /// Updates [`Info`].
    #[cold]
    fn refresh(&mut self) {
        let all = || self.read.iter().chain([self.reader.info()]);
        let sum = |of: fn(&Info) -> u64| all().map(of).fold(0, u64::saturating_add);
        let (count, skipped, bytes, frames) = (
            sum(|info| info.problem_count),
            sum(|info| info.skipped),
            sum(|info| info.bytes_read),
            sum(|info| info.frames),
        );
        let problems = all().flat_map(|info| info.problems.iter().cloned()).take(MAX_PROBLEMS).collect();
        let comment = all().find(|info| !info.comment.is_empty()).map(|info| info.comment.clone());
        let said = |of: fn(&Info) -> &String| all().next().map(of).cloned().unwrap_or_default();
        let (hardware, os) = (said(|info| &info.hardware), said(|info| &info.os));
        let mut names: Vec<_> = all().flat_map(|info| info.names.iter().cloned()).collect();
        names.dedup();
        let info = &mut self.info;
        (info.problem_count, info.skipped, info.bytes_read, info.frames) = (count, skipped, bytes, frames);
        (info.problems, info.names, info.comment) = (problems, names, comment.unwrap_or_default());
        (info.hardware, info.os) = (hardware, os);
        if self.is_plain {
            info.interfaces = self.reader.info().interfaces.clone();
        }
    }
}

impl Source for Series {
    #[inline(always)]
    fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        let place = self.advance()?;
        if !self.is_one() && self.reader.info().frames.is_multiple_of(REFRESH) {
            self.refresh();
        }
        Ok(place.map(|place| self.record(place)))
    }

    #[inline(always)]
    fn next_shared(&mut self) -> Result<Option<SharedRecord<'_>>, Error> {
        let place = self.advance()?;
        if !self.is_one() && self.reader.info().frames.is_multiple_of(REFRESH) {
            self.refresh();
        }
        Ok(place.map(|place| self.reader.shared(place)))
    }

    #[inline(always)]
    fn next_batch(&mut self, on_record: impl FnMut(&Record<'_>)) -> Result<u64, Error> {
        // The first file's records are passed on as they are.
        let plain = if self.is_plain { self.reader.step()? } else { None };
        let frames = match plain {
            Some(place) => self.reader.batch(place),
            None => match self.next()? {
                Some(first) => InMemory { first, rest: &[], steps: None },
                None => return Ok(0),
            },
        };
        let walked = frames.each(on_record);
        if plain.is_none() {
            return Ok(1);
        }
        let frames = self.reader.pass(&walked);
        if !self.is_one() {
            self.refresh();
        }
        Ok(frames)
    }

    fn parts(&mut self) -> Option<Parts> {
        if self.is_one() { self.reader.parts() } else { None }
    }

    fn resume(&mut self, cursor: &Cursor) -> Result<(), Error> {
        self.reader.resume(cursor)
    }

    fn info(&self) -> &Info {
        if self.is_one() { self.reader.info() } else { &self.info }
    }
}

/// Whether two files describe the same interface.
fn is_same(one: &Interface, other: &Interface) -> bool {
    let place =
        |interface: &Interface| (interface.link, interface.snaplen, interface.fcs_len, interface.speed_bps);
    place(one) == place(other) && one.name == other.name
}
