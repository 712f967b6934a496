//! Dissecting, reading headers and fields, and verifying allocate nothing per packet.

use crate::{
    properties::for_each_header,
    samples::{self, memory},
};
use rdmawire::{
    capture::{self, Source},
    dissect::dissect,
    icrc,
    wire::*,
};

#[test]
fn the_counter_counts() {
    let (bytes, allocated) = memory::during(|| vec![1u8; 1000]);
    assert_eq!((bytes.len(), allocated.calls, allocated.peak), (1000, 1, 1000));
}

#[test]
fn a_packet_costs_no_allocation() {
    let mut all = samples::vectors();
    all.extend(samples::shipped(20, 400));
    let mut read = 0;
    for sample in &all {
        for have in [sample.frame.len(), sample.frame.len() / 2] {
            let (fields, allocated) = memory::during(|| {
                let d = dissect(sample.link, &sample.frame[..have], sample.wire_len);
                let mut fields = 0;
                macro_rules! read {
                    ($($header:ident)*) => { $(
                        if let Some(header) = d.get::<$header>() {
                            for field in $header::FIELDS {
                                std::hint::black_box(field.get(header.bytes()));
                                fields += 1;
                            }
                        }
                    )* };
                }
                for_each_header!(read);
                let checks = (icrc::verify(&d), icrc::verify_vcrc(&d), icrc::has_fcs(&d));
                let parts =
                    (d.payload(), d.trailer(), d.encapsulation(), d.opcode(), d.notes().len(), d.severity());
                std::hint::black_box((checks, parts, d.layers().len()));
                fields
            });
            read += fields;
            assert_eq!(allocated.calls, 0, "{}: {allocated:?}", sample.name);
        }
    }
    assert!(read > 1000, "{read}");
}

#[test]
fn a_record_costs_no_allocation() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps/loss1_rc_write-B-300.pcap");
    let mut reader = capture::open(&path).unwrap();
    reader.next().unwrap().unwrap();
    let (frames, allocated) = memory::during(|| {
        let mut frames = 1;
        while let Some(record) = reader.next().unwrap() {
            std::hint::black_box(icrc::verify(&dissect(record.link, record.frame, record.wire_len)));
            frames += 1;
        }
        frames
    });
    assert_eq!((frames, allocated.calls), (300, 0));
}
