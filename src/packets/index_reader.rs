//! Reads an [`Index`](super::Index): the rows of a tap, in the order of the analysis.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::{RecordBatch, cast::AsArray, types::Int64Type};
use arrow_schema::ArrowError;
use parquet::{
    arrow::arrow_reader::{
        ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    },
    file::statistics::Statistics,
};

use super::{
    FileFacts, HeaderMerge,
    headers::{file_of, numbers},
};
use crate::{
    analyze::{Analysis, Files},
    in_order::InOrder,
    report::CaptureProblem,
};

/// Rows that are read at a time.
const BATCH: usize = 1 << 13;
/// Directories in directories: tap, hour, bucket, and one for all.
const DEEPEST: usize = 4;

/// The files of one tap in an index. Hours and buckets do not matter: rows are put into one order.
pub struct IndexReader {
    facts: Vec<FileFacts>,
    /// Row groups; the first ones are last.
    groups: Vec<Group>,
    /// Files that are passed over.
    without: HashSet<String>,
}

/// A row group of a Parquet file.
struct Group {
    path: Arc<Path>,
    metadata: ArrowReaderMetadata,
    number: usize,
    /// The order of its first row.
    first_ns: i64,
    /// The file of its rows, where its statistics say it.
    file: Option<String>,
    rows: u64,
}

/// A row group that is being read, with the batch that is next.
struct Reading {
    path: Arc<Path>,
    batches: ParquetRecordBatchReader,
    batch: RecordBatch,
}

impl IndexReader {
    /// Looks into all Parquet files of a directory, and of those in it: `DIR/tap=leaf1`.
    ///
    /// # Errors
    /// A file cannot be read, or is no part of an index; there are several taps, or none.
    pub fn open(dir: &Path) -> io::Result<IndexReader> {
        let mut paths = Vec::new();
        find(dir, DEEPEST, &mut paths)?;
        paths.sort();
        let mut reader = IndexReader { facts: Vec::new(), groups: Vec::new(), without: HashSet::new() };
        let mut tap = None;
        for path in paths {
            let of_path = tap_of(&path);
            if *tap.get_or_insert_with(|| of_path.clone()) != of_path {
                let wrong =
                    "it has several taps, which are analyzed one by one: give one of its directories tap=…";
                return Err(io::Error::other(wrong));
            }
            let named = |error: ArrowError| io::Error::other(format!("{}: {error}", path.display()));
            reader.add(&path).map_err(named)?;
        }
        if reader.facts.is_empty() {
            return Err(io::Error::other("no row 0 of any file: is it an index, of rdmawire index?"));
        }
        reader.facts.order_by(|a, b| a.order().cmp(&b.order()));
        reader.groups.order_by_key(|group| std::cmp::Reverse(group.first_ns));
        Ok(reader)
    }

    /// Passes over files that an earlier run has analyzed, whose state the analysis goes on with. Returns how many of them there are.
    pub fn pass_over(&mut self, earlier: &Files) -> usize {
        let seen = self.facts.iter().filter(|facts| earlier.has(&facts.file, &facts.id()));
        self.without.extend(seen.map(|facts| facts.file.clone()));
        let before = self.facts.len();
        self.facts.retain(|facts| !self.without.contains(&facts.file));
        let is_wanted = |group: &Group| group.file.as_ref().is_none_or(|file| !self.without.contains(file));
        self.groups.retain(is_wanted);
        before - self.facts.len()
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.groups.iter().fold(0, |rows, group| rows.saturating_add(group.rows))
    }

    /// The names of the captures, in their order.
    pub fn names(&self) -> Vec<&str> {
        self.facts.iter().map(|facts| facts.file.as_str()).collect()
    }

    fn add(&mut self, path: &Path) -> Result<(), ArrowError> {
        let file = File::open(path)?;
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
        let path: Arc<Path> = path.into();
        let column = |name: &str| {
            let found = metadata.parquet_schema().columns().iter().position(|column| column.name() == name);
            found.ok_or_else(|| ArrowError::SchemaError(format!("rows of headers need a column {name}")))
        };
        let (order, frame, name) = (column("order_ns")?, column("frame")?, column("file")?);
        for (number, group) in metadata.metadata().row_groups().iter().enumerate() {
            let least = |column: usize| match group.column(column).statistics() {
                Some(Statistics::Int64(range)) => range.min_opt().copied(),
                _ => None,
            };
            let rows = group.num_rows().max(0) as u64;
            if least(frame).is_none_or(|least| least == 0) {
                self.facts.extend(facts(&file, &metadata, number)?);
            }
            let first_ns = least(order).unwrap_or(i64::MIN);
            let file = group.column(name).statistics().and_then(only_text);
            self.groups.push(Group {
                path: path.clone(),
                metadata: metadata.clone(),
                number,
                first_ns,
                file,
                rows,
            });
        }
        Ok(())
    }

