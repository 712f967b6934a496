//! Capture files: what is written is read, and whatever a file claims, reading it ends well.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::{
    properties::Random,
    support::{mutants, scratch::Scratch},
};
use rdmawire::capture::{
    self, Buffer, Error, ErrorKind, Format, Info, Interface, MAX_PROBLEMS, Merge, Options, Part, Problem,
    Reader, Record, SharedRecord, Sink, Source, Time,
};
use rdmawire::dissect::Link;

/// A record that owns its frame, to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    time: i64,
    link: u16,
    interface: u16,
    wire_len: u32,
    bytes: Vec<u8>,
}

impl Frame {
    fn record(&self) -> Record<'_> {
        let (time, link) = (Time(self.time), Link(self.link));
        Record { time, link, interface: self.interface, wire_len: self.wire_len, frame: &self.bytes }
    }
}

impl From<Record<'_>> for Frame {
    fn from(record: Record<'_>) -> Frame {
        let Record { time, link, interface, wire_len, frame } = record;
        Frame { time: time.0, link: link.0, interface, wire_len, bytes: frame.to_vec() }
    }
}

/// Decoder of many lengths, some cut by the capture.
fn frames(count: usize) -> Vec<Frame> {
    (0..count)
        .map(|n| {
            let len = n * 37 % 211 + 1;
            let wire_len = (len + n % 3 * 100) as u32;
            let bytes = (0..len).map(|at| (at * 7 + n) as u8).collect();
            Frame {
                time: 1_700_000_000_123_456_000 + n as i64 * 1_001_000,
                link: 1,
                interface: 0,
                wire_len,
                bytes,
            }
        })
        .collect()
}

/// A file of `frames`, as bytes.
fn written(format: Format, interfaces: &[Interface], frames: &[Frame]) -> Vec<u8> {
    let dir = Scratch::new("capture");
    let mut writer = capture::create(&dir.join("x"), format, interfaces, Options::default()).unwrap();
    for frame in frames {
        writer.put(&frame.record()).unwrap();
    }
    writer.finish().unwrap();
    fs::read(dir.join("x")).unwrap()
}

fn ethernet(format: Format, frames: &[Frame]) -> Vec<u8> {
    written(format, &[Interface::new(Link(1))], frames)
}

fn drain(mut source: impl Source) -> (Vec<Frame>, Info) {
    let mut frames = Vec::new();
    while let Some(record) = source.next().unwrap() {
        frames.push(record.into());
    }
    assert!(source.next().unwrap().is_none(), "an end is an end");
    let info = source.info().clone();
    assert_eq!(info.frames, frames.len() as u64);
    (frames, info)
}

fn read(bytes: &[u8]) -> (Vec<Frame>, Info) {
    Reader::from_read(Cursor::new(bytes.to_vec()), "test").unwrap();
    read_any(bytes)
}

/// The frames and problems, with nothing if it is no capture. Whoever is shown the frames gets the same.
fn read_any(bytes: &[u8]) -> (Vec<Frame>, Info) {
    let open = || Reader::from_read(Cursor::new(bytes.to_vec()), "test");
    let (Ok(reader), Ok(mut shown)) = (open(), open()) else { return Default::default() };
    let (frames, info) = drain(reader);
    let (mut same, mut number) = (Vec::new(), 0);
    while let count @ 1.. = shown.next_batch(|record| same.push(Frame::from(*record))).unwrap() {
        number += count;
    }
    assert!(same == frames);
    assert_eq!((number, shown.info().frames), (info.frames, info.frames));
    assert_eq!(format!("{:?}", shown.info()), format!("{info:?}"));
    (frames, info)
}

/// What a capture is, however it is read.
type Outcome = (Vec<Frame>, String);

fn outcome(reader: Result<Reader, Error>) -> Option<Outcome> {
    Some(comparable(drain(reader.ok()?)))
}

/// Without what tells where it came from.
fn comparable((frames, mut info): (Vec<Frame>, Info)) -> Outcome {
    (info.name, info.compression) = Default::default();
    (info.bytes_read, info.total_bytes) = Default::default();
    (frames, format!("{info:?}"))
}

/// The same frames, the same damage: as a file, in parts, from a pipe, compressed, and while somebody holds all buffers.
fn same_however_it_comes(what: &str, bytes: &[u8], dir: &Scratch, random: &mut Random) {
    let path = dir.file("x", bytes);
    let expected = outcome(capture::open(&path));
    let check = |way: &str, found: Option<Outcome>| {
        let of = |outcome: &Option<Outcome>| {
            outcome.as_ref().map(|(frames, info)| format!("{} frames, {info}", frames.len()))
        };
        let (here, there) = (of(&found), of(&expected));
        assert!(found == expected, "{what}, {} bytes, {way}: {here:?}\nas a file: {there:?}", bytes.len());
    };
    let steps = [1, 1 + random.below(40), 1000 + random.below(100_000)];
    for step in steps.into_iter().filter(|&step| step > 100 || bytes.len() < 20_000) {
        let pipe = |name: &str| Reader::from_read(Drip(Cursor::new(bytes.to_vec()), step), name);
        check("pipe", outcome(pipe("pipe")));
        let Ok(mut reader) = pipe("held") else { continue };
        let (mut held, mut frames) = (Vec::new(), Vec::new());
        while let Some(SharedRecord { record, place }) = reader.next_shared().unwrap() {
            frames.push(Frame::from(record));
            held.extend(place.map(|(buffer, _)| buffer.clone()));
            held.truncate(50);
        }
        assert!(expected.as_ref().is_some_and(|(expected, _)| *expected == frames), "{what}, held");
    }
    if expected.is_some() {
        let (frames, info, _) = in_parts(&path);
        check("in parts", Some(comparable((frames, info))));
    }
    #[cfg(feature = "compression")]
    if expected.is_some()
        && capture::open(&path).is_ok_and(|reader| reader.info().compression == Default::default())
    {
        for pack in [compressed::gzip, compressed::zstd] {
            check("compressed", outcome(Reader::from_read(Cursor::new(pack(bytes)), "compressed")));
        }
    }
}

