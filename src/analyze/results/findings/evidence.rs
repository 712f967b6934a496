//! What rules about the whole capture look at, and what they say.

use std::borrow::Cow;

use super::{
    kin::{Kin, Thing},
    sums::Sums,
};
use crate::report::{Affected, Head};

/// The input of these rules.
pub(super) struct Evidence<'a> {
    pub(super) head: &'a Head,
    pub(super) sums: &'a Sums,
}

/// One result of a rule.
pub(super) struct Seen {
    /// How long it lasted, in nanoseconds; 0 if that is not known.
    pub(super) time: u64,
    /// How often.
    pub(super) count: u64,
    pub(super) text: String,
    /// Frames that show it.
    pub(super) frames: Vec<u64>,
    /// Flows that show it, and how many they are.
    pub(super) flows: (Vec<Affected>, u64),
    pub(super) kin: Kin,
    /// What to do, before what its kind says.
    pub(super) advice: Option<Cow<'static, str>>,
    /// What to do instead of what its kind says.
    pub(super) next: Option<Cow<'static, str>>,
}

impl Seen {
    /// Without a time.
    pub(super) fn new(count: u64, text: String) -> Seen {
        Seen {
            time: 0,
            count,
            text,
            frames: Vec::new(),
            flows: Default::default(),
            kin: Kin::default(),
            advice: None,
            next: None,
        }
    }

    /// Among other findings.
    pub(super) fn kin(
        self,
        is: impl IntoIterator<Item = Thing>,
        of: impl IntoIterator<Item = Thing>,
    ) -> Seen {
        Seen { kin: Kin { is: is.into_iter().collect(), of: of.into_iter().collect() }, ..self }
    }

    /// Of pauses that lasted so long; 0: no frame shows it.
    pub(super) fn of_pauses(time: u64, count: u64, text: String, frame: u64) -> Seen {
        Seen {
            time,
            frames: Some(frame).filter(|&frame| frame > 0).into_iter().collect(),
            ..Seen::new(count, text)
        }
    }
}

/// Flows that a finding of this kind lists.
pub(super) const MAX_SLOW: usize = 256;
