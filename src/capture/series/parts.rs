//! Which files are parts of one capture: by their names, their interfaces and their times.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::is_same;
use crate::{
    capture::{Compression, Cursor, Damage, Interface, Packing, Problem, Record, Source, Time, open},
    dissect::dissect,
    in_order::InOrder,
    wire::{Bth, Ipv4, Ipv6},
};

/// Which of these files are parts of one capture: in the order of time, each behind the file that it follows. Groups come in the
/// order of their first files; a file that is no part of another one's capture is a group of its own.
///
/// Parts have names that differ in a number or a time at their end, as those that `tcpdump -C`, `tcpdump -G`, `dumpcap -b` and
/// `editcap -c` give; an interface in common; and times that follow each other: within a second, or with a flow whose PSNs go on. A longer
/// silence between two files whose numbers follow each other divides nothing where a flow goes on between other files of theirs. A file
/// without a frame, as a capture leaves it that ends just after it began a file, is a part of those beside whose names its own is. Files most of
/// which have the very packets of another one are taps of the same traffic, and no parts, whatever their clocks say.
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
            let (mut heads, empty): (Vec<usize>, Vec<usize>) = files
                .into_iter()
                .partition(|at| probes.entry(*at).or_insert_with(|| Probe::of(&paths[*at])).is_some());
            if !are_taps(&heads, &probes) {
                join(&mut heads, paths, &mut probes, &mut chains);
                join_empty(empty, &heads, paths, &mut chains);
            }
        }
    }
    let groups = chains.into_iter().filter(|chain| !chain.is_empty());
    groups.map(|chain| chain.into_iter().map(|at| paths[at].clone()).collect()).collect()
}

/// Whether most of these files begin with the packets of another of them: with those of two flows at least. Parts of one capture begin where
/// others end; but PSNs come round.
fn are_taps(files: &[usize], probes: &HashMap<usize, Option<Probe>>) -> bool {
    let mut of_flow: HashMap<&FlowKey, Vec<(usize, Stretch)>> = HashMap::new();
    for &at in files {
        let begins = probes.get(&at).and_then(Option::as_ref).into_iter().flat_map(|probe| &probe.begins);
        for (flow, &stretch) in begins.filter(|(_, stretch)| stretch.length > 0) {
            of_flow.entry(flow).or_default().push((at, stretch));
        }
    }
    let mut shared: HashMap<[usize; 2], u32> = HashMap::new();
    for mut of in of_flow.into_values() {
        of.order_by_key(|&(at, stretch)| (stretch.first, at));
        for pair in of.windows(2).filter(|pair| pair[0].1.has(pair[1].1.first)) {
            *shared.entry([pair[0].0.min(pair[1].0), pair[0].0.max(pair[1].0)]).or_insert(0) += 1;
        }
    }
    let taps: HashSet<usize> =
        shared.into_iter().filter(|&(_, flows)| flows > 1).flat_map(|(of, _)| of).collect();
    taps.len() * 2 > files.len()
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
    // Each file, and how it is joined to the one before it.
    let mut chain: Vec<(usize, Joint)> = Vec::new();
    for &next in heads.iter() {
        let joint = chain.last().map_or(Joint::None, |&(last, _)| {
            let Some(Some(behind)) = probes.get(&next).cloned() else { return Joint::None };
            let Some(Some(before)) = probes.get_mut(&last) else { return Joint::None };
            match before.joint(&behind) {
                Joint::Numbered if !is_next(&paths[last], &paths[next]) => Joint::None,
                joint => joint,
            }
        });
        if joint == Joint::None {
            settle(&mut chain, chains);
        }
        chain.push((next, joint));
    }
    settle(&mut chain, chains);
}

/// Which of these captures of one file each begin where another one ends, whatever their names are: a flow goes on with the very next PSN,
/// within a second. Pairs of files in the order of time. Long files that must be read whole for that are left out.
pub fn parts_by_content(captures: &[Vec<PathBuf>]) -> Vec<[PathBuf; 2]> {
    const MOST: usize = 256;
    let alone = captures.iter().filter_map(|parts| match &parts[..] {
        [one] if one.is_file() => Some(one),
        _ => None,
    });
    let mut probes: Vec<Probe> = alone.take(MOST).filter_map(|path| Probe::of(path)).collect();
    probes.order_by_key(|probe| probe.first);
    let mut found = Vec::new();
    for at in 1..probes.len() {
        let [before, next] = &mut probes[at - 1..=at] else { continue };
        let is_short =
            || before.is_plain || before.path.metadata().is_ok_and(|known| known.len() <= Probe::TAIL << 4);
        if is_short() && before.joint(next) == Joint::Flow && before.goes_straight_on(next) {
            found.push([before.path.clone(), next.path.clone()]);
        }
    }
    found
}

