//! NVMe over RDMA: command and response capsules (NVMe base specification 2.0, 3.3.2 to 3.3.3 and 4.2; NVMe over Fabrics 1.1, 3.2 to 3.6). Numbers
//! are little-endian.

use super::{Bits, Hex8, Hex16, Hex32, Hex64, Le, RKey, Show, VirtualAddress};

number! {
    /// Type of the descriptor of an NVMe command's data (NVMe base specification 2.0, 4.1.2).
    NvmeSgl(u8) as Show::Named(|v| Some(match v {
        0x00 => "data block", 0x01 => "in the capsule", 0x40 => "keyed", 0x4f => "keyed, invalidated by the response",
        0x5a => "transport", _ => return None,
    }))
}

number! {
    /// Operation code of a command that moves blocks, or of Fabrics, which all have one.
    NvmeOpcode(u8) as Show::Named(|v| Some(match v { 0x01 => "Write", 0x02 => "Read", 0x7f => "Fabrics", _ => return None }))
}

impl NvmeOpcode {
    /// Blocks come from the host.
    pub const WRITE: NvmeOpcode = NvmeOpcode(0x01);
    /// Blocks go to the host. An admin queue's Get Log Page has the same code.
    pub const READ: NvmeOpcode = NvmeOpcode(0x02);
    /// All commands of Fabrics.
    pub const FABRICS: NvmeOpcode = NvmeOpcode(0x7f);
}

number! {
    /// Which command of Fabrics it is (NVMe over Fabrics 1.1, 3.1).
    NvmeFabricsType(u8) as Show::Named(|v| Some(match v {
        0x00 => "Property Set", 0x01 => "Connect", 0x04 => "Property Get", 0x05 => "Authentication Send",
        0x06 => "Authentication Receive", 0x08 => "Disconnect", _ => return None,
    }))
}

impl NvmeFabricsType {
    /// Sets a property of the controller.
    pub const PROPERTY_SET: NvmeFabricsType = NvmeFabricsType(0);
    /// Connects a queue.
    pub const CONNECT: NvmeFabricsType = NvmeFabricsType(1);
    /// Asks for a property of the controller.
    pub const PROPERTY_GET: NvmeFabricsType = NvmeFabricsType(4);

    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

number! {
    /// Which property of a controller (NVMe base specification 2.0, 3.1.3).
    NvmeProperty(u32) as Show::Named(|v| Some(match v {
        0x00 => "CAP", 0x08 => "VS", 0x14 => "CC", 0x1c => "CSTS", 0x20 => "NSSR", _ => return None,
    }))
}

number! {
    /// What became of a command, behind the phase tag in bit 0: code in bits 1 to 8, type of the code in bits 9 to 11, "more" in bit 14, "do not
    /// retry" in bit 15.
    NvmeStatus(u16) as Show::Named(|v| NvmeStatus(v as u16).name())
}

impl NvmeStatus {
    /// Its name in the specification. Command-specific codes, of type 1, mean something else for commands of Fabrics.
    pub const fn name(self) -> Option<&'static str> {
        Some(match (self.0 >> 9 & 7, self.0 >> 1 & 0xff) {
            (0, 0x00) => "success",
            (0, 0x01) => "invalid operation code",
            (0, 0x02) => "invalid field in command",
            (0, 0x03) => "command ID conflict",
            (0, 0x04) => "data transfer error",
            (0, 0x05) => "aborted: power loss",
            (0, 0x06) => "internal error",
            (0, 0x07) => "aborted as requested",
            (0, 0x08) => "aborted: queue deleted",
            (0, 0x0b) => "invalid namespace or format",
            (0, 0x0c) => "command sequence error",
            (0, 0x0f) => "invalid data SGL length",
            (0, 0x11) => "SGL descriptor type invalid",
            (0, 0x1f) => "keep-alive timeout invalid",
            (0, 0x20) => "namespace is write protected",
            (0, 0x80) => "LBA out of range",
            (0, 0x81) => "capacity exceeded",
            (0, 0x82) => "namespace not ready",
            (0, 0x83) => "reservation conflict",
            (1, 0x05) => "asynchronous event request limit exceeded",
            (1, 0x09) => "invalid log page",
            (1, 0x0d) => "feature identifier not saveable",
            (1, 0x80) => "conflicting attributes",
            (1, 0x82) => "write to a read-only range",
            (2, 0x80) => "write fault",
            (2, 0x81) => "unrecovered read error",
            (2, 0x82) => "guard check error",
            (2, 0x85) => "compare failure",
            (2, 0x86) => "access denied",
            (3, 0x00) => "internal path error",
            (3, 0x01) => "ANA persistent loss",
            (3, 0x02) => "ANA inaccessible",
            (3, 0x03) => "ANA transition",
            (3, 0x60) => "controller pathing error",
            (3, 0x70) => "host pathing error",
            (3, 0x71) => "aborted by host",
            _ => return None,
        })
    }
}

