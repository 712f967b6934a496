//! One connection: its commands that are not answered, and what became of those that are.

use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
};

use super::{
    Packet, Whole,
    chunk::{Chunks, Place},
    iser, lnet, rds, rpc, smb, smc, srp,
};
use crate::{
    dissect::Address,
    follow::{Ending, Key, Moving, Progress, Sums, Taps, Time},
    report::ApplicationBy,
    upper::{Message, Protocol},
    wire::Reth,
};

/// Commands of a connection that wait for their reply: others are given up, the oldest first.
const MOST_OPEN: usize = 1 << 12;
/// Ways in which commands fail that are told one by one.
const MOST_FAILED: usize = 1 << 10;

/// A connection of an application.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) protocol: Protocol,
    pub(super) known_by: ApplicationBy,
    pub(super) client: Address,
    pub(super) server: Address,
    pub(super) client_qp: Option<u32>,
    /// Since when that is known: what the server sent before was not read.
    pub(super) bound_at: i64,
    pub(super) server_qp: u32,
    pub(super) sent_again: u64,
    /// By side that asked, the client's being true, and number.
    pub(super) open: BTreeMap<(bool, u64), Open>,
    /// Their numbers, the oldest first.
    order: VecDeque<(bool, u64)>,
    pub(super) most_open: usize,
    pub(super) given_up: u64,
    /// Commands whose number was used again without an answer in the capture.
    pub(super) unseen_answers: u64,
    /// Answers whose status was not captured.
    pub(super) unread: u64,
    pub(super) taps: Taps,
    /// Answers of which it is not sure yet that who asked took them.
    pub(super) held: Vec<Held>,
    /// Commands whose answer came, and is not acknowledged yet.
    pub(super) taken: Vec<Taken>,
    pub(super) sums: Sums,
    /// How many failed so, and the first one's frame.
    pub(super) failed: BTreeMap<(Cow<'static, str>, Status), (u64, u64)>,
    /// Replies without a request.
    pub(super) strays: u64,
    pub(super) data_bytes: u64,
    pub(super) ended: Option<Ending>,
}

/// Answers of one message, which passed behind packets that are missing: who asked takes those first.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) first_psn: u32,
    pub(super) last_psn: u32,
    /// The message, without its bytes.
    pub(super) whole: Whole<'static>,
    pub(super) said: Vec<Said>,
}

impl Held {
    /// Whether it is the message of this direction with this first PSN.
    pub(super) fn is_of(&self, from_client: bool, first_psn: u32) -> bool {
        self.whole.from_client == from_client && self.first_psn == first_psn
    }

    /// Whether it answers this command of the client, or of the server.
    pub(super) fn answers(&self, of_client: bool, id: u64) -> bool {
        let is_it = |said: &Said| matches!(said, Said::Reply(answered) if answered.id == id);
        self.whole.from_client != of_client && self.said.iter().any(is_it)
    }
}

/// A command whose answer came: who asked may still say that it wants that again.
#[derive(Debug)]
pub(super) struct Taken {
    /// Of the answer: its first and last one.
    pub(super) psns: [u32; 2],
    /// The answer, without its bytes.
    whole: Whole<'static>,
    open: Open,
    answered: Answered,
    time: Time,
}

impl Taken {
    /// Whether who answers sends in this direction.
    pub(super) fn is_of(&self, from_client: bool) -> bool {
        self.whole.from_client == from_client
    }

    /// Whether it is this command of the client, or of the server.
    pub(super) fn answers(&self, of_client: bool, id: u64) -> bool {
        self.whole.from_client != of_client && self.answered.id == id
    }
}

/// A command, and where in a message in memory a transfer of it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    id: (bool, u64),
    /// The command's: its number may be used again.
    frame: u64,
    pub(super) place: Option<Place>,
}

/// Memory that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) address: u64,
    pub(super) len: u32,
    pub(super) key: u32,
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) id: u64,
    /// What commands of one kind have in common.
    pub(super) operation: Cow<'static, str>,
    /// All that it does, where that is more.
    pub(super) detail: Option<String>,
    /// The application's bytes, where the request says them.
    pub(super) size: Option<u64>,
    pub(super) memory: Vec<Memory>,
    /// It names more memory, which was not captured.
    pub(super) names_more: bool,
    /// Of RPC over RDMA: the memory where its call or its reply is, if the messages do not have them.
    pub(super) chunks: Option<Box<Chunks>>,
    /// Which file it is about, where it says that.
    pub(super) about: About,
    /// Of NFS: program, version, procedure and operations, by which its reply is read.
    pub(super) rpc: Option<rpc::Called>,
    /// Nothing answers.
    pub(super) is_final: bool,
}

