//! Which other commands follow what the packets of a capture carry.

use std::borrow::Cow;

use super::clean;

records! {
    /// A command of rdmawire that follows what this report does not: commands of storage and files, management of a subnet.
    #[derive(Eq)]
    pub struct SeeAlso {
        /// The command: `nvme`, `commands` or `fabric`.
        pub command: Cow<'static, str>,
        /// What it follows here.
        pub of: String,
    }
}

impl SeeAlso {
    /// What it follows.
    pub fn sentence(&self) -> String {
        format!("{}: rdmawire {} follows it; this report is of packets alone", clean(&self.of), self.command)
    }
}
