//! What was said of one connection.

use std::net::{IpAddr, Ipv6Addr};

use super::Message;
use crate::{
    analyze::{packet::key::Key, table::connection::paths},
    heap::heap,
    wire::*,
};

/// Two records of one message come within this time, where one place sees both.
const COPY_NS: i64 = 20_000_000;

/// What was said of one connection, or of one question for a service's queue pair.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) struct Dialog {
    /// From the active side to the passive one, to the queue pair of management.
    pub(super) key: Key,
    /// Which side is which follows from the messages. Otherwise the one that was heard first counts as active.
    pub(super) knows_sides: bool,
    pub(super) is_sidr: bool,
    /// Communication IDs of the active side and the passive one; 0: not known.
    pub(super) ids: [u32; 2],
    pub(super) qps: [Option<u32>; 2],
    pub(super) request: Option<Box<Request>>,
    pub(super) reply: Option<Box<Reply>>,
    pub(super) rejection: Option<Box<Rejection>>,
    /// Of SIDR: status and queue key.
    pub(super) resolution: Option<(u8, u32)>,
    /// Messages by kind and side, in the order in which they first came.
    pub(super) heard: Vec<Heard>,
    /// The longest time that a side asked for, in nanoseconds.
    pub(super) wait_ns: u64,
    /// What became of the alternate paths that were asked for (LAP): the last one, and how many of each kind.
    pub(super) alternates: Alternates,
    /// Its messages' frames: the first ones, and the last.
    pub(super) frames: Vec<u64>,
    pub(super) last_frame: u64,
    /// A host gave a queue pair of it to another connection: when, in which frame, and whether that was the passive side.
    pub(super) reused: Option<(i64, u64, bool)>,
}

/// Requests for an alternate path (LAP), and their answers (APR).
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(super) struct Alternates {
    /// The last request's transaction, and the status of its answer.
    pub(super) last: Option<(u64, Option<u8>)>,
    /// Requests, and those that were refused.
    pub(super) asked: u64,
    pub(super) refused: u64,
}

impl Alternates {
    fn ask(&mut self, transaction: u64) {
        if self.last.is_none_or(|(before, _)| before != transaction) {
            self.asked += 1;
            self.last = Some((transaction, None));
        }
    }

    fn answer(&mut self, transaction: u64, status: u8) {
        match &mut self.last {
            Some((asked, Some(_))) if *asked == transaction => return,
            Some((asked, answer)) if *asked == transaction => *answer = Some(status),
            // To one before the last.
            Some(_) => {}
            // Its LAP was not captured.
            None => (self.asked, self.last) = (1, Some((transaction, Some(status)))),
        }
        // 0: the path is loaded.
        self.refused += u64::from(status != 0);
    }
}

/// The messages of one kind from one side.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(super) struct Heard {
    pub(super) what: What,
    pub(super) from_passive: bool,
    pub(super) count: u64,
    pub(super) first_ns: i64,
    pub(super) last_ns: i64,
    /// Of the last one: what tells two transmissions from two records of one.
    last: (u32, Option<u16>, u16, u64),
}

/// Kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::stored::Stored)]
pub(super) enum What {
    Req,
    Mra,
    Rej,
    Rep,
    Rtu,
    Dreq,
    Drep,
    SidrReq,
    SidrRep,
    Lap,
    Apr,
}

impl What {
    fn of(kind: Kind) -> Option<What> {
        Some(match kind {
            Kind::CmReq => What::Req,
            Kind::CmMra => What::Mra,
            Kind::CmRej => What::Rej,
            Kind::CmRep => What::Rep,
            Kind::CmRtu => What::Rtu,
            Kind::CmDreq => What::Dreq,
            Kind::CmDrep => What::Drep,
            Kind::CmSidrReq => What::SidrReq,
            Kind::CmSidrRep => What::SidrRep,
            Kind::CmLap => What::Lap,
            Kind::CmApr => What::Apr,
            _ => return None,
        })
    }
}

/// What a REQ or SIDR_REQ says.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Request {
    pub(super) transaction: u64,
    pub(super) service: u64,
    /// `None` where it is cut.
    pub(super) p_key: Option<u16>,
    pub(super) ip: Option<Addresses>,
    pub(super) private: Box<[u8]>,
    /// What a REQ says beside that.
    pub(super) more: Option<Terms>,
}

