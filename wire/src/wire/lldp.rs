//! LLDP (IEEE 802.1AB) and the data centre bridging exchange in it: of IEEE (802.1Q, annex D), and of the CEE draft before it.
//!
//! An LLDP frame is a list of TLVs. Each is a header of its own here, with what its value begins with as its parts.

use super::{Hex8, Hex16, Hex32, Show};

number! {
    /// The type of an LLDP TLV.
    LldpType(u8) as Show::Named(|v| match v {
        0 => Some("End of LLDPDU"), 1 => Some("Chassis ID"), 2 => Some("Port ID"), 3 => Some("Time To Live"),
        4 => Some("Port Description"), 5 => Some("System Name"), 6 => Some("System Description"),
        7 => Some("System Capabilities"), 8 => Some("Management Address"), 127 => Some("Organization Specific"), _ => None,
    })
}

number! {
    /// The subtype of a TLV of IEEE 802.1.
    IeeeSubtype(u8) as Show::Named(|v| match v {
        1 => Some("Port VLAN ID"), 2 => Some("Port and Protocol VLAN ID"), 3 => Some("VLAN Name"), 4 => Some("Protocol Identity"),
        5 => Some("VID Usage Digest"), 6 => Some("Management VID"), 7 => Some("Link Aggregation"), 8 => Some("Congestion Notification"),
        9 => Some("ETS Configuration"), 10 => Some("ETS Recommendation"), 11 => Some("Priority Flow Control Configuration"),
        12 => Some("Application Priority"), 13 => Some("EVB"), 14 => Some("CDCP"), 19 => Some("Congestion Isolation"), _ => None,
    })
}

number! {
    /// How a chassis is named.
    ChassisIdSubtype(u8) as Show::Named(|v| match v {
        1 => Some("Chassis component"), 2 => Some("Interface alias"), 3 => Some("Port component"), 4 => Some("MAC address"),
        5 => Some("Network address"), 6 => Some("Interface name"), 7 => Some("Locally assigned"), _ => None,
    })
}

number! {
    /// How a port is named.
    PortIdSubtype(u8) as Show::Named(|v| match v {
        1 => Some("Interface alias"), 2 => Some("Port component"), 3 => Some("MAC address"), 4 => Some("Network address"),
        5 => Some("Interface name"), 6 => Some("Agent circuit ID"), 7 => Some("Locally assigned"), _ => None,
    })
}

number! {
    /// How a traffic class is chosen to send next.
    Tsa(u8) as Show::Named(|v| match v {
        0 => Some("Strict Priority"), 1 => Some("Credit-Based Shaper"), 2 => Some("Enhanced Transmission Selection"),
        3 => Some("ATS"), 255 => Some("Vendor Specific"), _ => None,
    })
}

number! {
    /// What an application priority's protocol is (IEEE 802.1Q, table D-9).
    AppSelector(u8) as Show::Named(|v| match v {
        1 => Some("EtherType, or the default priority"), 2 => Some("TCP or SCTP port"), 3 => Some("UDP or DCCP port"),
        4 => Some("TCP, SCTP, UDP or DCCP port"), 5 => Some("DSCP"), _ => None,
    })
}

number! {
    /// The type of a TLV in the DCBX of CEE.
    CeeType(u8) as Show::Named(|v| match v {
        1 => Some("DCBX Control"), 2 => Some("Priority Groups"), 3 => Some("Priority-based Flow Control"),
        4 => Some("Application Protocol"), _ => None,
    })
}

number! {
    /// What an application priority of CEE is about.
    CeeSelector(u8) as Show::Named(|v| match v { 0 => Some("EtherType"), 1 => Some("TCP or UDP port"), _ => None })
}

impl AppSelector {
    /// An EtherType; 0 means the default priority.
    pub const ETHER_TYPE: AppSelector = AppSelector(1);
    /// A port of UDP or DCCP.
    pub const UDP: AppSelector = AppSelector(3);
    /// A port of TCP, SCTP, UDP or DCCP.
    pub const ANY_PORT: AppSelector = AppSelector(4);
    /// A DSCP.
    pub const DSCP: AppSelector = AppSelector(5);
}

