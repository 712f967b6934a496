//! SMB Direct with SMB2, RDS: messages whose numbers are little-endian, and RDS, whose are not.

use super::{Bits, Hex8, Hex16, Hex32, Hex64, Le, RKey, Show, VirtualAddress};

number! {
    /// Command of SMB2 (MS-SMB2, 2.2.1).
    Smb2Command(u16) as Show::Named(|v| Some(match v {
        0 => "NEGOTIATE", 1 => "SESSION_SETUP", 2 => "LOGOFF", 3 => "TREE_CONNECT", 4 => "TREE_DISCONNECT", 5 => "CREATE", 6 => "CLOSE",
        7 => "FLUSH", 8 => "READ", 9 => "WRITE", 10 => "LOCK", 11 => "IOCTL", 12 => "CANCEL", 13 => "ECHO", 14 => "QUERY_DIRECTORY",
        15 => "CHANGE_NOTIFY", 16 => "QUERY_INFO", 17 => "SET_INFO", 18 => "OPLOCK_BREAK", _ => return None,
    }))
}

impl Smb2Command {
    /// A file is read.
    pub const READ: Smb2Command = Smb2Command(8);
    /// A file is written.
    pub const WRITE: Smb2Command = Smb2Command(9);
    /// The files of a directory are listed.
    pub const QUERY_DIRECTORY: Smb2Command = Smb2Command(14);
    /// A request is taken back; nothing answers.
    pub const CANCEL: Smb2Command = Smb2Command(12);
    /// The server takes back what it allowed; or the client's answer to that.
    pub const OPLOCK_BREAK: Smb2Command = Smb2Command(18);

    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

number! {
    /// Status of Windows, without the prefix STATUS (MS-ERREF, 2.3.1).
    NtStatus(u32) as Show::Named(|v| Some(match v {
        0x0 => "SUCCESS", 0x103 => "PENDING", 0x10b => "NOTIFY_CLEANUP", 0x10c => "NOTIFY_ENUM_DIR", 0x80000005 => "BUFFER_OVERFLOW",
        0x80000006 => "NO_MORE_FILES", 0xc0000001 => "UNSUCCESSFUL", 0xc0000002 => "NOT_IMPLEMENTED", 0xc0000003 => "INVALID_INFO_CLASS",
        0xc0000008 => "INVALID_HANDLE", 0xc000000d => "INVALID_PARAMETER", 0xc000000f => "NO_SUCH_FILE",
        0xc0000010 => "INVALID_DEVICE_REQUEST", 0xc0000011 => "END_OF_FILE", 0xc0000016 => "MORE_PROCESSING_REQUIRED",
        0xc0000022 => "ACCESS_DENIED", 0xc0000023 => "BUFFER_TOO_SMALL", 0xc0000033 => "OBJECT_NAME_INVALID",
        0xc0000034 => "OBJECT_NAME_NOT_FOUND", 0xc0000035 => "OBJECT_NAME_COLLISION", 0xc000003a => "OBJECT_PATH_NOT_FOUND",
        0xc0000043 => "SHARING_VIOLATION", 0xc0000054 => "FILE_LOCK_CONFLICT", 0xc0000055 => "LOCK_NOT_GRANTED",
        0xc000006d => "LOGON_FAILURE", 0xc000007f => "DISK_FULL", 0xc000009a => "INSUFFICIENT_RESOURCES",
        0xc00000ba => "FILE_IS_A_DIRECTORY", 0xc00000bb => "NOT_SUPPORTED", 0xc00000c9 => "NETWORK_NAME_DELETED",
        0xc00000cc => "BAD_NETWORK_NAME", 0xc0000101 => "DIRECTORY_NOT_EMPTY", 0xc0000103 => "NOT_A_DIRECTORY",
        0xc0000120 => "CANCELLED", 0xc0000128 => "FILE_CLOSED", 0xc000019c => "FS_DRIVER_REQUIRED", 0xc0000203 => "USER_SESSION_DELETED", 0xc0000225 => "NOT_FOUND",
        0xc0000257 => "PATH_NOT_COVERED", 0xc000035c => "NETWORK_SESSION_EXPIRED", _ => return None,
    }))
}

impl NtStatus {
    /// It was carried out.
    pub const SUCCESS: NtStatus = NtStatus(0);
    /// The answer comes later.
    pub const PENDING: NtStatus = NtStatus(0x103);
    /// Another message of the same kind follows; the set-up of a session goes on.
    pub const MORE_PROCESSING_REQUIRED: NtStatus = NtStatus(0xc000_0016);
    /// A list of files has no more.
    pub const NO_MORE_FILES: NtStatus = NtStatus(0x8000_0006);
    /// A READ begins at the end of the file, or behind it.
    pub const END_OF_FILE: NtStatus = NtStatus(0xc000_0011);

