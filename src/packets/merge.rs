//! The rows of a tap's files in one order: files may overlap in time, and be spread over buckets.
//!
//! The order is that of [`analyze --merge`](crate::capture::Merge): frames by time, and those of one file as the file has them. A file
//! that begins where another one ends follows it, also where the clock of the capture steps back a little.

use std::collections::{BTreeMap, HashMap};

use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::ArrowError;

use super::{
    FileFacts,
    headers::{HeaderColumns, numbers},
};
use crate::analyze::{Analysis, Files};

/// A file that begins so much before another one ends still follows it: captures of several queues step back by less.
const OVERLAP_NS: i64 = 1_000_000;

/// Where a row is in the order of its tap: the latest time of its file up to it, and its frame number among all files.
type Key = (i64, u64);

/// Puts batches of rows into the order of their tap, and analyzes them. It keeps the rows that later batches may have to be put before:
/// as much as files overlap.
#[derive(Default)]
pub struct HeaderMerge {
    facts: Vec<FileFacts>,
    places: HashMap<String, Place>,
    /// Frames of all files that were announced.
    frames: u64,
    interfaces: u16,
    /// The latest time of the files that ended before the newest one began; and of the others.
    ended_ns: i64,
    open_ns: Vec<i64>,
    /// By their next rows; numbers keep those apart that are forged to be equal.
    runs: BTreeMap<(Key, u64), Run>,
    added: u64,
}

/// Where the frames of a file are.
#[derive(Clone, Copy)]
struct Place {
    /// Frames in the files before it.
    before: u64,
    /// Its frames are not before this time.
    not_before_ns: i64,
}

/// Rows of one file.
struct Run {
    columns: HeaderColumns,
    order: Int64Array,
    frame: Int64Array,
    place: Place,
    at: usize,
    len: usize,
}

impl Run {
    fn key(&self) -> Option<Key> {
        (self.at < self.len).then(|| self.place.key(self.order.value(self.at), self.frame.value(self.at)))
    }
}

impl Place {
    fn key(self, order: i64, frame: i64) -> Key {
        (order.max(self.not_before_ns), self.before.saturating_add(frame as u64))
    }
}

impl HeaderMerge {
    /// Announces a file before its first rows come: in the order of [`FileFacts::order`]. Numbers of frames go on after those that the
    /// analysis has had. Returns how many frames are before the file, and the time that its frames are not before.
    pub fn file(&mut self, facts: FileFacts, analysis: &mut Analysis) -> (u64, i64) {
        for (number, (name, speed)) in (0..).zip(&facts.interfaces).skip(self.interfaces.into()) {
            analysis.next_interface(number, name.as_deref(), *speed, None);
            self.interfaces = number + 1;
        }
        if self.facts.is_empty() {
            self.frames = analysis.last_headers();
            // Files of an earlier run are over: these follow them.
            self.ended_ns = analysis.shortened.ended_ns.unwrap_or(i64::MIN);
        }
        let first = facts.first_ns.unwrap_or(i64::MIN);
        let ends_late = |last: i64| last > first.saturating_add(OVERLAP_NS);
        let ended = self.open_ns.extract_if(.., |last| !ends_late(*last)).max();
        self.ended_ns = self.ended_ns.max(ended.unwrap_or(i64::MIN));
        let place = Place { before: self.frames, not_before_ns: self.ended_ns };
        self.open_ns.extend(facts.last_ns);
        self.places.insert(facts.file.clone(), place);
        self.frames = self.frames.saturating_add(facts.frames);
        self.facts.push(facts);
        (place.before, place.not_before_ns)
    }

    /// Adds rows of a file. Batches come in the order of their first rows: nothing that comes later belongs before the first row of this
    /// one. So all rows before it are analyzed.
    ///
    /// # Errors
    /// A column is missing, or is of another type; the file was not announced.
    pub fn push(
        &mut self,
        file: &str,
        batch: &RecordBatch,
        analysis: &mut Analysis,
    ) -> Result<(), ArrowError> {
        let (order, frame) = (numbers(batch, "order_ns")?, numbers(batch, "frame")?);
        // The row that tells of the file is behind all frames.
        let len = frame.values().iter().position(|&frame| frame == 0).unwrap_or(batch.num_rows());
        if len == 0 {
            return Ok(());
        }
        let Some(&place) = self.places.get(file) else {
            let wrong = format!("{file}: rows of this file come before its row 0, which tells of the file");
            return Err(ArrowError::ExternalError(wrong.into()));
        };
        let run = Run { columns: HeaderColumns::of(batch)?, order, frame, place, at: 0, len };
        let key = place.key(run.order.value(0), run.frame.value(0));
        let unraised = (run.order.value(0), key.1);
        self.analyze_before(unraised, analysis);
        self.added += 1;
        self.runs.insert((key, self.added), run);
        Ok(())
    }

    /// Analyzes all rows that are left. Returns what is known of the files.
    pub fn finish(mut self, analysis: &mut Analysis) -> Files {
        self.analyze_before((i64::MAX, u64::MAX), analysis);
        let latest = self.facts.iter().filter_map(|file| file.last_ns).max();
        analysis.shortened.ended_ns = latest.max(analysis.shortened.ended_ns);
        FileFacts::files(&self.facts)
    }

    fn analyze_before(&mut self, end: Key, analysis: &mut Analysis) {
        while let Some(first) = self.runs.first_entry().filter(|first| first.key().0 < end) {
            let ((key, id), mut run) = first.remove_entry();
            let until = self.runs.first_key_value().map_or(end, |((other, _), _)| end.min(*other));
            let mut key = Some(key);
            while let Some((_, number)) = key.filter(|key| *key <= until) {
                analysis.push_headers(&run.columns.row(run.at, number));
                run.at += 1;
                key = run.key();
            }
            if let Some(key) = key {
                self.runs.insert((key, id), run);
            }
        }
    }
}
