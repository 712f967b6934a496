//! Published and self-made packets with known fields, ICRCs and VCRCs (`tests/data/vectors.json`), and the table of
//! operation codes (`tests/data/opcodes.csv`). With `RDMAWIRE_VECTORS` set, that file's vectors are checked too.

use crate::samples::{bytes, vectors_and_more};
use rdmawire::{
    checksum::{internet, internet_parts},
    dissect::{Link, dissect},
    icrc::{self, State},
    opcode::{Direction, Opcode, PayloadRule},
    wire::*,
};
use serde_json::Value;

#[test]
fn every_vector_verifies_as_it_should() {
    let (mut good, mut bad) = (0, 0);
    for v in vectors_and_more() {
        let name = v["name"].as_str().unwrap();
        let frame = bytes(v["hex"].as_str().unwrap());
        let d = dissect(Link(v["link_type"].as_u64().unwrap() as u16), &frame, frame.len() as u32);
        let expected = match v["icrc_ok"].as_bool() {
            Some(true) => State::Good,
            Some(false) => State::Bad,
            None => State::Unchecked,
        };
        assert_eq!(icrc::verify(&d), expected, "{name} {d:?}");
        if let Some(hex) = v["icrc"].as_str() {
            assert_eq!(d.icrc().unwrap().to_vec(), bytes(hex), "{name}");
        }
        if v["vcrc_ok"].as_bool() == Some(true) {
            assert_eq!(icrc::verify_vcrc(&d), State::Good, "{name}");
        }
        good += (expected == State::Good) as usize;
        bad += (expected == State::Bad) as usize;
    }
    assert!(good > 60 && bad >= 1, "{good} {bad}");
}

#[test]
fn every_vector_has_the_fields_it_should() {
    let mut checked = 0;
    for v in vectors_and_more() {
        let name = v["name"].as_str().unwrap();
        let frame = bytes(v["hex"].as_str().unwrap());
        let d = dissect(Link(v["link_type"].as_u64().unwrap() as u16), &frame, frame.len() as u32);
        let Some(expect) = v["expect"].as_object() else { continue };
        let num = |key: &str| expect.get(key).and_then(Value::as_u64);
        let mut check = |key: &str, value: Option<u64>| {
            if let Some(expected) = num(key) {
                assert_eq!(value, Some(expected), "{name}: {key} {d:?}");
                checked += 1;
            }
        };
        let bth = d.get::<Bth>();
        if bth.is_some() && !name.starts_with("syn_ulp") {
            check("opcode", bth.map(|h| h.opcode().code as u64));
        }
        check("inner_opcode", bth.map(|h| h.opcode().code as u64));
        check("destqp", bth.map(|h| h.dest_qp().0 as u64));
        check("inner_destqp", bth.map(|h| h.dest_qp().0 as u64));
        check("psn", bth.map(|h| h.psn().0 as u64));
        check("inner_psn", bth.map(|h| h.psn().0 as u64));
        check("padcnt", bth.map(|h| h.pad_cnt() as u64));
        check("se", bth.map(|h| h.se() as u64));
        check("m", bth.map(|h| h.mig_req() as u64));
        check("becn", bth.map(|h| h.becn() as u64));
        check("fecn", bth.map(|h| h.fecn() as u64));
        check("a", bth.map(|h| h.ack_req() as u64));
        check("pkey", bth.map(|h| h.p_key().0 as u64));
        check("payload_len", Some(d.payload_len() as u64));
        check("syndrome", d.get::<Aeth>().map(|h| h.syndrome().0 as u64));
        check("msn", d.get::<Aeth>().map(|h| h.msn() as u64));
        check("reth_va", d.get::<Reth>().map(|h| h.va().0));
        check("reth_rkey", d.get::<Reth>().map(|h| h.r_key().0 as u64));
        check("reth_dmalen", d.get::<Reth>().map(|h| h.dma_len() as u64));
        check("qkey", d.get::<Deth>().map(|h| h.q_key().0 as u64));
        check("srcqp", d.get::<Deth>().map(|h| h.src_qp().0 as u64));
        check("immdt", d.get::<ImmDt>().map(|h| h.data().0 as u64));
        check("ieth_rkey", d.get::<Ieth>().map(|h| h.r_key().0 as u64));
        check("swap", d.get::<AtomicEth>().map(|h| h.swap_data()));
        check("cmp", d.get::<AtomicEth>().map(|h| h.compare_data()));
        check("add", d.get::<AtomicEth>().map(|h| h.swap_data()));
        check("orig", d.get::<AtomicAckEth>().map(|h| h.original_data()));
        check("eecnxt", d.get::<Rdeth>().map(|h| h.ee_context().0 as u64));
        check("xrc_srq", d.get::<Xrceth>().map(|h| h.xrc_srq().0 as u64));
        check("feth_plt", d.get::<Feth>().map(|h| h.plt().0 as u64));
        check("feth_sel", d.get::<Feth>().map(|h| h.sel().0 as u64));
        check("udp_sport", d.get::<Udp>().map(|h| h.src_port() as u64));
        check("grh_paylen", d.get::<Grh>().map(|h| h.pay_len() as u64));
        check("dlid", d.get::<Lrh>().map(|h| h.dlid().0 as u64));
        check("slid", d.get::<Lrh>().map(|h| h.slid().0 as u64));
        check("pktlen", d.get::<Lrh>().map(|h| h.pkt_len() as u64));
        check("lnh", d.get::<Lrh>().map(|h| h.lnh().0 as u64));
        check("vl", d.get::<Lrh>().map(|h| h.vl() as u64));
        check("mgmtclass", d.get::<Mad>().map(|h| h.mgmt_class().0 as u64));
        check("attr", d.get::<Mad>().map(|h| h.attribute_id().0 as u64));
        check(
            "local_qpn",
            d.get::<CmReq>()
                .map(|h| h.local_qpn().0 as u64)
                .or(d.get::<CmRep>().map(|h| h.local_qpn().0 as u64)),
        );
        check(
            "starting_psn",
            d.get::<CmReq>()
                .map(|h| h.starting_psn().0 as u64)
                .or(d.get::<CmRep>().map(|h| h.starting_psn().0 as u64)),
        );
        check("vcrc_ok", None.or(num("vcrc_ok")));
        check("enable_vector", d.get::<Pfc>().map(|h| h.class_enable().0 as u64));
        check("pause_time", d.get::<Pause>().map(|h| h.pause_time() as u64));
        check("gre_proto", layer::<Gre>(&d, &frame).map(|h| h.protocol().0 as u64));
        check("gre_seq", layer::<GreSequence>(&d, &frame).map(|h| h.sequence_number() as u64));
        check(
            "session",
            layer::<Erspan2>(&d, &frame)
                .map(|h| h.session_id() as u64)
                .or(layer::<Erspan3>(&d, &frame).map(|h| h.session_id() as u64)),
        );
        check("ts", layer::<Erspan3>(&d, &frame).map(|h| h.timestamp() as u64));
        check(
            "vni",
            layer::<Vxlan>(&d, &frame)
                .map(|h| h.vni() as u64)
                .or(layer::<Geneve>(&d, &frame).map(|h| h.vni() as u64)),
        );
        check("label", layer::<Mpls>(&d, &frame).map(|h| h.label() as u64));
        check("vendor_pad", d.layers().iter().find(|l| l.kind == Kind::Everflow).map(|l| l.len as u64));
        check("vid", d.get::<Vlan>().map(|h| h.vid() as u64));
        check("trailing_eth_pad", Some(d.trailer().len() as u64));
        if let Some(times) = expect.get("time").and_then(Value::as_array) {
            for (priority, time) in times.iter().enumerate() {
                let pfc = d.get::<Pfc>().unwrap();
                let enabled = pfc.class_enable().0 >> priority & 1 == 1;
                assert_eq!(
                    pfc.time(priority as u8).map(u64::from),
                    time.as_u64().filter(|_| enabled),
                    "{name}"
                );
            }
        }
        let truncated = name.contains("truncated");
        let bad = d.notes().iter().any(|n| n.problem.severity() == rdmawire::dissect::Severity::Error);
        assert!(!bad, "{name}: {:?}", d.notes());
        assert_eq!(d.is_cut(), truncated, "{name}");
    }
    assert!(checked > 200, "{checked}");
}

