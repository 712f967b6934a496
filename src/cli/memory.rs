//! The memory that this process may use.

use std::{fs, sync::OnceLock};

/// Bytes that each of so many analyses may take: its share of those asked for, and of three quarters of what there is. A table
/// that does not fit would end the process without a reason given.
pub(super) fn for_each(asked: u64, analyses: usize) -> usize {
    let fit = limit().map_or(asked, |bytes| asked.min(bytes / 4 * 3));
    usize::try_from(fit).unwrap_or(usize::MAX) / analyses.max(1)
}

/// The number of threads: `asked`, or fewer if memory is small. Each thread's allocator reserves some.
pub(super) fn threads_that_fit(asked: usize) -> usize {
    const EACH: u64 = 256 << 20;
    let fit = limit().map_or(u64::MAX, |bytes| (bytes / EACH).max(1));
    asked.min(usize::try_from(fit).unwrap_or(usize::MAX))
}

/// The smallest of the process's limit, its control group's limit, and the machine's memory, in bytes; `None` if the system
/// states none.
fn limit() -> Option<u64> {
    static LIMIT: OnceLock<Option<u64>> = OnceLock::new();
    *LIMIT.get_or_init(find_limit)
}

fn find_limit() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let group = read("/sys/fs/cgroup/memory.max").trim().parse().ok();
    let limits = [address_space(&read("/proc/self/limits")), group, total(&read("/proc/meminfo"))];
    limits.into_iter().flatten().min()
}

fn address_space(limits: &str) -> Option<u64> {
    let soft_and_hard = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    soft_and_hard.split_whitespace().next()?.parse().ok()
}

fn total(memory: &str) -> Option<u64> {
    let kib = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    kib.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
#[path = "../../tests/unit/cli_memory.rs"]
mod tests;
