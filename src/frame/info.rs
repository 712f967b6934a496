//! The one-line summary of a frame.

use std::fmt::{self, Display, Write};

use super::text::{dec, hex};
use crate::{
    dissect::{Dissection, Severity},
    icrc::{self, State},
    opcode::{Opcode, Operation},
    upper::{bytes_of_nfs, hash_of_handle},
    wire::*,
};

/// The summary of a frame: operation, queue pair, PSN, the values of extended headers, and what is malformed.
///
/// ```
/// use rdmawire::{dissect::{Link, dissect}, frame::Info, icrc::State};
/// let ack = [0x45, 0, 0, 48, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc0, 0, 0x12, 0xb7, 0, 28, 0, 0,
///     0x11, 0x40, 0xff, 0xff, 0, 0, 0, 0x12, 0, 0, 0, 7, 0x60, 0, 0, 3, 0, 0, 0, 0];
/// let d = dissect(Link::IPV4, &ack, 48);
/// assert_eq!(Info::new(&d, State::Bad).to_string(),
///     "RC Acknowledge QP=0x12 PSN=7 NAK PSN sequence error MSN=3 [ICRC bad]");
/// ```
#[derive(Clone, Copy)]
pub struct Info<'a> {
    d: &'a Dissection<'a>,
    icrc: State,
}

impl<'a> Info<'a> {
    /// The summary of this frame.
    pub fn new(d: &'a Dissection<'a>, icrc: State) -> Self {
        Info { d, icrc }
    }

    /// Write it. `Display` writes the same text, but more slowly.
    pub fn write<W: Write + ?Sized>(&self, w: &mut W) -> fmt::Result {
        match self.d.get::<Bth>() {
            Some(bth) => self.transport(w, bth)?,
            None => self.other(w)?,
        }
        if self.d.tunnel_depth() > 0 {
            self.tunnels(w)?;
        }
        self.wrong(w)
    }

    fn transport<W: Write + ?Sized>(&self, w: &mut W, bth: &Bth) -> fmt::Result {
        let d = self.d;
        let opcode = d.opcode().unwrap_or_default();
        match opcode.name() {
            Some(name) => w.write_str(name)?,
            None => {
                w.write_str("opcode ")?;
                hex(w, opcode.code as u64, 2)?;
            }
        }
        number(w, " QP=", bth.dest_qp().0 as u64, true)?;
        if !opcode.is_cnp() {
            number(w, " PSN=", bth.psn().0 as u64, false)?;
        }
        if opcode.transport == Transport::Mrc
            && let Some(bth) = d.get::<MrcBth>()
            && bth.rtx()
        {
            w.write_str(" RTX")?;
        }
        let chain = d.chain().kinds();
        for &kind in chain {
            self.extended(w, kind).unwrap_or(Ok(()))?;
        }
        let payload = d.payload_len();
        if !chain.iter().all(|&kind| d.has(kind)) {
            // A part of a cut header would count as payload.
            w.write_str(if d.is_cut() { " [headers cut]" } else { "" })?;
        } else if payload > 0 {
            number(w, " payload=", payload as u64, false)?;
        }
        for (set, name) in [
            (bth.ack_req(), " ackreq"),
            (bth.se(), " solicited"),
            (bth.fecn(), " FECN"),
            (bth.becn() && !opcode.is_cnp(), " BECN"),
            (self.is_ce(), " CE"),
        ] {
            if set {
                w.write_str(name)?;
            }
        }
        if opcode == Opcode::UD_SEND_ONLY && d.has(Kind::Mad) {
            w.write_str(": ")?;
            return self.management(w);
        }
        if opcode.begins_send() {
            return self.message(w, opcode);
        }
        // Data of a command that was seen before.
        match d.options().data {
            Some(kind) if d.layers().iter().any(|layer| layer.kind == kind) => {
                w.write_str(": ")?;
                w.write_str(kind.label())
            }
            _ => Ok(()),
        }
    }

    fn is_ce(&self) -> bool {
        match (self.d.get::<Ipv4>(), self.d.get::<Ipv6>()) {
            (Some(ip), _) => ip.ecn() == Ecn::CE,
            (_, Some(ip)) => ip.ecn() == Ecn::CE,
            _ => false,
        }
    }

