//! Tables of operation codes, one for each transport: name, service, operation, place in the message, direction, headers, payload.

mod chain;
mod ib;
mod mrc;

pub use chain::Chain;

use crate::{
    named,
    wire::{Bth, Kind, Show, bits},
};

pub use crate::wire::{Opcode, Transport};

named! {
    /// Transport service: the upper three bits of the operation code.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
        /// Multipath reliable connection, a transport of its own.
        Mrc "MRC",
    }
}

/// A packet's place in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    /// Selective acknowledgement, of MRC.
    Sack,
    /// Negative acknowledgement of one packet, of MRC.
    Nack,
    /// A question for the receiver's state, of MRC.
    Probe,
    /// What endpoints say of their ports and paths, of MRC.
    Endpoint,
}

impl Operation {
    /// Whether it asks for an atomic change, which an ATOMIC Acknowledge answers.
    pub const fn is_atomic(self) -> bool {
        matches!(self, Operation::CompareSwap | Operation::FetchAdd)
    }
}

/// A transport's table. A row: code, name, label, service, operation, place in the message, direction, the headers between the BTH
/// and the payload, how much payload there may be.
macro_rules! opcodes {
    ($transport:ident $($code:literal $name:ident $label:literal $service:ident $operation:ident $position:ident $direction:ident
        [$($kind:ident),*] $payload:ident;)*) => {
        impl $crate::wire::Opcode {
            $(#[doc = $label] pub const $name: $crate::wire::Opcode =
                $crate::wire::Opcode::of($crate::wire::Transport::$transport, $code);)*
        }

        pub(super) const fn row(code: u8) -> super::Row {
            match code {
                $($code => super::Row {
                    label: $label,
                    ident: stringify!($name),
                    operation: Some(super::Operation::$operation),
                    position: super::Position::$position,
                    direction: super::Direction::$direction,
                    chain: &[$($crate::wire::Kind::$kind),*],
                    payload: super::PayloadRule::$payload,
                },)*
                _ => super::UNKNOWN,
            }
        }

        const _: () = {
            $(assert!($crate::wire::Opcode::$name.service() as u8 == super::Service::$service as u8, $label);)*
        };
    };
}

use opcodes;

/// The modules of the transports. Each has the rows of its codes, the service of a code, its BTH, and its forms: a form has a number, which
/// the BTH's flags say, and leaves out the headers of the rows that they do not bring.
macro_rules! transports {
    ($($transport:ident $module:ident;)*) => {
        impl Opcode {
            const fn row(self) -> Row {
                match self.transport { $(Transport::$transport => $module::row(self.code),)* }
            }

            /// The transport service.
            #[inline]
            pub const fn service(self) -> Service {
                match self.transport { $(Transport::$transport => $module::service(self.code),)* }
            }
        }

        impl Transport {
            /// The one that reads the BTH as a header of this kind.
            pub fn of_bth(kind: Kind) -> Option<Transport> {
                Transport::ALL.into_iter().find(|transport| transport.bth() == kind)
            }

            /// How it reads the BTH.
            #[inline(always)]
            pub const fn bth(self) -> Kind {
                match self { $(Transport::$transport => $module::BTH,)* }
            }

            const fn forms(self) -> &'static [&'static [Kind]] {
                match self { $(Transport::$transport => $module::FORMS,)* }
            }

            #[inline(always)]
            fn form(self, bth: &Bth) -> usize {
                match self { $(Transport::$transport => $module::form(bth),)* }
            }
        }
    };
}

transports! {
    Ib ib;
    Mrc mrc;
}

struct Row {
    label: &'static str,
    ident: &'static str,
    operation: Option<Operation>,
    position: Position,
    direction: Direction,
    chain: &'static [Kind],
    payload: PayloadRule,
}

const UNKNOWN: Row = Row {
    label: "",
    ident: "",
    operation: None,
    position: Position::Only,
    direction: Direction::Request,
    chain: &[],
    payload: PayloadRule::Any,
};

static TABLES: [[Row; 256]; Transport::ALL.len()] = {
    let mut tables = [const { [UNKNOWN; 256] }; Transport::ALL.len()];
    let mut i = 0;
    while i < tables.len() {
        let mut code = 0;
        while code < 256 {
            tables[i][code] = Opcode::of(Transport::ALL[i], code as u8).row();
            code += 1;
        }
        i += 1;
    }
    tables
};

