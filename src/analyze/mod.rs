//! Frames -> meaning: who retransmits, what was lost and where, what arrived out of order.
//!
//! ```no_run
//! use rdmawire::{analyze::{Analysis, Options}, capture::{self, Source}};
//! let mut trace = capture::open("trace.pcap".as_ref())?;
//! let mut analysis = Analysis::new(Options::default());
//! while let Some(record) = trace.next()? {
//!     analysis.push(&record);
//! }
//! for flow in analysis.finish().flows {
//!     println!("{} -> {} QP {:#x}: {} retransmitted", flow.src, flow.dst, flow.dest_qp, flow.requests.retransmits);
//! }
//! # Ok::<(), capture::Error>(())
//! ```
//!
//! The rooms, in their order: each uses only those before it.
//!
//! | room | what is in it |
//! |---|---|
//! | `model` | options, flow numbers, events, classes |
//! | `packet` | what the analysis reads of a frame: the fast form, the dissected form, flow keys |
//! | `track` | the state machines of a flow: PSN spaces, requests, responses, distributions |
//! | `table` | flows, connections, runs of packets in order: state and look-up |
//! | `network` | what is known of the network itself: speeds, LLDP, priorities, pauses |
//! | `metric` | one question a file, and the door for a user's own |
//! | `engine` | the analysis under way: intake, transport, trust |
//! | `results` | rows and findings of the report |

mod engine;
pub mod metric;
mod model;
pub mod network;
mod packet;
mod results;
mod table;
mod track;

pub use engine::{Analysis, Batch, Headers, Looked};
pub(crate) use engine::{HELD_BAD, HeldFrame, IcrcTrust, MAX_HELD, MAX_HELD_BYTES};
#[cfg(feature = "state")]
pub use engine::{StateError, is_state};
#[cfg(feature = "arrow")]
pub(crate) use model::identity;
pub use model::{
    Address, Application, Class, Event, Files, FlowId, FlowUid, KnownConnection, KnownDevice, KnownLink,
    LinkEnd, Links, Options, QosMap, Space, StormProfile, Trigger, TrimProfile, Trust,
};
pub(crate) use packet::key::Key as FlowKey;
pub use packet::{EncapPacket, Facts, FastPacket, Glimpse};
pub use results::{Ended, FINDINGS, FindingKind, Need, Scope};
pub use table::run::RunSum;
