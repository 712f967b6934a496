//! Headers of Ultra Ethernet's (UET 1.0) packet delivery sublayer (PDS) and transport security sublayer (TSS).
//!
//! The specification was not read: these are as three public implementations have them. What they dispute is said at the header or field,
//! and is to be shown, not judged by.

use super::{AckRequest, CcType, Hex8, Hex16, Hex32, Hex64, PdsControlType, PdsNackCode, PdsNext, PdsType};

header! {
    /// Entropy header: in front of Ultra Ethernet's transport where that is in IP without UDP.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------------------------------+-------------------------------+
    /// |            entropy            |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// ```
    UetEntropy "UET entropy", 4 bytes {
        /// What UDP's source port would be: the packet's path.
        entropy with_entropy: 16 as Hex16,
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
    }
}

header! {
    /// Header of the transport security sublayer. What is behind it and its counter is encrypted.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-+-+-+-----------------------------------------------+
    /// |   type  |S|r|A|                      sdi                      |
    /// +---------+-+-+-+-----------------------------------------------+
    /// ```
    Tss "TSS", 4 bytes {
        /// 1.
        kind with_kind: 5 as PdsType,
        /// The source's number follows.
        sp with_sp: 1 as bool,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// Which of two keys.
        an with_an: 1 as u8,
        /// Secure domain.
        sdi with_sdi: 24 as Hex32,
    }
}

header! {
    /// The source within the secure domain, with the flag sp.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                              ssi                              |
    /// +---------------------------------------------------------------+
    /// ```
    TssSource "TSS source", 4 bytes {
        /// Its number.
        ssi with_ssi: 32 as Hex32,
    }
}

header! {
    /// Counter of the packets under one key.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------------------------------+-------------------------------+
    /// |             epoch             |         tsc (48 bits)         |
    /// +-------------------------------+-------------------------------+
    /// |                              tsc                              |
    /// +---------------------------------------------------------------+
    /// ```
    TssCounter "TSS counter", 8 bytes {
        /// Epoch of the key.
        epoch with_epoch: 16 as u16,
        /// Number of the packet.
        tsc with_tsc: 48 as u64,
    }
}

header! {
    /// A reliable request of the packet delivery sublayer (PDS), unordered (RUD) or ordered (ROD).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+---+-+-+-+---+-------------------------------+
    /// |   type  |  next | r |R|A|S| r |        clear_psn_offset       |
    /// +---------+-------+---+-+-+-+---+-------------------------------+
    /// |                              psn                              |
    /// +-------------------------------+-------------------------------+
    /// |             spdcid            |             dpdcid            |
    /// +-------------------------------+-------------------------------+
    /// ```
    PdsRequest "PDS request", 12 bytes {
        /// What the packet is.
        kind with_kind: 5 as PdsType,
        /// Which header of the semantic sublayer follows.
        next_header with_next_header: 4 as PdsNext,
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// It was sent before.
        retransmit with_retransmit: 1 as bool,
        /// The sender asks for an acknowledgement.
        ack_req with_ack_req: 1 as bool,
        /// The receiver has not answered on this context yet.
        syn with_syn: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// From psn to the highest PSN whose response the sender no longer needs, signed.
        clear_psn_offset with_clear_psn_offset: 16 as Hex16,
        /// Packet sequence number, modulo 2^32, of this direction of the context. Unordered packets arrive in any order.
        psn with_psn: 32 as u32,
        /// The sender's packet delivery context (PDC).
        spdcid with_spdcid: 16 as Hex16,
        /// The receiver's.
        dpdcid with_dpdcid: 16 as Hex16,
    }
}

