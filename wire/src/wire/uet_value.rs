//! Values of Ultra Ethernet (UET 1.0): what packets are and ask for, why they are not taken, what operations return.
//!
//! The specification was not read: these are as three public implementations have them. What they dispute is said at the header or field,
//! and is to be shown, not judged by.

use super::Show;

number! {
    /// What a packet of the PDS is.
    PdsType(u8) as Show::Named(|v| match v {
        1 => Some("TSS"),
        2 => Some("RUD request"),
        3 => Some("ROD request"),
        4 => Some("RUDI request"),
        5 => Some("RUDI response"),
        6 => Some("UUD request"),
        7 => Some("ACK"),
        8 => Some("ACK CC"),
        9 => Some("ACK CCX"),
        10 => Some("NACK"),
        11 => Some("control"),
        12 => Some("NACK CCX"),
        13 => Some("RUD request CC"),
        14 => Some("ROD request CC"),
        _ => None,
    })
}

impl PdsType {
    /// An encrypted packet.
    pub const TSS: PdsType = PdsType(1);
    /// An unordered request.
    pub const RUD_REQUEST: PdsType = PdsType(2);
    /// An ordered request.
    pub const ROD_REQUEST: PdsType = PdsType(3);
    /// A response of RUDI.
    pub const RUDI_RESPONSE: PdsType = PdsType(5);
    /// A request of RUDI.
    pub const RUDI_REQUEST: PdsType = PdsType(4);
    /// A request of UUD.
    pub const UUD_REQUEST: PdsType = PdsType(6);
    /// An acknowledgement.
    pub const ACK: PdsType = PdsType(7);
    /// One with state of congestion.
    pub const ACK_CC: PdsType = PdsType(8);
    /// One with extended state.
    pub const ACK_CCX: PdsType = PdsType(9);
    /// A negative acknowledgement.
    pub const NACK: PdsType = PdsType(10);
    /// One with extended state of congestion.
    pub const NACK_CCX: PdsType = PdsType(12);
    /// A control packet.
    pub const CONTROL: PdsType = PdsType(11);
    /// An unordered request with state of congestion.
    pub const RUD_REQUEST_CC: PdsType = PdsType(13);
    /// An ordered request with state of congestion.
    pub const ROD_REQUEST_CC: PdsType = PdsType(14);

    /// Its first header; `None` for a type that is not known.
    pub const fn header(self, is_syn: bool) -> Option<super::Kind> {
        use super::Kind;
        Some(match self.0 {
            1 => Kind::Tss,
            2 | 3 | 13 | 14 if is_syn => Kind::PdsRequestSyn,
            2 | 3 | 13 | 14 => Kind::PdsRequest,
            4 | 5 => Kind::PdsRudi,
            6 => Kind::PdsUud,
            7..=9 => Kind::PdsAck,
            10 | 12 => Kind::PdsNack,
            11 if is_syn => Kind::PdsControlSyn,
            11 => Kind::PdsControl,
            _ => return None,
        })
    }
}

number! {
    /// Which header of the SES follows the PDS.
    PdsNext(u8) as Show::Named(|v| match v {
        0 => Some("none"),
        1 => Some("small request"),
        2 => Some("medium request"),
        3 => Some("standard request"),
        4 => Some("response"),
        5 => Some("response with data"),
        6 => Some("response with small data"),
        _ => None,
    })
}

number! {
    /// What a control packet is for.
    PdsControlType(u8) as Show::Named(|v| match v {
        0 => Some("no-op"),
        1 => Some("ACK request"),
        2 => Some("clear command"),
        3 => Some("clear request"),
        4 => Some("close command"),
        5 => Some("close request"),
        6 => Some("probe"),
        7 => Some("credit"),
        8 => Some("credit request"),
        9 => Some("negotiation"),
        _ => None,
    })
}

impl PdsControlType {
    /// The sender closes the context.
    pub const CLOSE_COMMAND: PdsControlType = PdsControlType(4);
    /// The receiver asks for that.
    pub const CLOSE_REQUEST: PdsControlType = PdsControlType(5);
    /// A question for the state of the receiver.
    pub const PROBE: PdsControlType = PdsControlType(6);
    /// The receiver gives credits.
    pub const CREDIT: PdsControlType = PdsControlType(7);
    /// The sender asks for some.
    pub const CREDIT_REQUEST: PdsControlType = PdsControlType(8);
}