header! {
    /// Submission queue entry: the beginning of a command capsule (NVMe base specification 2.0, 3.3.3.1).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |     opcode    |     flags     |           command_id          |
    /// +---------------+---------------+-------------------------------+
    /// |                              nsid                             |
    /// +---------------------------------------------------------------+
    /// |                              cdw2                             |
    /// +---------------------------------------------------------------+
    /// |                              cdw3                             |
    /// +---------------------------------------------------------------+
    /// |                         mptr (64 bits)                        |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                       address (64 bits)                       |
    /// |                                                               |
    /// +-----------------------------------------------+---------------+
    /// |                     length                    |               |
    /// +-----------------------------------------------+---------------+
    /// |                      key                      |      sgl      |
    /// +-----------------------------------------------+---------------+
    /// |                             cdw10                             |
    /// +---------------------------------------------------------------+
    /// |                             cdw11                             |
    /// +---------------------------------------------------------------+
    /// |                             cdw12                             |
    /// +---------------------------------------------------------------+
    /// |                             cdw13                             |
    /// +---------------------------------------------------------------+
    /// |                             cdw14                             |
    /// +---------------------------------------------------------------+
    /// |                             cdw15                             |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeSqe "NVMe command", 64 bytes {
        /// Operation code; 0x7f: a command of Fabrics.
        opcode with_opcode: 8 as Hex8 ["nvme.cmd.opc"],
        /// Fused commands, and how data is described: 0x40, by an SGL.
        flags with_flags: 8 as Hex8,
        /// Which command it is.
        command_id with_command_id: 16 as Le<u16> ["nvme.cmd.cid"],
        /// Namespace; of commands of Fabrics, the first byte is their type.
        nsid with_nsid: 32 as Le<u32> ["nvme.cmd.nsid"],
        /// Command word 2.
        cdw2 with_cdw2: 32 as Le<Hex32>,
        /// Command word 3.
        cdw3 with_cdw3: 32 as Le<Hex32>,
        /// Metadata.
        mptr with_mptr: 64 as Le<VirtualAddress> ["nvme.cmd.mptr"],
        /// Where the data is; in the capsule, an offset.
        address with_address: 64 as Le<VirtualAddress> ["nvme.cmd.sgl1.addr"],
        /// Bytes of data, of keyed descriptors.
        length with_length: 24 as Le<u32> ["nvme.cmd.sgl1.len"],
        /// Key of the data.
        key with_key: 32 as Le<RKey> ["nvme.cmd.sgl1.key"],
        /// How the data is described.
        sgl with_sgl: 8 as NvmeSgl,
        /// Command word 10.
        cdw10 with_cdw10: 32 as Le<Hex32> ["nvme.cmd.dword10"],
        /// Command word 11.
        cdw11 with_cdw11: 32 as Le<Hex32> ["nvme.cmd.dword11"],
        /// Command word 12.
        cdw12 with_cdw12: 32 as Le<Hex32> ["nvme.cmd.dword12"],
        /// Command word 13.
        cdw13 with_cdw13: 32 as Le<Hex32> ["nvme.cmd.dword13"],
        /// Command word 14.
        cdw14 with_cdw14: 32 as Le<Hex32> ["nvme.cmd.dword14"],
        /// Command word 15.
        cdw15 with_cdw15: 32 as Le<Hex32> ["nvme.cmd.dword15"],
    }
}

