//! Congestion control of InfiniBand (IBTA vol. 1, annex A10; layouts as rdma-core's libibmad has them).

use super::{Hex8, Hex16, Hex32, Lid, List, ManagementKey, Qpn, Show};

number! {
    /// Whose log of congestion it is (IBTA vol. 1, annex A10).
    CongestionLogType(u8) as Show::Named(|v| Some(match v { 1 => "switch", 2 => "channel adapter", _ => return None }))
}

impl CongestionLogType {
    /// A switch's.
    pub const SWITCH: CongestionLogType = CongestionLogType(1);
    /// A channel adapter's.
    pub const ADAPTER: CongestionLogType = CongestionLogType(2);
}

number! {
    /// Service of a queue pair that was notified (IBTA vol. 1, annex A10).
    CongestionService(u8) as Show::Named(|v| Some(match v { 0 => "RC", 1 => "UC", 2 => "RD", 3 => "UD", _ => return None }))
}

header! {
    /// What a node can do about congestion (IBTA vol. 1, annex A10).
    ///
    /// ```text
    /// +-------------------------------+---------------+---------------+
    /// |        congestion_info        |control_table_c|    reserved   |
    /// +-------------------------------+---------------+---------------+
    /// ```
    CongestionInfo "CongestionInfo", 4 bytes {
        /// Bit 0: it can starve credits.
        congestion_info with_congestion_info: 16 as Hex16,
        /// Blocks of 64 entries that its control table has.
        control_table_cap with_control_table_cap: 8 as u8,
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
    }
}

header! {
    /// The key of congestion control (IBTA vol. 1, annex A10).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        cc_key (64 bits)                       |
    /// +-+-----------------------------+-------------------------------+
    /// |c|           reserved          |      cc_key_lease_period      |
    /// +-+-----------------------------+-------------------------------+
    /// |       cc_key_violations       |           reserved2           |
    /// +-------------------------------+-------------------------------+
    /// ```
    CongestionKeyInfo "CongestionKeyInfo", 16 bytes {
        /// The key.
        cc_key with_cc_key: 64 as ManagementKey,
        /// The key cannot be read without it.
        cc_key_protect with_cc_key_protect: 1 as bool,
        /// Reserved.
        reserved with_reserved: 15 as Hex16,
        /// Seconds until the protection ends; 0: never.
        cc_key_lease_period with_cc_key_lease_period: 16 as u16,
        /// Requests with another key.
        cc_key_violations with_cc_key_violations: 16 as u16,
        /// Reserved.
        reserved2 with_reserved2: 16 as Hex16,
    }
}

header! {
    /// The key of congestion control before a log, which leaves no room for what other attributes have before them (IBTA vol. 1, annex A10).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                         key (64 bits)                         |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    CongestionKey "congestion key", 8 bytes {
        /// The key.
        key with_key: 64 as ManagementKey,
    }
}

header! {
    /// What a node has logged of congestion: its beginning (IBTA vol. 1, annex A10). The type of the log says what follows.
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    log_type   |congestion_flag|          event_count          |
    /// +---------------+---------------+-------------------------------+
    /// ```
    CongestionLog "CongestionLog", 4 bytes {
        /// Whose log it is.
        log_type with_log_type: 8 as CongestionLogType,
        /// Bit 0: the key of congestion control was violated.
        congestion_flags with_congestion_flags: 8 as Hex8,
        /// Events since the log was sent last.
        event_count with_event_count: 16 as u16,
    }
}

header! {
    /// What a switch has logged, behind the beginning; up to 15 events follow (IBTA vol. 1, annex A10).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                          current_time                         |
    /// +---------------------------------------------------------------+
    /// |                      port_map (256 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    SwitchCongestionLog "switch's CongestionLog", 36 bytes {
        /// The switch's clock, in ticks of 1.024 µs.
        current_time with_current_time: 32 as u32,
        /// Ports that marked packets, a bit each.
        port_map with_port_map: 256 as [u8; 32],
    }
}

header! {
    /// A packet that a switch marked (IBTA vol. 1, annex A10).
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |              slid             |              dlid             |
    /// +-------+-----------------------+-------------------------------+
    /// |   sl  |                        reserved                       |
    /// +-------+-------------------------------------------------------+
    /// |                           time_stamp                          |
    /// +---------------------------------------------------------------+
    /// ```
    SwitchCongestionEvent "switch's congestion event", 12 bytes {
        /// Source of the packet.
        slid with_slid: 16 as Lid,
        /// Its destination.
        dlid with_dlid: 16 as Lid,
        /// Its service level.
        sl with_sl: 4 as u8,
        /// Reserved.
        reserved with_reserved: 28 as Hex32,
        /// When, in ticks of 1.024 µs.
        time_stamp with_time_stamp: 32 as u32,
    }
}

