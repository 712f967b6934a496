//! Messages of LNet and SMC-R, which no capture here has: crafted ones. tshark 4.0 reads those of SMC-R field by field as they are read here.

use rdmawire::{
    capture::{Record, Time},
    commands::{Commands, Report},
    craft::Packet,
    dissect::{Link, dissect},
    filter::{Filter, FrameMeta},
    frame::Info,
    icrc,
    upper::{Application, Message, Protocol},
    wire::*,
};

const CLIENT: ([u8; 4], u32) = ([10, 0, 0, 1], 0x11);
const SERVER: ([u8; 4], u32) = ([10, 0, 0, 2], 0x22);

/// A packet of a connection between the two, from the first one or back.
fn packet(from_client: bool, opcode: Opcode, psn: u32) -> Packet {
    let ((from, _), (to, qp)) = if from_client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    Packet::rocev2(from, to).push(Bth::default().with_opcode(opcode).with_dest_qp(Qpn(qp)).with_psn(Psn(psn)))
}

fn send(from_client: bool, psn: u32, message: &[u8]) -> Packet {
    packet(from_client, Opcode::RC_SEND_ONLY, psn).payload(message.to_vec())
}

/// What a follower of commands makes of these packets, a microsecond from one to the next.
fn followed(packets: &[Packet]) -> Report {
    let mut commands = Commands::keeping(100);
    for (n, packet) in packets.iter().enumerate() {
        let frame = packet.build();
        let wire_len = frame.len() as u32;
        let time = Time(n as i64 * 1000);
        let record = Record { time, link: Link::ETHERNET, frame: &frame, wire_len, interface: 0 };
        commands.push(n as u64 + 1, &record, &dissect(record.link, &frame, wire_len));
    }
    commands.finish()
}

fn llc(code: u8, is_response: bool, body: &[u8]) -> Vec<u8> {
    let header =
        SmcLlc::default().with_message_type(SmcType(code)).with_length(44).with_response(is_response);
    [header.bytes(), body].concat()
}

fn confirm_link(is_response: bool) -> Vec<u8> {
    let body = SmcConfirmLink::default()
        .with_sender_mac(Mac([2, 0, 0, 0, 0, 1]))
        .with_sender_qp(Qpn(0x22))
        .with_link(1)
        .with_max_links(2);
    llc(1, is_response, body.bytes())
}

fn test_link(is_response: bool) -> Vec<u8> {
    llc(7, is_response, SmcTestLink::default().with_user_data([7; 16]).bytes())
}

fn cursors() -> Vec<u8> {
    let cdc = SmcCdc::default().with_message_type(SmcType::CDC).with_length(44).with_sequence(5);
    cdc.with_producer(4096).with_consumer(2048).with_closed(true).bytes().to_vec()
}

fn lnet(code: LnetType, rest: &[&[u8]]) -> Vec<u8> {
    let rest = rest.concat();
    let header = Lnet::default()
        .with_magic(Le(Hex32(0x0be9_1b91)))
        .with_version(Le(Hex16(0x12)))
        .with_message_type(code)
        .with_length(Le((Lnet::LEN + rest.len()) as u32))
        .with_src_nid(Le(LnetNid(0x0005_0000_0a00_0001)));
    [header.bytes(), &rest].concat()
}

fn portals(kind: u32, bytes: u32) -> LnetHeader {
    LnetHeader::default().with_portals_type(Le(PortalsType(kind))).with_payload_length(Le(bytes))
}

/// Two pieces of memory with key 7: 1,024 bytes in the first, 512 in the second.
fn memory() -> Vec<u8> {
    let piece = |va, bytes| LnetFragment::default().with_va(Le(VirtualAddress(va))).with_length(Le(bytes));
    let head = LnetMemory::default().with_r_key(Le(RKey(7))).with_fragments(Le(2));
    [head.bytes(), piece(0x1000, 1024).bytes(), piece(0x8000, 512).bytes()].concat()
}

fn completion(cookie: u64, status: i32) -> Vec<u8> {
    let of = LnetCompletion::default().with_cookie(Le(Hex64(cookie))).with_status(Le(Hex32(status as u32)));
    of.bytes().to_vec()
}

fn cookie(number: u64) -> LnetCookie {
    LnetCookie::default().with_cookie(Le(Hex64(number)))
}

