//! Messages as packets, and the packets that answer them.

use bytes::Bytes;

use super::{ComputedField, Packet, Path, template};
use crate::{
    dissect::Dissection,
    message::{Ending, Segments, Unsupported},
    opcode::{Chain, Opcode, Operation, Service, Transport},
    random::SplitMix64,
    wire::*,
};

/// The data of a message. A packet takes its slice by its place in the message, so a retransmission carries the same
/// bytes. Nothing is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data(Shape);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// Repeats after [`PERIOD`] bytes. It holds one period and the longest packet, so any slice is contiguous.
    Repeats(Bytes),
    Is(Bytes),
}

const PERIOD: usize = 4096;
const LONGEST: usize = 4096;

impl Data {
    /// Random bytes from this seed, repeated every 4096 bytes.
    pub fn pattern(seed: u64) -> Data {
        let mut random = SplitMix64(seed);
        let mut bytes: Vec<u8> = (0..PERIOD / 8).flat_map(|_| random.next().to_be_bytes()).collect();
        bytes.extend_from_within(..);
        Data(Shape::Repeats(bytes.into()))
    }

    /// Zeros.
    pub fn zeros() -> Data {
        Data(Shape::Repeats(Bytes::from_static(&[0; PERIOD + LONGEST])))
    }

    /// These bytes. A message that is longer has no more data after them.
    pub fn bytes(bytes: impl Into<Bytes>) -> Data {
        Data(Shape::Is(bytes.into()))
    }

    /// `len` bytes from this offset on. A pattern gives at most 4096; given bytes may end before.
    pub fn at(&self, offset: u64, len: usize) -> Bytes {
        match &self.0 {
            Shape::Repeats(bytes) => {
                let from = (offset % PERIOD as u64) as usize;
                bytes.slice(from..from + len.min(LONGEST))
            }
            Shape::Is(bytes) => {
                let from = (offset.min(bytes.len() as u64)) as usize;
                bytes.slice(from..bytes.len().min(from.saturating_add(len)))
            }
        }
    }
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// SEND.
    Send {
        /// Bytes.
        len: u32,
        /// Immediate data.
        imm: Option<u32>,
        /// The remote key to invalidate. Immediate data takes precedence.
        invalidate: Option<u32>,
    },
    /// RDMA WRITE.
    Write {
        /// Bytes.
        len: u32,
        /// Remote virtual address.
        va: u64,
        /// Remote key.
        r_key: u32,
        /// Immediate data.
        imm: Option<u32>,
    },
    /// RDMA READ.
    Read {
        /// Bytes.
        len: u32,
        /// Remote virtual address.
        va: u64,
        /// Remote key.
        r_key: u32,
    },
    /// Compare and swap.
    CompareSwap {
        /// Remote virtual address, a multiple of eight.
        va: u64,
        /// Remote key.
        r_key: u32,
        /// The value that is compared with memory.
        compare: u64,
        /// The value that is written if they are equal.
        swap: u64,
    },
    /// Fetch and add.
    FetchAdd {
        /// Remote virtual address, a multiple of eight.
        va: u64,
        /// Remote key.
        r_key: u32,
        /// The value that is added.
        add: u64,
    },
    /// ATOMIC WRITE of the first eight bytes of the message's data.
    AtomicWrite {
        /// Remote virtual address, a multiple of eight.
        va: u64,
        /// Remote key.
        r_key: u32,
    },
    /// FLUSH.
    Flush {
        /// Bytes.
        len: u32,
        /// Remote virtual address.
        va: u64,
        /// Remote key.
        r_key: u32,
        /// Placement: bit 0 global visibility, bit 1 persistence.
        placement: u8,
        /// 0 the range, 1 the whole region.
        selectivity: u8,
    },
    /// RESYNC, of reliable datagrams.
    Resync,
}

impl Request {
    /// The packets that it takes.
    fn segments(&self, service: Service, mtu: u16) -> Result<Segments, Unsupported> {
        let (size, ending) = match *self {
            Request::Send { len, imm: Some(_), .. } => (len, Ending::Immediate),
            Request::Send { len, invalidate: Some(_), .. } => (len, Ending::Invalidate),
            Request::Write { len, imm: Some(_), .. } => (len, Ending::Immediate),
            Request::Send { len, .. } | Request::Write { len, .. } | Request::Read { len, .. } => {
                (len, Ending::Plain)
            }
            _ => (0, Ending::Plain),
        };
        Segments::new(service, self.into(), ending, size as u64, mtu as u32)
    }

