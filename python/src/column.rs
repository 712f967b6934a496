//! The columns of packets as Python objects and as Arrow types.

use arrow_schema::DataType;
use pyo3::{IntoPyObjectExt, prelude::*};
use rdmawire::packets::{COLUMNS, Cell, Column, Get, Row};

use crate::{error, packet::Packet};

macro_rules! attributes {
    ($($name:ident $kind:ident $doc:literal $get:expr;)*) => {
        /// The places of columns in [`COLUMNS`].
        #[allow(non_camel_case_types, reason = "they are the names of attributes")]
        enum Place { $($name),* }

        #[pymethods]
        impl Packet {
            $(
                #[doc = $doc]
                #[getter]
                fn $name(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                    self.column(&COLUMNS[Place::$name as usize], py)
                }
            )*
        }
    };
}

rdmawire::packet_columns!(attributes);

/// The columns of these names, or all.
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

/// The Arrow type of a column.
pub(crate) fn data_type(column: &Column) -> DataType {
    match column.get {
        Get::U8(_) => DataType::UInt8,
        Get::U16(_) => DataType::UInt16,
        Get::U32(_) => DataType::UInt32,
        Get::U64(_) => DataType::UInt64,
        Get::I64(_) => DataType::Int64,
        Get::Bool(_) => DataType::Boolean,
        Get::Word(_) | Get::Name(_) => DataType::Utf8,
    }
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

/// Name, Arrow type and meaning of every column.
#[pyfunction]
pub(crate) fn columns() -> Vec<(&'static str, String, &'static str)> {
    COLUMNS.iter().map(|column| (column.name, data_type(column).to_string(), column.doc)).collect()
}
