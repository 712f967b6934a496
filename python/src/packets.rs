//! The packets of a capture: one by one, and as an Arrow stream.

use std::{
    collections::VecDeque,
    ffi::CStr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ThreadId},
};

use arrow_array::{RecordBatch, RecordBatchReader, ffi::FFI_ArrowSchema, ffi_stream::FFI_ArrowArrayStream};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::{prelude::*, types::PyCapsule};
use rdmawire::{
    capture::{Damage, Source},
    dissect::{self, dissect_with},
    filter::{Filter, FrameMeta},
    packets::{Column, Row},
};

use crate::{
    batch::{Batch, schema},
    column::choose,
    error,
    packet::Packet,
    source::{Input, Opened, Patience, dissect_options, filter},
};

/// Packets that an iterator reads ahead, where the source is no stream.
const AHEAD: usize = 256;

/// What is asked of a capture's packets.
struct Asked {
    filter: Option<Filter>,
    columns: Vec<&'static Column>,
    options: dissect::Options,
    batch_rows: usize,
    strict: bool,
}

/// The packets of a capture. Each iteration and each Arrow stream reads it from its beginning.
#[pyclass(frozen, module = "rdmawire")]
pub(crate) struct Packets {
    input: Input,
    filter: Option<String>,
    fields: Option<Vec<String>>,
    options: dissect::Options,
    batch_rows: usize,
    strict: bool,
    is_used: AtomicBool,
}

#[pymethods]
impl Packets {
    #[new]
    #[pyo3(signature = (source, *, filter=None, fields=None, roce_ports=None, batch_rows=65536, strict=false))]
    fn new(
        source: &Bound<'_, PyAny>,
        filter: Option<String>,
        fields: Option<Vec<String>>,
        roce_ports: Option<Vec<u16>>,
        batch_rows: usize,
        strict: bool,
    ) -> PyResult<Packets> {
        if !(1..=1 << 24).contains(&batch_rows) {
            return Err(error::plain("batch_rows: from 1 to 16777216"));
        }
        crate::source::filter(filter.as_deref())?;
        choose(fields.as_deref())?;
        let options = dissect_options(roce_ports)?;
        let (input, is_used) = (Input::of(source)?, AtomicBool::new(false));
        Ok(Packets { input, filter, fields, options, batch_rows, strict, is_used })
    }

    fn __iter__(&self) -> PyResult<PacketIterator> {
        Ok(PacketIterator(Mutex::new(Walk {
            opened: Some(self.open()?),
            is_stream: !self.input.is_repeatable(),
            asked: self.asked()?,
            number: 0,
            ahead: VecDeque::new(),
            failed: None,
        })))
    }

    /// The schema, for the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = schema(&choose(self.fields.as_deref())?);
        let schema = FFI_ArrowSchema::try_from(&*schema).map_err(error::plain)?;
        capsule(py, schema, c"arrow_schema")
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
        let batch = Batch::new(&asked.columns, asked.batch_rows.min(1 << 16));
        let batches = Batches {
            opened: Some(self.open()?),
            schema: schema(&asked.columns),
            asked,
            number: 0,
            batch,
            waiting: VecDeque::new(),
            patience: Patience::default(),
            asker: thread::current().id(),
        };
        capsule(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

fn capsule<'py, T: Send + 'static>(
    py: Python<'py>,
    value: T,
    name: &'static CStr,
) -> PyResult<Bound<'py, PyCapsule>> {
    // Whoever takes the value leaves one behind that is released; else it is dropped with the capsule.
    PyCapsule::new_with_value(py, value, name)
}

impl Packets {
    fn asked(&self) -> PyResult<Asked> {
        Ok(Asked {
            filter: filter(self.filter.as_deref())?,
            columns: choose(self.fields.as_deref())?,
            options: self.options,
            batch_rows: self.batch_rows,
            strict: self.strict,
        })
    }

    fn open(&self) -> PyResult<Opened> {
        if self.is_used.swap(true, Ordering::Relaxed) && !self.input.is_repeatable() {
            return Err(error::plain(
                "this source was read already, and is no file that can be opened again",
            ));
        }
        self.input.open()
    }
}

impl Asked {
    fn row<T>(
        &self,
        record: &rdmawire::capture::Record<'_>,
        number: u64,
        see: impl FnOnce(&Row<'_>) -> T,
    ) -> Option<T> {
        let d = dissect_with(self.options, record.link, record.frame, record.wire_len);
        let meta = FrameMeta { number, time_ns: record.time.0, icrc: None };
        let is_asked = self.filter.as_ref().is_none_or(|filter| filter.matches(&d, &meta));
        is_asked.then(|| see(&Row { number, record, d: &d, icrc: None }))
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
    opened: Option<Opened>,
    is_stream: bool,
    asked: Asked,
    number: u64,
    ahead: VecDeque<Packet>,
    failed: Option<PyErr>,
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

    /// Damage of the capture so far: file offset, frames before it, id, text, and whether nothing behind it can be read.
    #[getter]
    fn problems(&self, py: Python<'_>) -> Vec<(u64, u64, &'static str, String, bool)> {
        let problem = |damage: &Damage| {
            (damage.offset, damage.record, damage.problem.id(), damage.to_string(), damage.fatal)
        };
        py.detach(|| {
            let walk = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let problems = walk.opened.iter().flat_map(|opened| &opened.reader.info().problems);
            problems.map(problem).collect()
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
                self.opened = None;
                return Err(error);
            }
            let frames = self.read();
            patience.passed(frames)?;
            if frames == 0 && self.ahead.is_empty() && self.failed.is_none() {
                return Ok(None);
            }
        }
    }

    /// Reads some frames. Returns how many.
    fn read(&mut self) -> u64 {
        let Walk { opened: Some(opened), asked, number, ahead, .. } = self else { return 0 };
        let mut frames = 0;
        loop {
            let read = opened.reader.next_batch(|record| {
                *number += 1;
                ahead.extend(asked.row(record, *number, |row| Packet::of(record, row.number, asked.options)));
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
    opened: Option<Opened>,
    schema: SchemaRef,
    asked: Asked,
    number: u64,
    batch: Batch,
    waiting: VecDeque<RecordBatch>,
    patience: Patience,
    /// The thread that made the stream. Only there Python is asked for signals: other threads may not wait for it.
    asker: ThreadId,
}

impl Batches {
    /// Reads until a batch is full. `None` at the end.
    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            if let Some(batch) = self.waiting.pop_front() {
                return Ok(Some(batch));
            }
            let Batches { opened: Some(opened), asked, number, batch, waiting, .. } = self else {
                return Ok(None);
            };
            let mut made = Ok(());
            let read = opened.reader.next_batch(|record| {
                *number += 1;
                asked.row(record, *number, |row| batch.push(row));
                if batch.rows() >= asked.batch_rows {
                    match batch.finish() {
                        Ok(full) => waiting.push_back(full),
                        Err(error) => made = Err(error),
                    }
                }
            });
            made?;
            let read = read.map_err(|error| opened.raised.or(&error));
            let frames = read.and_then(|frames| asked.check(opened).map(|()| frames)).map_err(fail)?;
            if frames == 0 {
                self.opened = None;
                return match self.batch.rows() {
                    0 => Ok(None),
                    _ => self.batch.finish().map(Some),
                };
            }
            if thread::current().id() == self.asker {
                self.patience.passed(frames).map_err(interrupted)?;
            }
        }
    }
}

/// Arrow passes an error's text on, not the exception.
fn fail(error: PyErr) -> ArrowError {
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
            self.opened = None;
        }
        read.transpose()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
