//! Building packets, and messages packet by packet, allocates nothing per packet.

use crate::samples::{self, memory};
use bytes::BytesMut;
use rdmawire::{
    craft::{Channel, ComputedField, Data, Packet, Path, Request},
    dissect::{Encapsulation, dissect},
    wire::*,
};
use std::net::Ipv4Addr;

#[test]
fn building_allocates_nothing() {
    let mut room = BytesMut::with_capacity(1 << 16);
    let mut built = 0;
    for sample in &samples::vectors() {
        let mut packet = Packet::from(&dissect(sample.link, &sample.frame, sample.wire_len));
        let headers: u32 = packet.parts().iter().map(|part| part.len).sum();
        packet.set_keep(ComputedField::UdpChecksum, false);
        let (_, allocated) = memory::during(|| {
            for n in 0..10 {
                packet.alter(|bth: Bth| bth.with_psn(Psn(n)));
                room.clear();
                packet.build_into(&mut room);
            }
        });
        // Longer heads than 512 bytes are built on the heap.
        assert!(allocated.calls == 0 || headers > 512, "{}: {allocated:?}", sample.name);
        built += (headers <= 512) as usize;
    }
    assert!(built > 75, "{built}");
}

#[test]
fn a_message_allocates_for_itself_not_for_its_packets() {
    let mut room = BytesMut::with_capacity(1 << 16);
    for encapsulation in Encapsulation::ALL {
        let mut path = Path::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        path.encapsulation = encapsulation;
        let channel = Channel::rc(path, Qpn(1), Qpn(2));
        let calls = |len: u32, room: &mut BytesMut| {
            let message =
                channel.request(Psn(0), Request::Write { len, va: 0, r_key: 0, imm: None }).unwrap();
            let message = message.data(Data::pattern(1));
            // The first slice of the pattern makes its counter.
            message.packet(0);
            let (packets, allocated) = memory::during(|| {
                let mut packets = 0;
                message.each(|_, packet| {
                    room.clear();
                    packet.build_into(room);
                    packets += 1;
                });
                packets
            });
            assert_eq!(packets, len.div_ceil(1024));
            allocated.calls
        };
        assert_eq!(calls(10 << 10, &mut room), calls(1000 << 10, &mut room));
        assert!(calls(1000 << 10, &mut room) <= 2);
    }
}
