//! Counters of ports beside the usual ones: by lane and service level, by cause, of congestion and of fast links (IBTA vol. 1, 16.1.4; layouts as
//! rdma-core's libibmad has them).

use super::{Counts, Hex8, Hex16, Hex32, Hex64, List};

header! {
    /// What errors packets came with (IBTA vol. 1, 16.1.4.1): parts of `port_rcv_errors`.
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |   port_local_physical_errors  |   port_malformed_pkt_errors   |
    /// +-------------------------------+-------------------------------+
    /// |   port_buffer_overrun_errors  |    port_dlid_mapping_errors   |
    /// +-------------------------------+-------------------------------+
    /// |     port_vl_mapping_errors    |      port_looping_errors      |
    /// +-------------------------------+-------------------------------+
    /// ```
    PortRcvErrorDetails "PortRcvErrorDetails", 16 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Wrong check sequences, and other physical errors.
        port_local_physical_errors with_port_local_physical_errors: 16 as u16,
        /// Packets whose headers contradict each other.
        port_malformed_pkt_errors with_port_malformed_pkt_errors: 16 as u16,
        /// Packets for which no buffer was there.
        port_buffer_overrun_errors with_port_buffer_overrun_errors: 16 as u16,
        /// Packets to a LID that no port has here.
        port_dlid_mapping_errors with_port_dlid_mapping_errors: 16 as u16,
        /// Packets whose virtual lane is not the one of their service level.
        port_vl_mapping_errors with_port_vl_mapping_errors: 16 as u16,
        /// Packets that would leave by the port that they came by.
        port_looping_errors with_port_looping_errors: 16 as u16,
    }
}

header! {
    /// Why packets were dropped before they could be sent (IBTA vol. 1, 16.1.4.2): parts of `port_xmit_discards`.
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |     port_inactive_discards    |   port_neighbor_mtu_discards  |
    /// +-------------------------------+-------------------------------+
    /// |port_sw_lifetime_limit_discards|port_sw_hoq_lifetime_limit_disc|
    /// +-------------------------------+-------------------------------+
    /// ```
    PortXmitDiscardDetails "PortXmitDiscardDetails", 12 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// The port was not active.
        port_inactive_discards with_port_inactive_discards: 16 as u16,
        /// They were longer than the MTU of the link.
        port_neighbor_mtu_discards with_port_neighbor_mtu_discards: 16 as u16,
        /// They were in the switch for too long.
        port_sw_lifetime_limit_discards with_port_sw_lifetime_limit_discards: 16 as u16,
        /// They were at the head of a queue for too long.
        port_sw_hoq_lifetime_limit_discards with_port_sw_hoq_lifetime_limit_discards: 16 as u16,
    }
}

header! {
    /// What came with an operation code that the asking host chose (IBTA vol. 1, 16.1.4.3).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |                        port_op_rcv_pkts                       |
    /// +---------------------------------------------------------------+
    /// |                        port_op_rcv_data                       |
    /// +---------------------------------------------------------------+
    /// ```
    PortOpRcvCounters "PortOpRcvCounters", 12 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Packets.
        port_op_rcv_pkts with_port_op_rcv_pkts: 32 as u32,
        /// Words of four bytes.
        port_op_rcv_data with_port_op_rcv_data: 32 as u32,
    }
}

header! {
    /// Link packets of flow control (IBTA vol. 1, 16.1.4.4).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |                      port_xmit_flow_pkts                      |
    /// +---------------------------------------------------------------+
    /// |                       port_rcv_flow_pkts                      |
    /// +---------------------------------------------------------------+
    /// ```
    PortFlowCtlCounters "PortFlowCtlCounters", 12 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Those that were sent.
        port_xmit_flow_pkts with_port_xmit_flow_pkts: 32 as u32,
        /// Those that came.
        port_rcv_flow_pkts with_port_rcv_flow_pkts: 32 as u32,
    }
}

