"""Gates: rules that a capture must keep."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, ClassVar, Dict, List, Literal, Mapping, Optional, Sequence, Union

from ._analyze import Source, analyze
from ._errors import CheckFailed
from ._record import Record
from .report import Report

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._analyze import Options


class Range(Record):
    """What a figure may be, as far as the capture proves it."""

    _left_out: ClassVar[Mapping[str, Any]] = {"why": None}
    least: Optional[float]
    """At least."""
    most: Optional[float]
    """At most."""
    why: Optional[str]
    """Why it is not known, or not exactly."""


class Worst(Record):
    """A row that speaks against a rule."""

    _nested: ClassVar[Mapping[str, str]] = {"value": "Range"}
    row: int
    """Its number in the report's list."""
    name: str
    """What it is: addresses and queue pair, or link and priority."""
    value: Range
    """Its share of the figure, or its own value."""
    frames: List[int]
    """Frames that show it, counted from 1."""


class Measure(Record):
    """What became of one comparison of a rule."""

    _nested: ClassVar[Mapping[str, str]] = {"value": "Range", "limit": "Range", "worst": "Worst"}
    _left_out: ClassVar[Mapping[str, Any]] = {"limit": None}
    what: str
    """The figure, as the rule has it."""
    bound: str
    """What it must be, as the rule has it."""
    value: Range
    """The figure. Times are in nanoseconds, rates in bits per second."""
    unit: str
    """Its unit."""
    limit: Optional[Range]
    """What it is compared with, where that is another figure or what it was before."""
    holds: Optional[bool]
    """Whether it is so; `None` where the capture does not decide it."""
    rows: int
    """Rows that were looked at."""
    of: str
    """What they are: flows, pauses, …"""
    worst: List[Worst]
    """The rows that speak most against it."""


class Outcome(Record):
    """A rule, and what became of it."""

    _nested: ClassVar[Mapping[str, str]] = {"measures": "Measure"}
    name: Optional[str]
    """The rule's name."""
    severity: Literal["error", "warning", "note"]
    """How serious it is if the rule does not hold. Only errors fail."""
    rule: str
    """The rule as it was written."""
    verdict: Literal["held", "violated", "unknown"]
    """Whether it holds."""
    measures: List[Measure]
    """Its comparisons, from left to right."""


def check(
    source: Union[Source, Sequence[Source], Report],
    rules: Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]] = (),
    *,
    fail_if: Union[str, Sequence[str]] = (),
    before: Optional[Report] = None,
    unknown: Literal["fail", "pass"] = "fail",
    raises: bool = True,
    **options: Unpack[Options],
) -> List[Outcome]:
    """Checks rules over a capture or a report, as `rdmawire check` does. Returns one outcome for each rule.

    `rules` are texts such as `"retransmits == 0 where dscp in [26, 46]"`, and paths (`pathlib.Path`) of TOML files with rules.
    `fail_if` are queries over rows that must find none. With `before`, an earlier report, limits may be changes:
    `"retransmits <= +5%"`. `rdmawire explain gate` lists figures and grammar. Other options are those of `analyze`.

    Raises `CheckFailed`, an `AssertionError`, if a rule is violated, or if the capture does not decide it and `unknown` is `"fail"`.
    Its text shows the flows and frames. With `raises=False` it never does.

    >>> import rdmawire
    >>> rdmawire.check(CAPTURE, "losses >= 1")[0].verdict
    'held'
    >>> rdmawire.check(CAPTURE, ["retransmits == 0", "max(ack_rtt.p99) < 10ms"])
    Traceback (most recent call last):
        ...
    rdmawire._errors.CheckFailed: checked ...loss1_rc_write-B-300.pcap
      violated  retransmits == 0
                retransmits is 85; it must be == 0
                  #0 10.77.0.1 → 10.77.0.2 QP 0x11: 85; frames 82, 145
      held      max(ack_rtt.p99) < 10ms
                max(ack_rtt.p99) is 3.24 ms; it must be < 10ms
      1 held, 1 violated, 0 unknown
    """
    __tracebackhide__ = True  # pytest shows the test, and what it says, not this function.
    if isinstance(source, Report):
        if options:
            raise TypeError("a report was analyzed already: options are for captures")
        report = source
    else:
        report = analyze(source, **options)
    listed = [rules] if isinstance(rules, (str, os.PathLike)) else list(rules)
    texts = [rule for rule in listed if isinstance(rule, str)]
    files = []
    for path in listed:
        if not isinstance(path, str):
            with open(path, encoding="utf-8") as file:
                files.append(file.read())
    queries = [fail_if] if isinstance(fail_if, str) else list(fail_if)
    if unknown not in ("fail", "pass"):
        raise ValueError(f'unknown is "fail" or "pass", not {unknown!r}')
    name = ", ".join(report.capture.files)
    native_before = None if before is None else before._native
    text, shown, fails = report._native.check(name, texts, queries, files, native_before, unknown == "pass")
    checked: Dict[str, Any] = json.loads(text)["checked"][0]
    outcomes = [Outcome(outcome) for outcome in checked["outcomes"]]
    if fails and raises:
        raise CheckFailed(shown.rstrip("\n"), outcomes)
    return outcomes
