//! Filters: what they match on known packets, how they complain, and that no text makes them panic.

use crate::samples::{Sample, vectors};
use proptest::prelude::*;
use rdmawire::{
    dissect::{Link, dissect},
    filter::{Filter, FrameMeta},
    icrc::State,
};

fn matching(filter: &str) -> Vec<String> {
    let filter = Filter::parse(filter).unwrap_or_else(|error| panic!("{error}"));
    let matches = |v: &Sample| {
        let d = dissect(v.link, &v.frame, v.frame.len() as u32);
        filter.matches(&d, &FrameMeta { number: 3, time_ns: 1_500_000_000, icrc: None })
    };
    vectors().into_iter().filter(matches).map(|v| v.name).collect()
}

/// Frames for which this is so, by other means than a filter.
fn where_(is: impl Fn(&rdmawire::dissect::Dissection<'_>) -> bool) -> Vec<String> {
    let is = |v: &Sample| is(&dissect(v.link, &v.frame, v.frame.len() as u32));
    vectors().into_iter().filter(is).map(|v| v.name).collect()
}

#[test]
fn filters_match_what_the_headers_say() {
    use rdmawire::{opcode::Opcode, wire::*};
    let same = |filter: &str, is: &dyn Fn(&rdmawire::dissect::Dissection<'_>) -> bool| {
        let (found, wanted) = (matching(filter), where_(is));
        assert!(!wanted.is_empty(), "{filter}: nothing to find");
        assert_eq!(found, wanted, "{filter}");
    };
    same("reth", &|d| d.has(Kind::Reth));
    same("bth.dest_qp == 0x11", &|d| d.get::<Bth>().is_some_and(|b| b.dest_qp().0 == 0x11));
    same("infiniband.bth.destqp eq 17 and bth", &|d| d.get::<Bth>().is_some_and(|b| b.dest_qp().0 == 0x11));
    same("bth.opcode == rc-acknowledge", &|d| d.opcode() == Some(Opcode::RC_ACKNOWLEDGE));
    same("bth.opcode == \"RC Acknowledge\"", &|d| d.opcode() == Some(Opcode::RC_ACKNOWLEDGE));
    same("bth.opcode in {rc-send-only, 0x06..0x0b}", &|d| {
        d.opcode().is_some_and(|op| op.code == 4 || (6..=0xb).contains(&op.code))
    });
    same("bth.becn", &|d| d.get::<Bth>().is_some_and(|b| b.becn()));
    same("aeth.nak", &|d| d.get::<Aeth>().is_some_and(|a| a.syndrome().is_nak()));
    same("aeth.rnr", &|d| d.get::<Aeth>().is_some_and(|a| a.syndrome().is_rnr()));
    same("cnp", &|d| d.opcode().is_some_and(|op| op.is_cnp()));
    same("icrc.bad", &|d| rdmawire::icrc::verify(d) == State::Bad);
    same("vcrc.good", &|d| rdmawire::icrc::verify_vcrc(d) == State::Good);
    same("rdma && !icrc.good", &|d| d.has(Kind::Bth) && rdmawire::icrc::verify(d) != State::Good);
    same("not rdma or bth.psn >= 8000000", &|d| d.get::<Bth>().is_none_or(|b| b.psn().0 >= 8_000_000));
    same("ecn == ECT1", &|d| {
        d.get::<Ipv4>().is_some_and(|ip| ip.ecn() == Ecn::ECT1)
            || d.get::<Ipv6>().is_some_and(|ip| ip.ecn() == Ecn::ECT1)
            || d.get::<Grh>().is_some_and(|grh| grh.t_class().0 & 3 == 1)
    });
    same("tunnel.depth > 0", &|d| d.tunnel_depth() > 0);
    same("payload.len > 1000", &|d| d.payload_len() > 1000);
    same("eth.dst == 02:00:00:00:00:02 and tunnel.depth == 0", &|d| {
        d.tunnel_depth() == 0 && d.get::<Ethernet>().is_some_and(|e| e.dst().0 == [2, 0, 0, 0, 0, 2])
    });
    same("cm", &|d| {
        d.has(Kind::CmReq)
            || d.has(Kind::CmRep)
            || d.has(Kind::CmRtu)
            || d.has(Kind::CmDreq)
            || d.has(Kind::CmRej)
            || d.has(Kind::CmMra)
            || d.has(Kind::CmDrep)
            || d.has(Kind::CmSidrReq)
            || d.has(Kind::CmSidrRep)
            || d.has(Kind::CmLap)
            || d.has(Kind::CmApr)
    });
    same("mac_control.opcode == PFC", &|d| d.has(Kind::Pfc));
}

#[test]
fn addresses_match_with_a_prefix_and_outside_tunnels_too() {
    use rdmawire::wire::*;
    let of = |d: &rdmawire::dissect::Dissection<'_>, wanted: fn(std::net::Ipv4Addr) -> bool| {
        d.layers().iter().filter(|l| l.kind == Kind::Ipv4).any(|l| {
            Ipv4::view(&d.frame()[l.at as usize..])
                .is_some_and(|(ip, _)| wanted(ip.src()) || wanted(ip.dst()))
        })
    };
    let found = matching("ip.addr == 10.0.0.0/8");
    assert!(!found.is_empty());
    assert_eq!(found, where_(|d| of(d, |ip| ip.octets()[0] == 10)));
    assert_eq!(matching("ip.addr"), where_(|d| of(d, |_| true)));
    assert_eq!(matching("ip.src != 0.0.0.0/0"), Vec::<String>::new());
    assert!(!matching("ipv6.src == fe80::/10 || ipv6.src == 2001:db8::/32 || ipv6.src == ::/0").is_empty());
}

