//! Frames made and changed: recipes, scenarios, rewriting, writing.

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::{
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyDict},
};
use rdmawire::{
    capture::{self, Format, Record, Sink, Source, Time, Writer},
    craft::{
        Edit, recipe,
        rewrite::{Plan, Rewriter},
    },
    dissect::{Encapsulation, Link},
    sim::{self, Scenario},
};

use crate::{
    error,
    packet::Packet,
    source::{Input, Patience},
};

/// The frame of a recipe, and its link type.
#[pyfunction]
pub(crate) fn craft<'py>(text: &str, seed: u64, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, u16)> {
    let packet = recipe::parse_seeded(text, seed).map_err(|error| error::text("recipe", &error))?;
    Ok((PyBytes::new(py, &packet.build()), packet.link().0))
}

/// The format of a file, by its name.
fn format_of(path: &std::path::Path) -> PyResult<Format> {
    let name = path.display().to_string();
    Format::of_name(&name).ok_or_else(|| {
        let message = format!("{name}: cannot tell the format from the name: use .pcap, .pcapng or .erf");
        error::at(message, error::Place { file: Some(&name), ..Default::default() })
    })
}

/// Bytes in memory that a writer fills.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The captures of a scenario: for each tap its name, its capture, and what an analysis must find, as JSON.
#[pyfunction]
pub(crate) fn craft_scenario<'py>(
    text: &str,
    seed: Option<u64>,
    format: &str,
    py: Python<'py>,
) -> PyResult<Vec<(String, Bound<'py, PyBytes>, String)>> {
    let wrong = |wrong: sim::Error| error::plain(format_args!("scenario: {wrong}"));
    let format = Format::from_name(format).ok_or_else(|| {
        error::plain(format_args!("format: {format:?} is none; pcap, pcap-us, pcapng, erf"))
    })?;
    let taps = py.detach(|| {
        let mut scenario = Scenario::parse(text).map_err(wrong)?;
        scenario.seed = seed.unwrap_or(scenario.seed);
        let run = sim::run(&scenario).map_err(wrong)?;
        let tap = |tap: usize| {
            let memory = Memory::default();
            let (interfaces, options) = ([run.interface(tap)], capture::Options::default());
            let mut writer = Writer::to_write(memory.clone(), "<bytes>", format, &interfaces, &options)
                .map_err(|error| error::capture(&error))?;
            let (mut frames, mut patience) = (run.frames(tap), Patience::default());
            while let Some(frame) = frames.next() {
                let sim::Frame { time_ns, link, wire_len, bytes } = frame;
                let record = Record { time: Time(time_ns), link, interface: 0, wire_len, frame: bytes };
                writer.put(&record).map_err(|error| error::capture(&error))?;
                patience.passed(1)?;
            }
            writer.finish().map_err(|error| error::capture(&error))?;
            let bytes = std::mem::take(&mut *memory.0.lock().unwrap_or_else(PoisonError::into_inner));
            Ok((run.captures[tap].tap.name.clone(), bytes, run.expect(tap).to_string()))
        };
        (0..run.captures.len()).map(tap).collect::<PyResult<Vec<_>>>()
    })?;
    Ok(taps.into_iter().map(|(name, bytes, expect)| (name, PyBytes::new(py, &bytes), expect)).collect())
}

