//! Tests of `src/cli/memory.rs`.

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
    assert!(for_each(1, 0) == 1 && for_each(u64::MAX, 2) <= usize::MAX / 2);
}