    /// A READ request for the rest, from the `n`-th response packet on, as a requester sends it that lost this packet.
    /// Its PSN is that of the first request plus `n`. Other requests stay as they are.
    #[must_use]
    pub fn resumed(self, n: u32, mtu: u16) -> Request {
        match self {
            Request::Read { len, va, r_key } => {
                let done = n.saturating_mul(mtu as u32).min(len);
                Request::Read { len: len - done, va: va.wrapping_add(done as u64), r_key }
            }
            other => other,
        }
    }
}

/// One direction of a connection: the requests of one queue pair, and its answers to the requests of its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The addresses, and the headers around the transport.
    pub path: Path,
    /// Transport service.
    pub service: Service,
    /// Path MTU in bytes: what a FIRST or MIDDLE packet carries.
    pub mtu: u16,
    /// The sender's queue pair: for the DETH and the UDP source port.
    pub src_qp: Qpn,
    /// The receiver's.
    pub dst_qp: Qpn,
    /// Queue key, of datagrams.
    pub q_key: u32,
    /// The receiver's shared receive queue, of XRC.
    pub xrc_srq: u32,
    /// End-to-end context, of RD.
    pub ee_context: u32,
    /// The migration state bit that packets carry.
    pub mig_req: bool,
}

impl Channel {
    /// A reliable connection with an MTU of 1024 bytes.
    pub fn rc(path: Path, src_qp: Qpn, dst_qp: Qpn) -> Channel {
        Channel {
            path,
            service: Service::Rc,
            mtu: 1024,
            src_qp,
            dst_qp,
            q_key: 0,
            xrc_srq: 0,
            ee_context: 0,
            mig_req: true,
        }
    }

    /// A multipath reliable connection with an MTU of 4096 bytes.
    pub fn mrc(path: Path, src_qp: Qpn, dst_qp: Qpn) -> Channel {
        Channel { service: Service::Mrc, mtu: 4096, ..Channel::rc(path, src_qp, dst_qp) }
    }

    /// The other direction.
    #[must_use]
    pub fn reversed(self) -> Channel {
        Channel { path: self.path.reversed(), src_qp: self.dst_qp, dst_qp: self.src_qp, ..self }
    }

    /// A request from this PSN on. Its data are zeros until [`Message::data`].
    pub fn request(&self, psn: Psn, request: Request) -> Result<Message, Unsupported> {
        Ok(self.message(psn, request.segments(self.service, self.mtu)?, What::Request(request)))
    }

    /// The response to an RDMA READ, in the requester's PSN space. With a length of zero it also answers an ATOMIC WRITE
    /// and a FLUSH. `msn` is the responder's message sequence number.
    pub fn read_response(&self, psn: Psn, len: u32, msn: u32) -> Result<Message, Unsupported> {
        let segments =
            Segments::new(self.service, Operation::ReadResponse, Ending::Plain, len as u64, self.mtu as u32)?;
        Ok(self.message(psn, segments, What::Response { msn }))
    }

    fn message(&self, psn: Psn, segments: Segments, what: What) -> Message {
        Message {
            channel: *self,
            psn,
            segments,
            what,
            data: Data::zeros(),
            offset: 0,
            ack_every: 0,
            solicited: false,
            spray: None,
        }
    }

    /// An acknowledgement of all PSNs up to this one, without a credit count.
    pub fn ack(&self, psn: Psn, msn: u32) -> Packet {
        self.acknowledge(psn, Syndrome::ACK, msn)
    }

    /// A NAK. The PSN is the expected one after a sequence error, otherwise that of the refused packet.
    pub fn nak(&self, psn: Psn, code: NakCode, msn: u32) -> Packet {
        let syndrome = match code {
            NakCode::PsnSequenceError => Syndrome::PSN_SEQUENCE_ERROR,
            NakCode::InvalidRequest => Syndrome::INVALID_REQUEST,
            NakCode::RemoteAccessError => Syndrome::REMOTE_ACCESS_ERROR,
            NakCode::RemoteOperationalError => Syndrome::REMOTE_OPERATIONAL_ERROR,
            NakCode::InvalidRdRequest => Syndrome::INVALID_RD_REQUEST,
            NakCode::Reserved(code) => Syndrome(0x60 | code & 0x1f),
        };
        self.acknowledge(psn, syndrome, msn)
    }

