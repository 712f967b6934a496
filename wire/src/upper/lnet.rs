//! LNet of Lustre, as o2iblnd puts it into messages.

use super::{Message, parts::Reader};
use crate::wire::*;

/// Where every message begins, as senders with little-endian numbers write it.
const MAGIC: Hex32 = Hex32(0x0be9_1b91);

/// Whether it can only be LNet: its magic number, a version and a type that exist, and the message's own length.
pub(super) fn is(message: Message<'_>) -> bool {
    let magic = message.bytes.first_chunk().map(|bytes| Hex32(u32::from_le_bytes(*bytes)));
    magic.is_some_and(|magic| magic == MAGIC || magic.0.swap_bytes() == MAGIC.0)
        && length(message.bytes).is_some_and(|len| len >= Lnet::LEN && message.has_at_least(len))
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
    let is_big = is_big(reader.left());
    let of = match is_big {
        true => reader.take::<LnetBig>()?.message_type(),
        false => reader.take::<Lnet>()?.message_type(),
    };
    // The receiver swaps what LNet's driver wrote (`kiblnd_unpack_msg`). Portals' header is little-endian everywhere, and a cookie goes back as it came.
    match of {
        LnetType::CONNREQ | LnetType::CONNACK => either::<LnetParameters, LnetParametersBig>(reader, is_big),
        LnetType::IMMEDIATE => reader.take::<LnetHeader>().map(|_| ()),
        LnetType::PUT_REQ => {
            reader.take::<LnetHeader>()?;
            reader.take::<LnetCookie>().map(|_| ())
        }
        LnetType::GET_REQ => {
            reader.take::<LnetHeader>()?;
            reader.take::<LnetCookie>()?;
            memory(reader, is_big)
        }
        LnetType::PUT_ACK => {
            reader.take::<LnetPutAck>()?;
            memory(reader, is_big)
        }
        LnetType::PUT_NAK | LnetType::PUT_DONE | LnetType::GET_DONE => {
            either::<LnetCompletion, LnetCompletionBig>(reader, is_big)
        }
        _ => Some(()),
    }
}

/// A header in the sender's order of bytes.
fn either<Little: Header, Big: Header>(reader: &mut Reader<'_>, is_big: bool) -> Option<()> {
    if is_big { reader.take::<Big>().map(|_| ()) } else { reader.take::<Little>().map(|_| ()) }
}

fn memory(reader: &mut Reader<'_>, is_big: bool) -> Option<()> {
    let count = match is_big {
        true => reader.take::<LnetMemoryBig>()?.fragments(),
        false => reader.take::<LnetMemory>()?.fragments().0,
    };
    (0..count).try_for_each(|_| either::<LnetFragment, LnetFragmentBig>(reader, is_big))
}
