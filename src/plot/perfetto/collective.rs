//! Collectives in a trace: operations, what ranks waited for, and the steps of each connection with the names of NCCL's profiler.
//!
//! NCCL's profiler plug-ins write the states of a proxy's step: a sender's `SendGpuWait`, `SendPeerWait`, `SendWait`, a receiver's `RecvWait` and
//! `RecvGpuWait`, with the arguments `Step` and `Channel`. The same names stand here for what packets show of these states.

use crate::in_order::InOrder;
use std::{collections::BTreeMap, io};

use super::Trace;
use crate::report::{CollectiveRequest, Collectives, clean};

impl Trace<'_> {
    pub(super) fn collectives(&mut self, found: &Collectives) -> io::Result<()> {
        let all = self.track(None, "collectives", None)?;
        if let Some(operations) = &found.operations {
            let track = self.track(Some(all), "operations", None)?;
            for one in operations {
                let name = match (&one.straggler, one.cause) {
                    (Some(rank), Some(cause)) => {
                        format!("operation {}: waited for {}, {}", one.operation, clean(rank), cause.words())
                    }
                    _ => format!("operation {}", one.operation),
                };
                let arguments = [
                    ("bytes", one.bytes),
                    ("requests", one.requests),
                    ("bus bit/s", one.bus_bps.unwrap_or(0)),
                    ("lost ns", one.lost_ns.unwrap_or(0)),
                ];
                let end = one.start_ns.saturating_add_unsigned(one.lasted_ns);
                self.slice(track, &name, (one.start_ns, end), &arguments)?;
            }
        }
        let mut ranks: BTreeMap<&str, u64> = BTreeMap::new();
        for rank in &found.ranks {
            let track = self.track(Some(all), &format!("rank {}", clean(rank)), None)?;
            ranks.insert(rank, track);
        }
        let mut waits: BTreeMap<&str, u64> = BTreeMap::new();
        for wait in &found.waits {
            let Some(&rank) = ranks.get(wait.rank.as_str()) else { continue };
            let track = match waits.get(wait.rank.as_str()) {
                Some(track) => *track,
                None => {
                    let track = self.track(Some(rank), "waited for", None)?;
                    *waits.entry(&wait.rank).or_insert(track)
                }
            };
            let name = format!("{} ({})", wait.cause.words(), clean(&wait.peer));
            let arguments = [
                ("Step", wait.request),
                ("connection", wait.connection as u64),
                ("frame", wait.frame.unwrap_or(0)),
            ];
            let end = wait.start_ns.saturating_add_unsigned(wait.lasted_ns);
            self.slice(track, &name, (wait.start_ns, end), &arguments)?;
        }
        self.steps(found, &ranks)
    }

    /// The steps of each connection, at both of its ends.
    fn steps(&mut self, found: &Collectives, ranks: &BTreeMap<&str, u64>) -> io::Result<()> {
        let mut of_connection: Vec<Vec<&CollectiveRequest>> = vec![Vec::new(); found.connections.len()];
        for request in &found.requests {
            of_connection.get_mut(request.connection).into_iter().for_each(|all| all.push(request));
        }
        for (of, mut requests) in found.connections.iter().zip(of_connection) {
            requests.order_by_key(|one| one.begin_ns);
            let channel = of.channel.map_or_else(String::new, |channel| format!(", channel {channel}"));
            let mut end = |rank: &str, way: &str, peer: &str| {
                let name = format!("{way} {}{channel}", clean(peer));
                self.track(ranks.get(rank).copied(), &name, None)
            };
            let sends = end(&of.sender, "send to", &of.receiver)?;
            let receives = end(&of.receiver, "receive from", &of.sender)?;
            let mut free = i64::MIN;
            for one in requests {
                let begin = one.begin_ns.max(free);
                let end = begin.max(one.begin_ns.saturating_add_unsigned(one.time.lasted_ns));
                free = end;
                let after =
                    |ns: Option<u64>| one.begin_ns.saturating_add_unsigned(ns.unwrap_or(0)).clamp(begin, end);
                let asked = after(one.time.receiver_late_ns);
                let first = one.first_data_ns.unwrap_or(end).clamp(asked, end);
                let late = one.time.sender_late_ns.or(one.time.late_ns).unwrap_or(0);
                let ready = first.saturating_sub_unsigned(late).max(asked);
                // NCCL names the queue pair of the sender; elements go there.
                let number = of.cts_queue_pairs.first().or(of.queue_pairs.first()).copied().unwrap_or(0);
                let arguments = [
                    ("Step", one.index),
                    ("Channel", of.channel.unwrap_or(0)),
                    ("TransSize", one.bytes),
                    ("qpNum", number.into()),
                    ("frame", one.first_frame.or(one.cts_frame).unwrap_or(0)),
                ];
                let states = [
                    (sends, "SendPeerWait", begin, asked),
                    (sends, "SendGpuWait", ready, first),
                    (sends, "SendWait", first, end),
                    (receives, "RecvGpuWait", begin, asked),
                    (receives, "RecvWait", asked, end),
                ];
                for (track, name, from, to) in states.into_iter().filter(|(.., from, to)| from < to) {
                    self.slice(track, name, (from, to), &arguments)?;
                }
            }
        }
        Ok(())
    }
}