#[test]
fn a_capture_is_the_same_however_it_comes() {
    let dir = Scratch::new("however");
    let mut random = Random::new(7);
    let (mut captures, mut damaged) = (0, 0);
    let mut same = |what: &str, bytes: &[u8]| {
        same_however_it_comes(what, bytes, &dir, &mut random);
        let Some((frames, info)) = outcome(Reader::from_read(Cursor::new(bytes.to_vec()), "x")) else {
            return;
        };
        captures += u32::from(!frames.is_empty());
        damaged += u32::from(!info.contains("problem_count: 0"));
    };
    let mut next = Random::new(8);
    let mut corpus = mutants::corpus();
    for format in [Format::Pcap, Format::Pcapng, Format::Erf] {
        corpus.push((format!("{format} of many frames"), ethernet(format, &frames(2000))));
    }
    for (n, (name, bytes)) in corpus.iter().enumerate() {
        same(name, bytes);
        let mut mutant = bytes.clone();
        mutants::mutate(&mut mutant, 1 + next.below(3), &mut next);
        same(&format!("{name}, mutant"), &mutant);
        if n % 4 == 0 || bytes.len() > 20_000 {
            let mut mutant = mutants::repeated(bytes, 300_000);
            mutants::mutate(&mut mutant, 1 + next.below(100), &mut next);
            same(&format!("{name}, long mutant"), &mutant);
        }
    }
    let long = ethernet(Format::Pcapng, &frames(20_000));
    for round in 0..12 {
        let mut mutant = long.clone();
        mutants::mutate(&mut mutant, 1 << round, &mut next);
        same(&format!("long pcapng, mutant {round}"), &mutant);
    }
    assert!(damaged > 20 && captures > 20, "{damaged} of {captures} were damaged");
}

/// Gives its bytes a few at a time, as a slow pipe does.
struct Drip(Cursor<Vec<u8>>, usize);

impl Read for Drip {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = into.len().min(self.1);
        self.0.read(&mut into[..len])
    }
}

/// Builds pcap and pcapng in either byte order.
struct Build {
    big: bool,
    bytes: Vec<u8>,
}

impl Build {
    fn new(big: bool) -> Build {
        Build { big, bytes: Vec::new() }
    }

