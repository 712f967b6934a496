//! One capture in several files: rotated (`tcpdump -C`, `dumpcap -b`) or split (`editcap -c`).

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::place::Place;
use super::{
    Cursor, Error, Info, Interface, MAX_PROBLEMS, Parts, Reader, Record, SharedRecord, Source, Time, open,
};
use crate::dissect::dissect;
use crate::wire::{Bth, Ipv4, Ipv6};

/// [`Info`] is updated after so many frames.
const REFRESH: u64 = 1024;

/// One capture, in one file or in several that are read one after the other. They are opened as they are needed.
///
/// Frames are numbered through. An interface of a later file that equals one of the earlier files is that one. Counters of lost
/// frames count from the start of the capture, as `dumpcap` writes them, unless a later one is smaller.
#[derive(Debug)]
pub struct Series {
    reader: Reader,
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
        for path in &rest {
            info.name.push_str(&format!(",{}", path.display()));
            let bytes = std::fs::metadata(path).ok().map(|known| known.len());
            info.total_bytes = info.total_bytes.zip(bytes).map(|(all, one)| all.saturating_add(one));
        }
        let (numbers, read, drops) = (Vec::new(), Vec::new(), Vec::new());
        Series { reader, rest, read, numbers, is_plain: true, info, drops, is_over: false }
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

    fn is_one(&self) -> bool {
        self.read.is_empty() && self.rest.is_empty()
    }

