//! The words of tcpdump's filters that our own language can say too: `udp port 4791 and host 10.0.0.1`.

use super::units;

/// The expression in the language of `rdmawire explain filter`.
///
/// Of pcap-filter(7): `ip ip6 udp tcp icmp arp vlan`, `[src|dst] [host] ADDRESS`, `[src|dst] net PREFIX`,
/// `[udp|tcp] [src|dst] port N`, `ether proto N`, `not and or ! && || ()`; `and` and `or` bind alike, from the left.
pub(super) fn translate(text: &str) -> Result<String, String> {
    let spaced: String = text
        .replace("&&", " and ")
        .replace("||", " or ")
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('!', " not ");
    let mut words = Words { words: spaced.split_whitespace().collect(), at: 0, depth: 0 };
    let translated = words.expression()?;
    match words.peek() {
        None => Ok(translated),
        Some(word) => Err(format!("{word:?} is not expected there")),
    }
}

struct Words<'a> {
    words: Vec<&'a str>,
    at: usize,
    depth: usize,
}

impl<'a> Words<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    fn take(&mut self, expected: &str) -> Result<&'a str, String> {
        let word = self.peek().ok_or_else(|| format!("{expected} is missing at the end"))?;
        self.at += 1;
        Ok(word)
    }

    fn accept(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(word);
        self.at += usize::from(is_next);
        is_next
    }

    fn expression(&mut self) -> Result<String, String> {
        let mut left = self.term()?;
        loop {
            let word = match self.peek() {
                Some(word @ ("and" | "or")) => word,
                _ => return Ok(left),
            };
            self.at += 1;
            left = format!("({left} {word} {})", self.term()?);
            if left.len() > 4096 {
                return Err("it is too long".into());
            }
        }
    }

    fn term(&mut self) -> Result<String, String> {
        self.depth += 1;
        if self.depth > 32 {
            return Err("it is nested too deeply".into());
        }
        let term = if self.accept("not") {
            format!("!({})", self.term()?)
        } else if self.accept("(") {
            let inner = self.expression()?;
            if !self.accept(")") {
                return Err("a ) is missing".into());
            }
            format!("({inner})")
        } else {
            self.primitive()?
        };
        self.depth -= 1;
        Ok(term)
    }

    fn primitive(&mut self) -> Result<String, String> {
        let word = self.take("a primitive, as udp or host")?;
        let (mut protocol, mut side) = (None, None);
        let kind = match word {
            "udp" | "tcp" if matches!(self.peek(), Some("port" | "src" | "dst")) => {
                protocol = Some(word);
                self.take("port")?
            }
            "udp" | "vlan" => return Ok(word.into()),
            "arp" => return Ok("eth.type == 0x0806".into()),
            "ip" if !matches!(self.peek(), Some("host" | "src" | "dst" | "proto")) => {
                return Ok("ipv4".into());
            }
            "ip6" if !matches!(self.peek(), Some("host" | "src" | "dst" | "proto")) => {
                return Ok("ipv6".into());
            }
            "tcp" => return Ok("(ipv4.protocol == 6 || ipv6.next_header == 6)".into()),
            "icmp" => return Ok("ipv4.protocol == 1".into()),
            "ether" => {
                if !self.accept("proto") {
                    return Err("after ether, only proto is known".into());
                }
                return Ok(format!("eth.type == {}", number(self.take("a number")?)?));
            }
            _ => word,
        };
        let mut kind = kind;
        if let "src" | "dst" = kind {
            side = Some(kind);
            kind = self.take("port, host or an address")?;
        }
        match kind {
            "port" => {
                let port = number(self.take("a port")?)?;
                match protocol {
                    Some("tcp") => Err("the ports of TCP are not known to it".into()),
                    _ => Ok(either(side, "udp.src_port", "udp.dst_port", &port)),
                }
            }
            "host" | "net" => Ok(either(side, "ip.src", "ip.dst", &address(self.take("an address")?)?)),
            other if protocol.is_none() && address(other).is_ok() => {
                Ok(either(side, "ip.src", "ip.dst", &address(other)?))
            }
            other => Err(format!("{other:?} is not known to it")),
        }
    }
}

fn either(side: Option<&str>, src: &str, dst: &str, value: &str) -> String {
    match side {
        Some("src") => format!("{src} == {value}"),
        Some(_) => format!("{dst} == {value}"),
        None => format!("({src} == {value} || {dst} == {value})"),
    }
}

fn number(word: &str) -> Result<String, String> {
    let number = units::integer(word).ok().and_then(|number| u16::try_from(number).ok());
    number.map(|number| number.to_string()).ok_or_else(|| format!("{word:?} is not a number below 65536"))
}

fn address(word: &str) -> Result<String, String> {
    let (address, prefix) = word.split_once('/').unwrap_or((word, "0"));
    match (address.parse::<std::net::IpAddr>(), prefix.parse::<u8>()) {
        (Ok(_), Ok(0..=128)) => Ok(word.into()),
        _ => Err(format!("{word:?} is not an IP address")),
    }
}

#[cfg(test)]
mod tests {
    use super::translate;
    use rdmawire::filter::Filter;

    #[test]
    fn what_tcpdump_understands_means_the_same() {
        for (text, expected) in [
            ("udp port 4791", "(udp.src_port == 4791 || udp.dst_port == 4791)"),
            ("udp dst port 4791", "udp.dst_port == 4791"),
            ("src host 10.0.0.1", "ip.src == 10.0.0.1"),
            ("ether proto 0x8915", "eth.type == 35093"),
            ("udp or ip and vlan", "((udp or ipv4) and vlan)"),
            ("not (arp||ip6)", "!(((eth.type == 0x0806 or ipv6)))"),
            ("net 10.0.0.0/8", "(ip.src == 10.0.0.0/8 || ip.dst == 10.0.0.0/8)"),
        ] {
            let translated = translate(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(translated, expected);
            Filter::parse(&translated).unwrap_or_else(|error| panic!("{translated}: {error}"));
        }
        for wrong in ["", "udp port", "udp port x", "host nowhere", "(udp", "bth.psn == 7", "udp udp", "not"]
        {
            assert!(translate(wrong).is_err(), "{wrong}");
        }
        assert!(translate(&"(".repeat(1000)).is_err());
        assert!(translate(&"not ".repeat(1000)).is_err());
    }
}
