//! RPC over RDMA, and NFS in it.

use std::borrow::Cow;

use super::{
    chunk::{Chunk, Chunks},
    conversation::{About, Answered, Asked, Conversation, Memory, Said, Status},
};
use crate::{
    upper::{Parts, ReadOrWrite, bytes_of_nfs, hash_of_handle, result_of},
    wire::*,
};

/// What a call was, by which its reply is read.
#[derive(Clone, Debug)]
pub(super) struct Called {
    program: RpcProgram,
    version: u32,
    procedure: u32,
    operations: Vec<Nfs4Operation>,
}

pub(super) fn read(parts: &Parts, bytes: &[u8], of: &Conversation, from_client: bool, said: &mut Vec<Said>) {
    let Some(head) = parts.get::<RpcRdma>(bytes) else { return };
    let Hex32(xid) = head.xid();
    let id = u64::from(xid);
    let call = call_of(parts, bytes);
    if let Some(call) = call {
        let mut asked = request(id, call, parts, bytes);
        asked.chunks = chunks(parts, bytes);
        said.push(Said::Request(asked));
        return;
    }
    let open = of.open.get(&(!from_client, id));
    match head.proc() {
        // The reply is in the reply chunk; or the call is in a chunk, at its beginning.
        RpcRdmaProc::NOMSG => {
            let is_call = parts.all::<RpcRdmaRead>(bytes).any(|read| read.position() == 0);
            if is_call && open.is_none() {
                let mut asked = Asked::new(id, "call in a chunk");
                (asked.memory, asked.chunks) = (memory(parts, bytes), chunks(parts, bytes));
                said.push(Said::Request(asked));
            } else {
                said.push(Said::Reply(reply_in_chunk(id, xid, open.map(|open| &open.asked))));
            }
        }
        RpcRdmaProc::ERROR => {
            let error = parts.get::<RpcRdmaError>(bytes).map_or(0, |error| error.error().0);
            let name = <RpcRdmaErrorCode as Bits>::SHOW.name(error.into());
            let status = Status::new(error, name, true);
            said.push(Said::Reply(Answered { id, status, size: None, residual: 0 }));
        }
        _ => {
            let Some(reply) = parts.get::<RpcReply>(bytes) else { return };
            let called = open.and_then(|open| open.asked.rpc.as_ref());
            said.push(Said::Reply(answer(id, reply, called, parts, bytes)));
        }
    }
}

/// The head of a call, in a message that has one.
fn call_of<'a>(parts: &Parts, bytes: &'a [u8]) -> Option<&'a RpcCall> {
    let is_call_of = |kind: Kind| parts.iter().find(|part| part.kind == kind).map(|part| part.at);
    let call_at = [Kind::RpcCall, Kind::Nfs3Call, Kind::Nfs4Call].into_iter().find_map(is_call_of);
    call_at.and_then(|at| RpcCall::view(bytes.get(at..)?)).map(|(call, _)| call)
}

/// The memory where the call is, or its reply: read segments at the position 0, and the segments behind the write list.
fn chunks(parts: &Parts, bytes: &[u8]) -> Option<Box<Chunks>> {
    let mut chunks = Chunks::default();
    let mut lists = 0;
    for part in parts.iter() {
        let header = bytes.get(part.at..).unwrap_or(&[]);
        match part.kind {
            Kind::RpcRdmaEnd => lists += 1,
            Kind::RpcRdmaRead => {
                let read = RpcRdmaRead::view(header).map(|(read, _)| read);
                let of = |read: &RpcRdmaRead| memory_of(read.offset(), read.length(), read.handle());
                chunks.call.segments.extend(read.filter(|read| read.position() == 0).map(of));
            }
            Kind::RpcRdmaSegment if lists == 2 => {
                let of = |(of, _): (&RpcRdmaSegment, _)| memory_of(of.offset(), of.length(), of.handle());
                chunks.reply.segments.extend(RpcRdmaSegment::view(header).map(of));
            }
            _ => {}
        }
    }
    let has = |chunk: &Chunk| !chunk.segments.is_empty();
    (has(&chunks.call) || has(&chunks.reply)).then(|| Box::new(chunks))
}

