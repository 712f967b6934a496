//! `rdmawire overhead`: what a message costs on the wire, without a capture.

use std::io::{self, Write};

use anyhow::anyhow;
use clap::{Args, ValueEnum};

use super::{Outcome, arg::encapsulation, terminal::Color, units};
use rdmawire::{
    cost::{self, Envelope, Message},
    dissect::Encapsulation,
    opcode::{Operation, Service},
    report::{overhead as report, text},
};

/// Price a message: packets, bytes and efficiency in every encapsulation.
#[derive(Debug, Args)]
pub(super) struct Overhead {
    /// What is sent.
    #[arg(long, value_enum, default_value_t = Op::Write)]
    op: Op,
    /// Over which service.
    #[arg(long, value_enum, default_value_t = ServiceName::Rc)]
    service: ServiceName,
    /// Bytes of the message: 4096, 64KiB, 1MB. Atomics and FLUSH have a size of their own.
    #[arg(long, value_name = "BYTES", value_parser = units::bytes, default_value = "1MiB")]
    size: u64,
    /// Path MTU.
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    mtu: u32,
    /// Only these encapsulations: rocev2-ipv4, rocev2-ipv6, rocev1, ib, ib-grh.
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = encapsulation)]
    encap: Vec<Encapsulation>,
    /// VLAN tags, one if no number is given.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1", default_value_t = 0,
        value_parser = clap::value_parser!(u8).range(0..=16))]
    vlan: u8,
    /// An acknowledgement every N packets; without it, one a message.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    ack_every: Option<u64>,
    /// The link's speed, as 400G: adds what it carries of such messages.
    #[arg(long, value_name = "SPEED", value_parser = units::speed)]
    speed: Option<u64>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Op {
    Write,
    WriteImm,
    Send,
    SendImm,
    SendInv,
    Read,
    Cas,
    Faa,
    AtomicWrite,
    Flush,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ServiceName {
    Rc,
    Uc,
    Ud,
    Rd,
    Xrc,
}

impl Overhead {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let report = self.price()?;
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            let options = text::Options { colour: Color::Auto.is_on(), ..text::Options::default() };
            text::write_overhead(&report, &options, &mut out)?;
        }
        Ok(Outcome::Done)
    }

    fn price(&self) -> anyhow::Result<report::Overhead> {
        let (operation, name) = match self.op {
            Op::Write | Op::WriteImm => (Operation::Write, "RDMA WRITE"),
            Op::Send | Op::SendImm | Op::SendInv => (Operation::Send, "SEND"),
            Op::Read => (Operation::ReadRequest, "RDMA READ"),
            Op::Cas => (Operation::CompareSwap, "compare and swap"),
            Op::Faa => (Operation::FetchAdd, "fetch and add"),
            Op::AtomicWrite => (Operation::AtomicWrite, "ATOMIC WRITE"),
            Op::Flush => (Operation::Flush, "FLUSH"),
        };
        let service = match self.service {
            ServiceName::Rc => Service::Rc,
            ServiceName::Uc => Service::Uc,
            ServiceName::Ud => Service::Ud,
            ServiceName::Rd => Service::Rd,
            ServiceName::Xrc => Service::Xrc,
        };
        let message = Message {
            service,
            operation,
            immediate: matches!(self.op, Op::WriteImm | Op::SendImm),
            invalidate: matches!(self.op, Op::SendInv),
            size: self.size,
            mtu: self.mtu,
            ack_every: self.ack_every,
        };
        let packets = message.packets().map_err(|error| anyhow!("{error}"))?;
        let wraps = if self.encap.is_empty() { &Encapsulation::ALL[..] } else { &self.encap };
        let price = |wrap: &Encapsulation| {
            cost::price(&packets, Envelope::new(*wrap).with_vlans(self.vlan), self.speed)
        };
        Ok(report::Overhead {
            schema: report::SCHEMA,
            message: report::Message {
                service: service.name(),
                operation: name,
                size_bytes: packets.iter().map(|p| p.count * p.payload as u64).sum(),
                mtu: self.mtu,
                vlans: self.vlan,
            },
            speed_bps: self.speed,
            encapsulations: wraps.iter().map(price).collect(),
        })
    }
}
