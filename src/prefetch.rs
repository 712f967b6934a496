//! Prefetching: asking for cache lines before they are needed.
//!
//! A processor that waits for memory goes on with some hundred instructions, which is less than a packet takes. A prefetch
//! instruction asks for a cache line, and the processor goes on at once.
//!
//! `unsafe`: the instruction takes any address. It returns nothing and cannot fail. Here each address is that of a borrowed
//! value.
#![allow(unsafe_code)]

/// Bytes of a cache line on nearly all processors.
pub(crate) const LINE: usize = 64;

/// Asks for the cache line that a value begins in.
#[inline(always)]
pub(crate) fn line<T>(of: &T) {
    fetch(std::ptr::from_ref(of).cast());
}

/// Asks for all cache lines of a value.
#[inline(always)]
pub(crate) fn lines<T>(of: &T) {
    let start: *const u8 = std::ptr::from_ref(of).cast();
    (0..size_of::<T>()).step_by(LINE).for_each(|at| fetch(start.wrapping_add(at)));
    // It may begin within a line, and then ends in one more.
    fetch(start.wrapping_add(size_of::<T>().saturating_sub(1)));
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn fetch(at: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: all processors of this architecture have the instruction, and it takes any address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

/// Where the language has no such instruction, memory is asked for when it is needed.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
fn fetch(_: *const u8) {}
