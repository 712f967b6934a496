//! Datagrams of management: subnet management, subnet administration with its segments, performance and other classes.

use super::{Channel, Packet, Path, template};
use crate::{
    opcode::{Opcode, Service},
    wire::*,
};

/// A datagram has 256 bytes.
const MAD_LEN: usize = 256;
/// Bytes of an attribute in a subnet management packet.
const SMP_DATA: usize = 64;
/// Bytes of records in a segment of subnet administration.
const SEGMENT: usize = 200;

/// A question, answer or trap of management. Each function gives a [`Packet`] or several; [`Packet::edit`] changes other fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Management {
    /// From the sender to the receiver.
    pub path: Path,
    /// Management class; [`Management::directed`] has its own.
    pub class: MgmtClass,
    /// What is done.
    pub method: MadMethod,
    /// The part of the attribute, such as the port or the block.
    pub modifier: u32,
    /// A response has that of its request.
    pub transaction_id: u64,
    /// The sequence number of the first packet.
    pub psn: Psn,
}

impl Management {
    /// A question of this class.
    pub fn get(path: Path, class: MgmtClass) -> Management {
        Management { path, class, method: MadMethod::GET, modifier: 0, transaction_id: 1, psn: Psn(0) }
    }

    /// With another method.
    #[must_use]
    pub fn method(self, method: MadMethod) -> Management {
        Management { method, ..self }
    }

    /// With this attribute, which is one header. Its number follows from the class.
    pub fn attribute<H: Header>(&self, attribute: H) -> Packet {
        let id = self.class.attribute_of(H::KIND).unwrap_or_default();
        fill(push_all(self.headers(id), self.class.headers_of(id)).push(attribute), MAD_LEN)
    }

    /// With the attribute of this number, and these bytes of it: cut, or with zeros behind them.
    pub fn bytes(&self, id: u16, bytes: &[u8]) -> Packet {
        fill_with(push_all(self.headers(id), self.class.headers_of(id)), bytes)
    }

    /// With this attribute, on a directed route: the ports by which the packet leaves the sender and each node behind it. A response is on
    /// its way back, and has come by the same ports as are given in `back`.
    pub fn directed<H: Header>(&self, ports: &[u8], back: &[u8], attribute: H) -> Packet {
        let of = Management { class: MgmtClass::SUBN_DIRECTED, ..*self };
        let hops = ports.len().min(63);
        let list = |ports: &[u8]| {
            let places = ports.iter().take(63).enumerate();
            places.fold(PortList::default(), |list, (n, &port)| list.with(n + 1, port.into()))
        };
        let is_response = self.method.is_response();
        let mad = MadDirected::default()
            .with_base_version(1)
            .with_mgmt_class(of.class)
            .with_class_version(1)
            .with_method(self.method)
            .with_d(is_response)
            .with_hop_pointer(if is_response { hops as u8 } else { 0 })
            .with_hop_count(hops as u8)
            .with_transaction_id(TransactionId(self.transaction_id))
            .with_attribute_id(Hex16(of.class.attribute_of(H::KIND).unwrap_or_default()))
            .with_attribute_modifier(Hex32(self.modifier));
        let smp = SmpDirected::default().with_dr_slid(Lid(0xffff)).with_dr_dlid(Lid(0xffff));
        let packet = of.channel().push(mad).push(smp).push(attribute);
        let packet = match SMP_DATA - H::LEN.min(SMP_DATA) {
            0 => packet,
            rest => packet.push_bytes(Kind::AttributeRest, vec![0; rest]),
        };
        packet.push(SmpPath::default().with_initial_path(list(ports)).with_return_path(list(back)))
    }

