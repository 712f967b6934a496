//! Rows of the report: what each dialog comes to.

use std::{borrow::Cow, net::Ipv6Addr};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{
    Setups,
    dialog::{Dialog, Heard, Own, Rejection, Request, What},
};
use crate::{
    analyze::packet::key::Key,
    grammar::print::hex,
    report::{Closing, Reason, Service, Setup, SetupEnd, SetupOutcome, Side},
    upper::Application,
    wire::*,
};

/// What the capture has of the packets of connections.
pub(crate) struct Traffic<'a> {
    /// By the [keys](Setups::keys): flows with this key, one after the other.
    pub(crate) flows: HashMap<Key, Vec<Passed>, RandomState>,
    /// Whether any packet goes from the source of a key to its destination.
    pub(crate) goes: Box<dyn Fn(&Key) -> bool + 'a>,
}

/// A flow: its place in the report, its connection, when its first packet came and its last one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    pub(crate) at: usize,
    pub(crate) connection: Option<u32>,
    pub(crate) first_ns: i64,
    pub(crate) last_ns: i64,
}

/// A LID that is none: RoCE has no LIDs.
const PERMISSIVE: u16 = 0xffff;

impl Setups {
    /// The rows, and how many set-ups there were with those that have none.
    pub(crate) fn section(&self, traffic: &Traffic<'_>, last_ns: i64) -> (Vec<Setup>, u64) {
        let rows = self.all.iter().zip(0..).map(|(dialog, id)| Setup { id, ..dialog.row(traffic, last_ns) });
        (rows.collect(), self.all.len() as u64 + self.left_out)
    }

    /// The applications of what was set up.
    pub(crate) fn applications(&self) -> impl Iterator<Item = Application> + '_ {
        let is_up = |dialog: &&Dialog| dialog.reply.is_some() && dialog.rejection.is_none();
        self.all.iter().filter(is_up).filter_map(|dialog| Some(dialog.application()?.0))
    }

    /// Whether there are datagrams of subnet administration or performance management.
    pub(crate) fn has_others(&self) -> bool {
        self.has_others
    }

    /// Messages that were not captured as a whole, and those of which nothing could be read.
    pub(crate) fn cut(&self) -> [u64; 2] {
        [self.cut, self.unread]
    }

    /// The keys of flows that belong to them, without these flows.
    pub(crate) fn keys(&self) -> HashMap<Key, Vec<Passed>, RandomState> {
        let sides = |dialog: &Dialog| [false, true].map(|passive| dialog.keys_of_flow(passive));
        let keys = self.all.iter().flat_map(sides).flatten().flatten();
        keys.map(|key| (key, Vec::new())).collect()
    }
}

impl Dialog {
    /// The keys that the flow of a side may have: on the paths that the REQ names, and on that of the messages.
    fn keys_of_flow(&self, passive: bool) -> [Option<Key>; 3] {
        let is_used = !self.is_sidr && self.rejection.is_none();
        let Some(qp) = self.qps[!passive as usize].filter(|_| is_used) else { return [None; 3] };
        let terms = self.request.as_ref().and_then(|request| request.more.as_ref());
        let [primary, alternate] = terms.map_or([None; 2], |terms| terms.paths).map(|path| {
            let path = path?.with_queue_pair(qp);
            Some(if passive { path.reverse(qp) } else { path })
        });
        [primary, Some(self.key_of(passive).with_queue_pair(qp)), alternate]
    }