fn layer<'a, H: Header>(d: &rdmawire::dissect::Dissection<'_>, frame: &'a [u8]) -> Option<&'a H> {
    let at = d.layers().iter().find(|l| l.kind == H::KIND)?.at as usize;
    H::view(&frame[at..]).map(|(h, _)| h)
}

#[test]
fn the_opcode_table_is_the_specifications() {
    let mut rows = 0;
    for line in include_str!("../data/opcodes.csv").lines().skip(1) {
        let col: Vec<&str> = line.split(',').collect();
        let op = Opcode::ib(u8::from_str_radix(&col[0][2..], 16).unwrap());
        assert!(op.is_known(), "{line}");
        if op.code >> 5 != 4 {
            assert_eq!(op.service().name(), col[1]);
            assert_eq!(op.name().unwrap(), format!("{} {}", col[1], col[2]));
        }
        assert_eq!(format!("{:?}", op.position()).to_lowercase(), col[3]);
        let chain: Vec<&str> =
            op.chain().iter().map(|k| if *k == Kind::Cnp { "16 bytes" } else { k.label() }).collect();
        let headers: Vec<&str> = col[4].split('+').skip(1).collect();
        assert_eq!(chain, headers, "{line}");
        let len: usize = 12 + op.chain().iter().map(|k| k.info().unwrap().len).sum::<usize>();
        assert_eq!(len.to_string(), col[5]);
        let rule = match op.payload_rule() {
            PayloadRule::Full => "exactly PMTU",
            PayloadRule::Some => "1..PMTU",
            PayloadRule::Any => "0..PMTU",
            PayloadRule::None if op.is_cnp() => "16 reserved bytes",
            PayloadRule::None => "none",
            PayloadRule::Eight => "exactly 8 bytes",
        };
        assert_eq!(rule, col[6], "{line}");
        assert_eq!(if op.direction() == Direction::Request { "request" } else { "response" }, col[8]);
        assert_eq!(Opcode::from_name(op.name().unwrap()), Some(op));
        assert_eq!(Opcode::from_name(&op.ident().unwrap().to_lowercase().replace('_', "-")), Some(op));
        rows += 1;
    }
    assert_eq!(rows, Opcode::of_transport(Transport::Ib).count());
    // Without a service, it is RC's.
    for name in ["CmpSwap", "cas", "CAS", "compare-swap", "compare and swap"] {
        assert_eq!(Opcode::from_name(name), Opcode::from_name("rc-compare-swap"), "{name}");
    }
    assert_eq!(Opcode::from_name("RDMA WRITE Only"), Opcode::from_name("rc-write-only"));
    assert_eq!(Opcode::from_name("write"), None);
}

#[test]
fn the_example_of_rfc_1071() {
    assert_eq!(internet(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
}

#[test]
fn parts_of_odd_length_are_as_one_run() {
    let bytes: Vec<u8> = (0..101u8).map(|i| i.wrapping_mul(37)).collect();
    for cut in 0..bytes.len() {
        let (a, b) = bytes.split_at(cut);
        let (b, c) = b.split_at(b.len() / 3);
        assert_eq!(internet_parts(&[a, b, c]), internet(&bytes), "{cut}");
    }
}
