//! Trust in the capture: ICRCs that the sender did not compute, corrupt packets of unknown flows, copies that a mirror lost.

use crate::{
    analyze::{
        model::Class,
        packet::{Facts, MirrorCopy, key::Key},
        table::flow::{Flow, Opcodes, state_at},
        track::class::{Flaw, Place},
    },
    icrc::State,
};

/// Whether ICRCs and IP checksums can be trusted. If most are wrong, a device rewrites packets, or the sender computes none.
#[derive(Default, crate::stored::Stored)]
pub(crate) struct Trust {
    icrc_checked: u64,
    icrc_bad: u64,
    ip_checked: u64,
    ip_bad: u64,
}

impl Trust {
    /// So many wrong ICRCs at the beginning still count as corruption.
    const DOUBT: u64 = 4;

    fn believes(bad: u64, checked: u64) -> bool {
        bad * 2 <= checked + Self::DOUBT
    }

    /// Wrong checksums of IP headers before any right one: something rewrites the headers, or computes none.
    fn believes_ip(bad: u64, checked: u64) -> bool {
        bad < checked && Trust::believes(bad, checked)
    }

    /// Whether a packet with this ICRC state is accepted as intact.
    #[inline(always)]
    pub(crate) fn accepts(&self, icrc: State) -> bool {
        icrc != State::Bad || !Trust::believes(self.icrc_bad + 1, self.icrc_checked + 1)
    }

    /// Whether a packet with this state of its IPv4 header checksum is accepted as intact.
    #[inline(always)]
    pub(crate) fn accepts_ip(&self, is_right: Option<bool>) -> bool {
        is_right != Some(false) || !Trust::believes_ip(self.ip_bad + 1, self.ip_checked + 1)
    }

    /// Whether an ICRC was verified.
    #[inline(always)]
    pub(crate) fn has_checked(&self) -> bool {
        self.icrc_checked > 0
    }

    /// The first `bad` ICRCs were wrong: no ICRC is trusted.
    pub(crate) fn give_up(&mut self, bad: u64) {
        (self.icrc_checked, self.icrc_bad) = (bad, 2 * bad);
    }

    /// Counts a packet. Returns what its receiver will not accept it for: its ICRC or its IPv4 header checksum is wrong, and is
    /// trusted; or a switch trimmed it.
    #[inline(always)]
    pub(crate) fn flaw_of(&mut self, packet: &Facts) -> Option<Flaw> {
        let icrc = packet.icrc();
        let mut corrupt = false;
        if matches!(icrc, State::Good | State::Bad) {
            let bad = icrc == State::Bad;
            self.icrc_checked += 1;
            self.icrc_bad += bad as u64;
            corrupt = bad && Trust::believes(self.icrc_bad, self.icrc_checked);
        }
        if let Some(right) = packet.ip_right() {
            self.ip_checked += 1;
            if !right {
                self.ip_bad += 1;
                corrupt |= Trust::believes_ip(self.ip_bad, self.ip_checked);
            }
        }
        match icrc {
            _ if corrupt => Some(Flaw::Corrupt),
            State::Trimmed => Some(Flaw::Trimmed),
            _ => None,
        }
    }

    /// Counts a packet by its ICRC alone. Returns whether it is accepted as intact.
    pub(crate) fn takes(&mut self, icrc: State) -> bool {
        let bad = icrc == State::Bad;
        self.icrc_checked += matches!(icrc, State::Good | State::Bad) as u64;
        self.icrc_bad += bad as u64;
        !bad || !Trust::believes(self.icrc_bad, self.icrc_checked)
    }

    /// Counts a packet that is [accepted](Self::accepts).
    #[inline(always)]
    pub(crate) fn accept(&mut self, icrc: State, is_ip_right: Option<bool>) {
        self.icrc_checked += (icrc != State::Unchecked) as u64;
        self.ip_checked += is_ip_right.is_some() as u64;
        let is_ip_right = is_ip_right != Some(false);
        if icrc == State::Bad || !is_ip_right {
            self.accept_doubtful(icrc, is_ip_right);
        }
    }

    #[inline(never)]
    fn accept_doubtful(&mut self, icrc: State, is_ip_right: bool) {
        self.icrc_bad += (icrc == State::Bad) as u64;
        self.ip_bad += !is_ip_right as u64;
    }
}

