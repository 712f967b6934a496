//! From what a capture shows of a host to bounds of its counters, with the reasons why a bound is not the figure itself.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    fact::{COUNTERS, Fact, Vendor},
    host::{Host, HostCounts},
};
use crate::{
    analyze::Address,
    named,
    report::{Flow, View},
    sums::sums,
};

named! {
    /// Why a counter is not known exactly.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Reason {
        /// The tap is not at this host: what it was handed may be less.
        LostAfter "packets may be lost between the tap and the host",
        /// The tap is not at this host: it may have sent more.
        LostBefore "packets may be lost between the host and the tap, and leave no trace",
        /// Answers came that nothing asked for.
        Copies "there are answers that no captured request asked for: the network may have duplicated requests after the tap",
        /// Marks may be set after the tap.
        MarkedAfter "packets may be marked between the tap and the host",
        /// Bits may be flipped after the tap.
        CorruptedAfter "packets may be corrupted between the tap and the host",
        /// Whether the host has a receive buffer is not seen.
        NoBuffer "an unreliable packet that finds no receive buffer is dropped, and nothing shows it",
        /// Messages without acknowledgement.
        Open "messages are not acknowledged within the capture",
        /// Requests without an answer.
        Unanswered "the last requests have no answer within the capture: their queue pair may be destroyed",
        /// Multicast packets.
        Multicast "who takes part in a multicast group is not seen",
        /// The cause of some retransmissions is not known.
        Cause "the cause of some retransmissions is not known",
        /// READs that are repeated.
        Pieces "one retry may ask for the missing responses of a READ several times",
        /// Timers that retransmit nothing.
        Timers "a timer that expires and has nothing to retransmit leaves no trace",
        /// Adapters differ.
        Repeats "adapters differ in whether they count a request that they drop or had before",
        /// The class of some packets is open.
        Ambiguous "some late packets may be retransmitted, or overtaken",
        /// Second records of one packet.
        Recorded "packets were recorded twice: copies that the network made, or that the capture made",
        /// CNPs near NAKs.
        NearNak "a CNP does not say why it was sent",
        /// A NAK comes while the requester reacts to another one.
        GoesBack "a requester that is going back already may ignore another NAK",
        /// The capture begins within it.
        Midstream "the capture begins within the connection",
        /// The last sign of a queue pair is a retransmission.
        GivenUp "whether a silent queue pair gave up is not seen",
        /// The capture lacks frames.
        CaptureLoss "the capture lacks packets that were acknowledged",
        /// Nothing of it is on the wire.
        Local "it counts events inside the host",
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// What a counter must have grown by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prediction {
    /// The counter's name; with `+`, the sum of several.
    pub name: &'static str,
    /// What it counts.
    pub counts: &'static str,
    #[serde(skip)]
    pub(super) fact: Fact,
    /// What the capture itself shows.
    pub seen: u64,
    /// At least.
    pub least: u64,
    /// At most; `None` where nothing bounds it.
    pub most: Option<u64>,
    /// Why `least` and `most` differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<Reason>,
    /// Answers among them that came after the host's last request over their queue pair. A program that does not wait for its
    /// answers destroys the queue pair: then they are not counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub trailing: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// What is to be known beside the capture.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// The hosts at which the capture was made: it has all that they sent and were handed. Packets may be lost between other hosts
    /// and the tap.
    pub taps: Vec<Address>,
    /// Addresses of one host; the first one is canonical.
    pub hosts: Vec<Vec<Address>>,
}

impl Setting {
    /// The host's canonical address.
    pub fn host_of(&self, address: Address) -> Address {
        let same = self.hosts.iter().find(|host| host.contains(&address));
        same.and_then(|host| host.first().copied()).unwrap_or(address)
    }
}

/// The counters of one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostCounters {
    /// Its address, as reports have it.
    pub host: String,
    /// Its address.
    #[serde(skip)]
    pub address: Address,
    /// Whether the capture was made at this host.
    pub is_at_tap: bool,
    /// Whose names the counters have.
    pub vendor: Vendor,
    /// What its counters must have grown by, while the capture was made.
    pub counters: Vec<Prediction>,
}

/// The counters of all hosts of a capture, in the order of their addresses.
///
/// All packets of a host are taken to pass the tap, and all that it counts to happen within the capture.
pub fn predict(
    report: &View<'_>,
    counts: &HostCounts,
    vendor: Vendor,
    setting: &Setting,
) -> Vec<HostCounters> {
    let mut hosts: BTreeMap<Address, (Host, Trouble, bool)> = BTreeMap::new();
    let troubles = Trouble::by_address(report);
    for (address, counted) in counts.ended() {
        let host = setting.host_of(address);
        let (sum, trouble, is_at_tap) = hosts.entry(host).or_default();
        sum.add(&counted);
        if let Some(other) = troubles.get(&address.to_string()) {
            trouble.add(other);
        }
        *is_at_tap |= setting.taps.iter().any(|tap| setting.host_of(*tap) == host);
    }
    let predict = |(address, (host, trouble, is_at_tap)): (Address, _)| {
        let evidence = Evidence { host, trouble, multicast: counts.multicast, is_at_tap };
        let all = COUNTERS.iter().filter(|counter| counter.vendor == vendor);
        let counters = all.map(|counter| evidence.predict(counter.name, counter.fact)).collect();
        HostCounters { host: address.to_string(), address, is_at_tap, vendor, counters }
    };
    hosts.into_iter().map(predict).collect()
}