/// What each side says of itself, in its REQ or REP.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(super) struct Own {
    pub(super) starting_psn: u32,
    pub(super) ca_guid: u64,
    pub(super) rnr_retries: u8,
    pub(super) responder_resources: u8,
    pub(super) initiator_depth: u8,
    pub(super) flow_control: bool,
    pub(super) srq: bool,
}

/// The terms of a connection.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(super) struct Terms {
    pub(super) own: Own,
    pub(super) transport: u8,
    pub(super) extended: u8,
    pub(super) qpn: u32,
    pub(super) path_mtu: u8,
    pub(super) ack_timeout: u8,
    pub(super) remote_cm_timeout: u8,
    pub(super) local_cm_timeout: u8,
    pub(super) retries: u8,
    pub(super) cm_retries: u8,
    pub(super) lids: [u16; 2],
    pub(super) gids: [Ipv6Addr; 2],
    /// From the active to the passive side, on the paths that the REQ names.
    pub(super) paths: [Option<Key>; 2],
}

/// What RDMA-CM's header says.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(super) struct Addresses {
    pub(super) src_port: u16,
    /// Of who asks, and of who is asked.
    pub(super) of: [IpAddr; 2],
}

/// What a REP says.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) struct Reply {
    pub(super) own: Own,
    pub(super) ack_delay: u8,
    pub(super) private: Box<[u8]>,
}

/// What a REJ says.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) struct Rejection {
    pub(super) by_passive: bool,
    /// `None` where it is cut.
    pub(super) reason: Option<u16>,
    pub(super) info: Box<[u8]>,
    pub(super) private: Box<[u8]>,
}

heap! {
    Dialog { request, reply, rejection, heard, frames }
    Heard {}
    Request { private }
    Reply { private }
    Rejection { info, private }
}

impl Dialog {
    /// One that begins with this message, and whether the passive side sent it.
    pub(super) fn begin(message: &Message<'_>) -> (Dialog, bool) {
        let [own, others] = message.ids;
        let (knows_sides, is_passive) = match message.kind {
            Kind::CmReq | Kind::CmRtu | Kind::CmSidrReq | Kind::CmLap => (true, false),
            Kind::CmRep | Kind::CmSidrRep | Kind::CmApr => (true, true),
            // A REJ of a REQ, and an MRA to one, is from the passive side; one of a REP from the active one.
            Kind::CmRej => match message.header::<CmRej>().map(|rej| rej.message_rejected()) {
                Some(CmMessage::REQ) => (true, true),
                Some(CmMessage::REP) => (true, false),
                _ => (others == 0, false),
            },
            Kind::CmMra => match message.header::<CmMra>().map(|mra| mra.message_mraed()) {
                Some(CmMessage::REQ) => (true, true),
                Some(CmMessage::REP) => (true, false),
                _ => (false, false),
            },
            _ => (false, false),
        };
        let key = if is_passive { message.back() } else { *message.key };
        let ids = if is_passive { [others, own] } else { [own, others] };
        let dialog = Dialog {
            key,
            knows_sides,
            is_sidr: matches!(message.kind, Kind::CmSidrReq | Kind::CmSidrRep),
            ids,
            qps: [None; 2],
            request: None,
            reply: None,
            rejection: None,
            resolution: None,
            heard: Vec::new(),
            wait_ns: 0,
            alternates: Alternates::default(),
            frames: Vec::new(),
            last_frame: 0,
            reused: None,
        };
        (dialog, is_passive)
    }

    /// The key of what a side sends to the queue pair of management.
    pub(super) fn key_of(&self, passive: bool) -> Key {
        if passive { self.key.reverse(self.key.dest_qp()) } else { self.key }
    }