    /// Its name; `None` for a number that has none here.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

header! {
    /// Negotiate request (MS-SMBD, 2.2.1). Numbers are little-endian.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |          min_version          |          max_version          |
    /// +-------------------------------+-------------------------------+
    /// |            reserved           |       credits_requested       |
    /// +-------------------------------+-------------------------------+
    /// |                      preferred_send_size                      |
    /// +---------------------------------------------------------------+
    /// |                        max_receive_size                       |
    /// +---------------------------------------------------------------+
    /// |                      max_fragmented_size                      |
    /// +---------------------------------------------------------------+
    /// ```
    SmbdNegotiateReq "SMB Direct negotiate request", 20 bytes {
        /// The lowest version.
        min_version with_min_version: 16 as Le<Hex16> ["smb_direct.version.min"],
        /// The highest version.
        max_version with_max_version: 16 as Le<Hex16> ["smb_direct.version.max"],
        /// Reserved.
        reserved with_reserved: 16 as Le<Hex16>,
        /// Messages that the sender wants to send.
        credits_requested with_credits_requested: 16 as Le<u16> ["smb_direct.credits.requested"],
        /// Bytes of a message that the sender wants to send.
        preferred_send_size with_preferred_send_size: 32 as Le<u32> ["smb_direct.preferred_send_size"],
        /// The longest message that the sender receives.
        max_receive_size with_max_receive_size: 32 as Le<u32> ["smb_direct.max_receive_size"],
        /// The longest message in several that the sender receives.
        max_fragmented_size with_max_fragmented_size: 32 as Le<u32> ["smb_direct.max_fragmented_size"],
    }
}

header! {
    /// Negotiate response (MS-SMBD, 2.2.2). Numbers are little-endian.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |          min_version          |          max_version          |
    /// +-------------------------------+-------------------------------+
    /// |       negotiated_version      |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// |       credits_requested       |        credits_granted        |
    /// +-------------------------------+-------------------------------+
    /// |                             status                            |
    /// +---------------------------------------------------------------+
    /// |                      max_read_write_size                      |
    /// +---------------------------------------------------------------+
    /// |                      preferred_send_size                      |
    /// +---------------------------------------------------------------+
    /// |                        max_receive_size                       |
    /// +---------------------------------------------------------------+
    /// |                      max_fragmented_size                      |
    /// +---------------------------------------------------------------+
    /// ```
    SmbdNegotiateRsp "SMB Direct negotiate response", 32 bytes {
        /// The lowest version.
        min_version with_min_version: 16 as Le<Hex16> ["smb_direct.version.min"],
        /// The highest version.
        max_version with_max_version: 16 as Le<Hex16> ["smb_direct.version.max"],
        /// The version.
        negotiated_version with_negotiated_version: 16 as Le<Hex16> ["smb_direct.version.negotiated"],
        /// Reserved.
        reserved with_reserved: 16 as Le<Hex16>,
        /// Messages that the sender wants to send.
        credits_requested with_credits_requested: 16 as Le<u16> ["smb_direct.credits.requested"],
        /// Messages that the other side may send.
        credits_granted with_credits_granted: 16 as Le<u16> ["smb_direct.credits.granted"],
        /// What became of it.
        status with_status: 32 as Le<NtStatus> ["smb_direct.status"],
        /// The longest READ or WRITE.
        max_read_write_size with_max_read_write_size: 32 as Le<u32> ["smb_direct.max_read_write_size"],
        /// Bytes of a message that the sender wants to send.
        preferred_send_size with_preferred_send_size: 32 as Le<u32> ["smb_direct.preferred_send_size"],
        /// The longest message that the sender receives.
        max_receive_size with_max_receive_size: 32 as Le<u32> ["smb_direct.max_receive_size"],
        /// The longest message in several that the sender receives.
        max_fragmented_size with_max_fragmented_size: 32 as Le<u32> ["smb_direct.max_fragmented_size"],
    }
}

header! {
    /// Data transfer message (MS-SMBD, 2.2.3). Numbers are little-endian.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |       credits_requested       |        credits_granted        |
    /// +-------------------------------+-------------------------------+
    /// |             flags             |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// |                        remaining_length                       |
    /// +---------------------------------------------------------------+
    /// |                          data_offset                          |
    /// +---------------------------------------------------------------+
    /// |                          data_length                          |
    /// +---------------------------------------------------------------+
    /// ```
    SmbdData "SMB Direct data transfer", 20 bytes {
        /// Messages that the sender wants to send.
        credits_requested with_credits_requested: 16 as Le<u16> ["smb_direct.credits.requested"],
        /// Messages that the other side may send.
        credits_granted with_credits_granted: 16 as Le<u16> ["smb_direct.credits.granted"],
        /// 1: an answer is wanted at once.
        flags with_flags: 16 as Le<Hex16> ["smb_direct.flags"],
        /// Reserved.
        reserved with_reserved: 16 as Le<Hex16>,
        /// Bytes of the message in the ones that follow.
        remaining_length with_remaining_length: 32 as Le<u32> ["smb_direct.remaining_length"],
        /// Where the data begins.
        data_offset with_data_offset: 32 as Le<u32> ["smb_direct.data_offset"],
        /// Bytes of data.
        data_length with_data_length: 32 as Le<u32> ["smb_direct.data_length"],
    }
}

header! {
    /// SMB2 header (MS-SMB2, 2.2.1). Numbers are little-endian.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                          protocol_id                          |
    /// +-------------------------------+-------------------------------+
    /// |         structure_size        |         credit_charge         |
    /// +-------------------------------+-------------------------------+
    /// |                             status                            |
    /// +-------------------------------+-------------------------------+
    /// |            command            |            credits            |
    /// +-------------------------------+-------------------------------+
    /// |                             flags                             |
    /// +---------------------------------------------------------------+
    /// |                          next_command                         |
    /// +---------------------------------------------------------------+
    /// |                      message_id (64 bits)                     |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                            reserved                           |
    /// +---------------------------------------------------------------+
    /// |                            tree_id                            |
    /// +---------------------------------------------------------------+
    /// |                      session_id (64 bits)                     |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                      signature (128 bits)                     |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    Smb2 "SMB2", 64 bytes {
        /// 0xfe, and SMB as text.
        protocol_id with_protocol_id: 32 as Hex32 ["smb2.protocol_id"],
        /// 64.
        structure_size with_structure_size: 16 as Le<u16> ["smb2.header_len"],
        /// Credits that it takes.
        credit_charge with_credit_charge: 16 as Le<u16> ["smb2.credit.charge"],
        /// What became of it; of requests, the channel.
        status with_status: 32 as Le<NtStatus> ["smb2.nt_status"],
        /// The command.
        command with_command: 16 as Le<Smb2Command> ["smb2.cmd"],
        /// Credits that are wanted or given.
        credits with_credits: 16 as Le<u16>,
        /// 1: a response; 2: asynchronous; 4: related to the one before.
        flags with_flags: 32 as Le<Hex32> ["smb2.flags"],
        /// Where the next command of a chain begins; 0: it is the last.
        next_command with_next_command: 32 as Le<u32> ["smb2.chain_offset"],
        /// Which command it is.
        message_id with_message_id: 64 as Le<Hex64> ["smb2.msg_id"],
        /// Reserved; of asynchronous ones, part of their number.
        reserved with_reserved: 32 as Le<Hex32>,
        /// The share.
        tree_id with_tree_id: 32 as Le<Hex32> ["smb2.tid"],
        /// The session.
        session_id with_session_id: 64 as Le<Hex64> ["smb2.sesid"],
        /// Signature.
        signature with_signature: 128 as [u8; 16],
    }
}

header! {
    /// Memory of the client that the server reads or writes (MS-SMBD, 2.2.3.1). Numbers are little-endian.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        offset (64 bits)                       |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                             token                             |
    /// +---------------------------------------------------------------+
    /// |                             length                            |
    /// +---------------------------------------------------------------+
    /// ```
    Smb2Buffer "SMB2 buffer descriptor", 16 bytes {
        /// Where the memory begins.
        offset with_offset: 64 as Le<VirtualAddress> ["smb2.buffer_descriptor.offset"],
        /// Its key.
        token with_token: 32 as Le<RKey> ["smb2.buffer_descriptor.token"],
        /// Its bytes.
        length with_length: 32 as Le<u32> ["smb2.buffer_descriptor.length"],
    }
}

header! {
    /// RDS header (the kernel's `net/rds/rds.h`), in each fragment of a message. Numbers are big-endian.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                       sequence (64 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                         ack (64 bits)                         |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                             length                            |
    /// +-------------------------------+-------------------------------+
    /// |            src_port           |            dst_port           |
    /// +---------------+---------------+-------------------------------+
    /// |     flags     |     credit    |            reserved           |
    /// +---------------+---------------+-------------------------------+
    /// |                               |            checksum           |
    /// +-------------------------------+-------------------------------+
    /// |                      extension (128 bits)                     |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    Rds "RDS", 48 bytes {
        /// Number of the message.
        sequence with_sequence: 64 as Hex64,
        /// The last message that was received.
        ack with_ack: 64 as Hex64,
        /// Bytes of the message.
        length with_length: 32 as u32,
        /// Port of the sender's socket.
        src_port with_src_port: 16 as u16,
        /// Port of the receiver's socket.
        dst_port with_dst_port: 16 as u16,
        /// 1: congestion bitmap; 2: an acknowledgement is wanted; 4: it is a retransmission.
        flags with_flags: 8 as Hex8,
        /// Messages that the other side may send.
        credit with_credit: 8 as u8,
        /// Padding.
        reserved with_reserved: 32 as Hex32,
        /// Internet checksum of the header.
        checksum with_checksum: 16 as Hex16,
        /// Extension headers.
        extension with_extension: 128 as [u8; 16],
    }
}
