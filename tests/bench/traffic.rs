//! Generated captures: RoCEv2 over IPv4 between the queue pairs of some hosts, seeded.

use std::path::Path;

use super::*;

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mix {
    /// RDMA WRITEs of eight packets, each message acknowledged.
    Write,
    /// Every operation code in turns, with payload where it has any.
    All,
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
        let mut psns: Vec<u32> = (0..self.qps).map(|qp| qp.wrapping_mul(77_777) & 0xff_ffff).collect();
        let mut sent = vec![0u8; self.qps as usize];
        let mut due = None;
        let mut frame = Vec::new();
        for n in 0..self.packets {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let qp = (random >> 11) as u32 % self.qps;
            let (packet, qp) = match due.take() {
                Some((qp, psn)) => (Packet { opcode: Opcode(0x11), qp: 0x10_0000 + qp, psn, payload: 0 }, qp),
                None => {
                    let at = qp as usize;
                    let psn = psns[at];
                    psns[at] = (psn + 1) & 0xff_ffff;
                    let opcode = match self.mix {
                        Mix::All => Opcode::ALL[n as usize % Opcode::ALL.len()],
                        Mix::Write => {
                            sent[at] += 1;
                            match sent[at] as u32 {
                                1 => Opcode(0x06),
                                MESSAGE => {
                                    sent[at] = 0;
                                    due = Some((qp, psn));
                                    Opcode(0x08)
                                }
                                _ => Opcode(0x07),
                            }
                        }
                    };
                    let payload = match opcode.payload_rule() {
                        PayloadRule::None => 0,
                        _ => self.payload,
                    };
                    (Packet { opcode, qp: 0x100 + qp, psn, payload }, qp)
                }
            };
            packet.build(qp, packet.qp >= 0x10_0000, &mut frame);
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

struct Packet {
    opcode: Opcode,
    qp: u32,
    psn: u32,
    payload: usize,
}

impl Packet {
    fn build(&self, connection: u32, is_back: bool, frame: &mut Vec<u8>) {
        let extended = rdmawire::cost::extended_len(self.opcode) as usize;
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
        bth.copy_from_slice(&[self.opcode.0, 0x40, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
        bth[5..8].copy_from_slice(&self.qp.to_be_bytes()[1..]);
        bth[9..12].copy_from_slice(&self.psn.to_be_bytes()[1..]);
        if is_back || self.opcode == Opcode(0x08) {
            bth[8] = 0x80 * !is_back as u8;
        }
        // An acknowledgement's AETH: good, no credits; the MSN is the message's number.
        let end = frame.len();
        if self.opcode == Opcode(0x11) {
            frame[BTH + 12] = 0x1f;
            frame[BTH + 13..BTH + 16].copy_from_slice(&(self.psn / MESSAGE).to_be_bytes()[1..]);
        }
        if matches!(self.opcode.0, 0x06) {
            frame[BTH + 24..BTH + 28].copy_from_slice(&(MESSAGE * self.payload as u32).to_be_bytes());
        }
        let right = icrc::compute(&dissect(Link::ETHERNET, frame, end as u32)).unwrap_or_default();
        frame[end - 4..].copy_from_slice(&right);
    }
}