/// Corrupt packets of flows that have not been seen yet. They are added to the flow when it appears.
#[derive(Default, crate::stored::Stored)]
pub(crate) struct Strays {
    all: Vec<Stray>,
    /// Packets of more flows than are kept.
    beyond: u64,
}

#[derive(crate::stored::Stored)]
struct Stray {
    key: Key,
    packets: u64,
    l1_bytes: u64,
    icrc: [u64; 3],
    vcrc: [u64; 2],
    opcodes: Opcodes,
}

impl Strays {
    const MAX: usize = 256;

    #[cold]
    pub(crate) fn remember(&mut self, key: &Key, packet: &Facts) {
        let at = self.all.iter().position(|stray| stray.key == *key).unwrap_or(self.all.len());
        if at == Strays::MAX {
            self.beyond += 1;
            return;
        }
        if at == self.all.len() {
            let opcodes = Opcodes::default();
            self.all.push(Stray { key: *key, packets: 0, l1_bytes: 0, icrc: [0; 3], vcrc: [0; 2], opcodes });
        }
        let stray = &mut self.all[at];
        stray.packets += 1;
        stray.l1_bytes += packet.l1_bytes() as u64;
        stray.icrc[state_at(packet.icrc())] += 1;
        if packet.vcrc() != State::Unchecked {
            stray.vcrc[usize::from(packet.vcrc() == State::Bad)] += 1;
        }
        stray.opcodes.add(packet.opcode().code);
    }

    /// Corrupt packets of flows that did not appear.
    pub(crate) fn packets(&self) -> u64 {
        self.all.iter().map(|stray| stray.packets).sum::<u64>() + self.beyond
    }

    /// A flow appears: its corrupt packets are added to it.
    pub(crate) fn give_to(&mut self, flow: &mut Flow) {
        let Some(at) = self.all.iter().position(|stray| stray.key == flow.key) else { return };
        let stray = self.all.swap_remove(at);
        flow.packets += stray.packets;
        flow.wire_bytes += stray.l1_bytes;
        for (opcode, n) in stray.opcodes.iter() {
            flow.opcodes.add_many(opcode, n);
        }
        for (all, n) in flow.icrc.iter_mut().zip(stray.icrc) {
            *all += n;
        }
        if stray.vcrc != [0; 2] {
            let all = &mut flow.signals_mut().vcrc;
            all.iter_mut().zip(stray.vcrc).for_each(|(all, n)| *all += n);
        }
        let counts = &mut flow.requests.counts;
        counts.packets += stray.packets;
        (0..stray.packets).for_each(|_| counts.class(Class::Corrupt));
        counts.lost(Place::Corrupt, stray.packets, stray.packets);
        (0..stray.packets).for_each(|_| flow.requests.flawed(Flaw::Corrupt));
    }
}

/// Mirrors that number their copies (ERSPAN, GRE with a sequence number): a gap is a copy that was lost, not a packet.
#[derive(Default, crate::stored::Stored)]
pub(crate) struct Mirrors {
    all: Vec<Mirror>,
    lost: u64,
    is_any: bool,
}

#[derive(crate::stored::Stored)]
struct Mirror {
    key: (u128, u128, u16),
    next: u32,
}

impl Mirrors {
    const MAX: usize = 256;
    /// A copy that is further ahead begins a new sequence.
    const FAR: i32 = 1 << 20;
    /// A copy that is further behind does so too.
    const LATE: i32 = 1024;

    /// Copies that were lost; `None` where no mirror numbers them.
    pub(crate) fn lost(&self) -> Option<u64> {
        self.is_any.then_some(self.lost)
    }

    /// One more copy. Returns whether it came in order: false if a copy with a higher number came before.
    #[inline(never)]
    pub(crate) fn on_copy(&mut self, &MirrorCopy { key, number }: &MirrorCopy) -> bool {
        let next = number.wrapping_add(1);
        let has_room = self.all.len() < Mirrors::MAX;
        match self.all.iter_mut().find(|mirror| mirror.key == key) {
            Some(mirror) => {
                let ahead = number.wrapping_sub(mirror.next) as i32;
                if (0..Mirrors::FAR).contains(&ahead) {
                    self.lost += ahead as u64;
                } else if ahead < 0 && ahead > -Mirrors::LATE {
                    // The copy was not lost, only late.
                    self.lost = self.lost.saturating_sub(1);
                    return false;
                }
                mirror.next = next;
            }
            None if has_room => self.all.push(Mirror { key, next }),
            None => {}
        }
        self.is_any = true;
        true
    }
}
