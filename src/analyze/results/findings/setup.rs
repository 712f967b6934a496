//! Rules about how connections were set up and ended.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::evidence::{Evidence, Seen};
use crate::report::{
    Closing, Setup, SetupOutcome, Side, clean,
    units::{duration, several},
};
use crate::upper::Application;

/// Set-ups that are alike, by what makes them so.
type Groups<'a, K> = BTreeMap<K, Vec<&'a Setup>>;

fn groups<'a, K: Ord>(head: &'a crate::report::Head, key: impl Fn(&'a Setup) -> Option<K>) -> Groups<'a, K> {
    let mut groups = Groups::new();
    for setup in &head.setups {
        if let Some(key) = key(setup) {
            groups.entry(key).or_default().push(setup);
        }
    }
    groups
}

/// A result about several set-ups: `show` gives the frame that shows one.
fn of(all: &[&Setup], text: String, show: impl Fn(&Setup) -> Option<u64>) -> Seen {
    let frames = all.iter().filter_map(|setup| show(setup)).collect();
    Seen { frames, ..Seen::new(all.len() as u64, text) }
}

fn first_frame(setup: &Setup) -> Option<u64> {
    setup.frames.first().copied()
}

fn last_frame(setup: &Setup) -> Option<u64> {
    setup.frames.last().copied()
}

/// Who asked: one address, or how many.
fn askers(all: &[&Setup]) -> String {
    hosts(all, |setup| &setup.active.addr)
}

/// The hosts at one end: one address, or how many.
fn hosts(all: &[&Setup], end: impl Fn(&Setup) -> &str) -> String {
    let hosts: BTreeSet<&str> = all.iter().map(|setup| end(setup)).collect();
    match hosts.len() {
        1 => clean(hosts.first().copied().unwrap_or_default()).into_owned(),
        n => several(n as u64, "host"),
    }
}

/// Refused: one result for each host, service and reason.
pub(super) fn refused(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let key = |setup: &Setup| {
        let is_it = setup.outcome == SetupOutcome::Refused;
        is_it.then(|| {
            (setup.passive.addr.clone(), setup.service_words(), setup.rejected_by, setup.reason.clone())
        })
    };
    for ((host, service, by, reason), all) in groups(head, key) {
        let who = by.map_or("a side", |side| side.words());
        let reason = reason.unwrap_or(Cow::Borrowed("no reason given"));
        let text = format!(
            "{} from {} to {}, {service}, refused by the {who}: {reason}",
            several(all.len() as u64, "connection"),
            askers(&all),
            clean(&host)
        );
        let advice = all.first().and_then(|setup| setup.next.clone());
        say(Seen { advice, ..of(&all, text, last_frame) });
    }
}

/// Never answered, or given up: one result for each host and service.
pub(super) fn unanswered(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    use SetupOutcome::{GaveUp, Unanswered, Unconfirmed};
    let key = |setup: &Setup| {
        let is_it = matches!(setup.outcome, Unanswered | GaveUp | Unconfirmed) || setup.is_waiting();
        is_it.then(|| {
            let how = match (setup.outcome, setup.rejected_by) {
                (GaveUp, Some(Side::Passive)) => "and the asked side gave up",
                _ if setup.replies > 0 => "and the answers did not reach the asking side, or came too late",
                _ if setup.is_waiting() => "without an answer so far: one could still come",
                _ => "without an answer",
            };
            (setup.passive.addr.clone(), setup.service_words(), how, setup.next.clone())
        })
    };
    for ((host, service, how, advice), all) in groups(head, key) {
        let asked = all.iter().map(|setup| setup.requests).sum();
        let text = format!(
            "{} from {} to {}, {service}, not set up: asked {}, {}",
            several(all.len() as u64, "connection"),
            askers(&all),
            clean(&host),
            several(asked, "time"),
            how,
        );
        say(Seen { advice, ..of(&all, text, first_frame) });
    }
}

/// Slow or repeated, and set up in the end: one result for each host and service.
pub(super) fn slow(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let key = |setup: &Setup| setup.is_slow().then(|| (setup.passive.addr.clone(), setup.service_words()));
    for ((host, service), all) in groups(head, key) {
        let longest = all.iter().filter_map(|setup| setup.setup_ns.or(setup.answer_ns)).max().unwrap_or(0);
        let again: u64 =
            all.iter().map(|setup| setup.requests.saturating_sub(1) + setup.replies.saturating_sub(1)).sum();
        let mut text = format!(
            "{} from {} to {}, {service}, took up to {} to set up",
            several(all.len() as u64, "connection"),
            askers(&all),
            clean(&host),
            duration(longest)
        );
        if again > 0 {
            text += &format!("; requests or replies were repeated {}", several(again, "time"));
        }
        say(Seen { time: longest, ..of(&all, text, first_frame) });
    }
}

/// Less than this until a queue pair gives up is little: a route that changes, or a pause, takes as long.
const SHORT_NS: u64 = 100_000_000;

/// Terms that end a connection at the first trouble: one result for each kind and service.
pub(super) fn terms(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    // IPoIB retries nothing on purpose, whatever it is asked for: TCP does (RFC 4755).
    let is_up = |setup: &Setup| {
        matches!(setup.outcome, SetupOutcome::Established | SetupOutcome::Closed)
            && setup.application.as_deref() != Some(Application::Ipoib.name())
    };
    let mut tell = |what: &str, advice: &'static str, is_it: &dyn Fn(&Setup) -> bool| {
        // Whoever asks for a service sets them: its hosts are one result.
        for (service, all) in
            groups(head, |setup| (is_up(setup) && is_it(setup)).then(|| setup.service_words()))
        {
            let text = format!(
                "{} from {} to {}, {service}: {what}",
                several(all.len() as u64, "connection"),
                hosts(&all, |setup| &setup.active.addr),
                hosts(&all, |setup| &setup.passive.addr)
            );
            say(Seen { advice: Some(advice.into()), ..of(&all, text, first_frame) });
        }
    };
    tell(
        "RNR retry count 0: a receiver that is not ready ends the connection at once",
        "use 7 (without end) on both sides, as NVMe-oF does; protocols with credits of their own, as NFS and SMB Direct, do without",
        &|setup| [&setup.active, &setup.passive].iter().any(|end| end.rnr_retry_count == Some(0)),
    );
    tell("retry count 0: one lost packet ends the connection", "use 7, as NVMe-oF and iSER do", &|setup| {
        setup.retry_count == Some(0)
    });
    tell(
        "the queue pairs give up after less than 0.1 s without an acknowledgement: a long pause, or a route that changes, ends the connection",
        "raise the ACK timeout: RDMA-CM's usual one is 1 to 2 s, with 7 retries",
        &|setup| {
            let tries = u64::from(setup.retry_count.unwrap_or(7)) + 1;
            let waits = setup.ack_timeout_ns.filter(|&ns| ns > 0);
            setup.retry_count != Some(0) && waits.is_some_and(|ns| ns.saturating_mul(tries) < SHORT_NS)
        },
    );
    tell(
        "no ACK timeout: a peer that is gone is never noticed",
        "set an ACK timeout: RDMA-CM's usual one is 1 to 2 s",
        &|setup| setup.ack_timeout_ns == Some(0),
    );
}

