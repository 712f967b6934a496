//! What headers cost: every number of the published tables, and the same from frames.

use crate::support::frames::{Roce, shown};
use rdmawire::{
    analyze::{
        Class,
        metric::overhead::{Overhead, l1_bytes},
    },
    dissect::{Encapsulation, Encapsulation::*, Link, dissect},
    message::{Ending, Segments, Unsupported},
    opcode::{Opcode, Operation, Service},
    wire_cost::{Contents, Envelope, Packets},
};

/// RoCEv2 over IPv4, the same with a VLAN tag, over IPv6, RoCE v1, native InfiniBand.
const COLUMNS: [Envelope; 5] = [
    Envelope::new(RoceV2Ipv4),
    Envelope::new(RoceV2Ipv4).with_vlans(1),
    Envelope::new(RoceV2Ipv6),
    Envelope::new(RoceV1),
    Envelope::new(Ib),
];

/// Bytes on the wire per packet. Native InfiniBand from LRH to VCRC: 2 less than with delimiter symbols as bytes.
const PACKETS: [(Opcode, u32, [u32; 5]); 18] = [
    (Opcode::RC_SEND_MIDDLE, 1024, [1106, 1110, 1126, 1118, 1052 - 2]),
    (Opcode::RC_WRITE_MIDDLE, 1024, [1106, 1110, 1126, 1118, 1052 - 2]),
    (Opcode::RC_SEND_MIDDLE, 4096, [4178, 4182, 4198, 4190, 4124 - 2]),
    (Opcode::RC_WRITE_MIDDLE, 4096, [4178, 4182, 4198, 4190, 4124 - 2]),
    (Opcode::RC_WRITE_FIRST, 1024, [1122, 1126, 1142, 1134, 1068 - 2]),
    (Opcode::RC_WRITE_ONLY, 1024, [1122, 1126, 1142, 1134, 1068 - 2]),
    (Opcode::RC_WRITE_FIRST, 4096, [4194, 4198, 4214, 4206, 4140 - 2]),
    (Opcode::RC_WRITE_ONLY_WITH_IMMEDIATE, 4096, [4198, 4202, 4218, 4210, 4144 - 2]),
    (Opcode::RC_READ_REQUEST, 0, [98, 102, 118, 110, 44 - 2]),
    (Opcode::RC_READ_RESPONSE_FIRST, 4096, [4182, 4186, 4202, 4194, 4128 - 2]),
    (Opcode::RC_READ_RESPONSE_LAST, 4096, [4182, 4186, 4202, 4194, 4128 - 2]),
    (Opcode::RC_ACKNOWLEDGE, 0, [86, 90, 106, 98, 32 - 2]),
    (Opcode::RC_COMPARE_SWAP, 0, [110, 114, 130, 122, 56 - 2]),
    (Opcode::RC_ATOMIC_ACKNOWLEDGE, 0, [94, 98, 114, 106, 40 - 2]),
    (Opcode::CNP, 0, [98, 102, 118, 110, 44 - 2]),
    (Opcode::UD_SEND_ONLY, 256, [346, 350, 366, 358, 292 - 2]),
    (Opcode::RC_SEND_ONLY, 0, [84, 86, 102, 94, 28 - 2]),
    (Opcode::RC_SEND_ONLY, 1, [86, 90, 106, 98, 30]),
];

#[test]
fn a_packet_costs_what_the_table_says() {
    for (opcode, payload, bytes) in PACKETS {
        for (envelope, bytes) in COLUMNS.into_iter().zip(bytes) {
            let contents = Contents::new(opcode, payload);
            assert_eq!(envelope.l1_bytes(contents.len()), bytes, "{opcode} of {payload} in {envelope:?}");
            assert_eq!(
                envelope.layers(contents).total() + payload as u64,
                bytes as u64,
                "{opcode} {envelope:?}"
            );
        }
    }
}

#[test]
fn fixed_bytes_are_the_tables_last_row() {
    let fixed = Encapsulation::ALL.map(|wrap| (wrap, Envelope::new(wrap).fixed()));
    assert_eq!(fixed, [(RoceV2Ipv4, 82), (RoceV2Ipv6, 102), (RoceV1, 94), (Ib, 26), (IbGrh, 66)]);
    let acks = Encapsulation::ALL.map(|wrap| Envelope::new(wrap).l1_bytes(4));
    assert_eq!(acks, [86, 106, 98, 30, 70]);
}

