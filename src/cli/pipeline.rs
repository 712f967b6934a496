//! One file on several threads. All threads parse headers and verify ICRCs, which needs one frame only; the caller tracks
//! flows in the order of the file. What it gets does not depend on the number of threads, so the report does not either.
//!
//! A file on disk is read in [parts](parts), each by the next free thread. A compressed file, or several merged files, must be
//! read in order, by one thread:
//!
//! ```text
//! reader --batch--> worker 0 --batch--> caller, batch by batch in turns
//!        --batch--> worker 1 -->
//!   ^----------------- empty batches ------'
//! ```
//! With two threads there is no worker. The reader hands frames on unprepared if the caller is about to run out of them; else
//! it prepares them while they are in its cache. Frames are not copied: batches hold the buffers they were read into.
//!
//! Tracking is serial, since paths and connections join flows. That bounds what more cores gain on one file (Amdahl's law);
//! several files share nothing.
//!
//! To hand bytes from one core to another costs more than most of the work on them. So a part stays in the cache of the core
//! that read it; only the 64 bytes that are known of each frame are handed on.

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
    analyze::{EncapPacket, FastPacket, Glimpse, Looked, Options},
    capture::{Buffer, Error, Info, Interface, Record, SharedRecord, Source, Time},
    dissect::Link,
    icrc::State,
};

/// Bytes and frames after which a batch is handed on: so much fits into a core's second-level cache.
const BYTES: usize = 512 << 10;
const FRAMES: usize = 4096;
/// Without workers, the reader sleeps when so many batches wait for the caller, until so few are left: to wake it for every
/// batch would take the caller's time.
const MOST: usize = 24;
const FEW: usize = 16;
/// With fewer waiting batches the caller is about to run out of them, and gets frames that are not prepared.
const ENOUGH: usize = 20;
/// The reader is not fast enough for more workers.
const MAX_WORKERS: usize = 16;

/// If fewer bytes of a file came in parts before a record that ended them, the rest is read in order.
const WORTH: u64 = 1 << 20;

/// Number of cores. Asked once: the system reads files for it.
pub(super) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, |cores| cores.get()))
}

/// Frames in order: those prepared, and the others between them.
#[derive(Default)]
struct Batch {
    /// Bytes of frames that were copied, and the shared buffers of the others.
    bytes: Vec<u8>,
    buffers: Vec<Buffer>,
    prepared: Vec<FastPacket>,
    /// What was glimpsed of prepared frames, with their numbers in the batch.
    glimpses: Vec<(usize, Glimpse)>,
    /// With their numbers in the batch.
    encap: Vec<(usize, EncapPacket)>,
    others: Vec<Frame>,
    /// Number of frames, and their bytes.
    count: usize,
    len: usize,
    /// Interfaces that came with the last frame, and the first one's number.
    interfaces: Vec<Interface>,
    from: usize,
    progress: u64,
}

#[derive(Clone, Copy)]
struct Frame {
    time: Time,
    link: Link,
    interface: u16,
    /// Index among the batch's buffers, or [`COPIED`].
    buffer: u16,
    /// What is known of its ICRC.
    icrc: Option<State>,
    wire_len: u32,
    len: u32,
    at: usize,
    /// Its number in the batch.
    number: usize,
}

/// The frame was copied, into the batch's bytes.
const COPIED: u16 = u16::MAX;

/// What a file contains, in its order.
pub(super) enum Step<'a> {
    /// Prepared frames, one after the other, and what was glimpsed of some of them, with their places.
    Packets(&'a [FastPacket], &'a [(usize, Glimpse)]),
    /// A prepared frame in an encapsulation, and what was glimpsed of it.
    Encap(&'a EncapPacket, Option<&'a Glimpse>),
    /// Any other frame, and the state of its ICRC if that is known.
    Frame(&'a Record<'a>, Option<State>),
    /// New interfaces, from this number on.
    Interfaces(usize, &'a [Interface]),
    /// Bytes of the file read so far.
    Progress(u64),
}

