"""A gate for a test with pytest, or with PTF (whose tests are `unittest` classes): send traffic, capture, and assert.

    pytest examples/python/test_gate.py

Here a simulated network stands in for the device under test. In a test bed, `capture` is the file that the tap recorded.
"""

from __future__ import annotations

import unittest
from pathlib import Path

import rdmawire

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"

LOSSLESS = [
    # Not of the connection manager, which runs over an unreliable service.
    "losses == 0 where qp > 1",
    "retransmits == 0",
    "out_of_order == 0",
]


def capture_of(name: str) -> bytes:
    """The capture of a run."""
    capture, _ = rdmawire.craft_scenario(SCENARIOS / f"{name}.toml")
    return capture


def test_a_lossless_network_loses_nothing() -> None:
    rdmawire.check(capture_of("clean"), LOSSLESS)


def test_a_lossy_one_is_caught() -> None:
    # In a real test this would fail, with flows and frames in its message.
    try:
        rdmawire.check(capture_of("loss-after-tap"), LOSSLESS)
    except rdmawire.CheckFailed as failed:
        assert "violated" in str(failed) and "frames" in str(failed)
        assert {outcome.verdict for outcome in failed.outcomes} >= {"violated"}
    else:
        raise AssertionError("the loss was not seen")


class NakOfAWrongPsn(unittest.TestCase):
    """The style of PTF: a crafted packet goes in, and what comes out is compared."""

    def test_answer(self) -> None:
        request = rdmawire.craft_packet(
            {
                "eth": {},
                "ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2", "dscp": 26},
                "udp": {},
                "bth": {"opcode": "rc-send-only", "dest_qp": 0x11, "psn": 1000, "ack_req": True},
                "payload": b"hello",
            }
        )
        answer = self.device(request)
        self.assertTrue(answer.matches("aeth.nak && bth.psn == 7"), answer.tree())
        self.assertEqual(answer.icrc_state, "good")
        self.assertEqual((answer.src, answer.dst), (request.dst, request.src))

    def device(self, request: rdmawire.Packet) -> rdmawire.Packet:
        """Stands in for a responder that expects PSN 7. With PTF: `send_packet(self, port, request.data)`, and then `dataplane.poll`."""
        return rdmawire.craft_packet(
            f"eth / ipv4 src={request.dst} dst={request.src} / udp / bth opcode=rc-acknowledge dest_qp=0x12 psn=7 / aeth syndrome=0x60"
        )


if __name__ == "__main__":
    unittest.main()