impl Asked {
    pub(super) fn new(id: u64, operation: impl Into<Cow<'static, str>>) -> Asked {
        Asked {
            id,
            operation: operation.into(),
            detail: None,
            about: About::default(),
            size: None,
            memory: Vec::new(),
            names_more: false,
            chunks: None,
            rpc: None,
            is_final: false,
        }
    }
}

/// Which part of which file a request is about.
#[derive(Clone, Debug, Default)]
pub(super) struct About {
    /// The hash of the file's handle.
    pub(super) file: Option<u32>,
    /// A name in that directory; two of a renamed file.
    pub(super) name: Option<String>,
    pub(super) offset: Option<u64>,
    /// The bytes that are wanted.
    pub(super) count: Option<u32>,
}

/// A reply.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    pub(super) id: u64,
    pub(super) status: Status,
    /// The application's bytes, where the reply says them.
    pub(super) size: Option<u64>,
    /// Bytes that the request wanted and did not get.
    pub(super) residual: u64,
}

/// What a message says.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Request(Asked),
    Reply(Answered),
    /// All messages of the other side up to this number were received.
    Acknowledge(u64),
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Status {
    pub(super) code: u32,
    pub(super) name: Cow<'static, str>,
    pub(super) is_error: bool,
    /// It was captured, or there is none.
    pub(super) is_known: bool,
}

impl Status {
    /// A number, its name if it has one, and which one is no error.
    pub(super) fn new(code: u32, name: Option<&'static str>, is_error: bool) -> Status {
        let name = name.map_or_else(|| format!("status {code:#x}").into(), Cow::Borrowed);
        Status { code, name, is_error, is_known: true }
    }

    pub(super) const NONE: Status =
        Status { code: 0, name: Cow::Borrowed(""), is_error: false, is_known: true };

    /// The answer has one, and that was not captured.
    pub(super) const UNREAD: Status =
        Status { code: 0, name: Cow::Borrowed("not captured"), is_error: false, is_known: false };
}

/// A command that is not answered.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) asked: Asked,
    pub(super) frame: u64,
    pub(super) start: i64,
    sent: i64,
    moved: u64,
    moving: Moving,
    call_bytes: u64,
    /// Its message was not captured as a whole: it may name memory that is not known.
    is_cut: bool,
}

/// A command that is answered.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) id: u64,
    pub(super) by_client: bool,
    pub(super) operation: Cow<'static, str>,
    pub(super) detail: Option<String>,
    pub(super) about: About,
    pub(super) frame: u64,
    pub(super) reply_frame: u64,
    pub(super) start: i64,
    pub(super) status: Status,
    pub(super) size: Option<u64>,
    pub(super) data_bytes: u64,
    pub(super) call_bytes: u64,
    pub(super) reply_bytes: u64,
    pub(super) time: Time,
}

impl Conversation {
    pub(super) fn new(to: Key, protocol: Protocol, known_by: ApplicationBy) -> Conversation {
        Conversation {
            protocol,
            known_by,
            client: to.src,
            server: to.dst,
            client_qp: None,
            bound_at: i64::MAX,
            server_qp: to.qp,
            sent_again: 0,
            open: BTreeMap::new(),
            order: VecDeque::new(),
            most_open: 0,
            given_up: 0,
            unseen_answers: 0,
            unread: 0,
            taps: Taps::default(),
            held: Vec::new(),
            taken: Vec::new(),
            sums: Sums::default(),
            failed: BTreeMap::new(),
            strays: 0,
            data_bytes: 0,
            ended: None,
        }
    }

    pub(super) fn key_to_server(&self) -> Key {
        Key { src: self.client, dst: self.server, qp: self.server_qp }
    }

    pub(super) fn key_to_client(&self) -> Option<Key> {
        Some(Key { src: self.server, dst: self.client, qp: self.client_qp? })
    }

    /// The key of what is sent back to who sent towards the server, or towards the client.
    pub(super) fn key_back(&self, was_to_server: bool) -> Option<Key> {
        if was_to_server { self.key_to_client() } else { Some(self.key_to_server()) }
    }