fn get_req(number: u64) -> Vec<u8> {
    lnet(LnetType::GET_REQ, &[portals(2, 0).bytes(), cookie(number).bytes(), &memory()])
}

fn put_req(number: u64) -> Vec<u8> {
    lnet(LnetType::PUT_REQ, &[portals(1, 1536).bytes(), cookie(number).bytes()])
}

fn put_ack(src: u64, dst: u64) -> Vec<u8> {
    let both = LnetPutAck::default().with_src_cookie(Le(Hex64(src))).with_dst_cookie(Le(Hex64(dst)));
    lnet(LnetType::PUT_ACK, &[both.bytes(), &memory()])
}

#[test]
fn messages_are_read_and_built_again() {
    let mut delete = SmcDeleteRkey::default().with_count(2).bytes().to_vec();
    delete[4..12].fill(9);
    let key = SmcConfirmRkey::default().with_r_key(RKey(0x1234)).with_va(VirtualAddress(0x7f00_0000_0000));
    let link = SmcAddLink::default().with_sender_qp(Qpn(3)).with_initial_psn(Psn(77)).with_link(2);
    let parameters = LnetParameters::default().with_queue_depth(Le(8)).with_max_fragments(Le(256));
    let put = portals(1, 64);
    for (message, kinds, says) in [
        (confirm_link(false), &[Kind::SmcLlc, Kind::SmcConfirmLink][..], "SMC-R CONFIRM LINK"),
        (test_link(true), &[Kind::SmcLlc, Kind::SmcTestLink], "SMC-R TEST LINK response"),
        (llc(2, false, link.bytes()), &[Kind::SmcLlc, Kind::SmcAddLink], "SMC-R ADD LINK"),
        (llc(6, false, key.bytes()), &[Kind::SmcLlc, Kind::SmcConfirmRkey], "SMC-R CONFIRM RKEY"),
        (llc(9, false, &delete), &[Kind::SmcLlc, Kind::SmcDeleteRkey], "SMC-R DELETE RKEY"),
        (
            llc(4, false, SmcDeleteLink::default().with_link(1).bytes()),
            &[Kind::SmcLlc, Kind::SmcDeleteLink],
            "SMC-R DELETE LINK",
        ),
        (cursors(), &[Kind::SmcCdc], "SMC-R CDC ID=0x5"),
        (lnet(LnetType::CONNREQ, &[parameters.bytes()]), &[Kind::Lnet, Kind::LnetParameters], "LNet CONNREQ"),
        (
            lnet(LnetType::IMMEDIATE, &[put.bytes(), &[1; 64]]),
            &[Kind::Lnet, Kind::LnetHeader],
            "LNet IMMEDIATE PUT",
        ),
        (put_req(5), &[Kind::Lnet, Kind::LnetHeader, Kind::LnetCookie], "LNet PUT_REQ PUT ID=0x5"),
        (
            put_ack(5, 6),
            &[Kind::Lnet, Kind::LnetPutAck, Kind::LnetMemory, Kind::LnetFragment, Kind::LnetFragment],
            "LNet PUT_ACK ID=0x5",
        ),
        (
            get_req(8),
            &[
                Kind::Lnet,
                Kind::LnetHeader,
                Kind::LnetCookie,
                Kind::LnetMemory,
                Kind::LnetFragment,
                Kind::LnetFragment,
            ],
            "LNet GET_REQ GET ID=0x8",
        ),
        (
            lnet(LnetType::GET_DONE, &[&completion(8, 1536)]),
            &[Kind::Lnet, Kind::LnetCompletion],
            "LNet GET_DONE ID=0x8",
        ),
        (lnet(LnetType(0xd0), &[]), &[Kind::Lnet], "LNet NOOP"),
    ] {
        let built = send(true, 7, &message).build();
        let d = dissect(Link::ETHERNET, &built, built.len() as u32);
        let found: Vec<Kind> =
            d.layers().iter().map(|layer| layer.kind).filter(|kind| kind.is_of_message()).collect();
        assert_eq!(found, kinds, "{says}");
        assert_eq!((d.payload(), icrc::verify(&d)), (&message[..], icrc::State::Good), "{says}");
        let line = Info::new(&d, icrc::verify(&d)).to_string();
        assert!(line.ends_with(says), "{line}: {says}");
        assert_eq!(Packet::from(&d).build(), built, "{says}");
    }
    let built = send(true, 7, &get_req(8)).build();
    let d = dissect(Link::ETHERNET, &built, built.len() as u32);
    let filter: Filter = "lnet_transfer.cookie == 8 && lnet_fragment.va == 0x8000".parse().unwrap();
    assert!(filter.matches(&d, &FrameMeta { number: 1, time_ns: 0, icrc: None }));
}

