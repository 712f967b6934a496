//! How connections were set up and ended, by the connection manager's messages.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    Closing, Head, Service, SetupOutcome, Side, Why, clean,
    units::{count, duration, several},
};

records! {
    /// A connection that was asked for, or a queue pair of a service (SIDR), and what became of it: from the messages of the connection
    /// manager. Refused ones have no flows.
    pub struct Setup {
        /// Its number: its place in the list of set-ups.
        pub id: u32,
        /// What became of it.
        pub outcome: SetupOutcome,
        /// Which side refused it, or gave up.
        pub rejected_by: Option<Side>,
        /// The reason of the REJ, or the status of the SIDR_REP, as IBTA numbers them.
        pub reject_reason: Option<u16>,
        /// The same in words.
        pub reason: Option<Cow<'static, str>>,
        /// What to do about it.
        pub next: Option<Cow<'static, str>>,
        /// The transport service that was asked for.
        pub service: Service,
        /// The service ID, in hexadecimal.
        pub service_id: Option<String>,
        /// RDMA-CM's port space: TCP, UDP, IB, IPoIB.
        pub port_space: Option<Cow<'static, str>>,
        /// The port that was asked for.
        pub port: Option<u16>,
        /// The application: what listens on this port by convention, or what the private data shows.
        pub application: Option<Cow<'static, str>>,
        /// How the application is known: `service`, of whose convention a port says no more, or `private_data`, which can be no other's.
        pub application_by: Option<Cow<'static, str>>,
        /// The side that asked: it sent the REQ. Where the capture does not show who asked, the side that was heard first (`why.active`).
        pub active: SetupEnd,
        /// The side that was asked.
        pub passive: SetupEnd,
        /// Path MTU in bytes, as the REQ has it.
        pub path_mtu_bytes: Option<u16>,
        /// Partition.
        pub p_key: Option<u16>,
        /// How long the queue pairs wait for an acknowledgement before they retransmit, in nanoseconds: the REQ's local ACK timeout. 0 is
        /// without end.
        pub ack_timeout_ns: Option<u64>,
        /// How often they retransmit after a timeout.
        pub retry_count: Option<u8>,
        /// How long the asked side may take to answer a message, in nanoseconds.
        pub remote_cm_timeout_ns: Option<u64>,
        /// How long the asking side may take.
        pub local_cm_timeout_ns: Option<u64>,
        /// How often messages of the connection manager are retransmitted.
        pub max_cm_retries: Option<u8>,
        /// The longest delay of an acknowledgement by the passive side, in nanoseconds, as the REP has it.
        pub target_ack_delay_ns: Option<u64>,
        /// REQs, or SIDR_REQs, that were sent: more than one were repeated.
        pub requests: u64,
        /// From the first of them to the last, in nanoseconds; `None` where there is one.
        pub asking_ns: Option<u64>,
        /// REPs, or SIDR_REPs, that were sent.
        pub replies: u64,
        /// RTUs that were sent.
        pub confirmations: u64,
        /// MRAs: a side asked for more time.
        pub waits: u64,
        /// The longest time that a side asked for, in nanoseconds.
        pub wait_ns: Option<u64>,
        /// When its first message came, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// From the first REQ to the first answer that decides: REP, REJ or SIDR_REP, in nanoseconds.
        pub answer_ns: Option<u64>,
        /// From the first REQ to the first REJ, in nanoseconds.
        pub rejected_ns: Option<u64>,
        /// From the first REQ to the first RTU, in nanoseconds.
        pub setup_ns: Option<u64>,
        /// The side that sent the first DREQ; or, closed without a word, the one whose queue pair was used again.
        pub closed_by: Option<Side>,
        /// How it was closed; `None` while it is open.
        pub closing: Option<Closing>,
        /// When it was closed, in nanoseconds since 1970-01-01 UTC.
        pub closed_ns: Option<i64>,
        /// From the first DREQ to the first DREP, in nanoseconds.
        pub close_answer_ns: Option<u64>,
        /// DREQs that were sent, by both sides.
        pub disconnects: u64,
        /// What became of the last alternate path that was asked for (LAP, APR); `None` where none was.
        pub alternate_path: Option<Cow<'static, str>>,
        /// Alternate paths that were asked for.
        pub alternates_asked: u64,
        /// Those of them that were refused.
        pub alternates_refused: u64,
        /// The connection of its two flows, as a number in the list of connections; `None` without traffic.
        pub connection: Option<u32>,
        /// Its messages, counted from 1: the first 64 and the last one.
        pub frames: Vec<u64>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// One side of a set-up.
    pub struct SetupEnd {
        /// Its address, as that of its packets.
        pub addr: String,
        /// Its queue pair.
        pub qp: Option<u32>,
        /// Its number for the connection.
        pub comm_id: Option<u32>,
        /// The first PSN that it expects: that of the other side's first request.
        pub starting_psn: Option<u32>,
        /// Its address in RDMA-CM's header.
        pub ip: Option<String>,
        /// Its port there; of the passive side, that of the service.
        pub port: Option<u16>,
        /// Its GID on the primary path.
        pub gid: Option<String>,
        /// Its LID; `None` on RoCE.
        pub lid: Option<u16>,
        /// GUID of its adapter, in hexadecimal.
        pub ca_guid: Option<String>,
        /// READs and atomics that it accepts at a time.
        pub responder_resources: Option<u8>,
        /// READs and atomics that it issues at a time.
        pub initiator_depth: Option<u8>,
        /// How often the other side shall try again when this one is not ready (RNR NAK); 7 is without end.
        pub rnr_retry_count: Option<u8>,
        /// It counts credits end to end.
        pub flow_control: Option<bool>,
        /// It has a shared receive queue.
        pub srq: Option<bool>,
        /// What its application put into REQ, REP or REJ, in hexadecimal, without the zeros behind.
        pub private_data: Option<String>,
        /// The flow that it sends, as an index into the list of flows; `None` without traffic.
        pub flow: Option<usize>,
    }
}

impl Setup {
    /// The service that was asked for, in words.
    pub fn service_words(&self) -> String {
        let port = match (self.port, self.port_space.as_deref()) {
            (Some(port), Some("TCP") | None) => format!("port {port}"),
            (Some(port), Some(space)) => format!("{space} port {port}"),
            (None, _) => match &self.service_id {
                Some(id) => format!("service {id}"),
                None => "a service that is not in the capture".to_owned(),
            },
        };
        match &self.application {
            Some(name) => format!("{name} ({port})"),
            None => port,
        }
    }

    /// Whether it came to nothing, or took more than it should, or its end did; or something was asked for, and not given.
    pub fn is_in_trouble(&self) -> bool {
        self.has_failed()
            || self.is_slow()
            || self.is_waiting()
            || self.is_closing_slow()
            || self.alternates_refused > 0
            || self.alternate_path.as_deref() == Some("not answered")
    }

    /// Whether it was asked for again and again without an answer so far.
    pub fn is_waiting(&self) -> bool {
        self.outcome == SetupOutcome::Pending && self.requests > 1 && self.replies == 0 && self.waits == 0
    }

    /// Whether a DREQ was sent again, or its answer took a second or more.
    pub fn is_closing_slow(&self) -> bool {
        const SLOW_NS: u64 = 1_000_000_000;
        let usual = if self.closing == Some(Closing::Crossed) { 2 } else { 1 };
        self.disconnects > usual || self.close_answer_ns.is_some_and(|ns| ns >= SLOW_NS)
    }

    /// Whether it came to nothing.
    pub fn has_failed(&self) -> bool {
        use SetupOutcome::{GaveUp, Refused, Unanswered, Unconfirmed};
        matches!(self.outcome, Refused | GaveUp | Unanswered | Unconfirmed)
    }

    /// Whether the set-up took a second or more, or messages were repeated.
    pub fn is_slow(&self) -> bool {
        const SLOW_NS: u64 = 1_000_000_000;
        let is_done =
            matches!(self.outcome, SetupOutcome::Established | SetupOutcome::Closed | SetupOutcome::Resolved);
        let took = self.setup_ns.or(self.answer_ns);
        is_done && (took.is_some_and(|ns| ns >= SLOW_NS) || self.requests > 1 || self.replies > 1)
    }

    /// Who asked whom for what, and what became of it.
    pub fn sentence(&self) -> String {
        let ends = format!("{} to {}", clean(&self.active.addr), clean(&self.passive.addr));
        format!("{ends}, {}: {}", self.service_words(), self.outcome_words())
    }

    /// What became of it, in words.
    pub fn outcome_words(&self) -> String {
        let reason = self.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let tries = if self.requests > 1 { format!(" {} times", self.requests) } else { String::new() };
        let after = self.rejected_ns.or(self.answer_ns);
        let after = after.map_or_else(String::new, |ns| format!(" after {}", duration(ns)));
        let mut text = match self.outcome {
            SetupOutcome::Refused => format!("refused by {}{after}{reason}", self.who(self.rejected_by)),
            SetupOutcome::GaveUp => {
                let answered = if self.replies > 0 {
                    format!(", answered {}", several(self.replies, "time"))
                } else {
                    String::new()
                };
                format!("asked{tries}{answered}, {} gave up{after}{reason}", self.who(self.rejected_by))
            }
            SetupOutcome::Unanswered => format!("asked{tries}, never answered"),
            SetupOutcome::Unconfirmed => {
                format!("answered {}, never confirmed", several(self.replies, "time"))
            }
            SetupOutcome::Resolved => format!("queue pair told{after}"),
            SetupOutcome::Pending if self.is_waiting() => {
                let over = self.asking_ns.map_or_else(String::new, |ns| format!(" in {}", duration(ns)));
                format!("asked{tries}{over} without an answer so far")
            }
            outcome => outcome.words().to_owned(),
        };
        if let Some(ns) = self.setup_ns {
            text += &format!(", set up in {}", duration(ns));
        }
        if self.is_slow() && self.requests > 1 {
            text += &format!(", asked{tries}");
        }
        if self.is_slow() && self.replies > 1 {
            text += &format!(", answered {} times", self.replies);
        }
        if let Some(ns) = self.wait_ns {
            text += &format!(", {} asked to wait up to {} longer (MRA)", self.who(None), duration(ns));
        }
        if self.is_closing_slow() {
            let dreqs = several(self.disconnects, "DREQ");
            text += &match self.close_answer_ns {
                Some(ns) => format!(", closed with {dreqs}, answered after {}", duration(ns)),
                None => format!(", closed with {dreqs}, never answered"),
            };
        }
        if let Some(last) = &self.alternate_path {
            let asked = several(self.alternates_asked, "alternate path");
            text += &match self.alternates_asked {
                1 => format!(", {asked} asked for (LAP): {last}"),
                _ => format!(
                    ", {asked} asked for (LAP), {} refused; the last: {last}",
                    self.alternates_refused
                ),
            };
        }
        text
    }

    fn who(&self, side: Option<Side>) -> &str {
        match side {
            Some(Side::Active) => "the asking side",
            Some(Side::Passive) => "the asked side",
            _ => "a side",
        }
    }

    /// What an application said when it refused, in words: `"no such volume"`. `None` where it did not refuse, or what it said has words of its
    /// own, as that of NVMe has.
    pub fn refusal_said(&self) -> Option<String> {
        let is_of_application = self.outcome == SetupOutcome::Refused
            && self.reason.as_deref().is_some_and(|reason| reason.ends_with("consumer reject"));
        let end = match self.rejected_by.filter(|_| is_of_application)? {
            Side::Active => &self.active,
            _ => &self.passive,
        };
        Some(match &end.private_data {
            Some(hex) => data_in_words(hex),
            None => "none".to_owned(),
        })
    }

    /// All set-ups in a sentence; `None` where there are none. `count`: all of them, those that are not listed too.
    pub fn sentence_of(all: &[Setup], count: u64) -> Option<String> {
        if count == 0 {
            return None;
        }
        let of = |outcome| all.iter().filter(|setup| setup.outcome == outcome).count() as u64;
        let outcomes = SetupOutcome::ALL.map(|outcome| (of(outcome), outcome.words()));
        let parts: Vec<String> =
            outcomes.iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!("{n} {words}")).collect();
        let mut text =
            format!("{} by the connection manager: {}", several(count, "set-up"), parts.join(", "));
        let mut times: Vec<u64> = all.iter().filter_map(|setup| setup.setup_ns).collect();
        times.sort_unstable();
        if let (Some(median), Some(longest)) = (times.get(times.len() / 2), times.last()) {
            text += &match times.len() {
                1 => format!("; set up in {}", duration(*longest)),
                _ => {
                    format!("; set up in {} in the median, {} at most", duration(*median), duration(*longest))
                }
            };
        }
        Some(text)
    }

    /// What is missing of the messages of the connection manager.
    pub fn cut_words(head: &Head) -> Option<String> {
        let (cut, unread) = (head.setup_messages_cut, head.setup_messages_unread);
        let unread = match unread {
            0 => String::new(),
            n => format!(", {} so far that nothing is known of what they set up", count(n)),
        };
        let messages = several(cut, "message");
        (cut > 0).then(|| {
            format!("{messages} of the connection manager cut by the capture{unread}: record at least 330 bytes of each frame")
        })
    }

    /// What to do when a connection is refused with this reason (IBTA vol. 1, 12.6.7.2).
    pub fn advice(reason: u16) -> &'static str {
        match reason {
            1..=3 => {
                "the asked host has no queue pair, context or memory left: look for connections that are never closed there, and raise its limits"
            }
            4 => {
                "the peer did not answer in time: see whether its messages arrive, and whether its application accepts connections"
            }
            5 | 35 => {
                "the asked side does not support what was asked for: compare versions and options of both"
            }
            6 | 7 => {
                "the asked side does not know this connection: it was restarted, or it had given up before"
            }
            8 => "nobody listens there: start the service on that host, or correct address and port",
            9 => {
                "the service wants another transport service (RC, UC, UD, XRC): compare what both sides open"
            }
            10 => {
                "the asked host still has an older connection of this queue pair: it was not told that its peer is gone; it can be set up again when that has ended"
            }
            12 | 13 | 18 | 19 => {
                "the request names a GID or LID that is not of the asked port: check addresses and routes, and on RoCE the GID index"
            }
            14 | 20 => {
                "the service level is not valid there: check the subnet manager's QoS and the path record"
            }
            15 | 21 | 16 | 22 | 32 | 33 => {
                "traffic class, hop limit or flow label are not valid there: check the path record, and on RoCE the traffic class of both hosts"
            }
            17 | 23 => "the packet rate is not supported there: check the path record and the links' speeds",
            24 | 25 => {
                "the asked side names another port for this: the asking side must go there, which few do"
            }
            26 => {
                "the path MTU is larger than the asked port allows: set the same MTU on both hosts and the switches between them"
            }
            27 => {
                "the asking side wants to issue more READs at a time than the asked side accepts: lower its initiator depth"
            }
            28 => "the application refused: its private data, if it gave any, and its log say why",
            29 => "the RNR retry count was not accepted: use another one",
            30 => "the same communication ID is in use: the asking host was probably restarted",
            31 => "the versions of the connection managers differ",
            _ => "look into the logs of the side that refused",
        }
    }

    /// What to do when a controller of NVMe refused a queue.
    pub fn nvme_advice(status: u16) -> Option<&'static str> {
        Some(match status {
            1 | 2 => {
                "what asked sent no private data of an NVMe host: it is something else, or of another version; check the port"
            }
            3 | 9 => {
                "the controller does not know this queue: its log says why; disconnect and connect the host again"
            }
            4 | 5 => {
                "the queue has more entries than the controller takes, or what asked is no NVMe host: use a smaller queue size, or check the port"
            }
            6 => {
                "the controller has no resources left for a queue: use fewer or smaller queues, or close others"
            }
            7 | 8 => {
                "the depth of READs was not accepted: lower it on the host, and check the adapter's limits"
            }
            _ => return None,
        })
    }

    /// What to do when a connection was not set up and no reason for it was sent, or a timeout is the reason. `is_early`: a side gave up
    /// although an answer could still have come.
    pub fn silence_advice(&self, is_early: bool) -> &'static str {
        // A reply that was seen did not arrive, or came too late. Who asks again had no answer, and an MRA is one.
        match (self.replies > 0, is_early) {
            (true, _) => {
                "look for loss between the tap and the asking host, and for a firewall that lets only one direction pass"
            }
            (false, true) if self.requests <= 1 || self.waits > 0 => {
                "it gave up before the connection manager's own timeout: its application ended, was killed, or has a shorter timeout; see its log, and why the other side was not ready sooner"
            }
            (false, true) => {
                "see whether the asked host is up, has this address, and gets UDP port 4791; a capture there shows whether the requests arrive; the asking side gave up before the connection manager's own timeout: its log says why"
            }
            (false, false) => {
                "see whether the asked host is up, has this address, and gets UDP port 4791; a capture there shows whether the requests arrive"
            }
        }
    }

    /// What to do when the asked side gave up with a timeout.
    pub const ASKED_SIDE_GAVE_UP: &'static str = "the asked side waited in vain for a message of the asking side, or for its own application: see its log, and look for loss between the two (its REP, the RTU)";

    /// What to do when a service's queue pair is not told (SIDR).
    pub fn sidr_advice(status: u8) -> &'static str {
        match status {
            1 => "nobody listens there: start the service on that host, or correct address and port",
            2 => "the application refused: its private data, if it gave any, and its log say why",
            3 => "the asked host has no queue pair for it: look into the log of the service",
            _ => "look into the logs of the side that refused",
        }
    }
}

/// Bytes in hexadecimal as text, where that is what they are.
fn data_in_words(hex: &str) -> String {
    /// More would fill the line.
    const MOST: usize = 64;
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(byte).collect();
    let is_text = |byte: &u8| matches!(byte, b' '..=b'~');
    match bytes.filter(|bytes| bytes.iter().all(is_text)).map(String::from_utf8) {
        Some(Ok(text)) => format!("\"{text}\""),
        _ if hex.len() > 2 * MOST => format!("0x{}…", hex.get(..2 * MOST).unwrap_or(hex)),
        _ => format!("0x{hex}"),
    }
}