header! {
    /// Read or Write of an I/O queue (NVMe NVM command set specification 1.0, 3.2.4 and 3.2.6).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |     opcode    |     flags     |           command_id          |
    /// +---------------+---------------+-------------------------------+
    /// |                              nsid                             |
    /// +---------------------------------------------------------------+
    /// |                              cdw2                             |
    /// +---------------------------------------------------------------+
    /// |                              cdw3                             |
    /// +---------------------------------------------------------------+
    /// |                         mptr (64 bits)                        |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                       address (64 bits)                       |
    /// |                                                               |
    /// +-----------------------------------------------+---------------+
    /// |                     length                    |               |
    /// +-----------------------------------------------+---------------+
    /// |                      key                      |      sgl      |
    /// +-----------------------------------------------+---------------+
    /// |                         slba (64 bits)                        |
    /// |                                                               |
    /// +-------------------------------+---------------+-+-+-------+---+
    /// |              nlb              |   directive   |l|f| prinfo|res|
    /// +---------------+---------------+---------------+-+-+-------+---+
    /// |      dsm      |                     dspec                     |
    /// +---------------+-----------------------------------------------+
    /// |                             eilbrt                            |
    /// +-------------------------------+-------------------------------+
    /// |             elbat             |             elbatm            |
    /// +-------------------------------+-------------------------------+
    /// ```
    NvmeRw "NVMe Read or Write", 64 bytes {
        /// Operation code.
        opcode with_opcode: 8 as NvmeOpcode ["nvme.cmd.opc"],
        /// Fused commands, and how data is described: 0x40, by an SGL.
        flags with_flags: 8 as Hex8,
        /// Which command it is.
        command_id with_command_id: 16 as Le<u16> ["nvme.cmd.cid"],
        /// Namespace.
        nsid with_nsid: 32 as Le<u32> ["nvme.cmd.nsid"],
        /// Command word 2.
        cdw2 with_cdw2: 32 as Le<Hex32>,
        /// Command word 3.
        cdw3 with_cdw3: 32 as Le<Hex32>,
        /// Metadata.
        mptr with_mptr: 64 as Le<VirtualAddress> ["nvme.cmd.mptr"],
        /// Where the data is; in the capsule, an offset.
        address with_address: 64 as Le<VirtualAddress> ["nvme.cmd.sgl1.addr"],
        /// Bytes of data, of keyed descriptors.
        length with_length: 24 as Le<u32> ["nvme.cmd.sgl1.len"],
        /// Key of the data.
        key with_key: 32 as Le<RKey> ["nvme.cmd.sgl1.key"],
        /// How the data is described.
        sgl with_sgl: 8 as NvmeSgl,
        /// The first block.
        slba with_slba: 64 as Le<u64> ["nvme.cmd.slba"],
        /// Blocks, less one.
        nlb with_nlb: 16 as Le<u16> ["nvme.cmd.nlb"],
        /// Type of the directive, in the upper half.
        directive with_directive: 8 as Hex8,
        /// Few tries are wanted.
        limited_retry with_limited_retry: 1 as bool ["nvme.cmd.lr"],
        /// The data is to be on the medium before the response.
        fua with_fua: 1 as bool ["nvme.cmd.fua"],
        /// What to do with the data's protection.
        prinfo with_prinfo: 4 as Hex8,
        /// Reserved.
        reserved with_reserved: 2 as u8,
        /// How the data will be used.
        dsm with_dsm: 8 as Hex8,
        /// What the directive says, behind a reserved byte.
        dspec with_dspec: 24 as Le<Hex32>,
        /// Reference tag of the first block.
        eilbrt with_eilbrt: 32 as Le<Hex32> ["nvme.cmd.eilbrt"],
        /// Application tag.
        elbat with_elbat: 16 as Le<Hex16> ["nvme.cmd.elbat"],
        /// Mask of the application tag.
        elbatm with_elbatm: 16 as Le<Hex16> ["nvme.cmd.elbatm"],
    }
}

