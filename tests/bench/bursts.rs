//! Captures as a switch mirrors them: short bursts of RDMA WRITEs of many queue pairs in turns, seeded.

use std::path::Path;

use rdmawire::{
    capture::{self, Format, Interface, Record, Sink, Time},
    dissect::Link,
};

use super::{BACK, Packet, THERE};

/// Packets of a queue pair in a row, at most.
const LONGEST: u64 = 8;
/// Of so many packets of data, one is missing.
const ONE_IN: u64 = 1000;
/// Between two packets: what a frame of 1 KiB takes at 100 Gbit/s.
const STEP_NS: i64 = 90;

/// Why packets are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// None is.
    Nothing,
    /// The network lost them: the receiver says so, and the sender goes back.
    Lost,
    /// The capture lacks them, and they arrived.
    Unseen,
}

/// A capture to generate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bursts {
    /// Packets in all.
    pub(crate) packets: u64,
    /// Queue pairs that send.
    pub(crate) qps: u32,
    /// Packets of a message.
    pub(crate) message: u32,
    /// Payload bytes of a packet.
    pub(crate) payload: usize,
    /// Bytes captured of each frame at most.
    pub(crate) cut: usize,
    /// Why packets are missing.
    pub(crate) missing: Missing,
    /// Answers are in the capture, too.
    pub(crate) both_ways: bool,
}

impl Bursts {
    /// Writes it.
    pub(crate) fn write(&self, path: &Path) -> Result<(), capture::Error> {
        let options = capture::Options { force: true, ..capture::Options::default() };
        let mut writer = capture::create(path, Format::Pcap, &[Interface::new(Link::ETHERNET)], options)?;
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut senders: Vec<Sender> = (0..self.qps).map(|qp| self.sender(qp)).collect();
        let (mut burst, mut frame, mut written) = (Vec::new(), Vec::new(), 0);
        while written < self.packets {
            let qp = random.below(self.qps as u64) as u32;
            self.burst(&mut senders[qp as usize], qp, &mut random, &mut burst);
            for packet in burst.drain(..).take((self.packets - written) as usize) {
                packet.build(qp, &mut frame);
                writer.put(&Record {
                    time: Time(1_700_000_000_000_000_000 + written as i64 * STEP_NS),
                    link: Link::ETHERNET,
                    interface: 0,
                    wire_len: frame.len() as u32,
                    frame: &frame[..self.cut.min(frame.len())],
                })?;
                written += 1;
            }
        }
        writer.finish()
    }

    /// Senders are at different places of their messages.
    fn sender(&self, qp: u32) -> Sender {
        let psn = qp.wrapping_mul(77_777) & 0xff_ffff;
        Sender { psn, sent: 0, messages: 0, lost: None, is_noticed: false }
    }

    /// The next packets of a sender, and their answers.
    fn burst(&self, sender: &mut Sender, qp: u32, random: &mut Random, burst: &mut Vec<Packet>) {
        if let Some((psn, sent)) = sender.lost.take() {
            if std::mem::take(&mut sender.is_noticed) && self.both_ways {
                burst.push(Packet {
                    aeth: Some((0x60, sender.messages)),
                    ..Packet::new(0x11, BACK + qp, psn)
                });
            }
            (sender.psn, sender.sent) = (psn, sent);
        }
        let mut ended = None;
        for _ in 0..=random.below(LONGEST) {
            let (psn, sent) = (sender.psn, sender.sent);
            let packet = sender.next(qp, self);
            let is_last = sender.sent == 0;
            if self.missing != Missing::Nothing && random.below(ONE_IN) == 0 {
                if self.missing == Missing::Lost && sender.lost.is_none() {
                    sender.lost = Some((psn, sent));
                }
            } else {
                sender.is_noticed |= sender.lost.is_some();
                burst.push(packet);
            }
            if is_last && sender.lost.is_none() {
                sender.messages = sender.messages.wrapping_add(1) & 0xff_ffff;
                ended = Some(psn);
            }
        }
        if let Some(psn) = ended.filter(|_| self.both_ways) {
            burst.push(Packet { aeth: Some((0x1f, sender.messages)), ..Packet::new(0x11, BACK + qp, psn) });
        }
    }
}

/// A queue pair that sends: the next packet.
struct Sender {
    psn: u32,
    /// Packets of the message at hand.
    sent: u32,
    /// Messages that arrived.
    messages: u32,
    /// The first packet that was lost, and packets of its message before it.
    lost: Option<(u32, u32)>,
    /// The receiver got a later one.
    is_noticed: bool,
}

impl Sender {
    fn next(&mut self, qp: u32, bursts: &Bursts) -> Packet {
        let psn = self.psn;
        self.psn = (psn + 1) & 0xff_ffff;
        self.sent += 1;
        let opcode = match self.sent {
            1 => 0x06,
            sent if sent == bursts.message => 0x08,
            _ => 0x07,
        };
        self.sent %= bursts.message;
        let asked = if opcode == 0x06 { bursts.message * bursts.payload as u32 } else { 0 };
        Packet { payload: bursts.payload, asked, ..Packet::new(opcode, THERE + qp, psn) }
    }
}

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}