    fn row(&self, traffic: &Traffic<'_>, last_ns: i64) -> Setup {
        let seen = Seen::of(self, traffic);
        let (outcome, unknown) = self.outcome(&seen, last_ns);
        let mut row = Setup {
            outcome,
            service: self.service(),
            start_ns: self.heard.first().map_or(0, |first| first.first_ns),
            requests: self.sent(What::Req) + self.sent(What::SidrReq),
            replies: self.sent(What::Rep) + self.sent(What::SidrRep),
            confirmations: self.sent(What::Rtu),
            waits: self.sent(What::Mra),
            wait_ns: Some(self.wait_ns).filter(|&ns| ns > 0),
            disconnects: self.sent(What::Dreq),
            connection: seen.connection,
            frames: self.frames(),
            active: self.end(false, &seen),
            passive: self.end(true, &seen),
            ..Setup::default()
        };
        if let Some(reason) = unknown {
            row.why.insert("outcome".into(), reason);
        }
        if !self.knows_sides {
            row.why.insert("active".into(), Reason::Midstream);
        }
        match &self.request {
            Some(request) => self.ask(&mut row, request),
            None => {
                for field in ["service_id", "path_mtu_bytes", "setup_ns", "active.starting_psn"] {
                    row.why.insert(field.into(), seen.without(false));
                }
            }
        }
        self.name(&mut row);
        match &self.reply {
            Some(reply) => row.target_ack_delay_ns = Some(CmTimeout(reply.ack_delay).ns()),
            None if matches!(outcome, SetupOutcome::Established | SetupOutcome::Closed) => {
                row.why.insert("passive.starting_psn".into(), seen.without(true));
            }
            None => {}
        }
        self.time(&mut row, &seen);
        self.refusal(&mut row);
        self.close(&mut row);
        if let Some((_, status)) = self.alternates.last {
            let words =
                status.map(|status| <ApStatus as Bits>::SHOW.name(status.into()).unwrap_or("not assigned"));
            row.alternate_path = Some(words.unwrap_or("not answered").into());
        }
        (row.alternates_asked, row.alternates_refused) = (self.alternates.asked, self.alternates.refused);
        let asks = self.heard.iter().filter(|heard| matches!(heard.what, What::Req | What::SidrReq));
        let asking = asks.map(|heard| heard.last_ns.saturating_sub(heard.first_ns)).max();
        row.asking_ns = asking.and_then(|ns| u64::try_from(ns).ok()).filter(|&ns| ns > 0);
        row
    }

    /// How many messages of a kind both sides sent.
    fn sent(&self, what: What) -> u64 {
        self.heard.iter().filter(|heard| heard.what == what).map(|heard| heard.count).sum()
    }

    fn frames(&self) -> Vec<u64> {
        let mut frames = self.frames.clone();
        if frames.last().is_some_and(|&last| last < self.last_frame) {
            frames.push(self.last_frame);
        }
        frames
    }

    fn service(&self) -> Service {
        match self.request.as_ref().and_then(|request| request.more.as_ref()) {
            _ if self.is_sidr => Service::Ud,
            None => Service::Unknown,
            Some(terms) => match CmTransport(terms.transport) {
                CmTransport::RC => Service::Rc,
                CmTransport::UC => Service::Uc,
                CmTransport::RD => Service::Rd,
                _ if terms.extended == 1 => Service::Xrc,
                _ => Service::Unknown,
            },
        }
    }

    /// What became of it. Where the capture does not show it, the reason.
    fn outcome(&self, seen: &Seen, last_ns: i64) -> (SetupOutcome, Option<Reason>) {
        use SetupOutcome::{
            Closed, Established, GaveUp, Pending, Refused, Resolved, Unanswered, Unconfirmed, Unknown,
        };
        let known = |outcome| (outcome, None);
        match self.resolution {
            Some((status, _)) if SidrStatus(status) == SidrStatus::VALID => return known(Resolved),
            Some(_) => return known(Refused),
            None => {}
        }
        if self.any(What::Dreq).is_some() || self.any(What::Drep).is_some() || self.reused.is_some() {
            return known(Closed);
        }
        if let Some(rejection) = &self.rejection {
            let is_timeout = rejection.reason.map(RejectReason) == Some(RejectReason::TIMEOUT);
            return known(if is_timeout { GaveUp } else { Refused });
        }
        if self.any(What::Rtu).is_some() || self.any(What::Lap).is_some() || seen.has_traffic {
            return known(Established);
        }
        let waits_on = self.heard.iter().map(|heard| heard.last_ns).max().unwrap_or(last_ns);
        if last_ns.saturating_sub(waits_on) < self.patience_ns() {
            return known(Pending);
        }
        if self.any(What::Rep).is_some() {
            return match seen.goes_there {
                true => known(Unconfirmed),
                false => (Unknown, Some(Reason::OneWay)),
            };
        }
        // Who asks again had no answer; otherwise the other direction may be missing.
        match seen.goes_back || self.sent(What::Req) + self.sent(What::SidrReq) > 1 {
            true => known(Unanswered),
            false => (Unknown, Some(Reason::OneWay)),
        }
    }

    /// How long an answer may take, in nanoseconds.
    fn patience_ns(&self) -> i64 {
        // The default of Linux, where the capture does not have it.
        const USUAL: u8 = 20;
        let terms = self.request.as_ref().and_then(|request| request.more.as_ref());
        let asked = CmTimeout(terms.map_or(USUAL, |terms| terms.remote_cm_timeout)).ns();
        i64::try_from(asked.max(self.wait_ns)).unwrap_or(i64::MAX)
    }

