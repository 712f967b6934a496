//! Headers before what is encrypted: PSP, IPsec's ESP, MACsec. Without the key nobody can tell what is behind them.

use super::{EtherType, Hex8, Hex32, Hex64, IpProtocol};

header! {
    /// PSP (Google's PSP architecture specification, 2), behind UDP port 1000. What it carries is encrypted from `crypt_offset` words on.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------+---------------+---+-----------+-+-+-------+-+-+
    /// |  next header  |    length     |res|  offset   |S|D|version|V|1|
    /// +---------------+---------------+---+-----------+-+-+-------+-+-+
    /// |                   security parameters index                   |
    /// +---------------------------------------------------------------+
    /// |                 initialization vector (64 bits)               |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    Psp "PSP", 16 bytes {
        /// What it carries: IPv4 and IPv6 in tunnel mode, UDP or TCP in transport mode.
        next_header with_next_header: 8 as IpProtocol ["psp.next_header"],
        /// Words of eight bytes behind the first eight: 1 without a cookie.
        length with_length: 8 as u8,
        /// Reserved.
        reserved with_reserved: 2 as u8,
        /// Words of four bytes behind this header that are not encrypted.
        crypt_offset with_crypt_offset: 6 as u8,
        /// Sample at the receiver.
        sample with_sample: 1 as bool,
        /// Drop after sampling.
        drop with_drop: 1 as bool,
        /// Which cipher: 0 AES-GCM-128, 1 AES-GCM-256, 2 and 3 AES-GMAC.
        version with_version: 4 as u8,
        /// A virtualization cookie follows.
        has_cookie with_has_cookie: 1 as bool,
        /// 1.
        one with_one: 1 as bool,
        /// Security parameters index: which key.
        spi with_spi: 32 as Hex32,
        /// Initialization vector.
        iv with_iv: 64 as Hex64,
    }
}

header! {
    /// Encapsulating security payload (RFC 4303, 2), in IP or behind UDP port 4500 (RFC 3948).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                   security parameters index                   |
    /// +---------------------------------------------------------------+
    /// |                        sequence number                        |
    /// +---------------------------------------------------------------+
    /// ```
    Esp "ESP", 8 bytes {
        /// Security parameters index: which key.
        spi with_spi: 32 as Hex32 ["esp.spi"],
        /// Sequence number.
        sequence_number with_sequence_number: 32 as u32 ["esp.sequence"],
    }
}

header! {
    /// MACsec's tag (IEEE 802.1AE, 9.3), behind EtherType 0x88e5.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-+-+-+-+-+-+---+---+-----------+-------------------------------+
    /// |V|E|S|B|E|C| AN|res|  length   |         packet number         |
    /// +-+-+-+-+-+-+---+---+-----------+-------------------------------+
    /// |               …               |
    /// +-------------------------------+
    /// ```
    MacSec "MACsec", 6 bytes {
        /// 0.
        version with_version: 1 as bool ["macsec.TCI.V"],
        /// The source address is that of an end station.
        end_station with_end_station: 1 as bool ["macsec.TCI.ES"],
        /// The secure channel's identifier follows.
        has_sci with_has_sci: 1 as bool ["macsec.TCI.SC"],
        /// Single copy broadcast.
        broadcast with_broadcast: 1 as bool ["macsec.TCI.SCB"],
        /// What follows is encrypted.
        encrypted with_encrypted: 1 as bool ["macsec.TCI.E"],
        /// What follows was changed.
        changed with_changed: 1 as bool ["macsec.TCI.C"],
        /// Association number: which key.
        an with_an: 2 as u8 ["macsec.AN"],
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// Bytes of a short frame; 0 of others.
        short_length with_short_length: 6 as u8 ["macsec.SL"],
        /// Packet number.
        packet_number with_packet_number: 32 as u32 ["macsec.PN"],
    }
}

header! {
    /// Identifier of a secure channel of MACsec.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |               address of the sender (48 bits)                 |
    /// |                               +-------------------------------+
    /// |                               |             port              |
    /// +-------------------------------+-------------------------------+
    /// ```
    MacSecSci "MACsec SCI", 8 bytes {
        /// The sender.
        system with_system: 48 as super::Mac,
        /// Its port.
        port with_port: 16 as u16,
    }
}

header! {
    /// What is behind the tag of MACsec that only authenticates, and encrypts nothing.
    ///
    /// ```text
    /// +-------------------------------+
    /// |           EtherType           |
    /// +-------------------------------+
    /// ```
    MacSecClear "MACsec clear", 2 bytes {
        /// What follows.
        ether_type with_ether_type: 16 as EtherType,
    }
}
