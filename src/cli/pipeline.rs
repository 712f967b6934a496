//! One file on several threads. What can be known of a frame by itself, its headers and its ICRC, is found out on all of them;
//! the caller tracks in the order of the file. What it sees does not depend on the number of threads, so neither does the
//! report.
//!
//! A file on disk is read in [parts](parts), each by whoever has time. What can only be read in its order, decompressed or from
//! several files, one thread reads:
//!
//! ```text
//! reader --batch--> worker 0 --batch--> caller, batch by batch in turns
//!        --batch--> worker 1 -->
//!   ^----------------- empty batches ------'
//! ```
//! With two threads there is no worker, and whoever has time prepares: the reader hands frames on as they are when the
//! caller is about to run out of them, and else prepares them while they are in its cache. Frames are not copied: batches
//! hold on to the buffers they were read into.
//!
//! Tracking is serial, as long as a path and a connection join flows; and so is reading where it goes in order. Shares of
//! one thread's time, and what is left by Amdahl's law when the shared part takes no time at all:
//!
//! | | reading | headers, ICRC | tracking, report | 32 cores gain at most, in parts | in order |
//! |---|---|---|---|---|---|
//! | 128 bytes of each frame | 24 % | 11 % | 65 % | 1.5 | 1.5 |
//! | full frames of 1 KiB | 49 % | 22 % | 29 % | 3.4 | 2.0 |
//! | full frames of 4 KiB | 58 % | 27 % | 16 % | 6.3 | 1.7 |
//!
//! What one core hands to another takes longer than most of what is done with it: a thread that only read ahead, and handed
//! the bytes on, made it 1.9 times as long for full frames. So the bytes of a part stay with the core that read them, which
//! reads the next part over them; what is handed on are the 64 bytes that are known of each frame. Files by themselves share
//! nothing.

mod parts;

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, Thread},
};

use rdmawire::{
    analyze::{Known, Options, Prepared, PreparedWrapped},
    capture::{Buffer, Error, Info, Interface, Lent, Record, Source, Time},
    dissect::Link,
    icrc::State,
};

/// Bytes and frames after which a batch is handed on: it stays in a core's second-level cache. Where it was a quarter, two threads
/// took up to a twentieth more time for a compressed file, and more than there are cores a tenth to a third.
const BYTES: usize = 512 << 10;
const FRAMES: usize = 4096;
/// Batches that wait for the caller where there is no worker in between: with so many, the reader sleeps, until there are
/// so few. Waking it for every batch takes the caller's time.
const MOST: usize = 24;
const FEW: usize = 16;
/// With fewer than these, the caller is about to wait: it gets frames that are not prepared.
const ENOUGH: usize = 20;
/// More workers than these have nothing to do: a reader is not that fast.
const MAX_WORKERS: usize = 16;

/// Bytes of a file that must come as parts before it is worth to go on in parts.
const WORTH: u64 = 1 << 20;

/// Cores that there are, asked once: the system has files to be read for it.
pub(super) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, |cores| cores.get()))
}

/// Frames in their order: those prepared, and the others in between.
#[derive(Default)]
struct Batch {
    /// Bytes of frames that could not be held on to where they were read, and the buffers of the others.
    bytes: Vec<u8>,
    buffers: Vec<Buffer>,
    prepared: Vec<Prepared>,
    /// With their numbers in the batch.
    wrapped: Vec<(usize, PreparedWrapped)>,
    others: Vec<Frame>,
    /// How many these are, and the bytes of all.
    count: usize,
    len: usize,
    /// Interfaces that were new with the last frame, and the number of the first of them.
    interfaces: Vec<Interface>,
    from: usize,
    progress: u64,
}

#[derive(Clone, Copy)]
struct Frame {
    time: Time,
    link: Link,
    interface: u16,
    /// Index among the batch's buffers; of those copied, one that none has.
    buffer: u16,
    /// If it is known.
    icrc: Option<State>,
    wire_len: u32,
    len: u32,
    at: usize,
    /// Its number in the batch.
    number: usize,
}

/// Where frames are that were copied.
const COPIED: u16 = u16::MAX;

