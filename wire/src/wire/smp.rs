//! Subnet management: its packets, and the attributes of nodes, ports, switches and managers (IBTA vol. 1, chapter 14).

use super::{
    CmTimeout, GidPrefix, Guid, GuidBlock, Hex8, Hex16, Hex32, Lid, LinkSpeed, LinkSpeedExt, LinkWidth,
    ManagementKey, NodeType, Opaque, PKeyBlock, PathMtu, PhysicalState, PortList, PortMasks, PortState,
    RandomRoutes, SmState, Text, VlCount, VlList, VlWeights,
};

header! {
    /// What follows the common header of a subnet management packet that is routed by LIDs (IBTA vol. 1, 14.2.1.1).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        m_key (64 bits)                        |
    /// +---------------------------------------------------------------+
    /// |                      reserved (256 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    SmpLid "SMP", 40 bytes {
        /// Management key of the port.
        m_key with_m_key: 64 as ManagementKey ["infiniband.smplid.mkey"],
        /// Reserved.
        reserved with_reserved: 256 as [u8; 32],
    }
}

header! {
    /// What follows the common header of a subnet management packet with a directed route (IBTA vol. 1, 14.2.1.2). [`SmpPath`] is at its end.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        m_key (64 bits)                        |
    /// +-------------------------------+-------------------------------+
    /// |            dr_slid            |            dr_dlid            |
    /// +-------------------------------+-------------------------------+
    /// |                      reserved (224 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    SmpDirected "SMP directed route", 40 bytes {
        /// Management key of the port.
        m_key with_m_key: 64 as ManagementKey ["infiniband.smplid.mkey"],
        /// Where the directed route begins, if LIDs lead there; 0xffff: it begins at the sender.
        dr_slid with_dr_slid: 16 as Lid ["infiniband.smpdirected.drslid"],
        /// Where it goes on by LIDs behind the directed route; 0xffff: it ends there.
        dr_dlid with_dr_dlid: 16 as Lid ["infiniband.smpdirected.drdlid"],
        /// Reserved.
        reserved with_reserved: 224 as [u8; 28],
    }
}

header! {
    /// The ports of a directed route (IBTA vol. 1, 14.2.1.2), from a packet's byte 128 on. Entry 0 is not used: hops count from 1.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                    initial_path (512 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                     return_path (512 bits)                    |
    /// +---------------------------------------------------------------+
    /// ```
    SmpPath "SMP path", 128 bytes {
        /// The port by which each node sends the packet on.
        initial_path with_initial_path: 512 as PortList ["infiniband.smpdirected.initialpath"],
        /// The port by which each node received it: the way of the answer.
        return_path with_return_path: 512 as PortList ["infiniband.smpdirected.returnpath"],
    }
}

impl SmpPath {
    /// Where it is in a datagram.
    pub const AT: usize = 128;
}

header! {
    /// What a node is (IBTA vol. 1, 14.2.5.3).
    ///
    /// ```text
    /// +---------------+---------------+---------------+---------------+
    /// |  base_version | class_version |   node_type   |   num_ports   |
    /// +---------------+---------------+---------------+---------------+
    /// |                  system_image_guid (64 bits)                  |
    /// +---------------------------------------------------------------+
    /// |                      node_guid (64 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                      port_guid (64 bits)                      |
    /// +-------------------------------+-------------------------------+
    /// |         partition_cap         |           device_id           |
    /// +-------------------------------+-------------------------------+
    /// |                            revision                           |
    /// +---------------+-----------------------------------------------+
    /// | local_port_num|                   vendor_id                   |
    /// +---------------+-----------------------------------------------+
    /// ```
    NodeInfo "NodeInfo", 40 bytes {
        /// Version of the datagrams that it knows.
        base_version with_base_version: 8 as u8 ["infiniband.nodeinfo.baseversion"],
        /// Version of the class that it knows.
        class_version with_class_version: 8 as u8 ["infiniband.nodeinfo.classversion"],
        /// Channel adapter, switch or router.
        node_type with_node_type: 8 as NodeType ["infiniband.nodeinfo.nodetype"],
        /// Its ports, without a switch's port 0.
        num_ports with_num_ports: 8 as u8 ["infiniband.nodeinfo.numports"],
        /// What several nodes of one system have in common.
        system_image_guid with_system_image_guid: 64 as Guid ["infiniband.nodeinfo.systemimageguid"],
        /// The node.
        node_guid with_node_guid: 64 as Guid ["infiniband.nodeinfo.nodeguid"],
        /// The port that was asked; of a switch, its port 0.
        port_guid with_port_guid: 64 as Guid ["infiniband.nodeinfo.portguid"],
        /// Entries of its table of P_Keys.
        partition_cap with_partition_cap: 16 as u16 ["infiniband.nodeinfo.partitioncap"],
        /// Device, by its manufacturer.
        device_id with_device_id: 16 as Hex16 ["infiniband.nodeinfo.deviceid"],
        /// Revision of the device.
        revision with_revision: 32 as Hex32 ["infiniband.nodeinfo.revision"],
        /// The port by which the request came.
        local_port_num with_local_port_num: 8 as u8 ["infiniband.nodeinfo.localportnum"],
        /// Manufacturer, by its OUI.
        vendor_id with_vendor_id: 24 as Hex32 ["infiniband.nodeinfo.vendorid"],
    }
}

