"""Analysis."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Dict, List, Optional, Protocol, Sequence, TypedDict, Union

from . import _native
from .report import Report


class BinaryFile(Protocol):
    """What is needed of a file object."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""


Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, BinaryFile]
"""A capture: a path, its bytes, or a binary file. pcap, pcapng or ERF, also compressed with gzip or zstd."""

Duration = Union[int, str, timedelta]
"""Nanoseconds, a text with a unit such as `"50us"`, or a `timedelta`."""


class Options(TypedDict, total=False):
    """Options of `analyze`."""

    filter: Optional[str]
    icrc: bool
    roce_ports: Optional[Sequence[int]]
    reorder_window: Optional[Duration]
    ack_timeout: Optional[Duration]
    speed: Union[int, str, None]
    storm: Optional[str]
    interval: Optional[Duration]
    qp_map: Union[str, "os.PathLike[str]", None]
    links: Union[str, "os.PathLike[str]", None]
    max_flows: Optional[int]
    max_memory: Union[int, str, None]
    strict: bool


def analyze(
    source: Union[Source, Sequence[Source]],
    *,
    filter: Optional[str] = None,
    icrc: bool = True,
    roce_ports: Optional[Sequence[int]] = None,
    reorder_window: Optional[Duration] = None,
    ack_timeout: Optional[Duration] = None,
    speed: Union[int, str, None] = None,
    storm: Optional[str] = None,
    interval: Optional[Duration] = None,
    qp_map: Union[str, "os.PathLike[str]", None] = None,
    links: Union[str, "os.PathLike[str]", None] = None,
    max_flows: Optional[int] = None,
    max_memory: Union[int, str, None] = None,
    strict: bool = False,
) -> Report:
    """Finds retransmissions, losses, reordering, congestion, and what they cost: the report of `rdmawire analyze --json`.

    A list of sources is analyzed as one trace, in the order of time, as with `--merge`.

    `filter`: analyze only frames that match, such as `"ip.dst == 10.0.0.2"`.
    `icrc`: whether to verify ICRCs.
    `roce_ports`: one or two UDP destination ports of RoCEv2, 4791 by default.
    `reorder_window`: how late the network may deliver a packet, 50 us by default.
    `ack_timeout`: the acknowledgement timeout of all queue pairs: IBTA's exponent as an `int`, or a time (`"67ms"`, `timedelta`).
    `speed`: the speed of the links in bit/s, or `"400G"`. The durations of pauses need it.
    `storm`: when a pause is a storm: `"sonic-broadcom"`, `"cisco"`, …, or two times as `"100ms,1s"`.
    `interval`: report traffic over time, in intervals of this length.
    `qp_map`: the queue pairs that are connected: the path of a file with lines `ADDRESS,QP,ADDRESS,QP`, or of the output of
    `rdma -j resource show qp`.
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
    (85, [1, 3])
    >>> report.findings[0].id
    'loss.upstream'
    >>> report.to_dict()["schema"]
    'rdmawire.analysis/2'
    """
    sources: List[Source] = list(source) if isinstance(source, (list, tuple)) else [source]  # type: ignore[list-item]
    asked = _asked(
        filter=filter,
        icrc=icrc,
        roce_ports=roce_ports,
        reorder_window=reorder_window,
        ack_timeout=ack_timeout,
        speed=speed,
        storm=storm,
        interval=interval,
        qp_map=qp_map,
        links=links,
        max_flows=max_flows,
        max_memory=max_memory,
        strict=strict,
    )
    return Report(_native.analyze(sources, asked))


def _asked(
    *,
    filter: Optional[str] = None,
    icrc: bool = True,
    roce_ports: Optional[Sequence[int]] = None,
    reorder_window: Optional[Duration] = None,
    ack_timeout: Optional[Duration] = None,
    speed: Union[int, str, None] = None,
    storm: Optional[str] = None,
    interval: Optional[Duration] = None,
    qp_map: Union[str, "os.PathLike[str]", None] = None,
    links: Union[str, "os.PathLike[str]", None] = None,
    max_flows: Optional[int] = None,
    max_memory: Union[int, str, None] = None,
    strict: bool = False,
) -> Dict[str, object]:
    """The options as the native part takes them."""
    connections, topology = (None if path is None else _text(path) for path in (qp_map, links))
    return {
        "filter": filter,
        "icrc": icrc,
        "roce_ports": None if roce_ports is None else list(roce_ports),
        "reorder_window": reorder_window,
        "ack_timeout": ack_timeout,
        "speed": speed,
        "storm": storm,
        "interval": interval,
        "qp_map": connections,
        "links": topology,
        "max_flows": max_flows,
        "max_memory": max_memory,
        "strict": strict,
    }


def _text(path: Union[str, "os.PathLike[str]"]) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
