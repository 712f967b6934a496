//! What the captured links join: as the user says, or as LLDP does. What the user says goes before it.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{
    analyze::{
        model::{Address, KnownLink, Links, beside, end_of},
        network::neighbors::{Neighbor, Neighbors},
    },
    report::KnownBy,
    wire::Mac,
};

/// Links and devices.
#[derive(Debug, Default)]
pub(super) struct Topology {
    pub(super) devices: Vec<Device>,
    pub(super) links: Vec<Link>,
    /// The link of each interface.
    of_interface: BTreeMap<u16, usize>,
}

#[derive(Debug)]
pub(super) struct Device {
    pub(super) name: String,
    /// `None` where nothing says so.
    pub(super) is_host: Option<bool>,
    pub(super) addresses: Vec<Address>,
    /// What LLDP names its chassis by.
    chassis: Option<String>,
    macs: Vec<Mac>,
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) interfaces: Vec<u16>,
    pub(super) ends: [End; 2],
    pub(super) by: KnownBy,
}

#[derive(Debug)]
pub(super) struct End {
    pub(super) device: usize,
    pub(super) port: Option<String>,
    macs: Vec<Mac>,
}

/// Where a sender of pauses is: it stops the device at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) link: usize,
    pub(super) by: usize,
    pub(super) of: usize,
}

/// An interface of the capture.
pub(super) struct Tapped<'a> {
    pub(super) number: u16,
    pub(super) name: String,
    pub(super) file: Option<&'a str>,
}

