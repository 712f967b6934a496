//! Storage over RDMA beside NVMe: iSER with iSCSI (RFC 7145, 7143), and SRP (INCITS 365).

use super::{Bits, Hex8, Hex16, Hex32, Hex64, RKey, Show, VirtualAddress};

number! {
    /// What an iSER message is (RFC 7145, 9.2 to 9.4).
    IserOpcode(u8) as Show::Named(|v| Some(match v {
        1 => "iSCSI control PDU", 2 => "Hello", 3 => "HelloReply", _ => return None,
    }))
}

impl IserOpcode {
    /// A PDU of iSCSI follows.
    pub const CONTROL: IserOpcode = IserOpcode(1);
}

number! {
    /// What an iSCSI PDU is (RFC 7143, 11.2.1.2).
    IscsiOpcode(u8) as Show::Named(|v| Some(match v {
        0 => "NOP-Out", 1 => "SCSI Command", 2 => "Task Management Request", 3 => "Login Request", 4 => "Text Request",
        5 => "SCSI Data-Out", 6 => "Logout Request", 16 => "SNACK Request", 32 => "NOP-In", 33 => "SCSI Response",
        34 => "Task Management Response", 35 => "Login Response", 36 => "Text Response", 37 => "SCSI Data-In", 38 => "Logout Response",
        49 => "R2T", 50 => "Asynchronous Message", 63 => "Reject", _ => return None,
    }))
}

impl IscsiOpcode {
    /// A SCSI command.
    pub const COMMAND: IscsiOpcode = IscsiOpcode(0x01);
    /// The answer to it.
    pub const RESPONSE: IscsiOpcode = IscsiOpcode(0x21);
    /// A target wants something.
    pub const ASYNC: IscsiOpcode = IscsiOpcode(0x32);
    /// An initiator logs in.
    pub const LOGIN_REQUEST: IscsiOpcode = IscsiOpcode(0x03);
    /// The answer to it.
    pub const LOGIN_RESPONSE: IscsiOpcode = IscsiOpcode(0x23);

    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }

    /// Whether a target sends it.
    pub fn is_of_target(self) -> bool {
        self.0 & 0x20 != 0
    }

    /// NOP-Out, Task Management, Text or Logout: one table has them all.
    pub fn is_plain_request(self) -> bool {
        matches!(self.0, 0x00 | 0x02 | 0x04 | 0x06)
    }

    /// NOP-In, Task Management, Text, Logout, Asynchronous Message or Reject of a target: one table has them all.
    pub fn is_plain_reply(self) -> bool {
        matches!(self.0, 0x20 | 0x22 | 0x24 | 0x26 | 0x32 | 0x3f)
    }
}

number! {
    /// Operation code of a SCSI command: the first byte of its descriptor block (SPC-5, SBC-4).
    ScsiOpcode(u8) as Show::Named(|v| Some(match v {
        0 => "TEST UNIT READY", 3 => "REQUEST SENSE", 4 => "FORMAT UNIT", 8 => "READ(6)", 10 => "WRITE(6)", 18 => "INQUIRY",
        21 => "MODE SELECT(6)", 22 => "RESERVE(6)", 23 => "RELEASE(6)", 26 => "MODE SENSE(6)", 27 => "START STOP UNIT",
        28 => "RECEIVE DIAGNOSTIC RESULTS", 29 => "SEND DIAGNOSTIC", 30 => "PREVENT ALLOW MEDIUM REMOVAL", 37 => "READ CAPACITY(10)",
        40 => "READ(10)", 42 => "WRITE(10)", 46 => "WRITE AND VERIFY(10)", 47 => "VERIFY(10)", 52 => "PRE-FETCH(10)",
        53 => "SYNCHRONIZE CACHE(10)", 55 => "READ DEFECT DATA(10)", 59 => "WRITE BUFFER", 60 => "READ BUFFER", 65 => "WRITE SAME(10)",
        66 => "UNMAP", 77 => "LOG SENSE", 85 => "MODE SELECT(10)", 90 => "MODE SENSE(10)", 94 => "PERSISTENT RESERVE IN",
        95 => "PERSISTENT RESERVE OUT", 127 => "variable length", 131 => "EXTENDED COPY", 132 => "RECEIVE COPY RESULTS",
        133 => "ATA PASS-THROUGH(16)", 136 => "READ(16)", 137 => "COMPARE AND WRITE", 138 => "WRITE(16)", 142 => "WRITE AND VERIFY(16)",
        143 => "VERIFY(16)", 145 => "SYNCHRONIZE CACHE(16)", 147 => "WRITE SAME(16)", 158 => "SERVICE ACTION IN(16)",
        160 => "REPORT LUNS", 163 => "MAINTENANCE IN", 164 => "MAINTENANCE OUT", 168 => "READ(12)", 170 => "WRITE(12)", _ => return None,
    }))
}

