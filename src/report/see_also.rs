//! What other commands say of a capture that the analysis of packets does not.

use std::borrow::Cow;

use super::{clean, units::several};

records! {
    /// A command of rdmawire that follows what this report does not: commands of storage and files, management of a subnet.
    #[derive(Eq)]
    pub struct SeeAlso {
        /// The command: `nvme`, `commands` or `fabric`.
        pub command: Cow<'static, str>,
        /// What it follows here.
        pub of: String,
        /// How many things stand out there; `None` where it was not asked: of this report alone, or of what can be read only once.
        pub findings: Option<u64>,
        /// The first of them.
        pub first: Option<String>,
    }
}

impl SeeAlso {
    /// What it follows, and what stands out there.
    pub fn sentence(&self) -> String {
        let (of, command) = (clean(&self.of), &self.command);
        match (self.findings, &self.first) {
            (None, _) => format!("{of}: rdmawire {command} follows it; this report is of packets alone"),
            (Some(n), Some(first)) if n > 0 => {
                format!("{of}: {} of rdmawire {command}, first: {}", several(n, "finding"), clean(first))
            }
            _ => format!("{of}: nothing stands out in rdmawire {command}"),
        }
    }
}
