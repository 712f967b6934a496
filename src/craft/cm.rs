//! The datagrams of the connection manager that set up and end a connection.

use std::net::IpAddr;

use super::{Channel, Packet, Path, packet::to_ipv6, template};
use crate::{
    opcode::{Opcode, Service},
    wire::*,
};

/// The messages of two connection managers about one connection: REQ, REP, RTU, and at its end DREQ and DREP, as
/// Linux's rdma_cm sends them; what may come between (MRA, REJ, LAP, APR), and SIDR for datagrams. Each is a [`Packet`]; [`Packet::edit`] changes other fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialog {
    /// From the active side to the passive one.
    pub path: Path,
    /// The active side's communication ID.
    pub active_comm_id: u32,
    /// The passive side's communication ID.
    pub passive_comm_id: u32,
    /// The active side's queue pair.
    pub active_qp: Qpn,
    /// The passive side's queue pair.
    pub passive_qp: Qpn,
    /// The first PSN that the active side sends: the REP's starting PSN.
    pub active_psn: Psn,
    /// The first PSN that the passive side sends: the REQ's starting PSN.
    pub passive_psn: Psn,
    /// Path MTU in bytes.
    pub mtu: u16,
    /// RC or UC.
    pub service: Service,
    /// The service that is requested; see [`Dialog::tcp_port`].
    pub service_id: ServiceId,
    /// The active side's port, in the RDMA-CM header.
    pub src_port: u16,
    /// The transaction ID.
    pub transaction_id: u64,
}

impl Dialog {
    /// The messages about a reliable connection to port 4420 (NVMe over Fabrics) with an MTU of 1024 bytes.
    pub fn new(path: Path, active_qp: Qpn, passive_qp: Qpn) -> Dialog {
        Dialog {
            path,
            active_comm_id: 0x1000_0000 | active_qp.0,
            passive_comm_id: 0x2000_0000 | passive_qp.0,
            active_qp,
            passive_qp,
            active_psn: Psn(0),
            passive_psn: Psn(0),
            mtu: 1024,
            service: Service::Rc,
            service_id: Dialog::tcp_port(4420),
            src_port: 50_000,
            transaction_id: 1,
        }
    }

    /// The service ID of a port in RDMA-CM's TCP port space.
    pub const fn tcp_port(port: u16) -> ServiceId {
        ServiceId::of_port(PortSpace::Tcp, port)
    }

    /// Connection request. It takes 92 bytes of private data. If the service is one of RDMA-CM, its header comes first
    /// and 56 bytes are left. Private data beyond that are cut off.
    pub fn req(&self, private: &[u8]) -> Packet {
        let (src, dst) = (self.path.src, self.path.dst);
        let transport = match self.service {
            Service::Uc => CmTransport::UC,
            Service::Rd => CmTransport::RD,
            Service::Xrc => CmTransport::EXTENDED,
            _ => CmTransport::RC,
        };
        let req = CmReq::default()
            .with_local_comm_id(CommId(self.active_comm_id))
            .with_service_id(self.service_id)
            .with_local_ca_guid(guid(src.mac))
            .with_local_qpn(self.active_qp)
            .with_responder_resources(16)
            .with_initiator_depth(16)
            .with_remote_cm_response_timeout(CmTimeout(20))
            .with_transport_service_type(transport)
            .with_starting_psn(self.passive_psn)
            .with_local_cm_response_timeout(CmTimeout(20))
            .with_retry_count(7)
            .with_p_key(self.path.p_key)
            .with_path_mtu(PathMtu::from_bytes(self.mtu).unwrap_or_default())
            .with_rnr_retry_count(7)
            .with_max_cm_retries(15)
            .with_extended_transport_type((self.service == Service::Xrc) as u8)
            .with_primary_local_lid(self.lid(src.lid))
            .with_primary_remote_lid(self.lid(dst.lid))
            .with_primary_local_gid(src.gid())
            .with_primary_remote_gid(dst.gid())
            .with_primary_packet_rate(3)
            .with_primary_traffic_class(Hex8(self.path.dscp << 2))
            .with_primary_hop_limit(self.path.ttl)
            .with_primary_sl(self.path.sl)
            .with_primary_local_ack_timeout(AckTimeout(19));
        self.with_addresses(self.message(false, req), private)
    }

