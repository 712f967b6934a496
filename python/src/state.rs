//! The state of an analysis as bytes. `_state.py` knows where they are kept.

use pyo3::{prelude::*, pybacked::PyBackedBytes, types::PyBytes};
use rdmawire::{
    analyze::{self, Analysis, Files, Options, StateError},
    logs,
};

use crate::{
    error::{self, Place},
    report::NativeReport,
};

/// A state to go on with, and what an error calls it.
#[derive(FromPyObject)]
pub(crate) struct Kept(PyBackedBytes, String);

/// A report, and the state behind the last frame.
pub(crate) type Ended = (NativeReport, Option<Py<PyBytes>>);

/// An analysis without frames, or one that goes on.
pub(crate) fn begin(options: Options, state: Option<&Kept>) -> PyResult<Analysis> {
    let Some(Kept(bytes, name)) = state else { return Ok(Analysis::new(options)) };
    Analysis::resume(options, &bytes[..]).map_err(|wrong| {
        let place = Place { file: Some(name), ..Place::default() };
        match wrong {
            StateError::Metric { .. } => {
                let why = "it is for pictures: the earlier run had --html, --perfetto or --flow";
                error::at(format_args!("state_in: {name}: {why}"), place)
            }
            wrong => error::at(format_args!("state_in: {name}: {wrong}"), place),
        }
    })
}

/// Ends an analysis, after its state is saved if that is wanted.
pub(crate) fn end(
    mut analysis: Analysis,
    files: Files,
    errors: &[logs::Line],
    is_saved: bool,
) -> PyResult<Ended> {
    analysis.add_files(files);
    let mut state = Vec::new();
    if is_saved {
        analysis.save(&mut state).map_err(error::plain)?;
    }
    let state = is_saved.then(|| Python::attach(|py| PyBytes::new(py, &state).unbind()));
    let ended = analysis.end();
    let mut report = ended.report();
    if !errors.is_empty() {
        logs::join(&mut report, errors);
    }
    Ok((NativeReport::of(report.collect()), state))
}

/// Whether a file that begins so is the state of an analysis.
#[pyfunction]
pub(crate) fn is_state(begin: &[u8]) -> bool {
    analyze::is_state(begin)
}
