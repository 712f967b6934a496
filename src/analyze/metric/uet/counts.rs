//! Codes and operations by name, and what answers of all modes have in common.

use std::collections::BTreeMap;

use super::headers::Headers;
use crate::{
    analyze::track::distribution::Totals,
    heap::{Heap, heap},
    report::{UetContext, UetCount, UetCounted},
    wire::*,
};

/// Names that are counted of each context.
const MAX_COUNTS: usize = 256;

/// How often each NACK, operation and return code was there.
#[derive(Debug, Default, crate::stored::Stored)]
pub(super) struct Named(BTreeMap<(What, u8), Counted>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, crate::stored::Stored)]
enum What {
    Nack,
    Operation,
    ReturnCode,
}

#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Counted {
    count: u64,
    bytes: u64,
}

/// What the receiver said.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(super) struct Answers {
    /// Acknowledgements, or responses.
    pub(super) acks: u64,
    /// Those that tell of a mark.
    pub(super) marked: u64,
    /// Payload of responses.
    pub(super) response_bytes: u64,
    pub(super) nacks: u64,
    pub(super) nacks_trimmed: u64,
    pub(super) nacks_last_hop: u64,
    /// Times from requests to their answers.
    pub(super) rtts: Totals,
}

heap! {
    Named { 0 }
    Counted {}
}

impl Heap for (What, u8) {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl Named {
    fn count(&mut self, what: What, code: u8, bytes: u64) {
        if self.0.len() < MAX_COUNTS || self.0.contains_key(&(what, code)) {
            let counted = self.0.entry((what, code)).or_default();
            counted.count += 1;
            counted.bytes = counted.bytes.saturating_add(bytes);
        }
    }

    pub(super) fn operation(&mut self, opcode: SesOpcode, bytes: u64) {
        self.count(What::Operation, opcode.0, bytes);
    }

    /// The return code of a response, where there is one.
    pub(super) fn response(&mut self, headers: &Headers<'_, '_>) {
        let code = headers
            .get::<SesResponse>()
            .map(SesResponse::return_code)
            .or_else(|| headers.get::<SesResponseData>().map(SesResponseData::return_code))
            .or_else(|| headers.get::<SesResponseSmall>().map(SesResponseSmall::return_code));
        if let Some(code) = code {
            self.count(What::ReturnCode, code.0, 0);
        }
    }

    /// Rows of these requests.
    pub(super) fn rows(&self, of: &UetContext) -> Vec<UetCount> {
        let row = |(&(what, code), counted): (&(What, u8), &Counted)| {
            let (counts, name) = match what {
                What::Nack => (UetCounted::Nack, PdsNackCode(code).name()),
                What::Operation => (UetCounted::Operation, SesOpcode(code).name()),
                What::ReturnCode => (UetCounted::ReturnCode, SesReturnCode(code).name()),
            };
            UetCount {
                src: of.src.clone(),
                dst: of.dst.clone(),
                spdcid: of.spdcid,
                mode: of.mode,
                counted: counts,
                name: name.map_or_else(|| format!("{code:#x}"), str::to_owned),
                code,
                count: counted.count,
                bytes: (what == What::Operation).then_some(counted.bytes),
            }
        };
        self.0.iter().map(row).collect()
    }
}

impl Answers {
    pub(super) fn are_any(&self) -> bool {
        self.acks + self.nacks > 0
    }

    /// A NACK. Returns whether it is for a trimmed packet.
    pub(super) fn nack(&mut self, code: PdsNackCode, named: &mut Named) -> bool {
        self.nacks += 1;
        self.nacks_last_hop += u64::from(code == PdsNackCode::TRIMMED_LAST_HOP);
        let trimmed = [PdsNackCode::TRIMMED, PdsNackCode::TRIMMED_LAST_HOP, PdsNackCode::TRIMMED_ACK];
        let is_trimmed = trimmed.contains(&code);
        self.nacks_trimmed += u64::from(is_trimmed);
        named.count(What::Nack, code.0, 0);
        is_trimmed
    }
}
