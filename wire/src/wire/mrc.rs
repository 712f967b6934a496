//! Headers of the Multipath Reliable Connection (OCP MRC 1.0). The specification was not read: these are as independent public
//! implementations of it have them. What they dispute is said at the field, and is to be shown, not judged by.

use super::{Hex8, Hex16, Hex32, Hex64, Opcode, PKey, Psn, Qpn, Show, Transport};

/// The UDP port that the specification names once as a default, perhaps with a digit turned. MRC has RoCEv2's port too: operation codes tell
/// the two apart.
pub const MRC_PORT: u16 = 4971;

number! {
    /// Operation code of MRC: the upper three bits are 110.
    MrcOpcode(u8) as Show::Named(|v| Opcode::of(Transport::Mrc, v as u8).name())
}

number! {
    /// Reason of a NACK.
    NackReason(u8) as Show::Named(|v| match v {
        0x01 => Some("trimmed"),
        0x02 => Some("trimmed at the last hop"),
        0x06 => Some("no bitmap"),
        0x07 => Some("no packet buffer"),
        0x0a => Some("no resource"),
        0x0b => Some("PSN out of window"),
        0x19 => Some("unexpected event"),
        _ => None,
    })
}

impl NackReason {
    /// A switch cut the packet to its headers.
    pub const TRIMMED: NackReason = NackReason(1);
    /// The last switch, before the receiver, did.
    pub const TRIMMED_LAST_HOP: NackReason = NackReason(2);
}

number! {
    /// What a SACK says of the path of the packet that it acknowledges.
    PathMark(u8) as Show::Named(|v| match v {
        0 => Some("none"),
        1 => Some("skip once"),
        2 => Some("skip always"),
        _ => None,
    })
}

number! {
    /// What an endpoint request is.
    EndpointOp(u8) as Show::Named(|v| match v {
        0 => Some("port status update"),
        1 => Some("probe of an entropy value"),
        _ => None,
    })
}

header! {
    /// Base transport header as MRC has it: RoCE's, with two flags more in byte 8.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------+-+-+---+-------+-------------------------------+
    /// |    OpCode     |S|M|Pad| TVer  |            P_Key              |
    /// +-+-+-----------+-+-+---+-------+-------------------------------+
    /// |F|B|   resv6   |                    DestQP                     |
    /// +-+-+-+-+-------+-----------------------------------------------+
    /// |A|r|X|T| resv4 |                      PSN                      |
    /// +-+-+-+-+-------+-----------------------------------------------+
    /// ```
    MrcBth "MRC BTH", 12 bytes {
        /// The operation and the packet's place in the message; it decides which headers follow.
        opcode with_opcode: 8 as MrcOpcode ["infiniband.bth.opcode"],
        /// Solicited event: the responder shall raise one.
        se with_se: 1 as bool ["infiniband.bth.se"],
        /// MigReq, as RoCE has it.
        mig_req with_mig_req: 1 as bool ["infiniband.bth.m"],
        /// Bytes of padding between payload and ICRC, 0 to 3.
        pad_cnt with_pad_cnt: 2 as u8 ["infiniband.bth.padcnt"],
        /// Transport header version: 0.
        tver with_tver: 4 as u8 ["infiniband.bth.tver"],
        /// Partition key.
        p_key with_p_key: 16 as PKey ["infiniband.bth.p_key"],
        /// Forward congestion: the packet passed a congestion point.
        fecn with_fecn: 1 as bool,
        /// Backward congestion: the receiver of this packet should slow down.
        becn with_becn: 1 as bool,
        /// Reserved, not covered by the ICRC.
        resv6 with_resv6: 6 as Hex8,
        /// Destination queue pair.
        dest_qp with_dest_qp: 24 as Qpn ["infiniband.bth.destqp"],
        /// The requester asks for an acknowledgement of this packet.
        ack_req with_ack_req: 1 as bool ["infiniband.bth.a"],
        /// Reserved. One implementation of three has RTX here.
        resv1 with_resv1: 1 as bool,
        /// This packet was sent before: a retransmission.
        rtx with_rtx: 1 as bool,
        /// A TSETH follows.
        ts with_ts: 1 as bool,
        /// Reserved.
        resv4 with_resv4: 4 as Hex8,
        /// Packet sequence number, modulo 2^24, of the connection. Packets arrive in any order.
        psn with_psn: 24 as Psn ["infiniband.bth.psn"],
    }
}