header! {
    /// The header of an LLDP TLV (IEEE 802.1AB, 8.4). Its value follows.
    ///
    /// ```text
    /// +-------------+-----------------+
    /// |    type     |     length      |
    /// +-------------+-----------------+
    /// ```
    Lldp "LLDP TLV", 2 bytes {
        /// What the value is.
        tlv_type with_tlv_type: 7 as LldpType ["lldp.tlv.type"],
        /// Bytes of the value.
        tlv_length with_tlv_length: 9 as u16 ["lldp.tlv.len"],
    }
}

header! {
    /// The beginning of a chassis ID's value; the name follows.
    ///
    /// ```text
    /// +---------------+
    /// |    subtype    |
    /// +---------------+
    /// ```
    LldpChassis "chassis ID", 1 bytes {
        /// How the chassis is named.
        chassis_id_subtype with_chassis_id_subtype: 8 as ChassisIdSubtype ["lldp.chassis.subtype"],
    }
}

header! {
    /// The beginning of a port ID's value; the name follows.
    ///
    /// ```text
    /// +---------------+
    /// |    subtype    |
    /// +---------------+
    /// ```
    LldpPort "port ID", 1 bytes {
        /// How the port is named.
        port_id_subtype with_port_id_subtype: 8 as PortIdSubtype ["lldp.port.subtype"],
    }
}

header! {
    /// The value of a time to live.
    ///
    /// ```text
    /// +-------------------------------+
    /// |            seconds            |
    /// +-------------------------------+
    /// ```
    LldpTtl "time to live", 2 bytes {
        /// How long the receiver keeps what the frame says, in seconds.
        time_to_live with_time_to_live: 16 as u16 ["lldp.time_to_live"],
    }
}

header! {
    /// The beginning of an organization's own value.
    ///
    /// ```text
    /// +-----------------------------------------------+---------------+
    /// |                      OUI                      |    subtype    |
    /// +-----------------------------------------------+---------------+
    /// ```
    LldpOrg "organization TLV", 4 bytes {
        /// The organization.
        oui with_oui: 24 as Hex32 ["lldp.orgtlv.oui"],
        /// What the value is.
        subtype with_subtype: 8 as u8,
    }
}

header! {
    /// The beginning of a value of IEEE 802.1 (802.1Q, annex D).
    ///
    /// ```text
    /// +-----------------------------------------------+---------------+
    /// |                 OUI 00:80:c2                  |    subtype    |
    /// +-----------------------------------------------+---------------+
    /// ```
    LldpIeee "IEEE 802.1 TLV", 4 bytes {
        /// IEEE 802.1.
        oui with_oui: 24 as Hex32 ["lldp.orgtlv.oui"],
        /// What the value is.
        ieee_subtype with_ieee_subtype: 8 as IeeeSubtype ["lldp.ieee.802_1.subtype"],
    }
}

header! {
    /// The beginning of a value of CEE's DCBX; TLVs of its own follow.
    ///
    /// ```text
    /// +-----------------------------------------------+---------------+
    /// |                 OUI 00:1b:21                  |    subtype    |
    /// +-----------------------------------------------+---------------+
    /// ```
    LldpCee "CEE DCBX TLV", 4 bytes {
        /// Intel, whose number the draft uses.
        oui with_oui: 24 as Hex32 ["lldp.orgtlv.oui"],
        /// The version of the exchange: 1 the first draft, 2 CEE.
        dcbx_version with_dcbx_version: 8 as u8 ["lldp.dcbx.proto"],
    }
}

header! {
    /// The value of a port VLAN ID (IEEE 802.1Q, D.2.1).
    ///
    /// ```text
    /// +-------------------------------+
    /// |            VLAN ID            |
    /// +-------------------------------+
    /// ```
    PortVlan "port VLAN ID", 2 bytes {
        /// The VLAN of untagged frames; 0: none.
        port_vlan with_port_vlan: 16 as u16 ["lldp.ieee.802_1.port_vlan.id"],
    }
}

