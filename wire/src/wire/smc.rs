//! SMC-R: TCP's data by RDMA. Its control messages are SENDs of 44 bytes; data are WRITEs.

use core::net::Ipv6Addr;

use super::{Bits, Hex8, Hex16, Hex32, Hex64, Mac, Opaque, PathMtu, Psn, Qpn, RKey, Show, VirtualAddress};

number! {
    /// What a message of SMC-R is.
    SmcType(u8) as Show::Named(|v| Some(match v {
        1 => "CONFIRM LINK", 2 => "ADD LINK", 3 => "ADD LINK CONTINUATION", 4 => "DELETE LINK", 5 => "REQUEST ADD LINK",
        6 => "CONFIRM RKEY", 7 => "TEST LINK", 8 => "CONFIRM RKEY CONTINUATION", 9 => "DELETE RKEY", 0x21 => "CONFIRM LINK (v2)",
        0x22 => "ADD LINK (v2)", 0x24 => "DELETE LINK (v2)", 0x25 => "REQUEST ADD LINK (v2)", 0x26 => "CONFIRM RKEY (v2)",
        0x27 => "TEST LINK (v2)", 0x29 => "DELETE RKEY (v2)", 0xfe => "CDC", _ => return None,
    }))
}

number! {
    /// Bytes of a message of version 2, in the sender's order of bytes: 44 to 8,192, so that it tells the order, too.
    SmcLength(u16) as Show::Decoded(|v, f| write!(f, "{} bytes", SmcLength(v as u16).bytes()))
}

impl SmcLength {
    /// The most bytes of a message.
    const MOST: u16 = 8192;

    /// How many it are.
    pub const fn bytes(self) -> u16 {
        if self.0 <= Self::MOST { self.0 } else { self.0.swap_bytes() }
    }
}

impl SmcType {
    /// Another link.
    pub const ADD_LINK: SmcType = SmcType(2);
    /// Memory that the other side may write to.
    pub const CONFIRM_RKEY: SmcType = SmcType(6);
    /// Memory that it may not write to any more.
    pub const DELETE_RKEY: SmcType = SmcType(9);
    /// Cursors of a connection.
    pub const CDC: SmcType = SmcType(0xfe);

    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }

    /// Whether it is one of version 2, whose length has two bytes.
    pub const fn is_v2(self) -> bool {
        self.0 >> 4 == 2
    }

    /// That of version 1 with the same meaning.
    pub const fn v1(self) -> SmcType {
        if self.is_v2() { SmcType(self.0 & 0xf) } else { self }
    }
}

header! {
    /// Header of messages about the links of SMC-R (the kernel's `net/smc/smc_llc.h`, RFC 7609). Requests and responses have one form.
    ///
    /// ```text
    /// +---------------+---------------+-------+-------+-+-+-+---------+
    /// |  message_type |     length    |reserve|reject_|r|r|n|  flags  |
    /// +---------------+---------------+-------+-------+-+-+-+---------+
    /// ```
    SmcLlc "SMC-R LLC", 4 bytes {
        /// What it is.
        message_type with_message_type: 8 as SmcType ["smc.llc_msg"],
        /// Bytes of the message: 44.
        length with_length: 8 as u8,
        /// Reserved.
        reserved with_reserved: 4 as Hex8,
        /// Why no link was added; 1: no other path.
        reject_reason with_reject_reason: 4 as u8,
        /// It is a response.
        response with_response: 1 as bool,
        /// No link was added; of DELETE LINK: all links of the group are meant.
        rejected with_rejected: 1 as bool,
        /// A key was refused; of DELETE LINK: it is orderly.
        negative with_negative: 1 as bool,
        /// Of CONFIRM LINK, bits 0 and 1: no eye catchers in the memory.
        flags with_flags: 5 as Hex8,
    }
}

