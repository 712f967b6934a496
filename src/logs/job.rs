//! The job that NCCL's debug output tells of: ranks with their hosts, addresses and queue pairs, and channels. It joins collectives to ranks.

use std::collections::{BTreeMap, BTreeSet};

use super::Line;
use crate::{
    dissect::Address,
    in_order::InOrder,
    report::{CollectiveConnection, Collectives},
};

/// Ranks, queue pairs and channels that are kept.
const MOST: usize = 1 << 16;

/// A process and its GPU, as the beginning of a line says: `node1:4711:4720 [3] NCCL INFO`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    host: String,
    process: String,
    device: String,
}

/// A job, as the logs of its ranks have it.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Rank, and how many there are: of the largest communicator of a process.
    ranks: BTreeMap<Process, (u32, u32)>,
    /// Queue pairs by address, and whose they are.
    queue_pairs: BTreeMap<(Address, u32), Process>,
    addresses: BTreeMap<Address, BTreeSet<Process>>,
    /// Channels over the network from one rank to another.
    channels: BTreeMap<(u32, u32), BTreeSet<u64>>,
}

impl Job {
    /// Whether it tells of no rank.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// Takes what a line says, if NCCL wrote it.
    pub(super) fn add(&mut self, line: &Line) {
        let Some((process, text)) = Process::of(&line.text) else { return };
        let words: Vec<&str> = text.split_whitespace().collect();
        let after = |name: &str| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1)?.parse::<u32>().ok()
        };
        if let (Some(rank), Some(ranks)) = (after("rank"), after("nranks"))
            && self.ranks.len() < MOST
        {
            let known = self.ranks.entry(process.clone()).or_insert((rank, ranks));
            if known.1 < ranks {
                *known = (rank, ranks);
            }
        }
        if let (Some(address), Some(queue_pair)) = (line.local.address, line.local.qp)
            && self.queue_pairs.len() < MOST
        {
            self.queue_pairs.insert((address, queue_pair), process.clone());
            self.addresses.entry(address).or_default().insert(process);
        }
        if let Some((channel, from, to)) = channel(&words)
            && self.channels.len() < MOST
        {
            self.channels.entry((from, to)).or_default().insert(channel);
        }
    }

    /// Takes what another log says.
    pub fn merge(&mut self, other: Job) {
        self.ranks.extend(other.ranks);
        self.queue_pairs.extend(other.queue_pairs);
        for (address, processes) in other.addresses {
            self.addresses.entry(address).or_default().extend(processes);
        }
        for (ends, channels) in other.channels {
            self.channels.entry(ends).or_default().extend(channels);
        }
    }

    /// Rank and host of an end: whose queue pair it is, or the only one with this address.
    fn rank(&self, address: &str, queue_pairs: &[u32]) -> Option<(u32, &str)> {
        let address: Address = address.parse().ok()?;
        let of_queue_pair = queue_pairs.iter().find_map(|&qp| self.queue_pairs.get(&(address, qp)));
        let process = of_queue_pair.or_else(|| self.only(&address))?;
        Some((self.ranks.get(process)?.0, &process.host))
    }

    /// The process that has an address alone.
    fn only(&self, address: &Address) -> Option<&Process> {
        let all = self.addresses.get(address)?;
        all.first().filter(|_| all.len() == 1)
    }

    /// Names the ranks of collectives, and their channels.
    pub fn join(&self, found: &mut Collectives) {
        if self.is_empty() {
            return;
        }
        let mut of: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
        for (at, one) in found.connections.iter_mut().enumerate() {
            self.name(one);
            if let (Some(from), Some(to)) = (one.sender_rank, one.receiver_rank) {
                of.entry((from, to)).or_default().push(at);
            }
        }
        for (ends, mut places) in of {
            let Some(channels) = self.channels.get(&ends).filter(|all| all.len() == places.len()) else {
                continue;
            };
            places.order_by_key(|&at| found.connections[at].channel);
            for (&channel, at) in channels.iter().zip(places) {
                found.connections[at].channel = Some(channel);
            }
        }
        for one in &mut found.stragglers {
            let of = self.rank(&one.rank, &[]);
            (one.number, one.host) = (of.map(|of| of.0), of.map(|of| of.1.to_owned()));
        }
        for one in found.operations.iter_mut().flatten() {
            one.straggler_rank =
                one.straggler.as_deref().and_then(|address| self.rank(address, &[])).map(|of| of.0);
        }
    }

    fn name(&self, one: &mut CollectiveConnection) {
        let sender = self.rank(&one.sender, &one.cts_queue_pairs);
        let receiver = self.rank(&one.receiver, &one.queue_pairs);
        let host = |of: Option<(u32, &str)>| of.map(|of| of.1.to_owned());
        (one.sender_rank, one.sender_host) = (sender.map(|of| of.0), host(sender));
        (one.receiver_rank, one.receiver_host) = (receiver.map(|of| of.0), host(receiver));
    }
}

impl Process {
    /// Who wrote a line, and what it says.
    fn of(line: &str) -> Option<(Process, &str)> {
        let (head, text) = line.split_once(" NCCL INFO ")?;
        let mut words = head.split_whitespace().rev();
        let device = words.next()?.strip_prefix('[')?.strip_suffix(']')?;
        let mut ids = words.next()?.rsplitn(3, ':');
        let (_thread, process, host) = (ids.next()?, ids.next()?, ids.next()?);
        Some((Process { host: host.into(), process: process.into(), device: device.into() }, text))
    }
}

/// A channel over the network: `Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/0`: its number, who sends, who receives.
fn channel(words: &[&str]) -> Option<(u64, u32, u32)> {
    let at = words.iter().position(|word| *word == "Channel")?;
    let rank = |word: &str| word.split('[').next()?.parse().ok();
    let is_net = words.iter().any(|word| word.starts_with("NET/"));
    match words.get(at + 1..at + 6)? {
        [number, ":", from, "->", to] if is_net => {
            Some((number.split('/').next()?.parse().ok()?, rank(from)?, rank(to)?))
        }
        _ => None,
    }
}
