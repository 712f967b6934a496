//! An allocator that counts what a thread asks for.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

/// The system's allocator, counting.
pub struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// What a thread allocated while it did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocated {
    /// How many times.
    pub calls: u64,
    /// The most bytes at one time, over those at the start.
    pub peak: i64,
}

/// What this thread allocates while it does that. What other threads allocate does not count.
pub fn during<T>(work: impl FnOnce() -> T) -> (T, Allocated) {
    let (calls, live) = (CALLS.get(), LIVE.get());
    PEAK.set(live);
    let value = work();
    (value, Allocated { calls: CALLS.get() - calls, peak: PEAK.get() - live })
}

fn count(calls: u64, bytes: i64) {
    // A thread that is ending has nothing left to count with.
    let _ = CALLS.try_with(|n| n.set(n.get() + calls));
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        unsafe { System.realloc(at, layout, size) }
    }
}
