//! Management datagrams: the common header and the connection manager's messages.

use core::net::Ipv6Addr;

use super::{CommId, EeContext, Guid, Hex8, Hex16, Hex32, Lid, PKey, Psn, Qpn, Show, TransactionId};

number! {
    /// Management class (IBTA vol. 1, 13.4.4).
    MgmtClass(u8) as Show::Named(|v| Some(match v {
        0x01 => "SubnMgt", 0x81 => "SubnMgt directed route", 0x03 => "SubnAdm", 0x04 => "PerfMgt", 0x05 => "BM", 0x06 => "DevMgt",
        0x07 => "CommMgt", 0x08 => "SNMP", 0x09..=0x0f => "vendor", 0x10 => "DevAdm", 0x11 => "BootMgt", 0x12 => "BIS",
        0x21 => "CongestionControl", 0x13..=0x2f => "application", 0x30..=0x4f => "vendor with OUI", _ => return None,
    }))
}

impl MgmtClass {
    /// Subnet management, routed by LID.
    pub const SUBN_LID: MgmtClass = MgmtClass(0x01);
    /// Subnet management, directed route.
    pub const SUBN_DIRECTED: MgmtClass = MgmtClass(0x81);
    /// Subnet administration.
    pub const SUBN_ADM: MgmtClass = MgmtClass(0x03);
    /// Performance management.
    pub const PERF: MgmtClass = MgmtClass(0x04);
    /// Communication management.
    pub const CM: MgmtClass = MgmtClass(0x07);
}

number! {
    /// Method of a management datagram (IBTA vol. 1, 13.4.5).
    MadMethod(u8) as Show::Named(|v| Some(match v {
        0x01 => "Get", 0x02 => "Set", 0x81 => "GetResp", 0x03 => "Send", 0x05 => "Trap", 0x06 => "Report", 0x86 => "ReportResp",
        0x07 => "TrapRepress", 0x12 => "GetTable", 0x92 => "GetTableResp", 0x13 => "GetTraceTable", 0x14 => "GetMulti",
        0x94 => "GetMultiResp", 0x15 => "Delete", 0x95 => "DeleteResp", _ => return None,
    }))
}

number! {
    /// Transport service in a connection request.
    CmTransport(u8) as Show::Named(|v| Some(["RC", "UC", "RD", "extended"][v as usize & 3]))
}

number! {
    /// Path MTU by code.
    PathMtu(u8) as Show::Decoded(|v, f| match PathMtu(v as u8).bytes() { Some(n) => write!(f, "{n} bytes"), None => f.write_str("reserved") })
}

impl PathMtu {
    /// In bytes; `None` for a reserved code.
    pub const fn bytes(self) -> Option<u16> {
        match self.0 {
            1..=5 => Some(128 << self.0),
            _ => None,
        }
    }

    /// The code for a number of bytes.
    pub const fn from_bytes(bytes: u16) -> Option<PathMtu> {
        match bytes {
            256 => Some(PathMtu(1)),
            512 => Some(PathMtu(2)),
            1024 => Some(PathMtu(3)),
            2048 => Some(PathMtu(4)),
            4096 => Some(PathMtu(5)),
            _ => None,
        }
    }
}

number! {
    /// The message that an MRA or REJ answers.
    CmMessage(u8) as Show::Named(|v| Some(["REQ", "REP", "other", "reserved"][v as usize & 3]))
}

number! {
    /// Service of a connection request. RDMA-CM: 0x01, port space (IP protocol), port.
    ServiceId(u64) as Show::Decoded(|v, f| match (v >> 16, v & 0xffff) {
        (0x0106, port) => write!(f, "RDMA-CM TCP port {port}"),
        (0x0111, port) => write!(f, "RDMA-CM UDP port {port}"),
        (0x013f, port) => write!(f, "RDMA-CM IB port {port}"),
        (0x0002, port) => write!(f, "RDMA-CM IPoIB port {port}"),
        _ => f.write_str("not RDMA-CM"),
    }) => ServiceId
}

