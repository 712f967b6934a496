//! What the counters of a port have counted between the answers that have them.

use std::borrow::Cow;

use crate::wire::{Field, HeaderInfo, Kind, Show};

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
    field: &'static Field,
    /// Which one it is of a field that has several.
    place: Option<u8>,
    pub(super) first: u64,
    pub(super) last: u64,
    /// What was counted between the answers; at least, if it was set to zero meanwhile.
    pub(super) increase: u64,
    /// Times that it was lower than before.
    pub(super) resets: u64,
}

impl Counter {
    /// Its name; with its lane or service level, where there is one for each.
    pub(super) fn name(&self) -> Cow<'static, str> {
        match self.place {
            None => self.field.name.into(),
            Some(place) => format!("{}[{place}]", self.field.name).into(),
        }
    }

    fn value(&self, data: &[u8]) -> u64 {
        match self.place {
            None => self.field.get(data),
            Some(place) => self.field.entries(data).nth(place.into()).unwrap_or(0),
        }
    }

    /// Whether it has its largest value, at which it stays.
    pub(super) fn is_full(&self) -> bool {
        let width = match self.field.show {
            Show::Counts(bits) => bits.into(),
            _ => self.field.width,
        };
        self.last == u64::MAX >> (64 - width.clamp(1, 64))
    }

    /// Units of the counter in bytes, where it counts data: it counts words.
    pub(super) fn bytes(&self) -> Option<u64> {
        DATA.contains(&self.field.name).then(|| self.increase.saturating_mul(4))
    }
}

/// Counters of words of four bytes.
const DATA: [&str; 6] = [
    "port_xmit_data",
    "port_rcv_data",
    "port_xmit_data_sl",
    "port_rcv_data_sl",
    "port_op_rcv_data",
    "port_vl_op_data",
];

/// Whether a field chooses, or is empty, and counts nothing.
fn counts_nothing(field: &Field) -> bool {
    ["reserved", "port_select", "counter_select"].iter().any(|name| field.name.starts_with(name))
}

/// Whether an attribute of performance management is counters of one port, and nothing else.
pub(super) fn has_counters(info: &HeaderInfo) -> bool {
    !matches!(info.kind, Kind::ClassPortInfo | Kind::PortSamplesControl | Kind::PortSamplesResult)
}

impl Counters {
    pub(super) fn new(info: &'static HeaderInfo, time: i64) -> Counters {
        let row = |field, place| Counter { field, place, first: 0, last: 0, increase: 0, resets: 0 };
        let mut rows = Vec::new();
        for field in info.fields.iter().filter(|field| !counts_nothing(field)) {
            match field.show {
                Show::Counts(bits) => {
                    rows.extend((0..field.width / u16::from(bits)).map(|n| row(field, Some(n as u8))))
                }
                _ => rows.push(row(field, None)),
            }
        }
        Counters { rows, samples: 0, span: [time; 2] }
    }

    /// The values of an answer. `on_change` hears of each counter that has another value than before: its name, value and increase.
    pub(super) fn add(
        &mut self,
        data: &[u8],
        time: i64,
        mut on_change: impl FnMut(Cow<'static, str>, u64, u64),
    ) {
        for row in &mut self.rows {
            let value = row.value(data);
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
                on_change(row.name(), value, increase);
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
