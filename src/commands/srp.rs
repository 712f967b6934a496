//! SRP.

use super::{
    conversation::{Answered, Asked, Memory, Said, Status},
    iser::scsi_name,
};
use crate::{upper::Parts, wire::*};

pub(super) fn read(parts: &Parts, bytes: &[u8], said: &mut Vec<Said>) {
    if let Some(cmd) = parts.get::<SrpCmd>(bytes) {
        let Hex64(tag) = cmd.tag();
        let lists: Vec<_> = parts.all::<SrpIndirect>(bytes).collect();
        let descriptors = parts.all::<SrpDescriptor>(bytes);
        let memory = |address: VirtualAddress, key: RKey, len| Memory { address: address.0, key: key.0, len };
        let memory: Vec<_> = descriptors.map(|of| memory(of.address(), of.key(), of.length())).collect();
        let of_lists: u64 = lists.iter().map(|list| u64::from(list.total_length())).sum();
        let direct: u64 = memory.iter().map(|memory| u64::from(memory.len)).sum();
        let in_command = immediate(cmd, parts, bytes);
        let size = if lists.is_empty() { direct } else { of_lists } + in_command;
        let size = Some(size).filter(|_| cmd.data_out_format() | cmd.data_in_format() != 0);
        let names_more = of_lists > direct;
        let asked = Asked { size, memory, names_more, ..Asked::new(tag, scsi_name(cmd.cdb_opcode())) };
        said.push(Said::Request(asked));
    } else if let Some(rsp) = parts.get::<SrpRsp>(bytes) {
        /// Fewer bytes were moved than wanted: from the initiator, to it.
        const UNDERFLOWS: [u8; 2] = [0x08, 0x20];
        let (Hex64(id), code, Hex8(flags)) = (rsp.tag(), rsp.status(), rsp.flags());
        let status = Status::new(code.0.into(), code.name(), code != ScsiStatus::GOOD);
        let residuals = [rsp.data_out_residual(), rsp.data_in_residual()];
        let under = UNDERFLOWS.iter().zip(residuals).filter(|(flag, _)| flags & **flag != 0);
        let residual = under.map(|(_, bytes)| u64::from(bytes)).sum();
        said.push(Said::Reply(Answered { id, status, size: None, residual }));
    }
}

/// Bytes of data in the command itself, of Linux: their number follows the descriptor block.
fn immediate(cmd: &SrpCmd, parts: &Parts, bytes: &[u8]) -> u64 {
    const IMMEDIATE: u8 = 3;
    let len = bytes.get(parts.end()..).and_then(|rest| rest.first_chunk());
    let is_it = cmd.data_out_format() == IMMEDIATE;
    len.filter(|_| is_it).map_or(0, |len| u32::from_be_bytes(*len).into())
}
