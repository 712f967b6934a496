//! Headers of Ultra Ethernet's (UET 1.0) semantic sublayer (SES).
//!
//! The specification was not read: these are as three public implementations have them. What they dispute is said at the header or field,
//! and is to be shown, not judged by.

use super::{
    Hex8, Hex16, Hex32, Hex64, JobId, MemoryKey, SesAtomicOp, SesAtomicType, SesList, SesOpcode,
    SesResponseOpcode, SesReturnCode, VirtualAddress,
};

header! {
    /// Request of the semantic sublayer (SES), in its smallest form.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-+-+-+-+-+-+---+---------------------------+
    /// | r |   opcode  |ver|D|I|R|H|E|S| r |       request_length      |
    /// +---+-----------+---+-+-+-+-+-+-+---+---------------------------+
    /// |   generation  |                     job_id                    |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |  rsv  |       pid_on_fep      |  rsv  |     resource_index    |
    /// +-------+-----------------------+-------+-----------------------+
    /// |                    buffer_offset (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// ```
    SesSmall "SES small request", 20 bytes {
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// The operation.
        opcode with_opcode: 6 as SesOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// The response comes only when the data is in its place.
        dc with_dc: 1 as bool,
        /// The initiator has an error.
        ie with_ie: 1 as bool,
        /// The target's address is relative to a job.
        rel with_rel: 1 as bool,
        /// header_data is there.
        hd with_hd: 1 as bool,
        /// The last packet of a message.
        eom with_eom: 1 as bool,
        /// The first.
        som with_som: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// Bytes of the message. One source of three has a message number here.
        request_length with_request_length: 14 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Reserved.
        reserved2 with_reserved2: 4 as Hex8,
        /// The process at the target.
        pid_on_fep with_pid_on_fep: 12 as Hex16,
        /// Reserved.
        reserved3 with_reserved3: 4 as Hex8,
        /// Which of its resources.
        resource_index with_resource_index: 12 as Hex16,
        /// Place in the target's memory.
        buffer_offset with_buffer_offset: 64 as VirtualAddress,
    }
}

header! {
    /// Request of the semantic sublayer, in its middle form.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-+-+-+-+-+-+---+---------------------------+
    /// | r |   opcode  |ver|D|I|R|H|E|S| r |       request_length      |
    /// +---+-----------+---+-+-+-+-+-+-+---+---------------------------+
    /// |   generation  |                     job_id                    |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |  rsv  |       pid_on_fep      |  rsv  |     resource_index    |
    /// +-------+-----------------------+-------+-----------------------+
    /// |                     header_data (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                           initiator                           |
    /// +---------------------------------------------------------------+
    /// |                      memory_key (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    SesMedium "SES medium request", 32 bytes {
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// The operation.
        opcode with_opcode: 6 as SesOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// The response comes only when the data is in its place.
        dc with_dc: 1 as bool,
        /// The initiator has an error.
        ie with_ie: 1 as bool,
        /// The target's address is relative to a job.
        rel with_rel: 1 as bool,
        /// header_data is there.
        hd with_hd: 1 as bool,
        /// The last packet of a message.
        eom with_eom: 1 as bool,
        /// The first.
        som with_som: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// Bytes of the message. One source of three has a message number here.
        request_length with_request_length: 14 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Reserved.
        reserved2 with_reserved2: 4 as Hex8,
        /// The process at the target.
        pid_on_fep with_pid_on_fep: 12 as Hex16,
        /// Reserved.
        reserved3 with_reserved3: 4 as Hex8,
        /// Which of its resources.
        resource_index with_resource_index: 12 as Hex16,
        /// The application's own with hd, else the place in the target's memory.
        header_data with_header_data: 64 as Hex64,
        /// Who asks.
        initiator with_initiator: 32 as JobId,
        /// Key to the memory, or of tagged operations the bits to be matched.
        memory_key with_memory_key: 64 as MemoryKey,
    }
}

