//! Messages as the packets they take at an MTU, and what answers them.

use std::fmt;

use bytes::Bytes;

use super::{Packet, Path, template};
use crate::{
    dissect::Dissection,
    opcode::{Opcode, Operation, Service},
    wire::*,
};

/// What a message's packets carry: bytes by their place in the message, so that a packet sent again carries the
/// same. Made once; every packet takes a slice of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data(Shape);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// Repeats after [`PERIOD`] bytes; holds a period and the longest packet.
    Repeats(Bytes),
    Is(Bytes),
}

const PERIOD: usize = 4096;
const LONGEST: usize = 4096;

impl Data {
    /// Bytes that look random, the same for the same seed (SplitMix64), repeated every 4096 bytes.
    pub fn pattern(seed: u64) -> Data {
        let mut state = seed;
        let words = (0..PERIOD / 8).map(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            split_mix(state)
        });
        let mut bytes: Vec<u8> = words.flat_map(u64::to_be_bytes).collect();
        bytes.extend_from_within(..);
        Data(Shape::Repeats(bytes.into()))
    }

    /// Zeros.
    pub fn zeros() -> Data {
        Data(Shape::Repeats(Bytes::from_static(&[0; PERIOD + LONGEST])))
    }

    /// These bytes; after their end there are none.
    pub fn bytes(bytes: impl Into<Bytes>) -> Data {
        Data(Shape::Is(bytes.into()))
    }

    /// The bytes at this place, at most 4096 of a pattern.
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

pub(super) fn split_mix(state: u64) -> u64 {
    let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// What a requester asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// SEND.
    Send {
        /// Bytes.
        len: u32,
        /// Immediate data.
        imm: Option<u32>,
        /// The remote key to invalidate; not together with immediate data.
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
        /// What must stand there.
        compare: u64,
        /// What is put there then.
        swap: u64,
    },
    /// Fetch and add.
    FetchAdd {
        /// Remote virtual address, a multiple of eight.
        va: u64,
        /// Remote key.
        r_key: u32,
        /// What is added.
        add: u64,
    },
    /// ATOMIC WRITE of eight bytes of the message's data.
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
    /// Bytes that its own packets carry.
    pub fn carried(&self) -> u32 {
        match *self {
            Request::Send { len, .. } | Request::Write { len, .. } => len,
            Request::AtomicWrite { .. } => 8,
            _ => 0,
        }
    }

    /// How many packets it takes at this MTU.
    pub fn packets(&self, mtu: u16) -> u32 {
        packets(self.carried(), mtu)
    }

    /// How many PSNs it uses: a READ as many as its response has packets.
    pub fn psns(&self, mtu: u16) -> u32 {
        match *self {
            Request::Read { len, .. } => packets(len, mtu),
            _ => self.packets(mtu),
        }
    }

    /// A READ asked again from its `n`-th response packet on, as a requester does that lost that one: the rest of
    /// the range. Others stay as they are. Its PSN is the first one's plus `n`.
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

    /// The operation code without its service, of a message's packet.
    fn code(&self, first: bool, last: bool) -> u8 {
        match *self {
            Request::Send { imm, invalidate, .. } => match (first, last) {
                (true, false) => 0x00,
                (false, false) => 0x01,
                (false, true) if imm.is_some() => 0x03,
                (false, true) if invalidate.is_some() => 0x16,
                (false, true) => 0x02,
                (true, true) if imm.is_some() => 0x05,
                (true, true) if invalidate.is_some() => 0x17,
                (true, true) => 0x04,
            },
            Request::Write { imm, .. } => match (first, last) {
                (true, false) => 0x06,
                (false, false) => 0x07,
                (false, true) => 0x08 + imm.is_some() as u8,
                (true, true) => 0x0a + imm.is_some() as u8,
            },
            Request::Read { .. } => 0x0c,
            Request::CompareSwap { .. } => 0x13,
            Request::FetchAdd { .. } => 0x14,
            Request::Resync => 0x15,
            Request::Flush { .. } => 0x1c,
            Request::AtomicWrite { .. } => 0x1d,
        }
    }
}

