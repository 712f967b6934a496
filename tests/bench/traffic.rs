//! Generated captures: RoCEv2 over IPv4 between the queue pairs of some hosts, seeded.

use std::path::Path;

use rdmawire::{
    capture::{self, Format, Interface, Record, Sink, Time},
    checksum,
    dissect::{Link, dissect},
    icrc,
    opcode::{Opcode, PayloadRule, Position},
    wire::Kind,
};

#[path = "bursts.rs"]
#[allow(dead_code)] // What only the bench `analyze` needs.
pub(crate) mod bursts;
#[path = "talk.rs"]
mod talk;
use talk::Talk;

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mix {
    /// RDMA WRITEs of eight packets, each message acknowledged.
    Write,
    /// RDMA READs, each answered by eight packets.
    Read,
    /// Every operation code, as queue pairs of all services use them.
    All,
    /// Every operation code in turns from every queue pair, whatever was before it: next to nothing of it makes sense.
    Nonsense,
}

/// A capture to generate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    /// Packets in all.
    pub(crate) packets: u64,
    /// Queue pairs that send.
    pub(crate) qps: u32,
    /// Payload bytes of a full packet.
    pub(crate) payload: usize,
    /// Bytes captured of each frame at most.
    pub(crate) cut: Option<usize>,
    /// What is sent.
    pub(crate) mix: Mix,
}

/// Bytes before the BTH: Ethernet, IPv4, UDP.
const BTH: usize = 14 + 20 + 8;
/// Packets of a message.
const MESSAGE: u32 = 8;

impl Traffic {
    /// Writes it.
    pub(crate) fn write(&self, path: &Path) -> Result<(), capture::Error> {
        let options = capture::Options { force: true, ..capture::Options::default() };
        let mut writer = capture::create(path, Format::Pcap, &[Interface::new(Link::ETHERNET)], options)?;
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let sender = |qp: u32| Sender { psn: qp.wrapping_mul(77_777) & 0xff_ffff, sent: 0 };
        let mut senders: Vec<Sender> = (0..self.qps).map(sender).collect();
        let talks = if self.mix == Mix::All { self.qps } else { 0 };
        let mut talks: Vec<Talk> = (0..talks).map(Talk::of).collect();
        let mut due = None;
        let mut frame = Vec::new();
        for n in 0..self.packets {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let qp = (random >> 11) as u32 % self.qps;
            let sender = &mut senders[qp as usize];
            let (packet, qp) = match (due.take(), self.mix) {
                (Some((qp, psn)), _) => (Packet::new(0x11, BACK + qp, psn), qp),
                (None, Mix::Read) => (sender.read(qp, self.payload), qp),
                (None, Mix::Write) => {
                    let packet = sender.write(qp, self.payload);
                    due = (packet.opcode == Opcode::ib(0x08)).then_some((qp, packet.psn));
                    (packet, qp)
                }
                (None, Mix::All) => (talks[qp as usize].next(self.payload), qp),
                (None, Mix::Nonsense) => {
                    (sender.any(Opcode::ALL[n as usize % Opcode::ALL.len()], qp, self.payload), qp)
                }
            };
            packet.build(qp, &mut frame);
            let time = Time(1_700_000_000_000_000_000 + n as i64 * 100);
            let captured = self.cut.map_or(frame.len(), |cut| cut.min(frame.len()));
            let wire_len = frame.len() as u32;
            writer.put(&Record {
                time,
                link: Link::ETHERNET,
                interface: 0,
                wire_len,
                frame: &frame[..captured],
            })?;
        }
        writer.finish()
    }
}

/// Where queue pairs are numbered from: those that requests go to, and those that send them.
const THERE: u32 = 0x100;
const BACK: u32 = 0x10_0000;

/// A queue pair that sends requests: the next PSN, and the packets of the message at hand.
struct Sender {
    psn: u32,
    sent: u8,
}

impl Sender {
    fn any(&mut self, opcode: Opcode, qp: u32, payload: usize) -> Packet {
        let psn = self.psn;
        self.psn = (psn + 1) & 0xff_ffff;
        let payload = if opcode.payload_rule() == PayloadRule::None { 0 } else { payload };
        let asked = if opcode == Opcode::ib(0x06) { MESSAGE * payload as u32 } else { 0 };
        Packet { payload, asked, ..Packet::new(opcode.code, THERE + qp, psn) }
    }

