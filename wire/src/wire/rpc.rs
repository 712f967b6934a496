//! RPC over RDMA (RFC 8166), RPC (RFC 5531) and NFS (RFC 1813, 8881): big-endian, in words of four bytes (XDR).

use super::{Bits, Hex32, RKey, Show, VirtualAddress};

number! {
    /// What an RPC-over-RDMA message is (RFC 8166, 4.2.4).
    RpcRdmaProc(u32) as Show::Named(|v| Some(match v {
        0 => "RDMA_MSG", 1 => "RDMA_NOMSG", 2 => "RDMA_MSGP", 3 => "RDMA_DONE", 4 => "RDMA_ERROR", _ => return None,
    }))
}

impl RpcRdmaProc {
    /// The RPC message follows the lists of chunks.
    pub const MSG: RpcRdmaProc = RpcRdmaProc(0);
    /// The RPC message is in a chunk.
    pub const NOMSG: RpcRdmaProc = RpcRdmaProc(1);
    /// As the first, with padding; nobody sends it.
    pub const MSGP: RpcRdmaProc = RpcRdmaProc(2);
    /// All chunks were read; nobody sends it.
    pub const DONE: RpcRdmaProc = RpcRdmaProc(3);
    /// The message before was not understood.
    pub const ERROR: RpcRdmaProc = RpcRdmaProc(4);
}

number! {
    /// Why an RPC-over-RDMA message was not understood (RFC 8166, 4.5).
    RpcRdmaErrorCode(u32) as Show::Named(|v| Some(match v {
        1 => "ERR_VERS", 2 => "ERR_CHUNK", _ => return None,
    }))
}

number! {
    /// Direction of an RPC message.
    RpcType(u32) as Show::Named(|v| Some(match v {
        0 => "call", 1 => "reply", _ => return None,
    }))
}

impl RpcType {
    /// A call.
    pub const CALL: RpcType = RpcType(0);
    /// A reply.
    pub const REPLY: RpcType = RpcType(1);
}

number! {
    /// Program of RPC (IANA).
    RpcProgram(u32) as Show::Named(|v| Some(match v {
        100000 => "portmapper", 100003 => "NFS", 100005 => "mount", 100021 => "NLM", 100024 => "status", 100227 => "NFS ACL",
        1073741824 => "NFS callback", _ => return None,
    }))
}

impl RpcProgram {
    /// NFS.
    pub const NFS: RpcProgram = RpcProgram(100_003);
    /// What an NFSv4 server calls at its client, as Linux numbers it: the client chooses the number.
    pub const NFS_CALLBACK: RpcProgram = RpcProgram(0x4000_0000);