header! {
    /// A node's name (IBTA vol. 1, 14.2.5.2).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                     node_string (512 bits)                    |
    /// +---------------------------------------------------------------+
    /// ```
    NodeDescription "NodeDescription", 64 bytes {
        /// UTF-8, with zeros behind it.
        node_string with_node_string: 512 as Text<64> ["infiniband.nodedescription.nodestring"],
    }
}

header! {
    /// What a switch can do, and its forwarding (IBTA vol. 1, 14.2.5.4).
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |         linear_fdb_cap        |         random_fdb_cap        |
    /// +-------------------------------+-------------------------------+
    /// |       multicast_fdb_cap       |         linear_fdb_top        |
    /// +---------------+---------------+---------------+---------+-+---+
    /// |  default_port |default_multica|default_multica|life_time|p|opt|
    /// +---------------+---------------+---------------+---------+-+---+
    /// |         lids_per_port         |   partition_enforcement_cap   |
    /// +-+-+-+-+-+-----+---------------+-------------------------------+
    /// |i|o|f|f|e|reser|   reserved2   |       multicast_fdb_top       |
    /// +-+-+-+-+-+-----+---------------+-------------------------------+
    /// ```
    SwitchInfo "SwitchInfo", 20 bytes {
        /// Entries of its linear forwarding table.
        linear_fdb_cap with_linear_fdb_cap: 16 as u16 ["infiniband.switchinfo.linearfdbcap"],
        /// Entries of its random forwarding table.
        random_fdb_cap with_random_fdb_cap: 16 as u16 ["infiniband.switchinfo.randomfdbcap"],
        /// Entries of its multicast forwarding table.
        multicast_fdb_cap with_multicast_fdb_cap: 16 as u16 ["infiniband.switchinfo.multicastfdbcap"],
        /// The highest LID of the linear forwarding table.
        linear_fdb_top with_linear_fdb_top: 16 as u16 ["infiniband.switchinfo.linearfdbtop"],
        /// Port of packets that the random forwarding table lacks.
        default_port with_default_port: 8 as u8 ["infiniband.switchinfo.defaultport"],
        /// Port of multicast that the table lacks.
        default_multicast_primary_port with_default_multicast_primary_port: 8 as u8 ["infiniband.switchinfo.defaultmulticastprimaryport"],
        /// Port of such multicast that came by the one before.
        default_multicast_not_primary_port with_default_multicast_not_primary_port: 8 as u8 ["infiniband.switchinfo.defaultmulticastnotprimaryport"],
        /// How long a packet may wait in the switch: 4.096 us · 2^n.
        life_time_value with_life_time_value: 5 as CmTimeout ["infiniband.switchinfo.lifetimevalue"],
        /// A port's state has changed.
        port_state_change with_port_state_change: 1 as bool ["infiniband.switchinfo.portstatechange"],
        /// Ways to set tables of several ports at once.
        optimized_sl_to_vl with_optimized_sl_to_vl: 2 as u8 ["infiniband.switchinfo.optimizedsltovlmappingprogramming"],
        /// LIDs for each port, where the table is a random one.
        lids_per_port with_lids_per_port: 16 as u16 ["infiniband.switchinfo.lidsperport"],
        /// Entries of the table of P_Keys of each port.
        partition_enforcement_cap with_partition_enforcement_cap: 16 as u16 ["infiniband.switchinfo.partitionenforcementcap"],
        /// It can check P_Keys of packets that come.
        inbound_enforcement_cap with_inbound_enforcement_cap: 1 as bool ["infiniband.switchinfo.inboundenforcementcap"],
        /// It can check P_Keys of packets that leave.
        outbound_enforcement_cap with_outbound_enforcement_cap: 1 as bool ["infiniband.switchinfo.outboundenforcementcap"],
        /// It can drop raw packets that come.
        filter_raw_inbound_cap with_filter_raw_inbound_cap: 1 as bool ["infiniband.switchinfo.filterrawinboundcap"],
        /// It can drop raw packets that leave.
        filter_raw_outbound_cap with_filter_raw_outbound_cap: 1 as bool ["infiniband.switchinfo.filterrawoutboundcap"],
        /// Port 0 is like a port of an adapter.
        enhanced_port_zero with_enhanced_port_zero: 1 as bool ["infiniband.switchinfo.enhancedportzero"],
        /// Reserved.
        reserved with_reserved: 3 as u8,
        /// Reserved.
        reserved2 with_reserved2: 8 as Hex8,
        /// The highest LID of the multicast forwarding table.
        multicast_fdb_top with_multicast_fdb_top: 16 as Lid,
    }
}

