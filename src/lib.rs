//! The packet-level toolkit for RoCEv2 and InfiniBand.
#![deny(unsafe_code)]

pub mod analyze;
pub mod capture;
pub mod checksum;
pub mod cost;
pub mod craft;
pub mod dissect;
mod fetch;
pub mod filter;
pub mod frame;
pub mod icrc;
pub mod opcode;
pub mod report;
pub mod wire;
