//! LNet: transfers of data. Who has data offers it (PUT_REQ), is told where to write it (PUT_ACK), and says that it has (PUT_DONE); who wants
//! data names memory (GET_REQ), and is told that it is there (GET_DONE).

use super::conversation::{Answered, Asked, Memory, Said, Status};
use crate::{upper::Parts, wire::*};

pub(super) fn read(parts: &Parts, bytes: &[u8], said: &mut Vec<Said>) {
    let Some(lnet) = parts.get::<Lnet>(bytes) else { return };
    let cookie = || parts.get::<LnetCookie>(bytes).map(|of| of.cookie().0.0);
    match lnet.message_type() {
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
            let Some(done) = parts.get::<LnetCompletion>(bytes) else { return };
            let (id, Le(Hex32(code))) = (done.cookie().0.0, done.status());
            let error = code as i32;
            let status = match error < 0 {
                true => Status { code, name: format!("error {error}").into(), is_error: true },
                false => Status::NONE,
            };
            said.push(Said::Reply(Answered { id, status, size: None, residual: 0 }));
        }
        _ => {}
    }
}

/// A request whose memory the other side writes to.
fn moves(id: u64, operation: &'static str, parts: &Parts, bytes: &[u8]) -> Said {
    let key = parts.get::<LnetMemory>(bytes).map_or(0, |of| of.r_key().0.0);
    let pieces = parts.all::<LnetFragment>(bytes);
    let memory: Vec<Memory> =
        pieces.map(|of| Memory { address: of.va().0.0, len: of.length().0, key }).collect();
    let size = Some(memory.iter().map(|memory| u64::from(memory.len)).sum());
    Said::Request(Asked { size, memory, ..Asked::new(id, operation) })
}
