//! `rdmawire entropy`: the UDP source ports that queue pairs will have, and how they spread over paths, without a capture.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use anyhow::{Context, bail};
use clap::Args;

use super::{Outcome, arg::within};
use rdmawire::{
    analyze::KnownConnection,
    entropy::{Formula, Predicted, Prediction, predict},
    grammar::print::several,
    report::clean,
};

/// Predict the UDP source ports of queue pairs, and how they spread over equal paths.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire entropy --qps qps.csv
  rdmawire entropy --qps qps.csv --paths 16 --json

A line of the file is ADDRESS,QP,ADDRESS,QP; it may also be what perftest or `rdma resource show qp` prints, with or without -j. What a switch computes is not
known: paths are those of a hash that spreads evenly. A connection that stands there twice, or from both ends, counts once. Connections of two hosts that share a port share their path in any network.")]
pub(super) struct Entropy {
    /// The connections: as for analyze --qp-map.
    #[arg(long, value_name = "FILE")]
    qps: PathBuf,
    /// Equal paths.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = within(1..=65_536u32))]
    paths: u32,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Connections whose port is written.
const MAX_CONNECTIONS: usize = 16;
/// Groups that are written.
const MAX_GROUPS: usize = 8;

impl Entropy {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let name = self.qps.display();
        let text = super::input::text(&self.qps).with_context(|| name.to_string())?;
        let connections =
            KnownConnection::parse(&text).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        if connections.is_empty() {
            bail!("{name}: there is no connection in it");
        }
        let all = Formula::ALL.map(|formula| predict(&connections, formula, self.paths));
        let repeated = match all[0].repeated {
            0 => None,
            1 => Some("a connection is".to_owned()),
            n => Some(format!("{n} connections are")),
        };
        if let Some(are) = repeated {
            super::say(format_args!(
                "{name}: {are} named again, from the same end or from the other one: each connection is counted once"
            ));
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        if self.json {
            serde_json::to_writer_pretty(
                &mut out,
                &serde_json::json!({ "paths": self.paths, "predictions": all }),
            )
            .map_err(io::Error::from)?;
            writeln!(out)?;
            out.flush()?;
            return Ok(Outcome::Done);
        }
        writeln!(
            out,
            "{} over {}",
            several(all[0].connections.len() as u64, "connection"),
            several(self.paths.into(), "equal path")
        )?;
        for prediction in &all {
            write(prediction, &mut out)?;
        }
        out.flush()?;
        Ok(Outcome::Done)
    }
}

fn write(prediction: &Prediction, out: &mut impl Write) -> io::Result<()> {
    let Prediction { formula, ports, colliding, collisions, flows_per_path, jain, max_over_mean, .. } =
        prediction;
    writeln!(
        out,
        "\n{formula}: {}; {} with the port of another one of the same hosts",
        several(*ports, "source port"),
        several(*colliding, "connection")
    )?;
    let flows: Vec<String> = flows_per_path.iter().take(64).map(u64::to_string).collect();
    let more = if flows_per_path.len() > 64 { " ..." } else { "" };
    writeln!(out, "  flows on each path: {}{more}", flows.join(" "))?;
    writeln!(out, "  Jain's index {jain:.3}, fullest path {max_over_mean:.2} times the mean")?;
    for one in prediction.connections.iter().take(MAX_CONNECTIONS) {
        writeln!(out, "  port {}: {}", one.udp_src_port, ends(one))?;
    }
    if prediction.connections.len() > MAX_CONNECTIONS {
        let more = several((prediction.connections.len() - MAX_CONNECTIONS) as u64, "more connection");
        writeln!(out, "  and {more} (--json has them)")?;
    }
    if !collisions.is_empty() {
        writeln!(out, "  Connections of the same hosts with one port, which share a path:")?;
    }
    for group in collisions.iter().take(MAX_GROUPS) {
        let one = |n: &usize| ends(&prediction.connections[*n]);
        let few: Vec<String> = group.connections.iter().take(4).map(one).collect();
        let more = match group.connections.len().saturating_sub(4) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        writeln!(out, "  port {}: {}{more}", group.udp_src_port, few.join(", "))?;
    }
    if collisions.len() > MAX_GROUPS {
        let more = several((collisions.len() - MAX_GROUPS) as u64, "more group");
        writeln!(out, "  and {more} (--json has them)")?;
    }
    Ok(())
}

/// The two ends of a connection.
fn ends(of: &Predicted) -> String {
    let end = |address: &Option<String>, qp: u32| match address {
        None => format!("QP {qp:#x}"),
        Some(address) => format!("{} QP {qp:#x}", clean(address)),
    };
    format!("{} - {}", end(&of.a, of.a_qp), end(&of.b, of.b_qp))
}