const MTUS: [u32; 5] = [256, 512, 1024, 2048, 4096];

#[test]
fn efficiency_is_what_the_tables_say() {
    // Packets with a BTH alone, then with a RETH; native InfiniBand with its two delimiter symbols as bytes.
    let with_vlan = |wrap| Envelope::new(wrap).with_vlans(1);
    let rows: [(Envelope, u32, [f64; 5], [f64; 5]); 8] = [
        (
            Envelope::new(RoceV2Ipv4),
            0,
            [0.7574, 0.8620, 0.9259, 0.9615, 0.9804],
            [0.7232, 0.8393, 0.9127, 0.9543, 0.9766],
        ),
        (
            with_vlan(RoceV2Ipv4),
            0,
            [0.7485, 0.8562, 0.9225, 0.9597, 0.9794],
            [0.7151, 0.8339, 0.9094, 0.9526, 0.9757],
        ),
        (
            Envelope::new(RoceV2Ipv6),
            0,
            [0.7151, 0.8339, 0.9094, 0.9526, 0.9757],
            [0.6845, 0.8127, 0.8967, 0.9455, 0.9720],
        ),
        (
            with_vlan(RoceV2Ipv6),
            0,
            [0.7072, 0.8285, 0.9062, 0.9508, 0.9748],
            [0.6772, 0.8076, 0.8935, 0.9438, 0.9711],
        ),
        (
            Envelope::new(RoceV1),
            0,
            [0.7314, 0.8449, 0.9159, 0.9561, 0.9776],
            [0.6995, 0.8232, 0.9030, 0.9490, 0.9738],
        ),
        (
            with_vlan(RoceV1),
            0,
            [0.7232, 0.8393, 0.9127, 0.9543, 0.9766],
            [0.6919, 0.8179, 0.8998, 0.9473, 0.9729],
        ),
        (
            Envelope::new(Ib),
            2,
            [0.9014, 0.9481, 0.9734, 0.9865, 0.9932],
            [0.8533, 0.9209, 0.9588, 0.9790, 0.9894],
        ),
        (
            Envelope::new(IbGrh),
            2,
            [0.7901, 0.8828, 0.9377, 0.9679, 0.9837],
            [0.7529, 0.8591, 0.9242, 0.9606, 0.9799],
        ),
    ];
    for (envelope, symbols, bth, reth) in rows {
        for (extended, row) in [(0, bth), (16, reth)] {
            for (mtu, expected) in MTUS.into_iter().zip(row) {
                let bytes = envelope.l1_bytes(extended + mtu) + symbols;
                let efficiency = mtu as f64 / bytes as f64;
                assert!((efficiency - expected).abs() <= 0.000_051, "{envelope:?} {mtu}: {efficiency}");
            }
        }
    }
    // Without the symbols, in per cent.
    let rows: [(Envelope, [f64; 5]); 6] = [
        (Envelope::new(RoceV2Ipv4), [75.74, 86.20, 92.59, 96.15, 98.04]),
        (Envelope::new(RoceV2Ipv6), [71.51, 83.39, 90.94, 95.26, 97.57]),
        (with_vlan(RoceV2Ipv4), [74.85, 85.62, 92.25, 95.97, 97.94]),
        (Envelope::new(RoceV1), [73.14, 84.49, 91.59, 95.61, 97.76]),
        (Envelope::new(Ib), [90.78, 95.17, 97.52, 98.75, 99.37]),
        (Envelope::new(IbGrh), [79.50, 88.58, 93.94, 96.88, 98.41]),
    ];
    for (envelope, row) in rows {
        for (mtu, expected) in MTUS.into_iter().zip(row) {
            let efficiency = 100.0 * mtu as f64 / envelope.l1_bytes(mtu) as f64;
            assert!((efficiency - expected).abs() <= 0.005_1, "{envelope:?} {mtu}: {efficiency}");
        }
    }
}