header! {
    /// Eight of a port's GUIDs (IBTA vol. 1, 14.2.5.5); the attribute modifier says which.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        guids (512 bits)                       |
    /// +---------------------------------------------------------------+
    /// ```
    GuidInfo "GUIDInfo", 64 bytes {
        /// The GUIDs; 0 where there is none.
        guids with_guids: 512 as GuidBlock,
    }
}

header! {
    /// A port: its addresses, its link, its keys (IBTA vol. 1, 14.2.5.6). The attribute modifier is the port of a switch.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        m_key (64 bits)                        |
    /// +---------------------------------------------------------------+
    /// |                      gid_prefix (64 bits)                     |
    /// +-------------------------------+-------------------------------+
    /// |              lid              |         master_sm_lid         |
    /// +-------------------------------+-------------------------------+
    /// |                        capability_mask                        |
    /// +-------------------------------+-------------------------------+
    /// |           diag_code           |       m_key_lease_period      |
    /// +---------------+---------------+---------------+---------------+
    /// | local_port_num|link_width_enab|link_width_supp|link_width_acti|
    /// +-------+-------+-------+-------+---+-----+-----+-------+-------+
    /// |link_sp|port_st|port_ph|link_do|m_k|reser| lmc |link_sp|link_sp|
    /// +-------+-------+-------+-------+---+-----+-----+-------+-------+
    /// |neighbo|master_| vl_cap|init_ty| vl_high_limit |vl_arbitration_|
    /// +-------+-------+-------+-------+-----+---------+-------+-+-+-+-+
    /// |vl_arbitration_|init_ty|mtu_cap|vl_st| hoq_life|operati|p|p|f|f|
    /// +---------------+-------+-------+-----+---------+-------+-+-+-+-+
    /// |        m_key_violations       |        p_key_violations       |
    /// +-------------------------------+---------------+-+---+---------+
    /// |        q_key_violations       |    guid_cap   |c|mul|subnet_ti|
    /// +-----+---------+-------+-------+---------------+-+---+---------+
    /// |reser|resp_time|local_p|overrun|        max_credit_hint        |
    /// +-----+---------+-------+-------+-------------------------------+
    /// |   reserved3   |            link_round_trip_latency            |
    /// +---------------+---------------+-------+-------+-----+---------+
    /// |        capability_mask2       |link_sp|link_sp|reser|link_spee|
    /// +-------------------------------+-------+-------+-----+---------+
    /// ```
    PortInfo "PortInfo", 64 bytes {
        /// Its management key; 0 where it is not shown.
        m_key with_m_key: 64 as ManagementKey ["infiniband.portinfo.m_key"],
        /// Prefix of its GIDs.
        gid_prefix with_gid_prefix: 64 as GidPrefix ["infiniband.portinfo.guid"],
        /// Its first LID.
        lid with_lid: 16 as Lid ["infiniband.portinfo.lid"],
        /// The LID of the master subnet manager.
        master_sm_lid with_master_sm_lid: 16 as Lid ["infiniband.portinfo.mastersmlid"],
        /// What it can do.
        capability_mask with_capability_mask: 32 as Hex32 ["infiniband.portinfo.capabilitymask"],
        /// Diagnosis.
        diag_code with_diag_code: 16 as Hex16 ["infiniband.portinfo.diagcode"],
        /// Seconds until its management key is no longer checked.
        m_key_lease_period with_m_key_lease_period: 16 as u16 ["infiniband.portinfo.m_keyleaseperiod"],
        /// The port by which the request came.
        local_port_num with_local_port_num: 8 as u8 ["infiniband.portinfo.localportnum"],
        /// Widths that are allowed.
        link_width_enabled with_link_width_enabled: 8 as LinkWidth ["infiniband.portinfo.linkwidthenabled"],
        /// Widths that it can have.
        link_width_supported with_link_width_supported: 8 as LinkWidth ["infiniband.portinfo.linkwidthsupported"],
        /// Width of the link.
        link_width_active with_link_width_active: 8 as LinkWidth ["infiniband.portinfo.linkwidthactive"],
        /// Speeds of a lane that it can have.
        link_speed_supported with_link_speed_supported: 4 as LinkSpeed ["infiniband.portinfo.linkspeedsupported"],
        /// State of the link.
        port_state with_port_state: 4 as PortState ["infiniband.portinfo.portstate"],
        /// State of the physical link.
        port_physical_state with_port_physical_state: 4 as PhysicalState ["infiniband.portinfo.portphysicalstate"],
        /// State of the physical link when the link goes down.
        link_down_default_state with_link_down_default_state: 4 as PhysicalState ["infiniband.portinfo.linkdowndefaultstate"],
        /// What the management key protects.
        m_key_protect_bits with_m_key_protect_bits: 2 as u8 ["infiniband.portinfo.m_keyprotectbits"],
        /// Reserved.
        reserved with_reserved: 3 as u8,
        /// It has 2^n LIDs.
        lmc with_lmc: 3 as u8 ["infiniband.portinfo.lmc"],
        /// Speed of a lane.
        link_speed_active with_link_speed_active: 4 as LinkSpeed ["infiniband.portinfo.linkspeedactive"],
        /// Speeds of a lane that are allowed.
        link_speed_enabled with_link_speed_enabled: 4 as LinkSpeed ["infiniband.portinfo.linkspeedenabled"],
        /// MTU of packets that it sends.
        neighbor_mtu with_neighbor_mtu: 4 as PathMtu ["infiniband.portinfo.neighbormtu"],
        /// Service level to the master subnet manager.
        master_sm_sl with_master_sm_sl: 4 as u8 ["infiniband.portinfo.mastersmsl"],
        /// Virtual lanes that it has.
        vl_cap with_vl_cap: 4 as VlCount ["infiniband.portinfo.vlcap"],
        /// What it asks the subnet manager to keep.
        init_type with_init_type: 4 as Hex8 ["infiniband.portinfo.inittype"],
        /// Units of 4096 bytes that the high table may send before the low table.
        vl_high_limit with_vl_high_limit: 8 as u8 ["infiniband.portinfo.vlhighlimit"],
        /// Entries of its high table.
        vl_arbitration_high_cap with_vl_arbitration_high_cap: 8 as u8 ["infiniband.portinfo.vlarbitrationhighcap"],
        /// Entries of its low table.
        vl_arbitration_low_cap with_vl_arbitration_low_cap: 8 as u8 ["infiniband.portinfo.vlarbitrationlowcap"],
        /// What the subnet manager kept.
        init_type_reply with_init_type_reply: 4 as Hex8 ["infiniband.portinfo.inittypereply"],
        /// The largest MTU that it has.
        mtu_cap with_mtu_cap: 4 as PathMtu ["infiniband.portinfo.mtucap"],
        /// Packets that are dropped in a row until the lane is stalled.
        vl_stall_count with_vl_stall_count: 3 as u8 ["infiniband.portinfo.vlstallcount"],
        /// How long a packet may be the first of its lane: 4.096 us · 2^n.
        hoq_life with_hoq_life: 5 as CmTimeout ["infiniband.portinfo.hoqlife"],
        /// Virtual lanes in use.
        operational_vls with_operational_vls: 4 as VlCount ["infiniband.portinfo.operationalvls"],
        /// P_Keys of packets that come are checked.
        partition_enforcement_inbound with_partition_enforcement_inbound: 1 as bool ["infiniband.portinfo.partitionenforcementinbound"],
        /// P_Keys of packets that leave are checked.
        partition_enforcement_outbound with_partition_enforcement_outbound: 1 as bool ["infiniband.portinfo.partitionenforcementoutbound"],
        /// Raw packets that come are dropped.
        filter_raw_inbound with_filter_raw_inbound: 1 as bool ["infiniband.portinfo.filterrawinbound"],
        /// Raw packets that leave are dropped.
        filter_raw_outbound with_filter_raw_outbound: 1 as bool ["infiniband.portinfo.filterrawoutbound"],
        /// Packets with a wrong management key.
        m_key_violations with_m_key_violations: 16 as u16 ["infiniband.portinfo.m_keyviolations"],
        /// Packets with a wrong P_Key.
        p_key_violations with_p_key_violations: 16 as u16 ["infiniband.portinfo.p_keyviolations"],
        /// Packets with a wrong Q_Key.
        q_key_violations with_q_key_violations: 16 as u16 ["infiniband.portinfo.q_keyviolations"],
        /// Entries of its table of GUIDs.
        guid_cap with_guid_cap: 8 as u8 ["infiniband.portinfo.guidcap"],
        /// Subscriptions and multicast groups have to be asked for again.
        client_reregister with_client_reregister: 1 as bool ["infiniband.portinfo.clientreregister"],
        /// No traps of wrong P_Keys of multicast.
        multicast_p_key_trap_suppression with_multicast_p_key_trap_suppression: 2 as u8,
        /// How long a packet is in the subnet at most: 4.096 us · 2^n.
        subnet_timeout with_subnet_timeout: 5 as CmTimeout ["infiniband.portinfo.subnettimeout"],
        /// Reserved.
        reserved2 with_reserved2: 3 as u8,
        /// How long it takes to answer at most: 4.096 us · 2^n.
        resp_time_value with_resp_time_value: 5 as CmTimeout ["infiniband.portinfo.resptimevalue"],
        /// Physical errors that make a trap.
        local_phy_errors with_local_phy_errors: 4 as u8 ["infiniband.portinfo.localphyerrors"],
        /// Overruns of buffers that make a trap.
        overrun_errors with_overrun_errors: 4 as u8 ["infiniband.portinfo.overrunerrors"],
        /// Credits for a link of this length.
        max_credit_hint with_max_credit_hint: 16 as u16 ["infiniband.portinfo.maxcredithint"],
        /// Reserved.
        reserved3 with_reserved3: 8 as Hex8,
        /// Round trip of the link in units of 4 ns; 0xffffff: not measured.
        link_round_trip_latency with_link_round_trip_latency: 24 as u32 ["infiniband.portinfo.linkroundtriplatency"],
        /// What else it can do.
        capability_mask2 with_capability_mask2: 16 as Hex16,
        /// Speed of a lane above 10 Gbit/s; 0: see `link_speed_active`.
        link_speed_ext_active with_link_speed_ext_active: 4 as LinkSpeedExt,
        /// Such speeds that it can have.
        link_speed_ext_supported with_link_speed_ext_supported: 4 as LinkSpeedExt,
        /// Reserved.
        reserved4 with_reserved4: 3 as u8,
        /// Such speeds that are allowed.
        link_speed_ext_enabled with_link_speed_ext_enabled: 5 as LinkSpeedExt,
    }
}

