//! Frames for a peer whose queue pairs wait: what it must take, and what it must drop.
//!
//! `cargo run --example craft_accept -- target.json out.pcap` reads addresses, queue pairs and keys of the peer, and
//! writes the frames with `out.pcap.expect.json`, which says of each what is expected. Without arguments it makes up
//! a peer and lists the frames.

use std::{fs, net::IpAddr, path::Path as FilePath};

use rdmawire::{
    capture::{self, Format, Record, Sink, Time},
    craft::{Channel, ComputedField, Data, Endpoint, Packet, Path, Request},
    dissect::{Encapsulation, Link},
    opcode::Service,
    wire::{Bth, Deth, Ecn, Hex32, Ipv4, Ipv6, Mac, PKey, Psn, Qpn, RKey, Reth, VirtualAddress},
};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, output] = &arguments[..] else {
        for (_, expectation) in frames(&made_up())? {
            println!("{expectation}");
        }
        return Ok(());
    };
    let frames = frames(&serde_json::from_slice(&fs::read(target)?)?)?;
    let options = capture::Options { force: true, ..Default::default() };
    let mut writer = capture::create(FilePath::new(output), Format::PcapMicros, &[], options)?;
    for (n, (frame, _)) in frames.iter().enumerate() {
        writer.put(&Record {
            time: Time(n as i64 * 1_000_000),
            link: Link::ETHERNET,
            interface: 0,
            wire_len: frame.len() as u32,
            frame,
        })?;
    }
    writer.finish()?;
    let expectations: Vec<&Value> = frames.iter().map(|(_, expectation)| expectation).collect();
    fs::write(format!("{output}.expect.json"), serde_json::to_vec_pretty(&expectations)?)?;
    Ok(())
}

/// What of a queue pair's write area is looked at afterwards, and what must stand there.
type Memory = (Qpn, u64, Vec<u8>);

/// What the peer fills its memory with.
const UNTOUCHED: u8 = 0xee;

/// The waiting queue pairs, and the frames so far.
struct Peer<'a> {
    target: &'a Value,
    frames: Vec<(Vec<u8>, Value)>,
}

fn frames(target: &Value) -> Result<Vec<(Vec<u8>, Value)>> {
    let mut peer = Peer { target, frames: Vec::new() };
    for ip in [4, 6] {
        peer.datagrams(ip)?;
    }
    peer.sends()?;
    peer.writes()?;
    peer.reads_and_atomics()?;
    peer.over_ipv6()?;
    peer.unreliable()?;
    Ok(peer.frames)
}