/// What happens in a file, in its order.
pub(super) enum Step<'a> {
    /// Frames of which all is known that can be, one after the other.
    Packets(&'a [Prepared]),
    /// Another such frame.
    Wrapped(&'a PreparedWrapped),
    /// Another, and what became of its ICRC if that was found out already.
    Frame(&'a Record<'a>, Option<State>),
    /// Interfaces became known, from this number on.
    Interfaces(usize, &'a [Interface]),
    /// So many bytes of the file are read.
    Progress(u64),
}

/// Shows all of a source to `see`. `threads` work on it, this one included; at least two do. With `whole`, all frames are shown
/// with their bytes, otherwise those of which not [all](Prepared) is known without.
pub(super) fn run(
    source: &mut (impl Source + Send),
    options: &Options,
    threads: usize,
    whole: bool,
    stop: &AtomicBool,
    mut see: impl FnMut(Step<'_>),
) -> Result<(), Error> {
    let preparing = Preparing { options, whole };
    let mut known = 0;
    loop {
        // The first of the file, or what parts ended at, and so the last if it is there.
        match source.next()? {
            Some(record) => see(Step::Frame(&record, None)),
            None => return Ok(()),
        }
        let interfaces = &source.info().interfaces;
        if interfaces.len() != known {
            see(Step::Interfaces(known, &interfaces[known..]));
            known = interfaces.len();
        }
        let Some(parts) = source.parts() else { break };
        let walk = parts::run(&parts, preparing, threads, stop, &mut see);
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        source.go_on(&walk)?;
        // Where much is odd, frames come in their order sooner.
        if walk.at() - parts.start().at() < WORTH {
            break;
        }
    }
    in_order(source, known, preparing, threads, stop, see)
}

/// Goes on with a source that one thread reads, of which so many interfaces are known.
fn in_order(
    source: &mut (impl Source + Send),
    known: usize,
    preparing: Preparing<'_>,
    threads: usize,
    stop: &AtomicBool,
    mut see: impl FnMut(Step<'_>),
) -> Result<(), Error> {
    let workers = threads.saturating_sub(2).min(MAX_WORKERS);
    let waiting = Waiting::default();
    thread::scope(|scope| {
        let (recycle, empty) = sync_channel::<Batch>(3 * workers + MOST + 2);
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let (sender, batches) = sync_channel::<Batch>(1);
            let (done, prepared) = sync_channel::<Batch>(1);
            scope.spawn(move || work(&batches, &done, preparing));
            to.push(sender);
            from.push(prepared);
        }
        if workers == 0 {
            let (done, prepared) = sync_channel::<Batch>(MOST);
            to.push(done);
            from.push(prepared);
        }
        let waiting_here = (workers == 0).then_some(&waiting);
        let reader = scope.spawn(move || read(source, known, preparing, waiting_here, &to, &empty, stop));
        let gone = Gone { waiting: &waiting, reader: reader.thread() };
        // In turns, as the reader deals them.
        'all: loop {
            for prepared in &from {
                let Ok(mut batch) = prepared.recv() else { break 'all };
                if workers == 0 {
                    waiting.taken(reader.thread());
                }
                batch.show(&batch.bytes, &mut see);
                see(Step::Progress(batch.progress));
                batch.clear();
                let _ = recycle.try_send(batch);
            }
        }
        drop((from, gone));
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Batches that the caller has not come to, where they come from the reader itself.
#[derive(Default)]
struct Waiting(AtomicUsize);

impl Waiting {
    fn are_enough(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= ENOUGH
    }

    /// Before the reader makes one more.
    fn add(&self) {
        if self.0.load(Ordering::Relaxed) >= MOST {
            while self.0.load(Ordering::Acquire) > FEW {
                thread::park();
            }
        }
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The caller has come to one.
    fn taken(&self, reader: &Thread) {
        if self.0.fetch_sub(1, Ordering::Release) == FEW + 1 {
            reader.unpark();
        }
    }
}

/// Wakes the reader when the caller goes, if only by a panic.
struct Gone<'a> {
    waiting: &'a Waiting,
    reader: &'a Thread,
}

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.waiting.0.store(0, Ordering::Release);
        self.reader.unpark();
    }
}

/// How frames are prepared.
#[derive(Clone, Copy)]
struct Preparing<'a> {
    options: &'a Options,
    whole: bool,
}

impl Preparing<'_> {
    #[inline(always)]
    fn prepare(self, record: &Record<'_>) -> Known {
        match self.options.prepare(record) {
            known if self.whole => Known::Icrc(known.icrc()),
            known => known,
        }
    }
}

fn read(
    source: &mut impl Source,
    mut known: usize,
    preparing: Preparing<'_>,
    // Where there is no worker: frames are prepared here when the caller has enough to do.
    waiting: Option<&Waiting>,
    to: &[SyncSender<Batch>],
    empty: &Receiver<Batch>,
    stop: &AtomicBool,
) -> Result<(), Error> {
    // Frames that would have to be copied are better prepared at once.
    let mut is_lending = true;
    for worker in to.iter().cycle() {
        let mut batch = empty.try_recv().unwrap_or_default();
        let prepares = waiting.is_some_and(|waiting| !is_lending || waiting.are_enough());
        let end = loop {
            match source.next_lent() {
                Ok(Some(lent)) if prepares => {
                    if let Some(icrc) = batch.push_known(preparing.prepare(&lent.record), &lent.record) {
                        batch.push(&lent, Some(icrc));
                    }
                }
                Ok(Some(lent)) => {
                    is_lending = lent.place.is_some();
                    batch.push(&lent, None);
                }
                Ok(None) => break Some(Ok(())),
                Err(error) => break Some(Err(error)),
            }
            if source.info().interfaces.len() != known {
                batch.name(source.info(), known);
                known = source.info().interfaces.len();
                break None;
            }
            if batch.is_full() {
                break None;
            }
        };
        batch.progress = source.info().bytes_read;
        waiting.inspect(|waiting| waiting.add());
        if worker.send(batch).is_err() {
            return Ok(());
        }
        match end {
            Some(result) => return result,
            None if stop.load(Ordering::Relaxed) => return Ok(()),
            None => {}
        }
    }
    Ok(())
}

fn work(batches: &Receiver<Batch>, done: &SyncSender<Batch>, preparing: Preparing<'_>) {
    while let Ok(mut batch) = batches.recv() {
        batch.prepare(preparing);
        if done.send(batch).is_err() {
            return;
        }
    }
}

impl Batch {
    /// Takes what is known of a frame, or gives back what became of its ICRC: then the frame is needed.
    #[inline(always)]
    fn push_known(&mut self, known: Known, record: &Record<'_>) -> Option<State> {
        match known {
            Known::Plain(prepared) => self.prepared.push(prepared),
            Known::Wrapped(wrapped) => self.wrapped.push((self.count, wrapped)),
            Known::Icrc(icrc) => return Some(icrc),
        }
        self.count += 1;
        self.len += record.frame.len();
        None
    }

    #[inline]
    fn push(&mut self, lent: &Lent<'_>, icrc: Option<State>) {
        let (buffer, at) = match lent.place {
            Some((buffer, at)) => {
                if !self.buffers.last().is_some_and(|last| last.is(buffer)) {
                    self.buffers.push(buffer.clone());
                }
                (self.buffers.len() as u16 - 1, at)
            }
            None => {
                let at = self.bytes.len();
                self.bytes.extend_from_slice(lent.record.frame);
                (COPIED, at)
            }
        };
        self.push_at(&lent.record, buffer, at, icrc);
    }

    #[inline]
    fn push_at(&mut self, record: &Record<'_>, buffer: u16, at: usize, icrc: Option<State>) {
        let &Record { time, link, interface, wire_len, frame } = record;
        let (len, number) = (frame.len() as u32, self.count);
        self.count += 1;
        self.len += frame.len();
        self.others.push(Frame { time, link, interface, buffer, icrc, wire_len, len, at, number });
    }

    /// A batch keeps its buffers from being read into: they are not to be many.
    fn is_full(&self) -> bool {
        self.len >= BYTES || self.count >= FRAMES || self.buffers.len() > 1
    }

    fn name(&mut self, info: &Info, from: usize) {
        self.interfaces.extend(info.interfaces.iter().skip(from).cloned());
        self.from = from;
    }

    /// Prepares frames of which none is.
    fn prepare(&mut self, preparing: Preparing<'_>) {
        let mut others = std::mem::take(&mut self.others);
        let mut prepared = std::mem::take(&mut self.prepared);
        let mut wrapped = std::mem::take(&mut self.wrapped);
        others.retain_mut(|frame| {
            match preparing.prepare(&self.record(frame, &self.bytes)) {
                Known::Plain(packet) => prepared.push(packet),
                Known::Wrapped(packet) => wrapped.push((frame.number, packet)),
                Known::Icrc(icrc) => frame.icrc = Some(icrc),
            }
            frame.icrc.is_some()
        });
        (self.others, self.prepared, self.wrapped) = (others, prepared, wrapped);
    }

    fn record<'a>(&'a self, frame: &Frame, bytes: &'a [u8]) -> Record<'a> {
        let &Frame { time, link, interface, buffer, wire_len, len, at, .. } = frame;
        let bytes = self.buffers.get(buffer as usize).map_or(bytes, |buffer| buffer);
        Record {
            time,
            link,
            interface,
            wire_len,
            frame: bytes.get(at..at + len as usize).unwrap_or_default(),
        }
    }

    /// `bytes` are those of the frames that no buffer holds.
    fn show(&self, bytes: &[u8], see: &mut impl FnMut(Step<'_>)) {
        let mut prepared = &self.prepared[..];
        let (mut wrapped, mut others) = (self.wrapped.iter().peekable(), self.others.iter().peekable());
        let mut shown = 0;
        while shown < self.count {
            let next_wrapped = wrapped.peek().map_or(self.count, |(number, _)| *number);
            let next_other = others.peek().map_or(self.count, |frame| frame.number);
            let next = next_wrapped.min(next_other);
            let (packets, later) = prepared.split_at(next - shown);
            see(Step::Packets(packets));
            prepared = later;
            if let Some((_, packet)) = wrapped.next_if(|_| next == next_wrapped) {
                see(Step::Wrapped(packet));
            } else if let Some(frame) = others.next() {
                see(Step::Frame(&self.record(frame, bytes), frame.icrc));
            }
            shown = next + 1;
        }
        if !self.interfaces.is_empty() {
            see(Step::Interfaces(self.from, &self.interfaces));
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.buffers.clear();
        self.prepared.clear();
        self.wrapped.clear();
        self.others.clear();
        self.interfaces.clear();
        (self.count, self.len) = (0, 0);
    }
}