    /// Whether a message with an ID of it is about it: hosts use IDs again.
    pub(super) fn goes_on(&self, message: &Message<'_>, is_passive: bool) -> bool {
        let is_new = match message.kind {
            // One that is cut before its queue pair's first PSN is told by its transaction.
            Kind::CmReq if message.is_cut() => {
                is_passive || self.request.as_ref().is_some_and(|r| r.transaction != transaction(message))
            }
            Kind::CmReq => message.header::<CmReq>().is_some_and(|req| {
                let as_before = |terms: &Terms| {
                    (terms.qpn, terms.own.starting_psn) == (req.local_qpn().0, req.starting_psn().0)
                };
                is_passive || !self.request.as_ref().and_then(|r| r.more.as_ref()).is_some_and(as_before)
            }),
            Kind::CmSidrReq => {
                is_passive || self.request.as_ref().map(|r| r.transaction) != Some(transaction(message))
            }
            Kind::CmRep => !is_passive || self.ids[1] != 0 && message.ids[0] != self.ids[1] && self.is_over(),
            _ => false,
        };
        !is_new
    }

    fn is_over(&self) -> bool {
        self.rejection.is_some() || self.any(What::Dreq).is_some() || self.any(What::Drep).is_some()
    }

    /// The messages of a kind, from either side: those that came first.
    pub(super) fn any(&self, what: What) -> Option<&Heard> {
        self.heard.iter().find(|heard| heard.what == what)
    }

    pub(super) fn of_side(&self, what: What, passive: bool) -> Option<&Heard> {
        self.heard.iter().find(|heard| heard.what == what && heard.from_passive == passive)
    }

    /// Whether anything came from a side.
    pub(super) fn hears(&self, passive: bool) -> bool {
        self.heard.iter().any(|heard| heard.from_passive == passive)
    }

    /// Takes a message of it.
    pub(super) fn take(&mut self, message: &Message<'_>, is_passive: bool) {
        let Some(what) = What::of(message.kind) else { return };
        if !self.count(what, is_passive, message) {
            return;
        }
        for (id, side) in message.ids.into_iter().zip([is_passive, !is_passive]) {
            let known = &mut self.ids[side as usize];
            *known = if id == 0 { *known } else { id };
        }
        match message.kind {
            Kind::CmReq | Kind::CmSidrReq if self.request.is_none() => self.requested(message),
            Kind::CmRep if self.reply.is_none() => self.replied(message),
            Kind::CmRej if self.rejection.is_none() => self.rejected(message, is_passive),
            Kind::CmSidrRep => {
                if let Some(rep) = message.header::<CmSidrRep>() {
                    self.resolution = Some((rep.status().0, rep.q_key().0));
                    self.qps[1] = (rep.status() == SidrStatus::VALID).then_some(rep.qpn().0);
                }
            }
            Kind::CmDreq => {
                if let Some(dreq) = message.header::<CmDreq>() {
                    self.qps[!is_passive as usize].get_or_insert(dreq.remote_qpn().0);
                }
            }
            Kind::CmMra => {
                let wait = message.header::<CmMra>().map_or(0, |mra| mra.service_timeout().ns());
                self.wait_ns = self.wait_ns.max(wait);
            }
            Kind::CmLap => self.alternates.ask(transaction(message)),
            Kind::CmApr => {
                // Behind the two IDs, and the length of what else it says.
                if let Some(&status) = message.bytes().get(9) {
                    self.alternates.answer(transaction(message), status);
                }
            }
            _ => {}
        }
    }

    /// Counts a message; false for one that was counted: a second record of it.
    fn count(&mut self, what: What, from_passive: bool, message: &Message<'_>) -> bool {
        let (time, frame) = (message.facts.time(), message.frame);
        let last =
            (message.facts.psn().0, message.facts.ip_id(), message.facts.vantage(), transaction(message));
        let known = self.heard.iter_mut().find(|one| one.what == what && one.from_passive == from_passive);
        let Some(known) = known else {
            self.heard.push(Heard { what, from_passive, count: 1, first_ns: time, last_ns: time, last });
            self.show(frame);
            return true;
        };
        let is_copy = (known.last.0, known.last.1, known.last.3) == (last.0, last.1, last.3)
            && (known.last.2 != last.2 || time.abs_diff(known.last_ns) < COPY_NS.unsigned_abs());
        if is_copy {
            return false;
        }
        (known.last, known.last_ns) = (last, time);
        known.count += 1;
        self.show(frame);
        true
    }

    fn show(&mut self, frame: u64) {
        /// Whoever repeats messages repeats them up to 15 times.
        const SHOWN: usize = 64;
        self.last_frame = frame;
        if self.frames.len() < SHOWN {
            self.frames.push(frame);
        }
    }

