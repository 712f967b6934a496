//! The base transport header.

use super::{Hex8, Opcode, PKey, Psn, Qpn};

header! {
    /// Base transport header (IBTA vol. 1, 9.2). F and B are the congestion bits of annex A10. The whole
    /// fifth byte was reserved before; the ICRC does not cover it.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------+-+-+---+-------+-------------------------------+
    /// |    OpCode     |S|M|Pad| TVer  |            P_Key              |
    /// +-+-+-----------+-+-+---+-------+-------------------------------+
    /// |F|B|   resv6   |                    DestQP                     |
    /// +-+-+-----------+-----------------------------------------------+
    /// |A|    resv7    |                      PSN                      |
    /// +-+-------------+-----------------------------------------------+
    /// ```
    Bth "BTH", 12 bytes {
        /// The operation and the packet's place in the message; it decides which headers follow.
        opcode with_opcode: 8 as Opcode ["infiniband.bth.opcode"],
        /// Solicited event: the responder shall raise one.
        se with_se: 1 as bool ["infiniband.bth.se"],
        /// MigReq: the path migration state is "migrated".
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
        /// Reserved, covered by the ICRC.
        resv7 with_resv7: 7 as Hex8 ["infiniband.bth.reserved7"],
        /// Packet sequence number, modulo 2^24.
        psn with_psn: 24 as Psn ["infiniband.bth.psn"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // An RDMA WRITE Only that asks for an acknowledgement.
    bytes! { bth: Bth [0x0a 0x40 0xff 0xff 0x40 0x00 0x01 0x12 0x80 0x00 0x03 0xe8]
        opcode with_opcode Opcode::RC_WRITE_ONLY;
        mig_req with_mig_req true;
        p_key with_p_key PKey(0xffff);
        becn with_becn true;
        dest_qp with_dest_qp Qpn(0x112);
        ack_req with_ack_req true;
        psn with_psn Psn(1000);
    }

    bytes! { bth_of_a_padded_send: Bth [0x04 0xb0 0x12 0x34 0xbf 0xff 0xff 0xff 0x7f 0x00 0x00 0x00]
        opcode with_opcode Opcode::RC_SEND_ONLY;
        se with_se true;
        pad_cnt with_pad_cnt 3;
        p_key with_p_key PKey(0x1234);
        fecn with_fecn true;
        resv6 with_resv6 Hex8(0x3f);
        dest_qp with_dest_qp Qpn::MULTICAST;
        resv7 with_resv7 Hex8(0x7f);
    }
}
