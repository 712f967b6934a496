//! Rules about traffic classes.

use std::collections::BTreeMap;

use super::evidence::{Evidence, Seen};
use crate::report::{DcbxPort, units::several};

/// A rule about flows that are in the wrong class: `flows` are the first of them.
pub(super) fn of_class(flows: &[usize], n: u64, what: &str, say: &mut dyn FnMut(Seen)) {
    if n > 0 {
        let numbers = flows.iter().take(8).map(|at| format!("#{at}")).collect::<Vec<_>>().join(", ");
        let more = if flows.len() > 8 || n > flows.len() as u64 { ", …" } else { "" };
        let of = if n == 1 { "has" } else { "have" };
        say(Seen::new(n, format!("{} ({numbers}{more}) {of} {what}", several(n, "flow"))));
    }
}

pub(super) fn without_pfc(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    of_class(&qos.without_pfc, qos.without_pfc_count, "data in a priority without PFC", say);
}

pub(super) fn several_classes(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let what = "data in another traffic class than the rest of the connection's data";
    of_class(&qos.several_classes, qos.several_classes_count, what, say);
}

pub(super) fn odd_class(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let Some(first) = qos.odd_class.first() else { return };
    let what =
        format!("data in another traffic class than their siblings: #{} has {}", first.flow, first.text());
    let flows: Vec<usize> = qos.odd_class.iter().map(|one| one.flow).collect();
    of_class(&flows, qos.odd_class_count, &what, say);
}

pub(super) fn acks_elsewhere(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let what = "ACKs in another traffic class than the data that they acknowledge";
    of_class(&qos.acks_elsewhere, qos.acks_elsewhere_count, what, say);
}

pub(super) fn cnps_elsewhere(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let what = "CNPs in another priority than the map assigns";
    of_class(&qos.cnps_elsewhere, qos.cnps_elsewhere_count, what, say);
}

pub(super) fn disagreeing(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let what = "packets whose PCP and DSCP map to different priorities";
    of_class(&qos.disagreeing, qos.disagreeing_count, what, say);
}

pub(super) fn rewritten(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let Some(first) = qos.rewritten.first() else { return };
    let what = format!("data with another DSCP at a later tap: {} becomes {}", first.dscp, first.then);
    let flows: Vec<usize> = qos.rewritten.iter().map(|one| one.flow).collect();
    of_class(&flows, qos.rewritten_count, &what, say);
}

pub(super) fn ecn_cleared(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let qos = &head.qos;
    let flows: Vec<usize> = qos.ecn_cleared.iter().map(|one| one.flow).collect();
    let what = "data that is ECN-capable at the first tap, and not at a later one";
    of_class(&flows, qos.ecn_cleared_count, what, say);
}

/// The two ends of a link, where neither takes over what the other one says.
pub(super) fn dcbx_differs(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let mut links: BTreeMap<&str, Vec<&DcbxPort>> = BTreeMap::new();
    for port in &head.qos.dcbx {
        links.entry(&port.link).or_default().push(port);
    }
    let list = |priorities: &[u8]| match priorities {
        [] => "no priority".to_owned(),
        all => all.iter().map(u8::to_string).collect::<Vec<_>>().join(", "),
    };
    for (link, ports) in links {
        let [a, b] = ports[..] else { continue };
        let frames = vec![a.first_frame, b.first_frame];
        if let (Some(of_a), Some(of_b), Some(false), Some(false)) =
            (&a.pfc, &b.pfc, a.pfc_willing, b.pfc_willing)
            && of_a != of_b
        {
            let text = format!(
                "on {link}, {} has PFC on {}, and {} on {}: neither takes over the other's",
                a.sender,
                list(of_a),
                b.sender,
                list(of_b)
            );
            say(Seen { frames, ..Seen::new(a.frames + b.frames, text) });
        }
    }
}