header! {
    /// What a channel adapter has logged, behind the beginning; up to 13 events follow (IBTA vol. 1, annex A10).
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |           event_map           |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// |                          current_time                         |
    /// +---------------------------------------------------------------+
    /// ```
    CaCongestionLog "adapter's CongestionLog", 8 bytes {
        /// Service levels whose threshold was reached, a bit each.
        event_map with_event_map: 16 as Hex16,
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// The adapter's clock, in ticks of 1.024 µs.
        current_time with_current_time: 32 as u32,
    }
}

header! {
    /// A notification that a channel adapter had (IBTA vol. 1, annex A10).
    ///
    /// ```text
    /// +-----------------------------------------------+---------------+
    /// |                    local_qp                   |    reserved   |
    /// +-----------------------------------------------+-------+-------+
    /// |                   remote_qp                   |   sl  |service|
    /// +-------------------------------+---------------+-------+-------+
    /// |           remote_lid          |           reserved2           |
    /// +-------------------------------+-------------------------------+
    /// |                           time_stamp                          |
    /// +---------------------------------------------------------------+
    /// ```
    CaCongestionEvent "adapter's congestion event", 16 bytes {
        /// The queue pair that was notified.
        local_qp with_local_qp: 24 as Qpn,
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The queue pair that it sends to.
        remote_qp with_remote_qp: 24 as Qpn,
        /// Service level.
        sl with_sl: 4 as u8,
        /// Service of the queue pair.
        service_type with_service_type: 4 as CongestionService,
        /// Where it sends to.
        remote_lid with_remote_lid: 16 as Lid,
        /// Reserved.
        reserved2 with_reserved2: 16 as Hex16,
        /// When, in ticks of 1.024 µs.
        time_stamp with_time_stamp: 32 as u32,
    }
}

header! {
    /// When a switch marks (IBTA vol. 1, annex A10).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                          control_map                          |
    /// +---------------------------------------------------------------+
    /// |                     victim_mask (256 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                     credit_mask (256 bits)                    |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |thresho|reserve|  packet_size  |cs_thre|       reserved2       |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |        cs_return_delay        |          marking_rate         |
    /// +-------------------------------+-------------------------------+
    /// ```
    SwitchCongestionSetting "SwitchCongestionSetting", 76 bytes {
        /// Which of the settings are meant.
        control_map with_control_map: 32 as Hex32,
        /// Ports that mark although they are victims, a bit each.
        victim_mask with_victim_mask: 256 as [u8; 32],
        /// Ports that starve credits, a bit each.
        credit_mask with_credit_mask: 256 as [u8; 32],
        /// How early it marks: 0 never, 15 earliest.
        threshold with_threshold: 4 as u8,
        /// Reserved.
        reserved with_reserved: 4 as Hex8,
        /// Packets shorter than this are not marked, in units of 64 bytes.
        packet_size with_packet_size: 8 as u8,
        /// How early credits are starved.
        cs_threshold with_cs_threshold: 4 as u8,
        /// Reserved.
        reserved2 with_reserved2: 12 as Hex16,
        /// How fast credits come back.
        cs_return_delay with_cs_return_delay: 16 as Hex16,
        /// Packets between two that are marked, at least.
        marking_rate with_marking_rate: 16 as u16,
    }
}

header! {
    /// When ports of a switch mark (IBTA vol. 1, annex A10). The attribute modifier has the block of 32 ports.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                      elements (1024 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    SwitchPortCongestionSetting "SwitchPortCongestionSetting", 128 bytes {
        /// Of each port: valid, control type, 2 bits reserved, threshold of 4 bits, packet size of 8, marking rate of 16.
        elements with_elements: 1024 as List<32, 128>,
    }
}

header! {
    /// What a channel adapter does when it is notified (IBTA vol. 1, annex A10).
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |          port_control         |          control_map          |
    /// +-------------------------------+-------------------------------+
    /// |                      entries (1024 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    CaCongestionSetting "CACongestionSetting", 132 bytes {
        /// Bit 0: by service level and port; else by queue pair.
        port_control with_port_control: 16 as Hex16,
        /// Service levels that this is for, a bit each.
        control_map with_control_map: 16 as Hex16,
        /// Of each service level: timer, increase, trigger, least index.
        entries with_entries: 1024 as [u8; 128],
    }
}

header! {
    /// Delays between packets, by how often a sender was notified (IBTA vol. 1, annex A10). The attribute modifier is the block of 64.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |           ccti_limit          |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// |                      entries (1024 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    CongestionControlTable "CongestionControlTable", 132 bytes {
        /// The last index.
        ccti_limit with_ccti_limit: 16 as u16,
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// Shift of 2 bits, multiplier of 14.
        entries with_entries: 1024 as List<16, 128>,
    }
}

header! {
    /// The clock that events are stamped by (IBTA vol. 1, annex A10).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                           time_stamp                          |
    /// +---------------------------------------------------------------+
    /// ```
    CongestionTimeStamp "TimeStamp", 4 bytes {
        /// Ticks of 1.024 µs.
        time_stamp with_time_stamp: 32 as u32,
    }
}
