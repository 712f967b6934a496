//! Lustre's network over RDMA (o2iblnd).

use super::{Bits, Hex16, Hex32, Hex64, Le, Opaque, RKey, Show, VirtualAddress};

number! {
    /// What a message of LNet is.
    LnetType(u8) as Show::Named(|v| Some(match v {
        0xc0 => "CONNREQ", 0xc1 => "CONNACK", 0xd0 => "NOOP", 0xd1 => "IMMEDIATE", 0xd2 => "PUT_REQ", 0xd3 => "PUT_NAK",
        0xd4 => "PUT_ACK", 0xd5 => "PUT_DONE", 0xd6 => "GET_REQ", 0xd7 => "GET_DONE", _ => return None,
    }))
}

impl LnetType {
    /// A connection is asked for; in the private data of a REQ.
    pub const CONNREQ: LnetType = LnetType(0xc0);
    /// It is accepted; in the private data of a REP.
    pub const CONNACK: LnetType = LnetType(0xc1);
    /// Data in the message itself.
    pub const IMMEDIATE: LnetType = LnetType(0xd1);
    /// Data is offered.
    pub const PUT_REQ: LnetType = LnetType(0xd2);
    /// It is not wanted.
    pub const PUT_NAK: LnetType = LnetType(0xd3);
    /// Where it shall be written.
    pub const PUT_ACK: LnetType = LnetType(0xd4);
    /// It was written.
    pub const PUT_DONE: LnetType = LnetType(0xd5);
    /// Data is wanted.
    pub const GET_REQ: LnetType = LnetType(0xd6);
    /// It was written.
    pub const GET_DONE: LnetType = LnetType(0xd7);

    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

number! {
    /// What a message of Portals is.
    PortalsType(u32) as Show::Named(|v| Some(match v { 0 => "ACK", 1 => "PUT", 2 => "GET", 3 => "REPLY", 4 => "HELLO", _ => return None }))
}

impl PortalsType {
    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

/// Identifier of a host in LNet: its network above, its IPv4 address below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LnetNid(pub u64);

bits!(LnetNid as Show::Hex => Opaque, u64: LnetNid, |nid: LnetNid| nid.0;);

header! {
    /// Header of messages of Lustre over RDMA (Lustre's `o2iblnd-idl.h`). Numbers are in the order of the sender: that of x86 and Arm.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             magic                             |
    /// +-------------------------------+---------------+---------------+
    /// |            version            |  message_type |    credits    |
    /// +-------------------------------+---------------+---------------+
    /// |                             length                            |
    /// +---------------------------------------------------------------+
    /// |                            checksum                           |
    /// +---------------------------------------------------------------+
    /// |                       src_nid (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                      src_stamp (64 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                       dst_nid (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                      dst_stamp (64 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    Lnet "LNet", 48 bytes {
        /// 0x0be91b91.
        magic with_magic: 32 as Le<Hex32>,
        /// 0x11 or 0x12.
        version with_version: 16 as Le<Hex16>,
        /// What it is.
        message_type with_message_type: 8 as LnetType,
        /// Messages that the other side may send.
        credits with_credits: 8 as u8,
        /// Bytes of the message.
        length with_length: 32 as Le<u32>,
        /// Its checksum; 0: none.
        checksum with_checksum: 32 as Le<Hex32>,
        /// The sender's identifier.
        src_nid with_src_nid: 64 as Le<LnetNid>,
        /// Since when the sender runs.
        src_stamp with_src_stamp: 64 as Le<Hex64>,
        /// The receiver's identifier.
        dst_nid with_dst_nid: 64 as Le<LnetNid>,
        /// Since when the receiver runs.
        dst_stamp with_dst_stamp: 64 as Le<Hex64>,
    }
}

header! {
    /// Header of messages of Lustre over RDMA of senders whose most significant byte comes first.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             magic                             |
    /// +-------------------------------+---------------+---------------+
    /// |            version            |  message_type |    credits    |
    /// +-------------------------------+---------------+---------------+
    /// |                             length                            |
    /// +---------------------------------------------------------------+
    /// |                            checksum                           |
    /// +---------------------------------------------------------------+
    /// |                       src_nid (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                      src_stamp (64 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                       dst_nid (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                      dst_stamp (64 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    LnetBig "LNet, big-endian", 48 bytes {
        /// 0x0be91b91.
        magic with_magic: 32 as Hex32,
        /// 0x11 or 0x12.
        version with_version: 16 as Hex16,
        /// What it is.
        message_type with_message_type: 8 as LnetType,
        /// Messages that the other side may send.
        credits with_credits: 8 as u8,
        /// Bytes of the message.
        length with_length: 32 as u32,
        /// Its checksum; 0: none.
        checksum with_checksum: 32 as Hex32,
        /// The sender's identifier.
        src_nid with_src_nid: 64 as LnetNid,
        /// Since when the sender runs.
        src_stamp with_src_stamp: 64 as Hex64,
        /// The receiver's identifier.
        dst_nid with_dst_nid: 64 as LnetNid,
        /// Since when the receiver runs.
        dst_stamp with_dst_stamp: 64 as Hex64,
    }
}

header! {
    /// What a connection may do (Lustre's `o2iblnd-idl.h`).
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |          queue_depth          |         max_fragments         |
    /// +-------------------------------+-------------------------------+
    /// |                        max_message_size                       |
    /// +---------------------------------------------------------------+
    /// ```
    LnetParameters "LNet connection parameters", 8 bytes {
        /// Messages that may be under way.
        queue_depth with_queue_depth: 16 as Le<u16>,
        /// Pieces of memory of a message.
        max_fragments with_max_fragments: 16 as Le<u16>,
        /// Bytes of a message.
        max_message_size with_max_message_size: 32 as Le<u32>,
    }
}

