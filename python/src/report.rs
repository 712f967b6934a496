//! Analysis, and gates over its reports.

use std::{
    collections::BTreeMap,
    ffi::CString,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use pyo3::{exceptions::PyUserWarning, prelude::*, pybacked::PyBackedBytes, types::PyBytes};
use rdmawire::{
    analyze::{
        Analysis, Files, KnownConnection, Links, Options, QosMap, StormProfile, TrimProfile,
        metric::messages::Messages,
    },
    capture::{Info, Interface, Source},
    filter::FrameMeta,
    gate::{
        self, Before, Rule, Unknown,
        write::{self, Checked},
    },
    grammar::{self, print::several, units},
    icrc::State,
    logs::{self, Log},
    report::{self, FrameOrder, Message, Renderer, Severity, json::Json, table::Table},
    taps,
};

use crate::{
    error,
    source::{self, Input, Opened, Raised},
    state::{self, Ended, Kept},
};

/// A number, or a text with a unit.
#[derive(FromPyObject)]
pub(crate) enum Quantity {
    Number(u64),
    Time(Duration),
    Text(String),
}

impl Quantity {
    fn read(self, what: &str, parse: fn(&str) -> Result<u64, grammar::Error>) -> PyResult<u64> {
        match self {
            Quantity::Number(number) => Ok(number),
            Quantity::Time(time) => {
                u64::try_from(time.as_nanos()).map_err(|_| error::plain(format_args!("{what}: too long")))
            }
            Quantity::Text(text) => parse(&text).map_err(|error| error::text(what, &error)),
        }
    }
}

/// Options of an analysis, as the command line has them: `_analyze.py` gives all of them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    filter: Option<String>,
    icrc: Option<bool>,
    roce_ports: Option<Vec<u16>>,
    decap: Option<BTreeMap<u16, String>>,
    reorder_window: Option<Quantity>,
    order: Option<String>,
    ack_timeout: Option<Quantity>,
    speed: Option<Quantity>,
    storm: Option<String>,
    trim: Option<String>,
    interval: Option<Quantity>,
    qp_map: Option<String>,
    qos: Option<String>,
    links: Option<String>,
    max_flows: Option<usize>,
    max_memory: Option<Quantity>,
    strict: Option<bool>,
}

impl Asked {
    pub(crate) fn options(&mut self) -> PyResult<Options> {
        let mut options = Options {
            dissect: source::dissect_options(self.roce_ports.take())?,
            verify_icrc: self.icrc.unwrap_or(true),
            ..Options::default()
        };
        if let Some(decap) = &self.decap {
            options.dissect.tunnels = source::tunnels(decap)?;
        }
        let ns = |quantity: Quantity, what| {
            let ns = quantity.read(what, units::duration)?;
            i64::try_from(ns).map_err(|_| error::plain(format_args!("{what}: too long")))
        };
        if let Some(window) = self.reorder_window.take() {
            options.reorder_window_ns = ns(window, "reorder_window")?;
        }
        options.order = self.order.as_deref().map(frame_order).transpose()?;
        options.ack_timeout_ns = match self.ack_timeout.take() {
            None => None,
            Some(Quantity::Number(exponent)) => Some(ack_timeout(&exponent.to_string())?),
            Some(Quantity::Text(text)) => Some(ack_timeout(&text)?),
            Some(time) => Some(ns(time, "ack_timeout")?),
        };
        let speed = self.speed.take().map(|speed| speed.read("speed", units::bit_rate));
        options.speed_bps = speed.transpose()?;
        if let Some(storm) = &self.storm {
            options.storm =
                StormProfile::parse(storm).map_err(|error| error::plain(format!("storm: {error}")))?;
        }
        if let Some(trim) = &self.trim {
            let trim = TrimProfile::parse(trim);
            options.trim = Some(trim.map_err(|error| error::plain(format!("trim: {error}")))?);
        }
        let interval =
            self.interval.take().map(|interval| interval.read("interval", units::positive_duration));
        options.interval_ns = interval.transpose()?;
        if options.interval_ns == Some(0) {
            return Err(error::plain("interval: expected a duration longer than 0"));
        }
        if let Some(text) = &self.qp_map {
            let connections = KnownConnection::parse(text);
            options.connections = connections.map_err(|error| error::plain(format!("qp_map: {error}")))?;
        }
        if let Some(text) = &self.qos {
            options.qos = Some(QosMap::parse(text).map_err(|error| error::plain(format!("qos: {error}")))?);
        }
        if let Some(text) = &self.links {
            options.links =
                Some(Links::parse(text).map_err(|error| error::plain(format!("links: {error}")))?);
        }
        options.max_flows = self.max_flows.unwrap_or(options.max_flows);
        if let Some(memory) = self.max_memory.take() {
            options.max_memory =
                usize::try_from(memory.read("max_memory", units::size)?).unwrap_or(usize::MAX);
        }
        Ok(options)
    }
}

