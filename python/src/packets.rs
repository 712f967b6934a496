//! The packets of a capture: one by one, and as an Arrow stream.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ThreadId},
};

use arrow_array::{RecordBatch, RecordBatchReader, ffi::FFI_ArrowSchema, ffi_stream::FFI_ArrowArrayStream};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyList, PyTuple},
};
use rdmawire::{
    analyze::Options,
    capture::{Damage, Source},
    dissect::dissect_with,
    filter::{Filter, FrameMeta},
    packets::{Batch, Column, Rows, schema},
};

use crate::{
    column::{Described, choose, describe},
    error,
    packet::Packet,
    report::Asked as OfAnalysis,
    source::{Input, Opened, Patience, filter},
};

/// Packets that an iterator reads ahead, where the source is no stream.
const AHEAD: usize = 256;

/// What is asked of a capture's packets.
struct Asked {
    filter: Option<Filter>,
    columns: Vec<&'static Column>,
    /// Of the analysis, and of the dissection within.
    options: Options,
    batch_rows: usize,
    strict: bool,
}

/// The packets of captures. Each iteration and each Arrow stream reads them from the beginning.
#[pyclass(frozen, module = "rdmawire")]
pub(crate) struct Packets {
    inputs: Arc<[Input]>,
    filter: Option<String>,
    fields: Option<Vec<String>>,
    options: Options,
    batch_rows: usize,
    strict: bool,
    is_used: AtomicBool,
}

#[pymethods]
impl Packets {
    #[new]
    #[pyo3(signature = (source, *, filter=None, fields=None, batch_rows=65536, strict=false, asked=None))]
    fn new(
        source: &Bound<'_, PyAny>,
        filter: Option<String>,
        fields: Option<Vec<String>>,
        batch_rows: usize,
        strict: bool,
        asked: Option<OfAnalysis>,
    ) -> PyResult<Packets> {
        if !(1..=1 << 24).contains(&batch_rows) {
            return Err(error::plain("batch_rows: from 1 to 16777216"));
        }
        crate::source::filter(filter.as_deref())?;
        choose(fields.as_deref())?;
        let options = asked.map_or_else(|| Ok(Options::default()), |mut asked| asked.options())?;
        let several = match (source.cast::<PyList>(), source.cast::<PyTuple>()) {
            (Ok(list), _) => list.iter().collect(),
            (_, Ok(tuple)) => tuple.iter().collect(),
            _ => vec![source.clone()],
        };
        if several.is_empty() {
            return Err(error::plain("no source"));
        }
        let inputs = several.iter().map(Input::of).collect::<PyResult<Vec<_>>>()?;
        let inputs = Input::joined(inputs).into();
        Ok(Packets { inputs, filter, fields, options, batch_rows, strict, is_used: AtomicBool::new(false) })
    }

    fn __iter__(&self) -> PyResult<PacketIterator> {
        Ok(PacketIterator(Mutex::new(Walk {
            opening: self.open()?,
            is_stream: !self.is_repeatable(),
            asked: self.asked()?,
            number: 0,
            ahead: VecDeque::new(),
            failed: None,
            problems: Vec::new(),
        })))
    }

    /// Its columns as a table: name, Arrow type, and what it means.
    #[getter]
    fn schema(&self) -> PyResult<Vec<Described>> {
        Ok(choose(self.fields.as_deref())?.into_iter().map(describe).collect())
    }

    /// The schema, for the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &schema(&choose(self.fields.as_deref())?))
    }

    /// The packets as a stream of record batches, for the Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        requested_schema: Option<Bound<'py, PyAny>>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore what was requested.
        drop(requested_schema);
        let asked = self.asked()?;
        let batch = Batch::new(&asked.columns);
        let mut batches = Batches {
            opening: self.open()?,
            rows: Rows::new(batch, asked.batch_rows),
            asked,
            patience: Patience::default(),
            asker: thread::current().id(),
        };
        batches.begin();
        stream_capsule(py, batches)
    }
}