header! {
    /// Request of the semantic sublayer, in its standard form: the first packet of a message.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// | r |   opcode  |ver|D|I|R|H|E|S|           message_id          |
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// |   generation  |                     job_id                    |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |  rsv  |       pid_on_fep      |  rsv  |     resource_index    |
    /// +-------+-----------------------+-------+-----------------------+
    /// |                    buffer_offset (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                           initiator                           |
    /// +---------------------------------------------------------------+
    /// |                      memory_key (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                     header_data (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                         request_length                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesStandard "SES request", 44 bytes {
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// The operation.
        opcode with_opcode: 6 as SesOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// The response comes only when the data is in its place.
        dc with_dc: 1 as bool,
        /// The initiator has an error.
        ie with_ie: 1 as bool,
        /// The target's address is relative to a job.
        rel with_rel: 1 as bool,
        /// header_data is there.
        hd with_hd: 1 as bool,
        /// The last packet of a message.
        eom with_eom: 1 as bool,
        /// The first.
        som with_som: 1 as bool,
        /// Number of the message.
        message_id with_message_id: 16 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Reserved.
        reserved2 with_reserved2: 4 as Hex8,
        /// The process at the target.
        pid_on_fep with_pid_on_fep: 12 as Hex16,
        /// Reserved.
        reserved3 with_reserved3: 4 as Hex8,
        /// Which of its resources.
        resource_index with_resource_index: 12 as Hex16,
        /// Place in the target's memory.
        buffer_offset with_buffer_offset: 64 as VirtualAddress,
        /// Who asks.
        initiator with_initiator: 32 as JobId,
        /// Key to the memory, or of tagged operations the bits to be matched.
        memory_key with_memory_key: 64 as MemoryKey,
        /// The application's own.
        header_data with_header_data: 64 as Hex64,
        /// Bytes of the message.
        request_length with_request_length: 32 as u32,
    }
}

header! {
    /// The same without som: a later packet of a message.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// | r |   opcode  |ver|D|I|R|H|E|S|           message_id          |
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// |   generation  |                     job_id                    |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |  rsv  |       pid_on_fep      |  rsv  |     resource_index    |
    /// +-------+-----------------------+-------+-----------------------+
    /// |                    buffer_offset (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                           initiator                           |
    /// +---------------------------------------------------------------+
    /// |                      memory_key (64 bits)                     |
    /// +-----------------------------------+---------------------------+
    /// |              reserved             |       payload_length      |
    /// +-----------------------------------+---------------------------+
    /// |                         message_offset                        |
    /// +---------------------------------------------------------------+
    /// |                         request_length                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesStandardLater "SES request later", 44 bytes {
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// The operation.
        opcode with_opcode: 6 as SesOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// The response comes only when the data is in its place.
        dc with_dc: 1 as bool,
        /// The initiator has an error.
        ie with_ie: 1 as bool,
        /// The target's address is relative to a job.
        rel with_rel: 1 as bool,
        /// header_data is there.
        hd with_hd: 1 as bool,
        /// The last packet of a message.
        eom with_eom: 1 as bool,
        /// The first.
        som with_som: 1 as bool,
        /// Number of the message.
        message_id with_message_id: 16 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Reserved.
        reserved2 with_reserved2: 4 as Hex8,
        /// The process at the target.
        pid_on_fep with_pid_on_fep: 12 as Hex16,
        /// Reserved.
        reserved3 with_reserved3: 4 as Hex8,
        /// Which of its resources.
        resource_index with_resource_index: 12 as Hex16,
        /// Place in the target's memory.
        buffer_offset with_buffer_offset: 64 as VirtualAddress,
        /// Who asks.
        initiator with_initiator: 32 as JobId,
        /// Key to the memory, or of tagged operations the bits to be matched.
        memory_key with_memory_key: 64 as MemoryKey,
        /// Reserved.
        reserved4 with_reserved4: 18 as Hex32,
        /// Bytes in this packet.
        payload_length with_payload_length: 14 as u16,
        /// Their place in the message.
        message_offset with_message_offset: 32 as u32,
        /// Bytes of the message.
        request_length with_request_length: 32 as u32,
    }
}

