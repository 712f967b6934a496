//! One-sided traffic: bulk WRITEs and READs with no messages above them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Summary, Why, clean,
    units::{bytes, count, duration, mean, percent, several},
};

records! {
    /// One-sided traffic: queue pairs that move data by WRITEs and READs, to ever other addresses, with no messages (SENDs) above them: puts of
    /// GPUs (NCCL GIN, NVSHMEM, DeepEP), transfers of KV caches (NIXL, Mooncake). Storage, which names keys in its commands, NCCL's requests, and
    /// benchmarks, which write one buffer again and again, are none.
    pub struct OneSided {
        /// Pairs of addresses, those with most bytes first; also those with nearly none beside a pair of the same hosts.
        pub rails: Vec<OneSidedRail>,
        /// Queue pairs, those with most bytes first: the first 1024.
        pub queue_pairs: Vec<OneSidedQueuePair>,
        /// Queue pairs that are not listed.
        pub not_listed: u64,
    }

    /// One-sided traffic between two addresses.
    pub struct OneSidedRail {
        /// Its place in the list.
        pub rail: usize,
        /// The address that reads and writes.
        pub src: String,
        /// The address whose memory that is.
        pub dst: String,
        /// Rails with the same number join the same two hosts: their addresses differ alike at both ends. `None` for one alone.
        pub rail_group: Option<u64>,
        /// Queue pairs; of a rail without one-sided traffic, all its queue pairs.
        pub queue_pairs: u64,
        /// READs and WRITEs that were seen as a whole, and atomics.
        pub operations: u64,
        /// Bytes that were read.
        pub read_bytes: u64,
        /// Bytes that were written.
        pub written_bytes: u64,
        /// Its part of the bytes of its group: 0 to 1. `None` without a group.
        pub share_ratio: Option<f64>,
    }

    /// A queue pair with one-sided traffic: the side that reads and writes.
    pub struct OneSidedQueuePair {
        /// The flow of its requests, as an index into [`Report::flows`](super::Report::flows).
        pub flow: usize,
        /// The address that reads and writes.
        pub src: String,
        /// The address whose memory that is.
        pub dst: String,
        /// The queue pair that its requests go to.
        pub dest_qp: u32,
        /// Its rail: the place in the list of rails.
        pub rail: usize,
        /// READs, WRITEs and atomics that were seen as a whole.
        pub operations: u64,
        /// READ requests, with those that were repeated.
        pub reads: u64,
        /// WRITEs, by their last packets, with those that were retransmitted.
        pub writes: u64,
        /// Bytes that were read: data that came for the first time. `None` where the opposite flow is not known.
        pub read_bytes: Option<u64>,
        /// Bytes that were written: data that was sent for the first time.
        pub written_bytes: u64,
        /// Its part of the bytes of its rail: 0 to 1.
        pub rail_ratio: f64,
        /// Sizes of READs and WRITEs in bytes; atomics move none.
        pub size_bytes: Option<Summary>,
        /// From the first packet of an operation until it was complete, in nanoseconds.
        pub completion_ns: Option<Summary>,
        /// Operations that were under way at a time: the mean from its first packet to the last of the connection.
        pub outstanding: Option<f64>,
        /// Signals: atomics (FETCH_ADD, COMPARE_SWAP).
        pub atomics: u64,
        /// Signals: WRITEs with immediate data.
        pub immediates: u64,
        /// Perhaps signals: WRITEs of at most 64 bytes. `None` in a capture of more than 4096 messages, and
        /// where only some were recorded twice.
        pub small_writes: Option<u64>,
        /// Retransmitted packets of requests.
        pub resent_packets: u64,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }
}

/// A rail of several is hardly used if it has less than this part of what each has in the mean.
const HARDLY_USED: f64 = 0.25;

