//! Command and response capsules: what a SEND of NVMe over RDMA carries (NVM Express base specification 2.0, 3.3.2 and 4.2; RDMA transport
//! specification 1.0).

use std::borrow::Cow;

use crate::{
    report::DataDirection,
    wire::{NvmeFabricsType, NvmeStatus},
};

/// Bytes of a submission queue entry: a command.
pub(super) const SQE: usize = 64;
/// Bytes of a completion queue entry: a response capsule has nothing else.
pub(super) const CQE: usize = 16;
/// The operation code of all Fabrics commands.
const FABRICS: u8 = 0x7f;

/// A command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sqe<'a>(&'a [u8; SQE]);

/// What became of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cqe<'a>(&'a [u8; CQE]);

/// Where a command's data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// In the host's memory: address, length and key. The controller reads or writes it.
    Keyed {
        address: u64,
        len: u32,
        rkey: u32,
    },
    /// In the capsule, behind the command.
    InCapsule {
        len: u32,
    },
    None,
}

/// Which command: operation codes mean something else on the admin queue, and Fabrics commands have a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Command {
    Fabrics(u8),
    Plain(u8),
}

impl<'a> Sqe<'a> {
    /// The command at the start of a SEND's payload; `None` if that can be none: its data is described by an SGL that NVMe over Fabrics
    /// allows.
    pub(super) fn read(payload: &'a [u8]) -> Option<Sqe<'a>> {
        let sqe = Sqe(payload.first_chunk()?);
        let sgl = sqe.0[39];
        let is_fabrics = sqe.0[0] == FABRICS;
        // FUSE is 0 to 2, reserved bits are 0, PSDT says that there is an SGL.
        let has_flags = sqe.0[1] & 0x3c == 0 && sqe.0[1] & 3 != 3 && sqe.0[1] >> 6 == 1;
        let has_sgl = matches!(sgl, 0x00 | 0x01 | 0x40 | 0x4f | 0x5a);
        let is_plain = sgl != 0x01 || sqe.long(24) < 1 << 24;
        let is_reserved_zero = !is_fabrics || sqe.0[5..24].iter().all(|&byte| byte == 0);
        (has_flags && has_sgl && is_plain && is_reserved_zero).then_some(sqe)
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Bytes of data that it names.
    pub(super) fn data_len(&self) -> u32 {
        match self.data() {
            Data::Keyed { len, .. } | Data::InCapsule { len } => len,
            Data::None => 0,
        }
    }

    /// The first block and how many, of a command of an I/O queue that has some.
    pub(super) fn blocks(&self) -> Option<(u64, u32)> {
        // Write, Read, Write Uncorrectable, Compare, Write Zeroes, Verify, Zone Append.
        matches!(self.0[0], 0x01 | 0x02 | 0x04 | 0x05 | 0x08 | 0x0c | 0x7d)
            .then(|| (self.long(40), u32::from(self.short(48)) + 1))
    }

    /// Of Set Features with the keep-alive timeout: the timeout in milliseconds.
    pub(super) fn sets_keep_alive(&self) -> Option<u32> {
        (self.0[0] == 0x09 && self.0[40] == 0x0f).then(|| self.word(44))
    }

    /// Of Property Get for the capabilities.
    pub(super) fn gets_capabilities(&self) -> bool {
        self.command() == Command::Fabrics(4) && self.word(44) == 0
    }

    fn short(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    fn word(&self, at: usize) -> u32 {
        u32::from(self.short(at)) | u32::from(self.short(at + 2)) << 16
    }

    fn long(&self, at: usize) -> u64 {
        u64::from(self.word(at)) | u64::from(self.word(at + 4)) << 32
    }

    pub(super) fn command(&self) -> Command {
        match self.0[0] {
            FABRICS => Command::Fabrics(self.0[4]),
            opcode => Command::Plain(opcode),
        }
    }

    pub(super) fn id(&self) -> u16 {
        self.short(2)
    }

    /// The namespace; `None` for Fabrics commands, which have none.
    pub(super) fn namespace(&self) -> Option<u32> {
        (self.0[0] != FABRICS).then(|| self.word(4))
    }

    pub(super) fn data(&self) -> Data {
        match self.0[39] {
            0x40 | 0x4f => {
                let (address, len, rkey) = (self.long(24), self.word(32) & 0xff_ffff, self.word(35));
                if len > 0 { Data::Keyed { address, len, rkey } } else { Data::None }
            }
            0x01 => Data::InCapsule { len: self.word(32) },
            _ => Data::None,
        }
    }

    /// Of Connect: queue, its entries, and the keep-alive timeout in milliseconds.
    pub(super) fn connect(&self) -> Option<Connect> {
        let is_it = self.command() == Command::CONNECT;
        is_it.then(|| Connect {
            queue: self.short(42),
            entries: u32::from(self.short(44)) + 1,
            keep_alive_ms: self.word(48),
        })
    }
}

/// What Connect asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connect {
    pub(super) queue: u16,
    pub(super) entries: u32,
    pub(super) keep_alive_ms: u32,
}

impl<'a> Cqe<'a> {
    /// The response that is a SEND's whole payload.
    pub(super) fn read(payload: &'a [u8]) -> Option<Cqe<'a>> {
        payload.try_into().ok().map(Cqe)
    }

    pub(super) fn of(bytes: &'a [u8; CQE]) -> Cqe<'a> {
        Cqe(bytes)
    }

    pub(super) fn id(&self) -> u16 {
        u16::from_le_bytes([self.0[12], self.0[13]])
    }

    /// What the command gives.
    pub(super) fn value(&self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|n| self.0[n]))
    }

    /// The queue that it names; targets may leave it 0.
    pub(super) fn queue(&self) -> u16 {
        u16::from_le_bytes([self.0[10], self.0[11]])
    }

    /// The status field, without the phase tag; 0 is success.
    pub(super) fn status(&self) -> Status {
        Status(u16::from_le_bytes([self.0[14], self.0[15]]) >> 1)
    }
}

/// The status of a completed command: code in bits 0 to 7, type of the code in bits 8 to 10, "do not retry" in bit 14.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Status(pub(super) u16);

impl Status {
    pub(super) fn is_error(self) -> bool {
        self.0 & 0x7ff != 0
    }

    /// Its name in the specification. Codes of a type mean something else for Fabrics commands.
    pub(super) fn name(self, command: Command) -> Cow<'static, str> {
        let (kind, code) = (self.0 >> 8 & 7, self.0 as u8);
        let of_fabrics = match (kind, code) {
            (1, 0x80) => Some("connect: incompatible format"),
            (1, 0x81) => Some("connect: controller busy"),
            (1, 0x82) => Some("connect: invalid parameters"),
            (1, 0x83) => Some("connect: restart discovery"),
            (1, 0x84) => Some("connect: invalid host"),
            (1, 0x91) => Some("authentication required"),
            _ => None,
        };
        // The phase tag comes before the code.
        let name = of_fabrics.filter(|_| command.is_fabrics()).or(NvmeStatus(self.0 << 1).name());
        name.map_or_else(|| format!("status type {kind}, code {code:#04x}").into(), Cow::Borrowed)
    }
}

impl Command {
    pub(super) const CONNECT: Command = Command::Fabrics(1);
    const ASYNC_EVENT: u8 = 0x0c;
    const KEEP_ALIVE: u8 = 0x18;

