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
    packets::{FileFacts, HeaderRows, analyze_headers, header_schema},
};

use crate::{
    error,
    packets::{fail, schema_capsule, stream_capsule},
    report::{Asked, NativeReport},
    source::{Input, Opened},
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
            Batches { opened: Some(opened), options: self.options.clone(), rows, frames: 0, first_ns: None };
        stream_capsule(py, batches)
    }
}

struct Batches {
    opened: Option<Opened>,
    options: Options,
    rows: HeaderRows,
    frames: u64,
    first_ns: Option<i64>,
}

impl Batches {
    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Batches { opened: Some(opened), options, rows, frames, first_ns } = self else { return Ok(None) };
        while rows.len() < ROWS {
            let read = opened.reader.next_batch(|record| {
                *frames += 1;
                first_ns.get_or_insert(record.time.0);
                rows.push(&options.headers(*frames, record));
            });
            if read.map_err(|error| fail(opened.raised.or(&error)))? == 0 {
                rows.push_facts(&FileFacts::of(opened.reader.info(), *frames, *first_ns))?;
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

/// An analysis that is fed with rows of headers.
#[pyclass(frozen, module = "rdmawire._native")]
pub(crate) struct RowAnalysis {
    analysis: Mutex<Option<Analysis>>,
    files: Vec<FileFacts>,
}

#[pymethods]
impl RowAnalysis {
    /// `files`: what is known of the tap's files, in their order, each as JSON.
    #[new]
    fn new(files: Vec<String>, mut asked: Asked) -> PyResult<RowAnalysis> {
        let files = files
            .iter()
            .map(|text| serde_json::from_str(text))
            .collect::<Result<Vec<FileFacts>, _>>()
            .map_err(|wrong| error::plain(format_args!("facts of a file: {wrong}")))?;
        let mut analysis = Analysis::new(asked.options()?);
        // Files of one tap have the same interfaces.
        let most = files.iter().max_by_key(|file| file.interfaces.len());
        for (number, (name, speed)) in (0..).zip(most.iter().flat_map(|file| &file.interfaces)) {
            analysis.interface(number, name.clone().unwrap_or_default(), *speed);
        }
        Ok(RowAnalysis { analysis: Mutex::new(Some(analysis)), files })
    }

    /// Analyzes the rows of a batch: an object of the Arrow PyCapsule interface. `number`: the column with the numbers of frames.
    fn push(&self, batch: &Bound<'_, PyAny>, number: &str) -> PyResult<()> {
        let batch = imported(batch)?;
        let analyzed = batch.py_free(|batch| {
            let mut analysis = self.analysis.lock().unwrap_or_else(PoisonError::into_inner);
            match analysis.as_mut() {
                Some(analysis) => analyze_headers(analysis, batch, number),
                None => Err(ArrowError::ExternalError("this analysis is over".into())),
            }
        });
        analyzed.map_err(error::plain)
    }

    /// Ends the analysis: its report.
    fn finish(&self, py: Python<'_>) -> PyResult<NativeReport> {
        let analysis = self.analysis.lock().unwrap_or_else(PoisonError::into_inner).take();
        let analysis = analysis.ok_or_else(|| error::plain("this analysis is over"))?;
        let files = FileFacts::files(&self.files);
        Ok(py.detach(|| NativeReport::of(analysis.end().from(files).report().collect())))
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
