//! What a capture says of itself: packets that are wrong, ICRCs that nobody computed, mirrors that lost copies.

use super::{Analysis, facts::Facts, flow::Opcodes, key::Key};
use crate::{dissect::Dissection, icrc::State, wire::*};

/// A mirror's sequence of copies.
pub(super) struct Mirror {
    pub(super) key: (u128, u128, u16),
    pub(super) next: u32,
}

/// A copy that a mirror made, by its sender, receiver and session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MirrorCopy {
    pub(super) key: (u128, u128, u16),
    pub(super) number: u32,
}

pub(super) const MAX_MIRRORS: usize = 256;

/// Wrong packets of a flow that was not seen yet.
pub(super) struct Stray {
    pub(super) key: Key,
    pub(super) packets: u64,
    pub(super) l1_bytes: u64,
    pub(super) icrc: [u64; 3],
    pub(super) opcodes: Opcodes,
}

pub(super) const MAX_STRAYS: usize = 256;

/// Whether ICRCs and IP checksums can be believed: where most are wrong, something rewrites packets.
#[derive(Default)]
pub(super) struct Trust {
    pub(super) icrc_checked: u64,
    pub(super) icrc_bad: u64,
    pub(super) ip_checked: u64,
    pub(super) ip_bad: u64,
}

impl Trust {
    /// A few wrong ones at the beginning are believed to be wrong.
    const DOUBT: u64 = 4;

    pub(super) fn believes(bad: u64, checked: u64) -> bool {
        bad * 2 <= checked + Self::DOUBT
    }

    /// Whether one more packet with an ICRC that may be wrong is not a wrong packet.
    #[inline(always)]
    pub(super) fn accepts(&self, icrc: State) -> bool {
        icrc != State::Bad || !Trust::believes(self.icrc_bad + 1, self.icrc_checked + 1)
    }

    /// The same of one whose IPv4 header's checksum may be wrong, if it has one.
    #[inline(always)]
    pub(super) fn accepts_ip(&self, is_right: Option<bool>) -> bool {
        is_right != Some(false) || !Trust::believes(self.ip_bad + 1, self.ip_checked + 1)
    }
}

impl Analysis {
    /// Wrong packets, unless all are wrong.
    #[inline(always)]
    pub(super) fn is_corrupt(&mut self, facts: &impl Facts) -> bool {
        let icrc = facts.icrc();
        let mut corrupt = false;
        if icrc != State::Unchecked {
            let bad = icrc == State::Bad;
            self.trust.icrc_checked += 1;
            self.trust.icrc_bad += bad as u64;
            corrupt = bad && Trust::believes(self.trust.icrc_bad, self.trust.icrc_checked);
        }
        if let Some(right) = facts.ip_right() {
            self.trust.ip_checked += 1;
            if !right {
                self.trust.ip_bad += 1;
                corrupt |= Trust::believes(self.trust.ip_bad, self.trust.ip_checked);
            }
        }
        corrupt
    }

    /// A packet that is not wrong, though its IPv4 header's checksum, if it has one, or its ICRC may be.
    #[inline(always)]
    pub(super) fn see_right(&mut self, icrc: State, is_ip_right: Option<bool>) {
        self.capture.rdma_packets += 1;
        self.trust.icrc_checked += (icrc != State::Unchecked) as u64;
        self.trust.ip_checked += is_ip_right.is_some() as u64;
        let is_ip_right = is_ip_right != Some(false);
        if icrc == State::Bad || !is_ip_right {
            self.see_doubtful(icrc, is_ip_right);
        }
    }

    #[inline(never)]
    fn see_doubtful(&mut self, icrc: State, is_ip_right: bool) {
        self.trust.icrc_bad += (icrc == State::Bad) as u64;
        self.trust.ip_bad += !is_ip_right as u64;
    }

    /// A wrong packet of a flow that was not seen: counted, should the flow appear.
    #[cold]
    pub(super) fn remember_stray(&mut self, key: &Key, opcode: u8, l1_bytes: u32, icrc: State) {
        let room = self.strays.len() < MAX_STRAYS;
        match self.strays.iter_mut().find(|stray| stray.key == *key) {
            Some(stray) => {
                stray.packets += 1;
                stray.opcodes.add(opcode);
                stray.l1_bytes += l1_bytes as u64;
                stray.icrc[icrc as usize] += 1;
            }
            None if room => {
                let opcodes = Opcodes::default();
                let mut stray =
                    Stray { key: *key, packets: 1, l1_bytes: l1_bytes as u64, icrc: [0; 3], opcodes };
                stray.opcodes.add(opcode);
                stray.icrc[icrc as usize] += 1;
                self.strays.push(stray);
            }
            None => {}
        }
    }

    /// A mirror numbers its copies: a gap is a copy that was lost, not a packet.
    #[cold]
    #[inline(never)]
    pub(super) fn see_mirror(&mut self, d: &Dissection<'_>) {
        let layers = d.layers();
        let at = |kind| {
            layers
                .iter()
                .find(|layer| layer.kind == kind)
                .and_then(|layer| d.frame().get(layer.at as usize..))
        };
        let Some((sequence, _)) = at(Kind::GreSequence).and_then(GreSequence::view) else { return };
        let (src, dst) = match (at(Kind::Ipv4).and_then(Ipv4::view), at(Kind::Ipv6).and_then(Ipv6::view)) {
            (Some((ip, _)), _) => (u32::from(ip.src()) as u128, u32::from(ip.dst()) as u128),
            (_, Some((ip, _))) => (u128::from(ip.src()), u128::from(ip.dst())),
            _ => return,
        };
        let session = at(Kind::Erspan2).and_then(Erspan2::view).map(|(h, _)| h.session_id());
        let session =
            session.or_else(|| at(Kind::Erspan3).and_then(Erspan3::view).map(|(h, _)| h.session_id()));
        self.see_copy(&MirrorCopy {
            key: (src, dst, session.unwrap_or(u16::MAX)),
            number: sequence.sequence_number(),
        });
    }

    /// One more copy of a mirror.
    #[inline(never)]
    pub(super) fn see_copy(&mut self, &MirrorCopy { key, number }: &MirrorCopy) {
        let room = self.mirrors.len() < MAX_MIRRORS;
        match self.mirrors.iter_mut().find(|mirror| mirror.key == key) {
            Some(mirror) => {
                let ahead = number.wrapping_sub(mirror.next) as i32;
                if (0..1 << 20).contains(&ahead) {
                    self.capture.mirror_lost += ahead as u64;
                } else if ahead < 0 && ahead > -1024 {
                    // It was only late.
                    self.capture.mirror_lost = self.capture.mirror_lost.saturating_sub(1);
                    return;
                }
                mirror.next = number.wrapping_add(1);
            }
            None if room => {
                self.mirrors.push(Mirror { key, next: number.wrapping_add(1) });
            }
            None => {}
        }
        self.capture.mirrored = true;
    }
}