#[test]
fn a_frame_costs_what_its_headers_say() {
    for (opcode, payload, bytes) in PACKETS {
        for (envelope, bytes) in COLUMNS.into_iter().zip(bytes) {
            let roce = Roce {
                wrap: envelope.encapsulation,
                vlans: envelope.vlans,
                opcode,
                payload: payload as usize,
                ..Roce::default()
            };
            let frame = roce.frame();
            let len = frame.len();
            let case = format!("{opcode} of {payload} in {envelope:?}");
            assert_eq!(l1_bytes(&dissect(roce.link(), &frame, len as u32)), bytes, "{case}");
            // Cut by the capture: no change.
            for cut in [len / 2, 64, 60] {
                let part = &frame[..cut.min(len)];
                let d = dissect(roce.link(), part, len as u32);
                if d.encapsulation().is_some() {
                    assert_eq!(l1_bytes(&d), bytes, "{case}, cut to {cut}");
                }
            }
            // Captured with its frame check sequence: no change.
            let with_fcs = [&frame[..], &[1, 2, 3, 4]].concat();
            assert_eq!(
                l1_bytes(&dissect(roce.link(), &with_fcs, with_fcs.len() as u32)),
                bytes,
                "{case}, with FCS"
            );
            // As raw IP: an Ethernet header without tags is assumed.
            if envelope == Envelope::new(RoceV2Ipv4) {
                assert_eq!(
                    l1_bytes(&dissect(Link::RAW, &frame[14..], len as u32 - 14)),
                    bytes,
                    "{case}, raw IP"
                );
            }
        }
    }
}

#[test]
fn a_tunnel_is_not_charged() {
    use rdmawire::wire::*;
    let inner = Roce { payload: 1024, ..Roce::default() }.frame();
    let len = inner.len() as u16;
    let outer = [
        Ethernet::default().with_ether_type(EtherType::IPV4).bytes(),
        Ipv4::default()
            .with_version(4)
            .with_ihl(5)
            .with_total_len(36 + len)
            .with_protocol(IpProtocol::UDP)
            .bytes(),
        Udp::default().with_dst_port(4789).with_length(16 + len).bytes(),
        &[0; 8],
        &inner,
    ]
    .concat();
    let d = dissect(Link::ETHERNET, &outer, outer.len() as u32);
    assert_eq!(d.tunnel_depth(), 1);
    assert_eq!(l1_bytes(&d), 1106);
}

#[test]
fn frames_that_are_not_rdma_have_a_length_too() {
    let pause = [&[0u8; 12][..], &[0x88, 0x08, 0, 1, 0xff, 0xff], &[0; 42]].concat();
    assert_eq!(l1_bytes(&dissect(Link::ETHERNET, &pause, 60)), 84);
    let other = [&[0u8; 12][..], &[0x12, 0x34], &[0; 86]].concat();
    assert_eq!(l1_bytes(&dissect(Link::ETHERNET, &other, 100)), 8 + 104 + 12);
    assert_eq!(l1_bytes(&dissect(Link::ETHERNET, &[], 0)), 84);
}

#[test]
fn the_same_packets_in_every_encapsulation() {
    for wrap in Encapsulation::ALL {
        for vlans in [0, 1, 2] {
            let envelope = Envelope::new(wrap).with_vlans(vlans);
            let mut metric = Overhead::default();
            let (mut expected, mut payload) = ([0u64; 5], 0);
            for (n, (opcode, len, _)) in PACKETS.into_iter().enumerate() {
                let roce =
                    Roce { wrap, vlans: envelope.vlans, opcode, payload: len as usize, ..Roce::default() };
                let frame = roce.frame();
                shown(n as i64, roce.link(), &frame, Some(0)).to(&mut metric);
                payload += len as u64;
                for (sum, other) in expected.iter_mut().zip(Encapsulation::ALL) {
                    let other = Envelope::new(other).with_vlans(envelope.vlans);
                    *sum += other.l1_bytes(Contents::new(opcode, len).len()) as u64;
                }
            }
            let section = metric.section();
            assert_eq!(section.encapsulations.keys().collect::<Vec<_>>(), [&wrap.into()]);
            for cost in [&section.total, &section.encapsulations[&wrap.into()]] {
                assert_eq!((cost.packets, cost.payload_bytes), (PACKETS.len() as u64, payload));
                let prices = [
                    cost.as_rocev2_ipv4,
                    cost.as_rocev2_ipv6,
                    cost.as_rocev1,
                    cost.as_native_ib,
                    cost.as_native_ib_grh,
                ];
                assert_eq!(prices.map(|price| price.unwrap().wire_bytes), expected, "{envelope:?}");
                assert_eq!(cost.wire_bytes, expected[wrap as usize], "{envelope:?}");
                assert_eq!(
                    cost.header_bytes.total() + payload,
                    cost.wire_bytes,
                    "{envelope:?}: {:?}",
                    cost.header_bytes
                );
                assert_eq!(cost.efficiency_ratio, Some(payload as f64 / cost.wire_bytes as f64));
            }
        }
    }
}

