//! Headers that mirrors and overlay networks put around a frame: GRE, ERSPAN, VXLAN, GENEVE.

use super::{EtherType, Hex8, Hex16, Hex32, Hex64, Show};

header! {
    /// GRE header (RFC 2784, RFC 2890).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-+-+-+-+-+-----+---------+-----+-------------------------------+
    /// |C|R|K|S|s|recur|  flags  | ver |         protocol type         |
    /// +-+-+-+-+-+-----+---------+-----+-------------------------------+
    /// ```
    Gre "GRE", 4 bytes {
        /// A checksum follows.
        has_checksum with_has_checksum: 1 as bool ["gre.flags.checksum"],
        /// Routing follows (RFC 1701).
        has_routing with_has_routing: 1 as bool ["gre.flags.routing"],
        /// A key follows.
        has_key with_has_key: 1 as bool ["gre.flags.key"],
        /// A sequence number follows.
        has_sequence with_has_sequence: 1 as bool ["gre.flags.sequence_number"],
        /// Strict source route (RFC 1701).
        strict_route with_strict_route: 1 as bool ["gre.flags.strict_source_route"],
        /// Recursion control (RFC 1701).
        recursion with_recursion: 3 as u8 ["gre.flags.recursion_control"],
        /// Flags.
        flags with_flags: 5 as Hex8,
        /// 0; 1 in PPTP.
        version with_version: 3 as u8 ["gre.flags.version"],
        /// What follows.
        protocol with_protocol: 16 as EtherType ["gre.proto"],
    }
}

header! {
    /// GRE checksum, present when C or R is set.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |           checksum            |           reserved            |
    /// +-------------------------------+-------------------------------+
    /// ```
    GreChecksum "GRE checksum", 4 bytes {
        /// Over the GRE header and what it carries.
        checksum with_checksum: 16 as Hex16 ["gre.checksum"],
        /// Reserved; routing offset in RFC 1701.
        offset with_offset: 16 as Hex16 ["gre.offset"],
    }
}

header! {
    /// GRE key, present when K is set. With protocol 0x6558 it is NVGRE's: 24 bits of subnet, 8 bits of flow.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                              key                              |
    /// +---------------------------------------------------------------+
    /// ```
    GreKey "GRE key", 4 bytes {
        /// The key.
        key with_key: 32 as Hex32 ["gre.key"],
    }
}

header! {
    /// GRE sequence number, present when S is set. A mirror numbers its copies: a gap means that copies were lost.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        sequence number                        |
    /// +---------------------------------------------------------------+
    /// ```
    GreSequence "GRE sequence", 4 bytes {
        /// The sequence number.
        sequence_number with_sequence_number: 32 as u32 ["gre.sequence_number"],
    }
}

header! {
    /// ERSPAN type II header (draft-foschiano-erspan, 4.2).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+-----------------------+-----+---+-+-------------------+
    /// |  ver  |         VLAN          | COS |En |T|    session ID     |
    /// +-------+-----------------------+-----+---+-+-------------------+
    /// |       reserved        |                 index                 |
    /// +-----------------------+---------------------------------------+
    /// ```
    Erspan2 "ERSPAN II", 8 bytes {
        /// 1.
        version with_version: 4 as u8 ["erspan.version"],
        /// The frame's VLAN.
        vlan with_vlan: 12 as u16 ["erspan.vlan"],
        /// Its class of service.
        cos with_cos: 3 as u8 ["erspan.cos"],
        /// The frame's tag: 0 it had none, 1 ISL, 2 removed and written here, 3 still in the frame.
        encap with_encap: 2 as u8 ["erspan.encap"],
        /// The frame was truncated.
        truncated with_truncated: 1 as bool ["erspan.truncated"],
        /// The mirror session.
        session_id with_session_id: 10 as u16 ["erspan.spanid"],
        /// Reserved.
        reserved with_reserved: 12 as Hex16,
        /// Port and direction; the platform defines it.
        index with_index: 20 as u32 ["erspan.index"],
    }
}