/// Puts files without frames to the one chain of those with such names, in the order of their numbers. Two captures alone with names that
/// differ in a number may be of two hosts, of which one had no traffic.
fn join_empty(mut empty: Vec<usize>, heads: &[usize], paths: &[PathBuf], chains: &mut [Vec<usize>]) {
    empty.sort_by_cached_key(|at| numbers(&paths[*at]));
    empty.retain(|at| is_empty(&paths[*at]));
    for at in empty {
        let counted = by_extension(&paths[at]);
        let is_counted = |part: &usize| counted.is_some() && by_extension(&paths[*part]) == counted;
        let is_of_kind = |chain: &[usize]| {
            chain.iter().any(|part| heads.contains(part)) && (chain.len() > 1 || chain.iter().any(is_counted))
        };
        let mut alike = (0..chains.len()).filter(|chain| is_of_kind(&chains[*chain]));
        let (Some(chain), None) = (alike.next(), alike.next()) else { continue };
        let mut part = std::mem::take(&mut chains[chain]);
        let number = numbers(&paths[at]);
        let place =
            part.iter().rposition(|before| numbers(&paths[*before]) < number).map_or(0, |last| last + 1);
        part.insert(place, at);
        chains[at].clear();
        chains[chain.min(at)] = part;
    }
}

/// Whether a file is a capture that has no frame, or that ends within its first one: as a capture leaves it that is killed.
fn is_empty(path: &Path) -> bool {
    let is_cut =
        |damage: &Damage| matches!(damage.problem, Problem::CutHeader { .. } | Problem::CutRecord { .. });
    open(path).is_ok_and(|mut reader| {
        matches!(reader.next(), Ok(None)) && reader.info().problems.iter().all(is_cut)
    })
}

/// How many files are missing between two that are parts of one capture, by the numbers of their names, where no flow goes on from the one
/// to the other without a gap. Numbers that are times leave out some everywhere.
pub(super) fn missing_between(last: &Path, next: &Path) -> Option<u64> {
    let named = |path| [by_extension(path), by_number(path)];
    let is_numbered =
        named(last).into_iter().zip(named(next)).any(|(last, next)| last.is_some() && last == next);
    let (before, after) = (numbers(last), numbers(next));
    // x.pcap, x.pcap1
    let from = if before.len() < after.len() { 0 } else { *before.last()? };
    let missing = after.last()?.checked_sub(from)?.checked_sub(1).filter(|&n| n > 0 && is_numbered)?;
    let (mut last, next) = (Probe::of(last)?, Probe::of(next)?);
    let gaps = last.gaps(&next);
    let is_cut = !gaps.is_empty() && gaps.iter().all(|gap| (2..1 << 23).contains(gap));
    is_cut.then_some(missing)
}

/// What joins a file to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joint {
    None,
    /// The next number, and a long silence: of two captures, or of one.
    Numbered,
    /// Times that follow each other closely.
    Close,
    /// A flow goes on.
    Flow,
}

fn settle(chain: &mut Vec<(usize, Joint)>, chains: &mut [Vec<usize>]) {
    let chain = std::mem::take(chain);
    let is_one = chain.iter().any(|(_, joint)| *joint == Joint::Flow);
    for part in chain.chunk_by(|_, (_, joint)| is_one || *joint != Joint::Numbered) {
        let part: Vec<usize> = part.iter().map(|(at, _)| *at).collect();
        if part.len() > 1 {
            part.iter().for_each(|at| chains[*at].clear());
            if let Some(&at) = part.iter().min() {
                chains[at] = part;
            }
        }
    }
}

/// Whether a number in the name of one file is the next one after that in the name of another.
fn is_next(last: &Path, next: &Path) -> bool {
    let (last, next) = (numbers(last), numbers(next));
    let differ = last.iter().zip(&next).find(|(last, next)| last != next);
    match differ {
        Some((last, next)) => last.checked_add(1) == Some(*next),
        // x.pcap, x.pcap1
        None => next.len() == last.len() + 1 && next.last() == Some(&1),
    }
}

