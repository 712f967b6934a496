//! Packets that switches trimmed: cut to their headers instead of dropping them.
//!
//! Switches differ in which lengths they write anew. Where IP's is new and UDP's is not, a packet tells by itself. Where none is, the frame
//! looks as one of which a capture lost the end, so longer ones must have been seen. Where all are, only the ICRC is missing: then the
//! payload contradicts the operation code or the DMA length, or size and DSCP are those of other trimmed packets, or as the user says.

use std::collections::BTreeSet;

use crate::{
    analyze::{
        model::{Address, TrimProfile},
        packet::{Facts, path_tag},
    },
    dissect::Dissection,
    heap::heap,
    icrc::State,
    in_order::InOrder,
    opcode::{Operation, PayloadRule, Transport},
    report::{TrimLengths, TrimmedTo},
    wire_cost::{FCS, GAP, PREAMBLE},
};

/// What is known of trimmed packets.
#[derive(Default, crate::stored::Stored)]
pub(crate) struct Trims {
    /// The largest path MTU that a flow showed, by its first full packet or by its set-up.
    full: u32,
    /// By receiver, DSCP, size and lengths.
    rows: Vec<Row>,
    /// Those of rows for which there was no room.
    others: u64,
    /// Size and DSCP of packets among the first frames that are trimmed as longer ones show, which came later.
    early: Vec<(u32, u32)>,
    /// The first frames showed no longer ones: none is waited for any more.
    is_told: bool,
}

#[derive(crate::stored::Stored)]
struct Row {
    dst: Address,
    dscp: u8,
    bytes: u32,
    lengths: TrimLengths,
    packets: u64,
    senders: BTreeSet<Address>,
}

heap! {
    Trims { rows, early }
    Row { senders }
}

const MAX_ROWS: usize = 256;
const MAX_SENDERS: usize = 256;
/// What is trimmed has one size and few classes.
const MAX_EARLY: usize = 16;

impl Trims {
    /// A packet as long as the path MTU allows has so much payload: the first one of a flow.
    pub(crate) fn full_packet(&mut self, payload: u32) {
        self.full = self.full.max(payload);
    }

    /// Whether a longer packet may be waited for.
    #[inline(always)]
    pub(crate) fn may_await(&self) -> bool {
        self.full == 0 && !self.is_told
    }

    /// Whether the packet may be a trimmed one, of which a longer one would tell: none has come yet.
    #[cold]
    pub(crate) fn awaits_full(&self, facts: &Facts) -> bool {
        self.may_await() && is_doubtful(facts)
    }

    /// The same of a packet whose ICRC is right, or says nothing: whether it is a longer one.
    pub(crate) fn is_full(facts: &Facts) -> bool {
        let shape = facts.opcode().shape();
        let is_whole = matches!(facts.icrc(), State::Good | State::Unchecked);
        is_whole && shape.payload == PayloadRule::Full && shape.allows(facts.payload())
    }

    /// The first frames, of which one may be trimmed, have come: what they show of each other.
    #[cold]
    pub(crate) fn learn(&mut self, first: &[Facts]) {
        self.is_told = true;
        for full in first.iter().filter(|facts| Trims::is_full(facts)) {
            self.full_packet(full.payload());
        }
        for facts in first.iter().filter(|facts| is_doubtful(facts) && facts.payload() * 2 <= self.full) {
            let (bytes, dscp) = of(facts);
            let profile = (bytes, dscp.into());
            if self.early.len() < MAX_EARLY && !self.early.contains(&profile) {
                self.early.push(profile);
            }
        }
    }

    /// A packet of a dissected frame: with the state of its ICRC, if a switch trimmed it.
    pub(crate) fn look(&mut self, facts: Facts, d: &Dissection<'_>, given: Option<&TrimProfile>) -> Facts {
        match facts.icrc() {
            State::Good => facts,
            State::Trimmed if d.end_is_known() => self.take(&facts, TrimLengths::Ip),
            State::Trimmed => match is_as_given(given, &facts) || facts.payload() < self.full {
                true => self.take(&facts, TrimLengths::None),
                false => facts.with_icrc(State::Unchecked),
            },
            State::Bad => self.look_alone(&facts, given),
            // Also of frames that the capture cut: their lengths tell.
            State::Unchecked if facts.opcode().transport == Transport::Mrc => self.look_alone(&facts, given),
            State::Unchecked => facts,
        }
    }

