"""Gates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict

import pytest
from conftest import PCAPS

import rdmawire

RULES = ["retransmits == 0", "max(ack_rtt.p99) < 10ms", "pause.longest < 1ms"]


def test_outcomes_are_those_of_the_command_line(capture: Path, command_json: Callable[..., Dict[str, Any]]) -> None:
    told = command_json("check", "--json", capture, *RULES)["checked"][0]["outcomes"]
    outcomes = rdmawire.check(capture, RULES, raises=False)
    assert [outcome.to_dict() for outcome in outcomes] == told
    assert [outcome.verdict for outcome in outcomes] == ["violated", "held", "unknown"]
    worst = outcomes[0].measures[0].worst[0]
    assert (worst.frames, worst.value.most) == ([82, 145], 85)
    assert outcomes[2].measures[0].value.why


def test_a_violated_rule_shows_flows_and_frames(capture: Path, command: Callable[..., str]) -> None:
    with pytest.raises(AssertionError) as raised:
        rdmawire.check(capture, RULES)
    assert isinstance(raised.value, rdmawire.CheckFailed)
    assert str(raised.value) == command("check", capture, *RULES).rstrip("\n")
    assert "10.77.0.1 → 10.77.0.2 QP 0x11: 85; frames 82, 145" in str(raised.value)
    assert raised.value.outcomes[0].verdict == "violated"


def test_an_unknown_rule_fails_unless_it_may_pass(capture: Path) -> None:
    with pytest.raises(rdmawire.CheckFailed, match="unknown"):
        rdmawire.check(capture, "pause.longest < 1ms")
    assert rdmawire.check(capture, "pause.longest < 1ms", unknown="pass")[0].verdict == "unknown"
    with pytest.raises(ValueError, match="unknown is"):
        rdmawire.check(capture, "retransmits == 0", unknown="maybe")  # type: ignore[arg-type]


def test_rules_of_a_file(capture: Path, tmp_path: Path) -> None:
    path = tmp_path / "gates.toml"
    path.write_text('[[rule]]\nname = "no resends"\ncheck = "retransmits == 0"\nseverity = "warning"\n')
    outcomes = rdmawire.check(capture, [path, "losses >= 1"])
    assert [(outcome.name, outcome.verdict) for outcome in outcomes] == [("no resends", "violated"), (None, "held")]
    assert rdmawire.check(capture, path)[0].severity == "warning"
    path.write_text("[[rule]]\n")
    with pytest.raises(rdmawire.Error, match="rule 1: expected either"):
        rdmawire.check(capture, path)


def test_queries_that_must_find_none(capture: Path) -> None:
    with pytest.raises(rdmawire.CheckFailed):
        rdmawire.check(capture, fail_if="retransmits > 0")
    assert rdmawire.check(capture, fail_if="retransmits > 1000")[0].verdict == "held"


def test_a_report_is_checked_and_compared(capture: Path) -> None:
    report = rdmawire.analyze(capture)
    assert rdmawire.check(report, "retransmits <= +5%", before=report)[0].verdict == "held"
    clean = rdmawire.analyze(PCAPS / "rc_write_clean-A.pcap.zst")
    with pytest.raises(rdmawire.CheckFailed):
        rdmawire.check(report, "retransmits <= +5%", before=clean)
    with pytest.raises(rdmawire.Error, match="a change is one from an earlier report"):
        rdmawire.check(report, "retransmits <= +5%")
    with pytest.raises(TypeError, match="options are for captures"):
        rdmawire.check(report, "retransmits == 0", filter="bth")


def test_options_go_to_the_analysis(capture: Path) -> None:
    assert rdmawire.check(capture, "retransmits == 0", filter="bth.dest_qp == 0x11 && frame.number < 80")[0].verdict == "held"


def test_wrong_rules_say_where(capture: Path) -> None:
    with pytest.raises(rdmawire.Error, match="did you mean retransmits") as raised:
        rdmawire.check(capture, "retransmitz == 0")
    assert raised.value.offset == 0
    with pytest.raises(rdmawire.Error, match="no rule"):
        rdmawire.check(capture, [])
    assert json.dumps([outcome.to_dict() for outcome in rdmawire.check(capture, "losses >= 1")])
