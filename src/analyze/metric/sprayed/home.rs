//! Of several taps that record the same packets, the one that is counted.

/// The tap that is next to the sender: it recorded the first packet.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(super) struct Home {
    interface: Option<u16>,
    /// Whether answers come there, too, and how many came elsewhere before.
    is_answered: bool,
    elsewhere: u32,
}

impl Home {
    /// This interface records a packet of the sender, which no other one had.
    pub(super) fn begins(&mut self, interface: u16) {
        self.interface.get_or_insert(interface);
    }

    /// Whether answers that this interface recorded are counted.
    pub(super) fn takes_answers(&mut self, interface: u16) -> bool {
        /// So many of another tap show that the first one records no answers.
        const MANY: u32 = 256;
        let is_home = self.interface == Some(interface);
        self.is_answered |= is_home;
        self.elsewhere = self.elsewhere.saturating_add(u32::from(!is_home));
        is_home || !self.is_answered && self.elsewhere > MANY
    }
}
