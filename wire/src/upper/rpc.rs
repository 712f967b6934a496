//! RPC over RDMA, and RPC.

use super::{Message, nfs, parts::Reader};
use crate::wire::*;

/// More segments of a chunk, and more chunks, than anybody sends.
const MOST_SEGMENTS: u32 = 1024;
/// More credits than anybody grants.
const MOST_CREDITS: u32 = 1 << 16;

/// Whether it can only be RPC over RDMA: the version is 1, the lists of chunks are whole and end, and behind them is an RPC message of the
/// same number, or nothing where it is in a chunk.
pub(super) fn is(message: Message<'_>) -> bool {
    // Every message is asked: most are told apart by their first numbers.
    RpcRdma::view(message.bytes).is_some_and(|(head, _)| is_head(head))
        && has_signature(&mut Reader::new(message.bytes), message).unwrap_or(false)
}

fn is_head(head: &RpcRdma) -> bool {
    head.vers() == 1 && (1..MOST_CREDITS).contains(&head.credit())
}

#[inline(never)]
fn has_signature(reader: &mut Reader<'_>, message: Message<'_>) -> Option<bool> {
    let head = reader.take::<RpcRdma>()?;
    match head.proc() {
        RpcRdmaProc::MSG => {
            lists(reader)?;
            let (rpc, rest) = Rpc::view(reader.left())?;
            let fits = match rpc.msg_type() {
                RpcType::CALL => RpcCall::view(rest)?.0.rpcvers() == 2,
                RpcType::REPLY => RpcReply::view(rest)?.0.reply_stat().0 <= 1,
                _ => false,
            };
            Some(fits && rpc.xid() == head.xid())
        }
        RpcRdmaProc::NOMSG => {
            let chunks = lists(reader)?;
            Some(chunks > 0 && message.len == Some(reader.at()))
        }
        RpcRdmaProc::ERROR => {
            let error = reader.take::<RpcRdmaError>()?.error();
            let len = if error.0 == 1 { 28 } else { 20 };
            Some(matches!(error.0, 1 | 2) && message.len == Some(len))
        }
        _ => Some(false),
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<()> {
    let head = reader.take::<RpcRdma>()?;
    // Version 2 has other lists.
    if head.vers() != 1 {
        return None;
    }
    match head.proc() {
        RpcRdmaProc::MSG | RpcRdmaProc::NOMSG => {
            lists(reader)?;
            let is_there = head.proc() == RpcRdmaProc::MSG;
            is_there.then(|| rpc(reader))?
        }
        RpcRdmaProc::ERROR => {
            if reader.take::<RpcRdmaError>()?.error().0 == 1 {
                reader.take::<RpcRdmaVersions>()?;
            }
            Some(())
        }
        _ => None,
    }
}

/// The read list, the write list and the reply chunk. Returns how many chunks there are; `None` if they are none.
fn lists(reader: &mut Reader<'_>) -> Option<u32> {
    let mut chunks = 0;
    while reader.word()? == 1 {
        reader.take::<RpcRdmaRead>()?;
        chunks += 1;
    }
    end(reader)?;
    while reader.word()? == 1 {
        chunk(reader)?;
        chunks += 1;
    }
    end(reader)?;
    match reader.word()? {
        1 => {
            chunk(reader)?;
            chunks += 1;
        }
        _ => end(reader)?,
    }
    Some(chunks)
}

fn end(reader: &mut Reader<'_>) -> Option<()> {
    (reader.word()? == 0).then(|| reader.take::<RpcRdmaEnd>())?.map(|_| ())
}

fn chunk(reader: &mut Reader<'_>) -> Option<()> {
    let segments = reader.take::<RpcRdmaChunk>()?.segments();
    if segments > MOST_SEGMENTS {
        return None;
    }
    (0..segments).try_for_each(|_| reader.take::<RpcRdmaSegment>().map(|_| ()))
}

/// An RPC message; of NFS, with its operations. Data in chunks is left out.
fn rpc(reader: &mut Reader<'_>) -> Option<()> {
    let has_chunk = reader.has(Kind::RpcRdmaRead);
    match reader.take::<Rpc>()?.msg_type() {
        RpcType::CALL => {
            let (call, _) = RpcCall::view(reader.left())?;
            let (program, version, procedure) = (call.prog(), call.vers(), call.procedure());
            let kind = match (program, version) {
                (RpcProgram::NFS, 3) => Kind::Nfs3Call,
                (RpcProgram::NFS, 4) => Kind::Nfs4Call,
                _ => Kind::RpcCall,
            };
            reader.take_as::<RpcCall>(kind)?;
            auth(reader)?;
            auth(reader)?;
            if kind == Kind::Nfs4Call && procedure == Nfs4Procedure::COMPOUND.0 {
                nfs::compound(reader, has_chunk)?;
            }
            if kind == Kind::Nfs3Call {
                nfs::call3(Nfs3Procedure(procedure), reader)?;
            }
        }
        RpcType::REPLY if reader.take::<RpcReply>()?.reply_stat() == RpcReplyStat::ACCEPTED => {
            auth(reader)?;
            reader.take::<RpcAccept>()?;
        }
        _ => {}
    }
    Some(())
}

fn auth(reader: &mut Reader<'_>) -> Option<()> {
    /// RFC 5531, 8.2.
    const LONGEST: u32 = 400;
    let len = reader.take::<RpcAuth>()?.length();
    if len > LONGEST {
        return None;
    }
    reader.bytes(Kind::RpcAuthBody, (len as usize).next_multiple_of(4)).map(|_| ())
}
