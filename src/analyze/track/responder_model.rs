//! A model of the responder, fed with the packets in the order of the tap. Without it, a NAK that reordering caused would count as
//! a loss: a responder that sees p+1 before p requests p, drops p+1, takes p, and then requests p+1.

use super::on_demand::{OnDemand, quiet};
use crate::heap::heap;

/// A NAK that the real responder should send, if it sees the packets as the tap does.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Predicted {
    psn: u64,
    time: i64,
    matched: bool,
}

/// The meaning of a NAK, by the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nakked {
    /// The tap saw the gap too, since then.
    Expected { since: i64 },
    /// It repeats a NAK, or comes with an RNR NAK for the same PSN.
    Again,
    /// The tap saw the packet that the responder lacks: it was lost downstream. Packets up to the PSN `reached` were sent since.
    Downstream { reached: u64 },
    /// The responder has more packets than the model, and lacks this one.
    Ahead,
    /// The responder lacks a packet that the tap did not see either.
    Unseen,
}

/// The expected PSN, and whether a NAK for it was sent.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct ResponderModel {
    expected: u64,
    asked: bool,
    /// The expected packet did not come at the tap, and later ones did.
    is_gap: bool,
    /// The responder went on over such a gap.
    missed: bool,
    /// One past the last PSN of the current pass.
    reached: u64,
    asks: OnDemand<Asks>,
}

/// The predicted NAKs, and the real ones.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Asks {
    predicted: [Predicted; 4],
    at: u8,
    not_ready: u64,
    last_nak: u64,
    last_nak_at: u64,
}

quiet!(Asks);

heap! { ResponderModel { asks } Asks {} }

impl ResponderModel {
    pub(crate) fn start(&mut self, x: u64) {
        *self = ResponderModel { expected: x, ..ResponderModel::default() };
    }

    /// Whether requests from this PSN on change nothing but how far they [go](Self::go_on): it is the expected one, or the NAK for that
    /// was sent.
    #[inline(always)]
    pub(crate) fn is_steady(&self, x: u64) -> bool {
        self.expected == x || self.expected < x && self.asked
    }

    /// All requests from one PSN to another came, while it was [steady](Self::is_steady).
    #[inline(always)]
    pub(crate) fn go_on(&mut self, from: u64, to: u64) {
        if self.expected == from {
            (self.expected, self.asked, self.is_gap) = (to, false, false);
        }
        self.reached = to;
    }

    /// A request that is not corrupt passed the tap.
    #[inline]
    pub(crate) fn on_request(&mut self, x: u64, n: u32, time: i64) {
        let end = x + n as u64;
        if x == self.expected {
            self.expected = end;
            (self.asked, self.is_gap) = (false, false);
        } else if x > self.expected {
            if !self.asked {
                (self.asked, self.is_gap) = (true, true);
                let (psn, asks) = (self.expected, &mut *self.asks);
                asks.predicted[asks.at as usize % 4] = Predicted { psn, time, matched: false };
                asks.at = asks.at.wrapping_add(1);
            }
        } else if end > self.expected {
            // A READ that was requested again from its middle on, and ends beyond.
            self.expected = end;
        }
        self.reached = end;
    }

    /// Everything before `una` has arrived.
    #[inline]
    pub(crate) fn acknowledged(&mut self, una: u64) {
        if una > self.expected {
            // It had what the tap did not see.
            self.missed |= self.is_gap;
            self.expected = una;
            (self.asked, self.is_gap) = (false, false);
        }
    }

    /// Whether the responder acknowledged a packet that seemed to be missing, and had not come since: the capture missed it.
    pub(crate) fn has_missed(&self) -> bool {
        self.missed
    }

    /// The PSN that it expects, if it sees the packets as the tap does.
    pub(crate) fn expected(&self) -> u64 {
        self.expected
    }

    /// One past the last PSN of the current pass.
    pub(crate) fn reached(&self) -> u64 {
        self.reached
    }

    pub(crate) fn not_ready(&mut self, x: u64) {
        self.asks.not_ready = x;
        if x < self.expected {
            self.expected = x;
        }
    }

    /// The real responder sent a NAK for `x`.
    pub(crate) fn nakked(&mut self, x: u64, time: i64) -> Nakked {
        let asks = &mut *self.asks;
        let repeated = asks.last_nak == x && asks.last_nak_at == asks.at as u64;
        (asks.last_nak, asks.last_nak_at) = (x, asks.at as u64);
        if asks.not_ready == x && x != 0 {
            asks.not_ready = 0;
            return Nakked::Again;
        }
        let predicted =
            asks.predicted.iter_mut().find(|p| p.psn == x && !p.matched && p.time <= time && p.time != 0);
        if let Some(predicted) = predicted {
            predicted.matched = true;
            return Nakked::Expected { since: predicted.time };
        }
        if x < self.expected {
            let reached = self.reached.max(self.expected);
            (self.expected, self.asked, self.is_gap) = (x, true, false);
            if repeated {
                return Nakked::Again;
            }
            return Nakked::Downstream { reached };
        }
        if x > self.expected {
            self.missed |= self.is_gap;
            (self.expected, self.asked, self.is_gap) = (x, true, false);
            return Nakked::Ahead;
        }
        // The model expects this PSN too: the NAK is late, or caused by a packet that the tap did not see.
        Nakked::Unseen
    }
}
