//! What the analysis knows of single frames, as comments on them: pcapng keeps these, and Wireshark shows them.
//!
//! A comment begins with what programs read, and goes on with a sentence:
//!
//! ```text
//! [rdmawire class=retransmission flow=0 conn=0 qp=0x11 peer=0x12 previous=1812 asked=1840 trigger=nak] retransmission of …
//! ```
//!
//! | word | value |
//! |---|---|
//! | `class` | the packet's [`Class`] |
//! | `flow`, `conn` | numbers of its flow and connection in the report |
//! | `qp`, `peer` | the queue pair that it goes to, and that of its sender where it is known |
//! | `begins` | 1: it is the first packet of its flow |
//! | `previous` | the frame that had its PSN before |
//! | `asked` | the frame that asked for it: a NAK, or a repeated READ request |
//! | `trigger` | why it was retransmitted: a [`Trigger`](crate::report::Trigger) |
//! | `loss` | where the packet was lost that it repeats: a [`Location`](crate::report::Location) |
//! | `needless` | `acknowledged`: it was retransmitted although it had been acknowledged; `passed`: only because its sender goes back |
//! | `gap` | PSNs that were missing when it came |
//! | `overtaken` | 1: a packet that was sent later had come before it |
//! | `late_ns` | nanoseconds since a packet that was sent later had come |
//! | `nak` | the code of a NAK, or `rnr` |
//! | `icrc` | `bad`: its ICRC is wrong |
//!
//! Of these, a comment has those that are known.

mod comment;
mod directory;
mod live;
mod notes;

pub use live::{Live, OwnedFrame};
pub use notes::{DEFAULT_MOST, Notes};

use crate::{
    analyze::{Class, Ended, metric::History},
    capture::Record,
    dissect::{self, dissect_with},
    in_order::InOrder,
    report::{
        View,
        units::{count, several},
    },
};
use directory::Directory;
use notes::Note;

/// What a comment of this program begins with.
pub const MARK: &str = "[rdmawire ";

/// The comments on the frames of a capture that was analyzed.
#[derive(Debug)]
pub struct Annotations {
    notes: std::vec::IntoIter<Note>,
    histories: std::iter::Peekable<std::vec::IntoIter<History>>,
    directory: Directory,
    dissect: dissect::Options,
    /// The comment on the whole capture: what was found.
    pub verdict: String,
    /// Frames that should have a comment, beyond the limit of [`Notes`].
    pub left_out: u64,
}

impl Annotations {
    /// From an analysis that has ended, with the metric [`Notes`]; without it, no frame has a comment. `dissect`: as the analysis dissected.
    pub fn new(mut ended: Ended, dissect: dissect::Options) -> Annotations {
        let report = ended.report();
        let mut verdict = verdict(&report);
        drop(report);
        let beginnings = ended.metric_mut().map(|notes: &mut Notes| std::mem::take(&mut notes.beginnings));
        let directory = Directory::of(&ended.report(), beginnings.unwrap_or_default());
        let notes = ended.into_metric().unwrap_or_else(|| Notes::new(0));
        let Notes { mut list, mut histories, left_out, .. } = notes;
        if left_out > 0 {
            let more = several(left_out, "more frame");
            verdict.push_str(&format!("\n{more} without a comment: there were too many."));
        }
        // Verdicts on earlier packets came late.
        list.order_by_key(|note| note.frame);
        list.dedup_by_key(|note| note.frame);
        histories.order_by_key(|history| history.frame);
        let (notes, histories) = (list.into_iter(), histories.into_iter().peekable());
        Annotations { notes, histories, directory, dissect, verdict, left_out }
    }

    /// The comment on the frame with this number, from 1. Frames must be asked for in their order.
    pub fn comment(&mut self, number: u64, record: &Record<'_>) -> Option<String> {
        let (note, history) = self.seek(number)?;
        let d = dissect_with(self.dissect, record.link, record.frame, record.wire_len);
        comment::write(&note, &history, &d, self.directory.find((number, record), &d, Some(&note)))
    }

    /// What a comment on the frame says to people, without its connection; the words for its class where it says nothing, and "new" for
    /// the next packet of its flow. Frames must be asked for in their order.
    pub fn remark(&mut self, number: u64, record: &Record<'_>) -> Option<String> {
        let d = dissect_with(self.dissect, record.link, record.frame, record.wire_len);
        let Some((note, history)) = self.seek(number) else {
            let known = self.directory.find((number, record), &d, None);
            return known.map(|_| Class::New.words().to_owned());
        };
        let flow = self.directory.find((number, record), &d, Some(&note));
        let begins = flow.is_some_and(|flow| flow.first_frame == number);
        let sentence = comment::sentences(&note, &history, begins, None, &d);
        Some(sentence.unwrap_or_else(|| note.class.words().to_owned()))
    }

    /// The numbers in the report of the flow and the connection of the frame with this number, from 1. It need not be one that follows
    /// those that were asked for, but of earlier ones it is not known whether they are corrupt.
    pub fn flow(&self, number: u64, record: &Record<'_>) -> Option<(usize, Option<u32>)> {
        let d = dissect_with(self.dissect, record.link, record.frame, record.wire_len);
        let notes = self.notes.as_slice();
        let note = notes.binary_search_by_key(&number, |note| note.frame).ok().and_then(|at| notes.get(at));
        let known = self.directory.find((number, record), &d, note)?;
        Some((known.flow, known.connection))
    }

    /// What was noted of the frame with this number.
    fn seek(&mut self, number: u64) -> Option<(Note, History)> {
        while self.notes.as_slice().first().is_some_and(|note| note.frame < number) {
            self.notes.next();
        }
        let note = *self.notes.as_slice().first().filter(|note| note.frame == number)?;
        while self.histories.next_if(|history| history.frame < number).is_some() {}
        Some((note, self.histories.next_if(|history| history.frame == number).unwrap_or_default()))
    }
}

/// The findings as text.
fn verdict(report: &View<'_>) -> String {
    let capture = &report.head.capture;
    let mut text = format!(
        "rdmawire {}: {}, {} of them RDMA; {}, {}",
        env!("CARGO_PKG_VERSION"),
        several(capture.packets, "packet"),
        count(capture.rdma_packets),
        several(report.flows.len() as u64, "flow"),
        several(report.connections.len() as u64, "connection"),
    );
    if report.head.findings.is_empty() {
        text.push_str("\nnothing stands out");
    }
    for finding in &report.head.findings {
        text.push_str(&format!("\n{}: {}", finding.severity, crate::report::clean(&finding.text)));
    }
    text
}
