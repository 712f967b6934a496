//! One file on several threads: one reads, some dissect and verify ICRCs, the caller tracks in the order of the file.
//!
//! ```text
//! reader --batch--> worker 0 --batch--> caller, batch by batch in turns
//!        --batch--> worker 1 -->
//!   ^----------------- empty batches ------'
//! ```
//! With two threads there is no worker: the reader prepares frames while they are in its cache.
//!
//! What the caller sees does not depend on the number of threads, so neither does the report. Reading and tracking are
//! serial, each a stage of its own; what the cores share is what can be known of a frame by itself: its headers, and its
//! ICRC, which takes longest of full frames. However many cores there are, a file takes as long as the slower of reading and
//! tracking, which is about half of what one thread takes for short frames, and a fifth to a third for full ones.

use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use rdmawire::{
    analyze::{Options, Prepared},
    capture::{Error, Info, Interface, Record, Source, Time},
    dissect::Link,
};

/// Bytes and frames after which a batch is handed on: it stays in a core's second-level cache.
const BYTES: usize = 128 << 10;
const FRAMES: usize = 512;
/// More workers than these have nothing to do: a reader is not that fast.
const MAX_WORKERS: usize = 16;

/// Frames, and what is known of each; copied from where they were read as far as that is needed.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    frames: Vec<Frame>,
    prepared: Vec<Prepared>,
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
    wire_len: u32,
    at: usize,
}

/// What happens in a file, in its order.
pub(super) enum Step<'a> {
    /// A frame, and what is known of it by itself.
    Frame(Record<'a>, &'a Prepared),
    /// Interfaces became known, from this number on.
    Interfaces(usize, &'a [Interface]),
    /// So many bytes of the file are read.
    Progress(u64),
}

/// Shows all of a source to `see`. `threads` work on it, this one included; at least two do. With `whole`, all frames are shown
/// with their bytes, otherwise those that need them.
pub(super) fn run(
    source: &mut (impl Source + Send),
    options: &Options,
    threads: usize,
    whole: bool,
    stop: &AtomicBool,
    mut see: impl FnMut(Step<'_>),
) -> Result<(), Error> {
    let workers = threads.saturating_sub(2).min(MAX_WORKERS);
    thread::scope(|scope| {
        let (recycle, empty) = sync_channel::<Batch>(3 * workers + 4);
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let (sender, batches) = sync_channel::<Batch>(1);
            let (done, prepared) = sync_channel::<Batch>(1);
            scope.spawn(move || work(&batches, &done, options));
            to.push(sender);
            from.push(prepared);
        }
        let mut fill = Fill { options, prepares: workers == 0, whole };
        if workers == 0 {
            // Nobody in between: frames that are prepared where they are read need not be copied.
            let (done, prepared) = sync_channel::<Batch>(2);
            to.push(done);
            from.push(prepared);
        }
        let reader = scope.spawn(move || read(source, &mut fill, &to, &empty, stop));
        // In turns, as the reader deals them.
        'all: loop {
            for prepared in &from {
                let Ok(mut batch) = prepared.recv() else { break 'all };
                batch.show(&mut see);
                batch.clear();
                let _ = recycle.try_send(batch);
            }
        }
        drop(from);
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// How frames come into a batch.
struct Fill<'a> {
    options: &'a Options,
    prepares: bool,
    whole: bool,
}

impl Fill<'_> {
    #[inline]
    fn push(&mut self, batch: &mut Batch, record: &Record<'_>) {
        if !self.prepares {
            return batch.push(record);
        }
        let prepared = Prepared::new(self.options, record);
        let is_needed = self.whole || !prepared.is_all();
        batch.push(&Record { frame: if is_needed { record.frame } else { &[] }, ..*record });
        batch.prepared.push(prepared);
    }
}

fn read(
    source: &mut impl Source,
    fill: &mut Fill<'_>,
    to: &[SyncSender<Batch>],
    empty: &Receiver<Batch>,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let mut known = 0;
    for worker in to.iter().cycle() {
        let mut batch = empty.try_recv().unwrap_or_default();
        let end = loop {
            match source.next() {
                Ok(Some(record)) => fill.push(&mut batch, &record),
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

fn work(batches: &Receiver<Batch>, done: &SyncSender<Batch>, options: &Options) {
    while let Ok(mut batch) = batches.recv() {
        batch.prepare(options);
        if done.send(batch).is_err() {
            return;
        }
    }
}

impl Batch {
    fn push(&mut self, record: &Record<'_>) {
        let Record { time, link, interface, wire_len, frame } = *record;
        let at = self.bytes.len();
        self.bytes.extend_from_slice(frame);
        self.frames.push(Frame { time, link, interface, wire_len, at });
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= BYTES || self.frames.len() >= FRAMES
    }

    fn name(&mut self, info: &Info, from: usize) {
        self.interfaces.extend(info.interfaces.iter().skip(from).cloned());
        self.from = from;
    }

    fn prepare(&mut self, options: &Options) {
        let mut prepared = std::mem::take(&mut self.prepared);
        prepared.extend(self.records().map(|record| Prepared::new(options, &record)));
        self.prepared = prepared;
    }

    fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let ends = self.frames.iter().skip(1).map(|frame| frame.at).chain([self.bytes.len()]);
        self.frames.iter().zip(ends).map(|(&Frame { time, link, interface, wire_len, at }, end)| {
            let frame = self.bytes.get(at..end).unwrap_or_default();
            Record { time, link, interface, wire_len, frame }
        })
    }

    fn show(&self, see: &mut impl FnMut(Step<'_>)) {
        for (record, prepared) in self.records().zip(&self.prepared) {
            see(Step::Frame(record, prepared));
        }
        if !self.interfaces.is_empty() {
            see(Step::Interfaces(self.from, &self.interfaces));
        }
        see(Step::Progress(self.progress));
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.frames.clear();
        self.prepared.clear();
        self.interfaces.clear();
    }
}
