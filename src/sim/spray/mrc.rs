//! Packets of MRC, the Multipath Reliable Connection.

use super::{
    Spray,
    play::{Answer, Arrived, Context, Request, Skip, nack_code},
};
use crate::{craft::Packet, opcode::Opcode, wire::*};

/// Of the receive window.
const PACKETS_OF_WINDOW: u32 = 128;
/// Of CC_STATE.rcvd_bytes.
const BYTES_OF_COUNTER: u64 = 256;
/// Of time stamps.
const NS_OF_STAMP: u64 = 128;
const R_KEY: u32 = 0x4d52_4301;
const BASE: u64 = 0x7f00_0000_0000;

/// The beginning of a packet; `back`: from the receiver.
fn begin(of: &Spray, context: &Context, back: bool, path: u16, bth: MrcBth) -> Packet {
    let [src, dst] = context.ends;
    let ((src, dst), qp) = match back {
        false => ((src, dst), context.row.dpdcid),
        true => ((dst, src), context.row.spdcid),
    };
    let bth = bth.with_p_key(PKey(0xffff)).with_dest_qp(Qpn(qp.into()));
    let mut packet = Packet::rocev2(src, dst).push(bth);
    of.entropy().put(path.into(), &mut packet);
    match of.segments(path, dst) {
        Some(segments) => packet.within_ipv6(segments),
        None => packet,
    }
}

fn bth(opcode: Opcode) -> MrcBth {
    MrcBth::default().with_opcode(MrcOpcode(opcode.code))
}

fn psn(context: &Context, at: u64) -> Psn {
    Psn(context.psn(at) & (Psn::SPACE - 1))
}

/// The structured entropy value of a path: flow label, then source port.
fn entropy(of: &Spray, path: u16) -> Hex32 {
    let (port, label) = of.entropy().path(path.into());
    Hex32(label << 16 | u32::from(port))
}

fn stamp(ns: u64) -> u16 {
    (ns / NS_OF_STAMP) as u16
}

pub(super) fn request(of: &Spray, context: &Context, request: &Request) -> Packet {
    let &Request { at, path, sent, is_again, .. } = request;
    let each = of.packets_of_message();
    let (message, of_message) = (at / each, at % each);
    let opcode = match (of_message == 0, of_message + 1 == each) {
        (true, true) => Opcode::MRC_WRITE_ONLY,
        (true, false) => Opcode::MRC_WRITE_FIRST,
        (false, true) => Opcode::MRC_WRITE_LAST,
        (false, false) => Opcode::MRC_WRITE_MIDDLE,
    };
    let bth =
        bth(opcode).with_ack_req(true).with_rtx(is_again).with_ts(of.timestamps).with_psn(psn(context, at));
    let packet = begin(of, context, false, path, bth).push(Meth::default().with_msn(message as u16));
    let packet = match of.timestamps {
        true => packet.push(Tseth::default().with_tx_timestamp(stamp(sent)).with_ftype(1)),
        false => packet,
    };
    let va = BASE + message * of.size.0 + of_message * u64::from(of.mtu);
    let reth =
        Reth::default().with_va(VirtualAddress(va)).with_r_key(RKey(R_KEY)).with_dma_len(of.size.0 as u32);
    packet.push(reth).payload(vec![at as u8; of.payload_of(at)])
}

pub(super) fn answer(of: &Spray, context: &Context, answer: &Answer) -> Packet {
    let back = |opcode| begin(of, context, true, 0, bth(opcode));
    match *answer {
        Answer::Ack { of: request, arrived, skip } => {
            let offset = context.psn(request.at).wrapping_sub(context.psn(arrived.next).wrapping_sub(1));
            let mark = match skip {
                Skip::No => 0,
                Skip::Once => 1,
                Skip::Always => 2,
            };
            let seth = seth(of, context, arrived)
                .with_ack_psn_offset(Hex16(offset as u16))
                .with_m(PathMark(mark))
                .with_entropy(entropy(of, request.path));
            let echo = if of.timestamps { stamp(request.sent) } else { 0 };
            back(Opcode::MRC_SACK).push(seth).push(state(arrived).with_tx_timestamp(echo))
        }
        Answer::State { probe, arrived } => {
            let seth = seth(of, context, arrived).with_pr(true).with_ack_psn_offset(Hex16(probe));
            back(Opcode::MRC_SACK).push(seth).push(state(arrived))
        }
        Answer::Nack { of: request, why, .. } => back(Opcode::MRC_NACK).push(
            Neth::default()
                .with_reason(NackReason(nack_code(of, why)))
                .with_entropy(entropy(of, request.path))
                .with_spdcid(Hex16(context.row.dpdcid))
                .with_dpdcid(Hex16(context.row.spdcid))
                .with_nack_psn(psn(context, request.at))
                .with_cc_type(2)
                .with_tx_timestamp(if of.timestamps { stamp(request.sent) } else { 0 }),
        ),
        Answer::Completed(messages) => {
            let last = psn(context, messages * of.packets_of_message() - 1);
            let aeth = Aeth::default().with_syndrome(Syndrome::ACK).with_msn(messages as u32 & 0xff_ffff);
            begin(of, context, true, 0, bth(Opcode::MRC_ACKNOWLEDGE).with_psn(last)).push(aeth)
        }
        // That of Ultra Ethernet.
        Answer::Closed => back(Opcode::MRC_ACKNOWLEDGE),
    }
}

fn seth(of: &Spray, context: &Context, Arrived { next, bitmap, .. }: Arrived) -> Seth {
    Seth::default()
        .with_spdcid(Hex16(context.row.dpdcid))
        .with_dpdcid(Hex16(context.row.spdcid))
        .with_cack_psn(Psn(context.psn(next).wrapping_sub(1) & (Psn::SPACE - 1)))
        .with_mpr(of.window.div_ceil(PACKETS_OF_WINDOW) as u8)
        .with_sack_offset(Hex16(1))
        .with_sack_bitmap(Hex64(bitmap))
}

fn state(arrived: Arrived) -> CcState {
    CcState::default()
        .with_ooo_count(arrived.bitmap.count_ones() as u16)
        .with_rcvd_bytes((arrived.bytes / BYTES_OF_COUNTER) as u32 & 0xff_ffff)
}

pub(super) fn probe(of: &Spray, context: &Context, number: u16) -> Packet {
    let peth = Peth::default()
        .with_probe_id(Hex16(number))
        .with_spdcid(Hex16(context.row.spdcid))
        .with_dpdcid(Hex16(context.row.dpdcid));
    begin(of, context, false, 0, bth(Opcode::MRC_PROBE_REQUEST)).push(peth)
}
