//! Rows of headers as Parquet files in directories by tap, hour and bucket.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs, io,
    path::{Path, PathBuf},
};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;

use super::{FileFacts, HeaderRows, header_schema};
use crate::{analyze::Headers, capture::WholeFile, report::table::parquet::writer, utc::Utc};

/// Rows that are written at a time.
const BATCH: usize = 1 << 12;
/// The columns in files: without the tap, which is the name of a directory.
const COLUMNS: std::ops::RangeFrom<usize> = 1..;

/// Writes frames of one tap to `DIR/tap=TAP/hour=2026-11-25T17/bucket=0/FILE.parquet`. The bucket is a hash of the two addresses modulo
/// the number of buckets; frames without addresses are in one more.
pub struct Index {
    dir: PathBuf,
    tap: String,
    file: String,
    buckets: u32,
    force: bool,
    open: BTreeMap<(i64, u32), Partition>,
    /// Files that are complete under their temporary names.
    done: Vec<WholeFile>,
    latest: i64,
}

struct Partition {
    rows: HeaderRows,
    writer: ArrowWriter<WholeFile>,
}

impl Index {
    /// Most buckets: each has a file that is written at the same time.
    pub const MOST_BUCKETS: u32 = 256;

    /// The index of a file.
    pub fn new(dir: &Path, tap: &str, file: &str, buckets: u32, force: bool) -> Index {
        Index {
            dir: dir.to_owned(),
            tap: tap.to_owned(),
            file: file.to_owned(),
            buckets: buckets.clamp(1, Index::MOST_BUCKETS),
            force,
            open: BTreeMap::new(),
            done: Vec::new(),
            latest: i64::MIN,
        }
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn push(&mut self, headers: &Headers<'_>) -> io::Result<()> {
        let order = self.latest.max(headers.record.time.0);
        if hour(order) > hour(self.latest) && self.latest != i64::MIN {
            // The order of the analysis is never before this hour again.
            self.close()?;
        }
        if self.latest == i64::MIN {
            self.tell_apart(hour(order));
        }
        self.latest = order;
        let bucket = headers.pair.map_or(self.buckets, |pair| pair % self.buckets);
        let partition = self.partition(hour(order), bucket)?;
        partition.rows.push_in_order(headers, order);
        if partition.rows.len() == BATCH { partition.flush() } else { Ok(()) }
    }

    /// The name of the capture in the index: the one that was given, or, where the tap has another capture of that name, which began in
    /// another hour, that and the hour.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Rolling captures repeat their names, such as `00.pcap` of each day.
    fn tell_apart(&mut self, hour: i64) {
        let tap = self.dir.join(format!("tap={}", plain(&self.tap)));
        let Ok(hours) = fs::read_dir(tap) else { return };
        let here = format!("hour={}", named(hour));
        let name = format!("{}.parquet", plain(&self.file));
        let has_it = |hour: &fs::DirEntry| {
            let buckets = fs::read_dir(hour.path()).into_iter().flatten().flatten();
            buckets.into_iter().any(|bucket| bucket.path().join(&name).exists())
        };
        let hours: Vec<_> = hours.flatten().filter(has_it).map(|hour| hour.file_name()).collect();
        if !hours.is_empty() && hours.iter().all(|other| *other != *here) {
            self.file = format!("{}@{}", self.file, named(hour));
        }
    }

    /// Completes all files.
    ///
    /// # Errors
    /// A file cannot be written, or is there already.
    pub fn finish(mut self, facts: &FileFacts) -> io::Result<()> {
        let hour = hour(facts.first_ns.unwrap_or(0));
        if self.open.is_empty() || !self.open.contains_key(&(hour, self.buckets)) {
            // Of an earlier hour, whose files may be closed.
            self.close()?;
            self.file = format!("{}.facts", self.file);
        }
        let buckets = self.buckets;
        self.partition(hour, buckets)?.rows.push_facts(facts).map_err(io::Error::other)?;
        self.close()?;
        self.done.into_iter().try_for_each(WholeFile::keep)
    }

    fn partition(&mut self, hour: i64, bucket: u32) -> io::Result<&mut Partition> {
        let Index { dir, tap, file, force, open, .. } = self;
        let place = match open.entry((hour, bucket)) {
            Entry::Occupied(partition) => return Ok(partition.into_mut()),
            Entry::Vacant(place) => place,
        };
        let path = dir
            .join(format!("tap={}", plain(tap)))
            .join(format!("hour={}", named(hour)))
            .join(format!("bucket={bucket}"));
        fs::create_dir_all(&path)?;
        let path = path.join(format!("{}.parquet", plain(file)));
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let whole = WholeFile::create(&path, *force).map_err(named)?;
        let schema = Schema::new(header_schema().fields()[COLUMNS].to_vec());
        let writer = writer(whole, schema.into())?;
        Ok(place.insert(Partition { rows: HeaderRows::new(tap, file), writer }))
    }

    fn close(&mut self) -> io::Result<()> {
        for (_, mut partition) in std::mem::take(&mut self.open) {
            partition.flush()?;
            self.done.push(partition.writer.into_inner().map_err(io::Error::other)?);
        }
        Ok(())
    }
}

impl Partition {
    fn flush(&mut self) -> io::Result<()> {
        let batch: RecordBatch = self.rows.finish().map_err(io::Error::other)?;
        let columns: Vec<usize> = (COLUMNS.start..batch.num_columns()).collect();
        let batch = batch.project(&columns).map_err(io::Error::other)?;
        self.writer.write(&batch).map_err(io::Error::other)
    }
}

/// Hours since 1970.
fn hour(ns: i64) -> i64 {
    ns.div_euclid(3_600_000_000_000)
}

/// `2026-11-25T17`, in UTC.
fn named(hour: i64) -> String {
    let Utc { year, month, day, hour, .. } = Utc::of(hour.saturating_mul(3600));
    format!("{year:04}-{month:02}-{day:02}T{hour:02}")
}

/// A name that is one component of a path, and has one meaning in it.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let text: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    if text.trim_matches('.').is_empty() { format!("_{text}") } else { text }
}