/// The stem of a capture's name, its extension, and the number behind that.
fn split(path: &Path) -> Option<(&str, &str, &str)> {
    let name = path.file_name().and_then(OsStr::to_str)?;
    let plain = Packing::unpacked(name);
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

/// A flow: addresses and the queue pair; requests and answers apart, whose PSNs have nothing to do with each other.
type FlowKey = (Vec<u8>, u32, u8);

/// PSNs of a flow in one end of a file: the first, and how much further they come.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: u32,
    length: u32,
}

impl Stretch {
    fn add(&mut self, psn: u32) {
        let ahead = psn.wrapping_sub(self.first) & 0xff_ffff;
        if ahead <= Probe::NEAR {
            self.length = self.length.max(ahead);
        }
    }

    /// Whether a PSN is one of the first half of these: the last ones may be sent again behind them.
    fn has(&self, psn: u32) -> bool {
        let ahead = psn.wrapping_sub(self.first) & 0xff_ffff;
        ahead <= self.length / 2
    }
}

/// The ends of a file.
#[derive(Clone, Debug)]
struct Probe {
    path: PathBuf,
    interfaces: Vec<Interface>,
    first: Time,
    /// It is not compressed: its end can be read alone.
    is_plain: bool,
    /// PSNs of each flow among the first frames.
    begins: HashMap<FlowKey, Stretch>,
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
                begins.entry(flow).or_insert(Stretch { first: psn, length: 0 }).add(psn);
            }
        }
        let interfaces = reader.info().interfaces.clone();
        let is_plain = reader.info().compression == Compression::None;
        Some(Probe { path: path.to_owned(), interfaces, first: first?, is_plain, begins, end: None })
    }

    /// What says that the other file goes on where this one ends.
    fn joint(&mut self, next: &Probe) -> Joint {
        let is_shared = |one: &Interface| next.interfaces.iter().any(|other| is_same(one, other));
        if !self.interfaces.iter().any(is_shared) {
            return Joint::None;
        }
        // One that begins well before this one ends was made beside it.
        let latest = next.first.0.saturating_add(Probe::OVERLAP_NS);
        let Some(End { last, psns }) = self.end(latest) else { return Joint::None };
        let gap = next.first.0.saturating_sub(last.0);
        let length = last.0.saturating_sub(self.first.0);
        if gap < 0 && gap.saturating_neg() > Probe::OVERLAP_NS.min(length / 16) {
            return Joint::None;
        }
        let goes_on = || {
            next.begins.iter().any(|(flow, begin)| {
                let ahead =
                    |last: &u32| begin.first.wrapping_sub(*last).wrapping_add(Probe::NEAR) & 0xff_ffff;
                psns.get(flow).is_some_and(|last| ahead(last) <= 2 * Probe::NEAR)
            })
        };
        match goes_on() {
            true => Joint::Flow,
            // Times that do not pass say nothing.
            false if gap <= Probe::CLOSE_NS && (length > 0 || gap > 0) => Joint::Close,
            false if gap > Probe::CLOSE_NS => Joint::Numbered,
            false => Joint::None,
        }
    }

    /// How far the PSNs of flows go on from here to there.
    fn gaps(&mut self, next: &Probe) -> Vec<u32> {
        let Some(End { psns, .. }) = self.end(i64::MAX) else { return Vec::new() };
        let ahead = |(flow, begin): (&FlowKey, &Stretch)| {
            Some(begin.first.wrapping_sub(*psns.get(flow)?) & 0xff_ffff)
        };
        next.begins.iter().filter_map(ahead).collect()
    }

    /// Whether a flow goes on there with the PSN after its last one here, soon.
    fn goes_straight_on(&mut self, next: &Probe) -> bool {
        let is_soon = |end: End| next.first.0.saturating_sub(end.last.0) <= Probe::CLOSE_NS;
        self.end(i64::MAX).is_some_and(is_soon) && self.gaps(next).contains(&1)
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
            let is_plain = info.compression == Compression::None;
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
    // A CNP has no PSN.
    let opcode = Some(d.opcode()?).filter(|opcode| !opcode.is_cnp())?;
    Some(((addresses, bth.dest_qp().0, opcode.direction() as u8), bth.psn().0))
}
