//! Ultra Ethernet: crafted, dissected, rebuilt, filtered, shown; its CRC; what is cut, wrong or encrypted.

use crate::support::programs::{cli, printed};
use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    craft::{Packet, recipe, template},
    dissect::{Dissection, Link, dissect},
    filter::{Filter, FrameMeta},
    frame::Info,
    icrc::{self, State},
    report::{Reason, Report, UetContext, UetCounted, UetMode, UetPackets, UetState},
    wire::*,
};

fn made(text: &str) -> Packet {
    recipe::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn read(frame: &[u8]) -> Dissection<'_> {
    dissect(Link::ETHERNET, frame, frame.len() as u32)
}

fn kinds(d: &Dissection<'_>) -> Vec<Kind> {
    d.layers().iter().map(|layer| layer.kind).filter(|kind| kind.is_uet()).collect()
}

fn info(d: &Dissection<'_>) -> String {
    Info::new(d, icrc::verify(d)).to_string()
}

/// What is behind the IP header of each form of packet: its headers, as recipes name them, and the bytes of payload.
const FORMS: &[(&str, usize)] = &[
    ("pds_request / ses_standard request_length=64", 64),
    ("pds_request kind=3 / ses_standard_later payload_length=64", 64),
    ("pds_request / pds_request_cc / ses_standard request_length=64", 64),
    ("pds_request kind=14 / pds_request_cc / ses_standard opcode=2 request_length=4096", 0),
    ("pds_request_syn psn_offset=5 / ses_standard request_length=64", 64),
    ("pds_request_syn / pds_request_cc / ses_small request_length=64", 64),
    ("pds_request / ses_medium request_length=64", 64),
    ("pds_request / ses_deferrable request_length=64", 64),
    ("pds_request / ses_restart", 0),
    ("pds_request / ses_standard opcode=6 request_length=4096 / ses_rendezvous eager_length=64", 64),
    ("pds_request / ses_standard opcode=3 request_length=8 / ses_atomic atomic_op=2", 8),
    ("pds_request / ses_standard opcode=4 request_length=8 / ses_atomic atomic_op=0xd / ses_swap", 0),
    ("pds_request / ses_standard opcode=0x10 request_length=64 / ses_sync", 64),
    ("pds_request / ses_standard opcode=0x11 request_length=8 / ses_sync / ses_atomic", 8),
    ("pds_request", 0),
    ("pds_ack / ses_response", 0),
    ("pds_ack", 0),
    ("pds_ack / pds_epsn / ses_response", 0),
    ("pds_ack / pds_sack / pds_nscc / ses_response", 0),
    ("pds_ack / pds_sack / pds_credit / ses_response", 0),
    ("pds_ack / pds_sack cc_type=9 / pds_cc_other / ses_response", 0),
    ("pds_ack / pds_sack / pds_ack_ccx / ses_response_data payload_length=64", 64),
    ("pds_ack / ses_response_small payload_length=8", 8),
    ("pds_control control_type=6", 0),
    ("pds_control_syn control_type=9", 0),
    ("pds_rudi / ses_standard request_length=64", 64),
    ("pds_rudi kind=5 / ses_response", 0),
    ("pds_nack", 0),
    ("pds_nack / pds_nack_ccx / ses_response", 0),
    ("pds_uud / ses_small opcode=7 request_length=64", 64),
    ("tss sdi=7 / tss_counter tsc=9", 64),
    ("tss / tss_source ssi=3 / tss_counter", 64),
];

/// In each encapsulation.
fn all() -> impl Iterator<Item = (String, &'static str)> {
    let outer = [
        "eth / ipv4 / udp",
        "eth / ipv6 / udp",
        "eth / ipv4 / uet_entropy entropy=0xc001",
        "eth / ipv6 / uet_entropy",
        "eth / vlan / ipv4 / udp dst_port=49150",
    ];
    outer.into_iter().flat_map(|outer| {
        FORMS.iter().map(move |(form, payload)| {
            let payload = if *payload > 0 { format!(" / payload {payload}") } else { String::new() };
            (format!("{outer} / {form}{payload}"), *form)
        })
    })
}

