//! Headers of the Ultra Ethernet transport (UET 1.0): the packet delivery sublayer (PDS), the semantic sublayer (SES), the transport
//! security sublayer (TSS). The specification was not read: these are as three public implementations have them. What they dispute is said
//! at the header or field, and is to be shown, not judged by.

use super::{Hex8, Hex16, Hex32, Hex64, Show, VirtualAddress};

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

header! {
    /// Entropy header: in front of Ultra Ethernet's transport where that is in IP without UDP.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------------------------------+-------------------------------+
    /// |            entropy            |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// ```
    UetEntropy "UET entropy", 4 bytes {
        /// What UDP's source port would be: the packet's path.
        entropy with_entropy: 16 as Hex16,
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
    }
}

header! {
    /// Header of the transport security sublayer. What is behind it and its counter is encrypted.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-+-+-+-----------------------------------------------+
    /// |   type  |S|r|A|                      sdi                      |
    /// +---------+-+-+-+-----------------------------------------------+
    /// ```
    Tss "TSS", 4 bytes {
        /// 1.
        kind with_kind: 5 as PdsType,
        /// The source's number follows.
        sp with_sp: 1 as bool,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// Which of two keys.
        an with_an: 1 as u8,
        /// Secure domain.
        sdi with_sdi: 24 as Hex32,
    }
}

header! {
    /// The source within the secure domain, with the flag sp.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                              ssi                              |
    /// +---------------------------------------------------------------+
    /// ```
    TssSource "TSS source", 4 bytes {
        /// Its number.
        ssi with_ssi: 32 as Hex32,
    }
}

header! {
    /// Counter of the packets under one key.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------------------------------+-------------------------------+
    /// |             epoch             |         tsc (48 bits)         |
    /// +-------------------------------+-------------------------------+
    /// |                              tsc                              |
    /// +---------------------------------------------------------------+
    /// ```
    TssCounter "TSS counter", 8 bytes {
        /// Epoch of the key.
        epoch with_epoch: 16 as u16,
        /// Number of the packet.
        tsc with_tsc: 48 as u64,
    }
}

header! {
    /// A reliable request of the packet delivery sublayer (PDS), unordered (RUD) or ordered (ROD).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+---+-+-+-+---+-------------------------------+
    /// |   type  |  next | r |R|A|S| r |        clear_psn_offset       |
    /// +---------+-------+---+-+-+-+---+-------------------------------+
    /// |                              psn                              |
    /// +-------------------------------+-------------------------------+
    /// |             spdcid            |             dpdcid            |
    /// +-------------------------------+-------------------------------+
    /// ```
    PdsRequest "PDS request", 12 bytes {
        /// What the packet is.
        kind with_kind: 5 as PdsType,
        /// Which header of the semantic sublayer follows.
        next_header with_next_header: 4 as PdsNext,
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// It was sent before.
        retransmit with_retransmit: 1 as bool,
        /// The sender asks for an acknowledgement.
        ack_req with_ack_req: 1 as bool,
        /// The receiver has not answered on this context yet.
        syn with_syn: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// From psn to the highest PSN whose response the sender no longer needs, signed.
        clear_psn_offset with_clear_psn_offset: 16 as Hex16,
        /// Packet sequence number, modulo 2^32, of this direction of the context. Unordered packets arrive in any order.
        psn with_psn: 32 as u32,
        /// The sender's packet delivery context (PDC).
        spdcid with_spdcid: 16 as Hex16,
        /// The receiver's.
        dpdcid with_dpdcid: 16 as Hex16,
    }
}

header! {
    /// The same with syn: the receiver's context is not known yet.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+---+-+-+-+---+-------------------------------+
    /// |   type  |  next | r |R|A|S| r |        clear_psn_offset       |
    /// +---------+-------+---+-+-+-+---+-------------------------------+
    /// |                              psn                              |
    /// +-------------------------------+-+-----+-----------------------+
    /// |             spdcid            |U| rsv |       psn_offset      |
    /// +-------------------------------+-+-----+-----------------------+
    /// ```
    PdsRequestSyn "PDS request SYN", 12 bytes {
        /// What the packet is.
        kind with_kind: 5 as PdsType,
        /// Which header of the semantic sublayer follows.
        next_header with_next_header: 4 as PdsNext,
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// It was sent before.
        retransmit with_retransmit: 1 as bool,
        /// The sender asks for an acknowledgement.
        ack_req with_ack_req: 1 as bool,
        /// The receiver has not answered on this context yet.
        syn with_syn: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// From psn to the highest PSN whose response the sender no longer needs, signed.
        clear_psn_offset with_clear_psn_offset: 16 as Hex16,
        /// Packet sequence number, modulo 2^32, of this direction of the context. Unordered packets arrive in any order.
        psn with_psn: 32 as u32,
        /// The sender's packet delivery context (PDC).
        spdcid with_spdcid: 16 as Hex16,
        /// It is to be one of the contexts that are reserved.
        use_rsv_pdc with_use_rsv_pdc: 1 as bool,
        /// Reserved.
        reserved2 with_reserved2: 3 as Hex8,
        /// How many packets before this one the first PSN of the context is.
        psn_offset with_psn_offset: 12 as u16,
    }
}