#[test]
fn any_of_stacked_tags_matches_and_all_must_differ() {
    let frame = |outer: u8, inner: u8| {
        let mut frame = vec![2; 12];
        frame.extend([0x81, 0, 0, outer, 0x81, 0, 0, inner, 0x88, 0xb5, 1, 2, 3, 4]);
        frame
    };
    let matches = |text: &str, frame: &[u8]| {
        let d = dissect(Link::ETHERNET, frame, frame.len() as u32);
        Filter::parse(text).unwrap().matches(&d, &FrameMeta::default())
    };
    let stacked = frame(7, 9);
    assert!(matches("vlan.vid == 7", &stacked) && matches("vlan.id == 9", &stacked));
    assert!(!matches("vlan.vid != 7", &stacked) && matches("vlan.vid != 8", &stacked));
    assert!(!matches("bth.psn != 8", &stacked), "a field that is not there differs from nothing");
    assert!(matches("!(bth.psn == 8)", &stacked));
    assert!(matches("vlan.vid < 8 && vlan.vid > 8", &stacked), "each asks for any");
}

#[test]
fn notes_match_by_id_and_severity() {
    let frame = |opcode: u8, pad: u8| {
        let mut frame = vec![0x45, 0, 0, 44, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        frame.extend([0xc0, 0, 0x12, 0xb7, 0, 24, 0, 0]);
        frame.extend([opcode, pad << 4, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0]);
        frame
    };
    for (text, opcode, pad, wanted) in [
        ("note.error", 0x04, 3, true),
        ("note == bth.pad", 0x04, 3, true),
        ("note == bth.opcode || note.warning", 0x04, 3, false),
        ("note == bth.opcode", 0xc3, 0, true),
        ("note != bth.pad && note.warning && !note.error", 0xc3, 0, true),
        ("note in {bth.pad, bth.opcode}", 0xc3, 0, true),
        ("note", 0x04, 0, false),
    ] {
        let frame = frame(opcode, pad);
        let d = dissect(Link::IPV4, &frame, frame.len() as u32);
        let filter = Filter::parse(text).unwrap();
        assert_eq!(filter.matches(&d, &FrameMeta::default()), wanted, "{text} {d:?}");
    }
}

/// An ERF record's own headers are none of the frame: extension headers, and the two bytes before Ethernet.
#[test]
fn records_of_erf_are_as_long_as_their_frames() {
    let frame = [0u8; 60];
    let of = |kind: u8, more: &[u8], says: u16| {
        let mut record = vec![0u8; 16];
        record[8] = kind;
        record[10..12].copy_from_slice(&(16 + more.len() as u16 + 60).to_be_bytes());
        record[14..16].copy_from_slice(&says.to_be_bytes());
        [&record, more, &frame].concat()
    };
    // Ethernet; InfiniBand with two extension headers.
    let extensions = [0x83, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0];
    for record in [of(2, &[0, 0], 1514), of(21 | 0x80, &extensions, 1514)] {
        let own = record.len() as u32 - 60;
        let d = dissect(Link::ERF, &record, own + 1514);
        assert_eq!(d.lengths(), (1514, 60));
        let matches = |text: &str| Filter::parse(text).unwrap().matches(&d, &FrameMeta::default());
        assert!(matches("frame.len == 1514 && frame.cap_len == 60"));
    }
}

#[test]
fn the_capture_can_be_asked_too() {
    let frame = [0u8; 60];
    let d = dissect(Link::ETHERNET, &frame, 1514);
    let meta = FrameMeta { number: 7, time_ns: 1_700_000_000_500_000_000, icrc: None };
    for (text, wanted) in [
        ("frame.number == 7", true),
        ("frame.number in {1..6, 8}", false),
        ("frame.len == 1514 && frame.cap_len == 60 && frame.cut", true),
        ("frame.time_epoch >= 1700000000.5 && frame.time_epoch < 1700000000.500001", true),
        ("frame.time_epoch > 1700000000.5", false),
        ("frame.link_type == 1", true),
        ("icrc.bad || icrc.good || icrc.unchecked", false),
    ] {
        assert_eq!(Filter::parse(text).unwrap().matches(&d, &meta), wanted, "{text}");
    }
}

#[test]
fn errors_point_at_the_place_and_name_what_would_be_right() {
    for (text, at, says) in [
        ("bth.dest_q == 3", 0, "did you mean bth.dest_qp?"),
        ("time > 3", 0, "did you mean frame.time_ns or frame.time_epoch"),
        ("bth.psn = 3", 8, "did you mean ==?"),
        ("bth.psn == 0x1000000", 11, "does not fit the field's 24 bits"),
        ("ip.src == 10.0.0/8", 10, "expected an IPv4 address"),
        ("ip.src == 10.0.0.0/33", 10, "0 to 32 bits"),
        ("(bth.psn", 8, "the parenthesis at column 1"),
        ("bth.psn)", 7, "expected &&, || or the end, found `)`"),
        ("reth == 3", 8, "a header has no value"),
        ("bth.opcode == rc-writ-only", 14, "did you mean rc-write-only?"),
        ("bth.psn 3", 8, "expected ==, !=, <, <=, >, >=, in, && or ||"),
        ("bth.psn == \"7", 11, "the closing \" is missing"),
        ("bth.psn in {}", 12, "expected a value"),
        ("bth.psn in {1 2}", 14, "expected , or }"),
        ("bth.psn in {9..3}", 12, "before its start"),
        ("bth.se == 2", 10, "true or false"),
        ("note == bth.foo", 8, "one of: truncated, cut"),
        ("frame.time_epoch > 1.", 19, "expected seconds since 1970"),
        ("frame.time_epoch > '1.0000000000'", 19, "expected seconds since 1970"),
        ("frame.time_epoch > 4294967296", 19, "expected seconds since 1970"),
        ("bth.pns == 1", 0, "did you mean bth.psn?"),
        ("note < bth.opcode", 5, "no order"),
        ("", 0, "expected a field or header"),
        ("bth &&", 6, "expected a field or header, like bth.psn or reth, found the end"),
    ] {
        let error = Filter::parse(text).expect_err(text);
        assert_eq!(error.offset(), at, "{text}: {error}");
        assert!(error.message().contains(says), "{text}: {error}");
        let display = error.to_string();
        let lines: Vec<_> = display.lines().collect();
        assert_eq!(lines.len(), 3, "{display}");
        assert_eq!(lines[2].find('^'), Some(2 + at), "{display}");
    }
}

#[test]
fn size_and_depth_are_bounded() {
    let deep = |n: usize| format!("{}bth{}", "(".repeat(n), ")".repeat(n));
    assert!(Filter::parse(&deep(64)).is_ok());
    assert!(Filter::parse(&deep(65)).unwrap_err().message().contains("nested"));
    assert!(Filter::parse(&"!".repeat(10_000)).unwrap_err().message().contains("nested"));
    let long = vec!["bth"; 3000].join("||");
    assert_eq!(Filter::parse(&long).unwrap().to_string().matches("||").count(), 2999);
    assert!(Filter::parse(&" ".repeat(20_000)).unwrap_err().message().contains("at most"));
}

fn test() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "bth",
            "reth",
            "icrc.bad",
            "aeth.nak",
            "infiniband.aeth.msn",
            "vlan",
            "note"
        ])
        .prop_map(str::to_owned),
        (
            prop::sample::select(vec!["bth.psn", "bth.dest_qp", "frame.number", "reth.dma_len"]),
            prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">=", "eq", "ge"]),
            0u32..0x100_0000
        )
            .prop_map(|(name, sign, value)| format!("{name} {sign} {value:#x}")),
        (0u8..32, 0u8..32).prop_map(|(a, b)| {
            format!("bth.opcode in {{rc-send-only,'RC Acknowledge', {}..{}}}", a.min(b), a.max(b))
        }),
        (any::<[u8; 4]>(), 0u8..=32)
            .prop_map(|(a, bits)| format!("ip.addr == {}/{bits}", std::net::Ipv4Addr::from(a))),
        any::<u128>().prop_map(|a| format!("ipv6.src != {}", std::net::Ipv6Addr::from(a))),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    test().prop_recursive(6, 40, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|e| format!("!({e})")),
            inner.clone().prop_map(|e| format!("({e})")),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|es| es.join(" && ")),
            prop::collection::vec(inner, 1..4).prop_map(|es| es.join("||")),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_printed_parses_and_prints_the_same_and_matches_the_same(text in expression(), which in any::<prop::sample::Index>()) {
        let filter = Filter::parse(&text).unwrap();
        let printed = filter.to_string();
        let again = Filter::parse(&printed).unwrap();
        prop_assert_eq!(again.to_string(), printed);
        let vectors = vectors();
        let v = which.get(&vectors);
        let d = dissect(v.link, &v.frame, v.frame.len() as u32);
        let meta = FrameMeta { number: 5, ..FrameMeta::default() };
        prop_assert_eq!(filter.matches(&d, &meta), again.matches(&d, &meta));
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        if let Err(error) = Filter::parse(&text) {
            let _ = error.to_string();
        }
    }

    #[test]
    fn nothing_made_of_its_own_words_panics(words in prop::collection::vec(prop::sample::select(vec![
        "bth.psn", "ip.src", "in", "{", "}", "..", ",", "==", "<", "!", "not", "(", ")", "&&", "or", "1", "0x", "10.0.0.0/8",
        "\"", "'a'", "é", "fe80::1", "note", "bth.opcode", "/", "-", ".", "\u{0}", "\n",
    ]), 0..20)) {
        match Filter::parse(&words.join(" ")) {
            Ok(filter) => prop_assert!(Filter::parse(&filter.to_string()).is_ok()),
            Err(error) => prop_assert!(error.to_string().contains('^')),
        }
    }
}

