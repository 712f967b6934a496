//! Performance management, and what else general management has before its attributes (IBTA vol. 1, chapter 16).

use super::{Hex8, Hex16, Hex32, ManagementKey};

header! {
    /// What is between the common header and the attribute in performance, device and congestion management, and in baseboard management, whose first eight bytes are a key (IBTA vol. 1, 16.1 to 16.3).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                         key (64 bits)                         |
    /// +---------------------------------------------------------------+
    /// |                      reserved (256 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    ClassReserved "class reserved", 40 bytes {
        /// Key of the class, where it has one.
        key with_key: 64 as ManagementKey,
        /// Reserved.
        reserved with_reserved: 256 as [u8; 32],
    }
}

header! {
    /// Counters of a port (IBTA vol. 1, 16.1.3.5). They stay at their largest value.
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+---------------+---------------+
    /// |      symbol_error_counter     |link_error_reco|link_downed_cou|
    /// +-------------------------------+---------------+---------------+
    /// |        port_rcv_errors        |port_rcv_remote_physical_errors|
    /// +-------------------------------+-------------------------------+
    /// |  port_rcv_switch_relay_errors |       port_xmit_discards      |
    /// +---------------+---------------+---------------+-------+-------+
    /// |port_xmit_const|port_rcv_constr|counter_select2|local_l|excessi|
    /// +---------------+---------------+---------------+-------+-------+
    /// |          qp1_dropped          |          vl15_dropped         |
    /// +-------------------------------+-------------------------------+
    /// |                         port_xmit_data                        |
    /// +---------------------------------------------------------------+
    /// |                         port_rcv_data                         |
    /// +---------------------------------------------------------------+
    /// |                         port_xmit_pkts                        |
    /// +---------------------------------------------------------------+
    /// |                         port_rcv_pkts                         |
    /// +---------------------------------------------------------------+
    /// |                         port_xmit_wait                        |
    /// +---------------------------------------------------------------+
    /// ```
    PortCounters "PortCounters", 44 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8 ["infiniband.portcounters.portselect"],
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16 ["infiniband.portcounters.counterselect"],
        /// Symbol errors.
        symbol_error_counter with_symbol_error_counter: 16 as u16 ["infiniband.portcounters.symbolerrorcounter"],
        /// Times that the link recovered by itself.
        link_error_recovery_counter with_link_error_recovery_counter: 8 as u8 ["infiniband.portcounters.linkerrorrecoverycounter"],
        /// Times that it did not, and went down.
        link_downed_counter with_link_downed_counter: 8 as u8 ["infiniband.portcounters.linkdownedcounter"],
        /// Packets that came with an error.
        port_rcv_errors with_port_rcv_errors: 16 as u16 ["infiniband.portcounters.portrcverrors"],
        /// Packets that came marked as bad.
        port_rcv_remote_physical_errors with_port_rcv_remote_physical_errors: 16 as u16 ["infiniband.portcounters.portrcvremotephysicalerrors"],
        /// Packets that came and could not be forwarded.
        port_rcv_switch_relay_errors with_port_rcv_switch_relay_errors: 16 as u16 ["infiniband.portcounters.portrcvswitchrelayerrors"],
        /// Packets that were dropped before they could be sent: the port was down or congested.
        port_xmit_discards with_port_xmit_discards: 16 as u16 ["infiniband.portcounters.portxmitdiscards"],
        /// Packets that were not sent: partition, or raw.
        port_xmit_constraint_errors with_port_xmit_constraint_errors: 8 as u8 ["infiniband.portcounters.portxmitconstrainterrors"],
        /// Packets that came and were dropped: partition, or raw.
        port_rcv_constraint_errors with_port_rcv_constraint_errors: 8 as u8 ["infiniband.portcounters.portrcvconstrainterrors"],
        /// Which other counters are set.
        counter_select2 with_counter_select2: 8 as Hex8,
        /// Times that physical errors were too many.
        local_link_integrity_errors with_local_link_integrity_errors: 4 as u8 ["infiniband.portcounters.locallinkintegrityerrors"],
        /// Times that buffers ran over.
        excessive_buffer_overrun_errors with_excessive_buffer_overrun_errors: 4 as u8 ["infiniband.portcounters.excessivebufferoverrunerrors"],
        /// Packets to queue pair 1 that were dropped.
        qp1_dropped with_qp1_dropped: 16 as u16,
        /// Management packets that were dropped: no buffer.
        vl15_dropped with_vl15_dropped: 16 as u16 ["infiniband.portcounters.vl15dropped"],
        /// Words of four bytes that were sent.
        port_xmit_data with_port_xmit_data: 32 as u32 ["infiniband.portcounters.portxmitdata"],
        /// Words of four bytes that came.
        port_rcv_data with_port_rcv_data: 32 as u32 ["infiniband.portcounters.portrcvdata"],
        /// Packets that were sent.
        port_xmit_pkts with_port_xmit_pkts: 32 as u32 ["infiniband.portcounters.portxmitpkts"],
        /// Packets that came.
        port_rcv_pkts with_port_rcv_pkts: 32 as u32 ["infiniband.portcounters.portrcvpkts"],
        /// Ticks in which something waited, and nothing could be sent.
        port_xmit_wait with_port_xmit_wait: 32 as u32,
    }
}

