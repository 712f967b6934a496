"""Analysis."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Protocol, Sequence, TypedDict, Union

from . import _native
from ._state import _Kept
from ._tables import Table
from .report import Report

if TYPE_CHECKING:
    from typing_extensions import Unpack


class BinaryFile(Protocol):
    """What is needed of a file object."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""


Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, BinaryFile]
"""A capture: a path, its bytes, or a binary file. pcap, pcapng or ERF, also compressed with gzip or zstd."""

Duration = Union[int, str, timedelta]
"""Nanoseconds, a text with a unit such as `"50us"`, or a `timedelta`."""


class Options(TypedDict, total=False):
    """Options of `analyze`, which says what they mean. This is the only list of them."""

    filter: Optional[str]
    icrc: bool
    roce_ports: Optional[Sequence[int]]
    decap: Optional[Mapping[int, str]]
    reorder_window: Optional[Duration]
    order: Optional[str]
    ack_timeout: Optional[Duration]
    speed: Union[int, str, None]
    storm: Optional[str]
    trim: Optional[str]
    interval: Optional[Duration]
    qp_map: Union[str, "os.PathLike[str]", None]
    qos: Union[str, "os.PathLike[str]", None]
    links: Union[str, "os.PathLike[str]", None]
    max_flows: Optional[int]
    max_memory: Union[int, str, None]
    strict: bool


_FILES = ("qp_map", "qos", "links")
"""Options that are files: the native part takes their text."""


def analyze(
    source: Union[Source, Sequence[Source]],
    *,
    state_in: Union[str, "os.PathLike[str]", bytes, None] = None,
    state_out: Union[str, "os.PathLike[str]", None] = None,
    separate: bool = False,
    log: Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]] = (),
    **options: Unpack[Options],
) -> Report:
    """Finds retransmissions, losses, reordering, congestion, and what they cost: the report of `rdmawire analyze --json`.

    A list of sources is analyzed as one trace, in the order of time, as with `--merge`. Files that are parts of one capture, rotated or
    split, are read as one, and `report.capture.parts` says which; with `separate`, each is a capture of its own.

    `log`: logs of hosts, of NCCL, UCX, SPDK and other programs, one path or several: `report.log` has their errors, with the flows that
    they are about.

    `state_out`: where the state behind the last frame is written, a path. It may be the same file.
    `state_in`: the state that an earlier run wrote, here or on the command line: a path, or its bytes. The report covers the captures of
    that run too, as if they had been analyzed together. All options must be those of that run, but for `max_flows` and `max_memory`.

    Options:

    `filter`: analyze only frames that match, such as `"ip.dst == 10.0.0.2"`.
    `icrc`: whether to verify ICRCs; `True` by default.
    `roce_ports`: one or two UDP destination ports of RoCEv2, 4791 by default.
    `decap`: UDP destination ports of tunnels, and what they are: `{8473: "vxlan"}`; also `"vxlan-gpe"`, `"geneve"`, `"gue"`, `"gre"`, `"mpls"`,
    `"tzsp"`, `"ethernet"`. At most four. Those of IANA are known.
    `reorder_window`: how late the network may deliver a packet, 50 us by default.
    `order`: the order in which frames are analyzed, `"time"` or `"file"`; by default, where times step back, the one in which more packets
    have the PSN that their flow expects.
    `ack_timeout`: the acknowledgement timeout of all queue pairs: IBTA's exponent as an `int`, or a time (`"67ms"`, `timedelta`).
    `speed`: the speed of the links in bit/s, or `"400G"`. The durations of pauses need it.
    `storm`: when a pause is a storm: `"sonic-broadcom"`, `"cisco"`, …, or two times as `"100ms,1s"`.
    `trim`: what switches make of packets that they trim: size and DSCPs, as `"256,dscp=48"`; most such packets are known without it.
    `interval`: report traffic over time, in intervals of this length.
    `qp_map`: the queue pairs that are connected: the path of a file with lines `ADDRESS,QP,ADDRESS,QP`, or of the output of
    `rdma -j resource show qp`.
    `qos`: the priorities of the network: the path of a file as `rdmawire explain qos` describes it.
    `links`: what the captured links join: the path of a file as `rdmawire explain links` describes it. With it, pauses of several
    sources tell who paused whom.
    `max_flows`, `max_memory`: flows that are kept at a time, and memory (bytes, or `"512MiB"`).
    `strict`: raise `Error` at the first damage of a capture. By default damage is listed in `report.capture.problems`.

    >>> import rdmawire
    >>> report = rdmawire.analyze(CAPTURE)
    >>> report.capture.packets, len(report.flows)
    (300, 2)
    >>> flow = report.flow("10.77.0.1,10.77.0.2,0x11")
    >>> flow.requests.retransmits, flow.requests.losses.upstream
    (85, [1, 2])
    >>> report.findings[0].id
    'loss.upstream'
    >>> report.to_dict()["schema"]
    'rdmawire.analysis/3'
    """
    asked, kept = _asked(**options), _Kept(state_in, state_out)
    kept.check()
    logs = [log] if isinstance(log, (str, os.PathLike)) else log
    lines = [(os.path.basename(path), _bytes(path)) for path in logs]
    report, state = _native.analyze(_sources(source), asked, kept.load(), kept.is_saved, separate, lines)
    kept.save(state)
    return Report(report)


def messages(source: Union[Source, Sequence[Source]], **options: Unpack[Options]) -> Table:
    """The messages of a capture, or of several, one after the other: the table of `rdmawire packets --messages`.

    A row for each SEND, WRITE, READ and atomic operation: PSNs, frames, size, times, completion, retransmitted packets. All rows are in
    memory: for captures of many millions, the command writes them to a file. Options are those of `analyze`.

    >>> import rdmawire
    >>> table = rdmawire.messages(CAPTURE)
    >>> len(table), table[0]["operation"], table[0]["size_bytes"]
    (25, 'write', 8192)
    """
    return Table("messages", _native.messages(_sources(source), _asked(**options)))


def _sources(source: Union[Source, Sequence[Source]]) -> List[Source]:
    return list(source) if isinstance(source, (list, tuple)) else [source]  # type: ignore[list-item]


def _bytes(path: Union[str, "os.PathLike[str]"]) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _asked(**options: Unpack[Options]) -> Dict[str, object]:
    """All options as the native part takes them: `None` for those that are not given."""
    for name in options:
        if name not in Options.__annotations__:
            raise TypeError(f"there is no option {name!r}: there are {', '.join(Options.__annotations__)}")
    asked: Dict[str, object] = {name: options.get(name) for name in Options.__annotations__}
    for name in _FILES:
        if asked[name] is not None:
            asked[name] = _text(asked[name])
    return asked


def _asked_of_rows(**options: Unpack[Options]) -> Dict[str, object]:
    """`_asked` for an analysis of headers, not of frames."""
    for name in ("filter", "strict"):
        if options.get(name):
            raise TypeError(f"{name} is for captures, not for rows of headers: see rdmawire.analyze")
    return _asked(**options)


def _text(path: Any) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