#[test]
fn each_form_is_dissected_and_built_again_bit_for_bit() {
    let mut seen = std::collections::BTreeSet::new();
    for (text, form) in all() {
        for has_crc in [true, false] {
            let packet = match has_crc {
                true => made(&text),
                false => made(&format!("{text} / icrc none")),
            };
            let frame = packet.build().to_vec();
            let d = read(&frame);
            assert!(d.notes().is_empty(), "{text}: {d:?}");
            assert!(d.is_uet(), "{text}");
            let put: Vec<Kind> =
                packet.parts().iter().map(|part| part.kind).filter(|kind| kind.is_uet()).collect();
            assert_eq!(kinds(&d), put, "{text}");
            seen.extend(put);
            let right = if has_crc && !form.starts_with("tss") { State::Good } else { State::Unchecked };
            assert_eq!(icrc::verify(&d), right, "{text}");
            assert_eq!(d.payload(), packet.get_payload(), "{text}");
            let again = Packet::from(&d);
            assert_eq!(again.build().to_vec(), frame, "{text}");
            assert_eq!(made(&recipe::print(&again)).build().to_vec(), frame, "{text}");
            assert!(d.unread().is_none(), "{text}");
            assert!(info(&d).starts_with("UET "), "{text}");
        }
    }
    assert_eq!(seen.len(), Kind::ALL.iter().filter(|kind| kind.is_uet()).count());
}

#[test]
fn frames_cut_anywhere_are_dissected_as_far_as_they_go() {
    for (text, _) in all() {
        let frame = made(&text).build().to_vec();
        let whole = kinds(&read(&frame));
        for len in 0..frame.len() {
            let (cut, short) =
                (dissect(Link::ETHERNET, &frame[..len], frame.len() as u32), read(&frame[..len]));
            assert!(whole.starts_with(&kinds(&cut)), "{text} {len}");
            assert_ne!(icrc::verify(&cut), State::Bad, "{text} {len}");
            for d in [cut, short] {
                let (_, again) = (info(&d), Packet::from(&d).build().to_vec());
                assert_eq!(again, d.frame(), "{text} {len}");
            }
        }
    }
}

/// Where the lengths say that a CRC is there, a wrong one is wrong. Where they do not, what is there may be payload.
#[test]
fn a_crc_covers_addresses_and_all_behind_them() {
    let text = "eth / ipv4 / udp / pds_request / ses_standard request_length=8 / payload 8";
    let frame = made(text).build().to_vec();
    for at in 14..frame.len() {
        let mut wrong = frame.clone();
        wrong[at] ^= 4;
        let state = icrc::verify(&read(&wrong));
        let says_no_length = matches!(state, State::Unchecked);
        // The first twelve bytes of IPv4 are not covered.
        assert!(
            if at < 26 { state != State::Bad } else { state == State::Bad || says_no_length },
            "{at} {state:?}"
        );
    }
    let behind = frame.len() - 6;
    let mut wrong = frame.clone();
    wrong[behind] ^= 1;
    assert_eq!(icrc::verify(&read(&wrong)), State::Bad);
    assert!(info(&read(&wrong)).ends_with("[CRC bad]"));
}

#[test]
fn what_is_encrypted_is_not_dissected() {
    let inner = made("eth / ipv4 / udp / pds_request / ses_standard / payload 8").build()[42..].to_vec();
    let hex: String = inner.iter().map(|byte| format!("{byte:02x}")).collect();
    let frame =
        made(&format!("eth / ipv4 / udp / tss sdi=7 / tss_counter / payload hex:{hex}")).build().to_vec();
    let d = read(&frame);
    assert_eq!(kinds(&d), [Kind::Tss, Kind::TssCounter]);
    assert_eq!(d.payload(), inner);
    assert!(info(&d).contains("encrypted="), "{}", info(&d));
}

