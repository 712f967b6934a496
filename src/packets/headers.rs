//! Frames without their payload, as Arrow record batches: what an analysis needs, on any machine.
//!
//! A row with the frame number 0 tells of a file: its `header` is [`FileFacts`] as JSON.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    Array, BinaryArray, Int64Array, LargeBinaryArray, RecordBatch, StringArray,
    builder::{BinaryBuilder, Int64Builder},
    cast::AsArray,
    types::Int64Type,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use crate::{
    analyze::{Analysis, Files, Headers, identity},
    capture::{Info, Record, Time},
    dissect::Link,
    icrc::State,
    report::CaptureProblem,
};

macro_rules! header_columns {
    ($($name:ident $kind:ident $doc:literal;)*) => {
        /// The schema of these rows. Each field has its meaning as metadata.
        pub fn header_schema() -> SchemaRef {
            let field = |name: &str, kind, doc: &str, is_optional| {
                Field::new(name, kind, is_optional).with_metadata(HashMap::from([("doc".to_owned(), doc.to_owned())]))
            };
            Arc::new(Schema::new(vec![$(field(stringify!($name), DataType::$kind, $doc, stringify!($name) == "pair")),*]))
        }
    };
}

header_columns! {
    tap Utf8 "Where the capture was taken: files of one tap are analyzed together.";
    file Utf8 "The file.";
    frame Int64 "Number of the frame in its file, from 1. The row 0 tells of the file: its header is JSON.";
    order_ns Int64 "The latest time up to this frame in its file, nanoseconds since 1970-01-01 UTC: with tap, file and frame, the order \
                    of the analysis.";
    time_ns Int64 "When it was captured: nanoseconds since 1970-01-01 UTC.";
    pair Int64 "A hash of the two addresses, equal in both directions. Empty if the frame has none.";
    link_type Int64 "LINKTYPE number of the frame: its first header.";
    interface Int64 "The capture's interface, from 0.";
    length_bytes Int64 "Bytes the frame had on the wire.";
    captured_bytes Int64 "Bytes of it that were captured.";
    icrc_state Int64 "Whether the ICRC is right: 0 good, 1 bad, 2 unchecked, 3 trimmed.";
    header Binary "The frame up to the payload of its packet: bytes of the wire. Of malformed frames, management datagrams, PAUSE \
                   frames and messages of known applications it is the whole frame.";
}

/// What is known of a file beside its frames.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileFacts {
    /// Its name.
    pub file: String,
    /// Number of frames.
    pub frames: u64,
    /// Time of the first frame, in nanoseconds since 1970.
    pub first_ns: Option<i64>,
    /// The latest time of all frames.
    pub last_ns: Option<i64>,
    /// Frames that the capturing system dropped, where it counted.
    pub drops: Option<u64>,
    /// Damage: offset in the file, and what it is.
    pub problems: Vec<(u64, String)>,
    /// Interfaces: name, and speed in bit/s.
    pub interfaces: Vec<(Option<String>, Option<u64>)>,
}

impl FileFacts {
    /// What is known of a source after its frames were counted.
    pub fn of(info: &Info, FileSpan { frames, times }: FileSpan) -> FileFacts {
        let known = Files::of([info].into_iter());
        FileFacts {
            file: info.name.clone(),
            frames,
            first_ns: times.map(|(first, _)| first),
            last_ns: times.map(|(_, last)| last),
            drops: known.drops,
            problems: known.problems.into_iter().map(|problem| (problem.offset, problem.what)).collect(),
            interfaces: info.interfaces.iter().map(|one| (one.name.clone(), one.speed_bps)).collect(),
        }
    }

    /// What identifies the file, whatever it is called and wherever it is: a hash of its frames' number and times, as 16 hexadecimal digits.
    pub fn id(&self) -> String {
        let times = [self.first_ns, self.last_ns].map(|time| time.unwrap_or(i64::MIN) as u64);
        format!("{:016x}", identity(times.into_iter().chain([self.frames])))
    }