    /// Analyzes all rows. `go_on` is asked now and then, with the number of rows so far. A file that cannot be read further is among
    /// the problems that are returned, and the others are analyzed. Returns also whether all rows could be read: damage of the captures
    /// themselves is no reason to say no.
    pub fn analyze(mut self, analysis: &mut Analysis, mut go_on: impl FnMut(u64) -> bool) -> (Files, bool) {
        let (mut merge, mut problems, mut rows, mut is_all) = (HeaderMerge::default(), Vec::new(), 0, true);
        let mut wrong = |path: &Path, error: ArrowError| {
            problems.push(CaptureProblem::new(path.display().to_string(), 0, error.to_string()));
        };
        let places: BTreeMap<String, usize> =
            (0..).zip(&self.facts).map(|(at, file)| (file.file.clone(), at)).collect();
        for facts in std::mem::take(&mut self.facts) {
            merge.file(facts, analysis);
        }
        // By the first row of the next batch. The last number keeps those apart that are equal.
        let mut open: BTreeMap<(i64, usize, i64, usize), Reading> = BTreeMap::new();
        let key = |batch: &RecordBatch, number: usize| -> Result<_, ArrowError> {
            let place = places.get(file_of(batch)?).copied().unwrap_or(usize::MAX);
            Ok((numbers(batch, "order_ns")?.value(0), place, numbers(batch, "frame")?.value(0), number))
        };
        loop {
            while let Some(group) = self
                .groups
                .pop_if(|group| open.first_key_value().is_none_or(|(first, _)| group.first_ns <= first.0))
            {
                let path = group.path.clone();
                let read = group.read().and_then(|reading| match reading {
                    Some(reading) => Ok(Some((key(&reading.batch, self.groups.len())?, reading))),
                    None => Ok(None),
                });
                match read {
                    Ok(reading) => open.extend(reading),
                    Err(error) => wrong(&path, error),
                }
            }
            let Some((first, mut reading)) = open.pop_first() else { break };
            if file_of(&reading.batch).is_ok_and(|file| self.without.contains(file)) {
                continue;
            }
            rows += reading.batch.num_rows() as u64;
            let pushed = file_of(&reading.batch).and_then(|file| merge.push(file, &reading.batch, analysis));
            if !go_on(rows) {
                is_all = false;
                break;
            }
            let next = pushed.and_then(|()| reading.batches.next().transpose());
            let next = next.and_then(|next| match next {
                Some(batch) => Ok(Some((key(&batch, first.3)?, batch))),
                None => Ok(None),
            });
            match next {
                Ok(Some((key, batch))) => {
                    reading.batch = batch;
                    open.insert(key, reading);
                }
                Ok(None) => {}
                Err(error) => wrong(&reading.path, error),
            }
        }
        let mut files = merge.finish(analysis);
        is_all &= problems.is_empty();
        files.problems.extend(problems);
        (files, is_all)
    }
}

impl Group {
    /// Begins to read; `None` if there are no rows.
    fn read(self) -> Result<Option<Reading>, ArrowError> {
        let file = File::open(&self.path)?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata);
        let mut batches = builder.with_row_groups(vec![self.number]).with_batch_size(BATCH).build()?;
        let first = batches.next().transpose()?.filter(|batch| batch.num_rows() > 0);
        Ok(first.map(|batch| Reading { path: self.path, batches, batch }))
    }
}

/// The text of a column that has only one.
fn only_text(statistics: &Statistics) -> Option<String> {
    let Statistics::ByteArray(range) = statistics else { return None };
    let is_whole = range.min_is_exact() && range.max_is_exact();
    let text = range.min_opt().filter(|min| is_whole && Some(*min) == range.max_opt())?;
    text.as_utf8().ok().map(str::to_owned)
}

/// What the last row of a group tells of its file, if it is a row 0.
fn facts(file: &File, metadata: &ArrowReaderMetadata, group: usize) -> Result<Option<FileFacts>, ArrowError> {
    let rows = metadata.metadata().row_group(group).num_rows().max(1) as usize;
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.try_clone()?, metadata.clone());
    let Some(last) =
        builder.with_row_groups(vec![group]).with_offset(rows - 1).build()?.next().transpose()?
    else {
        return Ok(None);
    };
    let header = last.column_by_name("header").and_then(|header| header.as_binary_opt::<i32>());
    let frame = last.column_by_name("frame").and_then(|frame| frame.as_primitive_opt::<Int64Type>());
    let (Some(header), Some(frame)) = (header, frame) else {
        return Err(ArrowError::SchemaError(
            "columns header and frame: their types must be binary and int64".into(),
        ));
    };
    if last.num_rows() == 0 || frame.value(0) != 0 {
        return Ok(None);
    }
    serde_json::from_slice(header.value(0))
        .map(Some)
        .map_err(|error| ArrowError::ExternalError(Box::new(error)))
}

fn find(dir: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", dir.display()));
    for entry in fs::read_dir(dir).map_err(named)? {
        let path = entry.map_err(named)?.path();
        if path.is_dir() {
            if depth > 0 {
                find(&path, depth - 1, paths)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "parquet") {
            paths.push(path);
        }
    }
    Ok(())
}

/// The directory of the tap.
fn tap_of(path: &Path) -> Option<String> {
    let name = |component: std::path::Component<'_>| component.as_os_str().to_string_lossy().into_owned();
    path.components().map(name).find(|name| name.starts_with("tap="))
}
