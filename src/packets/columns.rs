//! The columns of packets: fields of headers, what is computed from a frame, and what the analysis says of it.

use std::fmt::{self, Write};

use crate::{
    analyze::{Class, FlowUid, Space},
    capture::Record,
    dissect::{Address, Dissection, Hop, Hops, Note},
    icrc::{self, State},
    report::table::Kind as CellKind,
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
    /// What it has on the port of RoCE is none, as the analysis sees it: columns of the transport are empty.
    pub is_other_udp: bool,
}

impl Row<'_> {
    fn icrc(&self) -> State {
        self.icrc.unwrap_or_else(|| icrc::verify(self.d))
    }
}

/// What the analysis says of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowVerdict {
    /// Its PSN space; `None` if it has none.
    pub space: Option<Space>,
    /// What it is; `None` as long as that is open.
    pub class: Option<Class>,
    /// What identifies the flow; `None` if the frame is of no flow.
    pub uid: Option<FlowUid>,
    /// How often the queue pair had been given to a new connection; `None` if the frame is of no flow.
    pub epoch: Option<u32>,
    /// The sender's queue pair, if it was known when the frame came.
    pub peer_qp: Option<u32>,
    /// Of an acknowledgement: nanoseconds since the request packet that it acknowledges.
    pub ack_rtt_ns: Option<u64>,
    /// The message that it is of: the number of the first frame of that which was seen.
    pub message: Option<u64>,
}

/// A column.
#[derive(Debug)]
pub struct Column {
    /// Its name. A field of a header has the name that it has in filters, with `_` for `.`: in SQL, that needs no quotes. Units of
    /// what is computed stand in the name.
    pub name: &'static str,
    /// Another name that people may give; empty if there is none.
    alias: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// The type of its values.
    pub kind: CellKind,
    get: Get,
}