impl ScsiOpcode {
    /// Its name; `None` for a number that has none here.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

number! {
    /// What became of a SCSI command (SAM-5, 5.3.1).
    ScsiStatus(u8) as Show::Named(|v| Some(match v {
        0 => "GOOD", 2 => "CHECK CONDITION", 4 => "CONDITION MET", 8 => "BUSY", 24 => "RESERVATION CONFLICT", 40 => "TASK SET FULL",
        48 => "ACA ACTIVE", 64 => "TASK ABORTED", _ => return None,
    }))
}

impl ScsiStatus {
    /// It was carried out.
    pub const GOOD: ScsiStatus = ScsiStatus(0);

    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

number! {
    /// What an information unit of SRP is (SRP, 6).
    SrpOpcode(u8) as Show::Named(|v| Some(match v {
        0 => "SRP_LOGIN_REQ", 1 => "SRP_TSK_MGMT", 2 => "SRP_CMD", 3 => "SRP_I_LOGOUT", 65 => "SRP_CRED_RSP", 66 => "SRP_AER_RSP",
        128 => "SRP_T_LOGOUT", 129 => "SRP_CRED_REQ", 130 => "SRP_AER_REQ", 192 => "SRP_LOGIN_RSP", 193 => "SRP_RSP",
        194 => "SRP_LOGIN_REJ", _ => return None,
    }))
}

impl SrpOpcode {
    /// The initiator logs in; in the private data of a REQ.
    pub const LOGIN_REQ: SrpOpcode = SrpOpcode(0);
    /// A SCSI command.
    pub const CMD: SrpOpcode = SrpOpcode(2);
    /// The target accepts a login; in the private data of a REP.
    pub const LOGIN_RSP: SrpOpcode = SrpOpcode(0xc0);
    /// The answer to a command.
    pub const RSP: SrpOpcode = SrpOpcode(0xc1);
    /// The target refuses a login; in the private data of a REJ.
    pub const LOGIN_REJ: SrpOpcode = SrpOpcode(0xc2);

    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

number! {
    /// Why a target refuses a login (SRP, 6.4; the kernel's `scsi/srp.h`).
    SrpLoginReason(u32) as Show::Named(|v| Some(match v {
        65536 => "unable to establish an RDMA channel", 65537 => "insufficient RDMA channel resources",
        65538 => "initiator-to-target IU too large", 65539 => "cannot associate the RDMA channel with an I_T nexus",
        65540 => "unsupported data descriptor format", 65541 => "no multi-channel support per I_T nexus",
        65542 => "RDMA channel limit of the initiator reached", _ => return None,
    }))
}

/// Port of SRP: a GUID and what a device adds to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SrpPortId(pub [u8; 16]);

bits!(SrpPortId as Show::Bytes => Opaque, [u8; 16]: SrpPortId, |id: SrpPortId| id.0;);

header! {
    /// iSER header of a control PDU (RFC 7145, 9.2).
    ///
    /// ```text
    /// +-------+-+-+---------------------------------------------------+
    /// | opcode|w|r|                      reserved                     |
    /// +-------+-+-+---------------------------------------------------+
    /// |                           write_stag                          |
    /// +---------------------------------------------------------------+
    /// |                      write_base (64 bits)                     |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                           read_stag                           |
    /// +---------------------------------------------------------------+
    /// |                      read_base (64 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    Iser "iSER", 28 bytes {
        /// What the message is.
        opcode with_opcode: 4 as IserOpcode ["iser.flags.opcode"],
        /// The write STag is valid.
        wsv with_wsv: 1 as bool ["iser.flags.wsv"],
        /// The read STag is valid.
        rsv with_rsv: 1 as bool ["iser.flags.rsv"],
        /// Reserved.
        reserved with_reserved: 26 as Hex32,
        /// Key of the data that the target reads.
        write_stag with_write_stag: 32 as RKey ["iser.write_stag"],
        /// Where that data begins.
        write_base with_write_base: 64 as VirtualAddress ["iser.write_base_offset"],
        /// Key of the memory that the target writes.
        read_stag with_read_stag: 32 as RKey ["iser.read_stag"],
        /// Where that memory begins.
        read_base with_read_base: 64 as VirtualAddress ["iser.read_base_offset"],
    }
}

header! {
    /// Basic header segment of iSCSI, of PDUs that have no table of their own here (RFC 7143, 11.2.1).
    ///
    /// ```text
    /// +-+-+-----------+---------------+-------------------------------+
    /// |r|i|   opcode  |     flags     |            specific           |
    /// +-+-+-----------+---------------+-------------------------------+
    /// |total_ahs_lengt|              data_segment_length              |
    /// +---------------+-----------------------------------------------+
    /// |                         lun (64 bits)                         |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                       initiator_task_tag                      |
    /// +---------------------------------------------------------------+
    /// |                        rest (224 bits)                        |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    Iscsi "iSCSI", 48 bytes {
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// For immediate delivery.
        immediate with_immediate: 1 as bool,
        /// What the PDU is.
        opcode with_opcode: 6 as IscsiOpcode ["iscsi.opcode"],
        /// Flags of the PDU.
        flags with_flags: 8 as Hex8,
        /// What the PDU says.
        specific with_specific: 16 as Hex16,
        /// Words of additional headers.
        total_ahs_length with_total_ahs_length: 8 as u8 ["iscsi.totalahslength"],
        /// Bytes of data behind the headers.
        data_segment_length with_data_segment_length: 24 as u32 ["iscsi.datasegmentlength"],
        /// Logical unit, or what the PDU says.
        lun with_lun: 64 as Hex64,
        /// The task.
        initiator_task_tag with_initiator_task_tag: 32 as Hex32 ["iscsi.initiatortasktag"],
        /// What the PDU says.
        rest with_rest: 224 as [u8; 28],
    }
}

header! {
    /// SCSI Command (RFC 7143, 11.3).
    ///
    /// ```text
    /// +-+-+-----------+-+-+-+---+-----+-------------------------------+
    /// |r|i|   opcode  |i|r|w|res| attr|           reserved2           |
    /// +-+-+-----------+-+-+-+---+-----+-------------------------------+
    /// |total_ahs_lengt|              data_segment_length              |
    /// +---------------+-----------------------------------------------+
    /// |                         lun (64 bits)                         |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                       initiator_task_tag                      |
    /// +---------------------------------------------------------------+
    /// |                        expected_length                        |
    /// +---------------------------------------------------------------+
    /// |                             cmd_sn                            |
    /// +---------------------------------------------------------------+
    /// |                          exp_stat_sn                          |
    /// +---------------+-----------------------------------------------+
    /// |   cdb_opcode  |                                               |
    /// +---------------+-----------------------------------------------+
    /// |                              cdb                              |
    /// +---------------------------------------------------------------+
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    IscsiCommand "iSCSI SCSI Command", 48 bytes {
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// For immediate delivery.
        immediate with_immediate: 1 as bool ["iscsi.I"],
        /// What the PDU is.
        opcode with_opcode: 6 as IscsiOpcode ["iscsi.opcode"],
        /// No unsolicited data follows.
        is_final with_is_final: 1 as bool ["iscsi.scsicommand.F"],
        /// Data comes to the initiator.
        read with_read: 1 as bool ["iscsi.scsicommand.R"],
        /// Data comes from the initiator.
        write with_write: 1 as bool ["iscsi.scsicommand.W"],
        /// Reserved.
        reserved1 with_reserved1: 2 as u8,
        /// Task attributes.
        attr with_attr: 3 as u8 ["iscsi.scsicommand.attr"],
        /// Reserved.
        reserved2 with_reserved2: 16 as Hex16,
        /// Words of additional headers.
        total_ahs_length with_total_ahs_length: 8 as u8 ["iscsi.totalahslength"],
        /// Bytes of data behind the headers.
        data_segment_length with_data_segment_length: 24 as u32 ["iscsi.datasegmentlength"],
        /// Logical unit.
        lun with_lun: 64 as Hex64,
        /// The task.
        initiator_task_tag with_initiator_task_tag: 32 as Hex32 ["iscsi.initiatortasktag"],
        /// Bytes of data that are expected.
        expected_length with_expected_length: 32 as u32 ["iscsi.scsicommand.expecteddatatransferlength"],
        /// Number of the command.
        cmd_sn with_cmd_sn: 32 as Hex32 ["iscsi.cmdsn"],
        /// The next status that is expected.
        exp_stat_sn with_exp_stat_sn: 32 as Hex32 ["iscsi.expstatsn"],
        /// Operation code of the SCSI command.
        cdb_opcode with_cdb_opcode: 8 as ScsiOpcode,
        /// The rest of the command descriptor block.
        cdb with_cdb: 120 as [u8; 15],
    }
}

header! {
    /// SCSI Response (RFC 7143, 11.4).
    ///
    /// ```text
    /// +-+-+-----------+---------------+---------------+---------------+
    /// |r|i|   opcode  |     flags     |    response   |     status    |
    /// +-+-+-----------+---------------+---------------+---------------+
    /// |total_ahs_lengt|              data_segment_length              |
    /// +---------------+-----------------------------------------------+
    /// |                      reserved1 (64 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                       initiator_task_tag                      |
    /// +---------------------------------------------------------------+
    /// |                           snack_tag                           |
    /// +---------------------------------------------------------------+
    /// |                            stat_sn                            |
    /// +---------------------------------------------------------------+
    /// |                           exp_cmd_sn                          |
    /// +---------------------------------------------------------------+
    /// |                           max_cmd_sn                          |
    /// +---------------------------------------------------------------+
    /// |                          exp_data_sn                          |
    /// +---------------------------------------------------------------+
    /// |                         bidi_residual                         |
    /// +---------------------------------------------------------------+
    /// |                            residual                           |
    /// +---------------------------------------------------------------+
    /// ```
    IscsiResponse "iSCSI SCSI Response", 48 bytes {
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// For immediate delivery.
        immediate with_immediate: 1 as bool,
        /// What the PDU is.
        opcode with_opcode: 6 as IscsiOpcode ["iscsi.opcode"],
        /// Over- and underflow.
        flags with_flags: 8 as Hex8,
        /// 0: the target carried it out.
        response with_response: 8 as Hex8 ["iscsi.scsiresponse.response"],
        /// What became of it.
        status with_status: 8 as ScsiStatus ["iscsi.scsiresponse.status"],
        /// Words of additional headers.
        total_ahs_length with_total_ahs_length: 8 as u8 ["iscsi.totalahslength"],
        /// Bytes of data behind the headers.
        data_segment_length with_data_segment_length: 24 as u32 ["iscsi.datasegmentlength"],
        /// Reserved.
        reserved1 with_reserved1: 64 as Hex64,
        /// The task.
        initiator_task_tag with_initiator_task_tag: 32 as Hex32 ["iscsi.initiatortasktag"],
        /// Tag of a SNACK.
        snack_tag with_snack_tag: 32 as Hex32,
        /// Number of the status.
        stat_sn with_stat_sn: 32 as Hex32 ["iscsi.statsn"],
        /// The next command that is expected.
        exp_cmd_sn with_exp_cmd_sn: 32 as Hex32 ["iscsi.expcmdsn"],
        /// The last command that may be sent.
        max_cmd_sn with_max_cmd_sn: 32 as Hex32 ["iscsi.maxcmdsn"],
        /// Data PDUs of a read.
        exp_data_sn with_exp_data_sn: 32 as Hex32 ["iscsi.expdatasn"],
        /// Bytes of a bidirectional read that were not moved.
        bidi_residual with_bidi_residual: 32 as u32 ["iscsi.scsiresponse.bidireadresidualcount"],
        /// Bytes that were not moved.
        residual with_residual: 32 as u32 ["iscsi.scsiresponse.residualcount"],
    }
}

header! {
    /// Information unit of SRP that has no table of its own here: its beginning (SRP, 6.1).
    ///
    /// ```text
    /// +---------------+-----------------------------------------------+
    /// |     opcode    |                                               |
    /// +---------------+-----------------------------------------------+
    /// |                            reserved                           |
    /// +---------------------------------------------------------------+
    /// |                         tag (64 bits)                         |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    Srp "SRP", 16 bytes {
        /// What it is.
        opcode with_opcode: 8 as SrpOpcode,
        /// What it says.
        reserved with_reserved: 56 as Hex64,
        /// Which one it is: an answer has that of its request.
        tag with_tag: 64 as Hex64,
    }
}