fn frame_order(name: &str) -> PyResult<FrameOrder> {
    let mut orders = [FrameOrder::Time, FrameOrder::File].into_iter();
    orders.find(|order| order.name() == name).ok_or_else(|| error::plain("order: expected time or file"))
}

fn ack_timeout(text: &str) -> PyResult<i64> {
    Options::parse_ack_timeout(text).map_err(|error| error::plain(format!("ack_timeout: {error}")))
}

/// The name of a log, and its bytes.
type LogFile = (String, PyBackedBytes);

/// The errors of logs.
fn errors_of(logs: &[LogFile]) -> PyResult<Vec<logs::Line>> {
    let mut errors = Vec::new();
    for (name, bytes) in logs {
        let log = Log::read(name, &bytes[..]).map_err(error::plain)?;
        if log.errors.is_empty() {
            warn(&format!("log: {name}: no line tells of a completion that failed"))?;
        }
        if log.left_out > 0 {
            warn(&format!("log: {name}: {} left out", several(log.left_out, "more error")))?;
        }
        errors.extend(log.errors);
    }
    Ok(errors)
}

/// Analyzes a capture, or several as one. Goes on from a state, and gives the state behind the last frame if it `is_saved`.
#[pyfunction]
#[pyo3(signature = (sources, asked, state, is_saved, is_separate, logs))]
pub(crate) fn analyze(
    sources: Vec<Bound<'_, PyAny>>,
    mut asked: Asked,
    state: Option<Kept>,
    is_saved: bool,
    is_separate: bool,
    logs: Vec<LogFile>,
    py: Python<'_>,
) -> PyResult<Ended> {
    let inputs = sources.iter().map(Input::of).collect::<PyResult<Vec<_>>>()?;
    let options = asked.options()?;
    let filter = source::filter(asked.filter.as_deref())?;
    let errors = errors_of(&logs)?;
    py.detach(|| {
        let inputs = if is_separate { inputs } else { Input::joined(inputs) };
        let opened = inputs.iter().map(Input::open).collect::<PyResult<Vec<_>>>()?;
        let raised: Vec<Raised> = opened.iter().map(|opened| opened.raised.clone()).collect();
        let mut readers: Vec<_> = opened.into_iter().map(|Opened { reader, .. }| reader).collect();
        let work =
            Work { options, filter: filter.as_ref(), raised: &raised, strict: asked.strict.unwrap_or(false) };
        let analysis = state::begin(work.options.clone(), state.as_ref())?;
        let (analysis, files) = match &mut readers[..] {
            [] => return Err(error::plain("no source")),
            [reader] => (work.run(analysis, &mut *reader)?, Files::of_series([&*reader].into_iter())),
            _ => {
                let mut merge = taps::merge(readers);
                let analysis = work.run(analysis, &mut merge)?;
                (analysis, Files::of_series(merge.captures()))
            }
        };
        state::end(analysis, files, &errors, is_saved)
    })
}

