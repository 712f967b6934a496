//! One table of operation codes: name, service, place in the message, direction, header chain, payload rule.
//!
//! InfiniBand Architecture Specification vol. 1, 9.2.1 and table 38 (codes), annex A17 (CNP); FLUSH and ATOMIC WRITE
//! as Linux's Soft-RoCE has them. tshark 4.0 knows neither 0x81, 0x1c nor 0x1d, and dissects no header of XRC.

use crate::{
    named::named,
    wire::{Kind, Show, bits},
};

/// BTH operation code. Every value from 0 to 255 is one; those of the table have a meaning.
///
/// ```text
///   7   6   5   4   3   2   1   0
/// +-----------+-------------------+
/// |  service  |     operation     |
/// +-----------+-------------------+
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Opcode(pub u8);

named! {
    /// Transport service: the upper three bits of the operation code.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
    pub enum Service {
        /// Reliable connection.
        Rc "RC",
        /// Unreliable connection.
        Uc "UC",
        /// Reliable datagram.
        Rd "RD",
        /// Unreliable datagram.
        Ud "UD",
        /// Congestion notification; it belongs to no transport service.
        Cn "CN",
        /// Extended reliable connection.
        Xrc "XRC",
        /// 0xc0 to 0xff: defined by manufacturers.
        Vendor "vendor",
    }
}

/// A packet's place in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum Position {
    /// The first of several packets.
    First,
    /// Neither the first nor the last of several packets.
    Middle,
    /// The last of several packets.
    Last,
    /// The whole message.
    Only,
}

/// Which of a flow's two PSN spaces a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum Direction {
    /// From requester to responder.
    Request,
    /// From responder to requester, numbered in the requester's space.
    Response,
}

/// How much payload an operation code allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PayloadRule {
    /// Exactly the path MTU.
    Full,
    /// One byte to the path MTU.
    Some,
    /// Zero bytes to the path MTU.
    Any,
    /// No payload.
    None,
    /// Eight bytes.
    Eight,
}

/// What a message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum Operation {
    /// SEND, with or without immediate data or invalidation.
    Send,
    /// RDMA WRITE, with or without immediate data.
    Write,
    /// RDMA READ request.
    ReadRequest,
    /// RDMA READ response.
    ReadResponse,
    /// Acknowledge, including NAKs.
    Acknowledge,
    /// ATOMIC Acknowledge.
    AtomicAcknowledge,
    /// Compare and swap.
    CompareSwap,
    /// Fetch and add.
    FetchAdd,
    /// FLUSH.
    Flush,
    /// ATOMIC WRITE.
    AtomicWrite,
    /// RESYNC, of reliable datagrams.
    Resync,
    /// Congestion notification.
    Cnp,
}