/// How many packets `len` bytes take: one at least.
pub fn packets(len: u32, mtu: u16) -> u32 {
    len.div_ceil(mtu.max(1) as u32).max(1)
}

/// The upper bits of a service's operation codes.
const fn class(service: Service) -> u8 {
    match service {
        Service::Rc => 0x00,
        Service::Uc => 0x20,
        Service::Rd => 0x40,
        Service::Ud => 0x60,
        Service::Cn => 0x80,
        Service::Xrc => 0xa0,
        Service::Vendor => 0xc0,
    }
}

/// One direction of a connection: from a queue pair to its peer. Requests of one end, and its answers to the
/// requests of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The addresses and what is around the transport.
    pub path: Path,
    /// Transport service.
    pub service: Service,
    /// Path MTU in bytes: what a FIRST or MIDDLE packet carries.
    pub mtu: u16,
    /// The sender's queue pair: UDP source port, DETH.
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

/// Why a service has no such message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// No operation code for it.
    Service(Service),
    /// A datagram is one packet: the message's bytes, and how many fit.
    Datagram(u32, u16),
    /// More than 2^31 bytes.
    Length(u32),
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsupported::Service(service) => write!(f, "{} has no such operation", service.name()),
            Unsupported::Datagram(len, mtu) => {
                write!(f, "a datagram is one packet of at most {mtu} bytes, not {len}")
            }
            Unsupported::Length(len) => write!(f, "a message has at most 2147483648 bytes, not {len}"),
        }
    }
}

impl std::error::Error for Unsupported {}

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

    /// The other direction.
    #[must_use]
    pub fn reversed(self) -> Channel {
        Channel { path: self.path.reversed(), src_qp: self.dst_qp, dst_qp: self.src_qp, ..self }
    }

    /// A request from this PSN on, with a pattern as its data.
    pub fn request(&self, psn: Psn, request: Request) -> Result<Message, Unsupported> {
        let one = request.packets(self.mtu) == 1;
        let known = |first, last| Opcode(class(self.service) | request.code(first, last)).is_known();
        if !known(true, one) || !known(one, true) {
            return Err(match self.service {
                Service::Ud if !one => Unsupported::Datagram(request.carried(), self.mtu),
                service => Unsupported::Service(service),
            });
        }
        let len = match request {
            Request::Read { len, .. } => len,
            _ => request.carried(),
        };
        if len > 1 << 31 {
            return Err(Unsupported::Length(len));
        }
        Ok(self.message(psn, What::Request(request)))
    }

    /// The response to an RDMA READ, in the requester's PSN space; with a length of zero also what answers an ATOMIC
    /// WRITE and a FLUSH. `msn` is the responder's count of messages.
    pub fn read_response(&self, psn: Psn, len: u32, msn: u32) -> Message {
        self.message(psn, What::Response { len, msn })
    }

    fn message(&self, psn: Psn, what: What) -> Message {
        Message { channel: *self, psn, what, data: Data::zeros(), offset: 0, ack_every: 0, solicited: false }
    }

    /// An acknowledgement of everything up to this PSN, without a credit count.
    pub fn ack(&self, psn: Psn, msn: u32) -> Packet {
        self.acknowledge(psn, Syndrome::ACK, msn)
    }

    /// A refusal: the PSN is the expected one, or that of the packet that is refused.
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

    /// Receiver not ready: send again after this many microseconds, rounded up to the next of the table's.
    pub fn rnr(&self, psn: Psn, timer_us: u32, msn: u32) -> Packet {
        self.acknowledge(psn, Syndrome::rnr(timer_us), msn)
    }

    /// An acknowledgement with any syndrome.
    pub fn acknowledge(&self, psn: Psn, syndrome: Syndrome, msn: u32) -> Packet {
        let packet = self.headers(Opcode(class(self.service) | 0x11), psn);
        packet.edit(|aeth: Aeth| aeth.with_syndrome(syndrome).with_msn(msn))
    }

    /// The answer to an atomic operation: what stood there before.
    pub fn atomic_ack(&self, psn: Psn, msn: u32, original: u64) -> Packet {
        self.headers(Opcode(class(self.service) | 0x12), psn)
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

    /// Every header of an operation code, with what the channel knows in them.
    pub fn headers(&self, opcode: Opcode, psn: Psn) -> Packet {
        let bth = template::bth()
            .with_opcode(opcode)
            .with_mig_req(self.mig_req)
            .with_p_key(self.path.p_key)
            .with_dest_qp(self.dst_qp)
            .with_psn(psn);
        let mut packet = self.path.packet().source_qp(self.src_qp).push(bth);
        self.extend(&mut packet, opcode);
        packet
    }

    /// Put the operation code's extended headers behind the BTH.
    fn extend(&self, packet: &mut Packet, opcode: Opcode) {
        for &kind in opcode.chain() {
            match kind {
                Kind::Deth => packet
                    .append_header(Deth::default().with_q_key(Hex32(self.q_key)).with_src_qp(self.src_qp)),
                Kind::Rdeth => packet.append_header(Rdeth::default().with_ee_context(Hex32(self.ee_context))),
                Kind::Xrceth => packet.append_header(Xrceth::default().with_xrc_srq(Hex32(self.xrc_srq))),
                Kind::Aeth => packet.append_header(Aeth::default().with_syndrome(Syndrome::ACK)),
                _ => packet.append(kind, ZEROS.get(..kind.info().map_or(0, |info| info.len)).unwrap_or(&[])),
            }
        }
    }
}

