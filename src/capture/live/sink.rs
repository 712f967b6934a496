//! Frames to an interface.

use std::{
    fmt, io, thread,
    time::{Duration, Instant},
};

use super::{NetInterface, find, refused, socket::Socket};
use crate::{
    capture::{Error, ErrorKind, Record, Sink},
    dissect::Link,
};

const ETHERNET_HEADER: usize = 14;
const VLAN_TAG: usize = 4;
/// Longest wait for a full transmit queue.
const PATIENCE: Duration = Duration::from_secs(2);

/// Sends frames as they are, beginning with the Ethernet header. The card adds the frame check sequence.
///
/// Records are sent at once, whatever their time: the caller paces them.
pub struct LiveSink {
    interface: NetInterface,
    socket: Socket,
    sent: u64,
}

/// Why a frame cannot be sent on an Ethernet interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Misfit {
    /// It does not begin with an Ethernet header.
    NotEthernet,
    /// It is shorter than an Ethernet header.
    TooShort,
    /// The capture holds only a part of it.
    Cut,
    /// The interface's MTU is smaller.
    TooLong,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Misfit::NotEthernet => "not Ethernet",
            Misfit::TooShort => "shorter than an Ethernet header",
            Misfit::Cut => "cut short by the capture",
            Misfit::TooLong => "longer than the MTU",
        })
    }
}

/// Why this frame cannot be sent on an interface with this MTU, if it cannot.
pub fn misfit(record: &Record<'_>, mtu: Option<u32>) -> Option<Misfit> {
    let len = record.frame.len();
    if record.link != Link::ETHERNET {
        return Some(Misfit::NotEthernet);
    }
    if len < ETHERNET_HEADER {
        return Some(Misfit::TooShort);
    }
    if len < record.wire_len as usize {
        return Some(Misfit::Cut);
    }
    // Linux allows one 802.1Q tag beyond the MTU.
    let tag = if record.frame.get(12..14) == Some(&[0x81, 0x00]) { VLAN_TAG } else { 0 };
    match mtu {
        Some(mtu) if len > mtu as usize + ETHERNET_HEADER + tag => Some(Misfit::TooLong),
        _ => None,
    }
}

impl LiveSink {
    /// Opens an interface for sending.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]: no such interface. [`ErrorKind::Permission`]: the process has no CAP_NET_RAW.
    pub fn open(name: &str) -> Result<LiveSink, Error> {
        let found = find(name)?;
        let socket = Socket::sender(&found).map_err(|error| refused(name, "opening", error))?;
        Ok(LiveSink { interface: NetInterface::from(&found), socket, sent: 0 })
    }

    /// Where it sends.
    pub fn interface(&self) -> &NetInterface {
        &self.interface
    }

    /// Frames sent so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends one frame. If the transmit queue is full, it waits a short time.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`]: the interface does not take a frame of this length.
    pub fn send(&mut self, frame: &[u8]) -> Result<(), Error> {
        let mut began = None;
        loop {
            let error = match self.socket.send(frame) {
                Ok(()) => break,
                Err(error) => error,
            };
            let name = &self.interface.name;
            match error.raw_os_error() {
                Some(libc::EMSGSIZE | libc::EINVAL) => {
                    let text =
                        format!("the interface does not take a frame of {} bytes: {error}", frame.len());
                    return Err(Error::new(name, ErrorKind::Unfit, text));
                }
                // The queue is full: the link is slower than the caller.
                Some(libc::ENOBUFS | libc::EAGAIN)
                    if began.get_or_insert_with(Instant::now).elapsed() < PATIENCE =>
                {
                    thread::sleep(Duration::from_micros(20));
                }
                _ if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return Err(refused(name, "sending", error)),
            }
        }
        self.sent += 1;
        Ok(())
    }
}

impl Sink for LiveSink {
    fn put(&mut self, record: &Record<'_>) -> Result<(), Error> {
        match misfit(record, self.interface.mtu) {
            None => self.send(record.frame),
            Some(misfit) => {
                let text = format!("a frame of {} bytes is not sent: {misfit}", record.frame.len());
                Err(Error::new(&self.interface.name, ErrorKind::Unfit, text))
            }
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

impl fmt::Debug for LiveSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveSink").field("interface", &self.interface).field("sent", &self.sent).finish()
    }
}
