//! Numbers with units, and filters of tcpdump's: what they mean, and how they complain.

use rdmawire::{
    filter::Filter,
    grammar::{kernel::display_filter, print, units::*},
};

#[test]
fn numbers_have_units() {
    let sizes = ["1MiB", "64 kB", "7", "1.5KiB", "1_000", "64K", "2g"].map(|text| size(text).unwrap());
    assert_eq!(sizes, [1 << 20, 64_000, 7, 1_536, 1_000, 65_536, 2 << 30]);
    let times = ["1ms", "10us", "2 s", "1.5us", "0ns", "1e3us", "0.3 ns", "1 min", "1.28µs"];
    let ns = [1_000_000, 10_000, 2_000_000_000, 1_500, 0, 1_000_000, 0, 60_000_000_000, 1_280];
    assert_eq!(times.map(|text| duration(text).unwrap()), ns);
    let speeds = ["400G", "25Gbit/s", "10 Mbps", "7bit/s", "1e"].map(|text| bit_rate(text).ok());
    assert_eq!(speeds, [Some(400_000_000_000), Some(25_000_000_000), Some(10_000_000), Some(7), None]);
    assert_eq!(["2K", "2k", "3M", "0x10"].map(|text| count(text).unwrap()), [2_000, 2_000, 3_000_000, 16]);
    let integers = ["17", "0x11", "0X11", "0b1_0001", "+17", "1_7"].map(|text| integer(text).unwrap());
    assert_eq!(integers, [17; 6]);
}

#[test]
fn what_is_no_number_is_an_error_that_says_where() {
    let too_large = "18446744073709551615GiB";
    for wrong in ["", "K", "4X", "-1", "1.5", "1..2B", "99999999999999999999", "nan", "_", too_large] {
        assert!(size(wrong).is_err(), "{wrong}");
    }
    for wrong in ["10", "0s", "0.1ns", "1 fortnight", "-1us", "1e99s"] {
        assert!(positive_duration(wrong).is_err(), "{wrong}");
    }
    for wrong in ["", "0x", "_", "12 ", "1e3", "0b2", "0x1_0000_0000_0000_0000", "++1"] {
        assert!(integer(wrong).is_err(), "{wrong}");
    }
    for bare in ["400", "0", "1e11"] {
        let said = bit_rate(bare).unwrap_err();
        assert!(said.message().contains(&format!("{bare}bit/s, {bare}M or {bare}G?")), "{said}");
    }
    assert!(bit_rate("0G").is_err() && count("2KK").is_err() && count("99999999T").is_err());
    assert!(qpn("0x1000000").is_err());
    let error = duration(" 10 fortnights").unwrap_err();
    assert_eq!((error.offset(), error.message().contains("like 250ns")), (4, true), "{error}");
    assert_eq!(integer("12x").unwrap_err().offset(), 2);
    for (text, says) in [("1..2B", "no number"), ("1.5", "not a whole number"), ("9e9GiB", "too large")] {
        assert!(size(text).unwrap_err().message().contains(says), "{text}");
    }
}

#[test]
fn what_tcpdump_understands_means_the_same() {
    for (text, expected) in [
        ("udp port 4791", "udp.src_port == 4791 || udp.dst_port == 4791"),
        ("udp dst port 4791", "udp.dst_port == 4791"),
        ("src port 0x12b7", "udp.src_port == 4791"),
        ("src host 10.0.0.1", "ip.src == 10.0.0.1"),
        ("dst fe80::1", "ipv6.dst == fe80::1"),
        ("ether proto 0x8915", "eth.type == 35093"),
        ("udp or ip and vlan", "(udp || ipv4) && vlan"),
        (
            "udp and ip and (tcp or vlan)",
            "udp && ipv4 && (ipv4.protocol == 6 || ipv6.next_header == 6 || vlan)",
        ),
        ("not (arp||ip6)", "!(eth.type == 0x0806 || ipv6)"),
        ("net 10.0.0.0/8", "ip.src == 10.0.0.0/8 || ip.dst == 10.0.0.0/8"),
    ] {
        let translated = display_filter(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(translated, expected);
    }
}

#[test]
fn a_wrong_one_says_where() {
    for (text, at, says) in [
        ("", 0, "expected a primitive"),
        ("udp port", 8, "expected a number, found the end"),
        ("udp port x", 9, "a number below 65536"),
        ("host nowhere", 5, "expected an IP address"),
        ("net 10.0.0.0/33", 4, "expected an IP address"),
        ("(udp", 4, "the parenthesis at column 1"),
        ("bth.psn == 7", 0, "a word that is known here"),
        ("udp udp", 4, "expected &&, || or the end"),
        ("ip host 10.0.0.1", 3, "found `host`"),
        ("not", 3, "expected a primitive"),
        ("tcp port 80", 0, "ports of TCP"),
        ("hots 10.0.0.1", 0, "did you mean host?"),
    ] {
        let error = display_filter(text).expect_err(text);
        assert_eq!(error.offset(), at, "{error}");
        assert!(error.message().contains(says), "{error}");
    }
    for deep in ["(".repeat(1000), "not ".repeat(1000), "udp or ip and ".repeat(100) + "udp"] {
        assert!(display_filter(&deep).unwrap_err().message().contains("nested"));
    }
}

#[test]
fn what_is_translated_is_a_display_filter() {
    for text in
        ["udp port 4791 or fe80::1", "not (arp||ip6) and tcp", "src net fe80::/10", "ether proto 1 or icmp"]
    {
        let translated = display_filter(text).unwrap();
        Filter::parse(&translated).unwrap_or_else(|error| panic!("{translated}: {error}"));
    }
}

#[test]
fn three_digits_and_a_unit() {
    let times = [0, 7, 999, 1_000, 46_100, 999_499, 999_600, 1_500_000_000, 90_000_000_000];
    let texts = ["0 ns", "7 ns", "999 ns", "1.00 µs", "46.1 µs", "999 µs", "1.00 ms", "1.50 s", "1.50 min"];
    assert_eq!(times.map(print::duration), texts);
    assert_eq!(print::duration(u64::MAX), "213504 d");
    assert_eq!([86, 1_048_576, 12_345_678_901].map(print::bytes), ["86 B", "1.05 MB", "12.3 GB"]);
    assert_eq!([4e11, 2.5e9].map(print::bit_rate), ["400 Gbit/s", "2.50 Gbit/s"]);
}
