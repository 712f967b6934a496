//! Signals that end the program: SIGINT (Ctrl-C), SIGTERM, SIGHUP.
//!
//! The first one asks a command that can to end with what it has; it ends any other. The second one ends each. Unfinished files go.

use std::{
    ops::Deref,
    process,
    sync::{
        Once, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rdmawire::capture;

/// Set by the first signal, where the command looks at it: the work ends.
pub(super) static STOP: AtomicBool = AtomicBool::new(false);

/// The exit status after SIGINT, as shells have it.
const KILLED: i32 = 130;

type Flag = Box<dyn Deref<Target = AtomicBool> + Send + Sync>;

/// What the first signal sets; empty where the command would not look at it.
static ASKED: OnceLock<Flag> = OnceLock::new();

/// The first signal sets `stop`: the work ends with the results so far. The second one ends the program.
pub(super) fn end_on_signal(stop: impl Deref<Target = AtomicBool> + Send + Sync + 'static) {
    let _ = ASKED.set(Box::new(stop));
    watch();
}

/// From now on, a signal leaves no unfinished file.
pub(super) fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // Two signals at once count as one: `timeout` sends one to the process and one to its group.
        const AT_ONCE: Duration = Duration::from_millis(100);
        let mut first = None;
        let _ = ctrlc::set_handler(move || {
            let since = first.get_or_insert_with(Instant::now).elapsed();
            let is_again = match ASKED.get() {
                Some(stop) => stop.swap(true, Ordering::Relaxed) && since > AT_ONCE,
                None => true,
            };
            if is_again {
                capture::remove_unfinished();
                process::exit(KILLED);
            }
        });
    });
}

/// Set if the work ends because it failed, not by a signal.
static FAILED: AtomicBool = AtomicBool::new(false);

/// Ends the work of all threads, since what they make cannot be written.
pub(super) fn stop_after_failure() {
    FAILED.store(true, Ordering::Relaxed);
    STOP.store(true, Ordering::Relaxed);
}

/// Whether the user ended the work.
pub(super) fn is_stopped() -> bool {
    STOP.load(Ordering::Relaxed) && !FAILED.load(Ordering::Relaxed)
}