    fn u16(&mut self, value: u16) -> &mut Build {
        self.bytes.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    fn u32(&mut self, value: u32) -> &mut Build {
        self.bytes.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    fn u64(&mut self, value: u64) -> &mut Build {
        self.bytes.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Build {
        self.bytes.extend(bytes);
        self
    }

    fn pcap(big: bool, magic: u32, snaplen: u32, network: u32) -> Build {
        let mut build = Build::new(big);
        build.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(snaplen).u32(network);
        build
    }

    fn record(&mut self, seconds: u32, fraction: u32, captured: u32, wire: u32, bytes: &[u8]) -> &mut Build {
        self.u32(seconds).u32(fraction).u32(captured).u32(wire).raw(bytes)
    }

    fn block(&mut self, kind: u32, body: impl for<'a> FnOnce(&'a mut Build) -> &'a mut Build) -> &mut Build {
        let mut inner = Build::new(self.big);
        body(&mut inner);
        inner.bytes.resize(inner.bytes.len().next_multiple_of(4), 0);
        let total = inner.bytes.len() as u32 + 12;
        self.u32(kind).u32(total).raw(&inner.bytes).u32(total)
    }

    fn section(&mut self) -> &mut Build {
        self.block(0x0a0d_0d0a, |body| body.u32(0x1a2b_3c4d).u16(1).u16(0).u64(u64::MAX))
    }

    fn interface(&mut self, link: u16, snaplen: u32, options: &[(u16, &[u8])]) -> &mut Build {
        self.block(1, |body| body.u16(link).u16(0).u32(snaplen).options(options))
    }

    fn packet(
        &mut self,
        id: u32,
        ticks: u64,
        bytes: &[u8],
        wire: u32,
        options: &[(u16, &[u8])],
    ) -> &mut Build {
        self.block(6, |body| {
            body.u32(id)
                .u32((ticks >> 32) as u32)
                .u32(ticks as u32)
                .u32(bytes.len() as u32)
                .u32(wire)
                .raw(bytes);
            body.bytes.resize(body.bytes.len().next_multiple_of(4), 0);
            body.options(options)
        })
    }

    fn options(&mut self, options: &[(u16, &[u8])]) -> &mut Build {
        for (code, value) in options {
            self.u16(*code).u16(value.len() as u16).raw(value);
            self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        }
        self
    }
}

fn erf_record(
    kind: u8,
    flags: u8,
    seconds: u32,
    lost: u16,
    wire: u16,
    extensions: &[u8],
    rest: &[u8],
) -> Vec<u8> {
    let mut record = (u64::from(seconds) << 32).to_le_bytes().to_vec();
    record.extend([kind, flags]);
    record.extend(((16 + extensions.len() + rest.len()) as u16).to_be_bytes());
    record.extend(lost.to_be_bytes());
    record.extend(wire.to_be_bytes());
    record.extend(extensions);
    record.extend(rest);
    record
}

#[test]
fn what_is_written_is_read() {
    let frames = frames(300);
    for format in [Format::Pcap, Format::PcapMicros, Format::Pcapng] {
        let bytes = ethernet(format, &frames);
        let (read, info) = read(&bytes);
        assert_eq!(read, frames, "{format}");
        assert_eq!((info.format, info.problem_count, info.bytes_read), (format, 0, bytes.len() as u64));
        assert_eq!(info.interfaces[0].link, Link(1));
    }
}

#[test]
fn frames_of_many_kinds_become_erf_and_stay_so() {
    for (link, kind, extra) in [(1, 2, 18), (247, 21, 16), (228, 22, 16), (229, 23, 16)] {
        let frames: Vec<Frame> = frames(50).into_iter().map(|frame| Frame { link, ..frame }).collect();
        let first = written(Format::Erf, &[], &frames);
        let (read_back, info) = read(&first);
        assert_eq!((info.format, info.problem_count), (Format::Erf, 0));
        for (was, is) in frames.iter().zip(&read_back) {
            assert_eq!((is.time, is.link, is.wire_len), (was.time, 197, was.wire_len + extra));
            assert_eq!(is.bytes[8], kind);
            assert_eq!(is.bytes[extra as usize..], was.bytes);
        }
        assert_eq!(read_back.len(), frames.len());
        // ERF records written as they are, to ERF and to pcap, are the same again.
        assert_eq!(read(&written(Format::Erf, &[], &read_back)).0, read_back);
        assert_eq!(read(&written(Format::Pcap, &[], &read_back)).0, read_back);
        assert_eq!(read(&written(Format::Pcapng, &[], &read_back)).0, read_back);
    }
}

/// The card's time is finer than a pcap's, for whoever is shown the frames too.
#[test]
fn erf_in_a_pcap_has_its_own_time() {
    let fraction = |ns: u64| ((ns << 32) / 1_000_000_000) as u32;
    let (mut pcap, mut pcapng) = (Build::pcap(false, 0xa1b2_c3d4, 0, 197), Build::new(false));
    pcapng.section().interface(197, 0, &[]);
    for n in 0..4u32 {
        let mut record = erf_record(2, 4, 1000, 0, 20, &[], &[n as u8; 22]);
        record[..4].copy_from_slice(&fraction(1_000_500).to_le_bytes());
        pcap.record(1000, 1000, 38, 38, &record);
        pcapng.packet(0, 1_000_001_000, &record, 38, &[]);
    }
    for file in [pcap, pcapng] {
        let (frames, _) = read(&file.bytes);
        assert_eq!(frames.iter().map(|frame| frame.time).collect::<Vec<_>>(), [1_000_001_000_500; 4]);
    }
}

#[test]
fn records_of_several_links_go_into_pcapng_only() {
    let mut frames = frames(20);
    for (n, frame) in frames.iter_mut().enumerate() {
        (frame.link, frame.interface) = [(1, 0), (247, 1), (113, 2)][n % 3];
    }
    let (read, info) = read(&written(Format::Pcapng, &[Interface::new(Link(1))], &frames));
    assert_eq!(read, frames);
    assert_eq!(info.interfaces.iter().map(|interface| interface.link.0).collect::<Vec<_>>(), [1, 247, 113]);
    let dir = Scratch::new("capture");
    let mut writer = capture::create(&dir.join("x"), Format::Pcap, &[], Options::default()).unwrap();
    writer.put(&frames[0].record()).unwrap();
    assert_eq!(writer.put(&frames[1].record()).unwrap_err().kind(), ErrorKind::Unfit);
}

#[test]
fn pcap_in_both_byte_orders_and_all_variants() {
    for big in [false, true] {
        for (magic, unit, modified) in
            [(0xa1b2_c3d4, 1000, false), (0xa1b2_3c4d, 1, false), (0xa1b2_cd34, 1000, true)]
        {
            // An FCS of four bytes is said in the link type's upper bits.
            let mut build = Build::pcap(big, magic, 65535, 1 | 0x0400_0000 | 2 << 28);
            for n in 0..3 {
                build.u32(1000 + n).u32(5).u32(4).u32(90);
                if modified {
                    build.u32(2).u16(0x800).raw(&[4, 0]);
                }
                build.raw(&[n as u8; 4]);
            }
            let (frames, info) = read(&build.bytes);
            assert_eq!(info.problems, []);
            assert_eq!((info.interfaces[0].fcs_len, info.interfaces[0].resolution_ns), (Some(4), unit));
            assert_eq!((frames.len(), frames[2].link), (3, 1));
            assert_eq!((frames[1].time, frames[1].wire_len), (1_001_000_000_000 + 5 * i64::from(unit), 90));
            assert_eq!(frames[2].bytes, [2; 4]);
        }
    }
}

#[test]
fn pcapng_with_everything() {
    for big in [false, true] {
        let drops = |value: u64| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        let mut build = Build::new(big);
        build.section().block(0x1234_5678, |body| body.raw(&[1; 20]));
        build.interface(1, 100, &[(2, b"eth0"), (9, &[6]), (14, &drops(10)), (8, &drops(400_000_000_000))]);
        build.interface(247, 0, &[(3, b"port"), (9, &[0x80 | 10]), (13, &[4])]);
        build.packet(0, 7, &[1, 2, 3], 60, &[(1, b"look"), (4, &drops(3)), (0, b"")]);
        build.packet(1, 3 << 10, &[4; 8], 8, &[]);
        build.block(3, |body| body.u32(5).raw(&[9; 5]));
        build.block(2, |body| body.u16(1).u16(2).u32(0).u32(1 << 10).u32(2).u32(2).raw(&[7, 7]));
        build.block(5, |body| body.u32(0).u32(0).u32(0).options(&[(5, &drops(4)), (7, &drops(6)), (0, b"")]));
        // A second section in the other byte order, whose only interface continues the first.
        let mut second = Build::new(!big);
        let ten = if big { 10u64.to_le_bytes() } else { 10u64.to_be_bytes() };
        let speed = if big { 400_000_000_000u64.to_le_bytes() } else { 400_000_000_000u64.to_be_bytes() };
        second.section().interface(1, 100, &[(2, b"eth0"), (9, &[6]), (14, &ten), (8, &speed)]);
        second.packet(0, 8, &[5], 1, &[]);
        build.raw(&second.bytes);

        let mut reader = Reader::from_read(Cursor::new(build.bytes.clone()), "test").unwrap();
        reader.next().unwrap().unwrap();
        assert_eq!(reader.comments().next().as_deref(), Some("look"));
        reader.next().unwrap().unwrap();
        assert_eq!(reader.comments().next(), None);

        let (frames, info) = read(&build.bytes);
        assert_eq!(info.problems, []);
        let of = |time, link, interface, wire_len, bytes: &[u8]| Frame {
            time,
            link,
            interface,
            wire_len,
            bytes: bytes.to_vec(),
        };
        assert_eq!(
            frames,
            [
                of(10_000_007_000, 1, 0, 60, &[1, 2, 3]),
                of(3_000_000_000, 247, 1, 8, &[4; 8]),
                of(0, 1, 0, 5, &[9; 5]),
                of(1_000_000_000, 247, 1, 2, &[7, 7]),
                of(10_000_008_000, 1, 0, 1, &[5]),
            ]
        );
        assert_eq!((info.skipped, info.interfaces.len()), (1, 2));
        assert_eq!(info.interfaces[0].name.as_deref(), Some("eth0"));
        assert_eq!(info.interfaces[0].speed_bps, Some(400_000_000_000));
        assert_eq!((info.interfaces[0].drops, info.interfaces[1].drops), (Some(10), Some(2)));
        assert_eq!((info.interfaces[1].fcs_len, info.interfaces[1].resolution_ns), (Some(4), 976_562));
        for cut in 0..build.bytes.len() {
            let (some, _) = read_any(&build.bytes[..cut]);
            assert!(frames.starts_with(&some));
        }
    }
}

#[test]
fn comments_and_drops_are_written() {
    let dir = Scratch::new("capture");
    let interface = Interface { drops: Some(9), name: Some("eth7".into()), ..Interface::new(Link(1)) };
    let mut writer =
        capture::create(&dir.join("x"), Format::Pcapng, &[interface], Options::default()).unwrap();
    writer.put_with_comments(&frames(1)[0].record(), &["why: ü"]).unwrap();
    writer.finish().unwrap();
    let mut reader = capture::open(&dir.join("x")).unwrap();
    reader.next().unwrap().unwrap();
    assert_eq!(reader.comments().next().as_deref(), Some("why: ü"));
    assert!(reader.next().unwrap().is_none());
    assert_eq!(reader.comments().next(), None);
    assert_eq!((reader.info().interfaces[0].drops, reader.info().problem_count), (Some(9), 0));
}

/// A time that the clock of its interface does not have is exact all the same: the interface is described again, with another clock.
#[test]
fn a_time_between_two_ticks_is_written_as_it_is() {
    let interface = Interface { resolution_ns: 1000, name: Some("eth7".into()), ..Interface::new(Link(1)) };
    let times = [5_000, 6_500, 7_000, 8_001];
    let frames: Vec<Frame> = times.iter().map(|&time| Frame { time, ..frames(1).remove(0) }).collect();
    let (read, info) = read(&written(Format::Pcapng, &[interface], &frames));
    assert_eq!(read.iter().map(|frame| frame.time).collect::<Vec<_>>(), times);
    let described: Vec<_> = info.interfaces.iter().map(|of| (of.name.as_deref(), of.resolution_ns)).collect();
    assert_eq!(described, [(Some("eth7"), 1000), (Some("eth7"), 1)]);
}

#[test]
fn erf_with_extensions_losses_and_records_without_frames() {
    let mut bytes = erf_record(2, 4, 1000, 3, 6, &[], &[0, 0, 1, 2, 3, 4, 5, 6]);
    bytes.extend(erf_record(48, 4, 0, 0, 0, &[], &[0; 8]));
    bytes.extend(erf_record(27, 4, 1000, 0, 0, &[], &[0; 16]));
    // Two extension headers, the second the last; port 5.
    let extensions = [0x83, 0, 0, 0, 0, 0, 0, 0, 0x03, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend(erf_record(0x80 | 21, 4 | 1 | 0x40, 1001, 2, 5, &extensions, &[1, 2, 3, 4, 5, 0, 0, 0]));
    bytes.extend(erf_record(25, 4, 1001, 4, 8, &[], &[8; 8]));
    // Extension headers without end.
    bytes.extend(erf_record(0x80 | 21, 4, 1001, 0, 8, &[0xff; 8], &[0xff; 8]));
    let (frames, info) = read(&bytes);
    let seen: Vec<_> =
        frames.iter().map(|frame| (frame.bytes.len(), frame.wire_len, frame.interface)).collect();
    assert_eq!(seen, [(24, 24, 0), (37, 37, 1), (24, 24, 0), (32, 40, 0)]);
    assert_eq!((info.skipped, info.interfaces.len()), (2, 2));
    assert_eq!((info.interfaces[0].drops, info.interfaces[1].drops), (Some(7), Some(2)));
    assert!(
        matches!(info.problems[..], [ref damage] if damage.problem == Problem::Extensions && !damage.fatal)
    );
}

#[test]
fn a_file_cut_anywhere_gives_what_is_whole() {
    let frames = frames(12);
    for format in [Format::Pcap, Format::PcapMicros, Format::Pcapng, Format::Erf] {
        let whole = ethernet(format, &frames);
        let (all, _) = read(&whole);
        assert_eq!(all.len(), frames.len());
        for cut in 0..whole.len() {
            let (some, info) = read_any(&whole[..cut]);
            assert!(all.starts_with(&some), "{format} cut at {cut}");
            // Between two frames nothing is wrong; within one it is said, once.
            assert!(info.problem_count <= 1, "{format} cut at {cut}: {:?}", info.problems);
            if let Some(damage) = info.problems.first() {
                assert!(damage.fatal && damage.offset <= cut as u64 && damage.record == some.len() as u64);
            }
        }
    }
}

#[test]
fn a_pipe_gives_the_same_however_slow() {
    let frames = frames(40);
    for format in [Format::Pcap, Format::Pcapng, Format::Erf] {
        let bytes = ethernet(format, &frames);
        let (all, _) = read(&bytes);
        for step in [1, 3, 100] {
            let reader = Reader::from_read(Drip(Cursor::new(bytes.clone()), step), "pipe").unwrap();
            let (some, info) = drain(reader);
            assert_eq!(some, all);
            assert_eq!((info.problem_count, info.total_bytes), (0, None));
        }
    }
}

/// Reading goes on elsewhere while somebody holds on to what was read, all of it or the last few.
#[test]
fn what_is_held_on_to_stays() {
    let mut frames = frames(3000);
    for frame in frames.iter_mut().step_by(20) {
        // More than the few windows that are held.
        frame.bytes = vec![frame.time as u8; 60_000];
        frame.wire_len = 60_000;
    }
    for format in [Format::Pcap, Format::Pcapng, Format::Erf] {
        let bytes = ethernet(format, &frames);
        let (all, _) = read(&bytes);
        for (held, step) in [(1, 40_000), (3, usize::MAX), (20, 5000), (usize::MAX, 1 << 20)] {
            let mut reader = Reader::from_read(Drip(Cursor::new(bytes.clone()), step), "pipe").unwrap();
            let (mut some, mut count) = (VecDeque::new(), 0);
            let mut same = |(buffer, at, frame): (Buffer, usize, Frame)| {
                assert!(buffer.get(at..).unwrap().starts_with(&frame.bytes));
                assert_eq!(frame, all[count]);
                count += 1;
            };
            while let Some(SharedRecord { record, place }) = reader.next_shared().unwrap() {
                let (buffer, at) = place.expect("a file is read through buffers");
                some.push_back((buffer.clone(), at, record.into()));
                if some.len() > held {
                    some.pop_front().into_iter().for_each(&mut same);
                }
            }
            some.into_iter().for_each(same);
            assert_eq!(count, all.len());
        }
    }
}

/// Makes some of many frames so long.
fn lengthen(many: &mut [Frame], which: &[usize], len: usize) {
    for &n in which {
        many[n].bytes = vec![n as u8; len];
        many[n].wire_len = len as u32;
    }
}

/// A file that ends too early, and has a few wrong bits behind its first header.
fn damaged(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let most = 1 << random.below(20);
    let mut bytes = whole[..whole.len() - random.below(most)].to_vec();
    for _ in 0..random.below(4) {
        let at = 24 + random.below(bytes.len() - 24);
        bytes[at] ^= 1 << random.below(8);
    }
    bytes
}

/// The frames of a file that is read in parts wherever that can be, and how many came so.
fn in_parts(path: &Path) -> (Vec<Frame>, Info, u64) {
    let mut reader = capture::open(path).unwrap();
    let (mut frames, mut so) = (Vec::new(), 0);
    while let Some(record) = reader.next().unwrap() {
        frames.push(Frame::from(record));
        let Some(parts) = reader.parts() else { continue };
        let mut all: Vec<Part> = (0..parts.count()).map(|_| Part::default()).collect();
        for (number, part) in all.iter_mut().enumerate().rev() {
            parts.read(number as u64, part);
        }
        let mut cursor = parts.cursor();
        for part in &mut all {
            let (walked, shown) = (cursor.frames(), frames.len());
            let is_more = parts.advance(part, &mut cursor);
            parts.for_each(part, |record, at| {
                assert!(part.bytes()[at..].starts_with(record.frame));
                frames.push(Frame::from(*record));
            });
            assert_eq!(cursor.frames() - walked, (frames.len() - shown) as u64);
            if !is_more {
                break;
            }
        }
        so += cursor.frames();
        reader.resume(&cursor).unwrap();
    }
    (frames, reader.info().clone(), so)
}

#[test]
fn a_file_in_parts_has_the_frames_that_it_has_in_order() {
    let dir = Scratch::new("parts");
    let mut many = frames(25_000);
    // Longer than a part.
    lengthen(&mut many, &[1000, 1001, 20_000], 600_000);
    let interface = Interface { snaplen: 1 << 20, ..Interface::new(Link(1)) };
    for format in [Format::Pcap, Format::PcapMicros, Format::Pcapng] {
        let whole = written(format, std::slice::from_ref(&interface), &many);
        let same = |bytes: &[u8]| {
            let path = dir.file("x", bytes);
            let (frames, info, so) = in_parts(&path);
            let (in_order, expected) = drain(capture::open(&path).unwrap());
            assert!(frames == in_order);
            assert_eq!(format!("{info:?}"), format!("{expected:?}"));
            so
        };
        assert_eq!(same(&whole), many.len() as u64 - 1);
        let mut random = Random::new(1);
        for _ in 0..25 {
            same(&damaged(&whole, &mut random));
        }
    }
    let other = dir.file("erf", &ethernet(Format::Erf, &frames(3)));
    assert!(capture::open(&other).unwrap().parts().is_none());
    assert!(Reader::from_read(Cursor::new(ethernet(Format::Pcap, &many)), "pipe").unwrap().parts().is_none());
}

#[test]
fn a_pipe_that_pauses_holds_no_frame_back() {
    struct Pipe(mpsc::Receiver<Vec<u8>>);
    impl Read for Pipe {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Ok(bytes) = self.0.recv() else { return Ok(0) };
            into[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        }
    }
    let (to, from) = mpsc::sync_channel(0);
    let bytes = ethernet(Format::Pcap, &frames(1));
    let writing = std::thread::spawn(move || {
        // Four bytes are what the reader asks for first.
        for part in [&bytes[..4], &bytes[4..24], &bytes[24..]] {
            to.send(part.to_vec()).unwrap();
        }
        to
    });
    let mut reader = Reader::from_read(Pipe(from), "pipe").unwrap();
    assert!(reader.next().unwrap().is_some(), "with the other end still open");
    drop(writing.join().unwrap());
    assert!(reader.next().unwrap().is_none());
}

#[test]
fn lengths_that_contradict_each_other_cost_nothing() {
    let mut build = Build::pcap(false, 0xa1b2_c3d4, 8, 1);
    build.record(1000, 0, 4, 4, &[1; 4]);
    build.record(1000, 1, 12, 12, &[2; 12]);
    build.record(1000, 2, 6, 3, &[3; 6]);
    build.record(1000, 3, 0, 0, &[]);
    build.record(1000, 4, 4, 4, &[4; 4]);
    let (frames, info) = read(&build.bytes);
    assert_eq!(frames.iter().map(|frame| frame.bytes.len()).collect::<Vec<_>>(), [4, 12, 6, 0, 4]);
    assert_eq!(frames[2].wire_len, 6);
    let problems: Vec<_> = info.problems.iter().map(|damage| (damage.problem.id(), damage.record)).collect();
    assert_eq!(problems, [("capture.over_snaplen", 1), ("capture.over_wire", 2)]);
    assert_eq!(
        info.problems[1].to_string(),
        "at byte 72, after frame 2: 6 bytes captured of a frame that had 3"
    );
}

#[test]
fn an_absurd_length_loses_one_frame() {
    for says in [0xffff_ffff, 0x4_0001, 0x3_ffff] {
        let mut build = Build::pcap(false, 0xa1b2_3c4d, 65535, 1);
        for n in 0..20 {
            build.record(1000 + n, 0, if n == 7 { says } else { 50 }, 50, &[n as u8; 50]);
        }
        let (frames, info) = read(&build.bytes);
        let seen: Vec<u8> = frames.iter().map(|frame| frame.bytes[0]).collect();
        let left: Vec<u8> = (0..20).filter(|&n| n != 7).collect();
        assert_eq!(seen, left, "{says:#x}");
        assert_eq!((info.problem_count, info.problems[0].skipped, info.problems[0].fatal), (1, 66, false));
        assert_eq!((info.problems[0].offset, info.problems[0].record), (24 + 7 * 66, 7));
    }
}

#[test]
fn what_cannot_be_found_again_ends_the_reading() {
    let mut build = Build::pcap(false, 0xa1b2_c3d4, 65535, 1);
    build.record(1000, 0, 4, 4, &[1; 4]).raw(&vec![0xee; 3 << 20]);
    let (frames, info) = read(&build.bytes);
    assert_eq!((frames.len(), info.problem_count), (1, 1));
    assert!(info.problems[0].fatal);
    assert!(info.problems[0].to_string().ends_with("nothing after it can be read"));
}

#[test]
fn pcapng_blocks_that_lie_are_passed_over() {
    let start = || {
        let mut build = Build::new(false);
        build.section().interface(1, 0, &[]).packet(0, 1, &[1; 8], 8, &[]);
        build
    };
    let after = |build: &mut Build| {
        build.packet(0, 2, &[2; 8], 8, &[]).packet(0, 3, &[3; 8], 8, &[]);
    };
    type Lie = (&'static str, fn(&mut Build) -> &mut Build);
    let lies: &[Lie] = &[
        ("capture.block_length", |build| build.u32(6).u32(7).u32(0)),
        ("capture.block_length", |build| build.u32(0).u32(0).u32(0)),
        ("capture.block_length", |build| build.u32(6).u32(33).raw(&[0; 25])),
        ("capture.absurd", |build| build.u32(6).u32(0xffff_fff0).raw(&[9; 40])),
        ("capture.block_end", |build| build.u32(5).u32(24).raw(&[9; 12]).u32(25)),
        ("capture.no_interface", |build| build.packet(7, 1, &[1], 1, &[])),
        ("capture.section", |build| build.u32(0x0a0d_0d0a).u32(28).raw(&[0; 20])),
        ("capture.options", |build| build.block(5, |body| body.u32(0).u64(0).u16(5).u16(999))),
    ];
    for (id, lie) in lies {
        let mut build = start();
        lie(&mut build);
        after(&mut build);
        let (frames, info) = read(&build.bytes);
        let seen: Vec<u8> = frames.iter().map(|frame| frame.bytes[0]).collect();
        assert_eq!(seen, [1, 2, 3], "{id}: {:?}", info.problems);
        assert_eq!(info.problems[0].problem.id(), *id);
        assert!(!info.problems[0].fatal);
    }
    // A frame longer than its block: what there is.
    let mut build = start();
    build.block(6, |body| body.u32(0).u64(0).u32(100).u32(200).raw(&[5; 8]));
    after(&mut build);
    let (frames, info) = read(&build.bytes);
    assert_eq!((frames.len(), frames[1].bytes.len(), frames[1].wire_len), (4, 8, 200));
    assert_eq!(info.problems[0].problem, Problem::BlockFrame { captured: 100, room: 8 });
}

#[test]
fn a_long_unknown_block_is_not_held() {
    // 64 MiB of a block nobody knows, of which no more than a window can be in memory.
    let body = 64u32 << 20;
    let mut head = Build::new(false);
    head.section().interface(1, 0, &[]).u32(0x7777).u32(body + 12);
    let mut tail = Build::new(false);
    tail.u32(body + 12).packet(0, 2, &[2; 8], 8, &[]);
    let bytes =
        Cursor::new(head.bytes).chain(io::repeat(0xaa).take(body.into())).chain(Cursor::new(tail.bytes));
    let (frames, info) = drain(Reader::from_read(bytes, "test").unwrap());
    assert_eq!((frames.len(), info.skipped, info.problem_count), (1, 1, 0));
}

#[test]
fn damage_is_counted_but_not_kept_without_bound() {
    let mut build = Build::pcap(false, 0xa1b2_c3d4, 65535, 1);
    for _ in 0..1000 {
        build.record(1000, 0, 4, 3, &[1; 4]);
    }
    let (frames, info) = read(&build.bytes);
    assert_eq!((frames.len(), info.problem_count, info.problems.len()), (1000, 1000, MAX_PROBLEMS));
    // A section of very many interfaces.
    let mut build = Build::new(false);
    build.section();
    for _ in 0..70_000 {
        build.interface(1, 0, &[]);
    }
    build.packet(65_535, 0, &[1], 1, &[]).packet(65_536, 0, &[1], 1, &[]);
    let (frames, info) = read(&build.bytes);
    assert_eq!((frames.len(), info.interfaces.len()), (1, 65_536));
    assert_eq!(frames[0].interface, 65_535);
}

/// Searching on costs no more for very many damages than for one.
#[test]
fn very_many_damages_take_little_time() {
    let mut pcap = Build::pcap(false, 0xa1b2_c3d4, 65535, 1);
    let mut pcapng = Build::new(false);
    pcapng.section().interface(1, 0, &[]);
    for n in 0..30_000 {
        pcap.record(1000, 0, u32::MAX, 0, &[0xee; 20]);
        pcapng.u32(6).u32(u32::MAX - n % 5).raw(&[0xee; 20]);
        for _ in 0..4 {
            pcap.record(1000, 0, 4, 4, &[1; 4]);
            pcapng.packet(0, 1, &[1; 4], 4, &[]);
        }
    }
    let start = Instant::now();
    for build in [pcap, pcapng] {
        let (frames, info) = read(&build.bytes);
        assert_eq!((frames.len(), info.problem_count), (120_000, 30_000));
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

/// Records that contradict themselves, and no others: each is delivered, and few of them are searched behind.
#[test]
fn very_many_implausible_records_take_little_time() {
    let mut build = Build::pcap(false, 0xa1b2_c3d4, 65535, 1);
    for n in 0..300_000 {
        build.record(1 << 28 << (n % 3), 0, 1, 0, &[7]);
    }
    let start = Instant::now();
    let (frames, info) = drain(Reader::from_read(Cursor::new(build.bytes), "test").unwrap());
    assert_eq!((frames.len(), info.problem_count), (300_000, 300_000));
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// Blocks that say they are as long as a block may be: each is looked for, and none is there.
#[test]
fn very_many_long_blocks_take_little_time() {
    let mut build = Build::new(false);
    build.section().interface(1, 0, &[]);
    let said = (16 << 20) - 84;
    for _ in 0..600_000 {
        build.u32(6).u32(said).u32(0).packet(0, 1, &[1; 4], 4, &[]);
    }
    let start = Instant::now();
    let (frames, info) = drain(Reader::from_read(Cursor::new(build.bytes), "test").unwrap());
    assert_eq!((frames.len(), info.problem_count), (600_000, 600_000));
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// ERF has no magic number. Where the times of its first records do not tell, the name does.
#[test]
fn erf_of_any_time_is_known_by_its_name() {
    let dir = Scratch::new("erf");
    for times in
        [[0, 1], [0, 1_700_000_000_000_000_000], [1_700_000_000_000_000_000, 4_000_000_000_000_000_000]]
    {
        let mut frames = frames(2);
        (frames[0].time, frames[1].time) = (times[0], times[1]);
        let bytes = ethernet(Format::Erf, &frames);
        let error = capture::open(&dir.file("x", &bytes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unknown, "bytes alone do not tell");
        assert!(
            error.to_string().contains("ERF with unusual times only if its name ends in .erf"),
            "{error}"
        );
        let (some, info) = drain(capture::open(&dir.file("x.erf", &bytes)).unwrap());
        assert_eq!((info.format, some.len(), info.problem_count), (Format::Erf, 2, 0));
        assert_eq!([some[0].time, some[1].time], times);
        #[cfg(feature = "compression")]
        for (name, packed) in
            [("x.erf.gz", compressed::gzip(&bytes)), ("x.erf.zst", compressed::zstd(&bytes))]
        {
            let (again, _) = drain(capture::open(&dir.file(name, &packed)).unwrap());
            assert_eq!(again, some);
        }
        let cut = &bytes[..bytes.len() - 10];
        let (some, info) = drain(capture::open(&dir.file("cut.erf", cut)).unwrap());
        assert_eq!((some.len(), info.problems[0].problem.id()), (1, "capture.cut_record"));
    }
    // The name does not make it one.
    let pcap = ethernet(Format::Pcap, &frames(2));
    assert_eq!(drain(capture::open(&dir.file("x.erf", &pcap)).unwrap()).1.format, Format::Pcap);
    for other in [&b"this is text, whatever its name says it is"[..], &[0; 100], &[0xff; 100]] {
        assert_eq!(capture::open(&dir.file("x.erf", other)).unwrap_err().kind(), ErrorKind::Unknown);
    }
}

/// Any bytes at all, in files that begin well: no panic, no endless loop, and nothing from behind the damage first.
#[test]
fn damaged_bytes_end_well() {
    let mut random = Random::new(1);
    let mut next = move || random.next();
    for format in [Format::Pcap, Format::Pcapng, Format::Erf] {
        let whole = ethernet(format, &frames(30));
        let (all, _) = read(&whole);
        let start = Instant::now();
        for _ in 0..2000 {
            let mut bytes = whole.clone();
            let at = next() as usize % bytes.len();
            for byte in bytes[at..].iter_mut().take(1 + next() as usize % 8) {
                *byte = [0, 0xff, 0x7f, next() as u8][next() as usize % 4];
            }
            let (some, info) = read_any(&bytes);
            let intact = all.iter().zip(&some).take_while(|(one, other)| one == other).count() as u64;
            if let Some(damage) = info.problems.first() {
                assert!(damage.record <= intact + 2, "{format}: {damage}");
            }
            assert!(some.iter().all(|frame| frame.wire_len as usize >= frame.bytes.len()));
            assert!(some.len() <= bytes.len() / 16);
        }
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}

#[cfg(feature = "compression")]
mod compressed {
    use std::io::Write;

    use rdmawire::capture::Compression;

    use super::*;

    pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    pub(super) fn zstd(bytes: &[u8]) -> Vec<u8> {
        ::zstd::encode_all(bytes, 1).unwrap()
    }

    #[test]
    fn compressed_files_read_as_the_files_in_them() {
        let frames = frames(3000);
        let plain = ethernet(Format::Pcap, &frames);
        for (pack, compression) in
            [(gzip as fn(&[u8]) -> Vec<u8>, Compression::Gzip), (zstd, Compression::Zstd)]
        {
            // Several members, split within a frame.
            let parts: Vec<u8> = plain.chunks(100_001).flat_map(pack).collect();
            let dir = Scratch::new("capture");
            let (some, info) = drain(capture::open(&dir.file("capture", &parts)).unwrap());
            assert!(some == frames);
            assert_eq!((info.compression, info.problem_count), (compression, 0));
            assert_eq!((info.bytes_read, info.total_bytes), (parts.len() as u64, Some(parts.len() as u64)));
            let (some, _) = drain(Reader::from_read(Drip(Cursor::new(parts), 1000), "-").unwrap());
            assert!(some == frames);
        }
    }

    #[test]
    fn a_name_says_how_it_is_written() {
        let frames = frames(500);
        for (name, compression) in [("x.pcap.gz", Compression::Gzip), ("x.pcap.zst", Compression::Zstd)] {
            let dir = Scratch::new("capture");
            let mut writer = capture::create(&dir.join(name), Format::Pcap, &[], Options::default()).unwrap();
            frames.iter().for_each(|frame| writer.put(&frame.record()).unwrap());
            writer.finish().unwrap();
            let (some, info) = drain(capture::open(&dir.join(name)).unwrap());
            assert!(some == frames);
            assert_eq!(info.compression, compression);
        }
    }

    #[test]
    fn compressed_data_cut_or_damaged_gives_what_is_before() {
        let frames = frames(3000);
        let plain = ethernet(Format::Pcap, &frames);
        for pack in [gzip, zstd] {
            let packed = pack(&plain);
            for cut in (0..packed.len()).step_by(packed.len() / 50 + 1) {
                let (some, info) = read_any(&packed[..cut]);
                assert!(frames.starts_with(&some));
                if let Some(damage) = info.problems.last() {
                    assert!(damage.fatal && matches!(damage.problem, Problem::Compressed { .. }), "{damage}");
                }
            }
        }
        // Something else behind the last member is said, and costs nothing.
        let (some, info) = read_any(&[gzip(&plain), b"garbage behind it".to_vec()].concat());
        assert!(some == frames && info.problem_count == 1);
    }

    #[test]
    fn bombs_go_off_in_a_small_room() {
        // 256 MiB of zeros: no capture.
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::copy(&mut io::repeat(0).take(256 << 20), &mut encoder).unwrap();
        let bomb = encoder.finish().unwrap();
        let error = Reader::from_read(Cursor::new(bomb), "bomb").unwrap_err();
        assert_eq!(error.to_string(), "bomb: begins with zeros, which is not read; pcap, pcapng and ERF are");
        // A capture of 64 MiB of empty frames.
        let mut encoder = ::zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.write_all(&Build::pcap(false, 0xa1b2_c3d4, 65535, 1).bytes).unwrap();
        io::copy(&mut io::repeat(0).take(64 << 20), &mut encoder).unwrap();
        let mut reader = Reader::from_read(Cursor::new(encoder.finish().unwrap()), "bomb").unwrap();
        while reader.next().unwrap().is_some() {}
        assert_eq!((reader.info().frames, reader.info().problem_count), (4 << 20, 0));
        let twice = Reader::from_read(Cursor::new(gzip(&zstd(b"whatever"))), "twice").unwrap_err();
        assert_eq!(twice.to_string(), "twice: is compressed twice, which is not read");
    }
}

#[test]
fn what_is_no_capture_says_so_in_a_line() {
    let dir = Scratch::new("capture");
    let failed = |path: PathBuf| -> Error { capture::open(&path).unwrap_err() };
    let cases: &[(&[u8], ErrorKind, &str)] = &[
        (b"", ErrorKind::Empty, "is empty"),
        (b"hello world, this is text\nand more\n", ErrorKind::Unknown, "looks like text"),
        (b"x", ErrorKind::Unknown, "looks like text"),
        (
            b"TRSNIFF data    \x1a and more",
            ErrorKind::Unknown,
            "looks like a Network General Sniffer capture (.cap)",
        ),
        (b"XCP\x002.000\0\0\0\0", ErrorKind::Unknown, "looks like a NetXRay"),
        (b"\x7fELF\x02\x01\x01\0", ErrorKind::Unknown, "looks like an ELF program"),
        (b"\xfd7zXZ\0", ErrorKind::Unknown, "is compressed with xz"),
        (
            b"\x9a\x01\xff\xfe\x99\x99",
            ErrorKind::Unknown,
            "is no capture file of a known kind (it begins with 9a 01",
        ),
    ];
    for (bytes, kind, text) in cases {
        let path = dir.file("x", bytes);
        let error = failed(path.clone());
        assert_eq!(error.kind(), *kind, "{error}");
        let line = error.to_string();
        assert!(line.starts_with(&format!("{}: {text}", path.display())) && !line.contains('\n'), "{line}");
    }
    assert_eq!(failed(dir.join("nothing")).kind(), ErrorKind::NotFound);
    assert_eq!(failed(dir.to_path_buf()).kind(), ErrorKind::Directory);
}

#[test]
fn a_file_that_shrinks_is_an_error() {
    let dir = Scratch::new("capture");
    let path = dir.file("x", &ethernet(Format::Pcap, &frames(40_000)));
    let len = fs::metadata(&path).unwrap().len();
    let options = Options { window: 1 << 16, ..Options::default() };
    let mut reader = capture::open_with(&path, &options).unwrap();
    assert!(reader.next().unwrap().is_some());
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len / 2).unwrap();
    let error = loop {
        match reader.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it ended as if nothing had happened"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Shrunk);
    assert!(reader.info().frames > 10_000);
}

#[test]
fn a_file_is_whole_or_not_there() {
    let dir = Scratch::new("capture");
    let path = dir.join("x");
    let create = |force| capture::create(&path, Format::Pcap, &[], Options { force, ..Options::default() });
    let listed = || fs::read_dir(&*dir).unwrap().count();
    let mut writer = create(false).unwrap();
    writer.put(&frames(1)[0].record()).unwrap();
    assert!(!path.exists());
    drop(writer);
    assert_eq!(listed(), 0, "nothing is left of it");
    // Taken by someone else in the meantime.
    let mut writer = create(false).unwrap();
    fs::write(&path, "mine").unwrap();
    assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::Exists);
    drop(writer);
    assert_eq!((listed(), fs::read(&path).unwrap()), (1, b"mine".to_vec()));
    assert_eq!(create(false).unwrap_err().kind(), ErrorKind::Exists);
    let mut writer = create(true).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    writer.finish().unwrap();
    assert_eq!((listed(), fs::metadata(&path).unwrap().len()), (1, 24));
}

#[cfg(unix)]
#[test]
fn a_pipe_that_is_closed_is_told_from_other_errors() {
    let dir = Scratch::new("capture");
    let path = dir.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let other_end = path.clone();
    let reading =
        std::thread::spawn(move || fs::File::open(other_end).unwrap().read_exact(&mut [0; 10]).unwrap());
    let mut writer = capture::create(&path, Format::Pcap, &[], Options::default()).unwrap();
    let frames = frames(100);
    let error =
        (0..10_000).flat_map(|_| &frames).find_map(|frame| writer.put(&frame.record()).err()).unwrap();
    assert!(error.is_broken_pipe(), "{error}");
    reading.join().unwrap();
}

#[test]
fn a_merge_is_in_the_order_of_time() {
    let all = frames(999);
    let part = |keep: usize| -> Vec<Frame> {
        all.iter().enumerate().filter(|(n, _)| n % 3 == keep).map(|(_, frame)| frame.clone()).collect()
    };
    for window in [0, 10_000_000] {
        let readers: Vec<Reader> = (0..3)
            .map(|keep| {
                let mut part = part(keep);
                if window > 0 {
                    // Neighbours change places: three milliseconds apart.
                    part.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
                }
                Reader::from_read(Cursor::new(ethernet(Format::Pcap, &part)), "part").unwrap()
            })
            .collect();
        let (merged, info) = drain(Merge::with_window(readers, window));
        assert_eq!(info.interfaces.len(), 3);
        for (n, (is, was)) in merged.iter().zip(&all).enumerate() {
            assert_eq!((is.time, &is.bytes, usize::from(is.interface)), (was.time, &was.bytes, n % 3));
        }
        assert_eq!(merged.len(), all.len());
    }
    // Decoder of one time keep the order of the files.
    let readers = (1..=3u8).map(|n| {
        let frame = Frame { bytes: vec![n], ..frames(1)[0].clone() };
        Reader::from_read(Cursor::new(ethernet(Format::Pcap, &[frame.clone(), frame])), "part").unwrap()
    });
    let (merged, _) = drain(Merge::new(readers.collect()));
    assert_eq!(merged.iter().map(|frame| frame.bytes[0]).collect::<Vec<_>>(), [1, 1, 2, 2, 3, 3]);
}