    /// Reply, from the passive side.
    pub fn rep(&self, private: &[u8]) -> Packet {
        let rep = CmRep::default()
            .with_local_comm_id(CommId(self.passive_comm_id))
            .with_remote_comm_id(CommId(self.active_comm_id))
            .with_local_qpn(self.passive_qp)
            .with_starting_psn(self.active_psn)
            .with_responder_resources(16)
            .with_initiator_depth(16)
            .with_target_ack_delay(CmTimeout(15))
            .with_rnr_retry_count(7)
            .with_local_ca_guid(guid(self.path.dst.mac));
        fill(self.message(true, rep), private)
    }

    /// Ready to use, from the active side.
    pub fn rtu(&self, private: &[u8]) -> Packet {
        let (from, to) = self.comm_ids(false);
        let rtu = CmRtu::default().with_local_comm_id(from).with_remote_comm_id(to);
        fill(self.message(false, rtu), private)
    }

    /// Rejection of the REQ, from the passive side.
    pub fn rej(&self, reason: RejectReason, private: &[u8]) -> Packet {
        let (from, to) = self.comm_ids(true);
        let rej = CmRej::default().with_local_comm_id(from).with_remote_comm_id(to).with_reason(reason);
        fill(self.message(true, rej), private)
    }

    /// Disconnect request, from the passive side or the active one.
    pub fn dreq(&self, from_passive: bool, private: &[u8]) -> Packet {
        let (from, to) = self.comm_ids(from_passive);
        let qpn = if from_passive { self.active_qp } else { self.passive_qp };
        let dreq = CmDreq::default().with_local_comm_id(from).with_remote_comm_id(to).with_remote_qpn(qpn);
        fill(self.message(from_passive, dreq), private)
    }

    /// Disconnect reply, from the passive side or the active one.
    pub fn drep(&self, from_passive: bool, private: &[u8]) -> Packet {
        let (from, to) = self.comm_ids(from_passive);
        let drep = CmDrep::default().with_local_comm_id(from).with_remote_comm_id(to);
        fill(self.message(from_passive, drep), private)
    }

    /// From the passive side or the active one: it needs up to so much time to answer this message.
    pub fn mra(&self, from_passive: bool, message: CmMessage, timeout: CmTimeout) -> Packet {
        let (from, to) = self.comm_ids(from_passive);
        let mra = CmMra::default().with_local_comm_id(from).with_remote_comm_id(to);
        let mra = mra.with_message_mraed(message).with_service_timeout(timeout);
        fill(self.message(from_passive, mra), &[])
    }

    /// From the active side: the connection shall fall back to this path. Of InfiniBand, the LIDs of the path count.
    pub fn lap(&self, alternate: &Path, private: &[u8]) -> Packet {
        let (from, to) = self.comm_ids(false);
        let lap = CmLap::default()
            .with_local_comm_id(from)
            .with_remote_comm_id(to)
            .with_remote_qpn(self.passive_qp)
            .with_remote_cm_response_timeout(CmTimeout(20))
            .with_alternate_local_lid(self.lid(alternate.src.lid))
            .with_alternate_remote_lid(self.lid(alternate.dst.lid))
            .with_alternate_local_gid(alternate.src.gid())
            .with_alternate_remote_gid(alternate.dst.gid())
            .with_alternate_traffic_class(Hex8(alternate.dscp << 2))
            .with_alternate_hop_limit(alternate.ttl)
            .with_alternate_packet_rate(3)
            .with_alternate_sl(alternate.sl)
            .with_alternate_local_ack_timeout(AckTimeout(19));
        fill(self.message(false, lap), private)
    }

    /// The answer to a LAP, from the passive side.
    pub fn apr(&self, status: ApStatus, private: &[u8]) -> Packet {
        let (from, to) = self.comm_ids(true);
        let apr = CmApr::default().with_local_comm_id(from).with_remote_comm_id(to).with_ap_status(status);
        fill(self.message(true, apr), private)
    }

