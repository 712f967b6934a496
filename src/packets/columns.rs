//! The columns of packets: what a frame has for each.

use std::{
    collections::HashMap,
    fmt::{self, Write},
    sync::OnceLock,
};

use crate::{
    analyze::{Class, Space},
    capture::Record,
    dissect::{Address, Dissection},
    icrc::{self, State},
    wire::*,
};

/// A frame of a capture.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// The frame as it was captured.
    pub record: &'a Record<'a>,
    /// Its dissection.
    pub d: &'a Dissection<'a>,
    /// Whether its ICRC is right, if that was verified already. Else it is verified for the column that says so.
    pub icrc: Option<State>,
}

impl Row<'_> {
    fn icrc(&self) -> State {
        self.icrc.unwrap_or_else(|| icrc::verify(self.d))
    }
}

/// What the analysis tells of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Its PSN space; `None` if it has none.
    pub space: Option<Space>,
    /// What it is; `None` as long as that is open.
    pub class: Option<Class>,
    /// How often the queue pair had been given to a new connection; `None` if the frame is of no flow.
    pub epoch: Option<u32>,
    /// The sender's queue pair, if it was known when the frame came.
    pub peer_qp: Option<u32>,
}

/// A column: its name, what it is, and how it is read. Units stand in the name.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// How it is read of a frame. Empty where the frame does not have it.
    pub get: Get,
}