header! {
    /// Connect of Fabrics (NVMe over Fabrics 1.1, 3.3). Its data names host and subsystem.
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |     opcode    |     flags     |           command_id          |
    /// +---------------+---------------+-------------------------------+
    /// |     fctype    |                    reserved                   |
    /// +---------------+-----------------------------------------------+
    /// |                           reserved2                           |
    /// +---------------------------------------------------------------+
    /// |                           reserved3                           |
    /// +---------------------------------------------------------------+
    /// |                      reserved4 (64 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                       address (64 bits)                       |
    /// |                                                               |
    /// +-----------------------------------------------+---------------+
    /// |                     length                    |               |
    /// +-----------------------------------------------+---------------+
    /// |                      key                      |      sgl      |
    /// +-------------------------------+---------------+---------------+
    /// |             recfmt            |              qid              |
    /// +-------------------------------+---------------+---------------+
    /// |             sqsize            |     cattr     |   reserved5   |
    /// +-------------------------------+---------------+---------------+
    /// |                              kato                             |
    /// +---------------------------------------------------------------+
    /// |                      reserved6 (96 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeConnect "NVMe Connect", 64 bytes {
        /// Operation code.
        opcode with_opcode: 8 as NvmeOpcode ["nvme.fabrics.cmd.opc"],
        /// Fused commands, and how data is described: 0x40, by an SGL.
        flags with_flags: 8 as Hex8,
        /// Which command it is.
        command_id with_command_id: 16 as Le<u16> ["nvme.fabrics.cmd.cid"],
        /// Which command of Fabrics it is.
        fctype with_fctype: 8 as NvmeFabricsType ["nvme.fabrics.cmd.fctype"],
        /// Reserved.
        reserved with_reserved: 24 as Hex32,
        /// Reserved.
        reserved2 with_reserved2: 32 as Hex32,
        /// Reserved.
        reserved3 with_reserved3: 32 as Hex32,
        /// Reserved.
        reserved4 with_reserved4: 64 as Hex64,
        /// Where the data is; in the capsule, an offset.
        address with_address: 64 as Le<VirtualAddress> ["nvme.cmd.sgl1.addr"],
        /// Bytes of data, of keyed descriptors.
        length with_length: 24 as Le<u32> ["nvme.cmd.sgl1.len"],
        /// Key of the data.
        key with_key: 32 as Le<RKey> ["nvme.cmd.sgl1.key"],
        /// How the data is described.
        sgl with_sgl: 8 as NvmeSgl,
        /// Format of the data: 0.
        recfmt with_recfmt: 16 as Le<u16> ["nvme.fabrics.cmd.connect.recfmt"],
        /// The queue; 0 is the admin queue.
        qid with_qid: 16 as Le<u16> ["nvme.fabrics.cmd.connect.qid"],
        /// Entries of the submission queue, less one.
        sqsize with_sqsize: 16 as Le<u16> ["nvme.fabrics.cmd.connect.sqsize"],
        /// Attributes: priority in bits 0 and 1, no flow control of the submission queue in bit 2, deletion of I/O queues in bit 3.
        cattr with_cattr: 8 as Hex8 ["nvme.fabrics.cmd.connect.cattr"],
        /// Reserved.
        reserved5 with_reserved5: 8 as Hex8,
        /// Keep-alive timeout in milliseconds; 0: none.
        kato with_kato: 32 as Le<u32> ["nvme.fabrics.cmd.connect.kato"],
        /// Reserved.
        reserved6 with_reserved6: 96 as [u8; 12],
    }
}

