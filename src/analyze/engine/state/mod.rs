//! The whole state of an analysis as a file: another run goes on with it, as if there had been one run.
//!
//! The state is what is in memory: nothing is decided or brought up to date first, so that the report does not depend on where the
//! frames were divided. What can be made again is left out: the hash table of flows. The types themselves say how they
//! are [kept](crate::stored), by derives; so a file fits only the version that wrote it. A metric of the user's derives serde's traits.

mod file;

use std::{
    any::type_name,
    fmt,
    io::{self, Read, Write},
};

use serde::{Serialize, de::DeserializeOwned};

use super::{Analysis, Intake, Shortened, Tracker};
use crate::{
    analyze::{
        metric::{BuiltIn, Metric, Own},
        model::Options,
    },
    stored::Stored,
};

/// What stands before the state.
#[derive(Debug, crate::stored::Stored)]
struct Header {
    /// The crate's version.
    version: String,
    /// The sizes of types: another build of the same version may have others.
    sizes: Vec<u64>,
    /// The user's metric.
    metric: String,
    is_compressed: bool,
    /// The [options](stated) that change results.
    options: Vec<(String, String)>,
    /// The bounds of [`Options`]: flows and bytes.
    bounds: (u64, u64),
}

/// The parts of an analysis, and the bytes of the user's metric.
type Parts = (Tracker, BuiltIn, Intake, Shortened, Vec<u8>);

/// Why an analysis cannot go on from a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum StateError {
    /// The file could not be read.
    Io(io::Error),
    /// It is not the state of an analysis.
    Foreign,
    /// Another version wrote it: the version's name.
    Version(String),
    /// It is damaged, or was cut: what is wrong.
    Damaged(String),
    /// It is compressed, and this program was built without the feature `compression`.
    Compressed,
    /// Another option: results would not fit together.
    Option {
        /// The name of the field of [`Options`].
        name: String,
        /// Its value in the file.
        then: String,
        /// Its value now.
        now: String,
    },
    /// It is of an analysis with another metric of the user's.
    Metric {
        /// The type of the metric in the file.
        then: String,
        /// Its type now.
        now: String,
    },
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const AGAIN: &str = "analyze the earlier captures again";
        match self {
            StateError::Io(error) => error.fmt(f),
            StateError::Foreign => f.write_str("not the state of an analysis"),
            StateError::Version(version) => {
                let this = env!("CARGO_PKG_VERSION");
                match version == this {
                    true => write!(f, "the state of another build of version {version}: {AGAIN}"),
                    false => {
                        write!(f, "the state of version {version}, and this is version {this}: {AGAIN}")
                    }
                }
            }
            StateError::Damaged(what) => write!(f, "a damaged state: {what}: {AGAIN}"),
            StateError::Compressed => {
                f.write_str("a compressed state: this program was built without compression")
            }
            StateError::Option { name, then, now } => {
                write!(f, "the state was made with {name} = {then}, and now it is {now}: ")?;
                write!(f, "give the same options, or {AGAIN}")
            }
            StateError::Metric { then, now } => {
                write!(f, "the state is of an analysis with the metric {then}, and now it is {now}")
            }
        }
    }
}

impl std::error::Error for StateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StateError::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// Whether these bytes, a file's first ones, begin as the state of an analysis does.
pub fn is_state(from: impl Read) -> bool {
    file::is_state(from)
}

/// The options that change results, by their names. `max_flows` and `max_memory` are bounds: they may change.
fn stated(options: &Options) -> Vec<(String, String)> {
    let Options {
        dissect,
        verify_icrc,
        max_flows: _,
        max_memory: _,
        reorder_window_ns,
        ack_timeout_ns,
        speed_bps,
        storm,
        qos,
        links,
        trim,
        interval_ns,
        connections,
        order,
        reference,
    } = options;
    // What a message is read as is nothing that an analysis is given.
    let crate::dissect::Options { roce_ports, tunnels, upper: _, data: _ } = dissect;
    let all: [(&str, &dyn fmt::Debug); 14] = [
        ("roce_ports", roce_ports),
        ("tunnels", tunnels),
        ("verify_icrc", verify_icrc),
        ("reorder_window_ns", reorder_window_ns),
        ("ack_timeout_ns", ack_timeout_ns),
        ("speed_bps", speed_bps),
        ("storm", storm),
        ("qos", qos),
        ("links", links),
        ("trim", trim),
        ("interval_ns", interval_ns),
        ("connections", connections),
        ("order", order),
        ("reference", reference),
    ];
    all.map(|(name, value)| (name.to_owned(), format!("{value:?}"))).into()
}

impl Header {
    fn of<M>(options: &Options) -> Header {
        let sizes = [size_of::<Tracker>(), size_of::<BuiltIn>(), size_of::<Intake>(), size_of::<M>()];
        let of_flow = crate::analyze::table::flow::SIZES;
        Header {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sizes: sizes.into_iter().chain(of_flow).map(|size| size as u64).collect(),
            metric: type_name::<M>().to_owned(),
            is_compressed: cfg!(feature = "compression"),
            options: stated(options),
            bounds: (options.max_flows as u64, options.max_memory as u64),
        }
    }

    /// Whether an analysis with this header can go on from a file with the other.
    fn accepts(&self, file: &Header) -> Result<(), StateError> {
        if file.version != self.version {
            return Err(StateError::Version(file.version.clone()));
        }
        if file.metric != self.metric {
            return Err(StateError::Metric { then: file.metric.clone(), now: self.metric.clone() });
        }
        if file.sizes != self.sizes {
            return Err(StateError::Version(file.version.clone()));
        }
        for ((name, now), (_, then)) in self.options.iter().zip(&file.options) {
            if now != then {
                return Err(StateError::Option { name: name.clone(), then: then.clone(), now: now.clone() });
            }
        }
        match file.is_compressed && !cfg!(feature = "compression") {
            true => Err(StateError::Compressed),
            false => Ok(()),
        }
    }
}