    /// What a message says, in the words that all protocols share.
    pub(super) fn read(&self, whole: &Whole<'_>, said: &mut Vec<Said>) {
        let parts = self.protocol.read(whole.message);
        let bytes = whole.message.bytes;
        match self.protocol {
            Protocol::RpcRdma => rpc::read(&parts, bytes, self, whole.from_client, said),
            Protocol::Iser => iser::read(&parts, bytes, said),
            Protocol::Srp => srp::read(&parts, bytes, said),
            Protocol::SmbDirect => smb::read(&parts, bytes, said),
            Protocol::Rds => rds::read(&parts, bytes, said),
            Protocol::Lnet => lnet::read(&parts, bytes, said),
            Protocol::SmcR => smc::read(&parts, bytes, said),
            Protocol::Nvme | Protocol::Ipoib => {}
        }
    }

    /// Whether something that the server says answers a request of the client.
    pub(super) fn is_answered_by(&self, said: &Said) -> bool {
        match said {
            Said::Reply(answered) => self.open.contains_key(&(true, answered.id)),
            Said::Acknowledge(up_to) => self.open.contains_key(&(true, *up_to)),
            Said::Request(_) => false,
        }
    }

    /// Takes what a message with these PSNs says.
    pub(super) fn take(&mut self, said: Said, psns: [u32; 2], whole: &Whole<'_>, progress: &[&Progress]) {
        match said {
            Said::Request(asked) => self.ask(asked, whole),
            Said::Reply(answered) => match self.close((!whole.from_client, answered.id)) {
                Some(open) => self.complete(open, answered, psns, whole, progress),
                None => self.strays += 1,
            },
            Said::Acknowledge(up_to) => {
                let of_other = !whole.from_client;
                let ids: Vec<_> =
                    self.open.range((of_other, 0)..=(of_other, up_to)).map(|(id, _)| *id).collect();
                let closed = ids.into_iter().filter_map(|id| self.close(id).map(|open| (id.1, open)));
                let closed: Vec<_> = closed.collect();
                let answered = |id| Answered { id, status: Status::NONE, size: None, residual: 0 };
                for (id, open) in closed {
                    self.complete(open, answered(id), psns, whole, progress);
                }
            }
        }
    }

    fn ask(&mut self, asked: Asked, whole: &Whole<'_>) {
        if asked.is_final {
            return;
        }
        let id = (whole.from_client, asked.id);
        let more = whole.message.len.unwrap_or(whole.message.bytes.len()) as u64;
        // A message of several packets of RDS is one.
        if self.protocol == Protocol::Rds
            && let Some(open) = self.open.get_mut(&id)
        {
            open.sent = whole.end;
            open.call_bytes += more;
            return;
        }
        let open = Open {
            asked,
            frame: whole.frame,
            start: whole.start,
            sent: whole.end,
            moved: 0,
            moving: Moving::default(),
            call_bytes: more,
            is_cut: whole.is_cut(),
        };
        match self.open.insert(id, open) {
            None => self.order.push_back(id),
            // A number is used again behind the answer, or after who asked gave up.
            Some(_) => self.unseen_answers += 1,
        }
        if self.open.len() > MOST_OPEN {
            while let Some(oldest) = self.order.pop_front() {
                if self.open.remove(&oldest).is_some() {
                    self.given_up += 1;
                    break;
                }
            }
        }
        self.most_open = self.most_open.max(self.open.len());
    }

    fn close(&mut self, id: (bool, u64)) -> Option<Open> {
        let open = self.open.remove(&id)?;
        // Most are answered in their order; the others leave the list when it is too long.
        if self.order.front() == Some(&id) {
            self.order.pop_front();
        } else if self.order.len() > 2 * MOST_OPEN {
            self.order.retain(|id| self.open.contains_key(id));
        }
        Some(open)
    }

    fn complete(
        &mut self,
        open: Open,
        answered: Answered,
        psns: [u32; 2],
        whole: &Whole<'_>,
        progress: &[&Progress],
    ) {
        let by_client = !whole.from_client;
        let times = [open.start, open.sent, whole.end];
        let mut time = Time::cut(times, &open.moving, progress.iter().copied());
        // Its data may have passed unseen: as long as the client's queue pair was not known, or where it was named in what is cut.
        let has_passed = self.bound_at >= whole.start && by_client && !open.asked.memory.is_empty()
            || open.is_cut && open.asked.memory.is_empty();
        if !open.moving.is_some() && has_passed || open.is_cut && open.asked.names_more {
            time.unknown = std::mem::take(&mut time.controller);
        } else if !by_client {
            time.asked_back = std::mem::take(&mut time.controller);
        }
        let message = Message { bytes: &[], len: whole.message.len };
        self.taken.push(Taken { psns, whole: Whole { message, ..*whole }, open, answered, time });
    }