header! {
    /// Property Get or Property Set of Fabrics (NVMe over Fabrics 1.1, 3.5 and 3.6).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |     opcode    |     flags     |           command_id          |
    /// +---------------+---------------+-------------------------------+
    /// |     fctype    |                    reserved                   |
    /// +---------------+-----------------------------------------------+
    /// |                           reserved2                           |
    /// +---------------------------------------------------------------+
    /// |                           reserved3                           |
    /// +---------------------------------------------------------------+
    /// |                      reserved4 (64 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                      reserved5 (64 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                      reserved6 (64 bits)                      |
    /// |                                                               |
    /// +---------------+-----------------------------------------------+
    /// |     attrib    |                   reserved7                   |
    /// +---------------+-----------------------------------------------+
    /// |                            property                           |
    /// +---------------------------------------------------------------+
    /// |                        value (64 bits)                        |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                      reserved8 (64 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    NvmePropertyAccess "NVMe Property Get or Set", 64 bytes {
        /// Operation code.
        opcode with_opcode: 8 as NvmeOpcode ["nvme.fabrics.cmd.opc"],
        /// Fused commands, and how data is described: 0x40, by an SGL.
        flags with_flags: 8 as Hex8,
        /// Which command it is.
        command_id with_command_id: 16 as Le<u16> ["nvme.fabrics.cmd.cid"],
        /// Which command of Fabrics it is.
        fctype with_fctype: 8 as NvmeFabricsType ["nvme.fabrics.cmd.fctype"],
        /// Reserved.
        reserved with_reserved: 24 as Hex32,
        /// Reserved.
        reserved2 with_reserved2: 32 as Hex32,
        /// Reserved.
        reserved3 with_reserved3: 32 as Hex32,
        /// Reserved.
        reserved4 with_reserved4: 64 as Hex64,
        /// Reserved: it has no data.
        reserved5 with_reserved5: 64 as Hex64,
        /// Reserved: it has no data.
        reserved6 with_reserved6: 64 as Hex64,
        /// Size of the property: 0 for four bytes, 1 for eight.
        attrib with_attrib: 8 as Hex8 ["nvme.fabrics.cmd.prop_get_set.attrib"],
        /// Reserved.
        reserved7 with_reserved7: 24 as Hex32,
        /// Which property: its offset among the controller's registers.
        property with_property: 32 as Le<NvmeProperty> ["nvme.fabrics.cmd.prop_get_set.offset"],
        /// The value to set; of Property Get, reserved.
        value with_value: 64 as Le<Hex64>,
        /// Reserved.
        reserved8 with_reserved8: 64 as Hex64,
    }
}

header! {
    /// A command of Fabrics that has no table of its own here (NVMe over Fabrics 1.1, 3.1).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |     opcode    |     flags     |           command_id          |
    /// +---------------+---------------+-------------------------------+
    /// |     fctype    |                    reserved                   |
    /// +---------------+-----------------------------------------------+
    /// |                           reserved2                           |
    /// +---------------------------------------------------------------+
    /// |                           reserved3                           |
    /// +---------------------------------------------------------------+
    /// |                      reserved4 (64 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                       address (64 bits)                       |
    /// |                                                               |
    /// +-----------------------------------------------+---------------+
    /// |                     length                    |               |
    /// +-----------------------------------------------+---------------+
    /// |                      key                      |      sgl      |
    /// +-----------------------------------------------+---------------+
    /// |                      specific (192 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeFabrics "NVMe command of Fabrics", 64 bytes {
        /// Operation code.
        opcode with_opcode: 8 as NvmeOpcode ["nvme.fabrics.cmd.opc"],
        /// Fused commands, and how data is described: 0x40, by an SGL.
        flags with_flags: 8 as Hex8,
        /// Which command it is.
        command_id with_command_id: 16 as Le<u16> ["nvme.fabrics.cmd.cid"],
        /// Which command of Fabrics it is.
        fctype with_fctype: 8 as NvmeFabricsType ["nvme.fabrics.cmd.fctype"],
        /// Reserved.
        reserved with_reserved: 24 as Hex32,
        /// Reserved.
        reserved2 with_reserved2: 32 as Hex32,
        /// Reserved.
        reserved3 with_reserved3: 32 as Hex32,
        /// Reserved.
        reserved4 with_reserved4: 64 as Hex64,
        /// Where the data is; in the capsule, an offset.
        address with_address: 64 as Le<VirtualAddress> ["nvme.cmd.sgl1.addr"],
        /// Bytes of data, of keyed descriptors.
        length with_length: 24 as Le<u32> ["nvme.cmd.sgl1.len"],
        /// Key of the data.
        key with_key: 32 as Le<RKey> ["nvme.cmd.sgl1.key"],
        /// How the data is described.
        sgl with_sgl: 8 as NvmeSgl,
        /// What the command says.
        specific with_specific: 192 as [u8; 24],
    }
}

