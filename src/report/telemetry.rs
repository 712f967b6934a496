//! What switches wrote into packets on their way.

use super::{
    Summary, TelemetryForm,
    units::{count, duration, several},
};

records! {
    /// What one switch wrote into packets that left by one port and queue.
    pub struct TelemetryHop {
        /// How it was written.
        pub form: TelemetryForm,
        /// The switch, as it is numbered there.
        pub device: Option<u32>,
        /// The port by which they came.
        pub ingress_port: Option<u32>,
        /// The port by which they left.
        pub egress_port: Option<u32>,
        /// The queue.
        pub queue: Option<u8>,
        /// The highest time to live that their IP headers had there: a switch with a lower one is behind.
        pub ttl: Option<u8>,
        /// Packets; one that was captured twice counts twice.
        pub packets: u64,
        /// Those that left with a mark of congestion.
        pub marked: Option<u64>,
        /// How long they were in the switch, in nanoseconds; of INT as its domain defines it, which is nanoseconds as a rule.
        pub delay_ns: Option<Summary>,
        /// How much was in the queue, in units of the switch: cells of its buffer, as a rule.
        pub queue_depth: Option<Summary>,
        /// The first of these packets, from 1.
        pub first_frame: u64,
    }

    /// What tags of congestion signaling (CSIG) said of the worst place of paths.
    pub struct CsigRow {
        /// What the value is.
        pub signal: u8,
        /// That in words.
        pub signal_name: Option<String>,
        /// Which port has the value: locator metadata, as the operator numbers it.
        pub locator: u8,
        /// Packets; one that was captured twice counts twice.
        pub packets: u64,
        /// Those whose tag says that switches leave it as it is: they were trimmed.
        pub no_update: u64,
        /// The value, in steps that the operator defines.
        pub value: Option<Summary>,
        /// The first of these packets, from 1.
        pub first_frame: u64,
    }
}

fn three(values: &Summary, show: impl Fn(u64) -> String) -> String {
    let [least, median, most] = [values.min, values.p50, values.max].map(show);
    format!("{least} to {most}, median {median}")
}

impl TelemetryHop {
    /// What packets met there, in a sentence.
    pub fn sentence(&self) -> String {
        let mut text = self.form.words().to_owned();
        if let Some(device) = self.device {
            text += &format!(" switch {device:#x}");
        }
        for (what, value) in [
            ("from port", self.ingress_port),
            ("by port", self.egress_port),
            ("queue", self.queue.map(u32::from)),
        ] {
            if let Some(value) = value {
                text += &format!(", {what} {value}");
            }
        }
        text += &format!(": {}", several(self.packets, "packet"));
        if let Some(delay) = &self.delay_ns {
            text += &format!("; {} in the switch", three(delay, duration));
        }
        if let Some(depth) = &self.queue_depth {
            text += &format!("; {} in the queue", three(depth, count));
        }
        if let Some(marked) = self.marked.filter(|marked| *marked > 0) {
            text += &format!("; {} marked", count(marked));
        }
        text
    }
}

impl CsigRow {
    /// What the tags said, in a sentence.
    pub fn sentence(&self) -> String {
        let signal = self.signal_name.clone().unwrap_or_else(|| format!("signal {}", self.signal));
        let mut text =
            format!("CSIG {signal}, locator {}: {}", self.locator, several(self.packets, "packet"));
        if let Some(value) = &self.value {
            text += &format!("; value {}", three(value, count));
        }
        if self.no_update > 0 {
            text += &format!("; {} of trimmed packets", count(self.no_update));
        }
        text
    }
}
