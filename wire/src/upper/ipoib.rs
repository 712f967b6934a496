//! IP over InfiniBand.

use super::{Message, parts::Reader};
use crate::{checksum, wire::*};

/// ARP's number of InfiniBand, and the lengths of addresses.
const INFINIBAND: u16 = 32;
const LENGTHS: [u8; 2] = [20, 4];

/// Whether it can only be IPoIB: the packet behind its header has the length of the message, and IPv4's checksum is right.
pub(super) fn is(message: Message<'_>) -> bool {
    let Some((header, rest)) = IpoibHeader::view(message.bytes) else { return false };
    let has = |len: usize| message.has_len(IpoibHeader::LEN + len);
    header.reserved() == Hex16(0)
        && match header.ether_type() {
            EtherType::IPV4 => IpoibIpv4::view(rest).is_some_and(|(ip, _)| {
                let header = rest.get(..usize::from(ip.ihl()) * 4);
                ip.version() == 4
                    && ip.ihl() >= 5
                    && has(ip.total_len().into())
                    && header.is_some_and(|header| checksum::internet(header) == 0)
            }),
            EtherType::IPV6 => IpoibIpv6::view(rest).is_some_and(|(ip, _)| {
                ip.version() == 6 && has(IpoibIpv6::LEN + usize::from(ip.payload_len()))
            }),
            EtherType::ARP => IpoibArp::view(rest).is_some_and(|(arp, _)| {
                arp.hardware() == INFINIBAND
                    && arp.protocol() == EtherType::IPV4
                    && [arp.hardware_len(), arp.protocol_len()] == LENGTHS
                    && has(IpoibArp::LEN)
            }),
            _ => false,
        }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<()> {
    match reader.take::<IpoibHeader>()?.ether_type() {
        EtherType::IPV4 => reader.take::<IpoibIpv4>().map(|_| ()),
        EtherType::IPV6 => reader.take::<IpoibIpv6>().map(|_| ()),
        EtherType::ARP => reader.take::<IpoibArp>().map(|_| ()),
        _ => None,
    }
}
