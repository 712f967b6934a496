//! Native InfiniBand's link and network headers, and RoCE v1's GRH.

use core::net::Ipv6Addr;

use super::{EtherType, Hex8, Hex16, IpProtocol, Lid, Show};

number! {
    /// Link next header: what follows the LRH.
    Lnh(u8) as Show::Named(|v| Some(["raw", "raw IPv6", "IBA local", "IBA global"][v as usize & 3]))
}

impl Lnh {
    /// RWH and an EtherType.
    pub const RAW: Lnh = Lnh(0);
    /// IPv6.
    pub const IPV6: Lnh = Lnh(1);
    /// BTH.
    pub const LOCAL: Lnh = Lnh(2);
    /// GRH, then BTH.
    pub const GLOBAL: Lnh = Lnh(3);
}

header! {
    /// Local route header (IBTA vol. 1, 7.7).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+-------+-------+---+---+-------------------------------+
    /// |  VL   | LVer  |  SL   |rsv|LNH|     destination local ID      |
    /// +-------+-------+-------+---+---+-------------------------------+
    /// |reserved |    packet length    |       source local ID         |
    /// +---------+---------------------+-------------------------------+
    /// ```
    Lrh "LRH", 8 bytes {
        /// Virtual lane; 15 is management.
        vl with_vl: 4 as u8 ["infiniband.lrh.vl"],
        /// Link version: 0.
        lver with_lver: 4 as u8 ["infiniband.lrh.lver"],
        /// Service level.
        sl with_sl: 4 as u8 ["infiniband.lrh.sl"],
        /// Reserved.
        reserved2 with_reserved2: 2 as u8 ["infiniband.lrh.reserved2"],
        /// What follows.
        lnh with_lnh: 2 as Lnh ["infiniband.lrh.lnh"],
        /// Destination local identifier.
        dlid with_dlid: 16 as Lid ["infiniband.lrh.dlid"],
        /// Reserved.
        reserved5 with_reserved5: 5 as Hex8 ["infiniband.lrh.reserved5"],
        /// Words of four bytes from the first byte of this header to the last of the ICRC.
        pkt_len with_pkt_len: 11 as u16 ["infiniband.lrh.pktlen"],
        /// Source local identifier.
        slid with_slid: 16 as Lid ["infiniband.lrh.slid"],
    }
}

header! {
    /// Raw header, before a packet with an EtherType (IBTA vol. 1, 5.2.5).
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |           reserved            |           EtherType           |
    /// +-------------------------------+-------------------------------+
    /// ```
    Rwh "RWH", 4 bytes {
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// What follows.
        ether_type with_ether_type: 16 as EtherType ["infiniband.rwh.etype"],
    }
}

header! {
    /// Global route header (IBTA vol. 1, 8.3), with the layout of an IPv6 header.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+---------------+---------------------------------------+
    /// | IPVer |    TClass     |               FlowLabel               |
    /// +-------+---------------+-------+---------------+---------------+
    /// |            PayLen             |    NxtHdr     |    HopLmt     |
    /// +-------------------------------+---------------+---------------+
    /// |                        SGID (128 bits)                        |
    /// +---------------------------------------------------------------+
    /// |                        DGID (128 bits)                        |
    /// +---------------------------------------------------------------+
    /// ```
    Grh "GRH", 40 bytes {
        /// 6.
        ip_ver with_ip_ver: 4 as u8 ["infiniband.grh.ipver"],
        /// Traffic class.
        t_class with_t_class: 8 as Hex8 ["infiniband.grh.tclass"],
        /// Flow label.
        flow_label with_flow_label: 20 as u32 ["infiniband.grh.flowlabel"],
        /// Bytes from the first of the BTH to the last of the ICRC.
        pay_len with_pay_len: 16 as u16 ["infiniband.grh.paylen"],
        /// What follows: 0x1b is the BTH.
        nxt_hdr with_nxt_hdr: 8 as IpProtocol ["infiniband.grh.nxthdr"],
        /// Hop limit.
        hop_lmt with_hop_lmt: 8 as u8 ["infiniband.grh.hoplmt"],
        /// Source GID.
        sgid with_sgid: 128 as Ipv6Addr ["infiniband.grh.sgid"],
        /// Destination GID.
        dgid with_dgid: 128 as Ipv6Addr ["infiniband.grh.dgid"],
    }
}

number! {
    /// What a link packet is for.
    LinkOp(u8) as Show::Named(|v| match v { 0 => Some("normal"), 1 => Some("initialise"), _ => None })
}

header! {
    /// InfiniBand link packet: flow control (IBTA vol. 1, 7.9.4). Seen only by taps that record the link itself.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+-----------------------+-------+-----------------------+
    /// |  Op   |         FCTBS         |  VL   |         FCCL          |
    /// +-------+-----------------------+-------+-----------------------+
    /// |             LPCRC             |
    /// +-------------------------------+
    /// ```
    LinkPacket "IB link packet", 6 bytes {
        /// 0 normal flow control, 1 initialisation.
        op with_op: 4 as LinkOp ["infiniband_link.op"],
        /// Blocks of 64 bytes sent since initialisation, modulo 4096.
        fctbs with_fctbs: 12 as u16 ["infiniband_link.fctbs"],
        /// The virtual lane the credits are for.
        vl with_vl: 4 as u8 ["infiniband_link.vl"],
        /// Credit limit in blocks, modulo 4096.
        fccl with_fccl: 12 as u16 ["infiniband_link.fccl"],
        /// CRC over the four bytes before it.
        lpcrc with_lpcrc: 16 as Hex16 ["infiniband_link.lpcrc"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 19 words: LRH, BTH, 52 bytes of payload, ICRC.
    bytes! { lrh: Lrh [0x10 0x32 0x00 0x02 0x00 0x13 0x00 0x01]
        vl with_vl 1;
        sl with_sl 3;
        lnh with_lnh Lnh::LOCAL;
        dlid with_dlid Lid(2);
        pkt_len with_pkt_len 19;
        slid with_slid Lid(1);
    }

    bytes! { grh: Grh [0x6b 0x81 0x23 0x45 0x00 0x30 0x1b 0x40
            0xfe 0x80 0x00 0x00 0x00 0x00 0x00 0x00 0x02 0x00 0x00 0xff 0xfe 0x00 0x00 0x01
            0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0xff 0xff 0xc0 0xa8 0x01 0x14]
        ip_ver with_ip_ver 6;
        t_class with_t_class Hex8(0xb8);
        flow_label with_flow_label 0x1_2345;
        pay_len with_pay_len 48;
        nxt_hdr with_nxt_hdr IpProtocol::IBA;
        hop_lmt with_hop_lmt 64;
        sgid with_sgid Ipv6Addr::new(0xfe80, 0, 0, 0, 0x200, 0xff, 0xfe00, 1);
        dgid with_dgid Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0xc0a8, 0x114);
    }
}