header! {
    /// A send that the target may defer.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// | r |   opcode  |ver|D|I|R|H|E|S|           message_id          |
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// |   generation  |                     job_id                    |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |  rsv  |       pid_on_fep      |  rsv  |     resource_index    |
    /// +-------+-----------------------+-------+-----------------------+
    /// |                    initiator_restart_token                    |
    /// +---------------------------------------------------------------+
    /// |                      target_restart_token                     |
    /// +---------------------------------------------------------------+
    /// |                           initiator                           |
    /// +---------------------------------------------------------------+
    /// |                      memory_key (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                     header_data (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                         request_length                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesDeferrable "SES deferrable send", 44 bytes {
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// The operation.
        opcode with_opcode: 6 as SesOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// The response comes only when the data is in its place.
        dc with_dc: 1 as bool,
        /// The initiator has an error.
        ie with_ie: 1 as bool,
        /// The target's address is relative to a job.
        rel with_rel: 1 as bool,
        /// header_data is there.
        hd with_hd: 1 as bool,
        /// The last packet of a message.
        eom with_eom: 1 as bool,
        /// The first.
        som with_som: 1 as bool,
        /// Number of the message.
        message_id with_message_id: 16 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Reserved.
        reserved2 with_reserved2: 4 as Hex8,
        /// The process at the target.
        pid_on_fep with_pid_on_fep: 12 as Hex16,
        /// Reserved.
        reserved3 with_reserved3: 4 as Hex8,
        /// Which of its resources.
        resource_index with_resource_index: 12 as Hex16,
        /// The initiator's, to go on later.
        initiator_restart_token with_initiator_restart_token: 32 as Hex32,
        /// The target's.
        target_restart_token with_target_restart_token: 32 as Hex32,
        /// Who asks.
        initiator with_initiator: 32 as JobId,
        /// Key to the memory, or of tagged operations the bits to be matched.
        memory_key with_memory_key: 64 as MemoryKey,
        /// The application's own.
        header_data with_header_data: 64 as Hex64,
        /// Bytes of the message.
        request_length with_request_length: 32 as u32,
    }
}

header! {
    /// The target is ready for a send that it deferred.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// | r |   opcode  |ver|D|I|R|H|E|S|           message_id          |
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// |   generation  |                     job_id                    |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |  rsv  |       pid_on_fep      |  rsv  |     resource_index    |
    /// +-------+-----------------------+-------+-----------------------+
    /// |                    buffer_offset (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                           initiator                           |
    /// +---------------------------------------------------------------+
    /// |                    initiator_restart_token                    |
    /// +---------------------------------------------------------------+
    /// |                      target_restart_token                     |
    /// +---------------------------------------------------------------+
    /// |                     header_data (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                         request_length                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesRestart "SES ready to restart", 44 bytes {
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// The operation.
        opcode with_opcode: 6 as SesOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// The response comes only when the data is in its place.
        dc with_dc: 1 as bool,
        /// The initiator has an error.
        ie with_ie: 1 as bool,
        /// The target's address is relative to a job.
        rel with_rel: 1 as bool,
        /// header_data is there.
        hd with_hd: 1 as bool,
        /// The last packet of a message.
        eom with_eom: 1 as bool,
        /// The first.
        som with_som: 1 as bool,
        /// Number of the message.
        message_id with_message_id: 16 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Reserved.
        reserved2 with_reserved2: 4 as Hex8,
        /// The process at the target.
        pid_on_fep with_pid_on_fep: 12 as Hex16,
        /// Reserved.
        reserved3 with_reserved3: 4 as Hex8,
        /// Which of its resources.
        resource_index with_resource_index: 12 as Hex16,
        /// Place in the target's memory.
        buffer_offset with_buffer_offset: 64 as VirtualAddress,
        /// Who asks.
        initiator with_initiator: 32 as JobId,
        /// The initiator's, to go on later.
        initiator_restart_token with_initiator_restart_token: 32 as Hex32,
        /// The target's.
        target_restart_token with_target_restart_token: 32 as Hex32,
        /// The application's own.
        header_data with_header_data: 64 as Hex64,
        /// Bytes of the message.
        request_length with_request_length: 32 as u32,
    }
}