header! {
    /// State of congestion of a request with credits.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------+-----------------------------------------------+
    /// |     ccc_id    |                 credit_target                 |
    /// +---------------+-----------------------------------------------+
    /// ```
    PdsRequestCc "PDS request CC", 4 bytes {
        /// Context of congestion control.
        ccc_id with_ccc_id: 8 as u8,
        /// Credits that the sender wants in all.
        credit_target with_credit_target: 24 as u32,
    }
}

header! {
    /// Acknowledgement. Its bits of the prologue are those of RUD and ROD.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+-+-+-+-+---+-+-------------------------------+
    /// |   type  |  next |E|M|R|P|req|r|         ack_psn_offset        |
    /// +---------+-------+-+-+-+-+---+-+-------------------------------+
    /// |                            cack_psn                           |
    /// +-------------------------------+-------------------------------+
    /// |             spdcid            |             dpdcid            |
    /// +-------------------------------+-------------------------------+
    /// ```
    PdsAck "PDS ACK", 12 bytes {
        /// What the packet is.
        kind with_kind: 5 as PdsType,
        /// Which header of the semantic sublayer follows.
        next_header with_next_header: 4 as PdsNext,
        /// An expected PSN follows; one source of three, reserved in the others.
        epsn with_epsn: 1 as bool,
        /// The packet that this answers came marked with congestion.
        ecn_marked with_ecn_marked: 1 as bool,
        /// It answers a retransmission.
        retransmit with_retransmit: 1 as bool,
        /// It answers a probe.
        probe with_probe: 1 as bool,
        /// What the responder asks for.
        request with_request: 2 as AckRequest,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// From cack_psn to the packet that this answers, signed; with probe, the probe's number.
        ack_psn_offset with_ack_psn_offset: 16 as Hex16,
        /// This PSN and all before it have arrived.
        cack_psn with_cack_psn: 32 as u32,
        /// The sender's packet delivery context (PDC).
        spdcid with_spdcid: 16 as Hex16,
        /// The receiver's.
        dpdcid with_dpdcid: 16 as Hex16,
    }
}

header! {
    /// What follows an acknowledgement with epsn; one source of three.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                          expected_psn                         |
    /// +---------------------------------------------------------------+
    /// ```
    PdsEpsn "PDS EPSN", 4 bytes {
        /// The PSN that the responder expects of the next context.
        expected_psn with_expected_psn: 32 as u32,
    }
}

header! {
    /// Selective acknowledgement, in acknowledgements with state of congestion.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+-------+---------------+-------------------------------+
    /// |cc_type| flags |      mpr      |        sack_psn_offset        |
    /// +-------+-------+---------------+-------------------------------+
    /// |                     sack_bitmap (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    PdsSack "PDS SACK", 12 bytes {
        /// Which state of congestion follows.
        cc_type with_cc_type: 4 as CcType,
        /// Its flags.
        cc_flags with_cc_flags: 4 as Hex8,
        /// The most packets that may be outstanding; its unit is disputed.
        mpr with_mpr: 8 as u8,
        /// From cack_psn to the PSN of the bitmap's lowest bit, signed.
        sack_psn_offset with_sack_psn_offset: 16 as Hex16,
        /// Bit i, counted from the lowest, is whether that PSN and i has arrived.
        sack_bitmap with_sack_bitmap: 64 as Hex64,
    }
}

header! {
    /// State of congestion with cc_type 0: the sender controls it by marks and delay.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------------------------------+-+-------------+---------------+
    /// |          service_time         |R|     pend    |               |
    /// +-------------------------------+-+-------------+---------------+
    /// |           rcvd_bytes          |           ooo_count           |
    /// +-------------------------------+-------------------------------+
    /// ```
    PdsNscc "PDS NSCC", 8 bytes {
        /// How long the packet that this answers took at the receiver.
        service_time with_service_time: 16 as u16,
        /// The sender may take back the window that it had.
        restore_cwnd with_restore_cwnd: 1 as bool,
        /// By how much the receiver wants the window to shrink.
        rcv_cwnd_pend with_rcv_cwnd_pend: 7 as u8,
        /// Bytes received, modulo 2^24; their unit is disputed.
        rcvd_bytes with_rcvd_bytes: 24 as u32,
        /// Packets out of order.
        ooo_count with_ooo_count: 16 as u16,
    }
}

header! {
    /// State of congestion with cc_type 1: the receiver gives credits.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-----------------------------------------------+---------------+
    /// |                     credit                    |               |
    /// +-------------------------------+---------------+---------------+
    /// |            reserved           |           ooo_count           |
    /// +-------------------------------+-------------------------------+
    /// ```
    PdsCredit "PDS credit", 8 bytes {
        /// Credits that it has given in all.
        credit with_credit: 24 as u32,
        /// Reserved.
        reserved with_reserved: 24 as Hex32,
        /// Packets out of order.
        ooo_count with_ooo_count: 16 as u16,
    }
}

header! {
    /// State of congestion with another cc_type.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                       cc_state (64 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    PdsCcOther "PDS CC state", 8 bytes {
        /// Not read.
        cc_state with_cc_state: 64 as Hex64,
    }
}