impl OneSided {
    /// What there is, in sentences: the whole, and rails that share the traffic of two hosts.
    pub fn sentences(&self) -> Vec<String> {
        let all = |of: fn(&OneSidedRail) -> u64| self.rails.iter().map(of).fold(0, u64::saturating_add);
        let mut parts = Vec::new();
        for (moved, what) in [(all(|one| one.read_bytes), "read"), (all(|one| one.written_bytes), "written")]
        {
            if moved > 0 {
                parts.push(format!("{} {what}", bytes(moved)));
            }
        }
        let signals = |of: fn(&OneSidedQueuePair) -> u64| self.queue_pairs.iter().map(of).sum::<u64>();
        let signals = [
            (signals(|one| one.atomics), "atomic"),
            (signals(|one| one.immediates), "WRITE with immediate data"),
            (signals(|one| one.small_writes.unwrap_or(0)), "small WRITE"),
        ];
        let signals: Vec<String> = signals
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| match n {
                1 => format!("1 {what}"),
                _ => format!(
                    "{} {}",
                    count(n),
                    what.replacen("WRITE", "WRITEs", 1).replacen("atomic", "atomics", 1)
                ),
            })
            .collect();
        if !signals.is_empty() {
            parts.push(format!("signals: {}", signals.join(", ")));
        }
        // Both directions are one.
        let number = |is_meant: fn(&&OneSidedRail) -> bool| {
            let of = self.rails.iter().filter(is_meant);
            let ends = of.map(|rail| [rail.src.as_str().min(&rail.dst), rail.src.as_str().max(&rail.dst)]);
            ends.collect::<BTreeSet<[&str; 2]>>().len() as u64
        };
        let (used, rails) = (number(|rail| rail.operations > 0), number(|_| true));
        let on_rails = match used == rails {
            true => several(used, "rail"),
            false => format!("{} of {}", count(used), several(rails, "rail")),
        };
        let queue_pairs = self.queue_pairs.len() as u64 + self.not_listed;
        let mut text = vec![format!(
            "{} on {} of {}: {}",
            several(all(|one| one.operations), "operation"),
            several(queue_pairs, "queue pair"),
            on_rails,
            parts.join(", ")
        )];
        if let Some(most) = self.queue_pairs.first() {
            text.push(most.sentence());
        }
        text.extend(self.groups().into_iter().map(|group| OneSidedRail::shares(&group)));
        text
    }

    /// Rails that join the same two hosts, group by group.
    fn groups(&self) -> Vec<Vec<&OneSidedRail>> {
        let mut groups: BTreeMap<u64, Vec<&OneSidedRail>> = BTreeMap::new();
        for rail in &self.rails {
            if let Some(group) = rail.rail_group {
                groups.entry(group).or_default().push(rail);
            }
        }
        groups.into_values().collect()
    }

    /// Groups of which a rail is hardly used: that rail, and what is to be said of them.
    pub(crate) fn hardly_used(&self) -> Vec<(&OneSidedRail, String)> {
        let mut found = Vec::new();
        for group in self.groups() {
            let mean = 1.0 / group.len() as f64;
            let share = |rail: &OneSidedRail| rail.share_ratio.unwrap_or(mean);
            let least = group.iter().copied().min_by(|a, b| share(a).total_cmp(&share(b)));
            if let Some(least) = least.filter(|least| share(least) < mean * HARDLY_USED) {
                let text = format!(
                    "{} \u{2192} {} carries {} of the one-sided traffic of {} between the same hosts",
                    clean(&least.src),
                    clean(&least.dst),
                    percent(share(least)),
                    several(group.len() as u64, "rail")
                );
                found.push((least, text));
            }
        }
        found
    }
}

impl OneSidedRail {
    /// What each of these rails has of their bytes.
    fn shares(group: &[&OneSidedRail]) -> String {
        let share = |rail: &&OneSidedRail| {
            let ratio = rail.share_ratio.unwrap_or(0.0);
            format!("{} \u{2192} {} {}", clean(&rail.src), clean(&rail.dst), percent(ratio))
        };
        let most = 4;
        let mut text: Vec<String> = group.iter().take(most).map(share).collect();
        if group.len() > most {
            text.push(format!("{} more", group.len() - most));
        }
        format!("rails: {}", text.join(", "))
    }
}

impl OneSidedQueuePair {
    /// Its operations, in a sentence.
    fn sentence(&self) -> String {
        let mut text =
            format!("most on {} \u{2192} {} QP {:#x}", clean(&self.src), clean(&self.dst), self.dest_qp);
        if let Some(sizes) = self.size_bytes {
            // WRITEs of no bytes may be signals.
            text += &match sizes.p50 {
                0 => format!(": operations of up to {}", bytes(sizes.max)),
                _ => format!(": operations of {}", sizes.quantile(sizes.p50, bytes)),
            };
        }
        if let Some(took) = self.completion_ns {
            text += &format!(", complete after {}", took.quantile(took.p50, duration));
        }
        if let Some(outstanding) = self.outstanding {
            text += &format!(", {} under way at a time", mean(outstanding));
        }
        text
    }
}