header! {
    /// What a connection may do (Lustre's `o2iblnd-idl.h`), of a sender whose most significant byte comes first.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |          queue_depth          |         max_fragments         |
    /// +-------------------------------+-------------------------------+
    /// |                        max_message_size                       |
    /// +---------------------------------------------------------------+
    /// ```
    LnetParametersBig "LNet connection parameters, big-endian", 8 bytes {
        /// Messages that may be under way.
        queue_depth with_queue_depth: 16 as u16,
        /// Pieces of memory of a message.
        max_fragments with_max_fragments: 16 as u16,
        /// Bytes of a message.
        max_message_size with_max_message_size: 32 as u32,
    }
}

header! {
    /// Header of Portals in a message (Lustre's `o2iblnd-idl.h`).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                       dst_nid (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                       src_nid (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                            dst_pid                            |
    /// +---------------------------------------------------------------+
    /// |                            src_pid                            |
    /// +---------------------------------------------------------------+
    /// |                          portals_type                         |
    /// +---------------------------------------------------------------+
    /// |                         payload_length                        |
    /// +---------------------------------------------------------------+
    /// |                        body (320 bits)                        |
    /// +---------------------------------------------------------------+
    /// ```
    LnetHeader "LNet header", 72 bytes {
        /// Where it goes in the end.
        dst_nid with_dst_nid: 64 as Le<LnetNid>,
        /// Where it comes from.
        src_nid with_src_nid: 64 as Le<LnetNid>,
        /// Process that it is for.
        dst_pid with_dst_pid: 32 as Le<u32>,
        /// Process that it is from.
        src_pid with_src_pid: 32 as Le<u32>,
        /// What it is.
        portals_type with_portals_type: 32 as Le<PortalsType>,
        /// Bytes of its data.
        payload_length with_payload_length: 32 as Le<u32>,
        /// What it says, by its type.
        body with_body: 320 as Opaque<40>,
    }
}

header! {
    /// Number of a transfer (Lustre's `o2iblnd-idl.h`).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        cookie (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// ```
    LnetCookie "LNet cookie", 8 bytes {
        /// The number, as who asked has it.
        cookie with_cookie: 64 as Le<Hex64>,
    }
}

header! {
    /// Where the data of a PUT shall be written (Lustre's `o2iblnd-idl.h`).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                      src_cookie (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                      dst_cookie (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    LnetPutAck "LNet PUT_ACK", 16 bytes {
        /// Number of the transfer, as who asked has it.
        src_cookie with_src_cookie: 64 as Le<Hex64>,
        /// The same, as the receiver has it.
        dst_cookie with_dst_cookie: 64 as Le<Hex64>,
    }
}

header! {
    /// Memory for data, by pieces (Lustre's `o2iblnd-idl.h`).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             r_key                             |
    /// +---------------------------------------------------------------+
    /// |                           fragments                           |
    /// +---------------------------------------------------------------+
    /// ```
    LnetMemory "LNet memory", 8 bytes {
        /// Its key.
        r_key with_r_key: 32 as Le<RKey>,
        /// How many pieces.
        fragments with_fragments: 32 as Le<u32>,
    }
}

header! {
    /// Memory for data, by pieces (Lustre's `o2iblnd-idl.h`), of a sender whose most significant byte comes first.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             r_key                             |
    /// +---------------------------------------------------------------+
    /// |                           fragments                           |
    /// +---------------------------------------------------------------+
    /// ```
    LnetMemoryBig "LNet memory, big-endian", 8 bytes {
        /// Its key.
        r_key with_r_key: 32 as RKey,
        /// How many pieces.
        fragments with_fragments: 32 as u32,
    }
}

header! {
    /// A piece of memory (Lustre's `o2iblnd-idl.h`).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             length                            |
    /// +---------------------------------------------------------------+
    /// |                          va (64 bits)                         |
    /// +---------------------------------------------------------------+
    /// ```
    LnetFragment "LNet fragment", 12 bytes {
        /// Its bytes.
        length with_length: 32 as Le<u32>,
        /// Where it begins.
        va with_va: 64 as Le<VirtualAddress>,
    }
}

header! {
    /// A piece of memory (Lustre's `o2iblnd-idl.h`), of a sender whose most significant byte comes first.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             length                            |
    /// +---------------------------------------------------------------+
    /// |                          va (64 bits)                         |
    /// +---------------------------------------------------------------+
    /// ```
    LnetFragmentBig "LNet fragment, big-endian", 12 bytes {
        /// Its bytes.
        length with_length: 32 as u32,
        /// Where it begins.
        va with_va: 64 as VirtualAddress,
    }
}

header! {
    /// What became of a transfer (Lustre's `o2iblnd-idl.h`).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        cookie (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                             status                            |
    /// +---------------------------------------------------------------+
    /// ```
    LnetCompletion "LNet completion", 12 bytes {
        /// Number of the transfer.
        cookie with_cookie: 64 as Le<Hex64>,
        /// Bytes; a negative number: an error of Linux.
        status with_status: 32 as Le<Hex32>,
    }
}

header! {
    /// What became of a transfer (Lustre's `o2iblnd-idl.h`), of a sender whose most significant byte comes first.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        cookie (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                             status                            |
    /// +---------------------------------------------------------------+
    /// ```
    LnetCompletionBig "LNet completion, big-endian", 12 bytes {
        /// Number of the transfer: as it came, so that its bytes are in the order of who asked.
        cookie with_cookie: 64 as Le<Hex64>,
        /// Bytes; a negative number: an error of Linux.
        status with_status: 32 as Hex32,
    }
}
