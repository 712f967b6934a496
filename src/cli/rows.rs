//! A report's long lists as JSON, on several threads: each makes its share of the rows.

use std::{
    borrow::Cow,
    io::{self, Write},
    sync::mpsc::{Receiver, sync_channel},
    thread::{self, Scope},
};

use rdmawire::{analyze::Streamed, report::analysis::List};
use serde::{
    Serialize, Serializer,
    ser::{Error, SerializeSeq},
};
use serde_json::value::{RawValue, to_raw_value};

use super::json::write_json;

/// Rows that a thread makes before it is another's turn.
const TURN: usize = 64;
/// Turns that each thread is ahead of the one that writes.
const AHEAD: usize = 2;

/// A report as JSON on a line.
pub(super) fn write_report(out: &mut dyn Write, report: Streamed<'_>, threads: usize) -> io::Result<()> {
    let flows = Rows { list: report.flows.clone(), threads };
    let connections = Rows { list: report.connections.clone(), threads };
    let episodes = Rows { list: report.episodes.clone(), threads };
    write_json(out, &report.with_lists(flows, connections, episodes))
}

/// A list whose rows are made by so many threads.
struct Rows<L> {
    list: L,
    threads: usize,
}

impl<L: List<Row: Serialize> + Sync> Rows<L> {
    /// Rows of one turn.
    fn turn(&self, turn: usize) -> impl Iterator<Item = Cow<'_, L::Row>> {
        (turn * TURN..(turn + 1) * TURN).map_while(|at| self.list.row(at))
    }

    /// Makes every so many-th turn, from this one on.
    fn make<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        first: usize,
    ) -> Receiver<serde_json::Result<Vec<Box<RawValue>>>> {
        let (sender, made) = sync_channel(AHEAD);
        scope.spawn(move || {
            let turns = (first..self.list.len().div_ceil(TURN)).step_by(self.threads);
            for turn in turns {
                let rows = self.turn(turn).map(|row| to_raw_value(&row)).collect();
                if sender.send(rows).is_err() {
                    return;
                }
            }
        });
        made
    }
}

impl<L: List<Row: Serialize> + Sync> Serialize for Rows<L> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let turns = self.list.len().div_ceil(TURN);
        if self.threads < 2 || turns < 2 {
            return to.collect_seq(self.list.rows());
        }
        let mut written = to.serialize_seq(Some(self.list.len()))?;
        thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads.min(turns)).map(|first| self.make(scope, first)).collect();
            for turn in 0..turns {
                let Some(other) = (turn % self.threads).checked_sub(1).and_then(|at| others.get(at)) else {
                    self.turn(turn).try_for_each(|row| written.serialize_element(&row))?;
                    continue;
                };
                let rows = other.recv().map_err(S::Error::custom)?.map_err(S::Error::custom)?;
                rows.iter().try_for_each(|row| written.serialize_element(row))?;
            }
            Ok(())
        })?;
        written.end()
    }
}