header! {
    /// Extended state of congestion of an acknowledgement. One source of three has 8 bytes.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                      ccx_state (128 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    PdsAckCcx "PDS ACK CCX", 16 bytes {
        /// Not read.
        ccx_state with_ccx_state: 128 as [u8; 16],
    }
}

header! {
    /// Negative acknowledgement.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+-+-+-+-+-----+---------------+---------------+
    /// |   type  |  next |r|M|R|I| rsv |   nack_code   |  vendor_code  |
    /// +---------+-------+-+-+-+-+-----+---------------+---------------+
    /// |                              psn                              |
    /// +-------------------------------+-------------------------------+
    /// |             spdcid            |             dpdcid            |
    /// +-------------------------------+-------------------------------+
    /// |                            payload                            |
    /// +---------------------------------------------------------------+
    /// ```
    PdsNack "PDS NACK", 16 bytes {
        /// What the packet is.
        kind with_kind: 5 as PdsType,
        /// Which header of the semantic sublayer follows.
        next_header with_next_header: 4 as PdsNext,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// The packet that this answers came marked with congestion.
        ecn_marked with_ecn_marked: 1 as bool,
        /// It answers a retransmission.
        retransmit with_retransmit: 1 as bool,
        /// It answers a request of RUDI: psn is its number.
        rudi with_rudi: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 3 as Hex8,
        /// Why.
        nack_code with_nack_code: 8 as PdsNackCode,
        /// Vendor's own reason.
        vendor_code with_vendor_code: 8 as Hex8,
        /// The packet that did not arrive, or was not taken.
        psn with_psn: 32 as u32,
        /// The sender's packet delivery context (PDC).
        spdcid with_spdcid: 16 as Hex16,
        /// The receiver's.
        dpdcid with_dpdcid: 16 as Hex16,
        /// What the code says more.
        payload with_payload: 32 as Hex32,
    }
}

header! {
    /// Extended state of congestion of a negative acknowledgement. One source of three has 8 bytes.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                      ccx_state (128 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    PdsNackCcx "PDS NACK CCX", 16 bytes {
        /// Not read.
        ccx_state with_ccx_state: 128 as [u8; 16],
    }
}

header! {
    /// Control packet.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+-+-+-+-+-+---+-------------------------------+
    /// |   type  |  ctl  |r|O|R|A|S| r |          probe_opaque         |
    /// +---------+-------+-+-+-+-+-+---+-------------------------------+
    /// |                              psn                              |
    /// +-------------------------------+-------------------------------+
    /// |             spdcid            |             dpdcid            |
    /// +-------------------------------+-------------------------------+
    /// |                            payload                            |
    /// +---------------------------------------------------------------+
    /// ```
    PdsControl "PDS control", 16 bytes {
        /// 11.
        kind with_kind: 5 as PdsType,
        /// What it is for.
        control_type with_control_type: 4 as PdsControlType,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// The context is ordered.
        isrod with_isrod: 1 as bool,
        /// It was sent before.
        retransmit with_retransmit: 1 as bool,
        /// The sender asks for an acknowledgement.
        ack_req with_ack_req: 1 as bool,
        /// The receiver has not answered on this context yet.
        syn with_syn: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// Of a probe: its number, which the answer has.
        probe_opaque with_probe_opaque: 16 as Hex16,
        /// Packet sequence number, modulo 2^32, of this direction of the context. Unordered packets arrive in any order.
        psn with_psn: 32 as u32,
        /// The sender's packet delivery context (PDC).
        spdcid with_spdcid: 16 as Hex16,
        /// The receiver's.
        dpdcid with_dpdcid: 16 as Hex16,
        /// Depends on the type: credits, for example.
        payload with_payload: 32 as Hex32,
    }
}

header! {
    /// The same with syn: the receiver's context is not known yet.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+-+-+-+-+-+---+-------------------------------+
    /// |   type  |  ctl  |r|O|R|A|S| r |          probe_opaque         |
    /// +---------+-------+-+-+-+-+-+---+-------------------------------+
    /// |                              psn                              |
    /// +-------------------------------+-+-----+-----------------------+
    /// |             spdcid            |U| rsv |       psn_offset      |
    /// +-------------------------------+-+-----+-----------------------+
    /// |                            payload                            |
    /// +---------------------------------------------------------------+
    /// ```
    PdsControlSyn "PDS control SYN", 16 bytes {
        /// 11.
        kind with_kind: 5 as PdsType,
        /// What it is for.
        control_type with_control_type: 4 as PdsControlType,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// The context is ordered.
        isrod with_isrod: 1 as bool,
        /// It was sent before.
        retransmit with_retransmit: 1 as bool,
        /// The sender asks for an acknowledgement.
        ack_req with_ack_req: 1 as bool,
        /// The receiver has not answered on this context yet.
        syn with_syn: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// Of a probe: its number, which the answer has.
        probe_opaque with_probe_opaque: 16 as Hex16,
        /// Packet sequence number, modulo 2^32, of this direction of the context. Unordered packets arrive in any order.
        psn with_psn: 32 as u32,
        /// The sender's packet delivery context (PDC).
        spdcid with_spdcid: 16 as Hex16,
        /// It is to be one of the contexts that are reserved.
        use_rsv_pdc with_use_rsv_pdc: 1 as bool,
        /// Reserved.
        reserved2 with_reserved2: 3 as Hex8,
        /// How many packets before this one the first PSN of the context is.
        psn_offset with_psn_offset: 12 as u16,
        /// Depends on the type: credits, for example.
        payload with_payload: 32 as Hex32,
    }
}

