//! `rdmawire craft` as it is typed: what it refuses, and what it warns of.

use crate::support::{programs::cli, scratch::Scratch};
use rdmawire::wire::{Qpn, Udp};

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

/// What an option would say has no place in the message, or is the default of another one: nothing is dropped silently.
#[test]
fn what_would_do_nothing_is_refused() {
    const ACK: [&str; 3] = ["--flow-of", "pcaps/loss1_rc_write-B.pcap.zst:9", "--dest-qp=0x11"];
    let answer = |kind: &'static str, more: &[&'static str]| [&[kind], &ACK[..], more].concat();
    for (arguments, says) in [
        (vec!["write", "--paths", "4", "--to", "ib"], "ib has no UDP"),
        (vec!["write", "--paths", "4", "--to", "rocev1"], "rocev1 has no UDP"),
        (vec!["connect", "--paths", "4"], "on one path"),
        (vec!["connect", "--transport", "mrc"], "MRC has no such operation"),
        (vec!["write", "--transport", "mrc", "--service", "uc"], "leave --service uc away"),
        (vec!["write", "--transport", "mrc", "--to", "ib"], "MRC goes over RoCEv2 only"),
        (vec!["send", "--va", "1"], "a SEND has no RETH"),
        (vec!["send", "--r-key", "1"], "a SEND has no RETH"),
        (vec!["read-response", "--va", "1"], "a READ response has no RETH"),
        (vec!["connect", "--r-key", "1"], "has no RETH"),
        (vec!["connect", "--len", "1"], "a size of their own"),
        (vec!["connect", "--service", "ud"], "datagrams need no connection"),
        (answer("cnp", &["--msn", "3"]), "a CNP has no AETH"),
        (vec!["write", "--to", "ib", "--compute", "udp_checksum"], "no packet has this field"),
        (vec!["write", "--keep", "vcrc"], "--keep vcrc: no packet has this field"),
        (vec!["write", "--step", "bth.psn+=1"], "--count"),
        (vec!["pause", "--speed", "400G"], "--hold"),
        (vec!["pause", "--hold", "1ms", "--speed", "400G", "--interval", "1us"], "only copies of --count"),
        (vec!["--from", "pcaps/loss1_rc_write-B.pcap.zst", "--interval", "1us"], "frames keep their times"),
        (
            vec!["--from", "pcaps/loss1_rc_write-B.pcap.zst", "--expect", "e.json"],
            "--expect needs a scenario",
        ),
        (vec!["--from", "pcaps/loss1_rc_write-B.pcap.zst", "--links", "l.toml"], "--links needs a scenario"),
        (
            vec!["write", "--src", "fe80::2", "--dst", "fe80::1", "--to", "rocev2-ipv4"],
            "fe80::2: rocev2-ipv4",
        ),
    ] {
        let (status, out, error) = craft(&arguments);
        assert!(status == Some(2) && out.is_empty() && error.contains(says), "{arguments:?}: {error}");
    }
    for arguments in [
        vec!["write", "--src", "::ffff:10.0.0.1", "--dst", "::ffff:10.0.0.2", "--to", "rocev2-ipv4"],
        vec!["write", "--transport", "mrc", "--service", "rc", "--paths", "2"],
        vec!["send", "--transport", "ib", "--compute", "udp_checksum"],
        vec!["read-response", "--paths", "2"],
        answer("ack", &["--msn", "0xffffff"]),
        answer("cnp", &[]),
    ] {
        let (status, _, error) = craft(&arguments);
        assert_eq!(status, Some(0), "{arguments:?}: {error}");
    }
}

/// The source port is behind Ethernet's and IPv4's headers.
#[test]
fn responses_take_their_paths_in_turn() {
    let (_, out, _) = craft(&["read-response", "--paths", "2", "--len", "3072"]);
    let ports: Vec<&str> = out.lines().map(|line| &line[68..72]).collect();
    assert_eq!(ports, ["c000", "c001", "c000"]);
}

#[test]
fn numbers_are_hexadecimal_too_and_fit_their_fields() {
    for (arguments, says) in [
        (&["write", "--psn", "16777216"][..], "a PSN has 24 bits: expected at most 0xffffff"),
        (&["ack", "--flow-of", "x:1", "--msn", "99999999"], "a message sequence number has 24 bits"),
        (&["write", "--r-key", "0x100000000"], "an R_Key has 32 bits"),
        (&["write", "--imm", "0x100000000"], "immediate data has 32 bits"),
        (&["pause", "--quanta", "0x10000"], "a pause time has 16 bits"),
        (&["write", "--paths", "0x1001"], "expected a number from 1 to 4096"),
        (&["write", "--count", "0"], "expected a number from 1 to"),
    ] {
        let (status, out, error) = craft(arguments);
        assert!(status == Some(2) && out.is_empty() && error.contains(says), "{arguments:?}: {error}");
    }
    let same = |hex: &[&str], decimal: &[&str]| {
        let (status, out, error) = craft(hex);
        assert!(status == Some(0) && !out.is_empty(), "{hex:?}: {error}");
        assert_eq!(out, craft(decimal).1, "{hex:?}");
    };
    same(&["write", "--psn", "0xffffff", "--count", "0x2"], &["write", "--psn", "16777215", "--count", "2"]);
    same(&["pause", "--quanta", "0x10"], &["pause", "--quanta", "16"]);
    same(&["write", "--paths", "0x4"], &["write", "--paths", "4"]);
    same(&["write", "--seed", "0x7"], &["write", "--seed", "7"]);
}

