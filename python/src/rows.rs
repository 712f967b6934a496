//! Frames as rows of headers, and their analysis from such rows, on any machine.

use std::sync::{Mutex, PoisonError};

use arrow_array::{
    RecordBatch, RecordBatchReader, StructArray,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi},
};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyCapsuleMethods},
};
use rdmawire::{
    analyze::{Analysis, Options},
    capture::Source,
    packets::{FileFacts, FileSpan, HeaderMerge, HeaderRows, analyze_headers, header_schema},
};

use crate::{
    error,
    packets::{fail, schema_capsule, stream_capsule},
    report::Asked,
    source::{Input, Opened},
    state::{self, Ended, Kept},
};

/// Rows of a batch.
const ROWS: usize = 1 << 14;

/// The frames of a capture as rows of headers: a stream of record batches by the Arrow PyCapsule interface.
#[pyclass(frozen, module = "rdmawire._native")]
pub(crate) struct Headers {
    input: Input,
    tap: String,
    options: Options,
}

#[pymethods]
impl Headers {
    #[new]
    fn new(source: &Bound<'_, PyAny>, tap: String, mut asked: Asked) -> PyResult<Headers> {
        Ok(Headers { input: Input::of(source)?, tap, options: asked.options()? })
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &header_schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        requested_schema: Option<Bound<'py, PyAny>>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let opened = self.input.open()?;
        let rows = HeaderRows::new(&self.tap, &opened.reader.info().name);
        let batches =
            Batches { opened: Some(opened), options: self.options.clone(), rows, span: FileSpan::default() };
        stream_capsule(py, batches)
    }
}

struct Batches {
    opened: Option<Opened>,
    options: Options,
    rows: HeaderRows,
    span: FileSpan,
}

impl Batches {
    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Batches { opened: Some(opened), options, rows, span } = self else { return Ok(None) };
        while rows.len() < ROWS {
            let read = opened.reader.next_batch(|record| {
                rows.push(&options.headers(span.add(record), record));
            });
            if read.map_err(|error| fail(opened.raised.or(&error)))? == 0 {
                rows.push_facts(&FileFacts::of(opened.reader.info(), *span))?;
                let last = rows.finish()?;
                self.opened = None;
                return Ok(Some(last));
            }
        }
        rows.finish().map(Some)
    }
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
        header_schema()
    }
}

/// What is known of a capture beside its frames: row 0 of its rows, as JSON.
#[pyfunction]
pub(crate) fn file_facts(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut opened = Input::of(source)?.open()?;
    let mut span = FileSpan::default();
    py.detach(|| {
        loop {
            let read = opened.reader.next_batch(|record| _ = span.add(record));
            if read.map_err(|error| fail(opened.raised.or(&error)))? == 0 {
                let facts = FileFacts::of(opened.reader.info(), span);
                return serde_json::to_string(&facts)
                    .map_err(|error| ArrowError::ExternalError(Box::new(error)));
            }
        }
    })
    .map_err(error::plain)
}

fn facts_of(text: &str) -> PyResult<FileFacts> {
    serde_json::from_str(text).map_err(|wrong| error::plain(format_args!("facts of a file: {wrong}")))
}

/// An analysis that is fed with rows of headers, of one tap.
#[pyclass(frozen, module = "rdmawire._native")]
pub(crate) struct RowAnalysis {
    running: Mutex<Option<(Analysis, HeaderMerge)>>,
}

#[pymethods]
impl RowAnalysis {
    /// `state`: what it goes on with.
    #[new]
    fn new(mut asked: Asked, state: Option<Kept>, py: Python<'_>) -> PyResult<RowAnalysis> {
        let options = asked.options()?;
        let analysis = py.detach(|| state::begin(options, state.as_ref()))?;
        Ok(RowAnalysis { running: Mutex::new(Some((analysis, HeaderMerge::default()))) })
    }

    /// Whether its state has a file already. `facts`: its row 0.
    fn has(&self, facts: &str) -> PyResult<bool> {
        let facts = facts_of(facts)?;
        self.with(|analysis, _| Ok(analysis.files().has(&facts.file, &facts.id()))).map_err(error::plain)
    }

    /// Announces a file, before its rows: in the order of the times of their first frames, and of their names. `facts`: its row 0. Returns how many
    /// frames are before it, and the time that its rows are not before.
    fn file(&self, facts: &str) -> PyResult<(u64, i64)> {
        let facts = facts_of(facts)?;
        self.with(|analysis, merge| Ok(merge.file(facts, analysis))).map_err(error::plain)
    }

    /// Analyzes rows of a file: an object of the Arrow PyCapsule interface. Batches come in the order of their first rows, by
    /// `order_ns`, file and `frame`; rows wait for those of other files that belong before them.
    fn push(&self, file: &str, batch: &Bound<'_, PyAny>) -> PyResult<()> {
        let batch = imported(batch)?;
        batch
            .py_free(|batch| self.with(|analysis, merge| merge.push(file, batch, analysis)))
            .map_err(error::plain)
    }

    /// Analyzes rows that are sorted already. `number`: the column with the numbers of frames among all files.
    fn push_sorted(&self, batch: &Bound<'_, PyAny>, number: &str) -> PyResult<()> {
        let batch = imported(batch)?;
        batch
            .py_free(|batch| self.with(|analysis, _| analyze_headers(analysis, batch, number)))
            .map_err(error::plain)
    }

    /// Ends the analysis: its report, and its state if it `is_saved`.
    fn finish(&self, is_saved: bool, py: Python<'_>) -> PyResult<Ended> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (mut analysis, merge) = running.ok_or_else(|| error::plain(OVER))?;
        py.detach(|| {
            let files = merge.finish(&mut analysis);
            state::end(analysis, files, &[], is_saved)
        })
    }
}

const OVER: &str = "this analysis is over";

impl RowAnalysis {
    fn with<T>(
        &self,
        use_it: impl FnOnce(&mut Analysis, &mut HeaderMerge) -> Result<T, ArrowError>,
    ) -> Result<T, ArrowError> {
        match self.running.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some((analysis, merge)) => use_it(analysis, merge),
            None => Err(ArrowError::ExternalError(OVER.into())),
        }
    }
}

/// A batch that is used without Python's lock.
struct Imported(RecordBatch);

impl Imported {
    fn py_free<T: Send>(&self, use_it: impl FnOnce(&RecordBatch) -> T + Send) -> T {
        Python::attach(|py| py.detach(|| use_it(&self.0)))
    }
}

/// A record batch of another library.
fn imported(batch: &Bound<'_, PyAny>) -> PyResult<Imported> {
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
        batch.call_method0("__arrow_c_array__")?.extract()?;
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: capsules of these names have these structs (the Arrow PyCapsule interface), and they live as long as the capsules. The
    // array is taken: what stays behind is marked as released.
    let data = unsafe {
        let taken = FFI_ArrowArray::from_raw(array.as_ptr());
        from_ffi(taken, schema.as_ref())
    };
    Ok(Imported(RecordBatch::from(StructArray::from(data.map_err(error::plain)?))))
}
