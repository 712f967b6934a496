//! The blocks of a pcapng file that is written. All are little-endian.

use std::net::IpAddr;

use super::clock::Clock;
use super::options::Options;
use super::pcapng::{
    INTERFACE, NAMES, ORDER, PACKET, SECTION, SECTION_HARDWARE, SECTION_OS, STATISTICS, TEXT_LIMIT,
};
use super::{FrameOption, Interface};

/// Appends a section header, with this program's name, and what is known of the whole.
pub(super) fn write_section(out: &mut Vec<u8>, options: &Options) {
    let start = begin(out, SECTION);
    out.extend_from_slice(&ORDER.to_le_bytes());
    out.extend_from_slice(&[1, 0, 0, 0]);
    // The section's length is not known.
    out.extend_from_slice(&u64::MAX.to_le_bytes());
    let said = [(1, &options.comment), (SECTION_HARDWARE, &options.hardware), (SECTION_OS, &options.os)];
    said.iter()
        .filter(|(_, text)| !text.is_empty())
        .for_each(|(code, text)| write_option(out, *code, text.as_bytes()));
    write_option(out, 4, concat!("rdmawire ", env!("CARGO_PKG_VERSION")).as_bytes());
    write_option(out, 0, &[]);
    end(out, start);
}

/// Appends names of hosts.
pub(super) fn write_names(out: &mut Vec<u8>, names: &[(IpAddr, String)]) {
    let start = begin(out, NAMES);
    for (ip, name) in names {
        let (kind, mut record) = match ip {
            IpAddr::V4(ip) => (1, ip.octets().to_vec()),
            IpAddr::V6(ip) => (2, ip.octets().to_vec()),
        };
        record.extend(name.bytes().filter(|&byte| byte != 0).take(TEXT_LIMIT));
        record.push(0);
        write_option(out, kind, &record);
    }
    write_option(out, 0, &[]);
    end(out, start);
}

/// Appends an interface description, of an interface with this clock.
pub(super) fn write_interface(out: &mut Vec<u8>, interface: &Interface, clock: Clock) {
    let start = begin(out, INTERFACE);
    out.extend_from_slice(&interface.link.0.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&interface.snaplen.to_le_bytes());
    if let Some(name) = &interface.name {
        write_option(out, 2, name.as_bytes());
    }
    if let Some(description) = &interface.description {
        write_option(out, 3, description.as_bytes());
    }
    if let Some(speed) = interface.speed_bps {
        write_option(out, 8, &speed.to_le_bytes());
    }
    write_option(out, 9, &[clock.resolution()]);
    if let Some(len) = interface.fcs_len {
        write_option(out, 13, &[len]);
    }
    if clock.offset_s() != 0 {
        write_option(out, 14, &clock.offset_s().to_le_bytes());
    }
    interface.options.iter().for_each(|(code, value)| write_option(out, *code, value));
    write_option(out, 0, &[]);
    end(out, start);
}

/// Appends a packet of interface `id`.
pub(super) fn write_packet(
    out: &mut Vec<u8>,
    id: u32,
    ticks: u64,
    wire_len: u32,
    frame: &[u8],
    comments: &[&str],
    options: &[FrameOption<'_>],
) {
    let start = begin(out, PACKET);
    for word in [id, (ticks >> 32) as u32, ticks as u32, frame.len() as u32, wire_len] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(frame);
    pad(out, frame.len());
    comments.iter().for_each(|comment| write_option(out, 1, comment.as_bytes()));
    options.iter().for_each(|(code, value)| write_option(out, *code, value));
    if !comments.is_empty() || !options.is_empty() {
        write_option(out, 0, &[]);
    }
    end(out, start);
}

/// Appends what an interface dropped.
pub(super) fn write_statistics(out: &mut Vec<u8>, id: u32, ticks: u64, drops: u64) {
    let start = begin(out, STATISTICS);
    for word in [id, (ticks >> 32) as u32, ticks as u32] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    write_option(out, 5, &drops.to_le_bytes());
    write_option(out, 0, &[]);
    end(out, start);
}

fn begin(out: &mut Vec<u8>, block: u32) -> usize {
    let start = out.len();
    out.extend_from_slice(&block.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    start
}

fn end(out: &mut Vec<u8>, start: usize) {
    let total = ((out.len() - start + 4) as u32).to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&total);
    out.extend_from_slice(&total);
}

fn write_option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    // Text that does not fit into an option is cut between two characters.
    let mut len = value.len().min(0xffff);
    while len < value.len() && len > 0 && value[len] & 0xc0 == 0x80 {
        len -= 1;
    }
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(len as u16).to_le_bytes());
    out.extend_from_slice(&value[..len]);
    pad(out, len);
}

fn pad(out: &mut Vec<u8>, len: usize) {
    out.extend_from_slice(&[0; 3][..len.next_multiple_of(4) - len]);
}
