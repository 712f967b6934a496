//! What each host must have counted, by what a capture shows; and what hosts say that they counted, beside it.
//!
//! ```
//! use rdmawire::{analyze::{Analysis, Options}, capture::{self, Source}, counters::{self, HostCounts, Setting, Vendor}};
//!
//! let mut trace = capture::open("pcaps/loss1_rc_write-B-300.pcap".as_ref())?;
//! let mut analysis = Analysis::with(Options::default(), HostCounts::default());
//! while let Some(record) = trace.next()? {
//!     analysis.push(&record);
//! }
//! let ended = analysis.end();
//! let setting = Setting { taps: vec!["10.77.0.2".parse()?], ..Setting::default() };
//! let hosts = counters::predict(&ended.report(), ended.metric().unwrap(), Vendor::Rxe, &setting);
//! let host = hosts.iter().find(|host| host.is_at_tap).unwrap();
//! let naks = host.counters.iter().find(|counter| counter.name == "out_of_seq_request").unwrap();
//! assert_eq!((naks.least, naks.most), (1, Some(1)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bounds;
mod compare;
mod fact;
mod host;
mod reading;
mod responder;

pub use bounds::{HostCounters, Prediction, Reason, Setting, predict};
pub use compare::{Agreement, Compared, compare};
pub use fact::{COUNTERS, Counter, Fact, Vendor};
pub use host::HostCounts;
pub use reading::Reading;
