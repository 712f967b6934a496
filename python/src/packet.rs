//! One packet as a Python object.

use pyo3::{
    exceptions::PyAttributeError,
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyDict},
};
use rdmawire::{
    capture::{Record, Time},
    dissect::{self, Dissection, Link, dissect_with},
    filter::{Filter, FrameMeta},
    frame::{Frame, Info, Json, Names, write_tree},
    icrc::{self, State},
    packets::{COLUMNS, Column, Row},
};

use crate::{column, error, source};

/// A frame with its place in its capture. Every column of `rdmawire.columns()` is an attribute.
#[pyclass(frozen, module = "rdmawire")]
#[derive(Clone)]
pub(crate) struct Packet {
    pub(crate) data: Box<[u8]>,
    pub(crate) time_ns: i64,
    number: u64,
    interface: u16,
    link: Link,
    wire_len: u32,
    options: dissect::Options,
}

impl Packet {
    pub(crate) fn of(record: &Record<'_>, number: u64, options: dissect::Options) -> Packet {
        Packet {
            data: record.frame.into(),
            time_ns: record.time.0,
            number,
            interface: record.interface,
            link: record.link,
            wire_len: record.wire_len,
            options,
        }
    }

    pub(crate) fn record(&self) -> Record<'_> {
        Record {
            time: Time(self.time_ns),
            link: self.link,
            interface: self.interface,
            wire_len: self.wire_len,
            frame: &self.data,
        }
    }

    fn dissection(&self) -> Dissection<'_> {
        dissect_with(self.options, self.link, &self.data, self.wire_len)
    }

    fn row<'a>(&self, record: &'a Record<'a>, d: &'a Dissection<'a>) -> Row<'a> {
        Row { number: self.number, record, d, icrc: None, is_other_udp: false }
    }

    fn with_frame<T>(&self, see: impl FnOnce(&Frame<'_>) -> T) -> T {
        let d = self.dissection();
        see(&Frame::new(self.number, self.time_ns, &d).verified())
    }
}

#[pymethods]
impl Packet {
    /// A packet of bytes.
    #[new]
    #[pyo3(signature = (data, *, link=1, time_ns=0, frame=1, length=None, interface=0, roce_ports=None))]
    fn new(
        data: PyBackedBytes,
        link: u16,
        time_ns: i64,
        frame: u64,
        length: Option<u32>,
        interface: u16,
        roce_ports: Option<Vec<u16>>,
    ) -> PyResult<Packet> {
        let Ok(captured) = u32::try_from(data.len()) else {
            return Err(error::plain("data: a frame has less than 4 GiB"));
        };
        let options = source::dissect_options(roce_ports)?;
        let wire_len = length.unwrap_or(captured).max(captured);
        Ok(Packet {
            data: (&*data).into(),
            time_ns,
            number: frame,
            interface,
            link: Link(link),
            wire_len,
            options,
        })
    }

    /// A column by its name.
    fn __getattr__(&self, name: &str, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match Column::of(name).filter(|column| !column.is_of_rows()) {
            Some(column) => column::value(column, &self.row(&self.record(), &self.dissection()), py),
            None => Err(PyAttributeError::new_err(format!("'Packet' object has no attribute '{name}'"))),
        }
    }

    /// What completion offers: the columns, too.
    fn __dir__(slf: &Bound<'_, Packet>) -> PyResult<Vec<String>> {
        let own = slf.py().get_type::<PyAny>().call_method1("__dir__", (slf,))?;
        let mut names: Vec<String> = own.extract()?;
        names.extend(COLUMNS.iter().map(|column| column.name.to_owned()));
        Ok(names)
    }

    /// The captured bytes.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.data)
    }

    /// The payload that was captured, without padding.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.dissection().payload())
    }

    /// The packet in one line.
    #[getter]
    fn info(&self) -> String {
        self.with_frame(|frame| Info::new(frame.dissection, frame.icrc).to_string())
    }

    /// Ids of what is wrong with the packet, or worth knowing.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.dissection().notes().iter().map(|note| note.id().to_string()).collect()
    }

    /// Columns by their names: these, or all.
    #[pyo3(signature = (fields=None))]
    fn to_dict<'py>(&self, fields: Option<Vec<String>>, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = column::choose(fields.as_deref())?;
        if let Some(column) = columns.iter().find(|column| column.is_of_rows()) {
            return Err(error::plain(format_args!(
                "fields: one packet has no {}, only a table",
                column.name
            )));
        }
        let (record, d) = (self.record(), self.dissection());
        let row = self.row(&record, &d);
        let dict = PyDict::new(py);
        columns
            .into_iter()
            .try_for_each(|column| dict.set_item(column.name, column::value(column, &row, py)?))?;
        Ok(dict)
    }

    /// Whether a filter is true for it.
    fn matches(&self, filter: &str) -> PyResult<bool> {
        let filter = Filter::parse(filter).map_err(|error| error::text("filter", &error))?;
        let meta = FrameMeta { number: self.number, time_ns: self.time_ns, icrc: None };
        Ok(filter.matches(&self.dissection(), &meta))
    }

    /// All layers and fields, as JSON.
    #[pyo3(name = "_json")]
    fn json(&self) -> PyResult<String> {
        let mut text = String::new();
        let written = self.with_frame(|frame| Json::new(Names::Own).write(frame, None, &mut text));
        written.map_err(error::plain)?;
        Ok(text)
    }

    /// All layers and fields as text, one a line.
    fn tree(&self) -> PyResult<String> {
        let mut text = String::new();
        let written = self.with_frame(|frame| write_tree(frame, Names::Own, &mut text));
        written.map_err(error::plain)?;
        Ok(text)
    }

    /// The right ICRC, as its four bytes in their order; none where it is not known.
    #[getter]
    fn right_icrc(&self) -> Option<u32> {
        icrc::compute(&self.dissection()).map(u32::from_be_bytes)
    }

    fn __len__(&self) -> usize {
        self.data.len()
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.data(py)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let key = |packet: &Packet| {
            (packet.time_ns, packet.number, packet.interface, packet.link, packet.wire_len, packet.options)
        };
        other.cast::<Packet>().is_ok_and(|other| {
            let other = other.get();
            key(self) == key(other) && self.data == other.data
        })
    }

    fn __hash__(&self) -> u64 {
        self.number ^ (self.time_ns as u64).rotate_left(20) ^ self.data.len() as u64
    }

    fn __repr__(&self) -> String {
        let state = icrc::verify(&self.dissection());
        let bad = if state == State::Bad { " (ICRC bad)" } else { "" };
        format!("<Packet {}: {} bytes, {}{bad}>", self.number, self.wire_len, self.info().trim())
    }

    /// For `pickle` and `multiprocessing`.
    fn __reduce__<'py>(
        slf: &Bound<'py, Packet>,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let packet = slf.get();
        let named = PyDict::new(py);
        named.set_item("link", packet.link.0)?;
        named.set_item("time_ns", packet.time_ns)?;
        named.set_item("frame", packet.number)?;
        named.set_item("length", packet.wire_len)?;
        named.set_item("interface", packet.interface)?;
        let ports: Vec<u16> = packet.options.roce_ports.into_iter().filter(|&port| port != 0).collect();
        named.set_item("roce_ports", ports)?;
        let make = py.import("functools")?.getattr("partial")?.call((slf.get_type(),), Some(&named))?;
        Ok((make, (packet.data(py),).into_pyobject(py)?.into_any()))
    }
}
