//! Where a packet comes from and where it goes, for tables that are looked into seldom.

use crate::{
    analyze::{Address, flow::Key},
    dissect::Dissection,
    wire::Bth,
};

/// Who sends, who receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ends {
    /// Who sends.
    pub src: Address,
    /// Who receives.
    pub dst: Address,
}

impl Ends {
    /// Of the innermost packet; `None` where it has no address that this toolkit reads.
    pub fn of(d: &Dissection<'_>, bth: &Bth) -> Option<Ends> {
        let key = Key::of(d, bth)?;
        Some(Ends { src: key.source(), dst: key.destination() })
    }
}