/// The addresses that tables call `src` and `dst`, of any IP.
#[test]
fn addresses_have_the_names_of_tables() {
    use rdmawire::wire::*;
    let from =
        |d: &rdmawire::dissect::Dissection<'_>| d.get::<Ipv4>().is_some_and(|ip| ip.src().octets()[0] == 10);
    assert!(!where_(from).is_empty());
    assert_eq!(matching("src == 10.0.0.0/8"), matching("ip.src == 10.0.0.0/8"));
    assert_eq!(matching("addr == 10.0.0.0/8"), matching("src == 10.0.0.0/8 || dst == 10.0.0.0/8"));
    let (four, six) = (matching("ip"), matching("ipv6"));
    assert!(!six.is_empty());
    let all = matching("src");
    assert!(four.iter().chain(&six).all(|name| all.contains(name)));
    assert_eq!(matching("src == fe80::/10"), matching("ipv6.src == fe80::/10 || grh.sgid == fe80::/10"));
}

#[test]
fn operation_codes_by_a_part_of_their_name() {
    let error = |text: &str| Filter::parse(text).unwrap_err().to_string();
    assert!(error("opcode == ack").contains("did you mean rc-acknowledge"), "{}", error("opcode == ack"));
    assert!(error("opcode == rc-wrte").contains("rc-write-first"), "{}", error("opcode == rc-wrte"));
}