header! {
    /// Request or response of the unordered delivery of idempotent operations (RUDI). It has no context.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+-+-+-+-------+-------------------------------+
    /// |   type  |  next |r|M|R|  rsv  |            reserved           |
    /// +---------+-------+-+-+-+-------+-------------------------------+
    /// |                             pkt_id                            |
    /// +---------------------------------------------------------------+
    /// ```
    PdsRudi "PDS RUDI", 8 bytes {
        /// What the packet is.
        kind with_kind: 5 as PdsType,
        /// Which header of the semantic sublayer follows.
        next_header with_next_header: 4 as PdsNext,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// Of a response: the request came marked with congestion.
        ecn_marked with_ecn_marked: 1 as bool,
        /// It was sent before.
        retransmit with_retransmit: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 4 as Hex8,
        /// Reserved.
        reserved2 with_reserved2: 16 as Hex16,
        /// Number of the request, which the response has too.
        pkt_id with_pkt_id: 32 as Hex32,
    }
}

header! {
    /// Request of the unreliable delivery (UUD).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------+-------+-------------+-------------------------------+
    /// |   type  |  next |     rsv     |            reserved           |
    /// +---------+-------+-------------+-------------------------------+
    /// ```
    PdsUud "PDS UUD", 4 bytes {
        /// What the packet is.
        kind with_kind: 5 as PdsType,
        /// Which header of the semantic sublayer follows.
        next_header with_next_header: 4 as PdsNext,
        /// Reserved.
        reserved with_reserved: 7 as Hex8,
        /// Reserved.
        reserved1 with_reserved1: 16 as Hex16,
    }
}

header! {
    /// Request of the semantic sublayer (SES), in its smallest form.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-+-+-+-+-+-+---+---------------------------+
    /// | r |   opcode  |ver|D|I|R|H|E|S| r |       request_length      |
    /// +---+-----------+---+-+-+-+-+-+-+---+---------------------------+
    /// |   generation  |                     job_id                    |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |  rsv  |       pid_on_fep      |  rsv  |     resource_index    |
    /// +-------+-----------------------+-------+-----------------------+
    /// |                    buffer_offset (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// ```
    SesSmall "SES small request", 20 bytes {
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// The operation.
        opcode with_opcode: 6 as SesOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// The response comes only when the data is in its place.
        dc with_dc: 1 as bool,
        /// The initiator has an error.
        ie with_ie: 1 as bool,
        /// The target's address is relative to a job.
        rel with_rel: 1 as bool,
        /// header_data is there.
        hd with_hd: 1 as bool,
        /// The last packet of a message.
        eom with_eom: 1 as bool,
        /// The first.
        som with_som: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// Bytes of the message. One source of three has a message number here.
        request_length with_request_length: 14 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Reserved.
        reserved2 with_reserved2: 4 as Hex8,
        /// The process at the target.
        pid_on_fep with_pid_on_fep: 12 as Hex16,
        /// Reserved.
        reserved3 with_reserved3: 4 as Hex8,
        /// Which of its resources.
        resource_index with_resource_index: 12 as Hex16,
        /// Place in the target's memory.
        buffer_offset with_buffer_offset: 64 as VirtualAddress,
    }
}

header! {
    /// Request of the semantic sublayer, in its middle form.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-+-+-+-+-+-+---+---------------------------+
    /// | r |   opcode  |ver|D|I|R|H|E|S| r |       request_length      |
    /// +---+-----------+---+-+-+-+-+-+-+---+---------------------------+
    /// |   generation  |                     job_id                    |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |  rsv  |       pid_on_fep      |  rsv  |     resource_index    |
    /// +-------+-----------------------+-------+-----------------------+
    /// |                     header_data (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                           initiator                           |
    /// +---------------------------------------------------------------+
    /// |                      memory_key (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    SesMedium "SES medium request", 32 bytes {
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// The operation.
        opcode with_opcode: 6 as SesOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// The response comes only when the data is in its place.
        dc with_dc: 1 as bool,
        /// The initiator has an error.
        ie with_ie: 1 as bool,
        /// The target's address is relative to a job.
        rel with_rel: 1 as bool,
        /// header_data is there.
        hd with_hd: 1 as bool,
        /// The last packet of a message.
        eom with_eom: 1 as bool,
        /// The first.
        som with_som: 1 as bool,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// Bytes of the message. One source of three has a message number here.
        request_length with_request_length: 14 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Reserved.
        reserved2 with_reserved2: 4 as Hex8,
        /// The process at the target.
        pid_on_fep with_pid_on_fep: 12 as Hex16,
        /// Reserved.
        reserved3 with_reserved3: 4 as Hex8,
        /// Which of its resources.
        resource_index with_resource_index: 12 as Hex16,
        /// The application's own with hd, else the place in the target's memory.
        header_data with_header_data: 64 as Hex64,
        /// Who asks.
        initiator with_initiator: 32 as JobId,
        /// Key to the memory, or of tagged operations the bits to be matched.
        memory_key with_memory_key: 64 as MemoryKey,
    }
}