#[test]
fn control_is_acks_cnps_and_pause() {
    let mut metric = Overhead::default();
    let send = Roce { payload: 1024, ..Roce::default() }.frame();
    let ack = Roce { opcode: Opcode::RC_ACKNOWLEDGE, ..Roce::default() }.frame();
    let cnp = Roce { opcode: Opcode::CNP, ..Roce::default() }.frame();
    let pause = [&[0u8; 12][..], &[0x88, 0x08, 0, 1, 0xff, 0xff], &[0; 42]].concat();
    for frame in [&send, &ack, &cnp, &pause] {
        shown(0, Link::ETHERNET, frame, None).to(&mut metric);
    }
    let mut again = shown(0, Link::ETHERNET, &send, None);
    again.class = Some(Class::CaptureDuplicate);
    again.to(&mut metric);
    let section = metric.section();
    assert_eq!(section.total.packets, 3);
    assert_eq!(section.total.control_ratio, Some((86 + 98 + 84) as f64 / (1106 + 86 + 98 + 84) as f64));
    assert_eq!(
        section.encapsulations[&rdmawire::report::Encapsulation::RoceV2Ipv4].control_ratio,
        Some((86 + 98) as f64 / (1106 + 86 + 98) as f64)
    );
}

#[test]
fn a_message_is_the_packets_it_takes() {
    use Operation::{CompareSwap, Flush, ReadRequest, Send, Write};
    let request = |service, operation, ending, size| Segments::new(service, operation, ending, size, 4096);
    let of = |service, operation, size| request(service, operation, Ending::Plain, size);
    let packets = |message: Segments, ack_every| -> Vec<_> {
        Packets::of(&message, ack_every)
            .iter()
            .map(|p| (p.opcode, p.payload, p.count, p.is_forward))
            .collect()
    };
    let write = of(Service::Rc, Write, 1 << 20).unwrap();
    assert_eq!(
        packets(write, None),
        [
            (Opcode::RC_WRITE_FIRST, 4096, 1, true),
            (Opcode::RC_WRITE_MIDDLE, 4096, 254, true),
            (Opcode::RC_WRITE_LAST, 4096, 1, true),
            (Opcode::RC_ACKNOWLEDGE, 0, 1, false),
        ]
    );
    assert_eq!(packets(write, Some(100))[3].2, 3);
    // Payload over payload, fixed bytes of each packet and one RETH.
    let l1: u64 = Packets::of(&write, None)[..3]
        .iter()
        .map(|p| {
            p.count * Envelope::new(RoceV2Ipv4).l1_bytes(Contents::new(p.opcode, p.payload).len()) as u64
        })
        .sum();
    assert_eq!(l1, 256 * 82 + 16 + (1 << 20));
    assert_eq!(
        packets(of(Service::Rc, ReadRequest, 4097).unwrap(), None),
        [
            (Opcode::RC_READ_REQUEST, 0, 1, false),
            (Opcode::RC_READ_RESPONSE_FIRST, 4096, 1, true),
            (Opcode::RC_READ_RESPONSE_LAST, 1, 1, true),
        ]
    );
    let immediate = request(Service::Rc, Write, Ending::Immediate, 0).unwrap();
    assert_eq!(packets(immediate, None)[0], (Opcode::RC_WRITE_ONLY_WITH_IMMEDIATE, 0, 1, true));
    let invalidate = request(Service::Xrc, Send, Ending::Invalidate, 5000).unwrap();
    assert_eq!(
        packets(invalidate, None),
        [
            (Opcode::XRC_SEND_FIRST, 4096, 1, true),
            (Opcode::XRC_SEND_LAST_WITH_INVALIDATE, 904, 1, true),
            (Opcode::XRC_ACKNOWLEDGE, 0, 1, false),
        ]
    );
    assert_eq!(
        packets(of(Service::Rc, CompareSwap, 77).unwrap(), None),
        [(Opcode::RC_COMPARE_SWAP, 0, 1, true), (Opcode::RC_ATOMIC_ACKNOWLEDGE, 0, 1, false)]
    );
    assert_eq!(
        packets(of(Service::Rc, Flush, 77).unwrap(), None)[1],
        (Opcode::RC_READ_RESPONSE_ONLY, 0, 1, false)
    );
    let datagram = of(Service::Ud, Send, 4096).unwrap();
    assert_eq!(packets(datagram, None), [(Opcode::UD_SEND_ONLY, 4096, 1, true)]);
    assert_eq!(of(Service::Ud, Send, 4097), Err(Unsupported::Datagram(4097, 4096)));
    assert_eq!(of(Service::Uc, ReadRequest, 1), Err(Unsupported::Service(Service::Uc)));
    assert_eq!(request(Service::Rc, Write, Ending::Invalidate, 1), Err(Unsupported::Service(Service::Rc)));
    assert_eq!(of(Service::Rc, Write, u64::MAX), Err(Unsupported::Length(u64::MAX)));
}

