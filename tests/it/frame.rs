//! Frames as lines, trees, JSON and columns: for every vector, and every truncation of it.

use std::{collections::HashSet, fmt};

use crate::samples::{self, Sample, vectors};
use rdmawire::{
    dissect::{Link, dissect},
    frame::*,
    wire::Kind,
};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// JSON in which no object has a name twice.
struct Strict;

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Strict)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Strict;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without repeated names")
    }
    fn visit_bool<E>(self, _: bool) -> Result<Strict, E> {
        Ok(Strict)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Strict, E> {
        Ok(Strict)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Strict, E> {
        Ok(Strict)
    }
    fn visit_str<E>(self, _: &str) -> Result<Strict, E> {
        Ok(Strict)
    }
    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Strict, A::Error> {
        while seq.next_element::<Strict>()?.is_some() {}
        Ok(Strict)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Strict, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            map.next_value::<Strict>()?;
            if names.contains(&name) {
                return Err(serde::de::Error::custom(format!("{name} twice")));
            }
            names.insert(name);
        }
        Ok(Strict)
    }
}

#[test]
fn json_is_json_without_repeated_names_for_every_truncation() {
    let writers = [Json::new(Names::Own), Json::new(Names::Wireshark)];
    let mut text = String::new();
    for Sample { name, link, frame: bytes, .. } in vectors() {
        for len in 0..=bytes.len() {
            let d = dissect(link, &bytes[..len], bytes.len() as u32);
            for json in &writers {
                text.clear();
                json.write(&Frame::new(1, -5, &d).verified(), Some("a \"b\".pcap"), &mut text).unwrap();
                serde_json::from_str::<Strict>(&text).unwrap_or_else(|e| panic!("{name} {len}: {e}: {text}"));
                assert!(text.ends_with("}\n") && text.lines().count() == 1, "{name} {len}");
            }
        }
    }
}

#[test]
fn json_has_what_the_contract_names() {
    for Sample { name, link, frame: bytes, .. } in vectors() {
        let d = dissect(link, &bytes, bytes.len() as u32 + 4);
        let mut text = String::new();
        let frame = Frame::new(9, 1_500_000_000_000_000_001, &d).verified();
        Json::new(Names::Own).write(&frame, None, &mut text).unwrap();
        let v: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(v["frame"], 9);
        assert_eq!(v["time_ns"], 1_500_000_000_000_000_001_i64);
        assert_eq!(v["captured"], bytes.len());
        assert_eq!(v["length"], bytes.len() + 4);
        assert_eq!(v["link_type"], link.0);
        assert_eq!(v["payload"]["length"], d.payload_len(), "{name}");
        assert_eq!(v["payload"]["padding"], d.pad_len());
        assert_eq!(v["info"].as_str().unwrap(), Info::new(&d, frame.icrc).to_string());
        assert_eq!(v["notes"].as_array().unwrap().len(), d.notes().len());
        for (note, json) in d.notes().iter().zip(v["notes"].as_array().unwrap()) {
            assert_eq!(json["id"].as_str().unwrap(), note.id().to_string());
            assert_eq!(json["severity"].as_str().unwrap(), note.problem.severity().name());
            assert_eq!(json["text"].as_str().unwrap(), note.to_string());
        }
        // Every header's every field, with its value.
        let mut layers = v["layers"].as_array().unwrap().iter();
        let mut now = &Value::Null;
        let mut applications = 0;
        for layer in d.layers().iter().filter(|layer| layer.kind < Kind::Payload) {
            if !layer.kind.is_part() {
                now = layers.next().unwrap();
                assert_eq!(now["name"], layer.kind.layer(), "{name}");
                assert_eq!(now["offset"], layer.at, "{name}");
                applications = 0;
            }
            let listed = matches!(layer.kind, Kind::ApplicationPriority | Kind::CeeApplication);
            let object = if listed { &now["applications"][applications] } else { now };
            applications += listed as usize;
            for field in layer.kind.info().map_or(&[][..], |info| info.fields) {
                let at = &bytes[layer.at as usize..];
                let mut value = object[field.name].clone();
                let renamed = ["name", "offset", "length", "message"].contains(&field.name)
                    || layer.kind.is_part() && (field.name == "reserved" || field.name == "extension");
                if renamed {
                    let label = Kind::info(layer.kind).unwrap().label;
                    let label = label.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
                    let other = now[format!("{label}_{}", field.name)].clone();
                    value = if other.is_null() { value } else { other };
                }
                match value {
                    Value::Bool(set) => assert_eq!(set as u64, field.get(at), "{name} {}", field.name),
                    Value::Number(n) => assert_eq!(n.as_u64(), Some(field.get(at)), "{name} {}", field.name),
                    Value::String(s) => assert_eq!(s, field.display(at).to_string(), "{name} {}", field.name),
                    other => panic!("{name} {} {other}", field.name),
                }
            }
        }
        assert!(layers.next().is_none());
    }
}

#[test]
fn lines_trees_and_columns_take_every_truncation() {
    let columns =
        ["frame.number", "src", "dst", "info", "bth.psn", "ip.addr", "note", "icrc", "cm.local_qpn"];
    let columns = Columns::parse(columns, Separator::Comma, Names::Own).unwrap();
    let mut text = String::new();
    for Sample { link, frame: bytes, .. } in vectors() {
        for len in 0..=bytes.len() {
            let d = dissect(link, &bytes[..len], bytes.len() as u32);
            let frame = Frame::new(u64::MAX, i64::MIN, &d).verified();
            text.clear();
            let mut line = Line::new(Clock::Utc, true);
            line.write(&frame, &mut text).unwrap();
            assert_eq!(text.lines().count(), 1);
            columns.write(&frame, &mut text).unwrap();
            assert_eq!(text.lines().count(), 2);
            write_tree(&frame, Names::Wireshark, &mut text).unwrap();
            write_hex(d.frame(), &mut text).unwrap();
        }
    }
}