    /// Its name; `None` for a number that has none here.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

number! {
    /// How a caller says who it is (IANA).
    RpcFlavor(u32) as Show::Named(|v| Some(match v {
        0 => "AUTH_NONE", 1 => "AUTH_SYS", 2 => "AUTH_SHORT", 3 => "AUTH_DH", 6 => "RPCSEC_GSS", 7 => "AUTH_TLS", _ => return None,
    }))
}

number! {
    /// Whether a call was accepted.
    RpcReplyStat(u32) as Show::Named(|v| Some(match v {
        0 => "accepted", 1 => "denied", _ => return None,
    }))
}

impl RpcReplyStat {
    /// It was accepted.
    pub const ACCEPTED: RpcReplyStat = RpcReplyStat(0);
}

number! {
    /// What became of an accepted call (RFC 5531, 9).
    RpcAcceptStat(u32) as Show::Named(|v| Some(match v {
        0 => "success", 1 => "program unavailable", 2 => "program version mismatch", 3 => "procedure unavailable",
        4 => "garbage arguments", 5 => "system error", _ => return None,
    }))
}

impl RpcAcceptStat {
    /// It was carried out.
    pub const SUCCESS: RpcAcceptStat = RpcAcceptStat(0);

    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

number! {
    /// Procedure of NFSv3 (RFC 1813).
    Nfs3Procedure(u32) as Show::Named(|v| Some(match v {
        0 => "NULL", 1 => "GETATTR", 2 => "SETATTR", 3 => "LOOKUP", 4 => "ACCESS", 5 => "READLINK", 6 => "READ", 7 => "WRITE",
        8 => "CREATE", 9 => "MKDIR", 10 => "SYMLINK", 11 => "MKNOD", 12 => "REMOVE", 13 => "RMDIR", 14 => "RENAME", 15 => "LINK",
        16 => "READDIR", 17 => "READDIRPLUS", 18 => "FSSTAT", 19 => "FSINFO", 20 => "PATHCONF", 21 => "COMMIT", _ => return None,
    }))
}

impl Nfs3Procedure {
    /// Data is read.
    pub const READ: Nfs3Procedure = Nfs3Procedure(6);
    /// Data is written.
    pub const WRITE: Nfs3Procedure = Nfs3Procedure(7);

    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

number! {
    /// Procedure of NFSv4 (RFC 8881).
    Nfs4Procedure(u32) as Show::Named(|v| Some(match v {
        0 => "NULL", 1 => "COMPOUND", _ => return None,
    }))
}

impl Nfs4Procedure {
    /// Several operations.
    pub const COMPOUND: Nfs4Procedure = Nfs4Procedure(1);
}

number! {
    /// Operation of NFSv4 (RFC 8881, 7862, 8276).
    Nfs4Operation(u32) as Show::Named(|v| Some(match v {
        3 => "ACCESS", 4 => "CLOSE", 5 => "COMMIT", 6 => "CREATE", 7 => "DELEGPURGE", 8 => "DELEGRETURN", 9 => "GETATTR", 10 => "GETFH",
        11 => "LINK", 12 => "LOCK", 13 => "LOCKT", 14 => "LOCKU", 15 => "LOOKUP", 16 => "LOOKUPP", 17 => "NVERIFY", 18 => "OPEN",
        19 => "OPENATTR", 20 => "OPEN_CONFIRM", 21 => "OPEN_DOWNGRADE", 22 => "PUTFH", 23 => "PUTPUBFH", 24 => "PUTROOTFH", 25 => "READ",
        26 => "READDIR", 27 => "READLINK", 28 => "REMOVE", 29 => "RENAME", 30 => "RENEW", 31 => "RESTOREFH", 32 => "SAVEFH",
        33 => "SECINFO", 34 => "SETATTR", 35 => "SETCLIENTID", 36 => "SETCLIENTID_CONFIRM", 37 => "VERIFY", 38 => "WRITE",
        39 => "RELEASE_LOCKOWNER", 40 => "BACKCHANNEL_CTL", 41 => "BIND_CONN_TO_SESSION", 42 => "EXCHANGE_ID", 43 => "CREATE_SESSION",
        44 => "DESTROY_SESSION", 45 => "FREE_STATEID", 46 => "GET_DIR_DELEGATION", 47 => "GETDEVICEINFO", 48 => "GETDEVICELIST",
        49 => "LAYOUTCOMMIT", 50 => "LAYOUTGET", 51 => "LAYOUTRETURN", 52 => "SECINFO_NO_NAME", 53 => "SEQUENCE", 54 => "SET_SSV",
        55 => "TEST_STATEID", 56 => "WANT_DELEGATION", 57 => "DESTROY_CLIENTID", 58 => "RECLAIM_COMPLETE", 59 => "ALLOCATE",
        60 => "COPY", 61 => "COPY_NOTIFY", 62 => "DEALLOCATE", 63 => "IO_ADVISE", 64 => "LAYOUTERROR", 65 => "LAYOUTSTATS",
        66 => "OFFLOAD_CANCEL", 67 => "OFFLOAD_STATUS", 68 => "READ_PLUS", 69 => "SEEK", 70 => "WRITE_SAME", 71 => "CLONE",
        72 => "GETXATTR", 73 => "SETXATTR", 74 => "LISTXATTRS", 75 => "REMOVEXATTR", 10044 => "ILLEGAL", _ => return None,
    }))
}

impl Nfs4Operation {
    /// Data is read.
    pub const READ: Nfs4Operation = Nfs4Operation(25);
    /// Data is written.
    pub const WRITE: Nfs4Operation = Nfs4Operation(38);
    /// Which session, and which slot of it: each compound of NFSv4.1 begins with it.
    pub const SEQUENCE: Nfs4Operation = Nfs4Operation(53);

    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

number! {
    /// Status of NFSv3 and NFSv4, without the prefix NFS3ERR or NFS4ERR (RFC 1813, 2.6; RFC 8881, 15.1); 10008 is DELAY in NFSv4.
    NfsStatus(u32) as Show::Named(|v| Some(match v {
        0 => "OK", 1 => "PERM", 2 => "NOENT", 5 => "IO", 6 => "NXIO", 13 => "ACCESS", 17 => "EXIST", 18 => "XDEV", 19 => "NODEV",
        20 => "NOTDIR", 21 => "ISDIR", 22 => "INVAL", 27 => "FBIG", 28 => "NOSPC", 30 => "ROFS", 31 => "MLINK", 63 => "NAMETOOLONG",
        66 => "NOTEMPTY", 69 => "DQUOT", 70 => "STALE", 71 => "REMOTE", 10001 => "BADHANDLE", 10002 => "NOT_SYNC", 10003 => "BAD_COOKIE",
        10004 => "NOTSUPP", 10005 => "TOOSMALL", 10006 => "SERVERFAULT", 10007 => "BADTYPE", 10008 => "JUKEBOX", 10009 => "SAME",
        10010 => "DENIED", 10011 => "EXPIRED", 10012 => "LOCKED", 10013 => "GRACE", 10014 => "FHEXPIRED", 10015 => "SHARE_DENIED",
        10016 => "WRONGSEC", 10017 => "CLID_INUSE", 10018 => "RESOURCE", 10019 => "MOVED", 10020 => "NOFILEHANDLE",
        10021 => "MINOR_VERS_MISMATCH", 10022 => "STALE_CLIENTID", 10023 => "STALE_STATEID", 10024 => "OLD_STATEID",
        10025 => "BAD_STATEID", 10026 => "BAD_SEQID", 10027 => "NOT_SAME", 10028 => "LOCK_RANGE", 10029 => "SYMLINK",
        10030 => "RESTOREFH", 10031 => "LEASE_MOVED", 10032 => "ATTRNOTSUPP", 10033 => "NO_GRACE", 10034 => "RECLAIM_BAD",
        10035 => "RECLAIM_CONFLICT", 10036 => "BADXDR", 10037 => "LOCKS_HELD", 10038 => "OPENMODE", 10039 => "BADOWNER",
        10040 => "BADCHAR", 10041 => "BADNAME", 10042 => "BAD_RANGE", 10043 => "LOCK_NOTSUPP", 10044 => "OP_ILLEGAL",
        10045 => "DEADLOCK", 10046 => "FILE_OPEN", 10047 => "ADMIN_REVOKED", 10048 => "CB_PATH_DOWN", 10049 => "BADIOMODE",
        10050 => "BADLAYOUT", 10051 => "BAD_SESSION_DIGEST", 10052 => "BADSESSION", 10053 => "BADSLOT", 10054 => "COMPLETE_ALREADY",
        10055 => "CONN_NOT_BOUND_TO_SESSION", 10056 => "DELEG_ALREADY_WANTED", 10057 => "BACK_CHAN_BUSY", 10058 => "LAYOUTTRYLATER",
        10059 => "LAYOUTUNAVAILABLE", 10060 => "NOMATCHING_LAYOUT", 10061 => "RECALLCONFLICT", 10062 => "UNKNOWN_LAYOUTTYPE",
        10063 => "SEQ_MISORDERED", 10064 => "SEQUENCE_POS", 10065 => "REQ_TOO_BIG", 10066 => "REP_TOO_BIG",
        10067 => "REP_TOO_BIG_TO_CACHE", 10068 => "RETRY_UNCACHED_REP", 10069 => "UNSAFE_COMPOUND", 10070 => "TOO_MANY_OPS",
        10071 => "OP_NOT_IN_SESSION", 10072 => "HASH_ALG_UNSUPP", 10074 => "CLIENTID_BUSY", 10075 => "PNFS_IO_HOLE",
        10076 => "SEQ_FALSE_RETRY", 10077 => "BAD_HIGH_SLOT", 10078 => "DEADSESSION", 10079 => "ENCR_ALG_UNSUPP",
        10080 => "PNFS_NO_LAYOUT", 10081 => "NOT_ONLY_OP", 10082 => "WRONG_CRED", 10083 => "WRONG_TYPE", 10084 => "DIRDELEG_UNAVAIL",
        10085 => "REJECT_DELEG", 10086 => "RETURNCONFLICT", 10087 => "DELEG_REVOKED", _ => return None,
    }))
}

impl NfsStatus {
    /// No error.
    pub const OK: NfsStatus = NfsStatus(0);

    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

header! {
    /// RPC-over-RDMA header: what version 1 and version 2 have in common (RFC 8166, 4.1).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                              xid                              |
    /// +---------------------------------------------------------------+
    /// |                              vers                             |
    /// +---------------------------------------------------------------+
    /// |                             credit                            |
    /// +---------------------------------------------------------------+
    /// |                              proc                             |
    /// +---------------------------------------------------------------+
    /// ```
    RpcRdma "RPC-over-RDMA", 16 bytes {
        /// Transaction identifier: that of the RPC message.
        xid with_xid: 32 as Hex32 ["rpcordma.xid"],
        /// Version.
        vers with_vers: 32 as u32 ["rpcordma.version"],
        /// Calls that the sender may have outstanding, or asks for.
        credit with_credit: 32 as u32 ["rpcordma.flow_control"],
        /// What follows.
        proc with_proc: 32 as RpcRdmaProc ["rpcordma.msg_type"],
    }
}

header! {
    /// Entry of the read list: memory of the sender that the receiver reads (RFC 8166, 4.3.1).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                              item                             |
    /// +---------------------------------------------------------------+
    /// |                            position                           |
    /// +---------------------------------------------------------------+
    /// |                             handle                            |
    /// +---------------------------------------------------------------+
    /// |                             length                            |
    /// +---------------------------------------------------------------+
    /// |                        offset (64 bits)                       |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    RpcRdmaRead "RPC-over-RDMA read segment", 24 bytes {
        /// 1: an entry follows.
        item with_item: 32 as u32,
        /// Where the data belongs in the RPC message; 0: it is the message.
        position with_position: 32 as u32 ["rpcordma.position"],
        /// R_Key of the memory.
        handle with_handle: 32 as RKey ["rpcordma.rdma_handle"],
        /// Bytes.
        length with_length: 32 as u32 ["rpcordma.rdma_length"],
        /// Where the memory begins.
        offset with_offset: 64 as VirtualAddress ["rpcordma.rdma_offset"],
    }
}

header! {
    /// Beginning of an entry of the write list, or of the reply chunk (RFC 8166, 4.3.2).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                              item                             |
    /// +---------------------------------------------------------------+
    /// |                            segments                           |
    /// +---------------------------------------------------------------+
    /// ```
    RpcRdmaChunk "RPC-over-RDMA chunk", 8 bytes {
        /// 1: an entry follows.
        item with_item: 32 as u32,
        /// Segments that follow.
        segments with_segments: 32 as u32 ["rpcordma.segment_count"],
    }
}

header! {
    /// Memory of the caller that the other side writes; in a reply, how much it wrote (RFC 8166, 4.3.2).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             handle                            |
    /// +---------------------------------------------------------------+
    /// |                             length                            |
    /// +---------------------------------------------------------------+
    /// |                        offset (64 bits)                       |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    RpcRdmaSegment "RPC-over-RDMA segment", 16 bytes {
        /// R_Key of the memory.
        handle with_handle: 32 as RKey ["rpcordma.rdma_handle"],
        /// Bytes.
        length with_length: 32 as u32 ["rpcordma.rdma_length"],
        /// Where the memory begins.
        offset with_offset: 64 as VirtualAddress ["rpcordma.rdma_offset"],
    }
}

header! {
    /// End of a list, or no reply chunk.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                              item                             |
    /// +---------------------------------------------------------------+
    /// ```
    RpcRdmaEnd "RPC-over-RDMA end of a list", 4 bytes {
        /// 0: no entry follows.
        item with_item: 32 as u32,
    }
}

header! {
    /// Why the message before was not understood (RFC 8166, 4.5).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             error                             |
    /// +---------------------------------------------------------------+
    /// ```
    RpcRdmaError "RPC-over-RDMA error", 4 bytes {
        /// The error.
        error with_error: 32 as RpcRdmaErrorCode ["rpcordma.errcode"],
    }
}

header! {
    /// Versions that the sender understands.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                              low                              |
    /// +---------------------------------------------------------------+
    /// |                              high                             |
    /// +---------------------------------------------------------------+
    /// ```
    RpcRdmaVersions "RPC-over-RDMA versions", 8 bytes {
        /// The lowest.
        low with_low: 32 as u32 ["rpcordma.vers_low"],
        /// The highest.
        high with_high: 32 as u32 ["rpcordma.vers_high"],
    }
}

header! {
    /// Beginning of an RPC message (RFC 5531, 9).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                              xid                              |
    /// +---------------------------------------------------------------+
    /// |                            msg_type                           |
    /// +---------------------------------------------------------------+
    /// ```
    Rpc "RPC", 8 bytes {
        /// Transaction identifier: a reply has that of its call.
        xid with_xid: 32 as Hex32 ["rpc.xid"],
        /// Call or reply.
        msg_type with_msg_type: 32 as RpcType ["rpc.msgtyp"],
    }
}

header! {
    /// An RPC call (RFC 5531, 9).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                            rpcvers                            |
    /// +---------------------------------------------------------------+
    /// |                              prog                             |
    /// +---------------------------------------------------------------+
    /// |                              vers                             |
    /// +---------------------------------------------------------------+
    /// |                           procedure                           |
    /// +---------------------------------------------------------------+
    /// ```
    RpcCall "RPC call", 16 bytes {
        /// Version of RPC: 2.
        rpcvers with_rpcvers: 32 as u32 ["rpc.version"],
        /// The program.
        prog with_prog: 32 as RpcProgram ["rpc.program"],
        /// Version of the program.
        vers with_vers: 32 as u32 ["rpc.programversion"],
        /// The program's procedure.
        procedure with_procedure: 32 as u32 ["rpc.procedure"],
    }
}

header! {
    /// A call of NFSv3: [`RpcCall`] with a procedure that has a name.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                            rpcvers                            |
    /// +---------------------------------------------------------------+
    /// |                              prog                             |
    /// +---------------------------------------------------------------+
    /// |                              vers                             |
    /// +---------------------------------------------------------------+
    /// |                           procedure                           |
    /// +---------------------------------------------------------------+
    /// ```
    Nfs3Call "NFSv3 call", 16 bytes {
        /// Version of RPC: 2.
        rpcvers with_rpcvers: 32 as u32 ["rpc.version"],
        /// The program.
        prog with_prog: 32 as RpcProgram ["rpc.program"],
        /// Version of the program.
        vers with_vers: 32 as u32 ["rpc.programversion"],
        /// The procedure.
        procedure with_procedure: 32 as Nfs3Procedure ["rpc.procedure"],
    }
}

header! {
    /// A call of NFSv4: [`RpcCall`] with a procedure that has a name.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                            rpcvers                            |
    /// +---------------------------------------------------------------+
    /// |                              prog                             |
    /// +---------------------------------------------------------------+
    /// |                              vers                             |
    /// +---------------------------------------------------------------+
    /// |                           procedure                           |
    /// +---------------------------------------------------------------+
    /// ```
    Nfs4Call "NFSv4 call", 16 bytes {
        /// Version of RPC: 2.
        rpcvers with_rpcvers: 32 as u32 ["rpc.version"],
        /// The program.
        prog with_prog: 32 as RpcProgram ["rpc.program"],
        /// Version of the program.
        vers with_vers: 32 as u32 ["rpc.programversion"],
        /// The procedure.
        procedure with_procedure: 32 as Nfs4Procedure ["rpc.procedure"],
    }
}

header! {
    /// Whether the call was accepted (RFC 5531, 9).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                           reply_stat                          |
    /// +---------------------------------------------------------------+
    /// ```
    RpcReply "RPC reply", 4 bytes {
        /// Whether it was accepted.
        reply_stat with_reply_stat: 32 as RpcReplyStat ["rpc.replystat"],
    }
}

header! {
    /// Beginning of credentials or of a verifier (RFC 5531, 8.2).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             flavor                            |
    /// +---------------------------------------------------------------+
    /// |                             length                            |
    /// +---------------------------------------------------------------+
    /// ```
    RpcAuth "RPC authentication", 8 bytes {
        /// Which.
        flavor with_flavor: 32 as RpcFlavor ["rpc.auth.flavor"],
        /// Bytes that follow.
        length with_length: 32 as u32 ["rpc.auth.length"],
    }
}

header! {
    /// What became of an accepted call (RFC 5531, 9).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                          accept_stat                          |
    /// +---------------------------------------------------------------+
    /// ```
    RpcAccept "RPC accepted reply", 4 bytes {
        /// What became of it.
        accept_stat with_accept_stat: 32 as RpcAcceptStat ["rpc.state_accept"],
    }
}

header! {
    /// Length of the tag that a compound begins with (RFC 8881, 16.2.3).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                           tag_length                          |
    /// +---------------------------------------------------------------+
    /// ```
    NfsTag "NFSv4 compound tag", 4 bytes {
        /// Bytes of the tag.
        tag_length with_tag_length: 32 as u32,
    }
}

header! {
    /// What is behind the tag of a compound (RFC 8881, 16.2.3).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                          minorversion                         |
    /// +---------------------------------------------------------------+
    /// |                           operations                          |
    /// +---------------------------------------------------------------+
    /// ```
    NfsCompound "NFSv4 compound", 8 bytes {
        /// Minor version.
        minorversion with_minorversion: 32 as u32 ["nfs.minorversion"],
        /// Operations that follow.
        operations with_operations: 32 as u32 ["nfs.ops.count"],
    }
}

header! {
    /// Number of an operation of a compound (RFC 8881, 16.2.3).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                           operation                           |
    /// +---------------------------------------------------------------+
    /// ```
    NfsOperation "NFSv4 operation", 4 bytes {
        /// The operation.
        operation with_operation: 32 as Nfs4Operation ["nfs.opcode"],
    }
}