    /// Asks for the queue pair of the service, from the active side; private data as in a [REQ](Dialog::req).
    pub fn sidr_req(&self, private: &[u8]) -> Packet {
        let req = CmSidrReq::default()
            .with_request_id(CommId(self.active_comm_id))
            .with_p_key(self.path.p_key)
            .with_service_id(self.service_id);
        self.with_addresses(self.message(false, req), private)
    }

    /// The answer: the passive side's queue pair, if the status is [`SidrStatus::VALID`].
    pub fn sidr_rep(&self, status: SidrStatus, q_key: u32, private: &[u8]) -> Packet {
        let (qpn, q_key) = if status == SidrStatus::VALID { (self.passive_qp, q_key) } else { (Qpn(0), 0) };
        let rep = CmSidrRep::default()
            .with_request_id(CommId(self.active_comm_id))
            .with_status(status)
            .with_qpn(qpn)
            .with_service_id(self.service_id)
            .with_q_key(Hex32(q_key));
        fill(self.message(true, rep), private)
    }

    /// Private data behind RDMA-CM's header, if the service has one.
    fn with_addresses(&self, packet: Packet, private: &[u8]) -> Packet {
        if !self.service_id.is_rdma_cm() {
            return fill(packet, private);
        }
        let (src, dst) = (self.path.src.ip, self.path.dst.ip);
        let is_ipv4 = src.is_ipv4() && dst.is_ipv4();
        let address = |ip: IpAddr| IpCmAddress::of(if is_ipv4 { ip } else { to_ipv6(ip).into() });
        let ip_cm = IpCm::default()
            .with_ip_version(if is_ipv4 { 4 } else { 6 })
            .with_src_port(self.src_port)
            .with_src_ip(address(src))
            .with_dst_ip(address(dst));
        fill(packet.push(ip_cm), private)
    }

    /// A LID as the messages have it: RoCE has none.
    fn lid(&self, lid: u16) -> Lid {
        Lid(if self.path.vlan.is_some() || self.is_roce() { 0xffff } else { lid })
    }

    /// The sender's communication ID, then the receiver's.
    fn comm_ids(&self, from_passive: bool) -> (CommId, CommId) {
        match from_passive {
            true => (CommId(self.passive_comm_id), CommId(self.active_comm_id)),
            false => (CommId(self.active_comm_id), CommId(self.passive_comm_id)),
        }
    }

    fn is_roce(&self) -> bool {
        self.path.link() == crate::dissect::Link::ETHERNET
    }

    /// A datagram between the two queue pairs 1, up to this header. Its attribute number follows from the header.
    fn message<H: Header>(&self, from_passive: bool, header: H) -> Packet {
        let path = if from_passive { self.path.reversed() } else { self.path };
        let channel = Channel {
            service: Service::Ud,
            q_key: 0x8001_0000,
            mig_req: false,
            ..Channel::rc(path, Qpn(1), Qpn(1))
        };
        let mad = template::mad(MgmtClass::CM, MadMethod(3))
            .with_transaction_id(TransactionId(self.transaction_id))
            .with_attribute_id(Hex16(CmAttributes::before(H::KIND, CmAttribute::default()).0));
        channel.headers(Opcode::UD_SEND_ONLY, Psn(0)).push(mad).push(header)
    }
}

/// A datagram has 256 bytes.
const MAD_LEN: usize = 256;

/// Appends private data, cut or filled with zeros up to the end of the datagram.
fn fill(packet: Packet, private: &[u8]) -> Packet {
    let parts = packet.parts().iter();
    let used: usize = parts.filter(|part| part.kind.is_management()).map(|part| part.len as usize).sum();
    let mut bytes = [0; MAD_LEN];
    let room = bytes.get_mut(..MAD_LEN - used).unwrap_or_default();
    let len = private.len().min(room.len());
    room[..len].copy_from_slice(&private[..len]);
    packet.push_bytes(Kind::CmPrivate, room)
}

/// EUI-64 from an Ethernet address.
fn guid(mac: Mac) -> Guid {
    let [a, b, c, d, e, f] = mac.0;
    Guid(u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f]))
}
