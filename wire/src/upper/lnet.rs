//! LNet of Lustre, as o2iblnd puts it into messages.

use super::{Message, parts::Reader};
use crate::wire::*;

/// Where every message begins, as senders with little-endian numbers write it.
const MAGIC: Hex32 = Hex32(0x0be9_1b91);

/// Whether it can only be LNet: its magic number, a version and a type that exist, and the message's own length.
pub(super) fn is(message: Message<'_>) -> bool {
    length(message.bytes).is_some_and(|len| len >= Lnet::LEN && message.has_at_least(len))
}

/// The bytes of the message that it says it has, if it begins with a header of LNet, in either order of bytes.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let (lnet, _) = Lnet::view(bytes)?;
    let (big, _) = LnetBig::view(bytes)?;
    let (version, len) = match lnet.magic() == Le(MAGIC) {
        true => (lnet.version().0, lnet.length().0),
        false => (big.version(), big.length()),
    };
    let is_it = is_big(bytes) || lnet.magic() == Le(MAGIC);
    let has_type = lnet.message_type().name().is_some();
    (is_it && has_type && matches!(version, Hex16(0x11 | 0x12))).then_some(len as usize)
}

/// Whether the sender's most significant byte comes first.
fn is_big(bytes: &[u8]) -> bool {
    LnetBig::view(bytes).is_some_and(|(lnet, _)| lnet.magic() == MAGIC)
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<()> {
    if is_big(reader.left()) {
        return reader.take::<LnetBig>().map(|_| ());
    }
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
