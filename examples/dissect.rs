//! Dissect a capture: addresses, the BTH, the payload's length, whether the ICRC is right, and what is wrong.

use rdmawire::{
    capture::{self, Source},
    dissect, icrc,
    wire::{Bth, Ipv4},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "pcaps/loss1_rc_write-B-300.pcap".into());
    let mut trace = capture::open(path.as_ref())?;
    while let Some(record) = trace.next()? {
        let packet = dissect::dissect(record.link, record.frame, record.wire_len);
        if let (Some(ip), Some(bth)) = (packet.get::<Ipv4>(), packet.get::<Bth>()) {
            let icrc = icrc::verify(&packet).name();
            println!("{} > {}  {bth}  {} bytes, ICRC {icrc}", ip.src(), ip.dst(), packet.payload_len());
        }
        for note in packet.notes() {
            println!("  {}: {note}", note.id());
        }
    }
    Ok(())
}
