//! What is wrong with a PAUSE or PFC frame.

use crate::{
    analyze::{model::Event, network::priorities::PRIORITIES},
    report::PauseFault,
    wire::{Ethernet, Kind, MacControl, MacControlOpcode, Pfc},
};

/// The shortest Ethernet frame, without its frame check sequence.
const SHORTEST: u32 = 60;

/// Opcodes that standards have: PAUSE, those of EPON, PFC, and extensions of organizations (IEEE 802.3, table 31A-1).
const KNOWN: [std::ops::RangeInclusive<u16>; 3] = [0x0001..=0x0006, 0x0101..=0x0101, 0xfffe..=0xfffe];

/// All that is wrong; of MAC control frames of other kinds, nothing.
pub(super) fn faults(event: &Event<'_>) -> [Option<PauseFault>; 7] {
    let packet = event.packet;
    let Some(control) = packet.get::<MacControl>() else { return [None; 7] };
    let is_pause = matches!(control.opcode(), MacControlOpcode::PAUSE | MacControlOpcode::PFC);
    let is_cut = (event.record.frame.len() as u32) < event.record.wire_len;
    let has_timers = packet.has(Kind::Pfc) || packet.has(Kind::Pause);
    let pfc = packet.get::<Pfc>();
    // A generator of SONiC's tests writes seven timers and then a checksum as text.
    let is_text = |pfc: &Pfc| {
        let last = pfc.time7().to_be_bytes();
        pfc.time(7).is_none() && last.iter().all(u8::is_ascii_hexdigit)
    };
    let has_seven = pfc.is_some_and(is_text);
    let is_silent = |pfc: &Pfc| {
        let timers = pfc.bytes()[2..].chunks_exact(2).enumerate().take(PRIORITIES - has_seven as usize);
        timers.into_iter().any(|(n, timer)| timer != [0, 0] && pfc.time(n as u8).is_none())
    };
    let found = [
        (PauseFault::WrongAddress, packet.get::<Ethernet>().is_some_and(|e| e.dst() != MacControl::ADDRESS)),
        (PauseFault::Short, event.record.wire_len < SHORTEST || !has_timers && !is_cut),
        (PauseFault::SevenTimers, has_seven),
        (PauseFault::ClassVector, pfc.is_some_and(|pfc| pfc.reserved().0 != 0)),
        (PauseFault::SilentTimer, pfc.is_some_and(is_silent)),
        (PauseFault::Tagged, packet.has(Kind::Vlan)),
    ];
    let [a, b, c, d, e, f] = found.map(|(fault, is_found)| Some(fault).filter(|_| is_pause && is_found));
    let opcode = control.opcode().0;
    let is_known = KNOWN.iter().any(|known| known.contains(&opcode));
    [a, b, c, d, e, f, (!is_known).then_some(PauseFault::UnknownOpcode)]
}
