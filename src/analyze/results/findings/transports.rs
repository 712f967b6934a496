//! Rules about MRC and Ultra Ethernet.

use std::collections::BTreeMap;

use super::evidence::{Evidence, Seen};
use crate::report::{
    Head, MrcConnection, UetContext, UetCount, UetCounted, UetMode,
    units::{count, several},
};

/// Retransmissions of MRC: one for each receiver.
pub(super) fn mrc_retransmits(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let resent = head.mrc.iter().filter(|one| one.retransmits > 0);
    for (receiver, connections) in by_receiver(resent, |one| &one.dst) {
        let sum = |of: fn(&MrcConnection) -> u64| connections.iter().map(|one| of(one)).sum::<u64>();
        let again = sum(|one| one.retransmits);
        let mut text = format!(
            "{} of {} to {receiver} are retransmissions, in {}",
            count(again),
            several(sum(|one| one.packets), "packet"),
            several(connections.len() as u64, "connection"),
        );
        for (n, what) in [
            (sum(|one| one.lost_before_tap), "lost before the tap"),
            (sum(|one| one.lost_after_tap), "lost behind it"),
            (sum(|one| one.lost_or_late), "lost or late behind it, or not lost: no answer tells"),
            (sum(|one| one.nacks_trimmed.unwrap_or(0).max(one.trimmed)), "trimmed"),
            (
                sum(|one| one.nacks.zip(one.nacks_trimmed).map_or(0, |(all, trimmed)| all - trimmed)),
                "refused by the receiver",
            ),
            (sum(|one| one.spurious_retransmits), "not lost at all"),
        ] {
            if n > 0 {
                text += &format!("; {} {what}", count(n));
            }
        }
        say(Seen::new(again, text));
    }
}

/// Rows by whom they go to.
fn by_receiver<'a, T>(
    rows: impl Iterator<Item = &'a T>,
    receiver: fn(&T) -> &str,
) -> BTreeMap<&'a str, Vec<&'a T>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    rows.for_each(|row| all.entry(receiver(row)).or_default().push(row));
    all
}

/// Senders of MRC that do not honor what their receivers ask for: one for each.
pub(super) fn mrc_skip_ignored(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let ignored = head.mrc.iter().filter_map(|one| Some((one, one.after_skip.filter(|&n| n > 0)?)));
    for (one, after_skip) in ignored {
        let text = format!(
            "{} of QP {:#x} {} \u{2192} {} took paths that its receiver had asked to skip",
            several(after_skip, "packet"),
            one.dest_qp,
            one.src,
            one.dst
        );
        say(Seen::new(after_skip, text));
    }
}

/// One for each receiver.
pub(super) fn trimmed_at_last_hop(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let mut by_receiver = BTreeMap::<&str, (u64, u64)>::new();
    let mrc = head.mrc.iter().map(|one| (&one.dst, one.nacks_trimmed_last_hop.unwrap_or(0)));
    let uet = head.uet.iter().map(|one| (&one.dst, one.nacks_trimmed_last_hop.unwrap_or(0)));
    for (receiver, n) in mrc.chain(uet).filter(|(_, n)| *n > 0) {
        let (nacks, senders) = by_receiver.entry(receiver).or_default();
        (*nacks, *senders) = (*nacks + n, *senders + 1);
    }
    for (receiver, (nacks, connections)) in by_receiver {
        let text = format!(
            "{receiver} said {} times that the last switch before it had trimmed a packet, of {}",
            count(nacks),
            several(connections, "connection")
        );
        say(Seen::new(nacks, text));
    }
}

/// Requests of Ultra Ethernet that say that they were sent before: one for each receiver, with what its answers said.
pub(super) fn uet_retransmits(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let resent = head.uet.iter().filter(|one| one.retransmits.is_some_and(|n| n > 0));
    for (receiver, contexts) in by_receiver(resent, |one| &one.dst) {
        let mut seen = of_contexts(&contexts, receiver, "were retransmitted", |one| one.retransmits);
        let sum = |of| total(&contexts, of);
        let (missing, nacks, trims) =
            (sum(|one| one.sacked_missing), sum(|one| one.nacks), sum(|one| one.nacks_trimmed));
        if missing > 0 {
            seen.text += &format!("; SACKs showed {} missing", several(missing, "PSN"));
        }
        if nacks > 0 {
            seen.text += &format!("; {}", several(nacks, "NACK"));
        }
        if trims > 0 {
            seen.text += &format!(", {} for trimmed packets", count(trims));
        }
        say(seen);
    }
}

/// Requests of Ultra Ethernet that shall come in order, and do not: one for each receiver.
pub(super) fn uet_disordered(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let is_disordered =
        |one: &&UetContext| one.mode == UetMode::Ordered && one.reordered.is_some_and(|n| n > 0);
    for (receiver, contexts) in by_receiver(head.uet.iter().filter(is_disordered), |one| &one.dst) {
        let what = "in ordered contexts came out of order";
        let mut seen = of_contexts(&contexts, receiver, what, |one| one.reordered);
        let paths = contexts.iter().filter_map(|one| one.paths).max().unwrap_or(0);
        if paths > 1 {
            seen.text += &format!(", over {paths} paths");
        }
        say(seen);
    }
}

/// What happened to so many requests of a receiver's contexts.
fn of_contexts(
    contexts: &[&UetContext],
    receiver: &str,
    what: &str,
    of: fn(&UetContext) -> Option<u64>,
) -> Seen {
    let affected = total(contexts, of);
    let text = format!(
        "{} of {} to {receiver} {what}, in {}",
        count(affected),
        several(total(contexts, |one| one.packets), "request"),
        several(contexts.len() as u64, "context"),
    );
    let frames = contexts.iter().take(8).map(|one| one.first_frame).collect();
    Seen { frames, ..Seen::new(affected, text) }
}

fn total(contexts: &[&UetContext], of: fn(&UetContext) -> Option<u64>) -> u64 {
    contexts.iter().filter_map(|one| of(one)).sum()
}

/// NACKs of Ultra Ethernet that are about no trimmed packet: one for each code.
pub(super) fn uet_nacks(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    // Those of trimmed packets have findings of their own; those from 0xfd on are expected.
    by_code(head, UetCounted::Nack, |code| (4..0xfd).contains(&code), "NACK", say);
}

/// Responses of Ultra Ethernet that say that a request failed: one for each code.
pub(super) fn uet_errors(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    by_code(head, UetCounted::ReturnCode, |code| code > 1, "response", say);
}

fn by_code(
    head: &Head,
    counted: UetCounted,
    is_told: impl Fn(u8) -> bool,
    what: &str,
    say: &mut dyn FnMut(Seen),
) {
    let mut by_code = BTreeMap::<u8, Vec<&UetCount>>::new();
    for one in head.uet_counts.iter().filter(|one| one.counted == counted && is_told(one.code)) {
        by_code.entry(one.code).or_default().push(one);
    }
    for rows in by_code.into_values() {
        let n = rows.iter().map(|row| row.count).sum();
        if let Some(most) = rows.iter().max_by_key(|row| row.count) {
            let text = format!(
                "{} \"{}\" in {}, most to {} ({}): {}",
                several(n, what),
                most.name,
                several(rows.len() as u64, "context"),
                most.src,
                most.spdcid.map_or_else(|| most.mode.words().to_owned(), |spdcid| format!("PDC {spdcid:#x}")),
                count(most.count)
            );
            say(Seen::new(n, text));
        }
    }
}
