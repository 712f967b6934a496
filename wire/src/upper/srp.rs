//! SRP.

use super::{Message, parts::Reader};
use crate::wire::*;

/// Whether it can only be SRP: what is reserved is zero, the SCSI command is a known one, and lengths are those of the message. Logins are
/// in the private data of the connection's set-up.
pub(super) fn is(message: Message<'_>) -> bool {
    let zero = |at: core::ops::Range<usize>| message.bytes.get(at).is_some_and(|b| b.iter().all(|&b| b == 0));
    match message.bytes.first().map(|&code| SrpOpcode(code)) {
        Some(SrpOpcode::CMD) => {
            let Some((cmd, _)) = SrpCmd::view(message.bytes) else { return false };
            let descriptors = [
                descriptor_len(cmd.data_out_format(), cmd.data_out_count()),
                descriptor_len(cmd.data_in_format(), cmd.data_in_count()),
            ];
            let [Some(out), Some(into)] = descriptors else { return false };
            let len = SrpCmd::LEN + usize::from(cmd.add_cdb_len()) * 4 + out + into;
            let has_len = if cmd.data_out_format() == IMMEDIATE {
                message.has_at_least(len)
            } else {
                message.has_len(len)
            };
            let is_simple = cmd.task_attr() <= 4 && cmd.cdb_opcode().name().is_some();
            let is_reserved_zero = zero(2..5) && zero(16..20) && zero(28..29) && zero(30..31);
            is_simple && is_reserved_zero && cmd.reserved4() == 0 && has_len
        }
        Some(SrpOpcode::RSP) => {
            let Some((rsp, _)) = SrpRsp::view(message.bytes) else { return false };
            let more = [(1, rsp.response_len()), (2, rsp.sense_len())];
            let len = more.iter().filter(|(flag, _)| rsp.flags().0 & flag != 0).map(|&(_, len)| len as usize);
            let fits = more.iter().all(|&(flag, len)| rsp.flags().0 & flag != 0 || len == 0);
            let is_known = rsp.status().name().is_some() && rsp.flags().0 & 0xc0 == 0;
            is_known
                && fits
                && zero(2..4)
                && zero(16..18)
                && message.has_len(SrpRsp::LEN + len.sum::<usize>())
        }
        _ => false,
    }
}

const DIRECT: u8 = 1;
const INDIRECT: u8 = 2;
/// Of Linux.
const IMMEDIATE: u8 = 3;

/// Bytes of a descriptor, without the data of an immediate one.
fn descriptor_len(format: u8, count: u8) -> Option<usize> {
    Some(match format {
        0 if count == 0 => 0,
        DIRECT => SrpDescriptor::LEN,
        INDIRECT => SrpIndirect::LEN + usize::from(count) * SrpDescriptor::LEN,
        IMMEDIATE => 4,
        _ => return None,
    })
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<()> {
    match SrpOpcode(*reader.left().first()?) {
        SrpOpcode::CMD => {
            let cmd = reader.take::<SrpCmd>()?;
            reader.bytes(Kind::SrpMoreCdb, usize::from(cmd.add_cdb_len()) * 4)?;
            descriptors(reader, cmd.data_out_format(), cmd.data_out_count())?;
            descriptors(reader, cmd.data_in_format(), cmd.data_in_count())
        }
        SrpOpcode::RSP => reader.take::<SrpRsp>().map(|_| ()),
        SrpOpcode::LOGIN_REQ => reader.take::<SrpLoginReq>().map(|_| ()),
        SrpOpcode::LOGIN_RSP => reader.take::<SrpLoginRsp>().map(|_| ()),
        SrpOpcode::LOGIN_REJ => reader.take::<SrpLoginRej>().map(|_| ()),
        _ => reader.take::<Srp>().map(|_| ()),
    }
}

fn descriptors(reader: &mut Reader<'_>, format: u8, count: u8) -> Option<()> {
    match format {
        DIRECT => reader.take::<SrpDescriptor>().map(|_| ()),
        INDIRECT => {
            reader.take::<SrpIndirect>()?;
            (0..count).try_for_each(|_| reader.take::<SrpDescriptor>().map(|_| ()))
        }
        0 => Some(()),
        _ => None,
    }
}