header! {
    /// ERSPAN type III header (draft-foschiano-erspan, 4.3).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+-----------------------+-----+---+-+-------------------+
    /// |  ver  |         VLAN          | COS |BSO|T|    session ID     |
    /// +-------+-----------------------+-----+---+-+-------------------+
    /// |                           timestamp                           |
    /// +-------------------------------+-+---------+-----------+-+---+-+
    /// |              SGT              |P|   FT    |   Hw ID   |D|Gra|O|
    /// +-------------------------------+-+---------+-----------+-+---+-+
    /// ```
    Erspan3 "ERSPAN III", 12 bytes {
        /// 2.
        version with_version: 4 as u8 ["erspan.version"],
        /// The frame's VLAN.
        vlan with_vlan: 12 as u16 ["erspan.vlan"],
        /// Its class of service.
        cos with_cos: 3 as u8 ["erspan.cos"],
        /// Bad, short or oversized: 0 good or unknown, 1 short, 2 oversized, 3 bad.
        bso with_bso: 2 as u8 ["erspan.bso"],
        /// The frame was truncated.
        truncated with_truncated: 1 as bool ["erspan.truncated"],
        /// The mirror session.
        session_id with_session_id: 10 as u16 ["erspan.spanid"],
        /// When the switch saw the frame, in units of `granularity`.
        timestamp with_timestamp: 32 as u32 ["erspan.timestamp"],
        /// Security group tag.
        sgt with_sgt: 16 as u16 ["erspan.sgt"],
        /// An Ethernet frame follows.
        ethernet with_ethernet: 1 as bool ["erspan.p"],
        /// Frame type: 0 Ethernet, 2 IP.
        frame_type with_frame_type: 5 as u8 ["erspan.ft"],
        /// The switch's hardware.
        hw_id with_hw_id: 6 as u8 ["erspan.hw"],
        /// Direction: 0 ingress, 1 egress.
        egress with_egress: 1 as bool ["erspan.direction"],
        /// Unit of the timestamp: 0 is 100 us, 1 is 100 ns, 2 is IEEE 1588, 3 is defined by the user.
        granularity with_granularity: 2 as u8 ["erspan.gra"],
        /// A platform sub-header follows.
        optional with_optional: 1 as bool ["erspan.o"],
    }
}

header! {
    /// ERSPAN III platform sub-header, present when O is set.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-----------+---------------------------------------------------+
    /// |  platform |                       info                        |
    /// +-----------+                                                   |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    ErspanPlatform "ERSPAN platform", 8 bytes {
        /// Which platform.
        platform_id with_platform_id: 6 as Hex8 ["erspan.platid"],
        /// Content, which the platform defines.
        info with_info: 58 as Hex64,
    }
}

number! {
    /// VXLAN flags.
    VxlanFlags(u8) as Show::Named(|v| (v & 8 != 0).then_some("VNI valid"))
}

header! {
    /// VXLAN header (RFC 7348, 5).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------+-----------------------------------------------+
    /// |     flags     |                   reserved                    |
    /// +---------------+-------------------------------+---------------+
    /// |                      VNI                      |   reserved    |
    /// +-----------------------------------------------+---------------+
    /// ```
    Vxlan "VXLAN", 8 bytes {
        /// 0x08: the VNI is valid.
        flags with_flags: 8 as VxlanFlags,
        /// Reserved.
        reserved with_reserved: 24 as Hex32,
        /// Virtual network identifier.
        vni with_vni: 24 as u32 ["vxlan.vni"],
        /// Reserved.
        reserved2 with_reserved2: 8 as Hex8,
    }
}

header! {
    /// GENEVE header without options (RFC 8926, 3.4).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+-+-+-----------+-------------------------------+
    /// |ver|  opt len  |O|C|   rsvd    |         protocol type         |
    /// +---+-----------+-+-+-----------+---------------+---------------+
    /// |                      VNI                      |   reserved    |
    /// +-----------------------------------------------+---------------+
    /// ```
    Geneve "GENEVE", 8 bytes {
        /// 0.
        version with_version: 2 as u8 ["geneve.version"],
        /// Length of the options in words of four bytes.
        opt_len with_opt_len: 6 as u8,
        /// A control packet.
        control with_control: 1 as bool ["geneve.flags.oam"],
        /// An option is critical.
        critical with_critical: 1 as bool ["geneve.flags.critical"],
        /// Reserved.
        reserved with_reserved: 6 as Hex8,
        /// What follows.
        protocol with_protocol: 16 as EtherType ["geneve.proto_type"],
        /// Virtual network identifier.
        vni with_vni: 24 as u32 ["geneve.vni"],
        /// Reserved.
        reserved2 with_reserved2: 8 as Hex8,
    }
}

number! {
    /// What VXLAN-GPE and NSH carry.
    NextProtocol(u8) as Show::Named(|v| match v {
        1 => Some("IPv4"), 2 => Some("IPv6"), 3 => Some("Ethernet"), 4 => Some("NSH"), 5 => Some("MPLS"), _ => None,
    })
}

impl NextProtocol {
    /// IPv4.
    pub const IPV4: NextProtocol = NextProtocol(1);
    /// IPv6.
    pub const IPV6: NextProtocol = NextProtocol(2);
    /// An Ethernet frame.
    pub const ETHERNET: NextProtocol = NextProtocol(3);
    /// A network service header.
    pub const NSH: NextProtocol = NextProtocol(4);
    /// MPLS.
    pub const MPLS: NextProtocol = NextProtocol(5);
}