header! {
    /// Packets of the chosen operation code by virtual lane (IBTA vol. 1, 16.1.4.5).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |                 port_vl_op_packets (256 bits)                 |
    /// +---------------------------------------------------------------+
    /// ```
    PortVlOpPackets "PortVLOpPackets", 36 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Packets of lanes 0 to 15.
        port_vl_op_packets with_port_vl_op_packets: 256 as Counts<16, 32>,
    }
}

header! {
    /// Data of the chosen operation code by virtual lane (IBTA vol. 1, 16.1.4.6).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |                   port_vl_op_data (512 bits)                  |
    /// +---------------------------------------------------------------+
    /// ```
    PortVlOpData "PortVLOpData", 68 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Words of four bytes of lanes 0 to 15.
        port_vl_op_data with_port_vl_op_data: 512 as Counts<32, 64>,
    }
}

header! {
    /// Updates of flow control that were missing, by virtual lane (IBTA vol. 1, 16.1.4.7).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |              port_vl_xmit_flow_ctl_update_errors              |
    /// +---------------------------------------------------------------+
    /// ```
    PortVlXmitFlowCtlUpdateErrors "PortVLXmitFlowCtlUpdateErrors", 8 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Errors of lanes 0 to 15, two bits each.
        port_vl_xmit_flow_ctl_update_errors with_port_vl_xmit_flow_ctl_update_errors: 32 as Counts<2, 4>,
    }
}

header! {
    /// Time without credits by virtual lane (IBTA vol. 1, 16.1.4.8).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |                  port_vl_xmit_wait (256 bits)                 |
    /// +---------------------------------------------------------------+
    /// ```
    PortVlXmitWaitCounters "PortVLXmitWaitCounters", 36 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Ticks in which something waited on lanes 0 to 15, and nothing could be sent.
        port_vl_xmit_wait with_port_vl_xmit_wait: 256 as Counts<16, 32>,
    }
}

header! {
    /// Congestion of a switch by virtual lane (IBTA vol. 1, 16.1.4).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |                sw_port_vl_congestion (256 bits)               |
    /// +---------------------------------------------------------------+
    /// ```
    SwPortVlCongestion "SwPortVLCongestion", 36 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Packets of lanes 0 to 15 that were dropped, or stood at the head of a queue for too long.
        sw_port_vl_congestion with_sw_port_vl_congestion: 256 as Counts<16, 32>,
    }
}

header! {
    /// Marked packets that came (IBTA vol. 1, 16.1.4).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |                       port_pkt_rcv_fecn                       |
    /// +---------------------------------------------------------------+
    /// |                       port_pkt_rcv_becn                       |
    /// +---------------------------------------------------------------+
    /// ```
    PortRcvConCtrl "PortRcvConCtrl", 12 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Those with FECN.
        port_pkt_rcv_fecn with_port_pkt_rcv_fecn: 32 as u32,
        /// Those with BECN.
        port_pkt_rcv_becn with_port_pkt_rcv_becn: 32 as u32,
    }
}

header! {
    /// Packets with FECN that came, by service level (IBTA vol. 1, 16.1.4).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |                  port_sl_rcv_fecn (512 bits)                  |
    /// +---------------------------------------------------------------+
    /// ```
    PortSlRcvFecn "PortSLRcvFECN", 68 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Packets of service levels 0 to 15.
        port_sl_rcv_fecn with_port_sl_rcv_fecn: 512 as Counts<32, 64>,
    }
}

header! {
    /// Packets with BECN that came, by service level (IBTA vol. 1, 16.1.4).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |                  port_sl_rcv_becn (512 bits)                  |
    /// +---------------------------------------------------------------+
    /// ```
    PortSlRcvBecn "PortSLRcvBECN", 68 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Packets of service levels 0 to 15.
        port_sl_rcv_becn with_port_sl_rcv_becn: 512 as Counts<32, 64>,
    }
}

header! {
    /// Time that a port was congested (IBTA vol. 1, 16.1.4).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |                      port_xmit_time_cong                      |
    /// +---------------------------------------------------------------+
    /// ```
    PortXmitConCtrl "PortXmitConCtrl", 8 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Ticks in which the port was a root or a victim of congestion.
        port_xmit_time_cong with_port_xmit_time_cong: 32 as u32,
    }
}

