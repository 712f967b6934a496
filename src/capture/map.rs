//! A file on disk where the system has it in memory, a piece at a time: nothing is copied.
//!
//! ```text
//! file   -----------|----------------|=====================|---------
//!         given back   looked at      at hand                not yet
//! ```
//! Pages of a piece are asked for together, and given back when the next piece is asked for: so many are held at most, however
//! long the file is.
//!
//! **Files that shrink.** Who looks at a page that its file does not have any more gets a signal, SIGBUS. A handler puts zeros
//! there instead. A record that begins with them has no bytes and is not stepped over: the file is read on from there, and
//! ends too early. What the signal comes for otherwise gets what it got before.
//!
//! **`unsafe`** is to say that the file does not change while it is mapped, which nobody can know. What is lent is lent for as
//! long as frames are shown, and all lengths are checked against it. Who writes into a capture while it is looked at can make
//! one byte look like two; whoever maps files leaves that to them. What it brings is said [where files are
//! read](super::window).
#![allow(unsafe_code)]

use std::{
    ffi::{c_int, c_void},
    fs::File,
    hint::black_box,
    mem::MaybeUninit,
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use memmap2::{Mmap, MmapOptions, UncheckedAdvice};

use crate::fetch::page;

/// Bytes that are asked for, and given back, together: a large page, the whole of one. To split one takes longer than to map it.
const PIECE: usize = 2 << 20;

/// Bytes of which Linux maps the pages it has when somebody looks at one of them (`fault_around_bytes`). Where they are fewer,
/// or it has none, the others come when they are looked at.
const AROUND: usize = 64 << 10;

/// A file in memory.
#[derive(Debug)]
pub(super) struct Map {
    // Goes first: others may get these addresses when the file is not there any more.
    _guarded: Guarded,
    bytes: Mmap,
    /// Up to where they were asked for, and given back.
    asked: usize,
    back: usize,
}

impl Map {
    /// The first `len` bytes of a file; `None` where they cannot be mapped.
    pub(super) fn of(file: &File, len: u64) -> Option<Map> {
        let len = usize::try_from(len).ok()?;
        // SAFETY: see above.
        let bytes = unsafe { MmapOptions::new().len(len).map(file) }.ok()?;
        let guarded = Guarded::new(bytes.as_ptr().addr(), len)?;
        Some(Map { _guarded: guarded, bytes, asked: 0, back: 0 })
    }

    /// The bytes from here on that were asked for: none behind the end, or if they cannot be had.
    pub(super) fn at_hand(&self, at: u64) -> &[u8] {
        usize::try_from(at).ok().and_then(|at| self.bytes.get(at..self.asked)).unwrap_or_default()
    }

    /// Asks for the bytes from here on, if few of them are at hand, and gives back those before.
    pub(super) fn ask(&mut self, at: u64) {
        let len = self.bytes.len();
        let at = usize::try_from(at).map_or(len, |at| at.min(len));
        if self.asked < len && self.asked < at + PIECE / 2 {
            self.ask_on(at);
        }
    }

    fn ask_on(&mut self, at: usize) {
        let back = at - at % PIECE;
        if back > self.back {
            let len = back - self.back;
            // SAFETY: pages of a file that are only read come again if anybody looks at them.
            let _ = unsafe { self.bytes.unchecked_advise_range(UncheckedAdvice::DontNeed, self.back, len) };
            self.back = back;
        }
        let start = at.max(self.asked);
        self.asked = (at + PIECE).next_multiple_of(PIECE).min(self.bytes.len());
        // `MADV_POPULATE_READ` looks up each page once more: 80 to 100 ns of 300 to 530.
        for byte in self.bytes[start..self.asked].iter().step_by(AROUND) {
            black_box(*byte);
        }
    }
}

/// Addresses for which there are zeros when a file has no bytes there any more.
#[derive(Debug)]
struct Guarded(&'static Range);

/// From one address up to another; none if that is 0.
#[derive(Debug)]
struct Range {
    from: AtomicUsize,
    to: AtomicUsize,
}

/// All of them. Who finds none free does not map.
static RANGES: [Range; 64] = [const { Range { from: AtomicUsize::new(0), to: AtomicUsize::new(0) } }; 64];

impl Guarded {
    fn new(from: usize, len: usize) -> Option<Guarded> {
        if !is_handled() {
            return None;
        }
        let is_taken = |range: &&Range| {
            range.from.compare_exchange(0, from, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let range = RANGES.iter().find(is_taken)?;
        range.to.store(from + len.next_multiple_of(page()), Ordering::Release);
        Some(Guarded(range))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.0.to.store(0, Ordering::Release);
        self.0.from.store(0, Ordering::Release);
    }
}

/// What handled the signal before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Sees to it that the signal is handled, once.
fn is_handled() -> bool {
    static IS_HANDLED: OnceLock<bool> = OnceLock::new();
    *IS_HANDLED.get_or_init(|| {
        page();
        let mut before = MaybeUninit::uninit();
        // SAFETY: all zeros is an action; the handler does what may be done in one: it reads numbers, and maps.
        unsafe {
            if libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) != 0 {
                return false;
            }
            BEFORE.get_or_init(|| before.assume_init());
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) == 0
        }
    })
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system tells the address.
    let at = unsafe { (*info).si_addr() }.addr();
    let upto = RANGES.iter().find_map(|range| {
        let to = range.to.load(Ordering::Acquire);
        (range.from.load(Ordering::Acquire)..to).contains(&at).then_some(to)
    });
    if !upto.is_some_and(|upto| put_zeros(at - at % page(), upto)) {
        pass_on(signal, info, context);
    }
}

fn put_zeros(from: usize, to: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: nothing but the mapping of the file is there, and who looks at it expects any bytes. What the interrupted
    // code found in `errno` is still there afterwards.
    unsafe {
        let errno = *libc::__errno_location();
        let at = libc::mmap(ptr::without_provenance_mut(from), to - from, libc::PROT_READ, flags, -1, 0);
        *libc::__errno_location() = errno;
        at != libc::MAP_FAILED
    }
}

fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: what was to be called is called as it asked for. Otherwise the signal comes again, and does what it does.
    unsafe {
        match BEFORE.get() {
            Some(before) if !matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) => {
                if before.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                        std::mem::transmute(before.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(before.sa_sigaction);
                    handler(signal);
                }
            }
            _ => {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{env, hint::black_box, os::unix::process::ExitStatusExt, process::Command};

    /// A file of some pages that becomes empty.
    fn cut(is_guarded: bool) -> u8 {
        let path = env::temp_dir().join(format!("rdmawire-map-{}-{is_guarded}", std::process::id()));
        std::fs::write(&path, [7; 40_000]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut map = Map::of(&file, 40_000).unwrap();
        map.ask(0);
        assert_eq!(map.at_hand(39_999), [7]);
        // SAFETY: what comes of it is what is tested.
        let other = unsafe { MmapOptions::new().map(&file) }.unwrap();
        file.set_len(0).unwrap();
        black_box(if is_guarded { map.at_hand(20_000)[0] } else { other[20_000] })
    }

    #[test]
    fn there_are_zeros_where_a_file_was() {
        assert_eq!(cut(true), 0);
    }

    #[test]
    #[ignore = "it dies; the next one has it run"]
    fn dies() {
        cut(false);
    }

    #[test]
    fn who_else_looks_where_a_file_was_gets_the_signal() {
        let mut test = Command::new(env::current_exe().unwrap());
        let status =
            test.args(["--exact", "capture::map::tests::dies", "--ignored"]).output().unwrap().status;
        assert_eq!(status.signal(), Some(libc::SIGBUS));
    }
}
