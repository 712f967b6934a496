//! Subnet administration: questions to the subnet manager and its records, with the header of datagrams in several segments (IBTA vol. 1,
//! 13.6 and chapter 15).

use core::net::Ipv6Addr;

use super::{
    CmTimeout, Header, Hex8, Hex16, Hex32, Hex64, JoinState, Lid, ManagementKey, Opaque, PKey, PathMtu, Rate,
    RmppStatus, RmppType, Selector, ServiceId, Text,
};

header! {
    /// Header of datagrams that are sent as several segments (IBTA vol. 1, 13.6.2.1).
    ///
    /// ```text
    /// +---------------+---------------+---------+-+-+-+---------------+
    /// |  rmpp_version |   rmpp_type   |r_resp_ti|l|f|a|  rmpp_status  |
    /// +---------------+---------------+---------+-+-+-+---------------+
    /// |                         segment_number                        |
    /// +---------------------------------------------------------------+
    /// |                         payload_length                        |
    /// +---------------------------------------------------------------+
    /// ```
    Rmpp "RMPP", 12 bytes {
        /// 1; 0 where it is not used.
        rmpp_version with_rmpp_version: 8 as u8 ["infiniband.rmpp.rmppversion"],
        /// Data, or what is said of them.
        rmpp_type with_rmpp_type: 8 as RmppType ["infiniband.rmpp.rmpptype"],
        /// How long the receiver may take: 4.096 us · 2^n; 31: nothing is said.
        r_resp_time with_r_resp_time: 5 as CmTimeout,
        /// The last segment.
        last with_last: 1 as bool,
        /// The first segment.
        first with_first: 1 as bool,
        /// The segments are numbered; else this is an ordinary datagram.
        active with_active: 1 as bool,
        /// Why it was stopped.
        rmpp_status with_rmpp_status: 8 as RmppStatus ["infiniband.rmpp.rmppstatus"],
        /// Of data, the number of the segment, from 1; of an ACK, the last one that has come.
        segment_number with_segment_number: 32 as u32 ["infiniband.rmpp.segmentnumber"],
        /// Of the first segment, bytes of all or 0; of the last, its own; of an ACK, the last segment that may be sent.
        payload_length with_payload_length: 32 as u32 ["infiniband.rmpp.payloadlength"],
    }
}

impl Rmpp {
    /// Whether this is a datagram whose data begin with a record or an attribute: one without segments, or the first segment of some.
    pub fn begins_records(&self, class: super::MgmtClass) -> bool {
        if !self.active() {
            return true;
        }
        // A table without rows has the headers of its class only, which count as payload behind RMPP's.
        let empty = if class == super::MgmtClass::SUBN_ADM { SaHeader::LEN as u32 } else { 0 };
        self.rmpp_type() == RmppType::DATA
            && self.segment_number() == 1
            && !(self.last() && self.payload_length() <= empty)
    }
}

header! {
    /// Header of the subnet administration (IBTA vol. 1, 15.2.1.1).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        sm_key (64 bits)                       |
    /// +-------------------------------+-------------------------------+
    /// |        attribute_offset       |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// |                    component_mask (64 bits)                   |
    /// +---------------------------------------------------------------+
    /// ```
    SaHeader "SA", 20 bytes {
        /// Key of who may change.
        sm_key with_sm_key: 64 as ManagementKey ["infiniband.sa.smkey"],
        /// From one record of a table to the next, in units of eight bytes.
        attribute_offset with_attribute_offset: 16 as u16 ["infiniband.sa.attributeoffset"],
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// Which fields of the record count.
        component_mask with_component_mask: 64 as Hex64 ["infiniband.sa.componentmask"],
    }
}

header! {
    /// Beginning of a NodeRecord, a SwitchInfoRecord or an SMInfoRecord (IBTA vol. 1, 15.2.5); the attribute follows.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |              lid              |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// ```
    LidRecord "SA record of a LID", 4 bytes {
        /// The port.
        lid with_lid: 16 as Lid ["infiniband.sa.lid"],
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
    }
}

header! {
    /// Beginning of a PortInfoRecord (IBTA vol. 1, 15.2.5.3); PortInfo follows.
    ///
    /// ```text
    /// +-------------------------------+---------------+---------------+
    /// |          endport_lid          |    port_num   |    options    |
    /// +-------------------------------+---------------+---------------+
    /// ```
    PortInfoRecord "PortInfoRecord", 4 bytes {
        /// The node.
        endport_lid with_endport_lid: 16 as Lid ["infiniband.sa.endportlid"],
        /// Its port.
        port_num with_port_num: 8 as u8 ["infiniband.sa.portnum"],
        /// 0x80: extended speeds are asked for.
        options with_options: 8 as Hex8,
    }
}

