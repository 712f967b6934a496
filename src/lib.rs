//! The packet-level toolkit for RoCEv2 and InfiniBand.
pub mod capture;
pub mod checksum;
pub mod dissect;
pub mod filter;
pub mod frame;
pub mod icrc;
pub mod opcode;
pub mod wire;