    /// Records of subnet administration, all of one length: a table in as many segments as it takes, or a question with one record.
    /// `mask` says which fields of a question count.
    pub fn records(&self, id: u16, mask: u64, records: &[&[u8]]) -> Vec<Packet> {
        let stride = records.first().map_or(0, |record| record.len().next_multiple_of(8));
        let mut bytes = Vec::with_capacity(stride * records.len());
        for record in records {
            let end = bytes.len() + stride;
            bytes.extend_from_slice(record);
            bytes.resize(end, 0);
        }
        let is_table = self.method == MadMethod::GET_TABLE_RESP;
        let segments = if is_table { bytes.len().div_ceil(SEGMENT).max(1) } else { 1 };
        let header = SaHeader::LEN;
        let segment = |n: usize| {
            let part = bytes.get(n * SEGMENT..).unwrap_or_default();
            let part = part.get(..SEGMENT).unwrap_or(part);
            let (first, last) = (n == 0, n + 1 == segments);
            let payload_length = match (first, last) {
                (true, _) => bytes.len() + segments * header,
                (false, true) => part.len() + header,
                (false, false) => 0,
            };
            let rmpp = match is_table {
                true => Rmpp::default()
                    .with_rmpp_version(1)
                    .with_rmpp_type(RmppType::DATA)
                    .with_active(true)
                    .with_first(first)
                    .with_last(last)
                    .with_segment_number(n as u32 + 1)
                    .with_payload_length(payload_length as u32),
                false => Rmpp::default(),
            };
            let sa = SaHeader::default()
                .with_attribute_offset((stride / 8) as u16)
                .with_component_mask(Hex64(mask));
            let at = Management { psn: self.psn.plus(n as u32), class: MgmtClass::SUBN_ADM, ..*self };
            fill_with(at.headers(id).push(rmpp).push(sa), part)
        };
        (0..segments).map(segment).collect()
    }

    fn headers(&self, id: u16) -> Packet {
        let version = match self.class {
            MgmtClass::SUBN_ADM | MgmtClass::CM | MgmtClass::CONGESTION => 2,
            _ => 1,
        };
        let mad = template::mad(self.class, self.method)
            .with_class_version(version)
            .with_transaction_id(TransactionId(self.transaction_id))
            .with_attribute_id(Hex16(id))
            .with_attribute_modifier(Hex32(self.modifier));
        self.channel().push(mad)
    }

    /// The headers below: queue pair 0 on virtual lane 15 for subnet management, queue pair 1 for all else.
    fn channel(&self) -> Packet {
        let is_smp = matches!(self.class, MgmtClass::SUBN_LID | MgmtClass::SUBN_DIRECTED);
        let qp = Qpn(u32::from(!is_smp));
        let channel = Channel {
            service: Service::Ud,
            q_key: if is_smp { 0 } else { 0x8001_0000 },
            mig_req: false,
            ..Channel::rc(self.path, qp, qp)
        };
        let packet = channel.headers(Opcode::UD_SEND_ONLY, self.psn);
        match (is_smp, self.class) {
            (true, MgmtClass::SUBN_DIRECTED) => packet
                .edit(|lrh: Lrh| lrh.with_vl(15).with_sl(0).with_slid(Lid(0xffff)).with_dlid(Lid(0xffff))),
            (true, _) => packet.edit(|lrh: Lrh| lrh.with_vl(15).with_sl(0)),
            _ => packet,
        }
    }
}

fn push_all(packet: Packet, kinds: &[Kind]) -> Packet {
    kinds.iter().fold(packet, |packet, &kind| packet.push_bytes(kind, template::template(kind)))
}

/// Zeros up to the end of the datagram.
fn fill(packet: Packet, len: usize) -> Packet {
    let parts = packet.parts().iter();
    let used: usize = parts.filter(|part| part.kind.is_management()).map(|part| part.len as usize).sum();
    packet.payload(vec![0; len.saturating_sub(used)])
}

/// Bytes, and zeros up to the end of the datagram.
fn fill_with(packet: Packet, bytes: &[u8]) -> Packet {
    let packet = fill(packet, MAD_LEN);
    let mut payload = packet.get_payload().to_vec();
    payload.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    packet.payload(payload)
}
