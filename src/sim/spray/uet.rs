//! Packets of Ultra Ethernet.

use std::net::IpAddr;

use super::{
    FIRST_PORT, Mode, Spray,
    play::{Answer, Arrived, Context, Refusal, Request, nack_code},
};
use crate::{
    craft::{Packet, template},
    wire::*,
};

const WRONG_KEY: u8 = 0x1c;
/// Bytes of headers of a request, but those of the PDS: Ethernet, IPv4, UDP, SES.
const HEADERS: usize = Ethernet::LEN + Ipv4::LEN + Udp::LEN + SesStandard::LEN;

/// What a switch leaves of a payload.
pub(super) fn trimmed_payload(of: &Spray) -> usize {
    let pds = match of.mode {
        Mode::Rud | Mode::Rod => PdsRequest::LEN,
        Mode::Rudi => PdsRudi::LEN,
        Mode::Uud => PdsUud::LEN,
    };
    (of.trim_bytes as usize).saturating_sub(HEADERS + pds)
}

/// The beginning of a packet.
fn begin([src, dst]: [IpAddr; 2], port: u16) -> Packet {
    let packet = Packet::ethernet();
    let packet = match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => packet.push(template::ipv4(src, dst).with_ecn(Ecn::ECT0)),
        _ => packet,
    };
    packet.push(Udp::default().with_src_port(port).with_dst_port(UET_PORT))
}

pub(super) fn request(of: &Spray, context: &Context, request: &Request) -> Packet {
    let &Request { at, path, is_again, is_trimmed, .. } = request;
    let each = of.packets_of_message();
    let (message, of_message) = (at / each, at % each);
    let is_last = of_message + 1 == each;
    let payload = of.payload_of(at);
    let (psn, spdcid, dpdcid) = (context.psn(at), Hex16(context.row.spdcid), Hex16(context.row.dpdcid));
    let packet = begin(context.ends, FIRST_PORT + path);
    let kind = if of.mode == Mode::Rod { PdsType::ROD_REQUEST } else { PdsType::RUD_REQUEST };
    let packet = match (of.mode, at) {
        (Mode::Rudi, _) => packet.push(
            PdsRudi::default()
                .with_kind(PdsType::RUDI_REQUEST)
                .with_retransmit(is_again)
                .with_pkt_id(Hex32(context.number(at))),
        ),
        (Mode::Uud, _) => packet.push(PdsUud::default().with_kind(PdsType::UUD_REQUEST)),
        (_, 0) => packet.push(
            PdsRequestSyn::default()
                .with_kind(kind)
                .with_syn(true)
                .with_ack_req(true)
                .with_retransmit(is_again)
                .with_psn(psn)
                .with_spdcid(spdcid),
        ),
        _ => packet.push(
            PdsRequest::default()
                .with_kind(kind)
                .with_ack_req(true)
                .with_retransmit(is_again)
                .with_psn(psn)
                .with_spdcid(spdcid)
                .with_dpdcid(dpdcid),
        ),
    };
    let id = message as u16;
    let packet = match of_message {
        0 => packet.push(
            SesStandard::default()
                .with_opcode(SesOpcode(1))
                .with_som(true)
                .with_eom(is_last)
                .with_message_id(id)
                .with_request_length(of.size.0 as u32),
        ),
        _ => packet.push(
            SesStandardLater::default()
                .with_opcode(SesOpcode(1))
                .with_eom(is_last)
                .with_message_id(id)
                .with_payload_length(payload as u16)
                .with_message_offset((of_message * u64::from(of.mtu)) as u32),
        ),
    };
    match is_trimmed {
        true => packet.payload(vec![at as u8; trimmed_payload(of)]).icrc(None),
        false => packet.payload(vec![at as u8; payload]),
    }
}

pub(super) fn answer(of: &Spray, context: &mut Context, answer: &Answer) -> Packet {
    let [src, dst] = context.ends;
    let (spdcid, dpdcid) = (Hex16(context.row.dpdcid), Hex16(context.row.spdcid));
    let packet = begin([dst, src], FIRST_PORT);
    let ack = PdsAck::default().with_spdcid(spdcid).with_dpdcid(dpdcid);
    match *answer {
        Answer::Ack { of: request, arrived: Arrived { next, bitmap, .. }, .. } => {
            let (at, each) = (request.at, of.packets_of_message());
            let cack = context.psn(next).wrapping_sub(1);
            let offset = context.psn(at).wrapping_sub(cack) as u16;
            let is_last = (at + 1).is_multiple_of(each);
            let code =
                if is_last && context.failed.contains(&(at / each)) { WRONG_KEY } else { is_last.into() };
            if code > 1 {
                *context.row.return_codes.entry(code).or_default() += 1;
            }
            let response = SesResponse::default()
                .with_return_code(SesReturnCode(code))
                .with_message_id((at / each) as u16);
            if of.mode == Mode::Rudi {
                let rudi = PdsRudi::default()
                    .with_kind(PdsType::RUDI_RESPONSE)
                    .with_ecn_marked(request.is_marked)
                    .with_pkt_id(Hex32(context.number(at)));
                return packet.push(rudi).push(response);
            }
            packet
                .push(
                    ack.with_kind(PdsType::ACK_CC)
                        .with_ecn_marked(request.is_marked)
                        .with_ack_psn_offset(Hex16(offset))
                        .with_cack_psn(cack),
                )
                .push(PdsSack::default().with_sack_psn_offset(Hex16(1)).with_sack_bitmap(Hex64(bitmap)))
                .push(PdsNscc::default())
                .push(response)
        }
        Answer::Nack { of: request, why, next } => {
            let nack = PdsNack::default().with_nack_code(PdsNackCode(nack_code(of, why)));
            if of.mode == Mode::Rudi {
                return packet.push(nack.with_rudi(true).with_psn(context.number(request.at)));
            }
            // With what it expects, where it refuses what is out of order.
            let payload = if why == Refusal::OutOfOrder { context.psn(next) } else { 0 };
            packet.push(
                nack.with_psn(context.psn(request.at))
                    .with_spdcid(spdcid)
                    .with_dpdcid(dpdcid)
                    .with_payload(Hex32(payload)),
            )
        }
        // Those of MRC.
        Answer::State { .. } | Answer::Completed(_) => packet,
        Answer::Closed => packet.push(ack.with_cack_psn(context.psn(of.packets_each()))),
    }
}

/// The sender's command to close the context.
pub(super) fn close(of: &Spray, context: &Context) -> Packet {
    let control = PdsControl::default()
        .with_control_type(PdsControlType::CLOSE_COMMAND)
        .with_ack_req(true)
        .with_psn(context.psn(of.packets_each()))
        .with_spdcid(Hex16(context.row.spdcid))
        .with_dpdcid(Hex16(context.row.dpdcid));
    begin(context.ends, FIRST_PORT).push(control)
}
