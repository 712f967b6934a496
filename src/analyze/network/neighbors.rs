//! What LLDP in the capture says of who is at the ends of a link.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::lldp::Heard;
use crate::wire::{Header, Kind, Lldp, LldpChassis, LldpPort, Mac};

/// Senders of LLDP that are told apart.
const MAX_NEIGHBORS: usize = 1024;
/// The longest name that is kept, in bytes.
const MAX_NAME: usize = 255;
/// Subtypes of names that are Ethernet addresses: of a chassis, and of a port.
const CHASSIS_MAC: u8 = 4;
const PORT_MAC: u8 = 3;
/// Capabilities of a system (IEEE 802.1AB, 8.5.8.1).
const BRIDGE: u16 = 1 << 2;
const ROUTER: u16 = 1 << 4;
const STATION_ONLY: u16 = 1 << 7;

/// The senders of LLDP, each with the last that it said.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Neighbors {
    all: Vec<Neighbor>,
    /// The place of each, by its interface and its address.
    places: HashMap<(u16, Mac), u16, RandomState>,
}

/// One sender.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(in crate::analyze::network) struct Neighbor {
    pub(in crate::analyze::network) interface: u16,
    pub(in crate::analyze::network) sender: Mac,
    pub(in crate::analyze::network) said: Said,
}

/// What it said.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(in crate::analyze::network) struct Said {
    pub(in crate::analyze::network) chassis: Option<String>,
    pub(in crate::analyze::network) port: Option<String>,
    pub(in crate::analyze::network) system: Option<String>,
    /// Whether it is a host; `None` if it does not say.
    pub(in crate::analyze::network) is_host: Option<bool>,
    /// Ethernet addresses that name its chassis and its port.
    pub(in crate::analyze::network) macs: Vec<Mac>,
}

impl Neighbors {
    /// Takes what a frame of LLDP says: the last one holds.
    pub(in crate::analyze::network) fn take(&mut self, heard: &Heard<'_>) {
        let &Heard { interface, sender, .. } = heard;
        let place = self.places.get(&(interface, sender)).copied();
        if place.is_none() && self.all.len() >= MAX_NEIGHBORS {
            return;
        }
        let (mut said, mut before) = (Said::default(), (0, None));
        heard.parts().for_each(|(kind, bytes)| said.read(kind, bytes, &mut before));
        match place.and_then(|place| self.all.get_mut(place as usize)) {
            Some(known) => known.said = said,
            None => {
                self.places.insert((interface, sender), self.all.len() as u16);
                self.all.push(Neighbor { interface, sender, said });
            }
        }
    }

    pub(in crate::analyze::network) fn all(&self) -> &[Neighbor] {
        &self.all
    }
}

impl Said {
    /// Takes a part of a frame. `before`: the type of the TLV that it is in, and the subtype of its name.
    fn read(&mut self, kind: Kind, bytes: &[u8], before: &mut (u8, Option<u8>)) {
        match kind {
            Kind::Lldp => {
                let tlv_type = Lldp::view(bytes).map_or(0, |(tlv, _)| tlv.tlv_type().0);
                *before = (tlv_type, None);
            }
            Kind::LldpChassis => before.1 = LldpChassis::view(bytes).map(|(id, _)| id.chassis_id_subtype().0),
            Kind::LldpPort => before.1 = LldpPort::view(bytes).map(|(id, _)| id.port_id_subtype().0),
            Kind::LldpValue => match *before {
                (1, Some(subtype)) => self.chassis = self.name(bytes, subtype == CHASSIS_MAC),
                (2, Some(subtype)) => self.port = self.name(bytes, subtype == PORT_MAC),
                (5, _) => self.system = self.name(bytes, false),
                (7, _) => {
                    if let [_, _, high, low] = *bytes {
                        let enabled = u16::from_be_bytes([high, low]);
                        let passes_on = enabled & (BRIDGE | ROUTER) != 0;
                        self.is_host = (passes_on || enabled & STATION_ONLY != 0).then_some(!passes_on);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn name(&mut self, bytes: &[u8], is_mac: bool) -> Option<String> {
        if let Ok(mac) = <[u8; 6]>::try_from(bytes)
            && is_mac
        {
            self.macs.push(Mac(mac));
            return Some(Mac(mac).to_string());
        }
        let text = str::from_utf8(bytes.get(..bytes.len().min(MAX_NAME))?).ok()?;
        (!text.is_empty() && text.chars().all(|c| !c.is_control())).then(|| text.to_owned())
    }
}
