//! What switches wrote into packets on their way: delays and queues by hop, tags of congestion.

use std::collections::BTreeMap;

use crate::{
    analyze::track::distribution::Distribution,
    dissect::{Dissection, Hop, Telemetry},
    heap::heap,
    in_order::InOrder,
    report::{CsigRow, TelemetryForm, TelemetryHop},
    wire::{Bits, CsigSignal, CsigTag, Show},
};

/// Hops that are told apart, and kinds of tags.
const MAX_HOPS: usize = 1024;
const MAX_TAGS: usize = 256;
/// Where there are more hops than this, only so many samples of each are kept as they are.
const FEW_HOPS: usize = 64;
const FEW_SAMPLES: u64 = 1024;

/// All of them.
#[derive(Default, crate::stored::Stored)]
pub(crate) struct Written {
    hops: BTreeMap<Key, Seen>,
    /// By signal and locator.
    tags: BTreeMap<(u8, u8), Tagged>,
}

/// Which switch, by which ports and queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, crate::stored::Stored)]
struct Key {
    form: Telemetry,
    device: Option<u32>,
    ingress: Option<u32>,
    egress: Option<u32>,
    queue: Option<u8>,
}

#[derive(Default, crate::stored::Stored)]
struct Seen {
    packets: u64,
    marked: Option<u64>,
    first_frame: u64,
    ttl: Option<u8>,
    delay: Distribution,
    depth: Distribution,
}

#[derive(Default, crate::stored::Stored)]
struct Tagged {
    packets: u64,
    no_update: u64,
    first_frame: u64,
    value: Distribution,
}

heap! {
    Written { hops, tags }
    Key {}
    Seen { delay, depth }
    Tagged { value }
}

impl Written {
    /// A packet that has something of that kind; `frame` is its number.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_packet(&mut self, d: &Dissection<'_>, frame: u64) {
        if let Some(tag) = d.get::<CsigTag>() {
            let key = (tag.signal().0, tag.locator());
            if self.tags.len() < MAX_TAGS || self.tags.contains_key(&key) {
                let seen = self
                    .tags
                    .entry(key)
                    .or_insert_with(|| Tagged { first_frame: frame, ..Tagged::default() });
                seen.packets += 1;
                seen.no_update += u64::from(tag.no_update());
                seen.value.add(tag.value().into());
            }
        }
        let form = d.telemetry().filter(|form| *form != Telemetry::Csig);
        if let Some(form) = form {
            d.hops().for_each(|hop| self.on_hop(form, hop, frame));
        }
    }

    fn on_hop(&mut self, form: Telemetry, hop: Hop, frame: u64) {
        let Hop { device, ingress, egress, queue, .. } = hop;
        let key = Key { form, device, ingress, egress, queue };
        if self.hops.len() >= MAX_HOPS && !self.hops.contains_key(&key) {
            return;
        }
        let are_many = self.hops.len() > FEW_HOPS;
        let seen = self.hops.entry(key).or_insert_with(|| Seen { first_frame: frame, ..Seen::default() });
        seen.packets += 1;
        if are_many && seen.packets.is_multiple_of(FEW_SAMPLES) {
            seen.delay.coarsen();
            seen.depth.coarsen();
        }
        if let Some(is_marked) = hop.is_marked {
            *seen.marked.get_or_insert(0) += u64::from(is_marked);
        }
        seen.ttl = seen.ttl.max(hop.ttl);
        if let Some(delay) = hop.delay {
            seen.delay.add(delay.into());
        }
        if let Some(depth) = hop.queue_depth {
            seen.depth.add(depth.into());
        }
    }

    /// Hops, those with the longest delays first; tags, most packets first.
    pub(crate) fn section(&self) -> (Vec<TelemetryHop>, Vec<CsigRow>) {
        let hop = |(key, seen): (&Key, &Seen)| TelemetryHop {
            form: match key.form {
                Telemetry::Int => TelemetryForm::Int,
                Telemetry::Ifa | Telemetry::Csig => TelemetryForm::Ifa,
            },
            device: key.device,
            ingress_port: key.ingress,
            egress_port: key.egress,
            queue: key.queue,
            ttl: seen.ttl,
            packets: seen.packets,
            marked: seen.marked,
            delay_ns: seen.delay.summary(),
            queue_depth: seen.depth.summary(),
            first_frame: seen.first_frame,
        };
        let name = |signal: u8| match CsigSignal::SHOW {
            Show::Named(name) => name(signal.into()).map(str::to_owned),
            _ => None,
        };
        let tag = |(&(signal, locator), seen): (&(u8, u8), &Tagged)| CsigRow {
            signal,
            signal_name: name(signal),
            locator,
            packets: seen.packets,
            no_update: seen.no_update,
            value: seen.value.summary(),
            first_frame: seen.first_frame,
        };
        let mut hops: Vec<_> = self.hops.iter().map(hop).collect();
        let delay = |hop: &TelemetryHop| hop.delay_ns.map_or((0, 0), |delay| (delay.p99, delay.max));
        hops.order_by_key(|hop| std::cmp::Reverse(delay(hop)));
        let mut tags: Vec<_> = self.tags.iter().map(tag).collect();
        tags.order_by_key(|tag| std::cmp::Reverse(tag.packets));
        (hops, tags)
    }
}
