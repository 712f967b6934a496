//! Which application a connection or a message is of.

use super::{Message, Protocol, lnet};
use crate::{
    named,
    wire::{PortSpace, ServiceId, SrpOpcode},
};

named! {
    /// What a queue pair is for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Application {
        /// NVMe over Fabrics.
        NvmeOf "NVMe-oF",
        /// NFS over RDMA.
        Nfs "NFS",
        /// iSCSI over RDMA.
        Iser "iSER",
        /// SCSI RDMA Protocol.
        Srp "SRP",
        /// SMB over RDMA.
        SmbDirect "SMB Direct",
        /// Reliable datagram sockets.
        Rds "RDS",
        /// Lustre.
        LNet "Lustre LNet",
        /// GlusterFS.
        GlusterFs "GlusterFS",
        /// IP over InfiniBand.
        Ipoib "IPoIB",
        /// UCX, which MPI and NCCL may use.
        Ucx "UCX",
        /// rping.
        Rping "rping",
        /// Programs that come with librdmacm.
        Examples "librdmacm examples",
        /// perftest.
        Perftest "perftest",
        /// libfabric's reliable datagrams over connections (ofi_rxm), which MPI and others may use.
        Libfabric "libfabric",
        /// TCP's data by RDMA.
        SmcR "SMC-R",
    }
}

impl Application {
    /// Which application listens there by convention, where one does (IANA; the kernel's sources).
    pub fn of_service(service: ServiceId) -> Option<Application> {
        /// IPoIB, connected mode: the queue pair of the asked host is the rest (RFC 4755).
        const IPOIB: u64 = 0x10;
        if service.0 >> 56 == IPOIB && service.0 & 0x00ff_ffff_ff00_0000 == 0 {
            return Some(Application::Ipoib);
        }
        let Some((PortSpace::Tcp, port)) = service.rdma_cm() else { return None };
        Some(match port {
            445 | 5445 => Application::SmbDirect,
            987 => Application::LNet,
            3260 => Application::Iser,
            4420 | 8009 => Application::NvmeOf,
            7174 => Application::Rping,
            7471 => Application::Examples,
            16385 | 18634 => Application::Rds,
            18515 => Application::Perftest,
            20049 => Application::Nfs,
            24008 => Application::GlusterFs,
            _ => return None,
        })
    }

    /// Whose private data of a REQ, REP or REJ this can only be.
    pub fn of_private_data(data: &[u8]) -> Option<Application> {
        /// RPC over RDMA (RFC 8797).
        const RPC_RDMA: [u8; 4] = [0xf6, 0xab, 0x0e, 0x18];
        let zero = |at: core::ops::Range<usize>| data.get(at).is_some_and(|b| b.iter().all(|&b| b == 0));
        let code = SrpOpcode(*data.first()?);
        match code {
            _ if data.starts_with(&RPC_RDMA) => Some(Application::Nfs),
            _ if is_lnet(data) => Some(Application::LNet),
            _ if is_rxm(data) => Some(Application::Libfabric),
            // A target's answer: limits of requests and lengths, then zeros.
            SrpOpcode::LOGIN_RSP if data.len() > 24 && zero(1..4) && !zero(16..20) && !zero(20..24) => {
                Some(Application::Srp)
            }
            SrpOpcode::LOGIN_REJ if zero(1..4) && data.get(4..6) == Some(&[0, 1]) => Some(Application::Srp),
            _ => None,
        }
    }

    /// Whose message this can only be.
    pub fn of_message(message: Message<'_>) -> Option<Application> {
        let protocol = Protocol::of(message)?;
        Some(match protocol {
            Protocol::RpcRdma => Application::Nfs,
            Protocol::Nvme => Application::NvmeOf,
            Protocol::Iser => Application::Iser,
            Protocol::Srp => Application::Srp,
            Protocol::SmbDirect => Application::SmbDirect,
            Protocol::Rds => Application::Rds,
            Protocol::Ipoib => Application::Ipoib,
            Protocol::Lnet => Application::LNet,
            Protocol::SmcR => Application::SmcR,
        })
    }

    /// The protocol of its messages, where it is read here.
    pub const fn protocol(self) -> Option<Protocol> {
        Some(match self {
            Application::NvmeOf => Protocol::Nvme,
            Application::Nfs => Protocol::RpcRdma,
            Application::Iser => Protocol::Iser,
            Application::Srp => Protocol::Srp,
            Application::SmbDirect => Protocol::SmbDirect,
            Application::Rds => Protocol::Rds,
            Application::Ipoib => Protocol::Ipoib,
            Application::LNet => Protocol::Lnet,
            Application::SmcR => Protocol::SmcR,
            _ => return None,
        })
    }
}

/// A message of LNet, as far as private data has room for it, or its refusal, which has magic number and version only.
fn is_lnet(data: &[u8]) -> bool {
    lnet::length(data).is_some()
        || matches!(
            data,
            [0x91, 0x1b, 0xe9, 0x0b, 0x11 | 0x12, 0, 1..=9, 0, ..]
                | [0x0b, 0xe9, 0x1b, 0x91, 0, 0x11 | 0x12, 1..=9, 0, ..]
        )
}

/// What ofi_rxm says in a REQ: 24 bytes (ofi_verbs puts their number before them), the only version, an order of bytes, versions of its control
/// messages and operations, a port, whether flow control is wanted, and padding (libfabric's `prov/rxm/src/rxm.h`).
fn is_rxm(data: &[u8]) -> bool {
    matches!(data, [24, 1, 1 | 2, 4, 3, _, _, 0..=2, 0, ..])
}
