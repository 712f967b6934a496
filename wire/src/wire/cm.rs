//! Communication management: the messages that set up, change and end connections (IBTA vol. 1, chapter 12, annex A11).

use core::net::Ipv6Addr;

use super::{
    AckTimeout, ApStatus, CmInfo, CmMessage, CmTimeout, CmTransport, CommId, EeContext, Guid, Hex8, Hex16,
    Hex32, IpCmAddress, Lid, PKey, PathMtu, Psn, Qpn, RejectReason, ServiceId, SidrStatus,
};

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
    /// |alternate_traff|alternate_hop_l|alterna|a|alter|alternate|s|alt|
    /// +---------------+---------------+-------+-+-----+---------+-+---+
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
        remote_cm_response_timeout with_remote_cm_response_timeout: 5 as CmTimeout ["infiniband.cm.req.remoteresptout"],
        /// Transport service.
        transport_service_type with_transport_service_type: 2 as CmTransport ["infiniband.cm.req.transpsvctype"],
        /// The sender counts credits.
        end_to_end_flow_control with_end_to_end_flow_control: 1 as bool ["infiniband.cm.req.e2eflowctrl"],
        /// The first PSN that the sender expects to receive.
        starting_psn with_starting_psn: 24 as Psn ["infiniband.cm.req.startpsn"],
        /// How long the sender takes at most to answer a CM message: 4.096 us · 2^n.
        local_cm_response_timeout with_local_cm_response_timeout: 5 as CmTimeout ["infiniband.cm.req.localresptout"],
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
        primary_local_ack_timeout with_primary_local_ack_timeout: 5 as AckTimeout ["infiniband.cm.req.prim_localacktout"],
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
        alternate_local_ack_timeout with_alternate_local_ack_timeout: 5 as AckTimeout ["infiniband.cm.req.alt_localacktout"],
        /// The sender knows SAP messages.
        sap_supported with_sap_supported: 1 as bool,
        /// Reserved.
        alternate_reserved3 with_alternate_reserved3: 2 as u8,
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
        service_timeout with_service_timeout: 5 as CmTimeout,
        /// Reserved.
        reserved2 with_reserved2: 3 as u8,
    }
}

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
        ari with_ari: 576 as CmInfo ["infiniband.cm.rej.ari"],
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
        target_ack_delay with_target_ack_delay: 5 as CmTimeout ["infiniband.cm.rep.tgtackdelay"],
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
        local_comm_id with_local_comm_id: 32 as CommId ["infiniband.cm.drsp.localcommid"],
        /// The receiver's number for the connection.
        remote_comm_id with_remote_comm_id: 32 as CommId ["infiniband.cm.drsp.remotecommid"],
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
    /// Service ID resolution request (12.11.1): which queue pair does a service have for datagrams?
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                      request_id (32 bits)                     |
    /// +-------------------------------+-------------------------------+
    /// |             p_key             |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// |                      service_id (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    CmSidrReq "CM SIDR_REQ", 16 bytes {
        /// The sender's number for the request.
        request_id with_request_id: 32 as CommId,
        /// Partition.
        p_key with_p_key: 16 as PKey,
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// Service identifier.
        service_id with_service_id: 64 as ServiceId,
    }
}

header! {
    /// Service ID resolution response (12.11.2).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                      request_id (32 bits)                     |
    /// +---------------+---------------+-------------------------------+
    /// |     status    |  info_length  |            reserved           |
    /// +---------------+---------------+---------------+---------------+
    /// |                      qpn                      |   reserved2   |
    /// +-----------------------------------------------+---------------+
    /// |                      service_id (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                        q_key (32 bits)                        |
    /// +---------------------------------------------------------------+
    /// |                        info (576 bits)                        |
    /// +---------------------------------------------------------------+
    /// ```
    CmSidrRep "CM SIDR_REP", 96 bytes {
        /// The number of the request.
        request_id with_request_id: 32 as CommId,
        /// What became of it.
        status with_status: 8 as SidrStatus,
        /// How many bytes of `info` are used.
        info_length with_info_length: 8 as u8,
        /// Reserved; vendor data in newer kernels.
        reserved with_reserved: 16 as Hex16,
        /// The service's queue pair.
        qpn with_qpn: 24 as Qpn,
        /// Reserved; vendor data in newer kernels.
        reserved2 with_reserved2: 8 as Hex8,
        /// Service identifier.
        service_id with_service_id: 64 as ServiceId,
        /// The queue key that datagrams to it need.
        q_key with_q_key: 32 as Hex32,
        /// Additional information.
        info with_info: 576 as CmInfo,
    }
}