/// A call that was in a chunk, of which the server has read some.
pub(super) fn read_call(asked: &mut Asked) {
    let Some(chunks) = &asked.chunks else { return };
    let Some((bytes, parts)) = u32::try_from(asked.id).ok().and_then(|xid| chunks.call.read(xid)) else {
        return;
    };
    if let Some(call) = call_of(&parts, &bytes) {
        let Asked { operation, detail, about, rpc, .. } = request(asked.id, call, &parts, &bytes);
        (asked.operation, asked.detail, asked.about, asked.rpc) = (operation, detail, about, rpc);
    }
}

/// A reply that the server wrote into the memory for it.
fn reply_in_chunk(id: u64, xid: u32, asked: Option<&Asked>) -> Answered {
    let chunk = asked.and_then(|asked| Some(&asked.chunks.as_ref()?.reply));
    let whole = chunk.and_then(|chunk| chunk.read(xid));
    let read = whole.and_then(|(bytes, parts)| {
        let reply = parts.get::<RpcReply>(&bytes)?;
        Some(answer(id, reply, asked?.rpc.as_ref(), &parts, &bytes))
    });
    read.unwrap_or(Answered { id, status: Status::UNREAD, size: None, residual: 0 })
}

fn request(id: u64, call: &RpcCall, parts: &Parts, bytes: &[u8]) -> Asked {
    let (program, version, procedure) = (call.prog(), call.vers(), call.procedure());
    let operations: Vec<_> = parts.all::<NfsOperation>(bytes).map(|op| op.operation()).collect();
    let name = program.name().unwrap_or("RPC");
    let (operation, detail): (Cow<'static, str>, _) = match (program, version) {
        (RpcProgram::NFS, 3) => match Nfs3Procedure(procedure).name() {
            Some(name) => (name.into(), None),
            None => (format!("procedure {procedure}").into(), None),
        },
        (RpcProgram::NFS, 4) if procedure == Nfs4Procedure::COMPOUND.0 => {
            let name = main_operation(&operations);
            let all: Vec<_> = operations.iter().map(|&operation| name_of(operation)).collect();
            (name, Some(all.join(" ")))
        }
        (_, _) if procedure == 0 => ("NULL".into(), None),
        _ => (format!("{name} {version}, procedure {procedure}").into(), None),
    };
    let called = Called { program, version, procedure, operations };
    let about = about(parts, bytes);
    let memory = memory(parts, bytes);
    let names_more = !has_all_lists(parts, bytes);
    Asked { detail, about, memory, names_more, rpc: Some(called), ..Asked::new(id, operation) }
}

/// Which file a call is about: of a compound, its first one.
fn about(parts: &Parts, bytes: &[u8]) -> About {
    /// Names are no longer in any file system; what is, is cut.
    const LONGEST: usize = 255;
    let mut about = About::default();
    for (at, part) in parts.iter().enumerate() {
        let header = bytes.get(part.at..).unwrap_or(&[]);
        let whole = || bytes_of_nfs(parts, at, bytes);
        match part.kind {
            Kind::NfsHandle if about.file.is_none() => about.file = whole().map(hash_of_handle),
            Kind::NfsName => {
                let Some(name) = whole() else { continue };
                let name = String::from_utf8_lossy(&name[..name.len().min(LONGEST)]);
                about.name = Some(match about.name.take() {
                    Some(old) => format!("{old} → {name}"),
                    None => name.into_owned(),
                });
            }
            Kind::NfsRange => {
                let range = NfsRange::view(header).map(|(range, _)| (range.offset(), range.count()));
                (about.offset, about.count) = range.unzip();
            }
            Kind::NfsWrite => {
                let range = NfsWrite::view(header).map(|(of, _)| (of.offset(), of.data_length()));
                (about.offset, about.count) = range.unzip();
            }
            Kind::Nfs3Write => {
                let range = Nfs3Write::view(header).map(|(of, _)| (of.offset(), of.count()));
                (about.offset, about.count) = range.unzip();
            }
            _ => {}
        }
    }
    about
}

