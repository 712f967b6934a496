//! SMC-R: what the ends of a link ask each other.

use super::conversation::{Answered, Asked, Said, Status};
use crate::{upper::Parts, wire::*};

pub(super) fn read(parts: &Parts, bytes: &[u8], said: &mut Vec<Said>) {
    // Cursors of connections are not answered.
    let (code, response, rejected, negative, reason) =
        match (parts.get::<SmcLlc>(bytes), parts.get::<SmcLlc2>(bytes)) {
            (Some(of), _) => {
                (of.message_type(), of.response(), of.rejected(), of.negative(), of.reject_reason())
            }
            // There is no room for a reason.
            (None, Some(of)) => (of.message_type(), of.response(), of.rejected(), of.negative(), 0),
            (None, None) => return,
        };
    let Some(name) = code.name() else { return };
    let id = u64::from(code.0);
    if !response {
        said.push(Said::Request(Asked::new(id, name)));
        return;
    }
    let is_refused = match code.v1() {
        SmcType::ADD_LINK => rejected,
        SmcType::CONFIRM_RKEY | SmcType::DELETE_RKEY => negative,
        _ => false,
    };
    let status = match is_refused {
        true => Status::new(reason.into(), Some("refused"), true),
        false => Status::NONE,
    };
    said.push(Said::Reply(Answered { id, status, size: None, residual: 0 }));
}