    /// Files of a tap are in the order of their beginnings, and of their names.
    pub fn order(&self) -> (i64, &str) {
        (self.first_ns.unwrap_or(0), &self.file)
    }

    /// All files of a tap, in their order.
    pub fn files(all: &[FileFacts]) -> Files {
        let problem = |file: &FileFacts, (offset, what): &(u64, String)| {
            CaptureProblem::new(file.file.clone(), *offset, what.clone())
        };
        Files {
            names: all.iter().map(|file| file.file.clone()).collect(),
            problems: all
                .iter()
                .flat_map(|file| file.problems.iter().map(move |one| problem(file, one)))
                .collect(),
            drops: all.iter().filter_map(|file| file.drops).reduce(|a, b| a.saturating_add(b)),
            parts: Vec::new(),
            clocks: Vec::new(),
            untied: Vec::new(),
            step_ns: None,
            ids: all.iter().map(FileFacts::id).collect(),
        }
    }
}

/// The frames of a file, as they are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileSpan {
    frames: u64,
    /// Of the first frame, and the latest of all.
    times: Option<(i64, i64)>,
}

impl FileSpan {
    /// Counts a frame. Returns its number, from 1.
    pub fn add(&mut self, record: &Record<'_>) -> u64 {
        self.frames += 1;
        let (_, last) = self.times.get_or_insert((record.time.0, record.time.0));
        *last = record.time.0.max(*last);
        self.frames
    }
}

/// Rows of the frames of a file.
pub struct HeaderRows {
    tap: String,
    file: String,
    latest: i64,
    numbers: [Int64Builder; 9],
    header: BinaryBuilder,
    rows: usize,
}

impl HeaderRows {
    /// Rows of a file of this tap.
    pub fn new(tap: &str, file: &str) -> HeaderRows {
        HeaderRows {
            tap: tap.to_owned(),
            file: file.to_owned(),
            latest: i64::MIN,
            numbers: Default::default(),
            header: BinaryBuilder::new(),
            rows: 0,
        }
    }

    /// Adds a frame: the next one of its file.
    pub fn push(&mut self, headers: &Headers<'_>) {
        self.latest = self.latest.max(headers.record.time.0);
        self.push_in_order(headers, self.latest);
    }

    /// Adds a frame; the frames between are elsewhere. `order_ns`: the latest time in its file up to here.
    pub fn push_in_order(&mut self, headers: &Headers<'_>, order_ns: i64) {
        let Headers { number, record, captured, icrc, pair } = headers;
        self.row(
            [
                Some(*number as i64),
                Some(order_ns),
                Some(record.time.0),
                pair.map(i64::from),
                Some(record.link.0.into()),
                Some(record.interface.into()),
                Some(record.wire_len.into()),
                Some((*captured).into()),
                Some(*icrc as i64),
            ],
            record.frame,
        );
    }

    /// Adds the row that tells of the file.
    ///
    /// # Errors
    /// Never, but for a name that cannot be JSON.
    pub fn push_facts(&mut self, facts: &FileFacts) -> Result<(), ArrowError> {
        let json = serde_json::to_vec(facts).map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
        let first = Some(facts.first_ns.unwrap_or(0));
        let none = Some(0);
        self.row([none, first, first, None, none, none, none, none, Some(State::Unchecked as i64)], &json);
        Ok(())
    }

    fn row(&mut self, numbers: [Option<i64>; 9], header: &[u8]) {
        for (to, number) in self.numbers.iter_mut().zip(numbers) {
            to.append_option(number);
        }
        self.header.append_value(header);
        self.rows += 1;
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The rows as a batch. The next rows begin another one.
    ///
    /// # Errors
    /// Never: the columns are those of the schema.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let mut arrays: Vec<Arc<dyn Array>> = vec![
            Arc::new(StringArray::new_repeated(&self.tap, self.rows)),
            Arc::new(StringArray::new_repeated(&self.file, self.rows)),
        ];
        arrays.extend(self.numbers.iter_mut().map(|of| Arc::new(of.finish()) as Arc<dyn Array>));
        arrays.push(Arc::new(self.header.finish()));
        self.rows = 0;
        RecordBatch::try_new(header_schema(), arrays)
    }
}

