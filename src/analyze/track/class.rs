//! Counts of packets by class, and of losses by place.

use super::{
    copies::MIRROR_NS,
    on_demand::{OnDemand, quiet},
    shadow::{Answers, Shadow},
};
pub(crate) use crate::report::{Evidence, Location as Place};
use crate::{
    analyze::{
        model::{Class, Trigger},
        packet::Facts,
    },
    heap::heap,
    wire::Psn,
};

/// Packets lost: at least, at most. Whatever happens to them, the two do not cross.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
pub(crate) struct Bounds {
    least: u32,
    most: u32,
}

impl Bounds {
    pub(crate) fn get(self) -> [u64; 2] {
        [self.least, self.most].map(u64::from)
    }

    /// More were lost: at least, at most.
    pub(crate) fn add(&mut self, least: u64, most: u64) {
        self.least = self.least.saturating_add(u32::try_from(least).unwrap_or(u32::MAX));
        self.most = self.most.saturating_add(u32::try_from(most.max(least)).unwrap_or(u32::MAX));
    }

    /// Up to so many were lost perhaps, whatever was found so far.
    pub(crate) fn widen(&mut self, most: u64) {
        self.most = self.most.max(u32::try_from(most).unwrap_or(u32::MAX));
    }

    /// One more of them surely was.
    fn prove(&mut self) {
        self.least = self.least.saturating_add(1);
        self.most = self.most.max(self.least);
    }

    /// Not more were lost than this, or than are proved.
    pub(crate) fn cap(&mut self, most: u64) {
        self.most = self.most.min(u32::try_from(most).unwrap_or(u32::MAX)).max(self.least);
    }

    /// So many that counted as proved are not.
    pub(crate) fn doubt(&mut self, proved: u64) {
        self.least = self.least.saturating_sub(u32::try_from(proved).unwrap_or(u32::MAX));
    }
}

/// Losses that the capture shows at a place, each with its packets one episode: those whose place is proved, and the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
pub(crate) struct Episodes {
    pub(crate) certain: u32,
    pub(crate) likely: u32,
}

impl Episodes {
    fn of(&mut self, certain: bool) -> &mut u32 {
        if certain { &mut self.certain } else { &mut self.likely }
    }
}

/// Why the receiver of a packet at the tap will not accept it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
pub(crate) enum Flaw {
    /// Its ICRC, or its IP header's checksum, is wrong.
    #[default]
    Corrupt,
    /// A switch cut it to its headers.
    Trimmed,
}

impl Flaw {
    pub(crate) fn class(self) -> Class {
        match self {
            Flaw::Corrupt => Class::Corrupt,
            Flaw::Trimmed => Class::Trimmed,
        }
    }

    pub(crate) fn place(self) -> Place {
        match self {
            Flaw::Corrupt => Place::Corrupt,
            Flaw::Trimmed => Place::Trimmed,
        }
    }
}

/// The counts of one PSN space in one direction. Counts of trouble are apart.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Counts {
    pub(crate) packets: u64,
    new: u64,
    unsequenced: u32,
    first: u16,
    /// Packets that may have been lost upstream in silences. They are no trouble.
    perhaps: u16,
    trouble: OnDemand<Trouble>,
}

/// Counts that only flows with trouble need.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Trouble {
    pub(crate) retransmitted_bytes: u64,
    classes: [u64; Class::ALL.len()],
    /// By class, in the order of [`DECIDED`].
    evidence: [[u32; Evidence::ALL.len()]; DECIDED.len()],
    pub(crate) triggers: [u32; Trigger::ALL.len()],
    /// See [`Counts::losses`].
    pub(crate) losses: [Bounds; Place::ALL.len()],
    /// See [`Counts::episodes_at`].
    episodes: [Episodes; Place::ALL.len()],
    pub(crate) spurious: u32,
    /// Retransmissions that were overtaken too.
    pub(crate) overtaken_again: u64,
    pub(crate) reordered_then_nak: u32,
    pub(crate) max_extent: u32,
    pub(crate) max_late_ns: u64,
    /// What is behind lost packets.
    pub(crate) shadow: Shadow,
    /// Bytes on the wire of capture duplicates, and of their payload.
    pub(crate) copied: [u64; 2],
    /// The last packets with a flaw.
    flaws: [Flawed; 4],
}

