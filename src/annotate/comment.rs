//! One comment: words for programs, and a sentence for people.

use std::fmt::{Display, Write};

use super::{
    MARK,
    directory::Known,
    notes::{Note, is_negative},
};
use crate::{
    analyze::{Class, Trigger, metric::History},
    dissect::Dissection,
    icrc::{self, State},
    opcode::{Direction, Operation},
    report::{
        Location,
        units::{duration, several},
    },
    wire::{Acknowledgement, Aeth, Bth, NakCode},
};

/// The comment on a frame; `None` if there is nothing to say after all.
pub(super) fn write(
    note: &Note,
    history: &History,
    d: &Dissection<'_>,
    flow: Option<&Known>,
) -> Option<String> {
    let class = note.class;
    let begins = flow.is_some_and(|flow| flow.first_frame == note.frame);
    let of = flow.map(|flow| match flow.connection {
        Some(connection) => format!("connection {connection}"),
        None => format!("flow {}", flow.flow),
    });
    let sentence = sentences(note, history, begins, of, d)?;
    let mut words = Words(format!("{MARK}class={class}"));
    words.put("flow", flow.map(|flow| flow.flow));
    words.put("conn", flow.and_then(|flow| flow.connection));
    words.put("qp", d.get::<Bth>().map(|bth| format!("{:#x}", bth.dest_qp().0)));
    words.put("peer", flow.and_then(|flow| flow.peer_qp).map(|qp| format!("{qp:#x}")));
    words.put("begins", begins.then_some(1));
    words.put("previous", history.previous);
    words.put("asked", history.asked);
    words.put("trigger", Some(history.trigger).filter(|&trigger| trigger != Trigger::Unknown));
    words.put("loss", Some(lost(history)).filter(|&place| place != Location::Unknown));
    let needless = [(history.is_acknowledged, "acknowledged"), (history.is_behind, "passed")];
    words.put("needless", needless.into_iter().find_map(|(is_so, word)| is_so.then_some(word)));
    words.put("gap", Some(history.gap).filter(|&gap| gap > 0));
    words.put("overtaken", history.is_overtaken.then_some(1));
    words.put("late_ns", history.late_ns);
    words.put("nak", refusal(d).map(|(code, _)| code));
    words.put("icrc", has_bad_icrc(class, d).then_some("bad"));
    let Words(text) = words;
    Some(format!("{text}] {sentence}"))
}

/// What is to be said of the frame, for people; `None` if there is nothing. `of`: of which connection it is, where that is to be said.
pub(super) fn sentences(
    note: &Note,
    history: &History,
    begins: bool,
    of: Option<String>,
    d: &Dissection<'_>,
) -> Option<String> {
    let (class, refusal) = (note.class, refusal(d));
    let is_plain = matches!(class, Class::First | Class::New | Class::Unsequenced);
    if is_plain && !begins && refusal.is_none() {
        // The first packet of a PSN space, in a flow that began with the other one.
        return None;
    }
    let mut parts = Vec::new();
    match refusal {
        // Of a NAK, its class matters less.
        Some((_, sentence)) if is_plain => parts.push(sentence),
        refusal => {
            parts.push(sentence(class, history, has_bad_icrc(class, d), d));
            parts.extend(refusal.map(|(_, sentence)| sentence));
        }
    }
    if begins {
        let first = "first packet of the flow".to_owned();
        // A NAK or a retransmission may come first.
        match is_plain && parts.len() == 1 && parts[0].is_empty() {
            true => parts[0] = first,
            false => parts.push(first),
        }
    }
    parts.extend(of);
    let lost = match lost(history) {
        Location::Upstream if history.previous.is_some() => "its last transmission was lost before the tap",
        Location::Upstream => "its first transmission was lost before the tap",
        // What its acknowledgement will tell.
        Location::Downstream => "its last transmission was lost after the tap, or is late there",
        _ => "",
    };
    parts.extend((!lost.is_empty()).then(|| lost.to_owned()));
    if history.is_overtaken && class == Class::Retransmission {
        parts.push("overtaken by a packet sent later".to_owned());
    }
    if history.is_acknowledged {
        parts.push("needless: it had arrived".to_owned());
    } else if history.is_behind {
        parts.push("needless, unless it was lost after the tap: its sender goes back".to_owned());
    }
    Some(parts.join("; "))
}