    /// Goes to the next frame. Its place is valid until the next call.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<Option<Place>, Error> {
        loop {
            if let Some(place) = self.reader.step()? {
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
            self.info.interfaces.push(known.clone());
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
        self.read.push(std::mem::replace(&mut self.reader, reader).into_info());
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
        let mut names: Vec<_> = all().flat_map(|info| info.names.iter().cloned()).collect();
        names.dedup();
        let info = &mut self.info;
        (info.problem_count, info.skipped, info.bytes_read, info.frames) = (count, skipped, bytes, frames);
        (info.problems, info.names, info.comment) = (problems, names, comment.unwrap_or_default());
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
    fn next_batch(&mut self, mut on_record: impl FnMut(&Record<'_>)) -> Result<u64, Error> {
        // The first file's records are passed on as they are.
        if self.is_plain {
            let frames = self.reader.next_batch(&mut on_record)?;
            if frames > 0 {
                if !self.is_one() {
                    self.refresh();
                }
                return Ok(frames);
            }
        }
        let Some(record) = self.next()? else { return Ok(0) };
        on_record(&record);
        Ok(1)
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

/// Which of these files are parts of one capture: in the order of time, each behind the file that it follows. Groups come in the
/// order of their first files; a file that is no part of another one's capture is a group of its own.
///
/// Parts have names that differ in a number or a time at their end, as those that `tcpdump -C`, `tcpdump -G`, `dumpcap -b` and
/// `editcap -c` give; an interface in common; and times that follow each other: within a second, or with a flow whose PSNs go on.
pub fn parts_of_one(paths: &[PathBuf]) -> Vec<Vec<PathBuf>> {
    let mut chains: Vec<Vec<usize>> = (0..paths.len()).map(|at| vec![at]).collect();
    let mut probes: HashMap<usize, Option<Probe>> = HashMap::new();
    for key in [by_extension, by_number, by_times] {
        let mut alike: HashMap<PathBuf, Vec<usize>> = HashMap::new();
        for (at, chain) in chains.iter().enumerate() {
            if let ([one], true) = (chain.as_slice(), paths[at].is_file())
                && let Some(key) = key(&paths[*one])
            {
                alike.entry(key).or_default().push(*one);
            }
        }
        for files in alike.into_values().filter(|files| files.len() > 1) {
            let mut heads: Vec<usize> = Vec::new();
            for at in files {
                if probes.entry(at).or_insert_with(|| Probe::of(&paths[at])).is_some() {
                    heads.push(at);
                }
            }
            join(&mut heads, paths, &mut probes, &mut chains);
        }
    }
    let groups = chains.into_iter().filter(|chain| !chain.is_empty());
    groups.map(|chain| chain.into_iter().map(|at| paths[at].clone()).collect()).collect()
}

/// Joins those of the files that follow each other: their chain takes the place of its file that was named first.
fn join(
    heads: &mut [usize],
    paths: &[PathBuf],
    probes: &mut HashMap<usize, Option<Probe>>,
    chains: &mut [Vec<usize>],
) {
    let first = |probes: &HashMap<usize, Option<Probe>>, at: &usize| {
        probes.get(at).and_then(Option::as_ref).map(|probe| probe.first)
    };
    heads.sort_by_cached_key(|at| (first(probes, at), numbers(&paths[*at]), *at));
    let mut chain: Vec<usize> = Vec::new();
    for &next in heads.iter() {
        let follows = chain.last().is_some_and(|last| {
            let Some(Some(behind)) = probes.get(&next).cloned() else { return false };
            let Some(Some(before)) = probes.get_mut(last) else { return false };
            before.is_followed_by(&behind)
        });
        if !follows {
            settle(&mut chain, chains);
        }
        chain.push(next);
    }
    settle(&mut chain, chains);
}

fn settle(chain: &mut Vec<usize>, chains: &mut [Vec<usize>]) {
    let chain = std::mem::take(chain);
    if chain.len() > 1 {
        chain.iter().for_each(|at| chains[*at].clear());
        if let Some(&at) = chain.iter().min() {
            chains[at] = chain;
        }
    }
}

/// The stem of a capture's name, its extension, and the number behind that.
fn split(path: &Path) -> Option<(&str, &str, &str)> {
    let name = path.file_name().and_then(OsStr::to_str)?;
    let plain = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name);
    let Some((stem, extension)) = plain.rsplit_once('.') else { return Some((plain, "", "")) };
    let kind = extension.trim_end_matches(|c: char| c.is_ascii_digit());
    match matches!(kind, "pcap" | "pcapng" | "cap" | "erf" | "ntar") {
        true => Some((stem, kind, &extension[kind.len()..])),
        false => Some((plain, "", "")),
    }
}

/// What the names of parts have in common; `None` if the name is not of this kind: `x.pcap`, `x.pcap1`, `x.pcap2`, of `tcpdump -C`.
fn by_extension(path: &Path) -> Option<PathBuf> {
    let (stem, kind, _) = split(path).filter(|(_, kind, _)| !kind.is_empty())?;
    Some(path.with_file_name(format!("{stem}.{kind}")))
}

/// `x-1.pcap`, `x-2.pcap`.
fn by_number(path: &Path) -> Option<PathBuf> {
    let (stem, kind, _) = split(path)?;
    let word = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    (word.len() < stem.len()).then(|| path.with_file_name(format!("{word}#.{kind}")))
}

/// `x_00001_20261126185100.pcapng`, `x-2026-11-26T18:51:00.pcap`: numbers and times.
fn by_times(path: &Path) -> Option<PathBuf> {
    let (stem, kind, _) = split(path)?;
    let word = stem.trim_end_matches(|c: char| c.is_ascii_digit() || "-_.:+TZ".contains(c));
    (word.len() < stem.len()).then(|| path.with_file_name(format!("{word}#.{kind}")))
}

/// The numbers of a name, for files that begin at the same time.
fn numbers(path: &Path) -> Vec<u64> {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let digits = name.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    digits.map(|digits| digits.parse().unwrap_or(u64::MAX)).collect()
}

/// A flow: addresses and the queue pair.
type FlowKey = (Vec<u8>, u32);

/// The ends of a file.
#[derive(Clone, Debug)]
struct Probe {
    path: PathBuf,
    interfaces: Vec<Interface>,
    first: Time,
    /// PSNs of the first packet of each flow among the first frames.
    begins: HashMap<FlowKey, u32>,
    /// The last frame, once it was looked for.
    end: Option<End>,
}

#[derive(Clone, Debug)]
struct End {
    last: Time,
    /// PSNs of the last packet of each flow among the last frames.
    psns: HashMap<FlowKey, u32>,
}

impl Probe {
    /// Frames at each end in which flows are looked for.
    const FRAMES: usize = 512;
    /// Parts may overlap by so much: a capture of several cores is not sorted.
    const OVERLAP_NS: i64 = 1_000_000;
    /// Within this time, files follow each other without more evidence.
    const CLOSE_NS: i64 = 1_000_000_000;
    /// PSNs of a flow that goes on are at most so far apart.
    const NEAR: u32 = 1 << 16;
    /// Bytes at the end of a file that are searched for its last frames.
    const TAIL: u64 = 1 << 20;

    fn of(path: &Path) -> Option<Probe> {
        let mut reader = open(path).ok()?;
        let (mut first, mut begins) = (None, HashMap::new());
        for _ in 0..Probe::FRAMES {
            let Ok(Some(record)) = reader.next() else { break };
            first.get_or_insert(record.time);
            if let Some((flow, psn)) = flow_of(&record) {
                begins.entry(flow).or_insert(psn);
            }
        }
        let interfaces = reader.info().interfaces.clone();
        Some(Probe { path: path.to_owned(), interfaces, first: first?, begins, end: None })
    }

    /// Whether the other file goes on where this one ends.
    fn is_followed_by(&mut self, next: &Probe) -> bool {
        let is_shared = |one: &Interface| next.interfaces.iter().any(|other| is_same(one, other));
        if !self.interfaces.iter().any(is_shared) {
            return false;
        }
        // One that begins well before this one ends was made beside it.
        let latest = next.first.0.saturating_add(Probe::OVERLAP_NS);
        let Some(End { last, psns }) = self.end(latest) else { return false };
        let gap = next.first.0.saturating_sub(last.0);
        let length = last.0.saturating_sub(self.first.0);
        if gap < 0 && gap.saturating_neg() > Probe::OVERLAP_NS.min(length / 16) {
            return false;
        }
        let goes_on = || {
            next.begins.iter().any(|(flow, &psn)| {
                let ahead = |last: &u32| psn.wrapping_sub(*last).wrapping_add(Probe::NEAR) & 0xff_ffff;
                psns.get(flow).is_some_and(|last| ahead(last) <= 2 * Probe::NEAR)
            })
        };
        match gap <= Probe::CLOSE_NS {
            // Times that do not pass say nothing.
            true => length > 0 || gap > 0 || goes_on(),
            false => goes_on(),
        }
    }

    /// The last frames; `None` if one is later than `latest`, or there are none.
    fn end(&mut self, latest: i64) -> Option<End> {
        if self.end.is_none() {
            let quick = self.read_end(latest, true).filter(|end| end.last.0 <= latest);
            self.end = quick.or_else(|| self.read_end(latest, false));
        }
        self.end.clone().filter(|end| end.last.0 <= latest)
    }

    /// [`end`](Probe::end) from the last part of a long file, or from all of it.
    fn read_end(&self, latest: i64, is_quick: bool) -> Option<End> {
        let mut reader = open(&self.path).ok()?;
        if is_quick {
            let info = reader.info();
            let is_plain = info.compression == super::Compression::None;
            let total = info.total_bytes.filter(|&total| is_plain && total > 4 * Probe::TAIL)?;
            // Away from any frame's beginning: frames are found as behind damage, and the first ones may be none.
            let last = reader.next().ok()??.time;
            reader.resume(&Cursor { at: total - Probe::TAIL, frames: 0, last }).ok()?;
        }
        let mut tail: VecDeque<Option<(FlowKey, u32)>> = VecDeque::with_capacity(Probe::FRAMES);
        let mut last = None;
        while let Ok(Some(record)) = reader.next() {
            if record.time.0 > latest && !is_quick {
                return None;
            }
            last = Some(record.time);
            if tail.len() == Probe::FRAMES {
                tail.pop_front();
            }
            tail.push_back(flow_of(&record));
        }
        if is_quick && reader.info().problems.iter().any(|damage| damage.fatal) {
            return None;
        }
        Some(End { last: last?, psns: tail.into_iter().flatten().collect() })
    }
}

/// The flow of an RDMA packet, and its PSN.
fn flow_of(record: &Record<'_>) -> Option<(FlowKey, u32)> {
    let d = dissect(record.link, record.frame, record.wire_len);
    let bth = d.get::<Bth>()?;
    let addresses = match (d.get::<Ipv4>(), d.get::<Ipv6>()) {
        (Some(ip), _) => [ip.src().octets(), ip.dst().octets()].concat(),
        (_, Some(ip)) => [ip.src().octets(), ip.dst().octets()].concat(),
        _ => Vec::new(),
    };
    Some(((addresses, bth.dest_qp().0), bth.psn().0))
}
