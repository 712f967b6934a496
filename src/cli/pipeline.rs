//! One file on several threads: one reads, some dissect and verify ICRCs, the caller tracks in the order of the file.
//!
//! ```text
//! reader --batch--> worker 0 --batch--> caller, batch by batch in turns
//!        --batch--> worker 1 -->
//!   ^----------------- empty batches ------'
//! ```
//! What the caller sees does not depend on the number of threads, so neither does the report. Reading and tracking are
//! serial, each a stage of its own: however many cores there are, a file takes as long as the slower of the two, and
//! the ICRC, which takes longest of full frames, is what the cores share.

use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use rdmawire::{
    capture::{Error, Info, Interface, Record, Source, Time},
    dissect::{self, Link, dissect_with},
    icrc::{self, State},
};

/// Bytes and frames after which a batch is handed on: it stays in a core's second-level cache.
const BYTES: usize = 256 << 10;
const FRAMES: usize = 2048;
/// More workers than these have nothing to do: a reader is not that fast.
const MAX_WORKERS: usize = 16;

/// Frames, copied from where they were read.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    frames: Vec<Frame>,
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
    icrc: State,
}

/// What happens in a file, in its order.
pub(super) enum Step<'a> {
    /// A frame, and what became of its ICRC.
    Frame(Record<'a>, State),
    /// Interfaces became known, from this number on.
    Interfaces(usize, &'a [Interface]),
    /// So many bytes of the file are read.
    Progress(u64),
}

/// Shows all of a source to `see`. `threads` work on it, this one included; at least three do.
pub(super) fn run(
    source: &mut (impl Source + Send),
    options: dissect::Options,
    verify: bool,
    threads: usize,
    stop: &AtomicBool,
    mut see: impl FnMut(Step<'_>),
) -> Result<(), Error> {
    let workers = threads.saturating_sub(1).clamp(1, MAX_WORKERS);
    thread::scope(|scope| {
        let (recycle, empty) = sync_channel::<Batch>(3 * workers + 2);
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let (sender, batches) = sync_channel::<Batch>(1);
            let (done, verified) = sync_channel::<Batch>(1);
            scope.spawn(move || work(&batches, &done, options, verify));
            to.push(sender);
            from.push(verified);
        }
        let reader = scope.spawn(move || read(source, &to, &empty, stop));
        // In turns, as the reader deals them.
        'all: loop {
            for verified in &from {
                let Ok(mut batch) = verified.recv() else { break 'all };
                batch.show(&mut see);
                batch.clear();
                let _ = recycle.try_send(batch);
            }
        }
        drop(from);
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn read(
    source: &mut impl Source,
    to: &[SyncSender<Batch>],
    empty: &Receiver<Batch>,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let mut known = 0;
    for worker in to.iter().cycle() {
        let mut batch = empty.try_recv().unwrap_or_default();
        let end = loop {
            match source.next() {
                Ok(Some(record)) => batch.push(&record),
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

fn work(batches: &Receiver<Batch>, done: &SyncSender<Batch>, options: dissect::Options, verify: bool) {
    while let Ok(mut batch) = batches.recv() {
        if verify {
            batch.verify(options);
        }
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
        self.frames.push(Frame { time, link, interface, wire_len, at, icrc: State::Unchecked });
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= BYTES || self.frames.len() >= FRAMES
    }

    fn name(&mut self, info: &Info, from: usize) {
        self.interfaces.extend(info.interfaces.iter().skip(from).cloned());
        self.from = from;
    }

    fn verify(&mut self, options: dissect::Options) {
        let mut end = self.bytes.len();
        for frame in self.frames.iter_mut().rev() {
            let bytes = self.bytes.get(frame.at..end).unwrap_or_default();
            frame.icrc = icrc::verify(&dissect_with(options, frame.link, bytes, frame.wire_len));
            end = frame.at;
        }
    }

    fn show(&self, see: &mut impl FnMut(Step<'_>)) {
        let ends = self.frames.iter().skip(1).map(|frame| frame.at).chain([self.bytes.len()]);
        for (frame, end) in self.frames.iter().zip(ends) {
            let &Frame { time, link, interface, wire_len, at, icrc } = frame;
            let frame = self.bytes.get(at..end).unwrap_or_default();
            see(Step::Frame(Record { time, link, interface, wire_len, frame }, icrc));
        }
        if !self.interfaces.is_empty() {
            see(Step::Interfaces(self.from, &self.interfaces));
        }
        see(Step::Progress(self.progress));
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.frames.clear();
        self.interfaces.clear();
    }
}