header! {
    /// Message extended header: it is in each packet of a WRITE.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |            rq_msn             |              msn              |
    /// +-------------------------------+-------------------------------+
    /// ```
    Meth "METH", 4 bytes {
        /// Number of the message among those that take a receive buffer.
        rq_msn with_rq_msn: 16 as u16,
        /// Number of the message.
        msn with_msn: 16 as u16,
    }
}

header! {
    /// Time stamp extended header: there with the BTH's TS flag.
    ///
    /// ```text
    /// +-------------------------------+-+---------------------+-------+
    /// |         tx_timestamp          |R|       reserved      | ftype |
    /// +-------------------------------+-+---------------------+-------+
    /// ```
    Tseth "TSETH", 4 bytes {
        /// When it was sent, in units of 128 ns, or of the sender's own with tsr. It wraps every 8.39 ms.
        tx_timestamp with_tx_timestamp: 16 as u16,
        /// The unit is the sender's own.
        tsr with_tsr: 1 as bool,
        /// Reserved.
        reserved with_reserved: 11 as Hex16,
        /// Kind of time stamp: 1.
        ftype with_ftype: 4 as u8,
    }
}

header! {
    /// SACK extended header: which packets have arrived.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+---------+---+-----+-+-+-------------------------------+
    /// | type  |  next   | m | rsv |P|r|        ack_psn_offset         |
    /// +-------+---------+---+-----+-+-+-------------------------------+
    /// |                            entropy                            |
    /// +-------------------------------+-------------------------------+
    /// |            spdcid             |            dpdcid             |
    /// +---------------+---------------+-------------------------------+
    /// |   reserved    |                    cack_psn                   |
    /// +-------+-------+---------------+-------------------------------+
    /// |cc_type|cc_flag|      mpr      |          sack_offset          |
    /// +-------+-------+---------------+-------------------------------+
    /// |                    sack_bitmap (64 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    Seth "SETH", 28 bytes {
        /// Type.
        kind with_kind: 4 as u8,
        /// What follows.
        next with_next: 5 as u8,
        /// What the sender shall do with the path of the packet that this answers: 1 it came ECN-marked, skip the path once; 2 skip it always.
        m with_m: 2 as PathMark,
        /// Reserved.
        reserved with_reserved: 3 as Hex8,
        /// It answers a probe.
        pr with_pr: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 1 as bool,
        /// From cack_psn to the packet that this answers, signed; with pr, the probe's number.
        ack_psn_offset with_ack_psn_offset: 16 as Hex16,
        /// Entropy value of the packet that this answers.
        entropy with_entropy: 32 as Hex32,
        /// Sender's context of delivery.
        spdcid with_spdcid: 16 as Hex16,
        /// Receiver's.
        dpdcid with_dpdcid: 16 as Hex16,
        /// Reserved.
        reserved2 with_reserved2: 8 as Hex8,
        /// This PSN and all before it have arrived.
        cack_psn with_cack_psn: 24 as Psn,
        /// Which congestion state follows: 0 is that of CC_STATE.
        cc_type with_cc_type: 4 as u8,
        /// Its flags.
        cc_flags with_cc_flags: 4 as Hex8,
        /// Receive window, in units of 128 packets.
        mpr with_mpr: 8 as u8,
        /// From cack_psn to the PSN of the bitmap's lowest bit, signed; 1 or more.
        sack_offset with_sack_offset: 16 as Hex16,
        /// Bit i, counted from the lowest, is whether PSN cack_psn + sack_offset + i has arrived.
        sack_bitmap with_sack_bitmap: 64 as Hex64,
    }
}

