//! Who sends what to whom, and what each request waits for.

use super::{Algorithm, Collective};

/// One direction of one channel between two ranks.
#[derive(Clone, Debug, Default)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) channel: u32,
    /// Requests of each operation: bytes, and those that its sender must have got before: connection and place.
    pub(super) requests: Vec<(u32, Vec<(usize, usize)>)>,
}

/// All connections of a scenario.
pub(super) fn edges(of: &Collective) -> Vec<Edge> {
    let mut edges = Vec::new();
    for channel in 0..of.channels {
        match of.algorithm {
            Algorithm::Ring => ring(of, channel, &mut edges),
            Algorithm::Tree => tree(of, channel, &mut edges),
            Algorithm::AllToAll => all_to_all(of, channel, &mut edges),
            Algorithm::Pairs => pairs(of, channel, &mut edges),
        }
    }
    edges
}

/// The bytes of each request that carries so many all together.
fn slices(of: &Collective, bytes: u64) -> Vec<u32> {
    let chunk = of.chunk.0;
    (0..bytes.div_ceil(chunk).max(1)).map(|n| chunk.min(bytes - (n * chunk).min(bytes)) as u32).collect()
}

fn per_channel(of: &Collective) -> u64 {
    of.size.0.div_ceil(of.channels.into())
}

fn ring(of: &Collective, channel: u32, edges: &mut Vec<Edge>) {
    let (first, ranks) = (edges.len(), of.ranks as usize);
    let slices = slices(of, per_channel(of).div_ceil(of.ranks.into()));
    for from in 0..ranks {
        let before = first + (from + ranks - 1) % ranks;
        let mut requests = Vec::new();
        for step in 0..2 * (ranks - 1) {
            for (at, &bytes) in slices.iter().enumerate() {
                let after = step.checked_sub(1).map(|step| (before, step * slices.len() + at));
                requests.push((bytes, after.into_iter().collect()));
            }
        }
        edges.push(Edge { from: from as u32, to: ((from + 1) % ranks) as u32, channel, requests });
    }
}

/// Rank 0 is the root; the children of rank r are 2 r + 1 and 2 r + 2.
fn tree(of: &Collective, channel: u32, edges: &mut Vec<Edge>) {
    let (first, ranks) = (edges.len(), of.ranks as usize);
    let slices = slices(of, per_channel(of));
    let up = |child: usize| first + 2 * (child - 1);
    let down = |child: usize| up(child) + 1;
    for child in 1..ranks {
        let parent = (child - 1) / 2;
        let children = |of: usize| [2 * of + 1, 2 * of + 2].into_iter().filter(|&one| one < ranks);
        let upward =
            (0..slices.len()).map(|at| (slices[at], children(child).map(|one| (up(one), at)).collect()));
        let upward = Edge { from: child as u32, to: parent as u32, channel, requests: upward.collect() };
        let above = |at: usize| match parent {
            0 => children(0).map(|one| (up(one), at)).collect(),
            _ => vec![(down(parent), at)],
        };
        let downward = (0..slices.len()).map(|at| (slices[at], above(at))).collect();
        edges.push(upward);
        edges.push(Edge { from: parent as u32, to: child as u32, channel, requests: downward });
    }
}

fn all_to_all(of: &Collective, channel: u32, edges: &mut Vec<Edge>) {
    let slices = slices(of, per_channel(of).div_ceil(of.ranks.into()));
    for apart in 1..of.ranks {
        for from in 0..of.ranks {
            let requests = slices.iter().map(|&bytes| (bytes, Vec::new())).collect();
            edges.push(Edge { from, to: (from + apart) % of.ranks, channel, requests });
        }
    }
}

fn pairs(of: &Collective, channel: u32, edges: &mut Vec<Edge>) {
    for from in (0..of.ranks).filter(|from| from ^ 1 < of.ranks) {
        let requests = slices(of, per_channel(of)).into_iter().map(|bytes| (bytes, Vec::new())).collect();
        edges.push(Edge { from, to: from ^ 1, channel, requests });
    }
}