macro_rules! opcodes {
    ($($code:literal $name:ident $label:literal $service:ident $position:ident $direction:ident [$($kind:ident),*] $payload:ident;)*) => {
        impl Opcode {
            $(#[doc = $label] pub const $name: Opcode = Opcode($code);)*

            /// Every operation code of the table, in the order of their numbers.
            pub const ALL: &'static [Opcode] = &[$(Opcode($code)),*];

            const fn row(code: u8) -> Row {
                match code {
                    $($code => Row {
                        label: $label, ident: stringify!($name), position: Position::$position,
                        direction: Direction::$direction, chain: &[$(Kind::$kind),*], payload: PayloadRule::$payload,
                    },)*
                    _ => UNKNOWN,
                }
            }
        }
        const _: () = { $(assert!(Opcode($code).service() as u8 == Service::$service as u8, $label);)* };
    };
}

opcodes! {
    0x00 RC_SEND_FIRST "RC SEND First" Rc First Request [] Full;
    0x01 RC_SEND_MIDDLE "RC SEND Middle" Rc Middle Request [] Full;
    0x02 RC_SEND_LAST "RC SEND Last" Rc Last Request [] Some;
    0x03 RC_SEND_LAST_WITH_IMMEDIATE "RC SEND Last with Immediate" Rc Last Request [ImmDt] Some;
    0x04 RC_SEND_ONLY "RC SEND Only" Rc Only Request [] Any;
    0x05 RC_SEND_ONLY_WITH_IMMEDIATE "RC SEND Only with Immediate" Rc Only Request [ImmDt] Any;
    0x06 RC_WRITE_FIRST "RC RDMA WRITE First" Rc First Request [Reth] Full;
    0x07 RC_WRITE_MIDDLE "RC RDMA WRITE Middle" Rc Middle Request [] Full;
    0x08 RC_WRITE_LAST "RC RDMA WRITE Last" Rc Last Request [] Some;
    0x09 RC_WRITE_LAST_WITH_IMMEDIATE "RC RDMA WRITE Last with Immediate" Rc Last Request [ImmDt] Some;
    0x0a RC_WRITE_ONLY "RC RDMA WRITE Only" Rc Only Request [Reth] Any;
    0x0b RC_WRITE_ONLY_WITH_IMMEDIATE "RC RDMA WRITE Only with Immediate" Rc Only Request [Reth, ImmDt] Any;
    0x0c RC_READ_REQUEST "RC RDMA READ Request" Rc Only Request [Reth] None;
    0x0d RC_READ_RESPONSE_FIRST "RC RDMA READ response First" Rc First Response [Aeth] Full;
    0x0e RC_READ_RESPONSE_MIDDLE "RC RDMA READ response Middle" Rc Middle Response [] Full;
    0x0f RC_READ_RESPONSE_LAST "RC RDMA READ response Last" Rc Last Response [Aeth] Some;
    0x10 RC_READ_RESPONSE_ONLY "RC RDMA READ response Only" Rc Only Response [Aeth] Any;
    0x11 RC_ACKNOWLEDGE "RC Acknowledge" Rc Only Response [Aeth] None;
    0x12 RC_ATOMIC_ACKNOWLEDGE "RC ATOMIC Acknowledge" Rc Only Response [Aeth, AtomicAckEth] None;
    0x13 RC_COMPARE_SWAP "RC CmpSwap" Rc Only Request [AtomicEth] None;
    0x14 RC_FETCH_ADD "RC FetchAdd" Rc Only Request [AtomicEth] None;
    0x16 RC_SEND_LAST_WITH_INVALIDATE "RC SEND Last with Invalidate" Rc Last Request [Ieth] Some;
    0x17 RC_SEND_ONLY_WITH_INVALIDATE "RC SEND Only with Invalidate" Rc Only Request [Ieth] Any;
    0x1c RC_FLUSH "RC FLUSH" Rc Only Request [Feth, Reth] None;
    0x1d RC_ATOMIC_WRITE "RC ATOMIC WRITE" Rc Only Request [Reth] Eight;
    0x20 UC_SEND_FIRST "UC SEND First" Uc First Request [] Full;
    0x21 UC_SEND_MIDDLE "UC SEND Middle" Uc Middle Request [] Full;
    0x22 UC_SEND_LAST "UC SEND Last" Uc Last Request [] Some;
    0x23 UC_SEND_LAST_WITH_IMMEDIATE "UC SEND Last with Immediate" Uc Last Request [ImmDt] Some;
    0x24 UC_SEND_ONLY "UC SEND Only" Uc Only Request [] Any;
    0x25 UC_SEND_ONLY_WITH_IMMEDIATE "UC SEND Only with Immediate" Uc Only Request [ImmDt] Any;
    0x26 UC_WRITE_FIRST "UC RDMA WRITE First" Uc First Request [Reth] Full;
    0x27 UC_WRITE_MIDDLE "UC RDMA WRITE Middle" Uc Middle Request [] Full;
    0x28 UC_WRITE_LAST "UC RDMA WRITE Last" Uc Last Request [] Some;
    0x29 UC_WRITE_LAST_WITH_IMMEDIATE "UC RDMA WRITE Last with Immediate" Uc Last Request [ImmDt] Some;
    0x2a UC_WRITE_ONLY "UC RDMA WRITE Only" Uc Only Request [Reth] Any;
    0x2b UC_WRITE_ONLY_WITH_IMMEDIATE "UC RDMA WRITE Only with Immediate" Uc Only Request [Reth, ImmDt] Any;
    0x40 RD_SEND_FIRST "RD SEND First" Rd First Request [Rdeth, Deth] Full;
    0x41 RD_SEND_MIDDLE "RD SEND Middle" Rd Middle Request [Rdeth, Deth] Full;
    0x42 RD_SEND_LAST "RD SEND Last" Rd Last Request [Rdeth, Deth] Some;
    0x43 RD_SEND_LAST_WITH_IMMEDIATE "RD SEND Last with Immediate" Rd Last Request [Rdeth, Deth, ImmDt] Some;
    0x44 RD_SEND_ONLY "RD SEND Only" Rd Only Request [Rdeth, Deth] Any;
    0x45 RD_SEND_ONLY_WITH_IMMEDIATE "RD SEND Only with Immediate" Rd Only Request [Rdeth, Deth, ImmDt] Any;
    0x46 RD_WRITE_FIRST "RD RDMA WRITE First" Rd First Request [Rdeth, Deth, Reth] Full;
    0x47 RD_WRITE_MIDDLE "RD RDMA WRITE Middle" Rd Middle Request [Rdeth, Deth] Full;
    0x48 RD_WRITE_LAST "RD RDMA WRITE Last" Rd Last Request [Rdeth, Deth] Some;
    0x49 RD_WRITE_LAST_WITH_IMMEDIATE "RD RDMA WRITE Last with Immediate" Rd Last Request [Rdeth, Deth, ImmDt] Some;
    0x4a RD_WRITE_ONLY "RD RDMA WRITE Only" Rd Only Request [Rdeth, Deth, Reth] Any;
    0x4b RD_WRITE_ONLY_WITH_IMMEDIATE "RD RDMA WRITE Only with Immediate" Rd Only Request [Rdeth, Deth, Reth, ImmDt] Any;
    0x4c RD_READ_REQUEST "RD RDMA READ Request" Rd Only Request [Rdeth, Deth, Reth] None;
    0x4d RD_READ_RESPONSE_FIRST "RD RDMA READ response First" Rd First Response [Rdeth, Aeth] Full;
    0x4e RD_READ_RESPONSE_MIDDLE "RD RDMA READ response Middle" Rd Middle Response [Rdeth] Full;
    0x4f RD_READ_RESPONSE_LAST "RD RDMA READ response Last" Rd Last Response [Rdeth, Aeth] Some;
    0x50 RD_READ_RESPONSE_ONLY "RD RDMA READ response Only" Rd Only Response [Rdeth, Aeth] Any;
    0x51 RD_ACKNOWLEDGE "RD Acknowledge" Rd Only Response [Rdeth, Aeth] None;
    0x52 RD_ATOMIC_ACKNOWLEDGE "RD ATOMIC Acknowledge" Rd Only Response [Rdeth, Aeth, AtomicAckEth] None;
    0x53 RD_COMPARE_SWAP "RD CmpSwap" Rd Only Request [Rdeth, Deth, AtomicEth] None;
    0x54 RD_FETCH_ADD "RD FetchAdd" Rd Only Request [Rdeth, Deth, AtomicEth] None;
    0x55 RD_RESYNC "RD RESYNC" Rd Only Request [Rdeth, Deth] None;
    0x5c RD_FLUSH "RD FLUSH" Rd Only Request [Rdeth, Feth, Reth] None;
    0x64 UD_SEND_ONLY "UD SEND Only" Ud Only Request [Deth] Any;
    0x65 UD_SEND_ONLY_WITH_IMMEDIATE "UD SEND Only with Immediate" Ud Only Request [Deth, ImmDt] Any;
    0x80 CN "CN" Cn Only Response [Cnp] None;
    0x81 CNP "CNP" Cn Only Response [Cnp] None;
    0xa0 XRC_SEND_FIRST "XRC SEND First" Xrc First Request [Xrceth] Full;
    0xa1 XRC_SEND_MIDDLE "XRC SEND Middle" Xrc Middle Request [Xrceth] Full;
    0xa2 XRC_SEND_LAST "XRC SEND Last" Xrc Last Request [Xrceth] Some;
    0xa3 XRC_SEND_LAST_WITH_IMMEDIATE "XRC SEND Last with Immediate" Xrc Last Request [Xrceth, ImmDt] Some;
    0xa4 XRC_SEND_ONLY "XRC SEND Only" Xrc Only Request [Xrceth] Any;
    0xa5 XRC_SEND_ONLY_WITH_IMMEDIATE "XRC SEND Only with Immediate" Xrc Only Request [Xrceth, ImmDt] Any;
    0xa6 XRC_WRITE_FIRST "XRC RDMA WRITE First" Xrc First Request [Xrceth, Reth] Full;
    0xa7 XRC_WRITE_MIDDLE "XRC RDMA WRITE Middle" Xrc Middle Request [Xrceth] Full;
    0xa8 XRC_WRITE_LAST "XRC RDMA WRITE Last" Xrc Last Request [Xrceth] Some;
    0xa9 XRC_WRITE_LAST_WITH_IMMEDIATE "XRC RDMA WRITE Last with Immediate" Xrc Last Request [Xrceth, ImmDt] Some;
    0xaa XRC_WRITE_ONLY "XRC RDMA WRITE Only" Xrc Only Request [Xrceth, Reth] Any;
    0xab XRC_WRITE_ONLY_WITH_IMMEDIATE "XRC RDMA WRITE Only with Immediate" Xrc Only Request [Xrceth, Reth, ImmDt] Any;
    0xac XRC_READ_REQUEST "XRC RDMA READ Request" Xrc Only Request [Xrceth, Reth] None;
    0xad XRC_READ_RESPONSE_FIRST "XRC RDMA READ response First" Xrc First Response [Aeth] Full;
    0xae XRC_READ_RESPONSE_MIDDLE "XRC RDMA READ response Middle" Xrc Middle Response [] Full;
    0xaf XRC_READ_RESPONSE_LAST "XRC RDMA READ response Last" Xrc Last Response [Aeth] Some;
    0xb0 XRC_READ_RESPONSE_ONLY "XRC RDMA READ response Only" Xrc Only Response [Aeth] Any;
    0xb1 XRC_ACKNOWLEDGE "XRC Acknowledge" Xrc Only Response [Aeth] None;
    0xb2 XRC_ATOMIC_ACKNOWLEDGE "XRC ATOMIC Acknowledge" Xrc Only Response [Aeth, AtomicAckEth] None;
    0xb3 XRC_COMPARE_SWAP "XRC CmpSwap" Xrc Only Request [Xrceth, AtomicEth] None;
    0xb4 XRC_FETCH_ADD "XRC FetchAdd" Xrc Only Request [Xrceth, AtomicEth] None;
    0xb6 XRC_SEND_LAST_WITH_INVALIDATE "XRC SEND Last with Invalidate" Xrc Last Request [Xrceth, Ieth] Some;
    0xb7 XRC_SEND_ONLY_WITH_INVALIDATE "XRC SEND Only with Invalidate" Xrc Only Request [Xrceth, Ieth] Any;
    0xbc XRC_FLUSH "XRC FLUSH" Xrc Only Request [Xrceth, Feth, Reth] None;
}

struct Row {
    label: &'static str,
    ident: &'static str,
    position: Position,
    direction: Direction,
    chain: &'static [Kind],
    payload: PayloadRule,
}

const UNKNOWN: Row = Row {
    label: "",
    ident: "",
    position: Position::Only,
    direction: Direction::Request,
    chain: &[],
    payload: PayloadRule::Any,
};

static TABLE: [Row; 256] = {
    let mut table = [UNKNOWN; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = Opcode::row(i as u8);
        i += 1;
    }
    table
};

/// The properties of an operation code that every packet needs, in sixteen bytes.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "std"), expect(dead_code, reason = "only the analysis reads some of it"))]
#[repr(align(16))]
pub(crate) struct Shape {
    pub(crate) operation: Option<Operation>,
    pub(crate) position: Position,
    pub(crate) direction: Direction,
    pub(crate) payload: PayloadRule,
    /// Bytes of extended headers.
    pub(crate) extended: u8,
    /// A packet of a SEND or a WRITE over a connection.
    pub(crate) is_streamed: bool,
    /// A number for the packets of SENDs and WRITEs, below [`Shape::PARTS`], and for the four of READ responses, from 0.
    pub(crate) part: u8,
    pub(crate) has_aeth: bool,
    pub(crate) has_reth: bool,
    /// The offset, from the end of the BTH, of the AETH or of the RETH's DMA length.
    pub(crate) word: u8,
    /// The packet begins, or ends, a message.
    pub(crate) begins: bool,
    pub(crate) ends: bool,
    /// The bytes of payload that the [rule](PayloadRule) allows.
    least: u16,
    most: u16,
}

impl Shape {
    /// Operation codes of SENDs and WRITEs per service.
    #[cfg(feature = "std")]
    pub(crate) const PARTS: usize = 14;

    /// A packet in the middle of a READ response.
    #[cfg(feature = "std")]
    #[inline(always)]
    pub(crate) fn is_data_within(&self) -> bool {
        self.operation == Some(Operation::ReadResponse) && self.position == Position::Middle
    }

    /// Whether the table has the operation code.
    #[inline(always)]
    pub(crate) fn is_known(&self) -> bool {
        self.operation.is_some()
    }

    /// Whether a packet may have so much payload: one test for all rules, because no branch predictor knows which rule comes.
    #[inline(always)]
    pub(crate) fn allows(&self, payload: u32) -> bool {
        let is_full = self.payload as u8 == PayloadRule::Full as u8;
        (payload >= self.least as u32)
            & (payload <= self.most as u32)
            & (!is_full | (payload & payload.wrapping_sub(1) == 0))
    }
}

static SHAPES: [Shape; 256] = {
    let mut table = [Opcode(0).find_shape(); 256];
    let mut i = 0;
    while i < 256 {
        table[i] = Opcode(i as u8).find_shape();
        i += 1;
    }
    table
};

/// Offset of the DMA length in a RETH.
const RETH_LENGTH: u8 = 12;

/// READ responses: First, Middle, Last, Only.
const DATA: u8 = 13;
const DATA_END: u8 = DATA + 3;

impl Opcode {
    const fn find_shape(self) -> Shape {
        let row = Opcode::row(self.0);
        let (mut extended, mut word, mut i) = (0, 0, 0);
        let (mut has_aeth, mut has_reth) = (false, false);
        while i < row.chain.len() {
            match row.chain[i] {
                Kind::Aeth => (has_aeth, word) = (true, extended),
                Kind::Reth => (has_reth, word) = (true, extended + RETH_LENGTH),
                _ => {}
            }
            if let Some(info) = row.chain[i].info() {
                extended += info.len as u8;
            }
            i += 1;
        }
        let operation = self.find_operation();
        let (least, most) = match row.payload {
            PayloadRule::Full => (256, 4096),
            PayloadRule::Some => (1, u16::MAX),
            PayloadRule::Any => (0, u16::MAX),
            PayloadRule::None => (0, 0),
            PayloadRule::Eight => (8, 8),
        };
        Shape {
            operation,
            position: row.position,
            direction: row.direction,
            payload: row.payload,
            extended,
            is_streamed: matches!(operation, Some(Operation::Send | Operation::Write))
                && matches!(self.service(), Service::Rc | Service::Uc | Service::Rd | Service::Xrc),
            part: self.part(),
            has_aeth,
            has_reth,
            word,
            begins: matches!(row.position, Position::First | Position::Only),
            ends: matches!(row.position, Position::Last | Position::Only),
            least,
            most,
        }
    }

    /// SENDs and WRITEs have the first twelve codes of a service; SENDs with Invalidate are 22 and 23.
    const fn part(self) -> u8 {
        match self.0 & 0x1f {
            operation @ DATA..=DATA_END => operation - DATA,
            operation @ 22.. => operation - 10,
            operation => operation,
        }
    }

    /// The operation code of a READ response: `service` gives the upper three bits, `part` is its [number](Shape::part).
    #[cfg(feature = "std")]
    pub(crate) const fn of_data_part(service: u8, part: u8) -> Opcode {
        Opcode(service & 0xe0 | (DATA + part))
    }

    /// The operation code of a SEND or a WRITE: `service` gives the upper three bits, `part` is its [number](Shape::part).
    #[cfg(feature = "std")]
    pub(crate) const fn of_part(service: u8, part: u8) -> Opcode {
        Opcode(service & 0xe0 | if part >= 12 { part + 10 } else { part })
    }

    #[inline(always)]
    fn get_row(self) -> &'static Row {
        &TABLE[self.0 as usize]
    }

    /// Whether the table has it.
    #[inline]
    pub fn is_known(self) -> bool {
        self.shape().is_known()
    }

    /// "RC RDMA WRITE Only", as Wireshark writes it.
    pub fn name(self) -> Option<&'static str> {
        Some(self.get_row().label).filter(|label| !label.is_empty())
    }

    /// "RC_WRITE_ONLY": the constant's name.
    pub fn ident(self) -> Option<&'static str> {
        Some(self.get_row().ident).filter(|ident| !ident.is_empty())
    }

    /// The operation code by its name: `rc-write-only`, `RC_WRITE_ONLY`, `RC RDMA WRITE Only` or a number.
    pub fn from_name(name: &str) -> Option<Opcode> {
        let number = match name.strip_prefix("0x") {
            Some(hex) => u8::from_str_radix(hex, 16).ok(),
            None => name.parse().ok(),
        };
        let same = |other: &str| {
            let plain = |c: char| if c == '-' || c == ' ' { '_' } else { c.to_ascii_uppercase() };
            other.chars().map(plain).eq(name.chars().map(plain))
        };
        number.map(Opcode).or_else(|| {
            Self::ALL.iter().copied().find(|op| same(op.get_row().ident) || same(op.get_row().label))
        })
    }

    /// The properties that hot paths need.
    #[inline(always)]
    pub(crate) fn shape(self) -> &'static Shape {
        &SHAPES[self.0 as usize]
    }

    /// The transport service.
    #[inline]
    pub const fn service(self) -> Service {
        match self.0 >> 5 {
            0 => Service::Rc,
            1 => Service::Uc,
            2 => Service::Rd,
            3 => Service::Ud,
            4 => Service::Cn,
            5 => Service::Xrc,
            _ => Service::Vendor,
        }
    }

    /// The place in the message; `Only` for codes outside the table.
    #[inline]
    pub fn position(self) -> Position {
        self.shape().position
    }

    /// The PSN space; `Request` for codes outside the table.
    #[inline]
    pub fn direction(self) -> Direction {
        self.shape().direction
    }

    /// The headers between the BTH and the payload, in order; none for codes outside the table.
    #[inline]
    pub fn chain(self) -> &'static [Kind] {
        self.get_row().chain
    }

    pub(crate) const fn const_chain(self) -> &'static [Kind] {
        Self::row(self.0).chain
    }

    /// Whether packets of this code have this header.
    #[inline]
    pub fn has(self, kind: Kind) -> bool {
        self.chain().contains(&kind)
    }

    /// How much payload there may be.
    #[inline]
    pub fn payload_rule(self) -> PayloadRule {
        self.shape().payload
    }

    /// What the message does; `None` for codes outside the table.
    #[inline]
    pub fn operation(self) -> Option<Operation> {
        self.shape().operation
    }

    const fn find_operation(self) -> Option<Operation> {
        if Self::row(self.0).label.is_empty() {
            return None;
        }
        if matches!(self.service(), Service::Cn) {
            return Some(Operation::Cnp);
        }
        Some(match self.0 & 0x1f {
            0x00..=0x05 | 0x16 | 0x17 => Operation::Send,
            0x06..=0x0b => Operation::Write,
            0x0c => Operation::ReadRequest,
            0x0d..=0x10 => Operation::ReadResponse,
            0x11 => Operation::Acknowledge,
            0x12 => Operation::AtomicAcknowledge,
            0x13 => Operation::CompareSwap,
            0x14 => Operation::FetchAdd,
            0x15 => Operation::Resync,
            0x1c => Operation::Flush,
            _ => Operation::AtomicWrite,
        })
    }

    /// Whether it is a congestion notification: 0x81 on RoCEv2; 0x80 is the first code of that class.
    #[inline]
    pub const fn is_cnp(self) -> bool {
        self.0 == 0x81 || self.0 == 0x80
    }
}

impl core::fmt::Display for Opcode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => {
                let digit = |nibble| b"0123456789abcdef"[nibble as usize];
                let mut text = *b"opcode 0x00";
                [text[9], text[10]] = [digit(self.0 >> 4), digit(self.0 & 15)];
                f.pad(str::from_utf8(&text).unwrap_or(""))
            }
        }
    }
}

bits!(Opcode as Show::Named(|code| Opcode(code as u8).name()), u8: Opcode, |opcode: Opcode| opcode.0;);

impl Service {
    /// Whether requests are acknowledged and retransmitted: RC, RD and XRC.
    #[inline]
    pub const fn is_reliable(self) -> bool {
        matches!(self, Service::Rc | Service::Rd | Service::Xrc)
    }
}