header! {
    /// Thirty-two P_Keys of a port (IBTA vol. 1, 14.2.5.7). The attribute modifier has the block and a switch's port.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                       p_keys (512 bits)                       |
    /// +---------------------------------------------------------------+
    /// ```
    PKeyTable "P_KeyTable", 64 bytes {
        /// The P_Keys; 0 where there is none.
        p_keys with_p_keys: 512 as PKeyBlock ["infiniband.p_keytable.p_keytableblock"],
    }
}

header! {
    /// The virtual lane of each service level (IBTA vol. 1, 14.2.5.8). The attribute modifier has the ports by which packets come and leave.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                         vls (64 bits)                         |
    /// +---------------------------------------------------------------+
    /// ```
    SlToVl "SLtoVLMappingTable", 8 bytes {
        /// The lanes of service levels 0 to 15; 15: such packets are dropped.
        vls with_vls: 64 as VlList,
    }
}

header! {
    /// Half of a table of virtual lanes (IBTA vol. 1, 14.2.5.9). The attribute modifier has the half and the port.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                       entries (512 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    VlArbitration "VLArbitrationTable", 64 bytes {
        /// Lane and weight of each entry: a byte each.
        entries with_entries: 512 as VlWeights,
    }
}

header! {
    /// Ports of 64 LIDs in a row (IBTA vol. 1, 14.2.5.10). The attribute modifier is the first LID over 64.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        ports (512 bits)                       |
    /// +---------------------------------------------------------------+
    /// ```
    LinearFdb "LinearForwardingTable", 64 bytes {
        /// The port of each LID; 255: none.
        ports with_ports: 512 as PortList,
    }
}