header! {
    /// VXLAN-GPE header (draft-ietf-nvo3-vxlan-gpe, 3).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------+-------------------------------+---------------+
    /// |     flags     |           reserved            | next protocol |
    /// +---------------+-------------------------------+---------------+
    /// |                      VNI                      |   reserved    |
    /// +-----------------------------------------------+---------------+
    /// ```
    VxlanGpe "VXLAN-GPE", 8 bytes {
        /// 0x08: the VNI is valid; 0x04: the next protocol is.
        flags with_flags: 8 as VxlanFlags,
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// What follows.
        next_protocol with_next_protocol: 8 as NextProtocol,
        /// Virtual network identifier.
        vni with_vni: 24 as u32,
        /// Reserved.
        reserved2 with_reserved2: 8 as Hex8,
    }
}

header! {
    /// Network service header without its context (RFC 8300, 2.2).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-+-+-----------+-----------+-------+-------+---------------+
    /// |ver|O|U|    TTL    |  length   | unused|MD type| next protocol |
    /// +---+-+-+-----------+-----------+-------+-------+---------------+
    /// |                 service path                  | service index |
    /// +-----------------------------------------------+---------------+
    /// ```
    Nsh "NSH", 8 bytes {
        /// 0.
        version with_version: 2 as u8,
        /// For operation and maintenance.
        oam with_oam: 1 as bool,
        /// Not used.
        unused with_unused: 1 as bool,
        /// Time to live.
        ttl with_ttl: 6 as u8,
        /// Length of this header and its context in words of four bytes.
        length with_length: 6 as u8,
        /// Not used.
        unused2 with_unused2: 4 as u8,
        /// The form of the context: 1 has 16 bytes, 2 has any length.
        md_type with_md_type: 4 as u8,
        /// What follows.
        next_protocol with_next_protocol: 8 as NextProtocol,
        /// The path of services.
        path with_path: 24 as u32,
        /// The place on it.
        index with_index: 8 as u8,
    }
}

header! {
    /// Generic UDP encapsulation, variant 0, without its fields (draft-ietf-intarea-gue, 3.2).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-+---------+---------------+-------------------------------+
    /// |var|C| length  |   protocol    |             flags             |
    /// +---+-+---------+---------------+-------------------------------+
    /// ```
    Gue "GUE", 4 bytes {
        /// 0.
        variant with_variant: 2 as u8,
        /// A control message.
        control with_control: 1 as bool,
        /// Length of the fields that follow in words of four bytes.
        length with_length: 5 as u8,
        /// What is behind them.
        protocol with_protocol: 8 as super::IpProtocol,
        /// Which fields there are.
        flags with_flags: 16 as Hex16,
    }
}

header! {
    /// TaZmen sniffer protocol without its tags: copies of frames that a mirror sends.
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    version    |     type      |           protocol            |
    /// +---------------+---------------+-------------------------------+
    /// ```
    Tzsp "TZSP", 4 bytes {
        /// 1.
        version with_version: 8 as u8,
        /// 0 and 1: a frame that was received, or that is to be sent.
        packet_type with_packet_type: 8 as u8,
        /// What the frame is: 1 is Ethernet.
        protocol with_protocol: 16 as u16,
    }
}

header! {
    /// EtherIP (RFC 3378, 3): an Ethernet frame in IP.
    ///
    /// ```text
    /// +-------+-----------------------+
    /// |version|       reserved        |
    /// +-------+-----------------------+
    /// ```
    EtherIp "EtherIP", 2 bytes {
        /// 3.
        version with_version: 4 as u8,
        /// Reserved.
        reserved with_reserved: 12 as u16,
    }
}

header! {
    /// I-TAG of provider backbone bridges (IEEE 802.1Q, 9.7), behind EtherType 0x88e7. The customer's Ethernet frame follows.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-----+-+-+-----+-----------------------------------------------+
    /// | PCP |D|U| res |              service instance                 |
    /// +-----+-+-+-----+-----------------------------------------------+
    /// ```
    ITag "I-TAG", 4 bytes {
        /// Priority code point.
        pcp with_pcp: 3 as u8,
        /// Drop eligible.
        dei with_dei: 1 as bool,
        /// Use customer addresses.
        uca with_uca: 1 as bool,
        /// Reserved.
        reserved with_reserved: 3 as u8,
        /// Service instance identifier.
        isid with_isid: 24 as u32,
    }
}

header! {
    /// TRILL header without options (RFC 6325, 3). An Ethernet frame follows.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+---+-+---------+-----------+-------------------------------+
    /// |ver|res|M| options |   hops    |            egress             |
    /// +---+---+-+---------+-----------+-------------------------------+
    /// |            ingress            |
    /// +-------------------------------+
    /// ```
    Trill "TRILL", 6 bytes {
        /// 0.
        version with_version: 2 as u8,
        /// Reserved.
        reserved with_reserved: 2 as u8,
        /// To several destinations.
        multi with_multi: 1 as bool,
        /// Length of the options in words of four bytes.
        opt_len with_opt_len: 5 as u8,
        /// Hops that are left.
        hops with_hops: 6 as u8,
        /// The bridge that it goes to.
        egress with_egress: 16 as Hex16,
        /// The bridge that it comes from.
        ingress with_ingress: 16 as Hex16,
    }
}