/// The properties of an operation code that every packet needs, in sixteen bytes.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub struct Shape {
    /// What it is a packet of; `None` for codes outside the table.
    pub operation: Option<Operation>,
    /// The place in the message.
    pub position: Position,
    /// The PSN space.
    pub direction: Direction,
    /// How much payload it has.
    pub payload: PayloadRule,
    /// Bytes of extended headers.
    pub extended: u8,
    /// A packet of a SEND or a WRITE over a connection.
    pub is_streamed: bool,
    /// A number for the packets of SENDs and WRITEs, below [`Shape::PARTS`], and for the four of READ responses, from 0.
    pub part: u8,
    /// It has an AETH.
    pub has_aeth: bool,
    /// It has a RETH.
    pub has_reth: bool,
    /// The offset, from the end of the BTH, of the AETH or of the RETH's DMA length.
    pub word: u8,
    /// The packet begins a message.
    pub begins: bool,
    /// The packet ends a message.
    pub ends: bool,
    /// The bytes of payload that the [rule](PayloadRule) allows.
    least: u16,
    most: u16,
}

impl Shape {
    /// Operation codes of SENDs and WRITEs per service.
    pub const PARTS: usize = 14;

    /// A packet in the middle of a READ response.
    #[inline(always)]
    pub fn is_data_within(&self) -> bool {
        self.operation == Some(Operation::ReadResponse) && self.position == Position::Middle
    }

    /// Whether the table has the operation code.
    #[inline(always)]
    pub fn is_known(&self) -> bool {
        self.operation.is_some()
    }

    /// Whether a packet may have so much payload: one test for all rules, because no branch predictor knows which rule comes.
    #[inline(always)]
    pub fn allows(&self, payload: u32) -> bool {
        let is_full = self.payload as u8 == PayloadRule::Full as u8;
        (payload >= self.least as u32)
            & (payload <= self.most as u32)
            & (!is_full | (payload & payload.wrapping_sub(1) == 0))
    }
}

static SHAPES: [[Shape; 256]; Transport::ALL.len()] = {
    let mut tables = [[Opcode::ib(0).find_shape(); 256]; Transport::ALL.len()];
    let mut i = 0;
    while i < tables.len() {
        let mut code = 0;
        while code < 256 {
            tables[i][code] = Opcode::of(Transport::ALL[i], code as u8).find_shape();
            code += 1;
        }
        i += 1;
    }
    tables
};

/// Offset of the DMA length in a RETH.
const RETH_LENGTH: u8 = 12;

/// How many codes the tables have.
const KNOWN: usize = {
    let (mut known, mut i) = (0, 0);
    while i < Transport::ALL.len() * 256 {
        known += Opcode::nth(i).row().operation.is_some() as usize;
        i += 1;
    }
    known
};

/// READ responses: First, Middle, Last, Only.
const DATA: u8 = 13;
const DATA_END: u8 = DATA + 3;