/// What is added to a computed field is added to what it is, in every copy.
#[test]
fn additions_begin_at_the_computed_value() {
    let recipe = |arguments: &[&str]| {
        let (status, out, error) = craft(&[&["write", "--len", "4", "--recipes"], arguments].concat());
        assert_eq!(status, Some(0), "{arguments:?}: {error}");
        out
    };
    let value = |line: &str, field: &str| -> u64 {
        let found = line.split(' ').find_map(|word| word.strip_prefix(&format!("{field}=")));
        let text = found.unwrap_or_else(|| panic!("{field}: {line}"));
        text.strip_prefix("0x")
            .map_or_else(|| text.parse().unwrap(), |hex| u64::from_str_radix(hex, 16).unwrap())
    };
    let port = u64::from(Udp::linux_source_port(Qpn(0x12), Qpn(0x11)));
    let stepped = recipe(&["--step", "udp.src_port+=1", "--count", "3"]);
    let later: Vec<u64> = stepped.lines().skip(1).map(|line| value(line, "src_port")).collect();
    assert_eq!(later, [port + 1, port + 2]);
    assert_eq!(value(&recipe(&["--set", "udp.src_port+=1"]), "src_port"), port + 1);
    // UDP's header, BTH, RETH, four bytes, ICRC.
    assert_eq!(value(&recipe(&["--set", "udp.length+=1"]), "length"), 8 + 12 + 16 + 4 + 4 + 1);
    assert_eq!(value(&recipe(&["--set", "udp.length-=1"]), "length"), 8 + 12 + 16 + 4 + 4 - 1);
    let bytes = |arguments: &[&str]| craft(&[&["write", "--len", "4"], arguments].concat()).1;
    let (right, wrong) = (bytes(&[]), bytes(&["--set", "ipv4.checksum+=1"]));
    let sum = |frame: &str| u16::from_str_radix(&frame[48..52], 16).unwrap();
    assert_eq!(sum(&wrong), sum(&right).wrapping_add(1));
    // One that was set counts from there, and one that is kept by default is 0.
    assert_eq!(value(&recipe(&["--set", "udp.length=7", "--set", "udp.length+=1"]), "length"), 8);
    assert_eq!(value(&recipe(&["--set", "udp.checksum+=1"]), "checksum"), 1);
}

/// A time that a recipe gives is kept, also in a capture; copies come later.
#[test]
fn a_time_stamp_that_is_given_is_kept() {
    const RECIPE: &str = "erf timestamp=cb7eddadaceb086b / lrh / bth opcode=rc-acknowledge / aeth";
    let begins = |arguments: &[&str]| -> Vec<String> {
        let (status, out, error) = craft(&[&[RECIPE], arguments].concat());
        assert_eq!(status, Some(0), "{error}");
        out.lines().map(|line| line[..16].to_owned()).collect()
    };
    assert_eq!(begins(&["--hex"]), ["cb7eddadaceb086b"]);
    let copies = begins(&["--count", "2", "--interval", "1s"]);
    assert_eq!((copies[0].as_str(), &copies[1][8..]), ("cb7eddadaceb086b", "adeb086b"));
    assert_eq!(begins(&["--set", "erf.timestamp=0102030405060708"]), ["0102030405060708"]);
    let none = craft(&["erf / lrh / bth opcode=rc-acknowledge / aeth", "--count", "2"]).1;
    assert!(none.lines().all(|line| line[8..16] == *"00000000"), "{none}");
    let scratch = Scratch::new("stamps");
    let file = scratch.join("e.erf");
    let (status, _, error) = craft(&[RECIPE, "-o", file.to_str().unwrap()]);
    assert_eq!(status, Some(0), "{error}");
    assert_eq!(std::fs::read(&file).unwrap()[..8], [0xcb, 0x7e, 0xdd, 0xad, 0xac, 0xeb, 0x08, 0x6b]);
}

#[test]
fn an_unknown_header_points_to_what_lists_them() {
    let (status, _, error) = craft(&["write", "--set", "nosuch.x=1"]);
    assert!(status == Some(2) && error.contains("`rdmawire explain` lists them"), "{error}");
    let listed = cli().arg("explain").output().unwrap().stdout;
    assert!(String::from_utf8(listed).unwrap().contains("Headers, in wire order"));
}