header! {
    /// The value of a congestion notification TLV (IEEE 802.1Q, D.2.7). The lowest bit of a byte is priority 0.
    ///
    /// ```text
    /// +---------------+---------------+
    /// |     CNPV      |     ready     |
    /// +---------------+---------------+
    /// ```
    CongestionNotification "congestion notification", 2 bytes {
        /// Priority 7 is a congestion notification priority value (CNPV).
        cnpv7 with_cnpv7: 1 as bool ["lldp.ieee.802_1qau.cnpv.prio7"],
        /// Priority 6 is a congestion notification priority value (CNPV).
        cnpv6 with_cnpv6: 1 as bool ["lldp.ieee.802_1qau.cnpv.prio6"],
        /// Priority 5 is a congestion notification priority value (CNPV).
        cnpv5 with_cnpv5: 1 as bool ["lldp.ieee.802_1qau.cnpv.prio5"],
        /// Priority 4 is a congestion notification priority value (CNPV).
        cnpv4 with_cnpv4: 1 as bool ["lldp.ieee.802_1qau.cnpv.prio4"],
        /// Priority 3 is a congestion notification priority value (CNPV).
        cnpv3 with_cnpv3: 1 as bool ["lldp.ieee.802_1qau.cnpv.prio3"],
        /// Priority 2 is a congestion notification priority value (CNPV).
        cnpv2 with_cnpv2: 1 as bool ["lldp.ieee.802_1qau.cnpv.prio2"],
        /// Priority 1 is a congestion notification priority value (CNPV).
        cnpv1 with_cnpv1: 1 as bool ["lldp.ieee.802_1qau.cnpv.prio1"],
        /// Priority 0 is a congestion notification priority value (CNPV).
        cnpv0 with_cnpv0: 1 as bool ["lldp.ieee.802_1qau.cnpv.prio0"],
        /// Priority 7 is ready: its congestion notification tags are not removed.
        ready7 with_ready7: 1 as bool ["lldp.ieee.802_1qau.ready.prio7"],
        /// Priority 6 is ready: its congestion notification tags are not removed.
        ready6 with_ready6: 1 as bool ["lldp.ieee.802_1qau.ready.prio6"],
        /// Priority 5 is ready: its congestion notification tags are not removed.
        ready5 with_ready5: 1 as bool ["lldp.ieee.802_1qau.ready.prio5"],
        /// Priority 4 is ready: its congestion notification tags are not removed.
        ready4 with_ready4: 1 as bool ["lldp.ieee.802_1qau.ready.prio4"],
        /// Priority 3 is ready: its congestion notification tags are not removed.
        ready3 with_ready3: 1 as bool ["lldp.ieee.802_1qau.ready.prio3"],
        /// Priority 2 is ready: its congestion notification tags are not removed.
        ready2 with_ready2: 1 as bool ["lldp.ieee.802_1qau.ready.prio2"],
        /// Priority 1 is ready: its congestion notification tags are not removed.
        ready1 with_ready1: 1 as bool ["lldp.ieee.802_1qau.ready.prio1"],
        /// Priority 0 is ready: its congestion notification tags are not removed.
        ready0 with_ready0: 1 as bool ["lldp.ieee.802_1qau.ready.prio0"],
    }
}

