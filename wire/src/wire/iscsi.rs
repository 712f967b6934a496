//! PDUs of iSCSI beside SCSI commands and their answers (RFC 7143).

use super::{Hex8, Hex16, Hex32, Hex64, IscsiOpcode, Opaque, Show};

number! {
    /// A stage of a login (RFC 7143, 11.12.3).
    IscsiStage(u8) as Show::Named(|v| Some(match v {
        0 => "security negotiation", 1 => "operational negotiation", 3 => "full feature phase", _ => return None,
    }))
}

number! {
    /// What became of a login: class and detail (RFC 7143, 11.13.5).
    IscsiLoginStatus(u16) as Show::Named(|v| Some(match v {
        0x0000 => "success", 0x0101 => "target moved temporarily", 0x0102 => "target moved permanently", 0x0200 => "initiator error",
        0x0201 => "authentication failed", 0x0202 => "not allowed", 0x0203 => "target not found", 0x0204 => "target removed",
        0x0205 => "unsupported version", 0x0206 => "too many connections", 0x0207 => "missing parameter",
        0x0208 => "cannot be included in the session", 0x0209 => "session type not supported", 0x020a => "session does not exist",
        0x020b => "invalid during login", 0x0300 => "target error", 0x0301 => "service unavailable", 0x0302 => "out of resources",
        _ => return None,
    }))
}

header! {
    /// Login Request (RFC 7143, 11.12); text follows.
    ///
    /// ```text
    /// +-+-+-----------+-+-+---+---+---+---------------+---------------+
    /// |r|i|   opcode  |t|m|res|cur|nex|  version_max  |  version_min  |
    /// +-+-+-----------+-+-+---+---+---+---------------+---------------+
    /// |total_ahs_lengt|              data_segment_length              |
    /// +---------------+-----------------------------------------------+
    /// |                              isid                             |
    /// +-------------------------------+-------------------------------+
    /// |                               |              tsih             |
    /// +-------------------------------+-------------------------------+
    /// |                       initiator_task_tag                      |
    /// +-------------------------------+-------------------------------+
    /// |              cid              |           reserved2           |
    /// +-------------------------------+-------------------------------+
    /// |                             cmd_sn                            |
    /// +---------------------------------------------------------------+
    /// |                          exp_stat_sn                          |
    /// +---------------------------------------------------------------+
    /// |                      reserved3 (128 bits)                     |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    IscsiLoginReq "iSCSI Login Request", 48 bytes {
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// For immediate delivery.
        immediate with_immediate: 1 as bool,
        /// What the PDU is.
        opcode with_opcode: 6 as IscsiOpcode ["iscsi.opcode"],
        /// Ready for the next stage.
        transit with_transit: 1 as bool ["iscsi.login.T"],
        /// The text goes on in another PDU.
        more with_more: 1 as bool ["iscsi.login.C"],
        /// Reserved.
        reserved1 with_reserved1: 2 as u8,
        /// The stage that the login is in.
        current_stage with_current_stage: 2 as IscsiStage ["iscsi.login.csg"],
        /// The next stage.
        next_stage with_next_stage: 2 as IscsiStage ["iscsi.login.nsg"],
        /// The highest version.
        version_max with_version_max: 8 as Hex8 ["iscsi.versionmax"],
        /// The lowest version.
        version_min with_version_min: 8 as Hex8 ["iscsi.versionmin"],
        /// Words of additional headers.
        total_ahs_length with_total_ahs_length: 8 as u8 ["iscsi.totalahslength"],
        /// Bytes of data behind the headers.
        data_segment_length with_data_segment_length: 24 as u32 ["iscsi.datasegmentlength"],
        /// The initiator's part of the session's number.
        isid with_isid: 48 as Opaque<6> ["iscsi.isid"],
        /// The target's part of the session's number; 0: a new session.
        tsih with_tsih: 16 as Hex16 ["iscsi.tsih"],
        /// The task.
        initiator_task_tag with_initiator_task_tag: 32 as Hex32 ["iscsi.initiatortasktag"],
        /// The connection in the session.
        cid with_cid: 16 as u16 ["iscsi.cid"],
        /// Reserved.
        reserved2 with_reserved2: 16 as Hex16,
        /// Number of the command.
        cmd_sn with_cmd_sn: 32 as Hex32 ["iscsi.cmdsn"],
        /// The next status that is expected.
        exp_stat_sn with_exp_stat_sn: 32 as Hex32 ["iscsi.expstatsn"],
        /// Reserved.
        reserved3 with_reserved3: 128 as [u8; 16],
    }
}

