//! Ethernet, VLAN tags, MPLS, and Linux's "cooked" headers, which replace Ethernet in captures on the device "any".

use super::{EtherType, Hex16, Mac, Show};

header! {
    /// Ethernet II header (IEEE 802.3, 3.2).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                      destination (48 bits)                    |
    /// |                               +-------------------------------+
    /// |                               |                               |
    /// +-------------------------------+        source (48 bits)       |
    /// |                                                               |
    /// +-------------------------------+-------------------------------+
    /// |           EtherType           |
    /// +-------------------------------+
    /// ```
    Ethernet "Ethernet", 14 bytes {
        /// Destination address.
        dst with_dst: 48 as Mac ["eth.dst"],
        /// Source address.
        src with_src: 48 as Mac ["eth.src"],
        /// What follows; below 0x0600 an IEEE 802.3 length.
        ether_type with_ether_type: 16 as EtherType ["eth.type"],
    }
}

header! {
    /// VLAN tag without its tag protocol identifier, which is the EtherType before it (IEEE 802.1Q, 9.6).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-----+-+-----------------------+-------------------------------+
    /// | PCP |D|       VLAN id         |           EtherType           |
    /// +-----+-+-----------------------+-------------------------------+
    /// ```
    Vlan "VLAN", 4 bytes {
        /// Priority code point: the class that PFC pauses where the port trusts it.
        pcp with_pcp: 3 as u8 ["vlan.priority"],
        /// Drop eligible.
        dei with_dei: 1 as bool ["vlan.dei"],
        /// VLAN identifier; 0 is a priority tag only.
        vid with_vid: 12 as u16 ["vlan.id"],
        /// What follows.
        ether_type with_ether_type: 16 as EtherType ["vlan.etype"],
    }
}

header! {
    /// MPLS label stack entry (RFC 3032, 2.1).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------+-----+-+---------------+
    /// |                 label                 | TC  |S|      TTL      |
    /// +---------------------------------------+-----+-+---------------+
    /// ```
    Mpls "MPLS", 4 bytes {
        /// The label.
        label with_label: 20 as u32 ["mpls.label"],
        /// Traffic class.
        tc with_tc: 3 as u8 ["mpls.exp"],
        /// Bottom of stack.
        bottom with_bottom: 1 as bool ["mpls.bottom"],
        /// Time to live.
        ttl with_ttl: 8 as u8 ["mpls.ttl"],
    }
}

header! {
    /// Pseudowire control word, between the last label and an Ethernet frame (RFC 4385, 3).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+-----------------------+-------------------------------+
    /// |0 0 0 0|         flags         |        sequence number        |
    /// +-------+-----------------------+-------------------------------+
    /// ```
    ControlWord "PW control word", 4 bytes {
        /// Zero; an IP packet has its version here.
        nibble with_nibble: 4 as u8,
        /// Flags, fragment bits and length.
        flags with_flags: 12 as u16,
        /// Sequence number; 0 means not used.
        sequence with_sequence: 16 as u16 ["pweth.cw.sequence_number"],
    }
}

/// A link address with room for eight bytes; of an Ethernet interface, its address and two zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinkAddress(pub [u8; 8]);

bits!(LinkAddress as Show::Bytes => LinkAddress, [u8; 8]: LinkAddress, |address: LinkAddress| address.0;);

header! {
    /// Linux "cooked" capture header, version 1 (LINKTYPE_LINUX_SLL 113).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------------------------------+-------------------------------+
    /// |          packet type          |          ARPHRD type          |
    /// +-------------------------------+-------------------------------+
    /// |        address length         |                               |
    /// +-------------------------------+     address (8 bytes)         |
    /// |                                                               |
    /// |                               +-------------------------------+
    /// |                               |           protocol            |
    /// +-------------------------------+-------------------------------+
    /// ```
    Sll "Linux cooked", 16 bytes {
        /// 0 to this host, 1 broadcast, 2 multicast, 3 to another host, 4 from this host.
        packet_type with_packet_type: 16 as u16 ["sll.pkttype"],
        /// The device's type.
        arphrd with_arphrd: 16 as u16 ["sll.hatype"],
        /// How many bytes of the address are used.
        address_len with_address_len: 16 as u16 ["sll.halen"],
        /// The sender's link address.
        address with_address: 64 as LinkAddress,
        /// What follows.
        ether_type with_ether_type: 16 as EtherType ["sll.etype"],
    }
}

header! {
    /// Linux "cooked" capture header, version 2 (LINKTYPE_LINUX_SLL2 276).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------------------------------+-------------------------------+
    /// |           protocol            |           reserved            |
    /// +-------------------------------+-------------------------------+
    /// |                        interface index                        |
    /// +-------------------------------+---------------+---------------+
    /// |          ARPHRD type          |  packet type  |address length |
    /// +-------------------------------+---------------+---------------+
    /// |                       address (8 bytes)                       |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    Sll2 "Linux cooked v2", 20 bytes {
        /// What follows.
        ether_type with_ether_type: 16 as EtherType ["sll.etype"],
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// The interface that saw the frame.
        if_index with_if_index: 32 as u32 ["sll.ifindex"],
        /// The device's type.
        arphrd with_arphrd: 16 as u16 ["sll.hatype"],
        /// 0 to this host, 1 broadcast, 2 multicast, 3 to another host, 4 from this host.
        packet_type with_packet_type: 8 as u8 ["sll.pkttype"],
        /// How many bytes of the address are used.
        address_len with_address_len: 8 as u8 ["sll.halen"],
        /// The sender's link address.
        address with_address: 64 as LinkAddress,
    }
}
