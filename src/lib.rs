//! The packet-level toolkit for RoCEv2 and InfiniBand: dissect frames, craft them, analyze captures.
//!
//! # Modules
//! Each module uses only those above it. The first ones are the crate `rdmawire-wire`, shown here as this one's own.
//!
//! | module | feature | what it does |
//! |---|---|---|
//! | [`wire`] | | headers: bytes and the fields in them, each header declared once |
//! | [`opcode`] | | the table of operation codes: name, service, place in the message, headers, payload |
//! | [`checksum`] | | the internet checksum |
//! | [`dissect`](mod@dissect) | | a frame becomes an index of its headers, with notes on what is wrong; nothing is allocated |
//! | [`icrc`] | | invariant CRC, variant CRC, Ethernet's frame check sequence |
//! | [`message`] | `craft`, `report` | the packets of a message: how many, their operation codes, the payload of each |
//! | [`grammar`] | `grammar` | what users type: filters, recipes, numbers with units; and numbers as text |
//! | [`filter`] | `filter` | expressions such as `bth.psn > 7 && icrc.bad` |
//! | [`capture`] | `capture` | captures in and out: pcap, pcapng, ERF, compressed ones, network interfaces |
//! | [`frame`] | `frame` | a frame as one line, as a tree, as JSON, as columns |
//! | [`craft`] | `craft` | headers become frames: packets, messages, recipes, rewriting, mutants |
//! | [`report`] | `report` | the results of an analysis as data and as text |
//! | [`gate`] | `report` | rules that a report must keep |
//! | [`wire_cost`] | `report` | bytes on the wire, and what an encapsulation costs |
//! | [`dcqcn`] | `analyze`, `sim` | the rate of a sender that slows down for congestion notifications |
//! | [`logs`] | `analyze` | errors in logs of NCCL, UCX, SPDK and others, and the flows that they are about |
//! | [`sim`] | `sim` | scenarios become captures, with the truth on what happened |
//! | [`analyze`] | `analyze` | frames become results: retransmissions, loss and where, order, congestion |
//! | [`annotate`] | `analyze` | what the analysis knows of a frame, as a comment on it |
//! | [`packets`] | `analyze` | a row for each packet, with what the analysis says of it |
//! | [`taps`] | `analyze` | captures of several places on a path: what was lost between them, and how long it took |
//! | [`counters`] | `analyze` | the counters of two hosts beside a capture |
//! | [`fabric`] | `analyze` | a subnet of InfiniBand: nodes, ports, links, routes, managers, counters, from management datagrams |
//! | [`nvme`] | `analyze` | NVMe over RDMA: commands, their latencies, and what their time went to |
//! | [`commands`] | `analyze` | commands of NFS, iSER, SRP, SMB Direct, RDS, LNet and SMC-R, their latencies, and what their time went to |
//! | [`entropy`] | `analyze` | UDP source ports of connections, and which of them share a path |
//! | [`plot`] | `analyze` | pictures of what the analysis has found |
//!
//! # Features
//! Each of these is enough by itself: `capture`, `craft`, `filter`, `frame`, `report`, `analyze`, `sim`; `std` is all of them but `sim`. Beside
//! them: `serde` (types of headers as data), `toml` (rules and maps from files), `state` (an analysis in a file, to go on with),
//! `compression` (gzip and zstd captures), `live` (network interfaces), `libpcap` (capture by the C library), `arrow` (packets as record batches),
//! `arbitrary` (input for fuzz targets), `cli` (what the program `rdmawire` needs) and `parquet`. By default `std`, `cli`, `sim`, `state`, `compression` and `live`
//! are on. Without features the crate needs neither the standard library nor an allocator.
//!
//! # Examples
//! Dissect a frame:
//! ```
//! use rdmawire::{dissect::{Link, dissect}, icrc, wire::{Aeth, Bth}};
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
//! Craft one, with lengths, checksums and ICRC computed:
//! ```
//! # #[cfg(feature = "craft")] {
//! use rdmawire::{craft::Packet, opcode::Opcode, wire::{Bth, Psn, Qpn}};
//! use std::net::Ipv4Addr;
//!
//! let bth = Bth::default().with_opcode(Opcode::RC_SEND_ONLY).with_dest_qp(Qpn(0x11)).with_psn(Psn(7));
//! let packet = Packet::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)).push(bth).payload(vec![0xaa; 64]);
//! let frame = packet.build();
//! assert_eq!(frame.len(), 14 + 20 + 8 + 12 + 64 + 4);
//! # }
//! ```
//! Analyze a capture:
//! ```
//! # #[cfg(feature = "analyze")] {
//! use rdmawire::{analyze::{Analysis, Options}, capture::{self, Source}};
//!
//! let mut trace = capture::open("pcaps/loss1_rc_write-B-300.pcap".as_ref())?;
//! let mut analysis = Analysis::new(Options::default());
//! while let Some(record) = trace.next()? {
//!     analysis.push(&record);
//! }
//! let report = analysis.finish();
//! assert_eq!(report.flows.len(), 2);
//! assert!(report.flows.iter().any(|flow| flow.requests.retransmits == 85));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(any(feature = "base", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]
// What is used by nothing is found where all is there.
#![cfg_attr(not(feature = "std"), allow(dead_code))]

#[doc(inline)]
pub use rdmawire_wire::{checksum, crc32c, dissect, icrc, opcode, upper, wire};
#[cfg(feature = "analyze")]
pub mod logs;
#[cfg(any(feature = "craft", feature = "report"))]
pub mod message;
#[allow(unused_imports, reason = "not with every feature")]
use rdmawire_wire::named;

#[cfg(feature = "analyze")]
pub mod analyze;
#[cfg(feature = "analyze")]
pub mod annotate;
#[cfg(feature = "capture")]
pub mod capture;
#[cfg(feature = "analyze")]
pub mod commands;
#[cfg(feature = "analyze")]
pub mod counters;
#[cfg(feature = "craft")]
pub mod craft;
#[cfg(any(feature = "analyze", feature = "sim"))]
pub mod dcqcn;
#[cfg(feature = "analyze")]
pub mod entropy;
#[cfg(feature = "analyze")]
pub mod fabric;
#[cfg(feature = "filter")]
pub mod filter;
#[cfg(feature = "analyze")]
mod follow;
#[cfg(feature = "frame")]
pub mod frame;
#[cfg(feature = "report")]
pub mod gate;
#[cfg(feature = "grammar")]
pub mod grammar;
#[cfg(feature = "analyze")]
mod heap;
#[cfg(feature = "base")]
mod in_order;
#[cfg(feature = "analyze")]
pub mod nvme;
#[cfg(feature = "analyze")]
pub mod packets;
#[cfg(feature = "analyze")]
pub mod plot;
#[cfg(feature = "capture")]
mod prefetch;
#[cfg(feature = "craft")]
mod random;
#[cfg(feature = "report")]
pub mod report;
#[cfg(feature = "sim")]
pub mod sim;
#[cfg(feature = "analyze")]
mod stored;
#[cfg(feature = "report")]
mod sums;
#[cfg(feature = "analyze")]
pub mod taps;
#[cfg(any(feature = "frame", feature = "report"))]
mod utc;
#[cfg(feature = "report")]
pub mod wire_cost;
