//! `rdmawire craft` as it is typed: what it refuses, and what it warns of.

use crate::support::programs::cli;

/// Status, standard output and standard error.
fn craft(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = cli().arg("craft").args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn what_no_fabric_has_is_refused() {
    for (arguments, says) in [
        (&["write", "--mtu", "1500"][..], "expected 256, 512, 1024, 2048 or 4096"),
        (&["write", "--src", "10.0.0.1", "--dst", "fd00::2"], "one is IPv4, the other IPv6"),
        (&["read", "--imm", "5"], "a READ request has no immediate data"),
        (&["read-response", "--imm", "5"], "a READ response has no immediate data"),
        (&["pause", "--hold", "1ms", "--speed", "400"], "400bit/s, 400M or 400G?"),
    ] {
        let (status, out, error) = craft(arguments);
        assert!(status == Some(2) && out.is_empty() && error.contains(says), "{arguments:?}: {error}");
    }
}

#[test]
fn sizes_are_typed_alike_everywhere() {
    let packets = |size: &str| craft(&["write", "--mtu", "4096", "--len", size]).1.lines().count();
    assert_eq!(["64K", "64KiB", "65536"].map(packets), [16; 3]);
    let overhead = |size: &str| cli().args(["overhead", "--size", size]).output().unwrap().stdout;
    assert_eq!(overhead("64K"), overhead("64KiB"));
    assert_eq!(cli().args(["overhead", "--len", "64K"]).output().unwrap().stdout, overhead("64K"));
}

#[test]
fn a_recipe_that_surprises_is_built_with_a_warning() {
    const BEFORE: &str = "eth / ipv4 dst=10.0.0.2 / udp / bth opcode=rc-write-only";
    for (after, says) in [
        ("payload 64", "RC RDMA WRITE Only has a RETH, and the recipe has none"),
        ("reth / payload 64", "reth dma_len is 0, and the payload of this whole message has 64 bytes"),
        ("reth dma_len=64 / payload 64", ""),
        ("reth", ""),
    ] {
        let (status, out, error) = craft(&[&format!("{BEFORE} / {after}")]);
        assert_eq!((status, out.lines().count()), (Some(0), 1), "{after}: {error}");
        assert!(error.contains(says) && error.is_empty() == says.is_empty(), "{after}: {error}");
    }
}