header! {
    /// SRP_CMD (SRP, 6.8).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |     opcode    |    sol_not    |            reserved           |
    /// +---------------+-------+-------+---------------+---------------+
    /// |               |data_ou|data_in| data_out_count| data_in_count |
    /// +---------------+-------+-------+---------------+---------------+
    /// |                         tag (64 bits)                         |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                           reserved1                           |
    /// +---------------------------------------------------------------+
    /// |                         lun (64 bits)                         |
    /// |                                                               |
    /// +---------------+---------------+---------------+-----------+---+
    /// |   reserved2   |   task_attr   |   reserved3   |add_cdb_len|res|
    /// +---------------+---------------+---------------+-----------+---+
    /// |   cdb_opcode  |                                               |
    /// +---------------+-----------------------------------------------+
    /// |                              cdb                              |
    /// +---------------------------------------------------------------+
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    SrpCmd "SRP command", 48 bytes {
        /// What it is.
        opcode with_opcode: 8 as SrpOpcode,
        /// Solicited notifications.
        sol_not with_sol_not: 8 as Hex8,
        /// Reserved.
        reserved with_reserved: 24 as Hex32,
        /// Descriptor of data from the initiator: 0 none, 1 direct, 2 indirect, 3 the data itself (of Linux).
        data_out_format with_data_out_format: 4 as u8,
        /// Descriptor of data to the initiator: 0 none, 1 direct, 2 indirect.
        data_in_format with_data_in_format: 4 as u8,
        /// Entries in the descriptor of data from the initiator.
        data_out_count with_data_out_count: 8 as u8,
        /// Entries in the descriptor of data to the initiator.
        data_in_count with_data_in_count: 8 as u8,
        /// Which command it is.
        tag with_tag: 64 as Hex64,
        /// Reserved.
        reserved1 with_reserved1: 32 as Hex32,
        /// Logical unit.
        lun with_lun: 64 as Hex64,
        /// Reserved.
        reserved2 with_reserved2: 8 as Hex8,
        /// Task attributes.
        task_attr with_task_attr: 8 as u8,
        /// Reserved.
        reserved3 with_reserved3: 8 as Hex8,
        /// Words of the command descriptor block behind its first 16 bytes.
        add_cdb_len with_add_cdb_len: 6 as u8,
        /// Reserved.
        reserved4 with_reserved4: 2 as u8,
        /// Operation code of the SCSI command.
        cdb_opcode with_cdb_opcode: 8 as ScsiOpcode,
        /// The rest of the command descriptor block.
        cdb with_cdb: 120 as [u8; 15],
    }
}

