//! Names of fields, of layers and of computed values: `bth.psn`, `infiniband.bth.psn`, `reth`, `icrc.bad`.

use std::fmt;

use super::Context;
use crate::{
    dissect::{Encapsulation, Note, Severity},
    grammar::nearest,
    icrc::{self, State},
    wire::{Aeth, Field, Kind, Show, Syndrome},
};

/// A name for values of frames, resolved once.
#[derive(Clone, Debug)]
pub struct Name {
    text: String,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// Fields of headers: several if headers share a layer, or if an alias means both source and destination.
    Fields(Vec<(Kind, &'static Field)>),
    Layer(Vec<Kind>),
    Pseudo(Pseudo),
}

/// A value that a frame has for a name.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    /// A field, in its header's bytes.
    Field(&'static Field, &'a [u8]),
    Number(u64),
    Flag(bool),
    Note(&'a Note),
}

/// The type of a name's values.
#[derive(Clone, Copy, Debug)]
pub(super) enum Type {
    Flag,
    /// Of so many bits.
    Number(u16, Show),
    Opcode,
    Ipv4,
    Ipv6,
    Ip,
    Mac,
    Bytes,
    Text,
    Note,
    /// Nanoseconds, written as seconds.
    Time,
    /// No value: the name is there or not.
    Layer,
}

macro_rules! pseudo {
    ($($(#[doc = $doc:literal])* $name:ident $text:literal $type:expr;)*) => {
        /// A value that is computed from a frame and is no field of it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Pseudo { $($(#[doc = $doc])* $name),* }

        impl Pseudo {
            /// All of them.
            pub const ALL: &'static [Pseudo] = &[$(Pseudo::$name),*];

            /// Its name in filters and columns.
            pub const fn name(self) -> &'static str {
                match self { $(Pseudo::$name => $text),* }
            }

            /// What it means.
            pub const fn doc(self) -> &'static str {
                match self { $(Pseudo::$name => concat!($($doc),*)),* }
            }

            pub(super) fn values(self) -> Type {
                match self { $(Pseudo::$name => $type),* }
            }
        }
    };
}

const COUNT: Type = Type::Number(64, Show::Dec);

pseudo! {
    /// Number of the frame in its file, from 1.
    FrameNumber "frame.number" COUNT;
    /// Bytes the frame had on the wire.
    FrameLen "frame.len" COUNT;
    /// Bytes of it that were captured.
    FrameCapLen "frame.cap_len" COUNT;
    /// When it was captured: seconds since 1970, with a fraction.
    FrameTime "frame.time_epoch" Type::Time;
    /// When it was captured: nanoseconds since 1970.
    FrameTimeNs "frame.time_ns" COUNT;
    /// LINKTYPE number.
    FrameLink "frame.link_type" COUNT;
    /// The capture or a mirror cut the frame.
    FrameCut "frame.cut" Type::Flag;
    /// The frame has an ICRC that can be checked, and it is right.
    IcrcGood "icrc.good" Type::Flag;
    /// The ICRC is wrong.
    IcrcBad "icrc.bad" Type::Flag;
    /// An RDMA packet whose ICRC cannot be checked: cut, or a fragment.
    IcrcUnchecked "icrc.unchecked" Type::Flag;
    /// A switch cut the packet to its headers: there is no ICRC.
    IcrcTrimmed "icrc.trimmed" Type::Flag;
    /// Native InfiniBand's frame has a VCRC that can be checked, and it is right.
    VcrcGood "vcrc.good" Type::Flag;
    /// The VCRC is wrong: the link before the tap changed bits. Where the ICRC is right, it was what switches may change, or the VCRC itself.
    VcrcBad "vcrc.bad" Type::Flag;
    /// A positive acknowledgement.
    AethAck "aeth.ack" Type::Flag;
    /// A negative acknowledgement.
    AethNak "aeth.nak" Type::Flag;
    /// Receiver not ready.
    AethRnr "aeth.rnr" Type::Flag;
    /// A congestion notification, operation code 0x81 (or 0x80).
    Cnp "cnp" Type::Flag;
    /// An RDMA packet: it has a BTH.
    Rdma "rdma" Type::Flag;
    /// RoCE version 2.
    RoceV2 "rocev2" Type::Flag;
    /// RoCE version 1.
    RoceV1 "rocev1" Type::Flag;
    /// Native InfiniBand.
    Ib "ib" Type::Flag;
    /// Explicit congestion notification of the innermost IP header or GRH: 0 to 3, or CE, ECT(0), ECT(1).
    Ecn "ecn" Type::Number(2, <crate::wire::Ecn as crate::wire::Bits>::SHOW);
    /// Differentiated services code point of the innermost IP header or GRH.
    Dscp "dscp" Type::Number(6, Show::Dec);
    /// Bytes of payload by the packet's length fields, without padding.
    PayloadLen "payload.len" COUNT;
    /// Bytes of padding before the ICRC.
    PayloadPadding "payload.padding" COUNT;
    /// How many tunnels are around the packet.
    TunnelDepth "tunnel.depth" COUNT;
    /// The packet is inside a tunnel.
    Tunnel "tunnel" Type::Flag;
    /// A dissection note by its id: `note == bth.opcode`.
    Note "note" Type::Note;
    /// There is a note of severity "error": malformed.
    NoteError "note.error" Type::Flag;
    /// There is a note of severity "warning".
    NoteWarning "note.warning" Type::Flag;
}

/// Short names, and what they are short for.
pub const SHORT: [(&str, &str); 6] = [
    ("qp", "bth.dest_qp"),
    ("psn", "bth.psn"),
    ("opcode", "bth.opcode"),
    ("ack", "aeth.ack"),
    ("nak", "aeth.nak"),
    ("frame", "frame.number"),
];

/// Wireshark's name of a layer, and ours.
const LAYERS: [(&str, &str); 4] =
    [("ip", "ipv4"), ("eth", "ethernet"), ("infiniband", "bth"), ("macc", "mac_control")];

/// Names for either of two fields.
const EITHER: [(&str, Kind, [&str; 2]); 4] = [
    ("ip.addr", Kind::Ipv4, ["src", "dst"]),
    ("ipv6.addr", Kind::Ipv6, ["src", "dst"]),
    ("eth.addr", Kind::Ethernet, ["src", "dst"]),
    ("udp.port", Kind::Udp, ["src_port", "dst_port"]),
];

/// Names for the addresses of a packet, whatever IP it has; in native InfiniBand the GIDs: what tables call `src` and `dst`.
pub const ADDRESSES: [(&str, &[&str], &str); 3] = [
    ("src", &["src", "sgid"], "ip.src, ipv6.src, grh.sgid"),
    ("dst", &["dst", "dgid"], "ip.dst, ipv6.dst, grh.dgid"),
    ("addr", &["src", "sgid", "dst", "dgid"], "src, dst"),
];

impl Name {
    /// Resolve a name.
    ///
    /// # Errors
    /// Gives the nearest names there are.
    pub fn parse(text: &str) -> Result<Name, Vec<String>> {
        let what = lookup(text).ok_or_else(|| nearest(text, Name::all()))?;
        Ok(Name { text: text.to_owned(), what })
    }

    /// Every name: fields and layers in wire order, computed values, Wireshark's names.
    pub fn all() -> impl Iterator<Item = String> {
        let infos = || Kind::ALL.iter().filter_map(|kind| kind.info());
        let own = infos().flat_map(|info| {
            let field = |f: &Field| format!("{}.{}", info.kind.layer(), f.name);
            std::iter::once(info.kind.layer().to_owned()).chain(info.fields.iter().map(field))
        });
        let wireshark = infos().flat_map(|info| info.fields).map(|field| field.wireshark.to_owned());
        own.chain(Pseudo::ALL.iter().map(|pseudo| pseudo.name().to_owned()))
            .chain(EITHER.iter().map(|(name, ..)| name.to_string()))
            .chain(SHORT.iter().map(|(name, _)| name.to_string()))
            .chain(ADDRESSES.iter().map(|(name, ..)| name.to_string()))
            .chain(wireshark.filter(|name| !name.is_empty()))
    }

    /// The name as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Wireshark's name, if it has one.
    pub fn wireshark(&self) -> Option<&'static str> {
        match &self.what {
            What::Fields(fields) => {
                let name =
                    fields.first().map(|(_, field)| field.wireshark).filter(|name| !name.is_empty())?;
                fields.iter().all(|(_, field)| field.wireshark == name).then_some(name)
            }
            _ => None,
        }
    }

    pub(super) fn values(&self) -> Type {
        match &self.what {
            What::Pseudo(pseudo) => pseudo.values(),
            What::Layer(_) => Type::Layer,
            // Of several versions of IP.
            What::Fields(fields)
                if fields.iter().any(|(_, field)| matches!(field.show, Show::Ipv4))
                    && fields.iter().any(|(_, field)| matches!(field.show, Show::Ipv6)) =>
            {
                Type::Ip
            }
            What::Fields(fields) => match fields.first() {
                Some((kind, field)) if kind.is_bth() && field.name == "opcode" => Type::Opcode,
                Some((_, field)) => match field.show {
                    Show::Flag => Type::Flag,
                    Show::Mac => Type::Mac,
                    Show::Ipv4 => Type::Ipv4,
                    Show::Ipv6 => Type::Ipv6,
                    Show::Ip(_) => Type::Ip,
                    Show::Bytes | Show::List(_) | Show::Counts(_) => Type::Bytes,
                    Show::Text => Type::Text,
                    show => Type::Number(fields.iter().map(|(_, f)| f.width).max().unwrap_or(64), show),
                },
                None => Type::Layer,
            },
        }
    }

    /// Whether the test is true for one of the frame's values.
    #[inline]
    pub(crate) fn any(&self, context: &Context<'_, '_>, mut asked: impl FnMut(Value<'_>) -> bool) -> bool {
        match &self.what {
            What::Fields(fields) => fields
                .iter()
                .any(|&(kind, field)| each(context, kind, |bytes| asked(Value::Field(field, bytes)))),
            What::Layer(kinds) => {
                kinds.iter().any(|&kind| each(context, kind, |_| true)) && asked(Value::Flag(true))
            }
            What::Pseudo(Pseudo::Note) => context.d.notes().iter().any(|note| asked(Value::Note(note))),
            What::Pseudo(pseudo) => pseudo.of(context).is_some_and(asked),
        }
    }
}

/// Calls the test with the bytes from each header of this kind on, until it is true.
#[inline]
fn each(context: &Context<'_, '_>, kind: Kind, asked: impl FnMut(&[u8]) -> bool) -> bool {
    let d = context.d;
    // Outside tunnels, the index is enough for most kinds.
    if d.tunnel_depth() == 0 && !kind.is_detail() {
        if !d.has(kind) {
            return false;
        }
        let once = matches!(
            kind,
            Kind::Ethernet | Kind::Ipv4 | Kind::Ipv6 | Kind::Udp | Kind::Lrh | Kind::Grh | Kind::MacControl
        ) || kind.is_bth()
            || kind.is_extended();
        if once {
            return d.offset(kind).and_then(|at| d.frame().get(at..)).is_some_and(asked);
        }
    }
    if !d.may_have(kind) {
        return false;
    }
    let layers = context.layers().iter().filter(|layer| layer.kind == kind);
    layers.filter_map(|layer| d.frame().get(layer.at as usize..)).any(asked)
}

impl Pseudo {
    fn of<'a>(self, context: &Context<'a, '_>) -> Option<Value<'a>> {
        let d = context.d;
        let syndrome =
            |is: fn(Syndrome) -> bool| d.get::<Aeth>().map(|aeth| Value::Flag(is(aeth.syndrome())));
        let icrc =
            |state: State| (d.has(Kind::Bth) || d.is_uet()).then(|| Value::Flag(context.icrc() == state));
        let vcrc = |state: State| d.has(Kind::Vcrc).then(|| Value::Flag(icrc::verify_vcrc(d) == state));
        let traffic_class = || d.class_and_ttl().map(|(class, _)| class);
        let encapsulation = |wanted: &[Encapsulation]| {
            Some(Value::Flag(d.encapsulation().is_some_and(|is| wanted.contains(&is))))
        };
        let noted = |severity| d.notes().iter().any(|note| note.problem.severity() == severity);
        Some(match self {
            Pseudo::FrameNumber => Value::Number(context.meta.number),
            Pseudo::FrameLen => Value::Number(d.lengths().0.into()),
            Pseudo::FrameCapLen => Value::Number(d.lengths().1.into()),
            Pseudo::FrameTime | Pseudo::FrameTimeNs => Value::Number(context.meta.time_ns.max(0) as u64),
            Pseudo::FrameLink => Value::Number(d.link().0 as u64),
            Pseudo::FrameCut => Value::Flag(d.is_cut()),
            Pseudo::IcrcGood => return icrc(State::Good),
            Pseudo::IcrcBad => return icrc(State::Bad),
            Pseudo::IcrcUnchecked => return icrc(State::Unchecked),
            Pseudo::IcrcTrimmed => return icrc(State::Trimmed),
            Pseudo::VcrcGood => return vcrc(State::Good),
            Pseudo::VcrcBad => return vcrc(State::Bad),
            Pseudo::AethAck => return syndrome(Syndrome::is_ack),
            Pseudo::AethNak => return syndrome(Syndrome::is_nak),
            Pseudo::AethRnr => return syndrome(Syndrome::is_rnr),
            Pseudo::Cnp => Value::Flag(d.opcode().is_some_and(|opcode| opcode.is_cnp())),
            Pseudo::Rdma => Value::Flag(d.has(Kind::Bth)),
            Pseudo::RoceV2 => return encapsulation(&[Encapsulation::RoceV2Ipv4, Encapsulation::RoceV2Ipv6]),
            Pseudo::RoceV1 => return encapsulation(&[Encapsulation::RoceV1]),
            Pseudo::Ib => return encapsulation(&[Encapsulation::Ib, Encapsulation::IbGrh]),
            Pseudo::Ecn => Value::Number((traffic_class()? & 3) as u64),
            Pseudo::Dscp => Value::Number((traffic_class()? >> 2) as u64),
            Pseudo::PayloadLen => Value::Number(d.whole_payload_len() as u64),
            Pseudo::PayloadPadding => Value::Number(d.pad_len() as u64),
            Pseudo::TunnelDepth => Value::Number(d.tunnel_depth() as u64),
            Pseudo::Tunnel => Value::Flag(d.tunnel_depth() > 0),
            Pseudo::Note => return None,
            Pseudo::NoteError => Value::Flag(noted(Severity::Error)),
            Pseudo::NoteWarning => Value::Flag(noted(Severity::Warning)),
        })
    }
}

fn lookup(text: &str) -> Option<What> {
    let text = SHORT.iter().find(|(short, _)| *short == text).map_or(text, |(_, of)| of);
    if let Some(&pseudo) = Pseudo::ALL.iter().find(|pseudo| pseudo.name() == text) {
        return Some(What::Pseudo(pseudo));
    }
    if let Some((_, of, names)) = EITHER.iter().find(|(name, ..)| *name == text) {
        return fields(|kind, field| kind == *of && names.contains(&field.name));
    }
    if let Some((_, names, _)) = ADDRESSES.iter().find(|(name, ..)| *name == text) {
        let is_ip = |kind| matches!(kind, Kind::Ipv4 | Kind::Ipv6 | Kind::Grh);
        return fields(|kind, field| is_ip(kind) && names.contains(&field.name));
    }
    let plain = text.strip_prefix("infiniband.").unwrap_or(text);
    for text in [text, plain] {
        let (layer, field) = text.split_once('.').map_or((text, None), |(layer, field)| (layer, Some(field)));
        let layer = LAYERS.iter().find(|(theirs, _)| *theirs == layer).map_or(layer, |(_, ours)| ours);
        let found = match field {
            None => {
                let is_one = |k: &Kind| k.layer() == layer && *k < Kind::Payload && !k.is_part();
                let kinds: Vec<Kind> = Kind::ALL.iter().copied().filter(is_one).collect();
                (!kinds.is_empty()).then_some(What::Layer(kinds))
            }
            Some(name) => fields(|kind, field| kind.layer() == layer && field.name == name),
        };
        if found.is_some() {
            return found;
        }
    }
    fields(|_, field| !text.is_empty() && field.wireshark == text)
}

/// All fields that are meant, if there are any.
fn fields(is_one: impl Fn(Kind, &Field) -> bool) -> Option<What> {
    let infos = Kind::ALL.iter().filter_map(|kind| kind.info());
    let all = infos.flat_map(|info| info.fields.iter().map(|field| (info.kind, field)));
    let fields: Vec<_> = all.filter(|(kind, field)| is_one(*kind, field)).collect();
    (!fields.is_empty()).then_some(What::Fields(fields))
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Value<'_> {
    /// The value is there; a flag is set.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        match self {
            Value::Field(field, bytes) => !matches!(field.show, Show::Flag) || field.get(bytes) != 0,
            Value::Flag(set) => *set,
            Value::Number(_) | Value::Note(_) => true,
        }
    }

    /// As a number; addresses are numbers too.
    #[inline]
    pub(super) fn number(&self) -> u128 {
        match self {
            Value::Field(field, bytes) if field.width <= 64 => field.get(bytes) as u128,
            Value::Field(field, bytes) => {
                field.bytes(bytes).first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes))
            }
            Value::Number(n) => *n as u128,
            Value::Flag(set) => *set as u128,
            Value::Note(_) => 0,
        }
    }
}
