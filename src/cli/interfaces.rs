//! `rdmawire interfaces`: what there is to capture on and to send from.

use std::io::{self, Write};

use clap::Args;
use comfy_table::{Table, presets};
use serde_json::json;

use super::{Outcome, terminal};
use rdmawire::{
    capture::live::{self, NetInterface},
    grammar::print,
};

/// List the network interfaces, for `send` and `capture`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire interfaces
  rdmawire interfaces --json")]
pub(super) struct Interfaces {
    /// One JSON array.
    #[arg(long)]
    json: bool,
}

impl Interfaces {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let all = live::interfaces();
        let mut out = io::stdout().lock();
        if self.json {
            let all: Vec<_> = all.iter().map(as_json).collect();
            serde_json::to_writer(&mut out, &all).map_err(io::Error::from)?;
            writeln!(out)?;
            return Ok(Outcome::Done);
        }
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_width(terminal::width().try_into().unwrap_or(u16::MAX));
        table.set_header(["interface", "state", "MTU", "speed", "MAC", "addresses", "RDMA"]);
        for interface in &all {
            let or_dash = |text: Option<String>| text.filter(|text| !text.is_empty()).unwrap_or("-".into());
            table.add_row([
                interface.name.clone(),
                state(interface).into(),
                or_dash(interface.mtu.map(|mtu| mtu.to_string())),
                or_dash(interface.speed_bps.map(|bps| print::bit_rate(bps as f64))),
                or_dash(interface.mac.map(|mac| mac.to_string())),
                or_dash(Some(addresses(interface).join(" "))),
                or_dash(Some(interface.rdma.join(" "))),
            ]);
        }
        writeln!(out, "{}", table.trim_fmt())?;
        Ok(Outcome::Done)
    }
}

fn state(interface: &NetInterface) -> &'static str {
    match (interface.is_up, interface.is_running) {
        (true, true) => "up",
        (true, false) => "up, no carrier",
        (false, _) => "down",
    }
}

fn addresses(interface: &NetInterface) -> Vec<String> {
    interface.addresses.iter().map(|(address, prefix)| format!("{address}/{prefix}")).collect()
}

fn as_json(interface: &NetInterface) -> serde_json::Value {
    json!({
        "name": interface.name,
        "index": interface.index,
        "up": interface.is_up,
        "running": interface.is_running,
        "loopback": interface.is_loopback,
        "mac": interface.mac.map(|mac| mac.to_string()),
        "mtu": interface.mtu,
        "speed_bps": interface.speed_bps,
        "addresses": addresses(interface),
        "rdma": interface.rdma,
    })
}
