//! Headers: bytes and the fields in them. Each is declared once, with its figure; the declaration gives the
//! view, the setters, `Display`, the names in JSON and filters, and `rdmawire explain`.
//!
//! ```
//! use rdmawire_wire::wire::{Bth, Header};
//! let (bth, rest) = Bth::view(&[0x04, 0x40, 0xff, 0xff, 0, 0, 0, 0x11, 0x80, 0, 0, 7, 0xaa]).unwrap();
//! assert_eq!((bth.dest_qp().0, bth.psn().0, bth.ack_req(), rest.len()), (0x11, 7, true, 1));
//! ```

#[macro_use]
mod header;
#[macro_use]
mod kind;
mod attribute;
mod binding;
mod bth;
mod cm;
mod cm_value;
mod congestion_control;
mod erf;
mod ethernet;
mod ext;
mod infiniband;
mod ip;
mod ipoib;
mod iscsi;
mod lldp;
mod lnet;
mod mac_control;
mod mad;
mod mad_value;
mod message;
mod mrc;
mod nfs;
mod notice;
mod nvme;
mod nvme_identify;
mod nvme_log;
mod nvme_namespace;
mod pds;
mod perf;
mod perf_more;
mod rpc;
mod sa;
mod secure;
mod ses;
mod smc;
mod smp;
mod storage;
mod tag;
mod telemetry;
mod tunnel;
mod uet_value;
mod value;

pub use binding::{
    CmAttributes, ErfTypes, EtherTypes, GrhHeaders, IpProtocols, LrhHeaders, MacControlOpcodes,
    NextProtocols, PppProtocols, TunnelTypes, UdpPorts,
};
pub use binding::{GENEVE_PORT, ROCE_PORT, UET_PORT, UET_PORT_REFERENCE, VXLAN_PORT};
pub(crate) use header::bits;
pub use header::{Bits, Field, Header, HeaderInfo, Le, Secret, Show};
pub use kind::Kind;
pub(crate) use kind::KindSet;
pub use value::{
    Acknowledgement, CommId, Ecn, EeContext, EtherType, Guid, Hex8, Hex16, Hex32, Hex64, IpProtocol, Lid,
    Mac, NakCode, Opcode, PKey, Psn, Qpn, RKey, Srqn, Syndrome, TransactionId, Transport, VirtualAddress,
};
pub use {
    attribute::*, bth::*, cm::*, cm_value::*, congestion_control::*, erf::*, ethernet::*, ext::*,
    infiniband::*, ip::*, ipoib::*, iscsi::*, lldp::*, lnet::*, mac_control::*, mad::*, mad_value::*,
    message::*, mrc::*, nfs::*, notice::*, nvme::*, nvme_identify::*, nvme_log::*, nvme_namespace::*, pds::*,
    perf::*, perf_more::*, rpc::*, sa::*, secure::*, ses::*, smc::*, smp::*, storage::*, tag::*,
    telemetry::*, tunnel::*, uet_value::*,
};
