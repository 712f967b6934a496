//! Flows whose data is in another class than that of their siblings: those queue pairs of a job whose traffic class was not set wait in
//! another queue than the rest, and the job waits for them.

use std::collections::HashMap;

use super::MIN_PACKETS;
use crate::analyze::model::Address;

/// A flow with data in one class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// Its place in the report's list.
    pub(super) flow: usize,
    pub(super) src: Address,
    pub(super) dst: Address,
    pub(super) packets: u64,
    pub(super) class: u8,
}

/// A flow in another class than its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Odd {
    /// Its place in the report's list.
    pub(super) flow: usize,
    pub(super) class: u8,
    /// The class of its siblings, and how many they are.
    pub(super) siblings: (u8, u64),
}

/// A flow belongs to the large ones of two hosts if it has at least this part of the packets of the largest: data and the messages that
/// ask for it often differ in their class, and are meant to.
const LARGE: u64 = 8;
/// With fewer flows, nobody knows which one is odd.
const FEWEST: u64 = 3;

/// Finds them: among the flows between the same two hosts that are about as large, among hosts that all send to each other, and where both
/// its sender and its receiver have most others in another class.
pub(super) fn odd(members: &[Member]) -> Vec<Odd> {
    let members = || members.iter().filter(|member| member.packets >= MIN_PACKETS);
    let mut largest: HashMap<(Address, Address), u64> = HashMap::new();
    for member in members() {
        let most = largest.entry((member.src, member.dst)).or_default();
        *most = member.packets.max(*most);
    }
    let is_large = |member: &Member| {
        let most = largest.get(&(member.src, member.dst)).copied().unwrap_or(0);
        member.packets.saturating_mul(LARGE) >= most
    };
    let mut pairs: HashMap<(Address, Address, bool), Votes> = HashMap::new();
    for member in members() {
        pairs.entry((member.src, member.dst, is_large(member))).or_default().add(member.class);
    }
    let of_pair =
        |member: &Member| pairs.get(&(member.src, member.dst, is_large(member)))?.against(member.class);
    // A host with traffic of its own kind, such as storage, has all of it in its class; one queue pair that was forgotten is alone at both ends.
    let (mut from, mut to) = (HashMap::<Address, Votes>::new(), HashMap::<Address, Votes>::new());
    for member in members().filter(|member| is_large(member)) {
        from.entry(member.src).or_default().add(member.class);
        to.entry(member.dst).or_default().add(member.class);
    }
    let of_both = |member: &Member| {
        let sent = from.get(&member.src)?.against(member.class)?;
        let got = to.get(&member.dst)?.against(member.class)?;
        (is_large(member) && sent.0 == got.0).then_some((sent.0, sent.1.min(got.1)))
    };
    let mut found: Vec<Odd> = members()
        .filter_map(|member| {
            Some(Odd {
                flow: member.flow,
                class: member.class,
                siblings: of_pair(member).or_else(|| of_both(member))?,
            })
        })
        .collect();
    found.extend(odd_hosts(|| members().filter(|member| is_large(member))));
    found.sort_unstable();
    found.dedup_by_key(|odd| odd.flow);
    found
}

/// The flows of hosts that send all they send in another class than what the others send, also to them.
fn odd_hosts<'a, I: Iterator<Item = &'a Member>>(members: impl Fn() -> I) -> Vec<Odd> {
    let mut hosts: HashMap<Address, Votes> = HashMap::new();
    for member in members() {
        hosts.entry(member.src).or_default().add(member.class);
    }
    let only: HashMap<Address, u8> =
        hosts.iter().filter_map(|(host, votes)| Some((*host, votes.only()?))).collect();
    let mut votes = Votes::default();
    only.values().for_each(|class| votes.add(*class));
    let Some((usual, hosts_of_it)) = votes.winner() else { return Vec::new() };
    // Of a quarter of the hosts, it may be meant.
    if hosts_of_it < FEWEST || 4 * (only.len() as u64 - hosts_of_it) > only.len() as u64 {
        return Vec::new();
    }
    let of_usual = |member: &&Member| only.get(&member.src) == Some(&usual);
    let is_asked: std::collections::HashSet<Address> =
        members().filter(of_usual).map(|member| member.dst).collect();
    let siblings = members().filter(of_usual).count() as u64;
    let is_odd = |member: &&Member| {
        only.get(&member.src).is_some_and(|class| *class != usual) && is_asked.contains(&member.src)
    };
    members()
        .filter(is_odd)
        .map(|member| Odd { flow: member.flow, class: member.class, siblings: (usual, siblings) })
        .collect()
}

/// How many are in each class.
#[derive(Default)]
struct Votes(Vec<(u8, u64)>);

impl Votes {
    fn add(&mut self, class: u8) {
        match self.0.iter_mut().find(|(other, _)| *other == class) {
            Some((_, n)) => *n += 1,
            None => self.0.push((class, 1)),
        }
    }

    /// The class that has more than half of them.
    fn winner(&self) -> Option<(u8, u64)> {
        let all: u64 = self.0.iter().map(|(_, n)| n).sum();
        self.0.iter().copied().find(|(_, n)| 2 * n > all && all >= FEWEST)
    }

    fn only(&self) -> Option<u8> {
        if let [(class, _)] = self.0[..] { Some(class) } else { None }
    }

    /// The class of most others, for one that is in another.
    fn against(&self, class: u8) -> Option<(u8, u64)> {
        self.winner().filter(|(usual, _)| *usual != class)
    }
}