/// A schema, for the Arrow PyCapsule interface.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(error::plain)?;
    // Whoever takes the value leaves one behind that is released; else it is dropped with the capsule.
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// A stream of record batches, for the Arrow PyCapsule interface.
pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    batches: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
}

impl Packets {
    fn asked(&self) -> PyResult<Asked> {
        Ok(Asked {
            filter: filter(self.filter.as_deref())?,
            columns: choose(self.fields.as_deref())?,
            options: self.options.clone(),
            batch_rows: self.batch_rows,
            strict: self.strict,
        })
    }

    /// Opens the first source.
    fn open(&self) -> PyResult<Opening> {
        if self.is_used.swap(true, Ordering::Relaxed) && !self.is_repeatable() {
            return Err(error::plain(
                "this source was read already, and is no file that can be opened again",
            ));
        }
        let mut opening = Opening { inputs: self.inputs.clone(), next: 0, opened: None };
        opening.go_on()?;
        Ok(opening)
    }

    fn is_repeatable(&self) -> bool {
        self.inputs.iter().all(Input::is_repeatable)
    }
}

/// Sources that are opened one after the other.
struct Opening {
    inputs: Arc<[Input]>,
    next: usize,
    opened: Option<Opened>,
}

impl Opening {
    /// Opens the next source. Returns whether there is one.
    fn go_on(&mut self) -> PyResult<bool> {
        self.opened = None;
        let Some(input) = self.inputs.get(self.next) else { return Ok(false) };
        self.next += 1;
        self.opened = Some(input.open()?);
        Ok(true)
    }
}

impl Asked {
    /// Whether a packet is asked for.
    fn is_asked(&self, record: &rdmawire::capture::Record<'_>, number: u64) -> bool {
        self.filter.as_ref().is_none_or(|filter| {
            let d = dissect_with(self.options.dissect, record.link, record.frame, record.wire_len);
            filter.matches(&d, &FrameMeta { number, time_ns: record.time.0, icrc: None })
        })
    }

    /// With `strict`, damage ends the walk.
    fn check(&self, opened: &Opened) -> PyResult<()> {
        let info = opened.reader.info();
        match info.problems.first() {
            Some(damage) if self.strict => Err(error::damage(&info.name, damage)),
            _ => Ok(()),
        }
    }
}

/// Packets one by one.
#[pyclass(frozen, module = "rdmawire")]
pub(crate) struct PacketIterator(Mutex<Walk>);

struct Walk {
    opening: Opening,
    is_stream: bool,
    asked: Asked,
    number: u64,
    ahead: VecDeque<Packet>,
    failed: Option<PyErr>,
    /// Damage of the sources before.
    problems: Vec<Problem>,
}

/// File offset, frames before it, id, text, and whether nothing after it can be read.
type Problem = (u64, u64, &'static str, String, bool);

fn problems_of(opened: Option<&Opened>) -> impl Iterator<Item = Problem> {
    let problem = |damage: &Damage| {
        (damage.offset, damage.record, damage.problem.id(), damage.to_string(), damage.fatal)
    };
    opened.into_iter().flat_map(move |opened| opened.reader.info().problems.iter().map(problem))
}

#[pymethods]
impl PacketIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Packet>> {
        // Without Python's lock: another thread that has this one may wait for it.
        let ready = self.0.try_lock().ok().and_then(|mut walk| walk.ahead.pop_front());
        if ready.is_some() {
            return Ok(ready);
        }
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next())
    }

    /// Damage of the capture so far: file offset, frames before it, id, text, and whether nothing after it can be read.
    #[getter]
    fn problems(&self, py: Python<'_>) -> Vec<Problem> {
        py.detach(|| {
            let walk = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            walk.problems.iter().cloned().chain(problems_of(walk.opening.opened.as_ref())).collect()
        })
    }
}