impl Opcode {
    /// Every operation code of the tables, transport by transport, in the order of their numbers.
    pub const ALL: &'static [Opcode] = &{
        let mut all = [Opcode::ib(0); KNOWN];
        let (mut n, mut i) = (0, 0);
        while i < Transport::ALL.len() * 256 {
            if Opcode::nth(i).row().operation.is_some() {
                all[n] = Opcode::nth(i);
                n += 1;
            }
            i += 1;
        }
        all
    };

    /// The operation codes of a transport's table, in the order of their numbers.
    pub fn of_transport(transport: Transport) -> impl Iterator<Item = Opcode> + Clone {
        Self::ALL.iter().copied().filter(move |opcode| opcode.transport == transport)
    }

    /// Of all codes of all transports, assigned or not.
    const fn nth(n: usize) -> Opcode {
        Opcode::of(Transport::ALL[n / 256], n as u8)
    }

    const fn find_shape(self) -> Shape {
        let row = self.row();
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
        let operation = row.operation;
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
                && matches!(self.service().numbering(), Numbering::InOrder),
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
        match self.code & 0x1f {
            operation @ DATA..=DATA_END => operation - DATA,
            operation @ 22.. => operation - 10,
            operation => operation,
        }
    }

    /// The operation code of a READ response: `service` gives the upper three bits, `part` is its [number](Shape::part).
    pub const fn of_data_part(service: u8, part: u8) -> Opcode {
        Opcode::ib(service & 0xe0 | (DATA + part))
    }

    /// The operation code of a SEND or a WRITE: `service` gives the upper three bits, `part` is its [number](Shape::part).
    pub const fn of_part(service: u8, part: u8) -> Opcode {
        Opcode::ib(service & 0xe0 | if part >= 12 { part + 10 } else { part })
    }

    #[inline(always)]
    fn get_row(self) -> &'static Row {
        &TABLES[self.transport as usize][self.code as usize]
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

    /// The operation code by its name: `rc-write-only`, `RC_WRITE_ONLY`, `RC RDMA WRITE Only` or a number, of the first transport whose table has it. Without
    /// a service, it is RC's: `CmpSwap`, or what programmers call it, `cas`.
    pub fn from_name(name: &str) -> Option<Opcode> {
        let number = match name.strip_prefix("0x") {
            Some(hex) => u8::from_str_radix(hex, 16).ok(),
            None => name.parse().ok(),
        };
        let plain = |c: char| if c == '-' || c == ' ' { '_' } else { c.to_ascii_uppercase() };
        let same = |one: &str, other: &str| one.chars().map(plain).eq(other.chars().map(plain));
        let other_name = Self::OTHER_NAMES.iter().find(|(other, _)| same(other, name));
        let name = other_name.map_or(name, |(_, name)| name);
        let of_number = |code| {
            let all = Transport::ALL.map(|transport| Opcode::of(transport, code));
            all.into_iter().find(|opcode| opcode.is_known()).unwrap_or(Opcode::ib(code))
        };
        number.map(of_number).or_else(|| {
            let named = |op: &&Opcode| same(op.get_row().ident, name) || same(op.get_row().label, name);
            let of_rc = |op: &&Opcode| {
                let (ident, label) =
                    (op.get_row().ident.strip_prefix("RC_"), op.get_row().label.strip_prefix("RC "));
                ident.is_some_and(|ident| same(ident, name)) || label.is_some_and(|label| same(label, name))
            };
            Self::ALL.iter().find(named).or_else(|| Self::ALL.iter().find(of_rc)).copied()
        })
    }

    /// What programmers call some of RC's.
    const OTHER_NAMES: [(&str, &str); 4] = [
        ("cas", "compare_swap"),
        ("compare_and_swap", "compare_swap"),
        ("faa", "fetch_add"),
        ("fetch_and_add", "fetch_add"),
    ];

    /// Whether the packet is the first one of a SEND, or all of it.
    pub fn begins_send(self) -> bool {
        let shape = self.shape();
        shape.begins && shape.operation == Some(Operation::Send)
    }

    /// The properties that hot paths need.
    #[inline(always)]
    pub fn shape(self) -> &'static Shape {
        &SHAPES[self.transport as usize][self.code as usize]
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

    /// The headers between the BTH and the payload, in order, with those that a flag of the BTH brings: [`Chain::of`] has the headers
    /// of one packet. None for codes outside the table.
    #[inline]
    pub fn chain(self) -> &'static [Kind] {
        self.get_row().chain
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

    /// Whether it is a congestion notification: 0x81 on RoCEv2; 0x80 is the first code of that class.
    #[inline]
    pub const fn is_cnp(self) -> bool {
        matches!(self, Opcode::CN | Opcode::CNP)
    }
}

impl core::fmt::Display for Opcode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => {
                let digit = |nibble| b"0123456789abcdef"[nibble as usize];
                let mut text = *b"opcode 0x00";
                [text[9], text[10]] = [digit(self.code >> 4), digit(self.code & 15)];
                f.pad(str::from_utf8(&text).unwrap_or(""))
            }
        }
    }
}

bits!(Opcode as Show::Named(|code| Opcode::ib(code as u8).name()), u8: Opcode::ib, |opcode: Opcode| opcode.code;);

/// How a service numbers its packets: which state machines follow its flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// One after the other. After a packet that is missing, a reliable service goes back to it and sends all that follow again.
    InOrder,
    /// One after the other, and they are taken in any order: only those that are missing are sent again.
    AnyOrder,
    /// Each for itself, or nothing is known of it.
    None,
}

impl Service {
    /// The transport that has it.
    #[inline]
    pub const fn transport(self) -> Transport {
        match self {
            Service::Mrc => Transport::Mrc,
            _ => Transport::Ib,
        }
    }

    /// The code of this service that InfiniBand's RC has as `rc`, assigned or not.
    #[inline]
    pub const fn opcode_like(self, rc: Opcode) -> Opcode {
        let upper = match self {
            Service::Mrc => 6,
            service => service as u8,
        };
        Opcode::of(self.transport(), upper << 5 | rc.code & 0x1f)
    }

    /// How it numbers its packets.
    #[inline(always)]
    pub const fn numbering(self) -> Numbering {
        match self {
            Service::Rc | Service::Uc | Service::Rd | Service::Xrc => Numbering::InOrder,
            Service::Mrc => Numbering::AnyOrder,
            Service::Ud | Service::Cn | Service::Vendor => Numbering::None,
        }
    }

    /// Whether requests are acknowledged and retransmitted: RC, RD, XRC and MRC.
    #[inline]
    pub const fn is_reliable(self) -> bool {
        matches!(self, Service::Rc | Service::Rd | Service::Xrc | Service::Mrc)
    }
}