impl ServiceId {
    /// Whether the RDMA IP CM service's header starts the private data.
    pub const fn is_rdma_cm(self) -> bool {
        self.0 & 0xffff_ffff_ff00_0000 == 0x0000_0000_0100_0000
    }
}

number! {
    /// Why a connection was rejected (IBTA vol. 1, 12.6.7.2).
    RejectReason(u16) as Show::Named(|v| Some(match v {
        1 => "no QP", 2 => "no EEC", 3 => "no resources", 4 => "timeout", 5 => "unsupported request", 6 => "invalid communication ID",
        7 => "invalid communication instance", 8 => "invalid service ID", 9 => "invalid transport service type", 10 => "stale connection",
        11 => "RDC does not exist", 12 => "primary remote GID", 13 => "primary remote LID", 14 => "invalid primary SL",
        15 => "invalid primary traffic class", 16 => "invalid primary hop limit", 17 => "invalid primary packet rate",
        18 => "alternate remote GID", 19 => "alternate remote LID", 20 => "invalid alternate SL", 21 => "invalid alternate traffic class",
        22 => "invalid alternate hop limit", 23 => "invalid alternate packet rate", 24 => "CM redirection", 25 => "port redirection",
        26 => "invalid path MTU", 27 => "insufficient responder resources", 28 => "consumer reject", 29 => "RNR retry count",
        30 => "duplicate local communication ID", 31 => "class version", 32 => "invalid flow label", 33 => "invalid alternate flow label",
        35 => "vendor option not supported", _ => return None,
    }))
}

/// Attribute numbers of the connection manager's messages.
pub mod cm_attribute {
    /// Connection request.
    pub const REQ: u16 = 0x0010;
    /// Message receipt acknowledgement.
    pub const MRA: u16 = 0x0011;
    /// Rejection.
    pub const REJ: u16 = 0x0012;
    /// Reply.
    pub const REP: u16 = 0x0013;
    /// Ready to use.
    pub const RTU: u16 = 0x0014;
    /// Disconnect request.
    pub const DREQ: u16 = 0x0015;
    /// Disconnect reply.
    pub const DREP: u16 = 0x0016;
}

header! {
    /// Common management datagram header (IBTA vol. 1, 13.4.3).
    ///
    /// ```text
    /// +---------------+---------------+---------------+---------------+
    /// |  BaseVersion  |   MgmtClass   | ClassVersion  |    Method     |
    /// +---------------+---------------+---------------+---------------+
    /// |            Status             |        ClassSpecific          |
    /// +-------------------------------+-------------------------------+
    /// |                    TransactionID (64 bits)                    |
    /// |                                                               |
    /// +-------------------------------+-------------------------------+
    /// |          AttributeID          |           reserved            |
    /// +-------------------------------+-------------------------------+
    /// |                       AttributeModifier                       |
    /// +---------------------------------------------------------------+
    /// ```
    Mad "MAD", 24 bytes {
        /// 1; 0x80 on Omni-Path.
        base_version with_base_version: 8 as u8 ["infiniband.mad.baseversion"],
        /// Management class.
        mgmt_class with_mgmt_class: 8 as MgmtClass ["infiniband.mad.mgmtclass"],
        /// Class version.
        class_version with_class_version: 8 as u8 ["infiniband.mad.classversion"],
        /// Method; bit 7 marks a response.
        method with_method: 8 as MadMethod ["infiniband.mad.method"],
        /// Status; bit 15 is the direction in directed-route SMPs.
        status with_status: 16 as Hex16 ["infiniband.mad.status"],
        /// Hop pointer and hop count in directed-route SMPs.
        class_specific with_class_specific: 16 as Hex16 ["infiniband.mad.classspecific"],
        /// Transaction identifier; a response has that of its request.
        transaction_id with_transaction_id: 64 as TransactionId ["infiniband.mad.transactionid"],
        /// The attribute or message.
        attribute_id with_attribute_id: 16 as Hex16 ["infiniband.mad.attributeid"],
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// The part of the attribute.
        attribute_modifier with_attribute_modifier: 32 as Hex32 ["infiniband.mad.attributemodifier"],
    }
}

