//! Dissection is total, stays inside the frame, says why it stopped, and its index and its list of layers agree.

use rdmawire::{
    dissect::{Dissection, Link, Options, dissect_with},
    icrc::{self, State},
    upper::{Message, Protocol},
    wire::*,
};

use super::for_each_header;

/// The link types a first byte stands for; the rest are taken as they are.
pub const LINKS: [Link; 19] = [
    Link::ETHERNET,
    Link::INFINIBAND,
    Link::ERF,
    Link::RAW,
    Link::IPV4,
    Link::IPV6,
    Link::LINUX_SLL,
    Link::LINUX_SLL2,
    Link(12),
    UNKNOWN,
    Link::NULL,
    Link::PPP,
    Link::NFLOG,
    Link::IPOIB,
    Link::PKTAP,
    Link::DSA_BROADCOM,
    Link::DSA_BROADCOM_BEFORE,
    Link::DSA,
    Link::EDSA,
];

const UNKNOWN: Link = Link(9999);

/// A fuzzer's input: link type, how it was cut, and the frame.
///
/// ```text
/// | link | how | n (16, little-endian) | frame ...
/// how & 3: 0 whole; 1 the last n bytes not captured; 2 the same, and they were never there; 3 n bytes were never captured
/// how & 4: UDP port 4792 is RoCEv2 too
/// how >> 3: 0 messages say what they are; else they are of this protocol
/// ```
pub struct Input<'a> {
    pub link: Link,
    pub options: Options,
    pub frame: &'a [u8],
    pub wire_len: u32,
}

/// What the data of commands begins with.
const DATA: [Kind; 8] = [
    Kind::NvmeConnectData,
    Kind::NvmeIdController,
    Kind::NvmeIdNamespace,
    Kind::NvmeNsIdentifier,
    Kind::NvmeSmartLog,
    Kind::NvmeAnaLog,
    Kind::NvmeDiscoveryLog,
    Kind::NvmeDiscoveryEntry,
];

impl<'a> Input<'a> {
    pub fn new(data: &'a [u8]) -> Option<Self> {
        let ([link, how, n @ ..], frame) = data.split_first_chunk::<4>()?;
        let n = u16::from_le_bytes(*n) as usize;
        let cut = &frame[..frame.len() - n.min(frame.len())];
        let (frame, wire_len) = match how & 3 {
            0 => (frame, frame.len()),
            1 => (cut, frame.len()),
            2 => (cut, cut.len()),
            _ => (frame, frame.len() + n),
        };
        let mut options = Options::default();
        if how & 4 != 0 {
            options.roce_ports[1] = 4792;
        }
        // A protocol, or what a command named.
        let upper = (how >> 3).wrapping_sub(1) as usize;
        options.upper = Protocol::ALL.get(upper).copied();
        options.data = upper.checked_sub(Protocol::ALL.len()).and_then(|n| DATA.get(n)).copied();
        let link = LINKS[*link as usize % LINKS.len()];
        Some(Input { link, options, frame, wire_len: wire_len as u32 })
    }

    /// The bytes that [`Input::new`] reads as a whole frame.
    pub fn whole(link: Link, frame: &[u8]) -> Vec<u8> {
        let place =
            LINKS.iter().position(|l| *l == link).or(LINKS.iter().position(|l| *l == UNKNOWN)).unwrap_or(0);
        let mut data = vec![place as u8, 0, 0, 0];
        data.extend_from_slice(frame);
        data
    }

    pub fn dissect(&self) -> Dissection<'a> {
        dissect_with(self.options, self.link, self.frame, self.wire_len)
    }
}

/// The fuzz target.
pub fn dissection(data: &[u8]) {
    if let Some(input) = Input::new(data) {
        invariants(&input.dissect());
    }
}

/// What holds for every dissection.
pub fn invariants(d: &Dissection<'_>) {
    let frame = d.frame();
    assert!(d.wire_len() as usize >= frame.len());
    parts(d);
    layers(d);
    messages(d);
    notes(d);
    index(d);

    // A packet that was not captured to its end is never called bad.
    if frame.len() < d.end() as usize || !d.end_is_known() {
        assert!(matches!(icrc::verify(d), State::Unchecked | State::Trimmed), "{d:?}");
        assert_eq!(icrc::verify_vcrc(d), State::Unchecked, "{d:?}");
    }
    if d.icrc().is_none() {
        assert!(matches!(icrc::verify(d), State::Unchecked | State::Trimmed), "{d:?}");
    }
    icrc::has_fcs(d);
    assert_eq!(d.encapsulation().is_some(), d.has(Kind::Bth), "{d:?}");
    assert_eq!(d.opcode().is_some(), d.has(Kind::Bth), "{d:?}");
}

