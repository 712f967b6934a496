//! Whose traffic flows carry, where their messages say it: for those whose set-up is not in the capture.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{
    Metric,
    one_sided::{Sampled, hash},
};
use crate::{
    analyze::packet::{Facts, key::Key},
    upper::Application,
    wire::Psn,
};

/// Flows that are named.
const MOST_FLOWS: usize = 1 << 16;
/// Of so many frames, each message is asked whose it is; later, one in so many of a flow: most say nothing, and to ask takes as long as a
/// quarter of what else is done with a SEND.
const FIRST_FRAMES: u64 = 1 << 14;
const ONE_IN: u32 = 64;

/// Whether the message of this frame is asked. Threads that prepare frames ask all: what they found of others does not count.
#[inline(always)]
pub(crate) fn is_asked(frame: u64, psn: Psn) -> bool {
    frame <= FIRST_FRAMES || psn.0.is_multiple_of(ONE_IN)
}

/// The metric.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Named {
    /// By the hashes of flows' keys, which are long; `None` where messages contradict each other.
    flows: HashMap<u64, Option<Application>, RandomState>,
    pub(crate) sampled: Sampled,
}

impl Named {
    /// A message that can only be of this application.
    pub(crate) fn note(&mut self, packet: &Facts, application: Application, frame: u64) {
        if !self.sampled.takes(frame) {
            return;
        }
        if let Some(key) = packet.key() {
            self.name(key, application);
        }
    }

    /// A datagram says that its sender has this queue pair for its receiver.
    pub(crate) fn announce(&mut self, packet: &Facts, qp: u32, application: Application) {
        if let Some(key) = packet.key() {
            self.name(&key.back_to(qp), application);
        }
    }

    fn name(&mut self, key: &Key, application: Application) {
        let known = self.flows.len();
        match self.flows.get_mut(&hash(key)) {
            Some(of) if *of == Some(application) => {}
            Some(of) => *of = None,
            None if known < MOST_FLOWS => drop(self.flows.insert(hash(key), Some(application))),
            None => {}
        }
    }

    /// Whose messages a flow carries, as far as these say it.
    pub(crate) fn of(&self, key: &Key) -> Option<Application> {
        self.flows.get(&hash(key)).copied().flatten()
    }

    /// The applications of all flows that are named.
    pub(crate) fn all(&self) -> impl Iterator<Item = Application> + '_ {
        self.flows.values().copied().flatten()
    }

    /// Whether there is a flow that has a name.
    pub(crate) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }
}

impl Metric for Named {
    fn heap_bytes(&self) -> usize {
        self.flows.capacity() * (size_of::<(u64, Option<Application>)>() + 1)
    }
}
