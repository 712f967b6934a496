//! Linux's packet sockets. pnet binds them; nix reads what the kernel says of a frame beside its bytes.

use std::{
    io::{self, IoSliceMut},
    os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd},
    time::Duration,
};

use nix::{
    errno::Errno,
    getsockopt_impl,
    poll::PollFlags,
    setsockopt_impl, sockopt_impl,
    sys::{
        socket::{
            AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockType, getsockopt, recvmsg,
            send, setsockopt, socket, sockopt,
        },
        time::TimeSpec,
    },
};
use pnet_datalink::{Channel, Config, NetworkInterface, channel};

use super::{Received, wait};
use crate::capture::Time;

// The VLAN tag that the kernel removed: packet(7), PACKET_AUXDATA.
sockopt_impl!(Auxdata, SetOnly, libc::SOL_PACKET, libc::PACKET_AUXDATA, bool);
// Frames received and lost since the last query: packet(7), PACKET_STATISTICS.
sockopt_impl!(Statistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats);

/// A packet socket bound to an interface.
pub(super) struct Socket {
    fd: OwnedFd,
    /// Keeps the interface in promiscuous mode. Nothing is read from it or written to it.
    _channel: Channel,
    control: Vec<u8>,
    is_loopback: bool,
    drops: u64,
}

impl Socket {
    pub(super) fn sender(interface: &NetworkInterface) -> io::Result<Socket> {
        let socket = Socket::open(interface, false)?;
        // Nothing is read here, so a small buffer is enough.
        let _ = setsockopt(&socket.fd, sockopt::RcvBuf, &0);
        Ok(socket)
    }

    pub(super) fn receiver(
        interface: &NetworkInterface,
        promiscuous: bool,
        buffer: usize,
    ) -> io::Result<Socket> {
        let socket = Socket::open(interface, promiscuous)?;
        // A buffer above the system's limit needs CAP_NET_ADMIN.
        if setsockopt(&socket.fd, sockopt::RcvBufForce, &buffer).is_err() {
            let _ = setsockopt(&socket.fd, sockopt::RcvBuf, &buffer);
        }
        setsockopt(&socket.fd, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&socket.fd, Auxdata, &true)?;
        Ok(socket)
    }

    fn open(interface: &NetworkInterface, promiscuous: bool) -> io::Result<Socket> {
        // Protocol 0 until it is bound: else it would hold frames of other interfaces.
        let fd = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?;
        let ours = fd.try_clone()?;
        let config = Config { socket_fd: Some(fd.into_raw_fd()), promiscuous, ..Config::default() };
        Ok(Socket {
            fd: ours,
            _channel: channel(interface, config)?,
            control: nix::cmsg_space!(TimeSpec, libc::tpacket_auxdata),
            is_loopback: interface.is_loopback(),
            drops: 0,
        })
    }

    pub(super) fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        match send(self.fd.as_raw_fd(), frame, MsgFlags::empty()) {
            Ok(_) => Ok(()),
            Err(Errno::EAGAIN) => {
                wait(self.fd.as_fd(), PollFlags::POLLOUT, Duration::from_millis(100))?;
                Err(Errno::EAGAIN.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the next frame into the buffer; `None` if none comes within this time.
    pub(super) fn receive(&mut self, buffer: &mut [u8], time: Duration) -> io::Result<Option<Received>> {
        loop {
            let mut parts = [IoSliceMut::new(buffer)];
            let flags = MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT;
            match recvmsg::<LinkAddr>(self.fd.as_raw_fd(), &mut parts, Some(&mut self.control), flags) {
                Ok(message) => {
                    // The loopback shows each frame twice: when it is sent and when it is received.
                    let is_outgoing =
                        message.address.is_some_and(|from| from.pkttype() == libc::PACKET_OUTGOING);
                    if is_outgoing && self.is_loopback {
                        continue;
                    }
                    let mut received = Received { time: Time(0), len: message.bytes, tag: None };
                    for control in message.cmsgs()? {
                        match control {
                            ControlMessageOwned::ScmTimestampns(time) => {
                                received.time = Time(
                                    time.tv_sec()
                                        .saturating_mul(1_000_000_000)
                                        .saturating_add(time.tv_nsec()),
                                );
                            }
                            ControlMessageOwned::Unknown(other)
                                if other.cmsg_header.cmsg_level == libc::SOL_PACKET
                                    && other.cmsg_header.cmsg_type == libc::PACKET_AUXDATA =>
                            {
                                received.tag = tag(&other.data_bytes);
                            }
                            _ => {}
                        }
                    }
                    return Ok(Some(received));
                }
                Err(Errno::EAGAIN) => {
                    if !wait(self.fd.as_fd(), PollFlags::POLLIN, time)? {
                        return Ok(None);
                    }
                }
                Err(Errno::EINTR) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Frames lost so far because the buffer was full.
    pub(super) fn drops(&mut self) -> Option<u64> {
        let statistics = getsockopt(&self.fd, Statistics).ok()?;
        self.drops += u64::from(statistics.tp_drops);
        Some(self.drops)
    }
}

/// The VLAN tag in a `tpacket_auxdata`: status, len, snaplen, mac, net, TCI, TPID, in the host's byte order.
fn tag(auxdata: &[u8]) -> Option<[u8; 4]> {
    let status = u32::from_ne_bytes(auxdata.get(..4)?.try_into().ok()?);
    let short = |at: usize| Some(u16::from_ne_bytes(auxdata.get(at..at + 2)?.try_into().ok()?));
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let tpid = if status & libc::TP_STATUS_VLAN_TPID_VALID == 0 { 0x8100 } else { short(18)? };
    let ([a, b], [c, d]) = (tpid.to_be_bytes(), short(16)?.to_be_bytes());
    Some([a, b, c, d])
}
