//! Operation codes of the Multipath Reliable Connection (OCP MRC 1.0): see [`crate::wire::MrcBth`] for where they are from. Each is
//! InfiniBand's code of the same name behind the bits 110, where there is one.

use super::{Service, opcodes};
use crate::wire::{Bth, Header, Kind, MrcBth};

pub(super) const BTH: Kind = Kind::MrcBth;

/// Without and with the TSETH that the flag TS brings.
pub(super) const FORMS: &[&[Kind]] = &[&[Kind::Tseth], &[]];

#[inline(always)]
pub(super) fn form(bth: &Bth) -> usize {
    MrcBth::view(bth.bytes()).is_some_and(|(bth, _)| bth.ts()) as usize
}

#[inline(always)]
pub(super) const fn service(_: u8) -> Service {
    Service::Mrc
}

opcodes! {
    Mrc
    0xc6 MRC_WRITE_FIRST "MRC RDMA WRITE First" Mrc Write First Request [Meth, Tseth, Reth] Full;
    0xc7 MRC_WRITE_MIDDLE "MRC RDMA WRITE Middle" Mrc Write Middle Request [Meth, Tseth, Reth] Full;
    0xc8 MRC_WRITE_LAST "MRC RDMA WRITE Last" Mrc Write Last Request [Meth, Tseth, Reth] Some;
    0xc9 MRC_WRITE_LAST_WITH_IMMEDIATE "MRC RDMA WRITE Last with Immediate" Mrc Write Last Request [Meth, Tseth, Reth, ImmDt] Some;
    0xca MRC_WRITE_ONLY "MRC RDMA WRITE Only" Mrc Write Only Request [Meth, Tseth, Reth] Any;
    0xcb MRC_WRITE_ONLY_WITH_IMMEDIATE "MRC RDMA WRITE Only with Immediate" Mrc Write Only Request [Meth, Tseth, Reth, ImmDt] Any;
    0xd1 MRC_ACKNOWLEDGE "MRC Acknowledge" Mrc Acknowledge Only Response [Aeth] None;
    0xd8 MRC_ENDPOINT_REQUEST "MRC Endpoint Request" Mrc Endpoint Only Request [Erth] None;
    0xd9 MRC_ENDPOINT_RESPONSE "MRC Endpoint Response" Mrc Endpoint Only Response [Eeth] None;
    0xdc MRC_SACK "MRC Reliability SACK" Mrc Sack Only Response [Seth, CcState] None;
    0xdd MRC_NACK "MRC Reliability NACK" Mrc Nack Only Response [Neth] None;
    0xde MRC_PROBE_REQUEST "MRC Reliability Probe Request" Mrc Probe Only Request [Peth] None;
}
