//! Where frames come from: paths, bytes, file objects.

use std::{
    collections::BTreeMap,
    io::{self, Cursor, Read},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyByteArray, PyBytes, PyMemoryView},
};
use rdmawire::{
    capture::{self, Info, Reader, Record, Series, Source},
    dissect::{self, MAX_PORTS, ROCE_PORT},
    filter::Filter,
    wire::Kind,
};

use crate::error;

/// After so many frames, Python is asked whether a signal came.
const PATIENCE: u64 = 1 << 14;

/// A capture that can be opened.
pub(crate) enum Input {
    Path(PathBuf),
    /// The files of one capture, in the order of time.
    Parts(Vec<PathBuf>),
    Bytes(PyBackedBytes),
    /// An object with `read`: it can be read once.
    File {
        object: Py<PyAny>,
        name: String,
    },
}

impl Input {
    pub(crate) fn of(source: &Bound<'_, PyAny>) -> PyResult<Input> {
        let py = source.py();
        if source.is_instance_of::<PyBytes>() || source.is_instance_of::<PyByteArray>() {
            return Ok(Input::Bytes(source.extract()?));
        }
        if source.is_instance_of::<PyMemoryView>() {
            let bytes = py.get_type::<PyBytes>().call1((source,))?;
            return Ok(Input::Bytes(bytes.extract()?));
        }
        if source.hasattr("read")? {
            let name = source.getattr("name").ok().and_then(|name| name.extract::<String>().ok());
            let name = name.unwrap_or_else(|| "<file>".to_owned());
            return Ok(Input::File { object: source.clone().unbind(), name });
        }
        let Ok(path) = source.extract::<PathBuf>() else {
            let class = source.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "expected a path, bytes, or a binary file, not {class}"
            )));
        };
        // A pipe may keep the reader waiting: Python's own files listen to Ctrl-C meanwhile.
        if path == Path::new("-") {
            let object = py.import("sys")?.getattr("stdin")?.getattr("buffer")?.unbind();
            return Ok(Input::File { object, name: "-".to_owned() });
        }
        if std::fs::metadata(&path).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
            let file = py.import("io")?.call_method1("open", (&path, "rb", 0))?;
            return Ok(Input::File { object: file.unbind(), name: path.display().to_string() });
        }
        Ok(Input::Path(path))
    }

    /// The captures of these inputs: files that are parts of one are one input.
    pub(crate) fn joined(inputs: Vec<Input>) -> Vec<Input> {
        let (mut paths, mut others) = (Vec::new(), Vec::new());
        for (at, input) in inputs.into_iter().enumerate() {
            match input {
                Input::Path(path) => paths.push((at, path)),
                other => others.push((at, other)),
            }
        }
        let files: Vec<PathBuf> = paths.iter().map(|(_, path)| path.clone()).collect();
        let mut captures = others;
        for parts in capture::parts_of_one(&files) {
            let at = paths.iter().find(|(_, path)| parts.contains(path)).map_or(0, |(at, _)| *at);
            captures.push((at, Input::Parts(parts)));
        }
        captures.sort_by_key(|(at, _)| *at);
        captures.into_iter().map(|(_, input)| input).collect()
    }

    /// Whether it can be opened again.
    pub(crate) fn is_repeatable(&self) -> bool {
        !matches!(self, Input::File { .. })
    }

    pub(crate) fn open(&self) -> PyResult<Opened> {
        let raised = Raised::default();
        // A compressed file object is read by another thread, which needs Python.
        let reader = Python::attach(|py| match self {
            Input::Path(path) => py.detach(|| capture::open(path)).map(Series::from),
            Input::Parts(parts) => py.detach(|| Series::open(&parts[0], parts[1..].iter().cloned())),
            Input::Bytes(bytes) => {
                let bytes = Cursor::new(bytes.clone_ref(py));
                py.detach(|| Reader::from_read(bytes, "<bytes>")).map(Series::from)
            }
            Input::File { object, name } => {
                let file = FileObject { object: object.clone_ref(py), raised: raised.clone() };
                py.detach(|| Reader::from_read(file, name)).map(Series::from)
            }
        });
        match reader {
            Ok(reader) => Ok(Opened { reader, raised }),
            Err(error) => Err(raised.or(&error)),
        }
    }
}

