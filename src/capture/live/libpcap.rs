//! libpcap: filters in the kernel, a ring buffer that it shares with us.

use std::{io, os::fd::AsFd, time::Duration};

use nix::poll::PollFlags;
use pcap::{Active, Capture, Linktype, Precision};

use super::{LiveOptions, Received, copy, lacks_privilege, wait};
use crate::capture::{Error, ErrorKind, Time};

/// An interface opened by libpcap.
pub(super) struct Socket {
    capture: Capture<Active>,
    /// Lost frames. libpcap's counter has 32 bits; this one does not wrap.
    drops: u64,
    last: u32,
}

impl Socket {
    pub(super) fn open(name: &str, snaplen: u32, options: &LiveOptions) -> Result<Socket, Error> {
        let failed = |doing: &str, error: pcap::Error| {
            let text = error.to_string();
            let text = text.strip_prefix("libpcap error: ").unwrap_or(&text);
            match text.contains("permi") {
                true => Error::new(name, ErrorKind::Permission, lacks_privilege()),
                false => Error::new(name, ErrorKind::Io, format!("{doing}: {text}")),
            }
        };
        let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let capture = Capture::from_device(name)
            .map_err(|error| failed("opening", error))?
            .snaplen(number(snaplen as usize))
            .promisc(options.promiscuous)
            .buffer_size(number(options.buffer))
            .precision(Precision::Nano)
            .timeout(10)
            .open()
            .and_then(Capture::setnonblock);
        let mut capture = capture.map_err(|error| failed("opening", error))?;
        if capture.get_datalink() != Linktype::ETHERNET {
            let text = format!("its frames are of link type {}, not Ethernet", capture.get_datalink().0);
            return Err(Error::new(name, ErrorKind::Unsupported, text));
        }
        if let Some(filter) = &options.filter {
            capture.filter(filter, true).map_err(|error| failed(&format!("the filter {filter:?}"), error))?;
        }
        Ok(Socket { capture, drops: 0, last: 0 })
    }

    /// Reads the next frame into the buffer; `None` if none comes within this time.
    pub(super) fn receive(&mut self, buffer: &mut [u8], time: Duration) -> io::Result<Option<Received>> {
        for attempt in 0..2 {
            match self.capture.next_packet() {
                Ok(packet) => {
                    let header = packet.header;
                    // The field for microseconds holds nanoseconds, because they were requested.
                    #[allow(clippy::useless_conversion, reason = "they are 32 bits wide elsewhere")]
                    let (seconds, ns) = (i64::from(header.ts.tv_sec), i64::from(header.ts.tv_usec));
                    copy(packet.data, buffer);
                    let time = Time(seconds.saturating_mul(1_000_000_000).saturating_add(ns));
                    // libpcap puts a VLAN tag back that the kernel removed.
                    return Ok(Some(Received { time, len: header.len as usize, tag: None }));
                }
                Err(pcap::Error::TimeoutExpired) => {}
                Err(error) => return Err(io::Error::other(error.to_string())),
            }
            // libpcap alone may wait forever.
            if attempt == 0 && !wait(self.capture.as_fd(), PollFlags::POLLIN, time)? {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Frames lost so far, by the kernel or by the card.
    pub(super) fn drops(&mut self) -> Option<u64> {
        let stats = self.capture.stats().ok()?;
        let now = stats.dropped.wrapping_add(stats.if_dropped);
        self.drops += u64::from(now.wrapping_sub(self.last));
        self.last = now;
        Some(self.drops)
    }
}
