//! Rules about collectives and one-sided traffic.

use std::borrow::Cow;

use super::evidence::{Evidence, Seen};
use crate::report::{CollectiveCause, Head, OneSided, Reason};

/// A request of a collective that never ended.
pub(super) fn hung_collectives(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for_stragglers(head, say, |cause| cause == CollectiveCause::Hang);
}

/// Who was waited for in collectives.
pub(super) fn stragglers(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for_stragglers(head, say, |cause| cause != CollectiveCause::Hang);
}

/// Whether pauses were asked for whose length is not known, as their link's speed is not.
fn has_untimed_pauses(head: &Head) -> bool {
    let mut pauses = head.pause.iter().flatten();
    pauses.any(|pause| pause.xoff > 0 && pause.why.get("paused_ns") == Some(&Reason::UnknownSpeed))
}

fn for_stragglers(head: &Head, say: &mut dyn FnMut(Seen), is_meant: impl Fn(CollectiveCause) -> bool) {
    for one in head.collectives.iter().flat_map(|all| &all.stragglers).filter(|one| is_meant(one.cause)) {
        let advice = match one.cause {
            CollectiveCause::HostLate => {
                Some("it was late in computing, or in asking: look at that host, not at the network")
            }
            CollectiveCause::Paused => {
                Some("find out who paused this path, and why: the findings about pauses say more")
            }
            CollectiveCause::Recovering => {
                Some("look for the loss on this path: the findings about its flows say where")
            }
            CollectiveCause::Throttled => Some(
                "look for the congestion on this path: who is marked, and who else sends to its receiver",
            ),
            CollectiveCause::Slow if has_untimed_pauses(head) => Some(
                "it may have been paused: pauses were asked for, and how long they were is not known without the link's speed (--speed)",
            ),
            CollectiveCause::Slow => Some(
                "look at this path, and at the adapters at its ends: nothing was lost, paused or marked there",
            ),
            _ => None,
        };
        say(Seen {
            time: one.lost_ns,
            advice: advice.map(Cow::Borrowed),
            ..Seen::new(one.operations, format!("collectives: {}", one.sentence()))
        });
    }
}

/// Rails of one-sided traffic that are hardly used, beside others of the same hosts.
pub(super) fn unused_rails(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for (rail, text) in head.one_sided.iter().flat_map(OneSided::hardly_used) {
        say(Seen::new(rail.queue_pairs, text));
    }
}