header! {
    /// Header of messages about the links of SMC-R version 2 (the kernel's `net/smc/smc_llc.c`). Their length is in the order of bytes of the sender.
    ///
    /// ```text
    /// +---------------+-------------------------------+-+-+-+---------+
    /// |  message_type |             length            |r|r|n|  flags  |
    /// +---------------+-------------------------------+-+-+-+---------+
    /// ```
    SmcLlc2 "SMC-R LLC version 2", 4 bytes {
        /// What it is.
        message_type with_message_type: 8 as SmcType ["smc.llc_msg"],
        /// Bytes of the message: 44 to 8,192.
        length with_length: 16 as SmcLength,
        /// It is a response.
        response with_response: 1 as bool,
        /// No link was added; of DELETE LINK: all links of the group are meant.
        rejected with_rejected: 1 as bool,
        /// A key was refused; of DELETE LINK: it is orderly.
        negative with_negative: 1 as bool,
        /// Of CONFIRM LINK, bits 0 and 1: no eye catchers in the memory.
        flags with_flags: 5 as Hex8,
    }
}

header! {
    /// The ends of a link confirm it to each other (the kernel's `net/smc/smc_llc.h`, RFC 7609).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                      sender_mac (48 bits)                     |
    /// +-------------------------------+-------------------------------+
    /// |                               |     sender_gid (128 bits)     |
    /// +-------------------------------+-------------------------------+
    /// |                                                               |
    /// +-------------------------------+-------------------------------+
    /// |                               |           sender_qp           |
    /// +---------------+---------------+-------------------------------+
    /// |               |      link     |            link_uid           |
    /// +---------------+---------------+---------------+---------------+
    /// |                               |   max_links   |reserved1 (72 b|
    /// +-------------------------------+---------------+---------------+
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    SmcConfirmLink "CONFIRM LINK", 40 bytes {
        /// Address of the sender's adapter.
        sender_mac with_sender_mac: 48 as Mac ["smc.confirm.link.sender.mac"],
        /// Its GID.
        sender_gid with_sender_gid: 128 as Ipv6Addr ["smc.sender.gid"],
        /// Its queue pair.
        sender_qp with_sender_qp: 24 as Qpn ["smc.confirm.link.sender.qp.number"],
        /// Number of the link.
        link with_link: 8 as u8 ["smc.confirm.link.number"],
        /// What the sender calls the link.
        link_uid with_link_uid: 32 as Hex32 ["smc.confirm.link.sender.link.userid"],
        /// Links of a group that the sender supports.
        max_links with_max_links: 8 as u8 ["smc.confirm.link.max.links"],
        /// Reserved.
        reserved1 with_reserved1: 72 as [u8; 9],
    }
}

header! {
    /// Another link for a group (the kernel's `net/smc/smc_llc.h`, RFC 7609).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                      sender_mac (48 bits)                     |
    /// +-------------------------------+-------------------------------+
    /// |                               |           reserved1           |
    /// +-------------------------------+-------------------------------+
    /// |                     sender_gid (128 bits)                     |
    /// +-----------------------------------------------+---------------+
    /// |                   sender_qp                   |      link     |
    /// +-------+-------+-------------------------------+---------------+
    /// |reserve|  mtu  |                  initial_psn                  |
    /// +-------+-------+-----------------------------------------------+
    /// |                      reserved3 (64 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    SmcAddLink "ADD LINK", 40 bytes {
        /// Address of the sender's adapter.
        sender_mac with_sender_mac: 48 as Mac ["smc.add.link.sender.mac"],
        /// Reserved.
        reserved1 with_reserved1: 16 as Hex16,
        /// Its GID.
        sender_gid with_sender_gid: 128 as Ipv6Addr ["smc.add.link.sender.gid"],
        /// Its queue pair.
        sender_qp with_sender_qp: 24 as Qpn ["smc.add.link.sender.qp.number"],
        /// Number of the link.
        link with_link: 8 as u8 ["smc.add.link.link.number"],
        /// Reserved.
        reserved2 with_reserved2: 4 as Hex8,
        /// The path MTU.
        mtu with_mtu: 4 as PathMtu ["smc.add.link.qp.mtu.value"],
        /// First PSN of the sender.
        initial_psn with_initial_psn: 24 as Psn ["smc.add.link.initial.psn"],
        /// Reserved.
        reserved3 with_reserved3: 64 as Hex64,
    }
}