header! {
    /// Request of the semantic sublayer, in its standard form: the first packet of a message.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// | r |   opcode  |ver|D|I|R|H|E|S|           message_id          |
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// |   generation  |                     job_id                    |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |  rsv  |       pid_on_fep      |  rsv  |     resource_index    |
    /// +-------+-----------------------+-------+-----------------------+
    /// |                    buffer_offset (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                           initiator                           |
    /// +---------------------------------------------------------------+
    /// |                      memory_key (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                     header_data (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                         request_length                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesStandard "SES request", 44 bytes {
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// The operation.
        opcode with_opcode: 6 as SesOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// The response comes only when the data is in its place.
        dc with_dc: 1 as bool,
        /// The initiator has an error.
        ie with_ie: 1 as bool,
        /// The target's address is relative to a job.
        rel with_rel: 1 as bool,
        /// header_data is there.
        hd with_hd: 1 as bool,
        /// The last packet of a message.
        eom with_eom: 1 as bool,
        /// The first.
        som with_som: 1 as bool,
        /// Number of the message.
        message_id with_message_id: 16 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Reserved.
        reserved2 with_reserved2: 4 as Hex8,
        /// The process at the target.
        pid_on_fep with_pid_on_fep: 12 as Hex16,
        /// Reserved.
        reserved3 with_reserved3: 4 as Hex8,
        /// Which of its resources.
        resource_index with_resource_index: 12 as Hex16,
        /// Place in the target's memory.
        buffer_offset with_buffer_offset: 64 as VirtualAddress,
        /// Who asks.
        initiator with_initiator: 32 as JobId,
        /// Key to the memory, or of tagged operations the bits to be matched.
        memory_key with_memory_key: 64 as MemoryKey,
        /// The application's own.
        header_data with_header_data: 64 as Hex64,
        /// Bytes of the message.
        request_length with_request_length: 32 as u32,
    }
}

header! {
    /// The same without som: a later packet of a message.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// | r |   opcode  |ver|D|I|R|H|E|S|           message_id          |
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// |   generation  |                     job_id                    |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |  rsv  |       pid_on_fep      |  rsv  |     resource_index    |
    /// +-------+-----------------------+-------+-----------------------+
    /// |                    buffer_offset (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                           initiator                           |
    /// +---------------------------------------------------------------+
    /// |                      memory_key (64 bits)                     |
    /// +-----------------------------------+---------------------------+
    /// |              reserved             |       payload_length      |
    /// +-----------------------------------+---------------------------+
    /// |                         message_offset                        |
    /// +---------------------------------------------------------------+
    /// |                         request_length                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesStandardLater "SES request later", 44 bytes {
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// The operation.
        opcode with_opcode: 6 as SesOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// The response comes only when the data is in its place.
        dc with_dc: 1 as bool,
        /// The initiator has an error.
        ie with_ie: 1 as bool,
        /// The target's address is relative to a job.
        rel with_rel: 1 as bool,
        /// header_data is there.
        hd with_hd: 1 as bool,
        /// The last packet of a message.
        eom with_eom: 1 as bool,
        /// The first.
        som with_som: 1 as bool,
        /// Number of the message.
        message_id with_message_id: 16 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Reserved.
        reserved2 with_reserved2: 4 as Hex8,
        /// The process at the target.
        pid_on_fep with_pid_on_fep: 12 as Hex16,
        /// Reserved.
        reserved3 with_reserved3: 4 as Hex8,
        /// Which of its resources.
        resource_index with_resource_index: 12 as Hex16,
        /// Place in the target's memory.
        buffer_offset with_buffer_offset: 64 as VirtualAddress,
        /// Who asks.
        initiator with_initiator: 32 as JobId,
        /// Key to the memory, or of tagged operations the bits to be matched.
        memory_key with_memory_key: 64 as MemoryKey,
        /// Reserved.
        reserved4 with_reserved4: 18 as Hex32,
        /// Bytes in this packet.
        payload_length with_payload_length: 14 as u16,
        /// Their place in the message.
        message_offset with_message_offset: 32 as u32,
        /// Bytes of the message.
        request_length with_request_length: 32 as u32,
    }
}

