//! What the counters of a port have counted between the answers that have them.

use crate::wire::{Field, HeaderInfo};

/// The counters of a port, as far as answers have them.
#[derive(Debug)]
pub(super) struct Counters {
    rows: Vec<Counter>,
    pub(super) samples: u64,
    pub(super) span: [i64; 2],
}

/// A counter.
#[derive(Debug)]
pub(super) struct Counter {
    pub(super) field: &'static Field,
    pub(super) first: u64,
    pub(super) last: u64,
    /// What was counted between the answers; at least, if it was set to zero meanwhile.
    pub(super) increase: u64,
    /// Times that it was lower than before.
    pub(super) resets: u64,
}

impl Counter {
    /// Whether it has its largest value, at which it stays.
    pub(super) fn is_full(&self) -> bool {
        self.last == u64::MAX >> (64 - self.field.width.clamp(1, 64))
    }

    /// Units of the counter in bytes, where it counts data: it counts words.
    pub(super) fn bytes(&self) -> Option<u64> {
        matches!(self.field.name, "port_xmit_data" | "port_rcv_data").then(|| self.increase.saturating_mul(4))
    }
}

/// Fields in front that choose, and count nothing.
const CHOOSING: [&str; 4] = ["reserved", "port_select", "counter_select", "counter_select2"];

impl Counters {
    pub(super) fn new(info: &'static HeaderInfo, time: i64) -> Counters {
        let fields = info.fields.iter().filter(|field| !CHOOSING.contains(&field.name));
        let rows = fields.map(|field| Counter { field, first: 0, last: 0, increase: 0, resets: 0 }).collect();
        Counters { rows, samples: 0, span: [time; 2] }
    }

    /// The values of an answer. `on_change` hears of each counter that has another value than before: its field, value and increase.
    pub(super) fn add(
        &mut self,
        data: &[u8],
        time: i64,
        mut on_change: impl FnMut(&'static Field, u64, u64),
    ) {
        for row in &mut self.rows {
            let value = row.field.get(data);
            if self.samples == 0 {
                (row.first, row.last) = (value, value);
                continue;
            }
            let increase = match value.checked_sub(row.last) {
                Some(increase) => increase,
                None => {
                    row.resets += 1;
                    value
                }
            };
            if value != row.last {
                on_change(row.field, value, increase);
            }
            (row.last, row.increase) = (value, row.increase.saturating_add(increase));
        }
        self.samples += 1;
        self.span = [self.span[0].min(time), self.span[1].max(time)];
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Counter> {
        self.rows.iter()
    }
}
