//! The words of tcpdump's filters that display filters can say too: `udp port 4791 and host 10.0.0.1`.

use std::net::IpAddr;

use super::{
    Error, Parsed, did_you_mean,
    expr::{Expr, Is, Precedence, expected, token},
    fail, nearest, units,
};

/// The display filter that means the same as a kernel filter.
///
/// Of pcap-filter(7): `ip ip6 udp tcp icmp arp vlan`, `[src|dst] [host] ADDRESS`, `[src|dst] net PREFIX`,
/// `[udp] [src|dst] port N`, `ether proto N`, `not and or ! && || ()`; `and` and `or` bind alike, from the left.
///
/// # Errors
/// Says where it is none, or uses other words, and what was expected.
pub fn display_filter(text: &str) -> Result<String, Error> {
    Expr::parse(text, Precedence::LeftFirst, primitive).map(|expr| expr.to_string())
}

const WORDS: [&str; 13] =
    ["udp", "tcp", "ip", "ip6", "icmp", "arp", "vlan", "ether", "src", "dst", "port", "host", "net"];

fn primitive(input: &str) -> Parsed<'_, Expr<String>> {
    let (rest, first) = word(input, "a primitive, like udp or host")?;
    let test = |text: &str| Ok((rest, Expr::Test(text.to_owned())));
    let is_ports = token(rest)?.1.is_any(&["port", "src", "dst"]);
    match first {
        "udp" if is_ports => ports(rest),
        "tcp" if is_ports => fail(first, "the ports of TCP are no fields here"),
        "udp" | "vlan" => test(first),
        "ip" => test("ipv4"),
        "ip6" => test("ipv6"),
        "arp" => test("eth.type == 0x0806"),
        "icmp" => test("ipv4.protocol == 1"),
        "tcp" => Ok((rest, either("ipv4.protocol == 6", "ipv6.next_header == 6"))),
        "ether" => {
            let (rest, _) = keyword(rest, "proto")?;
            let (rest, number) = number(rest)?;
            Ok((rest, Expr::Test(format!("eth.type == {number}"))))
        }
        _ => ends(input),
    }
}

/// `[src|dst] port N`.
fn ports(input: &str) -> Parsed<'_, Expr<String>> {
    let (rest, side) = side(input)?;
    let (rest, _) = keyword(rest, "port")?;
    let (rest, port) = number(rest)?;
    Ok((rest, compare(side, "udp.src_port", "udp.dst_port", port)))
}

/// `[src|dst] port N`, or `[src|dst] [host|net] ADDRESS`.
fn ends(input: &str) -> Parsed<'_, Expr<String>> {
    let (rest, side) = side(input)?;
    let (after, kind) = word(rest, "port, host, net or an address")?;
    let (rest, address) = match kind {
        "port" => return ports(input),
        "host" | "net" => word(after, "an address")?,
        _ => (after, kind),
    };
    match is_ipv6(address) {
        Some(false) => Ok((rest, compare(side, "ip.src", "ip.dst", address))),
        Some(true) => Ok((rest, compare(side, "ipv6.src", "ipv6.dst", address))),
        None if address == kind => {
            let near = did_you_mean(&nearest(kind, WORDS.iter().map(|word| (*word).to_owned())), "");
            fail(kind, format!("neither an address nor a word that is known here{near}"))
        }
        None => fail(address, "expected an IP address"),
    }
}

fn side(input: &str) -> Parsed<'_, Option<&str>> {
    match token(input)? {
        (rest, side) if side.is_any(&["src", "dst"]) => Ok((rest, Some(side.text))),
        _ => Ok((input, None)),
    }
}

fn word<'a>(input: &'a str, what: &str) -> Parsed<'a, &'a str> {
    match token(input)? {
        (rest, token) if token.is == Is::Word && !token.is_any(&["and", "or", "not"]) => {
            Ok((rest, token.text))
        }
        _ => expected(input, what),
    }
}

fn keyword<'a>(input: &'a str, wanted: &str) -> Parsed<'a, &'a str> {
    match word(input, wanted)? {
        (rest, word) if word == wanted => Ok((rest, word)),
        _ => expected(input, wanted),
    }
}

fn number(input: &str) -> Parsed<'_, u16> {
    let (rest, text) = word(input, "a number")?;
    match units::integer(text).ok().and_then(|number| u16::try_from(number).ok()) {
        Some(number) => Ok((rest, number)),
        None => fail(text, "expected a number below 65536"),
    }
}

/// Whether it is an IPv6 address or prefix, rather than one of IPv4; `None` where it is neither.
fn is_ipv6(text: &str) -> Option<bool> {
    let (address, bits) = text.split_once('/').unwrap_or((text, "0"));
    let (address, bits) = (address.parse::<IpAddr>().ok()?, bits.parse::<u8>().ok()?);
    (bits <= if address.is_ipv6() { 128 } else { 32 }).then_some(address.is_ipv6())
}

fn compare(side: Option<&str>, src: &str, dst: &str, value: impl std::fmt::Display) -> Expr<String> {
    let (src, dst) = (format!("{src} == {value}"), format!("{dst} == {value}"));
    match side {
        Some("src") => Expr::Test(src),
        Some(_) => Expr::Test(dst),
        None => either(&src, &dst),
    }
}

fn either(a: &str, b: &str) -> Expr<String> {
    Expr::Or(vec![Expr::Test(a.to_owned()), Expr::Test(b.to_owned())])
}
