"""The packet-level toolkit for RoCEv2 and InfiniBand: dissect, analyze, craft.

>>> import rdmawire
>>> report = rdmawire.analyze(CAPTURE)
>>> print(report.findings[0].text)  # doctest: +ELLIPSIS
QP 0x11 10.77.0.1 → 10.77.0.2 had 1 loss before the tap (1 to 2 packets); ...
"""

from ._analyze import Duration, Options, Source, analyze, messages
from ._check import Measure, Outcome, Range, Worst, check
from ._errors import CheckFailed, Error
from ._frames import (
    Column,
    Frame,
    Recipe,
    Rewritten,
    columns,
    craft,
    craft_packet,
    craft_scenario,
    dissect,
    icrc,
    packets,
    rewrite,
    row_columns,
    verify_icrc,
    write,
)
from ._native import Packet, PacketIterator, Packets, __version__
from ._scan import scan_packets
from ._scapy import from_scapy, to_scapy
from ._tables import Table, TableColumn
from .report import Report

__all__ = [
    "CheckFailed",
    "Column",
    "Duration",
    "Error",
    "Frame",
    "Measure",
    "Options",
    "Outcome",
    "Packet",
    "PacketIterator",
    "Packets",
    "Range",
    "Recipe",
    "Report",
    "Rewritten",
    "Source",
    "Table",
    "TableColumn",
    "Worst",
    "__version__",
    "analyze",
    "check",
    "columns",
    "craft",
    "craft_packet",
    "craft_scenario",
    "dissect",
    "from_scapy",
    "icrc",
    "messages",
    "packets",
    "rewrite",
    "row_columns",
    "scan_packets",
    "to_scapy",
    "verify_icrc",
    "write",
]