/// Two hosts that ask each other with different path MTUs.
pub(super) fn path_mtus(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let mut asked: BTreeMap<[&str; 2], BTreeMap<&str, (u16, &Setup)>> = BTreeMap::new();
    for setup in &head.setups {
        let Some(mtu) = setup.path_mtu_bytes else { continue };
        let (a, b) = (setup.active.addr.as_str(), setup.passive.addr.as_str());
        asked.entry([a.min(b), a.max(b)]).or_default().entry(a).or_insert((mtu, setup));
    }
    for ([a, b], by) in asked {
        let (Some(&(one, first)), Some(&(other, second))) = (by.get(a), by.get(b)) else { continue };
        if one != other {
            let [x, y] = [clean(a), clean(b)];
            let text = format!("{x} asks {y} for a path MTU of {one} bytes, {y} asks {x} for {other}");
            say(of(&[first, second], text, first_frame));
        }
    }
}

/// Ended without a word: a queue pair that belongs to another connection by now.
pub(super) fn unsaid(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let key = |setup: &Setup| {
        let is_it = setup.closing == Some(Closing::Unsaid);
        is_it.then(|| (setup.passive.addr.clone(), setup.service_words()))
    };
    for ((host, service), all) in groups(head, key) {
        let text = format!(
            "{} from {} to {}, {service}, ended without a DREQ: a host gave the queue pair to another connection",
            several(all.len() as u64, "connection"),
            askers(&all),
            clean(&host)
        );
        say(of(&all, text, last_frame));
    }
}