/// Other bytes, and messages of other lengths, are not taken for them.
#[test]
fn what_does_not_fit_is_none_of_them() {
    let of = |bytes: &[u8]| Protocol::of(Message { bytes, len: Some(bytes.len()) });
    for message in [confirm_link(false), test_link(false), cursors()] {
        assert_eq!(of(&message), Some(Protocol::SmcR));
        assert_eq!(of(&[&message[..], &[0]].concat()), None);
        for len in 0..message.len() {
            assert_eq!(of(&message[..len]), None, "{len}");
        }
        // Type, length, and a byte that is reserved.
        for at in [0, 1, 43] {
            let mut other = message.clone();
            other[at] ^= 0x51;
            assert_eq!(of(&other), None, "{at}");
        }
    }
    let request = get_req(8);
    assert_eq!(of(&request), Some(Protocol::Lnet));
    for len in 0..request.len() {
        assert_eq!(of(&request[..len]), None, "{len}");
    }
    for at in 0..7 {
        let mut other = request.clone();
        other[at] ^= 0x51;
        assert_eq!(of(&other), None, "{at}");
    }
}

/// Version 2 of SMC-R says its length in two bytes, in the sender's order.
#[test]
fn smc_version_2_is_read_in_both_orders() {
    let message = |code: u8, length: [u8; 2], flags: u8, body: &[u8]| {
        [&[code, length[0], length[1], flags], body].concat()
    };
    let of = |bytes: &[u8]| Protocol::of(Message { bytes, len: Some(bytes.len()) });
    let test = SmcTestLink::default().with_user_data([7; 16]);
    for order in [[44, 0], [0, 44]] {
        let request = message(0x27, order, 0, test.bytes());
        assert_eq!(of(&request), Some(Protocol::SmcR));
        assert_eq!(SmcLlc2::view(&request).unwrap().0.length().bytes(), 44);
        assert_eq!(of(&[&request[..], &[0]].concat()), None);
        for (at, bit) in [(0, 0x40), (1, 1), (2, 1), (43, 1)] {
            let mut other = request.clone();
            other[at] ^= bit;
            assert_eq!(of(&other), None, "{at}");
        }
        let built = send(true, 7, &request).build();
        let d = dissect(Link::ETHERNET, &built, built.len() as u32);
        assert!(Info::new(&d, icrc::verify(&d)).to_string().ends_with("SMC-R TEST LINK (v2)"));
        assert_eq!(Packet::from(&d).build(), built);
        let link = SmcConfirmLink::default().with_max_links(2).with_sender_qp(Qpn(0x22));
        let key = SmcConfirmRkey::default().with_r_key(RKey(9));
        let report = followed(&[
            send(true, 1, &message(0x21, order, 0, link.bytes())),
            send(false, 1, &message(0x21, order, 0x80, link.bytes())),
            send(true, 2, &request),
            send(false, 2, &message(0x27, order, 0x80, test.bytes())),
            send(true, 3, &message(0x26, order, 0, key.bytes())),
            send(false, 3, &message(0x26, order, 0xa0, key.bytes())),
        ]);
        let rows: Vec<_> = report.commands.iter().map(|row| (&*row.operation, &*row.meaning)).collect();
        assert_eq!(
            rows,
            [("CONFIRM LINK (v2)", ""), ("TEST LINK (v2)", ""), ("CONFIRM RKEY (v2)", "refused")]
        );
    }
}