header! {
    /// SRP_RSP (SRP, 6.9).
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |     opcode    |    sol_not    |            reserved           |
    /// +---------------+---------------+-------------------------------+
    /// |                         req_lim_delta                         |
    /// +---------------------------------------------------------------+
    /// |                         tag (64 bits)                         |
    /// |                                                               |
    /// +-------------------------------+---------------+---------------+
    /// |           reserved1           |     flags     |     status    |
    /// +-------------------------------+---------------+---------------+
    /// |                       data_out_residual                       |
    /// +---------------------------------------------------------------+
    /// |                        data_in_residual                       |
    /// +---------------------------------------------------------------+
    /// |                           sense_len                           |
    /// +---------------------------------------------------------------+
    /// |                          response_len                         |
    /// +---------------------------------------------------------------+
    /// ```
    SrpRsp "SRP response", 36 bytes {
        /// What it is.
        opcode with_opcode: 8 as SrpOpcode,
        /// Solicited notifications.
        sol_not with_sol_not: 8 as Hex8,
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// Commands more that the initiator may send.
        req_lim_delta with_req_lim_delta: 32 as u32,
        /// The command.
        tag with_tag: 64 as Hex64,
        /// Reserved.
        reserved1 with_reserved1: 16 as Hex16,
        /// Which of the following is valid.
        flags with_flags: 8 as Hex8,
        /// What became of it.
        status with_status: 8 as ScsiStatus,
        /// Bytes from the initiator that were not moved.
        data_out_residual with_data_out_residual: 32 as u32,
        /// Bytes to the initiator that were not moved.
        data_in_residual with_data_in_residual: 32 as u32,
        /// Bytes of sense data.
        sense_len with_sense_len: 32 as u32,
        /// Bytes of response data.
        response_len with_response_len: 32 as u32,
    }
}