header! {
    /// Login Response (RFC 7143, 11.13); text follows.
    ///
    /// ```text
    /// +-+-+-----------+-+-+---+---+---+---------------+---------------+
    /// |r|i|   opcode  |t|m|res|cur|nex|  version_max  | version_active|
    /// +-+-+-----------+-+-+---+---+---+---------------+---------------+
    /// |total_ahs_lengt|              data_segment_length              |
    /// +---------------+-----------------------------------------------+
    /// |                              isid                             |
    /// +-------------------------------+-------------------------------+
    /// |                               |              tsih             |
    /// +-------------------------------+-------------------------------+
    /// |                       initiator_task_tag                      |
    /// +---------------------------------------------------------------+
    /// |                           reserved2                           |
    /// +---------------------------------------------------------------+
    /// |                            stat_sn                            |
    /// +---------------------------------------------------------------+
    /// |                           exp_cmd_sn                          |
    /// +---------------------------------------------------------------+
    /// |                           max_cmd_sn                          |
    /// +-------------------------------+-------------------------------+
    /// |             status            |                               |
    /// +-------------------------------+-------------------------------+
    /// |                           reserved3                           |
    /// +---------------------------------------------------------------+
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    IscsiLoginRsp "iSCSI Login Response", 48 bytes {
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// For immediate delivery.
        immediate with_immediate: 1 as bool,
        /// What the PDU is.
        opcode with_opcode: 6 as IscsiOpcode ["iscsi.opcode"],
        /// Ready for the next stage.
        transit with_transit: 1 as bool ["iscsi.login.T"],
        /// The text goes on in another PDU.
        more with_more: 1 as bool ["iscsi.login.C"],
        /// Reserved.
        reserved1 with_reserved1: 2 as u8,
        /// The stage that the login is in.
        current_stage with_current_stage: 2 as IscsiStage ["iscsi.login.csg"],
        /// The next stage.
        next_stage with_next_stage: 2 as IscsiStage ["iscsi.login.nsg"],
        /// The highest version.
        version_max with_version_max: 8 as Hex8 ["iscsi.versionmax"],
        /// The version in use.
        version_active with_version_active: 8 as Hex8 ["iscsi.versionactive"],
        /// Words of additional headers.
        total_ahs_length with_total_ahs_length: 8 as u8 ["iscsi.totalahslength"],
        /// Bytes of data behind the headers.
        data_segment_length with_data_segment_length: 24 as u32 ["iscsi.datasegmentlength"],
        /// The initiator's part of the session's number.
        isid with_isid: 48 as Opaque<6> ["iscsi.isid"],
        /// The target's part of the session's number; 0: a new session.
        tsih with_tsih: 16 as Hex16 ["iscsi.tsih"],
        /// The task.
        initiator_task_tag with_initiator_task_tag: 32 as Hex32 ["iscsi.initiatortasktag"],
        /// Reserved.
        reserved2 with_reserved2: 32 as Hex32,
        /// Number of the status.
        stat_sn with_stat_sn: 32 as Hex32 ["iscsi.statsn"],
        /// The next command that is expected.
        exp_cmd_sn with_exp_cmd_sn: 32 as Hex32 ["iscsi.expcmdsn"],
        /// The last command that is allowed.
        max_cmd_sn with_max_cmd_sn: 32 as Hex32 ["iscsi.maxcmdsn"],
        /// What became of it.
        status with_status: 16 as IscsiLoginStatus ["iscsi.login.status"],
        /// Reserved.
        reserved3 with_reserved3: 80 as [u8; 10],
    }
}

header! {
    /// NOP-Out, Text Request, Logout Request or Task Management Request (RFC 7143, 11.18, 11.10, 11.14 and 11.5).
    ///
    /// ```text
    /// +-+-+-----------+-+-------------+-------------------------------+
    /// |r|i|   opcode  |i|   function  |           reserved1           |
    /// +-+-+-----------+-+-------------+-------------------------------+
    /// |total_ahs_lengt|              data_segment_length              |
    /// +---------------+-----------------------------------------------+
    /// |                         lun (64 bits)                         |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                       initiator_task_tag                      |
    /// +---------------------------------------------------------------+
    /// |                              tag                              |
    /// +---------------------------------------------------------------+
    /// |                             cmd_sn                            |
    /// +---------------------------------------------------------------+
    /// |                          exp_stat_sn                          |
    /// +---------------------------------------------------------------+
    /// |                           ref_cmd_sn                          |
    /// +---------------------------------------------------------------+
    /// |                          exp_data_sn                          |
    /// +---------------------------------------------------------------+
    /// |                      reserved2 (64 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    IscsiRequest "iSCSI request", 48 bytes {
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// For immediate delivery.
        immediate with_immediate: 1 as bool ["iscsi.I"],
        /// What the PDU is.
        opcode with_opcode: 6 as IscsiOpcode ["iscsi.opcode"],
        /// It is whole.
        is_final with_is_final: 1 as bool,
        /// Of task management, the function; of a logout, the reason; of a text, 0x40 if it goes on.
        function with_function: 7 as Hex8,
        /// Reserved.
        reserved1 with_reserved1: 16 as Hex16,
        /// Words of additional headers.
        total_ahs_length with_total_ahs_length: 8 as u8 ["iscsi.totalahslength"],
        /// Bytes of data behind the headers.
        data_segment_length with_data_segment_length: 24 as u32 ["iscsi.datasegmentlength"],
        /// Logical unit.
        lun with_lun: 64 as Hex64,
        /// The task.
        initiator_task_tag with_initiator_task_tag: 32 as Hex32 ["iscsi.initiatortasktag"],
        /// The target's tag; of task management, the task that is meant; of a logout, the connection in its first half.
        tag with_tag: 32 as Hex32,
        /// Number of the command.
        cmd_sn with_cmd_sn: 32 as Hex32 ["iscsi.cmdsn"],
        /// The next status that is expected.
        exp_stat_sn with_exp_stat_sn: 32 as Hex32 ["iscsi.expstatsn"],
        /// Of task management, the number of the command that is meant.
        ref_cmd_sn with_ref_cmd_sn: 32 as Hex32,
        /// Of task management, the next data that is expected.
        exp_data_sn with_exp_data_sn: 32 as Hex32,
        /// Reserved.
        reserved2 with_reserved2: 64 as Hex64,
    }
}

