//! Latencies one by one, for metrics that ask for them.

use std::sync::{Arc, Mutex, PoisonError};

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::stored::Stored)]
pub enum What {
    /// From a request packet to the acknowledgement that covers it.
    AckRtt,
    /// From the first packet of a message to its acknowledgement.
    Message,
    /// From a READ request to its first response.
    ReadFirst,
    /// From a READ request to its last response.
    ReadLast,
}

impl What {
    /// All of them.
    pub const ALL: [What; 4] = [What::AckRtt, What::Message, What::ReadFirst, What::ReadLast];

    /// Its name as a title.
    pub const fn title(self) -> &'static str {
        match self {
            What::AckRtt => "ACK round trip",
            What::Message => "Message completion",
            What::ReadFirst => "READ to first response",
            What::ReadLast => "READ to last response",
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            What::AckRtt => "ACK round trip",
            What::Message => "message completion",
            What::ReadFirst => "READ first response",
            What::ReadLast => "READ last response",
        }
    }
}

/// A latency, as the tap saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::stored::Stored)]
pub struct Measured {
    /// What was measured.
    pub what: What,
    /// PSN of the packet that was acknowledged, or of the response.
    pub psn: u32,
    /// When it began, in nanoseconds since 1970.
    pub from_ns: i64,
    /// When it ended.
    pub to_ns: i64,
}

impl Measured {
    /// How long it took, in nanoseconds; never negative.
    pub fn took_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns).max(0) as u64
    }
}

/// The latencies of the packet at hand, if a metric wants them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measures(Option<Arc<Mutex<Vec<Measured>>>>);

impl Measures {
    pub(crate) fn new(are_wanted: bool) -> Measures {
        Measures(are_wanted.then(Arc::default))
    }

    #[inline(always)]
    pub(crate) fn are_wanted(&self) -> bool {
        self.0.is_some()
    }

    #[inline(always)]
    pub(crate) fn add(&self, what: What, x: u64, from_ns: i64, to_ns: i64) {
        if let Some(list) = &self.0 {
            let psn = x as u32 & (crate::wire::Psn::SPACE - 1);
            list.lock().unwrap_or_else(PoisonError::into_inner).push(Measured { what, psn, from_ns, to_ns });
        }
    }

    /// Calls `show` with what was measured since the last call.
    pub(crate) fn take(&self, show: impl FnMut(Measured)) {
        if let Some(list) = &self.0 {
            list.lock().unwrap_or_else(PoisonError::into_inner).drain(..).for_each(show);
        }
    }
}