/// Headers of 21 bytes that end with how a port divides its bandwidth.
macro_rules! ets {
    ($(#[doc = $doc:literal])* $name:ident $label:literal { $($first:tt)* }) => {
        header! {
            $(#[doc = $doc])*
            $name $label, 21 bytes {
                $($first)*
                /// The traffic class of priority 0.
                tc_of_prio0 with_tc_of_prio0: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio0"],
                /// The traffic class of priority 1.
                tc_of_prio1 with_tc_of_prio1: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio1"],
                /// The traffic class of priority 2.
                tc_of_prio2 with_tc_of_prio2: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio2"],
                /// The traffic class of priority 3.
                tc_of_prio3 with_tc_of_prio3: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio3"],
                /// The traffic class of priority 4.
                tc_of_prio4 with_tc_of_prio4: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio4"],
                /// The traffic class of priority 5.
                tc_of_prio5 with_tc_of_prio5: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio5"],
                /// The traffic class of priority 6.
                tc_of_prio6 with_tc_of_prio6: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio6"],
                /// The traffic class of priority 7.
                tc_of_prio7 with_tc_of_prio7: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio7"],
                /// Per cent of the bandwidth that traffic class 0 gets.
                bandwidth0 with_bandwidth0: 8 as u8 ["lldp.dcbx.feature.pg.per0"],
                /// Per cent of the bandwidth that traffic class 1 gets.
                bandwidth1 with_bandwidth1: 8 as u8 ["lldp.dcbx.feature.pg.per1"],
                /// Per cent of the bandwidth that traffic class 2 gets.
                bandwidth2 with_bandwidth2: 8 as u8 ["lldp.dcbx.feature.pg.per2"],
                /// Per cent of the bandwidth that traffic class 3 gets.
                bandwidth3 with_bandwidth3: 8 as u8 ["lldp.dcbx.feature.pg.per3"],
                /// Per cent of the bandwidth that traffic class 4 gets.
                bandwidth4 with_bandwidth4: 8 as u8 ["lldp.dcbx.feature.pg.per4"],
                /// Per cent of the bandwidth that traffic class 5 gets.
                bandwidth5 with_bandwidth5: 8 as u8 ["lldp.dcbx.feature.pg.per5"],
                /// Per cent of the bandwidth that traffic class 6 gets.
                bandwidth6 with_bandwidth6: 8 as u8 ["lldp.dcbx.feature.pg.per6"],
                /// Per cent of the bandwidth that traffic class 7 gets.
                bandwidth7 with_bandwidth7: 8 as u8 ["lldp.dcbx.feature.pg.per7"],
                /// How traffic class 0 is selected.
                tsa0 with_tsa0: 8 as Tsa ["lldp.dcbx.ieee.ets.tsa0"],
                /// How traffic class 1 is selected.
                tsa1 with_tsa1: 8 as Tsa ["lldp.dcbx.ieee.ets.tsa1"],
                /// How traffic class 2 is selected.
                tsa2 with_tsa2: 8 as Tsa ["lldp.dcbx.ieee.ets.tsa2"],
                /// How traffic class 3 is selected.
                tsa3 with_tsa3: 8 as Tsa ["lldp.dcbx.ieee.ets.tsa3"],
                /// How traffic class 4 is selected.
                tsa4 with_tsa4: 8 as Tsa ["lldp.dcbx.ieee.ets.tsa4"],
                /// How traffic class 5 is selected.
                tsa5 with_tsa5: 8 as Tsa ["lldp.dcbx.ieee.ets.tsa5"],
                /// How traffic class 6 is selected.
                tsa6 with_tsa6: 8 as Tsa ["lldp.dcbx.ieee.ets.tsa6"],
                /// How traffic class 7 is selected.
                tsa7 with_tsa7: 8 as Tsa ["lldp.dcbx.ieee.ets.tsa7"],
            }
        }
    };
}

ets! {
    /// The value of an ETS configuration (IEEE 802.1Q, D.2.8): how the port divides its bandwidth.
    ///
    /// ```text
    /// +---------------+
    /// |W|C| res |maxTC|
    /// +---------------+-----------------------------------------------+
    /// |          traffic class of each priority, 4 bits each          |
    /// +---------------------------------------------------------------+
    /// |         bandwidth of each traffic class, 8 bits each          |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |    transmission selection of each traffic class, 8 bits each  |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    EtsConfiguration "ETS configuration" {
        /// The port takes its neighbour's recommendation.
        willing with_willing: 1 as bool ["lldp.dcbx.ieee.willing"],
        /// The port has a credit-based shaper.
        cbs with_cbs: 1 as bool ["lldp.dcbx.ieee.ets.cbs"],
        /// Reserved.
        reserved with_reserved: 3 as Hex8,
        /// Traffic classes that it has; 0 means 8.
        max_tcs with_max_tcs: 3 as u8 ["lldp.dcbx.ieee.ets.maxtcs"],
    }
}

ets! {
    /// The value of an ETS recommendation (IEEE 802.1Q, D.2.9): how the neighbour should divide its bandwidth.
    ///
    /// ```text
    /// +---------------+
    /// |   reserved    |
    /// +---------------+-----------------------------------------------+
    /// |          traffic class of each priority, 4 bits each          |
    /// +---------------------------------------------------------------+
    /// |         bandwidth of each traffic class, 8 bits each          |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |    transmission selection of each traffic class, 8 bits each  |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    EtsRecommendation "ETS recommendation" {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
    }
}

