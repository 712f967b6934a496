//! Crafting frames: packets of any headers with any values. [`ComputedField`] lists the fields that are computed.
//!
//! ```
//! use rdmawire::{craft::Packet, dissect, opcode::Opcode, wire::{Bth, Qpn, Psn, Reth, RKey}};
//! use std::net::Ipv4Addr;
//! let packet = Packet::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))
//!     .push(Bth::default().with_opcode(Opcode::RC_WRITE_ONLY).with_dest_qp(Qpn(0x11)).with_psn(Psn(7)))
//!     .push(Reth::default().with_r_key(RKey(0x1234)).with_dma_len(64))
//!     .payload(vec![0xaa; 64]);
//! let frame = packet.build();
//! let d = dissect::dissect(packet.link(), &frame, frame.len() as u32);
//! assert_eq!(rdmawire::icrc::verify(&d), rdmawire::icrc::State::Good);
//! // A captured frame can be edited. Unedited, it rebuilds bit for bit.
//! assert_eq!(Packet::from(&d).build(), frame);
//! ```

mod cm;
mod computed;
mod management;
mod message;
pub mod mutate;
mod packet;
mod path;
mod pause;
pub mod recipe;
pub mod rewrite;
mod settle;
pub(crate) mod template;
mod trim;
mod value;

pub use crate::message::Unsupported;
pub use cm::Dialog;
pub use computed::{ComputedField, ComputedFields};
pub use management::Management;
pub use message::{Channel, Data, Message, Request, Spray, answer, cnp_for};
pub use packet::{Packet, Part};
pub use path::{Endpoint, Path};
pub use pause::{Hold, flow_control, pause, pfc};
pub use template::template;
pub use trim::{Lengths, Trim};
pub use value::Edit;
