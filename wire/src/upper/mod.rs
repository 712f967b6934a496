//! Messages of upper layers: which headers they begin with, and which protocol's a message is.
//!
//! A message says by itself what it is only where other data can hardly look like it: versions, zeros, counts, lengths and checksums
//! all have to fit ([`Protocol::of`]). Who knows the protocol by other means, such as the connection's set-up, reads without that
//! ([`Protocol::read`]).

mod application;
mod ipoib;
mod iser;
mod lnet;
mod nfs;
pub(crate) mod nvme;
mod parts;
mod rds;
mod rpc;
mod smb;
mod smc;
mod srp;
mod ucx;

pub use application::Application;
pub use nfs::{ReadOrWrite, bytes_of as bytes_of_nfs, hash_of_handle, result_of};
pub use nvme::{data_of, kind_of_data};
pub use parts::{Part, Parts};
pub use ucx::{announced as announced_by_ucx, sets_up as is_ucx_set_up};

use crate::named;
use parts::Reader;

named! {
    /// A protocol whose messages are read.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Protocol {
        /// RPC over RDMA, as NFS has it.
        RpcRdma "RPC",
        /// NVMe over RDMA.
        Nvme "NVMe",
        /// iSCSI over RDMA.
        Iser "iSER",
        /// SCSI RDMA Protocol.
        Srp "SRP",
        /// SMB over RDMA.
        SmbDirect "SMB Direct",
        /// Reliable datagram sockets.
        Rds "RDS",
        /// IP over InfiniBand.
        Ipoib "IPoIB",
        /// Lustre's network.
        Lnet "LNet",
        /// TCP's data by RDMA.
        SmcR "SMC-R",
    }
}

/// The beginning of a message, and what is known of the whole.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its first bytes.
    pub bytes: &'a [u8],
    /// Bytes of the whole message; `None` where it has more than these, and it is not known how many.
    pub len: Option<usize>,
}

impl Message<'_> {
    /// Whether the message has so many bytes, as far as that is known.
    fn has_len(&self, len: usize) -> bool {
        self.len.map_or(len > self.bytes.len(), |of| of == len)
    }

    fn has_at_least(&self, len: usize) -> bool {
        self.len.is_none_or(|of| of >= len)
    }
}

impl Protocol {
    /// The protocol that this message can only be of; `None` where it may be anything.
    pub fn of(message: Message<'_>) -> Option<Protocol> {
        match () {
            () if rpc::is(message) => Some(Protocol::RpcRdma),
            () if iser::is(message) => Some(Protocol::Iser),
            () if smb::is(message) => Some(Protocol::SmbDirect),
            () if nvme::is(message) => Some(Protocol::Nvme),
            () if rds::is(message) => Some(Protocol::Rds),
            () if srp::is(message) => Some(Protocol::Srp),
            () if ipoib::is(message) => Some(Protocol::Ipoib),
            () if lnet::is(message) => Some(Protocol::Lnet),
            () if smc::is(message) => Some(Protocol::SmcR),
            _ => None,
        }
    }

    /// The headers of a message of this protocol, as far as its bytes are there.
    pub fn read(self, message: Message<'_>) -> Parts {
        let mut reader = Reader::new(message.bytes);
        match self {
            Protocol::RpcRdma => rpc::read(&mut reader),
            Protocol::Nvme => nvme::read(&mut reader, message.len),
            Protocol::Iser => iser::read(&mut reader),
            Protocol::Srp => srp::read(&mut reader),
            Protocol::SmbDirect => smb::read(&mut reader),
            Protocol::Rds => rds::read(&mut reader),
            Protocol::Ipoib => ipoib::read(&mut reader),
            Protocol::Lnet => lnet::read(&mut reader),
            Protocol::SmcR => smc::read(&mut reader),
        };
        reader.finish()
    }
}
