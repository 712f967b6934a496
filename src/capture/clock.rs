//! The clocks of a pcapng file's interfaces.

use super::{Interface, Time};

/// How an interface counts time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    tick: Tick,
    /// Nanoseconds to add.
    offset: i64,
}

#[derive(Clone, Copy, Debug)]
enum Tick {
    /// A tick is so many nanoseconds.
    Nanos(u64),
    /// So many ticks are a nanosecond.
    PerNano(u64),
    /// 2 to this power ticks are a second.
    Binary(u32),
}

impl Clock {
    /// That of an interface. A step that is neither a power of ten nor of two is shown in nanoseconds.
    pub(super) fn of(interface: &Interface) -> Clock {
        let step = interface.resolution_ns.max(1);
        let binary = (1..30).find(|&exponent| 1_000_000_000 >> exponent == step);
        let resolution = match (step.ilog10(), binary) {
            (zeros, _) if 10u32.pow(zeros) == step => 9u8.saturating_sub(zeros as u8),
            (_, Some(exponent)) => 0x80 | exponent,
            _ => 9,
        };
        Clock::new(resolution, interface.offset_s)
    }

    /// From the options if_tsresol and if_tsoffset.
    pub(super) fn new(resolution: u8, seconds: i64) -> Clock {
        let exponent = u32::from(resolution & 0x7f);
        let tick = match exponent {
            _ if resolution & 0x80 != 0 => Tick::Binary(exponent),
            0..=9 => Tick::Nanos(10u64.pow(9 - exponent)),
            10..=28 => Tick::PerNano(10u64.pow(exponent - 9)),
            // One nanosecond would have more ticks than 64 bits can count.
            _ => Tick::PerNano(u64::MAX),
        };
        Clock { tick, offset: seconds.saturating_mul(1_000_000_000) }
    }

    /// 64 bits of nanoseconds end in the year 2262. A later time becomes the last one.
    #[inline(always)]
    pub(super) fn time(self, ticks: u64) -> Time {
        let since = match self.tick {
            Tick::Nanos(nanos) => ticks.saturating_mul(nanos),
            Tick::PerNano(count) => ticks / count,
            Tick::Binary(exponent) => {
                ((u128::from(ticks) * 1_000_000_000) >> exponent).min(u64::MAX.into()) as u64
            }
        };
        Time(i64::try_from(since).unwrap_or(i64::MAX).saturating_add(self.offset))
    }

    pub(super) fn tick_ns(self) -> u32 {
        match self.tick {
            Tick::Nanos(nanos) => nanos as u32,
            Tick::PerNano(_) => 1,
            Tick::Binary(exponent) => (1_000_000_000u64.checked_shr(exponent).unwrap_or(0) as u32).max(1),
        }
    }
    /// The ticks of a time; the nearest ones, if it is [none of this clock](Clock::has).
    #[inline]
    pub(super) fn ticks(self, time: Time) -> u64 {
        let since = u64::try_from(time.0.saturating_sub(self.offset)).unwrap_or(0);
        match self.tick {
            Tick::Nanos(nanos) => since / nanos,
            Tick::PerNano(count) => since.saturating_mul(count),
            Tick::Binary(exponent) => {
                let ticks = (u128::from(since) << exponent.min(64)).div_ceil(1_000_000_000);
                u64::try_from(ticks).unwrap_or(u64::MAX)
            }
        }
    }

    /// Whether this clock can show a time.
    #[inline]
    pub(super) fn has(self, time: Time) -> bool {
        self.time(self.ticks(time)) == time
    }

    /// Seconds to add to each time: the value of if_tsoffset.
    pub(super) fn offset_s(self) -> i64 {
        self.offset / 1_000_000_000
    }

    /// The value of if_tsresol.
    pub(super) fn resolution(self) -> u8 {
        match self.tick {
            Tick::Nanos(nanos) => 9 - nanos.ilog10() as u8,
            Tick::PerNano(count) => 9 + count.ilog10() as u8,
            Tick::Binary(exponent) => 0x80 | exponent as u8,
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/capture_clock.rs"]
mod tests;