impl Analysis {
    /// Writes the whole state: [`resume`](Analysis::resume) goes on with it, in this process or another, and the report is the
    /// same as if there had been one analysis. The analysis itself may go on too, or end. A metric of the user's own is not in it:
    /// see [`save_with`](Analysis::save_with).
    ///
    /// The file fits the version of this library that wrote it, and no other. It takes some 200 bytes for a flow without trouble.
    ///
    /// ```
    /// use rdmawire::{analyze::{Analysis, Options}, capture::{self, Source}};
    /// # fn push(analysis: &mut Analysis, from: &mut impl Source, most: usize) {
    /// #     for _ in 0..most {
    /// #         let Some(record) = from.next().unwrap() else { return };
    /// #         analysis.push(&record);
    /// #     }
    /// # }
    /// let mut hours = capture::open("pcaps/loss1_rc_write-B-300.pcap".as_ref())?;
    /// let mut first = Analysis::new(Options::default());
    /// push(&mut first, &mut hours, 100);
    /// let mut state = Vec::new();
    /// first.save(&mut state)?;
    ///
    /// let mut second = Analysis::resume(Options::default(), &state[..])?;
    /// push(&mut second, &mut hours, usize::MAX);
    /// assert_eq!(second.finish().head.capture.packets, 300);
    ///
    /// let other = Options { reorder_window_ns: 0, ..Options::default() };
    /// let error = Analysis::resume(other, &state[..]).err().unwrap();
    /// assert!(error.to_string().contains("reorder_window_ns = 50000, and now it is 0"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of the writer.
    pub fn save(&self, to: impl Write) -> io::Result<()> {
        self.save_own(to, &())
    }

    /// [`save`](Analysis::save) with the state of the user's metric of this type.
    ///
    /// # Errors
    /// Those of the writer; or the analysis has no such metric.
    pub fn save_with<M: Metric + Serialize>(&self, to: impl Write) -> io::Result<()> {
        let none = || format!("the analysis has no metric {}", type_name::<M>());
        let own = self.metric::<M>().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, none()))?;
        self.save_own(to, own)
    }

    fn save_own<M: Serialize>(&self, mut to: impl Write, own: &M) -> io::Result<()> {
        let own = postcard::to_allocvec(own).map_err(io::Error::other)?;
        self.write(&mut to, &Header::of::<M>(&self.tracker.options), own)
    }

    /// Here, not where the user's metric is known: what writes hundreds of types is compiled with the library, not with each program.
    fn write(&self, to: &mut dyn Write, header: &Header, own: Vec<u8>) -> io::Result<()> {
        let Analysis { tracker, metrics: (built_in, _), intake, shortened } = self;
        file::write(to, header, &|to| {
            tracker.store(to);
            built_in.store(to);
            intake.store(to);
            shortened.store(to);
            own.store(to);
        })
    }

    /// Goes on with an analysis from the state that [`save`](Analysis::save) wrote. The options must be those of before, but for
    /// `max_flows` and `max_memory`. The bytes are checked for damage, not for forgery: a state is as trusted as a program's own
    /// memory.
    ///
    /// # Errors
    /// The bytes are no state, or damaged, or of another version; or an option differs.
    pub fn resume(options: Options, from: impl Read) -> Result<Analysis, StateError> {
        Analysis::resume_own::<()>(options, from).map(|(analysis, ())| analysis)
    }

    /// [`resume`](Analysis::resume) for an analysis with a metric of the user's own, whose state is in the file too.
    ///
    /// # Errors
    /// As `resume`; or the file is of an analysis with another metric.
    pub fn resume_with<M: Metric + DeserializeOwned>(
        options: Options,
        from: impl Read,
    ) -> Result<Analysis, StateError> {
        let (mut analysis, own) = Analysis::resume_own::<M>(options, from)?;
        analysis.metrics.1.push(own);
        analysis.tracker.ask_wants(&analysis.metrics);
        Ok(analysis)
    }

    fn resume_own<M: DeserializeOwned>(
        options: Options,
        mut from: impl Read,
    ) -> Result<(Analysis, M), StateError> {
        let now = Header::of::<M>(&options);
        let (analysis, own) = Analysis::read(options, &now, &mut from)?;
        let own = postcard::from_bytes(&own).map_err(|error| StateError::Damaged(error.to_string()))?;
        Ok((analysis, own))
    }

    /// As [`write`](Analysis::write), the other way.
    fn read(options: Options, now: &Header, from: &mut dyn Read) -> Result<(Analysis, Vec<u8>), StateError> {
        let mut bounds = now.bounds;
        let mut accept = |file: &Header| {
            bounds = file.bounds;
            now.accepts(file)
        };
        let (tracker, built_in, intake, shortened, own): Parts = file::read(from, &mut accept)?;
        let metrics = (built_in, Own::default());
        let mut analysis = Analysis { tracker, metrics, intake, shortened };
        let tracker = &mut analysis.tracker;
        tracker
            .rebuild()
            .ok_or_else(|| StateError::Damaged("a number of a flow that is not there".into()))?;
        if bounds != now.bounds {
            tracker.flows.rebound(bounds.1 as usize, options.max_flows, options.max_memory);
        }
        tracker.options = options;
        Ok((analysis, own))
    }
}
