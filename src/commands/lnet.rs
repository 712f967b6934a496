//! LNet: transfers of data. Who has data offers it (PUT_REQ), is told where to write it (PUT_ACK), and says that it has (PUT_DONE); who wants
//! data names memory (GET_REQ), and is told that it is there (GET_DONE).

use super::conversation::{Answered, Asked, Memory, Said, Status};
use crate::{upper::Parts, wire::*};

pub(super) fn read(parts: &Parts, bytes: &[u8], said: &mut Vec<Said>) {
    let little = parts.get::<Lnet>(bytes).map(Lnet::message_type);
    let Some(of) = little.or(parts.get::<LnetBig>(bytes).map(LnetBig::message_type)) else { return };
    let cookie = || parts.get::<LnetCookie>(bytes).map(|of| of.cookie().0.0);
    match of {
        LnetType::PUT_REQ => {
            let size = parts.get::<LnetHeader>(bytes).map(|of| of.payload_length().0.into());
            said.extend(cookie().map(|id| Said::Request(Asked { size, ..Asked::new(id, "PUT") })));
        }
        LnetType::GET_REQ => said.extend(cookie().map(|id| moves(id, "GET", parts, bytes))),
        LnetType::PUT_ACK => {
            let Some(ack) = parts.get::<LnetPutAck>(bytes) else { return };
            let (id, data) = (ack.src_cookie().0.0, ack.dst_cookie().0.0);
            let answered = Answered { id, status: Status::NONE, size: None, residual: 0 };
            said.extend([Said::Reply(answered), moves(data, "PUT data", parts, bytes)]);
        }
        LnetType::PUT_NAK | LnetType::PUT_DONE | LnetType::GET_DONE => {
            let little = parts.get::<LnetCompletion>(bytes).map(|done| (done.cookie().0.0, done.status().0));
            let big = || parts.get::<LnetCompletionBig>(bytes).map(|done| (done.cookie().0.0, done.status()));
            let Some((id, Hex32(code))) = little.or_else(big) else { return };
            let error = code as i32;
            let status = match error < 0 {
                true => {
                    Status { code, name: format!("error {error}").into(), is_error: true, is_known: true }
                }
                false => Status::NONE,
            };
            said.push(Said::Reply(Answered { id, status, size: None, residual: 0 }));
        }
        _ => {}
    }
}

/// A request whose memory the other side writes to.
fn moves(id: u64, operation: &'static str, parts: &Parts, bytes: &[u8]) -> Said {
    let little = parts.get::<LnetMemory>(bytes).map(|of| of.r_key().0.0);
    let key = little.or(parts.get::<LnetMemoryBig>(bytes).map(|of| of.r_key().0)).unwrap_or(0);
    let little = parts.all::<LnetFragment>(bytes).map(|of| (of.va().0.0, of.length().0));
    let big = parts.all::<LnetFragmentBig>(bytes).map(|of| (of.va().0, of.length()));
    let memory: Vec<Memory> = little.chain(big).map(|(address, len)| Memory { address, len, key }).collect();
    let size = Some(memory.iter().map(|memory| u64::from(memory.len)).sum());
    Said::Request(Asked { size, memory, ..Asked::new(id, operation) })
}