impl Seth {
    /// The PSN that this answers; with [`pr`](Seth::pr) it answers a probe, which has none.
    pub fn ack_psn(&self) -> Psn {
        self.cack_psn().plus(offset(self.ack_psn_offset()))
    }

    /// The PSN of the bitmap's lowest bit.
    pub fn sack_psn(&self) -> Psn {
        self.cack_psn().plus(offset(self.sack_offset()))
    }
}

/// A signed offset, to be added modulo 2^24.
fn offset(field: Hex16) -> u32 {
    field.0 as i16 as i32 as u32
}

header! {
    /// State of congestion, as the receiver of data says it; meaningful with cc_type 0.
    ///
    /// ```text
    /// +-------------------------------+-+-----------------------------+
    /// |         tx_timestamp          |r|          ooo_count          |
    /// +-+-------------+---------------+-+-----------------------------+
    /// |R|rcv_cwnd_pen |                   rcvd_bytes                  |
    /// +-+-------------+-----------------------------------------------+
    /// ```
    CcState "CC_STATE", 8 bytes {
        /// Time stamp of the packet that this answers, echoed.
        tx_timestamp with_tx_timestamp: 16 as u16,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// Packets out of order; what it counts exactly is disputed.
        ooo_count with_ooo_count: 15 as u16,
        /// The sender may take back the window that it had.
        restore_cwnd with_restore_cwnd: 1 as bool,
        /// By how much the receiver wants the window to shrink.
        rcv_cwnd_penalty with_rcv_cwnd_penalty: 7 as u8,
        /// Bytes received, in units of 256.
        rcvd_bytes with_rcvd_bytes: 24 as u32,
    }
}

header! {
    /// NACK extended header: a packet that did not arrive whole, and why.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+---------+-------------+---------------+---------------+
    /// | type  |  next   |  reserved   |    reason     |    vendor     |
    /// +-------+---------+-------------+---------------+---------------+
    /// |                            entropy                            |
    /// +-------------------------------+-------------------------------+
    /// |            spdcid             |            dpdcid             |
    /// +---------------+---------------+-------------------------------+
    /// |   reserved    |                    nack_psn                   |
    /// +-------+-------+---------------+-------------------------------+
    /// |cc_type|cc_flag|   reserved    |         tx_timestamp          |
    /// +-------+-------+---------------+-------------------------------+
    /// ```
    Neth "NETH", 20 bytes {
        /// Type.
        kind with_kind: 4 as u8,
        /// What follows.
        next with_next: 5 as u8,
        /// Reserved.
        reserved with_reserved: 7 as Hex8,
        /// Why.
        reason with_reason: 8 as NackReason,
        /// Vendor's own reason.
        vendor with_vendor: 8 as Hex8,
        /// Entropy value of the packet.
        entropy with_entropy: 32 as Hex32,
        /// Sender's context of delivery.
        spdcid with_spdcid: 16 as Hex16,
        /// Receiver's.
        dpdcid with_dpdcid: 16 as Hex16,
        /// Reserved.
        reserved1 with_reserved1: 8 as Hex8,
        /// The packet's PSN.
        nack_psn with_nack_psn: 24 as Psn,
        /// Which congestion state follows: 2.
        cc_type with_cc_type: 4 as u8,
        /// Its flags.
        cc_flags with_cc_flags: 4 as Hex8,
        /// Reserved.
        reserved2 with_reserved2: 8 as Hex8,
        /// Time stamp of the packet, echoed.
        tx_timestamp with_tx_timestamp: 16 as u16,
    }
}

