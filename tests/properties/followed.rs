//! Followers of upper layers and of management: whatever their messages say, each is counted once, and what is kept is bounded.

use rdmawire::{
    capture::{Record, Time},
    commands,
    dissect::{Link, dissect},
    fabric::Fabric,
    icrc, nvme,
    wire::Kind,
};

/// Commands that are kept one by one.
const KEPT: usize = 64;
const FRAMES: usize = 400;

/// A fuzzer's input: frames, each with a header. Their ICRCs are put right, so that what a mutant says is read.
///
/// ```text
/// | link & 1: native InfiniBand, else Ethernet | time since the frame before, as a power of two in ns | length (16, little-endian) | frame ...
/// ```
pub fn followed(data: &[u8]) {
    let (mut rest, mut time, mut frames) = (data, 0i64, 0u64);
    let mut fabric = Fabric::default();
    let mut commands = commands::Commands::keeping(KEPT);
    let mut nvme = nvme::Commands::keeping(KEPT);
    while let Some(([link, after, length @ ..], behind)) = rest.split_first_chunk::<4>() {
        if frames == FRAMES as u64 {
            break;
        }
        let (bytes, next) = behind.split_at(usize::from(u16::from_le_bytes(*length)).min(behind.len()));
        (rest, frames) = (next, frames + 1);
        time = time.saturating_add(1 << (after & 63).min(40));
        let link = if link & 1 != 0 { Link::INFINIBAND } else { Link::ETHERNET };
        let frame = repaired(link, bytes);
        let record =
            Record { time: Time(time), link, interface: 0, wire_len: frame.len() as u32, frame: &frame };
        let d = dissect(link, &frame, record.wire_len);
        fabric.push(frames, &record, &d);
        commands.push(frames, &record, &d);
        nvme.push(frames, &record, &d);
    }
    subnet(fabric, frames);
    let report = commands.finish();
    let completed: u64 = report.connections.iter().map(|row| row.completed).sum();
    assert_eq!(report.operations.iter().map(|row| row.completed).sum::<u64>(), completed);
    assert_eq!(report.commands.len(), (completed as usize).min(KEPT));
    assert!(completed <= frames && report.cut_messages <= frames, "{report:?}");
    are_texts(&report.findings);
    are_texts(&[serde_json::to_string(&report).expect("a report is JSON")]);
    let report = nvme.finish();
    assert!(report.commands.len() <= KEPT && report.cut_capsules <= frames, "{report:?}");
    are_texts(&report.findings);
    are_texts(&[serde_json::to_string(&report).expect("a report is JSON")]);
}

/// The frame with the ICRC that it should have.
fn repaired(link: Link, frame: &[u8]) -> Vec<u8> {
    let d = dissect(link, frame, frame.len() as u32);
    let mut frame = frame.to_vec();
    if let (Some(right), Some(at)) = (icrc::compute(&d), d.offset(Kind::Icrc))
        && let Some(icrc) = frame.get_mut(at..at + right.len())
    {
        icrc.copy_from_slice(&right);
    }
    frame
}

fn subnet(mut fabric: Fabric, frames: u64) {
    for pair in [[0, 1], [1, 2], [2, 1], [0xffff, 4]] {
        match fabric.way(pair[0], pair[1]) {
            Ok(hops) => assert!(hops.len() <= 1 << 10, "{} hops", hops.len()),
            Err(why) => assert!(!why.name().is_empty()),
        }
    }
    let report = fabric.finish();
    assert!(report.datagrams + report.bad_icrc + report.cut <= frames, "{report:?}");
    let messages: u64 = report.operations.iter().map(|row| row.questions + row.answers.unwrap_or(0)).sum();
    assert!(messages <= report.datagrams, "{messages} of {}", report.datagrams);
    are_texts(&report.findings);
    are_texts(&[report.sentence(), serde_json::to_string(&report).expect("a report is JSON")]);
    #[cfg(feature = "cli")]
    if let Ok(picture) = rdmawire::plot::subnet(&report, "fuzz") {
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>"), "{picture}");
        assert!(!picture.contains("<script"), "{picture}");
    }
}

fn are_texts(texts: &[String]) {
    for text in texts {
        assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
    }
}