    /// An RNR NAK: retransmit after this many microseconds, rounded up to the next value that the code can express.
    pub fn rnr(&self, psn: Psn, timer_us: u32, msn: u32) -> Packet {
        self.acknowledge(psn, Syndrome::rnr(timer_us), msn)
    }

    /// An acknowledgement with any syndrome.
    pub fn acknowledge(&self, psn: Psn, syndrome: Syndrome, msn: u32) -> Packet {
        self.headers(self.opcode(Opcode::RC_ACKNOWLEDGE), psn)
            .edit(|aeth: Aeth| aeth.with_syndrome(syndrome).with_msn(msn))
    }

    /// The answer to an atomic operation: the value that memory had before.
    pub fn atomic_ack(&self, psn: Psn, msn: u32, original: u64) -> Packet {
        self.headers(self.opcode(Opcode::RC_ATOMIC_ACKNOWLEDGE), psn)
            .edit(|aeth: Aeth| aeth.with_msn(msn))
            .edit(|h: AtomicAckEth| h.with_original_data(original))
    }

    /// A congestion notification to the peer: DSCP 48, code 0x81, PSN 0, BECN. Native InfiniBand has 0x80.
    pub fn cnp(&self) -> Packet {
        let opcode = match self.path.link() {
            crate::dissect::Link::INFINIBAND => Opcode::CN,
            _ => Opcode::CNP,
        };
        let path = Path { dscp: 48, ecn: Ecn(0), vlan: self.path.vlan.map(|(_, vid)| (6, vid)), ..self.path };
        let channel = Channel { path, mig_req: false, ..*self };
        channel.headers(opcode, Psn(0)).edit(|bth: Bth| bth.with_becn(true))
    }

    /// This RC operation code in the channel's service, assigned or not.
    fn opcode(&self, rc: Opcode) -> Opcode {
        self.service.opcode_like(rc)
    }

    /// All headers of an operation code, with the fields that the channel determines.
    pub fn headers(&self, opcode: Opcode, psn: Psn) -> Packet {
        let bth = template::bth()
            .with_opcode(opcode)
            .with_mig_req(self.mig_req)
            .with_p_key(self.path.p_key)
            .with_dest_qp(self.dst_qp)
            .with_psn(psn);
        let mut packet = self.path.packet().source_qp(self.src_qp);
        self.extend(&mut packet, opcode, bth);
        packet
    }

    /// Appends the BTH, and the extended headers that it and the operation code bring.
    fn extend(&self, packet: &mut Packet, opcode: Opcode, bth: Bth) {
        packet.append(opcode.transport.bth(), bth.bytes());
        for &kind in Chain::of(opcode, &bth).kinds() {
            match kind {
                Kind::Deth => packet
                    .append_header(Deth::default().with_q_key(Hex32(self.q_key)).with_src_qp(self.src_qp)),
                Kind::Rdeth => {
                    packet.append_header(Rdeth::default().with_ee_context(EeContext(self.ee_context)))
                }
                Kind::Xrceth => packet.append_header(Xrceth::default().with_xrc_srq(Srqn(self.xrc_srq))),
                Kind::Aeth => packet.append_header(Aeth::default().with_syndrome(Syndrome::ACK)),
                Kind::Seth | Kind::Neth | Kind::Peth | Kind::Erth | Kind::Tseth => {
                    packet.append(kind, &template::template(kind))
                }
                _ => packet.append(kind, ZEROS.get(..kind.info().map_or(0, |info| info.len)).unwrap_or(&[])),
            }
        }
    }
}

const ZEROS: [u8; 64] = [0; 64];

/// The CNP that the receiver of a data packet sends to the queue pair it came from. Packets of a connection do not
/// carry that number, so it must be given; datagrams have it in the DETH. `None` for a frame without a BTH.
pub fn cnp_for(d: &Dissection<'_>, sender: Option<Qpn>) -> Option<Packet> {
    Some(answer(d, sender)?.cnp())
}