header! {
    /// Memory of the initiator (SRP, 5.6.2).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                       address (64 bits)                       |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                              key                              |
    /// +---------------------------------------------------------------+
    /// |                             length                            |
    /// +---------------------------------------------------------------+
    /// ```
    SrpDescriptor "SRP memory descriptor", 16 bytes {
        /// Where the memory begins.
        address with_address: 64 as VirtualAddress,
        /// Its key.
        key with_key: 32 as RKey,
        /// Its bytes.
        length with_length: 32 as u32,
    }
}

header! {
    /// Beginning of a list of memory descriptors: where the whole list is, and what it is together (SRP, 5.6.2).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                       address (64 bits)                       |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                              key                              |
    /// +---------------------------------------------------------------+
    /// |                             length                            |
    /// +---------------------------------------------------------------+
    /// |                          total_length                         |
    /// +---------------------------------------------------------------+
    /// ```
    SrpIndirect "SRP indirect descriptor", 20 bytes {
        /// Where the memory begins.
        address with_address: 64 as VirtualAddress,
        /// Its key.
        key with_key: 32 as RKey,
        /// Its bytes.
        length with_length: 32 as u32,
        /// Bytes of data.
        total_length with_total_length: 32 as u32,
    }
}

header! {
    /// SRP_LOGIN_REQ (SRP, 6.2): private data of a REQ. Over RDMA-CM, Linux sends a shorter one.
    ///
    /// ```text
    /// +---------------+-----------------------------------------------+
    /// |     opcode    |                                               |
    /// +---------------+-----------------------------------------------+
    /// |                            reserved                           |
    /// +---------------------------------------------------------------+
    /// |                         tag (64 bits)                         |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                         req_it_iu_len                         |
    /// +---------------------------------------------------------------+
    /// |                           reserved1                           |
    /// +-------------------------------+---------------+---------------+
    /// |          req_buf_fmt          |   req_flags   |   reserved2   |
    /// +-------------------------------+---------------+---------------+
    /// |        imm_data_offset        |           reserved3           |
    /// +-------------------------------+-------------------------------+
    /// |                  initiator_port_id (128 bits)                 |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                   target_port_id (128 bits)                   |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    SrpLoginReq "SRP login request", 64 bytes {
        /// What it is.
        opcode with_opcode: 8 as SrpOpcode,
        /// Reserved.
        reserved with_reserved: 56 as Hex64,
        /// Which one it is.
        tag with_tag: 64 as Hex64,
        /// The longest information unit to the target.
        req_it_iu_len with_req_it_iu_len: 32 as u32,
        /// Reserved.
        reserved1 with_reserved1: 32 as Hex32,
        /// Descriptor formats.
        req_buf_fmt with_req_buf_fmt: 16 as Hex16,
        /// What becomes of other channels.
        req_flags with_req_flags: 8 as Hex8,
        /// Reserved.
        reserved2 with_reserved2: 8 as Hex8,
        /// Where immediate data begins, of Linux.
        imm_data_offset with_imm_data_offset: 16 as u16,
        /// Reserved.
        reserved3 with_reserved3: 16 as Hex16,
        /// The initiator.
        initiator_port_id with_initiator_port_id: 128 as SrpPortId,
        /// The target.
        target_port_id with_target_port_id: 128 as SrpPortId,
    }
}

