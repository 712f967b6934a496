//! NVMe over RDMA: commands. Responses say nothing by which they could be known. And what set-ups of its queues carry.

use super::{Message, Parts, parts::Reader};
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

/// A command, or the response that such a queue pair has: it has nothing else.
pub(super) fn read(reader: &mut Reader<'_>, len: Option<usize>) -> Option<()> {
    if len == Some(NvmeCqe::LEN) {
        return reader.take::<NvmeCqe>().map(|_| ());
    }
    let kind = kind_of(NvmeSqe::view(reader.left())?.0);
    let sqe = reader.take_as::<NvmeSqe>(kind)?;
    // On the queues that Linux's hosts connect after the first, the data is in the capsule.
    let has_data = kind == Kind::NvmeConnect && sqe.sgl() == NvmeSgl(0x01) && sqe.address().0.0 == 0;
    if has_data { read_data(reader, Kind::NvmeConnectData) } else { Some(()) }
}

/// The header that the data of a command begins with, where it is read. `is_admin`: whether the queue is the admin queue; `None` where that is not
/// known, and a command tells it by its code.
pub fn kind_of_data(sqe: &NvmeSqe, is_admin: Option<bool>) -> Option<Kind> {
    const IDENTIFY: u8 = 0x06;
    const GET_LOG_PAGE: u8 = 0x02;
    let low = sqe.cdw10().0.0 as u8;
    match sqe.opcode().0 {
        code if NvmeOpcode(code) == NvmeOpcode::FABRICS => {
            (sqe.nsid().0 as u8 == NvmeFabricsType::CONNECT.0).then_some(Kind::NvmeConnectData)
        }
        IDENTIFY if is_admin != Some(false) => Some(match low {
            0 => Kind::NvmeIdNamespace,
            1 => Kind::NvmeIdController,
            3 => Kind::NvmeNsIdentifier,
            _ => return None,
        }),
        GET_LOG_PAGE if is_admin == Some(true) => {
            let offset = u64::from(sqe.cdw12().0.0) | u64::from(sqe.cdw13().0.0) << 32;
            Some(match low {
                0x02 if offset == 0 => Kind::NvmeSmartLog,
                0x0c if offset == 0 => Kind::NvmeAnaLog,
                0x70 if offset == 0 => Kind::NvmeDiscoveryLog,
                // Its head has as many bytes as an entry.
                0x70 if offset.is_multiple_of(NvmeDiscoveryLog::LEN as u64) => Kind::NvmeDiscoveryEntry,
                _ => return None,
            })
        }
        _ => None,
    }
}

/// The headers of a command's data that begins with this one, as far as its bytes are there.
pub fn data_of(kind: Kind, bytes: &[u8]) -> Parts {
    let mut reader = Reader::new(bytes);
    read_data(&mut reader, kind);
    reader.finish()
}

fn read_data(reader: &mut Reader<'_>, kind: Kind) -> Option<()> {
    match kind {
        Kind::NvmeConnectData => reader.take::<NvmeConnectData>().map(|_| ()),
        Kind::NvmeIdController => {
            reader.take::<NvmeIdController>()?;
            reader.take::<NvmeIdAbilities>()?;
            reader.bytes(Kind::NvmeIdRest, 224)?;
            reader.take::<NvmeIdSubsystem>()?;
            reader.bytes(Kind::NvmeIdRest, 768)?;
            reader.take::<NvmeIdFabrics>().map(|_| ())
        }
        Kind::NvmeIdNamespace => {
            /// Namespaces with protection of 64 bits have up to 64; the list of headers has room for these.
            const FORMATS: u8 = 16;
            let formats = reader.take::<NvmeIdNamespace>()?.nlbaf();
            (0..=formats.min(FORMATS - 1)).try_for_each(|_| reader.take::<NvmeLbaFormat>().map(|_| ()))
        }
        Kind::NvmeNsIdentifier => {
            while NvmeNsIdentifier::view(reader.left())?.0.nidt() != NvmeIdentifierType(0) {
                let len = reader.take::<NvmeNsIdentifier>()?.nidl();
                reader.bytes(Kind::NvmeNsId, len.into())?;
            }
            Some(())
        }
        Kind::NvmeSmartLog => reader.take::<NvmeSmartLog>().map(|_| ()),
        Kind::NvmeAnaLog => {
            let groups = reader.take::<NvmeAnaLog>()?.ngrps().0;
            (0..groups).try_for_each(|_| {
                let namespaces = reader.take::<NvmeAnaGroup>()?.nnsids().0;
                reader.bytes(Kind::NvmeAnaNamespaces, (namespaces as usize).checked_mul(4)?).map(|_| ())
            })
        }
        Kind::NvmeDiscoveryLog => {
            let entries = reader.take::<NvmeDiscoveryLog>()?.numrec().0;
            (0..entries).try_for_each(|_| discovery_entry(reader))
        }
        Kind::NvmeDiscoveryEntry => {
            while !reader.left().is_empty() {
                discovery_entry(reader)?;
            }
            Some(())
        }
        _ => None,
    }
}