header! {
    /// A send that the target may defer.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// | r |   opcode  |ver|D|I|R|H|E|S|           message_id          |
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// |   generation  |                     job_id                    |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |  rsv  |       pid_on_fep      |  rsv  |     resource_index    |
    /// +-------+-----------------------+-------+-----------------------+
    /// |                    initiator_restart_token                    |
    /// +---------------------------------------------------------------+
    /// |                      target_restart_token                     |
    /// +---------------------------------------------------------------+
    /// |                           initiator                           |
    /// +---------------------------------------------------------------+
    /// |                      memory_key (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                     header_data (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                         request_length                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesDeferrable "SES deferrable send", 44 bytes {
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// The operation.
        opcode with_opcode: 6 as SesOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// The response comes only when the data is in its place.
        dc with_dc: 1 as bool,
        /// The initiator has an error.
        ie with_ie: 1 as bool,
        /// The target's address is relative to a job.
        rel with_rel: 1 as bool,
        /// header_data is there.
        hd with_hd: 1 as bool,
        /// The last packet of a message.
        eom with_eom: 1 as bool,
        /// The first.
        som with_som: 1 as bool,
        /// Number of the message.
        message_id with_message_id: 16 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Reserved.
        reserved2 with_reserved2: 4 as Hex8,
        /// The process at the target.
        pid_on_fep with_pid_on_fep: 12 as Hex16,
        /// Reserved.
        reserved3 with_reserved3: 4 as Hex8,
        /// Which of its resources.
        resource_index with_resource_index: 12 as Hex16,
        /// The initiator's, to go on later.
        initiator_restart_token with_initiator_restart_token: 32 as Hex32,
        /// The target's.
        target_restart_token with_target_restart_token: 32 as Hex32,
        /// Who asks.
        initiator with_initiator: 32 as JobId,
        /// Key to the memory, or of tagged operations the bits to be matched.
        memory_key with_memory_key: 64 as MemoryKey,
        /// The application's own.
        header_data with_header_data: 64 as Hex64,
        /// Bytes of the message.
        request_length with_request_length: 32 as u32,
    }
}

header! {
    /// The target is ready for a send that it deferred.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// | r |   opcode  |ver|D|I|R|H|E|S|           message_id          |
    /// +---+-----------+---+-+-+-+-+-+-+-------------------------------+
    /// |   generation  |                     job_id                    |
    /// +-------+-------+---------------+-------+-----------------------+
    /// |  rsv  |       pid_on_fep      |  rsv  |     resource_index    |
    /// +-------+-----------------------+-------+-----------------------+
    /// |                    buffer_offset (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                           initiator                           |
    /// +---------------------------------------------------------------+
    /// |                    initiator_restart_token                    |
    /// +---------------------------------------------------------------+
    /// |                      target_restart_token                     |
    /// +---------------------------------------------------------------+
    /// |                     header_data (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                         request_length                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesRestart "SES ready to restart", 44 bytes {
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// The operation.
        opcode with_opcode: 6 as SesOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// The response comes only when the data is in its place.
        dc with_dc: 1 as bool,
        /// The initiator has an error.
        ie with_ie: 1 as bool,
        /// The target's address is relative to a job.
        rel with_rel: 1 as bool,
        /// header_data is there.
        hd with_hd: 1 as bool,
        /// The last packet of a message.
        eom with_eom: 1 as bool,
        /// The first.
        som with_som: 1 as bool,
        /// Number of the message.
        message_id with_message_id: 16 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Reserved.
        reserved2 with_reserved2: 4 as Hex8,
        /// The process at the target.
        pid_on_fep with_pid_on_fep: 12 as Hex16,
        /// Reserved.
        reserved3 with_reserved3: 4 as Hex8,
        /// Which of its resources.
        resource_index with_resource_index: 12 as Hex16,
        /// Place in the target's memory.
        buffer_offset with_buffer_offset: 64 as VirtualAddress,
        /// Who asks.
        initiator with_initiator: 32 as JobId,
        /// The initiator's, to go on later.
        initiator_restart_token with_initiator_restart_token: 32 as Hex32,
        /// The target's.
        target_restart_token with_target_restart_token: 32 as Hex32,
        /// The application's own.
        header_data with_header_data: 64 as Hex64,
        /// Bytes of the message.
        request_length with_request_length: 32 as u32,
    }
}

header! {
    /// Response of the semantic sublayer.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-----------+-------------------------------+
    /// |lis|   opcode  |ver|return_code|           message_id          |
    /// +---+-----------+---+-----------+-------------------------------+
    /// |   generation  |                     job_id                    |
    /// +---------------+-----------------------------------------------+
    /// |                        modified_length                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesResponse "SES response", 12 bytes {
        /// Which list the message was delivered to.
        list with_list: 2 as SesList,
        /// The kind of response.
        opcode with_opcode: 6 as SesResponseOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// What became of the request.
        return_code with_return_code: 6 as SesReturnCode,
        /// Number of the message.
        message_id with_message_id: 16 as u16,
        /// Generation of the resource index.
        ri_generation with_ri_generation: 8 as u8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Bytes that were taken.
        modified_length with_modified_length: 32 as u32,
    }
}

header! {
    /// Response with data, to a read or a fetching atomic operation.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-----------+-------------------------------+
    /// |lis|   opcode  |ver|return_code|           message_id          |
    /// +---+-----------+---+-----------+-------------------------------+
    /// |      rsv      |                     job_id                    |
    /// +---------------+---------------+---+---------------------------+
    /// |    read_request_message_id    | r |       payload_length      |
    /// +-------------------------------+---+---------------------------+
    /// |                        modified_length                        |
    /// +---------------------------------------------------------------+
    /// |                         message_offset                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesResponseData "SES response with data", 20 bytes {
        /// Which list the message was delivered to.
        list with_list: 2 as SesList,
        /// The kind of response.
        opcode with_opcode: 6 as SesResponseOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// What became of the request.
        return_code with_return_code: 6 as SesReturnCode,
        /// Number of the message.
        message_id with_message_id: 16 as u16,
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// Number of the request's message.
        read_request_message_id with_read_request_message_id: 16 as u16,
        /// Reserved.
        reserved1 with_reserved1: 2 as Hex8,
        /// Bytes in this packet.
        payload_length with_payload_length: 14 as u16,
        /// Bytes that are read in all.
        modified_length with_modified_length: 32 as u32,
        /// The place of these bytes.
        message_offset with_message_offset: 32 as u32,
    }
}