header! {
    /// Time that a port was congested, by virtual lane (IBTA vol. 1, 16.1.4).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |               port_vl_xmit_time_cong (480 bits)               |
    /// +---------------------------------------------------------------+
    /// ```
    PortVlXmitTimeCong "PortVLXmitTimeCong", 64 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Ticks of lanes 0 to 14.
        port_vl_xmit_time_cong with_port_vl_xmit_time_cong: 480 as Counts<32, 60>,
    }
}

header! {
    /// Data that was sent, by service level (IBTA vol. 1, 16.1.4).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |                  port_xmit_data_sl (512 bits)                 |
    /// +---------------------------------------------------------------+
    /// ```
    PortXmitDataSl "PortXmitDataSL", 68 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Words of four bytes of service levels 0 to 15.
        port_xmit_data_sl with_port_xmit_data_sl: 512 as Counts<32, 64>,
    }
}

header! {
    /// Data that came, by service level (IBTA vol. 1, 16.1.4).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |         counter_select        |
    /// +---------------+---------------+-------------------------------+
    /// |                  port_rcv_data_sl (512 bits)                  |
    /// +---------------------------------------------------------------+
    /// ```
    PortRcvDataSl "PortRcvDataSL", 68 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Which counters are set.
        counter_select with_counter_select: 16 as Hex16,
        /// Words of four bytes of service levels 0 to 15.
        port_rcv_data_sl with_port_rcv_data_sl: 512 as Counts<32, 64>,
    }
}

header! {
    /// Errors of links of 14 Gbit/s and more by lane, and what their codes corrected (IBTA vol. 1, 16.1.4). With the Reed-Solomon code, the second list has symbols, and the last three counters are set.
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |  port_select  |           reserved2           |
    /// +---------------+---------------+-------------------------------+
    /// |                           reserved3                           |
    /// +---------------------------------------------------------------+
    /// |                    counter_select (64 bits)                   |
    /// +-------------------------------+-------------------------------+
    /// |   sync_header_error_counter   |     unknown_block_counter     |
    /// +-------------------------------+-------------------------------+
    /// |               error_detection_counter (192 bits)              |
    /// +---------------------------------------------------------------+
    /// |            fec_correctable_block_counter (384 bits)           |
    /// +---------------------------------------------------------------+
    /// |           fec_uncorrectable_block_counter (384 bits)          |
    /// +---------------------------------------------------------------+
    /// |               port_fec_correctable_block_counter              |
    /// +---------------------------------------------------------------+
    /// |              port_fec_uncorrectable_block_counter             |
    /// +---------------------------------------------------------------+
    /// |               port_fec_corrected_symbol_counter               |
    /// +---------------------------------------------------------------+
    /// ```
    PortExtendedSpeedsCounters "PortExtendedSpeedsCounters", 152 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Reserved.
        reserved2 with_reserved2: 16 as Hex16,
        /// Reserved.
        reserved3 with_reserved3: 32 as Hex32,
        /// Which counters are set.
        counter_select with_counter_select: 64 as Hex64,
        /// Wrong synchronization headers.
        sync_header_error_counter with_sync_header_error_counter: 16 as u16,
        /// Blocks of no known type.
        unknown_block_counter with_unknown_block_counter: 16 as u16,
        /// Errors that were detected, of lanes 0 to 11.
        error_detection_counter with_error_detection_counter: 192 as Counts<16, 24>,
        /// Blocks that were corrected, of lanes 0 to 11; symbols, with the Reed-Solomon code.
        fec_correctable_block_counter with_fec_correctable_block_counter: 384 as Counts<32, 48>,
        /// Blocks that could not be corrected, of lanes 0 to 11.
        fec_uncorrectable_block_counter with_fec_uncorrectable_block_counter: 384 as Counts<32, 48>,
        /// Blocks that were corrected, of the port.
        port_fec_correctable_block_counter with_port_fec_correctable_block_counter: 32 as u32,
        /// Blocks that could not be corrected, of the port.
        port_fec_uncorrectable_block_counter with_port_fec_uncorrectable_block_counter: 32 as u32,
        /// Symbols that were corrected, of the port.
        port_fec_corrected_symbol_counter with_port_fec_corrected_symbol_counter: 32 as u32,
    }
}

