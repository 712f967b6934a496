//! The last transmissions of a flow, by PSN.

/// One transmission.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    /// Nanoseconds.
    pub(crate) time: i64,
    /// The frame's number; the low bits.
    pub(crate) frame: u32,
    /// What tells one transmission of a PSN from another.
    pub(crate) fingerprint: u32,
    /// The PSN, unwrapped; the low bits. All ones: none.
    pub(super) x: u32,
    /// Where it was seen: capture interface and TTL.
    pub(crate) vantage: u16,
    /// How often the PSN was sent.
    pub(crate) count: u8,
    pub(crate) flags: u8,
}

/// The packet asks for an acknowledgement, or ends a message: one may be timed by it.
pub(crate) const ACK_EXPECTED: u8 = 1;
/// The transmission was seen at a second place already.
pub(crate) const SEEN_TWICE: u8 = 2;

/// A ring indexed by the PSN's low bits. It grows with the flow's outstanding packets, up to a bound.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    slots: Box<[Sent]>,
}

const SMALLEST: usize = 4;
const LARGEST: usize = 8192;

impl Ring {
    #[inline]
    pub(crate) fn get(&self, x: u64) -> Option<&Sent> {
        let slot = self.slots.get(x as usize & self.slots.len().wrapping_sub(1))?;
        (slot.x == x as u32 && slot.count > 0).then_some(slot)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, x: u64) -> Option<&mut Sent> {
        let at = x as usize & self.slots.len().wrapping_sub(1);
        self.slots.get_mut(at).filter(|slot| slot.x == x as u32 && slot.count > 0)
    }

    /// A transmission. `outstanding`: PSNs between the oldest that matters and this one.
    #[inline]
    pub(crate) fn put(&mut self, x: u64, outstanding: u64, mut sent: Sent) {
        if outstanding >= self.slots.len() as u64 && self.slots.len() < LARGEST {
            self.grow(outstanding);
        }
        sent.x = x as u32;
        let at = x as usize & (self.slots.len() - 1);
        self.slots[at] = sent;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, outstanding: u64) {
        let len =
            (outstanding.min(LARGEST as u64 - 1) as usize + 1).next_power_of_two().clamp(SMALLEST, LARGEST);
        let old = std::mem::replace(&mut self.slots, vec![Sent::default(); len].into_boxed_slice());
        for sent in old.iter().filter(|sent| sent.count > 0) {
            self.slots[sent.x as usize & (len - 1)] = *sent;
        }
    }

    /// Bytes on the heap.
    pub(crate) fn heap(&self) -> usize {
        size_of_val(&*self.slots)
    }
}