header! {
    /// SRP_LOGIN_RSP (SRP, 6.3): private data of a REP.
    ///
    /// ```text
    /// +---------------+-----------------------------------------------+
    /// |     opcode    |                    reserved                   |
    /// +---------------+-----------------------------------------------+
    /// |                         req_lim_delta                         |
    /// +---------------------------------------------------------------+
    /// |                         tag (64 bits)                         |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                         max_it_iu_len                         |
    /// +---------------------------------------------------------------+
    /// |                         max_ti_iu_len                         |
    /// +-------------------------------+---------------+---------------+
    /// |            buf_fmt            |   rsp_flags   |               |
    /// +-------------------------------+---------------+---------------+
    /// |                           reserved1                           |
    /// +---------------------------------------------------------------+
    /// |                                                               |
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
    SrpLoginRsp "SRP login response", 52 bytes {
        /// What it is.
        opcode with_opcode: 8 as SrpOpcode,
        /// Reserved.
        reserved with_reserved: 24 as Hex32,
        /// Commands that the initiator may send.
        req_lim_delta with_req_lim_delta: 32 as u32,
        /// The request.
        tag with_tag: 64 as Hex64,
        /// The longest information unit to the target.
        max_it_iu_len with_max_it_iu_len: 32 as u32,
        /// The longest information unit to the initiator.
        max_ti_iu_len with_max_ti_iu_len: 32 as u32,
        /// Descriptor formats.
        buf_fmt with_buf_fmt: 16 as Hex16,
        /// What became of other channels.
        rsp_flags with_rsp_flags: 8 as Hex8,
        /// Reserved.
        reserved1 with_reserved1: 200 as [u8; 25],
    }
}

