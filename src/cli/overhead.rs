//! `rdmawire overhead`: the bytes that a message takes on the wire, without a capture.

use std::io::{self, Write};

use anyhow::Context;
use clap::{Args, builder::PossibleValuesParser};

use super::{
    Outcome,
    arg::{encapsulation, mtu, positive, service, within},
    terminal::Color,
};
use rdmawire::{
    dissect::Encapsulation,
    grammar::units,
    message::{Ending, Segments},
    opcode::{Operation, Service},
    report::{price as report, text},
    wire_cost::{self, Envelope, Packets},
};

/// Show what a message takes on the wire: packets, bytes and efficiency in every encapsulation.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire overhead --size 4KiB --speed 400G
  rdmawire overhead --op read --size 1MiB --mtu 1024 --encap rocev2-ipv4,ib")]
pub(super) struct Overhead {
    /// The operation.
    #[arg(long, default_value = "write", value_parser = PossibleValuesParser::new(OPERATIONS.map(|(name, ..)| name)))]
    op: String,
    /// The transport service: rc, uc, ud, rd or xrc.
    #[arg(long, default_value = "rc", value_parser = service)]
    service: Service,
    /// The size of the message: 4096, 64KiB, 1MB. Atomics, ATOMIC WRITE and FLUSH have a fixed size.
    #[arg(long, visible_alias = "len", value_name = "BYTES", value_parser = units::size, default_value = "1MiB")]
    size: u64,
    /// Path MTU: 256, 512, 1024, 2048 or 4096.
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = mtu::<u32>)]
    mtu: u32,
    /// Only these encapsulations: rocev2-ipv4, rocev2-ipv6, rocev1, ib, ib-grh.
    #[arg(long, visible_alias = "to", value_name = "A,B", value_delimiter = ',', value_parser = encapsulation)]
    encap: Vec<Encapsulation>,
    /// How many VLAN tags frames have; without a number, one.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1", default_value_t = 0,
        value_parser = within(0..=16u8))]
    vlan: u8,
    /// One acknowledgement for every N packets. By default, one for each message.
    #[arg(long, value_name = "N", value_parser = positive::<u64>)]
    ack_every: Option<u64>,
    /// The link's speed, such as 400G: adds messages per second and goodput.
    #[arg(long, value_name = "SPEED", value_parser = units::bit_rate)]
    speed: Option<u64>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// For each operation: name on the command line, operation, ending, name in the report.
const OPERATIONS: [(&str, Operation, Ending, &str); 10] = [
    ("write", Operation::Write, Ending::Plain, "RDMA WRITE"),
    ("write-imm", Operation::Write, Ending::Immediate, "RDMA WRITE"),
    ("send", Operation::Send, Ending::Plain, "SEND"),
    ("send-imm", Operation::Send, Ending::Immediate, "SEND"),
    ("send-inv", Operation::Send, Ending::Invalidate, "SEND"),
    ("read", Operation::ReadRequest, Ending::Plain, "RDMA READ"),
    ("cas", Operation::CompareSwap, Ending::Plain, "compare and swap"),
    ("faa", Operation::FetchAdd, Ending::Plain, "fetch and add"),
    ("atomic-write", Operation::AtomicWrite, Ending::Plain, "ATOMIC WRITE"),
    ("flush", Operation::Flush, Ending::Plain, "FLUSH"),
];

impl Overhead {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let report = self.price()?;
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            let options = text::Options { colour: Color::Auto.is_on(), ..text::Options::default() };
            text::write_price(&report, &options, &mut out)?;
        }
        Ok(Outcome::Done)
    }

    fn price(&self) -> anyhow::Result<report::Overhead> {
        let found = OPERATIONS.iter().find(|(name, ..)| *name == self.op);
        let &(_, operation, ending, name) = found.context("--op: no such operation")?;
        let message = Segments::new(self.service, operation, ending, self.size, self.mtu)?;
        let packets = Packets::of(&message, self.ack_every);
        let wraps = if self.encap.is_empty() { &Encapsulation::ALL[..] } else { &self.encap };
        let price = |wrap: &Encapsulation| {
            wire_cost::price(&packets, Envelope::new(*wrap).with_vlans(self.vlan), self.speed)
        };
        let mut report = report::Overhead::default();
        report.schema = report::SCHEMA.into();
        report.message.service = self.service.into();
        report.message.operation = name.into();
        report.message.size_bytes = packets.iter().map(|p| p.count * p.payload as u64).sum();
        report.message.mtu = self.mtu;
        report.message.vlans = self.vlan;
        report.speed_bps = self.speed;
        report.encapsulations = wraps.iter().map(price).collect();
        Ok(report)
    }
}
