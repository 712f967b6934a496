//! Logs of host software: which queue pairs they name, and which errors. NCCL, UCX, SPDK, perftest, Linux's NVMe drivers and `rdma resource show qp`
//! say it in their own ways; what is common to them are an address or a GID, the number of a queue pair, and the status of a completion
//! (`enum ibv_wc_status` of libibverbs).

mod job;
mod join;
mod line;
mod status;

pub use job::Job;
pub use join::join;
pub use line::{End, Line};
pub use status::Status;

use std::io::{self, BufRead};

use crate::report::clean;

/// What is known from a log.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The lines with an error, the first ones.
    pub errors: Vec<Line>,
    /// How many more there are.
    pub left_out: u64,
    /// Ends that the log says are connected, with both queue pairs.
    pub pairs: Vec<[End; 2]>,
    /// The first line that names the queue pair of one end, and not that of the other.
    pub one_sided: Option<u64>,
    /// Ranks, their addresses and queue pairs, as NCCL tells them.
    pub job: Job,
}

/// Lines with an error that are kept.
const MOST_ERRORS: usize = 1024;
/// Connected queue pairs that are kept.
const MOST_PAIRS: usize = 1 << 20;
/// Bytes of a line that are looked at.
const LONGEST_LINE: u64 = 4096;

impl Log {
    /// Reads a log. `name`: how its lines are called.
    ///
    /// # Errors
    /// What reading fails with. Text that is not UTF-8 is none.
    pub fn read(name: &str, mut from: impl BufRead) -> io::Result<Log> {
        let (mut log, mut number, mut bytes) = (Log::default(), 0, Vec::new());
        // perftest says each end in two lines, both ends one after the other.
        let mut ends: [End; 2] = Default::default();
        // UCX names the queue pair in the line behind that of the error.
        let mut is_open = false;
        loop {
            bytes.clear();
            if read_line(&mut from, &mut bytes)? == 0 {
                return Ok(log);
            }
            number += 1;
            let text = String::from_utf8_lossy(&bytes);
            let line = Line::of(name, number, clean(text.trim()).as_ref());
            if log.one_sided.is_none() && line.is_one_sided() {
                log.one_sided = Some(number);
            }
            log.job.add(&line);
            if line.status.is_some() {
                is_open = line.has_no_end() && log.errors.len() < MOST_ERRORS;
                match log.errors.len() < MOST_ERRORS {
                    true => log.errors.push(line),
                    false => log.left_out += 1,
                }
                continue;
            }
            if std::mem::take(&mut is_open)
                && !line.has_no_end()
                && let Some(error) = log.errors.last_mut()
            {
                (error.local, error.remote) = (line.local, line.remote);
            }
            let pair = line.pair().or_else(|| line.add_to(&mut ends));
            log.pairs.extend(pair.filter(|_| log.pairs.len() < MOST_PAIRS));
        }
    }
}

/// Reads one line, of which the first bytes are kept. Returns how many it has.
fn read_line(from: &mut impl BufRead, to: &mut Vec<u8>) -> io::Result<usize> {
    let mut read = 0;
    loop {
        let bytes = from.fill_buf()?;
        if bytes.is_empty() {
            return Ok(read);
        }
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let room = (LONGEST_LINE as usize).saturating_sub(to.len());
        to.extend_from_slice(&part[..part.len().min(room)]);
        let used = end.map_or(bytes.len(), |end| end + 1);
        from.consume(used);
        read += used;
        if end.is_some() {
            return Ok(read);
        }
    }
}
