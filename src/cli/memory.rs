//! How much memory there is for this process.

use std::{fs, sync::OnceLock};

/// Bytes that a flow takes at most times: less than 1 KB where it has few packets, some 4 KB where it has many. Its report
/// is written as it is made, and takes none.
const PER_FLOW: u64 = 4096;

/// As many flows as fit into memory, of those asked for in each of so many analyses: a table that does not fit would end the process, and
/// not say why.
pub(super) fn flows_that_fit(asked: usize, analyses: usize) -> usize {
    let Some(bytes) = limit() else { return asked };
    // Tables double.
    let fit = (bytes / PER_FLOW / analyses.max(1) as u64).max(1).ilog2();
    asked.min(1usize.checked_shl(fit).unwrap_or(usize::MAX))
}

/// As many threads as have memory to work in: each reserves some for itself that others do not get.
pub(super) fn threads_that_fit(asked: usize) -> usize {
    const EACH: u64 = 256 << 20;
    let fit = limit().map_or(u64::MAX, |bytes| (bytes / EACH).max(1));
    asked.min(usize::try_from(fit).unwrap_or(usize::MAX))
}

/// Bytes: the least of what was set for the process, what was set for its group, and what the machine has. None where the system does
/// not say.
fn limit() -> Option<u64> {
    static LIMIT: OnceLock<Option<u64>> = OnceLock::new();
    *LIMIT.get_or_init(find_limit)
}

fn find_limit() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    [
        address_space(&read("/proc/self/limits")),
        read("/sys/fs/cgroup/memory.max").trim().parse().ok(),
        total(&read("/proc/meminfo")),
    ]
    .into_iter()
    .flatten()
    .min()
}

fn address_space(limits: &str) -> Option<u64> {
    limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

fn total(memory: &str) -> Option<u64> {
    let kib = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    kib.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says() {
        let limits = |soft: &str| {
            format!(
                "Limit  Soft Limit  Hard Limit  Units\nMax data size  1  2  bytes\nMax address space         {soft}            unlimited            bytes\n"
            )
        };
        assert_eq!(address_space(&limits("536870912")), Some(512 << 20));
        assert_eq!(address_space(&limits("unlimited")), None);
        assert_eq!(total("MemTotal:       24683520 kB\nMemFree: 1 kB\n"), Some(24_683_520 << 10));
        assert_eq!((address_space(""), total("MemTotal: many")), (None, None));
        assert!(flows_that_fit(1, 0) == 1 && flows_that_fit(usize::MAX, usize::MAX) >= 1);
    }
}
