//! Tunnels in IP and UDP, and what is in them.

use super::{Visitor, Walk, looks_like_ethernet};
use crate::{
    dissect::{Numbers, Problem},
    wire::*,
};

impl<V: Visitor> Walk<'_, '_, V> {
    pub(super) fn carried_rarely(&mut self, protocol: IpProtocol) -> Option<()> {
        match IpProtocols::next(protocol) {
            Some(Kind::Ipv4) => {
                self.tunnel()?;
                self.is_ip_in_ip = true;
                self.ipv4()
            }
            Some(Kind::Ipv6) => {
                self.tunnel()?;
                self.is_ip_in_ip = true;
                self.ipv6()
            }
            Some(Kind::Gre) => self.gre(),
            Some(Kind::Mpls) => {
                self.tunnel()?;
                self.mpls()
            }
            Some(Kind::Ethernet) => {
                self.tunnel()?;
                self.ethernet()
            }
            Some(Kind::EtherIp) => {
                self.take::<EtherIp>()?;
                self.tunnel()?;
                self.ethernet()
            }
            Some(Kind::Ifa) if self.is_uet_in_ip() => self.uet_in_ip(),
            Some(Kind::Ifa) if Ifa::view(self.left()).is_none_or(|(ifa, _)| ifa.version() == 2) => self.ifa(),
            Some(Kind::Ifa) => self.unread(Numbers::IpProtocol, u16::from(protocol.0)),
            Some(Kind::Esp) => self.esp(),
            _ => self.unread(Numbers::IpProtocol, u16::from(protocol.0)),
        }
    }

    /// What is in UDP that is no packet of the transport itself.
    pub(super) fn in_udp(&mut self, port: u16) -> Option<()> {
        match self.options.tunnel_of(port)? {
            Kind::Vxlan => {
                self.take::<Vxlan>()?;
                self.tunnel()?;
                self.ethernet()
            }
            Kind::Geneve => {
                let geneve = self.take::<Geneve>()?;
                if geneve.version() != 0 {
                    self.note(
                        Kind::Geneve,
                        self.at - Geneve::LEN,
                        Problem::Version { says: geneve.version() },
                    );
                    return None;
                }
                if geneve.opt_len() > 0 {
                    self.take_bytes(Kind::GeneveOptions, geneve.opt_len() as usize * 4)?;
                }
                self.tunnel()?;
                self.bridged(geneve.protocol())
            }
            rare => self.in_udp_rarely(rare, port),
        }
    }

    #[cold]
    #[inline(never)]
    fn in_udp_rarely(&mut self, kind: Kind, port: u16) -> Option<()> {
        match kind {
            Kind::VxlanGpe => {
                let next = self.take::<VxlanGpe>()?.next_protocol();
                self.tunnel()?;
                self.next_protocol(next)
            }
            Kind::Mpls => {
                self.tunnel()?;
                self.mpls()
            }
            Kind::Gre => self.gre(),
            Kind::Gue => self.gue(),
            Kind::Tzsp => self.tzsp(),
            Kind::PdsRequest => self.uet_in_udp(),
            Kind::IntShim => self.int(),
            Kind::Psp => self.psp(port),
            Kind::Esp => self.esp_in_udp(port),
            Kind::MrcBth if self.is_mrc() => self.transport(Transport::Mrc),
            Kind::Ethernet => {
                self.tunnel()?;
                self.ethernet()
            }
            _ => None,
        }
    }

    fn gue(&mut self) -> Option<()> {
        // Variant 1 is an IP packet: the two bits are the first of its version.
        if self.left().first().is_some_and(|first| first >> 6 == 1) {
            self.tunnel()?;
            return self.ip();
        }
        let from = self.at;
        let gue = self.take::<Gue>()?;
        if gue.variant() != 0 || gue.control() {
            self.note(Kind::Gue, from, Problem::Version { says: gue.variant() });
            return None;
        }
        if gue.length() > 0 {
            self.take_bytes(Kind::GueFields, gue.length() as usize * 4)?;
        }
        self.carried_rarely(gue.protocol())
    }

