//! iSER, and iSCSI in it.

use std::borrow::Cow;

use super::conversation::{Answered, Asked, Memory, Said, Status};
use crate::{upper::Parts, wire::*};

/// The tag of a PDU that is of no task.
const NO_TASK: u32 = 0xffff_ffff;

pub(super) fn read(parts: &Parts, bytes: &[u8], said: &mut Vec<Said>) {
    let Some(iser) = parts.get::<Iser>(bytes) else { return };
    // All of them have these fields in the same place.
    let Some((pdu, _)) = bytes.get(Iser::LEN..).and_then(Iscsi::view) else { return };
    let (opcode, Hex32(tag)) = (pdu.opcode(), pdu.initiator_task_tag());
    if tag == NO_TASK {
        return;
    }
    let id = u64::from(tag);
    let name = || opcode.name().map_or_else(|| format!("opcode {:#x}", opcode.0).into(), Cow::Borrowed);
    if !opcode.is_of_target() {
        let mut asked = Asked::new(id, name());
        if let Some(command) = parts.get::<IscsiCommand>(bytes) {
            let code = command.cdb_opcode();
            asked.operation = scsi_name(code);
            asked.size = Some(command.expected_length().into()).filter(|_| command.read() || command.write());
            let immediate = u32::from(command.write()) * command.data_segment_length();
            asked.memory = memory(iser, command.expected_length(), immediate);
        }
        said.push(Said::Request(asked));
        return;
    }
    let (mut status, mut residual) = (Status::NONE, 0);
    if let Some(response) = parts.get::<IscsiResponse>(bytes) {
        /// Bytes were not moved.
        const UNDERFLOW: u8 = 2;
        let code = response.status();
        status =
            Status::new(code.0.into(), code.name(), code != ScsiStatus::GOOD || response.response().0 != 0);
        if response.flags().0 & UNDERFLOW != 0 {
            residual = response.residual().into();
        }
    }
    said.push(Said::Reply(Answered { id, status, size: None, residual }));
}

/// The memory of a command: the initiator's, of so many bytes; those that are in the command are not moved.
fn memory(iser: &Iser, expected: u32, immediate: u32) -> Vec<Memory> {
    let of = |valid: bool, base: VirtualAddress, stag: RKey| {
        valid.then_some(Memory { address: base.0, len: expected, key: stag.0 })
    };
    let mut write = of(iser.wsv(), iser.write_base(), iser.write_stag());
    if let Some(write) = &mut write {
        // The STag is of all the data; what is moved later begins behind what came at once.
        write.len = write.len.max(immediate);
    }
    let read = of(iser.rsv(), iser.read_base(), iser.read_stag());
    write.into_iter().chain(read).collect()
}

/// The name of a SCSI command.
pub(super) fn scsi_name(code: ScsiOpcode) -> Cow<'static, str> {
    code.name().map_or_else(|| format!("SCSI command {:#04x}", code.0).into(), Cow::Borrowed)
}