/// IP protocol 253 has in-band telemetry too, and port 49150 is anybody's.
#[test]
fn others_on_the_same_numbers_are_told_apart() {
    let telemetry = "eth / ipv4 / ifa / udp dst_port=4791 / ifa_metadata length=2 / ifa_stack hex:0102030405060708 / bth opcode=4 / payload 64";
    let frame = made(telemetry).build().to_vec();
    assert!(read(&frame).has(Kind::Bth) && !read(&frame).is_uet());
    // An entropy value that is telemetry's version and UDP's number.
    let frame = made("eth / ipv4 / uet_entropy entropy=0x2f11 / pds_ack / ses_response").build().to_vec();
    assert_eq!(kinds(&read(&frame)), [Kind::UetEntropy, Kind::PdsAck, Kind::SesResponse]);
    for (port, first, is_uet) in
        [(49150, 0x12, false), (49150, 0xff, false), (4793, 0xff, false), (4793, 0x11, true)]
    {
        let frame =
            made(&format!("eth / ipv4 / udp dst_port={port} / payload hex:{first:02x}1f{}", "ff".repeat(60)));
        assert_eq!(read(&frame.build()).is_uet(), is_uet, "{port} {first:#x}");
    }
    // The port of a RoCE packet's source says nothing.
    let frame = made("eth / ipv4 / udp src_port=4793 / bth opcode=4 / payload 64").build().to_vec();
    assert!(read(&frame).has(Kind::Bth) && !read(&frame).is_other_udp(false));
}

#[test]
fn filters_and_explanations_know_the_fields() {
    let frame = made("eth / ipv4 / udp / pds_nack nack_code=2 psn=77 spdcid=0x11").build().to_vec();
    let d = read(&frame);
    for (text, holds) in [
        ("pds.nack_code == 2 && pds.psn == 77", true),
        ("pds && !ses && icrc.good", true),
        ("pds.psn == 78 || ses.opcode == 1", false),
        ("bth", false),
    ] {
        let filter: Filter = text.parse().unwrap();
        let meta = FrameMeta { number: 1, time_ns: 0, icrc: None };
        assert_eq!(filter.matches(&d, &meta), holds, "{text}");
    }
    assert_eq!(info(&d), "UET NACK trimmed at the last hop PSN=77 SPDCID=0x11 DPDCID=0x0");
    let text = printed(cli().args(["explain", "pds.nack_code"]));
    assert!(text.contains("trimmed at the last hop"), "{text}");
    for kind in Kind::ALL.iter().filter(|kind| kind.is_uet()) {
        assert_eq!(template(*kind).len(), kind.info().unwrap().len);
    }
}

/// A report of these packets, a microsecond apart.
fn analyzed(recipes: &[String]) -> Report {
    push(recipes).finish()
}

fn push(recipes: &[String]) -> Analysis {
    push_apart(recipes, 1000)
}

fn push_apart(recipes: &[String], apart_ns: i64) -> Analysis {
    let mut analysis = Analysis::new(Options::default());
    for (n, text) in (0i64..).zip(recipes) {
        let frame = made(text).build();
        let (time, wire_len) = (Time(n * apart_ns), frame.len() as u32);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame: &frame });
    }
    analysis
}

fn there(psn: u32, flags: &str, payload: usize) -> String {
    format!(
        "eth / ipv4 / udp / pds_request psn={psn} spdcid=7 dpdcid=9 {flags} / ses_standard_later payload_length=64 / payload {payload}"
    )
}

fn back(headers: &str) -> String {
    format!("eth / ipv4 src=10.0.0.2 dst=10.0.0.1 / udp / {headers}")
}