header! {
    /// The same with syn: the receiver's context is not known yet.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+---+-+-+-+---+-------------------------------+
    /// |   type  |  next | r |R|A|S| r |        clear_psn_offset       |
    /// +---------+-------+---+-+-+-+---+-------------------------------+
    /// |                              psn                              |
    /// +-------------------------------+-+-----+-----------------------+
    /// |             spdcid            |U| rsv |       psn_offset      |
    /// +-------------------------------+-+-----+-----------------------+
    /// ```
    PdsRequestSyn "PDS request SYN", 12 bytes {
        /// What the packet is.
        kind with_kind: 5 as PdsType,
        /// Which header of the semantic sublayer follows.
        next_header with_next_header: 4 as PdsNext,
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// It was sent before.
        retransmit with_retransmit: 1 as bool,
        /// The sender asks for an acknowledgement.
        ack_req with_ack_req: 1 as bool,
        /// The receiver has not answered on this context yet.
        syn with_syn: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// From psn to the highest PSN whose response the sender no longer needs, signed.
        clear_psn_offset with_clear_psn_offset: 16 as Hex16,
        /// Packet sequence number, modulo 2^32, of this direction of the context. Unordered packets arrive in any order.
        psn with_psn: 32 as u32,
        /// The sender's packet delivery context (PDC).
        spdcid with_spdcid: 16 as Hex16,
        /// It is to be one of the contexts that are reserved.
        use_rsv_pdc with_use_rsv_pdc: 1 as bool,
        /// Reserved.
        reserved2 with_reserved2: 3 as Hex8,
        /// How many packets before this one the first PSN of the context is.
        psn_offset with_psn_offset: 12 as u16,
    }
}

header! {
    /// State of congestion of a request with credits.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------+-----------------------------------------------+
    /// |     ccc_id    |                 credit_target                 |
    /// +---------------+-----------------------------------------------+
    /// ```
    PdsRequestCc "PDS request CC", 4 bytes {
        /// Context of congestion control.
        ccc_id with_ccc_id: 8 as u8,
        /// Credits that the sender wants in all.
        credit_target with_credit_target: 24 as u32,
    }
}

header! {
    /// Acknowledgement. Its bits of the prologue are those of RUD and ROD.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+-+-+-+-+---+-+-------------------------------+
    /// |   type  |  next |E|M|R|P|req|r|         ack_psn_offset        |
    /// +---------+-------+-+-+-+-+---+-+-------------------------------+
    /// |                            cack_psn                           |
    /// +-------------------------------+-------------------------------+
    /// |             spdcid            |             dpdcid            |
    /// +-------------------------------+-------------------------------+
    /// ```
    PdsAck "PDS ACK", 12 bytes {
        /// What the packet is.
        kind with_kind: 5 as PdsType,
        /// Which header of the semantic sublayer follows.
        next_header with_next_header: 4 as PdsNext,
        /// An expected PSN follows; one source of three, reserved in the others.
        epsn with_epsn: 1 as bool,
        /// The packet that this answers came marked with congestion.
        ecn_marked with_ecn_marked: 1 as bool,
        /// It answers a retransmission.
        retransmit with_retransmit: 1 as bool,
        /// It answers a probe.
        probe with_probe: 1 as bool,
        /// What the responder asks for.
        request with_request: 2 as AckRequest,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// From cack_psn to the packet that this answers, signed; with probe, the probe's number.
        ack_psn_offset with_ack_psn_offset: 16 as Hex16,
        /// This PSN and all before it have arrived.
        cack_psn with_cack_psn: 32 as u32,
        /// The sender's packet delivery context (PDC).
        spdcid with_spdcid: 16 as Hex16,
        /// The receiver's.
        dpdcid with_dpdcid: 16 as Hex16,
    }
}

header! {
    /// What follows an acknowledgement with epsn; one source of three.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                          expected_psn                         |
    /// +---------------------------------------------------------------+
    /// ```
    PdsEpsn "PDS EPSN", 4 bytes {
        /// The PSN that the responder expects of the next context.
        expected_psn with_expected_psn: 32 as u32,
    }
}

header! {
    /// Selective acknowledgement, in acknowledgements with state of congestion.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+-------+---------------+-------------------------------+
    /// |cc_type| flags |      mpr      |        sack_psn_offset        |
    /// +-------+-------+---------------+-------------------------------+
    /// |                     sack_bitmap (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    PdsSack "PDS SACK", 12 bytes {
        /// Which state of congestion follows.
        cc_type with_cc_type: 4 as CcType,
        /// Its flags.
        cc_flags with_cc_flags: 4 as Hex8,
        /// The most packets that may be outstanding; its unit is disputed.
        mpr with_mpr: 8 as u8,
        /// From cack_psn to the PSN of the bitmap's lowest bit, signed.
        sack_psn_offset with_sack_psn_offset: 16 as Hex16,
        /// Bit i, counted from the lowest, is whether that PSN and i has arrived.
        sack_bitmap with_sack_bitmap: 64 as Hex64,
    }
}

