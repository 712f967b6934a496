//! Traffic that no captured host sent: both ways at once, and of every operation code.

use std::{collections::VecDeque, net::Ipv4Addr};

use rdmawire::{
    craft,
    dissect::Link,
    opcode::{Opcode, PayloadRule, Service},
    wire::*,
};

use super::trace::Frame;
use crate::properties::Random;

const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
const MTU: usize = 256;

/// Two queue pairs that read from each other and write to each other, all at once.
pub(crate) fn both_ways(packets: usize, service: Service, random: &mut Random) -> Vec<Frame> {
    #[derive(Default)]
    struct Side {
        next: u32,
        /// Packets of the WRITE at hand that are not sent.
        writing: u32,
        /// Of the READ of the other side that it answers, and those after it: PSN, packets, and how many were sent.
        answers: VecDeque<(u32, u32, u32)>,
        written: Option<u32>,
        /// Where the other side is asked to go back to.
        lacking: Option<u32>,
    }
    let mut sides = [Side { next: 0xff_ff80, ..Side::default() }, Side { next: 77, ..Side::default() }];
    // Short READs and long ones, few and many, with all kinds of pauses between packets.
    let (most, reads) = ([3, 40, 400][random.below(3)], 1 + random.below(6));
    let pauses = [[700, 900, 2_000], [700, 900, 200_000], [5, 10, 40_000]][random.below(3)];
    let goes_back = [0, 50, 1_000][random.below(3)];
    let (ids_count_up, mut ids) = (random.below(2) > 0, [0u16; 2]);
    let (mut frames, mut time) = (Vec::new(), 0);
    while frames.len() < packets {
        let from = random.below(2);
        let [one, other] = &mut sides;
        let (own, peer) = if from == 0 { (one, other) } else { (other, one) };
        ids[from] = ids[from].wrapping_add(ids_count_up as u16);
        let ip = craft::Packet::rocev2(HOSTS[from], HOSTS[1 - from]);
        let ip = ip.edit(|ip: Ipv4| ip.with_id(Hex16(ids[from])));
        let to = Qpn(if from == 0 { 0x22 } else { 0x11 });
        // Up to the header that the operation has of any service.
        let bth = |opcode: Opcode, psn: u32| {
            let opcode = Opcode::ib((service as u8) << 5 | opcode.code);
            let bth = Bth::default().with_opcode(opcode).with_dest_qp(to).with_psn(Psn(psn % Psn::SPACE));
            let of_service = [Kind::Rdeth, Kind::Deth, Kind::Xrceth];
            let others = opcode.chain().iter().filter(|kind| of_service.contains(kind));
            others.fold(ip.clone().push(bth), |packet, &kind| packet.push_bytes(kind, vec![7; len_of(kind)]))
        };
        let data = || vec![0; MTU];
        if goes_back > 0 && random.below(goes_back) == 0 {
            own.next -= 1 + random.below(20) as u32;
            (own.writing, peer.lacking) = (0, Some(own.next));
        }
        let nak = Aeth::default().with_syndrome(Syndrome::PSN_SEQUENCE_ERROR);
        let packet = if let Some(psn) = own.lacking.take().filter(|_| random.below(2) > 0) {
            bth(Opcode::RC_ACKNOWLEDGE, psn).push(nak)
        } else if let (true, Some((psn, n, sent))) = (random.below(4) > 0, own.answers.front_mut()) {
            // Some count wrong.
            let n_said = if random.below(300) == 0 { *n + 1 } else { *n };
            let opcode = match (*sent, *sent + 1 == n_said) {
                (0, true) => Opcode::RC_READ_RESPONSE_ONLY,
                (0, false) => Opcode::RC_READ_RESPONSE_FIRST,
                (_, true) => Opcode::RC_READ_RESPONSE_LAST,
                _ => Opcode::RC_READ_RESPONSE_MIDDLE,
            };
            let header = bth(opcode, *psn + *sent);
            *sent += 1;
            if sent == n {
                own.answers.pop_front();
            }
            match opcode {
                Opcode::RC_READ_RESPONSE_MIDDLE => header.payload(data()),
                _ => header.push(Aeth::default()).payload(data()),
            }
        } else if let (true, Some(psn)) = (random.below(2) > 0, own.written) {
            own.written = None;
            bth(Opcode::RC_ACKNOWLEDGE, psn).push(Aeth::default())
        } else if own.writing > 0 {
            own.writing -= 1;
            let psn = own.next;
            own.next += 1;
            if own.writing == 0 {
                peer.written = Some(psn);
            }
            let opcode = if own.writing > 0 { Opcode::RC_WRITE_MIDDLE } else { Opcode::RC_WRITE_LAST };
            bth(opcode, psn).payload(data())
        } else if random.below(reads) > 1 {
            own.writing = 1 + random.below(40) as u32;
            own.next += 1;
            let reth = Reth::default().with_dma_len((own.writing + 1) * MTU as u32);
            bth(Opcode::RC_WRITE_FIRST, own.next - 1).push(reth).payload(data())
        } else {
            let (psn, n) = (own.next, 1 + random.below(most) as u32);
            own.next += n;
            peer.answers.push_back((psn, n, 0));
            let reth = Reth::default().with_dma_len(n * MTU as u32);
            bth(Opcode::RC_READ_REQUEST, psn).push(reth)
        };
        time += pauses[random.below(3)];
        let bytes = packet.build().to_vec();
        frames.push(Frame { time, link: Link::ETHERNET, wire_len: bytes.len() as u32, bytes });
    }
    frames
}

