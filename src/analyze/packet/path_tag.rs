//! VLAN, DSCP, TTL, source port and priorities as one number, which is never 0. Most fields are at their positions in words of the
//! header, so that they need not be shifted. One bit for each says whether it is present. PCP: of the VLAN tag; SL, VL: of the LRH.
//!
//! ```text
//! 63   56 55  50  49  48 43..40 39..36  34..32 31         16 15  14      13       12    11    0
//! |  TTL | DSCP |   |LRH?|  VL  |  SL  |  PCP | source port | 1 |port?|network?|VLAN?|   VID   |
//! ```

pub(crate) const TTL: u64 = 0xff << 56;
pub(crate) const DSCP: u64 = 0x3f << 50;
pub(crate) const PORT: u64 = 0xffff << 16;
pub(crate) const PCP: u64 = 7 << 32;
const HAS_LRH: u64 = 1 << 48;
const VID: u64 = 0xfff;
pub(crate) const HAS_VLAN: u64 = 1 << 12;
pub(crate) const VLAN: u64 = HAS_VLAN | VID;
const HAS_NETWORK: u64 = 1 << 13;
const HAS_PORT: u64 = 1 << 14;
const SOME: u64 = 1 << 15;
/// All fields are present, except a VLAN.
pub(crate) const PLAIN: u64 = HAS_NETWORK | HAS_PORT | SOME;

/// `vlan`: its identifier and its priority.
pub(crate) fn of(vlan: Option<(u16, u8)>, ttl: Option<u8>, tos: u8, port: Option<u16>) -> u64 {
    let vlan = vlan.map_or(0, |(vlan, pcp)| HAS_VLAN | vlan as u64 & VID | (pcp as u64) << 32 & PCP);
    let network = ttl.map_or(0, |ttl| HAS_NETWORK | (ttl as u64) << 56 | (tos as u64) << 48 & DSCP);
    let port = port.map_or(0, |port| HAS_PORT | (port as u64) << 16);
    SOME | vlan | network | port
}

/// Service level and virtual lane.
pub(crate) fn of_lrh(sl: u8, vl: u8) -> u64 {
    HAS_LRH | (sl as u64 & 0xf) << 36 | (vl as u64 & 0xf) << 40
}

/// The priority of the VLAN tag.
pub(crate) fn pcp(path_tag: u64) -> Option<u8> {
    (path_tag & HAS_VLAN != 0).then_some((path_tag >> 32 & 7) as u8)
}

/// Service level and virtual lane of native InfiniBand.
pub(crate) fn lanes(path_tag: u64) -> Option<(u8, u8)> {
    (path_tag & HAS_LRH != 0).then_some(((path_tag >> 36 & 0xf) as u8, (path_tag >> 40 & 0xf) as u8))
}

/// The bits that say which class of traffic a packet is in.
pub(crate) const CLASS: u64 = DSCP | PCP | 0xff << 36 | HAS_LRH | HAS_VLAN | HAS_NETWORK;

pub(crate) fn vlan(path_tag: u64) -> Option<u16> {
    (path_tag & HAS_VLAN != 0).then_some((path_tag & VID) as u16)
}

pub(crate) fn ttl(path_tag: u64) -> Option<u8> {
    (path_tag & HAS_NETWORK != 0).then_some((path_tag >> 56) as u8)
}

pub(crate) fn dscp(path_tag: u64) -> Option<u8> {
    (path_tag & HAS_NETWORK != 0).then_some((path_tag >> 50 & 0x3f) as u8)
}

#[inline(always)]
pub(crate) fn port(path_tag: u64) -> Option<u16> {
    (path_tag & HAS_PORT != 0).then_some((path_tag >> 16) as u16)
}
