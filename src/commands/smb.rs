//! SMB Direct, and SMB2 in it.

use std::borrow::Cow;

use super::conversation::{Answered, Asked, Memory, Said, Status};
use crate::{upper::Parts, wire::*};

/// A transfer that goes on with the data of another one has no header, and says nothing. One with the next command of a chain has one.
pub(super) fn read(parts: &Parts, bytes: &[u8], said: &mut Vec<Said>) {
    for (at, part) in parts.iter().enumerate().filter(|(_, part)| part.kind == Kind::Smb2) {
        let Some((smb2, body)) = bytes.get(part.at..).and_then(Smb2::view) else { continue };
        // Descriptors up to the next command are its own.
        let own = parts.iter().skip(at + 1).take_while(|part| part.kind != Kind::Smb2);
        let buffers = own.filter(|part| part.kind == Kind::Smb2Buffer);
        let buffers = buffers.filter_map(|part| Some(Smb2Buffer::view(bytes.get(part.at..)?)?.0));
        let memory: Vec<_> = buffers
            .map(|of| Memory { address: of.offset().0.0, key: of.token().0.0, len: of.length().0 })
            .collect();
        said.extend(command(smb2, body, memory));
    }
}

fn command(smb2: &Smb2, body: &[u8], memory: Vec<Memory>) -> Option<Said> {
    const RESPONSE: u32 = 1;
    /// Of an oplock break that the server sends: nobody asked.
    const UNASKED: u64 = u64::MAX;
    let (command, Le(Hex64(id)), Le(status)) = (smb2.command().0, smb2.message_id(), smb2.status());
    let word = |at: usize| Some(u32::from_le_bytes(*body.get(at..)?.first_chunk()?));
    if id == UNASKED {
        return None;
    }
    if smb2.flags().0.0 & RESPONSE == 0 {
        let name = command.name().map_or_else(|| format!("command {:#x}", command.0).into(), Cow::Borrowed);
        // READ and WRITE have their length after the offset of data.
        let size = matches!(command, Smb2Command::READ | Smb2Command::WRITE).then(|| word(4)).flatten();
        let is_final = command == Smb2Command::CANCEL;
        return Some(Said::Request(Asked {
            size: size.map(u64::from),
            memory,
            is_final,
            ..Asked::new(id, name)
        }));
    }
    // The answer comes later.
    if status == NtStatus::PENDING {
        return None;
    }
    // How a list of files, and reading a file, end is no failure.
    let is_end = match command {
        Smb2Command::QUERY_DIRECTORY => status == NtStatus::NO_MORE_FILES,
        Smb2Command::READ => status == NtStatus::END_OF_FILE,
        _ => false,
    };
    let is_error = status.0 >> 30 >= 2 && status != NtStatus::MORE_PROCESSING_REQUIRED && !is_end;
    let size = match command {
        // Data in the message, and data by WRITE, which is told separately.
        Smb2Command::READ => {
            word(4).zip(word(8)).map(|(here, remaining)| u64::from(here) + u64::from(remaining))
        }
        Smb2Command::WRITE => word(4).map(u64::from),
        _ => None,
    };
    let size = if is_end { Some(0) } else { size.filter(|_| !is_error) };
    Some(Said::Reply(Answered {
        id,
        status: Status::new(status.0, status.name(), is_error),
        size,
        residual: 0,
    }))
}