header! {
    /// Connection request (IBTA vol. 1, 12.6.5), from the active side; private data follows.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                    local_comm_id (32 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                       reserved (32 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                      service_id (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                    local_ca_guid (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                      reserved2 (32 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                     local_q_key (32 bits)                     |
    /// +-----------------------------------------------+---------------+
    /// |                   local_qpn                   |responder_resou|
    /// +-----------------------------------------------+---------------+
    /// |                   local_eecn                  |initiator_depth|
    /// +-----------------------------------------------+---------+---+-+
    /// |                  remote_eecn                  |remote_cm|tra|e|
    /// +-----------------------------------------------+---------+---+-+
    /// |                  starting_psn                 |local_cm_|retry|
    /// +-------------------------------+-------+-+-----+-------+-+-----+
    /// |             p_key             |path_mt|r|rnr_r|max_cm_|s|exten|
    /// +-------------------------------+-------+-+-----+-------+-+-----+
    /// |       primary_local_lid       |       primary_remote_lid      |
    /// +-------------------------------+-------------------------------+
    /// |                  primary_local_gid (128 bits)                 |
    /// +---------------------------------------------------------------+
    /// |                 primary_remote_gid (128 bits)                 |
    /// +---------------------------------------+-----------+-----------+
    /// |           primary_flow_label          |primary_res|primary_pac|
    /// +---------------+---------------+-------+-+-----+---+-----+-----+
    /// |primary_traffic|primary_hop_lim|primary|p|prima|primary_l|prima|
    /// +---------------+---------------+-------+-+-----+---------+-----+
    /// |      alternate_local_lid      |      alternate_remote_lid     |
    /// +-------------------------------+-------------------------------+
    /// |                 alternate_local_gid (128 bits)                |
    /// +---------------------------------------------------------------+
    /// |                alternate_remote_gid (128 bits)                |
    /// +---------------------------------------+-----------+-----------+
    /// |          alternate_flow_label         |alternate_r|alternate_p|
    /// +---------------+---------------+-------+-+-----+---+-----+-----+
    /// |alternate_traff|alternate_hop_l|alterna|a|alter|alternate|alter|
    /// +---------------+---------------+-------+-+-----+---------+-----+
    /// ```
    CmReq "CM REQ", 140 bytes {
        /// The sender's number for the connection.
        local_comm_id with_local_comm_id: 32 as CommId ["infiniband.cm.req"],
        /// Reserved.
        reserved with_reserved: 32 as Hex32,
        /// Service identifier.
        service_id with_service_id: 64 as ServiceId ["infiniband.cm.req.serviceid"],
        /// GUID of the sender's adapter.
        local_ca_guid with_local_ca_guid: 64 as Guid ["infiniband.cm.req.localcaguid"],
        /// Reserved; vendor data in newer kernels.
        reserved2 with_reserved2: 32 as Hex32,
        /// Queue key.
        local_q_key with_local_q_key: 32 as Hex32 ["infiniband.cm.req.localqkey"],
        /// The sender's queue pair.
        local_qpn with_local_qpn: 24 as Qpn ["infiniband.cm.req.localqpn"],
        /// Outstanding READs and atomics that the sender accepts.
        responder_resources with_responder_resources: 8 as u8 ["infiniband.cm.req.responderres"],
        /// End-to-end context.
        local_eecn with_local_eecn: 24 as EeContext ["infiniband.cm.req.localeecn"],
        /// Outstanding READs and atomics that the sender issues.
        initiator_depth with_initiator_depth: 8 as u8 ["infiniband.cm.req.initdepth"],
        /// End-to-end context.
        remote_eecn with_remote_eecn: 24 as EeContext ["infiniband.cm.req.remoteeecn"],
        /// How long the receiver may take to answer a CM message: 4.096 us · 2^n.
        remote_cm_response_timeout with_remote_cm_response_timeout: 5 as u8 ["infiniband.cm.req.remoteresptout"],
        /// Transport service.
        transport_service_type with_transport_service_type: 2 as CmTransport ["infiniband.cm.req.transpsvctype"],
        /// The sender counts credits.
        end_to_end_flow_control with_end_to_end_flow_control: 1 as bool ["infiniband.cm.req.e2eflowctrl"],
        /// The first PSN that the sender expects to receive.
        starting_psn with_starting_psn: 24 as Psn ["infiniband.cm.req.startpsn"],
        /// How long the sender takes at most to answer a CM message: 4.096 us · 2^n.
        local_cm_response_timeout with_local_cm_response_timeout: 5 as u8 ["infiniband.cm.req.localresptout"],
        /// Retries after a timeout.
        retry_count with_retry_count: 3 as u8 ["infiniband.cm.req.retrcount"],
        /// Partition.
        p_key with_p_key: 16 as PKey ["infiniband.cm.req.pkey"],
        /// Path MTU.
        path_mtu with_path_mtu: 4 as PathMtu ["infiniband.cm.req.pppmtu"],
        /// An RD channel exists.
        rdc_exists with_rdc_exists: 1 as bool ["infiniband.cm.req.rdcexist"],
        /// Retries after an RNR NAK; 7 means no limit.
        rnr_retry_count with_rnr_retry_count: 3 as u8 ["infiniband.cm.req.rnrretrcount"],
        /// Retries of CM messages.
        max_cm_retries with_max_cm_retries: 4 as u8 ["infiniband.cm.req.maxcmretr"],
        /// The sender has a shared receive queue.
        srq with_srq: 1 as bool ["infiniband.cm.req.srq"],
        /// 1 means XRC.
        extended_transport_type with_extended_transport_type: 3 as u8 ["infiniband.cm.req.ext_transport"],
        /// Primary path: the sender's LID; 0xffff on RoCE.
        primary_local_lid with_primary_local_lid: 16 as Lid ["infiniband.cm.req.prim_locallid"],
        /// Primary path: the receiver's LID.
        primary_remote_lid with_primary_remote_lid: 16 as Lid ["infiniband.cm.req.prim_remotelid"],
        /// Primary path: the sender's GID.
        primary_local_gid with_primary_local_gid: 128 as Ipv6Addr ["infiniband.cm.req.prim_localgid"],
        /// Primary path: the receiver's GID.
        primary_remote_gid with_primary_remote_gid: 128 as Ipv6Addr ["infiniband.cm.req.prim_remotegid"],
        /// Primary path: flow label.
        primary_flow_label with_primary_flow_label: 20 as u32 ["infiniband.cm.req.prim_flowlabel"],
        /// Reserved.
        primary_reserved with_primary_reserved: 6 as u8,
        /// Primary path: packet rate.
        primary_packet_rate with_primary_packet_rate: 6 as u8 ["infiniband.cm.req.prim_pktrate"],
        /// Primary path: traffic class.
        primary_traffic_class with_primary_traffic_class: 8 as Hex8 ["infiniband.cm.req.prim_tfcclass"],
        /// Primary path: hop limit.
        primary_hop_limit with_primary_hop_limit: 8 as u8 ["infiniband.cm.req.prim_hoplim"],
        /// Primary path: service level.
        primary_sl with_primary_sl: 4 as u8 ["infiniband.cm.req.prim_sl"],
        /// Primary path: both ends are in one subnet.
        primary_subnet_local with_primary_subnet_local: 1 as bool ["infiniband.cm.req.prim_subnetlocal"],
        /// Reserved.
        primary_reserved2 with_primary_reserved2: 3 as u8,
        /// Primary path: acknowledgement timeout of 4.096 us · 2^n.
        primary_local_ack_timeout with_primary_local_ack_timeout: 5 as u8 ["infiniband.cm.req.prim_localacktout"],
        /// Reserved.
        primary_reserved3 with_primary_reserved3: 3 as u8,
        /// Alternate path: the sender's LID; 0xffff on RoCE.
        alternate_local_lid with_alternate_local_lid: 16 as Lid ["infiniband.cm.req.alt_locallid"],
        /// Alternate path: the receiver's LID.
        alternate_remote_lid with_alternate_remote_lid: 16 as Lid ["infiniband.cm.req.alt_remotelid"],
        /// Alternate path: the sender's GID.
        alternate_local_gid with_alternate_local_gid: 128 as Ipv6Addr ["infiniband.cm.req.alt_localgid"],
        /// Alternate path: the receiver's GID.
        alternate_remote_gid with_alternate_remote_gid: 128 as Ipv6Addr ["infiniband.cm.req.alt_remotegid"],
        /// Alternate path: flow label.
        alternate_flow_label with_alternate_flow_label: 20 as u32 ["infiniband.cm.req.alt_flowlabel"],
        /// Reserved.
        alternate_reserved with_alternate_reserved: 6 as u8,
        /// Alternate path: packet rate.
        alternate_packet_rate with_alternate_packet_rate: 6 as u8 ["infiniband.cm.req.alt_pktrate"],
        /// Alternate path: traffic class.
        alternate_traffic_class with_alternate_traffic_class: 8 as Hex8 ["infiniband.cm.req.alt_tfcclass"],
        /// Alternate path: hop limit.
        alternate_hop_limit with_alternate_hop_limit: 8 as u8 ["infiniband.cm.req.alt_hoplim"],
        /// Alternate path: service level.
        alternate_sl with_alternate_sl: 4 as u8 ["infiniband.cm.req.alt_sl"],
        /// Alternate path: both ends are in one subnet.
        alternate_subnet_local with_alternate_subnet_local: 1 as bool ["infiniband.cm.req.alt_subnetlocal"],
        /// Reserved.
        alternate_reserved2 with_alternate_reserved2: 3 as u8,
        /// Alternate path: acknowledgement timeout of 4.096 us · 2^n.
        alternate_local_ack_timeout with_alternate_local_ack_timeout: 5 as u8 ["infiniband.cm.req.alt_localacktout"],
        /// Reserved.
        alternate_reserved3 with_alternate_reserved3: 3 as u8,
    }
}