/// The channel on which a frame is answered. `sender` is as for [`cnp_for`]; it is 0 if it is not known.
pub fn answer(d: &Dissection<'_>, sender: Option<Qpn>) -> Option<Channel> {
    let bth = d.get::<Bth>()?;
    let sender = sender.or(d.get::<Deth>().map(|deth| deth.src_qp())).unwrap_or_default();
    let mut channel = Channel::rc(Path::of(d)?.reversed(), bth.dest_qp(), sender);
    channel.service = match d.opcode()?.service() {
        Service::Cn | Service::Vendor => Service::Rc,
        service => service,
    };
    channel.ee_context = d.get::<Rdeth>().map_or(0, |rdeth| rdeth.ee_context().0);
    channel.mig_req = bth.mig_req();
    Some(channel)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Request(Request),
    Response { msn: u32 },
}

/// A request, or the response to a READ. Each packet can be made by its number, in any order.
#[derive(Clone, Debug)]
pub struct Message {
    channel: Channel,
    psn: Psn,
    segments: Segments,
    what: What,
    data: Data,
    offset: u64,
    ack_every: u32,
    solicited: bool,
    spray: Option<Spray>,
}

/// The paths that the packets of a message take in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spray {
    /// How many.
    pub paths: u16,
    /// The first path's UDP source port.
    pub port: u16,
    /// Paths differ in the flow label too: in fields for two tiers of switches, as MRC's structured entropy values. It needs IPv6.
    pub label: bool,
}

impl Spray {
    /// Ports that a field of a structured entropy value has.
    const TIER: u16 = 8;

    /// The UDP source port and the flow label of the `n`-th packet.
    pub fn path(&self, n: u32) -> (u16, u32) {
        let path = (n % u32::from(self.paths.max(1))) as u16;
        match self.label {
            true => (self.port.wrapping_add(path % Spray::TIER), u32::from(path / Spray::TIER) + 1),
            false => (self.port.wrapping_add(path), 0),
        }
    }

    /// Puts a packet on the `n`-th path.
    pub fn put(&self, n: u32, packet: &mut Packet) {
        let (port, label) = self.path(n);
        packet.alter(|udp: Udp| udp.with_src_port(port));
        packet.set_keep(ComputedField::UdpSourcePort, true);
        if self.label {
            packet.alter(|ip: Ipv6| ip.with_flow_label(label));
        }
    }
}

impl Message {
    /// Sets the data.
    #[must_use]
    pub fn data(mut self, data: Data) -> Message {
        self.data = data;
        self
    }

    /// Takes the data from this offset on: for the response to a READ that was resumed.
    #[must_use]
    pub fn offset(mut self, offset: u64) -> Message {
        self.offset = offset;
        self
    }

    /// Sets AckReq in every `n`-th packet and in the last; with 0, the default, in the last only.
    #[must_use]
    pub fn ack_every(mut self, n: u32) -> Message {
        self.ack_every = n;
        self
    }

    /// Sets the solicited event bit of the last packet.
    #[must_use]
    pub fn solicited(mut self) -> Message {
        self.solicited = true;
        self
    }

    /// Sends its packets over several paths in turn.
    #[must_use]
    pub fn spray(mut self, spray: Spray) -> Message {
        self.spray = Some(spray);
        self
    }

    /// The channel that it goes through.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// How many packets it has.
    pub fn packets(&self) -> u32 {
        self.segments.packets()
    }

    /// How many PSNs it takes.
    pub fn psns(&self) -> u32 {
        self.segments.psns()
    }

    /// Bytes that its packets carry together.
    pub fn carried(&self) -> u32 {
        self.segments.carried()
    }

    /// The first packet's PSN.
    pub fn psn(&self) -> Psn {
        self.psn
    }

    /// The operation code of the `n`-th packet.
    pub fn opcode(&self, n: u32) -> Opcode {
        self.segments.opcode(n)
    }

    /// The `n`-th packet, from 0.
    pub fn packet(&self, n: u32) -> Packet {
        let mut packet = self.channel.path.packet().source_qp(self.channel.src_qp);
        let around = packet.parts().len();
        self.put(n, &mut packet, around);
        packet
    }

