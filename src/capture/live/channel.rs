//! pnet's channels, for systems without packet sockets. They give neither a frame's time nor the number of lost frames.

use std::{
    io,
    time::{Duration, SystemTime},
};

use pnet_datalink::{Channel, Config, DataLinkReceiver, DataLinkSender, NetworkInterface, channel};

use super::{Received, copy};
use crate::capture::Time;

/// Frames of an interface.
pub(super) struct Socket {
    sender: Box<dyn DataLinkSender>,
    receiver: Box<dyn DataLinkReceiver>,
}

impl Socket {
    pub(super) fn sender(interface: &NetworkInterface) -> io::Result<Socket> {
        Socket::open(interface, false, 4096)
    }

    pub(super) fn receiver(
        interface: &NetworkInterface,
        promiscuous: bool,
        buffer: usize,
    ) -> io::Result<Socket> {
        Socket::open(interface, promiscuous, buffer)
    }

    fn open(interface: &NetworkInterface, promiscuous: bool, buffer: usize) -> io::Result<Socket> {
        let config = Config {
            promiscuous,
            read_buffer_size: buffer.clamp(1 << 16, 1 << 19),
            read_timeout: Some(Duration::from_millis(100)),
            ..Config::default()
        };
        match channel(interface, config)? {
            Channel::Ethernet(sender, receiver) => Ok(Socket { sender, receiver }),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub(super) fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.sender.send_to(frame, None).unwrap_or_else(|| Err(io::ErrorKind::InvalidInput.into()))
    }

    /// Reads the next frame into the buffer; `None` if none comes for a while.
    pub(super) fn receive(&mut self, buffer: &mut [u8], _wait: Duration) -> io::Result<Option<Received>> {
        let frame = match self.receiver.next() {
            Ok(frame) => frame,
            Err(error) if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::Interrupted) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        copy(frame, buffer);
        Ok(Some(Received { time: Time(i64::try_from(now).unwrap_or(i64::MAX)), len: frame.len(), tag: None }))
    }

    /// Not known here.
    pub(super) fn drops(&mut self) -> Option<u64> {
        None
    }
}
