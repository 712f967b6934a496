//! iSER, and the iSCSI PDU behind it.

use super::{Message, parts::Reader};
use crate::wire::*;

/// Whether it can only be a control PDU of iSER: what is reserved is zero, memory is named only where flags say so, the PDU is a
/// known one, and its lengths are those of the message.
pub(super) fn is(message: Message<'_>) -> bool {
    let Some((iser, rest)) = Iser::view(message.bytes) else { return false };
    if iser.opcode() != IserOpcode::CONTROL || iser.reserved() != Hex32(0) {
        return false;
    }
    let Some((pdu, _)) = Iscsi::view(rest) else { return false };
    let is_named = |valid: bool, stag: RKey, base: VirtualAddress| valid || stag.0 == 0 && base.0 == 0;
    let data = (pdu.data_segment_length() as usize, usize::from(pdu.total_ahs_length()) * 4);
    let len = Iser::LEN + Iscsi::LEN + data.1 + data.0;
    is_named(iser.wsv(), iser.write_stag(), iser.write_base())
        && is_named(iser.rsv(), iser.read_stag(), iser.read_base())
        && pdu.opcode().name().is_some()
        && (message.has_len(len) || message.has_len(len.next_multiple_of(4)))
        && message.has_at_least(len)
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<()> {
    let iser = reader.take::<Iser>()?;
    if iser.opcode() != IserOpcode::CONTROL {
        return None;
    }
    let kind = match Iscsi::view(reader.left())?.0.opcode() {
        IscsiOpcode::COMMAND => Kind::IscsiCommand,
        IscsiOpcode::RESPONSE => Kind::IscsiResponse,
        IscsiOpcode::LOGIN_REQUEST => Kind::IscsiLoginReq,
        IscsiOpcode::LOGIN_RESPONSE => Kind::IscsiLoginRsp,
        opcode if opcode.is_plain_request() => Kind::IscsiRequest,
        opcode if opcode.is_plain_reply() => Kind::IscsiReply,
        _ => Kind::Iscsi,
    };
    reader.take_as::<Iscsi>(kind).map(|_| ())
}