    /// The values of an extended header, if the frame has it.
    fn extended<W: Write + ?Sized>(&self, w: &mut W, kind: Kind) -> Option<fmt::Result> {
        let d = self.d;
        let mut all = |numbers: &[(&str, u64, bool)]| {
            numbers.iter().try_for_each(|&(label, value, hexadecimal)| number(w, label, value, hexadecimal))
        };
        Some(match kind {
            Kind::Reth => {
                let reth = d.get::<Reth>()?;
                let (va, r_key) = (reth.va().0, reth.r_key().0 as u64);
                all(&[(" VA=", va, true), (" RKEY=", r_key, true), (" LEN=", reth.dma_len() as u64, false)])
            }
            Kind::Aeth => {
                let aeth = d.get::<Aeth>()?;
                let write = w.write_char(' ').and_then(|()| acknowledgement(w, aeth.syndrome()));
                write.and_then(|()| number(w, " MSN=", aeth.msn() as u64, false))
            }
            Kind::Deth => {
                let deth = d.get::<Deth>()?;
                all(&[(" SRCQP=", deth.src_qp().0 as u64, true), (" QKEY=", deth.q_key().0 as u64, true)])
            }
            Kind::AtomicEth => {
                let atomic = d.get::<AtomicEth>()?;
                let (swap, compare) = (atomic.swap_data(), atomic.compare_data());
                let at = [(" VA=", atomic.va().0, true), (" RKEY=", atomic.r_key().0 as u64, true)];
                let data = [(" CMP=", compare, false), (" SWAP=", swap, false)];
                match d.opcode()?.operation() {
                    Some(Operation::FetchAdd) => all(&[at[0], at[1], (" ADD=", swap, false)]),
                    _ => all(&[at[0], at[1], data[0], data[1]]),
                }
            }
            Kind::AtomicAckEth => number(w, " ORIG=", d.get::<AtomicAckEth>()?.original_data(), false),
            Kind::ImmDt => number(w, " IMM=", d.get::<ImmDt>()?.data().0 as u64, true),
            Kind::Ieth => number(w, " INV=", d.get::<Ieth>()?.r_key().0 as u64, true),
            Kind::Xrceth => number(w, " SRQ=", d.get::<Xrceth>()?.xrc_srq().0 as u64, true),
            Kind::Rdeth => number(w, " EE=", d.get::<Rdeth>()?.ee_context().0 as u64, true),
            Kind::Meth => number(w, " MSN=", d.get::<Meth>()?.msn() as u64, false),
            Kind::Tseth => number(w, " TS=", d.get::<Tseth>()?.tx_timestamp() as u64, false),
            Kind::Seth => sack(w, d.get::<Seth>()?),
            Kind::CcState => {
                let state = d.get::<CcState>()?;
                let (bytes, penalty) = (state.rcvd_bytes() as u64 * 256, state.rcv_cwnd_penalty() as u64);
                all(&[(" RCVD=", bytes, false), (" OOO=", state.ooo_count() as u64, false)])
                    .and_then(|()| if penalty > 0 { number(w, " PENALTY=", penalty, false) } else { Ok(()) })
            }
            Kind::Neth => {
                let neth = d.get::<Neth>()?;
                let reason = neth.reason();
                let written = match <NackReason as Bits>::SHOW.name(reason.0.into()) {
                    Some(name) => write!(w, " {name}"),
                    None => number(w, " reason=", reason.0 as u64, true),
                };
                written
                    .and_then(|()| number(w, " NACKED=", neth.nack_psn().0 as u64, false))
                    .and_then(|()| number(w, " EV=", neth.entropy().0 as u64, true))
            }
            Kind::Peth => number(w, " PROBE=", d.get::<Peth>()?.probe_id().0 as u64, false),
            Kind::Erth => {
                let erth = d.get::<Erth>()?;
                let name = <EndpointOp as Bits>::SHOW.name(erth.op().0.into());
                write!(w, " {} ports={:#x}", name.unwrap_or("operation ?"), erth.port_status_mask().0)
            }
            Kind::Feth => {
                let feth = d.get::<Feth>()?;
                all(&[(" SEL=", feth.sel().0 as u64, false), (" PLT=", feth.plt().0 as u64, true)])
            }
            _ => return None,
        })
    }