header! {
    /// Response of the semantic sublayer.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-----------+-------------------------------+
    /// |lis|   opcode  |ver|return_code|           message_id          |
    /// +---+-----------+---+-----------+-------------------------------+
    /// |   generation  |                     job_id                    |
    /// +---------------+-----------------------------------------------+
    /// |                        modified_length                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesResponse "SES response", 12 bytes {
        /// Which list the message was delivered to.
        list with_list: 2 as SesList,
        /// The kind of response.
        opcode with_opcode: 6 as SesResponseOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// What became of the request.
        return_code with_return_code: 6 as SesReturnCode,
        /// Number of the message.
        message_id with_message_id: 16 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Bytes that were taken.
        modified_length with_modified_length: 32 as u32,
    }
}

header! {
    /// Response with data, to a read or a fetching atomic operation.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-----------+-------------------------------+
    /// |lis|   opcode  |ver|return_code|           message_id          |
    /// +---+-----------+---+-----------+-------------------------------+
    /// |      rsv      |                     job_id                    |
    /// +---------------+---------------+---+---------------------------+
    /// |    read_request_message_id    | r |       payload_length      |
    /// +-------------------------------+---+---------------------------+
    /// |                        modified_length                        |
    /// +---------------------------------------------------------------+
    /// |                         message_offset                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesResponseData "SES response with data", 20 bytes {
        /// Which list the message was delivered to.
        list with_list: 2 as SesList,
        /// The kind of response.
        opcode with_opcode: 6 as SesResponseOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// What became of the request.
        return_code with_return_code: 6 as SesReturnCode,
        /// Number of the message.
        message_id with_message_id: 16 as u16,
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Number of the request's message.
        read_request_message_id with_read_request_message_id: 16 as u16,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// Bytes in this packet.
        payload_length with_payload_length: 14 as u16,
        /// Bytes that are read in all.
        modified_length with_modified_length: 32 as u32,
        /// The place of these bytes.
        message_offset with_message_offset: 32 as u32,
    }
}

header! {
    /// Response with data that fits one packet.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-----------+---+---------------------------+
    /// |lis|   opcode  |ver|return_code| r |       payload_length      |
    /// +---+-----------+---+-----------+---+---------------------------+
    /// |      rsv      |                     job_id                    |
    /// +---------------+-----------------------------------------------+
    /// |                      original_request_psn                     |
    /// +---------------------------------------------------------------+
    /// ```
    SesResponseSmall "SES response with small data", 12 bytes {
        /// Which list the message was delivered to.
        list with_list: 2 as SesList,
        /// The kind of response.
        opcode with_opcode: 6 as SesResponseOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// What became of the request.
        return_code with_return_code: 6 as SesReturnCode,
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// Bytes in this packet.
        payload_length with_payload_length: 14 as u16,
        /// Reserved.
        reserved1 with_reserved1: 8 as Hex8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// The PSN of the request.
        original_request_psn with_original_request_psn: 32 as u32,
    }
}

header! {
    /// Extension of a rendezvous send: where the target reads the rest.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                          eager_length                         |
    /// +---------------+-----------------------+-----------------------+
    /// |   generation  |     rendezvous_pid    |    rendezvous_index   |
    /// +---------------+-----------------------+-----------------------+
    /// |                  rendezvous_offset (64 bits)                  |
    /// +---------------------------------------------------------------+
    /// |                    rendezvous_key (64 bits)                   |
    /// +---------------------------------------------------------------+
    /// ```
    SesRendezvous "SES rendezvous", 24 bytes {
        /// Bytes that come with the request.
        eager_length with_eager_length: 32 as u32,
        /// Generation of the resource index.
        rendezvous_generation with_rendezvous_generation: 8 as u8,
        /// The process at the initiator.
        rendezvous_pid with_rendezvous_pid: 12 as Hex16,
        /// Which of its resources.
        rendezvous_index with_rendezvous_index: 12 as Hex16,
        /// Place in the initiator's memory.
        rendezvous_offset with_rendezvous_offset: 64 as VirtualAddress,
        /// Key to it.
        rendezvous_key with_rendezvous_key: 64 as MemoryKey,
    }
}