#[test]
fn a_tree_shows_bits_values_and_what_is_wrong() {
    let frame = [
        0x45, 0, 0, 48, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc0, 0, 0x12, 0xb7, 0, 28, 0,
        0, 0x11, 0x7f, 0xff, 0xff, 0x40, 0, 0, 0x12, 0, 0, 0, 7, 0x60, 0, 0, 3, 1, 2, 3, 4,
    ];
    let d = dissect(Link::IPV4, &frame, 48);
    let mut text = String::new();
    write_tree(&Frame::new(1, 0, &d).verified(), Names::Own, &mut text).unwrap();
    for line in [
        "  BTH, 12 bytes at 28\n",
        "       0-7    opcode  0x11 (RC Acknowledge)\n",
        "       9      mig_req true    .1.. ....\n",
        "      10-11   pad_cnt 3   ..11 ....\n",
        "      33      becn    true    .1.. ....\n",
        "      error: 3 bytes of padding do not fit this packet [bth.pad]\n",
        "       0-7    syndrome 0x60 (NAK, PSN sequence error)\n",
        "  ICRC, 4 bytes at 44: 01020304, bad, should be ",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

#[test]
fn nothing_is_allocated_for_a_frame() {
    let vectors = vectors();
    let mut line = Line::new(Clock::Utc, true);
    let json = Json::new(Names::Own);
    let columns = ["bth.psn", "ip.addr", "info", "note", "cm.local_qpn"];
    let columns = Columns::parse(columns, Separator::Tab, Names::Own).unwrap();
    let filter = rdmawire::filter::Filter::parse(
        "cm.local_qpn == 7 || vlan.vid in {1, 2..9} || icrc.bad || note == bth.opcode",
    )
    .unwrap();
    let mut text = String::with_capacity(1 << 20);
    let ((), allocated) = samples::memory::during(|| {
        for Sample { link, frame: bytes, .. } in &vectors {
            text.clear();
            let d = dissect(*link, bytes, bytes.len() as u32);
            let frame = Frame::new(1, 7, &d).verified();
            line.write(&frame, &mut text).unwrap();
            json.write(&frame, None, &mut text).unwrap();
            columns.write(&frame, &mut text).unwrap();
            filter.matches(&d, &rdmawire::filter::FrameMeta::default());
        }
    });
    assert_eq!(allocated.calls, 0);
}

/// Native InfiniBand has two CRCs. A wrong one of a link is told in the line, as one from end to end is.
#[test]
fn a_wrong_vcrc_is_told() {
    use rdmawire::{
        craft::{Channel, Endpoint, Path},
        dissect::Encapsulation,
        wire::{Psn, Qpn},
    };
    let end = |n: u8| Endpoint::new(std::net::Ipv4Addr::new(10, 0, 0, n)).lid(n.into());
    let channel = Channel::rc(Path::new(Encapsulation::Ib, end(1), end(2)), Qpn(5), Qpn(6));
    let packet = channel.headers(rdmawire::opcode::Opcode::RC_SEND_ONLY, Psn(7)).payload(vec![1; 64]);
    let mut frame = packet.build().to_vec();
    let line = |frame: &[u8]| {
        let d = rdmawire::dissect::dissect(packet.link(), frame, frame.len() as u32);
        rdmawire::frame::Info::new(&d, rdmawire::icrc::verify(&d)).to_string()
    };
    let is_bad = |frame: &[u8]| {
        let d = rdmawire::dissect::dissect(packet.link(), frame, frame.len() as u32);
        let meta = rdmawire::filter::FrameMeta { number: 1, time_ns: 0, icrc: None };
        rdmawire::filter::Filter::parse("vcrc.bad").unwrap().matches(&d, &meta)
    };
    assert!(!line(&frame).contains("bad") && !is_bad(&frame), "{}", line(&frame));
    *frame.last_mut().unwrap() ^= 1;
    assert!(line(&frame).ends_with(" [VCRC bad]") && is_bad(&frame), "{}", line(&frame));
}

/// Link packets say whether they begin with credits, and whether their own CRC is wrong.
#[test]
fn link_packets_are_told() {
    use rdmawire::{craft::flow_control, wire::LinkOp};
    let line = |op: u8, flip: u8| {
        let packet = flow_control(LinkOp(op), 3, 5, 100);
        let mut frame = packet.build().to_vec();
        // Behind the record's header: four bytes, then the CRC.
        frame[20] ^= flip;
        let d = rdmawire::dissect::dissect(packet.link(), &frame, frame.len() as u32);
        rdmawire::frame::Info::new(&d, rdmawire::icrc::verify(&d)).to_string()
    };
    assert_eq!(line(0, 0), "flow control VL=3 FCTBS=5 FCCL=100");
    assert_eq!(line(1, 0), "flow control init VL=3 FCTBS=5 FCCL=100");
    assert_eq!(line(0, 1), "flow control VL=3 FCTBS=5 FCCL=100 [LPCRC bad]");
}