/// A context over the wrap of PSNs: set up, a message of which one packet is overtaken, one trimmed and sent again, and the end.
fn context() -> Vec<String> {
    let first = u32::MAX - 1;
    let psn = |n: u32| first.wrapping_add(n);
    let of = |what: &str| back(&what.replace("CONTEXT", "spdcid=9 dpdcid=7"));
    vec![
        format!(
            "eth / ipv4 / udp / pds_request_syn psn={first} spdcid=7 / ses_standard eom=0 request_length=384 / payload 64"
        ),
        of(&format!("pds_ack cack_psn={first} CONTEXT / ses_response return_code=0")),
        there(psn(1), "", 64),
        there(psn(3), "", 64),
        there(psn(2), "", 64),
        there(psn(4), "", 16),
        there(psn(5), "", 64),
        of(&format!("pds_nack nack_code=2 psn={} CONTEXT", psn(4))),
        of(&format!(
            "pds_ack ecn_marked=1 cack_psn={} ack_psn_offset=2 CONTEXT / pds_sack sack_psn_offset=1 sack_bitmap=2 / pds_credit credit=77 / ses_response",
            psn(3)
        )),
        there(psn(4), "retransmit=1", 64),
        of(&format!("pds_ack cack_psn={} CONTEXT / ses_response return_code=0x1c", psn(5))),
        format!("eth / ipv4 / udp / pds_control control_type=4 psn={} spdcid=7 dpdcid=9", psn(6)),
        of(&format!("pds_ack cack_psn={} CONTEXT", psn(6))),
    ]
}

#[test]
fn a_context_is_followed_from_syn_to_close() {
    let report = analyzed(&context());
    let [row] = &report.head.uet[..] else { panic!("{:?}", report.head.uet) };
    assert_eq!(
        (row.src.as_str(), row.dst.as_str(), row.spdcid, row.dpdcid),
        ("10.0.0.1", "10.0.0.2", Some(7), Some(9))
    );
    assert_eq!((row.mode, row.state, row.setup_ns), (UetMode::Unordered, Some(UetState::Closed), Some(1000)));
    assert_eq!((row.packets, row.payload_bytes, row.trimmed), (Some(7), Some(6 * 64), Some(1)));
    assert_eq!((row.retransmits, row.inferred_retransmits), (Some(1), Some(1)));
    assert_eq!(row.retransmit_agreement, Some(1.0));
    assert_eq!((row.reordered, row.max_reorder_extent), (Some(1), Some(1)));
    assert_eq!((row.acks, row.marked_acks, row.sacked_missing), (Some(4), Some(1), Some(1)));
    assert_eq!((row.nacks, row.nacks_trimmed, row.nacks_trimmed_last_hop), (Some(1), Some(1), Some(1)));
    assert_eq!((row.credit, row.credit_target, row.control), (Some(77), None, 1));
    // The first one was answered after 1 us, the sixth after 2. The fifth was sent twice.
    assert_eq!((row.rtt_min_ns, row.rtt_max_ns), (Some(1000), Some(2000)));
    assert!(row.why.is_empty(), "{:?}", row.why);
    let counts: Vec<_> = report
        .head
        .uet_counts
        .iter()
        .map(|one| (one.counted, one.name.as_str(), one.count, one.bytes))
        .collect();
    assert_eq!(
        counts,
        [
            (UetCounted::Nack, "trimmed at the last hop", 1, None),
            (UetCounted::Operation, "write", 1, Some(384)),
            (UetCounted::ReturnCode, "null", 1, None),
            (UetCounted::ReturnCode, "OK", 1, None),
            (UetCounted::ReturnCode, "bad memory key", 1, None),
        ]
    );
    assert_eq!(report.head.uet_packets[&UetPackets::All], 13);
    assert_eq!(report.head.uet_packets[&UetPackets::GoodCrc], 13);
    let text = UetContext::sentences_of(&report.head.uet, &report.head.uet_counts, &report.head.uet_packets);
    assert!(text[1].contains("1 retransmitted") && text[1].contains("bad memory key 1"), "{text:?}");
    assert!(report.flows.is_empty());
}

/// Frames of a file without times all have the same one: nothing took 0 ns.
#[test]
fn without_times_nothing_lasts() {
    let report = push_apart(&context(), 0).finish();
    let [row] = &report.head.uet[..] else { panic!("{:?}", report.head.uet) };
    assert_eq!((row.acks, row.retransmits), (Some(4), Some(1)));
    assert_eq!((row.setup_ns, row.rtt_min_ns, row.rtt_mean_ns, row.rtt_max_ns), (None, None, None, None));
    for field in ["setup_ns", "rtt_min_ns", "rtt_mean_ns", "rtt_max_ns"] {
        assert_eq!(row.why.get(field), Some(&Reason::CoarseTimes), "{field}: {:?}", row.why);
    }
    let paths = &report.head.paths;
    assert!(paths.iter().all(|path| path.ack_rtt_mean_ns.is_none()), "{paths:?}");
}

