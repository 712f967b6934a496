//! A metric of one's own: how far CNPs are apart, per flow. `cargo run --release --example metric -- [CAPTURE]`

use std::collections::BTreeMap;

use rdmawire::{
    analyze::{
        Analysis, Facts, FlowId, Options,
        metric::{Metric, Placed},
    },
    capture::{self, Source},
};

/// By flow: when the last CNP came, and the gaps between them, in nanoseconds.
#[derive(Default)]
struct CnpGaps(BTreeMap<FlowId, (i64, Vec<i64>)>);

impl Metric for CnpGaps {
    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        let Some(flow) = place.flow.filter(|_| packet.opcode().is_cnp()) else { return };
        let (last, gaps) = self.0.entry(flow).or_insert((packet.time(), Vec::new()));
        gaps.push(packet.time() - std::mem::replace(last, packet.time()));
    }
}

fn main() -> Result<(), capture::Error> {
    let path = std::env::args().nth(1).unwrap_or("pcaps/cm_rping-A.pcap".into());
    let mut trace = capture::open(path.as_ref())?;
    let mut analysis = Analysis::with(Options::default(), CnpGaps::default());
    while let Some(record) = trace.next()? {
        analysis.push(&record);
    }
    let (report, gaps) = analysis.finish_with::<CnpGaps>();
    let CnpGaps(flows) = gaps.unwrap_or_default();
    println!("{} packets, {} flows with CNPs", report.head.capture.packets, flows.len());
    for (FlowId(flow), (_, gaps)) in flows {
        println!("flow {flow}: {} CNPs, gaps in ns: {:?}", gaps.len(), gaps.get(1..));
    }
    Ok(())
}
