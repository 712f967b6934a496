//! Frames from and to network interfaces: [`interfaces`], [`LiveSource`], [`LiveSink`].
//!
//! Raw sockets need the capability CAP_NET_RAW, or root. Without it, opening fails with [`ErrorKind::Permission`], and the
//! error says what to do.
//!
//! With the feature `libpcap`, [`LiveSource`] captures with libpcap, its filters in the kernel and its ring buffer. Without
//! it, a packet socket is used, and no C library is needed.

#[cfg(not(target_os = "linux"))]
mod channel;
mod interface;
#[cfg(feature = "libpcap")]
mod libpcap;
mod sink;
#[cfg(target_os = "linux")]
#[cfg_attr(feature = "libpcap", allow(dead_code, reason = "libpcap captures; only the sending is wanted"))]
mod socket;
mod source;

use std::io;
#[cfg(any(target_os = "linux", feature = "libpcap"))]
use std::{os::fd::BorrowedFd, time::Duration};

#[cfg(any(target_os = "linux", feature = "libpcap"))]
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

pub use interface::{NetInterface, interfaces};
pub use sink::{LiveSink, Misfit, misfit};
pub use source::{LiveOptions, LiveSource};

#[cfg(not(target_os = "linux"))]
use channel as socket;

use super::{Error, ErrorKind, Time};

/// What is known of a received frame beside its bytes.
struct Received {
    /// When the kernel received it; on systems that do not say so, when it was read.
    time: Time,
    /// Its length. It may be longer than the buffer.
    len: usize,
    /// The VLAN tag that the kernel removed.
    tag: Option<[u8; 4]>,
}

/// As much of a frame as the buffer holds.
#[cfg(any(not(target_os = "linux"), feature = "libpcap"))]
fn copy(frame: &[u8], buffer: &mut [u8]) {
    let len = frame.len().min(buffer.len());
    buffer[..len].copy_from_slice(&frame[..len]);
}

/// Whether a socket became ready in time.
#[cfg(any(target_os = "linux", feature = "libpcap"))]
fn wait(socket: BorrowedFd<'_>, what: PollFlags, time: Duration) -> io::Result<bool> {
    let mut fds = [PollFd::new(socket, what)];
    match poll(&mut fds, PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX)) {
        Ok(n) => Ok(n > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The interface with this name, as pnet wants it.
fn find(name: &str) -> Result<pnet_datalink::NetworkInterface, Error> {
    let all = pnet_datalink::interfaces();
    if let Some(found) = all.iter().find(|interface| interface.name == name) {
        return Ok(found.clone());
    }
    let names: Vec<&str> = all.iter().map(|interface| interface.name.as_str()).collect();
    let text = format!("no such network interface; there are {}", names.join(", "));
    Err(Error::new(name, ErrorKind::NotFound, text))
}

/// The operating system's error. If a privilege is missing, it says how to get it.
fn refused(name: &str, doing: &str, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Error::new(name, ErrorKind::Permission, lacks_privilege()),
        _ if error.raw_os_error() == Some(libc::ENETDOWN) => {
            Error::new(name, ErrorKind::Io, format!("{doing}: the interface is down"))
        }
        _ => Error::io(name, doing, error),
    }
}

fn lacks_privilege() -> String {
    let program =
        std::env::current_exe().map_or_else(|_| "PROGRAM".into(), |path| path.display().to_string());
    format!(
        "a raw socket takes the capability CAP_NET_RAW: run it by sudo, or once `sudo setcap cap_net_raw+ep {program}`"
    )
}