header! {
    /// A link ends (the kernel's `net/smc/smc_llc.h`, RFC 7609).
    ///
    /// ```text
    /// +---------------+-----------------------------------------------+
    /// |      link     |                     reason                    |
    /// +---------------+-----------------------------------------------+
    /// |               |              reserved1 (280 bits)             |
    /// +---------------+-----------------------------------------------+
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    SmcDeleteLink "DELETE LINK", 40 bytes {
        /// Number of the link.
        link with_link: 8 as u8 ["smc.delete.link.number"],
        /// Why.
        reason with_reason: 32 as Hex32 ["smc.delete.link.reason.code"],
        /// Reserved.
        reserved1 with_reserved1: 280 as [u8; 35],
    }
}

header! {
    /// Whether the other end is alive (the kernel's `net/smc/smc_llc.h`, RFC 7609).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                      user_data (128 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                      reserved1 (192 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    SmcTestLink "TEST LINK", 40 bytes {
        /// What the response gives back.
        user_data with_user_data: 128 as [u8; 16],
        /// Reserved.
        reserved1 with_reserved1: 192 as [u8; 24],
    }
}

header! {
    /// Memory of the sender that the receiver may write to (the kernel's `net/smc/smc_llc.h`, RFC 7609).
    ///
    /// ```text
    /// +---------------+-----------------------------------------------+
    /// |  other_links  |                     r_key                     |
    /// +---------------+-----------------------------------------------+
    /// |               |                  va (64 bits)                 |
    /// +---------------+-----------------------------------------------+
    /// |                                                               |
    /// +---------------+---------------+-------------------------------+
    /// |               |     link1     |             r_key1            |
    /// +---------------+---------------+-------------------------------+
    /// |                               |         va1 (64 bits)         |
    /// +-------------------------------+-------------------------------+
    /// |                                                               |
    /// +-------------------------------+---------------+---------------+
    /// |                               |     link2     |     r_key2    |
    /// +-------------------------------+---------------+---------------+
    /// |                                               | va2 (64 bits) |
    /// +-----------------------------------------------+---------------+
    /// |                                                               |
    /// +-----------------------------------------------+---------------+
    /// |                                               |   reserved1   |
    /// +-----------------------------------------------+---------------+
    /// ```
    SmcConfirmRkey "CONFIRM RKEY", 40 bytes {
        /// Entries for other links that follow.
        other_links with_other_links: 8 as u8 ["smc.confirm.rkey.number.qp"],
        /// Key on this link.
        r_key with_r_key: 32 as RKey ["smc.confirm.rkey.new.rkey"],
        /// Where the memory begins.
        va with_va: 64 as VirtualAddress ["smc.confirm.rkey.new.virt"],
        /// Number of another link.
        link1 with_link1: 8 as u8,
        /// Key on it.
        r_key1 with_r_key1: 32 as RKey,
        /// Where the memory begins there.
        va1 with_va1: 64 as VirtualAddress,
        /// Number of another link.
        link2 with_link2: 8 as u8,
        /// Key on it.
        r_key2 with_r_key2: 32 as RKey,
        /// Where the memory begins there.
        va2 with_va2: 64 as VirtualAddress,
        /// Reserved.
        reserved1 with_reserved1: 8 as Hex8,
    }
}

