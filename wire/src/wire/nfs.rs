//! What operations of NFS are given: files, names, states and ranges (RFC 1813, 3.3; RFC 8881, chapter 18).

use super::{Opaque, Show};

number! {
    /// Whether data is to be on the medium before the answer.
    NfsStable(u32) as Show::Named(|v| Some(match v { 0 => "unstable", 1 => "data sync", 2 => "file sync", _ => return None }))
}

header! {
    /// Head of a file handle, whose bytes follow. Its hash, as Wireshark has it, is the CRC-32 of these.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                         handle_length                         |
    /// +---------------------------------------------------------------+
    /// ```
    NfsHandle "NFS file handle", 4 bytes {
        /// Bytes of the handle.
        handle_length with_handle_length: 32 as u32 ["nfs.fh.length"],
    }
}

header! {
    /// Head of the name of a file or directory, whose bytes follow.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                          name_length                          |
    /// +---------------------------------------------------------------+
    /// ```
    NfsName "NFS name", 4 bytes {
        /// Bytes of the name.
        name_length with_name_length: 32 as u32,
    }
}

header! {
    /// Identifier of an open file, a lock or a delegation (RFC 8881, 9.1.2).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                          state_seqid                          |
    /// +---------------------------------------------------------------+
    /// |                        state (96 bits)                        |
    /// +---------------------------------------------------------------+
    /// ```
    NfsState "NFSv4 state", 16 bytes {
        /// Which version of the state.
        state_seqid with_state_seqid: 32 as u32 ["nfs.stateid.seqid"],
        /// Which state.
        state with_state: 96 as Opaque<12> ["nfs.stateid.other"],
    }
}

header! {
    /// Bytes of a file, of READ and COMMIT.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        offset (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                             count                             |
    /// +---------------------------------------------------------------+
    /// ```
    NfsRange "NFS range", 12 bytes {
        /// The first byte.
        offset with_offset: 64 as u64,
        /// Bytes that are wanted.
        count with_count: 32 as u32,
    }
}

header! {
    /// What WRITE of NFSv4 writes; the data follows, or is in a chunk (RFC 8881, 18.32).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        offset (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                             stable                            |
    /// +---------------------------------------------------------------+
    /// |                          data_length                          |
    /// +---------------------------------------------------------------+
    /// ```
    NfsWrite "NFSv4 WRITE", 16 bytes {
        /// The first byte.
        offset with_offset: 64 as u64 ["nfs.offset4"],
        /// Whether it is to be on the medium before the answer.
        stable with_stable: 32 as NfsStable ["nfs.stable_how4"],
        /// Bytes of data.
        data_length with_data_length: 32 as u32 ["nfs.write.data_length"],
    }
}

header! {
    /// What WRITE of NFSv3 writes; the data follows, or is in a chunk (RFC 1813, 3.3.7).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        offset (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                             count                             |
    /// +---------------------------------------------------------------+
    /// |                             stable                            |
    /// +---------------------------------------------------------------+
    /// |                          data_length                          |
    /// +---------------------------------------------------------------+
    /// ```
    Nfs3Write "NFSv3 WRITE", 20 bytes {
        /// The first byte.
        offset with_offset: 64 as u64,
        /// Bytes to write.
        count with_count: 32 as u32,
        /// Whether it is to be on the medium before the answer.
        stable with_stable: 32 as NfsStable,
        /// Bytes of data.
        data_length with_data_length: 32 as u32,
    }
}
