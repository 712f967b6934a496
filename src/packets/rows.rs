//! Rows of captures, in parts, in the order of the frames.
//!
//! What headers have is known at once; what a packet is shows when later ones came. So rows are filled in two steps, and a part of
//! them is complete when all its classes are known. At most [`Rows::MOST_WAITING`] rows wait for that, and the rows of one part; those
//! that would wait longer have no class.

use std::{collections::VecDeque, mem, ops::Range, sync::Arc};

use super::{Row, RowVerdict};
use crate::{
    analyze::{
        Analysis, Class, Event, Facts, FlowId, Options,
        metric::{Measured, Metric, Placed, Verdict, Wants, What, messages::Messages},
    },
    capture::Record,
    dissect::Dissection,
    icrc::State,
};

/// A form of rows, such as lines of text.
pub trait Form {
    /// Rows without what the analysis says.
    type Headers;
    /// Adds a row.
    fn push(&mut self, row: &Row<'_>);

    /// The rows that were added since the last time.
    fn cut(&mut self) -> Self::Headers;
}

/// Rows that follow each other, of one capture.
#[derive(Debug)]
pub struct Part<H> {
    /// The capture.
    pub capture: Arc<str>,
    /// What headers have.
    pub headers: H,
    /// What the analysis says, row by row.
    pub verdicts: Vec<RowVerdict>,
}

/// Makes rows of captures, one capture after the other.
pub struct Rows<F: Form> {
    form: F,
    /// Rows of a part.
    most: usize,
    capture: Arc<str>,
    options: Options,
    analysis: Option<Analysis>,
    frames: u64,
    open: Undecided,
    waiting: VecDeque<(Part<F::Headers>, Undecided)>,
    waiting_rows: usize,
}

/// Rows whose classes may not be known yet.
#[derive(Debug, Default)]
struct Undecided {
    numbers: Vec<u64>,
    verdicts: Vec<RowVerdict>,
    /// How many have no class.
    left: usize,
}

impl<F: Form> Rows<F> {
    /// Rows that wait for the class of their packet, or of one before.
    pub const MOST_WAITING: usize = 1 << 14;

    /// Rows in parts of so many.
    pub fn new(form: F, most: usize) -> Rows<F> {
        Rows {
            form,
            most: most.max(1),
            capture: Arc::from(""),
            options: Options::default(),
            analysis: None,
            frames: 0,
            open: Undecided::default(),
            waiting: VecDeque::new(),
            waiting_rows: 0,
        }
    }

    /// Begins with another capture; the one before [ends](Self::end). Without `analyze`, the rows have no verdicts.
    pub fn begin(&mut self, capture: &str, options: Options, analyze: bool) {
        self.end();
        self.analysis = analyze.then(|| Analysis::with(options.clone(), Placing::new()));
        (self.capture, self.options, self.frames) = (Arc::from(capture), options, 0);
    }

    /// Adds a frame. Its ICRC is verified if that is wanted, and if a column or the analysis needs it.
    pub fn push(&mut self, record: &Record<'_>) {
        let d = self.options.dissection(record);
        let is_asked = self.analysis.is_some() || !self.options.verify_icrc;
        let icrc = is_asked.then(|| self.options.icrc(&d));
        self.push_examined(record, &d, icrc);
    }

    /// Adds a frame that was dissected, and whose ICRC may have been verified.
    pub fn push_examined(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: Option<State>) {
        self.frames += 1;
        let is_other_udp =
            d.is_other_udp(false) && icrc.unwrap_or_else(|| self.options.icrc(d)) != State::Good;
        self.form.push(&Row { number: self.frames, record, d, icrc, is_other_udp });
        self.open.numbers.push(self.frames);
        self.open.verdicts.push(RowVerdict::default());
        if let Some(analysis) = &mut self.analysis {
            self.open.left += 1;
            analysis.push_dissected(record, d, icrc.unwrap_or_else(|| self.options.icrc(d)));
            self.observe();
        }
        if self.open.numbers.len() >= self.most {
            self.cut();
        }
    }

    /// Passes over a frame. The analysis does not see it.
    pub fn pass_over(&mut self) {
        self.frames += 1;
        if let Some(analysis) = &mut self.analysis {
            analysis.pass_over();
        }
    }

    /// Number of frames of the capture so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The capture ends: what was open is decided now.
    pub fn end(&mut self) {
        if let Some(analysis) = &mut self.analysis {
            analysis.decide();
            self.observe();
        }
        self.analysis = None;
        if !self.open.numbers.is_empty() {
            self.cut();
        }
        self.waiting.iter_mut().for_each(|(_, undecided)| undecided.left = 0);
    }