/// Hands all of a source to the callback. `threads` work on it, this one included: at least two. With `whole`, all frames come
/// with their bytes, otherwise only those that could not be [prepared](FastPacket).
pub(super) fn run(
    source: &mut (impl Source + Send),
    options: &Options,
    threads: usize,
    whole: bool,
    stop: &AtomicBool,
    mut on_step: impl FnMut(Step<'_>),
) -> Result<(), Error> {
    let preparing = Preparing { options, whole };
    let mut known = 0;
    loop {
        // The file's first frame, or the record that ended the parts.
        match source.next()? {
            Some(record) => on_step(Step::Frame(&record, None)),
            None => return Ok(()),
        }
        let interfaces = &source.info().interfaces;
        if interfaces.len() != known {
            on_step(Step::Interfaces(known, &interfaces[known..]));
            known = interfaces.len();
        }
        let Some(parts) = source.parts() else { break };
        let cursor = parts::run(&parts, preparing, threads, stop, &mut on_step);
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        source.resume(&cursor)?;
        // In a badly damaged file parts are short: reading in order is faster.
        if cursor.at() - parts.cursor().at() < WORTH {
            break;
        }
    }
    in_order(source, known, preparing, threads, stop, on_step)
}

/// Continues with a source that one thread reads. `known`: interfaces that are known already.
fn in_order(
    source: &mut (impl Source + Send),
    known: usize,
    preparing: Preparing<'_>,
    threads: usize,
    stop: &AtomicBool,
    mut on_step: impl FnMut(Step<'_>),
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
        let wake = WakeReader { waiting: &waiting, reader: reader.thread() };
        // In turns, as the reader hands them out.
        'all: loop {
            for prepared in &from {
                let Ok(mut batch) = prepared.recv() else { break 'all };
                if workers == 0 {
                    waiting.taken(reader.thread());
                }
                batch.show(&batch.bytes, &mut on_step);
                on_step(Step::Progress(batch.progress));
                batch.clear();
                let _ = recycle.try_send(batch);
            }
        }
        drop((from, wake));
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Number of batches that wait for the caller, if they come from the reader itself.
#[derive(Default)]
struct Waiting(AtomicUsize);

impl Waiting {
    fn are_enough(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= ENOUGH
    }

    /// The reader sends one more; it sleeps first if there are too many.
    fn add(&self) {
        if self.0.load(Ordering::Relaxed) >= MOST {
            while self.0.load(Ordering::Acquire) > FEW {
                thread::park();
            }
        }
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The caller has taken one.
    fn taken(&self, reader: &Thread) {
        if self.0.fetch_sub(1, Ordering::Release) == FEW + 1 {
            reader.unpark();
        }
    }
}

/// Wakes the reader when the caller returns, or panics.
struct WakeReader<'a> {
    waiting: &'a Waiting,
    reader: &'a Thread,
}

impl Drop for WakeReader<'_> {
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
    fn prepare(self, record: &Record<'_>) -> (Looked, Option<Glimpse>) {
        match self.whole {
            true => (Looked::Other(self.options.look(record).icrc()), None),
            false => self.options.look_closely(record),
        }
    }
}

fn read(
    source: &mut impl Source,
    mut known: usize,
    preparing: Preparing<'_>,
    // Without workers: frames are prepared here while the caller has enough to do.
    waiting: Option<&Waiting>,
    to: &[SyncSender<Batch>],
    empty: &Receiver<Batch>,
    stop: &AtomicBool,
) -> Result<(), Error> {
    // If the source does not share its buffers, preparing at once saves the copy.
    let mut is_shared = true;
    for worker in to.iter().cycle() {
        let mut batch = empty.try_recv().unwrap_or_default();
        let prepares = waiting.is_some_and(|waiting| !is_shared || waiting.are_enough());
        let end = loop {
            match source.next_shared() {
                Ok(Some(shared)) if prepares => {
                    if let Some(icrc) = batch.push_known(preparing.prepare(&shared.record), &shared.record) {
                        batch.push(&shared, Some(icrc));
                    }
                }
                Ok(Some(shared)) => {
                    is_shared = shared.place.is_some();
                    batch.push(&shared, None);
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
    /// Takes a prepared frame. If it could not be prepared, returns the state of its ICRC: then the frame itself is needed.
    #[inline(always)]
    fn push_known(&mut self, known: (Looked, Option<Glimpse>), record: &Record<'_>) -> Option<State> {
        if let (Looked::Fast(_) | Looked::Encap(_), Some(glimpse)) = (&known.0, known.1) {
            self.glimpses.push((self.count, glimpse));
        }
        match known.0 {
            Looked::Fast(prepared) => self.prepared.push(prepared),
            Looked::Encap(encap) => self.encap.push((self.count, encap)),
            Looked::Other(icrc) => return Some(icrc),
        }
        self.count += 1;
        self.len += record.frame.len();
        None
    }

    #[inline]
    fn push(&mut self, shared: &SharedRecord<'_>, icrc: Option<State>) {
        let (buffer, at) = match shared.place {
            Some((buffer, at)) => {
                if !self.buffers.last().is_some_and(|last| last.is(buffer)) {
                    self.buffers.push(buffer.clone());
                }
                (self.buffers.len() as u16 - 1, at)
            }
            None => {
                let at = self.bytes.len();
                self.bytes.extend_from_slice(shared.record.frame);
                (COPIED, at)
            }
        };
        self.push_at(&shared.record, buffer, at, icrc);
    }

    #[inline]
    fn push_at(&mut self, record: &Record<'_>, buffer: u16, at: usize, icrc: Option<State>) {
        let &Record { time, link, interface, wire_len, frame } = record;
        let (len, number) = (frame.len() as u32, self.count);
        self.count += 1;
        self.len += frame.len();
        self.others.push(Frame { time, link, interface, buffer, icrc, wire_len, len, at, number });
    }

    /// Buffers that a batch holds cannot be read into, so it holds few.
    fn is_full(&self) -> bool {
        self.len >= BYTES || self.count >= FRAMES || self.buffers.len() > 1
    }

    fn name(&mut self, info: &Info, from: usize) {
        self.interfaces.extend(info.interfaces.iter().skip(from).cloned());
        self.from = from;
    }

    /// Prepares the frames of a batch.
    fn prepare(&mut self, preparing: Preparing<'_>) {
        let mut others = std::mem::take(&mut self.others);
        let mut prepared = std::mem::take(&mut self.prepared);
        let mut encap = std::mem::take(&mut self.encap);
        let mut glimpses = std::mem::take(&mut self.glimpses);
        others.retain_mut(|frame| {
            let (looked, glimpse) = preparing.prepare(&self.record(frame, &self.bytes));
            if let Some(glimpse) = glimpse {
                glimpses.push((frame.number, glimpse));
            }
            match looked {
                Looked::Fast(packet) => prepared.push(packet),
                Looked::Encap(packet) => encap.push((frame.number, packet)),
                Looked::Other(icrc) => frame.icrc = Some(icrc),
            }
            frame.icrc.is_some()
        });
        (self.others, self.prepared, self.encap, self.glimpses) = (others, prepared, encap, glimpses);
    }

    fn record<'a>(&'a self, frame: &Frame, bytes: &'a [u8]) -> Record<'a> {
        let &Frame { time, link, interface, buffer, wire_len, len, at, .. } = frame;
        let bytes = self.buffers.get(buffer as usize).map_or(bytes, |buffer| buffer);
        let frame = bytes.get(at..at + len as usize).unwrap_or_default();
        Record { time, link, interface, wire_len, frame }
    }

    /// `bytes`: where the frames are that no buffer holds.
    fn show(&self, bytes: &[u8], on_step: &mut impl FnMut(Step<'_>)) {
        let mut prepared = &self.prepared[..];
        let (mut encap, mut others) = (self.encap.iter().peekable(), self.others.iter().peekable());
        let mut glimpses = &self.glimpses[..];
        let mut here = Vec::new();
        let mut shown = 0;
        while shown < self.count {
            let next_encap = encap.peek().map_or(self.count, |(number, _)| *number);
            let next_other = others.peek().map_or(self.count, |frame| frame.number);
            let next = next_encap.min(next_other);
            let (packets, later) = prepared.split_at(next - shown);
            let (of_these, rest) = glimpses.split_at(glimpses.partition_point(|(number, _)| *number < next));
            here.clear();
            here.extend(of_these.iter().map(|(number, glimpse)| (number - shown, glimpse.clone())));
            on_step(Step::Packets(packets, &here));
            (prepared, glimpses) = (later, rest);
            if let Some((_, packet)) = encap.next_if(|_| next == next_encap) {
                let glimpse = glimpses.first().filter(|(number, _)| *number == next);
                glimpses = &glimpses[usize::from(glimpse.is_some())..];
                on_step(Step::Encap(packet, glimpse.map(|(_, glimpse)| glimpse)));
            } else if let Some(frame) = others.next() {
                on_step(Step::Frame(&self.record(frame, bytes), frame.icrc));
            }
            shown = next + 1;
        }
        if !self.interfaces.is_empty() {
            on_step(Step::Interfaces(self.from, &self.interfaces));
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.buffers.clear();
        self.prepared.clear();
        self.glimpses.clear();
        self.encap.clear();
        self.others.clear();
        self.interfaces.clear();
        (self.count, self.len) = (0, 0);
    }
}
