//! What one line of a log says.

use std::net::{IpAddr, Ipv6Addr};

use super::Status;
use crate::{dissect::Address, grammar::units};

/// One end of a connection, as far as a log names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Its address.
    pub address: Option<Address>,
    /// Its queue pair.
    pub qp: Option<u32>,
}

/// A line of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The log's name.
    pub log: String,
    /// The line's number, from 1.
    pub number: u64,
    /// Its text.
    pub text: String,
    /// The error that it tells of.
    pub status: Option<Status>,
    /// The end that wrote it.
    pub local: End,
    /// The end that it is connected to.
    pub remote: End,
    /// perftest's lines are of one end: which.
    side: Option<Side>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Local,
    Remote,
}

/// What the next word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Qp(Side),
    Address(Side),
    Status,
    Nothing,
}

impl Line {
    /// Reads a line.
    pub(super) fn of(log: &str, number: u64, text: &str) -> Line {
        let mut line = Line { log: log.to_owned(), number, text: text.to_owned(), ..Line::default() };
        let lower = text.to_ascii_lowercase();
        line.status = Status::of_words(&lower);
        let is_completion =
            ["completion", "net/ib", "cqe", "wc ", "work completion"].iter().any(|word| lower.contains(word));
        let (mut next, mut before, mut side) = (Next::Nothing, "", None);
        let divides = |c: char| c.is_whitespace() || ",;=[](){}\"'".contains(c);
        for word in text.split(divides).filter(|word| !word.is_empty()) {
            let plain = word.trim_end_matches([':', '.']).trim_start_matches('#');
            let key = plain.to_ascii_lowercase();
            if let Some(status) = Status::of_name(plain).filter(|_| plain.starts_with("IBV_WC_")) {
                line.status = Some(status);
            }
            let of = side.unwrap_or(Side::Local);
            next = match (key.as_str(), next) {
                ("local", _) => {
                    side = Some(Side::Local);
                    Next::Address(Side::Local)
                }
                ("remote" | "peer", _) => {
                    side = Some(Side::Remote);
                    Next::Address(Side::Remote)
                }
                ("address", _) if before == "local" || before == "remote" => {
                    line.side = side;
                    Next::Nothing
                }
                ("rqpn" | "dqpn" | "rqp" | "remote_qpn" | "dest_qp" | "dest_qp_num", _) => {
                    Next::Qp(Side::Remote)
                }
                ("lqpn" | "lqp" | "local_qpn", _) => Next::Qp(Side::Local),
                ("qpn" | "qp" | "qps" | "qp_num" | "qpnum", _) => Next::Qp(of),
                ("pair", _) if before == "queue" => Next::Qp(of),
                ("sgid" | "lgid" | "localgid", _) => Next::Address(Side::Local),
                ("dgid" | "rgid" | "remotegid" | "remotegids", _) => Next::Address(Side::Remote),
                ("status" | "error" | "err", _) if is_completion && before != "vendor" => Next::Status,
                (_, Next::Qp(of)) => {
                    let qp = units::qpn(plain).ok().filter(|qp| qp.0 > 1);
                    line.end(of).qp = line.end(of).qp.or(qp.map(|qp| qp.0));
                    Next::Nothing
                }
                (_, Next::Status) => {
                    let status = plain.parse().ok().and_then(Status::of_number);
                    line.status = line.status.or(status);
                    Next::Nothing
                }
                (_, Next::Address(of)) if address(plain).is_some() => {
                    line.end(of).address = line.end(of).address.or(address(plain));
                    Next::Nothing
                }
                (_, next) => {
                    line.put_address(plain, word, &lower, of);
                    next
                }
            };
            before = match key.as_str() {
                "local" => "local",
                "remote" => "remote",
                "queue" => "queue",
                "vendor" => "vendor",
                _ => "",
            };
        }
        line
    }

    /// Whether it names no queue pair and no address.
    pub(super) fn has_no_end(&self) -> bool {
        [self.local, self.remote].iter().all(|end| end.address.is_none() && end.qp.is_none())
    }

    /// Whether it names the queue pair of one end alone. perftest names that of the other end in a line of its own.
    pub(super) fn is_one_sided(&self) -> bool {
        self.side.is_none() && self.local.qp.is_some() != self.remote.qp.is_some()
    }

    fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Local => &mut self.local,
            Side::Remote => &mut self.remote,
        }
    }

    /// An address that no word announced, or that stands in the word itself.
    fn put_address(&mut self, plain: &str, word: &str, lower: &str, of: Side) {
        let (side, address) = if let Some(gid) = plain.strip_prefix("remoteGids") {
            (Side::Remote, address(gid))
        } else if let Some(gid) = plain.strip_prefix("localGid") {
            (Side::Local, address(gid))
        } else if lower.contains("gid") && word.contains('/') {
            (of, nccl_gid(plain))
        } else {
            (of, address(plain))
        };
        let end = self.end(side);
        end.address = end.address.or(address);
    }

    /// Both ends, where the line names the queue pairs of both.
    pub(super) fn pair(&self) -> Option<[End; 2]> {
        (self.local.qp.is_some() && self.remote.qp.is_some()).then_some([self.local, self.remote])
    }

    /// Of perftest's lines: completes the ends, which it says in four lines. Gives them once both are known.
    pub(super) fn add_to(&self, ends: &mut [End; 2]) -> Option<[End; 2]> {
        if let Some(side) = self.side {
            let end = match side {
                Side::Local => self.local,
                Side::Remote => self.remote,
            };
            ends[side as usize] = end;
            return None;
        }
        let gid = self.text.strip_prefix("GID:").and_then(|bytes| perftest_gid(bytes.trim()))?;
        let of = if ends[1].qp.is_some() { Side::Remote } else { Side::Local };
        ends[of as usize].address = Some(gid);
        let is_whole = ends[0].qp.is_some() && ends[1].address.is_some();
        is_whole.then(|| std::mem::take(ends))
    }
}

/// An IP address or a GID, perhaps with a port behind it: `10.77.0.2<51861>`.
fn address(word: &str) -> Option<Address> {
    let ip: IpAddr = word.split('<').next()?.parse().ok()?;
    Some(plain_address(ip))
}

/// A GID of RoCEv2 over IPv4 is that IPv4 address.
fn plain_address(ip: IpAddr) -> Address {
    Address::Ip(ip.to_canonical())
}

/// A GID as NCCL writes it: subnet prefix and interface, as numbers of a little-endian machine: `0/1004D0AFFFF0000`.
fn nccl_gid(word: &str) -> Option<Address> {
    let (prefix, interface) = word.split_once('/')?;
    let half = |digits: &str| u64::from_str_radix(digits, 16).ok().map(u64::to_le_bytes);
    let bytes: [u8; 16] = [half(prefix)?, half(interface)?].concat().try_into().ok()?;
    Some(plain_address(IpAddr::V6(Ipv6Addr::from(bytes))))
}

/// A GID as perftest writes it: sixteen bytes, decimal: `00:00:00:00:00:00:00:00:00:00:255:255:10:77:00:01`; hexadecimal in other versions.
fn perftest_gid(text: &str) -> Option<Address> {
    let bytes = |radix| -> Option<[u8; 16]> {
        let bytes = text.split(':').map(|byte| u8::from_str_radix(byte, radix).ok());
        bytes.collect::<Option<Vec<u8>>>()?.try_into().ok()
    };
    let is_hex = text.bytes().any(|c| c.is_ascii_alphabetic());
    let bytes = if is_hex { bytes(16) } else { bytes(10) }?;
    Some(plain_address(IpAddr::V6(Ipv6Addr::from(bytes))))
}
