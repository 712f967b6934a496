//! The base transport header.

use super::{Hex8, PKey, Psn, Qpn};
use crate::opcode::Opcode;

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
