//! Packets of Ultra Ethernet.

use std::net::IpAddr;

use super::{
    FIRST_PORT, Spray,
    play::{Answer, Arrived, Context, Request, nack_code},
};
use crate::{
    craft::{Packet, template},
    wire::*,
};

const WRONG_KEY: u8 = 0x1c;
/// Bytes of headers of a request: Ethernet, IPv4, UDP, PDS, SES.
const HEADERS: usize = Ethernet::LEN + Ipv4::LEN + Udp::LEN + PdsRequest::LEN + SesStandard::LEN;

/// What a switch leaves of a payload.
pub(super) fn trimmed_payload(of: &Spray) -> usize {
    (of.trim_bytes as usize).saturating_sub(HEADERS)
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
    let packet = match at {
        0 => packet.push(
            PdsRequestSyn::default()
                .with_kind(PdsType::RUD_REQUEST)
                .with_syn(true)
                .with_ack_req(true)
                .with_retransmit(is_again)
                .with_psn(psn)
                .with_spdcid(spdcid),
        ),
        _ => packet.push(
            PdsRequest::default()
                .with_kind(PdsType::RUD_REQUEST)
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
            packet
                .push(
                    ack.with_kind(PdsType::ACK_CC)
                        .with_ecn_marked(request.is_marked)
                        .with_ack_psn_offset(Hex16(offset))
                        .with_cack_psn(cack),
                )
                .push(PdsSack::default().with_sack_psn_offset(Hex16(1)).with_sack_bitmap(Hex64(bitmap)))
                .push(PdsNscc::default())
                .push(
                    SesResponse::default()
                        .with_return_code(SesReturnCode(code))
                        .with_message_id((at / each) as u16),
                )
        }
        Answer::Nack { of: request, why } => packet.push(
            PdsNack::default()
                .with_nack_code(PdsNackCode(nack_code(of, why)))
                .with_psn(context.psn(request.at))
                .with_spdcid(spdcid)
                .with_dpdcid(dpdcid),
        ),
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
