//! Flow control: PAUSE and priority flow control frames, single or renewed, and InfiniBand's link packets.

use super::Packet;
use crate::{dissect::Link, wire::*};

/// A PAUSE frame for this many quanta of 512 bit times; 0 ends the pause.
pub fn pause(src: Mac, quanta: u16) -> Packet {
    control(src).push(Pause::default().with_pause_time(quanta))
}

/// A priority flow control frame. Each priority with a value is paused for this many quanta; 0 ends its pause.
pub fn pfc(src: Mac, quanta: [Option<u16>; 8]) -> Packet {
    let mut pfc = Pfc::default();
    for (priority, quanta) in quanta.into_iter().enumerate() {
        if let Some(quanta) = quanta {
            pfc = pfc.with_time(priority as u8, quanta);
        }
    }
    control(src).push(pfc)
}

fn control(src: Mac) -> Packet {
    let ethernet = Ethernet::default().with_dst(MacControl::ADDRESS).with_src(src);
    Packet::new(Link::ETHERNET).push(ethernet).push(MacControl::default())
}

/// A pause held for a given time: frames that renew it before it expires, and one that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The sender of the frames.
    pub src: Mac,
    /// The priorities, one bit each. `None`: PAUSE frames, which stop all.
    pub priorities: Option<u8>,
    /// How long, in nanoseconds.
    pub ns: u64,
    /// The link's speed in bits a second.
    pub speed: u64,
    /// Quanta of each frame.
    pub quanta: u16,
}

/// Quanta that a renewal may come late: it may have to wait for a frame of 9216 bytes and takes its own time, with
/// preamble and gap of both 146 quanta. The rest is for rounding.
const MARGIN: u64 = 148;

impl Hold {
    /// A pause of these priorities, with the longest quanta and so the fewest frames.
    pub fn new(src: Mac, priorities: Option<u8>, ns: u64, speed: u64) -> Hold {
        Hold { src, priorities, ns, speed: speed.max(1), quanta: u16::MAX }
    }

    /// Time between frames, in bit times: the quanta less a margin, in which a frame of 9216 bytes can be sent; half of
    /// the quanta if they are not more than twice the margin.
    pub fn interval_bits(&self) -> u64 {
        let quanta = self.quanta as u64;
        let quanta = if quanta > 2 * MARGIN { quanta - MARGIN } else { quanta.div_ceil(2) };
        quanta.max(1) * QUANTUM_BITS
    }

    /// Time between frames in nanoseconds, rounded down.
    pub fn interval_ns(&self) -> u64 {
        self.ns_of(self.interval_bits() as u128)
    }

    /// How many frames there are, with the last one.
    pub fn frames(&self) -> u64 {
        let bits = self.ns as u128 * self.speed as u128;
        bits.div_ceil(self.interval_bits() as u128 * 1_000_000_000) as u64 + 1
    }

    /// The frames, each with its time in nanoseconds after the first. The last one ends the pause.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Packet)> + '_ {
        let frames = self.frames();
        (0..frames).map(move |n| match n + 1 == frames {
            true => (self.ns, self.frame(0)),
            false => (self.ns_of(n as u128 * self.interval_bits() as u128), self.frame(self.quanta)),
        })
    }

    /// One frame with this many quanta.
    pub fn frame(&self, quanta: u16) -> Packet {
        match self.priorities {
            None => pause(self.src, quanta),
            Some(mask) => {
                pfc(self.src, std::array::from_fn(|priority| (mask >> priority & 1 == 1).then_some(quanta)))
            }
        }
    }

    fn ns_of(&self, bits: u128) -> u64 {
        (bits * 1_000_000_000 / self.speed.max(1) as u128) as u64
    }
}

/// An InfiniBand flow control packet in an ERF record, the only format that can hold one. `fctbs` is how many blocks of
/// 64 bytes were sent, `fccl` the limit that the receiver's buffer sets, both modulo 4096 (IBTA vol. 1, 7.9.4).
pub fn flow_control(op: LinkOp, vl: u8, fctbs: u16, fccl: u16) -> Packet {
    let packet = LinkPacket::default().with_op(op).with_vl(vl).with_fctbs(fctbs).with_fccl(fccl);
    Packet::new(Link::ERF).push(Erf::default().with_flags(Hex8(4))).push(packet)
}
