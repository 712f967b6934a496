//! Headers, operation codes, dissection and CRCs of RoCEv2 and InfiniBand. It needs neither the standard library nor an allocator; the crate
//! [`rdmawire`](https://docs.rs/rdmawire) shows all of it as its own, and has captures, crafting and analysis beside it.
//!
//! Each module uses only those above it.
//!
//! | module | what it does |
//! |---|---|
//! | [`wire`] | headers: bytes and the fields in them, each header declared once |
//! | [`opcode`] | the table of operation codes: name, service, place in the message, headers, payload |
//! | [`checksum`] | the internet checksum |
//! | [`upper`] | messages of upper layers: RPC, NVMe, iSER, SRP, SMB, RDS |
//! | [`dissect`](mod@dissect) | a frame becomes an index of its headers, with notes on what is wrong; nothing is allocated |
//! | [`icrc`] | invariant CRC, variant CRC, Ethernet's frame check sequence |
//!
//! # Features
//! `std`: CRCs by the processor's instructions, where it has them. `serde`: types of headers and their values as serde's data. None is on by
//! default.
//!
//! # Example
//! ```
//! use rdmawire_wire::{dissect::{Link, dissect}, icrc, wire::{Aeth, Bth}};
//!
//! let frame = [
//!     0x45, 0, 0, 48, 0, 0, 0x40, 0, 64, 17, 0x26, 0xbb, 10, 0, 0, 1, 10, 0, 0, 2, // IPv4
//!     0xc0, 0, 0x12, 0xb7, 0, 28, 0, 0, // UDP
//!     0x11, 0, 0xff, 0xff, 0, 0, 0, 0x12, 0, 0, 0, 7, // BTH
//!     0x60, 0, 0, 3, // AETH
//!     0xde, 0xad, 0xbe, 0xef, // ICRC
//! ];
//! let packet = dissect(Link::IPV4, &frame, frame.len() as u32);
//! let (bth, aeth) = (packet.get::<Bth>().unwrap(), packet.get::<Aeth>().unwrap());
//! assert_eq!(bth.opcode().name(), Some("RC Acknowledge"));
//! assert_eq!((bth.dest_qp().0, bth.psn().0, aeth.syndrome().is_nak()), (0x12, 7, true));
//! assert_eq!(icrc::verify(&packet), icrc::State::Bad);
//! ```
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

mod named;

pub mod checksum;
pub mod crc32c;
pub mod dissect;
pub mod icrc;
pub mod opcode;
pub mod upper;
pub mod wire;