/// How a value is read.
#[derive(Clone, Copy, Debug)]
enum Get {
    /// Of the innermost header of this kind.
    Field(Kind, &'static Field),
    Frame(fn(&Row<'_>) -> Cell),
    Verdict(fn(&RowVerdict) -> Cell),
    /// The name of the capture.
    Capture,
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

/// What a shared text is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// An address of the network.
    Address(Address),
    /// An Ethernet address.
    Mac(Mac),
    /// A syndrome, in words.
    Syndrome(Syndrome),
    /// A flow.
    Flow(FlowUid),
    /// A note on a layer: its id.
    Note(Kind, &'static str),
}

/// Columns in their order: fields of headers by their names in filters; others with type, meaning and value, which is read by
/// `Get::Frame` or `Get::Verdict`. Behind `as` stands another name that people may give: the one before version 0.2, or that of filters.
macro_rules! columns {
    ($get:ident: $($name:ident $(.$field:ident)? $(as $alias:ident)? $(: $kind:ident $doc:literal, $from:ident => $value:expr)?;)*) => {
        &[$(Column { alias: concat!("" $(, stringify!($alias))?), ..columns!(@ $get $name $(.$field)? $(: $kind $doc, $from => $value)?) }),*]
    };
    (@ $get:ident $layer:ident.$field:ident) => {
        Column::of_field(concat!(stringify!($layer), "_", stringify!($field)), stringify!($layer), stringify!($field))
    };
    (@ $get:ident $name:ident: $kind:ident $doc:literal, $from:ident => $value:expr) => {
        Column::new(stringify!($name), $doc, CellKind::$kind, Get::$get(|$from| Cell::from($value)))
    };
}

/// All columns of frames, in their order.
pub static COLUMNS: &[Column] = columns! {
    Frame:
    frame as frame_number: I64 "Number of the frame in its capture, from 1.", row => row.number;
    time_ns as frame_time_ns: Time "When it was captured: nanoseconds since 1970-01-01 UTC.", row => row.record.time.0;
    interface: I64 "The capture's interface, from 0.", row => row.record.interface;
    link_type as frame_link_type: I64 "LINKTYPE number of the frame: its first header.", row => row.record.link.0;
    length_bytes as frame_len: I64 "Bytes the frame had on the wire.", row => row.record.lengths().0;
    captured_bytes as frame_cap_len: I64 "Bytes of it that were captured.", row => row.record.lengths().1;
    tunnel_depth: I64 "How many tunnels are around the packet. What follows is of the innermost packet.",
        row => row.d.tunnel_depth();
    outer_src: Text "Source address of the outermost IP header, where the packet is in a tunnel.",
        row => outer(row.d).map(|[src, _]| Name::Address(src));
    outer_dst: Text "Destination address of the outermost IP header, where the packet is in a tunnel.",
        row => outer(row.d).map(|[_, dst]| Name::Address(dst));
    vni: I64 "Virtual network of the VXLAN or GENEVE tunnel that the packet is in: as in the table flows.", row => vni(row.d);
    erspan_session_id: I64 "Mirror session, where a switch mirrored the frame by ERSPAN.", row => erspan(row.d).map(|(session, _)| session);
    erspan_timestamp: I64 "When the switch mirrored it, by the header of ERSPAN III: the unit is in the header.",
        row => erspan(row.d).and_then(|(_, time)| time);
    gre_sequence_number: I64 "Sequence number of the GRE tunnel: a mirror numbers its copies.",
        row => in_tunnel(row.d).and_then(|d| d.get::<GreSequence>()).map(|h| h.sequence_number());
    ethernet.src as src_mac;
    ethernet.dst as dst_mac;
    vlan.vid as vlan;
    vlan.pcp;
    lrh.sl;
    lrh.vl;
    lrh.slid;
    lrh.dlid;
    src: Text "Source address: an IP address, a GID, or lid:0x0001.",
        row => row.d.addresses().map(|[src, _]| Name::Address(src));
    dst: Text "Destination address.", row => row.d.addresses().map(|[_, dst]| Name::Address(dst));
    dscp: I64 "Differentiated services code point of the IP header or GRH.", row => row.d.class_and_ttl().map(|(class, _)| class >> 2);
    ecn: I64 "Explicit congestion notification of the IP header or GRH: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE. In a tunnel, that of the inner header; `ce_packets` of flows also counts CE of an outer one.",
        row => row.d.class_and_ttl().map(|(class, _)| class & 3);
    ttl: I64 "Time to live, or hop limit.", row => row.d.class_and_ttl().map(|(_, ttl)| ttl);
    flow_label: I64 "Flow label of IPv6 or the GRH, by which switches choose among equal paths.", row => flow_label(row.d);
    ipv4.id as ip_id;
    ipv6.flow_label as flow_label;
    udp.src_port as src_port;
    udp.dst_port as dst_port;
    encapsulation: Text "How the transport is encapsulated: rocev2-ipv4, rocev2-ipv6, rocev1, ib, ib-grh. Empty if it is no RDMA packet, as UDP on the port of RoCE that is something else: see not_decoded of analyze.",
        row => row.d.encapsulation().map(|is| is.name());
    bth.opcode as opcode;
    opcode_name: Text "Name of the operation code. Empty if it has none.",
        row => row.d.opcode().and_then(|opcode| opcode.name());
    bth.se as se;
    bth.mig_req as mig_req;
    bth.fecn as fecn;
    bth.becn as becn;
    bth.ack_req as ack_req;
    bth.rtx as rtx;
    bth.p_key as p_key;
    dest_qp as bth_dest_qp: I64 "Destination queue pair, of the BTH: as in tables of a report.", row => bth(row.d).map(|h| h.dest_qp().0);
    bth.psn as psn;
    deth.src_qp as src_qp;
    deth.q_key as q_key;
    reth.va;
    reth.r_key;
    reth.dma_len as reth_dma_len_bytes;
    aeth.syndrome;
    aeth_meaning: Text "What the syndrome says: ACK, RNR NAK, NAK and its reason.",
        row => row.d.get::<Aeth>().map(|h| Name::Syndrome(h.syndrome()));
    aeth.msn;
    immdt.data as immediate;
    ieth.r_key as invalidate_r_key;
    atomiceth.va as atomic_va;
    atomiceth.r_key as atomic_r_key;
    atomiceth.swap_data as atomic_swap_data;
    atomiceth.compare_data as atomic_compare_data;
    atomicacketh.original_data as atomic_original_data;
    meth.msn;
    meth.rq_msn;
    tseth.tx_timestamp as tseth_tx_timestamp;
    seth.m;
    seth.pr;
    seth.entropy;
    seth.cack_psn;
    seth.ack_psn_offset;
    seth.sack_offset;
    seth.sack_bitmap;
    seth.mpr;
    cc_state.tx_timestamp as cc_state_tx_timestamp;
    cc_state.ooo_count;
    cc_state.rcv_cwnd_penalty;
    cc_state.rcvd_bytes as cc_state_rcvd_units;
    neth.reason;
    neth.nack_psn;
    neth.entropy;
    peth.probe_id;
    uet_packet: Text "What a packet of Ultra Ethernet is: RUD request, ACK, NACK and others.",
        row => uet(row.d, "pds", "kind").and_then(|(field, value)| field.show.name(value));
    uet_spdcid: I64 "The sender's packet delivery context.", row => uet(row.d, "pds", "spdcid").map(|(_, value)| value);
    uet_dpdcid: I64 "The receiver's; empty as long as that is not known.",
        row => uet(row.d, "pds", "dpdcid").map(|(_, value)| value);
    uet_psn: I64 "Packet sequence number: of a request, of a control packet, or the one that a NACK is about.",
        row => uet(row.d, "pds", "psn").map(|(_, value)| value);
    uet_cack_psn: I64 "Cumulative acknowledgement of Ultra Ethernet: this PSN and all before it have arrived.",
        row => uet(row.d, "pds", "cack_psn").map(|(_, value)| value);
    uet_retransmit: Bool "The packet says that it was sent before, or answers one that was.",
        row => uet(row.d, "pds", "retransmit").map(|(_, value)| Cell::Bool(value != 0));
    uet_nack_code: Text "Why a packet of Ultra Ethernet was not acknowledged.",
        row => uet(row.d, "pds", "nack_code").and_then(|(field, value)| field.show.name(value));
    uet_operation: Text "Operation of a request of Ultra Ethernet, or the kind of a response.",
        row => uet(row.d, "ses", "opcode").and_then(|(field, value)| field.show.name(value));
    uet_return_code: Text "What became of a request of Ultra Ethernet.",
        row => uet(row.d, "ses", "return_code").and_then(|(field, value)| field.show.name(value));
    csig.signal;
    csig.value;
    csig.locator;
    telemetry_hops: I64 "Hops that wrote into the packet on its way: IFA, INT.", row => hops(row.d).map(|hops| hops.count() as u64);
    telemetry_delay_ns: I64 "How long it was in these switches, in sum: nanoseconds; of INT as its domain defines it.",
        row => hops(row.d).and_then(|hops| hops.filter_map(|hop| hop.delay).map(u64::from).reduce(u64::saturating_add));
    telemetry_max_delay_ns: I64 "How long it was in the switch that held it longest.",
        row => slowest(row.d).and_then(|hop| hop.delay);
    telemetry_max_delay_device: I64 "Which switch that is.", row => slowest(row.d).and_then(|hop| hop.device);
    telemetry_max_queue_depth: I64 "The fullest queue that it was in, in units of the switch.",
        row => hops(row.d).and_then(|hops| hops.filter_map(|hop| hop.queue_depth).max());
    payload_bytes as payload_len: I64 "Bytes of payload by the packet's length fields, without padding. Empty if it is no RDMA packet.",
        row => bth(row.d).map(|_| row.d.whole_payload_len());
    pad_bytes as bth_padcnt: I64 "Bytes of padding behind the payload. Empty if it is no RDMA packet.", row => bth(row.d).map(|_| row.d.pad_len());
    icrc: U32 "The ICRC in the frame, as its four bytes in their order: what Wireshark shows.",
        row => row.d.icrc().map(u32::from_be_bytes);
    icrc_state: Text "Whether the ICRC is right: good, bad, unchecked where the frame was cut or is a fragment, or trimmed where a switch cut the packet; of Ultra Ethernet, its CRC32C. Empty if it is no RDMA packet.",
        row => match row.d.is_uet() {
            true => Some(icrc::verify(row.d).name()),
            false => bth(row.d).map(|_| row.icrc().name()),
        };
    note: Text "The worst that dissection remarks: the id that `rdmawire explain note` explains. Empty if there is nothing to remark.",
        row => worst(row.d).map(|note| Name::Note(note.layer, note.problem.id()));
};

/// The column before those of frames.
pub static CAPTURE: Column = Column::new("capture", "The name of the capture.", CellKind::Text, Get::Capture);

/// The columns behind those of frames: what the analysis says.
pub static VERDICT_COLUMNS: &[Column] = columns! {
    Verdict:
    space: Text "Its PSN space: request or response. Empty if it has none.",
        verdict => verdict.space.map(|space| match space { Space::Request => "request", Space::Response => "response" });
    class: Text "What it is, as in `rdmawire analyze`: new, retransmission, late_original and others. Empty if that stayed open for too long.",
        verdict => verdict.class.map(Class::name);
    uid: Text "What identifies the flow: the `uid` of the row of the table flows. Empty if the packet is of no flow.",
        verdict => verdict.uid.map(Name::Flow);
    epoch: I64 "0, and one more each time that the queue pair was given to a new connection. Empty if the packet is of no flow.",
        verdict => verdict.epoch;
    ack_rtt_ns: I64 "Of an acknowledgement: nanoseconds since the request packet that it acknowledges was captured.",
        verdict => verdict.ack_rtt_ns;
    message_first_frame: I64 "The message that it is of: the first frame of that which was seen, as `first_frame` in the table messages. With capture, it groups the packets of a message; data of a READ and answers to atomic operations are of the message that asked. Empty for ACKs, where the request was not seen, and for repeated packets of messages that are long over.",
        verdict => verdict.message;
    peer_qp: I64 "The sender's queue pair: with src, the other end of the connection. Empty if that was not known when the packet came: the first packets of a connection are not paired yet, and the table flows has it for all of them.",
        verdict => verdict.peer_qp;
};

fn bth<'a>(d: &Dissection<'a>) -> Option<&'a Bth> {
    d.get::<Bth>()
}

/// A packet in a tunnel; most are in none.
#[inline]
fn in_tunnel<'b, 'a>(d: &'b Dissection<'a>) -> Option<&'b Dissection<'a>> {
    (d.tunnel_depth() > 0).then_some(d)
}

/// The addresses of the outermost IP header around a tunnel.
fn outer(d: &Dissection<'_>) -> Option<[Address; 2]> {
    let frame = in_tunnel(d)?.frame();
    d.layers().iter().find_map(|layer| {
        let at = frame.get(layer.at as usize..)?;
        match layer.kind {
            Kind::Ipv4 => Ipv4::view(at).map(|(ip, _)| [ip.src(), ip.dst()].map(|ip| Address::Ip(ip.into()))),
            Kind::Ipv6 => Ipv6::view(at).map(|(ip, _)| [ip.src(), ip.dst()].map(|ip| Address::Ip(ip.into()))),
            _ => None,
        }
    })
}

/// The virtual network of an overlay.
fn vni(d: &Dissection<'_>) -> Option<u32> {
    let d = in_tunnel(d)?;
    d.get::<Vxlan>().map(|h| h.vni()).or_else(|| d.get::<Geneve>().map(|h| h.vni()))
}

/// The mirror session, and the switch's time.
fn erspan(d: &Dissection<'_>) -> Option<(u16, Option<u32>)> {
    let d = in_tunnel(d)?;
    let third = d.get::<Erspan3>().map(|h| (h.session_id(), Some(h.timestamp())));
    third.or_else(|| d.get::<Erspan2>().map(|h| (h.session_id(), None)))
}

fn flow_label(d: &Dissection<'_>) -> Option<u32> {
    d.get::<Ipv6>().map(|h| h.flow_label()).or_else(|| d.get::<Grh>().map(|h| h.flow_label()))
}

/// The first of the worst notes.
fn worst<'a>(d: &'a Dissection<'_>) -> Option<&'a Note> {
    d.notes()
        .iter()
        .reduce(|worst, note| if note.problem.severity() > worst.problem.severity() { note } else { worst })
}

impl Column {
    const fn new(name: &'static str, doc: &'static str, kind: CellKind, get: Get) -> Column {
        Column { name, alias: "", doc, kind, get }
    }

    /// The column of a header's field.
    const fn of_field(name: &'static str, layer: &str, field: &str) -> Column {
        let mut i = 0;
        while i < Kind::ALL.len() {
            let kind = Kind::ALL[i];
            i += 1;
            if !is_same(kind.layer(), layer) {
                continue;
            }
            let Some(info) = kind.info() else { continue };
            let mut n = 0;
            while n < info.fields.len() {
                let known = &info.fields[n];
                n += 1;
                if is_same(known.name, field) {
                    let get = Get::Field(kind, known);
                    return Column::new(name, known.doc.trim_ascii(), kind_of(known), get);
                }
            }
        }
        panic!("no header has this field")
    }

    /// All columns of rows, in their order.
    pub fn all() -> impl Iterator<Item = &'static Column> {
        std::iter::once(&CAPTURE).chain(COLUMNS).chain(VERDICT_COLUMNS)
    }

    /// The names that it has, that in files first.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        [self.name, self.alias].into_iter().filter(|name| !name.is_empty())
    }

