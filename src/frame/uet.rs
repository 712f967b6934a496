//! The one-line summary of a packet of Ultra Ethernet.

use std::fmt::{self, Write};

use crate::{
    dissect::{Dissection, Layer},
    wire::*,
};

/// What the packet is, its PSN and contexts, what it acknowledges, the operation and what became of it.
pub(super) fn write<W: Write + ?Sized>(w: &mut W, d: &Dissection<'_>) -> fmt::Result {
    w.write_str("UET")?;
    for layer in d.layers().iter() {
        let bytes = d.frame().get(layer.at as usize..).unwrap_or(&[]);
        header(w, layer, bytes).unwrap_or(Ok(()))?;
    }
    match d.payload_len() {
        0 => Ok(()),
        n if d.has(Kind::Tss) => write!(w, " encrypted={n}"),
        n => write!(w, " payload={n}"),
    }
}

fn header<W: Write + ?Sized>(w: &mut W, layer: &Layer, bytes: &[u8]) -> Option<fmt::Result> {
    Some(match layer.kind {
        Kind::Tss => {
            let tss = view::<Tss>(bytes)?;
            write!(w, " TSS SDI={:#x} AN={}", tss.sdi().0, tss.an())
        }
        Kind::TssCounter => write!(w, " TSC={}", view::<TssCounter>(bytes)?.tsc()),
        Kind::PdsRequest => {
            let request = view::<PdsRequest>(bytes)?;
            let flags = [(request.retransmit(), "retransmit"), (request.ack_req(), "ackreq")];
            let (kind, psn, from, to) = (request.kind(), request.psn(), request.spdcid(), request.dpdcid().0);
            packet(w, kind, psn, from, format_args!("DPDCID={to:#x}")).and_then(|()| set(w, &flags))
        }
        Kind::PdsRequestSyn => {
            let request = view::<PdsRequestSyn>(bytes)?;
            let flags = [(request.retransmit(), "retransmit"), (request.ack_req(), "ackreq")];
            let (kind, psn, from, at) =
                (request.kind(), request.psn(), request.spdcid(), request.psn_offset());
            packet(w, kind, psn, from, format_args!("SYN offset={at}")).and_then(|()| set(w, &flags))
        }
        Kind::PdsRequestCc => write!(w, " credits={}", view::<PdsRequestCc>(bytes)?.credit_target()),
        Kind::PdsAck => {
            let ack = view::<PdsAck>(bytes)?;
            let flags = [
                (ack.ecn_marked(), "marked"),
                (ack.retransmit(), "retransmit"),
                (ack.request() == AckRequest(1), "clear"),
                (ack.request() == AckRequest(2), "close"),
            ];
            name(w, ack.kind())
                .and_then(|()| match ack.probe() {
                    true => write!(w, " PROBE={}", ack.ack_psn_offset().0),
                    false => write!(w, " PSN={}", ack.ack_psn()),
                })
                .and_then(|()| {
                    let (from, to) = (ack.spdcid().0, ack.dpdcid().0);
                    write!(w, " CACK={} SPDCID={from:#x} DPDCID={to:#x}", ack.cack_psn())
                })
                .and_then(|()| set(w, &flags))
        }
        Kind::PdsSack => {
            let sack = view::<PdsSack>(bytes)?;
            write!(w, " SACK={:#x}", sack.sack_bitmap().0)
        }
        Kind::PdsNscc => {
            let state = view::<PdsNscc>(bytes)?;
            write!(w, " RCVD={} OOO={}", state.rcvd_bytes(), state.ooo_count())
        }
        Kind::PdsCredit => write!(w, " credit={}", view::<PdsCredit>(bytes)?.credit()),
        Kind::PdsNack => {
            let nack = view::<PdsNack>(bytes)?;
            name(w, nack.kind())
                .and_then(|()| match nack.nack_code().name() {
                    Some(code) => write!(w, " {code}"),
                    None => write!(w, " code={:#x}", nack.nack_code().0),
                })
                .and_then(|()| {
                    let (from, to) = (nack.spdcid().0, nack.dpdcid().0);
                    write!(w, " PSN={} SPDCID={from:#x} DPDCID={to:#x}", nack.psn())
                })
        }
        Kind::PdsControl => {
            let control = view::<PdsControl>(bytes)?;
            let to = control.dpdcid().0;
            control_name(w, control.control_type())
                .and_then(|()| numbers(w, control.psn(), control.spdcid(), format_args!("DPDCID={to:#x}")))
        }
        Kind::PdsControlSyn => {
            let control = view::<PdsControlSyn>(bytes)?;
            let at = control.psn_offset();
            control_name(w, control.control_type())
                .and_then(|()| numbers(w, control.psn(), control.spdcid(), format_args!("SYN offset={at}")))
        }
        Kind::PdsRudi => {
            let rudi = view::<PdsRudi>(bytes)?;
            name(w, rudi.kind()).and_then(|()| write!(w, " ID={:#x}", rudi.pkt_id().0))
        }
        Kind::PdsUud => name(w, view::<PdsUud>(bytes)?.kind()),
        Kind::SesSmall => {
            let request = view::<SesSmall>(bytes)?;
            operation(w, request.opcode()).and_then(|()| write!(w, " LEN={}", request.request_length()))
        }
        Kind::SesMedium => {
            let request = view::<SesMedium>(bytes)?;
            operation(w, request.opcode()).and_then(|()| write!(w, " LEN={}", request.request_length()))
        }
        Kind::SesStandard | Kind::SesDeferrable | Kind::SesRestart => {
            let request = view::<SesStandard>(bytes)?;
            operation(w, request.opcode())
                .and_then(|()| write!(w, " MSG={} LEN={}", request.message_id(), request.request_length()))
        }
        Kind::SesStandardLater => {
            let request = view::<SesStandardLater>(bytes)?;
            operation(w, request.opcode()).and_then(|()| {
                let (id, at) = (request.message_id(), request.message_offset());
                write!(w, " MSG={id} OFFSET={at} LEN={}", request.request_length())
            })
        }
        Kind::SesResponse | Kind::SesResponseData => {
            let response = view::<SesResponse>(bytes)?;
            response_name(w, response.return_code())
                .and_then(|()| write!(w, " MSG={}", response.message_id()))
        }
        Kind::SesResponseSmall => response_name(w, view::<SesResponseSmall>(bytes)?.return_code()),
        Kind::SesAtomic => {
            let op = view::<SesAtomic>(bytes)?.atomic_op();
            match <SesAtomicOp as Bits>::SHOW.name(op.0.into()) {
                Some(op) => write!(w, " {op}"),
                None => write!(w, " atomic={:#x}", op.0),
            }
        }
        _ => return None,
    })
}

