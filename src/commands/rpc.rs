//! RPC over RDMA, and NFS in it.

use std::borrow::Cow;

use super::conversation::{About, Answered, Asked, Conversation, Memory, Said, Status};
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
    let is_call_of = |kind: Kind| parts.iter().find(|part| part.kind == kind).map(|part| part.at);
    let call_at = [Kind::RpcCall, Kind::Nfs3Call, Kind::Nfs4Call].into_iter().find_map(is_call_of);
    let call = call_at.and_then(|at| RpcCall::view(bytes.get(at..)?)).map(|(call, _)| call);
    if let Some(call) = call {
        said.push(Said::Request(request(id, call, parts, bytes)));
        return;
    }
    let open = of.open.get(&(!from_client, id));
    match head.proc() {
        // The reply is in the reply chunk; or the call is in a chunk, at its beginning.
        RpcRdmaProc::NOMSG => {
            let is_call = parts.all::<RpcRdmaRead>(bytes).any(|read| read.position() == 0);
            if is_call && open.is_none() {
                let mut asked = Asked::new(id, "call in a chunk");
                asked.memory = memory(parts, bytes);
                said.push(Said::Request(asked));
            } else {
                said.push(Said::Reply(Answered { id, status: Status::NONE, size: None, residual: 0 }));
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
    Asked { detail, about, memory: memory(parts, bytes), rpc: Some(called), ..Asked::new(id, operation) }
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

/// Memory of the caller: its read list, write list and reply chunk.
fn memory(parts: &Parts, bytes: &[u8]) -> Vec<Memory> {
    let reads = parts.all::<RpcRdmaRead>(bytes).map(|read| (read.offset(), read.length(), read.handle()));
    let segments = parts.all::<RpcRdmaSegment>(bytes).map(|of| (of.offset(), of.length(), of.handle()));
    let all = reads.chain(segments);
    all.map(|(address, len, key)| Memory { address: address.0, len, key: key.0 }).collect()
}

fn answer(id: u64, reply: &RpcReply, called: Option<&Called>, parts: &Parts, bytes: &[u8]) -> Answered {
    let accept = parts.get::<RpcAccept>(bytes).map(|accept| accept.accept_stat());
    let status = match accept {
        _ if reply.reply_stat() != RpcReplyStat::ACCEPTED => Status::new(1, Some("denied"), true),
        None => Status::NONE,
        Some(RpcAcceptStat::SUCCESS) => {
            let results = bytes.get(parts.end()..).unwrap_or(&[]);
            let word = results.first_chunk().map(|word| NfsStatus(u32::from_be_bytes(*word)));
            let is_nfs = called.is_some_and(|called| {
                called.program == RpcProgram::NFS && matches!(called.version, 3 | 4) && called.procedure != 0
            });
            match word.filter(|_| is_nfs) {
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