header! {
    /// Response with data that fits one packet.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---+-----------+---+-----------+---+---------------------------+
    /// |lis|   opcode  |ver|return_code| r |       payload_length      |
    /// +---+-----------+---+-----------+---+---------------------------+
    /// |      rsv      |                     job_id                    |
    /// +---------------+-----------------------------------------------+
    /// |                      original_request_psn                     |
    /// +---------------------------------------------------------------+
    /// ```
    SesResponseSmall "SES response with small data", 12 bytes {
        /// Which list the message was delivered to.
        list with_list: 2 as SesList,
        /// The kind of response.
        opcode with_opcode: 6 as SesResponseOpcode,
        /// 0.
        version with_version: 2 as u8,
        /// What became of the request.
        return_code with_return_code: 6 as SesReturnCode,
        /// Reserved.
        reserved with_reserved: 2 as Hex8,
        /// Bytes in this packet.
        payload_length with_payload_length: 14 as u16,
        /// Reserved.
        reserved1 with_reserved1: 8 as Hex8,
        /// The job.
        job_id with_job_id: 24 as JobId,
        /// The PSN of the request.
        original_request_psn with_original_request_psn: 32 as u32,
    }
}

header! {
    /// Extension of a rendezvous send: where the target reads the rest.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                          eager_length                         |
    /// +---------------+-----------------------+-----------------------+
    /// |   generation  |     rendezvous_pid    |    rendezvous_index   |
    /// +---------------+-----------------------+-----------------------+
    /// |                  rendezvous_offset (64 bits)                  |
    /// +---------------------------------------------------------------+
    /// |                    rendezvous_key (64 bits)                   |
    /// +---------------------------------------------------------------+
    /// ```
    SesRendezvous "SES rendezvous", 24 bytes {
        /// Bytes that come with the request.
        eager_length with_eager_length: 32 as u32,
        /// Generation of the resource index.
        rendezvous_generation with_rendezvous_generation: 8 as u8,
        /// The process at the initiator.
        rendezvous_pid with_rendezvous_pid: 12 as Hex16,
        /// Which of its resources.
        rendezvous_index with_rendezvous_index: 12 as Hex16,
        /// Place in the initiator's memory.
        rendezvous_offset with_rendezvous_offset: 64 as VirtualAddress,
        /// Key to it.
        rendezvous_key with_rendezvous_key: 64 as MemoryKey,
    }
}

header! {
    /// Extension of operations that synchronize; one source of three.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------------------------------+-------------------------------+
    /// |           sync_group          |           sync_count          |
    /// +-------------------------------+-------------------------------+
    /// ```
    SesSync "SES sync", 4 bytes {
        /// Group.
        sync_group with_sync_group: 16 as Hex16,
        /// How many there are.
        sync_count with_sync_count: 16 as u16,
    }
}

header! {
    /// Extension of an atomic operation.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------+---------------+-+-+-----+-----+---------------+
    /// |   atomic_op   |  atomic_type  |C|H| rsv | ven |      rsv      |
    /// +---------------+---------------+-+-+-----+-----+---------------+
    /// ```
    SesAtomic "SES atomic", 4 bytes {
        /// The operation.
        atomic_op with_atomic_op: 8 as SesAtomicOp,
        /// Type of the data.
        atomic_type with_atomic_type: 8 as SesAtomicType,
        /// The target may keep it in a cache.
        cacheable with_cacheable: 1 as bool,
        /// It is coherent with the target's processors.
        coherent with_coherent: 1 as bool,
        /// Reserved.
        reserved with_reserved: 3 as Hex8,
        /// Vendor's own.
        vendor with_vendor: 3 as Hex8,
        /// Reserved.
        reserved1 with_reserved1: 8 as Hex8,
    }
}

header! {
    /// Values of a compare and swap.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                       compare (128 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                        swap (128 bits)                        |
    /// +---------------------------------------------------------------+
    /// ```
    SesSwap "SES compare and swap", 32 bytes {
        /// Value to compare with.
        compare with_compare: 128 as [u8; 16],
        /// Value to be put there.
        swap with_swap: 128 as [u8; 16],
    }
}
impl PdsRequest {
    /// The highest PSN whose response the sender no longer needs.
    pub fn clear_psn(&self) -> u32 {
        self.psn().wrapping_add(offset(self.clear_psn_offset()))
    }
}

impl PdsAck {
    /// The PSN that this answers; with [`probe`](PdsAck::probe) it answers a probe.
    pub fn ack_psn(&self) -> u32 {
        self.cack_psn().wrapping_add(offset(self.ack_psn_offset()))
    }
}

impl PdsSack {
    /// The PSN of the bitmap's lowest bit, where the acknowledgement has this cumulative PSN.
    pub fn first(&self, cack_psn: u32) -> u32 {
        cack_psn.wrapping_add(offset(self.sack_psn_offset()))
    }
}