fn view<H: Header>(bytes: &[u8]) -> Option<&H> {
    H::view(bytes).map(|(header, _)| header)
}

fn packet<W: Write + ?Sized>(
    w: &mut W,
    kind: PdsType,
    psn: u32,
    from: Hex16,
    to: fmt::Arguments<'_>,
) -> fmt::Result {
    name(w, kind)?;
    numbers(w, psn, from, to)
}

fn numbers<W: Write + ?Sized>(w: &mut W, psn: u32, from: Hex16, to: fmt::Arguments<'_>) -> fmt::Result {
    write!(w, " PSN={psn} SPDCID={:#x} {to}", from.0)
}

fn name<W: Write + ?Sized>(w: &mut W, kind: PdsType) -> fmt::Result {
    match <PdsType as Bits>::SHOW.name(kind.0.into()) {
        Some(name) => write!(w, " {name}"),
        None => write!(w, " type={}", kind.0),
    }
}

fn control_name<W: Write + ?Sized>(w: &mut W, kind: PdsControlType) -> fmt::Result {
    match <PdsControlType as Bits>::SHOW.name(kind.0.into()) {
        Some(name) => write!(w, " control: {name}"),
        None => write!(w, " control {}", kind.0),
    }
}

fn operation<W: Write + ?Sized>(w: &mut W, opcode: SesOpcode) -> fmt::Result {
    match opcode.name() {
        Some(name) => write!(w, ": {name}"),
        None => write!(w, ": operation {:#x}", opcode.0),
    }
}

fn response_name<W: Write + ?Sized>(w: &mut W, code: SesReturnCode) -> fmt::Result {
    match code.name() {
        Some(name) => write!(w, ": response {name}"),
        None => write!(w, ": response {:#x}", code.0),
    }
}

fn set<W: Write + ?Sized>(w: &mut W, flags: &[(bool, &str)]) -> fmt::Result {
    flags.iter().filter(|flag| flag.0).try_for_each(|flag| write!(w, " {}", flag.1))
}