header! {
    /// Sixteen entries of a random forwarding table (IBTA vol. 1, 14.2.5.11).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                       entries (512 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    RandomFdb "RandomForwardingTable", 64 bytes {
        /// LID, valid bit and LMC, port.
        entries with_entries: 512 as RandomRoutes,
    }
}

header! {
    /// Ports of 32 multicast LIDs in a row (IBTA vol. 1, 14.2.5.12). The attribute modifier has the block and which sixteen ports.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                     port_masks (512 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    MulticastFdb "MulticastForwardingTable", 64 bytes {
        /// The ports of each LID, a bit each.
        port_masks with_port_masks: 512 as PortMasks,
    }
}

header! {
    /// A subnet manager (IBTA vol. 1, 14.2.5.13).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                         guid (64 bits)                        |
    /// +---------------------------------------------------------------+
    /// |                        sm_key (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                           act_count                           |
    /// +-------+-------+-----------------------------------------------+
    /// |priorit|sm_stat|
    /// +-------+-------+
    /// ```
    SmInfo "SMInfo", 21 bytes {
        /// Port of the subnet manager.
        guid with_guid: 64 as Guid ["infiniband.sminfo.guid"],
        /// Its key; 0 where it is not shown.
        sm_key with_sm_key: 64 as ManagementKey ["infiniband.sminfo.sm_key"],
        /// It counts what it does: a sign of life.
        act_count with_act_count: 32 as u32 ["infiniband.sminfo.actcount"],
        /// The manager of the highest priority becomes master.
        priority with_priority: 4 as u8 ["infiniband.sminfo.priority"],
        /// Its state.
        sm_state with_sm_state: 4 as SmState ["infiniband.sminfo.smstate"],
    }
}

header! {
    /// Diagnosis of a manufacturer's own (IBTA vol. 1, 14.2.5.14).
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |           next_index          |           diag_data           |
    /// +-------------------------------+-------------------------------+
    /// |                      diag_data (496 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    VendorDiag "VendorDiag", 64 bytes {
        /// The next part; 0: this is the last.
        next_index with_next_index: 16 as u16 ["infiniband.vendordiag.nextindex"],
        /// Data.
        diag_data with_diag_data: 496 as Opaque<62> ["infiniband.vendordiag.diagdata"],
    }
}

header! {
    /// The light of a port (IBTA vol. 1, 14.2.5.15).
    ///
    /// ```text
    /// +-+-------------------------------------------------------------+
    /// |l|                           reserved                          |
    /// +-+-------------------------------------------------------------+
    /// ```
    LedInfo "LedInfo", 4 bytes {
        /// It shines.
        led_mask with_led_mask: 1 as bool ["infiniband.ledinfo.ledmask"],
        /// Reserved.
        reserved with_reserved: 31 as Hex32,
    }
}
