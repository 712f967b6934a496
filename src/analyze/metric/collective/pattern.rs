//! Requests without their clear-to-send elements: where only the direction of the data was captured, or frames were cut. Then the
//! immediate data shows them, as it is the size of what they carry.

use std::collections::BTreeMap;

use super::{Chunk, Collectives, Connection, Cts, Request, way::Role};
use crate::report::CtsLayout;

/// So many requests of a queue pair must have the size as their immediate data.
const ENOUGH: usize = 4;
/// Chunks of a request on several queue pairs are multiples of so many bytes.
const ALIGNED: u64 = 128;
/// Queue pairs of a request, at most.
const MOST_WAYS: usize = 16;
/// Bytes of a clear-to-send element, in all versions.
const ELEMENTS: [u32; 3] = [32, 48, 64];

impl Collectives {
    /// Finds connections among the messages of no request.
    pub(super) fn find_patterns(&mut self) {
        for group in self.groups() {
            let mut of = Connection::new(CtsLayout::Unknown);
            let requests = self.requests_of(&group, &mut of);
            if requests.len() < ENOUGH {
                continue;
            }
            of.data_ways = group.clone();
            of.ways_per_request = group.len();
            of.requests = requests;
            self.find_elements(&mut of);
            let at = self.connections.len() as u32;
            for &way in &group {
                self.ways[way as usize].role = Role::Data(at);
            }
            self.connections.push(of);
        }
    }

    /// Queue pairs that carry the parts of the same requests: their messages have the same immediate data.
    fn groups(&self) -> Vec<Vec<u32>> {
        let mut alike: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for (at, way) in (0..).zip(&self.ways) {
            if Collectives::is_data(way.role) {
                continue;
            }
            let immediates: Vec<u32> = self.messages(at).iter().filter_map(|chunk| chunk.immediate).collect();
            if immediates.len() >= ENOUGH {
                alike.entry((way.key.src, way.key.dst, immediates)).or_default().push(at);
            }
        }
        let mut groups = Vec::new();
        for ((.., immediates), ways) in alike {
            let is_whole = |way: &u32| {
                let sizes = self.sizes(*way);
                immediates.iter().zip(&sizes).all(|(&immediate, &bytes)| is_size(immediate, bytes))
            };
            match ways.iter().all(is_whole) {
                true => groups.extend(ways.into_iter().map(|way| vec![way])),
                false if (2..=MOST_WAYS).contains(&ways.len()) => groups.push(ways),
                false => {}
            }
        }
        groups
    }

    fn messages(&self, at: u32) -> Vec<&Chunk> {
        let loose = self.ways.get(at as usize).map_or(&[][..], |way| &way.loose);
        loose.iter().filter_map(|&chunk| self.chunks.get(chunk as usize)).collect()
    }

    /// Bytes up to each message with immediate data.
    fn sizes(&self, at: u32) -> Vec<u64> {
        let (mut sizes, mut bytes) = (Vec::new(), 0);
        for chunk in self.messages(at) {
            bytes += u64::from(chunk.bytes);
            if chunk.immediate.is_some() {
                sizes.push(std::mem::take(&mut bytes));
            }
        }
        sizes
    }

    /// The requests of these queue pairs; none where the sizes do not fit.
    fn requests_of(&self, ways: &[u32], of: &mut Connection) -> Vec<Request> {
        let mut requests: Vec<Request> = Vec::new();
        for &way in ways {
            let loose = &self.ways[way as usize].loose;
            let mut at = 0;
            for &chunk in loose {
                if at == requests.len() {
                    requests.push(Request { index: at as u64 + 1, ..Request::default() });
                }
                requests[at].chunks.push(chunk);
                let immediate = self.chunks.get(chunk as usize).and_then(|chunk| chunk.immediate);
                if let Some(immediate) = immediate {
                    requests[at].immediate = Some(immediate);
                    requests[at].closed += 1;
                    at += 1;
                }
            }
        }
        for request in &requests {
            let bytes: u64 = self.chunks_of(request).map(|chunk| u64::from(chunk.bytes)).sum();
            let Some(immediate) = request.immediate else { continue };
            let [big, little] = [immediate, immediate.swap_bytes()].map(|size| u64::from(size) == bytes);
            if !big && !little || ways.len() > 1 && !self.is_split(request, bytes, ways.len() as u64) {
                return Vec::new();
            }
            if big != little {
                (of.big, of.little) = (of.big + u64::from(big), of.little + u64::from(little));
            }
        }
        // Zero reads the same in any order, and anyone may send it.
        if of.big.max(of.little) < ENOUGH as u64 || of.big.min(of.little) > 0 { Vec::new() } else { requests }
    }

    /// Whether the parts are as long as NCCL makes them.
    fn is_split(&self, request: &Request, bytes: u64, ways: u64) -> bool {
        let part = bytes.div_ceil(ways).div_ceil(ALIGNED) * ALIGNED;
        self.chunks_of(request).all(|chunk| u64::from(chunk.bytes) <= part)
    }

    /// The WRITEs the other way that can be the elements of these requests, by their number and their order.
    fn find_elements(&self, of: &mut Connection) {
        let Some(data) = of.data_ways.first().and_then(|&way| self.ways.get(way as usize)) else { return };
        let firsts: Vec<i64> = of
            .requests
            .iter()
            .filter_map(|request| self.chunks_of(request).map(|chunk| chunk.first.1).min())
            .collect();
        let fits = |&at: &u32| {
            let Some(way) = self.ways.get(at as usize) else { return false };
            let messages = self.messages(at);
            let is_element = |chunk: &&Chunk| chunk.immediate.is_none() && ELEMENTS.contains(&chunk.bytes);
            way.key.src == data.key.dst
                && way.key.dst == data.key.src
                && way.role == Role::Unknown
                && messages.len() >= firsts.len()
                && messages.iter().all(is_element)
                && messages.iter().zip(&firsts).all(|(cts, first)| cts.first.1 <= *first)
        };
        let found: Vec<u32> = (0..self.ways.len() as u32).filter(fits).collect();
        // It goes on one of the connection's queue pairs.
        let back = of.data_ways.iter().filter_map(|&way| self.ways.get(way as usize)?.peer);
        let own: Vec<u32> = back.filter(|back| found.contains(back)).collect();
        let (&[at] | &[at, ..]) = (if own.is_empty() && found.len() == 1 { &found[..] } else { &own[..] })
        else {
            return;
        };
        for (request, cts) in of.requests.iter_mut().zip(self.messages(at)) {
            let (frame, time) = cts.first;
            request.cts = Some(Cts {
                frame,
                time,
                again: None,
                arrived: None,
                acknowledged: cts.acknowledged,
                way: at,
                elements: Vec::new(),
            });
        }
        of.cts_ways.push(at);
    }
}

fn is_size(immediate: u32, bytes: u64) -> bool {
    [immediate, immediate.swap_bytes()].iter().any(|&size| u64::from(size) == bytes)
}
