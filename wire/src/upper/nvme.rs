//! NVMe over RDMA: commands. Responses say nothing by which they could be known.

use super::{Message, parts::Reader};
use crate::wire::*;

/// Whether it can only be a command: its data is described by an SGL that NVMe over Fabrics allows, all that is reserved is zero, and it
/// is as long as a command with the data in its capsule.
pub(super) fn is(message: Message<'_>) -> bool {
    let Some((sqe, _)) = NvmeSqe::view(message.bytes) else { return false };
    let is_plain = sqe.flags() == Hex8(0x40)
        && sqe.cdw2().0 == Hex32(0)
        && sqe.cdw3().0 == Hex32(0)
        && sqe.mptr().0 == VirtualAddress(0);
    let (length, key) = (sqe.length().0 as usize, sqe.key().0.0 as usize);
    // In the capsule, the length has four bytes, the address is an offset, and Linux leaves three reserved bytes as they were.
    let in_capsule = length | (key & 0xff) << 24;
    is_plain
        && match sqe.sgl().0 {
            0x40 | 0x4f => message.has_len(NvmeSqe::LEN),
            0x01 => sqe.address().0.0 == 0 && message.has_len(NvmeSqe::LEN + in_capsule),
            _ => false,
        }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<()> {
    reader.take::<NvmeSqe>().map(|_| ())
}