/// A signed offset, to be added modulo 2^32.
fn offset(field: Hex16) -> u32 {
    field.0 as i16 as i32 as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    // A RUD request with a standard request that asks for an acknowledgement.
    bytes! { pds_request: PdsRequest [0x11 0x98 0xff 0xfe 0x98 0x76 0x54 0x32 0x34 0x56 0x9a 0xbc]
        kind with_kind PdsType::RUD_REQUEST;
        next_header with_next_header PdsNext(3);
        retransmit with_retransmit true;
        ack_req with_ack_req true;
        clear_psn_offset with_clear_psn_offset Hex16(0xfffe);
        psn with_psn 0x9876_5432;
        spdcid with_spdcid Hex16(0x3456);
        dpdcid with_dpdcid Hex16(0x9abc);
    }

    bytes! { pds_request_syn: PdsRequestSyn [0x19 0x94 0x12 0x34 0x98 0x76 0x54 0x32 0x34 0x56 0x80 0x76]
        kind with_kind PdsType::ROD_REQUEST;
        next_header with_next_header PdsNext(3);
        retransmit with_retransmit true;
        syn with_syn true;
        clear_psn_offset with_clear_psn_offset Hex16(0x1234);
        psn with_psn 0x9876_5432;
        spdcid with_spdcid Hex16(0x3456);
        use_rsv_pdc with_use_rsv_pdc true;
        psn_offset with_psn_offset 0x76;
    }

    bytes! { pds_ack: PdsAck [0x42 0x32 0xff 0xff 0x24 0x68 0xac 0xe0 0x34 0x56 0x78 0x9a]
        kind with_kind PdsType(8);
        next_header with_next_header PdsNext(4);
        ecn_marked with_ecn_marked true;
        retransmit with_retransmit true;
        request with_request AckRequest(1);
        ack_psn_offset with_ack_psn_offset Hex16(0xffff);
        cack_psn with_cack_psn 0x2468_ace0;
        spdcid with_spdcid Hex16(0x3456);
        dpdcid with_dpdcid Hex16(0x789a);
    }

    bytes! { pds_sack: PdsSack [0x10 0x87 0x00 0x01 0x80 0x00 0x00 0x00 0x00 0x00 0x00 0x02]
        cc_type with_cc_type CcType(1);
        mpr with_mpr 0x87;
        sack_psn_offset with_sack_psn_offset Hex16(1);
        sack_bitmap with_sack_bitmap Hex64(1 << 63 | 2);
    }

    bytes! { pds_nscc: PdsNscc [0x99 0xaa 0xff 0x88 0x77 0x66 0x87 0x65]
        service_time with_service_time 0x99aa;
        restore_cwnd with_restore_cwnd true;
        rcv_cwnd_pend with_rcv_cwnd_pend 0x7f;
        rcvd_bytes with_rcvd_bytes 0x88_7766;
        ooo_count with_ooo_count 0x8765;
    }

    bytes! { ses_standard: SesStandard [0x02 0x2b 0x12 0x34 0x77 0xab 0xcd 0xef 0x06 0x78 0x09 0xab
            0xfe 0xdc 0xba 0x98 0x76 0x54 0x32 0x10 0xfe 0xdc 0xba 0x98 0x11 0x22 0x33 0x44 0x55 0x66 0x77 0x88
            0xaa 0xbb 0xdd 0xdd 0xee 0xff 0x00 0x11 0x99 0x88 0x77 0x66]
        opcode with_opcode SesOpcode(2);
        dc with_dc true;
        rel with_rel true;
        eom with_eom true;
        som with_som true;
        message_id with_message_id 0x1234;
        ri_generation with_ri_generation 0x77;
        job_id with_job_id JobId(0xab_cdef);
        pid_on_fep with_pid_on_fep Hex16(0x678);
        resource_index with_resource_index Hex16(0x9ab);
        buffer_offset with_buffer_offset VirtualAddress(0xfedc_ba98_7654_3210);
        initiator with_initiator JobId(0xfedc_ba98);
        memory_key with_memory_key MemoryKey(0x1122_3344_5566_7788);
        header_data with_header_data Hex64(0xaabb_dddd_eeff_0011);
        request_length with_request_length 0x9988_7766;
    }

    bytes! { ses_response_data: SesResponseData [0x02 0x01 0x12 0x34 0x00 0x65 0x43 0x21 0x00 0x07 0x10 0x00
            0x00 0x00 0x20 0x00 0x00 0x00 0x10 0x00]
        opcode with_opcode SesResponseOpcode(2);
        return_code with_return_code SesReturnCode::OK;
        message_id with_message_id 0x1234;
        job_id with_job_id JobId(0x65_4321);
        read_request_message_id with_read_request_message_id 7;
        payload_length with_payload_length 4096;
        modified_length with_modified_length 8192;
        message_offset with_message_offset 4096;
    }

    #[test]
    fn offsets_are_signed() {
        let ack = PdsAck::default().with_cack_psn(1).with_ack_psn_offset(Hex16(0xfffe));
        assert_eq!(ack.ack_psn(), u32::MAX);
        assert_eq!(PdsSack::default().with_sack_psn_offset(Hex16(3)).first(u32::MAX), 2);
        assert_eq!(PdsRequest::default().with_psn(5).with_clear_psn_offset(Hex16(0xffff)).clear_psn(), 4);
    }
}
