//! The packets of a message: how many there are, their operation codes, the payload of each.
//!
//! InfiniBand Architecture Specification vol. 1, 9.7 and table 38.

use core::fmt;

use crate::{
    opcode::{Opcode, Operation, Position, Service},
    wire::Kind,
};

/// The most bytes that a message moves.
pub const LONGEST: u32 = 1 << 31;

/// Whether this is a path MTU that InfiniBand has.
pub const fn is_path_mtu(bytes: u32) -> bool {
    bytes.is_power_of_two() && bytes >= 256 && bytes <= 4096
}

/// How many packets carry `len` bytes: one at least.
pub fn packets(len: u32, mtu: u32) -> u32 {
    len.div_ceil(mtu.max(1)).max(1)
}

/// What the last packet of a message carries beside its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ending {
    /// Nothing.
    #[default]
    Plain,
    /// Immediate data: SEND and WRITE.
    Immediate,
    /// The remote key to invalidate: SEND.
    Invalidate,
}

/// A message cut into packets of the path MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    operation: Operation,
    /// Of the first packet, of the middle ones, of the last one. A message of one packet has the same code three times.
    opcodes: [Opcode; 3],
    size: u32,
    mtu: u32,
}

/// Why a service has no such message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// No operation code for it.
    Service(Service),
    /// A datagram is one packet: the message's bytes, and how many fit.
    Datagram(u32, u32),
    /// More than 2^31 bytes.
    Length(u64),
}

impl Segments {
    /// A message that moves `size` bytes. Operations with a size of their own, such as atomics, ignore it.
    ///
    /// # Errors
    /// The service has no such operation, or no message of this size.
    pub fn new(
        service: Service,
        operation: Operation,
        ending: Ending,
        size: u64,
        mtu: u32,
    ) -> Result<Segments, Unsupported> {
        let size = match operation {
            Operation::Send | Operation::Write | Operation::ReadRequest | Operation::ReadResponse => size,
            Operation::AtomicWrite => 8,
            _ => 0,
        };
        let size =
            u32::try_from(size).ok().filter(|&size| size <= LONGEST).ok_or(Unsupported::Length(size))?;
        let mut segments = Segments { operation, opcodes: [Opcode::ib(0); 3], size, mtu: mtu.max(1) };
        let positions = match segments.packets() {
            1 => [Position::Only; 3],
            _ if service == Service::Ud => return Err(Unsupported::Datagram(size, mtu)),
            _ => [Position::First, Position::Middle, Position::Last],
        };
        for (opcode, position) in segments.opcodes.iter_mut().zip(positions) {
            *opcode = find(service, operation, position, ending).ok_or(Unsupported::Service(service))?;
        }
        Ok(segments)
    }

    /// The operation.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// Bytes that its packets carry together: none for a READ request.
    pub fn carried(&self) -> u32 {
        if self.operation == Operation::ReadRequest { 0 } else { self.size }
    }

    /// How many packets it takes.
    pub fn packets(&self) -> u32 {
        packets(self.carried(), self.mtu)
    }

    /// How many PSNs it takes: a READ request as many as its response has packets.
    pub fn psns(&self) -> u32 {
        packets(self.size, self.mtu)
    }

    /// Whether the `n`-th packet, from 0, is the last.
    pub fn is_last(&self, n: u32) -> bool {
        n + 1 >= self.packets()
    }

    /// The operation code of the `n`-th packet.
    pub fn opcode(&self, n: u32) -> Opcode {
        self.opcodes[if self.is_last(n) { 2 } else { (n > 0) as usize }]
    }

    /// Where in the message the payload of the `n`-th packet begins.
    pub fn offset(&self, n: u32) -> u64 {
        n as u64 * self.mtu as u64
    }

    /// Bytes of payload of the `n`-th packet.
    pub fn payload(&self, n: u32) -> u32 {
        (self.carried() as u64).saturating_sub(self.offset(n)).min(self.mtu as u64) as u32
    }

    /// What answers this request; `None` where nothing does.
    pub fn response(&self) -> Option<Segments> {
        let service = self.opcodes[0].service();
        let (operation, size) = match self.operation {
            Operation::ReadRequest => (Operation::ReadResponse, self.size),
            Operation::CompareSwap | Operation::FetchAdd => (Operation::AtomicAcknowledge, 0),
            // Both are answered by an empty READ response (IBTA vol. 1, annex A19; Linux rxe_resp.c).
            Operation::Flush | Operation::AtomicWrite => (Operation::ReadResponse, 0),
            _ => (Operation::Acknowledge, 0),
        };
        Segments::new(service, operation, Ending::Plain, size as u64, self.mtu).ok()
    }
}

/// The operation code of a packet at that place of a message.
fn find(service: Service, operation: Operation, position: Position, ending: Ending) -> Option<Opcode> {
    let ends = matches!(position, Position::Last | Position::Only);
    (0..0x20).map(|code| service.opcode_like(Opcode::ib(code))).find(|opcode| {
        opcode.operation() == Some(operation)
            && opcode.position() == position
            && opcode.has(Kind::ImmDt) == (ends && ending == Ending::Immediate)
            && opcode.has(Kind::Ieth) == (ends && ending == Ending::Invalidate)
    })
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsupported::Service(service) => write!(f, "{} has no such operation", service.name()),
            Unsupported::Datagram(len, mtu) => {
                write!(f, "a datagram is one packet of at most {mtu} bytes, not {len}")
            }
            Unsupported::Length(len) => write!(f, "a message has at most {LONGEST} bytes, not {len}"),
        }
    }
}

impl core::error::Error for Unsupported {}
