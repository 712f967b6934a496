"""Frames: dissected, crafted, rewritten, written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import pytest
from conftest import ALL, CAPTURE, PCAPS, SCENARIOS

import rdmawire


@pytest.mark.parametrize("path", [CAPTURE, PCAPS / "opcode_zoo-A.pcap.zst", PCAPS / "cm_rping-A.pcap"], ids=lambda path: path.name)
def test_a_tree_is_that_of_the_command_line(path: Path, command: Callable[..., str]) -> None:
    told = [json.loads(line) for line in command("dissect", "--json", path).splitlines()]
    assert [rdmawire.dissect(packet) for packet in rdmawire.packets(path)] == told


def test_bytes_of_other_link_types() -> None:
    ib = rdmawire.craft_packet("lrh / bth opcode=rc-acknowledge psn=3 / aeth")
    assert ib.link_type == 247 and ib.encapsulation == "ib" and ib.icrc_state == "good"
    layers = rdmawire.dissect(ib.data, link=247)["layers"]
    assert [layer["name"] for layer in layers] == ["lrh", "bth", "aeth"]


def test_any_bytes_are_dissected() -> None:
    for data in (b"", b"\x00", b"\xff" * 3000):
        assert rdmawire.dissect(data)["captured"] == len(data)


def test_icrcs_of_captures() -> None:
    states = {"good": 0, "bad": 0, "unchecked": 0}
    for path in ALL:
        for packet in rdmawire.packets(path, filter="icrc.good || icrc.bad"):
            state = rdmawire.verify_icrc(packet)
            states[state] += 1
            assert (rdmawire.icrc(packet) == packet.icrc) == (state == "good")
    assert states["good"] > 10_000 and states["bad"] > 0 and states["unchecked"] == 0
    with pytest.raises(rdmawire.Error, match="not known"):
        rdmawire.icrc(b"no frame")


def test_recipes_are_those_of_the_command_line(command: Callable[..., str]) -> None:
    recipe = "eth / ipv4 src=10.0.0.1 dst=10.0.0.2 / udp / bth opcode=rc-write-only dest_qp=0x11 psn=7 / reth dma_len=64 / payload 64"
    assert rdmawire.craft(recipe) == bytes.fromhex("".join(command("craft", "--hex", recipe).split()))
    seeded = "eth / ipv4 / udp / bth opcode=rc-send-only / payload random 64"
    assert rdmawire.craft(seeded, seed=1) == rdmawire.craft(seeded, seed=1) != rdmawire.craft(seeded, seed=2)


def test_a_recipe_as_data() -> None:
    made = rdmawire.craft(
        [
            ("eth", None),
            ("vlan", {"vid": 5}),
            ("vlan", {"vid": 6}),
            ("ipv4", {"dst": "10.0.0.9", "dscp": 26}),
            ("udp", {}),
            ("bth", {"opcode": "rc-send-only", "se": True, "psn": 9}),
            ("payload", b"hello"),
        ]
    )
    packet = rdmawire.Packet(made)
    assert (packet.dst, packet.dscp, packet.vlan_vid, packet.bth_se, packet.bth_psn, packet.payload) == ("10.0.0.9", 26, 6, True, 9, b"hello")


def test_a_wrong_recipe_says_where() -> None:
    with pytest.raises(rdmawire.Error, match="column 14") as raised:
        rdmawire.craft("eth / ipv4 / bht")
    assert raised.value.offset == 13


ONE_TAP = sorted(path for path in SCENARIOS.glob("*.toml") if path.read_text(encoding="utf-8").count("[[tap]]") < 2)


@pytest.mark.parametrize("path", ONE_TAP, ids=lambda path: path.stem)
def test_scenarios_are_those_of_the_command_line(path: Path, tmp_path: Path, command: Callable[..., str]) -> None:
    expected = command("craft", path, "-o", tmp_path / "made.pcap", "--expect", "-")
    capture, told = rdmawire.craft_scenario(path)
    assert capture == (tmp_path / "made.pcap").read_bytes()
    assert told == json.loads(expected)
    assert rdmawire.analyze(capture).capture.packets == told["capture"]["packets"]


def test_taps_of_a_scenario() -> None:
    path = SCENARIOS / "two-taps.toml"
    first, second = (rdmawire.craft_scenario(str(path), tap=tap)[0] for tap in (0, 1))
    assert first != second
    with pytest.raises(rdmawire.Error, match="there is no tap 2"):
        rdmawire.craft_scenario(path, tap=2)
    with pytest.raises(rdmawire.Error, match="there is no tap 'nowhere'"):
        rdmawire.craft_scenario(path, tap="nowhere")
    with pytest.raises(rdmawire.Error, match="scenario: line 2"):
        rdmawire.craft_scenario("# nothing\nhots = 1\n")


def test_rewriting_is_that_of_the_command_line(tmp_path: Path, capture: Path, command: Callable[..., str]) -> None:
    counts = rdmawire.rewrite(capture, tmp_path / "a.pcap", anonymize=True, seed=7, zero_payload=True, set="ipv4.ttl=3")
    assert (counts.frames, counts.bad_icrc, counts.problems) == (300, 0, 0)
    command_out = tmp_path / "b.pcap"
    args = ["rewrite", "-q", "--anonymize", "--seed", "7", "--zero-payload", "--set", "ipv4.ttl=3", capture, command_out]
    with pytest.raises(AssertionError):
        command(*args)  # it prints nothing
    assert (tmp_path / "a.pcap").read_bytes() == command_out.read_bytes()
    with pytest.raises(rdmawire.Error, match="exists already") as raised:
        rdmawire.rewrite(capture, tmp_path / "a.pcap")
    assert raised.value.file == str(tmp_path / "a.pcap")
    with pytest.raises(rdmawire.Error, match="link type 247 does not go into a pcap file"):
        rdmawire.rewrite(capture, tmp_path / "ib.pcap", to="ib")
    rdmawire.rewrite(capture, tmp_path / "a.pcapng", to="ib", snaplen=64)
    rdmawire.rewrite(capture, tmp_path / "a.pcapng", to="ib", snaplen=64, force=True)
    packets = list(rdmawire.packets(tmp_path / "a.pcapng"))
    assert {packet.encapsulation for packet in packets if packet.bth_psn is not None} == {"ib"}
    assert max(packet.captured_bytes for packet in packets) == 64
    with pytest.raises(rdmawire.Error, match="expected one of rocev2-ipv4"):
        rdmawire.rewrite(capture, tmp_path / "c.pcap", to="ethernet")  # type: ignore[arg-type]
    with pytest.raises(rdmawire.Error, match="cannot tell the format"):
        rdmawire.rewrite(capture, tmp_path / "c")
    assert not (tmp_path / "c.pcap").exists()


def test_frames_are_written_and_read_again(tmp_path: Path, capture: Path) -> None:
    packets = list(rdmawire.packets(capture))
    assert rdmawire.write(tmp_path / "x.pcapng.zst", packets) == 300
    assert list(rdmawire.packets(tmp_path / "x.pcapng.zst")) == packets
    frame = rdmawire.craft("eth / ipv4 / udp / bth opcode=rc-send-only / payload 4")
    rdmawire.write(tmp_path / "y.pcap", [frame, frame])
    assert [packet.time_ns for packet in rdmawire.packets(tmp_path / "y.pcap")] == [0, 1000]
    with pytest.raises(rdmawire.Error, match="frame 2: .*link type") as raised:
        rdmawire.write(tmp_path / "z.pcap", [frame, rdmawire.craft_packet("lrh / bth")])
    assert raised.value.frame == 2
    assert not (tmp_path / "z.pcap").exists()
