//! Errors become `rdmawire.Error`.

use std::fmt::Display;

use pyo3::{
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyType},
};
use rdmawire::{capture, grammar};

/// Where something is wrong, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place<'a> {
    pub(crate) file: Option<&'a str>,
    /// From 1.
    pub(crate) frame: Option<u64>,
    /// In bytes, in the file or in the text.
    pub(crate) offset: Option<u64>,
}

/// A `rdmawire.Error`.
pub(crate) fn at(message: impl Display, place: Place<'_>) -> PyErr {
    Python::attach(|py| {
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let made = CLASS.import(py, "rdmawire._errors", "Error").and_then(|class| {
            let named = PyDict::new(py);
            named.set_item("file", place.file)?;
            named.set_item("frame", place.frame)?;
            named.set_item("offset", place.offset)?;
            class.call((message.to_string(),), Some(&named))
        });
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

pub(crate) fn plain(message: impl Display) -> PyErr {
    at(message, Place::default())
}

/// A text that is not understood. `what` is the argument that has it.
pub(crate) fn text(what: &str, error: &grammar::Error) -> PyErr {
    let offset = u64::try_from(error.offset()).ok();
    at(format_args!("{what}: {error}"), Place { offset, ..Place::default() })
}

/// A capture that cannot be read or written.
pub(crate) fn capture(error: &capture::Error) -> PyErr {
    at(error, Place { file: Some(error.name()), ..Place::default() })
}

/// Damage in a capture.
pub(crate) fn damage(file: &str, damage: &capture::Damage) -> PyErr {
    let place = Place { file: Some(file), frame: Some(damage.record + 1), offset: Some(damage.offset) };
    at(format_args!("{file}: {damage}"), place)
}
