//! Connect's data, and what Identify says of namespaces (NVMe over Fabrics 1.1, 3.3; NVM command set specification 1.0, 4.1.5; NVMe base specification
//! 2.0, 5.17). Numbers are little-endian. Nothing in the data says what it is: the command does that names its memory.

use super::{Guid, Hex8, Hex16, Le, Opaque, Show, Text};

number! {
    /// Type of a namespace's identifier (NVMe base specification 2.0, figure 277).
    NvmeIdentifierType(u8) as Show::Named(|v| Some(match v {
        1 => "EUI-64", 2 => "NGUID", 3 => "UUID", 4 => "command set", _ => return None,
    }))
}

impl NvmeIdentifierType {
    /// 16 bytes of RFC 4122.
    pub const UUID: NvmeIdentifierType = NvmeIdentifierType(3);
}

header! {
    /// Data of Connect (NVMe over Fabrics 1.1, 3.3). 256 reserved bytes follow.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                       hostid (128 bits)                       |
    /// +---------------------------------------------------------------+
    /// |             cntlid            |            reserved           |
    /// +---------------------------------------------------------------+
    /// |                      reserved (1904 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                       subnqn (2048 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                      hostnqn (2048 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeConnectData "NVMe Connect data", 768 bytes {
        /// The host's identifier.
        hostid with_hostid: 128 as Opaque<16> ["nvme.fabrics.cmd.connect.data.hostid"],
        /// The controller; of the admin queue, 0xffff: any.
        cntlid with_cntlid: 16 as Le<Hex16> ["nvme.fabrics.cmd.connect.data.cntrlid"],
        /// Reserved.
        reserved with_reserved: 1904 as [u8; 238],
        /// The subsystem's qualified name.
        subnqn with_subnqn: 2048 as Text<256> ["nvme.fabrics.cmd.connect.data.subnqn"],
        /// The host's qualified name.
        hostnqn with_hostnqn: 2048 as Text<256> ["nvme.fabrics.cmd.connect.data.hostnqn"],
    }
}

