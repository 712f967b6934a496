//! Work that says now and then how far it is.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

use anyhow::anyhow;

use super::signals::stop_after_failure;

/// Calls `print` every so often while the work is done, on a second thread: the next frame may never come. If it fails, the work is asked to
/// stop.
pub(super) fn while_working<T>(
    every: Duration,
    print: impl Fn() -> anyhow::Result<()> + Sync,
    work: impl FnOnce() -> T,
) -> anyhow::Result<T> {
    let (over, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        let reporter = scope.spawn(|| -> anyhow::Result<()> {
            let mut is_over = over.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                let wait = changed.wait_timeout_while(is_over, every, |over| !*over);
                is_over = wait.unwrap_or_else(PoisonError::into_inner).0;
                if *is_over {
                    return Ok(());
                }
                if let Err(error) = print() {
                    stop_after_failure();
                    return Err(error);
                }
            }
        });
        let done = work();
        *over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
        let reported = reporter.join().map_err(|_| anyhow!("the report could not be made"))?;
        reported.map(|()| done)
    })
}