header! {
    /// Load alternate path (12.8.1): the connection shall have another path to fall back to.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                    local_comm_id (32 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                    remote_comm_id (32 bits)                   |
    /// +---------------------------------------------------------------+
    /// |                       reserved (32 bits)                      |
    /// +-----------------------------------------------+---------+-----+
    /// |                   remote_qpn                  |remote_cm|reser|
    /// +-----------------------------------------------+---------+-----+
    /// |                      reserved3 (32 bits)                      |
    /// +-------------------------------+-------------------------------+
    /// |      alternate_local_lid      |      alternate_remote_lid     |
    /// +-------------------------------+-------------------------------+
    /// |                 alternate_local_gid (128 bits)                |
    /// +---------------------------------------------------------------+
    /// |                alternate_remote_gid (128 bits)                |
    /// +---------------------------------------+-------+---------------+
    /// |          alternate_flow_label         |reserve|alternate_traff|
    /// +---------------+---+-----------+-------+-+-----+---------+-----+
    /// |alternate_hop_l|res|alternate_p|alterna|a|reser|alternate|reser|
    /// +---------------+---+-----------+-------+-+-----+---------+-----+
    /// ```
    CmLap "CM LAP", 64 bytes {
        /// The sender's number for the connection.
        local_comm_id with_local_comm_id: 32 as CommId,
        /// The receiver's number for the connection.
        remote_comm_id with_remote_comm_id: 32 as CommId,
        /// Reserved.
        reserved with_reserved: 32 as Hex32,
        /// The receiver's queue pair.
        remote_qpn with_remote_qpn: 24 as Qpn,
        /// How long the receiver may take to answer: 4.096 us · 2^n.
        remote_cm_response_timeout with_remote_cm_response_timeout: 5 as CmTimeout,
        /// Reserved.
        reserved2 with_reserved2: 3 as u8,
        /// Reserved.
        reserved3 with_reserved3: 32 as Hex32,
        /// Alternate path: the sender's LID; 0xffff on RoCE.
        alternate_local_lid with_alternate_local_lid: 16 as Lid,
        /// Alternate path: the receiver's LID.
        alternate_remote_lid with_alternate_remote_lid: 16 as Lid,
        /// Alternate path: the sender's GID.
        alternate_local_gid with_alternate_local_gid: 128 as Ipv6Addr,
        /// Alternate path: the receiver's GID.
        alternate_remote_gid with_alternate_remote_gid: 128 as Ipv6Addr,
        /// Alternate path: flow label.
        alternate_flow_label with_alternate_flow_label: 20 as u32,
        /// Reserved.
        reserved4 with_reserved4: 4 as u8,
        /// Alternate path: traffic class.
        alternate_traffic_class with_alternate_traffic_class: 8 as Hex8,
        /// Alternate path: hop limit.
        alternate_hop_limit with_alternate_hop_limit: 8 as u8,
        /// Reserved.
        reserved5 with_reserved5: 2 as u8,
        /// Alternate path: packet rate.
        alternate_packet_rate with_alternate_packet_rate: 6 as u8,
        /// Alternate path: service level.
        alternate_sl with_alternate_sl: 4 as u8,
        /// Alternate path: both ends are in one subnet.
        alternate_subnet_local with_alternate_subnet_local: 1 as bool,
        /// Reserved.
        reserved6 with_reserved6: 3 as u8,
        /// Alternate path: acknowledgement timeout of 4.096 us · 2^n.
        alternate_local_ack_timeout with_alternate_local_ack_timeout: 5 as AckTimeout,
        /// Reserved.
        reserved7 with_reserved7: 3 as u8,
    }
}

header! {
    /// Alternate path response (12.8.2).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                    local_comm_id (32 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                    remote_comm_id (32 bits)                   |
    /// +---------------+---------------+-------------------------------+
    /// |  info_length  |   ap_status   |            reserved           |
    /// +---------------+---------------+-------------------------------+
    /// |                        info (576 bits)                        |
    /// +---------------------------------------------------------------+
    /// ```
    CmApr "CM APR", 84 bytes {
        /// The sender's number for the connection.
        local_comm_id with_local_comm_id: 32 as CommId,
        /// The receiver's number for the connection.
        remote_comm_id with_remote_comm_id: 32 as CommId,
        /// How many bytes of `info` are used.
        info_length with_info_length: 8 as u8,
        /// What became of the path.
        ap_status with_ap_status: 8 as ApStatus,
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// Additional information.
        info with_info: 576 as CmInfo,
    }
}

header! {
    /// The RDMA IP CM service's header at the start of the private data of a REQ or SIDR_REQ (annex A11).
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
        src_ip with_src_ip: 128 as IpCmAddress,
        /// Destination address; IPv4 in its last four bytes.
        dst_ip with_dst_ip: 128 as IpCmAddress,
    }
}