header! {
    /// Probe extended header: a question for the state of the receiver. It takes no PSN.
    ///
    /// ```text
    /// +-----------------------------------------------+---------------+
    /// |                    reserved                   |    vendor     |
    /// +-------------------------------+---------------+---------------+
    /// |           probe_id            |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// |            spdcid             |            dpdcid             |
    /// +-------------------------------+-+---------------------+-------+
    /// |         tx_timestamp          |R|       reserved      | ftype |
    /// +-------------------------------+-+---------------------+-------+
    /// ```
    Peth "PETH", 16 bytes {
        /// Reserved.
        reserved with_reserved: 24 as Hex32,
        /// Vendor's own.
        vendor with_vendor: 8 as Hex8,
        /// The SACK that answers has it.
        probe_id with_probe_id: 16 as Hex16,
        /// Reserved.
        reserved1 with_reserved1: 16 as Hex16,
        /// Sender's context of delivery.
        spdcid with_spdcid: 16 as Hex16,
        /// Receiver's.
        dpdcid with_dpdcid: 16 as Hex16,
        /// When it was sent.
        tx_timestamp with_tx_timestamp: 16 as u16,
        /// The unit is the sender's own.
        tsr with_tsr: 1 as bool,
        /// Reserved.
        reserved2 with_reserved2: 11 as Hex16,
        /// Kind of time stamp: 1.
        ftype with_ftype: 4 as u8,
    }
}

header! {
    /// Endpoint request extended header, to queue pair 2. The low 16 bits of the BTH's PSN are the number of a probe.
    ///
    /// ```text
    /// +---------------------------+---+---------------+---------------+
    /// |          reserved         |op |   reserved    |    vendor     |
    /// +---------------------------+---+---------------+---------------+
    /// |                        port_status_mask                       |
    /// +---------------------------------------------------------------+
    /// |                            reserved                           |
    /// +-------------------------------+-+---------------------+-------+
    /// |         tx_timestamp          |R|       reserved      | ftype |
    /// +-------------------------------+-+---------------------+-------+
    /// ```
    Erth "ERTH", 16 bytes {
        /// Reserved.
        reserved with_reserved: 14 as Hex16,
        /// What it is.
        op with_op: 2 as EndpointOp,
        /// Reserved.
        reserved1 with_reserved1: 8 as Hex8,
        /// Vendor's own.
        vendor with_vendor: 8 as Hex8,
        /// A bit for each port.
        port_status_mask with_port_status_mask: 32 as Hex32,
        /// Reserved.
        reserved2 with_reserved2: 32 as Hex32,
        /// When it was sent.
        tx_timestamp with_tx_timestamp: 16 as u16,
        /// The unit is the sender's own.
        tsr with_tsr: 1 as bool,
        /// Reserved.
        reserved3 with_reserved3: 11 as Hex16,
        /// Kind of time stamp: 1.
        ftype with_ftype: 4 as u8,
    }
}