header! {
    /// Completion queue entry: a response capsule (NVMe base specification 2.0, 3.3.3.2). Nothing in it says that it is one: the queue pair does.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             dword0                            |
    /// +---------------------------------------------------------------+
    /// |                             dword1                            |
    /// +-------------------------------+-------------------------------+
    /// |              sqhd             |              sqid             |
    /// +-------------------------------+-------------------------------+
    /// |           command_id          |             status            |
    /// +-------------------------------+-------------------------------+
    /// ```
    NvmeCqe "NVMe response", 16 bytes {
        /// What the command gives: of Connect, the controller's number; of Property Get, the value.
        dword0 with_dword0: 32 as Le<Hex32> ["nvme.cqe.dword0"],
        /// More of it.
        dword1 with_dword1: 32 as Le<Hex32> ["nvme.cqe.dword1"],
        /// Where the controller is in the submission queue.
        sqhd with_sqhd: 16 as Le<u16> ["nvme.cqe.sqhd"],
        /// The submission queue; reserved in Fabrics.
        sqid with_sqid: 16 as Le<u16> ["nvme.cqe.sqid"],
        /// The command that it is about.
        command_id with_command_id: 16 as Le<u16> ["nvme.cqe.cid"],
        /// What became of it.
        status with_status: 16 as Le<NvmeStatus> ["nvme.cqe.status"],
    }
}

number! {
    /// Why a controller refuses a queue (NVMe RDMA transport specification 1.0, 3.4.3).
    NvmeCmStatus(u16) as Show::Named(|v| Some(match v {
        1 => "invalid length of private data", 2 => "invalid record format", 3 => "invalid queue", 4 => "invalid size of the host's send queue",
        5 => "invalid size of the host's receive queue", 6 => "no resources", 7 => "invalid depth of inbound READs",
        8 => "invalid depth of outbound READs", 9 => "invalid controller", _ => return None,
    }))
}

header! {
    /// Private data of a REQ for a queue of NVMe over RDMA (NVMe RDMA transport specification 1.0, 3.4.1). Numbers are little-endian.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |             recfmt            |              qid              |
    /// +-------------------------------+-------------------------------+
    /// |            hrqsize            |            hsqsize            |
    /// +-------------------------------+-------------------------------+
    /// |             cntlid            |                               |
    /// +-------------------------------+-------------------------------+
    /// |                            reserved                           |
    /// +---------------------------------------------------------------+
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeCmReq "NVMe queue request", 32 bytes {
        /// Format: 0.
        recfmt with_recfmt: 16 as Le<u16> ["nvme-rdma.cm.req.recfmt"],
        /// The queue; 0 is the admin queue.
        qid with_qid: 16 as Le<u16> ["nvme-rdma.cm.req.qid"],
        /// Entries of the host's receive queue.
        hrqsize with_hrqsize: 16 as Le<u16> ["nvme-rdma.cm.req.hrqsize"],
        /// Entries of the host's send queue, less one.
        hsqsize with_hsqsize: 16 as Le<u16> ["nvme-rdma.cm.req.hsqsize"],
        /// The controller, of I/O queues.
        cntlid with_cntlid: 16 as Le<u16> ["nvme-rdma.cm.req.cntlid"],
        /// Reserved.
        reserved with_reserved: 176 as [u8; 22],
    }
}

header! {
    /// Private data of a REP for a queue of NVMe over RDMA (NVMe RDMA transport specification 1.0, 3.4.2). Numbers are little-endian.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |             recfmt            |            crqsize            |
    /// +-------------------------------+-------------------------------+
    /// |                      reserved (224 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeCmRep "NVMe queue reply", 32 bytes {
        /// Format: 0.
        recfmt with_recfmt: 16 as Le<u16> ["nvme-rdma.cm.rsp.recfmt"],
        /// Entries of the controller's receive queue.
        crqsize with_crqsize: 16 as Le<u16> ["nvme-rdma.cm.rsp.crqsize"],
        /// Reserved.
        reserved with_reserved: 224 as [u8; 28],
    }
}

header! {
    /// Private data of a REJ for a queue of NVMe over RDMA (NVMe RDMA transport specification 1.0, 3.4.3). Numbers are little-endian.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |             recfmt            |              sts              |
    /// +-------------------------------+-------------------------------+
    /// ```
    NvmeCmRej "NVMe queue refusal", 4 bytes {
        /// Format: 0.
        recfmt with_recfmt: 16 as Le<u16> ["nvme-rdma.cm.rej.recfmt"],
        /// Why.
        sts with_sts: 16 as Le<NvmeCmStatus> ["nvme-rdma.cm.rej.status"],
    }
}