    /// What a message of an upper layer is, where it can only be one, or its queue pair is for that.
    fn message<W: Write + ?Sized>(&self, w: &mut W, opcode: Opcode) -> fmt::Result {
        let Some(protocol) = self.d.upper() else { return Ok(()) };
        let message = self.d.message(opcode);
        let (parts, bytes) = (protocol.read(message), message.bytes);
        w.write_str(": ")?;
        w.write_str(protocol.name())?;
        for (at, part) in parts.iter().enumerate() {
            let Some(header) = bytes.get(part.at..) else { continue };
            // Files by the short names that Wireshark gives them.
            match (part.kind, bytes_of_nfs(&parts, at, bytes)) {
                (Kind::NfsHandle, Some(handle)) => number(w, " FH=", hash_of_handle(handle).into(), true)?,
                (Kind::NfsName, Some(name)) => {
                    // With escapes: it may be anything.
                    if let Ok(name) = std::str::from_utf8(name) {
                        write!(w, " {name:?}")?;
                    }
                }
                _ => {}
            }
            for field in part.kind.fields() {
                // What it is, and which one: the names of codes, and the number that a request shares with its answer.
                let is_number = matches!(
                    field.name,
                    "xid"
                        | "command_id"
                        | "initiator_task_tag"
                        | "tag"
                        | "message_id"
                        | "sequence"
                        | "ack"
                        | "cookie"
                        | "src_cookie"
                ) && part.kind != Kind::Rpc;
                let is_name = matches!(
                    field.name,
                    "proc"
                        | "msg_type"
                        | "message_type"
                        | "portals_type"
                        | "prog"
                        | "procedure"
                        | "operation"
                        | "opcode"
                        | "fctype"
                        | "property"
                        | "cdb_opcode"
                        | "command"
                        | "ether_type"
                        | "protocol"
                        | "next_header"
                );
                if is_number {
                    let label = match field.name {
                        "xid" => " XID=",
                        "ack" => " ACK=",
                        _ => " ID=",
                    };
                    number(w, label, field.get(header), true)?;
                } else if field.name == "response" && field.get(header) == 1 {
                    w.write_str(" response")?;
                } else if let Some(name) = field.show.name(field.get(header)).filter(|_| is_name) {
                    w.write_char(' ')?;
                    w.write_str(name)?;
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn management<W: Write + ?Sized>(&self, w: &mut W) -> fmt::Result {
        let d = self.d;
        let Some(mad) = d.get::<Mad>() else { return Ok(()) };
        if let Some(req) = d.get::<CmReq>() {
            write!(
                w,
                "CM REQ QPN={} PSN={} comm={:#x}",
                req.local_qpn(),
                req.starting_psn(),
                req.local_comm_id().0
            )?;
            if let Some(mtu) = req.path_mtu().bytes() {
                write!(w, " MTU={mtu}")?;
            }
            return service(w, req.service_id());
        }
        if let Some(rep) = d.get::<CmRep>() {
            let (local, remote) = (rep.local_comm_id().0, rep.remote_comm_id().0);
            return write!(
                w,
                "CM REP QPN={} PSN={} comm={local:#x} peer={remote:#x}",
                rep.local_qpn(),
                rep.starting_psn()
            );
        }
        if let Some(rej) = d.get::<CmRej>() {
            write!(w, "CM REJ reason={}", rej.reason().0)?;
            if let Some(name) = rej.reason().name() {
                write!(w, " ({name})")?;
            }
            return ids(w, rej.local_comm_id(), rej.remote_comm_id());
        }
        if let Some(dreq) = d.get::<CmDreq>() {
            write!(w, "CM DREQ QPN={}", dreq.remote_qpn())?;
            return ids(w, dreq.local_comm_id(), dreq.remote_comm_id());
        }
        if let Some(mra) = d.get::<CmMra>() {
            write!(w, "CM MRA")?;
            ids(w, mra.local_comm_id(), mra.remote_comm_id())?;
            return write!(w, " wait={} ms", mra.service_timeout().ns() / 1_000_000);
        }
        if let Some(sidr) = d.get::<CmSidrReq>() {
            write!(w, "CM SIDR_REQ id={:#x}", sidr.request_id().0)?;
            return service(w, sidr.service_id());
        }
        if let Some(sidr) = d.get::<CmSidrRep>() {
            write!(w, "CM SIDR_REP id={:#x} status={}", sidr.request_id().0, sidr.status().0)?;
            if let Some(name) = sidr.status().name() {
                write!(w, " ({name})")?;
            }
            return write!(w, " QPN={}", sidr.qpn());
        }
        if let Some(lap) = d.get::<CmLap>() {
            write!(w, "CM LAP QPN={}", lap.remote_qpn())?;
            return ids(w, lap.local_comm_id(), lap.remote_comm_id());
        }
        if let Some(apr) = d.get::<CmApr>() {
            write!(w, "CM APR status={}", apr.ap_status().0)?;
            return ids(w, apr.local_comm_id(), apr.remote_comm_id());
        }
        if let Some(rtu) = d.get::<CmRtu>() {
            w.write_str("CM RTU")?;
            return ids(w, rtu.local_comm_id(), rtu.remote_comm_id());
        }
        if let Some(drep) = d.get::<CmDrep>() {
            w.write_str("CM DREP")?;
            return ids(w, drep.local_comm_id(), drep.remote_comm_id());
        }
        self.attribute(w, mad)
    }

    /// A datagram of another class: what is asked or answered, and what tells it from its neighbours.
    fn attribute<W: Write + ?Sized>(&self, w: &mut W, mad: &Mad) -> fmt::Result {
        let (d, class, id) = (self.d, mad.mgmt_class(), mad.attribute_id().0);
        let method = <MadMethod as Bits>::SHOW.name(mad.method().0.into()).unwrap_or("method ?");
        write!(w, "MAD {} {method} ", class.name().unwrap_or("class ?"))?;
        match class.attribute_name(id) {
            Some(name) => w.write_str(name)?,
            None => write!(w, "attribute={id:#06x}")?,
        }
        if mad.attribute_modifier().0 != 0 {
            write!(w, " modifier={:#x}", mad.attribute_modifier().0)?;
        }
        let status = mad.status().0 & if class == MgmtClass::SUBN_DIRECTED { 0x7fff } else { 0xffff };
        if status != 0 {
            write!(w, " status={status:#06x}")?;
        }
        if let (Some(directed), Some(path)) = (d.get::<MadDirected>(), d.get::<SmpPath>()) {
            w.write_str(" path=0")?;
            let hops = usize::from(directed.hop_count());
            path.initial_path().iter().skip(1).take(hops).try_for_each(|port| write!(w, ",{port}"))?;
            write!(w, " hop={}/{hops}", directed.hop_pointer())?;
        }
        if let Some(rmpp) = d.get::<Rmpp>().filter(|rmpp| rmpp.active()) {
            let name = <RmppType as Bits>::SHOW.name(rmpp.rmpp_type().0.into()).unwrap_or("RMPP ?");
            write!(w, " {name} segment={}", rmpp.segment_number())?;
        }
        if !mad.method().is_response() {
            return Ok(());
        }
        if let Some(port) = d.get::<PortInfo>() {
            let state = PortState::SHOW.name(port.port_state().0.into()).unwrap_or("state ?");
            return write!(w, " LID={} {state}", port.lid().0);
        }
        if let Some(node) = d.get::<NodeInfo>() {
            let name = NodeType::SHOW.name(node.node_type().0.into()).unwrap_or("node ?");
            return write!(w, " {name} GUID={:#018x} ports={}", node.node_guid().0, node.num_ports());
        }
        match d.get::<PathRecord>() {
            Some(path) => write!(w, " LID {} > {} SL={}", path.slid().0, path.dlid().0, path.sl()),
            None => Ok(()),
        }
    }

    #[cold]
    fn other<W: Write + ?Sized>(&self, w: &mut W) -> fmt::Result {
        let d = self.d;
        if let Some(pause) = d.layers().iter().find(|layer| layer.kind == Kind::Pause) {
            let Some((pause, _)) = d.frame().get(pause.at as usize..).and_then(Pause::view) else {
                return Ok(());
            };
            return write!(w, "PAUSE {} quanta", pause.pause_time());
        }
        if let Some(pfc) = d.get::<Pfc>() {
            w.write_str("PFC")?;
            for priority in 0..8 {
                match pfc.time(priority) {
                    Some(0) => write!(w, " {priority}=resume")?,
                    Some(quanta) => write!(w, " {priority}={quanta}")?,
                    None => {}
                }
            }
            return Ok(());
        }
        if let Some(link) = d.get::<LinkPacket>() {
            let init = if link.op() == LinkOp(1) { " init" } else { "" };
            let (vl, sent, limit) = (link.vl(), link.fctbs(), link.fccl());
            write!(w, "flow control{init} VL={vl} FCTBS={sent} FCCL={limit}")?;
            let right = icrc::vcrc(&link.bytes()[..4]);
            return if link.lpcrc().0.to_be_bytes() == right { Ok(()) } else { w.write_str(" [LPCRC bad]") };
        }
        if d.is_uet() {
            return super::uet::write(w, d);
        }
        if let Some(udp) = d.get::<Udp>() {
            return write!(w, "UDP {} > {} length={}", udp.src_port(), udp.dst_port(), udp.length());
        }
        let layers = d.layers();
        let last = layers.iter().rfind(|layer| layer.kind < Kind::Payload);
        match last.map(|layer| layer.kind) {
            Some(Kind::Ipv4 | Kind::Ipv4Options) if d.has(Kind::Ipv4) => {
                let protocol = d.get::<Ipv4>().map_or(0, |ip| ip.protocol().0);
                self.protocol(w, protocol)
            }
            Some(Kind::Ipv6) => {
                let protocol = d.get::<Ipv6>().map_or(0, |ip| ip.next_header().0);
                self.protocol(w, protocol)
            }
            Some(Kind::Ethernet) => {
                let ether_type = d.get::<Ethernet>().map_or(EtherType(0), |e| e.ether_type());
                match ether_type.name() {
                    Some(name) => w.write_str(name),
                    None => write!(w, "EtherType {:#06x}", ether_type.0),
                }
            }
            _ if d.has(Kind::Lldp) => {
                let from = layers.iter().find(|layer| layer.kind == Kind::Lldp).map_or(0, |layer| layer.at);
                write!(w, "LLDP length={}", d.end().saturating_sub(from))
            }
            Some(kind) => write!(w, "{} bytes after {}", d.payload_len(), kind.label()),
            None => write!(w, "{} bytes", d.frame().len()),
        }
    }

    fn protocol<W: Write + ?Sized>(&self, w: &mut W, protocol: u8) -> fmt::Result {
        match <IpProtocol as Bits>::SHOW.name(protocol.into()) {
            Some(name) => write!(w, "{name} length={}", self.d.payload_len()),
            None => write!(w, "IP protocol {protocol} length={}", self.d.payload_len()),
        }
    }

    #[cold]
    fn tunnels<W: Write + ?Sized>(&self, w: &mut W) -> fmt::Result {
        let d = self.d;
        let mut before = " in ";
        let layers = d.layers();
        for (i, layer) in layers.iter().enumerate() {
            let Some(bytes) = d.frame().get(layer.at as usize..) else { continue };
            let next = layers.get(i + 1).map(|next| next.kind);
            let wraps_ip = |kind| matches!(kind, Kind::Ipv4 | Kind::Ipv6);
            match layer.kind {
                Kind::Vxlan => {
                    let vni = Vxlan::view(bytes).map_or(0, |(h, _)| h.vni());
                    write!(w, "{before}VXLAN {vni}")?;
                }
                Kind::Geneve => {
                    let vni = Geneve::view(bytes).map_or(0, |(h, _)| h.vni());
                    write!(w, "{before}GENEVE {vni}")?;
                }
                Kind::Erspan2 | Kind::Erspan3 => {
                    // Types II and III have the session's number at one offset.
                    let session = Erspan2::view(bytes).map_or(0, |(h, _)| h.session_id());
                    write!(w, "{before}{} {session}", layer.kind.label())?;
                }
                Kind::Gre if !matches!(next, Some(Kind::Erspan2 | Kind::Erspan3 | Kind::GreSequence)) => {
                    write!(w, "{before}GRE")?;
                }
                Kind::Mpls if next != Some(Kind::Mpls) => write!(w, "{before}MPLS")?,
                kind if wraps_ip(kind) && next.is_some_and(wraps_ip) => write!(w, "{before}IP")?,
                _ => continue,
            }
            before = ", ";
        }
        Ok(())
    }
    #[inline]
    fn wrong<W: Write + ?Sized>(&self, w: &mut W) -> fmt::Result {
        match self.icrc {
            State::Bad if self.d.is_uet() => w.write_str(" [CRC bad]")?,
            State::Bad => w.write_str(" [ICRC bad]")?,
            // What does not fit, does not because of that.
            State::Trimmed => return w.write_str(" [trimmed by a switch]"),
            _ => {}
        }
        if self.d.has(Kind::Vcrc) && icrc::verify_vcrc(self.d) == State::Bad {
            w.write_str(" [VCRC bad]")?;
        }
        for note in self.d.notes() {
            if note.problem.severity() == Severity::Error {
                write!(w, " [{note}]")?;
            }
        }
        Ok(())
    }
}

impl Display for Info<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

/// What a SACK says: the PSNs that have arrived, the path, and what to do with it.
fn sack<W: Write + ?Sized>(w: &mut W, seth: &Seth) -> fmt::Result {
    write!(w, " CACK={}", seth.cack_psn())?;
    if seth.sack_bitmap().0 != 0 {
        write!(w, " {} from {}", seth.sack_bitmap().0.count_ones(), seth.sack_psn())?;
    }
    match seth.pr() {
        true => write!(w, " answers probe {}", seth.ack_psn_offset().0)?,
        false => write!(w, " ACKED={}", seth.ack_psn())?,
    }
    write!(w, " EV={:#x}", seth.entropy().0)?;
    match (seth.m().0, <PathMark as Bits>::SHOW.name(seth.m().0.into())) {
        (0, _) => Ok(()),
        (_, Some(name)) => write!(w, " {name}"),
        (m, None) => write!(w, " m={m}"),
    }
}

#[inline]
fn number<W: Write + ?Sized>(w: &mut W, label: &str, value: u64, hexadecimal: bool) -> fmt::Result {
    w.write_str(label)?;
    if hexadecimal { hex(w, value, 1) } else { dec(w, value) }
}

/// The port of a service of RDMA-CM, or its number.
fn service<W: Write + ?Sized>(w: &mut W, service: ServiceId) -> fmt::Result {
    match service.rdma_cm() {
        Some((_, port)) => write!(w, " port={port}"),
        None => write!(w, " service={:#x}", service.0),
    }
}

/// The communication IDs of sender and receiver.
fn ids<W: Write + ?Sized>(w: &mut W, local: CommId, remote: CommId) -> fmt::Result {
    write!(w, " comm={:#x} peer={:#x}", local.0, remote.0)
}

/// The meaning of a syndrome; frequent ones are written without a `Formatter`.
fn acknowledgement<W: Write + ?Sized>(w: &mut W, syndrome: Syndrome) -> fmt::Result {
    match syndrome.meaning() {
        Acknowledgement::Ack { credits: None } => w.write_str("ACK"),
        Acknowledgement::Ack { credits: Some(n) } => number(w, "ACK credits=", n as u64, false),
        Acknowledgement::Nak(code) => write!(w, "NAK {code}"),
        Acknowledgement::Reserved(_) => write!(w, "syndrome {:#04x}", syndrome.0),
        other => write!(w, "{other}"),
    }
}