header! {
    /// Endpoint response extended header. Where in its second byte the operation is, is disputed; most of it is not known.
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |   reserved    |    op_byte    |        unknown (26 bytes)     |
    /// +---------------+---------------+-------------------------------+
    /// |         tx_timestamp          |        unknown (6 bytes)      |
    /// +-------------------------------+-------------------------------+
    /// ```
    Eeth "EETH", 36 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The operation is in bits 5 and 4, or in 3 and 2.
        op_byte with_op_byte: 8 as Hex8,
        /// Not known.
        unknown with_unknown: 208 as [u8; 26],
        /// Time stamp of the request, echoed.
        tx_timestamp with_tx_timestamp: 16 as u16,
        /// Not known.
        unknown1 with_unknown1: 48 as [u8; 6],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A WRITE Only that is a retransmission and has a time stamp.
    bytes! { mrc_bth: MrcBth [0xca 0x40 0xff 0xff 0x00 0x00 0x01 0x12 0xb0 0x00 0x03 0xe8]
        opcode with_opcode MrcOpcode(0xca);
        mig_req with_mig_req true;
        p_key with_p_key PKey(0xffff);
        dest_qp with_dest_qp Qpn(0x112);
        ack_req with_ack_req true;
        rtx with_rtx true;
        ts with_ts true;
        psn with_psn Psn(1000);
    }

    bytes! { meth: Meth [0x00 0x03 0x01 0x02]
        rq_msn with_rq_msn 3;
        msn with_msn 0x102;
    }

    bytes! { tseth: Tseth [0x12 0x34 0x80 0x01]
        tx_timestamp with_tx_timestamp 0x1234;
        tsr with_tsr true;
        ftype with_ftype 1;
    }

    // Skip the path once; the packet is two ahead of the cumulative PSN, and so is the only one in the bitmap.
    bytes! { seth: Seth [0x10 0x28 0x00 0x02 0x00 0x01 0xc0 0x03 0x00 0x11 0x00 0x12 0x00 0x00 0x00 0x63
            0x00 0x08 0x00 0x01 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x02]
        kind with_kind 1;
        next with_next 0;
        m with_m PathMark(1);
        reserved with_reserved Hex8(2);
        ack_psn_offset with_ack_psn_offset Hex16(2);
        entropy with_entropy Hex32(0x1_c003);
        spdcid with_spdcid Hex16(0x11);
        dpdcid with_dpdcid Hex16(0x12);
        cack_psn with_cack_psn Psn(99);
        mpr with_mpr 8;
        sack_offset with_sack_offset Hex16(1);
        sack_bitmap with_sack_bitmap Hex64(2);
    }

    #[test]
    fn offsets_of_a_sack_are_signed() {
        let seth = Seth::default()
            .with_cack_psn(Psn(1))
            .with_ack_psn_offset(Hex16(0xfffe))
            .with_sack_offset(Hex16(3));
        assert_eq!((seth.ack_psn(), seth.sack_psn()), (Psn(0xff_ffff), Psn(4)));
    }

    bytes! { cc_state: CcState [0x01 0x00 0x00 0x05 0x83 0x00 0x10 0x00]
        tx_timestamp with_tx_timestamp 256;
        ooo_count with_ooo_count 5;
        restore_cwnd with_restore_cwnd true;
        rcv_cwnd_penalty with_rcv_cwnd_penalty 3;
        rcvd_bytes with_rcvd_bytes 4096;
    }

    bytes! { neth: Neth [0x20 0x00 0x02 0x00 0x00 0x00 0xc0 0x01 0x00 0x11 0x00 0x12 0x00 0x00 0x00 0x07
            0x20 0x00 0x01 0x02]
        kind with_kind 2;
        reason with_reason NackReason::TRIMMED_LAST_HOP;
        entropy with_entropy Hex32(0xc001);
        spdcid with_spdcid Hex16(0x11);
        dpdcid with_dpdcid Hex16(0x12);
        nack_psn with_nack_psn Psn(7);
        cc_type with_cc_type 2;
        tx_timestamp with_tx_timestamp 0x102;
    }

    bytes! { peth: Peth [0x00 0x00 0x00 0x00 0x00 0x2a 0x00 0x00 0x00 0x11 0x00 0x12 0x01 0x02 0x00 0x01]
        probe_id with_probe_id Hex16(42);
        spdcid with_spdcid Hex16(0x11);
        dpdcid with_dpdcid Hex16(0x12);
        tx_timestamp with_tx_timestamp 0x102;
        ftype with_ftype 1;
    }

    bytes! { erth: Erth [0x00 0x01 0x00 0x00 0x00 0x00 0x00 0x03 0x00 0x00 0x00 0x00 0x01 0x02 0x00 0x01]
        op with_op EndpointOp(1);
        port_status_mask with_port_status_mask Hex32(3);
        tx_timestamp with_tx_timestamp 0x102;
        ftype with_ftype 1;
    }
}
