//! How fast links are.

/// The speeds of links in bit/s: the one that the user gives for all of them, or those of the capture's interfaces. 0 is not known.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Speeds {
    given: Option<u64>,
    interfaces: Vec<Option<u64>>,
}

impl Speeds {
    /// With the speed of all links, where the user gives it.
    pub(super) fn new(given: Option<u64>) -> Speeds {
        Speeds { given: given.filter(|&bps| bps > 0), interfaces: Vec::new() }
    }

    /// The capture tells of an interface.
    pub(super) fn set(&mut self, interface: u16, speed: Option<u64>) {
        let at = interface as usize;
        if self.interfaces.len() <= at {
            self.interfaces.resize(at + 1, None);
        }
        self.interfaces[at] = speed.filter(|&bps| bps > 0);
    }

    /// The speed of an interface's link.
    pub(super) fn of(&self, interface: u16) -> Option<u64> {
        self.given.or_else(|| *self.interfaces.get(interface as usize)?)
    }

    /// The speed of all links, where they have one and the same.
    pub(super) fn common(&self) -> Option<u64> {
        let (&first, others) = self.interfaces.split_first().unwrap_or((&None, &[]));
        self.given.or(first.filter(|_| others.iter().all(|&other| other == first)))
    }
}
