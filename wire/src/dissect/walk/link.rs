//! The link headers that few captures have.

use super::{MAX_TAGS, Visitor, Walk};
use crate::{
    dissect::{Link, Numbers, Problem},
    wire::*,
};

impl<V: Visitor> Walk<'_, '_, V> {
    pub(super) fn other_link(&mut self, link: Link) -> Option<()> {
        match link {
            Link::IPV4 => self.ipv4(),
            Link::IPV6 => self.ipv6(),
            Link::RAW | Link(12) | Link(14) => self.ip(),
            Link::LINUX_SLL => {
                let ether_type = self.take::<Sll>()?.ether_type();
                self.network(ether_type)
            }
            Link::LINUX_SLL2 => {
                let ether_type = self.take::<Sll2>()?.ether_type();
                self.network(ether_type)
            }
            Link::ERF => self.erf(),
            _ => self.rare_link(link),
        }
    }

    #[cold]
    #[inline(never)]
    fn rare_link(&mut self, link: Link) -> Option<()> {
        match link {
            Link::NULL | Link::LOOP => {
                self.take::<Loopback>()?;
                self.ip()
            }
            Link::PPP | Link::PPP_HDLC => self.ppp(),
            Link::IPOIB => {
                let ether_type = self.take::<Ipoib>()?.ether_type();
                self.network(ether_type)
            }
            Link::NFLOG => self.nflog(),
            Link::PKTAP => self.pktap(),
            // The first half of the tag is where the EtherType would be.
            Link::DSA_BROADCOM | Link::DSA => {
                self.take::<Ethernet>()?;
                self.tagged(Kind::SwitchTag)
            }
            Link::DSA_BROADCOM_BEFORE => {
                self.take::<BroadcomTag>()?;
                self.ethernet()
            }
            Link::EDSA => self.ethernet(),
            _ => {
                let (of, number) = (Numbers::LinkType, link.0);
                self.note(Kind::Payload, self.at, Problem::LinkType { of, number });
                None
            }
        }
    }

    fn ppp(&mut self) -> Option<()> {
        if self.left().first() == Some(&0xff) {
            self.take::<PppAddress>()?;
        }
        let protocol = self.take::<Ppp>()?.protocol();
        match PppProtocols::next(protocol) {
            Some(Kind::Ipv4) => self.ipv4(),
            Some(Kind::Ipv6) => self.ipv6(),
            Some(Kind::Mpls) => self.mpls(),
            _ => self.unread(Numbers::PppProtocol, protocol.0),
        }
    }

    /// The packet is one of the values, which have the byte order of the host.
    fn nflog(&mut self) -> Option<()> {
        /// The type of the value that is the packet.
        const PAYLOAD: u16 = 9;
        self.take::<Nflog>()?;
        loop {
            self.tag(Kind::NflogValue)?;
            let room = self.left().len();
            let value = self.take::<NflogValue>()?;
            let [length, kind] = [value.length().0, value.value_type().0];
            let fits = |length: u16| (NflogValue::LEN..=room).contains(&length.into());
            let [length, kind] =
                if fits(length.swap_bytes()) { [length, kind].map(u16::swap_bytes) } else { [length, kind] };
            if kind == PAYLOAD {
                return self.ip();
            }
            let length = usize::from(length).saturating_sub(NflogValue::LEN);
            self.take_bytes(Kind::NflogBytes, length.next_multiple_of(4))?;
        }
    }

    fn pktap(&mut self) -> Option<()> {
        self.tag(Kind::Pktap)?;
        let from = self.at;
        let pktap = self.take::<Pktap>()?;
        let [length, link] = [pktap.length().value(), pktap.link_type().value()];
        let Some(more) = (length as usize).checked_sub(Pktap::LEN) else {
            self.note(Kind::Pktap, from, Problem::Length { says: length as u16, have: Pktap::LEN as u16 });
            return None;
        };
        if more > 0 {
            self.take_bytes(Kind::PktapRest, more)?;
        }
        match u16::try_from(link) {
            Ok(1) => self.ethernet(),
            Ok(link) => self.other_link(Link(link)),
            Err(_) => self.unread(Numbers::LinkType, u16::MAX),
        }
    }
}

const _: () = assert!(MAX_TAGS >= 16, "a packet in a netfilter log has up to fifteen values before it");