    /// A packet whose lengths agree, and whose ICRC is wrong.
    #[cold]
    pub(crate) fn look_alone(&mut self, facts: &Facts, given: Option<&TrimProfile>) -> Facts {
        let is_short = || contradicts(facts) && facts.payload() * 2 <= self.full;
        match facts.ip_right() != Some(false)
            && (is_as_given(given, facts) || is_short() || self.is_as_others(facts))
        {
            true => self.take(facts, TrimLengths::All),
            false => *facts,
        }
    }

    fn take(&mut self, facts: &Facts, lengths: TrimLengths) -> Facts {
        let trimmed = facts.with_icrc(State::Trimmed);
        let (Some(src), Some(dst)) = (facts.source(), facts.destination()) else { return trimmed };
        let (bytes, dscp) = of(facts);
        let is_it = |row: &Row| (row.dst, row.dscp, row.bytes, row.lengths) == (dst, dscp, bytes, lengths);
        if !self.rows.iter().any(is_it) && self.rows.len() < MAX_ROWS {
            self.rows.push(Row { dst, dscp, bytes, lengths, packets: 0, senders: BTreeSet::new() });
        }
        let Some(row) = self.rows.iter_mut().find(|row| is_it(row)) else {
            self.others += 1;
            return trimmed;
        };
        row.packets += 1;
        if row.senders.len() < MAX_SENDERS {
            row.senders.insert(src);
        }
        trimmed
    }

    /// Whether others that were trimmed have its size and DSCP.
    fn is_as_others(&self, facts: &Facts) -> bool {
        let (bytes, dscp) = of(facts);
        self.early.contains(&(bytes, dscp.into()))
            || self
                .rows
                .iter()
                .any(|row| (row.bytes, row.dscp, row.lengths) == (bytes, dscp, TrimLengths::All))
    }

    /// The report's rows, most packets first.
    pub(crate) fn section(&self, given: Option<&TrimProfile>) -> Vec<TrimmedTo> {
        let mut rows: Vec<TrimmedTo> = self
            .rows
            .iter()
            .map(|row| TrimmedTo {
                dst: row.dst.to_string(),
                frame_bytes: row.bytes.into(),
                dscp: row.dscp,
                lengths: row.lengths,
                packets: row.packets,
                senders: row.senders.len() as u64,
                is_last_hop: given.and_then(|given| given.last_hop).map(|dscp| dscp == row.dscp),
            })
            .collect();
        rows.order_by(|a, b| b.packets.cmp(&a.packets).then_with(|| a.dst.cmp(&b.dst)));
        rows
    }
}

/// Its bytes without the frame check sequence, and its DSCP.
fn of(facts: &Facts) -> (u32, u8) {
    let bytes = facts.l1_bytes().saturating_sub(PREAMBLE + FCS + GAP);
    (bytes, path_tag::dscp(facts.path_tag()).unwrap_or(0))
}

/// Whether it has the size and the DSCP that the user says trimmed packets have.
fn is_as_given(given: Option<&TrimProfile>, facts: &Facts) -> bool {
    let (bytes, dscp) = of(facts);
    given.is_some_and(|given| {
        given.bytes.is_none_or(|size| size == bytes)
            && (given.dscps.is_empty() || given.dscps.contains(&dscp))
    })
}

/// Whether the packet is as switches leave trimmed ones, or as those are which a capture cut, or that are corrupt.
fn is_doubtful(facts: &Facts) -> bool {
    match facts.icrc() {
        State::Good => false,
        State::Trimmed => true,
        State::Bad => facts.ip_right() != Some(false) && contradicts(facts),
        State::Unchecked => facts.opcode().transport == Transport::Mrc && contradicts(facts),
    }
}

/// Whether the payload is less than the packet says that it has: a First or Middle packet is as long as the path MTU, and a message of one packet
/// as long as its DMA length.
fn contradicts(facts: &Facts) -> bool {
    let (opcode, payload) = (facts.opcode(), facts.payload());
    let shape = opcode.shape();
    match shape.payload {
        PayloadRule::Full => !shape.allows(payload),
        _ if shape.operation == Some(Operation::Write) && shape.begins && shape.ends => {
            facts.dma_len().is_some_and(|len| len > payload)
        }
        _ => false,
    }
}