header! {
    /// Counters of a port in 64 bits (IBTA vol. 1, 16.1.4.11).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |                        counter_select2                        |
    /// +---------------------------------------------------------------+
    /// |                    port_xmit_data (64 bits)                   |
    /// +---------------------------------------------------------------+
    /// |                    port_rcv_data (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                    port_xmit_pkts (64 bits)                   |
    /// +---------------------------------------------------------------+
    /// |                    port_rcv_pkts (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                port_unicast_xmit_pkts (64 bits)               |
    /// +---------------------------------------------------------------+
    /// |                port_unicast_rcv_pkts (64 bits)                |
    /// +---------------------------------------------------------------+
    /// |               port_multicast_xmit_pkts (64 bits)              |
    /// +---------------------------------------------------------------+
    /// |               port_multicast_rcv_pkts (64 bits)               |
    /// +---------------------------------------------------------------+
    /// |                 symbol_error_counter (64 bits)                |
    /// +---------------------------------------------------------------+
    /// |             link_error_recovery_counter (64 bits)             |
    /// +---------------------------------------------------------------+
    /// |                 link_downed_counter (64 bits)                 |
    /// +---------------------------------------------------------------+
    /// |                   port_rcv_errors (64 bits)                   |
    /// +---------------------------------------------------------------+
    /// |           port_rcv_remote_physical_errors (64 bits)           |
    /// +---------------------------------------------------------------+
    /// |             port_rcv_switch_relay_errors (64 bits)            |
    /// +---------------------------------------------------------------+
    /// |                  port_xmit_discards (64 bits)                 |
    /// +---------------------------------------------------------------+
    /// |             port_xmit_constraint_errors (64 bits)             |
    /// +---------------------------------------------------------------+
    /// |              port_rcv_constraint_errors (64 bits)             |
    /// +---------------------------------------------------------------+
    /// |             local_link_integrity_errors (64 bits)             |
    /// +---------------------------------------------------------------+
    /// |           excessive_buffer_overrun_errors (64 bits)           |
    /// +---------------------------------------------------------------+
    /// |                     vl15_dropped (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                    port_xmit_wait (64 bits)                   |
    /// +---------------------------------------------------------------+
    /// |                     qp1_dropped (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    PortCountersExtended "PortCountersExtended", 184 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8 ["infiniband.portcounters_ext.portselect"],
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16 ["infiniband.portcounters_ext.counterselect"],
        /// Which other counters are set.
        counter_select2 with_counter_select2: 32 as Hex32,
        /// Words of four bytes that were sent.
        port_xmit_data with_port_xmit_data: 64 as u64 ["infiniband.portcounters_ext.portxmitdata"],
        /// Words of four bytes that came.
        port_rcv_data with_port_rcv_data: 64 as u64 ["infiniband.portcounters_ext.portrcvdata"],
        /// Packets that were sent.
        port_xmit_pkts with_port_xmit_pkts: 64 as u64 ["infiniband.portcounters_ext.portxmitpkts"],
        /// Packets that came.
        port_rcv_pkts with_port_rcv_pkts: 64 as u64 ["infiniband.portcounters_ext.portrcvpkts"],
        /// Unicast packets that were sent.
        port_unicast_xmit_pkts with_port_unicast_xmit_pkts: 64 as u64 ["infiniband.portcounters_ext.portunicastxmitpkts"],
        /// Unicast packets that came.
        port_unicast_rcv_pkts with_port_unicast_rcv_pkts: 64 as u64 ["infiniband.portcounters_ext.portunicastrcvpkts"],
        /// Multicast packets that were sent.
        port_multicast_xmit_pkts with_port_multicast_xmit_pkts: 64 as u64 ["infiniband.portcounters_ext.portmulticastxmitpkts"],
        /// Multicast packets that came.
        port_multicast_rcv_pkts with_port_multicast_rcv_pkts: 64 as u64 ["infiniband.portcounters_ext.portmulticastrcvpkts"],
        /// Symbol errors.
        symbol_error_counter with_symbol_error_counter: 64 as u64,
        /// Times that the link recovered by itself.
        link_error_recovery_counter with_link_error_recovery_counter: 64 as u64,
        /// Times that it did not, and went down.
        link_downed_counter with_link_downed_counter: 64 as u64,
        /// Packets that came with an error.
        port_rcv_errors with_port_rcv_errors: 64 as u64,
        /// Packets that came marked as bad.
        port_rcv_remote_physical_errors with_port_rcv_remote_physical_errors: 64 as u64,
        /// Packets that came and could not be forwarded.
        port_rcv_switch_relay_errors with_port_rcv_switch_relay_errors: 64 as u64,
        /// Packets that were dropped before they could be sent.
        port_xmit_discards with_port_xmit_discards: 64 as u64,
        /// Packets that were not sent: partition, or raw.
        port_xmit_constraint_errors with_port_xmit_constraint_errors: 64 as u64,
        /// Packets that came and were dropped: partition, or raw.
        port_rcv_constraint_errors with_port_rcv_constraint_errors: 64 as u64,
        /// Times that physical errors were too many.
        local_link_integrity_errors with_local_link_integrity_errors: 64 as u64,
        /// Times that buffers ran over.
        excessive_buffer_overrun_errors with_excessive_buffer_overrun_errors: 64 as u64,
        /// Management packets that were dropped.
        vl15_dropped with_vl15_dropped: 64 as u64,
        /// Ticks in which something waited, and nothing could be sent.
        port_xmit_wait with_port_xmit_wait: 64 as u64,
        /// Packets to queue pair 1 that were dropped.
        qp1_dropped with_qp1_dropped: 64 as u64,
    }
}

header! {
    /// The manufacturer in classes 0x30 to 0x4f (IBTA vol. 1, 16.5), behind the header of segments.
    ///
    /// ```text
    /// +---------------+-----------------------------------------------+
    /// |    reserved   |                      oui                      |
    /// +---------------+-----------------------------------------------+
    /// ```
    VendorOui "vendor OUI", 4 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The manufacturer.
        oui with_oui: 24 as Hex32,
    }
}