    /// The application: by the service that was asked for, else by the private data of any side.
    fn name(&self, row: &mut Setup) {
        if let Some((application, by)) = self.application() {
            row.application = Some(application.name().into());
            row.application_by = Some(by.into());
        }
    }

    fn application(&self) -> Option<(Application, &'static str)> {
        let service = self.request.as_ref().map(|request| ServiceId(request.service));
        let by_service = || Some((Application::of_service(service?)?, "service"));
        let private = [
            self.request.as_ref().map(|request| &request.private),
            self.reply.as_ref().map(|reply| &reply.private),
            self.rejection.as_ref().map(|rejection| &rejection.private),
        ];
        let by_private = || {
            let application =
                private.into_iter().flatten().find_map(|data| Application::of_private_data(data));
            application.map(|application| (application, "private_data"))
        };
        by_service().or_else(by_private)
    }

    /// What the REQ says of the connection.
    fn ask(&self, row: &mut Setup, request: &Request) {
        let service = ServiceId(request.service);
        row.service_id = Some(format!("{:#018x}", service.0));
        row.p_key = request.p_key;
        if let Some((space, port)) = service.rdma_cm() {
            (row.port_space, row.port) = (Some(space.name().into()), Some(port));
        }
        let Some(terms) = &request.more else {
            if request.p_key.is_none() {
                for field in ["path_mtu_bytes", "p_key", "active.starting_psn"] {
                    row.why.insert(field.into(), Reason::Truncated);
                }
            }
            return;
        };
        row.path_mtu_bytes = PathMtu(terms.path_mtu).bytes();
        row.ack_timeout_ns = Some(AckTimeout(terms.ack_timeout).ns().unwrap_or(0));
        row.retry_count = Some(terms.retries);
        row.remote_cm_timeout_ns = Some(CmTimeout(terms.remote_cm_timeout).ns());
        row.local_cm_timeout_ns = Some(CmTimeout(terms.local_cm_timeout).ns());
        row.max_cm_retries = Some(terms.cm_retries);
    }

    /// One side of it.
    fn end(&self, passive: bool, seen: &Seen) -> SetupEnd {
        let at = passive as usize;
        let addr = if passive { self.key.destination() } else { self.key.source() };
        let mut end = SetupEnd {
            addr: addr.to_string(),
            qp: self.qps[at],
            comm_id: Some(self.ids[at]).filter(|&id| id != 0),
            flow: seen.flows[at],
            ..SetupEnd::default()
        };
        let request = self.request.as_deref();
        if let Some(ip) = request.and_then(|request| request.ip) {
            end.ip = Some(ip.of[usize::from(passive)].to_string());
            let port = request.map_or(0, |request| request.service as u16);
            end.port = Some(if passive { port } else { ip.src_port });
        }
        if let Some(terms) = request.and_then(|request| request.more.as_ref()) {
            end.gid = Some(terms.gids[at].to_string());
            end.lid = Some(terms.lids[at]).filter(|&lid| lid != PERMISSIVE && lid != 0);
        }
        match (passive, request, self.reply.as_deref()) {
            (false, Some(request), _) => {
                say_own(&mut end, request.more.as_ref().map(|terms| &terms.own), &request.private);
            }
            (true, _, Some(reply)) => say_own(&mut end, Some(&reply.own), &reply.private),
            _ => {}
        }
        if let Some(rejection) = self.rejection.as_ref().filter(|rejection| rejection.by_passive == passive)
            && !rejection.private.is_empty()
        {
            end.private_data = Some(hex(&rejection.private));
        }
        end
    }

    fn time(&self, row: &mut Setup, seen: &Seen) {
        let asked = self.any(What::Req).or(self.any(What::SidrReq));
        let after =
            |first: &Heard, then: &Heard| u64::try_from(then.first_ns.saturating_sub(first.first_ns)).ok();
        let answers = [What::Rep, What::Rej, What::SidrRep].map(|what| self.of_side(what, true));
        let answer = answers.into_iter().flatten().min_by_key(|heard| heard.first_ns);
        let rejected = self.any(What::Rej);
        row.rejected_ns = asked.zip(rejected).and_then(|(asked, rej)| after(asked, rej));
        let Some(asked) = asked else {
            if rejected.is_some() {
                row.why.insert("rejected_ns".into(), seen.without(false));
            }
            return;
        };
        row.answer_ns = answer.and_then(|answer| after(asked, answer));
        row.setup_ns = self.any(What::Rtu).and_then(|rtu| after(asked, rtu));
        if row.setup_ns.is_none() && matches!(row.outcome, SetupOutcome::Established | SetupOutcome::Closed) {
            row.why.insert("setup_ns".into(), seen.without(false));
        }
    }