header! {
    /// State of congestion with cc_type 0: the sender controls it by marks and delay.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------------------------------+-+-------------+---------------+
    /// |          service_time         |R|     pend    |               |
    /// +-------------------------------+-+-------------+---------------+
    /// |           rcvd_bytes          |           ooo_count           |
    /// +-------------------------------+-------------------------------+
    /// ```
    PdsNscc "PDS NSCC", 8 bytes {
        /// How long the packet that this answers took at the receiver.
        service_time with_service_time: 16 as u16,
        /// The sender may take back the window that it had.
        restore_cwnd with_restore_cwnd: 1 as bool,
        /// By how much the receiver wants the window to shrink.
        rcv_cwnd_pend with_rcv_cwnd_pend: 7 as u8,
        /// Bytes received, modulo 2^24; their unit is disputed.
        rcvd_bytes with_rcvd_bytes: 24 as u32,
        /// Packets out of order.
        ooo_count with_ooo_count: 16 as u16,
    }
}

header! {
    /// State of congestion with cc_type 1: the receiver gives credits.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-----------------------------------------------+---------------+
    /// |                     credit                    |               |
    /// +-------------------------------+---------------+---------------+
    /// |            reserved           |           ooo_count           |
    /// +-------------------------------+-------------------------------+
    /// ```
    PdsCredit "PDS credit", 8 bytes {
        /// Credits that it has given in all.
        credit with_credit: 24 as u32,
        /// Reserved.
        reserved with_reserved: 24 as Hex32,
        /// Packets out of order.
        ooo_count with_ooo_count: 16 as u16,
    }
}

header! {
    /// State of congestion with another cc_type.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                       cc_state (64 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    PdsCcOther "PDS CC state", 8 bytes {
        /// Not read.
        cc_state with_cc_state: 64 as Hex64,
    }
}

header! {
    /// Extended state of congestion of an acknowledgement. One source of three has 8 bytes.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                      ccx_state (128 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    PdsAckCcx "PDS ACK CCX", 16 bytes {
        /// Not read.
        ccx_state with_ccx_state: 128 as [u8; 16],
    }
}

header! {
    /// Negative acknowledgement.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+-+-+-+-+-----+---------------+---------------+
    /// |   type  |  next |r|M|R|I| rsv |   nack_code   |  vendor_code  |
    /// +---------+-------+-+-+-+-+-----+---------------+---------------+
    /// |                              psn                              |
    /// +-------------------------------+-------------------------------+
    /// |             spdcid            |             dpdcid            |
    /// +-------------------------------+-------------------------------+
    /// |                            payload                            |
    /// +---------------------------------------------------------------+
    /// ```
    PdsNack "PDS NACK", 16 bytes {
        /// What the packet is.
        kind with_kind: 5 as PdsType,
        /// Which header of the semantic sublayer follows.
        next_header with_next_header: 4 as PdsNext,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// The packet that this answers came marked with congestion.
        ecn_marked with_ecn_marked: 1 as bool,
        /// It answers a retransmission.
        retransmit with_retransmit: 1 as bool,
        /// It answers a request of RUDI: psn is its number.
        rudi with_rudi: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 3 as Hex8,
        /// Why.
        nack_code with_nack_code: 8 as PdsNackCode,
        /// Vendor's own reason.
        vendor_code with_vendor_code: 8 as Hex8,
        /// The packet that did not arrive, or was not taken.
        psn with_psn: 32 as u32,
        /// The sender's packet delivery context (PDC).
        spdcid with_spdcid: 16 as Hex16,
        /// The receiver's.
        dpdcid with_dpdcid: 16 as Hex16,
        /// What the code says more.
        payload with_payload: 32 as Hex32,
    }
}

header! {
    /// Extended state of congestion of a negative acknowledgement. One source of three has 8 bytes.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                      ccx_state (128 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    PdsNackCcx "PDS NACK CCX", 16 bytes {
        /// Not read.
        ccx_state with_ccx_state: 128 as [u8; 16],
    }
}

