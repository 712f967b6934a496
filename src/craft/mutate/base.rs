//! The packets that mutants are made from.

use std::net::Ipv4Addr;

use super::{Handling, Mutant, Mutation, mutations};
use crate::{
    craft::{Channel, Dialog, Endpoint, Management, Packet, Path, flow_control, pause, pfc, template},
    dissect::{Dissection, Encapsulation, Severity, dissect},
    icrc::{self, State},
    opcode::{Opcode, PayloadRule},
    wire::*,
};

/// A packet to make mutants from.
#[derive(Clone, Debug)]
pub struct Base {
    name: String,
    packet: Packet,
    /// Whether it is well-formed. If not, no verdict on its mutants is possible.
    is_clean: bool,
}

impl Base {
    /// A packet with this name.
    pub fn new(name: impl Into<String>, packet: Packet) -> Base {
        let frame = packet.build();
        let d = dissect(packet.link(), &frame, packet.wire_len());
        let is_clean = !d.is_cut()
            && d.severity().is_none_or(|severity| severity == Severity::Note)
            && (!d.has(Kind::Bth) || icrc::verify(&d) == State::Good);
        Base { name: name.into(), packet, is_clean }
    }

    /// A captured frame with this name. A cut frame is mutated as it was captured.
    pub fn of(name: impl Into<String>, d: &Dissection<'_>) -> Base {
        Base::new(name, Packet::from(d))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The packet.
    pub fn packet(&self) -> &Packet {
        &self.packet
    }

    /// Whether it is well-formed and its ICRC, if it has a BTH, is right.
    pub fn is_clean(&self) -> bool {
        self.is_clean
    }

    /// One mutant of it.
    pub fn mutant(&self, mutation: &Mutation) -> Mutant {
        let made = mutation.apply(&self.packet);
        let verdict =
            if self.is_clean { Handling::of(&self.packet, mutation, &made) } else { Handling::Survives };
        Mutant {
            base: self.name.clone(),
            mutation: mutation.name(&self.packet),
            link: self.packet.link(),
            frame: made.frame,
            wire_len: made.wire_len,
            verdict,
        }
    }

    /// A mutant with at most this many mutations. `below` returns a number below its argument.
    pub fn stacked(&self, mutations_each: usize, below: &mut dyn FnMut(usize) -> usize) -> Mutant {
        let mut packet = self.packet.clone();
        let mut names = Vec::new();
        let mut last = Mutation::Nothing;
        for n in 0..mutations_each {
            let choice = mutations(&packet);
            let Some(mutation) = choice.get(below(choice.len())) else { break };
            names.push(mutation.name(&packet));
            // A mutation of the built frame comes last.
            if mutation.is_of_the_frame() || n + 1 == mutations_each {
                last = *mutation;
                break;
            }
            packet = mutation.packet(&packet);
        }
        let made = last.apply(&packet);
        Mutant {
            base: self.name.clone(),
            mutation: names.join("_"),
            link: self.packet.link(),
            frame: made.frame,
            wire_len: made.wire_len,
            verdict: Handling::Survives,
        }
    }

    /// The built-in bases: every operation code of InfiniBand over RoCEv2, some over each other encapsulation, with VLAN tags and in
    /// tunnels; connection management, other management with RMPP; CNP, PAUSE, PFC, link packets.
    pub fn all() -> Vec<Base> {
        let mut all = Vec::new();
        for wrap in Encapsulation::ALL {
            for opcode in Opcode::of_transport(Transport::Ib) {
                if wrap != Encapsulation::RoceV2Ipv4 && !SOME.contains(&opcode) {
                    continue;
                }
                let name = opcode.ident().map_or_else(|| opcode.to_string(), str::to_lowercase);
                let name = format!("{}-{}", wrap.name(), name.replace('_', "-"));
                all.push(Base::new(name, packet(wrap, opcode)));
            }
        }
        all.extend(management());
        all.extend(wrapped());
        let mac = Mac([2, 0, 0, 0, 0, 1]);
        all.push(Base::new("pause", pause(mac, 0xffff)));
        all.push(Base::new("pfc", pfc(mac, [None, None, None, Some(0xffff), Some(0), None, None, None])));
        all.push(Base::new("link-flow-control", flow_control(LinkOp(0), 3, 0x123, 0x456)));
        all
    }
}

/// Operation codes with and without payload, and with each extended header.
const SOME: &[Opcode] = &[
    Opcode::RC_SEND_MIDDLE,
    Opcode::RC_SEND_ONLY,
    Opcode::RC_WRITE_ONLY,
    Opcode::RC_READ_REQUEST,
    Opcode::RC_ACKNOWLEDGE,
    Opcode::RC_COMPARE_SWAP,
    Opcode::UD_SEND_ONLY,
    Opcode::CNP,
];

fn path(wrap: Encapsulation) -> Path {
    let end = |n| Endpoint::new(Ipv4Addr::new(10, 0, 0, n)).lid(n as u16);
    Path::new(wrap, end(1), end(2))
}

/// A well-formed packet of an operation code. Its payload needs padding if the code allows that.
fn packet(wrap: Encapsulation, opcode: Opcode) -> Packet {
    let channel = Channel { q_key: 0x1111_1111, ..Channel::rc(path(wrap), Qpn(0x11), Qpn(0x12)) };
    if opcode.is_cnp() {
        return channel.cnp();
    }
    let len = match opcode.payload_rule() {
        PayloadRule::Full => 256,
        PayloadRule::Some | PayloadRule::Any => 61,
        PayloadRule::None => 0,
        PayloadRule::Eight => 8,
    };
    let payload: Vec<u8> = (0..len).map(|n| 0xa0 ^ n as u8).collect();
    let mut packet = channel.headers(opcode, Psn(0x7f_fffe)).payload(payload);
    packet.alter(|reth: Reth| {
        reth.with_dma_len(if len > 0 { len as u32 } else { 4096 })
            .with_r_key(RKey(0x1234))
            .with_va(VirtualAddress(1 << 32))
    });
    packet
}

fn management() -> Vec<Base> {
    let dialog = Dialog::new(path(Encapsulation::RoceV2Ipv4), Qpn(0x11), Qpn(0x12));
    let native = Dialog { path: path(Encapsulation::IbGrh), ..dialog };
    let datagrams = Dialog { service_id: ServiceId::of_port(PortSpace::Udp, 7174), ..dialog };
    let mut all = vec![
        Base::new("cm-req", dialog.req(b"private")),
        Base::new("cm-req-ib", native.req(b"private")),
        Base::new("cm-rep", dialog.rep(&[])),
        Base::new("cm-rtu", dialog.rtu(&[])),
        Base::new("cm-rej", dialog.rej(RejectReason(28), &[])),
        Base::new("cm-dreq", dialog.dreq(false, &[])),
        Base::new("cm-drep", dialog.drep(true, &[])),
        Base::new("cm-mra", dialog.mra(true, CmMessage(0), CmTimeout(24))),
        Base::new("cm-lap", native.lap(&native.path, &[])),
        Base::new("cm-apr", dialog.apr(ApStatus(2), &[])),
        Base::new("cm-sidr-req", datagrams.sidr_req(b"private")),
        Base::new("cm-sidr-rep", datagrams.sidr_rep(SidrStatus::VALID, 0x8001_0000, &[])),
    ];
    // Subnet administration: a response in segments. The RMPP header follows the common one (13.6.2).
    let channel = Channel { q_key: 0x8001_0000, ..Channel::rc(path(Encapsulation::Ib), Qpn(1), Qpn(1)) };
    let mad = template::mad(MgmtClass(3), MadMethod(0x92));
    let mut body = vec![0; 256 - Mad::LEN];
    if let Some(rmpp) = body.first_chunk_mut::<12>() {
        *rmpp = [1, 1, 0x03, 0, 0, 0, 0, 1, 0, 0, 0, 220];
    }
    let ib = path(Encapsulation::Ib);
    let subnet = Management::get(ib, MgmtClass::SUBN_LID).method(MadMethod::GET_RESP);
    let counters = Management::get(ib, MgmtClass::PERF).method(MadMethod::GET_RESP);
    let question = Management::get(ib, MgmtClass::SUBN_ADM).method(MadMethod::GET);
    let path_record = PathRecord::default().with_dlid(Lid(2)).with_slid(Lid(1));
    let node =
        [LidRecord::default().bytes(), NodeInfo::default().bytes(), NodeDescription::default().bytes()]
            .concat();
    all.extend([
        Base::new("smp-port-info", subnet.attribute(PortInfo::default().with_lid(Lid(1)))),
        Base::new("smp-directed", subnet.directed(&[1, 4], &[1, 2], NodeInfo::default().with_num_ports(36))),
        Base::new("perf-counters", counters.attribute(PortCounters::default().with_port_select(1))),
        Base::new("sa-path", question.attribute(path_record)),
    ]);
    let table = question.method(MadMethod::GET_TABLE_RESP).records(0x11, 0, &[&node, &node, &node]);
    all.extend(table.into_iter().take(1).map(|packet| Base::new("sa-table", packet)));
    all.push(Base::new("sa-rmpp", channel.headers(Opcode::UD_SEND_ONLY, Psn(1)).push(mad).payload(body)));
    all
}

/// Packets with VLAN tags and in tunnels.
fn wrapped() -> Vec<Base> {
    let inner = || packet(Encapsulation::RoceV2Ipv4, Opcode::RC_WRITE_ONLY);
    let (a, b) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2));
    let with = |name: &str, before: Packet| {
        let tagged = matches!(before.parts().last(), Some(part) if part.kind == Kind::Vlan);
        let inner = inner();
        let parts = inner.parts().iter().skip(tagged as usize);
        let whole = parts.fold(before, |packet, part| packet.push_bytes(part.kind, inner.bytes_of(part)));
        Base::new(name, whole.payload(inner.get_payload().clone()))
    };
    let udp = || Packet::rocev2(a, b);
    let ip = || Packet::ethernet().push(template::ipv4(a, b));
    vec![
        with("vlan", Packet::ethernet().push(Vlan::default().with_vid(100).with_pcp(3))),
        with(
            "vlan-vlan",
            Packet::ethernet().push(Vlan::default().with_vid(100)).push(Vlan::default().with_vid(200)),
        ),
        with("vxlan", udp().push(Vxlan::default().with_flags(VxlanFlags(8)))),
        with(
            "geneve",
            udp().push(Geneve::default()).push_bytes(Kind::GeneveOptions, [1, 2, 3, 1, 0, 0, 0, 0]),
        ),
        with("gre", ip().push(Gre::default()).push(GreKey::default())),
        with(
            "erspan2",
            ip().push(Gre::default().with_protocol(EtherType::ERSPAN))
                .push(GreSequence::default())
                .push(Erspan2::default().with_version(1).with_encap(3)),
        ),
    ]
}
