//! Packet trimming: what a switch leaves of a packet instead of dropping it.

use crate::{
    checksum,
    dissect::{Link, dissect},
    named,
    wire::*,
};

named! {
    /// The lengths that a switch writes anew when it trims a packet.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Lengths {
        /// IP's only.
        #[default]
        Ip "ip",
        /// None: all say how long the packet was.
        None "none",
        /// IP's and UDP's.
        All "all",
    }
}

/// How a switch trims packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    /// Bytes that it leaves of a frame, without frame check sequence.
    pub bytes: u32,
    /// The DSCP that it sets; `None`: it leaves the sender's.
    pub dscp: Option<u8>,
    /// The lengths that it writes anew.
    pub lengths: Lengths,
}

impl Trim {
    /// Trims a frame. False if there is nothing to trim: it is no longer, or no RoCEv2 packet, or in a tunnel, or its BTH would be cut.
    pub fn apply(&self, link: Link, frame: &mut Vec<u8>) -> bool {
        let d = dissect(link, frame, frame.len() as u32);
        let bytes = self.bytes as usize;
        let network = if d.has(Kind::Ipv4) { Kind::Ipv4 } else { Kind::Ipv6 };
        let places = (d.offset(network), d.offset(Kind::Udp), d.offset(Kind::Bth));
        let (Some(ip), Some(udp_at), Some(bth)) = places else { return false };
        if d.tunnel_depth() > 0 || frame.len() <= bytes || bytes < bth + Bth::LEN {
            return false;
        }
        frame.truncate(bytes);
        let (around, rest) = frame.split_at_mut(udp_at);
        let ip_len = (bytes - ip) as u16;
        if self.lengths == Lengths::All {
            edit(rest, |udp: Udp| udp.with_length((bytes - udp_at) as u16));
        }
        let header = around.get_mut(ip..).unwrap_or_default();
        let is_new = self.lengths != Lengths::None;
        if network == Kind::Ipv6 {
            edit(header, |ip: Ipv6| {
                let len = if is_new { ip_len - Ipv6::LEN as u16 } else { ip.payload_len() };
                ip.with_dscp(self.dscp.unwrap_or(ip.dscp())).with_payload_len(len)
            });
            return true;
        }
        edit(header, |ip: Ipv4| {
            ip.with_dscp(self.dscp.unwrap_or(ip.dscp()))
                .with_total_len(if is_new { ip_len } else { ip.total_len() })
                .with_checksum(Hex16(0))
        });
        let sum = Hex16(checksum::internet(header));
        edit(header, |ip: Ipv4| ip.with_checksum(sum));
        true
    }
}

/// Changes the header at the start of `bytes`.
fn edit<H: Header>(bytes: &mut [u8], change: impl FnOnce(H) -> H) {
    if let Some((header, _)) = H::view_mut(bytes) {
        *header = change(*header);
    }
}