/// A packet with a flaw, and where it was recorded.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct Flawed {
    fingerprint: u32,
    psn: Psn,
    pub(crate) time: i64,
    pub(crate) vantage: u16,
}

quiet!(Trouble);

heap! { Counts { trouble } Trouble { shadow } }

/// The classes whose evidence is counted.
const DECIDED: [Class; 3] = [Class::Retransmission, Class::LateOriginal, Class::CaptureDuplicate];

impl Counts {
    /// What went wrong: nothing, if it is not written to.
    #[inline(always)]
    pub(crate) fn trouble(&self) -> &Trouble {
        &self.trouble
    }

    /// What went wrong, for changes: it is allocated.
    #[inline(always)]
    pub(crate) fn trouble_mut(&mut self) -> &mut Trouble {
        &mut self.trouble
    }

    #[inline]
    pub(crate) fn class(&mut self, class: Class) {
        match class {
            Class::New => self.new += 1,
            Class::First if self.first < u16::MAX => self.first += 1,
            Class::Unsequenced if self.unsequenced < u32::MAX => self.unsequenced += 1,
            _ => self.rare_class(class),
        }
    }

    /// Counts the bytes of a capture duplicate.
    #[cold]
    pub(crate) fn copied(&mut self, l1_bytes: u32, payload: u32) {
        let [on_wire, in_payload] = &mut self.trouble_mut().copied;
        *on_wire += u64::from(l1_bytes);
        *in_payload += u64::from(payload);
    }

    /// A packet with a flaw that looks like this one, and was recorded a moment ago. Those of other PSNs are not alike: full packets of one message have
    /// one fingerprint.
    #[cold]
    pub(crate) fn had_flaw(&mut self, facts: &Facts) -> Option<Flawed> {
        let (psn, time, vantage) = (facts.psn(), facts.time(), facts.vantage());
        let new = Flawed { fingerprint: facts.fingerprint(), psn, time, vantage };
        let flaws = &mut self.trouble_mut().flaws;
        let is_it = |before: &&Flawed| {
            let is_soon = time.saturating_sub(before.time).saturating_abs() < MIRROR_NS;
            is_soon && (before.fingerprint, before.psn) == (new.fingerprint, psn)
        };
        let before = flaws.iter().find(is_it).copied();
        if before.is_none() {
            flaws.rotate_right(1);
            flaws[0] = new;
        }
        before
    }

    /// Counts a packet, and the evidence for its class.
    #[inline]
    pub(crate) fn decided(&mut self, class: Class, evidence: Evidence) {
        self.class(class);
        if evidence != Evidence::Unknown {
            self.because(class, evidence);
        }
    }

    #[cold]
    fn because(&mut self, class: Class, evidence: Evidence) {
        if let Some(at) = DECIDED.iter().position(|&decided| decided == class) {
            let count = &mut self.trouble_mut().evidence[at][evidence as usize];
            *count = count.saturating_add(1);
        }
    }