    /// The column of this name, as in files or as in filters: `reth_va`, `reth.va`. Names of earlier versions are known, too.
    pub fn of(name: &str) -> Option<&'static Column> {
        let is_same = |known: &str| {
            let plain = |byte: u8| if byte == b'.' { b'_' } else { byte };
            known.len() == name.len() && known.bytes().eq(name.bytes().map(plain))
        };
        Column::all().find(|column| is_same(column.name) || !column.alias.is_empty() && is_same(column.alias))
    }

    /// The value of a frame; empty for a column that is not of frames.
    #[inline]
    pub fn value(&self, row: &Row<'_>) -> Cell {
        match self.get {
            _ if row.is_other_udp && self.is_of_transport(row.d) => Cell::Empty,
            Get::Field(kind, field) => field_of(row.d, kind, field).unwrap_or(Cell::Empty),
            Get::Frame(get) => get(row),
            Get::Capture | Get::Verdict(_) => Cell::Empty,
        }
    }

    /// Whether its value is of the BTH of a packet, or of what is behind it.
    #[cold]
    fn is_of_transport(&self, d: &Dissection<'_>) -> bool {
        const COMPUTED: [&str; 9] = [
            "encapsulation",
            "opcode_name",
            "dest_qp",
            "aeth_meaning",
            "payload_bytes",
            "pad_bytes",
            "icrc",
            "icrc_state",
            "note",
        ];
        match self.get {
            Get::Field(kind, _) => d.offset(kind) >= d.offset(Kind::Bth),
            _ => COMPUTED.contains(&self.name),
        }
    }

    /// What the analysis says of a frame; empty for any other column.
    pub fn verdict(&self, verdict: &RowVerdict) -> Cell {
        match self.get {
            Get::Verdict(get) => get(verdict),
            _ => Cell::Empty,
        }
    }

    /// Whether a frame does not have it by itself: the capture's name, and what the analysis says.
    pub fn is_of_rows(&self) -> bool {
        self.is_capture() || self.is_verdict()
    }

    /// Whether it is the capture's name.
    pub fn is_capture(&self) -> bool {
        matches!(self.get, Get::Capture)
    }

    /// Whether the analysis says it.
    pub fn is_verdict(&self) -> bool {
        matches!(self.get, Get::Verdict(_))
    }
}