header! {
    /// Message receipt acknowledgement (12.6.6): the peer needs more time.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                    local_comm_id (32 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                    remote_comm_id (32 bits)                   |
    /// +---+-----------+---------+-----+-------------------------------+
    /// |mes|  reserved |service_t|reser|
    /// +---+-----------+---------+-----+
    /// ```
    CmMra "CM MRA", 10 bytes {
        /// The sender's number for the connection.
        local_comm_id with_local_comm_id: 32 as CommId,
        /// The receiver's number for the connection.
        remote_comm_id with_remote_comm_id: 32 as CommId,
        /// Which message.
        message_mraed with_message_mraed: 2 as CmMessage,
        /// Reserved.
        reserved with_reserved: 6 as u8,
        /// How much time the sender needs: 4.096 us · 2^n.
        service_timeout with_service_timeout: 5 as u8,
        /// Reserved.
        reserved2 with_reserved2: 3 as u8,
    }
}

/// Additional reject information: what it is depends on the reason. It may be a GID or a LID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RejectInfo(pub [u8; 72]);

bits!(RejectInfo as Show::Bytes => Opaque, [u8; 72]: RejectInfo, |info: RejectInfo| info.0;);

header! {
    /// Rejection (12.6.7).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                    local_comm_id (32 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                    remote_comm_id (32 bits)                   |
    /// +---+-----------+-------------+-+-------------------------------+
    /// |mes|  reserved |reject_info_l|r|             reason            |
    /// +---+-----------+-------------+-+-------------------------------+
    /// |                         ari (576 bits)                        |
    /// +---------------------------------------------------------------+
    /// ```
    CmRej "CM REJ", 84 bytes {
        /// The sender's number for the connection.
        local_comm_id with_local_comm_id: 32 as CommId ["infiniband.cm.rej.localcommid"],
        /// The receiver's number for the connection.
        remote_comm_id with_remote_comm_id: 32 as CommId ["infiniband.cm.rej.remotecommid"],
        /// Which message.
        message_rejected with_message_rejected: 2 as CmMessage ["infiniband.cm.rej.msgrej"],
        /// Reserved.
        reserved with_reserved: 6 as u8,
        /// How many bytes of `ari` are used.
        reject_info_length with_reject_info_length: 7 as u8 ["infiniband.cm.rej.rejinfolen"],
        /// Reserved.
        reserved2 with_reserved2: 1 as u8,
        /// The reason.
        reason with_reason: 16 as RejectReason ["infiniband.cm.rej.reason"],
        /// Additional information.
        ari with_ari: 576 as RejectInfo ["infiniband.cm.rej.ari"],
    }
}