impl Topology {
    pub(super) fn new(links: Option<&Links>, heard: &Neighbors, interfaces: &[Tapped<'_>]) -> Topology {
        let mut all = Topology::default();
        if let Some(known) = links {
            let taps = known.taps();
            let mut tapped_by: Vec<Vec<u16>> = vec![Vec::new(); known.links.len()];
            for Tapped { number, name, file } in interfaces {
                let mut links: Vec<usize> =
                    taps.of(name, *number, *file).into_iter().map(|tap| tap.link).collect();
                links.dedup();
                links.into_iter().for_each(|link| tapped_by[link].push(*number));
            }
            let mut named = HashMap::new();
            for (link, interfaces) in known.links.iter().zip(tapped_by) {
                all.add_known(known, link, interfaces, &mut named);
            }
        }
        let mut on: HashMap<u16, Vec<&Neighbor>> = HashMap::new();
        heard.all().iter().for_each(|one| on.entry(one.interface).or_default().push(one));
        for &Tapped { number, .. } in interfaces {
            let here = on.get(&number).map_or(&[][..], Vec::as_slice);
            match (all.of_interface.get(&number).copied(), here) {
                (Some(link), here) => all.complete(link, here),
                (None, [a, b]) => all.add_heard(number, [a, b]),
                _ => {}
            }
        }
        all
    }

    /// The user's taps that no interface of the capture is.
    pub(super) fn not_seen(links: Option<&Links>, interfaces: &[Tapped<'_>]) -> Vec<String> {
        let Some(links) = links else { return Vec::new() };
        let taps = links.taps();
        let seen: HashSet<&str> = interfaces
            .iter()
            .flat_map(|tapped| taps.of(&tapped.name, tapped.number, tapped.file))
            .map(|tap| tap.named)
            .collect();
        let all = links.links.iter().flat_map(|link| &link.taps);
        all.filter(|tap| !seen.contains(tap.as_str())).cloned().collect()
    }

    /// `named`: where the devices are, by the names that the user gave.
    fn add_known<'a>(
        &mut self,
        known: &Links,
        link: &'a KnownLink,
        interfaces: Vec<u16>,
        named: &mut HashMap<&'a str, usize>,
    ) {
        let ends = link.ends.each_ref().map(|end| {
            let device = *named.entry(&end.device).or_insert_with(|| {
                let more = known.devices.get(&end.device);
                self.devices.push(Device {
                    name: end.device.clone(),
                    is_host: Some(more.is_some_and(|device| device.is_host)),
                    addresses: more.map_or_else(Vec::new, |device| device.addresses.clone()),
                    chassis: None,
                    macs: Vec::new(),
                });
                self.devices.len() - 1
            });
            self.devices[device].macs.extend(&end.macs);
            End { device, port: end.port.clone(), macs: end.macs.clone() }
        });
        for &interface in &interfaces {
            self.of_interface.entry(interface).or_insert(self.links.len());
        }
        self.links.push(Link { interfaces, ends, by: KnownBy::File });
    }

    /// Adds what LLDP says of the ends of a link that the user named.
    fn complete(&mut self, link: usize, here: &[&Neighbor]) {
        let Topology { devices, links, .. } = self;
        let Some(link) = links.get_mut(link) else { return };
        for Neighbor { sender, said, .. } in here {
            let is_it = |end: &&mut End| {
                let device = devices.get(end.device);
                end.macs.contains(sender) || device.map(|device| &device.name) == said.system.as_ref()
            };
            if let Some(end) = link.ends.iter_mut().find(is_it) {
                end.macs.push(*sender);
                end.macs.extend(&said.macs);
                end.port = end.port.take().or_else(|| said.port.clone());
                if let Some(device) = devices.get_mut(end.device) {
                    device.macs.push(*sender);
                    device.chassis = device.chassis.take().or_else(|| said.chassis.clone());
                }
            }
        }
    }

    fn add_heard(&mut self, interface: u16, here: [&Neighbor; 2]) {
        let ends = here.map(|neighbor| {
            let said = &neighbor.said;
            let device = self.heard_device(neighbor);
            let macs = std::iter::once(neighbor.sender).chain(said.macs.iter().copied()).collect();
            End { device, port: said.port.clone(), macs }
        });
        if ends[0].device != ends[1].device {
            self.of_interface.insert(interface, self.links.len());
            self.links.push(Link { interfaces: vec![interface], ends, by: KnownBy::Lldp });
        }
    }

    /// The device that a sender is.
    fn heard_device(&mut self, Neighbor { sender, said, .. }: &Neighbor) -> usize {
        let same = |device: &Device| match (&device.chassis, &said.chassis) {
            (Some(known), Some(said)) => known == said,
            _ => device.macs.contains(sender) || said.system.as_ref() == Some(&device.name),
        };
        if let Some(at) = self.devices.iter().position(same) {
            self.devices[at].macs.push(*sender);
            return at;
        }
        let mut name =
            said.system.clone().or_else(|| said.chassis.clone()).unwrap_or_else(|| sender.to_string());
        // Several devices may have one name, as those that nobody named.
        if self.devices.iter().any(|device| device.name == name) {
            name = format!("{name} ({})", said.chassis.clone().unwrap_or_else(|| sender.to_string()));
        }
        self.devices.push(Device {
            name,
            is_host: said.is_host,
            addresses: Vec::new(),
            chassis: said.chassis.clone(),
            macs: vec![*sender],
        });
        self.devices.len() - 1
    }

    /// At which end of which link a sender is.
    pub(super) fn place(&self, interface: u16, sender: Mac) -> Option<Place> {
        let link = *self.of_interface.get(&interface)?;
        let [a, b] = &self.links.get(link)?.ends;
        let (by, of) = if end_of(sender, [&a.macs, &b.macs])? == 0 { (a, b) } else { (b, a) };
        Some(Place { link, by: by.device, of: of.device })
    }

    /// The addresses of a host; none of a device that is no host.
    pub(super) fn addresses(&self, device: usize) -> Vec<Address> {
        let host = self.devices.get(device).filter(|device| device.is_host == Some(true));
        host.map_or_else(Vec::new, |host| host.addresses.clone())
    }

    /// The addresses of the hosts at an end of a link: the host's own, or of a switch, those of the hosts that other links join to it.
    pub(super) fn hosts_at(&self, at: usize, device: usize) -> Vec<Address> {
        if self.is_host(device) {
            return self.addresses(device);
        }
        let ends = self.links.iter().map(|link| link.ends.each_ref());
        let beside = beside(ends, at, |end| end.device == device);
        beside.flat_map(|end| self.addresses(end.device)).collect()
    }

    /// The addresses of the host with this name.
    pub(super) fn addresses_of(&self, name: &str) -> Vec<Address> {
        let at = self.devices.iter().position(|device| device.name == name);
        at.map_or_else(Vec::new, |device| self.addresses(device))
    }

    pub(super) fn name(&self, device: usize) -> String {
        self.devices.get(device).map_or_else(String::new, |device| device.name.clone())
    }

    pub(super) fn is_host(&self, device: usize) -> bool {
        self.devices.get(device).is_some_and(|device| device.is_host == Some(true))
    }
}
