//! IPv4, IPv6, UDP.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::{Ecn, Hex16, IpProtocol, Qpn};

header! {
    /// IPv4 header without options (RFC 791, 3.1; the second byte after RFC 2474 and RFC 3168).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+-------+-----------+---+-------------------------------+
    /// |version|  IHL  |   DSCP    |ECN|         total length          |
    /// +-------+-------+-----------+---+-+-+-+-------------------------+
    /// |        identification         |0|D|M|     fragment offset     |
    /// +---------------+---------------+-+-+-+-------------------------+
    /// |      TTL      |   protocol    |        header checksum        |
    /// +---------------+---------------+-------------------------------+
    /// |                        source address                         |
    /// +---------------------------------------------------------------+
    /// |                      destination address                      |
    /// +---------------------------------------------------------------+
    /// ```
    Ipv4 "IPv4", 20 bytes {
        /// 4.
        version with_version: 4 as u8 ["ip.version"],
        /// Header length in words of four bytes: 5 without options.
        ihl with_ihl: 4 as u8,
        /// Differentiated services code point.
        dscp with_dscp: 6 as u8 ["ip.dsfield.dscp"],
        /// Explicit congestion notification.
        ecn with_ecn: 2 as Ecn ["ip.dsfield.ecn"],
        /// Bytes of header and data.
        total_len with_total_len: 16 as u16 ["ip.len"],
        /// Identification.
        id with_id: 16 as Hex16 ["ip.id"],
        /// Reserved flag.
        reserved with_reserved: 1 as bool ["ip.flags.rb"],
        /// Do not fragment.
        df with_df: 1 as bool ["ip.flags.df"],
        /// More fragments follow.
        mf with_mf: 1 as bool ["ip.flags.mf"],
        /// Offset of this fragment, in units of eight bytes.
        fragment_offset with_fragment_offset: 13 as u16 ["ip.frag_offset"],
        /// Time to live.
        ttl with_ttl: 8 as u8 ["ip.ttl"],
        /// What follows.
        protocol with_protocol: 8 as IpProtocol ["ip.proto"],
        /// Internet checksum of the header.
        checksum with_checksum: 16 as Hex16 ["ip.checksum"],
        /// Source address.
        src with_src: 32 as Ipv4Addr ["ip.src"],
        /// Destination address.
        dst with_dst: 32 as Ipv4Addr ["ip.dst"],
    }
}

header! {
    /// IPv6 header (RFC 8200, 3).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+-----------+---+---------------------------------------+
    /// |version|   DSCP    |ECN|              flow label               |
    /// +-------+-----------+---+-------+---------------+---------------+
    /// |        payload length         |  next header  |   hop limit   |
    /// +-------------------------------+---------------+---------------+
    /// |                   source address (128 bits)                   |
    /// +---------------------------------------------------------------+
    /// |                 destination address (128 bits)                |
    /// +---------------------------------------------------------------+
    /// ```
    Ipv6 "IPv6", 40 bytes {
        /// 6.
        version with_version: 4 as u8 ["ipv6.version"],
        /// Differentiated services code point, the traffic class's upper six bits.
        dscp with_dscp: 6 as u8 ["ipv6.tclass.dscp"],
        /// Explicit congestion notification, its lower two.
        ecn with_ecn: 2 as Ecn ["ipv6.tclass.ecn"],
        /// Flow label.
        flow_label with_flow_label: 20 as u32 ["ipv6.flow"],
        /// Bytes after this header.
        payload_len with_payload_len: 16 as u16 ["ipv6.plen"],
        /// What follows.
        next_header with_next_header: 8 as IpProtocol ["ipv6.nxt"],
        /// Hop limit.
        hop_limit with_hop_limit: 8 as u8 ["ipv6.hlim"],
        /// Source address.
        src with_src: 128 as Ipv6Addr ["ipv6.src"],
        /// Destination address.
        dst with_dst: 128 as Ipv6Addr ["ipv6.dst"],
    }
}

header! {
    /// UDP header (RFC 768). RoCEv2 has destination port 4791 in both directions; the source port spreads flows over paths.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------------------------------+-------------------------------+
    /// |          source port          |       destination port        |
    /// +-------------------------------+-------------------------------+
    /// |            length             |           checksum            |
    /// +-------------------------------+-------------------------------+
    /// ```
    Udp "UDP", 8 bytes {
        /// Source port.
        src_port with_src_port: 16 as u16 ["udp.srcport"],
        /// Destination port.
        dst_port with_dst_port: 16 as u16 ["udp.dstport"],
        /// Bytes of header and data.
        length with_length: 16 as u16 ["udp.length"],
        /// Internet checksum of a pseudo header, this header and the data; 0 means not computed, which is what RoCE adapters
        /// send.
        checksum with_checksum: 16 as Hex16 ["udp.checksum"],
    }
}

impl Udp {
    /// The source port that Linux drivers use between two queue pairs, in both directions, if the application chose no flow label
    /// (include/rdma/ib_verbs.h, `rdma_calc_flow_label` and `rdma_flow_label_to_udp_sport`).
    pub const fn linux_source_port(a: Qpn, b: Qpn) -> u16 {
        let mut product = a.0 as u64 * b.0 as u64;
        product ^= product >> 20;
        product ^= product >> 40;
        let label = product as u32 & 0xf_ffff;
        (label & 0x3fff ^ label >> 14) as u16 | 0xc000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    bytes! { ipv4: Ipv4 [0x45 0x6a 0x00 0x54 0x12 0x34 0x40 0x00 0x40 0x11 0xa4 0x8c
            0xc0 0xa8 0x01 0x0a 0xc0 0xa8 0x01 0x14]
        version with_version 4;
        ihl with_ihl 5;
        dscp with_dscp 26;
        ecn with_ecn Ecn::ECT0;
        total_len with_total_len 84;
        id with_id Hex16(0x1234);
        df with_df true;
        ttl with_ttl 64;
        protocol with_protocol IpProtocol::UDP;
        checksum with_checksum Hex16(0xa48c);
        src with_src Ipv4Addr::new(192, 168, 1, 10);
        dst with_dst Ipv4Addr::new(192, 168, 1, 20);
    }

    bytes! { udp: Udp [0xc3 0x50 0x12 0xb7 0x00 0x40 0x00 0x00]
        src_port with_src_port 50_000;
        dst_port with_dst_port 4791;
        length with_length 64;
    }
}