header! {
    /// Beginning of an SLtoVLMappingTableRecord (IBTA vol. 1, 15.2.5.4); the table follows.
    ///
    /// ```text
    /// +-------------------------------+---------------+---------------+
    /// |              lid              | input_port_num|output_port_num|
    /// +-------------------------------+---------------+---------------+
    /// |                            reserved                           |
    /// +---------------------------------------------------------------+
    /// ```
    SlToVlRecord "SLtoVLMappingTableRecord", 8 bytes {
        /// The node.
        lid with_lid: 16 as Lid ["infiniband.sa.lid"],
        /// Port by which packets come.
        input_port_num with_input_port_num: 8 as u8 ["infiniband.sa.inputportnum"],
        /// Port by which they leave.
        output_port_num with_output_port_num: 8 as u8 ["infiniband.sa.outputportnum"],
        /// Reserved.
        reserved with_reserved: 32 as Hex32,
    }
}

header! {
    /// Beginning of a LinearForwardingTableRecord, a RandomForwardingTableRecord or a MulticastForwardingTableRecord (IBTA vol. 1, 15.2.5.6 to 8); the table follows.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |              lid              |           block_num           |
    /// +-------------------------------+-------------------------------+
    /// |                            reserved                           |
    /// +---------------------------------------------------------------+
    /// ```
    ForwardingRecord "SA record of a block", 8 bytes {
        /// The switch.
        lid with_lid: 16 as Lid ["infiniband.sa.lid"],
        /// The block; of multicast, its upper four bits say which sixteen ports.
        block_num with_block_num: 16 as Hex16 ["infiniband.sa.blocknum_sixteenbit"],
        /// Reserved.
        reserved with_reserved: 32 as Hex32,
    }
}

header! {
    /// Beginning of a GUIDInfoRecord (IBTA vol. 1, 15.2.5.18); the GUIDs follow.
    ///
    /// ```text
    /// +-------------------------------+---------------+---------------+
    /// |              lid              |   block_num   |    reserved   |
    /// +-------------------------------+---------------+---------------+
    /// |                            reserved                           |
    /// +---------------------------------------------------------------+
    /// ```
    GuidInfoRecord "GUIDInfoRecord", 8 bytes {
        /// The port.
        lid with_lid: 16 as Lid ["infiniband.sa.lid"],
        /// The block.
        block_num with_block_num: 8 as u8 ["infiniband.sa.blocknum_eightbit"],
        /// Reserved.
        reserved with_reserved: 40 as u64,
    }
}

header! {
    /// Beginning of a VLArbitrationTableRecord (IBTA vol. 1, 15.2.5.9); the table follows.
    ///
    /// ```text
    /// +-------------------------------+---------------+---------------+
    /// |              lid              |output_port_num|   block_num   |
    /// +-------------------------------+---------------+---------------+
    /// |                            reserved                           |
    /// +---------------------------------------------------------------+
    /// ```
    VlArbitrationRecord "VLArbitrationTableRecord", 8 bytes {
        /// The node.
        lid with_lid: 16 as Lid ["infiniband.sa.lid"],
        /// Port by which packets leave.
        output_port_num with_output_port_num: 8 as u8 ["infiniband.sa.outputportnum"],
        /// Which half of the table.
        block_num with_block_num: 8 as u8 ["infiniband.sa.blocknum_eightbit"],
        /// Reserved.
        reserved with_reserved: 32 as Hex32,
    }
}

header! {
    /// Beginning of a P_KeyTableRecord (IBTA vol. 1, 15.2.5.11); the P_Keys follow.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |              lid              |           block_num           |
    /// +---------------+---------------+-------------------------------+
    /// |    port_num   |                    reserved                   |
    /// +---------------+-----------------------------------------------+
    /// ```
    PKeyTableRecord "P_KeyTableRecord", 8 bytes {
        /// The node.
        lid with_lid: 16 as Lid ["infiniband.sa.lid"],
        /// The block.
        block_num with_block_num: 16 as u16 ["infiniband.sa.blocknum_sixteenbit"],
        /// Its port.
        port_num with_port_num: 8 as u8 ["infiniband.sa.portnum"],
        /// Reserved.
        reserved with_reserved: 24 as Hex32,
    }
}