/// Payload, pad, ICRC and trailer follow each other inside the frame.
fn parts(d: &Dissection<'_>) {
    let frame = d.frame();
    let payload = d.payload();
    assert!(payload.len() as u64 <= d.payload_len() as u64, "{d:?}");
    assert!(d.pad_len() <= 3, "{d:?}");
    let from = d.offset(Kind::Payload).expect("there is always a payload, if only an empty one");
    if !payload.is_empty() {
        assert_eq!(&frame[from..from + payload.len()], payload);
    }
    let body = from as u64 + d.payload_len() as u64 + d.pad_len() as u64;
    assert!(body <= d.end() as u64, "{body} {} {d:?}", d.end());
    if frame.len() as u64 >= body {
        assert_eq!(payload.len() as u64, d.payload_len() as u64, "all of it was captured: {d:?}");
    }
    if let Some(there) = d.icrc() {
        let at = d.offset(Kind::Icrc).expect("an ICRC is somewhere");
        assert!(d.end_is_known());
        assert_eq!(at as u64, body, "{d:?}");
        assert_eq!(at + 4, d.end() as usize, "{d:?}");
        assert_eq!(there, frame[at..at + 4]);
    }
    if d.vcrc().is_some() {
        assert!(d.end() as usize + 2 <= frame.len() && d.has(Kind::Lrh), "{d:?}");
    }
    let trailer = d.trailer();
    assert!(trailer.is_empty() || frame.ends_with(trailer));
    if d.end_is_known() && frame.len() >= d.end() as usize {
        let vcrc = if d.has(Kind::Vcrc) { 2 } else { 0 };
        assert_eq!(d.end() as usize + vcrc + trailer.len(), frame.len(), "nothing is left over: {d:?}");
    }
}

/// Layers stand in order and without overlap inside the frame, except those of a management datagram or a message inside the payload.
fn layers(d: &Dissection<'_>) {
    let layers = d.layers();
    let mut at = 0;
    for layer in layers.iter() {
        let (from, to) = (layer.at as usize, layer.at as usize + layer.len as usize);
        if layer.kind == Kind::Payload && layers.iter().any(|l| l.kind.is_in_payload()) {
            at = at.min(from);
        }
        assert!(from >= at, "{:?} at {from} begins before {at}: {d:?}", layer.kind);
        match layer.kind {
            Kind::Payload | Kind::Pad => {}
            _ => assert!(to <= d.frame().len(), "{:?} ends at {to}: {d:?}", layer.kind),
        }
        if layer.kind < Kind::Payload && !layer.kind.is_in_payload() {
            assert!(Some(to) <= d.offset(Kind::Payload), "{:?} reaches into the payload: {d:?}", layer.kind);
        }
        if let Some(info) = layer.kind.info() {
            assert_eq!(layer.len as usize, info.len, "{d:?}");
        }
        at = to;
    }
}

/// A payload read as a message of any protocol has headers one after the other, inside of it.
fn messages(d: &Dissection<'_>) {
    let message = Message { bytes: d.payload(), len: None };
    for protocol in Protocol::ALL {
        let headers = protocol.read(message);
        assert!(headers.end() <= message.bytes.len(), "{protocol:?} {d:?}");
        let mut at = 0;
        for part in headers.iter() {
            assert_eq!(part.at, at, "{protocol:?} {headers:?}");
            at += part.len;
            assert!(part.kind.is_of_message(), "{protocol:?} {headers:?}");
        }
    }
}

/// Notes say where, and can be written.
fn notes(d: &Dissection<'_>) {
    assert_eq!(d.severity().is_some(), !d.notes().is_empty());
    for note in d.notes() {
        let captured = d.frame().len().max(d.wire_len() as usize);
        assert!(note.at as usize <= captured, "{note:?} lies outside {captured}: {d:?}");
        let (id, text) = (note.id().to_string(), note.to_string());
        assert!(id.contains('.') && !text.is_empty() && !text.contains('\n'));
    }
    // Bytes that are missing are accounted for, unless they are behind the packet.
    if d.is_cut() {
        let whole = d.end() as usize <= d.frame().len();
        assert!(whole || !d.notes().is_empty(), "cut, and does not say so: {d:?}");
    }
}

/// The index and the layers say the same, and typed views are the bytes at the index.
fn index(d: &Dissection<'_>) {
    let layers = d.layers();
    for &kind in Kind::ALL {
        let offset = d.offset(kind);
        assert_eq!(d.has(kind), offset.is_some(), "{kind:?} {d:?}");
        let last = layers.iter().rev().find(|layer| kind.is_in(layer.kind)).map(|layer| layer.at as usize);
        match kind {
            // An empty payload is no layer.
            Kind::Payload => assert!(last.is_none() || last == offset, "{kind:?} {d:?}"),
            _ if offset.is_some() => assert_eq!(offset, last, "{kind:?} {d:?}"),
            _ => {}
        }
    }
    macro_rules! views {
        ($($header:ident)*) => { $(
            let at = d.offset(Kind::$header);
            assert_eq!(d.get::<$header>().map(|h| h.bytes()), at.map(|at| &d.frame()[at..at + $header::LEN]), "{d:?}");
        )* };
    }
    for_each_header!(views);
}