    /// Who asked wants all messages of this direction again, from a PSN on: it took none of them.
    pub(super) fn take_back(&mut self, from_client: bool, psn: u32, progress: &Progress) {
        if self.taken.is_empty() {
            return;
        }
        let is_wanted = |taken: &mut Taken| taken.is_of(from_client) && progress.is_from(taken.psns[1], psn);
        let back: Vec<Taken> = self.taken.extract_if(.., is_wanted).collect();
        for Taken { psns: [first_psn, last_psn], whole, open, answered, .. } in back {
            let id = (!from_client, answered.id);
            let said = Said::Reply(answered);
            match self.held.iter_mut().find(|held| held.is_of(from_client, first_psn)) {
                Some(held) => held.said.push(said),
                None => self.held.push(Held { first_psn, last_psn, whole, said: vec![said] }),
            }
            self.open.insert(id, open);
            self.order.push_back(id);
        }
    }

    /// A command whose answer was taken for sure.
    pub(super) fn count(&mut self, taken: Taken) -> Done {
        let Taken { whole, open, answered, time, .. } = taken;
        let room: u64 = open.asked.memory.iter().map(|memory| u64::from(memory.len)).sum();
        let wanted = open.asked.size.map(|size| size.saturating_sub(answered.residual));
        let done = Done {
            id: answered.id,
            by_client: !whole.from_client,
            operation: open.asked.operation,
            detail: open.asked.detail,
            about: open.asked.about,
            frame: open.frame,
            reply_frame: whole.frame,
            start: open.start,
            size: answered.size.or(wanted).filter(|_| !answered.status.is_error),
            status: answered.status,
            // Retransmissions are no more data.
            data_bytes: open.moved.min(room),
            call_bytes: open.call_bytes,
            reply_bytes: whole.message.len.unwrap_or(0) as u64,
            time,
        };
        if done.status.is_error {
            let how = (done.operation.clone(), done.status.clone());
            if self.failed.len() < MOST_FAILED || self.failed.contains_key(&how) {
                self.failed.entry(how).or_insert((0, done.frame)).0 += 1;
            }
        }
        self.unread += u64::from(!done.status.is_known);
        self.data_bytes = self.data_bytes.saturating_add(done.data_bytes);
        self.sums.take(done.start, &done.time, done.size.unwrap_or(0), done.status.is_error);
        done
    }

    /// The command of the client, or of the server, that named this memory.
    pub(super) fn with_memory(&self, of_client: bool, reth: &Reth) -> Option<Moved> {
        let (va, key, n) = (reth.va().0, reth.r_key().0, u64::from(reth.dma_len()));
        let has = |open: &Open| {
            open.asked.memory.iter().any(|memory| {
                let end = memory.address.saturating_add(memory.len.into());
                memory.key == key && va >= memory.address && va.saturating_add(n) <= end
            })
        };
        let mut of_side = self.open.range((of_client, 0)..=(of_client, u64::MAX));
        let (&id, open) = of_side.find(|(_, open)| has(open))?;
        let place = open.asked.chunks.as_ref().and_then(|chunks| chunks.place(reth));
        Some(Moved { id, frame: open.frame, place })
    }

    /// The command of a transfer, as long as it waits.
    fn open_of(&mut self, moved: Moved) -> Option<&mut Open> {
        self.open.get_mut(&moved.id).filter(|open| open.frame == moved.frame)
    }

    /// When its data was on its way.
    pub(super) fn moving(&mut self, of: Moved) -> Option<&mut Moving> {
        self.open_of(of).map(|open| &mut open.moving)
    }

    /// A packet of a command's data; `begins`: the first one of its READ or WRITE.
    pub(super) fn on_data(&mut self, of: Moved, packet: &Packet<'_>, begins: bool) {
        let Some(open) = self.open_of(of) else { return };
        let &Packet { time, psn, payload, len, shape, .. } = packet;
        open.moving.data(shape.operation, time, psn);
        open.moved = open.moved.saturating_add(len.into());
        if let Some((chunks, place)) = open.asked.chunks.as_deref_mut().zip(of.place) {
            chunks.of(place).packet(place, begins, psn, payload, len);
            if place.is_call && shape.ends {
                rpc::read_call(&mut open.asked);
            }
        }
    }
}