/// A context in which a packet is trimmed, one is refused, and an operation fails.
pub(crate) fn in_trouble() -> Analysis {
    let mut all = context();
    all.insert(9, back(&format!("pds_nack nack_code=7 psn={} spdcid=9 dpdcid=7", u32::MAX)));
    push(&all)
}

#[test]
fn trouble_of_a_context_is_found() {
    let report = in_trouble().finish();
    let said = |id: &str| {
        let of: Vec<_> = report.head.findings.iter().filter(|finding| finding.id == id).collect();
        assert_eq!(of.len(), 1, "{id}: {:?}", report.head.findings);
        of[0].text.clone()
    };
    assert!(said("uet.retransmitted").starts_with("1 of 7 requests to 10.0.0.2 were retransmitted, in 1 context; SACKs showed 1 PSN missing; 2 NACKs, 1 for"));
    assert!(said("uet.nack").starts_with("1 NACK \"no packet buffer\" in 1 context"), "{}", said("uet.nack"));
    assert!(said("uet.failed").starts_with("1 response \"bad memory key\" in 1 context"));
    assert!(said("trimmed.last_hop").contains("10.0.0.2"));
    // A context of which nothing is wrong shows none.
    let quiet: Vec<String> = context().into_iter().take(3).collect();
    assert!(analyzed(&quiet).head.findings.iter().all(|finding| !finding.id.starts_with("uet.")));
}

#[test]
fn what_one_direction_does_not_show_is_null() {
    let all = context();
    let is_back = |text: &String| text.contains("10.0.0.2");
    let asks = analyzed(&all.iter().filter(|text| !is_back(text)).cloned().collect::<Vec<_>>());
    let answers = analyzed(&all.iter().filter(|text| is_back(text)).cloned().collect::<Vec<_>>());
    let ([asks], [answers]) = (&asks.head.uet[..], &answers.head.uet[..]) else { panic!() };
    assert_eq!((asks.packets, asks.acks, asks.rtt_min_ns, asks.sacked_missing), (Some(7), None, None, None));
    assert_eq!((answers.packets, answers.acks, answers.rtt_min_ns), (None, Some(4), None));
    assert_eq!((asks.why["acks"], answers.why["packets"]), (Reason::OneWay, Reason::OneWay));
    assert_eq!((asks.spdcid, answers.spdcid), (Some(7), Some(7)));
}

#[test]
fn packets_without_a_context_are_counted_and_no_crc_is_believed_where_it_is_wrong() {
    let wrong = there(5, "", 64) + " / icrc hex:01020304";
    let report = analyzed(&[
        "eth / ipv4 / udp / tss / tss_counter / payload 64".into(),
        "eth / ipv4 / udp / pds_rudi / ses_standard request_length=64 / payload 64".into(),
        "eth / ipv4 / udp / pds_uud / ses_small / payload 64".into(),
        wrong,
    ]);
    let modes: Vec<_> =
        report.head.uet.iter().map(|row| (row.mode, row.spdcid, row.packets, row.acks)).collect();
    assert_eq!(
        modes,
        [(UetMode::Unreliable, None, Some(1), None), (UetMode::Idempotent, None, Some(1), None)]
    );
    let packets: Vec<_> = report.head.uet_packets.iter().map(|(what, n)| (*what, *n)).collect();
    use UetPackets::{All, BadCrc, Encrypted, GoodCrc, Rudi, Uud};
    assert_eq!(packets, [(All, 4), (Encrypted, 1), (Rudi, 1), (Uud, 1), (GoodCrc, 2), (BadCrc, 1)]);
}

fn rudi(number: u32, more: &str) -> String {
    format!(
        "eth / ipv4 / udp src_port=0xc001 / pds_rudi pkt_id={number} {more} / ses_standard opcode=2 request_length=64"
    )
}