/// The messages of captures, one capture after the other: rows of the table `messages`, each as JSON.
#[pyfunction]
pub(crate) fn messages(
    sources: Vec<Bound<'_, PyAny>>,
    mut asked: Asked,
    py: Python<'_>,
) -> PyResult<Vec<String>> {
    let inputs = sources.iter().map(Input::of).collect::<PyResult<Vec<_>>>()?;
    let options = asked.options()?;
    let filter = source::filter(asked.filter.as_deref())?;
    py.detach(|| {
        let rows = Arc::new(Mutex::new(Ok(Vec::new())));
        for input in Input::joined(inputs) {
            let Opened { mut reader, raised } = input.open()?;
            let (name, to) = (reader.info().name.clone(), rows.clone());
            let metric = Messages::new(move |message| {
                let rows: &mut PyResult<Vec<String>> = &mut to.lock().unwrap_or_else(PoisonError::into_inner);
                let Ok(told) = rows else { return };
                let row = message.row(&name).and_then(|row| Ok(serde_json::to_string(&row)?));
                match row {
                    Ok(row) => told.push(row),
                    Err(wrong) => *rows = Err(error::plain(wrong)),
                }
            });
            let work = Work {
                options: options.clone(),
                filter: filter.as_ref(),
                raised: &[raised],
                strict: asked.strict.unwrap_or(false),
            };
            let mut ended = work.run(Analysis::with(options.clone(), metric), &mut reader)?.end();
            if let Some(messages) = ended.metric_mut::<Messages>() {
                messages.end();
            }
        }
        let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *rows, Ok(Vec::new()))
    })
}

struct Work<'a> {
    options: Options,
    filter: Option<&'a rdmawire::filter::Filter>,
    raised: &'a [Raised],
    strict: bool,
}

impl Work<'_> {
    fn run(&self, analysis: Analysis, from: &mut impl Source) -> PyResult<Analysis> {
        // It may go on from earlier captures.
        let before = analysis.frames();
        let analysis = std::cell::RefCell::new(analysis);
        let mut interfaces = 0;
        let see = |record: &rdmawire::capture::Record<'_>, number| {
            let mut analysis = analysis.borrow_mut();
            let Some(filter) = self.filter else { return analysis.push(record) };
            let (d, icrc): (_, State) = self.options.examine(record);
            let meta = FrameMeta { number: before + number, time_ns: record.time.0, icrc: Some(icrc) };
            match filter.matches(&d, &meta) {
                true => analysis.push_dissected(record, &d, icrc),
                false => analysis.pass_over(),
            }
        };
        let after = |info: &Info| {
            name_interfaces(&mut analysis.borrow_mut(), &info.interfaces, &mut interfaces)?;
            match info.problems.first() {
                Some(damage) if self.strict => Err(error::damage(&info.name, damage)),
                _ => Ok(()),
            }
        };
        source::each(from, self.raised, see, after)?;
        Ok(analysis.into_inner())
    }
}

fn name_interfaces(analysis: &mut Analysis, all: &[Interface], known: &mut usize) -> PyResult<()> {
    for (number, Interface { name, speed_bps, file, .. }) in all.iter().enumerate().skip(*known) {
        let Ok(number) = u16::try_from(number) else { break };
        if let Some(before) = analysis.next_interface(number, name.as_deref(), *speed_bps, file.as_deref()) {
            let name = name.as_deref().unwrap_or_default();
            warn(&format!(
                "interface {number} is {name} here, and was {before} in the captures before: their frames count as of one \
                 interface"
            ))?;
        }
    }
    *known = all.len();
    Ok(())
}

/// A `UserWarning` for the caller of `rdmawire.analyze`.
fn warn(text: &str) -> PyResult<()> {
    let text = CString::new(text.replace('\0', "?")).map_err(error::plain)?;
    Python::attach(|py| PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2))
}

/// The results of an analysis.
#[pyclass(frozen, module = "rdmawire._native")]
pub(crate) struct NativeReport {
    report: report::Report,
}

#[pymethods]
impl NativeReport {
    /// A report from its JSON.
    #[staticmethod]
    fn from_json(text: &str, py: Python<'_>) -> PyResult<NativeReport> {
        let report: report::Report = py
            .detach(|| serde_json::from_str(text))
            .map_err(|wrong| error::plain(format_args!("this is no report: {wrong}")))?;
        if report.head.schema != report::SCHEMA {
            return Err(error::plain(format_args!(
                "its schema is {:?}, not {:?}",
                report.head.schema,
                report::SCHEMA
            )));
        }
        Ok(NativeReport { report })
    }