/// What a compound is for: its first operation beside those that say where, and ask for attributes.
fn main_operation(operations: &[Nfs4Operation]) -> Cow<'static, str> {
    let is_where = |operation: Nfs4Operation| {
        // SEQUENCE, PUTFH, PUTPUBFH, PUTROOTFH, RESTOREFH, SAVEFH
        matches!(operation.0, 53 | 22 | 23 | 24 | 31 | 32)
    };
    // GETATTR, GETFH
    let is_more = |operation: Nfs4Operation| matches!(operation.0, 9 | 10);
    let rest = || operations.iter().copied().filter(|&operation| !is_where(operation));
    let main = rest().find(|&operation| !is_more(operation)).or_else(|| rest().next_back());
    main.or_else(|| operations.last().copied()).map_or("COMPOUND".into(), name_of)
}

fn name_of(operation: Nfs4Operation) -> Cow<'static, str> {
    operation.name().map_or_else(|| format!("operation {}", operation.0).into(), Cow::Borrowed)
}

/// Whether the lists of memory are there to their end.
fn has_all_lists(parts: &Parts, bytes: &[u8]) -> bool {
    let count = |kind: Kind| parts.iter().filter(|part| part.kind == kind).count() as u64;
    let segments: u64 = parts.all::<RpcRdmaChunk>(bytes).map(|chunk| u64::from(chunk.segments())).sum();
    count(Kind::RpcRdmaEnd) >= 2 && count(Kind::RpcRdmaSegment) >= segments
}

/// Memory of the caller: its read list, write list and reply chunk.
fn memory(parts: &Parts, bytes: &[u8]) -> Vec<Memory> {
    let reads = parts.all::<RpcRdmaRead>(bytes).map(|of| memory_of(of.offset(), of.length(), of.handle()));
    let segments =
        parts.all::<RpcRdmaSegment>(bytes).map(|of| memory_of(of.offset(), of.length(), of.handle()));
    reads.chain(segments).collect()
}

fn memory_of(address: VirtualAddress, len: u32, key: RKey) -> Memory {
    Memory { address: address.0, len, key: key.0 }
}

fn answer(id: u64, reply: &RpcReply, called: Option<&Called>, parts: &Parts, bytes: &[u8]) -> Answered {
    let accept = parts.get::<RpcAccept>(bytes).map(|accept| accept.accept_stat());
    let status = match accept {
        _ if reply.reply_stat() != RpcReplyStat::ACCEPTED => Status::new(1, Some("denied"), true),
        None => Status::UNREAD,
        Some(RpcAcceptStat::SUCCESS) => {
            let results = bytes.get(parts.end()..).unwrap_or(&[]);
            let word = results.first_chunk().map(|word| NfsStatus(u32::from_be_bytes(*word)));
            let is_nfs = called.is_some_and(|called| {
                called.program == RpcProgram::NFS && matches!(called.version, 3 | 4) && called.procedure != 0
            });
            match word.filter(|_| is_nfs) {
                None if is_nfs => Status::UNREAD,
                // 10008 has another name in each version.
                Some(NfsStatus(10_008)) if called.is_some_and(|called| called.version == 4) => {
                    Status::new(10_008, Some("DELAY"), true)
                }
                Some(status) => Status::new(status.0, status.name(), status != NfsStatus::OK),
                None => Status::new(0, Some("success"), false),
            }
        }
        Some(other) => Status::new(other.0, other.name(), true),
    };
    let size = called.and_then(|called| size(called, bytes.get(parts.end()..)?));
    Answered { id, status, size: size.map(u64::from), residual: 0 }
}

/// How many bytes a READ or WRITE moved.
fn size(called: &Called, results: &[u8]) -> Option<u32> {
    use ReadOrWrite::{Read, Write};
    let what = match called.version {
        3 => match Nfs3Procedure(called.procedure) {
            Nfs3Procedure::READ => Read,
            Nfs3Procedure::WRITE => Write,
            _ => return None,
        },
        _ if called.operations.contains(&Nfs4Operation::READ) => Read,
        _ if called.operations.contains(&Nfs4Operation::WRITE) => Write,
        _ => return None,
    };
    result_of(called.version, what, called.operations.iter().copied(), results)
}
