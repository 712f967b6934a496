//! SMC-R: what the ends of a link ask each other.

use super::conversation::{Answered, Asked, Said, Status};
use crate::{upper::Parts, wire::*};

pub(super) fn read(parts: &Parts, bytes: &[u8], said: &mut Vec<Said>) {
    // Cursors of connections are not answered.
    let Some(llc) = parts.get::<SmcLlc>(bytes) else { return };
    let code = llc.message_type();
    let Some(name) = code.name() else { return };
    let id = u64::from(code.0);
    if !llc.response() {
        said.push(Said::Request(Asked::new(id, name)));
        return;
    }
    let is_refused = match code {
        SmcType::ADD_LINK => llc.rejected(),
        SmcType::CONFIRM_RKEY | SmcType::DELETE_RKEY => llc.negative(),
        _ => false,
    };
    let status = match is_refused {
        true => Status::new(llc.reject_reason().into(), Some("refused"), true),
        false => Status::NONE,
    };
    said.push(Said::Reply(Answered { id, status, size: None, residual: 0 }));
}