/// Idempotent requests: one is answered, one is answered again, one is repeated without saying so, one is refused, one never answered.
#[test]
fn idempotent_requests_are_followed_by_their_numbers() {
    let answer = |number: u32, more: &str| {
        back(&format!(
            "pds_rudi kind=5 pkt_id={number} {more} / ses_response_data return_code=1 payload_length=64 / payload 64"
        ))
    };
    let report = analyzed(&[
        rudi(5, ""),
        answer(5, "ecn_marked=1"),
        rudi(6, ""),
        rudi(6, ""),
        answer(6, ""),
        rudi(7, ""),
        back("pds_nack nack_code=7 rudi=1 psn=7"),
        rudi(7, "retransmit=1"),
        answer(7, ""),
        answer(7, "retransmit=1"),
        rudi(5, "retransmit=1"),
        rudi(8, ""),
        rudi(9, "retransmit=1"),
    ]);
    let [row] = &report.head.uet[..] else { panic!("{:?}", report.head.uet) };
    assert_eq!((row.mode, row.state, row.spdcid), (UetMode::Idempotent, None, None));
    assert_eq!(
        (row.packets, row.messages, row.completed, row.unanswered),
        (Some(8), Some(5), Some(3), Some(2))
    );
    assert_eq!((row.retransmits, row.inferred_retransmits), (Some(3), Some(3)));
    assert_eq!(row.retransmit_agreement, Some(0.5));
    // That of 6 was lost behind the tap, that of 9 before it; 5 had been answered.
    assert_eq!(
        (row.lost_after_tap, row.lost_before_tap, row.spurious_retransmits),
        (Some(1), Some(1), Some(1))
    );
    assert_eq!((row.acks, row.marked_acks, row.response_bytes), (Some(4), Some(1), Some(256)));
    assert_eq!((row.nacks, row.rtt_min_ns, row.rtt_max_ns), (Some(1), Some(1000), Some(1000)));
    let operations: Vec<_> =
        report.head.uet_counts.iter().map(|one| (&*one.name, one.mode, one.count)).collect();
    assert_eq!(
        operations,
        [
            ("no packet buffer", UetMode::Idempotent, 1),
            ("read", UetMode::Idempotent, 4),
            ("OK", UetMode::Idempotent, 4)
        ]
    );
    let text = UetContext::sentences_of(&report.head.uet, &report.head.uet_counts, &report.head.uet_packets);
    assert!(text[1].contains("RUDI: 8 requests, 3 retransmitted, 50.0 % of them by their number too; 4 responses, 2 without one"), "{text:?}");
}

/// What is wanted and given are counters of 24 bits, which wrap.
#[test]
fn credits_are_waited_for() {
    let wants = |psn: u32, target: u32| {
        format!(
            "eth / ipv4 / udp / pds_request kind=13 psn={psn} spdcid=7 dpdcid=9 / pds_request_cc credit_target={target} / ses_standard_later payload_length=64 / payload 64"
        )
    };
    let gives = |psn: u32, credit: u32| {
        back(&format!(
            "pds_ack cack_psn={psn} spdcid=9 dpdcid=7 / pds_sack sack_psn_offset=1 / pds_credit credit={credit} / ses_response"
        ))
    };
    let most = 0xff_ffff;
    let report = analyzed(&[
        wants(1, most - 1),
        gives(1, most - 1),
        wants(2, 9),
        "eth / ipv4 / udp / pds_control control_type=8 psn=2 spdcid=7 dpdcid=9".into(),
        gives(2, 4),
        back("pds_control control_type=7 spdcid=9 dpdcid=7"),
        gives(2, 9),
        gives(2, 4),
        wants(3, 9),
    ]);
    let row = report.head.uet.iter().find(|row| row.spdcid == Some(7)).unwrap();
    assert_eq!((row.credit_target, row.credit), (Some(9), Some(9)));
    assert_eq!((row.credit_requests, row.credit_grants, row.credits_granted), (1, 4, Some(11)));
    assert_eq!((row.most_credits_wanted, row.credit_wait_ns), (Some(11), Some(4000)));
    assert_eq!(row.credit_wait_max_ns, Some(4000));
    let text = UetContext::sentences_of(&report.head.uet, &report.head.uet_counts, &report.head.uet_packets);
    assert!(text.iter().any(|line| line.contains("it waited 4.00 µs for credits")), "{text:?}");
    // A wait that does not end is as long as it is known to hold.
    let report = analyzed(&[wants(1, 9), gives(1, 4), wants(2, 12), gives(2, 5)]);
    let row = report.head.uet.iter().find(|row| row.spdcid == Some(7)).unwrap();
    assert_eq!((row.credit_wait_ns, row.credit_wait_max_ns), (Some(2000), Some(2000)));
}