header! {
    /// Beginning of an InformInfoRecord (IBTA vol. 1, 15.2.5.12); the subscription follows.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                   subscriber_gid (128 bits)                   |
    /// +-------------------------------+-------------------------------+
    /// |          enumeration          |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// |                            reserved                           |
    /// +---------------------------------------------------------------+
    /// ```
    InformInfoRecord "InformInfoRecord", 24 bytes {
        /// Who subscribed.
        subscriber_gid with_subscriber_gid: 128 as Ipv6Addr ["infiniband.informinforecord.subscribergid"],
        /// Which of its subscriptions.
        enumeration with_enumeration: 16 as u16 ["infiniband.informinforecord.enum"],
        /// Reserved.
        reserved with_reserved: 48 as Hex64,
    }
}

header! {
    /// A link (IBTA vol. 1, 15.2.5.13).
    ///
    /// ```text
    /// +-------------------------------+---------------+---------------+
    /// |            from_lid           |   from_port   |    to_port    |
    /// +-------------------------------+---------------+---------------+
    /// |             to_lid            |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// ```
    LinkRecord "LinkRecord", 8 bytes {
        /// The node at one end.
        from_lid with_from_lid: 16 as Lid ["infiniband.linkrecord.fromlid"],
        /// Its port.
        from_port with_from_port: 8 as u8 ["infiniband.linkrecord.fromport"],
        /// Port at the other end.
        to_port with_to_port: 8 as u8 ["infiniband.linkrecord.toport"],
        /// The node at the other end.
        to_lid with_to_lid: 16 as Lid ["infiniband.linkrecord.tolid"],
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
    }
}

header! {
    /// A service that a port offers (IBTA vol. 1, 15.2.5.14).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                      service_id (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                     service_gid (128 bits)                    |
    /// +-------------------------------+-------------------------------+
    /// |         service_p_key         |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// |                         service_lease                         |
    /// +---------------------------------------------------------------+
    /// |                     service_key (128 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                    service_name (512 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                    service_data (512 bits)                    |
    /// +---------------------------------------------------------------+
    /// ```
    ServiceRecord "ServiceRecord", 176 bytes {
        /// The service.
        service_id with_service_id: 64 as ServiceId ["infiniband.linkrecord.serviceid"],
        /// Who offers it.
        service_gid with_service_gid: 128 as Ipv6Addr ["infiniband.linkrecord.servicegid"],
        /// In which partition.
        service_p_key with_service_p_key: 16 as PKey ["infiniband.linkrecord.servicep_key"],
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// Seconds that this is true; 0xffffffff: without end.
        service_lease with_service_lease: 32 as u32 ["infiniband.linkrecord.servicelease"],
        /// Key of who may change it.
        service_key with_service_key: 128 as Opaque<16> ["infiniband.linkrecord.servicekey"],
        /// Its name.
        service_name with_service_name: 512 as Text<64>,
        /// Data of the service.
        service_data with_service_data: 512 as Opaque<64> ["infiniband.linkrecord.servicedata"],
    }
}