/// What the report says of the flows from a host.
#[derive(Clone, Copy, Debug, Default)]
struct Trouble {
    naks: u64,
    timeouts: u64,
    implied: u64,
    unknown: u64,
    resent: u64,
    resent_bytes: u64,
    ambiguous: u64,
    /// Losses between the host and the tap.
    lost: u64,
    /// Packets that the capture itself may lack.
    missed: u64,
    /// Queue pairs that may have given up.
    silent: u64,
    silent_after_rnr: u64,
    has_gaps: bool,
}

impl Trouble {
    fn by_address(report: &View<'_>) -> BTreeMap<String, Trouble> {
        let mut rows = Vec::new();
        report.flows.each_in_trouble(&mut |at, _| rows.push(at));
        let mut hosts: BTreeMap<String, Trouble> = BTreeMap::new();
        for flow in rows.into_iter().filter_map(|at| report.flows.row(at)) {
            hosts.entry(flow.src.clone()).or_default().add(&Trouble::of(&flow));
        }
        hosts
    }

    fn of(flow: &Flow) -> Trouble {
        let mut all = Trouble::default();
        for stream in [&flow.requests, &flow.responses] {
            all.add(&Trouble {
                resent: stream.retransmits,
                resent_bytes: stream.retransmitted_bytes,
                ambiguous: stream.ambiguous,
                lost: stream.losses.upstream.map_or(0, |[least, _]| least),
                missed: stream.losses.capture.filter(|[least, _]| *least > 0).map_or(0, |[_, most]| most),
                has_gaps: stream.gap_psns + stream.retransmits + stream.ambiguous > 0,
                ..Trouble::default()
            });
        }
        let triggers = &flow.requests.triggers;
        (all.naks, all.timeouts) = (triggers.nak, triggers.timeout);
        (all.implied, all.unknown) = (triggers.implied_nak, triggers.unknown);
        all.silent = (triggers.timeout + triggers.unknown > 0) as u64;
        all.silent_after_rnr = (triggers.rnr > 0) as u64;
        all
    }

    fn add(&mut self, other: &Trouble) {
        sums! { self += other: naks, timeouts, implied, unknown, resent, resent_bytes, ambiguous, lost, missed }
        sums! { self += other: silent, silent_after_rnr, has_gaps }
    }
}

/// All that is known of a host.
struct Evidence {
    host: Host,
    trouble: Trouble,
    multicast: u64,
    is_at_tap: bool,
}

impl Evidence {
    fn predict(&self, name: &'static str, fact: Fact) -> Prediction {
        let mut bounds = self.at_tap(fact);
        if !self.is_at_tap {
            self.widen(fact, &mut bounds);
        }
        let CounterBounds { seen, least, most, mut why } = bounds;
        if most == Some(least) {
            why.clear();
        }
        let trailing = if fact == Fact::Received { self.host.trailing } else { 0 };
        Prediction { name, counts: fact.name(), fact, seen, least, most, why, trailing }
    }

    /// The bounds, if the tap is at the host.
    fn at_tap(&self, fact: Fact) -> CounterBounds {
        let Evidence { host, trouble, .. } = self;
        let count = host.count(fact);
        let mut bounds = CounterBounds::exact(count.seen);
        match fact {
            Fact::Received => {
                bounds.copied(host.copied_requests + host.copies, host.copies_answered, self.is_at_tap);
                bounds.less(count.less, Reason::Unanswered);
                bounds.more(self.multicast, Reason::Multicast);
                bounds.more(trouble.missed, Reason::CaptureLoss);
            }
            Fact::Duplicates => {
                bounds.copied(host.copied_requests, host.copies_answered, self.is_at_tap);
            }
            Fact::ReceivesDone => {
                bounds.less(count.less, Reason::NoBuffer);
                bounds.more(count.more, Reason::Open);
                bounds.more(self.multicast, Reason::Multicast);
            }
            Fact::SendsDone => bounds.more(count.more, Reason::Open),
            Fact::WriteRequests | Fact::ReadRequests | Fact::AtomicRequests => {
                bounds.more(count.more, Reason::Repeats);
            }
            Fact::NewSequenceNaks => {
                bounds.less(count.less, Reason::GoesBack);
                bounds.more(count.more, Reason::Midstream);
            }
            Fact::Timeouts => {
                bounds = CounterBounds::exact(trouble.timeouts);
                bounds.more(trouble.unknown, Reason::Cause);
            }
            Fact::ImpliedNaks => {
                bounds = CounterBounds::exact(trouble.implied);
                bounds.more(trouble.unknown, Reason::Cause);
            }
            Fact::Rewinds => {
                bounds =
                    CounterBounds::exact(trouble.naks + trouble.timeouts + trouble.implied + trouble.unknown);
                bounds.less(trouble.implied, Reason::Pieces);
                bounds.open(Reason::Timers);
            }
            Fact::Resent | Fact::ResentBytes => {
                let is_bytes = fact == Fact::ResentBytes;
                bounds = CounterBounds::exact(if is_bytes { trouble.resent_bytes } else { trouble.resent });
                match is_bytes && trouble.ambiguous > 0 {
                    true => bounds.open(Reason::Ambiguous),
                    false => bounds.more(trouble.ambiguous, Reason::Ambiguous),
                }
            }
            Fact::LossCnps => {
                bounds = CounterBounds::exact(0);
                bounds.more(host.count(Fact::CnpsSent).seen, Reason::NearNak);
            }
            Fact::Exhausted => bounds.more(trouble.silent, Reason::GivenUp),
            Fact::RnrExhausted => bounds.more(trouble.silent_after_rnr, Reason::GivenUp),
            Fact::Local => bounds.open(Reason::Local),
            _ => {}
        }
        bounds
    }