/// An open capture.
pub(crate) struct Opened {
    pub(crate) reader: Series,
    pub(crate) raised: Raised,
}

/// What a file object raised. The capture's error has only its text.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// What was raised, or else the capture's error.
    pub(crate) fn or(&self, error: &capture::Error) -> PyErr {
        let raised = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        raised.unwrap_or_else(|| error::capture(error))
    }
}

/// A Python object with `read`.
struct FileObject {
    object: Py<PyAny>,
    raised: Raised,
}

impl Read for FileObject {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = Python::attach(|py| -> PyResult<usize> {
            let got = self.object.call_method1(py, "read", (into.len(),))?;
            let Ok(got) = got.extract::<PyBackedBytes>(py) else {
                return Err(PyTypeError::new_err("read() gave no bytes: open the file in binary mode"));
            };
            let to = into
                .get_mut(..got.len())
                .ok_or_else(|| PyTypeError::new_err("read() gave more bytes than it was asked for"))?;
            to.copy_from_slice(&got);
            Ok(got.len())
        });
        read.map_err(|error| {
            let text = error.to_string();
            *self.raised.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            io::Error::other(text)
        })
    }
}

/// Counts frames, and raises what a signal handler raised.
#[derive(Default)]
pub(crate) struct Patience(u64);

impl Patience {
    pub(crate) fn passed(&mut self, frames: u64) -> PyResult<()> {
        self.0 += frames;
        if self.0 < PATIENCE {
            return Ok(());
        }
        self.0 = 0;
        Python::attach(|py| py.check_signals())
    }
}

/// Shows all frames of a source, with their numbers from 1. `interfaces` hears of new interfaces, and of how many there were.
pub(crate) fn each(
    source: &mut impl Source,
    raised: &[Raised],
    mut see: impl FnMut(&Record<'_>, u64),
    mut after: impl FnMut(&Info) -> PyResult<()>,
) -> PyResult<()> {
    let (mut number, mut patience) = (0, Patience::default());
    loop {
        let shown = source.next_batch(|record| {
            number += 1;
            see(record, number);
        });
        match shown {
            Ok(0) => return after(source.info()),
            Ok(frames) => patience.passed(frames)?,
            Err(error) => {
                let first = raised
                    .iter()
                    .find(|raised| raised.0.lock().unwrap_or_else(PoisonError::into_inner).is_some());
                return Err(first.map_or_else(|| error::capture(&error), |raised| raised.or(&error)));
            }
        }
        after(source.info())?;
    }
}

/// `filter=`.
pub(crate) fn filter(text: Option<&str>) -> PyResult<Option<Filter>> {
    text.map(|text| Filter::parse(text).map_err(|error| error::text("filter", &error))).transpose()
}

/// `decap=`: ports, and the header behind UDP. Names are those of `--decap`.
pub(crate) fn tunnels(decap: &BTreeMap<u16, String>) -> PyResult<[(u16, Kind); MAX_PORTS]> {
    let mut tunnels = dissect::Options::default().tunnels;
    if decap.len() > MAX_PORTS || decap.contains_key(&0) {
        return Err(error::plain(format_args!("decap: at most {MAX_PORTS} ports, from 1 to 65535")));
    }
    for (to, (&port, name)) in tunnels.iter_mut().zip(decap) {
        let names = || dissect::Options::TUNNELS.map(|tunnel| tunnel.0).join(", ");
        let kind = dissect::Options::tunnel_named(name);
        let kind = kind.ok_or_else(|| error::plain(format_args!("decap: expected one of {}", names())))?;
        *to = (port, kind);
    }
    Ok(tunnels)
}

/// `roce_ports=`.
pub(crate) fn dissect_options(roce_ports: Option<Vec<u16>>) -> PyResult<dissect::Options> {
    let ports = roce_ports.unwrap_or_else(|| vec![ROCE_PORT]);
    match ports[..] {
        [a] => Ok(dissect::Options { roce_ports: [a, 0], ..Default::default() }),
        [a, b] => Ok(dissect::Options { roce_ports: [a, b], ..Default::default() }),
        _ => Err(error::plain("roce_ports: one or two UDP ports")),
    }
}
