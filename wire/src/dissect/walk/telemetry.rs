//! What switches write into packets on their way, behind UDP; and what is encrypted.

use super::{Visitor, Walk};
use crate::{
    dissect::{Numbers, Problem},
    wire::*,
};

/// Headers of metadata that are dissected of a frame.
pub(in crate::dissect) const MAX_METADATA: u8 = 64;

/// Flags of an IFA header with which the metadata does not stand where it does without: a checksum, metadata behind the packet, a part of it.
const IFA_ELSEWHERE: u8 = 0x01 | 0x08 | 0x10;
/// The namespace of IFA that leaves the layout to each hop, and the layout that is known.
const LOCAL: u8 = 15;
const LAYOUT: u8 = 1;

/// INT whose metadata is stacked in the packet, and the one whose is not.
const STACKED: IntType = IntType(1);
const REPORTED: IntType = IntType(3);
const INT_VERSION: u8 = 2;
/// `original` is the port that UDP had.
const PORT: u8 = 1;

impl<V: Visitor> Walk<'_, '_, V> {
    /// The UDP header and the metadata of switches are behind this header. The IP header says another protocol and another length than the
    /// sender, whose ICRC covers them; so may UDP.
    pub(super) fn ifa(&mut self) -> Option<()> {
        self.tag(Kind::Ifa)?;
        let ifa = self.take::<Ifa>()?;
        self.visitor.changed();
        if ifa.protocol() != IpProtocol::UDP {
            return self.unread(Numbers::IpProtocol, u16::from(ifa.protocol().0));
        }
        let port = self.take::<Udp>()?.dst_port();
        if ifa.flags().0 & IFA_ELSEWHERE != 0 {
            return self.unread(Numbers::IfaFlags, u16::from(ifa.flags().0));
        }
        let stack = usize::from(self.take::<IfaMetadata>()?.length()) * 4;
        let end = self.at + stack;
        while ifa.gns() == LOCAL
            && end - self.at >= IfaHop::LEN
            && self.left().first().is_some_and(|first| first >> 4 == LAYOUT)
            && self.metadata > 0
        {
            self.metadata -= 1;
            self.take::<IfaHop>()?;
        }
        if end > self.at {
            self.take_bytes(Kind::IfaStack, end - self.at)?;
        }
        self.behind_metadata(port)
    }

    /// Behind UDP on a port that the user names.
    pub(super) fn int(&mut self) -> Option<()> {
        self.tag(Kind::IntShim)?;
        let shim = self.take::<IntShim>()?;
        let end = self.at + usize::from(shim.length()) * 4;
        self.visitor.changed();
        let from = self.at;
        let header = self.take::<IntHeader>()?;
        if header.version() != INT_VERSION {
            self.note(Kind::IntHeader, from, Problem::Version { says: header.version() });
            return None;
        }
        let Some(stack) = end.checked_sub(self.at) else {
            let says = u16::from(shim.length()) * 4;
            self.note(
                Kind::IntShim,
                from - IntShim::LEN,
                Problem::Length { says, have: IntHeader::LEN as u16 },
            );
            return None;
        };
        match shim.int_type() {
            STACKED => self.int_hops(header, stack)?,
            REPORTED if stack == 0 => {}
            other => return self.unread(Numbers::IntType, u16::from(other.0)),
        }
        match shim.npt() {
            PORT => self.behind_metadata(shim.original()),
            other => self.unread(Numbers::IntNext, u16::from(other)),
        }
    }

    /// The metadata of all hops, which all have the same values.
    fn int_hops(&mut self, header: &IntHeader, stack: usize) -> Option<()> {
        let (end, hop) = (self.at + stack, usize::from(header.hop_length()) * 4);
        let known: usize = header.values().map(|kind| kind.info().map_or(0, |info| info.len)).sum();
        let each = header.values().count() as u8 + 1;
        let is_known = !header.asks_for_others() && (1..=hop).contains(&known) && stack.is_multiple_of(hop);
        while is_known && self.at < end && self.metadata >= each {
            self.metadata -= each;
            for kind in header.values() {
                self.take_bytes(kind, kind.info()?.len)?;
            }
            // A checksum's complement, and what the domain adds.
            if hop > known {
                self.take_bytes(Kind::IntStack, hop - known)?;
            }
        }
        if end > self.at {
            self.take_bytes(Kind::IntStack, end - self.at)?;
        }
        Some(())
    }

    /// What UDP carried before switches put metadata behind it.
    fn behind_metadata(&mut self, port: u16) -> Option<()> {
        match self.options.transport_of(port) {
            Some(_) if self.is_mrc() => self.transport(Transport::Mrc),
            Some(transport) => self.transport(transport),
            None => self.in_udp(port),
        }
    }

    /// What is behind is encrypted, so that only the headers before it are read.
    pub(super) fn esp(&mut self) -> Option<()> {
        self.take::<Esp>()?;
        self.unread(Numbers::IpProtocol, u16::from(IpProtocol::ESP.0))
    }

    /// ESP behind UDP: not the messages of IKE, which begin with four zeros, and not the bytes that keep the translation of addresses alive.
    pub(super) fn esp_in_udp(&mut self, port: u16) -> Option<()> {
        if self.left().len() > Esp::LEN && !self.left().starts_with(&[0; 4]) {
            self.take::<Esp>()?;
            return self.unread(Numbers::EncryptedUdp, port);
        }
        None
    }

    pub(super) fn psp(&mut self, port: u16) -> Option<()> {
        let (psp, _) = Psp::view(self.left())?;
        let is_carried = matches!(psp.next_header().0, 4 | 6 | 17 | 41 | 59);
        if !psp.one() || !is_carried || psp.length() == 0 {
            return None;
        }
        self.take::<Psp>()?;
        let more = (usize::from(psp.length()) - 1) * 8;
        if more > 0 {
            self.take_bytes(Kind::PspMore, more)?;
        }
        self.unread(Numbers::EncryptedUdp, port)
    }

    pub(super) fn mac_sec(&mut self) -> Option<()> {
        self.tag(Kind::MacSec)?;
        let tag = self.take::<MacSec>()?;
        if tag.has_sci() {
            self.take::<MacSecSci>()?;
        }
        // A packet number is never 0.
        if tag.version() || tag.encrypted() || tag.changed() || tag.packet_number() == 0 {
            return self.unread(Numbers::EtherType, EtherType::MACSEC.0);
        }
        let ether_type = self.take::<MacSecClear>()?.ether_type();
        self.network(ether_type)
    }
}