const ZEROS: [u8; 64] = [0; 64];

/// The congestion notification that the receiver of a data packet sends: addresses swapped, to the queue pair that
/// sent it. That stands in no packet of a connection, so it must be given; a datagram's is in its DETH. `None` for a
/// frame without a BTH.
pub fn cnp_for(d: &Dissection<'_>, sender: Option<Qpn>) -> Option<Packet> {
    Some(answer(d, sender)?.cnp())
}

/// The channel on which a frame is answered; the queue pair it came from as for [`cnp_for`], 0 where nobody says.
pub fn answer(d: &Dissection<'_>, sender: Option<Qpn>) -> Option<Channel> {
    let bth = d.get::<Bth>()?;
    let sender = sender.or(d.get::<Deth>().map(|deth| deth.src_qp())).unwrap_or_default();
    let mut channel = Channel::rc(Path::of(d)?.reversed(), bth.dest_qp(), sender);
    channel.service = match bth.opcode().service() {
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
    Response { len: u32, msn: u32 },
}

/// A request, or the response to a READ: packets by number, so that any of them can be sent again.
#[derive(Clone, Debug)]
pub struct Message {
    channel: Channel,
    psn: Psn,
    what: What,
    data: Data,
    offset: u64,
    ack_every: u32,
    solicited: bool,
}

impl Message {
    /// The same message with this data.
    #[must_use]
    pub fn data(mut self, data: Data) -> Message {
        self.data = data;
        self
    }

    /// The same message with its data taken from this place on: for the response to a READ that was resumed.
    #[must_use]
    pub fn offset(mut self, offset: u64) -> Message {
        self.offset = offset;
        self
    }

    /// The same message with an acknowledgement asked for in every `n`-th packet too; 0, as at first, is in the
    /// last only.
    #[must_use]
    pub fn ack_every(mut self, n: u32) -> Message {
        self.ack_every = n;
        self
    }

    /// The same message with a solicited event asked for in its last packet.
    #[must_use]
    pub fn solicited(mut self) -> Message {
        self.solicited = true;
        self
    }

    /// How many packets it has.
    pub fn packets(&self) -> u32 {
        packets(self.carried(), self.channel.mtu)
    }

    /// How many PSNs it uses.
    pub fn psns(&self) -> u32 {
        match self.what {
            What::Request(request) => request.psns(self.channel.mtu),
            What::Response { .. } => self.packets(),
        }
    }

    /// Bytes that its packets carry together.
    pub fn carried(&self) -> u32 {
        match self.what {
            What::Request(request) => request.carried(),
            What::Response { len, .. } => len,
        }
    }

    /// The first packet's PSN.
    pub fn psn(&self) -> Psn {
        self.psn
    }

    /// The operation code of the `n`-th packet.
    pub fn opcode(&self, n: u32) -> Opcode {
        let (first, last) = (n == 0, n + 1 >= self.packets());
        let code = match self.what {
            What::Request(request) => request.code(first, last),
            What::Response { .. } => match (first, last) {
                (true, false) => 0x0d,
                (false, false) => 0x0e,
                (false, true) => 0x0f,
                (true, true) => 0x10,
            },
        };
        Opcode(class(self.channel.service) | code)
    }

    /// The `n`-th packet, from 0.
    pub fn packet(&self, n: u32) -> Packet {
        let mut packet = self.channel.path.packet().source_qp(self.channel.src_qp);
        let around = packet.parts().len();
        self.put(n, &mut packet, around);
        packet
    }

    /// All packets in order. Each is a new [`Packet`]; [`Message::each`] reuses one.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Packet> + '_ {
        (0..self.packets() as usize).map(|n| self.packet(n as u32))
    }

    /// Show every packet in order, with its number. The packet is the same one with other contents: nothing is
    /// allocated a packet.
    pub fn each(&self, mut see: impl FnMut(u32, &Packet)) {
        let mut packet = self.channel.path.packet().source_qp(self.channel.src_qp);
        let around = packet.parts().len();
        for n in 0..self.packets() {
            self.put(n, &mut packet, around);
            see(n, &packet);
        }
    }

    /// Put the `n`-th packet behind the first `around` headers.
    fn put(&self, n: u32, packet: &mut Packet, around: usize) {
        let channel = &self.channel;
        let (opcode, last) = (self.opcode(n), n + 1 >= self.packets());
        let request = matches!(self.what, What::Request(_)) && channel.service.is_reliable();
        let every = self.ack_every > 0 && n % self.ack_every == self.ack_every - 1;
        packet.truncate(around);
        packet.append_header(
            template::bth()
                .with_opcode(opcode)
                .with_se(self.solicited && last)
                .with_mig_req(channel.mig_req)
                .with_p_key(channel.path.p_key)
                .with_dest_qp(channel.dst_qp)
                .with_ack_req(request && (last || every))
                .with_psn(self.psn.plus(n)),
        );
        channel.extend(packet, opcode);
        match self.what {
            What::Request(request) => fill(packet, request),
            What::Response { msn, .. } => {
                packet.alter(|aeth: Aeth| aeth.with_msn(msn));
            }
        }
        let mtu = channel.mtu as u64;
        let at = n as u64 * mtu;
        let len = (self.carried() as u64).saturating_sub(at).min(mtu);
        packet.set_payload(self.data.at(self.offset + at, len as usize));
    }
}

/// What the request says, in the extended headers that the packet has.
fn fill(packet: &mut Packet, request: Request) {
    let reth = |packet: &mut Packet, va: u64, r_key: u32, len: u32| {
        packet.alter(|h: Reth| h.with_va(Hex64(va)).with_r_key(Hex32(r_key)).with_dma_len(len));
    };
    let atomic = |packet: &mut Packet, va: u64, r_key: u32, swap: u64, compare: u64| {
        packet.alter(|h: AtomicEth| {
            h.with_va(Hex64(va)).with_r_key(Hex32(r_key)).with_swap_data(swap).with_compare_data(compare)
        });
    };
    match request {
        Request::Send { imm, invalidate, .. } => {
            packet.alter(|h: ImmDt| h.with_data(Hex32(imm.unwrap_or(0))));
            packet.alter(|h: Ieth| h.with_r_key(Hex32(invalidate.unwrap_or(0))));
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

/// The operation that a request asks for.
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
