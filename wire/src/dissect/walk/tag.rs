//! Tags between the link header and the network header.

use super::{Visitor, Walk};
use crate::{dissect::Numbers, wire::*};

impl<V: Visitor> Walk<'_, '_, V> {
    /// What an EtherType announces that few frames have: `next`, if it is read.
    #[cold]
    #[inline(never)]
    pub(super) fn network_rarely(&mut self, ether_type: EtherType, next: Option<Kind>) -> Option<()> {
        match next {
            Some(kind) if kind.ends_with_ether_type() => self.tagged(kind),
            Some(Kind::AristaTag) => self.arista(),
            Some(Kind::ITag) => {
                self.take::<ITag>()?;
                self.tunnel()?;
                self.ethernet()
            }
            Some(Kind::Trill) => {
                let options = self.take::<Trill>()?.opt_len();
                if options > 0 {
                    self.take_bytes(Kind::TrillOptions, options as usize * 4)?;
                }
                self.tunnel()?;
                self.ethernet()
            }
            Some(Kind::Nsh) => self.nsh(),
            Some(Kind::MacSec) => self.mac_sec(),
            _ if ether_type.is_length() => self.llc(ether_type.0),
            _ => self.unread(Numbers::EtherType, ether_type.0),
        }
    }

    /// A tag of fixed length that ends with the EtherType of what follows.
    pub(super) fn tagged(&mut self, kind: Kind) -> Option<()> {
        self.tag(kind)?;
        let bytes = self.take_bytes(kind, kind.info()?.len)?;
        self.network(EtherType(u16::from_be_bytes(*bytes.last_chunk()?)))
    }

    fn arista(&mut self) -> Option<()> {
        let tag = self.take::<AristaTag>()?;
        match (tag.subtype(), tag.version().0 & 0xff) {
            (1, 0x10) => self.tagged(Kind::AristaTime64),
            (1, 0x20) => self.tagged(Kind::AristaTime48),
            _ => self.unread(Numbers::EtherType, EtherType::ARISTA.0),
        }
    }

    /// IEEE 802.3 with a length, which the frame may have padding behind.
    fn llc(&mut self, length: u16) -> Option<()> {
        // No frame is so short: what stands there is no length.
        if usize::from(length) < Llc::LEN {
            return self.unread(Numbers::EtherType, length);
        }
        self.tag(Kind::Llc)?;
        self.end = self.end.min(self.at + usize::from(length));
        let llc = self.take::<Llc>()?;
        if (llc.dsap().0, llc.ssap().0) != (0xaa, 0xaa) {
            return self.unread(Numbers::Llc, u16::from(llc.dsap().0));
        }
        let snap = self.take::<Snap>()?;
        // Numbers of another organization are its own protocols.
        match (snap.organization().0, snap.ether_type()) {
            (0 | 0xf8, ether_type) if !ether_type.is_length() => self.network(ether_type),
            _ => self.unread(Numbers::Llc, u16::from(llc.dsap().0)),
        }
    }
}
