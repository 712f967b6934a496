//! DCQCN's reaction point: how a sender changes its rate with CNPs. A model, for scenarios and for what-if.
//!
//! After Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3. Adapters differ in detail:
//! [`SETS`] has parameters as they are published, each with its source.
//!
//! ```
//! use rdmawire::dcqcn::{PAPER, ReactionPoint};
//! let mut sender = ReactionPoint::new(&PAPER, 100_000_000_000);
//! sender.cnp(1_000);
//! assert_eq!(sender.rate(1_000), 50_000_000_000); // the first CNP halves the rate
//! assert!(sender.rate(200_000) > 80_000_000_000); // fast recovery
//! ```

/// Parameters of a reaction point.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameters {
    /// Its name.
    pub name: &'static str,
    /// Where the values are from.
    pub source: &'static str,
    /// Gain of alpha, the estimate of congestion: 0 to 1.
    pub gain: f64,
    /// Time between two updates of alpha, in nanoseconds.
    pub alpha_ns: u64,
    /// Least time between two decreases, in nanoseconds.
    pub decrease_ns: u64,
    /// The most that one decrease takes away of the rate: 0 to 1.
    pub most_decrease: f64,
    /// Time between two increases, in nanoseconds.
    pub increase_ns: u64,
    /// Bytes between two increases; 0: time alone counts.
    pub increase_bytes: u64,
    /// Increases towards the old rate before additive ones.
    pub recoveries: u32,
    /// Additive increase, in bits per second.
    pub additive_bps: u64,
    /// Increase after many additive ones, in bits per second.
    pub hyper_bps: u64,
    /// The lowest rate, in bits per second.
    pub least_bps: u64,
    /// Whether a decrease that follows a decrease lowers the target too.
    pub clamps: bool,
}

/// The paper's parameters: section 5 of Zhu et al., SIGCOMM 2015. The hyper increase and the lowest rate are not in its table.
pub const PAPER: Parameters = Parameters {
    name: "paper",
    source: "Zhu et al., SIGCOMM 2015: g 1/256, timers 55 µs, 10 MB, F 5, 40 Mbit/s",
    gain: 1.0 / 256.0,
    alpha_ns: 55_000,
    decrease_ns: 0,
    most_decrease: 0.5,
    increase_ns: 55_000,
    increase_bytes: 10_000_000,
    recoveries: 5,
    additive_bps: 40_000_000,
    hyper_bps: 400_000_000,
    least_bps: 10_000_000,
    clamps: true,
};

/// Defaults of the HPCC authors' simulator in its mode for Mellanox adapters.
pub const HPCC: Parameters = Parameters {
    name: "hpcc",
    source: "defaults of HPCC's ns-3 simulator (rdma-hw.cc), mode 1: g 1/16, decrease 4 µs, alpha 55 µs, increase 1.5 ms, F 5, 5 and 50 Mbit/s",
    gain: 1.0 / 16.0,
    alpha_ns: 55_000,
    decrease_ns: 4_000,
    most_decrease: 0.5,
    increase_ns: 1_500_000,
    increase_bytes: 0,
    recoveries: 5,
    additive_bps: 5_000_000,
    hyper_bps: 50_000_000,
    least_bps: 100_000_000,
    clamps: false,
};

/// NVIDIA's documented defaults of the gain, of alpha's period, of the decrease. The values of the increase are MLNX_OFED's as users
/// read them, without a document.
pub const NVIDIA: Parameters = Parameters {
    name: "nvidia",
    source: "NVIDIA DOCA and MLNX_OFED: dce_tcp_g 1019/1024, dce_tcp_rtt 1 µs, rate_reduce_monitor_period 4 µs, rpg_min_dec_fac 50 %, rpg_min_rate 1 Mbit/s; rpg_time_reset 300 µs, rpg_byte_reset 32767, rpg_threshold 1, 5 and 50 Mbit/s are not documented",
    gain: 5.0 / 1024.0,
    alpha_ns: 1_000,
    decrease_ns: 4_000,
    most_decrease: 0.5,
    increase_ns: 300_000,
    increase_bytes: 32_767,
    recoveries: 1,
    additive_bps: 5_000_000,
    hyper_bps: 50_000_000,
    least_bps: 1_000_000,
    clamps: true,
};

/// All parameter sets.
pub static SETS: [&Parameters; 3] = [&PAPER, &HPCC, &NVIDIA];

impl Parameters {
    /// The set with this name.
    pub fn by_name(name: &str) -> Option<&'static Parameters> {
        SETS.into_iter().find(|set| set.name == name)
    }
}

