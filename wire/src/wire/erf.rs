//! Endace's extensible record format (ERF), in which InfiniBand captures are stored.

use super::{Hex8, Hex64, Show};

number! {
    /// ERF record type, without the extension bit.
    ErfType(u8) as Show::Named(|v| Some(match v {
        2 => "Ethernet", 21 => "InfiniBand", 22 => "IPv4", 23 => "IPv6", 24 => "raw link", 25 => "InfiniBand link",
        27 => "meta", 28 => "OPA snoop", 29 => "OPA 9B", 48 => "pad", _ => return None,
    }))
}

impl ErfType {
    /// An Ethernet frame, after two more bytes of ERF.
    pub const ETHERNET: ErfType = ErfType(2);
    /// An InfiniBand packet from the LRH to the VCRC.
    pub const INFINIBAND: ErfType = ErfType(21);
    /// An IPv4 packet.
    pub const IPV4: ErfType = ErfType(22);
    /// An IPv6 packet.
    pub const IPV6: ErfType = ErfType(23);
    /// An InfiniBand link packet: flow control.
    pub const INFINIBAND_LINK: ErfType = ErfType(25);
}

header! {
    /// ERF record header. The timestamp alone is little-endian: 2^-32 s since 1970.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |              timestamp, fraction (little-endian)              |
    /// +---------------------------------------------------------------+
    /// |              timestamp, seconds (little-endian)               |
    /// +-+-------------+---------------+-------------------------------+
    /// |E|    type     |     flags     |         record length         |
    /// +-+-------------+---------------+-------------------------------+
    /// |         loss counter          |          wire length          |
    /// +-------------------------------+-------------------------------+
    /// ```
    Erf "ERF", 16 bytes {
        /// Eight bytes, least significant first.
        timestamp with_timestamp: 64 as [u8; 8],
        /// An extension header follows.
        extension with_extension: 1 as bool ["erf.types.ext_header"],
        /// What the record holds.
        record_type with_record_type: 7 as ErfType ["erf.types.type"],
        /// Capture interface (bits 1, 0), varying length, truncated, receive error.
        flags with_flags: 8 as Hex8 ["erf.flags"],
        /// Bytes of the whole record, padding included.
        record_len with_record_len: 16 as u16 ["erf.rlen"],
        /// Records lost before this one.
        lost with_lost: 16 as u16 ["erf.lctr"],
        /// Bytes of the frame on the wire.
        wire_len with_wire_len: 16 as u16 ["erf.wlen"],
    }
}

header! {
    /// ERF extension header.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-+-------------+-----------------------------------------------+
    /// |E|    type     |                    body                       |
    /// +-+-------------+                                               |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    ErfExtension "ERF extension", 8 bytes {
        /// Another one follows.
        extension with_extension: 1 as bool,
        /// Its type.
        extension_type with_extension_type: 7 as Hex8,
        /// Its content.
        body with_body: 56 as Hex64,
    }
}

header! {
    /// The two bytes between an ERF record's header and its Ethernet frame.
    ///
    /// ```text
    /// +---------------+---------------+
    /// |    offset     |      pad      |
    /// +---------------+---------------+
    /// ```
    ErfEthernet "ERF Ethernet", 2 bytes {
        /// Offset.
        offset with_offset: 8 as u8,
        /// Padding.
        pad with_pad: 8 as u8,
    }
}
