//! The walk from the local route header, or the BTH, to the end of the packet.

use super::{Body, Visitor, Walk, clip};
use crate::{
    dissect::{Numbers, Problem},
    opcode::{Chain, Opcode},
    upper::{Application, Message, Protocol, data_of, nvme},
    wire::*,
};

/// Bytes of a management datagram of the first version.
const MAD_SIZE: usize = 256;
/// No transport's operation codes but MRC's are as high.
const MRC_CODES: u8 = 0xc0;

impl<V: Visitor> Walk<'_, '_, V> {
    pub(super) fn infiniband(&mut self) -> Option<()> {
        let from = self.at;
        let lrh = self.take::<Lrh>()?;
        if lrh.lver() != 0 {
            self.note(Kind::Lrh, from, Problem::Version { says: lrh.lver() });
        }
        let frame_end = self.end;
        self.limit(Kind::Lrh, from, lrh.pkt_len() as usize * 4);
        if self.known && self.end + 2 <= frame_end.min(self.captured) {
            self.vcrc = self.end;
        }
        match LrhHeaders::next(lrh.lnh()) {
            Some(Kind::Bth) => self.transport(Transport::Ib),
            Some(Kind::Grh) => {
                self.grh()?;
                self.transport(Transport::Ib)
            }
            Some(Kind::Ipv6) => self.ipv6(),
            _ => {
                let ether_type = self.take::<Rwh>()?.ether_type();
                self.unread(Numbers::EtherType, ether_type.0)
            }
        }
    }

    pub(super) fn grh(&mut self) -> Option<()> {
        let from = self.at;
        let grh = self.take::<Grh>()?;
        if grh.ip_ver() != 6 {
            self.note(Kind::Grh, from, Problem::Version { says: grh.ip_ver() });
        }
        self.limit(Kind::Grh, self.at, grh.pay_len() as usize);
        if GrhHeaders::next(grh.nxt_hdr()).is_none() {
            return self.unread(Numbers::IpProtocol, u16::from(grh.nxt_hdr().0));
        }
        Some(())
    }

    /// Whether what follows UDP has an operation code of MRC, which are manufacturers' own in InfiniBand's table.
    #[inline(always)]
    pub(super) fn is_mrc(&self) -> bool {
        match self.left() {
            &[code, flags, ..] => {
                code >= MRC_CODES && Opcode::of(Transport::Mrc, code).is_known() && flags & 0xf == 0
            }
            _ => false,
        }
    }

    #[inline(always)]
    pub(super) fn transport(&mut self, transport: Transport) -> Option<()> {
        let from = self.at;
        let bth = self.take_as::<Bth>(transport.bth())?;
        let opcode = Opcode::of(transport, bth.opcode().code);
        let chain = Chain::of(opcode, bth);
        self.visitor.transport(opcode, chain);
        if bth.tver() != 0 {
            self.note(Kind::Bth, from, Problem::Version { says: bth.tver() });
        }
        if self.left().len() < chain.total_len() {
            return self.extended_in_part(chain);
        }
        self.visitor.extended(chain, self.at);
        self.at += chain.total_len();
        self.body(from, opcode, bth.pad_cnt());
        if V::DETAIL && opcode == Opcode::UD_SEND_ONLY {
            self.mad(bth);
        }
        if V::DETAIL && opcode.begins_send() {
            self.message(opcode);
        } else if V::DETAIL
            && let Some(kind) = self.options.data
        {
            self.data(kind);
        }
        Some(())
    }

    #[cold]
    #[inline(never)]
    fn extended_in_part(&mut self, chain: &'static Chain) -> Option<()> {
        for &kind in chain.kinds() {
            self.take_bytes(kind, kind.info()?.len)?;
        }
        None
    }

    /// Payload, pad and ICRC.
    #[inline(always)]
    fn body(&mut self, bth: usize, opcode: Opcode, pad: u8) {
        // Without a length field that is right, nothing says that the last four bytes are an ICRC.
        let room = self.end.saturating_sub(self.at);
        let (icrc, end) = match self.known {
            true if room >= 4 => (self.end <= self.captured, self.end - 4),
            true => {
                self.short(Kind::Icrc, 4);
                (false, self.end)
            }
            false => (false, self.end),
        };
        let room = end.saturating_sub(self.at);
        let pad_fits = pad as usize <= room;
        let payload = if pad_fits { room - pad as usize } else { room };
        self.body = Some(Body { end, pad: if pad_fits { pad } else { 0 }, icrc });
        let shape = opcode.shape();
        let right = shape.allows(payload as u32);
        if !(right & pad_fits & shape.is_known()) {
            self.wrong_body(bth, opcode, pad, pad_fits, right, payload);
        }
    }

    #[cold]
    #[inline(never)]
    fn wrong_body(
        &mut self,
        bth: usize,
        opcode: Opcode,
        pad: u8,
        pad_fits: bool,
        right: bool,
        payload: usize,
    ) {
        if !opcode.is_known() {
            self.visitor.note(Kind::Bth, bth, Problem::Opcode { says: opcode.code });
        }
        if !pad_fits {
            self.visitor.note(Kind::Bth, bth, Problem::Pad { says: pad });
        }
        if !right && self.known {
            self.visitor.note(Kind::Bth, bth, Problem::Payload { have: clip(payload) });
        }
    }

