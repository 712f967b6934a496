//! Which UDP source ports queue pairs will have, and how they spread over equal paths: without a capture.
//!
//! Of a RoCEv2 connection, switches that choose among equal paths see addresses and ports. The destination port is always the
//! same, so the source port alone tells the queue pairs of two hosts apart. Drivers compute it from both queue pair numbers:
//! two connections with one port between the same hosts have one path in every network.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::{
    analyze::{
        Address, KnownConnection,
        metric::{Spread, spread},
    },
    dissect::ROCE_PORT,
    in_order::InOrder,
    named,
    wire::{Qpn, Udp},
};

named! {
    /// How a driver computes the source port.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Formula {
        /// Linux since 5.8: [`Udp::linux_source_port`] (`rdma_get_udp_sport` in `include/rdma/ib_verbs.h`), where the application
        /// gives no flow label. Linux asks all its drivers to use it.
        #[default]
        Linux "linux",
        /// NVIDIA's: [`nvidia_source_port`].
        Nvidia "nvidia",
    }
}

impl Formula {
    /// The source port of a connection between these queue pairs: the same in both directions.
    pub fn source_port(self, a: Qpn, b: Qpn) -> u16 {
        match self {
            Formula::Linux => Udp::linux_source_port(a, b),
            Formula::Nvidia => nvidia_source_port(a, b),
        }
    }
}

/// The source port by NVIDIA's formula: each queue pair's upper eight bits are folded into its lower sixteen, and the two are combined
/// by exclusive or, unless they are equal; the upper two bits are set. The Linux driver for ConnectX-3 has it (`folded_qp` in
/// `include/linux/mlx4/qp.h`), and the proposal for all drivers, "RoCE v2.0 UDP Source Port Entropy" (linux-rdma, 2019).
pub const fn nvidia_source_port(a: Qpn, b: Qpn) -> u16 {
    const fn folded(qp: u32) -> u16 {
        (qp & 0xffff) as u16 ^ (qp >> 16 & 0xff) as u16
    }
    let port = if a.0 == b.0 { folded(a.0) } else { folded(a.0) ^ folded(b.0) };
    port | 0xc000
}

/// What one formula gives for all connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Prediction {
    /// Its name.
    pub formula: &'static str,
    /// The connections, in the order in which they were given, each once.
    pub connections: Vec<Predicted>,
    /// How many were given again, from the same end or from the other one: they are not counted.
    pub repeated: u64,
    /// How many different ports there are.
    pub ports: u64,
    /// Connections between the same two hosts that share a port, and so a path, the largest groups first.
    pub collisions: Vec<Collision>,
    /// Connections that are in a group.
    pub colliding: u64,
    /// Flows on each path, both directions of each connection.
    pub flows_per_path: Vec<u64>,
    /// Jain's index of these: 1 if all are equal, one over the number of paths if one has all.
    pub jain: f64,
    /// The most flows of a path over their mean.
    pub max_over_mean: f64,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Predicted {
    /// The address of one end; `None` where it was not given.
    pub a: Option<String>,
    /// Its queue pair.
    pub a_qp: u32,
    /// The address of the other end.
    pub b: Option<String>,
    /// Its queue pair.
    pub b_qp: u32,
    /// The source port of both directions.
    pub udp_src_port: u16,
    /// The paths from `a` to `b` and back.
    pub paths: [u32; 2],
}

/// Connections that share a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Collision {
    /// The port.
    pub udp_src_port: u16,
    /// The connections: places in [`Prediction::connections`].
    pub connections: Vec<usize>,
}

/// The ports and paths of these connections, over so many equal paths.
///
/// What a switch computes is not known. Here a path is the remainder of a CRC-32 over addresses, protocol and ports, which spreads
/// them evenly: the figures say how such a hash spreads them, not which path a connection has in a network.
pub fn predict(connections: &[KnownConnection], formula: Formula, paths: u32) -> Prediction {
    let paths = paths.max(1);
    let mut flows_per_path = vec![0u64; paths as usize];
    let mut groups: BTreeMap<([Option<String>; 2], u16), Vec<usize>> = BTreeMap::new();
    let mut rows = Vec::with_capacity(connections.len());
    let mut known = BTreeSet::new();
    for &KnownConnection { a, b } in connections {
        if !known.insert(if a <= b { (a, b) } else { (b, a) }) {
            continue;
        }
        let (n, (a, a_qp), (b, b_qp)) = (rows.len(), a, b);
        let port = formula.source_port(Qpn(a_qp), Qpn(b_qp));
        let ways = [path(a, b, port, paths), path(b, a, port, paths)];
        for way in ways {
            flows_per_path[way as usize] += 1;
        }
        let text = |address: Option<Address>| address.map(|address| address.to_string());
        let mut hosts = [text(a), text(b)];
        let [a, b] = hosts.clone();
        hosts.sort();
        groups.entry((hosts, port)).or_default().push(n);
        rows.push(Predicted { a, a_qp, b, b_qp, udp_src_port: port, paths: ways });
    }
    let mut ports: Vec<u16> = rows.iter().map(|row| row.udp_src_port).collect();
    ports.sort_unstable();
    ports.dedup();
    let shared = groups.into_iter().filter(|(_, connections)| connections.len() > 1);
    let mut collisions: Vec<Collision> =
        shared.map(|((_, udp_src_port), connections)| Collision { udp_src_port, connections }).collect();
    collisions.order_by_key(|group| (std::cmp::Reverse(group.connections.len()), group.connections[0]));
    // Without connections, all paths have the same.
    let Spread { jain, max_over_mean } =
        spread(flows_per_path.iter().copied()).unwrap_or(Spread { jain: 1.0, max_over_mean: 1.0 });
    Prediction {
        formula: formula.name(),
        repeated: (connections.len() - rows.len()) as u64,
        connections: rows,
        ports: ports.len() as u64,
        colliding: collisions.iter().map(|group| group.connections.len() as u64).sum(),
        collisions,
        jain,
        max_over_mean,
        flows_per_path,
    }
}

/// The path of a flow, by a hash.
fn path(from: Option<Address>, to: Option<Address>, port: u16, paths: u32) -> u32 {
    let mut hash = crc32fast::Hasher::new();
    for address in [from, to] {
        hash.update(address.map(|address| address.to_string()).unwrap_or_default().as_bytes());
        hash.update(&[0]);
    }
    hash.update(&[17]);
    hash.update(&port.to_be_bytes());
    hash.update(&ROCE_PORT.to_be_bytes());
    hash.finalize() % paths
}
