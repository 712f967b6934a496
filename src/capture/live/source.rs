//! Frames from an interface.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

#[cfg(not(feature = "libpcap"))]
use super::socket::Socket;
use super::{NetInterface, find, refused};
use crate::{
    capture::{Error, Info, Interface, Record, Source},
    dissect::Link,
};

/// A source without frames checks after this time whether to stop.
const WAIT: Duration = Duration::from_millis(100);
/// The longest frame: longer than those of segmentation offload.
const LONGEST: u32 = 0x4_0000;
const ADDRESSES: usize = 12;
const VLAN_TAG: usize = 4;

/// How an interface is captured.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// Bytes kept of a frame; 0: all.
    pub snaplen: u32,
    /// Capture frames to other stations' addresses too.
    pub promiscuous: bool,
    /// Size of the kernel's buffer in bytes. The kernel may grant less.
    pub buffer: usize,
    /// The capture ends after this time.
    pub duration: Option<Duration>,
    /// A pcap-filter(7) expression for the kernel; only with the feature `libpcap`.
    #[cfg(feature = "libpcap")]
    pub filter: Option<String>,
    /// The capture ends within a tenth of a second after this is set.
    pub stop: Arc<AtomicBool>,
}

impl Default for LiveOptions {
    fn default() -> LiveOptions {
        LiveOptions {
            snaplen: 0,
            promiscuous: true,
            buffer: 64 << 20,
            duration: None,
            #[cfg(feature = "libpcap")]
            filter: None,
            stop: Arc::default(),
        }
    }
}

/// The frames an interface receives and sends, from the Ethernet header to before the frame check sequence.
///
/// On Linux, times are the kernel's, VLAN tags are where they were on the wire, and the interface in [`Info`] counts the
/// frames that were lost because the buffer was full. On other systems without libpcap, a frame's time is when it was read,
/// and lost frames are not counted.
pub struct LiveSource {
    #[cfg(not(feature = "libpcap"))]
    back: Socket,
    #[cfg(feature = "libpcap")]
    back: super::libpcap::Socket,
    info: Info,
    /// Room for a VLAN tag, and a frame.
    buffer: Vec<u8>,
    snaplen: usize,
    until: Option<Instant>,
    stop: Arc<AtomicBool>,
}

impl LiveSource {
    /// Opens an interface for capturing.
    ///
    /// # Errors
    /// [`NotFound`](crate::capture::ErrorKind::NotFound): no such interface.
    /// [`Permission`](crate::capture::ErrorKind::Permission): the process has no CAP_NET_RAW.
    pub fn open(name: &str, options: LiveOptions) -> Result<LiveSource, Error> {
        let found = find(name)?;
        let known = NetInterface::from(&found);
        let snaplen = if options.snaplen == 0 { LONGEST } else { options.snaplen.min(LONGEST) };
        #[cfg(not(feature = "libpcap"))]
        let back = Socket::receiver(&found, options.promiscuous, options.buffer)
            .map_err(|error| refused(name, "opening", error))?;
        #[cfg(feature = "libpcap")]
        let back = super::libpcap::Socket::open(name, snaplen, &options)?;
        let interface = Interface {
            snaplen,
            name: Some(known.name.clone()),
            speed_bps: known.speed_bps,
            ..Interface::new(Link::ETHERNET)
        };
        Ok(LiveSource {
            back,
            info: Info { name: known.name, interfaces: vec![interface], ..Info::default() },
            buffer: vec![0; VLAN_TAG + snaplen as usize],
            snaplen: snaplen as usize,
            until: options.duration.and_then(|duration| Instant::now().checked_add(duration)),
            stop: options.stop,
        })
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Reads from the kernel how many frames were lost so far, and puts the number into [`Info`].
    pub fn count_drops(&mut self) -> Option<u64> {
        let drops = self.back.drops();
        if let Some(interface) = self.info.interfaces.first_mut() {
            interface.drops = drops.or(interface.drops);
        }
        drops
    }
}

impl Source for LiveSource {
    fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        let received = loop {
            if self.is_over() {
                self.count_drops();
                return Ok(None);
            }
            let wait = match self.until {
                Some(until) => until.saturating_duration_since(Instant::now()).min(WAIT),
                None => WAIT,
            };
            let room = self.buffer.get_mut(VLAN_TAG..).unwrap_or_default();
            match self.back.receive(room, wait) {
                Ok(Some(received)) => break received,
                Ok(None) => {}
                Err(error) => return Err(refused(&self.info.name, "capturing", error)),
            }
        };
        let mut from = VLAN_TAG;
        let mut len = received.len;
        if let Some(tag) = received.tag
            && len >= ADDRESSES
            && self.buffer.len() >= VLAN_TAG + ADDRESSES
        {
            // The tag goes back behind the addresses, which move into the free bytes before them.
            self.buffer.copy_within(VLAN_TAG..VLAN_TAG + ADDRESSES, 0);
            if let Some(place) = self.buffer.get_mut(ADDRESSES..ADDRESSES + VLAN_TAG) {
                place.copy_from_slice(&tag);
            }
            from = 0;
            len += VLAN_TAG;
        }
        let kept = len.min(self.snaplen).min(self.buffer.len() - from);
        self.info.frames += 1;
        self.info.bytes_read += kept as u64;
        Ok(Some(Record {
            time: received.time,
            link: Link::ETHERNET,
            interface: 0,
            wire_len: u32::try_from(len).unwrap_or(u32::MAX),
            frame: self.buffer.get(from..from + kept).unwrap_or_default(),
        }))
    }

    fn info(&self) -> &Info {
        &self.info
    }
}

impl fmt::Debug for LiveSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveSource").field("info", &self.info).finish_non_exhaustive()
    }
}