/// The columns of a batch that an analysis needs, but for the numbers of its frames.
pub(super) struct HeaderColumns {
    time: Int64Array,
    link: Int64Array,
    interface: Int64Array,
    length: Int64Array,
    captured: Int64Array,
    state: Int64Array,
    header: Bytes,
}

enum Bytes {
    Short(BinaryArray),
    Long(LargeBinaryArray),
}

impl HeaderColumns {
    pub(super) fn of(batch: &RecordBatch) -> Result<HeaderColumns, ArrowError> {
        let header = named(batch, "header")?;
        let header = match (header.as_binary_opt::<i32>(), header.as_binary_opt::<i64>()) {
            (Some(bytes), _) => Bytes::Short(bytes.clone()),
            (_, Some(bytes)) => Bytes::Long(bytes.clone()),
            _ => return Err(ArrowError::SchemaError("column header: its type must be binary".into())),
        };
        Ok(HeaderColumns {
            time: numbers(batch, "time_ns")?,
            link: numbers(batch, "link_type")?,
            interface: numbers(batch, "interface")?,
            length: numbers(batch, "length_bytes")?,
            captured: numbers(batch, "captured_bytes")?,
            state: numbers(batch, "icrc_state")?,
            header,
        })
    }

    /// A row: a frame with this number.
    pub(super) fn row(&self, at: usize, number: u64) -> Headers<'_> {
        let icrc = usize::try_from(self.state.value(at)).ok().and_then(|n| State::ALL.get(n).copied());
        let record = Record {
            time: Time(self.time.value(at)),
            link: Link(self.link.value(at) as u16),
            interface: self.interface.value(at) as u16,
            wire_len: self.length.value(at) as u32,
            frame: match &self.header {
                Bytes::Short(header) => header.value(at),
                Bytes::Long(header) => header.value(at),
            },
        };
        let captured = self.captured.value(at) as u32;
        Headers { number, record, captured, icrc: icrc.unwrap_or(State::Unchecked), pair: None }
    }
}

fn named<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a Arc<dyn Array>, ArrowError> {
    let wrong = || ArrowError::SchemaError(format!("rows of headers need a column {name}"));
    batch.column_by_name(name).ok_or_else(wrong)
}

/// The file of a batch, which has rows of one file.
#[cfg(feature = "parquet")]
pub(super) fn file_of(batch: &RecordBatch) -> Result<&str, ArrowError> {
    let wrong = |what: &str| ArrowError::SchemaError(format!("column file: {what}"));
    let file = named(batch, "file")?.as_string_opt::<i32>().ok_or_else(|| wrong("its type must be text"))?;
    let ends = (!file.is_empty()).then(|| (file.value(0), file.value(file.len() - 1)));
    match ends {
        Some((first, last)) if first == last => Ok(first),
        Some(_) => {
            Err(wrong("rows of several captures in one file; rdmawire index writes files of their own"))
        }
        None => Err(wrong("there are no rows")),
    }
}

pub(super) fn numbers(batch: &RecordBatch, name: &str) -> Result<Int64Array, ArrowError> {
    let wrong = || ArrowError::SchemaError(format!("column {name}: its type must be int64"));
    named(batch, name)?.as_primitive_opt::<Int64Type>().cloned().ok_or_else(wrong)
}

/// Analyzes the frames of a batch: rows of one tap, in their order. `number` names the column with the frames' numbers: `frame`, or, of
/// several files, one that counts through all of them.
///
/// # Errors
/// A column is missing, or is of another type.
pub fn analyze_headers(analysis: &mut Analysis, batch: &RecordBatch, number: &str) -> Result<(), ArrowError> {
    let (columns, number) = (HeaderColumns::of(batch)?, numbers(batch, number)?);
    for at in 0..batch.num_rows() {
        analysis.push_headers(&columns.row(at, number.value(at) as u64));
    }
    Ok(())
}
