//! What the ports of links say of their priorities: DCBX, in LLDP.
//!
//! Both ends of a link send what they have, and whether they take the other's instead ("willing"). So the end that is not willing,
//! commonly the switch, says what holds. Its PFC, and its priorities of DSCPs, are the map of priorities where the user gives none.

use super::lldp::Heard;
use crate::{
    analyze::model::QosMap,
    report::{DcbxApplication, DcbxPort},
    wire::*,
};

/// Ports that are told apart.
const MAX_PORTS: usize = 64;
/// Applications that are kept of each.
const MAX_APPLICATIONS: usize = 128;

/// What was heard of DCBX.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Dcbx {
    ports: Vec<Port>,
}

#[derive(Clone, Debug, crate::stored::Stored)]
struct Port {
    interface: u16,
    sender: Mac,
    row: DcbxPort,
}

impl Dcbx {
    /// Takes what a frame of LLDP says. Returns whether it is of a port that is kept.
    pub(super) fn take(&mut self, heard: &Heard<'_>) -> bool {
        let &Heard { interface, sender, frame, .. } = heard;
        let is_known = |port: &Port| port.interface == interface && port.sender == sender;
        let known = self.ports.iter().position(is_known);
        if known.is_none() && self.ports.len() >= MAX_PORTS {
            return false;
        }
        let (mut said, mut before) = (DcbxPort::default(), Before::default());
        let parts = heard.parts().map(|(kind, bytes)| read(kind, bytes, &mut said, &mut before));
        if !parts.fold(false, |is_dcbx, is_of_it| is_dcbx | is_of_it) {
            return false;
        }
        match known.and_then(|at| self.ports.get_mut(at)) {
            // Settings change: the last ones hold.
            Some(Port { row, .. }) => {
                *row = DcbxPort { first_frame: row.first_frame, frames: row.frames + 1, ..said };
            }
            None => {
                let row = DcbxPort { first_frame: frame, frames: 1, ..said };
                self.ports.push(Port { interface, sender, row });
            }
        }
        true
    }

    /// The ports, in the order in which they came. `link` names an interface.
    pub(super) fn rows(&self, link: impl Fn(u16) -> String) -> Vec<DcbxPort> {
        let row = |port: &Port| DcbxPort {
            link: link(port.interface),
            sender: port.sender.to_string(),
            ..port.row.clone()
        };
        self.ports.iter().map(row).collect()
    }

    /// The map of priorities that holds; `None` if no port says which priorities have PFC.
    pub(super) fn map(&self) -> Option<QosMap> {
        let with_pfc = || self.ports.iter().map(|port| &port.row).filter(|row| row.pfc.is_some());
        let row = with_pfc().find(|row| row.pfc_willing == Some(false)).or_else(|| with_pfc().next())?;
        let of_dscps =
            row.applications.iter().filter(|application| application.selector == AppSelector::DSCP.0);
        let one = |application: &DcbxApplication| {
            let priority = *application.priorities.first()?;
            (application.protocol < 64).then(|| (application.protocol.to_string(), priority))
        };
        let dscp = of_dscps.filter_map(one).collect();
        Some(QosMap { pfc: row.pfc.clone()?, dscp, ..QosMap::default() })
    }
}

/// What a part before says of the next one.
#[derive(Default)]
struct Before {
    names_port: bool,
    is_willing: Option<bool>,
}

/// The numbers of the bits that are set.
fn bits(map: u8) -> Vec<u8> {
    (0..8).filter(|n| map >> n & 1 == 1).collect()
}

/// Takes what one part of a frame says. Returns whether it is of DCBX.
fn read(kind: Kind, bytes: &[u8], port: &mut DcbxPort, before: &mut Before) -> bool {
    fn of<H: Header>(bytes: &[u8]) -> Option<&H> {
        H::view(bytes).map(|(header, _)| header)
    }
    let is_value_of_port = std::mem::replace(&mut before.names_port, kind == Kind::LldpPort);
    match kind {
        Kind::LldpValue if is_value_of_port => {
            port.port = str::from_utf8(bytes)
                .ok()
                .filter(|name| name.chars().all(|c| !c.is_control()))
                .map(str::to_owned);
        }
        Kind::EtsConfiguration => {
            if let Some(ets) = of::<EtsConfiguration>(bytes) {
                port.traffic_classes = Some(ets.traffic_classes().to_vec());
                port.bandwidth_percent = Some(ets.bandwidths().to_vec());
                port.ets_willing = Some(ets.willing());
                return true;
            }
        }
        Kind::PfcConfiguration => {
            if let Some(pfc) = of::<PfcConfiguration>(bytes) {
                (port.pfc, port.pfc_willing) = (Some(bits(pfc.enabled())), Some(pfc.willing()));
                return true;
            }
        }
        Kind::ApplicationPriority => {
            if let Some(app) = of::<ApplicationPriority>(bytes) {
                add(port, app.selector().0, app.protocol().0, vec![app.priority()]);
                return true;
            }
        }
        Kind::CongestionNotification => {
            if let [cnpv, _] = *bytes {
                port.congestion_notification = bits(cnpv);
                return true;
            }
        }
        Kind::CeeFeature => {
            if let Some(feature) = of::<CeeFeature>(bytes) {
                port.is_cee = true;
                before.is_willing = Some(feature.willing());
                return true;
            }
        }
        Kind::CeePriorityGroups => {
            if let Some(groups) = of::<CeePriorityGroups>(bytes) {
                port.traffic_classes = Some(groups.groups().to_vec());
                port.bandwidth_percent = Some(groups.bandwidths().to_vec());
                port.ets_willing = before.is_willing;
                return true;
            }
        }
        Kind::CeePfc => {
            if let Some(pfc) = of::<CeePfc>(bytes) {
                (port.pfc, port.pfc_willing) = (Some(bits(pfc.enabled())), before.is_willing);
                return true;
            }
        }
        Kind::CeeApplication => {
            if let Some(app) = of::<CeeApplication>(bytes) {
                // An EtherType, or a port of any protocol, in the numbers of IEEE.
                let selector =
                    if app.selector().0 == 0 { AppSelector::ETHER_TYPE } else { AppSelector::ANY_PORT };
                add(port, selector.0, app.protocol().0, bits(app.priority_map().0));
                return true;
            }
        }
        _ => {}
    }
    false
}

fn add(port: &mut DcbxPort, selector: u8, protocol: u16, priorities: Vec<u8>) {
    if port.applications.len() < MAX_APPLICATIONS {
        port.applications.push(DcbxApplication { selector, protocol, priorities });
    }
}
