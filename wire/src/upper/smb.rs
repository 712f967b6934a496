//! SMB Direct, and SMB2 in it.

use super::{Message, parts::Reader};
use crate::wire::*;

/// The only version.
const VERSION: Le<Hex16> = Le(Hex16(0x0100));
/// 0xfe, "SMB".
const SMB2: Hex32 = Hex32(0xfe53_4d42);

/// Whether it can only be SMB Direct: a negotiation of the only version, or a transfer of SMB2 whose lengths are those of the message.
/// Transfers without data, and those that go on, say nothing by which they could be known.
pub(super) fn is(message: Message<'_>) -> bool {
    if is_negotiation(message) {
        return true;
    }
    let Some((data, _)) = SmbdData::view(message.bytes) else { return false };
    let (at, len) = (data.data_offset().0 as usize, data.data_length().0 as usize);
    if at != 24 || data.reserved().0 != Hex16(0) || data.flags().0.0 > 1 {
        return false;
    }
    let smb2 = message.bytes.get(at..).and_then(|bytes| Smb2::view(bytes));
    message.has_len(at.saturating_add(len)) && smb2.is_some_and(|(smb2, _)| is_smb2(smb2))
}

fn is_smb2(smb2: &Smb2) -> bool {
    smb2.protocol_id() == SMB2 && smb2.structure_size().0 == 64
}

fn is_negotiation(message: Message<'_>) -> bool {
    let Some((req, _)) = SmbdNegotiateReq::view(message.bytes) else { return false };
    if req.min_version() != VERSION || req.max_version() != VERSION {
        return false;
    }
    match SmbdNegotiateRsp::view(message.bytes) {
        Some((rsp, _)) => {
            rsp.negotiated_version() == VERSION
                && rsp.reserved().0 == Hex16(0)
                && message.has_len(SmbdNegotiateRsp::LEN)
        }
        None => req.reserved().0 == Hex16(0) && message.has_len(SmbdNegotiateReq::LEN),
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<()> {
    let message = Message { bytes: reader.left(), len: Some(reader.left().len()) };
    if is_negotiation(message) {
        return match reader.left().len() {
            SmbdNegotiateReq::LEN => reader.take::<SmbdNegotiateReq>().map(|_| ()),
            _ => reader.take::<SmbdNegotiateRsp>().map(|_| ()),
        };
    }
    let data = reader.take::<SmbdData>()?;
    if data.data_length().0 == 0 {
        return Some(());
    }
    let padding = (data.data_offset().0 as usize).checked_sub(SmbdData::LEN)?;
    reader.bytes(Kind::SmbdPadding, padding)?;
    while is_smb2(Smb2::view(reader.left())?.0) {
        let from = reader.at();
        let smb2 = reader.take::<Smb2>()?;
        buffers(reader, smb2)?;
        let next = smb2.next_command().0 as usize;
        if next == 0 {
            break;
        }
        reader.bytes(Kind::Smb2Body, (from + next).checked_sub(reader.at())?)?;
    }
    Some(())
}

/// The memory that a READ or WRITE names (MS-SMB2, 2.2.19 and 2.2.21).
fn buffers(reader: &mut Reader<'_>, smb2: &Smb2) -> Option<()> {
    const RESPONSE: u32 = 1;
    /// Channels of RDMA: without and with invalidation.
    const RDMA: [u32; 2] = [1, 2];
    let body = reader.left();
    let word = |at: usize| Some(u32::from_le_bytes(*body.get(at..)?.first_chunk()?));
    let short = |at: usize| Some(u16::from_le_bytes(*body.get(at..)?.first_chunk()?));
    let is_asked = smb2.flags().0.0 & RESPONSE == 0;
    let (channel, offset, length) = match smb2.command().0 {
        Smb2Command::READ if is_asked => (word(36)?, short(44)?, short(46)?),
        Smb2Command::WRITE if is_asked => (word(32)?, short(40)?, short(42)?),
        _ => return Some(()),
    };
    if !RDMA.contains(&channel) {
        return Some(());
    }
    let before = usize::from(offset).checked_sub(Smb2::LEN)?;
    reader.bytes(Kind::Smb2Body, before)?;
    (0..usize::from(length) / Smb2Buffer::LEN).try_for_each(|_| reader.take::<Smb2Buffer>().map(|_| ()))
}