header! {
    /// Reply to a connection request (12.6.8), from the passive side.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                    local_comm_id (32 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                    remote_comm_id (32 bits)                   |
    /// +---------------------------------------------------------------+
    /// |                     local_q_key (32 bits)                     |
    /// +-----------------------------------------------+---------------+
    /// |                   local_qpn                   |    reserved   |
    /// +-----------------------------------------------+---------------+
    /// |                   local_eecn                  |   reserved2   |
    /// +-----------------------------------------------+---------------+
    /// |                  starting_psn                 |   reserved3   |
    /// +---------------+---------------+---------+---+-+-----+-+-------+
    /// |responder_resou|initiator_depth|target_ac|fai|e|rnr_r|s|reserve|
    /// +---------------+---------------+---------+---+-+-----+-+-------+
    /// |                    local_ca_guid (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// ```
    CmRep "CM REP", 36 bytes {
        /// The sender's number for the connection.
        local_comm_id with_local_comm_id: 32 as CommId ["infiniband.cm.rep"],
        /// The receiver's number for the connection.
        remote_comm_id with_remote_comm_id: 32 as CommId ["infiniband.cm.rep.remotecommid"],
        /// Queue key.
        local_q_key with_local_q_key: 32 as Hex32 ["infiniband.cm.rep.localqkey"],
        /// The sender's queue pair.
        local_qpn with_local_qpn: 24 as Qpn ["infiniband.cm.rep.localqpn"],
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// End-to-end context.
        local_eecn with_local_eecn: 24 as EeContext ["infiniband.cm.rep.localeecn"],
        /// Reserved.
        reserved2 with_reserved2: 8 as Hex8,
        /// The first PSN that the sender expects to receive.
        starting_psn with_starting_psn: 24 as Psn ["infiniband.cm.rep.startpsn"],
        /// Reserved.
        reserved3 with_reserved3: 8 as Hex8,
        /// Outstanding READs and atomics that the sender accepts.
        responder_resources with_responder_resources: 8 as u8 ["infiniband.cm.rep.respres"],
        /// Outstanding READs and atomics that the sender issues.
        initiator_depth with_initiator_depth: 8 as u8 ["infiniband.cm.rep.initdepth"],
        /// The longest delay of an acknowledgement by the sender: 4.096 us · 2^n.
        target_ack_delay with_target_ack_delay: 5 as u8 ["infiniband.cm.rep.tgtackdelay"],
        /// Whether the alternate path was accepted.
        failover_accepted with_failover_accepted: 2 as u8 ["infiniband.cm.rep.failoveracc"],
        /// The sender counts credits.
        end_to_end_flow_control with_end_to_end_flow_control: 1 as bool ["infiniband.cm.rep.e2eflowctrl"],
        /// Retries after an RNR NAK; 7 means no limit.
        rnr_retry_count with_rnr_retry_count: 3 as u8 ["infiniband.cm.rep.rnrretrcount"],
        /// The sender has a shared receive queue.
        srq with_srq: 1 as bool ["infiniband.cm.rep.srq"],
        /// Reserved.
        reserved4 with_reserved4: 4 as u8,
        /// GUID of the sender's adapter.
        local_ca_guid with_local_ca_guid: 64 as Guid ["infiniband.cm.rep.localcaguid"],
    }
}

