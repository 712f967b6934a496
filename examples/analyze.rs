//! Analyze a capture, print the report as JSON.

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{self, Source},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "pcaps/loss1_rc_write-B-300.pcap".into());
    let mut trace = capture::open(path.as_ref())?;
    let mut analysis = Analysis::new(Options::default());
    while let Some(record) = trace.next()? {
        analysis.push(&record);
    }
    println!("{}", serde_json::to_string_pretty(&analysis.finish())?);
    Ok(())
}
