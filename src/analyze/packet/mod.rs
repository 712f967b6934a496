//! The fields of a packet that the analysis reads. They borrow nothing from the frame.
//!
//! [`Facts`] are what it knows of a packet, in any encapsulation. They are made of a dissection, or of a [`FastForm`], which is read
//! from fixed offsets. That is possible for most frames.

pub(crate) mod element;
pub(crate) mod encap;
mod facts;
pub(crate) mod fast;
pub(crate) mod glimpse;
mod inside;
pub(crate) mod key;
mod lengths;
mod mirror;
pub(crate) mod path_tag;

pub use encap::EncapPacket;
pub use facts::Facts;
pub(crate) use facts::differ_in_content;
pub use fast::FastPacket;
pub(crate) use fast::{FastForm, RunKey};
pub use glimpse::Glimpse;
pub use lengths::l1_bytes;
pub(crate) use mirror::MirrorCopy;

use crate::{
    capture::Record,
    dissect::{Dissection, Severity},
    icrc::State,
};

/// The largest distance of a time from 1970 in nanoseconds, 146 years; larger ones count as this. The difference of two times
/// then fits into an `i64`.
pub(crate) const FARTHEST: i64 = (1 << 62) - 1;

/// The properties of a frame in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::stored::Stored)]
pub(crate) struct Frame {
    pub(crate) time: i64,
    /// Bytes on the wire, and those captured.
    pub(crate) wire_len: u32,
    pub(crate) captured: u32,
    pub(crate) link: u16,
    pub(crate) interface: u16,
    pub(crate) is_cut: bool,
    pub(crate) is_malformed: bool,
}

impl Frame {
    pub(crate) fn of(record: &Record<'_>, d: &Dissection<'_>, icrc: State) -> Frame {
        let (wire_len, captured) = record.lengths();
        Frame {
            time: record.time.0,
            wire_len,
            captured,
            link: record.link.0,
            interface: record.interface,
            is_cut: d.is_cut(),
            // What is no RoCE need not keep its rules.
            is_malformed: !d.notes().is_empty()
                && icrc != State::Trimmed
                && d.severity() == Some(Severity::Error)
                && !d.is_other_udp(icrc == State::Good),
        }
    }
}
