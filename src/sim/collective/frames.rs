//! The frames that the hosts' taps have.

use std::net::Ipv4Addr;

use super::{
    Made, Only,
    play::{Message, Packet, Played, Seen, Verb},
};
use crate::{
    capture::Interface,
    craft::{Channel, Endpoint, Hold, Path},
    dissect::{Encapsulation, Link},
    opcode::Opcode,
    wire::*,
};

/// The priority of all packets is that of this DSCP.
const DSCP: u8 = 26;
const PRIORITY: u8 = DSCP >> 3;

/// The address of a rank on a rail.
pub(super) fn address(rank: u32, rail: u32) -> Ipv4Addr {
    Ipv4Addr::new(10, rail as u8, (rank >> 8) as u8, rank as u8 + 1)
}

impl Played {
    /// The frames at the tap of a rank's host.
    pub fn frames(&self, rank: u32) -> impl Iterator<Item = Made> + '_ {
        let seen = self.seen.get(rank as usize).map_or(&[][..], |seen| seen);
        let is_recorded = |seen: &&Seen| match self.scenario.only {
            None => true,
            Some(Only::Sent) => seen.is_sent,
            Some(Only::Received) => !seen.is_sent,
        };
        seen.iter().filter(is_recorded).map(|seen| self.frame(seen))
    }

    /// The interface of such a tap.
    pub fn interface(&self, rank: u32) -> Interface {
        Interface {
            snaplen: self.scenario.snaplen,
            name: Some(format!("rank{rank}")),
            speed_bps: Some(self.scenario.rate.0),
            ..Interface::new(Link::ETHERNET)
        }
    }

    fn frame(&self, seen: &Seen) -> Made {
        let mut bytes = match seen.packet {
            Packet::Data { way, at } => self.data(way, at),
            Packet::Answer { way, at, is_nak } => self.answer(way, at, is_nak),
            Packet::Pause { adapter, stops } => {
                let hold = Hold::new(self.mac(adapter + self.adapters as u32), Some(1 << PRIORITY), 0, 1);
                hold.frame(if stops { u16::MAX } else { 0 }).build().to_vec()
            }
        };
        let wire_len = bytes.len() as u32;
        if self.scenario.snaplen > 0 {
            bytes.truncate(self.scenario.snaplen as usize);
        }
        Made { time_ns: (self.scenario.begin.0 + seen.time) as i64, wire_len, bytes }
    }

    fn mac(&self, adapter: u32) -> Mac {
        let [_, _, a, b] = adapter.to_be_bytes();
        Mac([2, 0, 0, 0, a, b])
    }

    fn channel(&self, way: u32) -> Channel {
        let of = &self.ways[way as usize];
        let rails = self.scenario.rails;
        let end =
            |adapter: u32| Endpoint::new(address(adapter / rails, adapter % rails)).mac(self.mac(adapter));
        let path = Path::new(Encapsulation::RoceV2Ipv4, end(of.src), end(of.dst));
        let back = self.ways[of.back as usize].queue_pair;
        Channel::rc(Path { dscp: DSCP, ..path }, Qpn(back), Qpn(of.queue_pair))
    }

    fn data(&self, way: u32, at: u32) -> Vec<u8> {
        let (message, n) = self.message_of(way, at);
        let mtu = u32::from(self.scenario.mtu);
        let payload = message.bytes.saturating_sub(n * mtu).min(mtu) as usize;
        let is_last = n + 1 == message.packets;
        let opcode = opcode(message, n == 0, is_last);
        let packet = self.channel(way).headers(opcode, Psn(at & (Psn::SPACE - 1)));
        let mut packet = packet
            .edit(|bth: Bth| bth.with_ack_req(is_last || (n + 1).is_multiple_of(32)))
            .edit(|reth: Reth| {
                reth.with_va(VirtualAddress(message.va))
                    .with_r_key(RKey(message.rkey))
                    .with_dma_len(message.bytes)
            })
            .edit(|atomic: AtomicEth| {
                atomic.with_va(VirtualAddress(message.va)).with_r_key(RKey(message.rkey)).with_swap_data(1)
            })
            .edit(|immediate: ImmDt| immediate.with_data(Hex32(message.immediate.unwrap_or(0))));
        let bytes = match message.payload.is_empty() {
            true => (0..payload)
                .map(|place| (place as u32).wrapping_mul(0x9e37_79b1).wrapping_add(at) as u8)
                .collect(),
            false => message.payload.clone(),
        };
        packet.set_payload(bytes);
        packet.build().to_vec()
    }

    fn message_of(&self, way: u32, at: u32) -> (&Message, u32) {
        let of = &self.ways[way as usize];
        let place = of.messages.partition_point(|&one| self.messages[one as usize].first <= at);
        let message = &self.messages[of.messages[place.saturating_sub(1)] as usize];
        (message, at.saturating_sub(message.first))
    }

    fn answer(&self, way: u32, at: u32, is_nak: bool) -> Vec<u8> {
        let psn = Psn(at & (Psn::SPACE - 1));
        let is_atomic = !self.ways[way as usize].messages.is_empty()
            && self.message_of(way, at).0.verb == Verb::FetchAdd
            && !is_nak;
        let opcode = if is_atomic { Opcode::RC_ATOMIC_ACKNOWLEDGE } else { Opcode::RC_ACKNOWLEDGE };
        let syndrome = Syndrome(if is_nak { 0x60 } else { 0x1f });
        let packet = self.channel(self.ways[way as usize].back).headers(opcode, psn);
        packet.edit(|aeth: Aeth| aeth.with_syndrome(syndrome)).build().to_vec()
    }
}

fn opcode(message: &Message, is_first: bool, is_last: bool) -> Opcode {
    let has_immediate = message.immediate.is_some();
    match (message.verb, is_first, is_last) {
        (Verb::FetchAdd, ..) => Opcode::RC_FETCH_ADD,
        (Verb::Send, ..) => Opcode::RC_SEND_ONLY,
        (Verb::Write, true, true) if has_immediate => Opcode::RC_WRITE_ONLY_WITH_IMMEDIATE,
        (Verb::Write, true, true) => Opcode::RC_WRITE_ONLY,
        (Verb::Write, true, false) => Opcode::RC_WRITE_FIRST,
        (Verb::Write, false, true) if has_immediate => Opcode::RC_WRITE_LAST_WITH_IMMEDIATE,
        (Verb::Write, false, true) => Opcode::RC_WRITE_LAST,
        (Verb::Write, false, false) => Opcode::RC_WRITE_MIDDLE,
    }
}
