"""The same packets as scapy reads them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from conftest import PCAPS

import rdmawire

pytest.importorskip("scapy")


def plain(path: Path, tmp_path: Path) -> Path:
    """A capture that scapy reads: it takes milliseconds for each packet, so not of all."""
    some = rdmawire.packets(path, filter="frame.number <= 300 || icrc.bad || aeth.nak || cnp")
    rdmawire.write(tmp_path / "plain.pcap", itertools.islice(some, 500))
    return tmp_path / "plain.pcap"


NAMES = [
    "loss1_rc_write-B-300.pcap",
    "opcode_zoo-A.pcap.zst",
    "rc_atomic_clean-A.pcap.zst",
    "ud_clean-A.pcap.zst",
    "ecn_rc_write-A.pcap.zst",
    "corrupt_rc_write-A.pcap.zst",
    "cm_rping-A.pcap",
]


@pytest.mark.parametrize("name", NAMES)
def test_fields_are_those_of_scapy(name: str, tmp_path: Path) -> None:
    import scapy.contrib.roce  # noqa: F401
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.utils import PcapReader

    path = plain(PCAPS / name, tmp_path)
    count = 0
    with PcapReader(str(path)) as reader:
        for ours, theirs in zip(rdmawire.packets(path), reader):
            assert ours.data == bytes(theirs.original)
            assert ours.time_ns == int(theirs.time * 1_000_000_000)
            if "BTH" not in theirs:
                assert ours.bth_psn is None
                continue
            bth, ip = theirs["BTH"], theirs[IPv6 if IPv6 in theirs else IP]
            # `icrc` is a check sequence: scapy takes it from the end.
            assert (ours.bth_opcode, ours.dest_qp, ours.bth_psn, ours.bth_p_key) == (bth.opcode, bth.dqpn, bth.psn, bth.pkey)
            assert (ours.bth_se, ours.bth_mig_req, ours.bth_ack_req) == (bth.solicited == 1, bth.migreq == 1, bth.ackreq == 1)
            assert (ours.bth_fecn, ours.bth_becn) == (bth.fecn == 1, bth.becn == 1)
            assert (ours.src, ours.dst) == (ip.src, ip.dst)
            if IP in theirs:
                assert (ours.ttl, ours.ipv4_id, ours.dscp, ours.ecn) == (ip.ttl, ip.id, ip.tos >> 2, ip.tos & 3)
            else:
                assert (ours.ttl, ours.ipv4_id, ours.dscp, ours.ecn) == (ip.hlim, None, ip.tc >> 2, ip.tc & 3)
            assert (ours.udp_src_port, ours.udp_dst_port) == (theirs[UDP].sport, theirs[UDP].dport)
            if "AETH" in theirs and ours.opcode_name == "RC Acknowledge":
                assert (ours.aeth_syndrome, ours.aeth_msn) == (theirs["AETH"].syndrome, theirs["AETH"].msn)
            assert ours.icrc == bth.icrc
            # scapy's own computation, of the innermost headers of RoCEv2.
            right = int.from_bytes(bth.compute_icrc(bytes(bth)), "big")
            assert ours.right_icrc == right, ours
            assert (ours.icrc_state == "good") == (right == bth.icrc)
            count += 1
    assert count > 0


def test_to_scapy_and_back(capture: Path) -> None:
    for packet in rdmawire.packets(capture, filter="frame.number <= 100"):
        theirs = rdmawire.to_scapy(packet)
        back = rdmawire.from_scapy(theirs, frame=packet.frame)
        assert back.data == packet.data and back.link_type == packet.link_type
        assert (back.time_ns, back.length_bytes) == (packet.time_ns, packet.length_bytes)


def test_a_cut_frame_keeps_its_length_on_the_wire(capture: Path) -> None:
    whole = next(iter(rdmawire.packets(capture)))
    cut = rdmawire.Packet(whole.data[:60], time_ns=1_764_000_000_123_456_789, length=whole.length_bytes)
    back = rdmawire.from_scapy(rdmawire.to_scapy(cut))
    assert (back.data, back.length_bytes, back.time_ns) == (cut.data, whole.length_bytes, 1_764_000_000_123_456_789)


HEADERS = {
    "eth / ipv4 / udp / bth opcode=rc-write-only / reth va=0x1000 r_key=7 dma_len=4 / payload hex:01020304": ("RETH", "va", 0x1000),
    "eth / ipv4 / udp / bth opcode=rc-write-only-with-immediate / reth dma_len=4 / immdt data=9 / payload hex:01020304": ("ImmDt", "data", 9),
    "eth / ipv4 / udp / bth opcode=ud-send-only / deth q_key=5 src_qp=0x11 / payload hex:01020304": ("DETH", "src_qp", 0x11),
    "eth / ipv4 / udp / bth opcode=rc-fetch-add / atomiceth swap_data=3": ("AtomicETH", "swap_data", 3),
    "eth / ipv4 / udp / bth opcode=rc-atomic-acknowledge / aeth / atomicacketh original_data=8": ("AtomicAckETH", "original_data", 8),
}


@pytest.mark.parametrize("recipe", HEADERS)
def test_extended_headers_are_layers(recipe: str) -> None:
    layer, field, value = HEADERS[recipe]
    frame = rdmawire.craft(recipe)
    packet = rdmawire.to_scapy(frame)
    assert packet[layer].getfieldval(field) == value
    assert bytes(packet) == frame


def test_what_is_no_frame_is_an_error_of_ours() -> None:
    for frame in (b"", b"\x01"):
        with pytest.raises(rdmawire.Error):
            rdmawire.to_scapy(frame)


def test_what_scapy_builds_is_right() -> None:
    from scapy.contrib.roce import AETH, BTH, cnp
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether

    head = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="10.0.0.1", dst="10.0.0.2", tos=0x69)
    made = rdmawire.from_scapy(head / UDP(sport=0xC000, dport=4791) / BTH(opcode=17, dqpn=0x12, psn=7) / AETH(syndrome=0x60))
    assert (made.opcode_name, made.dest_qp, made.bth_psn) == ("RC Acknowledge", 0x12, 7)
    assert (made.dscp, made.ecn, made.icrc_state) == (26, 1, "good")
    assert made.matches("aeth.nak")
    assert rdmawire.from_scapy(head / UDP(sport=0xC000, dport=4791) / cnp(dqpn=0x12)).opcode_name == "CNP"
    assert rdmawire.from_scapy(head[IP] / UDP(sport=1, dport=4791) / BTH(opcode=100), link=101).src == "10.0.0.1"


def test_what_scapy_does_not_know() -> None:
    ib = rdmawire.craft_packet("lrh / bth opcode=rc-acknowledge / aeth")
    with pytest.raises(rdmawire.Error, match="no layer for frames of link type 247"):
        rdmawire.to_scapy(ib)
    from scapy.contrib.roce import BTH

    with pytest.raises(rdmawire.Error, match="give its link type"):
        rdmawire.from_scapy(BTH())


def test_link_types_without_ethernet() -> None:
    raw = rdmawire.craft_packet("ipv4 src=10.0.0.1 dst=10.0.0.2 / udp / bth opcode=rc-acknowledge psn=7 / aeth")
    assert rdmawire.to_scapy(raw)["BTH"].psn == 7