header! {
    /// Extension of operations that synchronize; one source of three.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------------------------------+-------------------------------+
    /// |           sync_group          |           sync_count          |
    /// +-------------------------------+-------------------------------+
    /// ```
    SesSync "SES sync", 4 bytes {
        /// Group.
        sync_group with_sync_group: 16 as Hex16,
        /// How many there are.
        sync_count with_sync_count: 16 as u16,
    }
}

header! {
    /// Extension of an atomic operation.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------+---------------+-+-+-----+-----+---------------+
    /// |   atomic_op   |  atomic_type  |C|H| rsv | ven |      rsv      |
    /// +---------------+---------------+-+-+-----+-----+---------------+
    /// ```
    SesAtomic "SES atomic", 4 bytes {
        /// The operation.
        atomic_op with_atomic_op: 8 as SesAtomicOp,
        /// Type of the data.
        atomic_type with_atomic_type: 8 as SesAtomicType,
        /// The target may keep it in a cache.
        cacheable with_cacheable: 1 as bool,
        /// It is coherent with the target's processors.
        coherent with_coherent: 1 as bool,
        /// Reserved.
        reserved with_reserved: 3 as Hex8,
        /// Vendor's own.
        vendor with_vendor: 3 as Hex8,
        /// Reserved.
        reserved1 with_reserved1: 8 as Hex8,
    }
}

header! {
    /// Values of a compare and swap.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                       compare (128 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                        swap (128 bits)                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesSwap "SES compare and swap", 32 bytes {
        /// Value to compare with.
        compare with_compare: 128 as [u8; 16],
        /// Value to be put there.
        swap with_swap: 128 as [u8; 16],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    bytes! { ses_standard: SesStandard [0x02 0x2b 0x12 0x34 0x77 0xab 0xcd 0xef 0x06 0x78 0x09 0xab
            0xfe 0xdc 0xba 0x98 0x76 0x54 0x32 0x10 0xfe 0xdc 0xba 0x98 0x11 0x22 0x33 0x44 0x55 0x66 0x77 0x88
            0xaa 0xbb 0xdd 0xdd 0xee 0xff 0x00 0x11 0x99 0x88 0x77 0x66]
        opcode with_opcode SesOpcode(2);
        dc with_dc true;
        rel with_rel true;
        eom with_eom true;
        som with_som true;
        message_id with_message_id 0x1234;
        ri_generation with_ri_generation 0x77;
        job_id with_job_id JobId(0xab_cdef);
        pid_on_fep with_pid_on_fep Hex16(0x678);
        resource_index with_resource_index Hex16(0x9ab);
        buffer_offset with_buffer_offset VirtualAddress(0xfedc_ba98_7654_3210);
        initiator with_initiator JobId(0xfedc_ba98);
        memory_key with_memory_key MemoryKey(0x1122_3344_5566_7788);
        header_data with_header_data Hex64(0xaabb_dddd_eeff_0011);
        request_length with_request_length 0x9988_7766;
    }

    bytes! { ses_response_data: SesResponseData [0x02 0x01 0x12 0x34 0x00 0x65 0x43 0x21 0x00 0x07 0x10 0x00
            0x00 0x00 0x20 0x00 0x00 0x00 0x10 0x00]
        opcode with_opcode SesResponseOpcode(2);
        return_code with_return_code SesReturnCode::OK;
        message_id with_message_id 0x1234;
        job_id with_job_id JobId(0x65_4321);
        read_request_message_id with_read_request_message_id 7;
        payload_length with_payload_length 4096;
        modified_length with_modified_length 8192;
        message_offset with_message_offset 4096;
    }
}