    /// The next part that is complete, or has waited for too long.
    pub fn next_part(&mut self) -> Option<Part<F::Headers>> {
        let (_, undecided) = self.waiting.front()?;
        if undecided.left > 0 && self.waiting_rows + self.open.numbers.len() <= Rows::<F>::MOST_WAITING {
            return None;
        }
        let (mut part, undecided) = self.waiting.pop_front()?;
        self.waiting_rows -= undecided.numbers.len();
        part.verdicts = undecided.verdicts;
        Some(part)
    }

    /// The form.
    pub fn form(&self) -> &F {
        &self.form
    }

    fn cut(&mut self) {
        let undecided = mem::take(&mut self.open);
        let part = Part { capture: self.capture.clone(), headers: self.form.cut(), verdicts: Vec::new() };
        self.waiting_rows += undecided.numbers.len();
        self.waiting.push_back((part, undecided));
    }

    /// Takes what the analysis has said.
    fn observe(&mut self) {
        let Some(Placing { placed, .. }) = self.analysis.as_mut().and_then(Analysis::metric_mut) else {
            return;
        };
        for (number, verdict) in placed.drain(..) {
            let parts =
                std::iter::once(&mut self.open).chain(self.waiting.iter_mut().rev().map(|(_, part)| part));
            for part in parts {
                if part.numbers.first().is_some_and(|&first| first <= number) {
                    part.settle(number, &verdict);
                    break;
                }
            }
        }
    }
}

impl Undecided {
    fn settle(&mut self, number: u64, verdict: &RowVerdict) {
        // Without a filter, frames follow each other.
        let guess = self.numbers.first().map_or(0, |first| (number - first) as usize);
        let at = match self.numbers.get(guess) == Some(&number) {
            true => guess,
            false => self.numbers.binary_search(&number).unwrap_or(usize::MAX),
        };
        let Some(known) = self.verdicts.get_mut(at) else { return };
        self.left -= (known.class.is_none() && verdict.class.is_some()) as usize;
        *known = RowVerdict {
            space: verdict.space,
            class: verdict.class,
            uid: verdict.uid.or(known.uid),
            epoch: verdict.epoch.or(known.epoch),
            peer_qp: verdict.peer_qp.or(known.peer_qp),
            ack_rtt_ns: verdict.ack_rtt_ns.or(known.ack_rtt_ns),
            message: verdict.message.or(known.message),
        };
    }
}

/// Collects what is said of frames, by their numbers.
struct Placing {
    placed: Vec<(u64, RowVerdict)>,
    /// What the packet at hand shows: latencies are told before it is placed.
    ack_rtt_ns: Option<u64>,
    messages: Messages,
}

impl Placing {
    fn new() -> Placing {
        Placing { placed: Vec::new(), ack_rtt_ns: None, messages: Messages::untold() }
    }
}

impl Metric for Placing {
    fn wants(&self) -> Wants {
        Wants { identity: true, measured: true, ..Wants::default() }
    }

    fn on_measured(&mut self, flow: FlowId, measured: &Measured) {
        self.messages.on_measured(flow, measured);
        // Of several packets that are acknowledged at once, the last one was waiting for nothing else.
        if measured.what == What::AckRtt {
            let took = measured.took_ns();
            self.ack_rtt_ns = Some(self.ack_rtt_ns.map_or(took, |known| known.min(took)));
        }
    }

    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        let &Placed { frame, space, class, epoch, peer_qp, .. } = place;
        let uid = packet.key().zip(epoch).map(|(key, epoch)| key.uid(epoch));
        let ack_rtt_ns = self.ack_rtt_ns.take();
        let message = self.messages.of_packet(packet, place);
        self.placed.push((frame, RowVerdict { space, class, uid, epoch, peer_qp, ack_rtt_ns, message }));
    }

    fn on_retire(&mut self, flow: FlowId) {
        self.messages.on_retire(flow);
    }

    fn heap_bytes(&self) -> usize {
        self.messages.heap_bytes()
    }

    fn on_verdict(&mut self, verdict: &Verdict) {
        let (space, class) = (Some(verdict.space), Some(verdict.class));
        self.placed.push((verdict.frame, RowVerdict { space, class, ..RowVerdict::default() }));
    }

    fn on_frame(&mut self, event: &Event<'_>) {
        let class = Some(Class::Unsequenced);
        self.placed.push((event.number, RowVerdict { class, ..RowVerdict::default() }));
    }

    /// An empty span, so that no packet is in a run.
    fn span(&self, time_ns: i64) -> Range<i64> {
        time_ns..time_ns
    }
}