fn discovery_entry(reader: &mut Reader<'_>) -> Option<()> {
    reader.take::<NvmeDiscoveryEntry>()?;
    reader.bytes(Kind::NvmeDiscoveryTransport, 256).map(|_| ())
}

/// Which table a command has.
fn kind_of(sqe: &NvmeSqe) -> Kind {
    let opcode = NvmeOpcode(sqe.opcode().0);
    match opcode {
        NvmeOpcode::FABRICS => match NvmeFabricsType(sqe.nsid().0 as u8) {
            NvmeFabricsType::CONNECT => Kind::NvmeConnect,
            NvmeFabricsType::PROPERTY_GET | NvmeFabricsType::PROPERTY_SET => Kind::NvmePropertyAccess,
            _ => Kind::NvmeFabrics,
        },
        // On an admin queue, it would create a queue: Fabrics has Connect for that.
        NvmeOpcode::WRITE => Kind::NvmeRw,
        NvmeOpcode::READ if moves_blocks(sqe) && !reads_log(sqe) => Kind::NvmeRw,
        _ => Kind::NvmeSqe,
    }
}

/// Whether the length is that of so many blocks of 512 bytes to 64 KiB as the command says, if it is a Read.
fn moves_blocks(sqe: &NvmeSqe) -> bool {
    let blocks = (sqe.cdw12().0.0 & 0xffff) + 1;
    let size = sqe.length().0 / blocks;
    sqe.length().0.is_multiple_of(blocks) && size.is_power_of_two() && (512..=1 << 16).contains(&size)
}

/// Whether the length is that of so many words as the command says, if it is Get Log Page, which has the same code on an admin queue.
fn reads_log(sqe: &NvmeSqe) -> bool {
    let less_one = sqe.cdw10().0.0 >> 16 | sqe.cdw11().0.0 << 16;
    u64::from(sqe.length().0) == (u64::from(less_one) + 1) * 4
}

/// The header that the private data of a set-up for a queue begins with: of the only format, and with sizes or a reason.
pub(crate) fn private(message: Kind, cm: &[u8], data: &[u8]) -> Option<Kind> {
    let (kind, fits) = match message {
        Kind::CmReq => {
            let (req, _) = NvmeCmReq::view(data)?;
            (Kind::NvmeCmReq, req.recfmt().0 == 0 && req.hrqsize().0 > 0)
        }
        Kind::CmRep => {
            let (rep, _) = NvmeCmRep::view(data)?;
            (Kind::NvmeCmRep, rep.recfmt().0 == 0 && rep.crqsize().0 > 0)
        }
        Kind::CmRej => {
            let (rej, _) = NvmeCmRej::view(data)?;
            let is_consumers = CmRej::view(cm)?.0.reason() == RejectReason(28);
            (Kind::NvmeCmRej, is_consumers && rej.recfmt().0 == 0 && rej.sts().0 > NvmeCmStatus(0))
        }
        _ => return None,
    };
    fits.then_some(kind)
}