/// Senders whose most significant byte comes first are known, too.
#[test]
fn lnet_is_known_in_both_orders() {
    let of = |bytes: &[u8]| Protocol::of(Message { bytes, len: Some(bytes.len()) });
    let big = LnetBig::default()
        .with_magic(Hex32(0x0be9_1b91))
        .with_version(Hex16(0x12))
        .with_message_type(LnetType::IMMEDIATE)
        .with_length(LnetBig::LEN as u32 + 8)
        .with_src_nid(LnetNid(0x0005_0000_0a00_0001));
    let message = [big.bytes(), &[0; 8]].concat();
    assert_eq!(of(&message), Some(Protocol::Lnet));
    assert_eq!(of(&message[..50]), None);
    let built = send(true, 7, &message).build();
    let d = dissect(Link::ETHERNET, &built, built.len() as u32);
    assert_eq!(d.get::<LnetBig>().map(|lnet| lnet.src_nid()), Some(LnetNid(0x0005_0000_0a00_0001)));
    assert!(
        d.get::<Lnet>().is_none() && Info::new(&d, icrc::verify(&d)).to_string().ends_with("LNet IMMEDIATE")
    );
    // Each half of the header in another order.
    let mut mixed = message.clone();
    mixed[..4].reverse();
    assert_eq!(of(&mixed), None);
    let private = Application::of_private_data;
    assert_eq!(private(&message), Some(Application::LNet));
    assert_eq!(private(&[0x0b, 0xe9, 0x1b, 0x91, 0, 0x12, 5, 0, 1, 2]), Some(Application::LNet));
    assert_eq!(private(&[0x0b, 0xe9, 0x1b, 0x91, 0x12, 0, 5, 0, 1, 2]), None);
}

/// A GET with its data, a PUT with its data, one that is refused, and one that fails.
#[test]
fn transfers_of_lnet_are_commands() {
    for orders in [[false, false], [true, true], [false, true], [true, false]] {
        transfers_are_commands(orders);
    }
}

/// Of a client and a server: whether their most significant byte comes first.
fn transfers_are_commands([client, server]: [bool; 2]) {
    let send = |from_client, psn, message: &[u8]| {
        let is_big = if from_client { client } else { server };
        send(from_client, psn, &if is_big { swapped(message) } else { message.to_vec() })
    };
    let write = |from_client, psn, va, bytes: u32| {
        let reth = Reth::default().with_va(VirtualAddress(va)).with_r_key(RKey(7)).with_dma_len(bytes);
        packet(from_client, Opcode::RC_WRITE_ONLY, psn).push(reth).payload(vec![1; bytes as usize])
    };
    let report = followed(&[
        // The answer shows the client's queue pair.
        send(true, 0, &put_req(10)),
        send(false, 0, &lnet(LnetType::PUT_NAK, &[&completion(10, -2)])),
        send(true, 1, &get_req(8)),
        write(false, 1, 0x1000, 1024),
        write(false, 2, 0x8000, 512),
        send(false, 3, &lnet(LnetType::GET_DONE, &[&completion(8, 1536)])),
        send(true, 2, &put_req(9)),
        send(false, 4, &put_ack(9, 0x99)),
        write(true, 3, 0x1000, 1024),
        send(true, 4, &lnet(LnetType::PUT_DONE, &[&completion(0x99, 0)])),
        send(true, 6, &get_req(11)),
        send(false, 6, &lnet(LnetType::GET_DONE, &[&completion(11, -5)])),
        send(true, 7, &get_req(12)),
    ]);
    let rows: Vec<_> = report
        .commands
        .iter()
        .map(|row| (&*row.operation, row.size_bytes, row.data_bytes, row.time.latency_ns, &*row.meaning))
        .collect();
    assert_eq!(
        rows,
        [
            ("PUT", None, 0, 1000, "error -2"),
            ("GET", Some(1536), 1536, 3000, ""),
            ("PUT", Some(1536), 0, 1000, ""),
            ("PUT data", Some(1536), 1024, 2000, ""),
            ("GET", None, 0, 1000, "error -5"),
        ]
    );
    let connection = &report.connections[0];
    assert_eq!((&*connection.protocol, connection.unanswered, connection.stray_replies), ("LNet", 1, 0));
}

/// A message, as a sender writes it whose most significant byte comes first.
fn swapped(message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    let of = LnetType(message[6]);
    let mut numbers = vec![0..4, 4..6, 8..12, 12..16, 16..24, 24..32, 32..40, 40..48];
    let mut memory = |at: usize| {
        numbers.extend([at..at + 4, at + 4..at + 8]);
        numbers.extend((0..2).map(|n| at + 8 + 12 * n).flat_map(|at| [at..at + 4, at + 4..at + 12]));
    };
    match of {
        // Portals' header has one order everywhere, and a cookie goes back as it came.
        LnetType::GET_REQ => memory(Lnet::LEN + LnetHeader::LEN + LnetCookie::LEN),
        LnetType::PUT_ACK => memory(Lnet::LEN + LnetPutAck::LEN),
        LnetType::CONNREQ => numbers.extend([48..50, 50..52, 52..56]),
        LnetType::PUT_NAK | LnetType::PUT_DONE | LnetType::GET_DONE => numbers.push(56..60),
        _ => {}
    }
    numbers.into_iter().for_each(|range| message[range].reverse());
    message
}

