//! Ultra Ethernet's transport, from its entropy header or UDP on.

use super::{Body, Visitor, Walk};
use crate::{crc32c, dissect::Numbers, wire::*};

/// Type, next header and flags, of every packet of the PDS.
const PROLOGUE: usize = 2;
/// The flag syn of requests and control packets.
const SYN: u8 = 4;
const CRC: usize = 4;

/// The type of a packet and which header follows, or for control packets what it is for.
fn prologue(bytes: &[u8]) -> Option<(PdsType, u8, bool)> {
    let &[first, second] = bytes.first_chunk::<PROLOGUE>()?;
    Some((PdsType(first >> 3), (first & 7) << 1 | second >> 7, second & SYN != 0))
}

/// Whether these bytes begin a packet of the PDS: what is not known is zero.
fn is_known(bytes: &[u8]) -> bool {
    let Some((kind, next, is_syn)) = prologue(bytes) else { return false };
    let Some(header) = kind.header(is_syn).and_then(Kind::info) else { return false };
    let is_next = match kind {
        PdsType::TSS => true,
        PdsType::CONTROL => next <= 9,
        _ => next <= 6,
    };
    is_next && bytes.len() >= header.len
}

/// The same, and what is reserved is zero, too.
fn is_plausible(bytes: &[u8]) -> bool {
    let header = prologue(bytes).and_then(|(kind, _, is_syn)| kind.header(is_syn)?.info());
    let is_zero = |field: &Field| !field.name.starts_with("reserved") || field.get(bytes) == 0;
    is_known(bytes) && header.is_some_and(|header| header.fields.iter().all(is_zero))
}