impl Peer<'_> {
    fn datagrams(&mut self, ip: u64) -> Result<()> {
        let (channel, _) = self.queue_pair("ud", ip, 0)?;
        let text = Data::bytes(&b"a datagram from rdmawire, of 36 bytes"[..36]);
        let one = |channel: &Channel, len, imm| -> Result<Packet> {
            let request = Request::Send { len, imm, invalidate: None };
            Ok(channel.request(Psn(7), request)?.data(text.clone()).packet(0))
        };
        let good = one(&channel, 36, None)?;
        self.add(&format!("UD SEND, IPv{ip}"), &good, true);
        self.flipped(&format!("UD SEND, IPv{ip}, one bit of the ICRC flipped"), &good, None);
        for pad in 1..4 {
            let name = format!("UD SEND, IPv{ip}, {} bytes: pad {pad}", 36 - pad);
            self.add(&name, &one(&channel, 36 - pad, None)?, true);
        }
        let imm = one(&channel, 4, Some(0xcafe_babe))?;
        self.add(&format!("UD SEND with immediate, IPv{ip}"), &imm, true);
        self.flipped(&format!("UD SEND with immediate, IPv{ip}, one bit of the ICRC flipped"), &imm, None);
        // What the ICRC does not cover may change on the way.
        let routed = match ip {
            4 => good.clone().edit(|ip: Ipv4| ip.with_ttl(3).with_dscp(26).with_ecn(Ecn::CE)),
            _ => good.clone().edit(|ip: Ipv6| {
                ip.with_hop_limit(3).with_dscp(26).with_ecn(Ecn::CE).with_flow_label(0x12345)
            }),
        };
        self.add(&format!("UD SEND, IPv{ip}, 3 hops left, DSCP 26, CE"), &routed, true);
        let marked = good.clone().edit(|bth: Bth| bth.with_fecn(true).with_becn(true));
        self.add(&format!("UD SEND, IPv{ip}, FECN and BECN"), &marked, true);
        let old = good.clone().edit(|bth: Bth| bth.with_mig_req(false));
        self.add(&format!("UD SEND, IPv{ip}, MigReq 0"), &old, true);
        let wrong = good.clone().edit(|deth: Deth| deth.with_q_key(Hex32(0x2222_2222)));
        self.add(&format!("UD SEND, IPv{ip}, wrong Q_Key"), &wrong, false);
        let wrong = good.clone().edit(|bth: Bth| bth.with_p_key(PKey(0x1234)));
        self.add(&format!("UD SEND, IPv{ip}, wrong P_Key"), &wrong, false);
        let wrong = good.clone().edit(|bth: Bth| bth.with_dest_qp(Qpn(0x12_3456)));
        self.add(&format!("UD SEND, IPv{ip}, wrong DestQP"), &wrong, false);
        let wrong = good.edit(|bth: Bth| bth.with_tver(1));
        self.add(&format!("UD SEND, IPv{ip}, TVer 1"), &wrong, false);
        Ok(())
    }

    fn sends(&mut self) -> Result<()> {
        let (channel, psn) = self.queue_pair("rc", 4, 0)?;
        let send = |len, imm| Request::Send { len, imm, invalidate: None };
        let one = channel.request(Psn(psn), send(41, None))?.data(Data::pattern(1)).packet(0);
        self.flipped("RC SEND only, one bit of the ICRC flipped", &one, None);
        let wrong = one.clone().edit(|bth: Bth| bth.with_p_key(PKey(0x1234)));
        self.add("RC SEND only, wrong P_Key", &wrong, false);
        let wrong = one.clone().edit(|bth: Bth| bth.with_dest_qp(Qpn(0x12_3456)));
        self.add("RC SEND only, wrong DestQP", &wrong, false);
        self.add("RC SEND only", &one, true);
        self.add("RC SEND only, repeated", &one, true);
        let imm = channel.request(Psn(psn + 1), send(8, Some(0x0102_0304)))?.data(Data::pattern(2)).packet(0);
        self.flipped("RC SEND only with immediate, one bit of the ICRC flipped", &imm, None);
        self.add("RC SEND only with immediate", &imm, true);
        self.all("RC SEND", &channel, psn + 2, send(2 * u32::from(channel.mtu) + 5, None), None)?;
        self.all("RC SEND with immediate", &channel, psn + 5, send(u32::from(channel.mtu) + 1, Some(9)), None)
    }

    fn writes(&mut self) -> Result<()> {
        let (channel, psn) = self.queue_pair("rc", 4, 1)?;
        let (va, r_key) = self.memory("rc", 4, 1)?;
        let write = |len, at, imm| Request::Write { len, va: va + at, r_key, imm };
        let mtu = u32::from(channel.mtu);
        let one = channel.request(Psn(psn), write(17, 0, None))?.data(Data::pattern(3)).packet(0);
        let elsewhere = one.clone().edit(|reth: Reth| reth.with_va(VirtualAddress(va + 0x4000)));
        let memory = Some((channel.dst_qp, 0x4000, vec![UNTOUCHED; 17]));
        self.flipped("RC WRITE only, one bit of the ICRC flipped", &elsewhere, memory);
        self.add_with("RC WRITE only", &one, true, Some((channel.dst_qp, 0, one.get_payload().to_vec())));
        self.all("RC WRITE", &channel, psn + 1, write(3 * mtu + 7, 64, None), Some(64))?;
        let imm = channel.request(Psn(psn + 5), write(4, 8192, Some(0x0506_0708)))?.data(Data::pattern(4));
        self.flipped("RC WRITE only with immediate, one bit of the ICRC flipped", &imm.packet(0), None);
        self.add("RC WRITE only with immediate", &imm.packet(0), true);
        self.all("RC WRITE with immediate", &channel, psn + 6, write(mtu + 1, 9000, Some(7)), Some(9000))?;
        let none = channel.request(Psn(psn + 8), write(0, 0, None))?;
        self.add("RC WRITE only of no bytes", &none.packet(0), true);
        let refused = channel.request(Psn(psn + 9), write(4, 0, None))?.data(Data::pattern(5)).packet(0);
        let refused = refused.edit(|reth: Reth| reth.with_r_key(RKey(r_key ^ 0xff00)));
        self.add("RC WRITE only, wrong R_Key: NAK", &refused, true);
        Ok(())
    }

    fn reads_and_atomics(&mut self) -> Result<()> {
        let (channel, psn) = self.queue_pair("rc", 4, 2)?;
        let (va, r_key) = self.memory("rc", 4, 2)?;
        let mtu = u32::from(channel.mtu);
        let requests = [
            ("RC READ request of 16 bytes", 0, Request::Read { len: 16, va, r_key }),
            ("RC READ request of three packets", 1, Request::Read { len: 2 * mtu + 4, va, r_key }),
            ("RC fetch and add", 4, Request::FetchAdd { va, r_key, add: 5 }),
            ("RC compare and swap", 5, Request::CompareSwap { va, r_key, compare: 1, swap: 2 }),
        ];
        for (name, at, request) in requests {
            let packet = channel.request(Psn(psn + at), request)?.packet(0);
            self.flipped(&format!("{name}, one bit of the ICRC flipped"), &packet, None);
            self.add(name, &packet, true);
        }
        Ok(())
    }

    fn over_ipv6(&mut self) -> Result<()> {
        let (channel, psn) = self.queue_pair("rc", 6, 0)?;
        let (va, r_key) = self.memory("rc", 6, 0)?;
        let send = Request::Send { len: 100, imm: None, invalidate: None };
        let send = channel.request(Psn(psn), send)?.data(Data::pattern(6)).packet(0);
        self.flipped("RC SEND only, IPv6, one bit of the ICRC flipped", &send, None);
        self.add("RC SEND only, IPv6", &send, true);
        let len = 2 * u32::from(channel.mtu);
        self.all("RC WRITE, IPv6", &channel, psn + 1, Request::Write { len, va, r_key, imm: None }, Some(0))
    }

    fn unreliable(&mut self) -> Result<()> {
        let (channel, psn) = self.queue_pair("uc", 4, 0)?;
        let (va, r_key) = self.memory("uc", 4, 0)?;
        let send = |len, imm| Request::Send { len, imm, invalidate: None };
        let one = channel.request(Psn(psn), send(30, None))?.data(Data::pattern(7)).packet(0);
        self.flipped("UC SEND only, one bit of the ICRC flipped", &one, None);
        self.add("UC SEND only", &one, true);
        let imm = channel.request(Psn(psn + 1), send(3, Some(0xabcd)))?.data(Data::pattern(8)).packet(0);
        self.add("UC SEND only with immediate", &imm, true);
        let write = Request::Write { len: 16, va, r_key, imm: None };
        let write = channel.request(Psn(psn + 2), write)?.data(Data::pattern(9)).packet(0);
        let elsewhere = write.clone().edit(|reth: Reth| reth.with_va(VirtualAddress(va + 0x4000)));
        let memory = Some((channel.dst_qp, 0x4000, vec![UNTOUCHED; 16]));
        self.flipped("UC WRITE only, one bit of the ICRC flipped", &elsewhere, memory);
        self.add_with("UC WRITE only", &write, true, Some((channel.dst_qp, 0, write.get_payload().to_vec())));
        Ok(())
    }

    /// Every packet of a message. What the last one leaves in memory is looked at, at this place of the write area.
    fn all(
        &mut self,
        name: &str,
        channel: &Channel,
        psn: u32,
        request: Request,
        at: Option<u64>,
    ) -> Result<()> {
        let message = channel.request(Psn(psn), request)?.data(Data::pattern(u64::from(psn)));
        let count = message.packets();
        let carried: Vec<u8> = message.iter().flat_map(|packet| packet.get_payload().to_vec()).collect();
        for (n, packet) in message.iter().enumerate() {
            let n = n as u32;
            let name = format!("{name}, packet {} of {count}: {}", n + 1, message.opcode(n));
            let memory = at.filter(|_| n + 1 == count).map(|at| (channel.dst_qp, at, carried.clone()));
            self.add_with(&name, &packet, true, memory);
        }
        Ok(())
    }

    fn add(&mut self, name: &str, packet: &Packet, accept: bool) {
        self.add_with(name, packet, accept, None);
    }

    fn flipped(&mut self, name: &str, packet: &Packet, memory: Option<Memory>) {
        let mut packet = packet.clone();
        packet.corrupt(ComputedField::Icrc);
        self.add_with(name, &packet, false, memory);
    }

    fn add_with(&mut self, name: &str, packet: &Packet, accept: bool, memory: Option<Memory>) {
        let mut expectation =
            json!({ "frame": self.frames.len() + 1, "name": name, "expect_accept": accept });
        if let Some((qpn, at, data)) = memory {
            expectation["mem"] = format!("{}:{}:{}", qpn.0, 0x8_0000 + at, data.len()).into();
            let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
            expectation["expect_mem"] = hex.into();
        }
        self.frames.push((packet.build().to_vec(), expectation));
    }

    /// The way to a waiting queue pair, and the PSN that it expects.
    fn queue_pair(&self, kind: &str, ip: u64, nth: usize) -> Result<(Channel, u32)> {
        let end = |which: &str| -> Result<Endpoint> {
            let ip: IpAddr = text(&self.target[format!("ip{ip}_{which}")])?.parse()?;
            let mac: Mac = text(&self.target[format!("mac_{which}")])?.parse().map_err(|_| "not a MAC")?;
            Ok(Endpoint::new(ip).mac(mac))
        };
        let encapsulation = if ip == 4 { Encapsulation::RoceV2Ipv4 } else { Encapsulation::RoceV2Ipv6 };
        let path = Path::new(encapsulation, end("a")?, end("b")?);
        let known = self.known(kind, ip, nth)?;
        let source = known["dest_qpn"].as_u64().unwrap_or(0xabc) as u32;
        let mut channel = Channel::rc(path, Qpn(source), Qpn(number(&known["qpn"])? as u32));
        channel.service = match kind {
            "ud" => Service::Ud,
            "uc" => Service::Uc,
            _ => Service::Rc,
        };
        channel.q_key = known["qkey"].as_u64().unwrap_or(0) as u32;
        channel.mtu = known["path_mtu"].as_u64().unwrap_or(1024) as u16;
        Ok((channel, known["expected_psn"].as_u64().unwrap_or(0) as u32))
    }

    /// Where may be written, and the key for it.
    fn memory(&self, kind: &str, ip: u64, nth: usize) -> Result<(u64, u32)> {
        let known = self.known(kind, ip, nth)?;
        Ok((number(&known["write_area"])?, number(&known["rkey"])? as u32))
    }

    fn known(&self, kind: &str, ip: u64, nth: usize) -> Result<&Value> {
        let all = self.target["qps"].as_array().ok_or("qps: no list")?;
        let mut fitting = all.iter().filter(|qp| qp["kind"] == kind && qp["ip"] == ip);
        Ok(fitting.nth(nth).ok_or_else(|| format!("no {kind} queue pair {nth} over IPv{ip}"))?)
    }
}

fn text(value: &Value) -> Result<&str> {
    Ok(value.as_str().ok_or("a text is missing")?)
}

fn number(value: &Value) -> Result<u64> {
    Ok(value.as_u64().ok_or("a number is missing")?)
}

fn made_up() -> Value {
    let kinds = [("ud", 4), ("ud", 6), ("rc", 4), ("rc", 4), ("rc", 4), ("rc", 6), ("uc", 4)];
    let queue_pairs: Vec<Value> = kinds
        .iter()
        .enumerate()
        .map(|(n, (kind, ip))| {
            json!({ "kind": kind, "ip": ip, "qpn": 17 + n, "rkey": 0x1000 + n, "qkey": 0x1111_1111, "write_area": 0x10_0000,
                "dest_qpn": 0xab_c000 + n, "expected_psn": 0x100, "path_mtu": 1024 })
        })
        .collect();
    json!({ "mac_a": "02:00:00:00:00:01", "mac_b": "02:00:00:00:00:02", "ip4_a": "10.0.0.1", "ip4_b": "10.0.0.2",
        "ip6_a": "fd00::1", "ip6_b": "fd00::2", "qps": queue_pairs })
}
