//! The columns of packets as Python objects and as Arrow types.

use pyo3::{IntoPyObjectExt, prelude::*};
use rdmawire::packets::{CAPTURE, COLUMNS, Cell, Column, Row, VERDICT_COLUMNS};

use crate::error;

/// The columns of these names, or all that a frame has by itself.
pub(crate) fn choose(names: Option<&[String]>) -> PyResult<Vec<&'static Column>> {
    let Some(names) = names else { return Ok(COLUMNS.iter().collect()) };
    if names.is_empty() {
        return Err(error::plain("fields: at least one; rdmawire.columns() lists them"));
    }
    let find = |name: &String| {
        Column::of(name).ok_or_else(|| {
            error::plain(format_args!("fields: there is no column {name:?}; rdmawire.columns() lists them"))
        })
    };
    names.iter().map(find).collect()
}

/// The value of a frame as a Python object.
pub(crate) fn value(column: &Column, row: &Row<'_>, py: Python<'_>) -> PyResult<Py<PyAny>> {
    match column.value(row) {
        Cell::Empty => Ok(py.None()),
        Cell::Unsigned(n) => n.into_py_any(py),
        Cell::Signed(n) => n.into_py_any(py),
        Cell::Bool(is) => is.into_py_any(py),
        Cell::Word(word) => word.into_py_any(py),
        Cell::Name(name) => name.to_string().into_py_any(py),
    }
}

pub(crate) type Described = (&'static str, String, &'static str);

pub(crate) fn describe(column: &'static Column) -> Described {
    (column.name, column.data_type().to_string(), column.doc)
}

/// Name, Arrow type and meaning of every column that a frame has by itself.
#[pyfunction]
pub(crate) fn columns() -> Vec<Described> {
    COLUMNS.iter().map(describe).collect()
}

/// Name, Arrow type and meaning of the columns that only rows have: the capture, and what the analysis says.
#[pyfunction]
pub(crate) fn row_columns() -> Vec<Described> {
    std::iter::once(&CAPTURE).chain(VERDICT_COLUMNS).map(describe).collect()
}