header! {
    /// Identify Namespace, up to the formats of its blocks (NVM command set specification 1.0, figure 97).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                         nsze (64 bits)                        |
    /// +---------------------------------------------------------------+
    /// |                         ncap (64 bits)                        |
    /// +---------------------------------------------------------------+
    /// |                         nuse (64 bits)                        |
    /// +---------------------------------------------------------------+
    /// |     nsfeat    |     nlbaf     |     flbas     |       mc      |
    /// +---------------------------------------------------------------+
    /// |      dpc      |      dps      |      nmic     |     rescap    |
    /// +---------------------------------------------------------------+
    /// |      fpi      |     dlfeat    |             nawun             |
    /// +---------------------------------------------------------------+
    /// |             nawupf            |             nacwu             |
    /// +---------------------------------------------------------------+
    /// |             nabsn             |              nabo             |
    /// +---------------------------------------------------------------+
    /// |             nabspf            |             noiob             |
    /// +---------------------------------------------------------------+
    /// |                        nvmcap (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                     nvmcap_high (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |              npwg             |              npwa             |
    /// +---------------------------------------------------------------+
    /// |              npdg             |              npda             |
    /// +---------------------------------------------------------------+
    /// |              nows             |             mssrl             |
    /// +---------------------------------------------------------------+
    /// |                              mcl                              |
    /// +---------------------------------------------------------------+
    /// |      msrc     |                    reserved                   |
    /// +---------------------------------------------------------------+
    /// |                       reserved (88 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                            anagrpid                           |
    /// +---------------------------------------------------------------+
    /// |                   reserved2                   |     nsattr    |
    /// +---------------------------------------------------------------+
    /// |            nvmsetid           |             endgid            |
    /// +---------------------------------------------------------------+
    /// |                        nguid (128 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                        eui64 (64 bits)                        |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeIdNamespace "NVMe Identify Namespace", 128 bytes {
        /// Size in blocks.
        nsze with_nsze: 64 as Le<u64> ["nvme.cmd.identify.ns.nsze"],
        /// Blocks that can be used.
        ncap with_ncap: 64 as Le<u64> ["nvme.cmd.identify.ns.ncap"],
        /// Blocks in use.
        nuse with_nuse: 64 as Le<u64> ["nvme.cmd.identify.ns.nuse"],
        /// Thin provisioning in bit 0, own atomic units in bit 1, errors of unwritten blocks in bit 2, preferred granularities in bit 4.
        nsfeat with_nsfeat: 8 as Hex8 ["nvme.cmd.identify.ns.nsfeat"],
        /// Formats of blocks, less one.
        nlbaf with_nlbaf: 8 as u8 ["nvme.cmd.identify.ns.nlbaf"],
        /// The format in use, in bits 0 to 3 and 5 to 6; metadata at the end of the data in bit 4.
        flbas with_flbas: 8 as Hex8 ["nvme.cmd.identify.ns.flbas"],
        /// Where metadata can be.
        mc with_mc: 8 as Hex8 ["nvme.cmd.identify.ns.mc"],
        /// Types of protection.
        dpc with_dpc: 8 as Hex8 ["nvme.cmd.identify.ns.dpc"],
        /// The type of protection in use.
        dps with_dps: 8 as Hex8 ["nvme.cmd.identify.ns.dps"],
        /// Several controllers share it, in bit 0.
        nmic with_nmic: 8 as Hex8 ["nvme.cmd.identify.ns.nmic"],
        /// Reservations.
        rescap with_rescap: 8 as Hex8,
        /// Progress of Format.
        fpi with_fpi: 8 as Hex8,
        /// What deallocated blocks read.
        dlfeat with_dlfeat: 8 as Hex8,
        /// Blocks that are written at once, less one.
        nawun with_nawun: 16 as Le<u16>,
        /// Blocks that are written at once whatever happens, less one.
        nawupf with_nawupf: 16 as Le<u16>,
        /// Blocks that are compared and written at once, less one.
        nacwu with_nacwu: 16 as Le<u16>,
        /// Boundary of atomic writes, less one.
        nabsn with_nabsn: 16 as Le<u16>,
        /// Where the first boundary is.
        nabo with_nabo: 16 as Le<u16>,
        /// Boundary whatever happens, less one.
        nabspf with_nabspf: 16 as Le<u16>,
        /// Blocks between boundaries of the best speed.
        noiob with_noiob: 16 as Le<u16>,
        /// Capacity in bytes, the lower half.
        nvmcap with_nvmcap: 64 as Le<u64>,
        /// The upper half.
        nvmcap_high with_nvmcap_high: 64 as Le<u64>,
        /// Preferred granularity of Writes, less one.
        npwg with_npwg: 16 as Le<u16>,
        /// Preferred alignment of Writes, less one.
        npwa with_npwa: 16 as Le<u16>,
        /// Preferred granularity of deallocation, less one.
        npdg with_npdg: 16 as Le<u16>,
        /// Preferred alignment of deallocation, less one.
        npda with_npda: 16 as Le<u16>,
        /// Best size of Writes, less one.
        nows with_nows: 16 as Le<u16>,
        /// Blocks of a range of Copy.
        mssrl with_mssrl: 16 as Le<u16>,
        /// Blocks of a Copy.
        mcl with_mcl: 32 as Le<u32>,
        /// Ranges of a Copy, less one.
        msrc with_msrc: 8 as u8,
        /// Reserved.
        reserved with_reserved: 88 as [u8; 11],
        /// ANA group.
        anagrpid with_anagrpid: 32 as Le<u32>,
        /// Reserved.
        reserved2 with_reserved2: 24 as [u8; 3],
        /// Write protected, in bit 0.
        nsattr with_nsattr: 8 as Hex8,
        /// NVM set.
        nvmsetid with_nvmsetid: 16 as Le<u16>,
        /// Endurance group.
        endgid with_endgid: 16 as Le<u16>,
        /// Identifier of 128 bits.
        nguid with_nguid: 128 as Opaque<16> ["nvme.cmd.identify.ns.nguid"],
        /// Identifier of 64 bits.
        eui64 with_eui64: 64 as Guid ["nvme.cmd.identify.ns.eui64"],
    }
}

header! {
    /// A format of blocks (NVM command set specification 1.0, figure 98).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |               ms              |     lbads     |  reserved | rp|
    /// +---------------------------------------------------------------+
    /// ```
    NvmeLbaFormat "NVMe LBA format", 4 bytes {
        /// Bytes of metadata of a block.
        ms with_ms: 16 as Le<u16>,
        /// Bytes of a block, as a power of two; 0: not to be used.
        lbads with_lbads: 8 as u8,
        /// Reserved.
        reserved with_reserved: 6 as u8,
        /// Relative performance, 0 the best.
        rp with_rp: 2 as u8,
    }
}

header! {
    /// Head of an identifier of a namespace (NVMe base specification 2.0, figure 277).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |      nidt     |      nidl     |            reserved           |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeNsIdentifier "NVMe namespace identifier", 4 bytes {
        /// Type of the identifier.
        nidt with_nidt: 8 as NvmeIdentifierType,
        /// Its bytes.
        nidl with_nidl: 8 as u8,
        /// Reserved.
        reserved with_reserved: 16 as Le<Hex16>,
    }
}