header! {
    /// Control packet.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+-+-+-+-+-+---+-------------------------------+
    /// |   type  |  ctl  |r|O|R|A|S| r |          probe_opaque         |
    /// +---------+-------+-+-+-+-+-+---+-------------------------------+
    /// |                              psn                              |
    /// +-------------------------------+-------------------------------+
    /// |             spdcid            |             dpdcid            |
    /// +-------------------------------+-------------------------------+
    /// |                            payload                            |
    /// +---------------------------------------------------------------+
    /// ```
    PdsControl "PDS control", 16 bytes {
        /// 11.
        kind with_kind: 5 as PdsType,
        /// What it is for.
        control_type with_control_type: 4 as PdsControlType,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// The context is ordered.
        isrod with_isrod: 1 as bool,
        /// It was sent before.
        retransmit with_retransmit: 1 as bool,
        /// The sender asks for an acknowledgement.
        ack_req with_ack_req: 1 as bool,
        /// The receiver has not answered on this context yet.
        syn with_syn: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// Of a probe: its number, which the answer has.
        probe_opaque with_probe_opaque: 16 as Hex16,
        /// Packet sequence number, modulo 2^32, of this direction of the context. Unordered packets arrive in any order.
        psn with_psn: 32 as u32,
        /// The sender's packet delivery context (PDC).
        spdcid with_spdcid: 16 as Hex16,
        /// The receiver's.
        dpdcid with_dpdcid: 16 as Hex16,
        /// Depends on the type: credits, for example.
        payload with_payload: 32 as Hex32,
    }
}

header! {
    /// The same with syn: the receiver's context is not known yet.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+-+-+-+-+-+---+-------------------------------+
    /// |   type  |  ctl  |r|O|R|A|S| r |          probe_opaque         |
    /// +---------+-------+-+-+-+-+-+---+-------------------------------+
    /// |                              psn                              |
    /// +-------------------------------+-+-----+-----------------------+
    /// |             spdcid            |U| rsv |       psn_offset      |
    /// +-------------------------------+-+-----+-----------------------+
    /// |                            payload                            |
    /// +---------------------------------------------------------------+
    /// ```
    PdsControlSyn "PDS control SYN", 16 bytes {
        /// 11.
        kind with_kind: 5 as PdsType,
        /// What it is for.
        control_type with_control_type: 4 as PdsControlType,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// The context is ordered.
        isrod with_isrod: 1 as bool,
        /// It was sent before.
        retransmit with_retransmit: 1 as bool,
        /// The sender asks for an acknowledgement.
        ack_req with_ack_req: 1 as bool,
        /// The receiver has not answered on this context yet.
        syn with_syn: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// Of a probe: its number, which the answer has.
        probe_opaque with_probe_opaque: 16 as Hex16,
        /// Packet sequence number, modulo 2^32, of this direction of the context. Unordered packets arrive in any order.
        psn with_psn: 32 as u32,
        /// The sender's packet delivery context (PDC).
        spdcid with_spdcid: 16 as Hex16,
        /// It is to be one of the contexts that are reserved.
        use_rsv_pdc with_use_rsv_pdc: 1 as bool,
        /// Reserved.
        reserved2 with_reserved2: 3 as Hex8,
        /// How many packets before this one the first PSN of the context is.
        psn_offset with_psn_offset: 12 as u16,
        /// Depends on the type: credits, for example.
        payload with_payload: 32 as Hex32,
    }
}

header! {
    /// Request or response of the unordered delivery of idempotent operations (RUDI). It has no context.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+-+-+-+-------+-------------------------------+
    /// |   type  |  next |r|M|R|  rsv  |            reserved           |
    /// +---------+-------+-+-+-+-------+-------------------------------+
    /// |                             pkt_id                            |
    /// +---------------------------------------------------------------+
    /// ```
    PdsRudi "PDS RUDI", 8 bytes {
        /// What the packet is.
        kind with_kind: 5 as PdsType,
        /// Which header of the semantic sublayer follows.
        next_header with_next_header: 4 as PdsNext,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// Of a response: the request came marked with congestion.
        ecn_marked with_ecn_marked: 1 as bool,
        /// It was sent before.
        retransmit with_retransmit: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 4 as Hex8,
        /// Reserved.
        reserved2 with_reserved2: 16 as Hex16,
        /// Number of the request, which the response has too.
        pkt_id with_pkt_id: 32 as Hex32,
    }
}

header! {
    /// Request of the unreliable delivery (UUD).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+-------------+-------------------------------+
    /// |   type  |  next |     rsv     |            reserved           |
    /// +---------+-------+-------------+-------------------------------+
    /// ```
    PdsUud "PDS UUD", 4 bytes {
        /// What the packet is.
        kind with_kind: 5 as PdsType,
        /// Which header of the semantic sublayer follows.
        next_header with_next_header: 4 as PdsNext,
        /// Reserved.
        reserved with_reserved: 7 as Hex8,
        /// Reserved.
        reserved1 with_reserved1: 16 as Hex16,
    }
}