/// How a value is read, by its type.
#[derive(Clone, Copy, Debug)]
pub enum Get {
    /// A number of 8 bits.
    U8(fn(&Row<'_>) -> Option<u8>),
    /// A number of 16 bits.
    U16(fn(&Row<'_>) -> Option<u16>),
    /// A number of 32 bits.
    U32(fn(&Row<'_>) -> Option<u32>),
    /// A number of 64 bits.
    U64(fn(&Row<'_>) -> Option<u64>),
    /// A number of 64 bits that may be negative.
    I64(fn(&Row<'_>) -> Option<i64>),
    /// True or false.
    Bool(fn(&Row<'_>) -> Option<bool>),
    /// One of few words.
    Word(fn(&Row<'_>) -> Option<&'static str>),
    /// A text that many frames share.
    Name(fn(&Row<'_>) -> Option<Name>),
    /// The name of the capture.
    Capture,
    /// One of few words that the analysis tells.
    ToldWord(fn(&Told) -> Option<&'static str>),
    /// A number of 32 bits that the analysis tells.
    ToldU32(fn(&Told) -> Option<u32>),
}

/// What a shared text is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// An address of the network.
    Address(Address),
    /// An Ethernet address.
    Mac(Mac),
    /// A syndrome, in words.
    Syndrome(Syndrome),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Address(address) => write!(f, "{address}"),
            Name::Mac(mac) => write!(f, "{mac}"),
            Name::Syndrome(syndrome) => write!(f, "{}", syndrome.meaning()),
        }
    }
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// The frame does not have it.
    Empty,
    /// A number.
    Unsigned(u64),
    /// A number that may be negative.
    Signed(i64),
    /// True or false.
    Bool(bool),
    /// One of few words.
    Word(&'static str),
    /// A text that many frames share.
    Name(Name),
}

/// Calls a macro with all columns: name, type as in [`Get`], what it means, how it is read. Bindings make an attribute of each.
#[doc(hidden)]
#[macro_export]
macro_rules! packet_columns {
    ($then:ident) => {
        $then! {
            frame U64 "Number of the frame in its capture, from 1."
                |row| Some(row.number);
            time_ns I64 "When it was captured: nanoseconds since 1970-01-01 UTC."
                |row| Some(row.record.time.0);
            interface U16 "The capture's interface, from 0."
                |row| Some(row.record.interface);
            link_type U16 "LINKTYPE number of the frame: its first header."
                |row| Some(row.record.link.0);
            length_bytes U32 "Bytes the frame had on the wire."
                |row| Some(row.d.wire_len());
            captured_bytes U32 "Bytes of it that were captured."
                |row| u32::try_from(row.record.frame.len()).ok();
            tunnel_depth U8 "How many tunnels are around the packet. What follows is of the innermost packet."
                |row| Some(row.d.tunnel_depth());
            src_mac Name "Ethernet source address."
                |row| row.d.get::<Ethernet>().map(|h| Name::Mac(h.src()));
            dst_mac Name "Ethernet destination address."
                |row| row.d.get::<Ethernet>().map(|h| Name::Mac(h.dst()));
            vlan U16 "VLAN identifier."
                |row| row.d.get::<Vlan>().map(|h| h.vid());
            vlan_pcp U8 "Priority code point of the VLAN tag."
                |row| row.d.get::<Vlan>().map(|h| h.pcp());
            src Name "Source address: an IP address, a GID, or lid:0x0001."
                |row| row.d.addresses().map(|[src, _]| Name::Address(src));
            dst Name "Destination address."
                |row| row.d.addresses().map(|[_, dst]| Name::Address(dst));
            dscp U8 "Differentiated services code point of the IP header or GRH."
                |row| traffic_class(row.d).map(|class| class >> 2);
            ecn U8 "Explicit congestion notification of the IP header or GRH: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE."
                |row| traffic_class(row.d).map(|class| class & 3);
            ttl U8 "Time to live, or hop limit."
                |row| ttl(row.d);
            ip_id U16 "Identification of the IPv4 header."
                |row| row.d.get::<Ipv4>().map(|h| h.id().0);
            src_port U16 "UDP source port."
                |row| row.d.get::<Udp>().map(|h| h.src_port());
            dst_port U16 "UDP destination port."
                |row| row.d.get::<Udp>().map(|h| h.dst_port());
            encapsulation Word "How the transport is encapsulated: rocev2-ipv4, rocev2-ipv6, rocev1, ib, ib-grh. Empty if it is no RDMA packet."
                |row| row.d.encapsulation().map(|is| is.name());
            opcode U8 "Operation code of the BTH."
                |row| row.d.opcode().map(|opcode| opcode.0);
            opcode_name Word "Name of the operation code. Empty if it has none."
                |row| row.d.opcode().and_then(|opcode| opcode.name());
            se Bool "Solicited event, of the BTH."
                |row| bth(row.d).map(|h| h.se());
            mig_req Bool "MigReq, of the BTH."
                |row| bth(row.d).map(|h| h.mig_req());
            fecn Bool "Forward congestion, of the BTH."
                |row| bth(row.d).map(|h| h.fecn());
            becn Bool "Backward congestion, of the BTH."
                |row| bth(row.d).map(|h| h.becn());
            ack_req Bool "The requester asks for an acknowledgement, of the BTH."
                |row| bth(row.d).map(|h| h.ack_req());
            p_key U16 "Partition key."
                |row| bth(row.d).map(|h| h.p_key().0);
            dest_qp U32 "Destination queue pair."
                |row| bth(row.d).map(|h| h.dest_qp().0);
            psn U32 "Packet sequence number, modulo 2^24."
                |row| bth(row.d).map(|h| h.psn().0);
            src_qp U32 "The sender's queue pair, of a DETH. Connected packets do not have it."
                |row| row.d.get::<Deth>().map(|h| h.src_qp().0);
            q_key U32 "Queue key, of a DETH."
                |row| row.d.get::<Deth>().map(|h| h.q_key().0);
            reth_va U64 "Virtual address of the RETH."
                |row| row.d.get::<Reth>().map(|h| h.va().0);
            reth_r_key U32 "Remote key of the RETH."
                |row| row.d.get::<Reth>().map(|h| h.r_key().0);
            reth_dma_len_bytes U32 "Bytes of the whole message, of the RETH."
                |row| row.d.get::<Reth>().map(|h| h.dma_len());
            aeth_syndrome U8 "Syndrome of the AETH."
                |row| row.d.get::<Aeth>().map(|h| h.syndrome().0);
            aeth_meaning Name "What the syndrome says: ACK, RNR NAK, NAK and its reason."
                |row| row.d.get::<Aeth>().map(|h| Name::Syndrome(h.syndrome()));
            aeth_msn U32 "Message sequence number of the AETH, modulo 2^24."
                |row| row.d.get::<Aeth>().map(|h| h.msn());
            immediate U32 "Immediate data."
                |row| row.d.get::<ImmDt>().map(|h| h.data().0);
            invalidate_r_key U32 "The key to invalidate, of an IETH."
                |row| row.d.get::<Ieth>().map(|h| h.r_key().0);
            atomic_va U64 "Virtual address of the AtomicETH."
                |row| row.d.get::<AtomicEth>().map(|h| h.va().0);
            atomic_r_key U32 "Remote key of the AtomicETH."
                |row| row.d.get::<AtomicEth>().map(|h| h.r_key().0);
            atomic_swap_data U64 "The value to write or to add, of the AtomicETH."
                |row| row.d.get::<AtomicEth>().map(|h| h.swap_data());
            atomic_compare_data U64 "The value to compare with, of the AtomicETH."
                |row| row.d.get::<AtomicEth>().map(|h| h.compare_data());
            atomic_original_data U64 "The value before the operation, of the AtomicAckETH."
                |row| row.d.get::<AtomicAckEth>().map(|h| h.original_data());
            payload_bytes U32 "Bytes of payload by the packet's length fields, without padding. Empty if it is no RDMA packet."
                |row| bth(row.d).map(|_| row.d.payload_len());
            icrc U32 "The ICRC in the frame, as its four bytes in their order: what Wireshark shows."
                |row| row.d.icrc().map(u32::from_be_bytes);
            icrc_state Word "Whether the ICRC is right: good, bad, unchecked where the frame was cut or is a fragment, or trimmed where a switch cut the packet. Empty if it is no RDMA packet."
                |row| bth(row.d).map(|_| row.icrc().name());
        }
    };
}

macro_rules! columns {
    ($($name:ident $kind:ident $doc:literal $get:expr;)*) => {
        /// All columns of headers, in their order.
        pub static COLUMNS: &[Column] =
            &[$(Column { name: stringify!($name), doc: $doc, get: Get::$kind($get) }),*];
    };
}

packet_columns!(columns);

/// The column before those of headers.
pub static CAPTURE: Column = Column { name: "capture", doc: "The name of the capture.", get: Get::Capture };

/// The columns behind those of headers: what the analysis tells.
pub static TOLD_COLUMNS: [Column; 4] = [
    Column {
        name: "space",
        doc: "Its PSN space: request or response. Empty if it has none.",
        get: Get::ToldWord(|told| {
            told.space.map(|space| match space {
                Space::Request => "request",
                Space::Response => "response",
            })
        }),
    },
    Column {
        name: "class",
        doc: "What it is, as in `rdmawire analyze`: new, retransmission, late_original and others. Empty if that stayed open for \
              too long.",
        get: Get::ToldWord(|told| told.class.map(Class::name)),
    },
    Column {
        name: "epoch",
        doc: "0, and one more each time that the queue pair was given to a new connection. With capture, src, dst and dest_qp it \
              identifies the row of the table flows. Empty if the packet is of no flow.",
        get: Get::ToldU32(|told| told.epoch),
    },
    Column {
        name: "peer_qp",
        doc: "The sender's queue pair: with src, the other end of the connection. Empty if that was not known when the packet came: \
              the first packets of a connection are not paired yet, and the table flows has it for all of them.",
        get: Get::ToldU32(|told| told.peer_qp),
    },
];

fn bth<'a>(d: &Dissection<'a>) -> Option<&'a Bth> {
    d.get::<Bth>()
}

/// DSCP and ECN, as one byte.
fn traffic_class(d: &Dissection<'_>) -> Option<u8> {
    if let Some(ip) = d.get::<Ipv4>() {
        return Some(ip.dscp() << 2 | ip.ecn().0);
    }
    if let Some(ip) = d.get::<Ipv6>() {
        return Some(ip.dscp() << 2 | ip.ecn().0);
    }
    d.get::<Grh>().map(|grh| grh.t_class().0)
}

fn ttl(d: &Dissection<'_>) -> Option<u8> {
    let ipv4 = d.get::<Ipv4>().map(|ip| ip.ttl());
    ipv4.or_else(|| d.get::<Ipv6>().map(|ip| ip.hop_limit()))
        .or_else(|| d.get::<Grh>().map(|grh| grh.hop_lmt()))
}

impl Column {
    /// All columns of rows, in their order.
    pub fn all() -> impl Iterator<Item = &'static Column> {
        std::iter::once(&CAPTURE).chain(COLUMNS).chain(&TOLD_COLUMNS)
    }

    /// The column of this name.
    pub fn of(name: &str) -> Option<&'static Column> {
        static BY_NAME: OnceLock<HashMap<&'static str, &'static Column>> = OnceLock::new();
        let by_name = || Column::all().map(|column| (column.name, column)).collect();
        BY_NAME.get_or_init(by_name).get(name).copied()
    }

    /// The value of a frame; empty for a column that is not of headers.
    pub fn value(&self, row: &Row<'_>) -> Cell {
        match self.get {
            Get::U8(get) => get(row).map(|n| Cell::Unsigned(n.into())),
            Get::U16(get) => get(row).map(|n| Cell::Unsigned(n.into())),
            Get::U32(get) => get(row).map(|n| Cell::Unsigned(n.into())),
            Get::U64(get) => get(row).map(Cell::Unsigned),
            Get::I64(get) => get(row).map(Cell::Signed),
            Get::Bool(get) => get(row).map(Cell::Bool),
            Get::Word(get) => get(row).map(Cell::Word),
            Get::Name(get) => get(row).map(Cell::Name),
            Get::Capture | Get::ToldWord(_) | Get::ToldU32(_) => None,
        }
        .unwrap_or(Cell::Empty)
    }

    /// What the analysis tells of a frame; empty for any other column.
    pub fn told(&self, told: &Told) -> Cell {
        match self.get {
            Get::ToldWord(get) => get(told).map(Cell::Word),
            Get::ToldU32(get) => get(told).map(|n| Cell::Unsigned(n.into())),
            _ => None,
        }
        .unwrap_or(Cell::Empty)
    }

    /// Whether a frame does not have it by itself: the capture's name, and what the analysis tells.
    pub fn is_of_rows(&self) -> bool {
        self.is_told() || matches!(self.get, Get::Capture)
    }

    /// Whether the analysis tells it.
    pub fn is_told(&self) -> bool {
        matches!(self.get, Get::ToldWord(_) | Get::ToldU32(_))
    }

    /// The name of its type.
    pub fn kind(&self) -> &'static str {
        match self.get {
            Get::U8(_) => "uint8",
            Get::U16(_) => "uint16",
            Get::U32(_) | Get::ToldU32(_) => "uint32",
            Get::U64(_) => "uint64",
            Get::I64(_) => "int64",
            Get::Bool(_) => "bool",
            Get::Word(_) | Get::Name(_) | Get::Capture | Get::ToldWord(_) => "text",
        }
    }
}

impl Cell {
    /// Writes the value as text; nothing where it is empty.
    ///
    /// # Errors
    /// What `to` fails with.
    pub fn write(self, to: &mut impl Write) -> fmt::Result {
        match self {
            Cell::Empty => Ok(()),
            Cell::Unsigned(n) => write!(to, "{n}"),
            Cell::Signed(n) => write!(to, "{n}"),
            Cell::Bool(is) => write!(to, "{is}"),
            Cell::Word(word) => to.write_str(word),
            Cell::Name(name) => write!(to, "{name}"),
        }
    }
}