    pub(super) fn is_fabrics(self) -> bool {
        matches!(self, Command::Fabrics(_))
    }

    /// It is answered when an event happens, if ever.
    pub(super) fn is_async_event(self, is_admin: bool) -> bool {
        is_admin && self == Command::Plain(Command::ASYNC_EVENT)
    }

    pub(super) fn is_keep_alive(self, is_admin: bool) -> bool {
        is_admin && self == Command::Plain(Command::KEEP_ALIVE)
    }

    /// Whether it moves the blocks that it names, and nothing else.
    pub(super) fn moves_blocks(self) -> bool {
        matches!(self, Command::Plain(0x01 | 0x02 | 0x05))
    }

    /// Whether only the admin queue has it.
    pub(super) fn is_of_admin(self) -> bool {
        matches!(self, Command::Plain(0x06 | 0x0a | Command::ASYNC_EVENT | Command::KEEP_ALIVE))
    }

    /// The direction of its data: the last two bits of the operation code say it.
    pub(super) fn direction(self) -> DataDirection {
        let bits = match self {
            Command::Plain(opcode) => opcode & 3,
            // Property Set and Connect; Property Get has none beyond its response.
            Command::Fabrics(kind) => kind & 3,
        };
        match bits {
            1 => DataDirection::Write,
            2 => DataDirection::Read,
            _ => DataDirection::None,
        }
    }

    pub(super) fn name(self, is_admin: bool) -> Cow<'static, str> {
        let (known, code) = match self {
            Command::Fabrics(kind) => (NvmeFabricsType(kind).name(), kind),
            Command::Plain(opcode) if is_admin => (
                match opcode {
                    0x02 => Some("Get Log Page"),
                    0x06 => Some("Identify"),
                    0x08 => Some("Abort"),
                    0x09 => Some("Set Features"),
                    0x0a => Some("Get Features"),
                    0x0c => Some("Asynchronous Event Request"),
                    0x0d => Some("Namespace Management"),
                    0x10 => Some("Firmware Commit"),
                    0x11 => Some("Firmware Image Download"),
                    0x14 => Some("Device Self-test"),
                    0x15 => Some("Namespace Attachment"),
                    0x18 => Some("Keep Alive"),
                    0x19 => Some("Directive Send"),
                    0x1a => Some("Directive Receive"),
                    0x1c => Some("Virtualization Management"),
                    0x1d => Some("NVMe-MI Send"),
                    0x1e => Some("NVMe-MI Receive"),
                    0x20 => Some("Capacity Management"),
                    0x24 => Some("Lockdown"),
                    0x80 => Some("Format NVM"),
                    0x81 => Some("Security Send"),
                    0x82 => Some("Security Receive"),
                    0x84 => Some("Sanitize"),
                    0x86 => Some("Get LBA Status"),
                    _ => None,
                },
                opcode,
            ),
            Command::Plain(opcode) => (
                match opcode {
                    0x00 => Some("Flush"),
                    0x01 => Some("Write"),
                    0x02 => Some("Read"),
                    0x04 => Some("Write Uncorrectable"),
                    0x05 => Some("Compare"),
                    0x08 => Some("Write Zeroes"),
                    0x09 => Some("Dataset Management"),
                    0x0c => Some("Verify"),
                    0x0d => Some("Reservation Register"),
                    0x0e => Some("Reservation Report"),
                    0x11 => Some("Reservation Acquire"),
                    0x12 => Some("I/O Management Receive"),
                    0x15 => Some("Reservation Release"),
                    0x19 => Some("Copy"),
                    0x1d => Some("I/O Management Send"),
                    0x79 => Some("Zone Management Send"),
                    0x7a => Some("Zone Management Receive"),
                    0x7d => Some("Zone Append"),
                    _ => None,
                },
                opcode,
            ),
        };
        known.map_or_else(|| format!("command {code:#04x}").into(), Cow::Borrowed)
    }
}