number! {
    /// Why a packet was not acknowledged.
    PdsNackCode(u8) as Show::Named(|v| match v {
        0x01 => Some("trimmed"),
        0x02 => Some("trimmed at the last hop"),
        0x03 => Some("trimmed ACK"),
        0x04 => Some("no PDC"),
        0x05 => Some("no CCC"),
        0x06 => Some("no bitmap"),
        0x07 => Some("no packet buffer"),
        0x08 => Some("no guaranteed delivery"),
        0x09 => Some("no SES message"),
        0x0a => Some("no resource"),
        0x0b => Some("PSN out of window"),
        0x0d => Some("ROD out of order"),
        0x0e => Some("invalid DPDCID"),
        0x0f => Some("PDC header mismatch"),
        0x10 => Some("closing"),
        0x11 => Some("closing in error"),
        0x12 => Some("packet not received"),
        0x13 => Some("guaranteed response unavailable"),
        0x14 => Some("ACK with data"),
        0x15 => Some("invalid SYN"),
        0x16 => Some("PDC mode mismatch"),
        0x17 => Some("new start PSN"),
        0x18 => Some("SES processing"),
        0x19 => Some("unexpected event"),
        0x1a => Some("receiver inferred loss"),
        0xfd => Some("expected NACK, normal"),
        0xfe => Some("expected NACK, error"),
        0xff => Some("expected NACK, fatal"),
        _ => None,
    })
}

impl PdsNackCode {
    /// A switch cut the packet to its headers.
    pub const TRIMMED: PdsNackCode = PdsNackCode(1);
    /// The last switch, before the receiver, did.
    pub const TRIMMED_LAST_HOP: PdsNackCode = PdsNackCode(2);
    /// A switch cut an acknowledgement with data.
    pub const TRIMMED_ACK: PdsNackCode = PdsNackCode(3);
    /// A receiver of ordered requests does not take what is behind a missing one.
    pub const OUT_OF_ORDER: PdsNackCode = PdsNackCode(0x0d);

    /// Its name.
    pub fn name(self) -> Option<&'static str> {
        <Self as super::Bits>::SHOW.name(self.0.into())
    }
}

number! {
    /// What a responder asks for.
    AckRequest(u8) as Show::Named(|v| match v {
        0 => Some("none"),
        1 => Some("clear"),
        2 => Some("close"),
        _ => None,
    })
}

number! {
    /// Which state of congestion follows.
    CcType(u8) as Show::Named(|v| match v {
        0 => Some("NSCC"),
        1 => Some("credit"),
        _ => None,
    })
}

number! {
    /// Operation of a request of the SES.
    SesOpcode(u8) as Show::Named(|v| match v {
        0x00 => Some("no-op"),
        0x01 => Some("write"),
        0x02 => Some("read"),
        0x03 => Some("atomic"),
        0x04 => Some("fetching atomic"),
        0x05 => Some("send"),
        0x06 => Some("rendezvous send"),
        0x07 => Some("datagram send"),
        0x08 => Some("deferrable send"),
        0x09 => Some("tagged send"),
        0x0a => Some("rendezvous tagged send"),
        0x0b => Some("deferrable tagged send"),
        0x0c => Some("deferrable ready to restart"),
        0x0d => Some("tagged send atomic"),
        0x0e => Some("tagged send fetching atomic"),
        0x0f => Some("message error"),
        0x10 => Some("synchronizing write"),
        0x11 => Some("synchronizing atomic"),
        0x30..=0x3e => Some("vendor's own"),
        0x3f => Some("extended"),
        _ => None,
    })
}

impl SesOpcode {
    /// Its name.
    pub fn name(self) -> Option<&'static str> {
        <Self as super::Bits>::SHOW.name(self.0.into())
    }

    /// Whether an extension of rendezvous follows the header.
    pub const fn is_rendezvous(self) -> bool {
        matches!(self.0, 0x06 | 0x0a)
    }

    /// Whether the sender goes on later if the target defers it.
    pub const fn is_deferrable(self) -> bool {
        matches!(self.0, 0x08 | 0x0b)
    }

    /// Whether the target says that it is ready to go on.
    pub const fn is_restart(self) -> bool {
        self.0 == 0x0c
    }

    /// Whether an extension of atomic operations follows.
    pub const fn is_atomic(self) -> bool {
        matches!(self.0, 0x03 | 0x04 | 0x0d | 0x0e | 0x11)
    }

    /// Whether an extension of synchronization follows.
    pub const fn is_sync(self) -> bool {
        matches!(self.0, 0x10 | 0x11)
    }

    /// Whether the bytes that it names are in its packets. Those of a read are in the responses, those of atomic operations have other
    /// lengths, those of a rendezvous are in part behind.
    pub const fn has_payload(self) -> bool {
        matches!(self.0, 0x01 | 0x05 | 0x07 | 0x08 | 0x09 | 0x0b | 0x10)
    }
}

number! {
    /// Kind of a response of the SES.
    SesResponseOpcode(u8) as Show::Named(|v| match v {
        0 => Some("default"),
        1 => Some("response"),
        2 => Some("with data"),
        3 => Some("none"),
        0x30..=0x3f => Some("vendor's own"),
        _ => None,
    })
}