/// What follows the header is in the order of the header.
#[test]
fn bodies_of_lnet_are_in_the_order_of_their_sender() {
    let parameters = LnetParameters::default().with_queue_depth(Le(8)).with_max_fragments(Le(256));
    for (message, kinds, filter) in [
        (
            lnet(LnetType::CONNREQ, &[parameters.bytes()]),
            &[Kind::LnetBig, Kind::LnetParametersBig][..],
            "lnet_parameters.queue_depth == 8 && lnet_parameters.max_fragments == 256",
        ),
        (
            get_req(8),
            &[
                Kind::LnetBig,
                Kind::LnetHeader,
                Kind::LnetCookie,
                Kind::LnetMemoryBig,
                Kind::LnetFragmentBig,
                Kind::LnetFragmentBig,
            ],
            "lnet_transfer.cookie == 8 && lnet_fragment.va == 0x8000 && lnet_memory.r_key == 7",
        ),
        (
            lnet(LnetType::GET_DONE, &[&completion(8, 1536)]),
            &[Kind::LnetBig, Kind::LnetCompletionBig],
            "lnet_transfer.status == 1536",
        ),
    ] {
        let message = swapped(&message);
        let parts = Protocol::Lnet.read(Message { bytes: &message, len: Some(message.len()) });
        assert!(parts.iter().map(|part| part.kind).eq(kinds.iter().copied()), "{parts:?}");
        let built = send(true, 7, &message).build();
        let d = dissect(Link::ETHERNET, &built, built.len() as u32);
        let meta = rdmawire::filter::FrameMeta { number: 1, time_ns: 0, icrc: None };
        let filter: Filter = filter.parse().unwrap();
        assert!(filter.matches(&d, &meta), "{kinds:?}");
    }
}

/// Both ends ask; cursors are not answered; a key that is refused is an error.
#[test]
fn what_ends_of_smc_links_ask_is_answered() {
    let key = |is_response, is_refused| {
        let mut message = llc(6, is_response, SmcConfirmRkey::default().with_r_key(RKey(9)).bytes());
        message[3] |= u8::from(is_refused) << 5;
        message
    };
    let report = followed(&[
        send(true, 1, &confirm_link(false)),
        send(false, 1, &confirm_link(true)),
        send(false, 2, &test_link(false)),
        send(true, 2, &cursors()),
        send(true, 3, &test_link(true)),
        send(true, 4, &key(false, false)),
        send(false, 3, &key(true, true)),
    ]);
    let rows: Vec<_> =
        report.commands.iter().map(|row| (&*row.operation, row.time.latency_ns, &*row.meaning)).collect();
    assert_eq!(
        rows,
        [("CONFIRM LINK", 1000, ""), ("TEST LINK", 2000, ""), ("CONFIRM RKEY", 1000, "refused")]
    );
    assert_eq!((&*report.connections[0].protocol, report.connections[0].stray_replies), ("SMC-R", 0));
}

/// What ofi_rxm said in a capture of `fi_pingpong`, and what o2iblnd says.
#[test]
fn private_data_of_libfabric_and_lnet() {
    let of = Application::of_private_data;
    let rxm = [0x18, 1, 2, 4, 3, 0xa1, 0xc4, 0, 0, 0, 0x40, 0, 0, 0, 0x40, 0, 0];
    assert_eq!(of(&rxm), Some(Application::Libfabric));
    for at in 0..5 {
        let mut other = rxm;
        other[at] ^= 0x10;
        assert_eq!(of(&other), None, "{at}");
    }
    let request = lnet(LnetType::CONNREQ, &[LnetParameters::default().bytes()]);
    assert_eq!(of(&request), Some(Application::LNet));
    // A refusal: magic number, version, why.
    assert_eq!(of(&[0x91, 0x1b, 0xe9, 0x0b, 0x12, 0, 5, 0, 1, 2]), Some(Application::LNet));
    assert_eq!(of(&[0x91, 0x1b, 0xe9, 0x0b, 0x13, 0, 5, 0, 1, 2]), None);
}
