//! IP over InfiniBand (RFC 4391, RFC 4755): what a datagram or a message of a connection carries. The headers of IP in it have kinds of their own: they are
//! part of a payload, and no network header of the packet.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::{Ecn, EtherType, Hex8, Hex16, IpProtocol, Qpn, Show};

header! {
    /// Header of IP over InfiniBand (RFC 4391, 6).
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |           EtherType           |           reserved            |
    /// +-------------------------------+-------------------------------+
    /// ```
    IpoibHeader "IPoIB datagram", 4 bytes {
        /// What follows.
        ether_type with_ether_type: 16 as EtherType ["ipoib.type"],
        /// Reserved: 0.
        reserved with_reserved: 16 as Hex16 ["ipoib.reserved"],
    }
}

number! {
    /// What a message of address resolution is.
    ArpOperation(u16) as Show::Named(|v| match v { 1 => Some("request"), 2 => Some("reply"), _ => None })
}

header! {
    /// Address resolution over InfiniBand (RFC 4391, 9.1.1; RFC 826): link addresses are flags, a queue pair and a GID.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------------------------------+-------------------------------+
    /// |         hardware type         |         protocol type         |
    /// +---------------+---------------+-------------------------------+
    /// | hardware len  | protocol len  |           operation           |
    /// +---------------+---------------+-------------------------------+
    /// |     flags     |               sender's queue pair             |
    /// +---------------+-----------------------------------------------+
    /// |                     sender's GID (128 bits)                   |
    /// +---------------------------------------------------------------+
    /// |                     sender's IPv4 address                     |
    /// +---------------+-----------------------------------------------+
    /// |     flags     |               target's queue pair             |
    /// +---------------+-----------------------------------------------+
    /// |                     target's GID (128 bits)                   |
    /// +---------------------------------------------------------------+
    /// |                     target's IPv4 address                     |
    /// +---------------------------------------------------------------+
    /// ```
    IpoibArp "ARP over InfiniBand", 56 bytes {
        /// 32: InfiniBand.
        hardware with_hardware: 16 as u16 ["arp.hw.type"],
        /// 0x0800: IPv4.
        protocol with_protocol: 16 as EtherType ["arp.proto.type"],
        /// Bytes of a link address: 20.
        hardware_len with_hardware_len: 8 as u8 ["arp.hw.size"],
        /// Bytes of an address: 4.
        protocol_len with_protocol_len: 8 as u8 ["arp.proto.size"],
        /// Request or reply.
        operation with_operation: 16 as ArpOperation ["arp.opcode"],
        /// 0x80: the sender has connected mode.
        sender_flags with_sender_flags: 8 as Hex8,
        /// The sender's queue pair.
        sender_qp with_sender_qp: 24 as Qpn,
        /// The sender's port.
        sender_gid with_sender_gid: 128 as Ipv6Addr,
        /// The sender's address.
        sender_ip with_sender_ip: 32 as Ipv4Addr ["arp.src.proto_ipv4"],
        /// 0x80: the target has connected mode.
        target_flags with_target_flags: 8 as Hex8,
        /// The target's queue pair; 0 in a request.
        target_qp with_target_qp: 24 as Qpn,
        /// The target's port; 0 in a request.
        target_gid with_target_gid: 128 as Ipv6Addr,
        /// The address that is asked for.
        target_ip with_target_ip: 32 as Ipv4Addr ["arp.dst.proto_ipv4"],
    }
}

header! {
    /// IPv4 header in a datagram of IPoIB (RFC 791, 3.1).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+-------+-----------+---+-------------------------------+
    /// |version|  IHL  |   DSCP    |ECN|         total length          |
    /// +-------+-------+-----------+---+-------------------------------+
    /// |        identification         |  flags and fragment offset    |
    /// +---------------+---------------+-------------------------------+
    /// |      TTL      |   protocol    |        header checksum        |
    /// +---------------+---------------+-------------------------------+
    /// |                        source address                         |
    /// +---------------------------------------------------------------+
    /// |                      destination address                      |
    /// +---------------------------------------------------------------+
    /// ```
    IpoibIpv4 "IPv4 in IPoIB", 20 bytes {
        /// 4.
        version with_version: 4 as u8 ["ip.version"],
        /// Header length in words of four bytes: 5 without options.
        ihl with_ihl: 4 as u8,
        /// Differentiated services code point.
        dscp with_dscp: 6 as u8 ["ip.dsfield.dscp"],
        /// Explicit congestion notification.
        ecn with_ecn: 2 as Ecn ["ip.dsfield.ecn"],
        /// Bytes of the packet.
        total_len with_total_len: 16 as u16 ["ip.len"],
        /// Identification.
        id with_id: 16 as Hex16 ["ip.id"],
        /// Flags and fragment offset.
        fragment with_fragment: 16 as Hex16,
        /// Time to live.
        ttl with_ttl: 8 as u8 ["ip.ttl"],
        /// What follows.
        protocol with_protocol: 8 as IpProtocol ["ip.proto"],
        /// Checksum of the header.
        checksum with_checksum: 16 as Hex16 ["ip.checksum"],
        /// Source address.
        src with_src: 32 as Ipv4Addr ["ip.src"],
        /// Destination address.
        dst with_dst: 32 as Ipv4Addr ["ip.dst"],
    }
}

header! {
    /// IPv6 header in a datagram of IPoIB (RFC 8200, 3).
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
    IpoibIpv6 "IPv6 in IPoIB", 40 bytes {
        /// 6.
        version with_version: 4 as u8 ["ipv6.version"],
        /// Differentiated services code point.
        dscp with_dscp: 6 as u8 ["ipv6.tclass.dscp"],
        /// Explicit congestion notification.
        ecn with_ecn: 2 as Ecn ["ipv6.tclass.ecn"],
        /// Flow label.
        flow_label with_flow_label: 20 as u32 ["ipv6.flow"],
        /// Bytes behind this header.
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