header! {
    /// Memory that the receiver may not write to any more (the kernel's `net/smc/smc_llc.h`, RFC 7609).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |     count     |   error_mask  |           reserved1           |
    /// +---------------+---------------+-------------------------------+
    /// |                       r_keys (256 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                           reserved2                           |
    /// +---------------------------------------------------------------+
    /// ```
    SmcDeleteRkey "DELETE RKEY", 40 bytes {
        /// How many keys.
        count with_count: 8 as u8 ["smc.delete.rkey.count"],
        /// In a response: which ones were not known.
        error_mask with_error_mask: 8 as Hex8 ["smc.delete.rkey.error.mask"],
        /// Reserved.
        reserved1 with_reserved1: 16 as Hex16,
        /// The keys, 32 bits each.
        r_keys with_r_keys: 256 as Opaque<32>,
        /// Reserved.
        reserved2 with_reserved2: 32 as Hex32,
    }
}

header! {
    /// Another message about links (the kernel's `net/smc/smc_llc.h`, RFC 7609).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        data (320 bits)                        |
    /// +---------------------------------------------------------------+
    /// ```
    SmcOther "SMC-R LLC message", 40 bytes {
        /// What it says.
        data with_data: 320 as Opaque<40>,
    }
}

header! {
    /// How far a connection of SMC-R has written into the receiver's memory, and read from its own (the kernel's `net/smc/smc_cdc.h`, RFC 7609).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |  message_type |     length    |            sequence           |
    /// +---------------+---------------+-------------------------------+
    /// |                             token                             |
    /// +-------------------------------+-------------------------------+
    /// |            reserved           |         producer_wrap         |
    /// +-------------------------------+-------------------------------+
    /// |                            producer                           |
    /// +-------------------------------+-------------------------------+
    /// |           reserved1           |         consumer_wrap         |
    /// +-------------------------------+-------------------------------+
    /// |                            consumer                           |
    /// +-+-+-+-+-+-----+-+-+-+---------+-------------------------------+
    /// |w|u|u|c|f|produ|d|c|a|state_fla|      reserved2 (144 bits)     |
    /// +-+-+-+-+-+-----+-+-+-+---------+-------------------------------+
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    SmcCdc "SMC-R CDC", 44 bytes {
        /// What it is: 0xfe.
        message_type with_message_type: 8 as SmcType ["smc.llc_msg"],
        /// Bytes of the message: 44.
        length with_length: 8 as u8,
        /// Number of the message.
        sequence with_sequence: 16 as u16 ["smc.rmbe.ctrl.seqno"],
        /// Which connection, as the receiver calls it.
        token with_token: 32 as Hex32 ["smc.rmbe.ctrl.alert.token"],
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// How often the writer began again.
        producer_wrap with_producer_wrap: 16 as u16 ["smc.rmbe.ctrl.prod.wrap.seq"],
        /// Where it will write next.
        producer with_producer: 32 as u32 ["smc.rmbe.ctrl.peer.prod.curs"],
        /// Reserved.
        reserved1 with_reserved1: 16 as Hex16,
        /// How often the reader began again.
        consumer_wrap with_consumer_wrap: 16 as u16,
        /// Where it will read next.
        consumer with_consumer: 32 as u32,
        /// It has no room to write.
        write_blocked with_write_blocked: 1 as bool ["smc.rmbe.ctrl.write.blocked"],
        /// Urgent data will come.
        urgent_pending with_urgent_pending: 1 as bool ["smc.rmbe.ctrl.urgent.pending"],
        /// Urgent data is there.
        urgent_present with_urgent_present: 1 as bool,
        /// It wants to know how far the other one has read.
        consumer_update_wanted with_consumer_update_wanted: 1 as bool,
        /// It asks on a new link what had come.
        failover_validation with_failover_validation: 1 as bool,
        /// Reserved.
        producer_flags with_producer_flags: 3 as Hex8,
        /// It writes no more.
        done_writing with_done_writing: 1 as bool,
        /// It has closed the connection.
        closed with_closed: 1 as bool,
        /// It has aborted the connection.
        aborted with_aborted: 1 as bool,
        /// Reserved.
        state_flags with_state_flags: 5 as Hex8,
        /// Reserved.
        reserved2 with_reserved2: 144 as [u8; 18],
    }
}