#[cfg(feature = "cli")]
fn command(args: &[&str]) -> (bool, String, String) {
    let (code, printed, errors) =
        crate::support::programs::ended(crate::support::programs::cli().arg("overhead").args(args));
    (code == Some(0), printed, errors)
}

#[cfg(feature = "cli")]
#[test]
fn the_command_prints_the_arithmetic() {
    let (ok, json, _) =
        command(&["--op", "write", "--size", "1MiB", "--mtu", "4096", "--json", "--speed", "100G"]);
    assert!(ok);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["schema"], "rdmawire.overhead/1");
    let l1: Vec<_> = report["encapsulations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["forward"]["wire_bytes"].as_u64().unwrap())
        .collect();
    let expected = [82, 102, 94, 26, 66].map(|fixed| 256 * fixed + 16 + (1 << 20));
    assert_eq!(l1, expected);
    let v4 = &report["encapsulations"][0];
    assert_eq!(v4["reverse"]["wire_bytes"], 86);
    assert_eq!(v4["forward"]["header_bytes"]["bth"], 256 * 12);
    let efficiency = v4["efficiency_ratio"].as_f64().unwrap();
    assert!((efficiency - (1 << 20) as f64 / expected[0] as f64).abs() < 1e-12, "{efficiency}");
    // 100 Gbit/s of packets of 4178 bytes are 2.992 million a second, of 1106 bytes 11.30 million.
    for (mtu, rate) in [("4096", 2.992), ("1024", 11.30)] {
        let (_, json, _) =
            command(&["--op", "send", "--size", "1GiB", "--mtu", mtu, "--json", "--speed", "100G"]);
        let report: serde_json::Value = serde_json::from_str(&json).unwrap();
        let found = report["encapsulations"][0]["at_speed"]["packets_per_second"].as_f64().unwrap() / 1e6;
        assert!((found - rate).abs() < 0.005, "{found}");
    }
    let (ok, text, _) = command(&["--encap", "ib", "--size", "4096"]);
    assert!(ok && text.contains("98.99 %"), "{text}");
}

#[cfg(feature = "cli")]
#[test]
fn what_cannot_be_is_one_line() {
    let (ok, _, error) = command(&["--service", "ud", "--op", "send", "--size", "1MiB"]);
    assert!(!ok);
    assert_eq!(error, "rdmawire: a datagram is one packet of at most 4096 bytes, not 1048576\n");
}