/// Whether two names are the same, for constants.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    if a.len() != b.len() {
        return false;
    }
    while i < a.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len()
}

#[inline]
fn field_of(d: &Dissection<'_>, kind: Kind, field: &Field) -> Option<Cell> {
    let header = d.frame().get(d.offset(kind)?..)?.get(..kind.info()?.len)?;
    Some(match field.show {
        Show::Flag => Cell::Bool(field.get(header) != 0),
        Show::Mac => Cell::Name(Name::Mac(Mac::get(header, field))),
        _ => Cell::Unsigned(field.get(header)),
    })
}

/// Whether it is a key or data, whose bits are no number to calculate with.
const fn is_opaque(name: &str) -> bool {
    is_same(name, "p_key") || is_same(name, "q_key") || is_same(name, "r_key") || is_same(name, "data")
}

/// Numbers are signed, so that differences of them are what they should be. Addresses of memory need all their 64 bits.
const fn kind_of(field: &Field) -> CellKind {
    match (field.show, field.width) {
        (Show::Flag, _) => CellKind::Bool,
        (Show::Mac, _) => CellKind::Text,
        (_, ..=16) if is_opaque(field.name) => CellKind::U16,
        (_, ..=32) if is_opaque(field.name) => CellKind::U32,
        (_, ..=63) => CellKind::I64,
        (_, ..=64) => CellKind::U64,
        _ => panic!("a field of so many bits has no column yet"),
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

macro_rules! cells {
    ($($from:ty: $value:ident => $cell:expr;)*) => {$(
        impl From<$from> for Cell {
            fn from($value: $from) -> Cell {
                $cell
            }
        }
    )*};
}

cells! {
    u8: n => Cell::Unsigned(n.into());
    u16: n => Cell::Unsigned(n.into());
    u32: n => Cell::Unsigned(n.into());
    u64: n => Cell::Unsigned(n);
    i64: n => Cell::Signed(n);
    &'static str: word => Cell::Word(word);
    Name: name => Cell::Name(name);
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::Empty, T::into)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Address(address) => write!(f, "{address}"),
            Name::Mac(mac) => write!(f, "{mac}"),
            Name::Syndrome(syndrome) => write!(f, "{syndrome}"),
            Name::Flow(uid) => write!(f, "{uid}"),
            Name::Note(layer, id) => write!(f, "{}.{id}", layer.layer()),
        }
    }
}

/// The hops that wrote into a packet; most have none.
fn hops<'d>(d: &'d Dissection<'_>) -> Option<Hops<'d>> {
    d.has_telemetry().then(|| d.hops())
}

/// The hop that held a packet longest.
fn slowest(d: &Dissection<'_>) -> Option<Hop> {
    hops(d)?.max_by_key(|hop| hop.delay)
}

/// A field of Ultra Ethernet in whichever header of this layer has it, and its value.
fn uet(d: &Dissection<'_>, layer: &str, name: &str) -> Option<(&'static Field, u64)> {
    if !d.is_uet() {
        return None;
    }
    d.layers().iter().filter(|at| at.kind.layer() == layer).find_map(|at| {
        let field = at.kind.fields().iter().find(|field| field.name == name)?;
        Some((field, field.get(d.frame().get(at.at as usize..)?)))
    })
}
