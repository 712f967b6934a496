//! Frames off and onto network interfaces: [`interfaces`], [`LiveSource`], [`LiveSink`].
//!
//! Raw sockets take the capability CAP_NET_RAW (or root); without it opening fails with
//! [`ErrorKind::Permission`] and a line that says what to do.
//!
//! With the feature `libpcap`, [`LiveSource`] captures by libpcap, with filters in the kernel and its ring buffer;
//! without, by a packet socket, and nothing but Rust is needed.

#[cfg(not(target_os = "linux"))]
mod channel;
mod interface;
#[cfg(feature = "libpcap")]
mod libpcap;
mod sink;
#[cfg(target_os = "linux")]
mod socket;
mod source;

use std::io;

pub use interface::{NetInterface, interfaces};
pub use sink::{LiveSink, Misfit, misfit};
pub use source::{LiveOptions, LiveSource};

#[cfg(not(target_os = "linux"))]
use channel as socket;

use super::{Error, ErrorKind};

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

/// What the operating system says, and what helps where it is the privilege that lacks.
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
