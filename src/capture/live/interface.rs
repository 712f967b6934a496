//! The network interfaces of this machine.

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
};

use crate::wire::Mac;

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetInterface {
    /// Name, as `eth0`.
    pub name: String,
    /// The system's number for it.
    pub index: u32,
    /// Its own address, if it has one.
    pub mac: Option<Mac>,
    /// MTU in bytes; `None` if the system does not say.
    pub mtu: Option<u32>,
    /// Speed of the link in bit/s, if the driver says.
    pub speed_bps: Option<u64>,
    /// IP addresses with the lengths of their prefixes.
    pub addresses: Vec<(IpAddr, u8)>,
    /// The administrator has enabled it.
    pub is_up: bool,
    /// It is enabled and has a carrier.
    pub is_running: bool,
    /// It is the loopback.
    pub is_loopback: bool,
    /// Names of the RDMA devices on it, as `mlx5_0`.
    pub rdma: Vec<String>,
}

/// The network interfaces that this process sees, in the system's order. No privilege is needed.
pub fn interfaces() -> Vec<NetInterface> {
    pnet_datalink::interfaces().iter().map(NetInterface::from).collect()
}

impl From<&pnet_datalink::NetworkInterface> for NetInterface {
    fn from(known: &pnet_datalink::NetworkInterface) -> NetInterface {
        let system = system_folder(&known.name, known.index);
        let number = |name: &str| {
            let text = fs::read_to_string(system.as_ref()?.join(name)).ok()?;
            text.trim().parse::<u64>().ok()
        };
        NetInterface {
            name: known.name.clone(),
            index: known.index,
            mac: known.mac.map(|mac| Mac(mac.octets())),
            mtu: number("mtu").and_then(|mtu| u32::try_from(mtu).ok()),
            // In Mbit/s; -1 if it is not known.
            speed_bps: number("speed")
                .filter(|&speed| speed > 0)
                .and_then(|speed| speed.checked_mul(1_000_000)),
            addresses: known.ips.iter().map(|net| (net.ip(), net.prefix())).collect(),
            is_up: known.is_up(),
            is_running: known.is_running(),
            is_loopback: known.is_loopback(),
            rdma: rdma_devices(&known.name),
        }
    }
}

/// Linux's folder of an interface. It may show another network namespace's, with other numbers.
fn system_folder(name: &str, index: u32) -> Option<PathBuf> {
    let folder = Path::new("/sys/class/net").join(name);
    let number = fs::read_to_string(folder.join("ifindex")).ok()?;
    (number.trim() == index.to_string()).then_some(folder)
}

/// Linux's RDMA devices whose first port's GID table stands on this interface.
fn rdma_devices(name: &str) -> Vec<String> {
    let Ok(devices) = fs::read_dir("/sys/class/infiniband") else { return Vec::new() };
    let on_it = |device: &Path| {
        fs::read_to_string(device.join("ports/1/gid_attrs/ndevs/0")).is_ok_and(|text| text.trim() == name)
    };
    let mut names: Vec<String> = devices
        .flatten()
        .filter(|device| on_it(&device.path()))
        .map(|device| device.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