    fn tzsp(&mut self) -> Option<()> {
        let tzsp = self.take::<Tzsp>()?;
        // Tags have a type, and but for padding and the end a length.
        let tags = self.left();
        let (mut len, mut more) = (0, true);
        while more {
            let (next, is_last) = match tags.get(len..) {
                Some([1, ..]) => (1, true),
                Some([0, ..]) => (1, false),
                Some([_, value, ..]) => (2 + usize::from(*value), false),
                _ => {
                    self.short(Kind::TzspTags, len + 1);
                    return None;
                }
            };
            len += next;
            more = !is_last;
        }
        self.take_bytes(Kind::TzspTags, len)?;
        match tzsp.protocol() {
            1 => {
                self.tunnel()?;
                self.ethernet()
            }
            other => self.unread(Numbers::TzspProtocol, other),
        }
    }

    pub(super) fn nsh(&mut self) -> Option<()> {
        self.tag(Kind::Nsh)?;
        let from = self.at;
        let nsh = self.take::<Nsh>()?;
        let length = usize::from(nsh.length()) * 4;
        let Some(context) = length.checked_sub(Nsh::LEN) else {
            self.note(Kind::Nsh, from, Problem::Length { says: length as u16, have: Nsh::LEN as u16 });
            return None;
        };
        if context > 0 {
            self.take_bytes(Kind::NshContext, context)?;
        }
        self.tunnel()?;
        self.next_protocol(nsh.next_protocol())
    }

    /// What VXLAN-GPE and NSH carry.
    fn next_protocol(&mut self, next: NextProtocol) -> Option<()> {
        match NextProtocols::next(next) {
            Some(Kind::Ipv4) => self.ipv4(),
            Some(Kind::Ipv6) => self.ipv6(),
            Some(Kind::Ethernet) => self.ethernet(),
            Some(Kind::Nsh) => self.nsh(),
            Some(Kind::Mpls) => self.mpls(),
            _ => self.unread(Numbers::NextProtocol, u16::from(next.0)),
        }
    }

    /// What GRE and GENEVE carry.
    fn bridged(&mut self, protocol: EtherType) -> Option<()> {
        match TunnelTypes::next(protocol) {
            Some(Kind::Ethernet) => self.ethernet(),
            _ => self.network(protocol),
        }
    }

    fn gre(&mut self) -> Option<()> {
        let from = self.at;
        let gre = self.take::<Gre>()?;
        if gre.version() != 0 || gre.has_routing() {
            self.note(Kind::Gre, from, Problem::Version { says: gre.version() });
            return None;
        }
        if gre.has_checksum() {
            self.take::<GreChecksum>()?;
        }
        if gre.has_key() {
            self.take::<GreKey>()?;
        }
        if gre.has_sequence() {
            self.take::<GreSequence>()?;
        }
        match TunnelTypes::next(gre.protocol()) {
            Some(Kind::Erspan2) if gre.has_sequence() && self.left().first().is_some_and(|b| b >> 4 == 1) => {
                self.take::<Erspan2>()?;
                self.tunnel()?;
                self.ethernet()
            }
            Some(Kind::Erspan2 | Kind::Everflow) => {
                self.everflow()?;
                self.tunnel()?;
                self.ethernet()
            }
            Some(Kind::Erspan3) => {
                let erspan = self.take::<Erspan3>()?;
                if erspan.optional() {
                    self.take::<ErspanPlatform>()?;
                }
                self.tunnel()?;
                match erspan.frame_type() {
                    0 => self.ethernet(),
                    2 => self.ip(),
                    other => self.unread(Numbers::ErspanFrame, u16::from(other)),
                }
            }
            _ => {
                self.tunnel()?;
                self.bridged(gre.protocol())
            }
        }
    }

    /// Some switches put bytes of their own between GRE and the mirrored frame. Their number is found by a search for the frame
    /// (SONiC's Everflow: 12 or 22; 8 occurs too).
    fn everflow(&mut self) -> Option<()> {
        let skip =
            [0, 8, 12, 22].into_iter().find(|&n| self.left().get(n..).is_some_and(looks_like_ethernet));
        match skip {
            Some(0) | None => Some(()),
            Some(n) => self.take_bytes(Kind::Everflow, n).map(|_| ()),
        }
    }
}