    /// The report as JSON, byte for byte that of `rdmawire analyze --json`.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut out = Vec::new();
        let written = py.detach(|| Json { threads: 1 }.render(&self.report.view(), &mut out));
        written.map_err(error::plain)?;
        Ok(PyBytes::new(py, &out))
    }

    /// The rows of a table, each as JSON.
    fn rows(&self, name: &str, py: Python<'_>) -> PyResult<Vec<String>> {
        let table = table(name)?;
        let mut rows = Vec::new();
        let made = py.detach(|| {
            table.each(&self.report.view(), &mut |row| {
                rows.push(serde_json::to_string(&row)?);
                Ok(())
            })
        });
        made.map_err(error::plain)?;
        Ok(rows)
    }

    /// The number of a flow: `SOURCE,DESTINATION,QP`, or a number.
    fn find_flow(&self, which: &str) -> PyResult<usize> {
        report::find_flow(&self.report.view(), which).map_err(error::plain)
    }

    /// Checks rules. Returns the outcomes as JSON and as text, and whether the gate fails.
    #[pyo3(signature = (name, rules, fail_if, toml, before, unknown_passes))]
    #[allow(clippy::too_many_arguments, reason = "Python counts them by their names")]
    fn check(
        &self,
        name: String,
        rules: Vec<String>,
        fail_if: Vec<String>,
        toml: Vec<String>,
        before: Option<&NativeReport>,
        unknown_passes: bool,
        py: Python<'_>,
    ) -> PyResult<(String, String, bool)> {
        let mut all = Vec::new();
        for text in toml {
            all.extend(Rule::from_toml(&text).map_err(|error| error::plain(format_args!("rules: {error}")))?);
        }
        for text in rules {
            all.push(Rule::parse(&text).map_err(|error| error::text("rule", &error))?);
        }
        for query in fail_if {
            all.push(Rule::fail_if(&query).map_err(|error| error::text("fail_if", &error))?);
        }
        if all.is_empty() {
            return Err(error::plain("no rule: like 'retransmits == 0'"));
        }
        if let (None, Some(change)) = (before, all.iter().find(|rule| rule.is_change())) {
            let text = change.text();
            return Err(error::plain(format_args!(
                "{text}: a change is one from an earlier report: before="
            )));
        }
        py.detach(|| {
            let before = before.map(|before| Before::new(&before.report, &self.report));
            let outcomes = gate::check(&all, &self.report.view(), before.as_ref());
            let unknown = if unknown_passes { Unknown::Pass } else { Unknown::Fail };
            let fails = outcomes.iter().any(|one| one.severity == Severity::Error && one.fails(unknown));
            let checked = [Checked { file: name, outcomes }];
            let (mut json, mut text) = (Vec::new(), Vec::new());
            write::json(&mut json, &checked, None).map_err(error::plain)?;
            write::text(&mut text, &checked).map_err(error::plain)?;
            let utf8 = |bytes| String::from_utf8(bytes).map_err(error::plain);
            Ok((utf8(json)?, utf8(text)?, fails))
        })
    }
}

impl NativeReport {
    pub(crate) fn of(report: report::Report) -> NativeReport {
        NativeReport { report }
    }
}

fn table(name: &str) -> PyResult<Table> {
    if name == Message::TABLE {
        return Err(error::plain(
            "a report has no messages, of which there may be millions: see rdmawire.messages",
        ));
    }
    let found = Table::ALL.into_iter().find(|table| table.name() == name);
    let names = || Table::ALL.map(Table::name).join(", ");
    found.ok_or_else(|| error::plain(format_args!("no table is called {name:?}: there are {}", names())))
}

/// The names of all tables.
#[pyfunction]
pub(crate) fn table_names() -> Vec<&'static str> {
    Table::ALL.map(Table::name).to_vec()
}

/// The columns of a table: name, type, and meaning.
#[pyfunction]
pub(crate) fn table_columns(name: &str) -> PyResult<Vec<(String, &'static str, &'static str)>> {
    let columns = if name == Message::TABLE { Message::columns() } else { table(name)?.columns() };
    Ok(columns.into_iter().map(|column| (column.name, column.kind.name(), column.doc)).collect())
}

/// The JSON Schema of a report.
#[pyfunction]
pub(crate) fn report_schema() -> PyResult<String> {
    serde_json::to_string(&report::schema()).map_err(error::plain)
}