header! {
    /// The value of a priority flow control configuration (IEEE 802.1Q, D.2.10).
    ///
    /// ```text
    /// +-+-+---+-------+---------------+
    /// |W|M|res|  cap  | PFC of 7 to 0 |
    /// +-+-+---+-------+---------------+
    /// ```
    PfcConfiguration "PFC configuration", 2 bytes {
        /// The port takes its neighbour's configuration.
        willing with_willing: 1 as bool ["lldp.dcbx.ieee.willing"],
        /// The port can bypass MACsec for PFC frames.
        mbc with_mbc: 1 as bool ["lldp.dcbx.ieee.pfc.mbc"],
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// Priorities that can have PFC at a time; 0 means 8.
        pfc_cap with_pfc_cap: 4 as u8 ["lldp.dcbx.ieee.pfc.numtcs"],
        /// Priority 7 has PFC.
        pfc7 with_pfc7: 1 as bool ["lldp.dcbx.feature.pfc.prio7"],
        /// Priority 6 has PFC.
        pfc6 with_pfc6: 1 as bool ["lldp.dcbx.feature.pfc.prio6"],
        /// Priority 5 has PFC.
        pfc5 with_pfc5: 1 as bool ["lldp.dcbx.feature.pfc.prio5"],
        /// Priority 4 has PFC.
        pfc4 with_pfc4: 1 as bool ["lldp.dcbx.feature.pfc.prio4"],
        /// Priority 3 has PFC.
        pfc3 with_pfc3: 1 as bool ["lldp.dcbx.feature.pfc.prio3"],
        /// Priority 2 has PFC.
        pfc2 with_pfc2: 1 as bool ["lldp.dcbx.feature.pfc.prio2"],
        /// Priority 1 has PFC.
        pfc1 with_pfc1: 1 as bool ["lldp.dcbx.feature.pfc.prio1"],
        /// Priority 0 has PFC.
        pfc0 with_pfc0: 1 as bool ["lldp.dcbx.feature.pfc.prio0"],
    }
}

header! {
    /// The beginning of an application priority table (IEEE 802.1Q, D.2.11).
    ///
    /// ```text
    /// +---------------+
    /// |   reserved    |
    /// +---------------+
    /// ```
    ApplicationTable "application priorities", 1 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8 ["lldp.dcbx.ieee.app.reserved"],
    }
}

header! {
    /// An entry of an application priority table.
    ///
    /// ```text
    /// +-----+---+-----+-------------------------------+
    /// |prio.|res|sel. |           protocol            |
    /// +-----+---+-----+-------------------------------+
    /// ```
    ApplicationPriority "application priority", 3 bytes {
        /// The priority.
        priority with_priority: 3 as u8 ["lldp.dcbx.ieee.app.prio"],
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// What the protocol is.
        selector with_selector: 3 as AppSelector ["lldp.dcbx.iee.app.sf"],
        /// An EtherType, a port, or a DSCP.
        protocol with_protocol: 16 as Hex16 ["lldp.dcbx.feature.app.proto"],
    }
}

header! {
    /// The header of a TLV in the DCBX of CEE. Its value follows.
    ///
    /// ```text
    /// +-------------+-----------------+
    /// |    type     |     length      |
    /// +-------------+-----------------+
    /// ```
    CeeTlv "CEE TLV", 2 bytes {
        /// What the value is.
        cee_type with_cee_type: 7 as CeeType ["lldp.dcbx.type"],
        /// Bytes of the value.
        cee_length with_cee_length: 9 as u16 ["lldp.dcbx.len"],
    }
}

