//! LLDP: a list of TLVs. Only the walk that lists layers reads their values.

use super::{MAX_OFFSET, Visitor, Walk};
use crate::wire::*;

/// The numbers of organizations.
const IEEE: [u8; 3] = [0x00, 0x80, 0xc2];
const CEE: [u8; 3] = [0x00, 0x1b, 0x21];
/// Most headers and parts that are told apart; the rest is payload.
const MAX_PARTS: u8 = 60;

impl<'f, V: Visitor> Walk<'f, '_, V> {
    /// The frame ends with the TLV for its end. Without that one, something is missing.
    #[cold]
    #[inline(never)]
    pub(super) fn lldp(&mut self) -> Option<()> {
        let last = self.limit_at().min(MAX_OFFSET.max(self.at));
        let mut parts = 0;
        while parts < MAX_PARTS {
            let Some((tlv, _)) = self.until(last).and_then(Lldp::view) else {
                self.short(Kind::Lldp, Lldp::LEN);
                break;
            };
            let end = self.at + Lldp::LEN + tlv.tlv_length() as usize;
            let is_whole = end <= last;
            if !is_whole {
                self.short(Kind::Lldp, end - self.at);
            }
            self.visitor.header(Kind::Lldp, self.at, Lldp::LEN);
            self.at += Lldp::LEN;
            parts += 1;
            self.lldp_value(tlv.tlv_type(), end.min(last), &mut parts);
            if !is_whole {
                break;
            }
            self.value(end);
            if tlv.tlv_type() == LldpType(0) {
                // What follows is padding to the smallest frame.
                (self.end, self.known) = (self.at, true);
                break;
            }
        }
        Some(())
    }

    fn until(&self, end: usize) -> Option<&'f [u8]> {
        self.frame.get(self.at..end)
    }

    /// The rest of a value.
    fn value(&mut self, end: usize) {
        if self.at < end {
            self.detail(Kind::LldpValue, end - self.at);
        }
    }

    fn detail(&mut self, kind: Kind, len: usize) {
        if V::DETAIL {
            self.visitor.header(kind, self.at, len);
        }
        self.at += len;
    }

    /// A header in a value, if there is room for it.
    fn inside<H: Header>(&mut self, end: usize, parts: &mut u8) -> Option<&'f H> {
        let (header, _) = self.until(end).and_then(H::view).filter(|_| *parts < MAX_PARTS)?;
        self.detail(H::KIND, H::LEN);
        *parts += 1;
        Some(header)
    }

    fn lldp_value(&mut self, kind: LldpType, end: usize, parts: &mut u8) -> Option<()> {
        match kind.0 {
            1 => self.inside::<LldpChassis>(end, parts).map(|_| ()),
            2 => self.inside::<LldpPort>(end, parts).map(|_| ()),
            3 => self.inside::<LldpTtl>(end, parts).map(|_| ()),
            127 => match *self.until(end)?.first_chunk()? {
                IEEE => self.ieee(end, parts),
                CEE => self.cee(end, parts),
                _ => self.inside::<LldpOrg>(end, parts).map(|_| ()),
            },
            _ => None,
        }
    }

    fn ieee(&mut self, end: usize, parts: &mut u8) -> Option<()> {
        match self.inside::<LldpIeee>(end, parts)?.ieee_subtype().0 {
            1 => self.inside::<PortVlan>(end, parts).map(|_| ()),
            8 => self.inside::<CongestionNotification>(end, parts).map(|_| ()),
            9 => self.inside::<EtsConfiguration>(end, parts).map(|_| ()),
            10 => self.inside::<EtsRecommendation>(end, parts).map(|_| ()),
            11 => self.inside::<PfcConfiguration>(end, parts).map(|_| ()),
            12 => {
                self.inside::<ApplicationTable>(end, parts)?;
                while self.inside::<ApplicationPriority>(end, parts).is_some() {}
                Some(())
            }
            _ => None,
        }
    }

    fn cee(&mut self, last: usize, parts: &mut u8) -> Option<()> {
        if self.inside::<LldpCee>(last, parts)?.dcbx_version() != 2 {
            return None;
        }
        while let Some(tlv) = self.inside::<CeeTlv>(last, parts) {
            let end = last.min(self.at + tlv.cee_length() as usize);
            // What is too short for another one belongs to the last one.
            let end = if last - end < CeeTlv::LEN || *parts >= MAX_PARTS { last } else { end };
            self.cee_value(tlv.cee_type(), end, parts);
            self.value(end);
        }
        Some(())
    }

    fn cee_value(&mut self, kind: CeeType, end: usize, parts: &mut u8) -> Option<()> {
        if kind.0 == 1 {
            return self.inside::<CeeControl>(end, parts).map(|_| ());
        }
        if !(2..=4).contains(&kind.0) {
            return None;
        }
        self.inside::<CeeFeature>(end, parts)?;
        match kind.0 {
            2 => self.inside::<CeePriorityGroups>(end, parts).map(|_| ()),
            3 => self.inside::<CeePfc>(end, parts).map(|_| ()),
            _ => {
                while self.inside::<CeeApplication>(end, parts).is_some() {}
                Some(())
            }
        }
    }
}