header! {
    /// NOP-In, Text Response, Logout Response, Task Management Response, Asynchronous Message or Reject (RFC 7143, 11.19, 11.11, 11.15, 11.6, 11.9 and 11.17).
    ///
    /// ```text
    /// +-+-+-----------+-+-------------+---------------+---------------+
    /// |r|i|   opcode  |i|    flags    |    outcome    |   reserved1   |
    /// +-+-+-----------+-+-------------+---------------+---------------+
    /// |total_ahs_lengt|              data_segment_length              |
    /// +---------------+-----------------------------------------------+
    /// |                         lun (64 bits)                         |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                       initiator_task_tag                      |
    /// +---------------------------------------------------------------+
    /// |                      target_transfer_tag                      |
    /// +---------------------------------------------------------------+
    /// |                            stat_sn                            |
    /// +---------------------------------------------------------------+
    /// |                           exp_cmd_sn                          |
    /// +---------------------------------------------------------------+
    /// |                           max_cmd_sn                          |
    /// +-------------------------------+-------------------------------+
    /// |             event             |           reserved2           |
    /// +-------------------------------+-------------------------------+
    /// |           time2wait           |          time2retain          |
    /// +-------------------------------+-------------------------------+
    /// |                           reserved3                           |
    /// +---------------------------------------------------------------+
    /// ```
    IscsiReply "iSCSI reply", 48 bytes {
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// For immediate delivery.
        immediate with_immediate: 1 as bool,
        /// What the PDU is.
        opcode with_opcode: 6 as IscsiOpcode ["iscsi.opcode"],
        /// It is whole.
        is_final with_is_final: 1 as bool,
        /// Of a text, 0x40 if it goes on.
        flags with_flags: 7 as Hex8,
        /// Of a logout and of task management, what became of it; of a reject, the reason.
        outcome with_outcome: 8 as Hex8,
        /// Reserved.
        reserved1 with_reserved1: 8 as Hex8,
        /// Words of additional headers.
        total_ahs_length with_total_ahs_length: 8 as u8 ["iscsi.totalahslength"],
        /// Bytes of data behind the headers.
        data_segment_length with_data_segment_length: 24 as u32 ["iscsi.datasegmentlength"],
        /// Logical unit.
        lun with_lun: 64 as Hex64,
        /// The task.
        initiator_task_tag with_initiator_task_tag: 32 as Hex32 ["iscsi.initiatortasktag"],
        /// The target's tag.
        target_transfer_tag with_target_transfer_tag: 32 as Hex32 ["iscsi.targettransfertag"],
        /// Number of the status.
        stat_sn with_stat_sn: 32 as Hex32 ["iscsi.statsn"],
        /// The next command that is expected.
        exp_cmd_sn with_exp_cmd_sn: 32 as Hex32 ["iscsi.expcmdsn"],
        /// The last command that is allowed.
        max_cmd_sn with_max_cmd_sn: 32 as Hex32 ["iscsi.maxcmdsn"],
        /// Of an asynchronous message, the event, and the vendor's code.
        event with_event: 16 as Hex16,
        /// Reserved; of an asynchronous message, a parameter.
        reserved2 with_reserved2: 16 as Hex16,
        /// Of a logout, seconds until a new login; of an asynchronous message, a parameter.
        time2wait with_time2wait: 16 as u16 ["iscsi.time2wait"],
        /// Of a logout, seconds that tasks are kept; of an asynchronous message, a parameter.
        time2retain with_time2retain: 16 as u16 ["iscsi.time2retain"],
        /// Reserved.
        reserved3 with_reserved3: 32 as Hex32,
    }
}
