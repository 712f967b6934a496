//! When connections ended: a command without an answer waits no longer than its connection.

use std::{collections::HashMap, hash::RandomState};

use super::Key;
use crate::{
    dissect::{Address, Dissection},
    report::units::duration,
    wire::{CmDrep, CmDreq, CmRej},
};

/// The end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    pub(crate) time: i64,
    pub(crate) frame: u64,
    /// Who closed it; `None` where it ended without a word: its queue pair was used again, or the same queue was connected anew.
    pub(crate) by: Option<Address>,
}

impl Ending {
    /// How long a command waits that nothing answers: until its connection ended, else until the capture does.
    pub(crate) fn wait(of: Option<Ending>, start: i64, capture_end: i64) -> u64 {
        let end = Ending::after(of, start).map_or(capture_end, |end| end.time);
        end.saturating_sub(start).max(0) as u64
    }

    /// The end that a command which was sent at this time saw.
    fn after(of: Option<Ending>, start: i64) -> Option<Ending> {
        of.filter(|end| end.time >= start)
    }

    /// "38.9 s to the end of the capture", "5.30 s until the host closed the queue [frame 306]": how long a command waits that nothing
    /// answers. `what`: what was closed; `name`: what a side is called.
    pub(crate) fn wait_words(
        of: Option<Ending>,
        (start, capture_end): (i64, i64),
        what: &str,
        name: impl Fn(Address) -> &'static str,
    ) -> String {
        let wait = duration(Ending::wait(of, start, capture_end));
        match Ending::after(of, start) {
            Some(Ending { by: Some(by), frame, .. }) => {
                format!("{wait} until {} closed the {what} [frame {frame}]", name(by))
            }
            Some(Ending { by: None, frame, .. }) => {
                format!("{wait} until the {what} was set up anew [frame {frame}]")
            }
            None => format!("{wait} to the end of the capture"),
        }
    }
}

/// The connections whose set-up was captured, by the numbers that each side gave them, and when each was set up.
#[derive(Debug, Default)]
pub(crate) struct Named(HashMap<(Address, u32), (usize, i64), RandomState>);

impl Named {
    /// The connection `at` has these numbers at its two sides.
    pub(crate) fn add(&mut self, sides: [(Address, u32); 2], at: usize, time: i64) {
        self.0.extend(sides.map(|side| (side, (at, time))));
    }

    /// The connection of which a request with this number may be a late repetition: it has the number at this side, and was set up not
    /// long ago. Later ones set up another, as after a crash of the side that asks.
    pub(crate) fn repeated(&self, side: (Address, u32), time: i64) -> Option<usize> {
        /// Linux sends a request 16 times, 4.3 s apart.
        const LONGEST: u64 = 70_000_000_000;
        let &(at, since) = self.0.get(&side)?;
        (time.abs_diff(since) <= LONGEST).then_some(at)
    }

    /// The connection that a message of the connection manager ends, and who wanted that: by the numbers of its set-up, else by the queue
    /// pair that a DREQ names.
    pub(crate) fn ended(
        &self,
        d: &Dissection<'_>,
        [src, dst]: [Address; 2],
        by_queue_pair: impl Fn(Key) -> Option<usize>,
    ) -> Option<(usize, Address)> {
        let named =
            |[own, other]: [u32; 2]| Some(self.0.get(&(dst, other)).or_else(|| self.0.get(&(src, own)))?.0);
        if let Some(dreq) = d.get::<CmDreq>() {
            let at = named([dreq.local_comm_id().0, dreq.remote_comm_id().0]);
            let at = at.or_else(|| by_queue_pair(Key { src, dst, qp: dreq.remote_qpn().0 }));
            return Some((at?, src));
        }
        if let Some(drep) = d.get::<CmDrep>() {
            // It answers the other side's DREQ.
            return Some((named([drep.local_comm_id().0, drep.remote_comm_id().0])?, dst));
        }
        let rej = d.get::<CmRej>()?;
        Some((named([rej.local_comm_id().0, rej.remote_comm_id().0])?, src))
    }
}