/// Of a read, the data comes as requests of the other side: its return codes are those of the reader's context.
#[test]
fn return_codes_in_requests_are_of_those_they_answer() {
    let report = analyzed(&[
        "eth / ipv4 / udp / pds_request psn=1 spdcid=7 dpdcid=9 / ses_standard opcode=2 request_length=64"
            .into(),
        back(
            "pds_request psn=1 spdcid=9 dpdcid=7 / ses_response_data return_code=0x1c payload_length=64 / payload 64",
        ),
    ]);
    let codes: Vec<_> =
        report.head.uet_counts.iter().filter(|one| one.counted == UetCounted::ReturnCode).collect();
    let [one] = codes[..] else { panic!("{codes:?}") };
    assert_eq!((&*one.src, one.spdcid, one.code), ("10.0.0.1", Some(7), 0x1c));
}

/// Some switches write no length anew: what is short of what both lengths say, where longer packets were seen, was trimmed.
#[test]
fn requests_that_were_trimmed_without_new_lengths_count() {
    let mut analysis = Analysis::new(Options::default());
    for n in 0..6 {
        let mut frame = made(&there(n, "", 64)).build().to_vec();
        if n == 3 {
            frame.truncate(frame.len() - 40);
        }
        let (time, wire_len) = (Time(i64::from(n) * 1000), frame.len() as u32);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame: &frame });
    }
    let report = analysis.finish();
    let [row] = &report.head.uet[..] else { panic!("{:?}", report.head.uet) };
    assert_eq!((row.packets, row.trimmed, row.payload_bytes), (Some(6), Some(1), Some(5 * 64)));
}

/// What a switch makes of idempotent requests between two taps, each counts once.
#[test]
fn marks_of_idempotent_requests_between_taps_count_once() {
    let mut analysis = Analysis::new(Options::default());
    (0..3).for_each(|tap| analysis.interface(tap, format!("tap{tap}"), None));
    for n in 0..4 {
        for tap in 0..3u16 {
            let ecn = if n == 1 && tap > 0 { "ecn=3" } else { "" };
            let frame = made(&rudi(n, "").replace("ipv4", &format!("ipv4 {ecn}"))).build();
            let (time, wire_len) = (Time(i64::from(n) * 1000 + i64::from(tap) * 100), frame.len() as u32);
            analysis.push(&Record { time, link: Link::ETHERNET, interface: tap, wire_len, frame: &frame });
        }
    }
    let report = analysis.finish();
    let [row] = &report.head.uet[..] else { panic!("{:?}", report.head.uet) };
    assert_eq!((row.packets, row.ce_packets, row.retransmits), (Some(4), Some(1), Some(0)));
}

/// The capture cut the headers of messages: how many there were is not known.
#[test]
fn messages_of_which_the_headers_were_cut_are_not_counted() {
    for (cut, messages) in [(58, None), (400, Some(1))] {
        let mut analysis = Analysis::new(Options::default());
        for (n, text) in (0i64..).zip(context()) {
            let frame = made(&text).build();
            let (time, wire_len) = (Time(n * 1000), frame.len() as u32);
            let frame = &frame[..frame.len().min(cut)];
            analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
        }
        let report = analysis.finish();
        let [row] = &report.head.uet[..] else { panic!("{:?}", report.head.uet) };
        assert_eq!((row.messages, row.packets), (messages, Some(7)), "{row:?}");
        let is_cut = row.why.get("messages") == Some(&rdmawire::report::Reason::Truncated);
        assert_eq!((is_cut, row.trimmed.is_none()), (messages.is_none(), messages.is_none()), "{row:?}");
    }
}