/// Where the packet was lost that this one repeats. What had arrived was not.
fn lost(history: &History) -> Location {
    if history.is_acknowledged { Location::Unknown } else { history.lost }
}

fn has_bad_icrc(class: Class, d: &Dissection<'_>) -> bool {
    class == Class::Corrupt && icrc::verify(d) == State::Bad
}

/// The words for programs.
struct Words(String);

impl Words {
    fn put(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = write!(self.0, " {name}={value}");
        }
    }
}

/// What the class says of the packet.
fn sentence(class: Class, history: &History, is_bad: bool, d: &Dissection<'_>) -> String {
    let before = |otherwise: &str| match history.previous {
        Some(frame) => format!("of frame {frame}"),
        None => otherwise.to_owned(),
    };
    match class {
        Class::First | Class::New | Class::Unsequenced => String::new(),
        Class::Retransmission => {
            let (cause, of) = (cause(history, d), history.previous.map(|frame| format!(" of frame {frame}")));
            match of {
                Some(of) => format!("retransmission{of}{cause}"),
                None => format!("retransmission{cause}; the capture does not have the packet before"),
            }
        }
        Class::CaptureDuplicate => format!("second record {}", before("of an earlier frame")),
        Class::LateOriginal => match history.late_ns {
            Some(ns) => format!("out of order: a packet sent later came {} before it", duration(ns)),
            None => "out of order: a packet sent later came before it".to_owned(),
        },
        Class::Ambiguous => {
            "late: overtaken on its way, or retransmitted; the capture does not tell which".to_owned()
        }
        Class::Corrupt if is_bad => "corrupt: its ICRC is wrong".to_owned(),
        Class::Corrupt => "corrupt: the checksum of its IP header is wrong".to_owned(),
        Class::Trimmed => "trimmed: a switch cut it to its headers instead of dropping it".to_owned(),
        Class::NewAfterGap if history.gap > 0 => format!("{} missing before it", several(history.gap, "PSN")),
        Class::NewAfterGap => "PSNs are missing before it".to_owned(),
        other => format!("{}: {}", other.words(), other.meaning()),
    }
}

/// Why a packet was retransmitted.
fn cause(history: &History, d: &Dissection<'_>) -> String {
    let is_data = d.get::<Bth>().is_some_and(|bth| {
        bth.opcode().operation().is_some() && bth.opcode().direction() == Direction::Response
    });
    match (history.trigger, history.asked) {
        (_, Some(frame)) if is_data => format!(" after the READ request in frame {frame}"),
        (Trigger::Nak, Some(frame)) => format!(" after the NAK in frame {frame}"),
        (Trigger::Nak, None) => " after a NAK".to_owned(),
        (Trigger::Timeout, _) => " after a timeout".to_owned(),
        (Trigger::Rnr, _) => " after an RNR NAK".to_owned(),
        (Trigger::ImpliedNak, _) => " after a response that showed the loss".to_owned(),
        _ => String::new(),
    }
}

/// The code of a NAK, in the report's word, and what it says.
fn refusal(d: &Dissection<'_>) -> Option<(String, String)> {
    let (bth, aeth) = (d.get::<Bth>()?, d.get::<Aeth>()?);
    if bth.opcode().operation() != Some(Operation::Acknowledge) || !is_negative(aeth.syndrome()) {
        return None;
    }
    let psn = bth.psn().0;
    Some(match aeth.syndrome().meaning() {
        Acknowledgement::RnrNak { timer_us } => {
            let wait = duration(u64::from(timer_us) * 1000);
            ("rnr".into(), format!("RNR NAK for PSN {psn}: the receiver asks to wait {wait}"))
        }
        Acknowledgement::Nak(code) => {
            let word = code.to_string().to_lowercase().replace(' ', "_");
            match code {
                NakCode::PsnSequenceError => (word, format!("NAK: the receiver misses PSN {psn}")),
                _ => (word, format!("NAK for PSN {psn}: {code}")),
            }
        }
        _ => return None,
    })
}