header! {
    /// Ready to use (12.6.9): the active side has the reply.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                    local_comm_id (32 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                    remote_comm_id (32 bits)                   |
    /// +---------------------------------------------------------------+
    /// ```
    CmRtu "CM RTU", 8 bytes {
        /// The sender's number for the connection.
        local_comm_id with_local_comm_id: 32 as CommId ["infiniband.cm.rtu.localcommid"],
        /// The receiver's number for the connection.
        remote_comm_id with_remote_comm_id: 32 as CommId ["infiniband.cm.rtu.remotecommid"],
    }
}

header! {
    /// Disconnect reply (12.6.11).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                    local_comm_id (32 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                    remote_comm_id (32 bits)                   |
    /// +---------------------------------------------------------------+
    /// ```
    CmDrep "CM DREP", 8 bytes {
        /// The sender's number for the connection.
        local_comm_id with_local_comm_id: 32 as CommId,
        /// The receiver's number for the connection.
        remote_comm_id with_remote_comm_id: 32 as CommId,
    }
}

header! {
    /// Disconnect request (12.6.10).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                    local_comm_id (32 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                    remote_comm_id (32 bits)                   |
    /// +-----------------------------------------------+---------------+
    /// |                   remote_qpn                  |    reserved   |
    /// +-----------------------------------------------+---------------+
    /// ```
    CmDreq "CM DREQ", 12 bytes {
        /// The sender's number for the connection.
        local_comm_id with_local_comm_id: 32 as CommId ["infiniband.cm.dreq.localcommid"],
        /// The receiver's number for the connection.
        remote_comm_id with_remote_comm_id: 32 as CommId ["infiniband.cm.dreq.remotecommid"],
        /// The receiver's queue pair.
        remote_qpn with_remote_qpn: 24 as Qpn ["infiniband.cm.req.remoteqpneecn"],
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
    }
}