    /// A management datagram: 256 bytes to or from queue pair 0 or 1.
    fn mad(&mut self, bth: &Bth) {
        let from = self.at;
        let size = self.body.as_ref().map_or(0, |body| body.end.saturating_sub(from));
        let source = self.frame.get(from - 3..from).map(|b| u32::from_be_bytes([0, b[0], b[1], b[2]]));
        let version = self.frame.get(from).copied();
        let is_mad = (bth.dest_qp().0 <= 1 || source.is_some_and(|qp| qp <= 1))
            && (version == Some(1) && size == 256 || version == Some(0x80));
        if is_mad {
            self.mad_headers(from, size);
        }
        // These are headers within the payload, which contains all of them.
        self.at = from;
    }

    /// Data of a command of an upper layer, which says what it is.
    #[cold]
    fn data(&mut self, kind: Kind) {
        let from = self.at;
        let end = self.body.as_ref().map_or(from, |body| body.end.saturating_sub(body.pad as usize));
        let bytes = self.frame.get(from..end.min(self.captured)).unwrap_or(&[]);
        for part in data_of(kind, bytes).iter() {
            self.visitor.header(part.kind, from + part.at, part.len);
        }
    }

    /// A message of an upper layer, where it can only be one, or its queue pair is for that.
    fn message(&mut self, opcode: Opcode) {
        let from = self.at;
        let Some(end) = self.body.as_ref().map(|body| body.end.saturating_sub(body.pad as usize)) else {
            return;
        };
        let bytes = self.frame.get(from..end.min(self.captured)).unwrap_or(&[]);
        let len = opcode.shape().ends.then_some(end.saturating_sub(from));
        let message = Message { bytes, len };
        let Some(protocol) = self.options.upper_of(opcode).or_else(|| Protocol::of(message)) else { return };
        for part in protocol.read(message).iter() {
            self.visitor.header(part.kind, from + part.at, part.len);
        }
    }

    fn mad_headers(&mut self, from: usize, size: usize) -> Option<()> {
        let is_directed = self.left().get(1) == Some(&MgmtClass::SUBN_DIRECTED.0);
        let mad = self.take_as::<Mad>(if is_directed { Kind::MadDirected } else { Kind::Mad })?;
        match mad.mgmt_class() {
            MgmtClass::CM => self.cm_message(mad, from, size),
            // Omni-Path has other layouts.
            class if mad.base_version() == 1 => self.attribute(class, mad, from),
            _ => None,
        }
    }

    fn cm_message(&mut self, mad: &Mad, from: usize, size: usize) -> Option<()> {
        let message = CmAttributes::next(CmAttribute(mad.attribute_id().0))?;
        let bytes = self.take_bytes(message, message.info()?.len)?;
        let service = match message {
            Kind::CmReq => CmReq::view(bytes).map(|(req, _)| req.service_id()),
            Kind::CmSidrReq => CmSidrReq::view(bytes).map(|(req, _)| req.service_id()),
            _ => None,
        };
        let is_by_address = service.is_some_and(ServiceId::is_rdma_cm) && self.has_ip_cm();
        if is_by_address {
            self.take::<IpCm>()?;
        }
        let is_of_nvme = match message {
            Kind::CmReq => {
                is_by_address && service.and_then(Application::of_service) == Some(Application::NvmeOf)
            }
            _ => self.options.upper == Some(Protocol::Nvme),
        };
        if let Some(kind) = nvme::private(message, bytes, self.left()).filter(|_| is_of_nvme) {
            self.take_bytes(kind, kind.info()?.len)?;
        }
        self.take_bytes(Kind::CmPrivate, (from + size).saturating_sub(self.at)).map(|_| ())
    }

    /// The headers of a class, its attribute or the first record of a table, and the ports of a directed route.
    fn attribute(&mut self, class: MgmtClass, mad: &Mad, from: usize) -> Option<()> {
        let mut has_attribute = true;
        for &kind in class.headers_of(mad.attribute_id().0) {
            let bytes = self.take_bytes(kind, kind.info()?.len)?;
            if let (Kind::Rmpp, Some((rmpp, _))) = (kind, Rmpp::view(bytes)) {
                has_attribute = rmpp.begins_records(class);
            }
        }
        let attribute = class.attribute(mad.attribute_id().0).filter(|_| has_attribute);
        for &kind in attribute.map_or(&[][..], |attribute| attribute.kinds) {
            let bytes = self.take_bytes(kind, kind.info()?.len)?;
            if let (Kind::CongestionLog, Some((log, _))) = (kind, CongestionLog::view(bytes)) {
                self.congestion_log(log.log_type(), from)?;
            }
        }
        if class == MgmtClass::SUBN_DIRECTED {
            let rest = (from + SmpPath::AT).saturating_sub(self.at);
            if rest > 0 {
                self.take_bytes(Kind::AttributeRest, rest)?;
            }
            self.take::<SmpPath>()?;
        }
        Some(())
    }

    /// What a log of congestion says of its node, and its events, up to those that are not used.
    fn congestion_log(&mut self, of: CongestionLogType, from: usize) -> Option<()> {
        let (head, event) = match of {
            CongestionLogType::SWITCH => (Kind::SwitchCongestionLog, Kind::SwitchCongestionEvent),
            CongestionLogType::ADAPTER => (Kind::CaCongestionLog, Kind::CaCongestionEvent),
            _ => return Some(()),
        };
        self.take_bytes(head, head.info()?.len)?;
        let len = event.info()?.len;
        while self.at + len <= from + MAD_SIZE && self.left().get(..len)?.iter().any(|&byte| byte != 0) {
            self.take_bytes(event, len)?;
        }
        Some(())
    }

    /// Whether RDMA-CM's header comes next. Who uses addresses of InfiniBand has none: the first bytes are the application's.
    fn has_ip_cm(&self) -> bool {
        IpCm::view(self.left()).is_none_or(|(ip, _)| matches!(ip.ip_version(), 4 | 6))
    }
}