header! {
    /// SRP_LOGIN_REJ (SRP, 6.4): private data of a REJ.
    ///
    /// ```text
    /// +---------------+-----------------------------------------------+
    /// |     opcode    |                    reserved                   |
    /// +---------------+-----------------------------------------------+
    /// |                             reason                            |
    /// +---------------------------------------------------------------+
    /// |                         tag (64 bits)                         |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                      reserved1 (64 bits)                      |
    /// |                                                               |
    /// +-------------------------------+-------------------------------+
    /// |            buf_fmt            |                               |
    /// +-------------------------------+-------------------------------+
    /// |                           reserved2                           |
    /// +---------------------------------------------------------------+
    /// ```
    SrpLoginRej "SRP login rejection", 32 bytes {
        /// What it is.
        opcode with_opcode: 8 as SrpOpcode,
        /// Reserved.
        reserved with_reserved: 24 as Hex32,
        /// Why.
        reason with_reason: 32 as SrpLoginReason,
        /// The request.
        tag with_tag: 64 as Hex64,
        /// Reserved.
        reserved1 with_reserved1: 64 as Hex64,
        /// Descriptor formats that the target knows.
        buf_fmt with_buf_fmt: 16 as Hex16,
        /// Reserved.
        reserved2 with_reserved2: 48 as Hex64,
    }
}