header! {
    /// A path between two ports (IBTA vol. 1, 15.2.5.16).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                      service_id (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                        dgid (128 bits)                        |
    /// +---------------------------------------------------------------+
    /// |                        sgid (128 bits)                        |
    /// +-------------------------------+-------------------------------+
    /// |              dlid             |              slid             |
    /// +-+-----+-----------------------+---------------+---------------+
    /// |r|reser|               flow_label              |   hop_limit   |
    /// +-+-----+-------+-+-------------+---------------+---------------+
    /// |    t_class    |r|  numb_path  |             p_key             |
    /// +---------------+-+-----+-------+---+-----------+---+-----------+
    /// |       qos_class       |   sl  |mtu|    mtu    |rat|    rate   |
    /// +---+-----------+-------+-------+---+-----------+---+-----------+
    /// |pac|packet_life|   preference  |           reserved2           |
    /// +---+-----------+---------------+-------------------------------+
    /// |                           reserved2                           |
    /// +---------------------------------------------------------------+
    /// ```
    PathRecord "PathRecord", 64 bytes {
        /// The service that the path is for.
        service_id with_service_id: 64 as ServiceId,
        /// GID of the destination.
        dgid with_dgid: 128 as Ipv6Addr ["infiniband.pathrecord.dgid"],
        /// GID of the source.
        sgid with_sgid: 128 as Ipv6Addr ["infiniband.pathrecord.sgid"],
        /// LID of the destination.
        dlid with_dlid: 16 as Lid ["infiniband.pathrecord.dlid"],
        /// LID of the source.
        slid with_slid: 16 as Lid ["infiniband.pathrecord.slid"],
        /// For raw packets.
        raw_traffic with_raw_traffic: 1 as bool ["infiniband.pathrecord.rawtraffic"],
        /// Reserved.
        reserved with_reserved: 3 as u8,
        /// Flow label.
        flow_label with_flow_label: 20 as u32 ["infiniband.pathrecord.flowlabel"],
        /// Hop limit.
        hop_limit with_hop_limit: 8 as u8 ["infiniband.pathrecord.hoplimit"],
        /// Traffic class.
        t_class with_t_class: 8 as Hex8 ["infiniband.pathrecord.tclass"],
        /// Answers go the same way back.
        reversible with_reversible: 1 as bool ["infiniband.pathrecord.reversible"],
        /// How many paths are asked for.
        numb_path with_numb_path: 7 as u8 ["infiniband.pathrecord.numbpath"],
        /// Partition.
        p_key with_p_key: 16 as PKey ["infiniband.pathrecord.p_key"],
        /// Class of service.
        qos_class with_qos_class: 12 as Hex16,
        /// Service level.
        sl with_sl: 4 as u8 ["infiniband.pathrecord.sl"],
        /// What is asked of the MTU.
        mtu_selector with_mtu_selector: 2 as Selector ["infiniband.pathrecord.mtuselector"],
        /// MTU.
        mtu with_mtu: 6 as PathMtu ["infiniband.pathrecord.mtu"],
        /// What is asked of the rate.
        rate_selector with_rate_selector: 2 as Selector ["infiniband.pathrecord.rateselector"],
        /// Rate.
        rate with_rate: 6 as Rate ["infiniband.pathrecord.rate"],
        /// What is asked of the time of a packet.
        packet_life_time_selector with_packet_life_time_selector: 2 as Selector ["infiniband.pathrecord.packetlifetimeselector"],
        /// How long a packet is on its way at most: 4.096 us · 2^n.
        packet_life_time with_packet_life_time: 6 as CmTimeout ["infiniband.pathrecord.packetlifetime"],
        /// Which of several paths comes first: 0.
        preference with_preference: 8 as u8 ["infiniband.pathrecord.preference"],
        /// Reserved.
        reserved2 with_reserved2: 48 as Hex64,
    }
}

header! {
    /// A multicast group, or a member of it (IBTA vol. 1, 15.2.5.17).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        mgid (128 bits)                        |
    /// +---------------------------------------------------------------+
    /// |                      port_gid (128 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                             q_key                             |
    /// +-------------------------------+---+-----------+---------------+
    /// |              mlid             |mtu|    mtu    |    t_class    |
    /// +-------------------------------+---+-----------+---+-----------+
    /// |             p_key             |rat|    rate   |pac|packet_life|
    /// +-------+-----------------------+---+-----------+---+-----------+
    /// |   sl  |               flow_label              |   hop_limit   |
    /// +-------+-------+-+-----------------------------+---------------+
    /// | scope |join_st|p|                   reserved                  |
    /// +-------+-------+-+---------------------------------------------+
    /// ```
    McMemberRecord "MCMemberRecord", 52 bytes {
        /// The group.
        mgid with_mgid: 128 as Ipv6Addr ["infiniband.mcmemberrecord.mgid"],
        /// The member.
        port_gid with_port_gid: 128 as Ipv6Addr ["infiniband.mcmemberrecord.portgid"],
        /// Q_Key of the group.
        q_key with_q_key: 32 as Hex32 ["infiniband.mcmemberrecord.q_key"],
        /// LID of the group.
        mlid with_mlid: 16 as Lid ["infiniband.mcmemberrecord.mlid"],
        /// What is asked of the MTU.
        mtu_selector with_mtu_selector: 2 as Selector ["infiniband.mcmemberrecord.mtuselector"],
        /// MTU.
        mtu with_mtu: 6 as PathMtu ["infiniband.mcmemberrecord.mtu"],
        /// Traffic class.
        t_class with_t_class: 8 as Hex8 ["infiniband.mcmemberrecord.tclass"],
        /// Partition.
        p_key with_p_key: 16 as PKey ["infiniband.mcmemberrecord.p_key"],
        /// What is asked of the rate.
        rate_selector with_rate_selector: 2 as Selector ["infiniband.mcmemberrecord.rateselector"],
        /// Rate.
        rate with_rate: 6 as Rate ["infiniband.mcmemberrecord.rate"],
        /// What is asked of the time of a packet.
        packet_life_time_selector with_packet_life_time_selector: 2 as Selector ["infiniband.mcmemberrecord.packetlifetimeselector"],
        /// How long a packet is on its way at most: 4.096 us · 2^n.
        packet_life_time with_packet_life_time: 6 as CmTimeout ["infiniband.mcmemberrecord.packetlifetime"],
        /// Service level.
        sl with_sl: 4 as u8 ["infiniband.mcmemberrecord.sl"],
        /// Flow label.
        flow_label with_flow_label: 20 as u32 ["infiniband.mcmemberrecord.flowlabel"],
        /// Hop limit.
        hop_limit with_hop_limit: 8 as u8 ["infiniband.mcmemberrecord.hoplimit"],
        /// Scope of the group: 2 is the subnet.
        scope with_scope: 4 as u8 ["infiniband.mcmemberrecord.scope"],
        /// How the port is a member.
        join_state with_join_state: 4 as JoinState ["infiniband.mcmemberrecord.joinstate"],
        /// Somebody else asked for it.
        proxy_join with_proxy_join: 1 as bool ["infiniband.mcmemberrecord.proxyjoin"],
        /// Reserved.
        reserved with_reserved: 23 as Hex32,
    }
}

