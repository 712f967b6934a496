//! What a message costs, all encapsulations side by side.

use std::io::{self, Write};

use super::{
    Options,
    page::{Page, Paint},
};
use crate::report::{
    price::{Cost, Overhead},
    units::{bits, bytes, count, rate, several},
};

/// The table of a priced message.
pub fn write_price(report: &Overhead, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let page = &mut Page::new(out, options);
    let message = &report.message;
    let Some(first) = report.encapsulations.first() else { return Ok(()) };
    let vlans = match message.vlans {
        0 => String::new(),
        n => format!(", {}", several(n.into(), "VLAN tag")),
    };
    let title = format!(
        "{} {} of {} ({}), path MTU {}{vlans}: {}, and {} the other way",
        message.service,
        message.operation,
        bytes(message.size_bytes),
        several(message.size_bytes, "byte"),
        message.mtu,
        several(first.forward.packets, "packet"),
        several(first.reverse.packets, "packet"),
    );
    page.wrapped(Paint::Plain, "", &title)?;
    page.blank()?;

    let mut head = vec!["bytes on the wire"];
    head.extend(report.encapsulations.iter().map(|cost| cost.encapsulation.name()));
    let mut table = page.table(&head, &[0]);
    let mut row = |name: &str, of: &dyn Fn(&Cost) -> String| {
        let cells: Vec<String> = report.encapsulations.iter().map(of).collect();
        table.row(std::iter::once(name.to_owned()).chain(cells));
    };
    for (at, packets) in first.packets.iter().enumerate() {
        let times = if packets.count == 1 { String::new() } else { format!("{} x ", count(packets.count)) };
        let name = format!("{times}{} ({} B)", packets.opcode, packets.payload_bytes);
        row(&name, &|cost| cost.packets.get(at).map_or(String::new(), |p| count(p.wire_bytes as u64)));
    }
    row("with the payload", &|cost| count(cost.forward.wire_bytes));
    row("· payload", &|cost| count(cost.payload_bytes));
    for (at, (name, _)) in first.forward.header_bytes.rows().into_iter().enumerate() {
        let bytes = |cost: &Cost| cost.forward.header_bytes.rows()[at].1;
        if report.encapsulations.iter().any(|cost| bytes(cost) > 0) {
            let name = match name {
                "preamble_ifg" => "preamble, gap".to_owned(),
                "ip" | "udp" | "lrh" | "grh" | "bth" | "icrc" | "fcs" | "vcrc" => name.to_uppercase(),
                "extended" => "extended headers".to_owned(),
                "padding" => "Ethernet padding".to_owned(),
                "ethernet" => "Ethernet".to_owned(),
                "vlan" => "VLAN".to_owned(),
                other => other.to_owned(),
            };
            row(&format!("· {name}"), &|cost| count(bytes(cost)));
        }
    }
    row("the other way", &|cost| count(cost.reverse.wire_bytes));
    row("efficiency", &|cost| cost.efficiency_ratio.map_or(String::new(), exact));
    row("both ways", &|cost| cost.efficiency_both_ratio.map_or(String::new(), exact));
    if let Some(speed) = report.speed_bps {
        row(&format!("goodput at {}", bits(speed as f64)), &|cost| {
            cost.at_speed.map_or(String::new(), |at| bits(at.goodput_bps))
        });
        row("packets", &|cost| cost.at_speed.map_or(String::new(), |at| rate(at.packets_per_second)));
        row("messages", &|cost| cost.at_speed.map_or(String::new(), |at| rate(at.messages_per_second)));
    }
    page.put_table(table)
}

/// "98.04 %": here the decimals matter.
fn exact(ratio: f64) -> String {
    format!("{:.2} %", ratio * 100.0)
}