    fn refusal(&self, row: &mut Setup) {
        let side = |by_passive| if by_passive { Side::Passive } else { Side::Active };
        if let Some(rejection) = &self.rejection {
            row.rejected_by = Some(side(rejection.by_passive));
            let Some(number) = rejection.reason else {
                row.why.insert("reject_reason".into(), Reason::Truncated);
                return;
            };
            let reason = RejectReason(number);
            row.reject_reason = Some(number);
            let of_application = of_application(row.application.as_deref(), rejection);
            let own_next = of_application.and_then(|(_, next)| next);
            let words = reason_words(number, &rejection.info);
            row.reason = Some(match of_application {
                Some((said, _)) => format!("{words}: {said}").into(),
                None => words,
            });
            // Whoever destroys a connection while it waits sends a REJ, too.
            let waited_ns =
                self.heard.iter().filter(|heard| heard.what != What::Rej).map(|heard| heard.last_ns).max();
            let rejected = self.any(What::Rej).zip(waited_ns);
            let is_early =
                rejected.is_some_and(|(rej, since)| rej.first_ns.saturating_sub(since) < self.patience_ns());
            row.next = Some(match reason {
                RejectReason::TIMEOUT if rejection.by_passive => Setup::ASKED_SIDE_GAVE_UP.into(),
                RejectReason::TIMEOUT if self.request.is_some() => row.silence_advice(is_early).into(),
                _ => own_next.unwrap_or_else(|| Setup::advice(reason.0)).into(),
            });
        }
        let status = self.resolution.map(|(status, _)| SidrStatus(status));
        if let Some(status) = status.filter(|&status| status != SidrStatus::VALID) {
            row.rejected_by = Some(Side::Passive);
            row.reject_reason = Some(status.0.into());
            row.reason = Some(status.name().unwrap_or("not assigned").into());
            row.next = Some(Setup::sidr_advice(status.0).into());
        }
        if matches!(row.outcome, SetupOutcome::Unanswered | SetupOutcome::Unconfirmed) || row.is_waiting() {
            row.next = Some(row.silence_advice(false).into());
        }
    }

    fn close(&self, row: &mut Setup) {
        let side = |passive| if passive { Side::Passive } else { Side::Active };
        let [active, passive] = [false, true].map(|side| self.of_side(What::Dreq, side));
        let first = [active, passive].into_iter().flatten().min_by_key(|dreq| dreq.first_ns);
        let answer = self.any(What::Drep);
        if let Some(dreq) = first {
            row.closed_by = Some(side(dreq.from_passive));
            row.closed_ns = Some(dreq.first_ns);
            let answer_ns = answer.map(|drep| drep.first_ns.saturating_sub(dreq.first_ns));
            row.close_answer_ns = answer_ns.and_then(|ns| u64::try_from(ns).ok());
            row.closing = Some(match (active.is_some() && passive.is_some(), answer) {
                (true, _) => Closing::Crossed,
                (false, Some(_)) => Closing::Answered,
                (false, None) => Closing::Unanswered,
            });
        } else if let Some(drep) = answer {
            // The DREQ came from the other side.
            row.closed_by = Some(side(!drep.from_passive));
            row.closed_ns = Some(drep.first_ns);
            row.closing = Some(Closing::Answered);
        } else if let Some((time, frame, is_passive)) = self.reused {
            row.closed_by = Some(side(is_passive));
            row.closed_ns = Some(time);
            row.closing = Some(Closing::Unsaid);
            row.frames.push(frame);
        }
    }
}

/// What the capture shows of a connection beside its messages.
struct Seen {
    /// The flows that the active side and the passive one send.
    flows: [Option<usize>; 2],
    connection: Option<u32>,
    /// Packets of it came after the reply.
    has_traffic: bool,
    /// Packets go from the active side to the passive one, and back: of whatever connection.
    goes_there: bool,
    goes_back: bool,
}