    fn requested(&mut self, message: &Message<'_>) {
        let ip = message.header::<IpCm>().map(|ip| Addresses { src_port: ip.src_port(), of: ip.addresses() });
        let mut request = Request {
            transaction: transaction(message),
            ip,
            private: message.private(),
            ..Request::default()
        };
        if let Some(req) = message.header::<CmReq>() {
            (request.service, request.p_key) = (req.service_id().0, Some(req.p_key().0));
            request.more = Some(terms(req));
            self.qps[0] = Some(req.local_qpn().0);
        }
        if let Some(sidr) = message.header::<CmSidrReq>() {
            (request.service, request.p_key) = (sidr.service_id().0, Some(sidr.p_key().0));
        }
        if message.is_cut() {
            // Of a REQ: behind the asking side's number and reserved bytes the service, further on the queue pair.
            let bytes = message.bytes();
            let word = |at: usize| bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word));
            let service = if message.kind == Kind::CmReq { 8 } else { 12 };
            let Some(service) = word(service)
                .zip(word(service + 4))
                .map(|(high, low)| u64::from(high) << 32 | u64::from(low))
            else {
                return;
            };
            request.service = service;
            if message.kind == Kind::CmReq {
                self.qps[0] = word(32).map(|word| word >> 8);
            }
        }
        self.request = Some(Box::new(request));
    }

    fn replied(&mut self, message: &Message<'_>) {
        let Some(rep) = message.header::<CmRep>() else { return };
        self.qps[1] = Some(rep.local_qpn().0);
        self.reply = Some(Box::new(Reply {
            own: Own {
                starting_psn: rep.starting_psn().0,
                ca_guid: rep.local_ca_guid().0,
                rnr_retries: rep.rnr_retry_count(),
                responder_resources: rep.responder_resources(),
                initiator_depth: rep.initiator_depth(),
                flow_control: rep.end_to_end_flow_control(),
                srq: rep.srq(),
            },
            ack_delay: rep.target_ack_delay().0,
            private: message.private(),
        }));
    }

    /// A REJ, as far as it was captured: its reason is at its beginning.
    fn rejected(&mut self, message: &Message<'_>, by_passive: bool) {
        const INFO: usize = 12;
        let bytes = message.bytes();
        let used = bytes.get(9).map_or(0, |length| usize::from(length >> 1));
        let reason = bytes.get(10..).and_then(<[u8]>::first_chunk);
        let info = bytes.get(INFO..).unwrap_or(&[]);
        self.rejection = Some(Box::new(Rejection {
            by_passive,
            reason: reason.map(|reason| u16::from_be_bytes(*reason)),
            info: info[..info.len().min(used)].into(),
            private: message.private(),
        }));
    }

    /// The host of one side gave its queue pair to another connection.
    pub(super) fn lost_queue_pair(&mut self, is_passive: bool, message: &Message<'_>) {
        if !self.is_over() && self.reply.is_some() {
            self.reused.get_or_insert((message.facts.time(), message.frame, is_passive));
        }
    }
}

fn terms(req: &CmReq) -> Terms {
    Terms {
        own: Own {
            starting_psn: req.starting_psn().0,
            ca_guid: req.local_ca_guid().0,
            rnr_retries: req.rnr_retry_count(),
            responder_resources: req.responder_resources(),
            initiator_depth: req.initiator_depth(),
            flow_control: req.end_to_end_flow_control(),
            srq: req.srq(),
        },
        transport: req.transport_service_type().0,
        extended: req.extended_transport_type(),
        qpn: req.local_qpn().0,
        path_mtu: req.path_mtu().0,
        ack_timeout: req.primary_local_ack_timeout().0,
        remote_cm_timeout: req.remote_cm_response_timeout().0,
        local_cm_timeout: req.local_cm_response_timeout().0,
        retries: req.retry_count(),
        cm_retries: req.max_cm_retries(),
        lids: [req.primary_local_lid().0, req.primary_remote_lid().0],
        gids: [req.primary_local_gid(), req.primary_remote_gid()],
        paths: paths(req),
    }
}

fn transaction(message: &Message<'_>) -> u64 {
    message.header::<Mad>().map_or(0, |mad| mad.transaction_id().0)
}
