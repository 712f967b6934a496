//! What a metric keeps of each flow.

use crate::{analyze::model::FlowId, heap::heap};

/// Flows that are kept; those with higher numbers are in the totals only.
const MAX_FLOWS: usize = 1 << 20;

heap! { FlowId {} }

/// A value for each flow, by its number. A flow of which nothing was seen has the default.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) struct PerFlow<T>(Vec<T>);

impl<T: Default> PerFlow<T> {
    /// The value of a flow; `None` of flows beyond all that were seen.
    #[inline(always)]
    pub(super) fn get(&self, FlowId(flow): FlowId) -> Option<&T> {
        self.0.get(flow as usize)
    }

    /// The value of a flow for changes; `None` of flows beyond all that were seen.
    #[inline(always)]
    pub(super) fn known(&mut self, FlowId(flow): FlowId) -> Option<&mut T> {
        self.0.get_mut(flow as usize)
    }

    /// The value of a flow for changes, also of one that was not seen; `None` only of flows that are not kept.
    #[inline(always)]
    pub(super) fn entry(&mut self, FlowId(flow): FlowId) -> Option<&mut T> {
        let at = flow as usize;
        if at >= self.0.len() {
            self.grow(at);
        }
        self.0.get_mut(at)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, at: usize) {
        if at < MAX_FLOWS {
            self.0.resize_with(at + 1, T::default);
        }
    }

    /// The value of a flow whose number will be another's.
    pub(super) fn retire(&mut self, flow: FlowId) -> Option<T> {
        self.known(flow).map(std::mem::take)
    }

    /// All values, by the number of the flow.
    pub(super) fn iter(&self) -> impl Iterator<Item = (FlowId, &T)> {
        (0..).map(FlowId).zip(&self.0)
    }
}

impl<T> Default for PerFlow<T> {
    fn default() -> Self {
        PerFlow(Vec::new())
    }
}