header! {
    /// The value of a DCBX control TLV of CEE.
    ///
    /// ```text
    /// +---------------+---------------+
    /// | oper version  |  max version  |
    /// +---------------+---------------+-------------------------------+
    /// |                        sequence number                        |
    /// +---------------------------------------------------------------+
    /// |                     acknowledgement number                    |
    /// +---------------------------------------------------------------+
    /// ```
    CeeControl "CEE control", 10 bytes {
        /// The version in use.
        oper_version with_oper_version: 8 as u8 ["lldp.dcbx.version"],
        /// The highest version that it knows.
        max_version with_max_version: 8 as u8 ["lldp.dcbx.max_version"],
        /// Changes with each change of its own configuration.
        seq_no with_seq_no: 32 as u32 ["lldp.dcbx.control.seq"],
        /// The neighbour's last sequence number.
        ack_no with_ack_no: 32 as u32 ["lldp.dcbx.control.ack"],
    }
}

header! {
    /// The beginning of a feature's value of CEE.
    ///
    /// ```text
    /// +---------------+---------------+-+-+-+---------+---------------+
    /// | oper version  |  max version  |E|W|R|   res   |    subtype    |
    /// +---------------+---------------+-+-+-+---------+---------------+
    /// ```
    CeeFeature "CEE feature", 4 bytes {
        /// The version in use.
        oper_version with_oper_version: 8 as u8 ["lldp.dcbx.version"],
        /// The highest version that it knows.
        max_version with_max_version: 8 as u8 ["lldp.dcbx.max_version"],
        /// The feature is on.
        enabled with_enabled: 1 as bool ["lldp.dcbx.feature.enabled"],
        /// The port takes its neighbour's configuration.
        willing with_willing: 1 as bool ["lldp.dcbx.feature.willing"],
        /// The two configurations do not fit together.
        error with_error: 1 as bool ["lldp.dcbx.feature.error"],
        /// Reserved.
        reserved with_reserved: 5 as Hex8,
        /// 0.
        feature_subtype with_feature_subtype: 8 as u8 ["lldp.dcbx.feature.subtype"],
    }
}

header! {
    /// Priority groups of CEE.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |          priority group of each priority, 4 bits each         |
    /// +---------------------------------------------------------------+
    /// |         bandwidth of each priority group, 8 bits each         |
    /// |                                                               |
    /// +---------------+-----------------------------------------------+
    /// |  classes      |
    /// +---------------+
    /// ```
    CeePriorityGroups "CEE priority groups", 13 bytes {
        /// The priority group of priority 0.
        pgid_prio0 with_pgid_prio0: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio0"],
        /// The priority group of priority 1.
        pgid_prio1 with_pgid_prio1: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio1"],
        /// The priority group of priority 2.
        pgid_prio2 with_pgid_prio2: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio2"],
        /// The priority group of priority 3.
        pgid_prio3 with_pgid_prio3: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio3"],
        /// The priority group of priority 4.
        pgid_prio4 with_pgid_prio4: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio4"],
        /// The priority group of priority 5.
        pgid_prio5 with_pgid_prio5: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio5"],
        /// The priority group of priority 6.
        pgid_prio6 with_pgid_prio6: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio6"],
        /// The priority group of priority 7.
        pgid_prio7 with_pgid_prio7: 4 as u8 ["lldp.dcbx.feature.pg.pgid_prio7"],
        /// Per cent of the bandwidth that priority group 0 gets.
        bandwidth0 with_bandwidth0: 8 as u8 ["lldp.dcbx.feature.pg.per0"],
        /// Per cent of the bandwidth that priority group 1 gets.
        bandwidth1 with_bandwidth1: 8 as u8 ["lldp.dcbx.feature.pg.per1"],
        /// Per cent of the bandwidth that priority group 2 gets.
        bandwidth2 with_bandwidth2: 8 as u8 ["lldp.dcbx.feature.pg.per2"],
        /// Per cent of the bandwidth that priority group 3 gets.
        bandwidth3 with_bandwidth3: 8 as u8 ["lldp.dcbx.feature.pg.per3"],
        /// Per cent of the bandwidth that priority group 4 gets.
        bandwidth4 with_bandwidth4: 8 as u8 ["lldp.dcbx.feature.pg.per4"],
        /// Per cent of the bandwidth that priority group 5 gets.
        bandwidth5 with_bandwidth5: 8 as u8 ["lldp.dcbx.feature.pg.per5"],
        /// Per cent of the bandwidth that priority group 6 gets.
        bandwidth6 with_bandwidth6: 8 as u8 ["lldp.dcbx.feature.pg.per6"],
        /// Per cent of the bandwidth that priority group 7 gets.
        bandwidth7 with_bandwidth7: 8 as u8 ["lldp.dcbx.feature.pg.per7"],
        /// Traffic classes that the port has.
        num_tcs with_num_tcs: 8 as u8 ["lldp.dcbx.feature.pg.numtcs"],
    }
}