impl<V: Visitor> Walk<'_, '_, V> {
    /// IP protocol 253 is for experiments. In-band telemetry has it too: its header says another protocol, of which UDP is what matters
    /// here.
    #[cold]
    #[inline(never)]
    pub(super) fn is_uet_in_ip(&self) -> bool {
        let (left, Some((entropy, packet))) = (self.left(), UetEntropy::view(self.left())) else {
            return false;
        };
        let is_telemetry = Ifa::view(left).is_some_and(|(ifa, rest)| {
            let is_known = |udp: &Udp| {
                let port = udp.dst_port();
                self.options.transport_of(port).is_some() || self.options.tunnel_of(port).is_some()
            };
            ifa.version() == 2
                && ifa.protocol() == IpProtocol::UDP
                && Udp::view(rest).is_some_and(|(udp, _)| is_known(udp))
        });
        if is_telemetry || entropy.reserved().0 != 0 {
            return false;
        }
        // Telemetry begins with its version.
        let may_be_telemetry = Ifa::view(left).is_some_and(|(ifa, _)| ifa.version() == 2);
        is_plausible(packet) || is_known(packet) && (!may_be_telemetry || self.is_crc_right(self.at))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn uet_in_ip(&mut self) -> Option<()> {
        let from = self.at;
        self.take::<UetEntropy>()?;
        self.uet(from)
    }

    /// Behind UDP on a port of Ultra Ethernet, of which one is not its own.
    pub(super) fn uet_in_udp(&mut self) -> Option<()> {
        let (left, from) = (self.left(), self.at.saturating_sub(Udp::LEN));
        let port = self.frame.get(from..).and_then(Udp::view).map(|(udp, _)| udp.dst_port());
        let is_uet = match prologue(left) {
            Some(_) if port == Some(UET_PORT_REFERENCE) => is_plausible(left),
            Some((kind, _, is_syn)) => kind.header(is_syn).is_some(),
            None => true,
        };
        if is_uet { self.uet(from) } else { None }
    }

    /// `from`: where the IP header ends.
    fn uet(&mut self, from: usize) -> Option<()> {
        let Some((kind, next, is_syn)) = prologue(self.left()) else {
            self.short(Kind::PdsUud, PROLOGUE);
            return None;
        };
        let first = kind.header(is_syn)?;
        let bytes = self.take_bytes(first, first.info()?.len)?;
        match first {
            Kind::Tss => return self.tss(bytes),
            Kind::PdsRequest | Kind::PdsRequestSyn if kind.0 >= PdsType::RUD_REQUEST_CC.0 => {
                self.take::<PdsRequestCc>()?;
            }
            Kind::PdsAck => self.ack(kind, bytes)?,
            Kind::PdsNack if kind.0 == 12 => {
                self.take::<PdsNackCcx>()?;
            }
            _ => {}
        }
        let stated = match first {
            Kind::PdsControl | Kind::PdsControlSyn => None,
            _ => self.semantics(PdsNext(next))?,
        };
        self.uet_body(from, stated);
        Some(())
    }

    /// What is behind the counter is encrypted, and has a check of its own at its end.
    fn tss(&mut self, bytes: &[u8]) -> Option<()> {
        if Tss::view(bytes).is_some_and(|(tss, _)| tss.sp()) {
            self.take::<TssSource>()?;
        }
        self.take::<TssCounter>().map(|_| ())
    }

    fn ack(&mut self, kind: PdsType, bytes: &[u8]) -> Option<()> {
        if kind.0 == 7 {
            if PdsAck::view(bytes).is_some_and(|(ack, _)| ack.epsn()) {
                self.take::<PdsEpsn>()?;
            }
            return Some(());
        }
        let cc_type = self.take::<PdsSack>()?.cc_type();
        let state = match (kind, cc_type) {
            (PdsType::ACK_CCX, _) => Kind::PdsAckCcx,
            (_, CcType(0)) => Kind::PdsNscc,
            (_, CcType(1)) => Kind::PdsCredit,
            _ => Kind::PdsCcOther,
        };
        self.take_bytes(state, state.info()?.len).map(|_| ())
    }

    /// The header of the SES and its extensions. Returns how many bytes of payload it says, where it does.
    fn semantics(&mut self, next: PdsNext) -> Option<Option<usize>> {
        let opcode = SesOpcode(self.left().first().map_or(0, |first| first & 0x3f));
        let is_first = self.left().get(1).is_some_and(|flags| flags & 1 == 1);
        Some(match next.0 {
            0 => Some(0),
            // Which bits of these two are the length is disputed.
            1 => {
                self.take::<SesSmall>()?;
                self.extensions(opcode)?;
                None
            }
            2 => {
                self.take::<SesMedium>()?;
                self.extensions(opcode)?;
                None
            }
            3 if opcode.is_restart() => {
                self.take::<SesRestart>()?;
                Some(0)
            }
            3 if is_first => {
                let kind = if opcode.is_deferrable() { Kind::SesDeferrable } else { Kind::SesStandard };
                let request = self.take_as::<SesStandard>(kind)?;
                self.extensions(opcode)?;
                match opcode {
                    SesOpcode(0x02) => Some(0),
                    opcode if opcode.has_payload() && request.eom() => {
                        Some(request.request_length() as usize)
                    }
                    _ => None,
                }
            }
            3 => {
                let later = self.take::<SesStandardLater>()?;
                Some(usize::from(later.payload_length()))
            }
            4 => {
                self.take::<SesResponse>()?;
                Some(0)
            }
            5 => Some(usize::from(self.take::<SesResponseData>()?.payload_length())),
            6 => Some(usize::from(self.take::<SesResponseSmall>()?.payload_length())),
            other => return self.unread(Numbers::UetHeader, u16::from(other)).map(|()| None),
        })
    }

    fn extensions(&mut self, opcode: SesOpcode) -> Option<()> {
        if opcode.is_rendezvous() {
            self.take::<SesRendezvous>()?;
        }
        if opcode.is_sync() {
            self.take::<SesSync>()?;
        }
        if opcode.is_atomic() && self.take::<SesAtomic>()?.atomic_op().has_values() {
            self.take::<SesSwap>()?;
        }
        Some(())
    }

    /// Payload, and a CRC where there is one: the lengths tell, or it is right.
    fn uet_body(&mut self, from: usize, stated: Option<usize>) {
        let room = self.end.saturating_sub(self.at);
        if !self.known || self.end > self.captured || self.is_fragment {
            return;
        }
        let has_crc =
            room >= CRC && (stated == Some(room - CRC) || stated != Some(room) && self.is_crc_right(from));
        if has_crc {
            self.body = Some(Body { end: self.end - CRC, pad: 0, icrc: true });
        }
    }

    fn is_crc_right(&self, from: usize) -> bool {
        let right = || {
            let (ip, at) = self.ip_before(from)?;
            let (covered, crc) = self.frame.get(at..self.end)?.split_last_chunk::<CRC>()?;
            Some(crc32c::of_uet(ip, &[covered]) == *crc)
        };
        right() == Some(true)
    }

    /// The IP header that ends here and says where the packet ends.
    fn ip_before(&self, to: usize) -> Option<(Kind, usize)> {
        let ipv4 = (5..=15).find_map(|words: u8| {
            let at = to.checked_sub(usize::from(words) * 4)?;
            let (ip, _) = Ipv4::view(self.frame.get(at..)?)?;
            let is_it =
                ip.version() == 4 && ip.ihl() == words && at + usize::from(ip.total_len()) == self.end;
            is_it.then_some((Kind::Ipv4, at))
        });
        ipv4.or_else(|| {
            let at = to.checked_sub(Ipv6::LEN)?;
            let (ip, _) = Ipv6::view(self.frame.get(at..)?)?;
            let is_it = ip.version() == 6 && to + usize::from(ip.payload_len()) == self.end;
            is_it.then_some((Kind::Ipv6, at))
        })
    }
}