impl PdsRequest {
    /// The highest PSN whose response the sender no longer needs.
    pub fn clear_psn(&self) -> u32 {
        self.psn().wrapping_add(offset(self.clear_psn_offset()))
    }
}

impl PdsAck {
    /// The PSN that this answers; with [`probe`](PdsAck::probe) it answers a probe.
    pub fn ack_psn(&self) -> u32 {
        self.cack_psn().wrapping_add(offset(self.ack_psn_offset()))
    }
}

impl PdsSack {
    /// The PSN of the bitmap's lowest bit, where the acknowledgement has this cumulative PSN.
    pub fn first(&self, cack_psn: u32) -> u32 {
        cack_psn.wrapping_add(offset(self.sack_psn_offset()))
    }
}

/// A signed offset, to be added modulo 2^32.
fn offset(field: Hex16) -> u32 {
    field.0 as i16 as i32 as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    // A RUD request with a standard request that asks for an acknowledgement.
    bytes! { pds_request: PdsRequest [0x11 0x98 0xff 0xfe 0x98 0x76 0x54 0x32 0x34 0x56 0x9a 0xbc]
        kind with_kind PdsType::RUD_REQUEST;
        next_header with_next_header PdsNext(3);
        retransmit with_retransmit true;
        ack_req with_ack_req true;
        clear_psn_offset with_clear_psn_offset Hex16(0xfffe);
        psn with_psn 0x9876_5432;
        spdcid with_spdcid Hex16(0x3456);
        dpdcid with_dpdcid Hex16(0x9abc);
    }

    bytes! { pds_request_syn: PdsRequestSyn [0x19 0x94 0x12 0x34 0x98 0x76 0x54 0x32 0x34 0x56 0x80 0x76]
        kind with_kind PdsType::ROD_REQUEST;
        next_header with_next_header PdsNext(3);
        retransmit with_retransmit true;
        syn with_syn true;
        clear_psn_offset with_clear_psn_offset Hex16(0x1234);
        psn with_psn 0x9876_5432;
        spdcid with_spdcid Hex16(0x3456);
        use_rsv_pdc with_use_rsv_pdc true;
        psn_offset with_psn_offset 0x76;
    }

    bytes! { pds_ack: PdsAck [0x42 0x32 0xff 0xff 0x24 0x68 0xac 0xe0 0x34 0x56 0x78 0x9a]
        kind with_kind PdsType(8);
        next_header with_next_header PdsNext(4);
        ecn_marked with_ecn_marked true;
        retransmit with_retransmit true;
        request with_request AckRequest(1);
        ack_psn_offset with_ack_psn_offset Hex16(0xffff);
        cack_psn with_cack_psn 0x2468_ace0;
        spdcid with_spdcid Hex16(0x3456);
        dpdcid with_dpdcid Hex16(0x789a);
    }

    bytes! { pds_sack: PdsSack [0x10 0x87 0x00 0x01 0x80 0x00 0x00 0x00 0x00 0x00 0x00 0x02]
        cc_type with_cc_type CcType(1);
        mpr with_mpr 0x87;
        sack_psn_offset with_sack_psn_offset Hex16(1);
        sack_bitmap with_sack_bitmap Hex64(1 << 63 | 2);
    }

    bytes! { pds_nscc: PdsNscc [0x99 0xaa 0xff 0x88 0x77 0x66 0x87 0x65]
        service_time with_service_time 0x99aa;
        restore_cwnd with_restore_cwnd true;
        rcv_cwnd_pend with_rcv_cwnd_pend 0x7f;
        rcvd_bytes with_rcvd_bytes 0x88_7766;
        ooo_count with_ooo_count 0x8765;
    }

    #[test]
    fn offsets_are_signed() {
        let ack = PdsAck::default().with_cack_psn(1).with_ack_psn_offset(Hex16(0xfffe));
        assert_eq!(ack.ack_psn(), u32::MAX);
        assert_eq!(PdsSack::default().with_sack_psn_offset(Hex16(3)).first(u32::MAX), 2);
        assert_eq!(PdsRequest::default().with_psn(5).with_clear_psn_offset(Hex16(0xffff)).clear_psn(), 4);
    }
}
