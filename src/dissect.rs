//! Frame -> which headers, where, what is wrong.

/// Link type: what the first byte of a frame belongs to. The numbers are the pcap file format's LINKTYPE values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link(pub u16);
