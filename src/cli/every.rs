//! Work that says now and then how far it is.

use std::{
    io::Write,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use anyhow::anyhow;

use super::{signals::stop_after_failure, terminal};
use rdmawire::{analyze::Analysis, report::View};

/// A report of at most so many flows is buffered, so that the analysis need not wait for its reader.
const MAX_BUFFERED: usize = 4096;

/// The analysis, also if a thread failed that had it.
pub(super) fn held(analysis: &Mutex<Analysis>) -> MutexGuard<'_, Analysis> {
    analysis.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes the report of an analysis that continues to standard output, behind `lead`. `name`: of what is captured. The analysis waits until the report
/// is made; if the report is too long to be buffered, until it is written.
pub(super) fn print_so_far(
    analysis: &Mutex<Analysis>,
    name: &str,
    lead: &[u8],
    render: impl FnOnce(&View<'_>, &mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut held = held(analysis);
    let mut report = held.report_so_far();
    report.head.to_mut().capture.files.push(name.to_owned());
    let mut out = std::io::BufWriter::with_capacity(1 << 16, terminal::stdout()?);
    if report.flows.len() > MAX_BUFFERED {
        out.write_all(lead)?;
        render(&report, &mut out)?;
    } else {
        let mut text = lead.to_vec();
        render(&report, &mut text)?;
        drop(report);
        drop(held);
        out.write_all(&text)?;
    }
    Ok(out.flush()?)
}

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