    /// All packets in order. Each is a new [`Packet`]; see [`Message::each`] for one that is reused.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Packet> + '_ {
        (0..self.packets() as usize).map(|n| self.packet(n as u32))
    }

    /// Calls `on_packet` with each packet and its number, in order. One [`Packet`] is reused, so nothing is allocated per
    /// packet.
    pub fn each(&self, mut on_packet: impl FnMut(u32, &Packet)) {
        let mut packet = self.channel.path.packet().source_qp(self.channel.src_qp);
        let around = packet.parts().len();
        for n in 0..self.packets() {
            self.put(n, &mut packet, around);
            on_packet(n, &packet);
        }
    }

    /// Replaces everything after the first `around` headers with the `n`-th packet.
    fn put(&self, n: u32, packet: &mut Packet, around: usize) {
        let channel = &self.channel;
        let (opcode, last) = (self.segments.opcode(n), self.segments.is_last(n));
        let request = matches!(self.what, What::Request(_)) && channel.service.is_reliable();
        let every = self.ack_every > 0 && n % self.ack_every == self.ack_every - 1;
        packet.truncate(around);
        if let Some(spray) = &self.spray {
            spray.put(n, packet);
        }
        let bth = template::bth()
            .with_opcode(opcode)
            .with_se(self.solicited && last)
            .with_mig_req(channel.mig_req)
            .with_p_key(channel.path.p_key)
            .with_dest_qp(channel.dst_qp)
            .with_ack_req(request && (last || every))
            .with_psn(self.psn.plus(n));
        channel.extend(packet, opcode, bth);
        match self.what {
            What::Request(request) => fill(packet, request),
            What::Response { msn, .. } => {
                packet.alter(|aeth: Aeth| aeth.with_msn(msn));
            }
        }
        let (at, len) = (self.segments.offset(n), self.segments.payload(n));
        if opcode.transport == Transport::Mrc {
            // Each packet says where it goes.
            packet.alter(|reth: Reth| reth.with_va(VirtualAddress(reth.va().0.wrapping_add(at))));
        }
        packet.set_payload(self.data.at(self.offset + at, len as usize));
    }
}

/// Fills the extended headers that the packet has from the request.
fn fill(packet: &mut Packet, request: Request) {
    let reth = |packet: &mut Packet, va: u64, r_key: u32, len: u32| {
        packet.alter(|h: Reth| h.with_va(VirtualAddress(va)).with_r_key(RKey(r_key)).with_dma_len(len));
    };
    let atomic = |packet: &mut Packet, va: u64, r_key: u32, swap: u64, compare: u64| {
        packet.alter(|h: AtomicEth| {
            h.with_va(VirtualAddress(va))
                .with_r_key(RKey(r_key))
                .with_swap_data(swap)
                .with_compare_data(compare)
        });
    };
    match request {
        Request::Send { imm, invalidate, .. } => {
            packet.alter(|h: ImmDt| h.with_data(Hex32(imm.unwrap_or(0))));
            packet.alter(|h: Ieth| h.with_r_key(RKey(invalidate.unwrap_or(0))));
        }
        Request::Write { len, va, r_key, imm } => {
            reth(packet, va, r_key, len);
            packet.alter(|h: ImmDt| h.with_data(Hex32(imm.unwrap_or(0))));
        }
        Request::Read { len, va, r_key } => reth(packet, va, r_key, len),
        Request::AtomicWrite { va, r_key } => reth(packet, va, r_key, 8),
        Request::CompareSwap { va, r_key, compare, swap } => atomic(packet, va, r_key, swap, compare),
        Request::FetchAdd { va, r_key, add } => atomic(packet, va, r_key, add, 0),
        Request::Flush { len, va, r_key, placement, selectivity } => {
            reth(packet, va, r_key, len);
            packet.alter(|h: Feth| h.with_plt(Hex8(placement)).with_sel(FlushSelectivity(selectivity)));
        }
        Request::Resync => {}
    }
}

impl From<&Request> for Operation {
    fn from(request: &Request) -> Operation {
        match request {
            Request::Send { .. } => Operation::Send,
            Request::Write { .. } => Operation::Write,
            Request::Read { .. } => Operation::ReadRequest,
            Request::CompareSwap { .. } => Operation::CompareSwap,
            Request::FetchAdd { .. } => Operation::FetchAdd,
            Request::AtomicWrite { .. } => Operation::AtomicWrite,
            Request::Flush { .. } => Operation::Flush,
            Request::Resync => Operation::Resync,
        }
    }
}
