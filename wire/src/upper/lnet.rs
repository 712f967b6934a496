//! LNet of Lustre, as o2iblnd puts it into messages.

use super::{Message, parts::Reader};
use crate::wire::*;

/// Where every message begins, as senders with little-endian numbers write it.
pub(super) const MAGIC: Le<Hex32> = Le(Hex32(0x0be9_1b91));

/// Whether it can only be LNet: its magic number, a version and a type that exist, and the message's own length.
pub(super) fn is(message: Message<'_>) -> bool {
    let Some((lnet, _)) = Lnet::view(message.bytes) else { return false };
    let len = lnet.length().0 as usize;
    begins(lnet) && len >= Lnet::LEN && message.has_at_least(len)
}

/// Whether it is a header of LNet.
pub(super) fn begins(lnet: &Lnet) -> bool {
    lnet.magic() == MAGIC
        && matches!(lnet.version(), Le(Hex16(0x11 | 0x12)))
        && lnet.message_type().name().is_some()
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<()> {
    match reader.take::<Lnet>()?.message_type() {
        LnetType::CONNREQ | LnetType::CONNACK => reader.take::<LnetParameters>().map(|_| ()),
        LnetType::IMMEDIATE => reader.take::<LnetHeader>().map(|_| ()),
        LnetType::PUT_REQ => {
            reader.take::<LnetHeader>()?;
            reader.take::<LnetCookie>().map(|_| ())
        }
        LnetType::GET_REQ => {
            reader.take::<LnetHeader>()?;
            reader.take::<LnetCookie>()?;
            memory(reader)
        }
        LnetType::PUT_ACK => {
            reader.take::<LnetPutAck>()?;
            memory(reader)
        }
        LnetType::PUT_NAK | LnetType::PUT_DONE | LnetType::GET_DONE => {
            reader.take::<LnetCompletion>().map(|_| ())
        }
        _ => Some(()),
    }
}

fn memory(reader: &mut Reader<'_>) -> Option<()> {
    let count = reader.take::<LnetMemory>()?.fragments().0;
    (0..count).try_for_each(|_| reader.take::<LnetFragment>().map(|_| ()))
}
