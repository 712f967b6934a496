//! Packets that switches cut to their headers instead of dropping them.

use super::{
    TrimLengths,
    units::{count, several},
};

records! {
    /// Packets to one receiver that switches trimmed in one way.
    #[derive(Eq)]
    pub struct TrimmedTo {
        /// The receiver.
        pub dst: String,
        /// Bytes that are left of the frame, without frame check sequence.
        pub frame_bytes: u64,
        /// The DSCP that they came with.
        pub dscp: u8,
        /// The lengths that the switch wrote anew.
        pub lengths: TrimLengths,
        /// How many.
        pub packets: u64,
        /// From so many senders, of which 256 are counted at most.
        pub senders: u64,
        /// Whether the DSCP is that of the last switch before the receiver; `None` where the user does not say which that is.
        pub is_last_hop: Option<bool>,
    }
}

impl TrimmedTo {
    /// All of them, in a sentence.
    pub fn sentence_of(all: &[TrimmedTo]) -> Option<String> {
        let first = all.first()?;
        let packets: u64 = all.iter().map(|row| row.packets).sum();
        let mut text = format!(
            "{} trimmed; most to {}: {} from {}, cut to {} bytes, with DSCP {}",
            several(packets, "packet"),
            first.dst,
            count(first.packets),
            several(first.senders, "sender"),
            first.frame_bytes,
            first.dscp,
        );
        if first.is_last_hop == Some(true) {
            text += ", by the last switch";
        }
        Some(text)
    }
}