header! {
    /// What a port shall sample, and when (IBTA vol. 1, 16.1.3.2).
    ///
    /// ```text
    /// +---------------+---------------+---------------+---------+-----+
    /// |    op_code    |  port_select  |      tick     | reserved|count|
    /// +---+-----+-----+---------------+---------------+---------+-----+
    /// |res|count|                  counter_masks1to9                  |
    /// +-+-+-----+---------------------+---------------+-----------+---+
    /// |r|     counter_masks10to14     |sample_mechanis| reserved4 |sam|
    /// +-+-----------------------------+---------------+-----------+---+
    /// |                     option_mask (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                     vendor_mask (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                          sample_start                         |
    /// +---------------------------------------------------------------+
    /// |                        sample_interval                        |
    /// +-------------------------------+-------------------------------+
    /// |              tag              |   counter_select (240 bits)   |
    /// +-------------------------------+-------------------------------+
    /// |                           reserved5                           |
    /// +---------------------------------------------------------------+
    /// |               samples_only_option_mask (64 bits)              |
    /// +---------------------------------------------------------------+
    /// ```
    PortSamplesControl "PortSamplesControl", 80 bytes {
        /// The operation code that counters may be about.
        op_code with_op_code: 8 as Hex8,
        /// The port; 255: all.
        port_select with_port_select: 8 as u8,
        /// Time from one tick to the next, by code.
        tick with_tick: 8 as Hex8,
        /// Reserved.
        reserved with_reserved: 5 as Hex8,
        /// Width of the counters, by code.
        counter_width with_counter_width: 3 as u8,
        /// Reserved.
        reserved2 with_reserved2: 2 as Hex8,
        /// What the first counter can count.
        counter_mask0 with_counter_mask0: 3 as Hex8,
        /// What the next nine can count, three bits each.
        counter_masks1to9 with_counter_masks1to9: 27 as Hex32,
        /// Reserved.
        reserved3 with_reserved3: 1 as Hex8,
        /// What the last five can count, three bits each.
        counter_masks10to14 with_counter_masks10to14: 15 as Hex16,
        /// How many can sample at once, less one.
        sample_mechanisms with_sample_mechanisms: 8 as u8,
        /// Reserved.
        reserved4 with_reserved4: 6 as Hex8,
        /// 0: complete; 1: set up, and waits; 2: samples.
        sample_status with_sample_status: 2 as u8,
        /// Which optional counters there are.
        option_mask with_option_mask: 64 as Hex64,
        /// Which counters of the manufacturer there are.
        vendor_mask with_vendor_mask: 64 as Hex64,
        /// Ticks from the setting to the first sample.
        sample_start with_sample_start: 32 as u32,
        /// Ticks that the sample has.
        sample_interval with_sample_interval: 32 as u32,
        /// Of this sample; its result has it.
        tag with_tag: 16 as Hex16,
        /// What counters 0 to 14 count.
        counter_select with_counter_select: 240 as List<16, 30>,
        /// Reserved.
        reserved5 with_reserved5: 32 as Hex32,
        /// Optional counters that can be sampled only.
        samples_only_option_mask with_samples_only_option_mask: 64 as Hex64,
    }
}

header! {
    /// What a port has sampled (IBTA vol. 1, 16.1.3.4).
    ///
    /// ```text
    /// +-------------------------------+---------------------------+---+
    /// |              tag              |          reserved         |sam|
    /// +-------------------------------+---------------------------+---+
    /// |                      counters (480 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    PortSamplesResult "PortSamplesResult", 64 bytes {
        /// Of the sample.
        tag with_tag: 16 as Hex16,
        /// Reserved.
        reserved with_reserved: 14 as Hex16,
        /// 0: complete; 1: set up, and waits; 2: samples.
        sample_status with_sample_status: 2 as u8,
        /// Counters 0 to 14.
        counters with_counters: 480 as Counts<32, 60>,
    }
}