/// Packets of every operation code, and of some that nobody assigned: some with less payload than they have to have, or more.
/// Of datagrams, some are of management, and not always between the queue pairs for that.
pub(crate) fn of_every_operation(packets: usize, random: &mut Random) -> Vec<Frame> {
    let mut psns = [[0xff_fff0, 5, 900], [77, 0, 1_000_000]];
    let (mut frames, mut time) = (Vec::new(), 0);
    let all: Vec<Opcode> = Opcode::of_transport(Transport::Ib).collect();
    while frames.len() < packets {
        let (from, qp) = (random.below(2), random.below(3));
        let opcode = match random.below(40) {
            0 => Opcode::ib(random.below(256) as u8),
            _ => all[random.below(all.len())],
        };
        let psn = &mut psns[from][qp];
        *psn += [0, 1, 1, 1, 1, 1, 1, 4][random.below(8)];
        let to = if random.below(30) == 0 { random.below(3) as u32 } else { 0x11 + qp as u32 };
        let bth = Bth::default().with_opcode(opcode).with_dest_qp(Qpn(to)).with_psn(Psn(*psn % Psn::SPACE));
        let ip = craft::Packet::rocev2(HOSTS[from], HOSTS[1 - from]);
        let mut packet = ip.push(bth.with_ack_req(random.below(2) == 0));
        for &kind in opcode.chain() {
            packet = match kind {
                Kind::Reth => packet.push(Reth::default().with_dma_len(random.below(20 * MTU) as u32)),
                Kind::Aeth => packet.push(Aeth::default().with_syndrome(Syndrome(random.below(128) as u8))),
                Kind::Deth => packet.push(Deth::default().with_src_qp(Qpn(random.below(9) as u32))),
                _ => packet.push_bytes(kind, vec![random.below(256) as u8; len_of(kind)]),
            };
        }
        let payload = match opcode.payload_rule() {
            _ if random.below(100) == 0 => random.below(3 * MTU),
            PayloadRule::Full => MTU,
            PayloadRule::Some => 1 + random.below(MTU),
            PayloadRule::Any => [0, MTU, random.below(MTU)][random.below(3)],
            PayloadRule::None => 0,
            PayloadRule::Eight => 8,
        };
        // As a management datagram begins, of this version, or of the one that is not of 256 bytes.
        let mut payload = vec![0; payload];
        if let Some(first) = payload.first_mut() {
            *first = [1, 1, 0x80, 0][random.below(4)];
        }
        if let Some([class, .., attribute]) = payload.get_mut(1..18) {
            (*class, *attribute) = (MgmtClass::CM.0, 0x10 + random.below(13) as u8);
        }
        time += [700, 900, 40_000][random.below(3)];
        let bytes = packet.payload(payload).build().to_vec();
        frames.push(Frame { time, link: Link::ETHERNET, wire_len: bytes.len() as u32, bytes });
    }
    frames
}

fn len_of(kind: Kind) -> usize {
    kind.info().expect("extended headers have fields").len
}