number! {
    /// List that a message was delivered to.
    SesList(u8) as Show::Named(|v| match v {
        0 => Some("expected"),
        1 => Some("overflow"),
        _ => Some("vendor's own"),
    })
}

number! {
    /// What became of a request.
    SesReturnCode(u8) as Show::Named(|v| match v {
        0x00 => Some("null"),
        0x01 => Some("OK"),
        0x02 => Some("bad generation"),
        0x03 => Some("disabled"),
        0x04 => Some("disabled, generation"),
        0x05 => Some("no match"),
        0x06 => Some("unsupported operation"),
        0x07 => Some("unsupported size"),
        0x08 => Some("address translation: invalid"),
        0x09 => Some("address translation: permission"),
        0x0a => Some("address translation: ATS error"),
        0x0b => Some("address translation: none"),
        0x0c => Some("address translation: out of range"),
        0x0d => Some("host poisoned"),
        0x0e => Some("host completion unsuccessful"),
        0x0f => Some("atomic: unsupported operation"),
        0x10 => Some("atomic: unsupported type"),
        0x11 => Some("atomic: unsupported size"),
        0x12 => Some("atomic: not aligned"),
        0x13 => Some("atomic: not a number"),
        0x14 => Some("atomic: underflow"),
        0x15 => Some("atomic: overflow"),
        0x16 => Some("atomic: inexact"),
        0x17 => Some("permission violation"),
        0x18 => Some("operation violation"),
        0x19 => Some("bad index"),
        0x1a => Some("bad PID"),
        0x1b => Some("bad job ID"),
        0x1c => Some("bad memory key"),
        0x1d => Some("bad address"),
        0x1e => Some("cancelled"),
        0x1f => Some("undeliverable"),
        0x20 => Some("uncorrectable"),
        0x21 => Some("uncorrectable, transient"),
        0x22 => Some("too long"),
        0x23 => Some("initiator error"),
        0x24 => Some("dropped"),
        0x30..=0x37 => Some("vendor's own"),
        0x3e => Some("extended"),
        _ => None,
    })
}

impl SesReturnCode {
    /// The request was done.
    pub const OK: SesReturnCode = SesReturnCode(1);

    /// Its name.
    pub fn name(self) -> Option<&'static str> {
        <Self as super::Bits>::SHOW.name(self.0.into())
    }

    /// Whether something went wrong: neither [`OK`](Self::OK) nor null, which says nothing.
    pub const fn is_error(self) -> bool {
        self.0 > 1
    }
}

number! {
    /// An atomic operation.
    SesAtomicOp(u8) as Show::Named(|v| match v {
        0x00 => Some("min"),
        0x01 => Some("max"),
        0x02 => Some("sum"),
        0x03 => Some("diff"),
        0x04 => Some("prod"),
        0x05 => Some("lor"),
        0x06 => Some("land"),
        0x07 => Some("bor"),
        0x08 => Some("band"),
        0x09 => Some("lxor"),
        0x0a => Some("bxor"),
        0x0b => Some("read"),
        0x0c => Some("write"),
        0x0d => Some("compare and swap"),
        0x0e => Some("compare and swap if not equal"),
        0x0f => Some("compare and swap if less or equal"),
        0x10 => Some("compare and swap if less"),
        0x11 => Some("compare and swap if greater or equal"),
        0x12 => Some("compare and swap if greater"),
        0x13 => Some("masked swap"),
        0x14 => Some("invalidate"),
        0xe0..=0xfe => Some("vendor's own"),
        _ => None,
    })
}

impl SesAtomicOp {
    /// Whether values to compare and swap follow.
    pub const fn has_values(self) -> bool {
        matches!(self.0, 0x0d..=0x13)
    }
}

number! {
    /// Type of the data of an atomic operation.
    SesAtomicType(u8) as Show::Named(|v| match v {
        0x00 => Some("int8"),
        0x01 => Some("uint8"),
        0x02 => Some("int16"),
        0x03 => Some("uint16"),
        0x04 => Some("int32"),
        0x05 => Some("uint32"),
        0x06 => Some("int64"),
        0x07 => Some("uint64"),
        0x08 => Some("int128"),
        0x09 => Some("uint128"),
        0x0a => Some("float"),
        0x0b => Some("double"),
        0x0c => Some("float complex"),
        0x0d => Some("double complex"),
        0x0e => Some("long double"),
        0x0f => Some("long double complex"),
        0x10 => Some("bf16"),
        0x11 => Some("fp16"),
        0xe0..=0xfe => Some("vendor's own"),
        _ => None,
    })
}

number! {
    /// A job, or a process of one that asks.
    JobId(u32) as Show::Hex => CommId
}
number! {
    /// Key to a region of memory, or bits to be matched.
    MemoryKey(u64) as Show::Hex => RKey
}