header! {
    /// The RDMA IP CM service's header at the start of a REQ's private data (annex A11).
    ///
    /// ```text
    /// +-------+-------+-------+-------+-------------------------------+
    /// |major_v|minor_v|ip_vers|reserve|            src_port           |
    /// +-------+-------+-------+-------+-------------------------------+
    /// |                       src_ip (128 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                       dst_ip (128 bits)                       |
    /// +---------------------------------------------------------------+
    /// ```
    IpCm "RDMA-CM", 36 bytes {
        /// 0.
        major_version with_major_version: 4 as u8 ["infiniband.cm.req.ip_cm.majv"],
        /// 0.
        minor_version with_minor_version: 4 as u8 ["infiniband.cm.req.ip_cm.minv"],
        /// 4 or 6.
        ip_version with_ip_version: 4 as u8 ["infiniband.cm.req.ip_cm.ipv"],
        /// Reserved.
        reserved with_reserved: 4 as u8 ["infiniband.cm.req.ip_cm.reserved"],
        /// Source port.
        src_port with_src_port: 16 as u16 ["infiniband.cm.req.ip_cm.sport"],
        /// Source address; IPv4 in its last four bytes.
        src_ip with_src_ip: 128 as Ipv6Addr,
        /// Destination address; IPv4 in its last four bytes.
        dst_ip with_dst_ip: 128 as Ipv6Addr,
    }
}
