//! Source ports that are predicted, beside those of a capture.

use crate::support::{
    programs::{cli, printed},
    trace,
};
use rdmawire::{
    analyze::{Analysis, KnownConnection, Options},
    entropy::{Formula, nvidia_source_port, predict},
    wire::Qpn,
};

#[test]
#[cfg(feature = "compression")]
fn linux_has_the_ports_of_a_capture() {
    let mut analysis = Analysis::new(Options::default());
    let frames = trace::read("pcaps/loss1_rc_write-A.pcap.zst".as_ref()).unwrap();
    frames.iter().for_each(|frame| analysis.push(&frame.record()));
    let report = analysis.finish();
    assert!(!report.connections.is_empty());
    for connection in &report.connections {
        let ports = &report.flows[connection.flows[0]].udp_src_ports;
        let text =
            format!("{},{},{},{}", connection.a.addr, connection.a.qp, connection.b.addr, connection.b.qp);
        let known = KnownConnection::parse(&text).unwrap();
        let prediction = predict(&known, Formula::Linux, 1);
        assert_eq!(ports[..], [prediction.connections[0].udp_src_port]);
    }
}

#[test]
fn nvidia_folds_and_combines() {
    assert_eq!(nvidia_source_port(Qpn(0x12_3456), Qpn(0x00_0001)), (0x3456 ^ 0x12 ^ 1) | 0xc000);
    assert_eq!(nvidia_source_port(Qpn(0x11), Qpn(0x11)), 0xc011);
    assert_eq!(nvidia_source_port(Qpn(7), Qpn(0xab_0002)), nvidia_source_port(Qpn(0xab_0002), Qpn(7)));
}

#[test]
fn paths_and_collisions_are_counted() {
    // By NVIDIA's formula, queue pairs n and n + 1 of even n have one port: 0xc001.
    let lines: Vec<String> =
        (0..64).map(|n| format!("10.0.0.1,{},10.0.0.2,{}", 256 + 2 * n, 257 + 2 * n)).collect();
    let known = KnownConnection::parse(&lines.join("\n")).unwrap();
    let nvidia = predict(&known, Formula::Nvidia, 4);
    assert_eq!((nvidia.ports, nvidia.colliding, nvidia.collisions.len()), (1, 64, 1));
    assert_eq!(nvidia.collisions[0].udp_src_port, 0xc001);
    // All go one way, and come back one way.
    assert_eq!(nvidia.flows_per_path.iter().sum::<u64>(), 128);
    let most = *nvidia.flows_per_path.iter().max().unwrap();
    assert!(most >= 64 && (nvidia.max_over_mean - most as f64 / 32.0).abs() < 1e-9);
    let squares: u64 = nvidia.flows_per_path.iter().map(|n| n * n).sum();
    assert!((nvidia.jain - (128.0 * 128.0) / (4.0 * squares as f64)).abs() < 1e-9 && nvidia.jain <= 0.5);
    let linux = predict(&known, Formula::Linux, 4);
    assert!(linux.ports > 48 && linux.jain > 0.8, "{} {}", linux.ports, linux.jain);
    // Between other hosts, the same port is no collision.
    let apart = "10.0.0.1,2,10.0.0.2,3\n10.0.0.1,2,10.0.0.3,3\n";
    assert!(predict(&KnownConnection::parse(apart).unwrap(), Formula::Nvidia, 4).collisions.is_empty());
    assert_eq!(
        (predict(&[], Formula::Linux, 4).jain, predict(&[], Formula::Linux, 0).flows_per_path),
        (1.0, vec![0])
    );
}

#[test]
fn the_command_says_so_too() {
    let file = std::env::temp_dir().join(format!("rdmawire-qps-{}.csv", std::process::id()));
    std::fs::write(&file, "10.0.0.1,2,10.0.0.2,3\n10.0.0.1,4,10.0.0.2,5\n").unwrap();
    let run = |more: &[&str]| printed(cli().args(["entropy", "--paths", "2", "--qps"]).arg(&file).args(more));
    let text = run(&[]);
    assert!(text.contains("nvidia: 1 source port; 2 connections with the port of another one"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&run(&["--json"])).unwrap();
    assert_eq!(json["predictions"][1]["connections"][0]["udp_src_port"], 0xc001);
    std::fs::write(&file, "10.0.0.1,2,10.0.0.2\n").unwrap();
    let output = cli().args(["entropy", "--qps"]).arg(&file).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("line 1"), "{error}");
}

/// A list from both hosts has each connection twice: that is no collision.
#[test]
fn a_connection_counts_once() {
    let lines = "10.0.0.1,0x11,10.0.0.2,0x12\n10.0.0.1,0x11,10.0.0.2,0x12\n10.0.0.2,0x12,10.0.0.1,0x11\n10.0.0.1,0x12,10.0.0.2,0x11\n";
    let all = predict(&KnownConnection::parse(lines).unwrap(), Formula::Linux, 4);
    assert_eq!((all.connections.len(), all.repeated, all.flows_per_path.iter().sum::<u64>()), (2, 2, 4));
    // 0x11 to 0x12 and 0x12 to 0x11 are two, and Linux gives them one port.
    assert_eq!((all.colliding, all.collisions[0].connections.as_slice()), (2, &[0, 1][..]));
    let file = std::env::temp_dir().join(format!("rdmawire-qps-twice-{}.csv", std::process::id()));
    std::fs::write(&file, lines).unwrap();
    let output = cli().args(["entropy", "--qps"]).arg(&file).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    let (out, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(out.starts_with("2 connections over"), "{out}");
    assert!(error.contains("2 connections are named again"), "{error}");
}