impl Walk {
    fn next(&mut self) -> PyResult<Option<Packet>> {
        let mut patience = Patience::default();
        loop {
            if let Some(packet) = self.ahead.pop_front() {
                return Ok(Some(packet));
            }
            if let Some(error) = self.failed.take() {
                (self.opening.opened, self.opening.next) = (None, usize::MAX);
                return Err(error);
            }
            let frames = self.read();
            patience.passed(frames)?;
            if frames == 0 && self.ahead.is_empty() && self.failed.is_none() {
                self.problems.extend(problems_of(self.opening.opened.as_ref()));
                self.number = 0;
                if !self.opening.go_on()? {
                    return Ok(None);
                }
            }
        }
    }

    /// Reads some frames. Returns how many.
    fn read(&mut self) -> u64 {
        let Walk { opening: Opening { opened: Some(opened), .. }, asked, number, ahead, .. } = self else {
            return 0;
        };
        let mut frames = 0;
        loop {
            let read = opened.reader.next_batch(|record| {
                *number += 1;
                if asked.is_asked(record, *number) {
                    ahead.push_back(Packet::of(record, *number, asked.options.dissect));
                }
            });
            match read {
                Ok(0) => {
                    self.failed = asked.check(opened).err();
                    return frames;
                }
                Ok(more) => frames += more,
                Err(error) => {
                    self.failed = Some(opened.raised.or(&error));
                    return frames;
                }
            }
            if let Err(error) = asked.check(opened) {
                self.failed = Some(error);
                return frames;
            }
            if self.is_stream || ahead.len() >= AHEAD || frames >= 1 << 14 {
                return frames;
            }
        }
    }
}

/// Packets as record batches.
struct Batches {
    opening: Opening,
    asked: Asked,
    rows: Rows<Batch>,
    patience: Patience,
    /// The thread that made the stream. Only there Python is asked for signals: other threads may not wait for it.
    asker: ThreadId,
}

impl Batches {
    /// Begins with the rows of the source that was opened.
    fn begin(&mut self) {
        let Some(opened) = &self.opening.opened else { return };
        let options = self.asked.options.clone();
        // Classes take an analysis.
        let analyze = self.asked.columns.iter().any(|column| column.is_verdict());
        self.rows.begin(&opened.reader.info().name, options, analyze);
    }

    /// Reads until a batch is complete. `None` at the end.
    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            if let Some(part) = self.rows.next_part() {
                return self.rows.form().complete(part).map(Some);
            }
            let Batches { opening: Opening { opened: Some(opened), .. }, asked, rows, .. } = self else {
                return Ok(None);
            };
            let read = opened.reader.next_batch(|record| match asked.is_asked(record, rows.frames() + 1) {
                true => rows.push(record),
                false => rows.pass_over(),
            });
            let read = read.map_err(|error| opened.raised.or(&error));
            let frames = read.and_then(|frames| asked.check(opened).map(|()| frames)).map_err(fail)?;
            if frames == 0 {
                self.rows.end();
                if self.opening.go_on().map_err(fail)? {
                    self.begin();
                }
            }
            if thread::current().id() == self.asker {
                self.patience.passed(frames).map_err(interrupted)?;
            }
        }
    }
}

/// Arrow passes an error's text on, not the exception.
pub(crate) fn fail(error: PyErr) -> ArrowError {
    Python::attach(|py| match error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) {
        true => interrupted(error),
        false => ArrowError::ExternalError(error.value(py).to_string().into()),
    })
}

/// The interrupt is raised again as soon as Python goes on.
fn interrupted(error: PyErr) -> ArrowError {
    Python::attach(|py| {
        if error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) {
            // Without it, the exception of who reads the stream is all there is.
            let _ = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
        }
        ArrowError::ExternalError(format!("interrupted: {error}").into())
    })
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            (self.opening.opened, self.opening.next) = (None, usize::MAX);
        }
        read.transpose()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.rows.form().schema().clone()
    }
}