impl Seen {
    fn of(dialog: &Dialog, traffic: &Traffic<'_>) -> Seen {
        let from = dialog.heard.first().map_or(i64::MIN, |first| first.first_ns);
        let reply = dialog.any(What::Rep).map_or(from, |rep| rep.first_ns);
        // Queue pairs are used again. A connection that was asked for has packets after that only; of another one, those at hand count.
        let flow = |passive: bool| {
            dialog.keys_of_flow(passive).into_iter().flatten().find_map(|key| {
                let passed = traffic.flows.get(&key)?;
                match dialog.request {
                    Some(_) => {
                        passed.iter().filter(|one| one.first_ns >= from).min_by_key(|one| one.first_ns)
                    }
                    None => passed.iter().max_by_key(|one| (one.first_ns <= from, one.first_ns)),
                }
            })
        };
        let flows = [flow(false), flow(true)];
        let [there, back] = [dialog.key_of(false), dialog.key_of(true)];
        Seen {
            flows: flows.map(|flow| flow.map(|flow| flow.at)),
            connection: flows.iter().flatten().find_map(|flow| flow.connection),
            has_traffic: flows.iter().flatten().any(|flow| flow.last_ns > reply),
            goes_there: dialog.hears(false) || (traffic.goes)(&there),
            goes_back: dialog.hears(true) || (traffic.goes)(&back),
        }
    }

    /// Why a message of a side is not there.
    fn without(&self, passive: bool) -> Reason {
        let goes = if passive { self.goes_back } else { self.goes_there };
        if goes { Reason::Midstream } else { Reason::OneWay }
    }
}

/// What a side says of itself, and its private data.
fn say_own(end: &mut SetupEnd, own: Option<&Own>, private: &[u8]) {
    end.private_data = Some(private).filter(|data| !data.is_empty()).map(hex);
    let Some(own) = own else { return };
    end.starting_psn = Some(own.starting_psn);
    end.ca_guid = Some(format!("{:#018x}", own.ca_guid));
    end.responder_resources = Some(own.responder_resources);
    end.initiator_depth = Some(own.initiator_depth);
    end.rnr_retry_count = Some(own.rnr_retries);
    end.flow_control = Some(own.flow_control);
    end.srq = Some(own.srq);
}

/// What the application that refused says in its private data, and what to do then, if that is known.
fn of_application(name: Option<&str>, rejection: &Rejection) -> Option<(&'static str, Option<&'static str>)> {
    if rejection.reason.map(RejectReason) != Some(RejectReason::CONSUMER) {
        return None;
    }
    // Zeros behind were left out.
    let mut data = [0; size_of::<SrpLoginRej>()];
    let len = rejection.private.len().min(data.len());
    data[..len].copy_from_slice(&rejection.private[..len]);
    if name == Some(Application::NvmeOf.name()) {
        let (refused, _) = NvmeCmRej::view(&data)?;
        let why = refused.sts().0;
        let words = NvmeCmStatus::SHOW.name(why.0.into()).filter(|_| refused.recfmt().0 == 0)?;
        return Some((words, Setup::nvme_advice(why.0)));
    }
    if name == Some(Application::Srp.name()) {
        let (refused, _) =
            SrpLoginRej::view(&data).filter(|(rej, _)| rej.opcode() == SrpOpcode::LOGIN_REJ)?;
        return Some((SrpLoginReason::SHOW.name(refused.reason().0.into())?, None));
    }
    None
}

/// A reason in words, with what its additional information says where that is known (table 109).
fn reason_words(reason: u16, info: &[u8]) -> Cow<'static, str> {
    let Some(name) = RejectReason(reason).name() else {
        return format!("reason {reason}, which is not assigned").into();
    };
    let word = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u16::from_be_bytes(*bytes));
    match (reason, info) {
        // The GID or LID that is right.
        (12 | 18, info) if info.len() >= 16 => match info.first_chunk::<16>() {
            Some(gid) => format!("{name} (acceptable: {})", Ipv6Addr::from(*gid)).into(),
            None => name.into(),
        },
        // The GID of the other port; of a redirection it is in its ClassPortInfo.
        (24 | 25, info) => {
            let gid = if reason == 24 { info.get(8..).unwrap_or(&[]) } else { info };
            match gid.first_chunk::<16>().map(|gid| Ipv6Addr::from(*gid)).filter(|gid| !gid.is_unspecified())
            {
                Some(gid) => format!("{name} (to {gid})").into(),
                None => name.into(),
            }
        }
        (13 | 19, info) => match word(info) {
            Some(lid) => format!("{name} (acceptable: {lid:#x})").into(),
            None => name.into(),
        },
        // The largest MTU that is accepted, as a code in the upper half of the byte.
        (26, &[code, ..]) => match PathMtu(code >> 4).bytes() {
            Some(bytes) => format!("{name} (acceptable: {bytes} bytes)").into(),
            None => name.into(),
        },
        (27, &[most, ..]) => format!("{name} (acceptable: {most})").into(),
        _ => name.into(),
    }
}