    /// Widens the bounds by what may happen between the tap and the host.
    fn widen(&self, fact: Fact, bounds: &mut CounterBounds) {
        let Evidence { host, trouble, .. } = self;
        let received = host.count(Fact::Received).seen;
        match fact {
            Fact::Sent => {
                bounds.least += trouble.lost;
                if trouble.has_gaps || host.has_untraced {
                    bounds.open(Reason::LostBefore);
                } else {
                    // Requests have no gap. Of the rest, each packet answers one that came.
                    let most = host.requests + host.may_answer + host.unasked;
                    bounds.up_to(most.max(bounds.least), Reason::LostBefore);
                }
            }
            Fact::Received => {
                bounds.down_to(host.proved, Reason::LostAfter);
                bounds.more(host.unasked, Reason::Copies);
            }
            Fact::Duplicates => {
                bounds.down_to(0, Reason::LostAfter);
                bounds.up_to(host.repeats, Reason::LostAfter);
                bounds.more(host.unasked, Reason::Copies);
            }
            Fact::OutOfSequence | Fact::RnrSent => {
                bounds.up_to(host.requests_received.max(bounds.seen), Reason::LostBefore);
            }
            Fact::CnpsSent | Fact::Timeouts | Fact::Resent | Fact::ResentBytes | Fact::ImpliedNaks => {
                bounds.open(Reason::LostBefore);
            }
            Fact::LossCnps if bounds.most != Some(0) => bounds.open(Reason::LostBefore),
            Fact::Marked => {
                bounds.down_to(0, Reason::LostAfter);
                bounds.up_to(host.may_be_marked, Reason::MarkedAfter);
            }
            Fact::BadIcrcs => {
                bounds.down_to(0, Reason::LostAfter);
                bounds.up_to(received + bounds.seen, Reason::CorruptedAfter);
            }
            Fact::SequenceNaks
            | Fact::NewSequenceNaks
            | Fact::RnrReceived
            | Fact::CnpsReceived
            | Fact::InvalidRequestNaks
            | Fact::AccessNaks
            | Fact::OperationNaks
            | Fact::WriteRequests
            | Fact::ReadRequests
            | Fact::AtomicRequests
            | Fact::Rewinds
            | Fact::SendsDone => bounds.down_to(0, Reason::LostAfter),
            _ => {}
        }
    }
}

/// CounterBounds that become wider.
struct CounterBounds {
    seen: u64,
    least: u64,
    most: Option<u64>,
    why: Vec<Reason>,
}

impl CounterBounds {
    fn exact(seen: u64) -> CounterBounds {
        CounterBounds { seen, least: seen, most: Some(seen), why: Vec::new() }
    }

    /// Second records of packets to the host. Some are surely copies that it was handed: it answered them.
    fn copied(&mut self, copies: u64, answered: u64, is_at_tap: bool) {
        if is_at_tap {
            let CounterBounds { seen, least, most, .. } = self;
            (*seen, *least, *most) = (*seen + copies, *least + answered, most.map(|most| most + copies));
            if answered < copies {
                self.because(Reason::Recorded);
            }
        } else {
            self.more(copies, Reason::Recorded);
        }
    }

    fn because(&mut self, reason: Reason) {
        if !self.why.contains(&reason) {
            self.why.push(reason);
        }
    }

    fn less(&mut self, by: u64, reason: Reason) {
        self.down_to(self.least.saturating_sub(by), reason);
    }

    fn down_to(&mut self, least: u64, reason: Reason) {
        if least < self.least {
            self.least = least;
            self.because(reason);
        }
    }

    fn more(&mut self, by: u64, reason: Reason) {
        if let Some(most) = self.most {
            self.up_to(most.saturating_add(by), reason);
        }
    }

    fn up_to(&mut self, most: u64, reason: Reason) {
        if self.most.is_some_and(|now| most > now) {
            self.most = Some(most);
            self.because(reason);
        }
    }

    fn open(&mut self, reason: Reason) {
        self.most = None;
        self.because(reason);
    }
}
