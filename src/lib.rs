//! The packet-level toolkit for RoCEv2 and InfiniBand.
pub mod capture;
pub mod dissect;