/// A sender. Times are in nanoseconds from any beginning, and do not decrease. It sends as fast as it may: the bytes that cause increases
/// are those of its rate.
#[derive(Clone, Debug)]
pub struct ReactionPoint {
    set: &'static Parameters,
    line: f64,
    rate: f64,
    target: f64,
    alpha: f64,
    now: u64,
    /// There was a CNP since alpha was updated; since the rate was decreased.
    has_cnp: bool,
    is_due: bool,
    next_alpha: u64,
    may_decrease: u64,
    next_increase: u64,
    /// Bytes until the next increase.
    bytes_left: f64,
    /// Increases by time and by bytes since the last decrease.
    by_time: u32,
    by_bytes: u32,
    is_limited: bool,
}

impl ReactionPoint {
    /// A sender that was not notified yet, on a line of this speed in bits per second.
    pub fn new(set: &'static Parameters, line_bps: u64) -> ReactionPoint {
        let line = line_bps as f64;
        ReactionPoint {
            set,
            line,
            rate: line,
            target: line,
            alpha: 1.0,
            now: 0,
            has_cnp: false,
            is_due: false,
            next_alpha: 0,
            may_decrease: 0,
            next_increase: 0,
            bytes_left: 0.0,
            by_time: 0,
            by_bytes: 0,
            is_limited: false,
        }
    }

    /// A CNP comes.
    pub fn cnp(&mut self, time: u64) {
        self.advance(time);
        if !self.is_limited {
            self.is_limited = true;
            self.alpha = 1.0;
            (self.rate, self.target) = (self.line, self.line);
            self.next_alpha = time + self.set.alpha_ns;
            self.may_decrease = time;
        }
        (self.has_cnp, self.is_due) = (true, true);
        if time >= self.may_decrease {
            self.decrease(time);
        }
    }

    /// The rate that it may send at, in bits per second.
    pub fn rate(&mut self, time: u64) -> u64 {
        self.advance(time);
        self.rate as u64
    }

    /// Time passes.
    fn advance(&mut self, time: u64) {
        while self.is_limited {
            let until_bytes = match self.set.increase_bytes {
                0 => u64::MAX,
                _ => self.now.saturating_add((self.bytes_left * 8e9 / self.rate) as u64 + 1),
            };
            let decrease = if self.is_due { self.may_decrease } else { u64::MAX };
            let next = self.next_alpha.min(self.next_increase).min(until_bytes).min(decrease);
            if next > time {
                break;
            }
            self.go_to(next);
            if next == decrease {
                self.decrease(next);
            } else if next == self.next_alpha {
                // All updates before anything else happens, at once.
                let until = self.next_increase.min(until_bytes).min(decrease).min(time);
                let more = until.saturating_sub(next) / self.set.alpha_ns;
                let gain = self.set.gain;
                self.alpha = (1.0 - gain) * self.alpha + if self.has_cnp { gain } else { 0.0 };
                self.alpha *= (1.0 - gain).powf(more as f64);
                self.has_cnp = false;
                self.next_alpha += self.set.alpha_ns * (more + 1);
            } else if next == self.next_increase {
                self.by_time += 1;
                self.next_increase += self.set.increase_ns;
                self.increase();
            } else {
                self.by_bytes += 1;
                self.bytes_left = self.set.increase_bytes as f64;
                self.increase();
            }
            // Back at the line's speed, it is as if there had been no CNP.
            self.is_limited = self.rate < self.line || self.is_due || self.has_cnp;
        }
        self.go_to(time);
    }

    fn go_to(&mut self, time: u64) {
        let since = time.saturating_sub(self.now);
        self.bytes_left -= self.rate * since as f64 / 8e9;
        self.now = self.now.max(time);
    }

    fn decrease(&mut self, time: u64) {
        if self.set.clamps || self.by_time + self.by_bytes > 0 || self.target < self.rate {
            self.target = self.rate;
        }
        let share = (self.alpha / 2.0).min(self.set.most_decrease);
        self.rate = (self.rate * (1.0 - share)).max(self.set.least_bps as f64).min(self.line);
        (self.by_time, self.by_bytes, self.is_due) = (0, 0, false);
        self.may_decrease = time + self.set.decrease_ns;
        self.next_increase = time + self.set.increase_ns;
        self.bytes_left = self.set.increase_bytes as f64;
    }

    fn increase(&mut self) {
        let (most, least) = (self.by_time.max(self.by_bytes), self.by_time.min(self.by_bytes));
        let after = if self.set.increase_bytes == 0 { most } else { least };
        if after > self.set.recoveries {
            self.target += self.set.hyper_bps as f64;
        } else if most >= self.set.recoveries {
            self.target += self.set.additive_bps as f64;
        }
        self.target = self.target.min(self.line);
        self.rate = f64::midpoint(self.rate, self.target);
        // Halving the distance never ends.
        if self.line - self.rate < self.line / 1000.0 && self.target >= self.line {
            self.rate = self.line;
        }
    }
}