header! {
    /// Priority flow control of CEE.
    ///
    /// ```text
    /// +---------------+---------------+
    /// | PFC of 7 to 0 |    classes    |
    /// +---------------+---------------+
    /// ```
    CeePfc "CEE PFC", 2 bytes {
        /// Priority 7 has PFC.
        pfc7 with_pfc7: 1 as bool ["lldp.dcbx.feature.pfc.prio7"],
        /// Priority 6 has PFC.
        pfc6 with_pfc6: 1 as bool ["lldp.dcbx.feature.pfc.prio6"],
        /// Priority 5 has PFC.
        pfc5 with_pfc5: 1 as bool ["lldp.dcbx.feature.pfc.prio5"],
        /// Priority 4 has PFC.
        pfc4 with_pfc4: 1 as bool ["lldp.dcbx.feature.pfc.prio4"],
        /// Priority 3 has PFC.
        pfc3 with_pfc3: 1 as bool ["lldp.dcbx.feature.pfc.prio3"],
        /// Priority 2 has PFC.
        pfc2 with_pfc2: 1 as bool ["lldp.dcbx.feature.pfc.prio2"],
        /// Priority 1 has PFC.
        pfc1 with_pfc1: 1 as bool ["lldp.dcbx.feature.pfc.prio1"],
        /// Priority 0 has PFC.
        pfc0 with_pfc0: 1 as bool ["lldp.dcbx.feature.pfc.prio0"],
        /// Traffic classes that can have PFC at a time.
        num_tcs with_num_tcs: 8 as u8 ["lldp.dcbx.feature.pfc.numtcs"],
    }
}

header! {
    /// An application priority of CEE.
    ///
    /// ```text
    /// +-------------------------------+-----------+---+
    /// |           protocol            | OUI high  |sel|
    /// +-------------------------------+-----------+---+
    /// |            OUI low            | prio. map |
    /// +-------------------------------+-----------+
    /// ```
    CeeApplication "CEE application priority", 6 bytes {
        /// An EtherType or a port.
        protocol with_protocol: 16 as Hex16 ["lldp.dcbx.feature.app.proto"],
        /// The upper bits of the organization's number.
        oui_high with_oui_high: 6 as Hex8,
        /// What the protocol is.
        selector with_selector: 2 as CeeSelector ["lldp.dcbx.feature.app.sf"],
        /// The lower bits of the organization's number.
        oui_low with_oui_low: 16 as Hex16,
        /// Bit i: priority i.
        priority_map with_priority_map: 8 as Hex8,
    }
}

impl PfcConfiguration {
    /// The priorities with PFC, as bits: bit i is priority i.
    pub fn enabled(&self) -> u8 {
        self.0[1]
    }
}

impl CeePfc {
    /// The priorities with PFC, as bits: bit i is priority i.
    pub fn enabled(&self) -> u8 {
        self.0[0]
    }
}

impl EtsConfiguration {
    /// The traffic class of each priority.
    pub fn traffic_classes(&self) -> [u8; 8] {
        nibbles(&self.0[1..5])
    }

    /// Per cent of the bandwidth that each traffic class gets.
    pub fn bandwidths(&self) -> [u8; 8] {
        core::array::from_fn(|at| self.0[5 + at])
    }
}

impl CeePriorityGroups {
    /// The priority group of each priority.
    pub fn groups(&self) -> [u8; 8] {
        nibbles(&self.0[..4])
    }

    /// Per cent of the bandwidth that each priority group gets.
    pub fn bandwidths(&self) -> [u8; 8] {
        core::array::from_fn(|at| self.0[4 + at])
    }
}

/// Eight numbers of four bits.
fn nibbles(bytes: &[u8]) -> [u8; 8] {
    core::array::from_fn(|at| bytes.get(at / 2).map_or(0, |byte| byte >> (4 * (1 - at % 2)) & 0xf))
}