/// Copies a capture with changes. Returns counts.
#[pyfunction]
#[pyo3(signature = (source, destination, *, anonymize, seed, zero_payload, snaplen, to, set, force))]
#[allow(clippy::too_many_arguments, reason = "they are the options of a command")]
pub(crate) fn rewrite<'py>(
    source: &Bound<'py, PyAny>,
    destination: PathBuf,
    anonymize: bool,
    seed: u64,
    zero_payload: bool,
    snaplen: Option<u32>,
    to: Option<String>,
    set: Vec<String>,
    force: bool,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let input = Input::of(source)?;
    let edit = |text: &String| Edit::parse(text).map_err(|error| error::text("set", &error));
    let plan = Plan {
        anonymize,
        edits: set.iter().map(edit).collect::<PyResult<_>>()?,
        to: to.map(|name| encapsulation(&name)).transpose()?,
        zero_payload,
        snaplen,
        seed,
        trim: None,
    };
    let format = format_of(&destination)?;
    let (counts, problems) = py.detach(|| {
        let (mut rewriter, mut patience) = (Rewriter::new(plan), Patience::default());
        if anonymize && input.is_repeatable() {
            let mut opened = input.open()?;
            while let Some(record) = opened.reader.next().map_err(|error| opened.raised.or(&error))? {
                rewriter.learn(&record);
                patience.passed(1)?;
            }
        }
        let mut opened = input.open()?;
        let options = capture::Options { force, ..capture::Options::default() };
        let mut sink =
            capture::create(&destination, format, &[], options).map_err(|error| error::capture(&error))?;
        while let Some(record) = opened.reader.next().map_err(|error| opened.raised.or(&error))? {
            let (time, interface, number) = (record.time, record.interface, rewriter.counts().frames + 1);
            let new = rewriter.rewrite(&record).map_err(|wrong| {
                let place = error::Place { frame: Some(number), ..Default::default() };
                error::at(format_args!("frame {number}: {wrong}"), place)
            })?;
            let (link, wire_len, frame) = (new.link, new.wire_len, new.frame.to_vec());
            if sink.lacks(opened.reader.info()) {
                sink.describe(&rewriter.info(opened.reader.info()));
            }
            let record = Record { time, interface, link, wire_len, frame: &frame };
            let comments: Vec<_> = opened.reader.comments().filter(|_| rewriter.keeps_comments()).collect();
            let comments: Vec<&str> = comments.iter().map(AsRef::as_ref).collect();
            let options: Vec<_> =
                opened.reader.options().filter_map(|option| rewriter.option(option)).collect();
            sink.put_with_options(&record, &comments, &options).map_err(|error| error::capture(&error))?;
            patience.passed(1)?;
        }
        sink.describe(&rewriter.info(opened.reader.info()));
        sink.finish().map_err(|error| error::capture(&error))?;
        PyResult::Ok((rewriter.counts(), opened.reader.info().problem_count))
    })?;
    let dict = PyDict::new(py);
    dict.set_item("frames", counts.frames)?;
    dict.set_item("unchanged", counts.unchanged)?;
    dict.set_item("bad_icrc", counts.bad_icrc)?;
    dict.set_item("not_converted", counts.not_converted)?;
    dict.set_item("missed_edits", counts.missed_edits)?;
    dict.set_item("problems", problems)?;
    Ok(dict)
}

fn encapsulation(name: &str) -> PyResult<Encapsulation> {
    let all = Encapsulation::ALL;
    all.into_iter().find(|to| to.name() == name).ok_or_else(|| {
        error::plain(format_args!("to: expected one of {}", all.map(Encapsulation::name).join(", ")))
    })
}

/// Writes frames into a capture. Returns how many.
#[pyfunction]
pub(crate) fn write(
    destination: PathBuf,
    frames: &Bound<'_, PyAny>,
    link: u16,
    force: bool,
) -> PyResult<u64> {
    let options = capture::Options { force, ..capture::Options::default() };
    let format = format_of(&destination)?;
    let mut sink =
        capture::create(&destination, format, &[], options).map_err(|error| error::capture(&error))?;
    let mut number = 0;
    for frame in frames.try_iter()? {
        let frame = frame?;
        number += 1;
        let wrong = |error: capture::Error| {
            let place = error::Place { file: Some(error.name()), frame: Some(number), offset: None };
            error::at(format_args!("frame {number}: {error}"), place)
        };
        if let Ok(packet) = frame.cast::<Packet>() {
            sink.put(&packet.get().record()).map_err(wrong)?;
            continue;
        }
        let bytes: PyBackedBytes = frame.extract()?;
        let wire_len = u32::try_from(bytes.len()).map_err(error::plain)?;
        // Frames without a time are a microsecond apart, as those of `rdmawire craft`.
        let time = Time(1000 * (number - 1) as i64);
        let record = Record { time, link: Link(link), interface: 0, wire_len, frame: &bytes };
        sink.put(&record).map_err(wrong)?;
    }
    sink.finish().map_err(|error| error::capture(&error))?;
    Ok(number)
}