    fn write(&mut self, qp: u32, payload: usize) -> Packet {
        self.sent += 1;
        let opcode = match self.sent as u32 {
            1 => 0x06,
            MESSAGE => 0x08,
            _ => 0x07,
        };
        if opcode == 0x08 {
            self.sent = 0;
        }
        self.any(Opcode::ib(opcode), qp, payload)
    }

    /// A READ, or a packet of its response.
    fn read(&mut self, qp: u32, payload: usize) -> Packet {
        let (psn, sent) = (self.psn, self.sent as u32);
        self.sent = if sent == MESSAGE { 0 } else { self.sent + 1 };
        if sent == 0 {
            let asked = MESSAGE * payload as u32;
            return Packet { asked, ..Packet::new(0x0c, THERE + qp, psn) };
        }
        self.psn = (psn + 1) & 0xff_ffff;
        let opcode = match sent {
            1 => 0x0d,
            MESSAGE => 0x0f,
            _ => 0x0e,
        };
        let aeth = (opcode != 0x0e).then(|| good(psn));
        Packet { payload, aeth, ..Packet::new(opcode, BACK + qp, psn) }
    }
}

struct Packet {
    opcode: Opcode,
    qp: u32,
    psn: u32,
    payload: usize,
    /// The length in a RETH, if it has one; 0 for whatever.
    asked: u32,
    /// What an AETH says, if it says something: syndrome and MSN.
    aeth: Option<(u8, u32)>,
}

/// What an AETH says where all is well: no credits, and the number of the message.
fn good(psn: u32) -> (u8, u32) {
    (0x1f, psn / MESSAGE)
}

impl Packet {
    fn new(opcode: u8, qp: u32, psn: u32) -> Packet {
        let aeth = (opcode == 0x11).then(|| good(psn));
        Packet { opcode: Opcode::ib(opcode), qp, psn, payload: 0, asked: 0, aeth }
    }

    fn build(&self, connection: u32, frame: &mut Vec<u8>) {
        let is_back = self.qp >= BACK;
        let extended = rdmawire::wire_cost::extended_len(self.opcode) as usize;
        let udp = 8 + 12 + extended + self.payload + 4;
        frame.clear();
        frame.resize(14 + 20 + udp, 0x5a);
        frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
        frame[12..14].copy_from_slice(&[8, 0]);
        // Sixteen hosts on each side.
        let (mut src, mut dst) =
            ([10, 0, 1, (connection % 16) as u8], [10, 0, 2, (connection / 16 % 16) as u8]);
        if is_back {
            (src, dst) = (dst, src);
        }
        let ip = &mut frame[14..34];
        ip.copy_from_slice(&[0x45, 26 << 2 | 2, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        ip[2..4].copy_from_slice(&(20 + udp as u16).to_be_bytes());
        ip[12..16].copy_from_slice(&src);
        ip[16..20].copy_from_slice(&dst);
        let sum = checksum::internet(ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        let port = 0xc000 | (connection as u16).wrapping_mul(0x9e3) & 0x3fff;
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        frame[36..38].copy_from_slice(&4791u16.to_be_bytes());
        frame[38..40].copy_from_slice(&(udp as u16).to_be_bytes());
        frame[40..42].copy_from_slice(&[0, 0]);
        let bth = &mut frame[BTH..BTH + 12];
        bth.copy_from_slice(&[self.opcode.code, 0x40, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
        bth[5..8].copy_from_slice(&self.qp.to_be_bytes()[1..]);
        bth[9..12].copy_from_slice(&self.psn.to_be_bytes()[1..]);
        if is_back || self.opcode.position() == Position::Last {
            bth[8] = 0x80 * !is_back as u8;
        }
        let end = frame.len();
        let mut at = BTH + 12;
        for kind in self.opcode.chain() {
            match (kind, self.aeth) {
                (Kind::Aeth, Some((syndrome, msn))) => {
                    frame[at..at + 4].copy_from_slice(&msn.to_be_bytes());
                    frame[at] = syndrome;
                }
                (Kind::Reth, _) if self.asked > 0 => {
                    frame[at + 12..at + 16].copy_from_slice(&self.asked.to_be_bytes());
                }
                _ => {}
            }
            at += kind.info().map_or(0, |info| info.len);
        }
        let right = icrc::compute(&dissect(Link::ETHERNET, frame, end as u32)).unwrap_or_default();
        frame[end - 4..].copy_from_slice(&right);
    }
}