    /// Packets by class and evidence.
    pub(crate) fn evidence(&self) -> impl Iterator<Item = (Class, Evidence, u64)> + '_ {
        let found = self.trouble.get().into_iter().flat_map(|trouble| DECIDED.iter().zip(&trouble.evidence));
        found
            .flat_map(|(&class, by)| {
                Evidence::ALL.into_iter().zip(by).map(move |(why, &n)| (class, why, n.into()))
            })
            .filter(|&(_, _, n)| n > 0)
    }

    /// Counts packets with the expected PSN.
    pub(crate) fn are_new(&mut self, packets: u64) {
        self.new += packets;
    }

    #[cold]
    fn rare_class(&mut self, class: Class) {
        self.trouble_mut().classes[class as usize] += 1;
    }

    pub(crate) fn of(&self, class: Class) -> u64 {
        self.trouble().classes[class as usize]
            + match class {
                Class::New => self.new,
                Class::First => self.first as u64,
                Class::Unsequenced => self.unsequenced as u64,
                _ => 0,
            }
    }

    /// Whether packets were overtaken, damaged or recorded twice: others see another order than the tap.
    pub(crate) fn are_untidy(&self) -> bool {
        const UNTIDY: [Class; 5] =
            [Class::LateOriginal, Class::Ambiguous, Class::Corrupt, Class::Trimmed, Class::CaptureDuplicate];
        self.trouble
            .get()
            .is_some_and(|trouble| UNTIDY.iter().any(|&class| trouble.classes[class as usize] > 0))
    }

    /// Whether no packet was wrong, surely lost, late or retransmitted.
    pub(crate) fn are_quiet(&self) -> bool {
        self.trouble.get().is_none()
    }

    pub(crate) fn lost(&mut self, place: Place, least: u64, most: u64) {
        if least == 0 && most == 0 {
            return;
        }
        self.trouble_mut().losses[place as usize].add(least, most);
    }

    /// A packet was late, or retransmitted: perhaps one was lost, upstream or downstream.
    #[cold]
    pub(crate) fn ambiguous(&mut self) {
        self.lost(Place::Upstream, 0, 1);
        self.lost(Place::Downstream, 0, 1);
    }

    /// At most `most` packets were lost upstream, perhaps none.
    #[inline]
    pub(crate) fn lost_perhaps(&mut self, most: u64) {
        match u16::try_from(most).ok().and_then(|most| self.perhaps.checked_add(most)) {
            Some(sum) => self.perhaps = sum,
            None => self.lost(Place::Upstream, 0, most),
        }
    }

    /// So many packets were lost [perhaps](Self::lost_perhaps).
    pub(crate) fn perhaps(&self) -> u64 {
        self.perhaps.into()
    }

    /// The packets that were lost [perhaps](Self::lost_perhaps), which are to be counted anew.
    pub(crate) fn take_perhaps(&mut self) -> u64 {
        std::mem::take(&mut self.perhaps).into()
    }

    /// Not more of these packets were lost [perhaps](Self::lost_perhaps) than this.
    pub(crate) fn cap_perhaps(&mut self, most: u64) {
        self.perhaps = self.perhaps.min(u16::try_from(most).unwrap_or(u16::MAX));
    }

    /// Packets lost, by [`Place`]: at least one with each proved episode.
    #[inline]
    pub(crate) fn losses(&self) -> [Bounds; Place::ALL.len()] {
        let mut all = [Bounds::default(); Place::ALL.len()];
        if let Some(Trouble { losses, episodes, .. }) = self.trouble.get() {
            for (bounds, (found, shown)) in all.iter_mut().zip(losses.iter().zip(episodes)) {
                *bounds = *found;
                bounds.least = bounds.least.max(shown.certain);
                bounds.most = bounds.most.max(bounds.least);
            }
        }
        all[Place::Upstream as usize].add(0, self.perhaps.into());
        all
    }

    /// Packets lost at this place.
    pub(crate) fn lost_at(&self, place: Place) -> Bounds {
        self.losses()[place as usize]
    }

    /// Up to so many were lost at this place perhaps, whatever was found so far.
    pub(crate) fn widen(&mut self, place: Place, most: u64) {
        if most > 0 {
            self.trouble_mut().losses[place as usize].widen(most);
        }
    }

    /// One more of the packets that were lost perhaps at this place surely was.
    pub(crate) fn prove(&mut self, place: Place) {
        self.trouble_mut().losses[place as usize].prove();
    }

    /// Not more packets were lost at this place than this, or than are proved.
    pub(crate) fn cap(&mut self, place: Place, most: u64) {
        if let Some(trouble) = self.trouble.get_mut() {
            trouble.losses[place as usize].cap(most);
        }
    }

    /// So many losses at this place that counted as proved are not.
    pub(crate) fn doubt(&mut self, place: Place, proved: u64) {
        if let Some(trouble) = self.trouble.get_mut() {
            trouble.losses[place as usize].doubt(proved);
        }
    }

    /// None of the losses at this place that counted as proved is.
    pub(crate) fn doubt_all(&mut self, place: Place) {
        if let Some(trouble) = self.trouble.get_mut() {
            trouble.losses[place as usize].doubt(u64::MAX);
            let Episodes { certain, likely } = &mut trouble.episodes[place as usize];
            *likely = likely.saturating_add(std::mem::take(certain));
        }
    }

    /// Whether packets come late at the tap only, by the NAKs of a receiver that takes them in their order.
    pub(crate) fn is_order_of_tap(&self) -> bool {
        let naks = u64::from(self.trouble().triggers[Trigger::Nak as usize]);
        let refused = u64::from(self.trouble().reordered_then_nak);
        is_order_of_tap(self.of(Class::LateOriginal), naks, refused)
    }

    /// So many of the losses at this place, of which none counts as proved, are.
    pub(crate) fn proved_after_all(&mut self, place: Place, proved: u32) {
        if let Some(trouble) = self.trouble.get_mut() {
            let Episodes { certain, likely } = &mut trouble.episodes[place as usize];
            let proved = proved.min(*likely);
            (*certain, *likely) = (certain.saturating_add(proved), *likely - proved);
        }
    }

    /// A loss shows itself: at this place, and that is proved or not.
    pub(crate) fn episode(&mut self, place: Place, certain: bool) {
        let count = self.trouble_mut().episodes[place as usize].of(certain);
        *count = count.saturating_add(1);
    }

    /// That loss was none, or is no longer counted here.
    pub(crate) fn no_episode(&mut self, place: Place, certain: bool) {
        let count = self.trouble_mut().episodes[place as usize].of(certain);
        *count = count.saturating_sub(1);
    }

    /// The place of so many episodes that counted as proved is not.
    pub(crate) fn not_certain(&mut self, place: Place, episodes: u32) {
        let Episodes { certain, likely } = &mut self.trouble_mut().episodes[place as usize];
        let episodes = episodes.min(*certain);
        *certain -= episodes;
        *likely = likely.saturating_add(episodes);
    }

    /// The losses that the capture shows at this place.
    pub(crate) fn episodes_at(&self, place: Place) -> Episodes {
        self.trouble().episodes[place as usize]
    }

    /// Packets may be lost after the tap, so many of them in the shadow of another one.
    pub(crate) fn lost_in_shadow(&mut self, most: u64, hidden: u64) {
        self.lost(Place::Downstream, 0, most);
        self.trouble_mut().shadow.hide(hidden);
    }

    /// Losses after the tap that may be lost in shadows are as many as may be by those that are known. `most` were found without
    /// regard to what was sent again: `again` at least, and `not_known` at most, of which it does not show whether it had arrived. What the capture missed may have been lost as well, so many packets.
    pub(crate) fn cap_hidden(
        &mut self,
        most: u64,
        (again, not_known): (u64, u64),
        missed: u64,
        answers: Answers,
    ) {
        let of = |place| self.episodes_at(place);
        let shown = [Place::Downstream, Place::Unknown].map(|place| of(place).certain + of(place).likely);
        let [least, _] = self.lost_at(Place::Downstream).get();
        let losses = least.max(shown.iter().map(|&n| u64::from(n)).sum());
        let sent = self.packets.saturating_sub(self.of(Class::CaptureDuplicate));
        if let Some(most) = self.trouble().shadow.most(most, losses, (sent, again, not_known), answers) {
            self.cap(Place::Downstream, most.saturating_add(missed));
        }
    }

    /// Nothing is proved: each of these PSNs may have been lost, at any place.
    pub(crate) fn nothing_sure(&mut self, psns: u64) {
        for place in [Place::Upstream, Place::Downstream, Place::AckPath] {
            self.doubt_all(place);
            self.trouble_mut().losses[place as usize] = Bounds::default();
            self.lost(place, 0, psns);
        }
    }

    /// A packet that was only late made the receiver send a NAK.
    pub(crate) fn reordered_then_nak(&mut self, is_so: bool) {
        if is_so {
            self.trouble_mut().reordered_then_nak += 1;
        }
    }

    pub(crate) fn triggered(&mut self, trigger: Trigger) {
        self.trouble_mut().triggers[trigger as usize] += 1;
    }
}

/// Whether a receiver that takes packets in their order saw another order than the tap: it asked so often, each time that a packet came early, and
/// so many of the late packets seem to be asked for.
pub(crate) fn is_order_of_tap(late: u64, asked: u64, refused: u64) -> bool {
    const MANY: u64 = 8;
    /// Of so many late packets one may seem to be asked for, and was retransmitted.
    const FEW: u64 = 64;
    asked > 0 && late > asked.saturating_mul(MANY) && late > refused.saturating_mul(FEW)
}
