//! Mapped files: the one place here with `unsafe`, and what it takes to be allowed.
//!
//! **A file that shrinks.** Touching a page of a mapping behind the file's end raises SIGBUS. The handler here, as
//! systemd's `sigbus.c` does, puts a page of zeros in the place of the one that is gone and marks the mapping as lost;
//! [`Map::is_lost`] is asked for every record, so the reader ends with an error. Faults that are not ours go to
//! whoever handled them before. The rest of the last page reads as zeros without a signal: where zeros are met,
//! [`Map::has_shrunk`] asks for the file's length.
//!
//! **A file that is written to** while it is mapped changes bytes behind a `&[u8]`. Every length is therefore read
//! once, into a local, and checked there; nothing else depends on bytes staying what they were.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, compiler_fence};
use std::sync::{Mutex, Once, PoisonError};

/// A file in memory, read only.
pub(super) struct Map {
    start: NonNull<u8>,
    len: usize,
    slot: &'static Slot,
    file: File,
}

// SAFETY: the mapping belongs to this value alone and is read only.
unsafe impl Send for Map {}
// SAFETY: as above; the slot's fields are atomic.
unsafe impl Sync for Map {}

impl Map {
    /// Maps the first `len` bytes of `file`; gives the file back if that cannot be had.
    pub(super) fn new(file: File, len: u64) -> Result<Map, File> {
        let Some(len) = usize::try_from(len).ok().filter(|&len| len > 0 && is_affordable(len)) else {
            return Err(file);
        };
        if !watch() {
            return Err(file);
        }
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe {
            libc::mmap(ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(file);
        }
        let Some(nonnull) = NonNull::new(start.cast::<u8>()) else { return Err(file) };
        match claim(start as usize, len) {
            Some(slot) => Ok(Map { start: nonnull, len, slot, file }),
            None => {
                // SAFETY: mapped above, not handed out.
                unsafe { libc::munmap(start, len) };
                Err(file)
            }
        }
    }

    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is as long as `self` and `len` bytes long; a page that goes away is replaced by the
        // handler before anything sees it.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Asks for the pages of a range together: one call instead of a fault for every 16 pages.
    pub(super) fn populate(&self, from: usize, to: usize) {
        let from = from & !(page_size() - 1);
        if to <= from || to > self.len {
            return;
        }
        // SAFETY: a hint within the mapping. Kernels before 5.14 refuse it, and then the pages come one by one.
        unsafe {
            libc::madvise(self.start.as_ptr().add(from).cast(), to - from, libc::MADV_POPULATE_READ);
        }
    }

    /// Asks for the cache line with byte `at`. Anything may be asked for: it is a hint.
    #[inline(always)]
    pub(super) fn prefetch(&self, at: usize) {
        let line = self.start.as_ptr().wrapping_add(at);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch accesses nothing and never faults, wherever it points.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(line.cast());
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{line}]", line = in(reg) line, options(nostack, readonly, preserves_flags));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = line;
    }

    /// Whether a page was missing when it was read.
    #[inline(always)]
    pub(super) fn is_lost(&self) -> bool {
        // The handler runs on the thread that read: it is enough that the compiler keeps the order.
        compiler_fence(Ordering::SeqCst);
        self.slot.lost.load(Ordering::Relaxed)
    }

    /// Whether the file is shorter than its mapping.
    pub(super) fn has_shrunk(&self) -> bool {
        self.is_lost() || self.file.metadata().is_ok_and(|now| now.len() < self.len as u64)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        release(self.slot);
        // SAFETY: mapped in `new`; every borrow of the bytes has ended with `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Whether there is room for the mapping under a limit on addresses (`ulimit -v`), with most of it left for others.
fn is_affordable(len: usize) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes the structure it is given.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } == 0;
    known && (limit.rlim_cur == libc::RLIM_INFINITY || len as u64 <= limit.rlim_cur / 4)
}

/// One mapping, as the handler knows it. It belongs to nobody while `start` is 0.
struct Slot {
    start: AtomicUsize,
    len: AtomicUsize,
    lost: AtomicBool,
}

/// As many files as can be mapped at a time; any more are read through a window.
static SLOTS: [Slot; 64] =
    [const { Slot { start: AtomicUsize::new(0), len: AtomicUsize::new(0), lost: AtomicBool::new(false) } }; 64];
/// Held to claim and release slots. The handler only loads.
static CLAIMS: Mutex<()> = Mutex::new(());
/// Who handled SIGBUS before.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());
static PAGE: AtomicUsize = AtomicUsize::new(0);

fn claim(start: usize, len: usize) -> Option<&'static Slot> {
    let _claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
    let slot = SLOTS.iter().find(|slot| slot.start.load(Ordering::Relaxed) == 0)?;
    slot.len.store(len, Ordering::Relaxed);
    slot.lost.store(false, Ordering::Relaxed);
    slot.start.store(start, Ordering::Release);
    Some(slot)
}

fn release(slot: &Slot) {
    let _claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
    slot.start.store(0, Ordering::Release);
}

fn page_size() -> usize {
    PAGE.load(Ordering::Relaxed).max(1)
}

/// Installs the handler, once in the life of the process; false if that is refused.
fn watch() -> bool {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: sysconf reads a constant. `sigaction` is plain data for which zeros are valid, is filled in before
        // it is used, and the handler does only what may be done in a signal handler. BEFORE is set before the
        // handler can run.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE);
            let mut before: libc::sigaction = std::mem::zeroed();
            if page <= 0 || libc::sigaction(libc::SIGBUS, ptr::null(), &mut before) != 0 {
                return;
            }
            BEFORE.store(Box::into_raw(Box::new(before)), Ordering::Release);
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_bus_error;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            if libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) == 0 {
                PAGE.store(page as usize, Ordering::Release);
            }
        }
    });
    PAGE.load(Ordering::Acquire) != 0
}

/// Only atomics and system calls here: this interrupts anything.
extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid `info`. The page that is replaced lies within a mapping of ours which cannot
    // go away, as the thread that faulted is reading it. BEFORE points to a leaked box. errno is the thread's own.
    unsafe {
        let errno = *libc::__errno_location();
        // A positive code comes from the kernel; others are sent by processes and name no address.
        if (*info).si_code > 0 {
            let address = (*info).si_addr() as usize;
            let page = page_size();
            for slot in &SLOTS {
                let start = slot.start.load(Ordering::Acquire);
                if start == 0 || address < start || address - start >= slot.len.load(Ordering::Relaxed) {
                    continue;
                }
                let zeros = libc::mmap(
                    (address & !(page - 1)) as *mut libc::c_void,
                    page,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                );
                if zeros != libc::MAP_FAILED {
                    slot.lost.store(true, Ordering::Relaxed);
                    *libc::__errno_location() = errno;
                    return;
                }
            }
        }
        // Not ours: put back who was here before. The instruction faults again and reaches them; a signal that was
        // sent has to be sent again.
        let before = BEFORE.load(Ordering::Acquire);
        if before.is_null() {
            libc::signal(signal, libc::SIG_DFL);
        } else {
            libc::sigaction(signal, before, ptr::null_mut());
        }
        if (*info).si_code <= 0 {
            libc::raise(signal);
        }
        *libc::__errno_location() = errno;
    }
}