header! {
    /// A question for paths between several ports (IBTA vol. 1, 15.2.5.20); GIDs follow.
    ///
    /// ```text
    /// +-+-----+---------------------------------------+---------------+
    /// |r|reser|               flow_label              |   hop_limit   |
    /// +-+-----+-------+-+-------------+---------------+---------------+
    /// |    t_class    |r|  numb_path  |             p_key             |
    /// +---------------+-+-----+-------+---+-----------+---+-----------+
    /// |       qos_class       |   sl  |mtu|    mtu    |rat|    rate   |
    /// +---+-----------+-------+-------+---+-----------+---+-----------+
    /// |pac|packet_life|service_id_high|ind| gid_scope |   sgid_count  |
    /// +---+-----------+---------------+---+-----------+---------------+
    /// |   dgid_count  |                 service_id_low                |
    /// +---------------+-----------------------------------------------+
    /// |                         service_id_low                        |
    /// +---------------------------------------------------------------+
    /// ```
    MultiPathRecord "MultiPathRecord", 24 bytes {
        /// For raw packets.
        raw_traffic with_raw_traffic: 1 as bool ["infiniband.multipathrecord.rawtraffic"],
        /// Reserved.
        reserved with_reserved: 3 as u8,
        /// Flow label.
        flow_label with_flow_label: 20 as u32 ["infiniband.multipathrecord.flowlabel"],
        /// Hop limit.
        hop_limit with_hop_limit: 8 as u8 ["infiniband.multipathrecord.hoplimit"],
        /// Traffic class.
        t_class with_t_class: 8 as Hex8 ["infiniband.multipathrecord.tclass"],
        /// Answers go the same way back.
        reversible with_reversible: 1 as bool ["infiniband.multipathrecord.reversible"],
        /// How many paths are asked for.
        numb_path with_numb_path: 7 as u8 ["infiniband.multipathrecord.numbpath"],
        /// Partition.
        p_key with_p_key: 16 as PKey ["infiniband.multipathrecord.p_key"],
        /// Class of service.
        qos_class with_qos_class: 12 as Hex16,
        /// Service level.
        sl with_sl: 4 as u8 ["infiniband.multipathrecord.sl"],
        /// What is asked of the MTU.
        mtu_selector with_mtu_selector: 2 as Selector ["infiniband.multipathrecord.mtuselector"],
        /// MTU.
        mtu with_mtu: 6 as PathMtu ["infiniband.multipathrecord.mtu"],
        /// What is asked of the rate.
        rate_selector with_rate_selector: 2 as Selector ["infiniband.multipathrecord.rateselector"],
        /// Rate.
        rate with_rate: 6 as Rate ["infiniband.multipathrecord.rate"],
        /// What is asked of the time of a packet.
        packet_life_time_selector with_packet_life_time_selector: 2 as Selector ["infiniband.multipathrecord.packetlifetimeselector"],
        /// How long a packet is on its way at most: 4.096 us · 2^n.
        packet_life_time with_packet_life_time: 6 as CmTimeout ["infiniband.multipathrecord.packetlifetime"],
        /// The highest byte of the service ID.
        service_id_high with_service_id_high: 8 as Hex8,
        /// Paths shall not share links.
        independence_selector with_independence_selector: 2 as u8 ["infiniband.multipathrecord.independenceselector"],
        /// Scope.
        gid_scope with_gid_scope: 6 as u8 ["infiniband.multipathrecord.gidscope"],
        /// How many GIDs are sources; they come first.
        sgid_count with_sgid_count: 8 as u8 ["infiniband.multipathrecord.sgidcount"],
        /// How many are destinations.
        dgid_count with_dgid_count: 8 as u8 ["infiniband.multipathrecord.dgidcount"],
        /// The rest of the service ID.
        service_id_low with_service_id_low: 56 as Hex64,
    }
}
